/* The door: text and files of many kinds, good and odd, become the rows that docs/input.md promises. */
#include "check_support.h"
#include <stdio.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include "avro/avro.h"
#include "parquet/parquet.h"
#include "sluice/sluice_arrow.h"
#include "write/input.h"

static char folder[] = "/tmp/sluice-input-test-XXXXXX";

static void fails(sl_status status, enum sl_code code, const char *message)
{
    if (sl_status_code(status) != code || strcmp(sl_status_message(status), message) != 0)
        fail_msg("got %d '%s', want %d '%s'", (int)sl_status_code(status), sl_status_message(status),
                 (int)code, message);
    sl_status_free(status);
}

static const sl_type *schema(const char *text)
{
    const sl_type *type;
    OK(sl_schema_parse(text, &type));
    return type;
}

/* A file of the test folder; the name lives until the next call but seven. */
static const char *path_of(const char *name)
{
    static char paths[8][256];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static const char *file_of(const char *name, const void *data, size_t len)
{
    const char *path = path_of(name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
    return path;
}

static const char *text_file(const char *name, const char *text) { return file_of(name, text, strlen(text)); }

/* All rows as JSON, one a line; what a failure before the end left is dropped. */
static sl_status rows_of_stream(sl_stream *stream, char **out)
{
    sl_buf text = {0};
    sl_batch *batch;
    sl_status status;
    for (;;) {
        SL_GO(sl_stream_next(stream, &batch));
        if (!batch)
            break;
        assert_true(sl_type_equal(batch->schema, stream->schema));
        for (int64_t i = 0; i < batch->rows && status == SL_OK; i++) {
            status = sl_row_text(batch, i, SL_TEXT_JSON, &text);
            if (status == SL_OK)
                status = sl_buf_byte(&text, '\n');
        }
        sl_batch_unref(batch);
        if (status != SL_OK)
            goto done;
    }
    status = sl_buf_take_string(&text, out);
done:
    sl_buf_free(&text);
    sl_stream_close(stream);
    return status;
}

static sl_status rows_of(const char *path, const char *format, const char *wanted,
                         const struct sl_input_options *options, char **out)
{
    const sl_type *type = wanted ? schema(wanted) : NULL;
    sl_stream *stream;
    sl_status status = sl_input_open(path, format, type, options, &stream);
    sl_type_unref(type);
    return status != SL_OK ? status : rows_of_stream(stream, out);
}

static void expect(const char *path, const char *wanted, const struct sl_input_options *options,
                   const char *rows)
{
    char *got = NULL;
    OK(rows_of(path, NULL, wanted, options, &got));
    assert_string_equal(got, rows);
    sl_free(got);
}

/* The file's text gives these rows, whatever the sizes of batches and with a reject in place too. */
static void csv(const char *text, const char *wanted, const char *rows)
{
    static uint64_t rejected;
    struct sl_input_options small = {.batch_rows = 1};
    const char *path = text_file("t.csv", text);
    expect(path, wanted, NULL, rows);
    expect(path, wanted, &small, rows);
    small.rejected = &rejected;
    expect(path, wanted, &small, rows);
}

static void bad_csv(const char *text, const char *wanted, const char *message)
{
    char want[512], *got;
    const char *path = text_file("t.csv", text);
    snprintf(want, sizeof want, "%s: %s", path, message);
    fails(rows_of(path, NULL, wanted, NULL, &got), SL_E_INPUT, want);
}

/* ---- CSV ------------------------------------------------------------------------------------------------
 */

static void csv_fields(void **state)
{
    (void)state;
    const char *ab = "a string, b string";
    csv("a,b\n1,2\n", ab, "{\"a\":\"1\",\"b\":\"2\"}\n");
    csv("a,b\r\n1,2\r\n", ab, "{\"a\":\"1\",\"b\":\"2\"}\n");
    csv("a,b\n1,2", ab, "{\"a\":\"1\",\"b\":\"2\"}\n"); /* no line end at the end */
    csv("a,b\n1,2\r", ab, "{\"a\":\"1\",\"b\":\"2\"}\n");
    csv("\xef\xbb\xbf"
        "a,b\n1,2\n",
        ab, "{\"a\":\"1\",\"b\":\"2\"}\n");                             /* byte order mark */
    csv("\n\r\n  \na,b\n\n1,2\n\n", ab, "{\"a\":\"1\",\"b\":\"2\"}\n"); /* blank lines */
    csv("b,a\n1,2\n", ab, "{\"a\":\"2\",\"b\":\"1\"}\n");               /* by name */
    csv("a,b\n,\"\"\n", ab, "{\"a\":null,\"b\":\"\"}\n");               /* null and empty */
    csv("a,b\n \" , \"\"\"\"\n", NULL,
        "{\"a\":\" \\\" \",\"b\":\" \\\"\\\"\\\"\\\"\"}\n"); /* quotes not at the start */
    csv("a,b\n\"x,y\",\"p\nq\"\n", ab, "{\"a\":\"x,y\",\"b\":\"p\\nq\"}\n");
    csv("a,b\n\"x\r\ny\",\"\"\"\"\r\n", ab, "{\"a\":\"x\\r\\ny\",\"b\":\"\\\"\"}\n");
    csv("a,b\n\"a\"\"b\"\"\",c\"d\n", ab, "{\"a\":\"a\\\"b\\\"\",\"b\":\"c\\\"d\"}\n");
    csv("\"a\",\"b\"\n1,2\n", ab, "{\"a\":\"1\",\"b\":\"2\"}\n");
    csv("a,b\n", ab, "");
    csv("a,b", ab, "");
    csv("a\n1\n", ab, "{\"a\":\"1\",\"b\":null}\n"); /* a column that is not there */
    csv("a\n\"\"\nx\n", "a string", "{\"a\":\"\"}\n{\"a\":\"x\"}\n");
    csv("a,b\nx\ry,2\n", ab, "{\"a\":\"x\\ry\",\"b\":\"2\"}\n"); /* a CR alone ends nothing */
    csv("a,b\n\xc3\xa9,\xe6\x97\xa5\n", ab, "{\"a\":\"\xc3\xa9\",\"b\":\"\xe6\x97\xa5\"}\n");
}

static void csv_types(void **state)
{
    (void)state;
    csv("i,d,b,t\n-5,1.25,true,2024-02-29\n", "i int, d decimal(10,3), b boolean, t date",
        "{\"i\":-5,\"d\":\"1.250\",\"b\":true,\"t\":\"2024-02-29\"}\n");
    csv("i,s\n\"7\",x\n\"\",y\n,z\n", "i int, s string",
        "{\"i\":7,\"s\":\"x\"}\n{\"i\":null,\"s\":\"y\"}\n{\"i\":null,\"s\":\"z\"}\n"); /* everything
                                                                                                    quoted */
    csv("l,m\n\"[1,2]\",\"{\"\"k\"\":3}\"\n", "l list<int>, m map<string, int>",
        "{\"l\":[1,2],\"m\":{\"k\":3}}\n");
}

static void csv_inference(void **state)
{
    (void)state;
    csv("i,d,b,t,s,z\n1,1.5,true,2024-01-01,x,007\n-2,3,false,2024-01-02,1,008\n", NULL,
        "{\"i\":1,\"d\":1.5,\"b\":true,\"t\":\"2024-01-01\",\"s\":\"x\",\"z\":\"007\"}\n"
        "{\"i\":-2,\"d\":3.0,\"b\":false,\"t\":\"2024-01-02\",\"s\":\"1\",\"z\":\"008\"}\n");
    csv("i,n\n,\n3,\n", NULL, "{\"i\":null,\"n\":null}\n{\"i\":3,\"n\":null}\n");
    csv("i\n\"1\"\n\"\"\n", NULL, "{\"i\":1}\n{\"i\":null}\n");
    const sl_type *type;
    OK(sl_input_schema(text_file("t.csv", "i,d,n\n1,2024-01-01 10:00:00,\n"), NULL, NULL, &type));
    char *text;
    OK(sl_type_text(type, &text));
    assert_string_equal(text, "struct<i: long, d: timestamp, n: string>");
    sl_free(text);
    sl_type_unref(type);

    /* strict behind the rows that were looked at */
    struct sl_input_options options = {.infer_rows = 2};
    const char *path = text_file("t.csv", "i\n1\n2\nx\n");
    char *got;
    sl_status status = rows_of(path, NULL, NULL, &options, &got);
    assert_non_null(strstr(sl_status_hint(status), "inferred from the first 2 rows"));
    FAILS(status, SL_E_INPUT, "t.csv: line 4: column `i` (long): 'x' is not an integer");
}

static void csv_errors(void **state)
{
    (void)state;
    const char *ab = "a string, b int";
    bad_csv("", ab, "empty: a CSV file begins with a header line");
    bad_csv("\n\n", ab, "empty: a CSV file begins with a header line");
    bad_csv("a,b\n1,2\n1,2,3\n", ab, "line 3: 3 fields, header has 2");
    bad_csv("a,b\n1\n", ab, "line 2: 1 field, header has 2");
    bad_csv("a,b\n\n\n1,2,3,4,5\n", ab, "line 4: 5 fields, header has 2");
    bad_csv("a,b\n\"x\n\ny\",1\nz,q\n", ab,
            "line 5: column `b` (int): 'q' is not an integer (expected digits with an optional sign)");
    bad_csv("a,b\n\"x,1\n", ab, "line 2: the quote that opens at byte 1 is never closed");
    bad_csv("a,b\n\"x\"y,1\n", ab, "line 2: field 1: text behind the closing quote");
    bad_csv("a,b\nx,1\n\xff,2\n", ab, "line 3: not UTF-8: byte 0xff at column 1");
    bad_csv("a,b\n\"x\ny\xc3\",2\n", ab, "line 2: not UTF-8: byte 0xc3 at line 3, column 2");
    bad_csv("a,\xfe\n", ab, "line 1: not UTF-8: byte 0xfe at column 3");
    bad_csv("a,a\n1,2\n", ab, "line 1: the header has column `a` twice");
    bad_csv("a,\n1,2\n", ab, "line 1: column 2 of the header has no name");
    bad_csv("a,c\n1,2\n", ab, "column `c` is not one of the table");
    bad_csv("b\n1\n", "a string not null, b int", "no column `a`, which must have a value");
    bad_csv("a,b\n,1\n", "a string not null, b int",
            "line 2: column `a` (string): no value, but it must have one");
    bad_csv("b\n99999999999\n", "b int",
            "line 2: column `b` (int): '99999999999' is out of the range of int");
    bad_csv("x,y\n1,2\n1\n", NULL, "line 3: 1 field, header has 2");
}

static void csv_options(void **state)
{
    (void)state;
    struct sl_input_options options = {.delimiter = ';', .null_text = "\\N"};
    expect(text_file("t.csv", "a;b\n\\N;1,5\n;\"\\N\"\n"), "a string, b string", &options,
           "{\"a\":null,\"b\":\"1,5\"}\n{\"a\":\"\",\"b\":\"\\\\N\"}\n");
    expect(text_file("t.tsv", "a\tb\n1\tx,y\n"), "a int, b string", NULL, "{\"a\":1,\"b\":\"x,y\"}\n");
    options = (struct sl_input_options){.extra = SL_EXTRA_DROP};
    expect(text_file("t.csv", "a,c,b\n1,2,3\n"), "a int, b int", &options, "{\"a\":1,\"b\":3}\n");
    expect(text_file("t.csv", "_hoodie_commit_time,a\n2024,1\n"), "a int", NULL, "{\"a\":1}\n");
    char *got;
    FAILS(rows_of(text_file("t.csv", "x,y\n1,2\n"), NULL, "a int", &options, &got), SL_E_INPUT,
          "t.csv: none of the table's columns is there");
    options = (struct sl_input_options){.delimiter = '"'};
    FAILS(rows_of(text_file("t.csv", "a\n"), NULL, NULL, &options, &got), SL_E_INPUT, "delimiter");
    options = (struct sl_input_options){.row_bytes_max = 4 << 20};
    sl_buf big = {0};
    OK(sl_buf_printf(&big, "a\n1\n\""));
    for (int i = 0; i < 9 << 20; i += 16)
        OK(sl_buf_append(&big, "0123456789abcde\n", 16));
    const char *path = file_of("big.csv", big.data, big.len);
    FAILS(rows_of(path, NULL, "a string", &options, &got), SL_E_INPUT,
          "big.csv: line 3: a row of more than 4194304 bytes (a quote that is not closed?)");
    sl_buf_free(&big);
}

/* ---- JSON lines -----------------------------------------------------------------------------------------
 */

static void jsonl(const char *text, const char *wanted, const char *rows)
{
    struct sl_input_options small = {.batch_rows = 1};
    const char *path = text_file("t.jsonl", text);
    expect(path, wanted, NULL, rows);
    expect(path, wanted, &small, rows);
}

static void bad_jsonl(const char *text, const char *wanted, const char *part)
{
    char *got;
    FAILS(rows_of(text_file("t.jsonl", text), NULL, wanted, NULL, &got), SL_E_INPUT, part);
}

static void json_lines(void **state)
{
    (void)state;
    jsonl("{\"a\":1}\n\n  \r\n{\"b\":\"x\"}\r\n{}", "a int, b string",
          "{\"a\":1,\"b\":null}\n{\"a\":null,\"b\":\"x\"}\n{\"a\":null,\"b\":null}\n");
    jsonl("\xef\xbb\xbf{\"a\":1}", "a long", "{\"a\":1}\n");
    jsonl("", "a long", "");
    jsonl("{\"a\":1,\"s\":{\"x\":[1,2]}}\n{\"s\":null,\"a\":2.5}\n", NULL,
          "{\"a\":1.0,\"s\":{\"x\":[1,2]}}\n{\"a\":2.5,\"s\":null}\n");
    jsonl("{\"l\":[{\"x\":1}],\"m\":{\"k\":1}}\n", "l list<struct<x: int>>, m map<string, int>",
          "{\"l\":[{\"x\":1}],\"m\":{\"k\":1}}\n");
}

static void json_lines_errors(void **state)
{
    (void)state;
    bad_jsonl("{\"a\":1}\n{\"a\":\n", "a int", "t.jsonl: line 2: ");
    bad_jsonl("{\"a\":1}\n\n{\"a\":\"x\"}\n", "a int", "t.jsonl: line 3: a: ");
    bad_jsonl("{\"a\":1} {\"a\":2}\n", "a int", "t.jsonl: line 1: ");
    bad_jsonl("[{\"a\":1}]\n", "a int", "t.jsonl: line 1: ");
    bad_jsonl("{\"a\":\"\xff\"}\n", "a string", "t.jsonl: line 1: not UTF-8: byte 0xff at column 7");
    bad_jsonl("{\"a\":1}\n{\"a\":1}\n{\"aa\":[{\"b\":\"}\\\"\"}],\"c\":2}\n",
              "a int, aa list<struct<b: string>>", "t.jsonl: line 3: column `c` is not one of the table");
    bad_jsonl("{\"aa\":[{\"b\":\"}\",\"c\":1}]}\n", "aa list<struct<b: string>>",
              "t.jsonl: line 1: column `c` is not");
    bad_jsonl("{}\n", "a int not null", "t.jsonl: line 1: a: ");
    bad_jsonl("\n\n{\"a\":1}\n{\"a\":\"x\"}\n", NULL,
              "t.jsonl: line 4: a: byte 5: a string where other lines have an integer");
    bad_jsonl("\n{\"a\":1\n", NULL, "t.jsonl: line 2: ");
    char *got;
    struct sl_input_options options = {.extra = SL_EXTRA_DROP};
    expect(text_file("t.jsonl", "{\"c\":1,\"a\":2}\n"), "a int", &options, "{\"a\":2}\n");
    expect(text_file("t.jsonl", "{\"_hoodie_file_name\":\"f\",\"a\":2}\n"), "a int", NULL, "{\"a\":2}\n");
    sl_status status = rows_of(text_file("t.json", "[{\"a\":1}]\n"), NULL, NULL, NULL, &got);
    assert_non_null(strstr(sl_status_hint(status), "jq"));
    FAILS(status, SL_E_INPUT, "t.json: line 1: ");
    options = (struct sl_input_options){.infer_rows = 1};
    status = rows_of(text_file("t.jsonl", "{\"a\":1}\n{\"a\":1,\"b\":2}\n"), NULL, NULL, &options, &got);
    assert_non_null(sl_status_hint(status));
    FAILS(status, SL_E_INPUT, "t.jsonl: line 2: column `b` is not one of the table");
}

/* ---- rejects --------------------------------------------------------------------------------------------
 */

struct rejects {
    sl_buf text;
    uint64_t count;
};

static sl_status keep_reject(void *context, const struct sl_rejected_row *row)
{
    struct rejects *r = context;
    return sl_buf_printf(&r->text, "%" PRIu64 "|%.*s|%s\n", row->line, (int)row->len, row->text, row->reason);
}

static void rejected_rows(void **state)
{
    (void)state;
    struct rejects r = {0};
    struct sl_input_options options = {.reject = keep_reject, .reject_context = &r, .rejected = &r.count};
    expect(text_file("t.csv", "a,b\n1,x\nq,y\n2\n3,\"z\nz\"\n4,\xff\n5,\"u\n"), "a int, b string", &options,
           "{\"a\":1,\"b\":\"x\"}\n{\"a\":3,\"b\":\"z\\nz\"}\n");
    char *text;
    OK(sl_buf_take_string(&r.text, &text));
    assert_string_equal(
        text, "3|q,y|column `a` (int): 'q' is not an integer (expected digits with an optional sign)\n"
              "4|2|1 field, header has 2\n"
              "7|4,\xff|not UTF-8: byte 0xff at column 3\n"
              "8|5,\"u|the quote that opens at byte 3 is never closed\n");
    sl_free(text);
    assert_int_equal(r.count, 4);

    r.count = 0;
    expect(text_file("t.jsonl", "{\"a\":\"x\", \n{\"a\":1}\n{\"a\":[1]}\n{\"a\":2}\n"), NULL, &options,
           "{\"a\":1}\n{\"a\":2}\n");
    assert_int_equal(r.count, 2);
    sl_buf_free(&r.text);
}

static sl_status keep_json(void *context, const struct sl_rejected_row *row)
{
    struct rejects *r = context;
    return sl_buf_printf(&r->text, "%s\n", row->json ? row->json : "-");
}

/* Rows before the first wrong one come before it is said, whatever is wrong with columns of later rows. */
static void rows_before_the_first_wrong_one(void **state)
{
    (void)state;
    sl_stream *source, *rows;
    sl_batch *batch;
    const sl_type *narrow = schema("a int, b int");
    const char *path = text_file("t.csv", "a,b\n1,1\n2,2\n3,9999999999\n9999999999,4\n");
    for (int from_text = 0; from_text < 2; from_text++) {
        if (from_text) {
            OK(sl_input_open(path, NULL, narrow, NULL, &rows));
        } else { /* columns, converted one after the other */
            OK(sl_input_open(path, NULL, NULL, NULL, &source));
            OK(sl_input_conform(source, narrow, "t", NULL, &rows));
        }
        OK(sl_stream_next(rows, &batch));
        assert_int_equal(batch->rows, 2);
        assert_int_equal(sl_i32_at(batch->columns[1], 1), 2);
        sl_batch_unref(batch);
        FAILS(sl_stream_next(rows, &batch), SL_E_INPUT,
              from_text ? "line 4: column `b`" : "t: row 3: column `b`");
        sl_stream_close(rows);
    }
    sl_type_unref(narrow);
}

/* A rejected row is an object that JSON lines take once the wrong value is mended: values have the types of their columns. */
static void rejected_rows_are_json(void **state)
{
    (void)state;
    static const char schema[] =
        "i long, d decimal(10,2), f double, t timestamp, s string, b binary, l list<int>, z boolean";
    struct rejects r = {0};
    struct sl_input_options options = {.reject = keep_json, .reject_context = &r, .rejected = &r.count};
    expect(text_file("t.csv", "i,d,f,t,s,b,l,z,_hoodie_file_name\n"
                              "+07,1.5,1e2,2024-01-02,\"a\"\"\n\",hex:00ff,\"[1, 2]\",YES,x\n"
                              "x,,NaN,2024-01-02 03:04:05+01,,,[1,F,\n"
                              "x,1.5,Infinity,2024-01-02 03:04:05+01,,ab,\"[1, 2]\",F,x\n"
                              "9007199254740993,\"\",nope,,\"\",\"\",,,\n"
                              "1,2\n\xff,,,,,,,,\n"),
           schema, &options,
           "{\"i\":7,\"d\":\"1.50\",\"f\":100.0,\"t\":\"2024-01-02T00:00:00.000000Z\",\"s\":\"a\\\"\\n\","
           "\"b\":\"AP8=\",\"l\":[1,2],\"z\":true}\n");
    expect(text_file("t.jsonl", "{\"i\": 9007199254740993.5, \"s\": \"\\u00e9\"}\r\n{\"i\":1\n"), schema,
           &options, "");
    OK(sl_buf_byte(&r.text, 0));
    assert_string_equal(
        (const char *)r.text.data,
        "{\"i\":\"x\",\"d\":null,\"f\":\"NaN\",\"t\":\"2024-01-02T02:04:05.000000Z\",\"s\":null,\"b\":null,"
        "\"l\":\"[1\",\"z\":false,\"_hoodie_file_name\":null}\n"
        "{\"i\":\"x\",\"d\":\"1.50\",\"f\":\"Infinity\",\"t\":\"2024-01-02T02:04:05.000000Z\",\"s\":null,"
        "\"b\":\"YWI=\",\"l\":[1,2],\"z\":false,\"_hoodie_file_name\":\"x\"}\n"
        "{\"i\":9007199254740993,\"d\":null,\"f\":\"nope\",\"t\":null,\"s\":\"\",\"b\":\"\",\"l\":null,"
        "\"z\":null,\"_hoodie_file_name\":null}\n"
        "-\n-\n"
        "{\"i\": 9007199254740993.5, \"s\": \"\\u00e9\"}\n"
        "-\n");
    sl_buf_free(&r.text);
}

/* Bad rows everywhere: chunks, batches and their borders keep the good ones, in order, each once. */
static void many_rejected_rows(void **state)
{
    (void)state;
    sl_buf text = {0}, want = {0};
    struct rejects r = {0};
    struct sl_input_options options = {
        .reject = keep_reject, .reject_context = &r, .rejected = &r.count, .batch_rows = 100};
    uint64_t bad = 0;
    OK(sl_buf_printf(&text, "a,b\n"));
    for (int i = 0; i < 1000; i++) {
        bool is_bad = i % 7 == 3 || (i >= 300 && i < 500) || i == 0 || i == 999;
        bad += is_bad;
        OK(is_bad ? sl_buf_printf(&text, "%d\n", i) : sl_buf_printf(&text, "%d,\"%d\n\"\n", i, i));
        if (!is_bad)
            OK(sl_buf_printf(&want, "{\"a\":%d,\"b\":\"%d\\n\"}\n", i, i));
    }
    OK(sl_buf_byte(&want, 0));
    expect(file_of("t.csv", text.data, text.len), "a int, b string", &options, (const char *)want.data);
    assert_int_equal(r.count, bad);
    sl_buf_free(&text);
    sl_buf_free(&want);
    sl_buf_free(&r.text);
}

static sl_status no_more_than_99(void *context, const sl_batch *rows)
{
    (void)context;
    for (int64_t i = 0; i < rows->rows; i++)
        if (sl_i64_at(rows->columns[0], i) > 99)
            return sl_at_row(sl_input("too large"), i);
    return SL_OK;
}

/* Wrong texts and wrong values are handed out as they come in the file, each once. */
static void rejected_in_the_order_of_the_input(void **state)
{
    (void)state;
    struct rejects r = {0};
    struct sl_input_options options = {
        .reject = keep_reject, .reject_context = &r, .rejected = &r.count, .check = no_more_than_99};
    sl_buf text = {0}, want = {0};
    char *rows;
    OK(sl_buf_printf(&text, "a\n"));
    for (int i = 0; i < 200; i++)
        OK(sl_buf_printf(&text, "%s\n", i % 5 == 1 ? "1000" : i % 5 == 3 ? "x" : "7"));
    OK(rows_of(file_of("t.csv", text.data, text.len), NULL, "a long", &options, &rows));
    assert_int_equal(strlen(rows), 120 * strlen("{\"a\":7}\n"));
    sl_free(rows);
    for (int i = 0; i < 200; i++)
        if (i % 5 == 1)
            OK(sl_buf_printf(&want, "%d|1000|too large\n", i + 2));
        else if (i % 5 == 3)
            OK(sl_buf_printf(
                &want,
                "%d|x|column `a` (long): 'x' is not an integer (expected digits with an optional sign)\n",
                i + 2));
    assert_int_equal(r.text.len, want.len);
    assert_memory_equal(r.text.data, want.data, want.len);
    assert_int_equal(r.count, 80);
    sl_buf_free(&text);
    sl_buf_free(&want);
    sl_buf_free(&r.text);
}

static sl_status refuse_reject(void *context, const struct sl_rejected_row *row)
{
    (void)context, (void)row;
    return sl_io("reject file is full");
}

static void a_reject_may_end_the_input(void **state)
{
    (void)state;
    struct sl_input_options options = {.reject = refuse_reject};
    char *got;
    FAILS(rows_of(text_file("t.csv", "a\nx\n"), NULL, "a int", &options, &got), SL_E_IO,
          "reject file is full");
}

/* ---- where bytes come from ------------------------------------------------------------------------------
 */

static size_t gzip_of(const char *text, uint8_t *out, size_t room)
{
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)text;
    z.avail_in = (uInt)strlen(text);
    z.next_out = out;
    z.avail_out = (uInt)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t len = z.total_out;
    deflateEnd(&z);
    return len;
}

static void compressed_text(void **state)
{
    (void)state;
    uint8_t packed[1024];
    const char *rows = "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n";
    size_t first = gzip_of("a\n1\n2", packed, sizeof packed);
    size_t len = first + gzip_of("\n3\n", packed + first,
                                 sizeof packed - first); /* two members, as `cat` makes them */
    expect(file_of("t.csv.gz", packed, len), "a int", NULL, rows);
    char *got;
    FAILS(rows_of(file_of("cut.csv.gz", packed, len - 5), NULL, "a int", NULL, &got), SL_E_CORRUPT,
          "cut.csv.gz: ends inside its compressed data");
    packed[first / 2] ^= 0x55;
    FAILS(rows_of(file_of("bad.csv.gz", packed, len), NULL, "a int", NULL, &got), SL_E_CORRUPT,
          "bad.csv.gz: bad gzip data");

    size_t one = ZSTD_compress(packed, sizeof packed, "{\"a\":1}\n{\"a\"", 12, 1);
    size_t two = ZSTD_compress(packed + one, sizeof packed - one, ":2}\n{\"a\":3}", 11, 1);
    expect(file_of("t.jsonl.zst", packed, one + two), "a int", NULL, rows);
    expect(file_of("t.jsonl", packed, one + two), "a int", NULL, rows); /* told by its bytes */
    FAILS(rows_of(file_of("cut.jsonl.zst", packed, one + two - 3), NULL, "a int", NULL, &got), SL_E_CORRUPT,
          "cut.jsonl.zst: ends inside its compressed data");
}

/* A descriptor from which `len` bytes come: a child writes them in small pieces. */
static int pipe_of(const void *data, size_t len)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        for (size_t at = 0; at < len;) {
            ssize_t n = write(ends[1], (const char *)data + at, len - at < 777 ? len - at : 777);
            if (n <= 0)
                _exit(1);
            at += (size_t)n;
        }
        _exit(0);
    }
    close(ends[1]);
    return ends[0];
}

