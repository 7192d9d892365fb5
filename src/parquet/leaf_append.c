/*
 * Values of a page without nulls, put behind the ones that the batch has so far: as they are, converted, gathered from the
 * dictionary, or as indexes into a dictionary that is kept.
 */
#include "parquet/read_int.h"

static sl_status scratch_indexes(struct parquet_leaf_reader *r)
{
    if (!r->scratch_indexes)
        SL_NEW_ARRAY(r->scratch_indexes, READ_BLOCK);
    return SL_OK;
}

static sl_status scratch_values(struct parquet_leaf_reader *r)
{
    if (!r->scratch)
        SL_NEW_ARRAY(r->scratch, READ_BLOCK * r->leaf->physical_width);
    return SL_OK;
}

/* ---- values without nulls, behind the ones read so far ------------------------------------------------- */

/* Values whose bytes need a conversion, in blocks. */
static sl_status convert_fixed(struct parquet_leaf_reader *r, struct parquet_values *v, uint8_t *out,
                               size_t count)
{
    SL_TRY(scratch_values(r));
    while (count > 0) {
        size_t n = count < READ_BLOCK ? count : READ_BLOCK;
        SL_TRY(parquet_values_fixed(v, r->scratch, n));
        SL_TRY(parquet_convert(r->leaf->conversion, r->scratch, r->leaf->physical_width, n, out));
        out += n * r->leaf->width;
        count -= n;
    }
    return SL_OK;
}

static sl_status convert_strings(struct parquet_leaf_reader *r, struct parquet_values *v, uint8_t *out,
                                 size_t count)
{
    while (count > 0) {
        size_t n = count < READ_BLOCK ? count : READ_BLOCK;
        parquet_strings_clear(&r->scratch_strings);
        SL_TRY(parquet_values_strings(v, &r->scratch_strings, n));
        SL_TRY(parquet_convert_strings(&r->scratch_strings, n, out));
        out += n * r->leaf->width;
        count -= n;
    }
    return SL_OK;
}

/* Fixed-width values in the layout of the array from a page that is not dictionary-encoded. */
sl_status parquet_leaf_fixed(struct parquet_leaf_reader *r, struct parquet_values *v, uint8_t *out,
                             size_t count)
{
    if (r->leaf->output == PARQUET_OUT_BOOL)
        return parquet_values_bools(v, out, count);
    if (r->leaf->conversion == PARQUET_BYTES_TO_DECIMAL)
        return convert_strings(r, v, out, count);
    if (r->leaf->conversion != PARQUET_AS_IS)
        return convert_fixed(r, v, out, count);
    return parquet_values_fixed(v, out, count);
}

#define GATHER(NAME, TYPE)                                                                                   \
    static void NAME(uint8_t *out, const uint8_t *dictionary, const uint32_t *indexes, size_t count)         \
    {                                                                                                        \
        for (size_t i = 0; i < count; i++) {                                                                 \
            TYPE v;                                                                                          \
            memcpy(&v, dictionary + (size_t)indexes[i] * sizeof v, sizeof v);                                \
            memcpy(out + i * sizeof v, &v, sizeof v);                                                        \
        }                                                                                                    \
    }
GATHER(gather_1, uint8_t)
GATHER(gather_2, uint16_t)
GATHER(gather_4, uint32_t)
GATHER(gather_8, uint64_t)
GATHER(gather_16, sl_u128)

static void gather(uint8_t *out, const uint8_t *dictionary, size_t width, const uint32_t *indexes,
                   size_t count)
{
    switch (width) {
    case 1:
        gather_1(out, dictionary, indexes, count);
        break;
    case 2:
        gather_2(out, dictionary, indexes, count);
        break;
    case 4:
        gather_4(out, dictionary, indexes, count);
        break;
    case 8:
        gather_8(out, dictionary, indexes, count);
        break;
    case 16:
        gather_16(out, dictionary, indexes, count);
        break;
    default:
        for (size_t i = 0; i < count; i++)
            memcpy(out + i * width, dictionary + (size_t)indexes[i] * width, width);
    }
}

static sl_status append_fixed(struct parquet_leaf_reader *r, size_t count)
{
    size_t width = r->leaf->width, at = (size_t)r->slots * width;
    SL_TRY(parquet_fixed_reserve(r->memory, &r->fixed, &r->fixed_cap, at, at + count * width));
    uint8_t *out = r->fixed + at;
    if (!parquet_values_are_indexes(&r->values))
        return parquet_leaf_fixed(r, &r->values, out, count);
    SL_TRY(scratch_indexes(r));
    while (count > 0) {
        size_t n = count < READ_BLOCK ? count : READ_BLOCK;
        SL_TRY(parquet_values_indexes(&r->values, r->scratch_indexes, n, r->dictionary.count));
        gather(out, r->dictionary.values, width, r->scratch_indexes, n);
        out += n * width;
        count -= n;
    }
    return SL_OK;
}

