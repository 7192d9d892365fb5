/* Arrow structs, lists and maps as ours. */
#include "column/arrow_import_int.h"

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

static sl_status member_import(const struct arrow_slice *s, size_t index, int64_t from, int64_t count,
                               const sl_field *field, const sl_buffer *parent_validity, sl_array **out)
{
    struct arrow_slice child;
    SL_TRY(arrow_child_slice(s, index, from, count, &child));
    SL_TRY(arrow_slice_import(&child, field->type, out));
    int64_t row =
        field->nullable
            ? -1
            : null_where_parent_is_not(*out, parent_validity ? sl_buffer_data(parent_validity) : NULL);
    if (row < 0)
        return SL_OK;
    sl_array_unref(*out);
    return sl_at_row(sl_input("null in a field that may not be null"), row);
}

static sl_status struct_members(const struct arrow_slice *s, const sl_type *type, sl_buffer *validity,
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

sl_status arrow_struct_import(const struct arrow_slice *s, const sl_type *type, sl_array **out)
{
    sl_buffer *validity;
    sl_array **children, *array;
    int64_t nulls;
    SL_TRY(arrow_validity_import(s, &nulls, &validity));
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

static sl_status fixed_list_offsets(const struct arrow_slice *s, sl_buffer **out, int64_t *first,
                                    int64_t *end)
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

sl_status arrow_list_import(const struct arrow_slice *s, const sl_type *type, sl_array **out)
{
    sl_buffer *validity, *offsets;
    sl_array *child;
    int64_t nulls, first, end;
    sl_status status =
        s->format.layout == ARROW_FIXED_LIST
            ? fixed_list_offsets(s, &offsets, &first, &end)
            : arrow_offsets_import(s, s->format.layout == ARROW_LARGE_LIST, &offsets, &first, &end);
    SL_TRY(status);
    status = arrow_validity_import(s, &nulls, &validity);
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
