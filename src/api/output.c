/*
 * Rows as text and as Parquet. Text goes out in pieces through the caller's function; canonical rows are
 * sorted first, by record key and then by the whole line (tools/peer/canon.py), externally when they are
 * many.
 */
#include "api/api_int.h"
#include <stdio.h>
#include <string.h>

#define PIECE_BYTES     (1 << 16)
#define TABLE_ROWS      100
#define ROW_GROUP_SHARE 8 /* of the memory: encoded pages that wait until their row group is complete */
#define ROW_GROUP_LEAST ((size_t)1 << 20)
#define ROW_GROUP_MOST  ((size_t)120 << 20)

struct sink {
    int (*write)(void *context, const char *text, size_t len);
    void *context;
    sl_buf buf;
};

static sl_status flush(struct sink *s)
{
    if (s->buf.len && s->write(s->context, (const char *)s->buf.data, s->buf.len) != 0)
        return sl_errorf(SL_E_CANCELLED, "the output was closed");
    s->buf.len = 0;
    return SL_OK;
}

static sl_status flush_when_full(struct sink *s) { return s->buf.len >= PIECE_BYTES ? flush(s) : SL_OK; }

/* ---- JSON lines and CSV -------------------------------------------------------------------------------- */

static sl_status jsonl_batch(struct sink *s, const sl_batch *batch)
{
    for (int64_t r = 0; r < batch->rows; r++) {
        SL_TRY(sl_row_text(batch, r, SL_TEXT_JSON, &s->buf));
        SL_TRY(sl_buf_byte(&s->buf, '\n'));
        SL_TRY(flush_when_full(s));
    }
    return SL_OK;
}

/* RFC 4180; an empty string is quoted, so that it differs from null. */
static sl_status csv_cell(struct sink *s, const char *text, size_t len, bool quote_empty)
{
    bool quote = len == 0 && quote_empty;
    for (size_t i = 0; i < len && !quote; i++)
        quote = text[i] == ',' || text[i] == '"' || text[i] == '\n' || text[i] == '\r';
    if (!quote)
        return sl_buf_append(&s->buf, text, len);
    SL_TRY(sl_buf_byte(&s->buf, '"'));
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '"')
            SL_TRY(sl_buf_byte(&s->buf, '"'));
        SL_TRY(sl_buf_byte(&s->buf, (uint8_t)text[i]));
    }
    return sl_buf_byte(&s->buf, '"');
}

static sl_status csv_header(struct sink *s, const sl_type *schema)
{
    for (size_t c = 0; c < schema->field_count; c++) {
        if (c)
            SL_TRY(sl_buf_byte(&s->buf, ','));
        SL_TRY(csv_cell(s, schema->fields[c].name, strlen(schema->fields[c].name), true));
    }
    return sl_buf_append(&s->buf, "\r\n", 2);
}

static sl_status csv_batch(struct sink *s, const sl_batch *batch)
{
    sl_buf cell = {0};
    sl_status status = SL_OK;
    for (int64_t r = 0; r < batch->rows; r++) {
        for (size_t c = 0; c < batch->schema->field_count; c++) {
            if (c)
                SL_GO(sl_buf_byte(&s->buf, ','));
            if (!sl_is_valid(batch->columns[c], r))
                continue;
            cell.len = 0;
            SL_GO(sl_value_text(batch->columns[c], r, SL_TEXT_PLAIN, &cell));
            SL_GO(csv_cell(s, (const char *)cell.data, cell.len, true));
        }
        SL_GO(sl_buf_append(&s->buf, "\r\n", 2));
        SL_GO(flush_when_full(s));
    }
done:
    sl_buf_free(&cell);
    return status;
}

/* ---- a fitted table ------------------------------------------------------------------------------------ */

struct table_view {
    sl_strings cells; /* row by row; the header first */
    size_t columns, rows;
    size_t *widths;
    uint64_t more;
};

/* Columns on the terminal of a UTF-8 text: code points, which is right but for wide and combining characters.
 */
