/*
 * Schema elements -> type tree and leaves. Elements come depth first; each gives one node, but for the
 * repeated groups of lists and maps, which belong to the list (spec/parquet.md 9).
 */
#include "parquet/read_int.h"

struct walk {
    const struct parquet_schema_element *elements;
    size_t count, next;
    sl_arena *arena;
    struct parquet_leaf *leaves; /* room for one per element */
    size_t leaf_count;
    struct parquet_avro *avro; /* NULL: no Avro schema, or no list that needs one */
    const void *type;          /* Avro type of the field about to be built, NULL when unknown */
    int depth;
    const char *names[PARQUET_NESTING_MAX + 1]; /* of the elements around */
};
/* Levels around a field, and whether it is a top-level one. */
struct place {
    int def, rep;
    int slot_def, slot_rep;
    bool top;
};

static sl_status build_field(struct walk *w, struct place at, struct parquet_node *node);
static sl_status build_value(struct walk *w, const struct parquet_schema_element *e, struct place at,
                             struct parquet_node *node);

static sl_status next_element(struct walk *w, const struct parquet_schema_element **out)
{
    if (w->next >= w->count)
        return sl_corrupt("schema ends inside a group");
    const struct parquet_schema_element *e = &w->elements[w->next++];
    if (sl_utf8_valid_prefix(e->name, strlen(e->name)) != strlen(e->name))
        return sl_corrupt("the name of schema element %zu is no UTF-8", w->next);
    if (e->has_type && e->children > 0)
        return sl_corrupt("schema element %s is both a group and a leaf", e->name);
    if (!e->has_type && e->children <= 0)
        return sl_unsupported("group %s without fields", e->name);
    if (!e->has_type && (size_t)e->children > w->count - w->next)
        return sl_corrupt("group %s claims %" PRId32 " fields", e->name, e->children);
    if (e->has_type && (unsigned)e->type > PARQUET_FIXED)
        return sl_corrupt("column %s has the unknown type %d", e->name, (int)e->type);
    if ((unsigned)e->repetition > PARQUET_REPEATED)
        return sl_corrupt("column %s has the unknown repetition %d", e->name, (int)e->repetition);
    if (e->has_type && e->type == PARQUET_FIXED && e->type_length <= 0)
        return sl_corrupt("column %s has values of %" PRId32 " bytes", e->name, e->type_length);
    *out = e;
    return SL_OK;
}

/* ---- leaf types ---------------------------------------------------------------------------------------- */

static bool is_logical(const struct parquet_schema_element *e, enum parquet_logical_kind kind, int converted)
{
    return e->logical.kind == kind ||
           (e->logical.kind == PARQUET_LOGICAL_NONE && converted >= 0 && e->converted == converted);
}

static sl_status as_is(struct parquet_leaf *leaf, size_t width, enum parquet_conversion conversion)
{
    leaf->output = PARQUET_OUT_FIXED;
    leaf->width = width;
    leaf->conversion = conversion;
    return SL_OK;
}

/* DECIMAL of up to 38 digits; what does not fit stays what it is physically. */
static bool is_decimal(const struct parquet_schema_element *e, int32_t *precision, int32_t *scale)
{
    if (e->logical.kind == PARQUET_LOGICAL_DECIMAL) {
        *precision = e->logical.precision;
        *scale = e->logical.scale;
    } else if (e->logical.kind == PARQUET_LOGICAL_NONE && e->converted == PARQUET_CONVERTED_DECIMAL) {
        *precision = e->precision;
        *scale = e->scale;
    } else {
        return false;
    }
    return *precision >= 1 && *precision <= 38 && *scale >= 0 && *scale <= *precision;
}

static sl_status decimal_type(const struct parquet_schema_element *e, struct parquet_leaf *leaf,
                              int32_t precision, int32_t scale, const sl_type **out)
{
    static const enum parquet_conversion conversions[] = {
        [PARQUET_INT32] = PARQUET_INT32_TO_DECIMAL,
        [PARQUET_INT64] = PARQUET_INT64_TO_DECIMAL,
        [PARQUET_BYTE_ARRAY] = PARQUET_BYTES_TO_DECIMAL,
        [PARQUET_FIXED] = PARQUET_FIXED_TO_DECIMAL,
    };
    SL_TRY(sl_type_decimal(precision, scale, out));
    if (e->type == PARQUET_FIXED && e->type_length != sl_decimal_bytes(precision))
        ((sl_type *)(uintptr_t)*out)->width = e->type_length; /* new, so nobody else holds it yet */
    return as_is(leaf, 16, conversions[e->type]);
}

