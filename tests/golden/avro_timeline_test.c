/* Metadata files written by Hudi 1.2.0 and values written by fastavro, read and written again. */
#include "avro_support.h"

#include <dirent.h>

static json_t *json_file(const char *path)
{
    struct file_bytes file = test_file(path);
    json_error_t error;
    json_t *json = json_loadb((const char *)file.data, file.len, JSON_ALLOW_NUL, &error);
    if (!json)
        fail_msg("%s: %s", path, error.text);
    free(file.data);
    return json;
}

static bool ends_with(const char *s, const char *suffix)
{
    size_t n = strlen(s), m = strlen(suffix);
    return n >= m && strcmp(s + n - m, suffix) == 0;
}

static const char *full_name(const json_t *schema, char *out, size_t size)
{
    snprintf(out, size, "%s.%s", json_string_value(json_object_get(schema, "namespace")),
             json_string_value(json_object_get(schema, "name")));
    return out;
}

/* Written again with the compiled-in schema, the record reads as before. */
static void check_rewrite(const char *path, const json_t *schema, const json_t *record, const json_t *records)
{
    const json_t *ours = sl_avro_hudi_schema(json_string_value(json_object_get(schema, "name")));
    if (!ours)
        fail_msg("%s: no compiled-in schema", path);
    sl_buf out = {0};
    json_t *again;
    OK(sl_avro_container_write(ours, record, &out));
    OK(sl_avro_container_read(out.data, out.len, &again, NULL));
    JSON_SAME(again, records, path);
    json_decref(again);
    sl_buf_free(&out);
}

/* The value part of a file is the same bytes when it is written with the schema the file came with. */
static void check_same_bytes(const char *path, const struct file_bytes *file, const json_t *schema,
                             const json_t *record)
{
    sl_buf value = {0};
    OK(sl_avro_value_encode(schema, record, &value));
    if (file->len < value.len + 16 ||
        memcmp(file->data + file->len - 16 - value.len, value.data, value.len) != 0)
        fail_msg("%s: encoded again, the record has other bytes", path);
    sl_buf_free(&value);
}

static void check_golden(const char *path, const json_t *twin)
{
    struct file_bytes file = test_file(path);
    json_t *records, *schema, *description;
    char name[256];
    OK(sl_avro_container_read(file.data, file.len, &records, &schema));
    JSON_SAME(records, json_object_get(twin, "records"), path);
    assert_string_equal(full_name(schema, name, sizeof name),
                        json_string_value(json_object_get(twin, "schema")));
    check_rewrite(path, schema, json_array_get(records, 0), records);
    check_same_bytes(path, &file, schema, json_array_get(records, 0));
    OK(sl_avro_container_describe(file.data, file.len, &description));
    assert_string_equal(json_string_value(json_object_get(description, "codec")), "null");
    assert_int_equal(json_integer_value(json_object_get(description, "records")), 1);
    JSON_SAME(json_object_get(description, "schema"), schema, path);
    json_decref(description);
    json_decref(records);
    json_decref(schema);
    free(file.data);
}

static size_t check_folder(const char *folder)
{
    const char *root = getenv("SL_TEST_DATA");
    char path[1024];
    size_t checked = 0;
    snprintf(path, sizeof path, "%s/%s", root ? root : "tests/data", folder);
    DIR *dir = opendir(path);
    if (!dir)
        fail_msg("cannot open %s", path);
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        if (!ends_with(entry->d_name, ".decoded.json"))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        json_t *twin = json_file(path);
        path[strlen(path) - strlen(".decoded.json")] = 0;
        if (strcmp(json_string_value(json_object_get(twin, "container")), "avro") == 0) {
            check_golden(path, twin);
            checked++;
        }
        json_decref(twin);
    }
    closedir(dir);
    return checked;
}

static void timeline_files_read_and_write(void **state)
{
    (void)state;
    size_t checked = check_folder("timeline/v9") + check_folder("timeline/v9mor") +
                     check_folder("timeline/v6") + check_folder("timeline/v6mor");
    assert_int_equal(checked, 19);
}

static void fastavro_values_in_every_codec(void **state)
{
    (void)state;
    static const char *const codecs[] = {"null", "deflate", "snappy", "zstandard"};
    json_t *want = json_file("avro/values.json");
    for (size_t i = 0; i < sizeof codecs / sizeof codecs[0]; i++) {
        char path[64];
        json_t *records, *schema, *description;
        snprintf(path, sizeof path, "avro/values_%s.avro", codecs[i]);
        struct file_bytes file = test_file(path);
        OK(sl_avro_container_read(file.data, file.len, &records, &schema));
        JSON_SAME(records, want, path);
        OK(sl_avro_container_describe(file.data, file.len, &description));
        assert_string_equal(json_string_value(json_object_get(description, "codec")), codecs[i]);
        assert_int_equal(json_integer_value(json_object_get(description, "records")), json_array_size(want));
        assert_true(json_array_size(json_object_get(description, "blocks")) > 1);
        for (size_t k = 0; k < json_array_size(records); k++) {
            sl_buf out = {0};
            json_t *again;
            OK(sl_avro_value_encode(schema, json_array_get(records, k), &out));
            OK(sl_avro_value_decode(schema, out.data, out.len, &again));
            JSON_SAME(again, json_array_get(want, k), path);
            json_decref(again);
            sl_buf_free(&out);
        }
        json_decref(description);
        json_decref(records);
        json_decref(schema);
        free(file.data);
    }
    json_decref(want);
}

static void every_compiled_in_schema_compiles(void **state)
{
    (void)state;
    static const char *const names[] = {
        "HoodieArchivedMetaEntry",        "HoodieCleanMetadata",   "HoodieCleanerPlan",
        "HoodieClusteringPlan",           "HoodieCommitMetadata",  "HoodieCompactionPlan",
        "HoodieIndexCommitMetadata",      "HoodieIndexPlan",       "HoodieLSMTimelineInstant",
        "HoodieMergeArchiveFilePlan",     "HoodieMetadataRecord",  "HoodieReplaceCommitMetadata",
        "HoodieRequestedReplaceMetadata", "HoodieRestoreMetadata", "HoodieRestorePlan",
        "HoodieRollbackMetadata",         "HoodieRollbackPlan",    "HoodieSavepointMetadata",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const json_t *schema = sl_avro_hudi_schema(names[i]);
        sl_avro_schema *compiled;
        assert_non_null(schema);
        assert_ptr_equal(schema, sl_avro_hudi_schema(names[i]));
        OK(sl_avro_schema_of_json(schema, &compiled));
        sl_avro_schema_free(compiled);
    }
    assert_null(sl_avro_hudi_schema("HoodieNothing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timeline_files_read_and_write),
        cmocka_unit_test(fastavro_values_in_every_codec),
        cmocka_unit_test(every_compiled_in_schema_compiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