static void standard_input(void **state)
{
    (void)state;
    char *got;
    struct sl_input_options options = {.stdin_fd = pipe_of("a,b\n1,x\n2,\"y\nz\"\n", 16)};
    OK(rows_of("-", "csv", NULL, &options, &got));
    assert_string_equal(got, "{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":\"y\\nz\"}\n");
    sl_free(got);
    close(options.stdin_fd);

    options.stdin_fd = pipe_of("a\n1\nx\n", 6);
    FAILS(rows_of("-", "csv", "a int", &options, &got), SL_E_INPUT,
          "standard input: line 3: column `a` (int): 'x'");
    close(options.stdin_fd);
    FAILS(rows_of("-", NULL, NULL, NULL, &got), SL_E_INPUT, "standard input: its format must be named");
}

static void formats(void **state)
{
    (void)state;
    char *got;
    expect(text_file("T.CSV", "a\n1\n"), NULL, NULL, "{\"a\":1}\n");
    expect(text_file("a.ndjson", "{\"a\":1}\n"), NULL, NULL, "{\"a\":1}\n");
    FAILS(rows_of(text_file("noext", "a\n1\n"), NULL, NULL, NULL, &got), SL_E_INPUT,
          "noext: the name does not tell the format");
    OK(rows_of(path_of("noext"), "csv", NULL, NULL, &got));
    sl_free(got);
    FAILS(rows_of(path_of("noext"), "xml", NULL, NULL, &got), SL_E_INPUT, "input format `xml` is not known");
    FAILS(rows_of(text_file("t.jsonl", "{\"_hoodie_is_deleted\":true,\"a\":1}\n"), NULL, "a int", NULL, &got),
          SL_E_INPUT,
          "column `_hoodie_is_deleted` is not one of the table"); /* data, not one of Hudi's own */
    FAILS(rows_of("f.arrow", NULL, NULL, NULL, &got), SL_E_UNSUPPORTED, "Arrow IPC files are not read");
    FAILS(rows_of(path_of("missing.csv"), NULL, NULL, NULL, &got), SL_E_NOT_FOUND, "missing.csv");
    FAILS(rows_of("dir.csv/file", NULL, NULL, NULL, &got), SL_E_INPUT, "does not tell the format");
}

