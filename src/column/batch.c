/* Batches: a schema and one array a field. */
#include "column/column_int.h"

static void columns_unref(sl_array *const *columns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sl_array_unref(columns[i]);
}

static sl_status columns_check(const sl_type *schema, int64_t rows, sl_array *const *columns)
{
    for (size_t i = 0; i < schema->field_count; i++)
        if (columns[i]->length != rows)
            return sl_internal("column %s has %" PRId64 " rows, its batch %" PRId64, schema->fields[i].name,
                               columns[i]->length, rows);
    return SL_OK;
}

sl_status sl_batch_new(const sl_type *schema, int64_t rows, sl_array *const *columns, sl_batch **out)
{
    size_t count = schema->field_count;
    sl_status status = columns_check(schema, rows, columns);
    sl_batch *batch = NULL;
    if (status == SL_OK && (!(batch = sl_calloc(1, sizeof *batch)) ||
                            !(batch->columns = sl_calloc(count + 1, sizeof *batch->columns))))
        status = sl_nomem();
    if (status != SL_OK) {
        columns_unref(columns, count);
        sl_free(batch);
        return status;
    }
    atomic_init(&batch->refs, 1);
    batch->schema = sl_type_ref(schema);
    batch->rows = rows;
    for (size_t i = 0; i < count; i++)
        batch->columns[i] = columns[i];
    *out = batch;
    return SL_OK;
}

sl_batch *sl_batch_ref(sl_batch *batch)
{
    if (batch)
        atomic_fetch_add_explicit(&batch->refs, 1, memory_order_relaxed);
    return batch;
}

void sl_batch_unref(sl_batch *batch)
{
    if (!batch || atomic_fetch_sub_explicit(&batch->refs, 1, memory_order_acq_rel) != 1)
        return;
    columns_unref(batch->columns, batch->schema->field_count);
    sl_free(batch->columns);
    sl_type_unref(batch->schema);
    sl_free(batch);
}

static size_t columns_bytes(const sl_batch *batch, size_t (*array_bytes)(const sl_array *array))
{
    size_t bytes = 0;
    for (size_t i = 0; i < batch->schema->field_count; i++)
        bytes += array_bytes(batch->columns[i]);
    return bytes;
}

size_t sl_batch_bytes(const sl_batch *batch) { return columns_bytes(batch, sl_array_bytes); }

size_t sl_batch_data_bytes(const sl_batch *batch) { return columns_bytes(batch, sl_array_data_bytes); }

size_t sl_batch_plain_bytes(const sl_batch *batch) { return columns_bytes(batch, sl_array_plain_bytes); }

/* ---- choosing columns ---------------------------------------------------------------------------------- */

static sl_status projection(const sl_batch *batch, const char *const *names, size_t count, sl_field *fields,
                            sl_array **columns)
{
    for (size_t i = 0; i < count; i++) {
        int index = sl_type_field_index(batch->schema, names[i]);
        if (index < 0)
            return sl_input("there is no column %s", names[i]);
        fields[i] = batch->schema->fields[index];
        columns[i] = batch->columns[index];
    }
    return SL_OK;
}

sl_status sl_batch_project(const sl_batch *batch, const char *const *names, size_t count, sl_batch **out)
{
    sl_status status = SL_OK;
    const sl_type *schema = NULL;
    sl_field *fields = sl_calloc(count + 1, sizeof *fields);
    sl_array **columns = sl_calloc(count + 1, sizeof *columns);
    if (!fields || !columns) {
        status = sl_nomem();
        goto done;
    }
    SL_GO(projection(batch, names, count, fields, columns));
    SL_GO(sl_type_struct(fields, count, &schema));
    for (size_t i = 0; i < count; i++)
        sl_array_ref(columns[i]);
    status = sl_batch_new(schema, batch->rows, columns, out);
done:
    sl_type_unref(schema);
    sl_free(fields);
    sl_free(columns);
    return status;
}

/* ---- choosing rows ------------------------------------------------------------------------------------- */

/* rows NULL: the range from, count. */
static sl_status array_pick(const sl_array *array, const uint32_t *rows, int64_t from, int64_t count,
                            sl_array **out)
{
    if (!rows)
        return sl_array_copy(array, from, count, out);
    sl_builder *b = NULL;
    sl_status status = SL_OK;
    SL_GO(sl_builder_new(array->type, &b));
    SL_GO(sl_builder_append_rows(b, array, rows, (size_t)count));
    SL_GO(sl_builder_finish(b, out));
done:
    sl_builder_free(b);
    return status;
}

static sl_status batch_pick(const sl_batch *batch, const uint32_t *rows, int64_t from, int64_t count,
                            sl_batch **out)
{
    size_t columns = batch->schema->field_count, made = 0;
    sl_array **picked;
    SL_NEW_ARRAY(picked, columns + 1);
    sl_status status = SL_OK;
    for (; made < columns; made++)
        SL_GO_CTX(array_pick(batch->columns[made], rows, from, count, &picked[made]), "column %s",
                  batch->schema->fields[made].name);
    status = sl_batch_new(batch->schema, count, picked, out);
    made = 0;
done:
    columns_unref(picked, made);
    sl_free(picked);
    return status;
}

/* The positions of the set bits. */
static void selection_rows(const uint8_t *selection, int64_t bits, uint32_t *rows)
{
    int64_t at = 0;
    for (; bits - at >= 64; at += 64)
        for (uint64_t word = load_le64(selection + (at >> 3)); word; word &= word - 1)
            *rows++ = (uint32_t)(at + sl_ctz64(word));
    for (; at < bits; at++)
        if (bit_get(selection, at))
            *rows++ = (uint32_t)at;
}

sl_status sl_batch_filter(sl_batch *batch, const uint8_t *selection, sl_batch **out)
{
    int64_t count = column_bits_count(selection, 0, batch->rows);
    if (count == batch->rows) {
        *out = sl_batch_ref(batch);
        return SL_OK;
    }
    uint32_t *rows;
    SL_NEW_ARRAY(rows, (size_t)count + 1);
    selection_rows(selection, batch->rows, rows);
    sl_status status = batch_pick(batch, rows, 0, count, out);
    sl_free(rows);
    return status;
}

sl_status sl_batch_copy(const sl_batch *batch, int64_t from, int64_t count, sl_batch **out)
{
    return batch_pick(batch, NULL, from, count, out);
}
