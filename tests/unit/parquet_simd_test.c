/* Loops with vectors give, bit for bit, what the scalar ones give: every length, every width, the values that numbers have trouble with.
 * Memory is allocated to the byte, so that ASan sees a vector that reaches too far. */
#include "engine_support.h"
#include "parquet/read_int.h"
#include "parquet/write_int.h"

enum { LENGTHS = 200 };

static struct rng rng;

static uint8_t *random_bytes(size_t count)
{
    uint8_t *p = malloc(count + !count);
    assert_non_null(p);
    for (size_t i = 0; i < count; i++)
        p[i] = (uint8_t)rng_next(&rng);
    return p;
}

static uint8_t *copy_of(const uint8_t *from, size_t count)
{
    uint8_t *p = malloc(count + !count);
    assert_non_null(p);
    memcpy(p, from, count);
    return p;
}

/* ---- the switch ---------------------------------------------------------------------------------------- */

/* The first test, as the environment is asked once. */
static void environment_switches_vectors_off(void **state)
{
    (void)state;
    setenv("SLUICE_SIMD", "off", 1);
    assert_false(sl_cpu_avx2());
    sl_test_simd(true);
    assert_int_equal(sl_cpu_avx2(), sl_compiler_cpu_avx2());
    sl_test_simd(false);
    assert_false(sl_cpu_avx2());
    if (!sl_compiler_cpu_avx2())
        print_message(
            "this processor has no AVX2: the tests below compare the scalar loops with themselves\n");
}

/* ---- bit unpacking ------------------------------------------------------------------------------------- */

static size_t put_packed_header(uint8_t *p, size_t groups)
{
    size_t n = 0;
    for (uint64_t v = (uint64_t)groups << 1 | 1;; v >>= 7) {
        p[n++] = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        if (v <= 0x7f)
            return n;
    }
}

/* `skip` and then `count` values of a packed run with nothing behind it. */
static void check_unpacking(int width, size_t skip, size_t count)
{
    size_t groups = (skip + count + 7) / 8;
    uint8_t header[10];
    size_t header_bytes = put_packed_header(header, groups), bytes = header_bytes + groups * (size_t)width;
    uint8_t *data = random_bytes(bytes);
    memcpy(data, header, header_bytes);
    uint32_t *out[2];
    for (int simd = 0; simd < 2; simd++) {
        sl_test_simd(simd);
        out[simd] = malloc(count * sizeof **out + 1);
        assert_non_null(out[simd]);
        struct parquet_hybrid h;
        parquet_hybrid_init(&h, data, bytes, width);
        assert_int_equal(parquet_hybrid_skip(&h, skip), skip);
        assert_int_equal(parquet_hybrid_read(&h, out[simd], count), count);
    }
    assert_memory_equal(out[0], out[1], count * sizeof **out);
    for (size_t i = 0; i < count; i++) { /* and both are right */
        uint32_t v = 0;
        for (int b = 0; b < width; b++)
            v |= (uint32_t)bit_get(data + header_bytes, (int64_t)((skip + i) * (size_t)width) + b) << b;
        assert_int_equal(out[1][i], v);
    }
    free(out[0]);
    free(out[1]);
    free(data);
}

static void unpacking(void **state)
{
    (void)state;
    for (int width = 0; width <= 32; width++)
        for (size_t count = 1; count <= LENGTHS; count++)
            check_unpacking(width, (size_t)pick(&rng, 10), count);
}

/* ---- fronts of the values before ----------------------------------------------------------------------- */

/* PLAIN values, each with some of the front of the one before and, mostly, no more than `most` bytes. */
static void random_front_coded(sl_buf *plain, size_t count, size_t most)
{
    uint8_t value[600] = {0};
    size_t len = 0;
    for (size_t i = 0; i < count; i++) {
        size_t shared = (size_t)pick(&rng, (int)len + 1),
               added =
                   (size_t)pick(&rng, chance(&rng, 1) ? 400 : (int)(most > shared ? most - shared : 0) + 1);
        len = shared + added < sizeof value ? shared + added : sizeof value;
        for (size_t k = shared; k < len; k++)
            value[k] = (uint8_t)rng_next(&rng);
        uint8_t prefix[4];
        store_le32(prefix, (uint32_t)len);
        ok(sl_buf_append(plain, prefix, 4));
        ok(sl_buf_append(plain, value, len));
    }
}

