/*
 * The pages of one column chunk, front to back. With a mapped file nothing is copied: stored (uncompressed)
 * pages are used where they lie. Without, a window of the file is read ahead.
 */
#include "parquet/read_int.h"
#include <libdeflate.h>

#define WINDOW_BYTES ((size_t)1 << 20) /* unless the scan has less memory */
/* parquet-mr before 1.2.9 forgot the dictionary page's header in total_compressed_size (PARQUET-816). */
#define CHUNK_SIZE_SLACK 100

sl_status parquet_chunk_extent(const struct sl_parquet *p, const struct parquet_column_meta *meta,
                               uint64_t *start, uint64_t *end)
{
    uint64_t first = (uint64_t)meta->data_page_offset;
    if (meta->dictionary_page_offset > 0 && meta->dictionary_page_offset < meta->data_page_offset)
        first = (uint64_t)meta->dictionary_page_offset;
    *start = *end = 0;
    if (meta->num_values == 0) /* no pages: offsets mean nothing */
        return SL_OK;
    if (meta->data_page_offset < 4 || first >= p->data_end ||
        (uint64_t)meta->total_compressed_size > p->data_end - first)
        return sl_corrupt("column chunk of %" PRId64 " bytes at %" PRIu64 " is not inside the file",
                          meta->total_compressed_size, first);
    *start = first;
    *end = first + (uint64_t)meta->total_compressed_size;
    if (parquet_written_before(p->meta.created_by, "parquet-mr", 1, 3))
        *end = p->data_end - *end > CHUNK_SIZE_SLACK ? *end + CHUNK_SIZE_SLACK : p->data_end;
    return SL_OK;
}

sl_status parquet_pages_open(struct parquet_pages *pages, struct sl_parquet *parquet,
                             const struct parquet_column_meta *meta)
{
    pages->parquet = parquet;
    pages->meta = meta;
    pages->map = sl_file_memory(parquet->file);
    pages->window_len = 0;
    pages->header_offset = 0;
    SL_TRY(parquet_chunk_extent(parquet, meta, &pages->offset, &pages->end));
    pages->wanted_end = 0;
    return SL_OK;
}

/* Makes [offset, offset + len) available; the caller checked that it is inside the chunk. */
static sl_status need(struct parquet_pages *pages, uint64_t offset, size_t len, const uint8_t **out)
{
    if (pages->map) {
        *out = pages->map + offset;
        return SL_OK;
    }
    if (offset < pages->window_offset || offset - pages->window_offset > pages->window_len ||
        pages->window_len - (size_t)(offset - pages->window_offset) < len) {
        uint64_t stop = offset < pages->wanted_end ? pages->wanted_end : pages->end;
        size_t window = pages->window_bytes ? pages->window_bytes : WINDOW_BYTES;
        size_t want = stop - offset < window ? (size_t)(stop - offset) : window;
        if (want < len)
            want = len;
        pages->window_len = 0;
        SL_TRY(parquet_block_fit(pages->memory, &pages->window, &pages->window_cap, want));
        SL_TRY(sl_file_read_at(pages->parquet->file, offset, pages->window, want));
        pages->window_len = want;
        pages->window_offset = offset;
    }
    *out = pages->window + (offset - pages->window_offset);
    return SL_OK;
}

sl_status parquet_pages_header(struct parquet_pages *pages, struct parquet_page_header *header, bool *found)
{
    *found = pages->offset < pages->end;
    if (!*found)
        return SL_OK;
    uint64_t left = pages->end - pages->offset;
    size_t header_bytes = 0;
    /* A header is mostly some 30 bytes, but statistics in it may be long. */
    for (size_t len = 1024;; len *= 16) {
        const uint8_t *data;
        bool truncated;
        if (pages->map || len > left)
            len = (size_t)left;
        SL_TRY(need(pages, pages->offset, len, &data));
        SL_TRY(parquet_page_header_decode(data, len, pages->offset, header, &header_bytes,
                                          len < left ? &truncated : NULL));
        if (len == left || !truncated)
            break;
    }
    if ((uint64_t)header->compressed_size > left - header_bytes)
        return sl_corrupt("page at %" PRIu64 ": body of %" PRId32 " bytes runs past its column chunk",
                          pages->offset, header->compressed_size);
    pages->header_offset = pages->offset;
    pages->offset += header_bytes;
    pages->bytes_read += header_bytes;
    return SL_OK;
}

