/*
 * table: a Hudi table's state, and the one way to change it (spec/timeline.md).
 *
 *   properties       .hoodie/hoodie.properties, and how it is replaced safely
 *   timeline         the instants below .hoodie/timeline
 *   commit_metadata  what a completed instant says it wrote
 *   view             partitions, file groups and file slices at one instant
 *   txn              requested -> inflight -> (marker -> file)* -> completed: every action goes through it
 *   rollback         what removes a dead writer's leftovers
 *
 * Table versions 8, 9 and 10 (timeline layout 2).
 */
#ifndef SL_TABLE_H
#define SL_TABLE_H

#include "avro/avro.h"
#include "keys/keys.h"
#include "log/log.h"
#include "storage/storage.h"

/* ---- properties ---------------------------------------------------------------------------------------- */

/* Java properties in file order. Values are UTF-8. */
typedef struct sl_properties {
    sl_strings keys, values;
} sl_properties;
SL_MUST_USE sl_status sl_properties_parse(const void *data, size_t len, sl_properties *out);
SL_MUST_USE sl_status sl_properties_text(const sl_properties *p, const char *comment, sl_buf *out);
const char *sl_properties_get(const sl_properties *p, const char *key); /* NULL when absent */
const char *sl_properties_get_or(const sl_properties *p, const char *key, const char *fallback);
bool sl_properties_true(const sl_properties *p, const char *key, bool fallback);
bool sl_properties_equal(const sl_properties *a, const sl_properties *b); /* in the same order */
SL_MUST_USE sl_status sl_properties_set(sl_properties *p, const char *key,
                                        const char *value); /* value NULL: removes */
void sl_properties_free(sl_properties *p);

/* ---- table --------------------------------------------------------------------------------------------- */

/* What stands for a value that did not come along, in tables whose partial update mode is FILL_UNAVAILABLE. */
#define SL_UNAVAILABLE_VALUE "hoodie.record.merge.property.hoodie.write.partial.update.unavailable.value"

/* A row whose column of the first name holds the text of the second is a delete (spec/log-format.md 12). */
#define SL_DELETE_FIELD  "hoodie.record.merge.property.hoodie.payload.delete.field"
#define SL_DELETE_MARKER "hoodie.record.merge.property.hoodie.payload.delete.marker"

enum sl_table_type { SL_COPY_ON_WRITE, SL_MERGE_ON_READ };
enum sl_layout { SL_LAYOUT_DEFAULT, SL_LAYOUT_LSM };
enum sl_table_merge { SL_MERGE_COMMIT_TIME, SL_MERGE_EVENT_TIME, SL_MERGE_CUSTOM };

typedef struct sl_table {
    sl_storage *storage;
    char *path; /* of the table inside the storage */
    char *uri;  /* as the user gave it */
    sl_properties properties;
    sl_properties options; /* settings of this handle (hoodie.* and sluice.*): looked up before the table's
                              properties */
    sl_runtime runtime;
    int version; /* 8, 9, 10 */
    enum sl_table_type type;
    enum sl_layout layout;
    enum sl_table_merge merge;
    struct sl_keygen keygen;
    bool interpreted;    /* all below is what the properties say */
    bool keygen_known;   /* false: keys and partition paths come from a generator that we cannot run */
    sl_strings ordering; /* ordering fields; empty under commit time */
    bool utc;            /* zone of the timeline */
    bool populate_meta;
    /* counts what writes and services of this handle read (slice.h); NULL: not counted */
    struct sl_read_stats *reads;
    bool has_metadata_table; /* hoodie.table.metadata.partitions lists any */
    const char *name;
    struct sl_bucket_hash buckets; /* buckets 0: the properties name no bucket index */
} sl_table;

struct sl_create_options {
    const char *name;      /* NULL: last component of the path */
    const sl_type *schema; /* data columns */
    sl_properties
        properties; /* hoodie.* properties to store; defaults are filled in (see properties_for_create) */
};
/* Makes an empty table: folders, hoodie.properties. SL_E_EXISTS when there is one. Validates names, versions,
 * layout, merge mode and schema first; nothing is left behind on failure. */
