/* Messages, results, numbers as text, and the few helpers that every verb needs. */
#include "cli.h"
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- memory -------------------------------------------------------------------------------------------- */

static void *checked(void *memory)
{
    if (memory)
        return memory;
    fputs("sluice: out of memory\n", stderr);
    exit(STATUS_FAILED);
}

void *cli_alloc(size_t bytes) { return checked(calloc(1, bytes ? bytes : 1)); }
void *cli_grow(void *memory, size_t bytes) { return checked(realloc(memory, bytes)); }

char *cli_copy(const char *text)
{
    size_t bytes = strlen(text) + 1;
    return memcpy(checked(malloc(bytes)), text, bytes);
}

static char *text_of(const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int len = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = checked(malloc((size_t)(len < 0 ? 0 : len) + 1));
    *text = 0;
    if (len > 0)
        vsnprintf(text, (size_t)len + 1, format, arguments);
    return text;
}

char *cli_text(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = text_of(format, arguments);
    va_end(arguments);
    return text;
}

/* Levenshtein's distance, in one row; long words are cut. */
size_t edit_distance(const char *a, const char *b)
{
    size_t row[65], n = strlen(b);
    n = n < 64 ? n : 64;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (; *a; a++) {
        size_t diagonal = row[0]++;
        for (size_t j = 1; j <= n; j++) {
            size_t replaced = diagonal + (*a != b[j - 1]);
            diagonal = row[j];
            size_t other = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = replaced < other ? replaced : other;
        }
    }
    return row[n];
}

/* ---- messages ------------------------------------------------------------------------------------------ */

/* Names and values in messages come from files: what could move the cursor or start a line is shown, not sent. */
static void put_escaped(const char *text, FILE *to)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '\n')
            fputs("\\n", to);
        else if (c == '\t')
            fputc(' ', to);
        else if (c < 0x20 || c == 0x7F)
            fprintf(to, "\\x%02x", c);
        else
            fputc(c, to);
    }
}

static void message(const char *prefix, const char *what, const char *text)
{
    progress_erase();
    fputs(prefix, stderr);
    if (what) {
        put_escaped(what, stderr);
        fputs(": ", stderr);
    }
    put_escaped(text, stderr);
    fputc('\n', stderr);
}

int fail(const struct args *args, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = text_of(format, arguments);
    va_end(arguments);
    message("sluice: ", args->what, text);
    free(text);
    return STATUS_FAILED;
}

int fail_usage(const struct args *args, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = text_of(format, arguments);
    va_end(arguments);
    message("sluice: ", args->what, text);
    free(text);
    if (args->verb)
        hint("`sluice help %s` tells how it is used", args->verb->name);
    else
        hint("`sluice help` lists the verbs");
    return STATUS_USAGE;
}

void hint(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = text_of(format, arguments);
    va_end(arguments);
    message("hint: ", NULL, text);
    free(text);
}

void note(const struct args *args, const char *format, ...)
{
    if (given(args, OPT_QUIET))
        return;
    va_list arguments;
    va_start(arguments, format);
    char *text = text_of(format, arguments);
    va_end(arguments);
    message("sluice: ", args->what, text);
    free(text);
}

int fail_error(const struct args *args, const sluice_error *e)
{
    if (e->code == SLUICE_E_CANCELLED || interrupted()) {
        fail(args, "interrupted; nothing half-done is visible");
        return STATUS_INTERRUPTED;
    }
    bool is_said = e->code != SLUICE_E_UNSUPPORTED || strstr(e->message, "support");
    fail(args, "%s%s", *e->message ? e->message : "failed without a message",
         is_said ? "" : ": not supported");
    if (*e->hint)
        hint("%s", e->hint);
    return e->code == SLUICE_E_BUSY || e->code == SLUICE_E_CONFLICT ? STATUS_CONFLICT : STATUS_FAILED;
}

