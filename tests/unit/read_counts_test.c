/*
 * What --explain says of a read is true (spec/lsm-layout.md 13): the counts of queries and lookups against files of which it
 * is known what lies in which page, and so what must be left out.
 */
#include "engine_support.h"

/* Keys "k000", "k002" ... of one bucket, v is the key's number; pages of ten rows. */
static const struct file {
    enum sluice_operation operation;
    int first, count, step;
} files[] = {
    {SLUICE_BULK_INSERT, 0, 200, 2}, /* k000 to k398: 20 pages a column */
    {SLUICE_UPSERT, 100, 5, 2},      /* k100 to k108: page 5 of the base */
    {SLUICE_UPSERT, 104, 2, 200},    /* k104, k304: meets pages 5 to 15 */
    {SLUICE_DELETE, 398, 1, 1},      /* k398: page 19 */
};

enum table { WITH_LOGS, WITH_BLOOM_FILTERS, BASE_ONLY, BUCKETS, TABLES };

static const struct {
    const char *name;
    size_t files;
    const char *buckets, *key, *value; /* a setting of writes */
} tables[TABLES] = {
    [WITH_LOGS] = {"logs", 4, "1", "sluice.parquet.bloom.keys", "false"},
    [WITH_BLOOM_FILTERS] = {"bloom", 4, "1", "sluice.parquet.bloom.keys", "true"},
    [BASE_ONLY] = {"base", 1, "1", "sluice.parquet.bloom.keys", "false"},
    [BUCKETS] = {"buckets", 1, "4", "sluice.parquet.bloom.keys", "false"},
};

/* Rows have seven columns: five of Hudi's and two of their own. Where all rows are read, k is not: it is the record key. */
struct counts {
    uint64_t files, files_skipped, row_groups, row_groups_skipped, rows_skipped, rows_skipped_alone,
        rows_decoded, pages, pages_skipped, runs, rows_merged, rows_out;
};

static const struct {
    enum table table;
    const char *lookup, *where; /* one of them; neither: all rows */
    const char *column;         /* the only one that is wanted; NULL: all */
    struct counts expected;
} questions[] = {
    {WITH_LOGS, NULL, NULL, NULL, {4, 0, 0, 0, 0, 0, 208, 20 * 6 + 6 + 6 + 1, 0, 4, 208, 199}},
    /* of one column: the key as well where rows are merged */
    {BASE_ONLY, NULL, NULL, "v", {1, 0, 0, 0, 0, 0, 200, 20, 0, 0, 0, 200}},
    {WITH_LOGS, NULL, NULL, "v", {4, 0, 0, 0, 0, 0, 208, 20 * 2 + 2 + 2 + 1, 0, 4, 208, 199}},
    /* by key: one page of the base; bounds leave out the logs */
    {WITH_LOGS, "k010", NULL, NULL, {1, 3, 4, 3, 198, 0, 1, 8, 8 * 19, 1, 1, 1}},
    {WITH_LOGS, NULL, "k = 'k010'", NULL, {1, 3, 4, 3, 198, 0, 1, 8, 8 * 19, 1, 1, 1}},
    /* one that is not there costs a page of keys, or none */
    {WITH_LOGS, "k011", NULL, NULL, {1, 3, 4, 3, 198, 0, 0, 1, 19, 0, 0, 0}},
    {WITH_LOGS, "k999", NULL, NULL, {0, 4, 4, 4, 208, 0, 0, 0, 0, 0, 0, 0}},
    {WITH_BLOOM_FILTERS, "k011", NULL, NULL, {0, 4, 4, 4, 208, 0, 0, 0, 0, 0, 0, 0}},
    {WITH_BLOOM_FILTERS, NULL, "k = 'k011'", NULL, {0, 4, 4, 4, 208, 0, 0, 0, 0, 0, 0, 0}},
    /* the newest log has it, and the later write wins: older files are not looked at */
    {WITH_LOGS, "k104", NULL, NULL, {1, 1, 2, 1, 1, 0, 1, 8, 0, 1, 1, 1}},
    /* ranges: pages in front of the first one wanted, and behind the last */
    {WITH_LOGS, NULL, "k between 'k000' and 'k004'", NULL, {1, 3, 4, 3, 198, 0, 10, 7, 7 * 19, 1, 10, 3}},
    {WITH_LOGS, NULL, "k between 'k120' and 'k124'", NULL, {2, 2, 4, 2, 196, 0, 12, 7 + 7, 7 * 19, 2, 12, 3}},
    /* by another column: of the eight pages that no log meets only that of the value, if there is one */
    {WITH_LOGS, NULL, "v = 10", NULL, {4, 0, 4, 0, 70, 70, 138, 7 * 13 + 15, 7 * 7, 4, 138, 1}},
    {WITH_LOGS, NULL, "v = 100", NULL, {4, 0, 4, 0, 80, 80, 128, 7 * 12 + 15, 7 * 8, 4, 128, 1}},
    /* no log at all: every column decides */
    {BASE_ONLY, NULL, "v = 10", NULL, {1, 0, 1, 0, 190, 0, 10, 7, 7 * 19, 0, 0, 1}},
    {BASE_ONLY, NULL, "v = -1", NULL, {0, 1, 1, 1, 200, 0, 0, 0, 0, 0, 0, 0}},
    /* a bucket index says which file group has the key */
    {BUCKETS, "k200", NULL, NULL, {1, 3, 1, 0, 40, 0, 1, 8, 8 * 4, 0, 0, 1}},
    {BASE_ONLY, NULL, "v >= 390", NULL, {1, 0, 1, 0, 190, 0, 10, 7, 7 * 19, 0, 0, 5}},
};

