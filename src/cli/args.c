/*
 * argv by the table of commands. Options may stand anywhere, also before the verb; `--` ends them. What is wrong is said
 * once, with the nearest known name.
 */
#include "cli.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- settings ------------------------------------------------------------------------------------------ */

void settings_set(struct settings *s, const char *key, const char *value)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->items[2 * i], key) == 0) {
            free(s->items[2 * i + 1]);
            s->items[2 * i + 1] = cli_copy(value);
            return;
        }
    s->items = cli_grow(s->items, (2 * s->count + 3) * sizeof *s->items);
    s->items[2 * s->count] = cli_copy(key);
    s->items[2 * s->count + 1] = cli_copy(value);
    s->count++;
    s->items[2 * s->count] = NULL;
}

const char *settings_get(const struct settings *s, const char *key)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->items[2 * i], key) == 0)
            return s->items[2 * i + 1];
    return NULL;
}

const char *const *settings_list(const struct settings *s) { return (const char *const *)s->items; }

void settings_free(struct settings *s)
{
    for (size_t i = 0; i < 2 * s->count; i++)
        free(s->items[i]);
    free(s->items);
}

/* ---- small readers ------------------------------------------------------------------------------------- */

bool given(const struct args *args, enum option_id id) { return args->values[id] != NULL; }

int args_number(const struct args *args, enum option_id id, int64_t otherwise, int64_t *out)
{
    const char *text = args->values[id];
    *out = otherwise;
    if (!text)
        return STATUS_DONE;
    char *end = NULL;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno == ERANGE)
        return fail_usage(args, "--%s: \"%s\" is no whole number", cli_options[id].name, text);
    *out = number;
    return STATUS_DONE;
}

static bool same_word(const char *a, const char *b)
{
    for (; *a && tolower((unsigned char)*a) == tolower((unsigned char)*b); a++, b++) {
    }
    return *a == *b;
}

size_t args_choice(const struct args *args, enum option_id id)
{
    size_t i = 0;
    while (cli_options[id].choices[i].word && !same_word(cli_options[id].choices[i].word, args->values[id]))
        i++;
    return i;
}

char **split_names(const char *text, size_t *count)
{
    char **names = cli_alloc(sizeof *names);
    size_t n = 0;
    while (*text) {
        size_t len = strcspn(text, ","), from = 0, to = len;
        while (from < to && isspace((unsigned char)text[from]))
            from++;
        while (to > from && isspace((unsigned char)text[to - 1]))
            to--;
        if (to > from) {
            names = cli_grow(names, (n + 2) * sizeof *names);
            names[n++] = cli_text("%.*s", (int)(to - from), text + from);
        }
        text += len + (text[len] == ',');
    }
    names[n] = NULL;
    if (count)
        *count = n;
    return names;
}

void free_names(char **names)
{
    for (size_t i = 0; names && names[i]; i++)
        free(names[i]);
    free(names);
}

/* ---- options ------------------------------------------------------------------------------------------- */

static enum option_id option_named(const char *name, size_t len)
{
    for (int id = 1; id < OPTION_COUNT; id++)
        if (strlen(cli_options[id].name) == len && memcmp(cli_options[id].name, name, len) == 0)
            return (enum option_id)id;
    return OPT_NONE;
}

static enum option_id option_lettered(char letter)
{
    for (int id = 1; id < OPTION_COUNT; id++)
        if (cli_options[id].letter == letter)
            return (enum option_id)id;
    return OPT_NONE;
}

static int unknown_option(const struct args *args, const char *word)
{
    const char *nearest = NULL;
    char *name = cli_copy(word + (word[1] == '-' ? 2 : 1));
    name[strcspn(name, "=")] = 0;
    size_t best = strlen(name) / 3 + 2;
    for (int id = 1; id < OPTION_COUNT; id++) {
        if (args->verb && args->verb->run && !verb_takes(args->verb, (enum option_id)id))
            continue;
        size_t distance = edit_distance(name, cli_options[id].name);
        if (distance < best) {
            best = distance;
            nearest = cli_options[id].name;
        }
    }
    fail(args, "%s: unknown option", word);
    if (nearest)
        hint("did you mean --%s?", nearest);
    else
        hint("`sluice help%s%s` lists the options", args->verb ? " " : "", args->verb ? args->what : "");
    free(name);
    return STATUS_USAGE;
}

