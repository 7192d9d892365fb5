/*
 * Arrow arrays as batches. Where the layouts agree the buffers are shared: the consumed ArrowArray lives in
 * an owner that every shared buffer refers to, and is released with the last of them. Slices (Arrow's
 * `offset`) become arrays that start at 0: fixed-width values by a shifted pointer, offsets and odd bitmaps
 * by a copy.
 *
 * The interface does not say how long buffers are, so they are believed; what they hold is checked: offsets
 * grow and stay within their child, strings are UTF-8, fields that may not be null are not.
 */
#include "column/arrow_import_int.h"

static void arrow_owner_unref(void *context)
{
    struct arrow_owner *owner = context;
    if (atomic_fetch_sub_explicit(&owner->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (owner->array.release)
        owner->array.release(&owner->array);
    sl_free(owner);
}

sl_status arrow_buffer_share(const struct arrow_slice *s, const uint8_t *data, size_t size, sl_buffer **out)
{
    union { /* sl_buffer_of takes memory that may be written; these buffers never are */
        const uint8_t *read;
        void *any;
    } pointer = {data};
    SL_TRY(sl_buffer_of(pointer.any, size, arrow_owner_unref, s->owner, out));
    atomic_fetch_add_explicit(&s->owner->refs, 1, memory_order_relaxed);
    return SL_OK;
}

/* ---- checks -------------------------------------------------------------------------------------------- */

int64_t arrow_buffers_of(enum arrow_layout layout)
{
    switch (layout) {
    case ARROW_NULL:
        return 0;
    case ARROW_STRUCT:
    case ARROW_FIXED_LIST:
        return 1;
    case ARROW_TEXT:
    case ARROW_LARGE_TEXT:
    case ARROW_VIEWS: /* and any number of buffers with bytes */
        return 3;
    default:
        return 2;
    }
}

static sl_status array_check(const struct ArrowArray *array, const struct ArrowSchema *schema,
                             const struct arrow_format *format)
{
    int64_t end, buffers = arrow_buffers_of(format->layout),
                 children = schema->dictionary ? 0 : schema->n_children;
    if (!array || !array->release)
        return sl_input("a released or missing Arrow array");
    if (array->length < 0 || array->offset < 0 || sl_add_overflows_i64(array->length, array->offset, &end) ||
        end > INT64_MAX / 64)
        return sl_input("an Arrow array of length %" PRId64 " at offset %" PRId64, array->length,
                        array->offset);
    bool may_have_more = buffers == 0 || format->layout == ARROW_VIEWS;
    if (array->n_buffers < buffers || (array->n_buffers > buffers && !may_have_more))
        return sl_input("an Arrow array of format '%s' with %" PRId64 " buffers", schema->format,
                        array->n_buffers);
    if (buffers > 0 && !array->buffers)
        return sl_input("an Arrow array without buffers");
    for (int64_t i = 1; i < buffers; i++)
        /* Producers may leave out buffers that have no bytes; the bytes of strings may be none. */
        if (!array->buffers[i] && array->length > 0 && i != 2)
            return sl_input("an Arrow array of format '%s' without its buffer %" PRId64, schema->format, i);
    if (array->n_children != children || (children > 0 && !array->children))
        return sl_input("an Arrow array of format '%s' with %" PRId64 " children", schema->format,
                        array->n_children);
    if (schema->dictionary && (!array->dictionary || !array->dictionary->release))
        return sl_input("an Arrow array without its dictionary");
    return SL_OK;
}

/* The child's rows [from, from + count), counted from its own first row. */
sl_status arrow_child_slice(const struct arrow_slice *s, size_t index, int64_t from, int64_t count,
                            struct arrow_slice *out)
{
    const struct ArrowArray *child = s->array->children[index];
    *out = (struct arrow_slice){.owner = s->owner, .schema = s->schema->children[index], .array = child};
    SL_TRY(arrow_format_parse(out->schema->format, &out->format));
    SL_TRY(array_check(child, out->schema, &out->format));
    if (from > child->length || count > child->length - from)
        return sl_input("an Arrow array whose child has %" PRId64 " of %" PRId64 " rows", child->length,
                        from + count);
    out->from = child->offset + from;
    out->count = count;
    return SL_OK;
}

/* ---- dictionaries -------------------------------------------------------------------------------------- */

static sl_status indexes_append(const struct arrow_slice *s, const sl_array *indexes,
                                const sl_array *dictionary, sl_builder *b)
{
    for (int64_t i = 0; i < s->count; i++) {
        if (!sl_is_valid(indexes, i)) {
            SL_TRY(sl_builder_null(b));
            continue;
        }
        int64_t index = sl_integer_at(indexes, i);
        if (index < 0 || index >= dictionary->length)
            return sl_at_row(sl_input("index %" PRId64 " into a dictionary of %" PRId64 " values", index,
                                      dictionary->length),
                             i);
        SL_TRY(sl_builder_append_range(b, dictionary, index, 1));
    }
    return SL_OK;
}

/* Decoded: only readers of files that were asked to keep dictionaries make arrays with one. */
static sl_status dictionary_import(const struct arrow_slice *s, const sl_type *type, sl_array **out)
{
    struct ArrowSchema index_schema = *s->schema;
    struct arrow_slice index_slice = *s;
    struct arrow_slice values = {
        .owner = s->owner, .schema = s->schema->dictionary, .array = s->array->dictionary};
    const sl_type *index_type = NULL;
    sl_array *indexes = NULL, *dictionary = NULL;
    sl_builder *b = NULL;
    sl_status status;
    index_schema.dictionary = NULL;
    index_slice.schema = &index_schema;
    SL_GO(arrow_format_parse(values.schema->format, &values.format));
    SL_GO(array_check(values.array, values.schema, &values.format));
    values.from = values.array->offset;
    values.count = values.array->length;
    SL_GO(arrow_slice_import(&values, type, &dictionary));
    SL_GO(sl_type_new(s->format.id, &index_type));
    SL_GO(arrow_slice_import(&index_slice, index_type, &indexes));
    SL_GO(sl_builder_new(type, &b));
    SL_GO(indexes_append(s, indexes, dictionary, b));
    status = sl_builder_finish(b, out);
done:
    sl_builder_free(b);
    sl_array_unref(indexes);
    sl_array_unref(dictionary);
    sl_type_unref(index_type);
    return status;
}

/* ---- any array ----------------------------------------------------------------------------------------- */

/* What comes back from where we sent it needs no check and no copy; NULL: it does not. */
static sl_array *import_own(const struct arrow_slice *s, const sl_type *type)
{
    sl_array *own = arrow_exported_array(s->array);
    bool is_whole = own && s->from == 0 && s->count == own->length;
    return is_whole && sl_type_equal(own->type, type) ? sl_array_ref(own) : NULL;
}

sl_status arrow_slice_import(const struct arrow_slice *s, const sl_type *type, sl_array **out)
{
    if ((*out = import_own(s, type)) != NULL)
        return SL_OK;
    if (s->schema->dictionary)
        return dictionary_import(s, type, out);
    switch (s->format.layout) {
    case ARROW_NULL:
        return sl_array_nulls(type, s->count, out);
    case ARROW_TEXT:
    case ARROW_LARGE_TEXT:
        return arrow_text_import(s, type, out);
    case ARROW_VIEWS:
        return arrow_view_texts_import(s, type, out);
    case ARROW_LIST:
    case ARROW_LARGE_LIST:
    case ARROW_FIXED_LIST:
    case ARROW_MAP:
        return arrow_list_import(s, type, out);
    case ARROW_STRUCT:
        return arrow_struct_import(s, type, out);
    default:
        return arrow_fixed_width_import(s, type, out);
    }
}

/* The formats that drive the import must be those of the type that the arrays get. */
static sl_status schemas_agree(const struct ArrowSchema *arrow_schema, const sl_type *schema)
{
    const sl_type *described;
    SL_TRY(sl_arrow_import_schema(arrow_schema, &described));
    bool equal = sl_type_equal(described, schema);
    sl_type_unref(described);
    return equal ? SL_OK : sl_input("the Arrow schema is not the one of the batch");
}

static sl_status batch_import(struct arrow_owner *owner, const struct ArrowSchema *arrow_schema,
                              const sl_type *schema, sl_batch **out)
{
    struct arrow_slice s = {.owner = owner, .schema = arrow_schema, .array = &owner->array};
    sl_array *rows;
    SL_TRY(schemas_agree(arrow_schema, schema));
    SL_TRY(arrow_format_parse(arrow_schema->format, &s.format));
    SL_TRY(array_check(s.array, arrow_schema, &s.format));
    s.from = s.array->offset;
    s.count = s.array->length;
    SL_TRY_CTX(arrow_struct_import(&s, schema, &rows), "column");
    sl_status status;
    if (rows->null_count > 0) {
        status = sl_input("the Arrow array has rows that are null as a whole");
    } else {
        for (size_t i = 0; i < rows->child_count; i++)
            sl_array_ref(rows->children[i]);
        status = sl_batch_new(schema, rows->length, rows->children, out);
    }
    sl_array_unref(rows);
    return status;
}

sl_status sl_arrow_import_batch(struct ArrowArray *array, const struct ArrowSchema *arrow_schema,
                                const sl_type *schema, sl_batch **out)
{
    if (!array || !array->release)
        return sl_input("a released or missing Arrow array");
    struct arrow_owner *owner = sl_calloc(1, sizeof *owner);
    if (!owner) {
        array->release(array);
        return sl_nomem();
    }
    atomic_init(&owner->refs, 1);
    owner->array = *array; /* moved: the interface allows it when the source is marked released */
    array->release = NULL;
    sl_status status = batch_import(owner, arrow_schema, schema, out);
    arrow_owner_unref(owner);
    return status;
}
