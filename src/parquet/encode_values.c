/* The value section of a page that has no dictionary: its PLAIN values in the encoding of the leaf, and
 * BYTE_STREAM_SPLIT, which is nothing but a transposition (spec/parquet.md 3). */
#include "parquet/simd.h"
#include "parquet/write_int.h"

sl_status split_encode(const uint8_t *plain, size_t count, int32_t width, sl_buf *out)
{
    size_t k = (size_t)width;
    SL_TRY(sl_buf_reserve(out, count * k + 1));
    uint8_t *to = out->data + out->len;
    size_t done = 0;
    if (k == 4 && sl_cpu_avx2())
        done = split_part_4_avx2(plain, to, count, count);
    else if (k == 8 && sl_cpu_avx2())
        done = split_part_8_avx2(plain, to, count, count);
    for (size_t byte = 0; byte < k; byte++)
        for (size_t i = done; i < count; i++)
            to[byte * count + i] = plain[i * k + byte];
    out->len += count * k;
    return SL_OK;
}

/* RLE as a value encoding of booleans: an int32 length in front, in both page versions. */
static sl_status encode_booleans(const uint8_t *bits, size_t count, sl_buf *out)
{
    size_t at = out->len;
    uint8_t length[4] = {0};
    SL_TRY(sl_buf_append(out, length, 4));
    SL_TRY(rle_encode_bits(bits, count, out));
    store_le32(out->data + at, (uint32_t)(out->len - at - 4));
    return SL_OK;
}

sl_status values_encode(const struct write_leaf *leaf, enum parquet_encoding encoding, const sl_buf *plain,
                        size_t count, sl_buf *scratch, sl_buf *out)
{
    static const uint8_t nothing[1];
    const uint8_t *data = plain->data ? plain->data : nothing;
    switch (encoding) {
    case PARQUET_DELTA_BINARY_PACKED:
        return delta_encode_words(data, count, leaf->width, out);
    case PARQUET_DELTA_LENGTH_BYTE_ARRAY:
        return delta_encode_lengths(data, count, scratch, out);
    case PARQUET_DELTA_BYTE_ARRAY:
        return delta_encode_prefixes(data, count, leaf->width, scratch, out);
    case PARQUET_BYTE_STREAM_SPLIT:
        return split_encode(data, count, leaf->width, out);
    case PARQUET_RLE:
        return encode_booleans(data, count, out);
    default:
        return sl_buf_append(out, data, plain->len);
    }
}
