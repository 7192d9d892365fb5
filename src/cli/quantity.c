/* Sizes and times as options take them: a number and a unit. */
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
static bool parse_quantity(const char *text, const struct unit *units, double *out)
{
    char *end;
    errno = 0;
    double number = strtod(text, &end);
    for (; units->name; units++)
        if (strcmp(end, units->name) == 0)
            break;
    if (!isdigit((unsigned char)*text) || errno || !units->name || number <= 0)
        return false;
    *out = number * units->factor;
    return true;
}

static int read_quantity(const struct args *args, enum option_id id, const struct unit *units,
                         const char *form, double *out)
{
    if (!parse_quantity(args->values[id], units, out))
        return fail_usage(args, "--%s: \"%s\" is no %s", cli_options[id].name, args->values[id], form);
    return STATUS_DONE;
}

double args_memory(const struct args *args)
{
    double bytes;
    return args->values[OPT_MEMORY] && parse_quantity(args->values[OPT_MEMORY], size_units, &bytes) ? bytes
                                                                                                    : 0;
}

int args_bytes(const struct args *args, enum option_id id, double *out)
{
    return read_quantity(args, id, size_units, "size like 64MiB", out);
}

int args_seconds(const struct args *args, enum option_id id, double *out)
{
    return read_quantity(args, id, time_units, "time like 500ms, 10s or 5m", out);
}
