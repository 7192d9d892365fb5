/* --props FILE: Java properties. Lines `key=value`, `key:value` or `key value`; # and ! begin comments; a backslash at the
 * end joins lines; \t \n \r \f \uXXXX and a backslash before any other character. Read as UTF-8. */
#include "cli.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 1 << 20 };

static char *read_whole(const struct args *args, const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    if (!file) {
        fail(args, "--props %s: %s", path, strerror(errno));
        return NULL;
    }
    text = cli_alloc(FILE_BYTES_MAX + 1);
    size_t len = fread(text, 1, FILE_BYTES_MAX, file);
    bool is_bad = ferror(file) || (len == FILE_BYTES_MAX && fgetc(file) != EOF) || memchr(text, 0, len);
    if (is_bad) {
        fail(args, ferror(file) ? "--props %s: cannot be read" : "--props %s: no file of properties", path);
        free(text);
        text = NULL;
    } else
        text[len] = 0;
    fclose(file);
    return text;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\f'; }
static bool is_end(char c) { return c == 0 || c == '\n' || c == '\r'; }

static const char *skip_line_end(const char *at)
{
    if (*at == '\r')
        at++;
    return *at == '\n' ? at + 1 : at;
}

/* Four hexadecimal digits, or -1. */
static long hex4(const char *at)
{
    long value = 0;
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *digit = at[i] ? strchr(digits, at[i]) : NULL;
        if (!digit)
            return -1;
        value = value * 16 + (digit - digits) % 16;
    }
    return value;
}

static char *put_utf8(char *to, unsigned long c)
{
    if (c < 0x80)
        *to++ = (char)c;
    else if (c < 0x800) {
        *to++ = (char)(0xC0 | c >> 6);
        *to++ = (char)(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        *to++ = (char)(0xE0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 0x3F));
        *to++ = (char)(0x80 | (c & 0x3F));
    } else {
        *to++ = (char)(0xF0 | c >> 18);
        *to++ = (char)(0x80 | (c >> 12 & 0x3F));
        *to++ = (char)(0x80 | (c >> 6 & 0x3F));
        *to++ = (char)(0x80 | (c & 0x3F));
    }
    return to;
}

/* The escape behind the backslash at `at` - 1. Never writes more bytes than it reads. NULL: \u without four digits, or half
 * a surrogate pair, or a NUL. */
static const char *unescape(const char *at, char **to)
{
    static const char letters[] = "tnrf", values[] = "\t\n\r\f";
    if (*at != 'u') {
        const char *letter = *at ? strchr(letters, *at) : NULL;
        if (*at)
            *(*to)++ = letter ? values[letter - letters] : *at;
        return *at ? at + 1 : at;
    }
    long code = hex4(at + 1);
    if (code <= 0 || (code >= 0xDC00 && code < 0xE000))
        return NULL;
    at += 5;
    if (code >= 0xD800 && code < 0xDC00) {
        long low = at[0] == '\\' && at[1] == 'u' ? hex4(at + 2) : -1;
        if (low < 0xDC00 || low >= 0xE000)
            return NULL;
        code = 0x10000 + (code - 0xD800) * 0x400 + (low - 0xDC00);
        at += 6;
    }
    *to = put_utf8(*to, (unsigned long)code);
    return at;
}

/* Reads up to the end of the logical line, or of the key. NULL: a bad escape. */
static const char *read_part(const char *at, bool is_key, char *to)
{
    while (!is_end(*at)) {
        if (is_key && (is_blank(*at) || *at == '=' || *at == ':'))
            break;
        if (*at != '\\') {
            *to++ = *at++;
            continue;
        }
        at++;
        if (*at && is_end(*at)) { /* a joined line: its leading blanks do not count */
            at = skip_line_end(at);
            while (is_blank(*at))
                at++;
        } else if (!(at = unescape(at, &to)))
            return NULL;
    }
    *to = 0;
    return at;
}

static const char *skip_separator(const char *at)
{
    while (is_blank(*at))
        at++;
    if (*at == '=' || *at == ':')
        at++;
    while (is_blank(*at))
        at++;
    return at;
}

int props_read(const struct args *args, const char *path, struct settings *into)
{
    char *text = read_whole(args, path);
    if (!text)
        return STATUS_FAILED;
    char *key = cli_alloc(strlen(text) + 1), *value = cli_alloc(strlen(text) + 1);
    int status = STATUS_DONE;
    for (const char *at = text; *at && !status;) {
        while (is_blank(*at) || *at == '\n' || *at == '\r')
            at++;
        if (*at == '#' || *at == '!') {
            at += strcspn(at, "\r\n");
            continue;
        }
        if (!*at)
            break;
        const char *line = at;
        at = read_part(at, true, key);
        if (at)
            at = read_part(skip_separator(at), false, value);
        if (at)
            settings_set(into, key, value);
        else
            status =
                fail(args, "--props %s: \"%.*s\": a bad \\u escape", path, (int)strcspn(line, "\r\n"), line);
        if (!at)
            break;
    }
    free(key);
    free(value);
    free(text);
    return status;
}
