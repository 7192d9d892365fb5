/*
 * The reading half of parquet: files of every codec, page version, encoding and nesting (tests/data/parquet)
 * in every way of asking for rows; each encoding on hand-made bytes; damaged files; failing allocations.
 */
#include "check_support.h"
#include "parquet/read_int.h"
#include "parquet/thrift.h"
#include "unit/parquet_rows.h"
#include <lz4frame.h>
#include <stdio.h>
#include <zstd.h>

#define FILE_MAX ((size_t)8 << 20)

static void check_ok(sl_status status, const char *what)
{
    if (status)
        fail_msg("%s: %s", what, sl_status_message(status));
}

/* ---- files --------------------------------------------------------------------------------------------- */

static const char *const names[] = {
    "flat_none",
    "flat_snappy",
    "flat_gzip",
    "flat_zstd",
    "flat_lz4",
    "flat_brotli",
    "flat_v2",
    "required",
    "encodings",
    "encodings_v2",
    "nested",
    "nested_v2",
    "nested_plain",
    "legacy_lists",
    "decimal_integers",
    "int96",
    "dictionary_fallback",
    "empty",
    "all_null",
};
#define NAME_COUNT (sizeof names / sizeof *names)

struct sample {
    sl_buf bytes;
    char *expected;
    char **lines;
    size_t line_count;
};

static void sample_load(const char *name, struct sample *s)
{
    char path[512];
    sl_storage *storage;
    sl_buf packed = {0};
    const char *root = getenv("SL_TEST_DATA") ? getenv("SL_TEST_DATA") : "tests/data";
    memset(s, 0, sizeof *s);
    check_ok(sl_storage_local(&storage), "storage");
    snprintf(path, sizeof path, "%s/parquet/%s.parquet", root, name);
    check_ok(sl_storage_read_all(storage, path, FILE_MAX, &s->bytes), path);
    snprintf(path, sizeof path, "%s/parquet/%s.expected.jsonl.zst", root, name);
    check_ok(sl_storage_read_all(storage, path, FILE_MAX, &packed), path);
    s->expected = sl_malloc(FILE_MAX);
    assert_non_null(s->expected);
    size_t n = ZSTD_decompress(s->expected, FILE_MAX - 1, packed.data, packed.len);
    assert_false(ZSTD_isError(n));
    s->expected[n] = '\0';
    for (size_t i = 0; i < n; i++)
        s->line_count += s->expected[i] == '\n';
    s->lines = sl_calloc(s->line_count + 1, sizeof *s->lines);
    assert_non_null(s->lines);
    char *at = s->expected;
    for (size_t i = 0; i < s->line_count; i++) {
        s->lines[i] = at;
        at = strchr(at, '\n') + 1;
    }
    s->lines[s->line_count] = at;
    sl_buf_free(&packed);
    sl_storage_free(storage);
}

static void sample_free(struct sample *s)
{
    sl_buf_free(&s->bytes);
    sl_free(s->expected);
    sl_free(s->lines);
}

static sl_status sample_rows(const struct sample *s, const struct sl_parquet_scan_options *options,
                             sl_buf *out)
{
    sl_file *file;
    out->len = 0;
    SL_TRY(sl_file_of_memory(s->bytes.data, s->bytes.len, "sample", &file));
    sl_status status = parquet_rows_text(file, false, options, out);
    sl_file_close(file);
    return status;
}

static void compare_text(const char *name, const sl_buf *got, const char *expected, size_t len)
{
    size_t i = 0;
    while (i < got->len && i < len && got->data[i] == (uint8_t)expected[i])
        i++;
    if (i == got->len && i == len)
        return;
    size_t from = i < 150 ? 0 : i - 150;
    fail_msg("%s differs at byte %zu of %zu/%zu:\n got      %.*s\n expected %.*s", name, i, got->len, len,
             (int)(got->len - from < 250 ? got->len - from : 250), (const char *)got->data + from,
             (int)(len - from < 250 ? len - from : 250), expected + from);
}

static void every_sample_matches(void **state)
{
    (void)state;
    static const int64_t batch_rows[] = {0, 1, 7, 64};
    sl_pool *pool;
    check_ok(sl_pool_new(3, &pool), "pool");
    for (size_t i = 0; i < NAME_COUNT; i++) {
        struct sample s;
        sl_buf got = {0};
        sample_load(names[i], &s);
        for (size_t b = 0; b < 4; b++)
            for (int keep = 0; keep < 2; keep++) {
                struct sl_parquet_scan_options options = {
                    .batch_rows = batch_rows[b], .keep_dictionary = keep, .pool = b & 1 ? pool : NULL};
                check_ok(sample_rows(&s, &options, &got), names[i]);
                compare_text(names[i], &got, s.expected, strlen(s.expected));
            }
        sl_buf_free(&got);
        sample_free(&s);
    }
    sl_pool_free(pool);
}

/* Storage that cannot map: pages come through a window of the file. A failing read must come out as such. */
static void unmapped_files_match(void **state)
{
    (void)state;
    const char *root = getenv("SL_TEST_DATA") ? getenv("SL_TEST_DATA") : "tests/data";
    for (size_t i = 0; i < NAME_COUNT; i++) {
        struct sample s;
        sl_buf got = {0};
        bool done = false;
        char path[512];
        sample_load(names[i], &s);
        snprintf(path, sizeof path, "%s/parquet/%s.parquet", root, names[i]);
        for (uint64_t nth = 0; !done; nth++) {
            sl_storage *local, *faulty;
            sl_file *file;
            check_ok(sl_storage_local(&local), "storage");
            check_ok(sl_storage_faulty(local, SL_FAULT_ERROR, nth, &faulty), "storage");
            sl_status status = sl_storage_open(faulty, path, &file);
            if (!status) {
                assert_null(sl_file_memory(file));
                got.len = 0;
                status = parquet_rows_text(file, false, NULL, &got);
                sl_file_close(file);
            }
            done = nth > 0 && status == SL_OK;
            if (status == SL_OK)
                compare_text(names[i], &got, s.expected, strlen(s.expected));
            else
                FAILS(status, SL_E_IO, "");
            sl_storage_free(faulty);
        }
        sl_buf_free(&got);
        sample_free(&s);
    }
}

/* Random ascending ranges of rows of a file. */
static size_t random_ranges(size_t rows, struct sl_row_range *ranges, size_t max)
{
    size_t count = 0;
    uint64_t at = 0;
    while (count < max && at < rows) {
        uint64_t first = at + random_below(random_below(3) ? 8 : 60);
        if (first >= rows)
            break;
        uint64_t n = random_below(random_below(3) ? 6 : 90);
        if (n > rows - first)
            n = rows - first;
        ranges[count++] = (struct sl_row_range){(int64_t)first, (int64_t)n};
        at = first + n;
    }
    return count;
}

