/*
 * What the tests of whole tables share: random numbers, checks that say what went wrong, batches into and text out of
 * the public interface, folders. Failures end the test program's current test through cmocka, or exit a child process.
 */
#ifndef ENGINE_SUPPORT_H
#define ENGINE_SUPPORT_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "column/column.h"
#include "sluice/sluice.h"
#include "storage/storage.h"
#include "table_options.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- random -------------------------------------------------------------------------------------------- */

struct rng {
    uint64_t state;
};

static inline uint64_t rng_next(struct rng *r)
{
    r->state += 0x9e3779b97f4a7c15u;
    uint64_t z = r->state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* In [0, n). */
static inline int64_t pick(struct rng *r, int64_t n) { return (int64_t)(rng_next(r) % (uint64_t)n); }
static inline bool chance(struct rng *r, int percent) { return pick(r, 100) < percent; }

static inline uint64_t number_from_environment(const char *name, uint64_t fallback)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : fallback;
}

/* ---- checks -------------------------------------------------------------------------------------------- */

static inline void ok(sl_status status)
{
    if (!status)
        return;
    fprintf(stderr, "unexpected failure %d: %s\n", (int)sl_status_code(status), sl_status_message(status));
    sl_status_free(status);
    fail();
}

/* A call of the public interface that must succeed; `e` is its sluice_error. */
#define OK(call)                                                                                             \
    do {                                                                                                     \
        memset(&e, 0, sizeof e);                                                                             \
        if (call) {                                                                                          \
            fprintf(stderr, "%s:%d: failure %d: %s\n", __FILE__, __LINE__, e.code, e.message);               \
            fail();                                                                                          \
        }                                                                                                    \
    } while (0)

/* ---- rows ---------------------------------------------------------------------------------------------- */

struct text {
    char *data;
    size_t len, cap;
};

static inline void text_append(struct text *t, const char *data, size_t len)
{
    if (t->len + len + 1 > t->cap) {
        t->cap = (t->len + len + 1) * 2;
        t->data = realloc(t->data, t->cap);
    }
    memcpy(t->data + t->len, data, len);
    t->len += len;
    t->data[t->len] = 0;
}

static inline int text_collect(void *context, const char *data, size_t len)
{
    text_append(context, data, len);
    return 0;
}

