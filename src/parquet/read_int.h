/*
 * The reading half of parquet, inside: from a chunk's bytes to arrays.
 *
 *   open.c             footer, schema, key-values
 *   schema.c           schema elements -> sl_type and a tree of nodes with one leaf per physical column
 *   avro_hint.c        the Avro schema of a footer on lists that could be read in two ways
 *   page.c             the pages of a chunk: headers, checksums, decompressed bodies
 *   decompress.c       codecs
 *   encoding_rle.c     RLE / bit-packed hybrid: levels, dictionary indexes, booleans
 *   encoding_delta.c   DELTA_BINARY_PACKED
 *   values.c           the value section of one page, whatever its encoding, as fixed-width values or indexes
 *   values_strings.c   ... as byte strings
 *   convert.c          physical values -> our layout (decimals, INT96, narrow integers)
 *   block.c            memory of buffers, used again batch after batch
 *   byte_strings.c     growing byte strings
 *   bitmap.c, unpack.c bits
 *   leaf_reader.c      one leaf of a row group: levels and values -> growing buffers
 *   leaf_pages.c, leaf_append.c, leaf_nested.c   its pages; values behind values; levels below lists
 *   assemble.c         levels and buffers -> (nested) arrays
 *   scan.c             the stream: projection, row ranges, batches, threads
 *   bounds.c, info.c   statistics and facts
 *   page_bounds.c      the page index, checked against its chunk: bounds of pages
 *   bloom.c            split-block Bloom filters of chunks
 *   row_ranges.c       lists of row ranges
 *   same_columns.c     columns that are stored alike
 *   levels_mask.c      comparing levels, eight at a time
 *   NAME_avx2.c        loops for newer processors, writing's too, see simd.h
 *
 * A batch's values go straight into the buffers of its arrays: PLAIN fixed-width pages are copied, dictionary
 * indexes gathered, definition levels of flat columns decoded into the validity bitmap. Only what needs a
 * conversion passes through a scratch block of READ_BLOCK values.
 */
#ifndef SL_PARQUET_READ_INT_H
#define SL_PARQUET_READ_INT_H

#include "parquet/parquet_int.h"

#define READ_BLOCK 1024 /* values that go through scratch memory at once: fits the first caches */
#define READ_PAD   64   /* bytes that may be touched behind a buffer of our own */

/* ---- schema -------------------------------------------------------------------------------------------- */

enum parquet_output { PARQUET_OUT_NULL, PARQUET_OUT_BOOL, PARQUET_OUT_FIXED, PARQUET_OUT_BYTES };
enum parquet_conversion {
    PARQUET_AS_IS,
    PARQUET_TO_8,  /* INT32 -> 1 byte */
    PARQUET_TO_16, /* INT32 -> 2 bytes */
    PARQUET_INT96_TO_MICROS,
    PARQUET_INT32_TO_DECIMAL,
    PARQUET_INT64_TO_DECIMAL,
    PARQUET_FIXED_TO_DECIMAL,
    PARQUET_BYTES_TO_DECIMAL,
};
struct parquet_leaf {
    const struct parquet_schema_element *element;
    const sl_type *type; /* borrowed from the schema */
    const char *path;    /* dotted */
    int max_def, max_rep;
    int slot_def; /* definition level from which the innermost list around has a slot for us; 0 outside lists
                   */
    bool flat;    /* a top-level column: rows are values, and levels are the validity bitmap */
    bool nullable;
    enum parquet_output output;
    enum parquet_conversion conversion;
    size_t physical_width; /* bytes of a PLAIN value; 0: boolean or byte array */
    size_t width; /* bytes of a value in the array; booleans 1 until the array is finished; 0: byte strings */
};
/* A field of the type tree with its levels (Dremel). A slot is a place in the node's array. */
struct parquet_node {
    const sl_type *type;
    bool nullable;
    bool is_key;                   /* of a map: may not be null whatever the file's schema says */
    int def;                       /* definition level from which the value is not null */
    int slot_def, slot_rep;        /* of the innermost list around; 0 outside lists */
    int list_def, list_rep;        /* lists and maps: levels of an element */
    size_t leaf_first, leaf_count; /* 0 leaves: the values of a map that has only keys */
    struct parquet_node *children;
    size_t child_count;
};
struct parquet_schema {
    const sl_type *type;          /* owned */
    struct parquet_node *columns; /* type->field_count of them */
    struct parquet_leaf *leaves;
    size_t leaf_count;
};
/* Everything but the type lives in the arena. */
SL_MUST_USE sl_status parquet_schema_build(const struct parquet_file_metadata *meta, sl_arena *arena,
                                           struct parquet_schema *out);

