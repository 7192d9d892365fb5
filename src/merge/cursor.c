/* A cursor walks a run batch by batch, each as a view (run_view.c). */
#include "merge/merge_int.h"

sl_status cursor_open(struct cursor *c, const struct sl_run *run, const struct merge_plan *plan,
                      struct key_space *space)
{
    *c = (struct cursor){.run = *run, .plan = plan, .space = space};
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

static void reload_prefixes(const struct key_space *space, struct view *v)
{
    for (int64_t i = 0; v && i < v->rows; i++) {
        size_t len;
        const uint8_t *key = view_key(v, i, &len);
        v->prefix[i] = key_space_prefix(space, key, len);
    }
}

void cursor_reload_prefixes(struct cursor *c)
{
    reload_prefixes(c->space, c->view);
    reload_prefixes(c->space, c->ahead);
}

void cursor_head(const struct cursor *c, struct sl_head *head)
{
    const struct view *v = c->view;
    if (!v) {
        *head = (struct sl_head){0};
        return;
    }
    size_t len;
    head->key = view_key(v, c->row, &len);
    head->len = (uint32_t)len;
    head->prefix = v->prefix[c->row];
    head->whole = len <= c->space->len + sizeof head->prefix;
    head->alone = c->row + 1 < v->rows && !(v->has_repeats && bit_get(v->repeats, c->row));
}

sl_status cursor_advance(struct cursor *c, struct sl_head *head)
{
    if (c->view && c->row + 1 < c->view->rows) {
        c->row++;
    } else {
        struct view *next = c->ahead;
        c->ahead = NULL;
        if (!next)
            SL_TRY(run_view_load(c, &next));
        view_unref(c->view);
        c->view = next;
        c->row = 0;
    }
    cursor_head(c, head);
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

sl_status cursor_repeats(struct cursor *c, bool *repeats)
{
    if (SL_UNLIKELY(c->row + 1 == c->view->rows))
        return cursor_last_repeats(c, repeats);
    *repeats = c->view->has_repeats && bit_get(c->view->repeats, c->row);
    return SL_OK;
}
