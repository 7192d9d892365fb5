/*
 * A checksum of the footer. Parquet has one for pages and none for the footer, where one flipped bit of a name makes a column
 * of nulls, and one of a bound leaves out rows, all without an error. So our files carry an entry among the key-values,
 *
 *   sluice.footer.crc32 = 8 hexadecimal digits: the CRC-32 of the whole footer with these digits taken for zeros
 *
 * which other programs ignore. One that writes a file anew may keep the entry though it no longer fits: it counts only
 * where sluice's name as the maker of the file follows it. Both are looked for as bytes, since what is decoded from a damaged
 * footer may lack them.
 */
#include "parquet/parquet_int.h"
#include <stdio.h>

#define DIGITS 8
/* As the compact protocol has them: the key, field 2 of the entry with a text of 8 bytes; behind the digits the end of the
 * entry, field 6 of the footer with a text of some length. */
static const char before_digits[] = PARQUET_FOOTER_CHECKSUM "\x18\x08";
static const char after_digits[] = "\0\x18";
static const char maker[] = "sluice ";
enum {
    BEFORE = sizeof before_digits - 1,
    AFTER = sizeof after_digits - 1 + 1 + sizeof maker - 1,
    ENTRY = BEFORE + DIGITS + AFTER,
};

static bool is_entry(const uint8_t *p)
{
    const uint8_t *behind = p + BEFORE + DIGITS;
    return memcmp(p, before_digits, BEFORE) == 0 && memcmp(behind, after_digits, 2) == 0 &&
           memcmp(behind + 3, maker, sizeof maker - 1) == 0;
}

/* Where the digits are. The entry is the last one, so from the end. */
static bool find_digits(const uint8_t *footer, size_t len, size_t *at)
{
    for (size_t end = len; end >= ENTRY; end--)
        if (is_entry(footer + end - ENTRY)) {
            *at = end - ENTRY + BEFORE;
            return true;
        }
    return false;
}

static void compute_digits(const uint8_t *footer, size_t len, size_t at, char digits[DIGITS + 1])
{
    uint32_t crc = sl_crc32(0, footer, at);
    crc = sl_crc32(crc, PARQUET_FOOTER_UNSEALED, DIGITS);
    crc = sl_crc32(crc, footer + at + DIGITS, len - at - DIGITS);
    snprintf(digits, DIGITS + 1, "%08" PRIx32, crc);
}

void parquet_footer_seal(uint8_t *footer, size_t len)
{
    size_t at;
    char digits[DIGITS + 1];
    if (!find_digits(footer, len, &at)) /* the file has another maker */
        return;
    compute_digits(footer, len, at, digits);
    memcpy(footer + at, digits, DIGITS);
}

sl_status parquet_footer_check(const uint8_t *footer, size_t len, uint64_t file_offset)
{
    size_t at;
    char digits[DIGITS + 1];
    if (!find_digits(footer, len, &at))
        return SL_OK;
    compute_digits(footer, len, at, digits);
    if (memcmp(footer + at, digits, DIGITS) != 0)
        return sl_corrupt("file footer at %" PRIu64 ": its checksum is %s, it says %.*s", file_offset, digits,
                          DIGITS, (const char *)footer + at);
    return SL_OK;
}
