/*
 * Rows of Avro binary into column builders.
 *
 * The row type says where values go; the writer's node says how they lie in the bytes where the type alone
 * cannot (order of a union's branches, decimals on bytes). Without a node the layout is what Spark writes.
 */
#include "avro/avro_int.h"

static sl_status value_append(struct avro_reader *r, const sl_type *type, bool nullable,
                              const struct avro_node *node, sl_builder *b);

static const struct avro_node *child_node(const struct avro_node *node, size_t i)
{
    return node ? node->children[i].node : NULL;
}

/* Whether a value follows; *node becomes that of the branch taken. */
static sl_status branch_read(struct avro_reader *r, bool nullable, const struct avro_node **node,
                             bool *is_null)
{
    size_t branch;
    *is_null = false;
    if (*node && (*node)->kind == AVRO_UNION) {
        SL_TRY(avro_read_index(r, (*node)->child_count, "union branch", &branch));
        *node = (*node)->children[branch].node;
        *is_null = (*node)->kind == AVRO_NULL;
    } else if (!*node && nullable) {
        SL_TRY(avro_read_index(r, 2, "union branch", &branch));
        *is_null = branch == 0;
    }
    return SL_OK;
}

/* Bytes of columns that a null of this type takes: a fixed takes its width, a struct what its members take.
 */
static size_t null_bytes(const sl_type *type)
{
    size_t bytes = 0;
    if (type->id == SL_FIXED)
        return (size_t)type->width;
    if (type->id != SL_STRUCT)
        return 16;
    for (size_t i = 0; i < type->field_count; i++)
        bytes += null_bytes(type->fields[i].type);
    return bytes;
}

/* A null costs a file one byte; a null of a wide type costs us many, so those are counted. */
static sl_status null_append(struct avro_reader *r, const sl_type *type, sl_builder *b)
{
    if (type->id == SL_FIXED || type->id == SL_STRUCT)
        SL_TRY(avro_memory_take(r, null_bytes(type)));
    return sl_builder_null(b);
}

static sl_status int_append(struct avro_reader *r, sl_builder *b)
{
    int32_t value;
    SL_TRY(avro_read_int(r, &value));
    return sl_builder_integer(b, value);
}

static sl_status long_append(struct avro_reader *r, sl_builder *b)
{
    int64_t value;
    SL_TRY(avro_read_long(r, &value));
    return sl_builder_integer(b, value);
}

static sl_status float_append(struct avro_reader *r, sl_builder *b)
{
    float value;
    SL_TRY(avro_read_float(r, &value));
    return sl_builder_double(b, (double)value);
}

static sl_status double_append(struct avro_reader *r, sl_builder *b)
{
    double value;
    SL_TRY(avro_read_double(r, &value));
    return sl_builder_double(b, value);
}

static sl_status decimal_append(struct avro_reader *r, const sl_type *type, const struct avro_node *node,
                                sl_builder *b)
{
    const uint8_t *bytes;
    size_t len;
    sl_i128 value;
    if (node && node->kind == AVRO_BYTES) {
        SL_TRY(avro_read_bytes(r, &bytes, &len));
    } else {
        len = (size_t)(node ? node->size : type->width > 0 ? type->width : sl_decimal_bytes(type->precision));
        SL_TRY(avro_read_fixed(r, len, &bytes));
    }
    SL_TRY(avro_decimal_from_bytes(bytes, len, &value));
    return sl_builder_decimal(b, value);
}

static sl_status string_append(struct avro_reader *r, const sl_type *type, sl_builder *b)
{
    const uint8_t *bytes;
    size_t len, index;
    const sl_strings *symbols = type->annotation == SL_ENUM ? type->symbols : NULL;
    if (!symbols) {
        SL_TRY(avro_read_string(r, &bytes, &len));
        return sl_builder_bytes(b, bytes, len);
    }
    SL_TRY(avro_read_index(r, symbols->count, "enum symbol", &index));
    return sl_builder_bytes(b, symbols->items[index], strlen(symbols->items[index]));
}

static sl_status binary_append(struct avro_reader *r, sl_builder *b)
{
    const uint8_t *bytes;
    size_t len;
    SL_TRY(avro_read_bytes(r, &bytes, &len));
    return sl_builder_bytes(b, bytes, len);
}

static sl_status fixed_append(struct avro_reader *r, const sl_type *type, sl_builder *b)
{
    const uint8_t *bytes;
    SL_TRY(avro_read_fixed(r, (size_t)type->width, &bytes));
    return sl_builder_bytes(b, bytes, (size_t)type->width);
}

/* A lower bound of a value's bytes, from its node or its type. */
static uint32_t value_bytes_min(const sl_type *type, bool nullable, const struct avro_node *node)
{
    if (node)
        return node->bytes_min;
    if (!nullable && (type->id == SL_NULL || type->id == SL_STRUCT || type->id == SL_FIXED))
        return type->id == SL_FIXED && type->width > 0 ? (uint32_t)type->width : 0;
    return 1;
}

