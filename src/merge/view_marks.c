/* What the rows of a view are besides their keys: which carry a delete marker, and the values that order them. */
#include "merge/merge_int.h"

int64_t bitmap_next(const uint8_t *bits, int64_t from, int64_t to, bool value)
{
    const uint8_t flip = value ? 0 : 0xff;
    while (from < to) {
        unsigned rest = (unsigned)(uint8_t)(bits[from >> 3] ^ flip) >> (from & 7);
        if (rest) {
            from += sl_ctz64(rest);
            return from < to ? from : to;
        }
        from = (from | 7) + 1;
    }
    return to;
}

/* ---- deletes ------------------------------------------------------------------------------------------- */

static void mark_delete(struct view *v, int64_t row)
{
    bit_set(v->deletes, row);
    v->has_deletes = true;
}

static bool text_equals(const sl_array *a, int64_t row, const char *text, size_t text_len)
{
    size_t len;
    const uint8_t *value = sl_bytes_at(a, row, &len);
    return len == text_len && memcmp(value, text, len) == 0;
}

/* The custom marker compares as text (spec/log-format.md 10.4), whatever the column's type. */
static sl_status analyse_marker(struct cursor *c, struct view *v, const sl_array *a)
{
    const char *marker = c->plan->marker_value;
    size_t marker_len = strlen(marker);
    bool is_text = a->type->id == SL_STRING || a->type->id == SL_BINARY;
    for (int64_t i = 0; i < v->rows; i++) {
        if (!sl_is_valid(a, i))
            continue;
        if (is_text) {
            if (text_equals(a, i, marker, marker_len))
                mark_delete(v, i);
            continue;
        }
        c->scratch.len = 0;
        SL_TRY(sl_value_text(a, i, SL_TEXT_PLAIN, &c->scratch));
        if (c->scratch.len == marker_len && memcmp(c->scratch.data, marker, marker_len) == 0)
            mark_delete(v, i);
    }
    return SL_OK;
}

static void analyse_operation(struct view *v, const sl_array *a)
{
    for (int64_t i = 0; i < v->rows; i++)
        if (sl_is_valid(a, i) && (text_equals(a, i, "D", 1) || text_equals(a, i, "-U", 2)))
            mark_delete(v, i);
}

static sl_status analyse_deletes(struct cursor *c, struct view *v)
{
    if (c->delete_flag < 0 && c->marker < 0 && c->operation < 0)
        return SL_OK;
    memset(v->deletes, 0, bitmap_bytes(v->rows));
    if (c->delete_flag >= 0) {
        const sl_array *flag = v->keys->columns[c->delete_flag];
        for (int64_t i = 0; i < v->rows; i++)
            if (sl_is_valid(flag, i) && sl_bool_at(flag, i))
                mark_delete(v, i);
    }
    if (c->marker >= 0)
        SL_TRY(analyse_marker(c, v, v->keys->columns[c->marker]));
    if (c->operation >= 0)
        analyse_operation(v, v->keys->columns[c->operation]);
    return SL_OK;
}

static uint64_t count_deletes(const struct view *v)
{
    if (v->is_delete_run)
        return (uint64_t)v->rows;
    uint64_t n = 0;
    if (v->has_deletes)
        for (int64_t i = bitmap_next(v->deletes, 0, v->rows, true); i < v->rows;
             i = bitmap_next(v->deletes, i + 1, v->rows, true))
            n++;
    return n;
}

/* ---- ordering values ----------------------------------------------------------------------------------- */

/* Ordering values after promotion to the reader's type; where that is impossible the newer record wins (8.3).
 */
static sl_status analyse_ordering(const struct cursor *c, struct view *v)
{
    for (size_t i = 0; i < c->plan->ordering_count; i++) {
        if (c->ordering[i] < 0)
            continue;
        sl_array *a = v->keys->columns[c->ordering[i]];
        const sl_type *want = c->plan->ordering_types[i];
        if (sl_type_equal(a->type, want)) {
            v->ordering[i] = sl_array_ref(a);
        } else if (sl_cast_possible(a->type, want)) {
            SL_TRY_CTX(sl_cast(a, want, &v->ordering[i]), "run %s: ordering column %s", c->name,
                       c->plan->ordering[i]);
        } else {
            v->incomparable = true;
        }
    }
    return SL_OK;
}

sl_status view_analyse_marks(struct cursor *c, struct view *v)
{
    SL_TRY(analyse_deletes(c, v));
    SL_TRY(analyse_ordering(c, v));
    c->deletes_loaded += count_deletes(v);
    return SL_OK;
}
