/* Shared inside src/table only. */
#ifndef SL_TABLE_INT_H
#define SL_TABLE_INT_H

#include "table/table.h"
#include <ctype.h>

/* Refuses to read a table whose columns cannot be told by their names alone; `commit` carries its schema. */
SL_MUST_USE sl_status schema_history_check(const sl_table *table, const json_t *commit);
/* We do not keep a schema history up, so a table that has one is not written. */
SL_MUST_USE sl_status schema_history_refuse_write(const sl_table *table, const sl_timeline *timeline);

/* What another writer changed since the table was opened counts from here on. Refuses what we do not write. */
SL_MUST_USE sl_status table_reload(sl_table *table);

/* As sl_partitions_list; `unmarked` (may be NULL) gets the folders with data files that are no partitions. */
SL_MUST_USE sl_status partitions_list(const sl_table *table, sl_strings *out, sl_strings *unmarked);
bool is_partition_file(const char *name); /* what makes a folder a partition */
/* Makes the partition's folder and metadata file; does nothing when they are there. */
SL_MUST_USE sl_status partition_make(const sl_table *table, const char *partition, const char *instant);

/* Reads .hoodie/hoodie.properties (or its backup, as spec/timeline.md 3.3 says) and checks its checksum. */
SL_MUST_USE sl_status properties_load(sl_storage *storage, const char *table_path, sl_properties *out);
/* Decimal CRC-32 of "<database>.<table>"; `out` needs 16 bytes. */
void properties_checksum(const sl_properties *p, char *out);
/* Sets the members of `table` that derive from its properties. */
SL_MUST_USE sl_status table_interpret(sl_table *table);

SL_INLINE bool equals_ignoring_case(const char *a, const char *b)
{
    while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b))
        a++, b++;
    return !*a && !*b;
}

/* Text as it may stand in an Avro name. */
void avro_name(const char *text, char *out, size_t out_bytes);
/* A whole number and nothing else. */
bool parse_int(const char *text, int64_t *out);

/* Removes the table's folder and those above it up to `made`, as far as they are empty; "" removes none. */
SL_MUST_USE sl_status table_folders_remove(const sl_table *table, const char *made);
/* Path of a file below .hoodie; the caller frees. */
SL_MUST_USE sl_status hoodie_path(const sl_table *table, const char *relative, char **out);
SL_MUST_USE sl_status timeline_path(const sl_table *table, const char *file, char **out);

/* The archived timeline, for sl_timeline_completion. A table without one is fine. */
SL_MUST_USE sl_status timeline_load_history(const sl_table *table, sl_timeline *timeline);
void timeline_free_history(sl_timeline *timeline);
/* NULL: it is not there. */
const char *timeline_archived_completion(const sl_timeline *timeline, const char *requested);
bool timeline_action_writes(const char *name); /* of an action by name; false for unknown ones */

/* Marker files of an instant (spec/timeline.md 9.1): relative data file paths, both kinds of marker folder.
 * Missing: empty. */
SL_MUST_USE sl_status markers_read(const sl_table *table, const char *instant, sl_strings *data_files,
                                   bool *found);
/* folders_durable: those that the markers come into are known to be. */
SL_MUST_USE sl_status markers_create(const sl_table *table, const char *instant,
                                     const struct sl_planned_file *files, size_t count, bool folders_durable);
SL_MUST_USE sl_status markers_delete(const sl_table *table, const char *instant);

/* The table's lock without its timeline half, and that half again (if need be): while a writer writes, services go
 * on. */
void timeline_lock_leave(sl_table_lock *lock);
SL_MUST_USE sl_status timeline_lock_again(const sl_table *table, sl_table_lock *lock);
/* Marks an instant as worked on, until the handle is unlocked or the process dies: SL_E_BUSY when somebody does.
 * Caller holds the timeline lock, as of the next one. */
SL_MUST_USE sl_status instant_lock_take(const sl_table *table, const char *instant,
                                        sl_storage_lock_handle **out);
/* Removes the locks of instants that are not pending: their owners died between publishing and tidying. */
SL_MUST_USE sl_status instant_locks_sweep(const sl_table *table, const sl_timeline *timeline);

/* What a transaction does behind its tasks' backs (txn_files.c). */
struct txn_files;
SL_MUST_USE sl_status txn_files_new(const sl_table *table, const char *instant, struct txn_files **out);
SL_MUST_USE sl_status txn_files_plan(struct txn_files *f, const struct sl_planned_file *files, size_t count);
SL_MUST_USE sl_status txn_files_announce(struct txn_files *f, const struct sl_planned_file *file);
void txn_files_finish(struct txn_files *f, sl_output *output);
/* When all that was handed over is done: its first failure. */
SL_MUST_USE sl_status txn_files_wait(struct txn_files *f);
void txn_files_free(struct txn_files *f);
SL_MUST_USE sl_status txn_wait_for_files(sl_txn *txn);
sl_table *txn_table(const sl_txn *txn);
const sl_instant *txn_instant(const sl_txn *txn);

/* A new instant: later than the clock's last answer and than everything on the timeline. Caller holds the
 * lock. */
SL_MUST_USE sl_status instant_draw(const sl_table *table, const sl_timeline *timeline, char *out);

SL_MUST_USE sl_status write_stat_copy(const sl_write_stat *from, sl_write_stat *to);
/* Makes commit metadata that of a replacecommit; `replaced`: partition -> file ids, NULL: none. */
SL_MUST_USE sl_status commit_metadata_replaces(json_t *metadata, const json_t *replaced);

/* Creates a timeline file exclusively; record NULL: empty. */
SL_MUST_USE sl_status instant_create(const sl_table *table, const sl_instant *instant,
                                     enum sl_instant_state state, const json_t *content, const char *record);

/* Undoes a pending instant whose files are announced by markers. Caller holds the lock. `keep_requested`: a
 * service's plan stays. */
SL_MUST_USE sl_status rollback_pending(sl_table *table, const sl_instant *instant, bool keep_requested,
                                       size_t *files_deleted);
/* Undoes an instant that is not completed (any more), with a rollback instant that says so; `result` (may be NULL)
 * gets its time. */
SL_MUST_USE sl_status rollback_instant(sl_table *table, const sl_instant *target, char *result,
                                       size_t *files_deleted);
/* Finishes a rollback that died, by its own plan. */
SL_MUST_USE sl_status rollback_resume(sl_table *table, const sl_instant *pending);
/* sl_rollback_leftovers; *out: the timeline as it is then. */
SL_MUST_USE sl_status leftovers_clear(sl_table *table, sl_timeline *out, size_t *rolled_back);
/* SL_E_BUSY or SL_E_CONFLICT when somebody works on the pending instant. */
SL_MUST_USE sl_status instant_refuse_living(const sl_table *table, const char *instant);

#endif
