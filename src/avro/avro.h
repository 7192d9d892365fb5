/*
 * avro: Avro schemas, values and object container files (Apache Avro 1.11 specification).
 *
 * Two uses, two forms of a value:
 *   - metadata records (commit metadata, plans: one small record a file) become JSON values of jansson,
 * driven by the writer's schema: a record is an object, a map an object, an array an array, bytes and fixed a
 * string of one character per byte (U+0000..U+00FF), an enum its symbol. A union of null and one type is null
 * or the bare value; a value of a union of several types is {"<full name of the branch>": value}.
 * Floating-point values that JSON lacks are the strings "NaN", "Infinity" and "-Infinity";
 *   - rows of a table go straight into column builders.
 *
 * Input is not trusted: truncated or invented files end in SL_E_CORRUPT and in memory proportional to their
 * size.
 */
#ifndef SL_AVRO_H
#define SL_AVRO_H

#include "column/column.h"
#include <jansson.h>

/* ---- table schemas ------------------------------------------------------------------------------------- */

/* Avro schema JSON of a record <-> struct type. Optional is ["null", T] (either order); other unions,
 * recursive types and multi-branch unions are SL_E_UNSUPPORTED with the field's path. Logical types as
 * spec/parquet.md 8. */
SL_MUST_USE sl_status sl_avro_schema_parse(const char *json, size_t len, const sl_type **out);
/* As Spark's Avro converter names things: nested records <namespace>.<field>, decimals on fixed named `fixed`
 * below the field's namespace; nullable fields ["null", T] with default null. `name`/`space` name the top
 * record. The result (compact JSON) is the caller's. Types that Avro lacks: int8/int16 -> int, uint8/16 ->
 * int, uint32 -> long, uint64 -> decimal(20,0); the table layer maps those before. */
/* Names that the type knows from a schema it was parsed from are kept. */
SL_MUST_USE sl_status sl_avro_schema_text(const sl_type *schema, const char *name, const char *space,
                                          char **out);

/* Rows of Avro binary: appends one record written with `schema` at data[*pos] to the builders; moves *pos. A
 * sl_type does not tell the order of a union's branches or decimals on bytes from those on fixed: null is
 * taken to come first and decimals to be fixed, as Spark writes them. Rows of other writers need
 * sl_avro_row_decode. */
SL_MUST_USE sl_status sl_avro_decode_row(const sl_type *schema, const uint8_t *data, size_t len, size_t *pos,
                                         sl_batch_builder *out);

/* ---- building JSON ------------------------------------------------------------------------------------- */

/* Take over `value`; NULL, as the constructors of jansson give it without memory, is SL_E_MEMORY, and so is no container. */
SL_MUST_USE sl_status sl_json_append(json_t *array, json_t *value);
SL_MUST_USE sl_status sl_json_set(json_t *object, const char *key, json_t *value);
SL_MUST_USE sl_status sl_json_text(const json_t *json, char **out); /* compact; the caller's */

/* ---- compiled schemas: for many values of one schema --------------------------------------------------- */

/* Immutable and thread-safe. The JSON is parsed and its names are resolved once. */
typedef struct sl_avro_schema sl_avro_schema;
SL_MUST_USE sl_status sl_avro_schema_of_text(const char *text, size_t len, sl_avro_schema **out);
SL_MUST_USE sl_status sl_avro_schema_of_json(const json_t *json,
                                             sl_avro_schema **out); /* takes a reference of its own */
const json_t *sl_avro_schema_json(const sl_avro_schema *schema);    /* borrowed */
void sl_avro_schema_free(sl_avro_schema *schema);                   /* NULL is fine */
/* The struct type of a record schema, as sl_avro_schema_parse. */
SL_MUST_USE sl_status sl_avro_schema_type(const sl_avro_schema *schema, const sl_type **out);
/* One row written with `writer`, whatever its unions and decimals look like; `type` is sl_avro_schema_type's.
 */
SL_MUST_USE sl_status sl_avro_row_decode(const sl_avro_schema *writer, const sl_type *type,
                                         const uint8_t *data, size_t len, size_t *pos, sl_batch_builder *out);
/* One JSON value at data[*pos]; moves *pos. */
SL_MUST_USE sl_status sl_avro_schema_decode(const sl_avro_schema *writer, const uint8_t *data, size_t len,
                                            size_t *pos, json_t **out);
SL_MUST_USE sl_status sl_avro_schema_encode(const sl_avro_schema *writer, const json_t *value, sl_buf *out);

/* ---- metadata records ---------------------------------------------------------------------------------- */

/* An object container file (codecs null, deflate, snappy, zstandard) of any schema: *records is a JSON array
 * of all its records, *schema the writer's schema (may be NULL). Both are new references of the caller. */
SL_MUST_USE sl_status sl_avro_container_read(const void *data, size_t len, json_t **records, json_t **schema);
/* One record in one block, codec null, metadata only avro.schema. A member missing from `record` takes the
 * field's default, or null when the type allows it; members that the schema lacks are left out; a value that
 * does not fit is SL_E_INTERNAL. */
SL_MUST_USE sl_status sl_avro_container_write(const json_t *schema, const json_t *record, sl_buf *out);
/* Single values, with all of `data`. Compile the schema when there are many. */
SL_MUST_USE sl_status sl_avro_value_decode(const json_t *schema, const void *data, size_t len, json_t **out);
SL_MUST_USE sl_status sl_avro_value_encode(const json_t *schema, const json_t *value, sl_buf *out);

/* A container file of rows (for `inspect --rows` and Avro input), streamed. Borrows data. */
SL_MUST_USE sl_status sl_avro_container_scan(const void *data, size_t len, sl_stream **out);
/* What the file is made of, for `inspect`: {"codec", "schema", "metadata": {key: text}, "records", "blocks":
 * [{"offset", "records", "bytes"}]}; `metadata` has the keys that are not the schema. Payloads are not
 * decoded. */
SL_MUST_USE sl_status sl_avro_container_describe(const void *data, size_t len, json_t **out);

/* The compiled-in writer schemas of spec/avro, by record name ("HoodieCommitMetadata"), and
 * HoodieMetadataRecord, the metadata table's; borrowed, NULL when unknown (or out of memory). Thread-safe. */
const json_t *sl_avro_hudi_schema(const char *record_name);

#endif
