/* Pointers that are NULL, one by one: a call of the public header names the argument and does nothing, but what it consumes
 * is released. What returns nothing does nothing. */
#include "engine_support.h"

#define COLUMNS "k string not null, v long"
#define TEXT    "text"

static char folder[200], path[260];
static struct ArrowSchema schema;
static sluice_table *table;
static sluice_scan *scan;
static sluice_writer *writer;
static sluice_error e;

static int set_up(void **state)
{
    (void)state;
    temporary_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/t", folder);
    create_table_of(path, COLUMNS, lsm_options("k", NULL));
    OK(sluice_schema_parse(COLUMNS, &schema, &e));
    OK(sluice_table_open(path, NULL, &table, &e));
    OK(sluice_scan_new(table, &scan, &e));
    OK(sluice_writer_open(table, SLUICE_UPSERT, &schema, &writer, &e));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    schema.release(&schema);
    sluice_writer_close(writer);
    sluice_scan_free(scan);
    sluice_table_close(table);
    remove_folder(folder);
    return 0;
}

static void refused(int code, const char *argument)
{
    char want[64];
    snprintf(want, sizeof want, "argument `%s` is NULL", argument);
    assert_int_equal(code, SLUICE_E_INPUT);
    assert_int_equal(e.code, SLUICE_E_INPUT);
    assert_non_null(strstr(e.message, want));
    memset(&e, 0, sizeof e);
}

/* ---- tables, scans, jobs ------------------------------------------------------------------------------- */

static void test_tables(void **state)
{
    sluice_table *t;
    sluice_creation *creation;
    struct ArrowSchema out;
    char *text;
    (void)state;
    refused(sluice_table_create(NULL, &schema, NULL, &e), "uri");
    refused(sluice_table_create(path, NULL, NULL, &e), "schema");
    refused(sluice_table_create_for(NULL, &schema, NULL, &creation, &e), "uri");
    refused(sluice_table_create_for(path, NULL, NULL, &creation, &e), "schema");
    refused(sluice_table_create_for(path, &schema, NULL, NULL, &e), "out");
    refused(sluice_creation_undo(NULL, NULL, &e), "c");
    refused(sluice_table_open(NULL, NULL, &t, &e), "uri");
    refused(sluice_table_open(path, NULL, NULL, &e), "out");
    refused(sluice_table_schema(NULL, &out, &e), "t");
    refused(sluice_table_schema(table, NULL, &e), "out");
    refused(sluice_table_key_schema(NULL, &out, &e), "t");
    refused(sluice_table_key_schema(table, NULL, &e), "out");
    refused(sluice_table_describe(NULL, SLUICE_DESCRIBE_INFO, &text, &e), "t");
    refused(sluice_table_describe(table, SLUICE_DESCRIBE_INFO, NULL, &e), "out");
    refused(sluice_table_rollback(NULL, TEXT, NULL, NULL, &e), "t");
    refused(sluice_table_rollback(table, NULL, NULL, NULL, &e), "instant");
    refused(sluice_table_doctor(NULL, 0, &text, &e), "t");
    refused(sluice_table_doctor(table, 0, NULL, &e), "json");
    refused(sluice_table_repair(NULL, NULL, &e), "t");
    refused(sluice_table_delete_partitions(NULL, NULL, 0, NULL, &e), "t");
    refused(sluice_table_delete_partitions(table, NULL, 1, NULL, &e), "partitions");
}

