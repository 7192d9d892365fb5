/* Planning a compaction: metadata only (spec/lsm-layout.md 12.2, spec/timeline.md 5.2). */
#include "service/service.h"
#include <string.h>

struct candidate {
    const sl_file_group *group;
    const sl_slice *slice;
    uint64_t log_bytes;
};

static int by_log_bytes(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->log_bytes != y->log_bytes)
        return x->log_bytes < y->log_bytes ? 1 : -1;
    int c = strcmp(x->group->partition, y->group->partition);
    return c ? c : strcmp(x->group->file_id, y->group->file_id);
}

static double megabytes(uint64_t bytes) { return (double)bytes / (1024.0 * 1024.0); }

/* Read: base and logs; write: the base again, or a whole file when there is none (spec/write-path.md 9). */
static double io_megabytes(const struct candidate *c, double *read, double *write)
{
    const uint64_t file_bytes_max = 120u << 20;
    uint64_t base = c->slice->base ? c->slice->base->size : 0;
    *read = megabytes(base + c->log_bytes);
    *write = megabytes(base ? base : file_bytes_max);
    return *read + *write;
}

static json_t *operation_json(const struct candidate *c)
{
    double read, write, total = io_megabytes(c, &read, &write);
    json_t *logs = json_array();
    for (size_t i = 0; i < c->slice->log_count; i++)
        json_array_append_new(logs, json_string(c->slice->logs[i]->name));
    return json_pack("{s:s, s:o, s:s?, s:s, s:s, s:{s:f, s:f, s:f, s:f, s:f}, s:n}", "baseInstantTime",
                     c->slice->base_instant, "deltaFilePaths", logs, "dataFilePath",
                     c->slice->base ? c->slice->base->name : NULL, "fileId", c->group->file_id,
                     "partitionPath", c->group->partition, "metrics", "TOTAL_LOG_FILES",
                     (double)c->slice->log_count, "TOTAL_LOG_FILES_SIZE", (double)c->log_bytes,
                     "TOTAL_IO_READ_MB", read, "TOTAL_IO_WRITE_MB", write, "TOTAL_IO_MB", total,
                     "bootstrapFilePath");
}

static sl_status collect(const sl_view *view, struct candidate **out, size_t *count)
{
    size_t groups = 0;
    for (size_t p = 0; p < view->partition_count; p++)
        groups += view->partitions[p].group_count;
    struct candidate *list;
    SL_NEW_ARRAY(list, groups + 1);
    size_t n = 0;
    for (size_t p = 0; p < view->partition_count; p++)
        for (size_t g = 0; g < view->partitions[p].group_count; g++) {
            const sl_file_group *group = &view->partitions[p].groups[g];
            const sl_slice *newest = group->slice_count ? &group->slices[0] : NULL;
            bool pending = false;
            for (size_t i = 0; i < group->slice_count; i++)
                pending |= group->slices[i].pending_compaction;
            if (!newest || !newest->log_count || pending)
                continue;
            list[n] = (struct candidate){group, newest, 0};
            for (size_t i = 0; i < newest->log_count; i++)
                list[n].log_bytes += newest->logs[i]->size;
            n++;
        }
    qsort(list, n, sizeof *list, by_log_bytes);
    *out = list;
    *count = n;
    return SL_OK;
}

sl_status sl_compaction_plan(const sl_table *table, json_t **plan, size_t *operations)
{
    sl_view view = {0};
    struct candidate *candidates = NULL;
    json_t *list = json_array();
    size_t count = 0;
    int64_t target_mb;
    double used = 0;
    sl_status status = list ? SL_OK : sl_nomem();
    if (status)
        return status;
    SL_GO(sl_table_setting_int(table, "hoodie.compaction.target.io", 512000, &target_mb));
    SL_GO(sl_view_load(table, NULL, &view));
    SL_GO(collect(&view, &candidates, &count));
    for (size_t i = 0; i < count && used < (double)target_mb; i++) {
        double read, write;
        used += io_megabytes(&candidates[i], &read, &write);
        if (json_array_append_new(list, operation_json(&candidates[i]))) {
            status = sl_nomem();
            goto done;
        }
    }
    *operations = json_array_size(list);
    *plan = json_pack("{s:O, s:{}, s:i, s:n, s:b, s:[]}", "operations", list, "extraMetadata", "version", 2,
                      "strategy", "preserveHoodieMetadata", 0, "missingSchedulePartitions");
    if (!*plan)
        status = sl_nomem();
done:
    json_decref(list);
    sl_free(candidates);
    sl_view_free(&view);
    return status;
}

sl_status sl_compaction_schedule(sl_table *table, char *instant, size_t *operations)
{
    char drawn[SL_INSTANT_BYTES];
    json_t *plan = NULL;
    sl_table_lock *lock;
    size_t rolled_back;
    *instant = 0;
    *operations = 0;
    if (table->type != SL_MERGE_ON_READ)
        return sl_input("a copy-on-write table has no logs to compact");
    SL_TRY(sl_table_check_writable(table));
    SL_TRY(sl_table_lock_take(table, &lock));
    sl_status status = SL_OK;
    SL_GO(sl_rollback_leftovers(table, &rolled_back));
    SL_GO(sl_txn_draw(table, drawn));
    SL_GO(sl_compaction_plan(table, &plan, operations));
    if (*operations == 0)
        goto done;
    SL_GO(sl_txn_schedule(table, SL_ACTION_COMPACTION, drawn, plan, "HoodieCompactionPlan"));
    memcpy(instant, drawn, SL_INSTANT_BYTES);
done:
    json_decref(plan);
    sl_table_lock_release(lock);
    return status;
}

sl_status sl_compaction_pending(const sl_table *table, char *instant)
{
    sl_timeline timeline;
    *instant = 0;
    SL_TRY(sl_timeline_load(table, &timeline));
    for (size_t i = 0; i < timeline.count && !*instant; i++)
        if (timeline.instants[i].action == SL_ACTION_COMPACTION && timeline.instants[i].state != SL_COMPLETED)
            memcpy(instant, timeline.instants[i].requested, SL_INSTANT_BYTES);
    sl_timeline_free(&timeline);
    return SL_OK;
}
