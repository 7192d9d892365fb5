/* Sizes and times as options take them: a number and a unit. What a size is, the library knows. */
#include "cli.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint64_t args_memory(const struct args *args)
{
    uint64_t bytes = 0;
    const char *text = settings_get(&args->settings, "sluice.memory");
    return text && !sluice_size_parse(text, &bytes, NULL) ? bytes : 0;
}

int args_bytes(const struct args *args, enum option_id id, uint64_t *out)
{
    uint64_t bytes;
    if (sluice_size_parse(args->values[id], &bytes, NULL) || bytes == 0)
        return fail_usage(args, "--%s: \"%s\" is no size like 64MiB", cli_options[id].name, args->values[id]);
    *out = bytes;
    return STATUS_DONE;
}

/* "10s", "1.5m". */
static bool parse_time(const char *text, double *out)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"", 1}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}};
    char *end;
    errno = 0;
    double number = strtod(text, &end);
    if (!isdigit((unsigned char)*text) || errno || number <= 0)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].name) == 0) {
            *out = number * units[i].seconds;
            return true;
        }
    return false;
}

int args_seconds(const struct args *args, enum option_id id, double *out)
{
    if (!parse_time(args->values[id], out))
        return fail_usage(args, "--%s: \"%s\" is no time like 500ms, 10s or 5m", cli_options[id].name,
                          args->values[id]);
    return STATUS_DONE;
}
