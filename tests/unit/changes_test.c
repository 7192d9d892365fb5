/*
 * Change data logs (spec/lsm-layout.md 4.3). What they say, played over the base files before, gives those after
 * (changes_support.h), for random writes to tables of every mode; which writes have one, and what commits say about them.
 */
#include "table_folder.h"

#include "changes_support.h"
#include "service/service.h"
#include <jansson.h>

#define COLUMNS                                                                                              \
    "k string not null, ts long, v string, tags list<string>, s struct<a: int not null, b: string>, "        \
    "_hoodie_is_deleted boolean"

static struct rng rng;

/* ---- tables -------------------------------------------------------------------------------------------- */

static const char *const modes[] = {"op_key_only", "data_before", "data_before_after"};

/* key, value, ..., NULL besides the usual. */
static void create(const char *type, const char *mode, const char *const *more)
{
    const char *options[32] = {"hoodie.table.recordkey.fields",
                               "k",
                               "hoodie.table.storage.layout",
                               "lsm_tree",
                               "hoodie.table.type",
                               type,
                               "hoodie.table.cdc.enabled",
                               "true",
                               "hoodie.table.cdc.supplemental.logging.mode",
                               mode};
    size_t n = 10;
    remove_folder(path); /* of a test that failed */
    for (size_t i = 0; more && more[i]; i++)
        options[n++] = more[i];
    options[n] = NULL;
    create_table_of(path, COLUMNS, options);
}

static void add_row(sl_batch_builder *b, int key, int64_t ts, const char *v, bool is_delete)
{
    char text[24];
    ok(sl_builder_bytes(b->columns[0], text, (size_t)snprintf(text, sizeof text, "k%05d", key)));
    ok(sl_builder_integer(b->columns[1], ts));
    ok(v ? sl_builder_bytes(b->columns[2], v, strlen(v)) : sl_builder_null(b->columns[2]));
    for (int64_t i = ts % 3; i > 0; i--)
        ok(sl_builder_bytes(sl_builder_child(b->columns[3], 0), text, 3));
    ok(ts % 4 ? sl_builder_close(b->columns[3]) : sl_builder_null(b->columns[3]));
    ok(sl_builder_integer(sl_builder_child(b->columns[4], 0), key));
    ok(sl_builder_null(sl_builder_child(b->columns[4], 1)));
    ok(sl_builder_close(b->columns[4]));
    ok(sl_builder_bool(b->columns[5], is_delete));
}

static void begin_rows(sl_batch_builder *b)
{
    const sl_type *schema;
    ok(sl_schema_parse(COLUMNS, &schema));
    ok(sl_batch_builder_init(b, schema));
    sl_type_unref(schema);
}

/* Writes what was built. */
static void commit(sluice_table *t, enum sluice_operation operation, sl_batch_builder *b,
                   sluice_commit_info *info)
{
    sluice_error e;
    sl_batch *batch;
    ok(sl_batch_builder_finish(b, &batch));
    OK(write_batch(t, operation, batch, info, &e));
    sl_batch_unref(batch);
    sl_batch_builder_free(b);
}

/* Rows of the keys from .. to-1 by `step`. */
static void write_keys(enum sluice_operation operation, int from, int to, int step, int64_t ts,
                       const char *const *options, sluice_commit_info *info)
{
    sl_batch_builder b;
    sluice_table *t;
    sluice_error e;
    begin_rows(&b);
    for (int key = from; key < to; key += step)
        add_row(&b, key, ts, "text", false);
    OK(sluice_table_open(path, options, &t, &e));
    commit(t, operation, &b, info);
    sluice_table_close(t);
}

static void compact(sl_table *table)
{
    char instant[SL_INSTANT_BYTES];
    size_t operations;
    struct sl_write_result result;
    ok(sl_service_schedule(table, SL_COMPACT, SL_SELECT_ALL, instant, &operations));
    if (operations)
        ok(sl_service_execute(table, SL_COMPACT, instant, &result));
}

static sl_table *open_table(void)
{
    sl_table *table;
    ok(sl_table_open(path, NULL, NULL, &table));
    return table;
}

static size_t check_table_changes(void)
{
    sl_table *table = open_table();
    size_t count = check_changes(table, "");
    sl_table_close(table);
    return count;
}

static void check_soundness(void)
{
    sl_table *table = open_table();
    json_t *report;
    ok(sl_doctor(table, true, &report));
    if (json_integer_value(json_object_get(report, "errors")))
        fail_msg("%s", json_dumps(report, 0));
    json_decref(report);
    sl_table_close(table);
}

