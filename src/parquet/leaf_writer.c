/*
 * One leaf of a row group: blocks of rows become pages, closed pages are compressed at once and kept until
 * the row group is written, when all chunks go to the file one behind the other.
 *
 *     rows -> [definition, repetition | values or dictionary indexes] -> page body -> codec -> header +
 * stored body
 *
 * Every chunk starts with a dictionary, unless an encoding was asked for. It is given up when hardly any of the
 * first values repeat, when the first page shows that it does not pay (what the page has is then encoded anew, as
 * PLAIN) or when it has grown to WRITE_DICTIONARY_BYTES (pages written so far keep using it). Values without
 * dictionary are gathered as PLAIN and encoded when their page is closed; under "automatic" the first such page tries
 * what there is.
 *
 * Pages start at row boundaries. They end at every multiple of page_rows rows of the row group, in all leaves alike,
 * so that a stretch of rows can be copied as the pages it is (writer_copy.c); and at page_bytes bytes in between.
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

static sl_status keep_blob(const sl_buf *header, const sl_buf *stored, struct page_blob *out)
{
    uint8_t *data = sl_malloc(header->len + stored->len);
    if (!data)
        return sl_nomem();
    memcpy(data, header->data, header->len);
    if (stored->len)
        memcpy(data + header->len, stored->data, stored->len);
    *out = (struct page_blob){data, header->len + stored->len};
    return SL_OK;
}

/* Compresses `body` but for its first `levels` bytes, which stay as they are in pages of version 2; there, values
 * that do not get smaller stay uncompressed too. *stored: what goes to the file. */
static sl_status compress_body(struct write_scratch *s, const sl_buf *body, size_t levels,
                               struct parquet_page_header *header, const sl_buf **stored)
{
    *stored = body;
    header->is_compressed = false;
    if (s->compressor.codec == SL_CODEC_NONE || (header->type == PARQUET_PAGE_DATA_V2 && body->len == levels))
        return SL_OK;
    s->stored.len = 0;
    if (levels)
        SL_TRY(sl_buf_append(&s->stored, body->data, levels));
    SL_TRY(compressor_append(&s->compressor, body->data ? body->data + levels : NULL, body->len - levels,
                             &s->stored));
    header->is_compressed = header->type != PARQUET_PAGE_DATA_V2 || s->stored.len < body->len;
    if (header->is_compressed)
        *stored = &s->stored;
    return SL_OK;
}

/* Compresses `body` and puts the header in front; sizes and checksum of `header` are filled in. */
static sl_status store_page(struct leaf_writer *w, struct write_scratch *s, const sl_buf *body, size_t levels,
                            struct parquet_page_header *header, struct page_blob *out)
{
    if (body->len > INT32_MAX)
        return sl_input("column %s: a page of %zu bytes is beyond Parquet's 2 GiB", w->leaf->name, body->len);
    s->header.len = 0;
    const sl_buf *stored;
    SL_TRY(compress_body(s, body, levels, header, &stored));
    if (stored->len > INT32_MAX)
        return sl_input("column %s: a compressed page of %zu bytes is beyond Parquet's 2 GiB", w->leaf->name,
                        stored->len);
    header->uncompressed_size = (int32_t)body->len;
    header->compressed_size = (int32_t)stored->len;
    header->has_crc = w->settings->checksums;
    if (header->has_crc)
        header->crc = sl_crc32(0, stored->data ? (const void *)stored->data : "", stored->len);
    SL_TRY(parquet_page_header_encode(header, &s->header));
    SL_TRY(keep_blob(&s->header, stored, out));
    w->uncompressed_bytes += s->header.len + body->len;
    w->compressed_bytes += out->len;
    return SL_OK;
}

static int index_width(const struct dictionary *d)
{
    int width = d->count ? parquet_bit_width(d->count - 1) : 0;
    return width ? width : 1; /* width 0 is legal, but the rarer path in readers */
}

