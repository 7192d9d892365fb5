/*
 * Reading only what is wanted: bounds of pages, Bloom filters, lists of row ranges; and reading what is large: batches
 * that must be cut, offsets beyond 4 GiB, claims that are not believed.
 */
#include "check_support.h"
#include "parquet/read_int.h"
#include <stdio.h>

#define ROWS 5000

static void check_ok(sl_status status, const char *what)
{
    if (status)
        fail_msg("%s: %s", what, sl_status_message(status));
}

/* ---- a file in memory ---------------------------------------------------------------------------------- */

static const char columns[] =
    "id long not null, name string, small int, price decimal(9,2), day date, empty long, f double, "
    "tags list<long>";

/* Row i: id i, a name now and then, ... */
static void add_row(sl_batch_builder *b, int64_t i)
{
    char name[32];
    int len = snprintf(name, sizeof name, "name-%05" PRId64, (i * 7) % ROWS);
    check_ok(sl_builder_integer(b->columns[0], i), "id");
    check_ok(i % 3 ? sl_builder_bytes(b->columns[1], name, (size_t)len) : sl_builder_null(b->columns[1]),
             "name");
    check_ok(sl_builder_integer(b->columns[2], i / 1000 - 2), "small");
    check_ok(sl_builder_decimal(b->columns[3], i * 11 - 9999), "price");
    check_ok(i < ROWS / 2 ? sl_builder_null(b->columns[4]) : sl_builder_integer(b->columns[4], i), "day");
    check_ok(sl_builder_null(b->columns[5]), "empty");
    check_ok(sl_builder_double(b->columns[6], (double)i / 4), "f");
    for (int64_t k = 0; k < i % 4; k++)
        check_ok(sl_builder_integer(sl_builder_child(b->columns[7], 0), i + k), "element");
    check_ok(sl_builder_close(b->columns[7]), "tags");
}

static void write_file(const char *schema_text, void (*add)(sl_batch_builder *, int64_t), int64_t rows,
                       const struct sl_parquet_write_options *options, sl_buf *out)
{
    const sl_type *schema;
    sl_batch_builder builder = {0};
    sl_batch *batch;
    sl_output *output;
    sl_parquet_writer *w;
    struct sl_parquet_written written;
    check_ok(sl_schema_parse(schema_text, &schema), "schema");
    check_ok(sl_batch_builder_init(&builder, schema), "builder");
    for (int64_t i = 0; i < rows; i++)
        add(&builder, i);
    check_ok(sl_batch_builder_finish(&builder, &batch), "batch");
    check_ok(sl_output_to_buf(out, &output), "output");
    check_ok(sl_parquet_writer_new(output, schema, options, &w), "writer");
    check_ok(sl_parquet_writer_write(w, batch), "write");
    check_ok(sl_parquet_writer_finish(w, &written), "finish");
    check_ok(sl_output_finish(output), "close");
    sl_batch_unref(batch);
    sl_batch_builder_free(&builder);
    sl_type_unref(schema);
}

struct opened {
    sl_buf bytes;
    sl_file *file;
    sl_parquet *p;
};

static void open_bytes(struct opened *o)
{
    check_ok(sl_file_of_memory(o->bytes.data, o->bytes.len, "made", &o->file), "file");
    check_ok(sl_parquet_open(o->file, NULL, &o->p), "open");
}

static void open_made(struct opened *o)
{
    struct sl_parquet_write_options options = {
        .codec = SL_CODEC_SNAPPY, .page_rows = 100, .row_group_rows = 2000};
    memset(o, 0, sizeof *o);
    write_file(columns, add_row, ROWS, &options, &o->bytes);
    open_bytes(o);
}

static void close_made(struct opened *o)
{
    sl_parquet_close(o->p);
    sl_file_close(o->file);
    sl_buf_free(&o->bytes);
}

/* All rows of a column in one array. */
static sl_array *column_of(sl_parquet *p, const char *name)
{
    sl_stream *stream;
    sl_builder *all;
    sl_array *out;
    struct sl_parquet_scan_options options = {.columns = &name, .column_count = 1};
    check_ok(sl_parquet_scan(p, &options, &stream), "scan");
    check_ok(sl_builder_new(stream->schema->fields[0].type, &all), "builder");
    for (;;) {
        sl_batch *batch;
        check_ok(sl_stream_next(stream, &batch), "next");
        if (!batch)
            break;
        check_ok(sl_builder_append_range(all, batch->columns[0], 0, batch->rows), "append");
        sl_batch_unref(batch);
    }
    check_ok(sl_builder_finish(all, &out), "finish");
    sl_builder_free(all);
    sl_stream_close(stream);
    return out;
}

/* ---- page bounds --------------------------------------------------------------------------------------- */

static void check_page(const struct sl_parquet_page_bounds *b, size_t i, const sl_array *values)
{
    const struct sl_parquet_page_info *page = &b->pages[i];
    int64_t nulls = 0;
    for (int64_t row = page->first_row; row < page->first_row + page->rows; row++) {
        if (!sl_is_valid(values, row)) {
            nulls++;
            continue;
        }
        if (page->has_bounds) {
            assert_true(sl_compare(b->min, (int64_t)i, values, row) <= 0);
            assert_true(sl_compare(b->max, (int64_t)i, values, row) >= 0);
        }
    }
    assert_true(page->has_null_count);
    assert_int_equal(page->null_count, nulls);
    if (nulls == page->rows)
        assert_false(page->has_bounds);
}