/* ---- random writes ------------------------------------------------------------------------------------- */

static void random_write(sluice_table *t, int keys)
{
    static const enum sluice_operation operations[] = {SLUICE_UPSERT, SLUICE_UPSERT, SLUICE_UPSERT,
                                                       SLUICE_DELETE, SLUICE_INSERT};
    enum sluice_operation operation = operations[pick(&rng, 5)];
    sluice_commit_info info;
    sl_batch_builder b;
    begin_rows(&b);
    int first = (int)pick(&rng, keys), range = 1 + (int)pick(&rng, keys - first);
    for (int64_t i = pick(&rng, chance(&rng, 50) ? 10 : 2 * keys); i >= 0; i--)
        add_row(&b, first + (int)pick(&rng, range), pick(&rng, 12), chance(&rng, 30) ? NULL : "new",
                operation == SLUICE_UPSERT && chance(&rng, 15));
    commit(t, operation, &b, &info);
}

/* Little data takes the ways of much: pages that are copied, files that roll over, merges in passes. */
static void open_random(sluice_table **out)
{
    const char *options[] = {"sluice.parquet.page.rows",
                             chance(&rng, 50) ? "3" : "20000",
                             "hoodie.parquet.block.size",
                             chance(&rng, 50) ? "2000" : "1000000",
                             "sluice.memory",
                             chance(&rng, 30) ? "100KiB" : "1GiB",
                             "hoodie.logfile.max.size",
                             chance(&rng, 30) ? "2000" : "1000000",
                             "sluice.merge.late",
                             chance(&rng, 50) ? "true" : "false",
                             NULL};
    sluice_error e;
    OK(sluice_table_open(path, options, out, &e));
}

static void changes_lead_from_base_to_base(void **state)
{
    uint64_t seed = number_from_environment("SEED", (uint64_t)time(NULL));
    uint64_t rounds = number_from_environment("ROUNDS", getenv("SL_TEST_QUICK") ? 12 : 40);
    size_t told = 0;
    (void)state;
    for (uint64_t round = 0; round < rounds; round++) {
        rng.state = seed + round;
        printf("SEED=%" PRIu64 "\r", rng.state);
        bool cow = chance(&rng, 50), event_time = chance(&rng, 70), partial = chance(&rng, 25);
        const char *more[] = {"hoodie.bucket.index.num.buckets",
                              chance(&rng, 50) ? "1" : "2",
                              "hoodie.index.type",
                              chance(&rng, 20) ? "SIMPLE" : "BUCKET",
                              partial ? "hoodie.table.partial.update.mode" : "hoodie.table.name",
                              partial ? "IGNORE_DEFAULTS" : "t",
                              event_time ? "hoodie.table.ordering.fields" : NULL,
                              "ts",
                              NULL};
        int keys = 1 + (int)pick(&rng, chance(&rng, 50) ? 12 : 400);
        create(cow ? "COPY_ON_WRITE" : "MERGE_ON_READ", modes[pick(&rng, 3)], more);
        for (int i = 0; i < 8; i++) {
            sluice_table *t;
            open_random(&t);
            random_write(t, keys);
            sluice_table_close(t);
            if (!cow && chance(&rng, 40)) {
                sl_table *table = open_table();
                compact(table);
                sl_table_close(table);
            }
        }
        told += check_table_changes();
        check_soundness();
        remove_folder(path);
    }
    assert_true(told > rounds);
}

/* ---- what commits say ---------------------------------------------------------------------------------- */

/* The stats of a completed instant; the caller drops them. */
static json_t *stats_of(const char *instant)
{
    sl_table *table = open_table();
    sl_timeline timeline;
    json_t *commit = NULL, *stats = json_array(), *list;
    const char *partition;
    ok(sl_timeline_load(table, &timeline));
    for (size_t i = 0; i < timeline.count; i++)
        if (strcmp(timeline.instants[i].requested, instant) == 0)
            ok(sl_instant_json(table, &timeline.instants[i], SL_COMPLETED, &commit));
    assert_non_null(commit);
    json_object_foreach(json_object_get(commit, "partitionToWriteStats"), partition, list)
        json_array_extend(stats, list);
    json_decref(commit);
    sl_timeline_free(&timeline);
    sl_table_close(table);
    return stats;
}

