/* Casts and conforming batches: rows given as JSON in one schema must read as the expected text in another,
 * or be refused with column and row. */
#include "check_support.h"
#include "column/column.h"
#include <stdio.h>

static const sl_type *schema_of(const char *text)
{
    const sl_type *schema;
    OK(sl_schema_parse(text, &schema));
    return schema;
}

/* Lines are separated by newlines. */
static sl_batch *batch_of(const sl_type *schema, const char *lines)
{
    sl_batch_builder b;
    sl_batch *batch;
    OK(sl_batch_builder_init(&b, schema));
    while (*lines) {
        size_t len = strcspn(lines, "\n");
        OK(sl_batch_builder_json_line(&b, lines, len));
        lines += len + (lines[len] == '\n');
    }
    OK(sl_batch_builder_finish(&b, &batch));
    sl_batch_builder_free(&b);
    return batch;
}

static sl_status conform_types(const sl_type *from, const char *lines, const sl_type *to, char *out,
                               size_t size)
{
    sl_batch *batch = batch_of(from, lines), *result;
    sl_buf text = {0};
    sl_status status = sl_batch_conform(batch, to, &result);
    if (status == SL_OK) {
        assert_true(sl_type_equal(result->schema, to));
        for (int64_t row = 0; row < result->rows; row++) {
            if (row > 0)
                OK(sl_buf_byte(&text, '\n'));
            OK(sl_row_text(result, row, SL_TEXT_CANONICAL, &text));
        }
        snprintf(out, size, "%.*s", (int)text.len, (char *)text.data);
        sl_batch_unref(result);
    }
    sl_buf_free(&text);
    sl_batch_unref(batch);
    return status;
}

static sl_status conform(const char *from, const char *lines, const char *to, char *out, size_t size)
{
    const sl_type *a = schema_of(from), *b = schema_of(to);
    sl_status status = conform_types(a, lines, b, out, size);
    sl_type_unref(a);
    sl_type_unref(b);
    return status;
}

