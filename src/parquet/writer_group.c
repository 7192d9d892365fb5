/* A row group, complete: its leaves are closed, their chunks go to the file one behind the other, and what is to say about
 * them is kept for the footer. */
#include "parquet/write_int.h"

/* ---- chunks -------------------------------------------------------------------------------------------- */

void *writer_zeroed(sl_arena *arena, size_t size)
{
    void *p = sl_arena_alloc(arena, size ? size : 1);
    if (p)
        memset(p, 0, size);
    return p;
}

static sl_status arena_bytes(sl_arena *arena, const uint8_t *data, size_t len, struct parquet_bytes *out)
{
    uint8_t *copy = sl_arena_alloc(arena, len ? len : 1);
    if (!copy)
        return sl_nomem();
    if (len)
        memcpy(copy, data, len);
    *out = (struct parquet_bytes){copy, len};
    return SL_OK;
}

static sl_status chunk_statistics(sl_arena *arena, const struct leaf_writer *leaf,
                                  struct parquet_statistics *out)
{
    *out = (struct parquet_statistics){
        .has_null_count = true, .null_count = leaf->nulls, .max_exact = -1, .min_exact = -1};
    if (!leaf->bounds.present)
        return SL_OK;
    uint8_t min_space[16], max_space[16];
    const uint8_t *min, *max;
    size_t min_len, max_len;
    bounds_plain(&leaf->bounds, leaf->leaf, false, min_space, &min, &min_len);
    bounds_plain(&leaf->bounds, leaf->leaf, true, max_space, &max, &max_len);
    if (min_len + max_len >= WRITE_STATISTICS_BYTES)
        return SL_OK;
    SL_TRY(arena_bytes(arena, min, min_len, &out->min_value));
    SL_TRY(arena_bytes(arena, max, max_len, &out->max_value));
    int64_t nans = bounds_nans(&leaf->bounds);
    out->has_nan_count = nans >= 0;
    out->nan_count = nans >= 0 ? nans : 0;
    /* The old fields are in signed order; with one value in the chunk every order agrees (spec/parquet.md 5).
     */
    enum write_order order = leaf->leaf->order;
    bool is_signed = order == ORDER_BOOL || order == ORDER_INT32 || order == ORDER_INT64 ||
                     order == ORDER_FLOAT || order == ORDER_DOUBLE;
    if (is_signed || bytes_compare(min, min_len, max, max_len) == 0) {
        out->min = out->min_value;
        out->max = out->max_value;
    }
    return SL_OK;
}

static sl_status chunk_encodings(sl_arena *arena, const struct leaf_writer *leaf,
                                 struct parquet_column_meta *meta)
{
    int32_t *encodings = sl_arena_alloc(arena, (PARQUET_ALP + 3) * sizeof *encodings);
    struct parquet_encoding_stats *stats = sl_arena_alloc(arena, (PARQUET_ALP + 2) * sizeof *stats);
    if (!encodings || !stats)
        return sl_nomem();
    size_t n = 0, m = 0;
    bool v2 = leaf->settings->page_v2, plain = false, rle = false;
    int32_t data = v2 ? PARQUET_PAGE_DATA_V2 : PARQUET_PAGE_DATA;
    if (leaf->dictionary_pages) {
        int32_t page = v2 ? PARQUET_PLAIN : PARQUET_PLAIN_DICTIONARY;
        int32_t indexes = v2 ? PARQUET_RLE_DICTIONARY : PARQUET_PLAIN_DICTIONARY;
        plain = v2;
        encodings[n++] = page;
        if (indexes != page)
            encodings[n++] = indexes;
        stats[m++] = (struct parquet_encoding_stats){PARQUET_PAGE_DICTIONARY, page, 1};
        stats[m++] = (struct parquet_encoding_stats){data, indexes, leaf->dictionary_pages};
    }
    for (int32_t i = 0; i < PARQUET_ALP; i++) {
        if (leaf->value_pages[i] == 0)
            continue;
        if (i != PARQUET_PLAIN || !plain)
            encodings[n++] = i;
        rle = rle || i == PARQUET_RLE;
        stats[m++] = (struct parquet_encoding_stats){data, i, leaf->value_pages[i]};
    }
    if (!rle)
        encodings[n++] = PARQUET_RLE; /* of levels */
    meta->encodings = encodings;
    meta->encoding_count = n;
    meta->encoding_stats = stats;
    meta->encoding_stats_count = m;
    return SL_OK;
}

