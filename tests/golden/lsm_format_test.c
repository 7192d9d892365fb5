/*
 * Facts of the lsm_tree layout that are told by single files: golden checks of spec/lsm-layout.md 19 (the check's number
 * stands before each test). Checks of names, headers, views and merges are in the unit tests of those folders.
 */
#include "table_folder.h"

#include "service/service.h"
#include <jansson.h>

/* ---- tables -------------------------------------------------------------------------------------------- */

static sl_table *make_table(const char *columns, const char *key, const char *ordering)
{
    sl_table *table;
    create_table_of(path, columns,
                    lsm_options(key, PAIRS(ordering ? "hoodie.table.ordering.fields" : NULL, ordering)));
    ok(sl_table_open(path, NULL, NULL, &table));
    return table;
}

/* One commit of JSON lines with the columns of `columns`. */
static void commit(enum sluice_operation operation, const char *columns, const char *const *lines)
{
    sluice_error e;
    sluice_table *t;
    sluice_commit_info info;
    const sl_type *schema;
    sl_batch_builder b;
    sl_batch *batch;
    ok(sl_schema_parse(columns, &schema));
    ok(sl_batch_builder_init(&b, schema));
    for (size_t i = 0; lines[i]; i++)
        ok(sl_batch_builder_json_line(&b, lines[i], strlen(lines[i])));
    ok(sl_batch_builder_finish(&b, &batch));
    OK(sluice_table_open(path, NULL, &t, &e));
    OK(write_batch(t, operation, batch, &info, &e));
    sluice_table_close(t);
    sl_batch_unref(batch);
    sl_batch_builder_free(&b);
    sl_type_unref(schema);
}

/* The newest file of a kind in the only group, of a version (0: of any). */
struct opened {
    sl_file *file;
    sl_parquet *parquet;
    char name[256];
};

static struct opened open_version(const sl_table *table, enum sl_file_kind kind, uint32_t version)
{
    struct opened o = {0};
    sl_view view;
    char *file;
    ok(sl_view_load(table, NULL, &view));
    const sl_file_group *group = &view.partitions[0].groups[0];
    const sl_data_file *newest = NULL;
    for (size_t i = 0; i < group->file_count; i++)
        if (group->files[i].parts.kind == kind && (!version || group->files[i].parts.version == version) &&
            (!newest || sl_log_order(&newest->parts, &group->files[i].parts) < 0))
            newest = &group->files[i];
    assert_non_null(newest);
    snprintf(o.name, sizeof o.name, "%s", newest->name);
    ok(sl_table_path(table, newest->name, &file));
    ok(sl_storage_open(table->storage, file, &o.file));
    ok(sl_parquet_open(o.file, NULL, &o.parquet));
    sl_free(file);
    sl_view_free(&view);
    return o;
}

static struct opened open_newest(const sl_table *table, enum sl_file_kind kind)
{
    return open_version(table, kind, 0);
}

static void close_opened(struct opened *o)
{
    sl_parquet_close(o->parquet);
    sl_file_close(o->file);
}

/* "a b|c": the values of a column as text, `-` for null; at most 4095 bytes. */
static void column_text(const struct opened *o, const char *column, char *out)
{
    sl_stream *rows;
    size_t n = 0;
    ok(sl_parquet_scan(o->parquet, &(struct sl_parquet_scan_options){.columns = &column, .column_count = 1},
                       &rows));
    for (sl_batch *batch;;) {
        ok(sl_stream_next(rows, &batch));
        if (!batch)
            break;
        for (int64_t i = 0; i < batch->rows; i++) {
            sl_buf text = {0};
            if (sl_is_valid(batch->columns[0], i))
                ok(sl_value_text(batch->columns[0], i, SL_TEXT_PLAIN, &text));
            else
                ok(sl_buf_byte(&text, '-'));
            n += (size_t)snprintf(out + n, 4096 - n, "%s%.*s", n ? "|" : "", (int)text.len,
                                  (const char *)text.data);
            sl_buf_free(&text);
        }
        sl_batch_unref(batch);
    }
    sl_stream_close(rows);
}

