/* Work in parts: writes routed to tasks, scans by slice, compactions by task; tasks that run twice, are missing, or get rows
 * that are not theirs. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "column/column.h"
#include "sluice/sluice.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TASKS 3
#define ROWS  1000

static char folder[200], table_path[220];

static int set_up(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/sluice_jobs_XXXXXX", tmp && *tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(folder));
    snprintf(table_path, sizeof table_path, "%s/t", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[300];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void fine(int code, const sluice_error *e)
{
    if (code)
        fail_msg("error %d: %s", code, e->message);
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static const sl_type *schema_of(const char *text)
{
    const sl_type *schema;
    assert_true(sl_schema_parse(text, &schema) == SL_OK);
    return schema;
}

#define COLUMNS "id string, region string, v long, ts long"

/* Rows [first, first + count) with value `v`. */
static sl_batch *rows(int first, int count, int64_t v)
{
    const sl_type *schema = schema_of(COLUMNS);
    sl_batch_builder b;
    sl_batch *batch;
    assert_true(sl_batch_builder_init(&b, schema) == SL_OK);
    for (int i = first; i < first + count; i++) {
        char id[16], region[8];
        int id_len = snprintf(id, sizeof id, "k%06d", i),
            region_len = snprintf(region, sizeof region, "r%d", i % 5);
        assert_true(sl_builder_bytes(b.columns[0], id, (size_t)id_len) == SL_OK);
        assert_true(sl_builder_bytes(b.columns[1], region, (size_t)region_len) == SL_OK);
        assert_true(sl_builder_integer(b.columns[2], v) == SL_OK);
        assert_true(sl_builder_integer(b.columns[3], v) == SL_OK);
    }
    assert_true(sl_batch_builder_finish(&b, &batch) == SL_OK);
    sl_batch_builder_free(&b);
    sl_type_unref(schema);
    return batch;
}

/* A stream of one batch (taken over). */
struct one {
    sl_batch *batch;
};

static int one_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    const sl_type *schema = schema_of(COLUMNS);
    (void)s;
    assert_true(sl_arrow_export_schema(schema, out) == SL_OK);
    sl_type_unref(schema);
    return 0;
}

static int one_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    struct one *o = s->private_data;
    memset(out, 0, sizeof *out);
    if (o->batch)
        assert_true(sl_arrow_export_batch(o->batch, out) == SL_OK);
    sl_batch_unref(o->batch);
    o->batch = NULL;
    return 0;
}

static const char *one_error(struct ArrowArrayStream *s)
{
    (void)s;
    return NULL;
}

static void one_release(struct ArrowArrayStream *s)
{
    struct one *o = s->private_data;
    sl_batch_unref(o->batch);
    free(o);
    s->release = NULL;
}

static struct ArrowArrayStream stream_of(sl_batch *batch)
{
    struct one *o = malloc(sizeof *o);
    o->batch = batch;
    return (struct ArrowArrayStream){one_schema, one_next, one_error, one_release, o};
}

/* Changes are kept with base files. */
static sluice_table *make_table_of(const char *layout, bool keeps_changes)
{
    sluice_error e;
    sluice_table *t;
    struct ArrowSchema schema;
    const char *options[] = {"hoodie.table.recordkey.fields",
                             "id",
                             "hoodie.table.partition.fields",
                             "region",
                             "hoodie.table.ordering.fields",
                             "ts",
                             "hoodie.table.storage.layout",
                             layout,
                             "hoodie.bucket.index.num.buckets",
                             "2",
                             "hoodie.table.cdc.enabled",
                             keeps_changes ? "true" : "false",
                             keeps_changes ? "hoodie.table.type" : NULL,
                             "COPY_ON_WRITE",
                             NULL};
    fine(sluice_schema_parse(COLUMNS, &schema, &e), &e);
    fine(sluice_table_create(table_path, &schema, options, &e), &e);
    schema.release(&schema);
    fine(sluice_table_open(table_path, NULL, &t, &e), &e);
    return t;
}

static sluice_table *make_table(const char *layout) { return make_table_of(layout, false); }

/* ---- writes -------------------------------------------------------------------------------------------- */

