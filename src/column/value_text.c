/* Values as text. Canonical is the form of tools/peer/canon.py, which every peer prints, so that two readers
 * agree when their outputs are equal byte for byte: it is Python's json.dumps of values in a fixed spelling.
 * JSON and plain are for people and for other programs' imports. Inside nested values plain is JSON. */
#include "column/text_int.h"
#include <math.h>
#include <stdio.h>

static sl_status append_text(sl_buf *out, const char *text) { return sl_buf_append(out, text, strlen(text)); }

/* ---- strings ------------------------------------------------------------------------------------------- */

static bool needs_escape(uint8_t c) { return c < 0x20 || c == '"' || c == '\\'; }

static sl_status escape_append(uint8_t c, sl_buf *out)
{
    switch (c) {
    case '"':
        return sl_buf_append(out, "\\\"", 2);
    case '\\':
        return sl_buf_append(out, "\\\\", 2);
    case '\b':
        return sl_buf_append(out, "\\b", 2);
    case '\f':
        return sl_buf_append(out, "\\f", 2);
    case '\n':
        return sl_buf_append(out, "\\n", 2);
    case '\r':
        return sl_buf_append(out, "\\r", 2);
    case '\t':
        return sl_buf_append(out, "\\t", 2);
    default:
        return sl_buf_printf(out, "\\u%04x", c);
    }
}

sl_status sl_json_string(const void *data, size_t len, sl_buf *out)
{
    const uint8_t *bytes = data;
    SL_TRY(sl_buf_byte(out, '"'));
    for (size_t i = 0; i < len;) {
        size_t end = i;
        while (end < len && !needs_escape(bytes[end]))
            end++;
        if (end > i)
            SL_TRY(sl_buf_append(out, bytes + i, end - i));
        if (end < len)
            SL_TRY(escape_append(bytes[end++], out));
        i = end;
    }
    return sl_buf_byte(out, '"');
}

static sl_status hex_append(const uint8_t *data, size_t len, sl_buf *out)
{
    static const char digits[] = "0123456789abcdef";
    size_t bytes;
    if (sl_mul_overflows(len, 2, &bytes))
        return sl_nomem();
    SL_TRY(sl_buf_reserve(out, bytes));
    for (size_t i = 0; i < len; i++) {
        out->data[out->len++] = (uint8_t)digits[data[i] >> 4];
        out->data[out->len++] = (uint8_t)digits[data[i] & 15];
    }
    return SL_OK;
}

static sl_status binary_text(const uint8_t *data, size_t len, enum sl_text_style style, sl_buf *out)
{
    bool quoted = style != SL_TEXT_PLAIN;
    if (quoted)
        SL_TRY(sl_buf_byte(out, '"'));
    if (style == SL_TEXT_JSON) {
        SL_TRY(sl_buf_append_base64(out, data, len));
    } else {
        SL_TRY(append_text(out, "hex:"));
        SL_TRY(hex_append(data, len, out));
    }
    return quoted ? sl_buf_byte(out, '"') : SL_OK;
}

/* ---- floating point ------------------------------------------------------------------------------------ */

/* Digits d1 d2 ... dn of a finite value 0.d1d2...dn * 10^exponent. */
struct digits {
    bool negative;
    int count, exponent;
    char text[40];
};

static void digits_of_zero(struct digits *d)
{
    d->text[0] = '0';
    d->text[1] = '\0';
    d->count = 1;
    d->exponent = 1;
}

static void digits_of_double(double value, struct digits *d)
{
    d->negative = signbit(value) != 0;
    if (value == 0.0)
        digits_of_zero(d);
    else
        sl_double_digits(fabs(value), d->text, &d->count, &d->exponent);
}

static void digits_of_float(float value, struct digits *d)
{
    d->negative = signbit(value) != 0;
    if (value == 0.0F)
        digits_of_zero(d);
    else
        sl_float_digits(fabsf(value), d->text, &d->count, &d->exponent);
}

