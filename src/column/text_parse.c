/* Values from plain text, as CSV cells hold them. Each type has one strict form (a few for timestamps);
 * anything else is SL_E_INPUT with what was expected, since a guess would only move the surprise into the
 * table. */
#include "column/column_int.h"
#include "column/text_int.h"
#include <math.h>

#define DAYS_BOUND                                                                                           \
    3652059 /* more than from 1970 to the years -8029 and 11969: catches 20240131 meant as a date */

static sl_status not_a(const char *what, const char *text, size_t len, const char *expected)
{
    char excerpt[TEXT_EXCERPT_BYTES];
    return sl_input("'%s' is not %s (expected %s)", text_excerpt(text, len, excerpt), what, expected);
}

static bool word_is(const char *text, size_t len, const char *lower)
{
    if (strlen(lower) != len)
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if ((c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c) != lower[i])
            return false;
    }
    return true;
}

/* ---- booleans and numbers ------------------------------------------------------------------------------ */

static sl_status bool_append_text(sl_builder *b, const char *text, size_t len)
{
    static const char *const words[2][4] = {{"false", "f", "0", "no"}, {"true", "t", "1", "yes"}};
    for (int value = 0; value < 2; value++)
        for (int i = 0; i < 4; i++)
            if (word_is(text, len, words[value][i]))
                return sl_builder_bool(b, value);
    return not_a("a boolean", text, len, "true or false, t or f, yes or no, 1 or 0");
}

static sl_status integer_out_of_range(const sl_type *type, const char *text, size_t len)
{
    char excerpt[TEXT_EXCERPT_BYTES];
    char *name = NULL;
    SL_TRY(sl_type_text(type, &name));
    sl_status status = sl_input("'%s' is out of the range of %s", text_excerpt(text, len, excerpt), name);
    sl_free(name);
    return status;
}

/* The usual short integers, without the machinery for exponents. */
static bool small_integer(const char *text, size_t len, int64_t *out)
{
    size_t pos = len > 0 && (text[0] == '-' || text[0] == '+');
    if (len == pos || len - pos > 18)
        return false;
    int64_t value = 0;
    for (size_t i = pos; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (text[i] - '0');
    }
    *out = text[0] == '-' ? -value : value;
    return true;
}

/* A whole number, also as 1.0 or 1e3, in the range of the type. */
static sl_status integer_value(const sl_type *type, const char *text, size_t len, int64_t *out)
{
    int64_t low, high;
    integer_bounds(type->id, &low, &high);
    struct number_text n;
    sl_i128 value;
    int64_t small;
    if (small_integer(text, len, &small)) {
        value = small;
    } else {
        if (!number_text_scan(text, len, &n))
            return not_a("an integer", text, len, "digits with an optional sign");
        enum number_fit fit = number_text_decimal(&n, 0, &value);
        if (fit == NUMBER_INEXACT)
            return not_a("an integer", text, len, "a number without fraction");
        if (fit == NUMBER_TOO_LARGE)
            return integer_out_of_range(type, text, len);
    }
    if (value < low || value > high)
        return integer_out_of_range(type, text, len);
    *out = (int64_t)value;
    return SL_OK;
}

sl_status integer_append_text(sl_builder *b, const sl_type *type, const char *text, size_t len)
{
    int64_t value;
    SL_TRY(integer_value(type, text, len, &value));
    return sl_builder_integer(b, value);
}

sl_status decimal_append_text(sl_builder *b, const sl_type *type, const char *text, size_t len)
{
    struct number_text n;
    sl_i128 value;
    char excerpt[TEXT_EXCERPT_BYTES];
    if (!number_text_scan(text, len, &n))
        return not_a("a decimal", text, len, "a decimal number");
    enum number_fit fit = number_text_decimal(&n, type->scale, &value);
    if (fit == NUMBER_INEXACT)
        return sl_input("'%s' has more than the %d decimals of decimal(%d,%d)",
                        text_excerpt(text, len, excerpt), type->scale, type->precision, type->scale);
    if (fit == NUMBER_TOO_LARGE || !decimal_fits(value, type->precision))
        return sl_input("'%s' has more digits than decimal(%d,%d)", text_excerpt(text, len, excerpt),
                        type->precision, type->scale);
    return sl_builder_decimal(b, value);
}

