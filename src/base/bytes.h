/* Unaligned loads and stores of integers with a stated byte order, and small bit helpers. */
#ifndef SL_BASE_BYTES_H
#define SL_BASE_BYTES_H

#include "base/compiler.h"
#include <string.h>

/* Every machine we build for is little endian; base/bytes.c refuses to compile elsewhere. */
SL_INLINE uint16_t load_le16(const void *p)
{
    uint16_t v;
    memcpy(&v, p, 2);
    return v;
}
SL_INLINE uint32_t load_le32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}
SL_INLINE uint64_t load_le64(const void *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}
SL_INLINE uint32_t load_be32(const void *p) { return __builtin_bswap32(load_le32(p)); }
SL_INLINE uint64_t load_be64(const void *p) { return __builtin_bswap64(load_le64(p)); }
SL_INLINE void store_le16(void *p, uint16_t v) { memcpy(p, &v, 2); }
SL_INLINE void store_le32(void *p, uint32_t v) { memcpy(p, &v, 4); }
SL_INLINE void store_le64(void *p, uint64_t v) { memcpy(p, &v, 8); }
SL_INLINE void store_be32(void *p, uint32_t v) { store_le32(p, __builtin_bswap32(v)); }
SL_INLINE void store_be64(void *p, uint64_t v) { store_le64(p, __builtin_bswap64(v)); }

SL_INLINE bool bit_get(const uint8_t *bits, int64_t i) { return (bits[i >> 3] >> (i & 7)) & 1; }
SL_INLINE void bit_set(uint8_t *bits, int64_t i) { bits[i >> 3] = (uint8_t)(bits[i >> 3] | (1u << (i & 7))); }
SL_INLINE void bit_clear(uint8_t *bits, int64_t i)
{
    bits[i >> 3] = (uint8_t)(bits[i >> 3] & ~(1u << (i & 7)));
}
SL_INLINE size_t bitmap_bytes(int64_t bits) { return (size_t)((bits + 7) >> 3); }

/* First 8 bytes of a key as a big-endian number, zero padded: compares like memcmp does (equal prefixes
 * decide nothing). */
SL_INLINE uint64_t key_prefix(const uint8_t *key, size_t len)
{
    if (len >= 8)
        return load_be64(key);
    uint8_t padded[8] = {0};
    if (len > 0)
        memcpy(padded, key, len);
    return load_be64(padded);
}

/* Unsigned lexicographic order, shorter prefix first: the order of record keys (spec/lsm-layout.md 6). */
SL_INLINE int bytes_compare(const void *a, size_t a_len, const void *b, size_t b_len)
{
    size_t n = a_len < b_len ? a_len : b_len;
    int c = n ? memcmp(a, b, n) : 0;
    return c ? c : (a_len > b_len) - (a_len < b_len);
}

#endif