/* Change data logs that the instant's commit names. */
static size_t logs_of(const char *instant)
{
    json_t *stats = stats_of(instant), *stat;
    size_t i, count = 0;
    json_array_foreach(stats, i, stat) count += json_object_size(json_object_get(stat, "cdcStats"));
    json_decref(stats);
    return count;
}

static void only_rewritten_files_have_changes(void **state)
{
    static const char *const one[] = {"hoodie.bucket.index.num.buckets", "1", "hoodie.table.ordering.fields",
                                      "ts", NULL};
    sluice_commit_info info;
    (void)state;
    create("COPY_ON_WRITE", "data_before_after", one);
    write_keys(SLUICE_INSERT, 0, 100, 1, 5, NULL, &info); /* a new group: its file says it all */
    assert_int_equal(logs_of(info.instant), 0);
    write_keys(SLUICE_UPSERT, 50, 60, 1, 6, NULL, &info);
    assert_int_equal(logs_of(info.instant), 1);
    assert_int_equal(check_table_changes(), 10);
    /* All rows are late: written anew without a change. Readers take a commit without a log for broken. */
    write_keys(SLUICE_UPSERT, 50, 60, 1, 1, NULL, &info);
    assert_int_equal(logs_of(info.instant), 1);
    assert_int_equal(check_table_changes(), 10);
    write_keys(SLUICE_INSERT_OVERWRITE, 0, 5, 1, 7, NULL, &info); /* a new group hides the old one */
    assert_int_equal(logs_of(info.instant), 0);
    remove_folder(path);

    create("MERGE_ON_READ", "data_before_after", one);
    write_keys(SLUICE_INSERT, 0, 100, 1, 5, NULL, &info);
    write_keys(SLUICE_UPSERT, 50, 60, 1, 6, NULL, &info);
    assert_int_equal(logs_of(info.instant), 0); /* the log is the change */
    remove_folder(path);
}

static void tables_without_changes_write_as_before(void **state)
{
    static const char *const off[] = {"hoodie.bucket.index.num.buckets", "1", "hoodie.table.cdc.enabled",
                                      "false", NULL};
    sluice_commit_info info;
    (void)state;
    create("COPY_ON_WRITE", "data_before_after", off);
    write_keys(SLUICE_INSERT, 0, 100, 1, 5, NULL, &info);
    write_keys(SLUICE_UPSERT, 50, 60, 1, 6, NULL, &info);
    json_t *stats = stats_of(info.instant);
    assert_true(json_is_null(json_object_get(json_array_get(stats, 0), "cdcStats")));
    json_decref(stats);
    remove_folder(path);
}

/* Versions count on from 1; their keys ascend through the files. */
static void full_logs_roll_over(void **state)
{
    static const char *const one[] = {"hoodie.bucket.index.num.buckets", "1", NULL};
    static const char *const small[] = {"hoodie.logfile.max.size", "1", NULL};
    sluice_commit_info info;
    (void)state;
    for (size_t m = 0; m < 3; m++) {
        create("COPY_ON_WRITE", modes[m], one);
        write_keys(SLUICE_INSERT, 0, 60000, 1, 5, NULL, &info);
        write_keys(SLUICE_UPSERT, 1, 60000, 2, 6, small, &info);
        size_t logs = logs_of(info.instant);
        assert_true(logs >= 2);
        json_t *stats = stats_of(info.instant), *bytes;
        const char *name;
        size_t version = 0;
        json_object_foreach(json_object_get(json_array_get(stats, 0), "cdcStats"), name, bytes)
        {
            struct sl_file_name parts;
            sl_file_name_parse(name, &parts);
            assert_int_equal(parts.kind, SL_FILE_CDC);
            assert_int_equal(parts.version, ++version);
            assert_string_equal(parts.instant, info.instant);
        }
        json_decref(stats);
        assert_int_equal(check_table_changes(), 30000);
        remove_folder(path);
    }
}

/* What an upsert leaves alone goes from file to file as compressed pages, changes or not. */
static void pages_are_copied_all_the_same(void **state)
{
    static const char *const one[] = {"hoodie.bucket.index.num.buckets", "1", NULL};
    sluice_commit_info info;
    sl_read_stats reads = {0};
    (void)state;
    create("COPY_ON_WRITE", "data_before_after", one);
    write_keys(SLUICE_INSERT, 0, 50000, 1, 5, NULL, &info);
    sl_table *table = open_table();
    table->reads = &reads;
    struct sl_write_result result;
    sl_writer *w;
    sl_batch_builder b;
    sl_batch *batch;
    begin_rows(&b);
    add_row(&b, 30000, 6, "updated", false);
    ok(sl_batch_builder_finish(&b, &batch));
    ok(sl_writer_open(table, SL_OP_UPSERT, batch->schema, &w));
    ok(sl_writer_append(w, batch));
    ok(sl_writer_commit(w, &result));
    sl_writer_close(w);
    sl_batch_unref(batch);
    sl_batch_builder_free(&b);
    assert_true(atomic_load(&reads.rows_copied) > 25000);
    assert_int_equal(check_changes(table, ""), 1);
    sl_table_close(table);
    remove_folder(path);
}

