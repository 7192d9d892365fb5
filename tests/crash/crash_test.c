/*
 * Every operation is stopped at every step. A storage that strikes at the n-th call stands under the table
 * (storage.h, "faults"): n = 1, 2, 3, ... until the operation gets through.
 *
 *   death    the process ends before the n-th change, or in the middle of it
 *   error    the n-th call fails, or the disk is full from the n-th change on
 *   memory   the n-th allocation fails, or all from the n-th on
 *
 * After each: a reader finds the table before or after the operation and nothing between; the next write succeeds; after it
 * nothing is left behind: no pending instant, no marker, no data file that no completed instant names. Where changes are kept
 * they lead from base file to base file.
 *
 * SL_TEST_QUICK=1 looks at every seventh n, SL_TEST_LONG=1 at more of the allocations.
 */
#include "engine_support.h"

#include "changes_support.h"
#include "service/service.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char root[200];
static int stride = 1;
static char stop[1500]; /* where the operation was stopped last; printed when a test fails */

/* ---- tables and their rows ---------------------------------------------------------------------------------- */

static const sl_type *row_schema(void)
{
    const sl_type *type;
    ok(sl_schema_parse("id long not null, p string not null, ts long not null, v string", &type));
    return type;
}

/* Rows from .. to-1 of one partition. */
static sl_batch *make_rows(const char *partition, int from, int to, int ts, const char *v)
{
    const sl_type *schema = row_schema();
    sl_batch_builder b = {0};
    sl_batch *batch;
    ok(sl_batch_builder_init(&b, schema));
    for (int i = from; i < to; i++) {
        ok(sl_builder_integer(b.columns[0], i));
        ok(sl_builder_bytes(b.columns[1], partition, strlen(partition)));
        ok(sl_builder_integer(b.columns[2], ts));
        ok(sl_builder_bytes(b.columns[3], v, strlen(v)));
    }
    ok(sl_batch_builder_finish(&b, &batch));
    sl_batch_builder_free(&b);
    sl_type_unref(schema);
    return batch;
}

static sl_status write_rows(sl_table *t, enum sl_operation operation, const char *partition, int from, int to,
                            int ts, const char *v)
{
    struct sl_write_result result;
    sl_writer *w = NULL;
    sl_batch *batch = make_rows(partition, from, to, ts, v);
    sl_status status = sl_writer_open(t, operation, batch->schema, &w);
    if (!status)
        status = sl_writer_append(w, batch);
    if (!status)
        status = sl_writer_commit(w, &result);
    sl_writer_close(w);
    sl_batch_unref(batch);
    return status;
}

/* `changes`: what the table keeps of them, NULL: nothing; then copy-on-write has the lsm_tree layout too. */
static void create_start(const char *path, bool lsm, bool simple_index, const char *changes)
{
    const char *const *options =
        lsm_options("id", PAIRS("hoodie.table.partition.fields", "p", "hoodie.table.ordering.fields", "ts",
                                "hoodie.bucket.index.num.buckets", "2", "hoodie.table.storage.layout",
                                lsm || changes ? "lsm_tree" : "default", "hoodie.table.type",
                                lsm ? "MERGE_ON_READ" : "COPY_ON_WRITE", "hoodie.table.cdc.enabled",
                                changes ? "true" : "false", "hoodie.table.cdc.supplemental.logging.mode",
                                changes ? changes : "data_before_after", "hoodie.index.type",
                                simple_index ? "SIMPLE" : "BUCKET"));
    const sl_type *schema = row_schema();
    create_table(path, schema, options);
    sl_type_unref(schema);
}

static sl_table *open_plain(const char *path, const sl_properties *options)
{
    sl_table *t;
    ok(sl_table_open(path, options, NULL, &t));
    return t;
}

static sl_status open_faulty(const char *path, enum sl_fault_kind kind, uint64_t n,
                             const sl_properties *options, sl_storage **storage, sl_table **out)
{
    sl_storage *local;
    ok(sl_storage_local(&local));
    ok(sl_storage_faulty(local, kind, n, storage));
    return sl_table_open_on(*storage, path, options, NULL, out);
}

static char *rows_of(const char *path)
{
    static const char *const columns[] = {"id", "p", "ts", "v"};
    sluice_table *t;
    sluice_error e;
    char *rows = NULL;
    OK(sluice_table_open(path, NULL, &t, &e));
    OK(read_rows(t, &(struct query){.columns = columns, .column_count = 4}, &rows, &e));
    sluice_table_close(t);
    return rows;
}

/* ---- folders ------------------------------------------------------------------------------------------------ */

static void copy_file(const char *from, const char *to)
{
    char buffer[16384];
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0666);
    assert_true(in >= 0 && out >= 0);
    for (ssize_t n; (n = read(in, buffer, sizeof buffer)) > 0;)
        assert_int_equal(write(out, buffer, (size_t)n), n);
    close(in);
    close(out);
}

