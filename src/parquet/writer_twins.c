/*
 * Columns that are one and the same array, as a key is and the column that it was made of: encoded once, stored twice. What
 * holds for a row group's first slice must hold for all of it; when it ends to hold the row group ends too, and the file
 * has no more twins.
 */
#include "parquet/write_int.h"

/* Only of the first columns, where Hudi's own stand: files may have thousands. */
#define TWINS_OF 8

static bool are_the_same(const sl_parquet_writer *w, const struct leaf_writer *a, const struct leaf_writer *b)
{
    for (size_t i = 0; i < w->waiting_count; i++) {
        sl_array *const *columns = w->waiting[i].batch->columns;
        if (columns[a->leaf->column] != columns[b->leaf->column])
            return false;
    }
    return true;
}

static bool are_written_alike(const struct leaf_writer *a, const struct leaf_writer *b)
{
    const struct write_leaf *x = a->leaf, *y = b->leaf;
    const struct leaf_choice *c = a->choice, *d = b->choice;
    return x->flat && y->flat && x->kind == y->kind && x->physical == y->physical && x->width == y->width &&
           x->order == y->order && x->text == y->text && x->max_definition == y->max_definition &&
           c->encoding == d->encoding && c->automatic == d->automatic && c->dictionary == d->dictionary &&
           !c->bloom_filter && !d->bloom_filter;
}

static void find_twins(sl_parquet_writer *w)
{
    for (size_t b = 1; b < w->layout.leaf_count; b++)
        for (size_t a = 0; a < b && a < TWINS_OF && !w->leaves[b].twin; a++)
            if (!w->leaves[a].twin && are_the_same(w, &w->leaves[a], &w->leaves[b]) &&
                are_written_alike(&w->leaves[a], &w->leaves[b]))
                w->leaves[b].twin = &w->leaves[a];
}

sl_status writer_match_twins(sl_parquet_writer *w)
{
    if (w->group_rows == 0) {
        if (!w->twins_parted)
            find_twins(w);
        return SL_OK;
    }
    for (size_t i = 0; i < w->layout.leaf_count; i++)
        if (w->leaves[i].twin && !are_the_same(w, w->leaves[i].twin, &w->leaves[i])) {
            w->twins_parted = true;
            return writer_put_group(w);
        }
    return SL_OK;
}
