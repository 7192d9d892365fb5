/*
 * Two independent decoders, one truth: what the row decoder puts into columns is what the value decoder says,
 * for rows of Spark's log blocks and for random schemas and rows. A random value also survives encoding and
 * decoding.
 */
#include "avro_support.h"

#include <math.h>
#include <time.h>

/* ---- columns as the JSON of avro.h --------------------------------------------------------------------- */

static json_t *row_json(const sl_array *array, int64_t i);

static json_t *bytes_json(const uint8_t *data, size_t len)
{
    char *text = malloc(len * 2 + 1);
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        if (data[i] >= 0x80)
            text[n++] = (char)(0xc0 | data[i] >> 6);
        text[n++] = (char)(data[i] < 0x80 ? data[i] : 0x80 | (data[i] & 0x3f));
    }
    json_t *json = json_stringn(text, n);
    free(text);
    return json;
}

static json_t *decimal_json(const sl_array *array, int64_t i)
{
    uint8_t bytes[16];
    sl_u128 value = (sl_u128)sl_decimal_at(array, i);
    size_t width = array->type->width ? (size_t)array->type->width : 16;
    for (size_t k = width; k > 0; k--, value >>= 8)
        bytes[k - 1] = (uint8_t)value;
    return bytes_json(bytes, width);
}

static json_t *list_json(const sl_array *array, int64_t i)
{
    json_t *list = json_array();
    for (int32_t k = array->offsets[i]; k < array->offsets[i + 1]; k++)
        json_array_append_new(list, row_json(array->children[0], k));
    return list;
}

static json_t *map_json(const sl_array *array, int64_t i)
{
    json_t *map = json_object();
    for (int32_t k = array->offsets[i]; k < array->offsets[i + 1]; k++) {
        size_t len;
        const uint8_t *key = sl_bytes_at(array->children[0]->children[0], k, &len);
        json_object_setn_new(map, (const char *)key, len, row_json(array->children[0]->children[1], k));
    }
    return map;
}

static json_t *struct_json(const sl_array *array, int64_t i)
{
    json_t *object = json_object();
    for (size_t k = 0; k < array->child_count; k++)
        json_object_set_new(object, array->type->fields[k].name, row_json(array->children[k], i));
    return object;
}

static json_t *row_json(const sl_array *array, int64_t i)
{
    size_t len;
    if (array->type->id == SL_NULL || !sl_is_valid(array, i))
        return json_null();
    switch (array->type->id) {
    case SL_BOOL:
        return json_boolean(sl_bool_at(array, i));
    case SL_FLOAT:
        return json_real((double)sl_float_at(array, i));
    case SL_DOUBLE:
        return json_real(sl_double_at(array, i));
    case SL_DECIMAL:
        return decimal_json(array, i);
    case SL_STRING: {
        const uint8_t *text = sl_bytes_at(array, i, &len);
        return json_stringn((const char *)text, len);
    }
    case SL_BINARY:
    case SL_FIXED: {
        const uint8_t *bytes = sl_bytes_at(array, i, &len);
        return bytes_json(bytes, len);
    }
    case SL_LIST:
        return list_json(array, i);
    case SL_MAP:
        return map_json(array, i);
    case SL_STRUCT:
        return struct_json(array, i);
    default:
        return json_integer(sl_integer_at(array, i));
    }
}

static json_t *batch_row_json(const sl_batch *batch, int64_t i)
{
    json_t *object = json_object();
    for (size_t k = 0; k < batch->schema->field_count; k++)
        json_object_set_new(object, batch->schema->fields[k].name, row_json(batch->columns[k], i));
    return object;
}

/* ---- Spark's log blocks -------------------------------------------------------------------------------- */

static void check_container(const char *path)
{
    struct file_bytes file = test_file(path);
    sl_stream *stream;
    sl_batch *batch;
    json_t *records, *schema, *again;
    const sl_type *type;
    char *text;
    OK(sl_avro_container_read(file.data, file.len, &records, &schema));
    OK(sl_avro_container_scan(file.data, file.len, &stream));
    OK(sl_stream_next(stream, &batch));
    assert_non_null(batch);
    assert_int_equal(batch->rows, json_array_size(records));
    for (int64_t i = 0; i < batch->rows; i++) {
        json_t *row = batch_row_json(batch, i);
        JSON_SAME(row, json_array_get(records, (size_t)i), path);
        json_decref(row);
    }
    /* required fields and all: the schema text is what Spark wrote */
    char *original = json_dumps(schema, JSON_COMPACT);
    OK(sl_avro_schema_parse(original, strlen(original), &type));
    OK(sl_avro_schema_text(type, json_string_value(json_object_get(schema, "name")),
                           json_string_value(json_object_get(schema, "namespace")), &text));
    again = json_loads(text, 0, NULL);
    JSON_SAME(again, schema, path);
    json_decref(again);
    sl_free(text);
    free(original);
    sl_type_unref(type);
    sl_batch_unref(batch);
    sl_stream_close(stream);
    json_decref(records);
    json_decref(schema);
    free(file.data);
}

