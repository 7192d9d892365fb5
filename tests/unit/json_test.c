/* JSON text into builders: what is read, what is refused and where, and the schemas inferred from lines. */
#include "check_support.h"
#include "column/column.h"
#include <stdio.h>

/* One line into a batch of the schema; canonical text of the row, or the error. The copy has no byte behind
 * the line, so that reading past it is seen by the sanitizer. */
static sl_status line_read(const char *schema_text, const char *line, char *out, size_t size)
{
    const sl_type *schema;
    sl_batch_builder b = {0};
    sl_batch *batch = NULL;
    sl_buf text = {0};
    size_t len = strlen(line);
    char *exact = sl_malloc(len);
    sl_status status;
    assert_non_null(exact);
    memcpy(exact, line, len);
    OK(sl_schema_parse(schema_text, &schema));
    SL_GO(sl_batch_builder_init(&b, schema));
    SL_GO(sl_batch_builder_json_line(&b, exact, len));
    SL_GO(sl_batch_builder_finish(&b, &batch));
    SL_GO(sl_row_text(batch, 0, SL_TEXT_CANONICAL, &text));
    snprintf(out, size, "%.*s", (int)text.len, (char *)text.data);
done:
    sl_buf_free(&text);
    sl_batch_unref(batch);
    sl_batch_builder_free(&b);
    sl_type_unref(schema);
    sl_free(exact);
    return status;
}

static void test_reads(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"a int, b string", " { \"b\" : \"x\" , \"a\" : -5 } ", "{\"a\":-5,\"b\":\"x\"}"},
        {"a int, b string", "{}", "{\"a\":null,\"b\":null}"},
        {"a int", "{\"z\":[1,{\"y\":\"\\u0041\"},true],\"a\":1,\"q\":-1.5e-7}", "{\"a\":1}"},
        {"a string", "{\"\\u0061\":\"\\u00e9\\ud83d\\ude00\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\"}",
         "{\"a\":\"\xc3\xa9\xf0\x9f\x98\x80\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\"}"},
        {"a decimal(38,3)", "{\"a\":12345678901234567890123456789012345.678}",
         "{\"a\":\"12345678901234567890123456789012345.678\"}"},
        {"a decimal(9,3)", "{\"a\":\"-1.5\"}", "{\"a\":\"-1.500\"}"},
        {"a double", "{\"a\":\"-Infinity\"}", "{\"a\":\"-Infinity\"}"},
        {"a double, b float", "{\"a\":1E2,\"b\":0.1}", "{\"a\":100.0,\"b\":0.10000000149011612}"},
        {"a long", "{\"a\":1.5e1}", "{\"a\":15}"},
        {"a date, b timestamp", "{\"a\":\"2024-01-31\",\"b\":1}",
         "{\"a\":\"2024-01-31\",\"b\":\"1970-01-01T00:00:00.000001Z\"}"},
        {"a binary, b binary", "{\"a\":\"AP8=\",\"b\":\"hex:00fF\"}",
         "{\"a\":\"hex:00ff\",\"b\":\"hex:00ff\"}"},
        {"a list<list<int>>", "{\"a\":[[],null,[1,null]]}", "{\"a\":[[],null,[1,null]]}"},
        {"a map<string,int>", "{\"a\":{\"y\":1,\"x\":null}}", "{\"a\":[[\"x\",null],[\"y\",1]]}"},
        {"a map<int,map<string,int>>", "{\"a\":[[2,{\"k\":1}],[1,{\"k\":2}]]}",
         "{\"a\":[[1,[[\"k\",2]]],[2,[[\"k\",1]]]]}"},
        {"a struct<b: int, c: struct<d: boolean>>", "{\"a\":{\"c\":{\"d\":true}}}",
         "{\"a\":{\"b\":null,\"c\":{\"d\":true}}}"},
        {"a list<struct<b: int>>", "{\"a\":[{\"b\":1},null,{}]}", "{\"a\":[{\"b\":1},null,{\"b\":null}]}"},
    };
    char out[512];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OK(line_read(cases[i][0], cases[i][1], out, sizeof out));
        assert_string_equal(out, cases[i][2]);
    }
}

