/* The writing half of parquet: encoders against a plain decoder, bounds, schemas, the file's structure,
 * failures. */
#include "check_support.h"
#include "dictionary_batch.h"
#include "parquet/write_int.h"

#include <math.h>
#include <stdio.h>

/* ---- RLE hybrid ---------------------------------------------------------------------------------------- */

static uint64_t read_varint(const uint8_t **p)
{
    uint64_t v = 0;
    for (int shift = 0;; shift += 7) {
        uint8_t b = *(*p)++;
        v |= (uint64_t)(b & 127) << shift;
        if (b < 128)
            return v;
    }
}

/* The hybrid as the format's text has it, bit by bit. Gives the number of runs. */
static size_t decode_hybrid(const sl_buf *buf, int width, uint32_t *out, size_t count)
{
    const uint8_t *p = buf->data, *end = buf->data + buf->len;
    size_t n = 0, runs = 0;
    while (n < count) {
        assert_true(p < end);
        uint64_t header = read_varint(&p);
        runs++;
        if (header & 1) {
            size_t values = (size_t)(header >> 1) * 8;
            for (size_t i = 0; i < values; i++) {
                uint32_t v = 0;
                for (int k = 0; k < width; k++) {
                    size_t bit = i * (size_t)width + (size_t)k;
                    v |= (uint32_t)(p[bit / 8] >> (bit % 8) & 1) << k;
                }
                if (n < count)
                    out[n++] = v;
                else
                    assert_int_equal(v, 0);
            }
            p += values * (size_t)width / 8;
        } else {
            uint32_t v = 0;
            for (int k = 0; k < width; k += 8)
                v |= (uint32_t)*p++ << k;
            assert_true(n + (header >> 1) <= count);
            for (uint64_t i = 0; i < header >> 1; i++)
                out[n++] = v;
        }
        assert_true(p <= end);
    }
    assert_ptr_equal(p, end);
    return runs;
}

enum { VALUES = 3000 };

/* Mixes runs of all lengths with noise. */
static size_t fill_values(uint32_t *values, uint32_t max)
{
    size_t count = 1 + random_below(VALUES), n = 0;
    while (n < count) {
        size_t run = random_below(3) ? 1 + random_below(12) : 1 + random_below(300);
        uint32_t v = (uint32_t)random_below((uint64_t)max + 1);
        bool noise = random_below(2);
        for (size_t i = 0; i < run && n < count; i++)
            values[n++] = noise ? (uint32_t)random_below((uint64_t)max + 1) : v;
    }
    return count;
}

static void test_rle_encode(void **state)
{
    (void)state;
    static uint32_t values[VALUES], back[VALUES];
    for (int width = 1; width <= 32; width++)
        for (int round = 0; round < 20; round++) {
            size_t count = fill_values(values, width == 32 ? UINT32_MAX : (UINT32_C(1) << width) - 1);
            sl_buf buf = {0};
            OK(rle_encode(values, count, width, &buf));
            decode_hybrid(&buf, width, back, count);
            assert_memory_equal(values, back, count * sizeof *values);
            sl_buf_free(&buf);
        }
}

static void test_rle_encode_run_is_short(void **state)
{
    (void)state;
    static uint32_t values[VALUES];
    sl_buf buf = {0};
    OK(rle_encode(values, VALUES, 7, &buf));
    assert_int_equal(buf.len, 3); /* two bytes of header, one of value */
    sl_buf_free(&buf);
}

static void test_rle_encode_levels(void **state)
{
    (void)state;
    static uint32_t values[VALUES], back[VALUES];
    static uint8_t levels[VALUES];
    for (int width = 1; width <= 7; width++)
        for (int round = 0; round < 20; round++) {
            size_t count = fill_values(values, (UINT32_C(1) << width) - 1);
            for (size_t i = 0; i < count; i++)
                levels[i] = (uint8_t)values[i];
            sl_buf buf = {0};
            OK(rle_encode_levels(levels, count, width, &buf));
            decode_hybrid(&buf, width, back, count);
            assert_memory_equal(values, back, count * sizeof *values);
            sl_buf_free(&buf);
        }
}

static void test_rle_encode_bits(void **state)
{
    (void)state;
    static uint32_t values[VALUES], back[VALUES];
    static uint8_t bits[VALUES / 8 + 1];
    for (int round = 0; round < 300; round++) {
        size_t count = fill_values(values, 1);
        memset(bits, 0, sizeof bits);
        for (size_t i = 0; i < count; i++)
            if (values[i])
                bit_set(bits, (int64_t)i);
        sl_buf buf = {0};
        OK(rle_encode_bits(bits, count, &buf));
        decode_hybrid(&buf, 1, back, count);
        assert_memory_equal(values, back, count * sizeof *values);
        sl_buf_free(&buf);
    }
    sl_buf buf = {0};
    memset(bits, 0xff, sizeof bits);
    bits[VALUES / 8] = 0x0f;
    OK(rle_encode_bits(bits, 20 * 8 + 3, &buf));
    assert_int_equal(decode_hybrid(&buf, 1, back, 163), 1);
    sl_buf_free(&buf);
}

static void test_bits_append(void **state)
{
    (void)state;
    for (int round = 0; round < 500; round++) {
        uint8_t from[40], to[80], want[80] = {0};
        for (size_t i = 0; i < sizeof from; i++)
            from[i] = (uint8_t)random_next();
        memset(to, 0xaa, sizeof to);
        int64_t at = 0;
        while (at < 500) {
            int64_t first = (int64_t)random_below(100), n = (int64_t)random_below(100);
            bits_append(to, at, from, first, n);
            for (int64_t i = 0; i < n; i++)
                if (bit_get(from, first + i))
                    bit_set(want, at + i);
            at += n;
            assert_memory_equal(to, want, bitmap_bytes(at));
        }
    }
}

/* ---- dictionary ---------------------------------------------------------------------------------------- */

static void check_dictionary_fixed(int32_t width, uint64_t distinct)
{
    struct dictionary d = {.width = width};
    enum { COUNT = 900 };
    uint8_t *values = sl_calloc(COUNT, (size_t)width);
    uint32_t indexes[COUNT], seen = 0;
    for (int block = 0; block < 12; block++) {
        for (size_t i = 0; i < COUNT; i++) {
            uint64_t v = random_below(distinct) * UINT64_C(0x0101010100010001);
            memcpy(values + i * (size_t)width, &v, width < 8 ? (size_t)width : 8);
        }
        OK(dictionary_encode_fixed(&d, values, COUNT, indexes));
        for (size_t i = 0; i < COUNT; i++) {
            size_t len;
            assert_true(indexes[i] < d.count);
            assert_true(indexes[i] <= seen); /* indexes appear in order */
            seen = indexes[i] == seen ? seen + 1 : seen;
            assert_memory_equal(dictionary_entry(&d, indexes[i], &len), values + i * (size_t)width,
                                (size_t)width);
        }
    }
    assert_int_equal(d.count, seen); /* no value twice */
    assert_int_equal(d.storage.len, (size_t)d.count * (size_t)width);
    dictionary_clear(&d);
    OK(dictionary_encode_fixed(&d, values, 1, indexes));
    assert_int_equal(d.count, 1);
    dictionary_free(&d);
    sl_free(values);
}

