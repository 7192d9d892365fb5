/*
 * Writes a Parquet file whose values follow from the row number alone, for other readers to check
 * (tests/interop/parquet_pyarrow.py knows the same rules):
 *
 *     parquet_write_sample OUT ROWS CODEC PAGE_ROWS ROW_GROUP_ROWS BATCH_ROWS THREADS [old_lists]
 * [no_dictionary]
 */
#include "exit_on_failure.h"
#include "parquet/parquet.h"

#include <math.h>
#include <stdio.h>

static const sl_type *simple(enum sl_type_id id)
{
    const sl_type *type;
    CHECK(sl_type_new(id, &type));
    return type;
}

static const sl_type *annotated(enum sl_type_id id, enum sl_annotation annotation)
{
    const sl_type *type;
    CHECK(sl_type_annotated(id, annotation, &type));
    return type;
}

static const sl_type *stamp(enum sl_time_unit unit, bool utc)
{
    const sl_type *type;
    CHECK(sl_type_timestamp(unit, utc, &type));
    return type;
}

static const sl_type *clock_time(enum sl_time_unit unit)
{
    const sl_type *type;
    CHECK(sl_type_time(unit, &type));
    return type;
}

static const sl_type *decimal(int32_t precision, int32_t scale)
{
    const sl_type *type;
    CHECK(sl_type_decimal(precision, scale, &type));
    return type;
}

static const sl_type *fixed(int32_t width)
{
    const sl_type *type;
    CHECK(sl_type_fixed(width, &type));
    return type;
}

static const sl_type *list_of(const sl_type *element, bool nullable)
{
    const sl_type *type;
    CHECK(sl_type_list(&(sl_field){.name = "element", .type = element, .nullable = nullable}, &type));
    return type;
}

static const sl_type *map_of(const sl_type *key, const sl_type *value)
{
    const sl_type *type;
    CHECK(sl_type_map(key, &(sl_field){.name = "value", .type = value, .nullable = true}, &type));
    return type;
}

static const sl_type *pair_of(const sl_type *a, const sl_type *b)
{
    const sl_type *type;
    sl_field fields[] = {{.name = "a", .type = a, .nullable = true},
                         {.name = "b", .type = b, .nullable = false}};
    CHECK(sl_type_struct(fields, 2, &type));
    return type;
}

enum { FIELDS_MAX = 64 };
static sl_field fields[FIELDS_MAX];
static size_t field_count;

static void field(const char *name, const sl_type *type, bool nullable)
{
    fields[field_count++] = (sl_field){.name = name, .type = type, .nullable = nullable};
}

static void make_fields(bool old_lists)
{
    field("id", simple(SL_INT64), false);
    field("flag", simple(SL_BOOL), true);
    field("i8", simple(SL_INT8), true);
    field("i16", simple(SL_INT16), true);
    field("i32", simple(SL_INT32), true);
    field("u8", simple(SL_UINT8), true);
    field("u16", simple(SL_UINT16), true);
    field("u32", simple(SL_UINT32), true);
    field("u64", simple(SL_UINT64), true);
    field("f32", simple(SL_FLOAT), true);
    field("f64", simple(SL_DOUBLE), true);
    field("dec5", decimal(5, 2), true);
    field("dec38", decimal(38, 10), true);
    field("day", simple(SL_DATE), true);
    field("t_ms", clock_time(SL_MILLIS), true);
    field("t_us", clock_time(SL_MICROS), true);
    field("ts_ms", stamp(SL_MILLIS, true), true);
    field("ts_us", stamp(SL_MICROS, true), true);
    field("ts_ns", stamp(SL_NANOS, true), true);
    field("local_us", stamp(SL_MICROS, false), true);
    field("text", simple(SL_STRING), true);
    field("few", simple(SL_STRING), false);
    field("constant", simple(SL_STRING), false);
    field("blob", simple(SL_BINARY), true);
    field("fix5", fixed(5), true);
    field("json", annotated(SL_STRING, SL_JSON), true);
    field("long_text", simple(SL_STRING), true);
    field("all_null", simple(SL_INT32), true);
    field("sorted_list", list_of(simple(SL_INT32), !old_lists), true);
    field("words", list_of(simple(SL_STRING), false), true);
    field("deep", list_of(list_of(simple(SL_INT64), false), !old_lists), true);
    field("pair", pair_of(simple(SL_INT32), simple(SL_STRING)), true);
    field("pairs", list_of(pair_of(simple(SL_INT32), simple(SL_STRING)), false), false);
    field("props", map_of(simple(SL_STRING), simple(SL_DOUBLE)), true);
}

