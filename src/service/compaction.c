/*
 * Executing a compaction. A task is one operation of the plan with the instant and the schema beside it, so
 * that any process that sees the table can run it; its result is the write stat of the new base file. A task
 * that runs twice writes two files with different tokens, and the one whose stat is committed counts.
 */
#include "service/service.h"
#include <stdio.h>
#include <string.h>

struct sl_compaction {
    sl_table *table;
    sl_txn *txn;
    json_t *tasks;
    double start;
};

/* ---- begin --------------------------------------------------------------------------------------------- */

static sl_status make_tasks(sl_compaction *c, const char *instant)
{
    const sl_timeline *timeline = sl_txn_timeline(c->txn);
    const sl_instant *planned = sl_timeline_find(timeline, instant, SL_ACTION_COMPACTION);
    json_t *plan = NULL, *operation;
    size_t i;
    sl_status status = SL_OK;
    if (!(c->tasks = json_array()))
        return sl_nomem();
    SL_GO(sl_instant_json(c->table, planned, SL_REQUESTED, &plan));
    if (!json_object_get(plan, "operations")) {
        status = sl_corrupt("the plan of compaction %s has no operations in it", instant);
        goto done;
    }
    json_array_foreach(
        json_object_get(plan, "operations"), i,
        operation) if (json_array_append_new(c->tasks,
                                             json_pack("{s:s, s:I, s:O}", "instant", instant, "number",
                                                       (json_int_t)i, "operation", operation)))
    {
        status = sl_nomem();
        goto done;
    }
done:
    json_decref(plan);
    return status;
}

sl_status sl_compaction_begin(sl_table *table, const char *instant, sl_compaction **out)
{
    sl_compaction *c;
    SL_NEW(c);
    c->table = table;
    c->start = sl_monotonic();
    sl_status status = SL_OK;
    SL_GO(sl_txn_begin(
        table,
        &(struct sl_txn_options){.action = SL_ACTION_COMPACTION, .operation = "COMPACT", .instant = instant},
        &c->txn));
    SL_GO(make_tasks(c, instant));
    *out = c;
done:
    if (status)
        sl_compaction_free(c);
    return status;
}

size_t sl_compaction_tasks(const sl_compaction *c) { return json_array_size(c->tasks); }
const json_t *sl_compaction_task(const sl_compaction *c, size_t index)
{
    return json_array_get(c->tasks, index);
}

void sl_compaction_free(sl_compaction *c)
{
    if (!c)
        return;
    sl_txn_abort(c->txn);
    json_decref(c->tasks);
    sl_free(c);
}

/* ---- one task ------------------------------------------------------------------------------------------ */

struct fold {
    sl_table *table;
    sl_txn *txn;
    const char *instant, *partition, *file_id, *base_name, *base_instant;
    bool is_replaced; /* since the plan was made: there is nothing to fold any more */
    uint32_t number, attempt;
    sl_strings log_names;
    sl_view view;
    sl_read_slice slice;
    sl_write_schema schema;
    uint64_t log_bytes;
};

static sl_status fold_parse(struct fold *f, const json_t *task)
{
    json_int_t number;
    json_t *operation, *base, *logs, *name;
    size_t i;
    if (json_unpack((json_t *)(uintptr_t)task, "{s:s, s:I, s:o}", "instant", &f->instant, "number", &number,
                    "operation", &operation) ||
        json_unpack(operation, "{s:s, s:s, s:s, s:o, s:o}", "fileId", &f->file_id, "partitionPath",
                    &f->partition, "baseInstantTime", &f->base_instant, "dataFilePath", &base,
                    "deltaFilePaths", &logs))
        return sl_input("this is no task of a compaction");
    f->number = (uint32_t)number;
    f->base_name = json_string_value(base); /* null: the slice has logs only */
    json_array_foreach(logs, i, name)
    {
        if (!json_is_string(name))
            return sl_corrupt("compaction plan %s: a log name is no text", f->instant);
        SL_TRY(sl_strings_add(&f->log_names, json_string_value(name)));
    }
    return SL_OK;
}

