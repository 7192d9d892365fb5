/* What the writer's options ask for: encoders against bytes made by hand, Bloom filters, choices, copied row groups. */
#include "check_support.h"
#include "parquet/read_int.h"
#include "parquet/write_int.h"

#include <stdio.h>

static void assert_hex_at(const sl_buf *buf, const char *hex, int line)
{
    sl_buf text = {0};
    for (size_t i = 0; i < buf->len; i++)
        OK(sl_buf_printf(&text, "%02x", buf->data[i]));
    sl_buf want = {0};
    for (const char *p = hex; *p; p++)
        if (*p != ' ')
            OK(sl_buf_byte(&want, (uint8_t)*p));
    if (text.len != want.len || memcmp(text.data, want.data, want.len) != 0) {
        print_error("line %d: got %.*s\n        want %.*s\n", line, (int)text.len, (char *)text.data,
                    (int)want.len, (char *)want.data);
        fail();
    }
    sl_buf_free(&text);
    sl_buf_free(&want);
}
#define assert_hex(buf, hex) assert_hex_at((buf), (hex), __LINE__)

/* ---- encoders ------------------------------------------------------------------------------------------ */

static void put32(sl_buf *buf, const int32_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t bytes[4];
        store_le32(bytes, (uint32_t)values[i]);
        OK(sl_buf_append(buf, bytes, 4));
    }
}

static void put64(sl_buf *buf, const int64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t bytes[8];
        store_le64(bytes, (uint64_t)values[i]);
        OK(sl_buf_append(buf, bytes, 8));
    }
}

static void put_strings(sl_buf *buf, const char *const *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t bytes[4];
        store_le32(bytes, (uint32_t)strlen(values[i]));
        OK(sl_buf_append(buf, bytes, 4));
        OK(sl_buf_append(buf, values[i], strlen(values[i])));
    }
}

/* Header 128 values in 4 miniblocks, count, first value (zigzag); block: smallest difference (zigzag), four widths,
 * bodies of 4 * width bytes. */
static void test_delta_numbers(void **state)
{
    (void)state;
    sl_buf plain = {0}, out = {0};
    put32(&plain, (int32_t[]){7, 5, 3, 1, 2, 3, 4, 5},
          8); /* differences -2 -2 -2 1 1 1 1: less -2, 0 0 0 3 3 3 3 */
    OK(delta_encode_words(plain.data, 8, 4, &out));
    assert_hex(&out, "8001 04 08 0e  03 02000000 c03f000000000000");
    plain.len = out.len = 0;
    put32(&plain, (int32_t[]){INT32_MIN, INT32_MAX}, 2); /* wraps to a difference of -1 */
    OK(delta_encode_words(plain.data, 2, 4, &out));
    assert_hex(&out, "8001 04 02 ffffffff0f  01 00000000");
    plain.len = out.len = 0;
    put64(&plain, (int64_t[]){INT64_MAX, INT64_MIN, 0}, 3); /* 1, then INT64_MIN: the largest width */
    OK(delta_encode_words(plain.data, 3, 8, &out));
    assert_int_equal(out.len, 2 + 1 + 1 + 10 + 10 + 4 + 32 * 8);
    assert_int_equal(out.data[out.len - 256 - 4], 64); /* 1 - INT64_MIN and 0 */
    assert_int_equal(load_le64(out.data + out.len - 256), UINT64_C(0x8000000000000001));
    assert_int_equal(load_le64(out.data + out.len - 248), 0);
    plain.len = out.len = 0;
    put64(&plain, (int64_t[]){-3}, 1);
    OK(delta_encode_words(plain.data, 1, 8, &out));
    assert_hex(&out, "8001 04 01 05");
    out.len = 0;
    OK(delta_encode_words(plain.data, 0, 8, &out));
    assert_hex(&out, "8001 04 00 00");
    /* 130 values: 129 differences of 1; the second block has one of them, and one body */
    plain.len = out.len = 0;
    for (int32_t i = 0; i < 130; i++)
        put32(&plain, &(int32_t){i}, 1);
    OK(delta_encode_words(plain.data, 130, 4, &out));
    assert_hex(&out, "8001 04 8201 00  02 00000000  02 00000000");
    sl_buf_free(&plain);
    sl_buf_free(&out);
}