static void test_refuses(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"a int", "", "byte 0: expected an object"},
        {"a int", "[1]", "expected an object"},
        {"a int", "{\"a\":1} x", "byte 8: something follows"},
        {"a int", "{\"a\":1,}", "expected a string"},
        {"a int", "{\"a\" 1}", "expected ':'"},
        {"a int", "{\"a\":1", "expected ',' or '}'"},
        {"a int", "{\"a\":01}", "leading zeros"},
        {"a int", "{\"a\":+1}", "expected a number"},
        {"a int", "{\"a\":1.}", "behind its point"},
        {"a int", "{\"a\":1e}", "in its exponent"},
        {"a int", "{\"a\":\"1\"}", "a: byte 5: expected a number"},
        {"a int", "{\"a\":3000000000}", "a: byte 5: '3000000000' is out of the range of int"},
        {"a int", "{\"a\":1,\"a\":1}", "a: byte 11: the member is there twice"},
        {"a int", "{\"z\":nul}", "expected a JSON value"},
        {"a int not null", "{\"a\":null}", "may not be null"},
        {"a int not null", "{}", "a: the member is missing"},
        {"a string", "{\"a\":\"\\ud800\"}", "lone surrogate"},
        {"a string", "{\"a\":\"\\ud800\\u0041\"}", "lone surrogate"},
        {"a string", "{\"a\":\"\\udc00\"}", "lone surrogate"},
        {"a string", "{\"a\":\"\\u12g4\"}", "four hexadecimal digits"},
        {"a string", "{\"a\":\"\\x\"}", "unknown escape"},
        {"a string", "{\"a\":\"\xff\"}", "byte 6: invalid UTF-8"},
        {"a string", "{\"a\":\"\n\"}", "control character"},
        {"a string", "{\"a\":\"x", "does not end"},
        {"a string", "{\"a\":\"x\\", "does not end"},
        {"a int", "{\"\xff\":1}", "invalid UTF-8"},
        {"a boolean", "{\"a\":1}", "expected true or false"},
        {"a binary", "{\"a\":\"AP9=\"}", "expected base64"}, /* stray bits */
        {"a binary", "{\"a\":\"A\"}", "expected base64"},
        {"a decimal(3,1)", "{\"a\":0.15}", "more than the 1 decimals"},
        {"a map<string,int>", "{\"a\":{\"x\":1,\"y\":2,\"\\u0078\":3}}", "same key twice"},
        {"a map<string,int>", "{\"a\":[[\"x\",1],[\"\\u0078\",2]]}", "same key twice"},
        {"a map<string,int>", "{\"a\":[[null,1]]}", "may not be null"},
        {"a map<string,int>", "{\"a\":[[\"x\"]]}", "between key and value"},
        {"a struct<b: int not null>", "{\"a\":{}}", "a: b: the member is missing"},
        {"a list<int>", "{\"a\":{}}", "expected an array"},
    };
    char out[512];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        FAILS(line_read(cases[i][0], cases[i][1], out, sizeof out), SL_E_INPUT, cases[i][2]);
}

static void test_depth(void **state)
{
    (void)state;
    char line[256] = "{\"z\":", out[64];
    memset(line + 5, '[', 63);
    memset(line + 68, ']', 63);
    memcpy(line + 131, "}", 2);
    OK(line_read("a int", line, out, sizeof out)); /* 64 levels */
    memcpy(line, "{\"z\":[", 6);
    memset(line + 5, '[', 64);
    memset(line + 69, ']', 64);
    memcpy(line + 133, "}", 2);
    FAILS(line_read("a int", line, out, sizeof out), SL_E_INPUT, "64 levels");
}

static void test_value_position(void **state)
{
    (void)state;
    static const char text[] = " 12 , 13]";
    const sl_type *type;
    sl_builder *b;
    size_t pos = 0;
    OK(sl_type_new(SL_INT64, &type));
    OK(sl_builder_new(type, &b));
    OK(sl_builder_json(b, text, strlen(text), &pos));
    assert_int_equal(pos, 3);
    pos = 5;
    OK(sl_builder_json(b, text, strlen(text), &pos));
    assert_int_equal(pos, 8);
    FAILS(sl_builder_json(b, text, strlen(text), &pos), SL_E_INPUT, "byte 8");
    assert_int_equal(pos, 8);
    sl_builder_free(b);
    sl_type_unref(type);
}

/* Every prefix of a line is refused: nothing is read that is not there, and nothing is taken for complete. */
static void test_truncation(void **state)
{
    (void)state;
    static const char line[] =
        "{\"s\":\"\\ud83d\\ude00\",\"l\":[1.5e+3,null],\"m\":{\"k\":[true,false]},\"z\":{\"q\":[{}]}}";
    char part[sizeof line], out[512];
    for (size_t len = 0; len + 1 < sizeof line; len++) {
        memcpy(part, line, len);
        part[len] = '\0';
        FAILS(line_read("s string, l list<double>, m map<string, list<boolean>>", part, out, sizeof out),
              SL_E_INPUT, "byte");
    }
    OK(line_read("s string, l list<double>, m map<string, list<boolean>>", line, out, sizeof out));
}

