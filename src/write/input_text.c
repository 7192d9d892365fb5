/*
 * Rows from text: the stream that makes batches of what the formats find in the window (text_reader.c).
 *
 * A builder that failed in the middle of a row cannot take the half row back. Where bad rows are to be
 * skipped, rows therefore go to a small builder first, a chunk at a time; a chunk with a bad row is read
 * again without it.
 */
#include "write/input_int.h"

enum { CHUNK_ROWS = 64 };
static const size_t LOOK_AHEAD_BYTES = (size_t)64 << 20; /* inference looks no further */
static const size_t BATCH_TEXT_BYTES = (size_t)32 << 20;

/* ---- records to rows ----------------------------------------------------------------------------------- */

static bool is_blank(const struct text_record *record)
{
    for (size_t i = 0; i < record->len; i++)
        if (record->text[i] != ' ' && record->text[i] != '\t' && record->text[i] != '\r')
            return false;
    return true;
}

sl_status text_input_next(struct text_input *in, struct text_record *out, bool *found)
{
    do {
        SL_TRY(in->format->next_record(in, out, found));
    } while (*found && is_blank(out));
    return SL_OK;
}

sl_status text_record_check_utf8(const struct text_record *record)
{
    size_t valid = sl_utf8_valid_prefix(record->text, record->len);
    if (SL_LIKELY(valid == record->len))
        return SL_OK;
    uint64_t line = 0;
    size_t column = 1;
    for (size_t i = 0; i < valid; i++, column++) {
        if (record->text[i] == '\n') {
            line++;
            column = 0;
        }
    }
    unsigned byte = (uint8_t)record->text[valid];
    if (line > 0)
        return sl_input("not UTF-8: byte 0x%02x at line %" PRIu64 ", column %zu", byte, record->line + line,
                        column);
    return sl_input("not UTF-8: byte 0x%02x at column %zu", byte, column);
}

sl_status text_input_context(const struct text_input *in, uint64_t line, sl_status status)
{
    return sl_context(status, "%s: line %" PRIu64, input_source_name(in->reader.source), line);
}

static sl_status append_record(struct text_input *in, const struct text_record *record,
                               sl_batch_builder *rows)
{
    SL_TRY(text_record_check_utf8(record));
    return in->format->append_row(in, record, rows);
}

/* Of an input that is still being written: whether there is a record to read now. Rows that are there already do not wait
 * for others. */
static sl_status record_is_ready(struct text_input *in, bool has_rows, bool *ready)
{
    *ready = true;
    return in->options.idle_ms > 0 ? text_reader_wait(&in->reader, has_rows ? 0 : in->options.idle_ms, ready)
                                   : SL_OK;
}

/* Rows of the next batch at most: after a batch that a pause cut short, what is left to the next multiple, so that whoever
 * counts rows by batches (--commit-rows) is not at the mercy of how the text arrives. */
static int64_t batch_room(const struct text_input *in)
{
    return in->options.batch_rows - in->handed_out % in->options.batch_rows;
}

/* *found false: there is no row, or none yet. */
static sl_status fill_row(struct text_input *in, bool has_rows, size_t *bytes, bool *found)
{
    struct text_record record;
    SL_TRY(record_is_ready(in, has_rows, found));
    if (*found)
        SL_TRY(text_input_next(in, &record, found));
    if (!*found)
        return SL_OK;
    sl_status status = append_record(in, &record, &in->rows);
    if (SL_UNLIKELY(status != SL_OK))
        return text_input_context(in, record.line, status);
    *bytes += record.len;
    return SL_OK;
}

/* The plain way: the first bad row ends the input. Rows before it are handed out before that is said, as whoever takes them
 * may find fault with one of them. */
static sl_status fill_rows(struct text_input *in)
{
    size_t bytes = 0;
    bool found = true;
    const int64_t room = batch_room(in);
    for (int64_t rows = 0; rows < room && bytes < in->batch_bytes && found; rows++) {
        sl_status status = fill_row(in, rows > 0, &bytes, &found);
        if (SL_LIKELY(status == SL_OK))
            continue;
        if (rows == 0 || sl_status_code(status) != SL_E_INPUT)
            return status;
        sl_batch_builder_truncate(&in->rows, rows);
        in->held_back = status;
        return SL_OK;
    }
    return SL_OK;
}

