/*
 * What a scan leaves out before the merge changes nothing (spec/lsm-layout.md 13, G-25), and a lookup gives what a query by
 * key gives: random tables of many small pages and row groups, random predicates and keys. The same question is asked twice,
 * with pruning and with sluice.scan.pruning=false, where every row is merged and then filtered.
 *
 * SEED and ROUNDS come from the environment; PRUNE_TRACE=1 prints the questions.
 */
#include "engine_support.h"

#include "keys/keys.h"

enum key_form { KEY_TEXT, KEY_NUMBER, KEY_BOTH, KEY_DECIMAL, KEY_DATE, KEY_FORMS };

struct random_table {
    struct rng rng;
    char path[256];
    enum key_form key_form;
    bool lsm, event_time;
    const char *partition_field; /* NULL: not partitioned */
    int keys, buckets;
    const sl_type *schema;
    sluice_table *pruning, *plain;
};

static bool trace;
static sluice_scan_stats totals; /* of all questions */

/* ---- tables -------------------------------------------------------------------------------------------- */

/* Beyond U+FFFF and just below it: where the orders of UTF-8 and UTF-16 part. */
static const char *const beginnings[] = {"", "a", "\xef\xbc\xa1", "\xf0\x9f\x98\x80", "\xc3\xa4"};

static void key_name(int key, char *out, size_t bytes)
{
    snprintf(out, bytes, "%s%03d", beginnings[key % 5], key * 37 % 1000);
}

static void key_date(int key, char *out, size_t bytes)
{
    int64_t year;
    int month, day;
    sl_days_to_civil(key * 11 - 3000, &year, &month, &day);
    snprintf(out, bytes, "%04d-%02d-%02d", (int)year, month, day);
}

/* The encoded record key. */
static void record_key(const struct random_table *t, int key, char *out, size_t bytes)
{
    char name[64];
    key_name(key, name, sizeof name);
    if (t->key_form == KEY_TEXT)
        snprintf(out, bytes, "%s", name);
    else if (t->key_form == KEY_NUMBER)
        snprintf(out, bytes, "%d", key * 3 - 50);
    else if (t->key_form == KEY_DECIMAL)
        snprintf(out, bytes, "%d.25", key);
    else if (t->key_form == KEY_DATE)
        key_date(key, out, bytes);
    else
        snprintf(out, bytes, "id:%d,name:%s", key * 3 - 50, name);
}

static void create(struct random_table *t)
{
    static const char *const fields[] = {"name", "id", "id,name", "d", "day"};
    const char *options[24];
    char buckets[16];
    size_t n = 0;
    sluice_error e;
    struct ArrowSchema schema;
    snprintf(buckets, sizeof buckets, "%d", t->buckets);
    ok(sl_schema_parse("id long, name string, p string, ts long, v int, w double, s string, d decimal(9,2), "
                       "day date, q int, qd date",
                       &t->schema));
    options[n++] = "hoodie.table.recordkey.fields", options[n++] = fields[t->key_form];
    options[n++] = "hoodie.bucket.index.num.buckets", options[n++] = buckets;
    if (t->partition_field)
        options[n++] = "hoodie.table.partition.fields", options[n++] = t->partition_field;
    if (t->event_time)
        options[n++] = "hoodie.table.ordering.fields", options[n++] = "ts";
    if (t->lsm)
        options[n++] = "hoodie.table.storage.layout", options[n++] = "lsm_tree";
    options[n] = NULL;
    export_schema(t->schema, &schema);
    OK(sluice_table_create(t->path, &schema, options, &e));
    schema.release(&schema);
}

static void open_handles(struct random_table *t)
{
    const char *pages = chance(&t->rng, 80) ? "64" : "1000",
               *groups = chance(&t->rng, 50) ? "1500" : "100000";
    const char *options[] = {"hoodie.parquet.page.size",
                             pages,
                             "hoodie.parquet.block.size",
                             groups,
                             "sluice.parquet.page.rows",
                             chance(&t->rng, 50) ? "3" : "20000",
                             "sluice.parquet.bloom.keys",
                             chance(&t->rng, 50) ? "true" : "false",
                             "sluice.threads",
                             chance(&t->rng, 50) ? "1" : "2",
                             NULL,
                             NULL,
                             NULL};
    sluice_error e;
    OK(sluice_table_open(t->path, options, &t->pruning, &e));
    options[10] = "sluice.scan.pruning";
    options[11] = "false";
    OK(sluice_table_open(t->path, options, &t->plain, &e));
}

