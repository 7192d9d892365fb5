/*
 * Literals against a column's type. Numbers are never rounded to meet an exact type: a literal that lies between two of
 * the type's values becomes the range of values on the wanted side (x < 10.5 is x <= 10 for integers, x = 10.5 is empty).
 */
#include "query/query_int.h"

#define EXPONENT_BOUND 1000000

enum expr_family expr_family_of(const sl_type *type)
{
    switch (type->id) {
    case SL_DECIMAL:
        return EXPR_DECIMAL;
    case SL_STRING:
    case SL_BINARY:
    case SL_FIXED:
        return EXPR_BYTES;
    default:
        return EXPR_KEY64;
    }
}

/* ---- number texts -------------------------------------------------------------------------------------- */

/* value = (negative ? -1 : 1) * digits * 10^exponent, where digits are the text's without the point. */
struct number {
    bool negative;
    const char *text; /* from the first digit on; may hold a point, ends before the exponent */
    size_t len;
    int64_t exponent;
    size_t digits; /* significant: from the first that is not 0 */
};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool scan_exponent(const char *text, size_t len, int64_t *out)
{
    size_t i = len > 0 && (text[0] == '-' || text[0] == '+');
    int64_t value = 0;
    if (i == len)
        return false;
    for (; i < len; i++) {
        if (!is_digit(text[i]))
            return false;
        if (value < EXPONENT_BOUND)
            value = value * 10 + (text[i] - '0');
    }
    *out = text[0] == '-' ? -value : value;
    return true;
}

static bool number_scan(const char *text, size_t len, struct number *out)
{
    *out = (struct number){0};
    size_t i = 0, all_digits = 0, fraction = 0;
    bool point = false;
    if (len > 0 && (text[0] == '-' || text[0] == '+'))
        out->negative = text[i++] == '-';
    out->text = text + i;
    for (; i < len && (is_digit(text[i]) || (text[i] == '.' && !point)); i++) {
        if (text[i] == '.') {
            point = true;
            continue;
        }
        all_digits++;
        fraction += point;
        out->digits += out->digits > 0 || text[i] != '0';
    }
    out->len = (size_t)(text + i - out->text);
    if (all_digits == 0)
        return false;
    if (i < len &&
        ((text[i] != 'e' && text[i] != 'E') || !scan_exponent(text + i + 1, len - i - 1, &out->exponent)))
        return false;
    out->exponent -= (int64_t)fraction;
    return true;
}

/* The next significant digit, 0 behind the last one. */
static int next_digit(const struct number *n, size_t *at, bool *started)
{
    while (*at < n->len) {
        char c = n->text[(*at)++];
        if (c == '.' || (c == '0' && !*started))
            continue;
        *started = true;
        return c - '0';
    }
    return 0;
}

/* floor(value * 10^scale); beyond +-10^38 it stays there. *exact: nothing was lost. */
static sl_i128 number_floor(const struct number *n, int32_t scale, bool *exact)
{
    int64_t whole =
        n->digits == 0 ? 0 : (int64_t)n->digits + n->exponent + scale; /* digits before the point */
    size_t at = 0;
    bool started = false, rest = false;
    *exact = true;
    if (whole > 38) {
        *exact = false;
        return n->negative ? -EXPR_NUMBER_BOUND - 1 : EXPR_NUMBER_BOUND;
    }
    sl_i128 value = 0;
    size_t used = 0;
    for (int64_t i = 0; i < whole; i++, used++)
        value = value * 10 + next_digit(n, &at, &started);
    for (; used < n->digits && n->digits > 0; used++)
        rest |= next_digit(n, &at, &started) != 0;
    *exact = !rest;
    return n->negative ? -value - rest : value;
}

int expr_number_compare(const char *a, size_t a_len, const char *b, size_t b_len)
{
    struct number x, y;
    if (!number_scan(a, a_len, &x) || !number_scan(b, b_len, &y))
        return 0;
    int x_sign = x.digits == 0 ? 0 : x.negative ? -1 : 1, y_sign = y.digits == 0 ? 0 : y.negative ? -1 : 1;
    if (x_sign != y_sign || x_sign == 0)
        return (x_sign > y_sign) - (x_sign < y_sign);
    int64_t x_top = (int64_t)x.digits + x.exponent, y_top = (int64_t)y.digits + y.exponent;
    if (x_top != y_top)
        return (x_top > y_top ? 1 : -1) * x_sign;
    size_t i = 0, j = 0, longest = x.digits > y.digits ? x.digits : y.digits;
    bool i_started = false, j_started = false;
    for (size_t k = 0; k < longest; k++) {
        int c = next_digit(&x, &i, &i_started) - next_digit(&y, &j, &j_started);
        if (c != 0)
            return (c > 0 ? 1 : -1) * x_sign;
    }
    return 0;
}

/* ---- errors -------------------------------------------------------------------------------------------- */

