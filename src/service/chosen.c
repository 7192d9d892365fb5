/*
 * What a plan takes is chosen without the timeline's lock, since that reads the footers of many logs while writers want
 * to begin, and looked at again under it, which is metadata only: groups that another plan took meanwhile, or that
 * stand on another base by now, are left out. No choice gets wrong by what else was written meanwhile: a compaction takes
 * the logs that came as well, and a log compaction's stretch ends before the first write that was under way.
 */
#include "service/service_int.h"
#include <string.h>

static int by_place(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    int c = strcmp(x->group->partition, y->group->partition);
    return c ? c : strcmp(x->group->file_id, y->group->file_id);
}

static const sl_data_file *find_log(const struct candidate *item, const char *name)
{
    for (size_t i = 0; i < item->log_count; i++)
        if (strcmp(item->logs[i]->name, name) == 0)
            return item->logs[i];
    return NULL;
}

/* The logs that were chosen, and no others; *there false when one of them is gone. */
static sl_status keep_chosen_logs(struct candidate *item, const struct candidate *chosen, bool *there)
{
    const sl_data_file **logs;
    uint64_t bytes = 0;
    SL_NEW_ARRAY(logs, chosen->log_count + 1);
    *there = true;
    for (size_t i = 0; i < chosen->log_count && *there; i++) {
        logs[i] = find_log(item, chosen->logs[i]->name);
        *there = logs[i] != NULL;
        bytes += *there ? logs[i]->size : 0;
    }
    sl_free(item->logs);
    item->logs = logs;
    item->log_count = *there ? chosen->log_count : 0;
    item->log_bytes = bytes;
    return SL_OK;
}

/* Moves `item` to `out` if it may still be taken as it was chosen. */
static sl_status confirm(struct candidate *item, const struct candidate *chosen, enum sl_service service,
                         struct candidate *out, size_t *count)
{
    bool there = strcmp(item->slice->base_instant, chosen->slice->base_instant) == 0;
    if (there && service == SL_LOG_COMPACT)
        SL_TRY(keep_chosen_logs(item, chosen, &there));
    if (!there)
        return SL_OK;
    out[(*count)++] = *item;
    *item = (struct candidate){.group = item->group, .slice = item->slice};
    return SL_OK;
}

sl_status candidates_confirm(struct candidates *c, const struct candidates *chosen, enum sl_service service)
{
    struct candidate *kept;
    size_t count = 0;
    SL_NEW_ARRAY(kept, chosen->count + 1);
    if (c->count)
        qsort(c->items, c->count, sizeof *c->items, by_place);
    sl_status status = SL_OK;
    for (size_t i = 0; i < chosen->count && c->count && !status; i++) {
        struct candidate *item = bsearch(&chosen->items[i], c->items, c->count, sizeof *c->items, by_place);
        if (item)
            status = confirm(item, &chosen->items[i], service, kept, &count);
    }
    for (size_t i = 0; i < c->count; i++)
        candidate_free(&c->items[i]);
    sl_free(c->items);
    c->items = kept;
    c->count = count;
    return status;
}
