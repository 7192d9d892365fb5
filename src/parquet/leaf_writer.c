/*
 * One leaf of a row group: blocks of rows become pages, closed pages are compressed at once and kept until
 * the row group is written, when all chunks go to the file one behind the other.
 *
 *     rows -> [definition, repetition | values or dictionary indexes] -> page body -> codec -> header, stored body
 *
 * How values are encoded says leaf_choice.c; where pages end, leaf_rows.c.
 */
#include "parquet/write_int.h"

#define DICTIONARY_WIDTH_MAX 256 /* wider fixed values rarely repeat and would make blocks large */

sl_status leaf_writer_init(struct leaf_writer *w, const struct write_leaf *leaf,
                           const struct write_settings *settings, const struct leaf_choice *choice)
{
    *w = (struct leaf_writer){
        .leaf = leaf, .settings = settings, .choice = choice, .page_number = 1, .ratio = 1};
    w->dictionary.width = leaf->width;
    return leaf_writer_next_chunk(w);
}

/* ---- pages --------------------------------------------------------------------------------------------- */

/* Version 1 has the length in front, version 2 in the page header. *bytes: without that length. */
static sl_status append_levels(struct leaf_writer *w, struct write_scratch *s, const sl_buf *levels, int max,
                               bool bitmap, int32_t *bytes)
{
    size_t at = s->body.len, prefix = w->settings->page_v2 ? 0 : 4, count = (size_t)w->page_levels;
    uint8_t length[4] = {0};
    SL_TRY(sl_buf_append(&s->body, length, prefix));
    if (bitmap)
        SL_TRY(rle_encode_bits(levels->data, count, &s->body));
    else
        SL_TRY(rle_encode_levels(levels->data, count, parquet_bit_width((uint32_t)max), &s->body));
    *bytes = (int32_t)(s->body.len - at - prefix);
    if (prefix)
        store_le32(s->body.data + at, (uint32_t)*bytes);
    return SL_OK;
}

static sl_status assemble_body(struct leaf_writer *w, struct write_scratch *s, bool dictionary,
                               struct parquet_page_header *header)
{
    const struct write_leaf *leaf = w->leaf;
    s->body.len = 0;
    header->repetition_bytes = header->definition_bytes = 0;
    if (leaf->max_repetition)
        SL_TRY(append_levels(w, s, &w->repetition, leaf->max_repetition, false, &header->repetition_bytes));
    if (leaf->max_definition)
        SL_TRY(
            append_levels(w, s, &w->definition, leaf->max_definition, leaf->flat, &header->definition_bytes));
    if (!dictionary)
        return values_encode(leaf, w->encoding, &w->body, (size_t)w->page_values, &s->lengths, &s->body);
    int width = leaf_index_width(&w->dictionary);
    SL_TRY(sl_buf_byte(&s->body, (uint8_t)width));
    return rle_encode(w->indexes, (size_t)w->page_values, width, &s->body);
}

static struct page_blob *next_blob(struct leaf_writer *w)
{
    if (w->blob_count == w->blob_capacity) {
        size_t capacity = w->blob_capacity ? w->blob_capacity * 2 : 16;
        struct page_blob *grown = sl_realloc_array(w->blobs, capacity, sizeof *grown);
        if (!grown)
            return NULL;
        w->blobs = grown;
        w->blob_capacity = capacity;
    }
    return &w->blobs[w->blob_count];
}

static void reset_page(struct leaf_writer *w)
{
    w->page_rows = w->page_levels = w->page_values = 0;
    w->definition.len = w->repetition.len = w->body.len = 0;
    w->page_raw_bytes = 0;
    w->page_number++;
    bounds_clear(&w->page_bounds);
}

/* ---- closing ------------------------------------------------------------------------------------------- */

/* Adds how often each level up to `max` occurs in the page to its histogram. */
static void count_levels(const struct leaf_writer *w, const sl_buf *levels, int max, bool bitmap,
                         int64_t *counts)
{
    if (max == 0) {
        counts[0] += w->page_levels;
    } else if (bitmap) {
        counts[0] += w->page_levels - w->page_values;
        counts[1] += w->page_values;
    } else {
        for (int64_t i = 0; i < w->page_levels; i++)
            counts[levels->data[i]]++;
    }
}

