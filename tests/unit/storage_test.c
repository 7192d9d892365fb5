/* storage: local files, files in memory, injected faults. Works in a new folder under $TMPDIR. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "storage/storage_int.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static sl_storage *local;
static char root[512];

static void assert_code(sl_status status, enum sl_code code)
{
    if (sl_status_code(status) != code)
        print_error("%s\n", sl_status_message(status));
    assert_int_equal(sl_status_code(status), code);
    sl_status_free(status);
}

static void assert_fine(sl_status status) { assert_code(status, SL_E_OK); }

/* One of a few static buffers. */
static const char *in_root(const char *name)
{
    static char paths[8][1024];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", root, name);
    return path;
}

static int setup(void **state)
{
    (void)state;
    const char *temp = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/sluice-storage-XXXXXX", temp ? temp : "/tmp");
    return mkdtemp(root) && !sl_status_ignore(sl_storage_local(&local)) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    sl_test_fail_allocation(0, false);
    bool failed = sl_status_ignore(sl_storage_delete_tree(local, root));
    sl_storage_free(local);
    return failed ? -1 : 0;
}

static void assert_content(const char *path, const char *content)
{
    sl_buf buf = {0};
    assert_fine(sl_storage_read_all(local, path, 1 << 20, &buf));
    assert_int_equal(buf.len, strlen(content));
    assert_string_equal((char *)buf.data, content);
    sl_buf_free(&buf);
}

static size_t count_entries(const char *folder)
{
    sl_listing listing;
    assert_fine(sl_storage_list(local, folder, &listing));
    size_t count = listing.count;
    sl_listing_free(&listing);
    return count;
}

static bool is_there(const char *path)
{
    bool exists;
    assert_fine(sl_storage_exists(local, path, &exists));
    return exists;
}

static void write_file(const char *path, const char *content)
{
    assert_fine(sl_storage_replace(local, path, content, strlen(content)));
}

/* ---- names --------------------------------------------------------------------------------------------- */

static void assert_uri(const char *uri, const char *expected)
{
    sl_storage *storage;
    char *path;
    assert_fine(sl_storage_for_uri(uri, &storage, &path));
    assert_string_equal(path, expected);
    sl_free(path);
    sl_storage_free(storage);
}

static void test_uris(void **state)
{
    (void)state;
    assert_uri("/a/b", "/a/b");
    assert_uri("a/b//", "a/b");
    assert_uri("/", "/");
    assert_uri("file:///a/b", "/a/b");
    assert_uri("file:/a/b/", "/a/b");
    assert_uri("file://localhost/a", "/a");
    assert_uri("a:b/c", "a:b/c");
    assert_uri("./s3://x", "./s3://x");
    sl_storage *storage;
    char *path;
    assert_code(sl_storage_for_uri("", &storage, &path), SL_E_INPUT);
    assert_code(sl_storage_for_uri("file://server/a", &storage, &path), SL_E_UNSUPPORTED);
    assert_code(sl_storage_for_uri("files://a", &storage, &path), SL_E_UNSUPPORTED);
    sl_status status = sl_storage_for_uri("s3://bucket/t", &storage, &path);
    assert_non_null(strstr(sl_status_message(status), "\"s3\""));
    assert_code(status, SL_E_UNSUPPORTED);
    for (uint64_t n = 1; n <= 2; n++) {
        sl_test_fail_allocation(n, false);
        assert_code(sl_storage_for_uri("/a", &storage, &path), SL_E_MEMORY);
    }
}

static void assert_join(const char *a, const char *b, const char *expected)
{
    char *path;
    assert_fine(sl_path_join(a, b, &path));
    assert_string_equal(path, expected);
    sl_free(path);
}

static void assert_parent(const char *path, const char *expected)
{
    char *parent;
    assert_fine(path_parent(path, &parent));
    assert_string_equal(parent, expected);
    sl_free(parent);
}

static void test_paths(void **state)
{
    (void)state;
    assert_join("a", "b", "a/b");
    assert_join("", "b", "b");
    assert_join("a", "", "a");
    assert_join("/", "b", "/b");
    assert_join("", "", "");
    assert_parent("a/b/c", "a/b");
    assert_parent("a", ".");
    assert_parent("/a", "/");
    assert_parent("a//b", "a");
    char *crc;
    assert_fine(path_checksum_file("a/b.x", &crc));
    assert_string_equal(crc, "a/.b.x.crc");
    sl_free(crc);
    assert_fine(path_checksum_file("b", &crc));
    assert_string_equal(crc, ".b.crc");
    sl_free(crc);
}

