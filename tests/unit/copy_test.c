/*
 * Compactions that copy what they leave alone as compressed bytes yield the same rows, counts and footers as those that
 * decode everything: random file groups, compacted several times over so that copies are copied again.
 */
#include "parquet_rows.h"
#include "slice/slice.h"
#include "table/table_int.h"
#include "table_support.h"

#define SCHEMA "k string, ts long, v string, f double, tags list<string>, _hoodie_is_deleted boolean"

/* ---- keys ---------------------------------------------------------------------------------------------- */

/* Keys of all kinds grow with their number, as bytes. */
enum key_kind { KEY_SHORT, KEY_LONG, KEY_UTF8, KEY_KINDS };
#define LETTERS_KEYS 15625 /* 5^6 */

static void make_key(enum key_kind kind, uint64_t number, char *out, size_t size)
{
    /* U+FFFD comes before U+1F600 here, and behind it in UTF-16 */
    static const char *const letters[] = {"a", "\xC3\xA9", "\xED\x9F\xBF", "\xEF\xBF\xBD",
                                          "\xF0\x9F\x98\x80"};
    if (kind == KEY_UTF8) {
        *out = 0;
        for (uint64_t place = LETTERS_KEYS / 5; place > 0; place /= 5)
            strcat(out, letters[number * 3 / place % 5]);
        return;
    }
    /* bounds in page indexes are cut at 64 bytes: one byte of the number is lost */
    static const char many[] = "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk";
    snprintf(out, size, "%s%06d%s", kind == KEY_LONG ? many : "k", (int)number,
             kind == KEY_LONG ? "-with-a-tail" : "");
}

/* ---- file groups --------------------------------------------------------------------------------------- */

struct group {
    struct test_table t;
    sl_write_schema schema;
    enum key_kind kind;
    uint64_t seqno;
    bool no_duplicates; /* inside a file */
    uint64_t twice;     /* a key that a file has twice all the same; 0: none */
    uint64_t step;      /* from key to key of a file */
    bool marks;         /* now and then a row of a file is a delete */
};

static struct group group_new(void)
{
    static const char *const block_sizes[] = {"4000", "40000", "1000000"};
    struct group g = {.kind = (enum key_kind)random_below(KEY_KINDS), .step = 1};
    const char *settings[] = {"sluice.parquet.page.rows",
                              random_below(2) ? "50" : "20",
                              "hoodie.parquet.block.size",
                              block_sizes[random_below(3)],
                              "sluice.parquet.bloom.keys",
                              random_below(2) ? "true" : "false",
                              NULL};
    const sl_type *data;
    g.t = table_created(
        SCHEMA, lsm_options("k", random_below(2) ? PAIRS("hoodie.table.ordering.fields", "ts") : NULL));
    table_reopen(&g.t, settings);
    OK(sl_schema_parse(SCHEMA, &data));
    OK(sl_write_schema_init(g.t.table, data, &g.schema));
    sl_type_unref(data);
    return g;
}

static void group_gone(struct group *g)
{
    sl_write_schema_free(&g->schema);
    table_gone(&g->t);
}

static void add_row(struct group *g, bool deletes, const char *instant, uint64_t number, sl_batch_builder *b)
{
    char key[128], line[1024];
    make_key(g->kind, number, key, sizeof key);
    unsigned long long ts = random_below(1000), n = random_below(1000000);
    if (deletes)
        snprintf(line, sizeof line, "{\"_hoodie_record_key\":\"%s\"%s}", key,
                 g->schema.deletes->field_count > 1 && random_below(2) ? ",\"ts\":500" : "");
    else
        snprintf(
            line, sizeof line,
            "{\"_hoodie_commit_time\":\"%s\",\"_hoodie_commit_seqno\":\"%llu\",\"_hoodie_record_key\":\"%s\","
            "\"_hoodie_partition_path\":\"\",\"k\":\"%s\",\"ts\":%llu,\"v\":\"v%llu\",\"f\":%llu.5,"
            "\"tags\":[%s]%s}",
            instant, (unsigned long long)g->seqno++, key, key, ts, n % 300, n % 7,
            n % 3 == 0   ? ""
            : n % 3 == 1 ? "\"x\""
                         : "\"y\",null,\"z\"",
            g->marks && random_below(30) == 0 ? ",\"_hoodie_is_deleted\":true" : "");
    OK(sl_batch_builder_json_line(b, line, strlen(line)));
}

