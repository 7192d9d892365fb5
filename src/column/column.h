/*
 * column: types, and batches of rows in Arrow's memory layout.
 *
 * A type is an immutable reference-counted tree; a schema is a type of id SL_STRUCT. An array holds the values of one
 * field; a batch is a schema and one array per field. Arrays and batches are immutable once built and reference
 * counted (thread-safe counts); they never have an Arrow `offset`: who wants rows i..j says so at the call.
 *
 * Layout, as in Arrow: validity bitmap LSB first (NULL: no nulls), bit-packed booleans, little-endian fixed-width
 * values, int32 offsets (length + 1 of them) for strings, binaries, lists and maps. Buffers are 64-byte aligned.
 * A map is a list of a struct of key and value. A decimal is 16 bytes, whatever its precision (at most 38).
 * An array with a dictionary holds int32 indexes into it in `values`; only readers that were asked to keep
 * dictionaries make such arrays.
 */
#ifndef SL_COLUMN_H
#define SL_COLUMN_H

#include "base/base.h"

/* ---- types --------------------------------------------------------------------------------------------- */

enum sl_type_id {
    SL_NULL,   /* every value is null; no values, but a bitmap of zeros so that sl_is_valid needs no special case */
    SL_BOOL,
    SL_INT8, SL_INT16, SL_INT32, SL_INT64,
    SL_UINT8, SL_UINT16, SL_UINT32, SL_UINT64,
    SL_HALF,   /* float16, raw bits */
    SL_FLOAT, SL_DOUBLE,
    SL_DECIMAL,        /* precision, scale; 16-byte little-endian two's complement */
    SL_DATE,           /* int32 days since 1970-01-01 */
    SL_TIME,           /* unit MILLIS: int32; MICROS, NANOS: int64; since midnight */
    SL_TIMESTAMP,      /* int64 since 1970-01-01T00:00 in `unit`; utc: an instant, else a local ("without zone") time */
    SL_STRING,         /* UTF-8 */
    SL_BINARY,
    SL_FIXED,          /* `width` bytes */
    SL_LIST,           /* one child, the element */
    SL_MAP,            /* one child: a non-null struct of key (not nullable) and value */
    SL_STRUCT,
};
enum sl_time_unit { SL_MILLIS, SL_MICROS, SL_NANOS };
/* Marks that change no layout but survive a round trip through files and Avro schemas. */
enum sl_annotation { SL_PLAIN, SL_ENUM, SL_UUID, SL_JSON, SL_BSON };

typedef struct sl_type sl_type;
typedef struct sl_field {
    const char *name;
    const sl_type *type;
    bool nullable;
    const char *doc; /* NULL when none */
} sl_field;
struct sl_type {
    atomic_int refs;
    enum sl_type_id id;
    enum sl_time_unit unit;       /* SL_TIME, SL_TIMESTAMP */
    bool utc;                     /* SL_TIMESTAMP, SL_TIME */
    int32_t width;                /* SL_FIXED; SL_DECIMAL: bytes of its fixed form in files, 0: smallest for the precision */
    int32_t precision, scale;     /* SL_DECIMAL */
    enum sl_annotation annotation;/* SL_STRING, SL_FIXED, SL_BINARY */
    char *name;                   /* Avro name of a record, fixed or enum with its namespace; NULL: none known */
    void *symbols;                /* SL_ENUM: sl_strings of the symbols; NULL otherwise */
    size_t field_count;
    sl_field *fields;             /* SL_STRUCT: members; SL_LIST: element; SL_MAP: entries */
};

