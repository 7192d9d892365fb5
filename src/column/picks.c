/*
 * Appending rows of many arrays in turn: the gather of a merge. One pass over the picks for each buffer, with the
 * kind of value decided once for all of them: where sources alternate row by row, deciding again for every
 * row costs more than the copy.
 */
#include "column/column_int.h"

enum {
    SHORT_TEXT = 16,  /* copied as one block of constant size */
    BLOCKS_TEXT = 80, /* ... as a few of them: names of data files are shorter */
};

static sl_status offset_overflow(void)
{
    return sl_input("more than 2 GiB of text or elements in one batch");
}

static int64_t picks_rows(const struct sl_pick *picks, size_t count)
{
    int64_t rows = 0;
    for (size_t i = 0; i < count; i++)
        rows += picks[i].count;
    return rows;
}

/* What a pass has to look at: whether any of the arrays that are picked from has nulls or a dictionary. */
struct traits {
    bool nulls, dictionary;
};

static sl_status sources_check(const sl_builder *b, const sl_array *const *sources, size_t source_count,
                               struct traits *out)
{
    *out = (struct traits){0};
    for (size_t i = 0; i < source_count; i++) {
        SL_TRY(builder_source_check(b, sources[i]));
        out->nulls |= sources[i]->validity != NULL;
        out->dictionary |= sources[i]->dictionary != NULL;
    }
    return SL_OK;
}

/* ---- nulls --------------------------------------------------------------------------------------------- */

/* The bitmap is covered with ones before: only nulls are written. */
SL_INLINE int64_t nulls_of_pick(uint8_t *to, int64_t at, const sl_array *src, const struct sl_pick *p)
{
    if (!src->validity)
        return 0;
    if (p->count > 8)
        return p->count - column_bits_copy(to, at, src->validity, p->first, p->count);
    int64_t nulls = 0;
    for (uint32_t k = 0; k < p->count; k++)
        if (!bit_get(src->validity, (int64_t)p->first + k)) {
            bit_clear(to, at + k);
            nulls++;
        }
    return nulls;
}

static sl_status picks_validity(sl_builder *b, const sl_array *const *sources, const struct sl_pick *picks,
                                size_t count, int64_t rows)
{
    SL_TRY(builder_validity_cover(b, b->length + rows));
    int64_t at = b->length;
    for (size_t i = 0; i < count; i++) {
        b->null_count += nulls_of_pick(b->validity.data, at, sources[picks[i].source], &picks[i]);
        at += picks[i].count;
    }
    return SL_OK;
}

/* ---- fixed width --------------------------------------------------------------------------------------- */

/* Inlined with constant `width`: a pick of one row is one load and one store. */
SL_INLINE void fixed_picks(uint8_t *to, const sl_array *const *sources, const struct sl_pick *picks,
                           size_t count, size_t width)
{
    for (size_t i = 0; i < count; i++) {
        const struct sl_pick *p = &picks[i];
        const uint8_t *from = sources[p->source]->values + (size_t)p->first * width;
        if (p->count == 1)
            memcpy(to, from, width);
        else
            memcpy(to, from, p->count * width);
        to += p->count * width;
    }
}

static sl_status picks_fixed(sl_builder *b, const sl_array *const *sources, const struct sl_pick *picks,
                             size_t count, int64_t rows)
{
    size_t bytes;
    if (sl_mul_overflows((size_t)rows, b->value_bytes, &bytes))
        return sl_nomem();
    SL_TRY(growing_room(&b->values, bytes));
    uint8_t *to = b->values.data + b->values.size;
    b->values.size += bytes;
    switch (b->value_bytes) {
    case 4:
        fixed_picks(to, sources, picks, count, 4);
        break;
    case 8:
        fixed_picks(to, sources, picks, count, 8);
        break;
    case 16:
        fixed_picks(to, sources, picks, count, 16);
        break;
    default:
        fixed_picks(to, sources, picks, count, b->value_bytes);
    }
    return SL_OK;
}

/* ---- booleans ------------------------------------------------------------------------------------------ */

/* New bits of the builder are zeros. */
static sl_status picks_bools(sl_builder *b, const sl_array *const *sources, const struct sl_pick *picks,
                             size_t count, int64_t rows)
{
    SL_TRY(builder_bits_room(b, b->length, rows));
    column_bits_fill(b->values.data, b->length, rows, false);
    int64_t at = b->length;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *bits = sources[picks[i].source]->values;
        int64_t from = picks[i].first;
        if (picks[i].count > 8)
            (void)column_bits_copy(b->values.data, at, bits, from, picks[i].count);
        else
            for (uint32_t k = 0; k < picks[i].count; k++)
                b->values.data[(at + k) >> 3] |= (uint8_t)(bit_get(bits, from + k) << ((at + k) & 7));
        at += picks[i].count;
    }
    return SL_OK;
}

/* ---- strings and binaries ------------------------------------------------------------------------------ */

/* Texts are gathered in groups: first their places, from which the ends follow, then, when there is room for them, their
 * bytes. So each index and offset is looked at once, and the places of a group stay in the first cache. */
enum { GROUP_TEXTS = 128 };