static void drop_table(sl_table *table)
{
    sl_table_close(table);
    remove_folder(path);
}

/* ---- G-5 ----------------------------------------------------------------------------------------------- */

#define ODD_COLUMNS                                                                                          \
    "k string, ts timestamp, price decimal(10,2), tags list<string>, m map<string, int>, s struct<a: int, "  \
    "b: string>"

/* Values of the one row's meta columns (4.1): the file's name is that of the group in logs. */
static void check_meta_columns(const struct opened *o)
{
    struct sl_file_name parts;
    char seqno[128], text[4096];
    sl_file_name_parse(o->name, &parts);
    snprintf(seqno, sizeof seqno, "%s_%.*s_0", parts.instant, (int)strcspn(parts.token, "-"), parts.token);
    const char *const want[SL_META_COLUMNS] = {[SL_META_COMMIT_TIME] = parts.instant,
                                               [SL_META_SEQNO] = seqno,
                                               [SL_META_RECORD_KEY] = "a",
                                               [SL_META_PARTITION_PATH] = "",
                                               [SL_META_FILE_NAME] =
                                                   parts.kind == SL_FILE_BASE ? o->name : parts.file_id};
    for (size_t i = 0; i < SL_META_COLUMNS; i++) {
        column_text(o, sl_meta_names[i], text);
        assert_string_equal(text, want[i]);
    }
}

static void data_logs_have_the_schema_of_base_files(void **state)
{
    (void)state;
    sl_table *table = make_table(ODD_COLUMNS, "k", "ts");
    static const char *const row[] = {
        "{\"k\":\"a\",\"ts\":\"2024-01-01 00:00:00\",\"price\":\"1.50\",\"tags\":[\"x\"],"
        "\"m\":{\"a\":1},\"s\":{\"a\":1,\"b\":\"z\"}}",
        NULL};
    commit(SLUICE_BULK_INSERT, ODD_COLUMNS, row);
    commit(SLUICE_UPSERT, ODD_COLUMNS, row);
    struct opened base = open_newest(table, SL_FILE_BASE), log = open_newest(table, SL_FILE_LOG);
    assert_true(sl_type_equal(sl_parquet_schema(base.parquet), sl_parquet_schema(log.parquet)));
    assert_int_equal(sl_parquet_leaves(base.parquet), sl_parquet_leaves(log.parquet));
    for (size_t leaf = 0; leaf < sl_parquet_leaves(base.parquet); leaf++) {
        struct sl_parquet_chunk_info b, l;
        ok(sl_parquet_chunk_info(base.parquet, 0, leaf, &b));
        ok(sl_parquet_chunk_info(log.parquet, 0, leaf, &l));
        assert_string_equal(b.path, l.path);
        assert_string_equal(b.physical_type, l.physical_type);
    }
    struct sl_log_headers headers = {0};
    ok(sl_log_headers_read(log.parquet, &headers));
    assert_string_equal(headers.schema, sl_parquet_key_value(base.parquet, "parquet.avro.schema"));
    assert_string_equal(headers.schema, sl_parquet_key_value(log.parquet, "parquet.avro.schema"));
    sl_log_headers_free(&headers);
    check_meta_columns(&base);
    check_meta_columns(&log);
    close_opened(&base);
    close_opened(&log);
    drop_table(table);
}

/* ---- G-6, G-7 ------------------------------------------------------------------------------------------ */

