/*
 * Avro values as JSON values (avro.h says how), both ways, driven by the writer's schema.
 *
 * A byte of input may stand for a whole member with a long name, so what decoded values take is counted while
 * they are made and may not exceed a generous multiple of the input.
 */
#include "avro/avro_int.h"

#include <float.h>
#include <math.h>

#define VALUE_BYTES 48 /* about what jansson needs for one value and its place in a container */

static sl_status json_made(json_t *json, json_t **out)
{
    if (!json)
        return sl_nomem();
    *out = json;
    return SL_OK;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/* U+0080..U+00FF take two bytes of UTF-8, the first of which is C2 or C3. */
sl_status avro_bytes_to_json(const uint8_t *data, size_t len, json_t **out)
{
    char *text = sl_malloc(len * 2 + 1);
    if (!text)
        return sl_nomem();
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        if (data[i] >= 0x80)
            text[n++] = (char)(0xc0 | data[i] >> 6);
        text[n++] = (char)(data[i] >= 0x80 ? 0x80 | (data[i] & 0x3f) : data[i]);
    }
    json_t *json = json_stringn_nocheck(text, n);
    sl_free(text);
    return json_made(json, out);
}

static sl_status bytes_take(struct avro_reader *r, const uint8_t *data, size_t len, json_t **out)
{
    SL_TRY(avro_memory_take(r, len * 2));
    return avro_bytes_to_json(data, len, out);
}

static sl_status real_to_json(double value, json_t **out)
{
    if (isnan(value))
        return json_made(json_string_nocheck("NaN"), out);
    if (isinf(value))
        return json_made(json_string_nocheck(value > 0 ? "Infinity" : "-Infinity"), out);
    return json_made(json_real(value), out);
}

static sl_status scalar_read(struct avro_reader *r, const struct avro_node *node, json_t **out)
{
    const uint8_t *bytes;
    size_t len;
    bool flag;
    int32_t narrow;
    int64_t wide;
    float single;
    double real;
    SL_TRY(avro_memory_take(r, VALUE_BYTES));
    switch (node->kind) {
    case AVRO_NULL:
        return json_made(json_null(), out);
    case AVRO_BOOLEAN:
        SL_TRY(avro_read_bool(r, &flag));
        return json_made(json_boolean(flag), out);
    case AVRO_INT:
        SL_TRY(avro_read_int(r, &narrow));
        return json_made(json_integer(narrow), out);
    case AVRO_LONG:
        SL_TRY(avro_read_long(r, &wide));
        return json_made(json_integer(wide), out);
    case AVRO_FLOAT:
        SL_TRY(avro_read_float(r, &single));
        return real_to_json((double)single, out);
    case AVRO_DOUBLE:
        SL_TRY(avro_read_double(r, &real));
        return real_to_json(real, out);
    case AVRO_STRING:
        SL_TRY(avro_read_string(r, &bytes, &len));
        SL_TRY(avro_memory_take(r, len));
        return json_made(json_stringn_nocheck((const char *)bytes, len), out);
    case AVRO_BYTES:
        SL_TRY(avro_read_bytes(r, &bytes, &len));
        return bytes_take(r, bytes, len, out);
    case AVRO_FIXED:
        SL_TRY(avro_read_fixed(r, (size_t)node->size, &bytes));
        return bytes_take(r, bytes, (size_t)node->size, out);
    case AVRO_ENUM:
        SL_TRY(avro_read_index(r, node->symbol_count, "enum symbol", &len));
        SL_TRY(avro_memory_take(r, strlen(node->symbols[len])));
        return json_made(json_string_nocheck(node->symbols[len]), out);
    default:
        return sl_internal("no scalar Avro kind: %d", (int)node->kind);
    }
}

static sl_status member_set(struct avro_reader *r, json_t *object, const char *key, size_t key_len,
                            json_t *value)
{
    sl_status status = avro_memory_take(r, VALUE_BYTES + key_len);
    if (status != SL_OK)
        json_decref(value);
    else if (json_object_setn_new_nocheck(object, key, key_len, value) !=
             0) /* takes `value` over either way */
        status = sl_nomem();
    return status;
}

static sl_status record_read(struct avro_reader *r, const struct avro_node *node, json_t *object)
{
    for (size_t i = 0; i < node->child_count; i++) {
        const char *name = node->children[i].name;
        json_t *value;
        SL_TRY_CTX(avro_value_read(r, node->children[i].node, &value), "%s", name);
        SL_TRY(member_set(r, object, name, strlen(name), value));
    }
    return SL_OK;
}

