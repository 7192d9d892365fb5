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

static void forget_snapshot(sl_lookup *l)
{
    pthread_mutex_lock(&l->mutex);
    struct snapshot *old = l->snapshot;
    l->snapshot = NULL;
    pthread_mutex_unlock(&l->mutex);
    snapshot_unref(old);
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

/* The keys that one file group may hold, and their rows. */
struct part {
    sl_read_slice slice;
    sl_key_set keys;
    struct sl_key *own_items; /* of `keys`; NULL: they are the request's, all of them */
    sl_batch **batches;
    size_t count, cap;
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

static void part_free(struct part *part)
{
    for (size_t i = 0; i < part->count; i++)
        sl_batch_unref(part->batches[i]);
    sl_free(part->batches);
    sl_read_slice_free(&part->slice);
    sl_free(part->own_items);
}

static void request_free(struct request *r)
{
    for (size_t i = 0; i < r->part_count; i++)
        part_free(&r->parts[i]);
    sl_free(r->parts);
    key_buckets_free(&r->buckets);
    sl_key_set_free(&r->keys);
    sl_type_unref(r->schema);
    snapshot_unref(r->snapshot);
}

/* Where there is one bucket, all keys may be in each of many partitions. */
static sl_status keys_of_group(const struct request *r, const sl_file_group *group, struct part *part)
{
    size_t count = 0;
    for (size_t i = 0; i < r->keys.count; i++)
        count += key_buckets_hold(&r->buckets, group, i);
    part->keys = (sl_key_set){.items = r->keys.items, .count = count};
    if (count == r->keys.count)
        return SL_OK;
    SL_NEW_ARRAY(part->own_items, count + 1);
    part->keys.items = part->own_items;
    for (size_t i = 0, n = 0; i < r->keys.count; i++)
        if (key_buckets_hold(&r->buckets, group, i))
            part->own_items[n++] = r->keys.items[i];
    return SL_OK;
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
    return keys_of_group(r, group, part);
}

/* The partitions that were asked for, by path. */
static sl_status partitions_of(const struct request *r, const sl_strings *names, sl_strings *out)
{
    const sl_view *view = &r->snapshot->view;
    sl_strings all = {0};
    sl_status status = SL_OK;
    for (size_t p = 0; p < view->partition_count; p++)
        SL_GO(sl_strings_add(&all, view->partitions[p].path));
    for (size_t i = 0; i < names->count; i++)
        SL_GO(sl_partitions_named(r->lookup->table, &all, names->items[i], out));
done:
    sl_strings_free(&all);
    return status;
}

/* `partitions` NULL: all. */
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

/* Takes over the batch. */
static sl_status add_batch(struct part *part, sl_batch *batch)
{
    if (part->count == part->cap) {
        size_t cap = part->cap ? part->cap * 2 : 4;
        sl_batch **grown = sl_realloc_array(part->batches, cap, sizeof *grown);
        if (!grown) {
            sl_batch_unref(batch);
            return sl_nomem();
        }
        part->batches = grown;
        part->cap = cap;
    }
    part->batches[part->count++] = batch;
    return SL_OK;
}

static sl_status read_part(void *context, size_t index)
{
    const struct request *r = context;
    struct part *part = &r->parts[index];
    const sl_table *table = r->lookup->table;
    struct sl_lookup_options o = {.schema = r->schema,
                                  .table_schema = r->snapshot->schema,
                                  .keys = &part->keys,
                                  .cache = r->lookup->sources,
                                  .stats = r->stats,
                                  .pool = table->runtime.pool};
    sl_stream *rows;
    sl_batch *batch;
    sl_status status = SL_OK;
    SL_TRY(sl_check_cancel(&table->runtime));
    SL_TRY(sl_slice_lookup(table, &part->slice, &o, &rows));
    do {
        SL_GO(sl_stream_next(rows, &batch));
        if (batch)
            SL_GO(add_batch(part, batch));
    } while (batch);
done:
    sl_stream_close(rows);
    return status;
}

/* The batches of all parts as one stream. */
static sl_status join_parts(struct request *r, sl_stream **out)
{
    size_t count = 0, n = 0;
    uint64_t rows = 0;
    sl_batch **all;
    for (size_t i = 0; i < r->part_count; i++)
        count += r->parts[i].count;
    SL_NEW_ARRAY(all, count + 1);
    for (size_t i = 0; i < r->part_count; i++) {
        for (size_t k = 0; k < r->parts[i].count; k++) {
            rows += (uint64_t)r->parts[i].batches[k]->rows;
            all[n++] = r->parts[i].batches[k];
        }
        r->parts[i].count = 0; /* the stream owns them, whatever it returns */
    }
    if (r->stats)
        atomic_fetch_add(&r->stats->rows_out, rows);
    sl_status status = sl_stream_of_batches(r->schema, all, count, out);
    sl_free(all);
    return status;
}

static sl_status prepare(struct request *r, const struct sl_lookup_request *wanted)
{
    SL_TRY(snapshot_of_now(r->lookup, &r->snapshot));
    SL_TRY(sl_key_set_init(&r->keys, wanted->keys));
    SL_TRY(scan_pick_columns(r->snapshot->schema, wanted->columns, wanted->column_count, &r->schema));
    SL_TRY(key_buckets_init(&r->buckets, r->lookup->table, &r->keys));
    if (!wanted->partitions)
        return find_parts(r, NULL);
    sl_strings partitions = {0};
    sl_status status = partitions_of(r, wanted->partitions, &partitions);
    if (!status)
        status = find_parts(r, &partitions);
    sl_strings_free(&partitions);
    return status;
}

/* Somebody who finds nothing may have asked for what no row can have: the first such key. Rows of other writers may have keys of
 * other shapes, so what was found is not looked at. */
static sl_status explain_nothing(const struct request *r)
{
    const sl_table *table = r->lookup->table;
    size_t bad = 0;
    while (bad < r->keys.count && sl_keygen_may_make(&table->keygen, r->snapshot->schema,
                                                     r->keys.items[bad].data, r->keys.items[bad].len))
        bad++;
    if (bad == r->keys.count)
        return SL_OK;
    char *shape;
    SL_TRY(sl_keygen_shape(&table->keygen, r->snapshot->schema, &shape));
    sl_warn(&table->runtime, "key `%.*s`: record keys of this table look like %s%s",
            (int)r->keys.items[bad].len, (const char *)r->keys.items[bad].data, shape,
            strstr(shape, "timestamp") ? " (a timestamp as its whole number)" : "");
    sl_free(shape);
    return SL_OK;
}

static bool is_empty(const struct request *r)
{
    for (size_t i = 0; i < r->part_count; i++)
        for (size_t k = 0; k < r->parts[i].count; k++)
            if (r->parts[i].batches[k]->rows)
                return false;
    return true;
}

static sl_status look_up(sl_lookup *lookup, const struct sl_lookup_request *wanted, sl_read_stats *stats,
                         sl_stream **out)
{
    struct request r = {.lookup = lookup, .stats = stats};
    sl_status status = prepare(&r, wanted);
    if (!status)
        status = sl_pool_for_some(lookup->table->runtime.pool, sl_slices_at_once(&lookup->table->runtime),
                                  r.part_count, read_part, &r);
    if (!status && is_empty(&r))
        status = explain_nothing(&r);
    if (!status)
        status = join_parts(&r, out);
    request_free(&r);
    return status;
}

/* A file that is gone was rolled back or cleaned away while we looked: the timeline says so by now. */
sl_status sl_lookup_rows(sl_lookup *lookup, const struct sl_lookup_request *wanted, sl_read_stats *stats,
                         sl_stream **out)
{
    sl_status status = look_up(lookup, wanted, stats, out);
    if (sl_status_code(status) != SL_E_NOT_FOUND)
        return status;
    sl_status_free(status);
    forget_snapshot(lookup);
    return look_up(lookup, wanted, stats, out);
}
