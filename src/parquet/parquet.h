/*
 * parquet: a reader and a writer of Apache Parquet files (spec/parquet.md; the public parquet-format definition).
 *
 *     sl_parquet *p;                                         reading
 *     SL_TRY(sl_parquet_open(file, NULL, &p));               footer, schema, key-values, statistics
 *     sl_stream *rows;
 *     SL_TRY(sl_parquet_scan(p, &(struct sl_parquet_scan_options){ .columns = names, .column_count = 2 }, &rows));
 *     while (!(status = sl_stream_next(rows, &batch)) && batch) ...
 *
 *     sl_parquet_writer *w;                                  writing
 *     SL_TRY(sl_parquet_writer_new(output, schema, &options, &w));
 *     SL_TRY(sl_parquet_writer_write(w, batch));             as often as you like
 *     SL_TRY(sl_parquet_writer_key_value(w, "k", "v"));
 *     SL_TRY(sl_parquet_writer_finish(w, &info));            the output itself is finished by the caller
 *
 * Every length and offset of a file is checked before it is used; a bad file gives SL_E_CORRUPT with file, offset and
 * column, an unknown feature SL_E_UNSUPPORTED with its name.
 */
#ifndef SL_PARQUET_H
#define SL_PARQUET_H

#include "column/column.h"
#include "storage/storage.h"

/* ---- reading ------------------------------------------------------------------------------------------- */

typedef struct sl_parquet sl_parquet; /* an open file: its footer, decoded once. Thread-safe after open. */

struct sl_parquet_open_options {
    bool ignore_checksums;     /* those of pages and of our footers are verified where present */
    const sl_runtime *runtime; /* where warnings go, borrowed until the file is closed; NULL: nowhere */
};
/* Borrows `file`, which must stay open until sl_parquet_close. options NULL: defaults. */
SL_MUST_USE sl_status sl_parquet_open(sl_file *file, const struct sl_parquet_open_options *options,
                                      sl_parquet **out);
void sl_parquet_close(sl_parquet *p);

const sl_type *sl_parquet_schema(const sl_parquet *p); /* top-level columns, in file order; borrowed */
int64_t sl_parquet_rows(const sl_parquet *p);
size_t sl_parquet_row_groups(const sl_parquet *p);
int64_t sl_parquet_row_group_rows(const sl_parquet *p, size_t group);
const char *sl_parquet_key_value(const sl_parquet *p, const char *key); /* NULL when absent; borrowed */
size_t sl_parquet_key_values(const sl_parquet *p);
void sl_parquet_key_value_at(const sl_parquet *p, size_t index, const char **key, const char **value);
const char *sl_parquet_created_by(const sl_parquet *p); /* "" when absent */
bool sl_parquet_is_ours(const sl_parquet *p);           /* sluice made it, as the former says */

/* Bounds of a flat column in a row group, as one-row arrays of the column's type. Only bounds that may be trusted
 * (spec/parquet.md 5) are given: has_bounds false means unknown, never "all null". */
struct sl_parquet_bounds {
    bool has_bounds, has_null_count;
    bool all_null; /* certain that no row has a value; false: unknown */
    int64_t null_count;
    sl_array *min, *max; /* owned by the caller when has_bounds; lower and upper bounds, not always exact */
    /* Statistics of floating columns leave NaNs out, and sl_compare sorts NaN above all numbers: where nothing says that
     * there are none, `max` is NaN, and the numbers among the values go up to this one. Else NULL. */
    sl_array *max_number;
};
SL_MUST_USE sl_status sl_parquet_column_bounds(const sl_parquet *p, size_t group, int column,
                                               struct sl_parquet_bounds *out);
void sl_parquet_bounds_free(struct sl_parquet_bounds *bounds);

