/*
 * Definition and repetition levels of nested columns (Dremel), made breadth first.
 *
 * The state is one entry per level that will be written: its definition and repetition so far and the row it
 * stands for in the current array, or -1 when the path already ended above (null, or empty list). Each step
 * of the leaf's path rewrites the whole state in one loop:
 *
 *     optional   valid: definition + 1          null: ends
 *     repeated   n elements: n entries, definition + 1; the first keeps its repetition, the others get the
 * list's no element: ends member     the same rows of a child array
 *
 * Flat columns do not come here: their levels are the validity bitmap (leaf_rows.c).
 */
#include "parquet/write_int.h"

static sl_status level_buffer_reserve(struct level_buffer *b, size_t count)
{
    if (count <= b->capacity)
        return SL_OK;
    size_t capacity = b->capacity ? b->capacity : WRITE_BLOCK;
    while (capacity < count)
        if (sl_mul_overflows(capacity, 2, &capacity))
            return sl_nomem();
    uint8_t *definition = sl_realloc_array(b->definition, capacity, 1);
    if (!definition)
        return sl_nomem();
    b->definition = definition;
    uint8_t *repetition = sl_realloc_array(b->repetition, capacity, 1);
    if (!repetition)
        return sl_nomem();
    b->repetition = repetition;
    int32_t *slots = sl_realloc_array(b->slots, capacity, sizeof *slots);
    if (!slots)
        return sl_nomem();
    b->slots = slots;
    b->capacity = capacity;
    return SL_OK;
}

static void step_optional(struct level_buffer *b, const uint8_t *validity)
{
    if (!validity) {
        for (size_t i = 0; i < b->count; i++)
            b->definition[i] = (uint8_t)(b->definition[i] + (b->slots[i] >= 0));
        return;
    }
    for (size_t i = 0; i < b->count; i++) {
        int32_t slot = b->slots[i];
        if (slot < 0)
            continue;
        if (bit_get(validity, slot))
            b->definition[i]++;
        else
            b->slots[i] = -1;
    }
}

/* The file's row of entry i: one row starts at each repetition 0. */
static int64_t row_of_entry(const struct level_buffer *b, size_t entry, int64_t first_row)
{
    int64_t row = first_row - 1;
    for (size_t i = 0; i <= entry; i++)
        row += b->repetition[i] == 0;
    return row;
}

static sl_status step_required(const struct level_buffer *b, const uint8_t *validity,
                               const struct write_leaf *leaf, const struct level_step *step, int64_t file_row)
{
    if (!validity)
        return SL_OK;
    for (size_t i = 0; i < b->count; i++) {
        if (b->slots[i] < 0 || bit_get(validity, b->slots[i]))
            continue;
        int64_t row = row_of_entry(b, i, file_row);
        if (step->old_list_element)
            return sl_hint(sl_input("column %s, row %" PRId64 ": two-level lists cannot hold a null element",
                                    leaf->name, row),
                           "write three-level lists");
        return sl_input("column %s, row %" PRId64 ": null in a required field", leaf->name, row);
    }
    return SL_OK;
}

static sl_status step_repeated(const struct level_buffer *from, struct level_buffer *to,
                               const int32_t *offsets, uint8_t repetition)
{
    size_t count = 0;
    for (size_t i = 0; i < from->count; i++) {
        int32_t slot = from->slots[i];
        int32_t elements = slot < 0 ? 0 : offsets[slot + 1] - offsets[slot];
        count += elements > 0 ? (size_t)elements : 1;
    }
    SL_TRY(level_buffer_reserve(to, count));
    size_t n = 0;
    for (size_t i = 0; i < from->count; i++) {
        int32_t slot = from->slots[i];
        int32_t elements = slot < 0 ? 0 : offsets[slot + 1] - offsets[slot];
        to->repetition[n] = from->repetition[i];
        if (elements <= 0) {
            to->definition[n] = from->definition[i];
            to->slots[n++] = -1;
            continue;
        }
        uint8_t definition = (uint8_t)(from->definition[i] + 1);
        for (int32_t k = 0; k < elements; k++) {
            to->definition[n + (size_t)k] = definition;
            to->slots[n + (size_t)k] = offsets[slot] + k;
        }
        if (elements > 1)
            memset(to->repetition + n + 1, repetition, (size_t)elements - 1);
        n += (size_t)elements;
    }
    to->count = n;
    return SL_OK;
}

static void compact_slots(struct write_levels *levels)
{
    int32_t *slots = levels->now.slots;
    size_t n = 0;
    for (size_t i = 0; i < levels->now.count; i++) {
        slots[n] = slots[i];
        n += slots[i] >= 0;
    }
    levels->value_count = n;
}

sl_status levels_build(struct write_levels *levels, const struct write_leaf *leaf, const sl_array *column,
                       int64_t from, int64_t count, int64_t file_row)
{
    if (from + count > INT32_MAX)
        return sl_input("column %s: more than 2^31 rows in one batch", leaf->name);
    SL_TRY(level_buffer_reserve(&levels->now, (size_t)count));
    memset(levels->now.definition, 0, (size_t)count);
    memset(levels->now.repetition, 0, (size_t)count);
    for (int64_t i = 0; i < count; i++)
        levels->now.slots[i] = (int32_t)(from + i);
    levels->now.count = (size_t)count;
    const sl_array *array = column;
    for (size_t i = 0; i < leaf->step_count; i++) {
        const struct level_step *step = &leaf->steps[i];
        switch (step->kind) {
        case STEP_OPTIONAL:
            step_optional(&levels->now, array->validity);
            break;
        case STEP_REQUIRED:
            SL_TRY(step_required(&levels->now, array->validity, leaf, step, file_row));
            break;
        case STEP_REPEATED: {
            SL_TRY(step_repeated(&levels->now, &levels->next, array->offsets, step->repetition_level));
            struct level_buffer swap = levels->now;
            levels->now = levels->next;
            levels->next = swap;
            array = array->children[0];
            break;
        }
        case STEP_MEMBER:
            array = array->children[step->member];
            break;
        }
    }
    levels->array = array;
    compact_slots(levels);
    return SL_OK;
}

void levels_span(const struct write_leaf *leaf, const sl_array *column, int64_t from, int64_t count,
                 const sl_array **array, int64_t *first, int64_t *values)
{
    const sl_array *a = column;
    int64_t end = from + count;
    for (size_t i = 0; i < leaf->step_count; i++) {
        const struct level_step *step = &leaf->steps[i];
        if (step->kind == STEP_REPEATED) {
            if (from < end) { /* an empty array may have no offsets */
                end = a->offsets[end];
                from = a->offsets[from];
            }
            a = a->children[0];
        } else if (step->kind == STEP_MEMBER) {
            a = a->children[step->member];
        }
    }
    *array = a;
    *first = from;
    *values = end - from;
}

void levels_free(struct write_levels *levels)
{
    struct level_buffer *buffers[] = {&levels->now, &levels->next};
    for (size_t i = 0; i < 2; i++) {
        sl_free(buffers[i]->definition);
        sl_free(buffers[i]->repetition);
        sl_free(buffers[i]->slots);
        *buffers[i] = (struct level_buffer){0};
    }
}