static inline int line_order(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The lines of a text, sorted; frees the text. */
static inline char *sorted_lines(struct text *t)
{
    size_t count = 0, cap = 16;
    char **lines = malloc(cap * sizeof *lines);
    for (char *at = t->data; at && *at;) {
        char *end = strchr(at, '\n');
        if (count == cap)
            lines = realloc(lines, (cap *= 2) * sizeof *lines);
        lines[count++] = at;
        if (!end)
            break;
        *end = 0;
        at = end + 1;
    }
    qsort(lines, count, sizeof *lines, line_order);
    struct text out = {0};
    text_append(&out, "", 0);
    for (size_t i = 0; i < count; i++) {
        text_append(&out, lines[i], strlen(lines[i]));
        text_append(&out, "\n", 1);
    }
    free(lines);
    free(t->data);
    t->data = NULL;
    return out.data;
}

static inline void export_schema(const sl_type *schema, struct ArrowSchema *out)
{
    ok(sl_arrow_export_schema(schema, out));
}

static inline void create_table(const char *path, const sl_type *schema, const char *const *options)
{
    struct ArrowSchema arrow;
    sluice_error e;
    export_schema(schema, &arrow);
    OK(sluice_table_create(path, &arrow, options, &e));
    arrow.release(&arrow);
}

/* The same with columns as text. */
static inline void create_table_of(const char *path, const char *columns, const char *const *options)
{
    const sl_type *schema;
    ok(sl_schema_parse(columns, &schema));
    create_table(path, schema, options);
    sl_type_unref(schema);
}

/* With the key k. */
static inline void create_lsm_table(const char *path, const sl_type *schema)
{
    create_table(path, schema, lsm_options("k", NULL));
}

/* Appends to an open writer; the batch stays the caller's. */
static inline int writer_append(sluice_writer *w, sl_batch *batch, sluice_error *e)
{
    struct ArrowArray array;
    ok(sl_arrow_export_batch(batch, &array));
    return sluice_writer_append(w, &array, e);
}

/* One commit of one batch. */
static inline int write_batch(sluice_table *t, enum sluice_operation operation, sl_batch *batch,
                              sluice_commit_info *info, sluice_error *e)
{
    struct ArrowSchema schema;
    sluice_writer *w;
    export_schema(batch->schema, &schema);
    int code = sluice_writer_open(t, operation, &schema, &w, e);
    schema.release(&schema);
    if (code)
        return code;
    info->size = sizeof *info;
    code = writer_append(w, batch, e);
    if (!code)
        code = sluice_writer_commit(w, info, e);
    sluice_writer_close(w);
    return code;
}

struct query {
    const char *const *columns; /* NULL: all */
    size_t column_count;
    const char *where, *as_of;
    bool read_optimized;
    bool limited; /* at most `limit` rows */
    int64_t limit;
    const char *
        by_tasks; /* path of the table: the scan runs task by task, as in other processes; NULL: one stream */
};

/* Appends the canonical rows of a stream, which is consumed. */
static inline int append_stream(struct ArrowArrayStream *rows, struct text *text, sluice_error *e)
{
    sluice_output_options o = {.size = sizeof o, .format = SLUICE_TEXT_CANONICAL};
    return sluice_output_text(rows, &o, text_collect, text, NULL, e);
}

static inline int append_tasks(sluice_scan *s, const char *path, struct text *text, sluice_error *e)
{
    sluice_job *job;
    int code = sluice_job_plan_scan(s, &job, e);
    if (code)
        return code;
    for (size_t i = 0; i < sluice_job_tasks(job) && !code; i++) {
        struct ArrowArrayStream rows;
        size_t bytes;
        const void *task = sluice_job_task(job, i, &bytes);
        code = sluice_task_rows(path, task, bytes, NULL, &rows, e);
        if (!code)
            code = append_stream(&rows, text, e);
    }
    sluice_job_free(job);
    return code;
}

/* Rows of the table in canonical form, sorted; *out is the caller's to free. */
static inline int read_rows(sluice_table *t, const struct query *q, char **out, sluice_error *e)
{
    sluice_scan *s;
    struct ArrowArrayStream rows;
    struct text text = {0};
    int code = sluice_scan_new(t, &s, e);
    if (code)
        return code;
    if (q->columns)
        code = sluice_scan_columns(s, q->columns, q->column_count, e);
    if (!code && q->where)
        code = sluice_scan_where(s, q->where, e);
    if (!code && q->as_of)
        code = sluice_scan_as_of(s, q->as_of, e);
    if (!code && q->read_optimized)
        code = sluice_scan_read_optimized(s, e);
    if (!code && q->limited)
        code = sluice_scan_limit(s, q->limit, e);
    text_append(&text, "", 0);
    if (!code && q->by_tasks) {
        code = append_tasks(s, q->by_tasks, &text, e);
    } else if (!code) {
        code = sluice_scan_stream(s, &rows, e);
        if (!code)
            code = append_stream(&rows, &text, e);
    }
    sluice_scan_free(s);
    if (code)
        free(text.data);
    else
        *out = sorted_lines(&text);
    return code;
}

/* ---- folders ------------------------------------------------------------------------------------------- */

/* In memory where the system has such a place: these tests make many small durable files, and what is waited for on a disk
 * is not what they look at. */
static inline void temporary_folder(char *out, size_t bytes)
{
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");
    snprintf(out, bytes, "%s/sluice-test-XXXXXX", base && *base ? base : "/tmp");
    assert_non_null(mkdtemp(out));
}

static inline void remove_folder(const char *path)
{
    sl_storage *local;
    ok(sl_storage_local(&local));
    ok(sl_storage_delete_tree(local, path));
    sl_storage_free(local);
}

#endif