bool float_word(const char *text, size_t len, double *out)
{
    bool negative = len > 0 && text[0] == '-';
    if (len > 0 && (text[0] == '-' || text[0] == '+'))
        text++, len--;
    if (word_is(text, len, "nan"))
        *out = (double)NAN;
    else if (word_is(text, len, "inf") || word_is(text, len, "infinity"))
        *out = negative ? -(double)INFINITY : (double)INFINITY;
    else
        return false;
    return true;
}

sl_status float_append_number(sl_builder *b, const sl_type *type, const struct number_text *n,
                              const char *text, size_t len)
{
    double value;
    bool finite;
    if (type->id == SL_FLOAT) {
        float narrow;
        finite = number_text_float(n, &narrow);
        value = (double)narrow;
    } else {
        finite = number_text_double(n, &value);
    }
    if (!finite)
        return integer_out_of_range(type, text, len);
    return sl_builder_double(b, value);
}

static sl_status float_append_text(sl_builder *b, const sl_type *type, const char *text, size_t len)
{
    struct number_text n;
    double value;
    if (number_text_scan(text, len, &n))
        return float_append_number(b, type, &n, text, len);
    if (float_word(text, len, &value))
        return sl_builder_double(b, value);
    return not_a("a number", text, len, "a decimal number, NaN, Infinity or -Infinity");
}

/* ---- dates, times, timestamps -------------------------------------------------------------------------- */

/* A text that is read from the left. */
struct cursor {
    const char *at, *end;
};

static bool take_digits(struct cursor *c, int count, int *out)
{
    if (c->end - c->at < count)
        return false;
    int value = 0;
    for (int i = 0; i < count; i++) {
        char digit = c->at[i];
        if (digit < '0' || digit > '9')
            return false;
        value = value * 10 + (digit - '0');
    }
    c->at += count;
    *out = value;
    return true;
}

static bool take_char(struct cursor *c, char wanted)
{
    if (c->at == c->end || *c->at != wanted)
        return false;
    c->at++;
    return true;
}

static bool take_date(struct cursor *c, int64_t *days)
{
    static const int month_days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year, month, day;
    if (!take_digits(c, 4, &year) || !take_char(c, '-') || !take_digits(c, 2, &month) || !take_char(c, '-') ||
        !take_digits(c, 2, &day))
        return false;
    if (month < 1 || month > 12 || day < 1 || day > month_days[month - 1])
        return false;
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (month == 2 && day == 29 && !leap)
        return false;
    *days = sl_civil_to_days(year, month, day);
    return true;
}

/* HH:MM[:SS[.fraction]] as seconds and nanoseconds; digits behind the ninth must be zero. */
static bool take_time(struct cursor *c, int64_t *seconds, int64_t *nanos)
{
    int hour, minute, second = 0;
    *nanos = 0;
    if (!take_digits(c, 2, &hour) || !take_char(c, ':') || !take_digits(c, 2, &minute))
        return false;
    if (take_char(c, ':')) {
        if (!take_digits(c, 2, &second))
            return false;
        if (take_char(c, '.')) {
            int64_t weight = 100000000;
            const char *first = c->at;
            int digit;
            while (take_digits(c, 1, &digit)) {
                if (weight == 0 && digit != 0)
                    return false;
                *nanos += digit * weight;
                weight /= 10;
            }
            if (c->at == first)
                return false;
        }
    }
    *seconds = hour * 3600 + minute * 60 + second;
    return hour < 24 && minute < 60 && second < 60;
}