static sl_status reject_record(struct text_input *in, const struct text_record *record, sl_status why)
{
    struct sl_rejected_row row = {
        .line = record->line, .text = record->text, .len = record->len, .reason = sl_status_message(why)};
    sl_buf json = {0};
    sl_status status = SL_OK;
    if (sl_utf8_valid_prefix(record->text, record->len) == record->len)
        SL_GO(in->format->row_json(in, record, &json));
    if (json.len) {
        SL_GO(sl_buf_byte(&json, 0));
        row.json = (const char *)json.data;
    }
    SL_GO(in->options.reject(in->options.reject_context, &row));
    if (in->options.rejected)
        ++*in->options.rejected;
done:
    sl_buf_free(&json);
    sl_status_free(why);
    return status;
}

struct chunk {
    sl_status wrong[CHUNK_ROWS]; /* why a record is left out; NULL: it is not */
    int records;                 /* seen in the last attempt, wrong ones too */
    size_t bytes;
    bool ended;
};

/* Reads the chunk's rows once. *clean false: a wrong one was found and marked; try again without it. */
static sl_status try_chunk(struct text_input *in, struct chunk *chunk, int most, bool *clean)
{
    bool has_rows = sl_batch_builder_rows(&in->rows) > 0;
    chunk->records = 0;
    chunk->bytes = 0;
    while (chunk->records < most && chunk->bytes < in->batch_bytes) {
        struct text_record record;
        bool found;
        SL_TRY(record_is_ready(in, has_rows || chunk->records > 0, &found));
        if (found)
            SL_TRY(text_input_next(in, &record, &found));
        chunk->ended = !found;
        if (!found)
            break;
        chunk->bytes += record.len;
        int number = chunk->records++;
        if (chunk->wrong[number])
            continue;
        sl_status status = append_record(in, &record, &in->chunk);
        if (status == SL_OK)
            continue;
        if (sl_status_code(status) != SL_E_INPUT)
            return text_input_context(in, record.line, status);
        chunk->wrong[number] = status;
        *clean = false;
        return SL_OK;
    }
    *clean = true;
    return SL_OK;
}

static sl_status reset_chunk_builder(struct text_input *in)
{
    sl_batch_builder_free(&in->chunk);
    memset(&in->chunk, 0, sizeof in->chunk);
    return sl_batch_builder_init(&in->chunk, in->stream.schema);
}

/* The check of one row, whose record is number `number`. */
static sl_status check_row(const struct text_input *in, const sl_batch *rows, int64_t row,
                           struct chunk *chunk, int number, bool *passed)
{
    sl_batch *one;
    SL_TRY(sl_batch_copy(rows, row, 1, &one));
    sl_status status = in->options.check(in->options.check_context, one);
    sl_batch_unref(one);
    if (sl_status_code(status) != SL_E_INPUT)
        return status;
    chunk->wrong[number] = sl_at_row(status, -1); /* of one row: the line of the record says which */
    *passed = false;
    return SL_OK;
}

/* *passed false: some of the chunk's rows are wrong, and marked; try again without them. */
static sl_status check_rows(const struct text_input *in, const sl_batch *rows, struct chunk *chunk,
                            bool *passed)
{
    *passed = true;
    if (!in->options.check || rows->rows == 0)
        return SL_OK;
    sl_status all = in->options.check(in->options.check_context, rows);
    if (sl_status_code(all) != SL_E_INPUT)
        return all;
    sl_status status = SL_OK;
    int64_t row = 0;
    for (int i = 0; i < chunk->records && !status; i++)
        if (!chunk->wrong[i])
            status = check_row(in, rows, row++, chunk, i, passed);
    if (!status && *passed) /* wrong together only */
        return all;
    sl_status_free(all);
    return status;
}

/* The chunk's good rows, after as many attempts as it has wrong ones. */
static sl_status read_chunk(struct text_input *in, struct chunk *chunk, int most, sl_batch **out)
{
    for (;;) {
        bool clean = false;
        sl_batch *rows;
        SL_TRY(reset_chunk_builder(in));
        SL_TRY(try_chunk(in, chunk, most, &clean));
        if (clean) {
            SL_TRY(sl_batch_builder_finish(&in->chunk, &rows));
            sl_status status = check_rows(in, rows, chunk, &clean);
            if (!status && clean) {
                *out = rows;
                return SL_OK;
            }
            sl_batch_unref(rows);
            SL_TRY(status);
        }
        text_reader_rewind(&in->reader);
    }
}

