/*
 * Reads a Parquet file and writes it again with other options (tests/interop/test_parquet_peers.py compares):
 *
 *     parquet_rewrite IN OUT [codec=zstd] [page_rows=N] [group_rows=N] [v2=1] [sizes=1] [no_checksums=1]
 *                            [encoding=N] [COLUMN:encoding=N] [COLUMN:bloom=N] [copy=N] [constant=COLUMN]
 *
 * encoding: a number of enum sl_parquet_encoding; bloom: distinct values to expect, 0 unknown; copy: rows are copied as
 * they are compressed, in stretches of at most N copy units, but for the column of `constant`, which becomes "constant"
 * in every row.
 */
#include "exit_on_failure.h"
#include "parquet/parquet.h"

#include <stdio.h>

enum { COLUMNS_MAX = 256 };
static struct sl_parquet_column_options columns[COLUMNS_MAX];
static struct sl_parquet_write_options options = {.columns = columns};
static struct sl_parquet_constant constant = {NULL, "constant"};
static size_t copy; /* units in a stretch; 0: none */

static void column_option(char *argument, char *colon)
{
    *colon = '\0';
    if (options.column_count == COLUMNS_MAX)
        exit(2);
    struct sl_parquet_column_options *o = &columns[options.column_count++];
    o->column = argument;
    if (strncmp(colon + 1, "encoding=", 9) == 0) {
        o->encoding = (enum sl_parquet_encoding)atoi(colon + 10);
    } else if (strncmp(colon + 1, "bloom=", 6) == 0) {
        o->bloom_filter = true;
        o->bloom_distinct = atoll(colon + 7);
    } else {
        exit(2);
    }
}

static void parse(char *argument)
{
    char *colon = strchr(argument, ':'), *equals = strchr(argument, '=');
    if (colon) {
        column_option(argument, colon);
        return;
    }
    if (!equals)
        exit(2);
    *equals = '\0';
    const char *value = equals + 1;
    if (!strcmp(argument, "codec"))
        CHECK(sl_parquet_codec_named(value, &options.codec));
    else if (!strcmp(argument, "page_rows"))
        options.page_rows = atoll(value);
    else if (!strcmp(argument, "group_rows"))
        options.row_group_rows = atoll(value);
    else if (!strcmp(argument, "v2"))
        options.data_page_v2 = true;
    else if (!strcmp(argument, "sizes"))
        options.size_statistics = true;
    else if (!strcmp(argument, "no_checksums"))
        options.no_checksums = true;
    else if (!strcmp(argument, "encoding"))
        options.encoding = (enum sl_parquet_encoding)atoi(value);
    else if (!strcmp(argument, "copy"))
        copy = (size_t)atoll(value);
    else if (!strcmp(argument, "constant"))
        constant.column = value;
    else
        exit(2);
}

static void write_rows(sl_parquet *p, sl_parquet_writer *w)
{
    sl_stream *stream;
    CHECK(sl_parquet_scan(p, &(struct sl_parquet_scan_options){.keep_dictionary = true}, &stream));
    for (;;) {
        sl_batch *batch;
        CHECK(sl_stream_next(stream, &batch));
        if (!batch)
            break;
        CHECK(sl_parquet_writer_write(w, batch));
        sl_batch_unref(batch);
    }
    sl_stream_close(stream);
}

static void copy_rows(sl_parquet *p, sl_parquet_writer *w, size_t group)
{
    sl_parquet_units *units;
    CHECK(sl_parquet_units_load(p, group, &units));
    for (size_t i = 0, n; i < units->count; i += n) {
        n = units->count - i < copy ? units->count - i : copy;
        CHECK(sl_parquet_writer_copy_units(w, units, i, n, &constant, constant.column ? 1 : 0));
    }
    sl_parquet_units_unref(units);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    for (int i = 3; i < argc; i++)
        parse(argv[i]);
    sl_storage *storage;
    sl_file *file;
    sl_parquet *p;
    sl_output *output;
    sl_parquet_writer *w;
    CHECK(sl_storage_local(&storage));
    CHECK(sl_storage_open(storage, argv[1], &file));
    CHECK(sl_parquet_open(file, NULL, &p));
    CHECK(sl_storage_delete(storage, argv[2]));
    CHECK(sl_storage_create(storage, argv[2], &output));
    CHECK(sl_parquet_writer_new(output, sl_parquet_schema(p), &options, &w));
    if (copy)
        for (size_t g = 0; g < sl_parquet_row_groups(p); g++)
            copy_rows(p, w, g);
    else
        write_rows(p, w);
    CHECK(sl_parquet_writer_finish(w, NULL));
    CHECK(sl_output_finish(output));
    sl_parquet_close(p);
    sl_file_close(file);
    sl_storage_free(storage);
    return 0;
}