static void test_failing_allocations(void **state)
{
    (void)state;
    const sl_type *schema;
    static const char line[] =
        "{\"s\":\"\\ud83d\\ude00\",\"l\":[1.5e+3],\"m\":{\"k\":1,\"j\":2},\"x\":\"AP8=\"}";
    OK(sl_schema_parse("s string, l list<double>, m map<string, int>, x binary", &schema));
    for (uint64_t nth = 1;; nth++) {
        sl_batch_builder b = {0};
        sl_json_infer *infer = NULL;
        const sl_type *found = NULL;
        assert_true(nth < 1000);
        sl_test_fail_allocation(nth, false);
        sl_status status = sl_batch_builder_init(&b, schema);
        if (status == SL_OK)
            status = sl_batch_builder_json_line(&b, line, strlen(line));
        if (status == SL_OK)
            status = sl_json_infer_new(&infer);
        if (status == SL_OK)
            status = sl_json_infer_line(infer, line, strlen(line));
        if (status == SL_OK)
            status = sl_json_infer_finish(infer, &found);
        sl_test_fail_allocation(0, false);
        sl_batch_builder_free(&b);
        sl_json_infer_free(infer);
        sl_type_unref(found);
        if (status == SL_OK)
            break;
        assert_int_equal(sl_status_code(status), SL_E_MEMORY);
        sl_status_free(status);
    }
    sl_type_unref(schema);
}

/* ---- inference ----------------------------------------------------------------------------------------- */

static sl_status infer(const char *const *lines, char **out)
{
    sl_json_infer *inferrer;
    const sl_type *schema = NULL;
    sl_status status = SL_OK;
    OK(sl_json_infer_new(&inferrer));
    for (; *lines && status == SL_OK; lines++)
        status = sl_json_infer_line(inferrer, *lines, strlen(*lines));
    if (status == SL_OK)
        status = sl_json_infer_finish(inferrer, &schema);
    if (status == SL_OK)
        status = sl_type_text(schema, out);
    sl_type_unref(schema);
    sl_json_infer_free(inferrer);
    return status;
}

static void infers(const char *const *lines, const char *schema_text)
{
    const sl_type *expected;
    char *text, *expected_text;
    OK(infer(lines, &text));
    OK(sl_schema_parse(schema_text, &expected));
    OK(sl_type_text(expected, &expected_text));
    assert_string_equal(text, expected_text);
    sl_free(text);
    sl_free(expected_text);
    sl_type_unref(expected);
}

static void test_infer(void **state)
{
    (void)state;
    char *text;
    infers((const char *const[]){"{\"a\":1,\"b\":null}", "", "{\"c\":true,\"a\":1.5,\"b\":\"x\"}", NULL},
           "a double, b string, c boolean");
    infers((const char *const[]){"{\"a\":9223372036854775807}", NULL}, "a long");
    infers((const char *const[]){"{\"a\":9223372036854775808}", NULL}, "a double");
    infers((const char *const[]){"{\"a\":[]}", "{\"a\":[{\"x\":1}]}", "{\"a\":[null,{\"y\":[2.5]}]}", NULL},
           "a list<struct<x: long, y: list<double>>>");
    infers((const char *const[]){"{\"a\":null,\"b\":[]}", NULL}, "a string, b list<string>");
    FAILS(infer((const char *const[]){"{\"a\":1}", "{\"a\":\"x\"}", NULL}, &text), SL_E_INPUT,
          "line 2: a: byte 5: a string where other lines have an integer");
    FAILS(infer((const char *const[]){"{\"a\":{\"b\":1,\"b\":2}}", NULL}, &text), SL_E_INPUT, "twice");
    FAILS(infer((const char *const[]){"{\"a\":1} 2", NULL}, &text), SL_E_INPUT, "line 1: byte 8");
    FAILS(infer((const char *const[]){"{\"a\":{}}", NULL}, &text), SL_E_INPUT, "a: only empty objects");
    FAILS(infer((const char *const[]){"{\"\":1}", NULL}, &text), SL_E_INPUT, "empty");
    FAILS(infer((const char *const[]){NULL}, &text), SL_E_INPUT, "only empty objects");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads),      cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_depth),      cmocka_unit_test(test_value_position),
        cmocka_unit_test(test_truncation), cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_infer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
