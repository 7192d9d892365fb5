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

/* What the service would take now; reads footers of logs. */
static sl_status choose(const sl_table *table, enum sl_service service, enum sl_selection selection,
                        struct candidates *out)
{
    struct candidates c = {0};
    sl_status status = SL_OK;
    SL_GO(candidates_load(table, NULL, &c));
    SL_GO(service == SL_LOG_COMPACT ? stretches_choose(table, selection, &c)
                                    : choose_compactions(table, selection, &c));
    *out = c;
done:
    if (status)
        candidates_free(&c);
    return status;
}

sl_status sl_service_plan(const sl_table *table, enum sl_service service, enum sl_selection selection,
                          json_t **plan, size_t *operations)
{
    struct candidates c;
    SL_TRY(sl_service_check(table, service));
    SL_TRY(choose(table, service, selection, &c));
    *operations = c.count;
    sl_status status = plan_json(service, &c, plan);
    candidates_free(&c);
    return status;
}

static sl_status remove_leftovers(sl_table *table)
{
    sl_table_lock *lock;
    size_t rolled_back;
    SL_TRY(sl_timeline_lock_take(table, &lock));
    sl_status status = sl_rollback_leftovers(table, &rolled_back);
    sl_table_lock_release(lock);
    return status;
}

/* Under the timeline's lock: what was chosen becomes a plan, as far as it still may. */
static sl_status put_plan(sl_table *table, enum sl_service service, const struct candidates *chosen,
                          char *instant, size_t *operations)
{
    char drawn[SL_INSTANT_BYTES];
    struct candidates c = {0};
    json_t *plan = NULL;
    sl_status status = SL_OK;
    SL_GO(sl_txn_draw(table, drawn));
    SL_GO(candidates_load(table, drawn, &c));
    SL_GO(candidates_confirm(&c, chosen, service));
    if (c.count == 0)
        goto done;
    SL_GO(plan_json(service, &c, &plan));
    SL_GO(sl_txn_schedule(table, sl_service_action(service), drawn, plan, "HoodieCompactionPlan"));
    memcpy(instant, drawn, SL_INSTANT_BYTES);
    *operations = c.count;
done:
    json_decref(plan);
    candidates_free(&c);
    return status;
}

sl_status sl_service_schedule(sl_table *table, enum sl_service service, enum sl_selection selection,
                              char *instant, size_t *operations)
{
    struct candidates chosen = {0};
    sl_table_lock *lock = NULL;
    *instant = 0;
    *operations = 0;
    SL_TRY(sl_service_check(table, service));
    SL_TRY(sl_table_check_writable(table));
    SL_TRY(remove_leftovers(table)); /* a dead write would keep logs from a log compaction */
    SL_TRY(choose(table, service, selection, &chosen));
    sl_status status = SL_OK;
    if (chosen.count == 0)
        goto done;
    SL_GO(sl_timeline_lock_take(table, &lock));
    status = put_plan(table, service, &chosen, instant, operations);
    sl_table_lock_release(lock);
done:
    candidates_free(&chosen);
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
