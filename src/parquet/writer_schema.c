/*
 * From a table's types to a Parquet schema (spec/parquet.md 1.1, 8, 9): schema elements with logical and
 * converted types, and for each leaf the steps that lead from its top-level array down to its values.
 *
 *     list, three levels            list, two levels (old)       map
 *     optional group f (LIST)       optional group f (LIST)      optional group f (MAP)
 *       repeated group list           repeated T array             repeated group key_value
 *         optional T element                                         required K key
 *                                                                    optional V value
 */
#include "parquet/write_int.h"

/* What is known on the way down. */
struct schema_walk {
    struct write_schema *out;
    size_t element_capacity, leaf_capacity;
    bool old_lists;
    size_t column;
    const char *path[4 * PARQUET_NESTING_MAX];
    size_t path_count;
    struct level_step steps[8 * PARQUET_NESTING_MAX];
    size_t step_count;
    uint8_t definition, repetition;
};

static sl_status path_text(const struct schema_walk *w, char **out)
{
    sl_buf text = {0};
    sl_status status = SL_OK;
    for (size_t i = 0; i < w->path_count && !status; i++) {
        if (i)
            status = sl_buf_byte(&text, '.');
        if (!status)
            status = sl_buf_append(&text, w->path[i], strlen(w->path[i]));
    }
    if (!status)
        status = sl_buf_take_string(&text, out);
    sl_buf_free(&text);
    return status;
}

/* An error that names the field the walk is at. */
static sl_status refuse(const struct schema_walk *w, const char *reason)
{
    char *text = NULL;
    SL_TRY(path_text(w, &text));
    sl_status status = sl_unsupported("column %s: %s", text, reason);
    sl_free(text);
    return status;
}

static sl_status add_element(struct schema_walk *w, const char *name, struct parquet_schema_element **out)
{
    struct write_schema *s = w->out;
    SL_GROW(s->elements, s->element_count, w->element_capacity, 32);
    *out = &s->elements[s->element_count++];
    **out = (struct parquet_schema_element){.name = name, .converted = PARQUET_CONVERTED_NONE};
    return SL_OK;
}

static void push_step(struct schema_walk *w, struct level_step step) { w->steps[w->step_count++] = step; }

/* ---- leaves -------------------------------------------------------------------------------------------- */

static void set_converted(struct parquet_schema_element *e, enum parquet_logical_kind kind, int32_t converted)
{
    e->logical.kind = kind;
    e->converted = converted;
}

static void set_integer(struct parquet_schema_element *e, int32_t bits, bool is_signed, int32_t converted)
{
    set_converted(e, PARQUET_LOGICAL_INTEGER, converted);
    e->logical.bit_width = bits;
    e->logical.is_signed = is_signed;
}

static void set_time(struct parquet_schema_element *e, enum parquet_logical_kind kind, const sl_type *type)
{
    static const int32_t converted[2][3] = {
        {PARQUET_CONVERTED_TIME_MILLIS, PARQUET_CONVERTED_TIME_MICROS, PARQUET_CONVERTED_NONE},
        {PARQUET_CONVERTED_TIMESTAMP_MILLIS, PARQUET_CONVERTED_TIMESTAMP_MICROS, PARQUET_CONVERTED_NONE},
    };
    static const enum parquet_unit units[3] = {PARQUET_MILLIS, PARQUET_MICROS, PARQUET_NANOS};
    /* Local timestamps carry the converted type as well, as parquet-java writes them (spec/parquet.md 1.1).
     */
    set_converted(e, kind, converted[kind == PARQUET_LOGICAL_TIMESTAMP][type->unit]);
    e->logical.unit = units[type->unit];
    e->logical.utc = type->utc;
}

static void set_annotation(struct parquet_schema_element *e, struct write_leaf *leaf, const sl_type *type)
{
    leaf->text = true;
    switch (type->annotation) {
    case SL_ENUM:
        set_converted(e, PARQUET_LOGICAL_ENUM, PARQUET_CONVERTED_ENUM);
        return;
    case SL_JSON:
        set_converted(e, PARQUET_LOGICAL_JSON, PARQUET_CONVERTED_JSON);
        return;
    case SL_BSON:
        set_converted(e, PARQUET_LOGICAL_BSON, PARQUET_CONVERTED_BSON);
        leaf->text = false;
        return;
    default: /* a uuid in text form is a plain string to every reader (spec/parquet.md 8) */
        leaf->text = type->id == SL_STRING;
        if (leaf->text)
            set_converted(e, PARQUET_LOGICAL_STRING, PARQUET_CONVERTED_UTF8);
    }
}

static void set_physical(struct write_leaf *leaf, enum parquet_physical physical, int32_t width,
                         enum write_kind kind, enum write_order order)
{
    leaf->physical = physical;
    leaf->width = width;
    leaf->kind = kind;
    leaf->order = order;
}

