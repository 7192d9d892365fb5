/* doctor: a healthy table has no finding; each kind of damage is found, at its place, by the check that is meant to. */
#include "engine_support.h"

#include "parquet/parquet.h"
#include "service/service.h"
#include <dirent.h>
#include <math.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define COLUMNS "id string, v long, distance double, ts long"
#define ROWS    3000

static char folder[64], healthy[96], path[96];

/* ---- a healthy table ----------------------------------------------------------------------------------- */

static sl_batch *rows(int first, int count, int step, int64_t ts)
{
    const sl_type *schema;
    sl_batch_builder b;
    sl_batch *batch;
    ok(sl_schema_parse(COLUMNS, &schema));
    ok(sl_batch_builder_init(&b, schema));
    for (int i = first; i < first + count * step; i += step) {
        char id[16];
        ok(sl_builder_bytes(b.columns[0], id, (size_t)snprintf(id, sizeof id, "key%06d", i)));
        ok(i % 7 ? sl_builder_integer(b.columns[1], i) : sl_builder_null(b.columns[1]));
        ok(sl_builder_double(b.columns[2], i % 5 ? i / 3.0 : NAN));
        ok(sl_builder_integer(b.columns[3], ts));
    }
    ok(sl_batch_builder_finish(&b, &batch));
    sl_batch_builder_free(&b);
    sl_type_unref(schema);
    return batch;
}

static void commit(sluice_table *t, enum sluice_operation operation, sl_batch *batch)
{
    sluice_error e;
    sluice_commit_info info;
    OK(write_batch(t, operation, batch, &info, &e));
    sl_batch_unref(batch);
}

/* Two buckets, each with a base file, two data logs and a delete log. */
static int set_up(void **state)
{
    (void)state;
    sluice_error e;
    sluice_table *t;
    sl_batch *first = rows(0, ROWS, 1, 1);
    temporary_folder(folder, sizeof folder);
    snprintf(healthy, sizeof healthy, "%s/healthy", folder);
    snprintf(path, sizeof path, "%s/t", folder);
    create_table(healthy, first->schema,
                 lsm_options("id", PAIRS("hoodie.table.ordering.fields", "ts",
                                         "hoodie.bucket.index.num.buckets", "2")));
    OK(sluice_table_open(healthy, NULL, &t, &e));
    commit(t, SLUICE_BULK_INSERT, first);
    commit(t, SLUICE_UPSERT, rows(0, ROWS / 3, 3, 2));
    commit(t, SLUICE_DELETE, rows(0, ROWS / 10, 10, 3));
    commit(t, SLUICE_UPSERT, rows(0, ROWS / 7, 7, 4));
    sluice_table_close(t);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    remove_folder(folder);
    return 0;
}

/* ---- damage -------------------------------------------------------------------------------------------- */

static void shell(const char *format, ...)
{
    char command[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    assert_int_equal(system(command), 0);
}

/* The newest file of bucket 0 whose name ends so. */
static void newest(const char *ending, char *out, size_t bytes)
{
    char best[256] = "", best_instant[32] = "";
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct sl_file_name parts;
        size_t len = strlen(entry->d_name), end = strlen(ending);
        sl_file_name_parse(entry->d_name, &parts);
        bool is_base = strcmp(ending, ".parquet") != 0 || parts.kind == SL_FILE_BASE;
        if (strncmp(entry->d_name, "00000000", 8) != 0 || len < end ||
            strcmp(entry->d_name + len - end, ending) != 0 || !is_base ||
            strcmp(parts.instant, best_instant) <= 0)
            continue;
        snprintf(best, sizeof best, "%s", entry->d_name);
        snprintf(best_instant, sizeof best_instant, "%s", parts.instant);
    }
    closedir(dir);
    assert_true(*best);
    snprintf(out, bytes, "%s/%s", path, best);
}

static void delete_log(void)
{
    char file[512];
    newest(".log.parquet", file, sizeof file);
    assert_int_equal(remove(file), 0);
}

static void delete_base(void)
{
    char file[512];
    newest(".parquet", file, sizeof file);
    assert_int_equal(remove(file), 0);
}