static const sl_data_file *find_file(const sl_file_group *group, const char *name)
{
    const char *slash = strrchr(name, '/'); /* version-1 plans hold whole paths */
    name = slash ? slash + 1 : name;
    for (size_t i = 0; i < group->file_count; i++)
        if (strcmp(group->files[i].name, name) == 0)
            return &group->files[i];
    return NULL;
}

/* The files that the plan names, as the view knows them. */
static sl_status fold_find_files(struct fold *f)
{
    sl_strings partitions = {0};
    SL_TRY(sl_strings_add(&partitions, f->partition));
    sl_status status = sl_view_load(f->table, &(struct sl_view_options){.partitions = &partitions}, &f->view);
    sl_strings_free(&partitions);
    SL_TRY(status);
    const sl_file_group *group = NULL;
    for (size_t g = 0; f->view.partition_count && g < f->view.partitions[0].group_count; g++)
        if (strcmp(f->view.partitions[0].groups[g].file_id, f->file_id) == 0)
            group = &f->view.partitions[0].groups[g];
    if (!group) {
        SL_TRY(sl_group_is_replaced(f->table, &f->view.timeline, f->partition, f->file_id, &f->is_replaced));
        return f->is_replaced ? SL_OK
                              : sl_corrupt("file group %s of the plan is not there", f->file_id);
    }
    f->slice.group = group;
    if (f->base_name && !(f->slice.base = find_file(group, f->base_name)))
        return sl_corrupt("base file %s of the plan is not there", f->base_name);
    SL_NEW_ARRAY(f->slice.logs, f->log_names.count + 1);
    for (size_t i = 0; i < f->log_names.count; i++) {
        const sl_data_file *log = find_file(group, f->log_names.items[i]);
        if (!log)
            return sl_corrupt("log file %s of the plan is not there", f->log_names.items[i]);
        f->slice.logs[f->slice.log_count++] = log;
        f->log_bytes += log->size;
    }
    return SL_OK;
}

static sl_status fold_schema(struct fold *f)
{
    const sl_type *data;
    SL_TRY(sl_table_schema(f->table, &f->view.timeline, NULL, &data));
    sl_status status = sl_write_schema_init(f->table, data, &f->schema);
    sl_type_unref(data);
    return status;
}

/* Records that came from logs: all, less the base rows, which either came out or were deleted. */
static int64_t log_records(const struct sl_merge_counts *c)
{
    uint64_t base_rows = c->rows_out - c->inserted + c->deleted;
    return base_rows < c->rows_in ? (int64_t)(c->rows_in - base_rows) : 0;
}

static sl_status fold_write(struct fold *f)
{
    struct sl_merge_counts counts = {0};
    struct sl_slice_options read = {
        .schema = f->schema.full,
        .table_schema = f->schema.full,
        .keys_needed = true,
        .strict_order = strcmp(sl_table_setting(f->table, "sluice.lsm.order", "repair"), "strict") == 0,
        .counts = &counts,
        .pool = f->table->runtime.pool};
    struct sl_file_spec spec = {.kind = SL_FILE_BASE,
                                .partition = f->partition,
                                .file_id = f->file_id,
                                .task = f->number,
                                .attempt = f->attempt,
                                .prev_commit = f->slice.base ? f->slice.base->parts.instant : f->base_instant,
                                .prev_base_file = f->slice.base ? f->slice.base->name : NULL};
    sl_stream *rows = NULL;
    sl_file_writer *w = NULL;
    sl_status status = SL_OK;
    SL_GO(sl_slice_open(f->table, &f->slice, &read, &rows));
    SL_GO(sl_file_writer_open(f->table, f->txn, &f->schema, &spec, &w));
    for (;;) {
        sl_batch *batch;
        SL_GO(sl_check_cancel(&f->table->runtime));
        SL_GO(sl_stream_next(rows, &batch));
        if (!batch)
            break;
        status = sl_file_writer_write(w, batch);
        sl_batch_unref(batch);
        if (status)
            goto done;
    }
    sl_stream_close(rows); /* counts are final now */
    rows = NULL;
    sl_write_stat stat = {.num_writes = sl_file_writer_rows(w),
                          .num_inserts = (int64_t)counts.inserted,
                          .num_updates = (int64_t)counts.updated,
                          .num_deletes = (int64_t)counts.deleted,
                          .log_files_compacted = (int64_t)f->slice.log_count,
                          .log_records = log_records(&counts),
                          .log_bytes_compacted = (int64_t)f->log_bytes,
                          .updated_compacted = (int64_t)counts.updated};
    sl_file_writer *closing = w;
    w = NULL;
    status = sl_file_writer_close(closing, &stat, NULL);
done:
    sl_stream_close(rows);
    sl_file_writer_abort(w);
    return status;
}

