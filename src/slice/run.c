/*
 * A data file as a run. Columns are matched by name and conformed to what the reader wants, so that files
 * written under an older schema fit. The key order of our own files is marked in their footer and checked
 * again by the merge; files of other writers are checked here first and sorted when they are not in order
 * (spec/lsm-layout.md 6: a run in another order merges to wrong rows without any error).
 */
#include "slice/slice_int.h"
#include <stdio.h>
#include <string.h>

struct run_stream {
    sl_stream base; /* schema is borrowed from `rows` */
    sl_source *source;
    sl_parquet_memory *memory;
    sl_stream *rows;
    sl_read_stats *stats;
    struct run_copy *copy; /* NULL: every row is decoded */
    struct run_late *late; /* NULL: every column is in `rows` */
};

static sl_status run_next(sl_stream *self, sl_batch **out)
{
    struct run_stream *s = (struct run_stream *)self;
    if (s->copy)
        SL_TRY_CTX(run_copy_before(s->copy), "file %s", s->source->relative);
    SL_TRY_CTX(sl_stream_next(s->rows, out), "file %s", s->source->relative);
    if (s->copy && *out)
        run_copy_after(s->copy, (*out)->rows);
    if (*out && s->stats && s->base.schema->field_count)
        atomic_fetch_add_explicit(&s->stats->rows_decoded, (uint64_t)(*out)->rows, memory_order_relaxed);
    return SL_OK;
}

static void run_close(sl_stream *self)
{
    struct run_stream *s = (struct run_stream *)self;
    run_late_free(s->late);
    sl_stream_close(s->rows);
    run_copy_free(s->copy);
    sl_source_unref(s->source);
    sl_parquet_memory_unref(s->memory);
    sl_free(s);
}

/* ---- key order ----------------------------------------------------------------------------------------- */

/* Another program that wrote the rows anew may have kept the mark, but not their order. */
bool slice_is_marked_sorted(const sl_parquet *p)
{
    const char *column = sl_parquet_key_value(p, SL_SORTED_BY);
    return sl_parquet_is_ours(p) && column && strcmp(column, sl_meta_names[SL_META_RECORD_KEY]) == 0;
}

/* Compares neighbours across batches; keeps the last key. */
static sl_status batch_in_order(const sl_batch *batch, sl_buf *last, bool *have_last, bool *in_order)
{
    const sl_array *keys = batch->columns[0];
    for (int64_t i = 0; i < batch->rows && *in_order; i++) {
        size_t len, previous_len;
        if (!sl_is_valid(keys, i))
            return sl_corrupt("row without record key");
        const uint8_t *key = sl_bytes_at(keys, i, &len);
        const uint8_t *previous =
            i ? sl_bytes_at(keys, i - 1, &previous_len) : (previous_len = last->len, last->data);
        if ((i || *have_last) && bytes_compare(previous, previous_len, key, len) > 0)
            *in_order = false;
    }
    if (batch->rows) {
        size_t len;
        const uint8_t *key = sl_bytes_at(keys, batch->rows - 1, &len);
        last->len = 0;
        SL_TRY(sl_buf_append(last, key, len));
        *have_last = true;
    }
    return SL_OK;
}

static sl_status file_in_order(const sl_table *table, sl_parquet *p, const char *key_column, bool *in_order)
{
    sl_stream *keys = NULL;
    sl_buf last = {0};
    bool have_last = false;
    *in_order = true;
    sl_status status = sl_parquet_scan(
        p, &(struct sl_parquet_scan_options){.columns = &key_column, .column_count = 1}, &keys);
    while (!status && *in_order) {
        sl_batch *batch;
        SL_GO(sl_check_cancel(&table->runtime));
        SL_GO(sl_stream_next(keys, &batch));
        if (!batch)
            break;
        status = batch_in_order(batch, &last, &have_last, in_order);
        sl_batch_unref(batch);
    }
done:
    sl_stream_close(keys);
    sl_buf_free(&last);
    return status;
}

/* ---- columns ------------------------------------------------------------------------------------------- */

/* Early delete logs named their key column `record_key` (spec/lsm-layout.md 4.2); their ordering value was
 * ignored. */
static bool is_early_delete_log(const sl_parquet *p)
{
    const sl_type *schema = sl_parquet_schema(p);
    return sl_type_field_index(schema, sl_meta_names[SL_META_RECORD_KEY]) < 0 &&
           sl_type_field_index(schema, "record_key") >= 0;
}

struct rename_stream {
    sl_stream base;
    sl_stream *in;
};

