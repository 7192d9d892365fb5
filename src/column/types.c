/* Types: immutable reference-counted trees, their equality and their widths. */
#include "column/column_int.h"

static sl_status type_make(enum sl_type_id id, sl_type **out)
{
    sl_type *type = NULL;
    SL_NEW(type);
    atomic_init(&type->refs, 1);
    type->id = id;
    *out = type;
    return SL_OK;
}

sl_status sl_type_new(enum sl_type_id id, const sl_type **out)
{
    if (id == SL_TIMESTAMP)
        return sl_type_timestamp(SL_MICROS, true, out);
    if (id == SL_TIME)
        return sl_type_time(SL_MICROS, out);
    if (id == SL_DECIMAL || id == SL_FIXED || id == SL_LIST || id == SL_MAP || id == SL_STRUCT)
        return sl_internal("type %d needs parameters", (int)id);
    sl_type *type = NULL;
    SL_TRY(type_make(id, &type));
    *out = type;
    return SL_OK;
}

sl_status sl_type_decimal(int32_t precision, int32_t scale, const sl_type **out)
{
    if (precision < 1 || precision > 38)
        return sl_input("decimal precision %d is not in 1..38", precision);
    if (scale < 0 || scale > precision)
        return sl_input("decimal scale %d is not in 0..%d", scale, precision);
    sl_type *type = NULL;
    SL_TRY(type_make(SL_DECIMAL, &type));
    type->precision = precision;
    type->scale = scale;
    *out = type;
    return SL_OK;
}

sl_status sl_type_time(enum sl_time_unit unit, const sl_type **out)
{
    sl_type *type = NULL;
    SL_TRY(type_make(SL_TIME, &type));
    type->unit = unit;
    type->utc = true;
    *out = type;
    return SL_OK;
}

sl_status sl_type_timestamp(enum sl_time_unit unit, bool utc, const sl_type **out)
{
    sl_type *type = NULL;
    SL_TRY(type_make(SL_TIMESTAMP, &type));
    type->unit = unit;
    type->utc = utc;
    *out = type;
    return SL_OK;
}

sl_status sl_type_fixed(int32_t width, const sl_type **out)
{
    if (width < 1)
        return sl_input("fixed width %d is not positive", width);
    sl_type *type = NULL;
    SL_TRY(type_make(SL_FIXED, &type));
    type->width = width;
    *out = type;
    return SL_OK;
}

sl_status sl_type_annotated(enum sl_type_id id, enum sl_annotation annotation, const sl_type **out)
{
    sl_type *type = NULL;
    if (id == SL_FIXED) {
        /* The one annotated fixed is the UUID, whose width its annotation gives. */
        if (annotation != SL_UUID)
            return sl_internal("a fixed type with annotation %d needs a width", (int)annotation);
        SL_TRY(type_make(id, &type));
        type->width = 16;
    } else if (id == SL_STRING || id == SL_BINARY) {
        SL_TRY(type_make(id, &type));
    } else {
        return sl_internal("type %d takes no annotation", (int)id);
    }
    type->annotation = annotation;
    *out = type;
    return SL_OK;
}

static sl_status field_copy(sl_field *to, const sl_field *from, const char *default_name)
{
    const char *name = from->name ? from->name : default_name;
    if (!(to->name = sl_strdup(name)))
        return sl_nomem();
    if (from->doc && !(to->doc = sl_strdup(from->doc)))
        return sl_nomem();
    to->type = sl_type_ref(from->type);
    to->nullable = from->nullable;
    return SL_OK;
}

static sl_status type_with_fields(enum sl_type_id id, const sl_field *fields, size_t count,
                                  const char *default_name, const sl_type **out)
{
    sl_type *type = NULL;
    SL_TRY(type_make(id, &type));
    sl_status status = SL_OK;
    if (count > 0 && !(type->fields = sl_calloc(count, sizeof *type->fields))) {
        status = sl_nomem();
        goto done;
    }
    for (size_t i = 0; i < count; i++) {
        type->field_count = i + 1;
        SL_GO(field_copy(&type->fields[i], &fields[i], default_name));
    }
    *out = type;
    return SL_OK;
done:
    sl_type_unref(type);
    return status;
}

sl_status sl_type_struct(const sl_field *fields, size_t count, const sl_type **out)
{
    return type_with_fields(SL_STRUCT, fields, count, "", out);
}

sl_status sl_type_list(const sl_field *element, const sl_type **out)
{
    return type_with_fields(SL_LIST, element, 1, "element", out);
}

sl_status sl_type_map(const sl_type *key, const sl_field *value, const sl_type **out)
{
    sl_field entry[2] = {{.name = "key", .type = key, .nullable = false}, *value};
    if (!entry[1].name)
        entry[1].name = "value";
    sl_field entries = {.name = "key_value", .type = NULL, .nullable = false};
    SL_TRY(sl_type_struct(entry, 2, &entries.type));
    sl_status status = type_with_fields(SL_MAP, &entries, 1, "key_value", out);
    sl_type_unref(entries.type);
    return status;
}