static const struct delete_form {
    const char *columns, *ordering, *row;
    const char *types; /* of the delete log's columns */
    const char *avro;  /* its parquet.avro.schema; the first two are what 1.2.0's classes give (spec 4.2) */
    const char *physical;
} delete_forms[] = {
    {"k string, v long", NULL, "{\"k\":\"a\",\"v\":1}", "struct<_hoodie_record_key: string not null>",
     "{\"type\":\"record\",\"name\":\"hudi_delete_log_record\",\"fields\":[{\"name\":\"_hoodie_record_key\","
     "\"type\":\"string\"}]}",
     "BYTE_ARRAY"},
    {"k string, ts long", "ts", "{\"k\":\"a\",\"ts\":1}",
     "struct<_hoodie_record_key: string not null, ts: long>",
     "{\"type\":\"record\",\"name\":\"hudi_delete_log_record\",\"fields\":[{\"name\":\"_hoodie_record_key\","
     "\"type\":\"string\"},"
     "{\"name\":\"ts\",\"type\":[\"null\",\"long\"],\"default\":null}]}",
     "BYTE_ARRAY INT64"},
    {"k string, p decimal(10,2), t timestamp, n int", "p,t,n",
     "{\"k\":\"a\",\"p\":\"1.00\",\"t\":\"2024-01-01 00:00:00\",\"n\":1}",
     "struct<_hoodie_record_key: string not null, p: decimal(10,2), t: timestamp, n: int>",
     "{\"type\":\"record\",\"name\":\"hudi_delete_log_record\",\"fields\":[{\"name\":\"_hoodie_record_key\","
     "\"type\":\"string\"},"
     "{\"name\":\"p\",\"type\":[\"null\",{\"type\":\"fixed\",\"name\":\"fixed\",\"namespace\":\"hoodie.t.t_"
     "record.p\","
     "\"size\":5,\"logicalType\":\"decimal\",\"precision\":10,\"scale\":2}],\"default\":null},"
     "{\"name\":\"t\",\"type\":[\"null\",{\"type\":\"long\",\"logicalType\":\"timestamp-micros\"}],"
     "\"default\":null},"
     "{\"name\":\"n\",\"type\":[\"null\",\"int\"],\"default\":null}]}",
     "BYTE_ARRAY FIXED_LEN_BYTE_ARRAY INT64 INT32"},
};

static void delete_logs_have_key_and_ordering_columns(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof delete_forms / sizeof *delete_forms; i++) {
        const struct delete_form *f = &delete_forms[i];
        sl_table *table = make_table(f->columns, "k", f->ordering);
        commit(SLUICE_UPSERT, f->columns, (const char *const[]){f->row, NULL});
        commit(SLUICE_DELETE, "k string", (const char *const[]){"{\"k\":\"a\"}", NULL});
        struct opened log = open_newest(table, SL_FILE_DELETES);
        const sl_type *schema = sl_parquet_schema(log.parquet);
        char *types, physical[256] = "", nulls[4096];
        ok(sl_type_text(schema, &types));
        assert_string_equal(types, f->types);
        sl_free(types);
        assert_false(schema->fields[0].nullable);
        for (size_t c = 1; c < schema->field_count;
             c++) { /* a delete without ordering value: null in every column */
            assert_true(schema->fields[c].nullable);
            column_text(&log, schema->fields[c].name, nulls);
            assert_string_equal(nulls, "-");
        }
        for (size_t leaf = 0; leaf < sl_parquet_leaves(log.parquet); leaf++) {
            struct sl_parquet_chunk_info info;
            ok(sl_parquet_chunk_info(log.parquet, 0, leaf, &info));
            snprintf(physical + strlen(physical), sizeof physical - strlen(physical), "%s%s", leaf ? " " : "",
                     info.physical_type);
        }
        assert_string_equal(physical, f->physical);
        assert_string_equal(sl_parquet_key_value(log.parquet, "parquet.avro.schema"), f->avro);
        close_opened(&log);
        drop_table(table);
    }
}