/* Whether dictionary and indexes are smaller than the values themselves. */
static bool dictionary_pays(const struct leaf_writer *w)
{
    size_t indexes = ((size_t)w->page_values * (size_t)index_width(&w->dictionary) + 7) / 8;
    return w->dictionary.storage.len + indexes < w->page_raw_bytes;
}

/* The page's values as PLAIN; the dictionary stays for the caller to keep or to drop. */
static sl_status page_to_plain(struct leaf_writer *w)
{
    w->body.len = 0;
    return dictionary_append_plain(&w->dictionary, w->indexes, (size_t)w->page_values, &w->body);
}

static sl_status give_dictionary_up(struct leaf_writer *w)
{
    SL_TRY(page_to_plain(w));
    w->dictionary_active = false;
    dictionary_free(&w->dictionary);
    return SL_OK;
}

/* Columns of keys and measurements, whose values hardly repeat, need not fill a dictionary for a whole page to show
 * it. Of n values from D, about n*n / 2D repeat one before them; so r repeats in n values let the page of N values
 * expect N*N*r / n*n of them. Each spares its bytes, and every value pays for an index. */
#define DICTIONARY_SAMPLE (2 * WRITE_BLOCK)

static bool dictionary_is_hopeless(const struct leaf_writer *w)
{
    double seen = (double)w->page_values, page = (double)w->settings->page_rows;
    double repeats = (seen - w->dictionary.count) * (page / seen) * (page / seen);
    double spared = repeats * (double)w->page_raw_bytes / seen;
    double indexes = page * index_width(&w->dictionary) / 8;
    return spared < indexes / 2; /* a sample may mislead: when in doubt the whole page shows it */
}

static sl_status look_at_sample(struct leaf_writer *w)
{
    if (!w->dictionary_active || w->dictionary_decided || w->page_values < DICTIONARY_SAMPLE ||
        w->settings->page_rows < 2 * DICTIONARY_SAMPLE || !dictionary_is_hopeless(w))
        return SL_OK;
    w->dictionary_decided = true;
    if (w->leaf->kind == WRITE_BYTES)
        SL_TRY(bounds_add_entries(&w->page_bounds, &w->dictionary, w->indexes, (size_t)w->page_values,
                                  w->page_number));
    return give_dictionary_up(w);
}

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
    int width = index_width(&w->dictionary);
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

/* ---- choosing an encoding ------------------------------------------------------------------------------ */

static sl_status stored_size(struct write_scratch *s, const sl_buf *body, size_t *out)
{
    *out = body->len;
    if (s->compressor.codec == SL_CODEC_NONE)
        return SL_OK;
    s->stored.len = 0;
    SL_TRY(compressor_append(&s->compressor, body->data, body->len, &s->stored));
    *out = s->stored.len;
    return SL_OK;
}

/* Tries on the page's PLAIN values what every Hudi reader reads (see sl_parquet_options_hudi_safe); the smallest
 * after compression wins. */
static sl_status try_encodings(struct leaf_writer *w, struct write_scratch *s, size_t *best)
{
    static const enum parquet_encoding candidates[] = {PARQUET_PLAIN, PARQUET_DELTA_BINARY_PACKED,
                                                       PARQUET_DELTA_BYTE_ARRAY, PARQUET_RLE};
    *best = SIZE_MAX;
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        if (!encoding_fits(candidates[i], w->leaf->physical))
            continue;
        size_t size;
        s->trial.len = 0;
        SL_TRY(
            values_encode(w->leaf, candidates[i], &w->body, (size_t)w->page_values, &s->lengths, &s->trial));
        SL_TRY(stored_size(s, &s->trial, &size));
        if (size < *best) {
            *best = size;
            w->encoding = candidates[i];
        }
    }
    w->encoding_decided = true;
    return SL_OK;
}

/* What dictionary and indexes of the first page take. */
static sl_status dictionary_size(struct leaf_writer *w, struct write_scratch *s, size_t *out)
{
    size_t indexes;
    s->trial.len = 0;
    SL_TRY(rle_encode(w->indexes, (size_t)w->page_values, index_width(&w->dictionary), &s->trial));
    SL_TRY(stored_size(s, &s->trial, &indexes));
    SL_TRY(stored_size(s, &w->dictionary.storage, out));
    *out += indexes;
    return SL_OK;
}

