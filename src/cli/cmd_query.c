/* query, and the printing of rows that inspect shares. */
#include "inputs.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* The order of the choices of --format. */
enum output_format {
    FORMAT_TABLE,
    FORMAT_CSV,
    FORMAT_JSONL,
    FORMAT_CANONICAL,
    FORMAT_PARQUET,
    FORMAT_COUNT,
    FORMAT_ARROW
};

/* ---- format -------------------------------------------------------------------------------------------- */

/* In any case of letters, as for inputs. */
static bool ends_with(const char *path, const char *ending)
{
    size_t n = strlen(path), e = strlen(ending);
    return n > e && strcasecmp(path + n - e, ending) == 0;
}

/* What would promise something else than what is written: other tools go by the name. */
static int check_output_name(const struct args *args)
{
    static const char *const compressed[] = {".gz", ".zst", ".bz2", ".xz"};
    static const char *const others[] = {".tsv", ".avro", ".arrow", ".feather", ".orc", ".xlsx"};
    const char *path = args->values[OPT_OUTPUT];
    for (size_t i = 0; path && i < sizeof compressed / sizeof *compressed; i++)
        if (ends_with(path, compressed[i]))
            return fail_usage(args,
                              "-o %s: what is written is not compressed; pipe standard output into a "
                              "compressor",
                              path);
    for (size_t i = 0; path && !given(args, OPT_FORMAT) && i < sizeof others / sizeof *others; i++)
        if (ends_with(path, others[i]))
            return fail_usage(args, "-o %s: no such format is written; --format says which", path);
    return STATUS_DONE;
}

static enum output_format format_of(const struct args *args)
{
    const char *path = args->values[OPT_OUTPUT];
    if (given(args, OPT_FORMAT))
        return (enum output_format)args_choice(args, OPT_FORMAT);
    if (path && ends_with(path, ".parquet"))
        return FORMAT_PARQUET;
    if (path && ends_with(path, ".csv"))
        return FORMAT_CSV;
    if (given(args, OPT_JSON) || path || !isatty(STDOUT_FILENO))
        return FORMAT_JSONL;
    return FORMAT_TABLE;
}

