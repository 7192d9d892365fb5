/* Values of columns as keys whose integer order is the order of the values, and membership of single keys. */
#include "query/query_int.h"
#include <math.h>

int64_t expr_rank_double(double value)
{
    if (value != value)
        return INT64_MAX;
    if (value == 0)
        return 0;
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits < 0 ? bits ^ INT64_MAX : bits;
}

static double half_value(uint16_t bits)
{
    int exponent = (bits >> 10) & 31;
    double fraction = (double)(bits & 0x3ff), value;
    if (exponent == 31)
        value = fraction != 0 ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        value = ldexp(fraction, -24);
    else
        value = ldexp(fraction + 1024, exponent - 25);
    return bits & 0x8000 ? -value : value;
}

/* One plain loop a width: the compiler makes vectors of them. */
#define LOAD_LOOP(ctype, convert)                                                                            \
    for (int64_t i = 0; i < count; i++) {                                                                    \
        ctype v;                                                                                             \
        memcpy(&v, array->values + (size_t)(from + i) * sizeof v, sizeof v);                                 \
        out[i] = convert;                                                                                    \
    }                                                                                                        \
    break

void expr_load_keys(const sl_array *array, int64_t from, int64_t count, int64_t *out)
{
    switch (array->type->id) {
    case SL_BOOL:
        for (int64_t i = 0; i < count; i++)
            out[i] = sl_bool_at(array, from + i);
        break;
    case SL_INT8:
        LOAD_LOOP(int8_t, v);
    case SL_INT16:
        LOAD_LOOP(int16_t, v);
    case SL_INT32:
    case SL_DATE:
        LOAD_LOOP(int32_t, v);
    case SL_UINT8:
        LOAD_LOOP(uint8_t, v);
    case SL_UINT16:
        LOAD_LOOP(uint16_t, v);
    case SL_UINT32:
        LOAD_LOOP(uint32_t, v);
    case SL_UINT64:
        LOAD_LOOP(uint64_t, (int64_t)(v ^ UINT64_C(0x8000000000000000)));
    case SL_HALF:
        LOAD_LOOP(uint16_t, expr_rank_double(half_value(v)));
    case SL_FLOAT:
        LOAD_LOOP(float, expr_rank_double((double)v));
    case SL_DOUBLE:
        LOAD_LOOP(double, expr_rank_double(v));
    case SL_TIME:
        if (array->type->unit == SL_MILLIS) {
            LOAD_LOOP(int32_t, v);
        }
        LOAD_LOOP(int64_t, v);
    default:
        LOAD_LOOP(int64_t, v);
    }
}

/* The other side of a comparison is a decimal of at most 38 digits or 64 bits times a time unit, so what leaves
 * 10^38 may stay at the end of the range: its order against the other side is the same. */
static sl_i128 scaled(sl_i128 value, sl_i128 factor, sl_i128 largest)
{
    const sl_i128 end = (sl_i128)(~(sl_u128)0 >> 1);
    if (value > largest)
        return end;
    if (value < -largest)
        return -end;
    return value * factor;
}

void expr_load_exact(const sl_array *array, int64_t from, int64_t count, sl_i128 factor, sl_i128 *out)
{
    if (array->type->id == SL_DECIMAL) {
        memcpy(out, array->values + (size_t)from * sizeof *out, (size_t)count * sizeof *out);
    } else {
        int64_t keys[EXPR_BLOCK];
        sl_i128 bias = array->type->id == SL_UINT64 ? (sl_i128)1 << 63 : 0;
        expr_load_keys(array, from, count, keys);
        for (int64_t i = 0; i < count; i++)
            out[i] = keys[i] + bias;
    }
    if (factor == 1)
        return;
    sl_i128 largest = (sl_i128)(~(sl_u128)0 >> 1) / factor;
    for (int64_t i = 0; i < count; i++)
        out[i] = scaled(out[i], factor, largest);
}

static double ten_to(int32_t scale)
{
    double value = 1;
    for (int32_t i = 0; i < scale; i++)
        value *= 10;
    return value;
}

