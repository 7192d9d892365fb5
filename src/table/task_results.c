/* Results of tasks as JSON: what a task that ran anywhere tells the transaction it belongs to. */
#include "table/table_int.h"
#include <string.h>

static sl_status remove_file(const sl_table *table, const char *relative)
{
    char *path;
    SL_TRY(sl_table_path(table, relative, &path));
    sl_status status = sl_storage_delete(table->storage, path);
    sl_free(path);
    if (sl_status_code(status) != SL_E_NOT_FOUND) /* the rollback was here before */
        return status;
    sl_status_free(status);
    return SL_OK;
}

static sl_status remove_files(const sl_table *table, const sl_write_stat *stat)
{
    SL_TRY(remove_file(table, stat->path));
    for (size_t i = 0; i < stat->cdc_count; i++)
        SL_TRY(remove_file(table, stat->cdc[i].path));
    return SL_OK;
}

/* The job may have been committed or given up meanwhile, without this task: its files must not stay. */
static sl_status check_still_wanted(sl_txn *txn)
{
    size_t count;
    sl_timeline now;
    SL_TRY(sl_timeline_load(txn_table(txn), &now));
    const sl_instant *own = txn_instant(txn), *instant = sl_timeline_find(&now, own->requested, own->action);
    bool is_wanted = instant && instant->state == SL_INFLIGHT;
    sl_timeline_free(&now);
    if (is_wanted)
        return SL_OK;
    const sl_write_stat *stats = sl_txn_stats(txn, &count);
    for (size_t i = 0; i < count; i++)
        SL_TRY(remove_files(txn_table(txn), &stats[i]));
    return sl_errorf(SL_E_CONFLICT, "the job of instant %s ended while the task ran", own->requested);
}

sl_status sl_txn_result(sl_txn *txn, const json_t *task, json_t **out)
{
    size_t count;
    SL_TRY(txn_wait_for_files(txn));
    SL_TRY(check_still_wanted(txn));
    const sl_write_stat *list = sl_txn_stats(txn, &count);
    json_t *stats = json_array();
    sl_status status = stats ? SL_OK : sl_nomem();
    for (size_t i = 0; i < count && !status; i++) {
        json_t *stat;
        status = sl_write_stat_json(&list[i], &stat);
        if (!status && json_array_append_new(stats, stat))
            status = sl_nomem();
    }
    if (!status && !(*out = json_pack("{s:s, s:O, s:O}", "instant", sl_txn_instant(txn), "number",
                                      json_object_get(task, "number"), "stats", stats)))
        status = sl_nomem();
    json_decref(stats);
    return status;
}

/* A plan that is executed again has the instant of its first try, whose files are gone. */
static sl_status check_file(const sl_table *table, const char *relative, int64_t bytes)
{
    char *path;
    sl_entry entry;
    SL_TRY(sl_table_path(table, relative, &path));
    sl_status status = sl_storage_stat(table->storage, path, &entry);
    sl_free(path);
    if (sl_status_code(status) == SL_E_NOT_FOUND) {
        sl_status_free(status);
        return sl_errorf(SL_E_CONFLICT, "file %s of a task's result is not there (any more)", relative);
    }
    SL_TRY(status);
    return entry.size == (uint64_t)bytes
               ? SL_OK
               : sl_corrupt("file %s of a task's result has %" PRIu64 " bytes instead of %" PRId64, relative,
                            entry.size, bytes);
}

static sl_status check_files(const sl_table *table, const sl_write_stat *stat)
{
    SL_TRY(check_file(table, stat->path, stat->bytes));
    for (size_t i = 0; i < stat->cdc_count; i++)
        SL_TRY(check_file(table, stat->cdc[i].path, stat->cdc[i].bytes));
    return SL_OK;
}

static sl_status take_stats(sl_txn *txn, const json_t *stats)
{
    const json_t *stat;
    size_t i;
    json_array_foreach(stats, i, stat)
    {
        sl_write_stat parsed;
        SL_TRY(sl_write_stat_parse(stat, &parsed));
        sl_status status = check_files(txn_table(txn), &parsed);
        if (!status)
            status = sl_txn_add_stat(txn, &parsed);
        sl_write_stat_free(&parsed);
        SL_TRY(status);
    }
    return SL_OK;
}

static bool is_of_instant(const json_t *result, const char *instant)
{
    const char *own = json_string_value(json_object_get(result, "instant"));
    return own && strcmp(own, instant) == 0;
}

sl_status sl_txn_take_results(sl_txn *txn, size_t tasks, json_t *const *results, size_t count)
{
    bool *have = sl_calloc(tasks + 1, sizeof *have);
    size_t seen = 0;
    sl_status status = have ? SL_OK : sl_nomem();
    for (size_t i = 0; i < count && !status; i++) {
        const json_t *number = json_object_get(results[i], "number");
        json_int_t n = json_is_integer(number) ? json_integer_value(number) : -1;
        if (n < 0 || (uint64_t)n >= tasks || !is_of_instant(results[i], sl_txn_instant(txn)))
            status = sl_input("result %zu belongs to no task of this job", i);
        else if (!have[n]) { /* a task that ran twice counts once: the other try's files go with the commit */
            have[n] = true;
            seen++;
            status = take_stats(txn, json_object_get(results[i], "stats"));
        }
    }
    sl_free(have);
    if (!status && seen < tasks)
        status = sl_input("%zu of the job's %zu tasks have no result", tasks - seen, tasks);
    return status;
}