static char folder[200];

static void write_file(sluice_table *t, const sl_type *schema, const struct file *f)
{
    sl_batch_builder b;
    sl_batch *batch;
    sluice_commit_info info;
    sluice_error e;
    ok(sl_batch_builder_init(&b, schema));
    for (int i = 0; i < f->count; i++) {
        char json[64];
        int key = f->first + i * f->step;
        snprintf(json, sizeof json, "{\"k\":\"k%03d\",\"v\":%d}", key, key);
        ok(sl_batch_builder_json_line(&b, json, strlen(json)));
    }
    ok(sl_batch_builder_finish(&b, &batch));
    sl_batch_builder_free(&b);
    OK(write_batch(t, f->operation, batch, &info, &e));
    sl_batch_unref(batch);
}

static void ask(sluice_table *t, const char *key, const char *where, const char *column,
                sluice_scan_stats *stats)
{
    sluice_scan *scan = NULL;
    struct ArrowArrayStream rows;
    struct text text = {0};
    sluice_error e;
    if (key) {
        OK(sluice_lookup(t, &key, 1,
                         &(sluice_lookup_options){.size = sizeof(sluice_lookup_options), .stats = stats},
                         &rows, &e));
    } else {
        OK(sluice_scan_new(t, &scan, &e));
        if (column)
            OK(sluice_scan_columns(scan, &column, 1, &e));
        if (where)
            OK(sluice_scan_where(scan, where, &e));
        OK(sluice_scan_stream(scan, &rows, &e));
    }
    OK(append_stream(&rows, &text, &e));
    if (scan)
        sluice_scan_get_stats(scan, stats);
    sluice_scan_free(scan);
    free(text.data);
}

static struct counts counts_of(const sluice_scan_stats *s)
{
    return (struct counts){s->files,         s->files_skipped,
                           s->row_groups,    s->row_groups_skipped,
                           s->rows_skipped,  s->rows_skipped_alone,
                           s->rows_decoded,  s->pages,
                           s->pages_skipped, s->runs,
                           s->rows_merged,   s->rows_out};
}

static const char *text_of(const struct counts *c)
{
    static char texts[2][300];
    static int turn;
    char *text = texts[turn ^= 1];
    snprintf(text, 300,
             "files %d-%d groups %d-%d rows -%d (-%d) decoded %d pages %d-%d runs %d merged %d out %d",
             (int)c->files, (int)c->files_skipped, (int)c->row_groups, (int)c->row_groups_skipped,
             (int)c->rows_skipped, (int)c->rows_skipped_alone, (int)c->rows_decoded, (int)c->pages,
             (int)c->pages_skipped, (int)c->runs, (int)c->rows_merged, (int)c->rows_out);
    return text;
}