static int32_t file_codec(enum sl_parquet_codec codec)
{
    static const int32_t codes[] = {
        [SL_CODEC_NONE] = PARQUET_CODEC_NONE,       [SL_CODEC_SNAPPY] = PARQUET_CODEC_SNAPPY,
        [SL_CODEC_GZIP] = PARQUET_CODEC_GZIP,       [SL_CODEC_ZSTD] = PARQUET_CODEC_ZSTD,
        [SL_CODEC_LZ4_RAW] = PARQUET_CODEC_LZ4_RAW,
    };
    return codes[codec];
}

static sl_status chunk_sizes(sl_arena *arena, const struct leaf_writer *leaf,
                             struct parquet_column_meta *meta)
{
    if (!leaf->level_histograms)
        return SL_OK;
    size_t definitions = (size_t)leaf->leaf->max_definition + 1;
    size_t repetitions = (size_t)leaf->leaf->max_repetition + 1;
    size_t bytes = (definitions + repetitions) * sizeof(int64_t);
    int64_t *histograms = sl_arena_alloc(arena, bytes);
    if (!histograms)
        return sl_nomem();
    memcpy(histograms, leaf->level_histograms, bytes);
    meta->has_size_statistics = true;
    meta->size_statistics = (struct parquet_size_statistics){
        .unencoded_bytes = leaf->leaf->kind == WRITE_BYTES ? leaf->unencoded_bytes : -1,
        .definition_histogram = histograms,
        .definition_levels = leaf->leaf->max_definition ? definitions : 0, /* one level says nothing */
        .repetition_histogram = histograms + definitions,
        .repetition_levels = leaf->leaf->max_repetition ? repetitions : 0,
    };
    return SL_OK;
}

/* Index offsets count from the start of their buffer until the file is finished. */
static sl_status chunk_page_index(sl_parquet_writer *w, const struct leaf_writer *leaf,
                                  struct parquet_column_chunk *chunk)
{
    chunk->column_index_offset = chunk->offset_index_offset = -1;
    if (!w->settings.page_index)
        return SL_OK;
    if (!leaf->pages.unknown_bounds) {
        size_t at = w->column_indexes.len;
        SL_TRY(column_index_write(&leaf->pages, leaf->leaf, &w->column_indexes));
        if (w->column_indexes.len - at > INT32_MAX)
            return sl_unsupported("a column index beyond 2 GiB");
        chunk->column_index_offset = (int64_t)at;
        chunk->column_index_length = (int32_t)(w->column_indexes.len - at);
    }
    size_t at = w->offset_indexes.len;
    bool byte_arrays = w->settings.size_statistics && leaf->leaf->kind == WRITE_BYTES;
    SL_TRY(offset_index_write(&leaf->pages, (uint64_t)chunk->meta.data_page_offset, byte_arrays,
                              &w->offset_indexes));
    if (w->offset_indexes.len - at > INT32_MAX)
        return sl_unsupported("an offset index beyond 2 GiB");
    chunk->offset_index_offset = (int64_t)at;
    chunk->offset_index_length = (int32_t)(w->offset_indexes.len - at);
    return SL_OK;
}

sl_status writer_put_chunk(sl_parquet_writer *w, const struct leaf_writer *leaf,
                           struct parquet_column_chunk *chunk)
{
    struct parquet_column_meta *meta = &chunk->meta;
    meta->index_page_offset = meta->dictionary_page_offset = meta->bloom_filter_offset = -1;
    meta->bloom_filter_length = -1;
    if (leaf->dictionary_page.data) {
        meta->dictionary_page_offset = (int64_t)(sl_output_offset(w->output) - w->start);
        SL_TRY(sl_output_write(w->output, leaf->dictionary_page.data, leaf->dictionary_page.len));
    }
    meta->data_page_offset = (int64_t)(sl_output_offset(w->output) - w->start);
    for (size_t i = 0; i < leaf->blob_count; i++)
        SL_TRY(sl_output_write(w->output, leaf->blobs[i].data, leaf->blobs[i].len));
    chunk->has_meta = true;
    chunk->file_offset =
        meta->dictionary_page_offset >= 0 ? meta->dictionary_page_offset : meta->data_page_offset;
    meta->type = leaf->leaf->physical;
    meta->path = (const char *const *)leaf->leaf->path;
    meta->path_count = leaf->leaf->path_count;
    meta->codec = file_codec(w->codec);
    meta->num_values = leaf->levels;
    meta->total_uncompressed_size = (int64_t)leaf->uncompressed_bytes;
    meta->total_compressed_size = (int64_t)leaf->compressed_bytes;
    meta->has_statistics = true;
    SL_TRY(chunk_encodings(w->arena, leaf, meta));
    SL_TRY(chunk_sizes(w->arena, leaf, meta));
    SL_TRY(chunk_statistics(w->arena, leaf, &meta->statistics));
    return chunk_page_index(w, leaf, chunk);
}