/* Whether the type is one of those that a row of the table says all of. */
static bool describe_number(const sl_type *type, struct write_leaf *leaf, struct parquet_schema_element *e)
{
    static const struct number {
        enum parquet_physical physical;
        int32_t width;
        enum write_kind kind;
        enum write_order order;
        int32_t bits; /* 0: without a logical type */
        bool is_signed;
        int32_t converted;
    } numbers[] = {
        [SL_BOOL] = {PARQUET_BOOLEAN, 0, WRITE_BOOL, ORDER_BOOL, 0, false, 0},
        [SL_INT8] = {PARQUET_INT32, 4, WRITE_FROM_INT8, ORDER_INT32, 8, true, PARQUET_CONVERTED_INT_8},
        [SL_INT16] = {PARQUET_INT32, 4, WRITE_FROM_INT16, ORDER_INT32, 16, true, PARQUET_CONVERTED_INT_16},
        [SL_INT32] = {PARQUET_INT32, 4, WRITE_WORD32, ORDER_INT32, 0, false, 0},
        [SL_INT64] = {PARQUET_INT64, 8, WRITE_WORD64, ORDER_INT64, 0, false, 0},
        [SL_UINT8] = {PARQUET_INT32, 4, WRITE_FROM_UINT8, ORDER_UINT32, 8, false, PARQUET_CONVERTED_UINT_8},
        [SL_UINT16] = {PARQUET_INT32, 4, WRITE_FROM_UINT16, ORDER_UINT32, 16, false,
                       PARQUET_CONVERTED_UINT_16},
        [SL_UINT32] = {PARQUET_INT32, 4, WRITE_WORD32, ORDER_UINT32, 32, false, PARQUET_CONVERTED_UINT_32},
        [SL_UINT64] = {PARQUET_INT64, 8, WRITE_WORD64, ORDER_UINT64, 64, false, PARQUET_CONVERTED_UINT_64},
        [SL_FLOAT] = {PARQUET_FLOAT, 4, WRITE_WORD32, ORDER_FLOAT, 0, false, 0},
        [SL_DOUBLE] = {PARQUET_DOUBLE, 8, WRITE_WORD64, ORDER_DOUBLE, 0, false, 0},
    };
    if ((size_t)type->id >= sizeof numbers / sizeof *numbers ||
        (numbers[type->id].width == 0 && type->id != SL_BOOL))
        return false;
    const struct number *n = &numbers[type->id];
    set_physical(leaf, n->physical, n->width, n->kind, n->order);
    if (n->bits)
        set_integer(e, n->bits, n->is_signed, n->converted);
    return true;
}

/* Always FIXED: Spark upserts corrupt decimals kept in INT32 or INT64 (spec/parquet.md 8). */
static sl_status describe_decimal(struct schema_walk *w, const sl_type *type, struct write_leaf *leaf,
                                  struct parquet_schema_element *e)
{
    int32_t width = type->width ? type->width : sl_decimal_bytes(type->precision);
    if (width < sl_decimal_bytes(type->precision))
        return refuse(w, "the decimal's fixed form is too narrow for its precision");
    set_physical(leaf, PARQUET_FIXED, width, WRITE_DECIMAL, ORDER_DECIMAL);
    set_converted(e, PARQUET_LOGICAL_DECIMAL, PARQUET_CONVERTED_DECIMAL);
    e->has_scale = e->has_precision = true;
    e->scale = e->logical.scale = type->scale;
    e->precision = e->logical.precision = type->precision;
    return SL_OK;
}

static sl_status describe_fixed(struct schema_walk *w, const sl_type *type, struct write_leaf *leaf,
                                struct parquet_schema_element *e)
{
    if (type->width <= 0)
        return refuse(w, "a fixed type without bytes cannot be written to Parquet");
    set_physical(leaf, PARQUET_FIXED, type->width, WRITE_FIXED, ORDER_FIXED);
    if (type->annotation == SL_UUID && type->width == 16)
        e->logical.kind = PARQUET_LOGICAL_UUID;
    return SL_OK;
}

