/* Random schemas and rows through writer and reader: what comes back must be what went in. */
#include "check_support.h"
#include "parquet/parquet.h"

#include <math.h>
#include <stdio.h>

/* ---- random types -------------------------------------------------------------------------------------- */

static const sl_type *random_leaf(void)
{
    static const enum sl_type_id ids[] = {SL_BOOL,   SL_INT8,   SL_INT16,  SL_INT32, SL_INT64,  SL_UINT8,
                                          SL_UINT16, SL_UINT32, SL_UINT64, SL_FLOAT, SL_DOUBLE, SL_DATE,
                                          SL_STRING, SL_BINARY, SL_STRING, SL_INT32};
    const sl_type *type;
    switch (random_below(8)) {
    case 0: {
        int32_t precision = 1 + (int32_t)random_below(38);
        OK(sl_type_decimal(precision, (int32_t)random_below((uint64_t)precision + 1), &type));
        break;
    }
    case 1:
        OK(sl_type_timestamp((enum sl_time_unit)random_below(3), random_below(2), &type));
        break;
    case 2:
        OK(sl_type_time((enum sl_time_unit)random_below(3), &type));
        break;
    case 3: {
        static const int32_t widths[] = {1, 4, 8, 12, 16, 33, 300};
        OK(sl_type_fixed(widths[random_below(7)], &type));
        break;
    }
    default:
        OK(sl_type_new(ids[random_below(sizeof ids / sizeof *ids)], &type));
    }
    return type;
}

static const sl_type *random_type(int depth)
{
    const sl_type *type, *child[3];
    sl_field fields[3];
    char names[3][8];
    if (depth == 0 || random_below(2))
        return random_leaf();
    switch (random_below(3)) {
    case 0:
        child[0] = random_type(depth - 1);
        OK(sl_type_list(&(sl_field){.name = "element", .type = child[0], .nullable = random_below(2)},
                        &type));
        sl_type_unref(child[0]);
        return type;
    case 1:
        do { /* keys may be anything but nested, here as in Hudi mostly strings */
            child[0] = random_leaf();
        } while (sl_type_is_nested(child[0]));
        child[1] = random_type(depth - 1);
        OK(sl_type_map(child[0], &(sl_field){.name = "value", .type = child[1], .nullable = random_below(2)},
                       &type));
        sl_type_unref(child[0]);
        sl_type_unref(child[1]);
        return type;
    default: {
        size_t n = 1 + random_below(3);
        for (size_t i = 0; i < n; i++) {
            snprintf(names[i], sizeof names[i], "m%d", (int)i);
            child[i] = random_type(depth - 1);
            fields[i] = (sl_field){.name = names[i], .type = child[i], .nullable = random_below(2)};
        }
        OK(sl_type_struct(fields, n, &type));
        for (size_t i = 0; i < n; i++)
            sl_type_unref(child[i]);
        return type;
    }
    }
}

static const sl_type *random_schema(size_t columns)
{
    sl_field fields[12];
    char names[12][8];
    for (size_t i = 0; i < columns; i++) {
        snprintf(names[i], sizeof names[i], "c%d", (int)i);
        if (i > 0 && random_below(4) == 0) /* may get the same values: see share_columns */
            fields[i] =
                (sl_field){.type = sl_type_ref(fields[i - 1].type), .nullable = fields[i - 1].nullable};
        else
            fields[i] = (sl_field){.type = random_type(3), .nullable = random_below(3) > 0};
        fields[i].name = names[i];
    }
    const sl_type *schema;
    OK(sl_type_struct(fields, columns, &schema));
    for (size_t i = 0; i < columns; i++)
        sl_type_unref(fields[i].type);
    return schema;
}

/* ---- random values ------------------------------------------------------------------------------------- */

/* How a column's values are spread: few distinct ones, many, and how often null. */
struct flavour {
    uint64_t distinct, null_one_in;
    size_t length_max;
    bool null_elements; /* two-level lists have none */
};

static uint64_t pick(const struct flavour *f)
{
    uint64_t v = random_below(f->distinct) + 1;
    return v * UINT64_C(0x9e3779b97f4a7c15) ^ v << 7;
}

