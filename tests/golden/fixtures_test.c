/*
 * Whole tables written by others, read through the public API and compared byte for byte with the rows that
 * Spark (or, for version 10, a model that knows no files) gives: tests/data/fixtures, see its README.md.
 *
 *   SL_FIXTURES   folder with lsm/ and tables/; default: fixtures in the test data folder
 *   SL_SHARED     folder with the larger fixture sets, default ../shared; without it the tables of hudi-rs are skipped
 *   SL_ONLY       only tables whose name holds this text
 */
#include "sluice/sluice.h"
#include "unpack.h"
#include <jansson.h>

static struct {
    unsigned tables, passed, refused, lookups, failed;
} tally;

struct table {
    const char *folder; /* with the archives and expectations */
    const char *name;
    const char *path; /* unpacked */
    const json_t *about;
};

/* Tables that have to be refused, by name of the reason; everything else must be read. */
static const struct {
    const char *name, *reason;
    bool read_optimized_too; /* not only the merged view */
} refusals[] = {
    {"cow_v9_lance_nonpartitioned", "base file format LANCE", true},
    {"mor_partial_merge_into_v8", "partial-update block", false},
    {"mor_partial_merge_into_v9", "partial-update block", false},
};

/* Under a timestamp key generator Spark shows the partition field, a long in the files, as a string; we show
 * the long. */
static const struct {
    const char *name, *field;
} shown_as_string[] = {
    {"cow_keygen_timestamp_v9", "\"ts\":"},
    {"cow_v9_timebasedkeygen_epochmillis", "\"ts_millis\":"},
};

/* ---- one query ----------------------------------------------------------------------------------------- */

struct text {
    char *data;
    size_t len, cap;
};

static int text_append(void *context, const char *data, size_t len)
{
    struct text *t = context;
    if (t->len + len + 1 > t->cap) {
        t->cap = (t->len + len + 1) * 2;
        t->data = realloc(t->data, t->cap);
        assert_non_null(t->data);
    }
    memcpy(t->data + t->len, data, len);
    t->len += len;
    t->data[t->len] = 0;
    return 0;
}

struct query {
    const char *as_of; /* NULL: now */
    bool read_optimized;
};

/* The rows of a query in canonical form; the code of the first call that failed. */
static int rows_of(const struct table *t, const struct query *q, struct text *out, sluice_error *e)
{
    sluice_table *table = NULL;
    sluice_scan *scan = NULL;
    struct ArrowArrayStream stream;
    sluice_output_options options = {.size = sizeof options, .format = SLUICE_TEXT_CANONICAL};
    int code = sluice_table_open(t->path, NULL, &table, e);
    if (!code)
        code = sluice_scan_new(table, &scan, e);
    if (!code && q->as_of)
        code = sluice_scan_as_of(scan, q->as_of, e);
    if (!code && q->read_optimized)
        code = sluice_scan_read_optimized(scan, e);
    if (!code)
        code = sluice_scan_stream(scan, &stream, e);
    if (!code)
        code = sluice_output_text(&stream, &options, text_append, out, NULL, e);
    sluice_scan_free(scan);
    sluice_table_close(table);
    return code;
}

static void report(const struct table *t, const struct query *q, const char *what)
{
    tally.failed++;
    print_message("FAILED %s%s%s%s: %s\n", t->name, q->read_optimized ? " read-optimized" : "",
                  q->as_of ? " as of " : "", q->as_of ? q->as_of : "", what);
}

static void report_difference(const struct table *t, const struct query *q, const char *got, const char *want)
{
    char what[1400];
    size_t line = 1;
    while (*got && *want) {
        size_t n = strcspn(got, "\n"), m = strcspn(want, "\n");
        if (n != m || memcmp(got, want, n) != 0)
            break;
        got += n + (got[n] != 0);
        want += m + (want[m] != 0);
        line++;
    }
    snprintf(what, sizeof what, "line %zu\n  got  %.*s\n  want %.*s", line, (int)strcspn(got, "\n"), got,
             (int)strcspn(want, "\n"), want);
    report(t, q, what);
}

static bool refusal_holds(const struct table *t, const struct query *q, int code, const sluice_error *e)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        if (strcmp(refusals[i].name, t->name) != 0 || (q->read_optimized && !refusals[i].read_optimized_too))
            continue;
        if (code == SLUICE_E_UNSUPPORTED && strstr(e->message, refusals[i].reason))
            tally.refused++;
        else
            report(t, q, code ? e->message : "was read, but should be refused");
        return true;
    }
    return false;
}

