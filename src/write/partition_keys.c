/*
 * The keys that the file groups of a partition hold, each with the number of its group: one sorted stream of pairs, which is
 * searched in ascending order. Keys of data logs count as keys of their group, so that the answer is right for every index
 * that wrote the table.
 *
 * Where only few keys are asked for, pages that cannot hold any of them are passed over, and with them most files. Where the
 * keys lie in more files than shall be open at once, they are read file by file and sorted.
 */
#include "write/write_int.h"
#include <string.h>

#define GROUP_COLUMN "group"
#define RUNS_MOST    64 /* files that are open at once */
/* Memory: files that are open, and keys of those that were closed, take an eighth of the budget each, all threads together. */
#define MEMORY_SHARE 8
#define RUN_BYTES    ((size_t)512 << 10) /* of an open file: batches of keys, and the page that they come from */
#define RUNS_LEAST   4

/* ---- keys of one file ---------------------------------------------------------------------------------- */

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

/* ---- keys of the partition ----------------------------------------------------------------------------- */

struct partition_keys {
    const struct flush *flush;
    const sl_partition *partition;
    const sl_key_set *wanted; /* NULL: all */
    const sl_type *key_schema, *numbered_schema;
    struct sl_run *runs;
    size_t run_count, run_cap;
    size_t runs_most;
    sl_sorter *sorter; /* keys of files that had to be closed; NULL: there are none */
    sl_budget pool;    /* the sorter's */
    sl_runtime runtime;
    sl_stream *merged;
    sl_batch *batch; /* NULL: at the end, once begun */
    int64_t row;
};

static sl_status runs_room(struct partition_keys *k)
{
    SL_GROW(k->runs, k->run_count, k->run_cap, 16);
    return SL_OK;
}

/* Takes over the stream. */
static sl_status sort_keys(struct partition_keys *k, sl_stream *keys)
{
    sl_status status = sl_sorter_append_stream(k->sorter, keys, &k->flush->table->runtime);
    sl_stream_close(keys);
    return status;
}

static sl_status close_files(struct partition_keys *k)
{
    if (!k->sorter)
        SL_TRY(sl_sorter_new(k->numbered_schema, sl_meta_names[SL_META_RECORD_KEY], &k->runtime, &k->sorter));
    while (k->run_count > 0)
        SL_TRY(sort_keys(k, k->runs[--k->run_count].rows));
    return SL_OK;
}

/* Once some keys were sorted the others are, too. */
static sl_status add_sorted(struct partition_keys *k)
{
    struct sl_run *sorted;
    size_t count;
    if (!k->sorter)
        return SL_OK;
    SL_TRY(close_files(k));
    SL_TRY(sl_sorter_finish(k->sorter, k->flush->fan_in, &sorted, &count));
    sl_free(k->runs);
    k->runs = sorted;
    k->run_count = k->run_cap = count;
    return SL_OK;
}

/* The rows of a file that may have one of the wanted keys. */
static sl_status wanted_ranges(const struct partition_keys *k, const sl_parquet *file, sl_row_ranges *out)
{
    for (size_t g = 0; g < sl_parquet_row_groups(file); g++)
        SL_TRY(sl_key_set_select(k->wanted, file, g, out));
    return SL_OK;
}

static sl_status add_run(struct partition_keys *k, size_t group, const sl_data_file *file, sl_source *source,
                         const sl_row_ranges *ranges)
{
    struct sl_run_options options = {.schema = k->key_schema,
                                     .sorted = true,
                                     .source = source,
                                     .ranges = ranges,
                                     .batch_rows = SL_MERGE_BATCH_ROWS,
                                     .batch_bytes = RUN_BYTES / 4};
    sl_stream *keys;
    if (k->run_count == k->runs_most)
        SL_TRY(close_files(k));
    SL_TRY(runs_room(k));
    struct sl_run *run = &k->runs[k->run_count];
    memset(run, 0, sizeof *run);
    run->name = file->name;
    SL_TRY(sl_run_open(k->flush->table, source->relative, &options, &keys));
    SL_TRY(numbered(keys, k->numbered_schema, (uint32_t)group, &run->rows));
    k->run_count++;
    return SL_OK;
}

