/*
 * From a bucket to its file group (spec/write-path.md 5.1). The number is in the file id; the count is in no file that Spark
 * writes, so where the table's properties do not hold it stored keys are checked against it: a wrong count would give keys a
 * second group.
 */
#include "write/write_int.h"
#include <stdio.h>
#include <string.h>

const sl_partition *view_partition(const sl_view *view, const char *path)
{
    for (size_t i = 0; i < view->partition_count; i++)
        if (strcmp(view->partitions[i].path, path) == 0)
            return &view->partitions[i];
    return NULL;
}

const sl_data_file *group_newest_base(const sl_file_group *group)
{
    for (size_t i = 0; i < group->slice_count; i++)
        if (group->slices[i].base)
            return group->slices[i].base;
    return NULL;
}

/* ---- the count ----------------------------------------------------------------------------------------- */

static sl_status check_keys(const sl_table *table, const sl_file_group *group, const sl_array *keys)
{
    for (int64_t i = 0; i < keys->length; i++) {
        uint32_t bucket;
        size_t len;
        if (!sl_is_valid(keys, i))
            continue;
        const char *key = (const char *)sl_bytes_at(keys, i, &len);
        SL_TRY(sl_bucket_of_key(&table->buckets, key, len, &bucket));
        if ((int64_t)bucket != sl_bucket_of_file_id(group->file_id))
            return sl_hint(
                sl_input("file group %s holds the key %.*s, which a bucket count of %" PRIu32
                         " puts into bucket %" PRIu32,
                         group->file_id, (int)len, key, table->buckets.buckets, bucket),
                "hoodie.bucket.index.num.buckets and hoodie.bucket.index.hash.field must be what the table's "
                "other writers use");
    }
    return SL_OK;
}

static sl_status key_schema(const sl_type **out)
{
    sl_field field = {.name = sl_meta_names[SL_META_RECORD_KEY], .nullable = true};
    SL_TRY(sl_type_new(SL_STRING, &field.type));
    sl_status status = sl_type_struct(&field, 1, out);
    sl_type_unref(field.type);
    return status;
}

/* Looks at the first keys of one base file: some thousand keys that all agree by chance do not happen. */
static sl_status check_count(const sl_table *table, const sl_partition *partition)
{
    const sl_file_group *group = NULL;
    const sl_data_file *base = NULL;
    for (size_t i = 0; i < partition->group_count && !base; i++) {
        group = &partition->groups[i];
        base = group_newest_base(group);
    }
    if (!base)
        return SL_OK;
    char *relative = NULL;
    sl_stream *rows = NULL;
    sl_batch *batch = NULL;
    struct sl_run_options options = {0};
    sl_status status = SL_OK;
    SL_GO(key_schema(&options.schema));
    SL_GO(sl_path_join(partition->path, base->name, &relative));
    SL_GO(sl_run_open(table, relative, &options, &rows));
    SL_GO(sl_stream_next(rows, &batch));
    if (batch)
        status = check_keys(table, group, batch->columns[0]);
done:
    sl_batch_unref(batch);
    sl_stream_close(rows);
    sl_type_unref(options.schema);
    sl_free(relative);
    return status;
}

sl_status bucket_count_check(const sl_table *table, const sl_view *view)
{
    if (sl_properties_get(&table->properties, "hoodie.bucket.index.num.buckets"))
        return SL_OK;
    for (size_t i = 0; i < view->partition_count; i++)
        SL_TRY_CTX(check_count(table, &view->partitions[i]), "partition %s", view->partitions[i].path);
    return SL_OK;
}

/* ---- the group ----------------------------------------------------------------------------------------- */

static sl_status find_in(const sl_table *table, const sl_partition *partition, uint32_t wanted,
                         const sl_file_group **out)
{
    for (size_t i = 0; i < partition->group_count; i++) {
        const sl_file_group *g = &partition->groups[i];
        int64_t bucket = sl_bucket_of_file_id(g->file_id);
        if (bucket < 0)
            return sl_unsupported(
                "file group %s has no bucket number: the table was not written through a bucket index",
                g->file_id);
        if (bucket >= (int64_t)table->buckets.buckets)
            return sl_input("file group %s has bucket number %" PRId64 ", but the bucket count is %" PRIu32,
                            g->file_id, bucket, table->buckets.buckets);
        if ((uint32_t)bucket != wanted)
            continue;
        if (*out)
            return sl_corrupt("bucket %" PRIu32 " has two file groups, %s and %s", wanted, (*out)->file_id,
                              g->file_id);
        *out = g;
    }
    return SL_OK;
}

sl_status bucket_group_find(const sl_table *table, const sl_view *view, const char *path, uint32_t bucket,
                            struct bucket_group *out)
{
    const sl_partition *partition = view_partition(view, path);
    const sl_file_group *found = NULL;
    *out = (struct bucket_group){.exists = false};
    if (partition)
        SL_TRY(find_in(table, partition, bucket, &found));
    if (!found)
        return sl_bucket_file_id(bucket, false, out->file_id);
    snprintf(out->file_id, sizeof out->file_id, "%s", found->file_id);
    out->exists = found->slice_count > 0;
    out->group = found;
    out->base = group_newest_base(found);
    return SL_OK;
}