/* Nothing, Z, or +HH, +HHMM, +HH:MM with either sign. */
static bool take_zone(struct cursor *c, bool *present, int64_t *offset_seconds)
{
    int hour, minute = 0;
    *offset_seconds = 0;
    *present = c->at != c->end;
    if (!*present || take_char(c, 'Z') || take_char(c, 'z'))
        return true;
    bool west = take_char(c, '-');
    if (!west && !take_char(c, '+'))
        return false;
    if (!take_digits(c, 2, &hour))
        return false;
    if (c->at != c->end) {
        take_char(c, ':');
        if (!take_digits(c, 2, &minute))
            return false;
    }
    *offset_seconds = (west ? -1 : 1) * (hour * 3600 + minute * 60);
    return hour <= 18 && minute < 60;
}

struct moment {
    int64_t seconds; /* since 1970-01-01T00:00, of the zone when there is none */
    int64_t nanos;
    bool zoned;
};

static bool timestamp_scan(const char *text, size_t len, struct moment *out)
{
    struct cursor c = {text, text + len};
    int64_t days, seconds = 0, offset = 0;
    *out = (struct moment){0};
    if (!take_date(&c, &days))
        return false;
    if (c.at != c.end) { /* a date alone is its midnight */
        if (!take_char(&c, 'T') && !take_char(&c, ' '))
            return false;
        if (!take_time(&c, &seconds, &out->nanos) || !take_zone(&c, &out->zoned, &offset))
            return false;
    }
    out->seconds = days * 86400 + seconds - offset;
    return c.at == c.end;
}

bool text_is_timestamp(const char *text, size_t len)
{
    struct moment ignored;
    return timestamp_scan(text, len, &ignored);
}

bool text_is_date(const char *text, size_t len)
{
    struct cursor c = {text, text + len};
    int64_t days;
    return take_date(&c, &days) && c.at == c.end;
}

static sl_status moment_in_unit(const struct moment *m, enum sl_time_unit unit, const char *text, size_t len,
                                int64_t *out)
{
    char excerpt[TEXT_EXCERPT_BYTES];
    int64_t per_second = time_unit_per_second(unit), nanos_per_unit = 1000000000 / per_second;
    if (m->nanos % nanos_per_unit != 0)
        return sl_input("'%s' has more digits in its fraction than the type keeps",
                        text_excerpt(text, len, excerpt));
    if (sl_mul_overflows_i64(m->seconds, per_second, out) ||
        sl_add_overflows_i64(*out, m->nanos / nanos_per_unit, out))
        return sl_input("'%s' is out of the range of the type", text_excerpt(text, len, excerpt));
    return SL_OK;
}

static sl_status timestamp_append_text(sl_builder *b, const sl_type *type, const char *text, size_t len)
{
    struct moment m;
    int64_t value;
    if (!timestamp_scan(text, len, &m))
        return not_a("a timestamp", text, len,
                     "YYYY-MM-DD HH:MM[:SS[.fraction]], with a zone Z or +HH:MM if any");
    if (m.zoned && !type->utc)
        return not_a("a local timestamp", text, len, "no time zone");
    SL_TRY(moment_in_unit(&m, type->unit, text, len, &value));
    return sl_builder_integer(b, value);
}

sl_status temporal_append_text(sl_builder *b, const sl_type *type, const char *text, size_t len)
{
    struct cursor c = {text, text + len};
    struct moment m = {0};
    int64_t value;
    switch (type->id) {
    case SL_DATE:
        if (!take_date(&c, &value) || c.at != c.end)
            return not_a("a date", text, len, "YYYY-MM-DD");
        return sl_builder_integer(b, value);
    case SL_TIME:
        if (!take_time(&c, &m.seconds, &m.nanos) || c.at != c.end)
            return not_a("a time", text, len, "HH:MM[:SS[.fraction]]");
        SL_TRY(moment_in_unit(&m, type->unit, text, len, &value));
        return sl_builder_integer(b, value);
    default:
        return timestamp_append_text(b, type, text, len);
    }
}

sl_status temporal_append_integer(sl_builder *b, const sl_type *type, const char *text, size_t len)
{
    int64_t value;
    SL_TRY(integer_value(type, text, len, &value));
    if (type->id == SL_DATE && (value < -DAYS_BOUND || value > DAYS_BOUND))
        return not_a("a date", text, len, "YYYY-MM-DD, or days since 1970-01-01");
    if (type->id == SL_TIME && (value < 0 || value >= 86400 * time_unit_per_second(type->unit)))
        return not_a("a time", text, len, "HH:MM[:SS[.fraction]], or a number within one day");
    return sl_builder_integer(b, value);
}