/* ---- reading and writing ------------------------------------------------------------------------------- */

static void test_output_then_read(void **state)
{
    (void)state;
    const char *path = in_root("new/deep/file");
    sl_output *output;
    assert_fine(sl_storage_create(local, path, &output));
    assert_string_equal(sl_output_path(output), path);
    uint8_t *block = sl_malloc(300000); /* more than the buffer */
    for (size_t i = 0; i < 300000; i++)
        block[i] = (uint8_t)(i * 7);
    static const size_t sizes[] = {1, 0, 1000, 200000, 100000, 300000, 5};
    uint64_t total = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_fine(sl_output_write(output, block, sizes[i]));
        total += sizes[i];
        assert_int_equal(sl_output_offset(output), total);
    }
    assert_fine(sl_output_finish(output));
    assert_code(sl_storage_create(local, path, &output), SL_E_EXISTS);

    sl_file *file;
    assert_fine(sl_storage_open(local, path, &file));
    assert_int_equal(sl_file_size(file), total);
    assert_string_equal(sl_file_path(file), path);
    assert_null(sl_file_memory(file)); /* local files are read, never mapped: see local_file.c */
    uint8_t *back = sl_malloc(300000);
    uint64_t offset = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_fine(sl_file_read_at(file, offset, back, sizes[i]));
        assert_memory_equal(back, block, sizes[i]);
        offset += sizes[i];
    }
    assert_code(sl_file_read_at(file, total - 1, back, 2), SL_E_CORRUPT);
    assert_code(sl_file_read_at(file, UINT64_MAX, back, 2), SL_E_CORRUPT);
    assert_fine(sl_file_read_at(file, total, back, 0));
    assert_int_equal(truncate(path, 10), 0); /* under our feet */
    assert_code(sl_file_read_at(file, 5, back, 10), SL_E_CORRUPT);
    sl_file_close(file);
    sl_file_close(NULL);
    sl_free(back);
    sl_free(block);
}

static void test_aborted_output_leaves_nothing(void **state)
{
    (void)state;
    const char *path = in_root("aborted");
    sl_output *output;
    assert_fine(sl_storage_create(local, path, &output));
    assert_fine(sl_output_write(output, "x", 1));
    sl_output_abort(output);
    assert_false(is_there(path));
    sl_output_abort(NULL);
}

static void test_reading_what_is_no_file(void **state)
{
    (void)state;
    sl_file *file;
    sl_status status = sl_storage_open(local, in_root("missing"), &file);
    assert_non_null(strstr(sl_status_message(status), "missing"));
    assert_code(status, SL_E_NOT_FOUND);
    assert_code(sl_storage_open(local, root, &file), SL_E_IO);
    assert_int_equal(mkfifo(in_root("pipe"), 0600), 0);
    assert_code(sl_storage_open(local, in_root("pipe"), &file), SL_E_IO);
    write_file(in_root("plain"), "");
    assert_code(sl_storage_open(local, in_root("plain/below"), &file), SL_E_NOT_FOUND);
    assert_fine(sl_storage_open(local, in_root("plain"), &file));
    assert_null(sl_file_memory(file)); /* empty: nothing to map */
    sl_file_close(file);
}

static void test_read_all_is_bounded(void **state)
{
    (void)state;
    const char *path = in_root("bounded");
    write_file(path, "12345");
    sl_buf buf = {0};
    assert_code(sl_storage_read_all(local, path, 4, &buf), SL_E_CORRUPT);
    assert_fine(sl_storage_read_all(local, path, 5, &buf));
    assert_string_equal((char *)buf.data, "12345");
    sl_buf_free(&buf);
}

static void test_files_of_memory(void **state)
{
    (void)state;
    sl_file *file;
    char bytes[3];
    assert_fine(sl_file_of_memory("abcde", 5, "five", &file));
    assert_fine(sl_file_read_at(file, 2, bytes, 3));
    assert_memory_equal(bytes, "cde", 3);
    assert_code(sl_file_read_at(file, 3, bytes, 3), SL_E_CORRUPT);
    assert_memory_equal(sl_file_memory(file), "abcde", 5);
    assert_string_equal(sl_file_path(file), "five");
    sl_file_close(file);

    sl_buf buf = {0};
    sl_output *output;
    assert_fine(sl_buf_append(&buf, "ab", 2));
    assert_fine(sl_output_to_buf(&buf, &output));
    assert_fine(sl_output_write(output, "cd", 2));
    assert_int_equal(sl_output_offset(output), 2);
    assert_fine(sl_output_finish(output));
    assert_memory_equal(buf.data, "abcd", 4);
    assert_fine(sl_output_to_buf(&buf, &output));
    assert_fine(sl_output_write(output, "ef", 2));
    sl_output_abort(output);
    assert_int_equal(buf.len, 4);
    sl_buf_free(&buf);
}