static void put_random(sl_builder *b, const sl_type *type, bool nullable, const struct flavour *f);

static void put_bytes(sl_builder *b, const struct flavour *f)
{
    uint8_t bytes[400];
    uint64_t v = pick(f);
    size_t len = v % (f->length_max + 1);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)('a' + (v >> (i % 13)) % 26);
    OK(sl_builder_bytes(b, bytes, len));
}

static void put_decimal(sl_builder *b, const sl_type *type, const struct flavour *f)
{
    sl_i128 limit = 1;
    for (int32_t i = 0; i < type->precision; i++)
        limit *= 10;
    sl_i128 v = (sl_i128)((sl_u128)pick(f) << 63 ^ pick(f)) % limit;
    OK(sl_builder_decimal(b, v));
}

static void put_leaf(sl_builder *b, const sl_type *type, const struct flavour *f)
{
    static const int64_t day[] = {86400000, INT64_C(86400000000), INT64_C(86400000000000)};
    uint64_t v = pick(f);
    switch (type->id) {
    case SL_BOOL:
        OK(sl_builder_bool(b, v & 1));
        break;
    case SL_INT8:
        OK(sl_builder_integer(b, (int8_t)v));
        break;
    case SL_INT16:
        OK(sl_builder_integer(b, (int16_t)v));
        break;
    case SL_INT32:
    case SL_DATE:
        OK(sl_builder_integer(b, (int32_t)v));
        break;
    case SL_UINT8:
        OK(sl_builder_integer(b, (uint8_t)v));
        break;
    case SL_UINT16:
        OK(sl_builder_integer(b, (uint16_t)v));
        break;
    case SL_UINT32:
        OK(sl_builder_integer(b, (uint32_t)v));
        break;
    case SL_UINT64:
        OK(sl_builder_integer(b, (int64_t)(v >> 1)));
        break;
    case SL_INT64:
    case SL_TIMESTAMP:
        OK(sl_builder_integer(b, (int64_t)v));
        break;
    case SL_TIME:
        OK(sl_builder_integer(b, (int64_t)(v % (uint64_t)day[type->unit])));
        break;
    case SL_FLOAT:
    case SL_DOUBLE:
        OK(sl_builder_double(b, v % 17 == 0   ? NAN
                                : v % 17 == 1 ? -0.0
                                : v % 17 == 2 ? INFINITY
                                              : (double)(float)(int64_t)v / 1024));
        break;
    case SL_DECIMAL:
        put_decimal(b, type, f);
        break;
    case SL_FIXED: {
        uint8_t bytes[300];
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)(v >> (i % 57));
        OK(sl_builder_bytes(b, bytes, (size_t)type->width));
        break;
    }
    default:
        put_bytes(b, f);
    }
}

static void put_elements(sl_builder *b, const sl_type *type, const struct flavour *f)
{
    uint64_t n = random_below(random_below(10) ? 4 : 20);
    const sl_field *element = &type->fields[0];
    bool nullable = element->nullable && (f->null_elements || type->id == SL_MAP);
    for (uint64_t i = 0; i < n; i++)
        put_random(sl_builder_child(b, 0), element->type, nullable, f);
}

static void put_random(sl_builder *b, const sl_type *type, bool nullable, const struct flavour *f)
{
    if (nullable && f->null_one_in && random_below(f->null_one_in) == 0) {
        OK(sl_builder_null(b));
        return;
    }
    switch (type->id) {
    case SL_LIST:
    case SL_MAP:
        put_elements(b, type, f);
        break;
    case SL_STRUCT:
        for (size_t i = 0; i < type->field_count; i++)
            put_random(sl_builder_child(b, i), type->fields[i].type, type->fields[i].nullable, f);
        break;
    default:
        put_leaf(b, type, f);
        return;
    }
    OK(sl_builder_close(b));
}

