/*
 * Merges that read keys first and the other columns where rows survive (slice/run_late.c) yield the same rows as merges that
 * read all columns at once: random file groups of old and new schemas, small pages, row groups and batches, projections and
 * pruning. Damage and a lack of memory come out as errors.
 */
#include "parquet_rows.h"
#include "slice/slice.h"
#include "table_support.h"

#define SCHEMA                                                                                               \
    "k string, ts long, v string, n long, tags list<string>, f double, m map<string, long>, "                \
    "p struct<x: int, y: list<struct<z: string>>>, _hoodie_is_deleted boolean"
#define OLD_SCHEMA "k string, ts int, v string, n int, tags list<string>, p struct<x: int>"

struct group {
    struct test_table t;
    sl_write_schema now, old;
    const char *page_rows, *block_size;
    uint64_t keys, seqno;
};

/* ---- file groups --------------------------------------------------------------------------------------- */

static void reopen(struct group *g, bool late)
{
    table_reopen(&g->t,
                 (const char *const[]){"sluice.parquet.page.rows", g->page_rows, "hoodie.parquet.block.size",
                                       g->block_size, "sluice.merge.late", late ? "true" : "false", NULL});
}

static void schema_of(const struct group *g, const char *text, sl_write_schema *out)
{
    const sl_type *data;
    OK(sl_schema_parse(text, &data));
    OK(sl_write_schema_init(g->t.table, data, out));
    sl_type_unref(data);
}

static struct group group_new(bool event_time)
{
    static const char *const block_sizes[] = {"3000", "20000", "1000000"};
    struct group g = {.page_rows = random_below(2) ? "70" : "20",
                      .block_size = block_sizes[random_below(3)],
                      .keys = 200 + random_below(2000)};
    g.t = table_created(SCHEMA,
                        lsm_options("k", event_time ? PAIRS("hoodie.table.ordering.fields", "ts") : NULL));
    reopen(&g, true);
    schema_of(&g, SCHEMA, &g.now);
    schema_of(&g, OLD_SCHEMA, &g.old);
    return g;
}

static void group_gone(struct group *g)
{
    sl_write_schema_free(&g->now);
    sl_write_schema_free(&g->old);
    table_gone(&g->t);
}

static void add_row(struct group *g, bool is_old, uint64_t number, sl_batch_builder *b)
{
    static const char *const tags[] = {"[]", "null", "[\"a\",null,\"b\"]", "[\"c\"]"};
    char line[1024];
    unsigned long long n = random_below(1000000), seqno = g->seqno++;
    int len = snprintf(
        line, sizeof line,
        "{\"_hoodie_commit_seqno\":\"%llu\",\"_hoodie_record_key\":\"k%06d\",\"k\":\"k%06d\",\"ts\":%llu,"
        "\"v\":\"v%llu\",\"tags\":%s,\"p\":{\"x\":%llu",
        seqno, (int)number, (int)number, n % 50, n % 3 ? n % 40 : n, tags[n % 4], n % 9);
    if (!is_old && n % 5)
        len += snprintf(line + len, sizeof line - (size_t)len, ",\"y\":[{\"z\":\"z%llu\"},{}]", n % 7);
    len += snprintf(line + len, sizeof line - (size_t)len, "}");
    if (n % 6)
        len += snprintf(line + len, sizeof line - (size_t)len, ",\"n\":%llu", n);
    if (!is_old)
        len += snprintf(line + len, sizeof line - (size_t)len, ",\"f\":%llu.5,\"m\":{\"q\":%llu}%s", n % 300,
                        n, random_below(25) ? "" : ",\"_hoodie_is_deleted\":true");
    OK(sl_batch_builder_json_line(
        b, line, (size_t)len + (size_t)snprintf(line + len, sizeof line - (size_t)len, "}")));
}

