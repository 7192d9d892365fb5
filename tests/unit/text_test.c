/* Values as text and from text: the canonical form against what canon.py wrote (tests/data/column), Java's
 * floats, the forms of CSV cells, and the calendar. */
#include "check_support.h"
#include "column/column.h"
#include <float.h>
#include <math.h>
#include <stdio.h>

static const char *data_path(const char *name, char *out, size_t size)
{
    const char *root = getenv("SL_TEST_DATA");
    snprintf(out, size, "%s/column/%s", root ? root : "tests/data", name);
    return out;
}

static bool next_line(FILE *file, char *line, size_t size)
{
    if (!fgets(line, (int)size, file))
        return false;
    line[strcspn(line, "\n")] = '\0';
    return true;
}

static const char canonical_schema[] = "b boolean, i int, l long, f float, d double, p decimal(9,3), w "
                                       "decimal(38,10), s string, x binary, day date, at timestamp, "
                                       "loc timestamp_ntz, tags list<string>, m map<string, double>, r "
                                       "struct<z: string, a: int, `\xc3\xa9`: double, B: list<int>>";

static const sl_type *schema_with_local_time(void)
{
    /* The schema text may not spell local timestamps, so that field is replaced by hand. */
    const sl_type *schema, *local, *out;
    char text[sizeof canonical_schema];
    snprintf(text, sizeof text, "%s", canonical_schema);
    char *at = strstr(text, "timestamp_ntz");
    memmove(at + 9, at + 13, strlen(at + 13) + 1);
    OK(sl_schema_parse(text, &schema));
    OK(sl_type_timestamp(SL_MICROS, false, &local));
    sl_field fields[32];
    memcpy(fields, schema->fields, schema->field_count * sizeof *fields);
    fields[sl_type_field_index(schema, "loc")].type = local;
    OK(sl_type_struct(fields, schema->field_count, &out));
    sl_type_unref(local);
    sl_type_unref(schema);
    return out;
}

static void test_canonical(void **state)
{
    (void)state;
    static char line[1 << 16];
    char path[512];
    const sl_type *schema = schema_with_local_time();
    sl_batch_builder b;
    sl_batch *batch;
    FILE *input = fopen(data_path("canonical_input.jsonl", path, sizeof path), "r");
    assert_non_null(input);
    OK(sl_batch_builder_init(&b, schema));
    while (next_line(input, line, sizeof line))
        OK(sl_batch_builder_json_line(&b, line, strlen(line)));
    fclose(input);
    OK(sl_batch_builder_finish(&b, &batch));
    assert_int_equal(batch->rows, 150);
    FILE *expected = fopen(data_path("canonical_expected.jsonl", path, sizeof path), "r");
    assert_non_null(expected);
    sl_buf text = {0};
    for (int64_t row = 0; row < batch->rows; row++) {
        assert_true(next_line(expected, line, sizeof line));
        text.len = 0;
        OK(sl_row_text(batch, row, SL_TEXT_CANONICAL, &text));
        OK(sl_buf_byte(&text, 0));
        assert_string_equal((char *)text.data, line);
    }
    fclose(expected);
    /* What JSON style writes, the JSON reader reads back. */
    sl_batch *again;
    for (int64_t row = 0; row < batch->rows; row++) {
        text.len = 0;
        OK(sl_row_text(batch, row, SL_TEXT_JSON, &text));
        OK(sl_batch_builder_json_line(&b, (char *)text.data, text.len));
    }
    OK(sl_batch_builder_finish(&b, &again));
    for (size_t c = 0; c < schema->field_count; c++)
        for (int64_t row = 0; row < batch->rows; row++)
            assert_true(sl_equal_at(batch->columns[c], row, again->columns[c], row));
    sl_buf_free(&text);
    sl_batch_unref(batch);
    sl_batch_unref(again);
    sl_batch_builder_free(&b);
    sl_type_unref(schema);
}

/* Reads a cell into a column of the type (as schema text) and writes it in a style; errors as their message.
 */
static const char *read_and_write(const sl_type *type, const char *cell, enum sl_text_style style)
{
    static char out[512];
    sl_builder *b;
    sl_array *array = NULL;
    sl_buf text = {0};
    OK(sl_builder_new(type, &b));
    sl_status status = sl_builder_text(b, cell, strlen(cell));
    if (status == SL_OK) {
        OK(sl_builder_finish(b, &array));
        assert_int_equal(array->length, 1);
        OK(sl_value_text(array, 0, style, &text));
        snprintf(out, sizeof out, "%.*s", (int)text.len, (char *)text.data);
    } else {
        assert_int_equal(sl_status_code(status), SL_E_INPUT);
        snprintf(out, sizeof out, "%s", sl_status_message(status));
        sl_status_free(status);
    }
    sl_buf_free(&text);
    sl_array_unref(array);
    sl_builder_free(b);
    return out;
}

static const char *cell(const char *type, const char *text)
{
    char schema_text[128];
    const sl_type *schema;
    snprintf(schema_text, sizeof schema_text, "c %s", type);
    OK(sl_schema_parse(schema_text, &schema));
    const char *out = read_and_write(schema->fields[0].type, text, SL_TEXT_PLAIN);
    sl_type_unref(schema);
    return out;
}

