/*
 * Which rows of a row group may match (spec/lsm-layout.md 13): its bounds and Bloom filters first, which are in memory or
 * a few bytes, then the bounds of its pages. Pages of different columns end at different rows: each stretch of rows between
 * two borders has one page of every column, and the expression is asked with their bounds. The keys that an expression
 * leaves possible (key_values.c) narrow the rows further.
 */
#include "query/scan_int.h"

struct prune_column {
    const char *name;
    int index; /* in the file */
    const sl_type *type;
    struct sl_parquet_page_bounds pages;
    size_t page; /* that the current stretch lies in */
};

struct prune_group {
    const sl_parquet *file;
    size_t row_group;
    struct prune_column *columns;
    size_t count;
    bool by_page; /* else bounds are those of the row group */
};

/* What a key generator that we do not know makes of a field need not be the same for the same key. */
static bool is_key_column(const struct scan *s, const char *column)
{
    return strcmp(column, sl_meta_names[SL_META_RECORD_KEY]) == 0 ||
           (s->table->keygen_known && sl_strings_contain(&s->table->keygen.record_fields, column));
}

/* Statistics count only when the file stores the column in the type that the expression was bound to. A delete log lacks the
 * key's field; where that is the key itself, the key column serves (single keys are never null or empty). */
static bool find_column(const struct scan *s, const sl_parquet *file, const char *name,
                        struct prune_column *out)
{
    const sl_type *schema = sl_parquet_schema(file);
    int at = sl_type_field_index(schema, name), wanted = sl_type_field_index(s->table_schema, name);
    if (at < 0 && s->key_is_field && strcmp(name, s->table->keygen.record_fields.items[0]) == 0)
        at = sl_type_field_index(schema, sl_meta_names[SL_META_RECORD_KEY]);
    if (at < 0 || wanted < 0 || !sl_type_equal(schema->fields[at].type, s->table_schema->fields[wanted].type))
        return false;
    *out = (struct prune_column){.name = name, .index = at, .type = schema->fields[at].type};
    return true;
}

static sl_status find_columns(const struct scan *s, enum sl_prune_reach reach, struct prune_group *g)
{
    SL_NEW_ARRAY(g->columns, s->where_columns.count + 1);
    for (size_t i = 0; i < s->where_columns.count; i++) {
        const char *name = s->where_columns.items[i];
        if ((reach == SL_PRUNE_ALL || is_key_column(s, name)) &&
            find_column(s, g->file, name, &g->columns[g->count]))
            g->count++;
    }
    return SL_OK;
}

static void group_free(struct prune_group *g)
{
    for (size_t i = 0; i < g->count; i++)
        sl_parquet_page_bounds_free(&g->columns[i].pages);
    sl_free(g->columns);
}

/* ---- what the expression asks -------------------------------------------------------------------------- */

static const struct prune_column *column_named(const struct prune_group *g, const char *name)
{
    for (size_t i = 0; i < g->count; i++)
        if (strcmp(g->columns[i].name, name) == 0)
            return &g->columns[i];
    return NULL;
}

static sl_status page_bounds(const struct sl_parquet_page_bounds *b, int64_t at,
                             struct sl_parquet_bounds *out)
{
    const struct sl_parquet_page_info *page = &b->pages[at];
    *out = (struct sl_parquet_bounds){.has_bounds = page->has_bounds,
                                      .has_null_count = page->has_null_count,
                                      .null_count = page->null_count,
                                      .all_null = page->has_null_count && page->null_count == page->rows};
    if (!page->has_bounds)
        return SL_OK;
    SL_TRY(sl_array_copy(b->min, at, 1, &out->min));
    SL_TRY(sl_array_copy(b->max, at, 1, &out->max));
    return b->max_number ? sl_array_copy(b->max_number, at, 1, &out->max_number) : SL_OK;
}

static bool bounds_of(void *context, const char *name, struct sl_parquet_bounds *out)
{
    const struct prune_group *g = context;
    const struct prune_column *c = column_named(g, name);
    if (!c)
        return false;
    if (!g->by_page)
        return !sl_status_ignore(sl_parquet_column_bounds(g->file, g->row_group, c->index, out));
    if (sl_status_ignore(page_bounds(&c->pages, (int64_t)c->page, out))) {
        sl_parquet_bounds_free(out);
        return false;
    }
    return true;
}

