/* What a slice is made of, oldest first: the base, then the logs that count, an inline log block by block. */
#include "slice/slice_int.h"

void slice_inputs_free(struct slice_inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++) {
        struct slice_input *input = &inputs->items[i];
        sl_free(input->relative);
        sl_source_unref(input->source);
        sl_batch_unref(input->block);
        sl_row_ranges_free(&input->rows);
    }
    sl_free(inputs->items);
    sl_slice_logs_free(&inputs->logs);
    *inputs = (struct slice_inputs){0};
}

static sl_status add_file(const sl_read_slice *slice, const sl_data_file *file, sl_source *source,
                          struct slice_inputs *out)
{
    struct slice_input *input = &out->items[out->count++];
    input->file = file;
    input->is_base = file->parts.kind == SL_FILE_BASE;
    input->is_deletes = file->parts.kind == SL_FILE_DELETES;
    input->source = source ? sl_source_ref(source) : NULL;
    return sl_path_join(slice->group->partition, file->name, &input->relative);
}

static sl_status add_log(const sl_read_slice *slice, const struct sl_slice_log *log, struct slice_inputs *out)
{
    out->items[out->count].run_bytes = log->run_bytes;
    return add_file(slice, log->file, log->source, out);
}

static void add_blocks(struct sl_slice_log *log, struct slice_inputs *out)
{
    for (size_t i = 0; i < log->blocks.count; i++) {
        struct sl_inline_piece *piece = &log->blocks.pieces[i];
        out->items[out->count++] =
            (struct slice_input){.file = log->file, .is_deletes = piece->is_deletes, .block = piece->batch};
        piece->batch = NULL;
    }
}

static sl_status add_base(const sl_table *table, const sl_read_slice *slice, const sl_type *schema,
                          sl_source_cache *cache, struct slice_inputs *out)
{
    SL_TRY(add_file(slice, slice->base, NULL, out));
    struct slice_input *input = &out->items[out->count - 1];
    SL_TRY(sl_source_open(table, input->relative, cache, &input->source));
    size_t batch_bytes = sl_batch_bytes_for(&table->runtime, slice->log_count + 1);
    return schema ? slice_run_bytes(input->source->parquet, schema, batch_bytes, &input->run_bytes) : SL_OK;
}

sl_status slice_inputs_load(const sl_table *table, const sl_read_slice *slice,
                            const struct sl_slice_log_schemas *schemas, sl_source_cache *cache,
                            sl_read_stats *stats, struct slice_inputs *out)
{
    struct slice_inputs inputs = {0};
    size_t most = 1;
    sl_status status = SL_OK;
    SL_GO(slice_logs_load(table, slice, schemas, cache, &inputs.logs));
    for (size_t i = 0; i < inputs.logs.count; i++)
        most += 1 + inputs.logs.items[i].blocks.count;
    if (!(inputs.items = sl_calloc(most, sizeof *inputs.items)))
        SL_GO(sl_nomem());
    if (slice->base)
        SL_GO(add_base(table, slice, schemas ? schemas->rows : NULL, cache, &inputs));
    for (size_t i = 0; i < inputs.logs.count; i++) {
        struct sl_slice_log *log = &inputs.logs.items[i];
        if (log->dropped && stats)
            atomic_fetch_add_explicit(&stats->logs_replaced, 1, memory_order_relaxed);
        else if (log->dropped)
            continue;
        else if (log->file->parts.kind == SL_FILE_INLINE_LOG)
            add_blocks(log, &inputs);
        else
            SL_GO(add_log(slice, log, &inputs));
    }
    *out = inputs;
    return SL_OK;
done:
    slice_inputs_free(&inputs);
    return status;
}
