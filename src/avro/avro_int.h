/*
 * Private to avro: the compiled schema, and the reader that every decoder shares.
 *
 * A schema is compiled once into a graph of nodes: names are resolved to pointers, so a recursive type is a
 * cycle. Everything else (types, rows, JSON values) walks that graph.
 */
#ifndef SL_AVRO_INT_H
#define SL_AVRO_INT_H

#include "avro/avro.h"

enum avro_kind {
    AVRO_NULL,
    AVRO_BOOLEAN,
    AVRO_INT,
    AVRO_LONG,
    AVRO_FLOAT,
    AVRO_DOUBLE,
    AVRO_BYTES,
    AVRO_STRING,
    AVRO_FIXED,
    AVRO_ENUM,
    AVRO_ARRAY,
    AVRO_MAP,
    AVRO_RECORD,
    AVRO_UNION,
};

/* Only logical types that mean something here and fit their base type; the others are dropped at compilation,
 * as the specification demands ("must ignore unknown logical types"). */
enum avro_logical {
    AVRO_PLAIN,
    AVRO_DECIMAL,
    AVRO_UUID,
    AVRO_DATE,
    AVRO_TIME_MILLIS,
    AVRO_TIME_MICROS,
    AVRO_TIMESTAMP_MILLIS,
    AVRO_TIMESTAMP_MICROS,
    AVRO_TIMESTAMP_NANOS,
    AVRO_LOCAL_MILLIS,
    AVRO_LOCAL_MICROS,
    AVRO_LOCAL_NANOS,
};

struct avro_node;
struct avro_child {
    struct avro_node *node;
    const char *name;       /* record member; NULL in unions, arrays and maps */
    const char *doc;        /* record member; NULL when none */
    const json_t *fallback; /* record member's default, borrowed from the schema; NULL when none */
};
struct avro_node {
    enum avro_kind kind;
    enum avro_logical logical;
    int32_t precision, scale; /* AVRO_DECIMAL */
    int32_t size;             /* AVRO_FIXED */
    uint32_t bytes_min;       /* no encoded value is shorter; bounds the counts that a file claims */
    uint32_t breadth;         /* nodes of the tree that the graph unfolds to, saturating */
    const char *name;         /* full name of a record, enum or fixed; the type's own name otherwise */
    const char **symbols;     /* AVRO_ENUM */
    size_t symbol_count;
    struct avro_child *children; /* members, branches, items (one) or values (one) */
    size_t child_count;
    int null_branch; /* AVRO_UNION: index of null, -1 without */
    int only_branch; /* AVRO_UNION: the one branch that is not null; -1 when there are none or several */
};

struct sl_avro_schema {
    sl_arena *arena;
    json_t *json; /* keeps the strings that nodes borrow */
    struct avro_node *root;
};

#define AVRO_SCHEMA_DEPTH_MAX 64
#define AVRO_VALUE_DEPTH_MAX  128
/* Items without bytes (nulls, empty records) cost a file nothing; this many of them in one array are
 * believed. */
#define AVRO_EMPTY_ITEMS_MAX 65536

/* ---- the reader ---------------------------------------------------------------------------------------- */

struct avro_reader {
    const uint8_t *data;
    size_t len, pos;
    unsigned depth;
    size_t memory_left;
};

/*
 * What is decoded from so much input may take so much memory: a generous multiple. Some bytes unfold to a lot
 * (a member with a long name, a null of a wide type); whoever makes such things takes from the reader's
 * allowance first.
 */
size_t avro_memory_for(size_t input_len);
sl_status avro_memory_take(struct avro_reader *r, size_t bytes);

sl_status avro_read_long_slow(struct avro_reader *r, int64_t *out);
sl_status avro_read_int(struct avro_reader *r, int32_t *out);
sl_status avro_read_bool(struct avro_reader *r, bool *out);
sl_status avro_read_float(struct avro_reader *r, float *out);
sl_status avro_read_double(struct avro_reader *r, double *out);
/* Length-prefixed bytes, borrowed from the input. */
sl_status avro_read_bytes(struct avro_reader *r, const uint8_t **out, size_t *len);
sl_status avro_read_string(struct avro_reader *r, const uint8_t **out, size_t *len); /* checks UTF-8 */
sl_status avro_read_fixed(struct avro_reader *r, size_t len, const uint8_t **out);
/* A union's branch or an enum's symbol: 0 <= *out < count. */
sl_status avro_read_index(struct avro_reader *r, size_t count, const char *what, size_t *out);
/* Big-endian two's complement of any length whose value fits 128 bits. */
sl_status avro_decimal_from_bytes(const uint8_t *data, size_t len, sl_i128 *out);

SL_INLINE sl_status avro_read_long(struct avro_reader *r, int64_t *out)
{
    if (SL_LIKELY(r->pos < r->len && r->data[r->pos] < 0x80)) {
        uint32_t zigzag = r->data[r->pos++];
        *out = (int64_t)(zigzag >> 1) ^ -(int64_t)(zigzag & 1);
        return SL_OK;
    }
    return avro_read_long_slow(r, out);
}

/* The blocks of an array or map. Start zeroed; while avro_blocks_next says *more, read one item. */
struct avro_blocks {
    uint64_t items_left;
    size_t end; /* where the block says it ends; 0: it does not say */
    uint64_t empty_items;
};
sl_status avro_blocks_next_slow(struct avro_reader *r, uint32_t item_bytes_min, struct avro_blocks *blocks,
                                bool *more);
SL_INLINE sl_status avro_blocks_next(struct avro_reader *r, uint32_t item_bytes_min,
                                     struct avro_blocks *blocks, bool *more)
{
    if (blocks->items_left > 0) {
        blocks->items_left--;
        *more = true;
        return SL_OK;
    }
    return avro_blocks_next_slow(r, item_bytes_min, blocks, more);
}

/* ---- writing ------------------------------------------------------------------------------------------- */

sl_status avro_write_long(sl_buf *out, int64_t value);

/* ---- shared between files ------------------------------------------------------------------------------ */

const struct avro_node *avro_schema_root(const sl_avro_schema *schema);
/* One value at the reader's place; *out is a new reference. */
sl_status avro_value_read(struct avro_reader *r, const struct avro_node *node, json_t **out);
sl_status avro_bytes_to_json(const uint8_t *data, size_t len, json_t **out);
sl_status avro_row_read(struct avro_reader *r, const struct avro_node *node, const sl_type *schema,
                        sl_batch_builder *out);

/* Appends one block of a container, decompressed. */
sl_status avro_block_decompress(const char *codec, const uint8_t *data, size_t len, sl_buf *out);
bool avro_codec_known(const char *codec);

/* Compiled-in schema texts, generated by tools/embed_avro_schemas.py. */
struct avro_embedded_schema {
    const char *record_name;
    const char *const *pieces; /* NULL ends; joined they are the JSON text */
};
extern const struct avro_embedded_schema avro_embedded_schemas[];
extern const size_t avro_embedded_schema_count;
#define AVRO_EMBEDDED_SCHEMAS_MAX 32

#endif