static sl_batch *random_batch(const sl_type *schema, int64_t rows, bool null_elements)
{
    static const uint64_t distinct[] = {1, 3, 200, 100000000};
    static const uint64_t nulls[] = {0, 1, 2, 30};
    static const size_t lengths[] = {0, 5, 20, 300};
    sl_batch_builder b = {0};
    OK(sl_batch_builder_init(&b, schema));
    for (size_t c = 0; c < schema->field_count; c++) {
        struct flavour f = {distinct[random_below(4)], nulls[random_below(4)], lengths[random_below(4)],
                            null_elements};
        for (int64_t i = 0; i < rows; i++)
            put_random(b.columns[c], schema->fields[c].type, schema->fields[c].nullable, &f);
    }
    sl_batch *batch;
    OK(sl_batch_builder_finish(&b, &batch));
    sl_batch_builder_free(&b);
    return batch;
}

/* Columns of one type become the same array, in most batches (writer_twins.c). */
static void share_columns(sl_batch **batches, size_t count)
{
    const sl_type *schema = batches[0]->schema;
    for (size_t c = 1; c < schema->field_count; c++) {
        const sl_field *field = &schema->fields[c], *before = field - 1;
        if (!sl_type_equal(field->type, before->type) || field->nullable != before->nullable)
            continue;
        for (size_t i = 0; i < count; i++) {
            sl_array *columns[12];
            sl_batch *shared;
            if (random_below(8) == 0)
                continue;
            for (size_t k = 0; k < schema->field_count; k++)
                columns[k] = sl_array_ref(batches[i]->columns[k == c ? c - 1 : k]);
            OK(sl_batch_new(schema, batches[i]->rows, columns, &shared));
            sl_batch_unref(batches[i]);
            batches[i] = shared;
        }
    }
}

/* ---- write, read, compare ------------------------------------------------------------------------------ */

static void write_all(const sl_type *schema, const struct sl_parquet_write_options *options,
                      sl_batch *const *batches, size_t count, sl_buf *file)
{
    sl_output *output;
    sl_parquet_writer *w;
    OK(sl_output_to_buf(file, &output));
    OK(sl_parquet_writer_new(output, schema, options, &w));
    for (size_t i = 0; i < count; i++)
        OK(sl_parquet_writer_write(w, batches[i]));
    OK(sl_parquet_writer_finish(w, NULL));
    OK(sl_output_finish(output));
}

/* The batch and row inside it of a row of the file. */
static const sl_batch *find_row(sl_batch *const *batches, int64_t *row)
{
    while (*row >= (*batches)->rows)
        *row -= (*batches++)->rows;
    return *batches;
}

static void compare_batch(const sl_batch *got, const sl_type *schema, sl_batch *const *batches, int64_t first)
{
    for (size_t c = 0; c < schema->field_count; c++)
        for (int64_t i = 0; i < got->rows; i++) {
            int64_t row = first + i;
            const sl_batch *want = find_row(batches, &row);
            if (sl_equal_at(got->columns[c], i, want->columns[c], row))
                continue;
            sl_buf a = {0}, b = {0};
            char *type = NULL;
            OK(sl_type_text(schema->fields[c].type, &type));
            OK(sl_value_text(got->columns[c], i, SL_TEXT_JSON, &a));
            OK(sl_value_text(want->columns[c], row, SL_TEXT_JSON, &b));
            print_error("column %d (%s), row %" PRId64 ": got %.*s, want %.*s\n", (int)c, type, first + i,
                        (int)a.len, (const char *)a.data, (int)b.len, (const char *)b.data);
            fail();
        }
}

