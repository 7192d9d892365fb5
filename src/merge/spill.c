/*
 * Sorted runs on disk, while an operation lasts. All runs of a sorter lie in one temporary file that has no
 * name any more, so nothing is left behind whatever happens. It is written with plain POSIX calls and not
 * through storage/: it is no part of a table, must not be made durable, and storage has no files without
 * names.
 *
 *   block    le32 rows | le32 0 | le64 payload bytes | le64 XXH64 of the payload | payload
 *   payload  per column, depth first:  le64 length | le64 nulls | u8 buffers present (1 validity, 2 values, 4
 * offsets), then each buffer:  le64 bytes | le64 stored bytes | LZ4 block, or the bytes themselves when that
 * is no longer
 */
#include "merge/merge_int.h"
#include <errno.h>
#include <fcntl.h>
#include <lz4.h>
#include <stdio.h>
#include <unistd.h>

enum {
    BLOCK_HEADER = 24,
    ARRAY_HEADER = 17,
    BUFFER_HEADER = 16,
    HAS_VALIDITY = 1,
    HAS_VALUES = 2,
    HAS_OFFSETS = 4,
};
/* A block of rows before compression. A run that is being merged holds one: as rows, as it was stored, and what the merge
 * keeps of each row. */
#define BLOCK_BYTES_LEAST ((size_t)32 << 10)
#define BLOCK_BYTES_MOST  ((size_t)1 << 20)
#define BLOCKS_A_RUN      3
#define RUNS_A_THREAD     512 /* of a block each would fill the budget */

enum { FAN_IN_LEAST = 4, FAN_IN_MOST = 64 };

struct sl_spill {
    int fd;
    uint64_t end;
    size_t block_bytes;
};

static size_t block_bytes(const sl_runtime *runtime)
{
    size_t threads = runtime && runtime->pool ? sl_pool_threads(runtime->pool) : 1;
    return sl_budget_share(runtime ? runtime->budget : NULL, RUNS_A_THREAD * threads, BLOCK_BYTES_LEAST,
                           BLOCK_BYTES_MOST);
}

/* A quarter of the budget for all of them: the rows that did not spill and the encoders want the rest. */
size_t sl_spill_fan_in(const sl_runtime *runtime, size_t merges)
{
    size_t run = BLOCKS_A_RUN * block_bytes(runtime);
    size_t room = sl_budget_share(runtime ? runtime->budget : NULL, 4 * (merges ? merges : 1),
                                  FAN_IN_LEAST * run, FAN_IN_MOST * run);
    return room / run;
}

sl_status sl_spill_new(const sl_runtime *runtime, sl_spill **out)
{
    const char *folder = runtime && runtime->temp_dir ? runtime->temp_dir : getenv("TMPDIR");
    if (!folder || !*folder)
        folder = "/tmp";
    sl_spill *f;
    SL_NEW(f);
    f->fd = -1;
    f->block_bytes = block_bytes(runtime);
    char *path = NULL;
    sl_status status = SL_OK;
    SL_GO(sl_asprintf(&path, "%s/sluice-spill-XXXXXX", folder));
    f->fd = mkstemp(path);
    if (f->fd < 0)
        SL_GO(sl_io("temporary file in %s: %s", folder, strerror(errno)));
    if (unlink(path) != 0)
        SL_GO(sl_io("temporary file %s: unlink: %s", path, strerror(errno)));
    (void)fcntl(f->fd, F_SETFD, FD_CLOEXEC); /* a child that inherits it would only hold the space longer */
    *out = f;
    f = NULL;
done:
    sl_free(path);
    sl_spill_free(f);
    return status;
}

void sl_spill_free(sl_spill *f)
{
    if (!f)
        return;
    if (f->fd >= 0)
        close(f->fd);
    sl_free(f);
}

static sl_status file_append(sl_spill *f, const uint8_t *data, size_t len)
{
    while (len > 0) {
        ssize_t n = pwrite(f->fd, data, len, (off_t)f->end);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return sl_io("temporary file: write: %s", n < 0 ? strerror(errno) : "nothing was written");
        data += n;
        len -= (size_t)n;
        f->end += (uint64_t)n;
    }
    return SL_OK;
}

