/* Files that are memory: for tests, for files inside files, and for formats that are built before they are
 * stored. */
#include "storage/storage_int.h"

struct memory_file {
    sl_file base;
    const uint8_t *data; /* borrowed */
};

static sl_status memory_read_at(sl_file *file, uint64_t offset, void *out, size_t len)
{
    memcpy(out, ((struct memory_file *)file)->data + offset, len);
    return SL_OK;
}

static const uint8_t *memory_map(sl_file *file) { return ((struct memory_file *)file)->data; }

static void memory_close(sl_file *file) { sl_free(file); }

static const struct file_vtable memory_file_vtable = {memory_read_at, memory_map, memory_close};

sl_status sl_file_of_memory(const void *data, size_t len, const char *name, sl_file **out)
{
    struct memory_file *file;
    SL_NEW(file);
    file->base.vtable = &memory_file_vtable;
    file->base.size = len;
    file->data = data;
    file->base.path = sl_strdup(name);
    if (!file->base.path) {
        sl_free(file);
        return sl_nomem();
    }
    *out = &file->base;
    return SL_OK;
}

struct buf_output {
    sl_output base;
    sl_buf *buf;  /* borrowed */
    size_t begin; /* what was there before us */
};

static sl_status buf_write(sl_output *output, const void *data, size_t len)
{
    return sl_buf_append(((struct buf_output *)output)->buf, data, len);
}

static sl_status buf_finish(sl_output *output)
{
    sl_free(output);
    return SL_OK;
}

static void buf_abort(sl_output *output)
{
    struct buf_output *to = (struct buf_output *)output;
    to->buf->len = to->begin;
    sl_free(output);
}

static const struct output_vtable buf_output_vtable = {buf_write, buf_finish, buf_abort};

sl_status sl_output_to_buf(sl_buf *buf, sl_output **out)
{
    struct buf_output *output;
    SL_NEW(output);
    output->base.vtable = &buf_output_vtable;
    output->buf = buf;
    output->begin = buf->len;
    output->base.path = sl_strdup("(memory)");
    if (!output->base.path) {
        sl_free(output);
        return sl_nomem();
    }
    *out = &output->base;
    return SL_OK;
}
