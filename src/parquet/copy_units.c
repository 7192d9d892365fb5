/*
 * Copy units: where the pages of all columns begin at the same row, the rows in between can be copied as the pages
 * they are. A chunk whose pages cannot be told from its offset index makes the whole row group one unit.
 */
#include "parquet/copy_int.h"

/* ---- their owner --------------------------------------------------------------------------------------- */

static void pages_free(struct unit_pages *pages)
{
    if (!pages)
        return;
    sl_arena_free(pages->arena);
    sl_free(pages->leaves);
    sl_free(pages);
}

static sl_status units_new(const sl_parquet *p, size_t group, sl_parquet_units **out)
{
    *out = NULL;
    if (group >= p->meta.row_group_count)
        return sl_input("no row group %zu in a file of %zu", group, p->meta.row_group_count);
    SL_NEW(*out);
    **out = (sl_parquet_units){.group = group, .source = p, .refs = 1};
    return SL_OK;
}

sl_parquet_units *sl_parquet_units_ref(sl_parquet_units *units)
{
    units->refs++;
    return units;
}

void sl_parquet_units_unref(sl_parquet_units *units)
{
    if (!units || --units->refs > 0)
        return;
    pages_free(units->pages);
    sl_free(units->rows);
    sl_free(units);
}

/* ---- finding them -------------------------------------------------------------------------------------- */

/* Keeps of the rows in `units` those at which a page of `index` begins. */
static void keep_common(sl_parquet_units *units, const struct parquet_offset_index *index)
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

static sl_status take_pages(sl_parquet_units *units, const struct parquet_offset_index *index, int64_t rows)
{
    SL_NEW_ARRAY(units->rows, index->page_count + 1);
    units->count = index->page_count;
    for (size_t i = 0; i < index->page_count; i++)
        units->rows[i] = index->pages[i].first_row;
    units->rows[units->count] = rows;
    return SL_OK;
}

static sl_status take_whole(sl_parquet_units *units)
{
    int64_t rows = units->source->meta.row_groups[units->group].num_rows;
    pages_free(units->pages);
    sl_free(units->rows);
    units->pages = NULL;
    SL_NEW_ARRAY(units->rows, 2);
    units->count = rows > 0;
    units->rows[units->count] = rows;
    return SL_OK;
}

/* *told: all leaves have pages to tell. */
static sl_status load_pages(sl_parquet_units *units, bool *told)
{
    const sl_parquet *p = units->source;
    size_t leaves = p->schema.leaf_count;
    *told = leaves > 0;
    SL_NEW(units->pages);
    SL_NEW_ARRAY(units->pages->leaves, leaves + 1);
    SL_TRY(sl_arena_new(&units->pages->arena));
    for (size_t leaf = 0; leaf < leaves && *told; leaf++) {
        struct source_pages *pages = &units->pages->leaves[leaf];
        SL_TRY(source_pages_load(p, units->group, leaf, units->pages->arena, pages));
        *told = pages->index.page_count > 0;
    }
    return SL_OK;
}

static sl_status find_units(sl_parquet_units *units)
{
    const sl_parquet *p = units->source;
    bool told;
    SL_TRY(load_pages(units, &told));
    if (!told)
        return take_whole(units);
    const struct source_pages *leaves = units->pages->leaves;
    SL_TRY(take_pages(units, &leaves->index, p->meta.row_groups[units->group].num_rows));
    for (size_t leaf = 1; leaf < p->schema.leaf_count; leaf++)
        keep_common(units, &leaves[leaf].index);
    return SL_OK;
}

static sl_status units_open(const sl_parquet *p, size_t group, sl_status (*find)(sl_parquet_units *units),
                            sl_parquet_units **out)
{
    SL_TRY(units_new(p, group, out));
    sl_status status = find(*out);
    if (!status)
        return SL_OK;
    sl_parquet_units_unref(*out);
    *out = NULL;
    return sl_context(status, "%s, row group %zu, page index", sl_file_path(p->file), group);
}

sl_status sl_parquet_units_load(const sl_parquet *p, size_t group, sl_parquet_units **out)
{
    return units_open(p, group, find_units, out);
}

sl_status sl_parquet_units_whole(const sl_parquet *p, size_t group, sl_parquet_units **out)
{
    return units_open(p, group, take_whole, out);
}
