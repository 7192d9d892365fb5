/* Arrays: values of one column in Arrow's layout, immutable once made. */
#include "column/column_int.h"

sl_array *sl_array_ref(sl_array *array)
{
    if (array)
        atomic_fetch_add_explicit(&array->refs, 1, memory_order_relaxed);
    return array;
}

void sl_array_unref(sl_array *array)
{
    if (!array || atomic_fetch_sub_explicit(&array->refs, 1, memory_order_acq_rel) != 1)
        return;
    sl_type_unref(array->type);
    sl_buffer_unref(array->validity_buffer);
    sl_buffer_unref(array->values_buffer);
    sl_buffer_unref(array->offsets_buffer);
    for (size_t i = 0; i < array->child_count; i++)
        sl_array_unref(array->children[i]);
    sl_free(array->children);
    sl_array_unref(array->dictionary);
    sl_free(array);
}

/* The array owns its parts from here on; `children` may be missing when memory ran out. */
static void parts_unref(sl_buffer *validity, sl_buffer *values, sl_buffer *offsets, sl_array **children,
                        size_t child_count, sl_array *dictionary)
{
    sl_buffer_unref(validity);
    sl_buffer_unref(values);
    sl_buffer_unref(offsets);
    for (size_t i = 0; i < child_count; i++)
        sl_array_unref(children[i]);
    sl_array_unref(dictionary);
}

static sl_status zero_bitmap(int64_t bits, sl_buffer **out)
{
    SL_TRY(sl_buffer_new(bitmap_bytes(bits), out));
    memset(sl_buffer_data(*out), 0, bitmap_bytes(bits));
    return SL_OK;
}

static sl_status array_allocate(size_t child_count, sl_array **out)
{
    sl_array *array = NULL;
    SL_NEW(array);
    if (child_count > 0 && !(array->children = sl_calloc(child_count, sizeof *array->children))) {
        sl_free(array);
        return sl_nomem();
    }
    atomic_init(&array->refs, 1);
    *out = array;
    return SL_OK;
}

sl_status sl_array_new(const sl_type *type, int64_t length, int64_t null_count, sl_buffer *validity,
                       sl_buffer *values, sl_buffer *offsets, sl_array **children, size_t child_count,
                       sl_array *dictionary, sl_array **out)
{
    sl_array *array = NULL;
    sl_status status = SL_OK;
    if (dictionary && (sl_type_is_nested(type) || type->id == SL_NULL)) {
        status = sl_internal("a nested array with a dictionary");
        goto done;
    }
    /* sl_is_valid reads the bitmap only, so an array of nulls has one. */
    if (type->id == SL_NULL && !validity)
        SL_GO(zero_bitmap(length, &validity));
    SL_GO(array_allocate(child_count, &array));
    array->type = sl_type_ref(type);
    array->length = length;
    array->null_count = type->id == SL_NULL ? length : null_count;
    array->validity_buffer = validity;
    array->values_buffer = values;
    array->offsets_buffer = offsets;
    array->validity = validity ? validity->data : NULL;
    array->values = values ? values->data : NULL;
    array->offsets = offsets ? (const int32_t *)(const void *)offsets->data : NULL;
    for (size_t i = 0; i < child_count; i++)
        array->children[i] = children[i];
    array->child_count = child_count;
    array->dictionary = dictionary;
    *out = array;
    return SL_OK;
done:
    parts_unref(validity, values, offsets, children, child_count, dictionary);
    return status;
}

sl_status sl_array_nulls(const sl_type *type, int64_t length, sl_array **out)
{
    sl_builder *b = NULL;
    sl_status status = SL_OK;
    SL_GO(sl_builder_new(type, &b));
    SL_GO(builder_append_nulls(b, length));
    SL_GO(sl_builder_finish(b, out));
done:
    sl_builder_free(b);
    return status;
}

sl_status sl_array_constant_string(const char *value, size_t len, int64_t length, sl_array **out)
{
    const sl_type *type = NULL;
    sl_builder *b = NULL;
    sl_status status = SL_OK;
    size_t bytes;
    if (sl_mul_overflows(len, (size_t)length, &bytes))
        return sl_input("more than 2 GiB of text in one batch");
    SL_GO(sl_type_new(SL_STRING, &type));
    SL_GO(sl_builder_new(type, &b));
    SL_GO(builder_text_fits(b, bytes));
    SL_GO(growing_room(&b->values, bytes));
    SL_GO(builder_offsets_room(b, length));
    for (int64_t i = 0; i < length; i++)
        SL_GO(sl_builder_bytes(b, value, len));
    SL_GO(sl_builder_finish(b, out));
done:
    sl_builder_free(b);
    sl_type_unref(type);
    return status;
}

sl_status sl_array_repeated_string(const char *value, size_t len, int64_t length, sl_array **out)
{
    sl_array *entry = NULL;
    sl_buffer *indexes = NULL;
    sl_status status = SL_OK;
    size_t bytes;
    if (sl_mul_overflows((size_t)length, sizeof(int32_t), &bytes))
        return sl_nomem();
    SL_GO(sl_array_constant_string(value, len, 1, &entry));
    SL_GO(sl_buffer_new(bytes, &indexes));
    memset(sl_buffer_data(indexes), 0, bytes);
    return sl_array_new(entry->type, length, 0, NULL, indexes, NULL, NULL, 0, entry, out);
done:
    sl_array_unref(entry);
    return status;
}

