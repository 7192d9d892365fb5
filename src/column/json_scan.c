#include "column/json_int.h"

void json_scan_free(struct json_scan *s)
{
    sl_buf_free(&s->unescaped);
    sl_buf_free(&s->keys);
}

sl_status json_error(const struct json_scan *s, const char *message)
{
    return sl_input("byte %zu: %s", s->pos, message);
}

uint8_t json_peek(struct json_scan *s)
{
    while (s->pos < s->len) {
        uint8_t c = s->text[s->pos];
        if (c != ' ' && c != '\n' && c != '\t' && c != '\r')
            return c;
        s->pos++;
    }
    return 0;
}

bool json_take(struct json_scan *s, uint8_t byte)
{
    if (json_peek(s) != byte || s->pos == s->len)
        return false;
    s->pos++;
    return true;
}

sl_status json_end(struct json_scan *s)
{
    json_peek(s);
    return s->pos == s->len ? SL_OK : json_error(s, "something follows the JSON value");
}

/* ---- strings ------------------------------------------------------------------------------------------- */

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The four digits at pos (behind "\u"). */
static bool hex_unit(struct json_scan *s, uint32_t *out)
{
    if (s->len - s->pos < 4)
        return false;
    uint32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(s->text[s->pos + (size_t)i]);
        if (digit < 0)
            return false;
        unit = unit << 4 | (uint32_t)digit;
    }
    s->pos += 4;
    *out = unit;
    return true;
}

static sl_status utf8_append(uint32_t c, sl_buf *out)
{
    uint8_t bytes[4];
    size_t n;
    if (c < 0x80) {
        bytes[0] = (uint8_t)c;
        n = 1;
    } else if (c < 0x800) {
        bytes[0] = (uint8_t)(0xc0 | c >> 6);
        bytes[1] = (uint8_t)(0x80 | (c & 63));
        n = 2;
    } else if (c < 0x10000) {
        bytes[0] = (uint8_t)(0xe0 | c >> 12);
        bytes[1] = (uint8_t)(0x80 | (c >> 6 & 63));
        bytes[2] = (uint8_t)(0x80 | (c & 63));
        n = 3;
    } else {
        bytes[0] = (uint8_t)(0xf0 | c >> 18);
        bytes[1] = (uint8_t)(0x80 | (c >> 12 & 63));
        bytes[2] = (uint8_t)(0x80 | (c >> 6 & 63));
        bytes[3] = (uint8_t)(0x80 | (c & 63));
        n = 4;
    }
    return sl_buf_append(out, bytes, n);
}

/* Behind "\u": one unit, or the two of a surrogate pair. */
static sl_status unicode_escape(struct json_scan *s, sl_buf *out)
{
    uint32_t unit, low;
    if (!hex_unit(s, &unit))
        return json_error(s, "\\u needs four hexadecimal digits");
    if (unit < 0xd800 || unit > 0xdfff)
        return utf8_append(unit, out);
    if (unit > 0xdbff || s->len - s->pos < 6 || s->text[s->pos] != '\\' || s->text[s->pos + 1] != 'u')
        return json_error(s, "a lone surrogate");
    s->pos += 2;
    if (!hex_unit(s, &low))
        return json_error(s, "\\u needs four hexadecimal digits");
    if (low < 0xdc00 || low > 0xdfff)
        return json_error(s, "a lone surrogate");
    return utf8_append(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00), out);
}

/* Behind the backslash. */
static sl_status escape_unescape(struct json_scan *s, sl_buf *out)
{
    if (s->pos == s->len)
        return json_error(s, "the string does not end");
    uint8_t c = s->text[s->pos++];
    switch (c) {
    case '"':
    case '\\':
    case '/':
        return sl_buf_byte(out, c);
    case 'b':
        return sl_buf_byte(out, '\b');
    case 'f':
        return sl_buf_byte(out, '\f');
    case 'n':
        return sl_buf_byte(out, '\n');
    case 'r':
        return sl_buf_byte(out, '\r');
    case 't':
        return sl_buf_byte(out, '\t');
    case 'u':
        return unicode_escape(s, out);
    default:
        s->pos--;
        return json_error(s, "an unknown escape in a string");
    }
}

/* Moves over bytes that stand for themselves. */
static size_t plain_run(const struct json_scan *s, size_t pos)
{
    while (pos < s->len && s->text[pos] >= 0x20 && s->text[pos] != '"' && s->text[pos] != '\\')
        pos++;
    return pos;
}

static sl_status run_check(struct json_scan *s, size_t from, size_t to)
{
    size_t valid = sl_utf8_valid_prefix(s->text + from, to - from);
    if (valid != to - from) {
        s->pos = from + valid;
        return json_error(s, "invalid UTF-8 in a string");
    }
    if (to == s->len)
        return json_error(s, "the string does not end");
    if (s->text[to] < 0x20) {
        s->pos = to;
        return json_error(s, "a control character in a string");
    }
    return SL_OK;
}

