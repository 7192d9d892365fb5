/*
 * 32-bit traps in writing and reading Parquet: options of 2 GiB and more, and, with SL_TEST_LONG (4.7 GB of disk, 3 GB of
 * memory), row groups above 2 GiB that begin beyond 4 GiB. Files made by hand with such offsets are in parquet_select_test.
 */
#include "check_support.h"
#include "parquet/parquet.h"
#include "parquet_rows.h"
#include <stdio.h>

/* ---- options ------------------------------------------------------------------------------------------- */

#define ROWS 50000

static sl_batch *mixed_rows(const sl_type *schema)
{
    sl_batch_builder b = {0};
    sl_batch *out;
    char text[32];
    OK(sl_batch_builder_init(&b, schema));
    for (int64_t i = 0; i < ROWS; i++) {
        int len = snprintf(text, sizeof text, "text %" PRId64, i % 1000);
        OK(sl_builder_integer(b.columns[0], i));
        OK(i % 7 ? sl_builder_bytes(b.columns[1], text, (size_t)len) : sl_builder_null(b.columns[1]));
        OK(sl_builder_bool(b.columns[2], i % 3 == 0));
        OK(sl_builder_integer(b.columns[3], 5)); /* the same in all rows: takes no bytes */
        for (int64_t k = 0; k < i % 3; k++)
            OK(sl_builder_double(sl_builder_child(b.columns[4], 0), (double)(i + k)));
        OK(sl_builder_close(b.columns[4]));
    }
    OK(sl_batch_builder_finish(&b, &out));
    sl_batch_builder_free(&b);
    return out;
}

static void written(const sl_type *schema, sl_batch *batch, const struct sl_parquet_write_options *options,
                    sl_buf *out)
{
    sl_output *output;
    sl_parquet_writer *w;
    struct sl_parquet_written info;
    OK(sl_output_to_buf(out, &output));
    OK(sl_parquet_writer_new(output, schema, options, &w));
    for (int i = 0; i < 3; i++)
        OK(sl_parquet_writer_write(w, batch));
    assert_true(sl_parquet_writer_memory(w) < (size_t)1 << 30);
    assert_true(sl_parquet_writer_bytes(w) < (uint64_t)1 << 30);
    OK(sl_parquet_writer_finish(w, &info));
    OK(sl_output_finish(output));
    assert_int_equal(info.rows, 3 * ROWS);
}

static void text_of(const sl_buf *data, const struct sl_parquet_scan_options *options, sl_buf *out)
{
    sl_file *file;
    OK(sl_file_of_memory(data->data, data->len, "limits", &file));
    OK(parquet_rows_text(file, false, options, out));
    sl_file_close(file);
}

/* Numbers that do not fit 31, 32 or 63 bits mean "as large as can be". */
static void large_options_are_taken(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {
        INT32_MAX, (uint64_t)INT32_MAX + 1, UINT32_MAX, (uint64_t)UINT32_MAX + 1, INT64_MAX, SIZE_MAX};
    const sl_type *schema;
    sl_buf data = {0}, plain = {0}, got = {0};
    OK(sl_schema_parse("id long not null, t string, b boolean, five int, l list<double>", &schema));
    sl_batch *batch = mixed_rows(schema);
    written(schema, batch, NULL, &data);
    text_of(&data, NULL, &plain);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t size = (size_t)sizes[i];
        int64_t rows = sizes[i] > INT64_MAX ? INT64_MAX : (int64_t)sizes[i];
        struct sl_parquet_write_options write = {
            .page_bytes = size, .page_rows = rows, .row_group_bytes = size, .row_group_rows = rows};
        struct sl_parquet_scan_options scan = {.batch_bytes = size, .batch_rows = rows};
        data.len = got.len = 0;
        written(schema, batch, &write, &data);
        text_of(&data, &scan, &got);
        assert_int_equal(got.len, plain.len);
        assert_memory_equal(got.data, plain.data, plain.len);
    }
    sl_buf_free(&data);
    sl_buf_free(&plain);
    sl_buf_free(&got);
    sl_batch_unref(batch);
    sl_type_unref(schema);
}

/* ---- large files --------------------------------------------------------------------------------------- */

struct shape {
    int64_t group_rows, batch_rows;
    int groups;
};

static int64_t value_of(int64_t row) { return (int64_t)((uint64_t)row * UINT64_C(0x9e3779b97f4a7c15) >> 1); }

