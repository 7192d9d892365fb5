/* PLAIN encoding of byte arrays: each value is its int32 length and its bytes (spec/parquet.md 3). */
#include "parquet/write_int.h"

#define SHORT_COPY 16 /* values up to this length are copied by one fixed-size copy */

size_t value_view_bytes(const struct value_view *view)
{
    const int32_t *offsets = view->array->offsets;
    if (!view->slots)
        return view->count ? (size_t)(offsets[view->first + (int64_t)view->count] - offsets[view->first]) : 0;
    size_t bytes = 0;
    for (size_t i = 0; i < view->count; i++)
        bytes += (size_t)(offsets[view->slots[i] + 1] - offsets[view->slots[i]]);
    return bytes;
}

/* One value; `safe_end` is the last source position from where SHORT_COPY bytes may be read. */
SL_INLINE uint8_t *put_value(uint8_t *p, const uint8_t *data, size_t len, const uint8_t *safe_end)
{
    store_le32(p, (uint32_t)len);
    p += 4;
    if (len <= SHORT_COPY && data <= safe_end)
        memcpy(p, data, SHORT_COPY);
    else
        memcpy(p, data, len);
    return p + len;
}

sl_status plain_append_bytes(const struct value_view *view, size_t bytes, sl_buf *out)
{
    if (!view->count)
        return SL_OK;
    size_t need;
    if (sl_mul_overflows(view->count, 4, &need) || sl_add_overflows(need, bytes, &need) ||
        sl_add_overflows(need, SHORT_COPY, &need))
        return sl_nomem();
    SL_TRY(sl_buf_reserve(out, need));
    const int32_t *offsets = view->array->offsets;
    const uint8_t *values = view->array->values;
    size_t source_bytes = (size_t)offsets[view->array->length];
    /* With less than SHORT_COPY bytes in all, no position is safe. */
    const uint8_t *safe_end = values;
    bool any_safe = source_bytes >= SHORT_COPY;
    if (any_safe)
        safe_end = values + source_bytes - SHORT_COPY;
    uint8_t *p = out->data + out->len;
    for (size_t i = 0; i < view->count; i++) {
        int64_t row = view->slots ? view->slots[i] : view->first + (int64_t)i;
        size_t len = (size_t)(offsets[row + 1] - offsets[row]);
        if (SL_LIKELY(any_safe)) {
            p = put_value(p, values + offsets[row], len, safe_end);
        } else {
            store_le32(p, (uint32_t)len);
            if (len)
                memcpy(p + 4, values + offsets[row], len);
            p += 4 + len;
        }
    }
    out->len = (size_t)(p - out->data);
    return SL_OK;
}