/* Of a dictionary of one text, as constant columns have: what is there is copied behind itself until there is enough. */
static sl_status repeat_string(struct parquet_strings *out, const struct parquet_strings *dictionary,
                               size_t count)
{
    size_t len = (size_t)(dictionary->offsets[1] - dictionary->offsets[0]), bytes, done;
    if (sl_mul_overflows(len, count, &bytes))
        bytes = SIZE_MAX;
    SL_TRY(parquet_strings_reserve(out, count));
    SL_TRY(parquet_strings_reserve_data(out, bytes));
    int32_t *offsets = out->offsets + out->count, first = offsets[0];
    for (size_t i = 0; i < count; i++)
        offsets[i + 1] = first + (int32_t)((i + 1) * len);
    uint8_t *to = out->data + first;
    if (bytes > 0)
        memcpy(to, dictionary->data, len);
    for (done = len; done < bytes; done *= 2)
        memcpy(to + done, to, done < bytes - done ? done : bytes - done);
    out->count += count;
    return SL_OK;
}

static sl_status gather_strings(struct parquet_strings *out, const struct parquet_strings *dictionary,
                                const uint32_t *indexes, size_t count)
{
    if (dictionary->count == 1 && count > 0)
        return repeat_string(out, dictionary, count);
    SL_TRY(parquet_strings_reserve(out, count));
    int32_t *offsets = out->offsets + out->count;
    const int32_t *ends = dictionary->offsets;
    uint64_t at = (uint64_t)offsets[0];
    for (size_t i = 0; i < count; i++) {
        at += (uint64_t)(ends[indexes[i] + 1] - ends[indexes[i]]);
        offsets[i + 1] = (int32_t)at; /* an overflow is found below, before anything is used */
    }
    SL_TRY(parquet_strings_reserve_data(out, (size_t)(at - (uint64_t)offsets[0])));
    uint8_t *to = out->data;
    const uint8_t *from = dictionary->data;
    for (size_t i = 0; i < count; i++)
        parquet_copy_short(to + offsets[i], from + ends[indexes[i]], (size_t)(offsets[i + 1] - offsets[i]));
    out->count += count;
    return SL_OK;
}

static sl_status append_indexes(struct parquet_leaf_reader *r, size_t count)
{
    size_t at = (size_t)r->slots * sizeof(uint32_t);
    SL_TRY(parquet_fixed_reserve(r->memory, &r->fixed, &r->fixed_cap, at, at + count * sizeof(uint32_t)));
    return parquet_values_indexes(&r->values, (uint32_t *)(void *)(r->fixed + at), count,
                                  r->dictionary.count);
}

/* The chunk falls back to plain pages in the middle of a batch: what was kept as indexes becomes strings. */
static sl_status resolve_indexes(struct parquet_leaf_reader *r)
{
    r->as_indexes = false;
    if (r->slots == 0)
        return SL_OK;
    return gather_strings(&r->strings, &r->dictionary.strings, (const uint32_t *)(const void *)r->fixed,
                          (size_t)r->slots);
}

static sl_status append_strings(struct parquet_leaf_reader *r, size_t count)
{
    bool indexes = parquet_values_are_indexes(&r->values) && r->dictionary.count > 0;
    if (indexes && r->keep_dictionary && (r->as_indexes || r->slots == 0)) {
        r->as_indexes = true;
        return append_indexes(r, count);
    }
    if (r->as_indexes)
        SL_TRY(resolve_indexes(r));
    if (!parquet_values_are_indexes(&r->values))
        return parquet_values_strings(&r->values, &r->strings, count);
    SL_TRY(scratch_indexes(r));
    while (count > 0) {
        size_t n = count < READ_BLOCK ? count : READ_BLOCK;
        SL_TRY(parquet_values_indexes(&r->values, r->scratch_indexes, n, r->dictionary.count));
        SL_TRY(gather_strings(&r->strings, &r->dictionary.strings, r->scratch_indexes, n));
        count -= n;
    }
    return SL_OK;
}

sl_status parquet_leaf_append(struct parquet_leaf_reader *r, size_t count)
{
    switch (r->leaf->output) {
    case PARQUET_OUT_NULL:
        return count == 0 ? SL_OK : sl_corrupt("value in a column of type null");
    case PARQUET_OUT_BYTES:
        return append_strings(r, count);
    default:
        return append_fixed(r, count);
    }
}