/* The Avro schema of a footer, for lists that could be read in two ways (avro_hint.c). *out NULL: there is none. */
struct parquet_avro;
SL_MUST_USE sl_status parquet_avro_open(const struct parquet_file_metadata *meta, struct parquet_avro **out);
void parquet_avro_close(struct parquet_avro *avro);
/* Types in it, borrowed; NULL: nothing is known. */
const void *parquet_avro_root(struct parquet_avro *avro);
const void *parquet_avro_member(struct parquet_avro *avro, const void *record, const char *name);
/* items of an array, values of a map */
const void *parquet_avro_inside(struct parquet_avro *avro, const void *type);
/* Whether a repeated group with this one child is the element of a list of `items`: 1, 0, or -1 when nothing is known. */
int parquet_avro_is_element(struct parquet_avro *avro, const void *items,
                            const struct parquet_schema_element *only_child);

/* Fills `encodings` of the file below. */
SL_MUST_USE sl_status parquet_describe_chunks(struct sl_parquet *p);

struct sl_parquet {
    sl_file *file;
    bool ignore_checksums;
    const sl_runtime *runtime; /* NULL: nobody wants warnings */
    sl_arena *arena;
    struct parquet_file_metadata meta;
    struct parquet_schema schema;
    const char **encodings;                /* text of parquet_chunk_info, group after group */
    uint64_t data_end;                     /* where the footer begins: pages end before it */
    atomic_uint_fast64_t *ignored_indexes; /* in the arena, since readers see the rest as constant */
};

/* ---- bits ---------------------------------------------------------------------------------------------- */

void parquet_bits_fill(uint8_t *bits, size_t from, size_t count, bool value);
void parquet_bits_copy(uint8_t *to, size_t to_bit, const uint8_t *from, size_t from_bit, size_t count);
void parquet_bits_to_bytes(const uint8_t *bits, size_t from, size_t count, uint8_t *out); /* 0 or 1 each */
void parquet_bytes_to_bits(const uint8_t *bytes, size_t count, uint8_t *bits);            /* from bit 0 */
/* Moves `used` values at the front of `values` to the places of the set bits among `slots`; other places get
 * zeros. */
void parquet_spread(uint8_t *values, size_t width, const uint8_t *bits, size_t bit_from, size_t slots,
                    size_t used);
/* The same for the ends of byte strings: offsets[0] stays, offsets[1 .. used] become offsets[1 .. slots]. */
void parquet_spread_offsets(int32_t *offsets, const uint8_t *bits, size_t bit_from, size_t slots,
                            size_t used);

/* Levels are bytes below 128, looked at 64 at a time. Bit i: levels[i] >= least, for the first min(count, 64) of them. */
uint64_t parquet_levels_mask(const uint8_t *levels, size_t count, int least);

/* 32 values of `width` bits (0..32) from 4 * width bytes; up to 8 bytes behind them are touched. */
void parquet_unpack32(const uint8_t *p, int width, uint32_t *out);
/* 32 values of 0..64 bits; touches up to 8 bytes more. */
void parquet_unpack64(const uint8_t *p, int width, uint64_t *out);

/* ---- RLE / bit-packed hybrid --------------------------------------------------------------------------- */

struct parquet_hybrid {
    const uint8_t *p, *end;
    int width;
    bool msb_first;    /* the deprecated BIT_PACKED encoding of levels: one packed run, most significant bit
                          first */
    uint64_t repeated; /* copies left of the current run's value */
    uint32_t value;
    const uint8_t *packed; /* the current packed run: values [packed_at, packed_count) are left */
    uint64_t packed_at, packed_count;
    size_t packed_bytes;
};
void parquet_hybrid_init(struct parquet_hybrid *h, const uint8_t *data, size_t len, int width);
void parquet_hybrid_init_msb(struct parquet_hybrid *h, const uint8_t *data, size_t len, int width,
                             size_t count);
/* For width 0, where every value is 0 and runs have no bytes but their headers, or are not there at all.
 * False: something else is there, so the width must be wrong. */
