/* Casts as the two users see them: of one array (cast.c) and of a batch by its schema (conform.c). */
#ifndef SL_COLUMN_CAST_INT_H
#define SL_COLUMN_CAST_INT_H

#include "column/column.h"

/* As sl_cast, but a value that does not fit leaves its row in *bad_row and the message does not name it, so that the
 * caller may translate an element's row into its list's. *bad_row stays as it is for other failures. */
sl_status array_cast(sl_array *array, const sl_type *to, int64_t *bad_row, sl_array **out);
/* The same for the value of a field, where null may be forbidden. `parent_validity` may be NULL; values under a null
 * parent are not looked at for null. */
sl_status array_field_cast(sl_array *array, const sl_field *field, const uint8_t *parent_validity, int64_t *bad_row,
                           sl_array **out);
/* SL_E_INPUT "<from> cannot become <to>". */
sl_status cast_refused(const sl_type *from, const sl_type *to);

#endif
