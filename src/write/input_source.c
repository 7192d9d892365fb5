/*
 * Where input bytes come from: a file of the storage, or a descriptor (standard input, a pipe, a fifo), gzip
 * and zstd undone on the way. Compression is told by the first bytes, which are no text in any case: 0x8b and
 * 0xb5 cannot stand there in UTF-8.
 */
#include "write/input_int.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { RAW_BYTES = 256 * 1024, CANCEL_MS = 100 };
enum codec { CODEC_NONE, CODEC_GZIP, CODEC_ZSTD };

struct input_source {
    char *name;
    sl_storage *storage;
    sl_file *file; /* NULL: a descriptor */
    uint64_t offset;
    int fd;
    bool owns_fd;
    const sl_runtime *runtime; /* may be NULL; whether to stop */
    double *waited;            /* grows by the seconds that the descriptor was waited for; NULL: nobody counts */
    enum codec codec;
    uint8_t *raw; /* compressed bytes, or the first ones that told that there is no compression */
    size_t raw_at, raw_end;
    bool raw_ended, between_frames;
    z_stream inflate;
    ZSTD_DStream *zstd;
};

const char *input_source_name(const struct input_source *source) { return source->name; }

/* ---- raw bytes ----------------------------------------------------------------------------------------- */

static void count_wait(const struct input_source *s, double since)
{
    if (s->waited)
        *s->waited += sl_monotonic() - since;
}

/* Who can be cancelled waits in pieces: a signal may come just before the read, or to another thread. */
static sl_status wait_or_stop(const struct input_source *s)
{
    struct pollfd input = {.fd = s->fd, .events = POLLIN};
    int n = 0;
    while (s->runtime && s->runtime->cancel && n == 0) {
        SL_TRY(sl_check_cancel(s->runtime));
        n = poll(&input, 1, CANCEL_MS);
        if (n < 0 && errno == EINTR)
            n = 0; /* other failures are the read's to tell */
    }
    return SL_OK;
}

/* What there is, at least a byte. */
static sl_status read_descriptor(struct input_source *s, void *out, size_t len, size_t *got)
{
    double begun = sl_monotonic();
    ssize_t n;
    SL_TRY(wait_or_stop(s));
    do
        n = read(s->fd, out, len);
    while (n < 0 && errno == EINTR);
    count_wait(s, begun);
    if (n < 0)
        return sl_io("%s: %s", s->name, strerror(errno));
    *got = (size_t)n;
    return SL_OK;
}

/* *got is 0 at the end only. */
static sl_status read_raw(struct input_source *s, void *out, size_t len, size_t *got)
{
    if (!s->file)
        return read_descriptor(s, out, len, got);
    uint64_t left = sl_file_size(s->file) - s->offset;
    size_t n = left < len ? (size_t)left : len;
    if (n > 0)
        SL_TRY(sl_file_read_at(s->file, s->offset, out, n));
    s->offset += n;
    *got = n;
    return SL_OK;
}

/* At least so many bytes, unless there are no more. */
static sl_status refill(struct input_source *s, size_t least)
{
    s->raw_at = s->raw_end = 0;
    while (s->raw_end < least && !s->raw_ended) {
        size_t got;
        SL_TRY(read_raw(s, s->raw + s->raw_end, RAW_BYTES - s->raw_end, &got));
        s->raw_end += got;
        s->raw_ended = got == 0;
    }
    return SL_OK;
}

/* ---- codecs -------------------------------------------------------------------------------------------- */

/* zlib's memory comes from our allocator, which tests replace. */
static void *zlib_alloc(void *context, unsigned count, unsigned size)
{
    (void)context;
    return sl_calloc(count, size);
}

static void zlib_free(void *context, void *p)
{
    (void)context;
    sl_free(p);
}

static sl_status start_codec(struct input_source *s)
{
    static const uint8_t gzip[] = {0x1f, 0x8b}, zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
    SL_TRY(refill(s, sizeof zstd));
    if (s->raw_end >= sizeof gzip && memcmp(s->raw, gzip, sizeof gzip) == 0) {
        s->inflate.zalloc = zlib_alloc;
        s->inflate.zfree = zlib_free;
        if (inflateInit2(&s->inflate, 15 + 16) != Z_OK)
            return sl_nomem();
        s->codec = CODEC_GZIP;
    } else if (s->raw_end >= sizeof zstd && memcmp(s->raw, zstd, sizeof zstd) == 0) {
        if (!(s->zstd = ZSTD_createDStream()))
            return sl_nomem();
        s->codec = CODEC_ZSTD;
    }
    return SL_OK;
}

