/*
 * java.util.Properties text (spec/timeline.md 3.1): Latin-1 bytes, \uXXXX escapes of UTF-16 units,
 * continuation lines. In memory keys and values are UTF-8.
 */
#include "table/table.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- reading ------------------------------------------------------------------------------------------- */

struct reader {
    const uint8_t *at, *end;
};

static bool is_blank(uint8_t c) { return c == ' ' || c == '\t' || c == '\f'; }
static bool is_newline(uint8_t c) { return c == '\n' || c == '\r'; }

static void skip_blanks(struct reader *r)
{
    while (r->at < r->end && is_blank(*r->at))
        r->at++;
}

static void skip_newline(struct reader *r)
{
    if (r->at < r->end && *r->at == '\r')
        r->at++;
    if (r->at < r->end && *r->at == '\n')
        r->at++;
}

static sl_status append_code_point(sl_buf *out, uint32_t c)
{
    uint8_t utf8[4];
    size_t n;
    if (c < 0x80) {
        utf8[0] = (uint8_t)c;
        n = 1;
    } else if (c < 0x800) {
        utf8[0] = (uint8_t)(0xC0 | c >> 6);
        utf8[1] = (uint8_t)(0x80 | (c & 0x3F));
        n = 2;
    } else if (c < 0x10000) {
        utf8[0] = (uint8_t)(0xE0 | c >> 12);
        utf8[1] = (uint8_t)(0x80 | (c >> 6 & 0x3F));
        utf8[2] = (uint8_t)(0x80 | (c & 0x3F));
        n = 3;
    } else {
        utf8[0] = (uint8_t)(0xF0 | c >> 18);
        utf8[1] = (uint8_t)(0x80 | (c >> 12 & 0x3F));
        utf8[2] = (uint8_t)(0x80 | (c >> 6 & 0x3F));
        utf8[3] = (uint8_t)(0x80 | (c & 0x3F));
        n = 4;
    }
    return sl_buf_append(out, utf8, n);
}

static sl_status read_unit(struct reader *r, uint32_t *unit)
{
    uint32_t value = 0;
    if (r->end - r->at < 4)
        return sl_corrupt("properties: \\u needs four hexadecimal digits");
    for (int i = 0; i < 4; i++) {
        uint8_t c = *r->at++;
        uint32_t digit = c >= '0' && c <= '9'                 ? c - 48u
                         : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10u
                                                              : 16u;
        if (digit > 15)
            return sl_corrupt("properties: \\u needs four hexadecimal digits");
        value = value << 4 | digit;
    }
    *unit = value;
    return SL_OK;
}

/* After a backslash. A high surrogate must be followed by \u of a low one. */
static sl_status read_escape(struct reader *r, sl_buf *out)
{
    if (r->at == r->end)
        return SL_OK; /* a lone backslash at the end of the file vanishes, as in Java */
    uint8_t c = *r->at++;
    if (c == 'u') {
        uint32_t unit, low;
        SL_TRY(read_unit(r, &unit));
        if (unit >= 0xD800 && unit < 0xDC00 && r->end - r->at >= 6 && r->at[0] == '\\' && r->at[1] == 'u') {
            r->at += 2;
            SL_TRY(read_unit(r, &low));
            if (low < 0xDC00 || low > 0xDFFF)
                return sl_corrupt("properties: lone surrogate \\u%04X", unit);
            unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
        } else if (unit >= 0xD800 && unit <= 0xDFFF) {
            return sl_corrupt("properties: lone surrogate \\u%04X", unit);
        }
        return append_code_point(out, unit);
    }
    if (is_newline(c)) { /* continuation: the newline and the next line's leading blanks vanish */
        r->at--;
        skip_newline(r);
        skip_blanks(r);
        return SL_OK;
    }
    return append_code_point(out, c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c == 'f' ? '\f' : c);
}

/* Characters up to an unescaped end of line, or, in a key, up to an unescaped separator. */
static sl_status read_text(struct reader *r, bool is_key, sl_buf *out)
{
    while (r->at < r->end && !is_newline(*r->at)) {
        uint8_t c = *r->at;
        if (is_key && (is_blank(c) || c == '=' || c == ':'))
            return SL_OK;
        r->at++;
        if (c == '\\')
            SL_TRY(read_escape(r, out));
        else
            SL_TRY(append_code_point(out, c));
    }
    return SL_OK;
}

static sl_status read_entry(struct reader *r, sl_properties *out)
{
    sl_buf key = {0}, value = {0};
    char *key_text = NULL, *value_text = NULL;
    sl_status status = SL_OK;
    SL_GO(read_text(r, true, &key));
    skip_blanks(r);
    if (r->at < r->end && (*r->at == '=' || *r->at == ':'))
        r->at++;
    skip_blanks(r);
    SL_GO(read_text(r, false, &value));
    if ((key.len && memchr(key.data, 0, key.len)) || (value.len && memchr(value.data, 0, value.len))) {
        status = sl_corrupt("properties: a zero byte in key or value");
        goto done;
    }
    SL_GO(sl_buf_take_string(&key, &key_text));
    SL_GO(sl_buf_take_string(&value, &value_text));
    SL_GO(sl_properties_set(out, key_text, value_text));
done:
    sl_buf_free(&key);
    sl_buf_free(&value);
    sl_free(key_text);
    sl_free(value_text);
    return status;
}

