/*
 * The writing half of parquet, inside: from a batch to compressed pages.
 *
 *   writer.c            the file: batches, cut into slices, which become row groups
 *   writer_twins.c      columns that are encoded once, being the same
 *   writer_group.c      a row group's chunks and their metadata
 *   writer_footer.c     page indexes and footer
 *   writer_copy.c       rows of another file, copied as they are (copy_int.h)
 *   write_options.c     options by column name -> one leaf_choice per leaf
 *   writer_schema.c     sl_type -> schema elements and one write_leaf per leaf
 *   leaf_writer.c       one leaf's chunk and the page in progress
 *   leaf_rows.c         rows -> blocks -> pages
 *   leaf_choice.c       dictionary or not, and which encoding
 *   leaf_store.c        a page, compressed, with its header
 *   leaf_values.c       a block of values in Parquet's physical form, encoded into the page
 *   levels_encode.c     nested arrays -> definition and repetition levels and the slots that hold values
 *   encode_*.c          RLE hybrid, PLAIN, dictionary, DELTA, BYTE_STREAM_SPLIT
 *   bloom_write.c       split-block Bloom filters
 *   write_statistics.c  minimum and maximum
 *   page_index.c        column index and offset index of a chunk
 *   compress.c          codecs
 *
 * A leaf is written in blocks of at most WRITE_BLOCK rows so that a block's scratch arrays stay in the first
 * caches. All leaves of a slice are independent tasks; what a task needs beside its leaf (buffers, codec
 * contexts) is a write_scratch, of which there are as many as threads, not as many as leaves.
 */
#ifndef SL_PARQUET_WRITE_INT_H
#define SL_PARQUET_WRITE_INT_H

#include "parquet/parquet_int.h"

#include <pthread.h>

#define WRITE_BLOCK             1024
#define WRITE_DICTIONARY_BYTES  ((size_t)1 << 20) /* a dictionary page beyond this is not worth its memory */
#define WRITE_INDEX_BOUND_BYTES 64   /* bounds in the column index are cut to this (spec/parquet.md 6) */
#define WRITE_STATISTICS_BYTES  4096 /* parquet-java drops chunk bounds of this combined length (5) */

/* ---- schema -------------------------------------------------------------------------------------------- */

/* How array values become physical values. */
enum write_kind {
    WRITE_BOOL,
    WRITE_WORD32,    /* 4 bytes as they are */
    WRITE_WORD64,    /* 8 bytes as they are */
    WRITE_FROM_INT8, /* widened to INT32 */
    WRITE_FROM_INT16,
    WRITE_FROM_UINT8,
    WRITE_FROM_UINT16,
    WRITE_DECIMAL, /* 16 bytes little endian -> `width` bytes big endian */
    WRITE_FIXED,   /* `width` bytes as they are: fixed and float16 */
    WRITE_BYTES,   /* strings and binaries */
};

/* The order of a leaf's values (spec/parquet.md 5). */
enum write_order {
    ORDER_BOOL,
    ORDER_INT32,
    ORDER_INT64,
    ORDER_UINT32,
    ORDER_UINT64,
    ORDER_HALF,
    ORDER_FLOAT,
    ORDER_DOUBLE,
    ORDER_DECIMAL,
    ORDER_FIXED, /* unsigned bytes, all of one length */
    ORDER_BYTES, /* unsigned bytes */
};

/* One step from a top-level array down to the leaf's array. */
struct level_step {
    enum {
        STEP_OPTIONAL, /* a null ends here, a value adds a definition level */
        STEP_REQUIRED, /* a null is an error */
        STEP_REPEATED, /* go to the elements */
        STEP_MEMBER,   /* go to child `member` */
    } kind;
    uint32_t member;
    uint8_t repetition_level; /* STEP_REPEATED: of the second and later elements */
    bool old_list_element;    /* STEP_REQUIRED only because two-level lists know no null elements */
};

