/*
 * The value section of one page (spec/parquet.md 3): a small state machine for each encoding, read in whole
 * stretches. Which encodings a physical type may have is decided once, when the page is opened.
 */
#include "parquet/read_int.h"
#include "parquet/simd.h"

static bool allowed(const struct parquet_values *v)
{
    return parquet_values_are_indexes(v) ? v->physical != PARQUET_BOOLEAN
                                         : parquet_encoding_fits(v->encoding, v->physical);
}

static sl_status init_indexes(struct parquet_values *v, const uint8_t *data, size_t len)
{
    if (data[0] > 32)
        return sl_corrupt("dictionary indexes of %d bits", data[0]);
    parquet_hybrid_init(&v->hybrid, data + 1, len - 1, data[0]);
    if (data[0] == 0 && !parquet_hybrid_all_zero(&v->hybrid))
        return sl_corrupt("dictionary indexes of 0 bits with data behind them");
    return SL_OK;
}

static sl_status init_rle_booleans(struct parquet_values *v, const uint8_t *data, size_t len)
{
    if (len < 4 || load_le32(data) > len - 4)
        return sl_corrupt("RLE booleans run past their page");
    parquet_hybrid_init(&v->hybrid, data + 4, load_le32(data), 1);
    return SL_OK;
}

static sl_status init_delta_lengths(struct parquet_delta *lengths, const uint8_t **data, size_t *len)
{
    size_t span;
    SL_TRY(parquet_delta_span(*data, *len, &span));
    SL_TRY(parquet_delta_init(lengths, *data, span));
    *data += span;
    *len -= span;
    return SL_OK;
}

/* Every encoding finds that it has no value left. */
static void init_nothing(struct parquet_values *v)
{
    parquet_hybrid_init(&v->hybrid, v->p, 0, 0);
    v->delta.left = v->suffix.left = 0;
    v->split_at = v->split_count = 0;
}

sl_status parquet_values_init(struct parquet_values *v, enum parquet_physical physical, size_t width,
                              int encoding, const uint8_t *data, size_t len)
{
    v->physical = physical;
    v->width = width;
    v->encoding = encoding;
    v->begin = v->p = data;
    v->end = data + len;
    v->bit = 0;
    if (!v->carry_over)
        v->previous.len = 0;
    if (!allowed(v))
        return sl_unsupported("encoding %s (%d) of %s values", parquet_encoding_name(encoding), encoding,
                              parquet_physical_name((int)physical));
    if (len == 0) { /* a page of nulls, whatever the encoding */
        init_nothing(v);
        return SL_OK;
    }
    switch (encoding) {
    case PARQUET_PLAIN_DICTIONARY:
    case PARQUET_RLE_DICTIONARY:
        return init_indexes(v, data, len);
    case PARQUET_RLE:
        return init_rle_booleans(v, data, len);
    case PARQUET_DELTA_BINARY_PACKED:
        return parquet_delta_init(&v->delta, data, len);
    case PARQUET_DELTA_BYTE_ARRAY:
        SL_TRY(init_delta_lengths(&v->delta, &data, &len));
        SL_TRY(init_delta_lengths(&v->suffix, &data, &len));
        break;
    case PARQUET_DELTA_LENGTH_BYTE_ARRAY:
        SL_TRY(init_delta_lengths(&v->delta, &data, &len));
        break;
    case PARQUET_BYTE_STREAM_SPLIT:
        v->split_at = 0;
        v->split_count = len / width;
        if (len % width != 0)
            return sl_corrupt("byte stream split: %zu bytes for values of %zu", len, width);
        break;
    default:
        break;
    }
    v->p = data;
    return SL_OK;
}

sl_status parquet_values_too_short(const struct parquet_values *v, size_t count)
{
    return sl_corrupt("%s values end too early: %zu more needed", parquet_encoding_name(v->encoding), count);
}

/* ---- fixed width --------------------------------------------------------------------------------------- */

static sl_status plain_fixed(struct parquet_values *v, uint8_t *out, size_t count)
{
    if (count > (size_t)(v->end - v->p) / v->width)
        return parquet_values_too_short(v, count);
    memcpy(out, v->p, count * v->width);
    v->p += count * v->width;
    return SL_OK;
}

