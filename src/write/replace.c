/*
 * Operations that replace file groups (spec/write-path.md 6): insert-overwrite, insert-overwrite-table. All of them are a
 * replacecommit: rows go to new file groups, written as sorted base files in every layout, and the commit names the groups
 * that it hides. Their files stay where they are until they are cleaned, so that earlier instants can still be read.
 *
 * A compaction that is planned for a replaced group does not stand in the way: it leaves the group out when it runs.
 */
#include "write/write_int.h"

const char *sl_operation_name(enum sl_operation operation)
{
    static const char *const names[] = {"INSERT", "UPSERT",           "BULK_INSERT",
                                        "DELETE", "INSERT_OVERWRITE", "INSERT_OVERWRITE_TABLE"};
    return names[operation];
}

bool operation_replaces(enum sl_operation operation)
{
    return operation == SL_OP_INSERT_OVERWRITE || operation == SL_OP_INSERT_OVERWRITE_TABLE;
}

bool operation_inserts(enum sl_operation operation)
{
    return operation == SL_OP_INSERT || operation == SL_OP_BULK_INSERT || operation_replaces(operation);
}

enum sl_action sl_write_action(const sl_table *table, enum sl_operation operation)
{
    if (operation_replaces(operation))
        return SL_ACTION_REPLACECOMMIT;
    return table->type == SL_MERGE_ON_READ ? SL_ACTION_DELTACOMMIT : SL_ACTION_COMMIT;
}

sl_status write_begin(sl_table *table, enum sl_operation operation, sl_txn **out)
{
    json_t *request = NULL;
    struct sl_txn_options options = {.action = sl_write_action(table, operation),
                                     .operation = sl_operation_name(operation)};
    if (operation_replaces(operation)) {
        SL_TRY(sl_replace_request(NULL, &request));
        options.plan = request;
        options.plan_record = "HoodieRequestedReplaceMetadata";
    }
    sl_status status = sl_txn_begin(table, &options, out);
    json_decref(request);
    return status;
}

sl_status replace_all_groups(const sl_view *view, sl_txn *txn, uint64_t *replaced)
{
    for (size_t p = 0; p < view->partition_count; p++) {
        const sl_partition *partition = &view->partitions[p];
        SL_TRY(sl_txn_replace(txn, partition->path, NULL));
        for (size_t g = 0; g < partition->group_count; g++)
            SL_TRY(sl_txn_replace(txn, partition->path, partition->groups[g].file_id));
        *replaced += partition->group_count;
    }
    return SL_OK;
}

sl_status replace_groups(const sl_table *table, enum sl_operation operation, const sl_strings *touched,
                         sl_txn *txn, uint64_t *replaced)
{
    sl_view view;
    if (!operation_replaces(operation))
        return SL_OK;
    struct sl_view_options options = {.partitions = operation == SL_OP_INSERT_OVERWRITE ? touched : NULL};
    SL_TRY(sl_view_load(table, &options, &view));
    sl_status status = replace_all_groups(&view, txn, replaced);
    sl_view_free(&view);
    return status;
}

sl_status replace_has_work(const sl_table *table, enum sl_operation operation, bool *out)
{
    sl_view view;
    *out = false;
    if (operation != SL_OP_INSERT_OVERWRITE_TABLE)
        return SL_OK;
    SL_TRY(sl_view_load(table, NULL, &view));
    for (size_t p = 0; p < view.partition_count; p++)
        *out = *out || view.partitions[p].group_count > 0;
    sl_view_free(&view);
    return SL_OK;
}