static void row_ranges_give_their_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < NAME_COUNT; i++) {
        struct sample s;
        sl_buf got = {0}, expected = {0};
        sample_load(names[i], &s);
        for (int round = 0; round < 40; round++) {
            struct sl_row_range ranges[12];
            size_t count = random_ranges(s.line_count, ranges, 12);
            struct sl_parquet_scan_options options = {.ranges = ranges,
                                                      .range_count = count,
                                                      .batch_rows = (int64_t)random_below(50),
                                                      .keep_dictionary = round & 1};
            expected.len = 0;
            for (size_t r = 0; r < count; r++) {
                const char *from = s.lines[ranges[r].first];
                check_ok(sl_buf_append(&expected, from,
                                       (size_t)(s.lines[ranges[r].first + ranges[r].count] - from)),
                         "memory");
            }
            check_ok(sample_rows(&s, &options, &got), names[i]);
            compare_text(names[i], &got, expected.data ? (const char *)expected.data : "", expected.len);
        }
        sl_buf_free(&got);
        sl_buf_free(&expected);
        sample_free(&s);
    }
}

static void page_index_saves_reading(void **state)
{
    (void)state;
    struct sample s;
    sl_buf got = {0};
    atomic_uint_fast64_t all = 0, few = 0;
    sample_load("flat_v2", &s);
    struct sl_row_range last = {90, 2};
    const char *column = "b"; /* booleans have no dictionary, which would be read in any case */
    struct sl_parquet_scan_options options = {.bytes_read = &all, .columns = &column, .column_count = 1};
    check_ok(sample_rows(&s, &options, &got), "all rows");
    options.bytes_read = &few;
    options.ranges = &last;
    options.range_count = 1;
    check_ok(sample_rows(&s, &options, &got), "two rows");
    assert_true(few > 0);
    assert_true(few * 2 < all);
    sl_buf_free(&got);
    sample_free(&s);
}

static void projection_orders_columns(void **state)
{
    (void)state;
    struct sample s;
    sl_file *file;
    sl_parquet *p;
    sl_stream *stream;
    sl_batch *batch;
    sample_load("nested", &s);
    check_ok(sl_file_of_memory(s.bytes.data, s.bytes.len, "sample", &file), "file");
    check_ok(sl_parquet_open(file, NULL, &p), "open");
    const char *columns[] = {"m", "id", "s"};
    struct sl_parquet_scan_options options = {.columns = columns, .column_count = 3};
    check_ok(sl_parquet_scan(p, &options, &stream), "scan");
    assert_int_equal(stream->schema->field_count, 3);
    check_ok(sl_stream_next(stream, &batch), "next");
    assert_string_equal(batch->schema->fields[1].name, "id");
    assert_int_equal(batch->columns[0]->type->id, SL_MAP);
    assert_int_equal(sl_i64_at(batch->columns[1], 5), 5);
    assert_int_equal(batch->columns[2]->type->id, SL_STRUCT);
    sl_batch_unref(batch);
    sl_stream_close(stream);
    options.column_count = 0; /* no columns: rows are counted all the same */
    int64_t rows = 0;
    check_ok(sl_parquet_scan(p, &options, &stream), "scan");
    for (;;) {
        check_ok(sl_stream_next(stream, &batch), "next");
        if (!batch)
            break;
        rows += batch->rows;
        sl_batch_unref(batch);
    }
    assert_int_equal(rows, 120);
    sl_stream_close(stream);
    const char *missing[] = {"id", "nobody"};
    options = (struct sl_parquet_scan_options){.columns = missing, .column_count = 2};
    FAILS(sl_parquet_scan(p, &options, &stream), SL_E_NOT_FOUND, "nobody");
    struct sl_row_range beyond = {100, 21};
    options = (struct sl_parquet_scan_options){.ranges = &beyond, .range_count = 1};
    FAILS(sl_parquet_scan(p, &options, &stream), SL_E_INPUT, "row range");
    sl_parquet_close(p);
    sl_file_close(file);
    sample_free(&s);
}

static void facts_and_bounds(void **state)
{
    (void)state;
    struct sample s;
    sl_file *file;
    sl_parquet *p;
    sample_load("flat_v2", &s);
    check_ok(sl_file_of_memory(s.bytes.data, s.bytes.len, "sample", &file), "file");
    check_ok(sl_parquet_open(file, NULL, &p), "open");
    assert_int_equal(sl_parquet_rows(p), 100);
    assert_int_equal(sl_parquet_row_groups(p), 1);
    assert_int_equal(sl_parquet_row_group_rows(p, 0), 100);
    assert_non_null(strstr(sl_parquet_created_by(p), "parquet-cpp-arrow"));
    assert_null(sl_parquet_key_value(p, "nothing"));
    struct sl_parquet_chunk_info info;
    int column = sl_type_field_index(sl_parquet_schema(p), "i64");
    check_ok(sl_parquet_chunk_info(p, 0, (size_t)column, &info), "info");
    assert_string_equal(info.path, "i64");
    assert_string_equal(info.physical_type, "INT64");
    assert_string_equal(info.codec, "SNAPPY");
    assert_true(info.has_page_index);
    assert_int_equal(info.values, 100);
    struct sl_parquet_bounds bounds;
    sl_stream *stream;
    sl_batch *batch;
    check_ok(sl_parquet_scan(p, NULL, &stream), "scan");
    check_ok(sl_stream_next(stream, &batch), "next");
    size_t with_bounds = 0;
    for (size_t c = 0; c < batch->schema->field_count; c++) {
        const sl_array *array = batch->columns[c];
        check_ok(sl_parquet_column_bounds(p, 0, (int)c, &bounds), "bounds");
        if (bounds.has_null_count)
            assert_int_equal(bounds.null_count, array->null_count);
        if (bounds.has_bounds)
            for (int64_t i = 0; i < array->length; i++)
                if (sl_is_valid(array, i)) {
                    assert_true(sl_compare(bounds.min, 0, array, i) <= 0);
                    assert_true(sl_compare(bounds.max, 0, array, i) >= 0);
                }
        with_bounds += bounds.has_bounds;
        /* NaN may be among them, and nothing says that it is not */
        bool floating = array->type->id == SL_FLOAT || array->type->id == SL_DOUBLE;
        assert_true(!floating == !bounds.max_number);
        sl_parquet_bounds_free(&bounds);
    }
    assert_true(with_bounds > 10);
    sl_batch_unref(batch);
    sl_stream_close(stream);
    FAILS(sl_parquet_column_bounds(p, 0, 99, &bounds), SL_E_INPUT, "no column");
    sl_parquet_close(p);
    sl_file_close(file);
    sample_free(&s);
}

static void kept_dictionaries_are_kept(void **state)
{
    (void)state;
    struct sample s;
    sl_file *file;
    sl_parquet *p;
    sl_stream *stream;
    sl_batch *batch;
    sample_load("flat_none", &s);
    check_ok(sl_file_of_memory(s.bytes.data, s.bytes.len, "sample", &file), "file");
    check_ok(sl_parquet_open(file, NULL, &p), "open");
    const char *columns[] = {"s"};
    struct sl_parquet_scan_options options = {.columns = columns, .column_count = 1, .keep_dictionary = true};
    check_ok(sl_parquet_scan(p, &options, &stream), "scan");
    check_ok(sl_stream_next(stream, &batch), "next");
    assert_non_null(batch->columns[0]->dictionary);
    assert_true(batch->columns[0]->dictionary->length < batch->rows);
    sl_stream_close(stream); /* batches outlive their stream */
    sl_parquet_close(p);
    sl_buf text = {0};
    check_ok(batch_text(batch, &text), "text");
    sl_buf_free(&text);
    sl_batch_unref(batch);
    sl_file_close(file);
    sample_free(&s);
}

