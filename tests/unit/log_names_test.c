/* Names of data files (spec/lsm-layout.md 19: G-3, and names.json as Hudi's own FSUtils gives them) and the footer headers
 * of native logs (G-9), through the Parquet writer and reader. */
#include "avro_support.h"
#include "log/log.h"
#include "parquet/parquet.h"

/* ---- names --------------------------------------------------------------------------------------------- */

static struct sl_file_name parsed(const char *name)
{
    struct sl_file_name parts;
    sl_file_name_parse(name, &parts);
    return parts;
}

#define UUID "136281f3-c24e-423b-a65a-95dbfbddce1d"
#define TIME "20250409161256974"

static void classifies_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum sl_file_kind kind;
        const char *file_id, *token;
        uint32_t version;
        const char *format;
    } cases[] = {
        {UUID "-0_1-0-1_" TIME ".parquet", SL_FILE_BASE, UUID "-0", "1-0-1", 0, "parquet"},
        {UUID "-0_1-0-1_" TIME "_2.log.parquet", SL_FILE_LOG, UUID "-0", "1-0-1", 2, "parquet"},
        {UUID "-0_1-0-1_" TIME "_2.deletes.parquet", SL_FILE_DELETES, UUID "-0", "1-0-1", 2, "parquet"},
        {UUID "-0_1-0-1_" TIME "_2.delete.parquet", SL_FILE_DELETES, UUID "-0", "1-0-1", 2, "parquet"},
        {UUID "-0_1-0-1_" TIME "_1.cdc.parquet", SL_FILE_CDC, UUID "-0", "1-0-1", 1, "parquet"},
        {"." UUID "-0_" TIME ".log.1_0-18-14", SL_FILE_INLINE_LOG, UUID "-0", "0-18-14", 1, ""},
        {"." UUID "-0_" TIME ".log.12_0-18-14.cdc", SL_FILE_INLINE_CDC, UUID "-0", "0-18-14", 12, ""},
        {"." UUID "-0_" TIME ".log.2", SL_FILE_INLINE_LOG, UUID "-0", "", 2, ""},
        {"00000007-c24e-423b-a65a-95dbfbddce1d-0_3-44-5_" TIME "_1.log.parquet", SL_FILE_LOG,
         "00000007-c24e-423b-a65a-95dbfbddce1d-0", "3-44-5", 1, "parquet"},
        {"00000012-0000-0000-0000-000000000000-0_1-0-1_" TIME ".parquet", SL_FILE_BASE,
         "00000012-0000-0000-0000-000000000000-0", "1-0-1", 0, "parquet"},
        {"files-0000-0_0-0-0_" TIME "_1.log.hfile", SL_FILE_LOG, "files-0000-0", "0-0-0", 1, "hfile"},
        {"files-0000-0_0-0-0_00000000000000000.hfile", SL_FILE_BASE, "files-0000-0", "0-0-0", 0, "hfile"},
        {"abc-0_1-0-1_" TIME ".lance", SL_FILE_BASE, "abc-0", "1-0-1", 0, "lance"},
        /* what is none */
        {".hoodie_partition_metadata", SL_FILE_OTHER, "", "", 0, ""},
        {".hoodie_partition_metadata.parquet", SL_FILE_OTHER, "", "", 0, ""},
        {UUID "-0_1-0-1_" TIME "_2.other.parquet", SL_FILE_OTHER, "", "", 0, ""},
        {UUID "-0_1-0-1_" TIME "_2.log.parquet.crc", SL_FILE_OTHER, "", "", 0, ""},
        {"." UUID "-0_1-0-1_" TIME ".parquet.crc", SL_FILE_OTHER, "", "", 0, ""},
        {UUID "-0_1-0-1_" TIME ".parquet.0f0e", SL_FILE_OTHER, "", "", 0, ""},
        {UUID "-0_1-0_" TIME "_x.log.parquet", SL_FILE_OTHER, "", "", 0, ""},
        {"a+b-0_1-0-1_" TIME ".parquet", SL_FILE_OTHER, "", "", 0,
         ""}, /* Hudi sees no base file there either */
        {"ab-0_1 0 1_" TIME ".parquet", SL_FILE_OTHER, "", "", 0, ""},
        {"_SUCCESS", SL_FILE_OTHER, "", "", 0, ""},
        {"", SL_FILE_OTHER, "", "", 0, ""},
        {"." UUID "-0_" TIME ".log.99999999999_0-18-14", SL_FILE_OTHER, "", "", 0, ""},
        {"." UUID "-0_" TIME ".log.1_0-18-14.crc", SL_FILE_OTHER, "", "", 0, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sl_file_name parts = parsed(cases[i].name);
        if (parts.kind != cases[i].kind)
            fail_msg("%s: kind %d, not %d", cases[i].name, (int)parts.kind, (int)cases[i].kind);
        if (parts.kind == SL_FILE_OTHER)
            continue;
        assert_string_equal(parts.file_id, cases[i].file_id);
        assert_string_equal(parts.token, cases[i].token);
        assert_int_equal(parts.version, cases[i].version);
        assert_string_equal(parts.format, cases[i].format);
        assert_string_equal(parts.instant,
                            strstr(cases[i].name, "000000000000.hfile") ? "00000000000000000" : TIME);
    }
}