/* A real ordering value 0 stays 0, absent stays null, for the type whose 0 means absent in memory (int) and another. */
static void deletes_tell_null_from_zero(void **state)
{
    (void)state;
    static const char *const types[] = {"int", "long"};
    for (size_t i = 0; i < 2; i++) {
        char columns[96], ordering[4096], keys[4096];
        snprintf(columns, sizeof columns, "k string, ts %s, _hoodie_is_deleted boolean", types[i]);
        sl_table *table = make_table(columns, "k", "ts");
        commit(SLUICE_UPSERT, columns,
               (const char *const[]){"{\"k\":\"zero\",\"ts\":0,\"_hoodie_is_deleted\":true}",
                                     "{\"k\":\"five\",\"ts\":5,\"_hoodie_is_deleted\":true}", NULL});
        struct opened log = open_newest(table, SL_FILE_DELETES);
        column_text(&log, "_hoodie_record_key", keys);
        column_text(&log, "ts", ordering);
        assert_string_equal(keys, "five|zero");
        assert_string_equal(ordering, "5|0");
        close_opened(&log);
        drop_table(table);
    }
}

/* A table that keeps operations (4.1): those that take a row away are deletes, like a marker. */
static void operations_are_delete_markers(void **state)
{
    (void)state;
    static const char columns[] = "k string, ts long, _hoodie_operation string";
    sl_table *table = make_table(columns, "k", "ts");
    char keys[4096], *rows;
    sluice_table *t;
    sluice_error e;
    commit(SLUICE_BULK_INSERT, columns,
           (const char *const[]){"{\"k\":\"a\",\"ts\":1,\"_hoodie_operation\":\"I\"}",
                                 "{\"k\":\"b\",\"ts\":1,\"_hoodie_operation\":\"I\"}",
                                 "{\"k\":\"c\",\"ts\":1,\"_hoodie_operation\":\"I\"}", NULL});
    commit(SLUICE_UPSERT, columns,
           (const char *const[]){"{\"k\":\"a\",\"ts\":2,\"_hoodie_operation\":\"D\"}",
                                 "{\"k\":\"b\",\"ts\":2,\"_hoodie_operation\":\"-U\"}",
                                 "{\"k\":\"c\",\"ts\":2,\"_hoodie_operation\":\"U\"}", NULL});
    struct opened log = open_newest(table, SL_FILE_DELETES);
    column_text(&log, "_hoodie_record_key", keys);
    assert_string_equal(keys, "a|b");
    close_opened(&log);
    OK(sluice_table_open(path, NULL, &t, &e));
    OK(read_rows(t, &(struct query){.columns = (const char *const[]){"k", "ts"}, .column_count = 2}, &rows,
                 &e));
    assert_string_equal(rows, "{\"k\":\"c\",\"ts\":2}\n");
    free(rows);
    sluice_table_close(t);
    drop_table(table);
}

/* ---- G-8 ----------------------------------------------------------------------------------------------- */

static void change_data_has_hudis_schemas(void **state)
{
    (void)state;
    char file[512];
    const char *root = getenv("SL_TEST_DATA"), *mode;
    snprintf(file, sizeof file, "%s/log/cdc_schemas.json", root ? root : "tests/data");
    json_t *golden = json_load_file(file, 0, NULL), *entry;
    assert_non_null(golden);
    sl_table *table = make_table("k string, p string, a int, b string, ts long", "k", "ts");
    const sl_type *schema;
    ok(sl_schema_parse("k string, p string, a int, b string, ts long", &schema));
    const char *own_name = table->name;
    json_object_foreach(golden, mode, entry)
    {
        enum sl_cdc_mode named;
        char *text;
        ok(sl_cdc_mode_named(mode, &named));
        table->name = json_string_value(json_object_get(entry, "table"));
        ok(sl_table_cdc_schema_text(table, named, schema, &text));
        assert_string_equal(text, json_string_value(json_object_get(entry, "schema")));
        sl_free(text);
    }
    assert_int_equal(json_object_size(golden), 3);
    table->name = own_name;
    sl_type_unref(schema);
    json_decref(golden);
    drop_table(table);
}

/* ---- G-14 ---------------------------------------------------------------------------------------------- */

