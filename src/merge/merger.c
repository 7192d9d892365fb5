/*
 * Cursors and loser tree under one roof, and the gallop: where one source is alone for long, its rows are
 * taken as one stretch, found by exponential search for the runner-up's key instead of a match per row.
 */
#include "merge/merge_int.h"

enum {
    GALLOP_AFTER = 4, /* groups in a row won by one source before a stretch is looked for */
    GALLOP_WORTH = 8, /* a shorter stretch was not worth the search: count again */
};

/* Views may be loaded with any move of a cursor. Until then the tree compares heads of the old ones only. */
static void reload_prefixes(struct merger *m)
{
    for (size_t i = 0; i < m->count; i++)
        cursor_reload_prefixes(&m->cursors[i]);
    if (m->tree)
        loser_tree_reload_prefixes(m->tree);
    m->space.shrunk = false;
}

static sl_status settle_gathers(struct merger *m)
{
    for (size_t i = 0; i < m->gather_count; i++)
        SL_TRY(gather_settle(&m->gathers[i]));
    return SL_OK;
}

static sl_status next_view(void *context, size_t source)
{
    struct merger *m = context;
    struct cursor *c = &m->cursors[source];
    if (c->view)
        SL_TRY(settle_gathers(m));
    SL_TRY(merger_offer(m, source));
    SL_TRY(cursor_next_view(c));
    m->plain[source] = plain_rows_of(&m->plan, c->view);
    if (m->space.shrunk)
        reload_prefixes(m);
    return SL_OK;
}

/* All sources' first rows at once: most of what their keys have in common is known before the tree is built. A source that
 * may have rows to copy comes last: which of them are below all others is known then. */
static sl_status prime_cursors(struct merger *m)
{
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < m->count; i++)
        if (last == SIZE_MAX && m->cursors[i].run.copy.offer)
            last = i;
        else
            SL_TRY(cursor_prime(&m->cursors[i]));
    if (last != SIZE_MAX) {
        SL_TRY(merger_offer(m, last));
        SL_TRY(cursor_prime(&m->cursors[last]));
    }
    if (m->space.shrunk)
        reload_prefixes(m);
    return SL_OK;
}

static sl_status last_repeats(void *context, size_t source, bool *repeats)
{
    struct merger *m = context;
    return cursor_last_repeats(&m->cursors[source], repeats);
}

static void close_streams(const struct sl_run *runs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sl_stream_close(runs[i].rows);
}

sl_status merger_open(struct merger *m, const struct sl_run *runs, size_t count,
                      const struct sl_merge_options *options, struct gather *gathers, size_t gather_count,
                      struct sl_merge_counts *counts)
{
    *m = (struct merger){.gathers = gathers, .gather_count = gather_count};
    m->counts = counts ? counts : &m->own_counts;
    *m->counts = (struct sl_merge_counts){0};
    m->last_source = SIZE_MAX;
    sl_status status = merge_plan_init(&m->plan, options);
    if (status == SL_OK && (!(m->cursors = sl_calloc(count ? count : 1, sizeof *m->cursors)) ||
                            !(m->heads = sl_calloc(count ? count : 1, sizeof *m->heads)) ||
                            !(m->plain = sl_calloc(count ? count : 1, sizeof *m->plain))))
        status = sl_nomem();
    if (status != SL_OK) {
        close_streams(runs, count);
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        sl_status opened = status == SL_OK
                               ? cursor_open(&m->cursors[i], &runs[i], &m->plan, &m->space, &m->heads[i])
                               : SL_OK;
        if (status != SL_OK)
            sl_stream_close(runs[i].rows);
        else
            m->count = i + 1;
        if (opened != SL_OK)
            status = opened;
    }
    for (size_t i = 0; i < gather_count && status == SL_OK; i++)
        status = gather_init(&gathers[i], (int)i, &m->plan);
    if (status == SL_OK)
        status = prime_cursors(m);
    if (status == SL_OK)
        status = sl_loser_tree_new(m->heads, count, next_view, last_repeats, m, &m->tree);
    return status;
}

