/*
 * Which logs of a file slice count, and in what order (spec/lsm-layout.md 9): logs that a completed log compaction
 * replaced are left out, and its own files take the place of the newest one they replace.
 */
#include "slice/slice_int.h"
#include <string.h>

/* ---- headers ------------------------------------------------------------------------------------------- */

static sl_status read_native_headers(const sl_table *table, const char *relative, sl_source_cache *cache,
                                     const struct sl_slice_log_schemas *schemas, size_t batch_bytes,
                                     struct sl_slice_log *log)
{
    SL_TRY(sl_source_open(table, relative, cache, &log->source));
    const struct sl_log_headers *headers = &log->source->headers;
    if (headers->forms_differ)
        sl_warn(&table->runtime, "log %s: its two sets of headers differ, the newer form counts", relative);
    if (headers->is_partial)
        return sl_unsupported("partial-update logs");
    if (log->file->parts.kind == SL_FILE_LOG && !headers->schema)
        return sl_corrupt("data log without SCHEMA header");
    for (size_t i = 0; i < headers->compacted.count; i++)
        SL_TRY(sl_strings_add(&log->compacted, headers->compacted.items[i]));
    const sl_type *schema = !schemas                                   ? NULL
                            : log->file->parts.kind == SL_FILE_DELETES ? schemas->deletes
                                                                       : schemas->rows;
    return schema ? slice_run_bytes(log->source->parquet, schema, batch_bytes, &log->run_bytes) : SL_OK;
}

/* Its blocks become runs of their own, so they are read whole. */
static sl_status read_inline(const sl_table *table, const char *relative,
                             const struct sl_slice_log_schemas *schemas, struct sl_slice_log *log)
{
    char *path = NULL;
    sl_file *file = NULL;
    sl_status status = SL_OK;
    SL_GO(sl_table_path(table, relative, &path));
    SL_GO(sl_storage_open(table->storage, path, &file));
    SL_GO(sl_inline_log_read(file, schemas->rows, schemas->deletes, &table->runtime, &log->blocks));
    for (size_t i = 0; i < log->blocks.count; i++)
        for (size_t k = 0; k < log->blocks.pieces[i].compacted.count; k++)
            SL_GO(sl_strings_add_once(&log->compacted, log->blocks.pieces[i].compacted.items[k]));
done:
    sl_file_close(file);
    sl_free(path);
    return status;
}

static sl_status read_log(const sl_table *table, const sl_read_slice *slice,
                          const struct sl_slice_log_schemas *schemas, sl_source_cache *cache,
                          struct sl_slice_log *log)
{
    char *relative;
    SL_TRY(sl_path_join(slice->group->partition, log->file->name, &relative));
    sl_status status = SL_OK;
    if (strcmp(log->file->parts.format, "parquet") == 0)
        status = read_native_headers(table, relative, cache, schemas,
                                     sl_batch_bytes_for(&table->runtime, slice->log_count + 1), log);
    else if (log->file->parts.kind != SL_FILE_INLINE_LOG)
        status = sl_unsupported("log format %s", log->file->parts.format);
    else if (schemas)
        status = read_inline(table, relative, schemas, log);
    status = sl_context(status, "log %s", relative);
    sl_free(relative);
    return status;
}

/* ---- order --------------------------------------------------------------------------------------------- */

/* Every log whose instant a log compaction names is dropped, also the output of an inner log compaction: its
 * own list still counts, so nesting ends at the outermost. */
static void drop_replaced(struct sl_slice_logs *logs)
{
    for (size_t i = 0; i < logs->count; i++)
        for (size_t k = 0; k < logs->count && logs->items[i].compacted.count; k++)
            if (i != k && sl_strings_contain(&logs->items[i].compacted, logs->items[k].file->parts.instant) &&
                strcmp(logs->items[i].file->parts.instant, logs->items[k].file->parts.instant) != 0)
                logs->items[k].dropped = true;
}

/* The newest replaced instant that is in the slice; a replaced log compaction stands for the place it took
 * itself. */
static void take_places(struct sl_slice_logs *logs)
{
    for (size_t i = 0; i < logs->count; i++)
        logs->items[i].place = logs->items[i].file->parts.instant;
    for (size_t round = 0; round < logs->count;
         round++) { /* inner places first: each round settles one more level of nesting */
        bool changed = false;
        for (size_t i = 0; i < logs->count; i++) {
            const char *newest = NULL;
            for (size_t k = 0; k < logs->count && logs->items[i].compacted.count; k++)
                if (logs->items[k].dropped && k != i &&
                    sl_strings_contain(&logs->items[i].compacted, logs->items[k].file->parts.instant) &&
                    (!newest || strcmp(logs->items[k].place, newest) > 0))
                    newest = logs->items[k].place;
            if (newest && strcmp(newest, logs->items[i].place) != 0) {
                logs->items[i].place = newest;
                changed = true;
            }
        }
        if (!changed)
            return;
    }
}

/* Insertion sort by place: stable, so files of one log compaction keep their own order, and logs of the slice
 * before a pending compaction stay before those after it. Only log compactions ever move. */
static void order_by_place(struct sl_slice_logs *logs)
{
    for (size_t i = 1; i < logs->count; i++) {
        struct sl_slice_log moved = logs->items[i];
        if (moved.compacted.count == 0)
            continue;
        size_t at = i;
        while (at > 0 && strcmp(logs->items[at - 1].place, moved.place) > 0) {
            logs->items[at] = logs->items[at - 1];
            at--;
        }
        logs->items[at] = moved;
    }
}

/* ---- loading ------------------------------------------------------------------------------------------- */

sl_status slice_logs_load(const sl_table *table, const sl_read_slice *slice,
                          const struct sl_slice_log_schemas *schemas, sl_source_cache *cache,
                          struct sl_slice_logs *out)
{
    struct sl_slice_logs logs = {0};
    sl_status status = SL_OK;
    SL_NEW_ARRAY(logs.items, slice->log_count + 1);
    const bool keeps_files = slice_keeps_files(&table->runtime, slice->log_count + 1);
    logs.count = slice->log_count;
    for (size_t i = 0; i < logs.count; i++)
        logs.items[i].file = slice->logs[i];
    for (size_t i = 0; i < logs.count; i++) {
        SL_GO(sl_check_cancel(&table->runtime));
        SL_GO(read_log(table, slice, schemas, cache, &logs.items[i]));
        if (!keeps_files) {
            sl_source_unref(logs.items[i].source);
            logs.items[i].source = NULL;
        }
    }
    drop_replaced(&logs);
    take_places(&logs);
    order_by_place(&logs);
    *out = logs;
    return SL_OK;
done:
    sl_slice_logs_free(&logs);
    return status;
}

sl_status sl_slice_logs_load(const sl_table *table, const sl_read_slice *slice,
                             const struct sl_slice_log_schemas *schemas, struct sl_slice_logs *out)
{
    return slice_logs_load(table, slice, schemas, NULL, out);
}

void sl_slice_logs_free(struct sl_slice_logs *logs)
{
    for (size_t i = 0; i < logs->count; i++) {
        sl_strings_free(&logs->items[i].compacted);
        sl_inline_log_free(&logs->items[i].blocks);
        sl_source_unref(logs->items[i].source);
    }
    sl_free(logs->items);
    memset(logs, 0, sizeof *logs);
}
