/* Avro: schemas and their refusals, values, rows, and files that lie. */
#include "avro_support.h"

#include <math.h>
#include <time.h>

/* ---- helpers ------------------------------------------------------------------------------------------- */

static json_t *json_of(const char *text)
{
    json_error_t error;
    json_t *json = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (!json)
        fail_msg("%s: %s", text, error.text);
    return json;
}

static sl_status compile(const char *text)
{
    sl_avro_schema *schema;
    SL_TRY(sl_avro_schema_of_text(text, strlen(text), &schema));
    sl_avro_schema_free(schema);
    return SL_OK;
}

static sl_status parse_type(const char *text)
{
    const sl_type *type;
    SL_TRY(sl_avro_schema_parse(text, strlen(text), &type));
    sl_type_unref(type);
    return SL_OK;
}

static sl_status decode(const char *schema, const char *bytes, size_t len, json_t **out)
{
    json_t *json = json_of(schema);
    sl_status status = sl_avro_value_decode(json, bytes, len, out);
    json_decref(json);
    return status;
}

static void decodes_to(const char *schema, const char *bytes, size_t len, const char *want)
{
    json_t *got, *wanted = json_of(want);
    OK(decode(schema, bytes, len, &got));
    JSON_SAME(got, wanted, schema);
    json_decref(got);
    json_decref(wanted);
}

static void refuses(const char *schema, const char *bytes, size_t len, const char *part)
{
    json_t *got;
    FAILS(decode(schema, bytes, len, &got), SL_E_CORRUPT, part);
}

static sl_status encode(const char *schema, const char *value, sl_buf *out)
{
    json_t *json = json_of(schema), *member = json_of(value);
    sl_status status = sl_avro_value_encode(json, member, out);
    json_decref(json);
    json_decref(member);
    return status;
}

static void encodes_to(const char *schema, const char *value, const char *bytes, size_t len)
{
    sl_buf out = {0};
    OK(encode(schema, value, &out));
    assert_int_equal(out.len, len);
    assert_memory_equal(out.data, bytes, len);
    sl_buf_free(&out);
}

static void misfits(const char *schema, const char *value, const char *part)
{
    sl_buf out = {0};
    FAILS(encode(schema, value, &out), SL_E_INTERNAL, part);
    sl_buf_free(&out);
}

/* ---- schemas ------------------------------------------------------------------------------------------- */

static void bad_schemas_are_named(void **state)
{
    (void)state;
    FAILS(compile("{"), SL_E_CORRUPT, "no JSON");
    FAILS(compile("\"strin\""), SL_E_CORRUPT, "unknown Avro type strin");
    FAILS(compile("17"), SL_E_CORRUPT, "no Avro type");
    FAILS(compile("[]"), SL_E_CORRUPT, "without branches");
    FAILS(compile("[\"int\",[\"null\"]]"), SL_E_CORRUPT, "inside a union");
    FAILS(compile("{\"type\":\"record\",\"name\":\"R\"}"), SL_E_CORRUPT, "record R has no fields");
    FAILS(compile("{\"type\":\"record\",\"fields\":[]}"), SL_E_CORRUPT, "without a name");
    FAILS(compile("{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"a\",\"type\":\"int\"},"
                  "{\"name\":\"a\",\"type\":\"int\"}]}"),
          SL_E_CORRUPT, "field a twice");
    FAILS(compile("{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"a\",\"type\":\"Q\"}]}"),
          SL_E_CORRUPT, "record R: field a: unknown Avro type Q");
    FAILS(compile("[{\"type\":\"fixed\",\"name\":\"F\",\"size\":1},{\"type\":\"fixed\",\"name\":\"F\","
                  "\"size\":1}]"),
          SL_E_CORRUPT, "F is defined twice");
    FAILS(compile("{\"type\":\"fixed\",\"name\":\"F\",\"size\":-1}"), SL_E_CORRUPT, "no valid size");
    FAILS(compile("{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[1]}"), SL_E_CORRUPT, "symbol 0");
}

