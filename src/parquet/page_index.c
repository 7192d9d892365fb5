/* Column index and offset index of a chunk (spec/parquet.md 6), gathered page by page. */
#include "parquet/write_int.h"

static sl_status pages_reserve(struct chunk_pages *p)
{
    SL_GROW(p->pages, p->count, p->capacity, 16);
    return SL_OK;
}

static sl_status add_bound(struct chunk_pages *p, const struct write_leaf *leaf,
                           const struct value_bounds *bounds, bool max, uint32_t *at, uint32_t *len)
{
    uint8_t space[16], cut[WRITE_INDEX_BOUND_BYTES];
    const uint8_t *data;
    size_t n, cut_len;
    bounds_plain(bounds, leaf, max, space, &data, &n);
    /* Fixed values keep their length: some readers insist on it. */
    if (leaf->order == ORDER_BYTES && (max ? bound_cut_max(data, n, leaf->text, cut, &cut_len)
                                           : bound_cut_min(data, n, leaf->text, cut, &cut_len))) {
        data = cut;
        n = cut_len;
    }
    if (p->bounds.len + n > UINT32_MAX)
        return sl_unsupported("more than 4 GiB of page bounds in one column chunk");
    *at = (uint32_t)p->bounds.len;
    *len = (uint32_t)n;
    return sl_buf_append(&p->bounds, data, n);
}

/* The order is claimed for the bounds as stored, so these are what is compared. */
static void note_order(struct chunk_pages *p, const struct write_leaf *leaf, const struct page_facts *now)
{
    const uint8_t *b = p->bounds.data ? p->bounds.data : (const uint8_t *)""; /* all bounds may be empty */
    const struct page_facts *last = &p->pages[p->last_bounded];
    int min = bounds_compare_plain(leaf, b + last->min_at, last->min_len, b + now->min_at, now->min_len);
    int max = bounds_compare_plain(leaf, b + last->max_at, last->max_len, b + now->max_at, now->max_len);
    p->ascending = p->ascending && min <= 0 && max <= 0;
    p->descending = p->descending && min >= 0 && max >= 0;
}

sl_status chunk_pages_add(struct chunk_pages *p, const struct write_leaf *leaf,
                          const struct page_facts *facts, const struct value_bounds *bounds)
{
    if (facts->stored_bytes > INT32_MAX)
        return sl_input("column %s: a page of %" PRIu32 " bytes with its header is beyond Parquet's 2 GiB",
                        leaf->name, facts->stored_bytes);
    SL_TRY(pages_reserve(p));
    if (p->count == 0) {
        p->ascending = p->descending = true;
        p->unknown_bounds = false;
        p->last_bounded = SIZE_MAX;
    }
    struct page_facts *page = &p->pages[p->count];
    *page = *facts;
    page->has_bounds = bounds->present;
    page->nan_count = facts->all_null ? 0 : bounds_nans(bounds);
    if (bounds->present) {
        SL_TRY(add_bound(p, leaf, bounds, false, &page->min_at, &page->min_len));
        SL_TRY(add_bound(p, leaf, bounds, true, &page->max_at, &page->max_len));
        if (p->last_bounded != SIZE_MAX)
            note_order(p, leaf, page);
        p->last_bounded = p->count;
    } else if (!facts->all_null) {
        p->unknown_bounds = true;
    }
    p->count++;
    return SL_OK;
}

void chunk_pages_clear(struct chunk_pages *p)
{
    p->count = 0;
    p->bounds.len = 0;
    p->histograms.len = 0;
}

void chunk_pages_free(struct chunk_pages *p)
{
    sl_free(p->pages);
    sl_buf_free(&p->bounds);
    sl_buf_free(&p->histograms);
    *p = (struct chunk_pages){0};
}

static bool is_floating(enum write_order order)
{
    return order == ORDER_HALF || order == ORDER_FLOAT || order == ORDER_DOUBLE;
}

/* One number a page, *out NULL unless all are known. */
static sl_status collect_nans(const struct chunk_pages *p, const struct write_leaf *leaf, int64_t **out)
{
    for (size_t i = 0; i < p->count; i++)
        if (!is_floating(leaf->order) || p->pages[i].nan_count < 0)
            return SL_OK;
    SL_NEW_ARRAY(*out, p->count);
    for (size_t i = 0; i < p->count; i++)
        (*out)[i] = p->pages[i].nan_count;
    return SL_OK;
}