static void test_dictionary_fixed(void **state)
{
    (void)state;
    static const int32_t widths[] = {1, 2, 4, 5, 8, 13, 16, 40};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        check_dictionary_fixed(widths[i], 3);
        check_dictionary_fixed(widths[i], 5000);
    }
}

static const sl_type *simple(enum sl_type_id id)
{
    const sl_type *type;
    OK(sl_type_new(id, &type));
    return type;
}

static sl_array *strings_of(size_t count, uint64_t distinct, size_t prefix)
{
    const sl_type *type = simple(SL_STRING);
    sl_builder *b;
    OK(sl_builder_new(type, &b));
    char text[128];
    memset(text, 'p', sizeof text);
    for (size_t i = 0; i < count; i++) {
        int n = snprintf(text + prefix, sizeof text - prefix, "%d", (int)random_below(distinct));
        size_t len = distinct > 10 || random_below(10) ? prefix + (size_t)n : 0;
        OK(sl_builder_bytes(b, text, len));
    }
    sl_array *array;
    OK(sl_builder_finish(b, &array));
    sl_builder_free(b);
    sl_type_unref(type);
    return array;
}

static void test_dictionary_and_plain_bytes(void **state)
{
    (void)state;
    static const size_t prefixes[] = {0, 3, 7, 12, 31, 60};
    for (size_t k = 0; k < 6; k++) {
        sl_array *array = strings_of(WRITE_BLOCK, k % 2 ? 5000 : 5, prefixes[k]);
        int32_t slots[WRITE_BLOCK];
        for (size_t i = 0; i < WRITE_BLOCK; i++)
            slots[i] = (int32_t)random_below(WRITE_BLOCK);
        for (int round = 0; round < 2; round++) {
            struct value_view view = {.array = array, .first = 10, .count = 1000};
            if (round)
                view.slots = slots;
            struct dictionary d = {0};
            uint32_t indexes[WRITE_BLOCK];
            OK(dictionary_encode_bytes(&d, &view, indexes));
            sl_buf plain = {0}, again = {0};
            OK(plain_append_bytes(&view, value_view_bytes(&view), &plain));
            OK(dictionary_append_plain(&d, indexes, view.count, &again));
            assert_int_equal(plain.len, again.len);
            assert_memory_equal(plain.data, again.data, plain.len);
            const uint8_t *p = plain.data;
            for (size_t i = 0; i < view.count; i++) {
                size_t len, entry_len;
                const uint8_t *v = sl_bytes_at(array, round ? slots[i] : 10 + (int64_t)i, &len);
                assert_int_equal(load_le32(p), len);
                assert_memory_equal(p + 4, v, len);
                p += 4 + len;
                const uint8_t *entry = dictionary_entry(&d, indexes[i], &entry_len);
                assert_int_equal(entry_len, len);
                assert_memory_equal(entry, v, len);
            }
            for (uint32_t a = 0; a < d.count; a++) /* no value twice */
                for (uint32_t b = 0; b < a; b++) {
                    size_t a_len, b_len;
                    const uint8_t *x = dictionary_entry(&d, a, &a_len), *y = dictionary_entry(&d, b, &b_len);
                    assert_true(bytes_compare(x, a_len, y, b_len) != 0);
                }
            sl_buf_free(&plain);
            sl_buf_free(&again);
            dictionary_free(&d);
        }
        sl_array_unref(array);
    }
}

/* ---- bounds -------------------------------------------------------------------------------------------- */

static void check_cut(const char *value, size_t len, bool text, const char *min, const char *max)
{
    uint8_t out[WRITE_INDEX_BOUND_BYTES];
    size_t out_len;
    bool cut = bound_cut_min((const uint8_t *)value, len, text, out, &out_len);
    assert_int_equal(cut, min != NULL);
    if (min) {
        assert_int_equal(out_len, strlen(min));
        assert_memory_equal(out, min, out_len);
    }
    cut = bound_cut_max((const uint8_t *)value, len, text, out, &out_len);
    assert_int_equal(cut, max != NULL);
    if (max) {
        assert_int_equal(out_len, strlen(max));
        assert_memory_equal(out, max, out_len);
    }
}

static void test_bound_cut(void **state)
{
    (void)state;
    char text[201], want_min[80], want_max[80];
    memset(text, 'z', 200);
    check_cut(text, 64, true, NULL, NULL);
    snprintf(want_min, sizeof want_min, "%.64s", text);
    snprintf(want_max, sizeof want_max, "%.63s{", text);
    check_cut(text, 65, true, want_min, want_max);
    /* a two-byte character across the cut is left out whole */
    memcpy(text + 63, "\xc3\xa9", 2);
    snprintf(want_min, sizeof want_min, "%.63s", text);
    snprintf(want_max, sizeof want_max, "%.62s{", text);
    check_cut(text, 100, true, want_min, want_max);
    /* and one that just fits is incremented as a character */
    memset(text, 'z', 200);
    memcpy(text + 62, "\xc3\xa9", 2);
    snprintf(want_min, sizeof want_min, "%.64s", text);
    snprintf(want_max, sizeof want_max, "%.62s\xc3\xaa", text);
    check_cut(text, 100, true, want_min, want_max);
    /* U+10FFFF has no successor: the bound stays whole (spec/parquet.md 6) */
    for (int i = 0; i < 40; i++)
        memcpy(text + i * 4, "\xf4\x8f\xbf\xbf", 4);
    snprintf(want_min, sizeof want_min, "%.64s", text);
    check_cut(text, 160, true, want_min, NULL);
    /* bytes: the last one below 0xff grows */
    memset(text, 0xff, 200);
    text[10] = 'a';
    snprintf(want_min, sizeof want_min, "%.64s", text);
    snprintf(want_max, sizeof want_max, "%.10sb", text);
    check_cut(text, 200, false, want_min, want_max);
    text[10] = (char)0xff;
    snprintf(want_min, sizeof want_min, "%.64s", text);
    check_cut(text, 200, false, want_min, NULL);
}

static void test_bound_cut_random_text(void **state)
{
    (void)state;
    static const char *const pieces[] = {"a",
                                         "\x7f",
                                         "\xc2\x80",
                                         "\xdf\xbf",
                                         "\xe0\xa0\x80",
                                         "\xed\x9f\xbf",
                                         "\xee\x80\x80",
                                         "\xf4\x8f\xbf\xbf",
                                         "\xf0\x90\x80\x80"};
    for (int round = 0; round < 5000; round++) {
        char value[200] = "";
        while (strlen(value) < 70)
            strcat(value, pieces[random_below(sizeof pieces / sizeof *pieces)]);
        size_t len = strlen(value), min_len, max_len;
        uint8_t min[WRITE_INDEX_BOUND_BYTES], max[WRITE_INDEX_BOUND_BYTES];
        assert_true(bound_cut_min((const uint8_t *)value, len, true, min, &min_len));
        assert_true(bytes_compare(min, min_len, value, len) <= 0);
        assert_int_equal(sl_utf8_valid_prefix(min, min_len), min_len);
        if (!bound_cut_max((const uint8_t *)value, len, true, max, &max_len))
            continue;
        assert_true(bytes_compare(max, max_len, value, len) > 0);
        assert_int_equal(sl_utf8_valid_prefix(max, max_len), max_len);
    }
}