static void copy_tree(const char *from, const char *to)
{
    DIR *folder = opendir(from);
    assert_non_null(folder);
    assert_int_equal(mkdir(to, 0777), 0);
    for (struct dirent *d; (d = readdir(folder));) {
        char a[600], b[600];
        struct stat info;
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
            continue;
        snprintf(a, sizeof a, "%s/%.200s", from, d->d_name);
        snprintf(b, sizeof b, "%s/%.200s", to, d->d_name);
        assert_int_equal(stat(a, &info), 0);
        if (S_ISDIR(info.st_mode))
            copy_tree(a, b);
        else
            copy_file(a, b);
    }
    closedir(folder);
}

/* A fresh copy of `from` named `name` below the test's folder. */
static void fresh_copy(const char *from, const char *name, char *out, size_t bytes)
{
    snprintf(out, bytes, "%s/%s", root, name);
    remove_folder(out);
    copy_tree(from, out);
}

/* ---- what must not be left ---------------------------------------------------------------------------------- */

/* Paths of all files that completed writes name. */
static void collect_named(const sl_table *t, const sl_timeline *timeline, sl_strings *named)
{
    for (size_t i = 0; i < timeline->count; i++) {
        json_t *commit, *stats, *stat;
        const char *partition;
        size_t k;
        if (timeline->instants[i].state != SL_COMPLETED || !sl_action_writes(timeline->instants[i].action))
            continue;
        ok(sl_instant_json(t, &timeline->instants[i], SL_COMPLETED, &commit));
        json_object_foreach(json_object_get(commit, "partitionToWriteStats"), partition, stats)
            json_array_foreach(stats, k, stat)
        {
            json_t *bytes;
            const char *log;
            ok(sl_strings_add(named, json_string_value(json_object_get(stat, "path"))));
            json_object_foreach(json_object_get(stat, "cdcStats"), log, bytes) ok(sl_strings_add(named, log));
        }
        json_decref(commit);
    }
}

static void check_data_files(const sl_table *t, const sl_timeline *timeline)
{
    sl_strings named = {0}, partitions = {0};
    collect_named(t, timeline, &named);
    ok(sl_partitions_list(t, &partitions));
    size_t found = 0;
    for (size_t p = 0; p < partitions.count; p++) {
        char *folder, relative[400];
        sl_listing listing;
        ok(sl_table_path(t, partitions.items[p], &folder));
        ok(sl_storage_list(t->storage, folder, &listing));
        for (size_t i = 0; i < listing.count; i++) {
            struct sl_file_name parts;
            sl_file_name_parse(listing.entries[i].name, &parts);
            if (listing.entries[i].name[0] == '.' && parts.kind == SL_FILE_OTHER)
                continue;
            snprintf(relative, sizeof relative, "%s/%s", partitions.items[p], listing.entries[i].name);
            if (!sl_strings_contain(&named, relative))
                fail_msg("%s is named by no completed instant", relative);
            found++;
        }
        sl_listing_free(&listing);
        sl_free(folder);
    }
    if (found != named.count)
        fail_msg("completed instants name %zu files, %zu are there", named.count, found);
    sl_strings_free(&named);
    sl_strings_free(&partitions);
}

/* *waiting: a compaction of either kind waits to be executed; its output and markers may be there until then. */
static void check_leftovers(const char *path, bool *waiting)
{
    sl_table *t = open_plain(path, NULL);
    sl_timeline timeline;
    char *temp;
    sl_listing listing;
    *waiting = false;
    ok(sl_timeline_load(t, &timeline));
    for (size_t i = 0; i < timeline.count; i++) {
        if (timeline.instants[i].state == SL_COMPLETED)
            continue;
        *waiting |= sl_action_is_service(timeline.instants[i].action);
        if (!sl_action_is_service(timeline.instants[i].action))
            fail_msg("%s %s is still pending", sl_action_name(timeline.instants[i].action),
                     timeline.instants[i].requested);
    }
    if (!*waiting) {
        check_data_files(t, &timeline);
        if (sl_properties_true(&t->properties, "hoodie.table.cdc.enabled", false))
            assert_true(check_changes(t, "") > 0);
        ok(sl_table_path(t, ".hoodie/.temp", &temp));
        ok(sl_storage_list(t->storage, temp, &listing));
        if (listing.count)
            fail_msg("markers are left: %s", listing.entries[0].name);
        sl_listing_free(&listing);
        sl_free(temp);
    }
    sl_timeline_free(&timeline);
    sl_table_close(t);
}

/* ---- the operations ------------------------------------------------------------------------------------------ */

