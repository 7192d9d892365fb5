/*
 * A block of values on its way into the page: brought into Parquet's physical form, looked at for bounds, and
 * appended as PLAIN bytes or as dictionary indexes. Every loop here runs over a block with the decisions
 * already made.
 */
#include "parquet/write_int.h"

#define ROW(view, i) ((view)->slots ? (int64_t)(view)->slots[i] : (view)->first + (int64_t)(i))

/* ---- physical form ------------------------------------------------------------------------------------- */

static const uint8_t *gather_word32(const struct value_view *view, uint8_t *out)
{
    const uint8_t *values = view->array->values;
    if (!view->slots)
        return values + view->first * 4;
    for (size_t i = 0; i < view->count; i++)
        memcpy(out + i * 4, values + (size_t)view->slots[i] * 4, 4);
    return out;
}

static const uint8_t *gather_word64(const struct value_view *view, uint8_t *out)
{
    const uint8_t *values = view->array->values;
    if (!view->slots)
        return values + view->first * 8;
    for (size_t i = 0; i < view->count; i++)
        memcpy(out + i * 8, values + (size_t)view->slots[i] * 8, 8);
    return out;
}

static const uint8_t *widen(const struct value_view *view, enum write_kind kind, uint8_t *out)
{
    const uint8_t *values = view->array->values;
    switch (kind) {
    case WRITE_FROM_INT8:
        for (size_t i = 0; i < view->count; i++)
            store_le32(out + i * 4, (uint32_t)(int32_t)(int8_t)values[ROW(view, i)]);
        break;
    case WRITE_FROM_UINT8:
        for (size_t i = 0; i < view->count; i++)
            store_le32(out + i * 4, values[ROW(view, i)]);
        break;
    case WRITE_FROM_INT16:
        for (size_t i = 0; i < view->count; i++)
            store_le32(out + i * 4, (uint32_t)(int32_t)(int16_t)load_le16(values + ROW(view, i) * 2));
        break;
    default:
        for (size_t i = 0; i < view->count; i++)
            store_le32(out + i * 4, load_le16(values + ROW(view, i) * 2));
    }
    return out;
}

static sl_status gather_fixed(struct write_scratch *s, const struct value_view *view, size_t width,
                              const uint8_t **out)
{
    const uint8_t *values = view->array->values;
    if (!view->slots) {
        *out = values + (size_t)view->first * width;
        return SL_OK;
    }
    s->gathered.len = 0;
    SL_TRY(sl_buf_reserve(&s->gathered, view->count * width + 1));
    for (size_t i = 0; i < view->count; i++)
        memcpy(s->gathered.data + i * width, values + (size_t)view->slots[i] * width, width);
    *out = s->gathered.data;
    return SL_OK;
}

/* Sixteen bytes little endian become `width` bytes big endian; bounds on the way, where the values are
 * numbers. */
static sl_status gather_decimals(struct leaf_writer *w, struct write_scratch *s,
                                 const struct value_view *view, const uint8_t **out)
{
    size_t width = (size_t)w->leaf->width;
    s->gathered.len = 0;
    SL_TRY(sl_buf_reserve(&s->gathered, view->count * width + 16));
    union bound_number min = {0}, max = {0};
    int shift = width < 16 ? (int)(128 - 8 * width) : 0;
    bool fits = true;
    for (size_t i = 0; i < view->count; i++) {
        sl_i128 v = sl_decimal_at(view->array, ROW(view, i));
        fits = fits && (sl_i128)((sl_u128)v << shift) >> shift == v;
        uint8_t bytes[16];
        store_be64(bytes, (uint64_t)((sl_u128)v >> 64));
        store_be64(bytes + 8, (uint64_t)v);
        uint8_t *to = s->gathered.data + i * width;
        if (width <= 16) {
            memcpy(to, bytes + 16 - width, width);
        } else {
            memset(to, v < 0 ? 0xff : 0, width - 16);
            memcpy(to + width - 16, bytes, 16);
        }
        if (i == 0)
            min.decimal = max.decimal = v;
        min.decimal = v < min.decimal ? v : min.decimal;
        max.decimal = v > max.decimal ? v : max.decimal;
    }
    if (!fits)
        return sl_input("column %s: a decimal does not fit %d bytes", w->leaf->name, (int)width);
    if (view->count)
        bounds_add_number(&w->page_bounds, ORDER_DECIMAL, min, max);
    *out = s->gathered.data;
    return SL_OK;
}

