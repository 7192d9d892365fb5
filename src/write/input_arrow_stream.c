/* Rows from an Arrow C stream: the way in for the library's callers. Memory is shared where the layouts
 * agree. */
#include "sluice/sluice_arrow.h"
#include "write/input_int.h"
#include <errno.h>

struct arrow_input {
    sl_stream stream; /* first */
    struct ArrowArrayStream arrow;
    struct ArrowSchema schema; /* how the arrays are laid out */
};

static void arrow_close(sl_stream *self)
{
    struct arrow_input *in = (struct arrow_input *)self;
    if (in->schema.release)
        in->schema.release(&in->schema);
    if (in->arrow.release)
        in->arrow.release(&in->arrow);
    sl_type_unref(in->stream.schema);
    sl_free(in);
}

/* The interface reports errno codes, and perhaps a text. */
static sl_status arrow_failure(struct arrow_input *in, const char *what, int code)
{
    const char *text = in->arrow.get_last_error(&in->arrow);
    if (code == ENOMEM)
        return sl_nomem();
    return sl_io("the Arrow stream failed to give %s: %s", what, text ? text : strerror(code));
}

static sl_status arrow_next(sl_stream *self, sl_batch **out)
{
    struct arrow_input *in = (struct arrow_input *)self;
    struct ArrowArray array = {0};
    int code = in->arrow.get_next(&in->arrow, &array);
    if (code != 0)
        return arrow_failure(in, "a batch", code);
    if (!array.release) { /* the end */
        *out = NULL;
        return SL_OK;
    }
    return sl_arrow_import_batch(&array, &in->schema, in->stream.schema, out);
}

static sl_status arrow_start(struct arrow_input *in)
{
    int code = in->arrow.get_schema(&in->arrow, &in->schema);
    if (code != 0)
        return arrow_failure(in, "its schema", code);
    return sl_arrow_import_schema(&in->schema, &in->stream.schema);
}

sl_status sl_input_arrow_stream(struct ArrowArrayStream *stream, const sl_type *wanted,
                                const struct sl_input_options *options, sl_stream **out)
{
    if (!stream || !stream->release)
        return sl_input("a released or missing Arrow stream");
    struct arrow_input *in = sl_calloc(1, sizeof *in);
    if (!in) {
        stream->release(stream);
        return sl_nomem();
    }
    in->arrow = *stream; /* moved, as the interface allows: the caller's is released from now on */
    stream->release = NULL;
    in->stream.next = arrow_next;
    in->stream.close = arrow_close;
    sl_status status = arrow_start(in);
    if (status != SL_OK) {
        arrow_close(&in->stream);
        return sl_context(status, "Arrow stream");
    }
    if (!wanted) {
        *out = &in->stream;
        return SL_OK;
    }
    return sl_input_conform(&in->stream, wanted, "Arrow stream", options, out);
}