/* A CSV of random cells, and the cells. Lengths are such that rows cross every border of the window. */
struct model {
    sl_buf text;
    sl_strings cells;
};

static void random_cell(struct model *m)
{
    static const char *const pieces[] = {"x", "\n", "\r\n", "\"", ",", " ", "\xc3\xa9", "longer piece"};
    sl_buf cell = {0};
    char *value;
    int count = rand() % 100 == 0 ? rand() % 30000 : rand() % 20;
    for (int i = 0; i < count; i++) {
        const char *piece = pieces[rand() % 8];
        OK(sl_buf_append(&cell, piece, strlen(piece)));
    }
    OK(sl_buf_take_string(&cell, &value));
    OK(sl_buf_byte(&m->text, '"'));
    for (const char *c = value; *c; c++)
        OK(sl_buf_append(&m->text, *c == '"' ? "\"\"" : c, *c == '"' ? 2 : 1));
    OK(sl_buf_byte(&m->text, '"'));
    OK(sl_strings_add(&m->cells, value));
    sl_free(value);
}

static void large_text(void **state)
{
    (void)state;
    unsigned seed = getenv("SEED") ? (unsigned)atoi(getenv("SEED")) : 20241130u;
    printf("SEED=%u\n", seed);
    srand(seed);
    struct model m = {0};
    OK(sl_buf_printf(&m.text, "a,b\n"));
    while (m.text.len < (size_t)6 << 20) {
        random_cell(&m);
        OK(sl_buf_byte(&m.text, ','));
        random_cell(&m);
        OK(rand() % 2 ? sl_buf_append(&m.text, "\r\n", 2) : sl_buf_byte(&m.text, '\n'));
    }
    const sl_type *type = schema("a string, b string");
    sl_stream *stream;
    sl_batch *batch;
    size_t at = 0;
    OK(sl_input_open(file_of("large.csv", m.text.data, m.text.len), NULL, type, NULL, &stream));
    for (;;) {
        OK(sl_stream_next(stream, &batch));
        if (!batch)
            break;
        for (int64_t row = 0; row < batch->rows; row++)
            for (int c = 0; c < 2; c++, at++) {
                size_t len;
                const uint8_t *got = sl_bytes_at(batch->columns[c], row, &len);
                assert_true(at < m.cells.count);
                assert_int_equal(len, strlen(m.cells.items[at]));
                assert_memory_equal(got, m.cells.items[at], len);
            }
        sl_batch_unref(batch);
    }
    assert_int_equal(at, m.cells.count);
    sl_stream_close(stream);
    sl_type_unref(type);
    sl_strings_free(&m.cells);
    sl_buf_free(&m.text);
}

