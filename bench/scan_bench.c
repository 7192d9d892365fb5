/*
 * Reads all rows and columns of a table through the public header, as a program that links the library would, and throws
 * the batches away:
 *
 *     scan_bench TABLE [THREADS]          prints rows, what the merge did, seconds and peak memory as JSON
 */
#include "sluice/sluice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "scan_bench: %s: %s\n", what, why);
    return 1;
}

static int drain(struct ArrowArrayStream *rows, long long *row_count, long long *batch_count)
{
    for (;;) {
        struct ArrowArray batch = {0};
        if (rows->get_next(rows, &batch))
            return fail("rows", rows->get_last_error(rows));
        if (!batch.release)
            return 0;
        *row_count += batch.length;
        *batch_count += 1;
        batch.release(&batch);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return fail("usage", "scan_bench TABLE [THREADS]");
    const char *options[] = {"sluice.threads", argc > 2 ? argv[2] : "0", NULL};
    sluice_error e;
    sluice_table *table;
    sluice_scan *scan;
    struct ArrowArrayStream rows;
    long long row_count = 0, batch_count = 0;
    double start = now();
    if (sluice_table_open(argv[1], options, &table, &e))
        return fail("open", e.message);
    if (sluice_scan_new(table, &scan, &e) || sluice_scan_stream(scan, &rows, &e))
        return fail("scan", e.message);
    int failed = drain(&rows, &row_count, &batch_count);
    rows.release(&rows);
    double seconds = now() - start;
    sluice_scan_stats stats = {.size = sizeof stats};
    sluice_scan_get_stats(scan, &stats);
    sluice_scan_free(scan);
    sluice_table_close(table);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf(
        "{\"rows\": %lld, \"batches\": %lld, \"runs\": %llu, \"rows_merged\": %llu, \"comparisons\": %llu, "
        "\"bytes_read\": %llu, \"seconds\": %.4f, \"peak_bytes\": %lld}\n",
        row_count, batch_count, (unsigned long long)stats.runs, (unsigned long long)stats.rows_merged,
        (unsigned long long)stats.comparisons, (unsigned long long)stats.bytes_read, seconds,
        (long long)usage.ru_maxrss * 1024);
    return failed;
}
