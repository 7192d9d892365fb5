/*
 * Appending rows of an array to a builder: the inner loops of merges, sorts, filters and copies.
 *
 * Each append first decides by class of type (fixed width, bits, text, list, struct) and then runs one loop
 * over plain memory. Validity and values are separate steps. Both ranges and row lists of an array with a
 * dictionary become row lists of the dictionary, a chunk at a time; a null has no place in the dictionary, so
 * its row is a HOLE.
 */
#include "column/column_int.h"

#define HOLE UINT32_MAX
enum { CHUNK_ROWS = 1024 };

/* The offsets that will follow the last one. */
static int32_t *offsets_end(sl_builder *b) { return (int32_t *)(void *)(b->offsets.data + b->offsets.size); }

static bool source_fits(const sl_builder *b, const sl_array *src)
{
    const sl_type *to = b->type, *from = src->type;
    return to == from ||
           (to->id == from->id && b->value_bytes == sl_type_value_bytes(from) && to->unit == from->unit &&
            to->scale == from->scale && b->child_count == from->field_count);
}

static sl_status source_mismatch(const sl_builder *b, const sl_array *src)
{
    char *to = NULL, *from = NULL;
    sl_status status = SL_OK;
    SL_GO(sl_type_text(b->type, &to));
    SL_GO(sl_type_text(src->type, &from));
    status = sl_internal("rows of %s appended to a builder of %s", from, to);
done:
    sl_free(to);
    sl_free(from);
    return status;
}

sl_status builder_source_check(const sl_builder *b, const sl_array *src)
{
    return source_fits(b, src) ? SL_OK : source_mismatch(b, src);
}

/* ---- fixed width --------------------------------------------------------------------------------------- */

static sl_status fixed_room(sl_builder *b, size_t count, uint8_t **out)
{
    size_t bytes;
    if (sl_mul_overflows(count, b->value_bytes, &bytes))
        return sl_nomem();
    SL_TRY(growing_room(&b->values, bytes));
    *out = b->values.data + b->values.size;
    b->values.size += bytes;
    return SL_OK;
}

static sl_status fixed_range(sl_builder *b, const sl_array *src, int64_t from, int64_t count)
{
    uint8_t *to = NULL;
    SL_TRY(fixed_room(b, (size_t)count, &to));
    memcpy(to, src->values + (size_t)from * b->value_bytes, (size_t)count * b->value_bytes);
    return SL_OK;
}

/* Inlined with constant `width` and `holes`, so that each copy is one load and one store. */
SL_INLINE void fixed_pick(uint8_t *to, const uint8_t *from, const uint32_t *rows, size_t count, size_t width,
                          bool holes)
{
    for (size_t k = 0; k < count; k++) {
        if (holes && rows[k] == HOLE)
            memset(to + k * width, 0, width);
        else
            memcpy(to + k * width, from + (size_t)rows[k] * width, width);
    }
}

SL_INLINE void fixed_pick_by_width(uint8_t *to, const uint8_t *from, const uint32_t *rows, size_t count,
                                   size_t width, bool holes)
{
    switch (width) {
    case 1:
        fixed_pick(to, from, rows, count, 1, holes);
        break;
    case 2:
        fixed_pick(to, from, rows, count, 2, holes);
        break;
    case 4:
        fixed_pick(to, from, rows, count, 4, holes);
        break;
    case 8:
        fixed_pick(to, from, rows, count, 8, holes);
        break;
    case 16:
        fixed_pick(to, from, rows, count, 16, holes);
        break;
    default:
        fixed_pick(to, from, rows, count, width, holes);
    }
}

static sl_status fixed_rows(sl_builder *b, const sl_array *src, const uint32_t *rows, size_t count,
                            bool holes)
{
    uint8_t *to = NULL;
    SL_TRY(fixed_room(b, count, &to));
    if (holes)
        fixed_pick_by_width(to, src->values, rows, count, b->value_bytes, true);
    else
        fixed_pick_by_width(to, src->values, rows, count, b->value_bytes, false);
    return SL_OK;
}

