/* Java's String.hashCode: h = 31 * h + c over the UTF-16 units of the text, in 32 bits that wrap. */
#include "keys/keys.h"

#define HIGH_BITS UINT64_C(0x8080808080808080)

/* The units of ASCII text are its bytes. Eight at a time, so that one multiplication waits for the last, not
 * eight. */
static size_t hash_ascii(const uint8_t *p, size_t len, uint32_t *hash)
{
    uint32_t h = *hash;
    size_t i = 0;
    for (; len - i >= 8 && !(load_le64(p + i) & HIGH_BITS); i += 8) {
        const uint8_t *q = p + i;
        uint32_t low = q[0] * 29791u + q[1] * 961u + q[2] * 31u + q[3];
        uint32_t high = q[4] * 29791u + q[5] * 961u + q[6] * 31u + q[7];
        h = h * 2487512833u /* 31^8 */ + low * 923521u /* 31^4 */ + high;
    }
    for (; i < len && p[i] < 0x80; i++)
        h = h * 31u + p[i];
    *hash = h;
    return i;
}

static uint32_t hash_code_point(uint32_t h, uint32_t c)
{
    if (c < 0x10000)
        return h * 31u + c;
    c -= 0x10000;
    h = h * 31u + (0xd800u + (c >> 10));
    return h * 31u + (0xdc00u + (c & 0x3ff));
}

int32_t sl_java_string_hash(const void *utf8, size_t len)
{
    const uint8_t *p = utf8;
    uint32_t h = 0;
    size_t i = hash_ascii(p, len, &h);
    while (i < len) {
        size_t valid = i + sl_utf8_valid_prefix(p + i, len - i);
        while (i < valid)
            h = hash_code_point(h, sl_utf8_next(p, valid, &i));
        if (i < len) { /* not UTF-8: Java's decoder puts U+FFFD where a byte makes no sense */
            h = hash_code_point(h, 0xfffd);
            i++;
        }
    }
    int32_t result;
    memcpy(&result, &h, 4);
    return result;
}
