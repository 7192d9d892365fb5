/*
 * Keys, partition paths and buckets against vectors made by Apache Hudi 1.2.0 (tests/data/write-path). Every
 * vector of a supported kind is compared; what is skipped is counted by reason, and both counts are checked,
 * so that a vector cannot drop out of the test unseen.
 */
#include "check_support.h"
#include <jansson.h>
#include <stdio.h>
#include "keys/keys.h"

static json_t *load(const char *name)
{
    const char *root = getenv("SL_TEST_DATA");
    char path[512];
    snprintf(path, sizeof path, "%s/write-path/%s", root ? root : "tests/data", name);
    json_error_t error;
    json_t *json = json_load_file(path, JSON_ALLOW_NUL, &error);
    if (!json)
        fail_msg("%s: %s", path, error.text);
    return json;
}

/* ---- key generators ------------------------------------------------------------------------------------ */

static const char *const schema_text =
    "i int, l long, f float, d double, b boolean, s string, s2 string, by binary, dec decimal(10,2), "
    "decb decimal(10,2), dt date, tm timestamp, tu timestamp, ltu timestamp, tim int, u string, e string, "
    "n struct<x: string, y: int>";

/* The vectors' schema, with the time types that the text form above does not spell. */
static const sl_type *vector_schema(void)
{
    const sl_type *plain, *out, *tm, *tu, *ltu, *tim;
    OK(sl_schema_parse(schema_text, &plain));
    OK(sl_type_timestamp(SL_MILLIS, true, &tm));
    OK(sl_type_timestamp(SL_MICROS, true, &tu));
    OK(sl_type_timestamp(SL_MICROS, false, &ltu));
    OK(sl_type_time(SL_MILLIS, &tim));
    sl_field fields[32];
    assert_true(plain->field_count < 32);
    for (size_t i = 0; i < plain->field_count; i++)
        fields[i] = plain->fields[i];
    fields[sl_type_field_index(plain, "tm")].type = tm;
    fields[sl_type_field_index(plain, "tu")].type = tu;
    fields[sl_type_field_index(plain, "ltu")].type = ltu;
    fields[sl_type_field_index(plain, "tim")].type = tim;
    OK(sl_type_struct(fields, plain->field_count, &out));
    sl_type_unref(plain);
    sl_type_unref(tm);
    sl_type_unref(tu);
    sl_type_unref(ltu);
    sl_type_unref(tim);
    return out;
}

/* Bytes in the vectors are strings of one character (U+0000..U+00FF) per byte. */
static size_t latin1(const json_t *text, uint8_t *out)
{
    const uint8_t *p = (const uint8_t *)json_string_value(text);
    size_t len = json_string_length(text), n = 0;
    for (size_t i = 0; i < len;)
        out[n++] = (uint8_t)sl_utf8_next(p, len, &i);
    return n;
}

static void append_value(sl_builder *b, const sl_type *type, const json_t *value)
{
    uint8_t bytes[256];
    size_t len;
    if (!value || json_is_null(value)) {
        OK(sl_builder_null(b));
        return;
    }
    switch (type->id) {
    case SL_BOOL:
        OK(sl_builder_bool(b, json_is_true(value)));
        return;
    case SL_FLOAT:
    case SL_DOUBLE:
        OK(sl_builder_double(b, json_number_value(value)));
        return;
    case SL_STRING:
        OK(sl_builder_bytes(b, json_string_value(value), json_string_length(value)));
        return;
    case SL_BINARY:
        len = latin1(value, bytes);
        OK(sl_builder_bytes(b, bytes, len));
        return;
    case SL_DECIMAL: {
        len = latin1(value, bytes);
        sl_i128 unscaled = len > 0 && bytes[0] & 0x80 ? -1 : 0;
        for (size_t i = 0; i < len; i++)
            unscaled = unscaled * 256 + bytes[i];
        OK(sl_builder_decimal(b, unscaled));
        return;
    }
    case SL_STRUCT:
        for (size_t i = 0; i < type->field_count; i++)
            append_value(sl_builder_child(b, i), type->fields[i].type,
                         json_object_get(value, type->fields[i].name));
        OK(sl_builder_close(b));
        return;
    default:
        OK(sl_builder_integer(b, json_integer_value(value)));
    }
}

