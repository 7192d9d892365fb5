/*
 * The keys of a view, in one pass: prefixes, the order check (spec/lsm-layout.md 6: every reader checks its run), and which
 * rows repeat the key of the row before.
 */
#include "merge/merge_int.h"

/* ---- what all keys begin with -------------------------------------------------------------------------- */

static size_t common_bytes(const struct key_space *space, const uint8_t *key, size_t len)
{
    size_t most = space->len < len ? space->len : len, at = 0;
    while (at < most && space->common.data[at] == key[at])
        at++;
    return at;
}

static sl_status key_space_add(struct key_space *space, const uint8_t *key, size_t len)
{
    size_t common = len;
    if (space->any)
        common = common_bytes(space, key, len);
    else
        SL_TRY(sl_buf_append(&space->common, key, len));
    if (len > space->longest)
        space->longest = len;
    size_t spared = space->longest > sizeof(uint64_t) ? space->longest - sizeof(uint64_t) : 0;
    common = common < spared ? common : spared;
    space->shrunk |= space->any && common < space->len;
    space->len = common;
    space->any = true;
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

/* The common bytes as two words, the first and the last ones, so that most keys are compared with them without a call. */
struct beginning {
    const uint8_t *bytes;
    size_t len;
    uint64_t first, last, mask; /* mask: of the bytes of `first`, and of `last` where they are the same */
    size_t last_at;
};
enum { WORD = sizeof(uint64_t) };

static struct beginning beginning_of(const struct key_space *space)
{
    struct beginning b = {.bytes = space->common.data, .len = space->len, .mask = UINT64_MAX};
    uint8_t padded[WORD] = {0};
    if (b.len > 0)
        memcpy(padded, b.bytes, b.len < WORD ? b.len : WORD);
    b.first = b.last = load_le64(padded);
    if (b.len < WORD) {
        b.mask = ((uint64_t)1 << 8 * b.len) - 1;
    } else {
        b.last_at = b.len - WORD;
        b.last = load_le64(b.bytes + b.last_at);
    }
    return b;
}

static bool begins_alike_slowly(const struct beginning *b, const uint8_t *key, size_t len)
{
    return len >= b->len && (b->len == 0 || memcmp(key, b->bytes, b->len) == 0);
}

SL_INLINE bool begins_alike(const struct beginning *b, const uint8_t *key, size_t len)
{
    if (SL_UNLIKELY(len < WORD || len < b->len || b->len > 2 * WORD))
        return begins_alike_slowly(b, key, len);
    return (((load_le64(key) ^ b->first) | (load_le64(key + b->last_at) ^ b->last)) & b->mask) == 0;
}

/* What is told of a key: its first 8 bytes behind the common ones, zero padded; whether that is all of it. */
struct key_mark {
    uint64_t prefix;
    bool whole;
};

static struct key_mark short_key_mark(size_t common, const uint8_t *key, size_t len)
{
    size_t rest = len - common;
    if (rest == 0)
        return (struct key_mark){0, true};
    uint64_t prefix =
        len >= WORD ? load_be64(key + len - WORD) << 8 * (WORD - rest) : key_prefix(key + common, rest);
    return (struct key_mark){prefix, key[len - 1] != 0};
}

/* A zero at the end of a key looks like padding. */
SL_INLINE struct key_mark key_mark(size_t common, const uint8_t *key, size_t len)
{
    if (SL_UNLIKELY(len - common < WORD))
        return short_key_mark(common, key, len);
    uint64_t prefix = load_be64(key + common);
    return (struct key_mark){prefix, (len - common == WORD) & ((prefix & 0xff) != 0)};
}

/* ---- analysis ------------------------------------------------------------------------------------------ */

static sl_status order_error(const struct cursor *c, int64_t row)
{
    sl_status status = sl_corrupt("run %s: the key of row %" PRId64
                                  " is smaller than the one before it: not sorted by %s as bytes",
                                  c->name, row, c->plan->key_column);
    return sl_hint(status, "the run must be sorted again (sl_sort_stream) before it is merged");
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

static sl_status note_repeat(const struct cursor *c, struct view *v, int64_t row)
{
    size_t before_len, len;
    const uint8_t *before = view_key(v, row - 1, &before_len), *key = view_key(v, row, &len);
    int order = bytes_compare(before, before_len, key, len);
    if (order > 0)
        return order_error(c, c->rows_loaded + row);
    if (order < 0)
        return SL_OK;
    bit_set(v->repeats, row - 1);
    v->has_repeats = true;
    return SL_OK;
}

/* The last key of the view before is not above the first of this one. */
static sl_status check_first(const struct cursor *c, const struct view *v)
{
    size_t before_len, len;
    if (!c->view)
        return SL_OK;
    const uint8_t *before = view_key(c->view, c->view->rows - 1, &before_len), *key = view_key(v, 0, &len);
    return bytes_compare(before, before_len, key, len) > 0 ? order_error(c, c->rows_loaded) : SL_OK;
}

/* A row that is not above the one before it. */
static sl_status note_equal(const struct cursor *c, struct view *v, int64_t row)
{
    if (v->prefix[row] < v->prefix[row - 1])
        return order_error(c, c->rows_loaded + row);
    return note_repeat(c, v, row);
}

/* Inlined with a constant: whether the keys lie one behind the other, as they mostly do. */
SL_INLINE sl_status analyse_rows(const struct cursor *c, struct view *v, bool has_offsets)
{
    const struct beginning beginning = beginning_of(c->space);
    const int32_t *offsets = v->key->offsets;
    const uint8_t *values = v->key->values;
    uint64_t before = 0, *prefix = v->prefix;
    int64_t rows = v->rows;
    bool whole = true;
    for (int64_t i = 0; i < rows; i++) {
        size_t len;
        const uint8_t *key;
        if (has_offsets) {
            key = values + offsets[i];
            len = (size_t)(offsets[i + 1] - offsets[i]);
        } else {
            key = view_key(v, i, &len);
        }
        if (SL_UNLIKELY(!begins_alike(&beginning, key, len)))
            return find_disorder(c, v);
        struct key_mark mark = key_mark(beginning.len, key, len);
        prefix[i] = mark.prefix;
        whole &= mark.whole;
        if (SL_UNLIKELY(mark.prefix <= before) && i > 0)
            SL_TRY(note_equal(c, v, i));
        before = mark.prefix;
    }
    v->whole = whole;
    return SL_OK;
}

sl_status view_analyse_keys(const struct cursor *c, struct view *v)
{
    const sl_array *keys = v->key;
    if (keys->null_count > 0)
        return sl_corrupt("run %s: a null in the key column %s", c->name, c->plan->key_column);
    memset(v->repeats, 0, bitmap_bytes(v->rows));
    SL_TRY(extend_key_space(c, v));
    SL_TRY(check_first(c, v));
    return !keys->dictionary && keys->offsets && keys->values ? analyse_rows(c, v, true)
                                                              : analyse_rows(c, v, false);
}

void view_reload_prefixes(const struct key_space *space, struct view *v, int64_t from)
{
    v->whole = true;
    for (int64_t i = from; i < v->rows; i++) {
        size_t len;
        const uint8_t *key = view_key(v, i, &len);
        struct key_mark mark = key_mark(space->len, key, len);
        v->prefix[i] = mark.prefix;
        v->whole &= mark.whole;
    }
}

/* ---- search -------------------------------------------------------------------------------------------- */

static bool row_below(const struct view *v, int64_t row, const struct sl_heads *bound)
{
    uint64_t prefix = bound->prefix[bound->row];
    if (v->prefix[row] != prefix || (v->whole && bound->whole))
        return v->prefix[row] < prefix;
    size_t len, bound_len;
    const uint8_t *key = view_key(v, row, &len), *bound_key = head_key(bound, &bound_len);
    return bytes_compare(key, len, bound_key, bound_len) < 0;
}

int64_t view_rows_below(const struct view *v, int64_t from, const struct sl_heads *bound)
{
    if (!bound)
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
