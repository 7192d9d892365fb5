/* base: errors, memory, text, numbers, threads. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/base.h"
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

static void assert_code(sl_status status, enum sl_code code)
{
    assert_int_equal(sl_status_code(status), code);
    sl_status_free(status);
}

/* ---- errors -------------------------------------------------------------------------------------------- */

static void test_status_carries_context_and_hint(void **state)
{
    (void)state;
    assert_null(sl_context(SL_OK, "never seen"));
    assert_null(sl_hint(SL_OK, "never seen"));
    assert_string_equal(sl_status_message(SL_OK), "");
    assert_int_equal(sl_status_code(SL_OK), SL_E_OK);

    sl_status status = sl_corrupt("page of %d bytes", 7);
    status = sl_context(sl_context(status, "column %s", "fare"), "file %s", "x.parquet");
    status = sl_hint(sl_hint(status, "first"), "second");
    assert_string_equal(sl_status_message(status), "file x.parquet: column fare: page of 7 bytes");
    assert_string_equal(sl_status_hint(status), "first");
    assert_code(status, SL_E_CORRUPT);
    assert_true(sl_status_ignore(sl_not_found("x")));
    assert_false(sl_status_ignore(SL_OK));
}

/* The row is a number until the message is read: contexts stand before it, and it may be told better, or not at all. */
static void test_status_tells_a_row(void **state)
{
    (void)state;
    assert_null(sl_at_row(SL_OK, 3));
    assert_int_equal(sl_status_row(SL_OK), -1);
    assert_int_equal(sl_status_row(sl_nomem()), -1);
    assert_ptr_equal(sl_at_row(sl_nomem(), 3), sl_nomem());

    sl_status status = sl_input("null");
    assert_int_equal(sl_status_row(status), -1);
    status = sl_context(sl_at_row(status, 3), "column %s", "fare");
    assert_int_equal(sl_status_row(status), 3);
    assert_string_equal(sl_status_message(status), "column fare: row 3: null");
    status = sl_context(status, "batch %d", 2);
    assert_string_equal(sl_status_message(status), "batch 2: column fare: row 3: null");
    status = sl_context(sl_at_row(status, INT64_MAX), "x.csv");
    assert_string_equal(sl_status_message(status),
                        "x.csv: row 9223372036854775807: batch 2: column fare: null");
    status = sl_at_row(status, -1);
    assert_string_equal(sl_status_message(status), "x.csv: batch 2: column fare: null");
    assert_code(status, SL_E_INPUT);
}

static void test_status_has_every_code(void **state)
{
    (void)state;
    assert_code(sl_input("x"), SL_E_INPUT);
    assert_code(sl_unsupported("x"), SL_E_UNSUPPORTED);
    assert_code(sl_not_found("x"), SL_E_NOT_FOUND);
    assert_code(sl_io("x"), SL_E_IO);
    assert_code(sl_internal("x"), SL_E_INTERNAL);
    assert_code(sl_errorf(SL_E_CONFLICT, "x"), SL_E_CONFLICT);
}

