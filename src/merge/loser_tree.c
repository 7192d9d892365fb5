/*
 * The state-machine loser tree of spec/lsm-layout.md 10.
 *
 * k sorted sources, numbered oldest first. Leaf i hangs under node (i + k) / 2, the parent of node n is n /
 * 2, node 1 is the root and tree[0] the cell of the champion; tree[1..k-1] hold the loser of the match at
 * that node. No padding: any k works.
 *
 * All records of one key form a group. While a group is open its members need no key comparison: a leaf that
 * won a tie remembers the lowest node that parks one of its equals (first_same), so that handing out the
 * winner jumps there at once. Records handed out stay where they are as *_POPPED until sl_loser_tree_next_key
 * advances them.
 *
 * The tree knows keys only; what lies behind a head is the business of the two callbacks.
 */
#include "merge/merge_int.h"
#include <assert.h>

enum { NIL = -1 };

struct leaf {
    struct sl_head head;
    int32_t first_same; /* lowest node on the leaf's path that parks an equal key; NIL: none */
    uint8_t state;      /* enum sl_leaf_state */
};

struct sl_loser_tree {
    size_t sources;
    int32_t *tree;
    struct leaf *leaves;
    sl_tree_advance advance;
    sl_tree_repeats repeats;
    void *context;
    uint64_t comparisons;
#ifndef NDEBUG
    uint8_t *last_key; /* of the record handed out last, for invariant 6 */
    size_t last_len, last_cap;
    int32_t last_source;
    bool has_last;
#endif
};

/* An exhausted source is +infinity and never ties. */
SL_INLINE int leaves_compare(sl_loser_tree *t, const struct leaf *a, const struct leaf *b)
{
    if (!a->head.key)
        return 1;
    if (!b->head.key)
        return -1;
    t->comparisons++;
    return heads_compare(&a->head, &b->head);
}

/* ---- invariants ---------------------------------------------------------------------------------------- */

static bool is_winner(const struct leaf *leaf) { return leaf->state <= SL_WINNER_POPPED; }

/* (1) each source sits in exactly one cell, (2) only the champion is in a winner's state. */
static const char *check_cells(const sl_loser_tree *t)
{
    size_t seen_sum = 0, winners = 0;
    for (size_t n = 0; n < t->sources; n++) {
        int32_t at = t->tree[n];
        if (at < 0 || (size_t)at >= t->sources)
            return "1: a cell holds no source";
        seen_sum += (size_t)at;
        winners += is_winner(&t->leaves[at]);
        for (size_t m = 0; m < n && t->sources <= 64; m++)
            if (t->tree[m] == at)
                return "1: a source sits in two cells";
    }
    if (seen_sum != t->sources * (t->sources - 1) / 2)
        return "1: a source is missing";
    if (winners != 1 || !is_winner(&t->leaves[t->tree[0]]))
        return "2: not exactly the champion is a winner";
    return NULL;
}

/* (3) a group starts only when every consumed leaf was advanced, (4) the champion is minimal by (key,
 * source). */
static const char *check_champion(const sl_loser_tree *t)
{
    const struct leaf *champion = &t->leaves[t->tree[0]];
    for (size_t i = 0; i < t->sources; i++) {
        const struct leaf *leaf = &t->leaves[i];
        if (leaf->state == SL_LOSER_POPPED) {
            if (champion->state == SL_WINNER_WITH_NEW_KEY)
                return "3: a group opened over a consumed leaf";
            continue;
        }
        if (champion->state == SL_WINNER_POPPED || !champion->head.key || !leaf->head.key)
            continue;
        int c = heads_compare(&champion->head, &leaf->head);
        if (c > 0 || (c == 0 && (size_t)t->tree[0] > i))
            return "4: the champion is not the smallest";
    }
    return NULL;
}

/* (5) each jump pointer leads to a parked tie of the same key. */
static const char *check_jumps(const sl_loser_tree *t)
{
    for (size_t i = 0; i < t->sources; i++) {
        int32_t node = t->leaves[i].first_same;
        if (node == NIL)
            continue;
        if (node < 1 || (size_t)node >= t->sources)
            return "5: a jump pointer leaves the tree";
        const struct leaf *parked = &t->leaves[t->tree[node]];
        if (parked->state != SL_LOSER_WITH_SAME_KEY || !parked->head.key ||
            heads_compare(&parked->head, &t->leaves[i].head) != 0)
            return "5: a jump pointer leads to no tie";
    }
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
    return broken;
}

