#include "inputs.h"
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files --------------------------------------------------------------------------------------------- */

static int check_file(const struct args *args, const char *path)
{
    struct stat found;
    if (strstr(path, "://"))
        return STATUS_DONE; /* the library knows */
    if (stat(path, &found) != 0 || access(path, R_OK) != 0)
        return fail(args, "%s: %s", path, strerror(errno));
    if (S_ISDIR(found.st_mode))
        return fail(args, "%s: a folder; the files in it must be named", path);
    return STATUS_DONE;
}

static int check_delimiter(const struct args *args)
{
    const char *text = args->values[OPT_DELIMITER];
    if (text && strcmp(text, "\\t") != 0 &&
        (strlen(text) != 1 || (unsigned char)*text >= 0x80 || strchr("\"\r\n", *text)))
        return fail_usage(
            args, "--delimiter \"%s\": one ASCII character is expected, no quote and no line end", text);
    return STATUS_DONE;
}

static char delimiter(const struct args *args)
{
    const char *text = args->values[OPT_DELIMITER];
    return text ? strcmp(text, "\\t") == 0 ? '\t' : *text : 0;
}

int inputs_open(const struct args *args, size_t first, struct input **out, size_t *count)
{
    size_t n = args->argument_count - first, standard = 0;
    struct input *inputs = cli_alloc(n * sizeof *inputs);
    int status = check_delimiter(args);
    for (size_t i = 0; i < n && !status; i++) {
        const char *path = args->arguments[first + i];
        bool is_standard = strcmp(path, "-") == 0;
        inputs[i] = (struct input){.name = is_standard ? "standard input" : path, .path = path};
        if (given(args, OPT_INPUT_FORMAT))
            inputs[i].format =
                cli_options[OPT_INPUT_FORMAT].choices[args_choice(args, OPT_INPUT_FORMAT)].value;
        if (is_standard && standard++)
            status = fail_usage(args, "standard input (-) can be read only once");
        else if (is_standard && !inputs[i].format)
            status = fail_usage(args,
                                "standard input: --input-format is missing (parquet, csv, tsv, jsonl, avro)");
        else if (!is_standard)
            status = check_file(args, path);
    }
    if (!status)
        status = rejects_check(args, inputs, n);
    if (status) {
        inputs_close(inputs, n);
        return status;
    }
    *out = inputs;
    *count = n;
    return STATUS_DONE;
}

void inputs_close(struct input *inputs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (inputs[i].found.release)
            inputs[i].found.release(&inputs[i].found);
        if (inputs[i].copy)
            (void)unlink(inputs[i].copy);
        free(inputs[i].copy);
    }
    free(inputs);
}

/* "a.CSV.gz" has the ending "csv". */
static bool has_ending(const char *path, const char *ending)
{
    size_t n = strlen(path), e = strlen(ending);
    if (n > 3 && strcmp(path + n - 3, ".gz") == 0)
        n -= 3;
    else if (n > 4 && strcmp(path + n - 4, ".zst") == 0)
        n -= 4;
    if (n <= e || path[n - e - 1] != '.')
        return false;
    for (size_t i = 0; i < e; i++)
        if (tolower((unsigned char)path[n - e + i]) != ending[i])
            return false;
    return true;
}

static bool has_format(const struct input *input, const char *format)
{
    return input->format ? strcmp(input->format, format) == 0 : has_ending(input->path, format);
}

static bool is_jsonl(const struct input *input)
{
    return has_format(input, "jsonl") ||
           (!input->format && (has_ending(input->path, "ndjson") || has_ending(input->path, "json")));
}

static bool is_csv(const struct input *input) { return has_format(input, "csv") || has_format(input, "tsv"); }

static int copy_failed(const struct args *args, const char *path)
{
    return fail(args, "%s: copying standard input: %s", path, strerror(errno));
}

static int copy_all(const struct args *args, int to, const char *path)
{
    enum { PIECE = 1 << 18 };
    char *piece = cli_alloc(PIECE);
    ssize_t n = 0;
    int status = STATUS_DONE;
    while (!status &&
           ((n = read(STDIN_FILENO, piece, PIECE)) > 0 || (n < 0 && errno == EINTR && !interrupted())))
        for (ssize_t at = 0, wrote; at < n && !status; at += wrote)
            if ((wrote = write(to, piece + at, (size_t)(n - at))) < 0) {
                if (errno != EINTR)
                    status = copy_failed(args, path);
                wrote = 0;
            }
    if (!status && n < 0)
        status = interrupted() ? STATUS_INTERRUPTED : fail(args, "standard input: %s", strerror(errno));
    free(piece);
    return status;
}

