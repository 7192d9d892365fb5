/*
 * BYTE_STREAM_SPLIT is a transposition. Sixteen values of 4 (8) bytes fill 4 (8) vectors; interleaving the bytes of the first half of
 * the vectors with those of the second turns the address of each byte by one bit: the number of the value and the number of the byte
 * in it change places after two (three) such steps, and back after four. The two halves of a vector hold two such blocks.
 */
#include "parquet/simd_avx2.h"

#if SL_HAVE_AVX2

#define BLOCK 32 /* values */

AVX2_INLINE void interleave(__m256i *v, int vectors, int steps)
{
    SL_UNROLL
    for (int step = 0; step < steps; step++) {
        __m256i from[8];
        SL_UNROLL
        for (int k = 0; k < vectors; k++)
            from[k] = v[k];
        SL_UNROLL
        for (int k = 0; k < vectors / 2; k++) {
            v[2 * k] = _mm256_unpacklo_epi8(from[k], from[k + vectors / 2]);
            v[2 * k + 1] = _mm256_unpackhi_epi8(from[k], from[k + vectors / 2]);
        }
    }
}

AVX2_INLINE size_t join(const uint8_t *streams, size_t stride, uint8_t *values, size_t count, int width,
                        int steps)
{
    size_t done = 0;
    for (; count - done >= BLOCK; done += BLOCK) {
        __m256i v[8];
        SL_UNROLL
        for (int k = 0; k < width; k++)
            v[k] = load_256(streams + (size_t)k * stride + done);
        interleave(v, width, steps);
        uint8_t *low = values + done * (size_t)width, *high = low + BLOCK / 2 * width;
        SL_UNROLL
        for (int k = 0; k < width; k++)
            store_2x128(low + 16 * k, high + 16 * k, v[k]);
    }
    return done;
}

AVX2_INLINE size_t part(const uint8_t *values, uint8_t *streams, size_t stride, size_t count, int width)
{
    size_t done = 0;
    for (; count - done >= BLOCK; done += BLOCK) {
        __m256i v[8];
        const uint8_t *low = values + done * (size_t)width, *high = low + BLOCK / 2 * width;
        SL_UNROLL
        for (int k = 0; k < width; k++)
            v[k] = load_2x128(low + 16 * k, high + 16 * k);
        interleave(v, width, 4);
        SL_UNROLL
        for (int k = 0; k < width; k++)
            store_256(streams + (size_t)k * stride + done, v[k]);
    }
    return done;
}

SL_AVX2 size_t split_join_4_avx2(const uint8_t *streams, size_t stride, uint8_t *values, size_t count)
{
    return join(streams, stride, values, count, 4, 2);
}

SL_AVX2 size_t split_join_8_avx2(const uint8_t *streams, size_t stride, uint8_t *values, size_t count)
{
    return join(streams, stride, values, count, 8, 3);
}

SL_AVX2 size_t split_part_4_avx2(const uint8_t *values, uint8_t *streams, size_t stride, size_t count)
{
    return part(values, streams, stride, count, 4);
}

SL_AVX2 size_t split_part_8_avx2(const uint8_t *values, uint8_t *streams, size_t stride, size_t count)
{
    return part(values, streams, stride, count, 8);
}

#endif