bool parquet_hybrid_all_zero(struct parquet_hybrid *h);
/* Each gives the number of values really there: fewer than asked for means that the data ended or is
 * malformed. */
size_t parquet_hybrid_read(struct parquet_hybrid *h, uint32_t *out, size_t count);
size_t parquet_hybrid_bytes(struct parquet_hybrid *h, uint8_t *out, size_t count); /* width <= 8 */
size_t parquet_hybrid_bits(struct parquet_hybrid *h, uint8_t *bits, size_t from, size_t count); /* width 1 */
size_t parquet_hybrid_skip(struct parquet_hybrid *h, size_t count);

/* ---- DELTA_BINARY_PACKED ------------------------------------------------------------------------------- */

struct parquet_delta {
    const uint8_t *p, *end;
    uint64_t left;           /* values not yet given out */
    uint64_t miniblock;      /* values a miniblock */
    uint64_t miniblocks;     /* a block */
    const uint8_t *widths;   /* of the current block */
    uint64_t widths_at;      /* next miniblock of the block */
    uint64_t miniblock_left; /* values of the current miniblock not yet unpacked */
    int width;
    uint64_t min_delta, last;
    bool first;         /* the first value is still to come */
    uint64_t group[32]; /* unpacked, not yet given out: group[group_at .. group_count) */
    unsigned group_at, group_count;
};
SL_MUST_USE sl_status parquet_delta_init(struct parquet_delta *d, const uint8_t *data, size_t len);
SL_MUST_USE sl_status parquet_delta_read(struct parquet_delta *d, uint64_t *out, size_t count);
/* The low 32 bits of each, which is all that lengths and INT32 have; a stream is read by one of the two. */
SL_MUST_USE sl_status parquet_delta_read32(struct parquet_delta *d, uint32_t *out, size_t count);
/* Bytes that the encoded values take, found without decoding them. */
SL_MUST_USE sl_status parquet_delta_span(const uint8_t *data, size_t len, size_t *span);

/* ---- codecs -------------------------------------------------------------------------------------------- */

struct parquet_decompressor {
    void *zstd, *deflate; /* made when first needed */
};
/* Exactly out_len bytes or corrupt. */
SL_MUST_USE sl_status parquet_decompress(struct parquet_decompressor *d, int codec, const uint8_t *in,
                                         size_t in_len, uint8_t *out, size_t out_len);
/* Whether a page of in_len bytes can become out_len bytes at all: asked before memory is allocated. */
SL_MUST_USE sl_status parquet_decompress_plausible(int codec, const uint8_t *in, size_t in_len,
                                                   size_t out_len);
void parquet_decompressor_free(struct parquet_decompressor *d);
/* A decompressor of zstd takes more than 100 KiB: scans share those of their memory, one for each thread that is at
 * work. `d` is filled from the idle ones, or stays empty; afterwards it goes back. A NULL memory leaves `d` alone. */
void parquet_decompressor_borrow(sl_parquet_memory *r, struct parquet_decompressor *d);
void parquet_decompressor_return(sl_parquet_memory *r, struct parquet_decompressor *d);

/* ---- pages --------------------------------------------------------------------------------------------- */

struct parquet_pages {
    struct sl_parquet *parquet;
    const struct parquet_column_meta *meta;
    uint64_t offset, end; /* next header; end of the chunk */
    uint64_t wanted_end;  /* when before it, nothing behind it is read ahead */
    uint64_t bytes_read;
    uint64_t pages_read; /* of data, in this chunk */
    const uint8_t *map;  /* the whole file, or NULL */
    uint8_t *window;     /* without a map: the bytes [window_offset, + window_len) of the file */
    size_t window_len, window_cap;
    uint64_t window_offset;
    size_t window_bytes; /* that are read ahead; 0: 1 MiB */
    uint8_t *body;       /* the decompressed page */
    size_t body_cap;
    sl_parquet_memory *memory; /* lends decompressors; NULL: none */
    struct parquet_decompressor decompressor;
    uint64_t header_offset; /* of the header read last */
};
struct parquet_page {
    const uint8_t
        *data; /* v1, dictionary: the whole body. v2: the values, not yet there while value_bytes is 0 */
    size_t bytes;
    const uint8_t *repetition, *definition; /* v2 */
    uint64_t offset;
};
/* Where a chunk's pages lie, checked to be inside the file. 0 and 0 for a chunk without values. */
SL_MUST_USE sl_status parquet_chunk_extent(const struct sl_parquet *p, const struct parquet_column_meta *meta,
                                           uint64_t *start, uint64_t *end);
