/*
 * log: the names of a table's data files, and what log files say about themselves.
 *
 *   data_file  base, native log, delete, cdc and inline log names: parse and build (spec/lsm-layout.md 3)
 *   native     footer headers of native logs, both historic forms (spec/lsm-layout.md 5)
 *   inline     `#HUDI#` block logs of table version 9 and below, read into runs (spec/log-format.md)
 */
#ifndef SL_LOG_H
#define SL_LOG_H

#include "column/column.h"
#include "parquet/parquet.h"
#include "storage/storage.h"

/* ---- names --------------------------------------------------------------------------------------------- */

enum sl_file_kind {
    SL_FILE_OTHER, /* not a data file */
    SL_FILE_BASE,
    SL_FILE_LOG,     /* native data log */
    SL_FILE_DELETES, /* native delete log */
    SL_FILE_CDC,     /* native change data log */
    SL_FILE_INLINE_LOG,
    SL_FILE_INLINE_CDC,
};

#define SL_INSTANT_BYTES 24 /* 17 digits usually; room for odd ones and the NUL */

struct sl_file_name {
    enum sl_file_kind kind;
    char file_id[80];
    char token[48];
    char instant[SL_INSTANT_BYTES];
    uint32_t version; /* logs */
    char format[16];  /* "parquet", "orc", "hfile", "lance"; inline logs: "" */
};
/* Classifies by native pattern first, then inline, then base (the order matters, spec/lsm-layout.md 3,
 * traps). */
void sl_file_name_parse(const char *name, struct sl_file_name *out);
/* The name; `out` needs 256 bytes. Kinds BASE, LOG, DELETES, CDC. */
void sl_file_name_build(const struct sl_file_name *parts, char *out);
/* Log order inside a slice: instant, version, token, kind (log < deletes < cdc). */
int sl_log_order(const struct sl_file_name *a, const struct sl_file_name *b);

/* ---- headers of native logs ---------------------------------------------------------------------------- */

#define SL_NATIVE_LOG_VERSION 2

struct sl_log_headers {
    char *instant;        /* NULL: absent */
    char *schema;         /* Avro JSON; NULL: absent */
    sl_strings compacted; /* COMPACTED_BLOCK_TIMES */
    bool is_partial;
    int version;       /* 0: absent */
    bool forms_differ; /* split and map form contradict each other: the split form was taken */
};
/* Reads both forms. A version above SL_NATIVE_LOG_VERSION is SL_E_UNSUPPORTED. */
SL_MUST_USE sl_status sl_log_headers_read(const sl_parquet *file, struct sl_log_headers *out);
void sl_log_headers_free(struct sl_log_headers *headers);
/* Puts both forms into the writer's key-values. compacted may be NULL. */
SL_MUST_USE sl_status sl_log_headers_write(sl_parquet_writer *writer, const char *instant, const char *schema,
                                           const sl_strings *compacted);

/* ---- inline logs --------------------------------------------------------------------------------------- */

/* One operand of an inline log in block order. Data rows have the schema they were written with, conformed to
 * `schema`; a delete has key and ordering value. The two kinds alternate, so the log is a list of pieces. */
struct sl_inline_piece {
    bool is_deletes;
    sl_batch *batch; /* owned; rows: `schema`; deletes: `delete_schema` */
    char instant[SL_INSTANT_BYTES];
    sl_strings compacted; /* COMPACTED_BLOCK_TIMES of the block */
};
struct sl_inline_log {
    struct sl_inline_piece *pieces;
    size_t count;
};
/* Blocks of a version-8-or-later log: Avro data, Parquet data and delete blocks; corrupt blocks are skipped
 * as the format says (spec/log-format.md 6), command blocks are ignored. Blocks without rows give no
 * piece. Partial-update and HFile blocks are SL_E_UNSUPPORTED. */
SL_MUST_USE sl_status sl_inline_log_read(sl_file *file, const sl_type *schema, const sl_type *delete_schema,
                                         const sl_runtime *runtime, struct sl_inline_log *out);
void sl_inline_log_free(struct sl_inline_log *log);

#endif
