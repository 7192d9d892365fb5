/* Names in the partitions: what no reader counts, and what a bucket index cannot hold. */
#include "service/doctor_int.h"
#include <string.h>

static bool is_native_log(enum sl_file_kind kind)
{
    return kind == SL_FILE_LOG || kind == SL_FILE_DELETES || kind == SL_FILE_CDC;
}

static sl_status check_name(struct doctor *d, const char *place, const sl_entry *entry)
{
    struct sl_file_name parts;
    sl_file_name_parse(entry->name, &parts);
    if (parts.kind == SL_FILE_OTHER)
        return *entry->name == '.'
                   ? SL_OK
                   : doctor_find(d, DOCTOR_WARNING, "name", place, "no file of this table by its name");
    if (is_native_log(parts.kind) && d->table->version < 10)
        return doctor_find(
            d, DOCTOR_ERROR, "name", place,
            "a native log in a table of version %d: readers of that version skip it without a word",
            d->table->version);
    if (!sl_timeline_completion(&d->view.timeline, parts.instant) &&
        !sl_timeline_is_pending(&d->view.timeline, parts.instant))
        return doctor_find(d, DOCTOR_WARNING, "leftover", place,
                           "instant %s was never completed: no reader counts this file", parts.instant);
    return parts.kind == SL_FILE_CDC ? doctor_check_change_log(d, place, parts.instant, entry->size) : SL_OK;
}

static sl_status check_folder(struct doctor *d, const char *partition)
{
    char *path, *place;
    sl_listing listing = {0};
    SL_TRY(sl_table_path(d->table, partition, &path));
    sl_status status = sl_storage_list(d->table->storage, path, &listing);
    sl_free(path);
    if (status)
        return doctor_fault(d, "name", partition, status);
    for (size_t i = 0; i < listing.count && !status; i++) {
        if (listing.entries[i].is_dir)
            continue;
        status = sl_path_join(partition, listing.entries[i].name, &place);
        if (status)
            break;
        status = check_name(d, place, &listing.entries[i]);
        sl_free(place);
    }
    sl_listing_free(&listing);
    return status;
}

/* A bucket has one file group, and its number is below the count. */
static sl_status check_buckets(struct doctor *d, const sl_partition *partition)
{
    for (size_t g = 0; g < partition->group_count; g++) {
        const char *id = partition->groups[g].file_id;
        int64_t bucket = sl_bucket_of_file_id(id);
        if (bucket < 0 || bucket >= (int64_t)d->table->buckets.buckets)
            SL_TRY(doctor_find(d, DOCTOR_ERROR, "bucket", partition->path,
                               "file group %s is none of %" PRIu32 " buckets", id,
                               d->table->buckets.buckets));
        for (size_t k = 0; k < g && bucket >= 0; k++)
            if (sl_bucket_of_file_id(partition->groups[k].file_id) == bucket)
                SL_TRY(doctor_find(d, DOCTOR_ERROR, "bucket", partition->path,
                                   "bucket %" PRId64 " has two file groups, %s and %s", bucket,
                                   partition->groups[k].file_id, id));
    }
    return SL_OK;
}

sl_status doctor_check_names(struct doctor *d)
{
    for (size_t p = 0; p < d->view.partition_count; p++) {
        SL_TRY(check_folder(d, d->view.partitions[p].path));
        if (d->table->buckets.buckets)
            SL_TRY(check_buckets(d, &d->view.partitions[p]));
    }
    return SL_OK;
}