static sl_status list_append(struct avro_reader *r, const sl_type *type, const struct avro_node *node,
                             sl_builder *b)
{
    const sl_field *element = &type->fields[0];
    const struct avro_node *element_node = child_node(node, 0);
    sl_builder *elements = sl_builder_child(b, 0);
    uint32_t bytes_min = value_bytes_min(element->type, element->nullable, element_node);
    struct avro_blocks blocks = {0};
    for (;;) {
        bool more;
        SL_TRY(avro_blocks_next(r, bytes_min, &blocks, &more));
        if (!more)
            return sl_builder_close(b);
        SL_TRY(value_append(r, element->type, element->nullable, element_node, elements));
    }
}

static sl_status map_append(struct avro_reader *r, const sl_type *type, const struct avro_node *node,
                            sl_builder *b)
{
    const sl_field *value = &type->fields[0].type->fields[1];
    sl_builder *entries = sl_builder_child(b, 0);
    sl_builder *keys = sl_builder_child(entries, 0), *values = sl_builder_child(entries, 1);
    struct avro_blocks blocks = {0};
    for (;;) {
        bool more;
        const uint8_t *key;
        size_t key_len;
        SL_TRY(avro_blocks_next(r, 1, &blocks, &more)); /* a key takes a byte at least */
        if (!more)
            return sl_builder_close(b);
        SL_TRY_CTX(avro_read_string(r, &key, &key_len), "map key");
        SL_TRY(sl_builder_bytes(keys, key, key_len));
        SL_TRY(value_append(r, value->type, value->nullable, child_node(node, 0), values));
        SL_TRY(sl_builder_close(entries));
    }
}

static sl_status struct_append(struct avro_reader *r, const sl_type *type, const struct avro_node *node,
                               sl_builder *b)
{
    for (size_t i = 0; i < type->field_count; i++)
        SL_TRY_CTX(value_append(r, type->fields[i].type, type->fields[i].nullable, child_node(node, i),
                                sl_builder_child(b, i)),
                   "field %s", type->fields[i].name);
    return sl_builder_close(b);
}

static sl_status nested_append(struct avro_reader *r, const sl_type *type, const struct avro_node *node,
                               sl_builder *b)
{
    if (r->depth == AVRO_VALUE_DEPTH_MAX)
        return sl_corrupt("Avro value nested deeper than %d", AVRO_VALUE_DEPTH_MAX);
    r->depth++;
    sl_status status = type->id == SL_LIST  ? list_append(r, type, node, b)
                       : type->id == SL_MAP ? map_append(r, type, node, b)
                                            : struct_append(r, type, node, b);
    r->depth--;
    return status;
}

static sl_status value_append(struct avro_reader *r, const sl_type *type, bool nullable,
                              const struct avro_node *node, sl_builder *b)
{
    bool is_null, flag;
    SL_TRY(branch_read(r, nullable, &node, &is_null));
    if (is_null)
        return null_append(r, type, b);
    switch (type->id) {
    case SL_NULL:
        return sl_builder_null(b);
    case SL_BOOL:
        SL_TRY(avro_read_bool(r, &flag));
        return sl_builder_bool(b, flag);
    case SL_INT8:
    case SL_INT16:
    case SL_INT32:
    case SL_UINT8:
    case SL_UINT16:
    case SL_DATE:
        return int_append(r, b);
    case SL_TIME:
        return type->unit == SL_MILLIS ? int_append(r, b) : long_append(r, b);
    case SL_INT64:
    case SL_UINT32:
    case SL_TIMESTAMP:
        return long_append(r, b);
    case SL_FLOAT:
        return float_append(r, b);
    case SL_DOUBLE:
        return double_append(r, b);
    case SL_DECIMAL:
        return decimal_append(r, type, node, b);
    case SL_STRING:
        return string_append(r, type, b);
    case SL_BINARY:
        return binary_append(r, b);
    case SL_FIXED:
        return fixed_append(r, type, b);
    case SL_LIST:
    case SL_MAP:
    case SL_STRUCT:
        return nested_append(r, type, node, b);
    case SL_UINT64:
    case SL_HALF:
        break;
    }
    return sl_unsupported("a column type that Avro lacks");
}

sl_status avro_row_read(struct avro_reader *r, const struct avro_node *node, const sl_type *schema,
                        sl_batch_builder *out)
{
    for (size_t i = 0; i < schema->field_count; i++)
        SL_TRY_CTX(value_append(r, schema->fields[i].type, schema->fields[i].nullable, child_node(node, i),
                                out->columns[i]),
                   "column %s", schema->fields[i].name);
    return SL_OK;
}

static sl_status row_decode(const struct avro_node *node, const sl_type *schema, const uint8_t *data,
                            size_t len, size_t *pos, sl_batch_builder *out)
{
    struct avro_reader r = {
        .data = data, .len = len, .pos = *pos, .memory_left = avro_memory_for(len - *pos)};
    SL_TRY(avro_row_read(&r, node, schema, out));
    *pos = r.pos;
    return SL_OK;
}

sl_status sl_avro_decode_row(const sl_type *schema, const uint8_t *data, size_t len, size_t *pos,
                             sl_batch_builder *out)
{
    return row_decode(NULL, schema, data, len, pos, out);
}

sl_status sl_avro_row_decode(const sl_avro_schema *writer, const sl_type *type, const uint8_t *data,
                             size_t len, size_t *pos, sl_batch_builder *out)
{
    return row_decode(avro_schema_root(writer), type, data, len, pos, out);
}