/* ---- files --------------------------------------------------------------------------------------------- */

static sl_batch *batch_of(const sl_type *schema, void (*fill)(sl_builder **columns, int64_t row),
                          int64_t rows)
{
    sl_batch_builder b = {0};
    OK(sl_batch_builder_init(&b, schema));
    for (int64_t i = 0; i < rows; i++)
        fill(b.columns, i);
    sl_batch *batch;
    OK(sl_batch_builder_finish(&b, &batch));
    sl_batch_builder_free(&b);
    return batch;
}

static sl_status write_file(const sl_type *schema, const struct sl_parquet_write_options *options,
                            sl_batch *batch, sl_buf *out)
{
    sl_output *output = NULL;
    sl_parquet_writer *w = NULL;
    SL_TRY(sl_output_to_buf(out, &output));
    sl_status status = sl_parquet_writer_new(output, schema, options, &w);
    if (!status)
        status = sl_parquet_writer_write(w, batch);
    if (!status)
        status = sl_parquet_writer_key_value(w, "key", "value");
    if (!status) {
        status = sl_parquet_writer_finish(w, NULL);
        w = NULL;
    }
    sl_parquet_writer_free(w);
    if (status) {
        sl_output_abort(output);
        return status;
    }
    return sl_output_finish(output);
}

struct decoded {
    sl_buf file;
    sl_arena *arena;
    struct parquet_file_metadata meta;
};

static void decode_file(struct decoded *d)
{
    const uint8_t *data = d->file.data;
    size_t len = d->file.len;
    assert_true(len >= 12);
    assert_memory_equal(data, "PAR1", 4);
    assert_memory_equal(data + len - 4, "PAR1", 4);
    size_t footer = load_le32(data + len - 8);
    assert_true(footer <= len - 12);
    OK(sl_arena_new(&d->arena));
    OK(parquet_file_metadata_decode(data + len - 8 - footer, footer, len - 8 - footer, d->arena, &d->meta));
}

static void write_and_decode(struct decoded *d, const sl_type *schema,
                             const struct sl_parquet_write_options *options, sl_batch *batch)
{
    *d = (struct decoded){0};
    OK(write_file(schema, options, batch, &d->file));
    decode_file(d);
}

static void decoded_free(struct decoded *d)
{
    sl_arena_free(d->arena);
    sl_buf_free(&d->file);
}

static const struct parquet_column_meta *chunk_meta(const struct decoded *d, size_t group, size_t leaf)
{
    assert_true(group < d->meta.row_group_count && leaf < d->meta.row_groups[group].column_count);
    return &d->meta.row_groups[group].columns[leaf].meta;
}

static bool has_encoding(const struct parquet_column_meta *m, int32_t encoding)
{
    for (size_t i = 0; i < m->encoding_count; i++)
        if (m->encodings[i] == encoding)
            return true;
    return false;
}

/* Every page of every chunk: header, checksum, and the places that the indexes and the chunk claim. */
static void check_chunk(const struct decoded *d, const struct parquet_row_group *group,
                        const struct parquet_column_chunk *c)
{
    const uint8_t *data = d->file.data;
    uint64_t at = (uint64_t)(c->meta.dictionary_page_offset >= 0 ? c->meta.dictionary_page_offset
                                                                 : c->meta.data_page_offset);
    uint64_t end = at + (uint64_t)c->meta.total_compressed_size;
    struct parquet_offset_index offsets = {0};
    if (c->offset_index_offset >= 0)
        OK(parquet_offset_index_decode(data + c->offset_index_offset, (size_t)c->offset_index_length, 0,
                                       d->arena, &offsets));
    size_t page = 0;
    int64_t values = 0;
    uint64_t uncompressed = 0;
    while (at < end) {
        struct parquet_page_header h;
        size_t header_bytes;
        OK(parquet_page_header_decode(data + at, (size_t)(end - at), at, &h, &header_bytes, NULL));
        assert_true(at + header_bytes + (uint64_t)h.compressed_size <= end);
        assert_true(h.has_crc);
        assert_int_equal(h.crc, sl_crc32(0, data + at + header_bytes, (size_t)h.compressed_size));
        uncompressed += header_bytes + (uint64_t)h.uncompressed_size;
        if (h.type == PARQUET_PAGE_DATA) {
            if (c->offset_index_offset >= 0) {
                assert_true(page < offsets.page_count);
                assert_int_equal(offsets.pages[page].offset, at);
                assert_int_equal(offsets.pages[page].compressed_size,
                                 header_bytes + (size_t)h.compressed_size);
                assert_true(page == 0 ? offsets.pages[0].first_row == 0
                                      : offsets.pages[page].first_row > offsets.pages[page - 1].first_row);
                assert_true(offsets.pages[page].first_row < group->num_rows);
            }
            values += h.num_values;
            page++;
        } else {
            assert_int_equal(h.type, PARQUET_PAGE_DICTIONARY);
            assert_int_equal(at, c->meta.dictionary_page_offset);
        }
        at += header_bytes + (uint64_t)h.compressed_size;
    }
    assert_int_equal(values, c->meta.num_values);
    assert_int_equal(uncompressed, c->meta.total_uncompressed_size);
    if (c->offset_index_offset >= 0)
        assert_int_equal(page, offsets.page_count);
}

static void check_structure(const struct decoded *d)
{
    int64_t rows = 0;
    for (size_t g = 0; g < d->meta.row_group_count; g++) {
        const struct parquet_row_group *group = &d->meta.row_groups[g];
        int64_t compressed = 0;
        for (size_t i = 0; i < group->column_count; i++) {
            check_chunk(d, group, &group->columns[i]);
            compressed += group->columns[i].meta.total_compressed_size;
        }
        assert_int_equal(compressed, group->total_compressed_size);
        rows += group->num_rows;
    }
    assert_int_equal(rows, d->meta.num_rows);
}

static struct parquet_column_index column_index(const struct decoded *d, size_t group, size_t leaf)
{
    const struct parquet_column_chunk *c = &d->meta.row_groups[group].columns[leaf];
    struct parquet_column_index index;
    assert_true(c->column_index_offset > 0);
    OK(parquet_column_index_decode(d->file.data + c->column_index_offset, (size_t)c->column_index_length, 0,
                                   d->arena, &index));
    return index;
}

static const sl_type *schema_of(sl_field *fields, size_t count)
{
    const sl_type *schema;
    OK(sl_type_struct(fields, count, &schema));
    for (size_t i = 0; i < count; i++)
        sl_type_unref(fields[i].type);
    return schema;
}

static void fill_mixed(sl_builder **c, int64_t i)
{
    char text[40];
    OK(sl_builder_integer(c[0], i));
    int n = snprintf(text, sizeof text, "t%d", (int)(i % 10));
    if (i % 5 == 0)
        OK(sl_builder_null(c[1]));
    else
        OK(sl_builder_bytes(c[1], text, (size_t)n));
    OK(sl_builder_double(c[2], i % 3 ? (double)-i : NAN));
    if (i % 7 == 0) {
        OK(sl_builder_null(c[3]));
        return;
    }
    for (int64_t k = 0; k < i % 4; k++)
        OK(sl_builder_integer(sl_builder_child(c[3], 0), i - k));
    OK(sl_builder_close(c[3]));
}

