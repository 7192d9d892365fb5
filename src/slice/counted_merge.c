/* A merge whose counts go into the statistics of the read when it ends. */
#include "slice/slice_int.h"

struct counted_merge {
    sl_stream base; /* schema is borrowed from `rows` */
    sl_stream *rows;
    sl_read_stats *stats;
    struct sl_merge_counts counts;
};

static sl_status counted_next(sl_stream *self, sl_batch **out)
{
    return sl_stream_next(((struct counted_merge *)self)->rows, out);
}

static void counted_close(sl_stream *self)
{
    struct counted_merge *m = (struct counted_merge *)self;
    sl_stream_close(m->rows);
    atomic_fetch_add(&m->stats->rows_merged, m->counts.rows_in);
    atomic_fetch_add(&m->stats->comparisons, m->counts.comparisons);
    atomic_fetch_add(&m->stats->gallop_rows, m->counts.gallop_rows);
    sl_free(m);
}

sl_status slice_merge_open(const struct sl_run *runs, size_t count, const struct sl_merge_options *rules,
                           struct sl_merge_counts *counts, sl_read_stats *stats, sl_stream **out)
{
    struct counted_merge *m = NULL;
    if (counts || !stats)
        return sl_merge_open(runs, count, rules, counts, out);
    if (!(m = sl_calloc(1, sizeof *m))) {
        for (size_t i = 0; i < count; i++)
            sl_stream_close(runs[i].rows);
        return sl_nomem();
    }
    sl_status status = sl_merge_open(runs, count, rules, &m->counts, &m->rows);
    if (status) {
        sl_free(m);
        return status;
    }
    m->base = (sl_stream){m->rows->schema, counted_next, counted_close};
    m->stats = stats;
    *out = &m->base;
    return SL_OK;
}