/* Each gives one reference. */
SL_MUST_USE sl_status sl_type_new(enum sl_type_id id, const sl_type **out); /* types without parameters, and MICROS UTC timestamps */
SL_MUST_USE sl_status sl_type_decimal(int32_t precision, int32_t scale, const sl_type **out); /* 1..38, 0..precision */
SL_MUST_USE sl_status sl_type_time(enum sl_time_unit unit, const sl_type **out);
SL_MUST_USE sl_status sl_type_timestamp(enum sl_time_unit unit, bool utc, const sl_type **out);
SL_MUST_USE sl_status sl_type_fixed(int32_t width, const sl_type **out);
SL_MUST_USE sl_status sl_type_annotated(enum sl_type_id id, enum sl_annotation annotation, const sl_type **out);
/* Fields are copied; each field's type gets a reference of its own. */
SL_MUST_USE sl_status sl_type_struct(const sl_field *fields, size_t count, const sl_type **out);
SL_MUST_USE sl_status sl_type_list(const sl_field *element, const sl_type **out);
SL_MUST_USE sl_status sl_type_map(const sl_type *key, const sl_field *value, const sl_type **out);
const sl_type *sl_type_ref(const sl_type *type);
void sl_type_unref(const sl_type *type); /* NULL is fine */
bool sl_type_equal(const sl_type *a, const sl_type *b); /* layout and meaning; not docs, annotations, Avro names, names of list elements */
/* Index of a field by exact name, -1 when there is none. */
int sl_type_field_index(const sl_type *structure, const char *name);
/* The same; `guess` is looked at first. For all fields of a wide struct, which mostly stand in the same order elsewhere. */
int sl_type_field_near(const sl_type *structure, const char *name, size_t guess);
/* The name of a field that is spelt about like that, for hints; NULL: none is. */
const char *sl_type_field_alike(const sl_type *structure, const char *name);
/* Text for messages and `info`: "long", "decimal(10,2)", "list<struct<a: int>>". The caller frees. */
SL_MUST_USE sl_status sl_type_text(const sl_type *type, char **out);
/* Parses 'id long, name string, price decimal(10,2), tags list<string>, m map<string, int>, s struct<a: int not null>'
 * (names may be back-quoted; `not null` after a type) into a struct type. The colon between name and type is optional, and
 * the form that sl_type_text gives a schema, struct<...>, is read too. At most 64 levels. Errors name the position. */
SL_MUST_USE sl_status sl_schema_parse(const char *text, const sl_type **out);
/* Bytes of one value in `values`; 0 for booleans, strings, nested, null. */
size_t sl_type_value_bytes(const sl_type *type);
bool sl_type_is_nested(const sl_type *type);
bool sl_type_has_offsets(const sl_type *type); /* string, binary, list, map */
/* Bytes of the smallest two's complement that holds `precision` decimal digits (5 for 10). */
int32_t sl_decimal_bytes(int32_t precision);

/* ---- arrays and batches -------------------------------------------------------------------------------- */

typedef struct sl_buffer sl_buffer; /* a reference-counted piece of memory */
SL_MUST_USE sl_status sl_buffer_new(size_t size, sl_buffer **out);                /* 64-byte aligned, not cleared */
SL_MUST_USE sl_status sl_buffer_of(void *data, size_t size, void (*release)(void *context), void *context, sl_buffer **out); /* on failure the data stays the caller's */
uint8_t *sl_buffer_data(const sl_buffer *buffer);
size_t sl_buffer_size(const sl_buffer *buffer);
sl_buffer *sl_buffer_ref(sl_buffer *buffer);
void sl_buffer_unref(sl_buffer *buffer);

typedef struct sl_array {
    atomic_int refs;
    const sl_type *type;
    int64_t length;
    int64_t null_count;
    /* Views into the buffers below; read these. */
    const uint8_t *validity; /* NULL: no nulls */
    const uint8_t *values;   /* fixed-width values, boolean bits, string bytes, or int32 dictionary indexes */
    const int32_t *offsets;  /* strings, lists, maps */
    struct sl_array **children;
    size_t child_count;
    struct sl_array *dictionary; /* NULL, or an array of `type` without nulls that `values` indexes */
    sl_buffer *validity_buffer, *values_buffer, *offsets_buffer;
} sl_array;

sl_array *sl_array_ref(sl_array *array);
void sl_array_unref(sl_array *array); /* NULL is fine */
/* Takes over one reference of each buffer, child and dictionary (also on failure); views are set from the buffers. */
SL_MUST_USE sl_status sl_array_new(const sl_type *type, int64_t length, int64_t null_count, sl_buffer *validity, sl_buffer *values,
                                   sl_buffer *offsets, sl_array **children, size_t child_count, sl_array *dictionary, sl_array **out);