static void pages_have_their_bounds(void **state)
{
    (void)state;
    struct opened o;
    open_made(&o);
    const sl_type *schema = sl_parquet_schema(o.p);
    for (size_t c = 0; c + 1 < schema->field_count; c++) {
        sl_array *values = column_of(o.p, schema->fields[c].name);
        int64_t next = 0;
        size_t with_bounds = 0;
        for (size_t group = 0; group < sl_parquet_row_groups(o.p); group++) {
            struct sl_parquet_page_bounds b;
            check_ok(sl_parquet_page_bounds(o.p, group, (int)c, &b), schema->fields[c].name);
            assert_true(b.from_index);
            assert_true(b.page_count >= 10);
            for (size_t i = 0; i < b.page_count; i++) {
                assert_int_equal(b.pages[i].first_row, next);
                next += b.pages[i].rows;
                check_page(&b, i, values);
                with_bounds += b.pages[i].has_bounds;
            }
            if (c == 0)
                assert_int_equal(b.order, 1);
            sl_parquet_page_bounds_free(&b);
        }
        assert_int_equal(next, ROWS);
        if (c < 4)
            assert_true(with_bounds >= 50);
        if (c == 4)
            assert_int_equal(with_bounds, 25); /* pages of nulls have none */
        sl_array_unref(values);
    }
    assert_int_equal(sl_parquet_ignored_indexes(o.p), 0);
    /* a nested column: its row groups */
    struct sl_parquet_page_bounds b;
    check_ok(sl_parquet_page_bounds(o.p, 1, (int)schema->field_count - 1, &b), "tags");
    assert_false(b.from_index);
    assert_int_equal(b.page_count, 1);
    assert_int_equal(b.pages[0].first_row, 2000);
    assert_int_equal(b.pages[0].rows, 2000);
    assert_null(b.min);
    sl_parquet_page_bounds_free(&b);
    FAILS(sl_parquet_page_bounds(o.p, 3, 0, &b), SL_E_INPUT, "row group 3");
    close_made(&o);
}

/* id between low and high: pages by their bounds, rows by reading them. */
static void pruned_reading_finds_all(void **state)
{
    (void)state;
    struct opened o;
    open_made(&o);
    for (int round = 0; round < 20; round++) {
        int64_t low = (int64_t)random_below(ROWS), high = low + (int64_t)random_below(300), found = 0;
        sl_row_ranges ranges = {0};
        for (size_t group = 0; group < sl_parquet_row_groups(o.p); group++) {
            struct sl_parquet_page_bounds b;
            bool keep[100];
            check_ok(sl_parquet_page_bounds(o.p, group, 0, &b), "bounds");
            for (size_t i = 0; i < b.page_count; i++)
                keep[i] = sl_i64_at(b.min, (int64_t)i) <= high && sl_i64_at(b.max, (int64_t)i) >= low;
            check_ok(sl_parquet_page_ranges(&b, keep, &ranges), "ranges");
            sl_parquet_page_bounds_free(&b);
        }
        assert_int_equal(ranges.count, 1);
        assert_true(sl_row_ranges_rows(&ranges) <= high - low + 1 + 200);
        sl_stream *stream;
        atomic_uint_fast64_t bytes = 0;
        struct sl_parquet_scan_options options = {
            .ranges = ranges.items, .range_count = ranges.count, .bytes_read = &bytes};
        check_ok(sl_parquet_scan(o.p, &options, &stream), "scan");
        for (;;) {
            sl_batch *batch;
            check_ok(sl_stream_next(stream, &batch), "next");
            if (!batch)
                break;
            for (int64_t i = 0; i < batch->rows; i++)
                found += sl_i64_at(batch->columns[0], i) >= low && sl_i64_at(batch->columns[0], i) <= high;
            sl_batch_unref(batch);
        }
        assert_int_equal(found, (high < ROWS ? high + 1 : ROWS) - low);
        assert_true(bytes * 2 < o.bytes.len);
        sl_stream_close(stream);
        sl_row_ranges_free(&ranges);
    }
    close_made(&o);
}

/* Between batches rows are passed over, and batches end where they are told to. */
static void scans_are_steered(void **state)
{
    (void)state;
    struct opened o;
    open_made(&o);
    static const char *const names[] = {"id", "tags", "name"};
    for (int round = 0; round < 50; round++) {
        sl_stream *rows;
        check_ok(sl_parquet_scan(o.p, &(struct sl_parquet_scan_options){.columns = names, .column_count = 3},
                                 &rows),
                 "scan");
        for (int64_t at = 0;;) {
            sl_batch *batch;
            int64_t first = at + (random_below(2) ? (int64_t)random_below(700) : 0);
            int64_t stop = random_below(4) ? first + 1 + (int64_t)random_below(900) : at;
            sl_parquet_scan_steer(rows, first, stop);
            check_ok(sl_stream_next(rows, &batch), "batch");
            if (!batch) {
                assert_true(first >= ROWS);
                break;
            }
            at = sl_i64_at(batch->columns[0], 0);
            assert_int_equal(at, first);
            for (int64_t i = 0; i < batch->rows; i++) {
                assert_int_equal(sl_i64_at(batch->columns[0], i), at + i);
                assert_int_equal(batch->columns[1]->offsets[i + 1] - batch->columns[1]->offsets[i],
                                 (at + i) % 4);
            }
            at += batch->rows;
            assert_true(stop <= first || at <= stop);
            sl_batch_unref(batch);
        }
        sl_stream_close(rows);
    }
    close_made(&o);
}

static void keep_warning(void *context, int level, const char *message)
{
    sl_buf *warnings = context;
    assert_int_equal(level, 1);
    check_ok(sl_buf_printf(warnings, "%s\n", message), "warning");
}

/* An index whose first page begins at row 1, or whose null counts are not the chunk's, is not used, and that is said once. */
static void contradicting_indexes_are_ignored(void **state)
{
    (void)state;
    struct opened o;
    struct sl_parquet_page_bounds b;
    sl_buf warnings = {0};
    sl_runtime runtime = {.on_log = keep_warning, .log_context = &warnings};
    open_made(&o);
    o.p->runtime = &runtime;
    struct parquet_column_chunk *chunk = &o.p->meta.row_groups[0].columns[1];
    chunk->meta.statistics.null_count++;
    check_ok(sl_parquet_page_bounds(o.p, 0, 1, &b), "bounds");
    assert_false(b.from_index);
    assert_int_equal(b.page_count, 1);
    assert_int_equal(b.pages[0].rows, 2000);
    sl_parquet_page_bounds_free(&b);
    assert_int_equal(sl_parquet_ignored_indexes(o.p), 1);
    chunk->meta.statistics.null_count--;
    check_ok(sl_parquet_page_bounds(o.p, 0, 1, &b), "bounds");
    assert_true(b.from_index);
    sl_parquet_page_bounds_free(&b);
    chunk = &o.p->meta.row_groups[0].columns[0];
    chunk->offset_index_offset += 1;
    check_ok(sl_parquet_page_bounds(o.p, 0, 0, &b), "bounds");
    assert_false(b.from_index);
    assert_true(b.pages[0].has_bounds);
    assert_int_equal(sl_i64_at(b.max, 0), 1999);
    sl_parquet_page_bounds_free(&b);
    assert_int_equal(sl_parquet_ignored_indexes(o.p), 2);
    /* rows are read without it */
    struct sl_row_range late = {1950, 10};
    sl_stream *stream;
    sl_batch *batch;
    struct sl_parquet_scan_options options = {.ranges = &late, .range_count = 1};
    check_ok(sl_parquet_scan(o.p, &options, &stream), "scan");
    check_ok(sl_stream_next(stream, &batch), "next");
    assert_int_equal(sl_i64_at(batch->columns[0], 0), 1950);
    sl_batch_unref(batch);
    sl_stream_close(stream);
    assert_int_equal(sl_parquet_ignored_indexes(o.p), 3);
    static const char warning[] = "made, row group 0, column name: the page index is damaged";
    assert_memory_equal(warnings.data, warning, strlen(warning));
    assert_ptr_equal(memchr(warnings.data, '\n', warnings.len), warnings.data + warnings.len - 1);
    sl_buf_free(&warnings);
    close_made(&o);
}