static void builds_what_it_parses(void **state)
{
    (void)state;
    static const enum sl_file_kind kinds[] = {SL_FILE_BASE, SL_FILE_LOG, SL_FILE_DELETES, SL_FILE_CDC};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct sl_file_name parts = {.kind = kinds[i],
                                     .file_id = "00000003-c24e-423b-a65a-95dbfbddce1d-0",
                                     .token = "4294967295-0-12",
                                     .instant = TIME,
                                     .version = kinds[i] == SL_FILE_BASE ? 0 : 4294967295u,
                                     .format = "parquet"};
        char name[256];
        sl_file_name_build(&parts, name);
        struct sl_file_name again = parsed(name);
        assert_int_equal(again.kind, parts.kind);
        assert_string_equal(again.file_id, parts.file_id);
        assert_string_equal(again.token, parts.token);
        assert_string_equal(again.instant, parts.instant);
        assert_int_equal(again.version, parts.version);
    }
}

static const char *at(const json_t *row, size_t index)
{
    return json_string_value(json_array_get(row, index));
}

/* What Hudi's own code makes of the same parts. */
static void agrees_with_hudi(void **state)
{
    (void)state;
    struct file_bytes file = test_file("write-path/names.json");
    json_t *names = json_loadb((const char *)file.data, file.len, 0, NULL), *row;
    size_t i;
    char name[256];
    assert_non_null(names);
    json_array_foreach(json_object_get(names, "base"), i, row)
    {
        struct sl_file_name parts = {.kind = SL_FILE_BASE};
        snprintf(parts.instant, sizeof parts.instant, "%s", at(row, 0));
        snprintf(parts.token, sizeof parts.token, "%s", at(row, 1));
        snprintf(parts.file_id, sizeof parts.file_id, "%s", at(row, 2));
        snprintf(parts.format, sizeof parts.format, "%s", at(row, 3) + 1);
        sl_file_name_build(&parts, name);
        assert_string_equal(name, at(row, 4));
    }
    json_array_foreach(json_object_get(names, "log"), i, row)
    {
        struct sl_file_name parts = parsed(at(row, 5));
        assert_int_equal(parts.kind, SL_FILE_INLINE_LOG);
        assert_string_equal(parts.file_id, at(row, 0));
        assert_string_equal(parts.instant, at(row, 2));
        assert_int_equal(parts.version, json_integer_value(json_array_get(row, 3)));
        assert_string_equal(parts.token, at(row, 4) ? at(row, 4) : "");
    }
    json_array_foreach(json_object_get(names, "parse"), i, row)
    {
        struct sl_file_name parts = parsed(json_string_value(json_object_get(row, "name")));
        assert_int_equal(parts.kind, SL_FILE_BASE);
        assert_string_equal(parts.file_id, json_string_value(json_object_get(row, "file_id")));
        assert_string_equal(parts.instant, json_string_value(json_object_get(row, "commit_time")));
        assert_string_equal(parts.token, json_string_value(json_object_get(row, "write_token")));
    }
    json_decref(names);
    free(file.data);
}

