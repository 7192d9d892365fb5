/*
 * The page index of a chunk (spec/parquet.md 6). The offset index says where pages lie and which rows they hold, the
 * column index what values. Both are hints that another program wrote: they are used only where they agree with the
 * chunk and with each other; one that does not is warned of and counted, and otherwise as good as absent.
 */
#include "parquet/read_int.h"

/* A broken index is found again and again, as scans come by, and seldom comes alone: one warning a file is enough. */
static void ignore_index(const struct sl_parquet *p, size_t group, size_t leaf)
{
    if (atomic_fetch_add(p->ignored_indexes, 1) == 0 && p->runtime)
        sl_warn(p->runtime,
                "%s, row group %zu, column %s: the page index is damaged or contradicts the pages; read "
                "without it",
                sl_file_path(p->file), group, p->schema.leaves[leaf].path);
}

/* A piece of the file that the footer points to; *data NULL when it cannot be there. */
static sl_status read_piece(const struct sl_parquet *p, int64_t offset, int32_t length, sl_arena *arena,
                            const uint8_t **data)
{
    *data = NULL;
    if (offset < 4 || length <= 0 || (uint64_t)offset >= p->data_end ||
        (uint64_t)length > p->data_end - (uint64_t)offset)
        return SL_OK;
    uint8_t *piece = sl_arena_alloc(arena, (size_t)length);
    if (!piece)
        return sl_nomem();
    SL_TRY(sl_file_read_at(p->file, (uint64_t)offset, piece, (size_t)length));
    *data = piece;
    return SL_OK;
}

/* Lets a corrupt index pass as *usable false; other failures remain. */
static sl_status tolerate(sl_status status, bool *usable)
{
    *usable = !status;
    if (sl_status_code(status) != SL_E_CORRUPT)
        return status;
    (void)sl_status_ignore(status);
    return SL_OK;
}

/* ---- offset index -------------------------------------------------------------------------------------- */

static bool offsets_are_sound(const struct parquet_offset_index *index, uint64_t start, uint64_t end,
                              int64_t rows)
{
    for (size_t i = 0; i < index->page_count; i++) {
        const struct parquet_page_location *page = &index->pages[i];
        if (page->offset < 4 || page->compressed_size <= 0 || (uint64_t)page->offset < start ||
            (uint64_t)page->offset >= end || (uint64_t)page->compressed_size > end - (uint64_t)page->offset ||
            page->first_row >= rows)
            return false;
        if (i == 0 ? page->first_row != 0
                   : page->first_row <= page[-1].first_row || page->offset <= page[-1].offset)
            return false;
    }
    return index->page_count > 0;
}

sl_status parquet_offset_index_load(const struct sl_parquet *p, size_t group, size_t leaf, sl_arena *arena,
                                    struct parquet_offset_index *out)
{
    const struct parquet_row_group *g = &p->meta.row_groups[group];
    const struct parquet_column_chunk *chunk = &g->columns[leaf];
    const uint8_t *data;
    uint64_t start, end;
    bool usable;
    *out = (struct parquet_offset_index){0};
    if (chunk->offset_index_offset <= 0 && chunk->offset_index_length <= 0)
        return SL_OK;
    SL_TRY(parquet_chunk_extent(p, &chunk->meta, &start, &end));
    SL_TRY(read_piece(p, chunk->offset_index_offset, chunk->offset_index_length, arena, &data));
    usable = data;
    if (data)
        SL_TRY(tolerate(parquet_offset_index_decode(data, (size_t)chunk->offset_index_length,
                                                    (uint64_t)chunk->offset_index_offset, arena, out),
                        &usable));
    if (usable && offsets_are_sound(out, start, end, g->num_rows))
        return SL_OK;
    if (g->num_rows > 0)
        ignore_index(p, group, leaf);
    *out = (struct parquet_offset_index){0};
    return SL_OK;
}

/* ---- column index -------------------------------------------------------------------------------------- */

static int64_t page_rows(const struct parquet_offset_index *offsets, size_t page, int64_t group_rows)
{
    int64_t end = page + 1 < offsets->page_count ? offsets->pages[page + 1].first_row : group_rows;
    return end - offsets->pages[page].first_row;
}