void merger_close(struct merger *m)
{
    for (size_t i = 0; i < m->gather_count; i++) /* before the cursors: their views go back to them */
        gather_free(&m->gathers[i]);
    sl_loser_tree_free(m->tree);
    for (size_t i = 0; i < m->count; i++)
        cursor_close(&m->cursors[i]);
    sl_free(m->cursors);
    sl_free(m->heads);
    sl_free(m->plain);
    sl_buf_free(&m->space.common);
    merge_plan_free(&m->plan);
    *m = (struct merger){0};
}

void merger_count(struct merger *m)
{
    struct sl_merge_counts *n = m->counts;
    n->rows_in = n->deletes_in = 0;
    for (size_t i = 0; i < m->count; i++) {
        n->rows_in += (uint64_t)m->cursors[i].rows_loaded;
        n->deletes_in += m->cursors[i].deletes_loaded;
    }
    n->comparisons = sl_loser_tree_comparisons(m->tree);
}

/* Shortens [the cursor's row, end) so that every row is a group of its own, and all are deletes or none is. */
static sl_status limit_to_singles(struct cursor *c, int64_t *end)
{
    const struct view *v = c->view;
    int64_t row = c->at->row;
    if (v->has_repeats)
        *end = bitmap_next(v->repeats, row, *end, true);
    if (v->has_deletes && *end > row)
        *end = bitmap_next(v->deletes, row, *end, !bit_get(v->deletes, row));
    if (*end == v->rows) {
        bool repeats;
        SL_TRY(cursor_last_repeats(c, &repeats));
        *end -= repeats;
    }
    return SL_OK;
}

/* The end of the rows from the champion's on that are below all other sources. */
static int64_t gallop(struct merger *m, const struct cursor *c)
{
    int64_t end = view_rows_below(c->view, c->at->row, sl_loser_tree_runner_up(m->tree));
    if (end - c->at->row < GALLOP_WORTH)
        m->streak = 0;
    return end;
}

sl_status merger_alone(struct merger *m, size_t source, int64_t *rows)
{
    struct cursor *c = &m->cursors[source];
    *rows = 0;
    if (loser_tree_tied(m->tree)) {
        m->streak = 0;
        return SL_OK;
    }
    m->streak = source == m->last_source ? m->streak + 1 : 1;
    m->last_source = source;
    bool gallops = m->streak >= GALLOP_AFTER || m->count == 1;
    int64_t end = gallops ? gallop(m, c) : c->at->row + 1;
    /* Duplicates of an untouched base, and of a plain insert, are handed through (8.3). */
    bool is_single = c->run.is_base || m->plan.keep_duplicates || (!gallops && head_is_alone(c->at));
    if (!is_single)
        SL_TRY(limit_to_singles(c, &end));
    *rows = end - c->at->row;
    return SL_OK;
}

sl_status merger_complete(struct merger *m, struct view *view, int64_t row, int64_t *rows)
{
    if (row >= view->batch_first + view->batch_rows) {
        if (view->batch) /* picks of it may be pending */
            SL_TRY(settle_gathers(m));
        SL_TRY(view_complete(view, row));
    }
    int64_t loaded = view->batch_first + view->batch_rows - row;
    if (rows && *rows > loaded)
        *rows = loaded;
    return SL_OK;
}

sl_status merger_skip(struct merger *m, size_t source, int64_t rows)
{
    if (rows > 1)
        m->counts->gallop_rows += (uint64_t)rows;
    m->heads[source].row += rows - 1;
    return sl_loser_tree_replay(m->tree);
}

sl_status merger_pop(struct merger *m, struct record *record)
{
    record->view = NULL;
    record->mix = NULL;
    SL_TRY(mix_pool_reserve(m->plan.mixes)); /* for the fold that follows */
    int64_t source = loser_tree_peek(m->tree);
    if (source < 0)
        return sl_loser_tree_next_key(m->tree);
    record_take(record, &m->cursors[source]);
    sl_status status = sl_loser_tree_pop(m->tree);
    if (status != SL_OK)
        record_drop(record);
    return status;
}