/* The rows of one task, by sluice_route. */
static sl_batch *rows_of_task(sluice_table *t, sl_batch *batch, uint32_t task)
{
    sluice_error e;
    struct ArrowSchema schema;
    struct ArrowArray array;
    sl_batch *own;
    uint32_t *numbers = calloc((size_t)batch->rows, sizeof *numbers);
    uint8_t *selection = calloc(1, bitmap_bytes(batch->rows));
    assert_true(sl_arrow_export_schema(batch->schema, &schema) == SL_OK);
    assert_true(sl_arrow_export_batch(batch, &array) == SL_OK);
    fine(sluice_route(t, SLUICE_UPSERT, &schema, &array, TASKS, numbers, &e), &e);
    schema.release(&schema);
    for (int64_t i = 0; i < batch->rows; i++)
        if (numbers[i] == task)
            bit_set(selection, i);
    assert_true(sl_batch_filter(batch, selection, &own) == SL_OK);
    free(numbers);
    free(selection);
    return own;
}

static void run_task(const sluice_job *j, size_t index, sl_batch *batch, void **result, size_t *bytes)
{
    sluice_error e;
    size_t task_bytes;
    const void *task = sluice_job_task(j, index, &task_bytes);
    struct ArrowArrayStream stream = stream_of(batch);
    fine(sluice_task_run(table_path, task, task_bytes, &stream, NULL, result, bytes, &e), &e);
}

static void write_in_parts(sluice_table *t, sl_batch *batch, bool twice)
{
    sluice_error e;
    sluice_job *j;
    void *results[TASKS + 1];
    size_t bytes[TASKS + 1];
    sluice_commit_info info = {.size = sizeof info};
    fine(sluice_job_plan_write(t, SLUICE_UPSERT, TASKS, &j, &e), &e);
    assert_int_equal(sluice_job_tasks(j), TASKS);
    size_t count = 0;
    for (uint32_t i = 0; i < TASKS; i++, count++)
        run_task(j, i, rows_of_task(t, batch, i), &results[count], &bytes[count]);
    if (twice) { /* speculation: a second try of task 1, told first */
        run_task(j, 1, rows_of_task(t, batch, 1), &results[count], &bytes[count]);
        void *swap = results[0];
        size_t swap_bytes = bytes[0];
        results[0] = results[count], bytes[0] = bytes[count];
        results[count] = swap, bytes[count] = swap_bytes;
        count++;
    }
    fine(sluice_job_commit(j, (const void *const *)results, bytes, count, &info, &e), &e);
    assert_int_equal(info.rows_inserted + info.rows_updated, batch->rows);
    for (size_t i = 0; i < count; i++)
        sluice_free(results[i]);
    sl_batch_unref(batch);
}

/* ---- reads --------------------------------------------------------------------------------------------- */

struct sums {
    int64_t rows, v;
};

static void add_stream(struct ArrowArrayStream *stream, struct sums *sums)
{
    struct ArrowSchema schema;
    const sl_type *type;
    assert_int_equal(stream->get_schema(stream, &schema), 0);
    assert_true(sl_arrow_import_schema(&schema, &type) == SL_OK);
    for (;;) {
        struct ArrowArray array;
        sl_batch *batch;
        if (stream->get_next(stream, &array) != 0)
            fail_msg("stream: %s", stream->get_last_error(stream));
        if (!array.release)
            break;
        assert_true(sl_arrow_import_batch(&array, &schema, type, &batch) == SL_OK);
        for (int64_t i = 0; i < batch->rows; i++)
            sums->v += sl_i64_at(batch->columns[0], i);
        sums->rows += batch->rows;
        sl_batch_unref(batch);
    }
    stream->release(stream);
    schema.release(&schema);
    sl_type_unref(type);
}

static sluice_scan *scan_of(sluice_table *t, const char *where)
{
    sluice_error e;
    sluice_scan *s;
    const char *columns[] = {"v"};
    fine(sluice_scan_new(t, &s, &e), &e);
    fine(sluice_scan_columns(s, columns, 1, &e), &e);
    if (where)
        fine(sluice_scan_where(s, where, &e), &e);
    return s;
}

