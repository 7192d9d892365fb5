/* For tests: the rows of a Parquet file as canonical JSON lines (tools/peer/canon.py), in file order. */
#ifndef TESTS_PARQUET_ROWS_TEXT_H
#define TESTS_PARQUET_ROWS_TEXT_H

#include "parquet/parquet.h"

/* A batch as one array of structs, so that a row is a value. */
static inline sl_status batch_as_structs(const sl_batch *batch, sl_array **out)
{
    size_t count = batch->schema->field_count;
    sl_array **children = sl_calloc(count + 1, sizeof *children);
    if (!children)
        return sl_nomem();
    for (size_t i = 0; i < count; i++)
        children[i] = sl_array_ref(batch->columns[i]);
    sl_status status =
        sl_array_new(batch->schema, batch->rows, 0, NULL, NULL, NULL, children, count, NULL, out);
    sl_free(children);
    return status;
}

static inline sl_status batch_text(const sl_batch *batch, sl_buf *out)
{
    sl_array *rows;
    SL_TRY(batch_as_structs(batch, &rows));
    sl_status status = SL_OK;
    for (int64_t i = 0; i < batch->rows && !status; i++) {
        status = sl_value_text(rows, i, SL_TEXT_CANONICAL, out);
        if (!status)
            status = sl_buf_byte(out, '\n');
    }
    sl_array_unref(rows);
    return status;
}

static inline sl_status stream_text(sl_stream *stream, sl_buf *out)
{
    for (;;) {
        sl_batch *batch = NULL;
        SL_TRY(sl_stream_next(stream, &batch));
        if (!batch)
            return SL_OK;
        sl_status status = batch_text(batch, out);
        sl_batch_unref(batch);
        SL_TRY(status);
    }
}

static inline sl_status parquet_rows_text(sl_file *file, bool ignore_checksums,
                                          const struct sl_parquet_scan_options *options, sl_buf *out)
{
    sl_parquet *p;
    sl_stream *stream;
    struct sl_parquet_open_options open = {.ignore_checksums = ignore_checksums};
    SL_TRY(sl_parquet_open(file, &open, &p));
    sl_status status = sl_parquet_scan(p, options, &stream);
    if (!status) {
        status = stream_text(stream, out);
        sl_stream_close(stream);
    }
    sl_parquet_close(p);
    return status;
}

#endif
