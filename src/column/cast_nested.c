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
                           int64_t *bad_row, sl_array **out)
{
    int64_t null_row = field->nullable ? -1 : forbidden_null(array, parent_validity);
    if (null_row >= 0) {
        *bad_row = null_row;
        return sl_input("null in a field that may not be null");
    }
    return array_cast(array, field->type, bad_row, out);
}

/* Members `to` out of the array's by name; values under a null parent are not looked at for null. */
static sl_status members_cast(const sl_array *a, const sl_type *to, int64_t *bad_row, sl_array **out)
{
    for (size_t i = 0; i < to->field_count; i++) {
        const sl_field *field = &to->fields[i];
        int index = sl_type_field_index(a->type, field->name);
        sl_status status;
        if (index >= 0)
            status = array_field_cast(a->children[index], field, a->validity, bad_row, &out[i]);
        else if (field->nullable)
            status = sl_array_nulls(field->type, a->length, &out[i]);
        else
            status = sl_input("the field is missing and may not be null");
        if (status != SL_OK) {
            arrays_free(out, i);
            return sl_context(status, "%s", field->name);
        }
    }
    return SL_OK;
}

sl_status cast_struct(const sl_array *a, const sl_type *to, int64_t *bad_row, sl_array **out)
{
    sl_array **children;
    SL_NEW_ARRAY(children, to->field_count ? to->field_count : 1);
    sl_status status = members_cast(a, to, bad_row, children);
    if (status == SL_OK)
        status = sl_array_new(to, a->length, a->null_count, cast_shared(a->validity_buffer), NULL, NULL,
                              children, to->field_count, NULL, out);
    sl_free(children);
    return status;
}

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

/* Lists and maps: the child changes, offsets and validity stay. */
static sl_status with_child(const sl_array *a, const sl_type *to, sl_array *child, sl_array **out)
{
    return sl_array_new(to, a->length, a->null_count, cast_shared(a->validity_buffer), NULL,
                        cast_shared(a->offsets_buffer), &child, 1, NULL, out);
}

sl_status cast_list(const sl_array *a, const sl_type *to, int64_t *bad_row, sl_array **out)
{
    sl_array *child;
    int64_t bad_element = -1;
    sl_status status = array_field_cast(a->children[0], &to->fields[0], NULL, &bad_element, &child);
    if (status != SL_OK) {
        if (bad_element >= 0)
            *bad_row = row_of_element(a, bad_element);
        return sl_context(status, "element");
    }
    return with_child(a, to, child, out);
}

static sl_status map_entries_cast(const sl_array *entries, const sl_type *to, int64_t *bad_row,
                                  sl_array **out)
{
    static const char *const names[] = {"key", "value"};
    sl_array *children[2] = {NULL, NULL};
    for (size_t i = 0; i < 2; i++) {
        sl_status status =
            array_field_cast(entries->children[i], &to->fields[i], entries->validity, bad_row, &children[i]);
        if (status != SL_OK) {
            sl_array_unref(children[0]);
            return sl_context(status, "%s", names[i]);
        }
    }
    return sl_array_new(to, entries->length, entries->null_count, cast_shared(entries->validity_buffer), NULL,
                        NULL, children, 2, NULL, out);
}

sl_status cast_map(const sl_array *a, const sl_type *to, int64_t *bad_row, sl_array **out)
{
    sl_array *entries;
    int64_t bad_entry = -1;
    sl_status status = map_entries_cast(a->children[0], to->fields[0].type, &bad_entry, &entries);
    if (status != SL_OK) {
        if (bad_entry >= 0)
            *bad_row = row_of_element(a, bad_entry);
        return status;
    }
    return with_child(a, to, entries, out);
}