static struct sums read_whole(sluice_table *t, const char *where)
{
    sluice_error e;
    struct sums sums = {0};
    struct ArrowArrayStream stream;
    sluice_scan *s = scan_of(t, where);
    fine(sluice_scan_stream(s, &stream, &e), &e);
    add_stream(&stream, &sums);
    sluice_scan_free(s);
    return sums;
}

static struct sums read_in_parts(sluice_table *t, const char *where, size_t *tasks)
{
    sluice_error e;
    struct sums sums = {0};
    sluice_job *j;
    sluice_scan *s = scan_of(t, where);
    fine(sluice_job_plan_scan(s, &j, &e), &e);
    sluice_scan_free(s);
    *tasks = sluice_job_tasks(j);
    for (size_t i = 0; i < *tasks; i++) {
        size_t bytes;
        const void *task = sluice_job_task(j, i, &bytes);
        struct ArrowArrayStream stream;
        fine(sluice_task_rows(table_path, task, bytes, NULL, &stream, &e), &e);
        add_stream(&stream, &sums);
    }
    sluice_job_free(j);
    return sums;
}

static void assert_reads(sluice_table *t, const char *where, int64_t expected_rows, int64_t expected_v,
                         size_t slices)
{
    size_t tasks;
    struct sums whole = read_whole(t, where), parts = read_in_parts(t, where, &tasks);
    assert_int_equal(whole.rows, expected_rows);
    assert_int_equal(whole.v, expected_v);
    assert_int_equal(parts.rows, expected_rows);
    assert_int_equal(parts.v, expected_v);
    assert_int_equal(tasks, slices);
}

/* ---- tests --------------------------------------------------------------------------------------------- */

static void compact_in_parts(sluice_table *t)
{
    sluice_error e;
    sluice_job *j;
    void *results[64];
    size_t bytes[64];
    sluice_commit_info info = {.size = sizeof info};
    fine(sluice_job_plan(t, SLUICE_COMPACT, NULL, &j, &e), &e);
    size_t tasks = sluice_job_tasks(j);
    assert_in_range(tasks, 1, 32);
    for (size_t i = 0; i < 2 * tasks; i++) { /* each of them twice */
        size_t task_bytes;
        const void *task = sluice_job_task(j, i % tasks, &task_bytes);
        fine(sluice_task_run(table_path, task, task_bytes, NULL, NULL, &results[i], &bytes[i], &e), &e);
    }
    fine(sluice_job_commit(j, (const void *const *)results, bytes, 2 * tasks, &info, &e), &e);
    assert_int_equal(info.files, tasks);
    for (size_t i = 0; i < 2 * tasks; i++)
        sluice_free(results[i]);
}

static void count_files(sluice_table *t, const char *kind, int *count)
{
    sluice_error e;
    char *json, mark[32];
    fine(sluice_table_describe(t, SLUICE_DESCRIBE_FILES, &json, &e), &e);
    snprintf(mark, sizeof mark, "\"kind\":\"%s\"", kind);
    *count = 0;
    for (const char *at = json; (at = strstr(at, mark)); at++)
        ++*count;
    sluice_free(json);
}

static void parts_on(const char *layout)
{
    sluice_table *t = make_table(layout);
    write_in_parts(t, rows(0, ROWS, 1), false);
    assert_reads(t, NULL, ROWS, ROWS, 10);
    write_in_parts(t, rows(0, ROWS / 2, 10), true);
    assert_reads(t, NULL, ROWS, ROWS / 2 * 10 + ROWS / 2, 10);
    assert_reads(t, "region = 'r3'", ROWS / 5, ROWS / 10 * 10 + ROWS / 10, 2);
    if (strcmp(layout, "lsm_tree") == 0) {
        int before, after;
        compact_in_parts(t);
        count_files(t, "log", &before);
        assert_reads(t, NULL, ROWS, ROWS / 2 * 10 + ROWS / 2, 10);
        write_in_parts(t, rows(ROWS, 10, 5), true);
        count_files(t, "log", &after);
        assert_in_range(after, before + 1, before + 10);
    }
    sluice_table_close(t);
}