static sl_batch *one_row(const sl_type *schema, const json_t *record)
{
    sl_batch_builder builder = {0};
    sl_batch *batch;
    OK(sl_batch_builder_init(&builder, schema));
    for (size_t i = 0; i < schema->field_count; i++)
        append_value(builder.columns[i], schema->fields[i].type,
                     json_object_get(record, schema->fields[i].name));
    OK(sl_batch_builder_finish(&builder, &batch));
    sl_batch_builder_free(&builder);
    return batch;
}

static const char *property(const json_t *props, const char *name)
{
    const char *text = json_string_value(json_object_get(props, name));
    return text ? text : "";
}

static bool flag(const json_t *props, const char *name) { return strcmp(property(props, name), "true") == 0; }

/* Why a case is not ours to reproduce, or NULL. */
static const char *skip_reason(const json_t *c)
{
    const char *generator = property(c, "generator");
    const json_t *props = json_object_get(c, "props");
    const char *fields[] = {property(props, "hoodie.datasource.write.recordkey.field"),
                            property(props, "hoodie.datasource.write.partitionpath.field")};
    if (!strncmp(generator, "Timestamp", 9) || !strncmp(generator, "Custom", 6) ||
        !strncmp(generator, "Global", 6))
        return "generator not supported";
    for (int i = 0; i < 2; i++) {
        if (flag(props, "hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled") &&
            (!strcmp(fields[i], "tm") || !strcmp(fields[i], "tu")))
            return "consistent.logical.timestamp not supported";
        if (!strcmp(fields[i], "n"))
            return "whole record as key is refused";
        if (!strcmp(fields[i], "d") &&
            json_number_value(json_object_get(json_object_get(c, "record"), "d")) == 1e23)
            return "digits differ between Java releases";
    }
    return NULL;
}

static void keygen_of_case(const json_t *c, struct sl_keygen *out)
{
    const json_t *props = json_object_get(c, "props");
    const char *generator = property(c, "generator");
    const char *version = property(props, "hoodie.write.table.version");
    const char *record = property(props, "hoodie.datasource.write.recordkey.field");
    memset(out, 0, sizeof *out);
    OK(sl_keygen_kind_named(generator, &out->kind));
    if (out->kind == SL_KEYGEN_SIMPLE) /* does not split: spec 1.1 */
        OK(sl_strings_add(&out->record_fields, record));
    else
        OK(sl_strings_split(&out->record_fields, record, ','));
    OK(sl_strings_split(&out->partition_fields,
                        property(props, "hoodie.datasource.write.partitionpath.field"), ','));
    out->hive_style = flag(props, "hoodie.datasource.write.hive_style_partitioning");
    out->url_encode = flag(props, "hoodie.datasource.write.partitionpath.urlencode");
    out->slash_dates = flag(props, "hoodie.datasource.write.slash.separated.date.partitioning");
    out->complex_bare_single =
        *version && atoi(version) < 9 && flag(props, "hoodie.write.complex.keygen.new.encoding");
}

static void assert_text(const sl_array *array, int64_t row, const json_t *want)
{
    size_t len;
    const uint8_t *text = sl_bytes_at(array, row, &len);
    if (len != json_string_length(want) || memcmp(text, json_string_value(want), len) != 0)
        fail_msg("got '%.*s', want '%s'", (int)len, (const char *)text, json_string_value(want));
}

/* Key and path are compared on their own: a case may state only one of them, and the key may be an error
 * where the path is not. */
