/* From physical values to the layout of our arrays (spec/parquet.md 8). */
#include "parquet/read_int.h"

#define JULIAN_DAY_OF_EPOCH 2440588
#define MICROS_PER_DAY      INT64_C(86400000000)

/* Nanoseconds of the day and Julian day number; finer than microseconds is floored. */
static sl_status int96_to_micros(const uint8_t *in, size_t count, uint8_t *out)
{
    for (size_t i = 0; i < count; i++) {
        int64_t nanos = (int64_t)load_le64(in + 12 * i);
        int64_t day = (int64_t)(int32_t)load_le32(in + 12 * i + 8) - JULIAN_DAY_OF_EPOCH;
        int64_t micros = nanos / 1000 - (nanos % 1000 < 0), at;
        if (sl_mul_overflows_i64(day, MICROS_PER_DAY, &at) || sl_add_overflows_i64(at, micros, &at))
            return sl_corrupt("INT96 timestamp of Julian day %" PRId64 " is out of range",
                              day + JULIAN_DAY_OF_EPOCH);
        store_le64(out + 8 * i, (uint64_t)at);
    }
    return SL_OK;
}

static sl_i128 big_endian_short(const uint8_t *in, size_t len) /* at most 8 bytes */
{
    uint64_t v = len > 0 && in[0] & 0x80 ? UINT64_MAX : 0;
    for (size_t i = 0; i < len; i++)
        v = v << 8 | in[i];
    return (sl_i128)(int64_t)v;
}

/* 8 to 16 bytes: the two overlapping ends. */
SL_INLINE sl_i128 big_endian_long(const uint8_t *in, size_t len)
{
    unsigned low_bits = 8 * (unsigned)(len - 8);
    uint64_t low = load_be64(in + len - 8);
    if (low_bits == 0)
        return (sl_i128)(int64_t)low;
    if (low_bits < 64)
        low &= (UINT64_C(1) << low_bits) - 1;
    sl_u128 high = (sl_u128)(sl_i128)(int64_t)load_be64(in);
    return (sl_i128)(high << low_bits | low);
}

/* Any length; bytes in front of the last 16 must only repeat the sign. */
static bool decimal_of_bytes(const uint8_t *in, size_t len, sl_i128 *out)
{
    if (len > 16) {
        uint8_t sign = in[len - 16] & 0x80 ? 0xff : 0;
        for (size_t i = 0; i < len - 16; i++)
            if (in[i] != sign)
                return false;
        in += len - 16;
        len = 16;
    }
    *out = len >= 8 ? big_endian_long(in, len) : big_endian_short(in, len);
    return true;
}

static sl_status fixed_to_decimal(const uint8_t *in, size_t width, size_t count, uint8_t *out)
{
    for (size_t i = 0; i < count; i++) {
        sl_i128 v;
        if (!decimal_of_bytes(in + i * width, width, &v))
            return sl_corrupt("decimal of %zu bytes does not fit 128 bits", width);
        memcpy(out + 16 * i, &v, 16);
    }
    return SL_OK;
}

sl_status parquet_convert_strings(const struct parquet_strings *in, size_t count, uint8_t *out)
{
    for (size_t i = 0; i < count; i++) {
        sl_i128 v;
        size_t len = (size_t)(in->offsets[i + 1] - in->offsets[i]);
        if (!decimal_of_bytes(in->data + in->offsets[i], len, &v))
            return sl_corrupt("decimal of %zu bytes does not fit 128 bits", len);
        memcpy(out + 16 * i, &v, 16);
    }
    return SL_OK;
}

sl_status parquet_convert(enum parquet_conversion conversion, const uint8_t *in, size_t width, size_t count,
                          uint8_t *out)
{
    switch (conversion) {
    case PARQUET_TO_8:
        for (size_t i = 0; i < count; i++)
            out[i] = in[4 * i];
        return SL_OK;
    case PARQUET_TO_16:
        for (size_t i = 0; i < count; i++)
            store_le16(out + 2 * i, load_le16(in + 4 * i));
        return SL_OK;
    case PARQUET_INT96_TO_MICROS:
        return int96_to_micros(in, count, out);
    case PARQUET_INT32_TO_DECIMAL:
        for (size_t i = 0; i < count; i++) {
            sl_i128 v = (int32_t)load_le32(in + 4 * i);
            memcpy(out + 16 * i, &v, 16);
        }
        return SL_OK;
    case PARQUET_INT64_TO_DECIMAL:
        for (size_t i = 0; i < count; i++) {
            sl_i128 v = (int64_t)load_le64(in + 8 * i);
            memcpy(out + 16 * i, &v, 16);
        }
        return SL_OK;
    case PARQUET_FIXED_TO_DECIMAL:
        return fixed_to_decimal(in, width, count, out);
    case PARQUET_AS_IS:
        memcpy(out, in, width * count);
        return SL_OK;
    case PARQUET_BYTES_TO_DECIMAL:
        break;
    }
    return sl_internal("conversion %d of fixed-width values", (int)conversion);
}
