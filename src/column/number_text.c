/* Numbers from text, exactly: the digits are kept as digits until the target is known, so decimals never pass
 * through a double and doubles are rounded once. */
#include "column/column_int.h"
#include "column/text_int.h"
#include <math.h>
#include <stdio.h>

#define EXPONENT_BOUND                                                                                       \
    100000000 /* beyond it every non-zero value is infinite or zero, whatever its digits                     \
               */
/* A double's midpoint has at most 767 significant digits; what follows matters only by being zero or not. */
#define SIGNIFICANT_DIGITS 780

static size_t digits_at(const char *text, size_t len)
{
    size_t n = 0;
    while (n < len && text[n] >= '0' && text[n] <= '9')
        n++;
    return n;
}

static bool exponent_scan(const char *text, size_t len, int64_t *out)
{
    size_t pos = 0;
    bool negative = false;
    if (len > 0 && (text[0] == '+' || text[0] == '-'))
        negative = text[pos++] == '-';
    size_t n = digits_at(text + pos, len - pos);
    if (n == 0 || pos + n != len)
        return false;
    int64_t value = 0;
    for (; pos < len; pos++)
        if (value < EXPONENT_BOUND)
            value = value * 10 + (text[pos] - '0');
    if (value > EXPONENT_BOUND)
        value = EXPONENT_BOUND;
    *out = negative ? -value : value;
    return true;
}

bool number_text_scan(const char *text, size_t len, struct number_text *out)
{
    struct number_text n = {.plain_integer = true, .fraction = text};
    size_t pos = 0;
    if (len > 0 && (text[0] == '+' || text[0] == '-'))
        n.negative = text[pos++] == '-';
    n.integer = text + pos;
    n.integer_len = digits_at(text + pos, len - pos);
    pos += n.integer_len;
    if (pos < len && text[pos] == '.') {
        n.plain_integer = false;
        pos++;
        n.fraction = text + pos;
        n.fraction_len = digits_at(text + pos, len - pos);
        pos += n.fraction_len;
    }
    if (n.integer_len + n.fraction_len == 0)
        return false;
    if (pos < len && (text[pos] == 'e' || text[pos] == 'E')) {
        n.plain_integer = false;
        if (!exponent_scan(text + pos + 1, len - pos - 1, &n.exponent))
            return false;
        pos = len;
    }
    *out = n;
    return pos == len;
}

/* Digit i of integer and fraction taken together. */
static int number_digit(const struct number_text *n, size_t i)
{
    return (i < n->integer_len ? n->integer[i] : n->fraction[i - n->integer_len]) - '0';
}

bool decimal_fits(sl_i128 unscaled, int32_t precision)
{
    sl_i128 bound = column_pow10(precision);
    return unscaled < bound && unscaled > -bound;
}

enum number_fit number_text_decimal(const struct number_text *n, int32_t scale, sl_i128 *out)
{
    const sl_i128 bound = column_pow10(37);
    int64_t shift = n->exponent - (int64_t)n->fraction_len + scale;
    size_t count = n->integer_len + n->fraction_len;
    size_t kept = count;
    if (shift < 0)
        kept = (uint64_t)-shift >= count ? 0 : count - (size_t)-shift;
    sl_i128 value = 0;
    for (size_t i = 0; i < kept; i++) {
        if (value >= bound)
            return NUMBER_TOO_LARGE;
        value = value * 10 + number_digit(n, i);
    }
    for (size_t i = kept; i < count; i++)
        if (number_digit(n, i) != 0)
            return NUMBER_INEXACT;
    for (; shift > 0 && value != 0; shift--) {
        if (value >= bound)
            return NUMBER_TOO_LARGE;
        value *= 10;
    }
    *out = n->negative ? -value : value;
    return NUMBER_FITS;
}

/* The significant digits as one integer when they are at most 19; its decimal exponent. */
static bool number_small(const struct number_text *n, uint64_t *mantissa, int64_t *exponent)
{
    size_t count = n->integer_len + n->fraction_len, significant = 0;
    uint64_t m = 0;
    for (size_t i = 0; i < count; i++) {
        int digit = number_digit(n, i);
        if (m == 0 && digit == 0)
            continue;
        if (++significant > 19)
            return false;
        m = m * 10 + (uint64_t)digit;
    }
    *mantissa = m;
    *exponent = n->exponent - (int64_t)n->fraction_len;
    return true;
}

