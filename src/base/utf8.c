/* UTF-8: validity, decoding, and Java's order of strings without converting them. */
#include "base/base.h"

/* Bytes of the valid sequence at p (Unicode 15, table 3-7), or 0. */
static size_t sequence_bytes(const uint8_t *p, size_t left)
{
    uint8_t lead = p[0];
    if (lead < 0x80)
        return 1;
    uint8_t second_min = 0x80, second_max = 0xBF;
    size_t n;
    if (lead >= 0xC2 && lead <= 0xDF) {
        n = 2;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
        n = 3;
        if (lead == 0xE0)
            second_min = 0xA0; /* overlong below */
        if (lead == 0xED)
            second_max = 0x9F; /* surrogates above */
    } else if (lead >= 0xF0 && lead <= 0xF4) {
        n = 4;
        if (lead == 0xF0)
            second_min = 0x90; /* overlong below */
        if (lead == 0xF4)
            second_max = 0x8F; /* past U+10FFFF above */
    } else {
        return 0;
    }
    if (left < n || p[1] < second_min || p[1] > second_max)
        return 0;
    for (size_t i = 2; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    }
    return n;
}

size_t sl_utf8_valid_prefix(const void *data, size_t len)
{
    const uint8_t *p = data;
    size_t pos = 0;
    while (pos < len) {
        if (p[pos] < 0x80) {
            /* Most text is ASCII: eight bytes at a time. */
            while (len - pos >= 8 && (load_le64(p + pos) & UINT64_C(0x8080808080808080)) == 0)
                pos += 8;
            while (pos < len && p[pos] < 0x80)
                pos++;
            continue;
        }
        size_t n = sequence_bytes(p + pos, len - pos);
        if (n == 0)
            return pos;
        pos += n;
    }
    return len;
}

size_t sl_utf8_cut(const char *text, size_t at)
{
    size_t cut = at;
    while (cut > 0 && at - cut < 4 && ((unsigned char)text[cut] & 0xC0) == 0x80)
        cut--;
    return cut;
}

uint32_t sl_utf8_next(const uint8_t *data, size_t len, size_t *pos)
{
    const uint8_t *p = data + *pos;
    size_t left = len - *pos;
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    if (n > left) /* not valid: never past the end all the same */
        n = 1;
    *pos += n;
    switch (n) {
    case 1:
        return p[0];
    case 2:
        return (uint32_t)(p[0] & 0x1F) << 6 | (uint32_t)(p[1] & 0x3F);
    case 3:
        return (uint32_t)(p[0] & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (uint32_t)(p[2] & 0x3F);
    default:
        return (uint32_t)(p[0] & 0x07) << 18 | (uint32_t)(p[1] & 0x3F) << 12 | (uint32_t)(p[2] & 0x3F) << 6 |
               (uint32_t)(p[3] & 0x3F);
    }
}

/*
 * UTF-8 bytes order like code points. UTF-16 units order differently in one place only: code points from
 * U+10000 are written as surrogates D800..DFFF, which come before U+E000..U+FFFF. In UTF-8 the former begin
 * with F0..F4, the latter with EE or EF, and two valid texts first differ either in such lead bytes or inside
 * one sequence, where both orders agree. So it is enough to look at the first byte that differs.
 */
int sl_utf16_compare(const void *a, size_t a_len, const void *b, size_t b_len)
{
    const uint8_t *x = a, *y = b;
    size_t n = a_len < b_len ? a_len : b_len, i = 0;
    while (n - i >= 8 && load_le64(x + i) == load_le64(y + i))
        i += 8;
    while (i < n && x[i] == y[i])
        i++;
    if (i == n)
        return (a_len > b_len) - (a_len < b_len);
    bool swapped = x[i] >= 0xEE && y[i] >= 0xEE && (x[i] >= 0xF0) != (y[i] >= 0xF0);
    return (x[i] < y[i]) != swapped ? -1 : 1;
}