static void test_scans_and_lookups(void **state)
{
    static const char *const keys[] = {"k", NULL};
    struct ArrowArrayStream rows;
    sluice_scan *s;
    sluice_lookup_options o = {.size = sizeof o, .columns = keys, .column_count = 2};
    (void)state;
    refused(sluice_scan_new(NULL, &s, &e), "t");
    refused(sluice_scan_new(table, NULL, &e), "out");
    refused(sluice_scan_columns(NULL, keys, 1, &e), "s");
    refused(sluice_scan_columns(scan, NULL, 1, &e), "names");
    refused(sluice_scan_where(NULL, TEXT, &e), "s");
    refused(sluice_scan_where(scan, NULL, &e), "expression");
    refused(sluice_scan_as_of(NULL, TEXT, &e), "s");
    refused(sluice_scan_as_of(scan, NULL, &e), "instant");
    refused(sluice_scan_read_optimized(NULL, &e), "s");
    refused(sluice_scan_limit(NULL, 1, &e), "s");
    refused(sluice_scan_stream(NULL, &rows, &e), "s");
    refused(sluice_scan_stream(scan, NULL, &e), "rows");
    refused(sluice_lookup(NULL, keys, 1, NULL, &rows, &e), "t");
    refused(sluice_lookup(table, NULL, 1, NULL, &rows, &e), "keys");
    refused(sluice_lookup(table, keys, 1, NULL, NULL, &e), "rows");
    /* the items of a list */
    assert_int_equal(sluice_scan_columns(scan, keys, 2, &e), SLUICE_E_INPUT);
    assert_non_null(strstr(e.message, "item 1 of argument `names` is NULL"));
    assert_int_equal(sluice_lookup(table, keys, 2, NULL, &rows, &e), SLUICE_E_INPUT);
    assert_int_equal(sluice_lookup(table, keys, 1, &o, &rows, &e), SLUICE_E_INPUT);
    assert_non_null(strstr(e.message, "item 1 of argument `columns` is NULL"));
}

static void test_services_and_jobs(void **state)
{
    struct ArrowArrayStream rows;
    sluice_job *j;
    char instant[32], *text;
    (void)state;
    refused(sluice_service_preview(NULL, SLUICE_COMPACT, &text, &e), "t");
    refused(sluice_service_preview(table, SLUICE_COMPACT, NULL, &e), "json");
    refused(sluice_service_schedule(NULL, SLUICE_COMPACT, instant, NULL, &e), "t");
    refused(sluice_service_schedule(table, SLUICE_COMPACT, NULL, NULL, &e), "instant");
    refused(sluice_service_run(NULL, SLUICE_COMPACT, NULL, NULL, &e), "t");
    refused(sluice_job_plan(NULL, SLUICE_COMPACT, NULL, &j, &e), "t");
    refused(sluice_job_plan(table, SLUICE_COMPACT, NULL, NULL, &e), "out");
    refused(sluice_job_plan_write(NULL, SLUICE_UPSERT, 1, &j, &e), "t");
    refused(sluice_job_plan_write(table, SLUICE_UPSERT, 1, NULL, &e), "out");
    refused(sluice_job_plan_scan(NULL, &j, &e), "s");
    refused(sluice_job_plan_scan(scan, NULL, &e), "out");
    refused(sluice_job_commit(NULL, NULL, NULL, 0, NULL, &e), "j");
    refused(sluice_task_rows(NULL, TEXT, 4, NULL, &rows, &e), "uri");
    refused(sluice_task_rows(path, NULL, 4, NULL, &rows, &e), "task");
    refused(sluice_task_rows(path, TEXT, 4, NULL, NULL, &e), "rows");
    OK(sluice_job_plan(table, SLUICE_COMPACT, NULL, &j, &e));
    refused(sluice_job_commit(j, NULL, NULL, 1, NULL, &e), "results"); /* and frees the job */
}

/* ---- what is consumed ---------------------------------------------------------------------------------- */

static int released;
static void release_array(struct ArrowArray *array)
{
    released++;
    array->release = NULL;
}
static void release_stream(struct ArrowArrayStream *rows)
{
    released++;
    rows->release = NULL;
}
static struct ArrowArray *array(void)
{
    static struct ArrowArray a;
    a = (struct ArrowArray){.release = release_array};
    return &a;
}
static struct ArrowArrayStream *stream(void)
{
    static struct ArrowArrayStream s;
    s = (struct ArrowArrayStream){.release = release_stream};
    return &s;
}

