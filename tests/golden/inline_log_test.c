/*
 * Inline logs written by Hudi 1.0.2 and 1.2.0 (tests/data/log, each with its decoded twin in JSON): rows, deletes,
 * compacted instants, the walk over torn files; blocks made here for what no writer made; mutations of all of them.
 * SEED=n repeats the mutations.
 */
#include "check_support.h"
#include "avro/avro.h"
#include "log/log.h"
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

/* ---- files -------------------------------------------------------------------------------------------------- */

struct golden {
    char path[600];
    sl_buf bytes;
    json_t *twin;
};

static void load(struct golden *g)
{
    sl_storage *storage;
    char path[620];
    json_error_t error;
    OK(sl_storage_local(&storage));
    OK(sl_storage_read_all(storage, g->path, 1 << 24, &g->bytes));
    sl_storage_free(storage);
    snprintf(path, sizeof path, "%s.json", g->path);
    g->twin = json_load_file(path, 0, &error);
    if (!g->twin)
        fail_msg("%s: %s", path, error.text);
}

/* Calls check for every log of the folder (of all folders when NULL) in the order of their names. */
static size_t each_golden(const char *folder, void (*check)(const struct golden *))
{
    const char *root = getenv("SL_TEST_DATA");
    char path[300];
    size_t count = 0;
    sl_storage *storage;
    sl_listing listing;
    snprintf(path, sizeof path, "%s/log%s%s", root ? root : "tests/data", folder ? "/" : "",
             folder ? folder : "");
    OK(sl_storage_local(&storage));
    OK(sl_storage_list(storage, path, &listing));
    for (size_t i = 0; i < listing.count; i++) {
        const char *name = listing.entries[i].name;
        size_t len = strlen(name);
        if (!folder && listing.entries[i].is_dir) {
            count += each_golden(name, check);
        } else if (name[0] == '.' && (len < 5 || strcmp(name + len - 5, ".json") != 0)) {
            struct golden g = {0};
            snprintf(g.path, sizeof g.path, "%s/%s", path, name);
            load(&g);
            check(&g);
            json_decref(g.twin);
            sl_buf_free(&g.bytes);
            count++;
        }
    }
    sl_listing_free(&listing);
    sl_storage_free(storage);
    return count;
}

static sl_status read_bytes(const void *data, size_t len, const sl_type *schema, const sl_type *deletes,
                            const sl_runtime *runtime, struct sl_inline_log *out)
{
    sl_file *file;
    OK(sl_file_of_memory(data, len, "t.log", &file));
    sl_status status = sl_inline_log_read(file, schema, deletes, runtime, out);
    sl_file_close(file);
    return status;
}

static void count_warning(void *context, int level, const char *message)
{
    assert_int_equal(level, 1);
    assert_non_null(strstr(message, "damaged"));
    ++*(size_t *)context;
}

/* ---- values against the twin -------------------------------------------------------------------------------- */

static bool bytes_are(const uint8_t *data, size_t len, const char *hex)
{
    if (strlen(hex) != 2 * len)
        return false;
    for (size_t i = 0; i < len; i++) {
        unsigned byte;
        if (sscanf(hex + 2 * i, "%2x", &byte) != 1 || byte != data[i])
            return false;
    }
    return true;
}

/* A text of the twin as the type would read it. */
static bool is_text_of(const sl_array *array, int64_t row, const char *text)
{
    sl_builder *b;
    sl_array *wanted;
    OK(sl_builder_new(array->type, &b));
    OK(sl_builder_text(b, text, strlen(text)));
    OK(sl_builder_finish(b, &wanted));
    sl_builder_free(b);
    bool same = sl_equal_at(array, row, wanted, 0);
    sl_array_unref(wanted);
    return same;
}

static bool value_is(const sl_array *array, int64_t row, const json_t *want);

static bool list_is(const sl_array *array, int64_t row, const json_t *want)
{
    int32_t from = array->offsets[row], count = array->offsets[row + 1] - from;
    if ((size_t)count != json_array_size(want))
        return false;
    for (int32_t i = 0; i < count; i++)
        if (!value_is(array->children[0], from + i, json_array_get(want, (size_t)i)))
            return false;
    return true;
}

/* The twin of an Avro block has maps as objects, that of a Parquet block as pairs. */
static bool map_is(const sl_array *array, int64_t row, const json_t *want)
{
    int32_t from = array->offsets[row], count = array->offsets[row + 1] - from;
    const sl_array *keys = array->children[0]->children[0], *values = array->children[0]->children[1];
    size_t size = json_is_object(want) ? json_object_size(want) : json_array_size(want);
    if ((size_t)count != size)
        return false;
    for (int32_t i = 0; i < count; i++) {
        size_t len;
        char key[64] = {0};
        const uint8_t *text = sl_bytes_at(keys, from + i, &len);
        assert_true(len < sizeof key);
        memcpy(key, text, len);
        const json_t *pair = json_array_get(want, (size_t)i);
        if (pair && strcmp(json_string_value(json_array_get(pair, 0)), key) != 0)
            return false;
        if (!value_is(values, from + i, pair ? json_array_get(pair, 1) : json_object_get(want, key)))
            return false;
    }
    return true;
}