void expr_load_ranks(const sl_array *array, int64_t from, int64_t count, int64_t *out)
{
    enum sl_type_id id = array->type->id;
    if (id >= SL_HALF && id <= SL_DOUBLE) {
        expr_load_keys(array, from, count, out);
        return;
    }
    sl_i128 values[EXPR_BLOCK];
    double divisor = ten_to(id == SL_DECIMAL ? array->type->scale : 0);
    expr_load_exact(array, from, count, 1, values);
    for (int64_t i = 0; i < count; i++)
        out[i] = expr_rank_double((double)values[i] / divisor);
}

/* ---- membership ---------------------------------------------------------------------------------------- */

bool expr_bytes_in_range(const struct expr_range *range, struct expr_bytes value)
{
    if (range->has_lo) {
        int c = bytes_compare(value.data, value.len, range->lo_bytes.data, range->lo_bytes.len);
        if (c < 0 || (c == 0 && range->lo_open))
            return false;
    }
    if (range->has_hi) {
        int c = bytes_compare(value.data, value.len, range->hi_bytes.data, range->hi_bytes.len);
        if (c > 0 || (c == 0 && range->hi_open))
            return false;
    }
    return true;
}

/* First index whose element is not below the wanted one, in each kind of set. */
#define LOWER_BOUND(is_below)                                                                                \
    size_t low = 0, high = set->count;                                                                       \
    while (low < high) {                                                                                     \
        size_t middle = low + (high - low) / 2;                                                              \
        if (is_below)                                                                                        \
            low = middle + 1;                                                                                \
        else                                                                                                 \
            high = middle;                                                                                   \
    }

bool expr_bytes_in_set(const struct expr_set *set, struct expr_bytes value)
{
    LOWER_BOUND(bytes_compare(set->bytes[middle].data, set->bytes[middle].len, value.data, value.len) < 0)
    return low < set->count && set->bytes[low].len == value.len &&
           (value.len == 0 || memcmp(set->bytes[low].data, value.data, value.len) == 0);
}

bool expr_key_in_set(const struct expr_set *set, int64_t key)
{
    LOWER_BOUND(set->keys[middle] < key)
    return low < set->count && set->keys[low] == key;
}

bool expr_decimal_in_set(const struct expr_set *set, sl_i128 value)
{
    LOWER_BOUND(set->decimals[middle] < value)
    return low < set->count && set->decimals[low] == value;
}

bool expr_order_matches(enum expr_op op, int order)
{
    switch (op) {
    case EXPR_EQ:
        return order == 0;
    case EXPR_NE:
        return order != 0;
    case EXPR_LT:
        return order < 0;
    case EXPR_LE:
        return order <= 0;
    case EXPR_GT:
        return order > 0;
    default:
        return order >= 0;
    }
}

/* ---- like ---------------------------------------------------------------------------------------------- */

/* Bytes of the character at data[at]; strings of the engine are valid UTF-8, others go byte by byte. */
static size_t character_bytes(struct expr_bytes s, size_t at)
{
    size_t end = at + 1;
    while (end < s.len && (s.data[end] & 0xc0) == 0x80)
        end++;
    return end - at;
}

/* The last % met is the only place to come back to: what an earlier one could take, the later one can take too. */
bool expr_like_matches(const struct expr_like *like, struct expr_bytes value)
{
    size_t at = like->prefix.len, p = 0;
    size_t retry_at = 0, retry_p = 0;
    bool can_retry = false;
    if (value.len < at || (at > 0 && memcmp(value.data, like->prefix.data, at) != 0))
        return false;
    while (at < value.len || p < like->rest_count) {
        if (p < like->rest_count && like->rest[p] == LIKE_MANY) {
            can_retry = true;
            retry_at = at;
            retry_p = ++p;
        } else if (p < like->rest_count && at < value.len && like->rest[p] == LIKE_ONE) {
            at += character_bytes(value, at);
            p++;
        } else if (p < like->rest_count && at < value.len && like->rest[p] == value.data[at]) {
            at++;
            p++;
        } else if (can_retry && retry_at < value.len) {
            retry_at += character_bytes(value, retry_at);
            at = retry_at;
            p = retry_p;
        } else {
            return false;
        }
    }
    return true;
}
