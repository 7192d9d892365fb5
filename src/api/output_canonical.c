/*
 * Canonical rows: JSON lines, sorted by record key and then by the whole line (tools/peer/canon.py), externally when they are
 * many.
 */
#include "api/output_int.h"
#include <string.h>

/* Columns that canonical rows show: meta mode "stable" (tools/peer/canon.py). */
static bool is_canonical(const char *name)
{
    return strcmp(name, sl_meta_names[SL_META_SEQNO]) != 0 &&
           strcmp(name, sl_meta_names[SL_META_FILE_NAME]) != 0;
}

static sl_status canonical_schema(const sl_type *schema, const sl_type **out)
{
    sl_field *fields;
    size_t count = 0;
    SL_NEW_ARRAY(fields, schema->field_count + 1);
    for (size_t i = 0; i < schema->field_count; i++)
        if (is_canonical(schema->fields[i].name))
            fields[count++] = schema->fields[i];
    sl_status status = sl_type_struct(fields, count, out);
    sl_free(fields);
    return status;
}

/* One binary column to sort by: the record key with zero bytes as 00 FF, an end mark 00 01, then the line.
 * Comparing these as bytes compares keys first (shorter first), then lines. */
struct line_stream {
    sl_stream base;
    sl_stream *rows;
    sl_builder *lines;
};

static sl_status append_key(sl_buf *out, const sl_batch *batch, int key, int64_t row)
{
    if (key >= 0 && sl_is_valid(batch->columns[key], row)) {
        size_t len;
        const uint8_t *data = sl_bytes_at(batch->columns[key], row, &len);
        for (size_t i = 0; i < len; i++)
            SL_TRY(data[i] ? sl_buf_byte(out, data[i]) : sl_buf_append(out, "\x00\xFF", 2));
    }
    return sl_buf_append(out, "\x00\x01", 2);
}

static sl_status line_next(sl_stream *self, sl_batch **out)
{
    struct line_stream *l = (struct line_stream *)self;
    sl_batch *batch;
    sl_buf text = {0};
    sl_array *array;
    *out = NULL;
    SL_TRY(sl_stream_next(l->rows, &batch));
    if (!batch)
        return SL_OK;
    int key = sl_type_field_index(batch->schema, sl_meta_names[SL_META_RECORD_KEY]);
    sl_status status = SL_OK;
    for (int64_t r = 0; r < batch->rows; r++) {
        text.len = 0;
        SL_GO(append_key(&text, batch, key, r));
        SL_GO(sl_row_text(batch, r, SL_TEXT_CANONICAL, &text));
        SL_GO(sl_builder_bytes(l->lines, text.data, text.len));
    }
    SL_GO(sl_builder_finish(l->lines, &array));
    status = sl_batch_new(l->base.schema, batch->rows, &array, out);
done:
    sl_buf_free(&text);
    sl_batch_unref(batch);
    return status;
}

static void line_close(sl_stream *self)
{
    struct line_stream *l = (struct line_stream *)self;
    sl_stream_close(l->rows);
    sl_builder_free(l->lines);
    sl_type_unref(l->base.schema);
    sl_free(l);
}

static sl_status line_stream(sl_stream *rows, sl_stream **out)
{
    struct line_stream *l = sl_calloc(1, sizeof *l);
    const sl_type *binary = NULL;
    sl_status status = l ? sl_type_new(SL_BINARY, &binary) : sl_nomem();
    sl_field field = {.name = "line", .type = binary, .nullable = false};
    if (!status)
        status = sl_type_struct(&field, 1, &l->base.schema);
    if (!status)
        status = sl_builder_new(binary, &l->lines);
    sl_type_unref(binary);
    if (status) {
        if (l)
            sl_type_unref(l->base.schema);
        sl_free(l);
        sl_stream_close(rows);
        return status;
    }
    l->base.next = line_next;
    l->base.close = line_close;
    l->rows = rows;
    *out = &l->base;
    return SL_OK;
}

struct printed {
    struct output_sink *sink;
    uint64_t rows;
};

static sl_status print_lines(void *context, sl_batch *batch)
{
    struct printed *p = context;
    struct output_sink *s = p->sink;
    p->rows += (uint64_t)batch->rows;
    for (int64_t r = 0; r < batch->rows; r++) {
        size_t len, at = 0;
        const uint8_t *data = sl_bytes_at(batch->columns[0], r, &len);
        while (data[at] != 0 || data[at + 1] != 1)
            at += data[at] == 0 ? 2 : 1;
        SL_TRY(sl_buf_append(&s->buf, data + at + 2, len - at - 2));
        SL_TRY(sl_buf_byte(&s->buf, '\n'));
        SL_TRY(output_flush_when_full(s));
    }
    return SL_OK;
}

/* Takes over rows. */
sl_status output_canonical(struct output_sink *s, sl_stream *rows, const sl_runtime *runtime, uint64_t *count)
{
    const sl_type *schema = NULL;
    sl_stream *lines = NULL, *sorted = NULL;
    sl_status status = canonical_schema(rows->schema, &schema);
    if (status) {
        sl_stream_close(rows);
        return status;
    }
    status = sl_stream_project(rows, schema, &rows);
    sl_type_unref(schema);
    SL_TRY(status);
    SL_TRY(line_stream(rows, &lines));
    SL_TRY(sl_sort_stream(lines, "line", runtime, &sorted));
    struct printed printed = {.sink = s};
    status = sl_stream_drain(sorted, NULL, print_lines, &printed);
    *count = printed.rows;
    sl_stream_close(sorted);
    return status;
}
