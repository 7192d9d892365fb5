/*
 * Casts. Which pairs of types have one is decided in one place (cast_kind_of); each kind is then one loop
 * over a whole array. Numbers pass through blocks of int64 so that the loops are written once and not for
 * every pair of widths.
 *
 * Validity bitmaps are shared, never changed: no cast makes a null. What null slots hold is converted as it
 * comes and not checked.
 */
#include "column/cast_int.h"
#include "column/column_int.h"
#include "column/text_int.h"

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

/* "<value> does not fit <to>" */
static sl_status does_not_fit(const sl_array *array, int64_t row, const sl_type *to, int64_t *bad_row)
{
    sl_buf value = {0};
    char *text = NULL, *type = NULL;
    sl_status status;
    *bad_row = row;
    SL_GO(sl_value_text(array, row, SL_TEXT_JSON, &value));
    SL_GO(sl_buf_take_string(&value, &text));
    SL_GO(sl_type_text(to, &type));
    status = sl_input("%.100s does not fit %s", text, type);
done:
    sl_buf_free(&value);
    sl_free(text);
    sl_free(type);
    return status;
}

/* ---- pieces of arrays ---------------------------------------------------------------------------------- */

static sl_buffer *shared(sl_buffer *buffer) { return buffer ? sl_buffer_ref(buffer) : NULL; }

/* An array of `to` with the source's validity and new values (taken over). */
static sl_status with_values(const sl_array *array, const sl_type *to, sl_buffer *values, sl_array **out)
{
    return sl_array_new(to, array->length, array->null_count, shared(array->validity_buffer), values, NULL,
                        NULL, 0, NULL, out);
}

static sl_status retype(const sl_array *array, const sl_type *to, sl_array **out)
{
    return sl_array_new(to, array->length, array->null_count, shared(array->validity_buffer),
                        shared(array->values_buffer), shared(array->offsets_buffer), NULL, 0, NULL, out);
}

static sl_status values_new(int64_t length, size_t width, sl_buffer **out)
{
    size_t bytes;
    if (sl_mul_overflows((size_t)length, width, &bytes))
        return sl_nomem();
    return sl_buffer_new(bytes, out);
}

/* ---- numbers ------------------------------------------------------------------------------------------- */

#define BLOCK 1024

/* Rows [from, from + n) of an integer or time array, widened; SL_UINT64 as its bits. */
static void integers_load(const sl_array *a, int64_t from, int64_t n, int64_t *out)
{
    const uint8_t *p = a->values + (size_t)from * sl_type_value_bytes(a->type);
    bool is_signed = !(a->type->id >= SL_UINT8 && a->type->id <= SL_UINT64);
    switch (sl_type_value_bytes(a->type)) {
    case 1:
        for (int64_t i = 0; i < n; i++)
            out[i] = is_signed ? (int64_t)(int8_t)p[i] : (int64_t)p[i];
        break;
    case 2:
        for (int64_t i = 0; i < n; i++)
            out[i] = is_signed ? (int64_t)(int16_t)load_le16(p + i * 2) : (int64_t)load_le16(p + i * 2);
        break;
    case 4:
        for (int64_t i = 0; i < n; i++)
            out[i] = is_signed ? (int64_t)(int32_t)load_le32(p + i * 4) : (int64_t)load_le32(p + i * 4);
        break;
    default:
        memcpy(out, p, (size_t)n * 8);
        break;
    }
}

static void integers_store(size_t width, uint8_t *p, int64_t n, const int64_t *in)
{
    switch (width) {
    case 1:
        for (int64_t i = 0; i < n; i++)
            p[i] = (uint8_t)in[i];
        break;
    case 2:
        for (int64_t i = 0; i < n; i++)
            store_le16(p + i * 2, (uint16_t)in[i]);
        break;
    case 4:
        for (int64_t i = 0; i < n; i++)
            store_le32(p + i * 4, (uint32_t)in[i]);
        break;
    default:
        memcpy(p, in, (size_t)n * 8);
        break;
    }
}

