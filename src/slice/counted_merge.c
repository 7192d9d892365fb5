/* A merge whose counts go into the statistics of the read, and its memory back to the budget, when it ends. */
#include "slice/slice_int.h"

struct counted_merge {
    sl_stream base; /* schema is borrowed from `rows` */
    sl_stream *rows;
    sl_read_stats *stats; /* NULL: not wanted */
    struct sl_merge_counts *counts, own_counts;
    sl_budget *budget;
    size_t bytes; /* taken from the budget */
    size_t files; /* taken from those that may be open */
};

static void give_back(struct counted_merge *m)
{
    sl_budget_release(m->budget, m->bytes);
    slice_files_give_back(m->files);
    sl_free(m);
}

static sl_status counted_next(sl_stream *self, sl_batch **out)
{
    return sl_stream_next(((struct counted_merge *)self)->rows, out);
}

static void counted_close(sl_stream *self)
{
    struct counted_merge *m = (struct counted_merge *)self;
    sl_stream_close(m->rows);
    if (m->stats) {
        atomic_fetch_add(&m->stats->rows_merged, m->counts->rows_in);
        atomic_fetch_add(&m->stats->comparisons, m->counts->comparisons);
        atomic_fetch_add(&m->stats->gallop_rows, m->counts->gallop_rows);
    }
    give_back(m);
}

/* The stream, or what opening it failed with. */
static sl_status finish(struct counted_merge *m, sl_status status, sl_stream **out)
{
    if (status) {
        give_back(m);
        return status;
    }
    m->base = (sl_stream){m->rows->schema, counted_next, counted_close};
    *out = &m->base;
    return SL_OK;
}

sl_status slice_merge_open_list(const struct sl_run_list *list, const struct open_limit *limit,
                                const struct sl_merge_options *rules, struct sl_merge_counts *counts,
                                sl_read_stats *stats, sl_stream **out)
{
    struct counted_merge *m;
    SL_NEW(m);
    m->stats = stats;
    m->counts = counts ? counts : &m->own_counts;
    m->budget = rules->runtime->budget;
    m->bytes = limit->bytes;
    m->files = slice_runs_take(limit->runs < list->count ? limit->runs : list->count);
    sl_budget_force(m->budget, m->bytes);
    return finish(m, sl_merge_open_list(list, limit->runs, rules, m->counts, &m->rows), out);
}

sl_status slice_merge_open(const struct sl_run *runs, size_t count, const struct sl_merge_options *rules,
                           struct sl_merge_counts *counts, sl_read_stats *stats, sl_stream **out)
{
    struct counted_merge *m = NULL;
    if (!stats)
        return sl_merge_open(runs, count, rules, counts, out);
    if (!(m = sl_calloc(1, sizeof *m))) {
        for (size_t i = 0; i < count; i++)
            sl_stream_close(runs[i].rows);
        return sl_nomem();
    }
    m->stats = stats;
    m->counts = counts ? counts : &m->own_counts;
    return finish(m, sl_merge_open(runs, count, rules, m->counts, &m->rows), out);
}
