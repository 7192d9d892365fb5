/*
 * Some pages of a chunk, copied with the dictionary page they were made with. No value is looked at: what the new
 * chunk's metadata says is the sum of what the pages' headers and their entries in the source's indexes say. A fact
 * that one of the pages lacks is left out.
 */
#include "parquet/copy_int.h"

#include <math.h>

/* ---- the pages that are copied ------------------------------------------------------------------------- */

struct part {
    struct group_copy *c;
    size_t leaf;
    const struct parquet_column_chunk *from;
    struct parquet_column_meta *meta;
    const struct source_pages *source;
    size_t first, count; /* pages */
    bool dictionary;     /* comes along */
    int64_t distance;    /* that the data pages move */
};

/* Units begin and end where pages do. */
static void find_pages(struct part *part)
{
    const struct parquet_offset_index *index = &part->source->index;
    int64_t end = part->c->first + part->c->rows;
    size_t i = 0;
    while (index->pages[i].first_row < part->c->first)
        i++;
    part->first = i;
    while (i < index->page_count && index->pages[i].first_row < end)
        i++;
    part->count = i - part->first;
}

static sl_status put_pages(struct part *part)
{
    struct group_copy *c = part->c;
    const struct parquet_page_location *first = &part->source->index.pages[part->first];
    const struct parquet_page_location *last = first + part->count - 1;
    const struct parquet_page_location *dictionary = &part->source->dictionary_at;
    for (size_t i = 0; i < part->count; i++)
        part->dictionary |= uses_dictionary(&part->source->headers[part->first + i]);
    int64_t here = (int64_t)(sl_output_offset(c->w->output) - c->w->start);
    c->to->columns[part->leaf].file_offset = here;
    part->meta->dictionary_page_offset = part->dictionary ? here : -1;
    part->meta->data_page_offset = here + (part->dictionary ? dictionary->compressed_size : 0);
    part->distance = part->meta->data_page_offset - first->offset;
    if (part->dictionary)
        SL_TRY(copy_bytes(c, (uint64_t)dictionary->offset, (uint64_t)dictionary->compressed_size));
    return copy_bytes(c, (uint64_t)first->offset,
                      (uint64_t)(last->offset - first->offset) + (uint64_t)last->compressed_size);
}

/* ---- sizes and encodings ------------------------------------------------------------------------------- */

static void add_encoding(int32_t *encodings, size_t *count, int32_t encoding)
{
    for (size_t i = 0; i < *count; i++)
        if (encodings[i] == encoding)
            return;
    encodings[(*count)++] = encoding;
}

static void add_stats(struct parquet_encoding_stats *stats, size_t *count, int32_t type, int32_t encoding)
{
    size_t i = 0;
    while (i < *count && (stats[i].page_type != type || stats[i].encoding != encoding))
        i++;
    if (i == *count)
        stats[(*count)++] = (struct parquet_encoding_stats){type, encoding, 0};
    stats[i].count++;
}

static void add_page(struct part *part, const struct parquet_page_header *header, int32_t stored,
                     int32_t *encodings, struct parquet_encoding_stats *stats)
{
    struct parquet_column_meta *meta = part->meta;
    meta->total_compressed_size += stored;
    meta->total_uncompressed_size += (int64_t)stored - header->compressed_size + header->uncompressed_size;
    add_encoding(encodings, &meta->encoding_count, header->encoding);
    add_stats(stats, &meta->encoding_stats_count, header->type, header->encoding);
    if (header->type == PARQUET_PAGE_DICTIONARY)
        return;
    meta->num_values += header->num_values;
    const struct write_leaf *leaf = &part->c->w->layout.leaves[part->leaf];
    bool v2 = header->type == PARQUET_PAGE_DATA_V2;
    if (leaf->max_definition)
        add_encoding(encodings, &meta->encoding_count, v2 ? PARQUET_RLE : header->definition_encoding);
    if (leaf->max_repetition)
        add_encoding(encodings, &meta->encoding_count, v2 ? PARQUET_RLE : header->repetition_encoding);
}