/* Hands out the wrong records of a chunk that was read, in the order of the input. */
static sl_status reject_wrong(struct text_input *in, struct chunk *chunk)
{
    bool any = false;
    for (int i = 0; i < chunk->records; i++)
        any |= chunk->wrong[i] != SL_OK;
    if (!any)
        return SL_OK;
    text_reader_rewind(&in->reader);
    for (int i = 0; i < chunk->records; i++) {
        struct text_record record;
        bool found;
        sl_status why = chunk->wrong[i];
        SL_TRY(text_input_next(in, &record, &found));
        chunk->wrong[i] = SL_OK;
        if (why)
            SL_TRY(reject_record(in, &record, why));
    }
    return SL_OK;
}

static sl_status append_chunk(struct text_input *in, int most, size_t *bytes, bool *ended)
{
    struct chunk chunk = {0};
    sl_batch *rows = NULL;
    text_reader_hold(&in->reader);
    sl_status status = SL_OK;
    SL_GO(read_chunk(in, &chunk, most, &rows));
    SL_GO(reject_wrong(in, &chunk));
    text_reader_release(&in->reader);
    *bytes += chunk.bytes;
    *ended = chunk.ended;
    status = sl_batch_builder_append_range(&in->rows, rows, 0, rows->rows);
done:
    for (int i = 0; i < CHUNK_ROWS; i++)
        sl_status_free(chunk.wrong[i]);
    sl_batch_unref(rows);
    return status;
}

static sl_status fill_rows_skipping_bad(struct text_input *in)
{
    size_t bytes = 0;
    bool ended = false;
    const int64_t most = batch_room(in);
    int64_t room = most;
    while (!ended && room > 0 && bytes < in->batch_bytes) {
        SL_TRY(append_chunk(in, room < CHUNK_ROWS ? (int)room : CHUNK_ROWS, &bytes, &ended));
        room = most - sl_batch_builder_rows(&in->rows);
    }
    return SL_OK;
}

static sl_status text_stream_next(sl_stream *self, sl_batch **out)
{
    struct text_input *in = (struct text_input *)self;
    if (in->failed)
        return sl_internal("%s: read on after an error", input_source_name(in->reader.source));
    in->failed = true; /* builders are of no use after a failure */
    if (in->held_back) {
        sl_status status = in->held_back;
        in->held_back = SL_OK;
        return status;
    }
    SL_TRY(sl_check_cancel(in->options.runtime));
    SL_TRY(in->options.reject ? fill_rows_skipping_bad(in) : fill_rows(in));
    in->handed_out += sl_batch_builder_rows(&in->rows);
    bool is_idle = in->options.idle_ms > 0 && !in->reader.ended;
    if (sl_batch_builder_rows(&in->rows) == 0 && !is_idle)
        *out = NULL;
    else
        SL_TRY(sl_batch_builder_finish(&in->rows, out));
    in->failed = false;
    return SL_OK;
}

static void text_stream_close(sl_stream *self)
{
    struct text_input *in = (struct text_input *)self;
    in->format->free_all(in);
}

sl_status text_input_open(struct text_input *in, const char *path, const struct sl_input_options *options)
{
    in->options = *options;
    in->batch_bytes = input_batch_bytes(options, BATCH_TEXT_BYTES);
    if (in->options.batch_rows <= 0)
        in->options.batch_rows = 16384;
    if (in->options.infer_rows <= 0)
        in->options.infer_rows = 10000;
    return text_reader_open(path, options, &in->reader);
}

sl_status text_input_start(struct text_input *in, const sl_type *schema)
{
    in->stream = (sl_stream){.schema = schema, .next = text_stream_next, .close = text_stream_close};
    return sl_batch_builder_init(&in->rows, schema);
}

void text_input_close(struct text_input *in)
{
    sl_batch_builder_free(&in->rows);
    sl_batch_builder_free(&in->chunk);
    sl_status_free(in->held_back);
    text_reader_close(&in->reader);
    sl_type_unref(in->stream.schema);
}

sl_status text_input_look_ahead(struct text_input *in,
                                sl_status (*look)(struct text_input *in, const struct text_record *record))
{
    sl_status status = SL_OK;
    size_t most = input_look_ahead_bytes(&in->options, LOOK_AHEAD_BYTES);
    text_reader_hold(&in->reader);
    for (int64_t i = 0; i < in->options.infer_rows && text_reader_held(&in->reader) < most; i++) {
        struct text_record record;
        bool found;
        SL_GO(text_input_next(in, &record, &found));
        if (!found)
            break;
        status = look(in, &record);
        if (status != SL_OK) {
            status = text_input_context(in, record.line, status);
            goto done;
        }
    }
    text_reader_rewind(&in->reader);
done:
    text_reader_release(&in->reader);
    return status;
}
