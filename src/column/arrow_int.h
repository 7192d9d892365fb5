/* What importing types and importing arrays share: an Arrow format string taken apart. */
#ifndef SL_COLUMN_ARROW_INT_H
#define SL_COLUMN_ARROW_INT_H

#include "column/column.h"
#include "sluice/sluice_arrow.h"

enum arrow_layout {
    ARROW_NULL,
    ARROW_BOOL,
    ARROW_VALUES,     /* fixed width, the same here and there */
    ARROW_TEXT,       /* int32 offsets */
    ARROW_LARGE_TEXT, /* int64 offsets */
    ARROW_VIEWS,      /* arrow_views.c */
    ARROW_LIST,
    ARROW_LARGE_LIST,
    ARROW_FIXED_LIST,
    ARROW_STRUCT,
    ARROW_MAP,
    ARROW_DATE64,    /* int64 milliseconds, here int32 days */
    ARROW_TIME_S,    /* int32 seconds, here milliseconds */
    ARROW_STAMP_S,   /* int64 seconds, here milliseconds */
    ARROW_DECIMAL_N, /* of 4, 8 or 32 bytes, here 16 */
};
struct arrow_format {
    enum arrow_layout layout;
    enum sl_type_id id;
    enum sl_time_unit unit;
    bool utc;
    int32_t precision, scale;
    int32_t width;  /* fixed-size binary and lists */
    uint32_t bytes; /* of one value, where values have a fixed width */
};
/* Types that we do not have are SL_E_UNSUPPORTED by name. */
sl_status arrow_format_parse(const char *format, struct arrow_format *out);
/* Rows [from, from + count) of an array of views as offsets and bytes; `validity` begins with row `from`. */
sl_status arrow_views_decode(const struct ArrowArray *array, int64_t from, int64_t count,
                             const sl_buffer *validity, sl_buffer **offsets, sl_buffer **values);
/* The array that sl_arrow_export_batch made this one of; NULL: it is somebody else's, or was changed since, or has children,
 * which a consumer may have moved away. Borrowed. */
sl_array *arrow_exported_array(const struct ArrowArray *array);
/* "int8" .. "uint64" as the index of a dictionary. */
bool arrow_format_is_index(const struct arrow_format *format);

#endif