/* Histograms of the page, kept for the column index and added to those of the chunk. */
static sl_status note_sizes(struct leaf_writer *w, struct page_facts *facts)
{
    const struct write_leaf *leaf = w->leaf;
    facts->unencoded_bytes =
        leaf->kind == WRITE_BYTES ? (int64_t)(w->page_raw_bytes - 4 * (size_t)w->page_values) : 0;
    w->unencoded_bytes += facts->unencoded_bytes;
    if (!w->settings->size_statistics)
        return SL_OK;
    size_t definitions = (size_t)leaf->max_definition + 1, all = definitions + leaf->max_repetition + 1;
    if (!w->level_histograms)
        SL_NEW_ARRAY(w->level_histograms, all);
    int64_t counts[2 * 256] = {0};
    count_levels(w, &w->definition, leaf->max_definition, leaf->flat, counts);
    count_levels(w, &w->repetition, leaf->max_repetition, false, counts + definitions);
    for (size_t i = 0; i < all; i++)
        w->level_histograms[i] += counts[i];
    return sl_buf_append(&w->pages.histograms, counts, all * sizeof *counts);
}

static sl_status add_to_bloom(struct leaf_writer *w, bool dictionary)
{
    if (!w->choice->bloom_filter || dictionary || w->page_values == 0) /* entries follow at the end */
        return SL_OK;
    return bloom_add_plain(&w->bloom, w->body.data, (size_t)w->page_values, w->leaf->width);
}

sl_status leaf_writer_close_page(struct leaf_writer *w, struct write_scratch *s)
{
    if (w->page_levels == 0)
        return SL_OK;
    if (w->page_levels > INT32_MAX)
        return sl_input("column %s: more than 2^31 values in one row", w->leaf->name);
    bool dictionary, v2 = w->settings->page_v2;
    SL_TRY(leaf_settle_dictionary(w, s, &dictionary));
    if (!dictionary && w->choice->automatic && !w->encoding_decided && w->page_values > 0) {
        size_t size;
        SL_TRY(leaf_try_encodings(w, s, &size));
    }
    enum parquet_encoding indexes = v2 ? PARQUET_RLE_DICTIONARY : PARQUET_PLAIN_DICTIONARY;
    struct parquet_page_header header = {
        .type = v2 ? PARQUET_PAGE_DATA_V2 : PARQUET_PAGE_DATA,
        .num_values = (int32_t)w->page_levels,
        .num_nulls = (int32_t)(w->page_levels - w->page_values),
        .num_rows = (int32_t)w->page_rows,
        .encoding = dictionary ? (int32_t)indexes : (int32_t)w->encoding,
        .definition_encoding = PARQUET_RLE,
        .repetition_encoding = PARQUET_RLE,
    };
    SL_TRY(assemble_body(w, s, dictionary, &header));
    SL_TRY(add_to_bloom(w, dictionary));
    size_t levels = v2 ? (size_t)header.repetition_bytes + (size_t)header.definition_bytes : 0;
    struct page_blob *blob = next_blob(w);
    if (!blob)
        return sl_nomem();
    SL_TRY(leaf_store_page(w, s, &s->body, levels, &header, blob));
    w->blob_count++;
    struct page_facts facts = {
        .first_row = w->rows - w->page_rows,
        .null_count = w->page_levels - w->page_values,
        .stored_bytes = (uint32_t)blob->len,
        .all_null = w->page_values == 0,
    };
    SL_TRY(note_sizes(w, &facts));
    if (w->settings->page_index)
        SL_TRY(chunk_pages_add(&w->pages, w->leaf, &facts, &w->page_bounds));
    SL_TRY(bounds_merge(&w->bounds, w->leaf->order, &w->page_bounds));
    w->nulls += facts.null_count;
    w->levels += w->page_levels;
    if (dictionary)
        w->dictionary_pages++;
    else
        w->value_pages[w->encoding]++;
    reset_page(w);
    return SL_OK;
}

static sl_status close_bloom(struct leaf_writer *w)
{
    if (!w->choice->bloom_filter || w->levels == w->nulls)
        return SL_OK;
    if (w->dictionary_pages)
        SL_TRY(bloom_add_plain(&w->bloom, w->dictionary.storage.data, w->dictionary.count, w->leaf->width));
    return bloom_finish(&w->bloom, &w->bloom_filter);
}

sl_status leaf_writer_close_chunk(struct leaf_writer *w, struct write_scratch *s)
{
    SL_TRY(leaf_writer_close_page(w, s));
    SL_TRY(close_bloom(w));
    if (w->dictionary_pages == 0)
        return SL_OK;
    struct parquet_page_header header = {
        .type = PARQUET_PAGE_DICTIONARY,
        .num_values = (int32_t)w->dictionary.count,
        .encoding = w->settings->page_v2 ? PARQUET_PLAIN : PARQUET_PLAIN_DICTIONARY,
    };
    return leaf_store_page(w, s, &w->dictionary.storage, 0, &header, &w->dictionary_page);
}