static sl_status mismatch(const sl_type *type, const struct expr_operand *literal, const char *wanted)
{
    char *name = NULL;
    SL_TRY(sl_type_text(type, &name));
    static const char *const kinds[] = {"a number",  "a string", "a binary literal", "a date", "a timestamp",
                                        "a boolean", "null"};
    sl_status status = expr_error(literal->at, "%s cannot be compared with a column of type %s (write %s)",
                                  kinds[literal->kind], name, wanted);
    sl_free(name);
    return status;
}

/* ---- values through the column layer's text forms ------------------------------------------------------ */

static sl_status parse_text(const sl_type *type, const char *text, size_t len, sl_array **out)
{
    sl_builder *b;
    SL_TRY(sl_builder_new(type, &b));
    sl_status status = sl_builder_text(b, text, len);
    if (!status)
        status = sl_builder_finish(b, out);
    sl_builder_free(b);
    return status;
}

static sl_status parse_integer(const sl_type *type, const char *text, size_t len, sl_i128 *out)
{
    sl_array *array;
    SL_TRY(parse_text(type, text, len, &array));
    *out = sl_integer_at(array, 0);
    sl_array_unref(array);
    return SL_OK;
}

static int64_t units_per_second(enum sl_time_unit unit)
{
    return unit == SL_MILLIS ? 1000 : unit == SL_MICROS ? 1000000 : 1000000000;
}

static sl_i128 floor_divide(sl_i128 a, sl_i128 b, bool *exact)
{
    sl_i128 q = a / b;
    *exact = a % b == 0;
    return q - (a % b != 0 && a < 0);
}

static sl_status type_with_unit(const sl_type *type, enum sl_time_unit unit, const sl_type **out)
{
    return type->id == SL_TIME ? sl_type_time(unit, out) : sl_type_timestamp(unit, type->utc, out);
}

/* A time or timestamp in the column's unit. Texts that are finer than it, or beyond what it can count to, are read in
 * another unit and converted: the comparison stays right. */
static sl_status parse_moment(const sl_type *type, const char *text, size_t len, sl_i128 *out, bool *exact)
{
    static const enum sl_time_unit others[] = {SL_MICROS, SL_NANOS, SL_MILLIS};
    *exact = true;
    sl_status first = parse_integer(type, text, len, out);
    for (size_t i = 0; sl_status_code(first) == SL_E_INPUT && i < sizeof others / sizeof *others; i++) {
        const sl_type *other;
        sl_status status = type_with_unit(type, others[i], &other);
        if (!status) {
            status = parse_integer(other, text, len, out);
            sl_type_unref(other);
        }
        if (sl_status_code(status) == SL_E_INPUT) {
            sl_status_free(status);
            continue;
        }
        sl_status_free(first);
        SL_TRY(status);
        *out = floor_divide(*out * units_per_second(type->unit), units_per_second(others[i]), exact);
        return SL_OK;
    }
    return first;
}

/* The column layer also reads bare integers as dates and times; in an expression '20240131' would be a trap. */
static bool looks_temporal(const char *text, size_t len)
{
    for (size_t i = 1; i < len; i++)
        if (text[i] == '-' || text[i] == ':')
            return true;
    return false;
}

static sl_status parse_day(const char *text, size_t len, sl_i128 *out)
{
    const sl_type *date;
    SL_TRY(sl_type_new(SL_DATE, &date));
    sl_status status = parse_integer(date, text, len, out);
    sl_type_unref(date);
    return status;
}

/* A timestamp against a date column: the day that holds it. */
static sl_status parse_day_of_moment(const char *text, size_t len, sl_i128 *out, bool *exact)
{
    const sl_type *micros;
    SL_TRY(sl_type_timestamp(SL_MICROS, true, &micros));
    bool whole = true;
    sl_status status = parse_moment(micros, text, len, out, &whole);
    sl_type_unref(micros);
    SL_TRY(status);
    *out = floor_divide(*out, (sl_i128)86400 * 1000000, exact);
    *exact = *exact && whole;
    return SL_OK;
}

static sl_status temporal_floor(const sl_type *type, const struct expr_operand *l, sl_i128 *out, bool *exact)
{
    bool is_text = l->kind == LITERAL_STRING || l->kind == LITERAL_TIMESTAMP || l->kind == LITERAL_DATE;
    if (!is_text || (type->id == SL_TIME && l->kind != LITERAL_STRING))
        return mismatch(type, l,
                        type->id == SL_DATE   ? "date '2024-01-31'"
                        : type->id == SL_TIME ? "'12:30:00'"
                                              : "timestamp '2024-01-31 12:30:00'");
    if (!looks_temporal(l->text, l->len))
        return expr_error(l->at, "'%.*s' is not a date or time", (int)(l->len < 60 ? l->len : 60), l->text);
    *exact = true;
    sl_status status;
    if (l->kind == LITERAL_DATE || (type->id == SL_DATE && l->kind == LITERAL_STRING)) {
        status = parse_day(l->text, l->len, out);
        if (status && l->kind == LITERAL_STRING && sl_status_code(status) == SL_E_INPUT) {
            sl_status_free(status);
            status = parse_day_of_moment(l->text, l->len, out, exact);
        }
        if (!status && type->id == SL_TIMESTAMP)
            *out *= (sl_i128)86400 * units_per_second(type->unit);
    } else if (type->id == SL_DATE) {
        status = parse_day_of_moment(l->text, l->len, out, exact);
    } else {
        status = parse_moment(type, l->text, l->len, out, exact);
    }
    return sl_context(status, "expression: position %zu", l->at + 1);
}

