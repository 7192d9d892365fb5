/* Data files written and read back through the one way to do either: footers, names, stats; runs out of order; log
 * compactions; logs that must be refused. */
#include "table_support.h"
#include "slice/slice.h"

#define SCHEMA "k string, ts long, v string"

static void set_order(struct test_table *t, const char *order)
{
    table_reopen(t, (const char *const[]){"sluice.lsm.order", order, NULL});
}

/* Files out of order are not expected. */
static struct test_table new_table(void)
{
    struct test_table t =
        table_created(SCHEMA, lsm_options("k", PAIRS("hoodie.table.ordering.fields", "ts")));
    set_order(&t, "strict");
    return t;
}

/* Rows from JSON lines. */
static sl_batch *rows_of(const sl_type *schema, const char *const *lines)
{
    sl_batch_builder b = {0};
    sl_batch *batch;
    OK(sl_batch_builder_init(&b, schema));
    for (size_t i = 0; lines[i]; i++)
        OK(sl_batch_builder_json_line(&b, lines[i], strlen(lines[i])));
    OK(sl_batch_builder_finish(&b, &batch));
    sl_batch_builder_free(&b);
    return batch;
}

#define ROW(key, ts, v) "{\"_hoodie_record_key\":\"" key "\",\"k\":\"" key "\",\"ts\":" ts ",\"v\":\"" v "\"}"

static sl_write_schema write_schema(const struct test_table *t)
{
    const sl_type *data;
    sl_write_schema schema;
    OK(sl_schema_parse(SCHEMA, &data));
    OK(sl_write_schema_init(t->table, data, &schema));
    sl_type_unref(data);
    return schema;
}

struct file {
    enum sl_file_kind kind;
    const char *const *lines;
    const char *compacted; /* instants with commas between; NULL */
};

/* One transaction with the given files of group f-0; its instant in `instant`, the first file's name in `name`. */
static void write_files(const struct test_table *t, const struct file *files, size_t count, char *instant,
                        char *name)
{
    sl_write_schema schema = write_schema(t);
    sl_txn *txn;
    OK(sl_txn_begin(t->table,
                    &(struct sl_txn_options){.action = SL_ACTION_DELTACOMMIT, .operation = "UPSERT"}, &txn));
    snprintf(instant, SL_INSTANT_BYTES, "%s", sl_txn_instant(txn));
    for (size_t i = 0; i < count; i++) {
        sl_strings compacted = {0};
        if (files[i].compacted)
            OK(sl_strings_split(&compacted, files[i].compacted, ','));
        struct sl_file_spec spec = {.kind = files[i].kind,
                                    .partition = "",
                                    .file_id = "f-0",
                                    .version = files[i].kind == SL_FILE_BASE ? 0 : 1,
                                    .task = 3,
                                    .prev_commit = files[i].kind == SL_FILE_BASE ? "null" : NULL,
                                    .compacted = &compacted};
        sl_file_writer *w;
        sl_batch *rows =
            rows_of(files[i].kind == SL_FILE_DELETES ? schema.deletes : schema.full, files[i].lines);
        OK(sl_file_writer_open(t->table, txn, &schema, &spec, &w));
        OK(sl_file_writer_write(w, rows));
        assert_int_equal(sl_file_writer_rows(w), rows->rows);
        uint64_t bytes;
        OK(sl_file_writer_close(w, &(sl_write_stat){.num_writes = rows->rows}, &bytes));
        sl_batch_unref(rows);
        sl_strings_free(&compacted);
        size_t n;
        const sl_write_stat *stat = &sl_txn_stats(txn, &n)[i];
        assert_int_equal(n, i + 1);
        assert_int_equal(stat->bytes, bytes);
        assert_int_equal(stat->seconds > 0, files[i].kind != SL_FILE_DELETES); /* spec/lsm-layout.md 7 */
        assert_string_equal(stat->prev_commit, files[i].kind == SL_FILE_BASE ? "null" : instant);
        if (i == 0)
            snprintf(name, 256, "%s", stat->path);
    }
    OK(sl_txn_commit(txn, schema.data_text, NULL));
    sl_write_schema_free(&schema);
}