static sl_status file_read(const sl_spill *f, uint64_t offset, uint8_t *data, size_t len)
{
    while (len > 0) {
        ssize_t n = pread(f->fd, data, len, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return sl_io("temporary file: read at %" PRIu64 ": %s", offset,
                         n < 0 ? strerror(errno) : "it ends too early");
        data += n;
        len -= (size_t)n;
        offset += (uint64_t)n;
    }
    return SL_OK;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static sl_status put_le64(sl_buf *buf, uint64_t value)
{
    uint8_t bytes[8];
    store_le64(bytes, value);
    return sl_buf_append(buf, bytes, sizeof bytes);
}

static sl_status put_buffer(sl_buf *buf, const void *data, size_t len)
{
    SL_TRY(put_le64(buf, len));
    size_t stored_at = buf->len;
    SL_TRY(put_le64(buf, len));
    if (len >= 64 && len <= LZ4_MAX_INPUT_SIZE) {
        int bound = LZ4_compressBound((int)len);
        SL_TRY(sl_buf_reserve(buf, (size_t)bound));
        int n = LZ4_compress_default(data, (char *)buf->data + buf->len, (int)len, bound);
        if (n > 0 && (size_t)n < len) {
            store_le64(buf->data + stored_at, (uint64_t)n);
            buf->len += (size_t)n;
            return SL_OK;
        }
    }
    return len ? sl_buf_append(buf, data, len) : SL_OK;
}

static size_t values_bytes(const sl_array *a)
{
    switch (a->type->id) {
    case SL_BOOL:
        return bitmap_bytes(a->length);
    case SL_STRING:
    case SL_BINARY:
        return a->offsets ? (size_t)a->offsets[a->length] : 0;
    default:
        return sl_type_value_bytes(a->type) * (size_t)a->length;
    }
}

static sl_status put_array(sl_buf *buf, const sl_array *a)
{
    if (a->dictionary)
        return sl_internal("a dictionary reached a spill file");
    size_t values = values_bytes(a);
    uint8_t present = 0;
    present |= a->validity ? HAS_VALIDITY : 0;
    present |= values ? HAS_VALUES : 0;
    present |= a->offsets ? HAS_OFFSETS : 0;
    SL_TRY(put_le64(buf, (uint64_t)a->length));
    SL_TRY(put_le64(buf, (uint64_t)a->null_count));
    SL_TRY(sl_buf_byte(buf, present));
    if (a->validity)
        SL_TRY(put_buffer(buf, a->validity, bitmap_bytes(a->length)));
    if (values)
        SL_TRY(put_buffer(buf, a->values, values));
    if (a->offsets)
        SL_TRY(put_buffer(buf, a->offsets, ((size_t)a->length + 1) * sizeof *a->offsets));
    for (size_t i = 0; i < a->child_count; i++)
        SL_TRY(put_array(buf, a->children[i]));
    return SL_OK;
}

static sl_status put_block(sl_spill *f, sl_buf *buf, const sl_batch *batch)
{
    uint8_t header[BLOCK_HEADER] = {0};
    buf->len = 0;
    SL_TRY(sl_buf_append(buf, header, sizeof header));
    for (size_t i = 0; i < batch->schema->field_count; i++)
        SL_TRY(put_array(buf, batch->columns[i]));
    size_t payload = buf->len - BLOCK_HEADER;
    store_le32(buf->data, (uint32_t)batch->rows);
    store_le64(buf->data + 8, payload);
    store_le64(buf->data + 16, sl_xxh64(buf->data + BLOCK_HEADER, payload));
    return file_append(f, buf->data, buf->len);
}

/* A large batch becomes several blocks, so that reading many runs at once stays small. */
static sl_status put_batch(sl_spill *f, sl_buf *buf, sl_batch *batch)
{
    size_t blocks = sl_batch_bytes(batch) / f->block_bytes + 1;
    int64_t step = batch->rows / (int64_t)blocks + 1;
    if (step >= batch->rows)
        return put_block(f, buf, batch);
    for (int64_t from = 0; from < batch->rows; from += step) {
        sl_batch *part;
        SL_TRY(sl_batch_copy(batch, from, batch->rows - from < step ? batch->rows - from : step, &part));
        sl_status status = put_block(f, buf, part);
        sl_batch_unref(part);
        SL_TRY(status);
    }
    return SL_OK;
}

sl_status spill_append(sl_spill *f, sl_buf *scratch, sl_batch *batch)
{
    return batch->rows > 0 ? put_batch(f, scratch, batch) : SL_OK;
}

uint64_t spill_end(const sl_spill *f) { return f->end; }

sl_status spill_write(sl_spill *f, sl_stream *rows, struct spill_run *out)
{
    struct spill_run run = {.file = f, .offset = f->end};
    sl_buf buf = {0};
    sl_status status = SL_OK;
    for (;;) {
        sl_batch *batch;
        SL_GO(sl_stream_next(rows, &batch));
        if (!batch)
            break;
        status = spill_append(f, &buf, batch);
        sl_batch_unref(batch);
        if (status != SL_OK)
            goto done;
    }
    run.end = f->end;
    *out = run;
done:
    sl_buf_free(&buf);
    return status;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

struct spill_stream {
    sl_stream base;
    sl_spill *file;
    const sl_type *schema;
    uint64_t offset, end;
    sl_buf block;
};

struct bytes_left {
    const uint8_t *at;
    size_t len;
};

static sl_status take_bytes(struct bytes_left *in, size_t len, const uint8_t **out)
{
    if (len > in->len)
        return sl_corrupt("temporary file: a block ends too early");
    *out = in->at;
    in->at += len;
    in->len -= len;
    return SL_OK;
}

static sl_status get_buffer(struct bytes_left *in, size_t expected, sl_buffer **out)
{
    const uint8_t *header, *stored;
    SL_TRY(take_bytes(in, BUFFER_HEADER, &header));
    uint64_t len = load_le64(header), stored_len = load_le64(header + 8);
    if (len != expected || stored_len > in->len)
        return sl_corrupt("temporary file: a buffer of %" PRIu64 " bytes instead of %zu", len, expected);
    SL_TRY(take_bytes(in, (size_t)stored_len, &stored));
    sl_buffer *buffer;
    SL_TRY(sl_buffer_new((size_t)len, &buffer));
    if (stored_len == len) {
        if (len)
            memcpy(sl_buffer_data(buffer), stored, (size_t)len);
    } else if (stored_len > INT32_MAX || len > INT32_MAX ||
               LZ4_decompress_safe((const char *)stored, (char *)sl_buffer_data(buffer), (int)stored_len,
                                   (int)len) != (int)len) {
        sl_buffer_unref(buffer);
        return sl_corrupt("temporary file: a buffer does not decompress");
    }
    *out = buffer;
    return SL_OK;
}

/* Bytes of the values: known from the type, for texts from the offsets. */
static size_t expected_values(const sl_type *type, int64_t length, const sl_buffer *offsets)
{
    if (type->id == SL_BOOL)
        return bitmap_bytes(length);
    if (type->id == SL_STRING || type->id == SL_BINARY)
        return offsets ? load_le32(sl_buffer_data(offsets) + (size_t)length * 4) : 0;
    return sl_type_value_bytes(type) * (size_t)length;
}

/* What an array is made of, until sl_array_new takes it. */
struct parts {
    sl_buffer *validity, *values, *offsets;
    sl_array **children;
};

static void parts_free(struct parts *p, size_t child_count)
{
    sl_buffer_unref(p->validity);
    sl_buffer_unref(p->values);
    sl_buffer_unref(p->offsets);
    for (size_t i = 0; p->children && i < child_count; i++)
        sl_array_unref(p->children[i]);
    sl_free(p->children);
}

static sl_status get_array(struct bytes_left *in, const sl_type *type, sl_array **out);

static sl_status get_children(struct bytes_left *in, const sl_type *type, struct parts *p)
{
    if (type->field_count == 0)
        return SL_OK;
    SL_NEW_ARRAY(p->children, type->field_count);
    for (size_t i = 0; i < type->field_count; i++)
        SL_TRY(get_array(in, type->fields[i].type, &p->children[i]));
    return SL_OK;
}

static sl_status get_buffers(struct bytes_left *in, const sl_type *type, int64_t length, uint8_t present,
                             struct parts *p)
{
    /* Values lie before the offsets that tell their length: look at the offsets first. */
    struct bytes_left values = {0};
    if (present & HAS_VALIDITY)
        SL_TRY(get_buffer(in, bitmap_bytes(length), &p->validity));
    if (present & HAS_VALUES) {
        const uint8_t *header, *skipped;
        values = *in;
        SL_TRY(take_bytes(in, BUFFER_HEADER, &header));
        SL_TRY(take_bytes(in, (size_t)load_le64(header + 8), &skipped));
    }
    if (present & HAS_OFFSETS)
        SL_TRY(get_buffer(in, ((size_t)length + 1) * 4, &p->offsets));
    if (present & HAS_VALUES)
        SL_TRY(get_buffer(&values, expected_values(type, length, p->offsets), &p->values));
    else
        SL_TRY(sl_buffer_new(0, &p->values)); /* empty texts: valid pointers all the same */
    return SL_OK;
}

static sl_status get_array(struct bytes_left *in, const sl_type *type, sl_array **out)
{
    const uint8_t *header;
    SL_TRY(take_bytes(in, ARRAY_HEADER, &header));
    uint64_t length = load_le64(header), nulls = load_le64(header + 8);
    if (length > INT32_MAX || nulls > length)
        return sl_corrupt("temporary file: an array of %" PRIu64 " values", length);
    struct parts p = {0};
    sl_status status = get_buffers(in, type, (int64_t)length, header[16], &p);
    if (status == SL_OK)
        status = get_children(in, type, &p);
    if (status != SL_OK) {
        parts_free(&p, type->field_count);
        return status;
    }
    status = sl_array_new(type, (int64_t)length, (int64_t)nulls, p.validity, p.values, p.offsets, p.children,
                          type->field_count, NULL, out);
    sl_free(p.children);
    return status;
}

static sl_status get_batch(struct bytes_left *in, const sl_type *schema, int64_t rows, sl_batch **out)
{
    sl_array **columns;
    SL_NEW_ARRAY(columns, schema->field_count ? schema->field_count : 1);
    sl_status status = SL_OK;
    size_t done = 0;
    while (status == SL_OK && done < schema->field_count) {
        status = get_array(in, schema->fields[done].type, &columns[done]);
        if (status == SL_OK && columns[done++]->length != rows)
            status = sl_corrupt("temporary file: column %s has another length than its block",
                                schema->fields[done - 1].name);
    }
    if (status == SL_OK) {
        status = sl_batch_new(schema, rows, columns, out);
        done = 0; /* taken over */
    }
    for (size_t i = 0; i < done; i++)
        sl_array_unref(columns[i]);
    sl_free(columns);
    return status;
}

static sl_status spill_next(sl_stream *self, sl_batch **out)
{
    struct spill_stream *s = (struct spill_stream *)self;
    *out = NULL;
    if (s->offset == s->end)
        return SL_OK;
    uint8_t header[BLOCK_HEADER];
    if (s->end - s->offset < BLOCK_HEADER)
        return sl_corrupt("temporary file: a run ends within a block");
    SL_TRY(file_read(s->file, s->offset, header, sizeof header));
    uint64_t payload = load_le64(header + 8);
    if (payload > s->end - s->offset - BLOCK_HEADER)
        return sl_corrupt("temporary file: a block of %" PRIu64 " bytes leaves its run", payload);
    s->block.len = 0;
    SL_TRY(sl_buf_reserve(&s->block, (size_t)payload));
    SL_TRY(file_read(s->file, s->offset + BLOCK_HEADER, s->block.data, (size_t)payload));
    if (sl_xxh64(s->block.data, (size_t)payload) != load_le64(header + 16))
        return sl_corrupt("temporary file: the block at %" PRIu64 " is not what was written", s->offset);
    struct bytes_left in = {s->block.data, (size_t)payload};
    SL_TRY(get_batch(&in, s->schema, (int64_t)load_le32(header), out));
    s->offset += BLOCK_HEADER + payload;
    return SL_OK;
}

static void spill_close(sl_stream *self)
{
    struct spill_stream *s = (struct spill_stream *)self;
    sl_buf_free(&s->block);
    sl_type_unref(s->schema);
    sl_free(s);
}

sl_status spill_read(const struct spill_run *run, const sl_type *schema, sl_stream **out)
{
    struct spill_stream *s;
    SL_NEW(s);
    s->base = (sl_stream){schema, spill_next, spill_close};
    s->schema = sl_type_ref(schema);
    s->file = run->file;
    s->offset = run->offset;
    s->end = run->end;
    *out = &s->base;
    return SL_OK;
}
