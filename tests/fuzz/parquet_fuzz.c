/* Fuzzing harness: any bytes as a Parquet file must be read or refused, never crash, hang or take the memory.
 */
#include "parquet/parquet.h"

#define ROWS_MAX 200000 /* a few bytes may claim any number of null rows */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static sl_status read_rows(sl_parquet *p)
{
    sl_stream *stream;
    SL_TRY(sl_parquet_scan(p, NULL, &stream));
    sl_status status = SL_OK;
    for (int64_t rows = 0; rows < ROWS_MAX;) {
        sl_batch *batch = NULL;
        status = sl_stream_next(stream, &batch);
        if (status || !batch)
            break;
        rows += batch->rows;
        sl_batch_unref(batch);
    }
    sl_stream_close(stream);
    return status;
}

static sl_status read_bounds(const sl_parquet *p)
{
    for (size_t group = 0; group < sl_parquet_row_groups(p); group++)
        for (size_t column = 0; column < sl_parquet_schema(p)->field_count; column++) {
            struct sl_parquet_bounds bounds;
            SL_TRY(sl_parquet_column_bounds(p, group, (int)column, &bounds));
            sl_parquet_bounds_free(&bounds);
        }
    return SL_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sl_file *file;
    sl_parquet *p;
    if (sl_status_ignore(sl_file_of_memory(data, size, "fuzz", &file)))
        return 0;
    struct sl_parquet_open_options options = {.ignore_checksums = true};
    if (!sl_status_ignore(sl_parquet_open(file, &options, &p))) {
        (void)sl_status_ignore(read_bounds(p));
        (void)sl_status_ignore(read_rows(p));
        sl_parquet_close(p);
    }
    sl_file_close(file);
    return 0;
}