static void test_lsm(void **state)
{
    (void)state;
    parts_on("lsm_tree");
}

static void test_copy_on_write(void **state)
{
    (void)state;
    parts_on("default");
}

static void test_missing_result(void **state)
{
    (void)state;
    sluice_error e;
    sluice_job *j;
    void *result;
    size_t bytes;
    sluice_table *t = make_table("lsm_tree");
    fine(sluice_job_plan_write(t, SLUICE_UPSERT, TASKS, &j, &e), &e);
    sl_batch *batch = rows(0, 100, 1);
    run_task(j, 0, rows_of_task(t, batch, 0), &result, &bytes);
    const void *results[] = {result};
    assert_int_equal(sluice_job_commit(j, results, &bytes, 1, NULL, &e), SLUICE_E_INPUT);
    assert_non_null(strstr(e.message, "2 of the job's 3 tasks have no result"));
    sluice_free(result);
    assert_int_equal(read_whole(t, NULL).rows, 0);
    write_in_parts(t, batch, false); /* nothing is in the way */
    assert_int_equal(read_whole(t, NULL).rows, 100);
    sluice_table_close(t);
}

static void test_given_up(void **state)
{
    (void)state;
    sluice_error e;
    sluice_job *j;
    void *result = NULL;
    size_t bytes, task_bytes;
    sluice_table *t = make_table("default");
    sl_batch *batch = rows(0, 100, 1);
    fine(sluice_job_plan_write(t, SLUICE_UPSERT, TASKS, &j, &e), &e);
    const void *task = sluice_job_task(j, 0, &task_bytes);
    char *late = malloc(task_bytes);
    memcpy(late, task, task_bytes);
    run_task(j, 0, rows_of_task(t, batch, 0), &result, &bytes);
    sluice_free(result);
    sluice_job_free(j);
    /* a straggler whose job is gone must not write any more */
    struct ArrowArrayStream stream = stream_of(rows_of_task(t, batch, 0));
    assert_int_equal(sluice_task_run(table_path, late, task_bytes, &stream, NULL, &result, &bytes, &e),
                     SLUICE_E_CONFLICT);
    assert_int_equal(read_whole(t, NULL).rows, 0);
    free(late);
    sl_batch_unref(batch);
    sluice_table_close(t);
}

static void test_foreign_rows(void **state)
{
    (void)state;
    sluice_error e;
    sluice_job *j;
    void *result;
    size_t bytes, task_bytes;
    sluice_table *t = make_table("default");
    fine(sluice_job_plan_write(t, SLUICE_UPSERT, TASKS, &j, &e), &e);
    const void *task = sluice_job_task(j, 0, &task_bytes);
    struct ArrowArrayStream stream = stream_of(rows(0, 100, 1)); /* of all tasks */
    assert_int_equal(sluice_task_run(table_path, task, task_bytes, &stream, NULL, &result, &bytes, &e),
                     SLUICE_E_INPUT);
    assert_non_null(strstr(e.message, "not to task 0"));
    assert_int_equal(sluice_task_run(table_path, "{}", 2, NULL, NULL, &result, &bytes, &e), SLUICE_E_INPUT);
    assert_int_equal(sluice_task_run(table_path, "nonsense", 8, NULL, NULL, &result, &bytes, &e),
                     SLUICE_E_INPUT);
    assert_null(sluice_job_task(j, TASKS, &task_bytes));
    sluice_job_free(j);
    sluice_table_close(t);
}

/* ---- on the way ------------------------------------------------------------------------------------------ */

static char *copy_of(const void *blob, size_t bytes)
{
    char *copy = malloc(bytes + 1);
    memcpy(copy, blob, bytes);
    copy[bytes] = '\0';
    return copy;
}

static char *copy_of_task(const sluice_job *j, size_t *bytes)
{
    const void *task = sluice_job_task(j, 0, bytes);
    return copy_of(task, *bytes);
}