/* ---- Parquet, Avro, Arrow -------------------------------------------------------------------------------
 */

static sl_batch *batch_of_json(const char *schema_text, const char *lines)
{
    const sl_type *type = schema(schema_text);
    sl_batch_builder builder = {0};
    sl_batch *batch;
    OK(sl_batch_builder_init(&builder, type));
    for (const char *at = lines; *at;) {
        size_t len = strcspn(at, "\n");
        OK(sl_batch_builder_json_line(&builder, at, len));
        at += len + (at[len] == '\n');
    }
    OK(sl_batch_builder_finish(&builder, &batch));
    sl_batch_builder_free(&builder);
    sl_type_unref(type);
    return batch;
}

/* A stream of one batch, for conversions without a file. Takes over the batch. */
struct one_batch {
    sl_stream stream;
    sl_batch *batch;
    bool given;
};

static sl_status one_batch_next(sl_stream *self, sl_batch **out)
{
    struct one_batch *s = (struct one_batch *)self;
    *out = s->given ? NULL : sl_batch_ref(s->batch);
    s->given = true;
    return SL_OK;
}

static void one_batch_close(sl_stream *self)
{
    struct one_batch *s = (struct one_batch *)self;
    sl_batch_unref(s->batch);
    sl_free(s);
}

static sl_stream *stream_of(sl_batch *batch)
{
    struct one_batch *s = sl_calloc(1, sizeof *s);
    assert_non_null(s);
    s->stream = (sl_stream){batch->schema, one_batch_next, one_batch_close};
    s->batch = batch;
    return &s->stream;
}

