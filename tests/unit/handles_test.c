/* Handles in any order: streams, arrays, writers and jobs that outlive their scan and their table, as languages that collect
 * garbage let go of them; streams that were released before. ASan looks for what is used too late, or kept. */
#include "engine_support.h"

#define COLUMNS "k string not null, v long, note string, tags list<long>"
#define ROWS    50000

static char folder[200], path[260];

static sl_batch *make_rows(int64_t count)
{
    const sl_type *schema;
    sl_batch_builder b;
    sl_batch *batch;
    ok(sl_schema_parse(COLUMNS, &schema));
    ok(sl_batch_builder_init(&b, schema));
    for (int64_t i = 0; i < count; i++) {
        char key[16];
        ok(sl_builder_bytes(b.columns[0], key, (size_t)snprintf(key, sizeof key, "k%07d", (int)i)));
        ok(sl_builder_integer(b.columns[1], i));
        ok(i % 3 ? sl_builder_bytes(b.columns[2], "a note", 6) : sl_builder_null(b.columns[2]));
        ok(sl_builder_null(b.columns[3]));
    }
    ok(sl_batch_builder_finish(&b, &batch));
    sl_batch_builder_free(&b);
    sl_type_unref(schema);
    return batch;
}

static sluice_table *open_table(void)
{
    sluice_table *t;
    sluice_error e;
    OK(sluice_table_open(path, (const char *const[]){"sluice.threads", "3", NULL}, &t, &e));
    return t;
}

static int set_up(void **state)
{
    const sl_type *schema;
    sluice_commit_info info;
    sluice_error e;
    (void)state;
    temporary_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/t", folder);
    ok(sl_schema_parse(COLUMNS, &schema));
    create_lsm_table(path, schema);
    sl_type_unref(schema);
    sluice_table *t = open_table();
    sl_batch *rows = make_rows(ROWS);
    OK(write_batch(t, SLUICE_UPSERT, rows, &info, &e));
    sl_batch_unref(rows);
    sluice_table_close(t);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    remove_folder(folder);
    return 0;
}

/* A stream whose scan and table are let go of at once. */
static struct ArrowArrayStream orphan_stream(void)
{
    struct ArrowArrayStream rows;
    sluice_scan *s;
    sluice_error e;
    sluice_table *t = open_table();
    OK(sluice_scan_new(t, &s, &e));
    OK(sluice_scan_where(s, "v >= 0", &e));
    OK(sluice_scan_stream(s, &rows, &e));
    sluice_table_close(t);
    sluice_scan_free(s);
    return rows;
}

static int64_t rows_left(struct ArrowArrayStream *rows)
{
    int64_t count = 0;
    for (;;) {
        struct ArrowArray array;
        assert_int_equal(rows->get_next(rows, &array), 0);
        if (!array.release)
            return count;
        count += array.length;
        array.release(&array);
    }
}

static void test_stream_alone(void **state)
{
    struct ArrowArrayStream rows = orphan_stream();
    struct ArrowSchema schema;
    (void)state;
    assert_int_equal(rows.get_schema(&rows, &schema), 0);
    assert_int_equal(rows_left(&rows), ROWS);
    assert_int_equal(rows_left(&rows), 0); /* an ended stream stays at its end */
    rows.release(&rows);
    assert_null(rows.release);
    assert_int_equal(schema.n_children, 9);
    schema.release(&schema);
}

/* Some batches are taken, the rest is not wanted; the batches, and columns moved out of them, are looked at when all else is gone. */
static void test_arrays_alone(void **state)
{
    struct ArrowArrayStream rows = orphan_stream();
    struct ArrowArray arrays[2];
    int64_t sum = 0;
    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(rows.get_next(&rows, &arrays[i]), 0);
    rows.release(&rows);
    struct ArrowArray v = *arrays[0].children[6];
    arrays[0].children[6]->release = NULL;
    int64_t count = arrays[0].length;
    arrays[0].release(&arrays[0]);
    for (int64_t i = 0; i < count; i++)
        sum += ((const int64_t *)v.buffers[1])[i];
    assert_true(sum >= count * (count - 1) / 2);
    v.release(&v);
    const int32_t *ends = arrays[1].children[5]->buffers[1];
    assert_int_equal(ends[arrays[1].length] - ends[0], 8 * arrays[1].length);
    arrays[1].release(&arrays[1]);
}

static void test_lookup_alone(void **state)
{
    struct ArrowArrayStream rows;
    sluice_error e;
    sluice_table *t = open_table();
    (void)state;
    OK(sluice_lookup(t, (const char *const[]){"k0000007", "k0049999", "nobody"}, 3, NULL, &rows, &e));
    sluice_table_close(t);
    assert_int_equal(rows_left(&rows), 2);
    rows.release(&rows);
}

static void count_reject(void *context, const sluice_rejected_row *row)
{
    assert_non_null(strstr(row->reason, "record key"));
    ++*(int *)context;
}

