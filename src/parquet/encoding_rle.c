/*
 * The RLE / bit-packed hybrid (spec/parquet.md 3): runs of one repeated value, or of groups of eight
 * bit-packed values. Repeated runs are handled as runs wherever the target allows; packed runs are unpacked
 * 32 values at a time.
 */
#include "parquet/read_int.h"
#include "parquet/simd.h"

void parquet_hybrid_init(struct parquet_hybrid *h, const uint8_t *data, size_t len, int width)
{
    memset(h, 0, sizeof *h);
    h->p = data;
    h->end = data + len;
    h->width = width;
}

void parquet_hybrid_init_msb(struct parquet_hybrid *h, const uint8_t *data, size_t len, int width,
                             size_t count)
{
    parquet_hybrid_init(h, data, len, width);
    h->msb_first = true;
    h->packed = data;
    h->packed_bytes = len;
    h->packed_count =
        width && count > (uint64_t)len * 8 / (unsigned)width ? (uint64_t)len * 8 / (unsigned)width : count;
    h->p = h->end;
}

static bool read_varint32(struct parquet_hybrid *h, uint32_t *out)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
        if (h->p >= h->end)
            return false;
        uint8_t byte = *h->p++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *out = (uint32_t)v;
            return v <= UINT32_MAX;
        }
    }
    return false;
}

/* A run whose last group was cut short by its writer has the values that its bytes hold. */
static bool begin_packed(struct parquet_hybrid *h, uint64_t groups)
{
    size_t avail = (size_t)(h->end - h->p);
    uint64_t bytes = groups * (unsigned)h->width;
    h->packed = h->p;
    h->packed_at = 0;
    h->packed_count = groups * 8;
    if (bytes > avail) {
        bytes = avail;
        h->packed_count = (uint64_t)avail * 8 / (unsigned)h->width;
    }
    h->packed_bytes = (size_t)bytes;
    h->p += bytes;
    return h->packed_count > 0;
}

static bool begin_repeated(struct parquet_hybrid *h, uint32_t count)
{
    int bytes = (h->width + 7) / 8;
    if (h->end - h->p < bytes)
        return false;
    uint32_t v = 0;
    for (int i = 0; i < bytes; i++)
        v |= (uint32_t)h->p[i] << (8 * i);
    h->p += bytes;
    h->value = v;
    h->repeated = count;
    return count > 0 && (h->width == 32 || v >> h->width == 0);
}

/* Makes the next run the current one; false at the end of the data and for malformed runs. */
static bool next_run(struct parquet_hybrid *h)
{
    uint32_t header;
    if (!read_varint32(h, &header)) {
        h->p = h->end;
        return false;
    }
    bool ok = header & 1 ? begin_packed(h, header >> 1) : begin_repeated(h, header >> 1);
    if (!ok) {
        h->p = h->end;
        h->repeated = 0;
        h->packed_at = h->packed_count = 0;
    }
    return ok;
}

bool parquet_hybrid_all_zero(struct parquet_hybrid *h)
{
    uint32_t header;
    while (h->p < h->end)
        if (!read_varint32(h, &header))
            return false;
    h->value = 0;
    h->repeated = UINT64_MAX;
    return true;
}

/* Number of the current run's values, at most `want`; moves to the next run when there are none. */
SL_INLINE size_t run_left(struct parquet_hybrid *h, size_t want, bool *packed)
{
    if (h->repeated == 0 && h->packed_at == h->packed_count && !next_run(h))
        return 0;
    *packed = h->repeated == 0;
    uint64_t left = *packed ? h->packed_count - h->packed_at : h->repeated;
    return left < want ? (size_t)left : want;
}

/* One packed value, never touching a byte outside the run. */
static uint32_t packed_value(const struct parquet_hybrid *h, uint64_t index)
{
    uint64_t bit = index * (unsigned)h->width, v = 0;
    size_t at = (size_t)(bit >> 3), bytes = (((size_t)bit & 7) + (unsigned)h->width + 7) >> 3;
    if (h->msb_first) {
        for (size_t i = 0; i < bytes; i++)
            v = v << 8 | h->packed[at + i];
        v >>= bytes * 8 - (bit & 7) - (unsigned)h->width;
    } else {
        for (size_t i = 0; i < bytes; i++)
            v |= (uint64_t)h->packed[at + i] << (8 * i);
        v >>= bit & 7;
    }
    return (uint32_t)(v & ((UINT64_C(1) << h->width) - 1));
}

