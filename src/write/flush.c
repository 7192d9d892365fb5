/*
 * One file group of a commit. Three ways, by what is there and what the layout wants:
 *
 *   create   no slice yet, or a group that replaces another: a sorted base file (without slice only when no row may be a
 *            delete: see below)
 *   merge    copy-on-write: base and rows folded into a new base file of the same group
 *   log      lsm_tree: rows reduced to operands, a sorted data log and, when needed, a delete log
 *
 * A delete in a group without a base file still matters on merge-on-read: it outlives older rows that come
 * later, so it is logged, and then the rows are logged beside it.
 */
#include "write/write_int.h"
#include <stdio.h>
#include <string.h>

#define FAN_IN 64 /* spilled runs that are merged at once */

struct task {
    struct flush *flush;
    sl_sorter *sorter;
    const char *partition;
    uint32_t number;
    const char *file_id;
    const sl_data_file *base; /* NULL: the group has none */
    bool exists;              /* the group has a slice */
    struct sl_run *runs;      /* owned array; streams are handed to the merge */
    size_t run_count;
};

/* ---- runs ---------------------------------------------------------------------------------------------- */

/* Each run of the sorter, stamped with meta columns (rows) or as it is (deletes). */
static sl_status open_incoming(struct task *t)
{
    bool deletes = t->flush->operation == SL_OP_DELETE;
    SL_TRY(sl_sorter_finish(t->sorter, FAN_IN, &t->runs, &t->run_count));
    struct stamp stamp = {sl_txn_instant(t->flush->txn), t->partition, t->file_id, t->number};
    for (size_t i = 0; i < t->run_count; i++) {
        sl_stream *rows = t->runs[i].rows;
        t->runs[i].rows = NULL;
        t->runs[i].is_deletes = deletes;
        SL_TRY(deletes ? sl_stream_conform(rows, t->flush->schema->deletes, &t->runs[i].rows)
                       : stamp_rows(rows, t->flush->schema, &stamp, &t->runs[i].rows));
    }
    return SL_OK;
}

static sl_status add_base_run(struct task *t)
{
    struct sl_run *runs = sl_calloc(t->run_count + 1, sizeof *runs);
    char *relative = NULL;
    if (!runs)
        return sl_nomem();
    struct sl_run_options options = {
        .schema = t->flush->schema->full, .sorted = true, .pool = t->flush->table->runtime.pool};
    sl_status status = sl_path_join(t->partition, t->base->name, &relative);
    if (!status)
        status = sl_run_open(t->flush->table, relative, &options, &runs[0].rows);
    sl_free(relative);
    if (status) {
        sl_free(runs);
        return status;
    }
    runs[0].is_base = true;
    runs[0].name = t->base->name;
    if (t->run_count)
        memcpy(runs + 1, t->runs, t->run_count * sizeof *runs);
    sl_free(t->runs);
    t->runs = runs;
    t->run_count++;
    return SL_OK;
}

static void task_close(struct task *t)
{
    for (size_t i = 0; i < t->run_count; i++)
        sl_stream_close(t->runs[i].rows);
    sl_free(t->runs);
}

static bool keeps_duplicates(const struct flush *flush)
{
    return operation_inserts(flush->operation) &&
           !sl_table_setting_true(flush->table, "hoodie.combine.before.insert", false);
}

static sl_status merge_rules(const struct task *t, struct sl_merge_options *out)
{
    SL_TRY(sl_table_rules(t->flush->table, t->flush->schema->full, out));
    out->keep_duplicates = keeps_duplicates(t->flush);
    out->keep_dictionaries = true; /* the rows go to a Parquet writer */
    return SL_OK;
}

/* The merge owns the streams whatever it returns. */
static sl_status open_merge(struct task *t, const struct sl_merge_options *rules,
                            struct sl_merge_counts *counts, sl_stream **out)
{
    size_t count = t->run_count;
    t->run_count = 0;
    return sl_merge_open(t->runs, count, rules, counts, out);
}

void flush_count(struct flush *f, const sl_write_stat *stat, uint64_t bytes)
{
    atomic_fetch_add(&f->rows_written, (uint64_t)stat->num_writes);
    atomic_fetch_add(&f->inserted, (uint64_t)stat->num_inserts);
    atomic_fetch_add(&f->updated, (uint64_t)stat->num_updates);
    atomic_fetch_add(&f->deleted, (uint64_t)stat->num_deletes);
    atomic_fetch_add(&f->files, 1);
    atomic_fetch_add(&f->bytes, bytes);
}

/* ---- base files ---------------------------------------------------------------------------------------- */

static sl_status drain(sl_stream *rows, sl_file_writer *w)
{
    for (;;) {
        sl_batch *batch;
        SL_TRY(sl_stream_next(rows, &batch));
        if (!batch)
            return SL_OK;
        sl_status status = sl_file_writer_write(w, batch);
        sl_batch_unref(batch);
        SL_TRY(status);
    }
}