struct number {
    const char *name;
    json_int_t value;
};

/* Members of a stat; NULL at the end. */
static void check_numbers(const json_t *stat, const struct number *numbers)
{
    for (; numbers->name; numbers++)
        if (json_integer_value(json_object_get(stat, numbers->name)) != numbers->value)
            fail_msg("%s: %s is %s", json_string_value(json_object_get(stat, "path")), numbers->name,
                     json_dumps(json_object_get(stat, numbers->name), JSON_ENCODE_ANY));
}

static void check_stat(const sl_table *table, const json_t *stat, const char *instant, const char *ending,
                       int64_t rows, int64_t deletes)
{
    const char *path_of = json_string_value(json_object_get(stat, "path"));
    char *full;
    sl_entry entry;
    assert_non_null(strstr(path_of, ending));
    ok(sl_table_path(table, path_of, &full));
    ok(sl_storage_stat(table->storage, full, &entry));
    sl_free(full);
    assert_string_equal(json_string_value(json_object_get(stat, "prevCommit")), instant);
    assert_string_equal(json_string_value(json_object_get(stat, "baseFile")), "");
    assert_string_equal(json_string_value(json_array_get(json_object_get(stat, "logFiles"), 0)), path_of);
    check_numbers(stat, (const struct number[]){{"numWrites", rows},
                                                {"numUpdateWrites", rows},
                                                {"numInserts", 0},
                                                {"numDeletes", deletes},
                                                {"logVersion", 1},
                                                {"logOffset", 0},
                                                {"totalWriteBytes", (json_int_t)entry.size},
                                                {"fileSizeInBytes", (json_int_t)entry.size},
                                                {NULL, 0}});
}

/* A flush with rows and deletes: two stats, data first, with the values of spec/lsm-layout.md 7. */
static void a_mixed_flush_has_two_stats(void **state)
{
    (void)state;
    const char *columns = "k string, ts long, _hoodie_is_deleted boolean";
    sl_table *table = make_table(columns, "k", "ts");
    sl_timeline timeline;
    json_t *content;
    commit(SLUICE_BULK_INSERT, columns, (const char *const[]){"{\"k\":\"a\",\"ts\":1}", NULL});
    commit(SLUICE_UPSERT, columns,
           (const char *const[]){"{\"k\":\"a\",\"ts\":2}", "{\"k\":\"b\",\"ts\":2}",
                                 "{\"k\":\"c\",\"ts\":2,\"_hoodie_is_deleted\":true}", NULL});
    ok(sl_timeline_load(table, &timeline));
    const sl_instant *last = sl_timeline_last_write(&timeline);
    ok(sl_instant_json(table, last, SL_COMPLETED, &content));
    const json_t *stats = json_object_get(json_object_get(content, "partitionToWriteStats"), "");
    assert_int_equal(json_array_size(stats), 2);
    check_stat(table, json_array_get(stats, 0), last->requested, "_1.log.parquet", 2, 0);
    check_stat(table, json_array_get(stats, 1), last->requested, "_1.deletes.parquet", 0, 1);
    json_decref(content);
    sl_timeline_free(&timeline);
    drop_table(table);
}

/* ---- log compactions ----------------------------------------------------------------------------------- */

static void run_log_compaction(char *instant)
{
    sl_properties p = {0};
    sl_table *t;
    struct sl_write_result result;
    size_t operations;
    ok(sl_properties_set(&p, "hoodie.log.compaction.blocks.threshold", "2"));
    ok(sl_table_open(path, &p, NULL, &t));
    ok(sl_service_schedule(t, SL_LOG_COMPACT, SL_SELECT_ALL, instant, &operations));
    ok(sl_service_execute(t, SL_LOG_COMPACT, instant, &result));
    sl_table_close(t);
    sl_properties_free(&p);
}