SL_MUST_USE sl_status sl_array_nulls(const sl_type *type, int64_t length, sl_array **out);
/* Every row holds the same string. */
SL_MUST_USE sl_status sl_array_constant_string(const char *value, size_t len, int64_t length, sl_array **out);
/* The same with a dictionary of one entry, for whoever takes dictionaries (the Parquet writer): four bytes a row. */
SL_MUST_USE sl_status sl_array_repeated_string(const char *value, size_t len, int64_t length, sl_array **out);
/* Rows [from, from + count) as an array of its own; shares nothing that would keep the big one alive. */
SL_MUST_USE sl_status sl_array_copy(const sl_array *array, int64_t from, int64_t count, sl_array **out);
SL_MUST_USE sl_status sl_array_decode_dictionary(sl_array *array, sl_array **out);
size_t sl_array_bytes(const sl_array *array); /* memory of its buffers, children included */
/* What its rows take, children included: without the dictionary, which batches share, and without spare room. What a row takes
 * on average is told by this; by memory, a small batch beside a large dictionary has rows of any size. */
size_t sl_array_data_bytes(const sl_array *array);
/* The same of rows that go where there is no dictionary, each with an average entry of it: an estimate. */
size_t sl_array_plain_bytes(const sl_array *array);

/* A failure that tells of an element of a list or map (sl_status_row) as one of the row that the element is in. */
SL_MUST_USE sl_status sl_at_row_of_element(sl_status status, const sl_array *list);

SL_INLINE bool sl_is_valid(const sl_array *a, int64_t i) { return !a->validity || bit_get(a->validity, i); }
SL_INLINE bool sl_bool_at(const sl_array *a, int64_t i) { return bit_get(a->values, i); }
SL_INLINE int32_t sl_i32_at(const sl_array *a, int64_t i) { int32_t v; memcpy(&v, a->values + i * 4, 4); return v; }
SL_INLINE int64_t sl_i64_at(const sl_array *a, int64_t i) { int64_t v; memcpy(&v, a->values + i * 8, 8); return v; }
SL_INLINE float sl_float_at(const sl_array *a, int64_t i) { float v; memcpy(&v, a->values + i * 4, 4); return v; }
SL_INLINE double sl_double_at(const sl_array *a, int64_t i) { double v; memcpy(&v, a->values + i * 8, 8); return v; }
SL_INLINE sl_i128 sl_decimal_at(const sl_array *a, int64_t i) { sl_i128 v; memcpy(&v, a->values + i * 16, 16); return v; }
/* Bytes of a string, binary or fixed value, through the dictionary when there is one. Valid rows only. */
SL_INLINE const uint8_t *sl_bytes_at(const sl_array *a, int64_t i, size_t *len)
{
    if (a->dictionary) {
        i = sl_i32_at(a, i);
        a = a->dictionary;
    }
    if (a->type->id == SL_FIXED) {
        *len = (size_t)a->type->width;
        return a->values + (size_t)i * (size_t)a->type->width;
    }
    *len = (size_t)(a->offsets[i + 1] - a->offsets[i]);
    return a->values + a->offsets[i];
}
/* Any integer type, date, time or timestamp, widened (uint64 beyond int64 wraps), through the dictionary. */
int64_t sl_integer_at(const sl_array *a, int64_t i);

