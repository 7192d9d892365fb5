/*
 * A scan: which slices may hold matching rows (values of their partition, buckets of the keys), their merged rows in parallel,
 * the filter again on every row, the projection, the limit. What is left out within a slice is said in scan_prune.c and
 * slice/prune.c.
 */
#include "query/scan_int.h"
#include <string.h>

void scan_free(void *context)
{
    struct scan *s = context;
    for (size_t i = 0; i < s->slice_count; i++)
        sl_read_slice_free(&s->slices[i]);
    sl_free(s->slices);
    sl_view_free(&s->view);
    sl_type_unref(s->table_schema);
    sl_type_unref(s->read_schema);
    sl_type_unref(s->schema);
    sl_expr_free(s->where);
    sl_strings_free(&s->where_columns);
    sl_key_set_free(&s->keys);
    key_buckets_free(&s->buckets);
    for (unsigned i = 0; s->memories && i < s->thread_count; i++)
        sl_parquet_memory_unref(s->memories[i]);
    sl_free(s->memories);
    sl_free(s);
}

/* ---- columns ------------------------------------------------------------------------------------------- */

static sl_status pick(const sl_type *from, const sl_strings *names, const sl_type **out)
{
    sl_field *fields;
    SL_NEW_ARRAY(fields, names->count + 1);
    sl_status status = SL_OK;
    for (size_t i = 0; i < names->count; i++) {
        int at = sl_type_field_index(from, names->items[i]);
        if (at < 0) {
            const char *nearest = sl_type_field_alike(from, names->items[i]);
            status = sl_input("column %s: the table has none of that name", names->items[i]);
            status = nearest ? sl_hint(status, "did you mean %s?", nearest) : status;
            goto done;
        }
        fields[i] = from->fields[at];
    }
    status = sl_type_struct(fields, names->count, out);
done:
    sl_free(fields);
    return status;
}

static sl_status add_names(const char *const *names, size_t count, sl_strings *out)
{
    for (size_t i = 0; i < count; i++) {
        if (sl_strings_contain(out, names[i]))
            return sl_input("column %s is asked for twice", names[i]);
        SL_TRY(sl_strings_add(out, names[i]));
    }
    return SL_OK;
}

sl_status scan_pick_columns(const sl_type *table_schema, const char *const *names, size_t count,
                            const sl_type **out)
{
    sl_strings list = {0};
    if (!names) {
        *out = sl_type_ref(table_schema);
        return SL_OK;
    }
    sl_status status = add_names(names, count, &list);
    if (!status)
        status = pick(table_schema, &list, out);
    sl_strings_free(&list);
    return status;
}

/* The wanted columns, then those that only the filter needs. */
sl_status scan_choose_columns(struct scan *s, const struct sl_scan_options *o)
{
    sl_strings names = {0}, needed = {0};
    sl_status status = SL_OK;
    SL_GO(scan_pick_columns(s->table_schema, o->columns, o->column_count, &s->schema));
    for (size_t i = 0; i < s->schema->field_count; i++)
        SL_GO(sl_strings_add(&names, s->schema->fields[i].name));
    if (s->where)
        SL_GO(sl_expr_columns(s->where, &needed));
    for (size_t i = 0; i < needed.count; i++)
        if (!sl_strings_contain(&names, needed.items[i]))
            SL_GO(sl_strings_add(&names, needed.items[i]));
    status = pick(s->table_schema, &names, &s->read_schema);
done:
    sl_strings_free(&names);
    sl_strings_free(&needed);
    return status;
}

/* ---- pruning ------------------------------------------------------------------------------------------- */

struct partition_bounds {
    const struct scan *scan;
    sl_strings values;
};

/* Types of which a path holds a text that can be read back. */
static bool path_tells(const sl_type *type)
{
    return type->id == SL_STRING || type->id == SL_DATE || type->id == SL_INT32 || type->id == SL_INT64;
}

