/*
 * Rows into pages, in blocks of at most WRITE_BLOCK. Pages start at row boundaries. They end at every multiple of page_rows
 * rows of the row group, in all leaves alike, so that a stretch of rows can be copied as the pages it is (writer_copy.c);
 * and at page_bytes bytes in between.
 */
#include "parquet/write_int.h"

/* Rows up to where every leaf ends a page. */
static int64_t rows_to_border(const struct leaf_writer *w)
{
    return w->settings->page_rows - w->rows % w->settings->page_rows;
}

static sl_status close_full_page(struct leaf_writer *w, struct write_scratch *s)
{
    SL_TRY(leaf_look_at_sample(w));
    size_t bytes = leaf_page_bytes(w) + (w->leaf->flat ? 0 : w->definition.len / 8 + w->repetition.len / 8);
    if (w->rows % w->settings->page_rows == 0 || bytes >= w->settings->page_bytes ||
        (w->dictionary_active && w->dictionary.storage.len >= WRITE_DICTIONARY_BYTES))
        return leaf_writer_close_page(w, s);
    return SL_OK;
}

/* Value bytes that may still join the page; with a dictionary a block's worth, since repeated values cost
 * nothing. */
static size_t page_budget(const struct leaf_writer *w)
{
    if (w->dictionary_active)
        return w->settings->page_bytes;
    return w->body.len < w->settings->page_bytes ? w->settings->page_bytes - w->body.len : 0;
}

/* ---- flat columns -------------------------------------------------------------------------------------- */

static size_t row_bytes(const sl_array *column, int64_t row)
{
    if (column->dictionary) {
        if (!sl_is_valid(column, row))
            return 0;
        row = sl_i32_at(column, row);
        column = column->dictionary;
    }
    return (size_t)(column->offsets[row + 1] - column->offsets[row]);
}

/* How many of the rows from `from` on fit the budget. */
static int64_t rows_that_fit(const struct write_leaf *leaf, const sl_array *column, int64_t from,
                             int64_t count, size_t budget)
{
    if (leaf->kind != WRITE_BYTES) {
        size_t fit = leaf->width ? budget / (size_t)leaf->width : budget * 8;
        return fit < (size_t)count ? (int64_t)fit : count;
    }
    if (!column->dictionary &&
        (size_t)(column->offsets[from + count] - column->offsets[from]) + 4 * (size_t)count <= budget)
        return count;
    size_t bytes = 0;
    for (int64_t i = 0; i < count; i++) {
        bytes += 4 + row_bytes(column, from + i);
        if (bytes > budget)
            return i;
    }
    return count;
}

/* Appends the validity of the rows to the page; *valid gets the number of values. */
static sl_status put_validity(struct leaf_writer *w, const uint8_t *validity, int64_t from, int64_t count,
                              int64_t *valid)
{
    int64_t end = w->page_levels + count;
    SL_TRY(sl_buf_reserve(&w->definition, bitmap_bytes(end) - w->definition.len + 1));
    uint8_t *bits = w->definition.data;
    if (validity) {
        bits_append(bits, w->page_levels, validity, from, count);
    } else {
        static const uint8_t ones[WRITE_BLOCK / 8 + 1] = {
#define EIGHT 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff
            EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT,
            EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT,
        };
        bits_append(bits, w->page_levels, ones, 0, count);
    }
    w->definition.len = bitmap_bytes(end);
    *valid = validity ? (int64_t)parquet_bits_count(validity, (size_t)from, (size_t)count) : count;
    return SL_OK;
}

/* The rows of the block's values, or NULL when they are all the rows of a plain array. */
static const int32_t *block_slots(const sl_array *column, const uint8_t *validity, int64_t from,
                                  int64_t count, int64_t valid, int32_t *slots)
{
    if (valid == count && !column->dictionary)
        return NULL;
    if (valid == count)
        for (int64_t i = 0; i < count; i++)
            slots[i] = (int32_t)(from + i);
    else
        parquet_bits_places(validity, (size_t)from, (size_t)count, slots);
    if (column->dictionary)
        for (int64_t i = 0; i < valid; i++)
            slots[i] = sl_i32_at(column, slots[i]);
    return slots;
}

static sl_status put_flat_block(struct leaf_writer *w, struct write_scratch *s, const sl_array *column,
                                int64_t from, int64_t count)
{
    const uint8_t *validity = column->null_count ? column->validity : NULL;
    int64_t valid = count;
    if (w->leaf->max_definition)
        SL_TRY(put_validity(w, validity, from, count, &valid));
    struct value_view view = {
        .array = column->dictionary ? column->dictionary : column,
        .first = from,
        .slots = block_slots(column, validity, from, count, valid, s->slots),
        .count = (size_t)valid,
        .dictionary = column->dictionary != NULL,
    };
    SL_TRY(leaf_writer_values(w, s, &view));
    w->page_rows += count;
    w->rows += count;
    w->page_levels += count;
    return close_full_page(w, s);
}

