/* What the files of column/ share with each other and nobody else. */
#ifndef SL_COLUMN_INT_H
#define SL_COLUMN_INT_H

#include "column/column.h"

/* ---- buffers ------------------------------------------------------------------------------------------- */

struct sl_buffer {
    atomic_int refs;
    uint8_t *data;
    size_t size;                    /* bytes in use */
    size_t capacity;                /* bytes that may be written */
    void (*release)(void *context); /* NULL: the data follows this header in one allocation */
    void *context;
};

/* A buffer that is being filled. Zero-initialised is empty. */
struct growing {
    sl_buffer *buffer;
    uint8_t *data; /* of the buffer */
    size_t size, capacity;
    size_t expected; /* first capacity after a finish: what the array before needed */
    bool reuses;
    sl_buffer *given; /* reuses: the buffer that was handed over last, until it is filled again */
};
SL_MUST_USE sl_status growing_expand(struct growing *g, size_t more);
/* Room for `more` bytes behind size. */
SL_INLINE sl_status growing_room(struct growing *g, size_t more)
{
    if (SL_LIKELY(more <= g->capacity - g->size))
        return SL_OK;
    return growing_expand(g, more);
}
/* Hands the buffer over (an empty one when nothing was written) and starts anew. */
SL_MUST_USE sl_status growing_take(struct growing *g, sl_buffer **out);
void growing_free(struct growing *g);

/* ---- bitmaps ------------------------------------------------------------------------------------------- */

/* Each touches only the named bits, whatever the bit offsets, and gives the number of ones among them. */
int64_t column_bits_copy(uint8_t *to, int64_t at, const uint8_t *from, int64_t from_bit, int64_t count);
int64_t column_bits_gather(uint8_t *to, int64_t at, const uint8_t *from, const uint32_t *rows, size_t count);
void column_bits_fill(uint8_t *bits, int64_t at, int64_t count, bool value);
int64_t column_bits_count(const uint8_t *bits, int64_t from, int64_t count);

/* ---- builders ------------------------------------------------------------------------------------------ */

struct sl_builder {
    const sl_type *type;
    size_t value_bytes; /* sl_type_value_bytes(type) */
    int64_t length, null_count;
    /* Covers the rows up to the last null or copied bitmap; rows behind its end are valid. So appending a
     * valid value does not touch it, and an array without nulls never has one. */
    struct growing validity;
    struct growing values;
    struct growing offsets; /* int32; empty until the first value, then one more than there are values */
    sl_builder **children;
    size_t child_count;
    int64_t least,
        greatest; /* of an integer, date, time or timestamp type; no value lies between them for others */
    sl_i128 decimal_limit; /* 10^precision */
};
SL_INLINE const sl_type *builder_type(const sl_builder *b) { return b->type; }
SL_MUST_USE sl_status builder_append_nulls(sl_builder *b, int64_t count);
/* The validity bitmap covers rows 0..rows-1 after this; new bits are ones. */
SL_MUST_USE sl_status builder_validity_cover(sl_builder *b, int64_t rows);
/* Room for `count` further offsets; writes the leading 0 of a new array. */
SL_MUST_USE sl_status builder_offsets_room(sl_builder *b, int64_t count);
/* Whether int32 offsets can address `bytes` more bytes of text; SL_E_INPUT when not. */
SL_MUST_USE sl_status builder_text_fits(const sl_builder *b, size_t bytes);
/* Room for the boolean bits at..at+count-1, where `at` bits are there already; new bytes are zero. */
SL_MUST_USE sl_status builder_bits_room(sl_builder *b, int64_t at, int64_t count);

/* Whether rows of `src` may be appended to the builder: types of the same layout. */
SL_MUST_USE sl_status builder_source_check(const sl_builder *b, const sl_array *src);

/* ---- picks: rows of many arrays in turn ---------------------------------------------------------------- */

enum { STEP_ROWS = 4 }; /* copied at once, however many of them are picked */

struct pick_list {
    const sl_array *const *sources;
    size_t source_count;
    struct sl_picks picks; /* of at least one row */
};
/* Each appends to its buffers; the builder's length is still that from before. */
SL_MUST_USE sl_status picks_validity(sl_builder *b, const struct pick_list *list);
SL_MUST_USE sl_status picks_bools(sl_builder *b, const struct pick_list *list);
SL_MUST_USE sl_status picks_text(sl_builder *b, const struct pick_list *list);

/* ---- numbers ------------------------------------------------------------------------------------------- */

/* 10^digits, 0..38. */
sl_i128 column_pow10(int32_t digits);

#endif
