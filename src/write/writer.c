/* The writer: input checks, keys, buffering, and the commit that ties the tasks together. */
#include "write/write_int.h"
#include <stdio.h>
#include <string.h>

struct sl_writer {
    sl_table *table;
    enum sl_operation operation;
    const sl_type *columns; /* what a row is conformed to before its key is made: table columns, or a delete's
                               key columns */
    const sl_type *buffered; /* record key, then `columns` (a delete: then the ordering columns, null) */
    struct router router;
    uint64_t rows_in;
    bool saw_deletes;
    double start;
};

/* ---- open ---------------------------------------------------------------------------------------------- */

sl_status sl_writer_open(sl_table *table, enum sl_operation operation, const sl_type *input, sl_writer **out)
{
    sl_writer *w;
    const sl_type *current = NULL;
    SL_NEW(w);
    w->table = table;
    w->operation = operation;
    w->start = sl_monotonic();
    sl_status status = SL_OK;
    SL_GO(sl_table_check_writable(table));
    SL_GO(sort_mode_check(table, operation));
    SL_GO(writer_current_schema(table, &current));
    SL_GO(operation == SL_OP_DELETE ? writer_key_columns(table, current, input, &w->columns)
                                    : writer_row_columns(table, current, input, &w->columns));
    SL_GO(sl_keygen_check(&table->keygen, w->columns, &table->runtime));
    SL_GO(writer_buffer_schema(table, operation, w->columns, current, &w->buffered));
    router_init(&w->router, table, w->buffered);
    *out = w;
done:
    sl_type_unref(current);
    if (status)
        sl_writer_close(w);
    return status;
}

void sl_writer_close(sl_writer *w)
{
    if (!w)
        return;
    router_free(&w->router);
    sl_type_unref(w->columns);
    sl_type_unref(w->buffered);
    sl_free(w);
}

/* ---- append -------------------------------------------------------------------------------------------- */

/* The rows as the sorters keep them. */
static sl_status buffered_batch(const sl_writer *w, const sl_batch *rows, sl_array *keys, sl_batch **out)
{
    size_t count = w->buffered->field_count;
    sl_array **columns = sl_calloc(count, sizeof *columns);
    if (!columns)
        return sl_nomem();
    sl_status status = SL_OK;
    columns[0] = sl_array_ref(keys);
    for (size_t i = 1; i < count && !status; i++) {
        if (w->operation == SL_OP_DELETE) /* a delete by key has no ordering value: it beats everything older
                                             (spec/lsm-layout.md 8.3) */
            status = sl_array_nulls(w->buffered->fields[i].type, rows->rows, &columns[i]);
        else
            columns[i] = sl_array_ref(rows->columns[i - 1]);
    }
    if (status)
        for (size_t i = 0; i < count; i++)
            sl_array_unref(columns[i]);
    else
        status = sl_batch_new(w->buffered, rows->rows, columns, out);
    sl_free(columns);
    return status;
}

/* Null ordering values make rows that no peer can read (spec/log-format.md 10.2): refused at the door. */
static sl_status check_ordering(const sl_writer *w, const sl_batch *rows)
{
    for (size_t i = 0; i < w->table->ordering.count && w->operation != SL_OP_DELETE; i++) {
        int at = sl_type_field_index(rows->schema, w->table->ordering.items[i]);
        if (at < 0)
            return sl_input("ordering column %s is missing", w->table->ordering.items[i]);
        const sl_array *column = rows->columns[at];
        for (int64_t r = 0; column->null_count && r < rows->rows; r++)
            if (!sl_is_valid(column, r))
                return sl_input("column %s: the ordering value of row %" PRId64 " is null",
                                w->table->ordering.items[i], r);
    }
    return SL_OK;
}

static bool any_true(const sl_batch *rows, const char *name)
{
    int at = sl_type_field_index(rows->schema, name);
    if (at < 0 || rows->schema->fields[at].type->id != SL_BOOL)
        return false;
    for (int64_t r = 0; r < rows->rows; r++)
        if (sl_is_valid(rows->columns[at], r) && sl_bool_at(rows->columns[at], r))
            return true;
    return false;
}

static bool may_have_deletes(const sl_writer *w, const sl_batch *rows)
{
    struct sl_merge_options rules;
    if (sl_status_ignore(sl_table_rules(w->table, rows->schema, &rules)))
        return true;
    return rules.marker_column || (rules.delete_column && any_true(rows, rules.delete_column));
}

sl_status sl_writer_append(sl_writer *w, sl_batch *batch)
{
    sl_batch *rows = NULL, *buffered = NULL;
    sl_array *keys = NULL, *partitions = NULL;
    sl_status status = SL_OK;
    SL_TRY(sl_check_cancel(&w->table->runtime));
    SL_GO(sl_batch_conform(batch, w->columns, &rows));
    SL_GO(check_ordering(w, rows));
    SL_GO(sl_keygen_apply(&w->table->keygen, rows, &keys, &partitions));
    SL_GO(buffered_batch(w, rows, keys, &buffered));
    SL_GO(router_add(&w->router, buffered, keys, partitions));
    w->saw_deletes = w->saw_deletes || may_have_deletes(w, rows);
    w->rows_in += (uint64_t)batch->rows;
    sl_progress(&w->table->runtime, "reading", w->rows_in, 0);
done:
    sl_batch_unref(rows);
    sl_batch_unref(buffered);
    sl_array_unref(keys);
    sl_array_unref(partitions);
    return status ? sl_context(status, "input rows %" PRIu64 " to %" PRIu64 " (row 0 is the first of them)",
                               w->rows_in + 1, w->rows_in + (uint64_t)batch->rows)
                  : SL_OK;
}

