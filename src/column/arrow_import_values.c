/* Arrow arrays of numbers, bits and texts as ours: the buffers shared, or converted where the layouts differ. */
#include "column/arrow_import_int.h"

/* ---- validity ------------------------------------------------------------------------------------------ */

/* Bits [from, from + count) as a bitmap that starts at 0. */
static sl_status bits_import(const struct arrow_slice *s, const uint8_t *bits, sl_buffer **out)
{
    size_t bytes = bitmap_bytes(s->count);
    if (s->from % 8 == 0)
        return arrow_buffer_share(s, bits + s->from / 8, bytes, out);
    SL_TRY(sl_buffer_new(bytes, out));
    memset(sl_buffer_data(*out), 0, bytes);
    column_bits_copy(sl_buffer_data(*out), 0, bits, s->from, s->count);
    return SL_OK;
}

sl_status arrow_validity_import(const struct arrow_slice *s, int64_t *null_count, sl_buffer **out)
{
    const uint8_t *bits = arrow_buffers_of(s->format.layout) > 0 ? arrow_buffer(s, 0) : NULL;
    *out = NULL;
    *null_count = 0;
    if (!bits || s->count == 0)
        return SL_OK;
    *null_count = s->count - column_bits_count(bits, s->from, s->count); /* the array's own count may be -1 */
    return *null_count ? bits_import(s, bits, out) : SL_OK;
}

/* ---- values -------------------------------------------------------------------------------------------- */

static sl_status values_import(const struct arrow_slice *s, sl_buffer **out)
{
    size_t bytes;
    if (s->count == 0)
        return sl_buffer_new(0, out);
    if (sl_mul_overflows((size_t)(s->from + s->count), s->format.bytes, &bytes))
        return sl_input("an Arrow array of %" PRId64 " rows", s->count);
    return arrow_buffer_share(s, arrow_buffer(s, 1) + (size_t)s->from * s->format.bytes,
                              (size_t)s->count * s->format.bytes, out);
}

static int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* One value of a layout that we do not have, as the int64 of ours; false when it does not fit. */
static bool value_convert(enum arrow_layout layout, const uint8_t *p, int64_t *out)
{
    switch (layout) {
    case ARROW_DATE64:
        *out = floor_divide((int64_t)load_le64(p), 86400000);
        return *out >= INT32_MIN && *out <= INT32_MAX;
    case ARROW_TIME_S:
        return !sl_mul_overflows_i64((int32_t)load_le32(p), 1000, out) && *out >= INT32_MIN &&
               *out <= INT32_MAX;
    default:
        return !sl_mul_overflows_i64((int64_t)load_le64(p), 1000, out);
    }
}

static sl_status values_convert(const struct arrow_slice *s, const sl_type *type, const sl_buffer *validity,
                                sl_buffer **out)
{
    size_t width = sl_type_value_bytes(type), bytes;
    if (sl_mul_overflows((size_t)s->count, width, &bytes))
        return sl_nomem();
    SL_TRY(sl_buffer_new(bytes, out));
    for (int64_t i = 0; i < s->count; i++) {
        uint8_t little[8];
        int64_t value = 0;
        if (!validity || bit_get(sl_buffer_data(validity), i)) {
            const uint8_t *p = arrow_buffer(s, 1) + (size_t)(s->from + i) * s->format.bytes;
            if (!value_convert(s->format.layout, p, &value)) {
                sl_buffer_unref(*out);
                return sl_at_row(sl_input("the time is out of range"), i);
            }
        }
        store_le64(little, (uint64_t)value);
        memcpy(sl_buffer_data(*out) + (size_t)i * width, little, width);
    }
    return SL_OK;
}

/* Decimals of 4, 8 or 32 bytes; of the widest the upper half must only repeat the sign. */
static bool decimal_convert(const uint8_t *p, uint32_t bytes, sl_i128 *out)
{
    if (bytes == 4)
        *out = (int32_t)load_le32(p);
    else if (bytes == 8)
        *out = (int64_t)load_le64(p);
    else
        memcpy(out, p, 16);
    if (bytes != 32)
        return true;
    uint64_t sign = *out < 0 ? UINT64_MAX : 0;
    return load_le64(p + 16) == sign && load_le64(p + 24) == sign;
}

static sl_status decimals_convert(const struct arrow_slice *s, const sl_buffer *validity, sl_buffer **out)
{
    size_t bytes;
    if (sl_mul_overflows((size_t)s->count, 16, &bytes))
        return sl_nomem();
    SL_TRY(sl_buffer_new(bytes, out));
    for (int64_t i = 0; i < s->count; i++) {
        sl_i128 value = 0;
        if (!validity || bit_get(sl_buffer_data(validity), i)) {
            const uint8_t *p = arrow_buffer(s, 1) + (size_t)(s->from + i) * s->format.bytes;
            if (!decimal_convert(p, s->format.bytes, &value)) {
                sl_buffer_unref(*out);
                return sl_at_row(sl_input("the decimal has more than 38 digits"), i);
            }
        }
        memcpy(sl_buffer_data(*out) + i * 16, &value, 16);
    }
    return SL_OK;
}

