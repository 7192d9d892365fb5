/* Places of set bits, eight bits at a time: a table has the places in a byte, next to each other at the front. */
#include "parquet/simd_avx2.h"

#if SL_HAVE_AVX2

/* Byte k of PLACES(m): place of the k-th set bit of m. Place i stands behind the ones before it. */
#define BIT(m, i)   ((uint64_t)(m) >> (i)&1)
#define BEFORE_1(m) BIT(m, 0)
#define BEFORE_2(m) (BEFORE_1(m) + BIT(m, 1))
#define BEFORE_3(m) (BEFORE_2(m) + BIT(m, 2))
#define BEFORE_4(m) (BEFORE_3(m) + BIT(m, 3))
#define BEFORE_5(m) (BEFORE_4(m) + BIT(m, 4))
#define BEFORE_6(m) (BEFORE_5(m) + BIT(m, 5))
#define BEFORE_7(m) (BEFORE_6(m) + BIT(m, 6))
#define PLACE(m, i) (BIT(m, i) * i << 8 * BEFORE_##i(m))
#define PLACES(m)                                                                                            \
    (PLACE(m, 1) | PLACE(m, 2) | PLACE(m, 3) | PLACE(m, 4) | PLACE(m, 5) | PLACE(m, 6) | PLACE(m, 7))
#define PLACES_4(m)  PLACES(m), PLACES(m + 1), PLACES(m + 2), PLACES(m + 3)
#define PLACES_16(m) PLACES_4(m), PLACES_4(m + 4), PLACES_4(m + 8), PLACES_4(m + 12)
#define PLACES_64(m) PLACES_16(m), PLACES_16(m + 16), PLACES_16(m + 32), PLACES_16(m + 48)
static const uint64_t places_of_byte[256] = {PLACES_64(0), PLACES_64(64), PLACES_64(128), PLACES_64(192)};

/* What is written behind the places found lies where bits not yet looked at have room. */
SL_AVX2 size_t places_avx2(const uint8_t *bits, size_t from, size_t count, int32_t *places, size_t *found)
{
    size_t done = 0, n = 0;
    for (; count - done >= 8; done += 8) {
        size_t at = from + done;
        unsigned eight = (bits[at >> 3] | (unsigned)bits[(at + 7) >> 3] << 8) >> (at & 7) & 0xff;
        __m256i within = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)places_of_byte[eight]));
        store_256(places + n, _mm256_add_epi32(within, _mm256_set1_epi32((int32_t)at)));
        n += set_bits(eight);
    }
    *found = n;
    return done;
}

#endif
