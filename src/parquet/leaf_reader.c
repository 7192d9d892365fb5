/*
 * One leaf of a row group, front to back.
 *
 * Flat columns: definition levels become the validity bitmap, values go to the front of the place that the
 * page's rows have in the array and are then spread over the set bits. Nested leaves: leaf_nested.c.
 */
#include "parquet/read_int.h"

void parquet_leaf_reader_init(struct parquet_leaf_reader *r, struct sl_parquet *parquet,
                              const struct parquet_leaf *leaf, bool keep_dictionary,
                              sl_parquet_memory *memory)
{
    memset(r, 0, sizeof *r);
    r->parquet = parquet;
    r->leaf = leaf;
    r->memory = r->strings.memory = r->pages.memory = memory;
    /* PARQUET-246: their DELTA_BYTE_ARRAY pages begin with a prefix of the last value of the page before. */
    r->values.carry_over = parquet_written_before(parquet->meta.created_by, "parquet-mr", 1, 8);
    r->keep_dictionary = keep_dictionary && leaf->output == PARQUET_OUT_BYTES && leaf->flat;
}

static void dictionary_clear(struct parquet_dictionary *d)
{
    parquet_block_free(d->values);
    if (!d->array)
        parquet_strings_free(&d->strings);
    sl_array_unref(d->array);
    *d = (struct parquet_dictionary){0};
}

void parquet_leaf_reader_free(struct parquet_leaf_reader *r)
{
    parquet_pages_close(&r->pages);
    dictionary_clear(&r->dictionary);
    sl_arena_free(r->index_arena);
    parquet_values_free(&r->values);
    parquet_block_free(r->validity);
    parquet_block_free(r->fixed);
    parquet_strings_free(&r->strings);
    sl_free(r->levels_def);
    sl_free(r->levels_rep);
    sl_free(r->scratch_indexes);
    sl_free(r->scratch);
    parquet_strings_free(&r->scratch_strings);
}

/* ---- page index ---------------------------------------------------------------------------------------- */

static sl_status load_index(struct parquet_leaf_reader *r)
{
    r->index_tried = true;
    if (r->index_arena)
        sl_arena_reset(r->index_arena);
    else
        SL_TRY(sl_arena_new(&r->index_arena));
    return parquet_offset_index_load(r->parquet, r->group, (size_t)(r->leaf - r->parquet->schema.leaves),
                                     r->index_arena, &r->index);
}

/* ---- flat leaves --------------------------------------------------------------------------------------- */

static sl_status take_flat_page(struct parquet_leaf_reader *r, size_t take)
{
    size_t from = (size_t)r->slots, used = take;
    if (r->leaf->max_def > 0) {
        SL_TRY(parquet_fixed_reserve(r->memory, &r->validity, &r->validity_cap, bitmap_bytes((int64_t)from),
                                     bitmap_bytes((int64_t)(from + take))));
        if (parquet_hybrid_bits(&r->def, r->validity, from, take) != take)
            return sl_corrupt("definition levels end too early");
        used = parquet_bits_count(r->validity, from, take);
    }
    SL_TRY(parquet_leaf_append(r, used));
    if (used < take) {
        if (r->leaf->output == PARQUET_OUT_BYTES && !r->as_indexes) {
            SL_TRY(parquet_strings_reserve(&r->strings, take - used));
            parquet_spread_offsets(r->strings.offsets + from, r->validity, from, take, used);
            r->strings.count = from + take;
        } else if (r->leaf->output != PARQUET_OUT_NULL) {
            size_t width = r->as_indexes ? sizeof(uint32_t) : r->leaf->width;
            SL_TRY(parquet_fixed_reserve(r->memory, &r->fixed, &r->fixed_cap, (from + used) * width,
                                         (from + take) * width));
            parquet_spread(r->fixed + from * width, width, r->validity, from, take, used);
        }
    }
    r->slots += (int64_t)take;
    r->used += (int64_t)used;
    r->page_left -= (int64_t)take;
    return SL_OK;
}

static sl_status take_flat(struct parquet_leaf_reader *r, int64_t rows)
{
    while (rows > 0) {
        if (r->page_left == 0) {
            bool found;
            SL_TRY(parquet_leaf_next_page(r, NULL, &found));
            if (!found)
                return parquet_chunk_too_short();
        }
        int64_t take = rows < r->page_left ? rows : r->page_left;
        SL_TRY(take_flat_page(r, (size_t)take));
        rows -= take;
    }
    return SL_OK;
}

/* Levels of `take` rows of the current page, and their values, read and forgotten. */
static sl_status drop_flat(struct parquet_leaf_reader *r, int64_t rows)
{
    r->page_left -= rows;
    while (rows > 0) {
        size_t n = rows < READ_BLOCK ? (size_t)rows : READ_BLOCK, used = n;
        if (r->leaf->max_def > 0) {
            uint8_t bits[READ_BLOCK / 8];
            if (parquet_hybrid_bits(&r->def, bits, 0, n) != n)
                return sl_corrupt("definition levels end too early");
            used = parquet_bits_count(bits, 0, n);
        }
        SL_TRY(parquet_values_skip(&r->values, used));
        rows -= (int64_t)n;
    }
    return SL_OK;
}

static sl_status skip_flat(struct parquet_leaf_reader *r, int64_t rows)
{
    while (rows > 0) {
        if (r->page_left == 0) {
            bool found;
            SL_TRY(parquet_leaf_next_page(r, &rows, &found));
            if (rows == 0)
                break;
            if (!found)
                return parquet_chunk_too_short();
        }
        int64_t n = rows < r->page_left ? rows : r->page_left;
        SL_TRY(drop_flat(r, n));
        rows -= n;
    }
    return SL_OK;
}