static const char *parquet_file(const char *name, sl_batch *batch)
{
    const char *path = path_of(name);
    sl_storage *storage;
    sl_output *output;
    sl_parquet_writer *writer;
    struct sl_parquet_written written;
    OK(sl_storage_local(&storage));
    OK(sl_storage_delete(storage, path));
    OK(sl_storage_create(storage, path, &output));
    OK(sl_parquet_writer_new(output, batch->schema, NULL, &writer));
    OK(sl_parquet_writer_write(writer, batch));
    OK(sl_parquet_writer_finish(writer, &written));
    OK(sl_output_finish(output));
    sl_storage_free(storage);
    sl_batch_unref(batch);
    return path;
}

static void parquet_files(void **state)
{
    (void)state;
    char *got;
    const char *path =
        parquet_file("t.parquet", batch_of_json("_hoodie_file_name string, id int, s string, l list<int>",
                                                "{\"id\":1,\"s\":\"x\",\"l\":[1,null]}\n{\"id\":2}\n"));
    expect(path, "id long, s string, z int", &(struct sl_input_options){.extra = SL_EXTRA_DROP},
           "{\"id\":1,\"s\":\"x\",\"z\":null}\n{\"id\":2,\"s\":null,\"z\":null}\n");
    expect(path, NULL, NULL,
           "{\"_hoodie_file_name\":null,\"id\":1,\"s\":\"x\",\"l\":[1,null]}\n"
           "{\"_hoodie_file_name\":null,\"id\":2,\"s\":null,\"l\":null}\n");
    expect(path, "l list<long>, id int, s string", NULL,
           "{\"l\":[1,null],\"id\":1,\"s\":\"x\"}\n{\"l\":null,\"id\":2,\"s\":null}\n");
    FAILS(rows_of(path, NULL, "id int, l list<int>, ss string", NULL, &got), SL_E_INPUT,
          "t.parquet: column `s` is not one of the table");
    FAILS(rows_of(path, NULL, "id int, l list<int>, s date", NULL, &got), SL_E_INPUT,
          "t.parquet: column `s`: type string cannot become date");
    FAILS(rows_of(path, NULL, "id int, l list<int>, s string not null", NULL, &got), SL_E_INPUT,
          "t.parquet: row 2: column `s`: no value, but it must have one");
    FAILS(rows_of(path, NULL, "x int", NULL, &got), SL_E_INPUT, "none of the table's columns is there");
    FAILS(rows_of(text_file("no.parquet", "PAR0 this is none"), NULL, NULL, NULL, &got), SL_E_CORRUPT,
          "no.parquet");

    sl_buf bytes = {0};
    sl_storage *storage;
    OK(sl_storage_local(&storage));
    OK(sl_storage_read_all(storage, path, 1 << 20, &bytes));
    struct sl_input_options options = {.stdin_fd = pipe_of(bytes.data, bytes.len), .extra = SL_EXTRA_DROP};
    OK(rows_of("-", "parquet", "id int", &options, &got));
    assert_string_equal(got, "{\"id\":1}\n{\"id\":2}\n");
    sl_free(got);
    close(options.stdin_fd);
    sl_buf_free(&bytes);
    sl_storage_free(storage);
}

