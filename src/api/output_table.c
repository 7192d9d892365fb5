/* Rows as a table for a terminal: as many as fit a screen or were asked for, columns fitted to its width. */
#include "api/output_int.h"
#include <string.h>

#define TABLE_ROWS 100

struct table_view {
    sl_strings cells; /* row by row; the header first */
    size_t columns, rows, max_rows;
    size_t *widths;
    uint64_t more; /* rows that are only counted */
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

static sl_status table_batch(void *context, sl_batch *batch)
{
    struct table_view *v = context;
    for (int64_t r = 0; r < batch->rows; r++) {
        if (v->rows == v->max_rows) {
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

static sl_status put_cell(struct output_sink *s, const char *text, size_t width, bool right, bool last)
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

static sl_status table_print(struct output_sink *s, struct table_view *v, const sl_type *schema,
                             size_t terminal)
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
        SL_TRY(output_flush_when_full(s));
    }
    if (v->more)
        SL_TRY(sl_buf_printf(&s->buf, "... and %" PRIu64 " more rows\n", v->more));
    return SL_OK;
}

sl_status output_table(struct output_sink *s, sl_stream *rows, const sluice_output_options *o,
                       uint64_t *count)
{
    struct table_view v = {.columns = rows->schema->field_count,
                           .max_rows = o->max_rows > 0 ? (size_t)o->max_rows : TABLE_ROWS};
    sl_status status = SL_OK;
    for (size_t c = 0; c < v.columns; c++)
        SL_GO(sl_strings_add(&v.cells, rows->schema->fields[c].name));
    SL_GO(sl_stream_drain(rows, NULL, table_batch, &v));
    *count = v.rows + v.more;
    if (v.columns)
        SL_GO(table_print(s, &v, rows->schema, o->width > 0 ? (size_t)o->width : 0));
done:
    sl_strings_free(&v.cells);
    sl_free(v.widths);
    return status;
}