/* ---- damaged files ------------------------------------------------------------------------------------- */

/* Reads what can be read; only the absence of crashes counts (and, under ASan, of bad memory accesses and
 * leaks). */
static void try_read(const uint8_t *data, size_t len)
{
    sl_file *file;
    sl_parquet *p;
    sl_stream *stream;
    struct sl_parquet_open_options open = {.ignore_checksums = true};
    check_ok(sl_file_of_memory(data, len, "mutant", &file), "file");
    if (!sl_status_ignore(sl_parquet_open(file, &open, &p))) {
        if (!sl_status_ignore(sl_parquet_scan(p, NULL, &stream))) {
            for (int batches = 0; batches < 20; batches++) {
                sl_batch *batch = NULL;
                if (sl_status_ignore(sl_stream_next(stream, &batch)) || !batch)
                    break;
                sl_batch_unref(batch);
            }
            sl_stream_close(stream);
        }
        sl_parquet_close(p);
    }
    sl_file_close(file);
}

static void mutants_never_crash(void **state)
{
    (void)state;
    const char *rounds_text = getenv("ROUNDS");
    int rounds = rounds_text ? atoi(rounds_text) : 150;
    for (size_t i = 0; i < NAME_COUNT; i++) {
        struct sample s;
        sample_load(names[i], &s);
        uint8_t *copy = sl_malloc(s.bytes.len);
        assert_non_null(copy);
        for (int round = 0; round < rounds; round++) {
            memcpy(copy, s.bytes.data, s.bytes.len);
            size_t at = (size_t)random_below(s.bytes.len);
            if (round & 1) /* half of them in the footer, which decides most */
                at = s.bytes.len - 1 - (size_t)random_below(s.bytes.len < 3000 ? s.bytes.len : 3000);
            copy[at] = (uint8_t)(random_below(4) ? random_next() : copy[at] ^ (1u << random_below(8)));
            try_read(copy, s.bytes.len);
        }
        for (int round = 0; round < 10; round++)
            try_read(s.bytes.data, (size_t)random_below(s.bytes.len));
        sl_free(copy);
        sample_free(&s);
    }
}

static void checksum_is_verified(void **state)
{
    (void)state;
    struct sample s;
    sl_buf got = {0};
    sample_load("flat_none", &s);
    s.bytes.data[200] ^= 0x10; /* inside the first pages */
    FAILS(sample_rows(&s, NULL, &got), SL_E_CORRUPT, "checksum");
    sl_buf_free(&got);
    sample_free(&s);
}

static void failing_allocations_are_reported(void **state)
{
    (void)state;
    static const char *const some[] = {"flat_v2", "nested", "dictionary_fallback"};
    for (size_t i = 0; i < 3; i++) {
        struct sample s;
        sl_buf got = {0};
        bool done = false;
        sample_load(some[i], &s);
        for (uint64_t nth = 1; !done; nth += nth < 300 ? 1 : 37) {
            struct sl_parquet_scan_options options = {.batch_rows = 50, .keep_dictionary = true};
            sl_test_fail_allocation(nth, true);
            sl_status status = sample_rows(&s, &options, &got);
            sl_test_fail_allocation(0, false);
            done = status == SL_OK;
            if (!done)
                FAILS(status, SL_E_MEMORY, "");
            assert_true(nth < 200000);
        }
        sl_buf_free(&got);
        sample_free(&s);
    }
}

static void not_parquet_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
        enum sl_code code;
        const char *part;
    } cases[] = {
        {"", 0, SL_E_CORRUPT, "0 bytes"},
        {"PAR1PAR1", 8, SL_E_CORRUPT, "8 bytes"},
        {"hello, world", 12, SL_E_CORRUPT, "magic at its start"},
        {"PAR1xxxx\0\0\0\0nope", 16, SL_E_CORRUPT, "magic at its end"},
        {"PARExxxx\0\0\0\0PARE", 16, SL_E_UNSUPPORTED, "encrypted"},
        {"PAR1\xff\xff\xff\x7fPAR1", 12, SL_E_CORRUPT, "footer of 2147483647 bytes"},
        {"PAR1\0\0\0\0PAR1", 12, SL_E_CORRUPT, "ends too early"},
        {"PAR1\0\1\0\0\0PAR1", 13, SL_E_CORRUPT, "missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sl_file *file;
        sl_parquet *p;
        check_ok(sl_file_of_memory(cases[i].bytes, cases[i].len, "name-of-file", &file), "file");
        sl_status status = sl_parquet_open(file, NULL, &p);
        assert_non_null(strstr(sl_status_message(status), "name-of-file"));
        FAILS(status, cases[i].code, cases[i].part);
        sl_file_close(file);
    }
}

/* ---- what is not supported ----------------------------------------------------------------------------- */

/* The message that reading the file ends with. The footer is `footer`, the data in front is the sample's. */
static void check_refusal(const struct sample *s, const sl_buf *footer, const char *part)
{
    size_t old = load_le32(s->bytes.data + s->bytes.len - 8) + 8;
    sl_buf file = {0}, rows = {0};
    uint8_t tail[8] = {0, 0, 0, 0, 'P', 'A', 'R', '1'};
    store_le32(tail, (uint32_t)footer->len);
    check_ok(sl_buf_append(&file, s->bytes.data, s->bytes.len - old), "data");
    check_ok(sl_buf_append(&file, footer->data, footer->len), "footer");
    check_ok(sl_buf_append(&file, tail, sizeof tail), "tail");
    FAILS(sample_rows(&(struct sample){.bytes = file}, NULL, &rows), SL_E_UNSUPPORTED, part);
    sl_buf_free(&file);
    sl_buf_free(&rows);
}

/* The footer of one required integer column without rows, whose chunk says that it is encrypted. */
static void put_encrypted_chunk(sl_buf *out)
{
    struct thrift_writer w;
    thrift_writer_init(&w, out);
    thrift_begin_struct(&w);
    thrift_put_list(&w, 2, THRIFT_STRUCT, 2);
    thrift_begin_struct(&w);
    thrift_put_string(&w, 4, "schema");
    thrift_put_i32(&w, 5, 1);
    thrift_end_struct(&w);
    thrift_begin_struct(&w);
    thrift_put_i32(&w, 1, PARQUET_INT32);
    thrift_put_i32(&w, 3, PARQUET_REQUIRED);
    thrift_put_string(&w, 4, "secret");
    thrift_end_struct(&w);
    thrift_put_i64(&w, 3, 0);
    thrift_put_list(&w, 4, THRIFT_STRUCT, 1);
    thrift_begin_struct(&w);
    thrift_put_list(&w, 1, THRIFT_STRUCT, 1);
    thrift_begin_struct(&w);
    thrift_put_i64(&w, 2, 0);
    thrift_begin_struct_field(&w, 8);
    thrift_end_struct(&w);
    thrift_end_struct(&w);
    thrift_put_i64(&w, 3, 0);
    thrift_end_struct(&w);
    thrift_end_struct(&w);
    check_ok(thrift_writer_status(&w), "footer");
}

