/*
 * Evaluation of an expression on a batch. Every node yields two bitmaps, rows for which it is true and rows for which it
 * is unknown; no row is in both, bits behind the last row are 0. Leaves work in blocks of 64 rows: values to keys, keys
 * against the range or set, one word of the bitmap.
 */
#include "query/query_int.h"

struct evaluation {
    const sl_batch *batch;
    size_t words;
    uint64_t *scratch; /* pairs of bitmaps for children */
};

static uint64_t word_mask(int64_t rows, size_t word)
{
    int64_t left = rows - (int64_t)word * EXPR_BLOCK;
    return left >= EXPR_BLOCK ? UINT64_MAX : left <= 0 ? 0 : (UINT64_C(1) << left) - 1;
}

static int64_t block_rows(int64_t rows, size_t word)
{
    int64_t left = rows - (int64_t)word * EXPR_BLOCK;
    return left < EXPR_BLOCK ? left : EXPR_BLOCK;
}

static size_t words_of(int64_t rows) { return (size_t)((rows + EXPR_BLOCK - 1) / EXPR_BLOCK); }

/* ---- columns ------------------------------------------------------------------------------------------- */

static void and_validity(const sl_array *array, int64_t rows, uint64_t *valid)
{
    if (!array->validity)
        return;
    size_t bytes = bitmap_bytes(rows);
    for (size_t i = 0; i < words_of(rows); i++) {
        uint64_t word = 0;
        size_t n = bytes - i * 8 < 8 ? bytes - i * 8 : 8;
        memcpy(&word, array->validity + i * 8, n);
        valid[i] &= word;
    }
}

/* The column's array; rows where it or a struct around it is null lose their bit in `valid`. */
static sl_status find_column(const sl_batch *batch, const struct expr_column *column, uint64_t *valid,
                             const sl_array **out)
{
    const sl_type *structure = batch->schema;
    sl_array *const *members = batch->columns;
    const sl_array *array = NULL;
    for (size_t i = 0; i < column->depth; i++) {
        int at = structure->id == SL_STRUCT ? sl_type_field_index(structure, column->names[i]) : -1;
        if (at < 0)
            return sl_input("column %s of the expression is not in the rows", column->names[i]);
        array = members[at];
        and_validity(array, batch->rows, valid);
        structure = array->type;
        members = array->children;
    }
    if (!sl_type_equal(array->type, column->type))
        return sl_input("column %s has another type in the rows than the expression was made for",
                        column->names[column->depth - 1]);
    *out = array;
    return SL_OK;
}

/* ---- leaves -------------------------------------------------------------------------------------------- */

static uint64_t keys_in_range(const int64_t *keys, int64_t count, int64_t lo, int64_t hi)
{
    uint64_t bits = 0;
    for (int64_t i = 0; i < count; i++)
        bits |= (uint64_t)(keys[i] >= lo && keys[i] <= hi) << i;
    return bits;
}

static uint64_t key_block(const struct expr_node *node, const sl_array *array, int64_t from, int64_t count)
{
    int64_t keys[EXPR_BLOCK];
    uint64_t bits = 0;
    expr_load_keys(array, from, count, keys);
    if (node->kind == EXPR_RANGE)
        return keys_in_range(keys, count, (int64_t)node->u.range.lo, (int64_t)node->u.range.hi);
    for (int64_t i = 0; i < count; i++)
        bits |= (uint64_t)expr_key_in_set(&node->u.set, keys[i]) << i;
    return bits;
}

static uint64_t decimal_block(const struct expr_node *node, const sl_array *array, int64_t from,
                              int64_t count)
{
    sl_i128 values[EXPR_BLOCK];
    uint64_t bits = 0;
    expr_load_exact(array, from, count, 1, values);
    if (node->kind == EXPR_RANGE) {
        sl_i128 lo = node->u.range.lo, hi = node->u.range.hi;
        for (int64_t i = 0; i < count; i++)
            bits |= (uint64_t)(values[i] >= lo && values[i] <= hi) << i;
        return bits;
    }
    for (int64_t i = 0; i < count; i++)
        bits |= (uint64_t)expr_decimal_in_set(&node->u.set, values[i]) << i;
    return bits;
}

static struct expr_bytes bytes_at(const sl_array *array, int64_t row)
{
    struct expr_bytes value;
    value.data = sl_bytes_at(array, row, &value.len);
    return value;
}

static uint64_t bytes_block(const struct expr_node *node, const sl_array *array, int64_t from, int64_t count)
{
    uint64_t bits = 0;
    switch (node->kind) {
    case EXPR_RANGE:
        for (int64_t i = 0; i < count; i++)
            bits |= (uint64_t)expr_bytes_in_range(&node->u.range, bytes_at(array, from + i)) << i;
        return bits;
    case EXPR_IN:
        for (int64_t i = 0; i < count; i++)
            bits |= (uint64_t)expr_bytes_in_set(&node->u.set, bytes_at(array, from + i)) << i;
        return bits;
    default:
        for (int64_t i = 0; i < count; i++)
            bits |= (uint64_t)expr_like_matches(&node->u.like, bytes_at(array, from + i)) << i;
        return bits;
    }
}

