/* Names become columns of the schema, predicates become nodes over keys. Everything that can be wrong is found here. */
#include "query/query_int.h"

sl_status expr_error(size_t at, const char *format, ...)
{
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return sl_input("expression: position %zu: %s", at + 1, message);
}

static void *expr_alloc(struct sl_expr *e, size_t count, size_t size)
{
    size_t bytes;
    if (sl_mul_overflows(count, size, &bytes))
        return NULL;
    void *p = sl_arena_alloc(e->arena, bytes ? bytes : 1);
    if (p)
        memset(p, 0, bytes);
    return p;
}

sl_status expr_node_new(struct sl_expr *e, enum expr_kind kind, struct expr_node **out)
{
    struct expr_node *node = expr_alloc(e, 1, sizeof *node);
    if (!node)
        return sl_nomem();
    node->kind = kind;
    *out = node;
    return SL_OK;
}

sl_status expr_node_not(struct sl_expr *e, struct expr_node *child, struct expr_node **out)
{
    struct expr_node *node;
    SL_TRY(expr_node_new(e, EXPR_NOT, &node));
    node->first = child;
    node->scratch = child->scratch;
    *out = node;
    return SL_OK;
}

sl_status expr_constant(struct sl_expr *e, enum expr_truth truth, struct expr_node **out)
{
    SL_TRY(expr_node_new(e, EXPR_CONSTANT, out));
    (*out)->truth = truth;
    return SL_OK;
}

/* ---- columns ------------------------------------------------------------------------------------------- */

static sl_status unknown_column(const sl_type *within, const char *name, size_t at)
{
    const char *nearest = sl_type_field_alike(within, name);
    sl_status status = expr_error(at, "no column %s", name);
    return nearest ? sl_hint(status, "did you mean %s?", nearest) : status;
}

sl_status expr_bind_column(struct sl_expr *e, const char *const *names, size_t depth, size_t at,
                           const struct expr_column **out)
{
    const sl_type *type = e->schema;
    for (size_t i = 0; i < depth; i++) {
        if (type->id != SL_STRUCT)
            return expr_error(at, "%s is no struct, it has no member %s", names[i - 1], names[i]);
        int index = sl_type_field_index(type, names[i]);
        if (index < 0)
            return unknown_column(type, names[i], at);
        type = type->fields[index].type;
    }
    struct expr_column *column = expr_alloc(e, 1, sizeof *column);
    if (!column || !(column->names = expr_alloc(e, depth, sizeof *names)))
        return sl_nomem();
    memcpy(column->names, names, depth * sizeof *names);
    column->depth = depth;
    column->type = type;
    column->at = at;
    *e->columns_end = column;
    e->columns_end = &column->next;
    *out = column;
    return SL_OK;
}

static sl_status check_comparable(const struct expr_column *column)
{
    if (!sl_type_is_nested(column->type))
        return SL_OK;
    char *name;
    SL_TRY(sl_type_text(column->type, &name));
    sl_status status =
        expr_error(column->at, "column %s of type %.200s has no order (only is null can be asked of it)",
                   column->names[column->depth - 1], name);
    sl_free(name);
    return status;
}

/* ---- comparisons --------------------------------------------------------------------------------------- */

static enum expr_op mirrored(enum expr_op op)
{
    static const enum expr_op mirror[] = {EXPR_EQ, EXPR_NE, EXPR_GT, EXPR_GE, EXPR_LT, EXPR_LE};
    return mirror[op];
}

static sl_status bytes_range(const sl_type *type, enum expr_op op, const struct expr_operand *literal,
                             struct expr_range *out)
{
    struct expr_bytes value;
    SL_TRY(expr_literal_bytes(type, literal, &value));
    *out = (struct expr_range){.lo_bytes = value, .hi_bytes = value};
    out->has_lo = op == EXPR_EQ || op == EXPR_GT || op == EXPR_GE;
    out->has_hi = op == EXPR_EQ || op == EXPR_LT || op == EXPR_LE;
    out->lo_open = op == EXPR_GT;
    out->hi_open = op == EXPR_LT;
    return SL_OK;
}