void stream_error(struct ArrowArrayStream *rows, sluice_error *e)
{
    const char *why = rows->get_last_error(rows), *second = why ? strstr(why, "\nhint: ") : NULL;
    *e = (sluice_error){.code = SLUICE_E_INPUT};
    snprintf(e->message, sizeof e->message, "%s", why ? why : "cannot be read");
    if (second) {
        snprintf(e->hint, sizeof e->hint, "%s", second + strlen("\nhint: "));
        if ((size_t)(second - why) < sizeof e->message)
            e->message[second - why] = '\0';
    }
}

int fail_json(const struct args *args, const json_error_t *e)
{
    return fail(args, "the library's description: %s", e->text);
}

/* ---- numbers ------------------------------------------------------------------------------------------- */

const char *count_text(uint64_t n, char out[NUMBER_TEXT])
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%" PRIu64, n);
    size_t at = 0;
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = 0;
    return out;
}

const char *bytes_text(uint64_t n, char out[NUMBER_TEXT])
{
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    if (n < 1000) {
        snprintf(out, NUMBER_TEXT, "%" PRIu64 " B", n);
        return out;
    }
    double value = (double)n / 1000;
    size_t unit = 0;
    while (value >= 999.95 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1000;
        unit++;
    }
    snprintf(out, NUMBER_TEXT, "%.1f %s", value, units[unit]);
    return out;
}

const char *seconds_text(double seconds, char out[NUMBER_TEXT])
{
    if (seconds < 100)
        snprintf(out, NUMBER_TEXT, "%.2f s", seconds);
    else if (seconds < 36000)
        snprintf(out, NUMBER_TEXT, "%d:%02d min", (int)seconds / 60, (int)seconds % 60);
    else
        snprintf(out, NUMBER_TEXT, "%.1f h", seconds / 3600);
    return out;
}

/* ---- results ------------------------------------------------------------------------------------------- */

void print_json(json_t *object)
{
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    puts(checked(text));
    free(text);
    json_decref(object);
}

/* Three digits are enough for a rate. */
static uint64_t rounded_rate(uint64_t rows, double seconds)
{
    double rate = seconds > 0 ? (double)rows / seconds : 0;
    uint64_t step = 1;
    while (rate / (double)step >= 1000)
        step *= 10;
    return (uint64_t)(rate / (double)step + 0.5) * step;
}

static json_t *count_or_null(const sluice_commit_info *info, uint64_t n)
{
    return info->counts_are_known ? json_integer((json_int_t)n) : json_null();
}

static json_t *text_or_null(const char *text) { return *text ? json_string(text) : json_null(); }

static bool replaces(const sluice_commit_info *info) { return strcmp(info->action, "replacecommit") == 0; }

static void print_commit_json(const char *verb, const sluice_commit_info *info, int64_t rejected,
                              double waited)
{
    json_t *o = json_object();
    json_object_set_new(o, "operation", json_string(verb));
    json_object_set_new(o, "instant", text_or_null(info->instant));
    json_object_set_new(o, "completed", text_or_null(info->completed));
    json_object_set_new(o, "action", text_or_null(info->action));
    json_object_set_new(o, "rows_in", json_integer((json_int_t)info->rows_in));
    json_object_set_new(o, "rows_written", json_integer((json_int_t)info->rows_written));
    json_object_set_new(o, "rows_inserted", count_or_null(info, info->rows_inserted));
    json_object_set_new(o, "rows_updated", count_or_null(info, info->rows_updated));
    json_object_set_new(o, "rows_deleted", count_or_null(info, info->rows_deleted));
    if (rejected >= 0)
        json_object_set_new(o, "rows_rejected", json_integer(rejected));
    json_object_set_new(o, "file_groups", json_integer((json_int_t)info->file_groups));
    json_object_set_new(o, "partitions", json_integer((json_int_t)info->partitions));
    if (replaces(info))
        json_object_set_new(o, "file_groups_replaced", json_integer((json_int_t)info->file_groups_replaced));
    json_object_set_new(o, "files", json_integer((json_int_t)info->files));
    json_object_set_new(o, "bytes", json_integer((json_int_t)info->bytes));
    json_object_set_new(o, "spilled_runs", json_integer((json_int_t)info->spilled_runs));
    json_object_set_new(o, "flushes", json_integer((json_int_t)info->flushes));
    json_object_set_new(o, "seconds", json_real(info->seconds));
    json_object_set_new(o, "seconds_waiting", json_real(waited));
    json_object_set_new(o, "rows_per_second",
                        json_integer((json_int_t)rounded_rate(info->rows_in, info->seconds - waited)));
    print_json(o);
}