/* No byte of a task can change, and none can be missing. */
static void test_damaged_task(void **state)
{
    sluice_error e;
    sluice_job *j;
    size_t bytes;
    struct ArrowArrayStream stream;
    sluice_table *t = make_table("lsm_tree");
    (void)state;
    write_in_parts(t, rows(0, 10, 1), false);
    sluice_scan *s = scan_of(t, "v >= 0");
    fine(sluice_job_plan_scan(s, &j, &e), &e);
    sluice_scan_free(s);
    char *copy = copy_of_task(j, &bytes);
    for (size_t i = 0; i < bytes; i++) {
        copy[i] ^= 1;
        if (sluice_task_rows(table_path, copy, bytes, NULL, &stream, &e) == 0)
            fail_msg("byte %zu of %zu was changed in: %s", i, bytes, copy);
        copy[i] ^= 1;
        assert_int_not_equal(sluice_task_rows(table_path, copy, i, NULL, &stream, &e), 0);
    }
    copy[bytes - 2] ^= 1;
    assert_int_equal(sluice_task_rows(table_path, copy, bytes, NULL, &stream, &e), SLUICE_E_CORRUPT);
    copy[bytes - 2] ^= 1;
    char *version = strstr(copy, " 1 ");
    version[1] = '2';
    assert_int_equal(sluice_task_rows(table_path, copy, bytes, NULL, &stream, &e), SLUICE_E_UNSUPPORTED);
    free(copy);
    sluice_job_free(j);
    sluice_table_close(t);
}

static int commit_one(sluice_table *t, const void *result, size_t bytes, sluice_error *e)
{
    sluice_job *j;
    fine(sluice_job_plan_write(t, SLUICE_UPSERT, 1, &j, e), e);
    return sluice_job_commit(j, &result, &bytes, 1, NULL, e);
}

/* Results that were changed, that are of an earlier job, that are tasks. */
static void test_foreign_results(void **state)
{
    sluice_error e;
    sluice_job *j;
    void *result;
    size_t bytes, task_bytes;
    sluice_table *t = make_table("lsm_tree");
    (void)state;
    fine(sluice_job_plan_write(t, SLUICE_UPSERT, 1, &j, &e), &e);
    run_task(j, 0, rows(0, 10, 1), &result, &bytes);
    char *task = copy_of_task(j, &task_bytes), *changed = copy_of(result, bytes);
    fine(sluice_job_commit(j, (const void *const *)&result, &bytes, 1, NULL, &e), &e);
    assert_int_equal(commit_one(t, result, bytes, &e), SLUICE_E_INPUT);
    assert_non_null(strstr(e.message, "result 0 belongs to no task of this job"));
    assert_int_equal(commit_one(t, task, task_bytes, &e), SLUICE_E_INPUT);
    assert_non_null(strstr(e.message, "no result of a job"));
    strstr(changed, "numWrites")[strlen("numWrites\":")] ^= 1;
    assert_int_equal(commit_one(t, changed, bytes, &e), SLUICE_E_CORRUPT);
    assert_int_equal(commit_one(t, NULL, 0, &e), SLUICE_E_INPUT);
    assert_int_equal(read_whole(t, NULL).rows, 10);
    sluice_free(result);
    free(task);
    free(changed);
    sluice_table_close(t);
}

/* A driver that died left its plan; who executes it again must not take the results of the first try, whose files are gone. */
static void test_results_of_the_first_try(void **state)
{
    sluice_error e;
    sluice_job *j;
    void *results[16];
    size_t bytes[16];
    char instant[32];
    sluice_table *t = make_table("lsm_tree");
    (void)state;
    write_in_parts(t, rows(0, 100, 1), false);
    write_in_parts(t, rows(0, 100, 2), false);
    fine(sluice_service_schedule(t, SLUICE_COMPACT, instant, NULL, &e), &e);
    fine(sluice_job_plan(t, SLUICE_COMPACT, instant, &j, &e), &e);
    size_t tasks = sluice_job_tasks(j), task_bytes;
    assert_in_range(tasks, 1, 16);
    for (size_t i = 0; i < tasks; i++) {
        const void *task = sluice_job_task(j, i, &task_bytes);
        fine(sluice_task_run(table_path, task, task_bytes, NULL, NULL, &results[i], &bytes[i], &e), &e);
    }
    sluice_job_free(j);
    fine(sluice_job_plan(t, SLUICE_COMPACT, instant, &j, &e), &e);
    assert_int_equal(sluice_job_commit(j, (const void *const *)results, bytes, tasks, NULL, &e),
                     SLUICE_E_CONFLICT);
    assert_non_null(strstr(e.message, "is not there (any more)"));
    for (size_t i = 0; i < tasks; i++)
        sluice_free(results[i]);
    compact_in_parts(t);
    assert_int_equal(read_whole(t, NULL).v, 200);
    sluice_table_close(t);
}