#define assert_refused(type, text, part) assert_non_null(strstr(cell(type, text), part))

static void test_cells(void **state)
{
    (void)state;
    static const char *const good[][3] = {
        {"boolean", "YES", "true"},
        {"boolean", "f", "false"},
        {"boolean", "1", "true"},
        {"int", "-2147483648", "-2147483648"},
        {"int", "+7", "7"},
        {"int", "1e3", "1000"},
        {"int", "12.00", "12"},
        {"long", "9223372036854775807", "9223372036854775807"},
        {"long", "0009223372036854775807", "9223372036854775807"},
        {"decimal(5,2)", "999.99", "999.99"},
        {"decimal(5,2)", "-1.5", "-1.50"},
        {"decimal(5,2)", "1.2300", "1.23"},
        {"decimal(5,2)", "12e-1", "1.20"},
        {"decimal(38,0)", "-99999999999999999999999999999999999999",
         "-99999999999999999999999999999999999999"},
        {"double", "nan", "NaN"},
        {"double", "-inf", "-Infinity"},
        {"double", "+Infinity", "Infinity"},
        {"double", "2.2250738585072012e-308", "2.2250738585072014e-308"},
        {"double", "1e-400", "0.0"},
        {"double", "9007199254740993", "9007199254740992.0"},
        {"double", "9007199254740993.00000000000000000001", "9007199254740994.0"},
        {"float", "0.1", "0.1"},
        {"float", "16777217", "16777216.0"},
        {"float", "3.4028235e38", "3.4028235e+38"},
        {"date", "2024-02-29", "2024-02-29"},
        {"date", "-1", "1969-12-31"},
        {"date", "0001-01-01", "0001-01-01"},
        {"timestamp", "2024-01-31T12:34:56.123456Z", "2024-01-31T12:34:56.123456Z"},
        {"timestamp", "2024-01-31 12:34", "2024-01-31T12:34:00.000000Z"},
        {"timestamp", "2024-01-31 12:34:56.5+05:30", "2024-01-31T07:04:56.500000Z"},
        {"timestamp", "2024-01-31 00:34:56-01", "2024-01-31T01:34:56.000000Z"},
        {"timestamp", "-1", "1969-12-31T23:59:59.999999Z"},
        {"timestamp", "2024-01-31", "2024-01-31T00:00:00.000000Z"},
        {"timestamp", "2024-01-31 12:34:56.123456000", "2024-01-31T12:34:56.123456Z"},
        {"string", "", ""},
        {"string", " \"x\" ", " \"x\" "},
        {"binary", "a\xff", "hex:61ff"},
        {"binary", "hex:61FF00", "hex:61ff00"},
        {"binary", "hex:", "hex:"},
        {"list<int>", "[1, null,3] ", "[1,null,3]"},
        {"struct<a: int, b: string>", "{\"b\":\"x\"}", "{\"a\":null,\"b\":\"x\"}"},
        {"map<int, string>", "{\"1\":\"x\"}", "{\"1\":\"x\"}"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_string_equal(cell(good[i][0], good[i][1]), good[i][2]);
    static const char *const bad[][3] = {
        {"boolean", "maybe", "not a boolean"},
        {"binary", "hex:6", "hexadecimal digits behind"},
        {"binary", "hex:6g", "hexadecimal digits behind"},
        {"int", "2147483648", "out of the range of int"},
        {"int", "1.5", "without fraction"},
        {"int", "", "not an integer"},
        {"int", " 1", "not an integer"},
        {"long", "9223372036854775808", "out of the range"},
        {"long", "1e99", "out of the range"},
        {"decimal(5,2)", "1.234", "more than the 2 decimals"},
        {"decimal(5,2)", "1000", "more digits than"},
        {"double", "1e999", "out of the range"},
        {"double", "1,5", "not a number"},
        {"double", "0x10", "not a number"},
        {"double", ".", "not a number"},
        {"float", "3.5e38", "out of the range"},
        {"date", "2023-02-29", "not a date"},
        {"date", "20240131", "not a date"},
        {"date", "2024-1-31", "not a date"},
        {"timestamp", "2024-01-31 24:00", "not a timestamp"},
        {"timestamp", "2024-01-31 12:00:00.", "not a timestamp"},
        {"timestamp", "2024-01-31 12:00:00.1234567", "more digits"},
        {"timestamp", "2024-01-31 12:00:00+1", "not a timestamp"},
        {"string", "a\xc3", "byte 1 of the string is not valid UTF-8"},
        {"list<int>", "[1] 2", "something follows"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_refused(bad[i][0], bad[i][1], bad[i][2]);
}

static void test_times(void **state)
{
    (void)state;
    const sl_type *local, *nanos, *millis;
    OK(sl_type_timestamp(SL_NANOS, false, &local));
    OK(sl_type_time(SL_NANOS, &nanos));
    OK(sl_type_time(SL_MILLIS, &millis));
    assert_string_equal(read_and_write(local, "1969-12-31 23:59:59.999999999", SL_TEXT_PLAIN),
                        "1969-12-31T23:59:59.999999999");
    assert_string_equal(read_and_write(local, "1969-12-31 23:59:59.999999999", SL_TEXT_CANONICAL),
                        "\"1969-12-31T23:59:59.999999\"");
    assert_non_null(strstr(read_and_write(local, "2024-01-01 00:00Z", SL_TEXT_PLAIN), "no time zone"));
    assert_non_null(strstr(read_and_write(local, "2300-01-01 00:00", SL_TEXT_PLAIN), "out of the range"));
    assert_string_equal(read_and_write(nanos, "23:59:59.000000001", SL_TEXT_PLAIN), "23:59:59.000000001");
    assert_string_equal(read_and_write(nanos, "23:59:59.000001999", SL_TEXT_CANONICAL),
                        "\"23:59:59.000001\"");
    assert_string_equal(read_and_write(millis, "86399999", SL_TEXT_CANONICAL), "\"23:59:59.999000\"");
    assert_non_null(strstr(read_and_write(millis, "86400000", SL_TEXT_PLAIN), "within one day"));
    assert_non_null(strstr(read_and_write(millis, "12:60:00", SL_TEXT_PLAIN), "not a time"));
    sl_type_unref(local);
    sl_type_unref(nanos);
    sl_type_unref(millis);
}

static const char *java(double value, bool narrow)
{
    static char out[64];
    sl_buf text = {0};
    OK(narrow ? sl_java_float((float)value, &text) : sl_java_double(value, &text));
    snprintf(out, sizeof out, "%.*s", (int)text.len, (char *)text.data);
    sl_buf_free(&text);
    return out;
}

static void test_java(void **state) /* spec/write-path.md 1.2, and Double.toString of JDK 19 */
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } doubles[] = {{1.5, "1.5"},
                   {0.001, "0.001"},
                   {9.999e-4, "9.999E-4"},
                   {9999999.0, "9999999.0"},
                   {1e7, "1.0E7"},
                   {-0.0, "-0.0"},
                   {0.0, "0.0"},
                   {1e23, "1.0E23"},
                   {4.9406564584124654e-324, "4.9E-324"},
                   {DBL_MAX, "1.7976931348623157E308"},
                   {100, "100.0"},
                   {-12345.678, "-12345.678"},
                   {2e-3, "0.002"},
                   {1e-5, "1.0E-5"}};
    for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++)
        assert_string_equal(java(doubles[i].value, false), doubles[i].text);
    assert_string_equal(java((double)NAN, false), "NaN");
    assert_string_equal(java(-(double)INFINITY, true), "-Infinity");
    assert_string_equal(java(0.1, true), "0.1");
    assert_string_equal(java(1.17549435e-38, true), "1.1754944E-38");
    assert_string_equal(java(1.401298464324817e-45, true), "1.4E-45");
    assert_string_equal(java(1e10, true), "1.0E10");
}

static void test_calendar(void **state)
{
    (void)state;
    int64_t year, days = sl_civil_to_days(-1, 1, 1);
    int month, day;
    assert_int_equal(sl_civil_to_days(1970, 1, 1), 0);
    assert_int_equal(sl_civil_to_days(2000, 3, 1), 11017);
    assert_int_equal(sl_civil_to_days(1, 1, 1), -719162);
    for (; days < 1200000; days += 13) {
        sl_days_to_civil(days, &year, &month, &day);
        assert_true(month >= 1 && month <= 12 && day >= 1 && day <= 31);
        assert_int_equal(sl_civil_to_days(year, month, day), days);
    }
}

static const char *inferred(const char *const *cells)
{
    static char out[32];
    sl_text_infer infer = {0};
    const sl_type *type;
    char *text;
    for (; *cells; cells++)
        sl_text_infer_cell(&infer, *cells, strlen(*cells));
    OK(sl_text_infer_type(&infer, &type));
    OK(sl_type_text(type, &text));
    snprintf(out, sizeof out, "%s", text);
    sl_free(text);
    sl_type_unref(type);
    return out;
}

static void test_infer(void **state)
{
    (void)state;
    static const struct {
        const char *cells[4], *type;
    } cases[] = {{{"", "true", "FALSE"}, "boolean"},
                 {{"1", "-5", ""}, "long"},
                 {{"1", "0.5", "NaN"}, "double"},
                 {{"007", "8"}, "string"},
                 {{"99999999999999999999"}, "string"},
                 {{"2024-01-31"}, "date"},
                 {{"2024-01-31", "2024-01-31 10:00"}, "timestamp"},
                 {{"1", "2024-01-31"}, "string"},
                 {{"true", "1"}, "string"},
                 {{"", ""}, "string"},
                 {{"x"}, "string"},
                 {{"0", "-0.5"}, "double"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(inferred(cases[i].cells), cases[i].type);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_canonical), cmocka_unit_test(test_cells),    cmocka_unit_test(test_times),
        cmocka_unit_test(test_java),      cmocka_unit_test(test_calendar), cmocka_unit_test(test_infer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
