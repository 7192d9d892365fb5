/*
 * A file slice as one stream of merged rows: its inputs (slice_inputs.c), less what pruning leaves out (prune.c), become runs,
 * and the merge folds them; without logs the base is handed through.
 */
#include "slice/slice_int.h"
#include <stdio.h>
#include <string.h>

struct assembly {
    const sl_table *table;
    const sl_read_slice *slice;
    const struct sl_slice_options *options;
    const sl_type *schema; /* what the runs carry: wanted columns and those that merging needs */
    const sl_type *delete_schema;
    struct slice_inputs inputs;
    struct slice_twins twins;
    size_t *needed; /* the inputs that are runs of the merge */
    sl_parquet_memory *memory;
};

static void assembly_free(struct assembly *a)
{
    slice_inputs_free(&a->inputs);
    slice_twins_free(&a->twins);
    sl_free(a->needed);
    sl_parquet_memory_unref(a->memory);
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

sl_status slice_merging_schema(const sl_table *table, const sl_type *wanted, const sl_type *full,
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
    if (sl_type_field_index(full, "_hoodie_operation") >= 0)
        SL_GO(add_field(fields, &count, full, "_hoodie_operation"));
    status = sl_type_struct(fields, count, out);
done:
    sl_free(fields);
    return status;
}

/* ---- runs ---------------------------------------------------------------------------------------------- */

/* Rows of a base are copied as they are. Of a log only where a row by itself says what becomes of its key. */
static void choose_copying(const struct assembly *a, const struct slice_input *input,
                           const struct sl_merge_options *rules, struct sl_run_options *o)
{
    bool log_may = !a->options->changes && !input->is_deletes && !rules->marker_column &&
                   rules->partial == SL_PARTIAL_NONE &&
                   sl_type_field_index(a->schema, "_hoodie_operation") < 0;
    if (!input->is_base && !log_may)
        return;
    o->copy_to = a->options->copy_to;
    o->copy_is_log = !input->is_base;
    o->copy_flag = rules->delete_column;
}

static sl_status add_file_run(const struct assembly *a, const struct slice_input *input, struct sl_run *run)
{
    struct sl_merge_options rules;
    struct sl_run_options options = {.schema = input->is_deletes ? a->delete_schema : a->schema,
                                     .sorted = true,
                                     .source = input->source,
                                     .ranges = input->is_limited ? &input->rows : NULL,
                                     .stats = a->options->stats,
                                     .pool = a->options->pool,
                                     .memory = a->memory,
                                     .batch_rows = SL_MERGE_BATCH_ROWS,
                                     .batch_bytes = a->options->batch_bytes,
                                     .keep_dictionary = true,
                                     .is_base = input->is_base};
    if (!options.batch_bytes)
        options.batch_bytes = sl_batch_bytes_for(&a->table->runtime, a->slice->log_count + 1);
    SL_TRY(sl_table_rules(a->table, a->schema, &rules));
    if (!input->is_deletes)
        options.late_for = &rules;
    choose_copying(a, input, &rules, &options);
    SL_TRY(sl_run_open(a->table, input->relative, &options, &run->rows));
    run->late = sl_run_late(run->rows);
    run->copy = sl_run_copying(run->rows);
    return SL_OK;
}

static sl_status add_block_run(const struct assembly *a, struct slice_input *input, struct sl_run *run)
{
    sl_stream *rows;
    const sl_type *schema = input->is_deletes ? a->delete_schema : a->schema;
    sl_batch *block = input->block;
    input->block = NULL;
    SL_TRY(sl_stream_of_batches(schema, &block, 1, &rows));
    return sl_sort_stream(rows, sl_meta_names[SL_META_RECORD_KEY], &a->table->runtime, &run->rows);
}

static sl_status open_run(void *context, size_t index, struct sl_run *run)
{
    struct assembly *a = context;
    struct slice_input *input = &a->inputs.items[a->needed[index]];
    *run = (struct sl_run){
        .is_deletes = input->is_deletes, .is_base = input->is_base, .name = input->file->name};
    return input->relative ? add_file_run(a, input, run) : add_block_run(a, input, run);
}

/* Inputs of which no row is needed are not opened. */
static sl_status list_runs(struct assembly *a, struct sl_run_list *list)
{
    *list = (struct sl_run_list){.context = a, .open = open_run};
    SL_NEW_ARRAY(a->needed, a->inputs.count + 1);
    for (size_t i = 0; i < a->inputs.count; i++) {
        const struct slice_input *input = &a->inputs.items[i];
        if (input->is_limited && input->rows.count == 0)
            continue;
        list->has_base |= input->is_base;
        a->needed[list->count++] = i;
    }
    return SL_OK;
}

/* ---- columns that are there twice ---------------------------------------------------------------------- */

/* a->schema becomes that of the columns that are read. What a merge changes is told of the rows as they are. */
static sl_status leave_out_twins(struct assembly *a, bool merges)
{
    struct sl_merge_options rules;
    const sl_type *schema = merges ? a->schema : a->options->schema;
    if (a->options->changes || a->options->few_rows)
        return SL_OK;
    if (merges)
        SL_TRY(sl_table_rules(a->table, schema, &rules));
    SL_TRY(slice_twins_find(schema, &a->inputs, merges ? &rules : NULL, &a->twins));
    if (a->twins.count == 0)
        return SL_OK;
    SL_TRY(slice_twins_read(&a->twins, &schema));
    sl_type_unref(a->schema);
    a->schema = schema;
    return SL_OK;
}

static sl_status project(const struct assembly *a, sl_stream *rows, sl_stream **out)
{
    return a->twins.count ? slice_twins_project(&a->twins, rows, a->options->schema, out)
                          : sl_stream_project(rows, a->options->schema, out);
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static sl_status open_base_only(struct assembly *a, sl_stream **out)
{
    const struct sl_slice_options *o = a->options;
    struct slice_input *base = a->inputs.items;
    struct sl_run_options run = {.schema = a->twins.count ? a->schema : o->schema,
                                 .sorted = o->keys_needed,
                                 .source = base->source,
                                 .ranges = base->is_limited ? &base->rows : NULL,
                                 .stats = o->stats,
                                 .pool = o->pool,
                                 .memory = a->memory,
                                 .batch_rows = SL_MERGE_BATCH_ROWS,
                                 .batch_bytes = o->batch_bytes};
    sl_stream *rows;
    if (base->is_limited && base->rows.count == 0)
        return sl_stream_of_batches(o->schema, NULL, 0, out);
    SL_TRY(sl_run_open(a->table, base->relative, &run, &rows));
    if (a->twins.count > 0)
        return project(a, rows, out);
    *out = rows;
    return SL_OK;
}

static sl_status open_merged(struct assembly *a, sl_stream **out)
{
    const struct sl_slice_options *o = a->options;
    struct sl_run_list list;
    struct open_limit limit;
    struct sl_merge_options rules;
    sl_stream *merged;
    SL_TRY(list_runs(a, &list));
    if (o->stats)
        atomic_fetch_add_explicit(&o->stats->runs, list.count, memory_order_relaxed);
    SL_TRY(sl_table_rules(a->table, a->schema, &rules));
    rules.deletes = SL_DROP_DELETES;
    rules.batch_rows = SL_MERGE_BATCH_ROWS;
    rules.pool = o->pool;
    rules.keep_dictionaries = o->copy_to != NULL; /* the rows go to a Parquet writer */
    rules.changes = o->changes;
    slice_open_limit(&a->table->runtime, &a->inputs, &limit);
    SL_TRY(slice_merge_open_list(&list, &limit, &rules, o->counts, o->stats, &merged));
    return project(a, merged, out);
}

static sl_status choose_schemas(struct assembly *a)
{
    struct sl_merge_options rules;
    if (!a->table->populate_meta)
        return sl_unsupported("merging logs of a table without meta columns");
    SL_TRY(slice_merging_schema(a->table, a->options->schema, a->options->table_schema, &a->schema));
    SL_TRY(sl_table_rules(a->table, a->schema, &rules));
    return sl_delete_schema(&rules, &a->delete_schema);
}

sl_status sl_slice_open(const sl_table *table, const sl_read_slice *slice,
                        const struct sl_slice_options *options, sl_stream **out)
{
    struct assembly a = {.table = table, .slice = slice, .options = options};
    bool base_only = slice->log_count == 0 && slice->base;
    sl_status status = SL_OK;
    if (options->memory)
        a.memory = sl_parquet_memory_ref(options->memory);
    else
        SL_GO(sl_slice_memory_new(&table->runtime, false, &a.memory));
    if (!base_only)
        SL_GO(choose_schemas(&a));
    SL_GO(slice_inputs_load(table, slice, &(struct sl_slice_log_schemas){a.schema, a.delete_schema}, NULL,
                            options->stats, &a.inputs));
    if (options->filter)
        SL_GO(slice_prune(table, options->filter, &a.inputs, options->stats));
    SL_GO(leave_out_twins(&a, !base_only));
    SL_GO(base_only ? open_base_only(&a, out) : open_merged(&a, out));
done:
    assembly_free(&a);
    return status ? sl_context(status, "file group %s", slice->group->file_id) : SL_OK;
}