static void unsupported_features_are_named(void **state)
{
    (void)state;
    struct sample s;
    sl_arena *arena;
    sl_buf footer = {0};
    struct parquet_file_metadata meta;
    sample_load("required", &s);
    check_ok(sl_arena_new(&arena), "arena");
    size_t len = load_le32(s.bytes.data + s.bytes.len - 8);
    check_ok(parquet_file_metadata_decode(s.bytes.data + s.bytes.len - 8 - len, len, 0, arena, &meta),
             "footer");
    struct parquet_column_chunk *chunk = &meta.row_groups[0].columns[0];
    static const struct {
        int32_t codec;
        const char *part;
    } codecs[] = {{PARQUET_CODEC_LZO, "LZO"}, {12, "codec unknown (12)"}};
    for (size_t i = 0; i < 2; i++) {
        chunk->meta.codec = codecs[i].codec;
        footer.len = 0;
        check_ok(parquet_file_metadata_encode(&meta, &footer), "encode");
        check_refusal(&s, &footer, codecs[i].part);
    }
    chunk->file_path = "other.parquet";
    footer.len = 0;
    check_ok(parquet_file_metadata_encode(&meta, &footer), "encode");
    check_refusal(&s, &footer, "in another file (other.parquet)");
    chunk->file_path = NULL;
    footer.len = 0;
    check_ok(parquet_file_metadata_encode(&meta, &footer), "encode");
    footer.data[footer.len - 1] =
        0x1c; /* behind field 7: field 8, a struct, whose end follows with that of the footer */
    check_ok(sl_buf_append(&footer, "\0\0", 2), "encryption");
    check_refusal(&s, &footer, "encrypted Parquet file");
    footer.len = 0;
    put_encrypted_chunk(&footer);
    check_refusal(&s, &footer, "encrypted column secret");
    sl_buf_free(&footer);
    sl_arena_free(arena);
    sample_free(&s);
}

/* ---- schemas ------------------------------------------------------------------------------------------- */

#define GROUP(NAME, REPETITION, CHILDREN, CONVERTED)                                                         \
    {                                                                                                        \
        .name = (NAME), .has_repetition = true, .repetition = (enum parquet_repetition)(REPETITION),         \
        .children = (CHILDREN), .converted = (CONVERTED)                                                     \
    }
#define LEAF(NAME, REPETITION)                                                                               \
    {                                                                                                        \
        .name = (NAME), .has_repetition = true, .repetition = (enum parquet_repetition)(REPETITION),         \
        .has_type = true, .type = PARQUET_INT32, .converted = PARQUET_CONVERTED_NONE                         \
    }
#define ROOT(CHILDREN)                                                                                       \
    {                                                                                                        \
        .name = "schema", .children = (CHILDREN), .converted = PARQUET_CONVERTED_NONE                        \
    }
enum {
    REQ = PARQUET_REQUIRED,
    OPT = PARQUET_OPTIONAL,
    REP = PARQUET_REPEATED,
    NONE = PARQUET_CONVERTED_NONE,
    LIST = PARQUET_CONVERTED_LIST,
    MAP = PARQUET_CONVERTED_MAP,
};

static sl_status schema_of(struct parquet_schema_element *elements, size_t count, sl_arena *arena,
                           struct parquet_schema *out)
{
    struct parquet_file_metadata meta = {.schema = elements, .schema_count = count};
    return parquet_schema_build(&meta, arena, out);
}

/* The rules of spec/parquet.md 9, one by one. */
static void legacy_lists_and_maps(void **state)
{
    (void)state;
    static const struct {
        const char *expected;
        int max_def, max_rep; /* of the first leaf */
        size_t count;
        struct parquet_schema_element elements[8];
    } cases[] = {
        {"v list<int>",
         3,
         1,
         4,
         {ROOT(1), GROUP("v", OPT, 1, LIST), GROUP("list", REP, 1, NONE), LEAF("element", OPT)}},
        {"v list<int not null>", 2, 1, 3, {ROOT(1), GROUP("v", OPT, 1, LIST), LEAF("element", REP)}},
        {"v list<struct<a: int not null, b: int> not null>",
         2,
         1,
         5,
         {ROOT(1), GROUP("v", OPT, 1, LIST), GROUP("element", REP, 2, NONE), LEAF("a", REQ), LEAF("b", OPT)}},
        {"v list<struct<str: list<int not null> not null> not null>",
         3,
         2,
         4,
         {ROOT(1), GROUP("v", OPT, 1, LIST), GROUP("element", REP, 1, NONE), LEAF("str", REP)}},
        {"v list<struct<str: int not null> not null>",
         2,
         1,
         4,
         {ROOT(1), GROUP("v", OPT, 1, LIST), GROUP("array", REP, 1, NONE), LEAF("str", REQ)}},
        {"v list<struct<str: int not null> not null>",
         2,
         1,
         4,
         {ROOT(1), GROUP("v", OPT, 1, LIST), GROUP("v_tuple", REP, 1, NONE), LEAF("str", REQ)}},
        {"v list<int not null> not null", 1, 1, 2, {ROOT(1), LEAF("v", REP)}},
        {"v list<struct<a: int not null> not null> not null",
         1,
         1,
         3,
         {ROOT(1), GROUP("v", REP, 1, NONE), LEAF("a", REQ)}},
        {"v map<int, int>",
         2,
         1,
         5,
         {ROOT(1), GROUP("v", OPT, 1, MAP), GROUP("map", REP, 2, PARQUET_CONVERTED_MAP_KEY_VALUE),
          LEAF("key", REQ), LEAF("value", OPT)}},
        {"v map<int, int not null> not null",
         1,
         1,
         5,
         {ROOT(1), GROUP("v", REQ, 1, PARQUET_CONVERTED_MAP_KEY_VALUE), GROUP("any", REP, 2, NONE),
          LEAF("k", REQ), LEAF("v", REQ)}},
        /* called a list, but not built like one */
        {"v struct<a: int>", 2, 0, 3, {ROOT(1), GROUP("v", OPT, 1, LIST), LEAF("a", OPT)}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sl_arena *arena;
        struct parquet_schema schema;
        struct parquet_schema_element elements[8];
        const sl_type *expected;
        memcpy(elements, cases[i].elements, sizeof elements);
        check_ok(sl_arena_new(&arena), "arena");
        check_ok(schema_of(elements, cases[i].count, arena, &schema), cases[i].expected);
        check_ok(sl_schema_parse(cases[i].expected, &expected), cases[i].expected);
        if (!sl_type_equal(schema.type, expected)) {
            char *text;
            check_ok(sl_type_text(schema.type, &text), "text");
            fail_msg("%s was read as %s", cases[i].expected, text);
        }
        assert_int_equal(schema.leaves[0].max_def, cases[i].max_def);
        assert_int_equal(schema.leaves[0].max_rep, cases[i].max_rep);
        sl_type_unref(schema.type);
        sl_type_unref(expected);
        sl_arena_free(arena);
    }
}

static void bad_schemas_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *part;
        size_t count;
        struct parquet_schema_element elements[4];
    } cases[] = {
        {"ends inside", 2, {ROOT(2), LEAF("a", REQ)}},
        {"outside of its tree", 3, {ROOT(1), LEAF("a", REQ), LEAF("b", REQ)}},
        {"claims 9 fields", 3, {ROOT(1), GROUP("a", REQ, 9, NONE), LEAF("b", REQ)}},
        {"without fields", 2, {ROOT(1), GROUP("a", REQ, 0, NONE)}},
        {"root is not a group", 1, {LEAF("a", REQ)}},
        {"unknown repetition", 2, {ROOT(1), LEAF("a", 3)}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sl_arena *arena;
        struct parquet_schema schema;
        struct parquet_schema_element elements[4];
        memcpy(elements, cases[i].elements, sizeof elements);
        check_ok(sl_arena_new(&arena), "arena");
        sl_status status = schema_of(elements, cases[i].count, arena, &schema);
        if (!strstr(sl_status_message(status), cases[i].part))
            fail_msg("'%s' does not say '%s'", sl_status_message(status), cases[i].part);
        sl_status_free(status);
        sl_arena_free(arena);
    }
    /* deeper than our levels go */
    struct parquet_schema_element deep[100];
    for (size_t i = 0; i < 99; i++)
        deep[i] = (struct parquet_schema_element)GROUP("g", OPT, 1, NONE);
    deep[0].has_repetition = false;
    deep[99] = (struct parquet_schema_element)LEAF("leaf", OPT);
    sl_arena *arena;
    struct parquet_schema schema;
    check_ok(sl_arena_new(&arena), "arena");
    FAILS(schema_of(deep, 100, arena, &schema), SL_E_UNSUPPORTED, "nested over");
    sl_arena_free(arena);
}

