/* The `sluice` command: finds the verb and runs it. Nothing is done before it is needed, so that it starts in milliseconds. */
#include "cli.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A pipe whose reader has gone reports an error without being written to. */
static bool has_reader(void)
{
    struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&output, 1, 0) < 0 || !(output.revents & POLLERR);
}

/* Standard output that did not take everything is a failure, except when its reader has had enough (`sluice query | head`). */
static int finish_output(const struct args *args, int status)
{
    errno = 0;
    bool is_bad = fflush(stdout) != 0 || ferror(stdout);
    if (!is_bad || status != STATUS_DONE || !has_reader())
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

/* A closed standard stream would give its number to the next file that is opened, which then gets our messages. The stand-in
 * cannot be written, so that it is noticed. */
static void keep_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            if (open("/dev/null", O_RDONLY) < 0) /* takes the lowest free number: fd */
                exit(STATUS_FAILED);
}

/* Open files, their pages and those that are written have a least size. */
#define MEMORY_LEAST ((uint64_t)32 << 20)

static int check_memory(const struct args *args)
{
    uint64_t bytes = args_memory(args);
    return bytes && bytes < MEMORY_LEAST
               ? fail_usage(args, "sluice.memory (--memory) %s: a command takes 32MiB at least",
                            settings_get(&args->settings, "sluice.memory"))
               : STATUS_DONE;
}

int main(int argc, char **argv)
{
    struct args args;
    keep_standard_streams();
    signals_install();
    int status = args_parse(argc, argv, &args);
    memory_prepare(args_memory(&args));
    if (!status)
        status = check_memory(&args);
    if (!status)
        status = run(&args);
    status = finish_output(&args, status);
    args_free(&args);
    return status;
}