static void check_front_coded(size_t count, size_t most)
{
    sl_buf plain = {0}, scratch = {0}, encoded = {0};
    random_front_coded(&plain, count, most);
    ok(delta_encode_prefixes(plain.data, count, 0, &scratch, &encoded));
    uint8_t *page = copy_of(encoded.data, encoded.len);
    for (int simd = 0; simd < 2; simd++) {
        struct parquet_values v = {0};
        struct parquet_strings out = {0};
        const uint8_t *want = plain.data;
        sl_test_simd(simd);
        ok(parquet_values_init(&v, PARQUET_BYTE_ARRAY, 0, PARQUET_DELTA_BYTE_ARRAY, page, encoded.len));
        for (size_t done = 0, n; done < count; done += n) {
            n = 1 + (size_t)pick(&rng, (int)(count - done));
            ok(parquet_values_strings(&v, &out, n));
        }
        for (size_t i = 0; i < count; i++) {
            size_t len = load_le32(want);
            assert_int_equal(out.offsets[i + 1] - out.offsets[i], len);
            assert_memory_equal(out.data + out.offsets[i], want + 4, len);
            want += 4 + len;
        }
        parquet_strings_free(&out);
        parquet_values_free(&v);
    }
    free(page);
    sl_buf_free(&plain);
    sl_buf_free(&scratch);
    sl_buf_free(&encoded);
}

static void front_coding(void **state)
{
    (void)state;
    for (size_t count = 1; count <= LENGTHS; count++)
        for (size_t most = 1; most <= 80; most += 1 + (size_t)pick(&rng, 8))
            check_front_coded(count * (1 + (size_t)chance(&rng, 5) * 20), most);
}

/* ---- values to the places of set bits ------------------------------------------------------------------ */

static size_t random_bits(uint8_t *bits, size_t from, size_t count, int percent)
{
    size_t set = 0;
    for (size_t i = 0; i < count; i++) {
        bool bit = chance(&rng, percent);
        parquet_bits_fill(bits, from + i, 1, bit);
        set += bit;
    }
    return set;
}

static void check_spread(size_t width, const uint8_t *bits, size_t from, size_t slots, size_t used)
{
    uint8_t *want = random_bytes(slots * width), *got = copy_of(want, slots * width),
            *dense = copy_of(want, slots * width);
    sl_test_simd(false);
    parquet_spread(want, width, bits, from, slots, used);
    sl_test_simd(true);
    parquet_spread(got, width, bits, from, slots, used);
    assert_memory_equal(want, got, slots * width);
    static const uint8_t zeros[16];
    for (size_t i = 0, next = 0; i < slots; i++)
        assert_memory_equal(got + i * width,
                            bit_get(bits, (int64_t)(from + i)) ? dense + next++ * width : zeros, width);
    free(want);
    free(got);
    free(dense);
}

static void check_spread_offsets(const uint8_t *bits, size_t from, size_t slots, size_t used)
{
    size_t bytes = (slots + 1) * sizeof(int32_t);
    uint8_t *want = random_bytes(bytes), *got = copy_of(want, bytes), *dense = copy_of(want, bytes);
    sl_test_simd(false);
    parquet_spread_offsets((int32_t *)(void *)want, bits, from, slots, used);
    sl_test_simd(true);
    parquet_spread_offsets((int32_t *)(void *)got, bits, from, slots, used);
    assert_memory_equal(want, got, bytes);
    for (size_t i = 0, next = 0; i < slots; i++) {
        next += bit_get(bits, (int64_t)(from + i));
        assert_int_equal(load_le32(got + 4 * (i + 1)), load_le32(dense + 4 * next));
    }
    free(want);
    free(got);
    free(dense);
}

static void check_places(const uint8_t *bits, size_t from, size_t slots, size_t used)
{
    int32_t *places = malloc(slots * sizeof *places + !slots);
    assert_non_null(places);
    for (int simd = 0; simd < 2; simd++) {
        sl_test_simd(simd);
        assert_int_equal(parquet_bits_places(bits, from, slots, places), used);
        for (size_t i = from, next = 0; i < from + slots; i++)
            if (bit_get(bits, (int64_t)i))
                assert_int_equal(places[next++], i);
    }
    free(places);
}