/* The file of a late output; context: its path, NULL: it cannot be made. */
static sl_status make_late(void *context, sl_output **out)
{
    return context ? sl_storage_create(local, context, out) : sl_io("no file");
}

static void test_late_output(void **state)
{
    (void)state;
    static const struct {
        const char *writes[2];
        bool aborts;
        const char *content; /* NULL: no file */
    } cases[] = {{{"ab", "cd"}, false, "abcd"},
                 {{"ab", "cd"}, true, NULL},
                 {{"", ""}, false, NULL},
                 {{"", ""}, true, NULL}};
    char path[256];
    snprintf(path, sizeof path, "%s", in_root("late"));
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        sl_output *output;
        bool exists;
        assert_fine(sl_output_late(path, make_late, path, &output));
        assert_string_equal(sl_output_path(output), path);
        for (size_t i = 0; i < 2; i++) {
            assert_fine(sl_storage_exists(local, path, &exists));
            assert_int_equal(exists, sl_output_offset(output) > 0);
            assert_fine(sl_output_write(output, cases[c].writes[i], strlen(cases[c].writes[i])));
        }
        if (cases[c].aborts)
            sl_output_abort(output);
        else
            assert_fine(sl_output_finish(output));
        assert_fine(sl_storage_exists(local, path, &exists));
        assert_int_equal(exists, cases[c].content != NULL);
        if (cases[c].content)
            assert_content(path, cases[c].content);
        assert_fine(sl_storage_delete(local, path));
    }
    sl_output *output;
    assert_fine(sl_output_late(path, make_late, NULL, &output));
    assert_code(sl_output_write(output, "x", 1), SL_E_IO);
    sl_output_abort(output);
}

/* ---- appearing at once --------------------------------------------------------------------------------- */

/* A commit that is told to have failed is not there: once the name is taken no memory may be needed. */
static void test_create_without_memory(void **state)
{
    (void)state;
    bool made = false;
    for (uint64_t n = 1; !made; n++) {
        const char *path = in_root("short_of_memory");
        bool exists;
        sl_test_fail_allocation(n, true);
        sl_status status = sl_storage_create_if_absent(local, path, "first", 5);
        sl_test_fail_allocation(0, false);
        assert_fine(sl_storage_exists(local, path, &exists));
        made = status == SL_OK;
        assert_int_equal(exists, made);
        sl_status_free(status);
    }
    assert_fine(sl_storage_delete(local, in_root("short_of_memory")));
}

static void test_create_if_absent(void **state)
{
    (void)state;
    const char *path = in_root("commits/deep/1.commit");
    assert_fine(sl_storage_create_if_absent(local, path, "first", 5));
    assert_code(sl_storage_create_if_absent(local, path, "second", 6), SL_E_EXISTS);
    assert_content(path, "first");
    assert_fine(sl_storage_create_if_absent(local, in_root("commits/deep/empty"), NULL, 0));
    assert_content(in_root("commits/deep/empty"), "");
    assert_int_equal(count_entries(in_root("commits/deep")), 2); /* no temporary file is left */
}

/* The folders and files below `root` that were synced since it was emptied, one a line; NULL: nobody wants to know. */
static char *synced;
#define SYNCED_BYTES 4096

/* Takes the place of the system's. */
int fsync(int fd)
{
    char link[64], target[1024] = "";
    if (!synced)
        return fdatasync(fd);
    size_t used = strlen(synced);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    assert_true(readlink(link, target, sizeof target - 1) > 0);
    const char *folder = strrchr(root, '/'), *below = strstr(target, folder);
    assert_non_null(below);
    snprintf(synced + used, SYNCED_BYTES - used, "%s\n", below + strlen(folder) + 1);
    return 0;
}

static void assert_synced(const char *names)
{
    assert_string_equal(synced, names);
    *synced = 0;
}

