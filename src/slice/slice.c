/*
 * A file slice as one stream of merged rows: base and the logs that count (slice_logs.c) become runs, oldest first,
 * and the merge folds them; without logs the base is handed through.
 */
#include "slice/slice.h"
#include <stdio.h>
#include <string.h>

struct assembly {
    const sl_table *table;
    const sl_read_slice *slice;
    const struct sl_slice_options *options;
    const sl_type *schema; /* what the runs carry: wanted columns and those that merging needs */
    const sl_type *delete_schema;
    struct sl_slice_logs logs;
};

static sl_status relative_path(const sl_read_slice *slice, const sl_data_file *file, char **out)
{
    return sl_path_join(slice->group->partition, file->name, out);
}

static void assembly_free(struct assembly *a)
{
    sl_slice_logs_free(&a->logs);
    sl_type_unref(a->schema);
    sl_type_unref(a->delete_schema);
}

/* ---- columns that merging needs ------------------------------------------------------------------------ */

static sl_status add_field(sl_field *fields, size_t *count, const sl_type *table_schema, const char *name)
{
    if (!name)
        return SL_OK;
    for (size_t i = 0; i < *count; i++)
        if (strcmp(fields[i].name, name) == 0)
            return SL_OK;
    int at = sl_type_field_index(table_schema, name);
    if (at < 0)
        return sl_corrupt("column %s, which merging needs, is not in the table's schema", name);
    fields[(*count)++] = table_schema->fields[at];
    return SL_OK;
}

/* The wanted columns followed by key, ordering and delete columns that are not among them. */
static sl_status merging_schema(const sl_table *table, const sl_type *wanted, const sl_type *full,
                                const sl_type **out)
{
    sl_field *fields = sl_calloc(wanted->field_count + full->field_count + 1, sizeof *fields);
    size_t count = wanted->field_count;
    struct sl_merge_options rules;
    sl_status status = fields ? SL_OK : sl_nomem();
    if (status)
        return status;
    if (count)
        memcpy(fields, wanted->fields, count * sizeof *fields);
    SL_GO(sl_table_rules(table, full, &rules));
    SL_GO(add_field(fields, &count, full, rules.key_column));
    for (size_t i = 0; i < rules.ordering_count; i++)
        SL_GO(add_field(fields, &count, full, rules.ordering[i]));
    SL_GO(add_field(fields, &count, full, rules.delete_column));
    SL_GO(add_field(fields, &count, full, rules.marker_column));
    status = sl_type_struct(fields, count, out);
done:
    sl_free(fields);
    return status;
}

/* ---- runs ---------------------------------------------------------------------------------------------- */

struct run_list {
    struct sl_run *runs;
    size_t count;
};

static void runs_close(struct run_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        sl_stream_close(list->runs[i].rows);
    sl_free(list->runs);
    memset(list, 0, sizeof *list);
}

static sl_status add_file_run(const struct assembly *a, const sl_data_file *file, struct run_list *list)
{
    bool is_deletes = file->parts.kind == SL_FILE_DELETES;
    char *relative;
    struct sl_run_options run = {.schema = is_deletes ? a->delete_schema : a->schema,
                                 .sorted = true,
                                 .strict_order = a->options->strict_order,
                                 .key_filter = is_deletes ? NULL : a->options->key_filter,
                                 .stats = a->options->stats,
                                 .pool = a->options->pool,
                                 .batch_bytes = a->options->batch_bytes};
    SL_TRY(relative_path(a->slice, file, &relative));
    sl_status status = sl_run_open(a->table, relative, &run, &list->runs[list->count].rows);
    sl_free(relative);
    SL_TRY(status);
    list->runs[list->count].is_deletes = is_deletes;
    list->runs[list->count].is_base = file->parts.kind == SL_FILE_BASE;
    list->runs[list->count].name = file->name;
    list->count++;
    return SL_OK;
}

