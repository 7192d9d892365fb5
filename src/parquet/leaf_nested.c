/*
 * Leaves below lists, maps and structs: their levels are kept, a byte each, and values stay dense until assemble.c knows
 * the slots.
 */
#include "parquet/read_int.h"

/* What a batch of a nested leaf may take without the chunk's size having to explain it. */
#define LEVELS_BELIEVED ((size_t)256 << 20)
#define LEVELS_PER_BYTE 4096

static sl_status check_levels(const uint8_t *levels, size_t count, int max)
{
    if (max + 1 >= 1 << parquet_bit_width((uint32_t)max)) /* the width of the levels lets no greater one in */
        return SL_OK;
    for (size_t at = 0; at < count; at += 64)
        if (parquet_levels_mask(levels + at, count - at, max + 1) != 0)
            return sl_corrupt("level where the greatest is %d", max);
    return SL_OK;
}

/* Decodes more levels of the current page. */
static sl_status stage_levels(struct parquet_leaf_reader *r)
{
    size_t n = r->page_left < READ_BLOCK ? (size_t)r->page_left : READ_BLOCK;
    if (r->leaf->max_rep == 0)
        memset(r->stage_rep, 0, n);
    else if (parquet_hybrid_bytes(&r->rep, r->stage_rep, n) != n)
        return sl_corrupt("repetition levels end too early");
    if (r->leaf->max_def == 0)
        memset(r->stage_def, 0, n);
    else if (parquet_hybrid_bytes(&r->def, r->stage_def, n) != n)
        return sl_corrupt("definition levels end too early");
    SL_TRY(check_levels(r->stage_rep, n, r->leaf->max_rep));
    SL_TRY(check_levels(r->stage_def, n, r->leaf->max_def));
    r->stage_at = 0;
    r->stage_count = n;
    r->page_left -= (int64_t)n;
    return SL_OK;
}

/* A few bytes may claim any number of nulls. A batch of several rows is tried again with fewer rows; one row that takes
 * very much more memory than its whole chunk has bytes is not believed. */
static sl_status check_level_count(struct parquet_leaf_reader *r, size_t count)
{
    size_t width = r->leaf->width ? r->leaf->width : 1, bytes;
    if (r->level_max > 0 && count > r->level_max) {
        r->levels_full = true;
        return sl_unsupported("over %zu list elements in one batch", r->level_max);
    }
    if (sl_mul_overflows(count, width, &bytes) ||
        (bytes > LEVELS_BELIEVED && bytes / LEVELS_PER_BYTE > (uint64_t)r->chunk->meta.total_compressed_size))
        return sl_corrupt("row of %zu values in a column chunk of %" PRId64 " bytes", count,
                          r->chunk->meta.total_compressed_size);
    return SL_OK;
}

static sl_status keep_levels(struct parquet_leaf_reader *r, size_t n)
{
    SL_TRY(check_level_count(r, r->level_count + n));
    if (r->level_count + n > r->level_cap) {
        size_t cap = r->level_cap * 2 > r->level_count + n ? r->level_cap * 2 : r->level_count + n;
        uint8_t *def = sl_realloc(r->levels_def, cap);
        if (!def)
            return sl_nomem();
        r->levels_def = def;
        uint8_t *rep = sl_realloc(r->levels_rep, cap);
        if (!rep)
            return sl_nomem();
        r->levels_rep = rep;
        r->level_cap = cap;
    }
    memcpy(r->levels_def + r->level_count, r->stage_def + r->stage_at, n);
    memcpy(r->levels_rep + r->level_count, r->stage_rep + r->stage_at, n);
    r->level_count += n;
    return SL_OK;
}

/* Takes (or drops) the next n staged levels with their values. */
static sl_status consume_levels(struct parquet_leaf_reader *r, size_t n, bool keep)
{
    const uint8_t *def = r->stage_def + r->stage_at;
    size_t used = 0;
    for (size_t at = 0; at < n; at += 64)
        used += (size_t)sl_popcount64(parquet_levels_mask(def + at, n - at, r->leaf->max_def));
    if (keep) {
        SL_TRY(keep_levels(r, n));
        SL_TRY(parquet_leaf_append(r, used));
        r->slots += (int64_t)used;
        r->used += (int64_t)used;
    } else if (r->leaf->output != PARQUET_OUT_NULL) {
        SL_TRY(parquet_values_skip(&r->values, used));
    }
    r->stage_at += n;
    return SL_OK;
}

/* Number of staged levels up to where row number *rows + 1 begins; *rows counts down. Mostly all of them:
 * then they only need counting, which takes no branches. */
static size_t levels_of_rows(struct parquet_leaf_reader *r, int64_t *rows)
{
    size_t at = r->stage_at, begun = r->stage_count - at;
    int64_t left = *rows;
    for (size_t i = at; i < r->stage_count && r->leaf->max_rep > 0; i += 64)
        begun -= (size_t)sl_popcount64(parquet_levels_mask(r->stage_rep + i, r->stage_count - i, 1));
    if ((int64_t)begun <= left) {
        *rows = left - (int64_t)begun;
        return r->stage_count - at;
    }
    for (; r->stage_rep[at] != 0 || left > 0; at++)
        left -= r->stage_rep[at] == 0;
    *rows = 0;
    return at - r->stage_at;
}

/* A row ends where the next begins, so the end of the last one is known only once the next level was seen: it
 * may be on the next page. */
sl_status parquet_leaf_read_nested(struct parquet_leaf_reader *r, int64_t rows, bool keep)
{
    if (rows == 0)
        return SL_OK;
    for (;;) {
        if (r->stage_at == r->stage_count) {
            if (r->page_left == 0) {
                bool found;
                int64_t whole = !keep && rows > 0 ? rows : 0;
                if (r->leaf->max_rep == 0 && rows == 0)
                    return SL_OK;
                r->inside_row = r->inside_row && r->leaf->max_rep > 0;
                SL_TRY(parquet_leaf_next_page(r, whole > 0 ? &whole : NULL, &found));
                if (!keep && rows > 0)
                    rows = whole;
                if (!found)
                    return rows == 0 ? SL_OK : parquet_chunk_too_short();
                if (r->page_left == 0) /* all rows were on pages passed over */
                    return SL_OK;
            }
            SL_TRY(stage_levels(r));
        }
        if (!r->inside_row && r->stage_rep[r->stage_at] != 0)
            return sl_corrupt("first level of a row is a repetition");
        size_t n = levels_of_rows(r, &rows);
        SL_TRY(consume_levels(r, n, keep));
        r->inside_row = true;
        if (r->stage_at < r->stage_count) { /* the next level begins a row */
            r->inside_row = false;
            return SL_OK;
        }
    }
}
