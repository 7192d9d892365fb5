/*
 * Hudi's bloom filter of record keys (spec/write-path.md 5.3), bit for bit: what Hudi's bloom index reads from the footer of
 * a base file, and dies without.
 *
 *   SIMPLE       one bit vector
 *   DYNAMIC_V0   rows of such vectors, a new one for every `entries` keys; when there are enough for `entries_max` keys, further
 *                keys go round them
 *
 * How many keys a file will have is known at its end only. So the first `entries` keys are kept as they are: a file that has
 * no more gets a SIMPLE filter made to measure, others a DYNAMIC_V0 one.
 */
#include "keys/keys.h"
#include <math.h>
#include <string.h>

struct bit_vector {
    uint32_t bits, hashes;
    uint8_t *bytes;
};

struct sl_hudi_bloom {
    struct sl_hudi_bloom_options options;
    sl_buf kept; /* length (4 bytes) and bytes of each key; empty once there are rows */
    uint64_t kept_count;
    struct bit_vector *rows;
    size_t row_count;
    uint64_t in_row; /* keys since the newest row was opened */
    bool is_full;    /* keys go round the rows */
    size_t next_row;
};

/* ---- hashing ------------------------------------------------------------------------------------------- */

/* Murmur2 as Hadoop has it: the last bytes are signed and taken from the key's end. */
static uint32_t murmur(const uint8_t *key, size_t len, uint32_t seed)
{
    const uint32_t m = 0x5bd1e995;
    uint32_t h = seed ^ (uint32_t)len;
    for (size_t i = 0; i + 4 <= len; i += 4) {
        uint32_t k = load_le32(key + i) * m;
        h = h * m ^ (k ^ k >> 24) * m;
    }
    size_t tail = len & 3;
    if (tail) {
        if (tail == 3)
            h ^= (uint32_t)(int8_t)key[len - 3] << 16;
        if (tail >= 2)
            h ^= (uint32_t)(int8_t)key[len - 2] << 8;
        h ^= (uint32_t)(int8_t)key[len - 1];
        h *= m;
    }
    h = (h ^ h >> 13) * m;
    return h ^ h >> 15;
}

static uint32_t slot_of(uint32_t hash, uint32_t bits)
{
    int64_t rest = (int64_t)(int32_t)hash % (int64_t)bits; /* Java's remainder, then its absolute value */
    return (uint32_t)(rest < 0 ? -rest : rest);
}

/* ---- one vector ---------------------------------------------------------------------------------------- */

static sl_status vector_init(struct bit_vector *v, uint64_t entries, double fpp)
{
    double bits = ceil((double)entries * -log(fpp) / (log(2) * log(2)));
    if (!(bits >= 1) || bits > INT32_MAX)
        return sl_input("a bloom filter of %" PRIu64
                        " keys (hoodie.index.bloom.num_entries) that errs at %g of them "
                        "(hoodie.index.bloom.fpp) has no usable size",
                        entries, fpp);
    v->bits = (uint32_t)bits;
    v->hashes = (uint32_t)ceil(log(2) * bits / (double)entries);
    v->bytes = sl_calloc((v->bits + 7) / 8, 1);
    return v->bytes ? SL_OK : sl_nomem();
}

static void vector_add(struct bit_vector *v, const uint8_t *key, size_t len)
{
    for (uint32_t i = 0, h = 0; i < v->hashes; i++) {
        h = murmur(key, len, h);
        uint32_t slot = slot_of(h, v->bits);
        v->bytes[slot / 8] |= (uint8_t)(1u << slot % 8);
    }
}

static sl_status append_be32(sl_buf *out, uint32_t value)
{
    uint8_t bytes[4] = {(uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8),
                        (uint8_t)value};
    return sl_buf_append(out, bytes, sizeof bytes);
}

static sl_status append_header(const struct bit_vector *v, sl_buf *out)
{
    static const uint8_t murmur_type = 1;
    SL_TRY(append_be32(out, UINT32_MAX)); /* version -1 */
    SL_TRY(append_be32(out, v->hashes));
    SL_TRY(sl_buf_append(out, &murmur_type, 1));
    return append_be32(out, v->bits);
}

