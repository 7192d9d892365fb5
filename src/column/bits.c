/*
 * Bitmaps at any bit offset. The destination is brought to a byte boundary, then words go over whole, then
 * the rest byte by byte; bits next to the named range keep their values.
 */
#include "column/column_int.h"

/* 1..8 bits from bit `at` on. Reads the second byte only when the bits reach into it. */
static uint8_t bits_few(const uint8_t *bits, int64_t at, int64_t count)
{
    const uint8_t *p = bits + (at >> 3);
    unsigned shift = (unsigned)(at & 7), n = (unsigned)count;
    unsigned value = (unsigned)p[0] >> shift;
    if (shift + n > 8)
        value |= (unsigned)p[1] << (8 - shift);
    return (uint8_t)(value & ((1u << n) - 1));
}

/* Writes 1..8 bits that lie in one byte. */
static void bits_put(uint8_t *bits, int64_t at, uint8_t value, int64_t count)
{
    unsigned shift = (unsigned)(at & 7);
    unsigned mask = ((1u << (unsigned)count) - 1) << shift;
    uint8_t *p = bits + (at >> 3);
    *p = (uint8_t)((*p & ~mask) | (((unsigned)value << shift) & mask));
}

static uint64_t bits_word(const uint8_t *bits, int64_t at)
{
    const uint8_t *p = bits + (at >> 3);
    unsigned shift = (unsigned)(at & 7);
    uint64_t word = load_le64(p) >> shift;
    return shift ? word | (uint64_t)p[8] << (64 - shift) : word;
}

int64_t column_bits_copy(uint8_t *to, int64_t at, const uint8_t *from, int64_t from_bit, int64_t count)
{
    int64_t ones = 0, head = (8 - (at & 7)) & 7;
    if (head > count)
        head = count;
    if (head > 0) {
        uint8_t value = bits_few(from, from_bit, head);
        bits_put(to, at, value, head);
        ones += sl_popcount64(value);
    }
    int64_t done = head;
    for (; count - done >= 64; done += 64) {
        uint64_t word = bits_word(from, from_bit + done);
        store_le64(to + ((at + done) >> 3), word);
        ones += sl_popcount64(word);
    }
    while (done < count) {
        int64_t n = count - done < 8 ? count - done : 8;
        uint8_t value = bits_few(from, from_bit + done, n);
        bits_put(to, at + done, value, n);
        ones += sl_popcount64(value);
        done += n;
    }
    return ones;
}

int64_t column_bits_gather(uint8_t *to, int64_t at, const uint8_t *from, const uint32_t *rows, size_t count)
{
    int64_t ones = 0;
    for (size_t done = 0; done < count;) {
        size_t n = count - done < 64 ? count - done : 64;
        uint64_t word = 0;
        for (size_t k = 0; k < n; k++)
            word |= (uint64_t)bit_get(from, rows[done + k]) << k;
        uint8_t bytes[8];
        store_le64(bytes, word);
        ones += column_bits_copy(to, at + (int64_t)done, bytes, 0, (int64_t)n);
        done += n;
    }
    return ones;
}

void column_bits_fill(uint8_t *bits, int64_t at, int64_t count, bool value)
{
    uint8_t byte = value ? 0xff : 0;
    int64_t head = (8 - (at & 7)) & 7;
    if (head > count)
        head = count;
    if (head > 0)
        bits_put(bits, at, byte, head);
    at += head;
    count -= head;
    memset(bits + (at >> 3), byte, (size_t)(count >> 3));
    if (count & 7)
        bits_put(bits, at + (count & ~(int64_t)7), byte, count & 7);
}

int64_t column_bits_count(const uint8_t *bits, int64_t from, int64_t count)
{
    int64_t ones = 0, done = 0;
    for (; count - done >= 64; done += 64)
        ones += sl_popcount64(bits_word(bits, from + done));
    while (done < count) {
        int64_t n = count - done < 8 ? count - done : 8;
        ones += sl_popcount64(bits_few(bits, from + done, n));
        done += n;
    }
    return ones;
}
