/*
 * What the footer of a data file says of its record keys: bounds, in the order of Java's String.compareTo (spec/write-path.md
 * 4.1), and Hudi's Bloom filter.
 */
#include "slice/slice_int.h"

void file_keys_free(struct file_keys *k)
{
    sl_hudi_bloom_free(k->bloom);
    sl_buf_free(&k->min);
    sl_buf_free(&k->max);
    *k = (struct file_keys){0};
}

/* A bucket index has no use for the filter; a bloom index of Hudi's dies on a file without it, and what is not stored as a
 * bucket index may be written by one (spec/write-path.md 4.1). */
sl_status file_keys_want_bloom(struct file_keys *k, const sl_table *table)
{
    struct sl_hudi_bloom_options o;
    int64_t entries, entries_max;
    char *end;
    if (strcmp(sl_properties_get_or(&table->properties, "hoodie.index.type", ""), "BUCKET") == 0)
        return SL_OK;
    const char *fpp = sl_table_setting(table, "hoodie.index.bloom.fpp", "0.000000001");
    SL_TRY(sl_table_setting_int(table, "hoodie.index.bloom.num_entries", 60000, &entries));
    SL_TRY(
        sl_table_setting_int(table, "hoodie.bloom.index.filter.dynamic.max.entries", 100000, &entries_max));
    o = (struct sl_hudi_bloom_options){(uint64_t)entries, strtod(fpp, &end), (uint64_t)entries_max};
    return *end ? sl_input("setting hoodie.index.bloom.fpp: \"%s\" is no number", fpp)
                : sl_hudi_bloom_new(&o, &k->bloom);
}

/* ---- orders -------------------------------------------------------------------------------------------- */

/* The first byte of a sequence from U+E000 on: there UTF-16, which has U+10000 and above as pairs from 0xD800 on, begins to
 * order otherwise. */
#define UTF16_DIFFERS_FROM 0xEE

bool slice_orders_may_differ(const void *text, size_t len)
{
    if (len == 0)
        return false;
    const uint8_t *at = text, *end = at + len;
    while (end - at >= 8 && !(load_le64(at) & UINT64_C(0x8080808080808080))) /* most keys are ASCII */
        at += 8;
    for (; at < end; at++)
        if (*at >= UTF16_DIFFERS_FROM)
            return true;
    return false;
}

static bool any_may_differ(const sl_array *keys)
{
    int32_t first = keys->offsets[0];
    return slice_orders_may_differ(keys->values + first, (size_t)(keys->offsets[keys->length] - first));
}

/* ---- bounds -------------------------------------------------------------------------------------------- */

static sl_status bounds_take(struct file_keys *k, const uint8_t *key, size_t len)
{
    if (!k->any || sl_utf16_compare(key, len, k->min.data, k->min.len) < 0) {
        k->min.len = 0;
        SL_TRY(sl_buf_append(&k->min, key, len));
    }
    if (!k->any || sl_utf16_compare(key, len, k->max.data, k->max.len) > 0) {
        k->max.len = 0;
        SL_TRY(sl_buf_append(&k->max, key, len));
    }
    k->any = true;
    return SL_OK;
}

/* The rows are in byte order: mostly the first and the last key of a batch are enough. */
static sl_status bounds_add(struct file_keys *k, const sl_array *keys)
{
    int64_t step = keys->dictionary || any_may_differ(keys) ? 1 : keys->length > 1 ? keys->length - 1 : 1;
    for (int64_t i = 0; i < keys->length; i += step) {
        size_t len;
        const uint8_t *key = sl_bytes_at(keys, i, &len);
        SL_TRY(bounds_take(k, key, len));
    }
    return SL_OK;
}

static sl_status bloom_add(sl_hudi_bloom *bloom, const sl_array *keys)
{
    for (int64_t i = 0; bloom && i < keys->length; i++) {
        size_t len;
        const uint8_t *key = sl_bytes_at(keys, i, &len);
        SL_TRY(sl_hudi_bloom_add(bloom, key, len));
    }
    return SL_OK;
}

