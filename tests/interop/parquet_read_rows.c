/*
 * Rows of a Parquet file as canonical lines, for tests/interop/test_parquet_read.py:
 *
 *     parquet_read_rows FILE [--batch-rows N] [--dictionary] [--threads N] [--rows FIRST:COUNT]... [--bounds]
 *
 * --bounds checks the bounds and null counts of every page against the rows instead; --rows may come more than once.
 */
#include "parquet/parquet.h"
#include "unit/parquet_rows.h"

#include <stdio.h>

static void check(sl_status status)
{
    if (!status)
        return;
    fprintf(stderr, "%s\n", sl_status_message(status));
    exit(1);
}

static void complain(const char *column, int64_t row, const char *what)
{
    fprintf(stderr, "column %s, row %" PRId64 ": %s\n", column, row, what);
    exit(1);
}

static void check_page(const struct sl_parquet_page_bounds *b, size_t i, const sl_array *values,
                       const char *column)
{
    const struct sl_parquet_page_info *page = &b->pages[i];
    int64_t nulls = 0, first = page->first_row - b->pages[0].first_row;
    for (int64_t row = first; row < first + page->rows; row++) {
        if (!sl_is_valid(values, row))
            nulls++;
        else if (page->has_bounds && (sl_compare(b->min, (int64_t)i, values, row) > 0 ||
                                      sl_compare(b->max, (int64_t)i, values, row) < 0))
            complain(column, row, "outside the bounds of its page");
    }
    if (page->has_null_count && page->null_count != nulls)
        complain(column, page->first_row, "null count of the page");
}

/* A row group of a column in one array. */
static sl_array *group_values(sl_parquet *p, const char *column, struct sl_row_range rows)
{
    sl_stream *stream;
    sl_builder *all;
    sl_array *out;
    struct sl_parquet_scan_options options = {
        .columns = &column, .column_count = 1, .ranges = &rows, .range_count = 1};
    check(sl_parquet_scan(p, &options, &stream));
    check(sl_builder_new(stream->schema->fields[0].type, &all));
    for (;;) {
        sl_batch *batch;
        check(sl_stream_next(stream, &batch));
        if (!batch)
            break;
        check(sl_builder_append_range(all, batch->columns[0], 0, batch->rows));
        sl_batch_unref(batch);
    }
    check(sl_builder_finish(all, &out));
    sl_builder_free(all);
    sl_stream_close(stream);
    return out;
}

static void check_bounds(sl_parquet *p)
{
    const sl_type *schema = sl_parquet_schema(p);
    size_t pages = 0, bounded = 0, indexed = 0;
    int64_t first = 0;
    for (size_t group = 0; group < sl_parquet_row_groups(p); group++) {
        struct sl_row_range rows = {first, sl_parquet_row_group_rows(p, group)};
        first += rows.count;
        for (size_t c = 0; c < schema->field_count; c++) {
            if (sl_type_is_nested(schema->fields[c].type))
                continue;
            struct sl_parquet_page_bounds b;
            sl_array *values = group_values(p, schema->fields[c].name, rows);
            check(sl_parquet_page_bounds(p, group, (int)c, &b));
            for (size_t i = 0; i < b.page_count; i++) {
                check_page(&b, i, values, schema->fields[c].name);
                bounded += b.pages[i].has_bounds;
            }
            pages += b.page_count;
            indexed += b.from_index;
            sl_parquet_page_bounds_free(&b);
            sl_array_unref(values);
        }
    }
    printf("%zu %zu %zu %" PRIu64 "\n", pages, bounded, indexed, sl_parquet_ignored_indexes(p));
}

int main(int argc, char **argv)
{
    static struct sl_row_range ranges[64];
    struct sl_parquet_scan_options options = {.ranges = NULL};
    bool bounds = false;
    if (argc < 2)
        return 2;
    for (int i = 2; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--dictionary") == 0) {
            options.keep_dictionary = true;
        } else if (strcmp(argv[i], "--bounds") == 0) {
            bounds = true;
        } else if (strcmp(argv[i], "--batch-rows") == 0 && ++i < argc) {
            options.batch_rows = atoll(value);
        } else if (strcmp(argv[i], "--threads") == 0 && ++i < argc) {
            check(sl_pool_new((unsigned)atoi(value), &options.pool));
        } else if (strcmp(argv[i], "--rows") == 0 && ++i < argc && options.range_count < 64) {
            struct sl_row_range *range = &ranges[options.range_count++];
            options.ranges = ranges;
            if (sscanf(value, "%" SCNd64 ":%" SCNd64, &range->first, &range->count) != 2)
                return 2;
        } else {
            return 2;
        }
    }
    sl_storage *storage;
    sl_file *file;
    sl_parquet *p;
    check(sl_storage_local(&storage));
    check(sl_storage_open(storage, argv[1], &file));
    check(sl_parquet_open(file, NULL, &p));
    if (bounds) {
        check_bounds(p);
    } else {
        sl_stream *stream;
        sl_buf text = {0};
        check(sl_parquet_scan(p, &options, &stream));
        check(stream_text(stream, &text));
        fwrite(text.data, 1, text.len, stdout);
        sl_buf_free(&text);
        sl_stream_close(stream);
    }
    sl_parquet_close(p);
    sl_file_close(file);
    sl_storage_free(storage);
    sl_pool_free(options.pool);
    return 0;
}