SL_MUST_USE sl_status sl_table_create(const char *uri, const struct sl_create_options *options);
/* The same for the sake of a write that may fail. `made` gets the topmost folder that was made for it, "" when the table's
 * folder was there; the caller's. */
SL_MUST_USE sl_status sl_table_create_for(const char *uri, const struct sl_create_options *options,
                                          char **made);
/* Takes such a table away again, with the folders that were made for it, as far as nothing else is in them. A table to
 * which somebody has written, or is writing, stays: *gone tells. */
SL_MUST_USE sl_status sl_table_create_undo(const char *uri, const char *made, bool *gone);
/* options are copied; runtime is borrowed for the table's life. Tables we cannot read are SL_E_UNSUPPORTED by
 * name. */
SL_MUST_USE sl_status sl_table_open(const char *uri, const sl_properties *options, const sl_runtime *runtime,
                                    sl_table **out);
/* The same on a storage of the caller's making (tests wrap faults around it), which is taken over, also on
 * failure. */
SL_MUST_USE sl_status sl_table_open_on(sl_storage *storage, const char *path, const sl_properties *options,
                                       const sl_runtime *runtime, sl_table **out);
void sl_table_close(sl_table *table);
/* A setting: handle option, else table property, else fallback. */
const char *sl_table_setting(const sl_table *table, const char *key, const char *fallback);
SL_MUST_USE sl_status sl_table_setting_int(const sl_table *table, const char *key, int64_t fallback,
                                           int64_t *out);
SL_MUST_USE sl_status sl_table_setting_bytes(const sl_table *table, const char *key, uint64_t fallback,
                                             uint64_t *out); /* "64MiB" */
bool sl_table_setting_true(const sl_table *table, const char *key, bool fallback);
SL_MUST_USE sl_status sl_parse_bytes(const char *text, uint64_t *out); /* 512MiB, 1.5g, 1000 */
/* Path below the table; the caller frees. */
SL_MUST_USE sl_status sl_table_path(const sl_table *table, const char *relative, char **out);
/* Changes properties under the update protocol (backup, replace, check); value NULL removes. Caller holds the
 * write lock. */
SL_MUST_USE sl_status sl_table_set_properties(sl_table *table, const char *const *keys,
                                              const char *const *values, size_t count);
/* Refuses, by name, what we do not write: custom merge modes, metadata table in service, unknown features. */
SL_MUST_USE sl_status sl_table_check_writable(sl_table *table);

/* ---- settings ------------------------------------------------------------------------------------------ */

enum sl_setting_type { SL_SETTING_TEXT, SL_SETTING_BOOL, SL_SETTING_INT, SL_SETTING_BYTES };
struct sl_setting {
    const char *key;
    enum sl_setting_type type;
    const char *fallback; /* "" none */
    const char *meaning;
    bool stored;      /* lives in hoodie.properties: create takes it */
    const char *only; /* the one value that is supported; NULL: any of its type */
};
const struct sl_setting *sl_settings(size_t *count); /* sorted by key */
/* SL_E_INPUT with the nearest known name as hint; also checks the value's form. Keys outside hoodie.* and
 * sluice.* are unknown. */
SL_MUST_USE sl_status sl_setting_check(const char *key, const char *value);

/* ---- timeline ------------------------------------------------------------------------------------------ */

enum sl_action {
    SL_ACTION_COMMIT,
    SL_ACTION_DELTACOMMIT,
    SL_ACTION_REPLACECOMMIT,
    SL_ACTION_CLUSTERING,
    SL_ACTION_COMPACTION,
    SL_ACTION_LOGCOMPACTION,
    SL_ACTION_CLEAN,
    SL_ACTION_ROLLBACK,
    SL_ACTION_RESTORE,
    SL_ACTION_SAVEPOINT,
    SL_ACTION_INDEXING,
    SL_ACTION_UNKNOWN,
};
const char *sl_action_name(enum sl_action action);

