/* Planning: what a service would take now, and the plan as a requested instant. */
#include "service/service_int.h"
#include <string.h>

enum sl_action sl_service_action(enum sl_service service)
{
    return service == SL_LOG_COMPACT ? SL_ACTION_LOGCOMPACTION : SL_ACTION_COMPACTION;
}

/* Partial updates are no associative fold: logs folded without their base could fill other columns than with it. */
static bool logs_stand_for_themselves(const sl_table *table)
{
    return !*sl_properties_get_or(&table->properties, "hoodie.table.partial.update.mode", "");
}

sl_status sl_service_check(const sl_table *table, enum sl_service service)
{
    if (table->type != SL_MERGE_ON_READ)
        return sl_input("a copy-on-write table has no logs to compact");
    if (service != SL_LOG_COMPACT)
        return SL_OK;
    if (table->layout != SL_LAYOUT_LSM)
        return sl_unsupported("log compaction of a table of the default layout");
    return logs_stand_for_themselves(table)
               ? SL_OK
               : sl_hint(sl_unsupported("log compaction of a table with partial updates"),
                         "`sluice compact` folds the logs into the base");
}

/* ---- the plan ------------------------------------------------------------------------------------------ */

static sl_status choose_compactions(const sl_table *table, enum sl_selection selection, struct candidates *c)
{
    bool tiered, due = true;
    SL_TRY(policy_is_size_tiered(table, &tiered));
    if (selection == SL_SELECT_DUE && tiered)
        return policy_choose_compactions(table, c);
    if (selection == SL_SELECT_DUE)
        SL_TRY(trigger_is_due(table, &c->view.timeline, &due));
    if (due)
        return strategy_apply(table, c);
    for (size_t i = 0; i < c->count; i++)
        candidate_free(&c->items[i]);
    c->count = 0;
    return SL_OK;
}

static sl_status make_plan(const sl_table *table, enum sl_service service, enum sl_selection selection,
                           const char *instant, json_t **plan, size_t *operations)
{
    struct candidates c = {0};
    sl_status status = SL_OK;
    SL_GO(candidates_load(table, instant, &c));
    SL_GO(service == SL_LOG_COMPACT ? stretches_choose(table, selection, &c)
                                    : choose_compactions(table, selection, &c));
    *operations = c.count;
    status = plan_json(service, &c, plan);
done:
    candidates_free(&c);
    return status;
}

sl_status sl_service_plan(const sl_table *table, enum sl_service service, enum sl_selection selection,
                          json_t **plan, size_t *operations)
{
    SL_TRY(sl_service_check(table, service));
    return make_plan(table, service, selection, NULL, plan, operations);
}

sl_status sl_service_schedule(sl_table *table, enum sl_service service, enum sl_selection selection,
                              char *instant, size_t *operations)
{
    char drawn[SL_INSTANT_BYTES];
    json_t *plan = NULL;
    sl_table_lock *lock;
    size_t rolled_back;
    *instant = 0;
    *operations = 0;
    SL_TRY(sl_service_check(table, service));
    SL_TRY(sl_table_check_writable(table));
    SL_TRY(sl_timeline_lock_take(table, &lock));
    sl_status status = SL_OK;
    SL_GO(sl_rollback_leftovers(table, &rolled_back));
    SL_GO(sl_txn_draw(table, drawn));
    SL_GO(make_plan(table, service, selection, drawn, &plan, operations));
    if (*operations == 0)
        goto done;
    SL_GO(sl_txn_schedule(table, sl_service_action(service), drawn, plan, "HoodieCompactionPlan"));
    memcpy(instant, drawn, SL_INSTANT_BYTES);
done:
    json_decref(plan);
    sl_table_lock_release(lock);
    return status;
}

/* ---- plans that wait ----------------------------------------------------------------------------------- */

sl_status sl_service_pending(const sl_table *table, enum sl_service service, char *instant)
{
    sl_timeline timeline = {0};
    sl_table_lock *lock; /* whoever asks holds an instant's lock for a moment */
    *instant = 0;
    SL_TRY(sl_timeline_lock_take(table, &lock));
    sl_status status = sl_timeline_load(table, &timeline);
    for (size_t i = 0; !status && i < timeline.count && !*instant; i++) {
        const sl_instant *planned = &timeline.instants[i];
        bool busy;
        if (planned->action != sl_service_action(service) || planned->state == SL_COMPLETED)
            continue;
        status = sl_instant_is_worked_on(table, planned->requested, &busy);
        if (!status && !busy)
            memcpy(instant, planned->requested, SL_INSTANT_BYTES);
    }
    sl_timeline_free(&timeline);
    sl_table_lock_release(lock);
    return status;
}