static sl_status rename_next(sl_stream *self, sl_batch **out)
{
    struct rename_stream *s = (struct rename_stream *)self;
    sl_batch *batch;
    *out = NULL;
    SL_TRY(sl_stream_next(s->in, &batch));
    if (!batch)
        return SL_OK;
    sl_array *key = sl_array_ref(batch->columns[0]);
    sl_status status = sl_batch_new(s->base.schema, batch->rows, &key, out);
    sl_batch_unref(batch);
    return status;
}

static void rename_close(sl_stream *self)
{
    struct rename_stream *s = (struct rename_stream *)self;
    sl_stream_close(s->in);
    sl_type_unref(s->base.schema);
    sl_free(s);
}

/* The only column of `in` under the name of the key column. */
static sl_status rename_to_key(sl_stream *in, sl_stream **out)
{
    struct rename_stream *s = sl_calloc(1, sizeof *s);
    const sl_type *schema = NULL;
    sl_field field = in->schema->fields[0];
    field.name = sl_meta_names[SL_META_RECORD_KEY];
    sl_status status = s ? sl_type_struct(&field, 1, &schema) : sl_nomem();
    if (status) {
        sl_free(s);
        sl_stream_close(in);
        return status;
    }
    *s = (struct rename_stream){{schema, rename_next, rename_close}, in};
    *out = &s->base;
    return SL_OK;
}

sl_status run_scan_columns(sl_parquet *p, const struct sl_run_options *o, sl_stream **out)
{
    const sl_type *file_schema = sl_parquet_schema(p);
    bool early = is_early_delete_log(p);
    const char **names = sl_calloc(o->schema->field_count + 1, sizeof *names);
    size_t count = 0;
    sl_status status = names ? SL_OK : sl_nomem();
    if (status)
        goto done;
    if (early)
        names[count++] = "record_key";
    for (size_t i = 0; !early && i < o->schema->field_count; i++)
        if (sl_type_field_index(file_schema, o->schema->fields[i].name) >= 0)
            names[count++] = o->schema->fields[i].name;
    if (count == 0 &&
        file_schema->field_count) /* none of them is in this file: any column tells the number of rows */
        names[count++] = file_schema->fields[0].name;
    static const struct sl_row_range nothing = {0, 0};
    struct sl_parquet_scan_options scan = {.columns = names,
                                           .column_count = count,
                                           .ranges = !o->ranges             ? NULL
                                                     : o->ranges->count > 0 ? o->ranges->items
                                                                            : &nothing,
                                           .range_count = o->ranges ? o->ranges->count : 0,
                                           .batch_rows = o->batch_rows,
                                           .batch_bytes = o->batch_bytes,
                                           .keep_dictionary = o->keep_dictionary,
                                           .pool = o->pool,
                                           .bytes_read = o->stats ? &o->stats->bytes_read : NULL,
                                           .pages_read = o->stats ? &o->stats->pages : NULL,
                                           .pages_skipped = o->stats ? &o->stats->pages_skipped : NULL,
                                           .memory = o->memory};
    SL_GO(sl_parquet_scan(p, &scan, out));
    if (early)
        status = rename_to_key(*out, out);
done:
    sl_free(names);
    return status;
}

/* ---- no columns ---------------------------------------------------------------------------------------- */

#define COUNTED_ROWS ((int64_t)1 << 20) /* of a batch without columns */

/* Rows without columns: the footer tells their number. */
struct row_count_stream {
    sl_stream base;
    int64_t left;
};

static sl_status row_count_next(sl_stream *self, sl_batch **out)
{
    struct row_count_stream *s = (struct row_count_stream *)self;
    static sl_array *const no_columns[1] = {NULL};
    int64_t rows = s->left < COUNTED_ROWS ? s->left : COUNTED_ROWS;
    *out = NULL;
    s->left -= rows;
    return rows ? sl_batch_new(s->base.schema, rows, no_columns, out) : SL_OK;
}

static void row_count_close(sl_stream *self)
{
    sl_type_unref(self->schema);
    sl_free(self);
}