struct write_leaf {
    const sl_type *type; /* borrowed from the schema */
    size_t column;       /* top-level field */
    char **path;         /* path_in_schema */
    size_t path_count;
    char *name; /* the path, dotted, for messages */
    enum parquet_physical physical;
    int32_t width; /* bytes of a physical value; WRITE_BYTES and WRITE_BOOL: 0 */
    enum write_kind kind;
    enum write_order order;
    bool text; /* bounds are cut between characters */
    uint8_t max_definition, max_repetition;
    struct level_step *steps;
    size_t step_count;
    bool flat; /* a top-level column: its only step is STEP_OPTIONAL or STEP_REQUIRED */
};

struct write_schema {
    struct parquet_schema_element
        *elements; /* depth first, the root included; names are borrowed or static */
    size_t element_count;
    struct write_leaf *leaves;
    size_t leaf_count;
};
SL_MUST_USE sl_status write_schema_build(const sl_type *schema, const char *root_name, bool old_lists,
                                         struct write_schema *out);
void write_schema_free(struct write_schema *schema);

/* ---- codecs -------------------------------------------------------------------------------------------- */

struct compressor {
    enum sl_parquet_codec codec;
    int level;
    void *zstd;    /* ZSTD_CCtx */
    void *deflate; /* struct libdeflate_compressor */
};
/* Appends the compressed form to `out`. Contexts are made at the first use and kept. */
SL_MUST_USE sl_status compressor_append(struct compressor *c, const void *data, size_t len, sl_buf *out);
SL_MUST_USE sl_status compressor_check_level(enum sl_parquet_codec codec, int level);
void compressor_free(struct compressor *c);

/* ---- encodings ----------------------------------------------------------------------------------------- */

/* The RLE / bit-packing hybrid of spec/parquet.md 3; the caller writes length or width in front. */
SL_MUST_USE sl_status rle_encode(const uint32_t *values, size_t count, int width, sl_buf *out);
SL_MUST_USE sl_status rle_encode_levels(const uint8_t *levels, size_t count, int width, sl_buf *out);
SL_MUST_USE sl_status rle_encode_bits(const uint8_t *bits, size_t count, sl_buf *out); /* width 1 */
/* Copies `count` bits behind the `at` bits of `to`, which has room; bits of the last byte behind them become
 * 0. */
void bits_append(uint8_t *to, int64_t at, const uint8_t *from, int64_t from_bit, int64_t count);

/* Values of an array in rows first, first + 1 ... (slots NULL) or in rows slots[0], slots[1], ... */
struct value_view {
    const sl_array *array; /* without dictionary */
    int64_t first;
    const int32_t *slots;
    size_t count;
    bool dictionary; /* `array` is a dictionary that more views will point into */
};
/* BYTE_ARRAY, PLAIN: length and bytes. `bytes` is the sum of the lengths. */
SL_MUST_USE sl_status plain_append_bytes(const struct value_view *view, size_t bytes, sl_buf *out);
size_t value_view_bytes(const struct value_view *view); /* sum of the lengths */

/* PLAIN values in another encoding (spec/parquet.md 3), appended to `out`. */
SL_MUST_USE sl_status delta_encode_words(const uint8_t *plain, size_t count, int32_t width,
                                         sl_buf *out); /* DELTA_BINARY_PACKED of 4 or 8 bytes */
SL_MUST_USE sl_status delta_encode_lengths(const uint8_t *plain, size_t count, sl_buf *scratch, sl_buf *out);
SL_MUST_USE sl_status delta_encode_prefixes(const uint8_t *plain, size_t count,
                                            int32_t width, /* 0: BYTE_ARRAY */
                                            sl_buf *scratch, sl_buf *out);
SL_MUST_USE sl_status split_encode(const uint8_t *plain, size_t count, int32_t width, sl_buf *out);
/* Whichever `encoding` says; PLAIN copies. `plain` of booleans are bits. */
SL_MUST_USE sl_status values_encode(const struct write_leaf *leaf, enum parquet_encoding encoding,
                                    const sl_buf *plain, size_t count, sl_buf *scratch, sl_buf *out);