static bool struct_is(const sl_array *array, int64_t row, const json_t *want)
{
    for (size_t i = 0; i < array->child_count; i++)
        if (!value_is(array->children[i], row, json_object_get(want, array->type->fields[i].name)))
            return false;
    return json_object_size(want) == array->child_count;
}

static bool value_is(const sl_array *array, int64_t row, const json_t *want)
{
    size_t len;
    const uint8_t *bytes;
    if (!want)
        return false;
    if (!sl_is_valid(array, row) || json_is_null(want))
        return !sl_is_valid(array, row) && json_is_null(want);
    switch (array->type->id) {
    case SL_BOOL:
        return json_is_boolean(want) && sl_bool_at(array, row) == json_boolean_value(want);
    case SL_FLOAT:
        return sl_float_at(array, row) == (float)json_number_value(want);
    case SL_DOUBLE:
        return sl_double_at(array, row) == json_number_value(want);
    case SL_STRING:
        bytes = sl_bytes_at(array, row, &len);
        return json_string_length(want) == len && memcmp(json_string_value(want), bytes, len) == 0;
    case SL_BINARY:
    case SL_FIXED:
        bytes = sl_bytes_at(array, row, &len);
        return bytes_are(bytes, len,
                         json_string_value(json_is_string(want) ? want : json_object_get(want, "hex")));
    case SL_DECIMAL:
    case SL_DATE:
    case SL_TIMESTAMP:
        return json_is_string(want) ? is_text_of(array, row, json_string_value(want))
                                    : sl_integer_at(array, row) == json_integer_value(want);
    case SL_LIST:
        return list_is(array, row, want);
    case SL_MAP:
        return map_is(array, row, want);
    case SL_STRUCT:
        return struct_is(array, row, want);
    default:
        return json_is_integer(want) && sl_integer_at(array, row) == json_integer_value(want);
    }
}

/* ---- whole files ---------------------------------------------------------------------------------------------- */

static const char *block_type(const json_t *block)
{
    return json_string_value(json_object_get(block, "type"));
}

static const char *block_header(const json_t *block, const char *key)
{
    return json_string_value(json_object_get(json_object_get(block, "header"), key));
}

/* The schema that the twin's first block with one has (those of a metadata table are no table's). */
static const sl_type *twin_schema(const json_t *twin)
{
    size_t i;
    json_t *block;
    const sl_type *type;
    json_array_foreach(json_object_get(twin, "blocks"), i, block)
    {
        const json_t *schema = json_object_get(json_object_get(block, "header"), "SCHEMA");
        if (!json_is_object(schema))
            continue;
        char *text = json_dumps(schema, JSON_COMPACT);
        sl_status status = sl_avro_schema_parse(text, strlen(text), &type);
        free(text);
        if (!status)
            return type;
        FAILS(status, SL_E_UNSUPPORTED, "HoodieMetadataRecord");
    }
    OK(sl_schema_parse("k string", &type));
    return type;
}

/* Key and the ordering columns, taken from the table's schema; a long when the file does not tell. */
static const sl_type *delete_schema(const sl_type *schema, const char *const *ordering, size_t count)
{
    const sl_type *key, *number, *out;
    sl_field fields[4];
    OK(sl_type_new(SL_STRING, &key));
    OK(sl_type_new(SL_INT64, &number));
    fields[0] = (sl_field){.name = "_hoodie_record_key", .type = key};
    for (size_t i = 0; i < count; i++) {
        int at = sl_type_field_index(schema, ordering[i]);
        fields[1 + i] = (sl_field){
            .name = ordering[i], .type = at < 0 ? number : schema->fields[at].type, .nullable = true};
    }
    OK(sl_type_struct(fields, 1 + count, &out));
    sl_type_unref(key);
    sl_type_unref(number);
    return out;
}

static bool ordering_is(const sl_batch *batch, int64_t row, const json_t *want)
{
    const char *kind = json_object_iter_key(json_object_iter((json_t *)want));
    const json_t *value = kind ? json_object_get(want, kind) : NULL;
    bool now = !value || (strcmp(kind, "Int") == 0 && json_integer_value(value) == 0);
    bool is_tuple = value && strcmp(kind, "Array") == 0;
    for (size_t c = 1; c < batch->schema->field_count; c++) {
        const json_t *item = is_tuple ? json_array_get(value, c - 1) : value;
        if (is_tuple)
            item = json_object_iter_value(json_object_iter((json_t *)item));
        if (now ? sl_is_valid(batch->columns[c], row) : !value_is(batch->columns[c], row, item))
            return false;
    }
    return true;
}

