/*
 * service: what keeps a table in shape. Plan, execute, commit, as everywhere.
 */
#ifndef SL_SERVICE_H
#define SL_SERVICE_H

#include "query/query.h"
#include "write/write.h"

/* ---- compaction ---------------------------------------------------------------------------------------- */

/* Which file groups a compaction would fold (spec/lsm-layout.md 12.2): those with logs, the largest first,
 * until hoodie.compaction.target.io MB would be read and written. The plan is a HoodieCompactionPlan;
 * *operations 0: nothing to do. */
SL_MUST_USE sl_status sl_compaction_plan(const sl_table *table, json_t **plan, size_t *operations);
/* Plans under the lock and puts the plan on the timeline. *instant is "" when there is nothing to do. */
SL_MUST_USE sl_status sl_compaction_schedule(sl_table *table, char *instant, size_t *operations);
/* Oldest plan that is not completed; "" when there is none. */
SL_MUST_USE sl_status sl_compaction_pending(const sl_table *table, char *instant);
/* Executes a plan: each group's base and logs become a new base file, one commit for all. */
SL_MUST_USE sl_status sl_compaction_execute(sl_table *table, const char *instant,
                                            struct sl_write_result *result);

/* The three parts by themselves, for engines that spread the tasks over processes. */
typedef struct sl_compaction sl_compaction;
/* Holds the table's lock until it is committed or freed. */
SL_MUST_USE sl_status sl_compaction_begin(sl_table *table, const char *instant, sl_compaction **out);
size_t sl_compaction_tasks(const sl_compaction *c);
const json_t *sl_compaction_task(const sl_compaction *c, size_t index); /* borrowed; self-contained */
/* Runs one task, in any process that sees the table; *stats is a JSON array of write stats and the counts. */
SL_MUST_USE sl_status sl_compaction_run(sl_table *table, const json_t *task, json_t **result);
/* One result a task counts, however often it ran. Frees c in any case. */
SL_MUST_USE sl_status sl_compaction_commit(sl_compaction *c, json_t *const *results, size_t count,
                                           struct sl_write_result *result);
void sl_compaction_free(sl_compaction *c); /* gives up: files are removed, the plan stays; NULL is fine */

/* ---- doctor -------------------------------------------------------------------------------------------- */

/* Checks the table against itself: timeline, files against commits, names, buckets, footers; deep: also every row (checksums,
 * key order, bounds, meta columns, uniqueness). *out: {"findings": [{"severity": "error" or "warning", "check", "place",
 * "message"}], "errors": n, "deep": b, "checked": {counts}}, findings by place. New reference. Nothing is changed. */
SL_MUST_USE sl_status sl_doctor(sl_table *table, bool deep, json_t **out);
/* What can be put right without losing anything: leftovers of dead writers are rolled back. Takes the lock. */
SL_MUST_USE sl_status sl_doctor_repair(sl_table *table, size_t *rolled_back);

#endif