/* "a=v1@10 b=v2@20": key, v, ts of the group's merged rows. The status of the failure, or success. */
static sl_status read_some(const struct test_table *t, bool few_rows, sl_read_stats *stats, char *text,
                           size_t size)
{
    sl_view view;
    sl_read_slice slice;
    sl_write_schema schema = write_schema(t);
    bool found;
    OK(sl_view_load(t->table, NULL, &view));
    OK(sl_group_read_slice(&view.partitions[0].groups[0], false, &slice, &found));
    assert_true(found);
    sl_stream *rows = NULL;
    sl_status status = sl_slice_open(t->table, &slice,
                                     &(struct sl_slice_options){.schema = schema.data,
                                                                .table_schema = schema.full,
                                                                .keys_needed = true,
                                                                .few_rows = few_rows,
                                                                .stats = stats},
                                     &rows);
    size_t n = 0;
    *text = 0;
    while (!status) {
        sl_batch *batch;
        status = sl_stream_next(rows, &batch);
        if (status || !batch)
            break;
        for (int64_t i = 0; i < batch->rows; i++) {
            size_t key_len, v_len;
            const uint8_t *key = sl_bytes_at(batch->columns[0], i, &key_len),
                          *v = sl_bytes_at(batch->columns[2], i, &v_len);
            n += (size_t)snprintf(text + n, size - n, "%s%.*s=%.*s@%lld", n ? " " : "", (int)key_len,
                                  (const char *)key, (int)v_len, (const char *)v,
                                  (long long)sl_integer_at(batch->columns[1], i));
        }
        sl_batch_unref(batch);
    }
    sl_stream_close(rows);
    sl_read_slice_free(&slice);
    sl_view_free(&view);
    sl_write_schema_free(&schema);
    return status;
}

static sl_status read_rows(const struct test_table *t, sl_read_stats *stats, char *text, size_t size)
{
    return read_some(t, false, stats, text, size);
}

static void check_rows(const struct test_table *t, const char *want)
{
    char text[4096];
    OK(read_rows(t, NULL, text, sizeof text));
    assert_string_equal(text, want);
}