static void write_noise(const char *path, const struct shape *shape)
{
    const sl_type *schema;
    sl_storage *storage;
    sl_output *output;
    sl_parquet_writer *w;
    struct sl_parquet_written info;
    struct sl_parquet_column_options column = {.column = "v", .encoding = SL_ENCODING_PLAIN};
    struct sl_parquet_write_options options = {.page_bytes = (size_t)3 << 30,
                                               .page_rows = INT64_C(1) << 40,
                                               .row_group_bytes = (size_t)1 << 40,
                                               .row_group_rows = shape->group_rows,
                                               .columns = &column,
                                               .column_count = 1};
    OK(sl_schema_parse("v long not null, k string not null", &schema));
    OK(sl_storage_local(&storage));
    OK(sl_storage_create(storage, path, &output));
    OK(sl_parquet_writer_new(output, schema, &options, &w));
    for (int64_t row = 0; row < shape->group_rows * shape->groups; row += shape->batch_rows) {
        sl_batch_builder b = {0};
        sl_batch *batch;
        OK(sl_batch_builder_init(&b, schema));
        for (int64_t i = row; i < row + shape->batch_rows; i++) {
            OK(sl_builder_integer(b.columns[0], value_of(i)));
            OK(sl_builder_bytes(b.columns[1], i / shape->group_rows ? "late" : "early",
                                i / shape->group_rows ? 4 : 5));
        }
        OK(sl_batch_builder_finish(&b, &batch));
        sl_batch_builder_free(&b);
        OK(sl_parquet_writer_write(w, batch));
        sl_batch_unref(batch);
    }
    OK(sl_parquet_writer_finish(w, &info));
    OK(sl_output_finish(output));
    sl_storage_free(storage);
    sl_type_unref(schema);
}

static void check_noise(sl_parquet *p, const struct sl_row_range *range, const struct shape *shape)
{
    struct sl_parquet_scan_options options = {.ranges = range, .range_count = range ? 1 : 0};
    sl_stream *stream;
    int64_t row = range ? range->first : 0, wrong = 0;
    OK(sl_parquet_scan(p, &options, &stream));
    for (;;) {
        sl_batch *batch;
        OK(sl_stream_next(stream, &batch));
        if (!batch)
            break;
        for (int64_t i = 0; i < batch->rows; i++, row++) {
            size_t len;
            (void)sl_bytes_at(batch->columns[1], i, &len);
            wrong += sl_i64_at(batch->columns[0], i) != value_of(row) ||
                     len != (row / shape->group_rows ? 4u : 5u);
        }
        sl_batch_unref(batch);
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(row, range ? range->first + range->count : shape->group_rows * shape->groups);
    sl_stream_close(stream);
}

static void row_groups_beyond_2_gib(void **state)
{
    (void)state;
    const bool full = getenv("SL_TEST_LONG");
    const struct shape shape = {full ? INT64_C(290) * 1000000 : 100000, full ? 1000000 : 50000, 2};
    char path[512];
    sl_storage *storage;
    sl_file *file;
    sl_parquet *p;
    struct sl_parquet_chunk_info info;
    struct sl_parquet_bounds bounds;
    snprintf(path, sizeof path, "%s/parquet_limits.%" PRId64, getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
             sl_now_ms());
    write_noise(path, &shape);
    OK(sl_storage_local(&storage));
    OK(sl_storage_open(storage, path, &file));
    OK(sl_parquet_open(file, NULL, &p));
    assert_int_equal(sl_parquet_row_groups(p), 2);
    OK(sl_parquet_chunk_info(p, 1, 0, &info));
    assert_true(info.compressed_bytes > shape.group_rows * 8);
    if (full)
        assert_true(info.compressed_bytes > INT64_C(2) << 30 && sl_file_size(file) > UINT64_C(4) << 30);
    OK(sl_parquet_column_bounds(p, 1, 1, &bounds)); /* behind 4 GiB */
    assert_true(bounds.has_bounds);
    assert_int_equal(sl_compare(bounds.min, 0, bounds.max, 0), 0);
    sl_parquet_bounds_free(&bounds);
    check_noise(p, NULL, &shape);
    check_noise(p, &(struct sl_row_range){2 * shape.group_rows - 1000, 1000}, &shape);
    assert_int_equal(sl_parquet_ignored_indexes(p), 0);
    sl_parquet_close(p);
    sl_file_close(file);
    sl_storage_free(storage);
    remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_options_are_taken),
        cmocka_unit_test(row_groups_beyond_2_gib),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
