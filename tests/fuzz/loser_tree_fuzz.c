/*
 * Fuzzing harness of the loser tree (golden check G-19): runs that end at every position.
 *
 *   byte 0   number of sources, modulo 67
 *   byte 1   the advance that fails (0: none)
 *   rest     one run a source, cut at bytes 0xFF; a byte is a record, its key one or two letters of few
 *
 * The records must come out as a plain sort by (key, source, position) puts them, groups whole, and the invariants of
 * spec/lsm-layout.md 10.4 must hold after every step.
 */
#include "merge/merge_int.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SOURCES_MAX 67

struct item {
    uint8_t key[2];
    uint32_t len;
    size_t source, position;
};
struct source {
    struct item *items;
    size_t count, next; /* items[next - 1] is the head */
};
struct sources {
    struct source list[SOURCES_MAX];
    size_t count, advances, fail_at;
};

static sl_status advance(void *context, size_t index, struct sl_head *head)
{
    struct sources *all = context;
    struct source *s = &all->list[index];
    if (all->fail_at && ++all->advances == all->fail_at)
        return sl_io("as asked");
    *head = (struct sl_head){0};
    if (s->next < s->count) {
        const struct item *item = &s->items[s->next];
        *head =
            (struct sl_head){.key = item->key, .len = item->len, .prefix = key_prefix(item->key, item->len)};
    }
    s->next++;
    return SL_OK;
}

static sl_status repeats(void *context, size_t index, bool *out)
{
    const struct source *s = &((struct sources *)context)->list[index];
    *out = s->next < s->count && bytes_compare(s->items[s->next - 1].key, s->items[s->next - 1].len,
                                               s->items[s->next].key, s->items[s->next].len) == 0;
    return SL_OK;
}

static int item_compare(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int c = bytes_compare(x->key, x->len, y->key, y->len);
    if (!c)
        c = (x->source > y->source) - (x->source < y->source);
    return c ? c : (x->position > y->position) - (x->position < y->position);
}

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* The runs of the input, each sorted; all records behind each other in `items`. */
static size_t make_runs(const uint8_t *data, size_t size, struct sources *all, struct item *items)
{
    size_t count = 0;
    for (size_t s = 0; s < all->count; s++) {
        struct source *source = &all->list[s];
        source->items = items + count;
        while (size && *data != 0xFF) {
            uint32_t len = 1 + (*data & 1);
            items[count++] =
                (struct item){{(uint8_t)('a' + (*data >> 5)), (uint8_t)('a' + (*data >> 3 & 3))}, len, s, 0};
            source->count++;
            data++, size--;
        }
        if (size)
            data++, size--;
        if (source->count)
            qsort(source->items, source->count, sizeof *items, item_compare);
        for (size_t i = 0; i < source->count; i++)
            source->items[i].position = i;
    }
    return count;
}

/* Pops every record; false: the failure that was asked for came. */
static bool merge(struct sources *all, sl_loser_tree *tree, const struct item *want, size_t count)
{
    size_t at = 0;
    for (;;) {
        int64_t source = sl_loser_tree_peek(tree);
        const char *broken = loser_tree_check(tree);
        must(!broken);
        if (source >= 0) {
            const struct source *s = &all->list[source];
            must(at < count && s->items[s->next - 1].source == want[at].source &&
                 s->items[s->next - 1].position == want[at].position);
            at++;
            if (sl_status_ignore(sl_loser_tree_pop(tree)))
                return false;
            continue;
        }
        if (sl_status_ignore(sl_loser_tree_next_key(tree)))
            return false;
        if (sl_loser_tree_peek(tree) < 0) {
            must(at == count);
            return true;
        }
        /* The group was complete: the next record has another key. */
        must(at == 0 || bytes_compare(want[at - 1].key, want[at - 1].len, want[at].key, want[at].len) != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sources all = {.count = 0};
    sl_loser_tree *tree;
    if (size < 2 || size > 4096)
        return 0;
    all.count = data[0] % SOURCES_MAX;
    all.fail_at = data[1];
    struct item *items = malloc(size * sizeof *items), *want = malloc(size * sizeof *want);
    must(items && want);
    size_t count = make_runs(data + 2, size - 2, &all, items);
    memcpy(want, items, count * sizeof *want);
    qsort(want, count, sizeof *want, item_compare);
    if (!sl_status_ignore(sl_loser_tree_new(all.count, advance, repeats, &all, &tree))) {
        bool whole = merge(&all, tree, want, count);
        must(whole || all.fail_at);
        sl_loser_tree_free(tree);
    }
    free(items);
    free(want);
    return 0;
}
