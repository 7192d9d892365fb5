/* The merge as a stream: group by group, survivors gathered into batches, deletes dropped. */
#include "merge/merge_int.h"

struct merge_stream {
    sl_stream base;
    struct merger merger;
    struct gather gathers[GATHERS];
    struct gather *gather; /* of the result: the first */
    struct changes changes;
    bool in_group; /* keep_duplicates: the open group is handed out record by record */
    bool emit;     /* the batch is to be handed out although it is not full */
    bool ended, failed;
};

static bool may_pass_whole(const struct merge_stream *s, const struct cursor *c, int64_t rows)
{
    return c->at->row == 0 && rows == c->view->rows && rows <= s->gather->batch_rows;
}

/* Rows of one source that no other source touches. */
static sl_status take_alone(struct merge_stream *s, size_t source, int64_t rows)
{
    struct merger *m = &s->merger;
    struct cursor *c = &m->cursors[source];
    if (view_is_delete(c->view, c->at->row))
        return merger_skip(m, source, rows);
    SL_TRY(merger_complete(m, c->view, c->at->row, &rows));
    if (may_pass_whole(s, c, rows) && s->gather->rows == 0) {
        SL_TRY(gather_whole(s->gather, c->view));
    } else if (may_pass_whole(s, c, rows) && rows >= s->gather->batch_rows / 4) {
        s->emit = true; /* a short batch now is cheaper than copying a long one */
        return SL_OK;
    } else {
        if (rows > 1) {
            int64_t room = gather_room(s->gather, c->view);
            rows = rows < room ? rows : room;
        }
        SL_TRY(gather_add(s->gather, c->view, c->at->row, rows));
    }
    m->counts->rows_out += (uint64_t)rows;
    if (!c->run.is_base) {
        m->counts->inserted += (uint64_t)rows;
        SL_TRY(changes_insert(&s->changes, c->view, c->at->row, rows));
    }
    return merger_skip(m, source, rows);
}

static void note_base(struct group_base *base, const struct record *r)
{
    base->count++;
    if (!base->is_kept)
        return;
    view_ref(r->view);
    record_drop(&base->last);
    base->last = *r;
    base->last.mix = NULL;
}

static sl_status fold_group(struct merger *m, struct record *kept, struct group_base *base)
{
    struct record next;
    for (;;) {
        SL_TRY(merger_pop(m, &next));
        if (!next.view)
            return SL_OK;
        if (next.view->is_base)
            note_base(base, &next);
        rule_fold(&m->plan, kept, &next);
    }
}

/* Default layout: the base part and the log part of the group are folded apart, then joined. */
static sl_status fold_group_classic(struct merger *m, struct record *kept, struct record *log,
                                    struct group_base *base)
{
    struct record next;
    for (;;) {
        sl_status status = merger_pop(m, &next);
        if (status != SL_OK) {
            record_drop(log);
            return status;
        }
        if (!next.view)
            break;
        if (next.view->is_base) {
            note_base(base, &next);
            rule_fold(&m->plan, kept, &next);
        } else {
            rule_fold_logs(&m->plan, log, &next);
        }
    }
    rule_join_base(&m->plan, kept, log);
    return SL_OK;
}

/* Of the key's records `base_count` are the base's. */
static sl_status emit_record(struct merge_stream *s, const struct record *r, size_t base_count)
{
    bool has_base = base_count > 0, is_base_row = r->view->is_base && !r->mix && base_count == 1;
    struct sl_merge_counts *n = s->merger.counts;
    if (r->is_delete) {
        n->deleted += has_base;
        return SL_OK;
    }
    n->rows_out++;
    n->inserted += !has_base;
    n->updated += has_base && !is_base_row;
    SL_TRY(merger_complete(&s->merger, r->view, r->row, NULL));
    return gather_record(s->gather, r);
}

