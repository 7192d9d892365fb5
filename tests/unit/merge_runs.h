/*
 * Runs of a merge written as text, for the tests of merge/:
 *
 *   "B a=10 b=7"      a base file with the rows a (ordering value 10) and b
 *   "R a=5 b=-"       a data log; `-` is null
 *   "R a=5!"          ... a row with _hoodie_is_deleted
 *   "R a=5*"          ... a row with op = "D"
 *   "D a=12 b=-"      a delete log
 *   "R a=100/m"       two ordering fields
 *
 * Rows get the ids 0, 1, ... through all runs, so that a result names exactly the record it took.
 */
#ifndef MERGE_RUNS_H
#define MERGE_RUNS_H

#include "check_support.h"
#include <stdio.h>

#include "merge/merge_int.h"

enum { RUNS_MAX = 40, OPS_MAX = 4096 };

/* One record of a history. */
struct op {
    char key[32];
    bool has[2];    /* ordering values that are not null */
    int64_t value;  /* of the first ordering field */
    char text[8];   /* of the second */
    bool is_delete; /* delete log or marked */
    bool marked, custom;
    bool in_delete_run, in_base;
    size_t source;
    int64_t id;
};
struct history {
    struct op ops[OPS_MAX];
    size_t count;
    size_t runs;
    char kind[RUNS_MAX];
};

/* How the ordering columns look. */
struct ordering {
    enum sl_type_id first; /* SL_INT64, SL_INT32, SL_DOUBLE, SL_STRING */
    size_t count;          /* 0, 1, 2 */
};

SL_UNUSED static const char *const ordering_names[] = {"ts", "s"};

/* ---- batches in memory as a stream --------------------------------------------------------------------- */

struct memory_stream {
    sl_stream base;
    const sl_type *schema;
    sl_batch **batches;
    size_t count, at;
};

static sl_status memory_next(sl_stream *self, sl_batch **out)
{
    struct memory_stream *s = (struct memory_stream *)self;
    *out = NULL;
    if (s->at < s->count) {
        *out = s->batches[s->at];
        s->batches[s->at++] = NULL;
    }
    return SL_OK;
}

static void memory_close(sl_stream *self)
{
    struct memory_stream *s = (struct memory_stream *)self;
    for (size_t i = 0; i < s->count; i++)
        sl_batch_unref(s->batches[i]);
    free(s->batches);
    sl_type_unref(s->schema);
    free(s);
}

SL_UNUSED static struct memory_stream *memory_stream_new(const sl_type *schema)
{
    struct memory_stream *s = calloc(1, sizeof *s);
    s->base = (sl_stream){schema, memory_next, memory_close};
    s->schema = sl_type_ref(schema);
    return s;
}

/* Takes the batch over. */
SL_UNUSED static void memory_stream_add(struct memory_stream *s, sl_batch *batch)
{
    s->batches = realloc(s->batches, (s->count + 1) * sizeof *s->batches);
    s->batches[s->count++] = batch;
}

/* ---- schemas ------------------------------------------------------------------------------------------- */

static const sl_type *type_of(enum sl_type_id id)
{
    const sl_type *type;
    OK(sl_type_new(id, &type));
    return type;
}

SL_UNUSED static const sl_type *row_schema(struct ordering ordering)
{
    const sl_type *text = type_of(SL_STRING), *flag = type_of(SL_BOOL), *id = type_of(SL_INT64),
                  *ts = type_of(ordering.first), *list;
    sl_field element = {.name = "element", .type = id, .nullable = true};
    OK(sl_type_list(&element, &list));
    sl_field fields[] = {
        {"_hoodie_record_key", text, false, NULL},
        {"id", id, false, NULL},
        {"ts", ts, true, NULL},
        {"s", text, true, NULL},
        {"_hoodie_is_deleted", flag, true, NULL},
        {"op", text, true, NULL},
        {"list", list, true, NULL},
    };
    const sl_type *schema;
    OK(sl_type_struct(fields, sizeof fields / sizeof *fields, &schema));
    sl_type_unref(text);
    sl_type_unref(flag);
    sl_type_unref(id);
    sl_type_unref(ts);
    sl_type_unref(list);
    return schema;
}

SL_UNUSED static const sl_type *delete_log_schema(struct ordering ordering)
{
    const sl_type *text = type_of(SL_STRING), *ts = type_of(ordering.first), *schema;
    sl_field fields[] = {
        {"_hoodie_record_key", text, false, NULL}, {"ts", ts, true, NULL}, {"s", text, true, NULL}};
    OK(sl_type_struct(fields, ordering.count + 1, &schema));
    sl_type_unref(text);
    sl_type_unref(ts);
    return schema;
}

