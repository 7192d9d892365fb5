/*
 * The state-machine loser tree of spec/lsm-layout.md 10.
 *
 * k sorted sources, numbered oldest first. Leaf i hangs under node (i + k) / 2, the parent of node n is n /
 * 2, node 1 is the root and cells[0] the place of the champion; cells[1..k-1] hold the loser of the match at
 * that node. No padding: any k works.
 *
 * All records of one key form a group. While a group is open its members need no key comparison: a source that
 * won a tie remembers the lowest node that parks one of its equals (first_same), so that handing out the
 * winner jumps there at once. Records handed out stay where they are as *_POPPED until sl_loser_tree_next_key
 * advances them.
 *
 * The tree knows keys only. It walks along a column of them by itself and calls back at the column's end.
 */
#include "merge/loser_tree_int.h"
#include <assert.h>

/* ---- matches ------------------------------------------------------------------------------------------- */

int heads_compare_rest(const struct sl_heads *a, const struct sl_heads *b)
{
    size_t a_len, b_len;
    if (a->whole && b->whole)
        return 0;
    const uint8_t *a_key = head_key(a, &a_len), *b_key = head_key(b, &b_len);
    return bytes_compare(a_key, a_len, b_key, b_len);
}

/* Where equal prefixes do not decide. An exhausted source is +infinity and never ties. */
static int compare_rest(const sl_loser_tree *t, const struct cell *climbing, const struct cell *parked)
{
    const struct sl_heads *a = &t->heads[source_of(climbing)], *b = &t->heads[source_of(parked)];
    if (heads_ended(a))
        return 1;
    return heads_ended(b) ? -1 : heads_compare_rest(a, b);
}

/* Which of two keys is smaller is a coin toss: no branch may depend on it. */
SL_INLINE void exchange_if(bool condition, struct cell *a, struct cell *b)
{
    uint64_t mask = 0 - (uint64_t)condition;
    uint64_t prefix = (a->prefix ^ b->prefix) & mask, who = (a->who ^ b->who) & mask;
    a->prefix ^= prefix;
    b->prefix ^= prefix;
    a->who ^= who;
    b->who ^= who;
}

/* Of equal keys the older source climbs on. The first tie on its way up is the lowest. */
SL_INLINE void settle_tie(struct cell *climbing, struct cell *parked, int32_t node)
{
    exchange_if(source_of(climbing) > source_of(parked), climbing, parked);
    parked->state = SL_LOSER_WITH_SAME_KEY;
    if (first_same_of(climbing) == 0)
        climbing->who |= (uint64_t)node;
}

/* A source with a new key meets one that has lost with another: the smaller key climbs on. */
SL_INLINE void match_new(const sl_loser_tree *t, int32_t node, struct cell *climbing, struct cell *parked)
{
    bool above = climbing->prefix > parked->prefix;
    if (climbing->prefix == parked->prefix) {
        int order = climbing->prefix < t->doubt ? 0 : compare_rest(t, climbing, parked);
        if (order == 0) {
            settle_tie(climbing, parked, node);
            return;
        }
        above = order > 0;
    }
    exchange_if(above, climbing, parked);
}

/* ---- one root path ------------------------------------------------------------------------------------- */

/* The source has a new head: from its leaf to the top. */
SL_INLINE void climb_new(sl_loser_tree *t, int32_t source, uint64_t prefix)
{
    struct cell climbing = {prefix, who_is(source), SL_WINNER_WITH_NEW_KEY}, *cells = t->cells;
    uint64_t comparisons = 0;
    for (int32_t node = (int32_t)(((size_t)source + t->sources) >> 1); node > 0; node >>= 1) {
        struct cell parked = cells[node];
        if (parked.state == SL_LOSER_POPPED) { /* must reach the top to be advanced */
            climbing.state = SL_LOSER_WITH_NEW_KEY;
            cells[node] = climbing;
            climbing = parked;
            climbing.state = SL_WINNER_POPPED;
            break;
        }
        assert(parked.state == SL_LOSER_WITH_NEW_KEY && "an open tie is drained before a new group starts");
        match_new(t, node, &climbing, &parked);
        comparisons += parked.prefix != PREFIX_END; /* an exhausted source was not compared */
        cells[node] = parked;
    }
    t->comparisons += comparisons;
    if (climbing.who != NOBODY) /* while building nobody climbs on from an empty place */
        cells[0] = climbing;
}

/* A member of the open group climbs: only other members matter, and all of them have the same key. */
SL_INLINE void climb_same(sl_loser_tree *t, struct cell climbing, int32_t node)
{
    for (; node > 0; node >>= 1) {
        struct cell *parked = &t->cells[node];
        if (parked->state == SL_LOSER_WITH_SAME_KEY)
            settle_tie(&climbing, parked, node);
    }
    t->cells[0] = climbing;
}

/* The champion was handed out: the next member of the group takes its place, without a comparison. */
void loser_tree_pop_alone(sl_loser_tree *t)
{
    struct cell *champion = &t->cells[0];
    int32_t node = first_same_of(champion);
    assert(loser_tree_peek(t) >= 0);
    loser_tree_note_handed_out(t);
    if (node == 0) { /* nobody left with this key: the group is complete */
        champion->state = SL_WINNER_POPPED;
    } else {
        struct cell same = t->cells[node];
        t->cells[node] = (struct cell){champion->prefix, who_is(source_of(champion)), SL_LOSER_POPPED};
        same.state = SL_WINNER_WITH_SAME_KEY;
        climb_same(t, same, node >> 1);
    }
    loser_tree_assert(t);
}