sl_status arrow_fixed_width_import(const struct arrow_slice *s, const sl_type *type, sl_array **out)
{
    sl_buffer *validity, *values = NULL;
    int64_t nulls;
    SL_TRY(arrow_validity_import(s, &nulls, &validity));
    sl_status status;
    switch (s->format.layout) {
    case ARROW_BOOL:
        status = s->count ? bits_import(s, arrow_buffer(s, 1), &values) : sl_buffer_new(0, &values);
        break;
    case ARROW_VALUES:
        status = values_import(s, &values);
        break;
    case ARROW_DECIMAL_N:
        status = decimals_convert(s, validity, &values);
        break;
    default:
        status = values_convert(s, type, validity, &values);
        break;
    }
    if (status != SL_OK) {
        sl_buffer_unref(validity);
        return status;
    }
    return sl_array_new(type, s->count, nulls, validity, values, NULL, NULL, 0, NULL, out);
}

/* ---- offsets ------------------------------------------------------------------------------------------- */

static int64_t arrow_offset(const struct arrow_slice *s, bool large, int64_t i)
{
    const uint8_t *p = arrow_buffer(s, 1);
    return large ? (int64_t)load_le64(p + i * 8) : (int32_t)load_le32(p + i * 4);
}

sl_status arrow_offsets_import(const struct arrow_slice *s, bool large, sl_buffer **out, int64_t *first,
                               int64_t *end)
{
    size_t bytes;
    *first = *end = s->count ? arrow_offset(s, large, s->from) : 0;
    if (*first < 0)
        return sl_input("an Arrow array with a negative offset");
    if (sl_mul_overflows((size_t)s->count + 1, 4, &bytes))
        return sl_nomem();
    SL_TRY(sl_buffer_new(bytes, out));
    uint8_t *offsets = sl_buffer_data(*out);
    store_le32(offsets, 0);
    for (int64_t i = 1; i <= s->count; i++) {
        int64_t next = arrow_offset(s, large, s->from + i);
        if (next < *end || next - *first > INT32_MAX) {
            sl_buffer_unref(*out);
            return next < *end
                       ? sl_at_row(sl_input("the Arrow array's offsets run backwards"), i - 1)
                       : sl_input("an Arrow array with more than %d bytes or elements: split it", INT32_MAX);
        }
        *end = next;
        store_le32(offsets + i * 4, (uint32_t)(next - *first));
    }
    return SL_OK;
}

/* When all the bytes together are UTF-8 and no value begins within a character, each value is; else one by
 * one, since what null rows hold may be anything. */
static sl_status utf8_check(const sl_array *a)
{
    size_t total = (size_t)a->offsets[a->length];
    bool clean = sl_utf8_valid_prefix(a->values, total) == total;
    for (int64_t i = 0; clean && i < a->length; i++)
        clean = (size_t)a->offsets[i] == total || (a->values[a->offsets[i]] & 0xc0) != 0x80;
    for (int64_t i = 0; !clean && i < a->length; i++) {
        size_t len = (size_t)(a->offsets[i + 1] - a->offsets[i]);
        if (sl_is_valid(a, i) && sl_utf8_valid_prefix(a->values + a->offsets[i], len) != len)
            return sl_at_row(sl_input("the string is not valid UTF-8"), i);
    }
    return SL_OK;
}

/* Takes the buffers over. */
static sl_status text_array(const struct arrow_slice *s, const sl_type *type, int64_t nulls,
                            sl_buffer *validity, sl_buffer *offsets, sl_buffer *values, sl_array **out)
{
    sl_array *array;
    SL_TRY(sl_array_new(type, s->count, nulls, validity, values, offsets, NULL, 0, NULL, &array));
    sl_status status = type->id == SL_STRING ? utf8_check(array) : SL_OK;
    if (status == SL_OK)
        *out = array;
    else
        sl_array_unref(array);
    return status;
}

sl_status arrow_text_import(const struct arrow_slice *s, const sl_type *type, sl_array **out)
{
    sl_buffer *validity = NULL, *offsets = NULL, *values = NULL;
    int64_t nulls, first, end;
    SL_TRY(arrow_validity_import(s, &nulls, &validity));
    sl_status status = arrow_offsets_import(s, s->format.layout == ARROW_LARGE_TEXT, &offsets, &first, &end);
    if (status == SL_OK && end > first && !arrow_buffer(s, 2))
        status = sl_input("an Arrow array of format '%s' without its buffer 2", s->schema->format);
    else if (status == SL_OK)
        status = end > first
                     ? arrow_buffer_share(s, arrow_buffer(s, 2) + first, (size_t)(end - first), &values)
                     : sl_buffer_new(0, &values);
    else
        offsets = NULL; /* freed by its maker */
    if (status != SL_OK) {
        sl_buffer_unref(validity);
        sl_buffer_unref(offsets);
        return status;
    }
    return text_array(s, type, nulls, validity, offsets, values, out);
}

sl_status arrow_view_texts_import(const struct arrow_slice *s, const sl_type *type, sl_array **out)
{
    sl_buffer *validity, *offsets, *values;
    int64_t nulls;
    SL_TRY(arrow_validity_import(s, &nulls, &validity));
    sl_status status = arrow_views_decode(s->array, s->from, s->count, validity, &offsets, &values);
    if (status != SL_OK) {
        sl_buffer_unref(validity);
        return status;
    }
    return text_array(s, type, nulls, validity, offsets, values, out);
}
