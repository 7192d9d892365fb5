/* The writing verbs: inputs -> writer -> one commit, or many while the rows come; and delete-partition. */
#include "inputs.h"
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct write_run {
    const struct args *args;
    enum sluice_operation operation;
    sluice_creation *creation; /* of a table that was not there; NULL: it was */
    sluice_table *table;
    sluice_writer *writer;
    struct ArrowSchema columns; /* the table's; for a delete those that make its keys */
    struct ArrowSchema asked;   /* those of --schema, when the table was there */
    struct input *inputs;
    size_t input_count;
    struct rejects rejects;
    struct commit_triggers triggers;
    double waiting_since; /* of the first row that is not committed; 0: there is none */
    double waited;        /* for input, since the writer was opened or the last commit */
    bool has_committed;
};

/* How long standard input may be silent before the triggers and signals are looked at. */
enum { IDLE_MS = 100 };

/* ---- the table ----------------------------------------------------------------------------------------- */

static int create_for(struct write_run *w)
{
    int status = given(w->args, OPT_SCHEMA) ? STATUS_DONE : input_look(w->args, &w->inputs[0]);
    if (!status)
        status = create_table(w->args, &w->inputs[0].found, &w->creation);
    if (!status && w->creation)
        note(w->args, "table %s: created", w->args->arguments[0]);
    return status;
}

/* A table that was made for rows which nobody could write has the columns of a mistake. */
static void take_back_table(const struct write_run *w)
{
    int gone = 0;
    sluice_error e = {0};
    if (!w->creation || w->has_committed)
        return;
    if (sluice_creation_undo(w->creation, &gone, &e))
        (void)fail_error(w->args, &e);
    else if (gone)
        note(w->args, "table %s: removed again", w->args->arguments[0]);
}

/* With --key the table is made when there is none; another writer may be making it at the same time. */
static int open_table(struct write_run *w)
{
    bool may_create = given(w->args, OPT_KEY) && w->operation != SLUICE_DELETE;
    int code, status = session_open(w->args, may_create ? SLUICE_E_NOT_FOUND : 0, &code, &w->table);
    if (status && may_create && code == SLUICE_E_NOT_FOUND) {
        status = create_for(w);
        if (!status)
            status = session_open(w->args, 0, NULL, &w->table);
    } else if (!status)
        status = create_check(w->args);
    if (!status && given(w->args, OPT_SCHEMA) && !w->creation)
        status = schema_option(w->args, &w->asked);
    if (status)
        return status;
    sluice_error e = {0};
    int result = w->operation == SLUICE_DELETE ? sluice_table_key_schema(w->table, &w->columns, &e)
                                               : sluice_table_schema(w->table, &w->columns, &e);
    return result ? fail_error(w->args, &e) : STATUS_DONE;
}

/* ---- commits ------------------------------------------------------------------------------------------- */

static int commit(struct write_run *w)
{
    sluice_commit_info info = {.size = sizeof info};
    sluice_error e = {0};
    if (sluice_writer_commit(w->writer, &info, &e))
        return fail_error(w->args, &e);
    w->waiting_since = 0;
    w->has_committed = true;
    progress_erase();
    explain_commit(w->args, w->table, &info);
    print_commit(w->args, &info, given(w->args, OPT_REJECT) ? (int64_t)w->rejects.count : -1, w->waited);
    w->waited = 0;
    if (w->triggers.is_any)
        (void)fflush(stdout); /* main looks at the stream's state */
    if (w->triggers.is_any && w->rejects.file)
        (void)fflush(w->rejects.file); /* closing it tells what failed */
    return STATUS_DONE;
}

static int commit_if_due(struct write_run *w)
{
    uint64_t rows, bytes;
    if (!w->triggers.is_any || !w->writer)
        return STATUS_DONE;
    sluice_writer_waiting(w->writer, &rows, &bytes);
    if (rows && w->waiting_since == 0)
        w->waiting_since = monotonic_seconds();
    return commit_is_due(&w->triggers, rows, bytes, monotonic_seconds() - w->waiting_since) ? commit(w)
                                                                                            : STATUS_DONE;
}

static int commit_the_rest(struct write_run *w)
{
    uint64_t rows, bytes;
    sluice_writer_waiting(w->writer, &rows, &bytes);
    int status = rows || !w->has_committed ? commit(w) : STATUS_DONE;
    progress_end();
    progress_explain();
    return status;
}

static int interrupted_error(const struct write_run *w)
{
    sluice_error e = {.code = SLUICE_E_CANCELLED};
    return fail_error(w->args, &e);
}