static void failing_allocations_are_reported(void **state)
{
    (void)state;
    struct opened o;
    open_made(&o);
    for (uint64_t n = 1;; n++) {
        struct sl_parquet_page_bounds b;
        sl_test_fail_allocation(n, false);
        sl_status status = sl_parquet_page_bounds(o.p, 0, 1, &b);
        sl_test_fail_allocation(0, false);
        if (!status) {
            sl_parquet_page_bounds_free(&b);
            assert_true(n > 10);
            break;
        }
        FAILS(status, SL_E_MEMORY, "");
    }
    close_made(&o);
}

/* ---- row ranges ---------------------------------------------------------------------------------------- */

static void ranges_of_bits(const bool *bits, size_t count, sl_row_ranges *out)
{
    for (size_t i = 0; i < count; i++)
        if (bits[i])
            check_ok(sl_row_ranges_add(out, (int64_t)i, 1), "add");
}

static void check_ranges(const sl_row_ranges *ranges, const bool *bits, size_t count)
{
    bool got[64] = {false};
    for (size_t i = 0; i < ranges->count; i++) {
        const struct sl_row_range *range = &ranges->items[i];
        assert_true(range->count > 0);
        if (i > 0)
            assert_true(range->first > range[-1].first + range[-1].count);
        for (int64_t row = range->first; row < range->first + range->count; row++)
            got[row] = true;
    }
    assert_memory_equal(got, bits, count * sizeof *bits);
}

static void ranges_are_sets(void **state)
{
    (void)state;
    for (int round = 0; round < 500; round++) {
        bool a[64], b[64], both[64], either[64];
        uint64_t share = 1 + random_below(10);
        for (size_t i = 0; i < 64; i++) {
            a[i] = random_below(share) == 0;
            b[i] = random_below(3) != 0;
            both[i] = a[i] && b[i];
            either[i] = a[i] || b[i];
        }
        sl_row_ranges x = {0}, y = {0}, intersection = {0}, sum = {0};
        ranges_of_bits(a, 64, &x);
        ranges_of_bits(b, 64, &y);
        check_ranges(&x, a, 64);
        check_ok(sl_row_ranges_intersect(&x, &y, &intersection), "intersect");
        check_ok(sl_row_ranges_unite(&x, &y, &sum), "unite");
        check_ranges(&intersection, both, 64);
        check_ranges(&sum, either, 64);
        assert_int_equal(sl_row_ranges_rows(&sum) + sl_row_ranges_rows(&intersection),
                         sl_row_ranges_rows(&x) + sl_row_ranges_rows(&y));
        sl_row_ranges_free(&x);
        sl_row_ranges_free(&y);
        sl_row_ranges_free(&intersection);
        sl_row_ranges_free(&sum);
    }
    sl_row_ranges overlapping = {0};
    check_ok(sl_row_ranges_add(&overlapping, 5, 10), "add");
    check_ok(sl_row_ranges_add(&overlapping, 7, 2), "inside");
    check_ok(sl_row_ranges_add(&overlapping, 12, 8), "over the end");
    check_ok(sl_row_ranges_add(&overlapping, 100, 0), "empty");
    assert_int_equal(overlapping.count, 1);
    assert_int_equal(overlapping.items[0].count, 15);
    sl_row_ranges_free(&overlapping);
}

/* ---- Bloom filters ------------------------------------------------------------------------------------- */

static void filter_insert(uint8_t *blocks, size_t block_count, const void *value, size_t len)
{
    static const uint32_t salt[8] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                     0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};
    uint64_t hash = sl_xxh64(value, len);
    uint8_t *block = blocks + 32 * (((hash >> 32) * block_count) >> 32);
    for (int i = 0; i < 8; i++)
        store_le32(block + 4 * i, load_le32(block + 4 * i) | UINT32_C(1) << ((uint32_t)hash * salt[i] >> 27));
}

/* The made file with a filter of 24 blocks over the names in front of its footer; the footer is never written, only its
 * decoded form is told where the filter lies. */
