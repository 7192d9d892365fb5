/*
 * DELTA_BINARY_PACKED (spec/parquet.md 3): blocks of miniblocks of bit-packed differences. Miniblocks are
 * unpacked in groups of 32 values, whatever their size claims to be, so memory does not depend on what the
 * file says.
 */
#include "parquet/read_int.h"

static bool read_uleb(const uint8_t **p, const uint8_t *end, uint64_t *out)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (*p >= end)
            return false;
        uint8_t byte = *(*p)++;
        if (shift == 63 && byte > 1)
            return false;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *out = v;
            return true;
        }
    }
    return false;
}

static uint64_t unzigzag(uint64_t v) { return (v >> 1) ^ (~(v & 1) + 1); }

sl_status parquet_delta_init(struct parquet_delta *d, const uint8_t *data, size_t len)
{
    uint64_t block, miniblocks, total, first;
    memset(d, 0, offsetof(struct parquet_delta, group));
    d->group_at = d->group_count = 0;
    d->p = data;
    d->end = data + len;
    if (!read_uleb(&d->p, d->end, &block) || !read_uleb(&d->p, d->end, &miniblocks) ||
        !read_uleb(&d->p, d->end, &total) || !read_uleb(&d->p, d->end, &first))
        return sl_corrupt("delta encoding: header ends too early");
    if (block == 0 || block % 128 != 0 || block > INT32_MAX || miniblocks == 0 || block % miniblocks != 0 ||
        block / miniblocks % 32 != 0)
        return sl_corrupt("delta encoding: blocks of %" PRIu64 " values in %" PRIu64 " miniblocks", block,
                          miniblocks);
    if (total > INT32_MAX)
        return sl_corrupt("delta encoding: %" PRIu64 " values", total);
    d->left = total;
    d->miniblocks = miniblocks;
    d->miniblock = block / miniblocks;
    d->widths_at = miniblocks;
    d->last = unzigzag(first);
    d->first = true;
    return SL_OK;
}

static sl_status next_miniblock(struct parquet_delta *d)
{
    if (d->widths_at == d->miniblocks) {
        uint64_t min_delta;
        if (!read_uleb(&d->p, d->end, &min_delta) || (uint64_t)(d->end - d->p) < d->miniblocks)
            return sl_corrupt("delta encoding: block header ends too early");
        d->min_delta = unzigzag(min_delta);
        d->widths = d->p;
        d->widths_at = 0;
        d->p += d->miniblocks;
    }
    d->width = d->widths[d->widths_at++];
    if (d->width > 64)
        return sl_corrupt("delta encoding: width of %d bits", d->width);
    d->miniblock_left = d->miniblock;
    return SL_OK;
}

#define GROUP_BYTES_MAX (64 * 4 + 16)

/* Where the next 32 deltas lie. The last group may be shorter than it should be: only the values that are needed must be
 * there, and it is looked at in `padded`. */
static sl_status next_group(struct parquet_delta *d, uint8_t *padded, const uint8_t **out)
{
    if (d->miniblock_left == 0)
        SL_TRY(next_miniblock(d));
    size_t bytes = (size_t)d->width * 4, avail = (size_t)(d->end - d->p);
    *out = d->p;
    if (SL_UNLIKELY(avail < bytes + 8)) {
        size_t have = avail < bytes ? avail : bytes;
        uint64_t needed = d->left < 32 ? d->left : 32;
        if (have * 8 < needed * (unsigned)d->width)
            return sl_corrupt("delta encoding: values end too early");
        memset(padded, 0, GROUP_BYTES_MAX);
        if (have > 0)
            memcpy(padded, d->p, have);
        *out = padded;
        bytes = have;
    }
    d->p += bytes;
    d->miniblock_left -= 32;
    return SL_OK;
}

static sl_status check_left(struct parquet_delta *d, size_t count)
{
    if (count > d->left)
        return sl_corrupt("delta encoding: %" PRIu64 " values left, %zu needed", d->left, count);
    return SL_OK;
}