/* What is durable when, with folders that are there since another one is just making them. */
static void test_empty_files_are_durable(void **state)
{
    (void)state;
    char one[1000], two[1000], top[1000], notes[SYNCED_BYTES] = "";
    char *const first[] = {one}, *const second[] = {two};
    snprintf(one, sizeof one, "%s", in_root("top/a/b/one"));
    snprintf(two, sizeof two, "%s", in_root("top/a/b/two"));
    snprintf(top, sizeof top, "%s", in_root("top"));
    assert_int_equal(mkdir(top, 0777) | mkdir(in_root("top/a"), 0777), 0);
    synced = notes;
    assert_fine(sl_storage_create_empty(local, first, 1, NULL)); /* makes b */
    assert_synced("top/a\ntop/a/b\n");
    assert_fine(sl_storage_create_empty(local, second, 1, NULL));
    assert_synced("top/a/b\n");
    assert_fine(sl_storage_delete(local, one));
    assert_fine(sl_storage_create_empty(local, first, 1, top));
    assert_synced("top\ntop/a\ntop/a/b\n");
    synced = NULL;
}

static void test_create_empty(void **state)
{
    (void)state;
    char one[1000], two[1000], other[1000];
    snprintf(one, sizeof one, "%s", in_root("markers/a/b/one"));
    snprintf(two, sizeof two, "%s", in_root("markers/a/b/two"));
    snprintf(other, sizeof other, "%s", in_root("markers/c/other"));
    char *const paths[] = {one, two, other}, *const again[] = {other};
    assert_fine(sl_storage_create_empty(local, paths, 3, NULL));
    for (int i = 0; i < 3; i++)
        assert_content(paths[i], "");
    assert_code(sl_storage_create_empty(local, again, 1, NULL), SL_E_EXISTS);
    assert_fine(sl_storage_create_empty(local, paths, 0, NULL));
}

/* So many that they are made at the same time; one that is there is found among them. */
static void test_create_many_empty(void **state)
{
    (void)state;
    enum { FILES = 60 };
    static char names[FILES][1000];
    char *paths[FILES], top[1000];
    for (int i = 0; i < FILES; i++) {
        char name[50];
        snprintf(name, sizeof name, "many/%d/%d/file%d", i % 3, i % 15, i);
        snprintf(names[i], sizeof names[i], "%s", in_root(name));
        paths[i] = names[i];
    }
    snprintf(top, sizeof top, "%s", in_root("many"));
    assert_fine(sl_storage_create_empty(local, paths, FILES, top));
    for (int i = 0; i < FILES; i++) {
        assert_content(paths[i], "");
        if (i != 33)
            assert_fine(sl_storage_delete(local, paths[i]));
    }
    assert_code(sl_storage_create_empty(local, paths, FILES, top), SL_E_EXISTS);
}

static void test_replace(void **state)
{
    (void)state;
    const char *path = in_root("replaced/file");
    write_file(path, "one");
    write_file(in_root("replaced/.file.crc"), "stale");
    write_file(path, "two");
    assert_content(path, "two");
    assert_int_equal(count_entries(in_root("replaced")), 1);
    assert_code(sl_storage_replace(local, root, "x", 1), SL_E_IO); /* a folder is not replaced */
}

/* Runs in a child: its exit status says how it went. */
static int compete(const char *path, int number, int start_fd)
{
    char go, content[32];
    if (read(start_fd, &go, 1) != 0) /* ends when the parent closes its side: all begin together */
        return 3;
    int len = snprintf(content, sizeof content, "process %d", number);
    sl_status status = sl_storage_create_if_absent(local, path, content, (size_t)len);
    return !status ? 0 : sl_status_code(status) == SL_E_EXISTS ? 1 : 2;
}

static void test_one_process_wins(void **state)
{
    (void)state;
    enum { PROCESSES = 6, ROUNDS = 10 };
    for (int round = 0; round < ROUNDS; round++) {
        char name[64], expected[32] = "";
        snprintf(name, sizeof name, "race/%d", round);
        const char *path = in_root(name);
        int start[2];
        pid_t children[PROCESSES];
        assert_int_equal(pipe(start), 0);
        for (int i = 0; i < PROCESSES; i++) {
            children[i] = fork();
            assert_true(children[i] >= 0);
            if (children[i] == 0) {
                close(start[1]);
                _exit(compete(path, i, start[0]));
            }
        }
        close(start[0]);
        close(start[1]);
        int winners = 0;
        for (int i = 0; i < PROCESSES; i++) {
            int result;
            assert_int_equal(waitpid(children[i], &result, 0), children[i]);
            assert_true(WIFEXITED(result) && WEXITSTATUS(result) <= 1);
            if (WEXITSTATUS(result) == 0) {
                winners++;
                snprintf(expected, sizeof expected, "process %d", i);
            }
        }
        assert_int_equal(winners, 1);
        assert_content(path, expected);
    }
    assert_int_equal(count_entries(in_root("race")), ROUNDS);
}

