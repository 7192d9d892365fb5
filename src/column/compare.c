/* Order and equality of single values: the rules of spec/lsm-layout.md 8.3. */
#include "column/column_int.h"

/* A value's array and row, dictionary resolved. */
struct place {
    const sl_array *array;
    int64_t row;
};

static struct place place_of(const sl_array *array, int64_t row)
{
    if (array->dictionary)
        return (struct place){array->dictionary, sl_i32_at(array, row)};
    return (struct place){array, row};
}

static int order_i64(int64_t x, int64_t y) { return (x > y) - (x < y); }

static int order_u64(uint64_t x, uint64_t y) { return (x > y) - (x < y); }

/* Java's Double.compare: -0.0 before 0.0, every NaN the same and above the infinities. */
static int order_double(double x, double y)
{
    if (x < y)
        return -1;
    if (x > y)
        return 1;
    if (x != x || y != y)
        return (x != x) - (y != y);
    int64_t x_bits, y_bits; /* equal numbers: only the sign of zero can differ */
    memcpy(&x_bits, &x, sizeof x_bits);
    memcpy(&y_bits, &y, sizeof y_bits);
    return order_i64(x_bits, y_bits);
}

/* float16 has the order of its bits once the sign is folded in; NaNs are brought together first. */
static int32_t half_rank(uint16_t bits)
{
    int32_t magnitude = bits & 0x7fff;
    if (magnitude > 0x7c00)
        return 0x7e00;
    return bits & 0x8000 ? -magnitude - 1 : magnitude;
}

static int order_half(const sl_array *a, int64_t i, const sl_array *b, int64_t j)
{
    return order_i64(half_rank(load_le16(a->values + i * 2)), half_rank(load_le16(b->values + j * 2)));
}

static int order_decimal(sl_i128 x, sl_i128 y) { return (x > y) - (x < y); }

static int order_bytes(const sl_array *a, int64_t i, const sl_array *b, int64_t j)
{
    size_t a_len, b_len;
    const uint8_t *x = sl_bytes_at(a, i, &a_len), *y = sl_bytes_at(b, j, &b_len);
    return bytes_compare(x, a_len, y, b_len);
}

/* Both valid, dictionaries resolved. */
static int order_values(const sl_array *a, int64_t i, const sl_array *b, int64_t j)
{
    switch (a->type->id) {
    case SL_BOOL:
        return (int)sl_bool_at(a, i) - (int)sl_bool_at(b, j);
    case SL_FLOAT:
        return order_double((double)sl_float_at(a, i), (double)sl_float_at(b, j));
    case SL_DOUBLE:
        return order_double(sl_double_at(a, i), sl_double_at(b, j));
    case SL_HALF:
        return order_half(a, i, b, j);
    case SL_DECIMAL:
        return order_decimal(sl_decimal_at(a, i), sl_decimal_at(b, j));
    case SL_STRING:
    case SL_BINARY:
    case SL_FIXED:
        return order_bytes(a, i, b, j);
    case SL_UINT64:
        return order_u64((uint64_t)sl_i64_at(a, i), (uint64_t)sl_i64_at(b, j));
    default:
        return order_i64(sl_integer_at(a, i), sl_integer_at(b, j));
    }
}

int sl_compare(const sl_array *a, int64_t i, const sl_array *b, int64_t j)
{
    bool a_valid = sl_is_valid(a, i), b_valid = sl_is_valid(b, j);
    if (!a_valid || !b_valid)
        return (int)a_valid - (int)b_valid;
    struct place x = place_of(a, i), y = place_of(b, j);
    return order_values(x.array, x.row, y.array, y.row);
}

static bool lists_equal(const sl_array *a, int64_t i, const sl_array *b, int64_t j)
{
    int32_t count = a->offsets[i + 1] - a->offsets[i];
    if (count != b->offsets[j + 1] - b->offsets[j])
        return false;
    for (int32_t k = 0; k < count; k++)
        if (!sl_equal_at(a->children[0], a->offsets[i] + k, b->children[0], b->offsets[j] + k))
            return false;
    return true;
}

static bool structs_equal(const sl_array *a, int64_t i, const sl_array *b, int64_t j)
{
    for (size_t k = 0; k < a->child_count; k++)
        if (!sl_equal_at(a->children[k], i, b->children[k], j))
            return false;
    return true;
}

bool sl_equal_at(const sl_array *a, int64_t i, const sl_array *b, int64_t j)
{
    if (!sl_type_is_nested(a->type))
        return sl_compare(a, i, b, j) == 0;
    bool a_valid = sl_is_valid(a, i), b_valid = sl_is_valid(b, j);
    if (!a_valid || !b_valid)
        return a_valid == b_valid;
    return a->type->id == SL_STRUCT ? structs_equal(a, i, b, j) : lists_equal(a, i, b, j);
}