typedef struct sl_batch {
    atomic_int refs;
    const sl_type *schema;
    int64_t rows;
    sl_array **columns; /* schema->field_count of them */
} sl_batch;
/* Takes over one reference of each column (also on failure) and copies the pointers. */
SL_MUST_USE sl_status sl_batch_new(const sl_type *schema, int64_t rows, sl_array *const *columns, sl_batch **out);
sl_batch *sl_batch_ref(sl_batch *batch);
void sl_batch_unref(sl_batch *batch); /* NULL is fine */
size_t sl_batch_bytes(const sl_batch *batch);
size_t sl_batch_data_bytes(const sl_batch *batch);  /* sl_array_data_bytes of all columns */
size_t sl_batch_plain_bytes(const sl_batch *batch); /* sl_array_plain_bytes of all columns */
/* The named columns in that order; a missing one is SL_E_INPUT. */
SL_MUST_USE sl_status sl_batch_project(const sl_batch *batch, const char *const *names, size_t count, sl_batch **out);
/* Rows whose bit is set in `selection` (batch->rows bits). */
SL_MUST_USE sl_status sl_batch_filter(sl_batch *batch, const uint8_t *selection, sl_batch **out);
SL_MUST_USE sl_status sl_batch_copy(const sl_batch *batch, int64_t from, int64_t count, sl_batch **out);

/* ---- building ------------------------------------------------------------------------------------------ */

/* Grows one array value by value or run by run. After a failed append the builder may only be freed. */
typedef struct sl_builder sl_builder;
SL_MUST_USE sl_status sl_builder_new(const sl_type *type, sl_builder **out);
SL_MUST_USE sl_status sl_builder_null(sl_builder *b);
SL_MUST_USE sl_status sl_builder_bool(sl_builder *b, bool value);
SL_MUST_USE sl_status sl_builder_integer(sl_builder *b, int64_t value);    /* every integer, date, time, timestamp type; out of range: SL_E_INPUT */
SL_MUST_USE sl_status sl_builder_double(sl_builder *b, double value);      /* SL_FLOAT, SL_DOUBLE */
SL_MUST_USE sl_status sl_builder_decimal(sl_builder *b, sl_i128 unscaled); /* beyond the precision: SL_E_INPUT */
SL_MUST_USE sl_status sl_builder_bytes(sl_builder *b, const void *data, size_t len); /* string, binary, fixed (exact width) */
/* Nested values: append to the children, then close. A list or map element count is what its child grew since the last close. */
sl_builder *sl_builder_child(sl_builder *b, size_t index); /* struct member; list: element; map: entries struct */
SL_MUST_USE sl_status sl_builder_close(sl_builder *b);     /* one valid struct, list or map value */
/* The merge's and the sort's gather: rows [from, from+count) of src, one memcpy per buffer where the type allows;
 * src may have a dictionary. src's type must equal the builder's. */
SL_MUST_USE sl_status sl_builder_append_range(sl_builder *b, const sl_array *src, int64_t from, int64_t count);
SL_MUST_USE sl_status sl_builder_append_rows(sl_builder *b, const sl_array *src, const uint32_t *rows, size_t count);
/* Rows of many arrays in turn, what a merge yields: each pick is of rows of sources[pick.source]. Rows must be in range,
 * no pick empty. */
struct sl_pick {
    uint32_t source, first, count;
};
struct sl_picks {
    const struct sl_pick *items;
    size_t count;
    int64_t rows; /* of all of them */
};
SL_MUST_USE sl_status sl_builder_append_picks(sl_builder *b, const sl_array *const *sources, size_t source_count, const struct sl_picks *picks);
int64_t sl_builder_length(const sl_builder *b);
size_t sl_builder_bytes_used(const sl_builder *b);
SL_MUST_USE sl_status sl_builder_finish(sl_builder *b, sl_array **out); /* the builder is empty again and may be reused */
void sl_builder_free(sl_builder *b);

/* A builder for each field of a schema. */
typedef struct sl_batch_builder {
    const sl_type *schema;
    sl_builder **columns;
} sl_batch_builder;
SL_MUST_USE sl_status sl_batch_builder_init(sl_batch_builder *b, const sl_type *schema);
/* For batches that come and go one after the other: memory of the one before is filled again once nobody holds it. */
void sl_batch_builder_reuse(sl_batch_builder *b);
int64_t sl_batch_builder_rows(const sl_batch_builder *b);
size_t sl_batch_builder_allocated(const sl_batch_builder *b); /* memory that it holds, for values to come as well */
size_t sl_batch_builder_bytes(const sl_batch_builder *b);
SL_MUST_USE sl_status sl_batch_builder_append_range(sl_batch_builder *b, const sl_batch *src, int64_t from, int64_t count);
SL_MUST_USE sl_status sl_batch_builder_finish(sl_batch_builder *b, sl_batch **out);
/* Takes back all behind the first `rows` rows, also what a row that failed half-way left in some of the columns. */
void sl_batch_builder_truncate(sl_batch_builder *b, int64_t rows);
void sl_batch_builder_free(sl_batch_builder *b); /* zero-initialised is fine */

