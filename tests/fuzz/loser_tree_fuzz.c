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
#include "tree_sources.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SOURCES_MAX 67

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* The runs of the input, each sorted; all records behind each other in `items`. */
static size_t make_runs(const uint8_t *data, size_t size, struct sources *all, struct item *items)
{
    size_t total = 0;
    for (size_t s = 0; s < all->count; s++) {
        struct item *run = items + total;
        size_t count = 0;
        while (size && *data != 0xFF) {
            uint32_t len = 1 + (*data & 1);
            run[count++] =
                (struct item){{(uint8_t)('a' + (*data >> 5)), (uint8_t)('a' + (*data >> 3 & 3))}, len, s, 0};
            data++, size--;
        }
        if (size)
            data++, size--;
        if (count)
            qsort(run, count, sizeof *run, item_compare);
        for (size_t i = 0; i < count; i++)
            run[i].position = i;
        source_init(&all->list[s], run, count, 1 + s % 5);
        total += count;
    }
    return total;
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
            const struct item *head = source_head(all, (size_t)source);
            must(at < count && head && head->source == want[at].source &&
                 head->position == want[at].position);
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
    struct source list[SOURCES_MAX];
    struct sl_heads heads[SOURCES_MAX] = {{0}};
    struct sources all = {.list = list, .heads = heads};
    sl_loser_tree *tree;
    if (size < 2 || size > 4096)
        return 0;
    all.count = data[0] % SOURCES_MAX;
    all.fail_after = data[1];
    struct item *items = malloc(size * sizeof *items), *want = malloc(size * sizeof *want);
    must(items && want);
    size_t count = make_runs(data + 2, size - 2, &all, items);
    memcpy(want, items, count * sizeof *want);
    qsort(want, count, sizeof *want, item_compare);
    if (!sl_status_ignore(
            sl_loser_tree_new(heads, all.count, sources_advance, sources_repeat, &all, &tree))) {
        bool whole = merge(&all, tree, want, count);
        must(whole || all.fail_after);
        sl_loser_tree_free(tree);
    }
    for (size_t s = 0; s < all.count; s++)
        source_free(&list[s]);
    free(items);
    free(want);
    return 0;
}
