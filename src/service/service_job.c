/*
 * Executing a plan: begun, run task by task, committed. A task that runs twice writes two files with different tokens, and
 * the one whose stat is committed counts.
 */
#include "service/service_int.h"
#include <stdio.h>
#include <string.h>

struct sl_service_job {
    sl_table *table;
    enum sl_service service;
    sl_txn *txn;
    json_t *tasks;
    struct groundwork ground; /* when they run here */
    double start;
    atomic_uint_fast64_t done; /* tasks, for the progress */
};

/* ---- begin --------------------------------------------------------------------------------------------- */

static sl_status make_tasks(sl_service_job *job, const char *instant)
{
    const sl_instant *planned =
        sl_timeline_find(sl_txn_timeline(job->txn), instant, sl_service_action(job->service));
    json_t *plan = NULL, *operation, *task;
    size_t i;
    sl_status status = SL_OK;
    if (!(job->tasks = json_array()))
        return sl_nomem();
    SL_GO(sl_instant_json_with(job->table, planned, SL_REQUESTED, "operations", &plan));
    json_array_foreach(json_object_get(plan, "operations"), i, operation)
    {
        SL_GO(operation_task(job->service, instant, i, operation, &task));
        if (json_array_append_new(job->tasks, task)) {
            status = sl_nomem();
            goto done;
        }
    }
done:
    json_decref(plan);
    return status;
}

sl_status sl_service_begin(sl_table *table, enum sl_service service, const char *instant,
                           sl_service_job **out)
{
    sl_service_job *job;
    SL_NEW(job);
    job->table = table;
    job->service = service;
    job->start = sl_monotonic();
    sl_status status = SL_OK;
    SL_GO(sl_txn_begin(
        table,
        &(struct sl_txn_options){.action = sl_service_action(service),
                                 .operation = service == SL_LOG_COMPACT ? "LOG_COMPACT" : "COMPACT",
                                 .instant = instant},
        &job->txn));
    SL_GO(make_tasks(job, instant));
    *out = job;
done:
    if (status)
        sl_service_free(job);
    return status;
}

size_t sl_service_tasks(const sl_service_job *job) { return json_array_size(job->tasks); }
const json_t *sl_service_task(const sl_service_job *job, size_t index)
{
    return json_array_get(job->tasks, index);
}

void sl_service_free(sl_service_job *job)
{
    if (!job)
        return;
    sl_txn_abort(job->txn);
    groundwork_free(&job->ground);
    json_decref(job->tasks);
    sl_free(job);
}

/* ---- one task ------------------------------------------------------------------------------------------ */

sl_status sl_service_run(sl_table *table, const json_t *task, json_t **result)
{
    sl_txn *txn = NULL;
    struct groundwork ground = {0};
    enum sl_service service;
    const char *instant;
    uint32_t attempt;
    sl_status status = SL_OK;
    SL_GO(operation_parse_task(task, &service, &instant));
    SL_GO(sl_txn_join(table, sl_service_action(service), instant, &txn));
    SL_GO(sl_random_bytes(&attempt, sizeof attempt)); /* a retry must not meet the first try's file */
    SL_GO(groundwork_lay(table, &task, 1, &ground));
    SL_GO(operation_run(table, txn, &ground, task, attempt >> 1));
    SL_GO(sl_txn_result(txn, task, result));
done:
    groundwork_free(&ground);
    sl_txn_leave(txn);
    return status;
}

/* ---- commit -------------------------------------------------------------------------------------------- */

/* Two logs of one operation are one file group. */
static size_t count_groups(const sl_write_stat *stats, size_t count)
{
    size_t groups = 0;
    for (size_t i = 0; i < count; i++)
        groups += stats[i].log_files_compacted > 0;
    return groups;
}

static sl_status publish(sl_service_job *job, struct sl_write_result *result)
{
    struct sl_write_result r = {.action = sl_action_name(sl_service_action(job->service)),
                                .counts_known = job->service == SL_COMPACT};
    size_t count;
    sl_status status = SL_OK;
    memcpy(r.instant, sl_txn_instant(job->txn), SL_INSTANT_BYTES);
    const sl_write_stat *stats = sl_txn_stats(job->txn, &count);
    for (size_t i = 0; i < count; i++) {
        sl_write_result_add(&r, &stats[i]);
        r.rows_in += (uint64_t)stats[i].log_records;
    }
    r.file_groups = count_groups(stats, count);
    sl_txn *txn = job->txn;
    job->txn = NULL;
    SL_GO(sl_txn_commit(txn, NULL, r.completed));
    r.seconds = sl_monotonic() - job->start;
    *result = r;
done:
    sl_service_free(job);
    return status;
}

sl_status sl_service_commit(sl_service_job *job, json_t *const *results, size_t count,
                            struct sl_write_result *result)
{
    sl_status status = sl_txn_take_results(job->txn, sl_service_tasks(job), results, count);
    if (status) {
        sl_service_free(job);
        return status;
    }
    return publish(job, result);
}

static sl_status execute_task(void *context, size_t index)
{
    sl_service_job *job = context;
    SL_TRY(operation_run(job->table, job->txn, &job->ground, json_array_get(job->tasks, index), 0));
    sl_progress(&job->table->runtime, "compacting", atomic_fetch_add(&job->done, 1) + 1,
                json_array_size(job->tasks));
    return SL_OK;
}

/* What one operation takes at least: eight open files, their pages, and those that are being written. */
#define OPERATION_BYTES ((size_t)32 << 20)

static size_t workers_for(const sl_runtime *runtime)
{
    return sl_budget_share(runtime->budget, OPERATION_BYTES, 1, sl_slices_at_once(runtime));
}

/* What all tasks need, before the first one runs. The tasks that begin at once announce their files themselves. */
static sl_status prepare(sl_service_job *job)
{
    size_t count = sl_service_tasks(job), begin = workers_for(&job->table->runtime);
    const json_t **tasks = sl_calloc(count + 1, sizeof *tasks);
    if (!tasks)
        return sl_nomem();
    for (size_t i = 0; i < count; i++)
        tasks[i] = json_array_get(job->tasks, i);
    sl_status status = groundwork_lay(job->table, tasks, count, &job->ground);
    if (!status && job->service == SL_COMPACT && count > begin)
        status = compaction_announce(job->table, job->txn, &job->ground, tasks + begin, count - begin);
    sl_free(tasks);
    return status;
}

sl_status sl_service_finish(sl_service_job *job, struct sl_write_result *result)
{
    sl_status status = prepare(job);
    if (!status)
        status = sl_pool_for_some(job->table->runtime.pool, workers_for(&job->table->runtime),
                                  sl_service_tasks(job), execute_task, job);
    if (!status)
        return publish(job, result);
    sl_service_free(job);
    return status;
}

sl_status sl_service_execute(sl_table *table, enum sl_service service, const char *instant,
                             struct sl_write_result *result)
{
    sl_service_job *job;
    SL_TRY(sl_service_begin(table, service, instant, &job));
    return sl_service_finish(job, result);
}
