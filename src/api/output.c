/* Rows as text, in pieces through the caller's function: JSON lines and CSV here, the other forms in files of their own. */
#include "api/output_int.h"
#include <string.h>

#define PIECE_BYTES (1 << 16)

sl_status output_flush(struct output_sink *s)
{
    if (s->buf.len && s->write(s->context, (const char *)s->buf.data, s->buf.len) != 0)
        return sl_errorf(SL_E_CANCELLED, "the output was closed");
    s->buf.len = 0;
    return SL_OK;
}

sl_status output_flush_when_full(struct output_sink *s)
{
    return s->buf.len >= PIECE_BYTES ? output_flush(s) : SL_OK;
}

/* ---- JSON lines and CSV -------------------------------------------------------------------------------- */

static sl_status jsonl_batch(struct output_sink *s, const sl_batch *batch)
{
    for (int64_t r = 0; r < batch->rows; r++) {
        SL_TRY(sl_row_text(batch, r, SL_TEXT_JSON, &s->buf));
        SL_TRY(sl_buf_byte(&s->buf, '\n'));
        SL_TRY(output_flush_when_full(s));
    }
    return SL_OK;
}

/* RFC 4180; an empty string is quoted, so that it differs from null. */
static sl_status csv_cell(struct output_sink *s, const char *text, size_t len, bool quote_empty)
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

static sl_status csv_header(struct output_sink *s, const sl_type *schema)
{
    for (size_t c = 0; c < schema->field_count; c++) {
        if (c)
            SL_TRY(sl_buf_byte(&s->buf, ','));
        SL_TRY(csv_cell(s, schema->fields[c].name, strlen(schema->fields[c].name), true));
    }
    return sl_buf_append(&s->buf, "\r\n", 2);
}

static sl_status csv_batch(struct output_sink *s, const sl_batch *batch)
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
        SL_GO(output_flush_when_full(s));
    }
done:
    sl_buf_free(&cell);
    return status;
}

/* ---- text ---------------------------------------------------------------------------------------------- */

static sl_status write_batches(struct output_sink *s, sl_stream *rows, enum sluice_text format,
                               uint64_t *count)
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

sl_status output_rows_open(struct ArrowArrayStream *stream, struct output_budget *own, sl_stream **rows)
{
    uint64_t memory = 0;
    sl_status status = SL_OK;
    if (!api_take_stream(stream, rows, &memory))
        status = sl_input_arrow_stream(stream, NULL, NULL, rows);
    own->budget = (sl_budget){.limit = (size_t)(memory ? memory : sl_memory_total() / 4)};
    own->runtime = (sl_runtime){.budget = &own->budget};
    return status;
}

int sluice_output_text(struct ArrowArrayStream *rows, const sluice_output_options *options,
                       int (*write)(void *, const char *, size_t), void *context, uint64_t *row_count,
                       sluice_error *e)
{
    sluice_output_options o = {0};
    struct output_sink s = {write, context, {0}};
    sl_stream *input = NULL;
    uint64_t count = 0;
    struct output_budget own;
    sl_status status = API_ARGUMENTS(rows, options);
    if (!status && !write)
        status = sl_input("argument `write` is NULL");
    if (status)
        return api_drop_stream(rows, status, e);
    memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    status = output_rows_open(rows, &own, &input);
    if (!status && o.format == SLUICE_TEXT_CANONICAL) {
        status = output_canonical(&s, input, &own.runtime, &count);
        input = NULL;
    } else if (!status && o.format == SLUICE_TEXT_TABLE) {
        status = output_table(&s, input, &o, &count);
    } else if (!status) {
        status = write_batches(&s, input, o.format, &count);
    }
    sl_stream_close(input);
    if (!status && o.format == SLUICE_TEXT_COUNT)
        status = sl_buf_printf(&s.buf, "%" PRIu64 "\n", count);
    if (!status)
        status = output_flush(&s);
    sl_buf_free(&s.buf);
    if (!status && row_count)
        *row_count = count;
    return api_result(status, e);
}
