/* A cursor walks a run batch by batch, each as a view (run_view.c). */
#include "merge/merge_int.h"

sl_status cursor_open(struct cursor *c, const struct sl_run *run, const struct merge_plan *plan,
                      struct key_space *space, struct sl_heads *at)
{
    *c = (struct cursor){.run = *run, .plan = plan, .space = space, .at = at};
    if (!(c->name = sl_strdup(run->name ? run->name : "(unnamed)")))
        return sl_nomem();
    if (run->late.load && (run->is_deletes || plan->partial != SL_PARTIAL_NONE))
        return sl_internal("run %s: its rules look at all columns", c->name);
    if (run->is_deletes && (run->is_base || plan->keep_duplicates))
        return sl_internal("run %s: deletes neither form a base file nor are they plainly inserted", c->name);
    if (plan->ordering_count)
        SL_NEW_ARRAY(c->ordering, plan->ordering_count);
    c->dictionary_count = (run->late.load ? plan->schema : run->rows->schema)->field_count;
    SL_NEW_ARRAY(c->dictionaries, c->dictionary_count + 1);
    if (!run->is_deletes)
        SL_TRY(cursor_check_schema(c));
    return cursor_find_columns(c);
}

void cursor_close(struct cursor *c)
{
    struct view *view = c->view, *ahead = c->ahead;
    c->view = c->ahead = NULL;
    view_unref(view);
    view_unref(ahead);
    run_view_free(c->spare);
    c->spare = NULL;
    for (size_t i = 0; c->dictionaries && i < c->dictionary_count; i++)
        sl_array_unref(c->dictionaries[i].array);
    sl_free(c->dictionaries);
    c->dictionaries = NULL;
    sl_free(c->ordering);
    c->ordering = NULL;
    sl_free(c->name);
    c->name = NULL;
    sl_buf_free(&c->scratch);
    sl_stream_close(c->run.rows);
    c->run.rows = NULL;
}

sl_status cursor_prime(struct cursor *c) { return run_view_load(c, &c->ahead); }

void cursor_reload_prefixes(struct cursor *c)
{
    if (c->view) {
        view_reload_prefixes(c->space, c->view, c->at->row);
        c->at->whole = c->view->whole;
    }
    if (c->ahead)
        view_reload_prefixes(c->space, c->ahead, 0);
}

sl_status cursor_next_view(struct cursor *c)
{
    struct view *next = c->ahead;
    c->ahead = NULL;
    if (!next)
        SL_TRY(run_view_load(c, &next));
    view_unref(c->view);
    c->view = next;
    *c->at = next ? (struct sl_heads){.keys = next->key,
                                      .prefix = next->prefix,
                                      .repeats = next->has_repeats ? next->repeats : NULL,
                                      .rows = next->rows,
                                      .whole = next->whole}
                  : (struct sl_heads){0};
    return SL_OK;
}

sl_status cursor_last_repeats(struct cursor *c, bool *repeats)
{
    size_t len;
    const uint8_t *key = view_key(c->view, c->view->rows - 1, &len);
    bool is_above = false;
    *repeats = false;
    if (!c->ahead && c->run.copy.above) /* what need not be loaded may perhaps be copied */
        SL_TRY(c->run.copy.above(c->run.copy.context, key, len, &is_above));
    if (!c->ahead && !is_above)
        SL_TRY(run_view_load(c, &c->ahead));
    if (c->ahead) {
        size_t ahead_len;
        const uint8_t *ahead = view_key(c->ahead, 0, &ahead_len);
        *repeats = bytes_compare(key, len, ahead, ahead_len) == 0;
    }
    return SL_OK;
}