/* From the first escape on: copies into `unescaped`. */
static sl_status string_with_escapes(struct json_scan *s, size_t start, size_t end)
{
    sl_buf *out = &s->unescaped;
    out->len = 0;
    for (;;) {
        if (end > start)
            SL_TRY(sl_buf_append(out, s->text + start, end - start));
        s->pos = end + 1;
        if (s->text[end] == '"')
            return SL_OK;
        SL_TRY(escape_unescape(s, out));
        start = s->pos;
        end = plain_run(s, start);
        SL_TRY(run_check(s, start, end));
    }
}

sl_status json_string_token(struct json_scan *s, const char **data, size_t *len)
{
    if (!json_take(s, '"'))
        return json_error(s, "expected a string");
    size_t start = s->pos, end = plain_run(s, start);
    SL_TRY(run_check(s, start, end));
    if (s->text[end] == '"') {
        s->pos = end + 1;
        *data = (const char *)s->text + start;
        *len = end - start;
        return SL_OK;
    }
    SL_TRY(string_with_escapes(s, start, end));
    *data = s->unescaped.len ? (const char *)s->unescaped.data : "";
    *len = s->unescaped.len;
    return SL_OK;
}

/* ---- numbers and words --------------------------------------------------------------------------------- */

static size_t digit_run(const struct json_scan *s, size_t pos)
{
    while (pos < s->len && s->text[pos] >= '0' && s->text[pos] <= '9')
        pos++;
    return pos;
}

sl_status json_number_token(struct json_scan *s, const char **data, size_t *len)
{
    json_peek(s);
    size_t start = s->pos, pos = start, end;
    if (pos < s->len && s->text[pos] == '-')
        pos++;
    end = digit_run(s, pos);
    if (end == pos)
        return json_error(s, "expected a number");
    if (s->text[pos] == '0' && end > pos + 1)
        return json_error(s, "a number with leading zeros");
    pos = end;
    if (pos < s->len && s->text[pos] == '.') {
        end = digit_run(s, pos + 1);
        if (end == pos + 1)
            return json_error(s, "a number without digits behind its point");
        pos = end;
    }
    if (pos < s->len && (s->text[pos] == 'e' || s->text[pos] == 'E')) {
        pos++;
        if (pos < s->len && (s->text[pos] == '+' || s->text[pos] == '-'))
            pos++;
        end = digit_run(s, pos);
        if (end == pos)
            return json_error(s, "a number without digits in its exponent");
        pos = end;
    }
    *data = (const char *)s->text + start;
    *len = pos - start;
    s->pos = pos;
    return SL_OK;
}

sl_status json_word(struct json_scan *s, const char *word)
{
    size_t len = strlen(word);
    json_peek(s);
    if (s->len - s->pos < len || memcmp(s->text + s->pos, word, len) != 0)
        return json_error(s, "expected a JSON value");
    s->pos += len;
    return SL_OK;
}

/* ---- arrays and objects -------------------------------------------------------------------------------- */

sl_status json_open(struct json_scan *s, uint8_t open)
{
    if (json_peek(s) != open)
        return json_error(s, open == '[' ? "expected an array" : "expected an object");
    if (s->depth == JSON_DEPTH_MAX)
        return json_error(s, "more than 64 levels of arrays and objects");
    s->depth++;
    s->pos++;
    return SL_OK;
}

sl_status json_more(struct json_scan *s, uint8_t close, bool *first, bool *more)
{
    if (json_take(s, close)) {
        s->depth--;
        *more = false;
        return SL_OK;
    }
    if (!*first && !json_take(s, ','))
        return json_error(s, close == ']' ? "expected ',' or ']'" : "expected ',' or '}'");
    *first = false;
    *more = true;
    return SL_OK;
}

sl_status json_member(struct json_scan *s, const char **name, size_t *len)
{
    SL_TRY(json_string_token(s, name, len));
    return json_take(s, ':') ? SL_OK : json_error(s, "expected ':' behind a member's name");
}

static sl_status skip_container(struct json_scan *s, uint8_t open, uint8_t close)
{
    const char *data;
    size_t len;
    bool first = true, more;
    SL_TRY(json_open(s, open));
    for (;;) {
        SL_TRY(json_more(s, close, &first, &more));
        if (!more)
            return SL_OK;
        if (open == '{')
            SL_TRY(json_member(s, &data, &len));
        SL_TRY(json_skip(s));
    }
}

sl_status json_skip(struct json_scan *s)
{
    const char *data;
    size_t len;
    switch (json_peek(s)) {
    case '"':
        return json_string_token(s, &data, &len);
    case '{':
        return skip_container(s, '{', '}');
    case '[':
        return skip_container(s, '[', ']');
    case 't':
        return json_word(s, "true");
    case 'f':
        return json_word(s, "false");
    case 'n':
        return json_word(s, "null");
    case '-':
        return json_number_token(s, &data, &len);
    default:
        if (s->pos < s->len && s->text[s->pos] >= '0' && s->text[s->pos] <= '9')
            return json_number_token(s, &data, &len);
        return json_error(s, "expected a JSON value");
    }
}

bool sl_json_is_object(const char *json, size_t len)
{
    struct json_scan s = {.text = (const uint8_t *)json, .len = len};
    bool is_object =
        json_peek(&s) == '{' && !sl_status_ignore(json_skip(&s)) && !sl_status_ignore(json_end(&s));
    json_scan_free(&s);
    return is_object;
}
