/* Scans of the public API: a scan collects what is wanted, its stream does the work. Languages that collect garbage let go of
 * them in any order, so a stream keeps its scan, and a scan its table. */
#include "api/api_int.h"
#include <string.h>

struct sluice_scan {
    atomic_int users; /* its owner, and its streams */
    sluice_table *owner;
    sl_strings columns;
    bool narrowed;
    char *where, *as_of;
    bool read_optimized;
    int64_t limit;
    sl_read_stats stats;
};

int sluice_scan_new(sluice_table *t, sluice_scan **out, sluice_error *e)
{
    API_REQUIRE(t, out);
    sluice_scan *s = sl_calloc(1, sizeof *s);
    if (!s)
        return api_result(sl_nomem(), e);
    atomic_init(&s->users, 1);
    s->owner = api_table_ref(t);
    s->limit = -1;
    *out = s;
    return api_result(SL_OK, e);
}

void sluice_scan_free(sluice_scan *s)
{
    if (!s || atomic_fetch_sub_explicit(&s->users, 1, memory_order_acq_rel) != 1)
        return;
    sl_strings_free(&s->columns);
    sl_free(s->where);
    sl_free(s->as_of);
    sluice_table_close(s->owner);
    sl_free(s);
}

int sluice_scan_columns(sluice_scan *s, const char *const *names, size_t count, sluice_error *e)
{
    API_REQUIRE(s);
    sl_strings columns = {0};
    sl_status status = api_items("names", names, count);
    for (size_t i = 0; i < count && !status; i++)
        status = sl_strings_add(&columns, names[i]);
    if (status) {
        sl_strings_free(&columns);
        return api_result(status, e);
    }
    sl_strings_free(&s->columns);
    s->columns = columns;
    s->narrowed = true;
    return api_result(SL_OK, e);
}

static int set_text(char **member, const char *text, sluice_error *e)
{
    char *copy = sl_strdup(text);
    if (!copy)
        return api_result(sl_nomem(), e);
    sl_free(*member);
    *member = copy;
    return api_result(SL_OK, e);
}

int sluice_scan_where(sluice_scan *s, const char *expression, sluice_error *e)
{
    API_REQUIRE(s, expression);
    return set_text(&s->where, expression, e);
}

int sluice_scan_as_of(sluice_scan *s, const char *instant, sluice_error *e)
{
    API_REQUIRE(s, instant);
    char parsed[SL_INSTANT_BYTES];
    sl_status status = sl_instant_parse(instant, parsed);
    return status ? api_result(status, e) : set_text(&s->as_of, parsed, e);
}

int sluice_scan_read_optimized(sluice_scan *s, sluice_error *e)
{
    API_REQUIRE(s);
    s->read_optimized = true;
    return api_result(SL_OK, e);
}

int sluice_scan_limit(sluice_scan *s, int64_t rows, sluice_error *e)
{
    API_REQUIRE(s);
    if (rows < 0)
        return api_result(sl_input("a limit of %" PRId64 " rows", rows), e);
    s->limit = rows;
    return api_result(SL_OK, e);
}

sluice_table *api_scan_options(const sluice_scan *s, struct sl_scan_options *out)
{
    static const char *const none[1] = {NULL};
    *out = (struct sl_scan_options){.columns = s->narrowed ? (const char *const *)s->columns.items : NULL,
                                    .column_count = s->columns.count,
                                    .where = s->where,
                                    .as_of = s->as_of,
                                    .read_optimized = s->read_optimized,
                                    .limit = s->limit};
    if (s->narrowed && s->columns.count == 0)
        out->columns = none; /* no columns at all: rows are only counted */
    return s->owner;
}

/* The rows, and what they need. */
struct scan_rows {
    sl_stream base; /* first */
    sl_stream *rows;
    sluice_scan *scan;
};

static sl_status scan_rows_next(sl_stream *self, sl_batch **out)
{
    return sl_stream_next(((struct scan_rows *)self)->rows, out);
}

static void scan_rows_close(sl_stream *self)
{
    struct scan_rows *r = (struct scan_rows *)self;
    sl_stream_close(r->rows);
    sluice_scan_free(r->scan);
    sl_free(r);
}

static sl_status scan_rows_open(sluice_scan *s, sl_stream **out)
{
    struct sl_scan_options options;
    struct scan_rows *r;
    (void)api_scan_options(s, &options);
    memset(&s->stats, 0, sizeof s->stats);
    SL_NEW(r);
    sl_status status = sl_scan_open(s->owner->table, &options, &s->stats, &r->rows);
    if (status) {
        sl_free(r);
        return status;
    }
    r->base = (sl_stream){r->rows->schema, scan_rows_next, scan_rows_close};
    r->scan = s;
    atomic_fetch_add_explicit(&s->users, 1, memory_order_relaxed);
    *out = &r->base;
    return SL_OK;
}

int sluice_scan_stream(sluice_scan *s, struct ArrowArrayStream *rows, sluice_error *e)
{
    API_REQUIRE(s, rows);
    sl_stream *found;
    sl_status status = scan_rows_open(s, &found);
    if (!status)
        status = api_export_stream(found, s->owner->budget.limit, rows);
    return api_result(sl_context(status, "table %s", s->owner->table->uri), e);
}

void api_read_stats(const sl_read_stats *r, sluice_scan_stats *out)
{
    sluice_scan_stats full = {.size = out->size,
                              .files = atomic_load(&r->files),
                              .files_skipped = atomic_load(&r->files_skipped),
                              .runs = atomic_load(&r->runs),
                              .row_groups = atomic_load(&r->row_groups),
                              .row_groups_skipped = atomic_load(&r->row_groups_skipped),
                              .bytes_read = atomic_load(&r->bytes_read),
                              .file_bytes = atomic_load(&r->file_bytes),
                              .rows_decoded = atomic_load(&r->rows_decoded),
                              .rows_merged = atomic_load(&r->rows_merged),
                              .rows_out = atomic_load(&r->rows_out),
                              .comparisons = atomic_load(&r->comparisons),
                              .gallop_rows = atomic_load(&r->gallop_rows),
                              .logs_replaced = atomic_load(&r->logs_replaced),
                              .runs_repaired = atomic_load(&r->runs_repaired),
                              .rows_skipped = atomic_load(&r->rows_skipped),
                              .rows_skipped_alone = atomic_load(&r->rows_skipped_alone),
                              .pages = atomic_load(&r->pages),
                              .pages_skipped = atomic_load(&r->pages_skipped),
                              .rows_copied = atomic_load(&r->rows_copied),
                              .pages_copied = atomic_load(&r->pages_copied),
                              .bytes_copied = atomic_load(&r->bytes_copied)};
    memcpy(out, &full, out->size < sizeof full ? out->size : sizeof full);
}

void sluice_scan_get_stats(const sluice_scan *s, sluice_scan_stats *out)
{
    if (s && out)
        api_read_stats(&s->stats, out);
}
