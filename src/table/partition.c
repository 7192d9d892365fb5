/*
 * Partitions: folders that hold `.hoodie_partition_metadata` (spec/timeline.md 8). A folder without it reads
 * as 0 rows to Hudi, so it is made before the first data file.
 */
#include "table/table_int.h"
#include <stdio.h>
#include <string.h>

#define PARTITION_FILE ".hoodie_partition_metadata"
#define DEPTH_MAX      64

bool is_partition_file(const char *name)
{
    return strncmp(name, PARTITION_FILE, sizeof PARTITION_FILE - 1) ==
           0; /* also with .parquet or .orc behind */
}

static bool is_data_file(const char *name)
{
    struct sl_file_name parts;
    sl_file_name_parse(name, &parts);
    return parts.kind != SL_FILE_OTHER;
}

/* `unmarked` (may be NULL) gets the folders with data files but without the partition file. */
static sl_status walk(const sl_table *table, const char *relative, int depth, sl_strings *out,
                      sl_strings *unmarked)
{
    if (depth > DEPTH_MAX)
        return sl_corrupt("folders nest deeper than %d below %s", DEPTH_MAX, table->path);
    char *path = NULL;
    sl_listing listing = {0};
    bool is_listed = false; /* a writer that died may leave a second such file: one partition all the same */
    bool has_data = false;
    sl_status status = SL_OK;
    SL_GO(sl_table_path(table, relative, &path));
    SL_GO(sl_storage_list(table->storage, path, &listing));
    for (size_t i = 0; i < listing.count; i++) {
        const sl_entry *e = &listing.entries[i];
        if (!e->is_dir && is_partition_file(e->name) && !is_listed) {
            SL_GO(sl_strings_add(out, relative));
            is_listed = true;
        }
        has_data = has_data || (!e->is_dir && is_data_file(e->name));
        if (!e->is_dir || (depth == 0 && strcmp(e->name, ".hoodie") == 0))
            continue;
        char *child;
        SL_GO(sl_path_join(relative, e->name, &child));
        status = walk(table, child, depth + 1, out, unmarked);
        sl_free(child);
        if (status)
            goto done;
    }
    if (unmarked && has_data && !is_listed)
        SL_GO(sl_strings_add(unmarked, relative));
done:
    sl_listing_free(&listing);
    sl_free(path);
    return status;
}

sl_status partitions_list(const sl_table *table, sl_strings *out, sl_strings *unmarked)
{
    sl_strings found = {0};
    sl_status status = walk(table, "", 0, &found, unmarked);
    if (status) {
        sl_strings_free(&found);
        return status;
    }
    sl_strings_sort(&found);
    *out = found;
    return SL_OK;
}

sl_status sl_partitions_list(const sl_table *table, sl_strings *out)
{
    return partitions_list(table, out, NULL);
}

sl_status partition_make(const sl_table *table, const char *partition, const char *instant)
{
    char *relative = NULL, *path = NULL;
    sl_buf text = {0};
    sl_properties p = {0};
    char depth[16];
    bool exists;
    int levels = *partition != 0;
    for (const char *at = partition; *at; at++)
        levels += *at == '/';
    snprintf(depth, sizeof depth, "%d", levels);
    sl_status status = SL_OK;
    SL_GO(sl_path_join(partition, PARTITION_FILE, &relative));
    SL_GO(sl_table_path(table, relative, &path));
    SL_GO(sl_storage_exists(table->storage, path, &exists));
    if (exists)
        goto done;
    SL_GO(sl_properties_set(&p, "commitTime", instant));
    SL_GO(sl_properties_set(&p, "partitionDepth", depth));
    SL_GO(sl_properties_text(&p, "partition metadata", &text));
    status = sl_storage_create_if_absent(table->storage, path, text.data, text.len);
    if (sl_status_code(status) == SL_E_EXISTS) { /* somebody else made it: as good */
        sl_status_free(status);
        status = SL_OK;
    }
done:
    sl_properties_free(&p);
    sl_buf_free(&text);
    sl_free(relative);
    sl_free(path);
    return status ? sl_context(status, "partition %s", partition) : SL_OK;
}
