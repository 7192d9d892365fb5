/* compact, log-compact, service and rollback. */
#include "cli.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- plans --------------------------------------------------------------------------------------------- */

static void add_operation(struct view *v, const json_t *operation)
{
    const json_t *logs = json_object_get(operation, "deltaFilePaths"),
                 *metrics = json_object_get(operation, "metrics");
    char count[NUMBER_TEXT], read[NUMBER_TEXT] = "";
    const json_t *mb = json_object_get(metrics, "TOTAL_IO_READ_MB");
    if (json_is_number(mb))
        snprintf(read, sizeof read, "%.0f MB", json_number_value(mb));
    view_add(v, (const char *const[]){json_text(operation, "partitionPath"), json_text(operation, "fileId"),
                                      json_text(operation, "dataFilePath"),
                                      count_text(json_array_size(logs), count), read});
}

static void print_plan(const struct args *args, const json_t *plan)
{
    static const struct view_column columns[] = {
        {"partition", false}, {"file group", false}, {"base file", false}, {"logs", true}, {"to read", true},
    };
    const json_t *operations = json_object_get(plan, "operations");
    if (json_array_size(operations) == 0) {
        printf("%s: nothing to do\n", args->what);
        return;
    }
    struct view *v = view_new(columns, sizeof columns / sizeof *columns);
    size_t i;
    json_t *operation;
    json_array_foreach(operations, i, operation) add_operation(v, operation);
    view_print(v, stdout, 0);
    view_free(v);
}

static int preview(const struct args *args, sluice_table *table, enum sluice_service service)
{
    sluice_error e = {0};
    char *text;
    if (sluice_service_preview(table, service, &text, &e))
        return fail_error(args, &e);
    json_error_t json_error;
    json_t *plan = json_loads(text, JSON_DECODE_ANY, &json_error);
    int status = plan ? STATUS_DONE : fail_json(args, &json_error);
    if (plan && given(args, OPT_JSON))
        puts(text);
    else if (plan)
        print_plan(args, plan);
    json_decref(plan);
    sluice_free(text);
    return status;
}

static int schedule(const struct args *args, sluice_table *table, enum sluice_service service)
{
    sluice_error e = {0};
    char instant[32] = "", number[NUMBER_TEXT];
    uint64_t tasks = 0;
    if (sluice_service_schedule(table, service, instant, &tasks, &e))
        return fail_error(args, &e);
    if (given(args, OPT_JSON))
        print_json(json_pack("{s:s, s:o, s:s, s:I}", "operation", args->what, "instant",
                             *instant ? json_string(instant) : json_null(), "state",
                             *instant ? "REQUESTED" : "", "tasks", (json_int_t)tasks));
    else if (!given(args, OPT_QUIET) && *instant)
        printf("%s %s scheduled: %s %s\n", args->what, instant, count_text(tasks, number),
               tasks == 1 ? "task" : "tasks");
    else if (!given(args, OPT_QUIET))
        printf("%s: nothing to do\n", args->what);
    return STATUS_DONE;
}

/* ---- compact and log-compact --------------------------------------------------------------------------- */

static int run(const struct args *args, sluice_table *table, enum sluice_service service)
{
    sluice_commit_info info = {.size = sizeof info};
    sluice_error e = {0};
    if (sluice_service_run(table, service, args->values[OPT_EXECUTE], &info, &e))
        return fail_error(args, &e);
    progress_end();
    progress_explain();
    explain_commit(args, table, &info);
    print_commit(args, &info, -1, 0);
    return STATUS_DONE;
}

static int service_command(const struct args *args, enum sluice_service service)
{
    sluice_table *table;
    if (given(args, OPT_SCHEDULE_ONLY) + given(args, OPT_EXECUTE) + given(args, OPT_DRY_RUN) > 1)
        return fail_usage(args, "only one of --schedule-only, --execute and --dry-run can be given");
    int status = session_open(args, 0, NULL, &table);
    if (status)
        return status;
    if (given(args, OPT_DRY_RUN))
        status = preview(args, table, service);
    else
        status = given(args, OPT_SCHEDULE_ONLY) ? schedule(args, table, service) : run(args, table, service);
    session_close(table);
    return status;
}