/* First valid row of the block outside [low, high], or -1. */
static int64_t outside(const sl_array *a, int64_t from, int64_t n, const int64_t *values, int64_t low,
                       int64_t high)
{
    for (int64_t i = 0; i < n; i++)
        if (SL_UNLIKELY(values[i] < low || values[i] > high) && sl_is_valid(a, from + i))
            return from + i;
    return -1;
}

/* What a source value must lie in, seen as int64, to keep its meaning in `to`: between 64-bit types of
 * different sign that is the non-negative half. */
static void cast_bounds(const sl_type *from, const sl_type *to, int64_t *low, int64_t *high)
{
    integer_bounds(to->id, low, high);
    if (from->id == SL_UINT64 && *low < 0)
        *low = 0;
}

static sl_status cast_integers(const sl_array *a, const sl_type *to, int64_t *bad_row, sl_array **out)
{
    int64_t block[BLOCK], low, high;
    size_t width = sl_type_value_bytes(to);
    sl_buffer *values;
    cast_bounds(a->type, to, &low, &high);
    SL_TRY(values_new(a->length, width, &values));
    for (int64_t from = 0; from < a->length; from += BLOCK) {
        int64_t n = a->length - from < BLOCK ? a->length - from : BLOCK;
        integers_load(a, from, n, block);
        int64_t bad = outside(a, from, n, block, low, high);
        if (bad >= 0) {
            sl_buffer_unref(values);
            return does_not_fit(a, bad, to, bad_row);
        }
        integers_store(width, sl_buffer_data(values) + (size_t)from * width, n, block);
    }
    return with_values(a, to, values, out);
}

static double floating_source(const sl_array *a, int64_t i)
{
    switch (a->type->id) {
    case SL_HALF:
        return half_to_double(load_le16(a->values + i * 2));
    case SL_FLOAT:
        return (double)sl_float_at(a, i);
    default:
        return sl_double_at(a, i);
    }
}

/* A block of integers as float or double; each is rounded once (int64 to float not by way of double). */
static void integers_to_floating(bool is_unsigned, bool narrow, int64_t n, const int64_t *in, uint8_t *p)
{
    for (int64_t i = 0; i < n; i++) {
        if (narrow) {
            float value = is_unsigned ? (float)(uint64_t)in[i] : (float)in[i];
            memcpy(p + i * 4, &value, 4);
        } else {
            double value = is_unsigned ? (double)(uint64_t)in[i] : (double)in[i];
            memcpy(p + i * 8, &value, 8);
        }
    }
}

static sl_status cast_to_floating(const sl_array *a, const sl_type *to, sl_array **out)
{
    int64_t block[BLOCK];
    bool narrow = to->id == SL_FLOAT;
    size_t width = narrow ? 4 : 8;
    sl_buffer *values;
    SL_TRY(values_new(a->length, width, &values));
    uint8_t *p = sl_buffer_data(values);
    if (is_floating(a->type->id)) {
        for (int64_t i = 0; i < a->length; i++) {
            double value = floating_source(a, i);
            float narrowed = narrow ? (float)value : 0.0F; /* a half float: exact */
            memcpy(p + (size_t)i * width, narrow ? (void *)&narrowed : (void *)&value, width);
        }
        return with_values(a, to, values, out);
    }
    for (int64_t from = 0; from < a->length; from += BLOCK) {
        int64_t n = a->length - from < BLOCK ? a->length - from : BLOCK;
        integers_load(a, from, n, block);
        integers_to_floating(a->type->id == SL_UINT64, narrow, n, block, p + (size_t)from * width);
    }
    return with_values(a, to, values, out);
}

