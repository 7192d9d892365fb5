/*
 * A write in parts. The plan is the transaction and a number of tasks; which rows belong to which task follows from the
 * rows themselves (sl_route), so nothing has to be known about them beforehand.
 */
#include "write/write_int.h"
#include <stdio.h>
#include <string.h>

#define GROUPS_PER_TASK 100000 /* keeps the numbers of different tasks' file groups apart */

struct sl_write_job {
    sl_table *table;
    sl_txn *txn;
    enum sl_operation operation;
    uint32_t tasks;
    double start;
};

void sl_write_result_add(struct sl_write_result *r, const sl_write_stat *stat)
{
    r->rows_written += (uint64_t)stat->num_writes;
    r->inserted += (uint64_t)stat->num_inserts;
    r->updated += (uint64_t)stat->num_updates;
    r->deleted += (uint64_t)stat->num_deletes;
    r->bytes += (uint64_t)stat->bytes;
    r->files++;
}

/* ---- routing ------------------------------------------------------------------------------------------- */

static sl_status route_rows(const sl_table *table, const sl_batch *rows, uint32_t tasks, uint32_t *out)
{
    sl_array *keys = NULL, *partitions = NULL;
    sl_status status = sl_keygen_apply(&table->keygen, rows, &keys, &partitions);
    if (!status)
        status = router_bucket_of_keys(table, keys, out);
    for (int64_t i = 0; i < rows->rows && !status; i++) {
        size_t len;
        const uint8_t *path = sl_bytes_at(partitions, i, &len);
        uint64_t group[2] = {sl_xxh64(path, len), out[i]};
        out[i] = (uint32_t)(sl_xxh64(group, sizeof group) % tasks);
    }
    sl_array_unref(keys);
    sl_array_unref(partitions);
    return status;
}

/* The columns that keys are made of; a task may not add columns to the table. */
static sl_status route_columns(const sl_table *table, enum sl_operation operation, const sl_type *input,
                               const sl_type **out)
{
    const sl_type *current = NULL, *columns = NULL;
    sl_status status = SL_OK;
    SL_GO(writer_current_schema(table, &current));
    SL_GO(operation == SL_OP_DELETE ? writer_key_columns(table, current, input, &columns)
                                    : writer_row_columns(table, current, input, &columns));
    if (operation != SL_OP_DELETE && columns->field_count > current->field_count)
        status =
            sl_hint(sl_input("column %s is not in the table", columns->fields[current->field_count].name),
                    "tasks of a job cannot add columns; one plain write with the new column does");
    else
        *out = sl_type_ref(columns);
done:
    sl_type_unref(columns);
    sl_type_unref(current);
    return status;
}

static sl_status route_batch(const sl_table *table, const sl_type *columns, sl_batch *batch, uint32_t tasks,
                             uint32_t *out)
{
    sl_batch *rows;
    SL_TRY(sl_batch_conform(batch, columns, &rows));
    sl_status status = route_rows(table, rows, tasks, out);
    sl_batch_unref(rows);
    return status;
}

sl_status sl_route(const sl_table *table, enum sl_operation operation, sl_batch *batch, uint32_t tasks,
                   uint32_t *out)
{
    const sl_type *columns;
    if (tasks == 0)
        return sl_input("rows cannot be routed to 0 tasks");
    SL_TRY(route_columns(table, operation, batch->schema, &columns));
    sl_status status = route_batch(table, columns, batch, tasks, out);
    sl_type_unref(columns);
    return status;
}

/* ---- the job ------------------------------------------------------------------------------------------- */

sl_status sl_write_job_begin(sl_table *table, enum sl_operation operation, uint32_t tasks, sl_write_job **out)
{
    sl_write_job *job;
    if (tasks == 0 || tasks > UINT32_MAX / GROUPS_PER_TASK)
        return sl_input("a job of %" PRIu32 " tasks", tasks);
    SL_NEW(job);
    *job = (sl_write_job){.table = table, .operation = operation, .tasks = tasks, .start = sl_monotonic()};
    sl_status status = sl_table_check_writable(table);
    if (!status)
        status = sort_mode_check(table, operation);
    if (!status)
        status = write_begin(table, operation, &job->txn);
    if (status)
        sl_free(job);
    else
        *out = job;
    return status;
}

