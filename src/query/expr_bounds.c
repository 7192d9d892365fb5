/*
 * Which truth values an expression can take on rows of which only bounds are known. Each node yields a set of the three
 * truth values that holds every value some row may have; it may hold more. The rows can be skipped when the root's set
 * lacks "true".
 *
 * Bounds are outer bounds in the order of sl_compare and need not occur in the rows (truncated texts, for one), so they
 * exclude values and never prove that one is there. Floating values: NaN ranks above all numbers, and the two zeros have
 * one rank. Statistics leave NaNs out (spec/parquet.md 5): where some may hide, the values are those from min to
 * max_number, and NaN.
 */
#include "query/query_int.h"

enum { MAY_FALSE = 1, MAY_TRUE = 2, MAY_UNKNOWN = 4, MAY_ALL = 7 };

static bool is_nan(const sl_array *array)
{
    int64_t key;
    if (array->type->id < SL_HALF || array->type->id > SL_DOUBLE)
        return false;
    expr_load_keys(array, 0, 1, &key);
    return key == INT64_MAX;
}

/* False: nothing known. Nested columns have no bounds. On success the caller frees. */
static bool bounds_of(const struct sl_expr_facts *l, const struct expr_column *column,
                      struct sl_parquet_bounds *out)
{
    *out = (struct sl_parquet_bounds){0};
    if (column->depth != 1 || !l->bounds(l->context, column->names[0], out))
        return false;
    if (out->has_bounds &&
        (!sl_type_equal(out->min->type, column->type) || !sl_type_equal(out->max->type, column->type) ||
         out->min->dictionary || out->max->dictionary || !sl_is_valid(out->min, 0) ||
         !sl_is_valid(out->max, 0) || is_nan(out->min) || sl_compare(out->min, 0, out->max, 0) > 0))
        out->has_bounds = false;
    if (out->max_number && !sl_is_valid(out->max_number, 0)) {
        sl_array_unref(out->max_number);
        out->max_number = NULL;
    }
    return true;
}

static int may_be_null(const struct sl_parquet_bounds *b)
{
    return b->has_null_count && b->null_count == 0 ? 0 : MAY_UNKNOWN;
}

static sl_i128 key_of(const sl_array *array)
{
    int64_t key;
    sl_i128 value;
    if (array->type->id == SL_DECIMAL) {
        expr_load_exact(array, 0, 1, 1, &value);
        return value;
    }
    expr_load_keys(array, 0, 1, &key);
    return key;
}

/* The greatest key of a number; NaN may be there besides when it is another than that of `max`. */
static sl_i128 greatest_number(const struct sl_parquet_bounds *b)
{
    return key_of(b->max_number ? b->max_number : b->max);
}

static struct expr_bytes bytes_of(const sl_array *array)
{
    struct expr_bytes value;
    value.data = sl_bytes_at(array, 0, &value.len);
    return value;
}

static int bytes_order(struct expr_bytes a, struct expr_bytes b)
{
    return bytes_compare(a.data, a.len, b.data, b.len);
}

/* ---- ranges -------------------------------------------------------------------------------------------- */

static int number_range(const struct expr_range *r, const struct sl_parquet_bounds *b)
{
    sl_i128 min = key_of(b->min), number = greatest_number(b), max = key_of(b->max);
    bool has_nan = max > number && r->lo <= max && r->hi >= max;
    bool meets = r->lo <= r->hi && ((r->lo <= number && r->hi >= min) || has_nan);
    bool holds_all = r->lo <= min && r->hi >= max;
    return (meets ? MAY_TRUE : 0) | (holds_all ? 0 : MAY_FALSE);
}

static bool below_range(const struct expr_range *r, struct expr_bytes value)
{
    int c = r->has_lo ? bytes_order(value, r->lo_bytes) : 1;
    return c < 0 || (c == 0 && r->lo_open);
}

static bool above_range(const struct expr_range *r, struct expr_bytes value)
{
    int c = r->has_hi ? bytes_order(value, r->hi_bytes) : -1;
    return c > 0 || (c == 0 && r->hi_open);
}

static int bytes_range(const struct expr_range *r, const struct sl_parquet_bounds *b)
{
    struct expr_bytes min = bytes_of(b->min), max = bytes_of(b->max);
    bool meets = !below_range(r, max) && !above_range(r, min);
    bool holds_all = expr_bytes_in_range(r, min) && expr_bytes_in_range(r, max);
    return (meets ? MAY_TRUE : 0) | (holds_all ? 0 : MAY_FALSE);
}

/* ---- sets ---------------------------------------------------------------------------------------------- */

