/*
 * What the records of one key become. Two ways to fold (spec/lsm-layout.md 8.1):
 *
 *   lsm_tree tables: base, oldest log, ..., newest log are the operands of one left fold (rule_fold);
 *   default tables:  the logs are folded among themselves (rule_fold_logs), then joined with the base
 * (rule_join_base).
 *
 * A commit-time delete is a delete without an ordering value: null in every ordering field, or the integer 0
 * of a single INT field, which the peers cannot tell from "no value" (8.3).
 */
#include "merge/merge_int.h"

/* A single INT field: peers read null as the integer 0. */
static bool null_is_zero(const struct merge_plan *plan)
{
    if (plan->ordering_count != 1)
        return false;
    enum sl_type_id id = plan->ordering_types[0]->id;
    return id == SL_INT8 || id == SL_INT16 || id == SL_INT32;
}

SL_INLINE bool has_value(const sl_array *a, int64_t row)
{
    return a && a->type->id != SL_NULL && sl_is_valid(a, row);
}

static int compare_zero_for_null(const sl_array *a, int64_t i, const sl_array *b, int64_t j)
{
    int64_t left = has_value(a, i) ? sl_integer_at(a, i) : 0;
    int64_t right = has_value(b, j) ? sl_integer_at(b, j) : 0;
    return (left > right) - (left < right);
}

/* Lower than every value, equal to each other: nulls of a field. A missing column is null. */
static int compare_field(const sl_array *a, int64_t i, const sl_array *b, int64_t j)
{
    if (a && b)
        return sl_compare(a, i, b, j);
    return (int)has_value(a, i) - (int)has_value(b, j);
}

/* Sign of ordering(a) - ordering(b), fields left to right. */
static int compare_ordering(const struct merge_plan *plan, const struct record *a, const struct record *b)
{
    if (null_is_zero(plan))
        return compare_zero_for_null(a->view->ordering[0], a->row, b->view->ordering[0], b->row);
    for (size_t f = 0; f < plan->ordering_count; f++) {
        int c = compare_field(a->view->ordering[f], a->row, b->view->ordering[f], b->row);
        if (c)
            return c;
    }
    return 0;
}

static bool comparable(const struct record *a, const struct record *b)
{
    return !a->view->incomparable && !b->view->incomparable;
}

static bool lacks_ordering(const struct merge_plan *plan, const struct record *r)
{
    /* A value that cannot be promoted is still a value. */
    if (r->view->incomparable)
        return false;
    for (size_t f = 0; f < plan->ordering_count; f++)
        if (has_value(r->view->ordering[f], r->row))
            return null_is_zero(plan) && sl_integer_at(r->view->ordering[0], r->row) == 0;
    return true;
}

void record_take(struct record *out, const struct cursor *c)
{
    out->view = view_ref(c->view);
    out->row = c->at->row;
    out->mix = NULL;
    out->is_delete = view_is_delete(c->view, out->row);
    out->is_commit_delete = out->is_delete && c->plan->ordering_count > 0 && lacks_ordering(c->plan, out);
}

static void settle(const struct merge_plan *plan, struct record *kept, struct record *next, bool next_wins)
{
    struct record *winner = next_wins ? next : kept, *loser = next_wins ? kept : next;
    if (plan->partial != SL_PARTIAL_NONE && loser->view && !winner->is_delete && !loser->is_delete)
        mix_fill(plan, winner, loser);
    record_drop(loser);
    if (next_wins)
        *kept = *next;
    next->view = NULL;
    next->mix = NULL;
}

/* On equal ordering values the newer record wins. */
bool rule_newer_wins(const struct merge_plan *plan, const struct record *existing, const struct record *next)
{
    if (plan->ordering_count == 0 || next->is_commit_delete || existing->is_commit_delete ||
        !comparable(existing, next))
        return true;
    return compare_ordering(plan, next, existing) >= 0;
}

void rule_fold(const struct merge_plan *plan, struct record *kept, struct record *next)
{
    settle(plan, kept, next, !kept->view || rule_newer_wins(plan, kept, next));
}

/* A record of a delete block differs from a marked row: it does not replace a commit-time delete. */
static bool delete_wins(const struct merge_plan *plan, const struct record *existing,
                        const struct record *next)
{
    if (plan->ordering_count == 0)
        return true;
    if (existing->is_commit_delete)
        return false;
    if (next->is_commit_delete || !comparable(existing, next))
        return true;
    return compare_ordering(plan, existing, next) <= 0;
}

void rule_fold_logs(const struct merge_plan *plan, struct record *kept, struct record *next)
{
    bool next_wins = true;
    if (kept->view)
        next_wins =
            next->view->is_delete_run ? delete_wins(plan, kept, next) : rule_newer_wins(plan, kept, next);
    settle(plan, kept, next, next_wins);
}

void rule_join_base(const struct merge_plan *plan, struct record *base, struct record *log)
{
    if (log->view)
        settle(plan, base, log, !base->view || rule_newer_wins(plan, base, log));
}
