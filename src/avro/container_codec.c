/* Decompression of a container's blocks. Output grows as it is really produced, whatever a header claims. */
#include "avro/avro_int.h"

#include <limits.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#define BLOCK_BYTES_MAX  ((size_t)512 << 20)
#define CHUNK_BYTES      ((size_t)64 << 10)
#define SNAPPY_RATIO_MAX 32 /* a copy of three bytes yields at most 64 */

bool avro_codec_known(const char *codec)
{
    static const char *const known[] = {"null", "deflate", "snappy", "zstandard"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(codec, known[i]) == 0)
            return true;
    return false;
}

/* Room for one more chunk, within the bound. */
static sl_status chunk_reserve(sl_buf *out)
{
    if (out->len >= BLOCK_BYTES_MAX)
        return sl_corrupt("Avro block unpacks to more than %zu bytes", BLOCK_BYTES_MAX);
    return sl_buf_reserve(out, CHUNK_BYTES);
}

/* Raw deflate, without zlib's header (RFC 1951). */
static sl_status deflate_decompress(const uint8_t *data, size_t len, sl_buf *out)
{
    z_stream z = {0};
    sl_status status = SL_OK;
    int rc = Z_OK;
    if (len > UINT_MAX)
        return sl_unsupported("Avro deflate block of %zu bytes", len);
    if (inflateInit2(&z, -15) != Z_OK)
        return sl_nomem();
    z.next_in = (Bytef *)data;
    z.avail_in = (uInt)len;
    while (rc != Z_STREAM_END) {
        SL_GO(chunk_reserve(out));
        z.next_out = out->data + out->len;
        z.avail_out = CHUNK_BYTES;
        rc = inflate(&z, Z_NO_FLUSH);
        out->len += CHUNK_BYTES - z.avail_out;
        if (rc == Z_MEM_ERROR)
            status = sl_nomem();
        else if (rc != Z_OK && rc != Z_STREAM_END) /* Z_BUF_ERROR: the input ended too early */
            status = sl_corrupt("Avro deflate block: %s", z.msg ? z.msg : "truncated");
        if (status != SL_OK)
            goto done;
    }
done:
    inflateEnd(&z);
    return status;
}

static sl_status zstd_decompress(const uint8_t *data, size_t len, sl_buf *out)
{
    sl_status status = SL_OK;
    size_t left = 1;
    ZSTD_inBuffer in = {data, len, 0};
    ZSTD_DCtx *context = ZSTD_createDCtx();
    if (!context)
        return sl_nomem();
    while (in.pos < in.size || left > 0) {
        SL_GO(chunk_reserve(out));
        ZSTD_outBuffer piece = {out->data + out->len, CHUNK_BYTES, 0};
        size_t in_before = in.pos;
        left = ZSTD_decompressStream(context, &piece, &in);
        out->len += piece.pos;
        if (ZSTD_isError(left))
            status = sl_corrupt("Avro zstandard block: %s", ZSTD_getErrorName(left));
        else if (left > 0 && in.pos == in.size && in.pos == in_before && piece.pos == 0)
            status = sl_corrupt("Avro zstandard block: truncated");
        if (status != SL_OK)
            goto done;
    }
done:
    ZSTD_freeDCtx(context);
    return status;
}

/* Snappy's raw format, then the CRC-32 of the unpacked bytes, big endian. */
static sl_status snappy_decompress(const uint8_t *data, size_t len, sl_buf *out)
{
    size_t unpacked;
    if (len < 4 || snappy_uncompressed_length((const char *)data, len - 4, &unpacked) != SNAPPY_OK)
        return sl_corrupt("Avro snappy block of %zu bytes has no valid length", len);
    if (unpacked > BLOCK_BYTES_MAX || unpacked / SNAPPY_RATIO_MAX > len)
        return sl_corrupt("Avro snappy block of %zu bytes claims to unpack to %zu", len, unpacked);
    SL_TRY(sl_buf_reserve(out, unpacked + 1));
    if (snappy_uncompress((const char *)data, len - 4, (char *)out->data + out->len, &unpacked) != SNAPPY_OK)
        return sl_corrupt("Avro snappy block is damaged");
    uint32_t stored = load_be32(data + len - 4), computed = sl_crc32(0, out->data + out->len, unpacked);
    if (stored != computed)
        return sl_corrupt("Avro snappy block: CRC %08" PRIx32 ", stored %08" PRIx32, computed, stored);
    out->len += unpacked;
    return SL_OK;
}

sl_status avro_block_decompress(const char *codec, const uint8_t *data, size_t len, sl_buf *out)
{
    if (strcmp(codec, "deflate") == 0)
        return deflate_decompress(data, len, out);
    if (strcmp(codec, "zstandard") == 0)
        return zstd_decompress(data, len, out);
    if (strcmp(codec, "snappy") == 0)
        return snappy_decompress(data, len, out);
    return sl_unsupported("Avro codec %s", codec);
}