static const sl_type *mixed_schema(void)
{
    const sl_type *element = simple(SL_INT32), *list;
    OK(sl_type_list(&(sl_field){.name = "element", .type = element, .nullable = true}, &list));
    sl_type_unref(element);
    return schema_of((sl_field[]){{.name = "id", .type = simple(SL_INT64)},
                                  {.name = "text", .type = simple(SL_STRING), .nullable = true},
                                  {.name = "number", .type = simple(SL_DOUBLE), .nullable = true},
                                  {.name = "list", .type = list, .nullable = true}},
                     4);
}

static void test_structure(void **state)
{
    (void)state;
    const sl_type *schema = mixed_schema();
    sl_batch *batch = batch_of(schema, fill_mixed, 3000);
    sl_pool *pool;
    OK(sl_pool_new(2, &pool));
    for (int codec = SL_CODEC_NONE; codec <= SL_CODEC_LZ4_RAW; codec++)
        for (int variant = 0; variant < 8; variant++) {
            struct sl_parquet_write_options options = {
                .codec = (enum sl_parquet_codec)codec,
                .page_rows = variant & 1 ? 250 : 0,
                .row_group_rows = variant & 2 ? 900 : 0,
                .no_dictionary = variant & 4,
                .pool = variant & 1 ? pool : NULL,
            };
            struct decoded d;
            write_and_decode(&d, schema, &options, batch);
            check_structure(&d);
            assert_int_equal(d.meta.row_group_count, variant & 2 ? 4 : 1);
            assert_int_equal(d.meta.row_groups[0].num_rows, variant & 2 ? 900 : 3000);
            assert_int_equal(column_index(&d, 0, 0).page_count, variant & 1 ? (variant & 2 ? 4 : 12) : 1);
            decoded_free(&d);
        }
    sl_pool_free(pool);
    sl_batch_unref(batch);
    sl_type_unref(schema);
}