struct operation {
    const char *name;
    bool lsm;
    void (*prepare)(const char *path); /* beyond the common start; NULL: nothing */
    sl_status (*run)(sl_table *t);
    bool may_apply_on_error; /* undoing what is published has no moment before which an error leaves it all */
    bool without_metadata;   /* hoodie.metadata.enable=false */
    bool simple_index;
    const char *changes; /* what is kept of them; NULL: nothing */
    int commits; /* of a stream, which flushes between and within them; 0: one commit, or another operation */
};

/* Made once: the test's own rows need memory too. */
static sl_batch *upserted[2], *streamed[3][2];

static sl_status write_made(sl_table *t, enum sl_operation operation, int batches)
{
    struct sl_write_result result;
    sl_writer *w = NULL;
    sl_status status = sl_writer_open(t, operation, upserted[0]->schema, &w);
    for (int i = 0; i < batches && !status; i++)
        status = sl_writer_append(w, upserted[i]);
    if (!status)
        status = sl_writer_commit(w, &result);
    sl_writer_close(w);
    return status;
}

#define COMMITS_MAX 3

static int commit_limit =
    COMMITS_MAX; /* so many commits of the stream are done; less to see the table in between */

/* Flushes of the same groups in one instant, then a commit; and again. */
static sl_status stream(sl_table *t)
{
    struct sl_write_result result;
    sl_writer *w = NULL;
    sl_status status = sl_writer_open(t, SL_OP_UPSERT, streamed[0][0]->schema, &w);
    for (int c = 0; c < commit_limit && !status; c++) {
        for (int i = 0; i < 2 && !status; i++) {
            status = sl_writer_append(w, streamed[c][i]);
            if (!status && c != 1)
                status = sl_writer_flush(w);
        }
        if (!status)
            status = sl_writer_commit(w, &result);
    }
    sl_writer_close(w);
    return status;
}

static sl_status upsert(sl_table *t) { return write_made(t, SL_OP_UPSERT, 2); }
static sl_status overwrite(sl_table *t) { return write_made(t, SL_OP_INSERT_OVERWRITE, 1); }
static sl_status delete_keys(sl_table *t) { return write_rows(t, SL_OP_DELETE, "a", 2, 6, 0, ""); }
static sl_status insert_new_partition(sl_table *t)
{
    return write_rows(t, SL_OP_INSERT, "new/one", 0, 6, 5, "inserted");
}

static sl_status overwrite_table(sl_table *t)
{
    return write_rows(t, SL_OP_INSERT_OVERWRITE_TABLE, "c", 0, 4, 5, "overwritten");
}

static sl_status delete_partition(sl_table *t)
{
    struct sl_write_result result;
    return sl_delete_partitions(t, (const char *const[]){"a"}, 1, &result);
}

static sl_status schedule_of(sl_table *t, enum sl_service service)
{
    char instant[SL_INSTANT_BYTES];
    size_t operations;
    SL_TRY(sl_service_schedule(t, service, SL_SELECT_ALL, instant, &operations));
    return operations ? SL_OK : sl_internal("nothing to compact");
}

static sl_status schedule(sl_table *t) { return schedule_of(t, SL_COMPACT); }
static sl_status schedule_logs(sl_table *t) { return schedule_of(t, SL_LOG_COMPACT); }

/* What waits, of both kinds. */
static sl_status execute(sl_table *t)
{
    char instant[SL_INSTANT_BYTES];
    struct sl_write_result result;
    for (int service = SL_COMPACT; service <= SL_LOG_COMPACT; service++) {
        SL_TRY(sl_service_pending(t, (enum sl_service)service, instant));
        if (*instant)
            SL_TRY(sl_service_execute(t, (enum sl_service)service, instant, &result));
    }
    return SL_OK;
}

static sl_status upsert_with_services(sl_table *t)
{
    SL_TRY(upsert(t));
    sl_inline_services(t);
    return SL_OK;
}

/* The newest completed write; a plan that waits goes first. */
static sl_status roll_back(sl_table *t)
{
    sl_timeline timeline;
    char instant[SL_INSTANT_BYTES] = "", result[SL_INSTANT_BYTES];
    size_t files;
    SL_TRY(sl_timeline_load(t, &timeline));
    for (size_t i = 0; i < timeline.count; i++)
        if (sl_action_writes(timeline.instants[i].action))
            memcpy(instant, timeline.instants[i].requested, sizeof instant);
    sl_timeline_free(&timeline);
    return sl_rollback_instant(t, instant, result, &files);
}

static sl_status set_properties(sl_table *t)
{
    static const char *const keys[] = {"hoodie.table.added", "hoodie.table.partition.fields"};
    static const char *const values[] = {"by a test", "p"};
    sl_table_lock *lock;
    SL_TRY(sl_table_lock_take(t, &lock));
    sl_status status = sl_table_set_properties(t, keys, values, 2);
    sl_table_lock_release(lock);
    return status;
}