static void check_piece(const struct golden *g, const json_t *block, const struct sl_inline_piece *piece)
{
    const json_t *records = json_object_get(block, "records"), *record;
    size_t i;
    assert_string_equal(piece->instant, block_header(block, "INSTANT_TIME"));
    assert_int_equal(piece->is_deletes, strcmp(block_type(block), "DELETE_BLOCK") == 0);
    assert_int_equal(piece->batch->rows, json_array_size(records));
    json_array_foreach(records, i, record)
    {
        if (!piece->is_deletes) {
            for (size_t c = 0; c < piece->batch->schema->field_count; c++)
                if (!value_is(piece->batch->columns[c], (int64_t)i,
                              json_object_get(record, piece->batch->schema->fields[c].name)))
                    fail_msg("%s: row %zu: %s differs", g->path, i, piece->batch->schema->fields[c].name);
        } else if (!value_is(piece->batch->columns[0], (int64_t)i, json_object_get(record, "recordKey")) ||
                   !ordering_is(piece->batch, (int64_t)i, json_object_get(record, "orderingVal"))) {
            fail_msg("%s: delete %zu differs", g->path, i);
        }
    }
    const char *compacted = block_header(block, "COMPACTED_BLOCK_TIMES");
    sl_strings want = {0};
    OK(sl_strings_split(&want, compacted ? compacted : "", ','));
    assert_int_equal(piece->compacted.count, want.count);
    for (i = 0; i < want.count; i++)
        assert_string_equal(piece->compacted.items[i], want.items[i]);
    sl_strings_free(&want);
}

static const char *const *ordering_names;
static size_t ordering_count;
static size_t row_total, delete_total, compacted_total;

static void check_golden(const struct golden *g)
{
    const json_t *blocks = json_object_get(g->twin, "blocks"), *block;
    const sl_type *schema = twin_schema(g->twin),
                  *deletes = delete_schema(schema, ordering_names, ordering_count);
    size_t warnings = 0, corrupt = 0, piece = 0, i;
    sl_runtime runtime = {.on_log = count_warning, .log_context = &warnings};
    struct sl_inline_log log;
    sl_status status = read_bytes(g->bytes.data, g->bytes.len, schema, deletes, &runtime, &log);
    if (status)
        fail_msg("%s: %s", g->path, sl_status_message(status));
    json_array_foreach(blocks, i, block)
    {
        const char *type = block_type(block);
        if (strcmp(type, "CORRUPT_BLOCK") == 0) {
            corrupt++;
        } else if (strcmp(type, "COMMAND_BLOCK") != 0 && strcmp(type, "CDC_DATA_BLOCK") != 0 &&
                   json_array_size(json_object_get(block, "records")) > 0) {
            assert_true(piece < log.count);
            const struct sl_inline_piece *p = &log.pieces[piece++];
            check_piece(g, block, p);
            *(p->is_deletes ? &delete_total : &row_total) += (size_t)p->batch->rows;
            compacted_total += p->compacted.count;
        }
    }
    assert_int_equal(piece, log.count);
    assert_int_equal(warnings, corrupt);
    sl_inline_log_free(&log);
    sl_type_unref(schema);
    sl_type_unref(deletes);
}

static void check_folder(const char *folder, size_t files, const char *const *ordering, size_t count)
{
    ordering_names = ordering;
    ordering_count = count;
    assert_int_equal(each_golden(folder, check_golden), files);
}

static void test_golden(void **state)
{
    (void)state;
    static const char *const ts[] = {"ts"}, *const o[] = {"o"}, *const ts_s[] = {"ts", "s"};
    row_total = delete_total = compacted_total = 0;
    check_folder("avro_v9", 1, ts, 1);
    check_folder("avro_v8", 2, ts, 1);
    check_folder("avro_v6", 2, ts, 1);
    check_folder("delete_v9", 1, ts, 1);
    check_folder("parquet_v9", 1, ts, 1);
    check_folder("multi_ordering", 1, ts_s, 2);
    check_folder("ordering_types", 8, o, 1);
    check_folder("logcompact_v9", 6, ts, 1);
    check_folder("logcompact_v6", 4, ts, 1);
    check_folder("logcompact_deletes", 5, ts, 1);
    check_folder("v8_102", 4, ts, 1);
    check_folder("rollover_v9", 3, ts, 1);
    check_folder("rollover_v6", 3, ts, 1);
    check_folder("rollback_v6", 4, ts, 1);
    check_folder("bucket_v9", 1, ts, 1);
    check_folder("nometa_v9", 1, ts, 1);
    check_folder("mixed_v9", 1, ts, 1);
    check_folder("alltypes_v9", 2, NULL, 0);
    check_folder("cdc_mor", 4, NULL, 0);
    check_folder("delete_all_types", 1, NULL, 0); /* values of every type, none wanted */
    check_folder("custom_marker", 1, ts, 1);
    check_folder("torn", 17, NULL, 0);
    print_message("%zu rows, %zu deletes\n", row_total, delete_total);
    assert_true(row_total > 250 && delete_total > 60 && compacted_total > 10);
}

/* ---- what is refused ------------------------------------------------------------------------------------------ */

static const char *refusal;
static size_t refusals, acceptances;

static void check_refused(const struct golden *g)
{
    const sl_type *schema = twin_schema(g->twin), *deletes = delete_schema(schema, NULL, 0);
    struct sl_inline_log log;
    sl_status status = read_bytes(g->bytes.data, g->bytes.len, schema, deletes, NULL, &log);
    if (status) {
        FAILS(status, SL_E_UNSUPPORTED, refusal);
        refusals++;
    } else {
        acceptances++;
        sl_inline_log_free(&log);
    }
    sl_type_unref(schema);
    sl_type_unref(deletes);
}