struct dictionary {
    sl_buf storage;    /* the dictionary page: PLAIN values */
    uint32_t *offsets; /* WRITE_BYTES: start of each entry in storage */
    uint32_t *stamps;  /* WRITE_BYTES: last page that used the entry */
    uint64_t *table;   /* open addressing; hash tag << 32 | index + 1, 0 is empty */
    size_t table_size; /* power of two */
    bool stale;        /* the table still has the entries of before */
    size_t capacity;   /* of offsets and stamps */
    uint32_t count;
    int32_t width; /* 0: BYTE_ARRAY */
    sl_array *
        source; /* WRITE_BYTES: a dictionary that values came with; kept so that its address stays its name */
    uint32_t *mapping; /* its entries' indexes here; DICTIONARY_UNMAPPED: not yet met */
};
#define DICTIONARY_UNMAPPED UINT32_MAX
/* Looks the values up, adds the new ones, writes their indexes. `count` is at most WRITE_BLOCK. */
SL_MUST_USE sl_status dictionary_encode_fixed(struct dictionary *d, const uint8_t *values, size_t count,
                                              uint32_t *indexes);
SL_MUST_USE sl_status dictionary_encode_bytes(struct dictionary *d, const struct value_view *view,
                                              uint32_t *indexes);
/* The values of `indexes` in PLAIN form. */
SL_MUST_USE sl_status dictionary_append_plain(const struct dictionary *d, const uint32_t *indexes,
                                              size_t count, sl_buf *out);
const uint8_t *dictionary_entry(const struct dictionary *d, uint32_t index, size_t *len);
size_t dictionary_memory(const struct dictionary *d);
void dictionary_clear(struct dictionary *d); /* keeps memory for the next chunk */
void dictionary_free(struct dictionary *d);

/* ---- bounds -------------------------------------------------------------------------------------------- */

union bound_number {
    int64_t i;
    uint64_t u;
    double d;
    sl_i128 decimal;
};
/* Smallest and largest value seen; `present` false: none (or only NaN). Numbers by ORDER, bytes in the two
 * buffers. */
struct value_bounds {
    bool present;
    /* of floating columns, see bounds_nans; bounds from elsewhere count none */
    bool nans_counted, nans_unknown;
    int64_t nans;
    union bound_number min, max;
    sl_buf min_bytes, max_bytes;
};
void bounds_add_numbers(struct value_bounds *b, enum write_order order, const uint8_t *values, size_t count);
void bounds_add_number(struct value_bounds *b, enum write_order order, union bound_number min,
                       union bound_number max);
SL_MUST_USE sl_status bounds_add_views(struct value_bounds *b,
                                       const struct value_view *view); /* ORDER_BYTES */
SL_MUST_USE sl_status bounds_add_fixed(struct value_bounds *b, const uint8_t *values, int32_t width,
                                       size_t count);
/* The entries of `indexes`, each looked at once a page (`page` counts from 1). */
SL_MUST_USE sl_status bounds_add_entries(struct value_bounds *b, struct dictionary *d,
                                         const uint32_t *indexes, size_t count, uint32_t page);
/* How many NaNs there are besides the bounds; -1: not a floating column, or nobody counted all of them. */
int64_t bounds_nans(const struct value_bounds *b);
SL_MUST_USE sl_status bounds_merge(struct value_bounds *into, enum write_order order,
                                   const struct value_bounds *from);
/* Bound in its PLAIN form without length. Numbers need 16 bytes of `space`; bytes are borrowed from the
 * bounds. */
void bounds_plain(const struct value_bounds *b, const struct write_leaf *leaf, bool max, uint8_t *space,
                  const uint8_t **data, size_t *len);
int bounds_compare_plain(const struct write_leaf *leaf, const uint8_t *a, size_t a_len, const uint8_t *b,
                         size_t b_len);
/* Cuts a bound of ORDER_BYTES to WRITE_INDEX_BOUND_BYTES. `out` needs that many bytes; false: it stays whole.
 */
bool bound_cut_min(const uint8_t *data, size_t len, bool text, uint8_t *out, size_t *out_len);
bool bound_cut_max(const uint8_t *data, size_t len, bool text, uint8_t *out, size_t *out_len);
void bounds_clear(struct value_bounds *b);
void bounds_free(struct value_bounds *b);

/* ---- levels -------------------------------------------------------------------------------------------- */