/* What was decoded from a footer is encoded to the same structures again. */
static void footers_survive_a_round_trip(void **state)
{
    (void)state;
    for (size_t i = 0; i < NAME_COUNT; i++) {
        struct sample s;
        sl_arena *arena;
        sl_buf once = {0}, twice = {0};
        struct parquet_file_metadata meta, again;
        sample_load(names[i], &s);
        check_ok(sl_arena_new(&arena), "arena");
        size_t len = load_le32(s.bytes.data + s.bytes.len - 8);
        const uint8_t *footer = s.bytes.data + s.bytes.len - 8 - len;
        check_ok(parquet_file_metadata_decode(footer, len, 0, arena, &meta), names[i]);
        check_ok(parquet_file_metadata_encode(&meta, &once), names[i]);
        check_ok(parquet_file_metadata_decode(once.data, once.len, 0, arena, &again), names[i]);
        check_ok(parquet_file_metadata_encode(&again, &twice), names[i]);
        assert_int_equal(once.len, twice.len);
        assert_memory_equal(once.data, twice.data, once.len);
        assert_true(once.len + once.len / 2 >
                    len); /* only what we do not know was left out (size statistics) */
        for (size_t cut = 0; cut < len; cut += 1 + len / 200) /* and never reads behind its end */
            FAILS(parquet_file_metadata_decode(footer, cut, 0, arena, &again), SL_E_CORRUPT, "footer");
        sl_buf_free(&once);
        sl_buf_free(&twice);
        sl_arena_free(arena);
        sample_free(&s);
    }
}

/* ---- encodings on hand-made bytes ---------------------------------------------------------------------- */

static void hybrid_by_hand(void **state)
{
    (void)state;
    /* 0..7 bit-packed in 3 bits, the format's own example, then a run of 5 sevens, then a group cut short */
    const uint8_t bytes[] = {0x03, 0x88, 0xc6, 0xfa, 0x0a, 0x07, 0x03, 0x11};
    struct parquet_hybrid h;
    uint32_t out[32];
    parquet_hybrid_init(&h, bytes, sizeof bytes, 3);
    assert_int_equal(parquet_hybrid_read(&h, out, 32), 15);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(out[i], i);
    for (uint32_t i = 8; i < 13; i++)
        assert_int_equal(out[i], 7);
    assert_int_equal(out[13], 1);
    assert_int_equal(out[14], 2);
    /* a repeated value that needs more bits than there are */
    const uint8_t wide[] = {0x04, 0x08};
    parquet_hybrid_init(&h, wide, sizeof wide, 3);
    assert_int_equal(parquet_hybrid_read(&h, out, 2), 0);
    /* the deprecated BIT_PACKED levels: 0..7 most significant bit first */
    const uint8_t msb[] = {0x05, 0x39, 0x77};
    parquet_hybrid_init_msb(&h, msb, sizeof msb, 3, 8);
    assert_int_equal(parquet_hybrid_read(&h, out, 8), 8);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(out[i], i);
}

static void put_bits(uint8_t *bytes, size_t bit, uint64_t value, int width)
{
    for (int i = 0; i < width; i++)
        if (value >> i & 1)
            bytes[(bit + (size_t)i) >> 3] =
                (uint8_t)(bytes[(bit + (size_t)i) >> 3] | 1u << ((bit + (size_t)i) & 7));
}

/* Random runs of every width, against the values they were made from; in pieces, skipped, as levels and as
 * bits. */
static void hybrid_of_every_width(void **state)
{
    (void)state;
    enum { MAX = 4000 };
    static uint32_t values[MAX], got[MAX];
    static uint8_t bytes[MAX * 8], levels[MAX], bits[MAX / 8 + 8];
    for (int width = 1; width <= 32; width++) {
        size_t count = 0, len = 0;
        while (count < 3000) {
            memset(bytes + len, 0, 1000);
            if (random_below(2)) {
                size_t groups = 1 + (size_t)random_below(20);
                bytes[len++] = (uint8_t)(groups << 1 | 1);
                for (size_t i = 0; i < groups * 8; i++) {
                    values[count + i] = (uint32_t)(random_next() & (UINT64_MAX >> (64 - width)));
                    put_bits(bytes + len, i * (size_t)width, values[count + i], width);
                }
                count += groups * 8;
                len += groups * (size_t)width;
            } else {
                size_t n = 1 + (size_t)random_below(60);
                uint32_t v = (uint32_t)(random_next() & (UINT64_MAX >> (64 - width)));
                bytes[len++] = (uint8_t)(n << 1);
                put_bits(bytes + len, 0, v, width);
                len += (size_t)(width + 7) / 8;
                for (size_t i = 0; i < n; i++)
                    values[count++] = v;
            }
        }
        uint8_t *exact = sl_malloc(len); /* so that ASan sees a read behind the end */
        assert_non_null(exact);
        memcpy(exact, bytes, len);
        struct parquet_hybrid h;
        parquet_hybrid_init(&h, exact, len, width);
        for (size_t at = 0; at < count;) {
            size_t n = 1 + (size_t)random_below(200);
            if (n > count - at)
                n = count - at;
            if (random_below(3) == 0) {
                assert_int_equal(parquet_hybrid_skip(&h, n), n);
            } else {
                assert_int_equal(parquet_hybrid_read(&h, got, n), n);
                assert_memory_equal(got, values + at, n * sizeof *got);
            }
            at += n;
        }
        assert_int_equal(parquet_hybrid_read(&h, got, 1), 0);
        if (width <= 8) {
            parquet_hybrid_init(&h, exact, len, width);
            assert_int_equal(parquet_hybrid_bytes(&h, levels, count), count);
            for (size_t i = 0; i < count; i++)
                assert_int_equal(levels[i], values[i]);
        }
        if (width == 1) {
            size_t from = (size_t)random_below(9), ones = 0;
            parquet_hybrid_init(&h, exact, len, 1);
            for (size_t at = 0; at < count;) {
                size_t n = 1 + (size_t)random_below(130);
                n = n > count - at ? count - at : n;
                assert_int_equal(parquet_hybrid_bits(&h, bits, from + at, n), n);
                at += n;
            }
            for (size_t i = 0; i < count; i++) {
                assert_int_equal(bit_get(bits, (int64_t)(from + i)), values[i]);
                ones += values[i];
            }
            assert_int_equal(parquet_bits_count(bits, from, count), ones);
        }
        sl_free(exact);
    }
}

