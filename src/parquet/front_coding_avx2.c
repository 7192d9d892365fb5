/*
 * DELTA_BYTE_ARRAY. A value is the front of the one before with new bytes behind it: the one before stays in registers, the new
 * bytes are loaded from so far in front of them that they lie where they belong, and a mask takes from each what is its own.
 * Through memory every value would wait for the stores of the one before, which no load finds whole.
 */
#include "parquet/read_int.h"
#include "parquet/simd_avx2.h"

#if SL_HAVE_AVX2

AVX2_INLINE __m256i behind_front(__m256i last, const uint8_t *bytes, int front)
{
    const __m256i place = _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
                                           19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
    return _mm256_blendv_epi8(load_256(bytes), last, _mm256_cmpgt_epi8(_mm256_set1_epi8((char)front), place));
}

SL_AVX2 size_t front_coded_avx2(struct front_coded *to_join, const uint32_t *prefixes,
                                const uint32_t *suffixes, size_t count, int32_t *ends)
{
    struct front_coded f = *to_join; /* which no store of bytes can change */
    __m256i low = load_256(f.last), high = load_256(f.last + 32);
    size_t i = 0;
    for (; i < count; i++) {
        size_t prefix = prefixes[i], len = prefix + suffixes[i];
        if (len > FRONT_CODED_AVX2_BYTES || (size_t)(f.p - f.begin) < prefix ||
            f.end - f.p < FRONT_CODED_AVX2_BYTES)
            break;
        const uint8_t *bytes = f.p - prefix;
        low = behind_front(low, bytes, (int)prefix);
        store_256(f.to, low);
        if (len > 32) {
            high = behind_front(high, bytes + 32, (int)prefix - 32);
            store_256(f.to + 32, high);
        }
        front_coded_step(&f, prefix, suffixes[i], &ends[i]);
    }
    *to_join = f;
    return i;
}

#endif
