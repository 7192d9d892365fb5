/*
 * The shortest decimal that reads back to the same number, found with libc's correctly rounded printf and
 * strtod: simple to trust, and fast enough for the text forms that need it.
 *
 * Up to 15 digits (6 for float) a normal number has at most one decimal that reads back to it, so the search
 * begins there and drops zeros at the end; subnormal numbers have less precision, there it begins with one
 * digit.
 */
#include "base/base.h"
#include <float.h>
#include <math.h>
#include <stdio.h>

#define TEXT_BYTES 40 /* 17 digits, a point of some locale, an exponent */

enum width { DOUBLE, FLOAT };

static bool reads_back(const char *text, double value, enum width width)
{
    return width == DOUBLE ? strtod(text, NULL) == value : (double)strtof(text, NULL) == value;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Adds one to the last digit of the mantissa of "d.ddde-x"; false when that would carry out of the first
 * digit. */
static bool increment_last_digit(char *text)
{
    char *p = strchr(text, 'e');
    while (p > text) {
        p--;
        if (!is_digit(*p))
            continue;
        if (*p != '9') {
            ++*p;
            return true;
        }
        *p = '0';
    }
    return false;
}

/*
 * Writes `value` with `digits` digits to text; true when it reads back. Below a power of two numbers lie
 * twice as dense as above it, so there the nearest decimal may miss while its upper neighbour, a bit further
 * away, still hits: 2^-44.
 */
static bool print_exactly(double value, int digits, bool is_power_of_two, enum width width, char *text)
{
    snprintf(text, TEXT_BYTES, "%.*e", digits - 1, value);
    if (reads_back(text, value, width))
        return true;
    return is_power_of_two && increment_last_digit(text) && reads_back(text, value, width);
}

/* Takes "d.ddde-x" apart: digits without zeros at the end, and the exponent of 0.ddd. */
static void split_text(const char *text, char *digits, int *count, int *exponent)
{
    int n = 0;
    const char *p = text;
    for (; *p && *p != 'e'; p++) {
        if (is_digit(*p)) /* the locale's point may be anything else */
            digits[n++] = *p;
    }
    while (n > 1 && digits[n - 1] == '0')
        n--;
    digits[n] = 0;
    *count = n;
    *exponent = (int)strtol(p + 1, NULL, 10) + 1;
}

/* Integers of up to 15 digits need no search. */
static void split_integer(uint64_t value, char *digits, int *count, int *exponent)
{
    char reversed[24];
    int n = 0;
    for (; value > 0; value /= 10)
        reversed[n++] = (char)('0' + value % 10);
    *exponent = n;
    int zeros = 0;
    while (zeros < n && reversed[zeros] == '0')
        zeros++;
    for (int i = 0; i < n - zeros; i++)
        digits[i] = reversed[n - 1 - i];
    digits[n - zeros] = 0;
    *count = n - zeros;
}

static void shortest(double value, enum width width, char *digits, int *count, int *exponent)
{
    value = fabs(value);
    if (value == 0) {
        memcpy(digits, "0", 2);
        *count = *exponent = 1;
        return;
    }
    double integer_max = width == DOUBLE ? 1e15 : 1e6;
    if (value < integer_max && value == floor(value)) {
        split_integer((uint64_t)value, digits, count, exponent);
        return;
    }
    bool is_normal = value >= (width == DOUBLE ? DBL_MIN : (double)FLT_MIN);
    int first = !is_normal ? 1 : width == DOUBLE ? DBL_DIG : FLT_DIG;
    int last = width == DOUBLE ? 17 : 9; /* always enough */
    int binary_exponent;
    bool is_power_of_two = is_normal && frexp(value, &binary_exponent) == 0.5;
    char text[TEXT_BYTES];
    int n = first;
    while (!print_exactly(value, n, is_power_of_two, width, text) && n < last)
        n++;
    split_text(text, digits, count, exponent);
}

void sl_double_digits(double value, char *digits, int *count, int *exponent)
{
    shortest(value, DOUBLE, digits, count, exponent);
}

void sl_float_digits(float value, char *digits, int *count, int *exponent)
{
    shortest((double)value, FLOAT, digits, count, exponent);
}
