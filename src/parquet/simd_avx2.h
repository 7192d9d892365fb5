/* Unaligned vectors of 32 bytes, for the files NAME_avx2.c only. */
#ifndef SL_PARQUET_SIMD_AVX2_H
#define SL_PARQUET_SIMD_AVX2_H

#include "parquet/simd.h"

#if SL_HAVE_AVX2
#include <immintrin.h>

#define AVX2_INLINE SL_INLINE SL_AVX2

AVX2_INLINE __m256i load_256(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }
AVX2_INLINE void store_256(void *p, __m256i v) { _mm256_storeu_si256((__m256i *)p, v); }
AVX2_INLINE size_t set_bits(uint64_t v) { return (size_t)_mm_popcnt_u64(v); }
/* Two halves from two places. */
AVX2_INLINE __m256i load_2x128(const void *low, const void *high)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)low)),
                                   _mm_loadu_si128((const __m128i *)high), 1);
}
AVX2_INLINE void store_2x128(void *low, void *high, __m256i v)
{
    _mm_storeu_si128((__m128i *)low, _mm256_castsi256_si128(v));
    _mm_storeu_si128((__m128i *)high, _mm256_extracti128_si256(v, 1));
}

#endif
#endif
