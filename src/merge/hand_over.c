/*
 * The gallop before decoding: where a run stands at the start of rows that its owner can copy as they are, and all of
 * their keys are below the head of every other source, they need not pass through the merge. The run leaves them
 * behind unread; they go to where the result goes once everything before them was handed out.
 */
#include "merge/merge_int.h"
#include <assert.h>

/* The key that the source stands at, or will first; false: nobody knows. NULL: it has no more rows. */
static bool next_key(const struct cursor *c, const uint8_t **key, size_t *len)
{
    *key = NULL;
    if (c->view)
        *key = view_key(c->view, c->at->row, len);
    else if (c->ahead)
        *key = view_key(c->ahead, 0, len);
    return *key || c->ended;
}

/* The smallest key of the other sources, NULL when they have no more rows. A source whose record was handed out stands at
 * it until its group is complete: its key is too small then, so that too little is handed over, never too much. */
static bool smallest_other(const struct merger *m, size_t source, const uint8_t **bound, size_t *bound_len)
{
    *bound = NULL;
    *bound_len = 0;
    for (size_t i = 0; i < m->count; i++) {
        const uint8_t *key;
        size_t len;
        if (i == source)
            continue;
        if (!next_key(&m->cursors[i], &key, &len))
            return false;
        if (key && (!*bound || bytes_compare(key, len, *bound, *bound_len) < 0)) {
            *bound = key;
            *bound_len = len;
        }
    }
    return true;
}

sl_status merger_offer(struct merger *m, size_t source)
{
    struct cursor *c = &m->cursors[source];
    const uint8_t *bound;
    size_t bound_len;
    int64_t rows;
    bool at_end = !c->view || c->at->row + 1 == c->view->rows;
    if (!c->run.copy.offer || !at_end || c->ahead || c->ended ||
        !smallest_other(m, source, &bound, &bound_len))
        return SL_OK;
    SL_TRY_CTX(c->run.copy.offer(c->run.copy.context, bound, bound_len, &rows), "run %s", c->name);
    if (rows == 0)
        return SL_OK;
    /* Of the members of a group only the one that advances last sees no head of its own key, so there is one at most. */
    assert(m->to_copy_rows == 0);
    m->to_copy = source;
    m->to_copy_rows = rows;
    c->rows_loaded += rows;
    return SL_OK;
}

sl_status merger_hand_over(struct merger *m)
{
    struct cursor *c = &m->cursors[m->to_copy];
    uint64_t rows = (uint64_t)m->to_copy_rows;
    m->to_copy_rows = 0;
    m->counts->rows_out += rows;
    m->counts->gallop_rows += rows;
    m->counts->inserted += c->run.is_base ? 0 : rows;
    return sl_context(c->run.copy.copy(c->run.copy.context), "run %s", c->name);
}
