/* What --explain says about reading: one list of counts, shown as a table or, with --json, as one object; on standard error. */
#include "cli.h"
#include <stdlib.h>

enum count_kind { COUNT_NUMBER, COUNT_BYTES, COUNT_SECONDS };

struct count {
    const char *key, *title; /* of the object; of the table, "" when a line says it with the one before */
    enum count_kind kind;
    double seconds;
    uint64_t number;
};

static const char *value_text(const struct count *c, char out[NUMBER_TEXT])
{
    return c->kind == COUNT_SECONDS ? seconds_text(c->seconds, out)
           : c->kind == COUNT_BYTES ? bytes_text(c->number, out)
                                    : count_text(c->number, out);
}

static void print_object(const struct count *counts, size_t n)
{
    json_t *object = json_object();
    for (size_t i = 0; i < n; i++)
        json_object_set_new(object, counts[i].key,
                            counts[i].kind == COUNT_SECONDS ? json_real(counts[i].seconds)
                                                            : json_integer((json_int_t)counts[i].number));
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9));
    fprintf(stderr, "%s\n", text ? text : "{}");
    free(text);
    json_decref(object);
}

static void print_table(const struct count *counts, size_t n)
{
    static const struct view_column columns[] = {{"reading", false}, {"count", true}};
    struct view *v = view_new(columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < n; i++) {
        char text[NUMBER_TEXT];
        if (counts[i].kind == COUNT_SECONDS || counts[i].number)
            view_add(v, (const char *const[]){counts[i].title, value_text(&counts[i], text)});
    }
    view_print(v, stderr, 0);
    view_free(v);
}

void explain_read(const struct args *args, const sluice_scan_stats *s, double open_seconds,
                  double read_seconds)
{
    const struct count counts[] = {
        {.key = "files", .title = "files read", .number = s->files},
        {.key = "files_skipped", .title = "files skipped", .number = s->files_skipped},
        {.key = "file_bytes", .title = "bytes in files read", .kind = COUNT_BYTES, .number = s->file_bytes},
        {.key = "bytes_read", .title = "bytes read", .kind = COUNT_BYTES, .number = s->bytes_read},
        {.key = "row_groups", .title = "row groups looked at", .number = s->row_groups},
        {.key = "row_groups_skipped", .title = "row groups skipped", .number = s->row_groups_skipped},
        {.key = "pages", .title = "pages decoded", .number = s->pages},
        {.key = "pages_skipped", .title = "pages skipped", .number = s->pages_skipped},
        {.key = "rows_skipped", .title = "rows skipped", .number = s->rows_skipped},
        {.key = "rows_skipped_alone",
         .title = "... by other columns than the key",
         .number = s->rows_skipped_alone},
        {.key = "rows_decoded", .title = "rows decoded", .number = s->rows_decoded},
        {.key = "runs", .title = "runs merged", .number = s->runs},
        {.key = "logs_replaced", .title = "logs replaced by log compactions", .number = s->logs_replaced},
        {.key = "runs_repaired", .title = "runs sorted again", .number = s->runs_repaired},
        {.key = "rows_merged", .title = "rows merged", .number = s->rows_merged},
        {.key = "comparisons", .title = "key comparisons", .number = s->comparisons},
        {.key = "gallop_rows", .title = "rows copied in stretches", .number = s->gallop_rows},
        {.key = "rows_out", .title = "rows out", .number = s->rows_out},
        {.key = "open_seconds",
         .title = "time to plan and open",
         .kind = COUNT_SECONDS,
         .seconds = open_seconds},
        {.key = "read_seconds",
         .title = "time to read and print",
         .kind = COUNT_SECONDS,
         .seconds = read_seconds},
    };
    if (!given(args, OPT_EXPLAIN))
        return;
    fflush(stdout);
    progress_end();
    if (given(args, OPT_JSON))
        print_object(counts, sizeof counts / sizeof *counts);
    else
        print_table(counts, sizeof counts / sizeof *counts);
}