static void test_status_is_bounded(void **state)
{
    (void)state;
    char long_text[10000];
    memset(long_text, 'a', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = 0;
    sl_status status = sl_input("%s", long_text);
    for (int i = 0; i < 3; i++)
        status = sl_context(status, "%s", long_text);
    size_t len = strlen(sl_status_message(status));
    assert_in_range(len, 4000, 4096);
    assert_string_equal(sl_status_message(status) + len - 3, "...");
    sl_status_free(status);
}

/* Messages go into JSON, which takes no half character. */
static void test_status_is_cut_between_characters(void **state)
{
    static const char *const characters[] = {"\xc3\xa9", "\xe6\xbc\xa2", "\xf0\x9f\x98\x80"};
    (void)state;
    for (size_t i = 0; i < sizeof characters / sizeof *characters; i++)
        for (size_t before = 0; before < 4; before++) {
            char long_text[10000] = "abc";
            size_t len = before, width = strlen(characters[i]);
            for (; len + width < sizeof long_text; len += width)
                memcpy(long_text + len, characters[i], width + 1);
            sl_status status = sl_input("%s", long_text);
            size_t told = strlen(sl_status_message(status));
            assert_in_range(told, 4000, 4096);
            assert_int_equal(sl_utf8_valid_prefix(sl_status_message(status), told), told);
            sl_status_free(status);
        }
}

static void test_status_without_memory(void **state)
{
    (void)state;
    sl_status status = sl_hint(sl_context(sl_nomem(), "context"), "hint");
    assert_ptr_equal(status, sl_nomem());
    assert_string_equal(sl_status_message(status), "out of memory");
    assert_null(sl_status_hint(status));
    sl_status_free(status);
    assert_code(sl_nomem(), SL_E_MEMORY);
}

/* ---- memory -------------------------------------------------------------------------------------------- */

static void test_allocation_fails_on_request(void **state)
{
    (void)state;
    sl_test_fail_allocation(2, false);
    void *first = sl_malloc(1), *second = sl_malloc(1), *third = sl_malloc(1);
    sl_test_fail_allocation(0, false);
    assert_non_null(first);
    assert_null(second);
    assert_non_null(third);
    sl_free(first);
    sl_free(third);

    sl_test_fail_allocation(1, true);
    assert_null(sl_calloc(1, 1));
    assert_null(sl_strdup("x"));
    assert_null(sl_aligned(1));
    assert_null(sl_realloc(NULL, 1));
    sl_test_fail_allocation(0, false);

    void *empty = sl_malloc(0);
    assert_non_null(empty);
    sl_free(empty);
    assert_null(sl_realloc_array(NULL, SIZE_MAX / 2, 3));
    assert_null(sl_calloc(SIZE_MAX / 2, 3));
}

static void test_aligned_is_aligned(void **state)
{
    (void)state;
    for (size_t size = 0; size < 300; size += 37) {
        void *p = sl_aligned(size);
        assert_int_equal((uintptr_t)p % 64, 0);
        sl_free(p);
    }
}

static void test_strings_are_copied(void **state)
{
    (void)state;
    char *s = sl_strndup("hello", 3);
    assert_string_equal(s, "hel");
    sl_free(s);
    s = sl_strndup("hi", 10);
    assert_string_equal(s, "hi");
    sl_free(s);
    assert_null(sl_asprintf(&s, "%d-%s", 5, "x"));
    assert_string_equal(s, "5-x");
    sl_free(s);
    sl_test_fail_allocation(1, false);
    assert_code(sl_asprintf(&s, "x"), SL_E_MEMORY);
}

static void test_arena(void **state)
{
    (void)state;
    sl_arena *arena;
    assert_null(sl_arena_new(&arena));
    assert_int_equal(sl_arena_bytes(arena), 0);
    for (int round = 0; round < 3; round++) {
        uint8_t *last = NULL;
        for (size_t i = 0; i < 2000; i++) {
            uint8_t *p = sl_arena_alloc(arena, i % 50);
            assert_int_equal((uintptr_t)p % 16, 0);
            memset(p, (int)(i & 0xFF), i % 50);
            if (last && (i - 1) % 50 > 0)
                assert_int_equal(last[0], (i - 1) & 0xFF);
            last = p;
        }
        uint8_t *large = sl_arena_alloc(arena, 5000000);
        memset(large, 1, 5000000);
        assert_true(sl_arena_bytes(arena) >= 5000000);
        sl_arena_reset(arena);
        assert_in_range(sl_arena_bytes(arena), 1, 8192);
    }
    assert_string_equal(sl_arena_strndup(arena, "abcdef", 4), "abcd");
    assert_null(sl_arena_alloc(arena, SIZE_MAX));
    assert_null(sl_arena_alloc(arena, SIZE_MAX - 40));
    assert_null(sl_arena_strndup(arena, "x", SIZE_MAX));
    sl_test_fail_allocation(1, false);
    assert_null(sl_arena_alloc(arena, 100000));
    sl_test_fail_allocation(0, false);
    sl_arena_free(arena);
    sl_arena_free(NULL);
}

static void test_buf_grows_to_its_bound(void **state)
{
    (void)state;
    sl_buf buf = {.max = 100};
    for (int i = 0; i < 100; i++)
        assert_null(sl_buf_byte(&buf, (uint8_t)i));
    assert_code(sl_buf_byte(&buf, 0), SL_E_CORRUPT);
    assert_code(sl_buf_append(&buf, "xy", 2), SL_E_CORRUPT);
    assert_code(sl_buf_printf(&buf, "x"), SL_E_CORRUPT);
    assert_int_equal(buf.len, 100);
    assert_int_equal(buf.data[99], 99);
    assert_code(sl_buf_reserve(&buf, SIZE_MAX), SL_E_MEMORY);
    buf.len = 97;
    assert_null(sl_buf_printf(&buf, "%s", "abc")); /* exactly full, without room for the NUL */
    char *text;
    assert_null(sl_buf_take_string(&buf, &text));
    assert_string_equal(text + 97, "abc");
    assert_int_equal(buf.len, 0);
    assert_int_equal(buf.max, 100);
    sl_free(text);

    assert_null(sl_buf_take_string(&buf, &text));
    assert_string_equal(text, "");
    sl_free(text);
    sl_buf_free(&buf);
}

static void test_buf_survives_failing_memory(void **state)
{
    (void)state;
    sl_buf buf = {0};
    char *text;
    assert_null(sl_buf_printf(&buf, "%d,%s", 42, "x"));
    sl_test_fail_allocation(1, false);
    assert_code(sl_buf_reserve(&buf, 1000), SL_E_MEMORY);
    sl_test_fail_allocation(1, false);
    assert_code(sl_buf_take_string(&buf, &text), SL_E_MEMORY);
    assert_int_equal(buf.len, 4);
    assert_memory_equal(buf.data, "42,x", 4);
    sl_buf_free(&buf);
}

static void test_string_lists(void **state)
{
    (void)state;
    sl_strings list = {0};
    assert_null(sl_strings_split(&list, " b, a ,,\tc c\n,", ','));
    assert_int_equal(list.count, 3);
    assert_true(sl_strings_contain(&list, "c c"));
    assert_false(sl_strings_contain(&list, "c"));
    assert_null(sl_strings_add(&list, "\xff"));
    sl_strings_sort(&list);
    assert_string_equal(list.items[0], "a");
    assert_string_equal(list.items[3], "\xff");
    for (int i = 0; i < 20; i++)
        assert_null(sl_strings_add(&list, "more"));
    sl_test_fail_allocation(1, true);
    assert_code(sl_strings_add(&list, "x"), SL_E_MEMORY);
    sl_test_fail_allocation(0, false);
    assert_int_equal(list.count, 24);
    sl_strings_sort_unique(&list);
    static const char *const sorted[] = {"a", "b", "c c", "more", "\xff"};
    assert_int_equal(list.count, 5);
    for (int i = 0; i < 5; i++) {
        assert_string_equal(list.items[i], sorted[i]);
        assert_true(sl_strings_find(&list, sorted[i]));
    }
    assert_false(sl_strings_find(&list, "mor"));
    sl_strings_free(&list);
    assert_false(sl_strings_find(&list, "a"));
    sl_strings_sort_unique(&list);
    assert_null(sl_strings_split(&list, "", ','));
    assert_int_equal(list.count, 0);

    /* the list itself cannot grow: the copy must not leak (asan tells) */
    sl_test_fail_allocation(2, false);
    assert_code(sl_strings_add(&list, "x"), SL_E_MEMORY);
    sl_strings_free(&list);
}

static void test_edit_distance(void **state)
{
    (void)state;
    assert_int_equal(sl_edit_distance("kitten", "sitting"), 3);
    assert_int_equal(sl_edit_distance("", "abc"), 3);
    assert_int_equal(sl_edit_distance("abc", ""), 3);
    assert_int_equal(sl_edit_distance("same", "same"), 0);
    char *long_name = sl_calloc(1, 1001);
    memset(long_name, 'a', 1000);
    assert_int_equal(sl_edit_distance(long_name, "a"), 1000);
    assert_int_equal(sl_edit_distance(long_name, long_name), 0);
    sl_free(long_name);
}

static void test_budget(void **state)
{
    (void)state;
    sl_budget budget = {.limit = 100};
    assert_true(sl_budget_reserve(&budget, 60));
    assert_false(sl_budget_reserve(&budget, 41));
    assert_false(sl_budget_reserve(&budget, SIZE_MAX));
    assert_true(sl_budget_reserve(&budget, 40));
    sl_budget_force(&budget, 50);
    assert_int_equal(atomic_load(&budget.used), 150);
    sl_budget_release(&budget, 150);
    assert_int_equal(atomic_load(&budget.used), 0);
    assert_int_equal(atomic_load(&budget.peak), 150);
    assert_true(sl_budget_reserve(NULL, 1));
    sl_budget unlimited = {0};
    assert_true(sl_budget_reserve(&unlimited, SIZE_MAX - 1));
}

/* ---- hashes and text ----------------------------------------------------------------------------------- */

static void test_hashes_match_their_standards(void **state)
{
    (void)state;
    assert_int_equal(sl_crc32(0, "123456789", 9), 0xCBF43926);
    assert_int_equal(sl_crc32(sl_crc32(0, "1234", 4), "56789", 5), 0xCBF43926);
    assert_int_equal(sl_crc32(0, NULL, 0), 0);
    assert_int_equal(sl_xxh64("", 0), UINT64_C(0xEF46DB3751D8E999));
    assert_int_equal(sl_xxh64("abc", 3), UINT64_C(0x44BC2CF5AD770999));
}

static void test_utf8_validity(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len, valid;
    } cases[] = {
        {"", 0, 0},
        {"plain ascii, longer than eight", 30, 30},
        {"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80", 9, 9},
        {"\0a", 2, 2},
        {"ab\x80", 3, 2},   /* a lonely continuation */
        {"\xC0\x80", 2, 0}, /* overlong NUL */
        {"\xC1\xBF", 2, 0},
        {"\xE0\x9F\xBF", 3, 0}, /* overlong */
        {"\xE0\xA0\x80", 3, 3},
        {"\xED\x9F\xBF", 3, 3},
        {"\xED\xA0\x80", 3, 0}, /* surrogate */
        {"\xEE\x80\x80", 3, 3},
        {"\xF0\x8F\xBF\xBF", 4, 0}, /* overlong */
        {"\xF4\x8F\xBF\xBF", 4, 4}, /* U+10FFFF */
        {"\xF4\x90\x80\x80", 4, 0},
        {"\xF5\x80\x80\x80", 4, 0},
        {"12345678\xE2\x82", 10, 8}, /* cut */
        {"1234567\xFF", 8, 7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(sl_utf8_valid_prefix(cases[i].bytes, cases[i].len), cases[i].valid);
}

static size_t encode_utf8(uint32_t c, uint8_t *out)
{
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (uint8_t)(0xC0 | c >> 6);
        out[1] = (uint8_t)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (uint8_t)(0xE0 | c >> 12);
        out[1] = (uint8_t)(0x80 | (c >> 6 & 63));
        out[2] = (uint8_t)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | c >> 18);
    out[1] = (uint8_t)(0x80 | (c >> 12 & 63));
    out[2] = (uint8_t)(0x80 | (c >> 6 & 63));
    out[3] = (uint8_t)(0x80 | (c & 63));
    return 4;
}

static size_t encode_utf16(uint32_t c, uint16_t *out)
{
    if (c < 0x10000) {
        out[0] = (uint16_t)c;
        return 1;
    }
    out[0] = (uint16_t)(0xD800 + ((c - 0x10000) >> 10));
    out[1] = (uint16_t)(0xDC00 + ((c - 0x10000) & 0x3FF));
    return 2;
}

static void test_utf8_decodes_every_code_point(void **state)
{
    (void)state;
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        if (c >= 0xD800 && c <= 0xDFFF)
            continue;
        uint8_t bytes[4];
        size_t len = encode_utf8(c, bytes), pos = 0;
        if (sl_utf8_valid_prefix(bytes, len) != len || sl_utf8_next(bytes, len, &pos) != c || pos != len)
            fail_msg("U+%04X", (unsigned)c);
    }
}