static void put_text(sl_builder *b, const char *format, ...) SL_PRINTF(2, 3);
static void put_text(sl_builder *b, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    CHECK(sl_builder_bytes(b, text, (size_t)n));
}

static void put_pair(sl_builder *b, int64_t i)
{
    if (i % 3 == 0)
        CHECK(sl_builder_null(sl_builder_child(b, 0)));
    else
        CHECK(sl_builder_integer(sl_builder_child(b, 0), i));
    put_text(sl_builder_child(b, 1), "b%d", (int)(i % 7));
    CHECK(sl_builder_close(b));
}

/* One flat value; column `c` is null in rows where (row + c) % 11 == 0, when it may be. */
static void put_flat(sl_builder *b, const char *name, int64_t i)
{
    uint64_t u = (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15);
    if (!strcmp(name, "id"))
        CHECK(sl_builder_integer(b, i));
    else if (!strcmp(name, "flag"))
        CHECK(sl_builder_bool(b, i % 3 == 1));
    else if (!strcmp(name, "i8"))
        CHECK(sl_builder_integer(b, i % 256 - 128));
    else if (!strcmp(name, "i16"))
        CHECK(sl_builder_integer(b, i * 7 % 65536 - 32768));
    else if (!strcmp(name, "i32"))
        CHECK(sl_builder_integer(b, (int32_t)(u >> 32)));
    else if (!strcmp(name, "u8"))
        CHECK(sl_builder_integer(b, i % 256));
    else if (!strcmp(name, "u16"))
        CHECK(sl_builder_integer(b, i * 7 % 65536));
    else if (!strcmp(name, "u32"))
        CHECK(sl_builder_integer(b, (int64_t)(u >> 32)));
    else if (!strcmp(name, "u64"))
        CHECK(sl_builder_integer(b, (int64_t)(u >> 1)));
    else if (!strcmp(name, "f32"))
        CHECK(sl_builder_double(b, (double)(i % 1000) / 8 - 50));
    else if (!strcmp(name, "f64"))
        CHECK(sl_builder_double(b, i % 101 == 0 ? NAN : i % 100 == 0 ? 0.0 : (double)i * 0.25 - 1000));
    else if (!strcmp(name, "dec5"))
        CHECK(sl_builder_decimal(b, i % 100000 - 50000));
    else if (!strcmp(name, "dec38"))
        CHECK(sl_builder_decimal(b, ((sl_i128)(i % 2 ? i : -i)) * (sl_i128)UINT64_C(1000000000000000000)));
    else if (!strcmp(name, "day"))
        CHECK(sl_builder_integer(b, i % 40000 - 10000));
    else if (!strcmp(name, "t_ms"))
        CHECK(sl_builder_integer(b, i * 1000 % 86400000));
    else if (!strcmp(name, "t_us"))
        CHECK(sl_builder_integer(b, i * 1000003 % INT64_C(86400000000)));
    else if (!strcmp(name, "ts_ms"))
        CHECK(sl_builder_integer(b, INT64_C(1700000000000) + i));
    else if (!strcmp(name, "ts_us") || !strcmp(name, "local_us"))
        CHECK(sl_builder_integer(b, INT64_C(1700000000000000) - i * 12345));
    else if (!strcmp(name, "ts_ns"))
        CHECK(sl_builder_integer(b, INT64_C(1700000000000000000) + i * 1000));
    else if (!strcmp(name, "text"))
        put_text(b, "row-%08d-\xc3\xa9", (int)(u >> 40));
    else if (!strcmp(name, "few"))
        put_text(b, "few-%d", (int)(u >> 61));
    else if (!strcmp(name, "constant"))
        put_text(b, "constant");
    else if (!strcmp(name, "blob")) {
        uint8_t bytes[20];
        memset(bytes, (int)(i % 256), sizeof bytes);
        CHECK(sl_builder_bytes(b, bytes, (size_t)(i % 21)));
    } else if (!strcmp(name, "fix5")) {
        uint8_t bytes[5];
        memcpy(bytes, &u, 5);
        CHECK(sl_builder_bytes(b, bytes, 5));
    } else if (!strcmp(name, "json"))
        put_text(b, "{\"n\":%d}", (int)(i % 1000));
    else if (!strcmp(name, "long_text"))
        put_text(b, "%063d\xc3\xa9%d", (int)(i % 10), (int)(i % 3));
    else
        abort();
}

