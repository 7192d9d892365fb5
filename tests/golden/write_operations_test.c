/*
 * The write operations against what Hudi 1.2.0 and the layout ask of them: metadata of replacements field by field
 * (tests/data/timeline/replacements.json, dumped from Spark's commits), files sorted whatever wrote them (G-27 of
 * spec/lsm-layout.md 19), bulk-insert's sort modes (G-28), small files (G-29).
 */
#include "engine_support.h"

#include "api/api_int.h"
#include <jansson.h>
#include <sys/resource.h>

/* ---- tables and rows ----------------------------------------------------------------------------------- */

struct made {
    char path[256];
    sluice_table *table;
};

static char root[200];

static const char *const columns = "id int, key string, part string, val double, name string, ts long";

/* key, value, ..., NULL besides the keys and the partition. */
static struct made make(const char *name, const char *const *more)
{
    struct made m = {.table = NULL};
    const char *options[40] = {"hoodie.table.recordkey.fields",
                               "key",
                               "hoodie.table.partition.fields",
                               "part",
                               "hoodie.table.ordering.fields",
                               "ts",
                               "hoodie.table.name",
                               name};
    size_t n = 8;
    sluice_error e;
    for (size_t i = 0; more && more[i]; i++)
        options[n++] = more[i];
    options[n] = NULL;
    snprintf(m.path, sizeof m.path, "%s/%s", root, name);
    create_table_of(m.path, columns, options);
    OK(sluice_table_open(m.path, NULL, &m.table, &e));
    return m;
}

static void reopen(struct made *m, const char *const *options)
{
    sluice_error e;
    sluice_table_close(m->table);
    OK(sluice_table_open(m->path, options, &m->table, &e));
}

static void unmake(struct made *m)
{
    sluice_table_close(m->table);
    remove_folder(m->path);
}

static sl_batch *batch_of(const char *const *lines, size_t count)
{
    const sl_type *type;
    sl_batch_builder b = {0};
    sl_batch *batch;
    ok(sl_schema_parse(columns, &type));
    ok(sl_batch_builder_init(&b, type));
    for (size_t i = 0; i < count; i++)
        ok(sl_batch_builder_json_line(&b, lines[i], strlen(lines[i])));
    ok(sl_batch_builder_finish(&b, &batch));
    sl_batch_builder_free(&b);
    sl_type_unref(type);
    return batch;
}

/* Rows with these keys ("a b c") in one partition. */
static sl_batch *rows_of(const char *part, const char *keys, int ts)
{
    char lines[32][160], word[32];
    const char *list[32];
    size_t count = 0;
    for (int n; sscanf(keys, "%31s%n", word, &n) == 1; keys += n, count++) {
        assert_true(count < 32);
        snprintf(lines[count], sizeof lines[count],
                 "{\"id\": %d, \"key\": \"%s\", \"part\": \"%s\", \"val\": 1, \"name\": \"n\", \"ts\": %d}",
                 ts, word, part, ts);
        list[count] = lines[count];
    }
    return batch_of(list, count);
}

static sluice_commit_info write_rows(struct made *m, enum sluice_operation operation, const char *part,
                                     const char *keys, int ts)
{
    sluice_commit_info info = {.size = sizeof info};
    sluice_error e;
    sl_batch *batch = rows_of(part, keys, ts);
    OK(write_batch(m->table, operation, batch, &info, &e));
    sl_batch_unref(batch);
    return info;
}

static void expect_keys(struct made *m, const char *wanted)
{
    const char *column = "key";
    sluice_error e;
    char *text, *at;
    OK(read_rows(m->table, &(struct query){.columns = &column, .column_count = 1}, &text, &e));
    char keys[512] = "";
    for (at = text; (at = strstr(at, "\"key\":\"")); at += 7)
        snprintf(keys + strlen(keys), sizeof keys - strlen(keys), "%s%.*s", *keys ? " " : "",
                 (int)strcspn(at + 7, "\""), at + 7);
    free(text);
    assert_string_equal(keys, wanted);
}

/* ---- metadata of replacements -------------------------------------------------------------------------- */