int check_format(const struct args *args)
{
    enum output_format format = format_of(args);
    if (format == FORMAT_ARROW) {
        fail(args, "--format arrow: not available in this version");
        return STATUS_USAGE;
    }
    if (format == FORMAT_PARQUET && !given(args, OPT_OUTPUT))
        return fail_usage(args, "--format parquet needs a file (-o FILE)");
    if (given(args, OPT_JSON) && given(args, OPT_FORMAT) && format != FORMAT_JSONL && format != FORMAT_COUNT)
        return fail_usage(args, "--json and --format %s do not go together", args->values[OPT_FORMAT]);
    return check_output_name(args);
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

struct target {
    FILE *file;
    int failed; /* errno */
};

static int write_piece(void *context, const char *text, size_t len)
{
    struct target *t = context;
    if (isatty(fileno(t->file)))
        progress_end(); /* rows and a progress line do not share a terminal */
    errno = 0;
    if (fwrite(text, 1, len, t->file) == len)
        return 0;
    t->failed = errno ? errno : EIO;
    return 1;
}

static int write_text(const struct args *args, enum output_format format, struct ArrowArrayStream *rows,
                      struct target *t, uint64_t *count)
{
    static const enum sluice_text texts[] = {[FORMAT_TABLE] = SLUICE_TEXT_TABLE,
                                             [FORMAT_CSV] = SLUICE_TEXT_CSV,
                                             [FORMAT_JSONL] = SLUICE_TEXT_JSONL,
                                             [FORMAT_CANONICAL] = SLUICE_TEXT_CANONICAL,
                                             [FORMAT_COUNT] = SLUICE_TEXT_COUNT};
    sluice_output_options options = {
        .size = sizeof options, .format = texts[format], .width = (int32_t)terminal_width(t->file)};
    sluice_error e = {0};
    if (args_number(args, OPT_LIMIT, 0, &options.max_rows) ||
        !sluice_output_text(rows, &options, write_piece, t, count, &e))
        return STATUS_DONE;
    if (t->failed == EPIPE)
        return STATUS_DONE; /* the reader has had enough (`sluice query | head`) */
    if (t->failed)
        return fail(args, "%s: %s", given(args, OPT_OUTPUT) ? args->values[OPT_OUTPUT] : "standard output",
                    strerror(t->failed));
    return fail_error(args, &e);
}

static int write_text_file(const struct args *args, enum output_format format, struct ArrowArrayStream *rows,
                           const char *path, uint64_t *count)
{
    struct target t = {.file = fopen(path, "wb")};
    if (!t.file) {
        int why = errno;
        rows->release(rows);
        return fail(args, "%s: %s", args->values[OPT_OUTPUT], strerror(why));
    }
    int status = write_text(args, format, rows, &t, count);
    if (fclose(t.file) != 0 && !status)
        status = fail(args, "%s: %s", args->values[OPT_OUTPUT], strerror(errno));
    return status;
}

static int write_file(const struct args *args, enum output_format format, struct ArrowArrayStream *rows,
                      uint64_t *count)
{
    struct output_file file;
    int status = STATUS_DONE;
    output_file_begin(&file, args->values[OPT_OUTPUT]);
    if (format == FORMAT_PARQUET) {
        sluice_error e = {0};
        if (sluice_output_parquet(rows, output_file_path(&file), count, &e))
            status = fail_error(args, &e);
    } else
        status = write_text_file(args, format, rows, output_file_path(&file), count);
    return output_file_end(&file, args, status);
}

static void print_written(const struct args *args, uint64_t count)
{
    char text[NUMBER_TEXT];
    if (given(args, OPT_JSON))
        print_json(json_pack("{s:I, s:s}", "rows", (json_int_t)count, "file", args->values[OPT_OUTPUT]));
    else if (!given(args, OPT_QUIET))
        printf("%s: %s %s, %s\n", args->what, count_text(count, text), count == 1 ? "row" : "rows",
               args->values[OPT_OUTPUT]);
}

static int discard_piece(void *context, const char *text, size_t len)
{
    (void)context;
    (void)text;
    (void)len;
    return 0;
}

static int print_count_json(const struct args *args, struct ArrowArrayStream *rows, uint64_t *count)
{
    sluice_output_options options = {.size = sizeof options, .format = SLUICE_TEXT_COUNT};
    sluice_error e = {0};
    if (sluice_output_text(rows, &options, discard_piece, NULL, count, &e))
        return fail_error(args, &e);
    print_json(json_pack("{s:I}", "rows", (json_int_t)*count));
    return STATUS_DONE;
}

int print_rows(const struct args *args, struct ArrowArrayStream *rows, uint64_t *row_count)
{
    enum output_format format = format_of(args);
    uint64_t count = 0;
    int status;
    if (given(args, OPT_OUTPUT)) {
        status = write_file(args, format, rows, &count);
        if (!status)
            print_written(args, count);
    } else if (format == FORMAT_COUNT && given(args, OPT_JSON))
        status = print_count_json(args, rows, &count);
    else {
        struct target t = {.file = stdout};
        status = write_text(args, format, rows, &t, &count);
    }
    if (row_count)
        *row_count = count;
    return status;
}

/* ---- query --------------------------------------------------------------------------------------------- */

/* The columns that the table had at --as-of, meta columns among them: a table gains columns, and a scan knows no younger ones. */
static int schema_as_of(const struct args *args, sluice_table *table, struct ArrowSchema *out)
{
    sluice_scan *scan;
    struct ArrowArrayStream rows;
    sluice_error e = {0};
    if (sluice_scan_new(table, &scan, &e))
        return fail_error(args, &e);
    int status = STATUS_DONE;
    if (sluice_scan_as_of(scan, args->values[OPT_AS_OF], &e) || sluice_scan_limit(scan, 0, &e) ||
        sluice_scan_stream(scan, &rows, &e)) {
        status = fail_error(args, &e);
    } else {
        if (rows.get_schema(&rows, out)) {
            stream_error(&rows, &e);
            status = fail_error(args, &e);
        }
        rows.release(&rows);
    }
    sluice_scan_free(scan);
    return status;
}

static int schema_of_table(const struct args *args, sluice_table *table, struct ArrowSchema *out)
{
    sluice_error e = {0};
    return sluice_table_schema(table, out, &e) ? fail_error(args, &e) : STATUS_DONE;
}

static int data_columns(const struct args *args, sluice_table *table, char ***names, size_t *count)
{
    struct ArrowSchema schema;
    int status =
        given(args, OPT_AS_OF) ? schema_as_of(args, table, &schema) : schema_of_table(args, table, &schema);
    if (status)
        return status;
    *names = cli_alloc(((size_t)schema.n_children + 1) * sizeof **names);
    for (int64_t i = 0; i < schema.n_children; i++)
        if (!is_meta_column(schema.children[i]->name))
            (*names)[(*count)++] = cli_copy(schema.children[i]->name);
    schema.release(&schema);
    return STATUS_DONE;
}

int output_columns(const struct args *args, sluice_table *table, char ***names, size_t *count)
{
    enum output_format format = format_of(args);
    *names = NULL;
    *count = 0;
    if (given(args, OPT_COLUMNS)) {
        *names = split_names(args->values[OPT_COLUMNS], count);
        if (*count)
            return STATUS_DONE;
        free_names(*names);
        return fail_usage(args, "--columns: no column is named");
    }
    if (format == FORMAT_COUNT) { /* rows are counted without reading any */
        *names = cli_alloc(sizeof **names);
        return STATUS_DONE;
    }
    return given(args, OPT_META) || format == FORMAT_CANONICAL ? STATUS_DONE
                                                               : data_columns(args, table, names, count);
}

static int choose_columns(const struct args *args, sluice_table *table, sluice_scan *scan)
{
    size_t count;
    char **names;
    sluice_error e = {0};
    int status = output_columns(args, table, &names, &count);
    if (status)
        return status;
    if (names && sluice_scan_columns(scan, (const char *const *)names, count, &e))
        status = fail_error(args, &e);
    free_names(names);
    return status;
}

static int narrow(const struct args *args, sluice_scan *scan)
{
    int64_t limit;
    sluice_error e = {0};
    int status = args_number(args, OPT_LIMIT, -1, &limit);
    if (status)
        return status;
    if ((given(args, OPT_WHERE) && sluice_scan_where(scan, args->values[OPT_WHERE], &e)) ||
        (given(args, OPT_AS_OF) && sluice_scan_as_of(scan, args->values[OPT_AS_OF], &e)) ||
        (given(args, OPT_READ_OPTIMIZED) && sluice_scan_read_optimized(scan, &e)) ||
        (limit >= 0 && sluice_scan_limit(scan, limit, &e)))
        return fail_error(args, &e);
    return STATUS_DONE;
}

static int query(const struct args *args, sluice_table *table, sluice_scan *scan)
{
    double begun = monotonic_seconds();
    struct ArrowArrayStream rows;
    sluice_error e = {0};
    int status = choose_columns(args, table, scan);
    if (!status)
        status = narrow(args, scan);
    if (status)
        return status;
    if (sluice_scan_stream(scan, &rows, &e))
        return fail_error(args, &e);
    double opened = monotonic_seconds();
    status = print_rows(args, &rows, NULL);
    if (!status) {
        sluice_scan_stats stats = {.size = sizeof stats};
        sluice_scan_get_stats(scan, &stats);
        explain_read(args, &stats, opened - begun, monotonic_seconds() - opened);
    }
    return status;
}

int cmd_query(const struct args *args)
{
    sluice_table *table;
    sluice_scan *scan = NULL;
    sluice_error e = {0};
    int status = check_format(args);
    if (!status)
        status = session_open(args, 0, NULL, &table);
    if (status)
        return status;
    status = sluice_scan_new(table, &scan, &e) ? fail_error(args, &e) : query(args, table, scan);
    sluice_scan_free(scan);
    session_close(table);
    return status;
}
