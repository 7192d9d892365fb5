/*
 * Bounds of pages and chunks (spec/parquet.md 5).
 *
 * Numbers are kept as numbers of the widest kind, bytes as copies. NaN never takes part, and a bound that is
 * a zero is written as -0.0 (minimum) or +0.0 (maximum), since readers cannot know which zero a page holds.
 */
#include "parquet/simd.h"
#include "parquet/write_int.h"

#include <assert.h>
#include <math.h>

/* ---- numbers ------------------------------------------------------------------------------------------- */

/* float16 by value: sign, 5 bits of exponent, 10 bits of fraction. */
static double half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    double fraction = bits & 1023, value;
    if (exponent == 31)
        value = fraction > 0 ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexp(fraction, -24);
    else
        value = ldexp(fraction + 1024, exponent - 25);
    return bits >> 15 ? -value : value;
}

/* Exact for every value that came from half_value. */
static uint16_t half_bits(double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    value = fabs(value);
    if (isinf(value))
        return (uint16_t)(sign | 0x7c00);
    if (value < ldexp(1, -14))
        return (uint16_t)(sign | (uint16_t)ldexp(value, 24));
    int exponent;
    double fraction = frexp(value, &exponent); /* 0.5 <= fraction < 1 */
    return (uint16_t)(sign | (uint16_t)((exponent + 14) << 10) | ((uint16_t)ldexp(fraction, 11) & 1023));
}

#define NO_VECTORS(values, count, min, max) ((size_t)0)

/* NaN fails both comparisons and so leaves no trace; without any number the range stays empty. */
#define SCAN(number_type, vectors, load, low, high, member)                                                  \
    do {                                                                                                     \
        number_type smallest = (low), largest = (high);                                                      \
        size_t done = sl_cpu_avx2() ? vectors(values, count, &smallest, &largest) : 0;                       \
        for (size_t i = done; i < count; i++) {                                                              \
            number_type v = (load);                                                                          \
            smallest = v < smallest ? v : smallest;                                                          \
            largest = v > largest ? v : largest;                                                             \
        }                                                                                                    \
        min.member = smallest;                                                                               \
        max.member = largest;                                                                                \
    } while (0)

SL_INLINE float load_float(const uint8_t *p)
{
    float v;
    memcpy(&v, p, 4);
    return v;
}

SL_INLINE double load_double(const uint8_t *p)
{
    double v;
    memcpy(&v, p, 8);
    return v;
}

static bool number_less(enum write_order order, union bound_number a, union bound_number b)
{
    switch (order) {
    case ORDER_UINT32:
    case ORDER_UINT64:
        return a.u < b.u;
    case ORDER_HALF:
    case ORDER_FLOAT:
    case ORDER_DOUBLE:
        return a.d < b.d;
    case ORDER_DECIMAL:
        return a.decimal < b.decimal;
    default:
        return a.i < b.i;
    }
}

void bounds_add_number(struct value_bounds *b, enum write_order order, union bound_number min,
                       union bound_number max)
{
    if (!b->present || number_less(order, min, b->min))
        b->min = min;
    if (!b->present || number_less(order, b->max, max))
        b->max = max;
    b->present = true;
}

static int64_t count_nans(enum write_order order, const uint8_t *values, size_t count)
{
    int64_t nans = 0;
    size_t i = 0;
    switch (order) {
    case ORDER_HALF:
        for (; i < count; i++)
            nans += (load_le16(values + i * 2) & 0x7fff) > 0x7c00;
        break;
    case ORDER_FLOAT:
        if (sl_cpu_avx2())
            i = nans_float_avx2(values, count, &nans);
        for (; i < count; i++)
            nans += (load_le32(values + i * 4) & 0x7fffffff) > 0x7f800000;
        break;
    default:
        if (sl_cpu_avx2())
            i = nans_double_avx2(values, count, &nans);
        for (; i < count; i++)
            nans += (load_le64(values + i * 8) & INT64_MAX) > UINT64_C(0x7ff0000000000000);
    }
    return nans;
}