static sl_status write_base(struct task *t)
{
    struct flush *f = t->flush;
    struct sl_file_spec spec = {.kind = SL_FILE_BASE,
                                .partition = t->partition,
                                .file_id = t->file_id,
                                .task = t->number,
                                .attempt = f->numbers.attempt,
                                .prev_commit = t->base ? t->base->parts.instant : "null",
                                .prev_base_file = t->base ? t->base->name : NULL};
    struct sl_merge_options rules;
    struct sl_merge_counts counts = {0};
    sl_stream *rows = NULL;
    sl_file_writer *w = NULL;
    uint64_t bytes;
    sl_status status = SL_OK;
    SL_GO(merge_rules(t, &rules));
    SL_GO(open_merge(t, &rules, &counts, &rows));
    SL_GO(sl_file_writer_open(f->table, f->txn, f->schema, &spec, &w));
    SL_GO(drain(rows, w));
    sl_stream_close(rows);
    rows = NULL;
    /* A base file may be empty: it replaces one whose rows are all deleted. A new group without rows needs no
     * file. */
    if (!t->base && sl_file_writer_rows(w) == 0)
        goto done;
    sl_write_stat stat = {.num_writes = sl_file_writer_rows(w),
                          .num_inserts = (int64_t)counts.inserted,
                          .num_updates = (int64_t)counts.updated,
                          .num_deletes = (int64_t)counts.deleted};
    if (!t->base)
        stat.num_inserts = stat.num_writes;
    sl_file_writer *closing = w;
    w = NULL;
    SL_GO(sl_file_writer_close(closing, &stat, &bytes));
    flush_count(f, &stat, bytes);
done:
    sl_stream_close(rows);
    sl_file_writer_abort(w);
    return status;
}

/* As many new groups as the size of files asks for. */
static sl_status write_new(struct task *t)
{
    struct sl_merge_options rules;
    struct sl_merge_counts counts = {0};
    sl_stream *rows;
    SL_TRY(merge_rules(t, &rules));
    SL_TRY(open_merge(t, &rules, &counts, &rows));
    sl_status status = new_groups_write(t->flush, t->partition, t->number, rows);
    sl_stream_close(rows);
    return status;
}

/* ---- logs ---------------------------------------------------------------------------------------------- */

/* The log files of one flush: `rows` and `deletes` share a version and roll over to the next by size; what
 * follows a commit-time delete (`second`, rare) waits until they are closed, because its version must be
 * higher. */
struct log_files {
    struct task *task;
    sl_file_writer *rows, *deletes;
    uint32_t version, deletes_version;
    uint64_t roll_bytes;
    struct {
        sl_batch **items;
        size_t count, cap;
    } late[2]; /* rows, deletes */
};

static sl_status log_open(struct log_files *l, enum sl_file_kind kind, uint32_t version, sl_file_writer **out)
{
    struct flush *f = l->task->flush;
    struct sl_file_spec spec = {.kind = kind,
                                .partition = l->task->partition,
                                .file_id = l->task->file_id,
                                .version = version,
                                .task = l->task->number,
                                .attempt = f->numbers.attempt};
    return sl_file_writer_open(f->table, f->txn, f->schema, &spec, out);
}

static sl_status log_close(struct log_files *l, sl_file_writer **w, bool is_deletes)
{
    struct flush *f = l->task->flush;
    uint64_t bytes;
    int64_t rows = sl_file_writer_rows(*w);
    sl_write_stat stat = {0};
    if (is_deletes)
        stat.num_deletes = rows;
    else
        stat.num_writes = rows;
    /* A bucket index tags every row of a group that exists as an update (spec/write-path.md 5.1). */
    if (!is_deletes && l->task->exists)
        stat.num_updates = rows;
    else if (!is_deletes)
        stat.num_inserts = rows;
    sl_file_writer *closing = *w;
    *w = NULL;
    SL_TRY(sl_file_writer_close(closing, &stat, &bytes));
    flush_count(f, &stat, bytes);
    return SL_OK;
}

static sl_status keep_late(struct log_files *l, bool is_deletes, sl_batch *batch)
{
    if (l->late[is_deletes].count == l->late[is_deletes].cap) {
        size_t cap = l->late[is_deletes].cap ? l->late[is_deletes].cap * 2 : 4;
        sl_batch **grown = sl_realloc_array(l->late[is_deletes].items, cap, sizeof *grown);
        if (!grown)
            return sl_nomem();
        l->late[is_deletes].items = grown;
        l->late[is_deletes].cap = cap;
    }
    l->late[is_deletes].items[l->late[is_deletes].count++] = sl_batch_ref(batch);
    return SL_OK;
}

static sl_status take_rows(void *context, sl_batch *batch, bool second)
{
    struct log_files *l = context;
    if (second)
        return keep_late(l, false, batch);
    if (l->rows && sl_file_writer_bytes(l->rows) >= l->roll_bytes) {
        SL_TRY(log_close(l, &l->rows, false));
        l->version++;
    }
    if (!l->rows)
        SL_TRY(log_open(l, SL_FILE_LOG, l->version, &l->rows));
    return sl_file_writer_write(l->rows, batch);
}