static void compare_case(const json_t *c, const sl_type *schema)
{
    struct sl_keygen keygen;
    sl_array *keys = NULL, *paths = NULL;
    keygen_of_case(c, &keygen);
    sl_batch *batch = one_row(schema, json_object_get(c, "record"));
    const json_t *key = json_object_get(c, "key"), *path = json_object_get(c, "path");
    if (key) {
        OK(sl_keygen_apply(&keygen, batch, &keys, NULL));
        assert_text(keys, 0, key);
        assert_true(sl_keygen_may_make(&keygen, schema, json_string_value(key), json_string_length(key)));
        sl_array_unref(keys);
    }
    if (json_object_get(c, "key_error")) {
        sl_status status = sl_keygen_apply(&keygen, batch, &keys, NULL);
        assert_int_equal(sl_status_code(status), SL_E_INPUT);
        sl_status_free(status);
    }
    if (path) {
        if (!key) { /* the record's own key may be bad: take a good one */
            sl_strings_free(&keygen.record_fields);
            OK(sl_strings_add(&keygen.record_fields, "good"));
        }
        const sl_type *wider_schema, *string;
        OK(sl_type_new(SL_STRING, &string));
        sl_field fields[40];
        sl_array *columns[40];
        for (size_t i = 0; i < schema->field_count; i++) {
            fields[i] = schema->fields[i];
            columns[i] = sl_array_ref(batch->columns[i]);
        }
        fields[schema->field_count] = (sl_field){"good", string, false, NULL};
        OK(sl_array_constant_string("k", 1, 1, &columns[schema->field_count]));
        OK(sl_type_struct(fields, schema->field_count + 1, &wider_schema));
        sl_batch *wider;
        OK(sl_batch_new(wider_schema, 1, columns, &wider));
        OK(sl_keygen_apply(&keygen, wider, &keys, &paths));
        assert_text(paths, 0, path);
        sl_array_unref(keys);
        sl_array_unref(paths);
        sl_batch_unref(wider);
        sl_type_unref(wider_schema);
        sl_type_unref(string);
    }
    sl_batch_unref(batch);
    sl_keygen_free(&keygen);
}

static void key_generators(void **state)
{
    (void)state;
    json_t *root = load("keygen.json");
    const sl_type *schema = vector_schema();
    size_t index, compared = 0, generator = 0, other = 0;
    json_t *c;
    json_array_foreach(json_object_get(root, "cases"), index, c)
    {
        const char *reason = skip_reason(c);
        if (!reason) {
            compare_case(c, schema);
            compared++;
        } else if (!strcmp(reason, "generator not supported")) {
            generator++;
        } else {
            other++;
        }
    }
    printf("keygen.json: %zu compared, %zu of unsupported generators, %zu of unsupported options\n", compared,
           generator, other);
    assert_int_equal(compared + generator + other, 400);
    assert_int_equal(generator, 51);
    assert_int_equal(other, 9);
    sl_type_unref(schema);
    json_decref(root);
}

/* ---- partition escapes --------------------------------------------------------------------------------- */

static void partition_escapes(void **state)
{
    (void)state;
    json_t *root = load("partition_escape.json"), *row;
    size_t index;
    json_array_foreach(json_object_get(root, "rows"), index, row)
    {
        const json_t *value = json_array_get(row, 0), *escaped = json_array_get(row, 1),
                     *back = json_array_get(row, 2);
        sl_buf out = {0};
        OK(sl_partition_escape(json_string_value(value), json_string_length(value), &out));
        assert_int_equal(out.len, json_string_length(escaped));
        assert_memory_equal(out.data, json_string_value(escaped), out.len);
        out.len = 0;
        OK(sl_partition_unescape(json_string_value(escaped), json_string_length(escaped), &out));
        assert_int_equal(out.len, json_string_length(back));
        assert_memory_equal(out.data, json_string_value(back), out.len);
        sl_buf_free(&out);
    }
    assert_int_equal(index, 149);
    json_decref(root);
}

/* ---- buckets ------------------------------------------------------------------------------------------- */