/* Its columns must be known before its rows are read. */
static int copy_standard_input(const struct args *args, struct input *input)
{
    const char *folder = getenv("TMPDIR");
    input->copy = cli_text("%s/sluice-input-XXXXXX", folder && *folder ? folder : "/tmp");
    int fd = mkstemp(input->copy);
    if (fd < 0) {
        int status = copy_failed(args, input->copy);
        free(input->copy);
        input->copy = NULL;
        return status;
    }
    int status = copy_all(args, fd, input->copy);
    if (close(fd) != 0 && !status)
        status = copy_failed(args, input->copy);
    input->path = input->copy;
    return status;
}

int input_error(const struct args *args, const struct input *input, sluice_error *e)
{
    char *at = input->copy ? strstr(e->message, input->copy) : NULL;
    if (at) {
        char *behind = cli_copy(at + strlen(input->copy));
        snprintf(at, sizeof e->message - (size_t)(at - e->message), "%s%s", input->name, behind);
        free(behind);
    }
    return fail_error(args, e);
}

/* ---- columns ------------------------------------------------------------------------------------------- */

static void ignore_row(void *context, const sluice_rejected_row *row)
{
    (void)context;
    (void)row;
}

/* As sluice_schema_of_file, which knows nothing of delimiters and of rows that shall be left out. Wrong rows are told when their turn
 * comes: the first one may be wrong by a value, which only the table's types tell. */
static int schema_of_text(const struct args *args, const struct input *input, struct ArrowSchema *out,
                          sluice_error *e)
{
    sluice_input_options options = {.size = sizeof options,
                                    .format = input->format,
                                    .delimiter = delimiter(args),
                                    .null_text = args->values[OPT_NULL_TEXT],
                                    .reject = ignore_row,
                                    .memory = args_memory(args)};
    struct ArrowArrayStream rows;
    int code = sluice_input_open(input->path, &options, &rows, e);
    if (code)
        return code;
    code = rows.get_schema(&rows, out);
    if (code) {
        stream_error(&rows, e);
        code = e->code;
    }
    rows.release(&rows);
    return code;
}

/* What is missed next, a column of the table, would lead astray. */
static void doubt_delimiter(const struct args *args, const struct input *input)
{
    const struct ArrowSchema *found = &input->found;
    if (is_csv(input) && !given(args, OPT_DELIMITER) && found->n_children == 1 &&
        strpbrk(found->children[0]->name, ",;|\t"))
        note(args, "%s: the header is read as one column, `%s` (--delimiter says what is between fields)",
             input->name, found->children[0]->name);
}

int input_look(const struct args *args, struct input *input)
{
    sluice_error e = {0};
    int status = STATUS_DONE;
    if (input->found.release)
        return STATUS_DONE;
    if (strcmp(input->path, "-") == 0)
        status = copy_standard_input(args, input);
    if (status)
        return status;
    bool by_rows = is_csv(input) || (is_jsonl(input) && given(args, OPT_REJECT));
    int code = by_rows ? schema_of_text(args, input, &input->found, &e)
                       : sluice_schema_of_file(input->path, input->format, &input->found, &e);
    if (code)
        return input_error(args, input, &e);
    doubt_delimiter(args, input);
    return STATUS_DONE;
}

