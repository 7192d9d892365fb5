/*
 * The dictionary of a column chunk: an open-addressing hash table from value to index over the dictionary
 * page's own bytes, so that the page needs no second copy and a comparison touches one place.
 *
 * A table entry carries 32 bits of the hash beside the index; a probe compares those before it looks at the
 * value. Hashes of a block are computed in one loop and looked up in a second one: the processor can then
 * overlap the cache misses of neighbouring values. A value equal to its predecessor is not looked up at all,
 * which makes constant and sorted columns nearly free. Values that come with a dictionary of their own are looked up
 * once an entry: afterwards an array maps that dictionary's indexes to ours.
 */
#include "parquet/write_int.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define TABLE_MIN (4 * (size_t)WRITE_BLOCK)

/* Room for a block of new values: the probe loops then never allocate but for the bytes of new strings. */
static sl_status dictionary_reserve(struct dictionary *d)
{
    size_t want = d->count + (size_t)WRITE_BLOCK;
    if (d->stale) {
        memset(d->table, 0, d->table_size * sizeof *d->table);
        d->stale = false;
    }
    if (d->width == 0 && want > d->capacity) {
        size_t capacity = d->capacity ? d->capacity * 2 : 2 * (size_t)WRITE_BLOCK;
        uint32_t *offsets = sl_realloc_array(d->offsets, capacity, sizeof *offsets);
        if (!offsets)
            return sl_nomem();
        d->offsets = offsets;
        uint32_t *stamps = sl_realloc_array(d->stamps, capacity, sizeof *stamps);
        if (!stamps)
            return sl_nomem();
        d->stamps = stamps;
        d->capacity = capacity;
    }
    if (d->width)
        SL_TRY(sl_buf_reserve(&d->storage, (size_t)d->width * WRITE_BLOCK));
    if (want * 2 <= d->table_size)
        return SL_OK;
    size_t size = d->table_size ? d->table_size * 2 : TABLE_MIN;
    uint64_t *table;
    SL_NEW_ARRAY(table, size);
    /* The slot is the low part of the hash, of which an entry keeps only the high 32 bits: these give the
     * slot. */
    for (size_t i = 0; i < d->table_size; i++) {
        uint64_t entry = d->table[i];
        if (!entry)
            continue;
        size_t slot = (size_t)(entry >> 32) & (size - 1);
        while (table[slot])
            slot = (slot + 1) & (size - 1);
        table[slot] = entry;
    }
    sl_free(d->table);
    d->table = table;
    d->table_size = size;
    return SL_OK;
}

SL_INLINE uint32_t hash_word(uint64_t v)
{
    v = (v ^ v >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(v >> 32);
}

/* `width` is a constant in each caller, so the loops are compiled once a width. */
SL_INLINE uint64_t load_word(const uint8_t *p, int width) { return width == 4 ? load_le32(p) : load_le64(p); }

SL_INLINE void encode_words(struct dictionary *d, const uint8_t *values, size_t count, uint32_t *indexes,
                            int width)
{
    uint32_t hashes[WRITE_BLOCK];
    for (size_t i = 0; i < count; i++)
        hashes[i] = hash_word(load_word(values + i * (size_t)width, width));
    uint64_t *table = d->table;
    size_t mask = d->table_size - 1;
    uint8_t *storage = d->storage.data;
    uint32_t known = d->count;
    uint64_t previous = ~load_word(values, width);
    uint32_t index = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t v = load_word(values + i * (size_t)width, width);
        if (v != previous) {
            previous = v;
            uint32_t hash = hashes[i];
            size_t slot = hash & mask;
            for (;; slot = (slot + 1) & mask) {
                uint64_t entry = table[slot];
                if (!entry) {
                    index = known++;
                    table[slot] = (uint64_t)hash << 32 | (index + 1);
                    memcpy(storage + (size_t)index * (size_t)width, values + i * (size_t)width,
                           (size_t)width);
                    break;
                }
                index = (uint32_t)entry - 1;
                if ((uint32_t)(entry >> 32) == hash &&
                    load_word(storage + (size_t)index * (size_t)width, width) == v)
                    break;
            }
        }
        indexes[i] = index;
    }
    d->count = known;
    d->storage.len = (size_t)known * (size_t)width;
}