/* The kept histograms lie page by page, the index wants one list for each kind of level. */
static sl_status split_histograms(const struct chunk_pages *p, const struct write_leaf *leaf,
                                  struct parquet_column_index *index, int64_t **lists)
{
    size_t definitions = (size_t)leaf->max_definition + 1, repetitions = (size_t)leaf->max_repetition + 1;
    if (p->histograms.len == 0)
        return SL_OK;
    SL_NEW_ARRAY(*lists, p->count * (definitions + repetitions));
    int64_t *definition = *lists, *repetition = *lists + p->count * definitions;
    for (size_t i = 0; i < p->count; i++) {
        const uint8_t *from = p->histograms.data + i * (definitions + repetitions) * sizeof(int64_t);
        memcpy(definition + i * definitions, from, definitions * sizeof(int64_t));
        memcpy(repetition + i * repetitions, from + definitions * sizeof(int64_t),
               repetitions * sizeof(int64_t));
    }
    if (leaf->max_definition) { /* a single level says nothing */
        index->definition_histograms = definition;
        index->definition_count = p->count * definitions;
    }
    if (leaf->max_repetition) {
        index->repetition_histograms = repetition;
        index->repetition_count = p->count * repetitions;
    }
    return SL_OK;
}

sl_status column_index_write(const struct chunk_pages *p, const struct write_leaf *leaf, sl_buf *out)
{
    struct parquet_column_index index = {.page_count = p->count};
    int64_t *histograms = NULL;
    sl_status status = SL_OK;
    index.null_pages = sl_calloc(p->count, sizeof *index.null_pages);
    index.min_values = sl_calloc(p->count, sizeof *index.min_values);
    index.max_values = sl_calloc(p->count, sizeof *index.max_values);
    index.null_counts = sl_calloc(p->count, sizeof *index.null_counts);
    if (!index.null_pages || !index.min_values || !index.max_values || !index.null_counts) {
        status = sl_nomem();
        goto done;
    }
    static const uint8_t nothing[1];
    for (size_t i = 0; i < p->count; i++) {
        const struct page_facts *page = &p->pages[i];
        index.null_pages[i] = page->all_null;
        index.null_counts[i] = page->null_count;
        bool stored = page->has_bounds && p->bounds.data;
        index.min_values[i] =
            (struct parquet_bytes){stored ? p->bounds.data + page->min_at : nothing, page->min_len};
        index.max_values[i] =
            (struct parquet_bytes){stored ? p->bounds.data + page->max_at : nothing, page->max_len};
    }
    index.boundary_order = p->ascending    ? PARQUET_ASCENDING
                           : p->descending ? PARQUET_DESCENDING
                                           : PARQUET_UNORDERED;
    SL_GO(split_histograms(p, leaf, &index, &histograms));
    SL_GO(collect_nans(p, leaf, &index.nan_counts));
    SL_GO(parquet_column_index_encode(&index, out));
done:
    sl_free(histograms);
    sl_free(index.null_pages);
    sl_free(index.min_values);
    sl_free(index.max_values);
    sl_free(index.null_counts);
    sl_free(index.nan_counts);
    return status;
}

sl_status offset_index_write(const struct chunk_pages *p, uint64_t first_page_offset, bool byte_arrays,
                             sl_buf *out)
{
    struct parquet_offset_index index = {.page_count = p->count};
    sl_status status;
    index.pages = sl_calloc(p->count, sizeof *index.pages);
    if (byte_arrays)
        index.unencoded_bytes = sl_calloc(p->count, sizeof *index.unencoded_bytes);
    if (!index.pages || (byte_arrays && !index.unencoded_bytes)) {
        status = sl_nomem();
        goto done;
    }
    uint64_t offset = first_page_offset;
    for (size_t i = 0; i < p->count; i++) {
        index.pages[i] = (struct parquet_page_location){
            .offset = (int64_t)offset,
            .compressed_size = (int32_t)p->pages[i].stored_bytes,
            .first_row = p->pages[i].first_row,
        };
        if (byte_arrays)
            index.unencoded_bytes[i] = p->pages[i].unencoded_bytes;
        offset += p->pages[i].stored_bytes;
    }
    status = parquet_offset_index_encode(&index, out);
done:
    sl_free(index.pages);
    sl_free(index.unencoded_bytes);
    return status;
}