static uint64_t seed(void)
{
    const char *text = getenv("SEED");
    uint64_t value = text ? strtoull(text, NULL, 10) : (uint64_t)sl_now_ms();
    print_message("SEED=%" PRIu64 "\n", value);
    return value | 1;
}

static uint64_t next_random(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

struct both_forms {
    uint8_t utf8[64];
    size_t utf8_len;
    uint16_t utf16[32];
    size_t utf16_len;
};

/* Few different code points around the places where the orders part, so that common prefixes are frequent. */
static void random_text(uint64_t *s, struct both_forms *out)
{
    static const uint32_t points[] = {0,      'a',    0x7F,    0x80,    0x7FF,   0x800,    0xD7FF,
                                      0xE000, 0xEFFF, 0xF000,  0xFFFF,  0x10000, 0x103FF,  0x10400,
                                      'b',    'c',    0x3FFFF, 0x40000, 0xFFFFF, 0x100000, 0x10FFFF};
    out->utf8_len = out->utf16_len = 0;
    size_t n = next_random(s) % 14;
    for (size_t i = 0; i < n; i++) {
        uint32_t c =
            i < 9 && next_random(s) % 4 ? 'a' : points[next_random(s) % (sizeof points / sizeof points[0])];
        out->utf8_len += encode_utf8(c, out->utf8 + out->utf8_len);
        out->utf16_len += encode_utf16(c, out->utf16 + out->utf16_len);
    }
}

static int compare_units(const struct both_forms *a, const struct both_forms *b)
{
    for (size_t i = 0; i < a->utf16_len && i < b->utf16_len; i++) {
        if (a->utf16[i] != b->utf16[i])
            return a->utf16[i] < b->utf16[i] ? -1 : 1;
    }
    return (a->utf16_len > b->utf16_len) - (a->utf16_len < b->utf16_len);
}

static void test_utf16_order(void **state)
{
    (void)state;
    /* U+FFFF against U+10000: bytes say less, UTF-16 says greater */
    assert_int_equal(sl_utf16_compare("\xEF\xBF\xBF", 3, "\xF0\x90\x80\x80", 4), 1);
    assert_int_equal(sl_utf16_compare("\xF0\x90\x80\x80", 4, "\xEE\x80\x80", 3), -1);
    assert_int_equal(sl_utf16_compare("\xED\x9F\xBF", 3, "\xF0\x90\x80\x80", 4), -1);
    assert_int_equal(sl_utf16_compare("", 0, "a", 1), -1);
    assert_int_equal(sl_utf16_compare("", 0, "", 0), 0);
    uint64_t s = seed();
    for (int i = 0; i < 100000; i++) {
        struct both_forms a, b;
        random_text(&s, &a);
        random_text(&s, &b);
        int got = sl_utf16_compare(a.utf8, a.utf8_len, b.utf8, b.utf8_len);
        if (got != compare_units(&a, &b))
            fail_msg("pair %d", i);
    }
}

/* ---- numbers ------------------------------------------------------------------------------------------- */

static void assert_double_digits(double value, const char *digits, int exponent)
{
    char got[32];
    int count, got_exponent;
    sl_double_digits(value, got, &count, &got_exponent);
    assert_string_equal(got, digits);
    assert_int_equal(count, strlen(digits));
    assert_int_equal(got_exponent, exponent);
}

static void assert_float_digits(float value, const char *digits, int exponent)
{
    char got[32];
    int count, got_exponent;
    sl_float_digits(value, got, &count, &got_exponent);
    assert_string_equal(got, digits);
    assert_int_equal(count, strlen(digits));
    assert_int_equal(got_exponent, exponent);
}

static void test_shortest_doubles(void **state)
{
    (void)state;
    assert_double_digits(0.0, "0", 1);
    assert_double_digits(-0.0, "0", 1);
    assert_double_digits(1, "1", 1);
    assert_double_digits(-1200, "12", 4);
    assert_double_digits(0.1, "1", 0);
    assert_double_digits(0.3, "3", 0);
    assert_double_digits(0.1 + 0.2, "30000000000000004", 0);
    assert_double_digits(1.0 / 3, "3333333333333333", 0);
    assert_double_digits(123456.789, "123456789", 6);
    assert_double_digits(1e15, "1", 16);
    assert_double_digits(999999999999999.0, "999999999999999", 15);
    assert_double_digits(1e22, "1", 23);
    assert_double_digits(1e23, "1", 24);
    assert_double_digits(5e-324, "5", -323);
    assert_double_digits(1e-323, "1", -322);
    assert_double_digits(2.2250738585072014e-308, "22250738585072014", -307);
    assert_double_digits(2.225073858507201e-308, "2225073858507201", -307);
    assert_double_digits(1.7976931348623157e308, "17976931348623157", 309);
    assert_double_digits(9007199254740993.0, "9007199254740992", 16);
    assert_double_digits(9007199254740991.0, "9007199254740991", 16);
    assert_double_digits(ldexp(1, -44), "5684341886080802",
                         -13); /* only the upper neighbour of 16 digits hits */
    assert_double_digits(ldexp(1, 60), "1152921504606847", 19);
    assert_double_digits(9.5367431640625e-07, "95367431640625", -6);
}

static void test_shortest_floats(void **state)
{
    (void)state;
    assert_float_digits(0.0f, "0", 1);
    assert_float_digits(0.1f, "1", 0);
    assert_float_digits(-3.4028235e38f, "34028235", 39);
    assert_float_digits(1.4e-45f, "1", -44);
    assert_float_digits(1.17549435e-38f, "11754944", -37);
    assert_float_digits(16777216.0f, "16777216", 8);
    assert_float_digits(8388608.5f, "8388608", 7); /* is 8388608 */
    assert_float_digits(1.0f / 3, "33333334", 0);
    assert_float_digits(3.1415927f, "31415927", 1);
    assert_float_digits(1000000.0f, "1", 7);
    assert_float_digits(999999.0f, "999999", 6);
    assert_float_digits(33554432.0f, "33554432", 8);
    assert_float_digits(1.1920929e-7f, "11920929", -6);
}

/* Reads back, and no decimal with one digit less does: neither neighbour of the cut value. */
static void check_random_double(double value)
{
    char digits[32], text[64];
    int count, exponent;
    sl_double_digits(value, digits, &count, &exponent);
    snprintf(text, sizeof text, "0.%se%d", digits, exponent);
    if (strtod(text, NULL) != value)
        fail_msg("%a became %s", value, text);
    if (count == 1)
        return;
    uint64_t shorter = strtoull(digits, NULL, 10) / 10;
    for (uint64_t m = shorter; m <= shorter + 1; m++) {
        snprintf(text, sizeof text, "%" PRIu64 "e%d", m, exponent - count + 1);
        if (strtod(text, NULL) == value)
            fail_msg("%a has a shorter form than %s: %s", value, digits, text);
    }
}

static void test_random_doubles_are_shortest(void **state)
{
    (void)state;
    uint64_t s = seed();
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = next_random(&s) & ~(UINT64_C(1) << 63);
        double value;
        memcpy(&value, &bits, 8);
        if (isfinite(value) && value != 0)
            check_random_double(value);
    }
    for (int e = -1074; e <= 1023; e++)
        check_random_double(ldexp(1, e));
}

