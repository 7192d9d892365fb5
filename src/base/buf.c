/* A growing byte buffer. Capacity doubles, but never past the bound, so a bad length ends in an error, not in
 * swap. */
#include "base/base.h"
#include <stdio.h>

#define CAP_MIN ((size_t)64)

sl_status sl_buf_reserve(sl_buf *buf, size_t more)
{
    if (SL_LIKELY(more <= buf->cap - buf->len))
        return SL_OK;
    size_t need;
    if (sl_add_overflows(buf->len, more, &need))
        return sl_nomem();
    if (buf->max && need > buf->max)
        return sl_corrupt("%zu bytes are more than the %zu that are allowed here", need, buf->max);
    size_t cap = buf->cap < CAP_MIN ? CAP_MIN : buf->cap;
    while (cap < need) {
        if (sl_mul_overflows(cap, 2, &cap))
            cap = need;
    }
    if (buf->max && cap > buf->max)
        cap = buf->max;
    uint8_t *data = sl_realloc(buf->data, cap);
    if (!data)
        return sl_nomem();
    buf->data = data;
    buf->cap = cap;
    return SL_OK;
}

sl_status sl_buf_append(sl_buf *buf, const void *data, size_t len)
{
    if (len == 0)
        return SL_OK;
    SL_TRY(sl_buf_reserve(buf, len));
    memcpy(buf->data + buf->len, data, len);
    buf->len += len;
    return SL_OK;
}

sl_status sl_buf_append_base64(sl_buf *buf, const uint8_t *data, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < len; i += 3) {
        size_t have = len - i < 3 ? len - i : 3;
        uint32_t word = (uint32_t)data[i] << 16 | (have > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
                        (have > 2 ? data[i + 2] : 0);
        char quad[4] = {digits[word >> 18], digits[word >> 12 & 63], digits[word >> 6 & 63],
                        digits[word & 63]};
        for (size_t j = have + 1; j < 4; j++)
            quad[j] = '=';
        SL_TRY(sl_buf_append(buf, quad, 4));
    }
    return SL_OK;
}

sl_status sl_buf_byte(sl_buf *buf, uint8_t byte)
{
    SL_TRY(sl_buf_reserve(buf, 1));
    buf->data[buf->len++] = byte;
    return SL_OK;
}

/* Puts `len` formatted bytes at the end. Without its NUL when that would be one byte past the bound. */
static sl_status append_formatted(sl_buf *buf, size_t len, const char *format, va_list args)
{
    if (!buf->max || buf->max - buf->len > len) {
        SL_TRY(sl_buf_reserve(buf, len + 1));
        vsnprintf((char *)buf->data + buf->len, len + 1, format, args);
        buf->len += len;
        return SL_OK;
    }
    char *text = sl_malloc(len + 1);
    if (!text)
        return sl_nomem();
    vsnprintf(text, len + 1, format, args);
    sl_status status = sl_buf_append(buf, text, len);
    sl_free(text);
    return status;
}

sl_status sl_buf_printf(sl_buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len < 0)
        return sl_internal("the format \"%s\" could not be printed", format);
    va_start(args, format);
    sl_status status = append_formatted(buf, (size_t)len, format, args);
    va_end(args);
    return status;
}

void sl_buf_free(sl_buf *buf)
{
    sl_free(buf->data);
    buf->data = NULL;
    buf->len = buf->cap = 0;
}

sl_status sl_buf_take_string(sl_buf *buf, char **out)
{
    /* The NUL is not content: it may lie past the bound. */
    size_t bytes;
    uint8_t *data = sl_add_overflows(buf->len, 1, &bytes) ? NULL : sl_realloc(buf->data, bytes);
    if (!data)
        return sl_nomem();
    data[buf->len] = 0;
    *out = (char *)data;
    buf->data = NULL;
    buf->len = buf->cap = 0;
    return SL_OK;
}
