/*
 * Log compaction: a stretch of a slice's logs, folded without the base record, becomes one log (spec/lsm-layout.md 12.1).
 * Deletes stay, since older records may lie below. What follows a commit-time delete of the same key is an operand of its
 * own: such keys, which are rare, go to a second pair of files with the next version.
 */
#include "service/service_int.h"
#include <string.h>

#define FIRST_VERSION 1

/* Output by (second operand, deletes). */
struct outputs {
    struct operation *o;
    sl_strings replaced; /* instants of the input logs, oldest first */
    sl_file_writer *files[2][2];
};

/* ---- input --------------------------------------------------------------------------------------------- */

static sl_status run_open(void *context, size_t index, struct sl_run *run)
{
    const struct operation *o = context;
    const sl_data_file *log = o->slice.logs[index];
    char *relative;
    *run = (struct sl_run){.is_deletes = log->parts.kind == SL_FILE_DELETES, .name = log->name};
    struct sl_merge_options rules;
    SL_TRY(sl_table_rules(o->table, o->ground->schema.full, &rules));
    struct sl_run_options options = {
        .schema = run->is_deletes ? o->ground->schema.deletes : o->ground->schema.full,
        .sorted = true,
        .stats = o->table->reads,
        .pool = o->table->runtime.pool,
        .memory = o->ground->memory,
        .batch_rows = SL_MERGE_BATCH_ROWS,
        .batch_bytes = sl_batch_bytes_for(&o->table->runtime, o->slice.log_count),
        .keep_dictionary = true,
        .late_for = run->is_deletes ? NULL : &rules};
    SL_TRY(sl_path_join(o->partition, log->name, &relative));
    sl_status status = sl_run_open(o->table, relative, &options, &run->rows);
    if (!status)
        run->late = sl_run_late(run->rows);
    sl_free(relative);
    return status;
}

static sl_status only_native_logs(const struct operation *o)
{
    for (size_t i = 0; i < o->slice.log_count; i++)
        if (o->slice.logs[i]->parts.kind == SL_FILE_INLINE_LOG)
            return sl_unsupported("log compaction of inline logs (%s)", o->slice.logs[i]->name);
    return SL_OK;
}

/* What the plan says is looked at again beside the slice as it is: a log that came to stand between the planned ones would
 * be overruled by older rows. */
static sl_status order_logs(struct operation *o)
{
    sl_read_slice whole = {0};
    struct sl_slice_logs logs = {0};
    bool found;
    SL_TRY(sl_group_read_slice(o->slice.group, false, &whole, &found));
    if (!found)
        return SL_OK;
    sl_status status = sl_slice_logs_load(o->table, &whole, NULL, &logs);
    if (!status)
        status = stretch_check(&logs, &o->slice);
    sl_slice_logs_free(&logs);
    sl_read_slice_free(&whole);
    return status;
}

static sl_status replaced_instants(const struct operation *o, sl_strings *out)
{
    for (size_t i = 0; i < o->slice.log_count; i++)
        SL_TRY(sl_strings_add_once(out, o->slice.logs[i]->parts.instant));
    return SL_OK;
}

/* ---- output -------------------------------------------------------------------------------------------- */

static sl_status output_open(struct outputs *out, bool second, bool deletes)
{
    struct operation *o = out->o;
    struct sl_file_spec spec = {.kind = deletes ? SL_FILE_DELETES : SL_FILE_LOG,
                                .partition = o->partition,
                                .file_id = o->file_id,
                                .version = FIRST_VERSION + second,
                                .task = o->number,
                                .attempt = o->attempt,
                                .prev_commit = o->base_instant,
                                .compacted = &out->replaced};
    return out->files[second][deletes] ? SL_OK
                                       : sl_file_writer_open(o->table, o->txn, &o->ground->schema, &spec,
                                                             &out->files[second][deletes]);
}

static sl_status take(struct outputs *out, sl_batch *batch, bool second, bool deletes)
{
    SL_TRY(sl_check_cancel(&out->o->table->runtime));
    SL_TRY(output_open(out, second, deletes));
    return sl_file_writer_write(out->files[second][deletes], batch);
}

static sl_status take_rows(void *context, sl_batch *batch, bool second)
{
    return take(context, batch, second, false);
}

static sl_status take_deletes(void *context, sl_batch *batch, bool second)
{
    return take(context, batch, second, true);
}

/* What was read is told once, by the first file's stat. */
static sl_status close_all(struct outputs *out, const struct sl_merge_counts *counts)
{
    const struct operation *o = out->o;
    bool told = false;
    for (int second = 0; second < 2; second++)
        for (int deletes = 0; deletes < 2; deletes++) {
            sl_file_writer *w = out->files[second][deletes];
            if (!w)
                continue;
            int64_t rows = sl_file_writer_rows(w);
            sl_write_stat stat = {.num_writes = deletes ? 0 : rows,
                                  .num_updates = deletes ? 0 : rows,
                                  .num_deletes = deletes ? rows : 0};
            if (!told) {
                stat.log_files_compacted = (int64_t)o->slice.log_count;
                stat.log_records = (int64_t)counts->rows_in;
                stat.log_bytes_compacted = (int64_t)o->log_bytes;
                stat.updated_compacted = (int64_t)counts->rows_out;
            }
            told = true;
            out->files[second][deletes] = NULL;
            SL_TRY(sl_file_writer_close(w, &stat, NULL));
        }
    return SL_OK;
}

static void outputs_free(struct outputs *out)
{
    for (int second = 0; second < 2; second++)
        for (int deletes = 0; deletes < 2; deletes++)
            sl_file_writer_abort(out->files[second][deletes]);
    sl_strings_free(&out->replaced);
}

/* ---- the operation ------------------------------------------------------------------------------------- */

sl_status log_compaction_write(struct operation *o)
{
    struct outputs out = {.o = o};
    struct sl_operand_sink sink = {&out, take_rows, take_deletes};
    struct sl_merge_options rules;
    struct sl_merge_counts counts = {0};
    struct sl_run_list runs = {.context = o, .open = run_open};
    size_t most;
    SL_TRY(order_logs(o));
    if (o->slice.log_count == 0) /* all of them replaced since */
        return SL_OK;
    runs.count = o->slice.log_count;
    sl_status status = SL_OK;
    SL_GO(only_native_logs(o));
    SL_GO(sl_table_rules(o->table, o->ground->schema.full, &rules));
    rules.deletes = SL_KEEP_DELETES;
    rules.batch_rows = SL_MERGE_BATCH_ROWS;
    rules.keep_dictionaries = true; /* the rows go to Parquet writers */
    SL_GO(replaced_instants(o, &out.replaced));
    SL_GO(sl_slice_logs_limit(o->table, &o->slice, o->ground->schema.full, &most));
    SL_GO(sl_merge_operands_list(&runs, most, &rules, &sink, &counts));
    /* Even logs without a record are replaced by something, or the next plan would take them again. */
    if (counts.rows_in == 0)
        SL_GO(output_open(&out, false, false));
    status = close_all(&out, &counts);
done:
    outputs_free(&out);
    return status;
}
