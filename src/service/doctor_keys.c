/*
 * Each key once in what a reader sees of a partition: the merged keys of all its groups, group after group, sorted. The
 * pipeline of every read, so it also finds slices that cannot be read at all; and no more of them open than a read has.
 */
#include "service/doctor_int.h"
#include <string.h>

static sl_status key_schema(const struct doctor *d, const sl_type **out)
{
    int at = sl_type_field_index(d->schema, sl_meta_names[SL_META_RECORD_KEY]);
    return sl_type_struct(&d->schema->fields[at], 1, out);
}

struct partition_look {
    const struct doctor *d;
    const sl_partition *partition;
    const sl_type *schema; /* the key */
};

static sl_status open_group(void *context, size_t index, unsigned thread, sl_stream **out)
{
    const struct partition_look *look = context;
    sl_read_slice slice;
    bool found;
    (void)thread; /* each slice has its own memory */
    SL_TRY(sl_group_read_slice(&look->partition->groups[index], false, &slice, &found));
    if (!found)
        return sl_stream_of_batches(look->schema, NULL, 0, out);
    struct sl_slice_options o = {.schema = look->schema, .table_schema = look->d->schema};
    sl_status status = sl_slice_open(look->d->table, &slice, &o, out);
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

static sl_status check_partition(struct doctor *d, const sl_partition *partition, const sl_type *schema)
{
    const sl_runtime *runtime = &d->table->runtime;
    struct partition_look look = {d, partition, schema};
    const struct sl_parallel_source groups = {schema, partition->group_count, open_group, &look, NULL};
    sl_stream *keys = NULL;
    sl_buf first = {0};
    uint64_t repeated = 0;
    sl_status status = sl_parallel_stream(&groups, (unsigned)sl_slices_at_once(runtime), runtime, &keys);
    if (!status)
        status = sl_sort_stream(keys, sl_meta_names[SL_META_RECORD_KEY], runtime, &keys);
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