/* Puts the field's numbers between quotes. */
static void quote_field(struct text *text, const char *field)
{
    struct text quoted = {0};
    const char *at = text->data, *next;
    while ((next = strstr(at, field))) {
        next += strlen(field);
        size_t digits = strspn(next, "0123456789");
        text_append(&quoted, at, (size_t)(next - at));
        if (digits)
            text_append(&quoted, "\"", 1);
        text_append(&quoted, next, digits);
        if (digits)
            text_append(&quoted, "\"", 1);
        at = next + digits;
    }
    text_append(&quoted, at, strlen(at));
    free(text->data);
    *text = quoted;
}

/* Compares with the expected text (or, without it, its SHA-256). */
static void check_query(const struct table *t, const struct query *q, const char *want,
                        const char *want_sha256)
{
    struct text got = {0};
    sluice_error e = {0};
    char sha256[65];
    int code = rows_of(t, q, &got, &e);
    for (size_t i = 0; got.data && i < sizeof shown_as_string / sizeof *shown_as_string; i++)
        if (strcmp(shown_as_string[i].name, t->name) == 0)
            quote_field(&got, shown_as_string[i].field);
    sha256_text(got.data ? got.data : "", got.len, sha256);
    if (refusal_holds(t, q, code, &e))
        ;
    else if (code)
        report(t, q, e.message);
    else if (want && strcmp(want, got.data ? got.data : "") != 0)
        report_difference(t, q, got.data ? got.data : "", want);
    else if (strcmp(sha256, want_sha256) != 0)
        report(t, q, "rows have another SHA-256");
    else
        tally.passed++;
    free(got.data);
}

static void check_file(const struct table *t, const struct query *q, const char *suffix,
                       const char *sha256_field)
{
    char path[8192];
    snprintf(path, sizeof path, "%s/%s.%s.jsonl.zst", t->folder, t->name, suffix);
    struct blob want = blob_of_zstd(path);
    if (!want.data)
        fail_msg("cannot open %s", path);
    check_query(t, q, (const char *)want.data, json_string_value(json_object_get(t->about, sha256_field)));
    free(want.data);
}

/* ---- lookups ------------------------------------------------------------------------------------------- */

/* The record keys in canonical rows, as JSON strings; a row without one makes it NULL. */
static json_t *keys_in(const char *rows)
{
    json_t *keys = json_array();
    while (keys && *rows) {
        size_t len = strcspn(rows, "\n");
        json_t *row = json_loadb(rows, len, JSON_ALLOW_NUL, NULL),
               *key = json_object_get(row, "_hoodie_record_key");
        if (json_is_string(key)) {
            json_array_append(keys, key);
        } else {
            json_decref(keys);
            keys = NULL;
        }
        json_decref(row);
        rows += len + (rows[len] != 0);
    }
    return keys;
}

static int look_up(const struct table *t, const json_t *keys, struct text *out, sluice_error *e)
{
    size_t count = json_array_size(keys);
    const char **items = calloc(count + 1, sizeof *items);
    size_t *bytes = calloc(count + 1, sizeof *bytes);
    sluice_table *table = NULL;
    struct ArrowArrayStream stream;
    sluice_output_options options = {.size = sizeof options, .format = SLUICE_TEXT_CANONICAL};
    for (size_t i = 0; i < count; i++) {
        items[i] = json_string_value(json_array_get(keys, i));
        bytes[i] = json_string_length(json_array_get(keys, i));
    }
    int code = sluice_table_open(t->path, NULL, &table, e);
    if (!code)
        code = sluice_lookup(
            table, items, count,
            &(sluice_lookup_options){.size = sizeof(sluice_lookup_options), .key_bytes = bytes}, &stream, e);
    if (!code)
        code = sluice_output_text(&stream, &options, text_append, out, NULL, e);
    sluice_table_close(table);
    free(items);
    free(bytes);
    return code;
}

/* The rows of all keys are the rows of the table. */
static void check_lookup(const struct table *t)
{
    struct text all = {0}, found = {0};
    sluice_error e = {0};
    json_t *keys = rows_of(t, &(struct query){0}, &all, &e) ? NULL : keys_in(all.data ? all.data : "");
    if (keys && look_up(t, keys, &found, &e))
        report(t, &(struct query){0}, e.message);
    else if (keys && strcmp(all.data ? all.data : "", found.data ? found.data : "") != 0)
        report_difference(t, &(struct query){0}, found.data ? found.data : "", all.data ? all.data : "");
    else
        tally.lookups += keys != NULL;
    json_decref(keys);
    free(all.data);
    free(found.data);
}

/* ---- one table ----------------------------------------------------------------------------------------- */

static void check_old_version(const struct table *t)
{
    sluice_table *table;
    sluice_error e;
    int code = sluice_table_open(t->path, NULL, &table, &e);
    if (code == SLUICE_E_UNSUPPORTED && strstr(e.message, "table version 6"))
        tally.refused++;
    else
        report(t, &(struct query){0}, code ? e.message : "version 6 was opened");
    if (!code)
        sluice_table_close(table);
}

