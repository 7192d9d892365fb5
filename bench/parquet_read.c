/*
 * How fast a Parquet file becomes batches in memory:
 *
 *     parquet_read FILE.parquet [--threads N] [--repeats N] [--columns a,b] [--rows FIRST:COUNT] [--dictionary]
 *                               [--batch-rows N] [--codec-only] [--where COLUMN:LOW:HIGH]
 *
 * Prints the best time of the repeats, the rows (or bytes), the rows that --where chose and the least processor time. --rows reads one range of rows. --where asks the page index of an integer
 * column which pages may hold LOW..HIGH and reads those; its time includes the asking. --codec-only decompresses all pages and decodes
 * nothing: what the codec library alone costs. bench/parquet_read.py runs it next to pyarrow.
 */
#include "exit_on_failure.h"
#include "parquet/read_int.h"

#include <stdio.h>
#include <time.h>

struct settings {
    const char *path;
    unsigned threads;
    int repeats;
    bool codec_only;
    char *where_column;
    int64_t low, high;
    struct sl_row_range range;
    bool has_range;
    struct sl_row_range read; /* first range that --where found */
    struct sl_parquet_scan_options scan;
    sl_strings columns;
};

static void parse(int argc, char **argv, struct settings *s)
{
    s->path = argv[1];
    for (int i = 2; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--dictionary") == 0) {
            s->scan.keep_dictionary = true;
            continue;
        }
        if (strcmp(argv[i], "--codec-only") == 0) {
            s->codec_only = true;
            continue;
        }
        i++;
        if (strcmp(argv[i - 1], "--threads") == 0) {
            s->threads = (unsigned)atoi(value);
        } else if (strcmp(argv[i - 1], "--repeats") == 0) {
            s->repeats = atoi(value);
        } else if (strcmp(argv[i - 1], "--batch-rows") == 0) {
            s->scan.batch_rows = atoll(value);
        } else if (strcmp(argv[i - 1], "--columns") == 0) {
            CHECK(sl_strings_split(&s->columns, value, ','));
            s->scan.columns = (const char *const *)s->columns.items;
            s->scan.column_count = s->columns.count;
        } else if (strcmp(argv[i - 1], "--rows") == 0) {
            s->has_range = sscanf(value, "%" SCNd64 ":%" SCNd64, &s->range.first, &s->range.count) == 2;
        } else if (strcmp(argv[i - 1], "--where") == 0) {
            const char *colon = strchr(value, ':');
            if (!colon || sscanf(colon, ":%" SCNd64 ":%" SCNd64, &s->low, &s->high) != 2)
                exit(2);
            s->where_column = sl_strndup(value, (size_t)(colon - value));
        } else {
            fprintf(stderr, "unknown option %s\n", argv[i - 1]);
            exit(2);
        }
    }
}

static int64_t read_all(sl_parquet *p, const struct sl_parquet_scan_options *options)
{
    sl_stream *stream;
    int64_t rows = 0;
    CHECK(sl_parquet_scan(p, options, &stream));
    for (;;) {
        sl_batch *batch;
        CHECK(sl_stream_next(stream, &batch));
        if (!batch)
            break;
        rows += batch->rows;
        sl_batch_unref(batch);
    }
    sl_stream_close(stream);
    return rows;
}

static int64_t decompress_all(sl_parquet *p)
{
    struct parquet_pages pages = {0};
    int64_t bytes = 0;
    for (size_t g = 0; g < p->meta.row_group_count; g++)
        for (size_t c = 0; c < p->schema.leaf_count; c++) {
            CHECK(parquet_pages_open(&pages, p, &p->meta.row_groups[g].columns[c].meta));
            for (;;) {
                struct parquet_page_header header;
                struct parquet_page page;
                bool found;
                CHECK(parquet_pages_header(&pages, &header, &found));
                if (!found)
                    break;
                CHECK(parquet_pages_body(&pages, &header, &page));
                bytes += (int64_t)page.bytes;
            }
        }
    parquet_pages_close(&pages);
    return bytes;
}

/* Ranges of rows on pages that may hold LOW..HIGH. */
static void ranges_where(sl_parquet *p, const struct settings *s, struct sl_row_ranges *out)
{
    int column = sl_type_field_index(sl_parquet_schema(p), s->where_column);
    for (size_t g = 0; g < sl_parquet_row_groups(p); g++) {
        struct sl_parquet_page_bounds pages;
        CHECK(sl_parquet_page_bounds(p, g, column, &pages));
        bool *keep = calloc(pages.page_count + 1, sizeof *keep);
        if (!keep)
            exit(1);
        for (size_t i = 0; i < pages.page_count; i++)
            keep[i] =
                !pages.pages[i].has_bounds || ((int64_t)load_le64(pages.min->values + 8 * i) <= s->high &&
                                               (int64_t)load_le64(pages.max->values + 8 * i) >= s->low);
        CHECK(sl_parquet_page_ranges(&pages, keep, out));
        free(keep);
        sl_parquet_page_bounds_free(&pages);
    }
}

static int64_t run(struct settings *s, double *seconds)
{
    sl_storage *storage;
    sl_file *file;
    sl_parquet *p;
    struct sl_parquet_scan_options options = s->scan;
    struct sl_row_ranges found = {0};
    double start = sl_monotonic();
    CHECK(sl_storage_local(&storage));
    CHECK(sl_storage_open(storage, s->path, &file));
    CHECK(sl_parquet_open(file, NULL, &p));
    if (s->has_range) {
        options.ranges = &s->range;
        options.range_count = 1;
    }
    if (s->where_column) {
        ranges_where(p, s, &found);
        options.ranges = found.items;
        options.range_count = found.count;
        s->read = found.count ? found.items[0] : (struct sl_row_range){0};
    }
    int64_t done = s->codec_only ? decompress_all(p) : read_all(p, &options);
    *seconds = sl_monotonic() - start;
    sl_row_ranges_free(&found);
    sl_parquet_close(p);
    sl_file_close(file);
    sl_storage_free(storage);
    return done;
}

int main(int argc, char **argv)
{
    struct settings s = {.threads = 1, .repeats = 5};
    if (argc < 2) {
        fprintf(stderr, "usage: %s FILE.parquet [options, see the source]\n", argv[0]);
        return 2;
    }
    parse(argc, argv, &s);
    CHECK(sl_pool_new(s.threads, &s.scan.pool));
    double best = 0, seconds, least = 0;
    int64_t done = 0;
    for (int i = 0; i < s.repeats; i++) {
        clock_t start = clock();
        done = run(&s, &seconds);
        double busy = (double)(clock() - start) / CLOCKS_PER_SEC;
        least = i == 0 || busy < least ? busy : least;
        best = i == 0 || seconds < best ? seconds : best;
    }
    printf("%.6f %" PRId64 " %" PRId64 ":%" PRId64 " %.6f\n", best, done, s.read.first, s.read.count, least);
    sl_strings_free(&s.columns);
    sl_free(s.where_column);
    sl_pool_free(s.scan.pool);
    return 0;
}
