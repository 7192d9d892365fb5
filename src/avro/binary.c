/* Avro's binary primitives: zigzag varints, little-endian floats, length-prefixed bytes, blocks of items. */
#include "avro/avro_int.h"

sl_status avro_read_long_slow(struct avro_reader *r, int64_t *out)
{
    uint64_t zigzag = 0;
    size_t pos = r->pos;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (pos >= r->len)
            return sl_corrupt("Avro number at byte %zu runs past the end", r->pos);
        uint8_t byte = r->data[pos++];
        if (shift == 63 && byte > 1)
            break;
        zigzag |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            r->pos = pos;
            *out = (int64_t)(zigzag >> 1) ^ -(int64_t)(zigzag & 1);
            return SL_OK;
        }
    }
    return sl_corrupt("Avro number at byte %zu has more than 64 bits", r->pos);
}

sl_status avro_read_int(struct avro_reader *r, int32_t *out)
{
    size_t start = r->pos;
    int64_t wide;
    SL_TRY(avro_read_long(r, &wide));
    if (wide < INT32_MIN || wide > INT32_MAX)
        return sl_corrupt("Avro int at byte %zu is %" PRId64 ", beyond 32 bits", start, wide);
    *out = (int32_t)wide;
    return SL_OK;
}

sl_status avro_read_fixed(struct avro_reader *r, size_t len, const uint8_t **out)
{
    if (len > r->len - r->pos)
        return sl_corrupt("Avro value of %zu bytes at byte %zu runs past the end", len, r->pos);
    *out = r->data + r->pos;
    r->pos += len;
    return SL_OK;
}

sl_status avro_read_bool(struct avro_reader *r, bool *out)
{
    const uint8_t *p = NULL;
    SL_TRY(avro_read_fixed(r, 1, &p));
    if (*p > 1)
        return sl_corrupt("Avro boolean at byte %zu is %u", r->pos - 1, *p);
    *out = *p == 1;
    return SL_OK;
}

sl_status avro_read_float(struct avro_reader *r, float *out)
{
    const uint8_t *p = NULL;
    SL_TRY(avro_read_fixed(r, 4, &p));
    memcpy(out, p, 4);
    return SL_OK;
}

sl_status avro_read_double(struct avro_reader *r, double *out)
{
    const uint8_t *p = NULL;
    SL_TRY(avro_read_fixed(r, 8, &p));
    memcpy(out, p, 8);
    return SL_OK;
}

sl_status avro_read_bytes(struct avro_reader *r, const uint8_t **out, size_t *len)
{
    size_t start = r->pos;
    int64_t claimed;
    SL_TRY(avro_read_long(r, &claimed));
    if (claimed < 0 || (uint64_t)claimed > r->len - r->pos)
        return sl_corrupt("Avro bytes at byte %zu: length %" PRId64 " with %zu left", start, claimed,
                          r->len - r->pos);
    *len = (size_t)claimed;
    return avro_read_fixed(r, *len, out);
}

sl_status avro_read_string(struct avro_reader *r, const uint8_t **out, size_t *len)
{
    SL_TRY(avro_read_bytes(r, out, len));
    if (sl_utf8_valid_prefix(*out, *len) != *len)
        return sl_corrupt("Avro string that ends at byte %zu is not UTF-8", r->pos);
    return SL_OK;
}

sl_status avro_read_index(struct avro_reader *r, size_t count, const char *what, size_t *out)
{
    size_t start = r->pos;
    int64_t index;
    SL_TRY(avro_read_long(r, &index));
    if (index < 0 || (uint64_t)index >= count)
        return sl_corrupt("Avro %s %" PRId64 " at byte %zu, there are %zu", what, index, start, count);
    *out = (size_t)index;
    return SL_OK;
}

sl_status avro_blocks_next_slow(struct avro_reader *r, uint32_t item_bytes_min, struct avro_blocks *blocks,
                                bool *more)
{
    if (blocks->end != 0 && r->pos != blocks->end)
        return sl_corrupt("Avro block of items ends at byte %zu, not at %zu as it says", r->pos, blocks->end);
    size_t start = r->pos;
    int64_t count;
    SL_TRY(avro_read_long(r, &count));
    blocks->end = 0;
    *more = count != 0;
    if (count == 0)
        return SL_OK;
    if (count < 0) { /* a negative count is followed by the block's size in bytes */
        int64_t bytes;
        SL_TRY(avro_read_long(r, &bytes));
        if (count == INT64_MIN || bytes < 0 || (uint64_t)bytes > r->len - r->pos)
            return sl_corrupt("Avro block of items at byte %zu: %" PRId64 " items in %" PRId64
                              " bytes with %zu left",
                              start, count, bytes, r->len - r->pos);
        count = -count;
        blocks->end = r->pos + (size_t)bytes;
    }
    uint64_t believable =
        item_bytes_min > 0 ? (r->len - r->pos) / item_bytes_min : AVRO_EMPTY_ITEMS_MAX - blocks->empty_items;
    if ((uint64_t)count > believable)
        return sl_corrupt("Avro block at byte %zu claims %" PRId64 " items with %zu bytes left", start, count,
                          r->len - r->pos);
    if (item_bytes_min == 0)
        blocks->empty_items += (uint64_t)count;
    blocks->items_left = (uint64_t)count - 1;
    return SL_OK;
}

#define MEMORY_BASE   ((size_t)64 << 20)
#define MEMORY_FACTOR 512

size_t avro_memory_for(size_t input_len)
{
    size_t bytes;
    if (sl_mul_overflows(input_len, MEMORY_FACTOR, &bytes) || sl_add_overflows(bytes, MEMORY_BASE, &bytes))
        return SIZE_MAX;
    return bytes;
}

sl_status avro_memory_take(struct avro_reader *r, size_t bytes)
{
    if (SL_UNLIKELY(bytes > r->memory_left))
        return sl_corrupt("Avro value at byte %zu unfolds to far more than its %zu bytes", r->pos, r->len);
    r->memory_left -= bytes;
    return SL_OK;
}

sl_status avro_decimal_from_bytes(const uint8_t *data, size_t len, sl_i128 *out)
{
    uint8_t sign = len > 0 && (data[0] & 0x80) ? 0xff : 0;
    size_t skip = len > 16 ? len - 16 : 0;
    for (size_t i = 0; i < skip; i++)
        if (data[i] != sign)
            return sl_corrupt("Avro decimal of %zu bytes does not fit 128 bits", len);
    if (skip > 0 && (data[skip] & 0x80) != (sign & 0x80))
        return sl_corrupt("Avro decimal of %zu bytes does not fit 128 bits", len);
    sl_u128 value = sign ? ~(sl_u128)0 : 0;
    for (size_t i = skip; i < len; i++)
        value = value << 8 | data[i];
    *out = (sl_i128)value;
    return SL_OK;
}

sl_status avro_write_long(sl_buf *out, int64_t value)
{
    uint64_t zigzag = ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0);
    uint8_t bytes[10];
    size_t len = 0;
    while (zigzag >= 0x80) {
        bytes[len++] = (uint8_t)(zigzag | 0x80);
        zigzag >>= 7;
    }
    bytes[len++] = (uint8_t)zigzag;
    return sl_buf_append(out, bytes, len);
}