static void log_rows_of_spark(void **state)
{
    (void)state;
    check_container("avro/log_rows_alltypes_v9.avro");
    check_container("avro/log_rows_avro_v8.avro");
    check_container("avro/log_rows_avro_v6.avro");
    check_container("avro/log_rows_partial_v9.avro");
}

/* ---- random schemas and rows --------------------------------------------------------------------------- */

static int names_made;

static json_t *logical(const char *base, const char *name)
{
    return json_pack("{s:s, s:s}", "type", base, "logicalType", name);
}

static json_t *random_decimal(void)
{
    int precision = 1 + (int)random_below(38), scale = (int)random_below((uint64_t)precision + 1);
    char name[32];
    if (random_below(4) == 0)
        return json_pack("{s:s, s:s, s:i, s:i}", "type", "bytes", "logicalType", "decimal", "precision", 38,
                         "scale", scale);
    snprintf(name, sizeof name, "n%d", names_made++);
    return json_pack("{s:s, s:s, s:i, s:s, s:i, s:i}", "type", "fixed", "name", name, "size",
                     sl_decimal_bytes(precision), "logicalType", "decimal", "precision", precision, "scale",
                     scale);
}

static json_t *random_type(int depth);

/* As a member, element or value: nullable in either order, or not. */
static json_t *random_place(int depth)
{
    json_t *type = random_type(depth);
    switch (random_below(4)) {
    case 0:
        return json_pack("[s, o]", "null", type);
    case 1:
        return json_pack("[o, s]", type, "null");
    case 2:
        return random_below(8) == 0 ? json_pack("[o]", type) : type;
    default:
        return type;
    }
}

static json_t *random_record(int depth)
{
    char name[32];
    json_t *fields = json_array();
    uint64_t count = 1 + random_below(6);
    for (uint64_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "f%d", (int)i);
        json_array_append_new(fields, json_pack("{s:s, s:o}", "name", name, "type", random_place(depth + 1)));
    }
    snprintf(name, sizeof name, "n%d", names_made++);
    return json_pack("{s:s, s:s, s:o}", "type", "record", "name", name, "fields", fields);
}

static json_t *random_type(int depth)
{
    static const char *const plain[] = {"boolean", "int", "long", "float", "double", "bytes", "string"};
    char name[32];
    switch (random_below(depth < 4 ? 14 : 10)) {
    case 0:
        return logical("int", "date");
    case 1:
        return logical("long", random_below(2) ? "timestamp-micros" : "local-timestamp-millis");
    case 2:
        return random_decimal();
    case 3:
        snprintf(name, sizeof name, "n%d", names_made++);
        return json_pack("{s:s, s:s, s:i}", "type", "fixed", "name", name, "size", (int)random_below(20) + 1);
    case 4:
        snprintf(name, sizeof name, "n%d", names_made++);
        return json_pack("{s:s, s:s, s:[s, s, s]}", "type", "enum", "name", name, "symbols", "A", "BB",
                         "CCC");
    case 10:
    case 11:
        return json_pack("{s:s, s:o}", "type", "array", "items", random_place(depth + 1));
    case 12:
        return json_pack("{s:s, s:o}", "type", "map", "values", random_place(depth + 1));
    case 13:
        return random_record(depth);
    default:
        return json_string(plain[random_below(7)]);
    }
}

static json_t *random_bytes(size_t len)
{
    uint8_t bytes[64];
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)random_next();
    return bytes_json(bytes, len);
}

/* Small enough for every precision: at most one digit. */
static json_t *random_decimal_value(size_t width)
{
    uint8_t bytes[16];
    int value = (int)random_below(19) - 9;
    memset(bytes, value < 0 ? 0xff : 0, sizeof bytes);
    bytes[width - 1] = (uint8_t)value;
    return bytes_json(bytes, width);
}

static json_t *random_integer(bool wide)
{
    uint64_t bits = random_next() >> random_below(64);
    return json_integer(wide ? (json_int_t)bits : (json_int_t)(int32_t)(uint32_t)bits);
}

