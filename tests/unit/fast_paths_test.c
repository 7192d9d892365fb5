/* What a read does not have to do (spec/lsm-layout.md 13, G-26): slices of one file, files whose keys do not meet, stretches that
 * only one file covers. Told by the counts of comparisons and runs. */
#include "engine_support.h"

enum { ROWS = 2000 };

struct keys {
    enum sluice_operation operation;
    int first, count, step;
    bool deleted_first; /* the first row is marked as deleted: a group without base then begins with a log */
};

static const struct {
    const char *name;
    struct keys files[3]; /* count 0: no more */
    uint64_t rows, runs, comparisons_max;
} paths[] = {
    {"base only", {{SLUICE_BULK_INSERT, 0, ROWS, 1, false}}, ROWS, 0, 0},
    {"a data and a delete log", {{SLUICE_UPSERT, 0, ROWS, 1, true}}, ROWS - 1, 2, 16},
    {"disjoint ranges",
     {{SLUICE_BULK_INSERT, 0, ROWS, 1, false},
      {SLUICE_UPSERT, ROWS, ROWS, 1, false},
      {SLUICE_UPSERT, 2 * ROWS, ROWS, 1, false}},
     3 * ROWS,
     3,
     64},
    {"a stretch of updates",
     {{SLUICE_BULK_INSERT, 0, 10 * ROWS, 1, false}, {SLUICE_UPSERT, 500, 100, 1, false}},
     10 * ROWS,
     2,
     1000},
};

static sl_batch *rows_of(const sl_type *schema, const struct keys *keys)
{
    sl_batch_builder b;
    sl_batch *batch;
    ok(sl_batch_builder_init(&b, schema));
    for (int i = 0; i < keys->count; i++) {
        char json[96];
        snprintf(json, sizeof json, "{\"k\":\"%06d\",\"v\":%d,\"_hoodie_is_deleted\":%s}",
                 keys->first + i * keys->step, i, keys->deleted_first && i == 0 ? "true" : "false");
        ok(sl_batch_builder_json_line(&b, json, strlen(json)));
    }
    ok(sl_batch_builder_finish(&b, &batch));
    sl_batch_builder_free(&b);
    return batch;
}

static void read_all(sluice_table *table, sluice_scan_stats *stats)
{
    static const char *const columns[] = {"v"};
    sluice_scan *scan;
    struct ArrowArrayStream rows;
    struct text text = {0};
    sluice_error e;
    stats->size = sizeof *stats;
    OK(sluice_scan_new(table, &scan, &e));
    OK(sluice_scan_columns(scan, columns, 1, &e));
    OK(sluice_scan_stream(scan, &rows, &e));
    OK(append_stream(&rows, &text, &e));
    sluice_scan_get_stats(scan, stats);
    sluice_scan_free(scan);
    free(text.data);
}

static void check_path(const char *folder, size_t index)
{
    char path[256];
    const sl_type *schema;
    sluice_table *table;
    sluice_commit_info info;
    sluice_scan_stats stats;
    sluice_error e;
    snprintf(path, sizeof path, "%s/%zu", folder, index);
    ok(sl_schema_parse("k string, v int, _hoodie_is_deleted boolean", &schema));
    create_lsm_table(path, schema);
    OK(sluice_table_open(path, NULL, &table, &e));
    for (size_t i = 0; i < 3 && paths[index].files[i].count; i++) {
        sl_batch *batch = rows_of(schema, &paths[index].files[i]);
        OK(write_batch(table, paths[index].files[i].operation, batch, &info, &e));
        sl_batch_unref(batch);
    }
    read_all(table, &stats);
    print_message("%s: %d runs, %d comparisons, %d rows in stretches\n", paths[index].name, (int)stats.runs,
                  (int)stats.comparisons, (int)stats.gallop_rows);
    assert_int_equal(stats.rows_out, paths[index].rows);
    assert_int_equal(stats.runs, paths[index].runs);
    assert_in_range(stats.comparisons, 0, paths[index].comparisons_max);
    sluice_table_close(table);
    sl_type_unref(schema);
}

static void short_ways_are_taken(void **state)
{
    (void)state;
    char folder[200];
    temporary_folder(folder, sizeof folder);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        check_path(folder, i);
    remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(short_ways_are_taken)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
