/* Comparing levels, which are below 128, so that signed comparisons do. */
#include "parquet/simd_avx2.h"

#if SL_HAVE_AVX2

SL_AVX2 uint64_t levels_mask_avx2(const uint8_t *levels, int least)
{
    __m256i below = _mm256_set1_epi8((char)(least - 1));
    uint32_t first = (uint32_t)_mm256_movemask_epi8(_mm256_cmpgt_epi8(load_256(levels), below));
    uint32_t second = (uint32_t)_mm256_movemask_epi8(_mm256_cmpgt_epi8(load_256(levels + 32), below));
    return first | (uint64_t)second << 32;
}

#endif
