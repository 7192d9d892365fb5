/*
 * keys: record keys, partition paths and bucket numbers (spec/write-path.md 1 and 5.1).
 *
 * Everything works on whole batches; errors name column and row (0-based within the batch; the caller adds the input's
 * own row number).
 */
#ifndef SL_KEYS_H
#define SL_KEYS_H

#include "column/column.h"

enum sl_keygen_kind { SL_KEYGEN_SIMPLE, SL_KEYGEN_COMPLEX, SL_KEYGEN_NON_PARTITION };

struct sl_keygen {
    enum sl_keygen_kind kind;
    sl_strings record_fields; /* may be nested paths "a.b" */
    sl_strings partition_fields;
    bool hive_style, url_encode, slash_dates;
    bool complex_bare_single; /* single-field COMPLEX writes the bare value (spec 1.4) */
};
void sl_keygen_free(struct sl_keygen *keygen); /* its lists */
/* "SIMPLE" etc. -> kind; others SL_E_UNSUPPORTED by name. */
SL_MUST_USE sl_status sl_keygen_kind_named(const char *name, enum sl_keygen_kind *out);
const char *sl_keygen_kind_name(enum sl_keygen_kind kind);
/* The generator Hudi infers when none is named (spec 1.1). */
SL_MUST_USE sl_status sl_keygen_infer(size_t record_fields, size_t partition_fields,
                                      const char *first_partition_field, enum sl_keygen_kind *out);
/* Fields exist and have types that may be keys (no bytes, list, map, struct); warns for float and double. */
SL_MUST_USE sl_status sl_keygen_check(const struct sl_keygen *keygen, const sl_type *schema,
                                      const sl_runtime *runtime);
/* String arrays of one value per row: _hoodie_record_key and _hoodie_partition_path. Null or empty keys are SL_E_INPUT.
 * `partitions` may be NULL. */
SL_MUST_USE sl_status sl_keygen_apply(const struct sl_keygen *keygen, const sl_batch *batch, sl_array **keys,
                                      sl_array **partitions);

/* Whether the generator could have made the key of some row: else whoever asks for it meant something else. */
bool sl_keygen_may_make(const struct sl_keygen *keygen, const sl_type *schema, const void *key, size_t len);
/* What its keys look like: "id:<long>,region:<string>", or "<long>, the value of id". */
SL_MUST_USE sl_status sl_keygen_shape(const struct sl_keygen *keygen, const sl_type *schema, char **out);

/* Partition values by field from a path: the inverse for pruning and for drop-partition-columns; values are unescaped when
 * url_encode. Values are the caller's (sl_strings). */
SL_MUST_USE sl_status sl_partition_values(const struct sl_keygen *keygen, const char *path,
                                          sl_strings *values);
SL_MUST_USE sl_status sl_partition_escape(const char *value, size_t len, sl_buf *out);
SL_MUST_USE sl_status sl_partition_unescape(const char *value, size_t len, sl_buf *out);

struct sl_bucket_hash {
    uint32_t buckets;
    sl_strings hash_fields; /* empty: all fields of the key */
};
/* Simple bucket index: number in [0, buckets). A malformed composite key is SL_E_INPUT. */
SL_MUST_USE sl_status sl_bucket_of_key(const struct sl_bucket_hash *hash, const void *key, size_t len,
                                       uint32_t *out);
SL_MUST_USE sl_status sl_bucket_of_keys(const struct sl_bucket_hash *hash, const sl_array *keys,
                                        uint32_t *out);
/* "00000047-xxxx-4xxx-...-0": a new file id of a bucket; `fixed` gives the form all writers agree on. `out` needs 48 bytes. */
SL_MUST_USE sl_status sl_bucket_file_id(uint32_t bucket, bool fixed, char *out);
/* The number in the first 8 characters, or -1 when they are no number. */
int64_t sl_bucket_of_file_id(const char *file_id);

/* ---- the bloom filter of record keys in base files (spec/write-path.md 5.3) ---- */

struct sl_hudi_bloom_options {
    uint64_t entries; /* keys of one row */
    double fpp;       /* chance of a wrong "maybe", above 0 and below 1 */
    uint64_t entries_max;
};
typedef struct sl_hudi_bloom sl_hudi_bloom;
SL_MUST_USE sl_status sl_hudi_bloom_new(const struct sl_hudi_bloom_options *options, sl_hudi_bloom **out);
SL_MUST_USE sl_status sl_hudi_bloom_add(sl_hudi_bloom *b, const uint8_t *key, size_t len);
/* The filter as footers have it, and its type's name there. Of up to `entries` keys: "SIMPLE", sized by their number. */
SL_MUST_USE sl_status sl_hudi_bloom_text(sl_hudi_bloom *b, const char **type, sl_buf *out);
void sl_hudi_bloom_free(sl_hudi_bloom *b); /* NULL is fine */

int32_t sl_java_string_hash(const void *utf8, size_t len); /* over UTF-16 units */

#endif
