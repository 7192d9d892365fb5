/* The `sluice` command: finds the verb and runs it. Nothing is done before it is needed, so that it starts in milliseconds. */
#include "cli.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Standard output that did not take everything is a failure, except a reader that has had enough (`sluice query | head`). */
static int finish_output(const struct args *args, int status)
{
    errno = 0;
    bool is_bad = fflush(stdout) != 0 || ferror(stdout);
    if (!is_bad || errno == EPIPE || status != STATUS_DONE)
        return status;
    return fail(args, "standard output: %s", errno ? strerror(errno) : "cannot be written");
}

static int run(const struct args *args)
{
    if (!args->verb && given(args, OPT_VERSION))
        return cmd_version(args);
    if (!args->verb && given(args, OPT_HELP))
        return cmd_help(args);
    if (!args->verb) {
        help_overview(stderr);
        return STATUS_USAGE;
    }
    if (given(args, OPT_HELP)) {
        help_verb(stdout, args->verb);
        return STATUS_DONE;
    }
    return args->verb->run(args);
}

int main(int argc, char **argv)
{
    struct args args;
    signals_install();
    int status = args_parse(argc, argv, &args);
    if (!status)
        status = run(&args);
    status = finish_output(&args, status);
    args_free(&args);
    return status;
}