static void test_footer(void **state)
{
    (void)state;
    const sl_type *schema = mixed_schema();
    sl_batch *batch = batch_of(schema, fill_mixed, 100);
    struct decoded d;
    write_and_decode(&d, schema, NULL, batch);
    assert_int_equal(d.meta.version, 1);
    assert_non_null(strstr(d.meta.created_by, "sluice version " SL_VERSION " (build "));
    assert_int_equal(d.meta.key_value_count, 1);
    assert_string_equal(d.meta.key_values[0].key, "key");
    assert_string_equal(d.meta.key_values[0].value, "value");
    assert_true(d.meta.has_column_orders);
    assert_int_equal(d.meta.column_order_count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(d.meta.column_orders[i], PARQUET_ORDER_TYPE);
    /* root, id, text, number, list, list.list, list.list.element */
    assert_int_equal(d.meta.schema_count, 7);
    assert_string_equal(d.meta.schema[0].name, "schema");
    assert_int_equal(d.meta.schema[0].children, 4);
    assert_int_equal(d.meta.schema[1].repetition, PARQUET_REQUIRED);
    assert_int_equal(d.meta.schema[2].converted, PARQUET_CONVERTED_UTF8);
    assert_int_equal(d.meta.schema[2].logical.kind, PARQUET_LOGICAL_STRING);
    assert_int_equal(d.meta.schema[4].converted, PARQUET_CONVERTED_LIST);
    assert_string_equal(d.meta.schema[5].name, "list");
    assert_int_equal(d.meta.schema[5].repetition, PARQUET_REPEATED);
    assert_string_equal(d.meta.schema[6].name, "element");
    assert_int_equal(d.meta.schema[6].repetition, PARQUET_OPTIONAL);
    const struct parquet_column_meta *m = chunk_meta(&d, 0, 3);
    assert_int_equal(m->path_count, 3);
    assert_string_equal(m->path[1], "list");
    decoded_free(&d);
    sl_batch_unref(batch);
    sl_type_unref(schema);
}

/* Whether the byte is one of the text, or one of the two before it that say what it is. */
static bool lies_in(const sl_buf *file, size_t at, const char *text)
{
    for (size_t first = at > strlen(text) ? at - strlen(text) : 0; first <= at + 2; first++)
        if (first + strlen(text) <= file->len && memcmp(file->data + first, text, strlen(text)) == 0)
            return true;
    return false;
}

/* Every flipped bit of a footer is found, but for those that make it one without a checksum of ours. */
static void test_footer_checksum(void **state)
{
    (void)state;
    const sl_type *schema = mixed_schema();
    sl_batch *batch = batch_of(schema, fill_mixed, 100);
    struct decoded d;
    write_and_decode(&d, schema, &(struct sl_parquet_write_options){.footer_checksum = true}, batch);
    size_t end = d.file.len - 8, first = end - load_le32(d.file.data + end), unseen = 0;
    for (size_t bit = first * 8; bit < end * 8; bit++) {
        sl_file *file;
        sl_parquet *p;
        bool may_hide = lies_in(&d.file, bit / 8, "sluice.footer.crc32\x18\x08") ||
                        lies_in(&d.file, bit / 8, "sluice version");
        d.file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        OK(sl_file_of_memory(d.file.data, d.file.len, "flipped", &file));
        sl_status status = sl_parquet_open(file, NULL, &p);
        if (!status) {
            sl_parquet_close(p);
            unseen++;
            if (!may_hide)
                fail_msg("bit %zu of byte %zu of the footer, of %zu", bit % 8, bit / 8 - first, end - first);
        }
        sl_status_free(status);
        sl_file_close(file);
        d.file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_true(unseen < 40 * 8);
    decoded_free(&d);
    sl_batch_unref(batch);
    sl_type_unref(schema);
}

static void test_options_in_file(void **state)
{
    (void)state;
    const sl_type *schema = mixed_schema();
    sl_batch *batch = batch_of(schema, fill_mixed, 100);
    struct decoded d;
    struct sl_parquet_write_options options = {
        .no_page_index = true, .created_by = "me version 1", .root_name = "record"};
    write_and_decode(&d, schema, &options, batch);
    check_structure(&d);
    assert_string_equal(d.meta.created_by, "me version 1");
    assert_string_equal(d.meta.schema[0].name, "record");
    assert_int_equal(d.meta.row_groups[0].columns[0].column_index_offset, -1);
    assert_int_equal(d.meta.row_groups[0].columns[0].offset_index_offset, -1);
    decoded_free(&d);
    sl_batch_unref(batch);
    sl_type_unref(schema);
}

static void fill_old_list(sl_builder **c, int64_t i)
{
    for (int64_t k = 0; k < i % 3; k++)
        OK(sl_builder_integer(sl_builder_child(c[0], 0), k));
    if (i == 77)
        OK(sl_builder_null(sl_builder_child(c[0], 0)));
    OK(sl_builder_close(c[0]));
}

static void test_old_lists(void **state)
{
    (void)state;
    const sl_type *element = simple(SL_INT32), *list;
    OK(sl_type_list(&(sl_field){.name = "element", .type = element, .nullable = true}, &list));
    sl_type_unref(element);
    const sl_type *schema = schema_of((sl_field[]){{.name = "l", .type = list, .nullable = true}}, 1);
    sl_batch *batch = batch_of(schema, fill_old_list, 70);
    struct sl_parquet_write_options options = {.old_lists = true};
    struct decoded d;
    write_and_decode(&d, schema, &options, batch);
    assert_int_equal(d.meta.schema_count, 3);
    assert_string_equal(d.meta.schema[2].name, "array");
    assert_int_equal(d.meta.schema[2].repetition, PARQUET_REPEATED);
    assert_true(d.meta.schema[2].has_type);
    decoded_free(&d);
    sl_batch_unref(batch);
    batch = batch_of(schema, fill_old_list, 100);
    sl_buf file = {0};
    FAILS(write_file(schema, &options, batch, &file), SL_E_INPUT, "column l.array, row 77");
    sl_buf_free(&file);
    sl_batch_unref(batch);
    sl_type_unref(schema);
}

/* ---- statistics ---------------------------------------------------------------------------------------- */

static void check_bytes(struct parquet_bytes got, const void *want, size_t len)
{
    assert_non_null(got.data);
    assert_int_equal(got.len, len);
    assert_memory_equal(got.data, want, len);
}

static void fill_bounds(sl_builder **c, int64_t i)
{
    OK(sl_builder_integer(c[0], i % 2 ? -i : i));
    OK(sl_builder_integer(c[1], i == 3 ? INT64_C(0xfffffff0) : i));
    OK(sl_builder_double(c[2], i % 4 == 0 ? NAN : i % 4 == 1 ? -0.0 : 0.0));
    OK(sl_builder_double(c[3], NAN));
    OK(sl_builder_decimal(c[4], i - 50));
    char big[3000];
    memset(big, 'a' + (int)(i % 3), sizeof big);
    OK(sl_builder_bytes(c[5], big, sizeof big));
    OK(sl_builder_null(c[6]));
    OK(sl_builder_bool(c[7], i < 50));
    OK(sl_builder_bytes(c[8], "same", 4));
}

static void test_statistics(void **state)
{
    (void)state;
    const sl_type *decimal;
    OK(sl_type_decimal(9, 2, &decimal));
    const sl_type *schema =
        schema_of((sl_field[]){{.name = "i", .type = simple(SL_INT64)},
                               {.name = "u", .type = simple(SL_UINT32)},
                               {.name = "zero", .type = simple(SL_DOUBLE)},
                               {.name = "nan", .type = simple(SL_DOUBLE)},
                               {.name = "d", .type = decimal},
                               {.name = "big", .type = simple(SL_STRING)},
                               {.name = "null", .type = simple(SL_STRING), .nullable = true},
                               {.name = "b", .type = simple(SL_BOOL)},
                               {.name = "same", .type = simple(SL_STRING)}},
                  9);
    sl_batch *batch = batch_of(schema, fill_bounds, 100);
    struct decoded d;
    struct sl_parquet_write_options options = {.page_rows = 10};
    write_and_decode(&d, schema, &options, batch);
    check_structure(&d);
    const struct parquet_statistics *s = &chunk_meta(&d, 0, 0)->statistics;
    check_bytes(s->min_value, &(int64_t){-99}, 8);
    check_bytes(s->max_value, &(int64_t){98}, 8);
    check_bytes(s->min, &(int64_t){-99}, 8);
    check_bytes(s->max, &(int64_t){98}, 8);
    assert_int_equal(s->null_count, 0);
    s = &chunk_meta(&d, 0, 1)->statistics; /* unsigned: the old fields would lie */
    check_bytes(s->min_value, &(uint32_t){0}, 4);
    check_bytes(s->max_value, &(uint32_t){0xfffffff0}, 4);
    assert_null(s->min.data);
    assert_null(s->max.data);
    s = &chunk_meta(&d, 0, 2)->statistics; /* NaN left out, zeros widened */
    check_bytes(s->min_value, &(double){-0.0}, 8);
    check_bytes(s->max_value, &(double){0.0}, 8);
    assert_true(s->has_nan_count);
    assert_int_equal(s->nan_count, 25);
    assert_int_equal(column_index(&d, 0, 2).nan_counts[9], 2); /* rows 92 and 96 */
    s = &chunk_meta(&d, 0, 3)->statistics;
    assert_null(s->min_value.data);
    assert_true(s->has_null_count);
    assert_int_equal(d.meta.row_groups[0].columns[3].column_index_offset, -1);
    assert_true(d.meta.row_groups[0].columns[3].offset_index_offset > 0);
    s = &chunk_meta(&d, 0, 4)->statistics;
    check_bytes(s->min_value, "\xff\xff\xff\xce", 4);
    check_bytes(s->max_value, "\0\0\0\x31", 4);
    assert_null(s->min.data);
    s = &chunk_meta(&d, 0, 5)
             ->statistics; /* 6,000 bytes of bounds: dropped, but kept short in the column index */
    assert_null(s->min_value.data);
    assert_int_equal(column_index(&d, 0, 5).min_values[0].len, 64);
    s = &chunk_meta(&d, 0, 6)->statistics;
    assert_int_equal(s->null_count, 100);
    assert_null(s->min_value.data);
    struct parquet_column_index index = column_index(&d, 0, 6);
    assert_int_equal(index.page_count, 10);
    assert_true(index.null_pages[9]);
    assert_int_equal(index.null_counts[9], 10);
    s = &chunk_meta(&d, 0, 7)->statistics;
    check_bytes(s->min_value, "\0", 1);
    check_bytes(s->max_value, "\1", 1);
    assert_int_equal(column_index(&d, 0, 7).boundary_order, PARQUET_DESCENDING);
    s = &chunk_meta(&d, 0, 8)->statistics; /* equal bounds agree in every order */
    check_bytes(s->min, "same", 4);
    check_bytes(s->max_value, "same", 4);
    assert_int_equal(column_index(&d, 0, 4).boundary_order, PARQUET_ASCENDING);
    assert_int_equal(column_index(&d, 0, 0).boundary_order, PARQUET_UNORDERED);
    decoded_free(&d);
    sl_batch_unref(batch);
    sl_type_unref(schema);
}

static void test_unsigned_bounds(void **state)
{
    (void)state;
    const sl_type *type = simple(SL_UINT64);
    static const uint64_t values[] = {5, 1, UINT64_MAX, UINT64_C(1) << 63, 7, 2};
    sl_buffer *data;
    sl_array *column;
    sl_batch *batch;
    OK(sl_buffer_new(sizeof values, &data));
    memcpy(sl_buffer_data(data), values, sizeof values);
    OK(sl_array_new(type, 6, 0, NULL, data, NULL, NULL, 0, NULL, &column));
    const sl_type *schema = schema_of((sl_field[]){{.name = "u", .type = type}}, 1);
    OK(sl_batch_new(schema, 6, &column, &batch));
    struct decoded d;
    write_and_decode(&d, schema, &(struct sl_parquet_write_options){.page_rows = 2}, batch);
    const struct parquet_statistics *s = &chunk_meta(&d, 0, 0)->statistics;
    check_bytes(s->min_value, &(uint64_t){1}, 8);
    check_bytes(s->max_value, &(uint64_t){UINT64_MAX}, 8);
    assert_null(s->max.data);
    struct parquet_column_index index = column_index(&d, 0, 0);
    assert_int_equal(index.page_count, 3);
    check_bytes(index.min_values[1], &(uint64_t){UINT64_C(1) << 63}, 8);
    assert_int_equal(index.boundary_order, PARQUET_UNORDERED);
    decoded_free(&d);
    sl_batch_unref(batch);
    sl_type_unref(schema);
}

/* float16: values from the smallest subnormal to infinity, a NaN, a null. */
static void test_half(void **state)
{
    (void)state;
    static const uint16_t values[] = {0x3c00, 0x7e00, 0x0001, 0xc000, 0x7bff, 0x0000, 0xfbff, 0x1234};
    const sl_type *type = simple(SL_HALF);
    sl_buffer *validity, *data;
    sl_array *column;
    sl_batch *batch;
    OK(sl_buffer_new(1, &validity));
    OK(sl_buffer_new(sizeof values, &data));
    sl_buffer_data(validity)[0] = 0x7f;
    memcpy(sl_buffer_data(data), values, sizeof values);
    OK(sl_array_new(type, 8, 1, validity, data, NULL, NULL, 0, NULL, &column));
    const sl_type *schema = schema_of((sl_field[]){{.name = "h", .type = type, .nullable = true}}, 1);
    OK(sl_batch_new(schema, 8, &column, &batch));
    struct decoded d;
    write_and_decode(&d, schema, NULL, batch);
    check_structure(&d);
    assert_int_equal(d.meta.schema[1].type, PARQUET_FIXED);
    assert_int_equal(d.meta.schema[1].type_length, 2);
    assert_int_equal(d.meta.schema[1].logical.kind, PARQUET_LOGICAL_FLOAT16);
    const struct parquet_statistics *s = &chunk_meta(&d, 0, 0)->statistics;
    check_bytes(s->min_value, &(uint16_t){0xfbff}, 2);
    check_bytes(s->max_value, &(uint16_t){0x7bff}, 2);
    assert_int_equal(s->null_count, 1);
    decoded_free(&d);
    sl_batch_unref(batch);
    sl_type_unref(schema);
}

/* Every float16 bound comes back as the same bits, zeros aside. */
static void test_half_bounds_are_exact(void **state)
{
    (void)state;
    const struct write_leaf leaf = {.order = ORDER_HALF, .width = 2};
    for (uint32_t bits = 0; bits <= 0xffff; bits++) {
        uint8_t value[2], space[16];
        const uint8_t *plain;
        size_t len;
        struct value_bounds b = {0};
        store_le16(value, (uint16_t)bits);
        bounds_add_numbers(&b, ORDER_HALF, value, 1);
        assert_int_equal(b.present, (bits & 0x7fff) <= 0x7c00); /* not for NaN */
        if (!b.present)
            continue;
        bounds_plain(&b, &leaf, true, space, &plain, &len);
        assert_int_equal(len, 2);
        assert_int_equal(load_le16(plain), bits == 0x8000 ? 0 : bits);
    }
}

/* ---- dictionary decisions ------------------------------------------------------------------------------ */

static void fill_dictionary(sl_builder **c, int64_t i)
{
    char text[80];
    OK(sl_builder_integer(c[0], i * 7919)); /* unique: does not pay */
    OK(sl_builder_integer(c[1], i % 9));    /* pays */
    int n = snprintf(text, sizeof text, "%060d",
                     (int)(i < 30000 ? i % 1000 : i)); /* pays, then grows too large */
    OK(sl_builder_bytes(c[2], text, (size_t)n));
    OK(sl_builder_bool(c[3], i % 2));
}

static void test_dictionary_choice(void **state)
{
    (void)state;
    const sl_type *schema = schema_of((sl_field[]){{.name = "unique", .type = simple(SL_INT64)},
                                                   {.name = "few", .type = simple(SL_INT64)},
                                                   {.name = "grows", .type = simple(SL_STRING)},
                                                   {.name = "bool", .type = simple(SL_BOOL)}},
                                      4);
    sl_batch *batch = batch_of(schema, fill_dictionary, 100000);
    struct decoded d;
    write_and_decode(&d, schema, NULL, batch);
    check_structure(&d);
    assert_false(has_encoding(chunk_meta(&d, 0, 0), PARQUET_PLAIN_DICTIONARY));
    assert_int_equal(chunk_meta(&d, 0, 0)->dictionary_page_offset, -1);
    assert_true(has_encoding(chunk_meta(&d, 0, 1), PARQUET_PLAIN_DICTIONARY));
    assert_false(has_encoding(chunk_meta(&d, 0, 1), PARQUET_PLAIN));
    assert_true(has_encoding(chunk_meta(&d, 0, 2), PARQUET_PLAIN_DICTIONARY));
    assert_true(has_encoding(chunk_meta(&d, 0, 2), PARQUET_PLAIN));
    assert_false(has_encoding(chunk_meta(&d, 0, 3), PARQUET_PLAIN_DICTIONARY));
    assert_true(chunk_meta(&d, 0, 1)->total_compressed_size < 100000);
    decoded_free(&d);
    sl_batch_unref(batch);
    sl_type_unref(schema);
}

static void fill_sample(sl_builder **c, int64_t i)
{
    char text[40];
    int n = snprintf(text, sizeof text, "key %08d", (int)(i * 7919 % 100003)); /* no two alike */
    const char *unique = i == 5 ? "a" : i == 6 ? "z" : text; /* the bounds are among the first */
    if (i % 10)
        OK(sl_builder_bytes(c[0], unique, strlen(unique)));
    else
        OK(sl_builder_null(c[0]));
    OK(sl_builder_integer(c[1], i * 7919 % 100003));
    OK(sl_builder_integer(c[2], (int64_t)random_below(5000)));
    OK(sl_builder_bytes(c[3], text, (size_t)n - 2)); /* a hundred of each */
}

/* The first 2048 values show that a dictionary is hopeless; what they had in it is not lost. */
static void test_dictionary_sample(void **state)
{
    (void)state;
    enum { ROWS = 6000 };
    const sl_type *schema =
        schema_of((sl_field[]){{.name = "text", .type = simple(SL_STRING), .nullable = true},
                               {.name = "number", .type = simple(SL_INT64)},
                               {.name = "some", .type = simple(SL_INT64)},
                               {.name = "prefix", .type = simple(SL_STRING)}},
                  4);
    sl_batch *batch = batch_of(schema, fill_sample, ROWS);
    struct decoded d;
    write_and_decode(&d, schema, NULL, batch);
    check_structure(&d);
    for (size_t leaf = 0; leaf < 4; leaf++) {
        assert_int_equal(column_index(&d, 0, leaf).page_count, 1);
        assert_int_equal(chunk_meta(&d, 0, leaf)->num_values, ROWS);
        assert_int_equal(has_encoding(chunk_meta(&d, 0, leaf), PARQUET_PLAIN_DICTIONARY), leaf >= 2);
    }
    const struct parquet_statistics *text = &chunk_meta(&d, 0, 0)->statistics;
    assert_int_equal(text->min_value.len, 1);
    assert_memory_equal(text->min_value.data, "a", 1);
    assert_int_equal(text->max_value.len, 1);
    assert_memory_equal(text->max_value.data, "z", 1);
    decoded_free(&d);
    sl_batch_unref(batch);
    sl_type_unref(schema);
}

/* ---- sizes --------------------------------------------------------------------------------------------- */

static void fill_wide(sl_builder **c, int64_t i)
{
    OK(sl_builder_integer(c[0], (int64_t)random_next()));
    char text[120];
    int n = snprintf(text, sizeof text, "%d some text that compresses %d", (int)random_below(1000000),
                     (int)(i % 10));
    OK(sl_builder_bytes(c[1], text, (size_t)n));
}

static void test_row_groups_and_estimates(void **state)
{
    (void)state;
    const sl_type *schema = schema_of(
        (sl_field[]){{.name = "a", .type = simple(SL_INT64)}, {.name = "b", .type = simple(SL_STRING)}}, 2);
    struct sl_parquet_write_options options = {
        .codec = SL_CODEC_ZSTD, .row_group_bytes = 300000, .page_bytes = 20000};
    struct decoded d = {0};
    sl_output *output;
    sl_parquet_writer *w;
    OK(sl_output_to_buf(&d.file, &output));
    OK(sl_parquet_writer_new(output, schema, &options, &w));
    size_t memory = 0;
    for (int i = 0; i < 40; i++) {
        sl_batch *batch = batch_of(schema, fill_wide, 5000);
        OK(sl_parquet_writer_write(w, batch));
        sl_batch_unref(batch);
        memory = sl_parquet_writer_memory(w) > memory ? sl_parquet_writer_memory(w) : memory;
    }
    uint64_t estimate = sl_parquet_writer_bytes(w);
    struct sl_parquet_written written;
    OK(sl_parquet_writer_finish(w, &written));
    OK(sl_output_finish(output));
    assert_int_equal(written.bytes, d.file.len);
    assert_int_equal(written.rows, 200000);
    assert_true(fabs((double)estimate / (double)written.bytes - 1) < 0.05);
    assert_true(memory < 5000000); /* the rows are 9 MB; dictionaries take most of it */
    decode_file(&d);
    check_structure(&d);
    assert_true(d.meta.row_group_count > 5);
    for (size_t g = 1; g + 1 < d.meta.row_group_count;
         g++) { /* the first knows nothing about compression yet */
        assert_true(d.meta.row_groups[g].total_compressed_size > 200000);
        assert_true(d.meta.row_groups[g].total_compressed_size < 600000);
    }
    decoded_free(&d);
    sl_type_unref(schema);
}

/* A few rows beside a large dictionary weigh what they are, not what the dictionary is: whoever cuts files by size would
 * otherwise begin a new one at once. */
static void test_estimate_beside_a_dictionary(void **state)
{
    (void)state;
    enum { ROWS = 10, ENTRIES = 4000, TEXT_BYTES = 250 };
    sl_buf file = {0};
    sl_pool *pool;
    sl_output *output;
    sl_parquet_writer *w;
    struct sl_parquet_written written;
    OK(sl_pool_new(2, &pool)); /* with a pool, rows wait before they are encoded */
    struct sl_parquet_write_options options = {.pool = pool};
    sl_batch *batch = dictionary_batch(ROWS, ENTRIES, TEXT_BYTES);
    OK(sl_output_to_buf(&file, &output));
    OK(sl_parquet_writer_new(output, batch->schema, &options, &w));
    OK(sl_parquet_writer_write(w, batch));
    assert_in_range(sl_parquet_writer_bytes(w), ROWS * TEXT_BYTES, 2 * ROWS * TEXT_BYTES);
    OK(sl_parquet_writer_finish(w, &written));
    OK(sl_output_finish(output));
    sl_batch_unref(batch);
    sl_pool_free(pool);
    sl_buf_free(&file);
}

static void fill_huge(sl_builder **c, int64_t i)
{
    enum { HUGE_BYTES = 3 << 20 };
    char *text = sl_malloc(HUGE_BYTES);
    assert_non_null(text);
    memset(text, 'a' + (int)(i % 2), HUGE_BYTES);
    OK(sl_builder_bytes(c[0], text, i == 3 ? 5 : HUGE_BYTES));
    sl_free(text);
}

/* Values larger than a page and than a dictionary: a page each. */
static void test_huge_values(void **state)
{
    (void)state;
    const sl_type *schema = schema_of((sl_field[]){{.name = "s", .type = simple(SL_STRING)}}, 1);
    sl_batch *batch = batch_of(schema, fill_huge, 8);
    struct decoded d;
    write_and_decode(&d, schema, NULL, batch);
    check_structure(&d);
    struct parquet_column_index index = column_index(&d, 0, 0);
    assert_true(index.page_count >= 7);
    assert_int_equal(index.max_values[0].len, 64);
    assert_int_equal(index.max_values[0].data[63], 'b');
    assert_false(has_encoding(chunk_meta(&d, 0, 0), PARQUET_PLAIN_DICTIONARY));
    decoded_free(&d);
    sl_batch_unref(batch);
    sl_type_unref(schema);
}

static void test_empty_file(void **state)
{
    (void)state;
    const sl_type *schema = mixed_schema();
    sl_batch *batch = batch_of(schema, fill_mixed, 0);
    struct decoded d;
    write_and_decode(&d, schema, NULL, batch);
    assert_int_equal(d.meta.num_rows, 0);
    assert_int_equal(d.meta.row_group_count, 0);
    decoded_free(&d);
    sl_batch_unref(batch);
    sl_type_unref(schema);
}

/* A file inside a longer output: offsets count from its own start. */
static void test_file_behind_other_bytes(void **state)
{
    (void)state;
    const sl_type *schema = mixed_schema();
    sl_batch *batch = batch_of(schema, fill_mixed, 500);
    struct decoded d = {0};
    sl_buf all = {0};
    sl_output *output;
    sl_parquet_writer *w;
    OK(sl_output_to_buf(&all, &output));
    OK(sl_output_write(output, "block header", 12));
    OK(sl_parquet_writer_new(output, schema, NULL, &w));
    OK(sl_parquet_writer_write(w, batch));
    OK(sl_parquet_writer_finish(w, NULL));
    OK(sl_output_finish(output));
    OK(sl_buf_append(&d.file, all.data + 12, all.len - 12));
    decode_file(&d);
    check_structure(&d);
    decoded_free(&d);
    sl_buf_free(&all);
    sl_batch_unref(batch);
    sl_type_unref(schema);
}

/* ---- refusals and failures ----------------------------------------------------------------------------- */

static void refuses(const sl_type *type, const char *part)
{
    const sl_type *schema = schema_of((sl_field[]){{.name = "c", .type = type, .nullable = true}}, 1);
    sl_buf file = {0};
    sl_output *output;
    sl_parquet_writer *w;
    OK(sl_output_to_buf(&file, &output));
    FAILS(sl_parquet_writer_new(output, schema, NULL, &w), SL_E_UNSUPPORTED, part);
    sl_output_abort(output);
    sl_buf_free(&file);
    sl_type_unref(schema);
}

static void test_refused_types(void **state)
{
    (void)state;
    const sl_type *empty, *list;
    refuses(simple(SL_NULL), "column c: a column of type null");
    OK(sl_type_struct(NULL, 0, &empty));
    OK(sl_type_list(&(sl_field){.name = "element", .type = empty, .nullable = true}, &list));
    sl_type_unref(empty);
    refuses(list, "column c.list.element: a struct without members");
    const sl_type *deep = simple(SL_INT32);
    for (int i = 0; i < PARQUET_NESTING_MAX + 1; i++) {
        const sl_type *outer;
        OK(sl_type_list(&(sl_field){.name = "element", .type = deep, .nullable = true}, &outer));
        sl_type_unref(deep);
        deep = outer;
    }
    refuses(deep, "nested too deep");
}

static void fill_required(sl_builder **c, int64_t i)
{
    if (i == 41)
        OK(sl_builder_null(c[0]));
    else
        OK(sl_builder_integer(c[0], i));
}

static void fill_required_member(sl_builder **c, int64_t i)
{
    if (i == 7) {
        OK(sl_builder_null(c[0])); /* a null struct's members do not matter */
        return;
    }
    if (i == 41)
        OK(sl_builder_null(sl_builder_child(c[0], 0)));
    else
        OK(sl_builder_integer(sl_builder_child(c[0], 0), i));
    OK(sl_builder_close(c[0]));
}

static void test_null_in_required(void **state)
{
    (void)state;
    sl_buf file = {0};
    const sl_type *schema = schema_of((sl_field[]){{.name = "c", .type = simple(SL_INT32)}}, 1);
    sl_batch *batch = batch_of(schema, fill_required, 50);
    FAILS(write_file(schema, NULL, batch, &file), SL_E_INPUT, "column c, row 41: null");
    sl_batch_unref(batch);
    sl_type_unref(schema);
    const sl_type *member = simple(SL_INT32), *pair;
    OK(sl_type_struct(&(sl_field){.name = "m", .type = member}, 1, &pair));
    sl_type_unref(member);
    schema = schema_of((sl_field[]){{.name = "s", .type = pair, .nullable = true}}, 1);
    batch = batch_of(schema, fill_required_member, 50);
    FAILS(write_file(schema, NULL, batch, &file), SL_E_INPUT, "column s.m, row 41: null");
    /* rows count through the file, not the row group */
    struct sl_parquet_write_options options = {.row_group_rows = 15};
    FAILS(write_file(schema, &options, batch, &file), SL_E_INPUT, "column s.m, row 41: null");
    sl_batch_unref(batch);
    sl_type_unref(schema);
    sl_buf_free(&file);
}

static void test_wrong_batch_and_options(void **state)
{
    (void)state;
    const sl_type *schema = mixed_schema();
    const sl_type *other = schema_of((sl_field[]){{.name = "c", .type = simple(SL_INT32)}}, 1);
    sl_batch *batch = batch_of(schema, fill_mixed, 10);
    sl_buf file = {0};
    FAILS(write_file(other, NULL, batch, &file), SL_E_INPUT, "columns");
    struct sl_parquet_write_options options = {.codec = SL_CODEC_ZSTD, .level = 99};
    FAILS(write_file(schema, &options, batch, &file), SL_E_INPUT, "level 99");
    options = (struct sl_parquet_write_options){.codec = SL_CODEC_SNAPPY, .level = 3};
    FAILS(write_file(schema, &options, batch, &file), SL_E_INPUT, "no levels");
    options = (struct sl_parquet_write_options){.codec = SL_CODEC_GZIP, .level = 13};
    FAILS(write_file(schema, &options, batch, &file), SL_E_INPUT, "level 13");
    sl_buf_free(&file);
    sl_batch_unref(batch);
    sl_type_unref(other);
    sl_type_unref(schema);
    enum sl_parquet_codec codec;
    OK(sl_parquet_codec_named("ZSTD", &codec));
    assert_int_equal(codec, SL_CODEC_ZSTD);
    FAILS(sl_parquet_codec_named("brotli", &codec), SL_E_UNSUPPORTED, "brotli");
    FAILS(sl_parquet_codec_named("zst", &codec), SL_E_UNSUPPORTED, "zst");
}

static void test_out_of_memory(void **state)
{
    (void)state;
    const sl_type *schema = mixed_schema();
    sl_batch *batch = batch_of(schema, fill_mixed, 1500);
    struct sl_parquet_write_options options = {
        .codec = SL_CODEC_ZSTD, .page_rows = 400, .row_group_rows = 1000};
    sl_buf good = {0};
    OK(write_file(schema, &options, batch, &good));
    uint64_t n = 1;
    for (;; n++) {
        sl_buf file = {0};
        sl_test_fail_allocation(n, n % 2);
        sl_status status = write_file(schema, &options, batch, &file);
        sl_test_fail_allocation(0, false);
        if (!status) {
            assert_int_equal(file.len, good.len);
            assert_memory_equal(file.data, good.data, good.len);
            sl_buf_free(&file);
            break;
        }
        assert_int_equal(sl_status_code(status), SL_E_MEMORY);
        sl_status_free(status);
        sl_buf_free(&file);
    }
    assert_true(n > 50); /* the sweep did reach the writer */
    sl_buf_free(&good);
    sl_batch_unref(batch);
    sl_type_unref(schema);
}

static void test_output_failure(void **state)
{
    (void)state;
    const sl_type *schema = mixed_schema();
    sl_batch *batch = batch_of(schema, fill_mixed, 1500);
    sl_buf good = {0};
    OK(write_file(schema, NULL, batch, &good));
    for (size_t room = 0; room < good.len; room += 97) { /* a bounded buffer is an output that fills up */
        sl_buf file = {.max = room + 1};
        sl_status status = write_file(schema, NULL, batch, &file);
        assert_true(status != SL_OK);
        sl_status_free(status);
        sl_buf_free(&file);
    }
    sl_buf_free(&good);
    sl_batch_unref(batch);
    sl_type_unref(schema);
}

int main(void)
{
    random_start();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rle_encode),
        cmocka_unit_test(test_rle_encode_run_is_short),
        cmocka_unit_test(test_rle_encode_levels),
        cmocka_unit_test(test_rle_encode_bits),
        cmocka_unit_test(test_bits_append),
        cmocka_unit_test(test_dictionary_fixed),
        cmocka_unit_test(test_dictionary_and_plain_bytes),
        cmocka_unit_test(test_bound_cut),
        cmocka_unit_test(test_bound_cut_random_text),
        cmocka_unit_test(test_structure),
        cmocka_unit_test(test_footer),
        cmocka_unit_test(test_footer_checksum),
        cmocka_unit_test(test_options_in_file),
        cmocka_unit_test(test_old_lists),
        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_unsigned_bounds),
        cmocka_unit_test(test_half),
        cmocka_unit_test(test_half_bounds_are_exact),
        cmocka_unit_test(test_dictionary_choice),
        cmocka_unit_test(test_dictionary_sample),
        cmocka_unit_test(test_row_groups_and_estimates),
        cmocka_unit_test(test_estimate_beside_a_dictionary),
        cmocka_unit_test(test_huge_values),
        cmocka_unit_test(test_empty_file),
        cmocka_unit_test(test_file_behind_other_bytes),
        cmocka_unit_test(test_refused_types),
        cmocka_unit_test(test_null_in_required),
        cmocka_unit_test(test_wrong_batch_and_options),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_output_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