static void test_random_floats_read_back(void **state)
{
    (void)state;
    uint64_t s = seed();
    for (int i = 0; i < 20000; i++) {
        uint32_t bits = (uint32_t)next_random(&s) & 0x7FFFFFFF;
        float value;
        memcpy(&value, &bits, 4);
        if (!isfinite(value))
            continue;
        char digits[32], text[64];
        int count, exponent;
        sl_float_digits(value, digits, &count, &exponent);
        snprintf(text, sizeof text, "0.%se%d", digits, exponent);
        if (strtof(text, NULL) != value || count > 9)
            fail_msg("%a became %s", (double)value, text);
    }
}

/* ---- system -------------------------------------------------------------------------------------------- */

static void test_uuids(void **state)
{
    (void)state;
    char a[37], b[37];
    assert_null(sl_uuid4(a));
    assert_null(sl_uuid4(b));
    assert_int_equal(strlen(a), 36);
    assert_string_not_equal(a, b);
    assert_int_equal(a[14], '4');
    assert_non_null(strchr("89ab", a[19]));
    for (int i = 0; i < 36; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        assert_non_null(strchr(is_dash ? "-" : "0123456789abcdef", a[i]));
    }
}

static void test_clock_and_machine(void **state)
{
    (void)state;
    assert_true(sl_now_ms() > INT64_C(1700000000000));
    double begin = sl_monotonic();
    sl_sleep_ms(20);
    assert_true(sl_monotonic() - begin >= 0.019);
    sl_sleep_ms(-5);
    assert_true(sl_cpu_count() >= 1);
    assert_true(sl_memory_total() > (1 << 20));
}