static sl_status read_plain(struct input_source *s, uint8_t *out, size_t len, size_t *got)
{
    size_t held = s->raw_end - s->raw_at, n = held < len ? held : len;
    *got = n;
    if (n == 0)
        return s->raw_ended ? SL_OK : read_raw(s, out, len, got);
    memcpy(out, s->raw + s->raw_at, n);
    s->raw_at += n;
    return SL_OK;
}

/* One step of a decoder: takes raw bytes, gives some of its own. Files may be several members or frames in a
 * row. */
static sl_status inflate_step(struct input_source *s, uint8_t *out, size_t len, size_t *made)
{
    if (s->between_frames) {
        inflateReset(&s->inflate);
        s->between_frames = false;
    }
    s->inflate.next_in = s->raw + s->raw_at;
    s->inflate.avail_in = (uInt)(s->raw_end - s->raw_at);
    s->inflate.next_out = out;
    s->inflate.avail_out = len > UINT32_MAX ? UINT32_MAX : (uInt)len;
    size_t room = s->inflate.avail_out;
    int code = inflate(&s->inflate, Z_NO_FLUSH);
    s->raw_at = s->raw_end - s->inflate.avail_in;
    *made = room - s->inflate.avail_out;
    s->between_frames = code == Z_STREAM_END;
    if (code == Z_MEM_ERROR)
        return sl_nomem();
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
        return sl_corrupt("%s: bad gzip data: %s", s->name, s->inflate.msg ? s->inflate.msg : zError(code));
    return SL_OK;
}

static sl_status zstd_step(struct input_source *s, uint8_t *out, size_t len, size_t *made)
{
    ZSTD_inBuffer in = {s->raw, s->raw_end, s->raw_at};
    ZSTD_outBuffer to = {out, len, 0};
    size_t code = ZSTD_decompressStream(s->zstd, &to, &in);
    if (ZSTD_isError(code))
        return sl_corrupt("%s: bad zstd data: %s", s->name, ZSTD_getErrorName(code));
    s->raw_at = in.pos;
    *made = to.pos;
    s->between_frames = code == 0;
    return SL_OK;
}

static sl_status read_decoded(struct input_source *s, uint8_t *out, size_t len, size_t *got)
{
    for (*got = 0; *got == 0;) {
        if (s->raw_at == s->raw_end && !s->raw_ended)
            SL_TRY(refill(s, 1));
        bool no_more = s->raw_at == s->raw_end && s->raw_ended;
        if (no_more && s->between_frames)
            break;
        if (s->codec == CODEC_GZIP)
            SL_TRY(inflate_step(s, out, len, got));
        else
            SL_TRY(zstd_step(s, out, len, got));
        if (*got == 0 && no_more)
            return sl_corrupt("%s: ends inside its compressed data", s->name);
    }
    return SL_OK;
}

sl_status input_source_read(struct input_source *s, void *out, size_t len, size_t *got)
{
    return s->codec == CODEC_NONE ? read_plain(s, out, len, got) : read_decoded(s, out, len, got);
}

