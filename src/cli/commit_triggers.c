/* --commit-rows, --commit-bytes, --commit-interval: when a write that goes on publishes what it has. */
#include "cli.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct unit {
    const char *name;
    double factor;
};
static const struct unit size_units[] = {
    {"", 1},     {"B", 1},         {"K", 1 << 10}, {"KB", 1e3}, {"KiB", 1 << 10}, {"M", 1 << 20},
    {"MB", 1e6}, {"MiB", 1 << 20}, {"G", 1 << 30}, {"GB", 1e9}, {"GiB", 1 << 30}, {NULL, 0},
};
static const struct unit time_units[] = {{"", 1}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}, {NULL, 0}};

/* "10s", "1.5GiB". */
static int read_quantity(const struct args *args, enum option_id id, const struct unit *units, double *out)
{
    const char *text = args->values[id];
    char *end;
    errno = 0;
    double number = strtod(text, &end);
    for (; units->name; units++)
        if (strcmp(end, units->name) == 0)
            break;
    if (!isdigit((unsigned char)*text) || errno || !units->name || number <= 0)
        return fail_usage(args, "--%s: \"%s\" is no %s", cli_options[id].name, text,
                          id == OPT_COMMIT_BYTES ? "size like 64MiB" : "time like 500ms, 10s or 5m");
    *out = number * units->factor;
    return STATUS_DONE;
}

int commit_triggers_read(const struct args *args, struct commit_triggers *out)
{
    *out = (struct commit_triggers){.is_any = given(args, OPT_COMMIT_ROWS) || given(args, OPT_COMMIT_BYTES) ||
                                              given(args, OPT_COMMIT_INTERVAL)};
    int status = args_number(args, OPT_COMMIT_ROWS, 0, &out->rows);
    if (!status && given(args, OPT_COMMIT_ROWS) && out->rows == 0)
        status = fail_usage(args, "--commit-rows: 0 is too few");
    if (!status && given(args, OPT_COMMIT_BYTES))
        status = read_quantity(args, OPT_COMMIT_BYTES, size_units, &out->bytes);
    if (!status && given(args, OPT_COMMIT_INTERVAL))
        status = read_quantity(args, OPT_COMMIT_INTERVAL, time_units, &out->seconds);
    return status;
}

bool commit_is_due(const struct commit_triggers *t, uint64_t rows, uint64_t bytes, double waited)
{
    return rows > 0 &&
           ((t->rows && rows >= (uint64_t)t->rows) || (t->bytes > 0 && (double)bytes >= t->bytes) ||
            (t->seconds > 0 && waited >= t->seconds));
}

/* Batches that make up --commit-rows without a rest, as far as its factors allow. */
int64_t commit_batch_rows(const struct commit_triggers *t)
{
    enum { BATCH_ROWS = 16384 };
    if (!t->rows)
        return 0;
    int64_t batches = (t->rows + BATCH_ROWS - 1) / BATCH_ROWS;
    return (t->rows + batches - 1) / batches;
}