/* Facts of a column chunk for `inspect` and for reports. */
struct sl_parquet_chunk_info {
    const char *path; /* dotted leaf path */
    const char *physical_type, *codec;
    const char *encodings; /* "RLE_DICTIONARY,PLAIN,RLE" */
    int64_t values, compressed_bytes, uncompressed_bytes;
    bool has_page_index, has_bloom_filter, has_dictionary;
    /* size statistics, where the writer left them */
    int64_t unencoded_bytes; /* of byte arrays, without lengths; -1: not said */
    const int64_t *repetition_histogram, *definition_histogram; /* values of each level; borrowed */
    size_t repetition_levels, definition_levels;                /* 0: not said */
    size_t key_values;
};
size_t sl_parquet_leaves(const sl_parquet *p);
SL_MUST_USE sl_status sl_parquet_chunk_info(const sl_parquet *p, size_t group, size_t leaf,
                                            struct sl_parquet_chunk_info *out);
/* Key-value metadata of a column chunk (index < key_values of its info). */
void sl_parquet_chunk_key_value_at(const sl_parquet *p, size_t group, size_t leaf, size_t index,
                                   const char **key, const char **value);

struct sl_row_range {
    int64_t first, count; /* rows of the file */
};
/* Ascending, disjoint ranges that do not touch, as a scan wants them. Zero-initialised is empty. */
typedef struct sl_row_ranges {
    struct sl_row_range *items;
    size_t count, cap;
} sl_row_ranges;
/* Behind all ranges so far: `first` may not lie before the last range's first row. Touching ranges become one, empty ones none. */
SL_MUST_USE sl_status sl_row_ranges_add(sl_row_ranges *ranges, int64_t first, int64_t count);
/* Rows in both, rows in either; *out must be zero-initialised. */
SL_MUST_USE sl_status sl_row_ranges_intersect(const sl_row_ranges *a, const sl_row_ranges *b,
                                              sl_row_ranges *out);
SL_MUST_USE sl_status sl_row_ranges_unite(const sl_row_ranges *a, const sl_row_ranges *b, sl_row_ranges *out);
int64_t sl_row_ranges_rows(const sl_row_ranges *ranges);
void sl_row_ranges_free(sl_row_ranges *ranges);

/* Bounds of each page of a flat column in a row group, from the page index. Where there is none that can be used (absent,
 * damaged, contradicting its chunk, a nested column), one entry stands for the whole row group, with the bounds of
 * sl_parquet_column_bounds: a caller that prunes by pages needs no second path.
 *
 *     struct sl_parquet_page_bounds b;
 *     SL_TRY(sl_parquet_page_bounds(p, group, column, &b));
 *     for (size_t i = 0; i < b.page_count; i++)
 *         keep[i] = !b.pages[i].has_bounds || sl_compare(b.min, i, literal, 0) <= 0 ...;
 *     SL_TRY(sl_parquet_page_ranges(&b, keep, &ranges));          group after group
 */
struct sl_parquet_page_info {
    int64_t first_row, rows; /* rows of the file */
    bool has_bounds, has_null_count;
    int64_t null_count; /* == rows: the page has only nulls (and no bounds) */
};
struct sl_parquet_page_bounds {
    bool from_index;
    size_t page_count; /* 0 only for a row group without rows */
    struct sl_parquet_page_info *pages;
    /* page_count values of the column's type, null where has_bounds is false; NULL: no page has bounds */
    sl_array *min, *max;
    /* as in sl_parquet_bounds: null but where max is a NaN that may or may not be there; NULL: no such page */
    sl_array *max_number;
    int order; /* of the bounds: 1 ascending, -1 descending, 0 neither or unknown */
};
SL_MUST_USE sl_status sl_parquet_page_bounds(const sl_parquet *p, size_t group, int column,
                                             struct sl_parquet_page_bounds *out);
void sl_parquet_page_bounds_free(struct sl_parquet_page_bounds *bounds);
/* Adds the rows of the pages whose keep[i] is true to `ranges`. */
SL_MUST_USE sl_status sl_parquet_page_ranges(const struct sl_parquet_page_bounds *bounds, const bool *keep,
                                             sl_row_ranges *ranges);
/* Page indexes that were found damaged or contradicting their chunk, and so not used, since the file was opened. The first
 * one is a warning. */
