/*
 * Casts between numbers, decimals and times. Integers pass through blocks of int64, so that the loops are written once and
 * not for every pair of widths.
 */
#include "column/cast_int.h"
#include "column/column_int.h"
#include "column/text_int.h"

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

sl_status cast_integers(const sl_array *a, const sl_type *to, sl_array **out)
{
    int64_t block[BLOCK], low, high;
    size_t width = sl_type_value_bytes(to);
    sl_buffer *values;
    cast_bounds(a->type, to, &low, &high);
    SL_TRY(cast_values_new(a->length, width, &values));
    for (int64_t from = 0; from < a->length; from += BLOCK) {
        int64_t n = a->length - from < BLOCK ? a->length - from : BLOCK;
        integers_load(a, from, n, block);
        int64_t bad = outside(a, from, n, block, low, high);
        if (bad >= 0) {
            sl_buffer_unref(values);
            return cast_does_not_fit(a, bad, to);
        }
        integers_store(width, sl_buffer_data(values) + (size_t)from * width, n, block);
    }
    return cast_with_values(a, to, values, out);
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

sl_status cast_to_floating(const sl_array *a, const sl_type *to, sl_array **out)
{
    int64_t block[BLOCK];
    bool narrow = to->id == SL_FLOAT;
    size_t width = narrow ? 4 : 8;
    sl_buffer *values;
    SL_TRY(cast_values_new(a->length, width, &values));
    uint8_t *p = sl_buffer_data(values);
    if (a->type->id >= SL_HALF && a->type->id <= SL_DOUBLE) {
        for (int64_t i = 0; i < a->length; i++) {
            double value = floating_source(a, i);
            float narrowed = narrow ? (float)value : 0.0F; /* a half float: exact */
            memcpy(p + (size_t)i * width, narrow ? (void *)&narrowed : (void *)&value, width);
        }
        return cast_with_values(a, to, values, out);
    }
    for (int64_t from = 0; from < a->length; from += BLOCK) {
        int64_t n = a->length - from < BLOCK ? a->length - from : BLOCK;
        integers_load(a, from, n, block);
        integers_to_floating(a->type->id == SL_UINT64, narrow, n, block, p + (size_t)from * width);
    }
    return cast_with_values(a, to, values, out);
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

sl_status cast_to_decimal(const sl_array *a, const sl_type *to, sl_array **out)
{
    bool decimal = a->type->id == SL_DECIMAL, is_unsigned = a->type->id == SL_UINT64;
    int32_t up = to->scale - (decimal ? a->type->scale : 0);
    sl_i128 power = column_pow10(up < 0 ? -up : up), bound = column_pow10(to->precision);
    sl_buffer *values;
    SL_TRY(cast_values_new(a->length, 16, &values));
    uint8_t *p = sl_buffer_data(values);
    for (int64_t i = 0; i < a->length; i++) {
        sl_i128 value = decimal       ? sl_decimal_at(a, i)
                        : is_unsigned ? (sl_i128)(uint64_t)sl_i64_at(a, i)
                                      : sl_integer_at(a, i);
        sl_i128 rescaled = 0;
        if (SL_UNLIKELY(!decimal_rescale(value, up, power, bound, &rescaled)) && sl_is_valid(a, i)) {
            sl_buffer_unref(values);
            return cast_does_not_fit(a, i, to);
        }
        memcpy(p + i * 16, &rescaled, 16);
    }
    return cast_with_values(a, to, values, out);
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

sl_status cast_time(const sl_array *a, const sl_type *to, sl_array **out)
{
    int64_t block[BLOCK], bad = -1;
    int64_t from_units = time_unit_per_second(a->type->unit), to_units = time_unit_per_second(to->unit);
    int64_t multiply = to_units > from_units ? to_units / from_units : 1;
    int64_t divide = from_units > to_units ? from_units / to_units : 1;
    size_t width = sl_type_value_bytes(to);
    sl_buffer *values;
    SL_TRY(cast_values_new(a->length, width, &values));
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
            return cast_does_not_fit(a, bad, to);
        }
        integers_store(width, sl_buffer_data(values) + (size_t)from * width, n, block);
    }
    return cast_with_values(a, to, values, out);
}