int cmd_compact(const struct args *args) { return service_command(args, SLUICE_COMPACT); }
int cmd_log_compact(const struct args *args) { return service_command(args, SLUICE_LOG_COMPACT); }

/* ---- service ------------------------------------------------------------------------------------------- */

/* All that is due; *done counts. Somebody else at work is no failure of a command that comes again. */
static int run_due(const struct args *args, sluice_table *table, size_t *done)
{
    for (*done = 0;; ++*done) {
        sluice_commit_info info = {.size = sizeof info};
        sluice_error e = {0};
        int code = sluice_service_run(table, SLUICE_DUE, NULL, &info, &e);
        if (code == SLUICE_E_BUSY && given(args, OPT_EVERY))
            return STATUS_DONE;
        if (code)
            return fail_error(args, &e);
        if (!*info.instant)
            return STATUS_DONE;
        progress_end();
        explain_commit(args, table, &info);
        print_commit(args, &info, -1, 0);
    }
}

static void rest(double seconds)
{
    for (double end = monotonic_seconds() + seconds; monotonic_seconds() < end && !interrupted();) {
        struct timespec slice = {0, 100000000};
        (void)nanosleep(&slice, NULL);
    }
}

static int serve(const struct args *args, sluice_table *table, double every)
{
    size_t done;
    for (;;) {
        int status = run_due(args, table, &done);
        if (status || interrupted())
            return status;
        if (!given(args, OPT_EVERY)) {
            sluice_commit_info none = {.size = sizeof none};
            if (!done)
                print_commit(args, &none, -1, 0);
            return STATUS_DONE;
        }
        fflush(stdout);
        rest(every);
        if (interrupted())
            return STATUS_INTERRUPTED;
    }
}

int cmd_service(const struct args *args)
{
    sluice_table *table;
    double every = 0;
    int status = given(args, OPT_EVERY) ? args_seconds(args, OPT_EVERY, &every) : STATUS_DONE;
    if (status)
        return status;
    if (given(args, OPT_SCHEDULE_ONLY) + given(args, OPT_EVERY) + given(args, OPT_DRY_RUN) > 1)
        return fail_usage(args, "only one of --schedule-only, --every and --dry-run can be given");
    status = session_open(args, 0, NULL, &table);
    if (status)
        return status;
    if (given(args, OPT_DRY_RUN))
        status = preview(args, table, SLUICE_DUE);
    else
        status =
            given(args, OPT_SCHEDULE_ONLY) ? schedule(args, table, SLUICE_DUE) : serve(args, table, every);
    session_close(table);
    return status;
}

/* ---- rollback ------------------------------------------------------------------------------------------ */

int cmd_rollback(const struct args *args)
{
    sluice_table *table;
    sluice_error e = {0};
    char instant[32] = "", number[NUMBER_TEXT];
    uint64_t files = 0;
    int status = session_open(args, 0, NULL, &table);
    if (status)
        return status;
    double begun = monotonic_seconds();
    if (sluice_table_rollback(table, args->arguments[1], instant, &files, &e))
        status = fail_error(args, &e);
    double seconds = monotonic_seconds() - begun;
    session_close(table);
    if (status)
        return status;
    if (given(args, OPT_JSON))
        print_json(json_pack("{s:s, s:s, s:s, s:s, s:I, s:f}", "operation", "rollback", "instant", instant,
                             "action", "rollback", "rolled_back", args->arguments[1], "files_deleted",
                             (json_int_t)files, "seconds", seconds));
    else if (!given(args, OPT_QUIET)) {
        printf("rollback %s rollback: undid %s, %s %s deleted", instant, args->arguments[1],
               count_text(files, number), files == 1 ? "file" : "files");
        printf(", %s\n", seconds_text(seconds, number));
    }
    return STATUS_DONE;
}
