/*
 * A chunk copied whole, dictionary page included. All that changes is where it lies, so offsets are moved by the
 * distance and everything else is taken over from the source's footer and indexes, without looking at a value. What
 * only holds in the source's own file, under its own created_by and column orders, is left out.
 */
#include "parquet/copy_int.h"

#define COPY_BYTES         ((size_t)1 << 20)
#define INDEX_BYTES_MAX    ((size_t)1 << 30)
#define BLOOM_HEADER_BYTES 64 /* of a header; 15 to 20 are used */

/* ---- bytes --------------------------------------------------------------------------------------------- */

sl_status copy_bytes(struct group_copy *c, uint64_t offset, uint64_t len)
{
    const uint8_t *memory = sl_file_memory(c->source->file);
    while (len > 0) {
        size_t n = len < COPY_BYTES ? (size_t)len : COPY_BYTES;
        const uint8_t *data = memory ? memory + offset : NULL;
        if (!data) {
            c->buffer.len = 0;
            SL_TRY(sl_buf_reserve(&c->buffer, n));
            SL_TRY(sl_file_read_at(c->source->file, offset, c->buffer.data, n));
            data = c->buffer.data;
        }
        SL_TRY(sl_output_write(c->w->output, data, n));
        c->w->copied.bytes += n;
        offset += n;
        len -= n;
    }
    return SL_OK;
}

sl_status copy_read_piece(struct group_copy *c, int64_t offset, int64_t len, const char *what)
{
    uint64_t end = c->source->data_end;
    if (offset < 4 || len < 0 || (uint64_t)len > INDEX_BYTES_MAX || (uint64_t)offset > end ||
        (uint64_t)len > end - (uint64_t)offset)
        return sl_corrupt("%s of %" PRId64 " bytes at %" PRId64 " is not inside the file", what, len, offset);
    c->buffer.len = 0;
    SL_TRY(sl_buf_reserve(&c->buffer, (size_t)len + 1));
    SL_TRY(sl_file_read_at(c->source->file, (uint64_t)offset, c->buffer.data, (size_t)len));
    c->buffer.len = (size_t)len;
    return SL_OK;
}

/* Where the chunk's pages are: *start and total_compressed_size bytes, checked. */
static sl_status chunk_start(const struct group_copy *c, const struct parquet_column_meta *meta,
                             uint64_t *start)
{
    int64_t first = meta->data_page_offset;
    if (meta->dictionary_page_offset > 0 && meta->dictionary_page_offset < first)
        first = meta->dictionary_page_offset;
    uint64_t end = c->source->data_end;
    *start = (uint64_t)first;
    if (meta->num_values == 0 && meta->total_compressed_size == 0)
        return SL_OK;
    if (first < 4 || (uint64_t)first >= end || meta->total_compressed_size < 0 ||
        (uint64_t)meta->total_compressed_size > end - (uint64_t)first)
        return sl_corrupt("column chunk of %" PRId64 " bytes at %" PRId64 " is not inside the file",
                          meta->total_compressed_size, first);
    return SL_OK;
}

/* ---- facts --------------------------------------------------------------------------------------------- */

sl_status copy_keep(sl_arena *arena, const void *data, size_t bytes, const void **out)
{
    void *copy = sl_arena_alloc(arena, bytes ? bytes : 1);
    if (!copy)
        return sl_nomem();
    if (bytes)
        memcpy(copy, data, bytes);
    *out = copy;
    return SL_OK;
}

static sl_status keep_bound(sl_arena *arena, struct parquet_bytes *bytes)
{
    const void *copy;
    if (!bytes->data)
        return SL_OK;
    SL_TRY(copy_keep(arena, bytes->data, bytes->len, &copy));
    bytes->data = copy;
    return SL_OK;
}

/* Our file says TYPE_ORDER for every leaf; the source must have meant the same. */
bool copy_order_is_ours(const sl_parquet *source, size_t leaf)
{
    const struct parquet_file_metadata *meta = &source->meta;
    return meta->has_column_orders && leaf < meta->column_order_count &&
           meta->column_orders[leaf] == PARQUET_ORDER_TYPE;
}

/* parquet-cpp before 1.3 compared bytes as signed numbers: under our name its bounds would be trusted. */
bool copy_bounds_are_sound(const sl_parquet *source, const struct write_leaf *leaf)
{
    bool bytes = leaf->physical == PARQUET_BYTE_ARRAY || leaf->physical == PARQUET_FIXED;
    return !bytes || !parquet_written_before(source->meta.created_by, "parquet-cpp", 1, 3);
}

