/*
 * Where keys lie in a file: bounds of the record key for each page. Statistics of the column are in byte order, as the merge
 * is; Hudi's footer entries are in UTF-16 order and stand in only where both orders agree (spec/write-path.md 4.1).
 */
#include "slice/slice_int.h"

int slice_key_column(const sl_parquet *file)
{
    const sl_type *schema = sl_parquet_schema(file);
    int column = sl_type_field_index(schema, sl_meta_names[SL_META_RECORD_KEY]);
    if (column < 0)
        column = sl_type_field_index(schema, "record_key"); /* early delete logs (spec/lsm-layout.md 4.2) */
    return column >= 0 && schema->fields[column].type->id == SL_STRING ? column : -1;
}

static sl_status footer_bounds(const sl_parquet *file, struct sl_parquet_page_bounds *out)
{
    const char *min = sl_parquet_key_value(file, "hoodie_min_record_key");
    const char *max = sl_parquet_key_value(file, "hoodie_max_record_key");
    if (out->page_count != 1 || !min || !max || strcmp(min, max) > 0 ||
        slice_orders_may_differ(min, strlen(min)) || slice_orders_may_differ(max, strlen(max)))
        return SL_OK;
    sl_array_unref(out->min);
    sl_array_unref(out->max);
    out->min = out->max = NULL;
    SL_TRY(sl_array_constant_string(min, strlen(min), 1, &out->min));
    SL_TRY(sl_array_constant_string(max, strlen(max), 1, &out->max));
    out->pages[0].has_bounds = true;
    return SL_OK;
}

static sl_status whole_group(const sl_parquet *file, size_t row_group, struct sl_parquet_page_bounds *out)
{
    int64_t first = 0, rows = sl_parquet_row_group_rows(file, row_group);
    *out = (struct sl_parquet_page_bounds){0};
    for (size_t g = 0; g < row_group; g++)
        first += sl_parquet_row_group_rows(file, g);
    if (rows == 0)
        return SL_OK;
    SL_NEW(out->pages);
    out->page_count = 1;
    *out->pages = (struct sl_parquet_page_info){.first_row = first, .rows = rows};
    return SL_OK;
}

sl_status slice_key_pages(const sl_parquet *file, size_t row_group, struct sl_parquet_page_bounds *out)
{
    int column = slice_key_column(file);
    if (column < 0)
        return whole_group(file, row_group, out);
    SL_TRY(sl_parquet_page_bounds(file, row_group, column, out));
    sl_status status = out->min ? SL_OK : footer_bounds(file, out);
    if (status)
        sl_parquet_page_bounds_free(out);
    return status;
}