static void test_refused(void **state)
{
    (void)state;
    refusals = acceptances = 0;
    refusal = "partial-update block";
    each_golden("partial_v9", check_refused);
    assert_int_equal(refusals, 2);
    assert_int_equal(acceptances, 1); /* the delete block */
    refusals = acceptances = 0;
    refusal = "HFile";
    each_golden("hfile_mdt_v9", check_refused);
    assert_int_equal(refusals, 1);
    assert_int_equal(acceptances, 1);
}

/* ---- other schemas -------------------------------------------------------------------------------------------- */

static void check_narrowed(const struct golden *g)
{
    const sl_type *schema;
    struct sl_inline_log log;
    OK(sl_schema_parse("ts decimal(20,2), added double, _hoodie_record_key string, k string", &schema));
    const sl_type *deletes = delete_schema(schema, NULL, 0);
    OK(read_bytes(g->bytes.data, g->bytes.len, schema, deletes, NULL, &log));
    assert_int_equal(log.count, 1);
    const sl_batch *batch = log.pieces[0].batch;
    assert_true(sl_type_equal(batch->schema, schema));
    const json_t *records = json_object_get(json_array_get(json_object_get(g->twin, "blocks"), 0), "records");
    for (int64_t i = 0; i < batch->rows; i++) {
        const json_t *record = json_array_get(records, (size_t)i);
        assert_true(sl_decimal_at(batch->columns[0], i) ==
                    (sl_i128)json_integer_value(json_object_get(record, "ts")) * 100);
        assert_false(sl_is_valid(batch->columns[1], i));
        assert_true(value_is(batch->columns[2], i, json_object_get(record, "_hoodie_record_key")));
        assert_true(value_is(batch->columns[3], i, json_object_get(record, "k")));
    }
    sl_inline_log_free(&log);
    sl_type_unref(deletes);
    sl_type_unref(schema);
    OK(sl_schema_parse("k string, needed int not null", &schema));
    deletes = delete_schema(schema, NULL, 0);
    FAILS(read_bytes(g->bytes.data, g->bytes.len, schema, deletes, NULL, &log), SL_E_INPUT, "needed");
    sl_type_unref(deletes);
    sl_type_unref(schema);
}

static void test_conform(void **state)
{
    (void)state;
    assert_int_equal(each_golden("avro_v9", check_narrowed), 1);
    assert_int_equal(each_golden("parquet_v9", check_narrowed), 1);
}

/* ---- blocks made here ----------------------------------------------------------------------------------------- */

static void put32(sl_buf *b, uint32_t v)
{
    uint8_t bytes[4];
    store_be32(bytes, v);
    OK(sl_buf_append(b, bytes, 4));
}

static void put64(sl_buf *b, uint64_t v)
{
    put32(b, (uint32_t)(v >> 32));
    put32(b, (uint32_t)v);
}

struct block_form {
    uint32_t version, type;
    const char *instant, *schema; /* NULL: no such header */
    const void *content;
    size_t content_len;
};

static void put_block(sl_buf *out, const struct block_form *f)
{
    sl_buf body = {0};
    put32(&body, f->version);
    put32(&body, f->type);
    put32(&body, (f->instant != NULL) + (f->schema != NULL));
    const char *const values[] = {f->instant, f->schema};
    for (uint32_t i = 0; i < 2; i++)
        if (values[i]) {
            put32(&body, i * 2);
            put32(&body, (uint32_t)strlen(values[i]));
            OK(sl_buf_append(&body, values[i], strlen(values[i])));
        }
    put64(&body, f->content_len);
    OK(sl_buf_append(&body, f->content, f->content_len));
    put32(&body, 0);
    OK(sl_buf_append(out, "#HUDI#", 6));
    put64(out, body.len + 8);
    OK(sl_buf_append(out, body.data, body.len));
    put64(out, body.len + 14);
    sl_buf_free(&body);
}

/* A delete block of one record with key "k" and this orderingVal. */
static void put_delete(sl_buf *out, const char *ordering, size_t len)
{
    sl_buf content = {0};
    static const uint8_t head[] = {2, 2, 2, 'k', 2, 2, 'p'}; /* one record, key, partition */
    put32(&content, 3);
    put32(&content, (uint32_t)(sizeof head + len + 1));
    OK(sl_buf_append(&content, head, sizeof head));
    OK(sl_buf_append(&content, ordering, len));
    OK(sl_buf_byte(&content, 0));
    put_block(out, &(struct block_form){1, 1, "20240101000000000", NULL, content.data, content.len});
    sl_buf_free(&content);
}

