/*
 * Columns of one type to columns of another, for inputs that bring types of their own (Parquet, Avro, Arrow).
 * What sl_cast knows is left to it; here is what only makes sense at the door: types that a table does not
 * have (unsigned numbers, half floats, times, nanoseconds, fixed bytes, UUIDs) on their way to those that it
 * has instead.
 */
#include "write/input_int.h"

/* ---- which conversions there are ----------------------------------------------------------------------- */

enum conversion {
    CONVERT_NOT,
    CONVERT_SAME,
    CONVERT_CAST,    /* sl_cast */
    CONVERT_RELABEL, /* same bytes, other annotation */
    CONVERT_INTEGER, /* any integer to any signed one, when it fits */
    CONVERT_UINT64_DECIMAL,
    CONVERT_HALF,
    CONVERT_TIME_LONG, /* microseconds since midnight */
    CONVERT_TIME_UNIT, /* times and timestamps to another unit */
    CONVERT_FIXED_BINARY,
    CONVERT_UUID_TEXT,
    CONVERT_ALL_NULL,
    CONVERT_NESTED,
};

static bool is_integer(enum sl_type_id id) { return id >= SL_INT8 && id <= SL_UINT64; }

static enum conversion conversion_between(const sl_type *from, const sl_type *to)
{
    if (sl_type_equal(from, to))
        return CONVERT_SAME;
    if (from->id == SL_NULL)
        return CONVERT_ALL_NULL;
    if (from->id == to->id && sl_type_is_nested(from))
        return CONVERT_NESTED;
    if (from->id == to->id && (from->id == SL_STRING || from->id == SL_BINARY) && to->annotation != SL_ENUM)
        return CONVERT_RELABEL;
    if (is_integer(from->id) && to->id >= SL_INT8 && to->id <= SL_INT64)
        return CONVERT_INTEGER;
    if (from->id == SL_UINT64 && to->id == SL_DECIMAL && to->scale == 0 && to->precision >= 20)
        return CONVERT_UINT64_DECIMAL;
    if (from->id == SL_HALF && to->id == SL_FLOAT)
        return CONVERT_HALF;
    if (from->id == SL_TIME && to->id == SL_INT64)
        return CONVERT_TIME_LONG;
    if (from->id == to->id && (from->id == SL_TIME || (from->id == SL_TIMESTAMP && from->utc == to->utc)))
        return CONVERT_TIME_UNIT;
    if (from->id == SL_FIXED && to->id == SL_BINARY)
        return CONVERT_FIXED_BINARY;
    if (from->id == SL_FIXED && from->width == 16 && from->annotation == SL_UUID && to->id == SL_STRING)
        return CONVERT_UUID_TEXT;
    return sl_cast_possible(from, to) ? CONVERT_CAST : CONVERT_NOT;
}

static sl_status not_convertible(const sl_type *from, const sl_type *to)
{
    char *have = NULL, *want = NULL;
    sl_status status;
    SL_GO(sl_type_text(from, &have));
    SL_GO(sl_type_text(to, &want));
    status = sl_input("type %s cannot become %s", have, want);
done:
    sl_free(have);
    sl_free(want);
    return status;
}

static sl_status struct_convertible(const sl_type *from, const sl_type *to,
                                    const struct sl_input_options *options)
{
    for (size_t i = 0; i < to->field_count; i++) {
        int source = sl_type_field_index(from, to->fields[i].name);
        if (source >= 0)
            SL_TRY_CTX(input_convertible(from->fields[source].type, to->fields[i].type, options),
                       "field `%s`", to->fields[i].name);
        else if (!to->fields[i].nullable)
            return sl_input("no field `%s`, which must have a value", to->fields[i].name);
    }
    for (size_t i = 0; options->extra == SL_EXTRA_REFUSE && i < from->field_count; i++)
        if (sl_type_field_index(to, from->fields[i].name) < 0)
            return input_unknown_column(to, from->fields[i].name, strlen(from->fields[i].name));
    return SL_OK;
}

sl_status input_convertible(const sl_type *from, const sl_type *to, const struct sl_input_options *options)
{
    enum conversion how = conversion_between(from, to);
    if (how == CONVERT_NOT)
        return not_convertible(from, to);
    if (how != CONVERT_NESTED)
        return SL_OK;
    if (from->id == SL_STRUCT)
        return struct_convertible(from, to, options);
    if (from->id == SL_LIST)
        return input_convertible(from->fields[0].type, to->fields[0].type, options);
    const sl_type *have = from->fields[0].type,
                  *want = to->fields[0].type; /* entries: key and value by position */
    SL_TRY(input_convertible(have->fields[0].type, want->fields[0].type, options));
    return input_convertible(have->fields[1].type, want->fields[1].type, options);
}