/* Filters follow the chunks of their row group. */
sl_status writer_put_bloom(sl_parquet_writer *w, struct leaf_writer *leaf, struct parquet_column_chunk *chunk)
{
    if (leaf->bloom_filter.len == 0)
        return SL_OK;
    chunk->meta.bloom_filter_offset = (int64_t)(sl_output_offset(w->output) - w->start);
    chunk->meta.bloom_filter_length = (int32_t)leaf->bloom_filter.len;
    return sl_output_write(w->output, leaf->bloom_filter.data, leaf->bloom_filter.len);
}

/* ---- row groups ---------------------------------------------------------------------------------------- */

static sl_status close_leaf(void *context, size_t index)
{
    sl_parquet_writer *w = context;
    struct write_scratch *s;
    if (w->leaves[index].twin)
        return SL_OK;
    SL_TRY(writer_scratch_take(w, &s));
    sl_status status = leaf_writer_close_chunk(&w->leaves[index], s);
    writer_scratch_return(w, s);
    return status;
}

/* Not before there is something to put into it: a late output is then made as late as can be. */
sl_status writer_begin_file(sl_parquet_writer *w)
{
    bool has_begun = sl_output_offset(w->output) > w->start;
    return has_begun ? SL_OK : sl_output_write(w->output, PARQUET_MAGIC, 4);
}

sl_status writer_next_group(sl_parquet_writer *w)
{
    SL_TRY(writer_begin_file(w));
    if (w->group_count == w->group_capacity) {
        size_t capacity = w->group_capacity ? w->group_capacity * 2 : 8;
        struct parquet_row_group *grown = sl_realloc_array(w->groups, capacity, sizeof *grown);
        if (!grown)
            return sl_nomem();
        w->groups = grown;
        w->group_capacity = capacity;
    }
    struct parquet_row_group *group = &w->groups[w->group_count];
    *group = (struct parquet_row_group){
        .ordinal = (int32_t)(w->group_count & 0x7fff),
        .column_count = w->layout.leaf_count,
        .sorting = w->sorting,
        .sorting_count = w->sorting_count,
        .file_offset = (int64_t)(sl_output_offset(w->output) - w->start),
    };
    group->columns = writer_zeroed(w->arena, w->layout.leaf_count * sizeof *group->columns);
    return group->columns ? SL_OK : sl_nomem();
}

sl_status writer_put_group(sl_parquet_writer *w)
{
    if (w->group_rows == 0)
        return SL_OK;
    SL_TRY(sl_pool_for(w->pool, w->layout.leaf_count, close_leaf, w));
    SL_TRY(writer_next_group(w));
    struct parquet_row_group *group = &w->groups[w->group_count];
    group->num_rows = w->group_rows;
    for (size_t i = 0; i < w->layout.leaf_count; i++) {
        const struct leaf_writer *leaf = &w->leaves[i];
        SL_TRY_CTX(writer_put_chunk(w, leaf->twin ? leaf->twin : leaf, &group->columns[i]), "column %s",
                   leaf->leaf->name);
        group->columns[i].meta.path =
            (const char *const *)leaf->leaf->path; /* also where the rest is a twin's */
        group->columns[i].meta.path_count = leaf->leaf->path_count;
        group->total_byte_size += group->columns[i].meta.total_uncompressed_size;
        group->total_compressed_size += group->columns[i].meta.total_compressed_size;
    }
    for (size_t i = 0; i < w->layout.leaf_count; i++) {
        SL_TRY(writer_put_bloom(w, &w->leaves[i], &group->columns[i]));
        SL_TRY(leaf_writer_next_chunk(&w->leaves[i]));
    }
    w->group_count++;
    w->done_rows += w->group_rows;
    w->group_rows = 0;
    return SL_OK;
}