#define BYTES(s) s, sizeof(s) - 1
static const struct {
    const char *columns; /* the ordering columns */
    const char *bytes;
    size_t len;
    const char *want; /* canonical texts of the columns, "error" when it cannot be */
} orderings[] = {
    {"o int", BYTES("\x00"), "null"},
    {"o int", BYTES("\x04\x00"), "null"},
    {"o string", BYTES("\x04\x00"), "null"},
    {"o int, q string", BYTES("\x04\x00"), "null null"},
    {"o int", BYTES("\x04\x0e"), "7"},
    {"o int", BYTES("\x06\x0e"), "7"},
    {"o long", BYTES("\x06\x00"), "0"}, /* a long 0 is a value */
    {"o long", BYTES("\x04\x09"), "-5"},
    {"o int", BYTES("\x06\x80\x80\x80\x80\x80\x01"), "error"},
    {"o boolean", BYTES("\x02\x01"), "true"},
    {"o boolean", BYTES("\x02\x00"), "false"},
    {"o float", BYTES("\x08\x00\x00\xc0\x3f"), "1.5"},
    {"o double", BYTES("\x0a\x00\x00\x00\x00\x00\x00\x02\xc0"), "-2.25"},
    {"o double", BYTES("\x08\x00\x00\xc0\x3f"), "1.5"},
    {"o double", BYTES("\x04\x0e"), "7.0"},
    {"o binary", BYTES("\x0c\x06\x01\x02\xff"), "hex:0102ff"},
    {"o string", BYTES("\x0e\x04zz"), "zz"},
    {"o string", BYTES("\x0e\x02\xff"), "error"},
    {"o string", BYTES("\x0e\x00"), ""},
    {"o date", BYTES("\x10\xb2\x9a\x02"), "2019-06-26"},
    {"o date", BYTES("\x04\x02"), "1970-01-02"},
    {"o decimal(10,3)", BYTES("\x12\x10\x01\xb6\x9a\x93\xf1\x64\x00\x00"), "123.456"},
    {"o decimal(10,3)", BYTES("\x12\x10\x01\xb6\x9b\x4b\xa5\xf8\x80\x00"), "error"},
    {"o decimal(10,3)", BYTES("\x12\x0e\xff\x8d\x67\x56\xc2\x20\x00"), "-0.126"},
    {"o decimal(20,15)", BYTES("\x12\x02\x05"), "0.000000000000005"},
    {"o decimal(20,18)", BYTES("\x12\x02\x05"), "0.000000000000005000"},
    {"o decimal(10,2)", BYTES("\x04\x0e"), "7.00"},
    {"o decimal(10,2)", BYTES("\x12\x00"), "error"},
    {"o timestamp", BYTES("\x16\x80\x89\x7a"), "1970-01-01T00:00:01.000000Z"},
    {"o timestamp", BYTES("\x06\x80\x89\x7a"), "1970-01-01T00:00:01.000000Z"},
    {"o long, q string", BYTES("\x18\x02\x04\x06\xc8\x01\x0e\x02z\x00"), "100 z"},
    {"o long, q string", BYTES("\x18\x02\x03\x0a\x06\xc8\x01\x0e\x02z\x00"),
     "100 z"}, /* block with its size */
    {"o long, q date", BYTES("\x18\x02\x02\x06\x02\x02\x18\x02\x00"),
     "1 1970-01-02"}, /* two blocks, LocalDate */
    {"o long, q string", BYTES("\x18\x02\x04\x06\xc8\x01\x00\x00"), "100 null"},
    {"o long", BYTES("\x18\x02\x02\x06\xc8\x01\x00"), "100"},
    {"o long, q string", BYTES("\x18\x00"), "null null"},
    {"o long, q string", BYTES("\x18\x02\x02\x06\xc8\x01\x00"), "error"}, /* too few */
    {"o long", BYTES("\x18\x02\x04\x06\xc8\x01\x0e\x02z\x00"), "error"},  /* too many */
    {"o long, q string", BYTES("\x06\x02"), "error"},
    {"o long", BYTES("\x0e\x02z"), "error"},
    {"o string", BYTES("\x06\x02"), "error"},
    {"o long", BYTES("\x1a\x02"), "error"},
    {"o long", BYTES("\x01"), "error"},
    {"o long", BYTES("\x06\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "error"},
    {"o long", BYTES("\x04\xff\xff\xff\xff\xff\x01"), "error"}, /* int of 41 bits */
    {"o string", BYTES("\x0e\xfe\xff\xff\xff\x0f"), "error"},
    {"o string", BYTES("\x0e\x01"), "error"},
};

static void test_orderings(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof orderings / sizeof *orderings; i++) {
        sl_buf file = {0}, text = {0};
        char columns[128];
        const sl_type *schema;
        struct sl_inline_log log;
        snprintf(columns, sizeof columns, "_hoodie_record_key string not null, %s", orderings[i].columns);
        OK(sl_schema_parse(columns, &schema));
        put_delete(&file, orderings[i].bytes, orderings[i].len);
        sl_status status = read_bytes(file.data, file.len, schema, schema, NULL, &log);
        if (strcmp(orderings[i].want, "error") == 0) {
            if (sl_status_code(status) != SL_E_CORRUPT)
                fail_msg("ordering %zu: '%s'", i, sl_status_message(status));
            sl_status_free(status);
        } else {
            if (status)
                fail_msg("ordering %zu: %s", i, sl_status_message(status));
            assert_int_equal(log.count, 1);
            for (size_t c = 1; c < schema->field_count; c++) {
                const sl_array *column = log.pieces[0].batch->columns[c];
                OK(sl_buf_printf(&text, c > 1 ? " " : ""));
                if (sl_is_valid(column, 0))
                    OK(sl_value_text(column, 0, SL_TEXT_PLAIN, &text));
                else
                    OK(sl_buf_printf(&text, "null"));
            }
            OK(sl_buf_byte(&text, 0));
            if (strcmp((const char *)text.data, orderings[i].want) != 0)
                fail_msg("ordering %zu: %s, want %s", i, (const char *)text.data, orderings[i].want);
            sl_inline_log_free(&log);
        }
        sl_buf_free(&file);
        sl_buf_free(&text);
        sl_type_unref(schema);
    }
}

/* ---- Kryo ------------------------------------------------------------------------------------------------------- */

static int64_t kryo_expected; /* of k2; k1 is a delete now in both */
static void check_kryo(const struct golden *g)
{
    const sl_type *schema;
    struct sl_inline_log log;
    bool second = strstr(g->path, "del-v2") != NULL;
    OK(sl_schema_parse("_hoodie_record_key string not null, o long", &schema));
    OK(read_bytes(g->bytes.data, g->bytes.len, schema, schema, NULL, &log));
    assert_int_equal(log.count, 1);
    const sl_batch *batch = log.pieces[0].batch;
    assert_int_equal(batch->rows, 2);
    for (int64_t i = 0; i < 2; i++) {
        size_t len;
        const uint8_t *key = sl_bytes_at(batch->columns[0], i, &len);
        assert_int_equal(len, 2);
        assert_memory_equal(key, i ? "k2" : "k1", 2);
        assert_int_equal(sl_is_valid(batch->columns[1], i), i == 1 && second);
    }
    if (second)
        assert_int_equal(sl_i64_at(batch->columns[1], 1), kryo_expected);
    sl_inline_log_free(&log);
    sl_type_unref(schema);
}

static void test_kryo(void **state)
{
    (void)state;
    kryo_expected = 77;
    assert_int_equal(each_golden("delete_v1_v2", check_kryo), 2);
}

/* Texts of every form and further boxed types, by hand: one character, empty, longer than 63, beyond ASCII. */
static void test_kryo_texts(void **state)
{
    (void)state;
    sl_buf payload = {0}, content = {0}, file = {0};
    const sl_type *schema;
    struct sl_inline_log log;
    char longest[101];
    memset(longest, 'x', 100);
    longest[100] = 0;
    static const char array_name[] = "\x01\x00[Lorg.apache.hudi.common.model.DeleteRecord\xbb\x01\x06";
    static const char first[] = "\x01\x01org.apache.hudi.common.model.DeleteRecor\xe4\x01\x01\x02org.apache."
                                "hudi.common.model.HoodieKe\xf9\x01\x01\x82p\x01\x82k";
    OK(sl_buf_append(&payload, BYTES(array_name)));
    OK(sl_buf_append(&payload, BYTES(first)));
    OK(sl_buf_append(&payload, BYTES("\x0a\x3f\xf8\x00\x00\x00\x00\x00\x00"))); /* double 1.5 */
    OK(sl_buf_append(
        &payload,
        BYTES(
            "\x01\x01\x01\x01\x02\x01\x00\x01\x81\x04\x40\x20\x00\x00"))); /* null partition, key "", float 2.5 */
    OK(sl_buf_append(&payload,
                     BYTES("\x01\x01\x01\x01\x02\x01\x00\x01\xe5\x01"))); /* 100 characters: 101 = 37 + 64 */
    OK(sl_buf_append(&payload, longest, 100));
    OK(sl_buf_append(&payload, BYTES("\x00"))); /* null */
    OK(sl_buf_append(&payload, BYTES("\x01\x01\x01\x01\x02\x01\x00\x01\x84\xc3\xa9\xed\xa0\xbd\xed\xb8\x80"
                                     "\x05\x01"))); /* e acute, U+1F600, boolean */
    OK(sl_buf_append(&payload,
                     BYTES("\x01\x01\x01\x01\x02\x08\x02"))); /* the key of an earlier record, int 1 */
    put32(&content, 2);
    OK(sl_buf_append(&payload, BYTES("\x02")));
    put32(&content, (uint32_t)payload.len);
    OK(sl_buf_append(&content, payload.data, payload.len));
    put_block(&file, &(struct block_form){1, 1, "1", NULL, content.data, content.len});
    OK(sl_schema_parse("_hoodie_record_key string not null", &schema));
    sl_status status = read_bytes(file.data, file.len, schema, schema, NULL, &log);
    if (status)
        fail_msg("%s", sl_status_message(status));
    const char *const want[] = {"k", "", longest, "\xc3\xa9\xf0\x9f\x98\x80", ""};
    assert_int_equal(log.pieces[0].batch->rows, 5);
    for (int64_t i = 0; i < 5; i++) {
        size_t len;
        const uint8_t *key = sl_bytes_at(log.pieces[0].batch->columns[0], i, &len);
        if (len != strlen(want[i]) || (len && memcmp(key, want[i], len) != 0))
            fail_msg("key %d has %zu bytes '%.*s'", (int)i, len, (int)len, (const char *)key);
    }
    sl_inline_log_free(&log);
    sl_type_unref(schema);
    sl_buf_free(&payload);
    sl_buf_free(&content);
    sl_buf_free(&file);
}

/* ---- malformed blocks ------------------------------------------------------------------------------------------- */

#define ROW_SCHEMA "{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"a\",\"type\":\"int\"}]}"

static const struct {
    struct block_form form;
    enum sl_code code;
    const char *says;
} malformed[] = {
    {{2, 3, "1", ROW_SCHEMA, "", 0}, SL_E_UNSUPPORTED, "log format version 2"},
    {{0, 3, "1", ROW_SCHEMA, "", 0}, SL_E_UNSUPPORTED, "log format version 0"},
    {{1, 2, "1", ROW_SCHEMA, "", 0}, SL_E_CORRUPT, "block type 2"},
    {{1, 7, "1", ROW_SCHEMA, "", 0}, SL_E_CORRUPT, "block type 7"},
    {{1, 4, "1", ROW_SCHEMA, "", 0}, SL_E_UNSUPPORTED, "HFile"},
    {{1, 3, NULL, ROW_SCHEMA, "", 0}, SL_E_CORRUPT, "instant"},
    {{1, 3, "123456789012345678901234567890", ROW_SCHEMA, "", 0}, SL_E_CORRUPT, "instant has 30 bytes"},
    {{1, 3, "1", NULL, BYTES("\0\0\0\3\0\0\0\0")}, SL_E_CORRUPT, "without a schema"},
    {{1, 3, "1", "{", BYTES("\0\0\0\3\0\0\0\0")}, SL_E_CORRUPT, "schema in the header"},
    {{1, 3, "1", ROW_SCHEMA, BYTES("\0\0\0\3\0\0\0")}, SL_E_CORRUPT, "too short"},
    {{1, 3, "1", ROW_SCHEMA, BYTES("\0\0\0\0\0\0\0\0")}, SL_E_UNSUPPORTED, "content version 0"},
    {{1, 3, "1", ROW_SCHEMA, BYTES("\0\0\0\4\0\0\0\0")}, SL_E_UNSUPPORTED, "content version 4"},
    {{1, 3, "1", ROW_SCHEMA, BYTES("\0\0\0\3\0\0\0\1")}, SL_E_CORRUPT, "record 0 of 1 runs past"},
    {{1, 3, "1", ROW_SCHEMA, BYTES("\0\0\0\3\0\0\0\1\0\0\0\2\2")}, SL_E_CORRUPT, "record 0 of 1 runs past"},
    {{1, 3, "1", ROW_SCHEMA, BYTES("\0\0\0\3\0\0\0\1\0\0\0\2\2\2")}, SL_E_CORRUPT, "values end after 1"},
    {{1, 3, "1", ROW_SCHEMA, BYTES("\0\0\0\3\0\0\0\1\0\0\0\0")}, SL_E_CORRUPT, "record 0"},
    {{1, 3, "1", ROW_SCHEMA, BYTES("\0\0\0\3\0\0\0\0\0")}, SL_E_CORRUPT, "1 bytes follow"},
    {{1, 5, "1", ROW_SCHEMA, "PAR1PAR1", 8}, SL_E_CORRUPT, "content of the block"},
    {{1, 1, "1", NULL, "", 0}, SL_E_CORRUPT, "too short for a delete block"},
    {{1, 1, "1", NULL, BYTES("\0\0\0\4\0\0\0\1\0")}, SL_E_UNSUPPORTED, "delete block version 4"},
    {{1, 1, "1", NULL, BYTES("\0\0\0\3\0\0\0\2\0")}, SL_E_CORRUPT, "payload of 2 bytes"},
    {{1, 1, "1", NULL, BYTES("\0\0\0\3\0\0\0\2\0\0")}, SL_E_CORRUPT, "1 bytes follow the last delete"},
    {{1, 1, "1", NULL, BYTES("\0\0\0\3\0\0\0\4\2\0\0\0")}, SL_E_CORRUPT, "without record key"},
    {{1, 1, "1", NULL, BYTES("\0\0\0\3\0\0\0\1\2")}, SL_E_CORRUPT, "end in the middle"},
    {{1, 1, "1", NULL, BYTES("\0\0\0\3\0\0\0\6\2\2\2\xff\0\0")}, SL_E_CORRUPT, "not valid UTF-8"},
    {{1, 1, "1", NULL, BYTES("\0\0\0\1\0\0\0\1\0")}, SL_E_CORRUPT, "Kryo"},
};

static void test_malformed(void **state)
{
    (void)state;
    const sl_type *schema;
    OK(sl_schema_parse("_hoodie_record_key string, a int", &schema));
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        sl_buf file = {0};
        struct sl_inline_log log;
        put_block(&file, &malformed[i].form);
        sl_status status = read_bytes(file.data, file.len, schema, schema, NULL, &log);
        if (sl_status_code(status) != malformed[i].code ||
            !strstr(sl_status_message(status), malformed[i].says) ||
            !strstr(sl_status_message(status), "t.log: block at 0: "))
            fail_msg("block %zu: '%s'", i, sl_status_message(status));
        sl_status_free(status);
        sl_buf_free(&file);
    }
    struct sl_inline_log log;
    FAILS(read_bytes("#HUDI!xxxxxxxx", 14, schema, schema, NULL, &log), SL_E_CORRUPT, "does not begin with");
    OK(read_bytes("#HUD", 4, schema, schema, NULL, &log)); /* a magic that was never finished */
    assert_int_equal(log.count, 0);
    sl_inline_log_free(&log);
    sl_type_unref(schema);
}