/* ---- rows
 * ---------------------------------------------------------------------------------------------------------
 */

static void put_first(sl_builder *b, enum sl_type_id id, const struct op *op)
{
    char text[32];
    if (!op->has[0])
        OK(sl_builder_null(b));
    else if (id == SL_DOUBLE)
        OK(sl_builder_double(b, (double)op->value));
    else if (id == SL_STRING)
        OK(sl_builder_bytes(b, text, (size_t)snprintf(text, sizeof text, "%020" PRId64, op->value)));
    else
        OK(sl_builder_integer(b, op->value));
}

static void put_second(sl_builder *b, const struct op *op)
{
    OK(op->has[1] ? sl_builder_bytes(b, op->text, strlen(op->text)) : sl_builder_null(b));
}

/* The list column tells the id again, with as many elements as id % 4 (3: null). */
static void put_list(sl_builder *b, int64_t id)
{
    if (id % 4 == 3) {
        OK(sl_builder_null(b));
        return;
    }
    for (int64_t i = 0; i < id % 4; i++)
        OK(sl_builder_integer(sl_builder_child(b, 0), id));
    OK(sl_builder_close(b));
}

SL_UNUSED static void put_row(sl_batch_builder *b, struct ordering ordering, const struct op *op)
{
    OK(sl_builder_bytes(b->columns[0], op->key, strlen(op->key)));
    OK(sl_builder_integer(b->columns[1], op->id));
    put_first(b->columns[2], ordering.first, op);
    put_second(b->columns[3], op);
    OK(op->marked   ? sl_builder_bool(b->columns[4], true)
       : op->id % 2 ? sl_builder_null(b->columns[4])
                    : sl_builder_bool(b->columns[4], false));
    OK(op->custom ? sl_builder_bytes(b->columns[5], "D", 1) : sl_builder_bytes(b->columns[5], "U", 1));
    put_list(b->columns[6], op->id);
}

static void put_delete(sl_batch_builder *b, struct ordering ordering, const struct op *op)
{
    OK(sl_builder_bytes(b->columns[0], op->key, strlen(op->key)));
    if (ordering.count > 0)
        put_first(b->columns[1], ordering.first, op);
    if (ordering.count > 1)
        put_second(b->columns[2], op);
}

/* The run of `source` as a stream of batches of `sizes(turn)` rows. */
static sl_stream *history_stream(const struct history *h, size_t source, struct ordering ordering,
                                 const sl_type *rows, int64_t batch)
{
    bool deletes = h->kind[source] == 'D';
    const sl_type *schema = deletes ? delete_log_schema(ordering) : sl_type_ref(rows);
    struct memory_stream *s = memory_stream_new(schema);
    sl_batch_builder b = {0};
    sl_batch *done;
    OK(sl_batch_builder_init(&b, schema));
    for (size_t i = 0; i < h->count; i++) {
        if (h->ops[i].source != source)
            continue;
        if (deletes)
            put_delete(&b, ordering, &h->ops[i]);
        else
            put_row(&b, ordering, &h->ops[i]);
        if (sl_batch_builder_rows(&b) == batch) {
            OK(sl_batch_builder_finish(&b, &done));
            memory_stream_add(s, done);
        }
    }
    OK(sl_batch_builder_finish(&b, &done)); /* the last one may be empty: a reader may do that too */
    memory_stream_add(s, done);
    sl_batch_builder_free(&b);
    sl_type_unref(schema);
    return &s->base;
}

SL_UNUSED static void history_runs(const struct history *h, struct ordering ordering, const sl_type *rows,
                                   int64_t batch, struct sl_run *runs)
{
    static char names[RUNS_MAX][8];
    for (size_t s = 0; s < h->runs; s++) {
        snprintf(names[s], sizeof names[s], "run%zu", s % RUNS_MAX);
        runs[s] = (struct sl_run){.rows = history_stream(h, s, ordering, rows, batch),
                                  .is_deletes = h->kind[s] == 'D',
                                  .is_base = h->kind[s] == 'B',
                                  .name = names[s]};
    }
}

/* ---- runs whose columns come late ---------------------------------------------------------------------- */

