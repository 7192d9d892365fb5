/* Randomness from the system only: names of files must not repeat across processes and machines. */
#include "base/base.h"
#include <errno.h>
#include <sys/random.h>

sl_status sl_random_bytes(void *out, size_t len)
{
    uint8_t *p = out;
    while (len > 0) {
        ssize_t n = getrandom(p, len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return sl_io("random bytes of the system: %s", strerror(errno));
        p += n;
        len -= (size_t)n;
    }
    return SL_OK;
}

sl_status sl_uuid4(char *out)
{
    static const char hex[] = "0123456789abcdef";
    uint8_t bytes[16];
    SL_TRY(sl_random_bytes(bytes, sizeof bytes));
    bytes[6] = (uint8_t)((bytes[6] & 0x0F) | 0x40); /* RFC 4122: version 4 */
    bytes[8] = (uint8_t)((bytes[8] & 0x3F) | 0x80); /* ... and its variant */
    for (size_t i = 0; i < sizeof bytes; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *out++ = '-';
        *out++ = hex[bytes[i] >> 4];
        *out++ = hex[bytes[i] & 15];
    }
    *out = 0;
    return SL_OK;
}