/* ---- order, casts, text -------------------------------------------------------------------------------- */

/* Order of ordering values (spec/lsm-layout.md 8.3): null lowest; numbers by value, floats as Java's Double.compare, bytes
 * unsigned, false < true. The two types must be equal and not nested. < 0, 0, > 0. */
int sl_compare(const sl_array *a, int64_t i, const sl_array *b, int64_t j);
bool sl_equal_at(const sl_array *a, int64_t i, const sl_array *b, int64_t j); /* nested too; null == null; NaN == NaN */

/* Whether values of `from` can become `to` without loss (promotion of spec/write-path.md 8, decimal widening, time unit
 * changes that are exact, nested by name) and the conversion itself. A value that does not fit is SL_E_INPUT naming its
 * row. Text input is a different matter: see sl_builder_text. */
bool sl_cast_possible(const sl_type *from, const sl_type *to);
SL_MUST_USE sl_status sl_cast(sl_array *array, const sl_type *to, sl_array **out);
/* The batch with exactly the fields of `schema`: by name, cast, missing nullable ones null, missing required ones
 * SL_E_INPUT, surplus ones dropped. Errors name column and row. */
SL_MUST_USE sl_status sl_batch_conform(sl_batch *batch, const sl_type *schema, sl_batch **out);

/* One value from text (CSV): the forms of docs/input.md; SL_E_INPUT says what was expected. Strings are copied verbatim. */
SL_MUST_USE sl_status sl_builder_text(sl_builder *b, const char *text, size_t len);

/* How values become text. */
enum sl_text_style {
    SL_TEXT_CANONICAL, /* tools/peer/canon.py */
    SL_TEXT_JSON,      /* JSON for people: timestamps ISO 8601, decimals as numbers' text in quotes, binary base64, NaN as "NaN" */
    SL_TEXT_PLAIN,     /* for tables and CSV: strings bare, null empty */
};
SL_MUST_USE sl_status sl_value_text(const sl_array *array, int64_t row, enum sl_text_style style, sl_buf *out);
/* A JSON string literal with its quotes, escaped as canon.py does. */
SL_MUST_USE sl_status sl_json_string(const void *data, size_t len, sl_buf *out);
/* Java's Double.toString / Float.toString (JDK 19 and later: shortest digits), spec/write-path.md 1.2. */
SL_MUST_USE sl_status sl_java_double(double value, sl_buf *out);
SL_MUST_USE sl_status sl_java_float(float value, sl_buf *out);

/* Civil calendar. */
void sl_days_to_civil(int64_t days, int64_t *year, int *month, int *day);
int64_t sl_civil_to_days(int64_t year, int month, int day);

/* ---- Arrow C data interface ---------------------------------------------------------------------------- */

struct ArrowSchema;
struct ArrowArray;
/* The type tree of an Arrow schema (top level: struct). Unsupported formats (union, run-end, views ...) by name. */
SL_MUST_USE sl_status sl_arrow_import_schema(const struct ArrowSchema *schema, const sl_type **out);
/* Consumes the array (its release is called, at the latest when the batch is gone, also on failure). `arrow_schema` says
 * how the array is laid out (large offsets, dictionaries, date64 ... are converted); `schema` is its import and becomes
 * the batch's. Shares buffers where the layouts agree; checks offsets and that strings are UTF-8. */
SL_MUST_USE sl_status sl_arrow_import_batch(struct ArrowArray *array, const struct ArrowSchema *arrow_schema, const sl_type *schema, sl_batch **out);
SL_MUST_USE sl_status sl_arrow_export_schema(const sl_type *schema, struct ArrowSchema *out);
SL_MUST_USE sl_status sl_arrow_export_batch(sl_batch *batch, struct ArrowArray *out); /* holds a reference until released */

