/* Lookups through one open handle: what others commit is seen, keys are bytes, partitions narrow, threads share the handle. */
#include "engine_support.h"

#include <pthread.h>
#include <sys/resource.h>

static char folder[200], path[256];
static const sl_type *schema;

static sluice_table *open_table(void)
{
    sluice_table *table;
    sluice_error e;
    OK(sluice_table_open(path, NULL, &table, &e));
    return table;
}

static sluice_table *new_table(const char *const *options)
{
    static int number;
    snprintf(path, sizeof path, "%s/%d", folder, number++);
    create_table(path, schema, options);
    return open_table();
}

static void write_line(sluice_table *t, enum sluice_operation operation, const char *json)
{
    sl_batch_builder b;
    sl_batch *batch;
    sluice_commit_info info;
    sluice_error e;
    ok(sl_batch_builder_init(&b, schema));
    ok(sl_batch_builder_json_line(&b, json, strlen(json)));
    ok(sl_batch_builder_finish(&b, &batch));
    sl_batch_builder_free(&b);
    OK(write_batch(t, operation, batch, &info, &e));
    sl_batch_unref(batch);
}

/* The values of column v for the keys, sorted, a line each. */
static char *values_of(sluice_table *t, const char *const *keys, size_t count,
                       const sluice_lookup_options *more)
{
    static const char *const columns[] = {"v"};
    sluice_lookup_options options = more ? *more : (sluice_lookup_options){0};
    struct ArrowArrayStream rows;
    struct text text = {0};
    sluice_error e;
    options.size = sizeof options;
    options.columns = columns;
    options.column_count = 1;
    text_append(&text, "", 0);
    OK(sluice_lookup(t, keys, count, &options, &rows, &e));
    OK(append_stream(&rows, &text, &e));
    return sorted_lines(&text);
}

static void value_is(sluice_table *t, const char *key, const char *want)
{
    char *have = values_of(t, &key, 1, NULL);
    assert_string_equal(have, want);
    free(have);
}

#define ONE "{\"v\":1}\n"
#define TWO "{\"v\":2}\n"

static void commits_of_others_are_seen(void **state)
{
    (void)state;
    sluice_table *reader = new_table(lsm_options("k", NULL)), *writer = open_table();
    sluice_commit_info info = {.size = sizeof info};
    sluice_error e;
    value_is(reader, "a", "");
    write_line(writer, SLUICE_UPSERT, "{\"k\":\"a\",\"p\":\"x\",\"v\":1}");
    value_is(reader, "a", ONE);
    value_is(reader, "a", ONE);
    write_line(writer, SLUICE_UPSERT, "{\"k\":\"a\",\"p\":\"x\",\"v\":2}");
    value_is(reader, "a", TWO);
    OK(sluice_service_run(writer, SLUICE_COMPACT, NULL, &info, &e));
    value_is(reader, "a", TWO);
    write_line(writer, SLUICE_DELETE, "{\"k\":\"a\",\"p\":\"x\",\"v\":2}");
    value_is(reader, "a", "");
    sluice_table_close(reader);
    sluice_table_close(writer);
}

/* By event time the newest log does not decide. */
static void greater_values_win(void **state)
{
    (void)state;
    sluice_table *t = new_table(lsm_options("k", PAIRS("hoodie.table.ordering.fields", "v")));
    write_line(t, SLUICE_UPSERT, "{\"k\":\"a\",\"p\":\"x\",\"v\":2}");
    write_line(t, SLUICE_UPSERT, "{\"k\":\"a\",\"p\":\"x\",\"v\":1}");
    value_is(t, "a", TWO);
    sluice_table_close(t);
}