struct seen {
    int level;
    char text[100];
    uint64_t done;
};

static void see_log(void *context, int level, const char *message)
{
    struct seen *seen = context;
    seen->level = level;
    snprintf(seen->text, sizeof seen->text, "%s", message);
}

static void see_progress(void *context, const char *step, uint64_t done, uint64_t total)
{
    (void)step;
    (void)total;
    ((struct seen *)context)->done = done;
}

static void test_runtime(void **state)
{
    (void)state;
    atomic_bool cancel = false;
    struct seen seen = {0};
    sl_runtime runtime = {.cancel = &cancel};
    sl_warn(NULL, "nobody listens");
    sl_warn(&runtime, "nobody listens");
    sl_progress(&runtime, "step", 1, 2);
    assert_null(sl_check_cancel(NULL));
    assert_null(sl_check_cancel(&runtime));
    atomic_store(&cancel, true);
    assert_code(sl_check_cancel(&runtime), SL_E_CANCELLED);
    runtime.on_log = see_log;
    runtime.log_context = &seen;
    runtime.on_progress = see_progress;
    runtime.progress_context = &seen;
    sl_warn(&runtime, "file %d", 3);
    sl_progress(&runtime, "step", 7, 9);
    assert_int_equal(seen.level, 1);
    assert_string_equal(seen.text, "file 3");
    assert_int_equal(seen.done, 7);
}