static void cut_file(void)
{
    char file[512];
    newest(".log.parquet", file, sizeof file);
    assert_int_equal(truncate(file, 500), 0);
}

static void flip(const char *file, long at)
{
    FILE *f = fopen(file, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    int byte = fgetc(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    assert_true(fputc(byte ^ 0x40, f) != EOF);
    assert_int_equal(fclose(f), 0);
}

static void flip_page(void)
{
    char file[512];
    newest(".parquet", file, sizeof file);
    flip(file, 200);
}

/* As if another writer had written the file: it says neither its name nor a checksum of its footer. */
static void without_entries_of_ours(const char *file)
{
    shell("LC_ALL=C sed -i 's/sluice\\.f/foreign_/g' '%s'", file);
}

static void foreign_log(void)
{
    char file[512];
    newest(".log.parquet", file, sizeof file);
    shell("cp '%s' \"$(echo '%s' | sed 's/_1\\.log/_9.log/')\"", file, file);
}

static void wrong_bucket(void) /* the file of one bucket in the place of the other's */
{
    char file[512];
    newest(".parquet", file, sizeof file);
    shell("cd %s && cp $(ls | grep '^00000001.*_[0-9]*\\.parquet$' | grep -v log | grep -v deletes) '%s'",
          path, file);
}

static void wrong_bucket_foreign(void)
{
    char file[512];
    wrong_bucket();
    newest(".parquet", file, sizeof file);
    without_entries_of_ours(file);
}

static void leftover(void)
{
    char file[512];
    newest(".log.parquet", file, sizeof file);
    shell("cp '%s' \"$(echo '%s' | sed 's/_[0-9]*_1\\.log/_20990101000000000_1.log/')\"", file, file);
}

static void garbage_commit(void)
{
    shell("cd %s/.hoodie/timeline && echo garbage > $(ls *.deltacommit | tail -1)", path);
}

static void rows_as_change_data(void)
{
    char file[512];
    newest(".log.parquet", file, sizeof file);
    without_entries_of_ours(file);
    shell("cp '%s' \"$(echo '%s' | sed 's/\\.log/.cdc/')\"", file, file);
}

static void stranger_name(void) { shell("touch %s/readme.parquet", path); }
static void second_group(void)
{
    char file[512];
    newest(".parquet", file, sizeof file);
    shell("cd %s && f=$(basename '%s') && cp $f 00000000-1111-${f#*-*-}", path, file);
}

/* The newest data log once more, its rows backwards, all footer entries kept. */
static void unsorted_log(void)
{
    char file[512], turned[520];
    sl_storage *local;
    sl_file *in;
    sl_parquet *p;
    sl_stream *stream;
    sl_batch *batch;
    sl_output *out;
    sl_parquet_writer *w;
    struct sl_parquet_written written;
    newest(".log.parquet", file, sizeof file);
    snprintf(turned, sizeof turned, "%s.new", file);
    ok(sl_storage_local(&local));
    ok(sl_storage_open(local, file, &in));
    ok(sl_parquet_open(in, NULL, &p));
    ok(sl_parquet_scan(p, &(struct sl_parquet_scan_options){0}, &stream));
    ok(sl_stream_next(stream, &batch));
    ok(sl_storage_create(local, turned, &out));
    ok(sl_parquet_writer_new(out, batch->schema, NULL, &w));
    for (int64_t i = batch->rows; i-- > 0;) {
        sl_batch *one;
        ok(sl_batch_copy(batch, i, 1, &one));
        ok(sl_parquet_writer_write(w, one));
        sl_batch_unref(one);
    }
    for (size_t i = 0; i < sl_parquet_key_values(p); i++) {
        const char *key, *value;
        sl_parquet_key_value_at(p, i, &key, &value);
        ok(sl_parquet_writer_key_value(w, key, value));
    }
    ok(sl_parquet_writer_finish(w, &written));
    ok(sl_output_finish(out));
    sl_batch_unref(batch);
    sl_stream_close(stream);
    sl_parquet_close(p);
    sl_file_close(in);
    sl_storage_free(local);
    assert_int_equal(rename(turned, file), 0);
}

/* Keys stand in the open only in statistics and page index: pages are compressed, and their checksums stay right. */
static void lying_bounds(void)
{
    char file[512];
    newest(".parquet", file, sizeof file);
    shell("LC_ALL=C sed -i 's/key000000/key000009/g' '%s'", file);
}

static void lying_bounds_foreign(void)
{
    char file[512];
    lying_bounds();
    newest(".parquet", file, sizeof file);
    without_entries_of_ours(file);
}

/* Parquet has no checksum over the footer, and a column that is not there is null. */
static void hide_column(const char *pattern)
{
    char file[512];
    newest(".parquet", file, sizeof file);
    without_entries_of_ours(file);
    shell("LC_ALL=C sed -i '%s' '%s'", pattern, file);
}

static void hidden_meta_column(void) { hide_column("s/_hoodie_commit_time/_hoodie_bommit_time/g"); }
static void hidden_column(void) /* in the Parquet schema, not in the Avro text beside it */
{
    hide_column("s/\\([^\"]\\)distance/\\1dirtance/g");
}

static void renamed_column(void)
{
    char file[512];
    newest(".log.parquet", file, sizeof file);
    shell("LC_ALL=C sed -i 's/distance/dirtance/g' '%s'", file);
}

static void column_of_no_text(void) { hide_column("s/_hoodie_commit_time/_hoodie_\\xffommit_time/g"); }

static void pending_writer(void)
{
    shell("cd %s/.hoodie/timeline && touch 20990101000000000.deltacommit.requested", path);
}

static const struct damage {
    const char *name;
    void (*inflict)(void);
    const char *check; /* a finding of this check, whose place holds `place` */
    const char *place;
    const char *severity;
    bool deep; /* only a look at every row finds it */
} damages[] = {
    {"a log is gone", delete_log, "missing", ".log.parquet", "error", false},
    {"a base file is gone", delete_base, "missing", "00000000", "error", false},
    {"a file was cut", cut_file, "size", ".log.parquet", "error", false},
    {"a file that was cut has no footer", cut_file, "footer", ".log.parquet", "error", false},
    {"a bit of a page", flip_page, "content", "00000000", "error", true},
    {"a log that no commit names", foreign_log, "stranger", "_9.log.parquet", "error", false},
    {"another bucket's file", wrong_bucket, "footer", "00000000", "error", false},
    {"another bucket's file, by another writer", wrong_bucket_foreign, "bucket", "00000000", "error", true},
    {"a file of no instant", leftover, "leftover", "20990101", "warning", false},
    {"a commit that is no commit", garbage_commit, "timeline", ".deltacommit", "error", false},
    {"a name that says nothing", stranger_name, "name", "readme.parquet", "warning", false},
    {"change data of another schema", rows_as_change_data, "schema", ".cdc.parquet", "warning", false},
    {"a second group of a bucket", second_group, "bucket", "", "error", false},
    {"rows out of order", unsorted_log, "order", ".log.parquet", "error", true},
    {"bounds that lie", lying_bounds, "footer", "00000000", "error", false},
    {"bounds that another writer lied about", lying_bounds_foreign, "statistics", "00000000", "error", true},
    {"a meta column under another name", hidden_meta_column, "schema", "00000000", "error", false},
    {"a column under another name", hidden_column, "schema", "00000000", "error", false},
    {"a column of ours under another name", renamed_column, "footer", ".log.parquet", "error", false},
    {"a column name that is no text", column_of_no_text, "footer", "00000000", "error", false},
    {"a writer under way", pending_writer, "timeline", "20990101", "warning", false},
};

/* ---- tests --------------------------------------------------------------------------------------------- */

static json_t *examine(bool deep)
{
    sluice_error e;
    sluice_table *t;
    char *text;
    OK(sluice_table_open(path, NULL, &t, &e));
    OK(sluice_table_doctor(t, deep, &text, &e));
    sluice_table_close(t);
    json_t *report = json_loads(text, 0, NULL);
    assert_non_null(report);
    sluice_free(text);
    return report;
}

static bool found(const json_t *report, const struct damage *d)
{
    size_t i;
    json_t *f;
    json_array_foreach(json_object_get(report, "findings"), i,
                       f) if (strcmp(json_string_value(json_object_get(f, "check")), d->check) == 0 &&
                              strcmp(json_string_value(json_object_get(f, "severity")), d->severity) == 0 &&
                              strstr(json_string_value(json_object_get(f, "place")), d->place)) return true;
    return false;
}

static void fresh_copy(void) { shell("rm -rf %s && cp -a %s %s", path, healthy, path); }

static void nothing_is_wrong_with_a_healthy_table(void **state)
{
    (void)state;
    fresh_copy();
    json_t *report = examine(true), *checked = json_object_get(report, "checked");
    if (json_array_size(json_object_get(report, "findings")))
        fail_msg("%s", json_dumps(report, 0));
    assert_int_equal(json_integer_value(json_object_get(checked, "files")), 8);
    assert_true(json_integer_value(json_object_get(checked, "rows")) > ROWS);
    json_decref(report);
}

static void every_damage_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        const struct damage *d = &damages[i];
        fresh_copy();
        d->inflict();
        json_t *report = examine(true);
        if (!found(report, d))
            fail_msg("%s: not found: %s", d->name, json_dumps(report, 0));
        bool errors = json_integer_value(json_object_get(report, "errors")) > 0;
        assert_true(errors || strcmp(d->severity, "warning") == 0);
        json_decref(report);
        report = examine(false);
        if (found(report, d) == d->deep)
            fail_msg("%s: without --deep it should%s be found", d->name, d->deep ? " not" : "");
        json_decref(report);
    }
}

