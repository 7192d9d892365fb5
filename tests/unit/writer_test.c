/*
 * The streaming writer: flushes inside an open transaction against one commit of the same rows, what triggers them,
 * versions of logs (G-4), order of operands over flushes (G-17), commits on demand, refusals that take nothing, memory
 * (G-31). SEED=n repeats a random run.
 */
#include "engine_support.h"
#include "service/service.h"
#include "write/write_int.h"
#include <dirent.h>
#include <inttypes.h>
#include <jansson.h>

#define COLUMNS                                                                                              \
    "id string not null, p string not null, ts long not null, v long, note string, _hoodie_is_deleted "      \
    "boolean"

static char root[200];

static int set_up(void **state)
{
    (void)state;
    temporary_folder(root, sizeof root);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    remove_folder(root);
    return 0;
}

/* ---- tables -------------------------------------------------------------------------------------------- */

static const char *table_path(const char *name)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

/* An lsm_tree table with two buckets a partition, and with what `more` says. */
static void create(const char *name, const char *const *more)
{
    static const char *options[24] = {"hoodie.table.partition.fields", "p", "hoodie.bucket.index.num.buckets",
                                      "2"};
    size_t n = 4;
    for (; more && *more; n++)
        options[n] = *more++;
    options[n] = NULL;
    create_table_of(table_path(name), COLUMNS, lsm_options("id", options));
}

static const char *const by_ts[] = {"hoodie.table.ordering.fields", "ts", NULL};

static sluice_table *open_with(const char *name, const char *const *options)
{
    sluice_table *t;
    sluice_error e;
    OK(sluice_table_open(table_path(name), options, &t, &e));
    return t;
}

static char *rows_of(const char *name)
{
    static const char *const columns[] = {"id", "p", "ts", "v", "note"};
    sluice_table *t = open_with(name, NULL);
    sluice_error e;
    char *rows;
    OK(read_rows(t, &(struct query){.columns = columns, .column_count = 5}, &rows, &e));
    sluice_table_close(t);
    return rows;
}

static void check_equal(const char *a, const char *b)
{
    char *rows_a = rows_of(a), *rows_b = rows_of(b);
    assert_string_equal(rows_a, rows_b);
    free(rows_a);
    free(rows_b);
}

static void check_rows(const char *name, const char *expected)
{
    char *rows = rows_of(name);
    assert_string_equal(rows, expected);
    free(rows);
}