static sl_status sum_headers(struct part *part)
{
    size_t most = part->count + 1;
    int32_t *encodings = sl_arena_alloc(part->c->w->arena, 3 * most * sizeof *encodings);
    struct parquet_encoding_stats *stats = sl_arena_alloc(part->c->w->arena, most * sizeof *stats);
    if (!encodings || !stats)
        return sl_nomem();
    part->meta->encodings = encodings;
    part->meta->encoding_stats = stats;
    if (part->dictionary)
        add_page(part, &part->source->dictionary, part->source->dictionary_at.compressed_size, encodings,
                 stats);
    for (size_t i = part->first; i < part->first + part->count; i++)
        add_page(part, &part->source->headers[i], part->source->index.pages[i].compressed_size, encodings,
                 stats);
    return SL_OK;
}

/* ---- indexes ------------------------------------------------------------------------------------------- */

static sl_status put_offset_index(struct part *part)
{
    const struct parquet_offset_index *all = &part->source->index;
    struct parquet_offset_index index = {
        .pages = sl_arena_alloc(part->c->arena, part->count * sizeof *index.pages),
        .page_count = part->count,
        .unencoded_bytes = all->unencoded_bytes ? all->unencoded_bytes + part->first : NULL};
    if (!index.pages)
        return sl_nomem();
    for (size_t i = 0; i < part->count; i++) {
        index.pages[i] = all->pages[part->first + i];
        index.pages[i].offset += part->distance;
        index.pages[i].first_row -= part->c->first;
    }
    return copy_put_offset_index(part->c, part->leaf, &index);
}

/* Counts within their pages, and pages of nulls full of them. */
static bool counts_are_sound(const struct part *part, const struct parquet_column_index *index)
{
    for (size_t i = 0; i < index->page_count; i++) {
        int64_t values = part->source->headers[i].num_values;
        int64_t nulls = index->null_counts ? index->null_counts[i] : index->null_pages[i] ? values : 0;
        int64_t nans = index->nan_counts ? index->nan_counts[i] : 0;
        if (nulls < 0 || nulls > values || (index->null_pages[i] && nulls != values) || nans < 0 ||
            nans > values - nulls)
            return false;
    }
    return true;
}

/* The chunk's column index; *usable false: there is none whose words could be taken over. */
static sl_status load_column_index(struct part *part, struct parquet_column_index *index, bool *usable)
{
    struct group_copy *c = part->c;
    const struct parquet_column_chunk *from = part->from;
    *usable = false;
    if (from->column_index_offset <= 0 || !copy_order_is_ours(c->source, part->leaf) ||
        !copy_bounds_are_sound(c->source, &c->w->layout.leaves[part->leaf]))
        return SL_OK;
    SL_TRY(copy_read_piece(c, from->column_index_offset, from->column_index_length, "column index"));
    sl_status status = parquet_column_index_decode(c->buffer.data, c->buffer.len,
                                                   (uint64_t)from->column_index_offset, c->arena, index);
    if (sl_status_code(status) == SL_E_CORRUPT) {
        (void)sl_status_ignore(status);
        return SL_OK;
    }
    SL_TRY(status);
    *usable = index->page_count == part->source->index.page_count && counts_are_sound(part, index);
    return SL_OK;
}

/* The copied pages' share of a histogram list; NULL when the list is not one histogram of `levels` for every page. */
static const int64_t *histograms_of_part(const struct part *part, const int64_t *all, size_t count,
                                         size_t levels)
{
    if (!all || levels < 2 || count % levels != 0 || count / levels != part->source->index.page_count)
        return NULL;
    return all + part->first * levels;
}