static enum sl_time_unit time_unit(enum parquet_unit unit)
{
    return unit == PARQUET_MILLIS ? SL_MILLIS : unit == PARQUET_NANOS ? SL_NANOS : SL_MICROS;
}

static sl_status time_type(enum sl_time_unit unit, bool utc, const sl_type **out)
{
    SL_TRY(sl_type_time(unit, out));
    ((sl_type *)(uintptr_t)*out)->utc = utc; /* new, so nobody else holds it yet */
    return SL_OK;
}

static sl_status int32_type(const struct parquet_schema_element *e, struct parquet_leaf *leaf,
                            const sl_type **out)
{
    int width = e->logical.kind == PARQUET_LOGICAL_INTEGER ? e->logical.bit_width : 0;
    bool is_signed = e->logical.is_signed;
    if (e->logical.kind == PARQUET_LOGICAL_NONE && e->converted >= PARQUET_CONVERTED_UINT_8 &&
        e->converted <= PARQUET_CONVERTED_INT_32) {
        is_signed = e->converted >= PARQUET_CONVERTED_INT_8;
        width = 8 << ((e->converted - PARQUET_CONVERTED_UINT_8) & 3);
    }
    if (width == 8) {
        SL_TRY(sl_type_new(is_signed ? SL_INT8 : SL_UINT8, out));
        return as_is(leaf, 1, PARQUET_TO_8);
    }
    if (width == 16) {
        SL_TRY(sl_type_new(is_signed ? SL_INT16 : SL_UINT16, out));
        return as_is(leaf, 2, PARQUET_TO_16);
    }
    if (is_logical(e, PARQUET_LOGICAL_DATE, PARQUET_CONVERTED_DATE))
        SL_TRY(sl_type_new(SL_DATE, out));
    else if (e->logical.kind == PARQUET_LOGICAL_TIME && e->logical.unit == PARQUET_MILLIS)
        SL_TRY(time_type(SL_MILLIS, e->logical.utc, out));
    else if (e->logical.kind == PARQUET_LOGICAL_NONE && e->converted == PARQUET_CONVERTED_TIME_MILLIS)
        SL_TRY(time_type(SL_MILLIS, true, out));
    else
        SL_TRY(sl_type_new(width == 32 && !is_signed ? SL_UINT32 : SL_INT32, out));
    return as_is(leaf, 4, PARQUET_AS_IS);
}

static sl_status int64_type(const struct parquet_schema_element *e, struct parquet_leaf *leaf,
                            const sl_type **out)
{
    const struct parquet_logical *l = &e->logical;
    bool no_logical = l->kind == PARQUET_LOGICAL_NONE;
    if (l->kind == PARQUET_LOGICAL_TIMESTAMP)
        SL_TRY(sl_type_timestamp(time_unit(l->unit), l->utc, out));
    else if (no_logical && e->converted == PARQUET_CONVERTED_TIMESTAMP_MILLIS)
        SL_TRY(sl_type_timestamp(SL_MILLIS, true, out));
    else if (no_logical && e->converted == PARQUET_CONVERTED_TIMESTAMP_MICROS)
        SL_TRY(sl_type_timestamp(SL_MICROS, true, out));
    else if (l->kind == PARQUET_LOGICAL_TIME && l->unit != PARQUET_MILLIS)
        SL_TRY(time_type(time_unit(l->unit), l->utc, out));
    else if (no_logical && e->converted == PARQUET_CONVERTED_TIME_MICROS)
        SL_TRY(time_type(SL_MICROS, true, out));
    else if ((l->kind == PARQUET_LOGICAL_INTEGER && l->bit_width == 64 && !l->is_signed) ||
             (no_logical && e->converted == PARQUET_CONVERTED_UINT_64))
        SL_TRY(sl_type_new(SL_UINT64, out));
    else
        SL_TRY(sl_type_new(SL_INT64, out));
    return as_is(leaf, 8, PARQUET_AS_IS);
}