static sl_status map_read(struct avro_reader *r, const struct avro_node *node, json_t *object)
{
    struct avro_blocks blocks = {0};
    for (;;) {
        bool more;
        const uint8_t *key;
        size_t key_len;
        json_t *value;
        SL_TRY(avro_blocks_next(r, 1, &blocks, &more)); /* a key takes a byte at least */
        if (!more)
            return SL_OK;
        SL_TRY_CTX(avro_read_string(r, &key, &key_len), "map key");
        SL_TRY(avro_value_read(r, node->children[0].node, &value));
        SL_TRY(member_set(r, object, (const char *)key, key_len, value));
    }
}

static sl_status array_read(struct avro_reader *r, const struct avro_node *node, json_t *array)
{
    struct avro_blocks blocks = {0};
    const struct avro_node *item = node->children[0].node;
    for (;;) {
        bool more;
        json_t *value;
        SL_TRY(avro_blocks_next(r, item->bytes_min, &blocks, &more));
        if (!more)
            return SL_OK;
        SL_TRY_CTX(avro_value_read(r, item, &value), "item %zu", json_array_size(array));
        if (json_array_append_new(array, value) != 0)
            return sl_nomem();
    }
}

static sl_status union_read(struct avro_reader *r, const struct avro_node *node, json_t **out)
{
    size_t index;
    SL_TRY(avro_read_index(r, node->child_count, "union branch", &index));
    const struct avro_node *branch = node->children[index].node;
    if (branch->kind == AVRO_NULL || node->only_branch >= 0)
        return avro_value_read(r, branch, out);
    json_t *value = NULL, *wrapper = NULL;
    SL_TRY_CTX(avro_value_read(r, branch, &value), "%s", branch->name);
    sl_status status = json_made(json_object(), &wrapper);
    if (status != SL_OK) {
        json_decref(value);
        return status;
    }
    status = member_set(r, wrapper, branch->name, strlen(branch->name), value);
    if (status != SL_OK) {
        json_decref(wrapper);
        return status;
    }
    *out = wrapper;
    return SL_OK;
}

static sl_status container_value_read(struct avro_reader *r, const struct avro_node *node, json_t **out)
{
    json_t *container = NULL;
    SL_TRY(avro_memory_take(r, VALUE_BYTES * 4));
    SL_TRY(json_made(node->kind == AVRO_ARRAY ? json_array() : json_object(), &container));
    sl_status status = node->kind == AVRO_RECORD  ? record_read(r, node, container)
                       : node->kind == AVRO_ARRAY ? array_read(r, node, container)
                                                  : map_read(r, node, container);
    if (status != SL_OK)
        json_decref(container);
    else
        *out = container;
    return status;
}