static void spreading(void **state)
{
    (void)state;
    static const size_t widths[] = {1, 2, 3, 4, 8, 16};
    static const int percents[] = {0, 5, 50, 95, 100};
    for (size_t slots = 0; slots <= LENGTHS; slots++)
        for (size_t k = 0; k < sizeof percents / sizeof *percents; k++) {
            size_t from = (size_t)pick(&rng, 20);
            uint8_t *bits = random_bytes((from + slots + 7) / 8);
            size_t used = random_bits(bits, from, slots, percents[k]);
            for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
                check_spread(widths[w], bits, from, slots, used);
            check_spread_offsets(bits, from, slots, used);
            check_places(bits, from, slots, used);
            free(bits);
        }
}

/* ---- levels -------------------------------------------------------------------------------------------- */

static void levels(void **state)
{
    (void)state;
    for (int most = 1; most < 128; most++)
        for (size_t count = 60; count <= 66; count++) {
            uint8_t *given = random_bytes(count);
            int least = (int)pick(&rng, most + 2);
            uint64_t want = 0;
            for (size_t i = 0; i < count; i++) {
                given[i] = (uint8_t)(given[i] % (most + 1));
                want |= i < 64 ? (uint64_t)(given[i] >= least) << i : 0;
            }
            for (int simd = 0; simd < 2; simd++) {
                sl_test_simd(simd);
                assert_true(parquet_levels_mask(given, count, least) == want);
            }
            free(given);
        }
}

/* ---- BYTE_STREAM_SPLIT --------------------------------------------------------------------------------- */

static void check_split(size_t width, size_t count)
{
    size_t bytes = count * width, first = (size_t)pick(&rng, (int64_t)count + 1);
    uint8_t *plain = random_bytes(bytes);
    sl_buf streams[2] = {{0}, {0}};
    for (int simd = 0; simd < 2; simd++) {
        sl_test_simd(simd);
        ok(split_encode(plain, count, (int32_t)width, &streams[simd]));
        assert_int_equal(streams[simd].len, bytes);
        uint8_t *data = copy_of(streams[0].data, bytes),
                *back = random_bytes(bytes); /* ends where its memory ends */
        struct parquet_values v = {0};
        ok(parquet_values_init(&v, width == 4 ? PARQUET_FLOAT : PARQUET_DOUBLE, width,
                               PARQUET_BYTE_STREAM_SPLIT, data, bytes));
        ok(parquet_values_fixed(&v, back, first));
        ok(parquet_values_fixed(&v, back + first * width, count - first));
        assert_memory_equal(plain, back, bytes);
        parquet_values_free(&v);
        free(data);
        free(back);
    }
    assert_memory_equal(streams[0].data, streams[1].data, bytes);
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(streams[1].data[i % width * count + i / width], plain[i]);
    sl_buf_free(&streams[0]);
    sl_buf_free(&streams[1]);
    free(plain);
}

static void splitting(void **state)
{
    (void)state;
    for (size_t count = 1; count <= LENGTHS; count++) {
        check_split(4, count);
        check_split(8, count);
    }
}

/* ---- minima and maxima --------------------------------------------------------------------------------- */

/* Bits of the values of each order that comparisons could get wrong. */
static const uint64_t odd_words[] = {0,          1,         INT64_MAX,         (uint64_t)INT64_MIN,
                                     UINT64_MAX, INT32_MAX, UINT32_C(1) << 31, UINT32_MAX};
static const uint64_t odd_floats[] = {0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001,
                                      0x7f800001, 0x00000001, 0x80000001, 0x7f7fffff, 0xff7fffff};
static const uint64_t odd_doubles[] = {0x0000000000000000, 0x8000000000000000, 0x7ff0000000000000,
                                       0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000001,
                                       0x7ff0000000000001, 0x0000000000000001, 0x8000000000000001,
                                       0x7fefffffffffffff, 0xffefffffffffffff};
static const struct {
    enum write_order order;
    size_t width;
    const uint64_t *odd;
    int64_t odd_count, zeros, nan; /* the first `zeros` of the odd ones are zeros; place of a NaN, or -1 */
} orders[] = {
    {ORDER_INT32, 4, odd_words, 8, 1, -1},  {ORDER_UINT32, 4, odd_words, 8, 1, -1},
    {ORDER_INT64, 8, odd_words, 8, 1, -1},  {ORDER_UINT64, 8, odd_words, 8, 1, -1},
    {ORDER_FLOAT, 4, odd_floats, 11, 2, 5}, {ORDER_DOUBLE, 8, odd_doubles, 11, 2, 5},
};