static sl_status row_count_stream(const sl_parquet *p, const struct sl_run_options *o, sl_stream **out)
{
    struct row_count_stream *s;
    SL_NEW(s);
    *s = (struct row_count_stream){{sl_type_ref(o->schema), row_count_next, row_count_close},
                                   o->ranges ? sl_row_ranges_rows(o->ranges) : sl_parquet_rows(p)};
    *out = &s->base;
    return SL_OK;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

bool sl_table_orders_strictly(const sl_table *table)
{
    return strcmp(sl_table_setting(table, "sluice.lsm.order", "repair"), "strict") == 0;
}

/* Whether the rows have to be sorted. */
static sl_status check_order(const struct run_stream *run, const struct sl_run_options *o,
                             const sl_table *table, bool *disorder)
{
    const char *key =
        is_early_delete_log(run->source->parquet) ? "record_key" : sl_meta_names[SL_META_RECORD_KEY];
    bool in_order = !o->sorted || slice_is_marked_sorted(run->source->parquet);
    if (!in_order)
        SL_TRY(file_in_order(table, run->source->parquet, key, &in_order));
    *disorder = !in_order;
    if (in_order)
        return SL_OK;
    if (sl_table_orders_strictly(table))
        return sl_corrupt("rows are not in the order of their record keys");
    if (table->layout == SL_LAYOUT_LSM) /* no other promises an order */
        sl_warn(&table->runtime,
                "file %s: its rows, which are not in the order of their keys, are sorted again",
                run->source->relative);
    if (o->stats)
        atomic_fetch_add_explicit(&o->stats->runs_repaired, 1, memory_order_relaxed);
    return SL_OK;
}

static sl_status sort_rows(struct run_stream *run, const sl_runtime *runtime)
{
    sl_stream *unsorted = run->rows;
    run->rows = NULL;
    return sl_sort_stream(unsorted, sl_meta_names[SL_META_RECORD_KEY], runtime, &run->rows);
}

static void count_file(const struct run_stream *run)
{
    if (!run->stats)
        return;
    atomic_fetch_add_explicit(&run->stats->files, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&run->stats->file_bytes, sl_file_size(run->source->file), memory_order_relaxed);
}

/* The scan, and its rows in the wanted types. */
static sl_status scan_rows(struct run_stream *run, const struct sl_run_options *o, sl_stream **scan)
{
    struct sl_run_options first = *o;
    if (run->late)
        first.schema = run_late_early(run->late);
    SL_TRY(run_scan_columns(run->source->parquet, &first, scan));
    return sl_stream_conform(*scan, first.schema, &run->rows);
}

/* Scans of a run share memory, whether others do or not. */
static sl_status choose_memory(struct run_stream *run, struct sl_run_options *o)
{
    if (o->memory)
        sl_parquet_memory_ref(o->memory);
    else
        SL_TRY(sl_parquet_memory_new(o->batch_bytes, &o->memory));
    run->memory = o->memory;
    return SL_OK;
}

static sl_status open_rows(struct run_stream *run, const struct sl_run_options *given, const sl_table *table)
{
    struct sl_run_options options = *given;
    const struct sl_run_options *o = &options;
    if (o->schema->field_count == 0)
        return row_count_stream(run->source->parquet, o, &run->rows);
    sl_stream *scan;
    bool disorder;
    SL_TRY(check_order(run, o, table, &disorder));
    SL_TRY(choose_memory(run, &options));
    if (!disorder && o->late_for && sl_merge_may_be_late(o->late_for) &&
        sl_table_setting_true(table, "sluice.merge.late", true))
        SL_TRY(run_late_new(run->source, o, &run->late));
    SL_TRY(scan_rows(run, o, &scan));
    if (disorder)
        return sort_rows(run, &table->runtime);
    if (!o->copy_to || o->ranges || !sl_file_writer_can_copy(o->copy_to, run->source->parquet))
        return SL_OK;
    return run_copy_new(run->source, scan, o, &run->copy);
}

struct sl_run_copy sl_run_copying(sl_stream *run)
{
    struct run_stream *s = (struct run_stream *)run;
    return s->copy ? run_copy_for_merge(s->copy) : (struct sl_run_copy){0};
}

struct sl_run_late sl_run_late(sl_stream *run)
{
    struct run_stream *s = (struct run_stream *)run;
    return s->late ? run_late_for_merge(s->late) : (struct sl_run_late){0};
}

sl_status sl_run_open(const sl_table *table, const char *relative, const struct sl_run_options *o,
                      sl_stream **out)
{
    struct run_stream *run;
    struct sl_run_options bounded = *o;
    if (!bounded.batch_bytes)
        bounded.batch_bytes = sl_batch_bytes_for(&table->runtime, 1);
    SL_NEW(run);
    run->base.next = run_next;
    run->base.close = run_close;
    run->stats = o->stats;
    if (o->source)
        run->source = sl_source_ref(o->source);
    sl_status status = SL_OK;
    if (!run->source)
        SL_GO(sl_source_open(table, relative, NULL, &run->source));
    SL_GO_CTX(open_rows(run, &bounded, table), "file %s", relative);
    count_file(run);
    run->base.schema = run->rows->schema;
    *out = &run->base;
done:
    if (status)
        run_close(&run->base);
    return status;
}
