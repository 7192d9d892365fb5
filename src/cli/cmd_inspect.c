/* inspect: one file, its structure or its rows. */
#include "cli.h"
#include <stdlib.h>
#include <string.h>

/* ---- the first rows of a stream ------------------------------------------------------------------------ */

struct limited {
    struct ArrowArrayStream rows;
    int64_t left;
};

static int limited_schema(struct ArrowArrayStream *self, struct ArrowSchema *out)
{
    struct limited *l = self->private_data;
    return l->rows.get_schema(&l->rows, out);
}

static int limited_next(struct ArrowArrayStream *self, struct ArrowArray *out)
{
    struct limited *l = self->private_data;
    if (l->left <= 0) {
        memset(out, 0, sizeof *out);
        return 0;
    }
    int code = l->rows.get_next(&l->rows, out);
    if (code || !out->release)
        return code;
    if (out->length > l->left) {
        out->length = l->left; /* a struct may be shorter than its children */
        out->null_count = -1;
    }
    l->left -= out->length;
    return 0;
}

static const char *limited_error(struct ArrowArrayStream *self)
{
    struct limited *l = self->private_data;
    return l->rows.get_last_error(&l->rows);
}

static void limited_release(struct ArrowArrayStream *self)
{
    struct limited *l = self->private_data;
    l->rows.release(&l->rows);
    free(l);
    self->release = NULL;
}

static void limit_rows(struct ArrowArrayStream *rows, int64_t limit)
{
    struct limited *l = cli_alloc(sizeof *l);
    l->rows = *rows;
    l->left = limit;
    *rows = (struct ArrowArrayStream){limited_schema, limited_next, limited_error, limited_release, l};
}

/* ---- the verb ------------------------------------------------------------------------------------------ */

static int inspect_rows(const struct args *args)
{
    struct ArrowArrayStream rows;
    sluice_error e = {0};
    int64_t limit;
    int status = args_number(args, OPT_LIMIT, -1, &limit);
    if (status)
        return status;
    if (sluice_inspect_rows(args->arguments[0], &rows, &e))
        return fail_error(args, &e);
    if (limit >= 0)
        limit_rows(&rows, limit);
    return print_rows(args, &rows, NULL);
}

static int inspect_structure(const struct args *args)
{
    sluice_error e = {0};
    char *text;
    if (sluice_inspect(args->arguments[0], &text, &e))
        return fail_error(args, &e);
    int status = STATUS_DONE;
    if (given(args, OPT_JSON))
        puts(text);
    else {
        json_error_t json_error;
        json_t *json = json_loads(text, 0, &json_error);
        if (json)
            view_json(json, stdout, 0);
        else
            status = fail_json(args, &json_error);
        json_decref(json);
    }
    sluice_free(text);
    return status;
}

int cmd_inspect(const struct args *args)
{
    static const enum option_id of_rows[] = {OPT_LIMIT, OPT_FORMAT, OPT_OUTPUT};
    for (size_t i = 0; !given(args, OPT_ROWS) && i < sizeof of_rows / sizeof *of_rows; i++)
        if (given(args, of_rows[i]))
            return fail_usage(args, "--%s goes with --rows", cli_options[of_rows[i]].name);
    if (!given(args, OPT_ROWS))
        return inspect_structure(args);
    int status = check_format(args);
    return status ? status : inspect_rows(args);
}