/* "<digits>e<exponent>" without a point, which strtod reads the same in every locale. */
static void number_respell(const struct number_text *n, char *out, size_t size)
{
    size_t count = n->integer_len + n->fraction_len, used = 0, first = 0;
    while (first < count && number_digit(n, first) == 0)
        first++;
    bool sticky = false;
    size_t end = count - first > SIGNIFICANT_DIGITS ? first + SIGNIFICANT_DIGITS : count;
    for (size_t i = first; i < end; i++)
        out[used++] = (char)('0' + number_digit(n, i));
    for (size_t i = end; i < count; i++)
        sticky = sticky || number_digit(n, i) != 0;
    int64_t exponent = n->exponent - (int64_t)n->fraction_len + (int64_t)(count - end);
    if (sticky) {
        out[used++] = '1';
        exponent--;
    }
    if (used == 0)
        out[used++] = '0';
    snprintf(out + used, size - used, "e%" PRId64, exponent);
}

bool number_text_double(const struct number_text *n, double *out)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    uint64_t mantissa;
    int64_t exponent;
    double value;
    /* Both operands exact, so the one operation rounds correctly. */
    if (number_small(n, &mantissa, &exponent) && mantissa <= UINT64_C(1) << 53 && exponent >= -22 &&
        exponent <= 22) {
        value = exponent < 0 ? (double)mantissa / powers[-exponent] : (double)mantissa * powers[exponent];
    } else {
        char text[SIGNIFICANT_DIGITS + 32];
        number_respell(n, text, sizeof text);
        value = strtod(text, NULL);
    }
    *out = n->negative ? -value : value;
    return isfinite(value);
}

bool number_text_float(const struct number_text *n, float *out)
{
    static const float powers[] = {1e0F, 1e1F, 1e2F, 1e3F, 1e4F, 1e5F, 1e6F, 1e7F, 1e8F, 1e9F, 1e10F};
    uint64_t mantissa;
    int64_t exponent;
    float value;
    if (number_small(n, &mantissa, &exponent) && mantissa <= UINT64_C(1) << 24 && exponent >= -10 &&
        exponent <= 10) {
        value = exponent < 0 ? (float)mantissa / powers[-exponent] : (float)mantissa * powers[exponent];
    } else {
        char text[SIGNIFICANT_DIGITS + 32];
        number_respell(n, text, sizeof text);
        value = strtof(text, NULL);
    }
    *out = n->negative ? -value : value;
    return isfinite(value);
}

void integer_bounds(enum sl_type_id id, int64_t *low, int64_t *high)
{
    switch (id) {
    case SL_INT8:
        *low = INT8_MIN, *high = INT8_MAX;
        break;
    case SL_INT16:
        *low = INT16_MIN, *high = INT16_MAX;
        break;
    case SL_INT32:
        *low = INT32_MIN, *high = INT32_MAX;
        break;
    case SL_UINT8:
        *low = 0, *high = UINT8_MAX;
        break;
    case SL_UINT16:
        *low = 0, *high = UINT16_MAX;
        break;
    case SL_UINT32:
        *low = 0, *high = UINT32_MAX;
        break;
    case SL_UINT64:
        *low = 0, *high = INT64_MAX;
        break;
    default:
        *low = INT64_MIN, *high = INT64_MAX;
        break;
    }
}

int64_t time_unit_per_second(enum sl_time_unit unit)
{
    return unit == SL_MILLIS ? 1000 : unit == SL_MICROS ? 1000000 : 1000000000;
}

const char *text_excerpt(const char *text, size_t len, char *out)
{
    size_t n = len <= 40 ? len : 37;
    size_t valid = sl_utf8_valid_prefix(text, n);
    if (n - valid < 4) /* at most one character was cut */
        n = valid;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        out[i] = c < 0x20 || c == 0x7f ? '?' : (char)c;
    }
    if (sl_utf8_valid_prefix(out, n) != n)
        for (size_t i = 0; i < n; i++)
            out[i] = (unsigned char)out[i] >= 0x80 ? '?' : out[i];
    memcpy(out + n, len > 40 ? "..." : "", len > 40 ? 4 : 1);
    return out;
}
