/* The writer: input checks, keys, buffering, and the commit that ties the tasks together. */
#include "write/write_int.h"
#include <stdio.h>
#include <string.h>

const char *sl_operation_name(enum sl_operation operation)
{
    static const char *const names[] = {"INSERT", "UPSERT", "BULK_INSERT", "DELETE"};
    return names[operation];
}

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

/* ---- schema -------------------------------------------------------------------------------------------- */

static sl_status current_schema(const sl_table *table, const sl_type **out)
{
    sl_timeline timeline;
    SL_TRY(sl_timeline_load(table, &timeline));
    sl_status status = sl_table_schema(table, &timeline, NULL, out);
    sl_timeline_free(&timeline);
    return status;
}

static bool is_meta(const char *name)
{
    for (size_t m = 0; m < SL_META_COLUMNS; m++)
        if (strcmp(name, sl_meta_names[m]) == 0)
            return true;
    return false;
}

static sl_status check_column(const sl_table *table, const sl_field *field, const sl_type *input)
{
    int at = sl_type_field_index(input, field->name);
    bool null_for_missing = sl_table_setting_true(table, "hoodie.write.set.null.for.missing.columns", false);
    if (at < 0 && !(field->nullable && null_for_missing))
        return sl_hint(sl_input("column %s of the table is missing from the input", field->name),
                       field->nullable
                           ? "-c hoodie.write.set.null.for.missing.columns=true writes null into it"
                           : "the column does not allow null");
    if (at >= 0 && !sl_cast_possible(input->fields[at].type, field->type)) {
        char *from = NULL, *to = NULL;
        sl_status status = sl_type_text(input->fields[at].type, &from);
        if (!status)
            status = sl_type_text(field->type, &to);
        if (!status)
            status = sl_input("column %s: %s does not fit the table's %s", field->name, from, to);
        sl_free(from);
        sl_free(to);
        return status;
    }
    return SL_OK;
}

/* The table's columns, then new columns of the input: nullable ones only, for older rows have no value in
 * them. */
static sl_status evolve(const sl_table *table, const sl_type *current, const sl_type *input,
                        const sl_type **out)
{
    sl_field *fields;
    size_t count = current->field_count;
    SL_NEW_ARRAY(fields, current->field_count + input->field_count + 1);
    sl_status status = SL_OK;
    memcpy(fields, current->fields, count * sizeof *fields);
    for (size_t i = 0; i < current->field_count; i++)
        SL_GO(check_column(table, &current->fields[i], input));
    for (size_t i = 0; i < input->field_count; i++) {
        const sl_field *f = &input->fields[i];
        if (is_meta(f->name) || sl_type_field_index(current, f->name) >= 0)
            continue;
        fields[count] = *f;
        fields[count++].nullable = true;
    }
    status = sl_type_struct(fields, count, out);
done:
    sl_free(fields);
    return status;
}

static bool in_list(const sl_strings *list, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < list->count; i++)
        if (strncmp(list->items[i], name, n) == 0 && (list->items[i][n] == 0 || list->items[i][n] == '.'))
            return true;
    return false;
}

/* Columns that make key and partition path. */
static sl_status key_columns(const sl_table *table, const sl_type *current, const sl_type *input,
                             const sl_type **out)
{
    sl_field *fields;
    size_t count = 0;
    SL_NEW_ARRAY(fields, current->field_count + 1);
    sl_status status = SL_OK;
    for (size_t i = 0; i < current->field_count; i++) {
        const sl_field *f = &current->fields[i];
        if (!in_list(&table->keygen.record_fields, f->name) &&
            !in_list(&table->keygen.partition_fields, f->name))
            continue;
        SL_GO(check_column(table, f, input));
        fields[count++] = *f;
    }
    status = sl_type_struct(fields, count, out);
done:
    sl_free(fields);
    return status;
}

