/*
 * Arrow's string and binary views (polars makes them): 16 bytes a value, which hold the length and the bytes themselves, up to
 * 12, or else a prefix, the number of a buffer and a place in it. We have one stretch of bytes, so they are copied.
 *
 * Unlike others these arrays say how long their buffers are, in a last buffer of int64: nothing is believed.
 */
#include "column/arrow_int.h"

#define VIEW_BYTES    16
#define INLINE_BYTES  12
#define FIXED_BUFFERS 3 /* validity, views, and at the end the lengths */

struct views {
    const struct ArrowArray *array;
    int64_t from, count;
    const uint8_t *validity; /* of row `from` on; NULL: all are valid */
};

/* The bytes of a value; a null row has none, whatever its view says. */
static sl_status view_bytes(const struct views *v, int64_t row, const uint8_t **bytes, size_t *len)
{
    const uint8_t *view = (const uint8_t *)v->array->buffers[1] + (v->from + row) * VIEW_BYTES;
    int64_t buffers = v->array->n_buffers - FIXED_BUFFERS;
    bool is_null = v->validity && !bit_get(v->validity, row);
    int32_t length = is_null ? 0 : (int32_t)load_le32(view);
    *bytes = view + 4;
    *len = (size_t)length;
    if (length < 0)
        return sl_input("a view of %" PRId32 " bytes", length);
    if (length <= INLINE_BYTES)
        return SL_OK;
    int32_t number = (int32_t)load_le32(view + 8), offset = (int32_t)load_le32(view + 12);
    const uint8_t *lengths = v->array->buffers[v->array->n_buffers - 1];
    if (number < 0 || number >= buffers || offset < 0 || !lengths)
        return sl_input("a view into buffer %" PRId32 " of %" PRId64, number, buffers);
    int64_t size = (int64_t)load_le64(lengths + (size_t)number * 8);
    if (size < offset || size - offset < length || !v->array->buffers[number + 2])
        return sl_input("a view of %" PRId32 " bytes at %" PRId32 " of a buffer of %" PRId64, length, offset,
                        size);
    *bytes = (const uint8_t *)v->array->buffers[number + 2] + offset;
    return SL_OK;
}

static sl_status write_offsets(const struct views *v, uint8_t *offsets, size_t *total)
{
    *total = 0;
    store_le32(offsets, 0);
    for (int64_t i = 0; i < v->count; i++) {
        const uint8_t *bytes;
        size_t len;
        SL_TRY_CTX(view_bytes(v, i, &bytes, &len), "row %" PRId64, i);
        *total += len; /* neither exceeds INT32_MAX */
        if (*total > INT32_MAX)
            return sl_input("an Arrow array with more than %d bytes or elements: split it", INT32_MAX);
        store_le32(offsets + (i + 1) * 4, (uint32_t)*total);
    }
    return SL_OK;
}

/* What write_offsets has looked at cannot fail. */
static void write_values(const struct views *v, uint8_t *out)
{
    for (int64_t i = 0; i < v->count; i++) {
        const uint8_t *bytes;
        size_t len;
        if (sl_status_ignore(view_bytes(v, i, &bytes, &len)))
            continue;
        if (len > 0)
            memcpy(out, bytes, len);
        out += len;
    }
}

sl_status arrow_views_decode(const struct ArrowArray *array, int64_t from, int64_t count,
                             const sl_buffer *validity, sl_buffer **offsets, sl_buffer **values)
{
    struct views v = {array, from, count, validity ? sl_buffer_data(validity) : NULL};
    size_t total, offset_bytes;
    if (sl_mul_overflows((size_t)count + 1, 4, &offset_bytes))
        return sl_nomem();
    SL_TRY(sl_buffer_new(offset_bytes, offsets));
    sl_status status = write_offsets(&v, sl_buffer_data(*offsets), &total);
    if (status == SL_OK)
        status = sl_buffer_new(total, values);
    if (status == SL_OK)
        write_values(&v, sl_buffer_data(*values));
    else
        sl_buffer_unref(*offsets);
    return status;
}