static sl_status partition_value(const sl_type *type, const char *text, sl_array **out)
{
    sl_builder *b;
    SL_TRY(sl_builder_new(type, &b));
    sl_status status = sl_builder_text(b, text, strlen(text));
    if (!status)
        status = sl_builder_finish(b, out);
    sl_builder_free(b);
    return status;
}

/* A partition's folder tells the one value of each partition field; types that it does not tell are left to the rows. */
static bool partition_value_bounds(void *context, const char *column, struct sl_parquet_bounds *out)
{
    struct partition_bounds *p = context;
    const struct sl_keygen *k = &p->scan->table->keygen;
    for (size_t i = 0; i < k->partition_fields.count && p->values.count == k->partition_fields.count; i++) {
        const char *value = p->values.items[i];
        int at = sl_type_field_index(p->scan->table_schema, column);
        if (strcmp(k->partition_fields.items[i], column) != 0)
            continue;
        *out = (struct sl_parquet_bounds){.has_bounds = true};
        if (at < 0 || !path_tells(p->scan->table_schema->fields[at].type) ||
            strcmp(value, "__HIVE_DEFAULT_PARTITION__") == 0 ||
            sl_status_ignore(partition_value(p->scan->table_schema->fields[at].type, value, &out->min)))
            return false;
        out->max = sl_array_ref(out->min);
        return true;
    }
    return false;
}

static bool partition_may_match(const struct scan *s, const char *path)
{
    struct partition_bounds p = {.scan = s};
    /* Values that a path does not tell apart (slashes inside, other generators) prune nothing. */
    if (!s->where || !s->prunes || !s->table->keygen_known || s->table->keygen.slash_dates ||
        sl_status_ignore(sl_partition_values(&s->table->keygen, path, &p.values)))
        return true;
    bool may = sl_expr_may_match(s->where, partition_value_bounds, &p);
    sl_strings_free(&p.values);
    return may;
}

/* ---- slices -------------------------------------------------------------------------------------------- */

static bool group_may_match(const struct scan *s, const sl_file_group *group)
{
    return !s->has_keys || !s->prunes || key_buckets_hold_any(&s->buckets, group, s->keys.count);
}

static sl_status collect_slices(struct scan *s, bool read_optimized)
{
    size_t groups = 0;
    for (size_t p = 0; p < s->view.partition_count; p++)
        groups += s->view.partitions[p].group_count;
    SL_NEW_ARRAY(s->slices, groups + 1);
    for (size_t p = 0; p < s->view.partition_count; p++) {
        const sl_partition *partition = &s->view.partitions[p];
        if (!partition_may_match(s, partition->path)) {
            for (size_t g = 0; s->stats && g < partition->group_count; g++)
                atomic_fetch_add(&s->stats->files_skipped, partition->groups[g].file_count);
            continue;
        }
        for (size_t g = 0; g < partition->group_count; g++) {
            bool found;
            if (!group_may_match(s, &partition->groups[g])) {
                if (s->stats)
                    atomic_fetch_add(&s->stats->files_skipped, partition->groups[g].file_count);
                continue;
            }
            SL_TRY(sl_group_read_slice(&partition->groups[g], read_optimized, &s->slices[s->slice_count],
                                       &found));
            s->slice_count += found;
        }
    }
    return SL_OK;
}

/* ---- filter and limit ---------------------------------------------------------------------------------- */

struct filter_stream {
    sl_stream base;
    sl_stream *rows;
    const struct scan *scan;
    uint8_t *selection;
    size_t selection_bytes;
};

static sl_status filter_batch(struct filter_stream *f, sl_batch *batch, sl_batch **out)
{
    int64_t selected;
    size_t bytes = bitmap_bytes(batch->rows);
    if (bytes > f->selection_bytes) {
        uint8_t *grown = sl_realloc(f->selection, bytes);
        if (!grown)
            return sl_nomem();
        f->selection = grown;
        f->selection_bytes = bytes;
    }
    SL_TRY(sl_expr_select(f->scan->where, batch, f->selection, &selected));
    if (selected == 0)
        *out = NULL;
    else if (selected == batch->rows)
        *out = sl_batch_ref(batch);
    else
        return sl_batch_filter(batch, f->selection, out);
    return SL_OK;
}

