/*
 * Columns of one type to columns of another, for inputs that bring types of their own (Parquet, Avro, Arrow).
 * What sl_cast knows is left to it. Here is what only makes sense at the door: times of day as numbers, UUIDs
 * as text, nanoseconds cut; and nested columns that have such a thing inside.
 */
#include "write/input_int.h"

/* ---- which conversions there are ----------------------------------------------------------------------- */

enum conversion {
    CONVERT_NOT,
    CONVERT_CAST,      /* sl_cast */
    CONVERT_TIME_LONG, /* microseconds since midnight */
    CONVERT_CUT,       /* nanoseconds to a coarser unit, what is left over cut */
    CONVERT_UUID_TEXT,
    CONVERT_NESTED,
};

static enum conversion conversion_between(const sl_type *from, const sl_type *to,
                                          const struct sl_input_options *options)
{
    bool same_kind = from->id == to->id;
    if (from->id == SL_TIME && to->id == SL_INT64)
        return CONVERT_TIME_LONG;
    if (from->id == SL_FIXED && from->width == 16 && from->annotation == SL_UUID && to->id == SL_STRING)
        return CONVERT_UUID_TEXT;
    if (same_kind && (from->id == SL_TIME || (from->id == SL_TIMESTAMP && from->utc == to->utc)) &&
        options->cut_nanos && from->unit == SL_NANOS && to->unit != SL_NANOS)
        return CONVERT_CUT;
    if (same_kind && sl_type_is_nested(from) && !sl_type_equal(from, to))
        return CONVERT_NESTED;
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
    enum conversion how = conversion_between(from, to, options);
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

static int64_t units_per_second(enum sl_time_unit unit)
{
    static const int64_t per_second[] = {1000, 1000000, 1000000000};
    return per_second[unit];
}

/* The value in another unit: times `up`, or by `down`, exactly or, when `cut`, toward the past. */
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

static sl_status unit_failure(const sl_array *a, int64_t row, sl_status why)
{
    sl_buf text = {0};
    if (sl_status_ignore(sl_value_text(a, row, SL_TEXT_PLAIN, &text)))
        text.len = 0;
    sl_status status =
        sl_input("%.*s %s", (int)text.len, text.data ? (const char *)text.data : "", sl_status_message(why));
    sl_status_free(why);
    sl_buf_free(&text);
    return sl_at_row(status, row);
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
            return unit_failure(a, i, status);
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

/* Null where the field forbids it, other than under a null parent. */
static sl_status check_required(const sl_array *child, const sl_field *field, const sl_array *parent)
{
    for (int64_t i = 0; !field->nullable && child->null_count != 0 && i < child->length; i++)
        if (!sl_is_valid(child, i) && (!parent || sl_is_valid(parent, i)))
            return sl_at_row(sl_input("no value in field `%s`, which must have one", field->name), i);
    return SL_OK;
}

static sl_status convert_member(const sl_array *structure, const sl_field *field,
                                const struct sl_input_options *options, sl_array **out)
{
    int source = sl_type_field_index(structure->type, field->name);
    if (source < 0)
        return sl_array_nulls(field->type, structure->length, out);
    return sl_context(input_convert(structure->children[source], field->type, options, out), "field `%s`",
                      field->name);
}

/* Members of a struct by name; of a map's entries by position, as files name them in many ways. */
static sl_status convert_members(const sl_array *structure, const sl_type *to, bool by_position,
                                 const struct sl_input_options *options, sl_array **out)
{
    size_t count = to->field_count;
    sl_array **children;
    SL_NEW_ARRAY(children, count);
    sl_status status = SL_OK;
    for (size_t i = 0; i < count; i++) {
        SL_GO(by_position ? input_convert(structure->children[i], to->fields[i].type, options, &children[i])
                          : convert_member(structure, &to->fields[i], options, &children[i]));
        SL_GO(check_required(children[i], &to->fields[i], structure));
    }
    status = sl_array_new(to, structure->length, structure->null_count,
                          ref_or_null(structure->validity_buffer), NULL, NULL, children, count, NULL, out);
    memset(children, 0, count * sizeof *children); /* they were taken over */
done:
    for (size_t i = 0; i < count; i++)
        sl_array_unref(children[i]);
    sl_free(children);
    return status;
}

static sl_status convert_elements(sl_array *elements, const sl_field *field,
                                  const struct sl_input_options *options, sl_array **out)
{
    sl_array *converted;
    SL_TRY(input_convert(elements, field->type, options, &converted));
    sl_status status = check_required(converted, field, NULL);
    if (status == SL_OK)
        *out = converted;
    else
        sl_array_unref(converted);
    return status;
}

static sl_status convert_nested(sl_array *a, const sl_type *to, const struct sl_input_options *options,
                                sl_array **out)
{
    sl_array *child = NULL;
    if (to->id == SL_STRUCT)
        return convert_members(a, to, false, options, out);
    sl_status status = to->id == SL_LIST
                           ? convert_elements(a->children[0], &to->fields[0], options, &child)
                           : convert_members(a->children[0], to->fields[0].type, true, options, &child);
    if (status != SL_OK)
        return sl_at_row_of_element(status, a);
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
    switch (conversion_between(a->type, to, options)) {
    case CONVERT_NOT:
        return not_convertible(a->type, to);
    case CONVERT_CAST:
        return sl_cast(a, to, out);
    case CONVERT_TIME_LONG:
        return convert_units(a, to, SL_MICROS, options, out);
    case CONVERT_CUT:
        return convert_units(a, to, to->unit, options, out);
    case CONVERT_UUID_TEXT:
        return convert_uuids(a, to, out);
    case CONVERT_NESTED:
        return convert_nested(a, to, options, out);
    }
    return sl_internal("a conversion without code");
}

/* ---- UTF-8 --------------------------------------------------------------------------------------------- */

static sl_status first_that_is_not_utf8(const sl_array *a)
{
    for (int64_t i = 0; i < a->length; i++) {
        size_t len;
        if (!sl_is_valid(a, i))
            continue;
        const uint8_t *text = sl_bytes_at(a, i, &len);
        size_t valid = sl_utf8_valid_prefix(text, len);
        if (valid != len)
            return sl_at_row(sl_input("byte %zu of the string (0x%02x) is not UTF-8", valid, text[valid]), i);
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

/* A failure of an entry of the dictionary as one of the first row that has it. */
static sl_status at_row_with_entry(sl_status status, const sl_array *a)
{
    int64_t entry = sl_status_row(status), row = 0;
    while (row < a->length && (!sl_is_valid(a, row) || sl_i32_at(a, row) != entry))
        row++;
    return sl_at_row(status, row < a->length ? row : -1);
}

sl_status input_check_utf8(const sl_array *a)
{
    if (a->dictionary)
        return at_row_with_entry(input_check_utf8(a->dictionary), a);
    if (a->type->id == SL_STRING)
        return a->length == 0 || strings_are_utf8(a) ? SL_OK : first_that_is_not_utf8(a);
    for (size_t i = 0; i < a->child_count; i++) {
        if (a->type->id == SL_STRUCT)
            SL_TRY_CTX(input_check_utf8(a->children[i]), "field `%s`", a->type->fields[i].name);
        else
            SL_TRY(sl_at_row_of_element(input_check_utf8(a->children[i]), a));
    }
    return SL_OK;
}
