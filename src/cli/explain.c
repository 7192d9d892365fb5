/* What --explain says: a list of counts, shown as a table or, with --json, as one object; on standard error. */
#include "cli.h"
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum count_kind { COUNT_NUMBER, COUNT_BYTES, COUNT_SECONDS };

struct count {
    const char *key, *title; /* in the object; in the table, which leaves zeros out */
    enum count_kind kind;
    uint64_t number;
    double seconds;
};

enum { COUNTS_MAX = 48 };
struct counts {
    struct count items[COUNTS_MAX];
    size_t count;
};

static void add(struct counts *c, const char *key, const char *title, enum count_kind kind, uint64_t number)
{
    if (c->count < COUNTS_MAX)
        c->items[c->count++] = (struct count){key, title, kind, number, 0};
}

static void add_seconds(struct counts *c, const char *key, const char *title, double seconds)
{
    if (c->count < COUNTS_MAX)
        c->items[c->count++] = (struct count){key, title, COUNT_SECONDS, 0, seconds};
}

static const char *value_text(const struct count *c, char out[NUMBER_TEXT])
{
    return c->kind == COUNT_SECONDS ? seconds_text(c->seconds, out)
           : c->kind == COUNT_BYTES ? bytes_text(c->number, out)
                                    : count_text(c->number, out);
}

static void print_object(const struct counts *c)
{
    json_t *object = json_object();
    for (size_t i = 0; i < c->count; i++)
        json_object_set_new(object, c->items[i].key,
                            c->items[i].kind == COUNT_SECONDS ? json_real(c->items[i].seconds)
                                                              : json_integer((json_int_t)c->items[i].number));
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9));
    fprintf(stderr, "%s\n", text ? text : "{}");
    free(text);
    json_decref(object);
}

static void print_table(const struct counts *c, const char *title)
{
    const struct view_column columns[] = {{title, false}, {"count", true}};
    struct view *v = view_new(columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < c->count; i++) {
        char text[NUMBER_TEXT];
        if (c->items[i].kind == COUNT_SECONDS || c->items[i].number)
            view_add(v, (const char *const[]){c->items[i].title, value_text(&c->items[i], text)});
    }
    view_print(v, stderr, 0);
    view_free(v);
}

static void print_counts(const struct args *args, const struct counts *c, const char *title)
{
    fflush(stdout);
    progress_erase();
    if (given(args, OPT_JSON))
        print_object(c);
    else
        print_table(c, title);
}

/* ---- what is counted ----------------------------------------------------------------------------------- */

static void add_reads(struct counts *c, const sluice_scan_stats *s)
{
    add(c, "files", "files read", COUNT_NUMBER, s->files);
    add(c, "files_skipped", "files skipped", COUNT_NUMBER, s->files_skipped);
    add(c, "file_bytes", "bytes in files read", COUNT_BYTES, s->file_bytes);
    add(c, "bytes_read", "bytes read", COUNT_BYTES, s->bytes_read);
    add(c, "row_groups", "row groups looked at", COUNT_NUMBER, s->row_groups);
    add(c, "row_groups_skipped", "row groups skipped", COUNT_NUMBER, s->row_groups_skipped);
    add(c, "pages", "pages decoded", COUNT_NUMBER, s->pages);
    add(c, "pages_skipped", "pages skipped", COUNT_NUMBER, s->pages_skipped);
    add(c, "pages_copied", "pages copied", COUNT_NUMBER, s->pages_copied);
    add(c, "bytes_copied", "bytes copied", COUNT_BYTES, s->bytes_copied);
    add(c, "rows_copied", "rows copied", COUNT_NUMBER, s->rows_copied);
    add(c, "rows_skipped", "rows skipped", COUNT_NUMBER, s->rows_skipped);
    add(c, "rows_skipped_alone", "... by other columns than the key", COUNT_NUMBER, s->rows_skipped_alone);
    add(c, "rows_decoded", "rows decoded", COUNT_NUMBER, s->rows_decoded);
    add(c, "runs", "runs merged", COUNT_NUMBER, s->runs);
    add(c, "logs_replaced", "logs replaced by log compactions", COUNT_NUMBER, s->logs_replaced);
    add(c, "runs_repaired", "runs sorted again", COUNT_NUMBER, s->runs_repaired);
    add(c, "rows_merged", "rows merged", COUNT_NUMBER, s->rows_merged);
    add(c, "comparisons", "key comparisons", COUNT_NUMBER, s->comparisons);
    add(c, "gallop_rows", "rows merged in stretches", COUNT_NUMBER, s->gallop_rows);
}

/* Linux counts it for this program; what getrusage tells begins with the memory of whoever started it. 0: not known. */
static uint64_t memory_peak(void)
{
    char line[128];
    uint64_t kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && kib == 0 && fgets(line, sizeof line, status))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtoull(line + 6, NULL, 10);
    if (status)
        fclose(status);
    struct rusage used;
    if (kib == 0 && getrusage(RUSAGE_SELF, &used) == 0)
        kib = (uint64_t)used.ru_maxrss;
    return kib * 1024;
}

void explain_read(const struct args *args, const sluice_scan_stats *stats, double open_seconds,
                  double read_seconds)
{
    struct counts c = {.count = 0};
    if (!given(args, OPT_EXPLAIN))
        return;
    progress_end();
    add_reads(&c, stats);
    add(&c, "rows_out", "rows out", COUNT_NUMBER, stats->rows_out);
    add_seconds(&c, "open_seconds", "time to plan and open", open_seconds);
    add_seconds(&c, "read_seconds", "time to read and print", read_seconds);
    add(&c, "memory_peak", "memory of the process at most", COUNT_BYTES, memory_peak());
    print_counts(args, &c, "reading");
}

void explain_commit(const struct args *args, const sluice_table *table, const sluice_commit_info *info)
{
    sluice_scan_stats reads = {.size = sizeof reads};
    struct counts c = {.count = 0};
    if (!given(args, OPT_EXPLAIN))
        return;
    sluice_table_read_stats(table, &reads);
    add(&c, "partitions", "partitions", COUNT_NUMBER, info->partitions);
    add(&c, "file_groups", "file groups", COUNT_NUMBER, info->file_groups);
    add(&c, "file_groups_replaced", "file groups replaced", COUNT_NUMBER, info->file_groups_replaced);
    add_reads(&c, &reads);
    add(&c, "rows_in", "rows in", COUNT_NUMBER, info->rows_in);
    add(&c, "rows_written", "rows written", COUNT_NUMBER, info->rows_written);
    add(&c, "bytes_written", "bytes written", COUNT_BYTES, info->bytes);
    add(&c, "spilled_runs", "spilled runs", COUNT_NUMBER, info->spilled_runs);
    add(&c, "flushes", "early flushes", COUNT_NUMBER, info->flushes);
    add_seconds(&c, "seconds", "time", info->seconds);
    add(&c, "memory_peak", "memory of the process at most", COUNT_BYTES, memory_peak());
    print_counts(args, &c, "writing");
}