void bounds_add_numbers(struct value_bounds *b, enum write_order order, const uint8_t *values, size_t count)
{
    if (!count)
        return;
    union bound_number min = {0}, max = {0};
    switch (order) {
    case ORDER_INT32:
        SCAN(int32_t, bounds_i32_avx2, (int32_t)load_le32(values + i * 4), INT32_MAX, INT32_MIN, i);
        break;
    case ORDER_INT64:
        SCAN(int64_t, bounds_i64_avx2, (int64_t)load_le64(values + i * 8), INT64_MAX, INT64_MIN, i);
        break;
    case ORDER_UINT32:
        SCAN(uint32_t, bounds_u32_avx2, load_le32(values + i * 4), UINT32_MAX, 0, u);
        break;
    case ORDER_UINT64:
        SCAN(uint64_t, bounds_u64_avx2, load_le64(values + i * 8), UINT64_MAX, 0, u);
        break;
    case ORDER_HALF:
        SCAN(double, NO_VECTORS, half_value(load_le16(values + i * 2)), INFINITY, -INFINITY, d);
        break;
    case ORDER_FLOAT:
        SCAN(float, bounds_float_avx2, load_float(values + i * 4), INFINITY, -INFINITY, d);
        break;
    case ORDER_DOUBLE:
        SCAN(double, bounds_double_avx2, load_double(values + i * 8), INFINITY, -INFINITY, d);
        break;
    default:
        assert(!"bytes have no number");
        return;
    }
    if (order == ORDER_HALF || order == ORDER_FLOAT || order == ORDER_DOUBLE) {
        b->nans += count_nans(order, values, count);
        b->nans_counted = true;
        if (min.d > max.d) /* nothing but NaN */
            return;
    }
    bounds_add_number(b, order, min, max);
}

/* ---- bytes --------------------------------------------------------------------------------------------- */

/* bytes_compare by words of eight while both have them: neighbouring keys often share a long prefix. */
SL_INLINE int compare_words(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
    size_t n = a_len < b_len ? a_len : b_len, i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t x = load_be64(a + i), y = load_be64(b + i);
        if (x != y)
            return x < y ? -1 : 1;
    }
    for (; i < n; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return (a_len > b_len) - (a_len < b_len);
}

struct byte_range {
    const uint8_t *min, *max;
    size_t min_len, max_len;
};

/* The maximum first: values that ascend, as keys do, need no look at the minimum. */
SL_INLINE void range_add(struct byte_range *r, const uint8_t *p, size_t len)
{
    if (compare_words(p, len, r->max, r->max_len) > 0) {
        r->max = p;
        r->max_len = len;
    } else if (compare_words(p, len, r->min, r->min_len) < 0) {
        r->min = p;
        r->min_len = len;
    }
}

static sl_status replace_bytes(sl_buf *buf, const uint8_t *data, size_t len)
{
    if (len)
        SL_TRY(sl_buf_reserve(buf, len > buf->len ? len - buf->len : 0));
    if (len)
        memcpy(buf->data, data, len);
    buf->len = len;
    return SL_OK;
}

static sl_status add_range(struct value_bounds *b, const struct byte_range *r)
{
    if (!b->present || compare_words(r->min, r->min_len, b->min_bytes.data, b->min_bytes.len) < 0)
        SL_TRY(replace_bytes(&b->min_bytes, r->min, r->min_len));
    if (!b->present || compare_words(r->max, r->max_len, b->max_bytes.data, b->max_bytes.len) > 0)
        SL_TRY(replace_bytes(&b->max_bytes, r->max, r->max_len));
    b->present = true;
    return SL_OK;
}

sl_status bounds_add_views(struct value_bounds *b, const struct value_view *view)
{
    if (!view->count)
        return SL_OK;
    const int32_t *offsets = view->array->offsets;
    const uint8_t *values = view->array->values;
    int64_t row = view->slots ? view->slots[0] : view->first;
    const uint8_t *p = values + offsets[row];
    size_t len = (size_t)(offsets[row + 1] - offsets[row]);
    struct byte_range r = {p, p, len, len};
    for (size_t i = 1; i < view->count; i++) {
        row = view->slots ? view->slots[i] : view->first + (int64_t)i;
        range_add(&r, values + offsets[row], (size_t)(offsets[row + 1] - offsets[row]));
    }
    return add_range(b, &r);
}

