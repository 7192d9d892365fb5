/*
 * Names of data files. Three families share a folder (spec/lsm-layout.md 3):
 *
 *   native  <fileId>_<a-b-c>_<instant>_<version>.(log|deletes|cdc).<format>
 *   inline  .<fileId>_<instant>.log.<version>_<a-b-c>[.cdc]
 *   base    <fileId>_<a-b-c>_<instant>.<format>
 *
 * The native pattern must be tried before the base pattern: a lax base parser would read
 * `..._<instant>_2.log.parquet` as a base file of commit `<instant>_2`.
 */
#include "log/log.h"
#include <stdio.h>

/* A cursor over a name; each take_* consumes what it matches or leaves the cursor alone. */
struct scan {
    const char *at;
};

static bool take_char(struct scan *s, char c)
{
    if (*s->at != c)
        return false;
    s->at++;
    return true;
}

/* The next n characters, copied to out; there must be one at least. */
static bool take_some(struct scan *s, size_t n, char *out, size_t out_bytes)
{
    if (n == 0 || n >= out_bytes)
        return false;
    memcpy(out, s->at, n);
    out[n] = 0;
    s->at += n;
    return true;
}

static bool take_until(struct scan *s, const char *stop, char *out, size_t out_bytes)
{
    return take_some(s, strcspn(s->at, stop), out, out_bytes);
}

static bool take_digits(struct scan *s, char *out, size_t out_bytes)
{
    return take_some(s, strspn(s->at, "0123456789"), out, out_bytes);
}

static bool take_number(struct scan *s, uint32_t *out)
{
    char digits[11];
    struct scan saved = *s;
    if (!take_digits(s, digits, sizeof digits) || strtoull(digits, NULL, 10) > UINT32_MAX) {
        *s = saved;
        return false;
    }
    *out = (uint32_t)strtoull(digits, NULL, 10);
    return true;
}

/* <task partition>-<stage>-<attempt> */
static bool take_token(struct scan *s, char *out, size_t out_bytes)
{
    const char *start = s->at;
    uint32_t number;
    if (!take_number(s, &number) || !take_char(s, '-') || !take_number(s, &number) || !take_char(s, '-') ||
        !take_number(s, &number))
        return false;
    size_t n = (size_t)(s->at - start);
    if (n >= out_bytes)
        return false;
    memcpy(out, start, n);
    out[n] = 0;
    return true;
}

static bool parse_native(const char *name, struct sl_file_name *out)
{
    static const struct {
        const char *word;
        enum sl_file_kind kind;
    } kinds[] = {{"log", SL_FILE_LOG},
                 {"deletes", SL_FILE_DELETES},
                 {"delete", SL_FILE_DELETES},
                 {"cdc", SL_FILE_CDC}};
    struct scan s = {name};
    char word[16];
    if (!take_until(&s, "._", out->file_id, sizeof out->file_id) || !take_char(&s, '_') ||
        !take_token(&s, out->token, sizeof out->token) || !take_char(&s, '_') ||
        !take_until(&s, "_", out->instant, sizeof out->instant) || !take_char(&s, '_') ||
        !take_number(&s, &out->version) || !take_char(&s, '.') || !take_until(&s, ".", word, sizeof word) ||
        !take_char(&s, '.') || !take_until(&s, ".", out->format, sizeof out->format) || *s.at)
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(word, kinds[i].word) == 0) {
            out->kind = kinds[i].kind;
            return true;
        }
    return false;
}

static bool parse_inline(const char *name, struct sl_file_name *out)
{
    struct scan s = {name};
    if (!take_char(&s, '.') || !take_until(&s, "._", out->file_id, sizeof out->file_id) ||
        !take_char(&s, '_') || !take_until(&s, ".", out->instant, sizeof out->instant) ||
        strncmp(s.at, ".log.", 5) != 0)
        return false;
    s.at += 5;
    if (!take_number(&s, &out->version))
        return false;
    out->kind = SL_FILE_INLINE_LOG;
    if (!*s.at)
        return true; /* no write token: very old logs */
    if (!take_char(&s, '_') || !take_token(&s, out->token, sizeof out->token))
        return false;
    if (strcmp(s.at, ".cdc") == 0) {
        out->kind = SL_FILE_INLINE_CDC;
        return true;
    }
    return !*s.at;
}

/* What Hudi's own pattern of base files allows in a part, [a-zA-Z0-9-]. */
static bool is_plain_part(const char *text)
{
    for (; *text; text++) {
        char lower = (char)(*text | 0x20);
        if (!(lower >= 'a' && lower <= 'z') && !(*text >= '0' && *text <= '9') && *text != '-')
            return false;
    }
    return true;
}

static bool parse_base(const char *name, struct sl_file_name *out)
{
    struct scan s = {name};
    if (!take_until(&s, "._", out->file_id, sizeof out->file_id) || !take_char(&s, '_') ||
        !take_until(&s, "._", out->token, sizeof out->token) || !take_char(&s, '_') ||
        !take_digits(&s, out->instant, sizeof out->instant) || !take_char(&s, '.') ||
        !take_until(&s, ".", out->format, sizeof out->format) || *s.at || !is_plain_part(out->file_id) ||
        !is_plain_part(out->token))
        return false;
    out->kind = SL_FILE_BASE;
    return true;
}

void sl_file_name_parse(const char *name, struct sl_file_name *out)
{
    static bool (*const parsers[])(const char *, struct sl_file_name *) = {parse_native, parse_inline,
                                                                           parse_base};
    for (size_t i = 0; i < sizeof parsers / sizeof *parsers; i++) {
        memset(out, 0, sizeof *out);
        if (parsers[i](name, out))
            return;
    }
    memset(out, 0, sizeof *out);
}

void sl_file_name_build(const struct sl_file_name *parts, char *out)
{
    const char *word = parts->kind == SL_FILE_LOG       ? "log"
                       : parts->kind == SL_FILE_DELETES ? "deletes"
                                                        : "cdc";
    if (parts->kind == SL_FILE_BASE)
        snprintf(out, 256, "%s_%s_%s.%s", parts->file_id, parts->token, parts->instant, parts->format);
    else
        snprintf(out, 256, "%s_%s_%s_%" PRIu32 ".%s.%s", parts->file_id, parts->token, parts->instant,
                 parts->version, word, parts->format);
}

/* An inline log ranks as a data log among native ones (spec/lsm-layout.md 9). */
static int kind_rank(enum sl_file_kind kind)
{
    return kind == SL_FILE_DELETES ? 1 : kind == SL_FILE_CDC || kind == SL_FILE_INLINE_CDC ? 2 : 0;
}

int sl_log_order(const struct sl_file_name *a, const struct sl_file_name *b)
{
    int c = strcmp(a->instant, b->instant);
    if (c)
        return c;
    if (a->version != b->version)
        return a->version < b->version ? -1 : 1;
    c = strcmp(a->token, b->token);
    return c ? c : kind_rank(a->kind) - kind_rank(b->kind);
}
