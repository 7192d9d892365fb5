/*
 * The file: PAR1, row groups, column indexes, offset indexes, footer, footer length, PAR1 (spec/parquet.md 1,
 * 11).
 *
 * Rows arrive in batches and are encoded in slices: with a pool, small batches wait until a slice is worth
 * waking the threads for; each leaf is then one task over the whole slice. A row group is written once its
 * estimated size is reached; until then its pages wait in memory, compressed.
 */
#include "parquet/write_int.h"

#define MIB                     ((size_t)1 << 20)
#define PAGE_BYTES_DEFAULT      MIB
#define PAGE_ROWS_DEFAULT       20000
#define ROW_GROUP_BYTES_DEFAULT (120 * MIB)
/* Sizes and counts of a page are int32: larger options are taken for these. */
#define PAGE_BYTES_MAX (256 * MIB)
#define PAGE_ROWS_MAX  (INT64_C(1) << 28)
#define SLICE_ROWS     20000 /* rows between two looks at the row group's size */
#define SLICE_BYTES    (8 * MIB)

#ifndef SL_BUILD
#define SL_BUILD "release"
#endif
/* Readers parse this form to know which bugs of which writer to work around. */
#define CREATED_BY "sluice version " SL_VERSION " (build " SL_BUILD ")"

/* ---- scratch ------------------------------------------------------------------------------------------- */

sl_status writer_scratch_take(sl_parquet_writer *w, struct write_scratch **out)
{
    pthread_mutex_lock(&w->scratch_lock);
    struct write_scratch *s = w->scratch;
    if (s)
        w->scratch = s->next;
    else
        w->scratch_count++;
    pthread_mutex_unlock(&w->scratch_lock);
    if (!s) {
        SL_NEW(s);
        s->compressor.codec = w->codec;
        s->compressor.level = w->level;
    }
    *out = s;
    return SL_OK;
}

void writer_scratch_return(sl_parquet_writer *w, struct write_scratch *s)
{
    pthread_mutex_lock(&w->scratch_lock);
    s->next = w->scratch;
    w->scratch = s;
    pthread_mutex_unlock(&w->scratch_lock);
}

/* ---- life ---------------------------------------------------------------------------------------------- */

static sl_status take_options(sl_parquet_writer *w, const struct sl_parquet_write_options *o)
{
    SL_TRY(compressor_check_level(o->codec, o->level));
    w->codec = o->codec;
    w->level = o->level;
    w->settings = (struct write_settings){
        .page_bytes = !o->page_bytes                   ? PAGE_BYTES_DEFAULT
                      : o->page_bytes < PAGE_BYTES_MAX ? o->page_bytes
                                                       : PAGE_BYTES_MAX,
        .page_rows = o->page_rows <= 0              ? PAGE_ROWS_DEFAULT
                     : o->page_rows < PAGE_ROWS_MAX ? o->page_rows
                                                    : PAGE_ROWS_MAX,
        .dictionary = !o->no_dictionary,
        .page_index = !o->no_page_index,
        .page_v2 = o->data_page_v2,
        .checksums = !o->no_checksums,
        .size_statistics = o->size_statistics,
    };
    w->row_group_bytes = o->row_group_bytes ? o->row_group_bytes : ROW_GROUP_BYTES_DEFAULT;
    w->row_group_rows = o->row_group_rows > 0 ? o->row_group_rows : INT64_MAX;
    w->pool = o->pool;
    w->sorting_count = o->sorting_count;
    w->footer_checksum = o->footer_checksum;
    w->created_by = sl_strdup(o->created_by ? o->created_by : CREATED_BY);
    w->root_name = sl_strdup(o->root_name ? o->root_name : "schema");
    return w->created_by && w->root_name ? SL_OK : sl_nomem();
}

sl_status sl_parquet_writer_new(sl_output *output, const sl_type *schema,
                                const struct sl_parquet_write_options *options, sl_parquet_writer **out)
{
    static const struct sl_parquet_write_options defaults;
    sl_parquet_writer *w;
    SL_NEW(w);
    pthread_mutex_init(&w->scratch_lock, NULL);
    sl_status status;
    if (!options)
        options = &defaults;
    w->output = output;
    w->start = sl_output_offset(output);
    w->schema = sl_type_ref(schema);
    SL_GO(take_options(w, options));
    SL_GO(sl_arena_new(&w->arena));
    SL_GO(write_schema_build(schema, w->root_name, options->old_lists, &w->layout));
    SL_GO(write_choices(options, &w->layout, &w->choices));
    SL_GO(write_sorting(options, &w->layout, &w->sorting));
    w->leaves = sl_calloc(w->layout.leaf_count, sizeof *w->leaves);
    if (!w->leaves) {
        status = sl_nomem();
        goto done;
    }
    for (size_t i = 0; i < w->layout.leaf_count; i++)
        SL_GO(leaf_writer_init(&w->leaves[i], &w->layout.leaves[i], &w->settings, &w->choices[i]));
    SL_GO(sl_output_write(output, PARQUET_MAGIC, 4));
    *out = w;
done:
    if (status)
        sl_parquet_writer_free(w);
    return status;
}

