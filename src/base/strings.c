/* Lists of owned strings, and the edit distance behind "did you mean". */
#include "base/base.h"

static sl_status add_owned(sl_strings *list, char *s)
{
    if (!s)
        return sl_nomem();
    if (list->count == list->cap) {
        size_t cap = list->cap ? list->cap * 2 : 8;
        char **items = sl_realloc_array(list->items, cap, sizeof *items);
        if (!items) {
            sl_free(s);
            return sl_nomem();
        }
        list->items = items;
        list->cap = cap;
    }
    list->items[list->count++] = s;
    return SL_OK;
}

sl_status sl_strings_add(sl_strings *list, const char *s) { return add_owned(list, sl_strdup(s)); }

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

sl_status sl_strings_split(sl_strings *list, const char *text, char separator)
{
    for (const char *p = text;;) {
        const char *end = p;
        while (*end && *end != separator)
            end++;
        const char *from = p, *to = end;
        while (from < to && is_blank(*from))
            from++;
        while (to > from && is_blank(to[-1]))
            to--;
        if (to > from)
            SL_TRY(add_owned(list, sl_strndup(from, (size_t)(to - from))));
        if (!*end)
            return SL_OK;
        p = end + 1;
    }
}

bool sl_strings_contain(const sl_strings *list, const char *s)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i], s) == 0)
            return true;
    }
    return false;
}

static int compare_items(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

sl_status sl_strings_add_once(sl_strings *list, const char *s)
{
    return sl_strings_contain(list, s) ? SL_OK : sl_strings_add(list, s);
}

void sl_strings_sort(sl_strings *list)
{
    if (list->count > 1)
        qsort(list->items, list->count, sizeof *list->items, compare_items);
}

void sl_strings_sort_unique(sl_strings *list)
{
    size_t kept = 0;
    sl_strings_sort(list);
    for (size_t i = 0; i < list->count; i++) {
        if (kept && strcmp(list->items[kept - 1], list->items[i]) == 0)
            sl_free(list->items[i]);
        else
            list->items[kept++] = list->items[i];
    }
    list->count = kept;
}

bool sl_strings_find(const sl_strings *sorted, const char *s)
{
    return sorted->count && bsearch(&s, sorted->items, sorted->count, sizeof *sorted->items, compare_items);
}

void sl_strings_free(sl_strings *list)
{
    for (size_t i = 0; i < list->count; i++)
        sl_free(list->items[i]);
    sl_free(list->items);
    *list = (sl_strings){0};
}

/* Longer names are no typing errors of each other; the bound keeps the row on the stack. */
#define NAME_BYTES_MAX 256

size_t sl_edit_distance(const char *a, const char *b)
{
    size_t a_len = strlen(a), b_len = strlen(b);
    if (a_len > NAME_BYTES_MAX || b_len > NAME_BYTES_MAX)
        return strcmp(a, b) == 0 ? 0 : (a_len > b_len ? a_len : b_len);
    size_t row[NAME_BYTES_MAX + 1]; /* row[j]: distance of the first i bytes of a and the first j of b */
    for (size_t j = 0; j <= b_len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            size_t drop = row[j] + 1, insert = row[j - 1] + 1;
            diagonal = row[j];
            size_t best = drop < insert ? drop : insert;
            row[j] = change < best ? change : best;
        }
    }
    return row[b_len];
}
