/*
 * Services that run by themselves: what is due next, and what a write sets off. Settings are Hudi's:
 *
 *   hoodie.compact.inline                 execute what is due after a write
 *   hoodie.compact.schedule.inline        only plan it; somebody else executes (sluice service)
 *   hoodie.log.compaction.inline, hoodie.log.compaction.enable    the same two of log compactions
 *
 * Under the size-tiered policy the two kinds belong together: then the settings of compactions stand for both.
 */
#include "service/service_int.h"
#include <string.h>

/* ---- what is due --------------------------------------------------------------------------------------- */

/* Compactions before log compactions, which the table may not have. */
static bool has_log_compactions(const sl_table *table)
{
    return !sl_status_ignore(sl_service_check(table, SL_LOG_COMPACT));
}

sl_status sl_service_plan_due(const sl_table *table, json_t **plan)
{
    size_t operations;
    SL_TRY(sl_service_plan(table, SL_COMPACT, SL_SELECT_DUE, plan, &operations));
    if (operations || !has_log_compactions(table))
        return SL_OK;
    json_decref(*plan);
    return sl_service_plan(table, SL_LOG_COMPACT, SL_SELECT_DUE, plan, &operations);
}

sl_status sl_service_schedule_due(sl_table *table, char *instant, size_t *operations)
{
    SL_TRY(sl_service_schedule(table, SL_COMPACT, SL_SELECT_DUE, instant, operations));
    return *instant || !has_log_compactions(table)
               ? SL_OK
               : sl_service_schedule(table, SL_LOG_COMPACT, SL_SELECT_DUE, instant, operations);
}

static sl_status next_due_of(sl_table *table, enum sl_service service, char *instant)
{
    size_t operations;
    SL_TRY(sl_service_pending(table, service, instant));
    return *instant ? SL_OK : sl_service_schedule(table, service, SL_SELECT_DUE, instant, &operations);
}

sl_status sl_service_next_due(sl_table *table, enum sl_service *service, char *instant)
{
    *service = SL_COMPACT;
    SL_TRY(next_due_of(table, SL_COMPACT, instant));
    if (*instant || !has_log_compactions(table))
        return SL_OK;
    *service = SL_LOG_COMPACT;
    return next_due_of(table, SL_LOG_COMPACT, instant);
}

/* ---- after a write ------------------------------------------------------------------------------------- */

enum wanted { NOTHING, PLANS, RESULTS };

static enum wanted wanted_by(const sl_table *table, const char *results, const char *plans)
{
    return sl_table_setting_true(table, results, false) ? RESULTS
           : sl_table_setting_true(table, plans, false) ? PLANS
                                                        : NOTHING;
}

static sl_status run_one(sl_table *table, enum sl_service service, enum wanted wanted)
{
    char instant[SL_INSTANT_BYTES];
    struct sl_write_result result;
    size_t operations;
    if (wanted == PLANS)
        return sl_service_schedule(table, service, SL_SELECT_DUE, instant, &operations);
    SL_TRY(next_due_of(table, service, instant));
    return *instant ? sl_service_execute(table, service, instant, &result) : SL_OK;
}

/* Somebody else at work on the plan, or through with it: as good. */
static bool is_taken(sl_status status)
{
    return sl_status_code(status) == SL_E_BUSY || sl_status_code(status) == SL_E_EXISTS;
}

static void run_and_warn(sl_table *table, enum sl_service service, enum wanted wanted)
{
    if (wanted == NOTHING)
        return;
    sl_status status = run_one(table, service, wanted);
    if (status && !is_taken(status))
        sl_warn(&table->runtime, "the write is committed, but the %s after it failed: %s",
                sl_action_name(sl_service_action(service)), sl_status_message(status));
    sl_status_free(status);
}

void sl_inline_services(sl_table *table)
{
    bool tiered;
    if (table->type != SL_MERGE_ON_READ || table->layout != SL_LAYOUT_LSM)
        return;
    enum wanted compaction = wanted_by(table, "hoodie.compact.inline", "hoodie.compact.schedule.inline");
    enum wanted log_compaction =
        wanted_by(table, "hoodie.log.compaction.inline", "hoodie.log.compaction.enable");
    if (sl_status_ignore(policy_is_size_tiered(table, &tiered)))
        tiered = false; /* the first service will say so */
    if (tiered && compaction > log_compaction)
        log_compaction = compaction;
    if (!has_log_compactions(table))
        log_compaction = NOTHING;
    run_and_warn(table, SL_COMPACT, compaction);
    run_and_warn(table, SL_LOG_COMPACT, log_compaction);
}
