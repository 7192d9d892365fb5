/*
 * Compilation of a schema's JSON into a graph of nodes.
 *
 * Names follow the specification: a name with a dot is a full name; else the namespace is the definition's
 * own, else that of the enclosing definition. A name is known from the start of its definition on, which is
 * what makes a type recursive.
 */
#include "avro/avro_int.h"

struct compiler {
    sl_arena *arena;
    json_t *index; /* full name -> place in `named` */
    struct avro_node **named;
    size_t named_count, named_cap;
};

static sl_status node_compile(struct compiler *c, const json_t *json, const char *space, unsigned depth,
                              struct avro_node **out);

static const struct {
    const char *name;
    enum avro_kind kind;
    uint32_t bytes_min;
} primitives[] = {
    {"null", AVRO_NULL, 0},   {"boolean", AVRO_BOOLEAN, 1}, {"int", AVRO_INT, 1},
    {"long", AVRO_LONG, 1},   {"float", AVRO_FLOAT, 4},     {"double", AVRO_DOUBLE, 8},
    {"bytes", AVRO_BYTES, 1}, {"string", AVRO_STRING, 1},
};

static const struct {
    const char *name;
    enum avro_logical logical;
    enum avro_kind base;
} logicals[] = {
    {"date", AVRO_DATE, AVRO_INT},
    {"time-millis", AVRO_TIME_MILLIS, AVRO_INT},
    {"time-micros", AVRO_TIME_MICROS, AVRO_LONG},
    {"timestamp-millis", AVRO_TIMESTAMP_MILLIS, AVRO_LONG},
    {"timestamp-micros", AVRO_TIMESTAMP_MICROS, AVRO_LONG},
    {"timestamp-nanos", AVRO_TIMESTAMP_NANOS, AVRO_LONG},
    {"local-timestamp-millis", AVRO_LOCAL_MILLIS, AVRO_LONG},
    {"local-timestamp-micros", AVRO_LOCAL_MICROS, AVRO_LONG},
    {"local-timestamp-nanos", AVRO_LOCAL_NANOS, AVRO_LONG},
    {"uuid", AVRO_UUID, AVRO_STRING},
    {"uuid", AVRO_UUID, AVRO_FIXED},
    {"decimal", AVRO_DECIMAL, AVRO_BYTES},
    {"decimal", AVRO_DECIMAL, AVRO_FIXED},
};

static uint32_t add_saturating(uint32_t a, uint32_t b) { return a > UINT32_MAX - b ? UINT32_MAX : a + b; }

static const char *text_member(const json_t *json, const char *key)
{
    return json_string_value(json_object_get(json, key));
}

static sl_status node_new(struct compiler *c, enum avro_kind kind, const char *name, struct avro_node **out)
{
    struct avro_node *node = sl_arena_alloc(c->arena, sizeof *node);
    if (!node)
        return sl_nomem();
    *node =
        (struct avro_node){.kind = kind, .name = name, .breadth = 1, .null_branch = -1, .only_branch = -1};
    *out = node;
    return SL_OK;
}

static sl_status children_new(struct compiler *c, struct avro_node *node, size_t count)
{
    if (count > SIZE_MAX / sizeof *node->children)
        return sl_nomem();
    node->children = sl_arena_alloc(c->arena, count * sizeof *node->children);
    if (!node->children)
        return sl_nomem();
    memset(node->children, 0, count * sizeof *node->children);
    node->child_count = count;
    return SL_OK;
}

/* ---- names --------------------------------------------------------------------------------------------- */

static sl_status name_join(struct compiler *c, const char *space, const char *name, const char **out)
{
    if (!space || !*space || strchr(name, '.')) {
        *out = name;
        return SL_OK;
    }
    size_t space_len = strlen(space), name_len = strlen(name);
    char *full = sl_arena_alloc(c->arena, space_len + name_len + 2);
    if (!full)
        return sl_nomem();
    memcpy(full, space, space_len);
    full[space_len] = '.';
    memcpy(full + space_len + 1, name, name_len + 1);
    *out = full;
    return SL_OK;
}