/* ---- threads ------------------------------------------------------------------------------------------- */

#define CELLS 10000

static sl_status count_cell(void *context, size_t index)
{
    atomic_fetch_add(&((atomic_int *)context)[index], 1);
    return SL_OK;
}

static void test_pool_runs_each_index_once(void **state)
{
    (void)state;
    static const unsigned threads[] = {0, 1, 2, 7};
    for (size_t t = 0; t < 4; t++) {
        sl_pool *pool;
        assert_null(sl_pool_new(threads[t], &pool));
        assert_int_equal(sl_pool_threads(pool), threads[t] ? threads[t] : 1);
        atomic_int *cells = sl_calloc(CELLS, sizeof *cells);
        for (int round = 1; round <= 5; round++) {
            assert_null(sl_pool_for(pool, CELLS, count_cell, cells));
            for (size_t i = 0; i < CELLS; i++)
                assert_int_equal(atomic_load(&cells[i]), round);
        }
        assert_null(sl_pool_for(pool, 0, count_cell, cells));
        sl_free(cells);
        sl_pool_free(pool);
    }
    sl_pool_free(NULL);
}

struct nest {
    sl_pool *pool;
    int depth;
    atomic_int leaves;
};

struct level {
    struct nest *nest;
    int depth;
};

static sl_status nest_deeper(void *context, size_t index)
{
    (void)index;
    struct level *level = context;
    if (level->depth == 0) {
        atomic_fetch_add(&level->nest->leaves, 1);
        return SL_OK;
    }
    struct level next = {level->nest, level->depth - 1};
    return sl_pool_for(level->nest->pool, 5, nest_deeper, &next);
}