static sl_status copy_statistics(struct group_copy *c, size_t leaf, struct parquet_statistics *s)
{
    static const struct parquet_bytes absent;
    bool sound = copy_bounds_are_sound(c->source, &c->w->layout.leaves[leaf]);
    if (!sound || !copy_order_is_ours(c->source, leaf)) {
        s->min_value = s->max_value = absent;
        s->min_exact = s->max_exact = -1;
    }
    if (!sound)
        s->min = s->max = absent;
    SL_TRY(keep_bound(c->w->arena, &s->min));
    SL_TRY(keep_bound(c->w->arena, &s->max));
    SL_TRY(keep_bound(c->w->arena, &s->min_value));
    return keep_bound(c->w->arena, &s->max_value);
}

static sl_status copy_sizes(sl_arena *arena, struct parquet_size_statistics *s)
{
    const void *copy;
    if (s->repetition_histogram) {
        SL_TRY(copy_keep(arena, s->repetition_histogram, s->repetition_levels * sizeof(int64_t), &copy));
        s->repetition_histogram = copy;
    }
    if (s->definition_histogram) {
        SL_TRY(copy_keep(arena, s->definition_histogram, s->definition_levels * sizeof(int64_t), &copy));
        s->definition_histogram = copy;
    }
    return SL_OK;
}

sl_status copy_key_values(sl_arena *arena, struct parquet_column_meta *meta)
{
    const void *copy;
    if (meta->key_value_count == 0)
        return SL_OK;
    struct parquet_key_value *list = sl_arena_alloc(arena, meta->key_value_count * sizeof *list);
    if (!list)
        return sl_nomem();
    for (size_t i = 0; i < meta->key_value_count; i++) {
        list[i] = meta->key_values[i];
        SL_TRY(copy_keep(arena, list[i].key, strlen(list[i].key) + 1, &copy));
        list[i].key = copy;
        if (list[i].value) {
            SL_TRY(copy_keep(arena, list[i].value, list[i].value_len, &copy));
            list[i].value = copy;
        }
    }
    meta->key_values = list;
    return SL_OK;
}

/* Offsets that nobody checked may wrap. */
static int64_t moved(int64_t offset, int64_t distance)
{
    return (int64_t)((uint64_t)offset + (uint64_t)distance);
}

/* The metadata of chunk `leaf`, its pages now `distance` further on. */
static sl_status copy_meta(struct group_copy *c, size_t leaf, int64_t distance)
{
    struct parquet_column_meta *meta = &c->to->columns[leaf].meta;
    sl_arena *arena = c->w->arena;
    const void *copy;
    *meta = c->from->columns[leaf].meta;
    meta->path = (const char *const *)c->w->layout.leaves[leaf].path;
    meta->path_count = c->w->layout.leaves[leaf].path_count;
    meta->data_page_offset = moved(meta->data_page_offset, distance);
    if (meta->dictionary_page_offset > 0)
        meta->dictionary_page_offset = moved(meta->dictionary_page_offset, distance);
    else
        meta->dictionary_page_offset = -1; /* absent, or the 0 that some write for it */
    meta->index_page_offset = meta->bloom_filter_offset = -1;
    meta->bloom_filter_length = -1;
    SL_TRY(copy_keep(arena, meta->encodings, meta->encoding_count * sizeof *meta->encodings, &copy));
    meta->encodings = copy;
    SL_TRY(copy_keep(arena, meta->encoding_stats, meta->encoding_stats_count * sizeof *meta->encoding_stats,
                     &copy));
    meta->encoding_stats = copy;
    SL_TRY(copy_key_values(arena, meta));
    if (meta->has_statistics)
        SL_TRY(copy_statistics(c, leaf, &meta->statistics));
    if (meta->has_size_statistics)
        SL_TRY(copy_sizes(arena, &meta->size_statistics));
    return SL_OK;
}

/* ---- indexes ------------------------------------------------------------------------------------------- */

/* Whether the locations tell one page after the other of the chunk's own bytes; else the index is left out
 * (spec/parquet.md 6). */
static bool index_is_sane(const struct group_copy *c, const struct parquet_offset_index *index,
                          uint64_t start, uint64_t end)
{
    uint64_t at = start;
    int64_t row = 0;
    for (size_t i = 0; i < index->page_count; i++) {
        const struct parquet_page_location *page = &index->pages[i];
        if (page->offset < 0 || (uint64_t)page->offset < at || page->compressed_size < 0 ||
            (uint64_t)page->offset > end || (uint64_t)page->compressed_size > end - (uint64_t)page->offset ||
            page->first_row < row || page->first_row > c->from->num_rows)
            return false;
        at = (uint64_t)page->offset + (uint64_t)page->compressed_size;
        row = page->first_row;
    }
    return true;
}

/* Index offsets count from the start of the writer's index buffers until it finishes. */
static sl_status append_index(sl_buf *to, const void *data, size_t len, int64_t *offset, int32_t *length)
{
    if (len > INT32_MAX)
        return sl_unsupported("a page index beyond 2 GiB");
    *offset = (int64_t)to->len;
    *length = (int32_t)len;
    return sl_buf_append(to, data, len);
}