sl_status input_source_wait(const struct input_source *s, int64_t wait_ms, bool *ready)
{
    struct pollfd input = {.fd = s->fd, .events = POLLIN};
    *ready = true;
    if (s->file || s->raw_at < s->raw_end || s->raw_ended)
        return SL_OK;
    double begun = sl_monotonic();
    int n = poll(&input, 1, wait_ms > INT_MAX ? INT_MAX : (int)wait_ms);
    count_wait(s, begun);
    if (n < 0 && errno != EINTR)
        return sl_io("%s: %s", s->name, strerror(errno));
    *ready = n > 0;
    return SL_OK;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static bool is_stdin(const char *path) { return strcmp(path, "-") == 0; }

/* Pipes and devices (`<(command)`, /dev/stdin) have no size and no offsets. */
static bool is_special_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

static sl_status open_bytes(struct input_source *s, const char *path, int stdin_fd)
{
    if (is_stdin(path)) {
        s->fd = stdin_fd;
        return SL_OK;
    }
    if (is_special_file(path)) {
        s->fd = open(path, O_RDONLY | O_CLOEXEC);
        s->owns_fd = s->fd >= 0;
        return s->owns_fd ? SL_OK : sl_io("%s: %s", path, strerror(errno));
    }
    char *inner = NULL;
    SL_TRY(sl_storage_for_uri(path, &s->storage, &inner));
    sl_status status = sl_storage_open(s->storage, inner, &s->file);
    sl_free(inner);
    return status;
}

sl_status input_source_open(const char *path, const struct sl_input_options *options,
                            struct input_source **out)
{
    struct input_source *s;
    sl_status status;
    SL_NEW(s);
    s->waited = options->waited;
    s->runtime = options->runtime;
    if (!(s->name = sl_strdup(is_stdin(path) ? "standard input" : path)) ||
        !(s->raw = sl_malloc(RAW_BYTES))) {
        status = sl_nomem();
        goto done;
    }
    SL_GO(open_bytes(s, path, options->stdin_fd));
    SL_GO(start_codec(s));
    *out = s;
    return SL_OK;
done:
    input_source_free(s);
    return status;
}

void input_source_free(struct input_source *s)
{
    if (!s)
        return;
    if (s->codec == CODEC_GZIP)
        inflateEnd(&s->inflate);
    ZSTD_freeDStream(s->zstd);
    sl_file_close(s->file);
    sl_storage_free(s->storage);
    if (s->owns_fd)
        close(s->fd);
    sl_free(s->raw);
    sl_free(s->name);
    sl_free(s);
}

/* ---- files with offsets -------------------------------------------------------------------------------- */

static sl_status copy_to_output(struct input_source *source, sl_output *output)
{
    size_t got;
    uint8_t *chunk = sl_malloc(RAW_BYTES);
    if (!chunk)
        return sl_nomem();
    sl_status status;
    do {
        SL_GO(input_source_read(source, chunk, RAW_BYTES, &got));
        if (got > 0)
            SL_GO(sl_output_write(output, chunk, got));
    } while (got > 0);
done:
    sl_free(chunk);
    return status;
}

static sl_status temporary_path(const struct sl_input_options *options, char **out)
{
    const char *folder = options->runtime ? options->runtime->temp_dir : NULL;
    char uuid[37];
    if (!folder)
        folder = getenv("TMPDIR");
    SL_TRY(sl_uuid4(uuid));
    return sl_asprintf(out, "%s/sluice-input-%s", folder && *folder ? folder : "/tmp", uuid);
}

/* Copies what cannot be read at offsets to a file that has no name any more once it is open. */
static sl_status spool(const char *path, const struct sl_input_options *options, struct input_file *out)
{
    struct input_source *source = NULL;
    sl_output *output = NULL;
    char *temporary = NULL;
    sl_status status;
    SL_GO(input_source_open(path, options, &source));
    SL_GO(temporary_path(options, &temporary));
    SL_GO(sl_storage_local(&out->storage));
    SL_GO(sl_storage_create(out->storage, temporary, &output));
    SL_GO(copy_to_output(source, output));
    status = sl_output_finish(output);
    output = NULL;
    if (status == SL_OK)
        status = sl_storage_open(out->storage, temporary, &out->file);
    if (status == SL_OK)
        status = sl_storage_delete(out->storage, temporary);
    else
        sl_status_ignore(sl_storage_delete(out->storage, temporary));
done:
    sl_output_abort(output);
    sl_free(temporary);
    input_source_free(source);
    return status;
}

sl_status input_file_open(const char *path, const struct sl_input_options *options, struct input_file *out)
{
    char *inner = NULL;
    sl_status status;
    memset(out, 0, sizeof *out);
    if (!(out->name = sl_strdup(is_stdin(path) ? "standard input" : path)))
        return sl_nomem();
    if (is_stdin(path) || is_special_file(path)) {
        SL_GO(spool(path, options, out));
    } else {
        SL_GO(sl_storage_for_uri(path, &out->storage, &inner));
        SL_GO(sl_storage_open(out->storage, inner, &out->file));
    }
done:
    sl_free(inner);
    if (status != SL_OK)
        input_file_close(out);
    return status;
}

void input_file_close(struct input_file *file)
{
    sl_file_close(file->file);
    sl_storage_free(file->storage);
    sl_free(file->name);
    memset(file, 0, sizeof *file);
}