static bool looks_like_integer(const char *text, size_t len)
{
    struct number_text n;
    return number_text_scan(text, len, &n) && n.plain_integer;
}

/* ---- strings and all ----------------------------------------------------------------------------------- */

sl_status string_append_text(sl_builder *b, const sl_type *type, const char *text, size_t len)
{
    size_t valid = sl_utf8_valid_prefix(text, len);
    if (valid != len)
        return sl_input("byte %zu of the string is not valid UTF-8", valid);
    if (type->annotation == SL_ENUM && type->symbols) {
        const sl_strings *symbols = type->symbols;
        bool known = false;
        for (size_t i = 0; i < symbols->count && !known; i++)
            known = strlen(symbols->items[i]) == len && memcmp(symbols->items[i], text, len) == 0;
        if (!known)
            return not_a("a symbol of the enum", text, len, "one of its symbols");
    }
    return sl_builder_bytes(b, text, len);
}

static sl_status nested_append_text(sl_builder *b, const char *text, size_t len)
{
    size_t pos = 0;
    SL_TRY(sl_builder_json(b, text, len, &pos));
    while (pos < len && (text[pos] == ' ' || text[pos] == '\t' || text[pos] == '\n' || text[pos] == '\r'))
        pos++;
    if (pos != len)
        return sl_input("byte %zu: something follows the JSON value", pos);
    return SL_OK;
}

static sl_status null_append_text(sl_builder *b, const char *text, size_t len)
{
    if (len != 0 && !word_is(text, len, "null"))
        return not_a("null", text, len, "nothing");
    return sl_builder_null(b);
}

static sl_status bytes_append(sl_builder *b, const sl_type *type, const void *bytes, size_t len)
{
    if (type->id == SL_FIXED && len != (size_t)type->width)
        return sl_input("%zu bytes where the type has %d", len, type->width);
    return sl_builder_bytes(b, bytes, len);
}

/* The bytes themselves, or the form in which value_text writes them. */
static sl_status binary_append_text(sl_builder *b, const sl_type *type, const char *text, size_t len)
{
    if (len < 4 || memcmp(text, "hex:", 4) != 0)
        return bytes_append(b, type, text, len);
    uint8_t *decoded = sl_malloc(len);
    if (!decoded)
        return sl_nomem();
    size_t decoded_len;
    sl_status status = hex_decode(text + 4, len - 4, decoded, &decoded_len)
                           ? bytes_append(b, type, decoded, decoded_len)
                           : not_a("binary value", text, len, "pairs of hexadecimal digits behind \"hex:\"");
    sl_free(decoded);
    return status;
}

sl_status sl_builder_text(sl_builder *b, const char *text, size_t len)
{
    const sl_type *type = builder_type(b);
    switch (type->id) {
    case SL_NULL:
        return null_append_text(b, text, len);
    case SL_BOOL:
        return bool_append_text(b, text, len);
    case SL_HALF:
        return sl_unsupported("half floats cannot be read from text");
    case SL_FLOAT:
    case SL_DOUBLE:
        return float_append_text(b, type, text, len);
    case SL_DECIMAL:
        return decimal_append_text(b, type, text, len);
    case SL_DATE:
    case SL_TIME:
    case SL_TIMESTAMP:
        if (looks_like_integer(text, len))
            return temporal_append_integer(b, type, text, len);
        return temporal_append_text(b, type, text, len);
    case SL_STRING:
        return string_append_text(b, type, text, len);
    case SL_BINARY:
    case SL_FIXED:
        return binary_append_text(b, type, text, len);
    case SL_LIST:
    case SL_MAP:
    case SL_STRUCT:
        return nested_append_text(b, text, len);
    default:
        return integer_append_text(b, type, text, len);
    }
}