static void deep_schemas_are_refused(void **state)
{
    (void)state;
    sl_buf text = {0};
    for (int i = 0; i < 500; i++)
        OK(sl_buf_printf(&text, "{\"type\":\"array\",\"items\":"));
    OK(sl_buf_printf(&text, "\"int\""));
    for (int i = 0; i < 500; i++)
        OK(sl_buf_byte(&text, '}'));
    OK(sl_buf_byte(&text, 0));
    FAILS(compile((const char *)text.data), SL_E_UNSUPPORTED, "nested deeper");
    sl_buf_free(&text);
}

static void names_follow_namespaces(void **state)
{
    (void)state;
    static const char schema[] =
        "{\"type\":\"record\",\"name\":\"a.R\",\"fields\":["
        "{\"name\":\"f\",\"type\":{\"type\":\"fixed\",\"name\":\"F\",\"size\":1}},"
        "{\"name\":\"g\",\"type\":{\"type\":\"fixed\",\"name\":\"F\",\"namespace\":\"b\",\"size\":2}},"
        "{\"name\":\"h\",\"type\":{\"type\":\"record\",\"name\":\"S\",\"namespace\":\"b\",\"fields\":["
        "{\"name\":\"x\",\"type\":\"F\"},{\"name\":\"y\",\"type\":\"a.F\"}]}},"
        "{\"name\":\"i\",\"type\":\"F\"},{\"name\":\"j\",\"type\":\"b.S\"}]}";
    decodes_to(schema,
               "1"
               "22"
               "33"
               "4"
               "5"
               "66"
               "7",
               10,
               "{\"f\":\"1\",\"g\":\"22\",\"h\":{\"x\":\"33\",\"y\":\"4\"},\"i\":\"5\",\"j\":{\"x\":\"66\","
               "\"y\":\"7\"}}");
}

static void row_types_say_what_they_lack(void **state)
{
    (void)state;
    FAILS(parse_type("\"int\""), SL_E_UNSUPPORTED, "not a record");
    FAILS(parse_type("{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"next\",\"type\":[\"null\","
                     "\"R\"]}]}"),
          SL_E_UNSUPPORTED, "field next: recursive type R");
    FAILS(parse_type(
              "{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"s\",\"type\":{\"type\":\"record\","
              "\"name\":\"S\",\"fields\":[{\"name\":\"u\",\"type\":[\"null\",\"int\",\"string\"]}]}}]}"),
          SL_E_UNSUPPORTED, "field s: field u: union of several types");
    FAILS(parse_type(
              "{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"d\",\"type\":{\"type\":\"bytes\","
              "\"logicalType\":\"decimal\",\"precision\":39}}]}"),
          SL_E_UNSUPPORTED, "field d: decimal of 39 digits");
}

/* Each record uses the one before twice: 2^40 columns from 2 kB of text. */
static void exploding_row_types_are_refused(void **state)
{
    (void)state;
    sl_buf text = {0};
    OK(sl_buf_printf(&text,
                     "{\"type\":\"record\",\"name\":\"Top\",\"fields\":[{\"name\":\"f0\",\"type\":{\"type\":"
                     "\"record\",\"name\":\"R0\",\"fields\":[{\"name\":\"x\",\"type\":\"int\"}]}}"));
    for (int i = 1; i < 40; i++)
        OK(sl_buf_printf(
            &text,
            ",{\"name\":\"f%d\",\"type\":{\"type\":\"record\",\"name\":\"R%d\",\"fields\":[{\"name\":\"a\","
            "\"type\":\"R%d\"},{\"name\":\"b\",\"type\":\"R%d\"}]}}",
            i, i, i - 1, i - 1));
    OK(sl_buf_append(&text, "]}", 3));
    FAILS(parse_type((const char *)text.data), SL_E_UNSUPPORTED, "unfolds to more than");
    sl_buf_free(&text);
}

