/* Codecs of pages (spec/parquet.md 4), for reading. */
#include "parquet/read_int.h"
#include <brotli/decode.h>
#include <limits.h>
#include <libdeflate.h>
#include <lz4.h>
#include <lz4frame.h>
#include <snappy-c.h>
#include <zstd.h>

#define BROTLI_RATIO_BELIEVED 4096

static sl_status size_mismatch(int codec, size_t expected)
{
    return sl_corrupt("%s data does not unpack to the %zu bytes that the page header says",
                      parquet_codec_name(codec), expected);
}

/* Brotli knows no greatest ratio: an unlikely claim is checked by decompressing into a small buffer first. */
static sl_status measure_brotli(const uint8_t *in, size_t in_len, size_t out_len)
{
    uint8_t block[4096];
    size_t total = 0;
    BrotliDecoderState *state = BrotliDecoderCreateInstance(NULL, NULL, NULL);
    if (!state)
        return sl_nomem();
    BrotliDecoderResult result;
    do {
        size_t room = sizeof block;
        uint8_t *next = block;
        result = BrotliDecoderDecompressStream(state, &in_len, &in, &room, &next, NULL);
        total += sizeof block - room;
    } while (result == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT && total <= out_len);
    BrotliDecoderDestroyInstance(state);
    return result == BROTLI_DECODER_RESULT_SUCCESS && total == out_len
               ? SL_OK
               : size_mismatch(PARQUET_CODEC_BROTLI, out_len);
}

/* The size in a page header is a claim. Where the data itself tells its size the two must agree; where the
 * codec has a greatest ratio, the claim must keep to it. */
sl_status parquet_decompress_plausible(int codec, const uint8_t *in, size_t in_len, size_t out_len)
{
    size_t snappy_len;
    unsigned long long zstd_len;
    switch (codec) {
    case PARQUET_CODEC_SNAPPY:
        if (snappy_uncompressed_length((const char *)in, in_len, &snappy_len) != SNAPPY_OK ||
            snappy_len != out_len || out_len / 64 > in_len)
            return size_mismatch(codec, out_len);
        break;
    case PARQUET_CODEC_ZSTD: /* a block is three bytes at least and 128 KiB at most */
        if (out_len / ((size_t)128 << 10) > in_len / 3)
            return size_mismatch(codec, out_len);
        zstd_len = ZSTD_getFrameContentSize(in, in_len);
        if (zstd_len == ZSTD_CONTENTSIZE_ERROR ||
            (zstd_len != ZSTD_CONTENTSIZE_UNKNOWN && zstd_len > out_len))
            return size_mismatch(codec, out_len);
        break;
    case PARQUET_CODEC_GZIP:
        if (out_len / 1100 > in_len)
            return size_mismatch(codec, out_len);
        break;
    case PARQUET_CODEC_LZ4_RAW:
    case PARQUET_CODEC_LZ4_HADOOP:
        if (out_len / 256 > in_len)
            return size_mismatch(codec, out_len);
        break;
    case PARQUET_CODEC_BROTLI:
        return out_len / BROTLI_RATIO_BELIEVED > in_len ? measure_brotli(in, in_len, out_len) : SL_OK;
    default:
        return sl_unsupported("codec %s (%d)", parquet_codec_name(codec), codec);
    }
    return SL_OK;
}

static sl_status unpack_zstd(struct parquet_decompressor *d, const uint8_t *in, size_t in_len, uint8_t *out,
                             size_t out_len)
{
    if (!d->zstd && !(d->zstd = ZSTD_createDCtx()))
        return sl_nomem();
    size_t n = ZSTD_decompressDCtx(d->zstd, out, out_len, in, in_len);
    if (ZSTD_isError(n))
        return sl_corrupt("zstd: %s", ZSTD_getErrorName(n));
    return n == out_len ? SL_OK : size_mismatch(PARQUET_CODEC_ZSTD, out_len);
}

/* Some writers end one member and begin another in the middle of a page. */
static sl_status unpack_gzip(struct parquet_decompressor *d, const uint8_t *in, size_t in_len, uint8_t *out,
                             size_t out_len)
{
    if (!d->deflate && !(d->deflate = libdeflate_alloc_decompressor()))
        return sl_nomem();
    size_t done = 0;
    while (in_len > 0 && (done < out_len || out_len == 0)) {
        size_t used, made;
        enum libdeflate_result result =
            libdeflate_gzip_decompress_ex(d->deflate, in, in_len, out + done, out_len - done, &used, &made);
        if (result != LIBDEFLATE_SUCCESS)
            return result == LIBDEFLATE_INSUFFICIENT_SPACE ? size_mismatch(PARQUET_CODEC_GZIP, out_len)
                                                           : sl_corrupt("gzip: bad data");
        in += used;
        in_len -= used;
        done += made;
        if (out_len == 0)
            break;
    }
    return done == out_len ? SL_OK : size_mismatch(PARQUET_CODEC_GZIP, out_len);
}