static void with_plan(const char *path)
{
    sl_table *t = open_plain(path, NULL);
    ok(schedule(t));
    sl_table_close(t);
}

static void with_log_plan(const char *path)
{
    sl_table *t = open_plain(path, NULL);
    ok(schedule_logs(t));
    sl_table_close(t);
}

static void with_log_plan_and_writes(const char *path)
{
    with_log_plan(path);
    sl_table *t = open_plain(path, NULL);
    ok(write_rows(t, SL_OP_UPSERT, "a", 0, 8, 1, "after the plan"));
    sl_table_close(t);
}

static void with_log_compaction(const char *path)
{
    with_log_plan(path);
    sl_table *t = open_plain(path, NULL);
    ok(execute(t));
    sl_table_close(t);
}

static void with_nested_log_plan(const char *path)
{
    with_log_compaction(path);
    sl_table *t = open_plain(path, NULL);
    ok(write_rows(t, SL_OP_UPSERT, "a", 0, 8, 1, "after the first"));
    sl_table_close(t);
    with_log_plan(path);
}

/* What a write sets off. */
static void with_setting(const char *path, const char *key)
{
    sl_table *t = open_plain(path, NULL);
    ok(sl_table_set_properties(t, (const char *const[]){key}, (const char *const[]){"true"}, 1));
    sl_table_close(t);
}

static void with_inline_compaction(const char *path) { with_setting(path, "hoodie.compact.inline"); }
static void with_inline_plans(const char *path) { with_setting(path, "hoodie.compact.schedule.inline"); }

static void with_inline_log_compaction(const char *path)
{
    sl_table *t = open_plain(path, NULL);
    ok(sl_table_set_properties(t, (const char *const[]){"sluice.compaction.policy"},
                               (const char *const[]){"hudi"}, 1));
    sl_table_close(t);
    with_setting(path, "hoodie.log.compaction.inline");
}

static void with_plan_and_writes(const char *path)
{
    with_plan(path);
    sl_table *t = open_plain(path, NULL);
    ok(write_rows(t, SL_OP_UPSERT, "a", 5, 8, 7, "after the plan"));
    sl_table_close(t);
}

static void with_compaction(const char *path)
{
    with_plan(path);
    sl_table *t = open_plain(path, NULL);
    ok(execute(t));
    sl_table_close(t);
}

/* Base files with a row group for each row, of which newer rows meet only the last ones: the others are copied. */
static void with_row_groups(const char *path, void (*rewrite)(const char *path))
{
    sl_table *t = open_plain(path, NULL);
    ok(sl_table_set_properties(t,
                               (const char *const[]){"hoodie.parquet.block.size", "sluice.parquet.page.rows"},
                               (const char *const[]){"1", "1"}, 2));
    sl_table_close(t);
    rewrite(path);
}

static void with_upsert(const char *path)
{
    sl_table *t = open_plain(path, NULL);
    ok(write_rows(t, SL_OP_UPSERT, "b", 0, 12, 2, "in row groups"));
    sl_table_close(t);
}

static void with_base_to_copy(const char *path) { with_row_groups(path, with_upsert); }

static void with_plan_to_copy(const char *path)
{
    with_row_groups(path, with_compaction);
    sl_table *t = open_plain(path, NULL);
    ok(write_rows(t, SL_OP_UPSERT, "b", 5, 7, 3, "the newest"));
    sl_table_close(t);
    with_plan(path);
}

/* A writer died half way; the operation's own clean-up is what is stopped now. */
static void with_dead_writer(const char *path, sl_status (*run)(sl_table *t), uint64_t n)
{
    pid_t child = fork();
    if (child == 0) {
        sl_storage *storage;
        sl_table *t;
        if (open_faulty(path, SL_FAULT_EXIT_BEFORE, n, NULL, &storage, &t) || run(t))
            _exit(1);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == SL_FAULT_EXIT_STATUS);
}

static void with_dead_upsert(const char *path) { with_dead_writer(path, upsert, 14); }

static void with_dead_compaction(const char *path)
{
    with_plan(path);
    with_dead_writer(path, execute, 9);
}

static void with_dead_log_compaction(const char *path)
{
    with_log_plan(path);
    with_dead_writer(path, execute, 5);
}

static void with_dead_rollback(const char *path) { with_dead_writer(path, roll_back, 4); }

/* A metadata table as far as we care: listed in the properties, and a folder. */
static void with_metadata_table(const char *path)
{
    static const char *const keys[] = {"hoodie.table.metadata.partitions"};
    static const char *const values[] = {"files"};
    char name[400];
    sl_table *t = open_plain(path, NULL);
    ok(sl_table_set_properties(t, keys, values, 1));
    snprintf(name, sizeof name, "%s/.hoodie/metadata/files", path);
    ok(sl_storage_make_dir(t->storage, name));
    snprintf(name, sizeof name, "%s/.hoodie/metadata/files/x.hfile", path);
    ok(sl_storage_create_if_absent(t->storage, name, "x", 1));
    sl_table_close(t);
}