/* ---- commit -------------------------------------------------------------------------------------------- */

struct commit {
    sl_writer *writer;
    struct flush flush;
    uint64_t groups; /* file groups that got rows */
    atomic_uint_fast64_t done;
};

static sl_status commit_task(void *context, size_t index)
{
    struct commit *c = context;
    struct write_group *group = &c->writer->router.groups[index];
    SL_TRY(sl_check_cancel(&c->writer->table->runtime));
    SL_TRY(
        flush_group(&c->flush, group, c->writer->router.partitions.items[group->partition], (uint32_t)index));
    sl_progress(&c->writer->table->runtime, "writing", atomic_fetch_add(&c->done, 1) + 1,
                c->writer->router.group_count);
    return SL_OK;
}

static sl_status write_all(sl_writer *w, sl_txn *txn, const sl_write_schema *schema, struct commit *c)
{
    sl_view view = {0};
    SL_TRY(sl_view_load(w->table, &(struct sl_view_options){.partitions = &w->router.partitions}, &view));
    c->writer = w;
    c->flush.table = w->table;
    c->flush.txn = txn;
    c->flush.schema = schema;
    c->flush.view = &view;
    c->flush.operation = w->operation;
    c->flush.saw_deletes = w->saw_deletes;
    c->groups = w->router.group_count;
    sl_status status = SL_OK;
    if (w->table->buckets.buckets == 0)
        status = unbucketed_flush(&c->flush, &w->router, &c->groups);
    else if (!(status = bucket_count_check(w->table, &view)))
        status = sl_pool_for(w->table->runtime.pool, w->router.group_count, commit_task, c);
    sl_view_free(&view);
    return status;
}

static void result_fill(const sl_writer *w, const struct commit *c, struct sl_write_result *r)
{
    r->rows_in = w->rows_in;
    r->rows_written = atomic_load(&c->flush.rows_written);
    r->inserted = atomic_load(&c->flush.inserted);
    r->updated = atomic_load(&c->flush.updated);
    r->deleted = atomic_load(&c->flush.deleted);
    r->files = atomic_load(&c->flush.files);
    r->bytes = atomic_load(&c->flush.bytes);
    r->counts_known = w->table->type == SL_COPY_ON_WRITE || operation_replaces(w->operation);
    r->file_groups = c->groups;
    r->partitions = w->router.partitions.count;
    r->spilled_runs = w->router.spilled_runs;
    r->seconds = sl_monotonic() - w->start;
}

/* Cannot fail: what was written is published. */
static void writer_reset(sl_writer *w)
{
    router_free(&w->router);
    w->rows_in = 0;
    w->saw_deletes = false;
    w->start = sl_monotonic();
    router_init(&w->router, w->table, w->buffered);
}

/* The middle of every write: the groups' files, inside a transaction that somebody else may hold. */
static sl_status writer_flush(sl_writer *w, sl_txn *txn, const sl_timeline *timeline,
                              const struct flush_numbers *numbers, sl_write_schema *schema, struct commit *c)
{
    const sl_type *data;
    SL_TRY(writer_commit_schema(w->table, w->operation, w->columns, timeline, &data));
    sl_status status = sl_write_schema_init(w->table, data, schema);
    sl_type_unref(data);
    c->flush.numbers = *numbers;
    return status ? status : write_all(w, txn, schema, c);
}

sl_status sl_writer_commit(sl_writer *w, struct sl_write_result *result)
{
    struct sl_write_result r = {.action = sl_action_name(sl_write_action(w->table, w->operation))};
    struct commit c = {0};
    sl_write_schema schema = {0};
    sl_txn *txn = NULL;
    bool has_work;
    sl_status status = SL_OK;
    SL_TRY(replace_has_work(w->table, w->operation, w->rows_in, &has_work));
    if (!has_work) {
        result_fill(w, &c, &r);
        *result = r;
        return SL_OK;
    }
    SL_GO(write_begin(w->table, w->operation, &txn));
    memcpy(r.instant, sl_txn_instant(txn), SL_INSTANT_BYTES);
    SL_GO(writer_flush(w, txn, sl_txn_timeline(txn), &(struct flush_numbers){0}, &schema, &c));
    SL_GO(replace_groups(w->table, w->operation, &w->router.partitions, txn, &r.groups_replaced));
    sl_txn *committing = txn;
    txn = NULL;
    SL_GO(sl_txn_commit(committing, schema.data_text, r.completed));
    result_fill(w, &c, &r);
    *result = r;
    writer_reset(w);
done:
    sl_txn_abort(txn);
    sl_write_schema_free(&schema);
    return status;
}

const sl_strings *writer_partitions(const sl_writer *w) { return &w->router.partitions; }

sl_status writer_run_task(sl_writer *w, sl_txn *txn, const struct flush_numbers *numbers)
{
    struct commit c = {0};
    sl_write_schema schema = {0};
    sl_timeline timeline;
    SL_TRY(sl_timeline_load(w->table, &timeline));
    sl_status status = writer_flush(w, txn, &timeline, numbers, &schema, &c);
    sl_timeline_free(&timeline);
    sl_write_schema_free(&schema);
    return status;
}