enum sl_instant_state { SL_REQUESTED, SL_INFLIGHT, SL_COMPLETED };
typedef struct sl_instant {
    char requested[SL_INSTANT_BYTES];
    char completed[SL_INSTANT_BYTES]; /* "" while pending */
    enum sl_action
        action; /* what it is: a completed compaction says COMPACTION when its plan is still there */
    enum sl_action completed_as; /* action in the completed file's name */
    enum sl_instant_state state;
    bool has_requested, has_inflight;
} sl_instant;
/* A write that was moved to the archived timeline. */
struct sl_archived_instant {
    char requested[SL_INSTANT_BYTES], completed[SL_INSTANT_BYTES];
};
typedef struct sl_timeline {
    sl_instant *instants; /* by requested time */
    size_t count;
    struct sl_archived_instant *archived; /* by requested time; loaded when a view needs it */
    size_t archived_count;
    bool history_is_loaded;
    char first_commit[SL_INSTANT_BYTES]; /* oldest active instant of a writing action; "": none. Older
                                            instants are archived, so completed. */
} sl_timeline;
SL_MUST_USE sl_status sl_timeline_load(const sl_table *table, sl_timeline *out);
void sl_timeline_free(sl_timeline *timeline);
/* NULL when it is not there. `writes` leaves out services that write no rows (clean, savepoint, rollback,
 * ...). */
const sl_instant *sl_timeline_find(const sl_timeline *timeline, const char *requested, enum sl_action action);
enum sl_action sl_action_completes_as(enum sl_action action); /* in the completed file's name */
bool sl_action_writes(
    enum sl_action action); /* commit, deltacommit, replacecommit, clustering, compaction, logcompaction */
/* compaction, logcompaction, clustering: their plan is requested */
bool sl_action_is_service(enum sl_action action);
const sl_instant *sl_timeline_last_write(const sl_timeline *timeline); /* newest completed; NULL: none */
/* Completion time of a writing instant, NULL: not completed. Of an archived one it is that of the archived timeline where
 * that is loaded and has it; else the requested time stands in. */
const char *sl_timeline_completion(const sl_timeline *timeline, const char *requested);
bool sl_timeline_is_pending(const sl_timeline *timeline, const char *requested); /* whatever its action */
/* File name of an instant in a state: "T.commit.requested", "T.inflight", "T_C.deltacommit". `out` needs 96
 * bytes. */
void sl_instant_file(const sl_instant *instant, enum sl_instant_state state, char *out);
/* Its decoded content: an object; an empty file gives {}. New reference. */
SL_MUST_USE sl_status sl_instant_json(const sl_table *table, const sl_instant *instant,
                                      enum sl_instant_state state, json_t **out);
/* The same where it must have this member, if only as null: an empty file, or one of another action, would pass for "nothing
 * replaced" or "nothing planned". */
SL_MUST_USE sl_status sl_instant_json_with(const sl_table *table, const sl_instant *instant,
                                           enum sl_instant_state state, const char *member, json_t **out);
/* Calls `each` for the file groups that the plan of a service (compaction, log compaction, clustering) holds. */
typedef sl_status (*sl_plan_group)(void *context, const char *partition, const char *file_id);
SL_MUST_USE sl_status sl_plan_groups(const sl_table *table, const sl_instant *instant, sl_plan_group each,
                                     void *context);
/* "20240101", "2024-01-01", "2024-01-01 10:00:00[.123]", 14 or 17 digits -> 17 digits. `out` needs
 * SL_INSTANT_BYTES. */
SL_MUST_USE sl_status sl_instant_parse(const char *text, char *out);
/* Formats epoch milliseconds in the table's zone. */
void sl_instant_format(int64_t epoch_ms, bool utc, char *out);

/* The table's schema at a timeline: the newest completed write that has one, else the create schema, else a
 * base file's. Without the meta columns. `upto`: newest requested time that counts, NULL: all. */
SL_MUST_USE sl_status sl_table_schema(const sl_table *table, const sl_timeline *timeline, const char *upto,
                                      const sl_type **out);
