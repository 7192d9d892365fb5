/*
 * What the loops with AVX2 (src/parquet/simd.h) gain over the scalar ones, called as readers and writers call them:
 *
 *     make build/release/bench/simd_bench && build/release/bench/simd_bench
 *
 * Prints a Markdown table of nanoseconds of processor time a value, the best of many rounds over BLOCK values that stay in the
 * first caches. A second table is the trial of what was not taken: the gathers of AVX2 for dictionary values.
 */
#include "exit_on_failure.h"
#include "parquet/read_int.h"
#include "parquet/simd_avx2.h"
#include "parquet/write_int.h"

#include <stdio.h>
#include <time.h>

enum { BLOCK = 1024, CALLS = 200, ROUNDS = 25, DICTIONARY_MAX = 65536 };

static uint8_t input[BLOCK * 8 + 64], output[BLOCK * 8 + 64], bits[BLOCK / 8 + 16];
static uint8_t levels[BLOCK]; /* 0 .. 3 */
static size_t bits_set;

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- what is measured; `how` is a width or an order ---------------------------------------------------- */

static void unpack_packed(int how)
{
    uint8_t *data = input;
    data[0] = (uint8_t)((BLOCK / 8 << 1 | 1) & 0x7f) | 0x80; /* one packed run of BLOCK values */
    data[1] = (uint8_t)((BLOCK / 8 << 1 | 1) >> 7);
    struct parquet_hybrid h;
    parquet_hybrid_init(&h, data, 2 + BLOCK / 8 * (size_t)how, how);
    if (parquet_hybrid_read(&h, (uint32_t *)(void *)output, BLOCK) != BLOCK)
        exit(1);
}

static void spread(int how) { parquet_spread(output, (size_t)how, bits, 3, BLOCK, bits_set); }
static void spread_offsets(int how)
{
    (void)how;
    parquet_spread_offsets((int32_t *)(void *)output, bits, 3, BLOCK, bits_set);
}

static void find_places(int how)
{
    (void)how;
    parquet_bits_places(bits, 3, BLOCK, (int32_t *)(void *)output);
}

static void compare_levels(int how)
{
    for (size_t i = 0; i < BLOCK; i += 64)
        output[i / 64] = (uint8_t)parquet_levels_mask(levels + i, 64, how);
}

static void join_streams(int how)
{
    struct parquet_values v = {0};
    size_t width = (size_t)how;
    CHECK(parquet_values_init(&v, how == 4 ? PARQUET_FLOAT : PARQUET_DOUBLE, width, PARQUET_BYTE_STREAM_SPLIT,
                              input, BLOCK * width));
    CHECK(parquet_values_fixed(&v, output, BLOCK));
}

static void part_streams(int how)
{
    static sl_buf out;
    out.len = 0;
    CHECK(split_encode(input, BLOCK, how, &out));
}

static void find_bounds(int how)
{
    struct value_bounds b = {0};
    bounds_add_numbers(&b, (enum write_order)how, input, BLOCK);
    output[0] = b.present;
}

static const struct {
    const char *name;
    void (*run)(int how);
    int how;
} measured[] = {
    {"unpack indexes of 3 bits", unpack_packed, 3},
    {"unpack indexes of 8 bits", unpack_packed, 8},
    {"unpack indexes of 13 bits", unpack_packed, 13},
    {"values of 4 bytes to their places, 30 % nulls", spread, 4},
    {"values of 8 bytes to their places, 30 % nulls", spread, 8},
    {"ends of strings to their places, 30 % nulls", spread_offsets, 0},
    {"places of values, 30 % nulls", find_places, 0},
    {"levels compared", compare_levels, 2},
    {"BYTE_STREAM_SPLIT of 4 bytes, read", join_streams, 4},
    {"BYTE_STREAM_SPLIT of 8 bytes, read", join_streams, 8},
    {"BYTE_STREAM_SPLIT of 4 bytes, write", part_streams, 4},
    {"BYTE_STREAM_SPLIT of 8 bytes, write", part_streams, 8},
    {"min/max int32", find_bounds, ORDER_INT32},
    {"min/max int64", find_bounds, ORDER_INT64},
    {"min/max uint64", find_bounds, ORDER_UINT64},
    {"min/max and NaN of float", find_bounds, ORDER_FLOAT},
    {"min/max and NaN of double", find_bounds, ORDER_DOUBLE},
};