/* ---- values -------------------------------------------------------------------------------------------- */

static sl_buffer *ref_or_null(sl_buffer *buffer) { return buffer ? sl_buffer_ref(buffer) : NULL; }

/* An array with the nulls of `like`, `values` (one reference taken over) and `offsets` (likewise). */
static sl_status array_like(const sl_array *like, const sl_type *type, sl_buffer *values, sl_buffer *offsets,
                            sl_array **out)
{
    return sl_array_new(type, like->length, like->null_count, ref_or_null(like->validity_buffer), values,
                        offsets, NULL, 0, NULL, out);
}

static sl_status integer_bounds_of(enum sl_type_id id, int64_t *low, int64_t *high)
{
    static const int64_t lows[] = {INT8_MIN, INT16_MIN, INT32_MIN, INT64_MIN};
    static const int64_t highs[] = {INT8_MAX, INT16_MAX, INT32_MAX, INT64_MAX};
    if (id < SL_INT8 || id > SL_INT64)
        return sl_internal("type %d is not a signed integer", (int)id);
    *low = lows[id - SL_INT8];
    *high = highs[id - SL_INT8];
    return SL_OK;
}

/* Little endian: the low bytes are the value. */
static void put_integer(uint8_t *values, size_t width, int64_t row, int64_t value)
{
    memcpy(values + (size_t)row * width, &value, width);
}

static sl_status new_values(const sl_array *array, size_t width, sl_buffer **out)
{
    size_t bytes;
    if (sl_mul_overflows((size_t)array->length, width, &bytes))
        return sl_nomem();
    SL_TRY(sl_buffer_new(bytes, out));
    if (bytes > 0)
        memset(sl_buffer_data(*out), 0, bytes); /* null slots */
    return SL_OK;
}

static sl_status convert_integers(const sl_array *a, const sl_type *to, sl_array **out)
{
    int64_t low = 0, high = 0;
    sl_buffer *values;
    size_t width = sl_type_value_bytes(to);
    SL_TRY(integer_bounds_of(to->id, &low, &high));
    SL_TRY(new_values(a, width, &values));
    uint8_t *data = sl_buffer_data(values);
    bool is_unsigned = a->type->id == SL_UINT64;
    for (int64_t i = 0; i < a->length; i++) {
        if (!sl_is_valid(a, i))
            continue;
        int64_t value = is_unsigned ? sl_i64_at(a, i) : sl_integer_at(a, i);
        if (SL_UNLIKELY(value < low || value > high || (is_unsigned && value < 0))) {
            sl_buffer_unref(values);
            return is_unsigned ? sl_input("row %" PRId64 ": %" PRIu64 " is out of range", i, (uint64_t)value)
                               : sl_input("row %" PRId64 ": %" PRId64 " is out of range", i, value);
        }
        put_integer(data, width, i, value);
    }
    return array_like(a, to, values, NULL, out);
}

static sl_status convert_uint64(const sl_array *a, const sl_type *to, sl_array **out)
{
    sl_buffer *values;
    SL_TRY(new_values(a, 16, &values));
    for (int64_t i = 0; i < a->length; i++) /* the upper half stays zero */
        memcpy(sl_buffer_data(values) + i * 16, a->values + i * 8, 8);
    return array_like(a, to, values, NULL, out);
}

/* IEEE binary16: sign, 5 bits of exponent with bias 15, 10 bits of fraction. Every value is a float exactly.
 */
static uint32_t float_bits_of_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half >> 15) << 31, exponent = (half >> 10) & 31, fraction = half & 0x3ff;
    if (exponent == 31) /* infinities and NaN */
        return sign | 0x7f800000u | fraction << 13;
    if (exponent > 0)
        return sign | (exponent + 112) << 23 | fraction << 13;
    if (fraction == 0)
        return sign;
    exponent = 113; /* subnormal: fraction * 2^-24; shift until the leading bit is the hidden one */
    while (!(fraction & 0x400)) {
        fraction <<= 1;
        exponent--;
    }
    return sign | exponent << 23 | (fraction & 0x3ff) << 13;
}

static sl_status convert_halfs(const sl_array *a, const sl_type *to, sl_array **out)
{
    sl_buffer *values;
    SL_TRY(new_values(a, 4, &values));
    for (int64_t i = 0; i < a->length; i++)
        store_le32(sl_buffer_data(values) + i * 4, float_bits_of_half(load_le16(a->values + i * 2)));
    return array_like(a, to, values, NULL, out);
}

static int64_t units_per_second(enum sl_time_unit unit)
{
    static const int64_t per_second[] = {1000, 1000000, 1000000000};
    return per_second[unit];
}

