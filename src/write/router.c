/*
 * Rows to file groups: partition path and bucket of each row name its group, a counting sort over the batch
 * gathers each group's rows, and they go to the group's sorter in arrival order. When the pool runs dry the
 * largest idle group is relieved of its rows.
 */
#include "write/write_int.h"
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

void router_init(struct router *r, const sl_table *table, const sl_type *schema, uint64_t pool_bytes)
{
    memset(r, 0, sizeof *r);
    r->table = table;
    r->schema = sl_type_ref(schema);
    r->pool.parent = table->runtime.budget;
    r->pool.limit = pool_bytes < SIZE_MAX ? (size_t)pool_bytes : SIZE_MAX;
    r->runtime = table->runtime;
    r->runtime.budget = &r->pool;
}

void router_free(struct router *r)
{
    for (size_t i = 0; i < r->group_count; i++) {
        sl_sorter_free(r->groups[i].sorter);
        sl_strings_free(&r->groups[i].place.logs_before);
    }
    for (size_t i = 0; i < r->partitions.count; i++)
        sl_free(r->groups_of[i]);
    sl_free(r->groups_of);
    sl_free(r->partition_bytes);
    sl_free(r->groups);
    sl_free(r->partition_slots);
    sl_free(r->buckets);
    sl_free(r->group_of_row);
    sl_free(r->rows);
    sl_free(r->touched);
    sl_free(r->group_rows);
    sl_strings_free(&r->partitions);
    sl_type_unref(r->schema);
    sl_spill_free(r->spill);
    memset(r, 0, sizeof *r);
}

uint32_t router_buckets(const sl_table *table) { return table->buckets.buckets ? table->buckets.buckets : 1; }

sl_status router_bucket_of_keys(const sl_table *table, const sl_array *keys, uint32_t *out)
{
    if (table->buckets.buckets)
        return sl_bucket_of_keys(&table->buckets, keys, out);
    if (keys->length)
        memset(out, 0, (size_t)keys->length * sizeof *out);
    return SL_OK;
}

/* ---- partitions ---------------------------------------------------------------------------------------- */

static size_t partition_slot(const struct router *r, const char *path, size_t len)
{
    size_t mask = r->partition_cap - 1;
    size_t slot = (size_t)XXH3_64bits(path, len) & mask;
    while (r->partition_slots[slot]) {
        size_t there = r->partition_slots[slot] - 1;
        if (r->partition_bytes[there] == len && memcmp(r->partitions.items[there], path, len) == 0)
            break;
        slot = (slot + 1) & mask;
    }
    return slot;
}

static sl_status partitions_grow(struct router *r)
{
    size_t *old = r->partition_slots;
    size_t cap = r->partition_cap ? r->partition_cap * 2 : 64;
    size_t *slots = sl_calloc(cap, sizeof *slots);
    if (!slots)
        return sl_nomem();
    r->partition_slots = slots;
    r->partition_cap = cap;
    for (size_t i = 0; i < r->partitions.count; i++)
        slots[partition_slot(r, r->partitions.items[i], r->partition_bytes[i])] = i + 1;
    sl_free(old);
    return SL_OK;
}

#define FOLDER_BYTES_MAX 255 /* of a name, on every file system that a table may lie on */
#define SHOWN_BYTES      40  /* of a longer one */

