/*
 * Record keys (spec/write-path.md 1): SIMPLE and single-field keys are the value's text, composite ones
 * "f1:v1,f2:v2" with __null__ and __empty__ for values that are not there. The texts come from key_text.c as
 * string columns; a string key is handed on as it is, without a copy.
 */
#include "keys/keys_int.h"
#include <strings.h>

void sl_keygen_free(struct sl_keygen *keygen)
{
    sl_strings_free(&keygen->record_fields);
    sl_strings_free(&keygen->partition_fields);
}

/* The types of hoodie.table.keygenerator.type, and the classes that older tables name instead. */
static const struct {
    const char *name;
    enum sl_keygen_kind kind;
} kind_names[] = {
    {"SIMPLE", SL_KEYGEN_SIMPLE},
    {"COMPLEX", SL_KEYGEN_COMPLEX},
    {"NON_PARTITION", SL_KEYGEN_NON_PARTITION},
    {"SIMPLE_AVRO", SL_KEYGEN_SIMPLE},
    {"COMPLEX_AVRO", SL_KEYGEN_COMPLEX},
    {"NON_PARTITION_AVRO", SL_KEYGEN_NON_PARTITION},
    {"SimpleKeyGenerator", SL_KEYGEN_SIMPLE},
    {"SimpleAvroKeyGenerator", SL_KEYGEN_SIMPLE},
    {"ComplexKeyGenerator", SL_KEYGEN_COMPLEX},
    {"ComplexAvroKeyGenerator", SL_KEYGEN_COMPLEX},
    {"NonpartitionedKeyGenerator", SL_KEYGEN_NON_PARTITION},
    {"NonpartitionedAvroKeyGenerator", SL_KEYGEN_NON_PARTITION},
};

sl_status sl_keygen_kind_named(const char *name, enum sl_keygen_kind *out)
{
    const char *dot = strrchr(name, '.'); /* org.apache.hudi.keygen.SimpleKeyGenerator */
    const char *last = dot ? dot + 1 : name;
    for (size_t i = 0; i < sizeof kind_names / sizeof *kind_names; i++) {
        if (strcasecmp(last, kind_names[i].name) == 0) {
            *out = kind_names[i].kind;
            return SL_OK;
        }
    }
    return sl_unsupported("key generator `%s` (SIMPLE, COMPLEX and NON_PARTITION are supported)", name);
}

const char *sl_keygen_kind_name(enum sl_keygen_kind kind) { return kind_names[kind].name; }

sl_status sl_keygen_infer(size_t record_fields, size_t partition_fields, const char *first_partition_field,
                          enum sl_keygen_kind *out)
{
    if (partition_fields == 0) {
        *out = SL_KEYGEN_NON_PARTITION;
        return SL_OK;
    }
    if (first_partition_field && strchr(first_partition_field, ':'))
        return sl_unsupported("partition field `%s` asks for the CUSTOM key generator",
                              first_partition_field);
    *out = partition_fields == 1 && record_fields <= 1 ? SL_KEYGEN_SIMPLE : SL_KEYGEN_COMPLEX;
    return SL_OK;
}

/* ---- checks against a schema --------------------------------------------------------------------------- */

static bool may_be_key(const sl_type *type)
{
    switch (type->id) {
    case SL_NULL:
    case SL_HALF:
    case SL_BINARY: /* Hudi's row writer and its record writer print different texts for bytes (spec 1.2) */
    case SL_FIXED:
    case SL_LIST:
    case SL_MAP:
    case SL_STRUCT:
        return false;
    default:
        return true;
    }
}

static sl_status check_field(const char *role, const char *path, const sl_type *schema, const sl_type **out)
{
    const sl_type *type = key_field_type(schema, path);
    if (!type)
        return sl_input("%s field `%s` is not in the schema", role, path);
    if (!may_be_key(type)) {
        char *text = NULL;
        SL_TRY(sl_type_text(type, &text));
        sl_status status =
            sl_input("%s field `%s` has type %s, which cannot be part of a key", role, path, text);
        sl_free(text);
        return status;
    }
    *out = type;
    return SL_OK;
}

static sl_status check_key_count(const struct sl_keygen *keygen)
{
    size_t keys = keygen->record_fields.count;
    if (keys == 0)
        return sl_input("no record key field is set");
    if (keygen->kind == SL_KEYGEN_SIMPLE && keys != 1)
        return sl_input("key generator SIMPLE takes one record key field, not %zu", keys);
    return SL_OK;
}

/* Hudi takes a partition field that NON_PARTITION ignores; whoever sets one means something else. */
static sl_status check_partition_count(const struct sl_keygen *keygen)
{
    size_t partitions = keygen->partition_fields.count;
    if (keygen->kind == SL_KEYGEN_SIMPLE && partitions != 1)
        return sl_input("key generator SIMPLE takes one partition field, not %zu", partitions);
    if (keygen->kind == SL_KEYGEN_NON_PARTITION && partitions != 0)
        return sl_input("key generator NON_PARTITION takes no partition field, not `%s`",
                        keygen->partition_fields.items[0]);
    return SL_OK;
}

