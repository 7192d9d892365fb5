/*
 * What a merge makes of the base, told beside its result: of every key that it inserts, updates or deletes the base's row
 * before and the result's row after. The rows pass through gathers of their own, so that a change costs what a survivor
 * costs, and what stays as it is costs nothing.
 */
#include "merge/merge_int.h"

size_t changes_plan(struct changes *c, const struct sl_merge_options *options, struct gather *gathers)
{
    size_t count = 0;
    *c = (struct changes){0};
    if (!options->changes)
        return 0;
    c->sink = *options->changes;
    if (c->sink.before)
        c->before = &gathers[count++];
    if (c->sink.after)
        c->after = &gathers[count++];
    return count;
}

sl_status changes_start(struct changes *c, const struct merge_plan *plan)
{
    const sl_type *string;
    if (!c->sink.take)
        return SL_OK;
    c->most = plan->batch_rows;
    SL_NEW_ARRAY(c->ops, (size_t)c->most);
    if (!c->sink.keys)
        return SL_OK;
    SL_TRY(sl_type_new(SL_STRING, &string));
    sl_status status = sl_builder_new(string, &c->keys);
    sl_type_unref(string);
    return status;
}

void changes_free(struct changes *c)
{
    sl_free(c->ops);
    sl_builder_free(c->keys);
    *c = (struct changes){0};
}

/* ---- handing over -------------------------------------------------------------------------------------- */

sl_status changes_flush(struct changes *c)
{
    struct sl_changes told = {.ops = c->ops, .count = c->count};
    sl_status status = SL_OK;
    if (c->count == 0)
        return SL_OK;
    if (c->keys)
        SL_GO(sl_builder_finish(c->keys, &told.keys));
    if (c->before)
        SL_GO(gather_finish(c->before, &told.before));
    if (c->after)
        SL_GO(gather_finish(c->after, &told.after));
    status = c->sink.take(c->sink.context, &told);
    c->count = 0;
done:
    sl_array_unref(told.keys);
    sl_batch_unref(told.before);
    sl_batch_unref(told.after);
    return status;
}

/* Room for one change at least. */
static sl_status make_room(struct changes *c)
{
    bool full =
        c->count == c->most || (c->before && gather_full(c->before)) || (c->after && gather_full(c->after));
    return full ? changes_flush(c) : SL_OK;
}

static sl_status note_keys(struct changes *c, const struct view *view, int64_t row, int64_t rows)
{
    for (int64_t i = 0; c->keys && i < rows; i++) {
        size_t len;
        const uint8_t *key = view_key(view, row + i, &len);
        SL_TRY(sl_builder_bytes(c->keys, key, len));
    }
    return SL_OK;
}

static void note_ops(struct changes *c, enum sl_change op, int64_t count)
{
    memset(c->ops + c->count, (int)op, (size_t)count);
    c->count += count;
}

/* ---- changes ------------------------------------------------------------------------------------------- */

sl_status changes_insert(struct changes *c, struct view *view, int64_t row, int64_t rows)
{
    while (c->sink.take && rows > 0) {
        SL_TRY(make_room(c));
        int64_t n = c->most - c->count;
        if (c->after && gather_room(c->after, view) < n)
            n = gather_room(c->after, view);
        n = n < rows ? n : rows;
        SL_TRY(note_keys(c, view, row, n));
        if (c->after)
            SL_TRY(gather_add(c->after, view, row, n));
        note_ops(c, SL_CHANGE_INSERT, n);
        row += n;
        rows -= n;
    }
    return SL_OK;
}

static sl_status tell(struct merger *m, struct changes *c, enum sl_change op, const struct record *before,
                      const struct record *after)
{
    const struct record *any = after ? after : before;
    SL_TRY(make_room(c));
    SL_TRY(note_keys(c, any->view, any->row, 1));
    /* A result that is a base row too is an earlier one than the last, and columns come in ascending order. */
    if (after && c->after) {
        SL_TRY(merger_complete(m, after->view, after->row, NULL));
        SL_TRY(gather_record(c->after, after));
    }
    if (before && c->before) {
        SL_TRY(merger_complete(m, before->view, before->row, NULL));
        SL_TRY(gather_record(c->before, before));
    }
    note_ops(c, op, 1);
    return SL_OK;
}

/* A row that the merge takes anew is an update even where its values are those of the base, as in Hudi: of two versions of a
 * row nobody looks at all columns. One that lost against the base is none. Where duplicates of the base became one row that
 * is an update of the last. */
sl_status changes_of_group(struct merger *m, struct changes *c, const struct group_base *base,
                           const struct record *result)
{
    const struct record *last = &base->last;
    bool was = last->view && !last->is_delete, is = result->view && !result->is_delete;
    if (is && !was)
        return tell(m, c, SL_CHANGE_INSERT, NULL, result);
    if (was && !is)
        return tell(m, c, SL_CHANGE_DELETE, last, NULL);
    if (was && (base->count > 1 || !result->view->is_base || result->mix))
        return tell(m, c, SL_CHANGE_UPDATE, last, result);
    return SL_OK;
}