static sl_status describe_other(struct schema_walk *w, const sl_type *type, struct write_leaf *leaf,
                                struct parquet_schema_element *e)
{
    switch (type->id) {
    case SL_HALF:
        set_physical(leaf, PARQUET_FIXED, 2, WRITE_FIXED, ORDER_HALF);
        e->logical.kind = PARQUET_LOGICAL_FLOAT16;
        return SL_OK;
    case SL_DECIMAL:
        return describe_decimal(w, type, leaf, e);
    case SL_DATE:
        set_physical(leaf, PARQUET_INT32, 4, WRITE_WORD32, ORDER_INT32);
        set_converted(e, PARQUET_LOGICAL_DATE, PARQUET_CONVERTED_DATE);
        return SL_OK;
    case SL_TIME:
        if (type->unit == SL_MILLIS)
            set_physical(leaf, PARQUET_INT32, 4, WRITE_WORD32, ORDER_INT32);
        else
            set_physical(leaf, PARQUET_INT64, 8, WRITE_WORD64, ORDER_INT64);
        set_time(e, PARQUET_LOGICAL_TIME, type);
        return SL_OK;
    case SL_TIMESTAMP:
        set_physical(leaf, PARQUET_INT64, 8, WRITE_WORD64, ORDER_INT64);
        set_time(e, PARQUET_LOGICAL_TIMESTAMP, type);
        return SL_OK;
    case SL_STRING:
    case SL_BINARY:
        set_physical(leaf, PARQUET_BYTE_ARRAY, 0, WRITE_BYTES, ORDER_BYTES);
        set_annotation(e, leaf, type);
        return SL_OK;
    case SL_FIXED:
        return describe_fixed(w, type, leaf, e);
    case SL_NULL:
        return refuse(w, "a column of type null cannot be written to Parquet");
    default:
        return sl_internal("type %d is not a leaf", (int)type->id);
    }
}

/* Fills physical type, order and annotations. Field widths come from the type's constructor, but are checked
 * here once more, as everything below relies on them. */
static sl_status describe_leaf(struct schema_walk *w, const sl_type *type, struct write_leaf *leaf,
                               struct parquet_schema_element *e)
{
    leaf->type = type;
    if (!describe_number(type, leaf, e))
        SL_TRY(describe_other(w, type, leaf, e));
    e->has_type = true;
    e->type = leaf->physical;
    e->type_length = leaf->physical == PARQUET_FIXED ? leaf->width : 0;
    return SL_OK;
}

static sl_status copy_path(const struct schema_walk *w, struct write_leaf *leaf)
{
    SL_NEW_ARRAY(leaf->path, w->path_count);
    for (size_t i = 0; i < w->path_count; i++) {
        if (!(leaf->path[i] = sl_strdup(w->path[i])))
            return sl_nomem();
        leaf->path_count = i + 1;
    }
    return path_text(w, &leaf->name);
}

static sl_status add_leaf(struct schema_walk *w, const sl_type *type, size_t element)
{
    struct write_schema *s = w->out;
    SL_GROW(s->leaves, s->leaf_count, w->leaf_capacity, 16);
    struct write_leaf *leaf = &s->leaves[s->leaf_count++];
    memset(leaf, 0, sizeof *leaf);
    leaf->column = w->column;
    SL_TRY(copy_path(w, leaf));
    SL_NEW_ARRAY(leaf->steps, w->step_count);
    memcpy(leaf->steps, w->steps, w->step_count * sizeof *w->steps);
    leaf->step_count = w->step_count;
    leaf->flat = w->step_count == 1;
    leaf->max_definition = w->definition;
    leaf->max_repetition = w->repetition;
    return describe_leaf(w, type, leaf, &s->elements[element]);
}

/* ---- groups -------------------------------------------------------------------------------------------- */

static sl_status walk_field(struct schema_walk *w, const sl_field *field, const char *name,
                            enum parquet_repetition repetition);

static void enter_repeated(struct schema_walk *w)
{
    w->repetition++;
    w->definition++;
    push_step(w, (struct level_step){.kind = STEP_REPEATED, .repetition_level = w->repetition});
}

static sl_status walk_list(struct schema_walk *w, const sl_type *type, size_t group)
{
    set_converted(&w->out->elements[group], PARQUET_LOGICAL_LIST, PARQUET_CONVERTED_LIST);
    w->out->elements[group].children = 1;
    enter_repeated(w);
    const sl_field *element = &type->fields[0];
    if (w->old_lists)
        return walk_field(w, element, "array", PARQUET_REPEATED);
    struct parquet_schema_element *repeated;
    SL_TRY(add_element(w, "list", &repeated));
    repeated->has_repetition = true;
    repeated->repetition = PARQUET_REPEATED;
    repeated->children = 1;
    w->path[w->path_count++] = "list";
    SL_TRY(walk_field(w, element, "element", element->nullable ? PARQUET_OPTIONAL : PARQUET_REQUIRED));
    w->path_count--;
    return SL_OK;
}