struct text_piece {
    const uint8_t *from;
    uint32_t len;
    bool blocks; /* BLOCKS_TEXT bytes may be read from its beginning on */
};
struct text_group {
    struct text_piece pieces[GROUP_TEXTS];
    size_t count, bytes;
    int64_t end; /* of the texts so far; may be beyond int32 */
};

SL_INLINE void add_piece(struct text_group *g, const sl_array *holder, int32_t start, int32_t end)
{
    int64_t behind = (int64_t)holder->offsets[holder->length] - start;
    g->pieces[g->count++] =
        (struct text_piece){holder->values + start, (uint32_t)(end - start), behind >= BLOCKS_TEXT};
    g->bytes += (size_t)(end - start);
}

/* Copies over the end of a text in whole blocks where its source allows; the destination has room. */
SL_INLINE void copy_piece(uint8_t *to, const struct text_piece *p)
{
    if (SL_UNLIKELY(!p->blocks || p->len > BLOCKS_TEXT)) {
        if (p->len > 0)
            memcpy(to, p->from, p->len);
        return;
    }
    size_t at = 0;
    do {
        memcpy(to + at, p->from + at, SHORT_TEXT);
        at += SHORT_TEXT;
    } while (at < p->len);
}

static sl_status copy_group(sl_builder *b, struct text_group *g)
{
    SL_TRY(builder_text_fits(b, g->bytes));
    SL_TRY(growing_room(&b->values, g->bytes + BLOCKS_TEXT));
    uint8_t *to = b->values.data + b->values.size;
    for (size_t i = 0; i < g->count; i++) {
        copy_piece(to, &g->pieces[i]);
        to += g->pieces[i].len;
    }
    b->values.size += g->bytes;
    g->count = g->bytes = 0;
    return SL_OK;
}

/* Neighbouring rows of an array without dictionary are one piece. */
SL_INLINE int32_t *plain_ends(struct text_group *g, const sl_array *src, const struct sl_pick *p, int32_t *to)
{
    const int32_t *offsets = src->offsets + p->first;
    int64_t distance = g->end - offsets[0];
    for (uint32_t k = 1; k <= p->count; k++)
        *to++ = (int32_t)(uint32_t)(offsets[k] + distance);
    g->end = offsets[p->count] + distance;
    add_piece(g, src, offsets[0], offsets[p->count]);
    return to;
}

SL_INLINE void dictionary_end(struct text_group *g, const sl_array *src, int64_t row, int32_t *to)
{
    if (!src->validity || bit_get(src->validity, row)) {
        const sl_array *entries = src->dictionary;
        int32_t entry = sl_i32_at(src, row);
        int32_t start = entries->offsets[entry], end = entries->offsets[(int64_t)entry + 1];
        g->end += end - start;
        add_piece(g, entries, start, end);
    }
    *to = (int32_t)(uint32_t)g->end;
}

/* A dictionary of one entry, as columns of constants have: its text, with room behind it to be read in blocks. */
enum { CONSTANTS_MOST = 16 };
struct constant_text {
    bool is_one;
    uint32_t len;
    uint8_t text[BLOCKS_TEXT + SHORT_TEXT];
};

static void find_constants(struct constant_text *to, const sl_array *const *sources, size_t count)
{
    for (size_t i = 0; i < count && i < CONSTANTS_MOST; i++) {
        const sl_array *entries = sources[i]->dictionary;
        to[i].is_one = entries && entries->length == 1 && !sources[i]->validity &&
                       entries->offsets[1] - entries->offsets[0] <= BLOCKS_TEXT;
        if (!to[i].is_one)
            continue;
        memset(to[i].text, 0, sizeof to[i].text);
        to[i].len = (uint32_t)(entries->offsets[1] - entries->offsets[0]);
        if (to[i].len > 0)
            memcpy(to[i].text, entries->values + entries->offsets[0], to[i].len);
    }
}

SL_INLINE void constant_end(struct text_group *g, const struct constant_text *constant, int32_t *to)
{
    g->pieces[g->count++] = (struct text_piece){constant->text, constant->len, true};
    g->bytes += constant->len;
    g->end += constant->len;
    *to = (int32_t)(uint32_t)g->end;
}

/* Ends are written before the bytes are known to fit; a failure leaves a builder that may only be freed. */
static sl_status picks_text(sl_builder *b, const sl_array *const *sources, const struct sl_pick *picks,
                            size_t source_count, size_t count, int64_t rows)
{
    struct text_group g;
    struct constant_text constants[CONSTANTS_MOST];
    find_constants(constants, sources, source_count);
    SL_TRY(builder_offsets_room(b, rows));
    int32_t *to = (int32_t *)(void *)(b->offsets.data + b->offsets.size);
    g.count = g.bytes = 0;
    g.end = (int64_t)b->values.size;
    for (size_t i = 0; i < count; i++) {
        const sl_array *src = sources[picks[i].source];
        if (!src->dictionary) {
            to = plain_ends(&g, src, &picks[i], to);
            if (g.count == GROUP_TEXTS)
                SL_TRY(copy_group(b, &g));
            continue;
        }
        bool is_one = picks[i].source < CONSTANTS_MOST && constants[picks[i].source].is_one;
        for (uint32_t k = 0; k < picks[i].count; k++) {
            if (is_one)
                constant_end(&g, &constants[picks[i].source], to++);
            else
                dictionary_end(&g, src, (int64_t)picks[i].first + k, to++);
            if (g.count == GROUP_TEXTS)
                SL_TRY(copy_group(b, &g));
        }
    }
    SL_TRY(copy_group(b, &g));
    b->offsets.size += (size_t)rows * sizeof(int32_t);
    return SL_OK;
}

