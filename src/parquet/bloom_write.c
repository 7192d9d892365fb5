/*
 * Split-block Bloom filters, written (spec/parquet.md 7).
 *
 * Without a number of distinct values to expect the filter is first made for all values as if they were distinct.
 * How many there really were shows in the share of bits that stayed clear: a value sets one bit in each word of
 * its block, so with L values a block a bit stays clear with probability exp(-L / 32). Then the filter is folded
 * to the smallest size that keeps the wanted rate: the block of a hash is the high part of hash * blocks, so with
 * half as many blocks two neighbours become one, and its bits are those of both.
 */
#include "parquet/write_int.h"

#include <math.h>

#define BLOCK_BYTES 32
#define BLOCK_WORDS 8
#define BLOCKS_MAX  ((size_t)1 << 22) /* 128 MiB: more than a row group of keys needs */
#define FPP_DEFAULT 0.01
#define UNEVEN_LOAD 1.16

static const uint32_t salt[BLOCK_WORDS] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                           0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};

static void insert(uint8_t *blocks, size_t count, uint64_t hash)
{
    uint8_t *block = blocks + (size_t)(((hash >> 32) * count) >> 32) * BLOCK_BYTES;
    for (size_t i = 0; i < BLOCK_WORDS; i++) {
        uint32_t bit = ((uint32_t)hash * salt[i]) >> 27;
        store_le32(block + 4 * i, load_le32(block + 4 * i) | UINT32_C(1) << bit);
    }
}

/* The size of a plain filter with eight hash functions, and what the uneven load of blocks costs on top: 11.2 bits
 * a value for a rate of 1 %, 17 for 0.1 %. */
static size_t blocks_for(double values, double fpp)
{
    double bits = -8.0 * UNEVEN_LOAD * values / log(1 - pow(fpp, 1.0 / 8));
    size_t blocks = 1;
    while (blocks < BLOCKS_MAX && (double)blocks * BLOCK_BYTES * 8 < bits)
        blocks *= 2;
    return blocks;
}

static sl_status make_blocks(struct bloom_builder *b, double values)
{
    b->block_count = blocks_for(values, b->fpp);
    SL_NEW_ARRAY(b->blocks, b->block_count * BLOCK_BYTES);
    return SL_OK;
}

sl_status bloom_start(struct bloom_builder *b, int64_t distinct, double fpp)
{
    b->fpp = fpp > 0 ? fpp : FPP_DEFAULT;
    b->hashes.len = 0;
    sl_free(b->blocks);
    b->blocks = NULL;
    return distinct > 0 ? make_blocks(b, (double)distinct) : SL_OK;
}

static void add_hash(struct bloom_builder *b, uint64_t hash)
{
    if (b->blocks) {
        insert(b->blocks, b->block_count, hash);
    } else {
        memcpy(b->hashes.data + b->hashes.len, &hash, sizeof hash);
        b->hashes.len += sizeof hash;
    }
}

sl_status bloom_add_plain(struct bloom_builder *b, const uint8_t *plain, size_t count, int32_t width)
{
    if (!b->blocks)
        SL_TRY(sl_buf_reserve(&b->hashes, count * sizeof(uint64_t) + 1));
    for (size_t i = 0; i < count; i++) {
        size_t len = width ? (size_t)width : load_le32(plain);
        plain += width ? 0 : 4;
        add_hash(b, sl_xxh64(plain, len));
        plain += len;
    }
    return SL_OK;
}

static double distinct_estimate(const uint8_t *blocks, size_t count)
{
    uint64_t set = 0, bits = (uint64_t)count * BLOCK_BYTES * 8;
    for (size_t i = 0; i < count * BLOCK_BYTES; i += 8)
        set += (uint64_t)sl_popcount64(load_le64(blocks + i));
    double clear = set < bits ? (double)(bits - set) / (double)bits : 0.5 / (double)bits;
    return -32.0 * log(clear) * (double)count;
}

static void fold(struct bloom_builder *b, size_t target)
{
    for (; b->block_count > target; b->block_count /= 2)
        for (size_t i = 0; i < b->block_count / 2; i++)
            for (size_t k = 0; k < BLOCK_BYTES; k += 8) {
                const uint8_t *pair = b->blocks + 2 * i * BLOCK_BYTES + k;
                store_le64(b->blocks + i * BLOCK_BYTES + k, load_le64(pair) | load_le64(pair + BLOCK_BYTES));
            }
}

static sl_status settle_size(struct bloom_builder *b)
{
    size_t count = b->hashes.len / sizeof(uint64_t);
    SL_TRY(make_blocks(b, (double)count));
    for (size_t i = 0; i < count; i++) {
        uint64_t hash;
        memcpy(&hash, b->hashes.data + i * sizeof hash, sizeof hash);
        insert(b->blocks, b->block_count, hash);
    }
    size_t target = blocks_for(ceil(distinct_estimate(b->blocks, b->block_count)), b->fpp);
    if (target < b->block_count)
        fold(b, target);
    return SL_OK;
}

static void put_member(struct thrift_writer *w, int id)
{
    thrift_begin_struct_field(w, id);
    thrift_begin_struct_field(w, 1);
    thrift_end_struct(w);
    thrift_end_struct(w);
}

sl_status bloom_finish(struct bloom_builder *b, sl_buf *out)
{
    if (!b->blocks)
        SL_TRY(settle_size(b));
    struct thrift_writer w;
    thrift_writer_init(&w, out);
    thrift_begin_struct(&w);
    thrift_put_i32(&w, 1, (int32_t)(b->block_count * BLOCK_BYTES));
    put_member(&w, 2); /* algorithm: BLOCK */
    put_member(&w, 3); /* hash: XXHASH */
    put_member(&w, 4); /* compression: UNCOMPRESSED */
    thrift_end_struct(&w);
    SL_TRY(thrift_writer_status(&w));
    return sl_buf_append(out, b->blocks, b->block_count * BLOCK_BYTES);
}

size_t bloom_memory(const struct bloom_builder *b)
{
    return b->hashes.cap + (b->blocks ? b->block_count * BLOCK_BYTES : 0);
}

void bloom_free(struct bloom_builder *b)
{
    sl_buf_free(&b->hashes);
    sl_free(b->blocks);
    *b = (struct bloom_builder){0};
}