sl_status bounds_add_fixed(struct value_bounds *b, const uint8_t *values, int32_t width, size_t count)
{
    if (!count)
        return SL_OK;
    size_t len = (size_t)width;
    struct byte_range r = {values, values, len, len};
    for (size_t i = 1; i < count; i++)
        range_add(&r, values + i * len, len);
    return add_range(b, &r);
}

sl_status bounds_add_entries(struct value_bounds *b, struct dictionary *d, const uint32_t *indexes,
                             size_t count, uint32_t page)
{
    if (!count)
        return SL_OK;
    size_t len;
    const uint8_t *p = dictionary_entry(d, indexes[0], &len);
    struct byte_range r = {p, p, len, len};
    for (size_t i = 0; i < count; i++) {
        uint32_t index = indexes[i];
        if (d->stamps[index] == page)
            continue;
        d->stamps[index] = page;
        p = dictionary_entry(d, index, &len);
        range_add(&r, p, len);
    }
    return add_range(b, &r);
}

/* ---- both ---------------------------------------------------------------------------------------------- */

static bool order_is_bytes(enum write_order order) { return order == ORDER_FIXED || order == ORDER_BYTES; }

int64_t bounds_nans(const struct value_bounds *b)
{
    return b->nans_counted && !b->nans_unknown ? b->nans : -1;
}

sl_status bounds_merge(struct value_bounds *into, enum write_order order, const struct value_bounds *from)
{
    into->nans += from->nans;
    into->nans_counted = into->nans_counted || from->nans_counted;
    into->nans_unknown = into->nans_unknown || from->nans_unknown || (from->present && !from->nans_counted);
    if (!from->present)
        return SL_OK;
    if (!order_is_bytes(order)) {
        bounds_add_number(into, order, from->min, from->max);
        return SL_OK;
    }
    struct byte_range r = {from->min_bytes.data, from->max_bytes.data, from->min_bytes.len,
                           from->max_bytes.len};
    return add_range(into, &r);
}

static double bound_zero(double v, bool max)
{
    if (v == 0)
        return max ? 0.0 : -0.0;
    return v;
}

void bounds_plain(const struct value_bounds *b, const struct write_leaf *leaf, bool max, uint8_t *space,
                  const uint8_t **data, size_t *len)
{
    const union bound_number *n = max ? &b->max : &b->min;
    *data = space;
    *len = (size_t)leaf->width;
    switch (leaf->order) {
    case ORDER_BOOL:
        space[0] = n->i != 0;
        *len = 1;
        break;
    case ORDER_INT32:
    case ORDER_UINT32:
    case ORDER_INT64:
    case ORDER_UINT64:
        store_le64(space, n->u);
        break;
    case ORDER_HALF:
        store_le16(space, half_bits(bound_zero(n->d, max)));
        break;
    case ORDER_FLOAT: {
        float v = (float)bound_zero(n->d, max);
        memcpy(space, &v, 4);
        break;
    }
    case ORDER_DOUBLE: {
        double v = bound_zero(n->d, max);
        memcpy(space, &v, 8);
        break;
    }
    case ORDER_DECIMAL: {
        sl_i128 v = n->decimal;
        for (size_t i = *len; i-- > 0; v >>= 8)
            space[i] = (uint8_t)v;
        break;
    }
    case ORDER_FIXED:
    case ORDER_BYTES: {
        const sl_buf *bytes = max ? &b->max_bytes : &b->min_bytes;
        *data = bytes->data ? bytes->data : space;
        *len = bytes->len;
        break;
    }
    }
}

