/*
 * Text columns of a result that stay encoded: where every source has a dictionary, the result has one that joins them, and a
 * row costs four bytes instead of its text. Compactions read dictionaries and write dictionaries; the writer looks at each
 * entry once, as long as the joined dictionary stays the same array.
 */
#include "merge/merge_int.h"

enum {
    PARTS_MOST = 256,          /* dictionaries joined; more are not worth the search */
    ENTRIES_MOST = 256 * 1024, /* of them together */
    ENTRIES_BYTES_MOST = 8 << 20,
    STEP_ROWS = 4, /* copied at once, however few are picked: the next ones overwrite what was too much */
};

/* A source's dictionary and where its entries begin in the joined one. */
struct part {
    sl_array *dictionary;
    int32_t first;
};
struct joined {
    struct part *parts;
    size_t part_count, part_cap;
    sl_builder *entries;  /* while it grows */
    sl_array *dictionary; /* when it was handed out and has not grown since; then `entries` is empty */
    int64_t entry_count;
    bool given_up;                 /* too many entries: the column is copied as text from now on */
    bool plain;                    /* this batch has rows as text */
    sl_buffer *indexes, *validity; /* of the batch; validity NULL: no nulls so far */
    int64_t rows, nulls, cap;
};

sl_status joined_new(const sl_type *type, int64_t batch_rows, struct joined **out)
{
    struct joined *j;
    SL_NEW(j);
    j->cap = batch_rows;
    sl_status status = sl_builder_new(type, &j->entries);
    if (status != SL_OK) {
        sl_free(j);
        return status;
    }
    *out = j;
    return SL_OK;
}

static void drop_parts(struct joined *j)
{
    for (size_t i = 0; i < j->part_count; i++)
        sl_array_unref(j->parts[i].dictionary);
    j->part_count = 0;
}

static void drop_rows(struct joined *j)
{
    sl_buffer_unref(j->indexes);
    sl_buffer_unref(j->validity);
    j->indexes = j->validity = NULL;
    j->rows = j->nulls = 0;
}

void joined_free(struct joined *j)
{
    if (!j)
        return;
    drop_rows(j);
    drop_parts(j);
    sl_free(j->parts);
    sl_builder_free(j->entries);
    sl_array_unref(j->dictionary);
    sl_free(j);
}

/* ---- the joined dictionary ----------------------------------------------------------------------------- */

static const struct part *find_part(const struct joined *j, const sl_array *dictionary)
{
    for (size_t i = 0; i < j->part_count; i++)
        if (j->parts[i].dictionary == dictionary)
            return &j->parts[i];
    return NULL;
}

/* Entries that batches point into may not move: only between batches one may start anew. */
static sl_status start_anew(struct joined *j)
{
    drop_parts(j);
    sl_array_unref(j->dictionary);
    j->dictionary = NULL;
    sl_array *dropped;
    SL_TRY(sl_builder_finish(j->entries, &dropped));
    sl_array_unref(dropped);
    j->entry_count = 0;
    return SL_OK;
}

static bool is_full(const struct joined *j, const sl_array *more)
{
    return j->part_count >= PARTS_MOST || j->entry_count + more->length > ENTRIES_MOST ||
           sl_builder_bytes_used(j->entries) + (j->dictionary ? sl_array_bytes(j->dictionary) : 0) +
                   sl_array_bytes(more) >
               ENTRIES_BYTES_MOST;
}

static sl_status add_part(struct joined *j, sl_array *dictionary)
{
    SL_GROW(j->parts, j->part_count, j->part_cap, 16);
    if (j->dictionary) { /* what was handed out stays as it is */
        SL_TRY(sl_builder_append_range(j->entries, j->dictionary, 0, j->dictionary->length));
        sl_array_unref(j->dictionary);
        j->dictionary = NULL;
    }
    SL_TRY(sl_builder_append_range(j->entries, dictionary, 0, dictionary->length));
    j->parts[j->part_count++] = (struct part){sl_array_ref(dictionary), (int32_t)j->entry_count};
    j->entry_count += dictionary->length;
    return SL_OK;
}

