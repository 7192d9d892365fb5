/* Results of tasks as JSON: what a task that ran anywhere tells the transaction it belongs to. */
#include "table/table_int.h"

sl_status sl_txn_result(sl_txn *txn, const json_t *task, json_t **out)
{
    size_t count;
    SL_TRY(txn_wait_for_files(txn));
    const sl_write_stat *list = sl_txn_stats(txn, &count);
    json_t *stats = json_array();
    sl_status status = stats ? SL_OK : sl_nomem();
    for (size_t i = 0; i < count && !status; i++) {
        json_t *stat;
        status = sl_write_stat_json(&list[i], &stat);
        if (!status && json_array_append_new(stats, stat))
            status = sl_nomem();
    }
    if (!status &&
        !(*out = json_pack("{s:O, s:O}", "number", json_object_get(task, "number"), "stats", stats)))
        status = sl_nomem();
    json_decref(stats);
    return status;
}

static sl_status take_stats(sl_txn *txn, const json_t *stats)
{
    const json_t *stat;
    size_t i;
    json_array_foreach(stats, i, stat)
    {
        sl_write_stat parsed;
        SL_TRY(sl_write_stat_parse(stat, &parsed));
        sl_status status = sl_txn_add_stat(txn, &parsed);
        sl_write_stat_free(&parsed);
        SL_TRY(status);
    }
    return SL_OK;
}

sl_status sl_txn_take_results(sl_txn *txn, size_t tasks, json_t *const *results, size_t count)
{
    bool *have = sl_calloc(tasks + 1, sizeof *have);
    size_t seen = 0;
    sl_status status = have ? SL_OK : sl_nomem();
    for (size_t i = 0; i < count && !status; i++) {
        const json_t *number = json_object_get(results[i], "number");
        json_int_t n = json_is_integer(number) ? json_integer_value(number) : -1;
        if (n < 0 || (uint64_t)n >= tasks)
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
