/*
 * Finding the file group of each row without a bucket index (spec/write-path.md 5.5): a join of the incoming keys with the keys
 * that the groups of the partition hold. Both sides are sorted, so it is one pass over both, whatever their size:
 *
 *   rows of the partition, sorted  ---\
 *                                      merge join -> update of group g | insert -> small file or new groups
 *   (key, group) of all its groups ---/
 *
 * A bloom filter would only save reading some of the keys; the answer is the same.
 */
#include "write/write_int.h"
#include <string.h>

#define KEYS_FEW 65536 /* rows that are held back until it is known which pages may have their keys */
/* ... and their memory: of all threads together a sixteenth of the budget. */
#define ROWS_FEW_SHARE ((size_t)16)
#define ROWS_FEW_LEAST ((size_t)1 << 20)

/* ---- sorters of the targets ---------------------------------------------------------------------------- */

/* One per group of the partition, the last for new groups; NULL until a row comes. */
struct scatter {
    const struct flush *flush;
    const sl_partition *partition;
    const sl_type *schema;
    const sl_runtime *runtime; /* with the router's pool of memory */
    sl_spill **spill;          /* of the sorters; made when it is needed */
    sl_sorter **sorters;
    bool *packed;
    size_t count;
    int64_t *target_of_row; /* -1: the row is dropped */
    uint32_t *rows;
    size_t *starts;
    size_t rows_cap;
};

static sl_status scatter_init(struct scatter *s)
{
    s->count = s->partition->group_count + 1;
    SL_NEW_ARRAY(s->sorters, s->count);
    SL_NEW_ARRAY(s->packed, s->count);
    SL_NEW_ARRAY(s->starts, s->count + 1);
    return SL_OK;
}

static sl_status scatter_room(struct scatter *s, size_t rows)
{
    if (rows <= s->rows_cap)
        return SL_OK;
    int64_t *targets = sl_realloc_array(s->target_of_row, rows, sizeof *targets);
    if (!targets)
        return sl_nomem();
    s->target_of_row = targets;
    uint32_t *list = sl_realloc_array(s->rows, rows, sizeof *list);
    if (!list)
        return sl_nomem();
    s->rows = list;
    s->rows_cap = rows;
    return SL_OK;
}

static void scatter_free(struct scatter *s)
{
    for (size_t i = 0; s->sorters && i < s->count; i++)
        sl_sorter_free(s->sorters[i]);
    sl_free(s->sorters);
    sl_free(s->packed);
    sl_free(s->starts);
    sl_free(s->target_of_row);
    sl_free(s->rows);
}

static sl_status spill_largest(struct scatter *s, bool *spilled)
{
    sl_sorter *largest = NULL;
    for (size_t i = 0; i < s->count; i++)
        if (s->sorters[i] && sl_sorter_memory(s->sorters[i]) > (largest ? sl_sorter_memory(largest) : 0))
            largest = s->sorters[i];
    *spilled = largest != NULL;
    if (!largest)
        return SL_OK;
    if (!*s->spill)
        SL_TRY(sl_spill_new(s->runtime, s->spill));
    sl_sorter_share(largest, *s->spill);
    return sl_sorter_spill(largest);
}

static sl_status append_rows(struct scatter *s, size_t target, const sl_batch *batch, const uint32_t *rows,
                             size_t count)
{
    if (!s->sorters[target])
        SL_TRY(sl_sorter_new(s->schema, sl_meta_names[SL_META_RECORD_KEY], s->runtime, &s->sorters[target]));
    for (;;) {
        bool spilled;
        sl_status status = sl_sorter_append(s->sorters[target], batch, rows, count);
        if (sl_status_code(status) != SL_E_MEMORY || !sl_sorter_usable(s->sorters[target]))
            return status;
        sl_status_free(status);
        SL_TRY(spill_largest(s, &spilled));
        if (!spilled) /* others hold the budget, and may wait for us */
            return sl_sorter_force(s->sorters[target], batch, rows, count);
    }
}

