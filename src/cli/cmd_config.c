/* config: the library's settings. */
#include "cli.h"
#include <string.h>

static int settings_json(const struct args *args, json_t **out)
{
    sluice_error e = {0};
    json_error_t json_error;
    char *text;
    if (sluice_settings(&text, &e))
        return fail_error(args, &e);
    *out = json_loads(text, 0, &json_error);
    sluice_free(text);
    return *out ? STATUS_DONE : fail_json(args, &json_error);
}

static int list(const struct args *args)
{
    static const struct view_column columns[] = {
        {"setting", false}, {"type", false}, {"default", false}, {"meaning", false}};
    json_t *settings, *setting;
    size_t i;
    int status = settings_json(args, &settings);
    if (status)
        return status;
    if (given(args, OPT_JSON)) {
        print_json(settings);
        return STATUS_DONE;
    }
    struct view *v = view_new(columns, sizeof columns / sizeof *columns);
    json_array_foreach(settings, i, setting)
        view_add(v, (const char *const[]){json_text(setting, "key"), json_text(setting, "type"),
                                          json_text(setting, "default"), json_text(setting, "meaning")});
    view_print(v, stdout, 0);
    view_free(v);
    json_decref(settings);
    return STATUS_DONE;
}

static void print_setting(const struct args *args, json_t *setting)
{
    if (given(args, OPT_JSON)) {
        print_json(json_incref(setting));
        return;
    }
    const char *fallback = json_text(setting, "default");
    printf("%s\n  %s\n  type %s, default %s\n  %s\n", json_text(setting, "key"),
           json_text(setting, "meaning"), json_text(setting, "type"), *fallback ? fallback : "none",
           json_is_true(json_object_get(setting, "stored")) ? "stored in the table when it is made"
                                                            : "given with each call (-c, --props)");
}

static int explain(const struct args *args, const char *key)
{
    json_t *settings, *setting, *found = NULL;
    size_t i;
    int status = settings_json(args, &settings);
    if (status)
        return status;
    json_array_foreach(settings, i, setting) if (strcmp(json_text(setting, "key"), key) == 0) found = setting;
    if (found)
        print_setting(args, found);
    else {
        sluice_error e = {0};
        (void)sluice_setting_check(key, "", &e); /* it knows the nearest name */
        fail_error(args, &e);
        status = STATUS_USAGE;
    }
    json_decref(settings);
    return status;
}

int cmd_config(const struct args *args)
{
    const char *what = args->arguments[0];
    if (strcmp(what, "list") == 0 && args->argument_count == 1)
        return list(args);
    if (strcmp(what, "explain") == 0 && args->argument_count == 2)
        return explain(args, args->arguments[1]);
    return fail_usage(args, "sluice config %s", args->verb->form);
}