/* Null counts within their pages, pages of nulls full of them, and the sum what the chunk says. */
static bool nulls_are_sound(const struct parquet_column_index *columns,
                            const struct parquet_offset_index *offsets,
                            const struct parquet_column_meta *meta, int64_t rows)
{
    int64_t sum = 0;
    for (size_t i = 0; i < columns->page_count && columns->null_counts; i++) {
        int64_t nulls = columns->null_counts[i], most = page_rows(offsets, i, rows);
        if (nulls < 0 || nulls > most || (columns->null_pages[i] && nulls != most))
            return false;
        sum += nulls;
    }
    return !columns->null_counts || !meta->has_statistics || !meta->statistics.has_null_count ||
           meta->statistics.null_count == sum;
}

static sl_status load_column_index(const struct sl_parquet *p, size_t group, size_t leaf, sl_arena *arena,
                                   const struct parquet_offset_index *offsets,
                                   struct parquet_column_index *out, bool *usable)
{
    const struct parquet_row_group *g = &p->meta.row_groups[group];
    const struct parquet_column_chunk *chunk = &g->columns[leaf];
    const uint8_t *data;
    *usable = false;
    if (chunk->column_index_offset <= 0 && chunk->column_index_length <= 0)
        return SL_OK;
    SL_TRY(read_piece(p, chunk->column_index_offset, chunk->column_index_length, arena, &data));
    if (data)
        SL_TRY(tolerate(parquet_column_index_decode(data, (size_t)chunk->column_index_length,
                                                    (uint64_t)chunk->column_index_offset, arena, out),
                        usable));
    *usable = *usable && out->page_count == offsets->page_count &&
              nulls_are_sound(out, offsets, &chunk->meta, g->num_rows);
    if (!*usable)
        ignore_index(p, group, leaf);
    return SL_OK;
}

/* ---- bounds of pages ----------------------------------------------------------------------------------- */

static int64_t first_row_of(const struct sl_parquet *p, size_t group)
{
    int64_t first = 0;
    for (size_t i = 0; i < group; i++)
        first += p->meta.row_groups[i].num_rows;
    return first;
}

struct bound_lists {
    sl_builder *min, *max, *max_number;
    bool any, any_number;
};

static sl_status lists_new(const sl_type *type, struct bound_lists *lists)
{
    SL_TRY(sl_builder_new(type, &lists->min));
    SL_TRY(sl_builder_new(type, &lists->max));
    return sl_builder_new(type, &lists->max_number);
}

static sl_status lists_finish(struct bound_lists *lists, struct sl_parquet_page_bounds *out)
{
    if (!lists->any)
        return SL_OK;
    SL_TRY(sl_builder_finish(lists->min, &out->min));
    SL_TRY(sl_builder_finish(lists->max, &out->max));
    return lists->any_number ? sl_builder_finish(lists->max_number, &out->max_number) : SL_OK;
}

static void lists_free(struct bound_lists *lists)
{
    sl_builder_free(lists->min);
    sl_builder_free(lists->max);
    sl_builder_free(lists->max_number);
}

static sl_status add_bound(sl_builder *list, const sl_array *bound)
{
    return bound ? sl_builder_append_range(list, bound, 0, 1) : sl_builder_null(list);
}

static sl_status add_bounds(struct bound_lists *lists, struct sl_parquet_bounds *bounds)
{
    lists->any = lists->any || bounds->has_bounds;
    lists->any_number = lists->any_number || bounds->max_number;
    SL_TRY(add_bound(lists->min, bounds->min));
    SL_TRY(add_bound(lists->max, bounds->max));
    return add_bound(lists->max_number, bounds->max_number);
}

static sl_status add_page(const struct sl_parquet *p, size_t leaf, const struct parquet_column_index *columns,
                          size_t i, struct bound_lists *lists, struct sl_parquet_page_info *page)
{
    struct sl_parquet_bounds bounds = {0};
    sl_status status = SL_OK;
    page->has_null_count = columns->null_counts || columns->null_pages[i];
    page->null_count = columns->null_pages[i] ? page->rows
                       : columns->null_counts ? columns->null_counts[i]
                                              : 0;
    if (!columns->null_pages[i]) {
        struct parquet_statistics s = {
            .min_value = columns->min_values[i],
            .max_value = columns->max_values[i],
            .has_nan_count = columns->nan_counts,
            .nan_count = columns->nan_counts ? columns->nan_counts[i] : 0,
        };
        status = parquet_find_bounds(p, leaf, &s, &bounds);
    }
    page->has_bounds = bounds.has_bounds;
    if (!status)
        status = add_bounds(lists, &bounds);
    sl_parquet_bounds_free(&bounds);
    return status;
}