struct level_buffer {
    size_t count, capacity;
    uint8_t *definition, *repetition;
    int32_t *slots; /* row of the current array, -1 where the path ended above */
};
struct write_levels {
    struct level_buffer now, next;
    const sl_array *array; /* the leaf's array, when done */
    size_t value_count;    /* afterwards now.slots is compact: the rows of the values */
};
/* Levels of rows [from, from + count) of the leaf's top-level array. */
SL_MUST_USE sl_status levels_build(struct write_levels *levels, const struct write_leaf *leaf,
                                   const sl_array *column, int64_t from, int64_t count, int64_t file_row);
/* Leaf rows that top-level rows [from, from + count) span: an upper bound of their values. */
void levels_span(const struct write_leaf *leaf, const sl_array *column, int64_t from, int64_t count,
                 const sl_array **array, int64_t *first, int64_t *values);
void levels_free(struct write_levels *levels);

/* ---- page index ---------------------------------------------------------------------------------------- */

struct page_facts {
    int64_t first_row; /* in the row group */
    int64_t null_count;
    int64_t nan_count;       /* -1: unknown */
    int64_t unencoded_bytes; /* of byte arrays */
    uint32_t stored_bytes;   /* with header */
    bool has_bounds, all_null;
    uint32_t min_at, min_len, max_at, max_len; /* in chunk_pages.bounds */
};
struct chunk_pages {
    struct page_facts *pages;
    size_t count, capacity;
    sl_buf bounds;
    sl_buf
        histograms; /* size statistics: for each page its definition, then its repetition histogram, int64 */
    bool ascending, descending;
    bool unknown_bounds; /* a page with values but without bounds (all NaN): no column index */
    size_t last_bounded; /* page before the one being added; SIZE_MAX: none */
};
SL_MUST_USE sl_status chunk_pages_add(struct chunk_pages *pages, const struct write_leaf *leaf,
                                      const struct page_facts *facts, const struct value_bounds *bounds);
void chunk_pages_clear(struct chunk_pages *pages);
void chunk_pages_free(struct chunk_pages *pages);
SL_MUST_USE sl_status column_index_write(const struct chunk_pages *pages, const struct write_leaf *leaf,
                                         sl_buf *out);
/* byte_arrays: with their unencoded bytes. */
SL_MUST_USE sl_status offset_index_write(const struct chunk_pages *pages, uint64_t first_page_offset,
                                         bool byte_arrays, sl_buf *out);

/* ---- Bloom filters ------------------------------------------------------------------------------------- */

/* The filter of a chunk in the making. With a known number of values it is filled at once; otherwise hashes are
 * kept until the chunk is complete and the filter is made as large as its distinct values need. */
struct bloom_builder {
    sl_buf hashes; /* uint64 */
    uint8_t *blocks;
    size_t block_count; /* power of two */
    double fpp;
};
SL_MUST_USE sl_status bloom_start(struct bloom_builder *b, int64_t distinct,
                                  double fpp); /* distinct 0: unknown */
SL_MUST_USE sl_status bloom_add_plain(struct bloom_builder *b, const uint8_t *plain, size_t count,
                                      int32_t width);                     /* 0: BYTE_ARRAY */
SL_MUST_USE sl_status bloom_finish(struct bloom_builder *b, sl_buf *out); /* header and filter */
size_t bloom_memory(const struct bloom_builder *b);
void bloom_free(struct bloom_builder *b);

/* ---- leaf writer --------------------------------------------------------------------------------------- */

/* What a task needs for a while. */
struct write_scratch {
    struct write_scratch *next; /* in the writer's free list */
    struct compressor compressor;
    sl_buf body, stored, header;
    struct write_levels levels;
    int32_t slots[WRITE_BLOCK];
    uint8_t words[WRITE_BLOCK * 8];
    sl_buf gathered; /* wide fixed values */
    sl_buf lengths;  /* DELTA encodings of byte arrays */
    sl_buf trial;    /* what an encoding under trial makes of a page */
};
void write_scratch_free(struct write_scratch *s);

struct write_settings {
    size_t page_bytes;
    int64_t page_rows;
    bool dictionary, page_index, page_v2, checksums, size_statistics;
};
/* What the options say about one leaf. */
struct leaf_choice {
    enum parquet_encoding encoding; /* of pages without dictionary */
    bool automatic;                 /* ... unless a trial finds a better one */
    bool dictionary;
    bool bloom_filter;
    int64_t bloom_distinct;
    double bloom_fpp;
};
struct sl_parquet_write_options;
/* One choice for each leaf; the caller frees *out. */
SL_MUST_USE sl_status write_choices(const struct sl_parquet_write_options *options,
                                    const struct write_schema *schema, struct leaf_choice **out);