/* ---- the chunk ----------------------------------------------------------------------------------------- */

/* Bytes that the page in progress has so far, without levels. */
size_t leaf_page_bytes(const struct leaf_writer *w)
{
    if (w->dictionary_active)
        return (size_t)w->page_values * (size_t)leaf_index_width(&w->dictionary) / 8;
    return w->body.len;
}

uint64_t leaf_writer_estimate(const struct leaf_writer *w)
{
    uint64_t open = leaf_page_bytes(w) + w->definition.len / 8 + w->repetition.len / 8;
    if (w->dictionary_active || w->dictionary_pages)
        open += w->dictionary.storage.len;
    double ratio =
        w->uncompressed_bytes ? (double)w->compressed_bytes / (double)w->uncompressed_bytes : w->ratio;
    return w->compressed_bytes + (uint64_t)((double)open * ratio);
}

size_t leaf_writer_memory(const struct leaf_writer *w)
{
    return (size_t)w->compressed_bytes + w->definition.cap + w->repetition.cap + w->body.cap +
           w->indexes_capacity * sizeof *w->indexes + w->blob_capacity * sizeof *w->blobs +
           dictionary_memory(&w->dictionary) + w->pages.capacity * sizeof *w->pages.pages +
           w->pages.bounds.cap + w->bounds.min_bytes.cap + w->bounds.max_bytes.cap +
           w->page_bounds.min_bytes.cap + w->page_bounds.max_bytes.cap + w->pages.histograms.cap +
           bloom_memory(&w->bloom) + w->bloom_filter.cap;
}

static void free_blobs(struct leaf_writer *w)
{
    for (size_t i = 0; i < w->blob_count; i++)
        sl_free(w->blobs[i].data);
    w->blob_count = 0;
    sl_free(w->dictionary_page.data);
    w->dictionary_page = (struct page_blob){0};
}

sl_status leaf_writer_next_chunk(struct leaf_writer *w)
{
    free_blobs(w);
    reset_page(w);
    chunk_pages_clear(&w->pages);
    bounds_clear(&w->bounds);
    dictionary_clear(&w->dictionary);
    const struct write_leaf *leaf = w->leaf;
    w->twin = NULL;
    w->dictionary_active = w->settings->dictionary && w->choice->dictionary && leaf->kind != WRITE_BOOL &&
                           leaf->width <= DICTIONARY_WIDTH_MAX;
    w->dictionary_decided = w->encoding_decided = false;
    w->encoding = w->choice->encoding;
    w->rows = w->levels = w->nulls = 0;
    if (w->uncompressed_bytes)
        w->ratio = (double)w->compressed_bytes / (double)w->uncompressed_bytes;
    w->uncompressed_bytes = w->compressed_bytes = 0;
    w->dictionary_pages = 0;
    memset(w->value_pages, 0, sizeof w->value_pages);
    w->unencoded_bytes = 0;
    sl_free(w->level_histograms);
    w->level_histograms = NULL;
    w->bloom_filter.len = 0;
    if (w->choice->bloom_filter)
        return bloom_start(&w->bloom, w->choice->bloom_distinct, w->choice->bloom_fpp);
    return SL_OK;
}

void leaf_writer_free(struct leaf_writer *w)
{
    free_blobs(w);
    sl_free(w->blobs);
    sl_free(w->indexes);
    sl_buf_free(&w->definition);
    sl_buf_free(&w->repetition);
    sl_buf_free(&w->body);
    bounds_free(&w->page_bounds);
    bounds_free(&w->bounds);
    dictionary_free(&w->dictionary);
    chunk_pages_free(&w->pages);
    bloom_free(&w->bloom);
    sl_buf_free(&w->bloom_filter);
    sl_free(w->level_histograms);
}

void write_scratch_free(struct write_scratch *s)
{
    if (!s)
        return;
    compressor_free(&s->compressor);
    sl_buf_free(&s->body);
    sl_buf_free(&s->stored);
    sl_buf_free(&s->header);
    sl_buf_free(&s->gathered);
    sl_buf_free(&s->lengths);
    sl_buf_free(&s->trial);
    levels_free(&s->levels);
    sl_free(s);
}