static sl_status put_column_index(struct part *part, const struct parquet_column_index *all)
{
    const struct write_leaf *leaf = &part->c->w->layout.leaves[part->leaf];
    size_t first = part->first, count = part->count;
    size_t definitions = (size_t)leaf->max_definition + 1, repetitions = (size_t)leaf->max_repetition + 1;
    struct parquet_column_index index = {
        .page_count = count,
        .null_pages = all->null_pages + first,
        .min_values = all->min_values + first,
        .max_values = all->max_values + first,
        .boundary_order = all->boundary_order, /* what holds for all holds for some */
        .null_counts = all->null_counts ? all->null_counts + first : NULL,
        .nan_counts = all->nan_counts ? all->nan_counts + first : NULL,
        .definition_histograms =
            histograms_of_part(part, all->definition_histograms, all->definition_count, definitions),
        .repetition_histograms =
            histograms_of_part(part, all->repetition_histograms, all->repetition_count, repetitions),
    };
    index.definition_count = index.definition_histograms ? count * definitions : 0;
    index.repetition_count = index.repetition_histograms ? count * repetitions : 0;
    part->c->buffer.len = 0;
    SL_TRY(parquet_column_index_encode(&index, &part->c->buffer));
    return copy_put_column_index(part->c, part->leaf, part->c->buffer.data, part->c->buffer.len);
}

/* ---- statistics ---------------------------------------------------------------------------------------- */

/* Whether a bound is a value of the leaf that takes part in its order. */
static bool is_ordered_value(const struct write_leaf *leaf, const struct parquet_bytes *bound)
{
    float f;
    double d;
    if (leaf->physical == PARQUET_BYTE_ARRAY)
        return bound->data;
    if (!bound->data || bound->len != (leaf->physical == PARQUET_BOOLEAN ? 1 : (size_t)leaf->width))
        return false;
    switch (leaf->order) {
    case ORDER_HALF:
        return (load_le16(bound->data) & 0x7fff) <= 0x7c00;
    case ORDER_FLOAT:
        memcpy(&f, bound->data, sizeof f);
        return !isnan(f);
    case ORDER_DOUBLE:
        memcpy(&d, bound->data, sizeof d);
        return !isnan(d);
    default:
        return true;
    }
}

/* Smallest and largest bound of the copied pages that hold values; false when one of them is none. */
static bool bounds_of_pages(const struct part *part, const struct parquet_column_index *index,
                            struct parquet_bytes *min, struct parquet_bytes *max)
{
    const struct write_leaf *leaf = &part->c->w->layout.leaves[part->leaf];
    for (size_t i = part->first; i < part->first + part->count; i++) {
        const struct parquet_bytes *low = &index->min_values[i], *high = &index->max_values[i];
        if (index->null_pages[i])
            continue;
        if (!is_ordered_value(leaf, low) || !is_ordered_value(leaf, high))
            return false;
        if (!min->data || bounds_compare_plain(leaf, low->data, low->len, min->data, min->len) < 0)
            *min = *low;
        if (!max->data || bounds_compare_plain(leaf, high->data, high->len, max->data, max->len) > 0)
            *max = *high;
    }
    return min->data && min->len + max->len < WRITE_STATISTICS_BYTES;
}

static sl_status keep_bound(sl_arena *arena, const struct parquet_bytes *from, struct parquet_bytes *to)
{
    const void *copy;
    SL_TRY(copy_keep(arena, from->data, from->len, &copy));
    *to = (struct parquet_bytes){copy, from->len};
    return SL_OK;
}

static sl_status sum_statistics(struct part *part, const struct parquet_column_index *index)
{
    struct parquet_statistics *s = &part->meta->statistics;
    struct parquet_bytes min = {0}, max = {0};
    s->has_null_count = index->null_counts;
    s->has_nan_count = index->nan_counts;
    for (size_t i = part->first; i < part->first + part->count; i++) {
        s->null_count += index->null_counts ? index->null_counts[i] : 0;
        s->nan_count += index->nan_counts ? index->nan_counts[i] : 0;
    }
    part->meta->has_statistics = true;
    if (!bounds_of_pages(part, index, &min, &max))
        return SL_OK;
    SL_TRY(keep_bound(part->c->w->arena, &min, &s->min_value));
    SL_TRY(keep_bound(part->c->w->arena, &max, &s->max_value));
    if (part->from->meta.type == PARQUET_BYTE_ARRAY) /* bounds in an index may be cut */
        s->min_exact = s->max_exact = 0;
    return SL_OK;
}

