/* Bitmaps, and moving dense values to the places that a bitmap names. */
#include "parquet/read_int.h"
#include "parquet/simd.h"

void parquet_bits_fill(uint8_t *bits, size_t from, size_t count, bool value)
{
    if (count == 0)
        return;
    size_t to = from + count, first = from >> 3, last = to >> 3;
    uint8_t head = (uint8_t)(0xffu << (from & 7)), tail = (uint8_t)((1u << (to & 7)) - 1);
    if (first == last) {
        uint8_t mask = head & tail;
        bits[first] = (uint8_t)(value ? bits[first] | mask : bits[first] & ~mask);
        return;
    }
    bits[first] = (uint8_t)(value ? bits[first] | head : bits[first] & ~head);
    memset(bits + first + 1, value ? 0xff : 0, last - first - 1);
    if (tail)
        bits[last] = (uint8_t)(value ? bits[last] | tail : bits[last] & ~tail);
}

/* Bits [from, from + count) as a number, count <= 32, touching only the bytes that hold them. */
SL_INLINE uint64_t bits_load(const uint8_t *bits, size_t from, size_t count)
{
    uint64_t v = 0;
    const uint8_t *p = bits + (from >> 3);
    size_t bytes = ((from & 7) + count + 7) >> 3;
    for (size_t i = 0; i < bytes; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return (v >> (from & 7)) & ((UINT64_C(1) << count) - 1);
}

void parquet_bits_copy(uint8_t *to, size_t to_bit, const uint8_t *from, size_t from_bit, size_t count)
{
    /* up to the first byte border of the target */
    size_t head = (8 - (to_bit & 7)) & 7;
    if (head > count)
        head = count;
    if (head > 0) {
        uint8_t mask = (uint8_t)(((1u << head) - 1) << (to_bit & 7));
        uint8_t v = (uint8_t)(bits_load(from, from_bit, head) << (to_bit & 7));
        to[to_bit >> 3] = (uint8_t)((to[to_bit >> 3] & ~mask) | v);
        to_bit += head;
        from_bit += head;
        count -= head;
    }
    uint8_t *out = to + (to_bit >> 3);
    if ((from_bit & 7) == 0) {
        size_t bytes = count >> 3;
        if (bytes > 0)
            memcpy(out, from + (from_bit >> 3), bytes);
        out += bytes;
        from_bit += bytes * 8;
        count &= 7;
    }
    while (count >= 64) { /* the 9 bytes that hold 64 unaligned bits are all inside the source */
        const uint8_t *p = from + (from_bit >> 3);
        unsigned shift = from_bit & 7;
        store_le64(out, load_le64(p) >> shift | (uint64_t)p[8] << (64 - shift));
        out += 8;
        from_bit += 64;
        count -= 64;
    }
    while (count >= 8) {
        *out++ = (uint8_t)bits_load(from, from_bit, 8);
        from_bit += 8;
        count -= 8;
    }
    if (count > 0) {
        uint8_t mask = (uint8_t)((1u << count) - 1);
        *out = (uint8_t)((*out & ~mask) | bits_load(from, from_bit, count));
    }
}

size_t parquet_bits_count(const uint8_t *bits, size_t from, size_t count)
{
    size_t total = 0;
    size_t head = (8 - (from & 7)) & 7;
    if (head > count)
        head = count;
    if (head > 0)
        total += (size_t)sl_popcount64(bits_load(bits, from, head));
    from += head;
    count -= head;
    const uint8_t *p = bits + (from >> 3);
    for (; count >= 64; count -= 64, p += 8)
        total += (size_t)sl_popcount64(load_le64(p));
    for (; count >= 8; count -= 8, p++)
        total += (size_t)sl_popcount64(*p);
    if (count > 0)
        total += (size_t)sl_popcount64(*p & ((1u << count) - 1));
    return total;
}

size_t parquet_bits_places(const uint8_t *bits, size_t from, size_t count, int32_t *places)
{
    size_t found = 0, done = sl_cpu_avx2() ? places_avx2(bits, from, count, places, &found) : 0;
    for (size_t i = from + done; i < from + count; i++) {
        places[found] = (int32_t)i;
        found += bit_get(bits, (int64_t)i);
    }
    return found;
}

/* Spreads the bits of a byte over the eight bytes of a word and back, each by one multiplication. */
SL_INLINE uint64_t byte_to_word(uint8_t byte)
{
    uint64_t v = (byte * UINT64_C(0x0101010101010101)) & UINT64_C(0x8040201008040201);
    return (v + UINT64_C(0x7f7f7f7f7f7f7f7f)) >> 7 & UINT64_C(0x0101010101010101);
}

SL_INLINE uint8_t word_to_byte(uint64_t word)
{
    return (uint8_t)(((word & UINT64_C(0x0101010101010101)) * UINT64_C(0x0102040810204080)) >> 56);
}

void parquet_bits_to_bytes(const uint8_t *bits, size_t from, size_t count, uint8_t *out)
{
    for (; count > 0 && (from & 7); count--, from++)
        *out++ = (uint8_t)bit_get(bits, (int64_t)from);
    const uint8_t *p = bits + (from >> 3);
    for (; count >= 8; count -= 8, p++, out += 8)
        store_le64(out, byte_to_word(*p));
    for (size_t i = 0; i < count; i++)
        out[i] = (uint8_t)(*p >> i & 1);
}

void parquet_bytes_to_bits(const uint8_t *bytes, size_t count, uint8_t *bits)
{
    for (; count >= 8; count -= 8, bytes += 8)
        *bits++ = word_to_byte(load_le64(bytes));
    if (count > 0) {
        unsigned v = 0;
        for (size_t i = 0; i < count; i++)
            v |= (unsigned)(bytes[i] & 1) << i;
        *bits = (uint8_t)v;
    }
}

/* Up to 64 bits. */
static uint64_t bits_word(const uint8_t *bits, size_t from, size_t count)
{
    if (count <= 32)
        return bits_load(bits, from, count);
    return bits_load(bits, from, 32) | bits_load(bits, from + 32, count - 32) << 32;
}

/* Backwards, so that nothing is overwritten before it was moved, 64 places at a time. Once as many values as
 * places are left, the rest already stands where it belongs. */
#define SPREAD(NAME, TYPE)                                                                                   \
    static void NAME(uint8_t *values, const uint8_t *bits, size_t bit_from, size_t slots, size_t used)       \
    {                                                                                                        \
        while (slots > used && used > 0) {                                                                   \
            TYPE dense[65];                                                                                  \
            size_t n = slots < 64 ? slots : 64, next = 0;                                                    \
            uint64_t word = bits_word(bits, bit_from + slots - n, n);                                        \
            size_t there = (size_t)sl_popcount64(word);                                                      \
            slots -= n;                                                                                      \
            used -= there;                                                                                   \
            memcpy(dense, values + used * sizeof(TYPE), there * sizeof(TYPE));                               \
            dense[there] = 0;                                                                                \
            uint8_t *out = values + slots * sizeof(TYPE);                                                    \
            for (size_t i = 0; i < n; i++, word >>= 1) {                                                     \
                TYPE v = dense[next] & (TYPE)(0 - (TYPE)(word & 1));                                         \
                memcpy(out + i * sizeof v, &v, sizeof v);                                                    \
                next += word & 1;                                                                            \
            }                                                                                                \
        }                                                                                                    \
        if (used == 0)                                                                                       \
            memset(values, 0, slots * sizeof(TYPE));                                                         \
    }
SPREAD(spread_1, uint8_t)
SPREAD(spread_2, uint16_t)
SPREAD(spread_4, uint32_t)
SPREAD(spread_8, uint64_t)
SPREAD(spread_16, sl_u128)

static void spread_any(uint8_t *values, size_t width, const uint8_t *bits, size_t bit_from, size_t slots,
                       size_t used)
{
    while (slots > used && used > 0) {
        slots--;
        if (bit_get(bits, (int64_t)(bit_from + slots)))
            memmove(values + slots * width, values + --used * width, width);
        else
            memset(values + slots * width, 0, width);
    }
    if (used == 0)
        memset(values, 0, slots * width);
}

void parquet_spread(uint8_t *values, size_t width, const uint8_t *bits, size_t bit_from, size_t slots,
                    size_t used)
{
    switch (width) {
    case 1:
        spread_1(values, bits, bit_from, slots, used);
        break;
    case 2:
        spread_2(values, bits, bit_from, slots, used);
        break;
    case 4:
        if (sl_cpu_avx2())
            slots = spread_4_avx2(values, bits, bit_from, slots, &used);
        spread_4(values, bits, bit_from, slots, used);
        break;
    case 8:
        if (sl_cpu_avx2())
            slots = spread_8_avx2(values, bits, bit_from, slots, &used);
        spread_8(values, bits, bit_from, slots, used);
        break;
    case 16:
        spread_16(values, bits, bit_from, slots, used);
        break;
    default:
        spread_any(values, width, bits, bit_from, slots, used);
    }
}

void parquet_spread_offsets(int32_t *offsets, const uint8_t *bits, size_t bit_from, size_t slots, size_t used)
{
    if (sl_cpu_avx2())
        slots = spread_offsets_avx2(offsets, bits, bit_from, slots, &used);
    for (; slots > used; slots--) {
        offsets[slots] = offsets[used];
        used -= bit_get(bits, (int64_t)(bit_from + slots - 1));
    }
}