static int set_values(const struct expr_node *node, const struct sl_parquet_bounds *b)
{
    const struct expr_set *set = &node->u.set;
    bool meets = false, single, single_in_set;
    if (node->family == EXPR_BYTES) {
        struct expr_bytes min = bytes_of(b->min), max = bytes_of(b->max);
        for (size_t i = 0; i < set->count && !meets; i++)
            meets = bytes_order(set->bytes[i], min) >= 0 && bytes_order(set->bytes[i], max) <= 0;
        single = bytes_order(min, max) == 0;
        single_in_set = single && expr_bytes_in_set(set, min);
    } else {
        sl_i128 min = key_of(b->min), number = greatest_number(b), max = key_of(b->max);
        for (size_t i = 0; i < set->count && !meets; i++) {
            sl_i128 value = node->family == EXPR_DECIMAL ? set->decimals[i] : set->keys[i];
            meets = (value >= min && value <= number) || value == max;
        }
        single = min == max;
        single_in_set = single && (node->family == EXPR_DECIMAL ? expr_decimal_in_set(set, min)
                                                                : expr_key_in_set(set, (int64_t)min));
    }
    return (meets ? MAY_TRUE : 0) | (single_in_set ? 0 : MAY_FALSE);
}

/* ---- like ---------------------------------------------------------------------------------------------- */

/* Where a value stands against the values that begin with the prefix: below, among, above. */
static int prefix_order(struct expr_bytes value, struct expr_bytes prefix)
{
    size_t n = value.len < prefix.len ? value.len : prefix.len;
    int c = n ? memcmp(value.data, prefix.data, n) : 0;
    return c ? c : value.len < prefix.len ? -1 : 0;
}

static int like_values(const struct expr_like *like, const struct sl_parquet_bounds *b)
{
    struct expr_bytes min = bytes_of(b->min), max = bytes_of(b->max);
    int low = prefix_order(min, like->prefix), high = prefix_order(max, like->prefix);
    bool meets = low <= 0 && high >= 0;
    bool only_prefix = like->rest_count > 0;
    for (size_t i = 0; i < like->rest_count; i++)
        only_prefix = only_prefix && like->rest[i] == LIKE_MANY;
    if (like->rest_count == 0) { /* no wildcard at all: equality */
        meets = bytes_order(min, like->prefix) <= 0 && bytes_order(max, like->prefix) >= 0;
        only_prefix = bytes_order(min, max) == 0;
    }
    return (meets ? MAY_TRUE : 0) | (only_prefix && low == 0 && high == 0 && meets ? 0 : MAY_FALSE);
}

/* ---- single values -------------------------------------------------------------------------------------- */

/* Whether none of the values that the node looks for is there. */
static bool all_absent(const struct expr_node *node, const struct sl_expr_facts *facts)
{
    sl_array *points = NULL;
    bool absent = true;
    if (!facts->contains || node->column->depth != 1 || sl_status_ignore(expr_node_points(node, &points)) ||
        !points)
        return false;
    for (int64_t i = 0; i < points->length && absent; i++) {
        sl_array *value;
        if (sl_status_ignore(sl_array_copy(points, i, 1, &value))) {
            absent = false;
            break;
        }
        absent = !facts->contains(facts->context, node->column->names[0], value);
        sl_array_unref(value);
    }
    sl_array_unref(points);
    return absent;
}

/* ---- leaves -------------------------------------------------------------------------------------------- */

static int leaf_values(const struct expr_node *node, const struct sl_expr_facts *l)
{
    struct sl_parquet_bounds b;
    int may = MAY_ALL;
    if (!bounds_of(l, node->column, &b)) {
        sl_parquet_bounds_free(&b);
        return node->kind == EXPR_IS_NULL ? MAY_TRUE | MAY_FALSE : MAY_ALL;
    }
    if (node->kind == EXPR_IS_NULL) {
        may = MAY_FALSE | (may_be_null(&b) ? MAY_TRUE : 0);
    } else {
        may = MAY_TRUE | MAY_FALSE;
        if (b.has_bounds && node->kind == EXPR_RANGE)
            may = node->family == EXPR_BYTES ? bytes_range(&node->u.range, &b)
                                             : number_range(&node->u.range, &b);
        else if (b.has_bounds && node->kind == EXPR_IN)
            may = set_values(node, &b);
        else if (b.has_bounds)
            may = like_values(&node->u.like, &b);
        may |= may_be_null(&b);
        if (b.all_null)
            may = MAY_UNKNOWN;
        else if (may & MAY_TRUE && all_absent(node, l))
            may &= ~MAY_TRUE;
        if (node->kind == EXPR_IN && node->u.set.has_null && may & MAY_FALSE)
            may = (may & ~MAY_FALSE) | MAY_UNKNOWN; /* not found among unknowns is unknown */
    }
    sl_parquet_bounds_free(&b);
    return may;
}

/* ---- column against column ----------------------------------------------------------------------------- */

