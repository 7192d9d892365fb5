/* Dispatch of the calls on open files and outputs; the checks that hold for every kind are here. */
#include "storage/storage_int.h"

uint64_t sl_file_size(const sl_file *file) { return file->size; }

const char *sl_file_path(const sl_file *file) { return file->path; }

sl_status sl_file_read_at(sl_file *file, uint64_t offset, void *out, size_t len)
{
    if (offset > file->size || len > file->size - offset)
        return sl_corrupt("%s: %zu bytes at %" PRIu64 " run past the end of the file at %" PRIu64, file->path,
                          len, offset, file->size);
    return len ? file->vtable->read_at(file, offset, out, len) : SL_OK;
}

const uint8_t *sl_file_memory(sl_file *file) { return file->vtable->map(file); }

void sl_file_close(sl_file *file)
{
    if (!file)
        return;
    sl_free(file->path);
    file->vtable->close(file);
}

sl_status sl_output_write(sl_output *output, const void *data, size_t len)
{
    if (len == 0)
        return SL_OK;
    SL_TRY(output->vtable->write(output, data, len));
    output->offset += len;
    return SL_OK;
}

uint64_t sl_output_offset(const sl_output *output) { return output->offset; }

const char *sl_output_path(const sl_output *output) { return output->path; }

sl_status sl_output_finish(sl_output *output)
{
    char *path = output->path; /* the kind still names it in its errors */
    sl_status status = output->vtable->finish(output);
    sl_free(path);
    return status;
}

void sl_output_abort(sl_output *output)
{
    if (!output)
        return;
    char *path = output->path;
    output->vtable->abort(output);
    sl_free(path);
}