/* Leaf numbers of the sorting columns; the caller frees *out. */
SL_MUST_USE sl_status write_sorting(const struct sl_parquet_write_options *options,
                                    const struct write_schema *schema, struct parquet_sorting_column **out);

struct page_blob {
    uint8_t *data; /* header and body as stored */
    size_t len;
};

/* One leaf of the row group in progress. */
struct leaf_writer {
    const struct write_leaf *leaf;
    const struct write_settings *settings;
    const struct leaf_choice *choice;

    /* the page in progress */
    int64_t page_rows, page_levels, page_values;
    sl_buf definition; /* flat: a bitmap; nested: a byte a level */
    sl_buf repetition;
    sl_buf body;       /* PLAIN values; booleans as bits */
    uint32_t *indexes; /* dictionary indexes */
    size_t indexes_capacity;
    size_t page_raw_bytes; /* what the values take in PLAIN */
    struct value_bounds page_bounds;
    uint32_t page_number; /* in the writer's life, from 1; stamps dictionary entries */

    /* the chunk */
    const struct leaf_writer *twin; /* its chunk is this one's as well (writer_twins.c); NULL: none */
    bool dictionary_active;         /* the page in progress collects indexes */
    bool dictionary_decided;        /* it paid on the first page, or was given up */
    bool encoding_decided;          /* `encoding` is final */
    enum parquet_encoding encoding; /* of pages without dictionary */
    struct bloom_builder bloom;
    sl_buf bloom_filter;       /* of the closed chunk, with its header */
    int64_t *level_histograms; /* size statistics: of definition levels, then of repetition levels */
    int64_t unencoded_bytes;   /* of byte arrays */
    struct dictionary dictionary;
    struct page_blob dictionary_page;
    struct page_blob *blobs;
    size_t blob_count, blob_capacity;
    struct chunk_pages pages;
    struct value_bounds bounds;
    int64_t rows, levels, nulls;
    uint64_t uncompressed_bytes, compressed_bytes; /* of closed pages, with headers */
    int32_t value_pages[PARQUET_ALP];              /* data pages without dictionary, by encoding */
    int32_t dictionary_pages;
    double
        ratio; /* stored to raw size in the last chunk: what to expect before a page of this one is closed */
};
SL_MUST_USE sl_status leaf_writer_init(struct leaf_writer *w, const struct write_leaf *leaf,
                                       const struct write_settings *settings,
                                       const struct leaf_choice *choice);
/* Rows [from, from + count) of the top-level column. file_row: number of the first of them, for messages. */
SL_MUST_USE sl_status leaf_writer_rows(struct leaf_writer *w, struct write_scratch *s, const sl_array *column,
                                       int64_t from, int64_t count, int64_t file_row);
SL_MUST_USE sl_status leaf_writer_close_chunk(struct leaf_writer *w,
                                              struct write_scratch *s); /* last page and dictionary page */
SL_MUST_USE sl_status leaf_writer_close_page(struct leaf_writer *w, struct write_scratch *s);
uint64_t leaf_writer_estimate(const struct leaf_writer *w); /* stored bytes of the chunk so far */
size_t leaf_writer_memory(const struct leaf_writer *w);
SL_MUST_USE sl_status leaf_writer_next_chunk(struct leaf_writer *w); /* everything was written: start anew */
void leaf_writer_free(struct leaf_writer *w);

/* Value bytes of the page in progress. */
size_t leaf_page_bytes(const struct leaf_writer *w);
int leaf_index_width(const struct dictionary *d); /* bits of an index */
/* Gives a dictionary up that the first values show to be hopeless. */
SL_MUST_USE sl_status leaf_look_at_sample(struct leaf_writer *w);
/* Before a page is closed: whether it is one of dictionary indexes, which the first page decides. */
SL_MUST_USE sl_status leaf_settle_dictionary(struct leaf_writer *w, struct write_scratch *s,
                                             bool *dictionary);