static void undone_commits_are_not_seen(void **state)
{
    (void)state;
    sluice_table *reader = new_table(lsm_options("k", NULL)), *writer = open_table();
    sluice_error e;
    char *timeline, instant[32] = "";
    write_line(writer, SLUICE_UPSERT, "{\"k\":\"a\",\"p\":\"x\",\"v\":1}");
    write_line(writer, SLUICE_UPSERT, "{\"k\":\"a\",\"p\":\"x\",\"v\":2}");
    value_is(reader, "a", TWO);
    OK(sluice_table_describe(writer, SLUICE_DESCRIBE_TIMELINE, &timeline, &e));
    const char *at = timeline;
    for (const char *next = at; (next = strstr(next, "\"instant\":\""));)
        at = next += strlen("\"instant\":\"");
    memcpy(instant, at, 17);
    sluice_free(timeline);
    OK(sluice_table_rollback(writer, instant, NULL, NULL, &e));
    value_is(reader, "a", ONE);
    sluice_table_close(reader);
    sluice_table_close(writer);
}

static void keys_are_bytes(void **state)
{
    (void)state;
    sluice_table *t = new_table(lsm_options("k", NULL));
    const char *key = "a\0b";
    size_t bytes = 3;
    write_line(t, SLUICE_UPSERT, "{\"k\":\"a\\u0000b\",\"p\":\"x\",\"v\":1}");
    write_line(t, SLUICE_UPSERT, "{\"k\":\"a\",\"p\":\"x\",\"v\":2}");
    char *have = values_of(t, &key, 1, &(sluice_lookup_options){.key_bytes = &bytes});
    assert_string_equal(have, ONE);
    free(have);
    value_is(t, key, TWO);
    value_is(t, "", "");
    have = values_of(t, NULL, 0, NULL);
    assert_string_equal(have, "");
    free(have);
    sluice_table_close(t);
}

static void partitions_narrow(void **state)
{
    (void)state;
    static const char *const partitioned[] = {"hoodie.table.recordkey.fields", "k",
                                              "hoodie.table.partition.fields", "p", NULL};
    static const char *const names[] = {"x", "p=y", "nowhere"};
    sluice_table *t = new_table(partitioned);
    const char *key = "a";
    write_line(t, SLUICE_UPSERT, "{\"k\":\"a\",\"p\":\"x\",\"v\":1}");
    write_line(t, SLUICE_UPSERT, "{\"k\":\"a\",\"p\":\"y\",\"v\":2}");
    value_is(t, "a", ONE TWO);
    static const char *const found[] = {ONE TWO, ONE, TWO};
    for (size_t i = 0; i < 3; i++) { /* both, the path, the value */
        char *have = values_of(
            t, &key, 1,
            &(sluice_lookup_options){.partitions = names + (i == 2), .partition_count = i == 0 ? 2 : 1});
        assert_string_equal(have, found[i]);
        free(have);
    }
    struct ArrowArrayStream rows;
    sluice_error e;
    sluice_lookup_options options = {.size = sizeof options, .partitions = names, .partition_count = 3};
    assert_int_equal(sluice_lookup(t, &key, 1, &options, &rows, &e), SLUICE_E_NOT_FOUND);
    assert_non_null(strstr(e.message, "there is no partition \"nowhere\""));
    sluice_table_close(t);
}

static void what_cannot_be_looked_up_is_said(void **state)
{
    (void)state;
    static const char *const columns[] = {"nope"};
    const char *key = "a";
    struct ArrowArrayStream rows;
    sluice_error e;
    sluice_table *t = new_table(lsm_options("k", NULL));
    sluice_lookup_options options = {.size = sizeof options, .columns = columns, .column_count = 1};
    assert_int_equal(sluice_lookup(t, &key, 1, &options, &rows, &e), SLUICE_E_INPUT);
    assert_non_null(strstr(e.message, "nope"));
    sluice_table_close(t);
}

