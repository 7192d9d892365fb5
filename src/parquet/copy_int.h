/*
 * Copying rows of another file as they are compressed, inside (spec/parquet.md 12, traps 1 to 3).
 *
 *   writer_copy.c   what may be copied; a row group with its constants
 *   copy_chunk.c    a chunk as a whole: its facts come from the source's footer and indexes
 *   copy_pages.c    some pages of a chunk: its facts are put together from theirs
 *   copy_units.c    where pages of all columns begin at the same row
 *   source_pages.c  the pages of a chunk, checked against their headers
 */
#ifndef SL_PARQUET_COPY_INT_H
#define SL_PARQUET_COPY_INT_H

#include "parquet/read_int.h"
#include "parquet/write_int.h"

struct group_copy {
    sl_parquet_writer *w;
    const sl_parquet *source;
    const struct unit_pages *pages; /* of the row group; not looked at when all of it is copied */
    const struct parquet_row_group *from;
    struct parquet_row_group *to;
    int64_t first, rows; /* of `from` */
    sl_arena *arena;     /* of decoded indexes, reset chunk by chunk */
    sl_buf buffer;
};

/* ---- pages of the source ------------------------------------------------------------------------------- */

/* The pages of a chunk where its offset index says they are, each checked against its own header. */
struct source_pages {
    struct parquet_offset_index index; /* no pages: none that can be used */
    struct parquet_page_header *headers;
    bool has_dictionary; /* in front of the data pages */
    struct parquet_page_header dictionary;
    struct parquet_page_location dictionary_at;
};
SL_INLINE bool uses_dictionary(const struct parquet_page_header *header)
{
    return header->encoding == PARQUET_PLAIN_DICTIONARY || header->encoding == PARQUET_RLE_DICTIONARY;
}
/* Everything lives in the arena. Damage leaves no pages, it is no error: reading may still work. */
SL_MUST_USE sl_status source_pages_load(const sl_parquet *p, size_t group, size_t leaf, sl_arena *arena,
                                        struct source_pages *out);
/* Those of all leaves: looked at once, for what can be copied and for copying it. */
struct unit_pages {
    sl_arena *arena;
    struct source_pages *leaves;
};

/* ---- chunks -------------------------------------------------------------------------------------------- */

/* The whole chunk to the output, its facts into c->to. */
SL_MUST_USE sl_status copy_whole_chunk(struct group_copy *c, size_t leaf);
SL_MUST_USE sl_status copy_bloom(struct group_copy *c, size_t leaf);
/* The pages of the rows [c->first, + c->rows); SL_E_INPUT when they are not a number of whole pages. */
SL_MUST_USE sl_status copy_chunk_pages(struct group_copy *c, size_t leaf);

/* ---- shared -------------------------------------------------------------------------------------------- */

SL_MUST_USE sl_status copy_bytes(struct group_copy *c, uint64_t offset, uint64_t len);
/* A small piece of the source into the buffer; it must lie in front of the footer. */
SL_MUST_USE sl_status copy_read_piece(struct group_copy *c, int64_t offset, int64_t len, const char *what);
/* A copy for as long as the writer lives: the source may be closed before. */
SL_MUST_USE sl_status copy_keep(sl_arena *arena, const void *data, size_t bytes, const void **out);
SL_MUST_USE sl_status copy_key_values(sl_arena *arena, struct parquet_column_meta *meta);
/* Whether the bounds of a leaf mean under our name and column orders what they meant in the source. */
bool copy_order_is_ours(const sl_parquet *source, size_t leaf);
bool copy_bounds_are_sound(const sl_parquet *source, const struct write_leaf *leaf);
SL_MUST_USE sl_status copy_put_offset_index(struct group_copy *c, size_t leaf,
                                            const struct parquet_offset_index *index);
SL_MUST_USE sl_status copy_put_column_index(struct group_copy *c, size_t leaf, const void *data, size_t len);

#endif