/* Counts are the one thing that changes in a type, hence the cast. */
static sl_type *counted(const sl_type *type) { return (sl_type *)(uintptr_t)type; }

const sl_type *sl_type_ref(const sl_type *type)
{
    if (type)
        atomic_fetch_add_explicit(&counted(type)->refs, 1, memory_order_relaxed);
    return type;
}

static void type_free(sl_type *type)
{
    for (size_t i = 0; i < type->field_count; i++) {
        sl_free((void *)(uintptr_t)type->fields[i].name);
        sl_free((void *)(uintptr_t)type->fields[i].doc);
        sl_type_unref(type->fields[i].type);
    }
    sl_free(type->fields);
    sl_free(type->name);
    if (type->symbols)
        sl_strings_free(type->symbols);
    sl_free(type->symbols);
    sl_free(type);
}

void sl_type_unref(const sl_type *type)
{
    if (type && atomic_fetch_sub_explicit(&counted(type)->refs, 1, memory_order_acq_rel) == 1)
        type_free(counted(type));
}

static bool parameters_equal(const sl_type *a, const sl_type *b)
{
    switch (a->id) {
    case SL_TIME: /* a time of day means the same with and without the mark "adjusted to UTC" */
        return a->unit == b->unit;
    case SL_TIMESTAMP:
        return a->unit == b->unit && a->utc == b->utc;
    case SL_DECIMAL:
        return a->precision == b->precision && a->scale == b->scale;
    case SL_FIXED:
        return a->width == b->width;
    default:
        return true;
    }
}

/* Member names are part of a struct; writers call the element of a list "element", "item" or "array" and the
 * entries of a map "key_value", "entries" or "map", and mean the same. */
static bool types_equal(const sl_type *a, const sl_type *b, bool names_matter)
{
    if (a == b)
        return true;
    if (a->id != b->id || a->field_count != b->field_count || !parameters_equal(a, b))
        return false;
    for (size_t i = 0; i < a->field_count; i++) {
        const sl_field *x = &a->fields[i], *y = &b->fields[i];
        if (x->nullable != y->nullable)
            return false;
        if (a->id == SL_STRUCT && names_matter && strcmp(x->name, y->name) != 0)
            return false;
        if (!types_equal(x->type, y->type, a->id != SL_MAP))
            return false;
    }
    return true;
}

bool sl_type_equal(const sl_type *a, const sl_type *b) { return types_equal(a, b, true); }

int sl_type_field_index(const sl_type *structure, const char *name)
{
    for (size_t i = 0; i < structure->field_count; i++)
        if (strcmp(structure->fields[i].name, name) == 0)
            return (int)i;
    return -1;
}

int sl_type_field_near(const sl_type *structure, const char *name, size_t guess)
{
    if (guess < structure->field_count && strcmp(structure->fields[guess].name, name) == 0)
        return (int)guess;
    return sl_type_field_index(structure, name);
}

const char *sl_type_field_alike(const sl_type *structure, const char *name)
{
    const char *nearest = NULL;
    size_t best = strlen(name) / 3 + 2;
    for (size_t i = 0; i < structure->field_count; i++) {
        size_t distance = sl_edit_distance(name, structure->fields[i].name);
        if (distance < best) {
            best = distance;
            nearest = structure->fields[i].name;
        }
    }
    return nearest;
}

size_t sl_type_value_bytes(const sl_type *type)
{
    switch (type->id) {
    case SL_INT8:
    case SL_UINT8:
        return 1;
    case SL_INT16:
    case SL_UINT16:
    case SL_HALF:
        return 2;
    case SL_INT32:
    case SL_UINT32:
    case SL_FLOAT:
    case SL_DATE:
        return 4;
    case SL_TIME:
        return type->unit == SL_MILLIS ? 4 : 8;
    case SL_INT64:
    case SL_UINT64:
    case SL_DOUBLE:
    case SL_TIMESTAMP:
        return 8;
    case SL_DECIMAL:
        return 16;
    case SL_FIXED:
        return (size_t)type->width;
    default:
        return 0;
    }
}

bool sl_type_is_nested(const sl_type *type)
{
    return type->id == SL_LIST || type->id == SL_MAP || type->id == SL_STRUCT;
}

bool sl_type_has_offsets(const sl_type *type)
{
    return type->id == SL_STRING || type->id == SL_BINARY || type->id == SL_LIST || type->id == SL_MAP;
}

int32_t sl_decimal_bytes(int32_t precision)
{
    /* Digits that n bytes hold: the digits of 2^(8n-1), less one. */
    static const int8_t digits[] = {0, 2, 4, 6, 9, 11, 14, 16, 18, 21, 23, 26, 28, 31, 33, 35, 38};
    int32_t bytes = 1;
    while (bytes < 16 && digits[bytes] < precision)
        bytes++;
    return bytes;
}

sl_i128 column_pow10(int32_t digits)
{
    sl_i128 power = 1;
    for (int32_t i = 0; i < digits; i++)
        power *= 10;
    return power;
}
