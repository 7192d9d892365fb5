/* Casts of structs, by the names of their members, and of lists and maps by their elements. */
#include "column/cast_int.h"
#include "column/column_int.h"

static void arrays_free(sl_array **arrays, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sl_array_unref(arrays[i]);
}

/* First row whose member is null though its parent is not, or -1. */
static int64_t forbidden_null(const sl_array *a, const uint8_t *parent_validity)
{
    if (a->null_count == 0 && a->type->id != SL_NULL)
        return -1;
    for (int64_t i = 0; i < a->length; i++)
        if ((a->type->id == SL_NULL || !sl_is_valid(a, i)) &&
            (!parent_validity || bit_get(parent_validity, i)))
            return i;
    return -1;
}

sl_status array_field_cast(sl_array *array, const sl_field *field, const uint8_t *parent_validity,
                           sl_array **out)
{
    int64_t null_row = field->nullable ? -1 : forbidden_null(array, parent_validity);
    if (null_row >= 0)
        return sl_at_row(sl_input("null in a field that may not be null"), null_row);
    return sl_cast(array, field->type, out);
}

/* A failure of the member `name`; its row, which is also the struct's, stays in front. */
static sl_status member_failed(sl_status status, const char *name)
{
    int64_t row = sl_status_row(status);
    return sl_at_row(sl_context(status, "%s", name), row);
}

/* Members `to` out of the array's by name; values under a null parent are not looked at for null. */
static sl_status members_cast(const sl_array *a, const sl_type *to, sl_array **out)
{
    for (size_t i = 0; i < to->field_count; i++) {
        const sl_field *field = &to->fields[i];
        int index = sl_type_field_index(a->type, field->name);
        sl_status status;
        if (index >= 0)
            status = array_field_cast(a->children[index], field, a->validity, &out[i]);
        else if (field->nullable)
            status = sl_array_nulls(field->type, a->length, &out[i]);
        else
            status = sl_input("the field is missing and may not be null");
        if (status != SL_OK) {
            arrays_free(out, i);
            return member_failed(status, field->name);
        }
    }
    return SL_OK;
}

sl_status cast_struct(const sl_array *a, const sl_type *to, sl_array **out)
{
    sl_array **children;
    SL_NEW_ARRAY(children, to->field_count ? to->field_count : 1);
    sl_status status = members_cast(a, to, children);
    if (status == SL_OK)
        status = sl_array_new(to, a->length, a->null_count, cast_shared(a->validity_buffer), NULL, NULL,
                              children, to->field_count, NULL, out);
    sl_free(children);
    return status;
}

/* Lists and maps: the child changes, offsets and validity stay. */
static sl_status with_child(const sl_array *a, const sl_type *to, sl_array *child, sl_array **out)
{
    return sl_array_new(to, a->length, a->null_count, cast_shared(a->validity_buffer), NULL,
                        cast_shared(a->offsets_buffer), &child, 1, NULL, out);
}

sl_status cast_list(const sl_array *a, const sl_type *to, sl_array **out)
{
    sl_array *child;
    sl_status status = array_field_cast(a->children[0], &to->fields[0], NULL, &child);
    if (status != SL_OK)
        return sl_at_row_of_element(member_failed(status, "element"), a);
    return with_child(a, to, child, out);
}

static sl_status map_entries_cast(const sl_array *entries, const sl_type *to, sl_array **out)
{
    static const char *const names[] = {"key", "value"};
    sl_array *children[2] = {NULL, NULL};
    for (size_t i = 0; i < 2; i++) {
        sl_status status =
            array_field_cast(entries->children[i], &to->fields[i], entries->validity, &children[i]);
        if (status != SL_OK) {
            sl_array_unref(children[0]);
            return member_failed(status, names[i]);
        }
    }
    return sl_array_new(to, entries->length, entries->null_count, cast_shared(entries->validity_buffer), NULL,
                        NULL, children, 2, NULL, out);
}

sl_status cast_map(const sl_array *a, const sl_type *to, sl_array **out)
{
    sl_array *entries;
    sl_status status = map_entries_cast(a->children[0], to->fields[0].type, &entries);
    if (status != SL_OK)
        return sl_at_row_of_element(status, a);
    return with_child(a, to, entries, out);
}
