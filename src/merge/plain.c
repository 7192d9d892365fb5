/*
 * The fold of what most groups are: rows, no deletes, that nothing orders but their age and perhaps one integer. For them the
 * rules of rule.c come down to "the greatest value, of equal ones the newest" (spec/lsm-layout.md 8.2), in whatever order they
 * are applied. While such a group is handed out no source moves, so a record is a view and a row, without a reference.
 */
#include "merge/merge_int.h"

/* ---- what is plain ------------------------------------------------------------------------------------- */

static bool is_int32(const sl_type *type)
{
    return type->id == SL_INT32 || type->id == SL_DATE || (type->id == SL_TIME && type->unit == SL_MILLIS);
}

static bool is_int64(const sl_type *type)
{
    return type->id == SL_INT64 || type->id == SL_TIMESTAMP ||
           (type->id == SL_TIME && type->unit != SL_MILLIS);
}

enum plain_order plain_order_of(const struct merge_plan *plan)
{
    if (plan->partial != SL_PARTIAL_NONE || plan->ordering_count > 1)
        return PLAIN_NEVER;
    if (plan->ordering_count == 0)
        return PLAIN_BY_AGE;
    if (is_int64(plan->ordering_types[0]))
        return PLAIN_BY_INT64;
    return is_int32(plan->ordering_types[0]) ? PLAIN_BY_INT32 : PLAIN_NEVER;
}

static const sl_array *order_column(const struct merge_plan *plan, const struct view *v)
{
    bool has_order = plan->plain_order == PLAIN_BY_INT32 || plan->plain_order == PLAIN_BY_INT64;
    return has_order ? v->ordering[0] : NULL;
}

static bool is_plain(const struct merge_plan *plan, const struct view *v)
{
    if (plan->plain_order == PLAIN_NEVER || v->is_delete_run || v->has_deletes || v->incomparable)
        return false;
    if (plan->plain_order == PLAIN_BY_AGE)
        return true;
    const sl_array *order = order_column(plan, v);
    return order && !order->validity && !order->dictionary;
}

struct plain_rows plain_rows_of(const struct merge_plan *plan, const struct view *v)
{
    if (!v || !is_plain(plan, v))
        return (struct plain_rows){0};
    const sl_array *order = order_column(plan, v);
    return (struct plain_rows){.any = true, .is_base = v->is_base, .order = order ? order->values : NULL};
}

/* ---- folding ------------------------------------------------------------------------------------------- */

enum { AHEAD = 16 }; /* as the tree fetches prefixes */

SL_INLINE int64_t order_at(enum plain_order by, const struct plain_rows *rows, int64_t row)
{
    if (by == PLAIN_BY_INT64) {
        sl_prefetch(rows->order, (size_t)(row + AHEAD) * sizeof(int64_t));
        return (int64_t)load_le64(rows->order + row * (int64_t)sizeof(int64_t));
    }
    return by == PLAIN_BY_INT32 ? (int32_t)load_le32(rows->order + row * (int64_t)sizeof(int32_t)) : 0;
}

/* Where the best record so far is the head; NIL: there is none. */
struct best {
    int64_t source, order;
};

SL_INLINE void fold(struct best *best, int64_t source, int64_t order)
{
    bool wins = order >= best->order;
    best->source = wins ? source : best->source;
    best->order = wins ? order : best->order;
}

/* With `split` the base's records and those of the logs are folded apart. A head that is not known to be alone may move its
 * source. Gives the number of records of the base. */
SL_INLINE size_t fold_open_group(const struct merger *m, bool split, struct best *base, struct best *log)
{
    size_t base_records = 0;
    for (int64_t source; (source = loser_tree_peek(m->tree)) >= 0;) {
        const struct plain_rows *rows = &m->plain[source];
        if (!rows->any || !head_is_alone(&m->heads[source]))
            break;
        int64_t order = order_at(m->plan.plain_order, rows, m->heads[source].row);
        fold(split && !rows->is_base ? log : base, source, order);
        base_records += rows->is_base;
        loser_tree_pop_alone(m->tree);
    }
    return base_records;
}

static struct record record_of(const struct merger *m, const struct best *best)
{
    if (best->source == NIL)
        return (struct record){0};
    return (struct record){.view = m->cursors[best->source].view, .row = m->heads[best->source].row};
}

bool merger_fold_plain(const struct merger *m, struct record *kept, struct record *log, size_t *base_records)
{
    struct best of_base = {NIL, INT64_MIN}, of_log = {NIL, INT64_MIN};
    *base_records =
        log ? fold_open_group(m, true, &of_base, &of_log) : fold_open_group(m, false, &of_base, &of_base);
    if (loser_tree_peek(m->tree) < 0) { /* nobody has moved yet */
        if (of_log.source != NIL)
            fold(&of_base, of_log.source, of_log.order);
        *kept = record_of(m, &of_base);
        return true;
    }
    *kept = record_of(m, &of_base);
    record_hold(kept);
    if (log) {
        *log = record_of(m, &of_log);
        record_hold(log);
    }
    return false;
}