static sl_status add_pages(const struct sl_parquet *p, size_t group, size_t leaf, struct bound_lists *lists,
                           const struct parquet_offset_index *offsets,
                           const struct parquet_column_index *columns, struct sl_parquet_page_bounds *out)
{
    int64_t rows = p->meta.row_groups[group].num_rows, first = first_row_of(p, group);
    SL_NEW_ARRAY(out->pages, offsets->page_count);
    out->page_count = offsets->page_count;
    out->from_index = true;
    for (size_t i = 0; i < out->page_count; i++) {
        out->pages[i].first_row = first + offsets->pages[i].first_row;
        out->pages[i].rows = page_rows(offsets, i, rows);
        SL_TRY(add_page(p, leaf, columns, i, lists, &out->pages[i]));
    }
    out->order = columns->boundary_order == PARQUET_ASCENDING    ? 1
                 : columns->boundary_order == PARQUET_DESCENDING ? -1
                                                                 : 0;
    return SL_OK;
}

/* One entry for the whole row group. */
static sl_status add_group(const struct sl_parquet *p, size_t group, int column, struct bound_lists *lists,
                           struct sl_parquet_page_bounds *out)
{
    struct sl_parquet_bounds bounds = {0};
    int64_t rows = p->meta.row_groups[group].num_rows;
    if (rows == 0)
        return SL_OK;
    SL_NEW(out->pages);
    out->page_count = 1;
    SL_TRY(sl_parquet_column_bounds(p, group, column, &bounds));
    *out->pages = (struct sl_parquet_page_info){
        .first_row = first_row_of(p, group),
        .rows = rows,
        .has_bounds = bounds.has_bounds,
        .has_null_count = bounds.has_null_count,
        .null_count = bounds.null_count,
    };
    sl_status status = lists->min ? add_bounds(lists, &bounds) : SL_OK;
    sl_parquet_bounds_free(&bounds);
    return status;
}

static sl_status collect(const struct sl_parquet *p, size_t group, int column, sl_arena *arena,
                         struct bound_lists *lists, struct sl_parquet_page_bounds *out)
{
    int64_t leaf;
    struct parquet_offset_index offsets;
    struct parquet_column_index columns;
    bool usable = false;
    SL_TRY(parquet_flat_leaf(p, group, column, &leaf));
    if (leaf < 0)
        return add_group(p, group, column, lists, out);
    SL_TRY(lists_new(p->schema.leaves[leaf].type, lists));
    SL_TRY(parquet_offset_index_load(p, group, (size_t)leaf, arena, &offsets));
    if (offsets.page_count > 0)
        SL_TRY(load_column_index(p, group, (size_t)leaf, arena, &offsets, &columns, &usable));
    if (!usable)
        return add_group(p, group, column, lists, out);
    return add_pages(p, group, (size_t)leaf, lists, &offsets, &columns, out);
}

sl_status sl_parquet_page_bounds(const sl_parquet *p, size_t group, int column,
                                 struct sl_parquet_page_bounds *out)
{
    struct bound_lists lists = {0};
    sl_arena *arena = NULL;
    sl_status status;
    *out = (struct sl_parquet_page_bounds){0};
    SL_GO(sl_arena_new(&arena));
    SL_GO(collect(p, group, column, arena, &lists, out));
    SL_GO(lists_finish(&lists, out));
done:
    lists_free(&lists);
    sl_arena_free(arena);
    if (status)
        sl_parquet_page_bounds_free(out);
    return sl_context(status, "%s, row group %zu, page index", sl_file_path(p->file), group);
}

void sl_parquet_page_bounds_free(struct sl_parquet_page_bounds *bounds)
{
    sl_free(bounds->pages);
    sl_array_unref(bounds->min);
    sl_array_unref(bounds->max);
    sl_array_unref(bounds->max_number);
    *bounds = (struct sl_parquet_page_bounds){0};
}

sl_status sl_parquet_page_ranges(const struct sl_parquet_page_bounds *bounds, const bool *keep,
                                 sl_row_ranges *ranges)
{
    for (size_t i = 0; i < bounds->page_count; i++)
        if (keep[i])
            SL_TRY(sl_row_ranges_add(ranges, bounds->pages[i].first_row, bounds->pages[i].rows));
    return SL_OK;
}