static sl_status read_group(struct parquet_delta *d, uint64_t *restrict out)
{
    uint8_t padded[GROUP_BYTES_MAX];
    const uint8_t *packed;
    SL_TRY(next_group(d, padded, &packed));
    parquet_unpack64(packed, d->width, out);
    uint64_t last = d->last, min_delta = d->min_delta;
    for (size_t i = 0; i < 32; i++) {
        last += min_delta + out[i];
        out[i] = last;
    }
    d->last = last;
    return SL_OK;
}

/* The low halves of 32 values: those of sums are sums of those. */
static sl_status read_group32(struct parquet_delta *d, uint32_t *restrict out)
{
    uint8_t padded[GROUP_BYTES_MAX];
    const uint8_t *packed;
    SL_TRY(next_group(d, padded, &packed));
    if (d->width <= 32) {
        parquet_unpack32(packed, d->width, out);
    } else {
        uint64_t wide[32];
        parquet_unpack64(packed, d->width, wide);
        for (size_t i = 0; i < 32; i++)
            out[i] = (uint32_t)wide[i];
    }
    uint32_t last = (uint32_t)d->last, min_delta = (uint32_t)d->min_delta;
    for (size_t i = 0; i < 32; i++) {
        last += min_delta + out[i];
        out[i] = last;
    }
    d->last = last;
    return SL_OK;
}

/* Values that need no new group, or that must come from one that is kept since fewer than 32 are wanted. */
static sl_status read_some(struct parquet_delta *d, uint64_t *out, size_t count, size_t *done)
{
    if (d->first) {
        d->first = false;
        *out = d->last;
        *done = 1;
        return SL_OK;
    }
    if (d->group_at == d->group_count) {
        SL_TRY(read_group(d, d->group));
        d->group_at = 0;
        d->group_count = 32;
    }
    *done = d->group_count - d->group_at < count ? d->group_count - d->group_at : count;
    memcpy(out, d->group + d->group_at, *done * sizeof *out);
    d->group_at += (unsigned)*done;
    return SL_OK;
}

static bool at_group(const struct parquet_delta *d, size_t count)
{
    return !d->first && d->group_at == d->group_count && count >= 32;
}

sl_status parquet_delta_read(struct parquet_delta *d, uint64_t *out, size_t count)
{
    SL_TRY(check_left(d, count));
    while (count > 0) {
        size_t n = 32;
        SL_TRY(at_group(d, count) ? read_group(d, out) : read_some(d, out, count, &n));
        d->left -= n;
        out += n;
        count -= n;
    }
    return SL_OK;
}

sl_status parquet_delta_read32(struct parquet_delta *d, uint32_t *out, size_t count)
{
    uint64_t wide[32];
    SL_TRY(check_left(d, count));
    while (count > 0) {
        size_t n = 32;
        if (at_group(d, count)) {
            SL_TRY(read_group32(d, out));
        } else {
            SL_TRY(read_some(d, wide, count < 32 ? count : 32, &n));
            for (size_t i = 0; i < n; i++)
                out[i] = (uint32_t)wide[i];
        }
        d->left -= n;
        out += n;
        count -= n;
    }
    return SL_OK;
}

sl_status parquet_delta_span(const uint8_t *data, size_t len, size_t *span)
{
    struct parquet_delta d;
    SL_TRY(parquet_delta_init(&d, data, len));
    uint64_t left = d.left > 0 ? d.left - 1 : 0; /* the first value is in the header */
    while (left > 0) {
        SL_TRY(next_miniblock(&d));
        uint64_t bytes = d.miniblock / 8 * (unsigned)d.width;
        if (bytes > (uint64_t)(d.end - d.p))
            return sl_corrupt("delta encoding: values end too early");
        d.p += bytes;
        left -= left < d.miniblock ? left : d.miniblock;
    }
    *span = (size_t)(d.p - data);
    return SL_OK;
}
