/* Sorted runs of short keys as sources of a loser tree, which gets them some records at a time. */
#ifndef TREE_SOURCES_H
#define TREE_SOURCES_H

#include "merge/loser_tree_int.h"

#include <stdlib.h>
#include <string.h>

struct item {
    uint8_t key[8];
    uint32_t len;
    size_t source, position;
};
struct source {
    struct item *items;
    size_t count;
    size_t window;    /* records that are loaded at a time */
    size_t first;     /* the loaded ones begin there */
    int32_t *offsets; /* columns of the loaded records */
    uint8_t *values, *repeats;
    uint64_t *prefix;
    sl_array keys;
};
struct sources {
    struct source *list;
    struct sl_heads *heads;
    size_t count;
    size_t fail_after; /* advances until one fails; 0: never */
    size_t advances;
};

/* Borrows the items. */
SL_UNUSED static void source_init(struct source *s, struct item *items, size_t count, size_t window)
{
    *s = (struct source){.items = items, .count = count, .window = window};
    s->offsets = calloc(window + 1, sizeof *s->offsets);
    s->values = calloc(window, sizeof items->key);
    s->repeats = calloc(window, 1);
    s->prefix = calloc(window, sizeof *s->prefix);
    if (!s->offsets || !s->values || !s->repeats || !s->prefix)
        abort();
}

SL_UNUSED static void source_free(struct source *s)
{
    free(s->offsets);
    free(s->values);
    free(s->repeats);
    free(s->prefix);
}

static bool same_key(const struct item *a, const struct item *b)
{
    return a->len == b->len && memcmp(a->key, b->key, a->len) == 0;
}

SL_UNUSED static int item_compare(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int c = bytes_compare(x->key, x->len, y->key, y->len);
    if (!c)
        c = (x->source > y->source) - (x->source < y->source);
    return c ? c : (x->position > y->position) - (x->position < y->position);
}

/* The record at which the source stands; NULL at its end. */
SL_UNUSED static const struct item *source_head(const struct sources *all, size_t index)
{
    const struct sl_heads *heads = &all->heads[index];
    return heads->rows ? &all->list[index].items[all->list[index].first + (size_t)heads->row] : NULL;
}

static void load_window(struct source *s, struct sl_heads *heads, size_t rows)
{
    static const sl_type binary = {.id = SL_BINARY};
    s->keys =
        (sl_array){.type = &binary, .length = (int64_t)rows, .offsets = s->offsets, .values = s->values};
    *heads = (struct sl_heads){&s->keys, s->prefix, NULL, 0, (int64_t)rows, true};
    memset(s->repeats, 0, s->window);
    for (size_t i = 0; i < rows; i++) {
        const struct item *item = &s->items[s->first + i];
        memcpy(s->values + s->offsets[i], item->key, item->len);
        s->offsets[i + 1] = s->offsets[i] + (int32_t)item->len;
        s->prefix[i] = key_prefix(item->key, item->len);
        heads->whole &= item->len == 0 || item->key[item->len - 1] != 0;
        if (i > 0 && same_key(item - 1, item)) {
            bit_set(s->repeats, (int64_t)i - 1);
            heads->repeats = s->repeats;
        }
    }
}

SL_UNUSED static sl_status sources_advance(void *context, size_t index)
{
    struct sources *all = context;
    struct source *s = &all->list[index];
    struct sl_heads *heads = &all->heads[index];
    if (all->fail_after && ++all->advances == all->fail_after)
        return sl_io("as asked");
    s->first += (size_t)heads->rows;
    size_t rows = s->count - s->first < s->window ? s->count - s->first : s->window;
    load_window(s, heads, rows);
    return SL_OK;
}

SL_UNUSED static sl_status sources_repeat(void *context, size_t index, bool *out)
{
    const struct sources *all = context;
    const struct source *s = &all->list[index];
    const struct item *last = source_head(all, index);
    *out = last + 1 < s->items + s->count && same_key(last, last + 1);
    return SL_OK;
}

#endif