static void drop_waiting(sl_parquet_writer *w)
{
    for (size_t i = 0; i < w->waiting_count; i++)
        sl_batch_unref(w->waiting[i].batch);
    w->waiting_count = 0;
    w->waiting_rows = 0;
    w->waiting_bytes = 0;
}

void sl_parquet_writer_free(sl_parquet_writer *w)
{
    if (!w)
        return;
    drop_waiting(w);
    sl_free(w->waiting);
    for (size_t i = 0; w->leaves && i < w->layout.leaf_count; i++)
        leaf_writer_free(&w->leaves[i]);
    sl_free(w->leaves);
    sl_free(w->choices);
    sl_free(w->sorting);
    while (w->scratch) {
        struct write_scratch *next = w->scratch->next;
        write_scratch_free(w->scratch);
        w->scratch = next;
    }
    pthread_mutex_destroy(&w->scratch_lock);
    for (size_t i = 0; i < w->key_value_count; i++) {
        sl_free(w->key_values[i].key);
        sl_free(w->key_values[i].value);
    }
    sl_free(w->key_values);
    sl_free(w->groups);
    sl_buf_free(&w->column_indexes);
    sl_buf_free(&w->offset_indexes);
    sl_arena_free(w->arena);
    write_schema_free(&w->layout);
    sl_free(w->created_by);
    sl_free(w->root_name);
    sl_type_unref(w->schema);
    sl_free(w);
}

/* ---- row groups ---------------------------------------------------------------------------------------- */

static void *arena_zeroed(sl_arena *arena, size_t size)
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

static sl_status close_leaf(void *context, size_t index)
{
    sl_parquet_writer *w = context;
    struct write_scratch *s;
    SL_TRY(writer_scratch_take(w, &s));
    sl_status status = leaf_writer_close_chunk(&w->leaves[index], s);
    writer_scratch_return(w, s);
    return status;
}

sl_status writer_next_group(sl_parquet_writer *w)
{
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
    group->columns = arena_zeroed(w->arena, w->layout.leaf_count * sizeof *group->columns);
    return group->columns ? SL_OK : sl_nomem();
}

static sl_status write_row_group(sl_parquet_writer *w)
{
    if (w->group_rows == 0)
        return SL_OK;
    SL_TRY(sl_pool_for(w->pool, w->layout.leaf_count, close_leaf, w));
    SL_TRY(writer_next_group(w));
    struct parquet_row_group *group = &w->groups[w->group_count];
    group->num_rows = w->group_rows;
    for (size_t i = 0; i < w->layout.leaf_count; i++) {
        struct leaf_writer *leaf = &w->leaves[i];
        SL_TRY_CTX(writer_put_chunk(w, leaf, &group->columns[i]), "column %s", leaf->leaf->name);
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

/* ---- rows ---------------------------------------------------------------------------------------------- */

static sl_status encode_leaf(void *context, size_t index)
{
    sl_parquet_writer *w = context;
    struct leaf_writer *leaf = &w->leaves[index];
    struct write_scratch *s;
    SL_TRY(writer_scratch_take(w, &s));
    sl_status status = SL_OK;
    int64_t file_row = w->done_rows + w->group_rows;
    for (size_t i = 0; i < w->waiting_count && !status; i++) {
        const struct segment *segment = &w->waiting[i];
        const sl_array *column = segment->batch->columns[leaf->leaf->column];
        status = leaf_writer_rows(leaf, s, column, segment->from, segment->count, file_row);
        file_row += segment->count;
    }
    writer_scratch_return(w, s);
    return status;
}

static uint64_t group_estimate(const sl_parquet_writer *w)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < w->layout.leaf_count; i++)
        bytes += leaf_writer_estimate(&w->leaves[i]);
    return bytes;
}

static sl_status encode_waiting(sl_parquet_writer *w)
{
    if (w->waiting_count == 0)
        return SL_OK;
    SL_TRY(sl_pool_for(w->pool, w->layout.leaf_count, encode_leaf, w));
    w->group_rows += w->waiting_rows;
    drop_waiting(w);
    if (w->group_rows >= w->row_group_rows || group_estimate(w) >= w->row_group_bytes)
        return write_row_group(w);
    return SL_OK;
}

sl_status writer_flush(sl_parquet_writer *w)
{
    SL_TRY(encode_waiting(w));
    return write_row_group(w);
}