sl_status sl_properties_parse(const void *data, size_t len, sl_properties *out)
{
    struct reader r = {data, (const uint8_t *)data + len};
    sl_properties parsed = {0};
    while (r.at < r.end) {
        skip_blanks(&r);
        if (r.at < r.end && (*r.at == '#' || *r.at == '!'))
            while (r.at < r.end && !is_newline(*r.at))
                r.at++;
        else if (r.at < r.end && !is_newline(*r.at)) {
            sl_status status = read_entry(&r, &parsed);
            if (status) {
                sl_properties_free(&parsed);
                return status;
            }
        }
        skip_newline(&r);
    }
    *out = parsed;
    return SL_OK;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static sl_status append_escaped(sl_buf *out, const char *text, bool is_key)
{
    const uint8_t *data = (const uint8_t *)text;
    size_t len = strlen(text), pos = 0;
    while (pos < len) {
        bool first = pos == 0;
        uint32_t c = sl_utf8_next(data, len, &pos);
        if (c == ' ' && (is_key || first))
            SL_TRY(sl_buf_append(out, "\\ ", 2));
        else if (c == '\t' || c == '\n' || c == '\r' || c == '\f')
            SL_TRY(sl_buf_printf(out, "\\%c", c == '\t' ? 't' : c == '\n' ? 'n' : c == '\r' ? 'r' : 'f'));
        else if (c == '\\' || c == '=' || c == ':' || c == '#' || c == '!')
            SL_TRY(sl_buf_printf(out, "\\%c", (int)c));
        else if (c >= 0x10000)
            SL_TRY(sl_buf_printf(out, "\\u%04X\\u%04X", 0xD800 + ((c - 0x10000) >> 10),
                                 0xDC00 + ((c - 0x10000) & 0x3FF)));
        else if (c < 0x20 || c > 0x7E)
            SL_TRY(sl_buf_printf(out, "\\u%04X", c));
        else
            SL_TRY(sl_buf_byte(out, (uint8_t)c));
    }
    return SL_OK;
}

sl_status sl_properties_text(const sl_properties *p, const char *comment, sl_buf *out)
{
    char date[64];
    time_t now = (time_t)(sl_now_ms() / 1000);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(date, sizeof date, "%a %b %d %H:%M:%S UTC %Y", &utc);
    SL_TRY(sl_buf_printf(out, "#%s\n#%s\n", comment, date));
    for (size_t i = 0; i < p->keys.count; i++) {
        SL_TRY(append_escaped(out, p->keys.items[i], true));
        SL_TRY(sl_buf_byte(out, '='));
        SL_TRY(append_escaped(out, p->values.items[i], false));
        SL_TRY(sl_buf_byte(out, '\n'));
    }
    return SL_OK;
}

/* ---- access -------------------------------------------------------------------------------------------- */

static size_t index_of(const sl_properties *p, const char *key)
{
    size_t i = 0;
    while (i < p->keys.count && strcmp(p->keys.items[i], key) != 0)
        i++;
    return i;
}

const char *sl_properties_get(const sl_properties *p, const char *key)
{
    size_t i = index_of(p, key);
    return i < p->keys.count ? p->values.items[i] : NULL;
}

const char *sl_properties_get_or(const sl_properties *p, const char *key, const char *fallback)
{
    const char *value = sl_properties_get(p, key);
    return value ? value : fallback;
}

bool sl_properties_true(const sl_properties *p, const char *key, bool fallback)
{
    const char *value = sl_properties_get(p, key);
    return value ? strcmp(value, "true") == 0 || strcmp(value, "TRUE") == 0 || strcmp(value, "True") == 0
                 : fallback;
}

static bool strings_equal(const sl_strings *a, const sl_strings *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->items[i], b->items[i]) != 0)
            return false;
    return true;
}

bool sl_properties_equal(const sl_properties *a, const sl_properties *b)
{
    return strings_equal(&a->keys, &b->keys) && strings_equal(&a->values, &b->values);
}

static void remove_at(sl_strings *list, size_t i)
{
    sl_free(list->items[i]);
    memmove(list->items + i, list->items + i + 1, (list->count - i - 1) * sizeof *list->items);
    list->count--;
}

sl_status sl_properties_set(sl_properties *p, const char *key, const char *value)
{
    size_t i = index_of(p, key);
    if (!value) {
        if (i < p->keys.count) {
            remove_at(&p->keys, i);
            remove_at(&p->values, i);
        }
        return SL_OK;
    }
    if (i < p->keys.count) {
        char *copy = sl_strdup(value);
        if (!copy)
            return sl_nomem();
        sl_free(p->values.items[i]);
        p->values.items[i] = copy;
        return SL_OK;
    }
    SL_TRY(sl_strings_add(&p->values, value));
    sl_status status = sl_strings_add(&p->keys, key);
    if (status)
        remove_at(&p->values, p->values.count - 1); /* the two lists stay of one length */
    return status;
}

void sl_properties_free(sl_properties *p)
{
    sl_strings_free(&p->keys);
    sl_strings_free(&p->values);
}