/* Room for the values that come, at once: growing into it copies them. */
static sl_status reserve_values(struct leaf_writer *w, const sl_array *column, int64_t from, int64_t count)
{
    if (w->dictionary_active || w->leaf->kind == WRITE_BOOL || column->dictionary)
        return SL_OK;
    size_t bytes = (size_t)count * (size_t)(w->leaf->width ? w->leaf->width : 4);
    if (w->leaf->kind == WRITE_BYTES)
        bytes += (size_t)(column->offsets[from + count] - column->offsets[from]);
    size_t budget = page_budget(w);
    return sl_buf_reserve(&w->body, bytes < budget ? bytes : budget);
}

static sl_status put_flat(struct leaf_writer *w, struct write_scratch *s, const sl_array *column,
                          int64_t from, int64_t count)
{
    if (from + count > INT32_MAX)
        return sl_input("column %s: more than 2^31 rows in one batch", w->leaf->name);
    while (count > 0) {
        int64_t n = rows_to_border(w);
        n = n < count ? n : count;
        SL_TRY(reserve_values(w, column, from, n));
        n = n < WRITE_BLOCK ? n : WRITE_BLOCK;
        int64_t fit = rows_that_fit(w->leaf, column, from, n, page_budget(w));
        if (fit == 0 && w->page_rows > 0) {
            SL_TRY(leaf_writer_close_page(w, s));
            continue;
        }
        n = fit > 0 ? fit : 1;
        SL_TRY(put_flat_block(w, s, column, from, n));
        from += n;
        count -= n;
    }
    return SL_OK;
}

/* ---- nested columns ------------------------------------------------------------------------------------ */

/* Upper bound of the bytes that the leaf's values of some rows take. */
static size_t span_bytes(const struct write_leaf *leaf, const sl_array *column, int64_t from, int64_t count)
{
    const sl_array *array;
    int64_t first, values;
    levels_span(leaf, column, from, count, &array, &first, &values);
    if (values > 0 && leaf->kind == WRITE_BYTES && !array->dictionary)
        return (size_t)(array->offsets[first + values] - array->offsets[first]) + 4 * (size_t)values;
    return (size_t)values * (size_t)(leaf->width ? leaf->width : 4);
}

static sl_status put_nested_block(struct leaf_writer *w, struct write_scratch *s, const sl_array *column,
                                  int64_t from, int64_t count, int64_t file_row)
{
    struct write_levels *levels = &s->levels;
    SL_TRY(levels_build(levels, w->leaf, column, from, count, file_row));
    SL_TRY(sl_buf_append(&w->definition, levels->now.definition, levels->now.count));
    if (w->leaf->max_repetition)
        SL_TRY(sl_buf_append(&w->repetition, levels->now.repetition, levels->now.count));
    const sl_array *array = levels->array;
    int32_t *slots = levels->now.slots;
    if (array->dictionary)
        for (size_t i = 0; i < levels->value_count; i++)
            slots[i] = sl_i32_at(array, slots[i]);
    struct value_view view = {.array = array->dictionary ? array->dictionary : array,
                              .dictionary = array->dictionary != NULL};
    for (size_t i = 0; i < levels->value_count; i += view.count) {
        view.slots = slots + i;
        view.count = levels->value_count - i < WRITE_BLOCK ? levels->value_count - i : WRITE_BLOCK;
        SL_TRY(leaf_writer_values(w, s, &view));
    }
    w->page_rows += count;
    w->rows += count;
    w->page_levels += (int64_t)levels->now.count;
    return close_full_page(w, s);
}

static sl_status put_nested(struct leaf_writer *w, struct write_scratch *s, const sl_array *column,
                            int64_t from, int64_t count, int64_t file_row)
{
    while (count > 0) {
        int64_t n = rows_to_border(w);
        n = n < WRITE_BLOCK ? n : WRITE_BLOCK;
        n = n < count ? n : count;
        size_t budget = page_budget(w);
        while (n > 1 && span_bytes(w->leaf, column, from, n) > budget)
            n /= 2;
        if (w->page_rows > 0 && span_bytes(w->leaf, column, from, n) > budget) {
            if (!w->dictionary_active) {
                SL_TRY(leaf_writer_close_page(w, s));
                continue;
            }
        }
        SL_TRY(put_nested_block(w, s, column, from, n, file_row));
        from += n;
        file_row += n;
        count -= n;
    }
    return SL_OK;
}

sl_status leaf_writer_rows(struct leaf_writer *w, struct write_scratch *s, const sl_array *column,
                           int64_t from, int64_t count, int64_t file_row)
{
    if (w->leaf->flat)
        return put_flat(w, s, column, from, count);
    return put_nested(w, s, column, from, count, file_row);
}
