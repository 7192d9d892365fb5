/* Lists of row ranges: ascending, disjoint, not touching. */
#include "parquet/parquet.h"
#include <assert.h>

SL_INLINE int64_t end_of(const struct sl_row_range *range) { return range->first + range->count; }

sl_status sl_row_ranges_add(sl_row_ranges *ranges, int64_t first, int64_t count)
{
    if (count <= 0)
        return SL_OK;
    if (ranges->count > 0) {
        struct sl_row_range *last = &ranges->items[ranges->count - 1];
        assert(first >= last->first);
        if (first <= end_of(last)) {
            if (first + count > end_of(last))
                last->count = first + count - last->first;
            return SL_OK;
        }
    }
    SL_GROW(ranges->items, ranges->count, ranges->cap, 8);
    ranges->items[ranges->count++] = (struct sl_row_range){first, count};
    return SL_OK;
}

sl_status sl_row_ranges_intersect(const sl_row_ranges *a, const sl_row_ranges *b, sl_row_ranges *out)
{
    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        const struct sl_row_range *x = &a->items[i], *y = &b->items[j];
        int64_t first = x->first > y->first ? x->first : y->first;
        int64_t end = end_of(x) < end_of(y) ? end_of(x) : end_of(y);
        SL_TRY(sl_row_ranges_add(out, first, end - first));
        if (end_of(x) < end_of(y))
            i++;
        else
            j++;
    }
    return SL_OK;
}

sl_status sl_row_ranges_unite(const sl_row_ranges *a, const sl_row_ranges *b, sl_row_ranges *out)
{
    size_t i = 0, j = 0;
    while (i < a->count || j < b->count) {
        bool from_a = j == b->count || (i < a->count && a->items[i].first <= b->items[j].first);
        const struct sl_row_range *next = from_a ? &a->items[i++] : &b->items[j++];
        SL_TRY(sl_row_ranges_add(out, next->first, next->count));
    }
    return SL_OK;
}

int64_t sl_row_ranges_rows(const sl_row_ranges *ranges)
{
    int64_t rows = 0;
    for (size_t i = 0; i < ranges->count; i++)
        rows += ranges->items[i].count;
    return rows;
}

void sl_row_ranges_free(sl_row_ranges *ranges)
{
    sl_free(ranges->items);
    *ranges = (sl_row_ranges){0};
}