void sl_write_job_free(sl_write_job *job)
{
    if (!job)
        return;
    sl_txn_abort(job->txn);
    sl_free(job);
}

sl_status sl_write_job_task(const sl_write_job *job, uint32_t index, json_t **out)
{
    *out = json_pack("{s:s, s:s, s:I, s:I, s:I}", "kind", "write", "instant", sl_txn_instant(job->txn),
                     "operation", (json_int_t)job->operation, "number", (json_int_t)index, "tasks",
                     (json_int_t)job->tasks);
    return *out ? SL_OK : sl_nomem();
}

struct write_task {
    const char *instant;
    enum sl_operation operation;
    uint32_t number, tasks;
};

static sl_status task_parse(const json_t *json, struct write_task *out)
{
    json_int_t operation, number, tasks;
    if (json_unpack((json_t *)(uintptr_t)json, "{s:s, s:I, s:I, s:I}", "instant", &out->instant, "operation",
                    &operation, "number", &number, "tasks", &tasks) ||
        operation < SL_OP_INSERT || operation > SL_OP_INSERT_OVERWRITE_TABLE || number < 0 ||
        tasks <= number || tasks > UINT32_MAX / GROUPS_PER_TASK)
        return sl_input("this is no task of a write");
    out->operation = (enum sl_operation)operation;
    out->number = (uint32_t)number;
    out->tasks = (uint32_t)tasks;
    return SL_OK;
}

/* A row that another task owns would make a second file group of its bucket: refused. */
static sl_status check_routing(const sl_table *table, const struct write_task *task, const sl_type *columns,
                               sl_batch *batch)
{
    uint32_t *numbers = sl_calloc((size_t)batch->rows + 1, sizeof *numbers);
    if (!numbers)
        return sl_nomem();
    sl_status status = route_batch(table, columns, batch, task->tasks, numbers);
    for (int64_t i = 0; i < batch->rows && !status; i++)
        if (numbers[i] != task->number)
            status = sl_at_row(
                sl_input("belongs to task %" PRIu32 ", not to task %" PRIu32, numbers[i], task->number), i);
    sl_free(numbers);
    return status;
}

struct task_rows {
    sl_writer *writer;
    const sl_table *table;
    const struct write_task *task;
    const sl_type *columns;
    json_int_t count;
};

static sl_status append_batch(void *context, sl_batch *batch)
{
    struct task_rows *r = context;
    SL_TRY(check_routing(r->table, r->task, r->columns, batch));
    r->count += batch->rows;
    return sl_writer_append(r->writer, batch);
}

static sl_status append_rows(sl_writer *w, const sl_table *table, const struct write_task *task,
                             sl_stream *rows, json_int_t *count)
{
    struct task_rows r = {.writer = w, .table = table, .task = task};
    SL_TRY(route_columns(table, task->operation, rows->schema, &r.columns));
    sl_status status = sl_stream_drain(rows, NULL, append_batch, &r);
    sl_type_unref(r.columns);
    *count = r.count;
    return status;
}

/* What the commit must know of a task beside its files. */
static sl_status answer_add(json_t *answer, json_int_t rows, const sl_strings *partitions)
{
    json_t *paths = json_array();
    bool failed = json_object_set_new(answer, "rows", json_integer(rows)) ||
                  json_object_set_new(answer, "partitions", paths);
    for (size_t i = 0; i < partitions->count && !failed; i++)
        failed = json_array_append_new(paths, json_string(partitions->items[i]));
    return failed ? sl_nomem() : SL_OK;
}

