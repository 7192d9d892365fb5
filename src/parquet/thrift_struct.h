/*
 * thrift_struct: C structs read from and written as thrift structs, after a table of their members that reads like the
 * format's definition. A table is indexed by field id:
 *
 *     static const struct thrift_member page_location_members[] = {
 *         [1] = {THRIFT_INT64, THRIFT_AT(struct parquet_page_location, offset), THRIFT_ALWAYS},
 *         ...
 *     };
 *
 * Fields that no table names are skipped, whatever they hold. Members are written in the order of their ids, absent
 * ones left out, so reading what was written gives the same struct.
 */
#ifndef SL_PARQUET_THRIFT_STRUCT_H
#define SL_PARQUET_THRIFT_STRUCT_H

#include "parquet/thrift.h"

enum thrift_kind {
    THRIFT_NOT_OURS, /* skipped */
    THRIFT_BOOLEAN,  /* bool */
    THRIFT_BOOL_INT, /* int: 0, 1, or -1 when not said */
    /* int32_t from here to INT32, or an enum; what the wire has is wider or narrower as it likes */
    THRIFT_INT8,
    THRIFT_INT16,
    THRIFT_INT32,
    THRIFT_INT64,       /* int64_t */
    THRIFT_TEXT,        /* const char *, ends in a zero byte; with `count`, its length goes there */
    THRIFT_BYTES,       /* struct parquet_bytes */
    THRIFT_RECORD,      /* a struct of `shape`, inside the one around it */
    THRIFT_RECORD_AWAY, /* a pointer to one: written where it is not NULL, skipped in reading */
    THRIFT_UNION,       /* a struct of `shape` that begins with the member's id, an int32_t or an enum */
    THRIFT_MARK,        /* bool: the field is there, whatever it holds; never written */
};

struct parquet_bytes {
    const uint8_t *data; /* NULL: absent. Present and empty: not NULL, len 0 */
    size_t len;
};

/* When a member is written. FLAG also says what reading sets. */
enum thrift_when {
    THRIFT_WHEN_ALWAYS,
    THRIFT_WHEN_FLAG,    /* bool at `has`; reading the member sets it */
    THRIFT_WHEN_NO_FLAG, /* bool at `has` is false */
    THRIFT_WHEN_SET_32,  /* int32_t at `has` is not negative */
    THRIFT_WHEN_SET_64,  /* int64_t at `has` is not negative */
    THRIFT_WHEN_NONZERO, /* int32_t at `has` */
    THRIFT_WHEN_COUNT,   /* size_t at `has` is not 0 */
    THRIFT_WHEN_POINTER, /* pointer at `has` is not NULL */
};

struct thrift_shape;
struct thrift_member {
    uint8_t kind; /* enum thrift_kind; of a list: of its elements */
    uint16_t at;
    uint8_t when; /* enum thrift_when */
    uint16_t has;
    bool list;       /* a pointer to elements, NULL for none; their number is the size_t at `count` */
    uint16_t count;  /* 0: none (members with a count never lie first) */
    bool same_count; /* lists that share one count must have one length */
    bool not_negative;
    bool lenient; /* skipped where the wire has another type */
    const struct thrift_shape *shape;
};
#define THRIFT_AT(STRUCT, FIELD)     .at = offsetof(STRUCT, FIELD)
#define THRIFT_LIST_AT(S, F, COUNT)  .at = offsetof(S, F), .list = true, .count = offsetof(S, COUNT)
#define THRIFT_ALWAYS                .when = THRIFT_WHEN_ALWAYS
#define THRIFT_IF(WHEN, STRUCT, HAS) .when = THRIFT_WHEN_##WHEN, .has = offsetof(STRUCT, HAS)

struct thrift_shape {
    const struct thrift_member *members; /* by id; of a union: what its members hold, kind THRIFT_RECORD */
    size_t member_count;
    size_t size;
    const void *fresh;   /* what a struct holds before its members are read; NULL: zeros */
    uint32_t required;   /* ids as bits */
    const char *missing; /* the complaint when one is not there */
    size_t least_bytes;  /* of one on the wire: bounds the length of lists */
    int32_t last_id;     /* of a union: greater ids are skipped and forgotten; 0: any id is kept */
};
#define THRIFT_SHAPE(STRUCT, MEMBERS)                                                                        \
    .members = (MEMBERS), .member_count = sizeof(MEMBERS) / sizeof *(MEMBERS), .size = sizeof(STRUCT)

/* Reads one struct from the `len` bytes; *out is overwritten also on failure. Texts, bytes and lists live in `arena`,
 * which may be NULL for shapes that have none. *used (may be NULL) gets the struct's own length. With `truncated`, input
 * that ended too early sets it and is no error. `what` and `file_offset` are for messages: SL_E_CORRUPT. */
SL_MUST_USE sl_status thrift_decode(const uint8_t *data, size_t len, const struct thrift_shape *shape,
                                    sl_arena *arena, const char *what, uint64_t file_offset, void *out,
                                    size_t *used, bool *truncated);
/* Appends the struct to `out`. */
SL_MUST_USE sl_status thrift_encode(const void *in, const struct thrift_shape *shape, sl_buf *out);

#endif