static sl_status column_with_literal(struct sl_expr *e, enum expr_op op, const struct expr_column *column,
                                     const struct expr_operand *literal, struct expr_node **out)
{
    SL_TRY(check_comparable(column));
    if (literal->kind == LITERAL_NULL || column->type->id == SL_NULL)
        return expr_constant(e, EXPR_UNKNOWN, out);
    struct expr_node *node;
    SL_TRY(expr_node_new(e, EXPR_RANGE, &node));
    node->column = column;
    node->family = expr_family_of(column->type);
    enum expr_op positive = op == EXPR_NE ? EXPR_EQ : op;
    if (node->family == EXPR_BYTES)
        SL_TRY(bytes_range(column->type, positive, literal, &node->u.range));
    else
        SL_TRY(expr_literal_range(column->type, positive, literal, &node->u.range));
    if (op == EXPR_NE)
        return expr_node_not(e, node, out);
    *out = node;
    return SL_OK;
}

static sl_status literal_with_literal(struct sl_expr *e, enum expr_op op, size_t at,
                                      const struct expr_operand *left, const struct expr_operand *right,
                                      struct expr_node **out)
{
    int order;
    if (left->kind == LITERAL_NULL || right->kind == LITERAL_NULL)
        return expr_constant(e, EXPR_UNKNOWN, out);
    if (left->kind != right->kind || left->kind == LITERAL_DATE || left->kind == LITERAL_TIMESTAMP)
        return expr_error(at, "one side of a comparison must be a column");
    if (left->kind == LITERAL_NUMBER)
        order = expr_number_compare(left->text, left->len, right->text, right->len);
    else if (left->kind == LITERAL_BOOL)
        order = (int)left->truth - (int)right->truth;
    else
        order = bytes_compare(left->text, left->len, right->text, right->len);
    return expr_constant(e, expr_order_matches(op, order) ? EXPR_TRUE : EXPR_FALSE, out);
}

/* ---- column against column ----------------------------------------------------------------------------- */

static bool is_floating(const sl_type *t) { return t->id >= SL_HALF && t->id <= SL_DOUBLE; }

static bool is_exact_number(const sl_type *t)
{
    return (t->id >= SL_INT8 && t->id <= SL_UINT64) || t->id == SL_DECIMAL;
}

static sl_i128 ten_power(int32_t n)
{
    sl_i128 value = 1;
    while (n-- > 0)
        value *= 10;
    return value;
}

/* Units of a day or second counter to nanoseconds. */
static sl_i128 nanos_per_unit(const sl_type *t)
{
    if (t->id == SL_DATE)
        return (sl_i128)86400 * 1000000000;
    return t->unit == SL_MILLIS ? 1000000 : t->unit == SL_MICROS ? 1000 : 1;
}

static bool same_clock(const sl_type *a, const sl_type *b)
{
    if (a->id == SL_TIME || b->id == SL_TIME)
        return a->id == b->id;
    bool a_calendar = a->id == SL_DATE || a->id == SL_TIMESTAMP,
         b_calendar = b->id == SL_DATE || b->id == SL_TIMESTAMP;
    return a_calendar && b_calendar && (a->id != b->id || a->id == SL_DATE || a->utc == b->utc);
}

static bool choose_pairing(const sl_type *a, const sl_type *b, struct expr_pair *out)
{
    out->left_factor = out->right_factor = 1;
    if (expr_family_of(a) == EXPR_BYTES && expr_family_of(b) == EXPR_BYTES) {
        out->pairing = PAIR_BYTES;
    } else if ((is_floating(a) || is_exact_number(a)) && (is_floating(b) || is_exact_number(b))) {
        int32_t a_scale = a->id == SL_DECIMAL ? a->scale : 0, b_scale = b->id == SL_DECIMAL ? b->scale : 0;
        out->pairing = is_floating(a) || is_floating(b) ? PAIR_DOUBLE : PAIR_EXACT;
        out->left_factor = ten_power(b_scale - a_scale);
        out->right_factor = ten_power(a_scale - b_scale);
    } else if (same_clock(a, b)) {
        out->pairing = PAIR_EXACT;
        out->left_factor = nanos_per_unit(a);
        out->right_factor = nanos_per_unit(b);
    } else {
        out->pairing = PAIR_EXACT;
        return a->id == SL_BOOL && b->id == SL_BOOL;
    }
    return true;
}

static sl_status different_types(const struct expr_column *left, const struct expr_column *right, size_t at)
{
    char *a = NULL, *b = NULL;
    sl_status status = sl_type_text(left->type, &a);
    if (!status)
        status = sl_type_text(right->type, &b);
    if (!status)
        status = expr_error(at, "columns of types %s and %s cannot be compared", a, b);
    sl_free(a);
    sl_free(b);
    return status;
}