/* value * 10^up, or value / 10^-up when that is exact; false when it does not fit the precision. */
static bool decimal_rescale(sl_i128 value, int32_t up, sl_i128 power, sl_i128 bound, sl_i128 *out)
{
    if (up >= 0) {
        sl_i128 limit = bound / power;
        /* |value| * power < bound, without overflow: bound <= 10^38, and power divides it unless it exceeds
         * it. */
        if (power > bound ? value != 0 : value >= limit || value <= -limit)
            return false;
        *out = value * power;
        return true;
    }
    *out = value / power;
    return value % power == 0 && *out<bound && * out> - bound;
}

static sl_status cast_to_decimal(const sl_array *a, const sl_type *to, int64_t *bad_row, sl_array **out)
{
    bool decimal = a->type->id == SL_DECIMAL, is_unsigned = a->type->id == SL_UINT64;
    int32_t up = to->scale - (decimal ? a->type->scale : 0);
    sl_i128 power = column_pow10(up < 0 ? -up : up), bound = column_pow10(to->precision);
    sl_buffer *values;
    SL_TRY(values_new(a->length, 16, &values));
    uint8_t *p = sl_buffer_data(values);
    for (int64_t i = 0; i < a->length; i++) {
        sl_i128 value = decimal       ? sl_decimal_at(a, i)
                        : is_unsigned ? (sl_i128)(uint64_t)sl_i64_at(a, i)
                                      : sl_integer_at(a, i);
        sl_i128 rescaled = 0;
        if (SL_UNLIKELY(!decimal_rescale(value, up, power, bound, &rescaled)) && sl_is_valid(a, i)) {
            sl_buffer_unref(values);
            return does_not_fit(a, i, to, bad_row);
        }
        memcpy(p + i * 16, &rescaled, 16);
    }
    return with_values(a, to, values, out);
}

/* Another unit: finer ones multiply with an overflow check, coarser ones must divide exactly. */
static bool rescale_units(int64_t *values, int64_t n, int64_t multiply, int64_t divide, const sl_array *a,
                          int64_t from, int64_t *bad)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t wide = 0;
        bool fits = !sl_mul_overflows_i64(values[i], multiply, &wide) && wide % divide == 0;
        if (SL_UNLIKELY(!fits) && sl_is_valid(a, from + i)) {
            *bad = from + i;
            return false;
        }
        values[i] = wide / divide;
    }
    return true;
}

static sl_status cast_time(const sl_array *a, const sl_type *to, int64_t *bad_row, sl_array **out)
{
    int64_t block[BLOCK], bad = -1;
    int64_t from_units = time_unit_per_second(a->type->unit), to_units = time_unit_per_second(to->unit);
    int64_t multiply = to_units > from_units ? to_units / from_units : 1;
    int64_t divide = from_units > to_units ? from_units / to_units : 1;
    size_t width = sl_type_value_bytes(to);
    sl_buffer *values;
    SL_TRY(values_new(a->length, width, &values));
    for (int64_t from = 0; from < a->length; from += BLOCK) {
        int64_t n = a->length - from < BLOCK ? a->length - from : BLOCK;
        integers_load(a, from, n, block);
        bool fits = rescale_units(block, n, multiply, divide, a, from, &bad);
        if (fits && width == 4) {
            bad = outside(a, from, n, block, INT32_MIN, INT32_MAX);
            fits = bad < 0;
        }
        if (!fits) {
            sl_buffer_unref(values);
            return does_not_fit(a, bad, to, bad_row);
        }
        integers_store(width, sl_buffer_data(values) + (size_t)from * width, n, block);
    }
    return with_values(a, to, values, out);
}

/* ---- strings and binaries ------------------------------------------------------------------------------ */

static sl_status number_text_append(const sl_array *a, int64_t i, sl_buf *text)
{
    switch (a->type->id) {
    case SL_HALF:
        return sl_java_float((float)half_to_double(load_le16(a->values + i * 2)), text);
    case SL_FLOAT:
        return sl_java_float(sl_float_at(a, i), text);
    case SL_DOUBLE:
        return sl_java_double(sl_double_at(a, i), text);
    default:
        return sl_value_text(a, i, SL_TEXT_PLAIN, text);
    }
}