/* A path becomes folders: what the file system would take for something else is refused. */
static sl_status check_path(const char *path, size_t len)
{
    if (memchr(path, 0, len))
        return sl_input("partition path with a zero byte");
    if (len && (path[0] == '/' || path[len - 1] == '/'))
        return sl_hint(sl_input("partition path \"%.*s\" begins or ends with /", (int)len, path),
                       "hoodie.datasource.write.partitionpath.urlencode=true at create escapes such values");
    for (size_t start = 0; start < len;) {
        const char *slash = memchr(path + start, '/', len - start);
        size_t n = slash ? (size_t)(slash - path) - start : len - start;
        const char *part = path + start;
        if (n == 0 || (n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.') ||
            (start == 0 && n >= 7 && memcmp(part, ".hoodie", 7) == 0))
            return sl_hint(
                sl_input("partition path \"%.*s\" is no usable folder", (int)len, path),
                "hoodie.datasource.write.partitionpath.urlencode=true at create escapes / in values");
        if (n > FOLDER_BYTES_MAX)
            return sl_input("a partition path whose folder \"%.*s...\" would have a name of %zu bytes",
                            (int)sl_utf8_cut(part, SHOWN_BYTES), part, n);
        start += n + 1;
    }
    return SL_OK;
}

static sl_status partition_index(struct router *r, const uint8_t *path, size_t len, size_t *out)
{
    if (!r->partition_slots)
        SL_TRY(partitions_grow(r));
    size_t slot = partition_slot(r, (const char *)path, len);
    if (r->partition_slots[slot]) {
        *out = r->partition_slots[slot] - 1;
        return SL_OK;
    }
    SL_TRY(check_path((const char *)path, len));
    if ((r->partitions.count + 1) * 2 > r->partition_cap) {
        SL_TRY(partitions_grow(r));
        slot = partition_slot(r, (const char *)path, len);
    }
    if (r->partitions.count == r->groups_of_cap) {
        size_t cap = r->groups_of_cap ? r->groups_of_cap * 2 : 16;
        size_t **grown = sl_realloc_array(r->groups_of, cap, sizeof *grown);
        if (!grown)
            return sl_nomem();
        r->groups_of = grown;
        size_t *lengths = sl_realloc_array(r->partition_bytes, cap, sizeof *lengths);
        if (!lengths)
            return sl_nomem();
        r->partition_bytes = lengths;
        r->groups_of_cap = cap;
    }
    size_t *buckets = sl_calloc(router_buckets(r->table), sizeof *buckets);
    char *text = sl_strndup((const char *)path, len);
    sl_status status = buckets && text ? sl_strings_add(&r->partitions, text) : sl_nomem();
    sl_free(text);
    if (status) {
        sl_free(buckets);
        return status;
    }
    r->groups_of[r->partitions.count - 1] = buckets;
    r->partition_bytes[r->partitions.count - 1] = len;
    r->partition_slots[slot] = r->partitions.count;
    *out = r->partitions.count - 1;
    return SL_OK;
}

/* ---- groups -------------------------------------------------------------------------------------------- */

static sl_status group_index(struct router *r, size_t partition, uint32_t bucket, size_t *out)
{
    size_t *known = &r->groups_of[partition][bucket];
    if (*known) {
        *out = *known - 1;
        return SL_OK;
    }
    SL_GROW(r->groups, r->group_count, r->group_cap, 16);
    r->groups[r->group_count] = (struct write_group){.bucket = bucket, .partition = partition};
    *known = ++r->group_count;
    *out = r->group_count - 1;
    return SL_OK;
}

static bool same_value(const sl_array *a, int64_t i, int64_t j)
{
    size_t x_len, y_len;
    const uint8_t *x = sl_bytes_at(a, i, &x_len), *y = sl_bytes_at(a, j, &y_len);
    return x_len == y_len && memcmp(x, y, x_len) == 0;
}

static sl_status scratch_for_rows(struct router *r, size_t rows)
{
    if (rows <= r->scratch_rows)
        return SL_OK;
    uint32_t **const arrays[] = {&r->buckets, &r->group_of_row, &r->rows};
    for (size_t i = 0; i < 3; i++) {
        uint32_t *grown = sl_realloc_array(*arrays[i], rows, sizeof *grown);
        if (!grown)
            return sl_nomem();
        *arrays[i] = grown;
    }
    r->scratch_rows = rows;
    return SL_OK;
}

sl_status partition_paths_check(const sl_array *paths)
{
    for (int64_t i = 0; i < paths->length; i++)
        if (i == 0 || !same_value(paths, i, i - 1)) {
            size_t len;
            const uint8_t *path = sl_bytes_at(paths, i, &len);
            SL_TRY_AT(check_path((const char *)path, len), i);
        }
    return SL_OK;
}

/* Called before each row is counted, so that both arrays have room for every group there is. */
static sl_status scratch_for_groups(struct router *r)
{
    if (r->group_count <= r->scratch_groups)
        return SL_OK;
    size_t cap = r->group_cap;
    size_t *touched = sl_realloc_array(r->touched, cap, sizeof *touched);
    if (!touched)
        return sl_nomem();
    r->touched = touched;
    size_t *counts = sl_realloc_array(r->group_rows, cap, sizeof *counts);
    if (!counts)
        return sl_nomem();
    memset(counts + r->scratch_groups, 0, (cap - r->scratch_groups) * sizeof *counts);
    r->group_rows = counts;
    r->scratch_groups = cap;
    return SL_OK;
}

/* Fills group_of_row, counts rows per group, lists the groups that have any. */
static sl_status assign_groups(struct router *r, const sl_batch *batch, const sl_array *partitions,
                               size_t *touched_count)
{
    size_t partition = 0;
    *touched_count = 0;
    for (int64_t i = 0; i < batch->rows; i++) {
        size_t group;
        if (i == 0 || !same_value(partitions, i, i - 1)) {
            size_t len;
            const uint8_t *path = sl_bytes_at(partitions, i, &len);
            SL_TRY_AT(partition_index(r, path, len, &partition), i);
        }
        SL_TRY(group_index(r, partition, r->buckets[i], &group));
        SL_TRY(scratch_for_groups(r));
        r->group_of_row[i] = (uint32_t)group;
        if (r->group_rows[group]++ == 0)
            r->touched[(*touched_count)++] = group;
    }
    return SL_OK;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

static size_t group_memory(const struct write_group *g)
{
    return g->sorter ? sl_sorter_memory(g->sorter) : 0;
}

/* One file for all sorters: there may be more of them than a process may have files open. */
sl_status router_spill(struct router *r, size_t group)
{
    if (!r->spill)
        SL_TRY(sl_spill_new(&r->runtime, &r->spill));
    sl_sorter_share(r->groups[group].sorter, r->spill);
    return sl_sorter_spill(r->groups[group].sorter);
}

int64_t router_largest(const struct router *r, int64_t besides)
{
    int64_t largest = -1;
    size_t most = 0;
    for (size_t i = 0; i < r->group_count; i++)
        if ((int64_t)i != besides && group_memory(&r->groups[i]) > most) {
            most = group_memory(&r->groups[i]);
            largest = (int64_t)i;
        }
    return largest;
}

/* A record that no empty pool could hold is refused before any row of its batch is taken. */
static sl_status check_record_sizes(const struct router *r, const sl_batch *batch)
{
    if (!r->pool.limit || sl_batch_bytes(batch) <= r->pool.limit)
        return SL_OK;
    for (int64_t i = 0; i < batch->rows; i++) {
        sl_batch *row;
        SL_TRY(sl_batch_copy(batch, i, 1, &row));
        size_t bytes = sl_batch_bytes(row);
        sl_batch_unref(row);
        if (bytes > r->pool.limit)
            return sl_hint(
                sl_at_row(
                    sl_input("a record of %zu bytes, more than the %zu bytes in which rows are collected",
                             bytes, r->pool.limit),
                    i),
                "sluice.memory (--memory), or sluice.flush.task.bytes if it is given, must be larger");
    }
    return SL_OK;
}

static sl_status sorter_of(struct router *r, struct write_group *g, sl_sorter **out)
{
    if (!g->sorter) {
        SL_TRY(sl_sorter_new(r->schema, sl_meta_names[SL_META_RECORD_KEY], &r->runtime, &g->sorter));
        g->waiting_since = sl_monotonic();
    }
    *out = g->sorter;
    return SL_OK;
}

/* The pool is dry: the largest idle group goes first, the one that wants the rows last. When nothing is left
 * to take away, the rows are too many at once. */
static sl_status append_rows(struct router *r, size_t group, const sl_batch *batch, const uint32_t *rows,
                             size_t count)
{
    for (;;) {
        sl_sorter *sorter;
        SL_TRY(sorter_of(r, &r->groups[group], &sorter));
        sl_status status = sl_sorter_append(sorter, batch, rows, count);
        if (sl_status_code(status) != SL_E_MEMORY || !sl_sorter_usable(sorter))
            return status;
        int64_t victim = router_largest(r, (int64_t)group);
        if (victim < 0 && sl_sorter_memory(sorter) > 0)
            victim = (int64_t)group;
        if (victim < 0 && count == 1)
            return status;
        sl_status_free(status);
        if (victim < 0) {
            SL_TRY(append_rows(r, group, batch, rows, count / 2));
            return append_rows(r, group, batch, rows + count / 2, count - count / 2);
        }
        SL_TRY(r->relieve(r->owner, (size_t)victim));
    }
}

/* The rows of `r->rows`, group by group; group_rows holds each group's start. */
static sl_status append_touched(struct router *r, const sl_batch *batch, size_t touched_count)
{
    for (size_t t = 0; t < touched_count; t++) {
        size_t start = r->group_rows[r->touched[t]];
        size_t stop = t + 1 < touched_count ? r->group_rows[r->touched[t + 1]] : (size_t)batch->rows;
        SL_TRY(append_rows(r, r->touched[t], batch, r->rows + start, stop - start));
    }
    return SL_OK;
}

sl_status router_add(struct router *r, const sl_batch *batch, const sl_array *keys,
                     const sl_array *partitions)
{
    size_t touched_count;
    SL_TRY(check_record_sizes(r, batch));
    SL_TRY(scratch_for_rows(r, (size_t)batch->rows));
    SL_TRY(router_bucket_of_keys(r->table, keys, r->buckets));
    sl_status status = assign_groups(r, batch, partitions, &touched_count);
    /* counting sort: group_rows becomes each group's end, walking backwards keeps arrival order */
    size_t end = 0;
    for (size_t t = 0; t < touched_count && !status; t++)
        r->group_rows[r->touched[t]] = end += r->group_rows[r->touched[t]];
    for (int64_t i = batch->rows; i-- > 0 && !status;)
        r->rows[--r->group_rows[r->group_of_row[i]]] = (uint32_t)i;
    if (!status)
        status = append_touched(r, batch, touched_count);
    for (size_t t = 0; t < touched_count; t++)
        r->group_rows[r->touched[t]] = 0;
    return status;
}