static void check_table(const struct table *t)
{
    json_t *query;
    size_t i;
    tally.tables++;
    if (json_integer_value(json_object_get(t->about, "table_version")) == 6) {
        check_old_version(t);
        return;
    }
    check_file(t, &(struct query){0}, "expected", "sha256");
    if (strcmp(json_string_value(json_object_get(t->about, "table_type")), "MERGE_ON_READ") == 0)
        check_file(t, &(struct query){.read_optimized = true}, "ro.expected", "read_optimized_sha256");
    check_lookup(t);
    json_array_foreach(json_object_get(t->about, "queries"), i, query)
    {
        const char *kind = json_string_value(json_object_get(query, "kind"));
        if (strcmp(kind, "as_of") == 0)
            check_query(t, &(struct query){.as_of = json_string_value(json_object_get(query, "instant"))},
                        NULL, json_string_value(json_object_get(query, "sha256")));
    }
}

static void unpack_and_check(const char *folder, const char *name)
{
    char path[8192], scratch[512], root[2048], table_path[4096];
    json_error_t error;
    snprintf(path, sizeof path, "%s/%s.json", folder, name);
    json_t *about = json_load_file(path, JSON_ALLOW_NUL, &error);
    if (!about)
        fail_msg("%s: %s", path, error.text);
    scratch_make(scratch, sizeof scratch);
    snprintf(root, sizeof root, "%s", name);
    snprintf(path, sizeof path, "%s/%s.tar.zst", folder, name);
    bool unpacked = unpack_tar_zst(path, scratch);
    snprintf(path, sizeof path, "%s/%s.zip", folder, name);
    if (!unpacked && !unpack_zip(path, scratch, root, sizeof root))
        fail_msg("%s: there is no archive", name);
    snprintf(table_path, sizeof table_path, "%s/%s", scratch, root);
    check_table(&(struct table){folder, name, table_path, about});
    scratch_remove(scratch);
    json_decref(about);
}

/* ---- folders ------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* False: there is no such folder. Each NAME.json is a table. */
static bool check_folder(const char *folder)
{
    const char *only = getenv("SL_ONLY");
    char *names[512];
    size_t count = 0;
    DIR *dir = opendir(folder);
    if (!dir)
        return false;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        char *dot = strstr(entry->d_name, ".json");
        if (!dot || strcmp(dot, ".json") != 0 || (only && !strstr(entry->d_name, only)))
            continue;
        assert_true(count < sizeof names / sizeof *names);
        names[count] = strndup(entry->d_name, (size_t)(dot - entry->d_name));
        assert_non_null(names[count++]);
    }
    closedir(dir);
    qsort(names, count, sizeof *names, by_name);
    for (size_t i = 0; i < count; i++) {
        unpack_and_check(folder, names[i]);
        free(names[i]);
    }
    return true;
}

static void fixture_folder(const char *part, char *out, size_t size)
{
    const char *fixtures = getenv("SL_FIXTURES"), *data = getenv("SL_TEST_DATA");
    if (fixtures)
        snprintf(out, size, "%s/%s", fixtures, part);
    else
        snprintf(out, size, "%s/fixtures/%s", data ? data : "tests/data", part);
}

static void check_all(const char *folder, unsigned tables_at_least)
{
    memset(&tally, 0, sizeof tally);
    if (!check_folder(folder))
        fail_msg("cannot open %s", folder);
    print_message("%s: %u tables, %u queries equal, %u refused by name, %u looked up whole, %u failed\n",
                  folder, tally.tables, tally.passed, tally.refused, tally.lookups, tally.failed);
    assert_int_equal(tally.failed, 0);
    assert_true(getenv("SL_ONLY") || tally.tables >= tables_at_least);
}

static void lsm_tables(void **state)
{
    (void)state;
    char folder[2048];
    fixture_folder("lsm", folder, sizeof folder);
    check_all(folder, 42);
}

static void spark_tables(void **state)
{
    (void)state;
    char folder[2048];
    fixture_folder("tables", folder, sizeof folder);
    check_all(folder, 70);
}

static void hudi_rs_tables(void **state)
{
    (void)state;
    const char *shared = getenv("SL_SHARED");
    char folder[2048];
    snprintf(folder, sizeof folder, "%s/fixtures/hudi-rs/tables", shared ? shared : "../shared");
    DIR *dir = opendir(folder);
    if (!dir) {
        print_message(
            "skipped: the tables of hudi-rs are not in %s (SL_SHARED names the folder of fixtures/)\n",
            folder);
        skip();
    }
    closedir(dir);
    check_all(folder, 28);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lsm_tables),
        cmocka_unit_test(spark_tables),
        cmocka_unit_test(hudi_rs_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