/* ---- streams of batches -------------------------------------------------------------------------------- */

/* What yields batches: a file reader, a merge, an import. `next` gives NULL at the end; the batch is the caller's. */
typedef struct sl_stream sl_stream;
struct sl_stream {
    const sl_type *schema; /* borrowed from the stream */
    sl_status (*next)(sl_stream *self, sl_batch **out);
    void (*close)(sl_stream *self); /* frees the stream itself */
};
SL_INLINE sl_status sl_stream_next(sl_stream *s, sl_batch **out) { return s->next(s, out); }
SL_INLINE void sl_stream_close(sl_stream *s) { if (s) s->close(s); }
/* Hands every batch that is left to `take`, which borrows it. Ends early with its failure, or when `runtime` (NULL: none) is
 * cancelled. The stream stays open. */
SL_MUST_USE sl_status sl_stream_drain(sl_stream *rows, const sl_runtime *runtime,
                                      sl_status (*take)(void *context, sl_batch *batch), void *context);

/* ---- JSON values --------------------------------------------------------------------------------------- */

/* The engine of the JSON-lines reader: strict JSON (RFC 8259) straight into builders, no tree in between. Objects fill
 * structs and maps (a map may also be an array of [key, value] pairs); missing members are null, unknown ones are
 * skipped; a member given twice, a lone surrogate, invalid UTF-8 and more than 64 levels are SL_E_INPUT. Decimals come
 * from a number or a string and never pass through a double; dates, times and timestamps from a string (the forms of
 * sl_builder_text) or an integer in the type's unit; binary from base64 (or "hex:..."); floats also from "NaN",
 * "Infinity", "-Infinity". Errors name the byte of the text. */

/* One value of the builder's type from text[*pos ..); *pos moves behind it. */
SL_MUST_USE sl_status sl_builder_json(sl_builder *b, const char *json, size_t len, size_t *pos);
/* One row from one object; nothing but white space may follow. The caller adds the line's number. */
SL_MUST_USE sl_status sl_batch_builder_json_line(sl_batch_builder *b, const char *line, size_t len);

/* Whether it is one whole object of strict JSON, whatever its members are. */
bool sl_json_is_object(const char *json, size_t len);

/* The schema of JSON lines that have none: give every line, then finish. Integers are long (double beyond its range or
 * mixed with fractions), objects structs, arrays lists, all fields nullable in the order of their first appearance;
 * what was only ever null is a string. Kinds that do not mix are SL_E_INPUT naming line and member. */
typedef struct sl_json_infer sl_json_infer;
SL_MUST_USE sl_status sl_json_infer_new(sl_json_infer **out);
SL_MUST_USE sl_status sl_json_infer_line(sl_json_infer *infer, const char *line, size_t len); /* blank lines count, no more */
SL_MUST_USE sl_status sl_json_infer_finish(sl_json_infer *infer, const sl_type **out);
void sl_json_infer_free(sl_json_infer *infer); /* NULL is fine */

/* The type of a CSV column from its cells: boolean, long, double, date, timestamp (micros, UTC) or string. Empty cells
 * are null and say nothing. Digits with leading zeros and integers beyond long stay strings, so no digit is lost.
 * Zero-initialised has seen nothing; it owns nothing. */
typedef struct sl_text_infer {
    unsigned excluded; /* types that some cell ruled out */
    bool any;          /* a cell was not empty */
} sl_text_infer;
void sl_text_infer_cell(sl_text_infer *infer, const char *text, size_t len);
SL_MUST_USE sl_status sl_text_infer_type(const sl_text_infer *infer, const sl_type **out);

/* One row as a JSON object (any style but plain; canonical: keys sorted). The caller projects the columns it wants. */
SL_MUST_USE sl_status sl_row_text(const sl_batch *batch, int64_t row, enum sl_text_style style, sl_buf *out);

#endif