static void split_4(const uint8_t *streams, size_t stride, uint8_t *out, size_t count)
{
    const uint8_t *a = streams, *b = a + stride, *c = b + stride, *d = c + stride;
    size_t done = sl_cpu_avx2() ? split_join_4_avx2(streams, stride, out, count) : 0;
    for (size_t i = done; i < count; i++)
        store_le32(out + 4 * i,
                   (uint32_t)a[i] | (uint32_t)b[i] << 8 | (uint32_t)c[i] << 16 | (uint32_t)d[i] << 24);
}

static void split_8(const uint8_t *s, size_t stride, uint8_t *out, size_t count)
{
    size_t done = sl_cpu_avx2() ? split_join_8_avx2(s, stride, out, count) : 0;
    for (size_t i = done; i < count; i++) {
        uint64_t v = 0;
        for (size_t k = 0; k < 8; k++)
            v |= (uint64_t)s[k * stride + i] << (8 * k);
        store_le64(out + 8 * i, v);
    }
}

static sl_status split_fixed(struct parquet_values *v, uint8_t *out, size_t count)
{
    if (count > v->split_count - v->split_at)
        return parquet_values_too_short(v, count);
    const uint8_t *streams = v->p + v->split_at;
    if (v->width == 4)
        split_4(streams, v->split_count, out, count);
    else if (v->width == 8)
        split_8(streams, v->split_count, out, count);
    else
        for (size_t k = 0; k < v->width; k++)
            for (size_t i = 0; i < count; i++)
                out[i * v->width + k] = streams[k * v->split_count + i];
    v->split_at += count;
    return SL_OK;
}

static sl_status delta_fixed(struct parquet_values *v, uint8_t *out, size_t count)
{
    uint64_t wide[READ_BLOCK / 4];
    while (count > 0) {
        size_t n = count < READ_BLOCK / 4 ? count : READ_BLOCK / 4;
        SL_TRY(parquet_delta_read(&v->delta, wide, n));
        if (v->width == 8)
            memcpy(out, wide, n * 8);
        else
            for (size_t i = 0; i < n; i++)
                store_le32(out + 4 * i, (uint32_t)wide[i]);
        out += n * v->width;
        count -= n;
    }
    return SL_OK;
}

/* DELTA_BYTE_ARRAY of fixed-width values: strings that all have the same length. */
static sl_status delta_byte_array_fixed(struct parquet_values *v, uint8_t *out, size_t count)
{
    struct parquet_strings strings = {0};
    sl_status status = SL_OK;
    while (count > 0) {
        size_t n = count < READ_BLOCK ? count : READ_BLOCK;
        parquet_strings_clear(&strings);
        SL_GO(parquet_values_delta_byte_array(v, &strings, n));
        for (size_t i = 0; i < n; i++)
            if ((size_t)(strings.offsets[i + 1] - strings.offsets[i]) != v->width) {
                status = sl_corrupt("value of %" PRId32 " bytes in a column of %zu",
                                    strings.offsets[i + 1] - strings.offsets[i], v->width);
                goto done;
            }
        memcpy(out, strings.data, n * v->width);
        out += n * v->width;
        count -= n;
    }
done:
    parquet_strings_free(&strings);
    return status;
}

sl_status parquet_values_fixed(struct parquet_values *v, uint8_t *out, size_t count)
{
    if (count == 0)
        return SL_OK;
    switch (v->encoding) {
    case PARQUET_PLAIN:
        return plain_fixed(v, out, count);
    case PARQUET_BYTE_STREAM_SPLIT:
        return split_fixed(v, out, count);
    case PARQUET_DELTA_BINARY_PACKED:
        return delta_fixed(v, out, count);
    default:
        return delta_byte_array_fixed(v, out, count);
    }
}

sl_status parquet_values_bools(struct parquet_values *v, uint8_t *out, size_t count)
{
    if (count == 0)
        return SL_OK;
    if (v->encoding == PARQUET_RLE)
        return parquet_hybrid_bytes(&v->hybrid, out, count) == count ? SL_OK
                                                                     : parquet_values_too_short(v, count);
    if (count > (size_t)(v->end - v->p) * 8 - v->bit)
        return parquet_values_too_short(v, count);
    parquet_bits_to_bytes(v->p, v->bit, count, out);
    v->bit += count;
    return SL_OK;
}