/* Over a memory stream, whose batches it keeps. */
struct late_stream {
    sl_stream base;
    const sl_type *schema; /* of the columns that come first */
    struct memory_stream *all;
    size_t columns[16]; /* theirs, in `all` */
    int64_t most;       /* rows that come at once */
    int64_t at;         /* row behind the last that came */
    int64_t *loaded;    /* counts rows that came; NULL */
};

static sl_status late_next(sl_stream *self, sl_batch **out)
{
    struct late_stream *s = (struct late_stream *)self;
    sl_array *columns[16];
    *out = NULL;
    if (s->all->at == s->all->count)
        return SL_OK;
    const sl_batch *batch = s->all->batches[s->all->at++];
    for (size_t i = 0; i < s->schema->field_count; i++)
        columns[i] = sl_array_ref(batch->columns[s->columns[i]]);
    return sl_batch_new(s->schema, batch->rows, columns, out);
}

static void late_close(sl_stream *self)
{
    struct late_stream *s = (struct late_stream *)self;
    sl_stream_close(&s->all->base);
    sl_type_unref(s->schema);
    free(s);
}

static sl_status late_load(void *context, const sl_batch *early, int64_t from, int64_t row, sl_batch **out)
{
    struct late_stream *s = context;
    sl_array *columns[16];
    size_t b = 0, made = 0;
    int64_t first = row - from, rows = early->rows - from < s->most ? early->rows - from : s->most;
    assert_true(from >= 0 && from < early->rows && row >= s->at);
    while (first > 0)
        first -= s->all->batches[b++]->rows;
    while (s->all->batches[b]->rows == 0)
        b++;
    const sl_batch *batch = s->all->batches[b];
    assert_int_equal(first, 0);
    assert_int_equal(batch->rows, early->rows);
    for (; made < batch->schema->field_count; made++) {
        sl_status status = sl_array_copy(batch->columns[made], from, rows, &columns[made]);
        if (status == SL_OK)
            continue;
        while (made > 0)
            sl_array_unref(columns[--made]);
        return status;
    }
    s->at = row + rows;
    if (s->loaded)
        *s->loaded += rows;
    return sl_batch_new(batch->schema, rows, columns, out);
}

/* Columns that the merge does not look at come late from now on, at most so many rows at once. */
SL_UNUSED static struct late_stream *make_late(struct sl_run *run, const struct sl_merge_options *options,
                                               int64_t most)
{
    struct late_stream *s = calloc(1, sizeof *s);
    sl_field fields[16];
    size_t count = 0;
    s->all = (struct memory_stream *)run->rows;
    s->most = most;
    for (size_t i = 0; i < options->schema->field_count; i++) {
        if (!sl_merge_looks_at(options, options->schema->fields[i].name, run->is_base))
            continue;
        s->columns[count] = i;
        fields[count++] = options->schema->fields[i];
    }
    OK(sl_type_struct(fields, count, &s->schema));
    s->base = (sl_stream){s->schema, late_next, late_close};
    run->rows = &s->base;
    run->late = (struct sl_run_late){.context = s, .schema = s->all->schema, .load = late_load};
    return s;
}

/* ---- text to history ----------------------------------------------------------------------------------- */

SL_UNUSED static void history_parse(struct history *h, const char *const *runs, size_t count)
{
    memset(h, 0, sizeof *h);
    h->runs = count;
    for (size_t s = 0; s < count; s++) {
        h->kind[s] = runs[s][0];
        for (const char *p = runs[s] + 1; *p;) {
            if (*p == ' ') {
                p++;
                continue;
            }
            struct op *op = &h->ops[h->count];
            *op = (struct op){.source = s,
                              .id = (int64_t)h->count,
                              .in_delete_run = h->kind[s] == 'D',
                              .in_base = h->kind[s] == 'B'};
            h->count++;
            size_t key = strcspn(p, "=");
            memcpy(op->key, p, key);
            p += key + 1;
            if (*p == '-' && (p[1] < '0' || p[1] > '9')) {
                p++;
            } else {
                char *end;
                op->has[0] = true;
                op->value = strtoll(p, &end, 10);
                p = end;
            }
            if (*p == '/') {
                size_t text = strcspn(++p, " !*");
                op->has[1] = text != 1 || *p != '-';
                if (op->has[1])
                    memcpy(op->text, p, text);
                p += text;
            }
            op->marked = *p == '!';
            op->custom = *p == '*';
            p += op->marked || op->custom;
            op->is_delete = op->in_delete_run || op->marked || op->custom;
        }
    }
}

#endif
