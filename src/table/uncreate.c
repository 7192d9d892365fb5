/*
 * Taking a table away that was made for a write, when that write failed: the folder is as it was before. It is done under the
 * table's locks, and only where no instant says that somebody wrote. A writer that waits for the locks meanwhile finds no
 * table behind them, and fails.
 */
#include "table/table_int.h"
#include <string.h>

/* What a failed write leaves is its rollback; nothing else may be there. */
static bool is_written_to(const sl_timeline *timeline)
{
    for (size_t i = 0; i < timeline->count; i++)
        if (timeline->instants[i].action != SL_ACTION_ROLLBACK || timeline->instants[i].state != SL_COMPLETED)
            return true;
    return false;
}

/* ---- folders ------------------------------------------------------------------------------------------- */

/* Removes `path` and what is above it while it is empty, and as long as it is longer than `top_len`. */
static sl_status remove_upwards(const sl_table *table, const char *path, size_t top_len)
{
    char *at = sl_strdup(path);
    sl_status status = at ? SL_OK : sl_nomem();
    bool gone = true;
    while (!status && gone && strlen(at) > top_len) {
        status = sl_storage_delete_folder(table->storage, at, &gone);
        char *slash = strrchr(at, '/');
        if (!slash)
            break;
        *slash = 0;
    }
    sl_free(at);
    return status;
}

sl_status table_folders_remove(const sl_table *table, const char *made)
{
    return *made ? remove_upwards(table, table->path, strlen(made) - 1) : SL_OK;
}

/* Whether there is nothing but the file that makes the folder a partition; the table's own folder has `.hoodie`, too. */
static bool is_unused(const sl_listing *listing, bool is_table)
{
    for (size_t i = 0; i < listing->count; i++) {
        const sl_entry *e = &listing->entries[i];
        bool is_ours = e->is_dir ? is_table && strcmp(e->name, ".hoodie") == 0 : is_partition_file(e->name);
        if (!is_ours)
            return false;
    }
    return true;
}

static sl_status remove_partition_files(const sl_table *table, const char *path, const sl_listing *listing)
{
    for (size_t i = 0; i < listing->count; i++) {
        char *file;
        if (listing->entries[i].is_dir)
            continue;
        SL_TRY(sl_path_join(path, listing->entries[i].name, &file));
        sl_status status = sl_storage_delete(table->storage, file);
        sl_free(file);
        SL_TRY(status);
    }
    return SL_OK;
}

static sl_status remove_partition(const sl_table *table, const char *partition)
{
    char *path;
    sl_listing listing = {0};
    SL_TRY(sl_table_path(table, partition, &path));
    sl_status status = sl_storage_list(table->storage, path, &listing);
    if (!status && is_unused(&listing, !*partition)) {
        status = remove_partition_files(table, path, &listing);
        if (!status)
            status = remove_upwards(table, path, strlen(table->path));
    }
    sl_listing_free(&listing);
    sl_free(path);
    return status;
}

static sl_status remove_partitions(const sl_table *table)
{
    sl_strings partitions = {0};
    sl_status status = sl_partitions_list(table, &partitions);
    for (size_t i = 0; i < partitions.count && !status; i++)
        status = remove_partition(table, partitions.items[i]);
    sl_strings_free(&partitions);
    return status;
}

/* ---- the table ----------------------------------------------------------------------------------------- */

/* The properties first: without them it is no table. */
static sl_status remove_table(const sl_table *table)
{
    char *properties = NULL, *hoodie = NULL;
    sl_status status = SL_OK;
    SL_GO(remove_partitions(table));
    SL_GO(hoodie_path(table, "hoodie.properties", &properties));
    SL_GO(hoodie_path(table, "", &hoodie));
    SL_GO(sl_storage_delete(table->storage, properties));
    SL_GO(sl_storage_delete_tree(table->storage, hoodie));
done:
    sl_free(properties);
    sl_free(hoodie);
    return status;
}

/* Under the locks. */
static sl_status remove_if_unused(const sl_table *table, bool *removed)
{
    sl_timeline timeline;
    SL_TRY(sl_timeline_load(table, &timeline));
    *removed = !is_written_to(&timeline);
    sl_timeline_free(&timeline);
    return *removed ? remove_table(table) : SL_OK;
}

/* Who holds the lock is writing: nobody waits for that. */
static sl_status open_impatient(const char *uri, const sl_runtime *runtime, sl_table **out)
{
    sl_properties options = {0};
    sl_status status = sl_properties_set(&options, "hoodie.write.lock.wait_time_ms", "0");
    if (!status)
        status = sl_table_open(uri, &options, runtime, out);
    sl_properties_free(&options);
    return status;
}

sl_status sl_table_create_undo(const char *uri, const char *made, bool *gone)
{
    sl_runtime runtime = {0};
    sl_table *table = NULL;
    sl_table_lock *lock = NULL;
    sl_status status = SL_OK;
    *gone = false;
    SL_GO(open_impatient(uri, &runtime, &table));
    SL_GO(sl_table_lock_take(table, &lock));
    SL_GO(remove_if_unused(table, gone));
done:
    sl_table_lock_release(lock);
    if (!status && *gone)
        status = table_folders_remove(table, made);
    sl_table_close(table);
    if (sl_status_code(status) == SL_E_BUSY) {
        sl_status_free(status);
        status = SL_OK;
    }
    return status;
}
