/* Rows as one Parquet file. */
#include "api/output_int.h"

#define ROW_GROUP_SHARE 8 /* of the memory: encoded pages that wait until their row group is complete */
#define ROW_GROUP_LEAST ((size_t)1 << 20)
#define ROW_GROUP_MOST  ((size_t)120 << 20)

static sl_status write_parquet(sl_output *output, sl_stream *rows, const sl_runtime *runtime, uint64_t *count)
{
    struct sl_parquet_write_options options = {
        .codec = SL_CODEC_ZSTD,
        .row_group_bytes =
            sl_budget_share(runtime->budget, ROW_GROUP_SHARE, ROW_GROUP_LEAST, ROW_GROUP_MOST)};
    struct sl_parquet_written written;
    sl_parquet_writer *w;
    SL_TRY(sl_parquet_writer_new(output, rows->schema, &options, &w));
    for (;;) {
        sl_batch *batch;
        sl_status status = sl_stream_next(rows, &batch);
        if (!status && !batch)
            break;
        if (!status) {
            status = sl_parquet_writer_write(w, batch);
            sl_batch_unref(batch);
        }
        if (status) {
            sl_parquet_writer_free(w);
            return status;
        }
    }
    SL_TRY(sl_parquet_writer_finish(w, &written));
    *count = (uint64_t)written.rows;
    return SL_OK;
}

int sluice_output_parquet(struct ArrowArrayStream *rows, const char *path, uint64_t *row_count,
                          sluice_error *e)
{
    sl_storage *storage = NULL;
    sl_output *output = NULL;
    sl_stream *input = NULL;
    char *inside = NULL;
    uint64_t count = 0;
    struct output_budget own;
    sl_status status = API_ARGUMENTS(rows, path);
    if (status)
        return api_drop_stream(rows, status, e);
    status = output_rows_open(rows, &own, &input);
    if (!status)
        status = sl_storage_for_uri(path, &storage, &inside);
    if (!status)
        status = sl_storage_create(storage, inside, &output);
    if (!status)
        status = write_parquet(output, input, &own.runtime, &count);
    if (!status) {
        status = sl_output_finish(output);
        output = NULL;
    }
    if (output)
        sl_output_abort(output);
    sl_stream_close(input);
    sl_storage_free(storage);
    sl_free(inside);
    if (!status && row_count)
        *row_count = count;
    return api_result(status, e);
}