sl_status sl_write_job_run(sl_table *table, const json_t *json, sl_stream *rows, json_t **result)
{
    struct write_task task;
    sl_txn *txn = NULL;
    sl_writer *w = NULL;
    uint32_t attempt;
    json_int_t rows_in = 0;
    json_t *answer = NULL;
    sl_status status = SL_OK;
    SL_GO(task_parse(json, &task));
    SL_GO(sl_txn_join(table, sl_write_action(table, task.operation), task.instant, &txn));
    SL_GO(sl_random_bytes(&attempt, sizeof attempt));
    SL_GO(sl_writer_open(table, task.operation, rows->schema, &w));
    SL_GO(writer_join(w, txn, &(struct flush_numbers){task.number * GROUPS_PER_TASK, attempt >> 1}));
    SL_GO(append_rows(w, table, &task, rows, &rows_in));
    SL_GO(writer_finish_task(w));
    SL_GO(sl_txn_result(txn, json, &answer));
    SL_GO(answer_add(answer, rows_in, writer_partitions(w)));
    *result = answer;
    answer = NULL;
done:
    json_decref(answer);
    sl_writer_close(w);
    sl_txn_leave(txn);
    sl_stream_close(rows);
    return status;
}

/* Rows that the tasks took in; of a task that ran twice the first result counts, as for its files. */
static sl_status count_rows(const sl_write_job *job, json_t *const *results, size_t count, uint64_t *out)
{
    bool *have;
    SL_NEW_ARRAY(have, (size_t)job->tasks);
    for (size_t i = 0; i < count; i++) {
        json_int_t number = json_integer_value(json_object_get(results[i], "number"));
        json_int_t rows = json_integer_value(json_object_get(results[i], "rows"));
        if (number < 0 || number >= job->tasks || have[number] || rows < 0)
            continue;
        have[number] = true;
        *out += (uint64_t)rows;
    }
    sl_free(have);
    return SL_OK;
}

static sl_status add_touched(sl_strings *list, const char *partition)
{
    return partition ? sl_strings_add_once(list, partition)
                     : sl_input("a task's result has a partition that is no text");
}

/* The partitions that the tasks' rows touched; both results of a task that ran twice name the same. */
static sl_status replace_touched(const sl_write_job *job, json_t *const *results, size_t count,
                                 uint64_t *replaced)
{
    sl_strings touched = {0};
    sl_status status = SL_OK;
    const json_t *path;
    size_t k;
    for (size_t i = 0; i < count; i++)
        json_array_foreach(json_object_get(results[i], "partitions"), k, path)
            SL_GO(add_touched(&touched, json_string_value(path)));
    status = replace_groups(job->table, job->operation, &touched, job->txn, replaced);
done:
    sl_strings_free(&touched);
    return status;
}

sl_status sl_write_job_commit(sl_write_job *job, json_t *const *results, size_t count,
                              struct sl_write_result *result)
{
    struct sl_write_result r = {.action = sl_action_name(sl_write_action(job->table, job->operation)),
                                .counts_known = job->table->type == SL_COPY_ON_WRITE ||
                                                operation_replaces(job->operation)};
    size_t stat_count;
    sl_status status = SL_OK;
    memcpy(r.instant, sl_txn_instant(job->txn), SL_INSTANT_BYTES);
    SL_GO(sl_txn_take_results(job->txn, job->tasks, results, count));
    const sl_write_stat *stats = sl_txn_stats(job->txn, &stat_count);
    for (size_t i = 0; i < stat_count; i++)
        sl_write_result_add(&r, &stats[i]);
    SL_GO(count_rows(job, results, count, &r.rows_in));
    SL_GO(replace_touched(job, results, count, &r.groups_replaced));
    sl_txn *txn = job->txn;
    job->txn = NULL;
    SL_GO(sl_txn_commit(txn, NULL, r.completed));
    r.seconds = sl_monotonic() - job->start;
    *result = r;
done:
    sl_write_job_free(job);
    return status;
}
