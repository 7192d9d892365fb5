/*
 * Folding without the base record (flush, log compaction; spec/lsm-layout.md 12.1). The result must behave
 * like its inputs after any older record. A commit-time delete X beats whatever is older and loses to
 * whatever follows, so
 *
 *   no X                        -> fold(l1 ... ln)
 *   the last X is ln            -> X
 *   the last X is lj, j < n     -> X, then fold(l(j+1) ... ln) as a second operand
 *
 * In commit time every record behaves like that and ln alone is left. Default layout: the classic fold, one
 * operand.
 */
#include "merge/merge_int.h"

/* Delete records to be: key and ordering values. */
struct delete_output {
    sl_batch_builder builder;
    int64_t rows;
};

struct operands {
    struct merger merger;
    struct gather rows[2]; /* first, second */
    struct delete_output deletes[2];
    const sl_type *delete_type;
    const struct sl_operand_sink *sink;
};

sl_status sl_delete_schema(const struct sl_merge_options *options, const sl_type **out)
{
    size_t ordering = options->mode == SL_EVENT_TIME ? options->ordering_count : 0;
    sl_field *fields;
    const sl_type *key_type = NULL;
    sl_status status = SL_OK;
    SL_NEW_ARRAY(fields, ordering + 1);
    SL_GO(sl_type_new(SL_STRING, &key_type));
    fields[0] = (sl_field){.name = "_hoodie_record_key", .type = key_type, .nullable = false};
    for (size_t i = 0; i < ordering; i++) {
        int at = sl_type_field_index(options->schema, options->ordering[i]);
        if (at < 0)
            SL_GO(sl_input("ordering field %s is not a column of the merged rows", options->ordering[i]));
        fields[i + 1] = options->schema->fields[at];
        fields[i + 1].nullable = true;
    }
    SL_GO(sl_type_struct(fields, ordering + 1, out));
done:
    sl_type_unref(key_type);
    sl_free(fields);
    return status;
}

/* ---- delivering ---------------------------------------------------------------------------------------- */

static sl_status deliver_rows(struct operands *o, int which)
{
    sl_batch *batch;
    SL_TRY(gather_finish(&o->rows[which], &batch));
    if (!batch)
        return SL_OK;
    sl_status status = o->sink->rows(o->sink->context, batch, which == 1);
    sl_batch_unref(batch);
    return status;
}

static sl_status deliver_deletes(struct operands *o, int which)
{
    struct delete_output *d = &o->deletes[which];
    if (d->rows == 0)
        return SL_OK;
    sl_batch *batch;
    SL_TRY(sl_batch_builder_finish(&d->builder, &batch));
    d->rows = 0;
    sl_status status = o->sink->deletes(o->sink->context, batch, which == 1);
    sl_batch_unref(batch);
    return status;
}

static sl_status append_delete(struct operands *o, int which, const struct view *view, int64_t row)
{
    struct delete_output *d = &o->deletes[which];
    size_t len;
    const uint8_t *key = view_key(view, row, &len);
    SL_TRY(sl_builder_bytes(d->builder.columns[0], key, len));
    for (size_t i = 0; i < o->merger.plan.ordering_count; i++) {
        sl_builder *column = d->builder.columns[i + 1];
        if (view->ordering[i])
            SL_TRY(sl_builder_append_range(column, view->ordering[i], row, 1));
        else if (view->incomparable)
            return sl_unsupported(
                "run %s: a delete whose ordering column %s does not fit the type of the table's",
                view->owner->name, o->merger.plan.ordering[i]);
        else
            SL_TRY(sl_builder_null(column));
    }
    d->rows++;
    o->merger.counts->deletes_out++;
    return d->rows >= o->merger.plan.batch_rows ? deliver_deletes(o, which) : SL_OK;
}

static sl_status append_rows(struct operands *o, int which, struct view *view, int64_t row, int64_t count)
{
    struct gather *g = &o->rows[which];
    int64_t loaded = count;
    SL_TRY(merger_complete(&o->merger, view, row, &loaded));
    if (row == 0 && loaded == view->rows && count <= g->batch_rows &&
        (g->rows == 0 || count >= g->batch_rows / 4)) {
        SL_TRY(deliver_rows(o, which));
        SL_TRY(gather_whole(g, view));
        return deliver_rows(o, which);
    }
    while (count > 0) {
        int64_t n = count;
        SL_TRY(merger_complete(&o->merger, view, row, &n));
        int64_t room = gather_room(g, view);
        n = n < room ? n : room;
        SL_TRY(gather_add(g, view, row, n));
        row += n;
        count -= n;
        if (gather_full(g))
            SL_TRY(deliver_rows(o, which));
    }
    return SL_OK;
}

static sl_status append_record(struct operands *o, int which, const struct record *r)
{
    struct gather *g = &o->rows[which];
    SL_TRY(merger_complete(&o->merger, r->view, r->row, NULL));
    SL_TRY(gather_record(g, r));
    return gather_full(g) ? deliver_rows(o, which) : SL_OK;
}

/* ---- folding ------------------------------------------------------------------------------------------- */