static sl_status take_group(struct merge_stream *s)
{
    struct record kept = {0}, log = {0};
    struct group_base base = {.is_kept = s->changes.sink.take != NULL};
    struct merger *m = &s->merger;
    bool is_classic = m->plan.classic;
    if (!base.is_kept && merger_fold_plain(m, &kept, is_classic ? &log : NULL, &base.count)) {
        SL_TRY(emit_record(s, &kept, base.count));
        return sl_loser_tree_next_key(m->tree);
    }
    sl_status status = is_classic ? fold_group_classic(m, &kept, &log, &base) : fold_group(m, &kept, &base);
    if (status == SL_OK && kept.view)
        status = emit_record(s, &kept, base.count);
    if (base.is_kept) {
        if (status == SL_OK)
            status = changes_of_group(m, &s->changes, &base, &kept);
        record_drop(&base.last);
    }
    record_drop(&kept);
    return status;
}

/* keep_duplicates: one record of the open group a call, so that a long group may span batches. */
static sl_status take_duplicate(struct merge_stream *s)
{
    struct record r;
    SL_TRY(merger_pop(&s->merger, &r));
    s->in_group = r.view != NULL;
    if (!r.view)
        return SL_OK;
    sl_status status = emit_record(s, &r, r.view->is_base);
    if (status == SL_OK && !r.is_delete && !r.view->is_base)
        status = changes_insert(&s->changes, r.view, r.row, 1);
    record_drop(&r);
    return status;
}

static sl_status merge_step(struct merge_stream *s)
{
    if (s->in_group)
        return take_duplicate(s);
    if (s->merger.to_copy_rows > 0) {
        s->emit = s->gather->rows > 0; /* first what comes before them */
        return s->emit ? SL_OK : merger_hand_over(&s->merger);
    }
    int64_t source = loser_tree_peek(s->merger.tree);
    if (source < 0) {
        s->ended = true;
        return SL_OK;
    }
    int64_t rows;
    SL_TRY(merger_alone(&s->merger, (size_t)source, &rows));
    if (rows > 0)
        return take_alone(s, (size_t)source, rows);
    return s->merger.plan.keep_duplicates ? take_duplicate(s) : take_group(s);
}

static sl_status merge_fill(struct merge_stream *s, sl_batch **out)
{
    SL_TRY(sl_check_cancel(s->merger.plan.runtime));
    s->emit = false;
    while (!s->ended && !s->emit && !gather_full(s->gather))
        SL_TRY(merge_step(s));
    if (s->ended)
        SL_TRY(changes_flush(&s->changes));
    merger_count(&s->merger);
    return gather_finish(s->gather, out);
}

static sl_status merge_next(sl_stream *self, sl_batch **out)
{
    struct merge_stream *s = (struct merge_stream *)self;
    if (s->failed)
        return sl_internal("the merge has failed before");
    *out = NULL;
    sl_status status = merge_fill(s, out);
    s->failed = status != SL_OK;
    return status;
}

static void merge_close(sl_stream *self)
{
    struct merge_stream *s = (struct merge_stream *)self;
    merger_close(&s->merger);
    changes_free(&s->changes);
    sl_free(s);
}

sl_status sl_merge_open(const struct sl_run *runs, size_t count, const struct sl_merge_options *options,
                        struct sl_merge_counts *counts, sl_stream **out)
{
    sl_status status = SL_OK;
    struct merge_stream *s = sl_calloc(1, sizeof *s);
    if (!s)
        status = sl_nomem();
    else if (options->deletes == SL_KEEP_DELETES)
        status = sl_internal("a stream of rows cannot carry deletes: use sl_merge_operands");
    if (status != SL_OK) {
        for (size_t i = 0; i < count; i++)
            sl_stream_close(runs[i].rows);
        sl_free(s);
        return status;
    }
    s->gather = &s->gathers[0];
    size_t gathers = 1 + changes_plan(&s->changes, options, &s->gathers[1]);
    status = merger_open(&s->merger, runs, count, options, s->gathers, gathers, counts);
    s->base = (sl_stream){s->merger.plan.schema, merge_next, merge_close};
    if (status == SL_OK)
        status = changes_start(&s->changes, &s->merger.plan);
    if (status != SL_OK) {
        merge_close(&s->base);
        return status;
    }
    *out = &s->base;
    return SL_OK;
}