static sl_status filter_next(sl_stream *self, sl_batch **out)
{
    struct filter_stream *f = (struct filter_stream *)self;
    *out = NULL;
    while (!*out) {
        sl_batch *batch;
        SL_TRY(sl_stream_next(f->rows, &batch));
        if (!batch)
            return SL_OK;
        sl_status status = filter_batch(f, batch, out);
        sl_batch_unref(batch);
        SL_TRY(status);
    }
    return SL_OK;
}

static void filter_close(sl_stream *self)
{
    struct filter_stream *f = (struct filter_stream *)self;
    sl_stream_close(f->rows);
    sl_free(f->selection);
    sl_free(f);
}

static sl_status filter_stream(const struct scan *scan, sl_stream *rows, sl_stream **out)
{
    struct filter_stream *f = sl_calloc(1, sizeof *f);
    if (!f) {
        sl_stream_close(rows);
        return sl_nomem();
    }
    *f =
        (struct filter_stream){.base = {rows->schema, filter_next, filter_close}, .rows = rows, .scan = scan};
    *out = &f->base;
    return SL_OK;
}

struct result_stream {
    sl_stream base;
    sl_stream *rows;
    const sl_runtime *runtime;
    sl_read_stats *stats;
    int64_t left; /* -1: no limit */
    uint64_t delivered;
};

static sl_status result_next(sl_stream *self, sl_batch **out)
{
    struct result_stream *r = (struct result_stream *)self;
    *out = NULL;
    if (r->left == 0)
        return SL_OK;
    sl_batch *batch;
    SL_TRY(sl_stream_next(r->rows, &batch));
    if (batch && r->left >= 0 && batch->rows > r->left) {
        sl_batch *cut;
        sl_status status = sl_batch_copy(batch, 0, r->left, &cut);
        sl_batch_unref(batch);
        SL_TRY(status);
        batch = cut;
    }
    if (!batch)
        return SL_OK;
    if (r->left >= 0)
        r->left -= batch->rows;
    r->delivered += (uint64_t)batch->rows;
    if (r->stats)
        atomic_fetch_add(&r->stats->rows_out, (uint64_t)batch->rows);
    sl_progress(r->runtime, "reading", r->delivered, 0);
    *out = batch;
    return SL_OK;
}

static void result_close(sl_stream *self)
{
    struct result_stream *r = (struct result_stream *)self;
    sl_stream_close(r->rows);
    sl_free(r);
}