struct contest {
    const char *path;
    atomic_int winners;
};

static sl_status create_same(void *context, size_t index)
{
    (void)index;
    struct contest *contest = context;
    sl_status status = sl_storage_create_if_absent(local, contest->path, "x", 1);
    if (!status)
        atomic_fetch_add(&contest->winners, 1);
    else if (sl_status_code(status) != SL_E_EXISTS)
        return status;
    sl_status_free(status);
    return SL_OK;
}

static void test_exclusive_rename(void **state)
{
    (void)state;
    write_file(in_root("rename/a"), "a");
    write_file(in_root("rename/b"), "b");
    assert_int_not_equal(local_rename_exclusive(in_root("rename/a"), in_root("rename/b")), 0);
    assert_content(in_root("rename/b"), "b");
    assert_int_equal(local_rename_exclusive(in_root("rename/a"), in_root("rename/c")), 0);
    assert_content(in_root("rename/c"), "a");
}

/* ---- folders ------------------------------------------------------------------------------------------- */

static void test_make_dir(void **state)
{
    (void)state;
    sl_entry entry;
    assert_fine(sl_storage_make_dir(local, in_root("m/a//b/")));
    assert_fine(sl_storage_make_dir(local, in_root("m/a/b")));
    assert_fine(sl_storage_stat(local, in_root("m/a/b"), &entry));
    assert_true(entry.is_dir);
    write_file(in_root("m/file"), "x");
    assert_code(sl_storage_make_dir(local, in_root("m/file")), SL_E_IO);
    assert_true(sl_status_ignore(sl_storage_make_dir(local, in_root("m/file/below"))));
}

static void test_list_and_stat(void **state)
{
    (void)state;
    sl_listing listing;
    sl_entry entry;
    assert_code(sl_storage_list(local, in_root("l"), &listing), SL_E_NOT_FOUND);
    assert_fine(sl_storage_make_dir(local, in_root("l/dir")));
    assert_fine(sl_storage_list(local, in_root("l/dir"), &listing));
    assert_int_equal(listing.count, 0);
    sl_listing_free(&listing);
    for (int i = 0; i < 50; i++) {
        char name[32];
        snprintf(name, sizeof name, "l/f%02d", 49 - i);
        write_file(in_root(name), "xyz");
    }
    write_file(in_root("l/\xC3\xA4"), "");
    write_file(in_root("l/.hidden"), "");
    assert_int_equal(symlink("nowhere", in_root("l/dangling")), 0);
    assert_fine(sl_storage_list(local, in_root("l"), &listing));
    assert_int_equal(listing.count, 53);
    assert_string_equal(listing.entries[0].name, ".hidden");
    assert_string_equal(listing.entries[1].name, "dir");
    assert_true(listing.entries[1].is_dir);
    assert_string_equal(listing.entries[2].name, "f00");
    assert_int_equal(listing.entries[2].size, 3);
    assert_in_range(listing.entries[2].modified_ms, sl_now_ms() - 600000, sl_now_ms() + 1000);
    assert_string_equal(listing.entries[52].name, "\xC3\xA4");
    sl_listing_free(&listing);
    assert_code(sl_storage_list(local, in_root("l/f00"), &listing), SL_E_NOT_FOUND);
    assert_code(sl_storage_stat(local, in_root("l/none"), &entry), SL_E_NOT_FOUND);
    assert_fine(sl_storage_stat(local, in_root("l/f01"), &entry));
    assert_null(entry.name);
    assert_int_equal(entry.size, 3);
    assert_true(is_there(in_root("l/f01")));
    assert_false(is_there(in_root("l/none")));
    bool exists;
    assert_int_equal(symlink("loop", in_root("l/loop")), 0); /* what cannot be looked at is not "absent" */
    assert_code(sl_storage_exists(local, in_root("l/loop"), &exists), SL_E_IO);
    assert_int_equal(unlink(in_root("l/loop")), 0);
}