static sl_status bytes_type(const struct parquet_schema_element *e, struct parquet_leaf *leaf,
                            const sl_type **out)
{
    leaf->output = PARQUET_OUT_BYTES;
    if (is_logical(e, PARQUET_LOGICAL_STRING, PARQUET_CONVERTED_UTF8))
        return sl_type_new(SL_STRING, out);
    if (is_logical(e, PARQUET_LOGICAL_ENUM, PARQUET_CONVERTED_ENUM))
        return sl_type_annotated(SL_STRING, SL_ENUM, out);
    if (is_logical(e, PARQUET_LOGICAL_JSON, PARQUET_CONVERTED_JSON))
        return sl_type_annotated(SL_STRING, SL_JSON, out);
    if (is_logical(e, PARQUET_LOGICAL_BSON, PARQUET_CONVERTED_BSON))
        return sl_type_annotated(SL_BINARY, SL_BSON, out);
    return sl_type_new(SL_BINARY, out);
}

static sl_status fixed_type(const struct parquet_schema_element *e, struct parquet_leaf *leaf,
                            const sl_type **out)
{
    SL_TRY(as_is(leaf, (size_t)e->type_length, PARQUET_AS_IS));
    if (e->logical.kind == PARQUET_LOGICAL_FLOAT16 && e->type_length == 2)
        return sl_type_new(SL_HALF, out);
    SL_TRY(sl_type_fixed(e->type_length, out));
    if (e->logical.kind == PARQUET_LOGICAL_UUID && e->type_length == 16)
        ((sl_type *)(uintptr_t)*out)->annotation = SL_UUID; /* new, so nobody else holds it yet */
    return SL_OK;
}

static sl_status leaf_type(const struct parquet_schema_element *e, struct parquet_leaf *leaf,
                           const sl_type **out)
{
    static const size_t widths[] = {0, 4, 8, 12, 4, 8, 0, 0};
    int32_t precision, scale;
    leaf->physical_width = e->type == PARQUET_FIXED ? (size_t)e->type_length : widths[e->type];
    if (e->logical.kind == PARQUET_LOGICAL_UNKNOWN) {
        leaf->output = PARQUET_OUT_NULL;
        return sl_type_new(SL_NULL, out);
    }
    bool may_be_decimal = e->type == PARQUET_INT32 || e->type == PARQUET_INT64 ||
                          e->type == PARQUET_BYTE_ARRAY || e->type == PARQUET_FIXED;
    if (may_be_decimal && is_decimal(e, &precision, &scale))
        return decimal_type(e, leaf, precision, scale, out);
    switch (e->type) {
    case PARQUET_BOOLEAN:
        leaf->output = PARQUET_OUT_BOOL;
        leaf->width = 1;
        return sl_type_new(SL_BOOL, out);
    case PARQUET_INT32:
        return int32_type(e, leaf, out);
    case PARQUET_INT64:
        return int64_type(e, leaf, out);
    case PARQUET_INT96:
        SL_TRY(as_is(leaf, 8, PARQUET_INT96_TO_MICROS));
        return sl_type_timestamp(SL_MICROS, true, out);
    case PARQUET_FLOAT:
        SL_TRY(as_is(leaf, 4, PARQUET_AS_IS));
        return sl_type_new(SL_FLOAT, out);
    case PARQUET_DOUBLE:
        SL_TRY(as_is(leaf, 8, PARQUET_AS_IS));
        return sl_type_new(SL_DOUBLE, out);
    case PARQUET_BYTE_ARRAY:
        return bytes_type(e, leaf, out);
    case PARQUET_FIXED:
        return fixed_type(e, leaf, out);
    }
    return sl_corrupt("column %s has the unknown type %d", e->name, (int)e->type);
}