/* ---- booleans ------------------------------------------------------------------------------------------ */

static sl_status bool_range(sl_builder *b, int64_t at, const sl_array *src, int64_t from, int64_t count)
{
    SL_TRY(builder_bits_room(b, at, count));
    column_bits_copy(b->values.data, at, src->values, from, count);
    return SL_OK;
}

static sl_status bool_rows(sl_builder *b, int64_t at, const sl_array *src, const uint32_t *rows, size_t count,
                           bool holes)
{
    SL_TRY(builder_bits_room(b, at, (int64_t)count));
    if (!holes) {
        column_bits_gather(b->values.data, at, src->values, rows, count);
        return SL_OK;
    }
    for (size_t k = 0; k < count; k++)
        if (rows[k] != HOLE && bit_get(src->values, rows[k]))
            bit_set(b->values.data, at + (int64_t)k);
        else
            bit_clear(b->values.data, at + (int64_t)k);
    return SL_OK;
}

/* ---- strings and binaries ------------------------------------------------------------------------------ */

/* Offsets of a range, all moved by the same distance. */
static void offsets_rebase(int32_t *to, const int32_t *from, int64_t count, int32_t distance)
{
    for (int64_t k = 0; k < count; k++)
        to[k] = from[k] + distance;
}

static sl_status text_range(sl_builder *b, const sl_array *src, int64_t from, int64_t count)
{
    int32_t first = src->offsets[from];
    size_t bytes = (size_t)(src->offsets[from + count] - first);
    SL_TRY(builder_text_fits(b, bytes));
    SL_TRY(growing_room(&b->values, bytes));
    SL_TRY(builder_offsets_room(b, count));
    if (bytes > 0)
        memcpy(b->values.data + b->values.size, src->values + first, bytes);
    offsets_rebase(offsets_end(b), src->offsets + from + 1, count, (int32_t)b->values.size - first);
    b->values.size += bytes;
    b->offsets.size += (size_t)count * sizeof(int32_t);
    return SL_OK;
}

/* Writes the end offsets of the picked texts, which start at `end`, and gives the last one: it may be beyond
 * int32. */
SL_INLINE int64_t text_pick_offsets(int32_t *to, const int32_t *offsets, const uint32_t *rows, size_t count,
                                    int64_t end, bool holes)
{
    for (size_t k = 0; k < count; k++) {
        if (!holes || rows[k] != HOLE)
            end += offsets[(size_t)rows[k] + 1] - offsets[rows[k]];
        to[k] = (int32_t)(uint32_t)end;
    }
    return end;
}

enum { SHORT_TEXT = 16 };

/* Short texts, most keys and codes among them, are copied as one block of constant size where source and
 * destination have that many bytes: what is written too much is overwritten by the next text. */
SL_INLINE void text_pick_bytes(uint8_t *to, const sl_array *src, const uint32_t *rows, size_t count,
                               bool holes)
{
    const int32_t *offsets = src->offsets;
    int64_t block_last = (int64_t)offsets[src->length] - SHORT_TEXT;
    for (size_t k = 0; k < count; k++) {
        if (holes && rows[k] == HOLE)
            continue;
        int32_t start = offsets[rows[k]];
        size_t len = (size_t)(offsets[(size_t)rows[k] + 1] - start);
        if (len <= SHORT_TEXT && start <= block_last)
            memcpy(to, src->values + start, SHORT_TEXT);
        else
            memcpy(to, src->values + start, len);
        to += len;
    }
}

/* Offsets are written before the bytes are known to fit; a failure leaves a builder that may only be freed.
 */
