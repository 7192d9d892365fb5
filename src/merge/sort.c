/*
 * Stable sort of row references by key. Every level works on the next 8 key bytes as a number: the common
 * prefix of the rows at hand is skipped, the numbers are sorted by a radix sort (least significant byte
 * first, constant bytes skipped), and rows that agree go one level deeper. Keys of one table share long
 * prefixes, which is why the level skips them.
 */
#include "merge/merge_int.h"

enum {
    SMALL = 32,      /* below: insertion sort */
    LEVELS_MAX = 40, /* beyond (keys made for it): merge sort, so that the stack stays small */
};

struct sort_context {
    const sl_array *const *keys;
};

SL_INLINE const uint8_t *entry_key(const struct sort_context *s, const struct sort_entry *e, size_t *len)
{
    return sl_bytes_at(s->keys[e->chunk], e->row, len);
}

static int compare_from(const struct sort_context *s, const struct sort_entry *a, const struct sort_entry *b,
                        size_t depth)
{
    size_t a_len, b_len;
    const uint8_t *a_key = entry_key(s, a, &a_len), *b_key = entry_key(s, b, &b_len);
    return bytes_compare(a_key + depth, a_len - depth, b_key + depth, b_len - depth);
}

static void load_prefixes(const struct sort_context *s, struct sort_entry *e, size_t n, size_t depth)
{
    for (size_t i = 0; i < n; i++) {
        size_t len;
        const uint8_t *key = entry_key(s, &e[i], &len);
        e[i].prefix = len > depth ? key_prefix(key + depth, len - depth) : 0;
    }
}

SL_INLINE bool entry_less(const struct sort_context *s, const struct sort_entry *a,
                          const struct sort_entry *b, size_t depth)
{
    if (a->prefix != b->prefix)
        return a->prefix < b->prefix;
    return compare_from(s, a, b, depth) < 0;
}

static void insertion_sort(const struct sort_context *s, struct sort_entry *e, size_t n, size_t depth)
{
    for (size_t i = 1; i < n; i++) {
        struct sort_entry moving = e[i];
        size_t at = i;
        for (; at > 0 && entry_less(s, &moving, &e[at - 1], depth); at--)
            e[at] = e[at - 1];
        e[at] = moving;
    }
}

/* Bottom-up; works on whatever prefixes are loaded for `depth`. */
static void merge_sort(const struct sort_context *s, struct sort_entry *e, struct sort_entry *spare, size_t n,
                       size_t depth)
{
    for (size_t from = 0; from < n; from += SMALL)
        insertion_sort(s, e + from, n - from < SMALL ? n - from : SMALL, depth);
    struct sort_entry *in = e, *out = spare;
    for (size_t width = SMALL; width < n; width *= 2) {
        for (size_t from = 0; from < n; from += 2 * width) {
            size_t middle = from + width < n ? from + width : n,
                   end = middle + width < n ? middle + width : n;
            size_t a = from, b = middle;
            for (size_t at = from; at < end; at++)
                out[at] =
                    b == end || (a < middle && !entry_less(s, &in[b], &in[a], depth)) ? in[a++] : in[b++];
        }
        struct sort_entry *swap = in;
        in = out;
        out = swap;
    }
    if (in != e)
        memcpy(e, in, n * sizeof *e);
}

static void radix_sort(struct sort_entry *e, struct sort_entry *spare, size_t n)
{
    static const size_t buckets = 256;
    size_t histogram[8][256] = {{0}};
    for (size_t i = 0; i < n; i++)
        for (int byte = 0; byte < 8; byte++)
            histogram[byte][(e[i].prefix >> (8 * byte)) & 0xff]++;
    struct sort_entry *in = e, *out = spare;
    for (int byte = 0; byte < 8; byte++) {
        size_t *start = histogram[byte], sum = 0;
        if (start[(e[0].prefix >> (8 * byte)) & 0xff] == n)
            continue; /* the same everywhere */
        for (size_t b = 0; b < buckets; b++) {
            size_t here = start[b];
            start[b] = sum;
            sum += here;
        }
        for (size_t i = 0; i < n; i++)
            out[start[(in[i].prefix >> (8 * byte)) & 0xff]++] = in[i];
        struct sort_entry *swap = in;
        in = out;
        out = swap;
    }
    if (in != e)
        memcpy(e, in, n * sizeof *e);
}

/* Bytes from `depth` on that all keys share. */
static size_t common_bytes(const struct sort_context *s, const struct sort_entry *e, size_t n, size_t depth)
{
    size_t first_len;
    const uint8_t *first = entry_key(s, &e[0], &first_len);
    size_t common = first_len - depth;
    for (size_t i = 1; i < n && common > 0; i++) {
        size_t len, at = 0;
        const uint8_t *key = entry_key(s, &e[i], &len);
        if (len - depth < common)
            common = len - depth;
        while (at < common && first[depth + at] == key[depth + at])
            at++;
        common = at;
    }
    return common;
}

/* Stable: keys that end within the 8 bytes before `end` to the front. They are smaller: their zeros are
 * padding. */
static size_t ended_first(const struct sort_context *s, struct sort_entry *e, struct sort_entry *spare,
                          size_t n, size_t end)
{
    size_t ended = 0, going = 0;
    for (size_t i = 0; i < n; i++) {
        size_t len;
        entry_key(s, &e[i], &len);
        if (len > end)
            spare[going++] = e[i];
        else
            e[ended++] = e[i];
    }
    memcpy(e + ended, spare, going * sizeof *e);
    return ended;
}

static void sort_level(const struct sort_context *s, struct sort_entry *e, struct sort_entry *spare, size_t n,
                       size_t depth, int level)
{
    if (n < 2)
        return;
    if (n > SMALL)
        depth += common_bytes(s, e, n, depth);
    load_prefixes(s, e, n, depth);
    if (n <= SMALL || level == LEVELS_MAX) {
        merge_sort(s, e, spare, n, depth);
        return;
    }
    radix_sort(e, spare, n);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && e[to].prefix == e[from].prefix;)
            to++;
        if (to - from < 2)
            continue;
        size_t ended = ended_first(s, e + from, spare, to - from, depth + 8);
        merge_sort(s, e + from, spare, ended, depth); /* by length: "a" before "a\0" */
        sort_level(s, e + from + ended, spare, to - from - ended, depth + 8, level + 1);
    }
}

static bool is_sorted(const struct sort_context *s, const struct sort_entry *e, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (entry_less(s, &e[i], &e[i - 1], 0))
            return false;
    return true;
}

void sort_entries(struct sort_entry *entries, struct sort_entry *spare, size_t count,
                  const sl_array *const *keys)
{
    struct sort_context s = {keys};
    load_prefixes(&s, entries, count, 0);
    if (!is_sorted(&s, entries, count))
        sort_level(&s, entries, spare, count, 0, 0);
}