sl_status sl_keygen_check(const struct sl_keygen *keygen, const sl_type *schema, const sl_runtime *runtime)
{
    const sl_type *type;
    SL_TRY(check_key_count(keygen));
    SL_TRY(check_partition_count(keygen));
    for (size_t i = 0; i < keygen->record_fields.count; i++) {
        const char *field = keygen->record_fields.items[i];
        SL_TRY(check_field("record key", field, schema, &type));
        if (type->id == SL_FLOAT || type->id == SL_DOUBLE)
            sl_warn(
                runtime,
                "record key field `%s` is a floating-point number: Java releases before 19 print some values "
                "with other digits, which would be other keys",
                field);
    }
    for (size_t i = 0; i < keygen->partition_fields.count; i++)
        SL_TRY(check_field("partition", keygen->partition_fields.items[i], schema, &type));
    return SL_OK;
}

/* ---- record keys --------------------------------------------------------------------------------------- */

bool keygen_is_composite(const struct sl_keygen *keygen)
{
    if (keygen->record_fields.count > 1)
        return true;
    return keygen->kind == SL_KEYGEN_COMPLEX && !keygen->complex_bare_single;
}

/* A key that is one value: neither null nor empty. */
static sl_status single_keys(const char *field, const sl_batch *batch, sl_array **out)
{
    sl_array *texts;
    SL_TRY(key_text_of_field(batch, field, &texts, NULL));
    for (int64_t i = 0; i < texts->length; i++) {
        if (SL_LIKELY(sl_is_valid(texts, i) && texts->offsets[i + 1] > texts->offsets[i]))
            continue;
        const char *what = sl_is_valid(texts, i) ? "empty" : "null";
        sl_array_unref(texts);
        return sl_at_row(sl_input("record key field `%s` is %s", field, what), i);
    }
    *out = texts;
    return SL_OK;
}

/* The text of one part, with the words that stand for null and empty. */
static const uint8_t *part_text(const sl_array *texts, int64_t row, size_t *len, bool *present)
{
    const uint8_t *text = (const uint8_t *)"__null__";
    *len = 8;
    if (sl_is_valid(texts, row)) {
        text = sl_bytes_at(texts, row, len);
        if (*len > 0) {
            *present = true;
        } else {
            text = (const uint8_t *)"__empty__";
            *len = 9;
        }
    }
    return text;
}

static sl_status composite_key(const sl_strings *fields, const size_t *name_lengths, sl_array *const *texts,
                               int64_t row, struct text_sink *sink)
{
    bool present = false;
    for (size_t f = 0; f < fields->count; f++) {
        size_t len, name = name_lengths[f];
        const uint8_t *text = part_text(texts[f], row, &len, &present);
        uint8_t *at = NULL;
        SL_TRY(text_sink_room(sink, name + len + 2, &at));
        uint8_t *start = at;
        if (f > 0)
            *at++ = ',';
        memcpy(at, fields->items[f], name);
        at += name;
        *at++ = ':';
        memcpy(at, text, len);
        sink->bytes.len += (size_t)(at + len - start);
    }
    if (!present)
        return sl_at_row(sl_input("every field of the record key is null or empty"), row);
    text_sink_end_row(sink);
    return SL_OK;
}

static sl_status composite_keys(const sl_strings *fields, const sl_batch *batch, sl_array **out)
{
    struct text_sink sink = {0};
    size_t *name_lengths = NULL;
    sl_array **texts;
    SL_NEW_ARRAY(texts, fields->count);
    sl_status status = SL_OK;
    if (!(name_lengths = sl_calloc(fields->count, sizeof *name_lengths))) {
        status = sl_nomem();
        goto done;
    }
    for (size_t f = 0; f < fields->count; f++) {
        int64_t parent_null_row;
        name_lengths[f] = strlen(fields->items[f]);
        SL_GO(key_text_of_field(batch, fields->items[f], &texts[f], &parent_null_row));
        if (parent_null_row >= 0) { /* the record family refuses this, other than a null leaf (spec 1.3) */
            status = sl_at_row(sl_input("a parent of record key field `%s` is null", fields->items[f]),
                               parent_null_row);
            goto done;
        }
    }
    SL_GO(text_sink_init(&sink, batch->rows));
    for (int64_t row = 0; row < batch->rows; row++)
        SL_GO(composite_key(fields, name_lengths, texts, row, &sink));
    SL_GO(text_sink_finish(&sink, NULL, 0, out));
done:
    text_sink_free(&sink);
    for (size_t f = 0; f < fields->count; f++)
        sl_array_unref(texts[f]);
    sl_free(name_lengths);
    sl_free(texts);
    return status;
}

sl_status sl_keygen_apply(const struct sl_keygen *keygen, const sl_batch *batch, sl_array **keys,
                          sl_array **partitions)
{
    sl_array *key_column;
    SL_TRY(check_key_count(keygen));
    if (keygen_is_composite(keygen))
        SL_TRY(composite_keys(&keygen->record_fields, batch, &key_column));
    else
        SL_TRY(single_keys(keygen->record_fields.items[0], batch, &key_column));
    if (partitions) {
        sl_status status = partition_paths_of_batch(keygen, batch, partitions);
        if (status != SL_OK) {
            sl_array_unref(key_column);
            return status;
        }
    }
    *keys = key_column;
    return SL_OK;
}
