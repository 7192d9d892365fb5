/* Fuzzing harness: any bytes as a Parquet file must be read or refused, never crash, hang or take the memory. */
#include "parquet/parquet.h"

#define ROWS_MAX 200000 /* a few bytes may claim any number of null rows */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static sl_status read_rows(sl_parquet *p, const struct sl_parquet_scan_options *options)
{
    sl_stream *stream;
    SL_TRY(sl_parquet_scan(p, options, &stream));
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

/* Every other page by the page index, dictionaries kept, odd batches: the paths that skip. */
static sl_status read_selected(sl_parquet *p, size_t column)
{
    sl_row_ranges ranges = {0};
    sl_status status = SL_OK;
    for (size_t group = 0; group < sl_parquet_row_groups(p); group++) {
        struct sl_parquet_page_bounds bounds;
        SL_GO(sl_parquet_page_bounds(p, group, (int)column, &bounds));
        for (size_t i = 0; i < bounds.page_count && !status; i++) {
            const struct sl_parquet_page_info *page = &bounds.pages[i];
            status = i % 2 ? SL_OK : sl_row_ranges_add(&ranges, page->first_row, page->rows / 2 + 1);
        }
        bool may;
        if (!status && bounds.min)
            status = sl_parquet_may_contain_value(p, group, (int)column, bounds.min, 0, &may);
        sl_parquet_page_bounds_free(&bounds);
        if (status)
            goto done;
    }
    struct sl_parquet_scan_options options = {
        .ranges = ranges.items, .range_count = ranges.count, .batch_rows = 1000, .keep_dictionary = true};
    if (ranges.count > 0)
        status = read_rows(p, &options);
done:
    sl_row_ranges_free(&ranges);
    return status;
}

static sl_status read_facts(const sl_parquet *p)
{
    for (size_t group = 0; group < sl_parquet_row_groups(p); group++) {
        for (size_t column = 0; column < sl_parquet_schema(p)->field_count; column++) {
            struct sl_parquet_bounds bounds;
            bool may;
            SL_TRY(sl_parquet_column_bounds(p, group, (int)column, &bounds));
            sl_parquet_bounds_free(&bounds);
            SL_TRY(sl_parquet_may_contain(p, group, (int)column, "12345678", 8, &may));
        }
        for (size_t leaf = 0; leaf < sl_parquet_leaves(p); leaf++) {
            struct sl_parquet_chunk_info info;
            SL_TRY(sl_parquet_chunk_info(p, group, leaf, &info));
            for (size_t i = 0; i < info.key_values; i++) {
                const char *key, *value;
                sl_parquet_chunk_key_value_at(p, group, leaf, i, &key, &value);
                if (strlen(key) + strlen(value) > (size_t)1 << 40)
                    abort();
            }
        }
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
        (void)sl_status_ignore(read_facts(p));
        (void)sl_status_ignore(read_rows(p, NULL));
        for (size_t column = 0; column < sl_parquet_schema(p)->field_count && column < 3; column++)
            (void)sl_status_ignore(read_selected(p, column));
        sl_parquet_close(p);
    }
    sl_file_close(file);
    return 0;
}
