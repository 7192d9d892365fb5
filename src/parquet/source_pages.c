/*
 * The pages of a chunk that another file has, where its offset index says they are. An index is what another program
 * wrote: what is to be copied by it must be what the pages' own headers say.
 */
#include "parquet/copy_int.h"

#define HEADER_BYTES 1024 /* mostly some 30; statistics in it may be long */

/* The header at `at`, which must end where the index says; *agrees false otherwise. */
static sl_status load_header(const sl_parquet *p, const struct parquet_page_location *at, sl_buf *scratch,
                             struct parquet_page_header *header, bool *agrees)
{
    const uint8_t *map = sl_file_memory(p->file), *data = map ? map + at->offset : NULL;
    uint64_t offset = (uint64_t)at->offset;
    size_t all = (size_t)at->compressed_size, len = map || all < HEADER_BYTES ? all : HEADER_BYTES, bytes;
    bool truncated = true;
    *agrees = false;
    for (;; len = all) {
        if (!map) {
            SL_TRY(sl_buf_reserve(scratch, len + 1));
            SL_TRY(sl_file_read_at(p->file, offset, scratch->data, len));
            data = scratch->data;
        }
        sl_status status =
            parquet_page_header_decode(data, len, offset, header, &bytes, len < all ? &truncated : NULL);
        if (sl_status_code(status) == SL_E_CORRUPT) {
            (void)sl_status_ignore(status);
            return SL_OK;
        }
        SL_TRY(status);
        if (len == all || !truncated)
            break;
    }
    *agrees = (uint64_t)header->compressed_size + bytes == (uint64_t)all;
    return SL_OK;
}

/* Whatever lies in front of the first data page must be one dictionary page. */
static sl_status load_dictionary(const sl_parquet *p, uint64_t start, sl_buf *scratch, struct source_pages *s,
                                 bool *agrees)
{
    uint64_t first = (uint64_t)s->index.pages[0].offset;
    *agrees = first == start;
    if (first == start || first - start > INT32_MAX)
        return SL_OK;
    s->dictionary_at =
        (struct parquet_page_location){.offset = (int64_t)start, .compressed_size = (int32_t)(first - start)};
    SL_TRY(load_header(p, &s->dictionary_at, scratch, &s->dictionary, agrees));
    s->has_dictionary = true;
    *agrees = *agrees && s->dictionary.type == PARQUET_PAGE_DICTIONARY;
    return SL_OK;
}

/* A page as its header and the index tell it must be one that follows the page before. */
static bool page_agrees(const sl_parquet *p, const struct source_pages *s, size_t i, size_t leaf,
                        int64_t rows)
{
    const struct parquet_page_header *header = &s->headers[i];
    const struct parquet_page_location *page = &s->index.pages[i];
    if (i > 0 && page[-1].offset + page[-1].compressed_size != page->offset)
        return false;
    if (uses_dictionary(header) && !s->has_dictionary)
        return false;
    if (p->schema.leaves[leaf].max_rep == 0 && header->num_values != rows)
        return false;
    return header->type == PARQUET_PAGE_DATA ||
           (header->type == PARQUET_PAGE_DATA_V2 && header->num_rows == rows);
}

static sl_status load_pages(const sl_parquet *p, size_t group, size_t leaf, sl_arena *arena, sl_buf *scratch,
                            struct source_pages *s, bool *agrees)
{
    const struct parquet_row_group *g = &p->meta.row_groups[group];
    uint64_t start, end;
    SL_TRY(parquet_chunk_extent(p, &g->columns[leaf].meta, &start, &end));
    SL_TRY(load_dictionary(p, start, scratch, s, agrees));
    size_t count = s->index.page_count;
    s->headers = sl_arena_alloc(arena, count * sizeof *s->headers);
    if (!s->headers)
        return sl_nomem();
    for (size_t i = 0; i < count && *agrees; i++) {
        int64_t next = i + 1 < count ? s->index.pages[i + 1].first_row : g->num_rows;
        SL_TRY(load_header(p, &s->index.pages[i], scratch, &s->headers[i], agrees));
        *agrees = *agrees && page_agrees(p, s, i, leaf, next - s->index.pages[i].first_row);
    }
    *agrees = *agrees && (uint64_t)s->index.pages[count - 1].offset +
                                 (uint64_t)s->index.pages[count - 1].compressed_size ==
                             end;
    return SL_OK;
}

sl_status source_pages_load(const sl_parquet *p, size_t group, size_t leaf, sl_arena *arena,
                            struct source_pages *out)
{
    bool agrees;
    sl_buf scratch = {0};
    *out = (struct source_pages){0};
    SL_TRY(parquet_offset_index_load(p, group, leaf, arena, &out->index));
    if (out->index.page_count == 0)
        return SL_OK;
    sl_status status = load_pages(p, group, leaf, arena, &scratch, out, &agrees);
    sl_buf_free(&scratch);
    if (status || !agrees)
        *out = (struct source_pages){0};
    return status;
}
