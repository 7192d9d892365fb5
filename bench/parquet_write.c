/*
 * How fast batches in memory become a Parquet file in memory:
 *
 *     parquet_write FILE.parquet [CODEC] [THREADS] [REPEATS]
 *
 * FILE gives the rows (tools/bench/make_data.py of the team's folder makes a typical one); reading it is not
 * measured. bench/parquet_write_pyarrow.py measures Arrow C++ in the same way. Build: make
 * build/release/bench/parquet_write
 */
#include "parquet/parquet.h"

#include <stdio.h>

#define CHECK(expr)                                                                                          \
    do {                                                                                                     \
        sl_status check_status_ = (expr);                                                                    \
        if (check_status_) {                                                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, sl_status_message(check_status_));            \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static sl_batch **batches;
static size_t batch_count;

static void load(const char *path, const sl_type **schema)
{
    sl_storage *storage;
    sl_file *file;
    sl_parquet *p;
    sl_stream *stream;
    CHECK(sl_storage_local(&storage));
    CHECK(sl_storage_open(storage, path, &file));
    CHECK(sl_parquet_open(file, NULL, &p));
    *schema = sl_type_ref(sl_parquet_schema(p));
    CHECK(sl_parquet_scan(p, NULL, &stream));
    for (;;) {
        sl_batch *batch;
        CHECK(sl_stream_next(stream, &batch));
        if (!batch)
            break;
        sl_batch **grown = realloc(batches, (batch_count + 1) * sizeof *batches);
        if (!grown)
            exit(1);
        batches = grown;
        batches[batch_count++] = batch;
    }
    sl_stream_close(stream);
    sl_parquet_close(p);
    sl_file_close(file);
    sl_storage_free(storage);
}

static void write_once(const sl_type *schema, const struct sl_parquet_write_options *options)
{
    sl_buf file = {0};
    sl_output *output;
    sl_parquet_writer *w;
    struct sl_parquet_written written;
    size_t memory = 0;
    CHECK(sl_output_to_buf(&file, &output));
    double start = sl_monotonic();
    CHECK(sl_parquet_writer_new(output, schema, options, &w));
    for (size_t i = 0; i < batch_count; i++) {
        CHECK(sl_parquet_writer_write(w, batches[i]));
        size_t now = sl_parquet_writer_memory(w);
        memory = now > memory ? now : memory;
    }
    CHECK(sl_parquet_writer_finish(w, &written));
    double seconds = sl_monotonic() - start;
    printf("%.3f s, %.2f million rows/s, %.1f MB, writer memory %.1f MB\n", seconds,
           (double)written.rows / seconds / 1e6, (double)written.bytes / 1e6, (double)memory / 1e6);
    CHECK(sl_output_finish(output));
    sl_buf_free(&file);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s FILE.parquet [CODEC] [THREADS] [REPEATS]\n", argv[0]);
        return 2;
    }
    struct sl_parquet_write_options options = {.codec = SL_CODEC_ZSTD};
    const sl_type *schema;
    if (argc > 2)
        CHECK(sl_parquet_codec_named(argv[2], &options.codec));
    CHECK(sl_pool_new(argc > 3 ? (unsigned)atoi(argv[3]) : 1, &options.pool));
    load(argv[1], &schema);
    for (int i = 0; i < (argc > 4 ? atoi(argv[4]) : 5); i++)
        write_once(schema, &options);
    for (size_t i = 0; i < batch_count; i++)
        sl_batch_unref(batches[i]);
    free(batches);
    sl_type_unref(schema);
    sl_pool_free(options.pool);
    return 0;
}