static void plain_leaf(const struct expr_node *node, const sl_array *array, uint64_t *truth)
{
    for (size_t w = 0; w < words_of(array->length); w++) {
        int64_t from = (int64_t)w * EXPR_BLOCK, count = block_rows(array->length, w);
        if (node->family == EXPR_BYTES)
            truth[w] = bytes_block(node, array, from, count);
        else if (node->family == EXPR_DECIMAL)
            truth[w] = decimal_block(node, array, from, count);
        else
            truth[w] = key_block(node, array, from, count);
    }
}

/* Each entry of the dictionary is looked at once. Null rows may hold any index. */
static sl_status dictionary_leaf(const struct expr_node *node, const sl_array *array, uint64_t *truth)
{
    int64_t entries = array->dictionary->length;
    size_t words = words_of(entries);
    uint64_t *known = sl_calloc(words + 1, sizeof *known);
    if (!known)
        return sl_nomem();
    plain_leaf(node, array->dictionary, known);
    for (size_t w = 0; w < words_of(array->length); w++) {
        int64_t from = (int64_t)w * EXPR_BLOCK, count = block_rows(array->length, w);
        truth[w] = 0;
        for (int64_t i = 0; i < count; i++) {
            int32_t index = sl_i32_at(array, from + i);
            if (index >= 0 && index < entries)
                truth[w] |= (known[index / EXPR_BLOCK] >> (index % EXPR_BLOCK) & 1) << i;
        }
    }
    sl_free(known);
    return SL_OK;
}

static void fill(uint64_t *bits, int64_t rows, size_t words)
{
    for (size_t w = 0; w < words; w++)
        bits[w] = word_mask(rows, w);
}

static sl_status eval_leaf(const struct expr_node *node, const struct evaluation *v, uint64_t *truth,
                           uint64_t *unknown)
{
    const sl_array *array;
    uint64_t *valid = unknown;
    int64_t rows = v->batch->rows;
    fill(valid, rows, v->words);
    SL_TRY(find_column(v->batch, node->column, valid, &array));
    if (node->kind == EXPR_IS_NULL) {
        for (size_t w = 0; w < v->words; w++) {
            truth[w] = ~valid[w] & word_mask(rows, w);
            unknown[w] = 0;
        }
        return SL_OK;
    }
    if (array->dictionary)
        SL_TRY(dictionary_leaf(node, array, truth));
    else
        plain_leaf(node, array, truth);
    bool never_false = node->kind == EXPR_IN && node->u.set.has_null;
    for (size_t w = 0; w < v->words; w++) {
        truth[w] &= valid[w];
        unknown[w] = (never_false ? ~truth[w] : ~valid[w]) & word_mask(rows, w);
    }
    return SL_OK;
}

/* ---- column against column ----------------------------------------------------------------------------- */

static uint64_t pair_block(const struct expr_pair *pair, const sl_array *a, const sl_array *b, int64_t from,
                           int64_t count, uint64_t valid)
{
    uint64_t bits = 0;
    if (pair->pairing == PAIR_BYTES) {
        for (int64_t i = 0; i < count; i++) {
            if (!(valid >> i & 1))
                continue;
            struct expr_bytes x = bytes_at(a, from + i), y = bytes_at(b, from + i);
            bits |= (uint64_t)expr_order_matches(pair->op, bytes_compare(x.data, x.len, y.data, y.len)) << i;
        }
    } else if (pair->pairing == PAIR_DOUBLE) {
        int64_t x[EXPR_BLOCK], y[EXPR_BLOCK];
        expr_load_ranks(a, from, count, x);
        expr_load_ranks(b, from, count, y);
        for (int64_t i = 0; i < count; i++)
            bits |= (uint64_t)expr_order_matches(pair->op, (x[i] > y[i]) - (x[i] < y[i])) << i;
    } else {
        sl_i128 x[EXPR_BLOCK], y[EXPR_BLOCK];
        expr_load_exact(a, from, count, pair->left_factor, x);
        expr_load_exact(b, from, count, pair->right_factor, y);
        for (int64_t i = 0; i < count; i++)
            bits |= (uint64_t)expr_order_matches(pair->op, (x[i] > y[i]) - (x[i] < y[i])) << i;
    }
    return bits;
}