static sl_parquet *open_parquet(const struct test_table *t, const char *name, sl_file **file)
{
    char path[1024];
    sl_parquet *parquet;
    snprintf(path, sizeof path, "%s/%s", t->root, name);
    OK(sl_storage_open(t->table->storage, path, file));
    OK(sl_parquet_open(*file, NULL, &parquet));
    return parquet;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static void base_files_carry_hudis_footer(void **state)
{
    (void)state;
    struct test_table t = new_table();
    char instant[SL_INSTANT_BYTES], name[256], want[256];
    /* U+10000 and U+FF21: in the order of UTF-8 the first is the last, in Hudi's bounds the second is */
    const struct file base = {SL_FILE_BASE,
                              (const char *const[]){ROW("a", "1", "x"), ROW("b", "2", "y"),
                                                    ROW("\xef\xbc\xa1", "3", "z"),
                                                    ROW("\xf0\x90\x80\x80", "4", "w"), NULL},
                              NULL};
    write_files(&t, &base, 1, instant, name);
    snprintf(want, sizeof want, "f-0_3-0-0_%s.parquet", instant);
    assert_string_equal(name, want);
    sl_file *file;
    sl_parquet *parquet = open_parquet(&t, name, &file);
    assert_string_equal(sl_parquet_key_value(parquet, "hoodie_min_record_key"), "a");
    assert_string_equal(sl_parquet_key_value(parquet, "hoodie_max_record_key"), "\xef\xbc\xa1");
    assert_string_equal(sl_parquet_key_value(parquet, SL_SORTED_BY), "_hoodie_record_key");
    assert_non_null(strstr(sl_parquet_key_value(parquet, "parquet.avro.schema"), "\"t1_record\""));
    assert_null(sl_parquet_key_value(parquet, "hudi.log.format.VERSION"));
    sl_stream *rows;
    sl_batch *batch;
    OK(sl_parquet_scan(parquet, &(struct sl_parquet_scan_options){0}, &rows));
    OK(sl_stream_next(rows, &batch));
    size_t len;
    const uint8_t *file_name = sl_bytes_at(batch->columns[SL_META_FILE_NAME], 0, &len);
    assert_int_equal(len, strlen(name));
    assert_memory_equal(file_name, name, len);
    sl_batch_unref(batch);
    sl_stream_close(rows);
    sl_parquet_close(parquet);
    sl_file_close(file);
    check_rows(&t, "a=x@1 b=y@2 \xef\xbc\xa1=z@3 \xf0\x90\x80\x80=w@4");
    table_gone(&t);
}

/* A footer value ends at a zero byte: the upper bound must not sink below the keys. */
static void bounds_hold_for_keys_with_zero_bytes(void **state)
{
    (void)state;
    struct test_table t = new_table();
    char instant[SL_INSTANT_BYTES], name[256];
    const struct file base = {
        SL_FILE_BASE, (const char *const[]){ROW("a\\u0000a", "1", "x"), ROW("b\\u0000z", "1", "x"), NULL},
        NULL};
    write_files(&t, &base, 1, instant, name);
    sl_file *file;
    sl_parquet *parquet = open_parquet(&t, name, &file);
    assert_string_equal(sl_parquet_key_value(parquet, "hoodie_min_record_key"), "a");
    assert_string_equal(sl_parquet_key_value(parquet, "hoodie_max_record_key"), "b\x01");
    sl_parquet_close(parquet);
    sl_file_close(file);
    table_gone(&t);
}

static void logs_carry_their_headers(void **state)
{
    (void)state;
    struct test_table t = new_table();
    char instant[SL_INSTANT_BYTES], name[256];
    const struct file files[] = {
        {SL_FILE_DELETES,
         (const char *const[]){"{\"_hoodie_record_key\":\"a\",\"ts\":7}", "{\"_hoodie_record_key\":\"b\"}",
                               NULL},
         NULL},
        {SL_FILE_LOG, (const char *const[]){ROW("c", "1", "x"), NULL}, "20200101000000000"}};
    write_files(&t, files, 2, instant, name);
    for (int i = 0; i < 2; i++) {
        struct sl_log_headers headers;
        char path[256];
        sl_file *file;
        snprintf(path, sizeof path, "f-0_3-0-0_%s_1.%s.parquet", instant, i ? "log" : "deletes");
        sl_parquet *parquet = open_parquet(&t, path, &file);
        OK(sl_log_headers_read(parquet, &headers));
        assert_string_equal(headers.instant, instant);
        assert_int_equal(headers.version, 2);
        assert_non_null(
            strstr(headers.schema, "_hoodie_commit_seqno")); /* with the meta columns, in delete logs too */
        assert_int_equal(headers.compacted.count, i);
        sl_log_headers_free(&headers);
        assert_string_equal(sl_parquet_key_value(parquet, "hoodie_max_record_key"), i ? "c" : "b");
        sl_parquet_close(parquet);
        sl_file_close(file);
    }
    table_gone(&t);
}

/* A file that cannot be finished leaves neither file nor stat, and before its first row group it is not even made. */
static void aborted_files_vanish(void **state)
{
    (void)state;
    struct test_table t = new_table();
    OK(sl_properties_set(&t.table->options, "hoodie.parquet.block.size", "1"));
    sl_write_schema schema = write_schema(&t);
    sl_batch *rows = rows_of(schema.full, (const char *const[]){ROW("a", "1", "x"), NULL});
    sl_txn *txn;
    OK(sl_txn_begin(t.table, &(struct sl_txn_options){.action = SL_ACTION_DELTACOMMIT, .operation = "UPSERT"},
                    &txn));
    for (int has_rows = 0; has_rows < 2; has_rows++) {
        sl_file_writer *w;
        OK(sl_file_writer_open(
            t.table, txn, &schema,
            &(struct sl_file_spec){
                .kind = SL_FILE_BASE, .partition = "", .file_id = "f-0", .prev_commit = "null"},
            &w));
        if (has_rows) {
            OK(sl_file_writer_write(w, rows));
            assert_non_null(strstr(names_in(&t, ""), ".parquet"));
        }
        sl_file_writer_abort(w);
        size_t count;
        (void)sl_txn_stats(txn, &count);
        assert_int_equal(count, 0);
        assert_string_equal(names_in(&t, ""), has_rows ? ".hoodie/ .hoodie_partition_metadata" : ".hoodie/");
    }
    sl_file_writer_abort(NULL);
    sl_batch_unref(rows);
    sl_txn_abort(txn);
    sl_write_schema_free(&schema);
    table_gone(&t);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static void slices_are_folded(void **state)
{
    (void)state;
    struct test_table t = new_table();
    char instant[SL_INSTANT_BYTES], name[256];
    const struct file base = {
        SL_FILE_BASE,
        (const char *const[]){ROW("a", "10", "base"), ROW("b", "10", "base"), ROW("c", "10", "base"), NULL},
        NULL};
    write_files(&t, &base, 1, instant, name);
    const struct file logs[] = {
        {SL_FILE_LOG,
         (const char *const[]){ROW("a", "5", "old"), ROW("b", "20", "new"), ROW("d", "1", "new"), NULL},
         NULL},
        {SL_FILE_DELETES, (const char *const[]){"{\"_hoodie_record_key\":\"c\"}", NULL}, NULL}};
    write_files(&t, logs, 2, instant, name);
    check_rows(&t, "a=base@10 b=new@20 d=new@1");
    const struct file more = {SL_FILE_LOG, (const char *const[]){ROW("c", "1", "again"), NULL}, NULL};
    write_files(&t, &more, 1, instant, name);
    check_rows(&t, "a=base@10 b=new@20 c=again@1 d=new@1");
    table_gone(&t);
}

/* The key and its field are stored alike: one of them is read. Where one byte of one file differs, both are. */
static void columns_stored_alike_are_read_once(void **state)
{
    (void)state;
    static const struct {
        const char *log, *rows;
    } cases[] = {
        {ROW("b", "20", "new"), "a=base@10 b=new@20"},
        {"{\"_hoodie_record_key\":\"b\",\"k\":\"B\",\"ts\":20,\"v\":\"new\"}", "a=base@10 B=new@20"},
    };
    uint64_t pages[2];
    for (size_t i = 0; i < 2; i++) {
        struct test_table t = new_table();
        char instant[SL_INSTANT_BYTES], name[256], text[256];
        const char *const base[] = {ROW("a", "10", "base"), ROW("b", "10", "base"), NULL};
        const char *const log[] = {cases[i].log, NULL};
        write_files(&t, &(struct file){SL_FILE_BASE, base, NULL}, 1, instant, name);
        write_files(&t, &(struct file){SL_FILE_LOG, log, NULL}, 1, instant, name);
        sl_read_stats stats = {0};
        OK(read_rows(&t, &stats, text, sizeof text));
        assert_string_equal(text, cases[i].rows);
        pages[i] = atomic_load(&stats.pages);
        sl_read_stats of_few = {0};
        OK(read_some(&t, true, &of_few, text, sizeof text)); /* nothing is compared */
        assert_int_equal(atomic_load(&of_few.pages), pages[i] + (i == 0 ? 2 : 0));
        table_gone(&t);
    }
    assert_int_equal(pages[1], pages[0] + 2);
}

/* A stream is given only by success, at whatever allocation memory ends: of a base file alone, and with a log. */
static void slices_open_whole_or_not_at_all(void **state)
{
    (void)state;
    struct test_table t = new_table();
    sl_write_schema schema = write_schema(&t);
    char instant[SL_INSTANT_BYTES], name[256];
    const char *const lines[] = {ROW("a", "10", "base"), ROW("b", "10", "base"), NULL};
    for (int with_log = 0; with_log < 2; with_log++) {
        write_files(&t, &(struct file){with_log ? SL_FILE_LOG : SL_FILE_BASE, lines, NULL}, 1, instant, name);
        sl_view view;
        sl_read_slice slice;
        bool found;
        OK(sl_view_load(t.table, NULL, &view));
        OK(sl_group_read_slice(&view.partitions[0].groups[0], false, &slice, &found));
        sl_status status;
        uint64_t nth = 0;
        do {
            sl_stream *rows = NULL;
            sl_test_fail_allocation(++nth, false);
            status = sl_slice_open(
                t.table, &slice,
                &(struct sl_slice_options){.schema = schema.full, .table_schema = schema.full}, &rows);
            sl_test_fail_allocation(0, false);
            assert_true(status ? !rows : rows != NULL);
            sl_stream_close(rows);
        } while (sl_status_ignore(status));
        assert_true(nth > 50);
        sl_read_slice_free(&slice);
        sl_view_free(&view);
    }
    sl_write_schema_free(&schema);
    table_gone(&t);
}

/* A log compaction takes the place of what it names: a later row of a lower ordering value still sees its delete. */
static void compacted_logs_are_left_out(void **state)
{
    (void)state;
    struct test_table t = new_table();
    char first[SL_INSTANT_BYTES], second[SL_INSTANT_BYTES], third[SL_INSTANT_BYTES], name[256], text[256];
    const struct file one = {SL_FILE_LOG,
                             (const char *const[]){ROW("a", "1", "one"), ROW("b", "1", "one"), NULL}, NULL};
    const struct file two = {SL_FILE_LOG, (const char *const[]){ROW("a", "2", "two"), NULL}, NULL};
    write_files(&t, &one, 1, first, name);
    write_files(&t, &two, 1, second, name);
    const struct file compacted = {
        SL_FILE_LOG, (const char *const[]){ROW("a", "1", "compacted"), ROW("b", "1", "one"), NULL}, first};
    write_files(&t, &compacted, 1, third, name);
    sl_read_stats stats = {0};
    OK(read_rows(&t, &stats, text, sizeof text));
    assert_string_equal(
        text, "a=two@2 b=one@1"); /* the compacted row lies below the second log, where the first one lay */
    assert_int_equal(atomic_load(&stats.logs_replaced), 1);
    table_gone(&t);
}

/* Where a log compaction stands (spec/lsm-layout.md 9), told by who is the last to say something of key a. Log i gives its
 * number to a and to a key of its own, all with one ordering value. */
static void log_compactions_have_their_places(void **state)
{
    (void)state;
    enum { MOST = 5 };
    static const struct {
        const char *replaced[MOST]; /* of each log: the numbers of those it names, x one that is not there */
        const char *rows;
    } cases[] = {
        {{"", "", "0"}, "a=1@1 k1=1@1 k2=2@1"},
        {{"", "", "", "02"}, "a=3@1 k1=1@1 k3=3@1"}, /* in the place of the newest */
        {{"", "", "0", "2"}, "a=1@1 k1=1@1 k3=3@1"}, /* the list of a replaced one still counts */
        {{"", "", "", "0", "13"}, "a=2@1 k2=2@1 k4=4@1"},
        {{"", "", "x"}, "a=2@1 k0=0@1 k1=1@1 k2=2@1"}, /* at its own instant */
        {{"", "", "x0"}, "a=1@1 k1=1@1 k2=2@1"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct test_table t = new_table();
        char instants[MOST][SL_INSTANT_BYTES], name[256];
        for (int i = 0; i < MOST && cases[c].replaced[i]; i++) {
            char rows[2][128], list[MOST * SL_INSTANT_BYTES] = "";
            snprintf(rows[0], sizeof rows[0], ROW("a", "1", "%d"), i);
            snprintf(rows[1], sizeof rows[1], ROW("k%d", "1", "%d"), i, i, i);
            for (const char *of = cases[c].replaced[i]; *of; of++)
                snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? "," : "",
                         *of == 'x' ? "20000101000000000" : instants[*of - '0']);
            const struct file log = {SL_FILE_LOG, (const char *const[]){rows[0], rows[1], NULL},
                                     *list ? list : NULL};
            write_files(&t, &log, 1, instants[i], name);
        }
        check_rows(&t, cases[c].rows);
        table_gone(&t);
    }
}

/* A Parquet file that another writer made, with headers as given. */
static void put_foreign(const struct test_table *t, const char *name, const char *const *lines,
                        const char *const *pairs)
{
    sl_write_schema schema = write_schema(t);
    sl_buf bytes = {0};
    sl_output *output;
    sl_parquet_writer *w;
    struct sl_parquet_written written;
    struct sl_parquet_write_options options = {.created_by = "another", .row_group_bytes = 1};
    OK(sl_output_to_buf(&bytes, &output));
    OK(sl_parquet_writer_new(output, schema.full, &options, &w));
    for (; *lines; lines++) { /* a row group each, so a batch each */
        sl_batch *row = rows_of(schema.full, (const char *const[]){*lines, NULL});
        OK(sl_parquet_writer_write(w, row));
        sl_batch_unref(row);
    }
    for (size_t i = 0; pairs && pairs[i]; i += 2)
        OK(sl_parquet_writer_key_value(w, pairs[i], pairs[i + 1]));
    OK(sl_parquet_writer_finish(w, &written));
    OK(sl_output_finish(output));
    put_bytes(t, name, bytes.data, bytes.len);
    sl_buf_free(&bytes);
    sl_write_schema_free(&schema);
}

static const char *const split_headers[] = {"hudi.log.format.VERSION", "2", "hudi.log.format.SCHEMA", "{}",
                                            NULL};

static void keep_line(void *context, int level, const char *line)
{
    (void)level;
    snprintf(context, 512, "%s", line);
}

/* G-11: by the rows themselves, also where the mark of order was kept by somebody who did not keep the order. */
static void runs_out_of_order_are_repaired_or_refused(void **state)
{
    (void)state;
    static const char *const kept_mark[] = {
        "hudi.log.format.VERSION", "2", "hudi.log.format.SCHEMA", "{}", SL_SORTED_BY,
        "_hoodie_record_key",      NULL};
    static const char *const *const headers[] = {split_headers, kept_mark};
    for (size_t i = 0; i < 2; i++) {
        struct test_table t = new_table();
        char instant[SL_INSTANT_BYTES], name[256], path[256], text[256], warning[512] = "";
        const struct file base = {
            SL_FILE_BASE, (const char *const[]){ROW("a", "1", "base"), ROW("b", "1", "base"), NULL}, NULL};
        write_files(&t, &base, 1, instant, name);
        snprintf(path, sizeof path, "f-0_9-0-0_%s_1.log.parquet", instant);
        put_foreign(
            &t, path,
            (const char *const[]){ROW("c", "2", "log"), ROW("a", "2", "log"), ROW("b", "2", "log"), NULL},
            headers[i]);
        sl_read_stats stats = {0};
        FAILS(read_rows(&t, NULL, text, sizeof text), SL_E_CORRUPT, path);
        set_order(&t, "repair");
        t.table->runtime.on_log = keep_line;
        t.table->runtime.log_context = warning;
        OK(read_rows(&t, &stats, text, sizeof text));
        assert_string_equal(text, "a=log@2 b=log@2 c=log@2");
        assert_int_equal(atomic_load(&stats.runs_repaired), 1);
        assert_non_null(strstr(warning, path));
        table_gone(&t);
    }
}

/* The key that rows are sorted by is read, whatever column of a base file is stored like it and stands before it. */
static void key_column_is_never_left_out(void **state)
{
    (void)state;
    struct test_table t = new_table();
    char instant[SL_INSTANT_BYTES], name[256];
    const char *const sorted[] = {ROW("a", "1", "v"), ROW("b", "1", "v"), NULL}, *const unsorted[] = {
                                                                                     ROW("b", "1", "v"),
                                                                                     ROW("a", "1", "v"),
                                                                                     NULL};
    write_files(&t, &(struct file){SL_FILE_BASE, sorted, NULL}, 1, instant, name);
    put_foreign(&t, name, unsorted, NULL);
    set_order(&t, "repair");
    sl_view view;
    sl_read_slice slice;
    bool found;
    const sl_type *keys;
    sl_write_schema schema = write_schema(&t);
    sl_stream *rows;
    sl_batch *batch;
    OK(sl_schema_parse("k string, _hoodie_record_key string", &keys));
    OK(sl_view_load(t.table, NULL, &view));
    OK(sl_group_read_slice(&view.partitions[0].groups[0], false, &slice, &found));
    OK(sl_slice_open(
        t.table, &slice,
        &(struct sl_slice_options){.schema = keys, .table_schema = schema.full, .keys_needed = true}, &rows));
    OK(sl_stream_next(rows, &batch));
    for (int64_t row = 0; row < 2; row++)
        for (size_t c = 0; c < 2; c++) {
            size_t len;
            assert_memory_equal(sl_bytes_at(batch->columns[c], row, &len), row ? "b" : "a", 1);
        }
    sl_batch_unref(batch);
    sl_stream_close(rows);
    sl_read_slice_free(&slice);
    sl_view_free(&view);
    sl_write_schema_free(&schema);
    sl_type_unref(keys);
    table_gone(&t);
}

/* G-9 */
static void odd_logs_are_refused(void **state)
{
    (void)state;
    const struct {
        const char *const *pairs;
        const char *suffix;
        enum sl_code code;
        const char *part;
    } cases[] = {
        {NULL, "log.parquet", SL_E_CORRUPT, "without SCHEMA"},
        {(const char *const[]){"hudi.log.format.VERSION", "3", "hudi.log.format.SCHEMA", "{}", NULL},
         "log.parquet", SL_E_UNSUPPORTED, "log format version 3"},
        {(const char *const[]){"hudi.log.format.SCHEMA", "{}", "hudi.log.format.IS_PARTIAL", "true", NULL},
         "log.parquet", SL_E_UNSUPPORTED, "partial-update"},
        {(const char *const[]){"hudi.log.format.SCHEMA", "{}", NULL}, "log.lance", SL_E_UNSUPPORTED, "lance"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct test_table t = new_table();
        char instant[SL_INSTANT_BYTES], name[256], path[256], text[256];
        const struct file base = {SL_FILE_BASE, (const char *const[]){ROW("a", "1", "base"), NULL}, NULL};
        write_files(&t, &base, 1, instant, name);
        snprintf(path, sizeof path, "f-0_9-0-0_%s_1.%s", instant, cases[i].suffix);
        put_foreign(&t, path, (const char *const[]){ROW("a", "2", "log"), NULL}, cases[i].pairs);
        FAILS(read_rows(&t, NULL, text, sizeof text), cases[i].code, cases[i].part);
        table_gone(&t);
    }
}

/* G-9: what other readers take, too: a delete log without SCHEMA, and headers that contradict each other, with a warning. */
static void odd_logs_are_read(void **state)
{
    (void)state;
    static const char *const differ[] = {"hudi.log.format.metadata",
                                         "{\"VERSION\":\"9\",\"SCHEMA\":\"[]\"}",
                                         "hudi.log.format.VERSION",
                                         "2",
                                         "hudi.log.format.SCHEMA",
                                         "{}",
                                         NULL};
    static const struct {
        const char *const *pairs;
        const char *suffix, *rows, *warning;
    } cases[] = {{NULL, "deletes.parquet", "b=base@1", ""},
                 {differ, "log.parquet", "a=log@2 b=base@1", "two sets of headers differ"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct test_table t = new_table();
        char instant[SL_INSTANT_BYTES], name[256], path[256], warning[512] = "";
        const struct file base = {
            SL_FILE_BASE, (const char *const[]){ROW("a", "1", "base"), ROW("b", "1", "base"), NULL}, NULL};
        write_files(&t, &base, 1, instant, name);
        snprintf(path, sizeof path, "f-0_9-0-0_%s_1.%s", instant, cases[i].suffix);
        put_foreign(&t, path, (const char *const[]){ROW("a", "2", "log"), NULL}, cases[i].pairs);
        t.table->runtime.on_log = keep_line;
        t.table->runtime.log_context = warning;
        check_rows(&t, cases[i].rows);
        assert_true(*cases[i].warning ? strstr(warning, cases[i].warning) != NULL : !*warning);
        table_gone(&t);
    }
}

/* ---- many logs ----------------------------------------------------------------------------------------- */

/* Rows read with a budget: what was taken from it at most, and nothing of it is kept. */
static size_t peak_of_read(const struct test_table *t, size_t limit, char *text, size_t size)
{
    sl_budget budget = {.limit = limit}, *before = t->table->runtime.budget;
    t->table->runtime.budget = &budget;
    OK(read_rows(t, NULL, text, size));
    t->table->runtime.budget = before;
    assert_int_equal(atomic_load(&budget.used), 0);
    return atomic_load(&budget.peak);
}

/* G-31: open runs are accounted for; the budget says how many there are, and the rest is folded in passes before. */
static void many_logs_keep_to_the_budget(void **state)
{
    (void)state;
    enum { LOGS = 24 };
    struct test_table t = new_table();
    char instant[SL_INSTANT_BYTES], name[256], all[4096], few[4096], row[2][128];
    const struct file base = {
        SL_FILE_BASE, (const char *const[]){ROW("a", "1", "x"), ROW("b", "2", "y"), ROW("c", "9", "z"), NULL},
        NULL};
    write_files(&t, &base, 1, instant, name);
    for (int i = 0; i < LOGS; i++) {
        snprintf(row[0], sizeof row[0], ROW("%c", "%d", "v%d"), 'a' + i % 3, 'a' + i % 3, i % 7, i);
        snprintf(row[1], sizeof row[1], ROW("l%02d", "1", "w"), i, i);
        const char *const lines[] = {row[0], row[1], NULL};
        write_files(&t, &(struct file){SL_FILE_LOG, lines, NULL}, 1, instant, name);
    }
    size_t peak = peak_of_read(&t, 0, all, sizeof all);
    size_t limit = peak / 2, within = peak_of_read(&t, limit, few, sizeof few);
    assert_string_equal(few, all);
    assert_in_range(within, 1, limit);
    size_t least = peak_of_read(&t, 1, few, sizeof few); /* eight runs and the base, whatever the budget */
    assert_string_equal(few, all);
    assert_in_range(least, 2, within);
    assert_non_null(strstr(all, "l23=w@1"));
    table_gone(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base_files_carry_hudis_footer),
        cmocka_unit_test(bounds_hold_for_keys_with_zero_bytes),
        cmocka_unit_test(logs_carry_their_headers),
        cmocka_unit_test(aborted_files_vanish),
        cmocka_unit_test(slices_are_folded),
        cmocka_unit_test(columns_stored_alike_are_read_once),
        cmocka_unit_test(slices_open_whole_or_not_at_all),
        cmocka_unit_test(compacted_logs_are_left_out),
        cmocka_unit_test(log_compactions_have_their_places),
        cmocka_unit_test(runs_out_of_order_are_repaired_or_refused),
        cmocka_unit_test(key_column_is_never_left_out),
        cmocka_unit_test(odd_logs_are_refused),
        cmocka_unit_test(odd_logs_are_read),
        cmocka_unit_test(many_logs_keep_to_the_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