/* A log's stat tells what the log stands on: spec/log-format.md 7. */
static void logs_name_the_slice_before(void **state)
{
    static const char *const one[] = {"hoodie.bucket.index.num.buckets", "1", "hoodie.table.ordering.fields",
                                      "ts", NULL};
    sluice_commit_info first, info;
    (void)state;
    create("MERGE_ON_READ", "data_before", one);
    write_keys(SLUICE_INSERT, 0, 10, 1, 5, NULL, &first);
    json_t *stats = stats_of(first.instant);
    char base[256];
    snprintf(base, sizeof base, "%s", text_of(json_array_get(stats, 0), "path"));
    json_decref(stats);
    json_t *logs = json_array();
    for (int i = 0; i < 3; i++) {
        write_keys(i == 1 ? SLUICE_DELETE : SLUICE_UPSERT, i, i + 4, 1, 6 + i, NULL, &info);
        stats = stats_of(info.instant);
        const json_t *stat = json_array_get(stats, 0);
        json_array_append_new(logs, json_string(text_of(stat, "path")));
        assert_string_equal(text_of(stat, "prevCommit"), first.instant);
        assert_string_equal(text_of(stat, "baseFile"), base);
        if (!json_equal(json_object_get(stat, "logFiles"), logs))
            fail_msg("%s, not %s", json_dumps(json_object_get(stat, "logFiles"), 0), json_dumps(logs, 0));
        json_decref(stats);
    }
    json_decref(logs);
    remove_folder(path);
}

/* Stats travel as JSON where tasks run elsewhere. */
static void stats_of_tasks_keep_what_they_tell(void **state)
{
    struct sl_cdc_file cdc[] = {{(char *)(uintptr_t) "p/f-0_1-0-0_1_1.cdc.parquet", 12},
                                {(char *)(uintptr_t) "p/f-0_1-0-0_1_2.cdc.parquet", 34}};
    sl_write_stat stat = {.partition = (char *)(uintptr_t) "p",
                          .path = (char *)(uintptr_t) "p/f-0_1-0-0_1.parquet",
                          .file_id = (char *)(uintptr_t) "f-0",
                          .prev_commit = (char *)(uintptr_t) "0",
                          .cdc = cdc,
                          .cdc_count = 2};
    json_t *json, *again;
    sl_write_stat parsed;
    (void)state;
    ok(sl_write_stat_json(&stat, &json));
    ok(sl_write_stat_parse(json, &parsed));
    ok(sl_write_stat_json(&parsed, &again));
    assert_int_equal(parsed.cdc_count, 2);
    assert_int_equal(parsed.cdc[1].bytes, 34);
    assert_true(json_equal(json, again));
    json_decref(again);
    json_decref(json);
    sl_write_stat_free(&parsed);

    stat.cdc_count = 0;
    stat.is_log = true;
    stat.base_file = (char *)(uintptr_t) "base.parquet";
    ok(sl_strings_add(&stat.logs_before, "older.log.parquet"));
    ok(sl_write_stat_json(&stat, &json));
    ok(sl_write_stat_parse(json, &parsed));
    assert_string_equal(parsed.base_file, "base.parquet");
    assert_int_equal(parsed.logs_before.count, 1);
    assert_string_equal(parsed.logs_before.items[0], "older.log.parquet");
    json_decref(json);
    sl_strings_free(&stat.logs_before);
    sl_write_stat_free(&parsed);
}

/* ---- other eyes ---------------------------------------------------------------------------------------- */

static size_t change_logs_there(void)
{
    sl_table *table = open_table();
    sl_listing listing;
    size_t count = 0;
    ok(sl_storage_list(table->storage, table->path, &listing));
    for (size_t i = 0; i < listing.count; i++)
        count += strstr(listing.entries[i].name, ".cdc.parquet") != NULL;
    sl_listing_free(&listing);
    sl_table_close(table);
    return count;
}