/* Makes all sources' dictionaries parts; *possible false: they cannot be. */
static sl_status join_sources(struct joined *j, const sl_array *const *sources, size_t count, bool *possible)
{
    *possible = false;
    for (size_t i = 0; i < count; i++)
        if (!sources[i]->dictionary)
            return SL_OK;
    for (size_t i = 0; i < count; i++) {
        sl_array *dictionary = sources[i]->dictionary;
        if (find_part(j, dictionary))
            continue;
        if (is_full(j, dictionary) && j->rows == 0 && i == 0)
            SL_TRY(start_anew(j));
        if (is_full(j, dictionary)) {
            j->given_up = j->rows > 0 || i > 0 || j->part_count == 0;
            return SL_OK;
        }
        SL_TRY(add_part(j, dictionary));
    }
    *possible = true;
    return SL_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static sl_status reserve_rows(struct joined *j)
{
    size_t bytes;
    if (j->indexes)
        return SL_OK;
    if (sl_mul_overflows((size_t)j->cap + STEP_ROWS, sizeof(int32_t), &bytes))
        return sl_nomem();
    return sl_buffer_new(bytes, &j->indexes);
}

static sl_status note_null(struct joined *j, int64_t row)
{
    if (!j->validity) {
        SL_TRY(sl_buffer_new(bitmap_bytes(j->cap), &j->validity));
        memset(sl_buffer_data(j->validity), 0xff, bitmap_bytes(j->cap));
    }
    bit_clear(sl_buffer_data(j->validity), row);
    j->nulls++;
    return SL_OK;
}

SL_INLINE void append_valid(uint8_t *to, const sl_array *src, int32_t first_entry, const struct sl_pick *p)
{
    const uint8_t *from = src->values + (size_t)p->first * sizeof(int32_t);
    if (p->count <= STEP_ROWS && (int64_t)p->first + STEP_ROWS <= src->length) {
        uint32_t step[STEP_ROWS];
        memcpy(step, from, sizeof step);
        for (int k = 0; k < STEP_ROWS; k++)
            step[k] += (uint32_t)first_entry;
        memcpy(to, step, sizeof step);
    } else {
        for (size_t k = 0; k < (size_t)p->count * sizeof(int32_t); k += sizeof(int32_t))
            store_le32(to + k, load_le32(from + k) + (uint32_t)first_entry);
    }
}

static sl_status append_nullable(struct joined *j, uint8_t *to, const sl_array *src, int32_t first_entry,
                                 const struct sl_pick *p)
{
    for (uint32_t k = 0; k < p->count; k++, to += sizeof(int32_t)) {
        int64_t row = (int64_t)p->first + k;
        bool valid = sl_is_valid(src, row);
        store_le32(to, valid ? (uint32_t)(sl_i32_at(src, row) + first_entry) : 0);
        if (SL_UNLIKELY(!valid))
            SL_TRY(note_null(j, j->rows + k));
    }
    return SL_OK;
}

static sl_status append_rows(struct joined *j, const sl_array *const *sources, const int32_t *firsts,
                             const struct sl_picks *picks)
{
    SL_TRY(reserve_rows(j));
    uint8_t *indexes = sl_buffer_data(j->indexes);
    for (const struct sl_pick *p = picks->items, *end = p + picks->count; p < end; p++) {
        uint8_t *to = indexes + (size_t)j->rows * sizeof(int32_t);
        if (sources[p->source]->validity)
            SL_TRY(append_nullable(j, to, sources[p->source], firsts[p->source], p));
        else
            append_valid(to, sources[p->source], firsts[p->source], p);
        j->rows += p->count;
    }
    return SL_OK;
}

static sl_status append_picks(struct joined *j, const sl_array *const *sources, size_t source_count,
                              const struct sl_picks *picks)
{
    int32_t few[16], *firsts = few;
    if (source_count > sizeof few / sizeof *few)
        SL_NEW_ARRAY(firsts, source_count);
    for (size_t i = 0; i < source_count; i++)
        firsts[i] = find_part(j, sources[i]->dictionary)->first;
    sl_status status = append_rows(j, sources, firsts, picks);
    if (firsts != few)
        sl_free(firsts);
    return status;
}

/* The batch's rows as an array with the joined dictionary. */
static sl_status take_array(struct joined *j, sl_array **out)
{
    if (!j->dictionary)
        SL_TRY(sl_builder_finish(j->entries, &j->dictionary));
    sl_buffer *indexes = j->indexes, *validity = j->validity;
    int64_t rows = j->rows, nulls = j->nulls;
    j->indexes = j->validity = NULL;
    drop_rows(j);
    return sl_array_new(j->dictionary->type, rows, nulls, validity, indexes, NULL, NULL, 0,
                        sl_array_ref(j->dictionary), out);
}

/* What was joined so far of the batch. */
static sl_status rows_to_text(struct joined *j, sl_builder *texts)
{
    sl_array *encoded;
    SL_TRY(take_array(j, &encoded));
    sl_status status = sl_builder_append_range(texts, encoded, 0, encoded->length);
    sl_array_unref(encoded);
    return status;
}

/* This batch goes on with text; and where that is for good, nobody needs what was joined. */
static sl_status become_plain(struct joined *j, sl_builder *texts)
{
    j->plain = true;
    if (j->rows > 0)
        SL_TRY(rows_to_text(j, texts));
    return j->given_up && j->part_count > 0 ? start_anew(j) : SL_OK;
}

sl_status joined_append(struct joined *j, sl_builder *texts, const sl_array *const *sources,
                        size_t source_count, const struct sl_picks *picks)
{
    bool possible = false;
    if (!j->plain && !j->given_up)
        SL_TRY(join_sources(j, sources, source_count, &possible));
    if (possible)
        return append_picks(j, sources, source_count, picks);
    if (!j->plain)
        SL_TRY(become_plain(j, texts));
    return sl_builder_append_picks(texts, sources, source_count, picks);
}

sl_status joined_finish(struct joined *j, sl_builder *texts, sl_array **out)
{
    bool plain = j->plain || j->rows == 0;
    j->plain = false;
    return plain ? sl_builder_finish(texts, out) : take_array(j, out);
}
