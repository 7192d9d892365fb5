/*
 * G-8 of spec/lsm-layout.md 19, the records: what Hudi 1.2.0 said about some writes (tests/data/log/cdc_changes.json), we say
 * about the same writes: updates that change nothing, rows that lose by their ordering value, deletes of keys that are not
 * there, several rows of a key in one write, a file emptied and filled again.
 */
#include "table_folder.h"

#include "service/service.h"
#include <jansson.h>

#define COLUMNS "k string, v int, ts long, _hoodie_is_deleted boolean"

static json_t *golden;

static int load_golden(void **state)
{
    char file[512];
    const char *data = getenv("SL_TEST_DATA");
    snprintf(file, sizeof file, "%s/log/cdc_changes.json", data ? data : "tests/data");
    golden = json_load_file(file, 0, NULL);
    return !golden || table_folder_make(state);
}

static int drop_golden(void **state)
{
    json_decref(golden);
    return table_folder_remove(state);
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static void create(const char *type, const char *mode)
{
    create_table_of(path, COLUMNS,
                    lsm_options("k", PAIRS("hoodie.table.ordering.fields", "ts", "hoodie.table.type", type,
                                           "hoodie.table.cdc.enabled", "true",
                                           "hoodie.table.cdc.supplemental.logging.mode", mode)));
}

static enum sluice_operation operation_named(const char *name)
{
    return strcmp(name, "insert") == 0   ? SLUICE_INSERT
           : strcmp(name, "upsert") == 0 ? SLUICE_UPSERT
                                         : SLUICE_DELETE;
}

static void write_golden(size_t number, sluice_commit_info *info)
{
    const json_t *write = json_array_get(json_object_get(golden, "writes"), number);
    sluice_error e;
    sluice_table *t;
    const sl_type *schema;
    sl_batch_builder b;
    sl_batch *batch;
    size_t i;
    json_t *row;
    ok(sl_schema_parse(COLUMNS, &schema));
    ok(sl_batch_builder_init(&b, schema));
    json_array_foreach(json_object_get(write, "rows"), i, row)
    {
        char *line = json_dumps(row, 0);
        ok(sl_batch_builder_json_line(&b, line, strlen(line)));
        free(line);
    }
    ok(sl_batch_builder_finish(&b, &batch));
    OK(sluice_table_open(path, NULL, &t, &e));
    OK(write_batch(t, operation_named(json_string_value(json_object_get(write, "operation"))), batch, info,
                   &e));
    sluice_table_close(t);
    sl_batch_unref(batch);
    sl_batch_builder_free(&b);
    sl_type_unref(schema);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/* The records of the instant's only change data log, its instant taken for granted. */
static json_t *records_of(const char *instant)
{
    char pattern[512], name[512];
    snprintf(pattern, sizeof pattern, "cd %s && ls *_%s_1.cdc.parquet", path, instant);
    FILE *ls = popen(pattern, "r");
    assert_non_null(fgets(name, sizeof name, ls));
    pclose(ls);
    name[strcspn(name, "\n")] = 0;

    json_t *records = json_array();
    sl_table *table;
    sl_source *source;
    sl_stream *rows;
    ok(sl_table_open(path, NULL, NULL, &table));
    ok(sl_source_open(table, name, NULL, &source));
    ok(sl_parquet_scan(source->parquet, &(struct sl_parquet_scan_options){0}, &rows));
    for (sl_batch *batch; ok(sl_stream_next(rows, &batch)), batch; sl_batch_unref(batch))
        for (int64_t i = 0; i < batch->rows; i++) {
            sl_buf text = {0};
            ok(sl_row_text(batch, i, SL_TEXT_JSON, &text));
            json_t *record = json_loadb((const char *)text.data, text.len, 0, NULL);
            const char *time = json_string_value(json_object_get(record, "ts_ms"));
            if (time && strcmp(time, instant) == 0)
                json_object_set_new(record, "ts_ms", json_string("instant"));
            json_array_append_new(records, record);
            sl_buf_free(&text);
        }
    sl_stream_close(rows);
    sl_source_unref(source);
    sl_table_close(table);
    return records;
}

static void check_records(const char *mode, size_t number, const char *instant)
{
    const json_t *wanted = json_array_get(json_object_get(golden, mode), number);
    json_t *records = records_of(instant);
    if (!json_equal(records, wanted))
        fail_msg("%s, list %zu: %s, but Hudi: %s", mode, number, json_dumps(records, 0),
                 json_dumps(wanted, 0));
    json_decref(records);
}

/* ---- tests --------------------------------------------------------------------------------------------- */

static void copy_on_write_tells_what_hudi_tells(void **state)
{
    static const char *const modes[] = {"op_key_only", "data_before", "data_before_after"};
    (void)state;
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
        size_t lists = json_array_size(json_object_get(golden, modes[m]));
        sluice_commit_info info;
        assert_true(lists >= 2);
        create("COPY_ON_WRITE", modes[m]);
        write_golden(0, &info);
        for (size_t i = 0; i < lists; i++) {
            write_golden(i + 1, &info);
            check_records(modes[m], i, info.instant);
        }
        remove_folder(path);
    }
}

static void compaction_tells_what_hudi_tells(void **state)
{
    char instant[SL_INSTANT_BYTES];
    size_t operations;
    struct sl_write_result result;
    sluice_commit_info info;
    sl_table *table;
    (void)state;
    create("MERGE_ON_READ", "data_before_after");
    for (size_t i = 0; i < 3; i++)
        write_golden(i, &info);
    ok(sl_table_open(path, NULL, NULL, &table));
    ok(sl_service_schedule(table, SL_COMPACT, SL_SELECT_ALL, instant, &operations));
    ok(sl_service_execute(table, SL_COMPACT, instant, &result));
    sl_table_close(table);
    check_records("compaction", 0, instant);
    remove_folder(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copy_on_write_tells_what_hudi_tells),
        cmocka_unit_test(compaction_tells_what_hudi_tells),
    };
    return cmocka_run_group_tests(tests, load_golden, drop_golden);
}
