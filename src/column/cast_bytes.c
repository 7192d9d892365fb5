/* Casts to strings, and between strings, binaries and fixed ones. */
#include "column/cast_int.h"
#include "column/column_int.h"
#include "column/text_int.h"

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
sl_status cast_to_text(const sl_array *a, const sl_type *to, sl_array **out)
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

sl_status cast_to_utf8(const sl_array *a, const sl_type *to, sl_array **out)
{
    for (int64_t i = 0; i < a->length; i++) {
        size_t len;
        if (!sl_is_valid(a, i))
            continue;
        const uint8_t *data = sl_bytes_at(a, i, &len);
        size_t valid = sl_utf8_valid_prefix(data, len);
        if (valid != len)
            return sl_at_row(
                sl_input("byte %zu of the value is not valid UTF-8 and it cannot become a string", valid), i);
    }
    return cast_retype(a, to, out);
}

static bool symbol_known(const sl_strings *symbols, const uint8_t *data, size_t len)
{
    for (size_t i = 0; i < symbols->count; i++)
        if (strlen(symbols->items[i]) == len && memcmp(symbols->items[i], data, len) == 0)
            return true;
    return false;
}

sl_status cast_to_enum(const sl_array *a, const sl_type *to, sl_array **out)
{
    for (int64_t i = 0; i < a->length; i++) {
        size_t len;
        if (!sl_is_valid(a, i))
            continue;
        const uint8_t *data = sl_bytes_at(a, i, &len);
        if (!symbol_known(to->symbols, data, len))
            return cast_does_not_fit(a, i, to);
    }
    return cast_retype(a, to, out);
}

sl_status cast_fixed_to_binary(const sl_array *a, const sl_type *to, sl_array **out)
{
    sl_buffer *offsets;
    size_t bytes;
    if (sl_mul_overflows((size_t)a->length, (size_t)a->type->width, &bytes) || bytes > INT32_MAX)
        return sl_input("%" PRId64 " values of %d bytes are too many for one array", a->length,
                        a->type->width);
    SL_TRY(cast_values_new(a->length + 1, 4, &offsets));
    for (int64_t i = 0; i <= a->length; i++)
        store_le32(sl_buffer_data(offsets) + i * 4, (uint32_t)(i * a->type->width));
    return sl_array_new(to, a->length, a->null_count, cast_shared(a->validity_buffer),
                        cast_shared(a->values_buffer), offsets, NULL, 0, NULL, out);
}

sl_status cast_binary_to_fixed(const sl_array *a, const sl_type *to, sl_array **out)
{
    size_t width = (size_t)to->width, len;
    sl_buffer *values;
    SL_TRY(cast_values_new(a->length, width, &values));
    uint8_t *p = sl_buffer_data(values);
    for (int64_t i = 0; i < a->length; i++, p += width) {
        if (!sl_is_valid(a, i)) {
            memset(p, 0, width);
            continue;
        }
        const uint8_t *data = sl_bytes_at(a, i, &len);
        if (len != width) {
            sl_buffer_unref(values);
            return sl_at_row(sl_input("%zu bytes where the type has %zu", len, width), i);
        }
        memcpy(p, data, width);
    }
    return cast_with_values(a, to, values, out);
}