static int order_between(const struct expr_pair *pair, const sl_array *a, const sl_array *b)
{
    if (pair->pairing == PAIR_BYTES)
        return bytes_order(bytes_of(a), bytes_of(b));
    if (pair->pairing == PAIR_DOUBLE) {
        int64_t x, y;
        expr_load_ranks(a, 0, 1, &x);
        expr_load_ranks(b, 0, 1, &y);
        return (x > y) - (x < y);
    }
    sl_i128 x, y;
    expr_load_exact(a, 0, 1, pair->left_factor, &x);
    expr_load_exact(b, 0, 1, pair->right_factor, &y);
    return (x > y) - (x < y);
}

static int pair_values(const struct expr_node *node, const struct sl_expr_facts *l)
{
    const struct expr_pair *pair = &node->u.pair;
    struct sl_parquet_bounds a, b;
    bool a_known = bounds_of(l, node->column, &a), b_known = bounds_of(l, node->other, &b);
    int may = MAY_TRUE | MAY_FALSE;
    if (a_known && b_known && a.has_bounds && b.has_bounds) {
        /* The order of any two values lies between these two. */
        int least = order_between(pair, a.min, b.max), most = order_between(pair, a.max, b.min);
        may = 0;
        for (int order = -1; order <= 1; order++)
            if ((order >= 0 || least < 0) && (order <= 0 || most > 0) &&
                (order != 0 || (least <= 0 && most >= 0)))
                may |= expr_order_matches(pair->op, order) ? MAY_TRUE : MAY_FALSE;
    }
    if (!a_known || !b_known || may_be_null(&a) || may_be_null(&b))
        may |= MAY_UNKNOWN;
    sl_parquet_bounds_free(&a);
    sl_parquet_bounds_free(&b);
    return may;
}

/* ---- and, or, not -------------------------------------------------------------------------------------- */

static int negated(int may)
{
    return (may & MAY_UNKNOWN) | (may & MAY_TRUE ? MAY_FALSE : 0) | (may & MAY_FALSE ? MAY_TRUE : 0);
}

static int both(int a, int b)
{
    int may = (a & b & MAY_TRUE) | ((a | b) & MAY_FALSE);
    if ((a & MAY_UNKNOWN && b & (MAY_UNKNOWN | MAY_TRUE)) ||
        (b & MAY_UNKNOWN && a & (MAY_UNKNOWN | MAY_TRUE)))
        may |= MAY_UNKNOWN;
    return may;
}

static bool same_column(const struct expr_node *a, const struct expr_node *b)
{
    return a->column->depth == 1 && b->column->depth == 1 &&
           strcmp(a->column->names[0], b->column->names[0]) == 0;
}

/* Two ranges of a floating column may each hold something, the one a number and the other a NaN, and yet no value lies in
 * both, as in `x between 3 and 4` above the numbers of the rows. */
static bool ranges_exclude(const struct expr_node *first, const struct sl_expr_facts *l)
{
    for (const struct expr_node *a = first; a; a = a->next)
        for (const struct expr_node *b = a->next; b; b = b->next) {
            if (a->kind != EXPR_RANGE || b->kind != EXPR_RANGE || a->family != EXPR_KEY64 ||
                !same_column(a, b))
                continue;
            struct expr_node together = *a;
            together.u.range.lo = a->u.range.lo > b->u.range.lo ? a->u.range.lo : b->u.range.lo;
            together.u.range.hi = a->u.range.hi < b->u.range.hi ? a->u.range.hi : b->u.range.hi;
            if (!(leaf_values(&together, l) & MAY_TRUE))
                return true;
        }
    return false;
}

static int values_of(const struct expr_node *node, const struct sl_expr_facts *l)
{
    int may;
    switch (node->kind) {
    case EXPR_CONSTANT:
        return node->truth == EXPR_TRUE ? MAY_TRUE : node->truth == EXPR_FALSE ? MAY_FALSE : MAY_UNKNOWN;
    case EXPR_NOT:
        return negated(values_of(node->first, l));
    case EXPR_AND:
        may = values_of(node->first, l);
        for (const struct expr_node *child = node->first->next; child && may != MAY_FALSE;
             child = child->next)
            may = both(may, values_of(child, l));
        return may & MAY_TRUE && ranges_exclude(node->first, l) ? may & ~MAY_TRUE : may;
    case EXPR_OR: /* not (not a and not b) */
        may = negated(values_of(node->first, l));
        for (const struct expr_node *child = node->first->next; child && may != MAY_FALSE;
             child = child->next)
            may = both(may, negated(values_of(child, l)));
        return negated(may);
    case EXPR_COLUMNS:
        return pair_values(node, l);
    default:
        return leaf_values(node, l);
    }
}

bool sl_expr_may_match_facts(const sl_expr *expr, const struct sl_expr_facts *facts)
{
    return (values_of(expr->root, facts) & MAY_TRUE) != 0;
}

bool sl_expr_may_match(const sl_expr *expr, sl_expr_bounds bounds, void *context)
{
    return sl_expr_may_match_facts(expr, &(struct sl_expr_facts){bounds, NULL, context});
}