/* End offsets of lists, beginning at `end`; gives the last one, which may be beyond int32. */
static int64_t list_ends(int32_t *to, int64_t end, const sl_array *const *sources,
                         const struct sl_pick *picks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const int32_t *offsets = sources[picks[i].source]->offsets + picks[i].first;
        int64_t distance = end - offsets[0];
        for (uint32_t k = 1; k <= picks[i].count; k++)
            *to++ = (int32_t)(uint32_t)(offsets[k] + distance);
        end = offsets[picks[i].count] + distance;
    }
    return end;
}

/* ---- nested -------------------------------------------------------------------------------------------- */

/* The picks of the elements that the picked lists hold; gives their number. */
static size_t element_picks(struct sl_pick *to, const sl_array *const *sources, const struct sl_pick *picks,
                            size_t count)
{
    size_t made = 0;
    for (size_t i = 0; i < count; i++) {
        const int32_t *offsets = sources[picks[i].source]->offsets + picks[i].first;
        int32_t elements = offsets[picks[i].count] - offsets[0];
        if (elements > 0)
            to[made++] = (struct sl_pick){picks[i].source, (uint32_t)offsets[0], (uint32_t)elements};
    }
    return made;
}

static sl_status append_child(sl_builder *b, size_t child, const sl_array *const *sources,
                              size_t source_count, const struct sl_pick *picks, size_t count)
{
    const sl_array **inner;
    SL_NEW_ARRAY(inner, source_count);
    for (size_t i = 0; i < source_count; i++)
        inner[i] = sources[i]->children[child];
    sl_status status = sl_builder_append_picks(b->children[child], inner, source_count, picks, count);
    sl_free(inner);
    return status;
}

static sl_status picks_lists(sl_builder *b, const sl_array *const *sources, size_t source_count,
                             const struct sl_pick *picks, size_t count, int64_t rows)
{
    SL_TRY(builder_offsets_room(b, rows));
    int32_t *ends = (int32_t *)(void *)(b->offsets.data + b->offsets.size);
    if (list_ends(ends, b->children[0]->length, sources, picks, count) > INT32_MAX)
        return offset_overflow();
    b->offsets.size += (size_t)rows * sizeof(int32_t);
    struct sl_pick *elements;
    SL_NEW_ARRAY(elements, count);
    size_t made = element_picks(elements, sources, picks, count);
    sl_status status = append_child(b, 0, sources, source_count, elements, made);
    sl_free(elements);
    return status;
}

/* ---- by class of type ---------------------------------------------------------------------------------- */

static sl_status picks_values(sl_builder *b, const sl_array *const *sources, size_t source_count,
                              const struct sl_pick *picks, size_t count, int64_t rows)
{
    if (b->type->id == SL_STRING || b->type->id == SL_BINARY)
        return picks_text(b, sources, picks, source_count, count, rows);
    if (b->value_bytes > 0)
        return picks_fixed(b, sources, picks, count, rows);
    switch (b->type->id) {
    case SL_BOOL:
        return picks_bools(b, sources, picks, count, rows);
    case SL_LIST:
    case SL_MAP:
        return picks_lists(b, sources, source_count, picks, count, rows);
    case SL_STRUCT:
        for (size_t i = 0; i < b->child_count; i++)
            SL_TRY(append_child(b, i, sources, source_count, picks, count));
        return SL_OK;
    default: /* SL_NULL has no values */
        return SL_OK;
    }
}

/* Dictionaries of anything but text are rare: pick by pick. */
static sl_status one_by_one(sl_builder *b, const sl_array *const *sources, const struct sl_pick *picks,
                            size_t count)
{
    for (size_t i = 0; i < count; i++)
        SL_TRY(sl_builder_append_range(b, sources[picks[i].source], picks[i].first, picks[i].count));
    return SL_OK;
}

sl_status sl_builder_append_picks(sl_builder *b, const sl_array *const *sources, size_t source_count,
                                  const struct sl_pick *picks, size_t count)
{
    struct traits t;
    int64_t rows = picks_rows(picks, count);
    if (rows == 0)
        return SL_OK;
    SL_TRY(sources_check(b, sources, source_count, &t));
    if (t.dictionary && b->type->id != SL_STRING && b->type->id != SL_BINARY)
        return one_by_one(b, sources, picks, count);
    if (b->type->id == SL_NULL)
        b->null_count += rows;
    else if (t.nulls)
        SL_TRY(picks_validity(b, sources, picks, count, rows));
    SL_TRY(picks_values(b, sources, source_count, picks, count, rows));
    b->length += rows;
    return SL_OK;
}