static void read_and_compare(sl_parquet *p, const sl_type *schema, sl_batch *const *batches,
                             const struct sl_row_range *ranges, size_t range_count, bool keep_dictionary,
                             sl_pool *pool)
{
    struct sl_parquet_scan_options options = {
        .ranges = ranges,
        .range_count = range_count,
        .batch_rows = 1 + (int64_t)random_below(3000),
        .keep_dictionary = keep_dictionary,
        .pool = pool,
    };
    struct sl_row_range all = {0, sl_parquet_rows(p)};
    if (!ranges) {
        ranges = &all;
        range_count = 1;
    }
    sl_stream *stream;
    sl_batch *batch;
    OK(sl_parquet_scan(p, &options, &stream));
    size_t range = 0;
    int64_t done = 0; /* of the range */
    for (;;) {
        OK(sl_stream_next(stream, &batch));
        if (!batch)
            break;
        /* a batch may span ranges: compare piece by piece */
        for (int64_t from = 0; from < batch->rows;) {
            while (range < range_count && done == ranges[range].count) {
                range++;
                done = 0;
            }
            assert_true(range < range_count);
            int64_t n = batch->rows - from < ranges[range].count - done ? batch->rows - from
                                                                        : ranges[range].count - done;
            sl_batch *piece;
            OK(sl_batch_copy(batch, from, n, &piece));
            compare_batch(piece, schema, batches, ranges[range].first + done);
            sl_batch_unref(piece);
            from += n;
            done += n;
        }
        sl_batch_unref(batch);
    }
    while (range < range_count && done == ranges[range].count) {
        range++;
        done = 0;
    }
    assert_int_equal(range, range_count);
    sl_stream_close(stream);
}

static bool is_nan(const sl_array *a, int64_t i)
{
    return (a->type->id == SL_FLOAT && isnan(sl_float_at(a, i))) ||
           (a->type->id == SL_DOUBLE && isnan(sl_double_at(a, i)));
}

/* sl_compare orders floats as Java does, -0.0 before 0.0: bounds are widened to cover both. */
static void check_bounds(const sl_parquet *p, const sl_type *schema, sl_batch *const *batches,
                         bool all_counts)
{
    int64_t first = 0;
    for (size_t g = 0; g < sl_parquet_row_groups(p); g++) {
        int64_t rows = sl_parquet_row_group_rows(p, g);
        for (size_t c = 0; c < schema->field_count; c++) {
            if (sl_type_is_nested(schema->fields[c].type))
                continue;
            struct sl_parquet_bounds bounds;
            OK(sl_parquet_column_bounds(p, g, (int)c, &bounds));
            int64_t nulls = 0, nans = 0;
            for (int64_t i = 0; i < rows; i++) {
                int64_t row = first + i;
                const sl_array *a = find_row(batches, &row)->columns[c];
                if (!sl_is_valid(a, row)) {
                    nulls++;
                } else if (bounds.has_bounds) {
                    assert_true(sl_compare(bounds.min, 0, a, row) <= 0);
                    assert_true(sl_compare(bounds.max, 0, a, row) >= 0);
                    nans += is_nan(a, row);
                    if (bounds.max_number && !is_nan(a, row))
                        assert_true(sl_compare(bounds.max_number, 0, a, row) >= 0);
                }
            }
            assert_true(bounds.has_null_count || !all_counts);
            if (bounds.has_null_count)
                assert_int_equal(bounds.null_count, nulls);
            assert_int_equal(bounds.max_number != NULL, nans > 0); /* our files say whether there are some */
            sl_parquet_bounds_free(&bounds);
        }
        first += rows;
    }
}

static size_t random_ranges(int64_t rows, struct sl_row_range *ranges, size_t max)
{
    size_t n = 0;
    int64_t at = 0;
    while (n < max && at < rows) {
        at += (int64_t)random_below((uint64_t)rows / 3 + 2);
        int64_t count = 1 + (int64_t)random_below((uint64_t)rows / 5 + 2);
        if (at >= rows)
            break;
        if (count > rows - at)
            count = rows - at;
        ranges[n++] = (struct sl_row_range){at, count};
        at += count;
    }
    return n;
}

/* Every value of a filtered column must be allowed by its filter, and most others not. */
static void check_filters(const sl_parquet *p, const sl_type *schema, sl_batch *const *batches)
{
    int64_t first = 0;
    for (size_t g = 0; g < sl_parquet_row_groups(p); g++) {
        int64_t rows = sl_parquet_row_group_rows(p, g);
        for (size_t c = 0; c < schema->field_count; c++) {
            if (sl_type_is_nested(schema->fields[c].type))
                continue;
            for (int64_t i = 0; i < rows; i++) {
                bool may;
                int64_t row = first + i;
                const sl_array *a = find_row(batches, &row)->columns[c];
                OK(sl_parquet_may_contain_value(p, g, (int)c, a, row, &may));
                assert_true(may);
            }
        }
        first += rows;
    }
}