/* The same of a batch; a plain key beside it changes nothing, nor does one that has to be taken apart. */
static uint32_t bucket_in_batch(const struct sl_bucket_hash *hash, const char *key, size_t len,
                                const char *beside)
{
    const sl_type *type;
    sl_builder *b;
    sl_array *keys;
    uint32_t out[2];
    OK(sl_type_new(SL_STRING, &type));
    OK(sl_builder_new(type, &b));
    OK(sl_builder_bytes(b, key, len));
    OK(sl_builder_bytes(b, beside, strlen(beside)));
    OK(sl_builder_finish(b, &keys));
    OK(sl_bucket_of_keys(hash, keys, out));
    sl_array_unref(keys);
    sl_builder_free(b);
    sl_type_unref(type);
    return out[0];
}

static void buckets(void **state)
{
    (void)state;
    json_t *root = load("bucket_simple.json"), *c, *want;
    size_t index, numbers = 0, hangs = 0;
    json_array_foreach(json_object_get(root, "cases"), index, c)
    {
        struct sl_bucket_hash hash = {0};
        const json_t *key = json_object_get(c, "key");
        const char *buckets_text;
        OK(sl_strings_split(&hash.hash_fields, property(c, "fields"), ','));
        if (json_object_get(c, "hang")) { /* Hudi never returns; we must */
            uint32_t got;
            hash.buckets = 4;
            OK(sl_bucket_of_key(&hash, json_string_value(key), json_string_length(key), &got));
            assert_in_range(got, 0, 3);
            hangs++;
        }
        assert_null(json_object_get(c, "error"));
        json_object_foreach(json_object_get(c, "buckets"), buckets_text, want)
        {
            uint32_t got;
            hash.buckets = (uint32_t)atoi(buckets_text);
            OK(sl_bucket_of_key(&hash, json_string_value(key), json_string_length(key), &got));
            if (got != (uint32_t)json_integer_value(want))
                fail_msg("key '%s' fields '%s' of %s: got %" PRIu32 ", want %d", json_string_value(key),
                         property(c, "fields"), buckets_text, got, (int)json_integer_value(want));
            assert_int_equal(bucket_in_batch(&hash, json_string_value(key), json_string_length(key), "plain"),
                             got);
            assert_int_equal(
                bucket_in_batch(&hash, json_string_value(key), json_string_length(key), "a:1,b:2"), got);
            numbers++;
        }
        sl_strings_free(&hash.hash_fields);
    }
    printf("bucket_simple.json: %zu bucket numbers compared, %zu keys on which Hudi hangs\n", numbers, hangs);
    assert_int_equal(hangs, 3);
    assert_true(numbers > 700);
    json_decref(root);
}

static void bucket_file_ids(void **state)
{
    (void)state;
    json_t *root = load("bucket_simple.json"), *want;
    const char *name;
    char id[48];
    json_object_foreach(json_object_get(root, "file_id_nbcc"), name, want)
    {
        OK(sl_bucket_file_id((uint32_t)atoi(name), true, id));
        assert_string_equal(id, json_string_value(want));
    }
    json_object_foreach(json_object_get(root, "file_id_prefix_fixed"), name, want)
    {
        OK(sl_bucket_file_id((uint32_t)atoi(name), true, id));
        assert_int_equal(strncmp(id, json_string_value(want), 36), 0);
        OK(sl_bucket_file_id((uint32_t)atoi(name), false, id));
        assert_int_equal(strncmp(id, json_string_value(want), 8), 0);
        assert_int_equal(strlen(id), 38);
        assert_int_equal(sl_bucket_of_file_id(id), atoi(name));
    }
    json_object_foreach(json_object_get(root, "bucket_from_file_id"), name, want)
        assert_int_equal(sl_bucket_of_file_id(name), json_integer_value(want));
    assert_int_equal(sl_bucket_of_file_id("0000004"), -1);
    assert_int_equal(sl_bucket_of_file_id("a0000004-1234"), -1);
    json_decref(root);
}

