/* Options of the tables that tests make: pairs of key and value, ended by NULL. */
#ifndef TESTS_TABLE_OPTIONS_H
#define TESTS_TABLE_OPTIONS_H

#include <assert.h>
#include <stddef.h>
#include <string.h>

#define PAIRS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* An lsm_tree table of one bucket a partition with this record key, and what `more` says besides (NULL: nothing) or instead.
 * Lives until the next call. */
static inline const char *const *lsm_options(const char *key, const char *const *more)
{
    static const char *options[64];
    const char *const usual[] = {"hoodie.table.storage.layout",     "lsm_tree",
                                 "hoodie.table.recordkey.fields",   key,
                                 "hoodie.bucket.index.num.buckets", "1"};
    size_t n = 0;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        options[n++] = usual[i];
    for (; more && more[0]; more += 2) {
        size_t at = 0;
        while (at < n && strcmp(options[at], more[0]) != 0)
            at += 2;
        assert(at + 2 < sizeof options / sizeof *options);
        options[at] = more[0];
        options[at + 1] = more[1];
        n = at == n ? n + 2 : n;
    }
    options[n] = NULL;
    return options;
}

#endif
