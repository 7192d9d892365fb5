/*
 * What may be left out before a merge (spec/lsm-layout.md 13).
 *
 * A row may go when that cannot change which version of its key survives. By a predicate on the key every version of the key
 * goes at once: it holds in every source. By other columns it must not: the row that fails may be the one that hides an
 * older row which does not. Except where the key has one version only: pages of a source whose key range meets that of no
 * other source ("alone") are filtered by every column.
 *
 * In logs a key may repeat, and its repetitions may lie on both sides of a page's border: their pages are compared with each
 * other too. Rows of one key inside a base file are handed through as they are (spec/lsm-layout.md 8.3).
 */
#include "slice/slice_int.h"

/* ---- key ranges ---------------------------------------------------------------------------------------- */

struct key_end {
    const uint8_t *data;
    size_t len;
    bool is_infinite; /* below everything as a lower end, above everything as an upper one */
};

/* A set of neighbouring rows of one source. */
struct key_page {
    int64_t first, rows;
    struct key_end lo, hi;
    size_t owner; /* pages of one owner do not meet each other */
};

/* Prefix i of the pages by lower end: the page that reaches highest, and the highest of another owner. */
struct reach {
    struct key_end hi, other_hi;
    size_t owner;
    bool any, any_other;
};

struct pruning {
    const sl_table *table;
    const struct sl_row_filter *filter;
    struct slice_input *sources;
    size_t count;
    sl_read_stats *stats;
    struct sl_parquet_page_bounds *bounds; /* that the ends of the pages point into */
    size_t bounds_count, bounds_cap;
    struct key_page *pages; /* source by source */
    size_t page_count, page_cap;
    size_t *first_page;     /* of a source; one entry more at the end */
    struct key_page *by_lo; /* the pages by lower end */
    struct reach *reaches;
};

static void pruning_free(struct pruning *p)
{
    for (size_t i = 0; i < p->bounds_count; i++)
        sl_parquet_page_bounds_free(&p->bounds[i]);
    sl_free(p->bounds);
    sl_free(p->pages);
    sl_free(p->first_page);
    sl_free(p->by_lo);
    sl_free(p->reaches);
}

static int compare_keys(const struct key_end *a, const struct key_end *b)
{
    return bytes_compare(a->data, a->len, b->data, b->len);
}

static bool not_above(const struct key_end *lo, const struct key_end *hi)
{
    return lo->is_infinite || hi->is_infinite || compare_keys(lo, hi) <= 0;
}

static sl_status add_page(struct pruning *p, const struct key_page *page)
{
    SL_GROW(p->pages, p->page_count, p->page_cap, 64);
    p->pages[p->page_count++] = *page;
    return SL_OK;
}

static struct key_end end_at(const sl_array *values, size_t page)
{
    struct key_end end = {0};
    end.data = sl_bytes_at(values, (int64_t)page, &end.len);
    return end;
}

static size_t owner_of(const struct pruning *p, size_t source)
{
    return p->sources[source].is_base ? source : p->count + p->page_count;
}

/* Takes over the bounds. */
static sl_status keep_bounds(struct pruning *p, struct sl_parquet_page_bounds *bounds)
{
    if (p->bounds_count == p->bounds_cap) {
        size_t cap = p->bounds_cap ? p->bounds_cap * 2 : 16;
        struct sl_parquet_page_bounds *grown = sl_realloc_array(p->bounds, cap, sizeof *grown);
        if (!grown) {
            sl_parquet_page_bounds_free(bounds);
            return sl_nomem();
        }
        p->bounds = grown;
        p->bounds_cap = cap;
    }
    p->bounds[p->bounds_count++] = *bounds;
    return SL_OK;
}

static sl_status add_group_pages(struct pruning *p, size_t source, const sl_parquet *file, size_t row_group)
{
    struct sl_parquet_page_bounds b;
    SL_TRY(slice_key_pages(file, row_group, &b));
    SL_TRY(keep_bounds(p, &b));
    for (size_t i = 0; i < b.page_count; i++) {
        struct key_page page = {.first = b.pages[i].first_row,
                                .rows = b.pages[i].rows,
                                .lo = {.is_infinite = true},
                                .hi = {.is_infinite = true},
                                .owner = owner_of(p, source)};
        if (b.pages[i].has_bounds) {
            page.lo = end_at(b.min, i);
            page.hi = end_at(b.max, i);
        }
        SL_TRY(add_page(p, &page));
    }
    return SL_OK;
}