static void test_delete(void **state)
{
    (void)state;
    write_file(in_root("d/.file.crc"), "checksum");
    write_file(in_root("d/.other.crc"), "checksum");
    write_file(in_root("d/file"), "x");
    write_file(in_root("d/.file.crc"), "checksum");
    assert_fine(sl_storage_delete(local, in_root("d/file")));
    assert_int_equal(count_entries(in_root("d")), 1);
    assert_fine(sl_storage_delete(local, in_root("d/file")));
    assert_fine(sl_storage_delete(local, in_root("d/none/at/all")));
    assert_code(sl_storage_delete(local, in_root("d")), SL_E_IO);
}

static void test_stale_checksum_files_go(void **state)
{
    (void)state;
    write_file(in_root("crc/.a.crc"), "stale");
    write_file(in_root("crc/.b.crc"), "stale");
    sl_output *output;
    assert_fine(sl_storage_create(local, in_root("crc/a"), &output));
    assert_fine(sl_output_finish(output));
    assert_fine(sl_storage_create_if_absent(local, in_root("crc/b"), "x", 1));
    assert_int_equal(count_entries(in_root("crc")), 2);
}

static void test_delete_tree(void **state)
{
    (void)state;
    write_file(in_root("kept/file"), "kept");
    write_file(in_root("t/a/b/c/file"), "x");
    write_file(in_root("t/file"), "x");
    assert_int_equal(symlink("../kept", in_root("t/link")), 0);
    assert_fine(sl_storage_delete_tree(local, in_root("t")));
    assert_false(is_there(in_root("t")));
    assert_content(in_root("kept/file"), "kept"); /* links are not followed */
    assert_fine(sl_storage_delete_tree(local, in_root("t")));
    assert_fine(sl_storage_delete_tree(local, in_root("kept/file")));
    assert_int_equal(count_entries(in_root("kept")), 0);
}

/* ---- failures of the system ---------------------------------------------------------------------------- */

static void test_full_disk(void **state)
{
    (void)state;
    int fd = open("/dev/full", O_WRONLY);
    assert_true(fd >= 0);
    sl_status status = local_write_fully(fd, "/dev/full", "x", 1);
    assert_non_null(strstr(sl_status_message(status), "/dev/full: cannot write: No space left"));
    assert_code(status, SL_E_IO);
    close(fd);
}

static void test_errors_name_the_path(void **state)
{
    (void)state;
    char name[400];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    sl_status status = sl_storage_create_if_absent(local, in_root(name), "x", 1);
    assert_non_null(strstr(sl_status_message(status), "too long"));
    assert_non_null(strstr(sl_status_message(status), root));
    assert_code(status, SL_E_IO);
    /* proc: not writable, not even for root */
    sl_output *output;
    assert_true(sl_status_ignore(sl_storage_create(local, "/proc/sluice-test/x", &output)));
}

/* All calls of the interface once. Ends at the first failure; the work folder may be in any state then. */
static sl_status use_everything(sl_storage *storage, const char *folder)
{
    sl_status status = SL_OK;
    char *a = NULL, *b = NULL;
    sl_output *output = NULL;
    sl_file *file = NULL;
    sl_buf buf = {0};
    sl_listing listing = {0};
    sl_entry entry;
    uint8_t byte;
    SL_GO(sl_path_join(folder, "sub/a", &a));
    SL_GO(sl_path_join(folder, "sub/b", &b));
    SL_GO(sl_storage_make_dir(storage, folder));
    SL_GO(sl_storage_create(storage, a, &output));
    status = sl_output_write(output, "0123456789", 10);
    if (status) {
        sl_output_abort(output);
        goto done;
    }
    SL_GO(sl_output_finish(output));
    SL_GO(sl_storage_create_if_absent(storage, b, "0123456789", 10));
    SL_GO(sl_storage_replace(storage, a, "abcdefghij", 10));
    SL_GO(sl_storage_read_all(storage, a, 100, &buf));
    SL_GO(sl_storage_open(storage, b, &file));
    SL_GO(sl_file_read_at(file, 1, &byte, 1));
    SL_GO(sl_storage_list(storage, folder, &listing));
    SL_GO(sl_storage_stat(storage, b, &entry));
    SL_GO(sl_storage_delete(storage, b));
    SL_GO(sl_storage_delete_tree(storage, folder));
done:
    sl_listing_free(&listing);
    sl_file_close(file);
    sl_buf_free(&buf);
    sl_free(b);
    sl_free(a);
    return status;
}

