/* Casts as their two users see them, of one array (cast.c) and of a batch by its schema (conform.c), and their parts. */
#ifndef SL_COLUMN_CAST_INT_H
#define SL_COLUMN_CAST_INT_H

#include "column/column.h"

/* sl_cast for the value of a field, where null may be forbidden. `parent_validity` may be NULL; values under a null
 * parent are not looked at for null. */
sl_status array_field_cast(sl_array *array, const sl_field *field, const uint8_t *parent_validity,
                           sl_array **out);
/* SL_E_INPUT "<from> cannot become <to>". */
sl_status cast_refused(const sl_type *from, const sl_type *to);

/* ---- pieces of arrays (cast.c) ------------------------------------------------------------------------- */

/* "<value> does not fit <to>", of its row */
sl_status cast_does_not_fit(const sl_array *array, int64_t row, const sl_type *to);
sl_buffer *cast_shared(sl_buffer *buffer); /* a reference; NULL is fine */
/* An array of `to` with the source's validity and new values (taken over). */
sl_status cast_with_values(const sl_array *array, const sl_type *to, sl_buffer *values, sl_array **out);
/* Same layout, another type. */
sl_status cast_retype(const sl_array *array, const sl_type *to, sl_array **out);
sl_status cast_values_new(int64_t length, size_t width, sl_buffer **out);

/* ---- kinds of casts ------------------------------------------------------------------------------------ */

/* cast_numbers.c */
sl_status cast_integers(const sl_array *a, const sl_type *to, sl_array **out);
sl_status cast_to_floating(const sl_array *a, const sl_type *to, sl_array **out);
sl_status cast_to_decimal(const sl_array *a, const sl_type *to, sl_array **out);
sl_status cast_time(const sl_array *a, const sl_type *to, sl_array **out);
/* cast_bytes.c */
sl_status cast_to_text(const sl_array *a, const sl_type *to, sl_array **out);
sl_status cast_to_utf8(const sl_array *a, const sl_type *to, sl_array **out);
sl_status cast_to_enum(const sl_array *a, const sl_type *to, sl_array **out);
sl_status cast_fixed_to_binary(const sl_array *a, const sl_type *to, sl_array **out);
sl_status cast_binary_to_fixed(const sl_array *a, const sl_type *to, sl_array **out);
/* cast_nested.c */
sl_status cast_struct(const sl_array *a, const sl_type *to, sl_array **out);
sl_status cast_list(const sl_array *a, const sl_type *to, sl_array **out);
sl_status cast_map(const sl_array *a, const sl_type *to, sl_array **out);

#endif
