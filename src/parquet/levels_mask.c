/*
 * Comparing levels, eight in a word: a level is below 128, so adding 128 - least sets the top bit of exactly the bytes
 * that are large enough, and nothing carries into the next byte. One multiplication gathers the eight top bits.
 */
#include "parquet/read_int.h"
#include "parquet/simd.h"

#define EVERY_BYTE(v) (UINT64_C(0x0101010101010101) * (uint64_t)(v))

SL_INLINE uint64_t mask_of_word(uint64_t word, uint64_t added)
{
    uint64_t hits = (word + added) >> 7 & EVERY_BYTE(1);
    return hits * UINT64_C(0x0102040810204080) >> 56;
}

uint64_t parquet_levels_mask(const uint8_t *levels, size_t count, int least)
{
    uint64_t mask = 0, added = EVERY_BYTE(128 - least);
    if (count >= 64 && sl_cpu_avx2())
        return levels_mask_avx2(levels, least);
    if (SL_LIKELY(count >= 64)) {
        for (unsigned i = 0; i < 64; i += 8)
            mask |= mask_of_word(load_le64(levels + i), added) << i;
        return mask;
    }
    unsigned i = 0;
    for (; i + 8 <= count; i += 8)
        mask |= mask_of_word(load_le64(levels + i), added) << i;
    for (; i < count; i++)
        mask |= (uint64_t)(levels[i] >= least) << i;
    return mask;
}