/* ---- entry points -------------------------------------------------------------------------------------- */

static bool has_encoding(const struct parquet_column_meta *meta, int32_t encoding)
{
    for (size_t i = 0; i < meta->encoding_count; i++)
        if (meta->encodings[i] == encoding)
            return true;
    return false;
}

sl_status parquet_leaf_open_group(struct parquet_leaf_reader *r, size_t group, bool selective)
{
    const struct parquet_row_group *g = &r->parquet->meta.row_groups[group];
    size_t leaf = (size_t)(r->leaf - r->parquet->schema.leaves);
    r->group = group;
    r->chunk = &g->columns[leaf];
    r->index_tried = false;
    r->index.page_count = 0;
    r->row = 0;
    r->page_left = 0;
    r->stage_at = r->stage_count = 0;
    r->inside_row = false;
    r->values_left = r->chunk->meta.num_values;
    r->values.previous.len = 0;
    r->every_page = r->values.carry_over && has_encoding(&r->chunk->meta, PARQUET_DELTA_BYTE_ARRAY);
    r->dictionary_at = 0;
    dictionary_clear(&r->dictionary);
    SL_TRY(parquet_pages_open(&r->pages, r->parquet, &r->chunk->meta));
    return r->values_left > 0 ? parquet_leaf_open_dictionary(r, selective) : SL_OK;
}

void parquet_leaf_know_pages(struct parquet_leaf_reader *r)
{
    if (!r->index_tried)
        (void)sl_status_ignore(load_index(r));
}

/* The last page that begins at or before the row; the index has pages. */
static size_t page_of_row(const struct parquet_offset_index *index, int64_t row)
{
    size_t low = 0, high = index->page_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (index->pages[middle].first_row <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Jumps over whole pages by the page index; *rows is what is left to skip behind the jump, `take` rows are wanted then. */
static sl_status jump(struct parquet_leaf_reader *r, int64_t *rows, int64_t take)
{
    int64_t target = r->row + *rows;
    if (r->every_page)
        return SL_OK;
    if (!r->index_tried)
        SL_TRY(load_index(r));
    const struct parquet_offset_index *index = &r->index;
    size_t low = page_of_row(index, target);
    if (index->page_count == 0 || index->pages[low].first_row <= r->row ||
        (uint64_t)index->pages[low].offset <= r->pages.header_offset)
        return SL_OK;
    const struct parquet_page_location *last = &index->pages[index->page_count - 1];
    r->pages.offset = (uint64_t)index->pages[low].offset;
    r->pages.end = (uint64_t)last->offset + (uint64_t)last->compressed_size;
    last = &index->pages[page_of_row(index, target + (take > 0 ? take - 1 : 0))];
    r->pages.wanted_end = (uint64_t)last->offset + (uint64_t)last->compressed_size;
    r->page_left = 0;
    r->stage_at = r->stage_count = 0;
    r->inside_row = false;
    *rows = target - index->pages[low].first_row;
    return SL_OK;
}

static sl_status run_step(struct parquet_leaf_reader *r, struct parquet_step step)
{
    int64_t target = r->row + step.skip;
    if (step.skip > 0 && step.skip > r->page_left)
        SL_TRY(jump(r, &step.skip, step.take));
    SL_TRY(r->leaf->flat ? skip_flat(r, step.skip) : parquet_leaf_read_nested(r, step.skip, false));
    SL_TRY(r->leaf->flat ? take_flat(r, step.take) : parquet_leaf_read_nested(r, step.take, true));
    r->row = target + step.take;
    return SL_OK;
}

#define TEXTS_EXPECTED_MAX ((size_t)1 << 20)

/* Texts of a batch take about what those of the batch before did; room that has to grow is copied. */
static sl_status reserve_texts(struct parquet_leaf_reader *r, int64_t rows)
{
    size_t bytes = r->text_bytes + r->text_bytes / 8;
    SL_TRY(parquet_strings_reserve(&r->strings, (size_t)rows));
    return parquet_fixed_reserve(r->memory, &r->strings.data, &r->strings.data_cap, 0,
                                 bytes < TEXTS_EXPECTED_MAX ? bytes : TEXTS_EXPECTED_MAX);
}

/* Buffers of exactly the right size for flat leaves, whose number of values is known. */
static sl_status reserve_flat(struct parquet_leaf_reader *r, int64_t rows)
{
    if (r->keep_dictionary && r->dictionary.count > 0)
        SL_TRY(
            parquet_fixed_reserve(r->memory, &r->fixed, &r->fixed_cap, 0, (size_t)rows * sizeof(uint32_t)));
    else if (r->leaf->output == PARQUET_OUT_BYTES)
        return reserve_texts(r, rows);
    if (r->leaf->output == PARQUET_OUT_BYTES)
        return SL_OK;
    if (r->leaf->output == PARQUET_OUT_NULL)
        return SL_OK;
    return parquet_fixed_reserve(r->memory, &r->fixed, &r->fixed_cap, 0, (size_t)rows * r->leaf->width);
}

sl_status parquet_leaf_read(struct parquet_leaf_reader *r, const struct parquet_step *steps, size_t count,
                            int64_t rows)
{
    sl_status status = SL_OK;
    r->slots = r->used = 0;
    r->level_count = 0;
    r->as_indexes = r->strings.full = r->levels_full = false;
    parquet_strings_clear(&r->strings);
    if (r->leaf->flat)
        SL_GO(reserve_flat(r, rows));
    for (size_t i = 0; i < count; i++)
        SL_GO(run_step(r, steps[i]));
    r->text_bytes = parquet_strings_bytes(&r->strings);
done:
    return sl_context(status, "column %s", r->leaf->path);
}