/* A stream that ends the job before it ends itself. */
struct late {
    struct ArrowArrayStream rows;
    sluice_job *job;
};

static int late_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    struct late *l = s->private_data;
    return l->rows.get_schema(&l->rows, out);
}

static int late_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    struct late *l = s->private_data;
    int code = l->rows.get_next(&l->rows, out);
    if (!out->release) {
        sluice_job_free(l->job);
        l->job = NULL;
    }
    return code;
}

static void late_release(struct ArrowArrayStream *s)
{
    struct late *l = s->private_data;
    l->rows.release(&l->rows);
    s->release = NULL;
}

/* Files of the table's partitions. */
static size_t files(void)
{
    char command[400], line[16] = "";
    snprintf(command, sizeof command, "find %s -type f -not -path '*/.hoodie/*' | wc -l", table_path);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    pclose(f);
    return (size_t)strtoul(line, NULL, 10);
}

/* A straggler that finds at its end that its job is over takes its files along. */
static void job_ends_before_its_task(bool keeps_changes)
{
    sluice_error e;
    void *result;
    size_t bytes, task_bytes;
    sluice_table *t = make_table_of("lsm_tree", keeps_changes);
    struct late late = {.rows = stream_of(rows(0, 10, 2))};
    struct ArrowArrayStream stream = {late_schema, late_next, one_error, late_release, &late};
    write_in_parts(t, rows(0, 10, 1), false);
    size_t before = files();
    fine(sluice_job_plan_write(t, SLUICE_UPSERT, 1, &late.job, &e), &e);
    char *task = copy_of_task(late.job, &task_bytes);
    assert_int_equal(sluice_task_run(table_path, task, task_bytes, &stream, NULL, &result, &bytes, &e),
                     SLUICE_E_CONFLICT);
    assert_non_null(strstr(e.message, "ended while the task ran"));
    assert_int_equal(files(), before);
    free(task);
    sluice_table_close(t);
}

static void test_job_ends_before_its_task(void **state)
{
    (void)state;
    job_ends_before_its_task(false);
}

static void test_job_ends_before_its_task_that_tells_changes(void **state)
{
    (void)state;
    job_ends_before_its_task(true);
}

static void test_other_table(void **state)
{
    sluice_error e;
    sluice_job *j;
    size_t bytes;
    char other[220];
    struct ArrowSchema schema;
    struct ArrowArrayStream stream;
    sluice_table *t = make_table("default");
    (void)state;
    write_in_parts(t, rows(0, 10, 1), false);
    snprintf(other, sizeof other, "%s/other", folder);
    fine(sluice_schema_parse(COLUMNS, &schema, &e), &e);
    fine(sluice_table_create(other, &schema,
                             (const char *const[]){"hoodie.table.recordkey.fields", "id", NULL}, &e),
         &e);
    schema.release(&schema);
    sluice_scan *s = scan_of(t, NULL);
    fine(sluice_job_plan_scan(s, &j, &e), &e);
    sluice_scan_free(s);
    const void *task = sluice_job_task(j, 0, &bytes);
    assert_int_equal(sluice_task_rows(other, task, bytes, NULL, &stream, &e), SLUICE_E_INPUT);
    assert_non_null(strstr(e.message, "belongs to a table of the name t, not to other"));
    sluice_job_free(j);
    sluice_table_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lsm, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_copy_on_write, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_missing_result, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_given_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_foreign_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_task, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_foreign_results, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_results_of_the_first_try, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_job_ends_before_its_task, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_job_ends_before_its_task_that_tells_changes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_table, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