/* The instants of the completed writes, oldest first. */
static size_t write_instants(const sl_table *table, char out[][SL_INSTANT_BYTES], size_t most)
{
    sl_timeline timeline;
    size_t count = 0;
    ok(sl_timeline_load(table, &timeline));
    for (size_t i = 0; i < timeline.count && count < most; i++)
        if (sl_action_writes(timeline.instants[i].action))
            snprintf(out[count++], SL_INSTANT_BYTES, "%s", timeline.instants[i].requested);
    sl_timeline_free(&timeline);
    return count;
}

/* Three files: rows that keep their meta columns, deletes, and what follows a commit-time delete. Each names what it replaces
 * and the slice's base; what was read is told by the first (spec/lsm-layout.md 7, 12.1). */
static void log_compactions_tell_what_they_replace(void **state)
{
    (void)state;
    static const char columns[] = "k string, ts int, _hoodie_is_deleted boolean";
    static const struct {
        enum sl_file_kind kind;
        uint32_t version;
        const char *keys;
        json_int_t rows, deletes, files_read, records_read;
    } files[] = {{SL_FILE_LOG, 1, "a|d", 2, 0, 5, 5},
                 {SL_FILE_DELETES, 1, "b|c", 0, 2, 0, 0},
                 {SL_FILE_LOG, 2, "c", 1, 0, 0, 0}};
    sl_table *table = make_table(columns, "k", "ts");
    commit(SLUICE_BULK_INSERT, columns,
           (const char *const[]){"{\"k\":\"a\",\"ts\":10}", "{\"k\":\"b\",\"ts\":10}",
                                 "{\"k\":\"c\",\"ts\":10}", NULL});
    commit(SLUICE_UPSERT, columns,
           (const char *const[]){"{\"k\":\"a\",\"ts\":20}",
                                 "{\"k\":\"b\",\"ts\":20,\"_hoodie_is_deleted\":true}", NULL});
    commit(SLUICE_UPSERT, columns,
           (const char *const[]){"{\"k\":\"c\",\"ts\":0,\"_hoodie_is_deleted\":true}",
                                 "{\"k\":\"c\",\"ts\":1}", "{\"k\":\"d\",\"ts\":5}", NULL});
    char instants[4][SL_INSTANT_BYTES], instant[SL_INSTANT_BYTES], text[4096], want[64];
    run_log_compaction(instant);
    assert_int_equal(write_instants(table, instants, 4), 4);
    assert_string_equal(instants[3], instant);
    sl_timeline timeline;
    json_t *content;
    ok(sl_timeline_load(table, &timeline));
    ok(sl_instant_json(table, sl_timeline_last_write(&timeline), SL_COMPLETED, &content));
    assert_true(json_is_true(json_object_get(content, "compacted")));
    assert_string_equal(json_string_value(json_object_get(content, "operationType")), "LOG_COMPACT");
    const json_t *stats = json_object_get(json_object_get(content, "partitionToWriteStats"), "");
    assert_int_equal(json_array_size(stats), sizeof files / sizeof *files);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const json_t *stat = json_array_get(stats, i);
        struct opened o = open_version(table, files[i].kind, files[i].version);
        struct sl_log_headers headers;
        assert_non_null(strstr(o.name, instant));
        column_text(&o, "_hoodie_record_key", text);
        assert_string_equal(text, files[i].keys);
        ok(sl_log_headers_read(o.parquet, &headers));
        assert_int_equal(headers.compacted.count, 2);
        assert_string_equal(headers.compacted.items[0], instants[1]);
        assert_string_equal(headers.compacted.items[1], instants[2]);
        sl_log_headers_free(&headers);
        assert_string_equal(json_string_value(json_object_get(stat, "path")), o.name);
        assert_string_equal(json_string_value(json_object_get(stat, "prevCommit")), instants[0]);
        check_numbers(stat, (const struct number[]){{"numWrites", files[i].rows},
                                                    {"numUpdateWrites", files[i].rows},
                                                    {"numInserts", 0},
                                                    {"numDeletes", files[i].deletes},
                                                    {"totalLogFilesCompacted", files[i].files_read},
                                                    {"totalLogRecords", files[i].records_read},
                                                    {NULL, 0}});
        assert_int_equal(json_integer_value(json_object_get(stat, "totalLogSizeCompacted")) > 0, i == 0);
        if (i == 0) {
            snprintf(want, sizeof want, "%s|%s", instants[1], instants[2]);
            column_text(&o, "_hoodie_commit_time", text);
            assert_string_equal(text, want);
        }
        close_opened(&o);
    }
    json_decref(content);
    sl_timeline_free(&timeline);
    drop_table(table);
}