/* As Java writes the values, since that is what other readers of the table promote to. */
static sl_status cast_to_text(const sl_array *a, const sl_type *to, sl_array **out)
{
    sl_builder *b = NULL;
    sl_buf text = {0};
    sl_status status;
    SL_GO(sl_builder_new(to, &b));
    for (int64_t i = 0; i < a->length; i++) {
        if (!sl_is_valid(a, i)) {
            SL_GO(sl_builder_null(b));
            continue;
        }
        text.len = 0;
        SL_GO(number_text_append(a, i, &text));
        SL_GO(sl_builder_bytes(b, text.data, text.len));
    }
    status = sl_builder_finish(b, out);
done:
    sl_buf_free(&text);
    sl_builder_free(b);
    return status;
}

static sl_status cast_to_utf8(const sl_array *a, const sl_type *to, int64_t *bad_row, sl_array **out)
{
    for (int64_t i = 0; i < a->length; i++) {
        size_t len;
        if (!sl_is_valid(a, i))
            continue;
        const uint8_t *data = sl_bytes_at(a, i, &len);
        size_t valid = sl_utf8_valid_prefix(data, len);
        if (valid != len) {
            *bad_row = i;
            return sl_input("byte %zu of the value is not valid UTF-8 and it cannot become a string", valid);
        }
    }
    return retype(a, to, out);
}

static bool symbol_known(const sl_strings *symbols, const uint8_t *data, size_t len)
{
    for (size_t i = 0; i < symbols->count; i++)
        if (strlen(symbols->items[i]) == len && memcmp(symbols->items[i], data, len) == 0)
            return true;
    return false;
}

static sl_status cast_to_enum(const sl_array *a, const sl_type *to, int64_t *bad_row, sl_array **out)
{
    for (int64_t i = 0; i < a->length; i++) {
        size_t len;
        if (!sl_is_valid(a, i))
            continue;
        const uint8_t *data = sl_bytes_at(a, i, &len);
        if (!symbol_known(to->symbols, data, len))
            return does_not_fit(a, i, to, bad_row);
    }
    return retype(a, to, out);
}

static sl_status cast_fixed_to_binary(const sl_array *a, const sl_type *to, sl_array **out)
{
    sl_buffer *offsets;
    size_t bytes;
    if (sl_mul_overflows((size_t)a->length, (size_t)a->type->width, &bytes) || bytes > INT32_MAX)
        return sl_input("%" PRId64 " values of %d bytes are too many for one array", a->length,
                        a->type->width);
    SL_TRY(values_new(a->length + 1, 4, &offsets));
    for (int64_t i = 0; i <= a->length; i++)
        store_le32(sl_buffer_data(offsets) + i * 4, (uint32_t)(i * a->type->width));
    return sl_array_new(to, a->length, a->null_count, shared(a->validity_buffer), shared(a->values_buffer),
                        offsets, NULL, 0, NULL, out);
}

static sl_status cast_binary_to_fixed(const sl_array *a, const sl_type *to, int64_t *bad_row, sl_array **out)
{
    size_t width = (size_t)to->width, len;
    sl_buffer *values;
    SL_TRY(values_new(a->length, width, &values));
    uint8_t *p = sl_buffer_data(values);
    for (int64_t i = 0; i < a->length; i++, p += width) {
        if (!sl_is_valid(a, i)) {
            memset(p, 0, width);
            continue;
        }
        const uint8_t *data = sl_bytes_at(a, i, &len);
        if (len != width) {
            sl_buffer_unref(values);
            *bad_row = i;
            return sl_input("%zu bytes where the type has %zu", len, width);
        }
        memcpy(p, data, width);
    }
    return with_values(a, to, values, out);
}

