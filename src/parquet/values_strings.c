/* The value section of a page of byte strings: PLAIN, DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY. */
#include "parquet/read_int.h"
#include "parquet/simd.h"

/* First the lengths, each of which says where the next one is; then the bytes, whose copies depend on
 * nothing. */
static sl_status plain_strings(struct parquet_values *v, struct parquet_strings *out, size_t count)
{
    SL_TRY(parquet_strings_reserve(out, count));
    const uint8_t *p = v->p, *end = v->end;
    int32_t *offsets = out->offsets + out->count;
    uint64_t at = (uint64_t)offsets[0];
    for (size_t i = 0; i < count; i++) {
        if (SL_UNLIKELY(end - p < 4))
            return parquet_values_too_short(v, count - i);
        uint32_t len = load_le32(p);
        if (SL_UNLIKELY(len > (size_t)(end - p) - 4))
            return sl_corrupt("string of %" PRIu32 " bytes runs past its page", len);
        p += 4 + (size_t)len;
        at += len;
        offsets[i + 1] = (int32_t)at; /* an overflow is found below, before anything is used */
    }
    SL_TRY(parquet_strings_reserve_data(out, (size_t)at - (size_t)offsets[0]));
    const uint8_t *from = v->p + 4;
    for (size_t i = 0; i < count; i++) {
        size_t len = (size_t)(offsets[i + 1] - offsets[i]);
        uint8_t *to = out->data + offsets[i];
        if (SL_LIKELY((size_t)(end - from) >= len + 16))
            parquet_copy_short(to, from, len);
        else
            memcpy(to, from, len);
        from += len + 4;
    }
    v->p = p;
    out->count += count;
    return SL_OK;
}

static sl_status delta_length_strings(struct parquet_values *v, struct parquet_strings *out, size_t count)
{
    uint32_t lengths[READ_BLOCK];
    SL_TRY(parquet_strings_reserve(out, count));
    while (count > 0) {
        size_t n = count < READ_BLOCK ? count : READ_BLOCK;
        SL_TRY(parquet_delta_read32(&v->delta, lengths, n));
        uint64_t sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += lengths[i]; /* a negative length is over 2^31 here, and more than the page has */
        if (sum > (uint64_t)(v->end - v->p))
            return sl_corrupt("delta lengths of %" PRIu64 " bytes in a page with %zu left", sum,
                              (size_t)(v->end - v->p));
        SL_TRY(parquet_strings_reserve_data(out, (size_t)sum));
        int32_t *offsets = out->offsets + out->count;
        if (sum > 0)
            memcpy(out->data + offsets[0], v->p, (size_t)sum);
        for (size_t i = 0; i < n; i++)
            offsets[i + 1] = offsets[i] + (int32_t)lengths[i];
        v->p += sum;
        out->count += n;
        count -= n;
    }
    return SL_OK;
}

/* ---- DELTA_BYTE_ARRAY ---------------------------------------------------------------------------------- */

static sl_status prefix_too_long(const struct parquet_values *v, const uint32_t *prefixes,
                                 const uint32_t *suffixes)
{
    uint64_t previous = v->previous.len;
    size_t i = 0;
    for (; prefixes[i] <= previous; i++)
        previous = (uint64_t)prefixes[i] + suffixes[i];
    return sl_corrupt("delta prefix of %" PRIu32 " bytes after a value of %" PRIu64, prefixes[i], previous);
}

/* Bytes that the values take, *last of them the last one; every prefix must be there. */
static sl_status front_coded_bytes(const struct parquet_values *v, const uint32_t *prefixes,
                                   const uint32_t *suffixes, size_t count, size_t *total, size_t *last)
{
    uint64_t all = 0, new = 0, previous = v->previous.len;
    bool bad = false;
    for (size_t i = 0; i < count; i++) {
        bad |= prefixes[i] > previous;
        new += suffixes[i];
        previous = (uint64_t)prefixes[i] + suffixes[i];
        all += previous;
    }
    if (bad)
        return prefix_too_long(v, prefixes, suffixes);
    if (new > (uint64_t)(v->end - v->p))
        return sl_corrupt("delta suffixes of %" PRIu64 " bytes in a page with %zu left", new,
                          (size_t)(v->end - v->p));
    *total = all > SIZE_MAX ? SIZE_MAX : (size_t)all;
    *last = (size_t)previous;
    return SL_OK;
}

