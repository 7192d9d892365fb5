/*
 * One leaf of a row group: blocks of rows become pages, closed pages are compressed at once and kept until
 * the row group is written, when all chunks go to the file one behind the other.
 *
 *     rows -> [definition, repetition | values or dictionary indexes] -> page body -> codec -> header +
 * stored body
 *
 * Every chunk starts with a dictionary. It is given up when the first page shows that it does not pay (that
 * page is then encoded anew, as PLAIN) or when it has grown to WRITE_DICTIONARY_BYTES (pages written so far
 * keep using it).
 *
 * Pages start at row boundaries and end at page_rows rows or page_bytes bytes, whatever comes first.
 */
#include "parquet/write_int.h"

#define DICTIONARY_WIDTH_MAX 256 /* wider fixed values rarely repeat and would make blocks large */

void leaf_writer_init(struct leaf_writer *w, const struct write_leaf *leaf,
                      const struct write_settings *settings)
{
    *w = (struct leaf_writer){.leaf = leaf, .settings = settings, .page_number = 1, .ratio = 1};
    w->dictionary.width = leaf->width;
    leaf_writer_next_chunk(w);
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

/* Compresses `body` and puts the header in front; sizes and checksum of `header` are filled in. */
static sl_status store_page(struct leaf_writer *w, struct write_scratch *s, const sl_buf *body,
                            struct parquet_page_header *header, struct page_blob *out)
{
    if (body->len > INT32_MAX)
        return sl_input("column %s: a page of %zu bytes is beyond Parquet's 2 GiB", w->leaf->name, body->len);
    s->stored.len = s->header.len = 0;
    const sl_buf *stored = body;
    if (s->compressor.codec != SL_CODEC_NONE) {
        SL_TRY(compressor_append(&s->compressor, body->data, body->len, &s->stored));
        stored = &s->stored;
    }
    if (stored->len > INT32_MAX)
        return sl_input("column %s: a compressed page of %zu bytes is beyond Parquet's 2 GiB", w->leaf->name,
                        stored->len);
    header->uncompressed_size = (int32_t)body->len;
    header->compressed_size = (int32_t)stored->len;
    header->has_crc = true;
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

static sl_status give_dictionary_up(struct leaf_writer *w)
{
    w->body.len = 0;
    SL_TRY(dictionary_append_plain(&w->dictionary, w->indexes, (size_t)w->page_values, &w->body));
    w->dictionary_active = false;
    dictionary_free(&w->dictionary);
    return SL_OK;
}

static sl_status append_levels(struct write_scratch *s, sl_buf *levels, size_t count, int max, bool bitmap)
{
    size_t at = s->body.len;
    uint8_t length[4] = {0};
    SL_TRY(sl_buf_append(&s->body, length, 4));
    if (bitmap)
        SL_TRY(rle_encode_bits(levels->data, count, &s->body));
    else
        SL_TRY(rle_encode_levels(levels->data, count, parquet_bit_width((uint32_t)max), &s->body));
    store_le32(s->body.data + at, (uint32_t)(s->body.len - at - 4));
    return SL_OK;
}

static sl_status assemble_body(struct leaf_writer *w, struct write_scratch *s, bool dictionary)
{
    const struct write_leaf *leaf = w->leaf;
    s->body.len = 0;
    if (leaf->max_repetition)
        SL_TRY(append_levels(s, &w->repetition, (size_t)w->page_levels, leaf->max_repetition, false));
    if (leaf->max_definition)
        SL_TRY(append_levels(s, &w->definition, (size_t)w->page_levels, leaf->max_definition, leaf->flat));
    if (!dictionary)
        return sl_buf_append(&s->body, w->body.data ? (const void *)w->body.data : "", w->body.len);
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

/* Bounds of strings in dictionary pages come from the entries in use; then the first page decides about the
 * dictionary. */
static sl_status settle_dictionary(struct leaf_writer *w, bool *dictionary)
{
    *dictionary = w->dictionary_active && w->page_values > 0;
    if (!*dictionary)
        return SL_OK;
    if (w->leaf->kind == WRITE_BYTES)
        SL_TRY(bounds_add_entries(&w->page_bounds, &w->dictionary, w->indexes, (size_t)w->page_values,
                                  w->page_number));
    if (!w->dictionary_decided) {
        w->dictionary_decided = true;
        if (!dictionary_pays(w)) {
            *dictionary = false;
            return give_dictionary_up(w);
        }
    }
    if (w->dictionary.storage.len >= WRITE_DICTIONARY_BYTES)
        w->dictionary_active = false;
    return SL_OK;
}

sl_status leaf_writer_close_page(struct leaf_writer *w, struct write_scratch *s)
{
    if (w->page_levels == 0)
        return SL_OK;
    if (w->page_levels > INT32_MAX)
        return sl_input("column %s: more than 2^31 values in one row", w->leaf->name);
    bool dictionary;
    SL_TRY(settle_dictionary(w, &dictionary));
    SL_TRY(assemble_body(w, s, dictionary));
    struct parquet_page_header header = {
        .type = PARQUET_PAGE_DATA,
        .num_values = (int32_t)w->page_levels,
        .encoding = dictionary ? PARQUET_PLAIN_DICTIONARY : PARQUET_PLAIN,
        .definition_encoding = PARQUET_RLE,
        .repetition_encoding = PARQUET_RLE,
    };
    struct page_blob *blob = next_blob(w);
    if (!blob)
        return sl_nomem();
    SL_TRY(store_page(w, s, &s->body, &header, blob));
    w->blob_count++;
    struct page_facts facts = {
        .first_row = w->rows - w->page_rows,
        .null_count = w->page_levels - w->page_values,
        .stored_bytes = (uint32_t)blob->len,
        .all_null = w->page_values == 0,
    };
    if (w->settings->page_index)
        SL_TRY(chunk_pages_add(&w->pages, w->leaf, &facts, &w->page_bounds));
    SL_TRY(bounds_merge(&w->bounds, w->leaf->order, &w->page_bounds));
    w->nulls += facts.null_count;
    w->levels += w->page_levels;
    if (dictionary)
        w->dictionary_pages++;
    else
        w->plain_pages++;
    reset_page(w);
    return SL_OK;
}

sl_status leaf_writer_close_chunk(struct leaf_writer *w, struct write_scratch *s)
{
    SL_TRY(leaf_writer_close_page(w, s));
    if (w->dictionary_pages == 0)
        return SL_OK;
    struct parquet_page_header header = {
        .type = PARQUET_PAGE_DICTIONARY,
        .num_values = (int32_t)w->dictionary.count,
        .encoding = PARQUET_PLAIN_DICTIONARY,
    };
    return store_page(w, s, &w->dictionary.storage, &header, &w->dictionary_page);
}

/* Bytes that the page in progress has so far, without levels. */
static size_t page_bytes(const struct leaf_writer *w)
{
    if (w->dictionary_active)
        return (size_t)w->page_values * (size_t)index_width(&w->dictionary) / 8;
    return w->body.len;
}

static sl_status close_full_page(struct leaf_writer *w, struct write_scratch *s)
{
    size_t bytes = page_bytes(w) + (w->leaf->flat ? 0 : w->definition.len / 8 + w->repetition.len / 8);
    if (w->page_rows >= w->settings->page_rows || bytes >= w->settings->page_bytes ||
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
    *valid = count;
    if (validity) {
        *valid = 0;
        for (int64_t i = 0; i < count; i++)
            *valid += bit_get(validity, from + i);
    }
    return SL_OK;
}

/* The rows of the block's values, or NULL when they are all the rows of a plain array. */
static const int32_t *block_slots(const sl_array *column, const uint8_t *validity, int64_t from,
                                  int64_t count, int64_t valid, int32_t *slots)
{
    if (valid == count && !column->dictionary)
        return NULL;
    size_t n = 0;
    if (valid == count)
        for (int64_t i = 0; i < count; i++)
            slots[i] = (int32_t)(from + i);
    else
        for (int64_t i = 0; i < count; i++) {
            slots[n & (WRITE_BLOCK - 1)] = (int32_t)(from + i);
            n += bit_get(validity, from + i);
        }
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
    };
    SL_TRY(leaf_writer_values(w, s, &view));
    w->page_rows += count;
    w->rows += count;
    w->page_levels += count;
    return close_full_page(w, s);
}

static sl_status put_flat(struct leaf_writer *w, struct write_scratch *s, const sl_array *column,
                          int64_t from, int64_t count)
{
    if (from + count > INT32_MAX)
        return sl_input("column %s: more than 2^31 rows in one batch", w->leaf->name);
    while (count > 0) {
        int64_t n = w->settings->page_rows - w->page_rows;
        n = n < WRITE_BLOCK ? n : WRITE_BLOCK;
        n = n < count ? n : count;
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
    struct value_view view = {.array = array->dictionary ? array->dictionary : array};
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
        int64_t n = w->settings->page_rows - w->page_rows;
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
           w->page_bounds.min_bytes.cap + w->page_bounds.max_bytes.cap;
}

static void free_blobs(struct leaf_writer *w)
{
    for (size_t i = 0; i < w->blob_count; i++)
        sl_free(w->blobs[i].data);
    w->blob_count = 0;
    sl_free(w->dictionary_page.data);
    w->dictionary_page = (struct page_blob){0};
}

void leaf_writer_next_chunk(struct leaf_writer *w)
{
    free_blobs(w);
    reset_page(w);
    chunk_pages_clear(&w->pages);
    bounds_clear(&w->bounds);
    dictionary_clear(&w->dictionary);
    const struct write_leaf *leaf = w->leaf;
    w->dictionary_active =
        w->settings->dictionary && leaf->kind != WRITE_BOOL && leaf->width <= DICTIONARY_WIDTH_MAX;
    w->dictionary_decided = false;
    w->rows = w->levels = w->nulls = 0;
    if (w->uncompressed_bytes)
        w->ratio = (double)w->compressed_bytes / (double)w->uncompressed_bytes;
    w->uncompressed_bytes = w->compressed_bytes = 0;
    w->plain_pages = w->dictionary_pages = 0;
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
    levels_free(&s->levels);
    sl_free(s);
}