sl_status file_keys_add(struct file_keys *k, const sl_array *keys)
{
    if (keys->length > 0)
        SL_TRY(bounds_add(k, keys));
    return bloom_add(k->bloom, keys);
}

/* ---- of copied rows ------------------------------------------------------------------------------------ */

static sl_status add_batch(void *context, sl_batch *batch)
{
    return file_keys_add(context, batch->columns[0]);
}

static sl_status add_rows(struct file_keys *k, const sl_table *table, sl_parquet *source, int64_t first,
                          int64_t rows)
{
    const char *column = sl_meta_names[SL_META_RECORD_KEY];
    struct sl_row_range range = {first, rows};
    sl_stream *keys;
    SL_TRY(sl_parquet_scan(source,
                           &(struct sl_parquet_scan_options){
                               .columns = &column, .column_count = 1, .ranges = &range, .range_count = 1},
                           &keys));
    sl_status status = sl_stream_drain(keys, &table->runtime, add_batch, k);
    sl_stream_close(keys);
    return status;
}

/* Where neither end has a character that UTF-16 orders otherwise, no key in between can pass them in that order; else all of
 * them are looked at. */
sl_status file_keys_add_copied(struct file_keys *k, const sl_table *table, sl_parquet *source, int64_t first,
                               int64_t rows)
{
    struct file_keys ends = {0};
    sl_status status = SL_OK;
    if (k->bloom) /* it wants every key */
        return add_rows(k, table, source, first, rows);
    SL_GO(add_rows(&ends, table, source, first, 1));
    SL_GO(add_rows(&ends, table, source, first + rows - 1, 1));
    if (slice_orders_may_differ(ends.min.data, ends.min.len) ||
        slice_orders_may_differ(ends.max.data, ends.max.len))
        SL_GO(add_rows(&ends, table, source, first, rows));
    SL_GO(bounds_take(k, ends.min.data, ends.min.len));
    SL_GO(bounds_take(k, ends.max.data, ends.max.len));
done:
    file_keys_free(&ends);
    return status;
}

/* ---- the footer ---------------------------------------------------------------------------------------- */

/* Footer values are texts without a zero byte: a bound that has one is cut there, the upper one made higher. */
static sl_status put_bound(sl_parquet_writer *parquet, const char *name, sl_buf *bound, bool is_max)
{
    char *text;
    uint8_t *zero = bound->len ? memchr(bound->data, 0, bound->len) : NULL;
    if (zero) {
        bound->len = (size_t)(zero - bound->data);
        if (is_max)
            SL_TRY(sl_buf_byte(bound, 1));
    }
    SL_TRY(sl_buf_take_string(bound, &text));
    sl_status status = sl_parquet_writer_key_value(parquet, name, text);
    sl_free(text);
    return status;
}

static sl_status put_bloom(sl_parquet_writer *parquet, sl_hudi_bloom *bloom)
{
    const char *type;
    char *text = NULL;
    sl_buf base64 = {0};
    sl_status status = SL_OK;
    SL_GO(sl_hudi_bloom_text(bloom, &type, &base64));
    SL_GO(sl_buf_take_string(&base64, &text));
    SL_GO(sl_parquet_writer_key_value(parquet, "org.apache.hudi.bloomfilter", text));
    SL_GO(sl_parquet_writer_key_value(parquet, "hoodie_bloom_filter_type_code", type));
done:
    sl_free(text);
    sl_buf_free(&base64);
    return status;
}

sl_status file_keys_put(struct file_keys *k, sl_parquet_writer *parquet)
{
    if (k->any) {
        SL_TRY(put_bound(parquet, "hoodie_min_record_key", &k->min, false));
        SL_TRY(put_bound(parquet, "hoodie_max_record_key", &k->max, true));
    }
    return k->bloom ? put_bloom(parquet, k->bloom) : SL_OK;
}