static void test_conform(void **state)
{
    (void)state;
    static const char *const cases[][4] = {
        {"a int, b string", "{\"a\":1,\"b\":\"x\"}", "b string, c int, a int",
         "{\"a\":1,\"b\":\"x\",\"c\":null}"},
        {"a int", "{\"a\":-5}\n{}", "a long", "{\"a\":-5}\n{\"a\":null}"},
        {"a long", "{\"a\":-2147483648}\n{}", "a int", "{\"a\":-2147483648}\n{\"a\":null}"},
        {"a int", "{\"a\":7}", "a float", "{\"a\":7.0}"},
        {"a long", "{\"a\":9007199254740993}", "a double", "{\"a\":9007199254740992.0}"},
        {"a long", "{\"a\":9007199791611905}", "a float", "{\"a\":9007200328482816.0}"}, /* rounded once */
        {"a float", "{\"a\":0.1}", "a double", "{\"a\":0.10000000149011612}"},
        {"a float", "{\"a\":0.1}\n{}", "a string", "{\"a\":\"0.1\"}\n{\"a\":null}"},
        {"a double", "{\"a\":1e7}\n{\"a\":\"NaN\"}", "a string", "{\"a\":\"1.0E7\"}\n{\"a\":\"NaN\"}"},
        {"a long", "{\"a\":-12}", "a string", "{\"a\":\"-12\"}"},
        {"a decimal(9,2)", "{\"a\":-0.05}", "a string", "{\"a\":\"-0.05\"}"},
        {"a date", "{\"a\":\"2024-01-31\"}", "a string", "{\"a\":\"2024-01-31\"}"},
        {"a binary", "{\"a\":\"w6k=\"}\n{}", "a string", "{\"a\":\"\xc3\xa9\"}\n{\"a\":null}"},
        {"a string", "{\"a\":\"\xc3\xa9\"}", "a binary", "{\"a\":\"hex:c3a9\"}"},
        {"a int", "{\"a\":-12}", "a decimal(4,2)", "{\"a\":\"-12.00\"}"},
        {"a decimal(4,2)", "{\"a\":-12.34}", "a decimal(38,36)",
         "{\"a\":\"-12.340000000000000000000000000000000000\"}"},
        {"a decimal(38,36)", "{\"a\":1.5}\n{}", "a decimal(2,1)", "{\"a\":\"1.5\"}\n{\"a\":null}"},
        {"a struct<x: int, y: string>", "{\"a\":{\"x\":1,\"y\":\"q\"}}\n{}", "a struct<z: int, x: long>",
         "{\"a\":{\"x\":1,\"z\":null}}\n{\"a\":null}"},
        {"a list<int>", "{\"a\":[1,null]}\n{\"a\":[]}\n{}", "a list<double>",
         "{\"a\":[1.0,null]}\n{\"a\":[]}\n{\"a\":null}"},
        {"a map<string,int>", "{\"a\":{\"k\":1}}", "a map<string,long>", "{\"a\":[[\"k\",1]]}"},
        {"a list<struct<x: map<string,list<int>>>>", "{\"a\":[{\"x\":{\"k\":[1]}}]}",
         "a list<struct<w: int, x: map<string,list<string>>>>",
         "{\"a\":[{\"w\":null,\"x\":[[\"k\",[\"1\"]]]}]}"},
        {"a struct<x: int>", "{\"a\":{\"x\":1}}\n{}", "a struct<x: int not null>",
         "{\"a\":{\"x\":1}}\n{\"a\":null}"}, /* null parents excuse */
        {"a int", "", "a long", ""},
    };
    char out[512];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OK(conform(cases[i][0], cases[i][1], cases[i][2], out, sizeof out));
        assert_string_equal(out, cases[i][3]);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const cases[][4] = {
        {"a long", "{\"a\":1}\n{\"a\":2147483648}", "a int", "column a: row 1: 2147483648 does not fit int"},
        {"a int", "{\"a\":1}\n{}", "a int not null", "column a: row 1: null"},
        {"a int", "{\"a\":1}", "a int, b int not null", "column b: missing"},
        {"a double", "{\"a\":1}", "a float", "column a: double cannot become float"},
        {"a double", "{\"a\":1}", "a long", "double cannot become long"},
        {"a string", "{\"a\":\"1\"}", "a int", "string cannot become int"},
        {"a date", "{\"a\":1}", "a timestamp", "date cannot become timestamp"},
        {"a boolean", "{\"a\":true}", "a int", "boolean cannot become int"},
        {"a binary", "{\"a\":\"AA==\"}\n{\"a\":\"YYM=\"}", "a string",
         "column a: row 1: byte 1 of the value is not valid UTF-8"},
        {"a int", "{\"a\":100}", "a decimal(4,2)", "row 0: 100 does not fit decimal(4,2)"},
        {"a decimal(4,2)", "{\"a\":0.05}", "a decimal(4,1)", "does not fit decimal(4,1)"},
        {"a decimal(4,2)", "{\"a\":12.34}", "a decimal(38,37)", "does not fit decimal(38,37)"},
        {"a list<long>", "{\"a\":[1,2]}\n{\"a\":[]}\n{\"a\":[3,3000000000]}", "a list<int>",
         "column a: row 2: element: 3000000000 does not fit int"},
        {"a map<string,long>", "{\"a\":{\"k\":1}}\n{\"a\":{\"j\":3000000000}}", "a map<string,int>",
         "column a: row 1: value: 3000000000"},
        {"a struct<x: long>", "{}\n{\"a\":{\"x\":3000000000}}", "a struct<x: int>",
         "column a: row 1: x: 3000000000"},
        {"a struct<x: long>", "{\"a\":{}}", "a struct<x: long not null>", "column a: row 0: x: null"},
        {"a struct<x: long>", "{\"a\":{}}", "a struct<x: long, y: int not null>", "cannot become"},
        {"a list<int>", "{\"a\":[1,null]}", "a map<string,int>", "cannot become"},
    };
    char out[512];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        FAILS(conform(cases[i][0], cases[i][1], cases[i][2], out, sizeof out), SL_E_INPUT, cases[i][3]);
}

/* ---- types that the schema text does not spell --------------------------------------------------------- */

