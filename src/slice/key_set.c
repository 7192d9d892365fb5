/* Sets of record keys, and where in a file they may be. */
#include "slice/slice_int.h"

static int compare(const void *a, const void *b)
{
    const struct sl_key *x = a, *y = b;
    return bytes_compare(x->data, x->len, y->data, y->len);
}

sl_status sl_key_set_init(sl_key_set *set, sl_array *keys)
{
    *set = (sl_key_set){0};
    if (keys->dictionary) {
        SL_TRY(sl_array_decode_dictionary(keys, &set->values));
        keys = set->values;
    } else {
        set->values = sl_array_ref(keys);
    }
    if (!(set->items = sl_calloc((size_t)keys->length + 1, sizeof *set->items))) {
        sl_key_set_free(set);
        return sl_nomem();
    }
    for (int64_t i = 0; i < keys->length; i++)
        if (sl_is_valid(keys, i)) {
            struct sl_key *key = &set->items[set->count++];
            key->data = sl_bytes_at(keys, i, &key->len);
        }
    qsort(set->items, set->count, sizeof *set->items, compare);
    size_t kept = 0;
    for (size_t i = 0; i < set->count; i++)
        if (i == 0 || compare(&set->items[kept - 1], &set->items[i]) != 0)
            set->items[kept++] = set->items[i];
    set->count = kept;
    return SL_OK;
}

void sl_key_set_free(sl_key_set *set)
{
    sl_free(set->items);
    sl_array_unref(set->values);
    *set = (sl_key_set){0};
}

/* First key that is not below. */
static size_t lower_bound(const sl_key_set *set, const struct sl_key *key)
{
    size_t low = 0, high = set->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&set->items[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool sl_key_set_find(const sl_key_set *set, const void *key, size_t len, size_t *index)
{
    struct sl_key wanted = {key, len};
    *index = lower_bound(set, &wanted);
    return *index < set->count && compare(&set->items[*index], &wanted) == 0;
}

/* ---- in files ------------------------------------------------------------------------------------------ */

/* The keys that the row group may hold: by its Bloom filter, and between its bounds, which are in memory. */
struct candidates {
    const sl_key_set *set;
    size_t first, end;
    bool *absent; /* by index in the set; NULL: no filter was asked */
};

static sl_status by_group_bounds(const sl_parquet *file, size_t row_group, int column, struct candidates *c)
{
    struct sl_parquet_bounds b;
    SL_TRY(sl_parquet_column_bounds(file, row_group, column, &b));
    if (b.has_bounds) {
        struct sl_key lo = {0}, hi = {0};
        lo.data = sl_bytes_at(b.min, 0, &lo.len);
        hi.data = sl_bytes_at(b.max, 0, &hi.len);
        c->first = lower_bound(c->set, &lo);
        while (c->end > c->first && compare(&c->set->items[c->end - 1], &hi) > 0)
            c->end--;
    }
    sl_parquet_bounds_free(&b);
    return SL_OK;
}

#define BLOOM_KEYS_MAX 256 /* a key costs two short reads; of more keys most pages hold some */

static sl_status by_bloom_filter(const sl_parquet *file, size_t row_group, int column, struct candidates *c)
{
    SL_NEW_ARRAY(c->absent, c->set->count + 1);
    for (size_t i = c->first; i < c->end && c->end - c->first <= BLOOM_KEYS_MAX; i++) {
        bool may;
        SL_TRY(sl_parquet_may_contain(file, row_group, column, c->set->items[i].data, c->set->items[i].len,
                                      &may));
        c->absent[i] = !may;
    }
    while (c->first < c->end && c->absent[c->first])
        c->first++;
    return SL_OK;
}

static bool page_may_hold(const struct candidates *c, const struct sl_parquet_page_bounds *b, size_t page)
{
    if (!b->pages[page].has_bounds)
        return true;
    struct sl_key lo = {0}, hi = {0};
    lo.data = sl_bytes_at(b->min, (int64_t)page, &lo.len);
    hi.data = sl_bytes_at(b->max, (int64_t)page, &hi.len);
    size_t at = lower_bound(c->set, &lo);
    if (at < c->first)
        at = c->first;
    for (; at < c->end && compare(&c->set->items[at], &hi) <= 0; at++)
        if (!c->absent[at])
            return true;
    return false;
}

static sl_status select_pages(const sl_parquet *file, size_t row_group, const struct candidates *c,
                              sl_row_ranges *rows)
{
    struct sl_parquet_page_bounds b;
    SL_TRY(slice_key_pages(file, row_group, &b));
    sl_status status = SL_OK;
    for (size_t i = 0; i < b.page_count && !status; i++)
        if (page_may_hold(c, &b, i))
            status = sl_row_ranges_add(rows, b.pages[i].first_row, b.pages[i].rows);
    sl_parquet_page_bounds_free(&b);
    return status;
}

sl_status sl_key_set_select(const sl_key_set *set, const sl_parquet *file, size_t row_group,
                            sl_row_ranges *rows)
{
    int column = slice_key_column(file);
    struct candidates c = {.set = set, .end = set->count};
    sl_status status = SL_OK;
    if (set->count == 0)
        return SL_OK;
    if (column >= 0) {
        SL_GO(by_group_bounds(file, row_group, column, &c));
        SL_GO(by_bloom_filter(file, row_group, column, &c));
        if (c.first == c.end)
            goto done;
    } else if (!(c.absent = sl_calloc(set->count, sizeof *c.absent))) {
        SL_GO(sl_nomem());
    }
    status = select_pages(file, row_group, &c, rows);
done:
    sl_free(c.absent);
    return status;
}