/* Values go with the keys, so that pages differ in them; some are anything. */
static void add_row(struct random_table *t, sl_batch_builder *b, int key, int64_t ts)
{
    static const char *const partitions[] = {"x", "y", "z"};
    char json[512], name[40], s[64], day[32];
    key_name(key, name, sizeof name);
    key_date(key, day, sizeof day);
    bool odd = chance(&t->rng, 10);
    snprintf(s, sizeof s, chance(&t->rng, 10) ? "null" : "\"%s%02d\"", odd ? "zz" : name,
             (int)pick(&t->rng, 100));
    snprintf(json, sizeof json,
             "{\"id\":%d,\"name\":\"%s\",\"p\":\"%s\",\"ts\":%d,\"v\":%d,\"w\":%s,\"s\":%s,\"d\":\"%d.25\","
             "\"day\":\"%s\",\"q\":%d,\"qd\":\"1970-01-0%d\"}",
             key * 3 - 50, name, partitions[key % 3], (int)ts,
             odd ? -(int)pick(&t->rng, 50) : key + (int)pick(&t->rng, 5),
             odd && chance(&t->rng, 30) ? "\"NaN\""
             : odd                      ? "null"
                                        : "0.5",
             s, key, day, key % 3, key % 3 + 1);
    ok(sl_batch_builder_json_line(b, json, strlen(json)));
}

/* A stretch of the keys, or some here and there. */
static void write_keys(struct random_table *t, enum sluice_operation operation, int64_t ts)
{
    sl_batch_builder b;
    sl_batch *batch;
    sluice_commit_info info;
    sluice_error e;
    int first = (int)pick(&t->rng, t->keys), count = 1 + (int)pick(&t->rng, t->keys / 4 + 1);
    int step = chance(&t->rng, 50) ? 1 : 1 + (int)pick(&t->rng, 17);
    ok(sl_batch_builder_init(&b, t->schema));
    for (int i = 0; i < count; i++) {
        int key = (first + i * step) % t->keys;
        if (operation == SLUICE_INSERT && chance(&t->rng, 40))
            i--; /* once more */
        add_row(t, &b, key, ts + pick(&t->rng, 20));
    }
    ok(sl_batch_builder_finish(&b, &batch));
    sl_batch_builder_free(&b);
    OK(write_batch(t->pruning, operation, batch, &info, &e));
    sl_batch_unref(batch);
}

static void load(struct random_table *t)
{
    sl_batch_builder b;
    sl_batch *batch;
    sluice_commit_info info;
    sluice_error e;
    ok(sl_batch_builder_init(&b, t->schema));
    for (int key = 0; key < t->keys; key++)
        if (!chance(&t->rng, 10))
            add_row(t, &b, key, 100);
    ok(sl_batch_builder_finish(&b, &batch));
    sl_batch_builder_free(&b);
    OK(write_batch(t->pruning, SLUICE_BULK_INSERT, batch, &info, &e));
    sl_batch_unref(batch);
}

static void change(struct random_table *t)
{
    int64_t choice = pick(&t->rng, 100), ts = 80 + pick(&t->rng, 80);
    sluice_commit_info info = {.size = sizeof info};
    sluice_error e;
    if (choice < 50)
        write_keys(t, SLUICE_UPSERT, ts);
    else if (choice < 65)
        write_keys(t, SLUICE_INSERT,
                   ts); /* keys may come twice in one file, on both sides of a page's border */
    else if (choice < 85)
        write_keys(t, SLUICE_DELETE, ts);
    else if (t->lsm)
        OK(sluice_service_run(t->pruning, SLUICE_COMPACT, NULL, &info, &e));
}

/* ---- questions ----------------------------------------------------------------------------------------- */

