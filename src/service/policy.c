/*
 * When a slice is due (spec/lsm-layout.md 12.2, last paragraph). A few small logs beside a large base are merged among
 * themselves, so that their rows are written few times; once the logs weigh a quarter of the base, or slow its readers in
 * other ways, the base is written anew.
 */
#include "service/service_int.h"
#include <string.h>

#define POLICY_SETTING "sluice.compaction.policy"

#define LOGS_PART_OF_BASE    4  /* logs of a quarter of the base's size */
#define DELETES_PART_OF_ROWS 10 /* deletes of a tenth of its rows */
#define RUNS_MAX             64 /* what a reader opens at once without thinking of its memory */

/* Settings of Hudi's triggers: who gives one wants it to count. */
static const char *const hudi_settings[] = {
    "hoodie.compact.inline.trigger.strategy",
    "hoodie.compact.inline.max.delta.commits",
    "hoodie.compact.inline.max.delta.seconds",
    "hoodie.compaction.strategy",
};

sl_status policy_is_size_tiered(const sl_table *table, bool *out)
{
    const char *policy = sl_table_setting(table, POLICY_SETTING, NULL);
    *out = table->layout == SL_LAYOUT_LSM;
    for (size_t i = 0; i < sizeof hudi_settings / sizeof *hudi_settings; i++)
        *out = *out && !sl_table_setting(table, hudi_settings[i], NULL);
    if (!policy)
        return SL_OK;
    *out = strcmp(policy, "size_tiered") == 0;
    return *out || strcmp(policy, "hudi") == 0
               ? SL_OK
               : sl_input("setting " POLICY_SETTING ": \"%s\" is neither size_tiered nor hudi", policy);
}

static sl_status base_rows(const sl_table *table, const struct candidate *item, int64_t *out)
{
    char *relative;
    sl_source *source = NULL;
    SL_TRY(sl_path_join(item->group->partition, item->slice->base->name, &relative));
    sl_status status = sl_source_open(table, relative, NULL, &source);
    sl_free(relative);
    SL_TRY(status);
    *out = sl_parquet_rows(source->parquet);
    sl_source_unref(source);
    return SL_OK;
}

sl_status policy_wants_compaction(const sl_table *table, const struct candidate *item,
                                  const struct sl_slice_logs *logs, bool *out)
{
    uint64_t bytes = 0, base = item->slice->base ? item->slice->base->size : 0;
    int64_t deletes = 0, rows = 0;
    size_t runs = 0;
    for (size_t i = 0; i < logs->count; i++) {
        const struct sl_slice_log *log = &logs->items[i];
        if (log->dropped)
            continue;
        runs++;
        bytes += log->file->size;
        if (log->file->parts.kind == SL_FILE_DELETES && log->source)
            deletes += sl_parquet_rows(log->source->parquet);
    }
    *out = runs > RUNS_MAX || bytes * LOGS_PART_OF_BASE >= base;
    if (*out || deletes == 0)
        return SL_OK;
    SL_TRY(base_rows(table, item, &rows));
    *out = deletes * DELETES_PART_OF_ROWS > rows;
    return SL_OK;
}

sl_status policy_choose_compactions(const sl_table *table, struct candidates *c)
{
    size_t kept = 0, next = 0;
    sl_status status = SL_OK;
    for (; next < c->count && !status; next++) {
        struct sl_slice_logs logs = {0};
        bool wanted = false;
        status = candidate_logs(table, &c->items[next], &logs);
        if (!status)
            status = policy_wants_compaction(table, &c->items[next], &logs, &wanted);
        sl_slice_logs_free(&logs);
        if (wanted)
            c->items[kept++] = c->items[next];
        else
            candidate_free(&c->items[next]);
    }
    for (; next < c->count; next++)
        candidate_free(&c->items[next]);
    c->count = kept;
    return status;
}