static void test_delta_strings(void **state)
{
    (void)state;
    sl_buf plain = {0}, out = {0}, scratch = {0};
    put_strings(&plain, (const char *const[]){"Hello", "World", "Foobar", "ABCDEF"}, 4);
    OK(delta_encode_lengths(plain.data, 4, &scratch, &out));
    assert_hex(&out, "8001 04 04 0a  00 01000000 02000000"
                     "48656c6c6f 576f726c64 466f6f626172 414243444546");
    plain.len = out.len = 0;
    put_strings(&plain, (const char *const[]){"axis", "axle", "babble", "babyhood"}, 4);
    OK(delta_encode_prefixes(plain.data, 4, 0, &scratch, &out));
    assert_hex(&out, "8001 04 04 00  03 03000000 44 01 00000000000000000000" /* prefixes 0 2 0 3 */
                     "8001 04 04 08  03 03000000 70 00 00000000000000000000" /* suffixes 4 2 6 5 */
                     "61786973 6c65 626162626c65 79686f6f64");
    out.len = 0;
    OK(delta_encode_prefixes((const uint8_t *)"abcdabceabce", 3, 4, &scratch,
                             &out));                               /* FIXED(4): no lengths in PLAIN */
    assert_hex(&out, "8001 04 03 00  02 02000000 0200000000000000" /* prefixes 0 3 4: 3 1, less 1 is 2 0 */
                     "8001 04 03 08  05 02000000 0800000000000000" /* suffixes 4 1 0: -3 -1, less -3 is 0 2 */
                     "61626364 65");
    sl_buf_free(&plain);
    sl_buf_free(&out);
    sl_buf_free(&scratch);
}

static void test_split_and_booleans(void **state)
{
    (void)state;
    sl_buf out = {0}, scratch = {0};
    static uint8_t values[] = {0xaa, 0xbb, 0xcc, 0xdd, 0x00, 0x11, 0x22, 0x33, 0xa3, 0xb4, 0xc5, 0xd6};
    OK(split_encode(values, 3, 4, &out));
    assert_hex(&out, "aa00a3 bb11b4 cc22c5 dd33d6");
    out.len = 0;
    struct write_leaf leaf = {.physical = PARQUET_BOOLEAN, .kind = WRITE_BOOL};
    static uint8_t bits[] = {0xff, 0xff};
    OK(values_encode(&leaf, PARQUET_RLE, &(sl_buf){.data = bits, .len = 2}, 16, &scratch, &out));
    assert_hex(&out, "02000000 20 01"); /* length, 16 copies of 1 */
    sl_buf_free(&out);
    sl_buf_free(&scratch);
}

/* ---- Bloom filters ------------------------------------------------------------------------------------- */

static void test_bloom_bytes(void **state)
{
    (void)state;
    sl_buf out = {0};
    struct bloom_builder b = {0};
    OK(bloom_start(&b, 1, 0.01));
    OK(bloom_add_plain(&b, (const uint8_t *)"\0\0\0\0", 1, 0));
    OK(bloom_finish(&b, &out));
    /* XXH64 of nothing is ef46db3751d8e999; bit of each word: 51d8e999 * salt >> 27 */
    assert_hex(&out, "15 40 1c1c0000 1c1c0000 1c1c0000 00"
                     "00000020 01000000 00000002 00000010 00400000 00004000 00000020 00000040");
    int32_t bytes;
    size_t header;
    OK(parquet_bloom_header_decode(out.data, out.len, 0, &bytes, &header));
    assert_int_equal(bytes, 32);
    assert_int_equal(header + 32, out.len);
    sl_buf_free(&out);
    bloom_free(&b);
}

static bool filter_has(const uint8_t *blocks, size_t count, uint64_t hash)
{
    static const uint32_t salt[8] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                     0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};
    const uint8_t *block = blocks + ((hash >> 32) * count >> 32) * 32;
    for (size_t i = 0; i < 8; i++)
        if (!(load_le32(block + 4 * i) >> ((uint32_t)hash * salt[i] >> 27) & 1))
            return false;
    return true;
}

static size_t filter_of(int64_t distinct, int64_t repeats, int64_t expected, double fpp, double *rate)
{
    sl_buf plain = {0}, out = {0};
    struct bloom_builder b = {0};
    for (int64_t r = 0; r < repeats; r++)
        for (int64_t i = 0; i < distinct; i++)
            put64(&plain, &i, 1);
    OK(bloom_start(&b, expected, fpp));
    OK(bloom_add_plain(&b, plain.data, plain.len / 8, 8));
    OK(bloom_finish(&b, &out));
    int32_t bytes;
    size_t header, wrong = 0;
    OK(parquet_bloom_header_decode(out.data, out.len, 0, &bytes, &header));
    for (int64_t i = 0; i < distinct; i++)
        assert_true(filter_has(out.data + header, (size_t)bytes / 32, sl_xxh64(plain.data + i * 8, 8)));
    for (int64_t i = 1; i <= 20000; i++) {
        uint8_t value[8];
        store_le64(value, (uint64_t)-i);
        wrong += filter_has(out.data + header, (size_t)bytes / 32, sl_xxh64(value, 8));
    }
    *rate = (double)wrong / 20000;
    sl_buf_free(&plain);
    sl_buf_free(&out);
    bloom_free(&b);
    return (size_t)bytes;
}