static void rollback_takes_the_changes_along(void **state)
{
    static const char *const one[] = {"hoodie.bucket.index.num.buckets", "1", NULL};
    char rollback[SL_INSTANT_BYTES];
    size_t files;
    sluice_commit_info info;
    (void)state;
    create("COPY_ON_WRITE", "data_before", one);
    write_keys(SLUICE_INSERT, 0, 10, 1, 5, NULL, &info);
    write_keys(SLUICE_UPSERT, 0, 5, 1, 6, NULL, &info);
    assert_int_equal(change_logs_there(), 1);
    sl_table *table = open_table();
    ok(sl_rollback_instant(table, info.instant, rollback, &files));
    sl_table_close(table);
    assert_int_equal(files, 2);
    assert_int_equal(change_logs_there(), 0);
    remove_folder(path);
}

/* The newest change data log, without its file. */
static void newest_log(char *out, size_t bytes)
{
    char command[400];
    snprintf(command, sizeof command, "ls %s/*.cdc.parquet | tail -1", path);
    FILE *ls = popen(command, "r");
    assert_non_null(fgets(out, (int)bytes, ls));
    pclose(ls);
    out[strcspn(out, "\n")] = 0;
}

static void lose(const char *file) { assert_int_equal(remove(file), 0); }
static void cut(const char *file) { assert_int_equal(truncate(file, 700), 0); }
static void none(const char *file) { (void)file; }
static void change_mode(const char *file)
{
    char command[1200];
    snprintf(command, sizeof command,
             "sed -i 's/logging.mode=DATA.*/logging.mode=op_key_only/; t; "
             "s/logging.mode=OP.*/logging.mode=data_before/' \"$(dirname '%s')\"/.hoodie/*.properties",
             file);
    assert_int_equal(system(command), 0);
}
/* The record that a change holds is named after the table. */
static void rename_table(const char *file)
{
    char command[1200];
    snprintf(command, sizeof command,
             "sed -i 's/^hoodie.table.name=.*/&_too/; /checksum/d' \"$(dirname '%s')\"/.hoodie/*.properties",
             file);
    assert_int_equal(system(command), 0);
}
static void repeat(const char *file)
{
    char command[1200];
    snprintf(command, sizeof command, "cp '%s' \"$(echo '%s' | sed 's/_1\\.cdc/_7.cdc/')\"", file, file);
    assert_int_equal(system(command), 0);
}

static void doctor_knows_change_logs(void **state)
{
    static const char *const one[] = {"hoodie.bucket.index.num.buckets", "1", NULL};
    static const struct {
        void (*inflict)(const char *file);
        const char *check; /* NULL: nothing is found */
    } cases[] = {{none, NULL},        {lose, "missing"},   {cut, "size"},       {repeat, "stranger"},
                 {change_mode, NULL}, {change_mode, NULL}, {change_mode, NULL}, {rename_table, "schema"}};
    sluice_commit_info info;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char file[512];
        create("COPY_ON_WRITE", modes[i % 3], one);
        write_keys(SLUICE_INSERT, 0, 10, 1, 5, NULL, &info);
        write_keys(SLUICE_UPSERT, 0, 5, 1, 6, NULL, &info);
        newest_log(file, sizeof file);
        cases[i].inflict(file);
        sl_table *table = open_table();
        json_t *report, *finding;
        ok(sl_doctor(table, true, &report));
        finding = json_object_get(report, "findings");
        bool found = false;
        for (size_t k = 0; k < json_array_size(finding); k++)
            found |=
                cases[i].check && strcmp(text_of(json_array_get(finding, k), "check"), cases[i].check) == 0;
        if (found != (cases[i].check != NULL) || (!cases[i].check && json_array_size(finding)))
            fail_msg("case %zu: %s", i, json_dumps(finding, 0));
        json_decref(report);
        sl_table_close(table);
        remove_folder(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_lead_from_base_to_base),
        cmocka_unit_test(only_rewritten_files_have_changes),
        cmocka_unit_test(tables_without_changes_write_as_before),
        cmocka_unit_test(full_logs_roll_over),
        cmocka_unit_test(pages_are_copied_all_the_same),
        cmocka_unit_test(logs_name_the_slice_before),
        cmocka_unit_test(stats_of_tasks_keep_what_they_tell),
        cmocka_unit_test(rollback_takes_the_changes_along),
        cmocka_unit_test(doctor_knows_change_logs),
    };
    return cmocka_run_group_tests(tests, table_folder_make, table_folder_remove);
}