/* Casts integers of one type and gives the canonical texts, or the message. Takes the types over. */
static const char *cast_integers(const sl_type *from, const int64_t *values, size_t count, const sl_type *to)
{
    static char out[256];
    sl_builder *b;
    sl_array *array, *result;
    sl_buf text = {0};
    OK(sl_builder_new(from, &b));
    for (size_t i = 0; i < count; i++)
        OK(sl_builder_integer(b, values[i]));
    OK(sl_builder_null(b));
    OK(sl_builder_finish(b, &array));
    sl_status status = sl_cast_possible(from, to) ? sl_cast(array, to, &result) : sl_input("impossible");
    if (status == SL_OK) {
        for (int64_t i = 0; i < result->length; i++)
            OK(sl_value_text(result, i, SL_TEXT_CANONICAL, &text));
        snprintf(out, sizeof out, "%.*s", (int)text.len, (char *)text.data);
        sl_array_unref(result);
    } else {
        snprintf(out, sizeof out, "%s", sl_status_message(status));
        sl_status_free(status);
    }
    sl_buf_free(&text);
    sl_array_unref(array);
    sl_builder_free(b);
    sl_type_unref(from);
    sl_type_unref(to);
    return out;
}

static const sl_type *plain(enum sl_type_id id)
{
    const sl_type *type;
    OK(sl_type_new(id, &type));
    return type;
}

static const sl_type *stamp(enum sl_time_unit unit, bool utc)
{
    const sl_type *type;
    OK(sl_type_timestamp(unit, utc, &type));
    return type;
}

static const sl_type *clock_time(enum sl_time_unit unit)
{
    const sl_type *type;
    OK(sl_type_time(unit, &type));
    return type;
}

#define CAST(from, to, ...)                                                                                  \
    cast_integers(from, (const int64_t[]){__VA_ARGS__},                                                      \
                  sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), to)

static void test_integers(void **state)
{
    (void)state;
    static const enum sl_type_id ids[] = {SL_INT8,  SL_INT16,  SL_INT32,  SL_INT64,
                                          SL_UINT8, SL_UINT16, SL_UINT32, SL_UINT64};
    static const int64_t low[] = {INT8_MIN, INT16_MIN, INT32_MIN, INT64_MIN, 0, 0, 0, 0};
    static const int64_t high[] = {INT8_MAX,  INT16_MAX,  INT32_MAX,  INT64_MAX,
                                   UINT8_MAX, UINT16_MAX, UINT32_MAX, INT64_MAX};
    for (size_t from = 0; from < 8; from++)
        for (size_t to = 0; to < 8; to++) {
            int64_t least = low[from] > low[to] ? low[from] : low[to],
                    greatest = high[from] < high[to] ? high[from] : high[to];
            char expected[64];
            snprintf(expected, sizeof expected, "%" PRId64 "%" PRId64 "null", least, greatest);
            assert_string_equal(CAST(plain(ids[from]), plain(ids[to]), least, greatest), expected);
            if (high[from] > high[to])
                assert_non_null(strstr(CAST(plain(ids[from]), plain(ids[to]), 0, high[to] + 1), "row 1: "));
            if (low[from] < low[to])
                assert_non_null(strstr(CAST(plain(ids[from]), plain(ids[to]), low[to] - 1), "row 0: "));
        }
}

static void test_unsigned_64(void **state)
{
    (void)state;
    /* The builders end at INT64_MAX; files and Arrow do not. */
    static const uint64_t values[] = {UINT64_MAX, UINT64_C(1) << 63};
    const sl_type *type = plain(SL_UINT64), *decimal, *small, *number = plain(SL_INT64),
                  *real = plain(SL_DOUBLE);
    sl_buffer *buffer;
    sl_array *array, *result;
    OK(sl_type_decimal(20, 0, &decimal));
    OK(sl_type_decimal(19, 0, &small));
    OK(sl_buffer_new(sizeof values, &buffer));
    memcpy(sl_buffer_data(buffer), values, sizeof values);
    OK(sl_array_new(type, 2, 0, NULL, buffer, NULL, NULL, 0, NULL, &array));
    OK(sl_cast(array, decimal, &result));
    assert_true(sl_decimal_at(result, 0) == (sl_i128)UINT64_MAX);
    sl_array_unref(result);
    OK(sl_cast(array, real, &result));
    assert_true(sl_double_at(result, 1) == 9223372036854775808.0);
    sl_array_unref(result);
    FAILS(sl_cast(array, number, &result), SL_E_INPUT, "row 0: 18446744073709551615 does not fit long");
    FAILS(sl_cast(array, small, &result), SL_E_INPUT,
          "row 0: 18446744073709551615 does not fit decimal(19,0)");
    sl_array_unref(array);
    sl_type_unref(type);
    sl_type_unref(decimal);
    sl_type_unref(small);
    sl_type_unref(number);
    sl_type_unref(real);
}