/* Rows of a file are checked against the table that they are for. */
static void test_input_alone(void **state)
{
    char file[280];
    struct ArrowArrayStream rows;
    int rejected = 0;
    sluice_error e;
    sluice_table *t = open_table();
    (void)state;
    snprintf(file, sizeof file, "%s/rows.csv", folder);
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    fputs("k,v\na,1\n,2\nb,3\n", f);
    fclose(f);
    OK(sluice_input_open(file,
                         &(sluice_input_options){.size = sizeof(sluice_input_options),
                                                 .reject = count_reject,
                                                 .context = &rejected,
                                                 .table = t,
                                                 .operation = SLUICE_UPSERT},
                         &rows, &e));
    sluice_table_close(t);
    assert_int_equal(rows_left(&rows), 2);
    assert_int_equal(rejected, 1);
    rows.release(&rows);
}

/* Consumed by the library itself, which looks into streams of its own. */
static void test_stream_into_text(void **state)
{
    struct ArrowArrayStream rows = orphan_stream();
    struct text text = {0};
    uint64_t count;
    sluice_error e;
    (void)state;
    OK(sluice_output_text(
        &rows, &(sluice_output_options){.size = sizeof(sluice_output_options), .format = SLUICE_TEXT_JSONL},
        text_collect, &text, &count, &e));
    assert_int_equal(count, ROWS);
    assert_null(rows.release);
    free(text.data);
}

static void test_writer_and_job_alone(void **state)
{
    struct ArrowSchema schema;
    sluice_writer *w;
    sluice_job *j;
    sluice_scan *s;
    sluice_error e;
    sluice_commit_info info = {.size = sizeof info};
    sluice_table *t = open_table();
    sl_batch *rows = make_rows(10);
    (void)state;
    export_schema(rows->schema, &schema);
    OK(sluice_writer_open(t, SLUICE_UPSERT, &schema, &w, &e));
    schema.release(&schema);
    OK(sluice_scan_new(t, &s, &e));
    OK(sluice_job_plan_scan(s, &j, &e));
    sluice_scan_free(s);
    sluice_table_close(t);
    OK(writer_append(w, rows, &e));
    OK(sluice_writer_commit(w, &info, &e));
    assert_int_equal(info.rows_in, 10);
    sluice_writer_close(w);
    assert_int_equal(sluice_job_tasks(j), 1);
    OK(sluice_job_commit(j, NULL, NULL, 0, &info, &e));
    sl_batch_unref(rows);
}

/* One thread reads a stream, whose work the table's threads do, and commits in between by the same handle. */
static void test_commit_while_streaming(void **state)
{
    char wide[280];
    struct ArrowArrayStream rows;
    struct ArrowArray first;
    sluice_table *t;
    sluice_scan *s;
    sluice_commit_info info;
    sluice_error e;
    sl_batch *all = make_rows(ROWS / 5), *few = make_rows(10);
    (void)state;
    snprintf(wide, sizeof wide, "%s/wide", folder);
    create_table(wide, all->schema, lsm_options("k", PAIRS("hoodie.bucket.index.num.buckets", "32")));
    OK(sluice_table_open(wide, (const char *const[]){"sluice.threads", "3", NULL}, &t, &e));
    OK(write_batch(t, SLUICE_UPSERT, all, &info, &e));
    OK(write_batch(t, SLUICE_UPSERT, few, &info, &e));
    OK(sluice_scan_new(t, &s, &e));
    OK(sluice_scan_stream(s, &rows, &e));
    assert_int_equal(rows.get_next(&rows, &first), 0);
    OK(write_batch(t, SLUICE_UPSERT, few, &info, &e));
    assert_int_equal(first.length + rows_left(&rows), ROWS / 5);
    first.release(&first);
    rows.release(&rows);
    sluice_scan_free(s);
    sluice_table_close(t);
    sl_batch_unref(all);
    sl_batch_unref(few);
}

static void test_released_before(void **state)
{
    struct ArrowArrayStream rows = orphan_stream();
    struct ArrowSchema schema;
    struct ArrowArray array = {0};
    struct text text = {0};
    sluice_output_options o = {.size = sizeof o, .format = SLUICE_TEXT_COUNT};
    sluice_writer *w;
    sluice_error e;
    sluice_table *t = open_table();
    (void)state;
    assert_int_equal(rows.get_schema(&rows, &schema), 0);
    rows.release(&rows);
    OK(sluice_writer_open(t, SLUICE_UPSERT, &schema, &w, &e));
    schema.release(&schema);
    assert_int_equal(sluice_writer_append_stream(w, &rows, &e), SLUICE_E_INPUT);
    assert_non_null(strstr(e.message, "released"));
    assert_int_equal(sluice_writer_append(w, &array, &e), SLUICE_E_INPUT);
    assert_int_equal(sluice_output_text(&rows, &o, text_collect, &text, NULL, &e), SLUICE_E_INPUT);
    assert_int_equal(sluice_output_parquet(&rows, "/nowhere/x.parquet", NULL, &e), SLUICE_E_INPUT);
    assert_int_equal(sluice_writer_open(t, SLUICE_UPSERT, &schema, &w, &e), SLUICE_E_INPUT);
    sluice_writer_close(w);
    sluice_table_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream_alone),     cmocka_unit_test(test_arrays_alone),
        cmocka_unit_test(test_lookup_alone),     cmocka_unit_test(test_input_alone),
        cmocka_unit_test(test_stream_into_text), cmocka_unit_test(test_writer_and_job_alone),
        cmocka_unit_test(test_released_before),  cmocka_unit_test(test_commit_while_streaming),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