SL_MUST_USE sl_status parquet_pages_open(struct parquet_pages *pages, struct sl_parquet *parquet,
                                         const struct parquet_column_meta *meta);
/* *found false at the end of the chunk. */
SL_MUST_USE sl_status parquet_pages_header(struct parquet_pages *pages, struct parquet_page_header *header,
                                           bool *found);
/* One of these must follow. The page is valid until the next call. */
SL_MUST_USE sl_status parquet_pages_body(struct parquet_pages *pages,
                                         const struct parquet_page_header *header, struct parquet_page *page);
void parquet_pages_skip(struct parquet_pages *pages, const struct parquet_page_header *header);
/* After a page that was copied: the next column may decompress to the same memory while it is in the caches. */
void parquet_pages_drop_body(struct parquet_pages *pages);
void parquet_pages_close(struct parquet_pages *pages);

/* ---- values -------------------------------------------------------------------------------------------- */

/* Blocks of memory, 64-byte aligned (block.c). A NULL memory is fine: then they are simply freed. */
void *parquet_block_alloc(sl_parquet_memory *r, size_t size); /* NULL when out of memory */
void parquet_block_free(void *data);

/* Byte strings back to back, growing. */
struct parquet_strings {
    sl_parquet_memory *memory;
    int32_t *offsets; /* count + 1 of them */
    size_t count, offsets_cap;
    uint8_t *data; /* READ_PAD bytes more than data_cap are allocated */
    size_t data_cap;
    size_t bytes_max; /* of data; 0: what 31-bit offsets can say */
    bool full;        /* reserve_data failed for want of room below bytes_max: fewer rows may do */
};
SL_MUST_USE sl_status parquet_strings_reserve(struct parquet_strings *s,
                                              size_t count); /* room for `count` more */
/* Room for more bytes; an overflow of 32-bit offsets is an error. */
SL_MUST_USE sl_status parquet_strings_reserve_data(struct parquet_strings *s, size_t bytes);
/* Memory for `bytes` bytes and READ_PAD more, of which `used` are kept when it moves. */
SL_MUST_USE sl_status parquet_fixed_reserve(sl_parquet_memory *memory, uint8_t **data, size_t *cap,
                                            size_t used, size_t bytes);
/* The same when nothing of it is kept, and it grows by what is needed. */
SL_MUST_USE sl_status parquet_block_fit(sl_parquet_memory *memory, uint8_t **data, size_t *cap, size_t bytes);
void parquet_strings_clear(struct parquet_strings *s);
void parquet_strings_free(struct parquet_strings *s);
SL_INLINE size_t parquet_strings_bytes(const struct parquet_strings *s)
{
    return s->count ? (size_t)s->offsets[s->count] : 0;
}

/* Short strings are copied 16 bytes at a time, over their end: both sides must have 16 bytes more. */
SL_INLINE void parquet_copy_short(uint8_t *to, const uint8_t *from, size_t len)
{
    if (SL_UNLIKELY(len > 64)) {
        memcpy(to, from, len);
        return;
    }
    size_t at = 0;
    do {
        memcpy(to + at, from + at, 16);
        at += 16;
    } while (at < len);
}

/* Values of DELTA_BYTE_ARRAY as they are joined, one behind the other. */
struct front_coded {
    const uint8_t *begin, *end; /* of the page: what may be read */
    const uint8_t *p;           /* the next suffix */
    const uint8_t *last;        /* the value before; READ_PAD bytes from its start on may be read */
    uint8_t *to; /* where the next value goes; READ_PAD bytes more than values take may be written */
    int32_t at;  /* the same as an offset */
};
SL_INLINE void front_coded_step(struct front_coded *f, size_t prefix, size_t suffix, int32_t *end)
{
    f->last = f->to;
    f->to += prefix + suffix;
    f->p += suffix;
    f->at += (int32_t)(prefix + suffix);
    *end = f->at;
}