/* Opening an input looks at its first bytes: until there are any, commits and signals must not wait. */
static int wait_for_input(struct write_run *w, const struct input *input)
{
    struct pollfd standard = {.fd = STDIN_FILENO, .events = POLLIN};
    int status = STATUS_DONE, ready = 0;
    if (!w->triggers.is_any || strcmp(input->path, "-") != 0)
        return STATUS_DONE;
    while (!status && ready <= 0) {
        double begun = monotonic_seconds();
        ready = poll(&standard, 1, IDLE_MS);
        w->waited += monotonic_seconds() - begun;
        if (ready <= 0)
            status = interrupted() ? interrupted_error(w) : commit_if_due(w);
    }
    return status;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static int open_writer(struct write_run *w, struct ArrowArrayStream *rows)
{
    struct ArrowSchema schema = {0};
    sluice_error e = {0};
    if (rows->get_schema(rows, &schema)) {
        stream_error(rows, &e);
        return fail_error(w->args, &e);
    }
    int code = sluice_writer_open(w->table, w->operation, &schema, &w->writer, &e);
    schema.release(&schema);
    w->waited = 0;
    return code ? fail_error(w->args, &e) : STATUS_DONE;
}

/* Batch by batch, so that a failure of the input is told as the input's, with its place in the file. */
static int append_batches(struct write_run *w, const struct input *input, struct ArrowArrayStream *rows)
{
    int status = STATUS_DONE;
    for (; !status; status = commit_if_due(w)) {
        struct ArrowArray batch = {0};
        sluice_error e = {0};
        if (interrupted())
            e.code = SLUICE_E_CANCELLED;
        else if (rows->get_next(rows, &batch))
            stream_error(rows, &e);
        else if (!batch.release)
            return STATUS_DONE;
        else if (sluice_writer_append(w->writer, &batch, &e) && input) {
            sluice_error inner = e;
            snprintf(e.message, sizeof e.message, "%s: %.1900s", input->name, inner.message);
        }
        if (e.code)
            return input ? input_error(w->args, input, &e) : fail_error(w->args, &e);
    }
    return status;
}

/* Takes over the stream. `input` NULL: rows of the table itself. */
static int append(struct write_run *w, const struct input *input, struct ArrowArrayStream *rows)
{
    int status = w->writer ? STATUS_DONE : open_writer(w, rows);
    if (!status)
        status = append_batches(w, input, rows);
    rows->release(rows);
    return status;
}

static int append_inputs(struct write_run *w)
{
    enum input_use use = w->operation == SLUICE_DELETE ? INPUT_FOR_KEYS : INPUT_FOR_ROWS;
    struct borrowed_schema wanted;
    struct input_pace pace = {.batch_rows = commit_batch_rows(&w->triggers),
                              .memory = sluice_table_memory(w->table),
                              .idle_ms = w->triggers.is_any ? IDLE_MS : 0,
                              .table = w->table,
                              .operation = w->operation,
                              .waited = &w->waited};
    int status = inputs_wanted(w->args, w->inputs, w->input_count, &w->columns, &w->asked, use,
                               w->triggers.is_any, &wanted);
    for (size_t i = 0; i < w->input_count && !status; i++) {
        struct ArrowArrayStream rows;
        status = wait_for_input(w, &w->inputs[i]);
        if (!status)
            status = input_rows(w->args, &w->inputs[i], &wanted.schema, &pace, &w->rejects, &rows);
        if (!status)
            status = append(w, &w->inputs[i], &rows);
    }
    borrowed_free(&wanted);
    return status;
}

/* ---- delete --where ------------------------------------------------------------------------------------ */

/* The key and partition columns of the rows that match; they are read while they are handed to the writer. */
static int append_matching(struct write_run *w)
{
    size_t count = (size_t)w->columns.n_children;
    const char **names = cli_alloc((count + 1) * sizeof *names);
    sluice_error e = {0};
    sluice_scan *scan = NULL;
    struct ArrowArrayStream rows;
    int status = STATUS_DONE;
    for (size_t i = 0; i < count; i++)
        names[i] = w->columns.children[i]->name;
    if (sluice_scan_new(w->table, &scan, &e) || sluice_scan_columns(scan, names, count, &e) ||
        sluice_scan_where(scan, w->args->values[OPT_WHERE], &e) || sluice_scan_stream(scan, &rows, &e))
        status = fail_error(w->args, &e);
    else
        status = append(w, NULL, &rows);
    sluice_scan_free(scan);
    free(names);
    return status;
}

/* ---- the verbs ----------------------------------------------------------------------------------------- */

static int run_write(const struct args *args, enum sluice_operation operation)
{
    struct write_run w = {.args = args, .operation = operation, .rejects = {.args = args}};
    int status = commit_triggers_read(args, &w.triggers);
    if (!status && args->argument_count > 1)
        status = inputs_open(args, 1, &w.inputs, &w.input_count);
    if (!status)
        status = open_table(&w);
    if (!status)
        status = rejects_begin(args);
    if (!status)
        status = w.input_count ? append_inputs(&w) : append_matching(&w);
    int rejected = rejects_close(&w.rejects);
    if (!status)
        status = rejected;
    if (!status)
        status = commit_the_rest(&w);
    sluice_writer_close(w.writer);
    if (w.columns.release)
        w.columns.release(&w.columns);
    if (w.asked.release)
        w.asked.release(&w.asked);
    if (w.table)
        session_close(w.table);
    if (status)
        take_back_table(&w);
    sluice_creation_free(w.creation);
    inputs_close(w.inputs, w.input_count);
    return status;
}

int cmd_upsert(const struct args *args) { return run_write(args, SLUICE_UPSERT); }
int cmd_insert(const struct args *args) { return run_write(args, SLUICE_INSERT); }
int cmd_bulk_insert(const struct args *args) { return run_write(args, SLUICE_BULK_INSERT); }
int cmd_insert_overwrite(const struct args *args) { return run_write(args, SLUICE_INSERT_OVERWRITE); }
int cmd_insert_overwrite_table(const struct args *args)
{
    return run_write(args, SLUICE_INSERT_OVERWRITE_TABLE);
}

int cmd_delete(const struct args *args)
{
    bool has_files = args->argument_count > 1, has_where = given(args, OPT_WHERE);
    if (has_files == has_where)
        return fail_usage(args, has_files ? "files and --where do not go together"
                                          : "files with keys, or --where, are missing");
    return run_write(args, SLUICE_DELETE);
}

int cmd_delete_partition(const struct args *args)
{
    sluice_table *table;
    sluice_commit_info info = {.size = sizeof info};
    sluice_error e = {0};
    int status = session_open(args, 0, NULL, &table);
    if (status)
        return status;
    if (sluice_table_delete_partitions(table, args->arguments + 1, args->argument_count - 1, &info, &e))
        status = fail_error(args, &e);
    else
        print_commit(args, &info, -1, 0);
    session_close(table);
    return status;
}
