/*
 * Whether two columns of a file are stored alike, byte for byte: then one of them need not be read. The key of a table is mostly
 * there twice, as the meta column and as its field, and so is the partition; who encodes them by the same rules writes the same
 * chunks (spec/lsm-layout.md 13).
 */
#include "parquet/read_int.h"

#define COMPARED_BYTES ((size_t)32 << 10) /* at once */

static bool same_types(const struct parquet_leaf *a, const struct parquet_leaf *b)
{
    return a->flat && b->flat && a->element->type == b->element->type && a->type->id == b->type->id &&
           a->output == PARQUET_OUT_BYTES && b->output == PARQUET_OUT_BYTES && a->max_def == b->max_def &&
           a->max_rep == b->max_rep;
}

/* Whether the footer tells them apart. */
static bool same_sizes(const struct parquet_column_meta *a, const struct parquet_column_meta *b)
{
    return a->codec == b->codec && a->num_values == b->num_values &&
           a->total_compressed_size == b->total_compressed_size &&
           a->total_uncompressed_size == b->total_uncompressed_size;
}

static sl_status compare(sl_file *file, uint64_t a, uint64_t b, uint64_t bytes, bool *same)
{
    const uint8_t *map = sl_file_memory(file);
    if (map) {
        *same = memcmp(map + a, map + b, (size_t)bytes) == 0;
        return SL_OK;
    }
    uint8_t *both = sl_malloc(2 * COMPARED_BYTES);
    if (!both)
        return sl_nomem();
    sl_status status = SL_OK;
    for (uint64_t at = 0; at < bytes && *same; at += COMPARED_BYTES) {
        size_t n = bytes - at < COMPARED_BYTES ? (size_t)(bytes - at) : COMPARED_BYTES;
        SL_GO(sl_file_read_at(file, a + at, both, n));
        SL_GO(sl_file_read_at(file, b + at, both + COMPARED_BYTES, n));
        *same = memcmp(both, both + COMPARED_BYTES, n) == 0;
    }
done:
    sl_free(both);
    return status;
}

/* Where a chunk is not inside the file its reader says so. */
static bool find_extents(const sl_parquet *p, const struct parquet_row_group *g, const int64_t *leaves,
                         uint64_t *starts, uint64_t *bytes)
{
    uint64_t ends[2];
    for (size_t i = 0; i < 2; i++)
        if (sl_status_ignore(parquet_chunk_extent(p, &g->columns[leaves[i]].meta, &starts[i], &ends[i])))
            return false;
    *bytes = ends[0] - starts[0];
    return *bytes == ends[1] - starts[1] &&
           g->columns[leaves[0]].meta.data_page_offset - (int64_t)starts[0] ==
               g->columns[leaves[1]].meta.data_page_offset - (int64_t)starts[1];
}

sl_status sl_parquet_same_columns(const sl_parquet *p, int a, int b, uint64_t most, bool *same)
{
    int64_t leaves[2] = {-1, -1};
    uint64_t starts[2], bytes, sum = 0;
    size_t groups = p->meta.row_group_count;
    *same = false;
    for (size_t i = 0; i < 2 && groups > 0; i++)
        SL_TRY(parquet_flat_leaf(p, 0, i ? b : a, &leaves[i]));
    if (leaves[0] < 0 || leaves[1] < 0 ||
        !same_types(&p->schema.leaves[leaves[0]], &p->schema.leaves[leaves[1]]))
        return SL_OK;
    for (size_t g = 0; g < groups; g++) {
        const struct parquet_column_chunk *chunks = p->meta.row_groups[g].columns;
        if (!same_sizes(&chunks[leaves[0]].meta, &chunks[leaves[1]].meta))
            return SL_OK;
        sum += (uint64_t)chunks[leaves[0]].meta.total_compressed_size;
        if (sum > most)
            return SL_OK;
    }
    *same = true;
    for (size_t g = 0; g < groups && *same; g++) {
        *same = find_extents(p, &p->meta.row_groups[g], leaves, starts, &bytes);
        if (*same)
            SL_TRY(compare(p->file, starts[0], starts[1], bytes, same));
    }
    return SL_OK;
}