int bounds_compare_plain(const struct write_leaf *leaf, const uint8_t *a, size_t a_len, const uint8_t *b,
                         size_t b_len)
{
    switch (leaf->order) {
    case ORDER_INT32: {
        int32_t x = (int32_t)load_le32(a), y = (int32_t)load_le32(b);
        return (x > y) - (x < y);
    }
    case ORDER_INT64: {
        int64_t x = (int64_t)load_le64(a), y = (int64_t)load_le64(b);
        return (x > y) - (x < y);
    }
    case ORDER_UINT32: {
        uint32_t x = load_le32(a), y = load_le32(b);
        return (x > y) - (x < y);
    }
    case ORDER_UINT64: {
        uint64_t x = load_le64(a), y = load_le64(b);
        return (x > y) - (x < y);
    }
    case ORDER_HALF: {
        double x = half_value(load_le16(a)), y = half_value(load_le16(b));
        return (x > y) - (x < y);
    }
    case ORDER_FLOAT: {
        float x = load_float(a), y = load_float(b);
        return (x > y) - (x < y);
    }
    case ORDER_DOUBLE: {
        double x = load_double(a), y = load_double(b);
        return (x > y) - (x < y);
    }
    case ORDER_DECIMAL: /* one length; the sign bit decides first, the other way round */
        if ((a[0] ^ b[0]) & 0x80)
            return a[0] & 0x80 ? -1 : 1;
        return bytes_compare(a, a_len, b, b_len);
    default:
        return bytes_compare(a, a_len, b, b_len);
    }
}

/* Largest character boundary at or below `at`. */
static size_t text_boundary(const uint8_t *data, size_t at)
{
    while (at > 0 && (data[at] & 0xc0) == 0x80)
        at--;
    return at;
}

bool bound_cut_min(const uint8_t *data, size_t len, bool text, uint8_t *out, size_t *out_len)
{
    if (len <= WRITE_INDEX_BOUND_BYTES)
        return false;
    size_t cut = text ? text_boundary(data, WRITE_INDEX_BOUND_BYTES) : WRITE_INDEX_BOUND_BYTES;
    memcpy(out, data, cut);
    *out_len = cut;
    return true;
}

/* Writes the code point behind the one at out[at .. end); false when there is none or it would need more
 * bytes. */
static bool text_increment(uint8_t *out, size_t at, size_t *end)
{
    size_t pos = 0;
    uint32_t c = sl_utf8_next(out + at, *end - at, &pos);
    c = c == 0xd7ff ? 0xe000 : c + 1; /* surrogates are no characters */
    uint8_t bytes[4];
    size_t n;
    if (c < 0x80) {
        n = 1;
        bytes[0] = (uint8_t)c;
    } else if (c < 0x800) {
        n = 2;
        bytes[0] = (uint8_t)(0xc0 | c >> 6);
    } else if (c < 0x10000) {
        n = 3;
        bytes[0] = (uint8_t)(0xe0 | c >> 12);
    } else if (c <= 0x10ffff) {
        n = 4;
        bytes[0] = (uint8_t)(0xf0 | c >> 18);
    } else {
        return false;
    }
    if (at + n > WRITE_INDEX_BOUND_BYTES)
        return false;
    for (size_t i = 1; i < n; i++)
        bytes[i] = (uint8_t)(0x80 | (c >> (6 * (n - 1 - i)) & 0x3f));
    memcpy(out + at, bytes, n);
    *end = at + n;
    return true;
}

bool bound_cut_max(const uint8_t *data, size_t len, bool text, uint8_t *out, size_t *out_len)
{
    size_t cut;
    if (!bound_cut_min(data, len, text, out, &cut))
        return false;
    if (text && sl_utf8_valid_prefix(out, cut) == cut) {
        while (cut > 0) {
            size_t last = text_boundary(out, cut - 1);
            size_t end = cut;
            if (text_increment(out, last, &end)) {
                *out_len = end;
                return true;
            }
            cut = last;
        }
        return false;
    }
    while (cut > 0 && out[cut - 1] == 0xff)
        cut--;
    if (cut == 0)
        return false;
    out[cut - 1]++;
    *out_len = cut;
    return true;
}

void bounds_clear(struct value_bounds *b)
{
    b->present = b->nans_counted = b->nans_unknown = false;
    b->nans = 0;
    b->min_bytes.len = b->max_bytes.len = 0;
}

void bounds_free(struct value_bounds *b)
{
    sl_buf_free(&b->min_bytes);
    sl_buf_free(&b->max_bytes);
}
