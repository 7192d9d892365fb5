/*
 * A window that slides over the bytes of a text, in which the formats find their records.
 *
 *      data  [ ....... | held or current record | not yet looked at | free ]
 *                      start                    at                  end    cap
 */
#include "write/input_int.h"

enum { READ_BYTES = 1024 * 1024 };
static const size_t ROW_BYTES_MAX = (size_t)64 << 20; /* default longest row */

/* A byte order mark says nothing in UTF-8. */
static sl_status skip_byte_order_mark(struct text_reader *reader)
{
    bool grew = true;
    while (grew && reader->end < 3)
        SL_TRY(text_reader_more(reader, &grew));
    if (reader->end >= 3 && memcmp(reader->data, "\xef\xbb\xbf", 3) == 0)
        reader->start = reader->at = 3;
    return SL_OK;
}

sl_status text_reader_open(const char *path, const struct sl_input_options *options, struct text_reader *out)
{
    memset(out, 0, sizeof *out);
    out->record_max = options->row_bytes_max ? options->row_bytes_max : ROW_BYTES_MAX;
    out->line = out->start_line = 1;
    SL_TRY(input_source_open(path, options, &out->source));
    return skip_byte_order_mark(out);
}

void text_reader_close(struct text_reader *reader)
{
    input_source_free(reader->source);
    sl_free(reader->data);
    memset(reader, 0, sizeof *reader);
}

static sl_status make_room(struct text_reader *reader)
{
    size_t used = reader->end - reader->start;
    if (reader->start > 0)
        memmove(reader->data, reader->data + reader->start, used);
    reader->at -= reader->start;
    reader->end = used;
    reader->start = 0;
    if (reader->cap - used >= READ_BYTES / 2)
        return SL_OK;
    /* Doubling keeps the cost of moving the window in proportion to the bytes that come in. */
    size_t wider = reader->cap > READ_BYTES ? reader->cap * 2 : READ_BYTES * 2;
    uint8_t *data = sl_realloc(reader->data, wider);
    if (!data)
        return sl_nomem();
    reader->data = data;
    reader->cap = wider;
    return SL_OK;
}

sl_status text_reader_more(struct text_reader *reader, bool *grew)
{
    *grew = false;
    if (reader->ended)
        return SL_OK;
    if (reader->end - reader->at > reader->record_max)
        return sl_input("%s: line %" PRIu64 ": a row of more than %zu bytes (a quote that is not closed?)",
                        input_source_name(reader->source), reader->line, reader->record_max);
    if (!reader->holding) {
        reader->start = reader->at;
        reader->start_line = reader->line;
    }
    SL_TRY(make_room(reader));
    size_t room = reader->cap - reader->end, got;
    SL_TRY(input_source_read(reader->source, reader->data + reader->end, room, &got));
    reader->ended = got == 0;
    reader->end += got;
    *grew = got > 0;
    return SL_OK;
}

void text_reader_take(struct text_reader *reader, size_t content, size_t len, uint64_t lines,
                      struct text_record *out)
{
    out->text = (const char *)reader->data + reader->at;
    out->len = content;
    out->line = reader->line;
    reader->at += len;
    reader->line += lines;
}

sl_status text_reader_line(struct text_reader *reader, struct text_record *out, bool *found)
{
    size_t looked = 0;
    for (;;) {
        size_t have = reader->end - reader->at;
        const uint8_t *from = reader->data + reader->at;
        const uint8_t *feed = have > looked ? memchr(from + looked, '\n', have - looked) : NULL;
        if (feed) {
            size_t len = (size_t)(feed - from);
            text_reader_take(reader, len > 0 && from[len - 1] == '\r' ? len - 1 : len, len + 1, 1, out);
            *found = true;
            return SL_OK;
        }
        looked = have;
        bool grew;
        SL_TRY(text_reader_more(reader, &grew));
        if (!grew) {
            from = reader->data + reader->at;
            *found = have > 0;
            if (have > 0)
                text_reader_take(reader, from[have - 1] == '\r' ? have - 1 : have, have, 1, out);
            return SL_OK;
        }
    }
}

sl_status text_reader_wait(struct text_reader *reader, int64_t wait_ms, bool *ready)
{
    for (size_t looked = 0;;) {
        size_t have = reader->end - reader->at;
        bool grew;
        *ready = reader->ended ||
                 (have > looked && memchr(reader->data + reader->at + looked, '\n', have - looked));
        if (*ready)
            return SL_OK;
        looked = have;
        SL_TRY(input_source_wait(reader->source, wait_ms, ready));
        if (!*ready)
            return SL_OK;
        SL_TRY(text_reader_more(reader, &grew));
    }
}

void text_reader_hold(struct text_reader *reader)
{
    reader->start = reader->at;
    reader->start_line = reader->line;
    reader->holding = true;
}

void text_reader_rewind(struct text_reader *reader)
{
    reader->at = reader->start;
    reader->line = reader->start_line;
}

void text_reader_release(struct text_reader *reader) { reader->holding = false; }

size_t text_reader_held(const struct text_reader *reader) { return reader->at - reader->start; }
