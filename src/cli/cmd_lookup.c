/* lookup: the rows of given record keys. */
#include "cli.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct keys {
    char **items;
    size_t *bytes;
    size_t count, cap;
};

static void keys_add(struct keys *k, const char *text, size_t len)
{
    if (k->count == k->cap) {
        k->cap = k->cap ? k->cap * 2 : 64;
        k->items = cli_grow(k->items, k->cap * sizeof *k->items);
        k->bytes = cli_grow(k->bytes, k->cap * sizeof *k->bytes);
    }
    char *copy = cli_alloc(len + 1);
    memcpy(copy, text, len);
    k->items[k->count] = copy;
    k->bytes[k->count++] = len;
}

static void keys_free(struct keys *k)
{
    for (size_t i = 0; i < k->count; i++)
        free(k->items[i]);
    free(k->items);
    free(k->bytes);
}

/* A key a line; "-" is standard input. Empty lines are no keys. */
static int keys_read(const struct args *args, const char *path, struct keys *k)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    char *line = NULL;
    size_t cap = 0;
    ssize_t len;
    if (!file)
        return fail(args, "%s: %s", path, strerror(errno));
    errno = 0;
    while ((len = getline(&line, &cap, file)) >= 0) {
        if (len > 0 && line[len - 1] == '\n')
            len--;
        if (len > 0 && line[len - 1] == '\r')
            len--;
        if (len > 0)
            keys_add(k, line, (size_t)len);
    }
    int why = ferror(file) ? errno : 0;
    free(line);
    if (file != stdin)
        fclose(file);
    return why ? fail(args, "%s: %s", path, strerror(why)) : STATUS_DONE;
}

static int keys_collect(const struct args *args, struct keys *k)
{
    for (size_t i = 1; i < args->argument_count; i++)
        if (strcmp(args->arguments[i], "-") != 0)
            keys_add(k, args->arguments[i], strlen(args->arguments[i]));
        else if (keys_read(args, "-", k))
            return STATUS_FAILED;
    if (given(args, OPT_KEYS) && keys_read(args, args->values[OPT_KEYS], k))
        return STATUS_FAILED;
    if (args->argument_count < 2 && !given(args, OPT_KEYS))
        return fail_usage(args, "no key is given");
    return STATUS_DONE;
}

/* Which keys were not found is for the reader of the rows; how many is worth a line, as missing keys are no failure. */
static void print_found(const struct args *args, const sluice_scan_stats *stats, const struct keys *k)
{
    char rows[NUMBER_TEXT], keys[NUMBER_TEXT];
    note(args, "%s %s found for %s %s", count_text(stats->rows_out, rows),
         stats->rows_out == 1 ? "row" : "rows", count_text(k->count, keys), k->count == 1 ? "key" : "keys");
}

static int look_up(const struct args *args, sluice_table *table, const struct keys *k,
                   const sluice_lookup_options *options)
{
    double begun = monotonic_seconds();
    struct ArrowArrayStream rows;
    sluice_error e = {0};
    if (sluice_lookup(table, (const char *const *)k->items, k->count, options, &rows, &e))
        return fail_error(args, &e);
    double found = monotonic_seconds();
    int status = print_rows(args, &rows, NULL);
    if (status)
        return status;
    explain_read(args, options->stats, found - begun, monotonic_seconds() - found);
    print_found(args, options->stats, k);
    return STATUS_DONE;
}

static int lookup(const struct args *args, sluice_table *table, const struct keys *k)
{
    sluice_scan_stats stats = {.size = sizeof stats};
    size_t column_count;
    char **columns;
    int status = output_columns(args, table, &columns, &column_count);
    if (status)
        return status;
    sluice_lookup_options options = {.size = sizeof options,
                                     .columns = (const char *const *)columns,
                                     .column_count = column_count,
                                     .partitions = given(args, OPT_IN) ? &args->values[OPT_IN] : NULL,
                                     .partition_count = 1,
                                     .key_bytes = k->bytes,
                                     .stats = &stats};
    status = look_up(args, table, k, &options);
    free_names(columns);
    return status;
}

int cmd_lookup(const struct args *args)
{
    struct keys keys = {0};
    sluice_table *table;
    int status = check_format(args);
    if (!status)
        status = keys_collect(args, &keys);
    if (!status)
        status = session_open(args, 0, NULL, &table);
    if (!status) {
        status = lookup(args, table, &keys);
        session_close(table);
    }
    keys_free(&keys);
    return status;
}