#ifndef NDEBUG
/* (6) keys handed out never decrease, and inside a group sources never decrease. */
static void note_handed_out(sl_loser_tree *t, int32_t source)
{
    const struct sl_head *head = &t->leaves[source].head;
    if (t->has_last) {
        int c = bytes_compare(t->last_key, t->last_len, head->key, head->len);
        assert(c < 0 || (c == 0 && t->last_source <= source));
    }
    if (head->len > t->last_cap || !t->last_key) {
        uint8_t *grown = sl_realloc(t->last_key, head->len + 64);
        if (!grown) { /* a check less, no reason to fail */
            t->has_last = false;
            return;
        }
        t->last_key = grown;
        t->last_cap = head->len + 64;
    }
    memcpy(t->last_key, head->key, head->len);
    t->last_len = head->len;
    t->last_source = source;
    t->has_last = true;
}
#define CHECK(t) assert(!loser_tree_check(t))
#else
#define note_handed_out(t, source) ((void)0)
#define CHECK(t)                   ((void)0)
#endif

/* ---- one root path ------------------------------------------------------------------------------------- */

SL_INLINE void tie_at(struct leaf *leaf, int32_t node)
{
    if (leaf->first_same == NIL) /* the first match on the way up is the lowest */
        leaf->first_same = node;
}

/* A leaf with a new key meets the parked one; whether the parked one climbs on. */
SL_INLINE bool match_new(sl_loser_tree *t, int32_t node, int32_t w, int32_t p)
{
    struct leaf *climbing = &t->leaves[w], *parked = &t->leaves[p];
    if (parked->state == SL_LOSER_POPPED) { /* must reach the top to be advanced */
        parked->state = SL_WINNER_POPPED;
        parked->first_same = NIL;
        climbing->state = SL_LOSER_WITH_NEW_KEY;
        return true;
    }
    assert(parked->state == SL_LOSER_WITH_NEW_KEY && "an open tie is drained before a new group starts");
    int c = leaves_compare(t, climbing, parked);
    if (c < 0)
        return false;
    if (c > 0) {
        climbing->state = SL_LOSER_WITH_NEW_KEY;
        parked->state = SL_WINNER_WITH_NEW_KEY;
        return true;
    }
    if (p < w) { /* the older source wins the tie */
        climbing->state = SL_LOSER_WITH_SAME_KEY;
        parked->state = SL_WINNER_WITH_NEW_KEY;
        tie_at(parked, node);
        return true;
    }
    parked->state = SL_LOSER_WITH_SAME_KEY;
    tie_at(climbing, node);
    return false;
}

/* A member of the open group climbs: only other members matter, and all of them have the same key. */
SL_INLINE bool match_same(sl_loser_tree *t, int32_t node, int32_t w, int32_t p)
{
    struct leaf *climbing = &t->leaves[w], *parked = &t->leaves[p];
    if (parked->state != SL_LOSER_WITH_SAME_KEY)
        return false;
    if (p < w) {
        climbing->state = SL_LOSER_WITH_SAME_KEY;
        parked->state = SL_WINNER_WITH_SAME_KEY;
        tie_at(parked, node);
        return true;
    }
    tie_at(climbing, node);
    return false;
}

static void adjust(sl_loser_tree *t, int32_t w)
{
    int32_t *tree = t->tree;
    int32_t node = (int32_t)(((size_t)w + t->sources) >> 1);
    while (node > 0) {
        struct leaf *climbing = &t->leaves[w];
        if (tree[node] == NIL) { /* only while building */
            climbing->state = SL_LOSER_WITH_NEW_KEY;
            tree[node] = w;
            return;
        }
        bool parked_climbs;
        if (climbing->state == SL_WINNER_POPPED) {
            if (climbing->first_same == NIL) /* nobody left with this key: the group is complete */
                break;
            node = climbing->first_same; /* no comparison at all */
            climbing->state = SL_LOSER_POPPED;
            climbing->first_same = NIL;
            t->leaves[tree[node]].state = SL_WINNER_WITH_SAME_KEY;
            parked_climbs = true;
        } else if (climbing->state == SL_WINNER_WITH_NEW_KEY) {
            parked_climbs = match_new(t, node, w, tree[node]);
        } else {
            parked_climbs = match_same(t, node, w, tree[node]);
        }
        if (parked_climbs) {
            int32_t parked = tree[node];
            tree[node] = w;
            w = parked;
        }
        node >>= 1;
    }
    tree[0] = w;
}

/* ---- operations ---------------------------------------------------------------------------------------- */

static sl_status leaf_advance(sl_loser_tree *t, int32_t source)
{
    struct leaf *leaf = &t->leaves[source];
    SL_TRY(t->advance(t->context, (size_t)source, &leaf->head));
    leaf->state = SL_WINNER_WITH_NEW_KEY;
    leaf->first_same = NIL;
    return SL_OK;
}

