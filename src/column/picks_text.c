/*
 * Texts of many arrays in turn (sl_builder_append_picks). Each pick copies its ends and its bytes as blocks of constant size
 * where the source has that many; what is too much, the next pick overwrites.
 */
#include "column/column_int.h"

enum {
    BLOCK_MOST = 128,
    CONSTANT_MOST = 80, /* names of data files are shorter */
    CONSTANTS_MOST = 64,
    TEXT_AHEAD = 384, /* bytes of a source, some dozens of picks before they are copied */
    ROWS_AHEAD = 64,
    EXPECTED_MOST = 1 << 20,
};

/* A source as the loops need it: its texts, or those of its dictionary. */
struct lane {
    const uint8_t *text;
    const int32_t *offsets;
    const uint8_t *indexes;  /* into the dictionary; NULL: row i has text i */
    const uint8_t *validity; /* with indexes; NULL: no nulls */
    uint32_t row_mask;       /* all ones; 0: every row is row 0 (struct constant) */
    uint32_t rows_most;      /* at once: as many as are picked; of a constant STEP_ROWS */
    int64_t step_last;       /* the last row that has STEP_ROWS rows from it on */
    int64_t text_bytes;      /* that may be read */
};

/* A dictionary of one entry, as columns of constants have, as STEP_ROWS rows of its text: every pick is of the first ones. */
struct constant {
    int32_t offsets[STEP_ROWS + 1];
    uint8_t text[STEP_ROWS * CONSTANT_MOST + BLOCK_MOST];
};

static size_t entry_bytes(const sl_array *texts) { return (size_t)(texts->offsets[1] - texts->offsets[0]); }

static bool is_constant(const sl_array *src)
{
    return src->dictionary && src->dictionary->length == 1 && !src->validity &&
           entry_bytes(src->dictionary) <= CONSTANT_MOST;
}

static void constant_lane(struct lane *l, struct constant *c, const sl_array *entry)
{
    size_t len = entry_bytes(entry);
    for (size_t k = 0; k <= STEP_ROWS; k++)
        c->offsets[k] = (int32_t)(k * len);
    for (size_t k = 0; k < STEP_ROWS && len > 0; k++)
        memcpy(c->text + k * len, entry->values + entry->offsets[0], len);
    memset(c->text + STEP_ROWS * len, 0, BLOCK_MOST);
    *l = (struct lane){.text = c->text,
                       .offsets = c->offsets,
                       .rows_most = STEP_ROWS,
                       .text_bytes = (int64_t)(STEP_ROWS * len + BLOCK_MOST)};
}

static void text_lane(struct lane *l, const sl_array *src)
{
    const sl_array *texts = src->dictionary ? src->dictionary : src;
    *l = (struct lane){.text = texts->values,
                       .offsets = texts->offsets,
                       .indexes = src->dictionary ? src->values : NULL,
                       .validity = src->dictionary ? src->validity : NULL,
                       .row_mask = UINT32_MAX,
                       .rows_most = UINT32_MAX,
                       .step_last = src->length - STEP_ROWS,
                       .text_bytes = texts->offsets[texts->length]};
}

/* ---- where every row has the same text ----------------------------------------------------------------- */

static bool all_the_same(const struct pick_list *list)
{
    const sl_array *first = list->sources[0]->dictionary;
    for (size_t i = 0; i < list->source_count; i++) {
        const sl_array *entry = list->sources[i]->dictionary;
        if (!is_constant(list->sources[i]) || entry_bytes(entry) != entry_bytes(first))
            return false;
        if (entry_bytes(first) > 0 && memcmp(entry->values + entry->offsets[0],
                                             first->values + first->offsets[0], entry_bytes(first)) != 0)
            return false;
    }
    return true;
}

/* What was filled doubles with each copy. */
static void fill_text(uint8_t *to, size_t bytes, const uint8_t *text, size_t len)
{
    if (bytes == 0)
        return;
    memcpy(to, text, len);
    for (size_t filled = len, n; filled < bytes; filled += n) {
        n = filled < bytes - filled ? filled : bytes - filled;
        memcpy(to + filled, to, n);
    }
}

static sl_status fill_rows(sl_builder *b, const sl_array *entry, int64_t rows)
{
    size_t len = entry_bytes(entry), bytes;
    if (sl_mul_overflows(len, (size_t)rows, &bytes))
        return sl_nomem();
    SL_TRY(builder_text_fits(b, bytes));
    SL_TRY(growing_room(&b->values, bytes));
    SL_TRY(builder_offsets_room(b, rows));
    fill_text(b->values.data + b->values.size, bytes, entry->values + entry->offsets[0], len);
    int32_t *ends = (int32_t *)(void *)(b->offsets.data + b->offsets.size);
    int32_t begin = (int32_t)b->values.size;
    for (int32_t i = 0; i < (int32_t)rows; i++)
        ends[i] = begin + (i + 1) * (int32_t)len;
    b->values.size += bytes;
    b->offsets.size += (size_t)rows * sizeof(int32_t);
    return SL_OK;
}