/* Casts that look at no value work on the dictionary; others would fail for entries that no row uses. */
static bool dictionary_may_stay(enum cast_kind kind, const sl_type *to)
{
    return kind == CAST_RETYPE || (kind == CAST_FIXED_BINARY && to->id == SL_BINARY);
}

static sl_status cast_dictionary(const sl_array *a, const sl_type *to, int64_t *bad_row, sl_array **out)
{
    sl_array *dictionary;
    SL_TRY(array_cast(a->dictionary, to, bad_row, &dictionary));
    return sl_array_new(to, a->length, a->null_count, shared(a->validity_buffer), shared(a->values_buffer),
                        NULL, NULL, 0, dictionary, out);
}

/* ---- nested -------------------------------------------------------------------------------------------- */

static void arrays_free(sl_array **arrays, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sl_array_unref(arrays[i]);
}

/* First row whose member is null though its parent is not, or -1. */
static int64_t forbidden_null(const sl_array *a, const uint8_t *parent_validity)
{
    if (a->null_count == 0 && a->type->id != SL_NULL)
        return -1;
    for (int64_t i = 0; i < a->length; i++)
        if ((a->type->id == SL_NULL || !sl_is_valid(a, i)) &&
            (!parent_validity || bit_get(parent_validity, i)))
            return i;
    return -1;
}

sl_status array_field_cast(sl_array *array, const sl_field *field, const uint8_t *parent_validity,
                           int64_t *bad_row, sl_array **out)
{
    int64_t null_row = field->nullable ? -1 : forbidden_null(array, parent_validity);
    if (null_row >= 0) {
        *bad_row = null_row;
        return sl_input("null in a field that may not be null");
    }
    return array_cast(array, field->type, bad_row, out);
}

/* Members `to` out of the array's by name; values under a null parent are not looked at for null. */
static sl_status members_cast(const sl_array *a, const sl_type *to, int64_t *bad_row, sl_array **out)
{
    for (size_t i = 0; i < to->field_count; i++) {
        const sl_field *field = &to->fields[i];
        int index = sl_type_field_index(a->type, field->name);
        sl_status status;
        if (index >= 0)
            status = array_field_cast(a->children[index], field, a->validity, bad_row, &out[i]);
        else if (field->nullable)
            status = sl_array_nulls(field->type, a->length, &out[i]);
        else
            status = sl_input("the field is missing and may not be null");
        if (status != SL_OK) {
            arrays_free(out, i);
            return sl_context(status, "%s", field->name);
        }
    }
    return SL_OK;
}

static sl_status cast_struct(const sl_array *a, const sl_type *to, int64_t *bad_row, sl_array **out)
{
    sl_array **children;
    SL_NEW_ARRAY(children, to->field_count ? to->field_count : 1);
    sl_status status = members_cast(a, to, bad_row, children);
    if (status == SL_OK)
        status = sl_array_new(to, a->length, a->null_count, shared(a->validity_buffer), NULL, NULL, children,
                              to->field_count, NULL, out);
    sl_free(children);
    return status;
}