/* A file of the keys first, first + 1, ... below `end`, of which one in `share` is there, now and then twice. */
static void write_file(struct group *g, sl_txn *txn, enum sl_file_kind kind, uint64_t first, uint64_t end,
                       uint64_t share)
{
    struct sl_file_spec spec = {.kind = kind,
                                .partition = "",
                                .file_id = "f-0",
                                .version = kind == SL_FILE_BASE ? 0 : 1,
                                .prev_commit = kind == SL_FILE_BASE ? "null" : NULL};
    const sl_type *schema = kind == SL_FILE_DELETES ? g->schema.deletes : g->schema.full;
    sl_batch_builder builder = {0};
    sl_batch *batch;
    sl_file_writer *w;
    int64_t rows = 0;
    OK(sl_batch_builder_init(&builder, schema));
    OK(sl_file_writer_open(g->t.table, txn, &g->schema, &spec, &w));
    for (uint64_t i = first; i < end; i += g->step) {
        bool again = g->no_duplicates ? i > 0 && i == g->twice : random_below(40) == 0;
        for (uint64_t n = random_below(share) == 0 ? 1 + again : 0; n > 0; n--, rows++)
            add_row(g, kind == SL_FILE_DELETES, sl_txn_instant(txn), i, &builder);
        if (i % 300 == 0 || i + g->step >= end) {
            OK(sl_batch_builder_finish(&builder, &batch));
            OK(sl_file_writer_write(w, batch));
            sl_batch_unref(batch);
        }
    }
    OK(sl_file_writer_close(w, &(sl_write_stat){.num_writes = rows}, NULL));
    sl_batch_builder_free(&builder);
}

static sl_txn *begin(struct group *g)
{
    sl_txn *txn;
    OK(sl_txn_begin(g->t.table,
                    &(struct sl_txn_options){.action = SL_ACTION_DELTACOMMIT, .operation = "UPSERT"}, &txn));
    return txn;
}

/* A commit of one file. */
static void put_file(struct group *g, enum sl_file_kind kind, uint64_t first, uint64_t end, uint64_t share)
{
    sl_txn *txn = begin(g);
    write_file(g, txn, kind, first, end, share);
    OK(sl_txn_commit(txn, g->schema.data_text, NULL));
}

/* Keys of a log: the newest, few from anywhere, many from a stretch, or ones behind all of the base. */
static void write_log(struct group *g, uint64_t base_keys)
{
    enum sl_file_kind kind = random_below(4) ? SL_FILE_LOG : SL_FILE_DELETES;
    uint64_t first = random_below(base_keys);
    g->marks = random_below(3) == 0;
    g->no_duplicates = random_below(2);
    switch (random_below(5)) {
    case 0:
        put_file(g, kind, base_keys - base_keys / 20, base_keys + base_keys / 50, 2);
        break;
    case 1:
        put_file(g, kind, 0, base_keys, 1 + base_keys / 3);
        break;
    case 2:
        put_file(g, kind, first, first + base_keys / 10, 1 + random_below(20));
        break;
    case 3:
        put_file(g, kind, base_keys, base_keys + 900, 1 + random_below(2));
        break;
    default:
        put_file(g, kind, base_keys, base_keys + 100, 1);
    }
    g->marks = g->no_duplicates = false;
}

/* ---- compactions --------------------------------------------------------------------------------------- */

struct compacted {
    sl_buf rows; /* canonical text, without the file's name */
    struct sl_merge_counts counts;
    char bounds[600]; /* footer entries */
    size_t row_groups;
    int64_t file_rows;
};

static char *footer_text(const sl_parquet *p, const char *key)
{
    const char *text = sl_parquet_key_value(p, key);
    return (char *)(uintptr_t)(text ? text : "-");
}

