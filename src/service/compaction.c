/* Compaction: base and logs of a slice, folded, become a new base file (spec/lsm-layout.md 12.2). */
#include "service/service_int.h"

/* Records that came from logs: all, less the base rows, which either came out or were deleted. */
static int64_t log_records(const struct sl_merge_counts *c)
{
    uint64_t base_rows = c->rows_out - c->inserted + c->deleted;
    return base_rows < c->rows_in ? (int64_t)(c->rows_in - base_rows) : 0;
}

static sl_write_stat stat_of(const struct operation *o, const struct sl_merge_counts *counts, int64_t rows)
{
    return (sl_write_stat){.num_writes = rows,
                           .num_inserts = (int64_t)counts->inserted,
                           .num_updates = (int64_t)counts->updated,
                           .num_deletes = (int64_t)counts->deleted,
                           .log_files_compacted = (int64_t)o->slice.log_count,
                           .log_records = log_records(counts),
                           .log_bytes_compacted = (int64_t)o->log_bytes,
                           .updated_compacted = (int64_t)counts->updated};
}

/* ---- the base file ------------------------------------------------------------------------------------- */

static struct sl_file_spec spec_of(const struct operation *o)
{
    const sl_data_file *base = o->slice.base;
    return (struct sl_file_spec){.kind = SL_FILE_BASE,
                                 .partition = o->partition,
                                 .file_id = o->file_id,
                                 .task = o->number,
                                 .attempt = o->attempt,
                                 .prev_commit = base ? base->parts.instant : o->base_instant,
                                 .prev_base_file = base ? base->name : NULL};
}

/* The partition's path is the task's. */
static sl_status add_file(struct sl_file_plan *plan, sl_table *table, sl_txn *txn,
                          const struct groundwork *ground, const json_t *task)
{
    struct operation o;
    SL_TRY(operation_open(table, txn, ground, task, 0, &o));
    struct sl_file_spec spec = spec_of(&o);
    if (!o.is_replaced)
        sl_file_plan_add(plan, txn, &spec);
    operation_free(&o);
    return SL_OK;
}

sl_status compaction_announce(sl_table *table, sl_txn *txn, const struct groundwork *ground,
                              const json_t *const *tasks, size_t count)
{
    struct sl_file_plan plan;
    SL_TRY(sl_file_plan_init(count, &plan));
    sl_status status = SL_OK;
    for (size_t i = 0; i < count; i++)
        SL_GO(add_file(&plan, table, txn, ground, tasks[i]));
    status = sl_file_plan_announce(&plan, txn);
done:
    sl_file_plan_free(&plan);
    return status;
}

/* ---- the operation ------------------------------------------------------------------------------------- */

sl_status compaction_write(struct operation *o)
{
    struct sl_merge_counts counts = {0};
    struct sl_slice_options read = {.schema = o->ground->schema.full,
                                    .table_schema = o->ground->schema.full,
                                    .keys_needed = true,
                                    .counts = &counts,
                                    .stats = o->table->reads,
                                    .pool = o->table->runtime.pool,
                                    .memory = o->ground->memory};
    struct sl_file_spec spec = spec_of(o);
    sl_stream *rows = NULL;
    sl_file_writer *w = NULL;
    sl_cdc_log *changes = NULL;
    sl_status status = SL_OK;
    SL_GO(sl_file_writer_open(o->table, o->txn, &o->ground->schema, &spec, &w));
    SL_GO(sl_cdc_log_open(o->table, o->txn, &o->ground->schema, &spec, &changes));
    read.changes = sl_cdc_log_sink(changes);
    if (sl_table_setting_true(o->table, "sluice.compaction.copy", true))
        read.copy_to = w;
    SL_GO(sl_slice_open(o->table, &o->slice, &read, &rows));
    SL_GO(sl_file_writer_drain(w, rows, &o->table->runtime));
    sl_stream_close(rows); /* counts are final now */
    rows = NULL;
    sl_write_stat stat = stat_of(o, &counts, sl_file_writer_rows(w));
    SL_GO(sl_cdc_log_finish(changes, &stat));
    sl_file_writer *closing = w;
    w = NULL;
    status = sl_file_writer_close(closing, &stat, NULL);
done:
    sl_stream_close(rows);
    sl_file_writer_abort(w);
    sl_cdc_log_free(changes);
    return status;
}
