/* create, also on behalf of a write to a table that is not there yet. */
#include "inputs.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the schema ---------------------------------------------------------------------------------------- */

/* --schema takes a file or a text. What is there is a file; else a name and a type have a blank between them. */
static bool is_schema_text(const char *value)
{
    if (access(value, F_OK) == 0)
        return false;
    return strpbrk(value, " :\n\t") != NULL && !strstr(value, "://");
}

int schema_option(const struct args *args, struct ArrowSchema *out)
{
    const char *value = args->values[OPT_SCHEMA];
    sluice_error e = {0};
    if (is_schema_text(value))
        return sluice_schema_parse(value, out, &e) ? fail_error(args, &e) : STATUS_DONE;
    if (access(value, R_OK) != 0) {
        int status = fail(args, "--schema %s: %s", value, strerror(errno));
        hint("a file of which the columns are taken, or a text like 'id long, name string'");
        return status;
    }
    return sluice_schema_of_file(value, NULL, out, &e) ? fail_error(args, &e) : STATUS_DONE;
}

/* ---- making it ----------------------------------------------------------------------------------------- */

static void all_settings(const struct args *args, struct settings *out)
{
    for (size_t i = 0; i < args->table_settings.count; i++)
        settings_set(out, args->table_settings.items[2 * i], args->table_settings.items[2 * i + 1]);
    for (size_t i = 0; i < args->settings.count; i++)
        settings_set(out, args->settings.items[2 * i], args->settings.items[2 * i + 1]);
}

int create_table(const struct args *args, const struct ArrowSchema *schema, sluice_creation **creation)
{
    struct ArrowSchema own = {0};
    struct borrowed_schema columns = {0};
    struct settings settings = {0};
    sluice_error e = {0};
    int status = given(args, OPT_SCHEMA) ? schema_option(args, &own) : STATUS_DONE;
    if (!status) {
        table_columns(own.release ? &own : schema, &columns);
        all_settings(args, &settings);
        const char *const *options = settings_list(&settings);
        int code = creation
                       ? sluice_table_create_for(args->arguments[0], &columns.schema, options, creation, &e)
                       : sluice_table_create(args->arguments[0], &columns.schema, options, &e);
        if (code && !(creation && code == SLUICE_E_EXISTS))
            status = fail_error(args, &e);
    }
    borrowed_free(&columns);
    if (own.release)
        own.release(&own);
    settings_free(&settings);
    return status;
}

/* ---- one that is there --------------------------------------------------------------------------------- */

static bool same_names(const char *a, const char *b)
{
    char **left = split_names(a, NULL), **right = split_names(b, NULL);
    size_t i = 0;
    while (left[i] && right[i] && strcmp(left[i], right[i]) == 0)
        i++;
    bool is_same = !left[i] && !right[i];
    free_names(left);
    free_names(right);
    return is_same;
}

static int compare(const struct args *args, const json_t *properties)
{
    for (int id = 1; id < OPTION_COUNT; id++) {
        const struct option *o = &cli_options[id];
        const char *stored =
            o->describes_table ? json_string_value(json_object_get(properties, o->setting)) : NULL;
        if (!stored || !args->values[id])
            continue;
        const char *asked =
            o->choices ? o->choices[args_choice(args, (enum option_id)id)].value : args->values[id];
        if (!same_names(asked, stored)) {
            int status = fail(args, "table %s: --%s %s: the table is there and has %s", args->arguments[0],
                              o->name, args->values[id], stored);
            hint("leave --%s out; it is only needed to make a table", o->name);
            return status;
        }
    }
    return STATUS_DONE;
}

int create_check(const struct args *args)
{
    sluice_error e = {0};
    char *text;
    if (!args->table_settings.count)
        return STATUS_DONE;
    char *path = cli_text("%s/.hoodie/hoodie.properties", args->arguments[0]);
    int code = sluice_inspect(path, &text, &e);
    free(path);
    if (code)
        return fail_error(args, &e);
    json_error_t json_error;
    json_t *json = json_loads(text, 0, &json_error);
    sluice_free(text);
    int status = json ? compare(args, json_object_get(json, "properties")) : fail_json(args, &json_error);
    json_decref(json);
    return status;
}

/* ---- the verb ------------------------------------------------------------------------------------------ */

static void print_created(const struct args *args, json_t *info)
{
    if (given(args, OPT_JSON)) {
        json_object_set_new(info, "created", json_true());
        print_json(json_incref(info));
        return;
    }
    if (given(args, OPT_QUIET))
        return;
    const json_t *index = json_object_get(info, "index");
    printf("create %s: table version %d, %s, %s layout, %s", args->arguments[0],
           (int)json_number(info, "version"), json_text(info, "type"), json_text(info, "layout"),
           json_text(info, "merge_mode"));
    if (json_is_object(index) && !json_object_get(index, "buckets"))
        printf(", %s index", json_text(index, "type"));
    else if (json_is_object(index))
        printf(", %d bucket%s", (int)json_number(index, "buckets"),
               json_number(index, "buckets") == 1 ? "" : "s");
    printf("\nreadable by: %s\n", json_text(info, "readable_by"));
}

int cmd_create(const struct args *args)
{
    sluice_table *table;
    json_t *info = NULL;
    if (!given(args, OPT_SCHEMA))
        return fail_usage(args, "--schema is missing");
    if (!given(args, OPT_KEY) && !args->settings.count)
        return fail_usage(args, "--key is missing");
    int status = create_table(args, NULL, NULL);
    if (!status)
        status = session_open(args, 0, NULL, &table);
    if (status)
        return status;
    status = session_describe(args, table, SLUICE_DESCRIBE_INFO, &info, NULL);
    session_close(table);
    if (!status)
        print_created(args, info);
    json_decref(info);
    return status;
}