uint64_t sl_parquet_ignored_indexes(const sl_parquet *p);

/* Whether a flat column's Bloom filter allows that the row group holds a value: *may false is certain, true is also the
 * answer where there is no filter (or one that we cannot use). `value` are the value's PLAIN bytes, for strings and
 * binaries without their length. */
SL_MUST_USE sl_status sl_parquet_may_contain(const sl_parquet *p, size_t group, int column, const void *value,
                                             size_t len, bool *may);
/* The same for a value of the column's type; null and values that the file may hold in several forms (zeros, NaN,
 * decimals in byte arrays): true. */
SL_MUST_USE sl_status sl_parquet_may_contain_value(const sl_parquet *p, size_t group, int column,
                                                   const sl_array *array, int64_t row, bool *may);

/* Buffers and decompressors that scans share: what one gives up another finds warm, where the system would have to be asked
 * for new memory, page after page. Counted; thread-safe. */
typedef struct sl_parquet_memory sl_parquet_memory;
SL_MUST_USE sl_status sl_parquet_memory_new(size_t kept_bytes,
                                            sl_parquet_memory **out); /* that lie idle at most */
sl_parquet_memory *sl_parquet_memory_ref(sl_parquet_memory *memory);
void sl_parquet_memory_unref(
    sl_parquet_memory *memory); /* NULL is fine; arrays that live in it may live on */

struct sl_parquet_scan_options {
    /* top-level names, in the wanted order; NULL: all. A missing one is SL_E_NOT_FOUND. */
    const char *const *columns;
    size_t column_count;
    /* ascending, disjoint; NULL: all rows. Pages outside are not decoded where a page index allows. */
    const struct sl_row_range *ranges;
    size_t range_count;
    int64_t batch_rows; /* at most so many rows a batch; 0: 16384. Batches also end at row groups. */
    size_t batch_bytes; /* soft bound on a batch's memory, and on what is read ahead of it; 0: 64 MiB */
    /* String and binary columns may come with a dictionary. Not those inside lists, maps and structs: who bounds memory by
     * what rows take once they are copied out of their dictionaries (merge) has to look at the columns only. */
    bool keep_dictionary;
    sl_pool *pool;                    /* decode columns in parallel; NULL: inline */
    atomic_uint_fast64_t *bytes_read; /* counts compressed bytes read, for --explain; NULL: not counted */
    /* data pages decoded; passed over by the page index. NULL: not counted */
    atomic_uint_fast64_t *pages_read, *pages_skipped;
    sl_parquet_memory *memory; /* shared with other scans; NULL: the scan has its own */
};
SL_MUST_USE sl_status sl_parquet_scan(sl_parquet *p, const struct sl_parquet_scan_options *options,
                                      sl_stream **out);
/* Whether two columns of texts are stored alike, byte for byte, in all row groups; false also when that takes looking at more
 * than `most` bytes of one of them. */
SL_MUST_USE sl_status sl_parquet_same_columns(const sl_parquet *p, int a, int b, uint64_t most, bool *same);
/* Between two batches of a scan: rows of the file before row `first` that were not yielded yet are left out, and no batch
 * reaches from before row `stop` behind it. */
void sl_parquet_scan_steer(sl_stream *scan, int64_t first, int64_t stop);

/* ---- writing ------------------------------------------------------------------------------------------- */

enum sl_parquet_codec { SL_CODEC_NONE, SL_CODEC_SNAPPY, SL_CODEC_GZIP, SL_CODEC_ZSTD, SL_CODEC_LZ4_RAW };
/* uncompressed, snappy, gzip, zstd, lz4_raw */
SL_MUST_USE sl_status sl_parquet_codec_named(const char *name, enum sl_parquet_codec *out);

