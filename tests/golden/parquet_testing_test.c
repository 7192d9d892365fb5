/*
 * The public Parquet test set: every file's rows, value for value, against the rows that another reader gave,
 * and the malformed files, which must be refused. SL_PARQUET_TESTING names the folder (NAME.parquet,
 * NAME.expected.jsonl.zst, bad/NAME.parquet).
 */
#include "check_support.h"
#include "fuzz/parquet_fuzz.c"
#include "parquet/parquet.h"
#include "unit/parquet_rows.h"
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <zstd.h>

static const char *folder(void)
{
    const char *path = getenv("SL_PARQUET_TESTING");
    return path ? path : "../shared/fixtures/parquet-testing";
}

static void check_ok(sl_status status, const char *what)
{
    if (status)
        fail_msg("%s: %s", what, sl_status_message(status));
}

static void read_expected(const char *path, sl_buf *out)
{
    sl_storage *storage;
    sl_buf packed = {0};
    check_ok(sl_storage_local(&storage), "storage");
    check_ok(sl_storage_read_all(storage, path, (size_t)64 << 20, &packed), path);
    size_t cap = (size_t)64 << 20;
    out->len = 0;
    check_ok(sl_buf_reserve(out, cap), "memory");
    size_t n = ZSTD_decompress(out->data, cap, packed.data, packed.len);
    assert_false(ZSTD_isError(n));
    out->len = n;
    sl_buf_free(&packed);
    sl_storage_free(storage);
}

/* The other reader takes INT96 for a local time with nanoseconds; for us it is an instant (spec/parquet.md
 * 8). */
static void drop_zone_marks(sl_buf *text)
{
    size_t to = 0;
    for (size_t i = 0; i < text->len; i++)
        if (!(text->data[i] == 'Z' && to >= 27 && text->data[i + 1] == '"' && text->data[to - 7] == '.' &&
              text->data[to - 10] == ':' && text->data[to - 16] == 'T'))
            text->data[to++] = text->data[i];
    text->len = to;
}

static void compare(const char *name, const sl_buf *got, const sl_buf *expected)
{
    size_t line = 1, start = 0, i = 0;
    while (i < got->len && i < expected->len && got->data[i] == expected->data[i]) {
        if (got->data[i] == '\n') {
            line++;
            start = i + 1;
        }
        i++;
    }
    if (i == got->len && i == expected->len)
        return;
    size_t g = got->len - start < 300 ? got->len - start : 300,
           e = expected->len - start < 300 ? expected->len - start : 300;
    fail_msg("%s, line %zu:\n got      %.*s\n expected %.*s", name, line, (int)g,
             (const char *)got->data + start, (int)e, (const char *)expected->data + start);
}

static sl_status rows_of(const char *path, bool ignore_checksums,
                         const struct sl_parquet_scan_options *options, sl_buf *out)
{
    sl_storage *storage;
    sl_file *file;
    check_ok(sl_storage_local(&storage), "storage");
    check_ok(sl_storage_open(storage, path, &file), path);
    out->len = 0;
    sl_status status = parquet_rows_text(file, ignore_checksums, options, out);
    sl_file_close(file);
    sl_storage_free(storage);
    return status;
}

static void check_file(const char *name, size_t stem)
{
    char path[1024], expected_path[1024];
    sl_buf got = {0}, expected = {0};
    snprintf(path, sizeof path, "%s/%s", folder(), name);
    snprintf(expected_path, sizeof expected_path, "%s/%.*s.expected.jsonl.zst", folder(), (int)stem, name);
    bool corrupt_checksum = strstr(name, "corrupt-checksum");
    if (corrupt_checksum) {
        sl_status status = rows_of(path, false, NULL, &got);
        assert_int_equal(sl_status_code(status), SL_E_CORRUPT);
        assert_non_null(strstr(sl_status_message(status), "checksum"));
        assert_non_null(strstr(sl_status_message(status), "page at"));
        sl_status_free(status);
    }
    read_expected(expected_path, &expected);
    static const int64_t batch_rows[] = {0, 7, 1000};
    for (size_t i = 0; i < sizeof batch_rows / sizeof *batch_rows; i++)
        for (int keep = 0; keep < 2; keep++) {
            struct sl_parquet_scan_options options = {.batch_rows = batch_rows[i], .keep_dictionary = keep};
            check_ok(rows_of(path, corrupt_checksum, &options, &got), name);
            if (strncmp(name, "alltypes_", 9) == 0)
                drop_zone_marks(&got);
            compare(name, &got, &expected);
        }
    sl_buf_free(&got);
    sl_buf_free(&expected);
}

static bool list(const char *path, sl_listing *out)
{
    sl_storage *storage;
    check_ok(sl_storage_local(&storage), "storage");
    bool there = !sl_status_ignore(sl_storage_list(storage, path, out));
    sl_storage_free(storage);
    static bool said;
    if (!there && !said)
        print_message(
            "skipped: the public Parquet test set is not at %s (SL_PARQUET_TESTING names its folder)\n",
            path);
    said = said || !there;
    return there;
}