static json_t *random_value(const json_t *type);

static json_t *random_container_value(const json_t *type, const char *kind)
{
    json_t *fields = json_object_get(type, "fields"),
           *out = strcmp(kind, "array") == 0 ? json_array() : json_object();
    for (size_t i = 0; i < json_array_size(fields); i++)
        json_object_set_new(out, json_string_value(json_object_get(json_array_get(fields, i), "name")),
                            random_value(json_object_get(json_array_get(fields, i), "type")));
    for (uint64_t i = fields ? 0 : random_below(4); i > 0; i--) {
        char key[16];
        snprintf(key, sizeof key, "k%d", (int)i);
        if (json_is_array(out))
            json_array_append_new(out, random_value(json_object_get(type, "items")));
        else
            json_object_set_new(out, key, random_value(json_object_get(type, "values")));
    }
    return out;
}

static json_t *random_value(const json_t *type)
{
    if (json_is_array(type))
        return random_value(json_array_get(type, random_below(json_array_size(type))));
    const char *kind = json_string_value(json_is_object(type) ? json_object_get(type, "type") : type);
    bool decimal = json_object_get(type, "precision") != NULL;
    size_t size = (size_t)json_integer_value(json_object_get(type, "size"));
    if (strcmp(kind, "null") == 0)
        return json_null();
    if (strcmp(kind, "boolean") == 0)
        return json_boolean(random_below(2));
    if (strcmp(kind, "int") == 0 || strcmp(kind, "long") == 0)
        return random_integer(kind[0] == 'l');
    if (strcmp(kind, "float") == 0 || strcmp(kind, "double") == 0)
        return json_real((double)(int32_t)random_next() / 1024);
    if (strcmp(kind, "bytes") == 0)
        return decimal ? random_decimal_value(16) : random_bytes(random_below(64));
    if (strcmp(kind, "fixed") == 0)
        return decimal ? random_decimal_value(size) : random_bytes(size);
    if (strcmp(kind, "string") == 0)
        return random_bytes(random_below(20)); /* Latin-1 as text */
    if (strcmp(kind, "enum") == 0)
        return json_incref(json_array_get(json_object_get(type, "symbols"), random_below(3)));
    return random_container_value(type, kind);
}

/* JSON reals that are floats in Avro lose digits: what was decoded is compared, not what was made. */
static void check_random_rows(const json_t *schema)
{
    sl_avro_schema *compiled;
    const sl_type *type;
    sl_batch_builder builder = {0};
    sl_batch *batch;
    json_t *values[20];
    const size_t count = sizeof values / sizeof values[0];
    char *what = json_dumps(schema, JSON_COMPACT);
    OK(sl_avro_schema_of_json(schema, &compiled));
    OK(sl_avro_schema_type(compiled, &type));
    OK(sl_batch_builder_init(&builder, type));
    for (size_t i = 0; i < count; i++) {
        sl_buf bytes = {0}, again = {0};
        size_t pos = 0, row_pos = 0;
        json_t *made = random_value(schema);
        OK(sl_avro_schema_encode(compiled, made, &bytes));
        OK(sl_avro_schema_decode(compiled, bytes.data, bytes.len, &pos, &values[i]));
        assert_int_equal(pos, bytes.len);
        OK(sl_avro_schema_encode(compiled, values[i], &again));
        assert_int_equal(again.len, bytes.len);
        assert_memory_equal(again.data, bytes.data, bytes.len);
        OK(sl_avro_row_decode(compiled, type, bytes.data, bytes.len, &row_pos, &builder));
        assert_int_equal(row_pos, bytes.len);
        json_decref(made);
        sl_buf_free(&bytes);
        sl_buf_free(&again);
    }
    OK(sl_batch_builder_finish(&builder, &batch));
    for (size_t i = 0; i < count; i++) {
        json_t *row = batch_row_json(batch, (int64_t)i);
        JSON_SAME(row, values[i], what);
        json_decref(row);
        json_decref(values[i]);
    }
    sl_batch_unref(batch);
    sl_batch_builder_free(&builder);
    sl_type_unref(type);
    sl_avro_schema_free(compiled);
    free(what);
}

static void random_rows(void **state)
{
    (void)state;
    random_start();
    for (int i = 0; i < 300; i++) {
        json_t *schema = random_record(0);
        check_random_rows(schema);
        json_decref(schema);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_rows_of_spark),
        cmocka_unit_test(random_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
