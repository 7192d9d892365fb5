/*
 * Casts. Which pairs of types have one is decided in one place (cast_kind_of); each kind is then one loop
 * over a whole array: cast_numbers.c, cast_bytes.c, cast_nested.c.
 *
 * Validity bitmaps are shared, never changed: no cast makes a null. What null slots hold is converted as it
 * comes and not checked.
 */
#include "column/cast_int.h"

enum cast_kind {
    CAST_NONE,
    CAST_SAME,     /* nothing to do */
    CAST_RETYPE,   /* same layout, another type */
    CAST_UTF8,     /* binary to string */
    CAST_ENUM,     /* string to one of the symbols */
    CAST_INTEGER,  /* any width to any width */
    CAST_FLOATING, /* integer or narrower float to float or double */
    CAST_INT_DECIMAL,
    CAST_DECIMAL,
    CAST_TIME, /* another unit */
    CAST_TEXT, /* number or date to string */
    CAST_FIXED_BINARY,
    CAST_BINARY_FIXED,
    CAST_NULL,
    CAST_STRUCT,
    CAST_LIST,
    CAST_MAP,
};

static bool is_integer(enum sl_type_id id) { return id >= SL_INT8 && id <= SL_UINT64; }
static bool is_floating(enum sl_type_id id) { return id >= SL_HALF && id <= SL_DOUBLE; }

static bool has_symbols(const sl_type *type) { return type->annotation == SL_ENUM && type->symbols; }

static enum cast_kind string_cast_kind(const sl_type *from, const sl_type *to)
{
    if (from->id == SL_STRING)
        return has_symbols(to) ? CAST_ENUM : CAST_RETYPE;
    if (from->id == SL_BINARY)
        return has_symbols(to) ? CAST_NONE : CAST_UTF8;
    bool number =
        is_integer(from->id) || is_floating(from->id) || from->id == SL_DECIMAL || from->id == SL_DATE;
    return number && to->annotation == SL_PLAIN ? CAST_TEXT : CAST_NONE;
}

static enum cast_kind fixed_cast_kind(const sl_type *from, const sl_type *to)
{
    if (from->id == SL_BINARY)
        return CAST_BINARY_FIXED;
    return from->id == SL_FIXED && from->width == to->width ? CAST_RETYPE : CAST_NONE;
}

static enum cast_kind binary_cast_kind(const sl_type *from)
{
    if (from->id == SL_FIXED)
        return CAST_FIXED_BINARY;
    return from->id == SL_STRING || from->id == SL_BINARY ? CAST_RETYPE : CAST_NONE;
}

/* The kind by the outermost type alone; nested ones may still fail in their children. */
static enum cast_kind cast_kind_of(const sl_type *from, const sl_type *to)
{
    if (from == to || sl_type_equal(from, to))
        return CAST_SAME;
    if (from->id == SL_NULL)
        return CAST_NULL;
    switch (to->id) {
    case SL_FLOAT:
        return is_integer(from->id) || from->id == SL_HALF ? CAST_FLOATING : CAST_NONE;
    case SL_DOUBLE:
        return is_integer(from->id) || is_floating(from->id) ? CAST_FLOATING : CAST_NONE;
    case SL_DECIMAL:
        return from->id == SL_DECIMAL ? CAST_DECIMAL : is_integer(from->id) ? CAST_INT_DECIMAL : CAST_NONE;
    case SL_TIME:
        return from->id == SL_TIME ? CAST_TIME : CAST_NONE;
    case SL_TIMESTAMP:
        return from->id == SL_TIMESTAMP && from->utc == to->utc ? CAST_TIME : CAST_NONE;
    case SL_STRING:
        return string_cast_kind(from, to);
    case SL_BINARY:
        return binary_cast_kind(from);
    case SL_FIXED:
        return fixed_cast_kind(from, to);
    case SL_LIST:
        return from->id == SL_LIST ? CAST_LIST : CAST_NONE;
    case SL_MAP:
        return from->id == SL_MAP ? CAST_MAP : CAST_NONE;
    case SL_STRUCT:
        return from->id == SL_STRUCT ? CAST_STRUCT : CAST_NONE;
    default:
        return is_integer(from->id) && is_integer(to->id) ? CAST_INTEGER : CAST_NONE;
    }
}

static bool struct_cast_possible(const sl_type *from, const sl_type *to)
{
    for (size_t i = 0; i < to->field_count; i++) {
        int index = sl_type_field_index(from, to->fields[i].name);
        if (index < 0 ? !to->fields[i].nullable
                      : !sl_cast_possible(from->fields[index].type, to->fields[i].type))
            return false;
    }
    return true;
}

bool sl_cast_possible(const sl_type *from, const sl_type *to)
{
    switch (cast_kind_of(from, to)) {
    case CAST_NONE:
        return false;
    case CAST_STRUCT:
        return struct_cast_possible(from, to);
    case CAST_LIST:
        return sl_cast_possible(from->fields[0].type, to->fields[0].type);
    case CAST_MAP: {
        /* Keys and values by place: their names differ between formats. */
        const sl_type *a = from->fields[0].type, *b = to->fields[0].type;
        return sl_cast_possible(a->fields[0].type, b->fields[0].type) &&
               sl_cast_possible(a->fields[1].type, b->fields[1].type);
    }
    default:
        return true;
    }
}