static void filters_answer(void **state)
{
    (void)state;
    enum { BLOCKS = 24 };
    static const uint8_t header[] = {0x15, 0x80, 0x0c, 0x1c, 0x1c, 0, 0, 0x1c,
                                     0x1c, 0,    0,    0x1c, 0x1c, 0, 0, 0};
    struct opened o, with = {0};
    uint8_t blocks[32 * BLOCKS] = {0};
    open_made(&o);
    sl_array *names = column_of(o.p, "name");
    for (int64_t i = 0; i < 60; i++)
        if (sl_is_valid(names, i))
            filter_insert(blocks, BLOCKS, names->values + names->offsets[i],
                          (size_t)(names->offsets[i + 1] - names->offsets[i]));
    check_ok(sl_buf_append(&with.bytes, o.bytes.data, (size_t)o.p->data_end), "data");
    check_ok(sl_buf_append(&with.bytes, header, sizeof header), "header");
    check_ok(sl_buf_append(&with.bytes, blocks, sizeof blocks), "blocks");
    check_ok(sl_buf_append(&with.bytes, o.bytes.data + o.p->data_end, o.bytes.len - (size_t)o.p->data_end),
             "footer");
    open_bytes(&with);
    struct parquet_column_meta *meta = &with.p->meta.row_groups[0].columns[1].meta;
    meta->bloom_filter_offset = (int64_t)o.p->data_end;
    int64_t wrong = 0;
    bool may;
    for (int64_t i = 0; i < ROWS; i++) {
        check_ok(sl_parquet_may_contain_value(with.p, 0, 1, names, i, &may), "ask");
        if (i < 60 || !sl_is_valid(names, i))
            assert_true(may);
        else
            wrong += may;
    }
    assert_true(wrong < ROWS / 20);
    check_ok(sl_parquet_may_contain(with.p, 0, 1, "never", 5, &may), "ask");
    assert_false(may);
    check_ok(sl_parquet_may_contain(with.p, 1, 1, "never", 5, &may), "no filter there");
    assert_true(may);
    sl_array *ids = column_of(o.p, "id");
    FAILS(sl_parquet_may_contain_value(with.p, 0, 1, ids, 0, &may), SL_E_INPUT, "another type");
    /* a filter that does not fit the file, one of another kind, one that is no filter */
    meta->bloom_filter_offset += 1;
    check_ok(sl_parquet_may_contain(with.p, 0, 1, "never", 5, &may), "damaged");
    assert_true(may);
    meta->bloom_filter_offset -= 1;
    with.bytes.data[o.p->data_end + 4] = 0x2c; /* algorithm 2 */
    check_ok(sl_parquet_may_contain(with.p, 0, 1, "never", 5, &may), "unknown kind");
    assert_true(may);
    sl_array_unref(ids);
    sl_array_unref(names);
    close_made(&with);
    close_made(&o);
}

/* Values of each type become the bytes that the file has. */
static void filters_know_physical_values(void **state)
{
    (void)state;
    static const uint8_t header[] = {0x15, 0x80, 0x20, 0x1c, 0x1c, 0, 0, 0x1c,
                                     0x1c, 0,    0,    0x1c, 0x1c, 0, 0, 0};
    struct opened o;
    open_made(&o);
    static const char *const tested[] = {"id", "small", "price", "day", "f"};
    for (size_t t = 0; t < sizeof tested / sizeof *tested; t++) {
        int column = sl_type_field_index(sl_parquet_schema(o.p), tested[t]);
        const struct parquet_leaf *leaf = &o.p->schema.leaves[column];
        sl_array *values = column_of(o.p, tested[t]);
        struct opened with = {0};
        uint8_t blocks[2048] = {0};
        for (int64_t i = 2600; i < 2610; i++) { /* only what the second group holds; physical bytes by hand */
            uint8_t bytes[16] = {0};
            size_t width = leaf->physical_width;
            if (values->type->id == SL_DECIMAL)
                for (size_t k = 0; k < width; k++)
                    bytes[width - 1 - k] = (uint8_t)(sl_decimal_at(values, i) >> (8 * k));
            else
                memcpy(bytes, values->values + (size_t)i * width, width);
            filter_insert(blocks, 64, bytes, width);
        }
        check_ok(sl_buf_append(&with.bytes, o.bytes.data, (size_t)o.p->data_end), "data");
        check_ok(sl_buf_append(&with.bytes, header, sizeof header), "header");
        check_ok(sl_buf_append(&with.bytes, blocks, sizeof blocks), "blocks");
        check_ok(
            sl_buf_append(&with.bytes, o.bytes.data + o.p->data_end, o.bytes.len - (size_t)o.p->data_end),
            "end");
        open_bytes(&with);
        with.p->meta.row_groups[1].columns[column].meta.bloom_filter_offset = (int64_t)o.p->data_end;
        bool may;
        for (int64_t i = 2600; i < 2610; i++) {
            check_ok(sl_parquet_may_contain_value(with.p, 1, column, values, i, &may), tested[t]);
            assert_true(may);
        }
        check_ok(sl_parquet_may_contain_value(with.p, 1, column, values, 4900, &may), tested[t]);
        assert_false(may);
        sl_array_unref(values);
        close_made(&with);
    }
    close_made(&o);
}

/* ---- dictionaries -------------------------------------------------------------------------------------- */

#define FALLEN_BACK 4000

/* Few values, then so many long ones that the dictionary is given up: its pages are followed by plain ones. */
static void add_falling_back(sl_batch_builder *b, int64_t i)
{
    char text[400];
    memset(text, 'x', sizeof text);
    snprintf(text, sizeof text, "value %" PRId64, i < 1000 ? i % 20 : i * INT64_C(7919));
    check_ok(sl_builder_bytes(b->columns[0], text, i < 1000 ? strlen(text) : sizeof text), "text");
}

/* The rows of a selection, and what was read for them. */
static uint64_t read_selected(struct opened *o, const struct sl_row_range *ranges, size_t count,
                              const sl_array *expected)
{
    atomic_uint_fast64_t bytes = 0;
    struct sl_parquet_scan_options options = {
        .ranges = ranges, .range_count = count, .bytes_read = &bytes, .batch_rows = 70};
    sl_stream *stream;
    size_t range = 0;
    int64_t row = ranges[0].first;
    check_ok(sl_parquet_scan(o->p, &options, &stream), "scan");
    for (;;) {
        sl_batch *batch;
        check_ok(sl_stream_next(stream, &batch), "next");
        if (!batch)
            break;
        for (int64_t i = 0; i < batch->rows; i++, row++) {
            if (row == ranges[range].first + ranges[range].count)
                row = ranges[++range].first;
            assert_int_equal(sl_compare(batch->columns[0], i, expected, row), 0);
        }
        sl_batch_unref(batch);
    }
    assert_int_equal(row, ranges[count - 1].first + ranges[count - 1].count);
    sl_stream_close(stream);
    return bytes;
}

/* A dictionary is read for pages that need it, and not for others. */
static void dictionaries_are_read_when_needed(void **state)
{
    (void)state;
    static const struct sl_row_range plain[] = {{FALLEN_BACK - 5, 3}},
                                     mixed[] = {{120, 3}, {990, 30}, {FALLEN_BACK - 250, 200}};
    struct opened o = {0};
    struct sl_parquet_write_options options = {.page_rows = 100};
    write_file("text string", add_falling_back, FALLEN_BACK, &options, &o.bytes);
    open_bytes(&o);
    const struct parquet_column_meta *meta = &o.p->meta.row_groups[0].columns[0].meta;
    uint64_t dictionary = (uint64_t)(meta->data_page_offset - meta->dictionary_page_offset);
    assert_true(dictionary > 1 << 20);
    sl_array *all = column_of(o.p, "text");
    assert_true(read_selected(&o, plain, 1, all) < 100000); /* one page of 400 bytes a row */
    assert_true(read_selected(&o, mixed, 3, all) > dictionary);
    sl_array_unref(all);
    close_made(&o);
}