/* The row whose list holds element `element`. */
static int64_t row_of_element(const sl_array *a, int64_t element)
{
    int64_t low = 0, high = a->length;
    while (low + 1 < high) {
        int64_t middle = low + (high - low) / 2;
        if (a->offsets[middle] <= element)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Lists and maps: the child changes, offsets and validity stay. */
static sl_status with_child(const sl_array *a, const sl_type *to, sl_array *child, sl_array **out)
{
    return sl_array_new(to, a->length, a->null_count, shared(a->validity_buffer), NULL,
                        shared(a->offsets_buffer), &child, 1, NULL, out);
}

static sl_status cast_list(const sl_array *a, const sl_type *to, int64_t *bad_row, sl_array **out)
{
    sl_array *child;
    int64_t bad_element = -1;
    sl_status status = array_field_cast(a->children[0], &to->fields[0], NULL, &bad_element, &child);
    if (status != SL_OK) {
        if (bad_element >= 0)
            *bad_row = row_of_element(a, bad_element);
        return sl_context(status, "element");
    }
    return with_child(a, to, child, out);
}

static sl_status map_entries_cast(const sl_array *entries, const sl_type *to, int64_t *bad_row,
                                  sl_array **out)
{
    static const char *const names[] = {"key", "value"};
    sl_array *children[2] = {NULL, NULL};
    for (size_t i = 0; i < 2; i++) {
        sl_status status =
            array_field_cast(entries->children[i], &to->fields[i], entries->validity, bad_row, &children[i]);
        if (status != SL_OK) {
            sl_array_unref(children[0]);
            return sl_context(status, "%s", names[i]);
        }
    }
    return sl_array_new(to, entries->length, entries->null_count, shared(entries->validity_buffer), NULL,
                        NULL, children, 2, NULL, out);
}

static sl_status cast_map(const sl_array *a, const sl_type *to, int64_t *bad_row, sl_array **out)
{
    sl_array *entries;
    int64_t bad_entry = -1;
    sl_status status = map_entries_cast(a->children[0], to->fields[0].type, &bad_entry, &entries);
    if (status != SL_OK) {
        if (bad_entry >= 0)
            *bad_row = row_of_element(a, bad_entry);
        return status;
    }
    return with_child(a, to, entries, out);
}

/* ---- any array ----------------------------------------------------------------------------------------- */

static sl_status array_cast_decoded(sl_array *a, const sl_type *to, enum cast_kind kind, int64_t *bad_row,
                                    sl_array **out)
{
    switch (kind) {
    case CAST_SAME:
        *out = sl_array_ref(a);
        return SL_OK;
    case CAST_RETYPE:
        return retype(a, to, out);
    case CAST_UTF8:
        return cast_to_utf8(a, to, bad_row, out);
    case CAST_ENUM:
        return cast_to_enum(a, to, bad_row, out);
    case CAST_INTEGER:
        return cast_integers(a, to, bad_row, out);
    case CAST_FLOATING:
        return cast_to_floating(a, to, out);
    case CAST_INT_DECIMAL:
    case CAST_DECIMAL:
        return cast_to_decimal(a, to, bad_row, out);
    case CAST_TIME:
        return cast_time(a, to, bad_row, out);
    case CAST_TEXT:
        return cast_to_text(a, to, out);
    case CAST_FIXED_BINARY:
        return cast_fixed_to_binary(a, to, out);
    case CAST_BINARY_FIXED:
        return cast_binary_to_fixed(a, to, bad_row, out);
    case CAST_NULL:
        return sl_array_nulls(to, a->length, out);
    case CAST_STRUCT:
        return cast_struct(a, to, bad_row, out);
    case CAST_LIST:
        return cast_list(a, to, bad_row, out);
    case CAST_MAP:
        return cast_map(a, to, bad_row, out);
    case CAST_NONE:
        break;
    }
    return cast_refused(a->type, to);
}

sl_status array_cast(sl_array *array, const sl_type *to, int64_t *bad_row, sl_array **out)
{
    enum cast_kind kind = cast_kind_of(array->type, to);
    if (!array->dictionary || kind == CAST_SAME || kind == CAST_NONE)
        return array_cast_decoded(array, to, kind, bad_row, out);
    if (dictionary_may_stay(kind, to))
        return cast_dictionary(array, to, bad_row, out);
    sl_array *decoded;
    SL_TRY(sl_array_decode_dictionary(array, &decoded));
    sl_status status = array_cast_decoded(decoded, to, kind, bad_row, out);
    sl_array_unref(decoded);
    return status;
}

sl_status sl_cast(sl_array *array, const sl_type *to, sl_array **out)
{
    int64_t bad_row = -1;
    sl_status status = array_cast(array, to, &bad_row, out);
    return bad_row < 0 ? status : sl_context(status, "row %" PRId64, bad_row);
}
