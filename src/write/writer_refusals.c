/* What a writer refuses of rows for their values, and which row is the first. */
#include "write/write_int.h"

/* Null ordering values make rows that no peer can read (spec/log-format.md 10.2): refused at the door. */
static sl_status check_ordering(const sl_table *table, const sl_batch *rows)
{
    for (size_t i = 0; i < table->ordering.count; i++) {
        int at = sl_type_field_index(rows->schema, table->ordering.items[i]);
        if (at < 0)
            return sl_input("ordering column %s is missing", table->ordering.items[i]);
        const sl_array *column = rows->columns[at];
        for (int64_t r = 0; column->null_count && r < rows->rows; r++)
            if (!sl_is_valid(column, r))
                return sl_at_row(sl_input("column %s: the ordering value is null", table->ordering.items[i]),
                                 r);
    }
    return SL_OK;
}

sl_status writer_make_keys(const sl_table *table, enum sl_operation operation, const sl_batch *rows,
                           sl_array **keys, sl_array **partitions)
{
    if (operation != SL_OP_DELETE)
        SL_TRY(check_ordering(table, rows));
    return sl_keygen_apply(&table->keygen, rows, keys, partitions);
}

sl_status sl_write_check(const sl_table *table, enum sl_operation operation, const sl_batch *rows)
{
    sl_array *keys = NULL, *partitions = NULL;
    uint32_t *buckets = NULL;
    sl_status status = writer_make_keys(table, operation, rows, &keys, &partitions);
    if (!status)
        status = partition_paths_check(partitions);
    if (!status && table->buckets.buckets) {
        buckets = sl_calloc((size_t)rows->rows + 1, sizeof *buckets);
        status = buckets ? sl_bucket_of_keys(&table->buckets, keys, buckets) : sl_nomem();
    }
    sl_free(buckets);
    sl_array_unref(keys);
    sl_array_unref(partitions);
    return status;
}

/* ---- the first of several ------------------------------------------------------------------------------ */

static sl_status refuse_row(const sl_table *table, enum sl_operation operation, const sl_type *columns,
                            const sl_batch *batch, int64_t row)
{
    sl_batch *one = NULL, *conformed = NULL;
    sl_status status = sl_batch_copy(batch, row, 1, &one);
    if (!status)
        status = sl_batch_conform(one, columns, &conformed);
    if (!status)
        status = sl_write_check(table, operation, conformed);
    sl_batch_unref(one);
    sl_batch_unref(conformed);
    return sl_at_row(status, row);
}

/* Whole columns are looked at one after the other: a row before the one that failed may be wrong for another reason. */
sl_status writer_first_refusal(const sl_table *table, enum sl_operation operation, const sl_type *columns,
                               const sl_batch *batch, sl_status why)
{
    int64_t last = sl_status_code(why) == SL_E_INPUT ? sl_status_row(why) : 0;
    for (int64_t row = 0; row < last; row++) {
        sl_status status = refuse_row(table, operation, columns, batch, row);
        if (sl_status_code(status) == SL_E_INPUT) {
            sl_status_free(why);
            return status;
        }
        sl_status_free(status);
    }
    return why;
}