static void comparison(struct random_table *t, char *out, size_t bytes)
{
    static const char *const ops[] = {"=", "<", "<=", ">", ">=", "!="};
    char name[64], other[64];
    const char *op = ops[pick(&t->rng, 6)];
    int key = (int)pick(&t->rng, t->keys + 5), second = (int)pick(&t->rng, t->keys);
    key_name(key, name, sizeof name);
    key_name(second, other, sizeof other);
    switch (pick(&t->rng, 16)) {
    case 0:
        snprintf(out, bytes, "id %s %d", op, key * 3 - 50);
        break;
    case 1:
        snprintf(out, bytes, "name %s '%s'", op, name);
        break;
    case 2:
        snprintf(out, bytes, "id = %d and name = '%s'", key * 3 - 50, name);
        break;
    case 3:
        snprintf(out, bytes, "id in (%d, %d) and name in ('%s', '%s')", key * 3 - 50, second * 3 - 50, name,
                 other);
        break;
    case 4:
        snprintf(out, bytes, "name between '%s' and '%s'", name, other);
        break;
    case 5:
        snprintf(out, bytes, "v %s %d", op, key);
        break;
    case 6:
        snprintf(out, bytes, "v between %d and %d", key, key + 10);
        break;
    case 7:
        snprintf(out, bytes, "s like '%s%%'", name);
        break;
    case 8:
        snprintf(out, bytes, "%s is %snull", chance(&t->rng, 50) ? "s" : "w",
                 chance(&t->rng, 50) ? "" : "not ");
        break;
    case 9:
        snprintf(out, bytes, "w %s %s", op, chance(&t->rng, 50) ? "0.5" : "'NaN'");
        break;
    case 10:
        snprintf(out, bytes, "d %s %d.25", op, key);
        break;
    case 13:
        snprintf(out, bytes, "q %s %d", op, (int)pick(&t->rng, 4));
        break;
    case 14:
        snprintf(out, bytes, "qd %s date '1970-01-0%d'", op, 1 + (int)pick(&t->rng, 4));
        break;
    case 12:
        key_date(key, name, sizeof name);
        snprintf(out, bytes, "day %s date '%s'", op, name);
        break;
    case 11:
        snprintf(out, bytes, "p = '%s'", chance(&t->rng, 50) ? "x" : "y");
        break;
    default:
        snprintf(out, bytes, "ts %s %d", op, 80 + (int)pick(&t->rng, 100));
    }
}

static void expression(struct random_table *t, int depth, char *out, size_t bytes)
{
    char left[600], right[600];
    if (depth == 0 || chance(&t->rng, 50)) {
        comparison(t, out, bytes);
        return;
    }
    expression(t, depth - 1, left, sizeof left);
    expression(t, depth - 1, right, sizeof right);
    const char *form = chance(&t->rng, 60)   ? "(%s) and (%s)"
                       : chance(&t->rng, 70) ? "(%s) or (%s)"
                                             : "(%s) and not (%s)";
    snprintf(out, bytes, form, left, right);
}

static void add_stats(const sluice_scan_stats *s)
{
    totals.files_skipped += s->files_skipped;
    totals.row_groups_skipped += s->row_groups_skipped;
    totals.rows_skipped += s->rows_skipped;
    totals.rows_skipped_alone += s->rows_skipped_alone;
    totals.pages_skipped += s->pages_skipped;
}

static char *answer(sluice_table *table, const char *where)
{
    sluice_scan *scan;
    struct ArrowArrayStream rows;
    struct text text = {0};
    sluice_error e;
    sluice_scan_stats stats = {.size = sizeof stats};
    text_append(&text, "", 0);
    OK(sluice_scan_new(table, &scan, &e));
    OK(sluice_scan_where(scan, where, &e));
    OK(sluice_scan_stream(scan, &rows, &e));
    OK(append_stream(&rows, &text, &e));
    sluice_scan_get_stats(scan, &stats);
    add_stats(&stats);
    sluice_scan_free(scan);
    return sorted_lines(&text);
}

static void same_answer(const struct random_table *t, const char *where)
{
    char *want = answer(t->plain, where), *have = answer(t->pruning, where);
    if (trace)
        fprintf(stderr, "%s\n", where);
    if (strcmp(want, have) != 0)
        fail_msg("where %s\nwithout pruning:\n%s\nwith pruning:\n%s", where, want, have);
    free(want);
    free(have);
}