static int open_files(void)
{
    int count = 0;
    for (int fd = 0; fd < 200; fd++)
        count += fcntl(fd, F_GETFD) != -1;
    return count;
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    int before = open_files();
    uint64_t n = 1;
    for (;; n++) {
        sl_test_fail_allocation(n, false);
        sl_status status = use_everything(local, in_root("memory"));
        sl_test_fail_allocation(0, false);
        if (!status)
            break;
        assert_code(status, SL_E_MEMORY);
        assert_int_equal(open_files(), before);
        assert_fine(sl_storage_delete_tree(local, in_root("memory")));
        assert_true(n < 1000);
    }
    assert_true(n > 20);
}

/* ---- injected faults ----------------------------------------------------------------------------------- */

static sl_storage *faulty_storage(enum sl_fault_kind kind, uint64_t n)
{
    sl_storage *inner, *faulty;
    assert_fine(sl_storage_local(&inner));
    assert_fine(sl_storage_faulty(inner, kind, n, &faulty));
    return faulty;
}

static void test_faults_only_count_without_n(void **state)
{
    (void)state;
    sl_storage *faulty = faulty_storage(SL_FAULT_EXIT_BEFORE, 0);
    assert_fine(use_everything(faulty, in_root("count")));
    /* make_dir, create, write, finish, create_if_absent, replace, delete, delete_tree */
    assert_int_equal(sl_storage_fault_calls(faulty), 8);
    sl_storage_free(faulty);
    faulty = faulty_storage(SL_FAULT_ERROR, 0);
    assert_fine(use_everything(faulty, in_root("count")));
    /* ... and open + read twice, list, stat */
    assert_int_equal(sl_storage_fault_calls(faulty), 14);
    sl_storage_free(faulty);
}

static void test_injected_errors_pass(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 14; n++) {
        sl_storage *faulty = faulty_storage(SL_FAULT_ERROR, n);
        sl_status status = use_everything(faulty, in_root("error"));
        assert_non_null(strstr(sl_status_message(status), "injected"));
        assert_code(status, SL_E_IO);
        assert_fine(sl_storage_delete_tree(local, in_root("error")));
        assert_fine(use_everything(faulty, in_root("error"))); /* works again */
        sl_storage_free(faulty);
    }
}

static void test_injected_full_disk_stays_full(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 8; n++) {
        sl_storage *faulty = faulty_storage(SL_FAULT_FULL_DISK, n);
        sl_status status = use_everything(faulty, in_root("full"));
        assert_non_null(strstr(sl_status_message(status), "no space left"));
        assert_code(status, SL_E_IO);
        assert_code(sl_storage_replace(faulty, in_root("full/x"), "x", 1), SL_E_IO);
        assert_fine(sl_storage_delete_tree(faulty, in_root("full"))); /* deleting helps */
        sl_storage_free(faulty);
    }
}

/* Runs everything in a child with a fault at call n; returns its exit status. */
static int run_in_child(enum sl_fault_kind kind, uint64_t n)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(sl_status_ignore(use_everything(faulty_storage(kind, n), in_root("exit"))) ? 1 : 0);
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result));
    return WEXITSTATUS(result);
}

static void test_injected_exits(void **state)
{
    (void)state;
    for (int kind = SL_FAULT_EXIT_BEFORE; kind <= SL_FAULT_EXIT_TORN; kind++) {
        for (uint64_t n = 1; n <= 8; n++) {
            assert_int_equal(run_in_child((enum sl_fault_kind)kind, n), SL_FAULT_EXIT_STATUS);
            bool has_b = n == 6 || n == 7; /* committed by call 5, deleted by call 7 */
            assert_int_equal(is_there(in_root("exit/sub/b")), has_b);
            if (has_b)
                assert_content(in_root("exit/sub/b"), "0123456789");
            assert_fine(sl_storage_delete_tree(local, in_root("exit")));
        }
        assert_int_equal(run_in_child((enum sl_fault_kind)kind, 9), 0);
    }
}

static void test_torn_write(void **state)
{
    (void)state;
    assert_int_equal(run_in_child(SL_FAULT_EXIT_TORN, 3), SL_FAULT_EXIT_STATUS);
    assert_content(in_root("exit/sub/a"), "01234");
    assert_fine(sl_storage_delete_tree(local, in_root("exit")));
}

