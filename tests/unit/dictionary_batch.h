/* For tests: batches of two string columns, "key" and "text", whose texts are kept in a dictionary of any size. */
#ifndef TESTS_DICTIONARY_BATCH_H
#define TESTS_DICTIONARY_BATCH_H

#include "check_support.h"
#include "column/column.h"
#include <stdio.h>

/* `count` texts of `len` bytes, no two alike. */
static inline sl_array *numbered_texts(const sl_type *type, int64_t count, size_t len)
{
    char text[2048];
    sl_builder *b;
    sl_array *out;
    assert_in_range(len, 9, sizeof text);
    memset(text, '.', len);
    OK(sl_builder_new(type, &b));
    for (int64_t i = 0; i < count; i++) {
        snprintf(text, 9, "%08d", (int)i);
        OK(sl_builder_bytes(b, text, len));
    }
    OK(sl_builder_finish(b, &out));
    sl_builder_free(b);
    return out;
}

/* Row i: key i, and text i modulo `entries` of a dictionary of texts of `text_bytes` each. */
static inline sl_batch *dictionary_batch(int64_t rows, int64_t entries, size_t text_bytes)
{
    const sl_type *schema;
    sl_buffer *indexes;
    sl_array *columns[2];
    sl_batch *out;
    OK(sl_schema_parse("key string not null, text string not null", &schema));
    const sl_type *string = schema->fields[0].type;
    OK(sl_buffer_new((size_t)rows * 4, &indexes));
    for (int64_t i = 0; i < rows; i++)
        store_le32(sl_buffer_data(indexes) + i * 4, (uint32_t)(i % entries));
    columns[0] = numbered_texts(string, rows, 16);
    OK(sl_array_new(string, rows, 0, NULL, indexes, NULL, NULL, 0,
                    numbered_texts(string, entries, text_bytes), &columns[1]));
    OK(sl_batch_new(schema, rows, columns, &out));
    sl_type_unref(schema);
    return out;
}

#endif