/* Keys of up to 16 bytes are the usual case and take two loads and a multiplication. */
SL_INLINE uint32_t hash_bytes(const uint8_t *p, size_t len)
{
    uint64_t a, b;
    if (len > 16)
        return (uint32_t)(XXH3_64bits(p, len) >> 32);
    if (len >= 8) {
        a = load_le64(p);
        b = load_le64(p + len - 8);
    } else if (len >= 4) {
        a = load_le32(p);
        b = load_le32(p + len - 4);
    } else if (len > 0) {
        a = p[0] | (uint64_t)p[len / 2] << 8;
        b = p[len - 1];
    } else {
        a = b = 0;
    }
    sl_u128 product = (sl_u128)(a ^ UINT64_C(0x9e3779b97f4a7c15)) *
                      (b ^ UINT64_C(0xe7037ed1a0b428db) ^ (uint64_t)len << 56);
    uint64_t folded = (uint64_t)(product >> 64) ^ (uint64_t)product;
    return (uint32_t)(folded ^ folded >> 32);
}

static void encode_wide(struct dictionary *d, const uint8_t *values, size_t count, uint32_t *indexes)
{
    size_t width = (size_t)d->width, mask = d->table_size - 1;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *v = values + i * width;
        uint32_t hash = hash_bytes(v, width);
        for (size_t slot = hash & mask;; slot = (slot + 1) & mask) {
            uint64_t entry = d->table[slot];
            if (!entry) {
                indexes[i] = d->count++;
                d->table[slot] = (uint64_t)hash << 32 | d->count;
                memcpy(d->storage.data + d->storage.len, v, width);
                d->storage.len += width;
                break;
            }
            indexes[i] = (uint32_t)entry - 1;
            if ((uint32_t)(entry >> 32) == hash &&
                memcmp(d->storage.data + indexes[i] * width, v, width) == 0)
                break;
        }
    }
}

sl_status dictionary_encode_fixed(struct dictionary *d, const uint8_t *values, size_t count,
                                  uint32_t *indexes)
{
    if (!count)
        return SL_OK;
    SL_TRY(dictionary_reserve(d));
    if (d->width == 4)
        encode_words(d, values, count, indexes, 4);
    else if (d->width == 8)
        encode_words(d, values, count, indexes, 8);
    else
        encode_wide(d, values, count, indexes);
    return SL_OK;
}

/* memcmp == 0 by overlapping words: most keys are 4 to 32 bytes, where a call costs more than the comparison.
 */