/* G-17: instant, version (as a number), token, kind. */
static void orders_logs(void **state)
{
    (void)state;
    static const char *const ordered[] = {
        "f-0_1-0-1_20250101000000000_1.log.parquet",     "f-0_1-0-1_20250101000000000_2.log.parquet",
        "f-0_1-0-1_20250101000000000_10.log.parquet",    "f-0_1-0-1_20250101000000001_1.log.parquet",
        "f-0_1-0-1_20250101000000001_1.deletes.parquet", "f-0_1-0-1_20250101000000001_1.cdc.parquet",
        "f-0_1-0-2_20250101000000001_1.log.parquet",     ".f-0_20250101000000002.log.1_1-0-1",
        "f-0_1-0-1_20250101000000002_1.deletes.parquet",
    };
    size_t n = sizeof ordered / sizeof *ordered;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            struct sl_file_name a = parsed(ordered[i]), b = parsed(ordered[j]);
            int c = sl_log_order(&a, &b);
            assert_int_equal((c > 0) - (c < 0), (i > j) - (i < j));
        }
    struct sl_file_name a = parsed(".f-0_20250101000000002.log.1_1-0-1");
    struct sl_file_name b = parsed("f-0_1-0-1_20250101000000002_1.log.parquet");
    assert_int_equal(sl_log_order(&a, &b), 0); /* an inline log ranks as a data log */
}

/* ---- headers ------------------------------------------------------------------------------------------- */

/* A Parquet file without rows whose key-values are the given pairs, NULL at the end. */
static void file_with(const char *const *pairs, bool ours, const sl_strings *compacted, sl_buf *bytes)
{
    const sl_type *schema;
    sl_output *output;
    sl_parquet_writer *w;
    struct sl_parquet_written written;
    OK(sl_schema_parse("_hoodie_record_key string", &schema));
    OK(sl_output_to_buf(bytes, &output));
    OK(sl_parquet_writer_new(output, schema, NULL, &w));
    if (ours)
        OK(sl_log_headers_write(w, TIME, "{\"type\":\"string\", \"x\":\"\xc3\xa9\\\"\"}", compacted));
    for (size_t i = 0; pairs && pairs[i]; i += 2)
        OK(sl_parquet_writer_key_value(w, pairs[i], pairs[i + 1]));
    OK(sl_parquet_writer_finish(w, &written));
    OK(sl_output_finish(output));
    sl_type_unref(schema);
}

struct headers_file {
    sl_buf bytes;
    sl_file *file;
    sl_parquet *parquet;
};

static struct headers_file open_file(const char *const *pairs, bool ours, const sl_strings *compacted)
{
    struct headers_file f = {{0}, NULL, NULL};
    file_with(pairs, ours, compacted, &f.bytes);
    OK(sl_file_of_memory(f.bytes.data, f.bytes.len, "log", &f.file));
    OK(sl_parquet_open(f.file, NULL, &f.parquet));
    return f;
}

static void close_file(struct headers_file *f)
{
    sl_parquet_close(f->parquet);
    sl_file_close(f->file);
    sl_buf_free(&f->bytes);
}

static struct sl_log_headers headers_of(const char *const *pairs)
{
    struct headers_file f = open_file(pairs, false, NULL);
    struct sl_log_headers headers;
    OK(sl_log_headers_read(f.parquet, &headers));
    close_file(&f);
    return headers;
}

static void refused(const char *const *pairs, enum sl_code code, const char *part)
{
    struct headers_file f = open_file(pairs, false, NULL);
    struct sl_log_headers headers;
    FAILS(sl_log_headers_read(f.parquet, &headers), code, part);
    close_file(&f);
}

static void writes_both_forms(void **state)
{
    (void)state;
    sl_strings compacted = {0};
    OK(sl_strings_add(&compacted, "20250101000000000"));
    OK(sl_strings_add(&compacted, "20250102000000000"));
    struct headers_file f = open_file(NULL, true, &compacted);
    struct sl_log_headers headers;
    assert_string_equal(sl_parquet_key_value(f.parquet, "hudi.log.format.VERSION"), "2");
    assert_string_equal(sl_parquet_key_value(f.parquet, "hudi.log.format.INSTANT_TIME"), TIME);
    assert_string_equal(sl_parquet_key_value(f.parquet, "hudi.log.format.COMPACTED_BLOCK_TIMES"),
                        "20250101000000000,20250102000000000");
    const char *text = sl_parquet_key_value(f.parquet, "hudi.log.format.metadata");
    assert_int_equal(
        strncmp(text, "{\"VERSION\":\"2\",\"INSTANT_TIME\":\"" TIME "\",\"SCHEMA\":\"{\\\"type\\\"", 60), 0);
    json_t *map = json_loads(text, 0, NULL);
    assert_int_equal(json_object_size(map), 4);
    assert_string_equal(json_string_value(json_object_get(map, "SCHEMA")),
                        sl_parquet_key_value(f.parquet, "hudi.log.format.SCHEMA"));
    json_decref(map);
    OK(sl_log_headers_read(f.parquet, &headers));
    assert_int_equal(headers.version, 2);
    assert_string_equal(headers.instant, TIME);
    assert_int_equal(headers.compacted.count, 2);
    assert_string_equal(headers.compacted.items[1], "20250102000000000");
    assert_false(headers.forms_differ);
    assert_false(headers.is_partial);
    sl_log_headers_free(&headers);
    close_file(&f);
    sl_strings_free(&compacted);
}

