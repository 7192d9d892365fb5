/* Shared inside src/service by the compactions. */
#ifndef SL_SERVICE_INT_H
#define SL_SERVICE_INT_H

#include "service/service.h"

/* ---- planning ------------------------------------------------------------------------------------------ */

/* A file group that a service might take. */
struct candidate {
    const sl_file_group *group;
    const sl_slice *slice;     /* the newest */
    const sl_data_file **logs; /* what the operation takes, in log order; owned */
    size_t log_count;
    uint64_t log_bytes;
};
struct candidates {
    sl_view view;
    struct candidate *items;
    size_t count;
};
/* Groups whose newest slice has logs and that no pending plan holds. `instant`: the plan's; logs that completed after it
 * are none of it. NULL: a plan that is not meant to be executed. */
SL_MUST_USE sl_status candidates_load(const sl_table *table, const char *instant, struct candidates *out);
/* Drops items that `keep` says no to; their order stays. */
void candidates_filter(struct candidates *c, bool (*keep)(const void *context, const struct candidate *item),
                       const void *context);
/* Leaves of the candidates those that were chosen before from others, as they were chosen and in that order. */
SL_MUST_USE sl_status candidates_confirm(struct candidates *c, const struct candidates *chosen,
                                         enum sl_service service);
void candidate_free(struct candidate *item);
void candidates_free(struct candidates *c);

/* What hoodie.compaction.strategy takes, in its order. */
SL_MUST_USE sl_status strategy_apply(const sl_table *table, struct candidates *c);
/* Whether hoodie.compact.inline.trigger.strategy wants a compaction now. */
SL_MUST_USE sl_status trigger_is_due(const sl_table *table, const sl_timeline *timeline, bool *due);

/* The oldest write that is not completed: no stretch may reach its place. NULL: none. */
const char *oldest_pending_write(const sl_timeline *timeline);
/* The stretch of a slice's logs that a log compaction takes: live native logs, contiguous in the order of the merge, all
 * of an instant or none. `tiered`: runs of about the same size only. Fewer than `least` logs: none, *count is 0. */
SL_MUST_USE sl_status stretch_choose(const struct sl_slice_logs *logs, const char *before, bool tiered,
                                     size_t least, size_t *first, size_t *count);
/* That the planned logs of a slice (`logs`: all of it) are such a stretch still, whoever planned them; leaves the live ones,
 * in the order of the merge. */
SL_MUST_USE sl_status stretch_check(const struct sl_slice_logs *logs, sl_read_slice *planned);
/* Turns candidates into those that a log compaction takes, with their stretches. */
SL_MUST_USE sl_status stretches_choose(const sl_table *table, enum sl_selection selection,
                                       struct candidates *c);

/* Whether the policy decides (size_tiered), not Hudi's triggers and strategies. */
SL_MUST_USE sl_status policy_is_size_tiered(const sl_table *table, bool *out);
/* Whether the size-tiered policy wants a slice compacted; else a log compaction may be enough. */
SL_MUST_USE sl_status policy_wants_compaction(const sl_table *table, const struct candidate *item,
                                              const struct sl_slice_logs *logs, bool *out);
/* Keeps the candidates that the policy wants compacted. */
SL_MUST_USE sl_status policy_choose_compactions(const sl_table *table, struct candidates *c);

/* The logs of a candidate's slice. */
SL_MUST_USE sl_status candidate_logs(const sl_table *table, const struct candidate *item,
                                     struct sl_slice_logs *out);

/* MB read and written, as plans tell it. */
double operation_megabytes(const struct candidate *item, double *read, double *write);
/* The candidates as operations of a HoodieCompactionPlan. New reference. */
SL_MUST_USE sl_status plan_json(enum sl_service service, const struct candidates *c, json_t **out);

/* ---- execution ----------------------------------------------------------------------------------------- */

/* What the operations of a plan share: the table as it is when they begin, and memory. */
struct groundwork {
    sl_view view; /* of their partitions, sorted by path */
    sl_write_schema schema;
    sl_parquet_memory *memory;
};
/* Of tasks of one plan. */
SL_MUST_USE sl_status groundwork_lay(const sl_table *table, const json_t *const *tasks, size_t count,
                                     struct groundwork *out);
void groundwork_free(struct groundwork *ground);
/* NULL: not there. */
const sl_file_group *groundwork_group(const struct groundwork *ground, const char *partition,
                                      const char *file_id);

/* One operation of a plan, with its files found. */
struct operation {
    sl_table *table;
    const struct groundwork *ground;
    sl_txn *txn;
    enum sl_service service;
    const char *instant, *partition, *file_id, *base_name, *base_instant; /* borrowed from the task */
    bool is_replaced; /* since the plan was made: there is nothing to do any more */
    uint32_t number, attempt;
    sl_strings log_names;
    sl_read_slice slice;
    uint64_t log_bytes;
};
/* An operation of a plan as a task. New reference. */
SL_MUST_USE sl_status operation_task(enum sl_service service, const char *instant, size_t number,
                                     json_t *operation, json_t **out);
SL_MUST_USE sl_status operation_open(sl_table *table, sl_txn *txn, const struct groundwork *ground,
                                     const json_t *task, uint32_t attempt, struct operation *out);
void operation_free(struct operation *o);
/* Runs a task inside `txn`, which collects the stats. */
SL_MUST_USE sl_status operation_run(sl_table *table, sl_txn *txn, const struct groundwork *ground,
                                    const json_t *task, uint32_t attempt);
SL_MUST_USE sl_status operation_parse_task(const json_t *task, enum sl_service *service,
                                           const char **instant);
/* Announces the base files of a compaction's tasks together (sl_txn_plan). */
SL_MUST_USE sl_status compaction_announce(sl_table *table, sl_txn *txn, const struct groundwork *ground,
                                          const json_t *const *tasks, size_t count);
/* The work itself: base and logs into a base file; logs into logs. */
SL_MUST_USE sl_status compaction_write(struct operation *o);
SL_MUST_USE sl_status log_compaction_write(struct operation *o);

#endif
