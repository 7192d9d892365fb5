/* Equalities: which values of a column an expression asks for. */
#include "query/query_int.h"

/* Whether equal values of the type have one form, which a key of the expression can be turned back into. */
static bool has_one_form(const sl_type *type)
{
    switch (type->id) {
    case SL_BOOL:
    case SL_INT8:
    case SL_INT16:
    case SL_INT32:
    case SL_INT64:
    case SL_UINT8:
    case SL_UINT16:
    case SL_UINT32:
    case SL_DATE:
    case SL_TIME:
    case SL_TIMESTAMP:
    case SL_DECIMAL:
    case SL_STRING:
    case SL_BINARY:
    case SL_FIXED:
        return true;
    default:
        return false;
    }
}

/* A value that the type cannot hold is in no row, and left out. */
static sl_status pass_unless_input(sl_status status)
{
    if (sl_status_code(status) != SL_E_INPUT)
        return status;
    sl_status_free(status);
    return SL_OK;
}

static sl_status add_bytes(sl_builder *b, const sl_type *type, struct expr_bytes value)
{
    if (type->id == SL_FIXED && value.len != (size_t)type->width)
        return SL_OK;
    return sl_builder_bytes(b, value.data, value.len);
}

static sl_status add_number(sl_builder *b, const sl_type *type, sl_i128 value)
{
    if (type->id == SL_DECIMAL)
        return pass_unless_input(sl_builder_decimal(b, value));
    if (type->id == SL_BOOL)
        return sl_builder_bool(b, value != 0);
    return pass_unless_input(sl_builder_integer(b, (int64_t)value));
}

static bool is_point(const struct expr_node *node)
{
    const struct expr_range *r = &node->u.range;
    if (node->family != EXPR_BYTES)
        return r->lo == r->hi;
    return r->has_lo && r->has_hi && !r->lo_open && !r->hi_open &&
           bytes_compare(r->lo_bytes.data, r->lo_bytes.len, r->hi_bytes.data, r->hi_bytes.len) == 0;
}

static sl_status add_range(sl_builder *b, const struct expr_node *node)
{
    const sl_type *type = node->column->type;
    return node->family == EXPR_BYTES ? add_bytes(b, type, node->u.range.lo_bytes)
                                      : add_number(b, type, node->u.range.lo);
}

static sl_status add_set(sl_builder *b, const struct expr_node *node)
{
    const sl_type *type = node->column->type;
    const struct expr_set *set = &node->u.set;
    for (size_t i = 0; i < set->count; i++)
        SL_TRY(node->family == EXPR_BYTES     ? add_bytes(b, type, set->bytes[i])
               : node->family == EXPR_DECIMAL ? add_number(b, type, set->decimals[i])
                                              : add_number(b, type, set->keys[i]));
    return SL_OK;
}

sl_status expr_node_points(const struct expr_node *node, sl_array **out)
{
    bool is_range = node->kind == EXPR_RANGE && is_point(node);
    sl_builder *b;
    *out = NULL;
    if ((!is_range && node->kind != EXPR_IN) || !has_one_form(node->column->type))
        return SL_OK;
    SL_TRY(sl_builder_new(node->column->type, &b));
    sl_status status = is_range ? add_range(b, node) : add_set(b, node);
    if (!status)
        status = sl_builder_finish(b, out);
    sl_builder_free(b);
    return status;
}

/* ---- and, or ------------------------------------------------------------------------------------------- */

/* *out is NULL when the expression may hold for any value, and on failure. */
static sl_status points_of(const struct expr_node *node, const char *column, sl_array **out);

/* The shortest of the lists that the members give. */
static sl_status points_of_and(const struct expr_node *node, const char *column, sl_array **out)
{
    sl_array *shortest = NULL;
    for (const struct expr_node *child = node->first; child; child = child->next) {
        sl_array *points;
        sl_status status = points_of(child, column, &points);
        if (status) {
            sl_array_unref(shortest);
            return status;
        }
        if (points && (!shortest || points->length < shortest->length)) {
            sl_array_unref(shortest);
            shortest = points;
        } else {
            sl_array_unref(points);
        }
    }
    *out = shortest;
    return SL_OK;
}

static sl_status append(sl_builder **b, const sl_array *points)
{
    if (!*b)
        SL_TRY(sl_builder_new(points->type, b));
    return sl_builder_append_range(*b, points, 0, points->length);
}

/* All of them, when every member gives some. */
static sl_status points_of_or(const struct expr_node *node, const char *column, sl_array **out)
{
    sl_builder *b = NULL;
    sl_status status = SL_OK;
    bool limited = true;
    for (const struct expr_node *child = node->first; child && limited && !status; child = child->next) {
        sl_array *points;
        status = points_of(child, column, &points);
        limited = points && !status;
        if (limited)
            status = append(&b, points);
        sl_array_unref(points);
    }
    *out = NULL;
    if (!status && limited && b)
        status = sl_builder_finish(b, out);
    sl_builder_free(b);
    return status;
}

static sl_status points_of(const struct expr_node *node, const char *column, sl_array **out)
{
    *out = NULL;
    if (node->kind == EXPR_AND)
        return points_of_and(node, column, out);
    if (node->kind == EXPR_OR)
        return points_of_or(node, column, out);
    if ((node->kind == EXPR_RANGE || node->kind == EXPR_IN) && node->column->depth == 1 &&
        strcmp(node->column->names[0], column) == 0)
        return expr_node_points(node, out);
    return SL_OK;
}

sl_status sl_expr_points(const sl_expr *expr, const char *column, sl_array **out)
{
    return points_of(expr->root, column, out);
}
