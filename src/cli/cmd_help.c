/* help, version, completion: what the table of commands says. */
#include "cli.h"
#include <string.h>

int cmd_version(const struct args *args)
{
    if (given(args, OPT_JSON))
        print_json(json_pack("{s:s}", "version", sluice_version()));
    else
        printf("sluice %s\n", sluice_version());
    return STATUS_DONE;
}

int cmd_completion(const struct args *args)
{
    if (strcmp(args->arguments[0], "bash") != 0)
        return fail_usage(args, "%s: only bash is known", args->arguments[0]);
    help_bash(stdout);
    return STATUS_DONE;
}

static int help_for(const struct args *args, const char *name)
{
    const struct verb *verb = verb_named(name);
    if (verb && verb->run) {
        help_verb(stdout, verb);
        return STATUS_DONE;
    }
    if (verb) {
        fail(args, "%s: not available in this version", name);
        return STATUS_USAGE;
    }
    fail(args, "%s: unknown verb", name);
    hint("`sluice help` lists the verbs");
    return STATUS_USAGE;
}

int cmd_help(const struct args *args)
{
    if (args->argument_count)
        return help_for(args, args->arguments[0]);
    if (given(args, OPT_MAN))
        help_man(stdout);
    else if (given(args, OPT_MARKDOWN))
        help_markdown(stdout);
    else
        help_overview(stdout);
    return STATUS_DONE;
}
