/*
 * Bit unpacking, eight values at a time: the four bytes that hold a value are brought into its lane, then each lane is shifted by
 * its own number of bits and masked. The second half of a vector starts at byte width / 2, which may be in the middle of a byte.
 */
#include "parquet/simd_avx2.h"

#if SL_HAVE_AVX2

SL_AVX2 size_t unpack_avx2(const uint8_t *packed, size_t bytes, int width, uint32_t *out, size_t count)
{
    int odd = 4 * width & 7; /* bits of the second half's first byte that belong to the first half */
    __m256i bit = _mm256_add_epi32(
        _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3), _mm256_set1_epi32(width)),
        _mm256_setr_epi32(0, 0, 0, 0, odd, odd, odd, odd));
    __m256i bring =
        _mm256_add_epi32(_mm256_mullo_epi32(_mm256_srli_epi32(bit, 3), _mm256_set1_epi32(0x01010101)),
                         _mm256_set1_epi32(0x03020100));
    __m256i shift = _mm256_and_si256(bit, _mm256_set1_epi32(7));
    __m256i mask = _mm256_set1_epi32((int32_t)((UINT32_C(1) << width) - 1));
    size_t half = (size_t)width / 2, step = (size_t)width, at = 0, done = 0;
    for (; count - done >= 8 && bytes - at >= half + 16; done += 8, at += step) {
        __m256i v = load_2x128(packed + at, packed + at + half);
        v = _mm256_srlv_epi32(_mm256_shuffle_epi8(v, bring), shift);
        store_256(out + done, _mm256_and_si256(v, mask));
    }
    return done;
}

#endif