static sl_status take_deletes(void *context, sl_batch *batch, bool second)
{
    struct log_files *l = context;
    if (second)
        return keep_late(l, true, batch);
    if (!l->deletes)
        SL_TRY(log_open(l, SL_FILE_DELETES, l->deletes_version, &l->deletes));
    return sl_file_writer_write(l->deletes, batch);
}

static sl_status close_open_logs(struct log_files *l)
{
    if (l->rows)
        SL_TRY(log_close(l, &l->rows, false));
    if (l->deletes)
        SL_TRY(log_close(l, &l->deletes, true));
    return SL_OK;
}

static sl_status write_late(struct log_files *l)
{
    l->deletes_version = ++l->version;
    for (int is_deletes = 0; is_deletes < 2; is_deletes++)
        for (size_t i = 0; i < l->late[is_deletes].count; i++)
            SL_TRY(is_deletes ? take_deletes(l, l->late[1].items[i], false)
                              : take_rows(l, l->late[0].items[i], false));
    return close_open_logs(l);
}

static void log_files_free(struct log_files *l)
{
    sl_file_writer_abort(l->rows);
    sl_file_writer_abort(l->deletes);
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < l->late[k].count; i++)
            sl_batch_unref(l->late[k].items[i]);
        sl_free(l->late[k].items);
    }
}

/* Duplicates are kept: the runs are merged by key without folding, and readers fold them. */
static sl_status write_unreduced(struct task *t, struct log_files *l, const struct sl_merge_options *rules)
{
    sl_stream *rows;
    SL_TRY(open_merge(t, rules, NULL, &rows));
    sl_status status = SL_OK;
    for (;;) {
        sl_batch *batch;
        SL_GO(sl_stream_next(rows, &batch));
        if (!batch)
            break;
        status = take_rows(l, batch, false);
        sl_batch_unref(batch);
        if (status)
            goto done;
    }
    status = close_open_logs(l);
done:
    sl_stream_close(rows);
    return status;
}

static sl_status write_logs(struct task *t)
{
    struct log_files l = {.task = t, .version = 1, .deletes_version = 1};
    struct sl_operand_sink sink = {&l, take_rows, take_deletes};
    struct sl_merge_options rules;
    struct sl_merge_counts counts = {0};
    sl_status status = SL_OK;
    SL_GO(sl_table_setting_bytes(t->flush->table, "hoodie.logfile.max.size", 1 << 30, &l.roll_bytes));
    SL_GO(merge_rules(t, &rules));
    /* Rows and deletes of one key must not part without an order between them: then it is reduced all the
     * same. */
    if (rules.keep_duplicates && !t->flush->saw_deletes) {
        status = write_unreduced(t, &l, &rules);
        goto done;
    }
    rules.keep_duplicates = false;
    size_t count = t->run_count;
    t->run_count = 0;
    SL_GO(sl_merge_operands(t->runs, count, &rules, &sink, &counts));
    SL_GO(close_open_logs(&l));
    if (l.late[0].count || l.late[1].count)
        SL_GO(write_late(&l));
done:
    log_files_free(&l);
    return status;
}

/* ---- the task ------------------------------------------------------------------------------------------ */

sl_status flush_into(struct flush *flush, sl_sorter *sorter, const char *partition,
                     const struct bucket_group *group, enum flush_way way, uint32_t number)
{
    struct task t = {.flush = flush,
                     .sorter = sorter,
                     .partition = partition,
                     .number = flush->numbers.first_task + number,
                     .file_id = group->file_id,
                     .base = group->base,
                     .exists = group->exists};
    bool is_delete = flush->operation == SL_OP_DELETE;
    bool logs = flush->table->type == SL_MERGE_ON_READ && way == FLUSH_BY_LAYOUT &&
                (t.exists || flush->saw_deletes || is_delete);
    sl_status status = SL_OK;
    SL_GO(open_incoming(&t));
    if (way == FLUSH_NEW_GROUPS) {
        status = write_new(&t);
    } else if (logs) {
        status = write_logs(&t);
    } else if (t.base || !is_delete) { /* else copy-on-write: nothing there to delete */
        if (t.base)
            SL_GO(add_base_run(&t));
        status = write_base(&t);
    }
done:
    task_close(&t);
    return status;
}

sl_status flush_group(struct flush *flush, struct write_group *group, const char *partition, uint32_t number)
{
    bool replaces = operation_replaces(flush->operation);
    struct bucket_group found = {.exists = false};
    sl_status status =
        replaces ? sl_bucket_file_id(group->bucket, false, found.file_id)
                 : bucket_group_find(flush->table, flush->view, partition, group->bucket, &found);
    if (!status)
        status = flush_into(flush, group->sorter, partition, &found, replaces ? FLUSH_BASE : FLUSH_BY_LAYOUT,
                            number);
    return status ? sl_context(status, "partition %s: bucket %" PRIu32, partition, group->bucket) : SL_OK;
}