/* Of short values in blocks that run over their end: what is written there is overwritten by what follows, or lies in the
 * padding; what is read there is not used. `from` may end right where `to` begins, so each block is read before it is
 * written. */
SL_INLINE void copy_block(uint8_t *to, const uint8_t *from, size_t len)
{
    if (SL_UNLIKELY(len > 64)) {
        memcpy(to, from, len);
        return;
    }
    for (size_t at = 0; at < len; at += 16) {
        uint64_t low = load_le64(from + at), high = load_le64(from + at + 8);
        store_le64(to + at, low);
        store_le64(to + at + 8, high);
    }
}

static void join_one(struct front_coded *f, size_t prefix, size_t suffix, int32_t *end)
{
    copy_block(f->to, f->last, prefix);
    if (SL_LIKELY((size_t)(f->end - f->p) >= suffix + 16))
        copy_block(f->to + prefix, f->p, suffix);
    else if (suffix > 0)
        memcpy(f->to + prefix, f->p, suffix);
    front_coded_step(f, prefix, suffix, end);
}

/* Values whose lengths were checked and for which there is room. */
static void join_all(struct front_coded *f, const uint32_t *prefixes, const uint32_t *suffixes, size_t count,
                     int32_t *ends)
{
    bool simd = sl_cpu_avx2();
    for (size_t i = 0; i < count;) {
        join_one(f, prefixes[i], suffixes[i], &ends[i]);
        i++;
        if (simd && i < count)
            i += front_coded_avx2(f, prefixes + i, suffixes + i, count - i, ends + i);
    }
}

/* The last value, for the one that builds upon it. */
static sl_status keep_last(struct parquet_values *v, const uint8_t *last, size_t bytes)
{
    v->previous.len = 0;
    SL_TRY(sl_buf_reserve(&v->previous, bytes + READ_PAD));
    memcpy(v->previous.data, last, bytes);
    v->previous.len = bytes;
    return SL_OK;
}

static sl_status delta_byte_array_block(struct parquet_values *v, struct parquet_strings *out,
                                        const uint32_t *prefixes, const uint32_t *suffixes, size_t count)
{
    size_t total, last_bytes;
    SL_TRY(front_coded_bytes(v, prefixes, suffixes, count, &total, &last_bytes));
    SL_TRY(parquet_strings_reserve_data(out, total));
    int32_t *offsets = out->offsets + out->count;
    struct front_coded f = {.begin = v->begin,
                            .end = v->end,
                            .p = v->p,
                            .last = v->previous.data,
                            .to = out->data + offsets[0],
                            .at = offsets[0]};
    join_all(&f, prefixes, suffixes, count, offsets + 1);
    v->p = f.p;
    out->count += count;
    return keep_last(v, f.last, last_bytes);
}

sl_status parquet_values_delta_byte_array(struct parquet_values *v, struct parquet_strings *out, size_t count)
{
    uint32_t prefixes[READ_BLOCK / 2], suffixes[READ_BLOCK / 2];
    SL_TRY(parquet_strings_reserve(out, count));
    while (count > 0) {
        size_t n = count < READ_BLOCK / 2 ? count : READ_BLOCK / 2;
        SL_TRY(parquet_delta_read32(&v->delta, prefixes, n));
        SL_TRY(parquet_delta_read32(&v->suffix, suffixes, n));
        SL_TRY(delta_byte_array_block(v, out, prefixes, suffixes, n));
        count -= n;
    }
    return SL_OK;
}

sl_status parquet_values_strings(struct parquet_values *v, struct parquet_strings *out, size_t count)
{
    if (count == 0)
        return SL_OK;
    switch (v->encoding) {
    case PARQUET_PLAIN:
        return plain_strings(v, out, count);
    case PARQUET_DELTA_LENGTH_BYTE_ARRAY:
        return delta_length_strings(v, out, count);
    default:
        return parquet_values_delta_byte_array(v, out, count);
    }
}