/* How values are encoded. An encoding that is asked for stands without dictionary. */
enum sl_parquet_encoding {
    SL_ENCODING_DEFAULT, /* a dictionary while it pays, PLAIN otherwise */
    SL_ENCODING_AUTO, /* the first page decides by its compressed size among dictionary, PLAIN, DELTA_BINARY_PACKED,
                            DELTA_BYTE_ARRAY and RLE: what every Hudi reader reads */
    SL_ENCODING_PLAIN,
    SL_ENCODING_DELTA_BINARY_PACKED,     /* INT32, INT64 */
    SL_ENCODING_DELTA_LENGTH_BYTE_ARRAY, /* strings, binaries. Spark 3.5 returns wrong strings. */
    /* strings, binaries, fixed: prefixes shared with the value before, for sorted keys */
    SL_ENCODING_DELTA_BYTE_ARRAY,
    SL_ENCODING_BYTE_STREAM_SPLIT, /* numbers, fixed. Spark 3.5 and Hudi 1.2 cannot read it. */
    SL_ENCODING_RLE,               /* booleans */
};
/* default, auto, plain, delta_binary_packed, delta_length_byte_array, delta_byte_array, byte_stream_split, rle */
SL_MUST_USE sl_status sl_parquet_encoding_named(const char *name, enum sl_parquet_encoding *out);
struct sl_parquet_column_options {
    /* top-level name, for all leaves below it that the encoding fits, or a dotted leaf path */
    const char *column;
    enum sl_parquet_encoding encoding; /* DEFAULT: that of the file */
    bool bloom_filter;                 /* a split-block Bloom filter for each row group; not for booleans */
    /* distinct values to expect in a row group; 0: counted while writing */
    int64_t bloom_distinct;
    double bloom_fpp; /* rate of false positives; 0: 0.01 */
};
struct sl_parquet_sorting {
    const char *column; /* as above; must name one leaf */
    bool descending, nulls_first;
};
struct sl_parquet_write_options {
    enum sl_parquet_codec codec;
    int level;              /* 0: the codec's default (zstd: 1) */
    size_t page_bytes;      /* 0: 1 MiB, uncompressed; 256 MiB at most */
    int64_t page_rows;      /* 0: 20,000; 2^28 at most */
    size_t row_group_bytes; /* 0: 120 MiB, estimated compressed size of buffered rows */
    int64_t row_group_rows; /* 0: no limit */
    bool no_dictionary;
    bool no_page_index;
    bool old_lists;         /* two-level lists (`array`), as parquet-java's default; else three-level */
    const char *created_by; /* NULL: "sluice version X (build Y)" */
    const char *root_name;  /* name of the schema's root; NULL: "schema" */
    sl_pool *pool;          /* encode columns in parallel; NULL: inline */
    bool data_page_v2;      /* levels outside the compressed part; else v1 */
    bool no_checksums;      /* no CRC of pages */
    bool footer_checksum;   /* an entry that readers of ours hold against the footer */
    bool size_statistics;   /* bytes of strings and histograms of levels, for chunks and pages */
    enum sl_parquet_encoding encoding; /* of all columns that it fits */
    /* what differs for some; the last entry of a column counts */
    const struct sl_parquet_column_options *columns;
    size_t column_count;
    /* how the rows are sorted: noted in every row group, not checked */
    const struct sl_parquet_sorting *sorting;
    size_t sorting_count;
};
/* Whether every Hudi reader of today reads what the options ask for (spec/parquet.md 10); else *feature names what they
 * cannot. For types see sl_parquet_schema_hudi_safe. `feature` may be NULL. */
bool sl_parquet_options_hudi_safe(const struct sl_parquet_write_options *options, const char **feature);
/* The same for a schema: times of day, nanoseconds and float16 columns are what some reader fails at. */
bool sl_parquet_schema_hudi_safe(const sl_type *schema, const char **feature);
typedef struct sl_parquet_writer sl_parquet_writer; /* one thread at a time */
/* Borrows `output` until finish or free. options NULL: uncompressed and all defaults. A type that Parquet cannot hold is
 * refused by name: SL_NULL columns, empty structs. */