sl_status copy_put_offset_index(struct group_copy *c, size_t leaf, const struct parquet_offset_index *index)
{
    struct parquet_column_chunk *to = &c->to->columns[leaf];
    c->buffer.len = 0;
    SL_TRY(parquet_offset_index_encode(index, &c->buffer));
    return append_index(&c->w->offset_indexes, c->buffer.data, c->buffer.len, &to->offset_index_offset,
                        &to->offset_index_length);
}

sl_status copy_put_column_index(struct group_copy *c, size_t leaf, const void *data, size_t len)
{
    struct parquet_column_chunk *to = &c->to->columns[leaf];
    return append_index(&c->w->column_indexes, data, len, &to->column_index_offset, &to->column_index_length);
}

static sl_status copy_offset_index(struct group_copy *c, size_t leaf, int64_t distance, bool *copied)
{
    const struct parquet_column_chunk *from = &c->from->columns[leaf];
    struct parquet_offset_index index;
    uint64_t start;
    SL_TRY(chunk_start(c, &from->meta, &start));
    SL_TRY(copy_read_piece(c, from->offset_index_offset, from->offset_index_length, "offset index"));
    sl_arena_reset(c->arena);
    SL_TRY(parquet_offset_index_decode(c->buffer.data, c->buffer.len, (uint64_t)from->offset_index_offset,
                                       c->arena, &index));
    if (!index_is_sane(c, &index, start, start + (uint64_t)from->meta.total_compressed_size))
        return SL_OK;
    for (size_t i = 0; i < index.page_count; i++)
        index.pages[i].offset += distance;
    *copied = true;
    c->w->copied.pages += index.page_count;
    return copy_put_offset_index(c, leaf, &index);
}

static sl_status copy_indexes(struct group_copy *c, size_t leaf, int64_t distance)
{
    const struct parquet_column_chunk *from = &c->from->columns[leaf];
    struct parquet_column_chunk *to = &c->to->columns[leaf];
    to->column_index_offset = to->offset_index_offset = -1;
    bool copied = false;
    if (!c->w->settings.page_index || from->offset_index_offset <= 0)
        return SL_OK;
    SL_TRY(copy_offset_index(c, leaf, distance, &copied));
    if (!copied || from->column_index_offset <= 0 || !copy_order_is_ours(c->source, leaf) ||
        !copy_bounds_are_sound(c->source, &c->w->layout.leaves[leaf]))
        return SL_OK;
    /* A column index holds no offsets: its bytes stay as they are. */
    SL_TRY(copy_read_piece(c, from->column_index_offset, from->column_index_length, "column index"));
    return copy_put_column_index(c, leaf, c->buffer.data, c->buffer.len);
}

sl_status copy_bloom(struct group_copy *c, size_t leaf)
{
    const struct parquet_column_meta *from = &c->from->columns[leaf].meta;
    struct parquet_column_meta *to = &c->to->columns[leaf].meta;
    if (from->bloom_filter_offset <= 0)
        return SL_OK;
    int64_t left = (int64_t)c->source->data_end - from->bloom_filter_offset;
    SL_TRY(copy_read_piece(c, from->bloom_filter_offset,
                           left < BLOOM_HEADER_BYTES ? left : BLOOM_HEADER_BYTES, "Bloom filter"));
    int32_t filter_bytes;
    size_t header_bytes;
    SL_TRY(parquet_bloom_header_decode(c->buffer.data, c->buffer.len, (uint64_t)from->bloom_filter_offset,
                                       &filter_bytes, &header_bytes));
    int64_t len = (int64_t)header_bytes + filter_bytes;
    if (len > left || len > INT32_MAX)
        return sl_corrupt("Bloom filter of %" PRId64 " bytes at %" PRId64 " is not inside the file", len,
                          from->bloom_filter_offset);
    to->bloom_filter_offset = (int64_t)(sl_output_offset(c->w->output) - c->w->start);
    to->bloom_filter_length = (int32_t)len;
    return copy_bytes(c, (uint64_t)from->bloom_filter_offset, (uint64_t)len);
}

/* ---- the chunk ----------------------------------------------------------------------------------------- */

sl_status copy_whole_chunk(struct group_copy *c, size_t leaf)
{
    const struct parquet_column_meta *from = &c->from->columns[leaf].meta;
    struct parquet_column_chunk *to = &c->to->columns[leaf];
    uint64_t start;
    SL_TRY(chunk_start(c, from, &start));
    uint64_t here = sl_output_offset(c->w->output) - c->w->start;
    int64_t distance = (int64_t)(here - start); /* chunks without pages may give any start */
    to->has_meta = true;
    to->file_offset = (int64_t)here;
    SL_TRY(copy_bytes(c, start, (uint64_t)from->total_compressed_size));
    SL_TRY(copy_meta(c, leaf, distance));
    return copy_indexes(c, leaf, distance);
}
