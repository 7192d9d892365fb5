/*
 * Survivors are noted as picks (view, first row, count) and copied later, column by column: one column's builder and
 * sources stay in the cache, what kind of values they are is decided once, and neighbouring rows of one source
 * are one memcpy per buffer.
 */
#include "merge/merge_int.h"
#include <assert.h>

enum {
    PICKS_MAX = 16384,
    POOL_ROWS = 2048, /* fewer pending rows are not worth waking threads for */
};
/* Keeps string offsets far from 2^31 whatever the rows hold; a batch of ordinary rows never gets there. */
#define BATCH_BYTES_MAX    ((size_t)64 << 20)
#define BATCH_BYTES_LEAST  ((size_t)256 << 10)
#define BATCH_BUDGET_SHARE 64

sl_status gather_init(struct gather *g, int number, const struct merge_plan *plan)
{
    *g = (struct gather){.number = number,
                         .batch_rows = plan->batch_rows,
                         .pool = plan->pool,
                         .keep_dictionaries = plan->keep_dictionaries};
    g->batch_bytes = sl_budget_share(plan->runtime ? plan->runtime->budget : NULL, BATCH_BUDGET_SHARE,
                                     BATCH_BYTES_LEAST, BATCH_BYTES_MAX);
    SL_NEW_ARRAY(g->picks, PICKS_MAX);
    SL_TRY(sl_batch_builder_init(&g->builder, plan->schema));
    sl_batch_builder_reuse(&g->builder);
    SL_NEW_ARRAY(g->joined, plan->schema->field_count + 1);
    for (size_t c = 0; g->keep_dictionaries && c < plan->schema->field_count; c++) {
        const sl_type *type = plan->schema->fields[c].type;
        if (type->id == SL_STRING || type->id == SL_BINARY)
            SL_TRY(joined_new(type, g->batch_rows, &g->joined[c]));
    }
    return SL_OK;
}

static void drop_picks(struct gather *g)
{
    for (size_t i = 0; i < g->view_count; i++) {
        g->views[i]->slot[g->number] = -1;
        view_unref(g->views[i]);
    }
    g->view_count = g->pick_count = 0;
    g->pending_rows = 0;
}

void gather_free(struct gather *g)
{
    drop_picks(g);
    sl_free(g->picks);
    sl_free(g->views);
    g->picks = NULL;
    g->views = NULL;
    sl_batch_unref(g->whole);
    g->whole = NULL;
    for (size_t c = 0; g->joined && c < g->builder.schema->field_count; c++)
        joined_free(g->joined[c]);
    sl_free(g->joined);
    g->joined = NULL;
    sl_batch_builder_free(&g->builder);
    g->builder = (sl_batch_builder){0};
    sl_batch_builder_free(&g->mixed_builder);
    g->mixed_builder = (sl_batch_builder){0};
    sl_batch_unref(g->mixed);
    g->mixed = NULL;
}

bool gather_full(const struct gather *g)
{
    return g->whole || g->rows >= g->batch_rows || g->bytes >= g->batch_bytes;
}

int64_t gather_room(const struct gather *g, const struct view *view)
{
    if (gather_full(g))
        return 0;
    int64_t rows = g->batch_rows - g->rows;
    size_t by_bytes = (g->batch_bytes - g->bytes) / view->row_bytes + 1;
    return by_bytes < (size_t)rows ? (int64_t)by_bytes : rows;
}

static sl_status add_view(struct gather *g, struct view *view)
{
    if (g->view_count == g->view_cap) {
        size_t cap = g->view_cap ? g->view_cap * 2 : 16;
        struct view **views = sl_realloc_array(g->views, cap, sizeof *views);
        if (!views)
            return sl_nomem();
        g->views = views;
        g->view_cap = cap;
    }
    view->slot[g->number] = (int32_t)g->view_count;
    g->views[g->view_count++] = view_ref(view);
    return SL_OK;
}

sl_status gather_add(struct gather *g, struct view *view, int64_t first, int64_t count)
{
    assert(!g->whole && count > 0 && count <= gather_room(g, view));
    assert(first >= view->batch_first && first + count <= view->batch_first + view->batch_rows);
    if (g->pick_count == PICKS_MAX)
        SL_TRY(gather_settle(g));
    if (view->slot[g->number] < 0)
        SL_TRY(add_view(g, view));
    g->rows += count;
    g->pending_rows += count;
    g->bytes += (size_t)count * view->row_bytes;
    uint32_t source = (uint32_t)view->slot[g->number];
    first -= view->batch_first;
    struct sl_pick *last = &g->picks[g->pick_count]; /* one behind it */
    if (g->pick_count && last[-1].source == source && last[-1].first + last[-1].count == (uint32_t)first)
        last[-1].count += (uint32_t)count;
    else
        g->picks[g->pick_count++] = (struct sl_pick){source, (uint32_t)first, (uint32_t)count};
    return SL_OK;
}

/* Mixed rows are collected in a batch of their own, which is one more source. */
#define MIXED_ROWS UINT32_MAX