static sl_status text_rows(sl_builder *b, const sl_array *src, const uint32_t *rows, size_t count, bool holes)
{
    SL_TRY(builder_offsets_room(b, (int64_t)count));
    int64_t begin = (int64_t)b->values.size, end;
    if (holes)
        end = text_pick_offsets(offsets_end(b), src->offsets, rows, count, begin, true);
    else
        end = text_pick_offsets(offsets_end(b), src->offsets, rows, count, begin, false);
    size_t bytes = (size_t)(end - begin);
    SL_TRY(builder_text_fits(b, bytes));
    SL_TRY(growing_room(&b->values, bytes + SHORT_TEXT));
    if (bytes > 0 && holes)
        text_pick_bytes(b->values.data + b->values.size, src, rows, count, true);
    else if (bytes > 0)
        text_pick_bytes(b->values.data + b->values.size, src, rows, count, false);
    b->values.size += bytes;
    b->offsets.size += count * sizeof(int32_t);
    return SL_OK;
}

/* ---- lists and maps ------------------------------------------------------------------------------------ */

static sl_status elements_fit(const sl_builder *child, int64_t more)
{
    if (more > INT32_MAX - child->length)
        return sl_input("more than %d elements of lists or maps in one batch", INT32_MAX);
    return SL_OK;
}

static sl_status list_range(sl_builder *b, const sl_array *src, int64_t from, int64_t count)
{
    sl_builder *child = b->children[0];
    int32_t first = src->offsets[from], elements = src->offsets[from + count] - first;
    SL_TRY(elements_fit(child, elements));
    SL_TRY(builder_offsets_room(b, count));
    offsets_rebase(offsets_end(b), src->offsets + from + 1, count, (int32_t)child->length - first);
    b->offsets.size += (size_t)count * sizeof(int32_t);
    return sl_builder_append_range(child, src->children[0], first, elements);
}

/* The rows of the child that the picked lists hold. */
static void list_expand(const int32_t *offsets, const uint32_t *rows, size_t count, uint32_t *to)
{
    for (size_t k = 0; k < count; k++)
        for (int32_t i = offsets[rows[k]]; i < offsets[(size_t)rows[k] + 1]; i++)
            *to++ = (uint32_t)i;
}

static sl_status list_rows(sl_builder *b, const sl_array *src, const uint32_t *rows, size_t count)
{
    sl_builder *child = b->children[0];
    SL_TRY(builder_offsets_room(b, (int64_t)count));
    int64_t begin = child->length,
            end = text_pick_offsets(offsets_end(b), src->offsets, rows, count, begin, false);
    SL_TRY(elements_fit(child, end - begin));
    b->offsets.size += count * sizeof(int32_t);
    if (end == begin)
        return SL_OK;
    size_t elements = (size_t)(end - begin);
    uint32_t *child_rows = sl_malloc(elements * sizeof *child_rows);
    if (!child_rows)
        return sl_nomem();
    list_expand(src->offsets, rows, count, child_rows);
    sl_status status = sl_builder_append_rows(child, src->children[0], child_rows, elements);
    sl_free(child_rows);
    return status;
}

/* ---- by class of type ---------------------------------------------------------------------------------- */

static sl_status values_range(sl_builder *b, const sl_array *src, int64_t from, int64_t count)
{
    if (b->value_bytes > 0)
        return fixed_range(b, src, from, count);
    switch (b->type->id) {
    case SL_BOOL:
        return bool_range(b, b->length, src, from, count);
    case SL_STRING:
    case SL_BINARY:
        return text_range(b, src, from, count);
    case SL_LIST:
    case SL_MAP:
        return list_range(b, src, from, count);
    case SL_STRUCT:
        for (size_t i = 0; i < b->child_count; i++)
            SL_TRY(sl_builder_append_range(b->children[i], src->children[i], from, count));
        return SL_OK;
    default: /* SL_NULL has no values */
        return SL_OK;
    }
}

static sl_status values_rows(sl_builder *b, const sl_array *src, const uint32_t *rows, size_t count)
{
    if (b->value_bytes > 0)
        return fixed_rows(b, src, rows, count, false);
    switch (b->type->id) {
    case SL_BOOL:
        return bool_rows(b, b->length, src, rows, count, false);
    case SL_STRING:
    case SL_BINARY:
        return text_rows(b, src, rows, count, false);
    case SL_LIST:
    case SL_MAP:
        return list_rows(b, src, rows, count);
    case SL_STRUCT:
        for (size_t i = 0; i < b->child_count; i++)
            SL_TRY(sl_builder_append_rows(b->children[i], src->children[i], rows, count));
        return SL_OK;
    default:
        return SL_OK;
    }
}

