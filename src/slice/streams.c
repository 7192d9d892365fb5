/* Small streams that others are built from. */
#include "slice/slice.h"

/* ---- a list of batches --------------------------------------------------------------------------------- */

struct list_stream {
    sl_stream base;
    sl_batch **batches;
    size_t count, at;
};

static sl_status list_next(sl_stream *self, sl_batch **out)
{
    struct list_stream *s = (struct list_stream *)self;
    *out = NULL;
    if (s->at < s->count) {
        *out = s->batches[s->at];
        s->batches[s->at++] = NULL;
    }
    return SL_OK;
}

static void list_close(sl_stream *self)
{
    struct list_stream *s = (struct list_stream *)self;
    for (size_t i = s->at; i < s->count; i++)
        sl_batch_unref(s->batches[i]);
    sl_free(s->batches);
    sl_type_unref(s->base.schema);
    sl_free(s);
}

sl_status sl_stream_of_batches(const sl_type *schema, sl_batch **batches, size_t count, sl_stream **out)
{
    struct list_stream *s = sl_calloc(1, sizeof *s);
    sl_batch **copy = sl_calloc(count + 1, sizeof *copy);
    if (!s || !copy) {
        for (size_t i = 0; i < count; i++)
            sl_batch_unref(batches[i]);
        sl_free(s);
        sl_free(copy);
        return sl_nomem();
    }
    if (count)
        memcpy(copy, batches, count * sizeof *copy);
    *s = (struct list_stream){{sl_type_ref(schema), list_next, list_close}, copy, count, 0};
    *out = &s->base;
    return SL_OK;
}

/* ---- conform and project ------------------------------------------------------------------------------- */

struct conform_stream {
    sl_stream base;
    sl_stream *in;
};

static sl_status conform_next(sl_stream *self, sl_batch **out)
{
    struct conform_stream *s = (struct conform_stream *)self;
    sl_batch *batch;
    *out = NULL;
    SL_TRY(sl_stream_next(s->in, &batch));
    if (!batch)
        return SL_OK;
    sl_status status = sl_batch_conform(batch, s->base.schema, out);
    sl_batch_unref(batch);
    return status;
}

static sl_status project_next(sl_stream *self, sl_batch **out)
{
    struct conform_stream *s = (struct conform_stream *)self;
    sl_batch *batch, *projected = NULL;
    *out = NULL;
    SL_TRY(sl_stream_next(s->in, &batch));
    if (!batch)
        return SL_OK;
    const sl_type *schema = s->base.schema;
    sl_array **columns = sl_calloc(schema->field_count + 1, sizeof *columns);
    sl_status status = columns ? SL_OK : sl_nomem();
    int at = -1;
    for (size_t i = 0; i < schema->field_count && !status; i++) {
        at = sl_type_field_near(batch->schema, schema->fields[i].name, (size_t)(at + 1));
        if (at < 0)
            status = sl_internal("projection: column %s is missing", schema->fields[i].name);
        else
            columns[i] = sl_array_ref(batch->columns[at]);
    }
    if (!status)
        status = sl_batch_new(schema, batch->rows, columns, &projected);
    else if (columns)
        for (size_t i = 0; i < schema->field_count; i++)
            sl_array_unref(columns[i]);
    sl_free(columns);
    sl_batch_unref(batch);
    if (!status)
        *out = projected;
    return status;
}

static void conform_close(sl_stream *self)
{
    struct conform_stream *s = (struct conform_stream *)self;
    sl_stream_close(s->in);
    sl_type_unref(s->base.schema);
    sl_free(s);
}

static sl_status wrap(sl_stream *in, const sl_type *schema, sl_status (*next)(sl_stream *, sl_batch **),
                      sl_stream **out)
{
    struct conform_stream *s = sl_calloc(1, sizeof *s);
    if (!s) {
        sl_stream_close(in);
        return sl_nomem();
    }
    *s = (struct conform_stream){{sl_type_ref(schema), next, conform_close}, in};
    *out = &s->base;
    return SL_OK;
}

sl_status sl_stream_conform(sl_stream *in, const sl_type *schema, sl_stream **out)
{
    return wrap(in, schema, conform_next, out);
}

sl_status sl_stream_project(sl_stream *in, const sl_type *schema, sl_stream **out)
{
    return wrap(in, schema, project_next, out);
}
