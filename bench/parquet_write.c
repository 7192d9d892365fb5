/*
 * How fast batches in memory become a Parquet file in memory:
 *
 *     parquet_write FILE.parquet [CODEC] [THREADS] [REPEATS] [auto] [dictionaries]
 *
 * FILE gives the rows; reading it is not measured. Prints the best of REPEATS. auto: encodings are
 * chosen by size; dictionaries: strings come with the dictionaries that they had in FILE. bench/parquet_write.py runs it beside
 * Arrow C++. Build: make build/release/bench/parquet_write
 */
#include "exit_on_failure.h"
#include "parquet/parquet.h"

#include <stdio.h>
#include <time.h>

static sl_batch **batches;
static size_t batch_count;

static void load(const char *path, bool dictionaries, const sl_type **schema)
{
    sl_storage *storage;
    sl_file *file;
    sl_parquet *p;
    sl_stream *stream;
    CHECK(sl_storage_local(&storage));
    CHECK(sl_storage_open(storage, path, &file));
    CHECK(sl_parquet_open(file, NULL, &p));
    *schema = sl_type_ref(sl_parquet_schema(p));
    CHECK(sl_parquet_scan(p, &(struct sl_parquet_scan_options){.keep_dictionary = dictionaries}, &stream));
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

struct cost {
    double seconds, cpu_seconds; /* wall; of all threads */
    size_t memory;
    uint64_t bytes;
};

static struct cost write_once(const sl_type *schema, const struct sl_parquet_write_options *options)
{
    struct cost cost = {0};
    sl_buf file = {0};
    sl_output *output;
    sl_parquet_writer *w;
    struct sl_parquet_written written;
    CHECK(sl_output_to_buf(&file, &output));
    double start = sl_monotonic();
    clock_t cpu = clock();
    CHECK(sl_parquet_writer_new(output, schema, options, &w));
    for (size_t i = 0; i < batch_count; i++) {
        CHECK(sl_parquet_writer_write(w, batches[i]));
        size_t now = sl_parquet_writer_memory(w);
        cost.memory = now > cost.memory ? now : cost.memory;
    }
    CHECK(sl_parquet_writer_finish(w, &written));
    cost.cpu_seconds = (double)(clock() - cpu) / CLOCKS_PER_SEC;
    cost.seconds = sl_monotonic() - start;
    cost.bytes = written.bytes;
    CHECK(sl_output_finish(output));
    sl_buf_free(&file);
    return cost;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s FILE.parquet [CODEC] [THREADS] [REPEATS] [auto] [dictionaries]\n",
                argv[0]);
        return 2;
    }
    struct sl_parquet_write_options options = {.codec = SL_CODEC_ZSTD};
    const sl_type *schema;
    if (argc > 2)
        CHECK(sl_parquet_codec_named(argv[2], &options.codec));
    bool dictionaries = false;
    for (int i = 5; i < argc; i++) {
        if (strcmp(argv[i], "auto") == 0)
            options.encoding = SL_ENCODING_AUTO;
        dictionaries = dictionaries || strcmp(argv[i], "dictionaries") == 0;
    }
    CHECK(sl_pool_new(argc > 3 ? (unsigned)atoi(argv[3]) : 1, &options.pool));
    load(argv[1], dictionaries, &schema);
    struct cost best = {.seconds = 1e9, .cpu_seconds = 1e9};
    for (int i = 0; i < (argc > 4 ? atoi(argv[4]) : 5); i++) {
        struct cost now = write_once(schema, &options);
        best.bytes = now.bytes;
        best.memory = now.memory;
        best.seconds = now.seconds < best.seconds ? now.seconds : best.seconds;
        best.cpu_seconds = now.cpu_seconds < best.cpu_seconds ? now.cpu_seconds : best.cpu_seconds;
    }
    printf("%.4f s, %.4f s of processors, %" PRIu64 " bytes, writer memory %zu\n", best.seconds,
           best.cpu_seconds, best.bytes, best.memory);
    for (size_t i = 0; i < batch_count; i++)
        sl_batch_unref(batches[i]);
    free(batches);
    sl_type_unref(schema);
    sl_pool_free(options.pool);
    return 0;
}