static void test_pool_loops_nest(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct nest nest = {0};
        assert_null(sl_pool_new(4, &nest.pool));
        struct level top = {&nest, 4};
        assert_null(sl_pool_for(nest.pool, 5, nest_deeper, &top));
        assert_int_equal(atomic_load(&nest.leaves), 5 * 5 * 5 * 5 * 5);
        sl_pool_free(nest.pool);
    }
}

struct failing {
    size_t fail_at;
    atomic_size_t calls;
};

static sl_status fail_from(void *context, size_t index)
{
    struct failing *failing = context;
    atomic_fetch_add(&failing->calls, 1);
    return index >= failing->fail_at ? sl_input("index %zu", index) : SL_OK;
}

/* Index 0 alone fails, once another worker is at work, too. */
static sl_status fail_beside_another(void *context, size_t index)
{
    struct failing *failing = context;
    atomic_fetch_add(&failing->calls, 1);
    if (index > 0)
        return SL_OK;
    while (atomic_load(&failing->calls) < 2)
        sched_yield();
    return sl_input("index 0");
}

static void test_pool_returns_a_failure_and_stops(void **state)
{
    (void)state;
    sl_pool *pool;
    assert_null(sl_pool_new(4, &pool));
    for (int round = 0; round < 100; round++) {
        struct failing failing = {.fail_at = 10};
        assert_code(sl_pool_for(pool, 100000, fail_from, &failing), SL_E_INPUT);
        assert_true(atomic_load(&failing.calls) < 100000);
    }
    struct failing first = {0};
    assert_code(sl_pool_for_some(pool, 2, 10000000, fail_beside_another, &first), SL_E_INPUT);
    assert_true(atomic_load(&first.calls) < 10000000);
    struct failing failing = {.fail_at = 3};
    sl_status status = sl_pool_for(NULL, 10, fail_from, &failing);
    assert_string_equal(sl_status_message(status), "index 3");
    assert_int_equal(atomic_load(&failing.calls), 4);
    sl_status_free(status);
    sl_pool_free(pool);
}

struct meeting {
    atomic_int present;
};

/* Ends well only when two threads are inside at once. */
static sl_status meet(void *context, size_t index)
{
    (void)index;
    struct meeting *meeting = context;
    atomic_fetch_add(&meeting->present, 1);
    double deadline = sl_monotonic() + 10;
    while (atomic_load(&meeting->present) < 2) {
        if (sl_monotonic() > deadline)
            return sl_internal("nobody came");
        sl_sleep_ms(1);
    }
    return SL_OK;
}

static void test_pool_is_parallel(void **state)
{
    (void)state;
    sl_pool *pool;
    assert_null(sl_pool_new(2, &pool));
    for (int round = 0; round < 10; round++) {
        struct meeting meeting = {0};
        assert_null(sl_pool_for(pool, 2, meet, &meeting));
    }
    sl_pool_free(pool);
}

struct lone_loop {
    sl_pool *pool;
    struct meeting meeting;
    sl_status status;
    atomic_bool done;
};

static void *run_lone_loop(void *context)
{
    struct lone_loop *loop = context;
    loop->status = sl_pool_for(loop->pool, 2, meet, &loop->meeting);
    atomic_store(&loop->done, true);
    sl_pool_wake(loop->pool);
    return NULL;
}

static bool is_running(void *context) { return !atomic_load(&((struct lone_loop *)context)->done); }

/* Without threads of its own a pool's loops are run by their callers and by whoever helps: `meet` needs both. */
static void test_pool_is_helped(void **state)
{
    (void)state;
    struct lone_loop loop = {0};
    pthread_t thread;
    assert_null(sl_pool_new_unstaffed(&loop.pool));
    assert_int_equal(pthread_create(&thread, NULL, run_lone_loop, &loop), 0);
    sl_pool_help(loop.pool, is_running, &loop);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_null(loop.status);
    static atomic_int cells[10]; /* nobody helps any more */
    assert_null(sl_pool_for(loop.pool, 10, count_cell, cells));
    sl_pool_free(loop.pool);
}