/* The record index picks file group |hash| mod n with the same string hash. */
static void java_hashes(void **state)
{
    (void)state;
    json_t *root = load("record_index_file_group.json"), *row;
    size_t index;
    json_array_foreach(json_object_get(root, "rows"), index, row)
    {
        const json_t *key = json_array_get(row, 0);
        int64_t h = sl_java_string_hash(json_string_value(key), json_string_length(key));
        int64_t groups = json_integer_value(json_array_get(row, 1));
        int64_t magnitude = h == INT32_MIN ? INT32_MIN : h < 0 ? -h : h; /* Math.abs in Java */
        int64_t group = magnitude % groups;
        assert_int_equal(group < 0 ? -group : group, json_integer_value(json_array_get(row, 2)));
    }
    assert_true(index > 100);
    assert_int_equal(sl_java_string_hash("", 0), 0);
    assert_int_equal(sl_java_string_hash("polygenelubricants", 18), INT32_MIN);
    assert_int_equal(sl_java_string_hash("\xff", 1), 0xfffd); /* not UTF-8 */
    json_decref(root);
}

/* ---- what the vectors do not reach --------------------------------------------------------------------- */

static void keygen_of(struct sl_keygen *k, enum sl_keygen_kind kind, const char *record,
                      const char *partition)
{
    memset(k, 0, sizeof *k);
    k->kind = kind;
    OK(sl_strings_split(&k->record_fields, record, ','));
    OK(sl_strings_split(&k->partition_fields, partition, ','));
}

static sl_batch *strings_batch(const char *const (*rows)[2], int64_t count)
{
    const sl_type *schema;
    sl_batch_builder builder = {0};
    sl_batch *batch;
    OK(sl_schema_parse("k string, p string", &schema));
    OK(sl_batch_builder_init(&builder, schema));
    for (int64_t i = 0; i < count; i++)
        for (int c = 0; c < 2; c++)
            OK(rows[i][c] ? sl_builder_bytes(builder.columns[c], rows[i][c], strlen(rows[i][c]))
                          : sl_builder_null(builder.columns[c]));
    OK(sl_batch_builder_finish(&builder, &batch));
    sl_batch_builder_free(&builder);
    sl_type_unref(schema);
    return batch;
}

static void string_keys_are_shared(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"a", "x"}, {"b", "y"}};
    sl_batch *batch = strings_batch(rows, 2);
    struct sl_keygen k;
    sl_array *keys, *paths;
    keygen_of(&k, SL_KEYGEN_SIMPLE, "k", "p");
    OK(sl_keygen_apply(&k, batch, &keys, &paths));
    assert_ptr_equal(keys, batch->columns[0]);
    assert_ptr_equal(paths, batch->columns[1]);
    sl_array_unref(keys);
    sl_array_unref(paths);
    sl_batch_unref(batch);
    sl_keygen_free(&k);
}

/* Runs, returning values, nulls and more distinct values than the memo has slots. */
static void many_partition_values(void **state)
{
    (void)state;
    enum { ROWS = 3000 };
    const sl_type *schema;
    sl_batch_builder builder = {0};
    sl_batch *batch;
    struct sl_keygen k;
    sl_array *keys, *paths;
    char want[64];
    OK(sl_schema_parse("k int, p int", &schema));
    OK(sl_batch_builder_init(&builder, schema));
    for (int i = 0; i < ROWS; i++) {
        OK(sl_builder_integer(builder.columns[0], i));
        OK(i % 11 == 0 ? sl_builder_null(builder.columns[1])
                       : sl_builder_integer(builder.columns[1], (i / 3) % 700));
    }
    OK(sl_batch_builder_finish(&builder, &batch));
    keygen_of(&k, SL_KEYGEN_SIMPLE, "k", "p");
    k.hive_style = true;
    OK(sl_keygen_apply(&k, batch, &keys, &paths));
    for (int i = 0; i < ROWS; i++) {
        size_t len;
        const uint8_t *path = sl_bytes_at(paths, i, &len);
        if (i % 11 == 0)
            snprintf(want, sizeof want, "p=__HIVE_DEFAULT_PARTITION__");
        else
            snprintf(want, sizeof want, "p=%d", (i / 3) % 700);
        assert_int_equal(len, strlen(want));
        assert_memory_equal(path, want, len);
    }
    sl_array_unref(keys);
    sl_array_unref(paths);
    sl_batch_unref(batch);
    sl_batch_builder_free(&builder);
    sl_type_unref(schema);
    sl_keygen_free(&k);
}