static size_t put_uleb(uint8_t *out, uint64_t v)
{
    size_t n = 0;
    for (; v >= 0x80; v >>= 7)
        out[n++] = (uint8_t)(v | 0x80);
    out[n++] = (uint8_t)v;
    return n;
}

static uint64_t zigzag(int64_t v) { return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0); }

/* A plain encoder: blocks of 128 in 4 miniblocks. */
static size_t put_deltas(uint8_t *out, const uint64_t *values, size_t count)
{
    size_t len = put_uleb(out, 128);
    len += put_uleb(out + len, 4);
    len += put_uleb(out + len, count);
    len += put_uleb(out + len, zigzag(count ? (int64_t)values[0] : 0));
    for (size_t at = 1; at < count; at += 128) {
        size_t n = count - at < 128 ? count - at : 128;
        int64_t min = INT64_MAX;
        for (size_t i = 0; i < n; i++) {
            int64_t delta = (int64_t)(values[at + i] - values[at + i - 1]);
            min = delta < min ? delta : min;
        }
        len += put_uleb(out + len, zigzag(min));
        uint8_t *widths = out + len;
        memset(widths, 0, 4);
        len += 4;
        for (size_t m = 0; m < 4 && m * 32 < n; m++) {
            size_t in_mini = n - m * 32 < 32 ? n - m * 32 : 32;
            for (size_t i = 0; i < in_mini; i++) {
                size_t k = at + m * 32 + i;
                uint64_t d = values[k] - values[k - 1] - (uint64_t)min;
                int width = d ? 64 - sl_clz64(d) : 0;
                widths[m] = width > widths[m] ? (uint8_t)width : widths[m];
            }
            memset(out + len, 0, 32 * 8);
            for (size_t i = 0; i < in_mini; i++) {
                size_t k = at + m * 32 + i;
                put_bits(out + len, i * widths[m], values[k] - values[k - 1] - (uint64_t)min, widths[m]);
            }
            len += 4 * (size_t)widths[m];
        }
    }
    return len;
}

static void deltas_of_every_width(void **state)
{
    (void)state;
    static uint64_t values[700], got[700];
    static uint8_t bytes[20000];
    for (int width = 0; width <= 64; width++)
        for (int round = 0; round < 6; round++) {
            static const size_t counts[] = {0, 1, 2, 129, 333, 700};
            size_t count = counts[round], span;
            for (size_t i = 0; i < count; i++)
                values[i] = width ? random_next() >> (64 - width) : 5;
            size_t len = put_deltas(bytes, values, count);
            uint8_t *exact = sl_malloc(len);
            assert_non_null(exact);
            memcpy(exact, bytes, len);
            struct parquet_delta d;
            check_ok(parquet_delta_span(exact, len, &span), "span");
            assert_int_equal(span, len);
            check_ok(parquet_delta_init(&d, exact, len), "init");
            for (size_t at = 0; at < count;) {
                size_t n = 1 + (size_t)random_below(100);
                n = n > count - at ? count - at : n;
                check_ok(parquet_delta_read(&d, got + at, n), "read");
                at += n;
            }
            if (count > 0)
                assert_memory_equal(got, values, count * sizeof *got);
            FAILS(parquet_delta_read(&d, got, 1), SL_E_CORRUPT, "0 values left");
            sl_free(exact);
        }
}

static void bad_deltas_are_refused(void **state)
{
    (void)state;
    static const uint8_t odd_block[] = {0x81, 0x01, 4, 1, 0}, no_miniblocks[] = {0x80, 0x01, 0, 1, 0},
                         short_header[] = {0x80, 0x01, 4}, wide[] = {0x80, 0x01, 4, 3, 0, 0, 65, 0, 0, 0},
                         cut[] = {0x80, 0x01, 4, 40, 0, 0, 8, 8, 0, 0, 1, 2, 3};
    struct parquet_delta d;
    uint64_t out[40];
    FAILS(parquet_delta_init(&d, odd_block, sizeof odd_block), SL_E_CORRUPT, "blocks of 129");
    FAILS(parquet_delta_init(&d, no_miniblocks, sizeof no_miniblocks), SL_E_CORRUPT, "0 miniblocks");
    FAILS(parquet_delta_init(&d, short_header, sizeof short_header), SL_E_CORRUPT, "too early");
    check_ok(parquet_delta_init(&d, wide, sizeof wide), "init");
    FAILS(parquet_delta_read(&d, out, 3), SL_E_CORRUPT, "width of 65 bits");
    check_ok(parquet_delta_init(&d, cut, sizeof cut), "init");
    FAILS(parquet_delta_read(&d, out, 40), SL_E_CORRUPT, "too early");
}

static sl_status strings_of(enum parquet_physical physical, int encoding, const uint8_t *bytes, size_t len,
                            size_t count, struct parquet_strings *out)
{
    struct parquet_values v = {0};
    out->count = 0;
    sl_status status = parquet_values_init(&v, physical, 0, encoding, bytes, len);
    if (!status)
        status = parquet_values_strings(&v, out, count);
    parquet_values_free(&v);
    return status;
}

