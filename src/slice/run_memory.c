/*
 * How many runs of a slice may be open at once (spec/lsm-layout.md 11): so many that their buffers keep to the share of the
 * memory budget that one of the threads may take, and their files to its share of the process's file descriptors.
 */
#include "slice/slice_int.h"
#include <sys/resource.h>

#define CHUNK_BUFFER                                                                                         \
    ((size_t)1 << 20) /* of a column: as much of it as is read ahead, and a page as it was stored */
#define RUN_BYTES ((size_t)256 << 10) /* a decompressor and the footer */
#define FILES_SHARE                                                                                          \
    2 /* of the file descriptors that may be open: the other half is for the rest of the program */

static size_t at_most(int64_t bytes, size_t most)
{
    if (bytes <= 0)
        return 0;
    return (uint64_t)bytes < most ? (size_t)bytes : most;
}

/* Buffers of one column of a row group, and its values in a batch: once as they are read, once as they are gathered. */
static size_t chunk_bytes(const struct sl_parquet_chunk_info *chunk, int64_t rows)
{
    double batch = (double)chunk->uncompressed_bytes / (double)(rows > 0 ? rows : 1) * MERGE_BATCH_ROWS;
    size_t page = at_most(chunk->uncompressed_bytes, CHUNK_BUFFER);
    size_t bytes = at_most(chunk->compressed_bytes, CHUNK_BUFFER) + page;
    if (chunk->has_dictionary)
        bytes += page;
    return bytes + 2 * at_most(chunk->uncompressed_bytes, batch < 1e15 ? (size_t)batch : (size_t)1e15);
}

static bool is_wanted(const sl_type *schema, const char *leaf_path)
{
    size_t len = strcspn(leaf_path, ".");
    for (size_t i = 0; i < schema->field_count; i++)
        if (strncmp(schema->fields[i].name, leaf_path, len) == 0 && schema->fields[i].name[len] == 0)
            return true;
    return false;
}

sl_status slice_run_bytes(const sl_parquet *p, const sl_type *schema, size_t *out)
{
    size_t groups = sl_parquet_row_groups(p), leaves = sl_parquet_leaves(p);
    *out = RUN_BYTES;
    for (size_t leaf = 0; leaf < leaves; leaf++) {
        size_t most = 0;
        for (size_t group = 0; group < groups; group++) {
            struct sl_parquet_chunk_info chunk;
            SL_TRY(sl_parquet_chunk_info(p, group, leaf, &chunk));
            size_t bytes =
                is_wanted(schema, chunk.path) ? chunk_bytes(&chunk, sl_parquet_row_group_rows(p, group)) : 0;
            most = bytes > most ? bytes : most;
        }
        *out += most;
    }
    return SL_OK;
}

static size_t files_for(size_t threads)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY)
        return SIZE_MAX;
    return (size_t)files.rlim_cur / FILES_SHARE / threads;
}

void slice_open_limit(const sl_runtime *runtime, const struct slice_inputs *inputs, struct open_limit *out)
{
    size_t threads = runtime->pool ? sl_pool_threads(runtime->pool) : 1, base = 0, log = 1, logs = 0;
    for (size_t i = 0; i < inputs->count; i++) {
        const struct slice_input *input = &inputs->items[i];
        if (input->is_base)
            base = input->run_bytes;
        else if (input->run_bytes > log)
            log = input->run_bytes;
        logs += input->is_base ? 0 : input->run_bytes;
    }
    size_t room = sl_budget_share(runtime->budget, threads, base, SIZE_MAX) - base;
    size_t most = files_for(threads) < room / log ? files_for(threads) : room / log;
    if (most < SL_MERGE_OPEN_LEAST)
        most = SL_MERGE_OPEN_LEAST;
    out->runs = most;
    out->bytes = base + (logs / log < most ? logs : most * log);
}
