/*
 * Views: each batch of a run is analysed once, in one pass over its key column: key prefixes, the order check
 * (spec/lsm-layout.md 6: every reader checks its run), which rows repeat the key of the row before, and which carry a
 * delete marker. The merge then works on prefixes and bits.
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
            whole += sl_array_bytes(a);
    }
    return bytes + whole / (size_t)batch->rows;
}

int64_t bitmap_next(const uint8_t *bits, int64_t from, int64_t to, bool value)
{
    const uint8_t flip = value ? 0 : 0xff;
    while (from < to) {
        unsigned rest = (unsigned)(uint8_t)(bits[from >> 3] ^ flip) >> (from & 7);
        if (rest) {
            from += sl_ctz64(rest);
            return from < to ? from : to;
        }
        from = (from | 7) + 1;
    }
    return to;
}

static bool row_below(const struct view *v, int64_t row, const struct sl_head *bound)
{
    if (v->prefix[row] != bound->prefix)
        return v->prefix[row] < bound->prefix;
    size_t len;
    const uint8_t *key = view_key(v, row, &len);
    return bytes_compare(key, len, bound->key, bound->len) < 0;
}

int64_t view_rows_below(const struct view *v, int64_t from, const struct sl_head *bound)
{
    if (!bound->key)
        return v->rows;
    int64_t below = from, step = 1; /* row `below` is below the bound */
    while (below + step < v->rows && row_below(v, below + step, bound)) {
        below += step;
        step *= 2;
    }
    int64_t end = below + step < v->rows ? below + step : v->rows; /* row `end` is not, or there is none */
    while (end - below > 1) {
        int64_t middle = below + (end - below) / 2;
        if (row_below(v, middle, bound))
            below = middle;
        else
            end = middle;
    }
    return end;
}

/* ---- analysis ------------------------------------------------------------------------------------------ */

static sl_status order_error(const struct cursor *c, int64_t row)
{
    sl_status status = sl_corrupt("run %s: the key of row %" PRId64
                                  " is smaller than the one before it: not sorted by %s as bytes",
                                  c->name, row, c->plan->key_column);
    return sl_hint(status, "the run must be sorted again (sl_sort_stream) before it is merged");
}

static size_t common_bytes(const struct key_space *space, const uint8_t *key, size_t len)
{
    size_t most = space->len < len ? space->len : len, at = 0;
    while (at < most && space->common.data[at] == key[at])
        at++;
    return at;
}

static sl_status key_space_add(struct key_space *space, const uint8_t *key, size_t len)
{
    if (!space->any) {
        SL_TRY(sl_buf_append(&space->common, key, len));
        space->len = len;
        space->any = true;
        return SL_OK;
    }
    size_t common = common_bytes(space, key, len);
    space->shrunk |= common < space->len;
    space->len = common;
    return SL_OK;
}

/* A run in key order has between its first and its last key only such as begin like both of them. */
static sl_status extend_key_space(const struct cursor *c, const struct view *v)
{
    size_t len;
    const uint8_t *key = view_key(v, 0, &len);
    SL_TRY(key_space_add(c->space, key, len));
    key = view_key(v, v->rows - 1, &len);
    return key_space_add(c->space, key, len);
}

/* The first row that is smaller than the one before it; for a key that begins differently there is one. */
static sl_status find_disorder(const struct cursor *c, const struct view *v)
{
    for (int64_t i = 1; i < v->rows; i++) {
        size_t before_len, len;
        const uint8_t *before = view_key(v, i - 1, &before_len), *key = view_key(v, i, &len);
        if (bytes_compare(before, before_len, key, len) > 0)
            return order_error(c, c->rows_loaded + i);
    }
    return sl_internal("run %s: a key outside of what its batch's first and last key span", c->name);
}

SL_INLINE bool begins_alike(const struct key_space *space, const uint8_t *key, size_t len)
{
    return len >= space->len && (space->len == 0 || memcmp(key, space->common.data, space->len) == 0);
}