sl_status scan_result_stream(const sl_runtime *runtime, sl_read_stats *stats, sl_stream *rows, int64_t limit,
                             sl_stream **out)
{
    struct result_stream *r = sl_calloc(1, sizeof *r);
    if (!r) {
        sl_stream_close(rows);
        return sl_nomem();
    }
    *r = (struct result_stream){{rows->schema, result_next, result_close}, rows, runtime, stats, limit, 0};
    *out = &r->base;
    return SL_OK;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

#define LOOKUP_KEYS_MAX 1000 /* more are found faster by reading on */
#define FEW_ROWS        8192 /* a limit up to a page or two */

/* An expression that leaves a few keys possible is a lookup, filtered by the rest of it; which looks at no order, though. */
static sl_status open_rows(const struct scan *s, const sl_read_slice *slice, unsigned thread, sl_stream **out)
{
    if (s->has_keys && s->prunes && s->keys.count <= LOOKUP_KEYS_MAX && !sl_table_orders_strictly(s->table))
        return sl_slice_lookup(s->table, slice,
                               &(struct sl_lookup_options){.schema = s->read_schema,
                                                           .table_schema = s->table_schema,
                                                           .keys = &s->keys,
                                                           .stats = s->stats,
                                                           .pool = s->pool},
                               out);
    struct sl_slice_options o = {.schema = s->read_schema,
                                 .table_schema = s->table_schema,
                                 .few_rows = s->few_rows,
                                 .filter = s->where && s->prunes ? &s->filter : NULL,
                                 .stats = s->stats,
                                 .memory = s->memories ? s->memories[thread] : NULL,
                                 .pool = s->pool};
    return sl_slice_open(s->table, slice, &o, out);
}

sl_status scan_open_slice(void *context, size_t index, unsigned thread, sl_stream **out)
{
    const struct scan *s = context;
    sl_stream *rows;
    SL_TRY(open_rows(s, &s->slices[index], thread, &rows));
    if (s->where)
        SL_TRY(filter_stream(s, rows, &rows));
    if (s->read_schema->field_count == s->schema->field_count) {
        *out = rows;
        return SL_OK;
    }
    return sl_stream_project(rows, s->schema, out);
}

/* The schema at the wanted time; before the first commit that of today, for no rows. */
static sl_status schema_at(const sl_table *table, const sl_timeline *timeline, const sl_type **out)
{
    sl_timeline whole;
    sl_status status = sl_table_schema(table, timeline, NULL, out);
    if (sl_status_code(status) != SL_E_NOT_FOUND)
        return status;
    sl_status_free(status);
    SL_TRY(sl_timeline_load(table, &whole));
    status = sl_table_schema(table, &whole, NULL, out);
    sl_timeline_free(&whole);
    return status;
}

sl_status scan_table_schema(const sl_table *table, const sl_timeline *timeline, const sl_type **out)
{
    const sl_type *data;
    SL_TRY(schema_at(table, timeline, &data));
    sl_status status = SL_OK;
    if (table->populate_meta)
        status = sl_schema_with_meta(data, out);
    else
        *out = sl_type_ref(data); /* the meta columns of its files are empty */
    sl_type_unref(data);
    return status;
}

sl_status scan_load(struct scan *s, const struct sl_scan_options *o)
{
    char as_of[SL_INSTANT_BYTES];
    if (o->as_of)
        SL_TRY(sl_instant_parse(o->as_of, as_of));
    SL_TRY(sl_view_load(s->table, &(struct sl_view_options){.as_of = o->as_of ? as_of : NULL}, &s->view));
    SL_TRY(scan_table_schema(s->table, &s->view.timeline, &s->table_schema));
    if (o->where)
        SL_TRY(sl_expr_parse(o->where, s->table_schema, &s->where));
    SL_TRY(scan_choose_columns(s, o));
    SL_TRY(scan_set_filter(s));
    if (o->as_of) /* a table may have had another number of buckets then */
        key_buckets_free(&s->buckets);
    return collect_slices(s, o->read_optimized);
}

/* With a limit the slices are read one after the other, and so are those of a table that has one. */
static sl_status choose_threads(struct scan *s, bool in_order)
{
    const sl_runtime *runtime = &s->table->runtime;
    size_t most = sl_slices_at_once(runtime);
    bool sequential = in_order || most <= 1 || s->slice_count <= 1;
    s->thread_count = sequential ? 1 : (unsigned)(most < s->slice_count ? most : s->slice_count);
    s->pool = sequential ? runtime->pool : NULL;
    SL_NEW_ARRAY(s->memories, s->thread_count);
    for (unsigned i = 0; i < s->thread_count; i++)
        SL_TRY(sl_slice_memory_new(runtime, sequential, &s->memories[i]));
    return SL_OK;
}

sl_status sl_scan_open(const sl_table *table, const struct sl_scan_options *options, sl_read_stats *stats,
                       sl_stream **out)
{
    struct scan *s;
    SL_NEW(s);
    s->table = table;
    s->stats = stats;
    s->few_rows = options->limit >= 0 && options->limit <= FEW_ROWS;
    sl_status status = scan_load(s, options);
    if (!status)
        status = choose_threads(s, options->limit >= 0);
    if (status) {
        scan_free(s);
        return status;
    }
    struct sl_parallel_source source = {s->schema, s->slice_count, scan_open_slice, s, scan_free};
    sl_stream *rows;
    SL_TRY(sl_parallel_stream(&source, s->thread_count, &table->runtime, &rows));
    return scan_result_stream(&table->runtime, stats, rows, options->limit, out);
}