/* Schema text as commits carry it: record <table>_record in hoodie.<table>, without or with the five meta
 * columns. */
SL_MUST_USE sl_status sl_table_schema_text(const sl_table *table, const sl_type *schema, bool with_meta,
                                           char **out);
/* What a change data log holds (hoodie.table.cdc.supplemental.logging.mode), and its schema in the table at `schema`, which
 * has no meta columns: as Avro text, which is the caller's, and as columns. */
enum sl_cdc_mode { SL_CDC_OP_KEY_ONLY, SL_CDC_DATA_BEFORE, SL_CDC_DATA_BEFORE_AFTER };
SL_MUST_USE sl_status sl_cdc_mode_named(const char *name, enum sl_cdc_mode *out); /* in any case */
SL_MUST_USE sl_status sl_table_cdc_schema_text(const sl_table *table, enum sl_cdc_mode mode,
                                               const sl_type *schema, char **out);
SL_MUST_USE sl_status sl_cdc_columns(enum sl_cdc_mode mode, const sl_type *schema, const sl_type **out);
/* Whether the table keeps change data, and how much of it. */
SL_MUST_USE sl_status sl_table_keeps_changes(const sl_table *table, bool *keeps, enum sl_cdc_mode *mode);
/* The five meta columns followed by the fields of `schema`. */
SL_MUST_USE sl_status sl_schema_with_meta(const sl_type *schema, const sl_type **out);
#define SL_META_COLUMNS 5
extern const char *const sl_meta_names[SL_META_COLUMNS];
enum { SL_META_COMMIT_TIME, SL_META_SEQNO, SL_META_RECORD_KEY, SL_META_PARTITION_PATH, SL_META_FILE_NAME };

/* ---- commit metadata ----------------------------------------------------------------------------------- */

/* A change data log: the stat of the base file that it tells about names it. */
struct sl_cdc_file {
    char *path; /* relative to the table */
    int64_t bytes;
};
typedef struct sl_write_stat {
    char *partition, *path;      /* path relative to the table */
    char *file_id, *prev_commit; /* prev_commit "null": a new file group */
    char *prev_base_file;        /* NULL: none */
    int64_t num_writes, num_inserts, num_updates, num_deletes;
    int64_t bytes;
    bool is_log;
    int32_t log_version;
    /* of a log in a table that keeps changes: the slice as it was before (spec/log-format.md 7); NULL, empty: not told */
    char *base_file;
    sl_strings logs_before;
    struct sl_cdc_file *cdc;
    size_t cdc_count;
    double seconds;
    /* compaction input */
    int64_t log_files_compacted, log_records, log_bytes_compacted, updated_compacted;
} sl_write_stat;
void sl_write_stat_free(sl_write_stat *stat);
/* Write stats as JSON in the shape of HoodieCommitMetadata. */
SL_MUST_USE sl_status sl_write_stat_json(const sl_write_stat *stat, json_t **out);
SL_MUST_USE sl_status sl_write_stat_parse(const json_t *json,
                                          sl_write_stat *out); /* what sl_write_stat_json gave */
SL_MUST_USE sl_status sl_commit_metadata_json(const sl_write_stat *stats, size_t count, const char *operation,
                                              const char *schema, bool compacted, json_t **out);
/* Content of a replacecommit's requested file; `operation` NULL: an overwrite's, which is all null. New reference. */
SL_MUST_USE sl_status sl_replace_request(const char *operation, json_t **out);

/* ---- view ---------------------------------------------------------------------------------------------- */