/* Names that differ from table to table are replaced by what they are; lists of such names by their length. */
static void make_comparable(json_t *commit)
{
    const char *partition;
    json_t *stats, *stat, *ids;
    size_t i;
    json_object_foreach(json_object_get(commit, "partitionToWriteStats"), partition, stats)
        json_array_foreach(stats, i, stat)
    {
        const char *id = json_string_value(json_object_get(stat, "fileId"));
        const char *path = json_string_value(json_object_get(stat, "path"));
        assert_int_equal(strlen(id), 38); /* "<uuid>-0" */
        assert_non_null(strstr(path, id));
        assert_true(strncmp(path, partition, strlen(partition)) == 0);
        json_int_t bytes = json_integer_value(json_object_get(stat, "totalWriteBytes"));
        assert_true(bytes > 0 && bytes == json_integer_value(json_object_get(stat, "fileSizeInBytes")));
        static const char *const varying[] = {"fileId", "path", "totalWriteBytes", "fileSizeInBytes",
                                              "runtimeStats"};
        for (size_t k = 0; k < sizeof varying / sizeof *varying; k++)
            json_object_set_new(stat, varying[k], json_string("varies"));
    }
    json_object_foreach(json_object_get(commit, "partitionToReplaceFileIds"), partition, ids)
    {
        json_array_foreach(ids, i, stat) assert_int_equal(strlen(json_string_value(stat)), 38);
        size_t count = json_array_size(ids);
        json_array_clear(ids);
        json_array_append_new(ids, json_integer((json_int_t)count));
    }
}

static void expect_equal(json_t *actual, json_t *expected, const char *what)
{
    if (json_equal(actual, expected))
        return;
    char *a = json_dumps(actual, JSON_SORT_KEYS), *b = json_dumps(expected, JSON_SORT_KEYS);
    fail_msg("%s differs\nours  %s\nHudi's %s", what, a, b);
}

static void compare_replacement(struct made *m, json_t *golden, const char *operation)
{
    sl_timeline timeline;
    json_t *requested, *completed, *wanted = json_object_get(golden, operation);
    assert_non_null(wanted);
    ok(sl_timeline_load(m->table->table, &timeline));
    const sl_instant *last = sl_timeline_last_write(&timeline);
    assert_int_equal(last->action, SL_ACTION_REPLACECOMMIT);
    assert_true(last->has_requested && last->has_inflight);
    ok(sl_instant_json(m->table->table, last, SL_REQUESTED, &requested));
    ok(sl_instant_json(m->table->table, last, SL_COMPLETED, &completed));
    make_comparable(completed);
    make_comparable(json_object_get(wanted, "completed"));
    expect_equal(requested, json_object_get(wanted, "requested"), "the requested file");
    expect_equal(completed, json_object_get(wanted, "completed"), operation);
    json_decref(requested);
    json_decref(completed);
    sl_timeline_free(&timeline);
}

static json_t *load_golden(void)
{
    const char *data = getenv("SL_TEST_DATA");
    char path[512];
    json_error_t error;
    snprintf(path, sizeof path, "%s/timeline/replacements.json", data ? data : "tests/data");
    json_t *golden = json_load_file(path, 0, &error);
    if (!golden)
        fail_msg("%s: %s", path, error.text);
    return golden;
}

static sl_batch *three_partitions(const int *counts)
{
    char lines[16][120];
    const char *list[16];
    size_t n = 0;
    for (int p = 0; p < 3; p++)
        for (int i = 0; i < counts[p]; i++, n++) {
            snprintf(
                lines[n], sizeof lines[n],
                "{\"id\": 1, \"key\": \"k%d\", \"part\": \"p%d\", \"val\": 1, \"name\": null, \"ts\": 2}", i,
                p);
            list[n] = lines[n];
        }
    return batch_of(list, n);
}