/* Registers a definition; *space becomes the namespace of what it encloses. */
static sl_status name_define(struct compiler *c, const json_t *json, struct avro_node *node,
                             const char **space)
{
    const char *name = text_member(json, "name");
    const char *own_space = text_member(json, "namespace");
    if (!name || !*name)
        return sl_corrupt("an Avro %s without a name", text_member(json, "type"));
    SL_TRY(name_join(c, own_space ? own_space : *space, name, &node->name));
    const char *dot = strrchr(node->name, '.');
    *space = dot ? sl_arena_strndup(c->arena, node->name, (size_t)(dot - node->name)) : "";
    if (!*space)
        return sl_nomem();
    if (json_object_get(c->index, node->name))
        return sl_corrupt("Avro name %s is defined twice", node->name);
    SL_GROW(c->named, c->named_count, c->named_cap, 16);
    if (json_object_set_new_nocheck(c->index, node->name, json_integer((json_int_t)c->named_count)) != 0)
        return sl_nomem();
    c->named[c->named_count++] = node;
    return SL_OK;
}

static sl_status name_resolve(struct compiler *c, const char *name, const char *space, struct avro_node **out)
{
    for (size_t i = 0; i < sizeof primitives / sizeof primitives[0]; i++)
        if (strcmp(name, primitives[i].name) == 0) {
            SL_TRY(node_new(c, primitives[i].kind, primitives[i].name, out));
            (*out)->bytes_min = primitives[i].bytes_min;
            return SL_OK;
        }
    const char *full;
    SL_TRY(name_join(c, space, name, &full));
    const json_t *place = json_object_get(c->index, full);
    if (!place) /* Java falls back to the null namespace too */
        place = json_object_get(c->index, name);
    if (!place)
        return sl_corrupt("unknown Avro type %s", name);
    *out = c->named[(size_t)json_integer_value(place)];
    return SL_OK;
}

/* ---- kinds of types ------------------------------------------------------------------------------------ */

static bool decimal_fits(const struct avro_node *node, json_int_t precision, json_int_t scale)
{
    if (precision < 1 || precision > INT32_MAX || scale < 0 || scale > precision)
        return false;
    /* a fixed of n bytes holds floor(log10(2^(8n-1) - 1)) digits: 301/1000 of a digit a bit, close enough
     * from above */
    return node->kind == AVRO_BYTES || precision <= ((int64_t)node->size * 8 - 1) * 30103 / 100000;
}

static void logical_apply(const json_t *json, struct avro_node *node)
{
    const char *name = text_member(json, "logicalType");
    for (size_t i = 0; name && i < sizeof logicals / sizeof logicals[0]; i++) {
        if (logicals[i].base != node->kind || strcmp(logicals[i].name, name) != 0)
            continue;
        if (logicals[i].logical == AVRO_UUID && node->kind == AVRO_FIXED && node->size != 16)
            continue;
        if (logicals[i].logical == AVRO_DECIMAL) {
            json_int_t precision = json_integer_value(json_object_get(json, "precision"));
            json_int_t scale = json_integer_value(json_object_get(json, "scale"));
            if (!decimal_fits(node, precision, scale))
                continue;
            node->precision = (int32_t)precision;
            node->scale = (int32_t)scale;
        }
        node->logical = logicals[i].logical;
    }
}

static sl_status field_compile(struct compiler *c, const json_t *json, const char *space, unsigned depth,
                               json_t *seen, struct avro_child *field)
{
    field->name = text_member(json, "name");
    if (!field->name)
        return sl_corrupt("a field without a name");
    if (json_object_get(seen, field->name))
        return sl_corrupt("field %s twice", field->name);
    if (json_object_set_new_nocheck(seen, field->name, json_null()) != 0)
        return sl_nomem();
    field->doc = text_member(json, "doc");
    field->fallback = json_object_get(json, "default");
    SL_TRY_CTX(node_compile(c, json_object_get(json, "type"), space, depth + 1, &field->node), "field %s",
               field->name);
    return SL_OK;
}