/* Options for some columns: encodings that fit their type, and Bloom filters. */
static size_t random_columns(const sl_type *schema, struct sl_parquet_column_options *columns)
{
    size_t n = 0;
    for (size_t c = 0; c < schema->field_count; c++) {
        const sl_type *type = schema->fields[c].type;
        if (sl_type_is_nested(type) || random_below(3) == 0)
            continue;
        struct sl_parquet_column_options *o = &columns[n++];
        *o = (struct sl_parquet_column_options){.column = schema->fields[c].name};
        o->bloom_filter = type->id != SL_BOOL && random_below(2);
        o->bloom_distinct = random_below(2) ? 1 + (int64_t)random_below(5000) : 0;
        o->bloom_fpp = random_below(2) ? 0.001 : 0;
        uint64_t way = random_below(4);
        if (way == 0)
            o->encoding = SL_ENCODING_AUTO;
        else if (type->id == SL_BOOL)
            o->encoding = SL_ENCODING_RLE;
        else if (type->id == SL_STRING || type->id == SL_BINARY)
            o->encoding = way == 1 ? SL_ENCODING_DELTA_LENGTH_BYTE_ARRAY : SL_ENCODING_DELTA_BYTE_ARRAY;
        else if (type->id == SL_FLOAT || type->id == SL_DOUBLE)
            o->encoding = SL_ENCODING_BYTE_STREAM_SPLIT;
        else if (type->id == SL_FIXED || type->id == SL_DECIMAL)
            o->encoding = way == 1 ? SL_ENCODING_BYTE_STREAM_SPLIT : SL_ENCODING_DELTA_BYTE_ARRAY;
        else
            o->encoding = way == 1 ? SL_ENCODING_BYTE_STREAM_SPLIT : SL_ENCODING_DELTA_BINARY_PACKED;
    }
    return n;
}

/* Every leaf ends its page at each multiple of page_rows: there a unit begins. */
static void check_units(const sl_parquet_units *units, int64_t rows,
                        const struct sl_parquet_write_options *options)
{
    assert_int_equal(units->rows[units->count], rows);
    size_t borders = 0;
    for (size_t i = 0; i < units->count; i++) {
        assert_true(units->rows[i] < units->rows[i + 1]);
        borders += options->page_rows && units->rows[i] % options->page_rows == 0;
    }
    if (options->page_rows && !options->no_page_index)
        assert_int_equal(borders, (rows + options->page_rows - 1) / options->page_rows);
    else if (options->no_page_index)
        assert_int_equal(units->count, rows > 0);
}

/* Each level of every value is counted. */
static void check_sizes(const sl_parquet *p)
{
    for (size_t g = 0; g < sl_parquet_row_groups(p); g++)
        for (size_t leaf = 0; leaf < sl_parquet_leaves(p); leaf++) {
            struct sl_parquet_chunk_info info;
            int64_t definitions = 0, repetitions = 0;
            OK(sl_parquet_chunk_info(p, g, leaf, &info));
            for (size_t i = 0; i < info.definition_levels; i++)
                definitions += info.definition_histogram[i];
            for (size_t i = 0; i < info.repetition_levels; i++)
                repetitions += info.repetition_histogram[i];
            assert_int_equal(definitions, info.definition_levels ? info.values : 0);
            assert_int_equal(repetitions, info.repetition_levels ? info.values : 0);
            assert_true(info.unencoded_bytes < 0 || info.unencoded_bytes <= info.uncompressed_bytes * 5000);
        }
}

/* A row group in stretches of one or more units, or as a whole. */
static void copy_group(sl_parquet_writer *w, const sl_parquet *p, size_t group,
                       const struct sl_parquet_constant *constant,
                       const struct sl_parquet_write_options *options)
{
    sl_parquet_units *units;
    size_t most = 1 + random_below(20);
    OK(sl_parquet_units_load(p, group, &units));
    check_units(units, sl_parquet_row_group_rows(p, group), options);
    if (random_below(4) == 0)
        most = SIZE_MAX;
    for (size_t i = 0, n; i < units->count; i += n) {
        n = units->count - i < most ? units->count - i : 1 + random_below(most);
        OK(sl_parquet_writer_copy_units(w, units, i, n, constant, constant->column ? 1 : 0));
    }
    sl_parquet_units_unref(units);
}