/* Bounds of the key's pages are their first and last key, where they are not cut; indexes agree with their chunks. */
static void check_pages(sl_parquet *p)
{
    int column = sl_type_field_index(sl_parquet_schema(p), "_hoodie_record_key");
    const char *name = "_hoodie_record_key";
    for (size_t g = 0; g < sl_parquet_row_groups(p); g++) {
        struct sl_parquet_page_bounds b;
        OK(sl_parquet_page_bounds(p, g, column, &b));
        assert_true(b.from_index);
        for (size_t i = 0; i < b.page_count; i++) {
            struct sl_row_range range = {b.pages[i].first_row, b.pages[i].rows};
            sl_stream *keys;
            sl_batch *batch;
            OK(sl_parquet_scan(p,
                               &(struct sl_parquet_scan_options){
                                   .columns = &name, .column_count = 1, .ranges = &range, .range_count = 1},
                               &keys));
            OK(sl_stream_next(keys, &batch));
            assert_non_null(batch);
            assert_int_equal(batch->rows, b.pages[i].rows);
            const sl_array *key_column = batch->columns[0];
            size_t last_len;
            sl_bytes_at(key_column, batch->rows - 1, &last_len);
            if (last_len <= 64) {
                assert_true(sl_equal_at(b.min, (int64_t)i, key_column, 0));
                assert_true(sl_equal_at(b.max, (int64_t)i, key_column, batch->rows - 1));
            }
            for (int64_t k = 0; k < batch->rows; k++) {
                assert_true(sl_compare(b.min, (int64_t)i, batch->columns[0], k) <= 0);
                assert_true(sl_compare(b.max, (int64_t)i, batch->columns[0], k) >= 0);
                size_t len;
                bool may;
                const uint8_t *key = sl_bytes_at(batch->columns[0], k, &len);
                OK(sl_parquet_may_contain(p, g, column, key, len, &may));
                assert_true(may);
            }
            sl_batch_unref(batch);
            sl_stream_close(keys);
        }
        sl_parquet_page_bounds_free(&b);
    }
    assert_int_equal(sl_parquet_ignored_indexes(p), 0);
}

static void check_file_name(sl_parquet *p, const char *name)
{
    const char *column = "_hoodie_file_name";
    sl_stream *rows;
    sl_batch *batch;
    OK(sl_parquet_scan(p, &(struct sl_parquet_scan_options){.columns = &column, .column_count = 1}, &rows));
    for (;;) {
        OK(sl_stream_next(rows, &batch));
        if (!batch)
            break;
        for (int64_t i = 0; i < batch->rows; i++) {
            size_t len;
            const uint8_t *text = sl_bytes_at(batch->columns[0], i, &len);
            assert_int_equal(len, strlen(name));
            assert_memory_equal(text, name, len);
        }
        sl_batch_unref(batch);
    }
    sl_stream_close(rows);
}

static void read_back(struct group *g, const char *name, struct compacted *out)
{
    static const char *const columns[] = {"_hoodie_commit_time",
                                          "_hoodie_commit_seqno",
                                          "_hoodie_record_key",
                                          "_hoodie_partition_path",
                                          "k",
                                          "ts",
                                          "v",
                                          "f",
                                          "tags",
                                          "_hoodie_is_deleted"};
    sl_source *source;
    OK(sl_source_open(g->t.table, name, NULL, &source));
    sl_parquet *p = source->parquet;
    OK(parquet_rows_text(source->file, false,
                         &(struct sl_parquet_scan_options){.columns = columns, .column_count = 10},
                         &out->rows));
    out->row_groups = sl_parquet_row_groups(p);
    out->file_rows = sl_parquet_rows(p);
    snprintf(out->bounds, sizeof out->bounds, "%s %s %s", footer_text(p, "hoodie_min_record_key"),
             footer_text(p, "hoodie_max_record_key"), footer_text(p, SL_SORTED_BY));
    check_pages(p);
    check_file_name(p, name);
    sl_source_unref(source);
}