/* "123.0", "0.05": both sides of the point have a digit. */
static sl_status digits_plain(const struct digits *d, sl_buf *out)
{
    if (d->exponent <= 0) {
        SL_TRY(append_text(out, "0."));
        for (int i = d->exponent; i < 0; i++)
            SL_TRY(sl_buf_byte(out, '0'));
        return sl_buf_append(out, d->text, (size_t)d->count);
    }
    for (int i = 0; i < d->exponent; i++)
        SL_TRY(sl_buf_byte(out, i < d->count ? (uint8_t)d->text[i] : '0'));
    SL_TRY(sl_buf_byte(out, '.'));
    if (d->exponent >= d->count)
        return sl_buf_byte(out, '0');
    return sl_buf_append(out, d->text + d->exponent, (size_t)(d->count - d->exponent));
}

/* Python's repr: plain from 1e-4 to below 1e16, else 1e-05, 1.5e+16. */
static sl_status digits_python(const struct digits *d, sl_buf *out)
{
    if (d->negative)
        SL_TRY(sl_buf_byte(out, '-'));
    if (d->exponent > -4 && d->exponent <= 16)
        return digits_plain(d, out);
    SL_TRY(sl_buf_byte(out, (uint8_t)d->text[0]));
    if (d->count > 1) {
        SL_TRY(sl_buf_byte(out, '.'));
        SL_TRY(sl_buf_append(out, d->text + 1, (size_t)d->count - 1));
    }
    int exponent = d->exponent - 1;
    return sl_buf_printf(out, "e%c%02d", exponent < 0 ? '-' : '+', exponent < 0 ? -exponent : exponent);
}

/* Java asks for the two-digit decimal nearest to the value when one digit would do: 4.9E-324, not 5E-324. */
static void digits_at_least_two(double value, struct digits *d)
{
    if (d->count != 1 || value == 0.0)
        return;
    char text[40];
    snprintf(text, sizeof text, "%.1e", fabs(value)); /* "4.9e-324"; the point may be another character */
    d->text[0] = text[0];
    d->text[1] = text[2];
    d->text[2] = '\0';
    d->count = text[2] == '0' ? 1 : 2;
    d->exponent = (int)strtol(text + 4, NULL, 10) + 1;
}

/* spec/write-path.md 1.2: plain when 1e-3 <= |x| < 1e7, else d.dddE[-]n. */
static sl_status digits_java(const struct digits *d, sl_buf *out)
{
    if (d->negative)
        SL_TRY(sl_buf_byte(out, '-'));
    if (d->exponent >= -2 && d->exponent <= 7)
        return digits_plain(d, out);
    SL_TRY(sl_buf_byte(out, (uint8_t)d->text[0]));
    SL_TRY(sl_buf_byte(out, '.'));
    if (d->count > 1)
        SL_TRY(sl_buf_append(out, d->text + 1, (size_t)d->count - 1));
    else
        SL_TRY(sl_buf_byte(out, '0'));
    return sl_buf_printf(out, "E%d", d->exponent - 1);
}