/* A block of an inline log is in memory: its keys are looked through. */
static sl_status add_block_page(struct pruning *p, size_t source, const sl_batch *block)
{
    int column = sl_type_field_index(block->schema, sl_meta_names[SL_META_RECORD_KEY]);
    struct key_page page = {.rows = block->rows,
                            .lo = {.is_infinite = true},
                            .hi = {.is_infinite = true},
                            .owner = owner_of(p, source)};
    for (int64_t i = 0; column >= 0 && i < block->rows; i++) {
        struct key_end key = {0};
        if (!sl_is_valid(block->columns[column], i))
            continue;
        key.data = sl_bytes_at(block->columns[column], i, &key.len);
        if (page.lo.is_infinite || compare_keys(&key, &page.lo) < 0)
            page.lo = key;
        if (page.hi.is_infinite || compare_keys(&key, &page.hi) > 0)
            page.hi = key;
    }
    return block->rows ? add_page(p, &page) : SL_OK;
}

/* ---- who meets whom ------------------------------------------------------------------------------------ */

static int by_lower_end(const void *a, const void *b)
{
    const struct key_page *x = a, *y = b;
    if (x->lo.is_infinite || y->lo.is_infinite)
        return (int)y->lo.is_infinite - (int)x->lo.is_infinite;
    return compare_keys(&x->lo, &y->lo);
}

static bool reaches_higher(const struct key_end *a, const struct key_end *b)
{
    return !b->is_infinite && (a->is_infinite || compare_keys(a, b) > 0);
}

static void extend(struct reach *r, const struct key_page *page)
{
    if (r->any && page->owner == r->owner) {
        if (reaches_higher(&page->hi, &r->hi))
            r->hi = page->hi;
    } else if (!r->any || reaches_higher(&page->hi, &r->hi)) {
        r->other_hi = r->hi;
        r->any_other = r->any;
        r->hi = page->hi;
        r->owner = page->owner;
        r->any = true;
    } else if (!r->any_other || reaches_higher(&page->hi, &r->other_hi)) {
        r->other_hi = page->hi;
        r->any_other = true;
    }
}

static sl_status index_pages(struct pruning *p)
{
    SL_NEW_ARRAY(p->by_lo, p->page_count + 1);
    SL_NEW_ARRAY(p->reaches, p->page_count + 1);
    if (p->page_count)
        memcpy(p->by_lo, p->pages, p->page_count * sizeof *p->by_lo);
    qsort(p->by_lo, p->page_count, sizeof *p->by_lo, by_lower_end);
    for (size_t i = 0; i < p->page_count; i++) {
        p->reaches[i + 1] = p->reaches[i];
        extend(&p->reaches[i + 1], &p->by_lo[i]);
    }
    return SL_OK;
}

/* Whether no page of another owner can hold a key of this one. */
static bool is_alone(const struct pruning *p, const struct key_page *page)
{
    size_t low = 0, high = p->page_count; /* pages that begin at or before its end */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (not_above(&p->by_lo[middle].lo, &page->hi))
            low = middle + 1;
        else
            high = middle;
    }
    const struct reach *r = &p->reaches[low];
    bool any = r->any && r->owner != page->owner ? r->any : r->any_other;
    const struct key_end *hi = r->any && r->owner != page->owner ? &r->hi : &r->other_hi;
    return !any || !not_above(&page->lo, hi);
}