static void put_value(sl_builder *b, const char *name, int64_t i)
{
    if (!strcmp(name, "all_null")) {
        CHECK(sl_builder_null(b));
    } else if (!strcmp(name, "sorted_list")) {
        for (int64_t k = 0; k < i % 4; k++)
            CHECK(sl_builder_integer(sl_builder_child(b, 0), i + k));
        CHECK(sl_builder_close(b));
    } else if (!strcmp(name, "words")) {
        for (int64_t k = 0; k < i % 3; k++)
            put_text(sl_builder_child(b, 0), "w%d", (int)((i + k) % 50));
        CHECK(sl_builder_close(b));
    } else if (!strcmp(name, "deep")) {
        for (int64_t k = 0; k < i % 3; k++) {
            sl_builder *inner = sl_builder_child(b, 0);
            for (int64_t m = 0; m < (i + k) % 3; m++)
                CHECK(sl_builder_integer(sl_builder_child(inner, 0), i * 10 + m));
            CHECK(sl_builder_close(inner));
        }
        CHECK(sl_builder_close(b));
    } else if (!strcmp(name, "pair")) {
        put_pair(b, i);
    } else if (!strcmp(name, "pairs")) {
        for (int64_t k = 0; k < i % 3; k++)
            put_pair(sl_builder_child(b, 0), i + k);
        CHECK(sl_builder_close(b));
    } else if (!strcmp(name, "props")) {
        sl_builder *entries = sl_builder_child(b, 0);
        for (int64_t k = 0; k < i % 4; k++) {
            put_text(sl_builder_child(entries, 0), "key%d", (int)k);
            if (k == 2)
                CHECK(sl_builder_null(sl_builder_child(entries, 1)));
            else
                CHECK(sl_builder_double(sl_builder_child(entries, 1), (double)(i + k)));
            CHECK(sl_builder_close(entries));
        }
        CHECK(sl_builder_close(b));
    } else {
        put_flat(b, name, i);
    }
}

static sl_batch *make_batch(const sl_type *schema, int64_t from, int64_t count)
{
    sl_batch_builder b = {0};
    CHECK(sl_batch_builder_init(&b, schema));
    for (size_t c = 0; c < schema->field_count; c++)
        for (int64_t i = from; i < from + count; i++) {
            if (schema->fields[c].nullable && (i + (int64_t)c) % 11 == 0)
                CHECK(sl_builder_null(b.columns[c]));
            else
                put_value(b.columns[c], schema->fields[c].name, i);
        }
    sl_batch *batch;
    CHECK(sl_batch_builder_finish(&b, &batch));
    sl_batch_builder_free(&b);
    return batch;
}

int main(int argc, char **argv)
{
    if (argc < 8) {
        fprintf(stderr,
                "usage: %s OUT ROWS CODEC PAGE_ROWS ROW_GROUP_ROWS BATCH_ROWS THREADS [old_lists] "
                "[no_dictionary]\n",
                argv[0]);
        return 2;
    }
    int64_t rows = atoll(argv[2]), batch_rows = atoll(argv[6]);
    struct sl_parquet_write_options options = {.page_rows = atoll(argv[4]), .row_group_rows = atoll(argv[5])};
    CHECK(sl_parquet_codec_named(argv[3], &options.codec));
    for (int i = 8; i < argc; i++) {
        options.old_lists = options.old_lists || !strcmp(argv[i], "old_lists");
        options.no_dictionary = options.no_dictionary || !strcmp(argv[i], "no_dictionary");
    }
    make_fields(options.old_lists);
    const sl_type *schema;
    CHECK(sl_type_struct(fields, field_count, &schema));
    CHECK(sl_pool_new((unsigned)atoi(argv[7]), &options.pool));
    sl_storage *storage;
    sl_output *output;
    CHECK(sl_storage_local(&storage));
    CHECK(sl_storage_delete(storage, argv[1]));
    CHECK(sl_storage_create(storage, argv[1], &output));
    sl_parquet_writer *w;
    CHECK(sl_parquet_writer_new(output, schema, &options, &w));
    for (int64_t from = 0; from < rows; from += batch_rows) {
        sl_batch *batch = make_batch(schema, from, rows - from < batch_rows ? rows - from : batch_rows);
        CHECK(sl_parquet_writer_write(w, batch));
        sl_batch_unref(batch);
    }
    CHECK(sl_parquet_writer_key_value(w, "k", "old"));
    CHECK(sl_parquet_writer_key_value(w, "k", "v"));
    struct sl_parquet_written written;
    CHECK(sl_parquet_writer_finish(w, &written));
    CHECK(sl_output_finish(output));
    sl_storage_free(storage);
    sl_pool_free(options.pool);
    for (size_t i = 0; i < field_count; i++)
        sl_type_unref(fields[i].type);
    sl_type_unref(schema);
    printf("%" PRId64 " rows, %" PRIu64 " bytes\n", written.rows, written.bytes);
    return 0;
}
