/* The inside of the loser tree, for loser_tree.c, its checks, and the loops that ask it once a record. */
#ifndef SL_MERGE_LOSER_TREE_INT_H
#define SL_MERGE_LOSER_TREE_INT_H

#include "merge/merge.h"

enum { NIL = -1 };

/* A source in its place, parked at a node or climbing. What decides a match lies here: no match leaves the tree. */
struct cell {
    uint64_t prefix; /* of the source's head; PREFIX_END of an exhausted one */
    /* the source, and its first_same: the lowest node on its path that parks an equal key, 0: none; one word, so that two
     * exchange a cell */
    uint64_t who;
    enum sl_leaf_state state;
};
/* Above all others or equal to the highest: an equal one needs a second look. */
#define PREFIX_END UINT64_MAX
/* An empty place, only while building. */
#define NOBODY UINT64_MAX

SL_INLINE uint64_t who_is(int32_t source) { return (uint64_t)(uint32_t)source << 32; }
SL_INLINE int32_t source_of(const struct cell *cell) { return (int32_t)(uint32_t)(cell->who >> 32); }
SL_INLINE int32_t first_same_of(const struct cell *cell) { return (int32_t)(uint32_t)cell->who; }

struct sl_loser_tree {
    size_t sources;
    struct cell *cells;     /* 0: the champion; 1 to sources - 1: who lost at that node */
    struct sl_heads *heads; /* of each source */
    uint64_t doubt;         /* equal prefixes from this one on do not mean equal keys */
    sl_tree_advance advance;
    sl_tree_repeats repeats;
    void *context;
    uint64_t comparisons;
#ifndef NDEBUG
    sl_buf last_key; /* of the record handed out last, for invariant 6 */
    int32_t last_source;
    bool has_last;
#endif
};

SL_INLINE bool heads_ended(const struct sl_heads *heads) { return heads->rows == 0; }
/* Whether the record after the head is known to have another key. */
SL_INLINE bool head_is_alone(const struct sl_heads *heads)
{
    return heads->row + 1 < heads->rows && !(heads->repeats && bit_get(heads->repeats, heads->row));
}
SL_INLINE uint64_t head_prefix(const struct sl_heads *heads)
{
    return heads_ended(heads) ? PREFIX_END : heads->prefix[heads->row];
}
SL_INLINE const uint8_t *head_key(const struct sl_heads *heads, size_t *len)
{
    return sl_bytes_at(heads->keys, heads->row, len);
}
/* The order of two keys of which the prefixes say nothing, as they are equal. */
int heads_compare_rest(const struct sl_heads *a, const struct sl_heads *b);
/* Neither is exhausted. */
SL_INLINE int heads_compare(const struct sl_heads *a, const struct sl_heads *b)
{
    uint64_t left = a->prefix[a->row], right = b->prefix[b->row];
    return left != right ? (left < right ? -1 : 1) : heads_compare_rest(a, b);
}

SL_INLINE int64_t loser_tree_peek(const sl_loser_tree *t)
{
    if (t->sources == 0)
        return NIL;
    const struct cell *champion = &t->cells[0];
    int32_t source = source_of(champion);
    return champion->state == SL_WINNER_POPPED || heads_ended(&t->heads[source]) ? NIL : source;
}
/* Whether another source holds the key of the group that was just opened. */
SL_INLINE bool loser_tree_tied(const sl_loser_tree *t) { return first_same_of(&t->cells[0]) != 0; }
/* sl_loser_tree_pop of a head that is known to be alone. */
void loser_tree_pop_alone(sl_loser_tree *tree);
/* After the prefixes of heads have been made anew, behind fewer common bytes. */
void loser_tree_reload_prefixes(sl_loser_tree *tree);

/* ---- checks -------------------------------------------------------------------------------------------- */

/* The first broken invariant of spec/lsm-layout.md 10.4 (1 to 5), NULL when all hold. */
const char *loser_tree_check(const sl_loser_tree *tree);
/* Who sits in a cell, with state and jump pointer (-1: none). */
int32_t loser_tree_node(const sl_loser_tree *tree, size_t node, enum sl_leaf_state *state,
                        int32_t *first_same);
#ifndef NDEBUG
/* Asserts invariant 6: keys handed out never decrease, and inside a group sources never decrease. */
void loser_tree_note_handed_out(sl_loser_tree *tree);
#define loser_tree_assert(t) assert(!loser_tree_check(t))
#else
#define loser_tree_note_handed_out(t) ((void)0)
#define loser_tree_assert(t)          ((void)0)
#endif

#endif