static void values_of(const struct sl_keygen *k, const char *path, const char *want)
{
    sl_strings values = {0};
    sl_buf joined = {0};
    OK(sl_partition_values(k, path, &values));
    for (size_t i = 0; i < values.count; i++)
        OK(sl_buf_printf(&joined, "%s%s", i ? "|" : "", values.items[i]));
    char *text;
    OK(sl_buf_take_string(&joined, &text));
    assert_string_equal(text, want);
    sl_free(text);
    sl_strings_free(&values);
}

static void no_values_of(const struct sl_keygen *k, const char *path)
{
    sl_strings values = {0};
    sl_status status = sl_partition_values(k, path, &values);
    assert_int_equal(sl_status_code(status), SL_E_INPUT);
    sl_status_free(status);
    sl_strings_free(&values);
}

static void partition_values(void **state)
{
    (void)state;
    struct sl_keygen k;
    keygen_of(&k, SL_KEYGEN_SIMPLE, "k", "p");
    values_of(&k, "a/b", "a/b");
    values_of(&k, "a%2Fb", "a%2Fb");
    k.url_encode = true;
    values_of(&k, "a%2Fb", "a/b");
    values_of(&k, "50%2", "50%2");
    values_of(&k, "%zz%E9", "%zz\xc3\xa9");
    k.hive_style = true;
    values_of(&k, "p=x%3Dy", "x=y");
    no_values_of(&k, "q=x");
    k.url_encode = false;
    k.slash_dates = true;
    values_of(&k, "p=2024/01/02", "2024-01-02");
    sl_keygen_free(&k);

    keygen_of(&k, SL_KEYGEN_COMPLEX, "k", "p,q");
    values_of(&k, "a/b", "a|b");
    no_values_of(&k, "a");
    no_values_of(&k, "a/b/c");
    k.hive_style = true;
    values_of(&k, "p=a/q=b", "a|b");
    values_of(&k, "p=a/x/q=b/y", "a/x|b/y");
    no_values_of(&k, "p=a");
    no_values_of(&k, "p=a/r=b");
    sl_keygen_free(&k);

    keygen_of(&k, SL_KEYGEN_NON_PARTITION, "k", "");
    values_of(&k, "", "");
    no_values_of(&k, "a");
    sl_keygen_free(&k);
}

static void bad_keys_name_row_and_field(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"a", "x"}, {"", "y"}, {NULL, "z"}};
    sl_batch *batch = strings_batch(rows, 3);
    struct sl_keygen k;
    sl_array *keys;
    keygen_of(&k, SL_KEYGEN_SIMPLE, "k", "p");
    sl_status status = sl_keygen_apply(&k, batch, &keys, NULL);
    assert_int_equal(sl_status_code(status), SL_E_INPUT);
    assert_string_equal(sl_status_message(status), "row 1: record key field `k` is empty");
    sl_status_free(status);
    sl_batch_unref(batch);
    sl_keygen_free(&k);
}

