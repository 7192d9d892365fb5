/* Which file groups a service's plan holds: a compaction's operations name them, a clustering's input groups by their slices. */
#include "table/table_int.h"

static sl_status visit(const json_t *items, sl_plan_group each, void *context)
{
    const json_t *item;
    size_t i;
    json_array_foreach((json_t *)(uintptr_t)items, i, item)
    {
        const char *partition = json_string_value(json_object_get(item, "partitionPath"));
        const char *file_id = json_string_value(json_object_get(item, "fileId"));
        if (!partition || !file_id)
            return sl_corrupt("an operation without partition or file group");
        SL_TRY(each(context, partition, file_id));
    }
    return SL_OK;
}

static sl_status visit_plan(const json_t *plan, sl_plan_group each, void *context)
{
    const json_t *inputs = json_object_get(json_object_get(plan, "clusteringPlan"), "inputGroups"), *input;
    size_t i;
    SL_TRY(visit(json_object_get(plan, "operations"), each, context));
    json_array_foreach((json_t *)(uintptr_t)inputs, i, input)
        SL_TRY(visit(json_object_get(input, "slices"), each, context));
    return SL_OK;
}

/* A clustering's plan has input groups instead of operations. */
static sl_status load(const sl_table *table, const sl_instant *instant, json_t **out)
{
    if (instant->action == SL_ACTION_CLUSTERING)
        return sl_instant_json(table, instant, SL_REQUESTED, out);
    sl_status status = sl_instant_json_with(table, instant, SL_REQUESTED, "operations", out);
    return sl_hint(status, "`sluice rollback` of instant %s removes the plan", instant->requested);
}

sl_status sl_plan_groups(const sl_table *table, const sl_instant *instant, sl_plan_group each, void *context)
{
    json_t *plan;
    SL_TRY(load(table, instant, &plan));
    sl_status status = visit_plan(plan, each, context);
    json_decref(plan);
    return sl_context(status, "plan of %s %s", sl_action_name(instant->action), instant->requested);
}
