/* Arrow arrays on their way in: what the kinds of arrays share (arrow_import.c). */
#ifndef SL_COLUMN_ARROW_IMPORT_INT_H
#define SL_COLUMN_ARROW_IMPORT_INT_H

#include "column/arrow_int.h"
#include "column/column_int.h"

/* The consumed array; every buffer that is shared with it refers to it. */
struct arrow_owner {
    atomic_int refs;
    struct ArrowArray array;
};

/* Rows [from, from + count) of one Arrow array. */
struct arrow_slice {
    struct arrow_owner *owner;
    const struct ArrowSchema *schema;
    const struct ArrowArray *array;
    struct arrow_format format;
    int64_t from, count; /* `from` counts from the start of the buffers: the array's own offset is in it */
};

SL_INLINE const uint8_t *arrow_buffer(const struct arrow_slice *s, int64_t index)
{
    return s->array->buffers[index];
}

/* arrow_import.c */
SL_MUST_USE sl_status arrow_slice_import(const struct arrow_slice *s, const sl_type *type, sl_array **out);
/* Rows of a child, which is checked to have them. */
SL_MUST_USE sl_status arrow_child_slice(const struct arrow_slice *s, size_t index, int64_t from,
                                        int64_t count, struct arrow_slice *out);
SL_MUST_USE sl_status arrow_buffer_share(const struct arrow_slice *s, const uint8_t *data, size_t size,
                                         sl_buffer **out);
/* How many buffers a layout has; views have more. */
int64_t arrow_buffers_of(enum arrow_layout layout);

/* arrow_import_values.c */
/* *out NULL: no row is null. */
SL_MUST_USE sl_status arrow_validity_import(const struct arrow_slice *s, int64_t *null_count,
                                            sl_buffer **out);
/* Int32 offsets from 0; *first and *end are where the slice lies in the child or the bytes. */
SL_MUST_USE sl_status arrow_offsets_import(const struct arrow_slice *s, bool large, sl_buffer **out,
                                           int64_t *first, int64_t *end);
SL_MUST_USE sl_status arrow_fixed_width_import(const struct arrow_slice *s, const sl_type *type,
                                               sl_array **out);
SL_MUST_USE sl_status arrow_text_import(const struct arrow_slice *s, const sl_type *type, sl_array **out);
SL_MUST_USE sl_status arrow_view_texts_import(const struct arrow_slice *s, const sl_type *type,
                                              sl_array **out);

/* arrow_import_nested.c */
SL_MUST_USE sl_status arrow_struct_import(const struct arrow_slice *s, const sl_type *type, sl_array **out);
SL_MUST_USE sl_status arrow_list_import(const struct arrow_slice *s, const sl_type *type,
                                        sl_array **out); /* maps too */

#endif