static void add_delete(const struct group *g, uint64_t number, sl_batch_builder *b)
{
    char line[128];
    int len = snprintf(line, sizeof line, "{\"_hoodie_record_key\":\"k%06d\"%s}", (int)number,
                       g->now.deletes->field_count > 1 && random_below(2) ? ",\"ts\":25" : "");
    OK(sl_batch_builder_json_line(b, line, (size_t)len));
}

/* A commit of one file: of the keys in [first, end) one in `share`, now and then twice. */
static void put_file(struct group *g, enum sl_file_kind kind, uint64_t first, uint64_t end, uint64_t share)
{
    bool is_old = kind != SL_FILE_DELETES && random_below(3) == 0;
    const sl_write_schema *schema = is_old ? &g->old : &g->now;
    sl_txn *txn;
    OK(sl_txn_begin(g->t.table,
                    &(struct sl_txn_options){.action = SL_ACTION_DELTACOMMIT, .operation = "UPSERT"}, &txn));
    struct sl_file_spec spec = {.kind = kind,
                                .partition = "",
                                .file_id = "f-0",
                                .version = kind == SL_FILE_BASE ? 0 : 1,
                                .prev_commit = kind == SL_FILE_BASE ? "null" : NULL};
    sl_batch_builder builder = {0};
    sl_batch *batch;
    sl_file_writer *w;
    OK(sl_batch_builder_init(&builder, kind == SL_FILE_DELETES ? schema->deletes : schema->full));
    OK(sl_file_writer_open(g->t.table, txn, schema, &spec, &w));
    for (uint64_t i = first; i < end; i++) {
        for (uint64_t n = random_below(share) == 0 ? 1 + (random_below(40) == 0) : 0; n > 0; n--)
            if (kind == SL_FILE_DELETES)
                add_delete(g, i, &builder);
            else
                add_row(g, is_old, i, &builder);
        if (i % 100 == 0 || i + 1 == end) {
            OK(sl_batch_builder_finish(&builder, &batch));
            OK(sl_file_writer_write(w, batch));
            sl_batch_unref(batch);
        }
    }
    OK(sl_file_writer_close(w, &(sl_write_stat){0}, NULL));
    sl_batch_builder_free(&builder);
    OK(sl_txn_commit(txn, schema->data_text, NULL));
}

/* Keys that most logs share, so that batches without a survivor are many, or some from anywhere. */
static void put_log(struct group *g)
{
    enum sl_file_kind kind = random_below(5) ? SL_FILE_LOG : SL_FILE_DELETES;
    if (random_below(3))
        put_file(g, kind, g->keys / 2, g->keys + g->keys / 20, 1 + random_below(2));
    else
        put_file(g, kind, 0, g->keys, 1 + random_below(30));
}

/* ---- reading ------------------------------------------------------------------------------------------- */

struct reading {
    const sl_type *schema;
    size_t batch_bytes;
    struct sl_row_filter *filter;
    sl_read_stats stats;
    struct sl_merge_counts counts;
    sl_buf rows;
};

static sl_status read_group(const struct group *g, struct reading *r)
{
    sl_view view;
    sl_read_slice slice;
    bool found;
    OK(sl_view_load(g->t.table, NULL, &view));
    OK(sl_group_read_slice(&view.partitions[0].groups[0], false, &slice, &found));
    assert_true(found);
    sl_stream *rows = NULL;
    sl_status status = sl_slice_open(g->t.table, &slice,
                                     &(struct sl_slice_options){.schema = r->schema,
                                                                .table_schema = g->now.full,
                                                                .keys_needed = true,
                                                                .batch_bytes = r->batch_bytes,
                                                                .filter = r->filter,
                                                                .stats = &r->stats,
                                                                .counts = &r->counts},
                                     &rows);
    if (!status)
        status = stream_text(rows, &r->rows);
    sl_stream_close(rows);
    sl_read_slice_free(&slice);
    sl_view_free(&view);
    return status;
}