/* Bytes that claim to be a string and are none. */
static void parquet_strings_are_checked(void **state)
{
    (void)state;
    const sl_type *binary = schema("id int, s binary"), *type = schema("id int, s string");
    sl_batch_builder builder = {0};
    sl_batch *batch;
    char *got;
    OK(sl_batch_builder_init(&builder, type));
    static const char *const values[] = {"\xc3\xa9", "\xc3\xa9", "\xc3",
                                         "\xa9"}; /* valid when put together */
    for (int i = 0; i < 4; i++) {
        OK(sl_builder_integer(builder.columns[0], i));
        OK(sl_builder_bytes(builder.columns[1], values[i], strlen(values[i])));
    }
    OK(sl_batch_builder_finish(&builder, &batch));
    FAILS(rows_of(parquet_file("utf8.parquet", batch), NULL, NULL, NULL, &got), SL_E_INPUT,
          "utf8.parquet: row 3: column `s`: byte 0 of the string (0xc3) is not UTF-8");
    sl_batch_builder_free(&builder);
    sl_type_unref(binary);
    sl_type_unref(type);
}

/* Files are read ahead by a thread: it ends with the stream, wherever that is closed, and after the end there is nothing. */
static void reading_ahead(void **state)
{
    (void)state;
    const char *path = parquet_file("t.parquet", batch_of_json("a int", "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n"));
    struct sl_input_options options = {.batch_rows = 1};
    for (int taken = 0; taken <= 5; taken++) {
        sl_stream *stream;
        OK(sl_input_open(path, NULL, NULL, &options, &stream));
        for (int i = 0; i < taken; i++) {
            sl_batch *batch;
            OK(sl_stream_next(stream, &batch));
            assert_int_equal(batch != NULL, i < 3);
            if (batch)
                assert_int_equal(sl_integer_at(batch->columns[0], 0), i + 1);
            sl_batch_unref(batch);
        }
        sl_stream_close(stream);
    }
}

static void avro_files(void **state)
{
    (void)state;
    json_t *avro_schema =
        json_loads("{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"id\",\"type\":\"int\"},"
                   "{\"name\":\"s\",\"type\":[\"null\",\"string\"]}]}",
                   0, NULL);
    json_t *record = json_pack("{s:i, s:s}", "id", 7, "s", "x");
    sl_buf bytes = {0};
    OK(sl_avro_container_write(avro_schema, record, &bytes));
    const char *path = file_of("t.avro", bytes.data, bytes.len);
    expect(path, NULL, NULL, "{\"id\":7,\"s\":\"x\"}\n");
    expect(path, "s string, id long", NULL, "{\"s\":\"x\",\"id\":7}\n");
    char *got;
    struct sl_input_options options = {.stdin_fd = pipe_of(bytes.data, bytes.len)};
    OK(rows_of("-", "avro", NULL, &options, &got));
    assert_string_equal(got, "{\"id\":7,\"s\":\"x\"}\n");
    sl_free(got);
    close(options.stdin_fd);
    FAILS(rows_of(file_of("cut.avro", bytes.data, bytes.len - 3), NULL, NULL, NULL, &got), SL_E_CORRUPT,
          "cut.avro");
    sl_buf_free(&bytes);
    json_decref(avro_schema);
    json_decref(record);
}

/* The least Arrow stream: one batch, then its end or an error. */
struct arrow_source {
    sl_batch *batch;
    int given;
    bool fails;
    bool *released;
};

static int arrow_schema(struct ArrowArrayStream *self, struct ArrowSchema *out)
{
    struct arrow_source *s = self->private_data;
    return sl_status_ignore(sl_arrow_export_schema(s->batch->schema, out)) ? 5 : 0;
}

static int arrow_next(struct ArrowArrayStream *self, struct ArrowArray *out)
{
    struct arrow_source *s = self->private_data;
    memset(out, 0, sizeof *out);
    if (s->given++ == 0)
        return sl_status_ignore(sl_arrow_export_batch(s->batch, out)) ? 5 : 0;
    return s->fails ? 5 : 0;
}

static const char *arrow_error(struct ArrowArrayStream *self)
{
    (void)self;
    return "the source broke";
}

static void arrow_release(struct ArrowArrayStream *self)
{
    struct arrow_source *s = self->private_data;
    *s->released = true;
    self->release = NULL;
}

static void arrow_streams(void **state)
{
    (void)state;
    bool released = false;
    struct arrow_source source = {
        .batch = batch_of_json("id int, s string", "{\"id\":1,\"s\":\"x\"}\n{\"id\":2}\n"),
        .released = &released};
    const struct ArrowArrayStream arrow = {arrow_schema, arrow_next, arrow_error, arrow_release, &source};
    struct ArrowArrayStream moved = arrow;
    sl_stream *stream;
    char *got;
    OK(sl_input_arrow_stream(&moved, NULL, NULL, &stream));
    assert_null(moved.release);
    OK(rows_of_stream(stream, &got));
    assert_string_equal(got, "{\"id\":1,\"s\":\"x\"}\n{\"id\":2,\"s\":null}\n");
    sl_free(got);
    assert_true(released);

    const sl_type *wanted = schema("s string, id long");
    moved = arrow;
    source.given = 0;
    released = false;
    OK(sl_input_arrow_stream(&moved, wanted, NULL, &stream));
    OK(rows_of_stream(stream, &got));
    assert_string_equal(got, "{\"s\":\"x\",\"id\":1}\n{\"s\":null,\"id\":2}\n");
    sl_free(got);
    assert_true(released);
    sl_type_unref(wanted);

    wanted = schema("id date, s string");
    moved = arrow;
    released = false;
    FAILS(sl_input_arrow_stream(&moved, wanted, NULL, &stream), SL_E_INPUT,
          "Arrow stream: column `id`: type int cannot become date");
    assert_true(released);
    sl_type_unref(wanted);

    moved = arrow;
    source.given = 0;
    source.fails = true;
    OK(sl_input_arrow_stream(&moved, NULL, NULL, &stream));
    FAILS(rows_of_stream(stream, &got), SL_E_IO, "the source broke");
    sl_batch_unref(source.batch);
}

/* ---- types ----------------------------------------------------------------------------------------------
 */

static const sl_type *of_id(enum sl_type_id id)
{
    const sl_type *type;
    OK(sl_type_new(id, &type));
    return type;
}

static void count_warning(void *context, int level, const char *message)
{
    (void)message;
    *(int *)context += level == 1;
}

/* One column of the type, mapped; its text. */
static void maps_to(const sl_type *in, bool keep_time, const char *want, int warnings)
{
    int warned = 0;
    sl_runtime runtime = {.on_log = count_warning, .log_context = &warned};
    struct sl_table_type_options options = {.keep_time = keep_time, .runtime = &runtime};
    sl_field field = {"c", in, false, NULL};
    const sl_type *row, *out;
    char *text;
    OK(sl_type_struct(&field, 1, &row));
    OK(sl_input_table_type(row, &options, &out));
    assert_true(out->fields[0].nullable);
    OK(sl_type_text(out->fields[0].type, &text));
    assert_string_equal(text, want);
    assert_int_equal(warned, warnings);
    sl_free(text);
    sl_type_unref(out);
    sl_type_unref(row);
    sl_type_unref(in);
}

