/*
 * The pages of a leaf, one after the other: dictionaries loaded, levels and values of data pages made ready, pages that no
 * wanted row needs passed over.
 */
#include "parquet/read_int.h"

#define PEEK_BYTES 512 /* to see the first page's header: mostly it takes less */

sl_status parquet_chunk_too_short(void)
{
    return sl_corrupt("column chunk has fewer rows than its row group");
}

/* ---- dictionaries -------------------------------------------------------------------------------------- */

static sl_status load_dictionary(struct parquet_leaf_reader *r, const struct parquet_page_header *header,
                                 const struct parquet_page *page)
{
    struct parquet_dictionary *d = &r->dictionary;
    const struct parquet_leaf *leaf = r->leaf;
    size_t count = (size_t)header->num_values, least = leaf->physical_width ? leaf->physical_width : 4;
    struct parquet_values v = {0};
    if (d->present)
        return sl_corrupt("second dictionary page at %" PRIu64, page->offset);
    if (header->encoding != PARQUET_PLAIN && header->encoding != PARQUET_PLAIN_DICTIONARY)
        return sl_unsupported("dictionary page in encoding %s", parquet_encoding_name(header->encoding));
    if (leaf->output == PARQUET_OUT_BOOL)
        return sl_corrupt("dictionary of booleans");
    if (count > page->bytes / least)
        return sl_corrupt("dictionary page at %" PRIu64 ": %zu values in %zu bytes", page->offset, count,
                          page->bytes);
    SL_TRY(parquet_values_init(&v, leaf->element->type, leaf->physical_width, PARQUET_PLAIN, page->data,
                               page->bytes));
    if (leaf->output == PARQUET_OUT_BYTES) {
        d->strings.memory = r->memory;
        SL_TRY(parquet_strings_reserve(&d->strings, 0));
        SL_TRY(parquet_strings_reserve_data(&d->strings, 0));
        SL_TRY(parquet_values_strings(&v, &d->strings, count));
        for (size_t i = 0; i < count; i++) {
            size_t len = (size_t)(d->strings.offsets[i + 1] - d->strings.offsets[i]);
            d->longest = len > d->longest ? len : d->longest;
        }
    } else if (leaf->output == PARQUET_OUT_FIXED) {
        if (!(d->values = parquet_block_alloc(r->memory, count * leaf->width + READ_PAD)))
            return sl_nomem();
        SL_TRY(parquet_leaf_fixed(r, &v, d->values, count));
    }
    d->present = true;
    d->count = (uint32_t)count;
    return SL_OK;
}

/* The dictionary page that was passed over. */
static sl_status load_pending_dictionary(struct parquet_leaf_reader *r)
{
    struct parquet_pages *pages = &r->pages;
    struct parquet_page_header header;
    struct parquet_page page;
    uint64_t offset = pages->offset, header_offset = pages->header_offset, wanted_end = pages->wanted_end;
    bool found;
    pages->offset = r->dictionary_at;
    pages->wanted_end = r->dictionary_end; /* nothing is read ahead */
    r->dictionary_at = 0;
    SL_TRY(parquet_pages_header(pages, &header, &found));
    SL_TRY(parquet_pages_body(pages, &header, &page));
    SL_TRY_CTX(load_dictionary(r, &header, &page), "dictionary page at %" PRIu64, page.offset);
    parquet_pages_drop_body(pages);
    pages->offset = offset;
    pages->header_offset = header_offset;
    pages->wanted_end = wanted_end;
    return SL_OK;
}

static bool needs_dictionary(const struct parquet_page_header *header)
{
    return header->encoding == PARQUET_PLAIN_DICTIONARY || header->encoding == PARQUET_RLE_DICTIONARY;
}

/* Whether there is a dictionary tells the first page only: dictionary_page_offset may be missing. */
sl_status parquet_leaf_open_dictionary(struct parquet_leaf_reader *r, bool selective)
{
    struct parquet_page_header header;
    struct parquet_page page;
    bool found;
    uint64_t start = r->pages.offset, data = (uint64_t)r->chunk->meta.data_page_offset;
    /* Where the first pages are not wanted there is no reading ahead yet. */
    if (selective && start < data && data < r->pages.end)
        r->pages.wanted_end = data;
    else if (selective && r->pages.end - start > PEEK_BYTES)
        r->pages.wanted_end = start + PEEK_BYTES;
    SL_TRY(parquet_pages_header(&r->pages, &header, &found));
    if (!found || header.type != PARQUET_PAGE_DICTIONARY) {
        r->pages.offset = start;
        return SL_OK;
    }
    if (selective) {
        parquet_pages_skip(&r->pages, &header);
        r->dictionary_at = start;
        r->dictionary_end = r->pages.offset;
        return SL_OK;
    }
    SL_TRY(parquet_pages_body(&r->pages, &header, &page));
    SL_TRY_CTX(load_dictionary(r, &header, &page), "dictionary page at %" PRIu64, page.offset);
    parquet_pages_drop_body(&r->pages);
    return SL_OK;
}