static sl_status tree_build(sl_loser_tree *t)
{
    for (size_t i = 0; i < t->sources; i++)
        t->tree[i] = NIL;
    for (size_t i = t->sources; i-- > 0;) {
        SL_TRY(leaf_advance(t, (int32_t)i));
        adjust(t, (int32_t)i);
    }
    CHECK(t);
    return SL_OK;
}

sl_status sl_loser_tree_new(size_t sources, sl_tree_advance advance, sl_tree_repeats repeats, void *context,
                            sl_loser_tree **out)
{
    if (sources > INT32_MAX / 2)
        return sl_unsupported("a merge of %zu sources", sources);
    sl_loser_tree *t;
    SL_NEW(t);
    sl_status status = SL_OK;
    t->sources = sources;
    t->advance = advance;
    t->repeats = repeats;
    t->context = context;
    t->tree = sl_calloc(sources ? sources : 1, sizeof *t->tree);
    t->leaves = sl_calloc(sources ? sources : 1, sizeof *t->leaves);
    if (!t->tree || !t->leaves)
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
    sl_free(t->last_key);
#endif
    sl_free(t->leaves);
    sl_free(t->tree);
    sl_free(t);
}

int64_t sl_loser_tree_peek(const sl_loser_tree *t)
{
    if (t->sources == 0)
        return -1;
    const struct leaf *champion = &t->leaves[t->tree[0]];
    return champion->head.key && champion->state != SL_WINNER_POPPED ? t->tree[0] : -1;
}

sl_status sl_loser_tree_pop(sl_loser_tree *t)
{
    assert(sl_loser_tree_peek(t) >= 0);
    int32_t w = t->tree[0];
    struct leaf *champion = &t->leaves[w];
    note_handed_out(t, w);
    bool repeats = false;
    if (!champion->head.alone)
        SL_TRY(t->repeats(t->context, (size_t)w, &repeats));
    if (repeats) { /* the same source stays first: nothing to replay */
        SL_TRY(t->advance(t->context, (size_t)w, &champion->head));
        champion->state = SL_WINNER_WITH_SAME_KEY;
    } else {
        champion->state = SL_WINNER_POPPED;
        adjust(t, w);
    }
    CHECK(t);
    return SL_OK;
}

sl_status sl_loser_tree_next_key(sl_loser_tree *t)
{
    while (t->sources > 0 && t->leaves[t->tree[0]].state == SL_WINNER_POPPED) {
        int32_t w = t->tree[0];
        SL_TRY(leaf_advance(t, w));
        adjust(t, w);
        CHECK(t);
    }
    return SL_OK;
}

void loser_tree_reload_prefixes(sl_loser_tree *t, size_t common)
{
    for (size_t i = 0; i < t->sources; i++) {
        struct sl_head *head = &t->leaves[i].head;
        if (!head->key)
            continue;
        head->prefix = key_prefix(head->key + common, head->len - common);
        head->whole = head->len <= common + sizeof head->prefix;
    }
}

bool loser_tree_tied(const sl_loser_tree *t) { return t->leaves[t->tree[0]].first_same != NIL; }

int32_t loser_tree_node(const sl_loser_tree *t, size_t node, enum sl_leaf_state *state, int32_t *first_same)
{
    const struct leaf *leaf = &t->leaves[t->tree[node]];
    *state = (enum sl_leaf_state)leaf->state;
    *first_same = leaf->first_same;
    return t->tree[node];
}

void sl_loser_tree_runner_up(const sl_loser_tree *t, struct sl_head *out)
{
    /* Whoever lost to nobody but the champion lost it on the champion's path. */
    *out = (struct sl_head){0};
    int32_t w = t->tree[0];
    for (size_t node = ((size_t)w + t->sources) >> 1; node > 0; node >>= 1) {
        const struct sl_head *head = &t->leaves[t->tree[node]].head;
        if (head->key && (!out->key || heads_compare(head, out) < 0))
            *out = *head;
    }
}

sl_status sl_loser_tree_replay(sl_loser_tree *t)
{
    int32_t w = t->tree[0];
    assert(t->leaves[w].state == SL_WINNER_WITH_NEW_KEY && t->leaves[w].first_same == NIL);
    note_handed_out(t, w);
    SL_TRY(leaf_advance(t, w));
    adjust(t, w);
    CHECK(t);
    return SL_OK;
}

uint64_t sl_loser_tree_comparisons(const sl_loser_tree *t) { return t->comparisons; }