static double best_nanoseconds(void (*run)(int how), int how)
{
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        double start = processor_seconds();
        for (int call = 0; call < CALLS; call++)
            run(how);
        double ns = (processor_seconds() - start) * 1e9 / CALLS / BLOCK;
        best = ns < best ? ns : best;
    }
    return best;
}

/* ---- gathers, which are not in the library ------------------------------------------------------------- */

#if SL_HAVE_AVX2
static uint8_t dictionary[DICTIONARY_MAX * 8];
static uint32_t indexes[BLOCK];

static void gather_loads(int width)
{
    if (width == 4)
        for (size_t i = 0; i < BLOCK; i++)
            store_le32(output + 4 * i, load_le32(dictionary + (size_t)indexes[i] * 4));
    else
        for (size_t i = 0; i < BLOCK; i++)
            store_le64(output + 8 * i, load_le64(dictionary + (size_t)indexes[i] * 8));
}

SL_AVX2 static void gather_avx2(int width)
{
    if (width == 4)
        for (size_t i = 0; i < BLOCK; i += 8)
            store_256(output + 4 * i,
                      _mm256_i32gather_epi32((const void *)dictionary, load_256(indexes + i), 4));
    else
        for (size_t i = 0; i < BLOCK; i += 4)
            store_256(output + 8 * i,
                      _mm256_i32gather_epi64((const void *)dictionary,
                                             _mm_loadu_si128((const void *)(indexes + i)), 8));
}

static void try_gathers(void)
{
    if (!sl_cpu_avx2())
        return;
    printf("\n| values of a dictionary | loads ns | VPGATHER ns |\n|---|---:|---:|\n");
    for (uint32_t entries = 16; entries <= DICTIONARY_MAX; entries *= 16)
        for (int width = 4; width <= 8; width += 4) {
            for (size_t i = 0; i < BLOCK; i++)
                indexes[i] = load_le32(input + 4 * i) % entries;
            double loads = best_nanoseconds(gather_loads, width),
                   gather = best_nanoseconds(gather_avx2, width);
            printf("| %d bytes, %u entries | %.3f | %.3f |\n", width, (unsigned)entries, loads, gather);
        }
}
#else
static void try_gathers(void) {}
#endif

static void fill(void)
{
    uint64_t state = 1;
    for (size_t i = 0; i < sizeof input; i++)
        input[i] = (uint8_t)((state = state * 6364136223846793005u + 1442695040888963407u) >> 56);
    for (size_t i = 0; i < BLOCK; i++)
        levels[i] = input[i] & 3;
    for (size_t i = 0; i < BLOCK; i++)
        if (((state = state * 6364136223846793005u + 1442695040888963407u) >> 33) % 10 >= 3) {
            bit_set(bits, (int64_t)i + 3);
            bits_set++;
        }
}

int main(void)
{
    sl_test_simd(true);
    if (!sl_cpu_avx2())
        printf("this processor has no AVX2\n");
    fill();
    printf("| loop | scalar ns | AVX2 ns | times |\n|---|---:|---:|---:|\n");
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        sl_test_simd(false);
        double scalar = best_nanoseconds(measured[i].run, measured[i].how);
        sl_test_simd(true);
        double simd = best_nanoseconds(measured[i].run, measured[i].how);
        printf("| %s | %.3f | %.3f | %.1f |\n", measured[i].name, scalar, simd, scalar / simd);
    }
    try_gathers();
    return 0;
}