static int setting_checked(const struct args *args, struct settings *into, const char *key, const char *value)
{
    sluice_error e = {0};
    if (sluice_setting_check(key, value, &e)) {
        fail_error(args, &e);
        return STATUS_USAGE;
    }
    settings_set(into, key, value);
    return STATUS_DONE;
}

/* -c settings are kept apart until the end, as they go before all others. */
static int take_setting(const struct args *args, const char *text, struct settings *direct)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return fail_usage(args, "-c %s: a setting is given as KEY=VALUE", text);
    char *key = cli_text("%.*s", (int)(equals - text), text);
    int status = setting_checked(args, direct, key, equals + 1);
    free(key);
    return status;
}

static int take_choice(const struct args *args, enum option_id id)
{
    const struct choice *choices = cli_options[id].choices;
    if (!choices || choices[args_choice(args, id)].word)
        return STATUS_DONE;
    char *list = cli_copy("");
    for (size_t i = 0; choices[i].word; i++) {
        char *longer = cli_text("%s%s%s", list, i ? ", " : "", choices[i].word);
        free(list);
        list = longer;
    }
    int status =
        fail_usage(args, "--%s %s: one of %s is expected", cli_options[id].name, args->values[id], list);
    free(list);
    return status;
}

static int take_option(struct args *args, enum option_id id, const char *word, const char *value,
                       struct settings *direct)
{
    bool repeats = id == OPT_SETTING || id == OPT_VERBOSE;
    if (args->times[id]++ && !repeats && cli_options[id].value)
        return fail_usage(args, "%s is given twice", word);
    args->values[id] = value;
    return id == OPT_SETTING ? take_setting(args, value, direct) : take_choice(args, id);
}