static size_t line_count(const char *name)
{
    size_t lines = 0;
    char *rows = rows_of(name);
    for (const char *at = rows; (at = strchr(at, '\n')); at++)
        lines++;
    free(rows);
    return lines;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

struct row {
    int id;
    char partition;
    int64_t ts, v;
    bool deleted;
    size_t note_bytes;
};

static sl_batch *batch_of(const struct row *rows, size_t count)
{
    const sl_type *schema;
    sl_batch_builder b;
    sl_batch *batch;
    ok(sl_schema_parse(COLUMNS, &schema));
    ok(sl_batch_builder_init(&b, schema));
    for (size_t i = 0; i < count; i++) {
        char id[16];
        char *note = malloc(rows[i].note_bytes + 1);
        memset(note, 'n', rows[i].note_bytes);
        ok(sl_builder_bytes(b.columns[0], id, (size_t)snprintf(id, sizeof id, "key-%05d", rows[i].id)));
        ok(sl_builder_bytes(b.columns[1], &rows[i].partition, 1));
        ok(sl_builder_integer(b.columns[2], rows[i].ts));
        ok(sl_builder_integer(b.columns[3], rows[i].v));
        ok(sl_builder_bytes(b.columns[4], note, rows[i].note_bytes));
        ok(sl_builder_bool(b.columns[5], rows[i].deleted));
        free(note);
    }
    ok(sl_batch_builder_finish(&b, &batch));
    sl_batch_builder_free(&b);
    sl_type_unref(schema);
    return batch;
}

static sluice_writer *open_writer(sluice_table *t, enum sluice_operation operation)
{
    const sl_type *schema;
    struct ArrowSchema arrow;
    sluice_writer *w;
    sluice_error e;
    ok(sl_schema_parse(COLUMNS, &schema));
    export_schema(schema, &arrow);
    OK(sluice_writer_open(t, operation, &arrow, &w, &e));
    arrow.release(&arrow);
    sl_type_unref(schema);
    return w;
}

static void append(sluice_writer *w, const struct row *rows, size_t count)
{
    sluice_error e;
    sl_batch *batch = batch_of(rows, count);
    OK(writer_append(w, batch, &e));
    sl_batch_unref(batch);
}

static void flush(sluice_writer *w)
{
    sluice_error e;
    OK(sluice_writer_flush(w, &e));
}

static sluice_commit_info commit(sluice_writer *w)
{
    sluice_commit_info info = {.size = sizeof info};
    sluice_error e;
    OK(sluice_writer_commit(w, &info, &e));
    return info;
}

/* ---- files --------------------------------------------------------------------------------------------- */

/* Names in a partition that hold `part`; returns how many, `last` (may be NULL) gets the greatest. */
static size_t files_with(const char *table, char partition, const char *part, char last[300])
{
    char path[400];
    size_t count = 0;
    snprintf(path, sizeof path, "%s/%c", table_path(table), partition);
    DIR *folder = opendir(path);
    if (last)
        *last = 0;
    for (struct dirent *d; folder && (d = readdir(folder));)
        if (strstr(d->d_name, part)) {
            count++;
            if (last && strcmp(d->d_name, last) > 0)
                snprintf(last, 300, "%s", d->d_name);
        }
    if (folder)
        closedir(folder);
    return count;
}

/* ---- many flushes are one commit ----------------------------------------------------------------------- */

struct history {
    const char *name;
    const char *create[6], *flushed[8]; /* how the table is, how it is opened for the flushed half */
};

static const struct history histories[] = {
    {"event time", {"hoodie.table.ordering.fields", "ts"}, {NULL}},
    {"two orderings", {"hoodie.table.ordering.fields", "ts,v"}, {NULL}},
    {"commit time", {"hoodie.record.merge.mode", "COMMIT_TIME_ORDERING"}, {NULL}},
    {"not reduced", {"hoodie.table.ordering.fields", "ts"}, {"hoodie.combine.before.upsert", "false"}},
    {"tiny logs", {"hoodie.table.ordering.fields", "ts"}, {"hoodie.logfile.max.size", "1"}},
    {"small pool", {"hoodie.table.ordering.fields", "ts"}, {"sluice.flush.task.bytes", "20000"}},
};

static void random_rows(struct rng *r, struct row *rows, size_t count, bool deletes)
{
    for (size_t i = 0; i < count; i++)
        rows[i] = (struct row){.id = (int)pick(r, 60),
                               .partition = (char)('a' + pick(r, 2)),
                               .ts = pick(r, 8),
                               .v = pick(r, 1000),
                               .deleted = deletes && chance(r, 30),
                               .note_bytes = (size_t)pick(r, 50)};
}

/* The same rows into both: one commit of all, and flushes whenever chance says so. */
static void write_both(struct rng *r, sluice_table *plain, sluice_table *flushed, bool deletes)
{
    struct row rows[40];
    enum sluice_operation operation = deletes && chance(r, 30) ? SLUICE_DELETE : SLUICE_UPSERT;
    sluice_writer *a = open_writer(plain, operation), *b = open_writer(flushed, operation);
    for (int batches = 1 + (int)pick(r, 6); batches > 0; batches--) {
        size_t count = 1 + (size_t)pick(r, 40);
        random_rows(r, rows, count, deletes && operation == SLUICE_UPSERT);
        append(a, rows, count);
        append(b, rows, count);
        if (chance(r, 60))
            flush(b);
    }
    sluice_commit_info one = commit(a), many = commit(b);
    assert_int_equal(one.rows_in, many.rows_in);
    assert_int_equal(one.file_groups, many.file_groups);
    assert_int_equal(one.flushes, 0);
    sluice_writer_close(a);
    sluice_writer_close(b);
}

static void compact(const char *name)
{
    sl_table *t;
    char instant[SL_INSTANT_BYTES];
    size_t operations;
    struct sl_write_result result;
    ok(sl_table_open(table_path(name), NULL, NULL, &t));
    ok(sl_service_schedule(t, SL_COMPACT, SL_SELECT_ALL, instant, &operations));
    assert_true(operations > 0);
    ok(sl_service_execute(t, SL_COMPACT, instant, &result));
    sl_table_close(t);
}

static void run_history(struct rng *r, const struct history *h)
{
    const char *options[12] = {"sluice.flush.spill", "false"};
    for (size_t i = 0; h->flushed[i]; i++)
        options[2 + i] = h->flushed[i];
    create("plain", h->create);
    create("flushed", h->create);
    for (int commits = 0; commits < 4; commits++) {
        sluice_table *plain = open_with("plain", NULL), *flushed = open_with("flushed", options);
        write_both(r, plain, flushed, commits > 0 || chance(r, 50));
        sluice_table_close(plain);
        sluice_table_close(flushed);
        check_equal("plain", "flushed");
    }
    compact("flushed");
    check_equal("plain", "flushed");
    remove_folder(table_path("plain"));
    remove_folder(table_path("flushed"));
}

static void many_flushes_are_one_commit(void **state)
{
    (void)state;
    uint64_t seed = number_from_environment("SEED", (uint64_t)time(NULL));
    int rounds = getenv("SL_TEST_QUICK") ? 1 : 4;
    for (int round = 0; round < rounds; round++)
        for (size_t h = 0; h < sizeof histories / sizeof *histories; h++) {
            struct rng r = {seed + (uint64_t)round};
            fprintf(stderr, "SEED=%" PRIu64 " %s\n", seed + (uint64_t)round, histories[h].name);
            run_history(&r, &histories[h]);
        }
}

/* ---- what flushes -------------------------------------------------------------------------------------- */

static const char *const early[] = {"sluice.flush.spill", "false", NULL};

/* Enough rows to fill something: 100 of a kilobyte. */
static void append_kilobytes(sluice_writer *w, int first, char partition, size_t count)
{
    struct row rows[100];
    assert_true(count <= 100);
    for (size_t i = 0; i < count; i++)
        rows[i] = (struct row){first + (int)i, partition, 1, 1, false, 1000};
    append(w, rows, count);
}

static void full_buckets_are_flushed(void **state)
{
    (void)state;
    static const char *const options[] = {"sluice.flush.spill", "false", "sluice.flush.bucket.bytes", "60000",
                                          NULL};
    create("t", by_ts);
    sluice_table *t = open_with("t", options);
    sluice_writer *w = open_writer(t, SLUICE_UPSERT);
    append_kilobytes(w, 0, 'a', 50); /* about 25 in each bucket */
    assert_int_equal(files_with("t", 'a', ".log.parquet", NULL), 0);
    append_kilobytes(w, 100, 'a', 100);
    assert_int_equal(files_with("t", 'a', "_1.log.parquet", NULL), 2);
    append_kilobytes(w, 200, 'a', 10);
    check_rows("t", ""); /* nothing is visible yet */
    sluice_commit_info info = commit(w);
    assert_int_equal(info.flushes, 2);
    assert_int_equal(info.files, 4);
    assert_int_equal(info.file_groups, 2);
    assert_int_equal(info.rows_written, 160);
    sluice_writer_close(w);
    sluice_table_close(t);
}

/* The pool runs dry while rows come for b: the largest group that is idle goes, not b's. */
static void idle_buckets_are_preempted(void **state)
{
    (void)state;
    static const char *const options[] = {"sluice.flush.spill", "false", "sluice.flush.task.bytes", "150000",
                                          NULL};
    create("t", by_ts);
    sluice_table *t = open_with("t", options);
    sluice_writer *w = open_writer(t, SLUICE_UPSERT);
    append_kilobytes(w, 0, 'a', 80);
    append_kilobytes(w, 0, 'b', 20);
    append_kilobytes(w, 0, 'c', 5);
    assert_int_equal(files_with("t", 'a', ".log.parquet", NULL), 0);
    append_kilobytes(w, 100, 'b', 50);
    assert_in_range(files_with("t", 'a', ".log.parquet", NULL), 1, 2);
    assert_int_equal(files_with("t", 'b', ".log.parquet", NULL), 0);
    assert_int_equal(files_with("t", 'c', ".log.parquet", NULL), 0);
    assert_int_equal(commit(w).rows_written, 155);
    sluice_writer_close(w);
    sluice_table_close(t);
}

/* The group that wants the rows goes last, also when it is the largest. */
static void busy_buckets_go_last(void **state)
{
    (void)state;
    static const char *const one_bucket[] = {"hoodie.bucket.index.num.buckets", "1", NULL};
    static const char *const options[] = {"sluice.flush.spill", "false", "sluice.flush.task.bytes", "150000",
                                          NULL};
    create("t", one_bucket);
    sluice_table *t = open_with("t", options);
    sluice_writer *w = open_writer(t, SLUICE_UPSERT);
    append_kilobytes(w, 0, 'b', 20);
    append_kilobytes(w, 0, 'a', 80);
    assert_int_equal(files_with("t", 'b', ".log.parquet", NULL), 0);
    append_kilobytes(w, 100, 'a', 50);
    assert_int_equal(files_with("t", 'b', ".log.parquet", NULL), 1);
    assert_int_equal(commit(w).rows_written, 150);
    sluice_writer_close(w);
    sluice_table_close(t);
}

static void rows_do_not_wait_for_ever(void **state)
{
    (void)state;
    static const char *const options[] = {"sluice.flush.spill", "false", "sluice.flush.interval.ms", "50",
                                          NULL};
    create("t", by_ts);
    sluice_table *t = open_with("t", options);
    sluice_writer *w = open_writer(t, SLUICE_UPSERT);
    append_kilobytes(w, 0, 'a', 20);
    sl_sleep_ms(60);
    assert_int_equal(files_with("t", 'a', ".log.parquet", NULL), 0);
    append_kilobytes(w, 0, 'b', 20);
    assert_int_equal(files_with("t", 'a', ".log.parquet", NULL), 2);
    assert_int_equal(files_with("t", 'b', ".log.parquet", NULL), 0);
    assert_int_equal(commit(w).flushes, 2);
    sluice_writer_close(w);
    sluice_table_close(t);
}

/* By default, and on copy-on-write tables always, what has no room is spilled: one file a group and commit. */
static void spilled_rows_make_one_run(void **state)
{
    (void)state;
    static const char *const tables[][4] = {{NULL}, {"hoodie.table.type", "COPY_ON_WRITE", NULL}};
    static const char *const options[][6] = {
        {"sluice.flush.task.bytes", "30000", NULL},
        {"sluice.flush.task.bytes", "30000", "sluice.flush.spill", "false", NULL},
    };
    for (int kind = 0; kind < 2; kind++) {
        create("t", tables[kind]);
        sluice_table *t = open_with("t", options[kind]);
        sluice_writer *w = open_writer(t, SLUICE_UPSERT);
        for (int i = 0; i < 5; i++)
            append_kilobytes(w, i * 100, 'a', 50);
        flush(w);
        assert_int_equal(files_with("t", 'a', ".parquet", NULL), 0);
        sluice_commit_info info = commit(w);
        assert_int_equal(info.rows_written, 250);
        assert_int_equal(info.files, 2);
        assert_int_equal(info.flushes, 0);
        assert_true(info.spilled_runs > 4);
        sluice_writer_close(w);
        sluice_table_close(t);
        remove_folder(table_path("t"));
    }
}

/* G-14: rows of a log are inserts where its group is new, updates where it was there before (spec/write-path.md 5.1). */
static void stats_of_logs(void **state)
{
    (void)state;
    static const char *const one_bucket[] = {"hoodie.bucket.index.num.buckets", "1", NULL};
    sl_table *read;
    sl_timeline timeline;
    create("t", one_bucket);
    sluice_table *t = open_with("t", early);
    for (int i = 0; i < 2; i++) {
        sluice_writer *w = open_writer(t, SLUICE_UPSERT);
        append_kilobytes(w, 2 * i, 'a', 3);
        commit(w);
        sluice_writer_close(w);
    }
    sluice_table_close(t);
    ok(sl_table_open(table_path("t"), NULL, NULL, &read));
    ok(sl_timeline_load(read, &timeline));
    assert_int_equal(timeline.count, 2);
    for (size_t i = 0; i < 2; i++) {
        json_t *written;
        ok(sl_instant_json(read, &timeline.instants[i], SL_COMPLETED, &written));
        const json_t *stats = json_object_get(json_object_get(written, "partitionToWriteStats"), "a");
        const json_t *stat = json_array_get(stats, 0);
        assert_int_equal(json_array_size(stats), 1);
        assert_int_equal(json_integer_value(json_object_get(stat, "numWrites")), 3);
        assert_int_equal(json_integer_value(json_object_get(stat, "numInserts")), i ? 0 : 3);
        assert_int_equal(json_integer_value(json_object_get(stat, "numUpdateWrites")), i ? 3 : 0);
        json_decref(written);
    }
    sl_timeline_free(&timeline);
    sl_table_close(read);
}

/* ---- versions and order -------------------------------------------------------------------------------- */

static void make_file(const char *table, char partition, const char *name)
{
    char path[800];
    snprintf(path, sizeof path, "%s/%c/%s", table_path(table), partition, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fclose(f);
}

/* G-4: each flush of an instant takes the next version, for both kinds; a version under which a file exists is skipped. */
static void versions_count_flushes(void **state)
{
    (void)state;
    static const char *const one_bucket[] = {"hoodie.table.ordering.fields", "ts",
                                             "hoodie.bucket.index.num.buckets", "1", NULL};
    struct row live = {1, 'a', 5, 1, false, 0}, dead = {2, 'a', 5, 1, true, 0};
    char name[300], taken[400];
    create("t", one_bucket);
    sluice_table *t = open_with("t", early);
    sluice_writer *w = open_writer(t, SLUICE_UPSERT);
    append(w, &live, 1);
    flush(w);
    assert_int_equal(files_with("t", 'a', "_1.log.parquet", name), 1);
    assert_int_equal(files_with("t", 'a', ".deletes.parquet", NULL), 0);

    snprintf(taken, sizeof taken, "%.*s_2.deletes.parquet", (int)(strlen(name) - strlen("_1.log.parquet")),
             name);
    make_file("t", 'a', taken);
    append(w, &live, 1);
    append(w, &dead, 1);
    flush(w);
    assert_int_equal(files_with("t", 'a', "_3.log.parquet", NULL), 1);
    assert_int_equal(files_with("t", 'a', "_3.deletes.parquet", NULL), 1);
    assert_int_equal(files_with("t", 'a', "_2.", NULL), 1);
    append(w, &dead, 1);
    sluice_commit_info info = commit(w);
    assert_int_equal(files_with("t", 'a', "_4.deletes.parquet", NULL), 1);
    assert_int_equal(files_with("t", 'a', "_4.log.parquet", NULL), 0);
    assert_int_equal(info.files, 4);
    assert_int_equal(info.rows_deleted, 2);

    append(w, &live, 1); /* the next instant counts from 1 again */
    commit(w);
    assert_int_equal(files_with("t", 'a', "_1.log.parquet", NULL), 2);
    sluice_writer_close(w);
    sluice_table_close(t);
}

/* The bounds of the group's files in the order of their names, which is that of versions. */
static void check_ranges_ascend(sluice_table *t, const char *kind, size_t count)
{
    char *text, last[32] = "";
    size_t i, seen = 0;
    sluice_error e;
    json_t *file;
    OK(sluice_table_describe(t, SLUICE_DESCRIBE_FILES, &text, &e));
    json_t *groups = json_loads(text, 0, NULL);
    const json_t *slices = json_object_get(json_array_get(groups, 0), "slices");
    json_array_foreach(json_object_get(json_array_get(slices, 0), "files"), i, file)
    {
        if (strcmp(json_string_value(json_object_get(file, "kind")), kind) != 0)
            continue;
        seen++;
        assert_true(strcmp(json_string_value(json_object_get(file, "min_key")), last) > 0);
        snprintf(last, sizeof last, "%s", json_string_value(json_object_get(file, "max_key")));
    }
    assert_int_equal(seen, count);
    json_decref(groups);
    sluice_free(text);
}

/* At hoodie.logfile.max.size data and delete log roll over to the next version together. */
static void large_flushes_roll_over(void **state)
{
    (void)state;
    enum { ROWS = 40000 };
    static const char *const one_bucket[] = {"hoodie.table.ordering.fields", "ts",
                                             "hoodie.bucket.index.num.buckets", "1", NULL};
    static const char *const small[] = {"sluice.flush.spill", "false", "hoodie.logfile.max.size", "1", NULL};
    struct row *rows = calloc(ROWS, sizeof *rows);
    for (int i = 0; i < ROWS; i++)
        rows[i] = (struct row){i * 7919 % ROWS, 'a', 1, 1, i % 2 == 0, 0};
    create("t", one_bucket);
    sluice_table *t = open_with("t", small);
    sluice_writer *w = open_writer(t, SLUICE_UPSERT);
    append(w, rows, ROWS);
    sluice_commit_info info = commit(w);
    sluice_writer_close(w);
    assert_int_equal(info.rows_written, ROWS / 2);
    assert_int_equal(info.rows_deleted, ROWS / 2);
    assert_int_equal(files_with("t", 'a', "_1.log.parquet", NULL), 1);
    assert_int_equal(files_with("t", 'a', "_1.deletes.parquet", NULL), 1);
    assert_int_equal(files_with("t", 'a', "_2.log.parquet", NULL), 1);
    assert_int_equal(files_with("t", 'a', ".log.parquet", NULL), 2);
    assert_int_equal(files_with("t", 'a', ".deletes.parquet", NULL), 2);
    check_ranges_ascend(t, "log", 2);
    check_ranges_ascend(t, "deletes", 2);
    assert_int_equal(line_count("t"), ROWS / 2);
    w = open_writer(t, SLUICE_DELETE); /* deletes alone */
    append(w, rows, ROWS);
    assert_true(commit(w).files > 1);
    sluice_writer_close(w);
    sluice_table_close(t);
    assert_int_equal(line_count("t"), 0);
    free(rows);
}

/* G-17: operands of one key in several flushes of one instant fold in the order of the flushes. */
static void flushes_fold_in_order(void **state)
{
    (void)state;
    static const struct {
        struct row rows[3];
        const char *expected;
    } cases[] = {
        {{{1, 'a', 5, 1, false, 0}, {1, 'a', 9, 2, true, 0}, {1, 'a', 7, 3, false, 0}}, ""},
        {{{1, 'a', 5, 1, false, 0}, {1, 'a', 0, 2, true, 0}, {1, 'a', 1, 3, false, 0}},
         "{\"id\":\"key-00001\",\"note\":\"\",\"p\":\"a\",\"ts\":5,\"v\":1}\n"},
        {{{1, 'a', 5, 1, false, 0}, {1, 'a', 5, 2, false, 0}, {1, 'a', 4, 3, false, 0}},
         "{\"id\":\"key-00001\",\"note\":\"\",\"p\":\"a\",\"ts\":5,\"v\":2}\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        create("t", by_ts);
        sluice_table *t = open_with("t", early);
        sluice_writer *w = open_writer(t, SLUICE_UPSERT);
        for (int k = 0; k < 3; k++) {
            append(w, &cases[i].rows[k], 1);
            flush(w);
        }
        commit(w);
        sluice_writer_close(w);
        sluice_table_close(t);
        check_rows("t", cases[i].expected);
        remove_folder(table_path("t"));
    }
}

/* hoodie.combine.before.upsert=false: duplicates are kept, and readers fold them. */
static void duplicates_can_be_kept(void **state)
{
    (void)state;
    static const char *const kept[] = {"hoodie.combine.before.upsert", "false", "sluice.flush.spill", "false",
                                       NULL};
    struct row rows[] = {{1, 'a', 5, 1, false, 0}, {1, 'a', 7, 2, false, 0}, {1, 'a', 6, 3, false, 0}},
               dead = {1, 'a', 9, 4, true, 0};
    create("t", by_ts);
    sluice_table *t = open_with("t", kept);
    sluice_writer *w = open_writer(t, SLUICE_UPSERT);
    append(w, rows, 3);
    assert_int_equal(commit(w).rows_written, 3);
    check_rows("t", "{\"id\":\"key-00001\",\"note\":\"\",\"p\":\"a\",\"ts\":7,\"v\":2}\n");
    append(w, rows, 3); /* rows and deletes of one key must not part: reduced all the same */
    append(w, &dead, 1);
    append(w, rows, 3);
    sluice_commit_info info = commit(w);
    assert_int_equal(info.rows_written, 0);
    assert_int_equal(info.rows_deleted, 1);
    check_rows("t", "");
    sluice_writer_close(w);
    sluice_table_close(t);
}

/* hoodie.combine.before.insert: off by default, in base files (whose duplicates are rows) and in logs (where readers fold them). */
static void inserts_are_combined_if_asked(void **state)
{
    (void)state;
    static const char *const settings[][3] = {{NULL}, {"hoodie.combine.before.insert", "true", NULL}};
    struct row rows[] = {{1, 'a', 5, 1, false, 0}, {1, 'a', 7, 2, false, 0}, {1, 'a', 6, 3, false, 0}};
    for (int combined = 0; combined < 2; combined++) {
        create("t", by_ts);
        sluice_table *t = open_with("t", settings[combined]);
        for (int logs = 0; logs < 2; logs++) {
            sluice_writer *w = open_writer(t, SLUICE_INSERT);
            append(w, rows, 3);
            assert_int_equal(commit(w).rows_written, combined ? 1 : 3);
            sluice_writer_close(w);
            assert_int_equal(line_count("t"), combined || logs ? 1 : 3);
        }
        assert_int_equal(files_with("t", 'a', ".log.parquet", NULL), 1);
        sluice_table_close(t);
        remove_folder(table_path("t"));
    }
}

/* ---- commits and refusals ------------------------------------------------------------------------------ */

static void one_writer_commits_often(void **state)
{
    (void)state;
    char before[32] = "";
    create("t", by_ts);
    sluice_table *t = open_with("t", early);
    sluice_writer *w = open_writer(t, SLUICE_UPSERT);
    for (int i = 0; i < 5; i++) {
        uint64_t rows, bytes;
        append_kilobytes(w, i * 10, 'a', 20); /* ten of them known already */
        if (i % 2)
            flush(w);
        sluice_writer_waiting(w, &rows, &bytes);
        assert_int_equal(rows, 20);
        assert_true(bytes > 20000);
        assert_int_equal(line_count("t"), i ? 10 + (size_t)i * 10 : 0);
        sluice_commit_info info = commit(w);
        assert_true(strcmp(info.instant, before) > 0);
        snprintf(before, sizeof before, "%s", info.instant);
        assert_int_equal(line_count("t"), 20 + i * 10);
        sluice_writer_waiting(w, &rows, &bytes);
        assert_int_equal(rows, 0);
    }
    assert_string_equal(commit(w).instant, ""); /* nothing waits: no instant */
    append_kilobytes(w, 500, 'a', 20);
    flush(w);
    sluice_writer_close(w); /* given up: what was flushed goes, what was committed stays */
    sluice_table_close(t);
    assert_int_equal(line_count("t"), 60);
}

/* Another writer is at work longer than this one waits: its rows are still there afterwards. */
static void a_busy_table_is_tried_again(void **state)
{
    (void)state;
    static const char *const hurried[] = {"hoodie.write.lock.wait_time_ms",
                                          "1",
                                          "sluice.flush.spill",
                                          "false",
                                          "sluice.flush.task.bytes",
                                          "30000",
                                          "sluice.flush.bucket.bytes",
                                          "10000",
                                          NULL};
    sluice_error e = {0};
    sluice_commit_info info = {.size = sizeof info};
    create("t", by_ts);
    sluice_table *t = open_with("t", early), *other = open_with("t", hurried);
    sluice_writer *w = open_writer(t, SLUICE_UPSERT), *waiting = open_writer(other, SLUICE_UPSERT);
    append_kilobytes(w, 0, 'b', 10);
    flush(w);                              /* opens its transaction */
    append_kilobytes(waiting, 0, 'a', 90); /* would be flushed several times: spilled */
    assert_int_equal(sluice_writer_commit(waiting, &info, &e), SLUICE_E_BUSY);
    assert_int_equal(sluice_writer_flush(waiting, &e), SLUICE_E_BUSY);
    commit(w);
    append_kilobytes(waiting, 90, 'a', 10);
    info = commit(waiting);
    assert_int_equal(info.rows_written, 100);
    assert_true(info.spilled_runs > 1);
    sluice_writer_close(w);
    sluice_writer_close(waiting);
    sluice_table_close(t);
    sluice_table_close(other);
    assert_int_equal(line_count("t"), 110);
}

/* A refusal comes before the first row of its batch is taken, and the writer goes on. */
static void refused_rows_leave_nothing(void **state)
{
    (void)state;
    static const char *const options[] = {"sluice.flush.task.bytes", "100000", "sluice.flush.spill", "false",
                                          NULL};
    struct row rows[] = {{1, 'a', 1, 1, false, 0}, {2, 'a', 1, 1, false, 200000}, {3, '/', 1, 1, false, 0}};
    sluice_error e = {0};
    create("t", by_ts);
    sluice_table *t = open_with("t", options);
    sluice_writer *w = open_writer(t, SLUICE_UPSERT);
    for (int bad = 1; bad < 3; bad++) {
        struct row both[] = {rows[0], rows[bad]};
        sl_batch *batch = batch_of(both, 2);
        assert_int_equal(writer_append(w, batch, &e), SLUICE_E_INPUT);
        assert_non_null(strstr(e.message, "input row 2: "));
        assert_non_null(strstr(e.message, bad == 1 ? "a record of 200" : "partition path"));
        sl_batch_unref(batch);
    }
    append(w, &(struct row){4, 'a', 1, 1, false, 0}, 1);
    assert_int_equal(commit(w).rows_written, 1);
    sluice_writer_close(w);
    sluice_table_close(t);
}

static void check_is_text(const char *message)
{
    assert_int_equal(sl_utf8_valid_prefix(message, strlen(message)), strlen(message));
}

/* Long values are cut between their characters: who puts a message into JSON (--reject) or reads it in Python fails on half ones. */
static void messages_are_text(void **state)
{
    (void)state;
    for (size_t before = 0; before < 3; before++) {
        char value[3000] = "xx";
        const sl_type *string;
        sl_builder *b;
        sl_array *paths;
        sluice_error e;
        for (size_t at = before; at + 3 < sizeof value; at += 3)
            memcpy(value + at, "\xe6\xbc\xa2", 4);
        ok(sl_type_new(SL_STRING, &string));
        ok(sl_builder_new(string, &b));
        ok(sl_builder_bytes(b, value, strlen(value)));
        ok(sl_builder_finish(b, &paths));
        sl_status refusal = partition_paths_check(paths);
        assert_int_equal(sl_status_code(refusal), SL_E_INPUT);
        check_is_text(sl_status_message(refusal));
        assert_int_equal(sluice_setting_check(value, "1", &e), SLUICE_E_INPUT);
        assert_in_range(strlen(e.message), sizeof e.message - 4, sizeof e.message - 1);
        check_is_text(e.message);
        sl_status_free(refusal);
        sl_array_unref(paths);
        sl_builder_free(b);
        sl_type_unref(string);
    }
}

/* Setting nulls for what is missing is no help against a column of another type. */
static void hints_fit_their_errors(void **state)
{
    (void)state;
    static const struct {
        const char *columns, *message, *hint;
    } cases[] = {
        {"id string, p string, ts boolean, v long, note string, _hoodie_is_deleted boolean",
         "column ts: boolean does not fit the table's long", ""},
        {"id string, p string, ts long, v long", "column note of the table is missing from the input",
         "-c hoodie.write.set.null.for.missing.columns=true writes null into missing columns"},
    };
    create("t", by_ts);
    sluice_table *t = open_with("t", NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const sl_type *schema;
        struct ArrowSchema arrow;
        sluice_writer *w;
        sluice_error e;
        ok(sl_schema_parse(cases[i].columns, &schema));
        export_schema(schema, &arrow);
        assert_int_equal(sluice_writer_open(t, SLUICE_UPSERT, &arrow, &w, &e), SLUICE_E_INPUT);
        assert_non_null(strstr(e.message, cases[i].message));
        assert_string_equal(e.hint, cases[i].hint);
        arrow.release(&arrow);
        sl_type_unref(schema);
    }
    sluice_table_close(t);
}

/* ---- memory -------------------------------------------------------------------------------------------- */

/* G-31: ten times the budget goes through, and the budget is kept to a quarter. */
static void memory_stays_in_the_budget(void **state)
{
    (void)state;
    enum { LIMIT = 4 << 20 };
    static const char *const spill[] = {"true", "false"};
    for (int kind = 0; kind < 2; kind++) {
        sl_budget budget = {.limit = LIMIT};
        sl_runtime runtime = {.budget = &budget};
        sl_properties options = {0};
        sl_table *t;
        sl_writer *w;
        struct sl_write_result result;
        create("t", by_ts);
        ok(sl_properties_set(&options, "sluice.flush.spill", spill[kind]));
        ok(sl_properties_set(&options, "sluice.flush.task.bytes", "1GiB")); /* no more than the budget has */
        ok(sl_table_open(table_path("t"), &options, &runtime, &t));
        struct row row = {0, 'a', 1, 1, false, 2000};
        sl_batch *one = batch_of(&row, 1);
        ok(sl_writer_open(t, SL_OP_UPSERT, one->schema, &w));
        sl_batch_unref(one);
        for (int i = 0; i < 10 * LIMIT / 2000 / 100; i++) {
            struct row rows[100];
            for (int k = 0; k < 100; k++)
                rows[k] = (struct row){(i * 100 + k) * 7919 % 10000, (char)('a' + k % 3), i, k, false, 2000};
            sl_batch *batch = batch_of(rows, 100);
            ok(sl_writer_append(w, batch));
            sl_batch_unref(batch);
        }
        ok(sl_writer_commit(w, &result));
        assert_true(kind ? result.flushes > 10 : result.spilled_runs > 10);
        sl_writer_close(w);
        sl_table_close(t);
        sl_properties_free(&options);
        assert_true(atomic_load(&budget.peak) > LIMIT / 4);
        assert_true(atomic_load(&budget.peak) <= LIMIT + LIMIT / 4);
        assert_int_equal(atomic_load(&budget.used), 0);
        remove_folder(table_path("t"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(many_flushes_are_one_commit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(full_buckets_are_flushed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(idle_buckets_are_preempted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(busy_buckets_go_last, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_do_not_wait_for_ever, set_up, tear_down),
        cmocka_unit_test_setup_teardown(spilled_rows_make_one_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stats_of_logs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(versions_count_flushes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(large_flushes_roll_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(flushes_fold_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(duplicates_can_be_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(inserts_are_combined_if_asked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_busy_table_is_tried_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_writer_commits_often, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refused_rows_leave_nothing, set_up, tear_down),
        cmocka_unit_test(messages_are_text),
        cmocka_unit_test_setup_teardown(hints_fit_their_errors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_stays_in_the_budget, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