static void with_overwrite(const char *path)
{
    sl_table *t = open_plain(path, NULL);
    ok(overwrite(t));
    sl_table_close(t);
}

static const struct operation operations[] = {
    {.name = "lsm overwrite", .lsm = true, .run = overwrite},
    {.name = "lsm overwrite beside a plan", .lsm = true, .prepare = with_plan, .run = overwrite},
    {.name = "lsm delete of a partition", .lsm = true, .run = delete_partition},
    {.name = "rollback of an overwrite",
     .lsm = true,
     .prepare = with_overwrite,
     .run = roll_back,
     .may_apply_on_error = true},
    {.name = "cow overwrite of the table", .run = overwrite_table},
    {.name = "cow delete of a partition", .run = delete_partition},
    {.name = "lsm upsert, simple index", .lsm = true, .simple_index = true, .run = upsert},
    {.name = "cow upsert, simple index", .simple_index = true, .run = upsert},
    {.name = "lsm upsert", .lsm = true, .run = upsert},
    {.name = "stream", .lsm = true, .run = stream, .commits = 1},
    {.name = "stream of commits", .lsm = true, .run = stream, .commits = 3, .may_apply_on_error = true},
    {.name = "lsm delete", .lsm = true, .run = delete_keys},
    {.name = "lsm insert into a new partition", .lsm = true, .run = insert_new_partition},
    {.name = "schedule", .lsm = true, .run = schedule},
    {.name = "compaction", .lsm = true, .prepare = with_plan, .run = execute},
    {.name = "compaction that copies", .lsm = true, .prepare = with_plan_to_copy, .run = execute},
    {.name = "compaction with newer logs", .lsm = true, .prepare = with_plan_and_writes, .run = execute},
    {.name = "compaction after a dead one", .lsm = true, .prepare = with_dead_compaction, .run = execute},
    {.name = "schedule of logs", .lsm = true, .run = schedule_logs},
    {.name = "log compaction", .lsm = true, .prepare = with_log_plan, .run = execute},
    {.name = "log compaction with newer logs",
     .lsm = true,
     .prepare = with_log_plan_and_writes,
     .run = execute},
    {.name = "log compaction after a dead one",
     .lsm = true,
     .prepare = with_dead_log_compaction,
     .run = execute},
    {.name = "log compaction of a log compaction",
     .lsm = true,
     .prepare = with_nested_log_plan,
     .run = execute},
    {.name = "rollback of a log compaction",
     .lsm = true,
     .prepare = with_log_compaction,
     .run = roll_back,
     .may_apply_on_error = true},
    {.name = "upsert with a compaction",
     .lsm = true,
     .prepare = with_inline_compaction,
     .run = upsert_with_services},
    {.name = "upsert with a log compaction",
     .lsm = true,
     .prepare = with_inline_log_compaction,
     .run = upsert_with_services},
    {.name = "upsert with plans", .lsm = true, .prepare = with_inline_plans, .run = upsert_with_services},
    {.name = "lsm upsert beside a plan", .lsm = true, .prepare = with_plan, .run = upsert},
    {.name = "lsm upsert after a dead one", .lsm = true, .prepare = with_dead_upsert, .run = upsert},
    {.name = "lsm upsert after a dead rollback", .lsm = true, .prepare = with_dead_rollback, .run = upsert},
    {.name = "schedule after a dead upsert", .lsm = true, .prepare = with_dead_upsert, .run = schedule},
    {.name = "lsm rollback", .lsm = true, .run = roll_back, .may_apply_on_error = true},
    {.name = "rollback of a plan",
     .lsm = true,
     .prepare = with_plan,
     .run = roll_back,
     .may_apply_on_error = true},
    {.name = "rollback of a dead compaction",
     .lsm = true,
     .prepare = with_dead_compaction,
     .run = roll_back,
     .may_apply_on_error = true},
    {.name = "rollback of a compaction",
     .lsm = true,
     .prepare = with_compaction,
     .run = roll_back,
     .may_apply_on_error = true},
    {.name = "properties", .lsm = true, .run = set_properties, .may_apply_on_error = true},
    {.name = "cow upsert", .run = upsert},
    {.name = "cow upsert that copies", .prepare = with_base_to_copy, .run = upsert},
    {.name = "cow upsert with changes", .changes = "data_before_after", .run = upsert},
    {.name = "cow rollback with changes",
     .changes = "op_key_only",
     .run = roll_back,
     .may_apply_on_error = true},
    {.name = "compaction with changes",
     .lsm = true,
     .changes = "data_before",
     .prepare = with_plan,
     .run = execute},
    {.name = "cow delete", .run = delete_keys},
    {.name = "cow insert into a new partition", .run = insert_new_partition},
    {.name = "cow rollback", .run = roll_back, .may_apply_on_error = true},
    {.name = "cow upsert after a dead one", .prepare = with_dead_upsert, .run = upsert},
    {.name = "cow upsert, metadata table disabled",
     .prepare = with_metadata_table,
     .run = upsert,
     .without_metadata = true},
};
#define OPERATIONS (sizeof operations / sizeof *operations)