/* ---- G-23 ---------------------------------------------------------------------------------------------- */

/* What follows a commit-time delete (ordering value 0 of an int) in one flush gets a version of its own: reduced to the last of
 * the two it would lose to the base, and in files of one version the delete would follow it. */
static void a_flush_keeps_deletes_below_what_follows(void **state)
{
    (void)state;
    static const char columns[] = "k string, ts int, _hoodie_is_deleted boolean";
    static const struct {
        enum sl_file_kind kind;
        uint32_t version;
        const char *keys;
    } files[] = {{SL_FILE_LOG, 1, "plain"},
                 {SL_FILE_DELETES, 1, "deleted|row"},
                 {SL_FILE_LOG, 2, "row"},
                 {SL_FILE_DELETES, 2, "deleted"}};
    sl_table *table = make_table(columns, "k", "ts");
    char keys[4096], *rows;
    sluice_table *t;
    sluice_error e;
    commit(SLUICE_BULK_INSERT, columns,
           (const char *const[]){"{\"k\":\"deleted\",\"ts\":10}", "{\"k\":\"plain\",\"ts\":10}",
                                 "{\"k\":\"row\",\"ts\":10}", NULL});
    commit(SLUICE_UPSERT, columns,
           (const char *const[]){"{\"k\":\"row\",\"ts\":0,\"_hoodie_is_deleted\":true}",
                                 "{\"k\":\"deleted\",\"ts\":0,\"_hoodie_is_deleted\":true}",
                                 "{\"k\":\"plain\",\"ts\":20}", "{\"k\":\"row\",\"ts\":1}",
                                 "{\"k\":\"deleted\",\"ts\":5,\"_hoodie_is_deleted\":true}", NULL});
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct opened o = open_version(table, files[i].kind, files[i].version);
        column_text(&o, "_hoodie_record_key", keys);
        assert_string_equal(keys, files[i].keys);
        close_opened(&o);
    }
    commit(SLUICE_UPSERT, columns, (const char *const[]){"{\"k\":\"deleted\",\"ts\":3}", NULL});
    OK(sluice_table_open(path, NULL, &t, &e));
    OK(read_rows(t, &(struct query){.columns = (const char *const[]){"k", "ts"}, .column_count = 2}, &rows,
                 &e));
    assert_string_equal(rows, "{\"k\":\"plain\",\"ts\":20}\n{\"k\":\"row\",\"ts\":1}\n");
    free(rows);
    sluice_table_close(t);
    drop_table(table);
}

/* ---- G-10 ---------------------------------------------------------------------------------------------- */

#define U_E000  "\xee\x80\x80"
#define U_FF21  "\xef\xbc\xa1"
#define U_FFFF  "\xef\xbf\xbf"
#define U_10000 "\xf0\x90\x80\x80"
#define U_1F600 "\xf0\x9f\x98\x80"