static void unpack(struct parquet_hybrid *h, uint32_t *out, size_t count)
{
    uint64_t at = h->packed_at;
    unsigned width = (unsigned)h->width;
    h->packed_at += count;
    if (width == 0) {
        memset(out, 0, count * sizeof *out);
        return;
    }
    if (!h->msb_first) {
        /* what lies behind the run is still of our data: it may be touched, not used */
        size_t bytes = (size_t)(h->end - h->packed);
        for (; count > 0 && (at & 7); count--)
            *out++ = packed_value(h, at++);
        size_t byte = (size_t)(at / 8) * width, step = (size_t)4 * width;
        if (count >= 16 && width <= UNPACK_AVX2_WIDTH && sl_cpu_avx2()) {
            size_t done = unpack_avx2(h->packed + byte, bytes - byte, h->width, out, count);
            at += done;
            out += done;
            count -= done;
            byte += done / 8 * width;
        }
        for (; count >= 32 && bytes - byte >= step + 8; count -= 32, at += 32, out += 32, byte += step)
            parquet_unpack32(h->packed + byte, h->width, out);
        uint64_t mask = (UINT64_C(1) << width) - 1;
        for (; count >= 8 && bytes - byte >= width + 8; count -= 8, at += 8, byte += width)
            for (unsigned i = 0; i < 8; i++)
                *out++ = (uint32_t)(load_le64(h->packed + byte + i * width / 8) >> (i * width % 8) & mask);
        if (bytes - byte >= width + 8)
            for (unsigned i = 0; count > 0; count--, i++, at++)
                *out++ = (uint32_t)(load_le64(h->packed + byte + i * width / 8) >> (i * width % 8) & mask);
    }
    while (count-- > 0)
        *out++ = packed_value(h, at++);
}

size_t parquet_hybrid_read(struct parquet_hybrid *h, uint32_t *out, size_t count)
{
    size_t done = 0;
    while (done < count) {
        bool packed = false;
        size_t n = run_left(h, count - done, &packed);
        if (n == 0)
            break;
        if (packed) {
            unpack(h, out + done, n);
        } else {
            uint32_t v = h->value;
            for (size_t i = 0; i < n; i++)
                out[done + i] = v;
            h->repeated -= n;
        }
        done += n;
    }
    return done;
}

/* Packed values of at most 8 bits: eight of them are in one word. Gives how many it unpacked, at most `count`. */
static size_t unpack_bytes(struct parquet_hybrid *h, uint8_t *out, size_t count)
{
    uint32_t block[128];
    unsigned width = (unsigned)h->width;
    size_t byte = (size_t)(h->packed_at / 8) * width, bytes = (size_t)(h->end - h->packed), done = 0;
    if (!h->msb_first && (h->packed_at & 7) == 0 && width > 0) {
        uint64_t mask = (UINT64_C(1) << width) - 1;
        for (; count - done >= 8 && bytes - byte >= 8; done += 8, byte += width) {
            uint64_t word = load_le64(h->packed + byte);
            for (unsigned i = 0; i < 8; i++)
                out[done + i] = (uint8_t)(word >> (i * width) & mask);
        }
        h->packed_at += done;
        if (done > 0)
            return done;
    }
    size_t n = count < 128 ? count : 128;
    if (!h->msb_first && (h->packed_at & 7) != 0 && n > 8 - (h->packed_at & 7))
        n = 8 - (size_t)(h->packed_at & 7); /* up to where a word begins */
    unpack(h, block, n);
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)block[i];
    return n;
}

size_t parquet_hybrid_bytes(struct parquet_hybrid *h, uint8_t *out, size_t count)
{
    size_t done = 0;
    while (done < count) {
        bool packed = false;
        size_t n = run_left(h, count - done, &packed);
        if (n == 0)
            break;
        if (!packed) {
            memset(out + done, (int)(h->value & 0xff), n);
            h->repeated -= n;
        } else {
            n = unpack_bytes(h, out + done, n);
        }
        done += n;
    }
    return done;
}

size_t parquet_hybrid_bits(struct parquet_hybrid *h, uint8_t *bits, size_t from, size_t count)
{
    size_t done = 0;
    while (done < count) {
        bool packed = false;
        size_t n = run_left(h, count - done, &packed);
        if (n == 0)
            break;
        if (!packed) {
            parquet_bits_fill(bits, from + done, n, h->value != 0);
            h->repeated -= n;
        } else if (!h->msb_first) {
            parquet_bits_copy(bits, from + done, h->packed, (size_t)h->packed_at, n);
            h->packed_at += n;
        } else {
            for (size_t i = 0; i < n; i++)
                parquet_bits_fill(bits, from + done + i, 1, packed_value(h, h->packed_at + i) != 0);
            h->packed_at += n;
        }
        done += n;
    }
    return done;
}

size_t parquet_hybrid_skip(struct parquet_hybrid *h, size_t count)
{
    size_t done = 0;
    while (done < count) {
        bool packed = false;
        size_t n = run_left(h, count - done, &packed);
        if (n == 0)
            break;
        if (packed)
            h->packed_at += n;
        else
            h->repeated -= n;
        done += n;
    }
    return done;
}