static sl_status record_compile(struct compiler *c, const json_t *json, const char *space, unsigned depth,
                                struct avro_node **out)
{
    struct avro_node *node = NULL;
    SL_TRY(node_new(c, AVRO_RECORD, NULL, &node));
    SL_TRY(name_define(c, json, node, &space));
    const json_t *fields = json_object_get(json, "fields");
    if (!json_is_array(fields))
        return sl_corrupt("Avro record %s has no fields", node->name);
    SL_TRY(children_new(c, node, json_array_size(fields)));
    json_t *seen = json_object();
    if (!seen)
        return sl_nomem();
    sl_status status = SL_OK;
    uint32_t bytes_min = 0, breadth = 1;
    for (size_t i = 0; i < node->child_count; i++) {
        struct avro_child *field = &node->children[i];
        SL_GO_CTX(field_compile(c, json_array_get(fields, i), space, depth, seen, field), "record %s",
                  node->name);
        bytes_min = add_saturating(bytes_min, field->node->bytes_min);
        breadth = add_saturating(breadth, field->node->breadth);
    }
    node->bytes_min = bytes_min;
    node->breadth = breadth;
    *out = node;
done:
    json_decref(seen);
    return status;
}

static sl_status enum_compile(struct compiler *c, const json_t *json, const char *space,
                              struct avro_node **out)
{
    struct avro_node *node = NULL;
    SL_TRY(node_new(c, AVRO_ENUM, NULL, &node));
    SL_TRY(name_define(c, json, node, &space));
    const json_t *symbols = json_object_get(json, "symbols");
    if (!json_is_array(symbols))
        return sl_corrupt("Avro enum %s has no symbols", node->name);
    node->symbol_count = json_array_size(symbols);
    node->symbols = sl_arena_alloc(c->arena, node->symbol_count * sizeof(char *));
    if (!node->symbols)
        return sl_nomem();
    for (size_t i = 0; i < node->symbol_count; i++) {
        node->symbols[i] = json_string_value(json_array_get(symbols, i));
        if (!node->symbols[i])
            return sl_corrupt("Avro enum %s: symbol %zu is no string", node->name, i);
    }
    node->bytes_min = 1;
    *out = node;
    return SL_OK;
}

static sl_status fixed_compile(struct compiler *c, const json_t *json, const char *space,
                               struct avro_node **out)
{
    struct avro_node *node = NULL;
    SL_TRY(node_new(c, AVRO_FIXED, NULL, &node));
    SL_TRY(name_define(c, json, node, &space));
    const json_t *size = json_object_get(json, "size");
    if (!json_is_integer(size) || json_integer_value(size) < 0 || json_integer_value(size) > INT32_MAX)
        return sl_corrupt("Avro fixed %s has no valid size", node->name);
    node->size = (int32_t)json_integer_value(size);
    node->bytes_min = (uint32_t)node->size;
    logical_apply(json, node);
    *out = node;
    return SL_OK;
}

static sl_status container_compile(struct compiler *c, const json_t *json, enum avro_kind kind,
                                   const char *space, unsigned depth, struct avro_node **out)
{
    struct avro_node *node = NULL;
    SL_TRY(node_new(c, kind, kind == AVRO_ARRAY ? "array" : "map", &node));
    SL_TRY(children_new(c, node, 1));
    const json_t *item = json_object_get(json, kind == AVRO_ARRAY ? "items" : "values");
    SL_TRY_CTX(node_compile(c, item, space, depth + 1, &node->children[0].node), "%s", node->name);
    node->bytes_min = 1;
    node->breadth = add_saturating(1, node->children[0].node->breadth);
    *out = node;
    return SL_OK;
}

static sl_status union_compile(struct compiler *c, const json_t *json, const char *space, unsigned depth,
                               struct avro_node **out)
{
    struct avro_node *node = NULL;
    SL_TRY(node_new(c, AVRO_UNION, "union", &node));
    SL_TRY(children_new(c, node, json_array_size(json)));
    if (node->child_count == 0)
        return sl_corrupt("an Avro union without branches");
    uint32_t branch_min = UINT32_MAX;
    size_t values = 0;
    for (size_t i = 0; i < node->child_count; i++) {
        /* Same depth: what may be null is no level of the type, or we could not read what schema_text.c writes. */
        const json_t *item = json_array_get(json, i);
        if (json_is_array(item))
            return sl_corrupt("an Avro union directly inside a union");
        SL_TRY(node_compile(c, item, space, depth, &node->children[i].node));
        const struct avro_node *branch = node->children[i].node;
        if (branch->kind == AVRO_UNION)
            return sl_corrupt("an Avro union directly inside a union");
        if (branch->kind == AVRO_NULL) {
            node->null_branch = (int)i;
        } else {
            node->only_branch = (int)i;
            values++;
        }
        branch_min = branch->bytes_min < branch_min ? branch->bytes_min : branch_min;
        node->breadth = add_saturating(node->breadth, branch->breadth);
    }
    if (values > 1)
        node->only_branch = -1;
    node->bytes_min = add_saturating(1, branch_min);
    *out = node;
    return SL_OK;
}

