/*
 * Dense values to the places of set bits, eight places at a time. Which of the next dense values stands in a place is the number of
 * set bits before it: eight such sums, a byte each, are one multiplication of the spread bits. From the back, as the values move up
 * in place: a block is read before it is written, and what is written is never below what is still to be read, since there are at
 * least as many slots as values in front of any place. For the same reason a whole vector may be read from any value on.
 */
#include "parquet/simd_avx2.h"

#if SL_HAVE_AVX2

#define EVERY_BYTE(v) (UINT64_C(0x0101010101010101) * (uint64_t)(v))

/* Bit i becomes byte i, 0 or 1. */
AVX2_INLINE uint64_t bits_to_bytes(uint64_t bits)
{
    uint64_t v = ((bits & 0xff) * EVERY_BYTE(1)) & UINT64_C(0x8040201008040201);
    return (v + EVERY_BYTE(0x7f)) >> 7 & EVERY_BYTE(1);
}

/* 64 bits that start anywhere, from the 8 or 9 bytes that hold them. */
AVX2_INLINE uint64_t load_bits(const uint8_t *bits, size_t from)
{
    const uint8_t *p = bits + (from >> 3);
    unsigned shift = from & 7;
    uint64_t v = load_le64(p) >> shift;
    return shift ? v | (uint64_t)p[8] << (64 - shift) : v;
}

AVX2_INLINE __m256i bytes_to_lanes_32(uint64_t bytes)
{
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)bytes));
}

AVX2_INLINE __m256i bytes_to_lanes_64(uint32_t bytes)
{
    return _mm256_cvtepu8_epi64(_mm_cvtsi32_si128((int)bytes));
}

/* Eight values of four bytes. */
AVX2_INLINE void place_4(const uint8_t *dense, uint64_t there, uint8_t *out)
{
    __m256i before = bytes_to_lanes_32((there * EVERY_BYTE(1)) << 8);
    __m256i empty =
        _mm256_sub_epi32(bytes_to_lanes_32(there), _mm256_set1_epi32(1)); /* all ones where there is none */
    store_256(out, _mm256_andnot_si256(empty, _mm256_permutevar8x32_epi32(load_256(dense), before)));
}

/* Four of eight bytes: a value is two lanes of four. */
AVX2_INLINE void place_8(const uint8_t *dense, uint32_t there, uint8_t *out)
{
    __m256i before = bytes_to_lanes_64((there * UINT32_C(0x01010101)) << 8);
    __m256i lanes = _mm256_or_si256(_mm256_slli_epi64(before, 1), _mm256_slli_epi64(before, 33));
    lanes = _mm256_add_epi32(lanes, _mm256_set1_epi64x(INT64_C(1) << 32));
    __m256i empty = _mm256_sub_epi64(bytes_to_lanes_64(there), _mm256_set1_epi64x(1));
    store_256(out, _mm256_andnot_si256(empty, _mm256_permutevar8x32_epi32(load_256(dense), lanes)));
}

SL_AVX2 size_t spread_4_avx2(uint8_t *values, const uint8_t *bits, size_t bit_from, size_t slots,
                             size_t *used)
{
    size_t left = *used;
    while (slots >= 64 && slots > left && left > 0) {
        uint64_t word = load_bits(bits, bit_from + slots - 64);
        for (int i = 0; i < 8; i++, word <<= 8) {
            slots -= 8;
            left -= set_bits(word >> 56);
            place_4(values + 4 * left, bits_to_bytes(word >> 56), values + 4 * slots);
        }
    }
    *used = left;
    return slots;
}

SL_AVX2 size_t spread_8_avx2(uint8_t *values, const uint8_t *bits, size_t bit_from, size_t slots,
                             size_t *used)
{
    size_t left = *used;
    while (slots >= 64 && slots > left && left > 0) {
        uint64_t word = load_bits(bits, bit_from + slots - 64);
        for (int i = 0; i < 8; i++, word <<= 8) {
            uint64_t there = bits_to_bytes(word >> 56);
            slots -= 8;
            left -= set_bits(word >> 60);
            place_8(values + 8 * left, (uint32_t)(there >> 32), values + 8 * (slots + 4));
            left -= set_bits(word >> 56 & 15);
            place_8(values + 8 * left, (uint32_t)there, values + 8 * slots);
        }
    }
    *used = left;
    return slots;
}

/* A slot's end is that of the last value up to and with it: one of nine ends, but never both the first and the last of them. */
SL_AVX2 size_t spread_offsets_avx2(int32_t *offsets, const uint8_t *bits, size_t bit_from, size_t slots,
                                   size_t *used)
{
    size_t left = *used;
    while (slots >= 64 && slots > left) {
        uint64_t word = load_bits(bits, bit_from + slots - 64);
        for (int i = 0; i < 8; i++, word <<= 8) {
            uint64_t there = bits_to_bytes(word >> 56), first = there & 1;
            slots -= 8;
            left -= set_bits(word >> 56);
            __m256i ends = load_256(offsets + left + first);
            __m256i which = bytes_to_lanes_32(there * EVERY_BYTE(1) - first * EVERY_BYTE(1));
            store_256(offsets + slots + 1, _mm256_permutevar8x32_epi32(ends, which));
        }
    }
    *used = left;
    return slots;
}

#endif
