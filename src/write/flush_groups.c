/*
 * The flushes of one transaction: where each group's rows go is looked up once, for all groups of the flush together, and
 * kept until the commit, so that every flush of a group goes to the same files' group and version counter. The groups are
 * then written in parallel.
 */
#include "write/write_int.h"

/* What the writing of one group takes at least: merges, batches and encoders; and where a base file is merged, the pages of
 * its columns. */
#define WORKER_BYTES      ((size_t)16 << 20)
#define BASE_WORKER_BYTES ((size_t)40 << 20)

/* Half of the budget is the rows' that wait, the other half that of those who write them. */
static void share_memory(struct flush *f)
{
    const sl_runtime *runtime = &f->table->runtime;
    size_t bytes = f->table->type == SL_COPY_ON_WRITE ? BASE_WORKER_BYTES : WORKER_BYTES;
    if (f->schema.cdc) /* a second file is written */
        bytes += WORKER_BYTES;
    f->workers = sl_budget_share(runtime->budget, 2 * bytes, 1, sl_slices_at_once(runtime));
    f->fan_in = sl_spill_fan_in(runtime, f->workers);
}

sl_status flush_init(struct flush *f, sl_table *table, enum sl_operation operation, sl_txn *txn,
                     const sl_type *data)
{
    f->table = table;
    f->operation = operation;
    f->txn = txn;
    SL_TRY(sl_write_schema_init(table, data, &f->schema));
    share_memory(f);
    return SL_OK;
}

void flush_free(struct flush *f)
{
    for (size_t i = 0; i < f->view_count; i++) {
        sl_view_free(f->views[i]);
        sl_free(f->views[i]);
    }
    sl_free(f->views);
    f->views = NULL;
    f->view = NULL;
    f->view_count = f->view_cap = 0;
    sl_write_schema_free(&f->schema);
}

/* ---- places -------------------------------------------------------------------------------------------- */

static sl_status keep_view(struct flush *f, sl_view **out)
{
    SL_GROW(f->views, f->view_count, f->view_cap, 4);
    SL_NEW(f->views[f->view_count]);
    *out = f->views[f->view_count++];
    return SL_OK;
}

static sl_status unplaced_partitions(const struct router *r, const size_t *which, size_t count,
                                     sl_strings *out)
{
    bool *listed;
    SL_NEW_ARRAY(listed, r->partitions.count + 1);
    sl_status status = SL_OK;
    for (size_t i = 0; i < count && !status; i++) {
        const struct write_group *g = &r->groups[which[i]];
        if (g->is_placed || listed[g->partition])
            continue;
        listed[g->partition] = true;
        status = sl_strings_add(out, r->partitions.items[g->partition]);
    }
    sl_free(listed);
    return status;
}

static sl_status load_view(struct flush *f, const sl_strings *partitions)
{
    sl_view *view;
    SL_TRY(keep_view(f, &view));
    SL_TRY(sl_view_load(f->table, &(struct sl_view_options){.partitions = partitions}, view));
    f->view = view;
    return SL_OK;
}

static sl_status place(struct flush *f, const struct router *r, struct write_group *g)
{
    if (operation_replaces(f->operation)) /* new groups, whatever is there */
        SL_TRY(sl_bucket_file_id(g->bucket, false, g->place.file_id));
    else
        SL_TRY(bucket_group_find(f->table, f->view, r->partitions.items[g->partition], g->bucket, &g->place));
    g->is_placed = true;
    f->groups++;
    return SL_OK;
}

static sl_status place_groups(struct flush *f, struct router *r, const size_t *which, size_t count)
{
    sl_strings partitions = {0};
    sl_status status = SL_OK;
    SL_GO(unplaced_partitions(r, which, count, &partitions));
    if (partitions.count == 0)
        goto done;
    SL_GO(load_view(f, &partitions));
    SL_GO(bucket_count_check(f->table, f->view));
    for (size_t i = 0; i < count; i++)
        if (!r->groups[which[i]].is_placed)
            SL_GO(place(f, r, &r->groups[which[i]]));
done:
    sl_strings_free(&partitions);
    return status;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

sl_status flush_parallel(const struct flush *f, size_t count, sl_status (*work)(void *context, size_t index),
                         void *context)
{
    return sl_pool_for_some(f->table->runtime.pool, f->workers, count, work, context);
}

struct flush_round {
    struct flush *flush;
    struct router *router;
    enum flush_way way;
    const size_t *which;
    size_t count;
    atomic_size_t done;
};

static void forget_rows(struct write_group *g)
{
    sl_sorter_free(g->sorter);
    g->sorter = NULL;
}

static sl_status flush_one(void *context, size_t index)
{
    struct flush_round *round = context;
    struct flush *f = round->flush;
    size_t number = round->which[index];
    struct write_group *g = &round->router->groups[number];
    const char *partition = round->router->partitions.items[g->partition];
    SL_TRY(sl_check_cancel(&f->table->runtime));
    SL_TRY_CTX(flush_into(f, g->sorter, partition, &g->place, round->way, (uint32_t)number),
               "partition %s: bucket %" PRIu32, partition, g->bucket);
    forget_rows(g);
    sl_progress(&f->table->runtime, "writing", atomic_fetch_add(&round->done, 1) + 1, round->count);
    return SL_OK;
}

/* Rows go where their keys are found, which takes all rows of a partition at once: the commit's only flush. */
static sl_status flush_unbucketed(struct flush *f, struct router *r)
{
    SL_TRY(load_view(f, &r->partitions));
    SL_TRY(unbucketed_flush(f, r));
    for (size_t i = 0; i < r->group_count; i++)
        forget_rows(&r->groups[i]);
    return SL_OK;
}

sl_status flush_groups(struct flush *f, struct router *r, const size_t *which, size_t count)
{
    struct flush_round round = {.flush = f,
                                .router = r,
                                .way = operation_replaces(f->operation) ? FLUSH_BASE : FLUSH_BY_LAYOUT,
                                .which = which,
                                .count = count};
    if (f->table->buckets.buckets == 0)
        return flush_unbucketed(f, r);
    SL_TRY(place_groups(f, r, which, count));
    SL_TRY(flush_plan(f, r, which, count, round.way));
    return flush_parallel(f, count, flush_one, &round);
}
