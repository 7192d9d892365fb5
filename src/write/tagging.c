/*
 * Finding the file group of each row without a bucket index (spec/write-path.md 5.5): a join of the incoming keys with the keys
 * that the groups of the partition hold. Both sides are sorted, so it is one pass over both, whatever their size:
 *
 *   rows of the partition, sorted  ---\
 *                                      merge join -> update of group g | insert -> small file or new groups
 *   (key, group) of all its groups ---/
 *
 * Keys of data logs count as keys of their group, so that the answer is right for every index that wrote the table. A bloom
 * filter would only save reading some of the keys; the answer is the same.
 */
#include "write/write_int.h"
#include <string.h>

#define GROUP_COLUMN "group"

/* ---- the keys of a partition --------------------------------------------------------------------------- */

/* Keys of one file with the number of its group beside each. */
struct numbered_keys {
    sl_stream base;
    sl_stream *keys;
    uint32_t group;
};

static sl_status numbered_next(sl_stream *self, sl_batch **out)
{
    struct numbered_keys *s = (struct numbered_keys *)self;
    sl_array *columns[2];
    sl_batch *keys;
    *out = NULL;
    SL_TRY(sl_stream_next(s->keys, &keys));
    if (!keys)
        return SL_OK;
    columns[0] = sl_array_ref(keys->columns[0]);
    sl_status status =
        sl_array_constant_string((const char *)&s->group, sizeof s->group, keys->rows, &columns[1]);
    if (status)
        sl_array_unref(columns[0]);
    else
        status = sl_batch_new(s->base.schema, keys->rows, columns, out);
    sl_batch_unref(keys);
    return status;
}

static void numbered_close(sl_stream *self)
{
    struct numbered_keys *s = (struct numbered_keys *)self;
    sl_stream_close(s->keys);
    sl_free(s);
}

/* Takes over `keys`; borrows the schema. */
static sl_status numbered(sl_stream *keys, const sl_type *schema, uint32_t group, sl_stream **out)
{
    struct numbered_keys *s = sl_calloc(1, sizeof *s);
    if (!s) {
        sl_stream_close(keys);
        return sl_nomem();
    }
    *s = (struct numbered_keys){{schema, numbered_next, numbered_close}, keys, group};
    *out = &s->base;
    return SL_OK;
}

static sl_status string_schema(const char *const *names, size_t count, const sl_type **out)
{
    sl_field fields[2];
    const sl_type *string;
    SL_TRY(sl_type_new(SL_STRING, &string));
    for (size_t i = 0; i < count; i++)
        fields[i] = (sl_field){.name = names[i], .type = string, .nullable = false};
    sl_status status = sl_type_struct(fields, count, out);
    sl_type_unref(string);
    return status;
}

/* (key, group) of a partition, sorted by key. */
struct partition_keys {
    const sl_type *key_schema, *numbered_schema;
    struct sl_run *runs;
    size_t run_count, run_cap;
    sl_stream *merged;
    sl_batch *batch; /* NULL: at the end, once begun */
    int64_t row;
};

static sl_status add_file(const struct flush *flush, const sl_partition *partition, size_t group,
                          const sl_data_file *file, struct partition_keys *k)
{
    char *relative;
    struct sl_run_options options = {.schema = k->key_schema, .sorted = true};
    if (k->run_count == k->run_cap) {
        size_t cap = k->run_cap ? k->run_cap * 2 : 16;
        struct sl_run *grown = sl_realloc_array(k->runs, cap, sizeof *grown);
        if (!grown)
            return sl_nomem();
        k->runs = grown;
        k->run_cap = cap;
    }
    struct sl_run *run = &k->runs[k->run_count];
    memset(run, 0, sizeof *run);
    run->name = file->name;
    SL_TRY(sl_path_join(partition->path, file->name, &relative));
    sl_stream *keys;
    sl_status status = sl_run_open(flush->table, relative, &options, &keys);
    sl_free(relative);
    SL_TRY(status);
    SL_TRY(numbered(keys, k->numbered_schema, (uint32_t)group, &run->rows));
    k->run_count++;
    return SL_OK;
}

static sl_status add_group(const struct flush *flush, const sl_partition *partition, size_t group,
                           struct partition_keys *k)
{
    sl_read_slice slice;
    bool found;
    SL_TRY(sl_group_read_slice(&partition->groups[group], flush->table->type == SL_COPY_ON_WRITE, &slice,
                               &found));
    if (!found)
        return SL_OK;
    sl_status status = slice.base ? add_file(flush, partition, group, slice.base, k) : SL_OK;
    for (size_t i = 0; i < slice.log_count && !status; i++)
        if (slice.logs[i]->parts.kind == SL_FILE_LOG)
            status = add_file(flush, partition, group, slice.logs[i], k);
        else if (slice.logs[i]->parts.kind != SL_FILE_DELETES)
            status = sl_unsupported("writing beside the log %s of an older form", slice.logs[i]->name);
    sl_read_slice_free(&slice);
    return status;
}