sl_status cast_refused(const sl_type *from, const sl_type *to)
{
    char *from_text = NULL, *to_text = NULL;
    sl_status status = sl_type_text(from, &from_text);
    if (status == SL_OK)
        status = sl_type_text(to, &to_text);
    if (status == SL_OK)
        status = sl_input("%s cannot become %s", from_text, to_text);
    sl_free(from_text);
    sl_free(to_text);
    return status;
}

sl_status cast_does_not_fit(const sl_array *array, int64_t row, const sl_type *to)
{
    sl_buf value = {0};
    char *text = NULL, *type = NULL;
    sl_status status;
    SL_GO(sl_value_text(array, row, SL_TEXT_JSON, &value));
    SL_GO(sl_buf_take_string(&value, &text));
    SL_GO(sl_type_text(to, &type));
    status = sl_at_row(sl_input("%.100s does not fit %s", text, type), row);
done:
    sl_buf_free(&value);
    sl_free(text);
    sl_free(type);
    return status;
}

/* ---- pieces of arrays ---------------------------------------------------------------------------------- */

sl_buffer *cast_shared(sl_buffer *buffer) { return buffer ? sl_buffer_ref(buffer) : NULL; }

/* An array of `to` with the source's validity and new values (taken over). */
sl_status cast_with_values(const sl_array *array, const sl_type *to, sl_buffer *values, sl_array **out)
{
    return sl_array_new(to, array->length, array->null_count, cast_shared(array->validity_buffer), values,
                        NULL, NULL, 0, NULL, out);
}

sl_status cast_retype(const sl_array *array, const sl_type *to, sl_array **out)
{
    return sl_array_new(to, array->length, array->null_count, cast_shared(array->validity_buffer),
                        cast_shared(array->values_buffer), cast_shared(array->offsets_buffer), NULL, 0, NULL,
                        out);
}

sl_status cast_values_new(int64_t length, size_t width, sl_buffer **out)
{
    size_t bytes;
    if (sl_mul_overflows((size_t)length, width, &bytes))
        return sl_nomem();
    return sl_buffer_new(bytes, out);
}

/* ---- any array ----------------------------------------------------------------------------------------- */

/* Casts that look at no value work on the dictionary; others would fail for entries that no row uses. */
static bool dictionary_may_stay(enum cast_kind kind, const sl_type *to)
{
    return kind == CAST_RETYPE || (kind == CAST_FIXED_BINARY && to->id == SL_BINARY);
}

static sl_status cast_dictionary(const sl_array *a, const sl_type *to, sl_array **out)
{
    sl_array *dictionary;
    SL_TRY(sl_cast(a->dictionary, to, &dictionary));
    return sl_array_new(to, a->length, a->null_count, cast_shared(a->validity_buffer),
                        cast_shared(a->values_buffer), NULL, NULL, 0, dictionary, out);
}

static sl_status array_cast_decoded(sl_array *a, const sl_type *to, enum cast_kind kind, sl_array **out)
{
    switch (kind) {
    case CAST_SAME:
        *out = sl_array_ref(a);
        return SL_OK;
    case CAST_RETYPE:
        return cast_retype(a, to, out);
    case CAST_UTF8:
        return cast_to_utf8(a, to, out);
    case CAST_ENUM:
        return cast_to_enum(a, to, out);
    case CAST_INTEGER:
        return cast_integers(a, to, out);
    case CAST_FLOATING:
        return cast_to_floating(a, to, out);
    case CAST_INT_DECIMAL:
    case CAST_DECIMAL:
        return cast_to_decimal(a, to, out);
    case CAST_TIME:
        return cast_time(a, to, out);
    case CAST_TEXT:
        return cast_to_text(a, to, out);
    case CAST_FIXED_BINARY:
        return cast_fixed_to_binary(a, to, out);
    case CAST_BINARY_FIXED:
        return cast_binary_to_fixed(a, to, out);
    case CAST_NULL:
        return sl_array_nulls(to, a->length, out);
    case CAST_STRUCT:
        return cast_struct(a, to, out);
    case CAST_LIST:
        return cast_list(a, to, out);
    case CAST_MAP:
        return cast_map(a, to, out);
    case CAST_NONE:
        break;
    }
    return cast_refused(a->type, to);
}

sl_status sl_cast(sl_array *array, const sl_type *to, sl_array **out)
{
    enum cast_kind kind = cast_kind_of(array->type, to);
    if (!array->dictionary || kind == CAST_SAME || kind == CAST_NONE)
        return array_cast_decoded(array, to, kind, out);
    if (dictionary_may_stay(kind, to))
        return cast_dictionary(array, to, out);
    sl_array *decoded;
    SL_TRY(sl_array_decode_dictionary(array, &decoded));
    sl_status status = array_cast_decoded(decoded, to, kind, out);
    sl_array_unref(decoded);
    return status;
}
