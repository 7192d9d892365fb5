/* Compression of pages. Contexts live as long as their compressor: making one costs more than a small page.
 */
#include "parquet/write_int.h"

#include <libdeflate.h>
#include <lz4.h>
#include <snappy-c.h>
#include <zstd.h>

#define ZSTD_LEVEL_DEFAULT                                                                                   \
    1 /* pages are small and written often; 3 costs a third more time for a few percent */
#define GZIP_LEVEL_DEFAULT 6

static const struct codec_name {
    const char *name;
    enum sl_parquet_codec codec;
} codec_names[] = {
    {"uncompressed", SL_CODEC_NONE}, {"none", SL_CODEC_NONE}, {"snappy", SL_CODEC_SNAPPY},
    {"gzip", SL_CODEC_GZIP},         {"zstd", SL_CODEC_ZSTD}, {"lz4_raw", SL_CODEC_LZ4_RAW},
};

static bool same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        char low = *a >= 'A' && *a <= 'Z' ? (char)(*a + ('a' - 'A')) : *a;
        if (low != *b)
            return false;
    }
    return *a == *b;
}

sl_status sl_parquet_codec_named(const char *name, enum sl_parquet_codec *out)
{
    for (size_t i = 0; i < sizeof codec_names / sizeof *codec_names; i++)
        if (same_name(name, codec_names[i].name)) {
            *out = codec_names[i].codec;
            return SL_OK;
        }
    return sl_unsupported(
        "Parquet codec \"%s\" cannot be written: use uncompressed, snappy, gzip, zstd or lz4_raw", name);
}

sl_status compressor_check_level(enum sl_parquet_codec codec, int level)
{
    if (level == 0)
        return SL_OK;
    int low = 1, high = 0;
    if (codec == SL_CODEC_ZSTD) {
        low = ZSTD_minCLevel();
        high = ZSTD_maxCLevel();
    } else if (codec == SL_CODEC_GZIP) {
        high = 12;
    }
    if (low > high)
        return sl_input("compression level %d: the codec has no levels", level);
    if (level < low || level > high)
        return sl_input("compression level %d is not between %d and %d", level, low, high);
    return SL_OK;
}

static sl_status append_zstd(struct compressor *c, const void *data, size_t len, sl_buf *out)
{
    if (!c->zstd && !(c->zstd = ZSTD_createCCtx()))
        return sl_nomem();
    size_t bound = ZSTD_compressBound(len);
    SL_TRY(sl_buf_reserve(out, bound));
    size_t n = ZSTD_compressCCtx(c->zstd, out->data + out->len, bound, data, len,
                                 c->level ? c->level : ZSTD_LEVEL_DEFAULT);
    if (ZSTD_isError(n))
        return sl_internal("zstd: %s", ZSTD_getErrorName(n));
    out->len += n;
    return SL_OK;
}

static sl_status append_gzip(struct compressor *c, const void *data, size_t len, sl_buf *out)
{
    if (!c->deflate && !(c->deflate = libdeflate_alloc_compressor(c->level ? c->level : GZIP_LEVEL_DEFAULT)))
        return sl_nomem();
    size_t bound = libdeflate_gzip_compress_bound(c->deflate, len);
    SL_TRY(sl_buf_reserve(out, bound));
    size_t n = libdeflate_gzip_compress(c->deflate, data, len, out->data + out->len, bound);
    if (n == 0)
        return sl_internal("gzip: the page did not fit its bound");
    out->len += n;
    return SL_OK;
}

static sl_status append_snappy(const void *data, size_t len, sl_buf *out)
{
    size_t n = snappy_max_compressed_length(len);
    SL_TRY(sl_buf_reserve(out, n));
    if (snappy_compress(data, len, (char *)out->data + out->len, &n) != SNAPPY_OK)
        return sl_internal("snappy: compression failed");
    out->len += n;
    return SL_OK;
}

static sl_status append_lz4(const void *data, size_t len, sl_buf *out)
{
    if (len > LZ4_MAX_INPUT_SIZE)
        return sl_input("a page of %zu bytes is too large for lz4", len);
    int bound = LZ4_compressBound((int)len);
    SL_TRY(sl_buf_reserve(out, (size_t)bound));
    int n = LZ4_compress_default(data, (char *)out->data + out->len, (int)len, bound);
    if (n <= 0)
        return sl_internal("lz4: compression failed");
    out->len += (size_t)n;
    return SL_OK;
}

sl_status compressor_append(struct compressor *c, const void *data, size_t len, sl_buf *out)
{
    if (!data)
        data = "";
    switch (c->codec) {
    case SL_CODEC_NONE:
        return sl_buf_append(out, data, len);
    case SL_CODEC_SNAPPY:
        return append_snappy(data, len, out);
    case SL_CODEC_GZIP:
        return append_gzip(c, data, len, out);
    case SL_CODEC_ZSTD:
        return append_zstd(c, data, len, out);
    case SL_CODEC_LZ4_RAW:
        return append_lz4(data, len, out);
    }
    return sl_internal("unknown codec %d", (int)c->codec);
}

void compressor_free(struct compressor *c)
{
    ZSTD_freeCCtx(c->zstd);
    if (c->deflate)
        libdeflate_free_compressor(c->deflate);
    c->zstd = c->deflate = NULL;
}