/* What the values are: random bits, a few odd ones among them, odd ones alone, zeros, one NaN repeated. */
enum mixture { ANY, SOME_ODD, ALL_ODD, ZEROS, NANS, MIXTURES };

static void fill_numbers(uint8_t *values, size_t count, size_t which, enum mixture mixture)
{
    for (size_t i = 0; i < count; i++) {
        int64_t odd = pick(&rng, mixture == ZEROS ? orders[which].zeros : orders[which].odd_count);
        if (mixture == NANS && orders[which].nan >= 0)
            odd = orders[which].nan;
        bool random = mixture == ANY || (mixture == SOME_ODD && chance(&rng, 90));
        uint64_t v = random ? rng_next(&rng) : orders[which].odd[odd];
        memcpy(values + i * orders[which].width, &v, orders[which].width);
    }
}

/* What can be seen of bounds: whether there are any, their bytes in the file, NaN. */
struct seen {
    uint8_t min[16], max[16];
    int64_t nans, present;
};

static struct seen bounds_of(bool simd, size_t which, const uint8_t *values, size_t count)
{
    sl_test_simd(simd);
    struct value_bounds b = {0};
    bounds_add_numbers(&b, orders[which].order, values, count);
    struct seen seen = {.nans = bounds_nans(&b), .present = b.present};
    struct write_leaf leaf = {.order = orders[which].order, .width = (int32_t)orders[which].width};
    const uint8_t *data;
    size_t len;
    if (b.present) {
        bounds_plain(&b, &leaf, false, seen.min, &data, &len);
        bounds_plain(&b, &leaf, true, seen.max, &data, &len);
    }
    bounds_free(&b);
    return seen;
}

static void check_bounds(size_t which, size_t count, enum mixture mixture)
{
    size_t shift = (size_t)pick(&rng, 8), bytes = count * orders[which].width;
    uint8_t *memory = random_bytes(shift + bytes), *values = memory + shift;
    fill_numbers(values, count, which, mixture);
    struct seen scalar = bounds_of(false, which, values, count), simd = bounds_of(true, which, values, count);
    assert_memory_equal(&scalar, &simd, sizeof scalar);
    if (mixture == NANS && orders[which].nan >= 0) {
        assert_false(simd.present);
        assert_int_equal(simd.nans, count > 0 ? (int64_t)count : -1);
    }
    free(memory);
}

static void minima_and_maxima(void **state)
{
    (void)state;
    for (size_t which = 0; which < sizeof orders / sizeof *orders; which++)
        for (size_t count = 0; count <= LENGTHS; count++)
            for (enum mixture mixture = 0; mixture < MIXTURES; mixture++)
                check_bounds(which, count, mixture);
}

/* An extreme is found wherever it is. */
static void extremes_in_every_place(void **state)
{
    (void)state;
    uint8_t values[8 * LENGTHS];
    for (size_t which = 0; which < sizeof orders / sizeof *orders; which++)
        for (size_t at = 0; at < 150; at++) {
            bool least = chance(&rng, 50);
            size_t width = orders[which].width;
            for (size_t i = 0; i < 150; i++) {
                float f = i == at ? (least ? 1 : 3) : 2;
                double d = (double)f;
                uint64_t n = (uint64_t)f;
                const void *from = orders[which].order == ORDER_FLOAT    ? (void *)&f
                                   : orders[which].order == ORDER_DOUBLE ? (void *)&d
                                                                         : &n;
                memcpy(values + i * width, from, width);
            }
            struct seen seen = bounds_of(true, which, values, 150);
            assert_memory_equal(least ? seen.min : seen.max, values + at * width, width);
            assert_memory_equal(least ? seen.max : seen.min, values + (at ? 0 : 1) * width, width);
        }
}

int main(void)
{
    rng.state = number_from_environment("SEED", (uint64_t)time(NULL));
    print_message("SEED=%llu\n", (unsigned long long)rng.state);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(environment_switches_vectors_off),
        cmocka_unit_test(unpacking),
        cmocka_unit_test(front_coding),
        cmocka_unit_test(spreading),
        cmocka_unit_test(levels),
        cmocka_unit_test(splitting),
        cmocka_unit_test(minima_and_maxima),
        cmocka_unit_test(extremes_in_every_place),
    };
    return cmocka_run_group_tests_name("parquet_simd", tests, NULL, NULL);
}
