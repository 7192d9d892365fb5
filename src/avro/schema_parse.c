/* Avro schema -> struct type (spec/parquet.md 8). */
#include "avro/avro_int.h"

/* A row type is a tree, a schema is a graph: references may unfold to more columns than any table has. */
#define COLUMNS_MAX 65536

/* The records around the present place: meeting one again means a recursive type. */
struct ancestor {
    const struct avro_node *node;
    const struct ancestor *up;
};

static sl_status type_of(const struct avro_node *node, const struct ancestor *up, bool *nullable,
                         const sl_type **out);

/* The type is new and ours alone, so its marks may still be set. */
static sl_status type_mark(const sl_type *type, const struct avro_node *node)
{
    sl_type *own = (sl_type *)type;
    if (!(own->name = sl_strdup(node->name)))
        return sl_nomem();
    if (node->kind != AVRO_ENUM)
        return SL_OK;
    sl_strings *symbols;
    SL_NEW(symbols);
    own->symbols = symbols;
    for (size_t i = 0; i < node->symbol_count; i++)
        SL_TRY(sl_strings_add(symbols, node->symbols[i]));
    return SL_OK;
}

static sl_status decimal_type(const struct avro_node *node, const sl_type **out)
{
    if (node->precision > 38)
        return sl_unsupported("decimal of %d digits, at most 38", node->precision);
    SL_TRY(sl_type_decimal(node->precision, node->scale, out));
    ((sl_type *)*out)->width = node->kind == AVRO_FIXED ? node->size : 0;
    return SL_OK;
}

static sl_status scalar_type(const struct avro_node *node, const sl_type **out)
{
    static const enum sl_type_id plain[] = {
        [AVRO_NULL] = SL_NULL,    [AVRO_BOOLEAN] = SL_BOOL,  [AVRO_INT] = SL_INT32,
        [AVRO_LONG] = SL_INT64,   [AVRO_FLOAT] = SL_FLOAT,   [AVRO_DOUBLE] = SL_DOUBLE,
        [AVRO_BYTES] = SL_BINARY, [AVRO_STRING] = SL_STRING,
    };
    switch (node->logical) {
    case AVRO_DECIMAL:
        return decimal_type(node, out);
    case AVRO_DATE:
        return sl_type_new(SL_DATE, out);
    case AVRO_TIME_MILLIS:
        return sl_type_time(SL_MILLIS, out);
    case AVRO_TIME_MICROS:
        return sl_type_time(SL_MICROS, out);
    case AVRO_TIMESTAMP_MILLIS:
        return sl_type_timestamp(SL_MILLIS, true, out);
    case AVRO_TIMESTAMP_MICROS:
        return sl_type_timestamp(SL_MICROS, true, out);
    case AVRO_TIMESTAMP_NANOS:
        return sl_type_timestamp(SL_NANOS, true, out);
    case AVRO_LOCAL_MILLIS:
        return sl_type_timestamp(SL_MILLIS, false, out);
    case AVRO_LOCAL_MICROS:
        return sl_type_timestamp(SL_MICROS, false, out);
    case AVRO_LOCAL_NANOS:
        return sl_type_timestamp(SL_NANOS, false, out);
    case AVRO_UUID:
        if (node->kind == AVRO_STRING)
            return sl_type_annotated(SL_STRING, SL_UUID, out);
        break;
    case AVRO_PLAIN:
        break;
    }
    if (node->kind == AVRO_ENUM)
        return sl_type_annotated(SL_STRING, SL_ENUM, out);
    if (node->kind != AVRO_FIXED)
        return sl_type_new(plain[node->kind], out);
    SL_TRY(sl_type_fixed(node->size, out));
    if (node->logical == AVRO_UUID)
        ((sl_type *)*out)->annotation = SL_UUID;
    return SL_OK;
}

static sl_status record_type(const struct avro_node *node, const struct ancestor *up, const sl_type **out)
{
    for (const struct ancestor *a = up; a; a = a->up)
        if (a->node == node)
            return sl_unsupported("recursive type %s", node->name);
    const struct ancestor here = {node, up};
    sl_status status = SL_OK;
    sl_field *fields;
    SL_NEW_ARRAY(fields, node->child_count);
    for (size_t i = 0; i < node->child_count; i++) {
        fields[i].name = node->children[i].name;
        fields[i].doc = node->children[i].doc;
        SL_GO_CTX(type_of(node->children[i].node, &here, &fields[i].nullable, &fields[i].type), "field %s",
                  fields[i].name);
    }
    SL_GO(sl_type_struct(fields, node->child_count, out));
done:
    for (size_t i = 0; i < node->child_count; i++)
        sl_type_unref(fields[i].type);
    sl_free(fields);
    return status;
}

static sl_status list_type(const struct avro_node *node, const struct ancestor *up, const sl_type **out)
{
    sl_field element = {.name = "element"};
    SL_TRY_CTX(type_of(node->children[0].node, up, &element.nullable, &element.type), "element");
    sl_status status = sl_type_list(&element, out);
    sl_type_unref(element.type);
    return status;
}

static sl_status map_type(const struct avro_node *node, const struct ancestor *up, const sl_type **out)
{
    sl_field value = {.name = "value"};
    const sl_type *key;
    SL_TRY(sl_type_new(SL_STRING, &key));
    sl_status status = sl_context(type_of(node->children[0].node, up, &value.nullable, &value.type), "value");
    if (status == SL_OK)
        status = sl_type_map(key, &value, out);
    sl_type_unref(key);
    sl_type_unref(value.type);
    return status;
}

static sl_status type_of(const struct avro_node *node, const struct ancestor *up, bool *nullable,
                         const sl_type **out)
{
    *nullable = node->kind == AVRO_NULL;
    if (node->kind == AVRO_UNION) {
        if (node->only_branch < 0 && node->child_count > 1)
            return sl_unsupported("union of several types");
        *nullable = node->null_branch >= 0;
        node = node->children[node->only_branch >= 0 ? node->only_branch : 0].node;
    }
    const sl_type *type = NULL;
    sl_status status = SL_OK;
    switch (node->kind) {
    case AVRO_RECORD:
        SL_TRY(record_type(node, up, &type));
        break;
    case AVRO_ARRAY:
        SL_TRY(list_type(node, up, &type));
        break;
    case AVRO_MAP:
        SL_TRY(map_type(node, up, &type));
        break;
    default:
        SL_TRY(scalar_type(node, &type));
        break;
    }
    if (node->kind == AVRO_RECORD || node->kind == AVRO_FIXED || node->kind == AVRO_ENUM)
        status = type_mark(type, node);
    if (status != SL_OK) {
        sl_type_unref(type);
        return status;
    }
    *out = type;
    return SL_OK;
}

sl_status sl_avro_schema_type(const sl_avro_schema *schema, const sl_type **out)
{
    const struct avro_node *root = avro_schema_root(schema);
    bool nullable;
    if (root->kind != AVRO_RECORD)
        return sl_unsupported("Avro schema of rows is a %s, not a record", root->name);
    if (root->breadth > COLUMNS_MAX)
        return sl_unsupported("Avro record %s unfolds to more than %d columns", root->name, COLUMNS_MAX);
    SL_TRY_CTX(type_of(root, NULL, &nullable, out), "Avro record %s", root->name);
    return SL_OK;
}

sl_status sl_avro_schema_parse(const char *json, size_t len, const sl_type **out)
{
    sl_avro_schema *schema;
    SL_TRY(sl_avro_schema_of_text(json, len, &schema));
    sl_status status = sl_avro_schema_type(schema, out);
    sl_avro_schema_free(schema);
    return status;
}
