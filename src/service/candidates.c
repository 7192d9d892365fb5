/* Which file groups a service may take: those with logs that no plan holds already. Metadata only. */
#include "service/service_int.h"
#include <string.h>

/* ---- groups that a plan holds -------------------------------------------------------------------------- */

/* "partition\nfile id", sorted. A compaction's groups are known to the view; of the others no log may be taken away, since
 * their output would come to stand in another slice than what it replaces. */
struct held {
    sl_strings groups;
};

static sl_status hold(void *context, const char *partition, const char *file_id)
{
    struct held *held = context;
    char *text;
    SL_TRY(sl_asprintf(&text, "%s\n%s", partition, file_id));
    sl_status status = sl_strings_add(&held->groups, text);
    sl_free(text);
    return status;
}

static sl_status held_load(const sl_table *table, const sl_timeline *timeline, struct held *held)
{
    for (size_t i = 0; i < timeline->count; i++) {
        const sl_instant *instant = &timeline->instants[i];
        if (instant->state != SL_COMPLETED && instant->has_requested &&
            (instant->action == SL_ACTION_LOGCOMPACTION || instant->action == SL_ACTION_CLUSTERING))
            SL_TRY(sl_plan_groups(table, instant, hold, held));
    }
    sl_strings_sort(&held->groups);
    return SL_OK;
}

static sl_status is_held(const struct held *held, const sl_file_group *group, bool *out)
{
    char *text;
    for (size_t i = 0; i < group->slice_count; i++)
        if (group->slices[i].pending_compaction) {
            *out = true;
            return SL_OK;
        }
    SL_TRY(sl_asprintf(&text, "%s\n%s", group->partition, group->file_id));
    *out = sl_strings_contain(&held->groups, text);
    sl_free(text);
    return SL_OK;
}

/* ---- candidates ---------------------------------------------------------------------------------------- */

void candidate_free(struct candidate *item)
{
    sl_free(item->logs);
    memset(item, 0, sizeof *item);
}

void candidates_free(struct candidates *c)
{
    for (size_t i = 0; i < c->count; i++)
        candidate_free(&c->items[i]);
    sl_free(c->items);
    sl_view_free(&c->view);
    memset(c, 0, sizeof *c);
}

static sl_status add_candidate(struct candidates *c, const sl_file_group *group, const char *instant)
{
    const sl_slice *newest = &group->slices[0];
    struct candidate item = {.group = group, .slice = newest};
    SL_NEW_ARRAY(item.logs, newest->log_count);
    for (size_t i = 0; i < newest->log_count; i++) {
        if (instant && strcmp(newest->logs[i]->completed, instant) >= 0)
            continue;
        item.logs[item.log_count++] = newest->logs[i];
        item.log_bytes += newest->logs[i]->size;
    }
    if (item.log_count)
        c->items[c->count++] = item;
    else
        candidate_free(&item);
    return SL_OK;
}

static sl_status collect(struct candidates *c, const struct held *held, const char *instant)
{
    size_t groups = 0;
    for (size_t p = 0; p < c->view.partition_count; p++)
        groups += c->view.partitions[p].group_count;
    SL_NEW_ARRAY(c->items, groups + 1);
    for (size_t p = 0; p < c->view.partition_count; p++)
        for (size_t g = 0; g < c->view.partitions[p].group_count; g++) {
            const sl_file_group *group = &c->view.partitions[p].groups[g];
            bool busy = true;
            if (group->slice_count && group->slices[0].log_count)
                SL_TRY(is_held(held, group, &busy));
            if (!busy)
                SL_TRY(add_candidate(c, group, instant));
        }
    return SL_OK;
}

sl_status candidates_load(const sl_table *table, const char *instant, struct candidates *out)
{
    struct candidates c = {0};
    struct held held = {0};
    sl_status status = SL_OK;
    SL_GO(sl_view_load(table, NULL, &c.view));
    SL_GO(held_load(table, &c.view.timeline, &held));
    SL_GO(collect(&c, &held, instant));
    *out = c;
done:
    sl_strings_free(&held.groups);
    if (status)
        candidates_free(&c);
    return status;
}

void candidates_filter(struct candidates *c, bool (*keep)(const void *context, const struct candidate *item),
                       const void *context)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (keep(context, &c->items[i]))
            c->items[kept++] = c->items[i];
        else
            candidate_free(&c->items[i]);
    }
    c->count = kept;
}

sl_status candidate_logs(const sl_table *table, const struct candidate *item, struct sl_slice_logs *out)
{
    sl_read_slice slice = {
        .group = item->group, .base = item->slice->base, .logs = item->logs, .log_count = item->log_count};
    return sl_context(sl_slice_logs_load(table, &slice, NULL, out), "partition %s, file group %s",
                      item->group->partition, item->group->file_id);
}