/* ---- putting texts ------------------------------------------------------------------------------------- */

/* Where the next text goes. Ends have their room from the start, texts make it. */
struct text_place {
    uint8_t *data;
    size_t at, limit; /* a text may end there and a block be written behind it */
    int32_t *ends;
};

SL_INLINE void find_limit(struct text_place *t, const sl_builder *b)
{
    t->data = b->values.data;
    t->limit = b->values.capacity - BLOCK_MOST;
    if (t->limit > INT32_MAX)
        t->limit = INT32_MAX;
}

static sl_status make_room(sl_builder *b, size_t at, size_t bytes)
{
    b->values.size = at;
    SL_TRY(builder_text_fits(b, bytes));
    return growing_room(&b->values, bytes + BLOCK_MOST);
}

SL_INLINE sl_status text_room(sl_builder *b, struct text_place *t, size_t bytes)
{
    if (SL_LIKELY(t->at + bytes <= t->limit))
        return SL_OK;
    SL_TRY(make_room(b, t->at, bytes));
    find_limit(t, b);
    return SL_OK;
}

SL_INLINE void put_text(struct text_place *t, const struct lane *l, int32_t start, size_t bytes, size_t block)
{
    if (SL_LIKELY(bytes <= block && start + (int64_t)block <= l->text_bytes))
        memcpy(t->data + t->at, l->text + start, block);
    else if (bytes > 0)
        memcpy(t->data + t->at, l->text + start, bytes);
    t->at += bytes;
}

/* ---- rows that lie side by side ------------------------------------------------------------------------ */

/* Sums wrap as unsigned numbers do; text_room has seen that what is kept of them does not. */
SL_INLINE void put_ends(struct text_place *t, const struct lane *l, uint32_t first, uint32_t count)
{
    const int32_t *offsets = l->offsets + first;
    uint32_t distance = (uint32_t)t->at - (uint32_t)offsets[0];
    if (SL_LIKELY(count <= STEP_ROWS && first <= l->step_last)) {
        uint32_t step[STEP_ROWS];
        memcpy(step, offsets + 1, sizeof step);
        for (int k = 0; k < STEP_ROWS; k++)
            step[k] += distance;
        memcpy(t->ends, step, sizeof step);
    } else {
        for (uint32_t k = 0; k < count; k++)
            t->ends[k] = (int32_t)((uint32_t)offsets[k + 1] + distance);
    }
    t->ends += count;
}

SL_INLINE sl_status put_pick(sl_builder *b, struct text_place *t, const struct lane *l,
                             const struct sl_pick *p, size_t block)
{
    uint32_t first = p->first & l->row_mask, left = p->count, count;
    do {
        count = left < l->rows_most ? left : l->rows_most;
        const int32_t *offsets = l->offsets + first;
        int32_t start = offsets[0];
        size_t bytes = (size_t)(offsets[count] - start);
        SL_TRY(text_room(b, t, bytes));
        sl_prefetch(l->text + start, TEXT_AHEAD);
        sl_prefetch(offsets, ROWS_AHEAD * sizeof *offsets);
        put_ends(t, l, first, count);
        put_text(t, l, start, bytes, block);
        left -= count;
    } while (SL_UNLIKELY(left > 0));
    return SL_OK;
}

SL_INLINE sl_status put_picks(sl_builder *b, const struct lane *lanes, const struct pick_list *list,
                              struct text_place *t, size_t block)
{
    for (const struct sl_pick *p = list->picks.items, *end = p + list->picks.count; p < end; p++)
        SL_TRY(put_pick(b, t, &lanes[p->source], p, block));
    return SL_OK;
}

/* ---- through dictionaries ------------------------------------------------------------------------------ */

#define NO_ENTRY SIZE_MAX
struct text_piece {
    const struct lane *lane;
    size_t entry; /* NO_ENTRY: a null */
    int32_t start, bytes;
};
/* Entries lie anywhere: first the offsets of a group are fetched, then its texts, then they are copied. */
enum { GROUP_TEXTS = 128 };
struct text_group {
    struct text_piece pieces[GROUP_TEXTS];
    size_t count;
};

SL_INLINE size_t lane_entry(const struct lane *l, uint32_t row)
{
    if (!l->indexes)
        return row & l->row_mask;
    if (l->validity && !bit_get(l->validity, row))
        return NO_ENTRY;
    return load_le32(l->indexes + (size_t)row * sizeof(int32_t));
}

static void locate_group(struct text_group *g)
{
    for (size_t i = 0; i < g->count; i++) {
        struct text_piece *p = &g->pieces[i];
        if (p->entry == NO_ENTRY) {
            p->start = p->bytes = 0;
            continue;
        }
        const int32_t *at = p->lane->offsets + p->entry;
        p->start = at[0];
        p->bytes = at[1] - at[0];
        sl_prefetch(p->lane->text, (size_t)p->start);
        sl_prefetch(p->lane->text, (size_t)p->start + (size_t)p->bytes);
    }
}