/* ---- one stop ------------------------------------------------------------------------------------------------ */

/* An operation with its prepared table and the rows there may be. */
struct scene {
    const struct operation *operation;
    char start[260];
    char *rows[COMMITS_MAX + 1],
        *rows_next[COMMITS_MAX + 1]; /* before, after each commit; and after the next write */
    int last;                        /* the state after the operation */
    sl_properties options;
};

static void next_write(const char *path, const sl_properties *options)
{
    sl_table *t = open_plain(path, options);
    ok(write_rows(t, SL_OP_UPSERT, "b", 0, 5, 9, "the next write"));
    sl_table_close(t);
}

/* The table after so many commits of the operation. */
static void scene_look(struct scene *s, int commits)
{
    char copy[260];
    fresh_copy(s->start, "copy", copy, sizeof copy);
    if (commits > 0) {
        sl_table *t = open_plain(copy, &s->options);
        commit_limit = commits;
        ok(s->operation->run(t));
        sl_table_close(t);
    }
    s->rows[commits] = rows_of(copy);
    next_write(copy, &s->options);
    s->rows_next[commits] = rows_of(copy);
}

static void scene_open(struct scene *s, const struct operation *operation)
{
    memset(s, 0, sizeof *s);
    s->operation = operation;
    if (operation->without_metadata)
        ok(sl_properties_set(&s->options, "hoodie.metadata.enable", "false"));
    if (operation->commits)
        ok(sl_properties_set(&s->options, "sluice.flush.spill", "false"));
    snprintf(s->start, sizeof s->start, "%s/start", root);
    remove_folder(s->start);
    create_start(s->start, operation->lsm, operation->simple_index, operation->changes);
    sl_table *t = open_plain(s->start, NULL);
    if (operation->lsm)
        ok(sl_table_set_properties(t, (const char *const[]){"hoodie.log.compaction.blocks.threshold"},
                                   (const char *const[]){"2"}, 1));
    ok(write_rows(t, SL_OP_UPSERT, "a", 0, 10, 1, "first"));
    ok(write_rows(t, SL_OP_UPSERT, "b", 0, 6, 1, "first"));
    ok(write_rows(t, SL_OP_UPSERT, "a", 3, 12, 2, "second"));
    ok(write_rows(t, SL_OP_DELETE, "a", 1, 2, 0, ""));
    sl_table_close(t);
    if (operation->prepare)
        operation->prepare(s->start);
    s->last = operation->commits ? operation->commits : 1;
    for (int commits = 0; commits <= s->last; commits++)
        scene_look(s, commits);
}

static void scene_close(struct scene *s)
{
    for (int i = 0; i <= s->last; i++) {
        free(s->rows[i]);
        free(s->rows_next[i]);
    }
    sl_properties_free(&s->options);
}

static void expect_rows(const char *path, const char *expected, const char *what)
{
    char *rows = rows_of(path);
    if (strcmp(rows, expected) != 0)
        fail_msg("%s: rows differ\nexpected:\n%sfound:\n%s", what, expected, rows);
    free(rows);
}

enum outcome { OLD, NEW, EITHER };

/* Which of the scene's tables the rows are, the newest where two agree. */
static int state_of(const struct scene *s, const char *rows)
{
    for (int i = s->last; i >= 0; i--)
        if (strcmp(rows, s->rows[i]) == 0)
            return i;
    fail_msg("a table between before and after:\nbefore\n%safter\n%snow\n%s", s->rows[0], s->rows[s->last],
             rows);
    return -1;
}

/* What a reader sees now, and that the next write and a waiting compaction leave a clean table. Gives the number of commits
 * that are there. */
static int check_aftermath(const struct scene *s, const char *path, enum outcome outcome)
{
    bool waiting;
    char *rows = rows_of(path);
    int now = state_of(s, rows);
    bool is_old = strcmp(rows, s->rows[0]) == 0;
    if ((outcome == OLD && !is_old) || (outcome == NEW && now != s->last))
        fail_msg("the table is that of commit %d, which does not go with the result", now);
    free(rows);
    next_write(path, &s->options);
    expect_rows(path, s->rows_next[now], "after the next write");
    check_leftovers(path, &waiting);
    if (waiting) {
        sl_table *t = open_plain(path, NULL);
        ok(execute(t));
        sl_table_close(t);
        expect_rows(path, s->rows_next[now], "after the waiting compaction");
        check_leftovers(path, &waiting);
        assert_false(waiting);
    }
    return is_old ? 0 : now;
}

