/*
 * Taking the metadata table out of service (spec/metadata-table.md 8). Readers trust it as long as the
 * properties list it, so they are changed first; the folder goes second, and readers tolerate its absence.
 */
#include "table/table_int.h"

sl_status sl_metadata_table_disable(sl_table *table)
{
    static const char *const keys[] = {"hoodie.table.metadata.partitions",
                                       "hoodie.table.metadata.partitions.inflight"};
    static const char *const values[] = {"", ""};
    char *path;
    SL_TRY(sl_table_set_properties(table, keys, values, 2));
    SL_TRY(hoodie_path(table, "metadata", &path));
    sl_status status = sl_storage_delete_tree(table->storage, path);
    sl_free(path);
    return status ? sl_context(status, "metadata table") : SL_OK;
}