static sl_status append_vector(const struct bit_vector *v, sl_buf *out)
{
    SL_TRY(append_header(v, out));
    return sl_buf_append(out, v->bytes, (v->bits + 7) / 8);
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static sl_status open_row(struct sl_hudi_bloom *b)
{
    struct bit_vector *grown = sl_realloc_array(b->rows, b->row_count + 1, sizeof *grown);
    if (!grown)
        return sl_nomem();
    b->rows = grown;
    SL_TRY(vector_init(&b->rows[b->row_count], b->options.entries, b->options.fpp));
    b->row_count++;
    b->in_row = 0;
    return SL_OK;
}

/* The row for the next key. The first key too many goes to row 0, and so does the one after it. */
static sl_status active_row(struct sl_hudi_bloom *b, size_t *out)
{
    *out = b->row_count - 1;
    if (b->is_full) {
        *out = b->next_row++ % b->row_count;
    } else if (b->row_count == 0 || b->in_row >= b->options.entries) {
        if (b->row_count == 0 || b->row_count * b->options.entries < b->options.entries_max) {
            SL_TRY(open_row(b));
            *out = b->row_count - 1;
        } else {
            b->is_full = true;
            *out = 0;
        }
    }
    return SL_OK;
}

static sl_status add_to_rows(struct sl_hudi_bloom *b, const uint8_t *key, size_t len)
{
    size_t row;
    SL_TRY(active_row(b, &row));
    vector_add(&b->rows[row], key, len);
    b->in_row++;
    return SL_OK;
}

typedef sl_status (*key_sink)(struct sl_hudi_bloom *b, struct bit_vector *v, const uint8_t *key, size_t len);

static sl_status each_kept(struct sl_hudi_bloom *b, key_sink sink, struct bit_vector *v)
{
    for (size_t at = 0; at < b->kept.len;) {
        uint32_t len = load_le32(b->kept.data + at);
        SL_TRY(sink(b, v, b->kept.data + at + 4, len));
        at += 4 + (size_t)len;
    }
    return SL_OK;
}

static sl_status kept_to_rows(struct sl_hudi_bloom *b, struct bit_vector *v, const uint8_t *key, size_t len)
{
    (void)v;
    return add_to_rows(b, key, len);
}

static sl_status kept_to_vector(struct sl_hudi_bloom *b, struct bit_vector *v, const uint8_t *key, size_t len)
{
    (void)b;
    vector_add(v, key, len);
    return SL_OK;
}

/* ---- the filter ---------------------------------------------------------------------------------------- */

sl_status sl_hudi_bloom_new(const struct sl_hudi_bloom_options *options, sl_hudi_bloom **out)
{
    if (options->entries == 0 || options->entries > INT32_MAX || !(options->fpp > 0 && options->fpp < 1))
        return sl_input("a bloom filter of %" PRIu64
                        " keys (hoodie.index.bloom.num_entries) that errs at %g of them "
                        "(hoodie.index.bloom.fpp)",
                        options->entries, options->fpp);
    SL_NEW(*out);
    (*out)->options = *options;
    return SL_OK;
}

sl_status sl_hudi_bloom_add(sl_hudi_bloom *b, const uint8_t *key, size_t len)
{
    uint8_t length[4];
    if (b->row_count)
        return add_to_rows(b, key, len);
    if (b->kept_count == b->options.entries || len > UINT32_MAX) { /* too many to make it to measure */
        SL_TRY(each_kept(b, kept_to_rows, NULL));
        sl_buf_free(&b->kept);
        return add_to_rows(b, key, len);
    }
    store_le32(length, (uint32_t)len);
    SL_TRY(sl_buf_append(&b->kept, length, sizeof length));
    SL_TRY(sl_buf_append(&b->kept, key, len));
    b->kept_count++;
    return SL_OK;
}

static sl_status rows_text(const sl_hudi_bloom *b, sl_buf *out)
{
    sl_buf bytes = {0};
    sl_status status = SL_OK;
    SL_GO(append_header(&b->rows[0], &bytes));
    SL_GO(append_be32(&bytes, (uint32_t)b->options.entries));
    SL_GO(append_be32(&bytes, (uint32_t)b->in_row));
    SL_GO(append_be32(&bytes, (uint32_t)b->row_count));
    for (size_t i = 0; i < b->row_count; i++)
        SL_GO(append_vector(&b->rows[i], &bytes));
    status = sl_buf_append_base64(out, bytes.data, bytes.len);
done:
    sl_buf_free(&bytes);
    return status;
}

static sl_status measured_text(sl_hudi_bloom *b, sl_buf *out)
{
    struct bit_vector v = {0};
    sl_buf bytes = {0};
    sl_status status = SL_OK;
    SL_GO(vector_init(&v, b->kept_count ? b->kept_count : 1, b->options.fpp));
    SL_GO(each_kept(b, kept_to_vector, &v));
    SL_GO(append_vector(&v, &bytes));
    status = sl_buf_append_base64(out, bytes.data, bytes.len);
done:
    sl_free(v.bytes);
    sl_buf_free(&bytes);
    return status;
}

sl_status sl_hudi_bloom_text(sl_hudi_bloom *b, const char **type, sl_buf *out)
{
    *type = b->row_count ? "DYNAMIC_V0" : "SIMPLE";
    return b->row_count ? rows_text(b, out) : measured_text(b, out);
}

void sl_hudi_bloom_free(sl_hudi_bloom *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->row_count; i++)
        sl_free(b->rows[i].bytes);
    sl_free(b->rows);
    sl_buf_free(&b->kept);
    sl_free(b);
}