/* Pages of the keys in a range, cut to odd places. */
static sl_status select_some(void *context, const sl_parquet *file, size_t row_group,
                             enum sl_prune_reach reach, sl_row_ranges *rows)
{
    const char *const *range = context;
    struct sl_parquet_page_bounds b;
    (void)reach;
    SL_TRY(sl_parquet_page_bounds(file, row_group,
                                  sl_type_field_index(sl_parquet_schema(file), "_hoodie_record_key"), &b));
    for (size_t i = 0; i < b.page_count; i++) {
        size_t min_len, max_len;
        const uint8_t *min = sl_bytes_at(b.min, (int64_t)i, &min_len),
                      *max = sl_bytes_at(b.max, (int64_t)i, &max_len);
        if (bytes_compare(max, max_len, range[0], strlen(range[0])) >= 0 &&
            (bytes_compare(min, min_len, range[1], strlen(range[1])) < 0 || i % 3 == 0))
            OK(sl_row_ranges_add(rows, b.pages[i].first_row, b.pages[i].rows));
    }
    sl_parquet_page_bounds_free(&b);
    return SL_OK;
}

static const sl_type *some_columns(const sl_type *full)
{
    sl_field fields[16];
    size_t count = 0;
    const sl_type *type;
    bool all = random_below(2);
    for (size_t i = 0; i < full->field_count; i++)
        if (all || random_below(4))
            fields[count++] = full->fields[i];
    OK(sl_type_struct(fields, count, &type));
    return type;
}

static void compare(const struct reading *late, const struct reading *whole)
{
    if (late->rows.len != whole->rows.len || memcmp(late->rows.data, whole->rows.data, whole->rows.len) != 0)
        fail_msg("other rows:\n%.*s\nthan\n%.*s", (int)late->rows.len, (const char *)late->rows.data,
                 (int)whole->rows.len, (const char *)whole->rows.data);
    assert_int_equal(late->counts.rows_in, whole->counts.rows_in);
    assert_int_equal(late->counts.rows_out, whole->counts.rows_out);
    assert_int_equal(late->counts.updated, whole->counts.updated);
    assert_int_equal(late->counts.deleted, whole->counts.deleted);
    assert_int_equal(late->counts.inserted, whole->counts.inserted);
}

/* ---- tests --------------------------------------------------------------------------------------------- */

static void both_ways_yield_the_same(void **state)
{
    (void)state;
    const char *rounds = getenv("ROUNDS");
    uint64_t late_pages = 0, whole_pages = 0;
    for (int round = rounds ? atoi(rounds) : 12; round > 0; round--) {
        struct group g = group_new(random_below(2));
        put_file(&g, SL_FILE_BASE, random_below(50), g.keys, 1 + random_below(3));
        for (uint64_t logs = 1 + random_below(6); logs > 0; logs--)
            put_log(&g);
        for (int turn = 0; turn < 4; turn++) {
            char low[16], high[16];
            const char *range[] = {low, high};
            uint64_t first = random_below(g.keys);
            snprintf(low, sizeof low, "k%06d", (int)first);
            snprintf(high, sizeof high, "k%06d", (int)(first + random_below(g.keys)));
            struct sl_row_filter filter = {select_some, range, true};
            struct reading late = {.schema = some_columns(g.now.full),
                                   .batch_bytes = random_below(2) ? 0 : 4000 + random_below(60000),
                                   .filter = turn % 2 ? &filter : NULL},
                           whole = late;
            reopen(&g, true);
            OK(read_group(&g, &late));
            reopen(&g, false);
            OK(read_group(&g, &whole));
            compare(&late, &whole);
            late_pages += late.stats.pages;
            whole_pages += whole.stats.pages;
            sl_buf_free(&late.rows);
            sl_buf_free(&whole.rows);
            sl_type_unref(late.schema);
        }
        group_gone(&g);
    }
    assert_true(late_pages < whole_pages);
}