static void strings_by_hand(void **state)
{
    (void)state;
    struct parquet_strings s = {0};
    static const uint8_t plain[] = {2, 0, 0, 0, 'h', 'i', 0, 0, 0, 0, 3, 0, 0, 0, 'y', 'o', 'u'};
    check_ok(strings_of(PARQUET_BYTE_ARRAY, PARQUET_PLAIN, plain, sizeof plain, 3, &s), "plain");
    assert_int_equal(s.count, 3);
    assert_int_equal(s.offsets[3], 5);
    assert_memory_equal(s.data, "hiyou", 5);
    FAILS(strings_of(PARQUET_BYTE_ARRAY, PARQUET_PLAIN, plain, sizeof plain, 4, &s), SL_E_CORRUPT,
          "too early");
    FAILS(strings_of(PARQUET_BYTE_ARRAY, PARQUET_PLAIN, plain, sizeof plain - 1, 3, &s), SL_E_CORRUPT,
          "past its page");
    /* axis, axle, babble, babyhood: the format's own example */
    uint8_t bytes[400];
    const uint64_t prefixes[] = {0, 2, 0, 3}, suffixes[] = {4, 2, 6, 5};
    size_t len = put_deltas(bytes, prefixes, 4);
    len += put_deltas(bytes + len, suffixes, 4);
    memcpy(bytes + len, "axislebabbleyhood", 17);
    check_ok(strings_of(PARQUET_BYTE_ARRAY, PARQUET_DELTA_BYTE_ARRAY, bytes, len + 17, 4, &s),
             "delta byte array");
    assert_memory_equal(s.data, "axisaxlebabblebabyhood", 22);
    assert_int_equal(s.offsets[2], 8);
    FAILS(strings_of(PARQUET_BYTE_ARRAY, PARQUET_DELTA_BYTE_ARRAY, bytes, len + 16, 4, &s), SL_E_CORRUPT,
          "suffixes");
    const uint64_t long_prefix[] = {1, 2, 0, 3};
    len = put_deltas(bytes, long_prefix, 4);
    len += put_deltas(bytes + len, suffixes, 4);
    memset(bytes + len, 'x', 17);
    FAILS(strings_of(PARQUET_BYTE_ARRAY, PARQUET_DELTA_BYTE_ARRAY, bytes, len + 17, 4, &s), SL_E_CORRUPT,
          "prefix");
    len = put_deltas(bytes, suffixes, 4);
    memcpy(bytes + len, "axislebabbleyhood", 17);
    check_ok(strings_of(PARQUET_BYTE_ARRAY, PARQUET_DELTA_LENGTH_BYTE_ARRAY, bytes, len + 17, 4, &s),
             "delta length");
    assert_memory_equal(s.data, "axislebabbleyhood", 17);
    assert_int_equal(s.offsets[3], 12);
    const uint64_t negative[] = {UINT64_MAX};
    len = put_deltas(bytes, negative, 1);
    FAILS(strings_of(PARQUET_BYTE_ARRAY, PARQUET_DELTA_LENGTH_BYTE_ARRAY, bytes, len, 1, &s), SL_E_CORRUPT,
          "lengths");
    FAILS(strings_of(PARQUET_BYTE_ARRAY, PARQUET_ALP, bytes, len, 1, &s), SL_E_UNSUPPORTED, "ALP");
    FAILS(strings_of(PARQUET_BYTE_ARRAY, PARQUET_RLE, bytes, len, 1, &s), SL_E_UNSUPPORTED, "RLE");
    parquet_strings_free(&s);
}

static void byte_stream_split_by_hand(void **state)
{
    (void)state;
    static const size_t widths[] = {4, 8, 3};
    for (size_t w = 0; w < 3; w++) {
        enum { COUNT = 50 };
        size_t width = widths[w];
        uint8_t values[COUNT * 8], streams[COUNT * 8], got[COUNT * 8];
        for (size_t i = 0; i < COUNT * width; i++)
            values[i] = (uint8_t)random_next();
        for (size_t i = 0; i < COUNT; i++)
            for (size_t k = 0; k < width; k++)
                streams[k * COUNT + i] = values[i * width + k];
        struct parquet_values v = {0};
        enum parquet_physical physical = width == 4   ? PARQUET_FLOAT
                                         : width == 8 ? PARQUET_INT64
                                                      : PARQUET_FIXED;
        check_ok(parquet_values_init(&v, physical, width, PARQUET_BYTE_STREAM_SPLIT, streams, COUNT * width),
                 "init");
        check_ok(parquet_values_fixed(&v, got, 20), "20 values");
        check_ok(parquet_values_skip(&v, 3), "skip");
        check_ok(parquet_values_fixed(&v, got + 23 * width, COUNT - 23), "the rest");
        assert_memory_equal(got, values, 20 * width);
        assert_memory_equal(got + 23 * width, values + 23 * width, (COUNT - 23) * width);
        FAILS(parquet_values_fixed(&v, got, 1), SL_E_CORRUPT, "too early");
        FAILS(parquet_values_init(&v, physical, width, PARQUET_BYTE_STREAM_SPLIT, streams, COUNT * width - 1),
              SL_E_CORRUPT, "byte stream split");
    }
}

static sl_status one_value(struct parquet_values *v)
{
    struct parquet_strings strings = {0};
    uint8_t out[16];
    uint32_t index;
    if (parquet_values_are_indexes(v))
        return parquet_values_indexes(v, &index, 1, 1);
    if (v->physical == PARQUET_BOOLEAN)
        return parquet_values_bools(v, out, 1);
    if (v->physical != PARQUET_BYTE_ARRAY)
        return parquet_values_fixed(v, out, 1);
    sl_status status = parquet_values_strings(v, &strings, 1);
    parquet_strings_free(&strings);
    return status;
}

/* A page of nulls has no value section: whatever the encoding, and whatever the page before it left, it has no value. */
static void empty_sections_have_no_values(void **state)
{
    (void)state;
    static const struct {
        enum parquet_physical physical;
        size_t width;
        int encoding;
    } cases[] = {
        {PARQUET_INT32, 4, PARQUET_PLAIN},
        {PARQUET_BOOLEAN, 0, PARQUET_PLAIN},
        {PARQUET_BYTE_ARRAY, 0, PARQUET_PLAIN},
        {PARQUET_INT64, 8, PARQUET_RLE_DICTIONARY},
        {PARQUET_BOOLEAN, 0, PARQUET_RLE},
        {PARQUET_INT64, 8, PARQUET_DELTA_BINARY_PACKED},
        {PARQUET_BYTE_ARRAY, 0, PARQUET_DELTA_LENGTH_BYTE_ARRAY},
        {PARQUET_BYTE_ARRAY, 0, PARQUET_DELTA_BYTE_ARRAY},
        {PARQUET_FIXED, 3, PARQUET_DELTA_BYTE_ARRAY},
        {PARQUET_INT32, 4, PARQUET_BYTE_STREAM_SPLIT},
    };
    const uint8_t byte = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct parquet_values v;
        memset(&v, 0x11, sizeof v);
        v.previous = (sl_buf){0};
        v.carry_over = false;
        OK(parquet_values_init(&v, cases[i].physical, cases[i].width, cases[i].encoding, &byte, 0));
        OK(parquet_values_skip(&v, 0));
        FAILS(one_value(&v), SL_E_CORRUPT, "");
        FAILS(parquet_values_skip(&v, 1), SL_E_CORRUPT, "");
        parquet_values_free(&v);
    }
}

static void conversions_by_hand(void **state)
{
    (void)state;
    uint8_t out[16];
    sl_i128 v;
    /* -1 and 2^(8n-1)-1 in big-endian forms of every length */
    for (size_t width = 1; width <= 20; width++) {
        uint8_t in[20];
        memset(in, 0xff, sizeof in);
        check_ok(parquet_convert(PARQUET_FIXED_TO_DECIMAL, in, width, 1, out), "decimal");
        memcpy(&v, out, 16);
        assert_true(v == -1);
        in[0] = 0x7f;
        sl_status status = parquet_convert(PARQUET_FIXED_TO_DECIMAL, in, width, 1, out);
        if (width > 16) {
            FAILS(status, SL_E_CORRUPT, "128 bits");
            continue;
        }
        check_ok(status, "decimal");
        memcpy(&v, out, 16);
        sl_u128 expected = (((sl_u128)1 << (8 * width - 1)) - 1);
        assert_true((sl_u128)v == expected);
    }
    /* Julian day 2440587, one nanosecond before midnight: one microsecond before the epoch */
    uint8_t int96[12];
    store_le64(int96, UINT64_C(86399999999999));
    store_le32(int96 + 8, 2440587);
    check_ok(parquet_convert(PARQUET_INT96_TO_MICROS, int96, 12, 1, out), "int96");
    assert_true((int64_t)load_le64(out) == -1);
    store_le64(int96, UINT64_MAX); /* -1 ns is floored */
    store_le32(int96 + 8, 2440588);
    check_ok(parquet_convert(PARQUET_INT96_TO_MICROS, int96, 12, 1, out), "int96");
    assert_true((int64_t)load_le64(out) == -1);
    store_le32(int96 + 8, 0x7fffffff);
    FAILS(parquet_convert(PARQUET_INT96_TO_MICROS, int96, 12, 1, out), SL_E_CORRUPT, "out of range");
}

