/* What the readers of CSV and JSON values share: numbers, calendar values and excerpts for messages. */
#ifndef SL_COLUMN_TEXT_INT_H
#define SL_COLUMN_TEXT_INT_H

#include "column/column.h"

/* A number's text taken apart, nothing converted yet: value = int.frac * 10^exponent. */
struct number_text {
    bool negative;
    bool plain_integer; /* neither point nor exponent */
    const char *integer;
    size_t integer_len;
    const char *fraction;
    size_t fraction_len;
    int64_t exponent; /* of the text, held within +-10^8 */
};
/* [+-]digits[.digits][(e|E)[+-]digits], one digit at least on a side of the point; false: it is not that. */
bool number_text_scan(const char *text, size_t len, struct number_text *out);

enum number_fit { NUMBER_FITS, NUMBER_TOO_LARGE, NUMBER_INEXACT };
/* The value times 10^scale, exactly. Too large: more than 38 digits; inexact: digits behind the scale. */
enum number_fit number_text_decimal(const struct number_text *n, int32_t scale, sl_i128 *out);
/* The nearest double or float; false when it is beyond the largest finite one. Never looks at the locale. */
bool number_text_double(const struct number_text *n, double *out);
bool number_text_float(const struct number_text *n, float *out);

/* Whether |unscaled| < 10^precision. */
bool decimal_fits(sl_i128 unscaled, int32_t precision);
/* Least and greatest value of an integer type; SL_UINT64 ends at INT64_MAX, as for the builders. */
void integer_bounds(enum sl_type_id id, int64_t *low, int64_t *high);
/* Units of a time unit in a second. */
int64_t time_unit_per_second(enum sl_time_unit unit);

/* Integer, date, time and timestamp values as the builders take them. */
sl_status integer_append_text(sl_builder *b, const sl_type *type, const char *text, size_t len);
sl_status decimal_append_text(sl_builder *b, const sl_type *type, const char *text, size_t len);
/* Words that are no number: NaN, Infinity, inf with a sign, without regard to case. */
bool float_word(const char *text, size_t len, double *out);
sl_status float_append_number(sl_builder *b, const sl_type *type, const struct number_text *n, const char *text, size_t len);
/* Date, time or timestamp from its text form only (no plain integer). */
sl_status temporal_append_text(sl_builder *b, const sl_type *type, const char *text, size_t len);
/* A plain integer in the type's unit, checked against what the type can mean. */
sl_status temporal_append_integer(sl_builder *b, const sl_type *type, const char *text, size_t len);
/* UTF-8 and, for enums, the symbols are checked. */
sl_status string_append_text(sl_builder *b, const sl_type *type, const char *text, size_t len);
/* Whether the text is a date or a timestamp as temporal_append_text reads them. */
bool text_is_date(const char *text, size_t len);
bool text_is_timestamp(const char *text, size_t len);

/* What casts to string need of the writer of values. */
double half_to_double(uint16_t bits);
sl_status decimal_text(sl_i128 unscaled, int32_t scale, sl_buf *out); /* plain notation, exactly `scale` decimals */
sl_status date_text(int64_t days, sl_buf *out);                       /* YYYY-MM-DD */

/* Pairs of hexadecimal digits to bytes; `out` takes len / 2. False: they are none. */
bool hex_decode(const char *text, size_t len, uint8_t *out, size_t *out_len);

/* At most 40 bytes of a text, printable, for messages; `out` needs TEXT_EXCERPT_BYTES. Returns out. */
#define TEXT_EXCERPT_BYTES 48
const char *text_excerpt(const char *text, size_t len, char *out);

#endif