/* Spark's fixtures: one group a partition, then the replacement. */
static void metadata_of_replacements(void **state)
{
    (void)state;
    static const char *const simple[] = {"hoodie.index.type", "SIMPLE", NULL};
    static const char *const version_8[] = {"hoodie.index.type", "SIMPLE", "hoodie.table.version", "8", NULL};
    static const char *const hive[] = {"hoodie.index.type", "SIMPLE",
                                       "hoodie.datasource.write.hive_style_partitioning", "true", NULL};
    static const struct {
        const char *table, *operation;
        const char *const *options;
        enum sluice_operation code;
        int before[3], after[3];
    } cases[] = {
        {"cow_insert_overwrite_v9",
         "INSERT_OVERWRITE",
         simple,
         SLUICE_INSERT_OVERWRITE,
         {3, 2, 2},
         {2, 2, 0}},
        {"mor_insert_overwrite_table_v8",
         "INSERT_OVERWRITE_TABLE",
         version_8,
         SLUICE_INSERT_OVERWRITE_TABLE,
         {3, 2, 2},
         {2, 2, 3}},
        {"cow_delete_partition_v9", "DELETE_PARTITION", hive, SLUICE_DELETE, {3, 2, 2}, {0, 0, 0}},
    };
    json_t *golden = load_golden();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made m = make(cases[i].table, cases[i].options);
        sluice_commit_info info = {.size = sizeof info};
        sluice_error e;
        sl_batch *before = three_partitions(cases[i].before), *after = three_partitions(cases[i].after);
        OK(write_batch(m.table, SLUICE_INSERT, before, &info, &e));
        if (cases[i].code == SLUICE_DELETE)
            OK(sluice_table_delete_partitions(m.table, (const char *const[]){"part=p1"}, 1, &info, &e));
        else
            OK(write_batch(m.table, cases[i].code, after, &info, &e));
        assert_string_equal(info.action, "replacecommit");
        compare_replacement(&m, golden, cases[i].operation);
        sl_batch_unref(before);
        sl_batch_unref(after);
        unmake(&m);
    }
    json_decref(golden);
}

/* ---- every file is sorted (G-27) ----------------------------------------------------------------------- */

static void check_order(const sl_table *table, const char *relative, uint64_t *files)
{
    char *path;
    sl_file *file;
    sl_parquet *parquet;
    sl_stream *keys;
    sl_batch *batch;
    char before[64] = "";
    const char *column = "_hoodie_record_key";
    ok(sl_table_path(table, relative, &path));
    ok(sl_storage_open(table->storage, path, &file));
    ok(sl_parquet_open(file, NULL, &parquet));
    ok(sl_parquet_scan(parquet, &(struct sl_parquet_scan_options){.columns = &column, .column_count = 1},
                       &keys));
    for (;;) {
        ok(sl_stream_next(keys, &batch));
        if (!batch)
            break;
        for (int64_t i = 0; i < batch->rows; i++) {
            size_t len;
            char key[64];
            const uint8_t *bytes = sl_bytes_at(batch->columns[0], i, &len);
            snprintf(key, sizeof key, "%.*s", (int)len, (const char *)bytes);
            if (strcmp(before, key) > 0)
                fail_msg("%s: key %s comes after %s", relative, key, before);
            memcpy(before, key, sizeof before);
        }
        sl_batch_unref(batch);
    }
    sl_stream_close(keys);
    sl_parquet_close(parquet);
    sl_file_close(file);
    sl_free(path);
    ++*files;
}

/* All data files that a completed instant wrote, replaced ones too: they lie there as well. */
static void check_files(const sl_table *table)
{
    sl_strings partitions = {0};
    uint64_t files = 0;
    ok(sl_partitions_list(table, &partitions));
    for (size_t p = 0; p < partitions.count; p++) {
        char *folder;
        sl_listing listing;
        ok(sl_table_path(table, partitions.items[p], &folder));
        ok(sl_storage_list(table->storage, folder, &listing));
        for (size_t i = 0; i < listing.count; i++) {
            char *relative;
            struct sl_file_name name;
            sl_file_name_parse(listing.entries[i].name, &name);
            if (name.kind == SL_FILE_OTHER)
                continue;
            ok(sl_path_join(partitions.items[p], listing.entries[i].name, &relative));
            check_order(table, relative, &files);
            sl_free(relative);
        }
        sl_listing_free(&listing);
        sl_free(folder);
    }
    assert_true(files > 0);
    sl_strings_free(&partitions);
}