static void files_are_in_the_order_of_utf8_bytes(void **state)
{
    (void)state;
    sl_table *table = make_table("k string, v long", "k", NULL);
    static const char *const rows[] = {"{\"k\":\"" U_1F600 "\",\"v\":1}",
                                       "{\"k\":\"" U_FF21 "\",\"v\":1}",
                                       "{\"k\":\"" U_10000 "\",\"v\":1}",
                                       "{\"k\":\"" U_E000 "\",\"v\":1}",
                                       "{\"k\":\"" U_FFFF "\",\"v\":1}",
                                       "{\"k\":\"ab\",\"v\":1}",
                                       "{\"k\":\"a\",\"v\":1}",
                                       "{\"k\":\"a\\u0000\",\"v\":1}",
                                       "{\"k\":\"a\\u0000b\",\"v\":1}",
                                       "{\"k\":\"10\",\"v\":1}",
                                       "{\"k\":\"9\",\"v\":1}",
                                       "{\"k\":\"aaaaaaaab\",\"v\":1}",
                                       "{\"k\":\"aaaaaaaa\",\"v\":1}",
                                       "{\"k\":\"\xc3\xa9\",\"v\":1}",
                                       NULL};
    static const char want[][12] = {"10", "9",        "a",    "a\0",  "a\0b", "aaaaaaaa", "aaaaaaaab",
                                    "ab", "\xc3\xa9", U_E000, U_FF21, U_FFFF, U_10000,    U_1F600};
    static const size_t lengths[] = {2, 1, 1, 2, 3, 8, 9, 2, 2, 3, 3, 3, 4, 4};
    commit(SLUICE_BULK_INSERT, "k string, v long", rows);
    commit(SLUICE_UPSERT, "k string, v long", rows);
    static const enum sl_file_kind kinds[] = {SL_FILE_BASE, SL_FILE_LOG};
    for (size_t f = 0; f < 2; f++) {
        struct opened o = open_newest(table, kinds[f]);
        const char *column = "_hoodie_record_key";
        sl_stream *stream;
        sl_batch *batch;
        ok(sl_parquet_scan(
            o.parquet, &(struct sl_parquet_scan_options){.columns = &column, .column_count = 1}, &stream));
        ok(sl_stream_next(stream, &batch));
        assert_int_equal(batch->rows, sizeof want / sizeof *want);
        for (int64_t i = 0; i < batch->rows; i++) {
            size_t len;
            const uint8_t *key = sl_bytes_at(batch->columns[0], i, &len);
            assert_int_equal(len, lengths[i]);
            assert_memory_equal(key, want[i], len);
        }
        sl_batch_unref(batch);
        sl_stream_close(stream);
        close_opened(&o);
    }
    drop_table(table);
}

/* Composite keys sort by their encoded text, not field by field: "a:1,b:..." before "a:1x,...". */
static void composite_keys_sort_as_text(void **state)
{
    (void)state;
    sl_table *table = make_table("a string, b string", "a,b", NULL);
    char keys[4096];
    commit(SLUICE_UPSERT, "a string, b string",
           (const char *const[]){"{\"a\":\"1\",\"b\":\"z\"}", "{\"a\":\"1+\",\"b\":\"a\"}",
                                 "{\"a\":\"1-\",\"b\":\"a\"}", NULL});
    struct opened o = open_newest(table, SL_FILE_BASE);
    column_text(&o, "_hoodie_record_key", keys);
    assert_string_equal(keys, "a:1+,b:a|a:1,b:z|a:1-,b:a"); /* '+' < ',' < '-' */
    close_opened(&o);
    drop_table(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_logs_have_the_schema_of_base_files),
        cmocka_unit_test(delete_logs_have_key_and_ordering_columns),
        cmocka_unit_test(deletes_tell_null_from_zero),
        cmocka_unit_test(operations_are_delete_markers),
        cmocka_unit_test(change_data_has_hudis_schemas),
        cmocka_unit_test(a_mixed_flush_has_two_stats),
        cmocka_unit_test(log_compactions_tell_what_they_replace),
        cmocka_unit_test(a_flush_keeps_deletes_below_what_follows),
        cmocka_unit_test(files_are_in_the_order_of_utf8_bytes),
        cmocka_unit_test(composite_keys_sort_as_text),
    };
    return cmocka_run_group_tests(tests, table_folder_make, table_folder_remove);
}