/* A group whose logs all hold the same keys. */
static struct group overwritten(uint64_t keys)
{
    struct group g = group_new(false);
    g.page_rows = "100";
    g.block_size = "1000000";
    g.keys = keys;
    reopen(&g, true);
    put_file(&g, SL_FILE_BASE, 0, g.keys, 1);
    for (int log = 0; log < 3; log++)
        put_file(&g, SL_FILE_LOG, 0, g.keys, 1);
    return g;
}

/* Of files that later ones overwrite nothing is read but what the merge looks at. */
static void only_survivors_are_read(void **state)
{
    (void)state;
    struct group g = overwritten(5000);
    struct reading late = {.schema = g.now.data}, whole = late;
    OK(read_group(&g, &late));
    reopen(&g, false);
    OK(read_group(&g, &whole));
    compare(&late, &whole);
    assert_true(late.stats.pages < whole.stats.pages / 2);
    assert_true(late.stats.bytes_read < whole.stats.bytes_read / 3 * 2);
    sl_buf_free(&late.rows);
    sl_buf_free(&whole.rows);
    group_gone(&g);
}

static void lack_of_memory_is_an_error(void **state)
{
    (void)state;
    struct group g = overwritten(300);
    bool failed = true;
    for (uint64_t n = 1; failed; n += 1 + n / 40) {
        struct reading r = {.schema = g.now.full, .batch_bytes = 9000};
        sl_view view;
        sl_read_slice slice;
        bool found;
        sl_stream *rows = NULL;
        OK(sl_view_load(g.t.table, NULL, &view));
        OK(sl_group_read_slice(&view.partitions[0].groups[0], false, &slice, &found));
        struct sl_slice_options options = {.schema = r.schema,
                                           .table_schema = g.now.full,
                                           .keys_needed = true,
                                           .batch_bytes = r.batch_bytes};
        sl_test_fail_allocation(n, false);
        sl_status status = sl_slice_open(g.t.table, &slice, &options, &rows);
        if (!status)
            status = stream_text(rows, &r.rows);
        sl_stream_close(rows);
        sl_test_fail_allocation(0, false);
        failed = status != SL_OK;
        if (failed)
            assert_int_equal(sl_status_code(status), SL_E_MEMORY);
        sl_status_free(status);
        sl_buf_free(&r.rows);
        sl_read_slice_free(&slice);
        sl_view_free(&view);
    }
    group_gone(&g);
}

/* Bytes of a chunk that comes late: the error names file and column. */
static void damage_is_named(void **state)
{
    (void)state;
    struct group g = overwritten(300);
    struct reading r = {.schema = g.now.full};
    sl_view view;
    sl_read_slice slice;
    bool found;
    char path[2048];
    OK(sl_view_load(g.t.table, NULL, &view));
    OK(sl_group_read_slice(&view.partitions[0].groups[0], false, &slice, &found));
    const char *name = slice.logs[slice.log_count - 1]->name;
    snprintf(path, sizeof path, "%s/%s", g.t.root, name);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 60, SEEK_SET),
                     0); /* in the first page of the first column, _hoodie_commit_time */
    for (int i = 0; i < 8; i++)
        assert_int_equal(fputc(0x55, file), 0x55);
    assert_int_equal(fclose(file), 0);
    sl_status status = read_group(&g, &r);
    assert_int_equal(sl_status_code(status), SL_E_CORRUPT);
    assert_non_null(strstr(sl_status_message(status), name));
    assert_non_null(strstr(sl_status_message(status), "column _hoodie_commit_time"));
    sl_status_free(status);
    sl_buf_free(&r.rows);
    sl_read_slice_free(&slice);
    sl_view_free(&view);
    group_gone(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(both_ways_yield_the_same, random_set_up),
        cmocka_unit_test_setup(only_survivors_are_read, random_set_up),
        cmocka_unit_test_setup(lack_of_memory_is_an_error, random_set_up),
        cmocka_unit_test_setup(damage_is_named, random_set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
