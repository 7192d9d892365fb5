/*
 * The log files of one flush. Data log and delete log of it carry the same version: the first one from the group's counter
 * on under which neither exists (spec/lsm-layout.md 3). At hoodie.logfile.max.size both roll over to the next version, so
 * that each pair is sorted and the ranges of the pairs ascend. What follows a commit-time delete of the same key (rare)
 * waits until they are closed, for its version must be higher (spec/lsm-layout.md 12.1, 14).
 */
#include "write/write_int.h"
#include <stdio.h>
#include <string.h>

struct flush_logs {
    struct flush_task *task;
    sl_file_writer *rows, *deletes; /* NULL: not open */
    uint32_t version;               /* of the open ones */
    uint64_t roll_bytes;
    bool notes_slice; /* `before` is what the logs stand on */
    sl_read_slice before;
    sl_sorter *late_rows,
        *late_deletes; /* NULL: none came; sorted already, but a sorter keeps to the budget */
};

/* ---- versions ------------------------------------------------------------------------------------------ */

struct sl_file_spec flush_log_spec(const struct flush_task *t, enum sl_file_kind kind, uint32_t version)
{
    return (struct sl_file_spec){.kind = kind,
                                 .partition = t->partition,
                                 .file_id = t->group->file_id,
                                 .version = version,
                                 .task = t->number,
                                 .attempt = t->flush->numbers.attempt};
}

static sl_status log_exists(const struct flush_task *t, enum sl_file_kind kind, uint32_t version, bool *out)
{
    struct sl_file_spec spec = flush_log_spec(t, kind, version);
    return sl_file_writer_exists(t->flush->table, t->flush->txn, &spec, out);
}

sl_status flush_take_version(const struct flush_task *t, uint32_t *out)
{
    for (bool taken = true; taken;) {
        *out = ++t->group->logs_written;
        SL_TRY(log_exists(t, SL_FILE_LOG, *out, &taken));
        if (!taken)
            SL_TRY(log_exists(t, SL_FILE_DELETES, *out, &taken));
    }
    return SL_OK;
}

static sl_status next_version(struct flush_logs *l)
{
    uint32_t planned = l->task->group->planned_log;
    l->task->group->planned_log = 0;
    l->version = planned;
    return planned ? SL_OK : flush_take_version(l->task, &l->version);
}

/* ---- the slice before ---------------------------------------------------------------------------------- */

/* Where changes are kept the stat of a log tells what it stands on, so that a reader can say what it changed
 * (spec/log-format.md 7): what is merged with it, also where a compaction is planned, and what this transaction wrote. */
static sl_status note_slice(struct flush_logs *l)
{
    const sl_file_group *group = l->task->group->group;
    bool found = false;
    if (!l->task->flush->schema.cdc || l->notes_slice)
        return SL_OK;
    l->notes_slice = true;
    if (!group)
        return SL_OK;
    SL_TRY(sl_group_read_slice(group, false, &l->before, &found));
    sl_strings *logs = &l->task->group->logs_before;
    if (!found || logs->count) /* an earlier flush of this transaction noted them */
        return SL_OK;
    for (size_t i = 0; i < l->before.log_count; i++)
        SL_TRY(sl_strings_add(logs, l->before.logs[i]->name));
    return SL_OK;
}

static void tell_slice(const struct flush_logs *l, struct sl_file_spec *spec)
{
    const sl_file_group *group = l->task->group->group;
    if (!l->notes_slice)
        return;
    spec->logs_before = &l->task->group->logs_before;
    if (group && group->slice_count)
        spec->prev_commit = group->slices[0].base_instant;
    if (l->before.base)
        spec->base_before = l->before.base->name;
}

/* ---- files --------------------------------------------------------------------------------------------- */

static sl_status log_close(struct flush_logs *l, sl_file_writer **w, bool is_deletes)
{
    uint64_t bytes;
    int64_t rows = sl_file_writer_rows(*w);
    sl_write_stat stat = {0};
    if (is_deletes)
        stat.num_deletes = rows;
    else
        stat.num_writes = rows;
    /* A bucket index tags every row of a group that exists as an update (spec/write-path.md 5.1). */
    if (!is_deletes && l->task->group->exists)
        stat.num_updates = rows;
    else if (!is_deletes)
        stat.num_inserts = rows;
    if (l->notes_slice)
        SL_TRY(sl_strings_add(&l->task->group->logs_before, sl_file_writer_name(*w)));
    sl_file_writer *closing = *w;
    *w = NULL;
    SL_TRY(sl_file_writer_close(closing, &stat, &bytes));
    flush_count(l->task->flush, &stat, bytes);
    return SL_OK;
}

static sl_status close_open_logs(struct flush_logs *l)
{
    if (l->rows)
        SL_TRY(log_close(l, &l->rows, false));
    if (l->deletes)
        SL_TRY(log_close(l, &l->deletes, true));
    return SL_OK;
}