static sl_status floating_key(const sl_type *type, const struct expr_operand *l, sl_i128 *out)
{
    if (l->kind != LITERAL_NUMBER && l->kind != LITERAL_STRING)
        return mismatch(type, l, "a number");
    const sl_type *parse_type;
    sl_array *array;
    SL_TRY(sl_type_new(type->id == SL_FLOAT ? SL_FLOAT : SL_DOUBLE, &parse_type));
    sl_status status = parse_text(parse_type, l->text, l->len, &array);
    sl_type_unref(parse_type);
    SL_TRY_CTX(status, "expression: position %zu", l->at + 1);
    int64_t key;
    expr_load_keys(array, 0, 1, &key);
    sl_array_unref(array);
    *out = key;
    return SL_OK;
}

static sl_status number_literal_floor(const sl_type *type, const struct expr_operand *l, sl_i128 *out,
                                      bool *exact)
{
    struct number n;
    if (l->kind != LITERAL_NUMBER && l->kind != LITERAL_STRING)
        return mismatch(type, l, "a number");
    if (!number_scan(l->text, l->len, &n))
        return expr_error(l->at, "'%.*s' is not a number", (int)(l->len < 60 ? l->len : 60), l->text);
    *out = number_floor(&n, type->id == SL_DECIMAL ? type->scale : 0, exact);
    return SL_OK;
}

static sl_status bool_key(const sl_type *type, const struct expr_operand *l, sl_i128 *out)
{
    if (l->kind == LITERAL_BOOL) {
        *out = l->truth;
        return SL_OK;
    }
    if (l->kind != LITERAL_STRING)
        return mismatch(type, l, "true or false");
    sl_array *array;
    SL_TRY_CTX(parse_text(type, l->text, l->len, &array), "expression: position %zu", l->at + 1);
    *out = sl_bool_at(array, 0);
    sl_array_unref(array);
    return SL_OK;
}

/* ---- ranges -------------------------------------------------------------------------------------------- */

/* The smallest and largest value that a column of the type can hold. */
static void type_domain(const sl_type *type, sl_i128 *lo, sl_i128 *hi)
{
    *lo = INT64_MIN;
    *hi = INT64_MAX;
    if (type->id == SL_DECIMAL) {
        *lo = -EXPR_NUMBER_BOUND;
        *hi = EXPR_NUMBER_BOUND;
    } else if (type->id == SL_UINT64) {
        *lo = 0;
        *hi = (sl_i128)UINT64_MAX;
    }
}

static void range_of(enum expr_op op, sl_i128 floor, bool exact, sl_i128 lowest, sl_i128 highest,
                     struct expr_range *out)
{
    sl_i128 lo = lowest, hi = highest;
    if (op == EXPR_EQ || op == EXPR_NE) {
        lo = floor + !exact; /* between two values: lo > hi */
        hi = floor;
    } else if (op == EXPR_LT) {
        hi = floor - exact;
    } else if (op == EXPR_LE) {
        hi = floor;
    } else {
        lo = op == EXPR_GE && exact ? floor : floor + 1;
    }
    out->lo = lo > lowest ? lo : lowest;
    out->hi = hi < highest ? hi : highest;
}

sl_status expr_literal_range(const sl_type *type, enum expr_op op, const struct expr_operand *literal,
                             struct expr_range *out)
{
    sl_i128 floor = 0, lowest, highest;
    bool exact = true;
    *out = (struct expr_range){0};
    switch (type->id) {
    case SL_BOOL:
        SL_TRY(bool_key(type, literal, &floor));
        break;
    case SL_HALF:
    case SL_FLOAT:
    case SL_DOUBLE:
        SL_TRY(floating_key(type, literal, &floor));
        break;
    case SL_DATE:
    case SL_TIME:
    case SL_TIMESTAMP:
        SL_TRY(temporal_floor(type, literal, &floor, &exact));
        break;
    default:
        SL_TRY(number_literal_floor(type, literal, &floor, &exact));
    }
    type_domain(type, &lowest, &highest);
    range_of(op, floor, exact, lowest, highest, out);
    if (out->lo > out->hi) { /* one form of empty, whose ends are keys of any family */
        out->lo = 1;
        out->hi = 0;
    } else if (type->id == SL_UINT64) {
        out->lo -= (sl_i128)1 << 63;
        out->hi -= (sl_i128)1 << 63;
    }
    return SL_OK;
}

sl_status expr_literal_bytes(const sl_type *type, const struct expr_operand *literal, struct expr_bytes *out)
{
    bool fits = literal->kind == LITERAL_STRING || (literal->kind == LITERAL_BYTES && type->id != SL_STRING);
    if (!fits)
        return mismatch(type, literal, type->id == SL_STRING ? "'text' in quotes" : "'text' or x'00ff'");
    *out = (struct expr_bytes){(const uint8_t *)literal->text, literal->len};
    return SL_OK;
}
