/*
 * A file slice as one stream of merged rows.
 *
 *   1. logs that a completed log compaction replaced are left out, its own files take their place
 * (spec/lsm-layout.md 9)
 *   2. base and logs become runs, oldest first
 *   3. the merge folds them; without logs the base is handed through
 */
#include "slice/slice.h"
#include <stdio.h>
#include <string.h>

/* ---- which logs count, and in what order --------------------------------------------------------------- */

/* A log with what its headers say. Inline logs are read whole: their blocks become runs of their own. */
struct source {
    const sl_data_file *file;
    sl_strings compacted;
    struct sl_inline_log blocks;
    const char *place; /* instant whose place in the order it takes */
    bool dropped;
};

struct assembly {
    const sl_table *table;
    const sl_read_slice *slice;
    const struct sl_slice_options *options;
    const sl_type *schema; /* what the runs carry: wanted columns and those that merging needs */
    const sl_type *delete_schema;
    struct source *sources;
    size_t count;
};

static sl_status relative_path(const sl_read_slice *slice, const sl_data_file *file, char **out)
{
    return sl_path_join(slice->group->partition, file->name, out);
}

static sl_status read_native_headers(const sl_table *table, const char *relative, struct source *source)
{
    char *path = NULL;
    sl_file *file = NULL;
    sl_parquet *parquet = NULL;
    struct sl_log_headers headers = {0};
    sl_status status = SL_OK;
    SL_GO(sl_table_path(table, relative, &path));
    SL_GO(sl_storage_open(table->storage, path, &file));
    SL_GO(sl_parquet_open(file, NULL, &parquet));
    SL_GO(sl_log_headers_read(parquet, &headers));
    if (headers.forms_differ)
        sl_warn(&table->runtime, "log %s: its two sets of headers differ, the newer form counts", relative);
    if (headers.is_partial)
        status = sl_unsupported("partial-update logs");
    else if (source->file->parts.kind == SL_FILE_LOG && !headers.schema)
        status = sl_corrupt("data log without SCHEMA header");
    source->compacted = headers.compacted;
    memset(&headers.compacted, 0, sizeof headers.compacted);
done:
    sl_log_headers_free(&headers);
    sl_parquet_close(parquet);
    sl_file_close(file);
    sl_free(path);
    return status;
}

static sl_status read_inline(const struct assembly *a, const char *relative, struct source *source)
{
    char *path = NULL;
    sl_file *file = NULL;
    sl_status status = SL_OK;
    SL_GO(sl_table_path(a->table, relative, &path));
    SL_GO(sl_storage_open(a->table->storage, path, &file));
    SL_GO(sl_inline_log_read(file, a->schema, a->delete_schema, &a->table->runtime, &source->blocks));
    for (size_t i = 0; i < source->blocks.count; i++)
        for (size_t k = 0; k < source->blocks.pieces[i].compacted.count; k++)
            if (!sl_strings_contain(&source->compacted, source->blocks.pieces[i].compacted.items[k]))
                SL_GO(sl_strings_add(&source->compacted, source->blocks.pieces[i].compacted.items[k]));
done:
    sl_file_close(file);
    sl_free(path);
    return status;
}

static sl_status read_source(const struct assembly *a, struct source *source)
{
    char *relative;
    SL_TRY(relative_path(a->slice, source->file, &relative));
    sl_status status = strcmp(source->file->parts.format, "parquet") == 0
                           ? read_native_headers(a->table, relative, source)
                       : source->file->parts.kind == SL_FILE_INLINE_LOG
                           ? read_inline(a, relative, source)
                           : sl_unsupported("log format %s", source->file->parts.format);
    status = sl_context(status, "log %s", relative);
    sl_free(relative);
    return status;
}

/* Every log whose instant a log compaction names is dropped, also the output of an inner log compaction: its
 * own list still counts, so nesting ends at the outermost. */