/* ---- data pages ---------------------------------------------------------------------------------------- */

/* One level stream of a v1 page; *data moves behind it. */
static sl_status init_levels_v1(struct parquet_hybrid *h, int max, int encoding, int64_t count,
                                const uint8_t **data, size_t *len)
{
    int width = parquet_bit_width((uint32_t)max);
    size_t bytes;
    if (max == 0) /* no stream, whatever the header says of its encoding */
        return SL_OK;
    if (encoding == PARQUET_RLE) {
        if (*len < 4 || load_le32(*data) > *len - 4)
            return sl_corrupt("levels run past their page");
        bytes = load_le32(*data);
        *data += 4;
        *len -= 4;
        parquet_hybrid_init(h, *data, bytes, width);
    } else if (encoding == PARQUET_BIT_PACKED) {
        uint64_t bits = (uint64_t)count * (unsigned)width;
        if ((bits + 7) / 8 > *len)
            return sl_corrupt("levels run past their page");
        bytes = (size_t)((bits + 7) / 8);
        parquet_hybrid_init_msb(h, *data, bytes, width, (size_t)count);
    } else {
        return sl_unsupported("levels in encoding %s (%d)", parquet_encoding_name(encoding), encoding);
    }
    *data += bytes;
    *len -= bytes;
    return SL_OK;
}

static sl_status begin_data_page(struct parquet_leaf_reader *r, const struct parquet_page_header *header,
                                 const struct parquet_page *page)
{
    const struct parquet_leaf *leaf = r->leaf;
    const uint8_t *data = page->data;
    size_t len = page->bytes;
    if (header->type == PARQUET_PAGE_DATA_V2) {
        parquet_hybrid_init(&r->rep, page->repetition, (size_t)header->repetition_bytes,
                            parquet_bit_width((uint32_t)leaf->max_rep));
        parquet_hybrid_init(&r->def, page->definition, (size_t)header->definition_bytes,
                            parquet_bit_width((uint32_t)leaf->max_def));
    } else {
        SL_TRY(init_levels_v1(&r->rep, leaf->max_rep, header->repetition_encoding, header->num_values, &data,
                              &len));
        SL_TRY(init_levels_v1(&r->def, leaf->max_def, header->definition_encoding, header->num_values, &data,
                              &len));
    }
    SL_TRY(parquet_values_init(&r->values, leaf->element->type, leaf->physical_width, header->encoding, data,
                               len));
    if (parquet_values_are_indexes(&r->values) && !r->dictionary.present && len > 0)
        return sl_corrupt("dictionary-encoded page without a dictionary page before it");
    r->page_left = header->num_values;
    return SL_OK;
}

/* Rows that a page certainly has, -1 when only its levels can tell. */
static int64_t page_rows(const struct parquet_leaf_reader *r, const struct parquet_page_header *header)
{
    if (r->every_page)
        return -1;
    if (r->leaf->max_rep == 0)
        return header->num_values;
    return header->type == PARQUET_PAGE_DATA_V2 ? header->num_rows : -1;
}

/* Opens the next data page that is not wholly among the next *skip rows, which are left out. *found false:
 * the chunk is at its end. */
sl_status parquet_leaf_next_page(struct parquet_leaf_reader *r, int64_t *skip, bool *found)
{
    struct parquet_page_header header;
    struct parquet_page page;
    for (;;) {
        *found = r->values_left > 0;
        if (!*found)
            return SL_OK;
        SL_TRY(parquet_pages_header(&r->pages, &header, found));
        if (!*found)
            return SL_OK;
        bool is_data = header.type == PARQUET_PAGE_DATA || header.type == PARQUET_PAGE_DATA_V2;
        if (header.type == PARQUET_PAGE_DICTIONARY) {
            if (r->dictionary_at > 0) /* then this one is the second */
                SL_TRY(load_pending_dictionary(r));
            SL_TRY(parquet_pages_body(&r->pages, &header, &page));
            SL_TRY_CTX(load_dictionary(r, &header, &page), "dictionary page at %" PRIu64, page.offset);
            continue;
        }
        if (!is_data) { /* index pages, and what a later version may bring */
            parquet_pages_skip(&r->pages, &header);
            continue;
        }
        int64_t rows = page_rows(r, &header);
        bool at_row = !r->inside_row || header.type == PARQUET_PAGE_DATA_V2; /* the page begins a row */
        r->values_left -= header.num_values;
        if (header.num_values == 0 || (skip && rows >= 0 && rows <= *skip && at_row)) {
            if (skip && header.num_values > 0) {
                *skip -= rows;
                r->inside_row = false;
            }
            parquet_pages_skip(&r->pages, &header);
            if (skip && *skip == 0)
                return SL_OK;
            continue;
        }
        if (r->dictionary_at > 0 && needs_dictionary(&header))
            SL_TRY(load_pending_dictionary(r));
        SL_TRY(parquet_pages_body(&r->pages, &header, &page));
        return sl_context(begin_data_page(r, &header, &page), "page at %" PRIu64, page.offset);
    }
}
