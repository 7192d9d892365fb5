/*
 * Lookups by record key through an open handle. The view of the table is kept until its timeline changes, which one listing
 * tells; footers are kept as long as the cache has room. A lookup then costs a few pages.
 */
#include "query/scan_int.h"
#include <pthread.h>
#include <string.h>

#define SOURCES_MAX 256 /* files kept open */

/* The table at one timeline; shared by the lookups that run on it. */
struct snapshot {
    atomic_int refs;
    sl_view view;
    const sl_type *schema; /* with the meta columns */
};

struct sl_lookup {
    const sl_table *table;
    pthread_mutex_t mutex;
    struct snapshot *snapshot; /* NULL: none yet */
    sl_source_cache *sources;
};

/* ---- snapshots ----------------------------------------------------------------------------------------- */

static void snapshot_unref(struct snapshot *s)
{
    if (!s || atomic_fetch_sub(&s->refs, 1) > 1)
        return;
    sl_view_free(&s->view);
    sl_type_unref(s->schema);
    sl_free(s);
}

static sl_status snapshot_new(const sl_table *table, struct snapshot **out)
{
    struct snapshot *s;
    SL_NEW(s);
    atomic_init(&s->refs, 1);
    sl_status status = sl_view_load(table, NULL, &s->view);
    if (!status)
        status = scan_table_schema(table, &s->view.timeline, &s->schema);
    if (status)
        snapshot_unref(s);
    else
        *out = s;
    return status;
}

static bool same_timeline(const sl_timeline *a, const sl_timeline *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const sl_instant *x = &a->instants[i], *y = &b->instants[i];
        if (strcmp(x->requested, y->requested) != 0 || strcmp(x->completed, y->completed) != 0 ||
            x->action != y->action || x->state != y->state || x->has_requested != y->has_requested)
            return false;
    }
    return true;
}

/* The reference is the caller's. */
static sl_status snapshot_of_now(sl_lookup *l, struct snapshot **out)
{
    sl_timeline now;
    struct snapshot *s = NULL;
    SL_TRY(sl_timeline_load(l->table, &now));
    pthread_mutex_lock(&l->mutex);
    if (l->snapshot && same_timeline(&l->snapshot->view.timeline, &now)) {
        s = l->snapshot;
        atomic_fetch_add(&s->refs, 1);
    }
    pthread_mutex_unlock(&l->mutex);
    sl_timeline_free(&now);
    if (!s) {
        SL_TRY(snapshot_new(l->table, &s));
        atomic_fetch_add(&s->refs, 1);
        pthread_mutex_lock(&l->mutex);
        struct snapshot *old = l->snapshot;
        l->snapshot = s;
        pthread_mutex_unlock(&l->mutex);
        snapshot_unref(old);
    }
    *out = s;
    return SL_OK;
}

sl_status sl_lookup_new(const sl_table *table, sl_lookup **out)
{
    sl_lookup *l;
    SL_NEW(l);
    l->table = table;
    sl_status status = sl_source_cache_new(SOURCES_MAX, &l->sources);
    if (status) {
        sl_free(l);
        return status;
    }
    pthread_mutex_init(&l->mutex, NULL);
    *out = l;
    return SL_OK;
}

void sl_lookup_free(sl_lookup *l)
{
    if (!l)
        return;
    snapshot_unref(l->snapshot);
    sl_source_cache_free(l->sources);
    pthread_mutex_destroy(&l->mutex);
    sl_free(l);
}

/* ---- one lookup ---------------------------------------------------------------------------------------- */

/* The keys that one file group may hold. */
struct part {
    sl_read_slice slice;
    sl_key_set keys; /* `items` is its own */
};

struct request {
    sl_lookup *lookup;
    struct snapshot *snapshot;
    const sl_type *schema; /* of the result */
    sl_key_set keys;
    struct key_buckets buckets;
    struct part *parts;
    size_t part_count;
    sl_read_stats *stats;
};

static void request_free(void *context)
{
    struct request *r = context;
    for (size_t i = 0; i < r->part_count; i++) {
        sl_read_slice_free(&r->parts[i].slice);
        sl_free(r->parts[i].keys.items);
    }
    sl_free(r->parts);
    key_buckets_free(&r->buckets);
    sl_key_set_free(&r->keys);
    sl_type_unref(r->schema);
    snapshot_unref(r->snapshot);
    sl_free(r);
}

static sl_status add_part(struct request *r, const sl_file_group *group)
{
    struct part *part = &r->parts[r->part_count];
    bool found;
    if (!key_buckets_hold_any(&r->buckets, group, r->keys.count)) {
        if (r->stats)
            atomic_fetch_add(&r->stats->files_skipped, group->file_count);
        return SL_OK;
    }
    SL_TRY(sl_group_read_slice(group, false, &part->slice, &found));
    if (!found)
        return SL_OK;
    r->part_count++;
    SL_NEW_ARRAY(part->keys.items, r->keys.count + 1);
    for (size_t i = 0; i < r->keys.count; i++)
        if (key_buckets_hold(&r->buckets, group, i))
            part->keys.items[part->keys.count++] = r->keys.items[i];
    return SL_OK;
}

static sl_status find_parts(struct request *r, const sl_strings *partitions)
{
    const sl_view *view = &r->snapshot->view;
    size_t groups = 0;
    for (size_t p = 0; p < view->partition_count; p++)
        groups += view->partitions[p].group_count;
    SL_NEW_ARRAY(r->parts, groups + 1);
    for (size_t p = 0; p < view->partition_count; p++) {
        const sl_partition *partition = &view->partitions[p];
        if (partitions && !sl_strings_contain(partitions, partition->path))
            continue;
        for (size_t g = 0; g < partition->group_count; g++)
            SL_TRY(add_part(r, &partition->groups[g]));
    }
    return SL_OK;
}

static sl_status open_part(void *context, size_t index, sl_stream **out)
{
    const struct request *r = context;
    struct sl_lookup_options o = {.schema = r->schema,
                                  .table_schema = r->snapshot->schema,
                                  .keys = &r->parts[index].keys,
                                  .cache = r->lookup->sources,
                                  .stats = r->stats,
                                  .pool = r->part_count == 1 ? r->lookup->table->runtime.pool : NULL};
    return sl_slice_lookup(r->lookup->table, &r->parts[index].slice, &o, out);
}

static sl_status prepare(struct request *r, const struct sl_lookup_request *wanted)
{
    SL_TRY(snapshot_of_now(r->lookup, &r->snapshot));
    SL_TRY(sl_key_set_init(&r->keys, wanted->keys));
    SL_TRY(scan_pick_columns(r->snapshot->schema, wanted->columns, wanted->column_count, &r->schema));
    SL_TRY(key_buckets_init(&r->buckets, r->lookup->table, &r->keys));
    return find_parts(r, wanted->partitions);
}

sl_status sl_lookup_rows(sl_lookup *lookup, const struct sl_lookup_request *wanted, sl_read_stats *stats,
                         sl_stream **out)
{
    struct request *r;
    SL_NEW(r);
    r->lookup = lookup;
    r->stats = stats;
    sl_status status = prepare(r, wanted);
    if (status) {
        request_free(r);
        return status;
    }
    const sl_runtime *runtime = &lookup->table->runtime;
    struct sl_parallel_source source = {r->schema, r->part_count, open_part, r, request_free};
    sl_stream *rows;
    SL_TRY(sl_parallel_stream(&source, sl_pool_threads(runtime->pool), runtime, &rows));
    return scan_result_stream(runtime, stats, rows, -1, out);
}