/* A file that vanishes between the listing and its opening, as when its commit is rolled back: the table is listed again. */
static void vanished_files_are_looked_for_again(void **state)
{
    (void)state;
    sluice_table *t = new_table(lsm_options("k", NULL));
    char *files, name[256] = "", full[600];
    sluice_error e;
    write_line(t, SLUICE_UPSERT, "{\"k\":\"a\",\"p\":\"x\",\"v\":1}");
    /* The view is kept from here on, and no file is open yet. */
    free(values_of(t, NULL, 0, NULL));
    OK(sluice_table_describe(t, SLUICE_DESCRIBE_FILES, &files, &e));
    const char *at = strstr(files, "\"name\":\"");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "\"name\":\"%255[^\"]", name), 1);
    sluice_free(files);
    snprintf(full, sizeof full, "%s/%s", path, name);
    assert_int_equal(unlink(full), 0);
    value_is(t, "a", "");
    sluice_table_close(t);
}

/* ---- memory -------------------------------------------------------------------------------------------- */

static int look(sluice_table *t, const char *where, sluice_error *e)
{
    const char *key = "a";
    sluice_scan *scan = NULL;
    struct ArrowArrayStream rows;
    struct ArrowArray batch;
    int code = where ? sluice_scan_new(t, &scan, e) : sluice_lookup(t, &key, 1, NULL, &rows, e);
    if (where && !code)
        code = sluice_scan_where(scan, where, e);
    if (where && !code)
        code = sluice_scan_stream(scan, &rows, e);
    if (!code) {
        bool failed;
        do {
            failed = rows.get_next(&rows, &batch) != 0;
            if (!failed && batch.release)
                batch.release(&batch);
            else if (!failed)
                break;
        } while (!failed);
        rows.release(&rows);
        code = failed ? SLUICE_E_MEMORY : 0; /* the stream's own codes are tested elsewhere */
    }
    sluice_scan_free(scan);
    return code;
}

/* Whichever allocation fails, the call says so, nothing leaks, and the handle goes on. What pruning could not ask for want of
 * memory is read. */
/* A slice may have more logs than a process may have files open, and each of them the key. */
static void logs_may_be_more_than_open_files(void **state)
{
    (void)state;
    enum { LOGS = 80, FILES = 48 };
    struct rlimit before, few;
    char line[64], want[64];
    sluice_table *t = new_table(lsm_options("k", PAIRS("hoodie.table.ordering.fields", "v")));
    for (int i = 0; i < LOGS; i++) {
        snprintf(line, sizeof line, "{\"k\":\"a\",\"v\":%d}", i);
        write_line(t, SLUICE_UPSERT, line);
    }
    snprintf(want, sizeof want, "{\"v\":%d}\n", LOGS - 1);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = FILES;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    value_is(t, "a", want);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    sluice_table_close(t);
}

/* Slices are read and compacted by as many threads as find files to open. */
static void slices_share_the_open_files(void **state)
{
    (void)state;
    enum { SLICES = 6, LOGS = 20, FILES = 32 };
    static const char *const many_threads[] = {"sluice.threads", "16", NULL};
    struct rlimit before, few;
    sluice_error e;
    sluice_commit_info info = {.size = sizeof info};
    char *rows[2] = {NULL, NULL}, line[64];
    sluice_table *t = new_table(lsm_options("k", PAIRS("hoodie.table.partition.fields", "p")));
    for (int i = 0; i < LOGS * SLICES; i++) {
        snprintf(line, sizeof line, "{\"k\":\"%d\",\"p\":\"%d\",\"v\":%d}", i % SLICES, i % SLICES, i);
        write_line(t, SLUICE_UPSERT, line);
    }
    sluice_table_close(t);
    OK(sluice_table_open(path, many_threads, &t, &e));
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = FILES;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    OK(read_rows(t, &(struct query){0}, &rows[0], &e));
    OK(sluice_service_run(t, SLUICE_COMPACT, NULL, &info, &e));
    OK(read_rows(t, &(struct query){0}, &rows[1], &e));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(info.file_groups, SLICES);
    assert_string_equal(rows[0], rows[1]);
    free(rows[0]);
    free(rows[1]);
    sluice_table_close(t);
}