static void checks_against_a_schema(void **state)
{
    (void)state;
    const sl_type *schema;
    OK(sl_schema_parse("s string, by binary, n struct<x: int, l: list<int>>", &schema));
    static const struct {
        const char *record, *partition;
        enum sl_code code;
    } cases[] = {
        {"s", "n.x", SL_E_OK},     {"n.x", "s", SL_E_OK},    {"by", "s", SL_E_INPUT},
        {"s", "n", SL_E_INPUT},    {"n.l", "s", SL_E_INPUT}, {"nope", "s", SL_E_INPUT},
        {"s", "nope", SL_E_INPUT}, {"s.x", "s", SL_E_INPUT}, {"s,n.x", "s", SL_E_INPUT},
        {"", "s", SL_E_INPUT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sl_keygen k;
        keygen_of(&k, SL_KEYGEN_SIMPLE, cases[i].record, cases[i].partition);
        sl_status status = sl_keygen_check(&k, schema, NULL);
        assert_int_equal(sl_status_code(status), cases[i].code);
        sl_status_free(status);
        sl_keygen_free(&k);
    }
    sl_type_unref(schema);
}

static void kinds(void **state)
{
    (void)state;
    enum sl_keygen_kind kind;
    OK(sl_keygen_kind_named("org.apache.hudi.keygen.ComplexKeyGenerator", &kind));
    assert_int_equal(kind, SL_KEYGEN_COMPLEX);
    for (int i = SL_KEYGEN_SIMPLE; i <= SL_KEYGEN_NON_PARTITION; i++) {
        OK(sl_keygen_kind_named(sl_keygen_kind_name((enum sl_keygen_kind)i), &kind));
        assert_int_equal(kind, i);
    }
    sl_status status = sl_keygen_kind_named("TIMESTAMP", &kind);
    assert_int_equal(sl_status_code(status), SL_E_UNSUPPORTED);
    assert_non_null(strstr(sl_status_message(status), "TIMESTAMP"));
    sl_status_free(status);
    OK(sl_keygen_infer(1, 0, NULL, &kind));
    assert_int_equal(kind, SL_KEYGEN_NON_PARTITION);
    OK(sl_keygen_infer(1, 1, "p", &kind));
    assert_int_equal(kind, SL_KEYGEN_SIMPLE);
    OK(sl_keygen_infer(2, 1, "p", &kind));
    assert_int_equal(kind, SL_KEYGEN_COMPLEX);
    OK(sl_keygen_infer(1, 2, "p", &kind));
    assert_int_equal(kind, SL_KEYGEN_COMPLEX);
    status = sl_keygen_infer(1, 1, "p:TIMESTAMP", &kind);
    assert_int_equal(sl_status_code(status), SL_E_UNSUPPORTED);
    sl_status_free(status);
}

/* Every allocation that fails gives SL_E_MEMORY, nothing else, and leaks nothing (run under asan). */
static void out_of_memory(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"a", "x"}, {"b", "y/z"}};
    sl_batch *batch = strings_batch(rows, 2);
    struct sl_keygen k;
    keygen_of(&k, SL_KEYGEN_COMPLEX, "k,p", "p,k");
    k.url_encode = k.hive_style = true;
    for (uint64_t nth = 1;; nth++) {
        sl_array *keys, *paths;
        assert_true(nth < 1000);
        sl_test_fail_allocation(nth, false);
        sl_status status = sl_keygen_apply(&k, batch, &keys, &paths);
        sl_test_fail_allocation(0, false);
        if (status == SL_OK) {
            sl_array_unref(keys);
            sl_array_unref(paths);
            assert_true(nth > 5);
            break;
        }
        assert_int_equal(sl_status_code(status), SL_E_MEMORY);
        sl_status_free(status);
    }
    sl_batch_unref(batch);
    sl_keygen_free(&k);
}

/* ---- bloom filters ------------------------------------------------------------------------------------- */

static void add_text(sl_hudi_bloom *b, const char *text)
{
    OK(sl_hudi_bloom_add(b, (const uint8_t *)text, strlen(text)));
}

/* <prefix>0, <prefix>1, ..., then the extra ones: what the vectors' filters were filled with. */
static uint64_t add_keys(sl_hudi_bloom *b, const json_t *keys)
{
    const json_t *extra = json_object_get(keys, "extra");
    json_int_t count = json_integer_value(json_object_get(keys, "count"));
    for (json_int_t i = 0; i < count; i++) {
        char key[64];
        snprintf(key, sizeof key, "%s%d", json_string_value(json_object_get(keys, "prefix")), (int)i);
        add_text(b, key);
    }
    for (size_t i = 0; i < json_array_size(extra); i++)
        add_text(b, json_string_value(json_array_get(extra, i)));
    return (uint64_t)count + json_array_size(extra);
}