static void compact(struct made *m)
{
    sluice_commit_info info = {.size = sizeof info};
    sluice_error e;
    OK(sluice_service_run(m->table, SLUICE_COMPACT, NULL, &info, &e));
}

/* Every operation, on every kind of table, in files of every size. */
static void files_are_sorted(void **state)
{
    (void)state;
    static const char *const kinds[][2] = {
        {"default", "COPY_ON_WRITE"}, {"lsm_tree", "COPY_ON_WRITE"}, {"lsm_tree", "MERGE_ON_READ"}};
    static const char *const indexes[] = {"BUCKET", "SIMPLE", "BLOOM"};
    static const char *const limits[][2] = {{"0", "1"}, {"100MiB", "120MiB"}};
    for (int k = 0; k < 18; k++) {
        const char *const *kind = kinds[k % 3];
        const char *options[] = {"hoodie.table.storage.layout",
                                 kind[0],
                                 "hoodie.table.type",
                                 kind[1],
                                 "hoodie.index.type",
                                 indexes[k / 3 % 3],
                                 NULL};
        struct made m = make("sorted", options);
        reopen(&m, (const char *const[]){"hoodie.parquet.small.file.limit", limits[k / 9][0],
                                         "hoodie.parquet.max.file.size", limits[k / 9][1], NULL});
        static const struct {
            enum sluice_operation operation;
            const char *part, *keys;
        } writes[] = {
            {SLUICE_BULK_INSERT, "p", "m c x a t e"},
            {SLUICE_INSERT, "p", "z b y d"},
            {SLUICE_UPSERT, "p", "y n a m new"},
            {SLUICE_INSERT, "q", "k j i"},
            {SLUICE_DELETE, "p", "x b nobody"},
            {SLUICE_UPSERT, "q", "z k a"},
            {SLUICE_INSERT_OVERWRITE, "p", "t s r q"},
            {SLUICE_UPSERT, "p", "u t a"},
            {SLUICE_INSERT_OVERWRITE_TABLE, "p", "w v u"},
            {SLUICE_UPSERT, "p", "x w a"},
        };
        for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
            write_rows(&m, writes[i].operation, writes[i].part, writes[i].keys, (int)i);
            if (i == 2 && kind[1][0] == 'M')
                compact(&m);
            if (i == 5)
                expect_keys(&m, "a a c d e i j k m n new t y z z");
            check_files(m.table->table);
        }
        expect_keys(&m, "a u v w x");
        unmake(&m);
    }
}

/* ---- sort modes (G-28) --------------------------------------------------------------------------------- */