static sl_status add_waiting(sl_parquet_writer *w, sl_batch *batch, int64_t from, int64_t count, size_t bytes)
{
    if (w->waiting_count == w->waiting_capacity) {
        size_t capacity = w->waiting_capacity ? w->waiting_capacity * 2 : 8;
        struct segment *grown = sl_realloc_array(w->waiting, capacity, sizeof *grown);
        if (!grown)
            return sl_nomem();
        w->waiting = grown;
        w->waiting_capacity = capacity;
    }
    w->waiting[w->waiting_count++] = (struct segment){sl_batch_ref(batch), from, count};
    w->waiting_rows += count;
    w->waiting_bytes += bytes;
    return SL_OK;
}

/* A slice is encoded at once without threads to wake; otherwise when it is large enough, or its row group is
 * full. */
static bool slice_is_due(const sl_parquet_writer *w)
{
    return sl_pool_threads(w->pool) < 2 || w->waiting_rows >= SLICE_ROWS || w->waiting_bytes >= SLICE_BYTES ||
           w->group_rows + w->waiting_rows >= w->row_group_rows;
}

static sl_status take_rows(sl_parquet_writer *w, sl_batch *batch)
{
    double row_bytes = (double)sl_batch_bytes(batch) / (double)batch->rows;
    int64_t slice = SLICE_ROWS;
    if (row_bytes * SLICE_ROWS > (double)SLICE_BYTES)
        slice = (int64_t)((double)SLICE_BYTES / row_bytes) + 1;
    for (int64_t from = 0; from < batch->rows;) {
        int64_t count = batch->rows - from < slice ? batch->rows - from : slice;
        int64_t left = w->row_group_rows - w->group_rows - w->waiting_rows;
        count = count < left ? count : left;
        SL_TRY(add_waiting(w, batch, from, count, (size_t)(row_bytes * (double)count)));
        w->rows += count;
        from += count;
        if (slice_is_due(w))
            SL_TRY(encode_waiting(w));
    }
    return SL_OK;
}

/* Nulls in required top-level columns; those below are found when levels are made. */
static sl_status check_required(const sl_parquet_writer *w, const sl_batch *batch)
{
    for (size_t i = 0; i < w->schema->field_count; i++) {
        const sl_array *column = batch->columns[i];
        if (w->schema->fields[i].nullable || column->null_count == 0)
            continue;
        int64_t row = 0;
        while (row < column->length && sl_is_valid(column, row))
            row++;
        return sl_input("column %s, row %" PRId64 ": null in a required field", w->schema->fields[i].name,
                        w->rows + row);
    }
    return SL_OK;
}

sl_status sl_parquet_writer_write(sl_parquet_writer *w, sl_batch *batch)
{
    if (w->failed)
        return sl_internal("a Parquet writer was used after it failed");
    if (batch->schema != w->schema && !sl_type_equal(batch->schema, w->schema))
        return sl_input("the batch's columns are not those of the Parquet file");
    if (batch->rows == 0)
        return SL_OK;
    SL_TRY(check_required(w, batch));
    sl_status status = take_rows(w, batch);
    w->failed = status != SL_OK;
    return status;
}

sl_status sl_parquet_writer_key_value(sl_parquet_writer *w, const char *key, const char *value)
{
    if (strcmp(key, PARQUET_FOOTER_CHECKSUM) == 0) /* taken over from another file, and of that one */
        return SL_OK;
    char *value_copy = sl_strdup(value);
    if (!value_copy)
        return sl_nomem();
    for (size_t i = 0; i < w->key_value_count; i++)
        if (strcmp(w->key_values[i].key, key) == 0) {
            sl_free(w->key_values[i].value);
            w->key_values[i].value = value_copy;
            return SL_OK;
        }
    char *key_copy = sl_strdup(key);
    if (key_copy && w->key_value_count == w->key_value_capacity) {
        size_t capacity = w->key_value_capacity ? w->key_value_capacity * 2 : 8;
        struct owned_key_value *grown = sl_realloc_array(w->key_values, capacity, sizeof *grown);
        if (grown) {
            w->key_values = grown;
            w->key_value_capacity = capacity;
        }
    }
    if (!key_copy || w->key_value_count == w->key_value_capacity) {
        sl_free(key_copy);
        sl_free(value_copy);
        return sl_nomem();
    }
    w->key_values[w->key_value_count++] = (struct owned_key_value){key_copy, value_copy};
    return SL_OK;
}

/* ---- sizes --------------------------------------------------------------------------------------------- */

size_t sl_parquet_writer_row_groups(const sl_parquet_writer *w)
{
    return w->group_count + (w->rows > w->done_rows);
}

