/* An open table with the command's callbacks and signals. There is one at a time. */
#include "cli.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- signals ------------------------------------------------------------------------------------------- */

static sluice_table *volatile table_to_cancel;
static volatile sig_atomic_t interrupt_count;

/* The first signal asks the running operation to end; without a table, or the second time, the program ends at once (what
 * was not published then is invisible all the same). */
static void on_interrupt(int number)
{
    (void)number;
    sluice_table *table = table_to_cancel;
    if (!table || interrupt_count++)
        _exit(STATUS_INTERRUPTED);
    sluice_table_cancel(table);
}

void signals_install(void)
{
    static const int interrupts[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {0}, before;
    sigemptyset(&action.sa_mask);
    action.sa_handler = on_interrupt;
    for (size_t i = 0; i < sizeof interrupts / sizeof *interrupts; i++)
        if (sigaction(interrupts[i], NULL, &before) == 0 &&
            before.sa_handler != SIG_IGN) /* nohup stays in force */
            (void)sigaction(interrupts[i], &action, NULL);
    action.sa_handler = SIG_IGN;
    (void)sigaction(SIGPIPE, &action, NULL);
    (void)sigaction(SIGXFSZ, &action, NULL); /* `ulimit -f`: the write fails and is undone, like on a full disk */
}

bool interrupted(void) { return interrupt_count != 0; }

/* ---- callbacks ----------------------------------------------------------------------------------------- */

static void on_progress(void *context, const char *step, uint64_t done, uint64_t total)
{
    (void)context;
    progress_update(step, done, total);
}

static void on_log(void *context, int level, const char *text)
{
    static const char *const words[] = {"error", "warning", "info", "debug"};
    const struct args *args = context;
    unsigned shown = 1 + args->times[OPT_VERBOSE];
    if (level >= 0 && level <= 3 && (unsigned)level <= shown)
        note(args, "%s: %s", words[level], text);
}

/* ---- the table ----------------------------------------------------------------------------------------- */

int session_open(const struct args *args, int tolerated, int *code, sluice_table **out)
{
    sluice_error e = {0};
    sluice_table *table;
    int result = sluice_table_open(args->arguments[0], settings_list(&args->settings), &table, &e);
    if (code)
        *code = result;
    if (result)
        return tolerated && result == tolerated ? STATUS_FAILED : fail_error(args, &e);
    sluice_callbacks callbacks = {
        .size = sizeof callbacks, .context = (void *)(uintptr_t)args, .progress = on_progress, .log = on_log};
    sluice_table_callbacks(table, &callbacks);
    table_to_cancel = table;
    progress_begin(args);
    *out = table;
    return STATUS_DONE;
}

void session_close(sluice_table *table)
{
    progress_end();
    table_to_cancel = NULL;
    sluice_table_close(table);
}

int session_describe(const struct args *args, sluice_table *table, enum sluice_description what,
                     json_t **json, char **text)
{
    sluice_error e = {0};
    json_error_t json_error;
    char *found;
    if (sluice_table_describe(table, what, &found, &e))
        return fail_error(args, &e);
    *json = json_loads(found, 0, &json_error);
    if (text && *json)
        *text = found;
    else
        sluice_free(found);
    return *json ? STATUS_DONE : fail_json(args, &json_error);
}