static void logical_types_become_column_types(void **state)
{
    (void)state;
    static const struct {
        const char *avro;
        enum sl_type_id id;
        enum sl_time_unit unit;
        bool utc;
        enum sl_annotation annotation;
    } cases[] = {
        {"{\"type\":\"int\",\"logicalType\":\"date\"}", SL_DATE, 0, false, SL_PLAIN},
        {"{\"type\":\"int\",\"logicalType\":\"time-millis\"}", SL_TIME, SL_MILLIS, false, SL_PLAIN},
        {"{\"type\":\"long\",\"logicalType\":\"time-micros\"}", SL_TIME, SL_MICROS, false, SL_PLAIN},
        {"{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}", SL_TIMESTAMP, SL_MILLIS, true, SL_PLAIN},
        {"{\"type\":\"long\",\"logicalType\":\"timestamp-nanos\"}", SL_TIMESTAMP, SL_NANOS, true, SL_PLAIN},
        {"{\"type\":\"long\",\"logicalType\":\"local-timestamp-micros\"}", SL_TIMESTAMP, SL_MICROS, false,
         SL_PLAIN},
        {"{\"type\":\"string\",\"logicalType\":\"uuid\"}", SL_STRING, 0, false, SL_UUID},
        {"{\"type\":\"string\",\"avro.java.string\":\"String\"}", SL_STRING, 0, false, SL_PLAIN},
        {"{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\"]}", SL_STRING, 0, false, SL_ENUM},
        {"{\"type\":\"fixed\",\"name\":\"F\",\"size\":16,\"logicalType\":\"uuid\"}", SL_FIXED, 0, false,
         SL_UUID},
        {"{\"type\":\"fixed\",\"name\":\"F\",\"size\":3,\"logicalType\":\"decimal\",\"precision\":9}",
         SL_FIXED, 0, false, SL_PLAIN},
        {"{\"type\":\"fixed\",\"name\":\"F\",\"size\":3,\"logicalType\":\"decimal\",\"precision\":6}",
         SL_DECIMAL, 0, false, SL_PLAIN},
        {"{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":6,\"scale\":7}", SL_BINARY, 0, false,
         SL_PLAIN},
        {"{\"type\":\"string\",\"logicalType\":\"date\"}", SL_STRING, 0, false, SL_PLAIN},
        {"{\"type\":\"long\",\"logicalType\":\"made-up\"}", SL_INT64, 0, false, SL_PLAIN},
        {"\"null\"", SL_NULL, 0, false, SL_PLAIN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[400];
        const sl_type *record;
        snprintf(text, sizeof text,
                 "{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"a\",\"type\":%s}]}",
                 cases[i].avro);
        OK(sl_avro_schema_parse(text, strlen(text), &record));
        const sl_type *type = record->fields[0].type;
        if (type->id != cases[i].id || type->annotation != cases[i].annotation)
            fail_msg("%s: type %d, annotation %d", cases[i].avro, (int)type->id, (int)type->annotation);
        if (type->id == SL_TIMESTAMP)
            assert_int_equal(type->utc, cases[i].utc);
        if (type->id == SL_TIMESTAMP || type->id == SL_TIME)
            assert_int_equal(type->unit, cases[i].unit);
        sl_type_unref(record);
    }
}

/* What Spark never writes, written and parsed: the same type and the same text again. */
static void other_types_round_trip_through_text(void **state)
{
    (void)state;
    static const char text[] =
        "{\"type\":\"record\",\"name\":\"r\",\"namespace\":\"n\",\"fields\":["
        "{\"name\":\"e\",\"type\":{\"type\":\"enum\",\"name\":\"E\",\"namespace\":\"n\",\"symbols\":[\"A\","
        "\"B\"]}},"
        "{\"name\":\"e2\",\"type\":[\"null\",\"E\"],\"doc\":\"q\\\"\\\\\\n\\u001F\",\"default\":null},"
        "{\"name\":\"f\",\"type\":{\"type\":\"fixed\",\"name\":\"F\",\"namespace\":\"o.p\",\"size\":16,"
        "\"logicalType\":\"uuid\"}},"
        "{\"name\":\"g\",\"type\":{\"type\":\"map\",\"values\":\"o.p.F\"}},"
        "{\"name\":\"h\",\"type\":{\"type\":\"int\",\"logicalType\":\"time-millis\"}},"
        "{\"name\":\"i\",\"type\":{\"type\":\"long\",\"logicalType\":\"local-timestamp-nanos\"}},"
        "{\"name\":\"j\",\"type\":{\"type\":\"string\",\"logicalType\":\"uuid\"}}]}";
    const sl_type *type, *again;
    char *got, *want;
    OK(sl_avro_schema_parse(text, strlen(text), &type));
    OK(sl_avro_schema_text(type, "r", "n", &got));
    /* Java leaves out the namespace of E, which is the record's */
    want = strdup(text);
    char *extra = strstr(want, ",\"namespace\":\"n\",\"symbols\"");
    memmove(extra, extra + strlen(",\"namespace\":\"n\""),
            strlen(extra + strlen(",\"namespace\":\"n\"")) + 1);
    assert_string_equal(got, want);
    OK(sl_avro_schema_parse(got, strlen(got), &again));
    assert_true(sl_type_equal(type, again));
    sl_type_unref(type);
    sl_type_unref(again);
    sl_free(got);
    free(want);
}

/* ---- values -------------------------------------------------------------------------------------------- */

static void numbers_at_their_limits(void **state)
{
    (void)state;
    decodes_to("\"long\"", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, "-9223372036854775808");
    decodes_to("\"long\"", "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, "9223372036854775807");
    decodes_to("\"int\"", "\xff\xff\xff\xff\x0f", 5, "-2147483648");
    encodes_to("\"long\"", "-9223372036854775808", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
    encodes_to("\"int\"", "-64", "\x7f", 1);
    encodes_to("\"int\"", "64", "\x80\x01", 2);
    refuses("\"long\"", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, "more than 64 bits");
    refuses("\"long\"", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00", 11, "more than 64 bits");
    refuses("\"int\"", "\x80\x80\x80\x80\x10", 5, "beyond 32 bits");
    refuses("\"long\"", "\x80", 1, "past the end");
    refuses("\"boolean\"", "\x02", 1, "boolean");
    refuses("\"double\"", "1234567", 7, "past the end");
    decodes_to("\"float\"", "\x00\x00\xc0\x7f", 4, "\"NaN\"");
    encodes_to("\"double\"", "\"-Infinity\"", "\0\0\0\0\0\0\xf0\xff", 8);
    encodes_to("\"float\"", "3", "\0\0\x40\x40", 4);
    misfits("\"float\"", "1e300", "does not fit Avro float");
    misfits("\"int\"", "2147483648", "does not fit Avro int");
    misfits("\"double\"", "\"x\"", "string does not fit Avro double");
}

static void strings_and_bytes(void **state)
{
    (void)state;
    decodes_to("\"bytes\"", "\x06\x00\x7f\xff", 4, "\"\\u0000\x7f\xc3\xbf\"");
    encodes_to("{\"type\":\"fixed\",\"name\":\"F\",\"size\":2}", "\"\xc2\x80\xc3\xbf\"", "\x80\xff", 2);
    refuses("\"string\"", "\x04\xc3\x28", 3, "UTF-8");
    refuses("\"string\"", "\x01", 1, "length -1");
    refuses("\"string\"", "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, "length 9223372036854775807");
    refuses("\"string\"",
            "\x02"
            "ab",
            3, "1 bytes behind");
    refuses("{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\"]}", "\x02", 1, "enum symbol 1");
    misfits("{\"type\":\"fixed\",\"name\":\"F\",\"size\":2}", "\"abc\"", "3 bytes for Avro fixed F");
    misfits("\"bytes\"", "\"\xe2\x82\xac\"", "U+20AC");
    misfits("{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\"]}", "\"B\"", "no symbol");
}

static void blocks_of_items(void **state)
{
    (void)state;
    static const char longs[] = "{\"type\":\"array\",\"items\":\"long\"}";
    static const char nulls[] = "{\"type\":\"array\",\"items\":\"null\"}";
    decodes_to(longs, "\x04\x02\x04\x02\x06\x00", 6, "[1,2,3]");
    decodes_to(longs, "\x03\x04\x02\x04\x00", 5, "[1,2]"); /* count -2, 2 bytes */
    decodes_to("{\"type\":\"map\",\"values\":\"int\"}", "\x01\x06\x02k\x08\x00", 6, "{\"k\":4}");
    decodes_to(nulls, "\x06\x00", 2, "[null,null,null]");
    refuses(longs, "\x03\x06\x02\x04\x00", 5, "not at 5 as it says");
    refuses(longs, "\x03\x80\x01\x02\x04", 5, "64 bytes with 2 left");
    refuses(longs, "\x03\x01\x02\x04", 4, "-1 bytes");
    refuses(longs, "\xfe\xff\xff\xff\x0f\x02", 6, "claims 2147483647 items");
    refuses(longs, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", 11, "items");
    refuses(nulls, "\xfe\xff\xff\xff\x0f\x00", 6, "claims 2147483647 items");
    /* many believable counts do not add up to an unbelievable one */
    char repeated[64 * 3 + 1];
    for (size_t i = 0; i < 64; i++)
        memcpy(repeated + i * 3, "\x80\xfa\x01", 3); /* 16000 */
    repeated[64 * 3] = 0;
    refuses(nulls, repeated, sizeof repeated, "claims 16000 items");
}

static void deep_values_are_refused(void **state)
{
    (void)state;
    char bytes[4096];
    memset(bytes, 2, sizeof bytes);
    refuses("{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"n\",\"type\":[\"null\",\"R\"]}]}",
            bytes, sizeof bytes, "nested deeper");
    refuses("{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"n\",\"type\":\"R\"}]}", bytes,
            sizeof bytes, "nested deeper");
}

/* A record of no bytes whose member has a name of 100 kB: memory must stay in proportion. */
static void unfolding_values_are_refused(void **state)
{
    (void)state;
    sl_buf text = {0};
    OK(sl_buf_printf(
        &text, "{\"type\":\"array\",\"items\":{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\""));
    for (int i = 0; i < 100000; i++)
        OK(sl_buf_byte(&text, 'x'));
    OK(sl_buf_printf(&text, "\",\"type\":\"null\"}]}}"));
    OK(sl_buf_byte(&text, 0));
    refuses((const char *)text.data, "\x80\xfa\x01\x00", 4, "unfolds to far more");
    sl_buf_free(&text);
}

static void unions_and_defaults(void **state)
{
    (void)state;
    static const char schema[] =
        "{\"type\":\"record\",\"name\":\"R\",\"namespace\":\"n\",\"fields\":["
        "{\"name\":\"a\",\"type\":[\"int\",\"null\"],\"default\":1},"
        "{\"name\":\"b\",\"type\":[\"null\",\"string\"]},"
        "{\"name\":\"c\",\"type\":[\"int\",\"string\"],\"default\":5},"
        "{\"name\":\"d\",\"type\":{\"type\":\"array\",\"items\":\"int\"},\"default\":[]},"
        "{\"name\":\"e\",\"type\":[\"null\",{\"type\":\"record\",\"name\":\"W\",\"fields\":[]},\"string\"]}]"
        "}";
    encodes_to(schema, "{}", "\x00\x02\x00\x00\x0a\x00\x00", 7);
    encodes_to(schema,
               "{\"a\":null,\"b\":\"x\",\"c\":{\"string\":\"y\"},\"d\":[1],\"e\":{\"n.W\":{}},\"surplus\":1}",
               "\x02\x02\x02x\x02\x02y\x02\x02\x00\x02", 11);
    decodes_to(schema, "\x02\x02\x02x\x02\x02y\x02\x02\x00\x02", 11,
               "{\"a\":null,\"b\":\"x\",\"c\":{\"string\":\"y\"},\"d\":[1],\"e\":{\"n.W\":{}}}");
    refuses(schema, "\x04", 1, "union branch 2");
    misfits(schema, "{\"e\":{\"W\":{}}}", "W is no branch");
    misfits(schema, "{\"e\":\"bare\"}", "string does not fit");
    misfits(schema, "{\"a\":\"x\"}", "n.R: a: a JSON string does not fit Avro int");
    misfits("{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"a\",\"type\":\"int\"}]}", "{}",
            "missing");
}

/* ---- containers ---------------------------------------------------------------------------------------- */

static sl_status container_read(const void *data, size_t len)
{
    json_t *records;
    SL_TRY(sl_avro_container_read(data, len, &records, NULL));
    json_decref(records);
    return SL_OK;
}

static void containers_that_are_none(void **state)
{
    (void)state;
    FAILS(container_read("", 0), SL_E_CORRUPT, "no Avro object container");
    FAILS(container_read("PAR1xxxx", 8), SL_E_CORRUPT, "no Avro object container");
    FAILS(container_read("Obj\x01", 4), SL_E_CORRUPT, "past the end");
    FAILS(container_read("Obj\x01\x00"
                         "0123456789abcdef",
                         21),
          SL_E_CORRUPT, "no avro.schema");
    FAILS(container_read("Obj\x01\x04\x16"
                         "avro.schema\x0a\"int\"\x14"
                         "avro.codec\x06xyz\x00"
                         "0123456789abcdef",
                         56),
          SL_E_UNSUPPORTED, "codec xyz");
}

static void damage_is_found(void **state)
{
    (void)state;
    struct file_bytes file = test_file("avro/values_null.avro");
    FAILS(container_read(file.data, file.len - 1), SL_E_CORRUPT, "sync marker");
    file.data[file.len - 1] ^= 1;
    FAILS(container_read(file.data, file.len), SL_E_CORRUPT, "does not end in the file's sync marker");
    free(file.data);
    file = test_file("avro/values_snappy.avro");
    file.data[file.len - 17] ^= 1; /* the last byte of the last CRC */
    FAILS(container_read(file.data, file.len), SL_E_CORRUPT, "CRC");
    free(file.data);
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static void check_row(const sl_batch *batch, int64_t i, int64_t id)
{
    size_t len;
    char name[32];
    const sl_array *tags = batch->columns[4], *m = batch->columns[5], *s = batch->columns[6];
    assert_int_equal(sl_i64_at(batch->columns[0], i), id);
    assert_int_equal(sl_i64_at(batch->columns[3], i), 1700000000000000 + id);
    bool null = id % 4 == 3;
    for (size_t c = 1; c < 7; c++)
        if (c != 3 && c != 4)
            assert_int_equal(sl_is_valid(batch->columns[c], i), !null);
    assert_int_equal(tags->offsets[i + 1] - tags->offsets[i], id % 5);
    for (int32_t k = 0; k < id % 5; k++)
        assert_int_equal(sl_is_valid(tags->children[0], tags->offsets[i] + k), k != 1);
    if (null)
        return;
    snprintf(name, sizeof name, "name%" PRId64, id);
    const uint8_t *text = sl_bytes_at(batch->columns[1], i, &len);
    assert_int_equal(len, strlen(name));
    assert_memory_equal(text, name, len);
    assert_true(sl_decimal_at(batch->columns[2], i) == (id % 2 ? -1 : 1) * id * id);
    assert_int_equal(m->offsets[i + 1] - m->offsets[i], id % 4);
    assert_int_equal(sl_is_valid(s->children[0], i), id % 2 == 0);
    if (id % 2 == 0)
        assert_true(sl_double_at(s->children[0], i) == (double)id / 2);
}

static void rows_of_other_writers(void **state)
{
    (void)state;
    struct file_bytes file = test_file("avro/rows.avro");
    sl_stream *stream;
    sl_batch *batch;
    int64_t rows = 0;
    OK(sl_avro_container_scan(file.data, file.len, &stream));
    for (;;) {
        OK(sl_stream_next(stream, &batch));
        if (!batch)
            break;
        for (int64_t i = 0; i < batch->rows; i++)
            check_row(batch, i, rows + i);
        rows += batch->rows;
        sl_batch_unref(batch);
    }
    assert_int_equal(rows, 1000);
    sl_stream_close(stream);
    free(file.data);
}

/* Bytes as Spark lays them out, decoded with nothing but the row type. */
static void rows_by_type_alone(void **state)
{
    (void)state;
    static const char schema[] =
        "{\"type\":\"record\",\"name\":\"r\",\"fields\":["
        "{\"name\":\"k\",\"type\":[\"null\",\"string\"]},{\"name\":\"d\",\"type\":[\"null\",{\"type\":"
        "\"fixed\",\"name\":\"f\","
        "\"size\":4,\"logicalType\":\"decimal\",\"precision\":9,\"scale\":2}]},"
        "{\"name\":\"e\",\"type\":{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"BC\"]}},"
        "{\"name\":\"l\",\"type\":[\"null\",{\"type\":\"array\",\"items\":[\"null\",\"int\"]}]}]}";
    static const uint8_t bytes[] = {2, 2, 'x', 2, 0xff, 0xff, 0xff, 0x85, 2, 2, 4, 2, 6, 0, 0, /* first row */
                                    0, 0, 0,   0}; /* all null, e = A */
    const sl_type *type;
    sl_batch_builder builder = {0};
    sl_batch *batch;
    size_t pos = 0, len;
    OK(sl_avro_schema_parse(schema, strlen(schema), &type));
    OK(sl_batch_builder_init(&builder, type));
    OK(sl_avro_decode_row(type, bytes, sizeof bytes, &pos, &builder));
    assert_int_equal(pos, 15);
    OK(sl_avro_decode_row(type, bytes, sizeof bytes, &pos, &builder));
    assert_int_equal(pos, sizeof bytes);
    OK(sl_batch_builder_finish(&builder, &batch));
    assert_true(sl_decimal_at(batch->columns[1], 0) == -123);
    assert_memory_equal(sl_bytes_at(batch->columns[2], 0, &len), "BC", 2);
    assert_int_equal(batch->columns[3]->offsets[1], 2);
    assert_int_equal(sl_i32_at(batch->columns[3]->children[0], 0), 3);
    assert_false(sl_is_valid(batch->columns[3]->children[0], 1));
    assert_false(sl_is_valid(batch->columns[0], 1));
    assert_memory_equal(sl_bytes_at(batch->columns[2], 1, &len), "A", 1);
    sl_batch_unref(batch);
    FAILS(sl_avro_decode_row(type, bytes, 5, &(size_t){0}, &builder), SL_E_CORRUPT, "column d");
    sl_batch_builder_free(&builder);
    sl_type_unref(type);
}

/* One byte of input must not become a megabyte of column, again and again. */
static void wide_nulls_are_counted(void **state)
{
    (void)state;
    static const char schema[] = "{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"l\",\"type\":{"
                                 "\"type\":\"array\",\"items\":"
                                 "[\"null\",{\"type\":\"fixed\",\"name\":\"f\",\"size\":1000000}]}}]}";
    uint8_t bytes[202] = {0x90, 0x03}; /* 200 items, all null, then the end of the array is missing */
    const sl_type *type;
    sl_batch_builder builder = {0};
    size_t pos = 0;
    OK(sl_avro_schema_parse(schema, strlen(schema), &type));
    OK(sl_batch_builder_init(&builder, type));
    FAILS(sl_avro_decode_row(type, bytes, sizeof bytes, &pos, &builder), SL_E_CORRUPT,
          "column l: Avro value");
    sl_batch_builder_free(&builder);
    sl_type_unref(type);
}

static void decimals_of_any_width(void **state)
{
    (void)state;
    static const char schema[] =
        "{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"d\",\"type\":{\"type\":\"bytes\","
        "\"logicalType\":\"decimal\",\"precision\":38,\"scale\":0}}]}";
    static const struct {
        uint8_t bytes[20];
        size_t len;
        int64_t value;
        bool fits;
    } cases[] = {
        {{0}, 0, 0, true},
        {{0x80}, 1, -128, true},
        {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7}, 18, 7, true},
        {{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 254}, 17, -2, true},
        {{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 17, 0, false},
        {{0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 17, 0, false},
    };
    sl_avro_schema *compiled;
    const sl_type *type;
    OK(sl_avro_schema_of_text(schema, strlen(schema), &compiled));
    OK(sl_avro_schema_type(compiled, &type));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t bytes[21] = {(uint8_t)(cases[i].len * 2)};
        sl_batch_builder builder = {0};
        sl_batch *batch;
        size_t pos = 0;
        memcpy(bytes + 1, cases[i].bytes, cases[i].len);
        OK(sl_batch_builder_init(&builder, type));
        sl_status status = sl_avro_row_decode(compiled, type, bytes, cases[i].len + 1, &pos, &builder);
        if (cases[i].fits) {
            OK(status);
            OK(sl_batch_builder_finish(&builder, &batch));
            assert_true(sl_decimal_at(batch->columns[0], 0) == cases[i].value);
            sl_batch_unref(batch);
        } else {
            FAILS(status, SL_E_CORRUPT, "128 bits");
        }
        sl_batch_builder_free(&builder);
    }
    sl_type_unref(type);
    sl_avro_schema_free(compiled);
}

/* ---- hostile input ------------------------------------------------------------------------------------- */

/* Every reader of containers; failures are fine, crashes and floods of memory are not. */
static void read_everything(const uint8_t *data, size_t len)
{
    json_t *json;
    sl_stream *stream;
    if (!sl_status_ignore(sl_avro_container_read(data, len, &json, NULL)))
        json_decref(json);
    if (!sl_status_ignore(sl_avro_container_describe(data, len, &json)))
        json_decref(json);
    if (sl_status_ignore(sl_avro_container_scan(data, len, &stream)))
        return;
    sl_batch *batch;
    while (!sl_status_ignore(sl_stream_next(stream, &batch)) && batch)
        sl_batch_unref(batch);
    sl_stream_close(stream);
}

static const char *const hostile_seeds[] = {
    "avro/rows.avro",
    "avro/values_null.avro",
    "avro/values_deflate.avro",
    "avro/values_snappy.avro",
    "avro/values_zstandard.avro",
    "timeline/v9/20261130025314839_20261130025323014.commit",
};

static void mutated_files_do_no_harm(void **state)
{
    (void)state;
    random_start();
    for (size_t i = 0; i < sizeof hostile_seeds / sizeof hostile_seeds[0]; i++) {
        struct file_bytes file = test_file(hostile_seeds[i]);
        for (int round = 0; round < 150; round++) {
            size_t len = round % 3 == 0 ? random_next() % (file.len + 1) : file.len;
            uint8_t *copy = malloc(len + 1); /* its own block: ASan sees reads behind it */
            assert_non_null(copy);
            memcpy(copy, file.data, len);
            size_t reach = round % 2 ? len : len / 8; /* half of the damage hits the header */
            for (uint64_t k = random_next() % 4; reach > 0 && round % 3 != 0 && k < 5; k++)
                copy[random_next() % reach] = (uint8_t)random_next();
            read_everything(copy, len);
            free(copy);
        }
        free(file.data);
    }
}

/* The n-th allocation fails, for every n: an error comes back and nothing leaks (ASan). */
static void failing_allocations(void **state)
{
    (void)state;
    struct file_bytes file = test_file("avro/rows.avro");
    for (uint64_t n = 1; n < 400; n += n < 100 ? 1 : 17) {
        sl_test_fail_allocation(n, false);
        read_everything(file.data, file.len);
        sl_test_fail_allocation(0, false);
    }
    free(file.data);
    const sl_type *type;
    file = test_file("avro/table_schemas.jsonl");
    const char *start = strstr((char *)file.data, "{\"type\":\"record\",\"name\":\"cow_types_v6_record\"");
    for (uint64_t n = 1; n < 400; n++) {
        char *text;
        sl_test_fail_allocation(n, false);
        sl_status status = sl_avro_schema_parse(start, strcspn(start, "\n"), &type);
        if (!sl_status_ignore(status)) {
            if (!sl_status_ignore(sl_avro_schema_text(type, "r", "n", &text)))
                sl_free(text);
            sl_type_unref(type);
        }
        sl_test_fail_allocation(0, false);
    }
    free(file.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_schemas_are_named),
        cmocka_unit_test(deep_schemas_are_refused),
        cmocka_unit_test(names_follow_namespaces),
        cmocka_unit_test(row_types_say_what_they_lack),
        cmocka_unit_test(exploding_row_types_are_refused),
        cmocka_unit_test(logical_types_become_column_types),
        cmocka_unit_test(other_types_round_trip_through_text),
        cmocka_unit_test(numbers_at_their_limits),
        cmocka_unit_test(strings_and_bytes),
        cmocka_unit_test(blocks_of_items),
        cmocka_unit_test(deep_values_are_refused),
        cmocka_unit_test(unfolding_values_are_refused),
        cmocka_unit_test(unions_and_defaults),
        cmocka_unit_test(containers_that_are_none),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(rows_of_other_writers),
        cmocka_unit_test(rows_by_type_alone),
        cmocka_unit_test(wide_nulls_are_counted),
        cmocka_unit_test(decimals_of_any_width),
        cmocka_unit_test(mutated_files_do_no_harm),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