sl_status gather_record(struct gather *g, const struct record *r)
{
    if (!r->mix)
        return gather_add(g, r->view, r->row, 1);
    assert(!g->whole && gather_room(g, r->view) > 0);
    if (g->pick_count == PICKS_MAX)
        SL_TRY(gather_settle(g));
    if (!g->mixed_builder.schema)
        SL_TRY(sl_batch_builder_init(&g->mixed_builder, g->builder.schema));
    SL_TRY(mix_append(r->mix, &g->mixed_builder));
    g->picks[g->pick_count++] = (struct sl_pick){MIXED_ROWS, (uint32_t)g->mixed_rows++, 1};
    g->rows++;
    g->pending_rows++;
    g->bytes += r->view->row_bytes;
    return SL_OK;
}

/* The mixed rows as a batch, whose place among the sources is behind the views. */
static sl_status finish_mixed(struct gather *g)
{
    if (g->mixed_rows == 0)
        return SL_OK;
    SL_TRY(sl_batch_builder_finish(&g->mixed_builder, &g->mixed));
    g->mixed_rows = 0;
    for (size_t i = 0; i < g->pick_count; i++)
        if (g->picks[i].source == MIXED_ROWS)
            g->picks[i].source = (uint32_t)g->view_count;
    return SL_OK;
}

/* The same batch where it has no dictionaries. */
static sl_status plain_batch(sl_batch *batch, sl_batch **out)
{
    bool same = true;
    size_t count = batch->schema->field_count, made = 0;
    sl_array **columns;
    SL_NEW_ARRAY(columns, count + 1);
    sl_status status = SL_OK;
    while (made < count && status == SL_OK) {
        status = sl_array_decode_dictionary(batch->columns[made], &columns[made]);
        if (status == SL_OK) {
            same &= columns[made] == batch->columns[made];
            made++;
        }
    }
    if (status == SL_OK && !same) {
        status = sl_batch_new(batch->schema, batch->rows, columns, out); /* takes the columns over */
        made = 0;
    } else if (status == SL_OK) {
        *out = sl_batch_ref(batch);
    }
    for (size_t i = 0; i < made; i++)
        sl_array_unref(columns[i]);
    sl_free(columns);
    return status;
}

sl_status gather_whole(struct gather *g, struct view *view)
{
    assert(g->rows == 0 && !g->whole && view->batch_rows == view->rows);
    g->rows = view->rows;
    if (!g->keep_dictionaries)
        return plain_batch(view->batch, &g->whole);
    g->whole = sl_batch_ref(view->batch);
    return SL_OK;
}

static sl_status settle_column(void *context, size_t c)
{
    const struct gather *g = context;
    const sl_array *few[16], **sources = few;
    size_t count = g->view_count + (g->mixed != NULL);
    if (count > sizeof few / sizeof *few)
        SL_NEW_ARRAY(sources, count);
    for (size_t i = 0; i < g->view_count; i++)
        sources[i] = g->views[i]->batch->columns[c];
    if (g->mixed)
        sources[g->view_count] = g->mixed->columns[c];
    sl_builder *values = g->builder.columns[c];
    const struct sl_picks picks = {g->picks, g->pick_count, g->pending_rows};
    sl_status status = g->joined[c] ? joined_append(g->joined[c], values, sources, count, &picks)
                                    : sl_builder_append_picks(values, sources, count, &picks);
    if (sources != few)
        sl_free(sources);
    return sl_context(status, "column %s", g->builder.schema->fields[c].name);
}

sl_status gather_settle(struct gather *g)
{
    if (!g->pick_count)
        return SL_OK;
    SL_TRY(finish_mixed(g));
    SL_TRY(sl_pool_for(g->pick_count >= POOL_ROWS ? g->pool : NULL, g->builder.schema->field_count,
                       settle_column, g));
    drop_picks(g);
    sl_batch_unref(g->mixed);
    g->mixed = NULL;
    return SL_OK;
}

static sl_status finish_columns(struct gather *g, sl_batch **out)
{
    size_t count = g->builder.schema->field_count, made = 0;
    sl_array **columns;
    SL_NEW_ARRAY(columns, count + 1);
    sl_status status = SL_OK;
    while (made < count && status == SL_OK) {
        sl_builder *values = g->builder.columns[made];
        status = g->joined[made] ? joined_finish(g->joined[made], values, &columns[made])
                                 : sl_builder_finish(values, &columns[made]);
        made += status == SL_OK;
    }
    if (status == SL_OK) {
        status = sl_batch_new(g->builder.schema, g->rows, columns, out); /* takes the columns over */
        made = 0;
    }
    for (size_t i = 0; i < made; i++)
        sl_array_unref(columns[i]);
    sl_free(columns);
    return status;
}

sl_status gather_finish(struct gather *g, sl_batch **out)
{
    *out = NULL;
    if (g->rows == 0)
        return SL_OK;
    if (g->whole) {
        *out = g->whole;
        g->whole = NULL;
    } else {
        SL_TRY(gather_settle(g));
        SL_TRY(finish_columns(g, out));
    }
    g->rows = 0;
    g->bytes = 0;
    return SL_OK;
}