static void drop_replaced(struct assembly *a)
{
    for (size_t i = 0; i < a->count; i++)
        for (size_t k = 0; k < a->count; k++)
            if (i != k && sl_strings_contain(&a->sources[i].compacted, a->sources[k].file->parts.instant) &&
                strcmp(a->sources[i].file->parts.instant, a->sources[k].file->parts.instant) != 0) {
                if (a->options->stats && !a->sources[k].dropped)
                    atomic_fetch_add_explicit(&a->options->stats->logs_replaced, 1, memory_order_relaxed);
                a->sources[k].dropped = true;
            }
}

/* The newest replaced instant that is in the slice; a replaced log compaction stands for the place it took
 * itself. */
static void take_places(struct assembly *a)
{
    for (size_t i = 0; i < a->count; i++)
        a->sources[i].place = a->sources[i].file->parts.instant;
    for (size_t round = 0; round < a->count;
         round++) { /* inner places first: each round settles one more level of nesting */
        bool changed = false;
        for (size_t i = 0; i < a->count; i++) {
            const char *newest = NULL;
            for (size_t k = 0; k < a->count; k++)
                if (a->sources[k].dropped && k != i &&
                    sl_strings_contain(&a->sources[i].compacted, a->sources[k].file->parts.instant) &&
                    (!newest || strcmp(a->sources[k].place, newest) > 0))
                    newest = a->sources[k].place;
            if (newest && strcmp(newest, a->sources[i].place) != 0) {
                a->sources[i].place = newest;
                changed = true;
            }
        }
        if (!changed)
            return;
    }
}

/* Insertion sort by place: stable, so files of one log compaction keep their own order, and logs of the slice
 * before a pending compaction stay before those after it. Only log compactions ever move. */
static void order_by_place(struct assembly *a)
{
    for (size_t i = 1; i < a->count; i++) {
        struct source moved = a->sources[i];
        if (moved.compacted.count == 0)
            continue;
        size_t at = i;
        while (at > 0 && strcmp(a->sources[at - 1].place, moved.place) > 0) {
            a->sources[at] = a->sources[at - 1];
            at--;
        }
        a->sources[at] = moved;
    }
}

static sl_status load_sources(struct assembly *a)
{
    SL_NEW_ARRAY(a->sources, a->slice->log_count + 1);
    a->count = a->slice->log_count;
    for (size_t i = 0; i < a->count; i++)
        a->sources[i].file = a->slice->logs[i];
    for (size_t i = 0; i < a->count; i++)
        SL_TRY(read_source(a, &a->sources[i]));
    drop_replaced(a);
    take_places(a);
    order_by_place(a);
    return SL_OK;
}

static void assembly_free(struct assembly *a)
{
    for (size_t i = 0; i < a->count; i++) {
        sl_strings_free(&a->sources[i].compacted);
        sl_inline_log_free(&a->sources[i].blocks);
    }
    sl_free(a->sources);
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

static sl_status add_inline_runs(const struct assembly *a, struct source *source, struct run_list *list)
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
    for (size_t i = 0; i < a->count; i++)
        most += a->sources[i].dropped ? 0 : 1 + a->sources[i].blocks.count;
    SL_NEW_ARRAY(list->runs, most);
    if (a->slice->base)
        SL_TRY(add_file_run(a, a->slice->base, list));
    for (size_t i = 0; i < a->count; i++) {
        if (a->sources[i].dropped)
            continue;
        if (a->sources[i].file->parts.kind == SL_FILE_INLINE_LOG)
            SL_TRY(add_inline_runs(a, &a->sources[i], list));
        else
            SL_TRY(add_file_run(a, a->sources[i].file, list));
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

static sl_status open_merged(struct assembly *a, sl_stream **out)
{
    const struct sl_slice_options *o = a->options;
    struct run_list list = {0};
    struct sl_merge_options rules;
    sl_stream *merged;
    sl_status status = SL_OK;
    SL_GO(load_sources(a));
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