static sl_status leaf_path(struct walk *w, const char **out)
{
    size_t len = 0;
    for (int i = 1; i <= w->depth; i++)
        len += strlen(w->names[i]) + 1;
    char *path = sl_arena_alloc(w->arena, len + 1);
    if (!path)
        return sl_nomem();
    size_t at = 0;
    for (int i = 1; i <= w->depth; i++) {
        size_t n = strlen(w->names[i]);
        memcpy(path + at, w->names[i], n);
        at += n;
        path[at++] = '.';
    }
    path[at ? at - 1 : 0] = '\0';
    *out = path;
    return SL_OK;
}

static sl_status build_leaf(struct walk *w, const struct parquet_schema_element *e, struct place at,
                            struct parquet_node *node)
{
    struct parquet_leaf *leaf = &w->leaves[w->leaf_count];
    SL_TRY(leaf_path(w, &leaf->path));
    SL_TRY(leaf_type(e, leaf, &node->type));
    leaf->element = e;
    leaf->type = node->type;
    leaf->max_def = at.def;
    leaf->max_rep = at.rep;
    leaf->slot_def = at.slot_def;
    leaf->nullable = node->nullable;
    leaf->flat = at.top;
    w->leaf_count++;
    return SL_OK;
}

/* ---- groups -------------------------------------------------------------------------------------------- */

static sl_status alloc_children(struct walk *w, struct parquet_node *node, size_t count)
{
    size_t bytes;
    if (sl_mul_overflows(count, sizeof *node->children, &bytes) ||
        !(node->children = sl_arena_alloc(w->arena, bytes)))
        return sl_nomem();
    memset(node->children, 0, bytes);
    node->child_count = count;
    return SL_OK;
}

/* Types of a failed build are given back here: nodes of the tree hold references until the root type exists.
 */
static void release_types(struct parquet_node *node)
{
    for (size_t i = 0; i < node->child_count; i++)
        release_types(&node->children[i]);
    sl_type_unref(node->type);
    node->type = NULL;
}

static sl_status struct_type(const struct parquet_node *children, const char *const *names, size_t count,
                             const sl_type **out)
{
    sl_field *fields = sl_calloc(count ? count : 1, sizeof *fields);
    if (!fields)
        return sl_nomem();
    for (size_t i = 0; i < count; i++)
        fields[i] = (sl_field){.name = names[i], .type = children[i].type, .nullable = children[i].nullable};
    sl_status status = sl_type_struct(fields, count, out);
    sl_free(fields);
    return status;
}

static sl_status build_members(struct walk *w, int32_t count, struct place at, struct parquet_node *node)
{
    SL_TRY(alloc_children(w, node, (size_t)count));
    const char **names = sl_calloc((size_t)count, sizeof *names);
    if (!names)
        return sl_nomem();
    sl_status status = SL_OK;
    const void *record = w->type;
    at.top = false;
    for (int32_t i = 0; i < count; i++) {
        names[i] = w->next < w->count ? w->elements[w->next].name : "";
        w->type = parquet_avro_member(w->avro, record, names[i]);
        SL_GO(build_field(w, at, &node->children[i]));
    }
    status = struct_type(node->children, names, (size_t)count, &node->type);
done:
    sl_free(names);
    return status;
}

/* The place of the elements of a list or map at `at`. */
static struct place element_place(struct place at)
{
    return (struct place){
        .def = at.def + 1, .rep = at.rep + 1, .slot_def = at.def + 1, .slot_rep = at.rep + 1};
}

static void set_place(struct parquet_node *node, struct place at)
{
    node->def = at.def;
    node->slot_def = at.slot_def;
    node->slot_rep = at.slot_rep;
    node->list_def = at.def + 1;
    node->list_rep = at.rep + 1;
}

static sl_status list_type(struct parquet_node *node)
{
    sl_field element = {
        .name = "element", .type = node->children[0].type, .nullable = node->children[0].nullable};
    return sl_type_list(&element, &node->type);
}

/* Rules 1 to 4 of spec/parquet.md 9: the repeated field itself is the element. Where its one field leaves a doubt, the
 * Avro type of the elements decides when there is one. */
