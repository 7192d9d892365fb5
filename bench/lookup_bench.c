/*
 * Point lookups through one open handle:
 *
 *     lookup_bench TABLE FILE          FILE has a key a line; prints rows, first, median and 99th percentile as JSON
 */
#include "sluice/sluice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KEYS_MAX 100000

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "lookup_bench: %s: %s\n", what, why);
    return 1;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int look_up(sluice_table *table, const char *key, long long *rows)
{
    sluice_error e;
    struct ArrowArrayStream stream;
    if (sluice_lookup(table, &key, 1, NULL, &stream, &e))
        return fail(key, e.message);
    for (;;) {
        struct ArrowArray batch = {0};
        if (stream.get_next(&stream, &batch))
            return fail(key, stream.get_last_error(&stream));
        if (!batch.release)
            break;
        *rows += batch.length;
        batch.release(&batch);
    }
    stream.release(&stream);
    return 0;
}

static int look_up_all(sluice_table *table, FILE *keys)
{
    static double seconds[KEYS_MAX];
    char key[1024];
    long long rows = 0;
    size_t count = 0;
    while (count < KEYS_MAX && fgets(key, sizeof key, keys)) {
        key[strcspn(key, "\n")] = 0;
        double start = now();
        if (look_up(table, key, &rows))
            return 1;
        seconds[count++] = now() - start;
    }
    if (!count)
        return fail("keys", "there are none");
    double first = seconds[0];
    qsort(seconds, count, sizeof *seconds, compare);
    printf("{\"keys\": %zu, \"rows\": %lld, \"first\": %.6f, \"median\": %.6f, \"p99\": %.6f}\n", count, rows,
           first, seconds[count / 2], seconds[count * 99 / 100]);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return fail("usage", "lookup_bench TABLE FILE");
    sluice_error e;
    sluice_table *table;
    FILE *keys = fopen(argv[2], "r");
    if (!keys)
        return fail(argv[2], "cannot be read");
    if (sluice_table_open(argv[1], NULL, &table, &e))
        return fail("open", e.message);
    int failed = look_up_all(table, keys);
    sluice_table_close(table);
    fclose(keys);
    return failed;
}