/* The value section of a page. */
struct parquet_values {
    enum parquet_physical physical;
    size_t width; /* of fixed-width physical values */
    int encoding;
    const uint8_t *begin, *p, *end;
    struct parquet_hybrid hybrid; /* dictionary indexes; RLE booleans */
    struct parquet_delta delta;   /* DELTA_BINARY_PACKED values, lengths, prefix lengths */
    struct parquet_delta suffix;  /* DELTA_BYTE_ARRAY: suffix lengths */
    sl_buf previous;              /* DELTA_BYTE_ARRAY: the last value */
    bool carry_over;              /* ... which the first value of the next page builds upon, too */
    size_t bit;                   /* PLAIN booleans: next bit */
    size_t split_at, split_count; /* BYTE_STREAM_SPLIT */
};
SL_INLINE bool parquet_values_are_indexes(const struct parquet_values *v)
{
    return v->encoding == PARQUET_PLAIN_DICTIONARY || v->encoding == PARQUET_RLE_DICTIONARY;
}
SL_MUST_USE sl_status parquet_values_init(struct parquet_values *v, enum parquet_physical physical,
                                          size_t width, int encoding, const uint8_t *data, size_t len);
SL_MUST_USE sl_status parquet_values_fixed(struct parquet_values *v, uint8_t *out, size_t count);
SL_MUST_USE sl_status parquet_values_bools(struct parquet_values *v, uint8_t *out,
                                           size_t count); /* a byte each */
SL_MUST_USE sl_status parquet_values_strings(struct parquet_values *v, struct parquet_strings *out,
                                             size_t count);
SL_MUST_USE sl_status parquet_values_indexes(struct parquet_values *v, uint32_t *out, size_t count,
                                             uint32_t limit);
/* ... of DELTA_BYTE_ARRAY */
SL_MUST_USE sl_status parquet_values_delta_byte_array(struct parquet_values *v, struct parquet_strings *out,
                                                      size_t count);
SL_MUST_USE sl_status parquet_values_skip(struct parquet_values *v, size_t count);
SL_MUST_USE sl_status parquet_values_too_short(const struct parquet_values *v, size_t missing);
void parquet_values_free(struct parquet_values *v);

/* `width`: of the physical values. */
SL_MUST_USE sl_status parquet_convert(enum parquet_conversion conversion, const uint8_t *in, size_t width,
                                      size_t count, uint8_t *out);
SL_MUST_USE sl_status parquet_convert_strings(const struct parquet_strings *in, size_t count, uint8_t *out);

/* ---- leaves -------------------------------------------------------------------------------------------- */

struct parquet_dictionary {
    bool present;
    uint32_t count;
    uint8_t *values; /* fixed width, converted */
    struct parquet_strings strings;
    size_t longest;  /* bytes of the longest string */
    sl_array *array; /* strings as an array, made when a batch wants it; then the memory is the array's */
};
struct parquet_leaf_reader {
    struct sl_parquet *parquet;
    const struct parquet_leaf *leaf;
    bool keep_dictionary;
    sl_parquet_memory *memory; /* borrowed from the scan */
    size_t group;
    const struct parquet_column_chunk *chunk;
    struct parquet_pages pages;
    struct parquet_dictionary dictionary;
    uint64_t dictionary_at, dictionary_end; /* a dictionary page that no page needed so far; 0: none */
    struct parquet_offset_index index;      /* lives in index_arena */
    sl_arena *index_arena;
    bool index_tried;
    int64_t row;         /* row of the group at which the next page starts, where known (flat, or by index) */
    int64_t values_left; /* of the chunk, in pages not yet opened */
    /* the current page */
    int64_t page_left; /* levels not yet decoded */
    struct parquet_hybrid def, rep;
    struct parquet_values values;
    /* levels of nested leaves, decoded but not yet taken */
    uint8_t stage_def[READ_BLOCK], stage_rep[READ_BLOCK];
    size_t stage_at, stage_count;
    bool inside_row; /* nested: the next level may continue a row that was begun */
    bool every_page; /* no page may be passed over: the next builds upon it */
    /* the batch */
    int64_t slots;     /* values so far, nulls included (nested: without) */
    int64_t used;      /* values so far without nulls */
    uint8_t *validity; /* flat nullable leaves */
    size_t validity_cap;
    uint8_t *fixed;   /* fixed-width values, or dictionary indexes */
    size_t fixed_cap; /* bytes */
    struct parquet_strings strings;
    size_t text_bytes;                /* of the batch before */
    bool as_indexes;                  /* this batch holds dictionary indexes so far */
    uint8_t *levels_def, *levels_rep; /* nested: the batch's levels */
    size_t level_count, level_cap;
    size_t level_max;          /* of a batch; 0: none */
    bool levels_full;          /* the batch failed for want of room below level_max */
    uint32_t *scratch_indexes; /* READ_BLOCK */
    uint8_t *scratch;          /* READ_BLOCK physical values */
    struct parquet_strings scratch_strings;
};
struct parquet_step {
    int64_t skip, take; /* rows */
};
/* leaf_append.c: the next `count` values of the page behind the batch's; fixed-width values of a page or a dictionary that
 * has no indexes, in the array's layout. */