/* A newest data log of the group, taken for the older one that it is copied over; another writer's. */
static void another_instant(void)
{
    char file[512];
    newest(".log.parquet", file, sizeof file);
    without_entries_of_ours(file);
    shell("cd %s && cp '%s' $(ls 00000000*.log.parquet | head -1)", path, file);
}

/* What would read like good files does not need a doctor to be found. */
static void readers_refuse_files_that_cannot_be_right(void **state)
{
    static void (*const inflict[])(void) = {wrong_bucket, another_instant, renamed_column, lying_bounds};
    (void)state;
    for (size_t i = 0; i < sizeof inflict / sizeof *inflict; i++) {
        sluice_error e;
        sluice_table *t;
        char *seen;
        fresh_copy();
        inflict[i]();
        OK(sluice_table_open(path, NULL, &t, &e));
        assert_int_equal(read_rows(t, &(struct query){.where = "v > 100000"}, &seen, &e), SLUICE_E_CORRUPT);
        sluice_table_close(t);
    }
}

/* Where no more files can be opened, nothing is known, and nothing is damaged. */
static void what_the_system_refuses_is_no_damage(void **state)
{
    (void)state;
    sluice_error e;
    sluice_table *t;
    char *text;
    struct rlimit limit, none;
    fresh_copy();
    OK(sluice_table_open(path, NULL, &t, &e));
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 3; /* all taken */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int failed = sluice_table_doctor(t, true, &text, &e);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(failed, 0);
    sluice_table_close(t);
    json_t *report = json_loads(text, 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(report, "errors")), 0);
    assert_true(json_integer_value(json_object_get(report, "unchecked")) > 0);
    json_decref(report);
    sluice_free(text);
}

static void repair_rolls_back_what_dead_writers_left(void **state)
{
    (void)state;
    sluice_error e;
    sluice_table *t;
    uint64_t rolled_back = 0;
    fresh_copy();
    shell("cd %s/.hoodie/timeline && touch 20250101000000000.deltacommit.requested", path);
    OK(sluice_table_open(path, NULL, &t, &e));
    OK(sluice_table_repair(t, &rolled_back, &e));
    assert_int_equal(rolled_back, 1);
    sluice_table_close(t);
    json_t *report = examine(true);
    assert_int_equal(json_array_size(json_object_get(report, "findings")), 0);
    json_decref(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_wrong_with_a_healthy_table),
        cmocka_unit_test(every_damage_is_found),
        cmocka_unit_test(readers_refuse_files_that_cannot_be_right),
        cmocka_unit_test(what_the_system_refuses_is_no_damage),
        cmocka_unit_test(repair_rolls_back_what_dead_writers_left),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