/* The filter is as large as its distinct values need, known before or not: 11.2 bits for 1 %, to the next power of two. */
static void test_bloom_sizes(void **state)
{
    (void)state;
    double rate;
    assert_int_equal(filter_of(5000, 1, 0, 0.01, &rate), 8192);
    assert_true(rate < 0.015);
    assert_int_equal(filter_of(5000, 20, 0, 0.01, &rate), 8192); /* repeated: folded down to the same */
    assert_true(rate < 0.015);
    assert_int_equal(filter_of(5000, 2, 5000, 0.01, &rate), 8192);
    assert_true(rate < 0.015);
    assert_int_equal(filter_of(5000, 1, 0, 0.001, &rate), 16384);
    assert_true(rate < 0.0015);
    assert_int_equal(filter_of(1, 3000, 0, 0.01, &rate), 32);
}

/* ---- files --------------------------------------------------------------------------------------------- */

static sl_batch *make_rows(const sl_type *schema, int64_t first, int64_t count)
{
    sl_batch_builder b = {0};
    OK(sl_batch_builder_init(&b, schema));
    for (int64_t i = first; i < first + count; i++)
        for (size_t c = 0; c < schema->field_count; c++) {
            char text[64];
            if (schema->fields[c].type->id == SL_BOOL) {
                OK(sl_builder_bool(b.columns[c], i % 100 < 90));
            } else if (schema->fields[c].type->id == SL_STRING) {
                int n = snprintf(text, sizeof text, "%s-%09d", schema->fields[c].name, (int)i);
                OK(sl_builder_bytes(b.columns[c], text, (size_t)n));
            } else if (schema->fields[c].type->id == SL_LIST) {
                for (int64_t k = 0; k < i % 3; k++)
                    OK(sl_builder_integer(sl_builder_child(b.columns[c], 0), i));
                OK(sl_builder_close(b.columns[c]));
            } else if (schema->fields[c].type->id == SL_DOUBLE) {
                OK(sl_builder_double(b.columns[c], (double)i));
            } else if (schema->fields[c].type->id == SL_DECIMAL) {
                OK(sl_builder_decimal(b.columns[c], i));
            } else {
                OK(sl_builder_integer(b.columns[c], i));
            }
        }
    sl_batch *batch;
    OK(sl_batch_builder_finish(&b, &batch));
    sl_batch_builder_free(&b);
    return batch;
}

static void write_file(const sl_type *schema, const struct sl_parquet_write_options *options, int64_t rows,
                       sl_buf *data)
{
    sl_output *output;
    sl_parquet_writer *w;
    sl_batch *batch = make_rows(schema, 0, rows);
    OK(sl_output_to_buf(data, &output));
    OK(sl_parquet_writer_new(output, schema, options, &w));
    OK(sl_parquet_writer_write(w, batch));
    OK(sl_parquet_writer_key_value(w, "k", "v"));
    OK(sl_parquet_writer_finish(w, NULL));
    OK(sl_output_finish(output));
    sl_batch_unref(batch);
}

static void open_buf(const sl_buf *data, sl_file **file, sl_parquet **p)
{
    OK(sl_file_of_memory(data->data, data->len, "test", file));
    OK(sl_parquet_open(*file, NULL, p));
}

static void assert_encodings(const sl_parquet *p, size_t leaf, const char *want)
{
    struct sl_parquet_chunk_info info;
    OK(sl_parquet_chunk_info(p, 0, leaf, &info));
    assert_string_equal(info.encodings, want);
}

static void test_choices(void **state)
{
    (void)state;
    const sl_type *schema;
    sl_buf data = {0};
    sl_file *file;
    sl_parquet *p;
    OK(sl_schema_parse("key string, n long, b boolean, d double, l list<int>", &schema));
    struct sl_parquet_write_options options = {.encoding = SL_ENCODING_AUTO, .codec = SL_CODEC_ZSTD};
    write_file(schema, &options, 3000, &data);
    open_buf(&data, &file, &p);
    assert_encodings(p, 0, "DELTA_BYTE_ARRAY,RLE"); /* sorted keys */
    assert_encodings(p, 1, "DELTA_BINARY_PACKED,RLE");
    assert_encodings(p, 3, "PLAIN,RLE"); /* never BYTE_STREAM_SPLIT unless asked for */
    assert_encodings(p, 4, "DELTA_BINARY_PACKED,RLE");
    sl_parquet_close(p);
    sl_file_close(file);
    data.len = 0;
    struct sl_parquet_column_options columns[] = {
        {.column = "key", .encoding = SL_ENCODING_PLAIN},
        {.column = "b", .encoding = SL_ENCODING_RLE},
        {.column = "d", .encoding = SL_ENCODING_BYTE_STREAM_SPLIT},
        {.column = "l.list.element", .encoding = SL_ENCODING_PLAIN},
    };
    options = (struct sl_parquet_write_options){
        .encoding = SL_ENCODING_DELTA_BINARY_PACKED, /* of n; d and l say otherwise, and it fits no other */
        .data_page_v2 = true,
        .columns = columns,
        .column_count = 4,
    };
    write_file(schema, &options, 3000, &data);
    open_buf(&data, &file, &p);
    assert_encodings(p, 0, "PLAIN,RLE");
    assert_encodings(p, 1, "DELTA_BINARY_PACKED,RLE");
    assert_encodings(p, 2, "RLE");
    assert_encodings(p, 3, "BYTE_STREAM_SPLIT,RLE");
    assert_encodings(p, 4, "PLAIN,RLE");
    sl_parquet_close(p);
    sl_file_close(file);
    sl_buf_free(&data);
    sl_type_unref(schema);
}