/* The rows of `p` once more, its row groups copied and `batch` written in between; column `renamed` is written anew. */
static void copy_and_compare(sl_parquet *p, const sl_type *schema, struct sl_parquet_write_options *options,
                             sl_batch *const *batches, size_t count)
{
    struct sl_parquet_constant constant = {NULL, random_below(2) ? "00000000-0000_0-1-0_001.parquet" : ""};
    for (size_t c = 0; c < schema->field_count; c++)
        if (schema->fields[c].type->id == SL_STRING)
            constant.column = schema->fields[c].name;
    sl_batch *want[16];
    size_t want_count = 0;
    sl_buf data = {0};
    sl_output *output;
    sl_parquet_writer *w;
    OK(sl_output_to_buf(&data, &output));
    OK(sl_parquet_writer_new(output, schema, options, &w));
    OK(sl_parquet_writer_write(w, batches[0]));
    want[want_count++] = sl_batch_ref(batches[0]);
    for (size_t g = 0; g < sl_parquet_row_groups(p); g++)
        copy_group(w, p, g, &constant, options);
    for (size_t i = 0; i < count; i++) {
        sl_array *columns[12];
        for (size_t c = 0; c < schema->field_count; c++)
            if (constant.column && strcmp(schema->fields[c].name, constant.column) == 0)
                OK(sl_array_constant_string(constant.value, strlen(constant.value), batches[i]->rows,
                                            &columns[c]));
            else
                columns[c] = sl_array_ref(batches[i]->columns[c]);
        OK(sl_batch_new(schema, batches[i]->rows, columns, &want[want_count++]));
    }
    OK(sl_parquet_writer_write(w, batches[count - 1]));
    want[want_count++] = sl_batch_ref(batches[count - 1]);
    OK(sl_parquet_writer_finish(w, NULL));
    OK(sl_output_finish(output));
    sl_file *file;
    sl_parquet *copy;
    OK(sl_file_of_memory(data.data, data.len, "copy", &file));
    OK(sl_parquet_open(file, NULL, &copy));
    read_and_compare(copy, schema, want, NULL, 0, random_below(2), NULL);
    struct sl_row_range ranges[8];
    size_t range_count = random_ranges(sl_parquet_rows(copy), ranges, 8);
    if (range_count)
        read_and_compare(copy, schema, want, ranges, range_count, false, NULL);
    check_bounds(copy, schema, want, false);
    check_filters(copy, schema, want);
    check_sizes(copy);
    assert_int_equal(sl_parquet_ignored_indexes(copy), 0);
    sl_parquet_close(copy);
    sl_file_close(file);
    sl_buf_free(&data);
    for (size_t i = 0; i < want_count; i++)
        sl_batch_unref(want[i]);
}