/* Makes *w ready for a batch. */
static sl_status log_ready(struct flush_logs *l, enum sl_file_kind kind, sl_file_writer **w)
{
    const struct flush *f = l->task->flush;
    if (*w && sl_file_writer_bytes(*w) >= l->roll_bytes)
        SL_TRY(close_open_logs(l));
    if (*w)
        return SL_OK;
    if (!l->rows && !l->deletes)
        SL_TRY(next_version(l));
    struct sl_file_spec spec = flush_log_spec(l->task, kind, l->version);
    SL_TRY(note_slice(l));
    tell_slice(l, &spec);
    return sl_file_writer_open(f->table, f->txn, &f->schema, &spec, w);
}

static sl_status write_rows(struct flush_logs *l, sl_batch *batch)
{
    SL_TRY(log_ready(l, SL_FILE_LOG, &l->rows));
    return sl_file_writer_write(l->rows, batch);
}

static sl_status write_deletes(struct flush_logs *l, sl_batch *batch)
{
    SL_TRY(log_ready(l, SL_FILE_DELETES, &l->deletes));
    return sl_file_writer_write(l->deletes, batch);
}

/* ---- operands that must wait --------------------------------------------------------------------------- */

static sl_status keep_late(struct flush_logs *l, sl_batch *batch, sl_sorter **late)
{
    if (!*late)
        SL_TRY(sl_sorter_new(batch->schema, sl_meta_names[SL_META_RECORD_KEY],
                             &l->task->flush->table->runtime, late));
    return sl_sorter_append_all(*late, batch);
}

static sl_status write_rows_of(void *logs, sl_batch *batch) { return write_rows(logs, batch); }

static sl_status write_deletes_of(void *logs, sl_batch *batch) { return write_deletes(logs, batch); }

static sl_status write_stream(struct flush_logs *l, sl_stream *rows, bool is_deletes)
{
    return sl_stream_drain(rows, NULL, is_deletes ? write_deletes_of : write_rows_of, l);
}

static sl_status write_late(struct flush_logs *l, sl_sorter *late, bool is_deletes)
{
    struct sl_run *runs;
    size_t count;
    if (!late)
        return SL_OK;
    SL_TRY(sl_sorter_finish(late, 1, &runs, &count));
    sl_status status = SL_OK;
    for (size_t i = 0; i < count; i++) {
        if (!status)
            status = write_stream(l, runs[i].rows, is_deletes);
        sl_stream_close(runs[i].rows);
    }
    sl_free(runs);
    return status;
}

/* ---- the flush ----------------------------------------------------------------------------------------- */

static sl_status take_rows(void *context, sl_batch *batch, bool second)
{
    struct flush_logs *l = context;
    return second ? keep_late(l, batch, &l->late_rows) : write_rows(l, batch);
}

static sl_status take_deletes(void *context, sl_batch *batch, bool second)
{
    struct flush_logs *l = context;
    return second ? keep_late(l, batch, &l->late_deletes) : write_deletes(l, batch);
}

static sl_status write_reduced(struct flush_logs *l, const struct sl_merge_options *rules)
{
    struct sl_operand_sink sink = {l, take_rows, take_deletes};
    size_t count = l->task->run_count;
    l->task->run_count = 0;
    SL_TRY(sl_merge_operands(l->task->runs, count, rules, &sink, NULL));
    SL_TRY(close_open_logs(l));
    SL_TRY(write_late(l, l->late_rows, false));
    SL_TRY(write_late(l, l->late_deletes, true));
    return close_open_logs(l);
}

/* The runs are merged by key without folding, and readers fold. */
static sl_status write_unreduced(struct flush_logs *l, const struct sl_merge_options *rules)
{
    sl_stream *rows;
    SL_TRY(flush_merge_open(l->task, rules, NULL, &rows));
    sl_status status = write_stream(l, rows, false);
    sl_stream_close(rows);
    return status ? status : close_open_logs(l);
}

/* Rows and deletes of one key must not part without an order between them: where there are deletes the flush is reduced
 * whatever the settings say (spec/lsm-layout.md 14). */
static bool keeps_duplicates(const struct flush *f)
{
    bool reduces = operation_inserts(f->operation)
                       ? sl_table_setting_true(f->table, "hoodie.combine.before.insert", false)
                       : sl_table_setting_true(f->table, "hoodie.combine.before.upsert", true);
    return !reduces && !f->saw_deletes && f->operation != SL_OP_DELETE;
}

sl_status flush_to_logs(struct flush_task *t)
{
    struct flush_logs l = {.task = t};
    struct sl_merge_options rules;
    sl_status status = SL_OK;
    SL_GO(sl_table_setting_bytes(t->flush->table, "hoodie.logfile.max.size", 1 << 30, &l.roll_bytes));
    SL_GO(flush_merge_rules(t, keeps_duplicates(t->flush), &rules));
    status = rules.keep_duplicates ? write_unreduced(&l, &rules) : write_reduced(&l, &rules);
done:
    sl_file_writer_abort(l.rows);
    sl_file_writer_abort(l.deletes);
    sl_read_slice_free(&l.before);
    sl_sorter_free(l.late_rows);
    sl_sorter_free(l.late_deletes);
    return status;
}
