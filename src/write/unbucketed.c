/*
 * The commit of a table without a bucket index. The router keeps one sorter a partition; what becomes of its rows is known
 * only now, with the partition's files in view: first each partition's rows are sent to their targets (tagging.c, pack.c),
 * then the targets are written. Both steps run in parallel.
 */
#include "write/write_int.h"
#include <stdio.h>
#include <string.h>

sl_status write_targets_add(struct write_targets *list, const struct write_target *target)
{
    SL_GROW(list->items, list->count, list->cap, 8);
    list->items[list->count++] = *target;
    return SL_OK;
}

static void write_targets_free(struct write_targets *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].owns_sorter)
            sl_sorter_free(list->items[i].sorter);
    sl_free(list->items);
    sl_spill_free(list->spill);
}

/* ---- whose table it is --------------------------------------------------------------------------------- */

#define BUCKETS_LIKELY 100000 /* a random id looks like a smaller bucket number once in 40,000 times */

/* Where the properties name no index, Spark's simple index is assumed; but a bucket index leaves no trace in the properties
 * either, only in the names of the groups, and a group of ours between them would break it. */
static sl_status refuse_bucket_groups(const struct flush *flush)
{
    sl_view view;
    if (*sl_table_setting(flush->table, "hoodie.index.type", ""))
        return SL_OK;
    SL_TRY(sl_view_load(flush->table, NULL, &view));
    sl_status status = SL_OK;
    for (size_t p = 0; p < view.partition_count && !status; p++)
        for (size_t g = 0; g < view.partitions[p].group_count && !status; g++) {
            const char *id = view.partitions[p].groups[g].file_id;
            int64_t bucket = sl_bucket_of_file_id(id);
            if (bucket >= 0 && bucket < BUCKETS_LIKELY)
                status = sl_hint(
                    sl_unsupported(
                        "file group %s looks like one of a bucket index, but the table names no index", id),
                    "-c hoodie.index.type=BUCKET and -c hoodie.bucket.index.num.buckets=N with the N that "
                    "the "
                    "other writers use, or -c hoodie.index.type=SIMPLE");
        }
    sl_view_free(&view);
    return status;
}

/* ---- from partitions to targets ------------------------------------------------------------------------ */

struct routing {
    struct flush *flush;
    struct router *router;
    struct write_targets *per_group; /* as many as the router has groups: one a partition */
};

/* The targets' sorters need memory beside those that are read: where the budget is tight the rows wait on disk. */
static sl_status make_room(struct router *router)
{
    if (!router->pool.limit || atomic_load(&router->pool.used) <= router->pool.limit / 2)
        return SL_OK;
    for (size_t i = 0; i < router->group_count; i++)
        if (sl_sorter_memory(router->groups[i].sorter))
            SL_TRY(router_spill(router, i));
    return SL_OK;
}

static sl_status route_partition(void *context, size_t index)
{
    struct routing *r = context;
    struct write_group *rows = &r->router->groups[index];
    const char *path = r->router->partitions.items[rows->partition];
    const sl_partition *partition = view_partition(r->flush->view, path);
    if (!partition || partition->group_count == 0) {
        if (r->flush->operation == SL_OP_DELETE)
            return SL_OK;
        return write_targets_add(&r->per_group[index],
                                 &(struct write_target){.partition = path, .sorter = rows->sorter});
    }
    return sl_context(
        targets_of_partition(r->flush, partition, rows->sorter, r->router, &r->per_group[index]),
        "partition %s", path);
}

/* ---- from targets to files ----------------------------------------------------------------------------- */

struct writing {
    struct flush *flush;
    struct write_targets targets;
    atomic_uint_fast64_t done;
};

static sl_status write_target(void *context, size_t index)
{
    struct writing *w = context;
    const struct write_target *t = &w->targets.items[index];
    struct bucket_group group = {.exists = t->group != NULL};
    enum flush_way way = !t->group ? FLUSH_NEW_GROUPS : t->is_packed ? FLUSH_BASE : FLUSH_BY_LAYOUT;
    SL_TRY(sl_check_cancel(&w->flush->table->runtime));
    if (t->group) {
        snprintf(group.file_id, sizeof group.file_id, "%s", t->group->file_id);
        group.group = t->group;
        group.base = group_newest_base(t->group);
    }
    sl_status status = flush_into(w->flush, t->sorter, t->partition, &group, way, (uint32_t)index);
    sl_strings_free(&group.logs_before);
    SL_TRY_CTX(status, "partition %s", t->partition);
    sl_progress(&w->flush->table->runtime, "writing", atomic_fetch_add(&w->done, 1) + 1, w->targets.count);
    return SL_OK;
}

static sl_status collect(const struct routing *r, struct write_targets *out)
{
    for (size_t i = 0; i < r->router->group_count; i++)
        for (size_t k = 0; k < r->per_group[i].count; k++) {
            SL_TRY(write_targets_add(out, &r->per_group[i].items[k]));
            r->per_group[i].items[k].owns_sorter = false;
        }
    return SL_OK;
}

sl_status unbucketed_flush(struct flush *flush, struct router *router)
{
    struct routing r = {flush, router, NULL};
    struct writing w = {.flush = flush};
    sl_status status = SL_OK;
    SL_TRY(refuse_bucket_groups(flush));
    if (flush->operation != SL_OP_BULK_INSERT && !operation_replaces(flush->operation))
        SL_TRY(make_room(router));
    if (flush->operation == SL_OP_INSERT || flush->operation == SL_OP_UPSERT) /* the ones that pack.c packs */
        SL_TRY(record_size_estimate(flush->table, &flush->view->timeline, &flush->record_bytes));
    SL_NEW_ARRAY(r.per_group, router->group_count + 1);
    SL_GO(flush_parallel(flush, router->group_count, route_partition, &r));
    SL_GO(collect(&r, &w.targets));
    SL_GO(flush_parallel(flush, w.targets.count, write_target, &w));
    flush->groups += w.targets.count;
done:
    write_targets_free(&w.targets); /* before the files that their rows are spilled to */
    for (size_t i = 0; i < router->group_count; i++)
        write_targets_free(&r.per_group[i]);
    sl_free(r.per_group);
    return status;
}