/* Some keys that are there, some that are not, one of them twice; against a query that names them. */
static void same_lookup(struct random_table *t)
{
    enum { KEYS = 6 };
    char keys[KEYS][96], where[1200];
    const char *items[KEYS];
    struct ArrowArrayStream rows;
    struct text text = {0};
    sluice_error e;
    sluice_scan_stats stats = {.size = sizeof stats};
    sluice_lookup_options options = {.size = sizeof options, .stats = &stats};
    size_t count = 1 + (size_t)pick(&t->rng, KEYS),
           n = (size_t)snprintf(where, sizeof where, "_hoodie_record_key in (");
    for (size_t i = 0; i < count; i++) {
        int key = i && chance(&t->rng, 10) ? 0 : (int)pick(&t->rng, t->keys + 20);
        record_key(t, key, keys[i], sizeof keys[i]);
        items[i] = keys[i];
        n += (size_t)snprintf(where + n, sizeof where - n, "%s'%s'", i ? ", " : "", keys[i]);
    }
    snprintf(where + n, sizeof where - n, ")");
    OK(sluice_lookup(t->pruning, items, count, &options, &rows, &e));
    text_append(&text, "", 0);
    OK(append_stream(&rows, &text, &e));
    char *want = answer(t->plain, where), *have = sorted_lines(&text);
    if (strcmp(want, have) != 0)
        fail_msg("lookup %s\nwant:\n%s\nhave:\n%s", where, want, have);
    free(want);
    free(have);
    same_answer(t, where);
}

static void ask(struct random_table *t)
{
    char where[1400];
    for (int i = 0; i < 12; i++) {
        expression(t, 2, where, sizeof where);
        same_answer(t, where);
    }
    for (int i = 0; i < 4; i++)
        same_lookup(t);
}

/* ---- random tables ------------------------------------------------------------------------------------- */

static void run_table(uint64_t seed, const char *folder)
{
    struct random_table t = {.rng = {seed}};
    snprintf(t.path, sizeof t.path, "%s/t%" PRIu64, folder, seed);
    t.lsm = chance(&t.rng, 80);
    t.event_time = chance(&t.rng, 60);
    t.partition_field = chance(&t.rng, 50) ? ((const char *const[]){"p", "q", "qd"})[pick(&t.rng, 3)] : NULL;
    t.key_form = (enum key_form)pick(&t.rng, KEY_FORMS);
    t.keys = 20 + (int)pick(&t.rng, 500);
    t.buckets = 1 + (int)pick(&t.rng, 3);
    create(&t);
    open_handles(&t);
    load(&t);
    ask(&t);
    for (int64_t i = 0, steps = 1 + pick(&t.rng, 6); i < steps; i++) {
        change(&t);
        ask(&t);
    }
    sluice_table_close(t.pruning);
    sluice_table_close(t.plain);
    sl_type_unref(t.schema);
    remove_folder(t.path);
}

/* ---- resurrections ------------------------------------------------------------------------------------- */

/* A row of a log that fails the predicate hides one of the base that does not: it must be merged although its file, its row
 * group or its page holds nothing else. */
enum { HIDDEN = 100, KEYS_OF_BASE = 200 };

static const struct {
    const char *name, *page_size, *group_size;
    int first, count; /* keys in the log; of these HIDDEN fails */
} levels[] = {
    {"file", "1000000", "1000000", 100, 1},
    {"row group", "64", "1", 60, 80},
    {"page", "16", "1000000", 60, 80},
    {"page that ends where another begins", "1", "1000000", HIDDEN, 1},
};

static void write_values(sluice_table *table, const sl_type *schema, enum sluice_operation operation,
                         int first, int count)
{
    sl_batch_builder b;
    sl_batch *batch;
    sluice_commit_info info;
    sluice_error e;
    ok(sl_batch_builder_init(&b, schema));
    for (int key = first; key < first + count; key++) {
        char json[64];
        snprintf(json, sizeof json, "{\"k\":\"k%03d\",\"v\":%d}", key,
                 operation == SLUICE_UPSERT && key == HIDDEN ? -1 : key);
        ok(sl_batch_builder_json_line(&b, json, strlen(json)));
    }
    ok(sl_batch_builder_finish(&b, &batch));
    sl_batch_builder_free(&b);
    OK(write_batch(table, operation, batch, &info, &e));
    sl_batch_unref(batch);
}

static size_t rows_where(sluice_table *table, const char *where)
{
    size_t rows = 0;
    char *text = answer(table, where);
    for (const char *at = text; *at; at++)
        rows += *at == '\n';
    free(text);
    return rows;
}