/* The value in another unit. Finer: times `up`. Coarser: by `down`, exactly or, when `cut`, toward the past.
 */
static sl_status change_unit(int64_t value, int64_t up, int64_t down, bool cut, int64_t *out)
{
    if (sl_mul_overflows_i64(value, up, &value))
        return sl_input("is out of the range of the type");
    int64_t rest = value % down;
    if (rest != 0 && !cut)
        return sl_input("has more digits in its fraction than the type keeps");
    *out = value / down - (rest < 0);
    return SL_OK;
}

static sl_status unit_failure(const sl_array *a, int64_t row, sl_status why,
                              const struct sl_input_options *options)
{
    (void)options;
    sl_buf text = {0};
    if (sl_status_ignore(sl_value_text(a, row, SL_TEXT_PLAIN, &text)))
        text.len = 0;
    sl_status status = sl_input("row %" PRId64 ": %.*s %s", row, (int)text.len,
                                text.data ? (const char *)text.data : "", sl_status_message(why));
    sl_status_free(why);
    sl_buf_free(&text);
    return status;
}

static sl_status convert_units(const sl_array *a, const sl_type *to, enum sl_time_unit unit,
                               const struct sl_input_options *options, sl_array **out)
{
    int64_t from_units = units_per_second(a->type->unit), to_units = units_per_second(unit);
    int64_t up = to_units > from_units ? to_units / from_units : 1;
    int64_t down = from_units > to_units ? from_units / to_units : 1;
    bool cut = options->cut_nanos && a->type->unit == SL_NANOS;
    size_t width = sl_type_value_bytes(to);
    sl_buffer *values;
    SL_TRY(new_values(a, width, &values));
    for (int64_t i = 0; i < a->length; i++) {
        int64_t value = 0;
        if (!sl_is_valid(a, i))
            continue;
        sl_status status = change_unit(sl_integer_at(a, i), up, down, cut, &value);
        if (SL_UNLIKELY(status != SL_OK)) {
            sl_buffer_unref(values);
            return unit_failure(a, i, status, options);
        }
        put_integer(sl_buffer_data(values), width, i, value);
    }
    return array_like(a, to, values, NULL, out);
}

/* Offsets of texts that all have `width` bytes; a null has none of its own but keeps its place. */
static sl_status even_offsets(int64_t rows, size_t width, sl_buffer **out)
{
    size_t bytes;
    if (sl_mul_overflows((size_t)rows, width, &bytes) || bytes > INT32_MAX)
        return sl_input("a column of more than 2 GiB in one batch");
    SL_TRY(sl_buffer_new(((size_t)rows + 1) * 4, out));
    for (int64_t i = 0; i <= rows; i++)
        store_le32(sl_buffer_data(*out) + i * 4, (uint32_t)((size_t)i * width));
    return SL_OK;
}

static sl_status convert_fixed(const sl_array *a, const sl_type *to, sl_array **out)
{
    sl_buffer *offsets;
    SL_TRY(even_offsets(a->length, (size_t)a->type->width, &offsets));
    return array_like(a, to, ref_or_null(a->values_buffer), offsets, out);
}

static void put_uuid(const uint8_t *uuid, uint8_t *text)
{
    static const char hex[] = "0123456789abcdef";
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *text++ = '-';
        *text++ = (uint8_t)hex[uuid[i] >> 4];
        *text++ = (uint8_t)hex[uuid[i] & 15];
    }
}

static sl_status convert_uuids(const sl_array *a, const sl_type *to, sl_array **out)
{
    sl_buffer *offsets, *values;
    SL_TRY(even_offsets(a->length, 36, &offsets));
    sl_status status = new_values(a, 36, &values);
    if (status != SL_OK) {
        sl_buffer_unref(offsets);
        return status;
    }
    for (int64_t i = 0; i < a->length; i++)
        put_uuid(a->values + i * 16, sl_buffer_data(values) + i * 36);
    return array_like(a, to, values, offsets, out);
}

/* ---- nested -------------------------------------------------------------------------------------------- */

static sl_status convert_member(const sl_array *structure, const sl_field *field,
                                const struct sl_input_options *options, sl_array **out)
{
    int source = sl_type_field_index(structure->type, field->name);
    if (source < 0)
        return sl_array_nulls(field->type, structure->length, out);
    SL_TRY_CTX(input_convert(structure->children[source], field->type, options, out), "field `%s`",
               field->name);
    return SL_OK;
}