static sl_status add_inline_runs(const struct assembly *a, struct sl_slice_log *source, struct run_list *list)
{
    for (size_t i = 0; i < source->blocks.count; i++) {
        struct sl_inline_piece *piece = &source->blocks.pieces[i];
        sl_stream *rows;
        const sl_type *schema = piece->is_deletes ? a->delete_schema : a->schema;
        sl_batch *batch = piece->batch;
        piece->batch = NULL;
        SL_TRY(sl_stream_of_batches(schema, &batch, 1, &rows));
        struct sl_run *run = &list->runs[list->count];
        SL_TRY(sl_sort_stream(rows, sl_meta_names[SL_META_RECORD_KEY], &a->table->runtime, &run->rows));
        run->is_deletes = piece->is_deletes;
        run->name = source->file->name;
        list->count++;
    }
    return SL_OK;
}

static sl_status open_runs(struct assembly *a, struct run_list *list)
{
    size_t most = 1;
    for (size_t i = 0; i < a->logs.count; i++)
        most += a->logs.items[i].dropped ? 0 : 1 + a->logs.items[i].blocks.count;
    SL_NEW_ARRAY(list->runs, most);
    if (a->slice->base)
        SL_TRY(add_file_run(a, a->slice->base, list));
    for (size_t i = 0; i < a->logs.count; i++) {
        if (a->logs.items[i].dropped)
            continue;
        if (a->logs.items[i].file->parts.kind == SL_FILE_INLINE_LOG)
            SL_TRY(add_inline_runs(a, &a->logs.items[i], list));
        else
            SL_TRY(add_file_run(a, a->logs.items[i].file, list));
    }
    return SL_OK;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static sl_status open_base_only(const sl_table *table, const sl_read_slice *slice,
                                const struct sl_slice_options *o, sl_stream **out)
{
    char *relative;
    struct sl_run_options run = {.schema = o->schema,
                                 .sorted = o->keys_needed,
                                 .strict_order = o->strict_order,
                                 .filter = o->filter,
                                 .key_filter = o->key_filter,
                                 .stats = o->stats,
                                 .pool = o->pool,
                                 .batch_bytes = o->batch_bytes};
    SL_TRY(relative_path(slice, slice->base, &relative));
    sl_status status = sl_run_open(table, relative, &run, out);
    sl_free(relative);
    return status;
}

static void count_logs(const struct assembly *a)
{
    for (size_t i = 0; i < a->logs.count && a->options->stats; i++)
        if (a->logs.items[i].dropped)
            atomic_fetch_add_explicit(&a->options->stats->logs_replaced, 1, memory_order_relaxed);
}

static sl_status open_merged(struct assembly *a, sl_stream **out)
{
    const struct sl_slice_options *o = a->options;
    struct run_list list = {0};
    struct sl_merge_options rules;
    sl_stream *merged;
    sl_status status = SL_OK;
    SL_GO(sl_slice_logs_load(a->table, a->slice, &(struct sl_slice_log_schemas){a->schema, a->delete_schema},
                             &a->logs));
    count_logs(a);
    SL_GO(open_runs(a, &list));
    if (o->stats)
        atomic_fetch_add_explicit(&o->stats->runs, list.count, memory_order_relaxed);
    SL_GO(sl_table_rules(a->table, a->schema, &rules));
    rules.deletes = SL_DROP_DELETES;
    size_t count = list.count;
    list.count = 0; /* the merge owns the streams from here on, whatever it returns */
    SL_GO(sl_merge_open(list.runs, count, &rules, o->counts, &merged));
    status = sl_stream_project(merged, o->schema, out);
done:
    runs_close(&list);
    return status;
}

sl_status sl_slice_open(const sl_table *table, const sl_read_slice *slice,
                        const struct sl_slice_options *options, sl_stream **out)
{
    if (slice->log_count == 0 && slice->base)
        return open_base_only(table, slice, options, out);
    struct assembly a = {.table = table, .slice = slice, .options = options};
    struct sl_merge_options rules;
    sl_status status = SL_OK;
    if (!table->populate_meta) {
        status = sl_unsupported("merging logs of a table without meta columns");
        goto done;
    }
    SL_GO(merging_schema(table, options->schema, options->table_schema, &a.schema));
    SL_GO(sl_table_rules(table, a.schema, &rules));
    SL_GO(sl_delete_schema(&rules, &a.delete_schema));
    SL_GO(open_merged(&a, out));
done:
    assembly_free(&a);
    return status ? sl_context(status, "file group %s", slice->group->file_id) : SL_OK;
}
