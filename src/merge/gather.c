/*
 * Survivors are noted as segments (view, first row, count) and copied later, column by column: one column's
 * builder and sources stay in the cache, and neighbouring rows of one source are one memcpy per buffer.
 */
#include "merge/merge_int.h"
#include <assert.h>

enum { SEGMENTS_MAX = 4096 };
/* Keeps string offsets far from 2^31 whatever the rows hold; a batch of ordinary rows never gets there. */
#define BATCH_BYTES_MAX ((size_t)64 << 20)

sl_status gather_init(struct gather *g, const sl_type *schema, int64_t batch_rows)
{
    *g = (struct gather){.batch_rows = batch_rows};
    SL_NEW_ARRAY(g->segments, SEGMENTS_MAX);
    return sl_batch_builder_init(&g->builder, schema);
}

static void drop_segments(struct gather *g)
{
    for (size_t i = 0; i < g->segment_count; i++)
        view_unref(g->segments[i].view);
    g->segment_count = 0;
}

void gather_free(struct gather *g)
{
    drop_segments(g);
    sl_free(g->segments);
    g->segments = NULL;
    sl_batch_unref(g->whole);
    g->whole = NULL;
    sl_batch_builder_free(&g->builder);
    g->builder = (sl_batch_builder){0};
}

bool gather_full(const struct gather *g)
{
    return g->whole || g->rows >= g->batch_rows || g->bytes >= BATCH_BYTES_MAX;
}

int64_t gather_room(const struct gather *g, const struct view *view)
{
    if (gather_full(g))
        return 0;
    int64_t rows = g->batch_rows - g->rows;
    size_t by_bytes = (BATCH_BYTES_MAX - g->bytes) / view->row_bytes + 1;
    return by_bytes < (size_t)rows ? (int64_t)by_bytes : rows;
}

sl_status gather_add(struct gather *g, struct view *view, int64_t first, int64_t count)
{
    assert(!g->whole && count > 0 && count <= gather_room(g, view));
    g->rows += count;
    g->bytes += (size_t)count * view->row_bytes;
    if (g->segment_count) {
        struct segment *last = &g->segments[g->segment_count - 1];
        if (last->view == view && last->first + last->count == first) {
            last->count += count;
            return SL_OK;
        }
    }
    if (g->segment_count == SEGMENTS_MAX)
        SL_TRY(gather_settle(g));
    g->segments[g->segment_count++] = (struct segment){view_ref(view), first, count};
    return SL_OK;
}

void gather_whole(struct gather *g, struct view *view)
{
    assert(g->rows == 0 && !g->whole);
    g->whole = sl_batch_ref(view->batch);
    g->rows = view->rows;
}

sl_status gather_settle(struct gather *g)
{
    if (!g->segment_count)
        return SL_OK;
    for (size_t c = 0; c < g->builder.schema->field_count; c++) {
        sl_builder *column = g->builder.columns[c];
        for (size_t i = 0; i < g->segment_count; i++) {
            const struct segment *s = &g->segments[i];
            SL_TRY_CTX(sl_builder_append_range(column, s->view->batch->columns[c], s->first, s->count),
                       "column %s", g->builder.schema->fields[c].name);
        }
    }
    drop_segments(g);
    return SL_OK;
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
        SL_TRY(sl_batch_builder_finish(&g->builder, out));
    }
    g->rows = 0;
    g->bytes = 0;
    return SL_OK;
}
