/*
 * service: what keeps a table in shape. Plan, execute, commit, as everywhere.
 */
#ifndef SL_SERVICE_H
#define SL_SERVICE_H

#include "query/query.h"
#include "write/write.h"

/* ---- compactions --------------------------------------------------------------------------------------- */

enum sl_service {
    SL_COMPACT,     /* base and logs of a slice become a new base file (spec/lsm-layout.md 12.2) */
    SL_LOG_COMPACT, /* a stretch of a slice's logs becomes one log (spec/lsm-layout.md 12.1) */
};
/* What a plan is to take. */
enum sl_selection {
    SL_SELECT_ALL, /* compaction: what hoodie.compaction.strategy picks; log compaction: slices with enough logs */
    SL_SELECT_DUE, /* what the table's policy wants now; docs/services.md */
};
enum sl_action sl_service_action(enum sl_service service);
/* Checks that the table may have such a service. */
SL_MUST_USE sl_status sl_service_check(const sl_table *table, enum sl_service service);

/* The plan that would be made now, a HoodieCompactionPlan; *operations 0: there is nothing to do. */
SL_MUST_USE sl_status sl_service_plan(const sl_table *table, enum sl_service service,
                                      enum sl_selection selection, json_t **plan, size_t *operations);
/* Plans beside a running writer, and puts the plan on the timeline: what is chosen before the timeline's lock is taken is
 * confirmed under it. *instant is "" when there is nothing to do. */
SL_MUST_USE sl_status sl_service_schedule(sl_table *table, enum sl_service service,
                                          enum sl_selection selection, char *instant, size_t *operations);
/* Oldest plan that is not completed and that nobody works on; "" when there is none. */
SL_MUST_USE sl_status sl_service_pending(const sl_table *table, enum sl_service service, char *instant);
/* Executes a plan: one commit for all its operations. SL_E_BUSY when somebody does, SL_E_EXISTS when it is done. */
SL_MUST_USE sl_status sl_service_execute(sl_table *table, enum sl_service service, const char *instant,
                                         struct sl_write_result *result);

/* The three parts by themselves, for engines that spread the tasks over processes. */
typedef struct sl_service_job sl_service_job;
/* Nobody else can work on the plan until the job is committed or freed; writers go on. */
SL_MUST_USE sl_status sl_service_begin(sl_table *table, enum sl_service service, const char *instant,
                                       sl_service_job **out);
size_t sl_service_tasks(const sl_service_job *job);
const json_t *sl_service_task(const sl_service_job *job, size_t index); /* borrowed; self-contained */
bool sl_is_service_task(const json_t *task);
/* Runs one task, in any process that sees the table; *result holds its write stats. */
SL_MUST_USE sl_status sl_service_run(sl_table *table, const json_t *task, json_t **result);
/* Runs all tasks here and commits. Frees the job in any case. */
SL_MUST_USE sl_status sl_service_finish(sl_service_job *job, struct sl_write_result *result);
/* One result a task counts, however often it ran. Frees the job in any case. */
SL_MUST_USE sl_status sl_service_commit(sl_service_job *job, json_t *const *results, size_t count,
                                        struct sl_write_result *result);
void sl_service_free(sl_service_job *job); /* gives up: files are removed, the plan stays; NULL is fine */

/* What is due now: the plan, and the plan on the timeline. */
SL_MUST_USE sl_status sl_service_plan_due(const sl_table *table, json_t **plan);
SL_MUST_USE sl_status sl_service_schedule_due(sl_table *table, char *instant, size_t *operations);
/* The next plan to execute of what is due: one that waits, else a new one, compactions first. *instant is "" when nothing
 * is. */
SL_MUST_USE sl_status sl_service_next_due(sl_table *table, enum sl_service *service, char *instant);
/* What the settings want after a write (hoodie.compact.inline and its kin). The write is committed: a failure is a
 * warning. */
void sl_inline_services(sl_table *table);

/* ---- doctor -------------------------------------------------------------------------------------------- */

/* Checks the table against itself: timeline, files against commits, names, buckets, footers; deep: also every row (checksums,
 * key order, bounds, meta columns, uniqueness). *out: {"findings": [{"severity": "error", "warning" or "unchecked" (the
 * system did not let us look), "check", "place", "message"}], "errors": n, "unchecked": n, "deep": b, "checked": {counts}},
 * findings by place. New reference. Nothing is changed. */
SL_MUST_USE sl_status sl_doctor(sl_table *table, bool deep, json_t **out);
/* What can be put right without losing anything: leftovers of dead writers are rolled back. Takes the lock. */
SL_MUST_USE sl_status sl_doctor_repair(sl_table *table, size_t *rolled_back);

#endif