/* ---- every truncation of a file with two blocks ------------------------------------------------------------------- */

static void check_truncations(const struct golden *g)
{
    const sl_type *schema = twin_schema(g->twin), *deletes = delete_schema(schema, NULL, 0);
    const json_t *blocks = json_object_get(g->twin, "blocks");
    assert_int_equal(json_array_size(blocks), 2);
    size_t second = (size_t)json_integer_value(json_object_get(json_array_get(blocks, 1), "offset"));
    for (size_t len = 0; len <= g->bytes.len; len++) {
        size_t warnings = 0, pieces = len == g->bytes.len ? 2 : len >= second ? 1 : 0;
        sl_runtime runtime = {.on_log = count_warning, .log_context = &warnings};
        struct sl_inline_log log;
        OK(read_bytes(g->bytes.data, len, schema, deletes, &runtime, &log));
        /* Up to 5 bytes of the next magic are not even a warning. */
        bool clean = len == g->bytes.len || len < 6 || (len >= second && len < second + 6);
        if (log.count != pieces || warnings != !clean)
            fail_msg("%s cut at %zu: %zu pieces, %zu warnings", g->path, len, log.count, warnings);
        sl_inline_log_free(&log);
    }
    sl_type_unref(schema);
    sl_type_unref(deletes);
}