static sl_status column_with_column(struct sl_expr *e, enum expr_op op, size_t at,
                                    const struct expr_column *left, const struct expr_column *right,
                                    struct expr_node **out)
{
    SL_TRY(check_comparable(left));
    SL_TRY(check_comparable(right));
    if (left->type->id == SL_NULL || right->type->id == SL_NULL)
        return expr_constant(e, EXPR_UNKNOWN, out);
    struct expr_node *node;
    SL_TRY(expr_node_new(e, EXPR_COLUMNS, &node));
    node->column = left;
    node->other = right;
    if (!choose_pairing(left->type, right->type, &node->u.pair))
        return different_types(left, right, at);
    node->u.pair.op = op == EXPR_NE ? EXPR_EQ : op;
    if (op == EXPR_NE)
        return expr_node_not(e, node, out);
    *out = node;
    return SL_OK;
}

sl_status expr_bind_compare(struct sl_expr *e, enum expr_op op, size_t op_at, const struct expr_operand *left,
                            const struct expr_operand *right, struct expr_node **out)
{
    if (left->column && right->column)
        return column_with_column(e, op, op_at, left->column, right->column, out);
    if (left->column)
        return column_with_literal(e, op, left->column, right, out);
    if (right->column)
        return column_with_literal(e, mirrored(op), right->column, left, out);
    return literal_with_literal(e, op, op_at, left, right, out);
}

/* ---- the other predicates ------------------------------------------------------------------------------ */

sl_status expr_bind_truth(struct sl_expr *e, const struct expr_operand *operand, struct expr_node **out)
{
    if (operand->column && operand->column->type->id == SL_BOOL)
        return column_with_literal(
            e, EXPR_EQ, operand->column,
            &(struct expr_operand){.kind = LITERAL_BOOL, .truth = true, .at = operand->at}, out);
    if (operand->column && operand->column->type->id == SL_NULL)
        return expr_constant(e, EXPR_UNKNOWN, out);
    if (!operand->column && operand->kind == LITERAL_BOOL)
        return expr_constant(e, operand->truth ? EXPR_TRUE : EXPR_FALSE, out);
    if (!operand->column && operand->kind == LITERAL_NULL)
        return expr_constant(e, EXPR_UNKNOWN, out);
    return expr_error(operand->at, "a comparison is expected, or a boolean column");
}