/* ---- advancing ----------------------------------------------------------------------------------------- */

/* The records of the source that the tree knows are used up. */
static sl_status load_heads(sl_loser_tree *t, int32_t source)
{
    SL_TRY(t->advance(t->context, (size_t)source));
    t->doubt = PREFIX_END;
    for (size_t i = 0; i < t->sources; i++)
        if (!heads_ended(&t->heads[i]) && !t->heads[i].whole)
            t->doubt = 0;
    return SL_OK;
}

/* Of many columns that are read slowly a processor loses sight. */
enum { AHEAD = 16 };

SL_INLINE sl_status step(sl_loser_tree *t, int32_t source, uint64_t *prefix)
{
    struct sl_heads *heads = &t->heads[source];
    int64_t row = heads->row + 1;
    if (SL_UNLIKELY(row >= heads->rows)) {
        SL_TRY(load_heads(t, source));
        *prefix = head_prefix(heads);
        return SL_OK;
    }
    heads->row = row;
    *prefix = heads->prefix[row];
    sl_prefetch(heads->prefix, (size_t)(row + AHEAD) * sizeof *heads->prefix);
    return SL_OK;
}

/* The champion's source goes on to its next record, which climbs. */
SL_INLINE sl_status replay(sl_loser_tree *t)
{
    uint64_t prefix;
    int32_t source = source_of(&t->cells[0]);
    SL_TRY(step(t, source, &prefix));
    climb_new(t, source, prefix);
    loser_tree_assert(t);
    return SL_OK;
}

void loser_tree_reload_prefixes(sl_loser_tree *t)
{
    for (size_t n = 0; n < t->sources; n++)
        if (t->cells[n].who != NOBODY)
            t->cells[n].prefix = head_prefix(&t->heads[source_of(&t->cells[n])]);
}

/* ---- operations ---------------------------------------------------------------------------------------- */

static sl_status tree_build(sl_loser_tree *t)
{
    for (size_t n = 0; n < t->sources; n++)
        t->cells[n] = (struct cell){PREFIX_END, NOBODY, SL_LOSER_POPPED};
    for (size_t i = t->sources; i-- > 0;) {
        SL_TRY(load_heads(t, (int32_t)i));
        climb_new(t, (int32_t)i, head_prefix(&t->heads[i]));
    }
    loser_tree_assert(t);
    return SL_OK;
}

sl_status sl_loser_tree_new(struct sl_heads *heads, size_t sources, sl_tree_advance advance,
                            sl_tree_repeats repeats, void *context, sl_loser_tree **out)
{
    if (sources > INT32_MAX / 2)
        return sl_unsupported("a merge of %zu sources", sources);
    sl_loser_tree *t;
    SL_NEW(t);
    sl_status status = SL_OK;
    t->sources = sources;
    t->heads = heads;
    t->advance = advance;
    t->repeats = repeats;
    t->context = context;
    t->cells = sl_calloc(sources ? sources : 1, sizeof *t->cells);
    if (!t->cells)
        SL_GO(sl_nomem());
    SL_GO(tree_build(t));
    *out = t;
    return SL_OK;
done:
    sl_loser_tree_free(t);
    return status;
}

void sl_loser_tree_free(sl_loser_tree *t)
{
    if (!t)
        return;
#ifndef NDEBUG
    sl_buf_free(&t->last_key);
#endif
    sl_free(t->cells);
    sl_free(t);
}

int64_t sl_loser_tree_peek(const sl_loser_tree *t) { return loser_tree_peek(t); }

sl_status sl_loser_tree_pop(sl_loser_tree *t)
{
    struct cell *champion = &t->cells[0];
    const struct sl_heads *heads = &t->heads[source_of(champion)];
    bool repeats = !head_is_alone(heads);
    assert(loser_tree_peek(t) >= 0);
    if (heads->row + 1 == heads->rows)
        SL_TRY(t->repeats(t->context, (size_t)source_of(champion), &repeats));
    if (!repeats) {
        loser_tree_pop_alone(t);
        return SL_OK;
    }
    loser_tree_note_handed_out(t);
    /* The same source stays first: nothing to replay. */
    SL_TRY(step(t, source_of(champion), &champion->prefix));
    champion->state = SL_WINNER_WITH_SAME_KEY;
    loser_tree_assert(t);
    return SL_OK;
}

sl_status sl_loser_tree_next_key(sl_loser_tree *t)
{
    while (t->sources > 0 && t->cells[0].state == SL_WINNER_POPPED)
        SL_TRY(replay(t));
    return SL_OK;
}

const struct sl_heads *sl_loser_tree_runner_up(const sl_loser_tree *t)
{
    /* Whoever lost to nobody but the champion lost it on the champion's path. */
    const struct sl_heads *least = NULL;
    for (size_t node = ((size_t)source_of(&t->cells[0]) + t->sources) >> 1; node > 0; node >>= 1) {
        const struct sl_heads *heads = &t->heads[source_of(&t->cells[node])];
        if (!heads_ended(heads) && (!least || heads_compare(heads, least) < 0))
            least = heads;
    }
    return least;
}

sl_status sl_loser_tree_replay(sl_loser_tree *t)
{
    assert(t->cells[0].state == SL_WINNER_WITH_NEW_KEY && !loser_tree_tied(t));
    loser_tree_note_handed_out(t);
    return replay(t);
}

uint64_t sl_loser_tree_comparisons(const sl_loser_tree *t) { return t->comparisons; }
