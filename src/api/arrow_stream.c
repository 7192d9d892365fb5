/* Streams of batches to and from the Arrow C stream interface. */
#include "api/api_int.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- out ----------------------------------------------------------------------------------------------- */

struct exported {
    sl_stream *rows;
    uint64_t memory;
    char error[2048];
};

/* The interface speaks errno; the message says the rest, a hint in a line of its own. */
static int failed(struct exported *x, sl_status status)
{
    const char *hint = sl_status_hint(status);
    snprintf(x->error, sizeof x->error, "%s%s%s", sl_status_message(status), hint ? "\nhint: " : "",
             hint ? hint : "");
    enum sl_code code = sl_status_code(status);
    sl_status_free(status);
    return code == SL_E_MEMORY ? ENOMEM : code == SL_E_CANCELLED ? ECANCELED : code == SL_E_IO ? EIO : EINVAL;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    struct exported *x = stream->private_data;
    sl_status status = sl_arrow_export_schema(x->rows->schema, out);
    return status ? failed(x, status) : 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct exported *x = stream->private_data;
    sl_batch *batch;
    sl_status status = sl_stream_next(x->rows, &batch);
    if (!status && !batch) {
        memset(out, 0, sizeof *out); /* a released array ends the stream */
        return 0;
    }
    if (!status) {
        status = sl_arrow_export_batch(batch, out);
        sl_batch_unref(batch);
    }
    return status ? failed(x, status) : 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    struct exported *x = stream->private_data;
    return x->error[0] ? x->error : NULL;
}

static void release_stream(struct ArrowArrayStream *stream)
{
    struct exported *x = stream->private_data;
    sl_stream_close(x->rows);
    sl_free(x);
    stream->release = NULL;
}

sl_status api_export_stream(sl_stream *rows, uint64_t memory, struct ArrowArrayStream *out)
{
    struct exported *x = sl_calloc(1, sizeof *x);
    if (!x) {
        sl_stream_close(rows);
        return sl_nomem();
    }
    x->rows = rows;
    x->memory = memory;
    *out = (struct ArrowArrayStream){get_schema, get_next, get_last_error, release_stream, x};
    return SL_OK;
}

bool api_take_stream(struct ArrowArrayStream *stream, sl_stream **rows, uint64_t *memory)
{
    if (stream->release != release_stream)
        return false;
    struct exported *x = stream->private_data;
    *rows = x->rows;
    *memory = x->memory;
    sl_free(x);
    stream->release = NULL;
    return true;
}

/* ---- schemas ------------------------------------------------------------------------------------------- */

static void release_copy(struct ArrowSchema *schema)
{
    for (int64_t i = 0; schema->children && i < schema->n_children; i++)
        if (schema->children[i]) {
            if (schema->children[i]->release)
                schema->children[i]->release(schema->children[i]);
            sl_free(schema->children[i]);
        }
    if (schema->dictionary) {
        if (schema->dictionary->release)
            schema->dictionary->release(schema->dictionary);
        sl_free(schema->dictionary);
    }
    sl_free(schema->children);
    sl_free((void *)(uintptr_t)schema->format);
    sl_free((void *)(uintptr_t)schema->name);
    schema->release = NULL;
}

static sl_status copy_child(const struct ArrowSchema *from, struct ArrowSchema **to)
{
    SL_NEW(*to);
    return api_copy_schema(from, *to);
}

sl_status api_copy_schema(const struct ArrowSchema *from, struct ArrowSchema *to)
{
    struct ArrowSchema copy = {.flags = from->flags, .n_children = from->n_children, .release = release_copy};
    sl_status status = SL_OK;
    if (!(copy.format = sl_strdup(from->format)) || !(copy.name = sl_strdup(from->name ? from->name : "")) ||
        !(copy.children = sl_calloc((size_t)from->n_children + 1, sizeof *copy.children)))
        status = sl_nomem();
    for (int64_t i = 0; i < from->n_children && !status; i++)
        status = copy_child(from->children[i], &copy.children[i]);
    if (!status && from->dictionary)
        status = copy_child(from->dictionary, &copy.dictionary);
    if (status)
        release_copy(&copy);
    else
        *to = copy;
    return status;
}