bool is_meta_column(const char *name)
{
    static const char *const names[] = {"_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key",
                                        "_hoodie_partition_path", "_hoodie_file_name"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static const struct ArrowSchema *field_named(const struct ArrowSchema *schema, const char *name)
{
    for (int64_t i = 0; i < schema->n_children; i++)
        if (strcmp(schema->children[i]->name, name) == 0)
            return schema->children[i];
    return NULL;
}

/* A schema without a release counts as released; the owner of the fields releases them. */
static void release_nothing(struct ArrowSchema *schema) { schema->release = NULL; }

static void borrowed_begin(struct borrowed_schema *s, size_t fields_max)
{
    *s = (struct borrowed_schema){.schema = {.format = "+s", .name = "", .release = release_nothing}};
    s->fields = cli_alloc(fields_max * sizeof *s->fields);
    s->schema.children = cli_alloc(fields_max * sizeof *s->schema.children);
}

static struct ArrowSchema *borrowed_add(struct borrowed_schema *s, const struct ArrowSchema *field)
{
    struct ArrowSchema *copy = &s->fields[s->schema.n_children];
    *copy = *field;
    copy->release = release_nothing;
    s->schema.children[s->schema.n_children++] = copy;
    return copy;
}

/* A field of any texts. */
static void make_text(struct ArrowSchema *field)
{
    field->format = "u";
    field->n_children = 0;
    field->children = NULL;
    field->dictionary = NULL;
    field->metadata = NULL;
    field->flags = ARROW_FLAG_NULLABLE;
}

void borrowed_free(struct borrowed_schema *schema)
{
    free(schema->fields);
    free(schema->schema.children);
}

void table_columns(const struct ArrowSchema *found, struct borrowed_schema *out)
{
    borrowed_begin(out, (size_t)found->n_children);
    for (int64_t i = 0; i < found->n_children; i++)
        if (!is_meta_column(found->children[i]->name)) {
            struct ArrowSchema *field = borrowed_add(out, found->children[i]);
            if (strcmp(field->format, "n") == 0) /* a column without a single value */
                make_text(field);
        }
}

/* Text that is not looked at: the table's columns are what can come. What would be inferred of JSON lines is not asked, and may
 * not even fit together ("Infinity" beside numbers). */
static bool is_unseen(const struct input *input, bool streaming)
{
    return is_jsonl(input) || (strcmp(input->path, "-") == 0 && streaming && is_csv(input));
}

/* The type of a column: the table's, or else that of `field`, with nulls for the rows that are there. */
static void want(struct borrowed_schema *out, const struct ArrowSchema *field,
                 const struct ArrowSchema *table, enum input_use use)
{
    const struct ArrowSchema *known = field_named(table, field->name);
    if (is_meta_column(field->name) || field_named(&out->schema, field->name) ||
        (!known && use == INPUT_FOR_KEYS))
        return;
    struct ArrowSchema *copy = borrowed_add(out, known ? known : field);
    if (!known)
        copy->flags |= ARROW_FLAG_NULLABLE;
    if (!known && strcmp(field->format, "n") == 0)
        make_text(copy);
}

static void want_all(struct borrowed_schema *out, const struct ArrowSchema *columns,
                     const struct ArrowSchema *table, enum input_use use)
{
    for (int64_t i = 0; i < columns->n_children; i++)
        want(out, columns->children[i], table, use);
}

static void want_found(struct borrowed_schema *out, const struct ArrowSchema *found,
                       const struct ArrowSchema *asked, const struct ArrowSchema *table, enum input_use use)
{
    for (int64_t i = 0; i < found->n_children; i++) {
        const struct ArrowSchema *as_asked = field_named(asked, found->children[i]->name);
        want(out, as_asked ? as_asked : found->children[i], table, use);
    }
}

static int look_at_all(const struct args *args, struct input *inputs, size_t count, bool streaming)
{
    int status = STATUS_DONE;
    for (size_t i = 0; i < count && !status; i++)
        if (!is_unseen(&inputs[i], streaming))
            status = input_look(args, &inputs[i]);
        else if (is_csv(&inputs[i]) && count > 1)
            status = fail_usage(
                args, "CSV from standard input that is committed as it comes must be the only input");
    return status;
}

/* What a file lacks would silently become null. */
static int check_complete(const struct args *args, const struct input *inputs, size_t count,
                          const struct borrowed_schema *wanted)
{
    for (size_t i = 0; i < count; i++)
        for (int64_t f = 0; f < wanted->schema.n_children && !is_jsonl(&inputs[i]); f++)
            if (!field_named(&inputs[i].found, wanted->schema.children[f]->name))
                return fail(args, "%s: column %s is missing, another input has it", inputs[i].name,
                            wanted->schema.children[f]->name);
    return STATUS_DONE;
}

int inputs_wanted(const struct args *args, struct input *inputs, size_t count,
                  const struct ArrowSchema *table, const struct ArrowSchema *asked, enum input_use use,
                  bool streaming, struct borrowed_schema *out)
{
    *out = (struct borrowed_schema){0};
    int status = look_at_all(args, inputs, count, streaming);
    if (status)
        return status;
    int64_t fields = table->n_children + asked->n_children;
    for (size_t i = 0; i < count; i++)
        fields += inputs[i].found.n_children;
    borrowed_begin(out, (size_t)fields);
    for (size_t i = 0; i < count; i++) {
        if (is_unseen(&inputs[i], streaming)) {
            want_all(out, table, table, use);
            want_all(out, asked, table, use);
        }
        want_found(out, &inputs[i].found, asked, table, use);
    }
    return count > 1 ? check_complete(args, inputs, count, out) : STATUS_DONE;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

int rejects_check(const struct args *args, const struct input *inputs, size_t count)
{
    struct stat file, input;
    const char *path = args->values[OPT_REJECT];
    if (!path || stat(path, &file) != 0)
        return STATUS_DONE;
    for (size_t i = 0; i < count; i++)
        if (stat(inputs[i].path, &input) == 0 && input.st_dev == file.st_dev && input.st_ino == file.st_ino)
            return fail_usage(args, "--reject %s: this is one of the inputs", path);
    return STATUS_DONE;
}

int rejects_begin(const struct args *args)
{
    struct stat file;
    const char *path = args->values[OPT_REJECT];
    if (path && stat(path, &file) == 0 && S_ISREG(file.st_mode) && truncate(path, 0) != 0)
        return fail(args, "--reject %s: %s", path, strerror(errno));
    return STATUS_DONE;
}

/* What is not UTF-8 cannot stand in JSON: its bytes as hexadecimal digits, as `query` writes them. */
static json_t *text_json(const sluice_rejected_row *row)
{
    json_t *text = json_stringn(row->text, row->bytes);
    if (text)
        return text;
    char *digits = cli_alloc(2 * row->bytes + 5);
    memcpy(digits, "hex:", 4);
    for (size_t i = 0; i < row->bytes; i++)
        snprintf(digits + 4 + 2 * i, 3, "%02x", (unsigned)(unsigned char)row->text[i]);
    text = json_string(digits);
    free(digits);
    return text;
}

/* {"file":..., "line":..., "reason":..., "row":{...}}, or "text" in place of a row. */
static bool write_reject(FILE *file, const char *name, const sluice_rejected_row *row)
{
    json_t *line =
        json_pack("{s:s, s:I, s:s}", "file", name, "line", (json_int_t)row->line, "reason", row->reason);
    if (line && !row->json)
        json_object_set_new(line, "text", text_json(row));
    char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
    bool is_written =
        text && (row->json /* goes in as it is: a tree of JSON would round its numbers */
                     ? fprintf(file, "%.*s,\"row\":%s}\n", (int)strlen(text) - 1, text, row->json)
                     : fprintf(file, "%s\n", text)) >= 0;
    free(text);
    json_decref(line);
    return is_written;
}

static void on_reject(void *context, const sluice_rejected_row *row)
{
    struct rejects *r = context;
    const char *path = r->args->values[OPT_REJECT];
    if (r->count++ == 0) {
        note(r->args, "%s: line %" PRIu64 ": %s (this row and others like it go to %s)", r->name, row->line,
             row->reason, path);
        r->file = fopen(path, "wb");
        r->failed = r->file ? 0 : errno;
    }
    if (r->file && !write_reject(r->file, r->name, row))
        r->failed = errno ? errno : EILSEQ;
}

int rejects_close(struct rejects *r)
{
    const char *path = r->args->values[OPT_REJECT];
    if (r->file && fclose(r->file) != 0 && !r->failed)
        r->failed = errno;
    r->file = NULL;
    return r->failed ? fail(r->args, "--reject %s: %s", path, strerror(r->failed)) : STATUS_DONE;
}

int input_rows(const struct args *args, struct input *input, const struct ArrowSchema *wanted,
               const struct input_pace *pace, struct rejects *rejects, struct ArrowArrayStream *out)
{
    sluice_error e = {0};
    sluice_input_options options = {.size = sizeof options,
                                    .format = input->format,
                                    .schema = wanted,
                                    .delimiter = delimiter(args),
                                    .null_text = args->values[OPT_NULL_TEXT],
                                    .reject = given(args, OPT_REJECT) ? on_reject : NULL,
                                    .context = rejects,
                                    .batch_rows = pace->batch_rows,
                                    .memory = pace->memory,
                                    .table = pace->table,
                                    .operation = pace->operation,
                                    .waited = pace->waited,
                                    .ignore_surplus = pace->operation == SLUICE_DELETE,
                                    .idle_ms = strcmp(input->path, "-") == 0 ? pace->idle_ms : 0};
    rejects->name = input->name;
    return sluice_input_open(input->path, &options, out, &e) ? input_error(args, input, &e) : STATUS_DONE;
}