/* ---- death --------------------------------------------------------------------------------------------------- */

/* Runs the operation in a child; true: it got through. */
static bool run_in_child(const struct scene *s, const char *path, enum sl_fault_kind kind, uint64_t n)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        sl_storage *storage;
        sl_table *t = NULL;
        sl_status status = open_faulty(path, kind, n, &s->options, &storage, &t);
        if (!status)
            status = s->operation->run(t);
        if (status)
            fprintf(stderr, "in the child: %s\n", sl_status_message(status));
        _exit(status ? 1 : 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != SL_FAULT_EXIT_STATUS))
        fail_msg("the child ended with status %#x", (unsigned)status);
    return WEXITSTATUS(status) == 0;
}

static void die_everywhere(const struct scene *s, enum sl_fault_kind kind)
{
    char path[260];
    bool through = false;
    int was = 0;
    uint64_t n = 1;
    for (; !through; n += (uint64_t)stride) {
        fresh_copy(s->start, "victim", path, sizeof path);
        through = run_in_child(s, path, kind, n);
        snprintf(stop, sizeof stop, "%s %s change %" PRIu64 "%s", s->operation->name,
                 kind == SL_FAULT_EXIT_TORN ? "died inside" : "died before", n,
                 through ? ": got through" : "");
        int now = check_aftermath(s, path, through ? NEW : EITHER);
        if (now < was)
            fail_msg("commit %d was there when it died earlier", was);
        was = now;
    }
    assert_true(n > 2); /* it was stopped at least once */
}

static void test_death(void **state)
{
    struct scene s;
    scene_open(&s, *state);
    die_everywhere(&s, SL_FAULT_EXIT_BEFORE);
    die_everywhere(&s, SL_FAULT_EXIT_TORN);
    scene_close(&s);
    *stop = 0;
}

/* ---- errors -------------------------------------------------------------------------------------------------- */

static void fail_everywhere(const struct scene *s, enum sl_fault_kind kind)
{
    char path[260];
    bool struck = true;
    for (uint64_t n = 1; struck; n += (uint64_t)stride) {
        sl_storage *storage = NULL;
        sl_table *t = NULL;
        fresh_copy(s->start, "victim", path, sizeof path);
        sl_status status = open_faulty(path, kind, n, &s->options, &storage, &t);
        bool opened = !status;
        if (!status)
            status = s->operation->run(t);
        struck = !opened || sl_storage_fault_calls(storage) >= n;
        snprintf(stop, sizeof stop, "%s, %s %" PRIu64 ": %s", s->operation->name,
                 kind == SL_FAULT_ERROR ? "failing call" : "full disk from change", n,
                 status ? sl_status_message(status) : "no error");
        enum outcome outcome = !status ? NEW : s->operation->may_apply_on_error ? EITHER : OLD;
        if (status) {
            assert_int_equal(sl_status_code(status), SL_E_IO);
            assert_non_null(strstr(sl_status_message(status), "injected"));
            assert_true(struck);
        }
        sl_status_free(status);
        sl_table_close(t);
        check_aftermath(s, path, outcome);
    }
}

static void test_errors(void **state)
{
    struct scene s;
    scene_open(&s, *state);
    fail_everywhere(&s, SL_FAULT_FULL_DISK);
    fail_everywhere(&s, SL_FAULT_ERROR);
    scene_close(&s);
    *stop = 0;
}

/* ---- memory -------------------------------------------------------------------------------------------------- */

/* How many successes in a row say that the operation makes fewer than n allocations: some failures are shrugged off. */
#define QUIET 40

static void test_memory_of_writes(void **state)
{
    struct scene s;
    char path[260];
    scene_open(&s, *state);
    int step = getenv("SL_TEST_LONG") ? 1 : 7 * stride, quiet = 0;
    for (uint64_t n = 1; quiet < QUIET; n += (uint64_t)step) {
        sl_table *t = NULL;
        fresh_copy(s.start, "victim", path, sizeof path);
        sl_test_fail_allocation(n, n % 2 == 0);
        sl_status status = sl_table_open(path, &s.options, NULL, &t);
        if (!status)
            status = s.operation->run(t);
        sl_test_fail_allocation(0, false);
        enum sl_code code = sl_status_code(status);
        snprintf(stop, sizeof stop, "%s, allocation %" PRIu64 ": %s", s.operation->name, n,
                 sl_status_message(status));
        if (code && code != SL_E_MEMORY)
            fail_msg("allocation %" PRIu64 ": %s", n, sl_status_message(status));
        quiet = code ? 0 : quiet + 1;
        sl_status_free(status);
        sl_table_close(t);
        if (quiet < 3)
            check_aftermath(&s, path, !code ? NEW : s.operation->may_apply_on_error ? EITHER : OLD);
    }
    scene_close(&s);
    *stop = 0;
}

