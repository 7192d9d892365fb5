/* Partitions by name, as people give them: a path, or values of partition fields. */
#include "table/table_int.h"
#include <string.h>

/* `field=value/field=value`: some of the partition fields, in any order. */
struct wanted {
    const char **values; /* per partition field; NULL: any. Each ends at its length below. */
    size_t *lengths;
};

/* The field that `text` begins with, as `field=`; *prefix gets the length of that. -1: none. */
static int field_at(const struct sl_keygen *keygen, const char *text, size_t *prefix)
{
    for (size_t f = 0; f < keygen->partition_fields.count; f++) {
        size_t len = strlen(keygen->partition_fields.items[f]);
        if (strncmp(text, keygen->partition_fields.items[f], len) == 0 && text[len] == '=') {
            *prefix = len + 1;
            return (int)f;
        }
    }
    return -1;
}

/* A value runs to the slash that the next `field=` follows. */
static size_t value_length(const struct sl_keygen *keygen, const char *value)
{
    size_t prefix;
    const char *slash = value;
    while ((slash = strchr(slash, '/')) && field_at(keygen, slash + 1, &prefix) < 0)
        slash++;
    return slash ? (size_t)(slash - value) : strlen(value);
}

static bool wanted_parse(const struct sl_keygen *keygen, const char *text, struct wanted *out)
{
    for (const char *at = text;;) {
        size_t prefix;
        int field = field_at(keygen, at, &prefix);
        if (field < 0)
            return false;
        out->values[field] = at + prefix;
        out->lengths[field] = value_length(keygen, at + prefix);
        at = out->values[field] + out->lengths[field];
        if (!*at)
            return true;
        at++;
    }
}

static bool wanted_matches(const struct wanted *w, const sl_strings *values)
{
    for (size_t f = 0; f < values->count; f++)
        if (w->values[f] && (strlen(values->items[f]) != w->lengths[f] ||
                             memcmp(values->items[f], w->values[f], w->lengths[f]) != 0))
            return false;
    return true;
}

static sl_status add_matching(const struct sl_keygen *keygen, const sl_strings *all, const struct wanted *w,
                              sl_strings *out)
{
    sl_status status = SL_OK;
    for (size_t i = 0; i < all->count && !status; i++) {
        sl_strings values = {0};
        status = sl_partition_values(keygen, all->items[i], &values);
        if (!status && wanted_matches(w, &values))
            status = sl_strings_add_once(out, all->items[i]);
        sl_strings_free(&values);
    }
    return status;
}

sl_status sl_partitions_named(const sl_table *table, const sl_strings *all, const char *name, sl_strings *out)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->items[i], name) == 0)
            return sl_strings_add_once(out, name);
    size_t fields = table->keygen.partition_fields.count, before = out->count;
    struct wanted w = {.values = sl_calloc(fields + 1, sizeof *w.values),
                       .lengths = sl_calloc(fields + 1, sizeof *w.lengths)};
    sl_status status = w.values && w.lengths ? SL_OK : sl_nomem();
    if (!status && table->keygen_known && wanted_parse(&table->keygen, name, &w))
        status = add_matching(&table->keygen, all, &w, out);
    sl_free(w.values);
    sl_free(w.lengths);
    if (!status && out->count == before)
        status = sl_hint(sl_not_found("there is no partition \"%s\"", name),
                         "a partition is named by its path, as `sluice files` shows it, or by field=value");
    return status;
}