/* Hudi sizes a SIMPLE filter beforehand, we by the keys that came: equal where these agree. */
static void bloom_filters(void **state)
{
    (void)state;
    json_t *vectors = load("bloom.json"), *c;
    size_t i, simple = 0, dynamic = 0, other_size = 0;
    json_array_foreach(json_object_get(vectors, "cases"), i, c)
    {
        struct sl_hudi_bloom_options o = {
            .entries = (uint64_t)json_integer_value(json_object_get(c, "num_entries")),
            .fpp = json_number_value(json_object_get(c, "fpp")),
            .entries_max = (uint64_t)json_integer_value(json_object_get(c, "max_entries"))};
        bool is_dynamic = strcmp(json_string_value(json_object_get(c, "type")), "DYNAMIC_V0") == 0;
        const char *type, *wanted = json_string_value(json_object_get(c, "serialized"));
        sl_hudi_bloom *b;
        sl_buf text = {0};
        OK(sl_hudi_bloom_new(&o, &b));
        uint64_t keys = add_keys(b, json_object_get(c, "keys"));
        OK(sl_hudi_bloom_text(b, &type, &text));
        assert_string_equal(type, keys > o.entries ? "DYNAMIC_V0" : "SIMPLE");
        if (is_dynamic ? keys > o.entries : keys == o.entries) {
            assert_int_equal(text.len, strlen(wanted));
            assert_memory_equal(text.data, wanted, text.len);
            simple += !is_dynamic;
            dynamic += is_dynamic;
        } else {
            other_size++;
        }
        sl_buf_free(&text);
        sl_hudi_bloom_free(b);
    }
    assert_int_equal(simple, 2);
    assert_int_equal(dynamic, 7);
    assert_int_equal(other_size, 7);
    json_decref(vectors);
}

/* Number of keys, chance, and the length of the text of a filter sized for them. */
static void bloom_sizes(void **state)
{
    (void)state;
    json_t *vectors = load("bloom.json"), *row;
    size_t i, checked = 0;
    json_array_foreach(json_object_get(json_object_get(vectors, "sizing"), "rows"), i, row)
    {
        json_int_t entries = json_integer_value(json_array_get(row, 0));
        struct sl_hudi_bloom_options o = {(uint64_t)entries, json_number_value(json_array_get(row, 1)), 1};
        const char *type;
        sl_hudi_bloom *b;
        sl_buf text = {0};
        if (entries > 10000) /* the same formula, many keys */
            continue;
        OK(sl_hudi_bloom_new(&o, &b));
        for (json_int_t k = 0; k < entries; k++)
            OK(sl_hudi_bloom_add(b, (const uint8_t *)&k, sizeof k));
        OK(sl_hudi_bloom_text(b, &type, &text));
        assert_int_equal(text.len, json_integer_value(json_array_get(row, 4)));
        sl_buf_free(&text);
        sl_hudi_bloom_free(b);
        checked++;
    }
    assert_true(checked >= 15);
    json_decref(vectors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(key_generators),
        cmocka_unit_test(partition_escapes),
        cmocka_unit_test(buckets),
        cmocka_unit_test(bucket_file_ids),
        cmocka_unit_test(java_hashes),
        cmocka_unit_test(string_keys_are_shared),
        cmocka_unit_test(many_partition_values),
        cmocka_unit_test(partition_values),
        cmocka_unit_test(bad_keys_name_row_and_field),
        cmocka_unit_test(checks_against_a_schema),
        cmocka_unit_test(kinds),
        cmocka_unit_test(bloom_filters),
        cmocka_unit_test(bloom_sizes),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