static void test_truncations(void **state)
{
    (void)state;
    assert_int_equal(each_golden("mixed_v9", check_truncations), 1);
    assert_int_equal(each_golden("multi_ordering", check_truncations), 1);
}

/* ---- mutations ------------------------------------------------------------------------------------------------------ */

static uint64_t random_state;

static uint32_t pick(uint32_t below)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 33) % below;
}

static size_t mutants, mutants_read;

/* The bytes of blocks are only read when the frame's test passes, so the mutations keep off the sizes most of the time. */
static void check_mutations(const struct golden *g)
{
    const sl_type *schema = twin_schema(g->twin), *deletes;
    OK(sl_schema_parse("_hoodie_record_key string not null, o long", &deletes));
    uint8_t *bytes = malloc(g->bytes.len + 1);
    for (int round = 0; round < 60 && g->bytes.len > 0; round++) {
        size_t len = g->bytes.len, changes = 1 + pick(4);
        memcpy(bytes, g->bytes.data, len);
        for (size_t i = 0; i < changes; i++)
            bytes[22 + pick((uint32_t)(len > 30 ? len - 30 : 1))] = (uint8_t)(pick(3)   ? pick(256)
                                                                              : pick(2) ? 0xff
                                                                                        : 0);
        if (pick(8) == 0)
            len = pick((uint32_t)len);
        struct sl_inline_log log;
        sl_status status = read_bytes(bytes, len, schema, deletes, NULL, &log);
        enum sl_code code = sl_status_code(status);
        if (code != SL_E_OK && code != SL_E_CORRUPT && code != SL_E_UNSUPPORTED && code != SL_E_INPUT)
            fail_msg("%s: code %d: %s", g->path, (int)code, sl_status_message(status));
        mutants++;
        mutants_read += code == SL_E_OK;
        sl_status_free(status);
        if (code == SL_E_OK)
            sl_inline_log_free(&log);
    }
    free(bytes);
    sl_type_unref(schema);
    sl_type_unref(deletes);
}