static const sl_type *time_of(enum sl_time_unit unit)
{
    const sl_type *type;
    OK(sl_type_time(unit, &type));
    return type;
}

static const sl_type *timestamp_of(enum sl_time_unit unit, bool utc)
{
    const sl_type *type;
    OK(sl_type_timestamp(unit, utc, &type));
    return type;
}

static int64_t rows_of_next(sl_stream *stream)
{
    sl_batch *batch;
    OK(sl_stream_next(stream, &batch));
    int64_t rows = batch ? batch->rows : -1;
    sl_batch_unref(batch);
    return rows;
}

/* After a batch that a pause cut short the next one ends where the first should have: rows are counted by batches. */
static void pauses_do_not_shift_batches(void **state)
{
    (void)state;
    int ends[2];
    sl_stream *stream;
    const sl_type *type = schema("a long");
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "a\n1\n2\n", 6), 6);
    struct sl_input_options options = {.stdin_fd = ends[0], .batch_rows = 5, .idle_ms = 10};
    OK(sl_input_open("-", "csv", type, &options, &stream));
    assert_int_equal(rows_of_next(stream), 2);
    assert_int_equal(write(ends[1], "3\n4\n5\n6\n7\n8\n9\n10\n11\n", 20), 20);
    close(ends[1]);
    assert_int_equal(rows_of_next(stream), 3);
    assert_int_equal(rows_of_next(stream), 5);
    assert_int_equal(rows_of_next(stream), 1);
    assert_int_equal(rows_of_next(stream), -1);
    sl_stream_close(stream);
    sl_type_unref(type);
    close(ends[0]);
}

static void table_types(void **state)
{
    (void)state;
    const sl_type *type;
    maps_to(of_id(SL_INT8), false, "int", 0);
    maps_to(of_id(SL_UINT16), false, "int", 0);
    maps_to(of_id(SL_UINT32), false, "long", 0);
    maps_to(of_id(SL_UINT64), false, "decimal(20,0)", 0);
    maps_to(of_id(SL_HALF), false, "float", 0);
    maps_to(of_id(SL_NULL), false, "string", 1);
    maps_to(of_id(SL_BINARY), false, "binary", 0);
    maps_to(time_of(SL_NANOS), false, "long", 0);
    maps_to(time_of(SL_NANOS), true, "time", 1);
    maps_to(timestamp_of(SL_MILLIS, true), false, "timestamp", 0);
    maps_to(timestamp_of(SL_NANOS, true), false, "timestamp", 0);
    OK(sl_type_fixed(4, &type));
    maps_to(type, false, "binary", 0);
    OK(sl_type_annotated(SL_STRING, SL_JSON, &type));
    maps_to(type, false, "string", 0);
    OK(sl_type_decimal(7, 2, &type));
    maps_to(type, false, "decimal(7,2)", 0);
    const sl_type *nested =
        schema("s struct<a: int not null, l: list<struct<x: long not null>>, m: map<string, int>>");
    OK(sl_input_table_type(nested, NULL, &type));
    char *text;
    OK(sl_type_text(type, &text));
    assert_string_equal(text, "struct<s: struct<a: int, l: list<struct<x: long>>, m: map<string, int>>>");
    sl_free(text);
    sl_type_unref(type);
    sl_type_unref(nested);
    nested = schema("_hoodie_commit_time string, a int");
    OK(sl_input_table_type(nested, NULL, &type));
    assert_int_equal(type->field_count, 1);
    sl_type_unref(type);
    sl_type_unref(nested);
}

/* ---- conversions ----------------------------------------------------------------------------------------
 */

static sl_batch *column_batch(const sl_type *type, sl_array *column)
{
    sl_field field = {"c", type, true, NULL};
    const sl_type *row;
    sl_batch *batch;
    OK(sl_type_struct(&field, 1, &row));
    OK(sl_batch_new(row, column->length, &column, &batch));
    sl_type_unref(row);
    sl_type_unref(type);
    return batch;
}

/* Integers of the type, the last row null. */
static sl_batch *integers(const sl_type *type, const int64_t *values, size_t count)
{
    sl_builder *b;
    sl_array *column;
    OK(sl_builder_new(type, &b));
    for (size_t i = 0; i < count; i++)
        OK(sl_builder_integer(b, values[i]));
    OK(sl_builder_null(b));
    OK(sl_builder_finish(b, &column));
    sl_builder_free(b);
    return column_batch(type, column);
}

static sl_batch *raw_values(const sl_type *type, const void *data, size_t bytes, int64_t rows)
{
    sl_buffer *values;
    sl_array *column;
    OK(sl_buffer_new(bytes, &values));
    memcpy(sl_buffer_data(values), data, bytes);
    OK(sl_array_new(type, rows, 0, NULL, values, NULL, NULL, 0, NULL, &column));
    return column_batch(type, column);
}

/* The batch (taken over) as rows of the wanted schema. */
static sl_status conform(sl_batch *batch, const char *wanted, const struct sl_input_options *options,
                         char **out)
{
    const sl_type *type = schema(wanted);
    sl_stream *stream;
    sl_status status = sl_input_conform(stream_of(batch), type, "input", options, &stream);
    sl_type_unref(type);
    return status != SL_OK ? status : rows_of_stream(stream, out);
}

static void converts(sl_batch *batch, const char *wanted, const char *rows)
{
    char *got;
    OK(conform(batch, wanted, NULL, &got));
    assert_string_equal(got, rows);
    sl_free(got);
}