/* Each target's rows, in the order of the batch (a counting sort by target). */
static sl_status scatter_batch(struct scatter *s, const sl_batch *batch)
{
    memset(s->starts, 0, (s->count + 1) * sizeof *s->starts);
    for (int64_t i = 0; i < batch->rows; i++)
        if (s->target_of_row[i] >= 0)
            s->starts[s->target_of_row[i] + 1]++;
    for (size_t t = 0; t < s->count; t++)
        s->starts[t + 1] += s->starts[t];
    for (int64_t i = batch->rows; i-- > 0;) /* starts[t + 1] is the end of t, and becomes its beginning */
        if (s->target_of_row[i] >= 0)
            s->rows[--s->starts[s->target_of_row[i] + 1]] = (uint32_t)i;
    size_t total = 0;
    for (int64_t i = 0; i < batch->rows; i++)
        total += s->target_of_row[i] >= 0;
    for (size_t t = 0; t < s->count; t++) {
        size_t first = s->starts[t + 1], end = t + 1 < s->count ? s->starts[t + 2] : total;
        if (end > first)
            SL_TRY(append_rows(s, t, batch, s->rows + first, end - first));
    }
    return SL_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

struct tagging {
    struct scatter scatter;
    struct partition_keys *keys; /* NULL: inserts are not looked up */
    struct pack_candidates candidates;
    sl_buf last_key; /* of the row before: rows of one key go one way */
    int64_t last_target;
    bool any;
};

static sl_status choose(struct tagging *t, const uint8_t *key, size_t len, int64_t *target)
{
    int64_t group = -1;
    if (t->keys)
        SL_TRY(partition_keys_find(t->keys, key, len, &group));
    if (group < 0 && t->scatter.flush->operation == SL_OP_DELETE) {
        *target = -1; /* nothing there to delete */
        return SL_OK;
    }
    if (group < 0 && (group = pack_choose(&t->candidates, key, len)) >= 0)
        t->scatter.packed[group] = true;
    *target = group >= 0 ? group : (int64_t)t->scatter.count - 1;
    return SL_OK;
}

static sl_status tag_row(struct tagging *t, const uint8_t *key, size_t len, int64_t *target)
{
    if (!t->any || bytes_compare(key, len, t->last_key.data, t->last_key.len) != 0) {
        SL_TRY(choose(t, key, len, &t->last_target));
        t->last_key.len = 0;
        SL_TRY(sl_buf_append(&t->last_key, key, len));
        t->any = true;
    }
    *target = t->last_target;
    return SL_OK;
}

static sl_status tag_batch(struct tagging *t, const sl_batch *batch)
{
    SL_TRY(scatter_room(&t->scatter, (size_t)batch->rows));
    for (int64_t i = 0; i < batch->rows; i++) {
        size_t len;
        const uint8_t *key = sl_bytes_at(batch->columns[0], i, &len);
        SL_TRY(tag_row(t, key, len, &t->scatter.target_of_row[i]));
    }
    return scatter_batch(&t->scatter, batch);
}

/* The rows of the sorter in key order, those of one key in order of arrival. */
static sl_status sorted_rows(const struct flush *flush, sl_sorter *sorter, const sl_type *schema,
                             sl_stream **out)
{
    struct sl_run *runs;
    size_t count;
    struct sl_merge_options options = {.mode = SL_COMMIT_TIME,
                                       .key_column = sl_meta_names[SL_META_RECORD_KEY],
                                       .keep_duplicates = true,
                                       .schema = schema,
                                       .runtime = &flush->table->runtime};
    SL_TRY(sl_sorter_finish(sorter, flush->fan_in, &runs, &count));
    sl_status status = sl_merge_open(runs, count, &options, NULL, out);
    sl_free(runs);
    return status;
}

/* ---- few rows ------------------------------------------------------------------------------------------ */

/* The first batches of a stream, read ahead. */
struct rows_ahead {
    sl_batch **items;
    size_t count, cap;
    int64_t rows;
    size_t bytes;
    bool are_all; /* the stream has no more */
};

static sl_status ahead_read(sl_stream *rows, size_t bytes_most, struct rows_ahead *a)
{
    while (a->rows <= KEYS_FEW && a->bytes <= bytes_most) {
        sl_batch *batch;
        SL_GROW(a->items, a->count, a->cap, 8);
        SL_TRY(sl_stream_next(rows, &batch));
        a->are_all = !batch;
        if (!batch)
            return SL_OK;
        a->items[a->count++] = batch;
        a->rows += batch->rows;
        a->bytes += sl_batch_bytes(batch);
    }
    return SL_OK;
}

static void ahead_free(struct rows_ahead *a)
{
    for (size_t i = 0; i < a->count; i++)
        sl_batch_unref(a->items[i]);
    sl_free(a->items);
}

static sl_status ahead_keys(const struct rows_ahead *a, const sl_type *schema, sl_key_set *out)
{
    sl_builder *b;
    sl_array *keys = NULL;
    SL_TRY(sl_builder_new(schema->fields[0].type, &b));
    sl_status status = SL_OK;
    for (size_t i = 0; i < a->count && !status; i++)
        status = sl_builder_append_range(b, a->items[i]->columns[0], 0, a->items[i]->rows);
    if (!status)
        status = sl_builder_finish(b, &keys);
    if (!status)
        status = sl_key_set_init(out, keys);
    sl_array_unref(keys);
    sl_builder_free(b);
    return status;
}

/* ---- all rows ------------------------------------------------------------------------------------------ */

static sl_status tag_batch_of(void *context, sl_batch *batch) { return tag_batch(context, batch); }

static sl_status tag_rest(struct tagging *t, sl_stream *rows)
{
    return sl_stream_drain(rows, &t->scatter.flush->table->runtime, tag_batch_of, t);
}

static size_t ahead_bytes(const struct flush *flush)
{
    return sl_budget_share(flush->table->runtime.budget,
                           ROWS_FEW_SHARE * (flush->workers ? flush->workers : 1), ROWS_FEW_LEAST, SIZE_MAX);
}

static sl_status tag_all(struct tagging *t, sl_sorter *rows)
{
    struct scatter *s = &t->scatter;
    struct rows_ahead ahead = {0};
    sl_key_set wanted = {0};
    sl_stream *stream = NULL;
    sl_status status = SL_OK;
    SL_GO(sorted_rows(s->flush, rows, s->schema, &stream));
    if (!operation_inserts(s->flush->operation)) {
        SL_GO(ahead_read(stream, ahead_bytes(s->flush), &ahead));
        if (ahead.are_all)
            SL_GO(ahead_keys(&ahead, s->schema, &wanted));
        SL_GO(partition_keys_open(s->flush, s->partition, ahead.are_all ? &wanted : NULL, &t->keys));
    }
    for (size_t i = 0; i < ahead.count; i++)
        SL_GO(tag_batch(t, ahead.items[i]));
    status = ahead.are_all ? SL_OK : tag_rest(t, stream);
done:
    sl_stream_close(stream);
    ahead_free(&ahead);
    sl_key_set_free(&wanted);
    return status;
}

static sl_status hand_out(struct scatter *s, struct write_targets *out)
{
    for (size_t i = 0; i < s->count; i++) {
        if (!s->sorters[i])
            continue;
        SL_TRY(write_targets_add(
            out, &(struct write_target){.partition = s->partition->path,
                                        .group = i + 1 < s->count ? &s->partition->groups[i] : NULL,
                                        .is_packed = s->packed[i],
                                        .sorter = s->sorters[i],
                                        .owns_sorter = true}));
        s->sorters[i] = NULL;
    }
    return SL_OK;
}

sl_status targets_of_partition(const struct flush *flush, const sl_partition *partition, sl_sorter *rows,
                               const struct router *router, struct write_targets *out)
{
    struct tagging t = {.scatter = {.flush = flush,
                                    .partition = partition,
                                    .schema = router->schema,
                                    .runtime = &router->runtime,
                                    .spill = &out->spill}};
    sl_status status = SL_OK;
    SL_GO(pack_candidates_find(flush, partition, &t.candidates));
    if (operation_inserts(flush->operation) &&
        t.candidates.count == 0) { /* all of them are new: no need to touch a row */
        status = write_targets_add(out, &(struct write_target){.partition = partition->path, .sorter = rows});
        goto done;
    }
    SL_GO(scatter_init(&t.scatter));
    SL_GO(tag_all(&t, rows));
    status = hand_out(&t.scatter, out);
done:
    partition_keys_close(t.keys);
    pack_candidates_free(&t.candidates);
    scatter_free(&t.scatter);
    sl_buf_free(&t.last_key);
    return status;
}