/* Prefixes, order and repeated keys in one pass. Row -1 is the last of the view before, when there is one. */
static sl_status analyse_keys(const struct cursor *c, struct view *v)
{
    if (v->key->null_count > 0)
        return sl_corrupt("run %s: a null in the key column %s", c->name, c->plan->key_column);
    memset(v->repeats, 0, bitmap_bytes(v->rows));
    SL_TRY(extend_key_space(c, v));
    const struct key_space *space = c->space;
    const uint8_t *before = NULL;
    size_t before_len = 0;
    uint64_t before_prefix = 0;
    if (c->view) {
        before = view_key(c->view, c->view->rows - 1, &before_len);
        before_prefix = key_space_prefix(space, before, before_len);
    }
    for (int64_t i = 0; i < v->rows; i++) {
        size_t len;
        const uint8_t *key = view_key(v, i, &len);
        if (SL_UNLIKELY(!begins_alike(space, key, len)))
            return find_disorder(c, v);
        uint64_t prefix = key_space_prefix(space, key, len);
        v->prefix[i] = prefix;
        if (SL_UNLIKELY(prefix < before_prefix))
            return order_error(c, c->rows_loaded + i);
        if (prefix == before_prefix && before) {
            int order = bytes_compare(before, before_len, key, len);
            if (SL_UNLIKELY(order > 0))
                return order_error(c, c->rows_loaded + i);
            if (order == 0 && i > 0) {
                bit_set(v->repeats, i - 1);
                v->has_repeats = true;
            }
        }
        before = key;
        before_len = len;
        before_prefix = prefix;
    }
    return SL_OK;
}

static void mark_delete(struct view *v, int64_t row)
{
    bit_set(v->deletes, row);
    v->has_deletes = true;
}

static bool text_equals(const sl_array *a, int64_t row, const char *text, size_t text_len)
{
    size_t len;
    const uint8_t *value = sl_bytes_at(a, row, &len);
    return len == text_len && memcmp(value, text, len) == 0;
}

/* The custom marker compares as text (spec/log-format.md 10.4), whatever the column's type. */
static sl_status analyse_marker(struct cursor *c, struct view *v, const sl_array *a)
{
    const char *marker = c->plan->marker_value;
    size_t marker_len = strlen(marker);
    bool is_text = a->type->id == SL_STRING || a->type->id == SL_BINARY;
    for (int64_t i = 0; i < v->rows; i++) {
        if (!sl_is_valid(a, i))
            continue;
        if (is_text) {
            if (text_equals(a, i, marker, marker_len))
                mark_delete(v, i);
            continue;
        }
        c->scratch.len = 0;
        SL_TRY(sl_value_text(a, i, SL_TEXT_PLAIN, &c->scratch));
        if (c->scratch.len == marker_len && memcmp(c->scratch.data, marker, marker_len) == 0)
            mark_delete(v, i);
    }
    return SL_OK;
}

static void analyse_operation(struct view *v, const sl_array *a)
{
    for (int64_t i = 0; i < v->rows; i++)
        if (sl_is_valid(a, i) && (text_equals(a, i, "D", 1) || text_equals(a, i, "-U", 2)))
            mark_delete(v, i);
}

static sl_status analyse_deletes(struct cursor *c, struct view *v)
{
    if (c->delete_flag < 0 && c->marker < 0 && c->operation < 0)
        return SL_OK;
    memset(v->deletes, 0, bitmap_bytes(v->rows));
    if (c->delete_flag >= 0) {
        const sl_array *flag = v->keys->columns[c->delete_flag];
        for (int64_t i = 0; i < v->rows; i++)
            if (sl_is_valid(flag, i) && sl_bool_at(flag, i))
                mark_delete(v, i);
    }
    if (c->marker >= 0)
        SL_TRY(analyse_marker(c, v, v->keys->columns[c->marker]));
    if (c->operation >= 0)
        analyse_operation(v, v->keys->columns[c->operation]);
    return SL_OK;
}

/* Ordering values after promotion to the reader's type; where that is impossible the newer record wins (8.3).
 */
static sl_status analyse_ordering(const struct cursor *c, struct view *v)
{
    for (size_t i = 0; i < c->plan->ordering_count; i++) {
        if (c->ordering[i] < 0)
            continue;
        sl_array *a = v->keys->columns[c->ordering[i]];
        const sl_type *want = c->plan->ordering_types[i];
        if (sl_type_equal(a->type, want)) {
            v->ordering[i] = sl_array_ref(a);
        } else if (sl_cast_possible(a->type, want)) {
            SL_TRY_CTX(sl_cast(a, want, &v->ordering[i]), "run %s: ordering column %s", c->name,
                       c->plan->ordering[i]);
        } else {
            v->incomparable = true;
        }
    }
    return SL_OK;
}

static uint64_t count_deletes(const struct view *v)
{
    if (v->is_delete_run)
        return (uint64_t)v->rows;
    uint64_t n = 0;
    if (v->has_deletes)
        for (int64_t i = bitmap_next(v->deletes, 0, v->rows, true); i < v->rows;
             i = bitmap_next(v->deletes, i + 1, v->rows, true))
            n++;
    return n;
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
    SL_GO(analyse_keys(c, v));
    SL_GO(analyse_deletes(c, v));
    SL_GO(analyse_ordering(c, v));
    c->rows_loaded += v->rows;
    c->deletes_loaded += count_deletes(v);
    *out = v;
    return SL_OK;
done:
    view_unref(v);
    sl_batch_unref(batch);
    return status;
}