static sl_status add_file(struct partition_keys *k, size_t group, const sl_data_file *file)
{
    char *relative = NULL;
    sl_source *source = NULL;
    sl_row_ranges ranges = {0};
    sl_status status = SL_OK;
    SL_GO(sl_path_join(k->partition->path, file->name, &relative));
    SL_GO(sl_source_open(k->flush->table, relative, NULL, &source));
    if (k->wanted)
        SL_GO(wanted_ranges(k, source->parquet, &ranges));
    if (!k->wanted || ranges.count)
        status = add_run(k, group, file, source, k->wanted ? &ranges : NULL);
done:
    sl_row_ranges_free(&ranges);
    sl_source_unref(source);
    sl_free(relative);
    return status;
}

static sl_status add_group(struct partition_keys *k, size_t group)
{
    sl_read_slice slice;
    bool found;
    SL_TRY(sl_group_read_slice(&k->partition->groups[group], k->flush->table->type == SL_COPY_ON_WRITE,
                               &slice, &found));
    if (!found)
        return SL_OK;
    sl_status status = slice.base ? add_file(k, group, slice.base) : SL_OK;
    for (size_t i = 0; i < slice.log_count && !status; i++)
        if (slice.logs[i]->parts.kind == SL_FILE_LOG)
            status = add_file(k, group, slice.logs[i]);
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

static sl_status keys_begin(struct partition_keys *k)
{
    const char *const names[] = {sl_meta_names[SL_META_RECORD_KEY], GROUP_COLUMN};
    SL_TRY(string_schema(names, 1, &k->key_schema));
    SL_TRY(string_schema(names, 2, &k->numbered_schema));
    for (size_t g = 0; g < k->partition->group_count; g++)
        SL_TRY(add_group(k, g));
    SL_TRY(add_sorted(k));
    struct sl_merge_options options = {.mode = SL_COMMIT_TIME,
                                       .key_column = names[0],
                                       .keep_duplicates = true,
                                       .schema = k->numbered_schema,
                                       .runtime = &k->flush->table->runtime};
    size_t count = k->run_count;
    k->run_count = 0; /* taken over */
    SL_TRY(sl_merge_open(k->runs, count, &options, NULL, &k->merged));
    return keys_advance(k);
}

static void share_memory(struct partition_keys *k)
{
    const sl_runtime *runtime = &k->flush->table->runtime;
    size_t users = MEMORY_SHARE * (k->flush->workers ? k->flush->workers : 1);
    k->runs_most =
        sl_budget_share(runtime->budget, users, RUNS_LEAST * RUN_BYTES, RUNS_MOST * RUN_BYTES) / RUN_BYTES;
    size_t files = sl_slice_runs_share(runtime);
    if (k->runs_most > files)
        k->runs_most = files;
    k->pool =
        (sl_budget){.limit = sl_budget_share(runtime->budget, users, 1, SIZE_MAX), .parent = runtime->budget};
    k->runtime = *runtime;
    k->runtime.budget = &k->pool;
}

sl_status partition_keys_open(const struct flush *flush, const sl_partition *partition,
                              const sl_key_set *wanted, struct partition_keys **out)
{
    struct partition_keys *k;
    SL_NEW(k);
    k->flush = flush;
    k->partition = partition;
    k->wanted = wanted;
    share_memory(k);
    sl_status status = keys_begin(k);
    if (status)
        partition_keys_close(k);
    else
        *out = k;
    return status;
}

void partition_keys_close(struct partition_keys *k)
{
    if (!k)
        return;
    for (size_t i = 0; i < k->run_count; i++)
        sl_stream_close(k->runs[i].rows);
    sl_free(k->runs);
    sl_batch_unref(k->batch);
    sl_stream_close(k->merged);
    sl_sorter_free(k->sorter); /* after what reads its runs */
    sl_type_unref(k->key_schema);
    sl_type_unref(k->numbered_schema);
    sl_free(k);
}

sl_status partition_keys_find(struct partition_keys *k, const uint8_t *key, size_t len, int64_t *group)
{
    *group = -1;
    while (k->batch) {
        size_t n;
        const uint8_t *at = sl_bytes_at(k->batch->columns[0], k->row, &n);
        int c = bytes_compare(at, n, key, len);
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