static bool repeated_is_element(const struct walk *w, const struct parquet_schema_element *list,
                                const struct parquet_schema_element *repeated)
{
    if (repeated->has_type || repeated->children > 1)
        return true;
    if (w->next < w->count && w->elements[w->next].repetition == PARQUET_REPEATED)
        return true;
    int by_avro = w->next < w->count ? parquet_avro_is_element(w->avro, w->type, &w->elements[w->next]) : -1;
    if (by_avro >= 0)
        return by_avro;
    size_t n = strlen(list->name);
    return strcmp(repeated->name, "array") == 0 ||
           (strncmp(repeated->name, list->name, n) == 0 && strcmp(repeated->name + n, "_tuple") == 0);
}

static sl_status build_list(struct walk *w, const struct parquet_schema_element *list, struct place at,
                            struct parquet_node *node)
{
    const struct parquet_schema_element *repeated;
    SL_TRY(next_element(w, &repeated));
    SL_TRY(alloc_children(w, node, 1));
    w->names[++w->depth] = repeated->name;
    w->type = parquet_avro_inside(w->avro, w->type);
    if (repeated_is_element(w, list, repeated))
        SL_TRY(build_value(w, repeated, element_place(at), &node->children[0]));
    else
        SL_TRY(build_field(w, element_place(at), &node->children[0]));
    w->depth--;
    return list_type(node);
}

/* Entries of a map that has no values: every value is null. */
static sl_status absent_values(struct place at, struct parquet_node *node)
{
    set_place(node, at);
    node->nullable = true;
    node->def = at.def + 1;
    return sl_type_new(SL_NULL, &node->type);
}

static sl_status build_map(struct walk *w, struct place at, struct parquet_node *node)
{
    const struct parquet_schema_element *repeated;
    SL_TRY(next_element(w, &repeated));
    struct place inside = element_place(at);
    SL_TRY(alloc_children(w, node, 1));
    struct parquet_node *entries = &node->children[0];
    set_place(entries, inside);
    SL_TRY(alloc_children(w, entries, 2));
    w->names[++w->depth] = repeated->name;
    entries->leaf_first = w->leaf_count;
    const void *value_type = parquet_avro_inside(w->avro, w->type);
    w->type = NULL;
    SL_TRY(build_field(w, inside, &entries->children[0]));
    entries->children[0].is_key = true;
    w->type = value_type;
    if (repeated->children == 2)
        SL_TRY(build_field(w, inside, &entries->children[1]));
    else
        SL_TRY(absent_values(inside, &entries->children[1]));
    w->depth--;
    entries->leaf_count = w->leaf_count - entries->leaf_first;
    sl_field value = {
        .name = "value", .type = entries->children[1].type, .nullable = entries->children[1].nullable};
    SL_TRY(sl_type_map(entries->children[0].type, &value, &node->type));
    entries->type = sl_type_ref(node->type->fields[0].type);
    return SL_OK;
}

/* A group that calls itself a list or map but is not built like one is read as a struct. */
static bool has_repeated_child(const struct walk *w, const struct parquet_schema_element *e)
{
    return e->children == 1 && w->next < w->count && w->elements[w->next].has_repetition &&
           w->elements[w->next].repetition == PARQUET_REPEATED;
}

static bool has_map_shape(const struct walk *w, const struct parquet_schema_element *e)
{
    if (!has_repeated_child(w, e) || w->next + 1 >= w->count)
        return false;
    const struct parquet_schema_element *entries = &w->elements[w->next];
    return !entries->has_type && entries->children >= 1 && entries->children <= 2 &&
           w->elements[w->next + 1].repetition != PARQUET_REPEATED;
}

static sl_status build_value(struct walk *w, const struct parquet_schema_element *e, struct place at,
                             struct parquet_node *node)
{
    if (w->depth + 2 >= PARQUET_NESTING_MAX)
        return sl_unsupported("column %s: nested over %d levels", w->names[1], PARQUET_NESTING_MAX);
    set_place(node, at);
    node->leaf_first = w->leaf_count;
    if (e->has_type)
        SL_TRY(build_leaf(w, e, at, node));
    else if (is_logical(e, PARQUET_LOGICAL_LIST, PARQUET_CONVERTED_LIST) && has_repeated_child(w, e))
        SL_TRY(build_list(w, e, at, node));
    else if ((is_logical(e, PARQUET_LOGICAL_MAP, PARQUET_CONVERTED_MAP) ||
              e->converted == PARQUET_CONVERTED_MAP_KEY_VALUE) &&
             has_map_shape(w, e))
        SL_TRY(build_map(w, at, node));
    else
        SL_TRY(build_members(w, e->children, at, node));
    node->leaf_count = w->leaf_count - node->leaf_first;
    return SL_OK;
}

