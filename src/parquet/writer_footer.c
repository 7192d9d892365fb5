/* What stands behind the row groups: their page indexes and the footer. */
#include "parquet/write_int.h"

sl_status writer_put_page_indexes(sl_parquet_writer *w)
{
    int64_t column_indexes = (int64_t)(sl_output_offset(w->output) - w->start);
    int64_t offset_indexes = column_indexes + (int64_t)w->column_indexes.len;
    for (size_t g = 0; g < w->group_count; g++)
        for (size_t i = 0; i < w->layout.leaf_count; i++) {
            struct parquet_column_chunk *chunk = &w->groups[g].columns[i];
            if (chunk->column_index_offset >= 0)
                chunk->column_index_offset += column_indexes;
            if (chunk->offset_index_offset >= 0)
                chunk->offset_index_offset += offset_indexes;
        }
    if (w->column_indexes.len)
        SL_TRY(sl_output_write(w->output, w->column_indexes.data, w->column_indexes.len));
    if (w->offset_indexes.len)
        SL_TRY(sl_output_write(w->output, w->offset_indexes.data, w->offset_indexes.len));
    return SL_OK;
}

sl_status writer_encode_footer(sl_parquet_writer *w, sl_buf *footer)
{
    size_t key_value_count = w->key_value_count + w->footer_checksum;
    struct parquet_key_value *key_values = writer_zeroed(w->arena, key_value_count * sizeof *key_values);
    enum parquet_column_order *orders = sl_arena_alloc(w->arena, w->layout.leaf_count * sizeof *orders);
    if (!key_values || !orders)
        return sl_nomem();
    for (size_t i = 0; i < w->layout.leaf_count; i++)
        orders[i] = PARQUET_ORDER_TYPE;
    for (size_t i = 0; i < w->key_value_count; i++)
        key_values[i] = (struct parquet_key_value){w->key_values[i].key, w->key_values[i].value,
                                                   strlen(w->key_values[i].value)};
    if (w->footer_checksum)
        key_values[w->key_value_count] =
            (struct parquet_key_value){PARQUET_FOOTER_CHECKSUM, PARQUET_FOOTER_UNSEALED, 8};
    struct parquet_file_metadata meta = {
        .version = 1,
        .schema = w->layout.elements,
        .schema_count = w->layout.element_count,
        .num_rows = w->done_rows,
        .row_groups = w->groups,
        .row_group_count = w->group_count,
        .key_values = key_values,
        .key_value_count = key_value_count,
        .created_by = w->created_by,
        .has_column_orders = true,
        .column_orders = orders,
        .column_order_count = w->layout.leaf_count,
    };
    SL_TRY(parquet_file_metadata_encode(&meta, footer));
    if (footer->len > INT32_MAX)
        return sl_unsupported("a Parquet footer beyond 2 GiB");
    if (w->footer_checksum)
        parquet_footer_seal(footer->data, footer->len);
    uint8_t tail[8];
    store_le32(tail, (uint32_t)footer->len);
    memcpy(tail + 4, PARQUET_MAGIC, 4);
    return sl_buf_append(footer, tail, sizeof tail);
}