static void test_half(void **state)
{
    (void)state;
    static const uint16_t values[] = {0x3c00, 0xc000, 0x0001, 0x7c00, 0x3555};
    const sl_type *half = plain(SL_HALF), *type = plain(SL_FLOAT);
    sl_buffer *buffer;
    sl_array *array, *result;
    sl_buf text = {0};
    OK(sl_buffer_new(sizeof values, &buffer));
    memcpy(sl_buffer_data(buffer), values, sizeof values);
    OK(sl_array_new(half, 5, 0, NULL, buffer, NULL, NULL, 0, NULL, &array));
    OK(sl_cast(array, type, &result));
    for (int64_t i = 0; i < 5; i++) {
        OK(sl_value_text(result, i, SL_TEXT_CANONICAL, &text));
        OK(sl_buf_byte(&text, ' '));
    }
    OK(sl_buf_byte(&text, 0));
    assert_string_equal((char *)text.data, "1.0 -2.0 5.960464477539063e-08 \"Infinity\" 0.333251953125 ");
    sl_buf_free(&text);
    sl_array_unref(array);
    sl_array_unref(result);
    sl_type_unref(half);
    sl_type_unref(type);
}

static void test_time_units(void **state)
{
    (void)state;
    assert_string_equal(CAST(stamp(SL_MILLIS, true), stamp(SL_MICROS, true), -1),
                        "\"1969-12-31T23:59:59.999000Z\"null");
    assert_string_equal(CAST(stamp(SL_NANOS, true), stamp(SL_MICROS, true), -1000, 2000),
                        "\"1969-12-31T23:59:59.999999Z\"\"1970-01-01T00:00:00.000002Z\"null");
    assert_non_null(strstr(CAST(stamp(SL_NANOS, true), stamp(SL_MICROS, true), 1000, 1001), "row 1: "));
    assert_non_null(
        strstr(CAST(stamp(SL_MILLIS, false), stamp(SL_MICROS, false), INT64_MAX / 1000 + 1), "row 0: "));
    assert_string_equal(CAST(stamp(SL_MICROS, true), stamp(SL_MICROS, false), 0), "impossible");
    assert_string_equal(CAST(clock_time(SL_NANOS), clock_time(SL_MILLIS), 86399999000000),
                        "\"23:59:59.999000\"null");
    assert_string_equal(CAST(clock_time(SL_MILLIS), clock_time(SL_MICROS), 1), "\"00:00:00.001000\"null");
    assert_non_null(strstr(CAST(clock_time(SL_MICROS), clock_time(SL_MILLIS), 1), "row 0: "));
}

/* ---- bytes --------------------------------------------------------------------------------------------- */

static sl_array *bytes_of(const sl_type *type, const char *const *values, size_t count)
{
    sl_builder *b;
    sl_array *array;
    OK(sl_builder_new(type, &b));
    for (size_t i = 0; i < count; i++)
        OK(values[i] ? sl_builder_bytes(b, values[i], strlen(values[i])) : sl_builder_null(b));
    OK(sl_builder_finish(b, &array));
    sl_builder_free(b);
    return array;
}

static void test_fixed(void **state)
{
    (void)state;
    const sl_type *fixed, *binary = plain(SL_BINARY);
    sl_array *back, *out;
    static const char *const values[] = {"abc", NULL, "def"}, *const uneven[] = {"abc", "de"};
    OK(sl_type_fixed(3, &fixed));
    sl_array *array = bytes_of(fixed, values, 3), *wrong = bytes_of(binary, uneven, 2);
    OK(sl_cast(array, binary, &out));
    size_t len;
    assert_memory_equal(sl_bytes_at(out, 2, &len), "def", 3);
    assert_int_equal(len, 3);
    OK(sl_cast(out, fixed, &back));
    for (int64_t i = 0; i < 3; i++)
        assert_true(sl_equal_at(array, i, back, i));
    FAILS(sl_cast(wrong, fixed, &back), SL_E_INPUT, "row 1: 2 bytes where the type has 3");
    sl_array_unref(wrong);
    sl_array_unref(back);
    sl_array_unref(out);
    sl_array_unref(array);
    sl_type_unref(fixed);
    sl_type_unref(binary);
}