static void every_file_matches(void **state)
{
    (void)state;
    sl_listing files;
    size_t checked = 0;
    if (!list(folder(), &files))
        skip();
    for (size_t i = 0; i < files.count; i++) {
        const char *name = files.entries[i].name;
        size_t len = strlen(name);
        if (len < 8 || strcmp(name + len - 8, ".parquet") != 0 ||
            strcmp(name, "unknown-logical-type.parquet") == 0)
            continue;
        check_file(name, len - 8);
        checked++;
    }
    assert_true(checked > 30);
    sl_listing_free(&files);
}

static void unknown_logical_type_is_read_physically(void **state)
{
    (void)state;
    char path[1024];
    sl_listing files;
    sl_buf got = {0};
    if (!list(folder(), &files))
        skip();
    sl_listing_free(&files);
    snprintf(path, sizeof path, "%s/unknown-logical-type.parquet", folder());
    check_ok(rows_of(path, false, NULL, &got), path);
    assert_true(got.len > 0);
    assert_non_null(memchr(got.data, '\n', got.len));
    sl_buf_free(&got);
}

/* Listed among the bad files, but well formed by spec/parquet.md 2: indexes of 0 bits in a bit-packed run.
 * Other readers read it too. */
static bool is_readable_after_all(const char *name, const sl_buf *rows)
{
    static const char row[] = "{\"min_fl\":0}\n";
    size_t n = sizeof row - 1;
    if (strcmp(name, "ARROW-GH-43605.parquet") != 0)
        return false;
    assert_int_equal(rows->len, 21186 * n);
    for (size_t at = 0; at < rows->len; at += n)
        assert_memory_equal(rows->data + at, row, n);
    return true;
}

static void malformed_files_are_refused(void **state)
{
    (void)state;
    char path[1024];
    sl_listing files;
    snprintf(path, sizeof path, "%s/bad", folder());
    if (!list(path, &files))
        skip();
    for (size_t i = 0; i < files.count; i++) {
        sl_buf got = {0};
        snprintf(path, sizeof path, "%s/bad/%s", folder(), files.entries[i].name);
        sl_status status = rows_of(path, false, NULL, &got);
        if (status) {
            assert_non_null(strstr(sl_status_message(status), files.entries[i].name));
            sl_status_free(status);
        } else if (!is_readable_after_all(files.entries[i].name, &got)) {
            fail_msg("%s was read: %.*s", path, (int)(got.len < 200 ? got.len : 200), (const char *)got.data);
        }
        sl_buf_free(&got);
    }
    sl_listing_free(&files);
}

/* ---- damage -------------------------------------------------------------------------------------------- */

#define MUTANT_SECONDS   10 /* nothing here takes one */
#define MUTANTS_KIB_MOST (INT64_C(1200) << 10)

static void read_mutant(const char *path, const uint8_t *data, size_t len, size_t at)
{
    double start = sl_monotonic();
    LLVMFuzzerTestOneInput(data, len);
    if (sl_monotonic() - start > MUTANT_SECONDS)
        fail_msg("%s with byte %zu changed to %02x took %.0f s", path, at, data[at], sl_monotonic() - start);
}

/* One byte of the file at a time: each of them, in small files of a long run, else some, half of them near the footer. */
static size_t mutate_file(const char *path, bool thorough)
{
    sl_storage *storage;
    sl_buf bytes = {0};
    check_ok(sl_storage_local(&storage), "storage");
    check_ok(sl_storage_read_all(storage, path, (size_t)64 << 20, &bytes), path);
    bool each = thorough && bytes.len < 10000;
    size_t rounds = each ? bytes.len : thorough ? 4000 : bytes.len > 100000 ? 10 : 60;
    for (size_t i = 0; i < rounds; i++) {
        size_t near = bytes.len < 2000 ? bytes.len : 2000;
        size_t at = each    ? i
                    : i & 1 ? (size_t)(random_next() % bytes.len)
                            : bytes.len - 1 - (size_t)(random_next() % near);
        uint8_t before = bytes.data[at];
        bytes.data[at] = (uint8_t)(before + 1 + random_next() % 255);
        read_mutant(path, bytes.data, bytes.len, at);
        bytes.data[at] = before;
    }
    sl_buf_free(&bytes);
    sl_storage_free(storage);
    return rounds;
}

static size_t mutate_folder(const char *path)
{
    sl_listing files;
    size_t rounds = 0;
    if (!list(path, &files))
        skip();
    for (size_t i = 0; i < files.count; i++) {
        const char *name = files.entries[i].name;
        char file[1024];
        snprintf(file, sizeof file, "%s/%s", path, name);
        if (strlen(name) > 8 && strcmp(name + strlen(name) - 8, ".parquet") == 0)
            rounds += mutate_file(file, getenv("SL_TEST_LONG"));
    }
    sl_listing_free(&files);
    return rounds;
}

/* Damaged files are read or refused, in time and without much memory. */
static void changed_bytes_do_no_harm(void **state)
{
    (void)state;
    char bad[1024];
    struct rusage usage;
    random_start();
    snprintf(bad, sizeof bad, "%s/bad", folder());
    size_t rounds = mutate_folder(folder()) + mutate_folder(bad);
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    print_message("%zu single bytes changed, at most %ld KiB\n", rounds, usage.ru_maxrss);
    assert_true(usage.ru_maxrss < MUTANTS_KIB_MOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_matches),
        cmocka_unit_test(unknown_logical_type_is_read_physically),
        cmocka_unit_test(malformed_files_are_refused),
        cmocka_unit_test(changed_bytes_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
