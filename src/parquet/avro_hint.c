/*
 * What the Avro schema in a footer says about lists (spec/parquet.md 9, last rule). A repeated group with one field is
 * either the element itself (2-level lists of parquet-avro) or a wrapper around it (3-level lists); the names mostly
 * tell, the Avro schema always does: its items are a record with that one field, or they are not.
 *
 * A node here is a borrowed json_t of a type: a name, a union, or an object. NULL: nothing is known.
 */
#include "parquet/read_int.h"
#include <jansson.h>

#define NAME_LOOKUPS_MAX 1000 /* of types that are referred to by name; each walks the schema */

struct parquet_avro {
    json_t *root;
    unsigned lookups;
};

static const char *avro_schema_text(const struct parquet_file_metadata *meta, size_t *len)
{
    for (size_t i = meta->key_value_count; i-- > 0;) {
        const struct parquet_key_value *kv = &meta->key_values[i];
        if (kv->value &&
            (strcmp(kv->key, "parquet.avro.schema") == 0 || strcmp(kv->key, "avro.schema") == 0)) {
            *len = kv->value_len;
            return kv->value;
        }
    }
    return NULL;
}

sl_status parquet_avro_open(const struct parquet_file_metadata *meta, struct parquet_avro **out)
{
    size_t len;
    const char *text = avro_schema_text(meta, &len);
    *out = NULL;
    json_t *root = text ? json_loadb(text, len, 0, NULL) : NULL;
    if (!root)
        return SL_OK;
    struct parquet_avro *avro = sl_calloc(1, sizeof *avro);
    if (!avro) {
        json_decref(root);
        return sl_nomem();
    }
    avro->root = root;
    *out = avro;
    return SL_OK;
}

void parquet_avro_close(struct parquet_avro *avro)
{
    if (!avro)
        return;
    json_decref(avro->root);
    sl_free(avro);
}

/* ---- types by name ------------------------------------------------------------------------------------- */

static bool is_named(const json_t *type, const char *name)
{
    const char *own = json_string_value(json_object_get(type, "name")), *dot = strrchr(name, '.');
    return own && (strcmp(own, name) == 0 || (dot && strcmp(own, dot + 1) == 0));
}

/* The definition of a named type: the first one in the schema, as Avro demands definitions before uses. */
static const json_t *find_named(const json_t *node, const char *name)
{
    const json_t *found = NULL;
    size_t i;
    json_t *item;
    if (json_is_array(node)) {
        json_array_foreach(node, i, item)
        {
            if (!found)
                found = find_named(item, name);
        }
        return found;
    }
    if (!json_is_object(node))
        return NULL;
    if (is_named(node, name) && json_is_string(json_object_get(node, "type")))
        return node;
    static const char *const inner[] = {"fields", "type", "items", "values"};
    for (i = 0; i < sizeof inner / sizeof *inner && !found; i++)
        found = find_named(json_object_get(node, inner[i]), name);
    return found;
}

static bool is_complex(const json_t *type, const char *kind)
{
    const char *text = json_string_value(json_object_get(type, "type"));
    return text && strcmp(text, kind) == 0;
}

/* The type itself: behind "null" in unions, nested "type" objects and names. */
static const json_t *resolve(struct parquet_avro *avro, const json_t *type)
{
    for (int steps = 0; steps < 8 && type; steps++) {
        if (json_is_array(type)) {
            if (json_array_size(type) > 2) /* a union of several types has no form in Parquet lists */
                return NULL;
            const json_t *first = json_array_get(type, 0);
            const char *name = json_string_value(first);
            type = name && strcmp(name, "null") == 0 ? json_array_get(type, 1) : first;
        } else if (json_is_object(type) && !json_is_string(json_object_get(type, "type"))) {
            type = json_object_get(type, "type");
        } else if (json_is_string(type)) {
            const json_t *named =
                avro->lookups++ < NAME_LOOKUPS_MAX ? find_named(avro->root, json_string_value(type)) : NULL;
            return named ? named : type;
        } else {
            return type;
        }
    }
    return NULL;
}

/* ---- going down ---------------------------------------------------------------------------------------- */

const void *parquet_avro_root(struct parquet_avro *avro) { return avro ? resolve(avro, avro->root) : NULL; }

const void *parquet_avro_member(struct parquet_avro *avro, const void *record, const char *name)
{
    size_t i;
    json_t *field;
    if (!avro || !record || !is_complex(record, "record"))
        return NULL;
    json_array_foreach(json_object_get(record, "fields"), i, field)
    {
        const char *own = json_string_value(json_object_get(field, "name"));
        if (own && strcmp(own, name) == 0)
            return resolve(avro, json_object_get(field, "type"));
    }
    return NULL;
}

const void *parquet_avro_inside(struct parquet_avro *avro, const void *type)
{
    if (!avro || !type)
        return NULL;
    if (is_complex(type, "array"))
        return resolve(avro, json_object_get(type, "items"));
    return is_complex(type, "map") ? resolve(avro, json_object_get(type, "values")) : NULL;
}

static bool agrees(const json_t *type, const struct parquet_schema_element *e)
{
    bool is_list = e->converted == PARQUET_CONVERTED_LIST || e->logical.kind == PARQUET_LOGICAL_LIST;
    bool is_map = e->converted == PARQUET_CONVERTED_MAP || e->converted == PARQUET_CONVERTED_MAP_KEY_VALUE ||
                  e->logical.kind == PARQUET_LOGICAL_MAP;
    if (is_complex(type, "record"))
        return !e->has_type && !is_list && !is_map;
    if (is_complex(type, "array"))
        return is_list;
    if (is_complex(type, "map"))
        return is_map;
    return e->has_type;
}

int parquet_avro_is_element(struct parquet_avro *avro, const void *items,
                            const struct parquet_schema_element *only_child)
{
    if (!avro || !items)
        return -1;
    if (!is_complex(items, "record"))
        return 0;
    const json_t *fields = json_object_get(items, "fields");
    const json_t *type = parquet_avro_member(avro, items, only_child->name);
    return json_array_size(fields) == 1 && type && agrees(type, only_child);
}
