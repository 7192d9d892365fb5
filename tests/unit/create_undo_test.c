/* Taking back a table that was made for a write that failed: what was there before is there again, what somebody else did stays. */
#include "table_support.h"
#include <sys/stat.h>
#include <sys/wait.h>

static const char *const properties[][2] = {{"hoodie.table.recordkey.fields", "k"},
                                            {"hoodie.table.partition.fields", "p"}};
static const struct sl_txn_options commit = {.action = SL_ACTION_COMMIT, .operation = "UPSERT"};

/* A table at `relative` in a new folder; *made as sl_table_create_for says. */
static struct test_table made_for(const char *relative, bool has_partitions, const char *file_before,
                                  char *root, char **made)
{
    struct test_table t = {"", NULL};
    struct sl_create_options options = {.name = "t1"};
    scratch_make(root, sizeof t.root);
    snprintf(t.root, sizeof t.root, "%.400s/%s", root, relative);
    if (file_before)
        put_text(&t, file_before, "");
    OK(sl_schema_parse("k string, p string", &options.schema));
    for (size_t i = 0; i < (has_partitions ? 2u : 1u); i++)
        OK(sl_properties_set(&options.properties, properties[i][0], properties[i][1]));
    OK(sl_table_create_for(t.root, &options, made));
    sl_type_unref(options.schema);
    sl_properties_free(&options.properties);
    open_with(&t, NULL);
    return t;
}

/* A write that made partitions and was given up. */
static void write_and_fail(const struct test_table *t, bool has_partitions)
{
    static const char *const paths[] = {"", "a/b", "a/c"};
    sl_txn *txn;
    OK(sl_txn_begin(t->table, &commit, &txn));
    for (size_t i = has_partitions; i < (has_partitions ? 3u : 1u); i++)
        OK(partition_make(t->table, paths[i], sl_txn_instant(txn)));
    sl_txn_abort(txn);
    assert_true(
        there_is(t, has_partitions ? "a/b/.hoodie_partition_metadata" : ".hoodie_partition_metadata"));
}

static bool undo(const struct test_table *t, char *made)
{
    bool gone;
    OK(sl_table_create_undo(t->root, made, &gone));
    sl_free(made);
    return gone;
}

static void folders_are_as_before(void **state)
{
    (void)state;
    static const struct {
        const char *table;
        bool has_partitions;
        const char *file_before; /* in the table's folder; NULL: there is no such folder */
        const char *left;        /* in the folder around it, or in the table's */
    } cases[] = {{"t", true, NULL, ""},
                 {"x/y/t", true, NULL, ""},
                 {"t", true, "mine", "mine"},
                 {"t", true, "a/b/mine", "a/"},
                 {"x/y/t", false, NULL, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char root[512], *made;
        struct test_table t =
            made_for(cases[i].table, cases[i].has_partitions, cases[i].file_before, root, &made);
        struct test_table around = t;
        write_and_fail(&t, cases[i].has_partitions);
        assert_true(undo(&t, made));
        if (!cases[i].file_before)
            snprintf(around.root, sizeof around.root, "%.500s", root);
        assert_string_equal(names_in(&around, ""), cases[i].left);
        sl_table_close(t.table);
        scratch_remove(root);
    }
}

static void what_others_wrote_stays(void **state)
{
    (void)state;
    char root[512], *made;
    struct test_table t = made_for("t", true, NULL, root, &made);
    sl_txn *txn;
    write_and_fail(&t, true);
    OK(sl_txn_begin(t.table, &commit, &txn)); /* somebody is writing */
    assert_false(undo(&t, sl_strdup(made)));
    OK(sl_txn_commit(txn, "{\"type\":\"record\",\"name\":\"r\",\"fields\":[]}", NULL));
    assert_false(undo(&t, made)); /* somebody wrote */
    assert_true(there_is(&t, ".hoodie/hoodie.properties"));
    sl_table_close(t.table);
    scratch_remove(root);
}

/* Whether a process has opened the file: then it waits for its lock. */
static bool has_open(pid_t process, const char *file)
{
    struct stat wanted, found;
    assert_int_equal(stat(file, &wanted), 0);
    for (int fd = 0; fd < 64; fd++) {
        char link[64];
        snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)process, fd);
        if (stat(link, &found) == 0 && found.st_dev == wanted.st_dev && found.st_ino == wanted.st_ino)
            return true;
    }
    return false;
}

/* A writer that waits for a lock in the folder that goes away: it must not take the lock of a removed file for one. */
static void who_waits_for_the_table_finds_none(void **state)
{
    (void)state;
    char root[512], *made, path[600];
    struct test_table t = made_for("t", true, NULL, root, &made);
    int go[2];
    assert_int_equal(pipe(go), 0);
    pid_t child = fork(); /* before the lock is taken: a child inherits locks */
    assert_true(child >= 0);
    if (!child) {
        char byte;
        sl_txn *txn;
        if (read(go[0], &byte, 1) != 1)
            _exit(2);
        sl_status status = sl_txn_begin(t.table, &commit, &txn);
        _exit(sl_status_code(status) == SL_E_CONFLICT && !there_is(&t, ".hoodie") ? 0 : 1);
    }
    sl_storage_lock_handle *lock;
    snprintf(path, sizeof path, "%s/.hoodie/.locks/sluice.writer.lock", t.root);
    OK(sl_storage_lock(t.table->storage, path, 0, &lock));
    assert_int_equal(write(go[1], "", 1), 1);
    int code;
    while (!has_open(child, path)) {
        assert_int_equal(waitpid(child, &code, WNOHANG), 0);
        sl_sleep_ms(1);
    }
    snprintf(path, sizeof path, "%s/.hoodie", t.root);
    OK(sl_storage_delete_tree(t.table->storage, path));
    sl_storage_unlock(lock);
    close(go[0]);
    close(go[1]);
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
    sl_free(made);
    sl_table_close(t.table);
    scratch_remove(root);
}

static void a_create_that_fails_leaves_no_folder(void **state)
{
    (void)state;
    struct test_table t = {"", NULL};
    char root[512];
    struct sl_create_options options = {.name = "t1"};
    scratch_make(root, sizeof root);
    snprintf(t.root, sizeof t.root, "%.400s/x/t", root);
    OK(sl_schema_parse("k string", &options.schema));
    OK(sl_properties_set(&options.properties, "hoodie.table.recordkey.fields", "k"));
    for (uint64_t nth = 1;; nth++) {
        sl_test_fail_allocation(nth, false);
        sl_status status = sl_table_create(t.root, &options);
        sl_test_fail_allocation(0, false);
        if (!status)
            break;
        assert_int_equal(sl_status_code(status), SL_E_MEMORY);
        sl_status_free(status);
        struct stat found;
        char above[512];
        snprintf(above, sizeof above, "%.400s/x", root);
        if (stat(above, &found) == 0)
            fail_msg("allocation %d: %s is there", (int)nth, above);
    }
    sl_type_unref(options.schema);
    sl_properties_free(&options.properties);
    scratch_remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders_are_as_before),
        cmocka_unit_test(what_others_wrote_stays),
        cmocka_unit_test(who_waits_for_the_table_finds_none),
        cmocka_unit_test(a_create_that_fails_leaves_no_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