SL_MUST_USE sl_status parquet_leaf_append(struct parquet_leaf_reader *r, size_t count);
SL_MUST_USE sl_status parquet_leaf_fixed(struct parquet_leaf_reader *r, struct parquet_values *v,
                                         uint8_t *out, size_t count);
/* leaf_pages.c: opens the next data page that is not wholly among the next *skip rows (NULL: none are skipped), which are
 * left out; *found false at the end of the chunk. */
SL_MUST_USE sl_status parquet_leaf_next_page(struct parquet_leaf_reader *r, int64_t *skip, bool *found);
SL_MUST_USE sl_status parquet_leaf_open_dictionary(struct parquet_leaf_reader *r, bool selective);
SL_MUST_USE sl_status parquet_chunk_too_short(void);
/* leaf_nested.c: the next `rows` rows, kept or dropped. */
SL_MUST_USE sl_status parquet_leaf_read_nested(struct parquet_leaf_reader *r, int64_t rows, bool keep);

void parquet_leaf_reader_init(struct parquet_leaf_reader *r, struct sl_parquet *parquet,
                              const struct parquet_leaf *leaf, bool keep_dictionary,
                              sl_parquet_memory *memory);
/* Goes to the start of a row group. Its dictionary is read at once, as it tells how long values may be; with `selective`,
 * when the first page needs it, and maybe none of the wanted ones does. */
SL_MUST_USE sl_status parquet_leaf_open_group(struct parquet_leaf_reader *r, size_t group, bool selective);
/* Loads the page index of the open chunk if it can be; for counts only. */
void parquet_leaf_know_pages(struct parquet_leaf_reader *r);
/* One batch: `steps` in order, `rows` taken in all. */
SL_MUST_USE sl_status parquet_leaf_read(struct parquet_leaf_reader *r, const struct parquet_step *steps,
                                        size_t count, int64_t rows);
void parquet_leaf_reader_free(struct parquet_leaf_reader *r);
/* The array of a column from what its leaves read; takes their buffers. `readers`: those of the node's
 * leaves. */
SL_MUST_USE sl_status parquet_assemble(const struct parquet_node *node,
                                       struct parquet_leaf_reader *const *readers, int64_t rows,
                                       sl_array **out);
/* A value of PLAIN bytes (statistics) as a one-row array. */
SL_MUST_USE sl_status parquet_single_value(const struct parquet_leaf *leaf, const uint8_t *data, size_t len,
                                           sl_array **out);
/* The bounds in `s` that may be trusted, as one-row arrays; *out must be zeroed. */
SL_MUST_USE sl_status parquet_find_bounds(const struct sl_parquet *p, size_t leaf,
                                          const struct parquet_statistics *s, struct sl_parquet_bounds *out);
/* The offset index of a chunk; no pages when it has none that can be used. Lives in the arena. */
SL_MUST_USE sl_status parquet_offset_index_load(const struct sl_parquet *p, size_t group, size_t leaf,
                                                sl_arena *arena, struct parquet_offset_index *out);
/* The leaf of a top-level column that is one, -1 for nested columns. A column or group that is not there is SL_E_INPUT. */
SL_MUST_USE sl_status parquet_flat_leaf(const struct sl_parquet *p, size_t group, int column, int64_t *leaf);
/* Whether created_by is "NAME version A.B" with (A, B) before (major, minor), or NAME without any version. */
bool parquet_written_before(const char *created_by, const char *name, long major, long minor);
/* A buffer that owns a block; takes it over also on failure. */
SL_MUST_USE sl_status parquet_buffer_take(void *memory, size_t size, sl_buffer **out);

#endif
