/* The invariants of spec/lsm-layout.md 10.4, which debug builds assert after every step and the tests in all. */
#include "merge/loser_tree_int.h"
#include <assert.h>

static bool is_winner(const struct cell *cell) { return cell->state <= SL_WINNER_POPPED; }

/* (1) each source sits in exactly one cell, (2) only the champion is in a winner's state. */
static const char *check_cells(const sl_loser_tree *t)
{
    size_t seen_sum = 0, winners = 0;
    for (size_t n = 0; n < t->sources; n++) {
        int32_t at = source_of(&t->cells[n]);
        if (at < 0 || (size_t)at >= t->sources)
            return "1: a cell holds no source";
        seen_sum += (size_t)at;
        winners += is_winner(&t->cells[n]);
        for (size_t m = 0; m < n && t->sources <= 64; m++)
            if (source_of(&t->cells[m]) == at)
                return "1: a source sits in two cells";
    }
    if (seen_sum != t->sources * (t->sources - 1) / 2)
        return "1: a source is missing";
    if (winners != 1 || !is_winner(&t->cells[0]))
        return "2: not exactly the champion is a winner";
    return NULL;
}

/* (3) a group starts only when every consumed leaf was advanced, (4) the champion is minimal by (key,
 * source). */
static const char *check_champion(const sl_loser_tree *t)
{
    const struct cell *champion = &t->cells[0];
    const struct sl_heads *least = &t->heads[source_of(champion)];
    for (size_t n = 1; n < t->sources; n++) {
        const struct cell *cell = &t->cells[n];
        const struct sl_heads *heads = &t->heads[source_of(cell)];
        if (cell->state == SL_LOSER_POPPED) {
            if (champion->state == SL_WINNER_WITH_NEW_KEY)
                return "3: a group opened over a consumed leaf";
            continue;
        }
        if (champion->state == SL_WINNER_POPPED || heads_ended(heads))
            continue;
        int c = heads_ended(least) ? 1 : heads_compare(least, heads);
        if (c > 0 || (c == 0 && source_of(champion) > source_of(cell)))
            return "4: the champion is not the smallest";
    }
    return NULL;
}

/* (5) each jump pointer leads to a parked tie of the same key. */
static const char *check_jumps(const sl_loser_tree *t)
{
    for (size_t n = 0; n < t->sources; n++) {
        int32_t node = first_same_of(&t->cells[n]);
        if (node == 0)
            continue;
        if (node < 1 || (size_t)node >= t->sources)
            return "5: a jump pointer leaves the tree";
        const struct cell *parked = &t->cells[node];
        if (parked->state != SL_LOSER_WITH_SAME_KEY || heads_ended(&t->heads[source_of(parked)]) ||
            heads_compare(&t->heads[source_of(parked)], &t->heads[source_of(&t->cells[n])]) != 0)
            return "5: a jump pointer leads to no tie";
    }
    return NULL;
}

/* What matches look at is what the sources hold. */
static const char *check_prefixes(const sl_loser_tree *t)
{
    for (size_t n = 0; n < t->sources; n++)
        if (t->cells[n].prefix != head_prefix(&t->heads[source_of(&t->cells[n])]))
            return "a cell's prefix is not that of its source's head";
    return NULL;
}

const char *loser_tree_check(const sl_loser_tree *t)
{
    if (t->sources == 0)
        return NULL;
    const char *broken = check_cells(t);
    if (!broken)
        broken = check_champion(t);
    if (!broken)
        broken = check_jumps(t);
    return broken ? broken : check_prefixes(t);
}

int32_t loser_tree_node(const sl_loser_tree *t, size_t node, enum sl_leaf_state *state, int32_t *first_same)
{
    const struct cell *cell = &t->cells[node];
    *state = cell->state;
    *first_same = first_same_of(cell) ? first_same_of(cell) : NIL;
    return source_of(cell);
}

#ifndef NDEBUG
void loser_tree_note_handed_out(sl_loser_tree *t)
{
    size_t len;
    int32_t source = source_of(&t->cells[0]);
    const uint8_t *key = head_key(&t->heads[source], &len);
    if (t->has_last) {
        int c = bytes_compare(t->last_key.data, t->last_key.len, key, len);
        assert(c < 0 || (c == 0 && t->last_source <= source));
    }
    t->last_key.len = 0;
    /* Without memory there is a check less, no reason to fail. */
    t->has_last = !sl_status_ignore(len ? sl_buf_append(&t->last_key, key, len) : SL_OK);
    t->last_source = source;
}
#endif