typedef struct sl_data_file {
    char *name;
    uint64_t size;
    struct sl_file_name parts;
    char completed[SL_INSTANT_BYTES]; /* completion time of its instant */
} sl_data_file;
typedef struct sl_slice {
    char base_instant[SL_INSTANT_BYTES];
    const sl_data_file *base; /* NULL: logs only */
    const sl_data_file *
        *logs; /* in merge order: base of chapter 9; replaced logs not yet left out (footers say that) */
    size_t log_count;
    bool pending_compaction; /* opened by a compaction plan: reads merge it with the slice before */
} sl_slice;
typedef struct sl_file_group {
    const char *partition; /* borrowed from the view */
    char *file_id;
    sl_slice *slices; /* newest first */
    size_t slice_count;
    sl_data_file *files;
    size_t file_count;
} sl_file_group;
typedef struct sl_partition {
    char *path;
    sl_file_group *groups; /* by file id */
    size_t group_count;
} sl_partition;
typedef struct sl_view {
    sl_partition *partitions; /* by path */
    size_t partition_count;
    sl_timeline timeline; /* as cut to the instant */
} sl_view;
struct sl_view_options {
    const char *as_of;            /* requested time, inclusive; NULL: now */
    const sl_strings *partitions; /* only these paths; NULL: all */
};
SL_MUST_USE sl_status sl_view_load(const sl_table *table, const struct sl_view_options *options,
                                   sl_view *out);
void sl_view_free(sl_view *view);
/* Whether a completed replacecommit of the timeline hides the group. */
SL_MUST_USE sl_status sl_group_is_replaced(const sl_table *table, const sl_timeline *timeline,
                                           const char *partition, const char *file_id, bool *out);
SL_MUST_USE sl_status sl_partitions_list(const sl_table *table,
                                         sl_strings *out); /* folders that hold .hoodie_partition_metadata */

/* Those of `all` that a name means, added to *out once: the partition of this path, or, with `field=value[/field=value]`, all
 * that have these values. SL_E_NOT_FOUND when there is none. */
SL_MUST_USE sl_status sl_partitions_named(const sl_table *table, const sl_strings *all, const char *name,
                                          sl_strings *out);

/* What a reader merges: the newest base, then logs in order. A pending compaction's slice comes with the one
 * before. */
typedef struct sl_read_slice {
    const sl_file_group *group;
    const sl_data_file *base;
    const sl_data_file **logs; /* owned */
    size_t log_count;
} sl_read_slice;
/* `read_optimized`: base files only (a slice without one yields nothing: *found false). */
SL_MUST_USE sl_status sl_group_read_slice(const sl_file_group *group, bool read_optimized, sl_read_slice *out,
                                          bool *found);
void sl_read_slice_free(sl_read_slice *slice);

/* ---- transactions -------------------------------------------------------------------------------------- */

typedef struct sl_txn sl_txn;
struct sl_txn_options {
    enum sl_action action;   /* commit, deltacommit, compaction, logcompaction, replacecommit */
    const char *operation;   /* "UPSERT" ... */
    const char *instant;     /* NULL: drawn now. A compaction's: its plan exists already. */
    const json_t *plan;      /* content of the requested file; NULL: empty */
    const char *plan_record; /* its Avro record name */
};
/* Takes the table's lock (waiting up to hoodie.write.lock.wait_time_ms; then SL_E_BUSY), rolls back what dead
 * writers left, draws the instant, creates requested and inflight. The table's properties are read anew under
 * the lock. Then a writing action goes on keeping other writers out until its end, a service keeps out only
 * who would work on the same instant (SL_E_BUSY). */
SL_MUST_USE sl_status sl_txn_begin(sl_table *table, const struct sl_txn_options *options, sl_txn **out);
const char *sl_txn_instant(const sl_txn *txn);
const sl_timeline *
sl_txn_timeline(const sl_txn *txn); /* as it was when the instant was drawn, leftovers removed */
/* A data file to be. kind, which outlives the transaction: "CREATE", "MERGE". */
struct sl_planned_file {
    const char *partition, *name, *kind;
};
/* Announces a data file, before it is opened: makes the partition (with its metadata file) and the marker. Thread-safe. */
SL_MUST_USE sl_status sl_txn_announce(sl_txn *txn, const struct sl_planned_file *file);
/* The same for many files, together and in the background: sl_txn_announce of one of them waits for it. A planned file
 * need not come. */
