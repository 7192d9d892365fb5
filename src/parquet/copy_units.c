/*
 * Copy units: where the pages of all columns begin at the same row, the rows in between can be copied as the pages
 * they are. A chunk whose pages cannot be told from its offset index makes the whole row group one unit.
 */
#include "parquet/copy_int.h"

/* Keeps of the rows in `units` those at which a page of `index` begins. */
static void keep_common(struct sl_parquet_units *units, const struct parquet_offset_index *index)
{
    size_t kept = 0, page = 0;
    for (size_t i = 0; i < units->count; i++) {
        while (page < index->page_count && index->pages[page].first_row < units->rows[i])
            page++;
        if (page < index->page_count && index->pages[page].first_row == units->rows[i])
            units->rows[kept++] = units->rows[i];
    }
    units->rows[kept] = units->rows[units->count];
    units->count = kept;
}

static sl_status take_pages(struct sl_parquet_units *units, const struct parquet_offset_index *index,
                            int64_t group_rows)
{
    SL_NEW_ARRAY(units->rows, index->page_count + 1);
    units->count = index->page_count;
    for (size_t i = 0; i < index->page_count; i++)
        units->rows[i] = index->pages[i].first_row;
    units->rows[units->count] = group_rows;
    return SL_OK;
}

static sl_status whole_group(struct sl_parquet_units *units, int64_t group_rows)
{
    sl_free(units->rows);
    SL_NEW_ARRAY(units->rows, 2);
    units->count = group_rows > 0;
    units->rows[units->count] = group_rows;
    return SL_OK;
}

static sl_status find_units(const sl_parquet *p, size_t group, sl_arena *arena, struct sl_parquet_units *out)
{
    int64_t rows = p->meta.row_groups[group].num_rows;
    for (size_t leaf = 0; leaf < p->schema.leaf_count; leaf++) {
        struct source_pages pages;
        sl_arena_reset(arena);
        SL_TRY(source_pages_load(p, group, leaf, arena, &pages));
        if (pages.index.page_count == 0)
            return whole_group(out, rows);
        if (leaf > 0)
            keep_common(out, &pages.index);
        else
            SL_TRY(take_pages(out, &pages.index, rows));
    }
    return out->rows ? SL_OK : whole_group(out, rows);
}

sl_status sl_parquet_copy_units(const sl_parquet *p, size_t group, struct sl_parquet_units *out)
{
    sl_arena *arena;
    *out = (struct sl_parquet_units){0};
    if (group >= p->meta.row_group_count)
        return sl_input("no row group %zu in a file of %zu", group, p->meta.row_group_count);
    SL_TRY(sl_arena_new(&arena));
    sl_status status = find_units(p, group, arena, out);
    sl_arena_free(arena);
    if (status)
        sl_parquet_units_free(out);
    return sl_context(status, "%s, row group %zu, page index", sl_file_path(p->file), group);
}

void sl_parquet_units_free(struct sl_parquet_units *units)
{
    sl_free(units->rows);
    *units = (struct sl_parquet_units){0};
}