sl_status sl_array_copy(const sl_array *array, int64_t from, int64_t count, sl_array **out)
{
    sl_builder *b = NULL;
    sl_status status = SL_OK;
    SL_GO(sl_builder_new(array->type, &b));
    SL_GO(sl_builder_append_range(b, array, from, count));
    SL_GO(sl_builder_finish(b, out));
done:
    sl_builder_free(b);
    return status;
}

static bool has_dictionary(const sl_array *array)
{
    if (array->dictionary)
        return true;
    for (size_t i = 0; i < array->child_count; i++)
        if (has_dictionary(array->children[i]))
            return true;
    return false;
}

/* The same nested array over decoded children. */
static sl_status children_decode(sl_array *array, sl_array **out)
{
    size_t count = array->child_count, made = 0;
    sl_array **children;
    SL_NEW_ARRAY(children, count);
    sl_status status = SL_OK;
    while (made < count && status == SL_OK) {
        status = sl_array_decode_dictionary(array->children[made], &children[made]);
        made += status == SL_OK;
    }
    if (status == SL_OK)
        status = sl_array_new(array->type, array->length, array->null_count,
                              sl_buffer_ref(array->validity_buffer), sl_buffer_ref(array->values_buffer),
                              sl_buffer_ref(array->offsets_buffer), children, count, NULL, out);
    else
        for (size_t i = 0; i < made; i++)
            sl_array_unref(children[i]);
    sl_free(children);
    return status;
}

sl_status sl_array_decode_dictionary(sl_array *array, sl_array **out)
{
    if (array->dictionary)
        return sl_array_copy(array, 0, array->length, out);
    if (has_dictionary(array))
        return children_decode(array, out);
    *out = sl_array_ref(array);
    return SL_OK;
}

static size_t buffer_bytes(const sl_buffer *buffer) { return buffer ? buffer->capacity : 0; }

size_t sl_array_bytes(const sl_array *array)
{
    size_t bytes = buffer_bytes(array->validity_buffer) + buffer_bytes(array->values_buffer) +
                   buffer_bytes(array->offsets_buffer);
    for (size_t i = 0; i < array->child_count; i++)
        bytes += sl_array_bytes(array->children[i]);
    return array->dictionary ? bytes + sl_array_bytes(array->dictionary) : bytes;
}

/* A row of a dictionary's array: its index, or the text that it stands for, taken as an average one. */
static size_t dictionary_rows_bytes(const sl_array *a, bool decoded)
{
    size_t rows = (size_t)a->length, entries = (size_t)a->dictionary->length;
    if (!decoded || entries == 0)
        return rows * sizeof(int32_t);
    return (size_t)((double)sl_array_data_bytes(a->dictionary) / (double)entries * (double)rows);
}

static size_t rows_bytes(const sl_array *a, bool decoded)
{
    size_t rows = (size_t)a->length, bytes = a->validity ? bitmap_bytes(a->length) : 0;
    if (a->dictionary)
        return bytes + dictionary_rows_bytes(a, decoded);
    if (sl_type_has_offsets(a->type))
        bytes += rows * sizeof(int32_t);
    if (a->offsets && a->values)
        bytes += rows ? (size_t)(a->offsets[rows] - a->offsets[0]) : 0;
    else if (a->values)
        bytes += a->type->id == SL_BOOL ? bitmap_bytes(a->length) : rows * sl_type_value_bytes(a->type);
    for (size_t i = 0; i < a->child_count; i++)
        bytes += rows_bytes(a->children[i], decoded);
    return bytes;
}

size_t sl_array_data_bytes(const sl_array *array) { return rows_bytes(array, false); }

size_t sl_array_plain_bytes(const sl_array *array) { return rows_bytes(array, true); }

/* The row whose list holds element `element`. */
static int64_t row_of_element(const sl_array *a, int64_t element)
{
    int64_t low = 0, high = a->length;
    while (low + 1 < high) {
        int64_t middle = low + (high - low) / 2;
        if (a->offsets[middle] <= element)
            low = middle;
        else
            high = middle;
    }
    return low;
}

sl_status sl_at_row_of_element(sl_status status, const sl_array *list)
{
    int64_t element = sl_status_row(status);
    return element < 0 ? status : sl_at_row(status, row_of_element(list, element));
}

int64_t sl_integer_at(const sl_array *a, int64_t i)
{
    if (a->dictionary) {
        i = sl_i32_at(a, i);
        a = a->dictionary;
    }
    switch (a->type->id) {
    case SL_INT8:
        return (int8_t)a->values[i];
    case SL_UINT8:
        return a->values[i];
    case SL_INT16:
        return (int16_t)load_le16(a->values + i * 2);
    case SL_UINT16:
        return load_le16(a->values + i * 2);
    case SL_UINT32:
        return load_le32(a->values + i * 4);
    case SL_INT32:
    case SL_DATE:
        return sl_i32_at(a, i);
    case SL_TIME:
        return a->type->unit == SL_MILLIS ? sl_i32_at(a, i) : sl_i64_at(a, i);
    default:
        return sl_i64_at(a, i);
    }
}