static size_t text_width(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

static bool is_number(const sl_type *type) { return type->id >= SL_INT8 && type->id <= SL_DECIMAL; }

static sl_status add_cell(struct table_view *v, const sl_array *array, int64_t row)
{
    sl_buf cell = {0};
    char *text = NULL;
    sl_status status = SL_OK;
    if (sl_is_valid(array, row))
        SL_GO(sl_value_text(array, row, SL_TEXT_PLAIN, &cell));
    SL_GO(sl_buf_take_string(&cell, &text));
    for (char *at = text; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 127)
            *at = ' '; /* a cell stays on its line */
    SL_GO(sl_strings_add(&v->cells, text));
done:
    sl_buf_free(&cell);
    sl_free(text);
    return status;
}

static sl_status table_batch(struct table_view *v, const sl_batch *batch, size_t max_rows)
{
    for (int64_t r = 0; r < batch->rows; r++) {
        if (v->rows == max_rows) {
            v->more += (uint64_t)(batch->rows - r);
            return SL_OK;
        }
        for (size_t c = 0; c < v->columns; c++)
            SL_TRY(add_cell(v, batch->columns[c], r));
        v->rows++;
    }
    return SL_OK;
}

/* Widths of the widest cells; when they do not fit the terminal the widest columns give. */
static sl_status fit(struct table_view *v, size_t terminal)
{
    SL_NEW_ARRAY(v->widths, v->columns + 1);
    size_t total = 0;
    for (size_t i = 0; i < v->cells.count; i++) {
        size_t w = text_width(v->cells.items[i]);
        if (w > v->widths[i % v->columns])
            v->widths[i % v->columns] = w;
    }
    for (size_t c = 0; c < v->columns; c++)
        total += v->widths[c] + 2;
    while (terminal && total > terminal + 2) {
        size_t widest = 0;
        for (size_t c = 1; c < v->columns; c++)
            if (v->widths[c] > v->widths[widest])
                widest = c;
        if (v->widths[widest] <= 8)
            break;
        v->widths[widest]--;
        total--;
    }
    return SL_OK;
}

static sl_status put_cell(struct sink *s, const char *text, size_t width, bool right, bool last)
{
    size_t w = text_width(text), cut = w;
    const char *end = text + strlen(text);
    if (w > width) { /* "long te…" */
        cut = width - 1;
        size_t n = 0;
        for (end = text; *end; end++)
            if (((unsigned char)*end & 0xC0) != 0x80 && n++ == cut)
                break;
    }
    size_t padding = w > width ? 0 : width - w;
    for (size_t i = 0; right && i < padding; i++)
        SL_TRY(sl_buf_byte(&s->buf, ' '));
    SL_TRY(sl_buf_append(&s->buf, text, (size_t)(end - text)));
    if (w > width)
        SL_TRY(sl_buf_append(&s->buf, "\xE2\x80\xA6", 3));
    for (size_t i = 0; !right && !last && i < padding; i++)
        SL_TRY(sl_buf_byte(&s->buf, ' '));
    return last ? sl_buf_byte(&s->buf, '\n') : sl_buf_append(&s->buf, "  ", 2);
}

static sl_status table_print(struct sink *s, struct table_view *v, const sl_type *schema, size_t terminal)
{
    SL_TRY(fit(v, terminal));
    for (size_t i = 0; i < v->cells.count; i++) {
        size_t c = i % v->columns;
        SL_TRY(put_cell(s, v->cells.items[i], v->widths[c], is_number(schema->fields[c].type),
                        c + 1 == v->columns));
        if (i + 1 == v->columns)
            for (size_t k = 0; k < v->columns; k++) {
                for (size_t w = 0; w < v->widths[k]; w++)
                    SL_TRY(sl_buf_append(&s->buf, "\xE2\x94\x80", 3));
                SL_TRY(k + 1 == v->columns ? sl_buf_byte(&s->buf, '\n') : sl_buf_append(&s->buf, "  ", 2));
            }
        SL_TRY(flush_when_full(s));
    }
    if (v->more)
        SL_TRY(sl_buf_printf(&s->buf, "... and %" PRIu64 " more rows\n", v->more));
    return SL_OK;
}

static sl_status write_table(struct sink *s, sl_stream *rows, const sluice_output_options *o, uint64_t *count)
{
    struct table_view v = {.columns = rows->schema->field_count};
    sl_status status = SL_OK;
    for (size_t c = 0; c < v.columns; c++)
        SL_GO(sl_strings_add(&v.cells, rows->schema->fields[c].name));
    for (;;) {
        sl_batch *batch;
        SL_GO(sl_stream_next(rows, &batch));
        if (!batch)
            break;
        *count += (uint64_t)batch->rows;
        status = table_batch(&v, batch, o->max_rows > 0 ? (size_t)o->max_rows : TABLE_ROWS);
        sl_batch_unref(batch);
        if (status)
            goto done;
    }
    if (v.columns)
        SL_GO(table_print(s, &v, rows->schema, o->width > 0 ? (size_t)o->width : 0));
done:
    sl_strings_free(&v.cells);
    sl_free(v.widths);
    return status;
}

/* ---- canonical rows ------------------------------------------------------------------------------------ */

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

static sl_status print_lines(struct sink *s, const sl_batch *batch)
{
    for (int64_t r = 0; r < batch->rows; r++) {
        size_t len, at = 0;
        const uint8_t *data = sl_bytes_at(batch->columns[0], r, &len);
        while (data[at] != 0 || data[at + 1] != 1)
            at += data[at] == 0 ? 2 : 1;
        SL_TRY(sl_buf_append(&s->buf, data + at + 2, len - at - 2));
        SL_TRY(sl_buf_byte(&s->buf, '\n'));
        SL_TRY(flush_when_full(s));
    }
    return SL_OK;
}

/* Takes over rows. */
static sl_status write_canonical(struct sink *s, sl_stream *rows, const sl_runtime *runtime, uint64_t *count)
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
    for (;;) {
        sl_batch *batch;
        SL_GO(sl_stream_next(sorted, &batch));
        if (!batch)
            break;
        *count += (uint64_t)batch->rows;
        status = print_lines(s, batch);
        sl_batch_unref(batch);
        if (status)
            goto done;
    }
done:
    sl_stream_close(sorted);
    return status;
}

