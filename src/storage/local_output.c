/* Writing a local file from front to back, through a buffer; durable once finished. */
#include "storage/storage_int.h"
#include <unistd.h>

#define BUFFER_BYTES ((size_t)256 << 10)

struct local_output {
    sl_output base;
    int fd;
    uint8_t *buffer;
    size_t filled;
};

static sl_status flush_buffer(struct local_output *output)
{
    SL_TRY(local_write_fully(output->fd, output->base.path, output->buffer, output->filled));
    output->filled = 0;
    return SL_OK;
}

static sl_status output_write(sl_output *base, const void *data, size_t len)
{
    struct local_output *output = (struct local_output *)base;
    if (len > BUFFER_BYTES - output->filled)
        SL_TRY(flush_buffer(output));
    if (len >= BUFFER_BYTES)
        return local_write_fully(output->fd, base->path, data, len);
    memcpy(output->buffer + output->filled, data, len);
    output->filled += len;
    return SL_OK;
}

static sl_status flush_and_sync(struct local_output *output)
{
    SL_TRY(flush_buffer(output));
    return local_sync(output->fd, output->base.path);
}

static void output_free(struct local_output *output)
{
    sl_free(output->buffer);
    sl_free(output);
}

static sl_status output_finish(sl_output *base)
{
    struct local_output *output = (struct local_output *)base;
    sl_status status = flush_and_sync(output);
    status = local_close_written(output->fd, base->path, status);
    if (!status)
        status = local_sync_parent(base->path);
    if (status)
        unlink(base->path);
    output_free(output);
    return status;
}

static void output_abort(sl_output *base)
{
    struct local_output *output = (struct local_output *)base;
    close(output->fd);
    unlink(base->path);
    output_free(output);
}

static const struct output_vtable local_output_vtable = {output_write, output_finish, output_abort};

/* Allocates first: nothing can fail any more once the file exists. */
sl_status local_create(sl_storage *storage, const char *path, sl_output **out)
{
    (void)storage;
    struct local_output *output;
    SL_NEW(output);
    output->base.vtable = &local_output_vtable;
    output->buffer = sl_malloc(BUFFER_BYTES);
    output->base.path = sl_strdup(path);
    sl_status status = output->buffer && output->base.path ? SL_OK : sl_nomem();
    if (!status)
        status = local_remove_checksum_file(path);
    if (!status)
        status = local_open_exclusive(path, &output->fd);
    if (status) {
        sl_free(output->base.path);
        output_free(output);
        return status;
    }
    *out = &output->base;
    return SL_OK;
}