uint64_t sl_parquet_writer_bytes(const sl_parquet_writer *w)
{
    uint64_t written = sl_output_offset(w->output) - w->start, open = group_estimate(w);
    uint64_t bytes = written + open + w->column_indexes.len + w->offset_indexes.len;
    /* What waits unencoded compresses like what came before it. */
    if (w->waiting_rows > 0) {
        int64_t known_rows = w->done_rows + w->group_rows;
        bytes += known_rows
                     ? (uint64_t)((double)(written + open) / (double)known_rows * (double)w->waiting_rows)
                     : w->waiting_bytes;
    }
    for (size_t i = 0; i < w->key_value_count; i++)
        bytes += strlen(w->key_values[i].key) + strlen(w->key_values[i].value);
    return bytes;
}

size_t sl_parquet_writer_memory(const sl_parquet_writer *w)
{
    size_t bytes = w->waiting_bytes + w->column_indexes.cap + w->offset_indexes.cap +
                   sl_arena_bytes(w->arena) +
                   w->scratch_count * (sizeof(struct write_scratch) + w->settings.page_bytes * 2);
    for (size_t i = 0; i < w->layout.leaf_count; i++)
        bytes += leaf_writer_memory(&w->leaves[i]);
    return bytes;
}

/* ---- the end ------------------------------------------------------------------------------------------- */

static sl_status write_page_indexes(sl_parquet_writer *w)
{
    int64_t column_indexes = (int64_t)(sl_output_offset(w->output) - w->start);
    int64_t offset_indexes = column_indexes + (int64_t)w->column_indexes.len;
    for (size_t g = 0; g < w->group_count; g++)
        for (size_t i = 0; i < w->layout.leaf_count; i++) {
            struct parquet_column_chunk *chunk = &w->groups[g].columns[i];
            if (chunk->column_index_offset >= 0)
                chunk->column_index_offset += column_indexes;
            if (chunk->offset_index_offset >= 0)
                chunk->offset_index_offset += offset_indexes;
        }
    if (w->column_indexes.len)
        SL_TRY(sl_output_write(w->output, w->column_indexes.data, w->column_indexes.len));
    if (w->offset_indexes.len)
        SL_TRY(sl_output_write(w->output, w->offset_indexes.data, w->offset_indexes.len));
    return SL_OK;
}

static sl_status encode_footer(sl_parquet_writer *w, sl_buf *footer)
{
    size_t key_value_count = w->key_value_count + w->footer_checksum;
    struct parquet_key_value *key_values = arena_zeroed(w->arena, key_value_count * sizeof *key_values);
    enum parquet_column_order *orders = sl_arena_alloc(w->arena, w->layout.leaf_count * sizeof *orders);
    if (!key_values || !orders)
        return sl_nomem();
    for (size_t i = 0; i < w->layout.leaf_count; i++)
        orders[i] = PARQUET_ORDER_TYPE;
    for (size_t i = 0; i < w->key_value_count; i++)
        key_values[i] = (struct parquet_key_value){w->key_values[i].key, w->key_values[i].value,
                                                   strlen(w->key_values[i].value)};
    if (w->footer_checksum)
        key_values[w->key_value_count] =
            (struct parquet_key_value){PARQUET_FOOTER_CHECKSUM, PARQUET_FOOTER_UNSEALED, 8};
    struct parquet_file_metadata meta = {
        .version = 1,
        .schema = w->layout.elements,
        .schema_count = w->layout.element_count,
        .num_rows = w->done_rows,
        .row_groups = w->groups,
        .row_group_count = w->group_count,
        .key_values = key_values,
        .key_value_count = key_value_count,
        .created_by = w->created_by,
        .has_column_orders = true,
        .column_orders = orders,
        .column_order_count = w->layout.leaf_count,
    };
    SL_TRY(parquet_file_metadata_encode(&meta, footer));
    if (footer->len > INT32_MAX)
        return sl_unsupported("a Parquet footer beyond 2 GiB");
    if (w->footer_checksum)
        parquet_footer_seal(footer->data, footer->len);
    uint8_t tail[8];
    store_le32(tail, (uint32_t)footer->len);
    memcpy(tail + 4, PARQUET_MAGIC, 4);
    return sl_buf_append(footer, tail, sizeof tail);
}

static sl_status finish_file(sl_parquet_writer *w)
{
    if (w->failed)
        return sl_internal("a Parquet writer was used after it failed");
    SL_TRY(writer_flush(w));
    SL_TRY(write_page_indexes(w));
    sl_buf footer = {0};
    sl_status status = encode_footer(w, &footer);
    if (!status)
        status = sl_output_write(w->output, footer.data, footer.len);
    sl_buf_free(&footer);
    return status;
}

sl_status sl_parquet_writer_finish(sl_parquet_writer *w, struct sl_parquet_written *out)
{
    sl_status status = finish_file(w);
    if (!status && out)
        *out = (struct sl_parquet_written){.rows = w->done_rows,
                                           .bytes = sl_output_offset(w->output) - w->start};
    sl_parquet_writer_free(w);
    return status;
}