/* ---- large things -------------------------------------------------------------------------------------- */

#define LONG_BYTES 200000

/* Short strings, then very long ones that nothing announced. */
static void add_uneven_row(sl_batch_builder *b, int64_t i)
{
    static char text[LONG_BYTES];
    size_t len = i < 2000 ? 3 : LONG_BYTES;
    memset(text, 'a' + (int)(i % 26), len);
    check_ok(sl_builder_integer(b->columns[0], i), "id");
    check_ok(sl_builder_bytes(b->columns[1], text, len), "text");
}

static void long_strings_make_small_batches(void **state)
{
    (void)state;
    struct opened o = {0};
    struct sl_parquet_write_options options = {.codec = SL_CODEC_ZSTD, .no_dictionary = true};
    write_file("id long, text string", add_uneven_row, 2060, &options, &o.bytes);
    open_bytes(&o);
    sl_stream *stream;
    struct sl_row_range ranges[] = {{5, 1500}, {1990, 3}, {1995, 65}};
    for (size_t selected = 0; selected < 2; selected++) {
        struct sl_parquet_scan_options scan = {.batch_bytes = (size_t)1 << 20, .batch_rows = 1 << 20};
        int64_t expected = 0, rows = 0;
        size_t largest = 0;
        if (selected) {
            scan.ranges = ranges;
            scan.range_count = 3;
            expected = 5;
        }
        check_ok(sl_parquet_scan(o.p, &scan, &stream), "scan");
        for (;;) {
            sl_batch *batch;
            check_ok(sl_stream_next(stream, &batch), "next");
            if (!batch)
                break;
            const sl_array *text = batch->columns[1];
            for (int64_t i = 0; i < batch->rows; i++, expected++) {
                if (selected && expected == 1505)
                    expected = 1990;
                if (selected && expected == 1993)
                    expected = 1995;
                assert_int_equal(sl_i64_at(batch->columns[0], i), expected);
                assert_int_equal(text->offsets[i + 1] - text->offsets[i], expected < 2000 ? 3 : LONG_BYTES);
                assert_int_equal(text->values[text->offsets[i]], 'a' + expected % 26);
            }
            rows += batch->rows;
            largest = sl_batch_bytes(batch) > largest ? sl_batch_bytes(batch) : largest;
            sl_batch_unref(batch);
        }
        assert_int_equal(rows, selected ? 1568 : 2060);
        assert_true(largest < (size_t)8 << 20);
        sl_stream_close(stream);
    }
    close_made(&o);
}

/* 400 texts of 500 bytes in turn, which a dictionary holds. */
static void add_repeating_text(sl_batch_builder *b, int64_t i)
{
    char text[500];
    memset(text, 'a', sizeof text);
    snprintf(text, 16, "%08d", (int)(i % 400));
    check_ok(sl_builder_bytes(b->columns[0], text, sizeof text), "text");
}

/* A dictionary larger than a batch once counted among the bytes of its rows: fewer rows a batch, each of them
 * larger, and at last a row a batch. */
static void large_dictionaries_make_no_small_batches(void **state)
{
    (void)state;
    enum { ROWS_OF_TEXT = 20000 };
    struct opened o = {0};
    sl_stream *stream;
    sl_batch *batch;
    struct sl_parquet_write_options options = {.codec = SL_CODEC_ZSTD};
    write_file("text string", add_repeating_text, ROWS_OF_TEXT, &options, &o.bytes);
    open_bytes(&o);
    struct sl_parquet_scan_options scan = {
        .batch_bytes = (size_t)150 << 10, .batch_rows = ROWS_OF_TEXT / 10, .keep_dictionary = true};
    check_ok(sl_parquet_scan(o.p, &scan, &stream), "scan");
    int batches = 0;
    for (;; batches++) {
        check_ok(sl_stream_next(stream, &batch), "next");
        if (!batch)
            break;
        assert_non_null(batch->columns[0]->dictionary);
        sl_batch_unref(batch);
    }
    assert_true(batches >= 10 && batches <= 80);
    sl_stream_close(stream);
    close_made(&o);
}

static void add_null_list(sl_batch_builder *b, int64_t i)
{
    (void)i;
    sl_builder *elements = sl_builder_child(b->columns[0], 0);
    for (int k = 0; k < 10000000; k++)
        check_ok(sl_builder_null(elements), "element");
    check_ok(sl_builder_close(b->columns[0]), "list");
}

/* Ten million nulls in some hundred bytes: no batch may hold 4 rows of them, one row may. */
static void many_nulls_take_their_time(void **state)
{
    (void)state;
    struct opened o = {0};
    sl_stream *stream;
    struct sl_parquet_write_options options = {.codec = SL_CODEC_ZSTD};
    write_file("v list<long>", add_null_list, 4, &options, &o.bytes);
    assert_true(o.bytes.len < 100000);
    open_bytes(&o);
    struct sl_parquet_scan_options scan = {.batch_bytes = (size_t)1 << 20};
    check_ok(sl_parquet_scan(o.p, &scan, &stream), "scan");
    int64_t rows = 0;
    for (;;) {
        sl_batch *batch;
        check_ok(sl_stream_next(stream, &batch), "next");
        if (!batch)
            break;
        assert_int_equal(batch->rows, 1);
        assert_int_equal(batch->columns[0]->children[0]->null_count, 10000000);
        rows += batch->rows;
        sl_batch_unref(batch);
    }
    assert_int_equal(rows, 4);
    sl_stream_close(stream);
    close_made(&o);
}

/* The made file with everything behind its magic moved past 5 GiB, in a sparse file. */
static void shift_offsets(struct parquet_file_metadata *meta, int64_t by)
{
    for (size_t g = 0; g < meta->row_group_count; g++)
        for (size_t c = 0; c < meta->row_groups[g].column_count; c++) {
            struct parquet_column_chunk *chunk = &meta->row_groups[g].columns[c];
            chunk->meta.data_page_offset += by;
            if (chunk->meta.dictionary_page_offset > 0)
                chunk->meta.dictionary_page_offset += by;
            if (chunk->column_index_offset > 0)
                chunk->column_index_offset += by;
            if (chunk->meta.bloom_filter_offset > 0)
                chunk->meta.bloom_filter_offset += by;
        }
}