static bool unpack_lz4_block(const uint8_t *in, size_t in_len, uint8_t *out, size_t out_len)
{
    return in_len <= INT_MAX && out_len <= INT_MAX &&
           LZ4_decompress_safe((const char *)in, (char *)out, (int)in_len, (int)out_len) == (int)out_len;
}

/* Hadoop: [uncompressed size, [compressed size, block] ...] ..., big endian; false when the sizes do not fit
 * together. */
static bool unpack_lz4_hadoop(const uint8_t *in, size_t in_len, uint8_t *out, size_t out_len)
{
    while (out_len > 0) {
        if (in_len < 4)
            return false;
        size_t part = load_be32(in);
        in += 4;
        in_len -= 4;
        if (part == 0 || part > out_len)
            return false;
        while (part > 0) {
            if (in_len < 4)
                return false;
            size_t block = load_be32(in);
            in += 4;
            in_len -= 4;
            if (block == 0 || block > in_len || block > INT_MAX || part > INT_MAX)
                return false;
            int n = LZ4_decompress_safe((const char *)in, (char *)out, (int)block, (int)part);
            if (n <= 0)
                return false;
            in += block;
            in_len -= block;
            out += n;
            out_len -= (size_t)n;
            part -= (size_t)n;
        }
    }
    return in_len == 0;
}

static bool unpack_lz4_frame(const uint8_t *in, size_t in_len, uint8_t *out, size_t out_len)
{
    LZ4F_dctx *context;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)))
        return false;
    size_t made = out_len, used = in_len;
    size_t rest = LZ4F_decompress(context, out, &made, in, &used, NULL);
    LZ4F_freeDecompressionContext(context);
    return rest == 0 && made == out_len;
}

static sl_status unpack_lz4(const uint8_t *in, size_t in_len, uint8_t *out, size_t out_len)
{
    static const uint8_t frame_magic[4] = {0x04, 0x22, 0x4d, 0x18};
    bool ok = unpack_lz4_hadoop(in, in_len, out, out_len);
    if (!ok && in_len >= 4 && memcmp(in, frame_magic, 4) == 0)
        ok = unpack_lz4_frame(in, in_len, out, out_len);
    if (!ok)
        ok = unpack_lz4_block(in, in_len, out, out_len);
    return ok ? SL_OK : sl_corrupt("lz4: neither Hadoop framing nor a block of %zu bytes", out_len);
}

sl_status parquet_decompress(struct parquet_decompressor *d, int codec, const uint8_t *in, size_t in_len,
                             uint8_t *out, size_t out_len)
{
    size_t n = out_len;
    switch (codec) {
    case PARQUET_CODEC_NONE:
        if (in_len != out_len)
            return sl_corrupt("stored page of %zu bytes where its header says %zu", in_len, out_len);
        if (out_len > 0)
            memcpy(out, in, out_len);
        return SL_OK;
    case PARQUET_CODEC_SNAPPY:
        if (snappy_uncompress((const char *)in, in_len, (char *)out, &n) != SNAPPY_OK || n != out_len)
            return sl_corrupt("snappy: bad data");
        return SL_OK;
    case PARQUET_CODEC_ZSTD:
        return unpack_zstd(d, in, in_len, out, out_len);
    case PARQUET_CODEC_GZIP:
        return unpack_gzip(d, in, in_len, out, out_len);
    case PARQUET_CODEC_LZ4_RAW:
        return unpack_lz4_block(in, in_len, out, out_len) || (out_len == 0 && in_len <= 1)
                   ? SL_OK
                   : sl_corrupt("lz4: bad block");
    case PARQUET_CODEC_LZ4_HADOOP:
        return unpack_lz4(in, in_len, out, out_len);
    case PARQUET_CODEC_BROTLI:
        if (BrotliDecoderDecompress(in_len, in, &n, out) != BROTLI_DECODER_RESULT_SUCCESS || n != out_len)
            return sl_corrupt("brotli: bad data");
        return SL_OK;
    default:
        return sl_unsupported("codec %s (%d)", parquet_codec_name(codec), codec);
    }
}

void parquet_decompressor_free(struct parquet_decompressor *d)
{
    ZSTD_freeDCtx(d->zstd);
    if (d->deflate)
        libdeflate_free_decompressor(d->deflate);
    *d = (struct parquet_decompressor){0};
}