static void round_trip(sl_pool *pool)
{
    const sl_type *schema = random_schema(1 + random_below(10));
    bool old_lists = random_below(4) == 0;
    sl_batch *batches[4];
    size_t count = 1 + random_below(4);
    int64_t rows = 0;
    for (size_t i = 0; i < count; i++) {
        batches[i] =
            random_batch(schema, (int64_t)random_below(random_below(3) ? 50 : 3000) + (i == 0), !old_lists);
        rows += batches[i]->rows;
    }
    share_columns(batches, count);
    struct sl_parquet_column_options columns[12];
    struct sl_parquet_write_options options = {
        .data_page_v2 = random_below(3) == 0,
        .no_checksums = random_below(4) == 0,
        .size_statistics = random_below(2),
        .encoding = (enum sl_parquet_encoding)(random_below(2) ? 0 : random_below(SL_ENCODING_RLE + 1)),
        .columns = columns,
        .column_count = random_below(2) ? random_columns(schema, columns) : 0,
        .codec = (enum sl_parquet_codec)random_below(5),
        .page_rows = random_below(2) ? 1 + (int64_t)random_below(500) : 0,
        .page_bytes = random_below(3) ? 0 : 1 + random_below(3000),
        .row_group_rows = random_below(2) ? 1 + (int64_t)random_below(2000) : 0,
        .no_dictionary = random_below(4) == 0,
        .no_page_index = random_below(4) == 0,
        .old_lists = old_lists,
        .pool = random_below(2) ? pool : NULL,
    };
    sl_buf data = {0};
    write_all(schema, &options, batches, count, &data);
    sl_file *file;
    sl_parquet *p;
    OK(sl_file_of_memory(data.data, data.len, "test", &file));
    OK(sl_parquet_open(file, NULL, &p));
    assert_int_equal(sl_parquet_rows(p), rows);
    if (!old_lists && !sl_type_equal(sl_parquet_schema(p), schema)) {
        char *got, *want;
        OK(sl_type_text(sl_parquet_schema(p), &got));
        OK(sl_type_text(schema, &want));
        print_error("schema: got %s\nwant %s\n", got, want);
        fail();
    }
    read_and_compare(p, schema, batches, NULL, 0, random_below(2), random_below(2) ? pool : NULL);
    struct sl_row_range ranges[8];
    size_t range_count = random_ranges(rows, ranges, 8);
    if (range_count)
        read_and_compare(p, schema, batches, ranges, range_count, false, NULL);
    check_bounds(p, schema, batches, true);
    check_filters(p, schema, batches);
    assert_int_equal(sl_parquet_ignored_indexes(p), 0);
    if (!old_lists) /* the types that two-level lists come back with are others */
        copy_and_compare(p, schema, &options, batches, count);
    sl_parquet_close(p);
    sl_file_close(file);
    sl_buf_free(&data);
    for (size_t i = 0; i < count; i++)
        sl_batch_unref(batches[i]);
    sl_type_unref(schema);
}

static void test_round_trip(void **state)
{
    (void)state;
    sl_pool *pool;
    OK(sl_pool_new(2, &pool));
    const char *rounds = getenv("ROUNDS");
    int n = rounds ? atoi(rounds) : 60;
    for (int i = 0; i < n; i++)
        round_trip(pool);
    sl_pool_free(pool);
}

/* What was read with dictionaries can be written again, and stays the same. */
static void test_dictionary_source(void **state)
{
    (void)state;
    const sl_type *schema;
    OK(sl_schema_parse("a string, b string not null, l list<string>, d binary", &schema));
    sl_batch *batch = random_batch(schema, 5000, true);
    sl_buf first = {0}, second = {0};
    struct sl_parquet_write_options options = {.codec = SL_CODEC_SNAPPY, .page_rows = 700};
    write_all(schema, &options, &batch, 1, &first);
    sl_file *file;
    sl_parquet *p;
    sl_stream *stream;
    OK(sl_file_of_memory(first.data, first.len, "first", &file));
    OK(sl_parquet_open(file, NULL, &p));
    OK(sl_parquet_scan(p, &(struct sl_parquet_scan_options){.keep_dictionary = true, .batch_rows = 900},
                       &stream));
    sl_batch *parts[10];
    size_t count = 0;
    for (;;) {
        sl_batch *part;
        OK(sl_stream_next(stream, &part));
        if (!part)
            break;
        assert_true(count < 10);
        parts[count++] = part;
    }
    options.no_dictionary = random_below(2);
    if (random_below(2))
        options.encoding = SL_ENCODING_AUTO;
    write_all(schema, &options, parts, count, &second);
    for (size_t i = 0; i < count; i++)
        sl_batch_unref(parts[i]);
    sl_stream_close(stream);
    sl_parquet_close(p);
    sl_file_close(file);
    OK(sl_file_of_memory(second.data, second.len, "second", &file));
    OK(sl_parquet_open(file, NULL, &p));
    read_and_compare(p, schema, &batch, NULL, 0, false, NULL);
    sl_parquet_close(p);
    sl_file_close(file);
    sl_buf_free(&first);
    sl_buf_free(&second);
    sl_batch_unref(batch);
    sl_type_unref(schema);
}

int main(void)
{
    random_start();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_dictionary_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
