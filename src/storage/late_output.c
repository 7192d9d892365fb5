/* An output whose file is made with its first byte: who gathers what he writes need not wait for the file's folder or name. */
#include "storage/storage_int.h"

struct late_output {
    sl_output base;
    sl_output *file; /* NULL: nothing was written yet */
    sl_status (*create)(void *context, sl_output **out);
    void *context;
};

static sl_status late_write(sl_output *base, const void *data, size_t len)
{
    struct late_output *output = (struct late_output *)base;
    if (!output->file)
        SL_TRY(output->create(output->context, &output->file));
    return sl_output_write(output->file, data, len);
}

static sl_status late_finish(sl_output *base)
{
    struct late_output *output = (struct late_output *)base;
    sl_status status = output->file ? sl_output_finish(output->file) : SL_OK;
    sl_free(output);
    return status;
}

static void late_abort(sl_output *base)
{
    struct late_output *output = (struct late_output *)base;
    sl_output_abort(output->file);
    sl_free(output);
}

static const struct output_vtable late_output_vtable = {late_write, late_finish, late_abort};

sl_status sl_output_late(const char *path, sl_status (*create)(void *context, sl_output **out), void *context,
                         sl_output **out)
{
    struct late_output *output;
    SL_NEW(output);
    output->base.vtable = &late_output_vtable;
    output->create = create;
    output->context = context;
    output->base.path = sl_strdup(path);
    if (!output->base.path) {
        sl_free(output);
        return sl_nomem();
    }
    *out = &output->base;
    return SL_OK;
}
