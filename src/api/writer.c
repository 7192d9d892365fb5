/* Writers of the public API. */
#include "api/api_int.h"
#include <stdio.h>
#include <string.h>

struct sluice_writer {
    sluice_table *owner;
    sl_writer *writer;
    struct ArrowSchema layout; /* how the caller lays its arrays out */
    const sl_type *input;
};

void api_commit_info(const struct sl_write_result *r, sluice_commit_info *info)
{
    if (!info)
        return;
    sluice_commit_info full = {.size = info->size,
                               .rows_in = r->rows_in,
                               .rows_written = r->rows_written,
                               .rows_inserted = r->inserted,
                               .rows_updated = r->updated,
                               .rows_deleted = r->deleted,
                               .counts_are_known = r->counts_known,
                               .file_groups = r->file_groups,
                               .partitions = r->partitions,
                               .file_groups_replaced = r->groups_replaced,
                               .files = r->files,
                               .bytes = r->bytes,
                               .spilled_runs = r->spilled_runs,
                               .flushes = r->flushes,
                               .seconds = r->seconds};
    snprintf(full.instant, sizeof full.instant, "%s", r->instant);
    snprintf(full.completed, sizeof full.completed, "%s", r->completed);
    snprintf(full.action, sizeof full.action, "%s", r->action ? r->action : "");
    memcpy(info, &full,
           info->size < sizeof full ? info->size : sizeof full); /* an older caller's struct is shorter */
}

void api_committed(sluice_table *t, const struct sl_write_result *r, sluice_commit_info *info)
{
    api_commit_info(r, info);
    if (*r->instant)
        sl_inline_services(t->table);
}

sl_status api_operation(enum sluice_operation operation, enum sl_operation *out)
{
    static const enum sl_operation operations[] = {SL_OP_INSERT,           SL_OP_UPSERT,
                                                   SL_OP_BULK_INSERT,      SL_OP_DELETE,
                                                   SL_OP_INSERT_OVERWRITE, SL_OP_INSERT_OVERWRITE_TABLE};
    if ((unsigned)operation >= sizeof operations / sizeof *operations)
        return sl_input("operation %d is unknown", (int)operation);
    *out = operations[operation];
    return SL_OK;
}

int sluice_writer_open(sluice_table *t, enum sluice_operation operation, const struct ArrowSchema *input,
                       sluice_writer **out, sluice_error *e)
{
    API_REQUIRE(t, input, out);
    enum sl_operation inner;
    sluice_writer *w = sl_calloc(1, sizeof *w);
    sl_status status = w ? api_operation(operation, &inner) : sl_nomem();
    if (!status)
        status = sl_arrow_import_schema(input, &w->input);
    if (!status)
        status = api_copy_schema(input, &w->layout);
    if (!status)
        status = sl_writer_open(t->table, inner, w->input, &w->writer);
    if (status) {
        sluice_writer_close(w);
        return api_result(sl_context(status, "table %s", t->table->uri), e);
    }
    w->owner = api_table_ref(t);
    *out = w;
    return api_result(SL_OK, e);
}

void sluice_writer_close(sluice_writer *w)
{
    if (!w)
        return;
    sl_writer_close(w->writer);
    sl_type_unref(w->input);
    if (w->layout.release)
        w->layout.release(&w->layout);
    sluice_table_close(w->owner);
    sl_free(w);
}

int sluice_writer_append(sluice_writer *w, struct ArrowArray *array, sluice_error *e)
{
    sl_batch *batch;
    sl_status status = API_ARGUMENTS(w, array);
    if (status)
        return api_drop_array(array, status, e);
    status = sl_arrow_import_batch(array, &w->layout, w->input, &batch);
    if (!status) {
        status = sl_writer_append(w->writer, batch);
        sl_batch_unref(batch);
    }
    return api_result(sl_context(status, "table %s", w->owner->table->uri), e);
}

static sl_status append_batch(void *context, sl_batch *batch)
{
    sluice_writer *w = context;
    return sl_writer_append(w->writer, batch);
}

int sluice_writer_append_stream(sluice_writer *w, struct ArrowArrayStream *rows, sluice_error *e)
{
    sl_stream *input = NULL;
    sl_status status = API_ARGUMENTS(w, rows);
    if (status)
        return api_drop_stream(rows, status, e);
    status = sl_input_arrow_stream(rows, NULL, NULL, &input);
    if (!status && !sl_type_equal(input->schema, w->input)) {
        sl_stream *raw = input;
        input = NULL;
        status = sl_input_conform(raw, w->input, "input", NULL, &input);
    }
    if (!status)
        status = sl_stream_drain(input, NULL, append_batch, w);
    sl_stream_close(input);
    return api_result(sl_context(status, "table %s", w->owner->table->uri), e);
}

int sluice_writer_flush(sluice_writer *w, sluice_error *e)
{
    API_REQUIRE(w);
    return api_result(sl_context(sl_writer_flush(w->writer), "table %s", w->owner->table->uri), e);
}

void sluice_writer_waiting(const sluice_writer *w, uint64_t *rows, uint64_t *bytes)
{
    uint64_t waiting_rows = 0, waiting_bytes = 0;
    if (w)
        sl_writer_waiting(w->writer, &waiting_rows, &waiting_bytes);
    if (rows)
        *rows = waiting_rows;
    if (bytes)
        *bytes = waiting_bytes;
}

int sluice_writer_commit(sluice_writer *w, sluice_commit_info *info, sluice_error *e)
{
    API_REQUIRE(w);
    struct sl_write_result result;
    sl_status status = sl_writer_commit(w->writer, &result);
    if (!status)
        api_committed(w->owner, &result, info);
    return api_result(sl_context(status, "table %s", w->owner->table->uri), e);
}

int sluice_table_delete_partitions(sluice_table *t, const char *const *partitions, size_t count,
                                   sluice_commit_info *info, sluice_error *e)
{
    API_REQUIRE(t);
    struct sl_write_result result;
    sl_status status = api_items("partitions", partitions, count);
    if (!status)
        status = sl_delete_partitions(t->table, partitions, count, &result);
    if (!status)
        api_committed(t, &result, info);
    return api_result(sl_context(status, "table %s", t->table->uri), e);
}