static sl_status take_alone(struct operands *o, size_t source, int64_t rows)
{
    struct cursor *c = &o->merger.cursors[source];
    if (view_is_delete(c->view, c->at->row)) {
        for (int64_t i = 0; i < rows; i++)
            SL_TRY(append_delete(o, 0, c->view, c->at->row + i));
    } else {
        SL_TRY(append_rows(o, 0, c->view, c->at->row, rows));
        o->merger.counts->rows_out += (uint64_t)rows;
        if (!c->run.is_base)
            o->merger.counts->inserted += (uint64_t)rows;
    }
    return merger_skip(&o->merger, source, rows);
}

/* The operands of one key; either may be empty. */
struct reduced {
    /* the last commit-time delete; partial updates: any delete that was followed by a row */
    struct record barrier;
    struct record tail; /* the fold of what follows it */
    bool has_base;
};

/* Partial updates: a row that follows a delete begins anew. Without the delete before it, it would take columns of
 * records that are older than the delete. */
static bool begins_anew(const struct merge_plan *plan, const struct record *tail, const struct record *next)
{
    return plan->partial != SL_PARTIAL_NONE && tail->view && tail->is_delete && !next->is_delete &&
           rule_newer_wins(plan, tail, next);
}

/* A commit-time delete that stands before is the stronger of the two. */
static void keep_barrier(struct reduced *r)
{
    if (r->barrier.view && r->barrier.is_commit_delete) {
        record_drop(&r->tail);
    } else {
        record_drop(&r->barrier);
        r->barrier = r->tail;
        r->tail = (struct record){0};
    }
}

static void reduce_next(const struct merge_plan *plan, struct reduced *r, struct record *next)
{
    if (plan->classic) {
        rule_fold_logs(plan, &r->tail, next);
    } else if (next->is_commit_delete) {
        record_drop(&r->barrier);
        record_drop(&r->tail);
        r->barrier = *next;
    } else {
        if (begins_anew(plan, &r->tail, next))
            keep_barrier(r);
        rule_fold(plan, &r->tail, next);
    }
}

static sl_status emit_operand(struct operands *o, const struct record *r, int which, bool has_base)
{
    struct sl_merge_counts *n = o->merger.counts;
    if (r->is_delete) {
        n->deleted += has_base;
        return append_delete(o, which, r->view, r->row);
    }
    n->rows_out++;
    n->inserted += !has_base;
    n->updated += has_base && !r->view->is_base;
    return append_record(o, which, r);
}

static sl_status take_group(struct operands *o)
{
    struct reduced r = {0};
    sl_status status = SL_OK;
    size_t base_records;
    bool is_whole = merger_fold_plain(&o->merger, &r.tail, NULL, &base_records);
    r.has_base = base_records > 0;
    if (is_whole) {
        SL_TRY(emit_operand(o, &r.tail, 0, r.has_base));
        return sl_loser_tree_next_key(o->merger.tree);
    }
    for (;;) {
        struct record next;
        SL_GO(merger_pop(&o->merger, &next));
        if (!next.view)
            break;
        r.has_base |= next.view->is_base;
        reduce_next(&o->merger.plan, &r, &next);
    }
    if (r.barrier.view)
        SL_GO(emit_operand(o, &r.barrier, 0, r.has_base));
    if (r.tail.view)
        SL_GO(emit_operand(o, &r.tail, r.barrier.view ? 1 : 0, r.has_base));
done:
    record_drop(&r.barrier);
    record_drop(&r.tail);
    return status;
}

static sl_status fold_all(struct operands *o)
{
    for (;;) {
        int64_t source = loser_tree_peek(o->merger.tree);
        if (source < 0)
            break;
        int64_t rows;
        SL_TRY(merger_alone(&o->merger, (size_t)source, &rows));
        SL_TRY(rows > 0 ? take_alone(o, (size_t)source, rows) : take_group(o));
    }
    for (int which = 0; which < 2; which++) {
        SL_TRY(deliver_rows(o, which));
        SL_TRY(deliver_deletes(o, which));
    }
    merger_count(&o->merger);
    return SL_OK;
}

sl_status sl_merge_operands(const struct sl_run *runs, size_t count, const struct sl_merge_options *options,
                            const struct sl_operand_sink *sink, struct sl_merge_counts *counts)
{
    struct operands o = {.sink = sink};
    sl_status status = merger_open(&o.merger, runs, count, options, o.rows, 2, counts);
    if (status != SL_OK)
        goto done;
    for (size_t i = 0; i < count; i++)
        if (runs[i].copy.offer)
            SL_GO(sl_internal("a merge that keeps deletes hands no rows over"));
    if (options->keep_duplicates)
        SL_GO(sl_internal("a merge that keeps duplicates folds no operands"));
    SL_GO(sl_delete_schema(options, &o.delete_type));
    for (int which = 0; which < 2; which++)
        SL_GO(sl_batch_builder_init(&o.deletes[which].builder, o.delete_type));
    SL_GO(fold_all(&o));
done:
    for (int which = 0; which < 2; which++)
        sl_batch_builder_free(&o.deletes[which].builder);
    merger_close(&o.merger);
    sl_type_unref(o.delete_type);
    return status;
}
