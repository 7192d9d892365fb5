/*
 * Each key once in what a reader sees of a partition: the merged keys of all its groups, merged once more with all
 * duplicates kept. The same pipeline as every read, so it also finds slices that cannot be read at all.
 */
#include "service/doctor_int.h"
#include <string.h>

static sl_status key_schema(const struct doctor *d, const sl_type **out)
{
    int at = sl_type_field_index(d->schema, sl_meta_names[SL_META_RECORD_KEY]);
    return sl_type_struct(&d->schema->fields[at], 1, out);
}

static sl_status open_group(const struct doctor *d, const sl_file_group *group, const sl_type *keys,
                            sl_stream **out)
{
    sl_read_slice slice;
    bool found;
    *out = NULL;
    SL_TRY(sl_group_read_slice(group, false, &slice, &found));
    if (!found)
        return SL_OK;
    struct sl_slice_options o = {.schema = keys, .table_schema = d->schema, .keys_needed = true};
    sl_status status = sl_slice_open(d->table, &slice, &o, out);
    sl_read_slice_free(&slice);
    return status;
}

/* Neighbours that are equal: how many, and the first. */
static sl_status count_repeated(const struct doctor *d, sl_stream *keys, uint64_t *repeated, sl_buf *first)
{
    sl_buf last = {0};
    bool any = false;
    sl_status status = SL_OK;
    for (;;) {
        sl_batch *batch = NULL;
        SL_GO(sl_check_cancel(&d->table->runtime));
        SL_GO(sl_stream_next(keys, &batch));
        if (!batch)
            break;
        for (int64_t i = 0; i < batch->rows && !status; i++) {
            size_t len;
            const uint8_t *key = sl_bytes_at(batch->columns[0], i, &len);
            if (any && bytes_compare(last.data, last.len, key, len) == 0) {
                if ((*repeated)++ == 0)
                    status = sl_buf_append(first, key, len);
                continue;
            }
            any = true;
            last.len = 0;
            status = sl_buf_append(&last, key, len);
        }
        sl_batch_unref(batch);
        if (status)
            break;
    }
done:
    sl_buf_free(&last);
    return status;
}

static sl_status merged_keys(const struct doctor *d, const sl_partition *partition, const sl_type *schema,
                             sl_stream **out)
{
    struct sl_run *runs;
    size_t count = 0;
    SL_NEW_ARRAY(runs, partition->group_count + 1);
    sl_status status = SL_OK;
    for (size_t g = 0; g < partition->group_count && !status; g++) {
        status = open_group(d, &partition->groups[g], schema, &runs[count].rows);
        runs[count].name = partition->groups[g].file_id;
        count += !status && runs[count].rows;
    }
    struct sl_merge_options all = {.key_column = sl_meta_names[SL_META_RECORD_KEY],
                                   .keep_duplicates = true,
                                   .schema = schema,
                                   .runtime = &d->table->runtime};
    if (status)
        while (count > 0)
            sl_stream_close(runs[--count].rows);
    else
        status = sl_merge_open(runs, count, &all, NULL, out);
    sl_free(runs);
    return status;
}

static sl_status check_partition(struct doctor *d, const sl_partition *partition, const sl_type *schema)
{
    sl_stream *keys;
    sl_buf first = {0};
    uint64_t repeated = 0;
    sl_status status = merged_keys(d, partition, schema, &keys);
    if (!status) {
        status = count_repeated(d, keys, &repeated, &first);
        sl_stream_close(keys);
    }
    status = doctor_fault(d, "merge", partition->path, status);
    if (!status && repeated)
        status = doctor_find(d, DOCTOR_WARNING, "duplicates", partition->path,
                             "readers see %" PRIu64 " rows more than keys; the first such key is %.*s",
                             repeated, (int)first.len, (const char *)first.data);
    sl_buf_free(&first);
    return status;
}

sl_status doctor_check_keys(struct doctor *d)
{
    const sl_type *schema;
    if (!d->table->populate_meta)
        return SL_OK;
    SL_TRY(key_schema(d, &schema));
    sl_status status = SL_OK;
    for (size_t p = 0; p < d->view.partition_count && !status; p++)
        status = check_partition(d, &d->view.partitions[p], schema);
    sl_type_unref(schema);
    return status;
}
