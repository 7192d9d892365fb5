/*
 * Appending rows of many arrays in turn: the gather of a merge. One pass over the picks for each buffer, with the
 * kind of value decided once for all of them: where sources alternate row by row, deciding again for every
 * row costs more than the copy.
 *
 * Most picks are of one row or a few, and how many is what no processor foresees. So a pick of up to STEP_ROWS rows
 * copies that many, whatever it holds: the next one overwrites what was too much. Nor does it foresee what is read next where
 * many sources alternate: that is fetched early.
 */
#include "column/column_int.h"

enum { BYTES_AHEAD = 192 }; /* of a source, some dozens of picks before they are copied */

static sl_status offset_overflow(void)
{
    return sl_input("more than 2 GiB of text or elements in one batch");
}

/* What a pass has to look at: whether any of the arrays that are picked from has nulls or a dictionary. */
struct traits {
    bool nulls, dictionary;
};

static sl_status sources_check(const sl_builder *b, const struct pick_list *list, struct traits *out)
{
    *out = (struct traits){0};
    for (size_t i = 0; i < list->source_count; i++) {
        SL_TRY(builder_source_check(b, list->sources[i]));
        out->nulls |= list->sources[i]->validity != NULL;
        out->dictionary |= list->sources[i]->dictionary != NULL;
    }
    return SL_OK;
}

/* ---- fixed width --------------------------------------------------------------------------------------- */

/* Inlined with constant `width` and `step`: a pick of few rows is one copy of constant size. `to` has room for `step` rows more
 * than are picked. */
SL_INLINE void fixed_picks(uint8_t *to, const struct pick_list *list, size_t width, uint32_t step)
{
    for (const struct sl_pick *p = list->picks.items, *end = p + list->picks.count; p < end; p++) {
        const sl_array *src = list->sources[p->source];
        const uint8_t *from = src->values + (size_t)p->first * width;
        sl_prefetch(from, BYTES_AHEAD);
        if (p->count <= step && (int64_t)p->first + step <= src->length)
            memcpy(to, from, step * width);
        else
            memcpy(to, from, p->count * width);
        to += p->count * width;
    }
}

static sl_status picks_fixed(sl_builder *b, const struct pick_list *list)
{
    size_t bytes;
    if (sl_mul_overflows((size_t)list->picks.rows + STEP_ROWS, b->value_bytes, &bytes))
        return sl_nomem();
    SL_TRY(growing_room(&b->values, bytes));
    uint8_t *to = b->values.data + b->values.size;
    b->values.size += (size_t)list->picks.rows * b->value_bytes;
    switch (b->value_bytes) {
    case 4:
        fixed_picks(to, list, 4, STEP_ROWS);
        break;
    case 8:
        fixed_picks(to, list, 8, STEP_ROWS);
        break;
    case 16:
        fixed_picks(to, list, 16, STEP_ROWS);
        break;
    default:
        fixed_picks(to, list, b->value_bytes, 1);
    }
    return SL_OK;
}

/* ---- nested -------------------------------------------------------------------------------------------- */

/* End offsets of lists, beginning at `end`; gives the last one, which may be beyond int32. */
static int64_t list_ends(int32_t *to, int64_t end, const struct pick_list *list)
{
    for (size_t i = 0; i < list->picks.count; i++) {
        const struct sl_pick *p = &list->picks.items[i];
        const int32_t *offsets = list->sources[p->source]->offsets + p->first;
        int64_t distance = end - offsets[0];
        for (uint32_t k = 1; k <= p->count; k++)
            *to++ = (int32_t)(uint32_t)(offsets[k] + distance);
        end = offsets[p->count] + distance;
    }
    return end;
}

/* The picks of the elements that the picked lists hold. */
static struct sl_picks element_picks(struct sl_pick *to, const struct pick_list *list)
{
    struct sl_picks made = {.items = to};
    for (size_t i = 0; i < list->picks.count; i++) {
        const struct sl_pick *p = &list->picks.items[i];
        const int32_t *offsets = list->sources[p->source]->offsets + p->first;
        int32_t elements = offsets[p->count] - offsets[0];
        if (elements > 0)
            to[made.count++] = (struct sl_pick){p->source, (uint32_t)offsets[0], (uint32_t)elements};
        made.rows += elements;
    }
    return made;
}

static sl_status append_child(sl_builder *b, size_t child, const struct pick_list *list,
                              const struct sl_picks *picks)
{
    const sl_array **inner;
    SL_NEW_ARRAY(inner, list->source_count);
    for (size_t i = 0; i < list->source_count; i++)
        inner[i] = list->sources[i]->children[child];
    sl_status status = sl_builder_append_picks(b->children[child], inner, list->source_count, picks);
    sl_free(inner);
    return status;
}

static sl_status picks_lists(sl_builder *b, const struct pick_list *list)
{
    SL_TRY(builder_offsets_room(b, list->picks.rows));
    int32_t *ends = (int32_t *)(void *)(b->offsets.data + b->offsets.size);
    if (list_ends(ends, b->children[0]->length, list) > INT32_MAX)
        return offset_overflow();
    b->offsets.size += (size_t)list->picks.rows * sizeof(int32_t);
    struct sl_pick *elements;
    SL_NEW_ARRAY(elements, list->picks.count);
    struct sl_picks made = element_picks(elements, list);
    sl_status status = append_child(b, 0, list, &made);
    sl_free(elements);
    return status;
}

/* ---- by class of type ---------------------------------------------------------------------------------- */

static sl_status picks_values(sl_builder *b, const struct pick_list *list)
{
    if (b->type->id == SL_STRING || b->type->id == SL_BINARY)
        return picks_text(b, list);
    if (b->value_bytes > 0)
        return picks_fixed(b, list);
    switch (b->type->id) {
    case SL_BOOL:
        return picks_bools(b, list);
    case SL_LIST:
    case SL_MAP:
        return picks_lists(b, list);
    case SL_STRUCT:
        for (size_t i = 0; i < b->child_count; i++)
            SL_TRY(append_child(b, i, list, &list->picks));
        return SL_OK;
    default: /* SL_NULL has no values */
        return SL_OK;
    }
}

/* Dictionaries of anything but text are rare: pick by pick. */
static sl_status one_by_one(sl_builder *b, const struct pick_list *list)
{
    for (size_t i = 0; i < list->picks.count; i++) {
        const struct sl_pick *p = &list->picks.items[i];
        SL_TRY(sl_builder_append_range(b, list->sources[p->source], p->first, p->count));
    }
    return SL_OK;
}

sl_status sl_builder_append_picks(sl_builder *b, const sl_array *const *sources, size_t source_count,
                                  const struct sl_picks *picks)
{
    struct traits t;
    const struct pick_list list = {sources, source_count, *picks};
    if (picks->rows == 0)
        return SL_OK;
    SL_TRY(sources_check(b, &list, &t));
    if (t.dictionary && b->type->id != SL_STRING && b->type->id != SL_BINARY)
        return one_by_one(b, &list);
    if (b->type->id == SL_NULL)
        b->null_count += picks->rows;
    else if (t.nulls)
        SL_TRY(picks_validity(b, &list));
    SL_TRY(picks_values(b, &list));
    b->length += picks->rows;
    return SL_OK;
}
