/*
 * Partial updates (spec/log-format.md 12.2): where a record wins over another and neither is a delete, columns in which the
 * winner says nothing (null, or the table's marker for "unavailable") take the loser's value. Such a row lies in no
 * batch: a mix tells for each column where its value is. Mixes go back to their pool, so a row costs no allocation.
 */
#include "merge/merge_int.h"

struct origin {
    struct view *view; /* a reference */
    int64_t row;
};
struct mix {
    struct mix *next; /* in the pool */
    struct mix_pool *pool;
    struct origin columns[];
};
struct mix_pool {
    struct mix *free;
    size_t columns;
};

/* ---- the pool ------------------------------------------------------------------------------------------ */

sl_status mix_pool_new(const sl_type *schema, struct mix_pool **out)
{
    struct mix_pool *pool;
    SL_NEW(pool);
    pool->columns = schema->field_count;
    *out = pool;
    return SL_OK;
}

void mix_pool_free(struct mix_pool *pool)
{
    while (pool && pool->free) {
        struct mix *next = pool->free->next;
        sl_free(pool->free);
        pool->free = next;
    }
    sl_free(pool);
}

sl_status mix_pool_reserve(struct mix_pool *pool)
{
    if (!pool || pool->free)
        return SL_OK;
    struct mix *mix = sl_calloc(1, sizeof *mix + pool->columns * sizeof mix->columns[0]);
    if (!mix)
        return sl_nomem();
    mix->pool = pool;
    pool->free = mix;
    return SL_OK;
}

void mix_drop(struct mix *mix)
{
    if (!mix)
        return;
    for (size_t c = 0; c < mix->pool->columns; c++)
        view_unref(mix->columns[c].view);
    mix->next = mix->pool->free;
    mix->pool->free = mix;
}

/* ---- filling ------------------------------------------------------------------------------------------- */

static struct origin origin_of(const struct record *r, size_t column)
{
    return r->mix ? r->mix->columns[column] : (struct origin){r->view, r->row};
}

static bool is_marker(const struct merge_plan *plan, const sl_array *a, int64_t row)
{
    size_t len;
    if (a->type->id == SL_NULL || !sl_is_valid(a, row))
        return false;
    const uint8_t *text = sl_bytes_at(a, row, &len);
    return len == plan->unavailable_len && memcmp(text, plan->unavailable, len) == 0;
}

static bool says_nothing(const struct merge_plan *plan, struct origin o, size_t column)
{
    const sl_array *a = o.view->batch->columns[column];
    if (plan->partial == SL_PARTIAL_IGNORE_DEFAULTS)
        return a->type->id == SL_NULL || !sl_is_valid(a, o.row);
    return (a->type->id == SL_STRING || a->type->id == SL_BINARY) && is_marker(plan, a, o.row);
}

/* All columns the record's own. The pool has one: mix_pool_reserve was called. */
static void mix_take(struct mix_pool *pool, struct record *r)
{
    struct mix *mix = pool->free;
    pool->free = mix->next;
    for (size_t c = 0; c < pool->columns; c++)
        mix->columns[c] = (struct origin){view_ref(r->view), r->row};
    r->mix = mix;
}

void mix_fill(const struct merge_plan *plan, struct record *winner, const struct record *loser)
{
    for (size_t c = 0; c < plan->schema->field_count; c++) {
        if (!says_nothing(plan, origin_of(winner, c), c))
            continue;
        if (!winner->mix)
            mix_take(plan->mixes, winner);
        struct origin from = origin_of(loser, c);
        view_ref(from.view);
        view_unref(winner->mix->columns[c].view);
        winner->mix->columns[c] = from;
    }
}

sl_status mix_append(const struct mix *mix, sl_batch_builder *to)
{
    for (size_t c = 0; c < mix->pool->columns; c++)
        SL_TRY_CTX(sl_builder_append_range(to->columns[c], mix->columns[c].view->batch->columns[c],
                                           mix->columns[c].row, 1),
                   "column %s", to->schema->fields[c].name);
    return SL_OK;
}