SL_MUST_USE sl_status sl_parquet_writer_new(sl_output *output, const sl_type *schema,
                                            const struct sl_parquet_write_options *options,
                                            sl_parquet_writer **out);
/* The batch's schema must equal the writer's. Keeps references to small batches; encodes as pages fill. */
SL_MUST_USE sl_status sl_parquet_writer_write(sl_parquet_writer *w, sl_batch *batch);
/* any time before finish; the last value of a key counts */
SL_MUST_USE sl_status sl_parquet_writer_key_value(sl_parquet_writer *w, const char *key, const char *value);

/* ---- copying ------------------------------------------------------------------------------------------- */

/* Rows of another file can be copied as they are compressed, without decoding. What can be copied for itself is a unit: the
 * rows between two places at which the pages of every column begin; the whole row group where nothing tells its pages. */
typedef struct sl_parquet_units {
    size_t group;
    size_t count;  /* 0 only for a row group without rows */
    int64_t *rows; /* of the row group: the first one of each unit, then the number of them all */
    const sl_parquet *source;
    struct unit_pages *pages; /* what is known of them; NULL: the row group is the only unit */
    unsigned refs;
} sl_parquet_units; /* must not outlive the file */
SL_MUST_USE sl_status sl_parquet_units_load(const sl_parquet *p, size_t group, sl_parquet_units **out);
/* The whole row group as one unit, without looking for others. */
SL_MUST_USE sl_status sl_parquet_units_whole(const sl_parquet *p, size_t group, sl_parquet_units **out);
sl_parquet_units *sl_parquet_units_ref(sl_parquet_units *units);
void sl_parquet_units_unref(sl_parquet_units *units); /* NULL is fine */

/* Whether the writer takes rows of `source`: its schema must equal the writer's, leaf by leaf and in its physical form.
 * Files of parquet-mr before 1.8 have pages that only their own footer explains. */
bool sl_parquet_writer_can_copy(const sl_parquet_writer *w, const sl_parquet *source);
/* Copies units [first, first + count) of a row group, as a row group of their own: pages, statistics, page index and size
 * statistics, with their offsets moved; of most rows of the group also the Bloom filters. Bounds of some of the rows are put
 * together from those of their pages, where the index has them. Rows written before are closed as a row group. Columns of
 * `constants` are written anew: every row holds the same string. Units that there are not and files of other columns are
 * SL_E_INPUT, old files (above) SL_E_UNSUPPORTED: decode them instead. Key-values of the file are not copied. */
struct sl_parquet_constant {
    const char *column; /* top-level name of a string column */
    const char *value;
};
SL_MUST_USE sl_status sl_parquet_writer_copy_units(sl_parquet_writer *w, const sl_parquet_units *units,
                                                   size_t first, size_t count,
                                                   const struct sl_parquet_constant *constants,
                                                   size_t constant_count);
SL_MUST_USE sl_status sl_parquet_writer_copy_row_group(sl_parquet_writer *w, const sl_parquet *source,
                                                       size_t group,
                                                       const struct sl_parquet_constant *constants,
                                                       size_t constant_count);
struct sl_parquet_copied {
    uint64_t rows, pages, bytes; /* pages of data, where an index tells them; bytes of pages */
};
struct sl_parquet_copied sl_parquet_writer_copied(const sl_parquet_writer *w); /* so far */

/* ---- sizes and the end --------------------------------------------------------------------------------- */

size_t sl_parquet_writer_row_groups(const sl_parquet_writer *w); /* the one in progress included */
/* written and estimated still to write: for rolling files by size */
uint64_t sl_parquet_writer_bytes(const sl_parquet_writer *w);
size_t sl_parquet_writer_memory(const sl_parquet_writer *w);
struct sl_parquet_written {
    int64_t rows;
    uint64_t bytes;
};
/* frees w, also on failure */
SL_MUST_USE sl_status sl_parquet_writer_finish(sl_parquet_writer *w, struct sl_parquet_written *out);
void sl_parquet_writer_free(sl_parquet_writer *w); /* gives up; NULL is fine */

#endif
