/* Private to log: the parts of the inline log reader. */
#ifndef SL_LOG_INT_H
#define SL_LOG_INT_H

#include "log/log.h"

enum log_block_type {
    LOG_BLOCK_COMMAND = 0,
    LOG_BLOCK_DELETE = 1,
    LOG_BLOCK_CORRUPT = 2, /* what readers call damage; never in a file */
    LOG_BLOCK_AVRO = 3,
    LOG_BLOCK_HFILE = 4,
    LOG_BLOCK_PARQUET = 5,
    LOG_BLOCK_CDC = 6,
};

/* A piece of a header's text, not NUL-terminated; data NULL: absent. */
struct log_text {
    const char *data;
    size_t len;
};

/* A block inside the log's memory. */
struct log_block {
    uint64_t offset; /* of its magic */
    enum log_block_type type;
    struct log_text instant, schema, compacted;
    bool is_partial;
    const uint8_t *content;
    size_t content_len;
};

/* Rows of an Avro or Parquet data block, conformed to `schema`. */
SL_MUST_USE sl_status log_block_rows(const struct log_block *block, const sl_type *schema, sl_batch **out);
/* Deletes of a delete block in `schema`: the record key, then the ordering columns. */
SL_MUST_USE sl_status log_block_deletes(const struct log_block *block, const sl_type *schema, sl_batch **out);

/* ---- deletes ------------------------------------------------------------------------------------------------ */

enum log_ordering_kind {
    LOG_ORDERING_NULL,
    LOG_ORDERING_BOOLEAN,
    LOG_ORDERING_INT,
    LOG_ORDERING_LONG,
    LOG_ORDERING_FLOAT,
    LOG_ORDERING_DOUBLE,
    LOG_ORDERING_BYTES,
    LOG_ORDERING_STRING,
    LOG_ORDERING_DATE,
    LOG_ORDERING_DECIMAL,   /* bytes: big-endian two's complement at scale 15 */
    LOG_ORDERING_TIME,      /* microseconds */
    LOG_ORDERING_TIMESTAMP, /* microseconds */
};
struct log_ordering {
    enum log_ordering_kind kind;
    int64_t integer;
    double number;
    const uint8_t *bytes;
    size_t len;
};

/* Collects the rows of a delete block. */
struct log_deletes {
    sl_batch_builder rows;
    size_t ordering_columns;
};
SL_MUST_USE sl_status log_deletes_key(struct log_deletes *deletes, const uint8_t *key, size_t len);
/* The ordering value of the current row that is no tuple. */
SL_MUST_USE sl_status log_deletes_single(struct log_deletes *deletes, const struct log_ordering *value);
/* Item `index` of a tuple. The caller sees to it that each ordering column gets one. */
SL_MUST_USE sl_status log_deletes_item(struct log_deletes *deletes, size_t index,
                                       const struct log_ordering *value);

/* Payload of delete block versions 1 (keys) and 2 (keys with ordering values): Java objects as Kryo writes them. */
SL_MUST_USE sl_status log_kryo_deletes(const uint8_t *data, size_t len, bool with_ordering,
                                       struct log_deletes *out);

#endif
