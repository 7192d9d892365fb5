/*
 * thrift: the compact protocol, both directions (spec/parquet.md 1).
 *
 *     struct thrift_reader r;                          struct thrift_writer w;
 *     thrift_reader_init(&r, data, len);               thrift_writer_init(&w, &buf);
 *     struct thrift_field f;                           thrift_begin_struct(&w);
 *     for (thrift_begin(&r, &f); thrift_next(&r, &f);) thrift_put_i64(&w, 3, rows);
 *         if (f.id == 3)                               thrift_end_struct(&w);
 *             rows = thrift_i64(&r, &f);               return thrift_writer_status(&w);
 *         else
 *             thrift_skip(&r, f.type);
 *     return thrift_reader_status(&r, "page header", offset);
 *
 * Errors stick: after the first one every read gives 0 and every loop ends, so callers check once, at the
 * end.
 */
#ifndef SL_PARQUET_THRIFT_H
#define SL_PARQUET_THRIFT_H

#include "base/base.h"

enum thrift_type {
    THRIFT_STOP = 0,
    THRIFT_TRUE = 1, /* also the element type of a list of booleans */
    THRIFT_FALSE = 2,
    THRIFT_I8 = 3,
    THRIFT_I16 = 4,
    THRIFT_I32 = 5,
    THRIFT_I64 = 6,
    THRIFT_DOUBLE = 7,
    THRIFT_BINARY = 8,
    THRIFT_LIST = 9,
    THRIFT_SET = 10,
    THRIFT_MAP = 11,
    THRIFT_STRUCT = 12,
    THRIFT_UUID = 13,
};

#define THRIFT_DEPTH_MAX 32

struct thrift_reader {
    const uint8_t *start, *p, *end;
    const char *error; /* first failure, NULL while all is well */
    size_t error_at;
    bool truncated; /* the failure was missing bytes: more input might help */
    int depth;
};
struct thrift_field {
    int id;
    int type; /* enum thrift_type */
};

void thrift_reader_init(struct thrift_reader *r, const void *data, size_t len);
void thrift_fail(struct thrift_reader *r, const char *error);
/* Corrupt, naming `what`, the file offset `base` + place, when something went wrong. */
SL_MUST_USE sl_status thrift_reader_status(const struct thrift_reader *r, const char *what, uint64_t base);
SL_INLINE size_t thrift_used(const struct thrift_reader *r) { return (size_t)(r->p - r->start); }

void thrift_begin(struct thrift_reader *r, struct thrift_field *f);
bool thrift_next_any(struct thrift_reader *r, struct thrift_field *f);
/* False behind the last field of the struct. Nearly every field has a short header, which is read here. */
SL_INLINE bool thrift_next(struct thrift_reader *r, struct thrift_field *f)
{
    if (r->p >= r->end || *r->p < 16 || f->id >= INT16_MAX - 15 || (*r->p & 15) == THRIFT_STOP ||
        (*r->p & 15) > THRIFT_UUID)
        return thrift_next_any(r, f);
    f->id += *r->p >> 4;
    f->type = *r->p++ & 15;
    return true;
}
/* Values of the field just announced; another type on the wire than asked for is an error. */
bool thrift_bool(struct thrift_reader *r, const struct thrift_field *f);
int32_t thrift_i32(struct thrift_reader *r, const struct thrift_field *f); /* i8, i16, i32 */
int64_t thrift_i64(struct thrift_reader *r, const struct thrift_field *f); /* any integer */
const uint8_t *thrift_binary(struct thrift_reader *r, const struct thrift_field *f, size_t *len);
bool thrift_is_struct(struct thrift_reader *r, const struct thrift_field *f); /* false: fails the reader */
/* Number of elements; each needs at least min_bytes, more than the input can hold is an error. bool lists:
 * type TRUE. */
size_t thrift_list(struct thrift_reader *r, const struct thrift_field *f, int element_type, size_t min_bytes);
/* Elements of a list just announced. */
bool thrift_element_bool(struct thrift_reader *r);
int64_t thrift_element_i64(struct thrift_reader *r);
const uint8_t *thrift_element_binary(struct thrift_reader *r, size_t *len);
void thrift_skip(struct thrift_reader *r, int type);

struct thrift_writer {
    sl_buf *buf;
    sl_status status; /* first failure */
    int last_id[THRIFT_DEPTH_MAX];
    int depth;
};
void thrift_writer_init(struct thrift_writer *w, sl_buf *buf);
/* Hands over the first failure. */
SL_MUST_USE sl_status thrift_writer_status(struct thrift_writer *w);
void thrift_begin_struct(struct thrift_writer *w); /* the top-level struct, or an element of a list */
void thrift_begin_struct_field(struct thrift_writer *w, int id);
void thrift_end_struct(struct thrift_writer *w);
void thrift_put_bool(struct thrift_writer *w, int id, bool value);
void thrift_put_i8(struct thrift_writer *w, int id, int8_t value);
void thrift_put_i16(struct thrift_writer *w, int id, int16_t value);
void thrift_put_i32(struct thrift_writer *w, int id, int32_t value);
void thrift_put_i64(struct thrift_writer *w, int id, int64_t value);
void thrift_put_binary(struct thrift_writer *w, int id, const void *data, size_t len);
void thrift_put_string(struct thrift_writer *w, int id, const char *text);
void thrift_put_list(struct thrift_writer *w, int id, int element_type, size_t count); /* elements follow */
void thrift_put_element_bool(struct thrift_writer *w, bool value);
void thrift_put_element_i32(struct thrift_writer *w, int32_t value);
void thrift_put_element_i64(struct thrift_writer *w, int64_t value);
void thrift_put_element_binary(struct thrift_writer *w, const void *data, size_t len);

#endif
