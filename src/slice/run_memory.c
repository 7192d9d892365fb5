/*
 * How many runs of a slice may be open at once (spec/lsm-layout.md 11): so many that their buffers keep to the share of the
 * memory budget that one of the threads may take, and their files to its share of those that may be open (open_files.c).
 */
#include "slice/slice_int.h"

/* Of a column: as much of it as is read ahead, and a page as it was stored. */
#define CHUNK_BUFFER     ((size_t)1 << 20)
#define RUN_BYTES        ((size_t)256 << 10) /* a decompressor and the footer */
#define BATCHES          2.5                 /* with what the allocator rounds up */
#define NUMBER_BYTES     8
#define TEXT_BYTES       24
#define IDLE_SHARE       16 /* of the budget lies idle between two batches or files */
#define IDLE_BYTES_LEAST ((size_t)1 << 20)
#define IDLE_BYTES_MOST  ((size_t)64 << 20)
/* Batches of all runs of a merge take an eighth of a thread's share; of more than so many runs most wait. */
#define BATCHES_SHARE     8
#define BATCH_RUNS_MOST   16
#define BATCH_BYTES_LEAST ((size_t)64 << 10)
#define BATCH_BYTES_MOST  ((size_t)64 << 20)

static size_t at_most(int64_t bytes, size_t most)
{
    if (bytes <= 0)
        return 0;
    return (uint64_t)bytes < most ? (size_t)bytes : most;
}

/* Bytes of a value in a batch. What encodings saved comes back there; of texts only their own statistics could tell how much. */
static double value_bytes(const struct sl_parquet_chunk_info *chunk, int64_t rows)
{
    double stored = (double)(chunk->unencoded_bytes > chunk->uncompressed_bytes ? chunk->unencoded_bytes
                                                                                : chunk->uncompressed_bytes);
    double least = strcmp(chunk->physical_type, "BYTE_ARRAY") == 0 ? TEXT_BYTES : NUMBER_BYTES;
    double average = rows > 0 ? stored / (double)rows : stored;
    return average > least ? average : least;
}

/* Buffers of one column of a row group. */
static size_t chunk_bytes(const struct sl_parquet_chunk_info *chunk)
{
    size_t page = at_most(chunk->uncompressed_bytes, CHUNK_BUFFER);
    size_t bytes = at_most(chunk->compressed_bytes, CHUNK_BUFFER) + page;
    return chunk->has_dictionary ? bytes + page : bytes;
}

static bool is_wanted(const sl_type *schema, const char *leaf_path)
{
    size_t len = strcspn(leaf_path, ".");
    for (size_t i = 0; i < schema->field_count; i++)
        if (strncmp(schema->fields[i].name, leaf_path, len) == 0 && schema->fields[i].name[len] == 0)
            return true;
    return false;
}

/* The batches of a run are the one at hand and the next, which is read before the other is given up. */
sl_status slice_run_bytes(const sl_parquet *p, const sl_type *schema, size_t batch_bytes, size_t *out)
{
    size_t groups = sl_parquet_row_groups(p), leaves = sl_parquet_leaves(p);
    double row = 0, most_batches = BATCHES * (double)batch_bytes;
    *out = RUN_BYTES;
    for (size_t leaf = 0; leaf < leaves; leaf++) {
        size_t buffers = 0;
        double value = 0;
        for (size_t group = 0; group < groups; group++) {
            struct sl_parquet_chunk_info chunk;
            SL_TRY(sl_parquet_chunk_info(p, group, leaf, &chunk));
            if (!is_wanted(schema, chunk.path))
                continue;
            size_t bytes = chunk_bytes(&chunk);
            double average = value_bytes(&chunk, sl_parquet_row_group_rows(p, group));
            buffers = bytes > buffers ? bytes : buffers;
            value = average > value ? average : value;
        }
        *out += buffers;
        row += value;
    }
    double batches = BATCHES * SL_MERGE_BATCH_ROWS * row;
    *out += (size_t)(batches < most_batches ? batches : most_batches);
    return SL_OK;
}

static size_t thread_count(const sl_runtime *runtime)
{
    return runtime->pool ? sl_pool_threads(runtime->pool) : 1;
}

size_t sl_batch_bytes_for(const sl_runtime *runtime, size_t runs)
{
    size_t together = runs < 2 ? 2 : runs > BATCH_RUNS_MOST ? BATCH_RUNS_MOST : runs;
    return sl_budget_share(runtime->budget, BATCHES_SHARE * thread_count(runtime) * together,
                           BATCH_BYTES_LEAST, BATCH_BYTES_MOST);
}

/* Runs of `run_bytes` that may be open beside something of `beside` bytes. */
static size_t runs_for(const sl_runtime *runtime, size_t run_bytes, size_t beside)
{
    size_t files = sl_slice_runs_share(runtime);
    size_t room = sl_budget_share(runtime->budget, thread_count(runtime), beside, SIZE_MAX) - beside;
    size_t most = files < room / run_bytes ? files : room / run_bytes;
    return most < SL_MERGE_OPEN_LEAST ? SL_MERGE_OPEN_LEAST : most;
}

sl_status sl_slice_logs_limit(const sl_table *table, const sl_read_slice *slice, const sl_type *schema,
                              size_t *out)
{
    const sl_data_file *largest = NULL;
    for (size_t i = 0; i < slice->log_count; i++)
        if (!largest || slice->logs[i]->size > largest->size)
            largest = slice->logs[i];
    *out = SL_MERGE_OPEN_LEAST;
    if (!largest || slice->log_count <= SL_MERGE_OPEN_LEAST)
        return SL_OK;
    char *relative;
    sl_source *source = NULL;
    size_t bytes;
    SL_TRY(sl_path_join(slice->group->partition, largest->name, &relative));
    sl_status status = sl_source_open(table, relative, NULL, &source);
    if (!status)
        status = slice_run_bytes(source->parquet, schema,
                                 sl_batch_bytes_for(&table->runtime, slice->log_count), &bytes);
    if (!status)
        *out = runs_for(&table->runtime, bytes, 0);
    sl_source_unref(source);
    sl_free(relative);
    return status;
}

sl_status sl_slice_memory_new(const sl_runtime *runtime, bool of_all_threads, sl_parquet_memory **out)
{
    size_t users = of_all_threads ? 1 : thread_count(runtime);
    return sl_parquet_memory_new(
        sl_budget_share(runtime->budget, IDLE_SHARE * users, IDLE_BYTES_LEAST, IDLE_BYTES_MOST), out);
}

void slice_open_limit(const sl_runtime *runtime, const struct slice_inputs *inputs, struct open_limit *out)
{
    size_t base = 0, log = 1, logs = 0;
    for (size_t i = 0; i < inputs->count; i++) {
        const struct slice_input *input = &inputs->items[i];
        if (input->is_base)
            base = input->run_bytes;
        else if (input->run_bytes > log)
            log = input->run_bytes;
        logs += input->is_base ? 0 : input->run_bytes;
    }
    out->runs = runs_for(runtime, log, base);
    out->bytes = base + (logs / log < out->runs ? logs : out->runs * log);
}