static void reads_either_form(void **state)
{
    (void)state;
    static const char *const split[] = {"hudi.log.format.VERSION",
                                        " 2\n",
                                        "hudi.log.format.SCHEMA",
                                        "{}",
                                        "hudi.log.format.SOMETHING_NEW",
                                        "x",
                                        "hudi.log.format.RECORD_POSITIONS",
                                        "AAAA",
                                        "hudi.log.format.IS_PARTIAL",
                                        "true",
                                        NULL};
    static const char *const map[] = {
        "hudi.log.format.metadata",
        "{\"VERSION\":\"1\",\"INSTANT_TIME\":\"7\",\"SCHEMA\":\"{}\",\"NEW\":\"y\"}", NULL};
    static const char *const both[] = {"hudi.log.format.metadata",
                                       "{\"INSTANT_TIME\":\"7\",\"SCHEMA\":\"[]\"}",
                                       "hudi.log.format.INSTANT_TIME", "8", NULL};
    static const char *const neither[] = {"parquet.avro.schema", "{}", NULL};
    struct sl_log_headers headers = headers_of(split);
    assert_int_equal(headers.version, 2);
    assert_string_equal(headers.schema, "{}");
    assert_null(headers.instant);
    assert_true(headers.is_partial);
    sl_log_headers_free(&headers);
    headers = headers_of(map);
    assert_int_equal(headers.version, 1);
    assert_string_equal(headers.instant, "7");
    assert_false(headers.forms_differ);
    sl_log_headers_free(&headers);
    headers = headers_of(both);
    assert_string_equal(headers.instant, "8");
    assert_string_equal(headers.schema, "[]");
    assert_true(headers.forms_differ);
    sl_log_headers_free(&headers);
    headers = headers_of(neither);
    assert_int_equal(headers.version, 0);
    assert_null(headers.schema);
    sl_log_headers_free(&headers);
}

static void refuses_what_it_does_not_know(void **state)
{
    (void)state;
    refused((const char *const[]){"hudi.log.format.VERSION", "3", NULL}, SL_E_UNSUPPORTED, "version 3");
    refused((const char *const[]){"hudi.log.format.VERSION", "two", NULL}, SL_E_CORRUPT, "\"two\"");
    refused((const char *const[]){"hudi.log.format.VERSION", "2x", NULL}, SL_E_CORRUPT, "\"2x\"");
    refused((const char *const[]){"hudi.log.format.metadata", "{\"VERSION\":\"9\"}", NULL}, SL_E_UNSUPPORTED,
            "version 9");
    refused((const char *const[]){"hudi.log.format.metadata", "{\"VERSION\":", NULL}, SL_E_CORRUPT,
            "no JSON object");
    refused((const char *const[]){"hudi.log.format.metadata", "[1]", NULL}, SL_E_CORRUPT, "no JSON object");
}

/* Every failing allocation of reading and writing headers is reported and leaks nothing (the address sanitizer watches). */
static void survives_failing_allocations(void **state)
{
    (void)state;
    struct headers_file f = open_file(NULL, true, NULL);
    bool failed = true;
    for (uint64_t n = 1; failed; n++) {
        struct sl_log_headers headers;
        sl_test_fail_allocation(n, false);
        sl_status status = sl_log_headers_read(f.parquet, &headers);
        sl_test_fail_allocation(0, false);
        failed = status != SL_OK;
        if (failed)
            assert_int_equal(sl_status_code(status), SL_E_MEMORY);
        else
            sl_log_headers_free(&headers);
        sl_status_free(status);
        assert_true(n < 1000);
    }
    close_file(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classifies_names),
        cmocka_unit_test(builds_what_it_parses),
        cmocka_unit_test(agrees_with_hudi),
        cmocka_unit_test(orders_logs),
        cmocka_unit_test(writes_both_forms),
        cmocka_unit_test(reads_either_form),
        cmocka_unit_test(refuses_what_it_does_not_know),
        cmocka_unit_test(survives_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