/* Record key, then the columns; a delete's buffer has the delete log's columns instead. */
static sl_status buffer_schema(const sl_writer *w, const sl_type *current, const sl_type **out)
{
    if (w->operation == SL_OP_DELETE) {
        const sl_type *full;
        struct sl_merge_options rules;
        SL_TRY(sl_schema_with_meta(current, &full));
        sl_status status = sl_table_rules(w->table, full, &rules);
        if (!status)
            status = sl_delete_schema(&rules, out);
        sl_type_unref(full);
        return status;
    }
    const sl_type *string;
    sl_field *fields;
    SL_TRY(sl_type_new(SL_STRING, &string));
    fields = sl_calloc(w->columns->field_count + 1, sizeof *fields);
    sl_status status = fields ? SL_OK : sl_nomem();
    if (!status) {
        fields[0] = (sl_field){.name = sl_meta_names[SL_META_RECORD_KEY], .type = string, .nullable = false};
        memcpy(fields + 1, w->columns->fields, w->columns->field_count * sizeof *fields);
        status = sl_type_struct(fields, w->columns->field_count + 1, out);
    }
    sl_free(fields);
    sl_type_unref(string);
    return status;
}

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
    SL_GO(current_schema(table, &current));
    SL_GO(operation == SL_OP_DELETE ? key_columns(table, current, input, &w->columns)
                                    : evolve(table, current, input, &w->columns));
    SL_GO(sl_keygen_check(&table->keygen, w->columns, &table->runtime));
    SL_GO(buffer_schema(w, current, &w->buffered));
    SL_GO(router_init(&w->router, table, w->buffered));
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
                return sl_input("column %s: the ordering value of row %" PRIu64 " is null",
                                w->table->ordering.items[i], w->rows_in + (uint64_t)r + 1);
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
    return status ? sl_context(status, "input rows %" PRIu64 " to %" PRIu64, w->rows_in + 1,
                               w->rows_in + (uint64_t)batch->rows)
                  : SL_OK;
}

/* ---- commit -------------------------------------------------------------------------------------------- */

struct commit {
    sl_writer *writer;
    struct flush flush;
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

/* Another writer may have changed the schema since we opened: what it added stays. */
static sl_status commit_schema(const sl_writer *w, const sl_timeline *timeline, const sl_type **out)
{
    const sl_type *current;
    SL_TRY(sl_table_schema(w->table, timeline, NULL, &current));
    sl_status status = SL_OK;
    if (w->operation == SL_OP_DELETE) {
        *out = sl_type_ref(current);
        goto done;
    }
    sl_field *fields = sl_calloc(current->field_count + w->columns->field_count + 1, sizeof *fields);
    size_t count = current->field_count;
    if (!fields) {
        status = sl_nomem();
        goto done;
    }
    memcpy(fields, current->fields, count * sizeof *fields);
    for (size_t i = 0; i < w->columns->field_count; i++)
        if (sl_type_field_index(current, w->columns->fields[i].name) < 0)
            fields[count++] = w->columns->fields[i];
    status = sl_type_struct(fields, count, out);
    sl_free(fields);
done:
    sl_type_unref(current);
    return status;
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
    sl_status status = sl_pool_for(w->table->runtime.pool, w->router.group_count, commit_task, c);
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
    r->counts_known = w->table->type == SL_COPY_ON_WRITE;
    r->file_groups = w->router.group_count;
    r->partitions = w->router.partitions.count;
    r->spilled_runs = w->router.spilled_runs;
    r->seconds = sl_monotonic() - w->start;
}

static sl_status writer_reset(sl_writer *w)
{
    router_free(&w->router);
    w->rows_in = 0;
    w->saw_deletes = false;
    w->start = sl_monotonic();
    return router_init(&w->router, w->table, w->buffered);
}

sl_status sl_writer_commit(sl_writer *w, struct sl_write_result *result)
{
    struct sl_write_result r = {.action = w->table->type == SL_MERGE_ON_READ ? "deltacommit" : "commit"};
    struct commit c = {0};
    sl_write_schema schema = {0};
    const sl_type *data = NULL;
    sl_txn *txn = NULL;
    sl_status status = SL_OK;
    if (w->rows_in == 0) {
        result_fill(w, &c, &r);
        *result = r;
        return SL_OK;
    }
    struct sl_txn_options options = {.action = w->table->type == SL_MERGE_ON_READ ? SL_ACTION_DELTACOMMIT
                                                                                  : SL_ACTION_COMMIT,
                                     .operation = sl_operation_name(w->operation)};
    SL_GO(sl_txn_begin(w->table, &options, &txn));
    memcpy(r.instant, sl_txn_instant(txn), SL_INSTANT_BYTES);
    SL_GO(commit_schema(w, sl_txn_timeline(txn), &data));
    SL_GO(sl_write_schema_init(w->table, data, &schema));
    SL_GO(write_all(w, txn, &schema, &c));
    sl_txn *committing = txn;
    txn = NULL;
    SL_GO(sl_txn_commit(committing, schema.data_text, r.completed));
    result_fill(w, &c, &r);
    *result = r;
    status = writer_reset(w);
done:
    sl_txn_abort(txn);
    sl_write_schema_free(&schema);
    sl_type_unref(data);
    return status;
}