static sl_status check_crc(const struct parquet_pages *pages, const struct parquet_page_header *header,
                           const uint8_t *body)
{
    if (!header->has_crc || pages->parquet->ignore_checksums)
        return SL_OK;
    uint32_t crc = libdeflate_crc32(0, body, (size_t)header->compressed_size);
    if (crc != header->crc)
        return sl_corrupt("page at %" PRIu64 ": checksum is %08" PRIx32 ", header says %08" PRIx32,
                          pages->header_offset, crc, header->crc);
    return SL_OK;
}

static sl_status unpack(struct parquet_pages *pages, const uint8_t *in, size_t in_len, size_t out_len)
{
    int codec = pages->meta->codec;
    SL_TRY(parquet_decompress_plausible(codec, in, in_len, out_len));
    SL_TRY(parquet_block_fit(pages->memory, &pages->body, &pages->body_cap, out_len));
    parquet_decompressor_borrow(pages->memory, &pages->decompressor);
    sl_status status = parquet_decompress(&pages->decompressor, codec, in, in_len, pages->body, out_len);
    parquet_decompressor_return(pages->memory, &pages->decompressor);
    return status;
}

/* A window that holds nothing but what was decompressed: the next column may have it. */
static void drop_empty_window(struct parquet_pages *pages)
{
    if (pages->map || pages->offset < pages->window_offset + pages->window_len)
        return;
    parquet_block_free(pages->window);
    pages->window = NULL;
    pages->window_cap = pages->window_len = 0;
}

static sl_status body_v2(struct parquet_pages *pages, const struct parquet_page_header *header,
                         const uint8_t *body, struct parquet_page *page)
{
    int64_t levels = (int64_t)header->repetition_bytes + header->definition_bytes;
    if (levels > header->compressed_size || levels > header->uncompressed_size)
        return sl_corrupt("page at %" PRIu64 ": levels of %" PRId64 " bytes in a page of %" PRId32,
                          pages->header_offset, levels, header->compressed_size);
    page->repetition = body;
    page->definition = body + header->repetition_bytes;
    page->data = body + levels;
    page->bytes = (size_t)(header->compressed_size - levels);
    size_t unpacked = (size_t)(header->uncompressed_size - levels);
    if (!header->is_compressed || pages->meta->codec == PARQUET_CODEC_NONE) {
        if (page->bytes != unpacked)
            return sl_corrupt("page at %" PRIu64 ": two sizes for stored values", pages->header_offset);
        return SL_OK;
    }
    if (unpacked == 0 || page->bytes == 0) { /* only nulls: nothing that a codec could read */
        if (unpacked != 0)
            return sl_corrupt("page at %" PRIu64 ": no values where %zu bytes should be",
                              pages->header_offset, unpacked);
        page->bytes = 0;
        return SL_OK;
    }
    SL_TRY_CTX(unpack(pages, page->data, page->bytes, unpacked), "page at %" PRIu64, pages->header_offset);
    page->data = pages->body;
    page->bytes = unpacked;
    return SL_OK;
}

sl_status parquet_pages_body(struct parquet_pages *pages, const struct parquet_page_header *header,
                             struct parquet_page *page)
{
    const uint8_t *body;
    size_t bytes = (size_t)header->compressed_size;
    SL_TRY(need(pages, pages->offset, bytes, &body));
    pages->offset += bytes;
    pages->bytes_read += bytes;
    pages->pages_read += header->type != PARQUET_PAGE_DICTIONARY;
    page->offset = pages->header_offset;
    page->repetition = page->definition = NULL;
    SL_TRY(check_crc(pages, header, body));
    if (header->type == PARQUET_PAGE_DATA_V2)
        return body_v2(pages, header, body, page);
    if (pages->meta->codec == PARQUET_CODEC_NONE) {
        if (header->uncompressed_size != header->compressed_size)
            return sl_corrupt("page at %" PRIu64 ": two sizes for a stored page", pages->header_offset);
        page->data = body;
        page->bytes = bytes;
        return SL_OK;
    }
    page->bytes = (size_t)header->uncompressed_size;
    SL_TRY_CTX(unpack(pages, body, bytes, page->bytes), "page at %" PRIu64, pages->header_offset);
    page->data = pages->body;
    drop_empty_window(pages);
    return SL_OK;
}

void parquet_pages_skip(struct parquet_pages *pages, const struct parquet_page_header *header)
{
    pages->offset += (uint64_t)header->compressed_size;
}

void parquet_pages_drop_body(struct parquet_pages *pages)
{
    parquet_block_free(pages->body);
    pages->body = NULL;
    pages->body_cap = 0;
}

void parquet_pages_close(struct parquet_pages *pages)
{
    parquet_block_free(pages->window);
    parquet_block_free(pages->body);
    parquet_decompressor_free(&pages->decompressor);
}