/* Calls 5 and 6: only half a temporary file remains, and what was there before. */
static void test_torn_whole_files(void **state)
{
    (void)state;
    static const struct {
        uint64_t n;
        const char *prefix, *half;
        size_t files;
    } cases[] = {{5, "b.", "01234", 2}, {6, "a.", "abcde", 3}};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(run_in_child(SL_FAULT_EXIT_TORN, cases[i].n), SL_FAULT_EXIT_STATUS);
        assert_content(in_root("exit/sub/a"), "0123456789");
        sl_listing listing;
        assert_fine(sl_storage_list(local, in_root("exit/sub"), &listing));
        assert_int_equal(listing.count, cases[i].files);
        int found = 0;
        for (size_t k = 0; k < listing.count; k++) {
            char name[300];
            if (strncmp(listing.entries[k].name, cases[i].prefix, 2) != 0)
                continue;
            assert_int_equal(strlen(listing.entries[k].name), 2 + 36);
            snprintf(name, sizeof name, "exit/sub/%s", listing.entries[k].name);
            assert_content(in_root(name), cases[i].half);
            found++;
        }
        assert_int_equal(found, 1);
        sl_listing_free(&listing);
        assert_fine(sl_storage_delete_tree(local, in_root("exit")));
    }
}

static void test_faulty_allocations_may_fail(void **state)
{
    (void)state;
    uint64_t n = 1;
    for (;; n++) {
        sl_storage *faulty = faulty_storage(SL_FAULT_ERROR, 0);
        sl_test_fail_allocation(n, false);
        sl_status status = use_everything(faulty, in_root("memory"));
        sl_test_fail_allocation(0, false);
        sl_storage_free(faulty);
        if (!status)
            break;
        assert_code(status, SL_E_MEMORY);
        assert_fine(sl_storage_delete_tree(local, in_root("memory")));
        assert_true(n < 1000);
    }
    sl_storage *inner, *faulty;
    assert_fine(sl_storage_local(&inner));
    sl_test_fail_allocation(1, false);
    assert_code(sl_storage_faulty(inner, SL_FAULT_ERROR, 1, &faulty), SL_E_MEMORY);
}

/* ---- threads and locks --------------------------------------------------------------------------------- */

static void test_one_thread_wins(void **state)
{
    (void)state;
    sl_pool *pool;
    struct contest contest = {.path = in_root("threads/one")};
    assert_fine(sl_pool_new(4, &pool));
    assert_fine(sl_pool_for(pool, 16, create_same, &contest));
    assert_int_equal(atomic_load(&contest.winners), 1);
    sl_pool_free(pool);
}

static void test_lock_excludes(void **state)
{
    (void)state;
    sl_storage_lock_handle *first, *second;
    const char *path = in_root("locks/lock");
    assert_fine(sl_storage_lock(local, path, 0, &first));
    assert_code(sl_storage_lock(local, path, 50, &second), SL_E_BUSY);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(sl_status_code(sl_storage_lock(local, path, 50, &second)) == SL_E_BUSY ? 0 : 1);
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 0);
    sl_storage_unlock(first);
    assert_fine(sl_storage_lock(local, path, 0, &second));
    sl_storage_unlock(second);
    sl_storage_unlock(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uris),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_output_then_read),
        cmocka_unit_test(test_aborted_output_leaves_nothing),
        cmocka_unit_test(test_reading_what_is_no_file),
        cmocka_unit_test(test_read_all_is_bounded),
        cmocka_unit_test(test_late_output),
        cmocka_unit_test(test_files_of_memory),
        cmocka_unit_test(test_create_if_absent),
        cmocka_unit_test(test_create_without_memory),
        cmocka_unit_test(test_create_empty),
        cmocka_unit_test(test_create_many_empty),
        cmocka_unit_test(test_empty_files_are_durable),
        cmocka_unit_test(test_replace),
        cmocka_unit_test(test_one_process_wins),
        cmocka_unit_test(test_exclusive_rename),
        cmocka_unit_test(test_make_dir),
        cmocka_unit_test(test_list_and_stat),
        cmocka_unit_test(test_delete),
        cmocka_unit_test(test_stale_checksum_files_go),
        cmocka_unit_test(test_delete_tree),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_errors_name_the_path),
        cmocka_unit_test(test_every_allocation_may_fail),
        cmocka_unit_test(test_faults_only_count_without_n),
        cmocka_unit_test(test_injected_errors_pass),
        cmocka_unit_test(test_injected_full_disk_stays_full),
        cmocka_unit_test(test_injected_exits),
        cmocka_unit_test(test_torn_write),
        cmocka_unit_test(test_torn_whole_files),
        cmocka_unit_test(test_faulty_allocations_may_fail),
        cmocka_unit_test(test_one_thread_wins),
        cmocka_unit_test(test_lock_excludes),
    };
    return cmocka_run_group_tests_name("storage", tests, setup, teardown);
}