static void move_offset_indexes(struct sl_parquet *p, sl_buf *indexes, int64_t at, int64_t by)
{
    for (size_t g = 0; g < p->meta.row_group_count; g++)
        for (size_t c = 0; c < p->meta.row_groups[g].column_count; c++) {
            struct parquet_offset_index index;
            size_t before = indexes->len;
            check_ok(parquet_offset_index_load(p, g, c, p->arena, &index), "index");
            for (size_t i = 0; i < index.page_count; i++)
                index.pages[i].offset += by;
            check_ok(parquet_offset_index_encode(&index, indexes), "encode");
            p->meta.row_groups[g].columns[c].offset_index_offset = at + (int64_t)before;
            p->meta.row_groups[g].columns[c].offset_index_length = (int32_t)(indexes->len - before);
        }
}

static void write_at(FILE *f, int64_t offset, const void *data, size_t len)
{
    assert_int_equal(fseeko(f, offset, SEEK_SET), 0);
    assert_int_equal(fwrite(data, 1, len, f), len);
}

static void offsets_beyond_4_gib(void **state)
{
    (void)state;
    const int64_t by = INT64_C(5) << 30;
    struct opened o;
    sl_buf footer = {0}, indexes = {0};
    char path[512];
    open_made(&o);
    snprintf(path, sizeof path, "%s/parquet_select_sparse.%" PRId64,
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", sl_now_ms());
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    sl_array *ids = column_of(o.p, "id");
    move_offset_indexes(o.p, &indexes, by + (int64_t)o.p->data_end, by);
    shift_offsets(&o.p->meta, by);
    check_ok(parquet_file_metadata_encode(&o.p->meta, &footer), "footer");
    uint8_t tail[8];
    store_le32(tail, (uint32_t)footer.len);
    memcpy(tail + 4, "PAR1", 4);
    write_at(f, 0, "PAR1", 4);
    write_at(f, by, o.bytes.data, (size_t)o.p->data_end);
    write_at(f, by + (int64_t)o.p->data_end, indexes.data, indexes.len);
    write_at(f, by + (int64_t)o.p->data_end + (int64_t)indexes.len, footer.data, footer.len);
    write_at(f, by + (int64_t)o.p->data_end + (int64_t)indexes.len + (int64_t)footer.len, tail, 8);
    assert_int_equal(fclose(f), 0);

    sl_storage *storage;
    sl_file *file;
    sl_parquet *p;
    sl_stream *stream;
    sl_batch *batch;
    struct sl_parquet_page_bounds b;
    check_ok(sl_storage_local(&storage), "storage");
    check_ok(sl_storage_open(storage, path, &file), path);
    check_ok(sl_parquet_open(file, NULL, &p), "open");
    sl_array *again = column_of(p, "id");
    assert_int_equal(again->length, ROWS);
    for (int64_t i = 0; i < ROWS; i++)
        assert_true(sl_equal_at(ids, i, again, i));
    check_ok(sl_parquet_page_bounds(p, 2, 0, &b), "bounds");
    assert_true(b.from_index);
    struct sl_row_range range = {b.pages[3].first_row, 7};
    struct sl_parquet_scan_options options = {.ranges = &range, .range_count = 1};
    check_ok(sl_parquet_scan(p, &options, &stream), "scan");
    check_ok(sl_stream_next(stream, &batch), "next");
    assert_int_equal(sl_i64_at(batch->columns[0], 6), range.first + 6);
    assert_int_equal(sl_parquet_ignored_indexes(p), 0);
    sl_batch_unref(batch);
    sl_stream_close(stream);
    sl_parquet_page_bounds_free(&b);
    sl_array_unref(again);
    sl_array_unref(ids);
    sl_parquet_close(p);
    sl_file_close(file);
    sl_storage_free(storage);
    sl_buf_free(&footer);
    sl_buf_free(&indexes);
    remove(path);
    close_made(&o);
}

/* One chunk of 3 GiB in one row group: 64 PLAIN pages whose bodies are holes of the file but for their first values. The
 * quick form has pages of 8 KiB. */
static void chunk_beyond_2_gib(void **state)
{
    (void)state;
    const bool full = getenv("SL_TEST_LONG");
    const int32_t page_bytes = full ? 48 << 20 : 8 << 10, pages = 64;
    const int64_t page_rows = page_bytes / 8;
    char path[512];
    snprintf(path, sizeof path, "%s/parquet_select_large.%" PRId64,
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", sl_now_ms());
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    write_at(f, 0, "PAR1", 4);
    int64_t at = 4;
    for (int32_t i = 0; i < pages; i++) {
        struct parquet_page_header header = {
            .type = PARQUET_PAGE_DATA,
            .uncompressed_size = page_bytes,
            .compressed_size = page_bytes,
            .num_values = (int32_t)page_rows,
            .encoding = PARQUET_PLAIN,
            .definition_encoding = PARQUET_RLE,
            .repetition_encoding = PARQUET_RLE,
        };
        sl_buf bytes = {0};
        uint8_t value[8];
        store_le64(value, (uint64_t)i + 1);
        check_ok(parquet_page_header_encode(&header, &bytes), "header");
        write_at(f, at, bytes.data, bytes.len);
        write_at(f, at + (int64_t)bytes.len, value, 8);
        at += (int64_t)bytes.len + page_bytes;
        sl_buf_free(&bytes);
    }
    static const char *const column_path[] = {"v"};
    static const int32_t encodings[] = {PARQUET_PLAIN};
    struct parquet_schema_element elements[] = {
        {.name = "schema", .children = 1, .converted = PARQUET_CONVERTED_NONE},
        {.name = "v",
         .has_type = true,
         .type = PARQUET_INT64,
         .has_repetition = true,
         .converted = PARQUET_CONVERTED_NONE},
    };
    struct parquet_column_chunk chunk = {
        .has_meta = true,
        .offset_index_offset = -1,
        .column_index_offset = -1,
        .meta = {.type = PARQUET_INT64,
                 .encodings = encodings,
                 .encoding_count = 1,
                 .path = column_path,
                 .path_count = 1,
                 .num_values = page_rows * pages,
                 .total_uncompressed_size = at - 4,
                 .total_compressed_size = at - 4,
                 .data_page_offset = 4,
                 .index_page_offset = -1,
                 .dictionary_page_offset = -1,
                 .bloom_filter_offset = -1,
                 .bloom_filter_length = -1},
    };
    struct parquet_row_group group = {.columns = &chunk,
                                      .column_count = 1,
                                      .total_byte_size = at - 4,
                                      .num_rows = page_rows * pages,
                                      .file_offset = -1,
                                      .total_compressed_size = -1,
                                      .ordinal = -1};
    struct parquet_file_metadata meta = {.version = 1,
                                         .schema = elements,
                                         .schema_count = 2,
                                         .num_rows = group.num_rows,
                                         .row_groups = &group,
                                         .row_group_count = 1};
    sl_buf footer = {0};
    uint8_t tail[8];
    check_ok(parquet_file_metadata_encode(&meta, &footer), "footer");
    store_le32(tail, (uint32_t)footer.len);
    memcpy(tail + 4, "PAR1", 4);
    write_at(f, at, footer.data, footer.len);
    write_at(f, at + (int64_t)footer.len, tail, 8);
    assert_int_equal(fclose(f), 0);
    sl_buf_free(&footer);

    sl_storage *storage;
    sl_file *file;
    sl_parquet *p;
    sl_stream *stream;
    check_ok(sl_storage_local(&storage), "storage");
    check_ok(sl_storage_open(storage, path, &file), path);
    check_ok(sl_parquet_open(file, NULL, &p), "open");
    int64_t rows = 0, sum = 0, marked = 0;
    check_ok(sl_parquet_scan(p, NULL, &stream), "scan");
    for (;;) {
        sl_batch *batch;
        check_ok(sl_stream_next(stream, &batch), "next");
        if (!batch)
            break;
        for (int64_t i = 0; i < batch->rows; i++) {
            int64_t v = sl_i64_at(batch->columns[0], i);
            sum += v;
            marked += v != 0 && (rows + i) % page_rows == 0 && v == (rows + i) / page_rows + 1;
        }
        rows += batch->rows;
        sl_batch_unref(batch);
    }
    assert_int_equal(rows, page_rows * pages);
    assert_int_equal(sum, pages * (pages + 1) / 2);
    assert_int_equal(marked, pages);
    sl_stream_close(stream);
    /* the last page alone, found by passing over the others */
    struct sl_row_range last = {page_rows * (pages - 1), 3};
    struct sl_parquet_scan_options options = {.ranges = &last, .range_count = 1};
    sl_batch *batch;
    check_ok(sl_parquet_scan(p, &options, &stream), "scan");
    check_ok(sl_stream_next(stream, &batch), "next");
    assert_int_equal(sl_i64_at(batch->columns[0], 0), pages);
    sl_batch_unref(batch);
    sl_stream_close(stream);
    sl_parquet_close(p);
    sl_file_close(file);
    sl_storage_free(storage);
    remove(path);
}

/* ---- inside -------------------------------------------------------------------------------------------- */

static void level_masks(void **state)
{
    (void)state;
    for (int round = 0; round < 2000; round++) {
        uint8_t levels[64];
        size_t count = 1 + (size_t)random_below(64);
        uint8_t *exact = sl_malloc(count); /* so that ASan sees a read behind the end */
        assert_non_null(exact);
        for (size_t i = 0; i < 64; i++)
            levels[i] = (uint8_t)random_below(round % 2 ? 4 : 127);
        memcpy(exact, levels, count);
        int least = (int)random_below(round % 2 ? 5 : 128);
        uint64_t expected = 0;
        for (size_t i = 0; i < count; i++)
            expected |= (uint64_t)(levels[i] >= least) << i;
        assert_true(parquet_levels_mask(exact, count, least) == expected);
        sl_free(exact);
    }
}

/* DELTA_BYTE_ARRAY pages of parquet-mr before 1.8: "hello", then, on the next page, the prefix 3 of it and "p". */
static void prefixes_are_carried_over(void **state)
{
    (void)state;
    static const uint8_t first[] = {0x80, 1, 4, 1, 0, 0x80, 1, 4, 1, 10, 'h', 'e', 'l', 'l', 'o'};
    static const uint8_t second[] = {0x80, 1, 4, 1, 6, 0x80, 1, 4, 1, 2, 'p'};
    for (int old = 0; old < 2; old++) {
        struct parquet_values v = {.carry_over = old};
        struct parquet_strings out = {0};
        check_ok(
            parquet_values_init(&v, PARQUET_BYTE_ARRAY, 0, PARQUET_DELTA_BYTE_ARRAY, first, sizeof first),
            "init");
        check_ok(parquet_values_strings(&v, &out, 1), "first");
        check_ok(
            parquet_values_init(&v, PARQUET_BYTE_ARRAY, 0, PARQUET_DELTA_BYTE_ARRAY, second, sizeof second),
            "init");
        sl_status status = parquet_values_strings(&v, &out, 1);
        if (old) {
            check_ok(status, "second");
            assert_int_equal(out.offsets[2], 9);
            assert_memory_equal(out.data, "hellohelp", 9);
        } else {
            FAILS(status, SL_E_CORRUPT, "prefix of 3");
        }
        parquet_strings_free(&out);
        parquet_values_free(&v);
    }
}

/* 4 GiB that nobody sent are not allocated. */
static void claims_are_checked(void **state)
{
    (void)state;
    static const uint8_t brotli_empty[] = {0x06};
    static const uint8_t zstd_start[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58, 0x01, 0x00, 0x00};
    FAILS(parquet_decompress_plausible(PARQUET_CODEC_BROTLI, brotli_empty, 1, (size_t)1 << 31), SL_E_CORRUPT,
          "BROTLI");
    FAILS(parquet_decompress_plausible(PARQUET_CODEC_ZSTD, zstd_start, sizeof zstd_start, (size_t)1 << 31),
          SL_E_CORRUPT, "ZSTD");
    check_ok(parquet_decompress_plausible(PARQUET_CODEC_ZSTD, zstd_start, sizeof zstd_start, 1000), "small");
}

/* Decimals of more than 38 digits stay what they are physically. */
static void wide_decimals_are_bytes(void **state)
{
    (void)state;
    struct parquet_schema_element elements[] = {
        {.name = "schema", .children = 3, .converted = PARQUET_CONVERTED_NONE},
        {.name = "fixed",
         .has_type = true,
         .type = PARQUET_FIXED,
         .type_length = 21,
         .has_repetition = true,
         .converted = PARQUET_CONVERTED_DECIMAL,
         .precision = 50,
         .scale = 3,
         .logical = {.kind = PARQUET_LOGICAL_DECIMAL, .precision = 50, .scale = 3}},
        {.name = "bytes",
         .has_type = true,
         .type = PARQUET_BYTE_ARRAY,
         .has_repetition = true,
         .converted = PARQUET_CONVERTED_DECIMAL,
         .precision = 39,
         .scale = 0,
         .logical = {.kind = PARQUET_LOGICAL_DECIMAL, .precision = 39}},
        {.name = "fits",
         .has_type = true,
         .type = PARQUET_FIXED,
         .type_length = 16,
         .has_repetition = true,
         .converted = PARQUET_CONVERTED_DECIMAL,
         .precision = 38,
         .scale = 38,
         .logical = {.kind = PARQUET_LOGICAL_DECIMAL, .precision = 38, .scale = 38}},
    };
    struct parquet_file_metadata meta = {.schema = elements, .schema_count = 4};
    struct parquet_schema schema;
    sl_arena *arena;
    check_ok(sl_arena_new(&arena), "arena");
    check_ok(parquet_schema_build(&meta, arena, &schema), "schema");
    assert_int_equal(schema.type->fields[0].type->id, SL_FIXED);
    assert_int_equal(schema.type->fields[0].type->width, 21);
    assert_int_equal(schema.type->fields[1].type->id, SL_BINARY);
    assert_int_equal(schema.type->fields[2].type->id, SL_DECIMAL);
    sl_type_unref(schema.type);
    sl_arena_free(arena);
}

/* A repeated group "list" with one field "name": the Avro items decide whether it is the element. */
static void avro_schemas_decide_on_lists(void **state)
{
    (void)state;
    static const struct {
        const char *repeated, *avro, *expected;
    } cases[] = {
        {"list", NULL, "v list<int not null>"},
        {"list", "not JSON", "v list<int not null>"},
        {"list",
         "{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"v\",\"type\":[\"null\",{\"type\":"
         "\"array\","
         "\"items\":{\"type\":\"record\",\"name\":\"e\",\"fields\":[{\"name\":\"name\",\"type\":\"int\"}]}}]}"
         "]}",
         "v list<struct<name: int not null> not null>"},
        /* another field, another kind of field, a second field: a wrapper */
        {"list",
         "{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"v\",\"type\":{\"type\":\"array\","
         "\"items\":"
         "{\"type\":\"record\",\"name\":\"e\",\"fields\":[{\"name\":\"other\",\"type\":\"int\"}]}}}]}",
         "v list<int not null>"},
        {"list",
         "{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"v\",\"type\":{\"type\":\"array\","
         "\"items\":"
         "{\"type\":\"record\",\"name\":\"e\",\"fields\":[{\"name\":\"name\",\"type\":{\"type\":\"map\","
         "\"values\":"
         "\"int\"}}]}}}]}",
         "v list<int not null>"},
        {"array",
         "{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"v\",\"type\":{\"type\":\"array\","
         "\"items\":\"int\"}}]}",
         "v list<int not null>"},
        /* the items by name, defined before */
        {"list",
         "{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"u\",\"type\":{\"type\":\"record\","
         "\"name\":\"e\","
         "\"fields\":[{\"name\":\"name\",\"type\":\"int\"}]}},{\"name\":\"v\",\"type\":{\"type\":\"array\","
         "\"items\":\"x.e\"}}]}",
         "v list<struct<name: int not null> not null>"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct parquet_schema_element elements[] = {
            {.name = "schema", .children = 1, .converted = PARQUET_CONVERTED_NONE},
            {.name = "v",
             .children = 1,
             .has_repetition = true,
             .repetition = PARQUET_OPTIONAL,
             .converted = PARQUET_CONVERTED_LIST},
            {.name = cases[i].repeated,
             .children = 1,
             .has_repetition = true,
             .repetition = PARQUET_REPEATED,
             .converted = PARQUET_CONVERTED_NONE},
            {.name = "name",
             .has_type = true,
             .type = PARQUET_INT32,
             .has_repetition = true,
             .converted = PARQUET_CONVERTED_NONE},
        };
        struct parquet_key_value kv = {"parquet.avro.schema", cases[i].avro,
                                       cases[i].avro ? strlen(cases[i].avro) : 0};
        struct parquet_file_metadata meta = {
            .schema = elements, .schema_count = 4, .key_values = &kv, .key_value_count = 1};
        struct parquet_schema schema;
        const sl_type *expected;
        sl_arena *arena;
        check_ok(sl_arena_new(&arena), "arena");
        check_ok(parquet_schema_build(&meta, arena, &schema), "schema");
        check_ok(sl_schema_parse(cases[i].expected, &expected), cases[i].expected);
        if (!sl_type_equal(schema.type, expected)) {
            char *text;
            check_ok(sl_type_text(schema.type, &text), "text");
            fail_msg("case %zu: %s was read as %s", i, cases[i].expected, text);
        }
        sl_type_unref(schema.type);
        sl_type_unref(expected);
        sl_arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_have_their_bounds),
        cmocka_unit_test(pruned_reading_finds_all),
        cmocka_unit_test(scans_are_steered),
        cmocka_unit_test(contradicting_indexes_are_ignored),
        cmocka_unit_test(failing_allocations_are_reported),
        cmocka_unit_test(ranges_are_sets),
        cmocka_unit_test(filters_answer),
        cmocka_unit_test(filters_know_physical_values),
        cmocka_unit_test(dictionaries_are_read_when_needed),
        cmocka_unit_test(long_strings_make_small_batches),
        cmocka_unit_test(large_dictionaries_make_no_small_batches),
        cmocka_unit_test(many_nulls_take_their_time),
        cmocka_unit_test(offsets_beyond_4_gib),
        cmocka_unit_test(chunk_beyond_2_gib),
        cmocka_unit_test(level_masks),
        cmocka_unit_test(prefixes_are_carried_over),
        cmocka_unit_test(claims_are_checked),
        cmocka_unit_test(wide_decimals_are_bytes),
        cmocka_unit_test(avro_schemas_decide_on_lists),
    };
    return cmocka_run_group_tests(tests, random_set_up, NULL);
}