static void fold_free(struct fold *f)
{
    sl_read_slice_free(&f->slice);
    sl_view_free(&f->view);
    sl_write_schema_free(&f->schema);
    sl_strings_free(&f->log_names);
}

/* Runs a task inside `txn`, which collects the stat. */
static sl_status fold_run(sl_table *table, sl_txn *txn, const json_t *task, uint32_t attempt)
{
    struct fold f = {.table = table, .txn = txn, .attempt = attempt};
    sl_status status = fold_parse(&f, task);
    if (!status)
        status = fold_find_files(&f);
    if (!status && !f.is_replaced)
        status = fold_schema(&f);
    if (!status && !f.is_replaced)
        status = fold_write(&f);
    if (status && f.file_id)
        status = sl_context(status, "compaction of partition %s, file group %s", f.partition, f.file_id);
    fold_free(&f);
    return status;
}

sl_status sl_compaction_run(sl_table *table, const json_t *task, json_t **result)
{
    sl_txn *txn = NULL;
    const char *instant;
    uint32_t attempt;
    sl_status status = SL_OK;
    if (json_unpack((json_t *)(uintptr_t)task, "{s:s}", "instant", &instant))
        return sl_input("this is no task of a compaction");
    SL_GO(sl_txn_join(table, SL_ACTION_COMPACTION, instant, &txn));
    SL_GO(sl_random_bytes(&attempt, sizeof attempt)); /* a retry must not meet the first try's file */
    SL_GO(fold_run(table, txn, task, attempt >> 1));
    SL_GO(sl_txn_result(txn, task, result));
done:
    sl_txn_leave(txn);
    return status;
}

/* ---- commit -------------------------------------------------------------------------------------------- */

static sl_status finish(sl_compaction *c, struct sl_write_result *result)
{
    struct sl_write_result r = {.action = "compaction", .counts_known = true};
    size_t count;
    sl_status status = SL_OK;
    memcpy(r.instant, sl_txn_instant(c->txn), SL_INSTANT_BYTES);
    const sl_write_stat *stats = sl_txn_stats(c->txn, &count);
    for (size_t i = 0; i < count; i++) {
        sl_write_result_add(&r, &stats[i]);
        r.rows_in += (uint64_t)stats[i].log_records;
    }
    r.file_groups = count;
    sl_txn *txn = c->txn;
    c->txn = NULL;
    SL_GO(sl_txn_commit(txn, NULL, r.completed));
    r.seconds = sl_monotonic() - c->start;
    *result = r;
done:
    sl_compaction_free(c);
    return status;
}

sl_status sl_compaction_commit(sl_compaction *c, json_t *const *results, size_t count,
                               struct sl_write_result *result)
{
    sl_status status = sl_txn_take_results(c->txn, sl_compaction_tasks(c), results, count);
    if (status) {
        sl_compaction_free(c);
        return status;
    }
    return finish(c, result);
}

static sl_status execute_task(void *context, size_t index)
{
    sl_compaction *c = context;
    SL_TRY(fold_run(c->table, c->txn, json_array_get(c->tasks, index), 0));
    sl_progress(&c->table->runtime, "compacting", index + 1, json_array_size(c->tasks));
    return SL_OK;
}

sl_status sl_compaction_execute(sl_table *table, const char *instant, struct sl_write_result *result)
{
    sl_compaction *c;
    SL_TRY(sl_compaction_begin(table, instant, &c));
    sl_status status = sl_pool_for(table->runtime.pool, sl_compaction_tasks(c), execute_task, c);
    if (status) {
        sl_compaction_free(c);
        return status;
    }
    return finish(c, result);
}