static void survives_failing_allocations(void **state)
{
    (void)state;
    static const char *const questions[] = {NULL, "k = 'a'", "v > 1", "v > 1 and k in ('a', 'b')"};
    static const char *const one_thread[] = {"sluice.threads", "1", NULL};
    sluice_table *t = new_table(lsm_options("k", NULL));
    sluice_error e;
    write_line(t, SLUICE_UPSERT, "{\"k\":\"a\",\"p\":\"x\",\"v\":1}");
    write_line(t, SLUICE_UPSERT, "{\"k\":\"a\",\"p\":\"x\",\"v\":2}");
    write_line(t, SLUICE_DELETE, "{\"k\":\"b\",\"p\":\"x\",\"v\":2}");
    sluice_table_close(t);
    OK(sluice_table_open(path, one_thread, &t, &e));
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        int code = 1;
        for (uint64_t n = 1; code; n += 1 + n / 40) {
            sl_test_fail_allocation(n, true);
            code = look(t, questions[i], &e);
            sl_test_fail_allocation(0, false);
            if (code)
                assert_int_equal(code, SLUICE_E_MEMORY);
        }
        value_is(t, "a", TWO);
    }
    sluice_table_close(t);
}

/* ---- threads ------------------------------------------------------------------------------------------- */

struct reader {
    sluice_table *table;
    atomic_bool *stop;
    int last;
    bool went_back;
};

/* Values only ever grow: a smaller one would be an old view after a new one. */
static void *read_on(void *argument)
{
    struct reader *r = argument;
    const char *key = "a";
    while (!atomic_load(r->stop)) {
        char *text = values_of(r->table, &key, 1, NULL);
        int value = *text ? atoi(text + strlen("{\"v\":")) : 0;
        r->went_back = r->went_back || value < r->last;
        r->last = value;
        free(text);
    }
    return NULL;
}

static void threads_share_a_handle(void **state)
{
    (void)state;
    enum { READERS = 3, COMMITS = 20 };
    sluice_table *shared = new_table(lsm_options("k", NULL)), *writer = open_table();
    struct reader readers[READERS];
    pthread_t threads[READERS];
    atomic_bool stop;
    atomic_init(&stop, false);
    for (int i = 0; i < READERS; i++) {
        readers[i] = (struct reader){.table = shared, .stop = &stop};
        assert_int_equal(pthread_create(&threads[i], NULL, read_on, &readers[i]), 0);
    }
    for (int v = 1; v <= COMMITS; v++) {
        char json[64];
        snprintf(json, sizeof json, "{\"k\":\"a\",\"p\":\"x\",\"v\":%d}", v);
        write_line(writer, SLUICE_UPSERT, json);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < READERS; i++) {
        pthread_join(threads[i], NULL);
        assert_false(readers[i].went_back);
    }
    value_is(shared, "a", "{\"v\":20}\n");
    sluice_table_close(shared);
    sluice_table_close(writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commits_of_others_are_seen),
        cmocka_unit_test(greater_values_win),
        cmocka_unit_test(undone_commits_are_not_seen),
        cmocka_unit_test(keys_are_bytes),
        cmocka_unit_test(partitions_narrow),
        cmocka_unit_test(what_cannot_be_looked_up_is_said),
        cmocka_unit_test(vanished_files_are_looked_for_again),
        cmocka_unit_test(logs_may_be_more_than_open_files),
        cmocka_unit_test(slices_share_the_open_files),
        cmocka_unit_test(survives_failing_allocations),
        cmocka_unit_test(threads_share_a_handle),
    };
    temporary_folder(folder, sizeof folder);
    ok(sl_schema_parse("k string, p string, v int", &schema));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sl_type_unref(schema);
    remove_folder(folder);
    return failed;
}