/* The first page decides about the dictionary: by plain sizes, or under "automatic" by what is stored. */
static sl_status decide_dictionary(struct leaf_writer *w, struct write_scratch *s, bool *dictionary)
{
    w->dictionary_decided = true;
    if (!w->choice->automatic) {
        *dictionary = dictionary_pays(w);
        return *dictionary ? SL_OK : give_dictionary_up(w);
    }
    size_t with, without;
    SL_TRY(dictionary_size(w, s, &with));
    SL_TRY(page_to_plain(w));
    SL_TRY(try_encodings(w, s, &without));
    *dictionary = with <= without;
    if (!*dictionary)
        return give_dictionary_up(w);
    w->body.len = 0;
    return SL_OK;
}

/* Bounds of strings in dictionary pages come from the entries in use; then the first page decides about the
 * dictionary. */
static sl_status settle_dictionary(struct leaf_writer *w, struct write_scratch *s, bool *dictionary)
{
    *dictionary = w->dictionary_active && w->page_values > 0;
    if (!*dictionary)
        return SL_OK;
    if (w->leaf->kind == WRITE_BYTES)
        SL_TRY(bounds_add_entries(&w->page_bounds, &w->dictionary, w->indexes, (size_t)w->page_values,
                                  w->page_number));
    if (!w->dictionary_decided) {
        SL_TRY(decide_dictionary(w, s, dictionary));
        if (!*dictionary)
            return SL_OK;
    }
    if (w->dictionary.storage.len >= WRITE_DICTIONARY_BYTES)
        w->dictionary_active = false;
    return SL_OK;
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
    SL_TRY(settle_dictionary(w, s, &dictionary));
    if (!dictionary && w->choice->automatic && !w->encoding_decided && w->page_values > 0) {
        size_t size;
        SL_TRY(try_encodings(w, s, &size));
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
    SL_TRY(store_page(w, s, &s->body, levels, &header, blob));
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
    return store_page(w, s, &w->dictionary.storage, 0, &header, &w->dictionary_page);
}

/* Bytes that the page in progress has so far, without levels. */
static size_t page_bytes(const struct leaf_writer *w)
{
    if (w->dictionary_active)
        return (size_t)w->page_values * (size_t)index_width(&w->dictionary) / 8;
    return w->body.len;
}

/* Rows up to where every leaf ends a page. */
static int64_t rows_to_border(const struct leaf_writer *w)
{
    return w->settings->page_rows - w->rows % w->settings->page_rows;
}

static sl_status close_full_page(struct leaf_writer *w, struct write_scratch *s)
{
    SL_TRY(look_at_sample(w));
    size_t bytes = page_bytes(w) + (w->leaf->flat ? 0 : w->definition.len / 8 + w->repetition.len / 8);
    if (w->rows % w->settings->page_rows == 0 || bytes >= w->settings->page_bytes ||
        (w->dictionary_active && w->dictionary.storage.len >= WRITE_DICTIONARY_BYTES))
        return leaf_writer_close_page(w, s);
    return SL_OK;
}

/* Value bytes that may still join the page; with a dictionary a block's worth, since repeated values cost
 * nothing. */
static size_t page_budget(const struct leaf_writer *w)
{
    if (w->dictionary_active)
        return w->settings->page_bytes;
    return w->body.len < w->settings->page_bytes ? w->settings->page_bytes - w->body.len : 0;
}

/* ---- flat columns -------------------------------------------------------------------------------------- */

static size_t row_bytes(const sl_array *column, int64_t row)
{
    if (column->dictionary) {
        if (!sl_is_valid(column, row))
            return 0;
        row = sl_i32_at(column, row);
        column = column->dictionary;
    }
    return (size_t)(column->offsets[row + 1] - column->offsets[row]);
}

/* How many of the rows from `from` on fit the budget. */
static int64_t rows_that_fit(const struct write_leaf *leaf, const sl_array *column, int64_t from,
                             int64_t count, size_t budget)
{
    if (leaf->kind != WRITE_BYTES) {
        size_t fit = leaf->width ? budget / (size_t)leaf->width : budget * 8;
        return fit < (size_t)count ? (int64_t)fit : count;
    }
    if (!column->dictionary &&
        (size_t)(column->offsets[from + count] - column->offsets[from]) + 4 * (size_t)count <= budget)
        return count;
    size_t bytes = 0;
    for (int64_t i = 0; i < count; i++) {
        bytes += 4 + row_bytes(column, from + i);
        if (bytes > budget)
            return i;
    }
    return count;
}

/* Appends the validity of the rows to the page; *valid gets the number of values. */
static sl_status put_validity(struct leaf_writer *w, const uint8_t *validity, int64_t from, int64_t count,
                              int64_t *valid)
{
    int64_t end = w->page_levels + count;
    SL_TRY(sl_buf_reserve(&w->definition, bitmap_bytes(end) - w->definition.len + 1));
    uint8_t *bits = w->definition.data;
    if (validity) {
        bits_append(bits, w->page_levels, validity, from, count);
    } else {
        static const uint8_t ones[WRITE_BLOCK / 8 + 1] = {
#define EIGHT 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff
            EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT,
            EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT,
        };
        bits_append(bits, w->page_levels, ones, 0, count);
    }
    w->definition.len = bitmap_bytes(end);
    *valid = validity ? (int64_t)parquet_bits_count(validity, (size_t)from, (size_t)count) : count;
    return SL_OK;
}

/* The rows of the block's values, or NULL when they are all the rows of a plain array. */
static const int32_t *block_slots(const sl_array *column, const uint8_t *validity, int64_t from,
                                  int64_t count, int64_t valid, int32_t *slots)
{
    if (valid == count && !column->dictionary)
        return NULL;
    if (valid == count)
        for (int64_t i = 0; i < count; i++)
            slots[i] = (int32_t)(from + i);
    else
        parquet_bits_places(validity, (size_t)from, (size_t)count, slots);
    if (column->dictionary)
        for (int64_t i = 0; i < valid; i++)
            slots[i] = sl_i32_at(column, slots[i]);
    return slots;
}

static sl_status put_flat_block(struct leaf_writer *w, struct write_scratch *s, const sl_array *column,
                                int64_t from, int64_t count)
{
    const uint8_t *validity = column->null_count ? column->validity : NULL;
    int64_t valid = count;
    if (w->leaf->max_definition)
        SL_TRY(put_validity(w, validity, from, count, &valid));
    struct value_view view = {
        .array = column->dictionary ? column->dictionary : column,
        .first = from,
        .slots = block_slots(column, validity, from, count, valid, s->slots),
        .count = (size_t)valid,
        .dictionary = column->dictionary != NULL,
    };
    SL_TRY(leaf_writer_values(w, s, &view));
    w->page_rows += count;
    w->rows += count;
    w->page_levels += count;
    return close_full_page(w, s);
}

/* Room for the values that come, at once: growing into it copies them. */
static sl_status reserve_values(struct leaf_writer *w, const sl_array *column, int64_t from, int64_t count)
{
    if (w->dictionary_active || w->leaf->kind == WRITE_BOOL || column->dictionary)
        return SL_OK;
    size_t bytes = (size_t)count * (size_t)(w->leaf->width ? w->leaf->width : 4);
    if (w->leaf->kind == WRITE_BYTES)
        bytes += (size_t)(column->offsets[from + count] - column->offsets[from]);
    size_t budget = page_budget(w);
    return sl_buf_reserve(&w->body, bytes < budget ? bytes : budget);
}

static sl_status put_flat(struct leaf_writer *w, struct write_scratch *s, const sl_array *column,
                          int64_t from, int64_t count)
{
    if (from + count > INT32_MAX)
        return sl_input("column %s: more than 2^31 rows in one batch", w->leaf->name);
    while (count > 0) {
        int64_t n = rows_to_border(w);
        n = n < count ? n : count;
        SL_TRY(reserve_values(w, column, from, n));
        n = n < WRITE_BLOCK ? n : WRITE_BLOCK;
        int64_t fit = rows_that_fit(w->leaf, column, from, n, page_budget(w));
        if (fit == 0 && w->page_rows > 0) {
            SL_TRY(leaf_writer_close_page(w, s));
            continue;
        }
        n = fit > 0 ? fit : 1;
        SL_TRY(put_flat_block(w, s, column, from, n));
        from += n;
        count -= n;
    }
    return SL_OK;
}

/* ---- nested columns ------------------------------------------------------------------------------------ */

/* Upper bound of the bytes that the leaf's values of some rows take. */
static size_t span_bytes(const struct write_leaf *leaf, const sl_array *column, int64_t from, int64_t count)
{
    const sl_array *array;
    int64_t first, values;
    levels_span(leaf, column, from, count, &array, &first, &values);
    if (values > 0 && leaf->kind == WRITE_BYTES && !array->dictionary)
        return (size_t)(array->offsets[first + values] - array->offsets[first]) + 4 * (size_t)values;
    return (size_t)values * (size_t)(leaf->width ? leaf->width : 4);
}

static sl_status put_nested_block(struct leaf_writer *w, struct write_scratch *s, const sl_array *column,
                                  int64_t from, int64_t count, int64_t file_row)
{
    struct write_levels *levels = &s->levels;
    SL_TRY(levels_build(levels, w->leaf, column, from, count, file_row));
    SL_TRY(sl_buf_append(&w->definition, levels->now.definition, levels->now.count));
    if (w->leaf->max_repetition)
        SL_TRY(sl_buf_append(&w->repetition, levels->now.repetition, levels->now.count));
    const sl_array *array = levels->array;
    int32_t *slots = levels->now.slots;
    if (array->dictionary)
        for (size_t i = 0; i < levels->value_count; i++)
            slots[i] = sl_i32_at(array, slots[i]);
    struct value_view view = {.array = array->dictionary ? array->dictionary : array,
                              .dictionary = array->dictionary != NULL};
    for (size_t i = 0; i < levels->value_count; i += view.count) {
        view.slots = slots + i;
        view.count = levels->value_count - i < WRITE_BLOCK ? levels->value_count - i : WRITE_BLOCK;
        SL_TRY(leaf_writer_values(w, s, &view));
    }
    w->page_rows += count;
    w->rows += count;
    w->page_levels += (int64_t)levels->now.count;
    return close_full_page(w, s);
}

static sl_status put_nested(struct leaf_writer *w, struct write_scratch *s, const sl_array *column,
                            int64_t from, int64_t count, int64_t file_row)
{
    while (count > 0) {
        int64_t n = rows_to_border(w);
        n = n < WRITE_BLOCK ? n : WRITE_BLOCK;
        n = n < count ? n : count;
        size_t budget = page_budget(w);
        while (n > 1 && span_bytes(w->leaf, column, from, n) > budget)
            n /= 2;
        if (w->page_rows > 0 && span_bytes(w->leaf, column, from, n) > budget) {
            if (!w->dictionary_active) {
                SL_TRY(leaf_writer_close_page(w, s));
                continue;
            }
        }
        SL_TRY(put_nested_block(w, s, column, from, n, file_row));
        from += n;
        file_row += n;
        count -= n;
    }
    return SL_OK;
}

sl_status leaf_writer_rows(struct leaf_writer *w, struct write_scratch *s, const sl_array *column,
                           int64_t from, int64_t count, int64_t file_row)
{
    if (w->leaf->flat)
        return put_flat(w, s, column, from, count);
    return put_nested(w, s, column, from, count, file_row);
}

/* ---- the chunk ----------------------------------------------------------------------------------------- */

uint64_t leaf_writer_estimate(const struct leaf_writer *w)
{
    uint64_t open = page_bytes(w) + w->definition.len / 8 + w->repetition.len / 8;
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
