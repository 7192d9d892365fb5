/*
 * The DELTA encodings (spec/parquet.md 3), made from the PLAIN values of a page.
 *
 * DELTA_BINARY_PACKED: blocks of 128 differences in four miniblocks of 32, as all writers use them. Differences
 * wrap in the width of the type; of each block the smallest (as a signed number) is taken away, what is left
 * is packed with the bits that the largest of its miniblock needs. Miniblocks behind the last value have width 0 and
 * no body.
 */
#include "parquet/write_int.h"

#define BLOCK_VALUES     128
#define MINIBLOCKS       4
#define MINIBLOCK_VALUES 32
#define SHORT_COPY       16 /* what is not longer is copied by one copy of this length */
#define HEADER_BYTES_MAX 32 /* of a stream */
#define BLOCK_BYTES_MAX  (10 + MINIBLOCKS + BLOCK_VALUES * 8 + 8) /* min delta, widths, bodies, slack */

static uint8_t *put_varint(uint8_t *p, uint64_t v)
{
    while (v >= 0x80) {
        *p++ = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    *p++ = (uint8_t)v;
    return p;
}

static uint8_t *put_zigzag(uint8_t *p, int64_t v)
{
    return put_varint(p, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

/* 32 values of `width` bits (0..64), LSB first. Touches up to 8 bytes behind the 4 * width that count. */
static uint8_t *pack32(uint8_t *p, const uint64_t *v, int width)
{
    if (width == 0)
        return p;
    uint64_t word = 0;
    int bits = 0;
    for (int i = 0; i < MINIBLOCK_VALUES; i++) {
        word |= v[i] << bits;
        bits += width;
        if (bits >= 64) {
            store_le64(p, word);
            p += 8;
            bits -= 64;
            word = bits ? v[i] >> (width - bits) : 0;
        }
    }
    if (bits) { /* 32 * width is a multiple of 32 */
        store_le32(p, (uint32_t)word);
        p += 4;
    }
    return p;
}

/* `count` differences (1..BLOCK_VALUES), sign-extended to 64 bits; mask: of the type. */
static uint8_t *put_block(uint8_t *p, int64_t *deltas, size_t count, uint64_t mask)
{
    int64_t min = deltas[0];
    for (size_t i = 1; i < count; i++)
        min = deltas[i] < min ? deltas[i] : min;
    uint64_t packed[BLOCK_VALUES] = {0};
    for (size_t i = 0; i < count; i++)
        packed[i] = ((uint64_t)deltas[i] - (uint64_t)min) & mask;
    p = put_zigzag(p, min);
    uint8_t *widths = p;
    p += MINIBLOCKS;
    for (size_t m = 0; m < MINIBLOCKS; m++) {
        const uint64_t *v = packed + m * MINIBLOCK_VALUES;
        uint64_t all = 0;
        for (size_t i = 0; i < MINIBLOCK_VALUES; i++)
            all |= v[i];
        int width = all ? 64 - sl_clz64(all) : 0;
        widths[m] = (uint8_t)width;
        if (m * MINIBLOCK_VALUES < count)
            p = pack32(p, v, width);
    }
    return p;
}

/* `width` is a constant in each caller. */
SL_INLINE int64_t load_signed(const uint8_t *p, int32_t width)
{
    return width == 4 ? (int64_t)(int32_t)load_le32(p) : (int64_t)load_le64(p);
}

SL_INLINE int64_t difference(const uint8_t *p, int32_t width)
{
    if (width == 4)
        return (int32_t)(load_le32(p) - load_le32(p - 4));
    return (int64_t)(load_le64(p) - load_le64(p - 8));
}

SL_INLINE sl_status encode_words(const uint8_t *plain, size_t count, int32_t width, sl_buf *out)
{
    SL_TRY(sl_buf_reserve(out, HEADER_BYTES_MAX));
    uint8_t *p = out->data + out->len;
    p = put_varint(p, BLOCK_VALUES);
    p = put_varint(p, MINIBLOCKS);
    p = put_varint(p, count);
    p = put_zigzag(p, count ? load_signed(plain, width) : 0);
    out->len = (size_t)(p - out->data);
    for (size_t at = 1; at < count; at += BLOCK_VALUES) {
        size_t n = count - at < BLOCK_VALUES ? count - at : BLOCK_VALUES;
        int64_t deltas[BLOCK_VALUES];
        for (size_t i = 0; i < n; i++)
            deltas[i] = difference(plain + (at + i) * (size_t)width, width);
        SL_TRY(sl_buf_reserve(out, BLOCK_BYTES_MAX));
        p = put_block(out->data + out->len, deltas, n, width == 4 ? UINT32_MAX : UINT64_MAX);
        out->len = (size_t)(p - out->data);
    }
    return SL_OK;
}

sl_status delta_encode_words(const uint8_t *plain, size_t count, int32_t width, sl_buf *out)
{
    return width == 4 ? encode_words(plain, count, 4, out) : encode_words(plain, count, 8, out);
}

sl_status delta_encode_lengths(const uint8_t *plain, size_t count, sl_buf *scratch, sl_buf *out)
{
    scratch->len = 0;
    SL_TRY(sl_buf_reserve(scratch, count * 4 + 1));
    const uint8_t *p = plain;
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t len = load_le32(p);
        store_le32(scratch->data + i * 4, len);
        bytes += len;
        p += 4 + len;
    }
    SL_TRY(delta_encode_words(scratch->data, count, 4, out));
    SL_TRY(sl_buf_reserve(out, bytes + 1));
    p = plain;
    for (size_t i = 0; i < count; i++) {
        uint32_t len = load_le32(p);
        memcpy(out->data + out->len, p + 4, len);
        out->len += len;
        p += 4 + len;
    }
    return SL_OK;
}

static size_t common_prefix(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
    size_t n = a_len < b_len ? a_len : b_len, i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t different = load_le64(a + i) ^ load_le64(b + i);
        if (different)
            return i + (size_t)sl_ctz64(different) / 8;
    }
    while (i < n && a[i] == b[i])
        i++;
    return i;
}

/* A value and where the next one is. */
SL_INLINE const uint8_t *next_value(const uint8_t *p, int32_t width, const uint8_t **value, size_t *len)
{
    *len = width ? (size_t)width : load_le32(p);
    *value = width ? p : p + 4;
    return *value + *len;
}

sl_status delta_encode_prefixes(const uint8_t *plain, size_t count, int32_t width, sl_buf *scratch,
                                sl_buf *out)
{
    scratch->len = 0;
    SL_TRY(sl_buf_reserve(scratch, count * 8 + 1));
    uint8_t *prefixes = scratch->data, *suffixes = scratch->data + count * 4;
    const uint8_t *p = plain, *previous = plain, *value;
    size_t previous_len = 0, len, bytes = 0;
    for (size_t i = 0; i < count; i++) {
        p = next_value(p, width, &value, &len);
        size_t prefix = common_prefix(previous, previous_len, value, len);
        store_le32(prefixes + i * 4, (uint32_t)prefix);
        store_le32(suffixes + i * 4, (uint32_t)(len - prefix));
        bytes += len - prefix;
        previous = value;
        previous_len = len;
    }
    SL_TRY(delta_encode_words(prefixes, count, 4, out));
    SL_TRY(delta_encode_words(suffixes, count, 4, out));
    SL_TRY(sl_buf_reserve(out, bytes + SHORT_COPY));
    uint8_t *to = out->data + out->len;
    const uint8_t *end = p;
    p = plain;
    for (size_t i = 0; i < count; i++) {
        p = next_value(p, width, &value, &len);
        size_t prefix = load_le32(prefixes + i * 4), suffix = len - prefix;
        if (SL_LIKELY(suffix <= SHORT_COPY && (size_t)(end - value) >= prefix + SHORT_COPY))
            memcpy(to, value + prefix, SHORT_COPY);
        else
            memcpy(to, value + prefix, suffix);
        to += suffix;
    }
    out->len += bytes;
    return SL_OK;
}