static void refused(const sl_type *schema, const struct sl_parquet_write_options *options, const char *part)
{
    sl_buf data = {0};
    sl_output *output;
    sl_parquet_writer *w = NULL;
    OK(sl_output_to_buf(&data, &output));
    FAILS(sl_parquet_writer_new(output, schema, options, &w), SL_E_INPUT, part);
    sl_output_abort(output);
    sl_buf_free(&data);
}

static void test_bad_options(void **state)
{
    (void)state;
    const sl_type *schema;
    OK(sl_schema_parse("key string, b boolean, m map<string, int>", &schema));
    struct sl_parquet_column_options column = {.column = "nothing"};
    struct sl_parquet_write_options options = {.columns = &column, .column_count = 1};
    refused(schema, &options, "no column nothing");
    column = (struct sl_parquet_column_options){.column = "key", .encoding = SL_ENCODING_DELTA_BINARY_PACKED};
    refused(schema, &options, "column key: DELTA_BINARY_PACKED does not fit its type");
    column = (struct sl_parquet_column_options){.column = "b", .bloom_filter = true};
    refused(schema, &options, "booleans have no Bloom filter");
    column = (struct sl_parquet_column_options){.column = "key", .bloom_filter = true, .bloom_fpp = 1.5};
    refused(schema, &options, "rate of false positives");
    column = (struct sl_parquet_column_options){.column = "key", .encoding = (enum sl_parquet_encoding)99};
    refused(schema, &options, "unknown Parquet encoding 99");
    options = (struct sl_parquet_write_options){.sorting = &(struct sl_parquet_sorting){.column = "m"},
                                                .sorting_count = 1};
    refused(schema, &options, "sorting column m is not one column");
    sl_type_unref(schema);
}

static void test_hudi_safe(void **state)
{
    (void)state;
    const char *feature = NULL;
    struct sl_parquet_column_options column = {.column = "d", .encoding = SL_ENCODING_AUTO};
    struct sl_parquet_write_options options = {.columns = &column,
                                               .column_count = 1,
                                               .encoding = SL_ENCODING_DELTA_BYTE_ARRAY,
                                               .data_page_v2 = true};
    assert_true(sl_parquet_options_hudi_safe(&options, &feature));
    column.encoding = SL_ENCODING_BYTE_STREAM_SPLIT;
    assert_false(sl_parquet_options_hudi_safe(&options, &feature));
    assert_string_equal(feature, "encoding BYTE_STREAM_SPLIT");
    column.encoding = SL_ENCODING_DEFAULT;
    options.encoding = SL_ENCODING_DELTA_LENGTH_BYTE_ARRAY;
    assert_false(sl_parquet_options_hudi_safe(&options, &feature));
    assert_string_equal(feature, "encoding DELTA_LENGTH_BYTE_ARRAY");
    const sl_type *schema, *nanos, *nested;
    OK(sl_schema_parse("a timestamp, b list<decimal(10,2)>", &schema));
    assert_true(sl_parquet_schema_hudi_safe(schema, NULL));
    OK(sl_type_timestamp(SL_NANOS, true, &nanos));
    OK(sl_type_list(&(sl_field){.name = "element", .type = nanos}, &nested));
    assert_false(sl_parquet_schema_hudi_safe(nested, &feature));
    assert_string_equal(feature, "timestamps in nanoseconds");
    sl_type_unref(nested);
    sl_type_unref(nanos);
    sl_type_unref(schema);
}