static void conversions(void **state)
{
    (void)state;
    char *got;
    const struct sl_input_options cut = {.cut_nanos = true};
    converts(integers(of_id(SL_INT8), (int64_t[]){-128, 127}, 2), "c int",
             "{\"c\":-128}\n{\"c\":127}\n{\"c\":null}\n");
    converts(integers(of_id(SL_UINT32), (int64_t[]){UINT32_MAX}, 1), "c long",
             "{\"c\":4294967295}\n{\"c\":null}\n");
    converts(integers(of_id(SL_INT64), (int64_t[]){INT32_MIN}, 1), "c int",
             "{\"c\":-2147483648}\n{\"c\":null}\n");
    fails(conform(integers(of_id(SL_INT64), (int64_t[]){1, 1LL << 31}, 2), "c int", NULL, &got), SL_E_INPUT,
          "input: row 2: column `c`: 2147483648 does not fit int");
    uint64_t large[] = {UINT64_MAX, 5};
    converts(raw_values(of_id(SL_UINT64), large, sizeof large, 2), "c decimal(20,0)",
             "{\"c\":\"18446744073709551615\"}\n{\"c\":\"5\"}\n");
    fails(conform(raw_values(of_id(SL_UINT64), large, sizeof large, 2), "c long", NULL, &got), SL_E_INPUT,
          "input: row 1: column `c`: 18446744073709551615 does not fit long");
    uint16_t halfs[] = {0x3c00, 0xc000, 0x7bff, 0x0001, 0x0400, 0x8000};
    converts(raw_values(of_id(SL_HALF), halfs, sizeof halfs, 6), "c double",
             "{\"c\":1.0}\n{\"c\":-2.0}\n{\"c\":65504.0}\n{\"c\":5.960464477539063e-08}\n{\"c\":"
             "6.103515625e-05}\n{\"c\":-0.0}\n");
    converts(integers(time_of(SL_MILLIS), (int64_t[]){1, 86399999}, 2), "c long",
             "{\"c\":1000}\n{\"c\":86399999000}\n{\"c\":null}\n");
    converts(integers(time_of(SL_NANOS), (int64_t[]){2000}, 1), "c long", "{\"c\":2}\n{\"c\":null}\n");
    FAILS(conform(integers(time_of(SL_NANOS), (int64_t[]){2000, 2001}, 2), "c long", NULL, &got), SL_E_INPUT,
          "has more digits in its fraction than the type keeps");
    OK(conform(integers(time_of(SL_NANOS), (int64_t[]){2001}, 1), "c long", &cut, &got));
    assert_string_equal(got, "{\"c\":2}\n{\"c\":null}\n");
    sl_free(got);
    OK(conform(integers(timestamp_of(SL_NANOS, true), (int64_t[]){-1, 1999}, 2), "c timestamp", &cut, &got));
    assert_string_equal(got, "{\"c\":\"1969-12-31T23:59:59.999999Z\"}\n{\"c\":"
                             "\"1970-01-01T00:00:00.000001Z\"}\n{\"c\":null}\n");
    sl_free(got);
    FAILS(conform(integers(timestamp_of(SL_MILLIS, true), (int64_t[]){INT64_MAX}, 1), "c timestamp", NULL,
                  &got),
          SL_E_INPUT, "input: row 1: column `c`: ");
    const sl_type *type;
    OK(sl_type_fixed(2, &type));
    converts(raw_values(type, "abcd", 4, 2), "c binary", "{\"c\":\"YWI=\"}\n{\"c\":\"Y2Q=\"}\n");
    OK(sl_type_fixed(16, &type));
    sl_type *uuid = (sl_type *)(uintptr_t)type; /* ours alone so far */
    uuid->annotation = SL_UUID;
    converts(raw_values(type, "\x12\x3e\x45\x67\xe8\x9b\x12\xd3\xa4\x56\x42\x66\x14\x17\x40\x00", 16, 1),
             "c string", "{\"c\":\"123e4567-e89b-12d3-a456-426614174000\"}\n");
    converts(batch_of_json("s struct<a: int, b: string>, m map<string, int>, l list<struct<x: int>>",
                           "{\"s\":{\"a\":1,\"b\":\"q\"},\"m\":{\"k\":2},\"l\":[{\"x\":3}]}\n{\"s\":null}\n"),
             "l list<struct<x: long>>, m map<string, long>, s struct<b: string, z: date, a: long>",
             "{\"l\":[{\"x\":3}],\"m\":{\"k\":2},\"s\":{\"b\":\"q\",\"z\":null,\"a\":1}}\n"
             "{\"l\":null,\"m\":null,\"s\":null}\n");
    converts(batch_of_json("l list<struct<t: time_millis, x: int>>, m map<string, time>",
                           "{\"l\":[{\"t\":\"00:00:01\"},{\"x\":3}],\"m\":{\"k\":\"00:00:02\"}}\n{}\n"),
             "l list<struct<t: long, x: int>>, m map<string, long>",
             "{\"l\":[{\"t\":1000000,\"x\":null},{\"t\":null,\"x\":3}],\"m\":{\"k\":2000000}}\n"
             "{\"l\":null,\"m\":null}\n");
    fails(conform(batch_of_json("s struct<a: int>", "{\"s\":{\"a\":1}}\n{\"s\":null}\n{\"s\":{}}"),
                  "s struct<a: long not null>", NULL, &got),
          SL_E_INPUT, "input: row 3: column `s`: no value in field `a`, which must have one");
    fails(conform(batch_of_json("l list<int>", "{\"l\":[1,1]}\n{\"l\":null}\n{\"l\":[1,null]}"),
                  "l list<long not null>", NULL, &got),
          SL_E_INPUT, "input: row 3: column `l`: no value in field `element`, which must have one");
    FAILS(conform(batch_of_json("s struct<a: int, c: int>", "{}"), "s struct<a: int>", NULL, &got),
          SL_E_INPUT, "input: column `s`: column `c` is not one of the table");
    FAILS(conform(batch_of_json("s struct<a: string>", "{}"), "s struct<a: int>", NULL, &got), SL_E_INPUT,
          "input: column `s`: field `a`: type string cannot become int");
}

/* ---- memory ---------------------------------------------------------------------------------------------
 */

/* Every allocation that fails gives SL_E_MEMORY and leaks nothing (run under asan). */
static void out_of_memory_on(const char *path, const char *wanted)
{
    char *want;
    OK(rows_of(path, NULL, wanted, NULL, &want));
    const sl_type *type = wanted ? schema(wanted) : NULL;
    for (uint64_t nth = 1;; nth++) {
        sl_stream *stream;
        char *got = NULL;
        assert_true(nth < 10000);
        sl_test_fail_allocation(nth, false);
        sl_status status = sl_input_open(path, NULL, type, NULL, &stream);
        if (status == SL_OK)
            status = rows_of_stream(stream, &got);
        sl_test_fail_allocation(0, false);
        if (status == SL_OK) {
            assert_string_equal(got, want);
            sl_free(got);
            break;
        }
        if (sl_status_code(status) != SL_E_MEMORY)
            fail_msg("allocation %" PRIu64 ": %s", nth, sl_status_message(status));
        sl_status_free(status);
    }
    sl_type_unref(type);
    sl_free(want);
}

static void out_of_memory(void **state)
{
    (void)state;
    uint8_t packed[256];
    out_of_memory_on(text_file("t.csv", "a,b\n1,\"x\"\"y\"\n2,z\n"), NULL);
    out_of_memory_on(text_file("t.csv", "a,b\n1,\"x\"\"y\"\n2,z\n"), "a int, b string");
    out_of_memory_on(text_file("t.jsonl", "{\"a\":1,\"b\":[\"x\"]}\n"), NULL);
    out_of_memory_on(parquet_file("t.parquet", batch_of_json("a int, b string", "{\"a\":1,\"b\":\"x\"}\n{}")),
                     "b string, a long");
    out_of_memory_on(file_of("t.csv.gz", packed, gzip_of("a\n1\n", packed, sizeof packed)), "a int");
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    sl_storage *storage;
    if (sl_status_ignore(sl_storage_local(&storage)))
        return -1;
    bool failed = sl_status_ignore(sl_storage_delete_tree(storage, folder));
    sl_storage_free(storage);
    return failed ? -1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_fields),
        cmocka_unit_test(csv_types),
        cmocka_unit_test(csv_inference),
        cmocka_unit_test(csv_errors),
        cmocka_unit_test(csv_options),
        cmocka_unit_test(json_lines),
        cmocka_unit_test(json_lines_errors),
        cmocka_unit_test(rejected_rows),
        cmocka_unit_test(rejected_rows_are_json),
        cmocka_unit_test(rows_before_the_first_wrong_one),
        cmocka_unit_test(many_rejected_rows),
        cmocka_unit_test(rejected_in_the_order_of_the_input),
        cmocka_unit_test(a_reject_may_end_the_input),
        cmocka_unit_test(compressed_text),
        cmocka_unit_test(standard_input),
        cmocka_unit_test(formats),
        cmocka_unit_test(large_text),
        cmocka_unit_test(parquet_files),
        cmocka_unit_test(reading_ahead),
        cmocka_unit_test(parquet_strings_are_checked),
        cmocka_unit_test(avro_files),
        cmocka_unit_test(arrow_streams),
        cmocka_unit_test(pauses_do_not_shift_batches),
        cmocka_unit_test(table_types),
        cmocka_unit_test(conversions),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
