/*
 * Views: each batch of a run is analysed once (view_keys.c, view_marks.c); the merge then works on prefixes, bits and numbers.
 * Views come and go with batches, so each leaves its memory to the next of its run.
 */
#include "merge/merge_int.h"

/* ---- views --------------------------------------------------------------------------------------------- */

static void view_clear(struct view *v)
{
    for (size_t i = 0; v->ordering && i < v->owner->plan->ordering_count; i++) {
        sl_array_unref(v->ordering[i]);
        v->ordering[i] = NULL;
    }
    sl_batch_unref(v->keys);
    sl_batch_unref(v->batch);
    v->keys = v->batch = NULL;
}

void run_view_free(struct view *v)
{
    if (!v)
        return;
    view_clear(v);
    sl_free(v->ordering);
    sl_free(v->prefix);
    sl_free(v->repeats);
    sl_free(v->deletes);
    sl_free(v);
}

void view_unref(struct view *v)
{
    if (!v || --v->refs > 0)
        return;
    struct cursor *owner = v->owner;
    if (owner->spare) {
        run_view_free(v);
        return;
    }
    view_clear(v);
    owner->spare = v;
}

/* An empty view with room for `rows` rows, from the spare one when there is one. */
static sl_status view_reserve(struct cursor *c, int64_t rows, struct view **out)
{
    struct view *v = c->spare;
    c->spare = NULL;
    if (!v) {
        SL_NEW(v);
        v->owner = c;
    }
    sl_status status = SL_OK;
    if (c->plan->ordering_count && !v->ordering &&
        !(v->ordering = sl_calloc(c->plan->ordering_count, sizeof *v->ordering)))
        SL_GO(sl_nomem());
    if (rows > v->rows_cap || !v->prefix) {
        sl_free(v->prefix);
        sl_free(v->repeats);
        sl_free(v->deletes);
        v->rows_cap = 0;
        v->prefix = sl_realloc_array(NULL, (size_t)rows, sizeof *v->prefix);
        v->repeats = sl_malloc(bitmap_bytes(rows));
        v->deletes = sl_malloc(bitmap_bytes(rows));
        if (!v->prefix || !v->repeats || !v->deletes)
            SL_GO(sl_nomem());
        v->rows_cap = rows;
    }
    v->refs = 1;
    v->rows = rows;
    v->has_repeats = v->has_deletes = v->incomparable = false;
    v->batch_first = v->batch_rows = 0;
    v->row_bytes = 1;
    for (int i = 0; i < GATHERS; i++)
        v->slot[i] = -1;
    v->is_base = c->run.is_base;
    v->is_delete_run = c->run.is_deletes;
    *out = v;
    return SL_OK;
done:
    run_view_free(v);
    return status;
}

/* ---- size of a row ------------------------------------------------------------------------------------- */

static size_t longest_text(const sl_array *texts)
{
    int32_t longest = 0;
    for (int64_t i = 0; i < texts->length; i++) {
        int32_t len = texts->offsets[i + 1] - texts->offsets[i];
        longest = len > longest ? len : longest;
    }
    return (size_t)longest;
}

/* Rows with a dictionary may be many times as large once they are copied out of it. */
static size_t dictionary_row_bytes(struct known_dictionary *known, sl_array *dictionary)
{
    if (known->array != dictionary) {
        sl_array_unref(known->array);
        known->array = sl_array_ref(dictionary);
        known->longest = sl_type_has_offsets(dictionary->type) ? longest_text(dictionary)
                                                               : sl_type_value_bytes(dictionary->type);
    }
    return known->longest + sizeof(int32_t);
}

static size_t average_row_bytes(struct cursor *c, const sl_batch *batch)
{
    size_t whole = 0, bytes = 1;
    for (size_t i = 0; i < batch->schema->field_count; i++) {
        sl_array *a = batch->columns[i];
        if (a->dictionary)
            bytes += dictionary_row_bytes(&c->dictionaries[i], a->dictionary);
        else
            whole += sl_array_data_bytes(a);
    }
    return bytes + whole / (size_t)batch->rows;
}

/* ---- columns ------------------------------------------------------------------------------------------- */

/* Takes the batch over as what is known of the rows from `first` on. */
static void set_columns(struct view *v, sl_batch *batch, int64_t first)
{
    sl_batch_unref(v->batch);
    v->batch = batch;
    v->batch_first = first;
    v->batch_rows = batch->rows;
    v->row_bytes = average_row_bytes(v->owner, batch);
}

static sl_status load_columns(struct view *v, int64_t from)
{
    const struct cursor *c = v->owner;
    const struct sl_run_late *late = &c->run.late;
    sl_batch *batch;
    SL_TRY_CTX(late->load(late->context, v->keys, from, v->run_row + from, &batch), "run %s", c->name);
    if (batch->rows < 1 || batch->rows > v->rows - from ||
        batch->schema->field_count != c->plan->schema->field_count) {
        sl_batch_unref(batch);
        return sl_internal("run %s: other rows or columns came late than those that were missing", c->name);
    }
    set_columns(v, batch, from);
    return SL_OK;
}

/* Mostly the whole view comes at once, and rows are not asked for twice. */
sl_status view_complete(struct view *v, int64_t row)
{
    if (!v->batch)
        SL_TRY(load_columns(v, 0));
    return row < v->batch_first + v->batch_rows ? SL_OK : load_columns(v, row);
}

sl_status run_view_load(struct cursor *c, struct view **out)
{
    *out = NULL;
    sl_batch *batch = NULL;
    struct view *v = NULL;
    sl_status status = SL_OK;
    while (!c->ended && !batch) {
        SL_GO(sl_check_cancel(c->plan->runtime));
        SL_GO(sl_stream_next(c->run.rows, &batch));
        if (!batch) {
            c->ended = true;
        } else if (batch->rows == 0) {
            sl_batch_unref(batch);
            batch = NULL;
        }
    }
    if (!batch)
        return SL_OK;
    if (batch->schema->field_count != c->run.rows->schema->field_count)
        SL_GO(sl_internal("run %s: a batch of another schema than its stream's", c->name));
    SL_GO(view_reserve(c, batch->rows, &v));
    v->keys = batch;
    batch = NULL;
    v->run_row = c->rows_loaded;
    if (!c->run.late.load)
        set_columns(v, sl_batch_ref(v->keys), 0);
    v->key = v->keys->columns[c->key];
    SL_GO(view_analyse_keys(c, v));
    SL_GO(view_analyse_marks(c, v));
    c->rows_loaded += v->rows;
    *out = v;
    return SL_OK;
done:
    view_unref(v);
    sl_batch_unref(batch);
    return status;
}
