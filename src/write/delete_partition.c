/*
 * delete-partition: a replacecommit without rows that hides every file group of some partitions. As Hudi does, it refuses
 * while a service is planned on one of them (spec/write-path.md 6).
 */
#include "write/write_int.h"
#include <string.h>

/* ---- which partitions ---------------------------------------------------------------------------------- */

static sl_status resolve(const sl_table *table, const char *const *names, size_t count, sl_strings *out)
{
    sl_strings all = {0};
    sl_status status = SL_OK;
    if (table->keygen.partition_fields.count == 0)
        return sl_hint(sl_input("the table is not partitioned"),
                       "insert-overwrite-table without rows empties a table");
    SL_GO(sl_partitions_list(table, &all));
    for (size_t i = 0; i < count; i++)
        SL_GO(sl_partitions_named(table, &all, names[i], out));
done:
    sl_strings_free(&all);
    return status;
}

/* ---- services in the way ------------------------------------------------------------------------------- */

struct in_the_way {
    const sl_strings *partitions;
    const sl_instant *plan;
};

static sl_status refuse_group(void *context, const char *partition, const char *file_id)
{
    const struct in_the_way *w = context;
    (void)file_id;
    if (!sl_strings_contain(w->partitions, partition))
        return SL_OK;
    return sl_hint(sl_errorf(SL_E_CONFLICT, "partition \"%s\": the %s %s is planned on it", partition,
                             sl_action_name(w->plan->action), w->plan->requested),
                   "execute the plan, or roll it back");
}

static sl_status refuse_planned(const sl_table *table, const sl_timeline *timeline,
                                const sl_strings *partitions)
{
    for (size_t i = 0; i < timeline->count; i++) {
        const sl_instant *instant = &timeline->instants[i];
        if (sl_action_is_service(instant->action) && instant->state != SL_COMPLETED && instant->has_requested)
            SL_TRY(sl_plan_groups(table, instant, refuse_group, &(struct in_the_way){partitions, instant}));
    }
    return SL_OK;
}

/* ---- the operation ------------------------------------------------------------------------------------- */

/* Looks before it begins, so that a refusal leaves nothing on the timeline. */
static sl_status look(const sl_table *table, const sl_strings *partitions, uint64_t *groups)
{
    sl_view view;
    SL_TRY(sl_view_load(table, &(struct sl_view_options){.partitions = partitions}, &view));
    sl_status status = refuse_planned(table, &view.timeline, partitions);
    for (size_t p = 0; p < view.partition_count; p++)
        *groups += view.partitions[p].group_count;
    sl_view_free(&view);
    return status;
}

static sl_status replace_partitions(sl_table *table, const sl_strings *partitions, sl_txn *txn,
                                    uint64_t *replaced)
{
    sl_view view;
    SL_TRY(sl_view_load(table, &(struct sl_view_options){.partitions = partitions}, &view));
    sl_status status = replace_all_groups(&view, txn, replaced);
    sl_view_free(&view);
    return status;
}

static sl_status commit_replacement(sl_table *table, const sl_strings *partitions, struct sl_write_result *r)
{
    static const char operation[] = "DELETE_PARTITION";
    json_t *request = NULL;
    sl_txn *txn = NULL;
    sl_status status = SL_OK;
    SL_GO(sl_replace_request(operation, &request));
    struct sl_txn_options options = {.action = SL_ACTION_REPLACECOMMIT,
                                     .operation = operation,
                                     .plan = request,
                                     .plan_record = "HoodieRequestedReplaceMetadata"};
    SL_GO(sl_txn_begin(table, &options, &txn));
    memcpy(r->instant, sl_txn_instant(txn), SL_INSTANT_BYTES);
    SL_GO(replace_partitions(table, partitions, txn, &r->groups_replaced));
    sl_txn *committing = txn;
    txn = NULL;
    status = sl_txn_commit(committing, NULL, r->completed);
done:
    sl_txn_abort(txn);
    json_decref(request);
    return status;
}

sl_status sl_delete_partitions(sl_table *table, const char *const *names, size_t count,
                               struct sl_write_result *result)
{
    struct sl_write_result r = {.action = sl_action_name(SL_ACTION_REPLACECOMMIT), .counts_known = true};
    sl_strings partitions = {0};
    double start = sl_monotonic();
    uint64_t groups = 0;
    sl_status status = SL_OK;
    SL_GO(sl_table_check_writable(table));
    SL_GO(resolve(table, names, count, &partitions));
    SL_GO(look(table, &partitions, &groups));
    if (groups > 0)
        SL_GO(commit_replacement(table, &partitions, &r));
    r.partitions = partitions.count;
    r.seconds = sl_monotonic() - start;
    *result = r;
done:
    sl_strings_free(&partitions);
    return status;
}