/* The group's slice as a new base file. */
static void compact(struct group *g, sl_txn *txn, bool copies, sl_read_stats *stats, struct compacted *out)
{
    sl_view view;
    sl_read_slice slice;
    bool found;
    memset(out, 0, sizeof *out);
    OK(sl_view_load(g->t.table, NULL, &view));
    OK(sl_group_read_slice(&view.partitions[0].groups[0], false, &slice, &found));
    assert_true(found);
    struct sl_file_spec spec = {.kind = SL_FILE_BASE,
                                .partition = "",
                                .file_id = copies ? "f-0" : "f-decoded",
                                .prev_commit = slice.base->parts.instant,
                                .prev_base_file = slice.base->name};
    sl_file_writer *w;
    sl_stream *rows;
    OK(sl_file_writer_open(g->t.table, txn, &g->schema, &spec, &w));
    struct sl_slice_options options = {.schema = g->schema.full,
                                       .table_schema = g->schema.full,
                                       .keys_needed = true,
                                       .stats = stats,
                                       .counts = &out->counts,
                                       .copy_to = copies ? w : NULL};
    OK(sl_slice_open(g->t.table, &slice, &options, &rows));
    for (;;) {
        sl_batch *batch;
        OK(sl_stream_next(rows, &batch));
        if (!batch)
            break;
        OK(sl_file_writer_write(w, batch));
        sl_batch_unref(batch);
    }
    sl_stream_close(rows);
    OK(sl_file_writer_close(w, &(sl_write_stat){.num_writes = sl_file_writer_rows(w)}, NULL));
    OK(txn_wait_for_files(txn));
    size_t count;
    const sl_write_stat *stat = sl_txn_stats(txn, &count);
    assert_int_equal(count, 1);
    read_back(g, stat->path, out);
    assert_int_equal(out->file_rows, stat->num_writes);
    sl_read_slice_free(&slice);
    sl_view_free(&view);
}

static void compare(const struct compacted *copied, const struct compacted *decoded)
{
    if (copied->rows.len != decoded->rows.len ||
        memcmp(copied->rows.data, decoded->rows.data, copied->rows.len) != 0)
        fail_msg("other rows:\n%.*s\nthan\n%.*s", (int)copied->rows.len, (const char *)copied->rows.data,
                 (int)decoded->rows.len, (const char *)decoded->rows.data);
    assert_string_equal(copied->bounds, decoded->bounds);
    assert_int_equal(copied->counts.rows_in, decoded->counts.rows_in);
    assert_int_equal(copied->counts.rows_out, decoded->counts.rows_out);
    assert_int_equal(copied->counts.deletes_in, decoded->counts.deletes_in);
    assert_int_equal(copied->counts.inserted, decoded->counts.inserted);
    assert_int_equal(copied->counts.updated, decoded->counts.updated);
    assert_int_equal(copied->counts.deleted, decoded->counts.deleted);
}

/* Compacts the slice once as it is, which is forgotten, and once copying, which becomes the next base. */
static void compact_both_ways(struct group *g, sl_read_stats *stats)
{
    struct compacted copied, decoded;
    sl_txn *txn = begin(g);
    compact(g, txn, false, NULL, &decoded);
    sl_txn_abort(txn);
    txn = begin(g);
    compact(g, txn, true, stats, &copied);
    OK(sl_txn_commit(txn, g->schema.data_text, NULL));
    compare(&copied, &decoded);
    sl_buf_free(&copied.rows);
    sl_buf_free(&decoded.rows);
}

static void random_groups(void **state)
{
    (void)state;
    sl_read_stats stats = {0};
    const char *rounds = getenv("ROUNDS");
    uint64_t written = 0;
    for (int round = rounds ? atoi(rounds) : 4; round > 0; round--) {
        struct group g = group_new();
        uint64_t keys = 300 + random_below(4000);
        put_file(&g, SL_FILE_BASE, random_below(100), keys, 1 + random_below(3));
        for (int generation = 0; generation < 4; generation++) {
            for (uint64_t logs = 1 + random_below(3); logs > 0; logs--)
                write_log(&g, keys);
            compact_both_ways(&g, &stats);
            written++;
        }
        group_gone(&g);
    }
    assert_true(stats.rows_copied > 100 * written);  /* much was copied, */
    assert_true(stats.rows_decoded > 100 * written); /* much was not */
    assert_true(stats.pages_copied > stats.rows_copied / 50);
    assert_true(stats.bytes_copied > stats.rows_copied);
}

/* ---- by hand ------------------------------------------------------------------------------------------- */

/* Short keys, in pages of so many rows. */
static struct group group_by_hand(const char *page_rows)
{
    struct group g = group_new();
    g.kind = KEY_SHORT;
    g.no_duplicates = true;
    table_reopen(&g.t, (const char *const[]){"sluice.parquet.page.rows", page_rows, NULL});
    return g;
}

