/* Private to keys/: how values become text, and how columns of text are built. */
#ifndef SL_KEYS_INT_H
#define SL_KEYS_INT_H

#include "keys/keys.h"
#include <assert.h>

#define HIVE_DEFAULT_PARTITION "__HIVE_DEFAULT_PARTITION__"

/* Collects one text per row into a string array. Row texts lie behind each other in `bytes`. */
struct text_sink {
    sl_buf bytes;
    sl_buffer *offsets; /* rows + 1 of int32 */
    int64_t rows, filled;
};
SL_MUST_USE sl_status text_sink_init(struct text_sink *sink, int64_t rows);
/* Where the next `most` bytes may be written; advance bytes.len by what was used. NULL: out of memory or over
 * 2 GiB. */
SL_MUST_USE sl_status text_sink_room(struct text_sink *sink, size_t most, uint8_t **out);
/* Ends the current row; text_sink_room has kept the length within int32. */
SL_INLINE void text_sink_end_row(struct text_sink *sink)
{
    sink->filled++;
    store_le32(sl_buffer_data(sink->offsets) + sink->filled * 4, (uint32_t)sink->bytes.len);
}
/* The array of all rows; `validity` (one reference is taken over, NULL: no nulls). The sink is empty
 * afterwards. */
SL_MUST_USE sl_status text_sink_finish(struct text_sink *sink, sl_buffer *validity, int64_t null_count,
                                       sl_array **out);
void text_sink_free(struct text_sink *sink);

/* The texts of a column's values (spec/write-path.md 1.2, record family) as a plain string array with the
 * column's nulls. A string column is shared, not copied. */
SL_MUST_USE sl_status key_text_of_column(sl_array *column, sl_array **out);
/* The same for the field `path` ("a" or "a.b"): a null parent makes the value null. *parent_nulls (may be
 * NULL) is the first row whose parent is null, or -1. A field that the batch lacks is SL_E_INPUT. */
SL_MUST_USE sl_status key_text_of_field(const sl_batch *batch, const char *path, sl_array **out,
                                        int64_t *parent_null_row);
/* The type of the field `path`, or NULL when there is none. */
const sl_type *key_field_type(const sl_type *schema, const char *path);
bool keygen_is_composite(const struct sl_keygen *keygen); /* keys name their fields */

/* Partition paths of every row (spec/write-path.md 1.5). */
SL_MUST_USE sl_status partition_paths_of_batch(const struct sl_keygen *keygen, const sl_batch *batch,
                                               sl_array **out);

#endif
