/*
 * Loops for AVX2, and how they are called.
 *
 *     size_t done = sl_cpu_avx2() ? split_join_4_avx2(streams, stride, out, count) : 0;
 *     for (size_t i = done; i < count; i++)      // the scalar loop: all of it, or what is left of whole vectors
 *         ...
 *
 * Each function does as many whole blocks of vectors as there are and gives their number of values, so the scalar loop is there on
 * every machine and its results are the same (tests/unit/parquet_simd_test.c). Nothing outside the named memory is touched.
 * Where there is no AVX2 to compile for (SL_HAVE_AVX2 in base/compiler.h) every call does nothing.
 *
 * What did not pay is not here: gathering dictionary values (bench/RESULTS.md, "AVX2 where it pays").
 */
#ifndef SL_PARQUET_SIMD_H
#define SL_PARQUET_SIMD_H

#include "base/base.h"

#if SL_HAVE_AVX2

/* ---- unpack_avx2.c ------------------------------------------------------------------------------------- */

#define UNPACK_AVX2_WIDTH 25 /* up to here a value lies in four bytes, wherever in a byte it starts */

/* Bit-packed values of 1 .. UNPACK_AVX2_WIDTH bits from the first bit of `packed` on, of which `bytes` bytes are there. */
size_t unpack_avx2(const uint8_t *packed, size_t bytes, int width, uint32_t *out, size_t count);

/* ---- spread_avx2.c: as parquet_spread and parquet_spread_offsets --------------------------------------- */

/* From the back, in blocks of 64 slots. They give the slots that are left, and *used of them. */
size_t spread_4_avx2(uint8_t *values, const uint8_t *bits, size_t bit_from, size_t slots, size_t *used);
size_t spread_8_avx2(uint8_t *values, const uint8_t *bits, size_t bit_from, size_t slots, size_t *used);
size_t spread_offsets_avx2(int32_t *offsets, const uint8_t *bits, size_t bit_from, size_t slots,
                           size_t *used);

/* ---- levels_avx2.c ------------------------------------------------------------------------------------- */

/* As parquet_levels_mask, of 64 levels. */
uint64_t levels_mask_avx2(const uint8_t *levels, int least);

/* ---- places_avx2.c ------------------------------------------------------------------------------------- */

/* As parquet_bits_places: the bits looked at, *found of which are set. */
size_t places_avx2(const uint8_t *bits, size_t from, size_t count, int32_t *places, size_t *found);

/* ---- split_avx2.c: BYTE_STREAM_SPLIT ------------------------------------------------------------------- */

/* The k-th byte of value i is streams[k * stride + i]. */
size_t split_join_4_avx2(const uint8_t *streams, size_t stride, uint8_t *values, size_t count);
size_t split_join_8_avx2(const uint8_t *streams, size_t stride, uint8_t *values, size_t count);
size_t split_part_4_avx2(const uint8_t *values, uint8_t *streams, size_t stride, size_t count);
size_t split_part_8_avx2(const uint8_t *values, uint8_t *streams, size_t stride, size_t count);

/* ---- front_coding_avx2.c: DELTA_BYTE_ARRAY ------------------------------------------------------------- */

#define FRONT_CODED_AVX2_BYTES 64 /* no longer values than these */

/* Joins values, of which one was joined before. Ends at one that is too long, or too near to the ends of its page. */
struct front_coded;
size_t front_coded_avx2(struct front_coded *f, const uint32_t *prefixes, const uint32_t *suffixes,
                        size_t count, int32_t *ends);

/* ---- bounds_avx2.c ------------------------------------------------------------------------------------- */

/* Lower *min and raise *max. NaN takes no part; of equal zeros with different signs any may come out. */
size_t bounds_i32_avx2(const uint8_t *values, size_t count, int32_t *min, int32_t *max);
size_t bounds_u32_avx2(const uint8_t *values, size_t count, uint32_t *min, uint32_t *max);
size_t bounds_i64_avx2(const uint8_t *values, size_t count, int64_t *min, int64_t *max);
size_t bounds_u64_avx2(const uint8_t *values, size_t count, uint64_t *min, uint64_t *max);
size_t bounds_float_avx2(const uint8_t *values, size_t count, float *min, float *max);
size_t bounds_double_avx2(const uint8_t *values, size_t count, double *min, double *max);
/* Add the NaN among the values to *nans. */
size_t nans_float_avx2(const uint8_t *values, size_t count, int64_t *nans);
size_t nans_double_avx2(const uint8_t *values, size_t count, int64_t *nans);

#else

#define UNPACK_AVX2_WIDTH                                         0
#define unpack_avx2(packed, bytes, width, out, count)             ((size_t)0)
#define spread_4_avx2(values, bits, bit_from, slots, used)        (slots)
#define spread_8_avx2(values, bits, bit_from, slots, used)        (slots)
#define spread_offsets_avx2(offsets, bits, bit_from, slots, used) (slots)
#define levels_mask_avx2(levels, least)                           ((uint64_t)0)
#define places_avx2(bits, from, count, places, found)             ((size_t)0)
#define split_join_4_avx2(streams, stride, values, count)         ((size_t)0)
#define split_join_8_avx2(streams, stride, values, count)         ((size_t)0)
#define split_part_4_avx2(values, streams, stride, count)         ((size_t)0)
#define split_part_8_avx2(values, streams, stride, count)         ((size_t)0)
#define front_coded_avx2(f, prefixes, suffixes, count, ends)      ((size_t)0)
#define bounds_i32_avx2(values, count, min, max)                  ((size_t)0)
#define bounds_u32_avx2(values, count, min, max)                  ((size_t)0)
#define bounds_i64_avx2(values, count, min, max)                  ((size_t)0)
#define bounds_u64_avx2(values, count, min, max)                  ((size_t)0)
#define bounds_float_avx2(values, count, min, max)                ((size_t)0)
#define bounds_double_avx2(values, count, min, max)               ((size_t)0)
#define nans_float_avx2(values, count, nans)                      ((size_t)0)
#define nans_double_avx2(values, count, nans)                     ((size_t)0)

#endif
#endif
