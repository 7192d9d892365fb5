/* Batches as Arrow arrays: our layout is Arrow's, so an export is a handful of pointers and one reference an
 * array. Each array holds its own reference, so that a consumer may move a child out and keep it longer than
 * the rest. */
#include "column/arrow_int.h"

/* Stands for buffers that have no bytes; also the one offset of an array without rows. */
static const int64_t empty_buffer[8];

struct array_private {
    sl_array *array; /* NULL for the batch itself */
    const void *buffers[3];
    struct ArrowArray *children;
    struct ArrowArray **pointers;
};

static void array_release(struct ArrowArray *array)
{
    struct array_private *own = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++)
        if (array->children[i]->release)
            array->children[i]->release(array->children[i]);
    sl_array_unref(own->array);
    sl_free(own->children);
    sl_free(own->pointers);
    sl_free(own);
    array->release = NULL;
}

static const void *or_empty(const void *data) { return data ? data : empty_buffer; }

static void buffers_set(const sl_array *a, struct array_private *own, struct ArrowArray *out)
{
    own->buffers[0] = a->null_count ? a->validity : NULL;
    switch (a->type->id) {
    case SL_NULL:
        out->n_buffers = 0;
        break;
    case SL_STRUCT:
        out->n_buffers = 1;
        break;
    case SL_LIST:
    case SL_MAP:
        own->buffers[1] = or_empty(a->offsets);
        out->n_buffers = 2;
        break;
    case SL_STRING:
    case SL_BINARY:
        own->buffers[1] = or_empty(a->offsets);
        own->buffers[2] = or_empty(a->values);
        out->n_buffers = 3;
        break;
    default:
        own->buffers[1] = or_empty(a->values);
        out->n_buffers = 2;
        break;
    }
}

static sl_status children_export(sl_array *const *children, size_t count, struct ArrowArray *out);

/* An ArrowArray that owns `own` and nothing else yet. */
static sl_status private_new(size_t children, int64_t length, struct ArrowArray *out)
{
    struct array_private *own;
    SL_NEW(own);
    own->children = sl_calloc(children + 1, sizeof *own->children);
    own->pointers = sl_calloc(children + 1, sizeof(struct ArrowArray *));
    *out = (struct ArrowArray){.length = length,
                               .buffers = own->buffers,
                               .children = own->pointers,
                               .release = array_release,
                               .private_data = own};
    if (own->children && own->pointers)
        return SL_OK;
    array_release(out);
    return sl_nomem();
}

/* `a` has no dictionary, nor have its children. */
static sl_status array_export(sl_array *a, struct ArrowArray *out)
{
    struct ArrowArray array;
    SL_TRY(private_new(a->child_count, a->length, &array));
    struct array_private *own = array.private_data;
    own->array = sl_array_ref(a);
    array.null_count = a->null_count;
    buffers_set(a, own, &array);
    sl_status status = children_export(a->children, a->child_count, &array);
    if (status == SL_OK)
        *out = array;
    else
        array_release(&array);
    return status;
}

sl_array *arrow_exported_array(const struct ArrowArray *array)
{
    if (array->release != array_release)
        return NULL;
    const struct array_private *own = array->private_data;
    bool is_whole = own->array && array->offset == 0 && array->length == own->array->length &&
                    array->buffers == own->buffers && array->n_children == 0;
    return is_whole ? own->array : NULL;
}

static sl_status children_export(sl_array *const *children, size_t count, struct ArrowArray *out)
{
    struct array_private *own = out->private_data;
    for (size_t i = 0; i < count; i++) {
        SL_TRY(array_export(children[i], &own->children[i]));
        own->pointers[i] = &own->children[i];
        out->n_children++;
    }
    return SL_OK;
}

static sl_status columns_decode(const sl_batch *batch, sl_array **out)
{
    for (size_t i = 0; i < batch->schema->field_count; i++) {
        sl_status status = sl_array_decode_dictionary(batch->columns[i], &out[i]);
        if (status != SL_OK) {
            while (i > 0)
                sl_array_unref(out[--i]);
            return status;
        }
    }
    return SL_OK;
}

sl_status sl_arrow_export_batch(sl_batch *batch, struct ArrowArray *out)
{
    size_t count = batch->schema->field_count;
    sl_array **columns;
    struct ArrowArray array;
    SL_NEW_ARRAY(columns, count + 1);
    sl_status status = columns_decode(batch, columns);
    if (status != SL_OK) {
        sl_free(columns);
        return status;
    }
    status = private_new(count, batch->rows, &array);
    if (status == SL_OK) {
        array.n_buffers = 1; /* of the struct: no row is null */
        status = children_export(columns, count, &array);
        if (status == SL_OK)
            *out = array;
        else
            array_release(&array);
    }
    for (size_t i = 0; i < count; i++)
        sl_array_unref(columns[i]);
    sl_free(columns);
    return status;
}
