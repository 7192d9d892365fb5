/*
 * Minima and maxima: four vectors at a time, each with a range of its own, so that no step waits for the one before. AVX2 has no
 * minimum of 64-bit integers, so a comparison chooses; unsigned ones are compared with their top bit turned. MINPS and its like give
 * the second operand when one is NaN: the range so far, which is what the scalar loops do.
 */
#include "parquet/simd_avx2.h"

#if SL_HAVE_AVX2

/* ---- a vector of each type ----------------------------------------------------------------------------- */

#define load_i32(p)     load_256(p)
#define every_i32(v)    _mm256_set1_epi32(v)
#define store_i32(p, v) store_256(p, v)
#define min_i32         _mm256_min_epi32
#define max_i32         _mm256_max_epi32

#define load_u32(p)     load_256(p)
#define every_u32(v)    _mm256_set1_epi32((int32_t)(v))
#define store_u32(p, v) store_256(p, v)
#define min_u32         _mm256_min_epu32
#define max_u32         _mm256_max_epu32

#define load_i64(p)     load_256(p)
#define every_i64(v)    _mm256_set1_epi64x(v)
#define store_i64(p, v) store_256(p, v)
AVX2_INLINE __m256i min_i64(__m256i a, __m256i b)
{
    return _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b));
}
AVX2_INLINE __m256i max_i64(__m256i a, __m256i b)
{
    return _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b));
}

AVX2_INLINE __m256i turned(__m256i v) { return _mm256_xor_si256(v, _mm256_set1_epi64x(INT64_MIN)); }
#define load_u64(p)     turned(load_256(p))
#define every_u64(v)    turned(_mm256_set1_epi64x((int64_t)(v)))
#define store_u64(p, v) store_256(p, turned(v))
#define min_u64         min_i64
#define max_u64         max_i64

AVX2_INLINE __m256 load_float(const void *p) { return _mm256_castsi256_ps(load_256(p)); }
#define every_float(v)    _mm256_set1_ps(v)
#define store_float(p, v) _mm256_storeu_ps(p, v)
#define min_float         _mm256_min_ps
#define max_float         _mm256_max_ps

AVX2_INLINE __m256d load_double(const void *p) { return _mm256_castsi256_pd(load_256(p)); }
#define every_double(v)    _mm256_set1_pd(v)
#define store_double(p, v) _mm256_storeu_pd(p, v)
#define min_double         _mm256_min_pd
#define max_double         _mm256_max_pd

/* ---- ranges -------------------------------------------------------------------------------------------- */

#define RANGES 4

#define BOUNDS(S, TYPE, VECTOR)                                                                              \
    SL_AVX2 size_t bounds_##S##_avx2(const uint8_t *values, size_t count, TYPE *min, TYPE *max)              \
    {                                                                                                        \
        enum { LANES = 32 / sizeof(TYPE), BLOCK = RANGES * LANES };                                          \
        VECTOR low[RANGES], high[RANGES];                                                                    \
        SL_UNROLL                                                                                            \
        for (int k = 0; k < RANGES; k++) {                                                                   \
            low[k] = every_##S(*min);                                                                        \
            high[k] = every_##S(*max);                                                                       \
        }                                                                                                    \
        size_t done = 0;                                                                                     \
        for (; count - done >= BLOCK; done += BLOCK, values += 32 * RANGES)                                  \
            SL_UNROLL                                                                                        \
        for (int k = 0; k < RANGES; k++) {                                                                   \
            VECTOR v = load_##S(values + 32 * k);                                                            \
            low[k] = min_##S(v, low[k]);                                                                     \
            high[k] = max_##S(v, high[k]);                                                                   \
        }                                                                                                    \
        SL_UNROLL                                                                                            \
        for (int k = 1; k < RANGES; k++) {                                                                   \
            low[0] = min_##S(low[k], low[0]);                                                                \
            high[0] = max_##S(high[k], high[0]);                                                             \
        }                                                                                                    \
        TYPE lows[LANES], highs[LANES];                                                                      \
        store_##S(lows, low[0]);                                                                             \
        store_##S(highs, high[0]);                                                                           \
        SL_UNROLL                                                                                            \
        for (int k = 0; k < LANES; k++) {                                                                    \
            *min = lows[k] < *min ? lows[k] : *min;                                                          \
            *max = highs[k] > *max ? highs[k] : *max;                                                        \
        }                                                                                                    \
        return done;                                                                                         \
    }
BOUNDS(i32, int32_t, __m256i)
BOUNDS(u32, uint32_t, __m256i)
BOUNDS(i64, int64_t, __m256i)
BOUNDS(u64, uint64_t, __m256i)
BOUNDS(float, float, __m256)
BOUNDS(double, double, __m256d)

/* ---- NaN ----------------------------------------------------------------------------------------------- */

SL_AVX2 size_t nans_float_avx2(const uint8_t *values, size_t count, int64_t *nans)
{
    size_t done = 0;
    int64_t found = 0;
    for (; count - done >= 8; done += 8) {
        __m256 v = load_float(values + 4 * done);
        found += (int64_t)set_bits((uint64_t)_mm256_movemask_ps(_mm256_cmp_ps(v, v, _CMP_UNORD_Q)));
    }
    *nans += found;
    return done;
}

SL_AVX2 size_t nans_double_avx2(const uint8_t *values, size_t count, int64_t *nans)
{
    size_t done = 0;
    int64_t found = 0;
    for (; count - done >= 4; done += 4) {
        __m256d v = load_double(values + 8 * done);
        found += (int64_t)set_bits((uint64_t)_mm256_movemask_pd(_mm256_cmp_pd(v, v, _CMP_UNORD_Q)));
    }
    *nans += found;
    return done;
}

#endif