SL_MUST_USE sl_status sl_txn_plan(sl_txn *txn, const struct sl_planned_file *files, size_t count);
/* Finishes a written data file in the background, taking it over. Until the commit, or sl_txn_result, it may not be
 * durable yet; these tell its failure. Thread-safe. */
void sl_txn_finish_file(sl_txn *txn, sl_output *output);
/* Stats are copied. Thread-safe. */
SL_MUST_USE sl_status sl_txn_add_stat(sl_txn *txn, const sl_write_stat *stat);
/* A replacecommit hides this file group from its completion on; `file_id` NULL: the partition is named, without a group.
 * One thread at a time. */
SL_MUST_USE sl_status sl_txn_replace(sl_txn *txn, const char *partition, const char *file_id);
/* Removes announced files that no stat names, then publishes: this is the commit. `schema`: Avro text without
 * meta columns; NULL: the table's schema is unchanged. completed (SL_INSTANT_BYTES) may be NULL. Frees the txn in any case; on failure everything is
 * rolled back. */
SL_MUST_USE sl_status sl_txn_commit(sl_txn *txn, const char *schema, char *completed);
/* Rolls back and frees; NULL is fine. A failure to clean up is left for the next writer. */
void sl_txn_abort(sl_txn *txn);

/* The table's lock by itself, for changes that are no action (properties): no writer is at work, and the timeline
 * stands still. */
typedef struct sl_table_lock sl_table_lock;
SL_MUST_USE sl_status sl_table_lock_take(const sl_table *table, sl_table_lock **out);
/* The timeline stands still, but a writer may be at work: enough to plan a service. To be held shortly. */
SL_MUST_USE sl_status sl_timeline_lock_take(const sl_table *table, sl_table_lock **out);
void sl_table_lock_release(sl_table_lock *lock); /* NULL is fine */

/* Whether a process of ours works on the pending instant. Caller holds the timeline lock. */
SL_MUST_USE sl_status sl_instant_is_worked_on(const sl_table *table, const char *instant, bool *out);

/* Rolls back pending writes of dead writers; those that somebody works on are left alone. Caller holds the
 * timeline lock. Counts what it did. */
SL_MUST_USE sl_status sl_rollback_leftovers(sl_table *table, size_t *rolled_back);
/* Rolls back one instant, pending or the newest completed one. Takes the lock. `result`: the rollback's own
 * instant. */
SL_MUST_USE sl_status sl_rollback_instant(sl_table *table, const char *requested, char *result,
                                          size_t *files_deleted);
/* A service is planned under the lock: draw its instant, look at the table, then write the plan as a
 * requested instant. In this order, so that nothing that completes later than the look can be older than the
 * plan. Caller holds the timeline lock. */
SL_MUST_USE sl_status sl_txn_draw(const sl_table *table, char *instant);
SL_MUST_USE sl_status sl_txn_schedule(sl_table *table, enum sl_action action, const char *instant,
                                      const json_t *plan, const char *plan_record);
/* A task of a transaction that another process holds: it may announce files and collect stats; it never
 * commits. */
SL_MUST_USE sl_status sl_txn_join(sl_table *table, enum sl_action action, const char *instant, sl_txn **out);
const sl_write_stat *sl_txn_stats(const sl_txn *txn, size_t *count); /* borrowed */
void sl_txn_leave(sl_txn *txn);
/* What a task tells: its instant, its number and its stats. `task` is an object with a member `number`. New reference.
 * SL_E_CONFLICT when the transaction has ended: the task's files are removed. */
SL_MUST_USE sl_status sl_txn_result(sl_txn *txn, const json_t *task, json_t **out);
/* Results of tasks 0 .. tasks-1, in any order; the first of each counts, all must be there, and so must their files. */
SL_MUST_USE sl_status sl_txn_take_results(sl_txn *txn, size_t tasks, json_t *const *results, size_t count);
/* Takes the metadata table out of service (spec/metadata-table.md 8): properties first, then the folder.
 * Caller holds the lock. */
SL_MUST_USE sl_status sl_metadata_table_disable(sl_table *table);

#endif