/* "110,000 rows" with a word behind it; nothing when `n` is 0 and `even_zero` is not asked for. */
static void print_part(uint64_t n, const char *word, bool even_zero)
{
    char text[NUMBER_TEXT];
    if (n || even_zero)
        printf(", %s %s", count_text(n, text), word);
}

#define WAIT_TOLD 0.01 /* seconds: shorter waits do not show in the line */

void print_commit(const struct args *args, const sluice_commit_info *info, int64_t rejected, double waited)
{
    if (given(args, OPT_JSON)) {
        print_commit_json(args->what, info, rejected, waited);
        return;
    }
    if (given(args, OPT_QUIET))
        return;
    char text[NUMBER_TEXT];
    if (!*info->instant) {
        printf("%s: nothing to do", args->what);
        if (rejected > 0) /* all of them: a job that wrote nothing shall not look like one without input */
            print_part((uint64_t)rejected, rejected == 1 ? "row rejected" : "rows rejected", false);
        printf("\n");
        return;
    }
    bool is_compaction = strstr(info->action, "compaction") != NULL;
    printf("%s %s %s: %s %s", args->what, info->instant, info->action, count_text(info->rows_in, text),
           is_compaction        ? (info->rows_in == 1 ? "log record in" : "log records in")
           : info->rows_in == 1 ? "row in"
                                : "rows in");
    if (info->counts_are_known && !is_compaction) {
        print_part(info->rows_inserted, "inserted", false);
        print_part(info->rows_updated, "updated", false);
        print_part(info->rows_deleted, "deleted", false);
    }
    if (is_compaction)
        print_part(info->rows_written, info->rows_written == 1 ? "row written" : "rows written", true);
    if (rejected > 0)
        print_part((uint64_t)rejected, "rejected", false);
    if (replaces(info))
        print_part(info->file_groups_replaced,
                   info->file_groups_replaced == 1 ? "file group replaced" : "file groups replaced", true);
    print_part(info->files, info->files == 1 ? "file" : "files", true);
    printf(", %s", bytes_text(info->bytes, text));
    printf(", %s", seconds_text(info->seconds, text));
    if (waited >= WAIT_TOLD)
        printf(" (%s of it waiting for input)", seconds_text(waited, text));
    printf(", %s rows/s\n", count_text(rounded_rate(info->rows_in, info->seconds - waited), text));
}

/* ---- files that appear when they are complete ---------------------------------------------------------- */

void output_file_begin(struct output_file *f, const char *path)
{
    struct stat found;
    f->path = cli_copy(path);
    f->temporary = stat(path, &found) == 0 && !S_ISREG(found.st_mode)
                       ? NULL
                       : cli_text("%s.%ld.tmp", path, (long)getpid());
}

const char *output_file_path(const struct output_file *f) { return f->temporary ? f->temporary : f->path; }

int output_file_end(struct output_file *f, const struct args *args, int status)
{
    if (f->temporary && status == STATUS_DONE && rename(f->temporary, f->path) != 0)
        status = fail(args, "%s: %s", f->path, strerror(errno));
    if (f->temporary && status != STATUS_DONE)
        (void)unlink(f->temporary);
    free(f->temporary);
    free(f->path);
    return status;
}