/* Only bytes are read through a dictionary; other values are written out first. */
static sl_status without_dictionary(const sl_array *array, bool is_bytes, sl_array **out)
{
    sl_array *shared = sl_array_ref((sl_array *)array);
    if (is_bytes || !array->dictionary) {
        *out = shared;
        return SL_OK;
    }
    sl_status status = sl_array_decode_dictionary(shared, out);
    sl_array_unref(shared);
    return status;
}

static sl_status eval_columns(const struct expr_node *node, const struct evaluation *v, uint64_t *truth,
                              uint64_t *unknown)
{
    const sl_array *left, *right;
    sl_array *a, *b;
    uint64_t *valid = unknown;
    fill(valid, v->batch->rows, v->words);
    SL_TRY(find_column(v->batch, node->column, valid, &left));
    SL_TRY(find_column(v->batch, node->other, valid, &right));
    bool is_bytes = node->u.pair.pairing == PAIR_BYTES;
    SL_TRY(without_dictionary(left, is_bytes, &a));
    sl_status status = without_dictionary(right, is_bytes, &b);
    if (status) {
        sl_array_unref(a);
        return status;
    }
    for (size_t w = 0; w < v->words; w++) {
        int64_t count = block_rows(v->batch->rows, w);
        truth[w] = valid[w] & pair_block(&node->u.pair, a, b, (int64_t)w * EXPR_BLOCK, count, valid[w]);
        unknown[w] = ~valid[w] & word_mask(v->batch->rows, w);
    }
    sl_array_unref(a);
    sl_array_unref(b);
    return SL_OK;
}

/* ---- and, or, not -------------------------------------------------------------------------------------- */

static sl_status eval(const struct expr_node *node, const struct evaluation *v, uint64_t *truth,
                      uint64_t *unknown);

/* Nothing a further child says can change the result. */
static bool is_settled(const struct expr_node *node, const struct evaluation *v, const uint64_t *truth,
                       const uint64_t *unknown)
{
    for (size_t w = 0; w < v->words; w++)
        if (node->kind == EXPR_AND ? (truth[w] | unknown[w]) != 0 : truth[w] != word_mask(v->batch->rows, w))
            return false;
    return true;
}

static sl_status eval_chain(const struct expr_node *node, const struct evaluation *v, uint64_t *truth,
                            uint64_t *unknown)
{
    struct evaluation inner = *v;
    uint64_t *t = v->scratch, *u = v->scratch + v->words;
    SL_TRY(eval(node->first, v, truth, unknown));
    inner.scratch += 2 * v->words;
    for (const struct expr_node *child = node->first->next; child && !is_settled(node, v, truth, unknown);
         child = child->next) {
        SL_TRY(eval(child, &inner, t, u));
        for (size_t w = 0; w < v->words; w++) {
            uint64_t is_true = node->kind == EXPR_AND ? truth[w] & t[w] : truth[w] | t[w];
            uint64_t open =
                node->kind == EXPR_AND ? (truth[w] | unknown[w]) & (t[w] | u[w]) : unknown[w] | u[w];
            truth[w] = is_true;
            unknown[w] = open & ~is_true;
        }
    }
    return SL_OK;
}

static sl_status eval(const struct expr_node *node, const struct evaluation *v, uint64_t *truth,
                      uint64_t *unknown)
{
    switch (node->kind) {
    case EXPR_CONSTANT:
        for (size_t w = 0; w < v->words; w++) {
            truth[w] = node->truth == EXPR_TRUE ? word_mask(v->batch->rows, w) : 0;
            unknown[w] = node->truth == EXPR_UNKNOWN ? word_mask(v->batch->rows, w) : 0;
        }
        return SL_OK;
    case EXPR_AND:
    case EXPR_OR:
        return eval_chain(node, v, truth, unknown);
    case EXPR_NOT:
        SL_TRY(eval(node->first, v, truth, unknown));
        for (size_t w = 0; w < v->words; w++)
            truth[w] = ~(truth[w] | unknown[w]) & word_mask(v->batch->rows, w);
        return SL_OK;
    case EXPR_COLUMNS:
        return eval_columns(node, v, truth, unknown);
    default:
        return eval_leaf(node, v, truth, unknown);
    }
}

sl_status sl_expr_select(const sl_expr *expr, const sl_batch *batch, uint8_t *selection, int64_t *selected)
{
    size_t words = words_of(batch->rows), bitmaps = 2 + 2 * expr->root->scratch;
    uint64_t *memory = sl_calloc(words * bitmaps + 1, sizeof *memory);
    if (!memory)
        return sl_nomem();
    struct evaluation v = {batch, words, memory + 2 * words};
    sl_status status = eval(expr->root, &v, memory, memory + words);
    if (!status) {
        *selected = 0;
        for (size_t w = 0; w < words; w++)
            *selected += sl_popcount64(memory[w]);
        if (batch->rows > 0)
            memcpy(selection, memory, bitmap_bytes(batch->rows));
    }
    sl_free(memory);
    return status;
}