SL_INLINE bool same_bytes(const uint8_t *a, const uint8_t *b, size_t len)
{
    if (len >= 8) {
        if (len > 32)
            return memcmp(a, b, len) == 0;
        for (size_t i = 0; i + 8 <= len; i += 8)
            if (load_le64(a + i) != load_le64(b + i))
                return false;
        return load_le64(a + len - 8) == load_le64(b + len - 8);
    }
    if (len >= 4)
        return load_le32(a) == load_le32(b) && load_le32(a + len - 4) == load_le32(b + len - 4);
    for (size_t i = 0; i < len; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

static sl_status add_bytes(struct dictionary *d, const uint8_t *data, size_t len)
{
    if (d->storage.len + 4 + len > INT32_MAX) /* page sizes are int32 */
        return sl_input("a value of %zu bytes is too long for a page", len);
    SL_TRY(sl_buf_reserve(&d->storage, 4 + len));
    uint8_t *p = d->storage.data + d->storage.len;
    store_le32(p, (uint32_t)len);
    if (len)
        memcpy(p + 4, data, len);
    d->offsets[d->count] = (uint32_t)d->storage.len;
    d->stamps[d->count] = 0;
    d->count++;
    d->storage.len += 4 + len;
    return SL_OK;
}

static void drop_source(struct dictionary *d)
{
    sl_array_unref(d->source);
    sl_free(d->mapping);
    d->source = NULL;
    d->mapping = NULL;
}

/* Makes `array` the dictionary that `mapping` is about. */
static sl_status use_source(struct dictionary *d, const sl_array *array)
{
    if (d->source == array)
        return SL_OK;
    drop_source(d);
    size_t entries = (size_t)array->length;
    d->mapping = sl_realloc_array(NULL, entries ? entries : 1, sizeof *d->mapping);
    if (!d->mapping)
        return sl_nomem();
    memset(d->mapping, 0xff, entries * sizeof *d->mapping); /* DICTIONARY_UNMAPPED */
    /* Arrays are immutable but for their count of references. */
    d->source = sl_array_ref((sl_array *)array);
    return SL_OK;
}

static sl_status encode_bytes(struct dictionary *d, const struct value_view *view, uint32_t *indexes);

/* Entries not yet met are collected, looked up together and then known. */
static sl_status encode_mapped(struct dictionary *d, const struct value_view *view, uint32_t *indexes)
{
    SL_TRY(use_source(d, view->array));
    int32_t fresh[WRITE_BLOCK];
    uint32_t found[WRITE_BLOCK];
    struct value_view missing = {.array = view->array, .slots = fresh};
    for (size_t i = 0; i < view->count; i++) {
        indexes[i] = d->mapping[view->slots[i]];
        if (indexes[i] == DICTIONARY_UNMAPPED)
            fresh[missing.count++] = view->slots[i];
    }
    if (missing.count == 0)
        return SL_OK;
    SL_TRY(encode_bytes(d, &missing, found));
    for (size_t i = 0; i < missing.count; i++)
        d->mapping[fresh[i]] = found[i];
    for (size_t i = 0; i < view->count; i++)
        indexes[i] = d->mapping[view->slots[i]];
    return SL_OK;
}

sl_status dictionary_encode_bytes(struct dictionary *d, const struct value_view *view, uint32_t *indexes)
{
    return view->dictionary && view->slots ? encode_mapped(d, view, indexes) : encode_bytes(d, view, indexes);
}

static sl_status encode_bytes(struct dictionary *d, const struct value_view *view, uint32_t *indexes)
{
    SL_TRY(dictionary_reserve(d));
    const int32_t *offsets = view->array->offsets;
    const uint8_t *values = view->array->values;
    uint32_t hashes[WRITE_BLOCK];
    for (size_t i = 0; i < view->count; i++) {
        int64_t row = view->slots ? view->slots[i] : view->first + (int64_t)i;
        hashes[i] = hash_bytes(values + offsets[row], (size_t)(offsets[row + 1] - offsets[row]));
    }
    size_t mask = d->table_size - 1;
    const uint8_t *previous = NULL;
    size_t previous_len = 0;
    for (size_t i = 0; i < view->count; i++) {
        int64_t row = view->slots ? view->slots[i] : view->first + (int64_t)i;
        const uint8_t *v = values + offsets[row];
        size_t len = (size_t)(offsets[row + 1] - offsets[row]);
        uint32_t hash = hashes[i];
        if (i > 0 && hash == hashes[i - 1] && len == previous_len && same_bytes(previous, v, len)) {
            indexes[i] = indexes[i - 1];
            continue;
        }
        previous = v;
        previous_len = len;
        for (size_t slot = hash & mask;; slot = (slot + 1) & mask) {
            uint64_t entry = d->table[slot];
            if (!entry) {
                SL_TRY(add_bytes(d, v, len));
                indexes[i] = d->count - 1;
                d->table[slot] = (uint64_t)hash << 32 | d->count;
                break;
            }
            if ((uint32_t)(entry >> 32) != hash)
                continue;
            uint32_t index = (uint32_t)entry - 1;
            const uint8_t *known = d->storage.data + d->offsets[index];
            if (load_le32(known) == len && same_bytes(known + 4, v, len)) {
                indexes[i] = index;
                break;
            }
        }
    }
    return SL_OK;
}

const uint8_t *dictionary_entry(const struct dictionary *d, uint32_t index, size_t *len)
{
    if (d->width) {
        *len = (size_t)d->width;
        return d->storage.data + index * *len;
    }
    const uint8_t *p = d->storage.data + d->offsets[index];
    *len = load_le32(p);
    return p + 4;
}

sl_status dictionary_append_plain(const struct dictionary *d, const uint32_t *indexes, size_t count,
                                  sl_buf *out)
{
    for (size_t i = 0; i < count; i++) {
        size_t len;
        const uint8_t *p = dictionary_entry(d, indexes[i], &len);
        if (d->width)
            SL_TRY(sl_buf_append(out, p, len));
        else
            SL_TRY(sl_buf_append(out, p - 4, len + 4));
    }
    return SL_OK;
}

size_t dictionary_memory(const struct dictionary *d)
{
    return d->storage.cap + d->capacity * 2 * sizeof(uint32_t) + d->table_size * sizeof(uint64_t) +
           (d->source ? (size_t)d->source->length * sizeof *d->mapping : 0);
}

void dictionary_clear(struct dictionary *d)
{
    drop_source(d);
    d->storage.len = 0;
    d->count = 0;
    d->stale = d->table != NULL; /* emptied when it is wanted again: after the last row group it is not */
}

void dictionary_free(struct dictionary *d)
{
    int32_t width = d->width;
    drop_source(d);
    sl_buf_free(&d->storage);
    sl_free(d->offsets);
    sl_free(d->stamps);
    sl_free(d->table);
    *d = (struct dictionary){.width = width};
}