static sl_status scan(const char *path, uint64_t *rows)
{
    sl_table *t;
    sl_stream *stream = NULL;
    sl_read_stats stats = {0};
    *rows = 0;
    SL_TRY(sl_table_open(path, NULL, NULL, &t));
    struct sl_scan_options o = {.where = "v <> 'none' and id between 2 and 900", .limit = -1};
    sl_status status = sl_scan_open(t, &o, &stats, &stream);
    while (!status) {
        sl_batch *batch;
        status = sl_stream_next(stream, &batch);
        if (status || !batch)
            break;
        *rows += (uint64_t)batch->rows;
        sl_batch_unref(batch);
    }
    sl_stream_close(stream);
    sl_table_close(t);
    return status;
}

static void test_memory_of_scans(void **state)
{
    struct scene s;
    uint64_t rows, expected;
    scene_open(&s, *state);
    ok(scan(s.start, &expected));
    assert_true(expected > 10);
    int quiet = 0;
    for (uint64_t n = 1; quiet < QUIET; n += (uint64_t)stride) {
        sl_test_fail_allocation(n, n % 2 == 0);
        sl_status status = scan(s.start, &rows);
        sl_test_fail_allocation(0, false);
        if (status && sl_status_code(status) != SL_E_MEMORY)
            fail_msg("allocation %" PRIu64 ": %s", n, sl_status_message(status));
        if (!status && rows != expected)
            fail_msg("allocation %" PRIu64 " failed: %" PRIu64 " rows instead of %" PRIu64 ", and no error",
                     n, rows, expected);
        quiet = status ? 0 : quiet + 1;
        sl_status_free(status);
    }
    scene_close(&s);
    *stop = 0;
}

/* ---- main ---------------------------------------------------------------------------------------------------- */

static int tell_where(void **state)
{
    (void)state;
    if (*stop)
        print_message("stopped at: %s\n", stop);
    *stop = 0;
    return 0;
}

static const struct operation *find(const char *name)
{
    for (size_t i = 0; i < OPERATIONS; i++)
        if (strcmp(operations[i].name, name) == 0)
            return &operations[i];
    return NULL;
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[2 * OPERATIONS + 16];
    char names[2 * OPERATIONS][80];
    size_t count = 0;
    const char *memory[] = {"lsm upsert",     "cow upsert",       "compaction",    "compaction that copies",
                            "schedule",       "lsm rollback",     "lsm overwrite", "lsm upsert, simple index",
                            "log compaction", "schedule of logs", "stream"};
    temporary_folder(root, sizeof root);
    upserted[0] = make_rows("a", 0, 14, 5, "upserted");
    upserted[1] = make_rows("b", 4, 12, 5, "upserted");
    for (int c = 0; c < COMMITS_MAX; c++)
        for (int i = 0; i < 2; i++)
            streamed[c][i] = make_rows(i   ? "a"
                                       : c ? "b"
                                           : "a",
                                       2 * c, 9 + i, 5 + 2 * c + i, i ? "later" : "earlier");
    if (getenv("SL_TEST_QUICK"))
        stride = 7;
    for (size_t i = 0; i < 2 * OPERATIONS; i++) {
        const struct operation *o = &operations[i / 2];
        snprintf(names[i], sizeof names[i], "%s: %s", i % 2 ? "errors" : "death", o->name);
        tests[count++] = (struct CMUnitTest){names[i], i % 2 ? test_errors : test_death, NULL, tell_where,
                                             (void *)(uintptr_t)o};
    }
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        tests[count++] = (struct CMUnitTest){"memory of a write", test_memory_of_writes, NULL, tell_where,
                                             (void *)(uintptr_t)find(memory[i])};
    tests[count++] = (struct CMUnitTest){"memory of a scan, lsm", test_memory_of_scans, NULL, tell_where,
                                         (void *)(uintptr_t)find("lsm upsert")};
    tests[count++] = (struct CMUnitTest){"memory of a scan, cow", test_memory_of_scans, NULL, tell_where,
                                         (void *)(uintptr_t)find("cow upsert")};
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    int failed = _cmocka_run_group_tests("crash", tests, count, NULL, NULL);
    sl_batch_unref(upserted[0]);
    sl_batch_unref(upserted[1]);
    for (int c = 0; c < COMMITS_MAX; c++)
        for (int i = 0; i < 2; i++)
            sl_batch_unref(streamed[c][i]);
    remove_folder(root);
    return failed;
}