static sl_status walk_map(struct schema_walk *w, const sl_type *type, size_t group)
{
    set_converted(&w->out->elements[group], PARQUET_LOGICAL_MAP, PARQUET_CONVERTED_MAP);
    w->out->elements[group].children = 1;
    enter_repeated(w);
    struct parquet_schema_element *entries;
    SL_TRY(add_element(w, "key_value", &entries));
    entries->has_repetition = true;
    entries->repetition = PARQUET_REPEATED;
    entries->children = 2;
    w->path[w->path_count++] = "key_value";
    push_step(w, (struct level_step){.kind = STEP_REQUIRED});
    const sl_type *pair = type->fields[0].type;
    size_t steps = w->step_count;
    for (uint32_t i = 0; i < 2; i++) {
        w->step_count = steps;
        push_step(w, (struct level_step){.kind = STEP_MEMBER, .member = i});
        bool optional = i == 1 && pair->fields[i].nullable;
        SL_TRY(walk_field(w, &pair->fields[i], i ? "value" : "key",
                          optional ? PARQUET_OPTIONAL : PARQUET_REQUIRED));
    }
    w->path_count--;
    return SL_OK;
}

static sl_status walk_struct(struct schema_walk *w, const sl_type *type, size_t group)
{
    if (type->field_count == 0)
        return refuse(w, "a struct without members cannot be written to Parquet");
    if (type->field_count > INT32_MAX)
        return refuse(w, "too many members");
    w->out->elements[group].children = (int32_t)type->field_count;
    size_t steps = w->step_count;
    for (size_t i = 0; i < type->field_count; i++) {
        const sl_field *member = &type->fields[i];
        w->step_count = steps;
        push_step(w, (struct level_step){.kind = STEP_MEMBER, .member = (uint32_t)i});
        SL_TRY(walk_field(w, member, member->name, member->nullable ? PARQUET_OPTIONAL : PARQUET_REQUIRED));
    }
    return SL_OK;
}

/* A field whose element is about to be added under `name`. A repeated one (two-level list) has its level
 * already. */
static sl_status walk_field(struct schema_walk *w, const sl_field *field, const char *name,
                            enum parquet_repetition repetition)
{
    w->path[w->path_count++] = name;
    if (w->path_count + 2 >= PARQUET_NESTING_MAX) /* the reader's limit, see build_value */
        return refuse(w, "nested too deep");
    uint8_t definition = w->definition, repetition_level = w->repetition;
    if (repetition == PARQUET_OPTIONAL) {
        w->definition++;
        push_step(w, (struct level_step){.kind = STEP_OPTIONAL});
    } else {
        push_step(w, (struct level_step){.kind = STEP_REQUIRED,
                                         .old_list_element = repetition == PARQUET_REPEATED});
    }
    struct parquet_schema_element *element;
    SL_TRY(add_element(w, name, &element));
    element->has_repetition = true;
    element->repetition = repetition;
    size_t at = w->out->element_count - 1;
    switch (field->type->id) {
    case SL_LIST:
        SL_TRY(walk_list(w, field->type, at));
        break;
    case SL_MAP:
        SL_TRY(walk_map(w, field->type, at));
        break;
    case SL_STRUCT:
        SL_TRY(walk_struct(w, field->type, at));
        break;
    default:
        SL_TRY(add_leaf(w, field->type, at));
    }
    w->definition = definition;
    w->repetition = repetition_level;
    w->path_count--;
    return SL_OK;
}

static sl_status build(struct schema_walk *w, const sl_type *schema, const char *root_name)
{
    if (schema->id != SL_STRUCT)
        return sl_input("the schema of a Parquet file must be a struct");
    if (schema->field_count == 0)
        return sl_unsupported("a schema without columns cannot be written to Parquet");
    struct parquet_schema_element *root;
    SL_TRY(add_element(w, root_name, &root));
    root->children = (int32_t)schema->field_count;
    for (size_t i = 0; i < schema->field_count; i++) {
        const sl_field *field = &schema->fields[i];
        w->column = i;
        w->step_count = 0;
        SL_TRY(walk_field(w, field, field->name, field->nullable ? PARQUET_OPTIONAL : PARQUET_REQUIRED));
    }
    return SL_OK;
}

sl_status write_schema_build(const sl_type *schema, const char *root_name, bool old_lists,
                             struct write_schema *out)
{
    struct schema_walk *walk;
    SL_NEW(walk);
    *out = (struct write_schema){0};
    walk->out = out;
    walk->old_lists = old_lists;
    sl_status status = build(walk, schema, root_name);
    sl_free(walk);
    if (status)
        write_schema_free(out);
    return status;
}

void write_schema_free(struct write_schema *schema)
{
    for (size_t i = 0; i < schema->leaf_count; i++) {
        struct write_leaf *leaf = &schema->leaves[i];
        for (size_t k = 0; k < leaf->path_count; k++)
            sl_free(leaf->path[k]);
        sl_free(leaf->path);
        sl_free(leaf->name);
        sl_free(leaf->steps);
    }
    sl_free(schema->leaves);
    sl_free(schema->elements);
    *schema = (struct write_schema){0};
}