static sl_status object_compile(struct compiler *c, const json_t *json, const char *space, unsigned depth,
                                struct avro_node **out)
{
    const json_t *type = json_object_get(json, "type");
    const char *name = json_string_value(type);
    if (!name) /* {"type": {...}} or {"type": [...]} wraps another type */
        return node_compile(c, type, space, depth + 1, out);
    if (strcmp(name, "record") == 0 || strcmp(name, "error") == 0)
        return record_compile(c, json, space, depth, out);
    if (strcmp(name, "enum") == 0)
        return enum_compile(c, json, space, out);
    if (strcmp(name, "fixed") == 0)
        return fixed_compile(c, json, space, out);
    if (strcmp(name, "array") == 0)
        return container_compile(c, json, AVRO_ARRAY, space, depth, out);
    if (strcmp(name, "map") == 0)
        return container_compile(c, json, AVRO_MAP, space, depth, out);
    SL_TRY(name_resolve(c, name, space, out));
    if ((*out)->kind <
        AVRO_FIXED) /* a primitive's node is new and ours; a named type keeps what its definition says */
        logical_apply(json, *out);
    return SL_OK;
}

static sl_status node_compile(struct compiler *c, const json_t *json, const char *space, unsigned depth,
                              struct avro_node **out)
{
    if (depth > AVRO_SCHEMA_DEPTH_MAX)
        return sl_unsupported("Avro schema nested deeper than %d", AVRO_SCHEMA_DEPTH_MAX);
    if (json_is_string(json))
        return name_resolve(c, json_string_value(json), space, out);
    if (json_is_array(json))
        return union_compile(c, json, space, depth, out);
    if (json_is_object(json))
        return object_compile(c, json, space, depth, out);
    return sl_corrupt("no Avro type where one must be");
}

/* ---- entry points -------------------------------------------------------------------------------------- */

/* Takes over the reference of `json`, also on failure. */
static sl_status schema_compile(json_t *json, sl_avro_schema **out)
{
    struct compiler c = {0};
    sl_status status = SL_OK;
    sl_avro_schema *schema = sl_calloc(1, sizeof *schema);
    if (!schema) {
        json_decref(json);
        return sl_nomem();
    }
    schema->json = json;
    SL_GO(sl_arena_new(&schema->arena));
    c.arena = schema->arena;
    c.index = json_object();
    if (!c.index) {
        status = sl_nomem();
        goto done;
    }
    SL_GO_CTX(node_compile(&c, json, "", 0, &schema->root), "Avro schema");
    *out = schema;
    schema = NULL;
done:
    sl_avro_schema_free(schema);
    json_decref(c.index);
    sl_free(c.named);
    return status;
}

sl_status sl_avro_schema_of_json(const json_t *json, sl_avro_schema **out)
{
    return schema_compile(json_incref((json_t *)json), out);
}

sl_status sl_avro_schema_of_text(const char *text, size_t len, sl_avro_schema **out)
{
    json_error_t error;
    json_t *json = json_loadb(text, len, JSON_DECODE_ANY, &error);
    if (!json && json_error_code(&error) == json_error_out_of_memory)
        return sl_nomem();
    if (!json)
        return sl_corrupt("Avro schema is no JSON: line %d column %d: %s", error.line, error.column,
                          error.text);
    return schema_compile(json, out);
}

void sl_avro_schema_free(sl_avro_schema *schema)
{
    if (!schema)
        return;
    sl_arena_free(schema->arena);
    json_decref(schema->json);
    sl_free(schema);
}

const json_t *sl_avro_schema_json(const sl_avro_schema *schema) { return schema->json; }

const struct avro_node *avro_schema_root(const sl_avro_schema *schema) { return schema->root; }