/* Adds up the pages' histograms; *out NULL when there are none, or what they hold cannot be. */
static sl_status sum_histograms(const struct part *part, const int64_t *pages, size_t levels,
                                const int64_t **out, size_t *out_levels)
{
    *out = NULL;
    *out_levels = 0;
    if (!pages)
        return SL_OK;
    int64_t *sum = sl_arena_alloc(part->c->w->arena, levels * sizeof *sum);
    if (!sum)
        return sl_nomem();
    memset(sum, 0, levels * sizeof *sum);
    for (size_t i = 0; i < part->count * levels; i++)
        if (pages[i] < 0 || sl_add_overflows_i64(sum[i % levels], pages[i], &sum[i % levels]))
            return SL_OK;
    *out = sum;
    *out_levels = levels;
    return SL_OK;
}

static sl_status sum_sizes(struct part *part, const struct parquet_column_index *index)
{
    const struct write_leaf *leaf = &part->c->w->layout.leaves[part->leaf];
    struct parquet_size_statistics *s = &part->meta->size_statistics;
    size_t definitions = (size_t)leaf->max_definition + 1, repetitions = (size_t)leaf->max_repetition + 1;
    const int64_t *bytes = part->source->index.unencoded_bytes;
    s->unencoded_bytes = bytes && leaf->physical == PARQUET_BYTE_ARRAY ? 0 : -1;
    for (size_t i = part->first; i < part->first + part->count && s->unencoded_bytes >= 0; i++)
        if (bytes[i] < 0 || sl_add_overflows_i64(s->unencoded_bytes, bytes[i], &s->unencoded_bytes))
            s->unencoded_bytes = -1;
    SL_TRY(sum_histograms(
        part, histograms_of_part(part, index->definition_histograms, index->definition_count, definitions),
        definitions, &s->definition_histogram, &s->definition_levels));
    SL_TRY(sum_histograms(
        part, histograms_of_part(part, index->repetition_histograms, index->repetition_count, repetitions),
        repetitions, &s->repetition_histogram, &s->repetition_levels));
    part->meta->has_size_statistics =
        s->unencoded_bytes >= 0 || s->definition_levels > 0 || s->repetition_levels > 0;
    return SL_OK;
}

/* ---- the chunk ----------------------------------------------------------------------------------------- */

static sl_status copy_facts(struct part *part)
{
    struct parquet_column_index index = {0};
    bool usable, with_index = part->c->w->settings.page_index;
    SL_TRY(load_column_index(part, &index, &usable));
    if (!usable)
        index = (struct parquet_column_index){0};
    SL_TRY(sum_sizes(part, &index));
    if (usable)
        SL_TRY(sum_statistics(part, &index));
    if (usable && with_index)
        SL_TRY(put_column_index(part, &index));
    return with_index ? put_offset_index(part) : SL_OK;
}

sl_status copy_chunk_pages(struct group_copy *c, size_t leaf)
{
    struct parquet_column_chunk *to = &c->to->columns[leaf];
    struct part part = {.c = c,
                        .leaf = leaf,
                        .from = &c->from->columns[leaf],
                        .meta = &to->meta,
                        .source = &c->pages->leaves[leaf]};
    sl_arena_reset(c->arena);
    find_pages(&part);
    to->has_meta = true;
    to->column_index_offset = to->offset_index_offset = -1;
    *part.meta = (struct parquet_column_meta){
        .type = part.from->meta.type,
        .path = (const char *const *)c->w->layout.leaves[leaf].path,
        .path_count = c->w->layout.leaves[leaf].path_count,
        .codec = part.from->meta.codec,
        .key_values = part.from->meta.key_values,
        .key_value_count = part.from->meta.key_value_count,
        .index_page_offset = -1,
        .statistics = {.min_exact = -1, .max_exact = -1},
        .bloom_filter_offset = -1,
        .bloom_filter_length = -1,
    };
    SL_TRY(copy_key_values(c->w->arena, part.meta));
    SL_TRY(put_pages(&part));
    c->w->copied.pages += part.count;
    SL_TRY(sum_headers(&part));
    return copy_facts(&part);
}