sl_status avro_value_read(struct avro_reader *r, const struct avro_node *node, json_t **out)
{
    if (node->kind < AVRO_ARRAY)
        return scalar_read(r, node, out);
    if (r->depth == AVRO_VALUE_DEPTH_MAX)
        return sl_corrupt("Avro value nested deeper than %d", AVRO_VALUE_DEPTH_MAX);
    r->depth++;
    sl_status status =
        node->kind == AVRO_UNION ? union_read(r, node, out) : container_value_read(r, node, out);
    r->depth--;
    return status;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static sl_status value_write(sl_buf *out, const struct avro_node *node, const json_t *value, unsigned depth);

static sl_status misfit(const struct avro_node *node, const json_t *value)
{
    static const char *const json_types[] = {"object", "array", "string", "integer",
                                             "real",   "true",  "false",  "null"};
    return sl_internal("a JSON %s does not fit Avro %s",
                       value ? json_types[json_typeof(value)] : "value that is missing", node->name);
}

static sl_status sized_write(sl_buf *out, const void *data, size_t len)
{
    SL_TRY(avro_write_long(out, (int64_t)len));
    return sl_buf_append(out, data, len);
}

/* The text of one character per byte, back to the bytes. */
static sl_status bytes_write(sl_buf *out, const struct avro_node *node, const json_t *value)
{
    if (!json_is_string(value))
        return misfit(node, value);
    const uint8_t *text = (const uint8_t *)json_string_value(value);
    size_t len = json_string_length(value), pos = 0;
    sl_buf bytes = {0};
    sl_status status = SL_OK;
    while (pos < len) {
        uint32_t code = sl_utf8_next(text, len, &pos);
        if (code > 0xff) {
            status = sl_internal("character U+%04" PRIX32 " in Avro %s, which holds bytes", code, node->name);
            goto done;
        }
        SL_GO(sl_buf_byte(&bytes, (uint8_t)code));
    }
    if (node->kind == AVRO_BYTES)
        SL_GO(sized_write(out, bytes.data, bytes.len));
    else if (bytes.len == (size_t)node->size)
        SL_GO(sl_buf_append(out, bytes.data, bytes.len));
    else
        status = sl_internal("%zu bytes for Avro fixed %s of %d", bytes.len, node->name, node->size);
done:
    sl_buf_free(&bytes);
    return status;
}

static bool real_of(const json_t *value, double *out)
{
    const char *text = json_string_value(value);
    *out = json_number_value(value);
    if (!text)
        return json_is_number(value);
    if (strcmp(text, "NaN") == 0)
        *out = (double)NAN;
    else if (strcmp(text, "Infinity") == 0)
        *out = (double)INFINITY;
    else if (strcmp(text, "-Infinity") == 0)
        *out = -(double)INFINITY;
    else
        return false;
    return true;
}

static sl_status real_write(sl_buf *out, const struct avro_node *node, const json_t *value)
{
    double real;
    if (!real_of(value, &real))
        return misfit(node, value);
    if (node->kind == AVRO_DOUBLE)
        return sl_buf_append(out, &real, sizeof real);
    if (isfinite(real) && fabs(real) > (double)FLT_MAX)
        return sl_internal("%g does not fit Avro float", real);
    float single = (float)real;
    return sl_buf_append(out, &single, sizeof single);
}

static sl_status enum_write(sl_buf *out, const struct avro_node *node, const json_t *value)
{
    const char *symbol = json_string_value(value);
    for (size_t i = 0; symbol && i < node->symbol_count; i++)
        if (strcmp(symbol, node->symbols[i]) == 0)
            return avro_write_long(out, (int64_t)i);
    return symbol ? sl_internal("%s is no symbol of Avro enum %s", symbol, node->name) : misfit(node, value);
}

static sl_status integer_write(sl_buf *out, const struct avro_node *node, const json_t *value)
{
    if (!json_is_integer(value))
        return misfit(node, value);
    int64_t integer = json_integer_value(value);
    if (node->kind == AVRO_INT && (integer < INT32_MIN || integer > INT32_MAX))
        return sl_internal("%" PRId64 " does not fit Avro int", integer);
    return avro_write_long(out, integer);
}

static sl_status record_write(sl_buf *out, const struct avro_node *node, const json_t *value, unsigned depth)
{
    if (!json_is_object(value))
        return misfit(node, value);
    for (size_t i = 0; i < node->child_count; i++) {
        const struct avro_child *field = &node->children[i];
        const struct avro_node *type = field->node;
        const json_t *member = json_object_get(value, field->name);
        if (!member && field->fallback && type->kind == AVRO_UNION && type->only_branch < 0) {
            /* the default of a union is a bare value of its first branch */
            SL_TRY(avro_write_long(out, 0));
            member = field->fallback;
            type = type->children[0].node;
        } else if (!member && field->fallback) {
            member = field->fallback;
        } else if (!member && type->kind == AVRO_UNION && type->null_branch >= 0) {
            SL_TRY(avro_write_long(out, type->null_branch));
            continue;
        }
        SL_TRY_CTX(value_write(out, type, member, depth), "%s", field->name);
    }
    return SL_OK;
}

static sl_status map_write(sl_buf *out, const struct avro_node *node, const json_t *value, unsigned depth)
{
    if (!json_is_object(value))
        return misfit(node, value);
    json_t *object = (json_t *)value; /* jansson's iterators take no const; nothing is changed */
    size_t count = json_object_size(value);
    if (count > 0)
        SL_TRY(avro_write_long(out, (int64_t)count));
    for (void *it = json_object_iter(object); it; it = json_object_iter_next(object, it)) {
        const char *key = json_object_iter_key(it);
        SL_TRY(sized_write(out, key, json_object_iter_key_len(it)));
        SL_TRY_CTX(value_write(out, node->children[0].node, json_object_iter_value(it), depth), "key %s",
                   key);
    }
    return sl_buf_byte(out, 0);
}

static sl_status array_write(sl_buf *out, const struct avro_node *node, const json_t *value, unsigned depth)
{
    if (!json_is_array(value))
        return misfit(node, value);
    size_t count = json_array_size(value);
    if (count > 0)
        SL_TRY(avro_write_long(out, (int64_t)count));
    for (size_t i = 0; i < count; i++)
        SL_TRY_CTX(value_write(out, node->children[0].node, json_array_get(value, i), depth), "item %zu", i);
    return sl_buf_byte(out, 0);
}

static sl_status union_write(sl_buf *out, const struct avro_node *node, const json_t *value, unsigned depth)
{
    int branch = json_is_null(value) ? node->null_branch : node->only_branch;
    if (branch >= 0) {
        SL_TRY(avro_write_long(out, branch));
        return value_write(out, node->children[branch].node, value, depth);
    }
    if (!json_is_object(value) || json_object_size(value) != 1)
        return misfit(node, value);
    for (size_t i = 0; i < node->child_count; i++) {
        const struct avro_node *type = node->children[i].node;
        const json_t *inner = json_object_get(value, type->name);
        if (!inner)
            continue;
        SL_TRY(avro_write_long(out, (int64_t)i));
        return sl_context(value_write(out, type, inner, depth), "%s", type->name);
    }
    return sl_internal("%s is no branch of the Avro union",
                       json_object_iter_key(json_object_iter((json_t *)value)));
}

static sl_status value_write(sl_buf *out, const struct avro_node *node, const json_t *value, unsigned depth)
{
    if (depth == AVRO_VALUE_DEPTH_MAX)
        return sl_internal("value nested deeper than %d", AVRO_VALUE_DEPTH_MAX);
    switch (node->kind) {
    case AVRO_NULL:
        return json_is_null(value) ? SL_OK : misfit(node, value);
    case AVRO_BOOLEAN:
        return json_is_boolean(value) ? sl_buf_byte(out, json_is_true(value) ? 1 : 0) : misfit(node, value);
    case AVRO_INT:
    case AVRO_LONG:
        return integer_write(out, node, value);
    case AVRO_FLOAT:
    case AVRO_DOUBLE:
        return real_write(out, node, value);
    case AVRO_STRING:
        if (!json_is_string(value))
            return misfit(node, value);
        return sized_write(out, json_string_value(value), json_string_length(value));
    case AVRO_BYTES:
    case AVRO_FIXED:
        return bytes_write(out, node, value);
    case AVRO_ENUM:
        return enum_write(out, node, value);
    case AVRO_ARRAY:
        return array_write(out, node, value, depth + 1);
    case AVRO_MAP:
        return map_write(out, node, value, depth + 1);
    case AVRO_RECORD:
        return record_write(out, node, value, depth + 1);
    case AVRO_UNION:
        return union_write(out, node, value, depth + 1);
    }
    return misfit(node, value);
}

/* ---- entry points -------------------------------------------------------------------------------------- */

sl_status sl_avro_schema_decode(const sl_avro_schema *writer, const uint8_t *data, size_t len, size_t *pos,
                                json_t **out)
{
    struct avro_reader r = {
        .data = data, .len = len, .pos = *pos, .memory_left = avro_memory_for(len - *pos)};
    SL_TRY(avro_value_read(&r, avro_schema_root(writer), out));
    *pos = r.pos;
    return SL_OK;
}

sl_status sl_avro_schema_encode(const sl_avro_schema *writer, const json_t *value, sl_buf *out)
{
    const struct avro_node *root = avro_schema_root(writer);
    return sl_context(value_write(out, root, value, 0), "%s", root->name);
}

sl_status sl_avro_value_decode(const json_t *schema, const void *data, size_t len, json_t **out)
{
    sl_avro_schema *compiled;
    json_t *value = NULL;
    size_t pos = 0;
    SL_TRY(sl_avro_schema_of_json(schema, &compiled));
    sl_status status = sl_avro_schema_decode(compiled, data, len, &pos, &value);
    if (status == SL_OK && pos != len) {
        json_decref(value);
        status = sl_corrupt("%zu bytes behind the Avro value", len - pos);
    } else if (status == SL_OK) {
        *out = value;
    }
    sl_avro_schema_free(compiled);
    return status;
}

sl_status sl_avro_value_encode(const json_t *schema, const json_t *value, sl_buf *out)
{
    sl_avro_schema *compiled;
    SL_TRY(sl_avro_schema_of_json(schema, &compiled));
    sl_status status = sl_avro_schema_encode(compiled, value, out);
    sl_avro_schema_free(compiled);
    return status;
}