/* A repeated field outside of any list is a required list of required elements. */
static sl_status build_bare_repeated(struct walk *w, const struct parquet_schema_element *e, struct place at,
                                     struct parquet_node *node)
{
    set_place(node, at);
    node->leaf_first = w->leaf_count;
    SL_TRY(alloc_children(w, node, 1));
    SL_TRY(build_value(w, e, element_place(at), &node->children[0]));
    node->leaf_count = w->leaf_count - node->leaf_first;
    return list_type(node);
}

static sl_status build_field(struct walk *w, struct place at, struct parquet_node *node)
{
    const struct parquet_schema_element *e;
    SL_TRY(next_element(w, &e));
    w->names[++w->depth] = e->name;
    if (e->repetition == PARQUET_REPEATED) {
        at.top = false;
        w->type = NULL;
        SL_TRY(build_bare_repeated(w, e, at, node));
    } else {
        node->nullable = e->repetition == PARQUET_OPTIONAL;
        at.def += node->nullable;
        SL_TRY(build_value(w, e, at, node));
    }
    w->depth--;
    return SL_OK;
}

static sl_status build_columns(struct walk *w, struct parquet_node *root)
{
    int32_t count = w->elements[0].children;
    if (w->elements[0].has_type || count < 0 || (size_t)count > w->count)
        return sl_corrupt("schema root is not a group");
    w->next = 1;
    SL_TRY(alloc_children(w, root, (size_t)count));
    const char **names = sl_arena_alloc(w->arena, ((size_t)count + 1) * sizeof *names);
    if (!names)
        return sl_nomem();
    const void *record = parquet_avro_root(w->avro);
    for (int32_t i = 0; i < count; i++) {
        names[i] = w->next < w->count ? w->elements[w->next].name : "";
        w->type = parquet_avro_member(w->avro, record, names[i]);
        SL_TRY(build_field(w, (struct place){.top = true}, &root->children[i]));
    }
    if (w->next != w->count)
        return sl_corrupt("schema has %zu elements outside of its tree", w->count - w->next);
    return struct_type(root->children, names, (size_t)count, &root->type);
}

/* The tree's own references go: the root type holds all of them. */
static void drop_references(struct parquet_node *node)
{
    for (size_t i = 0; i < node->child_count; i++) {
        drop_references(&node->children[i]);
        sl_type_unref(node->children[i].type);
    }
}

/* Repeated groups with one field: only they are worth parsing the Avro schema for. */
static bool has_doubtful_list(const struct parquet_file_metadata *meta)
{
    for (size_t i = 1; i < meta->schema_count; i++) {
        const struct parquet_schema_element *e = &meta->schema[i];
        if (!e->has_type && e->children == 1 && e->has_repetition && e->repetition == PARQUET_REPEATED)
            return true;
    }
    return false;
}

sl_status parquet_schema_build(const struct parquet_file_metadata *meta, sl_arena *arena,
                               struct parquet_schema *out)
{
    struct walk w = {.elements = meta->schema, .count = meta->schema_count, .arena = arena};
    struct parquet_node root = {0};
    w.leaves = sl_arena_alloc(arena, meta->schema_count * sizeof *w.leaves);
    if (!w.leaves)
        return sl_nomem();
    memset(w.leaves, 0, meta->schema_count * sizeof *w.leaves);
    if (has_doubtful_list(meta))
        SL_TRY(parquet_avro_open(meta, &w.avro));
    sl_status status = build_columns(&w, &root);
    parquet_avro_close(w.avro);
    if (status) {
        release_types(&root);
        return sl_context(status, "schema");
    }
    out->type = root.type;
    out->columns = root.children;
    out->leaves = w.leaves;
    out->leaf_count = w.leaf_count;
    drop_references(&root);
    return SL_OK;
}