static const char *not_finite(double value)
{
    return isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

sl_status sl_java_double(double value, sl_buf *out)
{
    struct digits d;
    if (!isfinite(value))
        return append_text(out, not_finite(value));
    digits_of_double(value, &d);
    digits_at_least_two(value, &d);
    return digits_java(&d, out);
}

sl_status sl_java_float(float value, sl_buf *out)
{
    struct digits d;
    if (!isfinite(value))
        return append_text(out, not_finite((double)value));
    digits_of_float(value, &d);
    digits_at_least_two((double)value, &d);
    return digits_java(&d, out);
}

static sl_status floating_text(const sl_array *a, int64_t row, enum sl_text_style style, sl_buf *out)
{
    struct digits d;
    double value = a->type->id == SL_DOUBLE  ? sl_double_at(a, row)
                   : a->type->id == SL_FLOAT ? (double)sl_float_at(a, row)
                                             : half_to_double(load_le16(a->values + row * 2));
    if (!isfinite(value)) {
        const char *word = not_finite(value);
        return style == SL_TEXT_PLAIN ? append_text(out, word) : sl_buf_printf(out, "\"%s\"", word);
    }
    /* Canonical widens a float first; for people its own shortest digits are the number they wrote. */
    if (a->type->id == SL_FLOAT && style != SL_TEXT_CANONICAL)
        digits_of_float(sl_float_at(a, row), &d);
    else
        digits_of_double(value, &d);
    return digits_python(&d, out);
}

double half_to_double(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double magnitude = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                       : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                      : ldexp(fraction, -24);
    return bits >> 15 ? -magnitude : magnitude;
}

/* ---- other scalars ------------------------------------------------------------------------------------- */

sl_status decimal_text(sl_i128 unscaled, int32_t scale, sl_buf *out)
{
    char digits[48];
    size_t at = sizeof digits;
    sl_u128 rest = unscaled < 0 ? -(sl_u128)unscaled : (sl_u128)unscaled;
    for (int32_t written = 0; rest != 0 || written <= scale; written++) {
        if (written == scale && scale > 0)
            digits[--at] = '.';
        digits[--at] = (char)('0' + (int)(rest % 10));
        rest /= 10;
    }
    if (unscaled < 0)
        digits[--at] = '-';
    return sl_buf_append(out, digits + at, sizeof digits - at);
}

sl_status date_text(int64_t days, sl_buf *out)
{
    int64_t year;
    int month, day;
    sl_days_to_civil(days, &year, &month, &day);
    return sl_buf_printf(out, "%04" PRId64 "-%02d-%02d", year, month, day);
}

/* Seconds of a day and the fraction behind them. */
static sl_status clock_text(int64_t seconds, int64_t fraction, int fraction_digits, sl_buf *out)
{
    return sl_buf_printf(out, "%02d:%02d:%02d.%0*" PRId64, (int)(seconds / 3600), (int)(seconds / 60 % 60),
                         (int)(seconds % 60), fraction_digits, fraction);
}

static int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* Date and time of one value; canonical always has six decimals, the others as many as the unit. */
static sl_status temporal_text(const sl_type *type, int64_t value, enum sl_text_style style, sl_buf *out)
{
    int64_t per_second = time_unit_per_second(type->unit);
    int digits = type->unit == SL_MILLIS ? 3 : type->unit == SL_MICROS ? 6 : 9;
    int64_t seconds = floor_divide(value, per_second), fraction = value - seconds * per_second;
    if (style == SL_TEXT_CANONICAL) {
        fraction = type->unit == SL_MILLIS   ? fraction * 1000
                   : type->unit == SL_MICROS ? fraction
                                             : fraction / 1000;
        digits = 6;
    }
    if (type->id == SL_TIME)
        return clock_text(seconds, fraction, digits, out);
    int64_t days = floor_divide(seconds, 86400);
    SL_TRY(date_text(days, out));
    SL_TRY(sl_buf_byte(out, 'T'));
    SL_TRY(clock_text(seconds - days * 86400, fraction, digits, out));
    return type->utc ? sl_buf_byte(out, 'Z') : SL_OK;
}

static sl_status quoted_scalar(const sl_array *a, int64_t row, enum sl_text_style style, sl_buf *out)
{
    bool quoted = style != SL_TEXT_PLAIN;
    if (quoted)
        SL_TRY(sl_buf_byte(out, '"'));
    switch (a->type->id) {
    case SL_DECIMAL:
        SL_TRY(decimal_text(sl_decimal_at(a, row), a->type->scale, out));
        break;
    case SL_DATE:
        SL_TRY(date_text(sl_i32_at(a, row), out));
        break;
    default:
        SL_TRY(temporal_text(a->type, sl_integer_at(a, row), style, out));
        break;
    }
    return quoted ? sl_buf_byte(out, '"') : SL_OK;
}

/* ---- nested -------------------------------------------------------------------------------------------- */

static enum sl_text_style inner_style(enum sl_text_style style)
{
    return style == SL_TEXT_PLAIN ? SL_TEXT_JSON : style;
}

static sl_status list_text(const sl_array *a, int64_t row, enum sl_text_style style, sl_buf *out)
{
    SL_TRY(sl_buf_byte(out, '['));
    for (int64_t i = a->offsets[row]; i < a->offsets[row + 1]; i++) {
        if (i > a->offsets[row])
            SL_TRY(sl_buf_byte(out, ','));
        SL_TRY(sl_value_text(a->children[0], i, style, out));
    }
    return sl_buf_byte(out, ']');
}

/* Keys as they stand when they are text, else their plain text: JSON objects have string keys only. */
static sl_status json_map_key(const sl_array *keys, int64_t i, sl_buf *out)
{
    sl_buf text = {0};
    sl_status status = sl_value_text(keys, i, SL_TEXT_PLAIN, &text);
    if (status == SL_OK)
        status = sl_json_string(text.data, text.len, out);
    sl_buf_free(&text);
    return status;
}

static sl_status map_as_object(const sl_array *a, int64_t row, sl_buf *out)
{
    const sl_array *entries = a->children[0];
    SL_TRY(sl_buf_byte(out, '{'));
    for (int64_t i = a->offsets[row]; i < a->offsets[row + 1]; i++) {
        if (i > a->offsets[row])
            SL_TRY(sl_buf_byte(out, ','));
        SL_TRY(json_map_key(entries->children[0], i, out));
        SL_TRY(sl_buf_byte(out, ':'));
        SL_TRY(sl_value_text(entries->children[1], i, SL_TEXT_JSON, out));
    }
    return sl_buf_byte(out, '}');
}

/* Canonical maps: the texts of the keys decide the order. */
struct map_entry {
    int64_t index;     /* into the entries */
    size_t start, len; /* of the key's text */
    const uint8_t *text;
};

static int map_entry_compare(const void *a, const void *b)
{
    const struct map_entry *x = a, *y = b;
    int c = bytes_compare(x->text + x->start, x->len, y->text + y->start, y->len);
    return c ? c : (x->index > y->index) - (x->index < y->index);
}

static sl_status map_entries_sorted(const sl_array *keys, int64_t first, size_t count, sl_buf *texts,
                                    struct map_entry *entries)
{
    for (size_t i = 0; i < count; i++) {
        entries[i].index = first + (int64_t)i;
        entries[i].start = texts->len;
        SL_TRY(sl_value_text(keys, entries[i].index, SL_TEXT_CANONICAL, texts));
        entries[i].len = texts->len - entries[i].start;
    }
    for (size_t i = 0; i < count; i++)
        entries[i].text = texts->data;
    qsort(entries, count, sizeof *entries, map_entry_compare);
    return SL_OK;
}

static sl_status map_as_pairs(const sl_array *a, int64_t row, sl_buf *out)
{
    size_t count = (size_t)(a->offsets[row + 1] - a->offsets[row]);
    sl_buf texts = {0};
    struct map_entry *entries;
    SL_NEW_ARRAY(entries, count ? count : 1);
    sl_status status;
    SL_GO(map_entries_sorted(a->children[0]->children[0], a->offsets[row], count, &texts, entries));
    SL_GO(sl_buf_byte(out, '['));
    for (size_t i = 0; i < count; i++) {
        SL_GO(append_text(out, i ? ",[" : "["));
        SL_GO(sl_buf_append(out, texts.data + entries[i].start, entries[i].len));
        SL_GO(sl_buf_byte(out, ','));
        SL_GO(sl_value_text(a->children[0]->children[1], entries[i].index, SL_TEXT_CANONICAL, out));
        SL_GO(sl_buf_byte(out, ']'));
    }
    status = sl_buf_byte(out, ']');
done:
    sl_buf_free(&texts);
    sl_free(entries);
    return status;
}

/* Order in which the members are written: as they stand, or for the canonical form by code point, which is
 * byte order in UTF-8. An insertion sort, since members are few and mostly in order. */
static void member_order(const sl_type *type, enum sl_text_style style, size_t *order)
{
    for (size_t i = 0; i < type->field_count; i++) {
        size_t at = i;
        if (style == SL_TEXT_CANONICAL)
            for (; at > 0 && strcmp(type->fields[order[at - 1]].name, type->fields[i].name) > 0; at--)
                order[at] = order[at - 1];
        order[at] = i;
    }
}

#define MEMBERS_ON_STACK 64

static sl_status members_text(const sl_type *type, sl_array *const *members, int64_t row,
                              enum sl_text_style style, sl_buf *out)
{
    size_t few[MEMBERS_ON_STACK], *order = few;
    if (type->field_count > MEMBERS_ON_STACK)
        SL_NEW_ARRAY(order, type->field_count);
    member_order(type, style, order);
    sl_status status;
    SL_GO(sl_buf_byte(out, '{'));
    for (size_t i = 0; i < type->field_count; i++) {
        const char *name = type->fields[order[i]].name;
        if (i > 0)
            SL_GO(sl_buf_byte(out, ','));
        SL_GO(sl_json_string(name, strlen(name), out));
        SL_GO(sl_buf_byte(out, ':'));
        SL_GO(sl_value_text(members[order[i]], row, style, out));
    }
    status = sl_buf_byte(out, '}');
done:
    if (order != few)
        sl_free(order);
    return status;
}

sl_status sl_row_text(const sl_batch *batch, int64_t row, enum sl_text_style style, sl_buf *out)
{
    return members_text(batch->schema, batch->columns, row, inner_style(style), out);
}

/* ---- any value ----------------------------------------------------------------------------------------- */

static sl_status bytes_text(const sl_array *a, int64_t row, enum sl_text_style style, sl_buf *out)
{
    size_t len;
    const uint8_t *data = sl_bytes_at(a, row, &len);
    if (a->type->id != SL_STRING)
        return binary_text(data, len, style, out);
    return style == SL_TEXT_PLAIN ? sl_buf_append(out, data, len) : sl_json_string(data, len, out);
}

sl_status sl_value_text(const sl_array *array, int64_t row, enum sl_text_style style, sl_buf *out)
{
    const sl_type *type = array->type;
    if (type->id == SL_NULL || !sl_is_valid(array, row))
        return style == SL_TEXT_PLAIN ? SL_OK : append_text(out, "null");
    if (array->dictionary && type->id != SL_STRING && type->id != SL_BINARY && type->id != SL_FIXED)
        return sl_value_text(array->dictionary, sl_i32_at(array, row), style, out);
    switch (type->id) {
    case SL_BOOL:
        return append_text(out, sl_bool_at(array, row) ? "true" : "false");
    case SL_UINT64:
        return sl_buf_printf(out, "%" PRIu64, (uint64_t)sl_i64_at(array, row));
    case SL_HALF:
    case SL_FLOAT:
    case SL_DOUBLE:
        return floating_text(array, row, style, out);
    case SL_DECIMAL:
    case SL_DATE:
    case SL_TIME:
    case SL_TIMESTAMP:
        return quoted_scalar(array, row, style, out);
    case SL_STRING:
    case SL_BINARY:
    case SL_FIXED:
        return bytes_text(array, row, style, out);
    case SL_LIST:
        return list_text(array, row, inner_style(style), out);
    case SL_MAP:
        return style == SL_TEXT_CANONICAL ? map_as_pairs(array, row, out) : map_as_object(array, row, out);
    case SL_STRUCT:
        return members_text(type, array->children, row, inner_style(style), out);
    default:
        return sl_buf_printf(out, "%" PRId64, sl_integer_at(array, row));
    }
}