/* ---- dictionaries -------------------------------------------------------------------------------------- */

/* One chunk of rows of the dictionary; sl_array_new lets no nested type have one. */
static sl_status dictionary_pick(sl_builder *b, int64_t at, const sl_array *dictionary, const uint32_t *rows,
                                 size_t count)
{
    if (b->value_bytes > 0)
        return fixed_rows(b, dictionary, rows, count, true);
    if (b->type->id == SL_BOOL)
        return bool_rows(b, at, dictionary, rows, count, true);
    return text_rows(b, dictionary, rows, count, true);
}

/* The place in the dictionary of row `row`. */
SL_INLINE uint32_t dictionary_row(const sl_array *src, int64_t row)
{
    return sl_is_valid(src, row) ? (uint32_t)sl_i32_at(src, row) : HOLE;
}

/* rows NULL: the range that begins at `from`. */
static sl_status dictionary_values(sl_builder *b, const sl_array *src, int64_t from, const uint32_t *rows,
                                   size_t count)
{
    uint32_t picked[CHUNK_ROWS];
    for (size_t done = 0; done < count;) {
        size_t n = count - done < CHUNK_ROWS ? count - done : CHUNK_ROWS;
        for (size_t k = 0; k < n; k++)
            picked[k] = dictionary_row(src, rows ? (int64_t)rows[done + k] : from + (int64_t)(done + k));
        SL_TRY(dictionary_pick(b, b->length + (int64_t)done, src->dictionary, picked, n));
        done += n;
    }
    return SL_OK;
}

/* A range is one pick: a constant is written without a look at its rows. */
static sl_status dictionary_range(sl_builder *b, const sl_array *src, int64_t from, int64_t count)
{
    if (b->value_bytes > 0 || b->type->id == SL_BOOL || from + count > UINT32_MAX)
        return dictionary_values(b, src, from, NULL, (size_t)count);
    const struct sl_pick range = {0, (uint32_t)from, (uint32_t)count};
    return picks_text(b, &(struct pick_list){&src, 1, {&range, 1, count}});
}

/* ---- the two entries ----------------------------------------------------------------------------------- */

sl_status sl_builder_append_range(sl_builder *b, const sl_array *src, int64_t from, int64_t count)
{
    if (count == 0)
        return SL_OK;
    SL_TRY(builder_source_check(b, src));
    if (from < 0 || count < 0 || count > src->length - from)
        return sl_internal("rows %" PRId64 " + %" PRId64 " of an array of %" PRId64, from, count,
                           src->length);
    if (b->type->id == SL_NULL) {
        b->null_count += count;
    } else if (src->validity) {
        SL_TRY(builder_validity_cover(b, b->length + count));
        b->null_count += count - column_bits_copy(b->validity.data, b->length, src->validity, from, count);
    }
    if (src->dictionary)
        SL_TRY(dictionary_range(b, src, from, count));
    else
        SL_TRY(values_range(b, src, from, count));
    b->length += count;
    return SL_OK;
}

sl_status sl_builder_append_rows(sl_builder *b, const sl_array *src, const uint32_t *rows, size_t count)
{
    if (count == 0)
        return SL_OK;
    SL_TRY(builder_source_check(b, src));
    int64_t added = (int64_t)count;
    if (b->type->id == SL_NULL) {
        b->null_count += added;
    } else if (src->validity) {
        SL_TRY(builder_validity_cover(b, b->length + added));
        b->null_count += added - column_bits_gather(b->validity.data, b->length, src->validity, rows, count);
    }
    if (src->dictionary)
        SL_TRY(dictionary_values(b, src, 0, rows, count));
    else
        SL_TRY(values_rows(b, src, rows, count));
    b->length += added;
    return SL_OK;
}