SL_INLINE sl_status put_group(sl_builder *b, struct text_group *g, struct text_place *t, size_t block)
{
    locate_group(g);
    for (size_t i = 0; i < g->count; i++) {
        const struct text_piece *p = &g->pieces[i];
        SL_TRY(text_room(b, t, (size_t)p->bytes));
        put_text(t, p->lane, p->start, (size_t)p->bytes, block);
        *t->ends++ = (int32_t)t->at;
    }
    g->count = 0;
    return SL_OK;
}

SL_INLINE sl_status put_entries(sl_builder *b, const struct lane *lanes, const struct pick_list *list,
                                struct text_place *t, size_t block)
{
    struct text_group g;
    g.count = 0;
    for (const struct sl_pick *p = list->picks.items, *end = p + list->picks.count; p < end; p++) {
        const struct lane *l = &lanes[p->source];
        sl_prefetch(l->indexes, ((size_t)p->first + ROWS_AHEAD) * sizeof(int32_t));
        for (uint32_t k = 0; k < p->count; k++) {
            size_t entry = lane_entry(l, p->first + k);
            if (entry != NO_ENTRY)
                sl_prefetch(l->offsets + entry, 0);
            g.pieces[g.count].lane = l;
            g.pieces[g.count++].entry = entry;
            if (g.count == GROUP_TEXTS)
                SL_TRY(put_group(b, &g, t, block));
        }
    }
    return put_group(b, &g, t, block);
}

/* ---- the loops by block -------------------------------------------------------------------------------- */

/* Inlined with constant `entries` and `block`. */
SL_INLINE sl_status put_texts(sl_builder *b, const struct lane *lanes, const struct pick_list *list,
                              bool entries, size_t block)
{
    struct text_place t = {.at = b->values.size,
                           .ends = (int32_t *)(void *)(b->offsets.data + b->offsets.size)};
    find_limit(&t, b);
    if (entries)
        SL_TRY(put_entries(b, lanes, list, &t, block));
    else
        SL_TRY(put_picks(b, lanes, list, &t, block));
    b->values.size = t.at;
    b->offsets.size += (size_t)list->picks.rows * sizeof(int32_t);
    return SL_OK;
}

static int64_t average_bytes(const struct lane *l, const sl_array *src)
{
    int64_t rows = l->row_mask == 0 ? 1 : l->indexes ? src->dictionary->length : src->length;
    return rows ? (l->offsets[rows] - l->offsets[0]) / rows : 0;
}

/* A new array is given at once what it will need, more or less. */
static void expect_bytes(sl_builder *b, int64_t average, int64_t rows)
{
    if (b->values.buffer || average > EXPECTED_MOST / rows)
        return;
    size_t expected = (size_t)(average * rows) + BLOCK_MOST;
    if (b->values.expected < expected)
        b->values.expected = expected;
}

/* The block holds most picks: of two rows, and a third one that is a little shorter than the average. */
static sl_status put_by_block(sl_builder *b, const struct lane *lanes, const struct pick_list *list)
{
    int64_t most = 0;
    bool entries = false;
    for (size_t i = 0; i < list->source_count; i++) {
        int64_t average = average_bytes(&lanes[i], list->sources[i]);
        most = average > most ? average : most;
        entries |= lanes[i].indexes != NULL;
    }
    expect_bytes(b, most, list->picks.rows);
    SL_TRY(growing_room(&b->values, BLOCK_MOST));
    if (entries)
        return most <= 11 ? put_texts(b, lanes, list, true, 16) : put_texts(b, lanes, list, true, 64);
    if (most <= 12)
        return put_texts(b, lanes, list, false, 32);
    if (most <= 25)
        return put_texts(b, lanes, list, false, 64);
    return put_texts(b, lanes, list, false, BLOCK_MOST);
}

static void set_lanes(struct lane *lanes, struct constant *constants, const struct pick_list *list)
{
    for (size_t i = 0; i < list->source_count; i++)
        if (i < CONSTANTS_MOST && is_constant(list->sources[i]))
            constant_lane(&lanes[i], &constants[i], list->sources[i]->dictionary);
        else
            text_lane(&lanes[i], list->sources[i]);
}

sl_status picks_text(sl_builder *b, const struct pick_list *list)
{
    if (all_the_same(list))
        return fill_rows(b, list->sources[0]->dictionary, list->picks.rows);
    SL_TRY(builder_offsets_room(b, list->picks.rows + STEP_ROWS));
    size_t constant_count = list->source_count < CONSTANTS_MOST ? list->source_count : CONSTANTS_MOST;
    struct lane *lanes = sl_realloc_array(NULL, list->source_count, sizeof *lanes);
    struct constant *constants = sl_realloc_array(NULL, constant_count, sizeof *constants);
    sl_status status = SL_OK;
    if (!lanes || !constants)
        SL_GO(sl_nomem());
    set_lanes(lanes, constants, list);
    status = put_by_block(b, lanes, list);
done:
    sl_free(lanes);
    sl_free(constants);
    return status;
}