static bool may_contain(void *context, const char *name, const sl_array *value)
{
    const struct prune_group *g = context;
    const struct prune_column *c = column_named(g, name);
    bool may = true;
    if (c && sl_type_equal(c->type, value->type) &&
        sl_status_ignore(sl_parquet_may_contain_value(g->file, g->row_group, c->index, value, 0, &may)))
        return true;
    return may;
}

/* ---- stretches ----------------------------------------------------------------------------------------- */

/* Rows from `row` on that lie in one page of each column. */
static int64_t stretch_at(struct prune_group *g, int64_t row, int64_t end)
{
    for (size_t i = 0; i < g->count; i++) {
        struct prune_column *c = &g->columns[i];
        while (c->page + 1 < c->pages.page_count && c->pages.pages[c->page + 1].first_row <= row)
            c->page++;
        const struct sl_parquet_page_info *page = &c->pages.pages[c->page];
        if (page->first_row + page->rows < end)
            end = page->first_row + page->rows;
    }
    return end - row;
}

static sl_status select_stretches(const struct scan *s, struct prune_group *g, int64_t first, int64_t rows,
                                  sl_row_ranges *out)
{
    bool any_index = false;
    for (size_t i = 0; i < g->count; i++) {
        SL_TRY(sl_parquet_page_bounds(g->file, g->row_group, g->columns[i].index, &g->columns[i].pages));
        any_index = any_index || g->columns[i].pages.page_count > 1;
    }
    if (!any_index)
        return sl_row_ranges_add(out, first, rows);
    g->by_page = true;
    struct sl_expr_facts facts = {bounds_of, NULL, g};
    for (int64_t at = first; at < first + rows;) {
        int64_t count = stretch_at(g, at, first + rows);
        if (sl_expr_may_match_facts(s->where, &facts))
            SL_TRY(sl_row_ranges_add(out, at, count));
        at += count;
    }
    return SL_OK;
}

static sl_status select_by_expression(const struct scan *s, struct prune_group *g, int64_t first,
                                      int64_t rows, sl_row_ranges *out)
{
    struct sl_expr_facts facts = {bounds_of, may_contain, g};
    if (!sl_expr_may_match_facts(s->where, &facts))
        return SL_OK;
    return select_stretches(s, g, first, rows, out);
}

static sl_status select_rows(void *context, const sl_parquet *file, size_t row_group,
                             enum sl_prune_reach reach, sl_row_ranges *rows)
{
    const struct scan *s = context;
    struct prune_group g = {.file = file, .row_group = row_group};
    sl_row_ranges matching = {0}, keyed = {0}, both = {0};
    int64_t first = 0, count = sl_parquet_row_group_rows(file, row_group);
    sl_status status = SL_OK;
    for (size_t i = 0; i < row_group; i++)
        first += sl_parquet_row_group_rows(file, i);
    SL_GO(find_columns(s, reach, &g));
    SL_GO(select_by_expression(s, &g, first, count, s->has_keys ? &matching : rows));
    if (s->has_keys && matching.count) {
        SL_GO(sl_key_set_select(&s->keys, file, row_group, &keyed));
        SL_GO(sl_row_ranges_intersect(&matching, &keyed, &both));
        for (size_t i = 0; i < both.count; i++)
            SL_GO(sl_row_ranges_add(rows, both.items[i].first, both.items[i].count));
    }
done:
    sl_row_ranges_free(&matching);
    sl_row_ranges_free(&keyed);
    sl_row_ranges_free(&both);
    group_free(&g);
    return status;
}

sl_status scan_set_filter(struct scan *s)
{
    if (!s->where)
        return SL_OK;
    s->filter = (struct sl_row_filter){.select = select_rows, .context = s, .keys_only = true};
    SL_TRY(sl_expr_columns(s->where, &s->where_columns));
    for (size_t i = 0; i < s->where_columns.count; i++)
        s->filter.keys_only = s->filter.keys_only && is_key_column(s, s->where_columns.items[i]);
    s->key_is_field = scan_key_is_field(s->table, s->table_schema);
    SL_TRY(scan_key_values(s->table, s->table_schema, s->where, &s->keys, &s->has_keys));
    if (s->has_keys)
        SL_TRY(key_buckets_init(&s->buckets, s->table, &s->keys));
    s->prunes = sl_table_setting_true(s->table, "sluice.scan.pruning", true);
    return SL_OK;
}