static void test_mutations(void **state)
{
    (void)state;
    const char *given = getenv("SEED");
    random_state = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    print_message("SEED=%" PRIu64 "\n", random_state);
    each_golden(NULL, check_mutations);
    print_message("%zu mutants, %zu of them could be read\n", mutants, mutants_read);
    assert_true(mutants > 3000 && mutants_read > mutants / 10);
}

/* ---- memory --------------------------------------------------------------------------------------------------------- */

static void check_memory(const struct golden *g)
{
    const sl_type *schema = twin_schema(g->twin), *deletes = delete_schema(schema, NULL, 0);
    sl_file *file;
    OK(sl_file_of_memory(g->bytes.data, g->bytes.len, "t.log", &file));
    for (uint64_t nth = 1;; nth++) {
        struct sl_inline_log log;
        sl_test_fail_allocation(nth, true);
        sl_status status = sl_inline_log_read(file, schema, deletes, NULL, &log);
        sl_test_fail_allocation(0, false);
        if (!status) {
            sl_inline_log_free(&log);
            assert_true(nth > 5);
            break;
        }
        assert_int_equal(sl_status_code(status), SL_E_MEMORY);
        sl_status_free(status);
    }
    sl_file_close(file);
    sl_type_unref(schema);
    sl_type_unref(deletes);
}

static void test_memory(void **state)
{
    (void)state;
    each_golden("multi_ordering", check_memory);
    each_golden("delete_v1_v2", check_memory);
    each_golden("logcompact_deletes", check_memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_conform),   cmocka_unit_test(test_orderings),
        cmocka_unit_test(test_kryo),      cmocka_unit_test(test_kryo_texts),
        cmocka_unit_test(test_malformed), cmocka_unit_test(test_truncations),
        cmocka_unit_test(test_mutations), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