static void hidden_rows_stay_hidden(void **state)
{
    (void)state;
    char folder[200], path[256];
    temporary_folder(folder, sizeof folder);
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        const sl_type *schema;
        sluice_table *table;
        sluice_error e;
        snprintf(path, sizeof path, "%s/%zu", folder, i);
        ok(sl_schema_parse("k string, v int", &schema));
        create_lsm_table(path, schema);
        OK(sluice_table_open(path,
                             (const char *const[]){"hoodie.parquet.page.size", levels[i].page_size,
                                                   "hoodie.parquet.block.size", levels[i].group_size, NULL},
                             &table, &e));
        write_values(table, schema, SLUICE_BULK_INSERT, 0, KEYS_OF_BASE);
        write_values(table, schema, SLUICE_UPSERT, levels[i].first, levels[i].count);
        print_message("%s\n", levels[i].name);
        memset(&totals, 0, sizeof totals);
        assert_int_equal(rows_where(table, "v = 100"), 0);
        assert_int_equal(rows_where(table, "v >= 0"), KEYS_OF_BASE - 1);
        assert_int_equal(rows_where(table, "v < 0"), 1);
        /* What only the base holds is left out by the value, as far as its pages are finer than the file. */
        assert_int_equal(totals.rows_skipped_alone > 0, i > 0);
        sluice_table_close(table);
        sl_type_unref(schema);
    }
    remove_folder(folder);
}

/* Rows of one key in one log, in two pages: the first is hidden by the second, although no other file has the key. */
static void rows_of_one_log_hide_each_other(void **state)
{
    (void)state;
    char folder[200], path[256];
    const sl_type *schema;
    sluice_table *table;
    sl_batch_builder b;
    sl_batch *batch;
    sluice_commit_info info;
    sluice_error e;
    temporary_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/t", folder);
    ok(sl_schema_parse("k string, v int", &schema));
    create_lsm_table(path, schema);
    OK(sluice_table_open(
        path,
        (const char *const[]){"sluice.parquet.page.rows", "1", "hoodie.combine.before.upsert", "false", NULL},
        &table, &e));
    write_values(table, schema, SLUICE_BULK_INSERT, 0, KEYS_OF_BASE);
    ok(sl_batch_builder_init(&b, schema));
    for (int v = 300; v < 303; v++) {
        char json[64];
        snprintf(json, sizeof json, "{\"k\":\"k300\",\"v\":%d}", v);
        ok(sl_batch_builder_json_line(&b, json, strlen(json)));
    }
    ok(sl_batch_builder_finish(&b, &batch));
    sl_batch_builder_free(&b);
    OK(write_batch(table, SLUICE_UPSERT, batch, &info, &e));
    sl_batch_unref(batch);
    assert_int_equal(info.rows_written, 3);
    assert_int_equal(rows_where(table, "v = 300"), 0);
    assert_int_equal(rows_where(table, "v = 302"), 1);
    sluice_table_close(table);
    sl_type_unref(schema);
    remove_folder(folder);
}

/* ---- the tests ----------------------------------------------------------------------------------------- */

static uint64_t seed_of_run;

static void random_tables(void **state)
{
    (void)state;
    char folder[200];
    uint64_t rounds = number_from_environment("ROUNDS", 0), done = 0;
    double start = sl_monotonic(), seconds = getenv("SL_TEST_QUICK") ? 4 : rounds ? 1800 : 10;
    memset(&totals, 0, sizeof totals);
    temporary_folder(folder, sizeof folder);
    for (; (!rounds || done < rounds) && sl_monotonic() - start < seconds; done++) {
        fprintf(stderr, "SEED=%" PRIu64 "\r", seed_of_run + done);
        run_table(seed_of_run + done, folder);
    }
    printf("%" PRIu64 " tables from SEED=%" PRIu64 "; skipped: files %" PRIu64 ", row groups %" PRIu64
           ", pages %" PRIu64 ", rows %" PRIu64 ", %" PRIu64 " of them by other columns than the key\n",
           done, seed_of_run, totals.files_skipped, totals.row_groups_skipped, totals.pages_skipped,
           totals.rows_skipped, totals.rows_skipped_alone);
    if (done >= 5) {
        assert_true(totals.files_skipped > 0);
        assert_true(totals.row_groups_skipped > 0);
        assert_true(totals.pages_skipped > 0);
        assert_true(totals.rows_skipped_alone > 0);
    }
    remove_folder(folder);
}

int main(void)
{
    seed_of_run = number_from_environment("SEED", (uint64_t)time(NULL) % 1000000 * 1000);
    trace = getenv("PRUNE_TRACE") != NULL;
    printf("SEED=%" PRIu64 "\n", seed_of_run);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hidden_rows_stay_hidden),
        cmocka_unit_test(rows_of_one_log_hide_each_other),
        cmocka_unit_test(random_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