/* "--name", "--name=value", "-x", "-xvalue". `next` is the following word or NULL; *used says whether it was the value. */
static int parse_option(struct args *args, const char *word, const char *next, struct settings *direct,
                        bool *used)
{
    bool is_long = word[1] == '-';
    size_t len = is_long ? strcspn(word + 2, "=") : 1;
    enum option_id id = is_long ? option_named(word + 2, len) : option_lettered(word[1]);
    const char *rest = word + (is_long ? 2 : 1) + len;
    if (id == OPT_NONE)
        return unknown_option(args, word);
    if (!cli_options[id].value) {
        if (*rest)
            return fail_usage(args, "%s: --%s takes no value", word, cli_options[id].name);
        return take_option(args, id, word, "", direct);
    }
    if (*rest)
        return take_option(args, id, word, rest + is_long, direct);
    if (!next)
        return fail_usage(args, "%s: a value is missing (%s)", word, cli_options[id].value);
    *used = true;
    return take_option(args, id, word, next, direct);
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static int take_verb(struct args *args, const char *word)
{
    args->what = word;
    args->verb = verb_named(word);
    if (args->verb && !args->verb->run) {
        fail(args, "not available in this version");
        return STATUS_USAGE;
    }
    if (args->verb)
        return STATUS_DONE;
    const char *nearest = NULL;
    size_t best = strlen(word) / 3 + 2;
    for (size_t i = 0; i < cli_verb_count; i++) {
        size_t distance = edit_distance(word, cli_verbs[i].name);
        if (cli_verbs[i].run && distance < best) {
            best = distance;
            nearest = cli_verbs[i].name;
        }
    }
    fail(args, "unknown verb");
    if (nearest)
        hint("did you mean `sluice %s`?", nearest);
    else
        hint("`sluice help` lists the verbs");
    return STATUS_USAGE;
}

static int check_options(const struct args *args)
{
    for (int id = 1; id < OPTION_COUNT; id++) {
        if (!args->times[id])
            continue;
        if (!verb_takes(args->verb, (enum option_id)id)) {
            char *word = cli_text("--%s", cli_options[id].name);
            int status = fail_usage(args, "%s is no option of this verb", word);
            free(word);
            return status;
        }
        if (cli_options[id].is_planned) {
            fail(args, "--%s: not available in this version", cli_options[id].name);
            return STATUS_USAGE;
        }
    }
    return STATUS_DONE;
}

static int check_arguments(const struct args *args)
{
    const struct verb *v = args->verb;
    if (args->argument_count < (size_t)v->arguments_min)
        return fail_usage(args,
                          args->argument_count ? "an argument is missing: sluice %s %s"
                                               : "arguments are missing: sluice %s %s",
                          v->name, v->form);
    if (v->arguments_max >= 0 && args->argument_count > (size_t)v->arguments_max)
        return fail_usage(args, "\"%s\": one argument too many: sluice %s %s",
                          args->arguments[v->arguments_max], v->name, v->form);
    for (size_t i = 0; i < args->argument_count; i++)
        if (!*args->arguments[i])
            return fail_usage(args, "argument %zu is empty", i + 1);
    return STATUS_DONE;
}

/* Lowest first: what options bring along, --props, the shorthands, -c. */
static int gather_settings(struct args *args, const struct settings *direct)
{
    struct settings from_file = {0};
    for (int id = 1; id < OPTION_COUNT; id++)
        if (args->values[id] && cli_options[id].implied[0])
            settings_set(&args->settings, cli_options[id].implied[0], cli_options[id].implied[1]);
    int status = given(args, OPT_PROPS) ? props_read(args, args->values[OPT_PROPS], &from_file) : STATUS_DONE;
    for (size_t i = 0; !status && i < from_file.count; i++)
        status = setting_checked(args, &args->settings, from_file.items[2 * i], from_file.items[2 * i + 1]);
    settings_free(&from_file);
    for (int id = 1; !status && id < OPTION_COUNT; id++) {
        const struct option *o = &cli_options[id];
        if (!o->setting || !args->values[id])
            continue;
        const char *value =
            o->choices ? o->choices[args_choice(args, (enum option_id)id)].value : args->values[id];
        status = setting_checked(args, o->describes_table ? &args->table_settings : &args->settings,
                                 o->setting, value);
    }
    for (size_t i = 0; !status && i < direct->count; i++)
        settings_set(&args->settings, direct->items[2 * i], direct->items[2 * i + 1]);
    return status;
}

static int parse_words(int argc, char **argv, struct args *out, struct settings *direct)
{
    int status = STATUS_DONE;
    bool only_arguments = false;
    for (int i = 1; i < argc && !status; i++) {
        char *word = argv[i];
        if (!only_arguments && strcmp(word, "--") == 0)
            only_arguments = true;
        else if (!only_arguments && word[0] == '-' && word[1]) {
            bool used = false;
            status = parse_option(out, word, i + 1 < argc ? argv[i + 1] : NULL, direct, &used);
            i += used;
        } else if (!out->verb)
            status = take_verb(out, word);
        else
            out->arguments[out->argument_count++] = word;
    }
    return status;
}

int args_parse(int argc, char **argv, struct args *out)
{
    struct settings direct = {0};
    *out = (struct args){0};
    out->arguments = cli_alloc((size_t)(argc > 0 ? argc : 1) * sizeof *out->arguments);
    int status = parse_words(argc, argv, out, &direct);
    bool is_asking = given(out, OPT_HELP) || (!out->verb && given(out, OPT_VERSION));
    if (!status && out->verb && !is_asking) {
        status = check_options(out);
        if (!status)
            status = check_arguments(out);
        if (!status)
            status = gather_settings(out, &direct);
    }
    settings_free(&direct);
    return status;
}

void args_free(struct args *args)
{
    free(args->arguments);
    settings_free(&args->settings);
    settings_free(&args->table_settings);
}
