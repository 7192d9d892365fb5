/*
 * The RLE / bit-packing hybrid encoder (spec/parquet.md 3).
 *
 * Values are looked at in groups of eight, as bit-packing needs them. A group whose values are all equal
 * starts a repeated run; every other group joins the literal run in progress. Runs that start in the middle
 * of a group lose at most seven values to the literal run, which costs less than looking at every position.
 */
#include "parquet/write_int.h"

static uint8_t *put_varint(uint8_t *p, uint64_t v)
{
    while (v >= 0x80) {
        *p++ = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    *p++ = (uint8_t)v;
    return p;
}

static uint8_t *put_repeated(uint8_t *p, uint32_t value, size_t count, int width)
{
    p = put_varint(p, (uint64_t)count << 1);
    for (int bits = 0; bits < width; bits += 8)
        *p++ = (uint8_t)(value >> bits);
    return p;
}

/* Eight values, LSB first. Writes up to 16 bytes, of which `width` count; wider groups write exactly `width`.
 */
SL_INLINE uint8_t *put_group(uint8_t *p, const uint32_t *v, int width)
{
    if (width <= 8) {
        uint64_t x = 0;
        for (int i = 0; i < 8; i++)
            x |= (uint64_t)v[i] << (i * width);
        store_le64(p, x);
        return p + width;
    }
    if (width <= 16) {
        uint64_t low =
            v[0] | (uint64_t)v[1] << width | (uint64_t)v[2] << (2 * width) | (uint64_t)v[3] << (3 * width);
        uint64_t high =
            v[4] | (uint64_t)v[5] << width | (uint64_t)v[6] << (2 * width) | (uint64_t)v[7] << (3 * width);
        sl_u128 x = (sl_u128)low | (sl_u128)high << (4 * width);
        store_le64(p, (uint64_t)x);
        store_le64(p + 8, (uint64_t)(x >> 64));
        return p + width;
    }
    uint64_t x = 0;
    int bits = 0;
    for (int i = 0; i < 8; i++) {
        x |= (uint64_t)v[i] << bits;
        bits += width;
        if (bits >= 32) {
            store_le32(p, (uint32_t)x);
            p += 4;
            x >>= 32;
            bits -= 32;
        }
    }
    for (; bits > 0; bits -= 8, x >>= 8)
        *p++ = (uint8_t)x;
    return p;
}

SL_INLINE bool group_is_equal(const uint32_t *v)
{
    uint32_t difference = 0;
    for (int i = 1; i < 8; i++)
        difference |= v[i] ^ v[0];
    return difference == 0;
}

static uint8_t *put_literal(uint8_t *p, const uint32_t *v, size_t count, int width)
{
    size_t groups = (count + 7) / 8;
    p = put_varint(p, (uint64_t)groups << 1 | 1);
    for (size_t i = 0; i + 8 <= count; i += 8)
        p = put_group(p, v + i, width);
    if (count % 8) {
        uint32_t last[8] = {0};
        memcpy(last, v + count / 8 * 8, count % 8 * sizeof *v);
        p = put_group(p, last, width);
    }
    return p;
}

sl_status rle_encode(const uint32_t *values, size_t count, int width, sl_buf *out)
{
    /* Worst case: a literal run between two repeated ones, each with a header; and slack for wide stores. */
    size_t groups = (count + 7) / 8;
    SL_TRY(sl_buf_reserve(out, groups * (size_t)width + groups * 6 + 64));
    uint8_t *p = out->data + out->len;
    size_t literal = 0, i = 0;
    while (i + 8 <= count) {
        if (SL_LIKELY(!group_is_equal(values + i))) {
            i += 8;
            continue;
        }
        size_t end = i + 8;
        while (end < count && values[end] == values[i])
            end++;
        if (i > literal)
            p = put_literal(p, values + literal, i - literal, width);
        p = put_repeated(p, values[i], end - i, width);
        literal = i = end;
    }
    if (count > literal)
        p = put_literal(p, values + literal, count - literal, width);
    out->len = (size_t)(p - out->data);
    return SL_OK;
}

sl_status rle_encode_levels(const uint8_t *levels, size_t count, int width, sl_buf *out)
{
    SL_TRY(sl_buf_reserve(out, (count + 7) / 8 * (size_t)(width + 6) + 64));
    uint8_t *p = out->data + out->len;
    size_t literal = 0, i = 0;
    uint32_t wide[8];
    /* As rle_encode, reading bytes: a literal run is flushed group by group behind a header known beforehand.
     */
    while (literal < count) {
        size_t end = literal;
        for (i = literal; i + 8 <= count; i += 8) {
            end = i;
            while (end < count && levels[end] == levels[i] && end - i < 8)
                end++;
            if (end - i == 8) {
                while (end < count && levels[end] == levels[i])
                    end++;
                break;
            }
        }
        bool repeated = i + 8 <= count;
        size_t literal_end = repeated ? i : count;
        if (literal_end > literal) {
            p = put_varint(p, (uint64_t)((literal_end - literal + 7) / 8) << 1 | 1);
            for (size_t g = literal; g < literal_end; g += 8) {
                for (size_t k = 0; k < 8; k++)
                    wide[k] = g + k < literal_end ? levels[g + k] : 0;
                p = put_group(p, wide, width);
            }
        }
        if (repeated)
            p = put_repeated(p, levels[i], end - i, width);
        literal = repeated ? end : count;
    }
    out->len = (size_t)(p - out->data);
    return SL_OK;
}

#define BITS_RUN_BYTES 4 /* a repeated run of fewer bytes is not shorter than its bits */

sl_status rle_encode_bits(const uint8_t *bits, size_t count, sl_buf *out)
{
    size_t bytes = (count + 7) / 8, full = count / 8;
    SL_TRY(sl_buf_reserve(out, bytes * 2 + 64));
    uint8_t *p = out->data + out->len;
    size_t literal = 0, i = 0;
    while (i < full) {
        if (bits[i] != 0 && bits[i] != 0xff) {
            i++;
            continue;
        }
        size_t end = i + 1;
        while (end < full && bits[end] == bits[i])
            end++;
        size_t run = (end - i) * 8;
        if (end == full) /* the few bits behind the last full byte may belong to the run */
            while (i * 8 + run < count && bit_get(bits, (int64_t)(i * 8 + run)) == (bits[i] & 1))
                run++;
        bool all_to_the_end = i * 8 + run == count;
        if (end - i < BITS_RUN_BYTES && !all_to_the_end) {
            i = end;
            continue;
        }
        if (i > literal) {
            p = put_varint(p, (uint64_t)(i - literal) << 1 | 1);
            memcpy(p, bits + literal, i - literal);
            p += i - literal;
        }
        /* a run that is not at the end must stop at a byte, where the next literal group starts */
        if (!all_to_the_end)
            run = (end - i) * 8;
        p = put_repeated(p, bits[i] & 1, run, 1);
        literal = i = all_to_the_end ? bytes : end;
    }
    if (literal < bytes) {
        p = put_varint(p, (uint64_t)(bytes - literal) << 1 | 1);
        memcpy(p, bits + literal, bytes - literal);
        p += bytes - literal;
    }
    out->len = (size_t)(p - out->data);
    return SL_OK;
}

void bits_append(uint8_t *to, int64_t at, const uint8_t *from, int64_t from_bit, int64_t count)
{
    if (count <= 0)
        return;
    if (at % 8 == 0 && from_bit % 8 == 0) {
        memcpy(to + at / 8, from + from_bit / 8, bitmap_bytes(count));
    } else {
        if (at % 8 == 0)
            to[at / 8] = 0;
        int64_t done = 0;
        while (done < count) {
            int64_t source = from_bit + done, target = at + done;
            unsigned byte = (unsigned)from[source / 8] >> (source % 8);
            int64_t n = 8 - source % 8;
            if (n > 8 - target % 8)
                n = 8 - target % 8;
            if (n > count - done)
                n = count - done;
            byte &= (1u << n) - 1;
            if (target % 8 == 0)
                to[target / 8] = (uint8_t)byte;
            else
                to[target / 8] = (uint8_t)(to[target / 8] | byte << (target % 8));
            done += n;
        }
    }
    int64_t end = at + count;
    if (end % 8)
        to[end / 8] = (uint8_t)(to[end / 8] & ((1u << (end % 8)) - 1));
}