static void test_consumers(void **state)
{
    uint32_t numbers[1];
    void *result;
    size_t bytes;
    struct text text = {0};
    sluice_output_options o = {.size = sizeof o};
    (void)state;
    refused(sluice_writer_append(NULL, array(), &e), "w");
    refused(sluice_writer_append(writer, NULL, &e), "array");
    refused(sluice_writer_append_stream(NULL, stream(), &e), "w");
    refused(sluice_writer_append_stream(writer, NULL, &e), "rows");
    refused(sluice_route(NULL, SLUICE_UPSERT, &schema, array(), 1, numbers, &e), "t");
    refused(sluice_route(table, SLUICE_UPSERT, NULL, array(), 1, numbers, &e), "schema");
    refused(sluice_route(table, SLUICE_UPSERT, &schema, NULL, 1, numbers, &e), "array");
    refused(sluice_route(table, SLUICE_UPSERT, &schema, array(), 1, NULL, &e), "numbers");
    refused(sluice_task_run(NULL, TEXT, 4, stream(), NULL, &result, &bytes, &e), "uri");
    refused(sluice_task_run(path, NULL, 4, stream(), NULL, &result, &bytes, &e), "task");
    refused(sluice_task_run(path, TEXT, 4, stream(), NULL, NULL, &bytes, &e), "result");
    refused(sluice_task_run(path, TEXT, 4, stream(), NULL, &result, NULL, &e), "result_bytes");
    refused(sluice_output_text(NULL, &o, text_collect, &text, NULL, &e), "rows");
    refused(sluice_output_text(stream(), NULL, text_collect, &text, NULL, &e), "options");
    refused(sluice_output_text(stream(), &o, NULL, &text, NULL, &e), "write");
    refused(sluice_output_parquet(NULL, TEXT, NULL, &e), "rows");
    refused(sluice_output_parquet(stream(), NULL, NULL, &e), "path");
    assert_int_equal(released, 12);
}

/* ---- the rest ------------------------------------------------------------------------------------------ */

static void test_writers_and_files(void **state)
{
    struct ArrowArrayStream rows;
    struct ArrowSchema out;
    sluice_writer *w;
    uint64_t bytes;
    char *text;
    (void)state;
    refused(sluice_writer_open(NULL, SLUICE_UPSERT, &schema, &w, &e), "t");
    refused(sluice_writer_open(table, SLUICE_UPSERT, NULL, &w, &e), "input");
    refused(sluice_writer_open(table, SLUICE_UPSERT, &schema, NULL, &e), "out");
    refused(sluice_writer_flush(NULL, &e), "w");
    refused(sluice_writer_commit(NULL, NULL, &e), "w");
    refused(sluice_schema_parse(NULL, &out, &e), "text");
    refused(sluice_schema_parse(COLUMNS, NULL, &e), "out");
    refused(sluice_schema_of_file(NULL, NULL, &out, &e), "path");
    refused(sluice_schema_of_file(TEXT, NULL, NULL, &e), "out");
    refused(sluice_input_open(NULL, NULL, &rows, &e), "path");
    refused(sluice_input_open(TEXT, NULL, NULL, &e), "out");
    refused(sluice_inspect(NULL, &text, &e), "path");
    refused(sluice_inspect(TEXT, NULL, &e), "json");
    refused(sluice_inspect_rows(NULL, &rows, &e), "path");
    refused(sluice_inspect_rows(TEXT, NULL, &e), "rows");
    refused(sluice_settings(NULL, &e), "json");
    refused(sluice_setting_check(NULL, TEXT, &e), "key");
    refused(sluice_setting_check(TEXT, NULL, &e), "value");
    refused(sluice_size_parse(NULL, &bytes, &e), "text");
    refused(sluice_size_parse(TEXT, NULL, &e), "bytes");
    assert_int_equal(sluice_size_parse(NULL, NULL, NULL), SLUICE_E_INPUT); /* nobody wants to know why */
}

static void test_without_result(void **state)
{
    sluice_scan_stats stats = {.size = sizeof stats};
    uint64_t rows = 1;
    (void)state;
    sluice_table_callbacks(NULL, NULL);
    sluice_table_callbacks(table, NULL); /* none any more */
    sluice_table_cancel(NULL);
    sluice_table_cancel_clear(NULL);
    sluice_table_read_stats(NULL, &stats);
    sluice_table_read_stats(table, NULL);
    sluice_scan_get_stats(NULL, &stats);
    sluice_scan_get_stats(scan, NULL);
    sluice_writer_waiting(NULL, &rows, NULL);
    assert_int_equal(rows, 0);
    sluice_writer_waiting(writer, NULL, NULL);
    assert_int_equal(sluice_table_memory(NULL), 0);
    assert_int_equal(sluice_job_tasks(NULL), 0);
    assert_null(sluice_job_task(NULL, 0, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_scans_and_lookups),
        cmocka_unit_test(test_services_and_jobs),
        cmocka_unit_test(test_consumers),
        cmocka_unit_test(test_writers_and_files),
        cmocka_unit_test(test_without_result),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