/* Members of a struct by name; of a map's entries by position, as files name them in many ways. */
static sl_status convert_members(const sl_array *structure, const sl_type *to, bool by_position,
                                 const struct sl_input_options *options, sl_array **out)
{
    size_t count = to->field_count;
    sl_array **children;
    SL_NEW_ARRAY(children, count);
    sl_status status = SL_OK;
    for (size_t i = 0; i < count; i++)
        SL_GO(by_position ? input_convert(structure->children[i], to->fields[i].type, options, &children[i])
                          : convert_member(structure, &to->fields[i], options, &children[i]));
    status = sl_array_new(to, structure->length, structure->null_count,
                          ref_or_null(structure->validity_buffer), NULL, NULL, children, count, NULL, out);
    memset(children, 0, count * sizeof *children); /* they were taken over */
done:
    for (size_t i = 0; i < count; i++)
        sl_array_unref(children[i]);
    sl_free(children);
    return status;
}

static sl_status convert_nested(sl_array *a, const sl_type *to, const struct sl_input_options *options,
                                sl_array **out)
{
    sl_array *child;
    if (to->id == SL_STRUCT)
        return convert_members(a, to, false, options, out);
    if (to->id == SL_LIST)
        SL_TRY(input_convert(a->children[0], to->fields[0].type, options, &child));
    else
        SL_TRY(convert_members(a->children[0], to->fields[0].type, true, options, &child));
    return sl_array_new(to, a->length, a->null_count, ref_or_null(a->validity_buffer), NULL,
                        ref_or_null(a->offsets_buffer), &child, 1, NULL, out);
}

sl_status input_convert(sl_array *a, const sl_type *to, const struct sl_input_options *options,
                        sl_array **out)
{
    if (a->dictionary) {
        sl_array *plain;
        SL_TRY(sl_array_decode_dictionary(a, &plain));
        sl_status status = input_convert(plain, to, options, out);
        sl_array_unref(plain);
        return status;
    }
    switch (conversion_between(a->type, to)) {
    case CONVERT_NOT:
        return not_convertible(a->type, to);
    case CONVERT_SAME:
        *out = sl_array_ref(a);
        return SL_OK;
    case CONVERT_CAST:
        return sl_cast(a, to, out);
    case CONVERT_RELABEL:
        return array_like(a, to, ref_or_null(a->values_buffer), ref_or_null(a->offsets_buffer), out);
    case CONVERT_INTEGER:
        return convert_integers(a, to, out);
    case CONVERT_UINT64_DECIMAL:
        return convert_uint64(a, to, out);
    case CONVERT_HALF:
        return convert_halfs(a, to, out);
    case CONVERT_TIME_LONG:
        return convert_units(a, to, SL_MICROS, options, out);
    case CONVERT_TIME_UNIT:
        return convert_units(a, to, to->unit, options, out);
    case CONVERT_FIXED_BINARY:
        return convert_fixed(a, to, out);
    case CONVERT_UUID_TEXT:
        return convert_uuids(a, to, out);
    case CONVERT_ALL_NULL:
        return sl_array_nulls(to, a->length, out);
    case CONVERT_NESTED:
        return convert_nested(a, to, options, out);
    }
    return sl_internal("a conversion without code");
}

/* ---- UTF-8
 * --------------------------------------------------------------------------------------------------- */

static sl_status bad_row(const sl_array *a)
{
    for (int64_t i = 0; i < a->length; i++) {
        size_t len;
        if (!sl_is_valid(a, i))
            continue;
        const uint8_t *text = sl_bytes_at(a, i, &len);
        size_t valid = sl_utf8_valid_prefix(text, len);
        if (valid != len)
            return sl_input("row %" PRId64 ": byte %zu of the string (0x%02x) is not UTF-8", i, valid,
                            text[valid]);
    }
    return SL_OK; /* only the bytes of nulls are bad, and nobody reads them */
}

/* All strings at once: the whole of their bytes is UTF-8 and no string begins inside a character. */
static bool strings_are_utf8(const sl_array *a)
{
    int32_t first = a->offsets[0], last = a->offsets[a->length];
    size_t len = (size_t)(last - first);
    if (len == 0)
        return true;
    if (sl_utf8_valid_prefix(a->values + first, len) != len)
        return false;
    for (int64_t i = 1; i < a->length; i++)
        if (a->offsets[i] < last && (a->values[a->offsets[i]] & 0xc0) == 0x80)
            return false;
    return true;
}

sl_status input_check_utf8(const sl_array *a)
{
    if (a->dictionary)
        return input_check_utf8(a->dictionary);
    if (a->type->id == SL_STRING)
        return a->length == 0 || strings_are_utf8(a) ? SL_OK : bad_row(a);
    for (size_t i = 0; i < a->child_count; i++) {
        if (a->type->id == SL_STRUCT)
            SL_TRY_CTX(input_check_utf8(a->children[i]), "field `%s`", a->type->fields[i].name);
        else
            SL_TRY(input_check_utf8(a->children[i]));
    }
    return SL_OK;
}
