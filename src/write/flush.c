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

/* ---- runs ---------------------------------------------------------------------------------------------- */

/* Each run of the sorter, stamped with meta columns (rows) or as it is (deletes). */
static sl_status open_incoming(struct flush_task *t)
{
    bool deletes = t->flush->operation == SL_OP_DELETE;
    SL_TRY(sl_sorter_finish(t->sorter, t->flush->fan_in, &t->runs, &t->run_count));
    const sl_strings *key_fields = &t->flush->table->keygen.record_fields;
    struct stamp stamp = {.instant = sl_txn_instant(t->flush->txn),
                          .partition = t->partition,
                          .file_id = t->group->file_id,
                          .key_field = key_fields->count == 1 ? key_fields->items[0] : NULL,
                          .task = t->number,
                          .rows_stamped = &t->group->rows_stamped};
    for (size_t i = 0; i < t->run_count; i++) {
        sl_stream *rows = t->runs[i].rows;
        t->runs[i].rows = NULL;
        t->runs[i].is_deletes = deletes;
        SL_TRY(deletes ? sl_stream_conform(rows, t->flush->schema.deletes, &t->runs[i].rows)
                       : stamp_rows(rows, &t->flush->schema, &stamp, &t->runs[i].rows));
    }
    return SL_OK;
}

/* What the incoming rows leave alone of the base may go to `w` as it is compressed. */
static sl_status add_base_run(struct flush_task *t, const struct sl_merge_options *rules, sl_file_writer *w)
{
    struct sl_run *runs = sl_calloc(t->run_count + 1, sizeof *runs);
    char *relative = NULL;
    if (!runs)
        return sl_nomem();
    const sl_table *table = t->flush->table;
    struct sl_run_options options = {
        .schema = t->flush->schema.full,
        .sorted = true,
        .stats = table->reads,
        .pool = table->runtime.pool,
        .late_for = rules,
        .is_base = true,
        .copy_to = sl_table_setting_true(table, "sluice.compaction.copy", true) ? w : NULL};
    sl_status status = sl_path_join(t->partition, t->group->base->name, &relative);
    if (!status)
        status = sl_run_open(table, relative, &options, &runs[0].rows);
    sl_free(relative);
    if (status) {
        sl_free(runs);
        return status;
    }
    runs[0].late = sl_run_late(runs[0].rows);
    runs[0].copy = sl_run_copying(runs[0].rows);
    runs[0].is_base = true;
    runs[0].name = t->group->base->name;
    if (t->run_count)
        memcpy(runs + 1, t->runs, t->run_count * sizeof *runs);
    sl_free(t->runs);
    t->runs = runs;
    t->run_count++;
    return SL_OK;
}

static void task_close(struct flush_task *t)
{
    for (size_t i = 0; i < t->run_count; i++)
        sl_stream_close(t->runs[i].rows);
    sl_free(t->runs);
}

sl_status flush_merge_rules(const struct flush_task *t, bool keeps_duplicates, struct sl_merge_options *out)
{
    SL_TRY(sl_table_rules(t->flush->table, t->flush->schema.full, out));
    out->keep_duplicates = keeps_duplicates;
    out->keep_dictionaries = true; /* the rows go to a Parquet writer */
    return SL_OK;
}