/* Sorting, size statistics and the lack of checksums, as the footer and the indexes have them. */
static void test_footer_facts(void **state)
{
    (void)state;
    const sl_type *schema;
    sl_buf data = {0};
    sl_file *file;
    sl_parquet *p;
    OK(sl_schema_parse("key string not null, l list<int>", &schema));
    struct sl_parquet_sorting sorting[] = {{.column = "key", .nulls_first = true},
                                           {.column = "l", .descending = true}};
    struct sl_parquet_write_options options = {.sorting = sorting,
                                               .sorting_count = 2,
                                               .size_statistics = true,
                                               .no_checksums = true,
                                               .page_rows = 30,
                                               .encoding = SL_ENCODING_PLAIN};
    write_file(schema, &options, 90, &data);
    open_buf(&data, &file, &p);
    const struct parquet_row_group *group = &p->meta.row_groups[0];
    assert_int_equal(group->sorting_count, 2);
    assert_int_equal(group->sorting[0].column, 0);
    assert_true(group->sorting[0].nulls_first && !group->sorting[0].descending);
    assert_int_equal(group->sorting[1].column, 1);
    assert_true(group->sorting[1].descending);
    struct sl_parquet_chunk_info info;
    OK(sl_parquet_chunk_info(p, 0, 0, &info));
    assert_int_equal(info.unencoded_bytes, 90 * 13); /* key-000000000 */
    assert_int_equal(info.definition_levels, 0);
    OK(sl_parquet_chunk_info(p, 0, 1, &info)); /* 30 empty lists, 30 of one element, 30 of two */
    assert_int_equal(info.unencoded_bytes, -1);
    assert_int_equal(info.definition_levels, 4); /* list, element and its value may be missing */
    assert_int_equal(info.definition_histogram[0], 0);
    assert_int_equal(info.definition_histogram[1], 30);
    assert_int_equal(info.definition_histogram[2], 0);
    assert_int_equal(info.definition_histogram[3], 90);
    assert_int_equal(info.repetition_levels, 2);
    assert_int_equal(info.repetition_histogram[0], 90);
    assert_int_equal(info.repetition_histogram[1], 30);
    sl_arena *arena;
    struct parquet_offset_index index;
    const struct parquet_column_chunk *chunk = &group->columns[0];
    OK(sl_arena_new(&arena));
    OK(parquet_offset_index_decode(data.data + chunk->offset_index_offset, (size_t)chunk->offset_index_length,
                                   0, arena, &index));
    assert_int_equal(index.page_count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(index.unencoded_bytes[i], 30 * 13);
    struct parquet_page_header header;
    size_t header_bytes;
    OK(parquet_page_header_decode(data.data + chunk->meta.data_page_offset, data.len - 4, 0, &header,
                                  &header_bytes, NULL));
    assert_false(header.has_crc);
    sl_arena_free(arena);
    sl_parquet_close(p);
    sl_file_close(file);
    sl_buf_free(&data);
    sl_type_unref(schema);
}

/* ---- source dictionaries ------------------------------------------------------------------------------- */

/* Rows whose strings point into a dictionary; entries 1 and 3 are equal, as a reader's dictionary may have them. */
static sl_array *dictionary_rows(const int32_t *indexes, int64_t count)
{
    const sl_type *type;
    sl_builder *b;
    sl_array *entries, *rows;
    sl_buffer *values;
    OK(sl_type_new(SL_STRING, &type));
    OK(sl_builder_new(type, &b));
    static const char *const texts[] = {"zero", "one", "two", "one", "never"};
    for (size_t i = 0; i < 5; i++)
        OK(sl_builder_bytes(b, texts[i], strlen(texts[i])));
    OK(sl_builder_finish(b, &entries));
    sl_builder_free(b);
    OK(sl_buffer_new((size_t)count * 4, &values));
    memcpy(sl_buffer_data(values), indexes, (size_t)count * 4);
    OK(sl_array_new(type, count, 0, NULL, values, NULL, NULL, 0, entries, &rows));
    sl_type_unref(type);
    return rows;
}

static void test_dictionary_mapping(void **state)
{
    (void)state;
    static const int32_t rows[] = {2, 1, 3, 2, 0, 1, 3};
    struct dictionary d = {0};
    for (int round = 0; round < 2;
         round++) { /* the second array is another dictionary with the same entries */
        sl_array *array = dictionary_rows(rows, 7);
        struct value_view view = {.array = array->dictionary, .slots = rows, .count = 7, .dictionary = true};
        uint32_t indexes[7];
        for (int again = 0; again < 2; again++) {
            OK(dictionary_encode_bytes(&d, &view, indexes));
            static const uint32_t want[] = {0, 1, 1, 0, 2, 1, 1};
            assert_memory_equal(indexes, want, sizeof want);
        }
        sl_array_unref(array); /* the mapping keeps its dictionary alive */
    }
    assert_int_equal(d.count, 3); /* "never" is not met */
    dictionary_free(&d);
}

/* ---- copied row groups --------------------------------------------------------------------------------- */

static sl_status copy_first(const sl_type *schema, const sl_parquet *source,
                            const struct sl_parquet_constant *constant, sl_buf *data)
{
    sl_output *output;
    sl_parquet_writer *w;
    OK(sl_output_to_buf(data, &output));
    OK(sl_parquet_writer_new(output, schema, NULL, &w));
    sl_status status = sl_parquet_writer_copy_row_group(w, source, 0, constant, constant ? 1 : 0);
    if (status)
        sl_parquet_writer_free(w);
    else
        status = sl_parquet_writer_finish(w, NULL);
    OK(sl_output_finish(output));
    return status;
}

/* Stored bytes of a chunk. */
static sl_buf chunk_bytes(const sl_buf *data, const sl_parquet *p, size_t leaf)
{
    const struct parquet_column_meta *meta = &p->meta.row_groups[0].columns[leaf].meta;
    int64_t start = meta->dictionary_page_offset > 0 ? meta->dictionary_page_offset : meta->data_page_offset;
    return (sl_buf){.data = data->data + start, .len = (size_t)meta->total_compressed_size};
}

static void test_copy(void **state)
{
    (void)state;
    const sl_type *schema;
    sl_buf data = {0}, copied = {0};
    sl_file *file, *copy_file;
    sl_parquet *p, *copy;
    OK(sl_schema_parse("_hoodie_file_name string, key string, n long, l list<int>", &schema));
    struct sl_parquet_column_options column = {.column = "key", .bloom_filter = true};
    struct sl_parquet_write_options options = {.codec = SL_CODEC_GZIP,
                                               .columns = &column,
                                               .column_count = 1,
                                               .size_statistics = true,
                                               .page_rows = 100};
    write_file(schema, &options, 1000, &data);
    open_buf(&data, &file, &p);
    OK(copy_first(schema, p, &(struct sl_parquet_constant){"_hoodie_file_name", "new.parquet"}, &copied));
    open_buf(&copied, &copy_file, &copy);
    assert_int_equal(sl_parquet_rows(copy), 1000);
    assert_null(sl_parquet_key_value(copy, "k"));
    for (size_t leaf = 1; leaf < 4; leaf++) {
        sl_buf a = chunk_bytes(&data, p, leaf), b = chunk_bytes(&copied, copy, leaf);
        assert_int_equal(a.len, b.len);
        assert_memory_equal(a.data, b.data, a.len);
    }
    struct sl_parquet_bounds bounds;
    size_t len;
    OK(sl_parquet_column_bounds(copy, 0, 0, &bounds));
    assert_memory_equal(sl_bytes_at(bounds.min, 0, &len), "new.parquet", 11);
    sl_parquet_bounds_free(&bounds);
    OK(sl_parquet_column_bounds(copy, 0, 2, &bounds));
    assert_int_equal(sl_i64_at(bounds.min, 0), 0);
    assert_int_equal(sl_i64_at(bounds.max, 0), 999);
    sl_parquet_bounds_free(&bounds);
    bool may;
    OK(sl_parquet_may_contain(copy, 0, 1, "key-000000999", 13, &may));
    assert_true(may);
    OK(sl_parquet_may_contain(copy, 0, 1, "key-000001000", 13, &may));
    assert_false(may);
    struct sl_parquet_page_bounds pages;
    OK(sl_parquet_page_bounds(copy, 0, 2, &pages));
    assert_true(pages.from_index);
    assert_int_equal(pages.page_count, 10);
    assert_int_equal(sl_i64_at(pages.max, 3), 399);
    sl_parquet_page_bounds_free(&pages);
    struct sl_parquet_chunk_info info;
    OK(sl_parquet_chunk_info(copy, 0, 3, &info));
    assert_string_equal(info.codec, "GZIP");
    assert_int_equal(info.repetition_levels, 2);
    sl_parquet_close(copy);
    sl_file_close(copy_file);
    sl_parquet_close(p);
    sl_file_close(file);
    sl_buf_free(&data);
    sl_buf_free(&copied);
    sl_type_unref(schema);
}

/* Pages 3 to 6 of 10: what is said of them is put together from what is said of each. */
static void test_copy_units(void **state)
{
    (void)state;
    const sl_type *schema;
    sl_buf data = {0}, copied = {0};
    sl_file *file, *copy_file;
    sl_parquet *p, *copy;
    sl_output *output;
    sl_parquet_writer *w;
    sl_parquet_units *units;
    OK(sl_schema_parse("key string, n long, l list<int>", &schema));
    struct sl_parquet_write_options options = {
        .codec = SL_CODEC_ZSTD, .size_statistics = true, .page_rows = 100};
    write_file(schema, &options, 950, &data);
    open_buf(&data, &file, &p);
    OK(sl_parquet_units_load(p, 0, &units));
    assert_int_equal(units->count, 10);
    assert_int_equal(units->rows[7], 700);
    assert_int_equal(units->rows[10], 950);
    OK(sl_output_to_buf(&copied, &output));
    OK(sl_parquet_writer_new(output, schema, &options, &w));
    OK(sl_parquet_writer_copy_units(w, units, 3, 4, NULL, 0));
    FAILS(sl_parquet_writer_copy_units(w, units, 9, 2, NULL, 0), SL_E_INPUT, "no 2 units from unit 9");
    OK(sl_parquet_writer_finish(w, NULL));
    OK(sl_output_finish(output));
    open_buf(&copied, &copy_file, &copy);
    struct sl_parquet_bounds bounds;
    OK(sl_parquet_column_bounds(copy, 0, 1, &bounds));
    assert_int_equal(sl_i64_at(bounds.min, 0), 300);
    assert_int_equal(sl_i64_at(bounds.max, 0), 699);
    assert_int_equal(bounds.null_count, 0);
    sl_parquet_bounds_free(&bounds);
    struct sl_parquet_page_bounds pages;
    OK(sl_parquet_page_bounds(copy, 0, 1, &pages));
    assert_true(pages.from_index);
    assert_int_equal(pages.page_count, 4);
    assert_int_equal(pages.pages[1].first_row, 100);
    assert_int_equal(sl_i64_at(pages.min, 1), 400);
    sl_parquet_page_bounds_free(&pages);
    const struct parquet_column_meta *key = &copy->meta.row_groups[0].columns[0].meta;
    assert_int_equal(key->num_values, 400);
    assert_int_equal(key->statistics.max_exact, 0);
    assert_int_equal(key->size_statistics.unencoded_bytes, 400 * (int64_t)strlen("key-000000300"));
    sl_parquet_close(copy);
    sl_file_close(copy_file);
    sl_buf_free(&copied);
    sl_parquet_units_unref(units);
    sl_parquet_close(p);
    sl_file_close(file);
    sl_buf_free(&data);
    sl_type_unref(schema);
}

static void refuse_copy(const char *from, const char *to, const char *created_by,
                        const struct sl_parquet_constant *constant, enum sl_code code, const char *part)
{
    const sl_type *a, *b;
    sl_buf data = {0}, copied = {0};
    sl_file *file;
    sl_parquet *p;
    OK(sl_schema_parse(from, &a));
    OK(sl_schema_parse(to, &b));
    write_file(a, &(struct sl_parquet_write_options){.created_by = created_by}, 10, &data);
    open_buf(&data, &file, &p);
    FAILS(copy_first(b, p, constant, &copied), code, part);
    sl_parquet_close(p);
    sl_file_close(file);
    sl_buf_free(&data);
    sl_buf_free(&copied);
    sl_type_unref(a);
    sl_type_unref(b);
}

static void test_copy_refused(void **state)
{
    (void)state;
    refuse_copy("a string", "a string, b int", NULL, NULL, SL_E_INPUT, "columns are not those");
    refuse_copy("a string", "b string", NULL, NULL, SL_E_INPUT, "column element a");
    refuse_copy("a string", "a string not null", NULL, NULL, SL_E_INPUT, "column element a");
    refuse_copy("a int", "a long", NULL, NULL, SL_E_INPUT, "column element a");
    refuse_copy("a int", "a date", NULL, NULL, SL_E_INPUT, "types are not those"); /* the same bytes */
    refuse_copy("a decimal(10,2)", "a decimal(10,3)", NULL, NULL, SL_E_INPUT, "types are not those");
    refuse_copy("a int", "a int", "parquet-mr version 1.6.0", NULL, SL_E_UNSUPPORTED, "cannot be copied");
    refuse_copy("a int", "a int", NULL, &(struct sl_parquet_constant){"a", "x"}, SL_E_INPUT, "only strings");
    refuse_copy("a int", "a int", NULL, &(struct sl_parquet_constant){"b", "x"}, SL_E_INPUT, "no column b");
}

/* Bounds that only their own writer's name or order explains do not come along. */
static void test_copy_drops_doubtful_bounds(void **state)
{
    (void)state;
    const sl_type *schema;
    sl_buf data = {0}, copied = {0};
    sl_file *file, *copy_file;
    sl_parquet *p, *copy;
    OK(sl_schema_parse("key string, n long", &schema));
    struct sl_parquet_write_options options = {.created_by = "parquet-cpp version 1.2.0"};
    write_file(schema, &options, 10, &data);
    open_buf(&data, &file, &p);
    OK(copy_first(schema, p, NULL, &copied));
    open_buf(&copied, &copy_file, &copy);
    struct sl_parquet_bounds bounds;
    OK(sl_parquet_column_bounds(copy, 0, 0, &bounds));
    assert_false(bounds.has_bounds);
    assert_true(bounds.has_null_count);
    sl_parquet_bounds_free(&bounds);
    OK(sl_parquet_column_bounds(copy, 0, 1, &bounds));
    assert_true(bounds.has_bounds);
    sl_parquet_bounds_free(&bounds);
    assert_int_equal(copy->meta.row_groups[0].columns[0].column_index_offset, -1);
    assert_true(copy->meta.row_groups[0].columns[1].column_index_offset > 0);
    sl_parquet_close(copy);
    sl_file_close(copy_file);
    sl_parquet_close(p);
    sl_file_close(file);
    sl_buf_free(&data);
    sl_buf_free(&copied);
    sl_type_unref(schema);
}

/* ---- failures ------------------------------------------------------------------------------------------ */

static const struct sl_parquet_column_options all_columns[] = {
    {.column = "key", .bloom_filter = true, .encoding = SL_ENCODING_DELTA_BYTE_ARRAY},
    {.column = "n", .bloom_filter = true, .bloom_distinct = 100, .encoding = SL_ENCODING_AUTO},
    {.column = "b", .encoding = SL_ENCODING_RLE},
    {.column = "d", .encoding = SL_ENCODING_BYTE_STREAM_SPLIT},
};
static const struct sl_parquet_sorting by_key = {.column = "key"};
static const struct sl_parquet_write_options all_options = {.codec = SL_CODEC_ZSTD,
                                                            .page_rows = 100,
                                                            .row_group_rows = 300,
                                                            .data_page_v2 = true,
                                                            .size_statistics = true,
                                                            .columns = all_columns,
                                                            .column_count = 4,
                                                            .sorting = &by_key,
                                                            .sorting_count = 1};

static sl_status copy_last_unit(sl_parquet_writer *w, const sl_parquet *source)
{
    sl_parquet_units *units;
    SL_TRY(sl_parquet_units_load(source, 0, &units));
    sl_status status =
        units->count ? sl_parquet_writer_copy_units(w, units, units->count - 1, 1, NULL, 0) : SL_OK;
    sl_parquet_units_unref(units);
    return status;
}

/* A row group copied, one written, one copied, and a unit. */
static sl_status write_and_copy(const sl_type *schema, const sl_parquet *source, sl_batch *batch,
                                sl_buf *data)
{
    sl_output *output;
    sl_parquet_writer *w = NULL;
    struct sl_parquet_constant constant = {"key", "constant"};
    SL_TRY(sl_output_to_buf(data, &output));
    sl_status status = sl_parquet_writer_new(output, schema, &all_options, &w);
    if (!status)
        status = sl_parquet_writer_copy_row_group(w, source, 0, &constant, 1);
    if (!status)
        status = sl_parquet_writer_write(w, batch);
    if (!status)
        status = sl_parquet_writer_copy_row_group(w, source, sl_parquet_row_groups(source) - 1, NULL, 0);
    if (!status)
        status = copy_last_unit(w, source);
    if (status)
        sl_parquet_writer_free(w);
    else
        status = sl_parquet_writer_finish(w, NULL);
    if (status)
        sl_output_abort(output);
    else
        status = sl_output_finish(output);
    return status;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    const sl_type *schema;
    sl_buf data = {0};
    sl_file *file;
    sl_parquet *p;
    OK(sl_schema_parse("key string, n long, b boolean, d double, l list<int>", &schema));
    write_file(schema, &all_options, 700, &data);
    open_buf(&data, &file, &p);
    sl_batch *batch = make_rows(schema, 0, 350);
    uint64_t n = 1;
    for (bool done = false; !done; n++) {
        sl_buf out = {0};
        sl_test_fail_allocation(n, n % 2);
        sl_status status = write_and_copy(schema, p, batch, &out);
        sl_test_fail_allocation(0, false);
        done = status == SL_OK;
        if (!done)
            assert_int_equal(sl_status_code(status), SL_E_MEMORY);
        sl_status_free(status);
        sl_buf_free(&out);
    }
    assert_true(n > 100);
    sl_batch_unref(batch);
    sl_parquet_close(p);
    sl_file_close(file);
    sl_buf_free(&data);
    sl_type_unref(schema);
}

/* Every byte behind the pages changed: a copy fails, or leaves out what it cannot trust; it never crashes and what it makes
 * is a file that opens or fails cleanly. */
static void test_copy_of_damaged_files(void **state)
{
    (void)state;
    const sl_type *schema;
    sl_buf data = {0};
    struct sl_parquet_write_options options = all_options;
    options.page_rows = 8;
    OK(sl_schema_parse("key string, n long, b boolean, d double, l list<int>", &schema));
    write_file(schema, &options, 20, &data);
    sl_batch *batch = make_rows(schema, 0, 3);
    size_t refused_files = 0, copied = 0;
    for (size_t i = 4; i < data.len; i++) {
        uint8_t old = data.data[i];
        static const uint8_t changes[] = {0x01, 0x80, 0xff};
        for (size_t k = 0; k < 3; k++) {
            data.data[i] = (uint8_t)(old ^ changes[k]);
            sl_file *file;
            sl_parquet *p = NULL;
            sl_buf out = {0};
            OK(sl_file_of_memory(data.data, data.len, "damaged", &file));
            sl_status status = sl_parquet_open(file, NULL, &p);
            if (!status)
                status = sl_parquet_row_groups(p) ? write_and_copy(schema, p, batch, &out) : SL_OK;
            copied += !status;
            refused_files += status != SL_OK;
            sl_status_free(status);
            sl_buf_free(&out);
            sl_parquet_close(p);
            sl_file_close(file);
        }
        data.data[i] = old;
    }
    assert_true(copied > 100 && refused_files > 100);
    sl_batch_unref(batch);
    sl_buf_free(&data);
    sl_type_unref(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delta_numbers),
        cmocka_unit_test(test_delta_strings),
        cmocka_unit_test(test_split_and_booleans),
        cmocka_unit_test(test_bloom_bytes),
        cmocka_unit_test(test_bloom_sizes),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_hudi_safe),
        cmocka_unit_test(test_footer_facts),
        cmocka_unit_test(test_dictionary_mapping),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_copy_units),
        cmocka_unit_test(test_copy_refused),
        cmocka_unit_test(test_copy_drops_doubtful_bounds),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_copy_of_damaged_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