/* Entries that no row uses must not matter: the second is no UTF-8. */
static void test_dictionary(void **state)
{
    (void)state;
    static const char *const entries[] = {"x", "\xff", "y"};
    static const int32_t indexes[] = {2, 0, 2};
    const sl_type *binary = plain(SL_BINARY), *string = plain(SL_STRING), *json;
    sl_buffer *buffer;
    sl_array *array, *out, *marked;
    size_t len;
    OK(sl_type_annotated(SL_STRING, SL_JSON, &json));
    OK(sl_buffer_new(sizeof indexes, &buffer));
    memcpy(sl_buffer_data(buffer), indexes, sizeof indexes);
    OK(sl_array_new(binary, 3, 0, NULL, buffer, NULL, NULL, 0, bytes_of(binary, entries, 3), &array));
    OK(sl_cast(array, string, &out));
    assert_memory_equal(sl_bytes_at(out, 0, &len), "y", 1);
    assert_memory_equal(sl_bytes_at(out, 1, &len), "x", 1);
    OK(sl_cast(out, json, &marked)); /* and a mark is only a mark */
    assert_true(sl_type_equal(marked->type, json));
    assert_memory_equal(sl_bytes_at(marked, 2, &len), "y", 1);
    sl_array_unref(marked);
    sl_array_unref(out);
    sl_array_unref(array);
    sl_type_unref(binary);
    sl_type_unref(string);
    sl_type_unref(json);
}

static void test_null(void **state)
{
    (void)state;
    char out[128];
    const sl_type *nothing = plain(SL_NULL), *from, *to = schema_of("a struct<x: int>, b string"),
                  *strict = schema_of("a int not null");
    const sl_field fields[] = {{.name = "a", .type = nothing, .nullable = true},
                               {.name = "b", .type = nothing, .nullable = true}};
    OK(sl_type_struct(fields, 2, &from));
    OK(conform_types(from, "{\"a\":null}\n{}", to, out, sizeof out));
    assert_string_equal(out, "{\"a\":null,\"b\":null}\n{\"a\":null,\"b\":null}");
    FAILS(conform_types(from, "{}", strict, out, sizeof out), SL_E_INPUT, "column a: row 0: null");
    sl_type_unref(nothing);
    sl_type_unref(from);
    sl_type_unref(to);
    sl_type_unref(strict);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    const sl_type *from =
        schema_of("a list<struct<x: int, y: float>>, m map<string,int>, b binary, d double, l long, s int");
    const sl_type *to = schema_of("a list<struct<x: string, y: double, z: int>>, m map<string,long>, b "
                                  "string, d string, l decimal(9,0), s long, n int");
    sl_batch *batch = batch_of(
                 from,
                 "{\"a\":[{\"x\":1,\"y\":2}],\"m\":{\"k\":1},\"b\":\"AA==\",\"d\":1.5,\"l\":3,\"s\":4}\n{}"),
             *out;
    for (uint64_t nth = 1;; nth++) {
        assert_true(nth < 1000);
        sl_test_fail_allocation(nth, false);
        sl_status status = sl_batch_conform(batch, to, &out);
        sl_test_fail_allocation(0, false);
        if (status == SL_OK)
            break;
        assert_int_equal(sl_status_code(status), SL_E_MEMORY);
        sl_status_free(status);
    }
    sl_batch_unref(out);
    sl_batch_unref(batch);
    sl_type_unref(from);
    sl_type_unref(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conform),  cmocka_unit_test(test_refused),
        cmocka_unit_test(test_integers), cmocka_unit_test(test_unsigned_64),
        cmocka_unit_test(test_half),     cmocka_unit_test(test_time_units),
        cmocka_unit_test(test_fixed),    cmocka_unit_test(test_dictionary),
        cmocka_unit_test(test_null),     cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