static void sort_modes(void **state)
{
    (void)state;
    static const char mode[] = "hoodie.bulkinsert.sort.mode";
    static const char own[] = "hoodie.bulkinsert.user.defined.partitioner.";
    static const struct {
        const char *key, *value;
        const char
            *allowed; /* which of: d default layout, b lsm_tree by bucket, s lsm_tree by simple index */
    } cases[] = {
        {mode, "NONE", "db"},
        {mode, "GLOBAL_SORT", "dbs"},
        {mode, "PARTITION_SORT", "dbs"},
        {mode, "PARTITION_PATH_REPARTITION", "db"},
        {mode, "PARTITION_PATH_REPARTITION_AND_SORT", "dbs"},
        {mode, "SOMEHOW", ""},
        {own, "class", ""},
        {own, "sort.columns", ""},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (const char *where = "dbs"; *where; where++) {
            struct made m = make("modes", (const char *const[]){"hoodie.table.storage.layout",
                                                                *where == 'd' ? "default" : "lsm_tree",
                                                                "hoodie.index.type",
                                                                *where == 's' ? "SIMPLE" : "BUCKET", NULL});
            char key[100];
            bool is_mode = cases[c].key == mode;
            snprintf(key, sizeof key, "%s%s", cases[c].key, is_mode ? "" : cases[c].value);
            reopen(&m, (const char *const[]){key, is_mode ? cases[c].value : "val", NULL});
            sluice_commit_info info = {.size = sizeof info};
            sluice_error e = {0};
            sl_timeline timeline;
            sl_batch *batch = rows_of("p", "b a", 1);
            int code = write_batch(m.table, SLUICE_BULK_INSERT, batch, &info, &e);
            bool allowed = strchr(cases[c].allowed, *where) != NULL;
            if (allowed != !code)
                fail_msg("%s=%s in %c: %s", key, cases[c].value, *where, code ? e.message : "allowed");
            ok(sl_timeline_load(m.table->table, &timeline));
            assert_int_equal(timeline.count, allowed ? 1 : 0); /* a refusal leaves nothing there */
            sl_timeline_free(&timeline);
            sl_batch_unref(batch);
            unmake(&m);
        }
}

/* ---- small files (G-29) -------------------------------------------------------------------------------- */

/* Groups of the partition as "rows of the newest base file + logs", by the group's smallest key; "-" without base. */
static void expect_groups(struct made *m, const char *part, const char *wanted)
{
    sl_view view;
    sl_strings partitions = {0}, found = {0};
    ok(sl_strings_add(&partitions, part));
    ok(sl_view_load(m->table->table, &(struct sl_view_options){.partitions = &partitions}, &view));
    for (size_t g = 0; g < view.partitions[0].group_count; g++) {
        const sl_slice *slice = &view.partitions[0].groups[g].slices[0];
        char *relative, *path, text[80];
        sl_file *file;
        sl_parquet *parquet;
        assert_non_null(slice->base);
        ok(sl_path_join(part, slice->base->name, &relative));
        ok(sl_table_path(m->table->table, relative, &path));
        ok(sl_storage_open(m->table->table->storage, path, &file));
        ok(sl_parquet_open(file, NULL, &parquet));
        snprintf(text, sizeof text, "%s:%d+%d", sl_parquet_key_value(parquet, "hoodie_min_record_key"),
                 (int)sl_parquet_rows(parquet), (int)slice->log_count);
        ok(sl_strings_add(&found, text));
        sl_parquet_close(parquet);
        sl_file_close(file);
        sl_free(path);
        sl_free(relative);
    }
    sl_strings_sort(&found);
    char all[400] = "";
    for (size_t i = 0; i < found.count; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? " " : "", found.items[i]);
    assert_string_equal(all, wanted);
    sl_strings_free(&found);
    sl_strings_free(&partitions);
    sl_view_free(&view);
}

#define UNPACKED "hoodie.parquet.small.file.limit", "0"

static void small_files(void **state)
{
    (void)state;
    static const char *const unpacked[] = {UNPACKED, NULL};
    for (int lsm = 0; lsm < 2; lsm++) {
        struct made m =
            make("small", (const char *const[]){"hoodie.index.type", "SIMPLE", "hoodie.table.storage.layout",
                                                lsm ? "lsm_tree" : "default", NULL});
        reopen(&m, unpacked);
        write_rows(&m, SLUICE_INSERT, "p", "a b c", 1);
        write_rows(&m, SLUICE_INSERT, "p", "m n o p", 1);
        expect_groups(&m, "p", "a:3+0 m:4+0");
        /* an update: a log where there are logs */
        write_rows(&m, SLUICE_UPSERT, "p", "b", 2);
        expect_groups(&m, "p", lsm ? "a:3+1 m:4+0" : "a:3+0 m:4+0");
        /* inserts go to the nearest range, but to no slice with logs */
        reopen(&m, NULL);
        write_rows(&m, SLUICE_INSERT, "p", "bb z", 3);
        expect_groups(&m, "p", lsm ? "a:3+1 bb:6+0" : "a:4+0 m:5+0");
        /* an update beside inserts in the same small file: one new base file */
        write_rows(&m, SLUICE_UPSERT, "p", "n zz b", 4);
        expect_groups(&m, "p", lsm ? "a:3+2 bb:7+0" : "a:4+0 m:6+0");
        expect_keys(&m, "a b bb c m n o p z zz");
        unmake(&m);
    }
}

/* On merge-on-read a write fills one small file, the smallest, unless more are asked for. */
static void few_small_files_are_filled(void **state)
{
    (void)state;
    static const struct {
        const char *type, *files, *groups;
    } cases[] = {{"MERGE_ON_READ", "1", "a:5+0 m:4+0"},
                 {"MERGE_ON_READ", "2", "a:4+0 m:5+0"},
                 {"COPY_ON_WRITE", "1", "a:4+0 m:5+0"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made m =
            make("few", (const char *const[]){"hoodie.index.type", "SIMPLE", "hoodie.table.storage.layout",
                                              "lsm_tree", "hoodie.table.type", cases[i].type, NULL});
        reopen(&m, (const char *const[]){UNPACKED, NULL});
        write_rows(&m, SLUICE_INSERT, "p", "a b c", 1);
        write_rows(&m, SLUICE_INSERT, "p", "m n o p", 1);
        reopen(&m,
               (const char *const[]){"hoodie.merge.small.file.group.candidates.limit", cases[i].files, NULL});
        write_rows(&m, SLUICE_INSERT, "p", "bb z", 2);
        expect_groups(&m, "p", cases[i].groups);
        unmake(&m);
    }
}

/* Room is counted by the estimated size of rows; what does not fit makes a group of its own. */
static void room_in_small_files(void **state)
{
    (void)state;
    struct made m = make("room", (const char *const[]){"hoodie.index.type", "SIMPLE", NULL});
    write_rows(&m, SLUICE_INSERT, "p", "a b c", 1);
    reopen(&m, (const char *const[]){"hoodie.parquet.max.file.size", "1000000",
                                     "hoodie.copyonwrite.record.size.estimate", "400000", NULL});
    write_rows(&m, SLUICE_INSERT, "p", "d e f g", 1); /* room for two of them */
    expect_groups(&m, "p", "a:5+0 f:2+0");
    /* a file that is larger than files may become has none, however small the limit calls it */
    reopen(&m, (const char *const[]){"hoodie.parquet.max.file.size", "100", NULL});
    write_rows(&m, SLUICE_INSERT, "p", "h", 1);
    expect_groups(&m, "p", "a:5+0 f:2+0 h:1+0");
    /* new files by number of rows */
    reopen(&m, (const char *const[]){UNPACKED, "hoodie.copyonwrite.insert.auto.split", "false",
                                     "hoodie.copyonwrite.insert.split.size", "3", NULL});
    write_rows(&m, SLUICE_INSERT, "q", "h g f e d c b", 1);
    expect_groups(&m, "q", "b:3+0 e:3+0 h:1+0");
    unmake(&m);
}

/* ---- one writer, several commits ----------------------------------------------------------------------- */

/* No rows empty the table, but not what the same writer has just put there. */
static void commits_of_one_writer(void **state)
{
    (void)state;
    struct made m = make("commits", NULL);
    struct ArrowSchema schema;
    sluice_writer *w;
    sluice_commit_info info = {.size = sizeof info};
    sluice_error e;
    sl_batch *batch = rows_of("p", "x y", 1);
    write_rows(&m, SLUICE_UPSERT, "q", "a b", 1);
    export_schema(batch->schema, &schema);
    OK(sluice_writer_open(m.table, SLUICE_INSERT_OVERWRITE_TABLE, &schema, &w, &e));
    OK(writer_append(w, batch, &e));
    OK(sluice_writer_commit(w, &info, &e));
    assert_true(info.file_groups_replaced > 0);
    expect_keys(&m, "x y");
    OK(sluice_writer_commit(w, &info, &e));
    assert_string_equal(info.instant, "");
    expect_keys(&m, "x y");
    sluice_writer_close(w);
    OK(sluice_writer_open(m.table, SLUICE_INSERT_OVERWRITE_TABLE, &schema, &w, &e));
    OK(sluice_writer_commit(w, &info, &e));
    expect_keys(&m, "");
    sluice_writer_close(w);
    schema.release(&schema);
    sl_batch_unref(batch);
    unmake(&m);
}

/* ---- many rows ----------------------------------------------------------------------------------------- */

#define MANY 70000 /* more than are held back to look for the pages of their keys */

static void write_many(struct made *m, enum sluice_operation operation, int first, int count, int ts)
{
    const sl_type *type;
    sl_batch_builder b = {0};
    sl_batch *batch;
    sluice_commit_info info = {.size = sizeof info};
    sluice_error e;
    ok(sl_schema_parse(columns, &type));
    ok(sl_batch_builder_init(&b, type));
    for (int i = count; i-- > 0;) {
        char key[16];
        int len = snprintf(key, sizeof key, "k%06d", first + i);
        ok(sl_builder_integer(b.columns[0], i));
        ok(sl_builder_bytes(b.columns[1], key, (size_t)len));
        ok(sl_builder_bytes(b.columns[2], "p", 1));
        ok(sl_builder_null(b.columns[3]));
        ok(sl_builder_null(b.columns[4]));
        ok(sl_builder_integer(b.columns[5], ts));
    }
    ok(sl_batch_builder_finish(&b, &batch));
    OK(write_batch(m->table, operation, batch, &info, &e));
    sl_batch_unref(batch);
    sl_batch_builder_free(&b);
    sl_type_unref(type);
}

static void expect_count(struct made *m, const char *where, size_t wanted)
{
    const char *column = "key";
    sluice_error e;
    char *text;
    size_t lines = 0;
    OK(read_rows(m->table, &(struct query){.columns = &column, .column_count = 1, .where = where}, &text,
                 &e));
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    free(text);
    assert_int_equal(lines, wanted);
}

static size_t count_groups(struct made *m)
{
    sl_view view;
    ok(sl_view_load(m->table->table, NULL, &view));
    size_t count = view.partitions[0].group_count;
    sl_view_free(&view);
    return count;
}

static void many_rows(void **state)
{
    (void)state;
    for (int lsm = 0; lsm < 2; lsm++) {
        struct made m =
            make("many", (const char *const[]){"hoodie.index.type", "SIMPLE", "hoodie.table.storage.layout",
                                               lsm ? "lsm_tree" : "default", NULL});
        reopen(&m, (const char *const[]){"hoodie.parquet.max.file.size", "100000", NULL});
        write_many(&m, SLUICE_BULK_INSERT, 0, MANY, 1);
        assert_true(count_groups(&m) > 1); /* cut by size */
        write_many(&m, SLUICE_UPSERT, MANY / 2, MANY, 2);
        expect_count(&m, "ts = 1", MANY / 2);
        expect_count(&m, "ts = 2", MANY);
        check_files(m.table->table);
        unmake(&m);
    }
}

/* A partition may have more groups than a process may have files open. */
static void many_groups(void **state)
{
    (void)state;
    enum { ROWS = 4000, FILES = 110 };
    struct made m = make("groups", (const char *const[]){"hoodie.index.type", "SIMPLE", NULL});
    struct rlimit before, few;
    reopen(&m, (const char *const[]){"hoodie.copyonwrite.insert.auto.split", "false",
                                     "hoodie.copyonwrite.insert.split.size", "25", NULL});
    write_many(&m, SLUICE_BULK_INSERT, 0, ROWS, 1);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = FILES;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    write_many(&m, SLUICE_UPSERT, ROWS / 2, ROWS, 2);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    expect_count(&m, "ts = 1", ROWS / 2);
    expect_count(&m, "ts = 2", ROWS);
    unmake(&m);
}

int main(void)
{
    temporary_folder(root, sizeof root);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metadata_of_replacements),
        cmocka_unit_test(files_are_sorted),
        cmocka_unit_test(sort_modes),
        cmocka_unit_test(small_files),
        cmocka_unit_test(few_small_files_are_filled),
        cmocka_unit_test(room_in_small_files),
        cmocka_unit_test(many_rows),
        cmocka_unit_test(many_groups),
        cmocka_unit_test(commits_of_one_writer),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_folder(root);
    return failed;
}