/* ---- text ---------------------------------------------------------------------------------------------- */

static sl_status write_batches(struct sink *s, sl_stream *rows, enum sluice_text format, uint64_t *count)
{
    if (format == SLUICE_TEXT_CSV)
        SL_TRY(csv_header(s, rows->schema));
    for (;;) {
        sl_batch *batch;
        SL_TRY(sl_stream_next(rows, &batch));
        if (!batch)
            return SL_OK;
        *count += (uint64_t)batch->rows;
        sl_status status = format == SLUICE_TEXT_CSV     ? csv_batch(s, batch)
                           : format == SLUICE_TEXT_JSONL ? jsonl_batch(s, batch)
                                                         : SL_OK;
        sl_batch_unref(batch);
        SL_TRY(status);
    }
}

/* What is written out keeps to the memory of the rows' table; somebody else's rows have none that we knew. */
struct own_budget {
    sl_budget budget;
    sl_runtime runtime;
};

static sl_status open_rows(struct ArrowArrayStream *stream, struct own_budget *own, sl_stream **rows)
{
    uint64_t memory = 0;
    sl_status status = SL_OK;
    if (!api_take_stream(stream, rows, &memory))
        status = sl_input_arrow_stream(stream, NULL, NULL, rows);
    own->budget = (sl_budget){.limit = (size_t)(memory ? memory : sl_memory_total() / 4)};
    own->runtime = (sl_runtime){.budget = &own->budget};
    return status;
}

int sluice_output_text(struct ArrowArrayStream *stream, const sluice_output_options *options,
                       int (*write)(void *, const char *, size_t), void *context, uint64_t *row_count,
                       sluice_error *e)
{
    sluice_output_options o = {0};
    struct sink s = {write, context, {0}};
    sl_stream *rows = NULL;
    uint64_t count = 0;
    struct own_budget own;
    memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    sl_status status = open_rows(stream, &own, &rows);
    if (!status && o.format == SLUICE_TEXT_CANONICAL) {
        status = write_canonical(&s, rows, &own.runtime, &count);
        rows = NULL;
    } else if (!status && o.format == SLUICE_TEXT_TABLE) {
        status = write_table(&s, rows, &o, &count);
    } else if (!status) {
        status = write_batches(&s, rows, o.format, &count);
    }
    sl_stream_close(rows);
    if (!status && o.format == SLUICE_TEXT_COUNT)
        status = sl_buf_printf(&s.buf, "%" PRIu64 "\n", count);
    if (!status)
        status = flush(&s);
    sl_buf_free(&s.buf);
    if (!status && row_count)
        *row_count = count;
    return api_result(status, e);
}

/* ---- Parquet ------------------------------------------------------------------------------------------- */

static sl_status write_parquet(sl_output *output, sl_stream *rows, const sl_runtime *runtime, uint64_t *count)
{
    struct sl_parquet_write_options options = {
        .codec = SL_CODEC_ZSTD,
        .row_group_bytes =
            sl_budget_share(runtime->budget, ROW_GROUP_SHARE, ROW_GROUP_LEAST, ROW_GROUP_MOST)};
    struct sl_parquet_written written;
    sl_parquet_writer *w;
    SL_TRY(sl_parquet_writer_new(output, rows->schema, &options, &w));
    for (;;) {
        sl_batch *batch;
        sl_status status = sl_stream_next(rows, &batch);
        if (!status && !batch)
            break;
        if (!status) {
            status = sl_parquet_writer_write(w, batch);
            sl_batch_unref(batch);
        }
        if (status) {
            sl_parquet_writer_free(w);
            return status;
        }
    }
    SL_TRY(sl_parquet_writer_finish(w, &written));
    *count = (uint64_t)written.rows;
    return SL_OK;
}

int sluice_output_parquet(struct ArrowArrayStream *stream, const char *path, uint64_t *row_count,
                          sluice_error *e)
{
    sl_storage *storage = NULL;
    sl_output *output = NULL;
    sl_stream *rows = NULL;
    char *inside = NULL;
    uint64_t count = 0;
    struct own_budget own;
    sl_status status = open_rows(stream, &own, &rows);
    if (!status)
        status = sl_storage_for_uri(path, &storage, &inside);
    if (!status)
        status = sl_storage_create(storage, inside, &output);
    if (!status)
        status = write_parquet(output, rows, &own.runtime, &count);
    if (!status) {
        status = sl_output_finish(output);
        output = NULL;
    }
    if (output)
        sl_output_abort(output);
    sl_stream_close(rows);
    sl_storage_free(storage);
    sl_free(inside);
    if (!status && row_count)
        *row_count = count;
    return api_result(status, e);
}