static int order_keys(const void *a, const void *b)
{
    int64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static int order_decimals(const void *a, const void *b)
{
    sl_i128 x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static int order_bytes(const void *a, const void *b)
{
    const struct expr_bytes *x = a, *y = b;
    return bytes_compare(x->data, x->len, y->data, y->len);
}

/* A literal that the type cannot hold equals nothing and is left out. */
static sl_status add_to_set(const struct expr_node *node, const struct expr_operand *item,
                            struct expr_set *set)
{
    const sl_type *type = node->column->type;
    struct expr_range range;
    if (item->kind == LITERAL_NULL) {
        set->has_null = true;
        return SL_OK;
    }
    if (node->family == EXPR_BYTES) {
        SL_TRY(expr_literal_bytes(type, item, &set->bytes[set->count]));
        set->count++;
        return SL_OK;
    }
    SL_TRY(expr_literal_range(type, EXPR_EQ, item, &range));
    if (range.lo > range.hi)
        return SL_OK;
    if (node->family == EXPR_DECIMAL)
        set->decimals[set->count++] = range.lo;
    else
        set->keys[set->count++] = (int64_t)range.lo;
    return SL_OK;
}

static sl_status set_alloc(struct sl_expr *e, enum expr_family family, size_t count, struct expr_set *set)
{
    void *p = expr_alloc(e, count,
                         family == EXPR_KEY64     ? sizeof *set->keys
                         : family == EXPR_DECIMAL ? sizeof *set->decimals
                                                  : sizeof *set->bytes);
    if (!p)
        return sl_nomem();
    if (family == EXPR_KEY64)
        set->keys = p;
    else if (family == EXPR_DECIMAL)
        set->decimals = p;
    else
        set->bytes = p;
    return SL_OK;
}

static void set_sort(enum expr_family family, struct expr_set *set)
{
    if (family == EXPR_KEY64)
        qsort(set->keys, set->count, sizeof *set->keys, order_keys);
    else if (family == EXPR_DECIMAL)
        qsort(set->decimals, set->count, sizeof *set->decimals, order_decimals);
    else
        qsort(set->bytes, set->count, sizeof *set->bytes, order_bytes);
}

sl_status expr_bind_in(struct sl_expr *e, const struct expr_operand *left, const struct expr_operand *items,
                       size_t count, struct expr_node **out)
{
    if (!left->column)
        return expr_error(left->at, "in needs a column on its left");
    SL_TRY(check_comparable(left->column));
    if (left->column->type->id == SL_NULL)
        return expr_constant(e, EXPR_UNKNOWN, out);
    struct expr_node *node;
    SL_TRY(expr_node_new(e, EXPR_IN, &node));
    node->column = left->column;
    node->family = expr_family_of(left->column->type);
    SL_TRY(set_alloc(e, node->family, count, &node->u.set));
    for (const struct expr_operand *item = items; item; item = item->next)
        SL_TRY(add_to_set(node, item, &node->u.set));
    set_sort(node->family, &node->u.set);
    *out = node;
    return SL_OK;
}

/* The one byte or character of an escape clause. */
static sl_status escape_of(const struct expr_operand *escape, const char **text, size_t *len)
{
    *text = NULL;
    *len = 0;
    if (!escape)
        return SL_OK;
    size_t pos = 0;
    if (escape->len > 0)
        (void)sl_utf8_next((const uint8_t *)escape->text, escape->len, &pos);
    if (escape->len == 0 || pos != escape->len)
        return expr_error(escape->at, "escape needs one character");
    *text = escape->text;
    *len = escape->len;
    return SL_OK;
}

static sl_status compile_like(struct sl_expr *e, const struct expr_operand *pattern,
                              const struct expr_operand *escape, struct expr_like *like)
{
    const char *escape_text;
    size_t escape_len, count = 0, plain = 0;
    SL_TRY(escape_of(escape, &escape_text, &escape_len));
    uint16_t *items = expr_alloc(e, pattern->len, sizeof *items);
    uint8_t *prefix = expr_alloc(e, pattern->len, 1);
    if (!items || !prefix)
        return sl_nomem();
    for (size_t i = 0; i < pattern->len;) {
        char c = pattern->text[i];
        if (escape_len > 0 && pattern->len - i >= escape_len &&
            memcmp(pattern->text + i, escape_text, escape_len) == 0) {
            i += escape_len;
            bool same =
                pattern->len - i >= escape_len && memcmp(pattern->text + i, escape_text, escape_len) == 0;
            if (!same && (i == pattern->len || (pattern->text[i] != '%' && pattern->text[i] != '_')))
                return expr_error(pattern->at,
                                  "the escape character of a pattern must be followed by %%, _ or itself");
            for (size_t n = same ? escape_len : 1; n > 0; n--)
                items[count++] = (uint8_t)pattern->text[i++];
            continue;
        }
        items[count++] = c == '%' ? LIKE_MANY : c == '_' ? LIKE_ONE : (uint8_t)c;
        i++;
    }
    while (plain < count && items[plain] < LIKE_ONE) {
        prefix[plain] = (uint8_t)items[plain];
        plain++;
    }
    *like = (struct expr_like){{prefix, plain}, items + plain, count - plain};
    return SL_OK;
}

sl_status expr_bind_like(struct sl_expr *e, const struct expr_operand *left,
                         const struct expr_operand *pattern, const struct expr_operand *escape,
                         struct expr_node **out)
{
    if (!left->column || (left->column->type->id != SL_STRING && left->column->type->id != SL_NULL))
        return expr_error(left->at, "like needs a string column on its left");
    if (left->column->type->id == SL_NULL || pattern->kind == LITERAL_NULL)
        return expr_constant(e, EXPR_UNKNOWN, out);
    struct expr_node *node;
    SL_TRY(expr_node_new(e, EXPR_LIKE, &node));
    node->column = left->column;
    node->family = EXPR_BYTES;
    SL_TRY(compile_like(e, pattern, escape, &node->u.like));
    *out = node;
    return SL_OK;
}

sl_status expr_bind_is_null(struct sl_expr *e, const struct expr_operand *operand, struct expr_node **out)
{
    if (!operand->column)
        return expr_constant(e, operand->kind == LITERAL_NULL ? EXPR_TRUE : EXPR_FALSE, out);
    SL_TRY(expr_node_new(e, EXPR_IS_NULL, out));
    (*out)->column = operand->column;
    return SL_OK;
}