static sl_status alone_and_not(const struct pruning *p, size_t source, sl_row_ranges *alone,
                               sl_row_ranges *shared)
{
    for (size_t i = p->first_page[source]; i < p->first_page[source + 1]; i++) {
        const struct key_page *page = &p->pages[i];
        SL_TRY(sl_row_ranges_add(is_alone(p, page) ? alone : shared, page->first, page->rows));
    }
    return SL_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static sl_status select_rows(const struct pruning *p, const sl_parquet *file, enum sl_prune_reach reach,
                             sl_row_ranges *rows)
{
    for (size_t g = 0; g < sl_parquet_row_groups(file); g++)
        SL_TRY(p->filter->select(p->filter->context, file, g, reach, rows));
    return SL_OK;
}

/* Where the source is alone every column decides, elsewhere the key. */
static sl_status narrow(struct pruning *p, const sl_parquet *file, const sl_row_ranges *alone,
                        const sl_row_ranges *shared, sl_row_ranges *rows)
{
    sl_row_ranges all = {0}, alone_rows = {0}, shared_rows = {0}, narrowed = {0};
    sl_status status = SL_OK;
    SL_GO(select_rows(p, file, SL_PRUNE_ALL, &all));
    SL_GO(sl_row_ranges_intersect(&all, alone, &alone_rows));
    SL_GO(sl_row_ranges_intersect(rows, shared, &shared_rows));
    SL_GO(sl_row_ranges_unite(&alone_rows, &shared_rows, &narrowed));
    if (p->stats)
        atomic_fetch_add(&p->stats->rows_skipped_alone,
                         (uint64_t)(sl_row_ranges_rows(rows) - sl_row_ranges_rows(&narrowed)));
    sl_row_ranges_free(rows);
    *rows = narrowed;
    narrowed = (sl_row_ranges){0};
done:
    sl_row_ranges_free(&all);
    sl_row_ranges_free(&alone_rows);
    sl_row_ranges_free(&shared_rows);
    sl_row_ranges_free(&narrowed);
    return status;
}

static void count_result(const struct pruning *p, const struct slice_input *s, const sl_parquet *file)
{
    if (!p->stats)
        return;
    int64_t first = 0;
    size_t skipped = 0, at = 0, groups = sl_parquet_row_groups(file);
    for (size_t g = 0; g < groups; g++) {
        int64_t end = first + sl_parquet_row_group_rows(file, g);
        while (at < s->rows.count && s->rows.items[at].first + s->rows.items[at].count <= first)
            at++;
        skipped += at == s->rows.count || s->rows.items[at].first >= end;
        first = end;
    }
    atomic_fetch_add(&p->stats->row_groups, groups);
    atomic_fetch_add(&p->stats->row_groups_skipped, skipped);
    atomic_fetch_add(&p->stats->rows_skipped, (uint64_t)(first - sl_row_ranges_rows(&s->rows)));
    if (s->rows.count == 0)
        atomic_fetch_add(&p->stats->files_skipped, 1);
}

static sl_status open_source(const struct pruning *p, const struct slice_input *s, sl_source **out)
{
    if (!s->source)
        return sl_source_open(p->table, s->relative, NULL, out);
    *out = sl_source_ref(s->source);
    return SL_OK;
}

static bool is_base_only(const struct pruning *p) { return p->count == 1 && p->sources[0].is_base; }

/* ---- the steps ----------------------------------------------------------------------------------------- */

/* By the key; and the key ranges, when other columns may decide later. */
static sl_status first_look(struct pruning *p, size_t index, bool with_pages)
{
    struct slice_input *s = &p->sources[index];
    sl_source *source;
    if (!s->relative)
        return with_pages ? add_block_page(p, index, s->block) : SL_OK;
    SL_TRY(open_source(p, s, &source));
    sl_status status =
        select_rows(p, source->parquet, is_base_only(p) ? SL_PRUNE_ALL : SL_PRUNE_KEYS, &s->rows);
    s->is_limited = true;
    for (size_t g = 0; with_pages && g < sl_parquet_row_groups(source->parquet) && !status; g++)
        status = add_group_pages(p, index, source->parquet, g);
    if (!with_pages && !status)
        count_result(p, s, source->parquet);
    sl_source_unref(source);
    return sl_context(status, "file %s", s->relative);
}

static sl_status second_look(struct pruning *p, size_t index)
{
    struct slice_input *s = &p->sources[index];
    sl_row_ranges alone = {0}, shared = {0};
    sl_source *source = NULL;
    sl_status status = SL_OK;
    if (!s->relative)
        return SL_OK;
    SL_GO(alone_and_not(p, index, &alone, &shared));
    SL_GO(open_source(p, s, &source));
    if (alone.count && s->rows.count)
        SL_GO(narrow(p, source->parquet, &alone, &shared, &s->rows));
    count_result(p, s, source->parquet);
done:
    sl_source_unref(source);
    sl_row_ranges_free(&alone);
    sl_row_ranges_free(&shared);
    return sl_context(status, "file %s", s->relative);
}

sl_status slice_prune(const sl_table *table, const struct sl_row_filter *filter, struct slice_inputs *inputs,
                      sl_read_stats *stats)
{
    struct pruning p = {
        .table = table, .filter = filter, .sources = inputs->items, .count = inputs->count, .stats = stats};
    bool with_pages = !is_base_only(&p) && !filter->keys_only;
    sl_status status = SL_OK;
    SL_NEW_ARRAY(p.first_page, p.count + 1);
    for (size_t i = 0; i < p.count; i++) {
        SL_GO(sl_check_cancel(&table->runtime));
        SL_GO(first_look(&p, i, with_pages));
        p.first_page[i + 1] = p.page_count;
    }
    if (with_pages) {
        SL_GO(index_pages(&p));
        for (size_t i = 0; i < p.count; i++) {
            SL_GO(sl_check_cancel(&table->runtime));
            SL_GO(second_look(&p, i));
        }
    }
done:
    pruning_free(&p);
    return status;
}