/* ---- dictionary indexes -------------------------------------------------------------------------------- */

/* limit <= 2^31, as a page is shorter than that: the top bit of limit - 1 - index or of the index tells one too large. In
 * parts of known length, which compilers turn into vectors; which one it was is looked for only when there is one. */
static sl_status check_indexes(const uint32_t *indexes, size_t count, uint32_t limit)
{
    uint32_t bad = 0;
    size_t i = 0;
    for (; i + 32 <= count; i += 32)
        for (size_t k = 0; k < 32; k++)
            bad |= (limit - 1 - indexes[i + k]) | indexes[i + k];
    for (; i < count; i++)
        bad |= (limit - 1 - indexes[i]) | indexes[i];
    if (limit > 0 && !(bad >> 31))
        return SL_OK;
    for (i = 0; i + 1 < count && indexes[i] < limit;)
        i++;
    return sl_corrupt("dictionary index %" PRIu32 " where the dictionary has %" PRIu32 " values", indexes[i],
                      limit);
}

sl_status parquet_values_indexes(struct parquet_values *v, uint32_t *out, size_t count, uint32_t limit)
{
    if (count == 0)
        return SL_OK;
    if (parquet_hybrid_read(&v->hybrid, out, count) != count)
        return parquet_values_too_short(v, count);
    if (v->hybrid.width < 32 && limit >> v->hybrid.width != 0) /* the width lets no greater one in */
        return SL_OK;
    return check_indexes(out, count, limit);
}

/* ---- skipping ------------------------------------------------------------------------------------------ */

static sl_status skip_plain(struct parquet_values *v, size_t count)
{
    if (v->physical == PARQUET_BOOLEAN) {
        if (count > (size_t)(v->end - v->p) * 8 - v->bit)
            return parquet_values_too_short(v, count);
        v->bit += count;
        return SL_OK;
    }
    if (v->physical != PARQUET_BYTE_ARRAY) {
        if (count > (size_t)(v->end - v->p) / v->width)
            return parquet_values_too_short(v, count);
        v->p += count * v->width;
        return SL_OK;
    }
    for (; count > 0; count--) {
        if (v->end - v->p < 4 || load_le32(v->p) > (size_t)(v->end - v->p) - 4)
            return parquet_values_too_short(v, count);
        v->p += 4 + (size_t)load_le32(v->p);
    }
    return SL_OK;
}

static sl_status skip_delta(struct parquet_values *v, size_t count)
{
    uint64_t wide[READ_BLOCK / 4];
    while (count > 0) {
        size_t n = count < READ_BLOCK / 4 ? count : READ_BLOCK / 4;
        SL_TRY(parquet_delta_read(&v->delta, wide, n));
        count -= n;
    }
    return SL_OK;
}

static sl_status skip_strings(struct parquet_values *v, size_t count)
{
    struct parquet_strings strings = {0};
    sl_status status = SL_OK;
    while (count > 0 && !status) {
        size_t n = count < READ_BLOCK ? count : READ_BLOCK;
        parquet_strings_clear(&strings);
        status = parquet_values_strings(v, &strings, n);
        count -= n;
    }
    parquet_strings_free(&strings);
    return status;
}

sl_status parquet_values_skip(struct parquet_values *v, size_t count)
{
    if (count == 0)
        return SL_OK;
    switch (v->encoding) {
    case PARQUET_PLAIN:
        return skip_plain(v, count);
    case PARQUET_PLAIN_DICTIONARY:
    case PARQUET_RLE_DICTIONARY:
    case PARQUET_RLE:
        return parquet_hybrid_skip(&v->hybrid, count) == count ? SL_OK : parquet_values_too_short(v, count);
    case PARQUET_DELTA_BINARY_PACKED:
        return skip_delta(v, count);
    case PARQUET_BYTE_STREAM_SPLIT:
        if (count > v->split_count - v->split_at)
            return parquet_values_too_short(v, count);
        v->split_at += count;
        return SL_OK;
    default:
        return skip_strings(v, count);
    }
}

void parquet_values_free(struct parquet_values *v) { sl_buf_free(&v->previous); }