static void bitmap_helpers(void **state)
{
    (void)state;
    for (int round = 0; round < 400; round++) {
        uint8_t from[64], to[64], before[64], bytes[400], back[64] = {0};
        for (size_t i = 0; i < 64; i++) {
            from[i] = (uint8_t)random_next();
            to[i] = before[i] = (uint8_t)random_next();
        }
        size_t n = (size_t)random_below(300), a = (size_t)random_below(200), b = (size_t)random_below(200);
        parquet_bits_copy(to, a, from, b, n);
        for (size_t i = 0; i < 512; i++)
            assert_int_equal(bit_get(to, (int64_t)i), i >= a && i < a + n
                                                          ? bit_get(from, (int64_t)(b + i - a))
                                                          : bit_get(before, (int64_t)i));
        parquet_bits_to_bytes(from, b, n, bytes);
        parquet_bytes_to_bits(bytes, n, back);
        size_t ones = 0;
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(bytes[i], bit_get(from, (int64_t)(b + i)));
            assert_int_equal(bit_get(back, (int64_t)i), bytes[i]);
            ones += bytes[i];
        }
        assert_int_equal(parquet_bits_count(from, b, n), ones);
        static const size_t widths[] = {1, 2, 4, 8, 16, 3};
        for (size_t w = 0; w < 6; w++) {
            static uint8_t values[400 * 16];
            static int32_t offsets[401];
            size_t width = widths[w], k = 0;
            for (size_t i = 0; i < ones * width; i++)
                values[i] = (uint8_t)(1 + i / width % 250);
            for (size_t i = 0; i <= ones; i++)
                offsets[i] = (int32_t)(i * 10);
            parquet_spread(values, width, from, b, n, ones);
            parquet_spread_offsets(offsets, from, b, n, ones);
            assert_int_equal(offsets[0], 0);
            for (size_t i = 0; i < n; i++) {
                uint8_t expected = bytes[i] ? (uint8_t)(1 + k % 250) : 0;
                k += bytes[i];
                for (size_t j = 0; j < width; j++)
                    assert_int_equal(values[i * width + j], expected);
                assert_int_equal(offsets[i + 1], k * 10);
            }
        }
    }
}

static void codecs_check_sizes(void **state)
{
    (void)state;
    struct parquet_decompressor d = {0};
    uint8_t out[64];
    /* Hadoop framing: 5 bytes in one block of literals */
    static const uint8_t lz4[] = {0, 0, 0, 5, 0, 0, 0, 6, 0x50, 'h', 'e', 'l', 'l', 'o'};
    check_ok(parquet_decompress(&d, PARQUET_CODEC_LZ4_HADOOP, lz4, sizeof lz4, out, 5), "hadoop lz4");
    assert_memory_equal(out, "hello", 5);
    check_ok(parquet_decompress(&d, PARQUET_CODEC_LZ4_HADOOP, lz4 + 8, 6, out, 5),
             "raw block under the same number");
    assert_memory_equal(out, "hello", 5);
    FAILS(parquet_decompress(&d, PARQUET_CODEC_LZ4_HADOOP, lz4, sizeof lz4, out, 6), SL_E_CORRUPT, "lz4");
    uint8_t frame[64];
    size_t frame_len = LZ4F_compressFrame(frame, sizeof frame, "hello", 5, NULL);
    assert_false(LZ4F_isError(frame_len));
    memset(out, 0, 5);
    check_ok(parquet_decompress(&d, PARQUET_CODEC_LZ4_HADOOP, frame, frame_len, out, 5),
             "frame under the same number");
    assert_memory_equal(out, "hello", 5);
    static const uint8_t snappy[] = {5, 16, 'h', 'e', 'l', 'l', 'o'};
    check_ok(parquet_decompress_plausible(PARQUET_CODEC_SNAPPY, snappy, sizeof snappy, 5), "snappy");
    FAILS(parquet_decompress_plausible(PARQUET_CODEC_SNAPPY, snappy, sizeof snappy, 1 << 30), SL_E_CORRUPT,
          "SNAPPY");
    FAILS(parquet_decompress_plausible(PARQUET_CODEC_GZIP, snappy, sizeof snappy, 1 << 30), SL_E_CORRUPT,
          "GZIP");
    FAILS(parquet_decompress_plausible(PARQUET_CODEC_LZO, snappy, sizeof snappy, 5), SL_E_UNSUPPORTED, "LZO");
    parquet_decompressor_free(&d);
}

/* ---- memory -------------------------------------------------------------------------------------------- */

/* A block serves whatever is rounded up to its size, whichever blocks were given back in between. */
static void test_blocks_are_used_again(void **state)
{
    (void)state;
    sl_parquet_memory *memory;
    OK(sl_parquet_memory_new((size_t)1 << 20, &memory));
    for (size_t bytes = 4096; bytes <= 1 << 17; bytes *= 2) {
        void *block = parquet_block_alloc(memory, 2 * bytes - 1),
             *other = parquet_block_alloc(memory, bytes / 2);
        assert_true(block && other);
        parquet_block_free(block);
        parquet_block_free(other);
        assert_ptr_equal(parquet_block_alloc(memory, 2 * bytes), block);
        parquet_block_free(block);
    }
    sl_parquet_memory_unref(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_are_used_again),
        cmocka_unit_test(every_sample_matches),
        cmocka_unit_test(unmapped_files_match),
        cmocka_unit_test(row_ranges_give_their_rows),
        cmocka_unit_test(page_index_saves_reading),
        cmocka_unit_test(projection_orders_columns),
        cmocka_unit_test(facts_and_bounds),
        cmocka_unit_test(kept_dictionaries_are_kept),
        cmocka_unit_test(mutants_never_crash),
        cmocka_unit_test(checksum_is_verified),
        cmocka_unit_test(failing_allocations_are_reported),
        cmocka_unit_test(not_parquet_is_refused),
        cmocka_unit_test(unsupported_features_are_named),
        cmocka_unit_test(legacy_lists_and_maps),
        cmocka_unit_test(bad_schemas_are_refused),
        cmocka_unit_test(footers_survive_a_round_trip),
        cmocka_unit_test(hybrid_by_hand),
        cmocka_unit_test(hybrid_of_every_width),
        cmocka_unit_test(deltas_of_every_width),
        cmocka_unit_test(bad_deltas_are_refused),
        cmocka_unit_test(strings_by_hand),
        cmocka_unit_test(byte_stream_split_by_hand),
        cmocka_unit_test(empty_sections_have_no_values),
        cmocka_unit_test(conversions_by_hand),
        cmocka_unit_test(bitmap_helpers),
        cmocka_unit_test(codecs_check_sizes),
    };
    return cmocka_run_group_tests(tests, random_set_up, NULL);
}
