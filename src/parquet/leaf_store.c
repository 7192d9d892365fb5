/* A page's body as it is stored: compressed, with its header in front. */
#include "parquet/write_int.h"

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
sl_status leaf_store_page(struct leaf_writer *w, struct write_scratch *s, const sl_buf *body, size_t levels,
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