/* Chooses the encoding that makes the page smallest; *best: its stored bytes. */
SL_MUST_USE sl_status leaf_try_encodings(struct leaf_writer *w, struct write_scratch *s, size_t *best);
/* Compresses `body` but for its first `levels` bytes and puts the header in front; sizes and checksum of `header` are
 * filled in. */
SL_MUST_USE sl_status leaf_store_page(struct leaf_writer *w, struct write_scratch *s, const sl_buf *body,
                                      size_t levels, struct parquet_page_header *header,
                                      struct page_blob *out);

/* Encodes the block's values into the page in progress; view->count is at most WRITE_BLOCK (nested: any). */
SL_MUST_USE sl_status leaf_writer_values(struct leaf_writer *w, struct write_scratch *s,
                                         const struct value_view *view);

/* ---- the writer ---------------------------------------------------------------------------------------- */

struct segment {
    sl_batch *batch;
    int64_t from, count;
};
struct owned_key_value {
    char *key, *value;
};
struct sl_parquet_writer {
    sl_output *output;
    uint64_t start; /* where the file begins in the output: offsets count from here */
    const sl_type *schema;
    struct write_schema layout;
    struct write_settings settings;
    struct leaf_choice *choices;            /* layout.leaf_count of them */
    struct parquet_sorting_column *sorting; /* sorting_count of them */
    size_t sorting_count;
    enum sl_parquet_codec codec;
    int level;
    size_t row_group_bytes;
    int64_t row_group_rows;
    char *created_by, *root_name;
    bool footer_checksum;
    sl_pool *pool;

    struct leaf_writer *leaves; /* layout.leaf_count of them */
    pthread_mutex_t scratch_lock;
    struct write_scratch *scratch; /* idle ones */
    size_t scratch_count;          /* all */

    struct segment *waiting;
    size_t waiting_count, waiting_capacity;
    int64_t waiting_rows;
    size_t waiting_bytes;

    sl_arena *arena; /* of the row groups' metadata */
    struct parquet_row_group *groups;
    size_t group_count, group_capacity;
    sl_buf column_indexes, offset_indexes;
    struct owned_key_value *key_values;
    size_t key_value_count, key_value_capacity;

    int64_t rows;       /* taken over, waiting ones included */
    int64_t group_rows; /* encoded into the row group in progress */
    int64_t done_rows;  /* in written row groups */
    struct sl_parquet_copied copied;
    bool twins_parted;
    bool failed; /* the leaves may disagree: nothing more can be written */
};
SL_MUST_USE sl_status writer_scratch_take(struct sl_parquet_writer *w, struct write_scratch **out);
void writer_scratch_return(struct sl_parquet_writer *w, struct write_scratch *s);
SL_MUST_USE sl_status writer_flush(struct sl_parquet_writer *w); /* rows taken so far become a row group */
/* Before what waits is encoded: which leaves need not be. */
SL_MUST_USE sl_status writer_match_twins(struct sl_parquet_writer *w);
/* Closes the leaves and writes what they have as a row group. */
SL_MUST_USE sl_status writer_put_group(struct sl_parquet_writer *w);
void *writer_zeroed(sl_arena *arena, size_t size); /* NULL: no memory */
SL_MUST_USE sl_status writer_put_page_indexes(struct sl_parquet_writer *w);
/* The footer with its length and the magic behind. */
SL_MUST_USE sl_status writer_encode_footer(struct sl_parquet_writer *w, sl_buf *footer);
/* What stands before all row groups. */
SL_MUST_USE sl_status writer_begin_file(struct sl_parquet_writer *w);
/* Room for the metadata of group number group_count, cleared. */
SL_MUST_USE sl_status writer_next_group(struct sl_parquet_writer *w);
/* A closed leaf's chunk: pages to the output, facts into `chunk`. */
SL_MUST_USE sl_status writer_put_chunk(struct sl_parquet_writer *w, const struct leaf_writer *leaf,
                                       struct parquet_column_chunk *chunk);
SL_MUST_USE sl_status writer_put_bloom(struct sl_parquet_writer *w, struct leaf_writer *leaf,
                                       struct parquet_column_chunk *chunk);

#endif