static sl_status keys_advance(struct partition_keys *k)
{
    if (k->batch && ++k->row < k->batch->rows)
        return SL_OK;
    do {
        sl_batch_unref(k->batch);
        k->batch = NULL;
        k->row = 0;
        SL_TRY(sl_stream_next(k->merged, &k->batch));
    } while (k->batch && k->batch->rows == 0);
    return SL_OK;
}

static sl_status keys_open(const struct flush *flush, const sl_partition *partition, struct partition_keys *k)
{
    const char *const names[] = {sl_meta_names[SL_META_RECORD_KEY], GROUP_COLUMN};
    SL_TRY(string_schema(names, 1, &k->key_schema));
    SL_TRY(string_schema(names, 2, &k->numbered_schema));
    for (size_t g = 0; g < partition->group_count; g++)
        SL_TRY(add_group(flush, partition, g, k));
    struct sl_merge_options options = {.mode = SL_COMMIT_TIME,
                                       .key_column = names[0],
                                       .keep_duplicates = true,
                                       .schema = k->numbered_schema,
                                       .runtime = &flush->table->runtime};
    size_t count = k->run_count;
    k->run_count = 0; /* taken over */
    SL_TRY(sl_merge_open(k->runs, count, &options, NULL, &k->merged));
    return keys_advance(k);
}

static void keys_close(struct partition_keys *k)
{
    for (size_t i = 0; i < k->run_count; i++)
        sl_stream_close(k->runs[i].rows);
    sl_free(k->runs);
    sl_batch_unref(k->batch);
    sl_stream_close(k->merged);
    sl_type_unref(k->key_schema);
    sl_type_unref(k->numbered_schema);
}

static int compare_bytes(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
    int c = memcmp(a, b, a_len < b_len ? a_len : b_len);
    return c ? c : a_len < b_len ? -1 : a_len > b_len;
}

/* The group that holds the key, -1: none. Keys are asked for in ascending order. */
static sl_status keys_find(struct partition_keys *k, const uint8_t *key, size_t len, int64_t *group)
{
    *group = -1;
    while (k->batch) {
        size_t n;
        const uint8_t *at = sl_bytes_at(k->batch->columns[0], k->row, &n);
        int c = compare_bytes(at, n, key, len);
        if (c > 0)
            return SL_OK;
        if (c == 0) {
            uint32_t number;
            memcpy(&number, sl_bytes_at(k->batch->columns[1], k->row, &n), sizeof number);
            *group = number;
            return SL_OK;
        }
        SL_TRY(keys_advance(k));
    }
    return SL_OK;
}

/* ---- sorters of the targets ---------------------------------------------------------------------------- */

/* One per group of the partition, the last for new groups; NULL until a row comes. */
struct scatter {
    const struct flush *flush;
    const sl_partition *partition;
    const sl_type *schema;
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
    return largest ? sl_sorter_spill(largest) : SL_OK;
}

static sl_status append_rows(struct scatter *s, size_t target, const sl_batch *batch, const uint32_t *rows,
                             size_t count)
{
    if (!s->sorters[target])
        SL_TRY(sl_sorter_new(s->schema, sl_meta_names[SL_META_RECORD_KEY], &s->flush->table->runtime,
                             &s->sorters[target]));
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
    struct partition_keys keys;
    struct pack_candidates candidates;
    bool looks_up;   /* inserts are not looked up */
    sl_buf last_key; /* of the row before: rows of one key go one way */
    int64_t last_target;
    bool any;
};

static sl_status choose(struct tagging *t, const uint8_t *key, size_t len, int64_t *target)
{
    int64_t group = -1;
    if (t->looks_up)
        SL_TRY(keys_find(&t->keys, key, len, &group));
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
    if (!t->any || compare_bytes(key, len, t->last_key.data, t->last_key.len) != 0) {
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

static sl_status tag_all(struct tagging *t, sl_sorter *rows)
{
    sl_stream *stream;
    SL_TRY(sorted_rows(t->scatter.flush, rows, t->scatter.schema, &stream));
    sl_status status = SL_OK;
    for (;;) {
        sl_batch *batch;
        SL_GO(sl_check_cancel(&t->scatter.flush->table->runtime));
        SL_GO(sl_stream_next(stream, &batch));
        if (!batch)
            break;
        status = tag_batch(t, batch);
        sl_batch_unref(batch);
        if (status)
            goto done;
    }
done:
    sl_stream_close(stream);
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
                               const sl_type *schema, struct write_targets *out)
{
    struct tagging t = {.scatter = {.flush = flush, .partition = partition, .schema = schema},
                        .looks_up = !operation_inserts(flush->operation)};
    sl_status status = SL_OK;
    SL_GO(pack_candidates_find(flush, partition, &t.candidates));
    if (!t.looks_up && t.candidates.count == 0) { /* all of them are new: no need to touch a row */
        status = write_targets_add(out, &(struct write_target){.partition = partition->path, .sorter = rows});
        goto done;
    }
    SL_GO(scatter_init(&t.scatter));
    if (t.looks_up)
        SL_GO(keys_open(flush, partition, &t.keys));
    SL_GO(tag_all(&t, rows));
    status = hand_out(&t.scatter, out);
done:
    keys_close(&t.keys);
    pack_candidates_free(&t.candidates);
    scatter_free(&t.scatter);
    sl_buf_free(&t.last_key);
    return status;
}