/* The newest keys change: pages of the others are copied as they are, and decoded are the pages that are met. */
static void only_what_is_met_is_decoded(void **state)
{
    (void)state;
    struct group g = group_by_hand("100");
    sl_read_stats stats = {0};
    struct compacted out;
    g.no_duplicates = false;
    put_file(&g, SL_FILE_BASE, 0, 3000, 1);
    put_file(&g, SL_FILE_LOG, 2950, 3010, 1);
    sl_txn *txn = begin(&g);
    compact(&g, txn, true, &stats, &out);
    sl_txn_abort(txn);
    assert_true(stats.rows_copied >= 2900 && stats.rows_copied < 3100); /* a few keys are there twice */
    assert_int_equal(stats.rows_copied % 100, 0);
    assert_int_equal(out.row_groups, 2);
    assert_true(out.counts.inserted >= 10 && out.counts.inserted < 20);
    sl_buf_free(&out.rows);
    group_gone(&g);
}

/* Updates of the last key of a unit and of the first one of another: these units are met. */
static void keys_on_borders(void **state)
{
    (void)state;
    struct group g = group_by_hand("100");
    sl_read_stats stats = {0};
    put_file(&g, SL_FILE_BASE, 0, 2000, 1);
    static const uint64_t numbers[] = {599, 1200, 1999};
    for (size_t i = 0; i < 3; i++)
        put_file(&g, SL_FILE_LOG, numbers[i], numbers[i] + 1, 1);
    compact_both_ways(&g, &stats);
    assert_int_equal(stats.rows_copied, 500 + 600 + 600);
    group_gone(&g);
}

struct log_case {
    bool no_duplicates, marks;
    uint64_t copied;
};

/* New keys in a log: its first page is decoded, since nothing is known of it before, the others are copied; none where some of
 * them are deletes or repeat. */
static void logs_are_copied(void **state)
{
    (void)state;
    static const struct log_case cases[] = {
        {true, false, 1000 + 1900}, {false, false, 1000}, {true, true, 1000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct group g = group_by_hand("100");
        sl_read_stats stats = {0};
        put_file(&g, SL_FILE_BASE, 0, 1000, 1);
        g.no_duplicates = cases[i].no_duplicates;
        g.marks = cases[i].marks;
        put_file(&g, SL_FILE_LOG, 2000, 4000, 1);
        compact_both_ways(&g, &stats);
        assert_int_equal(stats.rows_copied, cases[i].copied);
        group_gone(&g);
    }
}

/* The log's key that repeats stands at the end of a page and at the beginning of the next, which a row of the base meets:
 * what is copied must not end between them. */
static void a_repeated_key_is_not_parted(void **state)
{
    (void)state;
    struct group g = group_by_hand("100");
    sl_read_stats stats = {0};
    put_file(&g, SL_FILE_BASE, 2550, 2551, 1);
    g.twice = 2499;
    put_file(&g, SL_FILE_LOG, 2000, 3000, 1);
    compact_both_ways(&g, &stats);
    group_gone(&g);
}

/* One key in 80 changes, so that each stretch to copy has three units: a file does not fall into ever more row groups. */
static void row_groups_stay_few(void **state)
{
    (void)state;
    struct group g = group_by_hand("20");
    sl_read_stats stats = {0};
    struct compacted out;
    put_file(&g, SL_FILE_BASE, 0, 4000, 1);
    for (uint64_t generation = 0; generation < 3; generation++) {
        g.step = 80;
        put_file(&g, SL_FILE_LOG, 10, 4000, 1);
        sl_txn *txn = begin(&g);
        compact(&g, txn, true, &stats, &out);
        OK(sl_txn_commit(txn, g.schema.data_text, NULL));
        assert_true(out.row_groups > 10 && out.row_groups <= 17);
        assert_int_equal(out.file_rows, 4000);
        sl_buf_free(&out.rows);
    }
    group_gone(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(random_groups, random_set_up),
        cmocka_unit_test_setup(only_what_is_met_is_decoded, random_set_up),
        cmocka_unit_test_setup(keys_on_borders, random_set_up),
        cmocka_unit_test_setup(logs_are_copied, random_set_up),
        cmocka_unit_test_setup(a_repeated_key_is_not_parted, random_set_up),
        cmocka_unit_test_setup(row_groups_stay_few, random_set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