static void create(const char *path, const sl_type *schema, const char *buckets)
{
    struct ArrowSchema arrow;
    sluice_error e;
    export_schema(schema, &arrow);
    OK(sluice_table_create(path, &arrow,
                           (const char *const[]){"hoodie.table.recordkey.fields", "k",
                                                 "hoodie.table.storage.layout", "lsm_tree",
                                                 "hoodie.index.type", "BUCKET",
                                                 "hoodie.bucket.index.num.buckets", buckets, NULL},
                           &e));
    arrow.release(&arrow);
}

static sluice_table *make_table(enum table which)
{
    const char *options[] = {"sluice.parquet.page.rows", "10", "sluice.threads", "1", tables[which].key,
                             tables[which].value,        NULL};
    const sl_type *schema;
    sluice_table *t;
    sluice_error e;
    char path[256];
    static int number;
    snprintf(path, sizeof path, "%s/%d-%s", folder, number++, tables[which].name);
    ok(sl_schema_parse("k string, v int", &schema));
    create(path, schema, tables[which].buckets);
    OK(sluice_table_open(path, options, &t, &e));
    for (size_t i = 0; i < tables[which].files; i++)
        write_file(t, schema, &files[i]);
    sl_type_unref(schema);
    return t;
}

static void counts_are_true(void **state)
{
    (void)state;
    sluice_table *made[TABLES];
    for (int i = 0; i < TABLES; i++)
        made[i] = make_table((enum table)i);
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        sluice_scan_stats stats = {.size = sizeof stats};
        ask(made[questions[i].table], questions[i].lookup, questions[i].where, questions[i].column, &stats);
        struct counts have = counts_of(&stats);
        if (memcmp(&have, &questions[i].expected, sizeof have) != 0)
            fail_msg("question %zu:\n  %s instead of\n  %s", i, text_of(&have),
                     text_of(&questions[i].expected));
        assert_int_equal(stats.bytes_read > 0, stats.pages > 0);
        assert_int_equal(stats.file_bytes > 0, stats.files > 0);
        assert_true(stats.bytes_read <= stats.file_bytes);
    }
    for (int i = 0; i < TABLES; i++)
        sluice_table_close(made[i]);
}

/* A compaction of the base and its logs: 17 pages a column meet no log, and are copied as they are. */
static void counts_of_compactions(void **state)
{
    (void)state;
    sluice_table *t = make_table(WITH_LOGS);
    sluice_scan_stats stats = {.size = sizeof stats};
    sluice_commit_info info = {.size = sizeof info};
    sluice_error e;
    sluice_table_read_stats(t, &stats);
    assert_int_equal(stats.rows_decoded, 0);
    OK(sluice_service_run(t, SLUICE_COMPACT, NULL, &info, &e));
    sluice_table_read_stats(t, &stats);
    struct counts have = counts_of(&stats), expected = {.files = 4,
                                                        .rows_decoded = 30 + 8,
                                                        .pages = 6 * 3 + 6 + 6 + 1,
                                                        .pages_skipped = 6 * 17,
                                                        .runs = 4,
                                                        .rows_merged = 208};
    if (memcmp(&have, &expected, sizeof have) != 0)
        fail_msg("%s instead of\n  %s", text_of(&have), text_of(&expected));
    assert_int_equal(stats.rows_copied, 170);
    assert_int_equal(stats.pages_copied, 6 * 17); /* all columns but the name of the file */
    assert_true(stats.bytes_copied > 0 && stats.bytes_copied < info.bytes);
    assert_int_equal(info.rows_in, 8);
    assert_int_equal(info.rows_written, 199);
    sluice_table_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_true),
        cmocka_unit_test(counts_of_compactions),
    };
    temporary_folder(folder, sizeof folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_folder(folder);
    return failed;
}