struct note {
    atomic_int *clock;
    int when; /* done */
    sl_status fails_with;
};

static sl_status take_note(void *context)
{
    struct note *note = context;
    note->when = atomic_fetch_add(note->clock, 1);
    return note->fails_with;
}

/* More than wait at most: all is done once, what comes later does not wait for a failure, and the first failure is told. */
static void test_backlog(void **state)
{
    (void)state;
    enum { NOTES = 50 };
    struct note notes[NOTES];
    atomic_int clock = 0;
    sl_backlog *backlog;
    assert_null(sl_backlog_new(&backlog));
    assert_null(sl_backlog_wait(backlog));
    for (int i = 0; i < NOTES; i++) {
        notes[i] = (struct note){&clock, -1,
                                 i == 3    ? sl_input("the first")
                                 : i == 40 ? sl_internal("late")
                                           : NULL};
        sl_backlog_add(backlog, take_note, &notes[i]);
    }
    sl_status failure = sl_backlog_wait(backlog);
    assert_int_equal(atomic_load(&clock), NOTES);
    for (int i = 0; i < NOTES; i++)
        assert_true(notes[i].when >= 0);
    assert_non_null(failure);
    sl_status_free(failure);
    assert_null(sl_backlog_wait(backlog));
    sl_backlog_add(backlog, take_note, &(struct note){&clock, -1, sl_input("nobody asks")});
    sl_backlog_free(backlog);
    assert_int_equal(atomic_load(&clock), NOTES + 1);
    sl_backlog_free(NULL);
}

struct gathering {
    atomic_int present;
    int wanted;
};

static sl_status gather(void *context)
{
    struct gathering *gathering = context;
    atomic_fetch_add(&gathering->present, 1);
    double deadline = sl_monotonic() + 10;
    while (atomic_load(&gathering->present) < gathering->wanted) {
        if (sl_monotonic() > deadline)
            return sl_internal("nobody came");
        sl_sleep_ms(1);
    }
    return SL_OK;
}

/* Work that waits does not wait for its turn, whatever the number of cores; no more of it than may wait without its caller. */
static void test_backlog_waits_in_parallel(void **state)
{
    (void)state;
    struct gathering gathering = {.wanted = 8};
    sl_backlog *backlog;
    assert_null(sl_backlog_new(&backlog));
    for (int i = 0; i < gathering.wanted; i++)
        sl_backlog_add(backlog, gather, &gathering);
    assert_null(sl_backlog_wait(backlog));
    sl_backlog_free(backlog);
}

static void test_pool_without_memory(void **state)
{
    (void)state;
    sl_pool *pool;
    sl_test_fail_allocation(1, false);
    assert_code(sl_pool_new(4, &pool), SL_E_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status_carries_context_and_hint),
        cmocka_unit_test(test_status_tells_a_row),
        cmocka_unit_test(test_status_has_every_code),
        cmocka_unit_test(test_status_is_bounded),
        cmocka_unit_test(test_status_is_cut_between_characters),
        cmocka_unit_test(test_status_without_memory),
        cmocka_unit_test(test_allocation_fails_on_request),
        cmocka_unit_test(test_aligned_is_aligned),
        cmocka_unit_test(test_strings_are_copied),
        cmocka_unit_test(test_arena),
        cmocka_unit_test(test_buf_grows_to_its_bound),
        cmocka_unit_test(test_buf_survives_failing_memory),
        cmocka_unit_test(test_string_lists),
        cmocka_unit_test(test_edit_distance),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_hashes_match_their_standards),
        cmocka_unit_test(test_utf8_validity),
        cmocka_unit_test(test_utf8_decodes_every_code_point),
        cmocka_unit_test(test_utf16_order),
        cmocka_unit_test(test_shortest_doubles),
        cmocka_unit_test(test_shortest_floats),
        cmocka_unit_test(test_random_doubles_are_shortest),
        cmocka_unit_test(test_random_floats_read_back),
        cmocka_unit_test(test_uuids),
        cmocka_unit_test(test_clock_and_machine),
        cmocka_unit_test(test_runtime),
        cmocka_unit_test(test_pool_runs_each_index_once),
        cmocka_unit_test(test_pool_loops_nest),
        cmocka_unit_test(test_pool_returns_a_failure_and_stops),
        cmocka_unit_test(test_pool_is_parallel),
        cmocka_unit_test(test_pool_is_helped),
        cmocka_unit_test(test_backlog),
        cmocka_unit_test(test_backlog_waits_in_parallel),
        cmocka_unit_test(test_pool_without_memory),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
