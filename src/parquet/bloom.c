/*
 * Split-block Bloom filters of column chunks (spec/parquet.md 7), asked one value at a time: the header and the one
 * block of 32 bytes that the value's hash names are read, whatever the size of the filter. Not to be confused with
 * Hudi's own filter in the footer.
 */
#include "parquet/read_int.h"
#include <math.h>

#define BLOCK_BYTES  32
#define HEADER_BYTES 64 /* read at once; a header takes some 20 */

static bool block_has(const uint8_t *block, uint32_t hash)
{
    static const uint32_t salt[8] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                     0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};
    uint32_t missing = 0;
    for (int i = 0; i < 8; i++)
        missing |= ~load_le32(block + 4 * i) & UINT32_C(1) << (hash * salt[i] >> 27);
    return missing == 0;
}

/* Where the filter's blocks lie; *bytes 0: there is no filter that we can use. */
static sl_status find_filter(const struct sl_parquet *p, int64_t offset, uint64_t *blocks_at, int32_t *bytes)
{
    uint8_t header[HEADER_BYTES];
    size_t header_bytes = 0;
    *bytes = 0;
    if (offset < 4 || (uint64_t)offset >= p->data_end)
        return SL_OK;
    uint64_t left = p->data_end - (uint64_t)offset;
    size_t len = left < HEADER_BYTES ? (size_t)left : HEADER_BYTES;
    SL_TRY(sl_file_read_at(p->file, (uint64_t)offset, header, len));
    sl_status status = parquet_bloom_header_decode(header, len, (uint64_t)offset, bytes, &header_bytes);
    if (sl_status_code(status) == SL_E_CORRUPT || sl_status_code(status) == SL_E_UNSUPPORTED) {
        (void)sl_status_ignore(status);
        *bytes = 0;
        return SL_OK;
    }
    SL_TRY(status);
    if ((uint64_t)*bytes > left - header_bytes)
        *bytes = 0;
    *blocks_at = (uint64_t)offset + header_bytes;
    return SL_OK;
}

sl_status sl_parquet_may_contain(const sl_parquet *p, size_t group, int column, const void *value, size_t len,
                                 bool *may)
{
    int64_t leaf;
    int32_t bytes;
    uint64_t at;
    uint8_t block[BLOCK_BYTES];
    SL_TRY(parquet_flat_leaf(p, group, column, &leaf));
    *may = true;
    if (leaf < 0)
        return SL_OK;
    const struct parquet_column_meta *meta = &p->meta.row_groups[group].columns[leaf].meta;
    SL_TRY_CTX(find_filter(p, meta->bloom_filter_offset, &at, &bytes), "%s, Bloom filter",
               sl_file_path(p->file));
    if (bytes == 0)
        return SL_OK;
    uint64_t hash = sl_xxh64(value, len);
    at += ((hash >> 32) * (uint64_t)(bytes / BLOCK_BYTES) >> 32) * BLOCK_BYTES;
    SL_TRY(sl_file_read_at(p->file, at, block, sizeof block));
    *may = block_has(block, (uint32_t)hash);
    return SL_OK;
}

/* ---- values of the column's type ----------------------------------------------------------------------- */

static int64_t small_integer(const sl_array *array, int64_t row)
{
    const uint8_t *v = array->values;
    switch (array->type->id) {
    case SL_INT8:
        return (int8_t)v[row];
    case SL_UINT8:
        return v[row];
    case SL_INT16:
        return (int16_t)load_le16(v + 2 * row);
    default:
        return load_le16(v + 2 * row);
    }
}

/* Equal values may differ in their bytes: either zero, any NaN. */
static bool has_one_form(const sl_array *array, int64_t row)
{
    if (array->type->id == SL_FLOAT)
        return sl_float_at(array, row) != 0 && !isnan(sl_float_at(array, row));
    if (array->type->id == SL_DOUBLE)
        return sl_double_at(array, row) != 0 && !isnan(sl_double_at(array, row));
    return array->type->id != SL_HALF && array->type->id != SL_BOOL;
}

/* A decimal in `width` big-endian bytes; false when it needs more. */
static bool decimal_bytes(sl_i128 v, size_t width, uint8_t *out)
{
    for (size_t i = width; i-- > 0; v >>= 8)
        out[i] = (uint8_t)v;
    return v == (out[0] & 0x80 ? -1 : 0);
}

/* The PLAIN bytes of a fixed-width value in `out` (16 bytes); false when the file may hold the value in another form. */
static bool physical_bytes(const struct parquet_leaf *leaf, const sl_array *array, int64_t row, uint8_t *out)
{
    switch (leaf->conversion) {
    case PARQUET_TO_8:
    case PARQUET_TO_16:
        store_le32(out, (uint32_t)small_integer(array, row));
        return true;
    case PARQUET_INT32_TO_DECIMAL:
        store_le32(out, (uint32_t)sl_decimal_at(array, row));
        return sl_decimal_at(array, row) == (int32_t)load_le32(out);
    case PARQUET_INT64_TO_DECIMAL:
        store_le64(out, (uint64_t)sl_decimal_at(array, row));
        return sl_decimal_at(array, row) == (int64_t)load_le64(out);
    case PARQUET_FIXED_TO_DECIMAL:
        return leaf->physical_width <= 16 &&
               decimal_bytes(sl_decimal_at(array, row), leaf->physical_width, out);
    default: /* INT96 with its nanoseconds, decimals in byte arrays */
        return false;
    }
}

sl_status sl_parquet_may_contain_value(const sl_parquet *p, size_t group, int column, const sl_array *array,
                                       int64_t row, bool *may)
{
    int64_t index;
    uint8_t bytes[16];
    SL_TRY(parquet_flat_leaf(p, group, column, &index));
    *may = true;
    if (index < 0 || !sl_is_valid(array, row))
        return SL_OK;
    const struct parquet_leaf *leaf = &p->schema.leaves[index];
    if (!sl_type_equal(leaf->type, array->type))
        return sl_input("a value of another type than column %s has", leaf->path);
    if (array->dictionary) {
        row = (int32_t)load_le32(array->values + 4 * row);
        array = array->dictionary;
    }
    if (leaf->output == PARQUET_OUT_BYTES)
        return sl_parquet_may_contain(p, group, column, array->values + array->offsets[row],
                                      (size_t)(array->offsets[row + 1] - array->offsets[row]), may);
    if (leaf->output != PARQUET_OUT_FIXED || !has_one_form(array, row))
        return SL_OK;
    if (leaf->conversion == PARQUET_AS_IS)
        return sl_parquet_may_contain(p, group, column, array->values + (size_t)row * leaf->width,
                                      leaf->width, may);
    if (!physical_bytes(leaf, array, row, bytes))
        return SL_OK;
    return sl_parquet_may_contain(p, group, column, bytes, leaf->physical_width, may);
}
