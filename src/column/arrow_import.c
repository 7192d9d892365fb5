/*
 * Arrow arrays as batches. Where the layouts agree the buffers are shared: the consumed ArrowArray lives in
 * an owner that every shared buffer refers to, and is released with the last of them. Slices (Arrow's
 * `offset`) become arrays that start at 0: fixed-width values by a shifted pointer, offsets and odd bitmaps
 * by a copy.
 *
 * The interface does not say how long buffers are, so they are believed; what they hold is checked: offsets
 * grow and stay within their child, strings are UTF-8, fields that may not be null are not.
 */
#include "column/arrow_int.h"
#include "column/column_int.h"

struct owner {
    atomic_int refs;
    struct ArrowArray array;
};

static void owner_unref(void *context)
{
    struct owner *owner = context;
    if (atomic_fetch_sub_explicit(&owner->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (owner->array.release)
        owner->array.release(&owner->array);
    sl_free(owner);
}

/* Rows [from, from + count) of one Arrow array. */
struct slice {
    struct owner *owner;
    const struct ArrowSchema *schema;
    const struct ArrowArray *array;
    struct arrow_format format;
    int64_t from, count; /* `from` counts from the start of the buffers: the array's own offset is in it */
};

static sl_status slice_import(const struct slice *s, const sl_type *type, sl_array **out);

static sl_status buffer_share(const struct slice *s, const uint8_t *data, size_t size, sl_buffer **out)
{
    union { /* sl_buffer_of takes memory that may be written; these buffers never are */
        const uint8_t *read;
        void *any;
    } pointer = {data};
    SL_TRY(sl_buffer_of(pointer.any, size, owner_unref, s->owner, out));
    atomic_fetch_add_explicit(&s->owner->refs, 1, memory_order_relaxed);
    return SL_OK;
}

static const uint8_t *arrow_buffer(const struct slice *s, int64_t index) { return s->array->buffers[index]; }

/* ---- checks -------------------------------------------------------------------------------------------- */

static int64_t buffers_of(enum arrow_layout layout)
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
    int64_t end, buffers = buffers_of(format->layout), children = schema->dictionary ? 0 : schema->n_children;
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
static sl_status child_slice(const struct slice *s, size_t index, int64_t from, int64_t count,
                             struct slice *out)
{
    const struct ArrowArray *child = s->array->children[index];
    *out = (struct slice){.owner = s->owner, .schema = s->schema->children[index], .array = child};
    SL_TRY(arrow_format_parse(out->schema->format, &out->format));
    SL_TRY(array_check(child, out->schema, &out->format));
    if (from > child->length || count > child->length - from)
        return sl_input("an Arrow array whose child has %" PRId64 " of %" PRId64 " rows", child->length,
                        from + count);
    out->from = child->offset + from;
    out->count = count;
    return SL_OK;
}

/* ---- validity ------------------------------------------------------------------------------------------ */

/* Bits [from, from + count) as a bitmap that starts at 0. */
static sl_status bits_import(const struct slice *s, const uint8_t *bits, sl_buffer **out)
{
    size_t bytes = bitmap_bytes(s->count);
    if (s->from % 8 == 0)
        return buffer_share(s, bits + s->from / 8, bytes, out);
    SL_TRY(sl_buffer_new(bytes, out));
    memset(sl_buffer_data(*out), 0, bytes);
    column_bits_copy(sl_buffer_data(*out), 0, bits, s->from, s->count);
    return SL_OK;
}

static sl_status validity_import(const struct slice *s, int64_t *null_count, sl_buffer **out)
{
    const uint8_t *bits = buffers_of(s->format.layout) > 0 ? arrow_buffer(s, 0) : NULL;
    *out = NULL;
    *null_count = 0;
    if (!bits || s->count == 0)
        return SL_OK;
    *null_count = s->count - column_bits_count(bits, s->from, s->count); /* the array's own count may be -1 */
    return *null_count ? bits_import(s, bits, out) : SL_OK;
}

/* ---- values -------------------------------------------------------------------------------------------- */

static sl_status values_import(const struct slice *s, sl_buffer **out)
{
    size_t bytes;
    if (s->count == 0)
        return sl_buffer_new(0, out);
    if (sl_mul_overflows((size_t)(s->from + s->count), s->format.bytes, &bytes))
        return sl_input("an Arrow array of %" PRId64 " rows", s->count);
    return buffer_share(s, arrow_buffer(s, 1) + (size_t)s->from * s->format.bytes,
                        (size_t)s->count * s->format.bytes, out);
}

static int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* One value of a layout that we do not have, as the int64 of ours; false when it does not fit. */
static bool value_convert(enum arrow_layout layout, const uint8_t *p, int64_t *out)
{
    switch (layout) {
    case ARROW_DATE64:
        *out = floor_divide((int64_t)load_le64(p), 86400000);
        return *out >= INT32_MIN && *out <= INT32_MAX;
    case ARROW_TIME_S:
        return !sl_mul_overflows_i64((int32_t)load_le32(p), 1000, out) && *out >= INT32_MIN &&
               *out <= INT32_MAX;
    default:
        return !sl_mul_overflows_i64((int64_t)load_le64(p), 1000, out);
    }
}

static sl_status values_convert(const struct slice *s, const sl_type *type, const sl_buffer *validity,
                                sl_buffer **out)
{
    size_t width = sl_type_value_bytes(type), bytes;
    if (sl_mul_overflows((size_t)s->count, width, &bytes))
        return sl_nomem();
    SL_TRY(sl_buffer_new(bytes, out));
    for (int64_t i = 0; i < s->count; i++) {
        uint8_t little[8];
        int64_t value = 0;
        if (!validity || bit_get(sl_buffer_data(validity), i)) {
            const uint8_t *p = arrow_buffer(s, 1) + (size_t)(s->from + i) * s->format.bytes;
            if (!value_convert(s->format.layout, p, &value)) {
                sl_buffer_unref(*out);
                return sl_at_row(sl_input("the time is out of range"), i);
            }
        }
        store_le64(little, (uint64_t)value);
        memcpy(sl_buffer_data(*out) + (size_t)i * width, little, width);
    }
    return SL_OK;
}

/* Decimals of 4, 8 or 32 bytes; of the widest the upper half must only repeat the sign. */
static bool decimal_convert(const uint8_t *p, uint32_t bytes, sl_i128 *out)
{
    if (bytes == 4)
        *out = (int32_t)load_le32(p);
    else if (bytes == 8)
        *out = (int64_t)load_le64(p);
    else
        memcpy(out, p, 16);
    if (bytes != 32)
        return true;
    uint64_t sign = *out < 0 ? UINT64_MAX : 0;
    return load_le64(p + 16) == sign && load_le64(p + 24) == sign;
}

static sl_status decimals_convert(const struct slice *s, const sl_buffer *validity, sl_buffer **out)
{
    size_t bytes;
    if (sl_mul_overflows((size_t)s->count, 16, &bytes))
        return sl_nomem();
    SL_TRY(sl_buffer_new(bytes, out));
    for (int64_t i = 0; i < s->count; i++) {
        sl_i128 value = 0;
        if (!validity || bit_get(sl_buffer_data(validity), i)) {
            const uint8_t *p = arrow_buffer(s, 1) + (size_t)(s->from + i) * s->format.bytes;
            if (!decimal_convert(p, s->format.bytes, &value)) {
                sl_buffer_unref(*out);
                return sl_at_row(sl_input("the decimal has more than 38 digits"), i);
            }
        }
        memcpy(sl_buffer_data(*out) + i * 16, &value, 16);
    }
    return SL_OK;
}

/* ---- offsets ------------------------------------------------------------------------------------------- */

static int64_t arrow_offset(const struct slice *s, bool large, int64_t i)
{
    const uint8_t *p = arrow_buffer(s, 1);
    return large ? (int64_t)load_le64(p + i * 8) : (int32_t)load_le32(p + i * 4);
}

/* Int32 offsets from 0; *first and *end are where the slice lies in the child or the bytes. */
static sl_status offsets_import(const struct slice *s, bool large, sl_buffer **out, int64_t *first,
                                int64_t *end)
{
    size_t bytes;
    *first = *end = s->count ? arrow_offset(s, large, s->from) : 0;
    if (*first < 0)
        return sl_input("an Arrow array with a negative offset");
    if (sl_mul_overflows((size_t)s->count + 1, 4, &bytes))
        return sl_nomem();
    SL_TRY(sl_buffer_new(bytes, out));
    uint8_t *offsets = sl_buffer_data(*out);
    store_le32(offsets, 0);
    for (int64_t i = 1; i <= s->count; i++) {
        int64_t next = arrow_offset(s, large, s->from + i);
        if (next < *end || next - *first > INT32_MAX) {
            sl_buffer_unref(*out);
            return next < *end
                       ? sl_at_row(sl_input("the Arrow array's offsets run backwards"), i - 1)
                       : sl_input("an Arrow array with more than %d bytes or elements: split it", INT32_MAX);
        }
        *end = next;
        store_le32(offsets + i * 4, (uint32_t)(next - *first));
    }
    return SL_OK;
}

/* When all the bytes together are UTF-8 and no value begins within a character, each value is; else one by
 * one, since what null rows hold may be anything. */
static sl_status utf8_check(const sl_array *a)
{
    size_t total = (size_t)a->offsets[a->length];
    bool clean = sl_utf8_valid_prefix(a->values, total) == total;
    for (int64_t i = 0; clean && i < a->length; i++)
        clean = (size_t)a->offsets[i] == total || (a->values[a->offsets[i]] & 0xc0) != 0x80;
    for (int64_t i = 0; !clean && i < a->length; i++) {
        size_t len = (size_t)(a->offsets[i + 1] - a->offsets[i]);
        if (sl_is_valid(a, i) && sl_utf8_valid_prefix(a->values + a->offsets[i], len) != len)
            return sl_at_row(sl_input("the string is not valid UTF-8"), i);
    }
    return SL_OK;
}

static sl_status text_import(const struct slice *s, const sl_type *type, sl_array **out)
{
    sl_buffer *validity = NULL, *offsets = NULL, *values = NULL;
    int64_t nulls, first, end;
    sl_array *array = NULL;
    SL_TRY(validity_import(s, &nulls, &validity));
    sl_status status = offsets_import(s, s->format.layout == ARROW_LARGE_TEXT, &offsets, &first, &end);
    if (status == SL_OK && end > first && !arrow_buffer(s, 2))
        status = sl_input("an Arrow array of format '%s' without its buffer 2", s->schema->format);
    else if (status == SL_OK)
        status = end > first ? buffer_share(s, arrow_buffer(s, 2) + first, (size_t)(end - first), &values)
                             : sl_buffer_new(0, &values);
    else
        offsets = NULL; /* freed by its maker */
    if (status != SL_OK) {
        sl_buffer_unref(validity);
        sl_buffer_unref(offsets);
        return status;
    }
    SL_TRY(sl_array_new(type, s->count, nulls, validity, values, offsets, NULL, 0, NULL, &array));
    status = type->id == SL_STRING ? utf8_check(array) : SL_OK;
    if (status == SL_OK)
        *out = array;
    else
        sl_array_unref(array);
    return status;
}

static sl_status views_import(const struct slice *s, const sl_type *type, sl_array **out)
{
    sl_buffer *validity, *offsets, *values;
    sl_array *array;
    int64_t nulls;
    SL_TRY(validity_import(s, &nulls, &validity));
    sl_status status = arrow_views_decode(s->array, s->from, s->count, validity, &offsets, &values);
    if (status != SL_OK) {
        sl_buffer_unref(validity);
        return status;
    }
    SL_TRY(sl_array_new(type, s->count, nulls, validity, values, offsets, NULL, 0, NULL, &array));
    status = type->id == SL_STRING ? utf8_check(array) : SL_OK;
    if (status == SL_OK)
        *out = array;
    else
        sl_array_unref(array);
    return status;
}

/* ---- nested -------------------------------------------------------------------------------------------- */

static int64_t null_where_parent_is_not(const sl_array *child, const uint8_t *parent_validity)
{
    for (int64_t i = 0; child->null_count > 0 && i < child->length; i++)
        if (!sl_is_valid(child, i) && (!parent_validity || bit_get(parent_validity, i)))
            return i;
    return -1;
}

/* Our arrays hold null under a null struct, other producers anything. */
static sl_status nulls_push_down(sl_array **child, const sl_array *parent)
{
    sl_array *old = *child, *fresh;
    sl_buffer *validity;
    size_t bytes = bitmap_bytes(old->length);
    if (parent->null_count == 0 || old->type->id == SL_NULL)
        return SL_OK;
    SL_TRY(sl_buffer_new(bytes, &validity));
    uint8_t *bits = sl_buffer_data(validity);
    for (size_t i = 0; i < bytes; i++)
        bits[i] = (uint8_t)(parent->validity[i] & (old->validity ? old->validity[i] : 0xff));
    int64_t nulls = old->length - column_bits_count(bits, 0, old->length);
    for (size_t i = 0; i < old->child_count; i++)
        sl_array_ref(old->children[i]);
    SL_TRY(sl_array_new(old->type, old->length, nulls, validity, sl_buffer_ref(old->values_buffer),
                        sl_buffer_ref(old->offsets_buffer), old->children, old->child_count, NULL, &fresh));
    sl_array_unref(old);
    *child = fresh;
    return SL_OK;
}

static sl_status member_import(const struct slice *s, size_t index, int64_t from, int64_t count,
                               const sl_field *field, const sl_buffer *parent_validity, sl_array **out)
{
    struct slice child;
    SL_TRY(child_slice(s, index, from, count, &child));
    SL_TRY(slice_import(&child, field->type, out));
    int64_t row =
        field->nullable
            ? -1
            : null_where_parent_is_not(*out, parent_validity ? sl_buffer_data(parent_validity) : NULL);
    if (row < 0)
        return SL_OK;
    sl_array_unref(*out);
    return sl_at_row(sl_input("null in a field that may not be null"), row);
}

static sl_status struct_members(const struct slice *s, const sl_type *type, sl_buffer *validity,
                                sl_array **children)
{
    for (size_t i = 0; i < type->field_count; i++) {
        /* The struct's offset and length count in its children, behind their own offsets. */
        sl_status status = member_import(s, i, s->from, s->count, &type->fields[i], validity, &children[i]);
        if (status != SL_OK) {
            while (i > 0)
                sl_array_unref(children[--i]);
            return sl_context(status, "%s", type->fields[i].name);
        }
    }
    return SL_OK;
}

static sl_status struct_import(const struct slice *s, const sl_type *type, sl_array **out)
{
    sl_buffer *validity;
    sl_array **children, *array;
    int64_t nulls;
    SL_TRY(validity_import(s, &nulls, &validity));
    children = sl_calloc(type->field_count + 1, sizeof *children);
    sl_status status = children ? struct_members(s, type, validity, children) : sl_nomem();
    if (status != SL_OK) {
        sl_buffer_unref(validity);
        sl_free(children);
        return status;
    }
    status =
        sl_array_new(type, s->count, nulls, validity, NULL, NULL, children, type->field_count, NULL, &array);
    sl_free(children);
    for (size_t i = 0; status == SL_OK && i < type->field_count; i++) {
        status = nulls_push_down(&array->children[i], array);
        if (status != SL_OK)
            sl_array_unref(array);
    }
    if (status == SL_OK)
        *out = array;
    return status;
}

static sl_status fixed_list_offsets(const struct slice *s, sl_buffer **out, int64_t *first, int64_t *end)
{
    int64_t width = s->format.width, elements;
    if (sl_mul_overflows_i64(s->from, width, first) || sl_mul_overflows_i64(s->count, width, &elements) ||
        elements > INT32_MAX || sl_add_overflows_i64(*first, elements, end))
        return sl_input("an Arrow array with more than %d elements: split it", INT32_MAX);
    SL_TRY(sl_buffer_new(((size_t)s->count + 1) * 4, out));
    for (int64_t i = 0; i <= s->count; i++)
        store_le32(sl_buffer_data(*out) + i * 4, (uint32_t)(i * width));
    return SL_OK;
}

static sl_status list_import(const struct slice *s, const sl_type *type, sl_array **out)
{
    sl_buffer *validity, *offsets;
    sl_array *child;
    int64_t nulls, first, end;
    sl_status status = s->format.layout == ARROW_FIXED_LIST
                           ? fixed_list_offsets(s, &offsets, &first, &end)
                           : offsets_import(s, s->format.layout == ARROW_LARGE_LIST, &offsets, &first, &end);
    SL_TRY(status);
    status = validity_import(s, &nulls, &validity);
    if (status != SL_OK) {
        sl_buffer_unref(offsets);
        return status;
    }
    status = member_import(s, 0, first, end - first, &type->fields[0], NULL, &child);
    if (status != SL_OK) {
        sl_buffer_unref(validity);
        sl_buffer_unref(offsets);
        return sl_context(status, "%s", type->id == SL_MAP ? "entries" : "element");
    }
    return sl_array_new(type, s->count, nulls, validity, NULL, offsets, &child, 1, NULL, out);
}

/* ---- dictionaries -------------------------------------------------------------------------------------- */

static sl_status indexes_append(const struct slice *s, const sl_array *indexes, const sl_array *dictionary,
                                sl_builder *b)
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
static sl_status dictionary_import(const struct slice *s, const sl_type *type, sl_array **out)
{
    struct ArrowSchema index_schema = *s->schema;
    struct slice index_slice = *s;
    struct slice values = {.owner = s->owner, .schema = s->schema->dictionary, .array = s->array->dictionary};
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
    SL_GO(slice_import(&values, type, &dictionary));
    SL_GO(sl_type_new(s->format.id, &index_type));
    SL_GO(slice_import(&index_slice, index_type, &indexes));
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

static sl_status fixed_width_import(const struct slice *s, const sl_type *type, sl_array **out)
{
    sl_buffer *validity, *values = NULL;
    int64_t nulls;
    SL_TRY(validity_import(s, &nulls, &validity));
    sl_status status;
    switch (s->format.layout) {
    case ARROW_BOOL:
        status = s->count ? bits_import(s, arrow_buffer(s, 1), &values) : sl_buffer_new(0, &values);
        break;
    case ARROW_VALUES:
        status = values_import(s, &values);
        break;
    case ARROW_DECIMAL_N:
        status = decimals_convert(s, validity, &values);
        break;
    default:
        status = values_convert(s, type, validity, &values);
        break;
    }
    if (status != SL_OK) {
        sl_buffer_unref(validity);
        return status;
    }
    return sl_array_new(type, s->count, nulls, validity, values, NULL, NULL, 0, NULL, out);
}

/* What comes back from where we sent it needs no check and no copy; NULL: it does not. */
static sl_array *import_own(const struct slice *s, const sl_type *type)
{
    sl_array *own = arrow_exported_array(s->array);
    bool is_whole = own && s->from == 0 && s->count == own->length;
    return is_whole && sl_type_equal(own->type, type) ? sl_array_ref(own) : NULL;
}

static sl_status slice_import(const struct slice *s, const sl_type *type, sl_array **out)
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
        return text_import(s, type, out);
    case ARROW_VIEWS:
        return views_import(s, type, out);
    case ARROW_LIST:
    case ARROW_LARGE_LIST:
    case ARROW_FIXED_LIST:
    case ARROW_MAP:
        return list_import(s, type, out);
    case ARROW_STRUCT:
        return struct_import(s, type, out);
    default:
        return fixed_width_import(s, type, out);
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

static sl_status batch_import(struct owner *owner, const struct ArrowSchema *arrow_schema,
                              const sl_type *schema, sl_batch **out)
{
    struct slice s = {.owner = owner, .schema = arrow_schema, .array = &owner->array};
    sl_array *rows;
    SL_TRY(schemas_agree(arrow_schema, schema));
    SL_TRY(arrow_format_parse(arrow_schema->format, &s.format));
    SL_TRY(array_check(s.array, arrow_schema, &s.format));
    s.from = s.array->offset;
    s.count = s.array->length;
    SL_TRY_CTX(struct_import(&s, schema, &rows), "column");
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
    struct owner *owner = sl_calloc(1, sizeof *owner);
    if (!owner) {
        array->release(array);
        return sl_nomem();
    }
    atomic_init(&owner->refs, 1);
    owner->array = *array; /* moved: the interface allows it when the source is marked released */
    array->release = NULL;
    sl_status status = batch_import(owner, arrow_schema, schema, out);
    owner_unref(owner);
    return status;
}