/* The merge owns the streams whatever it returns. */
sl_status flush_merge_open(struct flush_task *t, const struct sl_merge_options *rules,
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

/* Duplicates inside a base file would be handed through by readers (spec/lsm-layout.md 8.3): only inserts may keep them. Where
 * some rows are deletes, they are reduced with the others. */
static bool keeps_duplicates(const struct flush *f)
{
    return operation_inserts(f->operation) && !f->saw_deletes &&
           !sl_table_setting_true(f->table, "hoodie.combine.before.insert", false);
}

static struct sl_file_spec base_spec(const struct flush_task *t)
{
    const sl_data_file *base = t->group->base;
    return (struct sl_file_spec){.kind = SL_FILE_BASE,
                                 .partition = t->partition,
                                 .file_id = t->group->file_id,
                                 .task = t->number,
                                 .attempt = t->flush->numbers.attempt,
                                 .prev_commit = base ? base->parts.instant : "null",
                                 .prev_base_file = base ? base->name : NULL};
}

static sl_status write_base(struct flush_task *t)
{
    struct flush *f = t->flush;
    const sl_data_file *base = t->group->base;
    struct sl_file_spec spec = base_spec(t);
    struct sl_merge_options rules;
    struct sl_merge_counts counts = {0};
    sl_stream *rows = NULL;
    sl_file_writer *w = NULL;
    sl_cdc_log *changes = NULL;
    uint64_t bytes;
    sl_status status = SL_OK;
    SL_GO(sl_file_writer_open(f->table, f->txn, &f->schema, &spec, &w));
    SL_GO(flush_merge_rules(t, keeps_duplicates(f), &rules));
    if (base) {
        SL_GO(add_base_run(t, &rules, w));
        SL_GO(sl_cdc_log_open(f->table, f->txn, &f->schema, &spec, &changes));
        rules.changes = sl_cdc_log_sink(changes);
    }
    SL_GO(flush_merge_open(t, &rules, &counts, &rows));
    SL_GO(sl_file_writer_drain(w, rows, NULL));
    sl_stream_close(rows);
    rows = NULL;
    /* A base file may be empty: it replaces one whose rows are all deleted. A new group without rows needs no
     * file. */
    if (!base && sl_file_writer_rows(w) == 0)
        goto done;
    sl_write_stat stat = {.num_writes = sl_file_writer_rows(w),
                          .num_inserts = (int64_t)counts.inserted,
                          .num_updates = (int64_t)counts.updated,
                          .num_deletes = (int64_t)counts.deleted};
    if (!base)
        stat.num_inserts = stat.num_writes;
    SL_GO(sl_cdc_log_finish(changes, &stat));
    sl_file_writer *closing = w;
    w = NULL;
    SL_GO(sl_file_writer_close(closing, &stat, &bytes));
    flush_count(f, &stat, bytes);
done:
    sl_stream_close(rows);
    sl_file_writer_abort(w);
    sl_cdc_log_free(changes);
    return status;
}

/* As many new groups as the size of files asks for. */
static sl_status write_new(struct flush_task *t)
{
    struct sl_merge_options rules;
    struct sl_merge_counts counts = {0};
    sl_stream *rows;
    SL_TRY(flush_merge_rules(t, keeps_duplicates(t->flush), &rules));
    SL_TRY(flush_merge_open(t, &rules, &counts, &rows));
    sl_status status = new_groups_write(t->flush, t->partition, t->number, rows);
    sl_stream_close(rows);
    return status;
}

/* ---- the task ------------------------------------------------------------------------------------------ */

static bool goes_to_logs(const struct flush *f, const struct bucket_group *group, enum flush_way way)
{
    bool may_be_base = !group->exists && !f->saw_deletes && !f->is_early && f->operation != SL_OP_DELETE;
    return f->table->type == SL_MERGE_ON_READ && way == FLUSH_BY_LAYOUT && !may_be_base;
}

/* A copy-on-write table has nothing to delete where there is no base file. */
static bool goes_to_base(const struct flush *f, const struct bucket_group *group)
{
    return group->base || f->operation != SL_OP_DELETE;
}

sl_status flush_first_file(struct flush_task *t, enum flush_way way, struct sl_file_spec *out, bool *known)
{
    *known = true;
    if (way == FLUSH_NEW_GROUPS) {
        *known = false;
    } else if (goes_to_logs(t->flush, t->group, way)) {
        enum sl_file_kind kind = t->flush->operation == SL_OP_DELETE ? SL_FILE_DELETES : SL_FILE_LOG;
        SL_TRY(flush_take_version(t, &t->group->planned_log));
        *out = flush_log_spec(t, kind, t->group->planned_log);
    } else if (goes_to_base(t->flush, t->group)) {
        *out = base_spec(t);
    } else {
        *known = false;
    }
    return SL_OK;
}

sl_status flush_into(struct flush *flush, sl_sorter *sorter, const char *partition,
                     struct bucket_group *group, enum flush_way way, uint32_t number)
{
    struct flush_task t = {.flush = flush,
                           .sorter = sorter,
                           .partition = partition,
                           .number = flush->numbers.first_task + number,
                           .group = group};
    sl_status status = SL_OK;
    SL_GO(open_incoming(&t));
    if (way == FLUSH_NEW_GROUPS) {
        status = write_new(&t);
    } else if (goes_to_logs(flush, group, way)) {
        status = flush_to_logs(&t);
    } else if (goes_to_base(flush, group)) {
        status = write_base(&t);
    }
done:
    task_close(&t);
    return status;
}