/* ---- into the page ------------------------------------------------------------------------------------- */

static sl_status reserve_indexes(struct leaf_writer *w, size_t more)
{
    size_t want = (size_t)w->page_values + more;
    if (want <= w->indexes_capacity)
        return SL_OK;
    size_t capacity = w->indexes_capacity ? w->indexes_capacity * 2 : 4 * (size_t)WRITE_BLOCK;
    while (capacity < want)
        capacity *= 2;
    uint32_t *grown = sl_realloc_array(w->indexes, capacity, sizeof *grown);
    if (!grown)
        return sl_nomem();
    w->indexes = grown;
    w->indexes_capacity = capacity;
    return SL_OK;
}

static sl_status put_fixed(struct leaf_writer *w, const uint8_t *values, size_t count)
{
    size_t bytes = count * (size_t)w->leaf->width;
    w->page_raw_bytes += bytes;
    if (!w->dictionary_active)
        return sl_buf_append(&w->body, values, bytes);
    SL_TRY(reserve_indexes(w, count));
    return dictionary_encode_fixed(&w->dictionary, values, count, w->indexes + w->page_values);
}

static sl_status put_bytes(struct leaf_writer *w, const struct value_view *view)
{
    size_t bytes = value_view_bytes(view);
    w->page_raw_bytes += bytes + 4 * view->count;
    if (!w->dictionary_active) {
        SL_TRY(bounds_add_views(&w->page_bounds, view));
        return plain_append_bytes(view, bytes, &w->body);
    }
    SL_TRY(reserve_indexes(w, view->count));
    return sl_context(dictionary_encode_bytes(&w->dictionary, view, w->indexes + w->page_values), "column %s",
                      w->leaf->name);
}

static sl_status put_bools(struct leaf_writer *w, const struct value_view *view)
{
    int64_t bits = w->page_values + (int64_t)view->count;
    SL_TRY(sl_buf_reserve(&w->body, bitmap_bytes(bits) - w->body.len + 8));
    int64_t set = 0;
    if (view->slots) {
        if (w->page_values % 8 == 0)
            w->body.data[w->page_values / 8] = 0;
        for (size_t i = 0; i < view->count; i++) {
            int64_t at = w->page_values + (int64_t)i;
            unsigned bit = bit_get(view->array->values, view->slots[i]);
            set += bit;
            unsigned kept = at % 8 ? w->body.data[at / 8] : 0;
            w->body.data[at / 8] = (uint8_t)(kept | bit << (at % 8));
        }
    } else {
        bits_append(w->body.data, w->page_values, view->array->values, view->first, (int64_t)view->count);
        for (size_t i = 0; i < view->count; i++)
            set += bit_get(view->array->values, view->first + (int64_t)i);
    }
    w->body.len = bitmap_bytes(bits);
    w->page_raw_bytes = w->body.len;
    union bound_number min = {.i = set == (int64_t)view->count}, max = {.i = set > 0};
    bounds_add_number(&w->page_bounds, ORDER_BOOL, min, max);
    return SL_OK;
}

sl_status leaf_writer_values(struct leaf_writer *w, struct write_scratch *s, const struct value_view *view)
{
    if (view->count == 0)
        return SL_OK;
    const struct write_leaf *leaf = w->leaf;
    const uint8_t *values = NULL;
    switch (leaf->kind) {
    case WRITE_BOOL:
        SL_TRY(put_bools(w, view));
        break;
    case WRITE_BYTES:
        SL_TRY(put_bytes(w, view));
        break;
    case WRITE_WORD32:
        values = gather_word32(view, s->words);
        break;
    case WRITE_WORD64:
        values = gather_word64(view, s->words);
        break;
    case WRITE_DECIMAL:
        SL_TRY(gather_decimals(w, s, view, &values));
        break;
    case WRITE_FIXED:
        SL_TRY(gather_fixed(s, view, (size_t)leaf->width, &values));
        break;
    default:
        values = widen(view, leaf->kind, s->words);
    }
    if (values) {
        if (leaf->order == ORDER_FIXED)
            SL_TRY(bounds_add_fixed(&w->page_bounds, values, leaf->width, view->count));
        else if (leaf->order != ORDER_DECIMAL)
            bounds_add_numbers(&w->page_bounds, leaf->order, values, view->count);
        SL_TRY(put_fixed(w, values, view->count));
    }
    w->page_values += (int64_t)view->count;
    return SL_OK;
}
