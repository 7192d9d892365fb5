/*
 * sluice: a native engine for Apache Hudi tables.
 *
 * Write rows, query them, compact them; the tables stay open to Spark, Flink, Trino and hudi-rs. No JVM, no
 * cluster. Rows cross this border as Arrow data only (sluice_arrow.h), so any Arrow library, or none, can sit
 * on the other side.
 *
 *     sluice_error e;
 *     sluice_table *t;
 *     if (sluice_table_open("lake/trips", NULL, &t, &e))
 *         return fail(e.message);
 *     sluice_scan *s;
 *     sluice_scan_new(t, &s, &e);
 *     sluice_scan_where(s, "fare > 10 and region = 'quito'", &e);
 *     struct ArrowArrayStream rows;
 *     sluice_scan_stream(s, &rows, &e);
 *
 * Rules
 *   - A call that can fail returns 0 or a code of enum sluice_code and fills the caller's sluice_error (which may
 *     be NULL). Out-pointers are untouched on failure. Unless its text says otherwise a handle stays usable after
 *     a failure.
 *   - A pointer that is NULL without its text allowing it is SLUICE_E_INPUT, and the message names the argument.
 *   - The library prints nothing, never exits, has no global state. Handles are used by one thread at a time,
 *     unless their text says otherwise; different handles are independent.
 *   - Handles and streams may be closed and released in any order: a table that has been closed goes away with the last
 *     of its scans, streams, writers and jobs. Arrow arrays stand on their own.
 *   - Threads are started by the first call that needs them and joined when their table goes away. After fork(),
 *     a child opens its own handles.
 *   - Strings are UTF-8. Options are NULL or an array of key, value, key, value, ..., NULL with the settings'
 *     names (`sluice config list`); an unknown name is an error.
 *   - Structs that callers allocate and the library fills begin with their size: set `size` to sizeof the struct.
 *
 * Caveats
 *   - Table versions 8, 9 and 10. Writing goes by the simple bucket index or by looking keys up (index types SIMPLE and
 *     BLOOM, and none); tables that are merge-on-read in the default layout are only read. Custom merge modes and logs of
 *     partial rows (IS_PARTIAL) are refused, also for reading, where rows would have to be merged; tables with
 *     hoodie.table.partial.update.mode are read and written. Each refusal names its reason.
 *   - While a table has a metadata table in service, writes are refused unless hoodie.metadata.enable=false is
 *     given, which takes it out of service.
 */
#ifndef SLUICE_H
#define SLUICE_H

#include "sluice_arrow.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SLUICE_API __attribute__((visibility("default")))
#else
#define SLUICE_API
#endif

/* ---- errors -------------------------------------------------------------------------------------------- */

enum sluice_code {
    SLUICE_OK = 0,
    SLUICE_E_INPUT = 1,   /* your rows, names or options */
    SLUICE_E_CORRUPT = 2, /* a file or table that does not follow its format */
    SLUICE_E_NOT_FOUND = 3,
    SLUICE_E_EXISTS = 4,
    SLUICE_E_UNSUPPORTED = 5, /* the message names the feature */
    SLUICE_E_CONFLICT = 6,    /* another writer won; nothing of yours is visible */
    SLUICE_E_BUSY = 7,        /* a lock was not obtained in time */
    SLUICE_E_IO = 8,
    SLUICE_E_MEMORY = 9,
    SLUICE_E_CANCELLED = 10,
    SLUICE_E_INTERNAL = 11, /* a bug of ours: please report the message */
};

typedef struct sluice_error {
    int code;
    char message[2048]; /* "table X: partition p=1: file F: column fare: ...": one line */
    char hint[512];     /* what could help; "" when there is nothing to say */
} sluice_error;

SLUICE_API const char *sluice_version(void); /* "0.1.0" */

/* Frees memory that a call below gave as `char **` or `void **`. NULL is fine. */
SLUICE_API void sluice_free(void *memory);

/* ---- tables -------------------------------------------------------------------------------------------- */

typedef struct sluice_table sluice_table;

/* Makes an empty table. `schema` (borrowed; a struct) holds the data columns; key, partition and ordering fields, layout,
 * type, index come as options, e.g. "hoodie.table.recordkey.fields", "id". SLUICE_E_EXISTS when there is a table. Types that
 * Spark cannot share are mapped (milli- and nanoseconds to micros, time to long, fixed to binary, uuid to string, small and
 * unsigned integers to larger ones) unless "sluice.keep.types" is "true". */
SLUICE_API int sluice_table_create(const char *uri, const struct ArrowSchema *schema,
                                   const char *const *options, sluice_error *e);

/* The same for the sake of a write that may fail: the undo takes the table away again, with the folders that were made for
 * it. */
typedef struct sluice_creation sluice_creation;
SLUICE_API int sluice_table_create_for(const char *uri, const struct ArrowSchema *schema,
                                       const char *const *options, sluice_creation **out, sluice_error *e);
/* Once every handle of this program on the table is closed. A table to which somebody has written, or is writing, stays:
 * *gone (may be NULL) tells. */
SLUICE_API int sluice_creation_undo(const sluice_creation *c, int *gone, sluice_error *e);
SLUICE_API void sluice_creation_free(sluice_creation *c); /* changes nothing; NULL is fine */

/* Opens a table; reads its properties only. Settings in `options` go before those stored in the table. SLUICE_E_NOT_FOUND when
 * there is none. */
SLUICE_API int sluice_table_open(const char *uri, const char *const *options, sluice_table **out,
                                 sluice_error *e);
/* Bytes that the table's operations may take: sluice.memory, or a quarter of the machine. */
SLUICE_API uint64_t sluice_table_memory(const sluice_table *t);
/* NULL is fine. */
SLUICE_API void sluice_table_close(sluice_table *t);

/* Called from any thread of the table, one call at a time; must not call back into the library. */
typedef struct sluice_callbacks {
    size_t size;
    void *context;
    void (*progress)(void *context, const char *step, uint64_t done, uint64_t total); /* total 0: unknown */
    void (*log)(void *context, int level, const char *message); /* 0 error, 1 warning, 2 info, 3 debug */
} sluice_callbacks;
SLUICE_API void sluice_table_callbacks(sluice_table *t, const sluice_callbacks *callbacks);
/* From any thread or signal handler: running operations of the table end with SLUICE_E_CANCELLED, half-done
 * work is rolled back. Stays set until cleared. */
SLUICE_API void sluice_table_cancel(sluice_table *t);
SLUICE_API void sluice_table_cancel_clear(sluice_table *t);

/* The table's columns, without Hudi's meta columns. *out is the caller's to release. */
SLUICE_API int sluice_table_schema(sluice_table *t, struct ArrowSchema *out, sluice_error *e);

/* Those that make record keys and partition paths: what a delete needs of its rows. */
SLUICE_API int sluice_table_key_schema(sluice_table *t, struct ArrowSchema *out, sluice_error *e);

enum sluice_description {
    /* object: version, type, layout, keys, columns, sizes, newest instant, who can read it */
    SLUICE_DESCRIBE_INFO,
    SLUICE_DESCRIBE_TIMELINE, /* array of instants, oldest first, with what their commits wrote */
    SLUICE_DESCRIBE_FILES,    /* array of file groups with their slices and files: level, size, rows, keys */
};
/* JSON text in *out, to be freed by sluice_free. */
SLUICE_API int sluice_table_describe(sluice_table *t, enum sluice_description what, char **out,
                                     sluice_error *e);

/* Undoes an instant: a pending one, or the newest completed write. `instant_out` (32 bytes) gets the rollback's own,
 * *files_deleted counts the data files; both may be NULL. */
SLUICE_API int sluice_table_rollback(sluice_table *t, const char *instant, char *instant_out,
                                     uint64_t *files_deleted, sluice_error *e);

/* Checks the table against itself: timeline, files against commits, names, buckets, footers; with `deep` every row too
 * (checksums, key order, statistics, meta columns, duplicate keys). *json: {"findings": [{"severity": "error", "warning"
 * or "unchecked", "check", "place", "message"}], "errors": n, "unchecked": n, "checked": {...}}, to be freed by sluice_free.
 * What is wrong is a finding, not a failure of the call; what the system did not let us look at (too many open files, no
 * permission) is unchecked. Changes nothing. */
SLUICE_API int sluice_table_doctor(sluice_table *t, int deep, char **json, sluice_error *e);
/* Rolls back what dead writers left, as the next write would; *rolled_back (may be NULL) counts their instants. */
SLUICE_API int sluice_table_repair(sluice_table *t, uint64_t *rolled_back, sluice_error *e);

/* ---- writing ------------------------------------------------------------------------------------------- */

enum sluice_operation {
    SLUICE_INSERT,
    SLUICE_UPSERT,
    SLUICE_BULK_INSERT,
    SLUICE_DELETE,
    SLUICE_INSERT_OVERWRITE, /* the rows take the place of all rows in the partitions that they touch */
    /* the rows take the place of the whole table, which is empty when there are none */
    SLUICE_INSERT_OVERWRITE_TABLE,
};

typedef struct sluice_commit_info {
    size_t size;
    char instant[32];      /* requested time, yyyyMMddHHmmssSSS; "" when there was nothing to write */
    char completed[32];    /* completion time, likewise */
    char action[32];       /* "commit", "deltacommit", "replacecommit", "compaction" */
    uint64_t rows_in;      /* rows appended; compaction: log records read */
    uint64_t rows_written; /* rows in the new files */
    uint64_t rows_inserted, rows_updated, rows_deleted;
    int32_t counts_are_known; /* 0: logs were written without looking keys up, inserted/updated tell whether
                                 the file group existed */
    uint64_t file_groups, partitions, files, bytes, spilled_runs;
    double seconds;
    uint64_t file_groups_replaced; /* hidden by an overwrite or a delete of partitions */
    uint64_t flushes;              /* of file groups before the commit */
} sluice_commit_info;

typedef struct sluice_writer sluice_writer;
/* `input` (borrowed) is the schema of the rows to come; it must fit the table (spelled out in docs/input.md).
 * A delete needs the key and partition columns only. */
SLUICE_API int sluice_writer_open(sluice_table *t, enum sluice_operation operation,
                                  const struct ArrowSchema *input, sluice_writer **out, sluice_error *e);
/* Consumes `array` (a struct, the rows), also on failure. After SLUICE_E_INPUT none of its rows was taken and the writer goes
 * on; after another failure it can only be closed. */
SLUICE_API int sluice_writer_append(sluice_writer *w, struct ArrowArray *array, sluice_error *e);
/* Consumes and releases the stream. */
SLUICE_API int sluice_writer_append_stream(sluice_writer *w, struct ArrowArrayStream *rows, sluice_error *e);
/* Takes the rows that wait in memory out of it, without publishing them: into files of the instant that the next commit
 * completes (lsm_tree with sluice.flush.spill=false), else into temporary ones. The writer does so by itself as the
 * sluice.flush settings and the memory ask; between commits a writer may be open for hours. */
SLUICE_API int sluice_writer_flush(sluice_writer *w, sluice_error *e);
/* What the next commit would publish: rows, and their bytes in memory. */
SLUICE_API void sluice_writer_waiting(const sluice_writer *w, uint64_t *rows, uint64_t *bytes);
/* Publishes what was appended as one instant: all of it or, on failure, nothing. Then the writer is empty
 * again. After SLUICE_E_BUSY it has what it had, and the commit can be tried again. */
SLUICE_API int sluice_writer_commit(sluice_writer *w, sluice_commit_info *info, sluice_error *e);
SLUICE_API void sluice_writer_close(sluice_writer *w); /* what was not committed is dropped; NULL is fine */

/* Deletes whole partitions by a replacecommit; a partition is named by its path or as field=value[/field=value].
 * SLUICE_E_NOT_FOUND when a name fits none, SLUICE_E_CONFLICT while a service is planned on one. */
SLUICE_API int sluice_table_delete_partitions(sluice_table *t, const char *const *partitions, size_t count,
                                              sluice_commit_info *info, sluice_error *e);

/* ---- reading ------------------------------------------------------------------------------------------- */

typedef struct sluice_scan sluice_scan;
/* A scan of the newest snapshot, all columns, until told otherwise. */
SLUICE_API int sluice_scan_new(sluice_table *t, sluice_scan **out, sluice_error *e);
/* Names are copied, and checked when the stream is opened. */
SLUICE_API int sluice_scan_columns(sluice_scan *s, const char *const *names, size_t count, sluice_error *e);
/* docs/query.md has the grammar; checked when the stream is opened. */
SLUICE_API int sluice_scan_where(sluice_scan *s, const char *expression, sluice_error *e);
/* Instants requested up to this time, itself included; SLUICE_E_INPUT when it is none. */
SLUICE_API int sluice_scan_as_of(sluice_scan *s, const char *instant, sluice_error *e);
SLUICE_API int sluice_scan_read_optimized(sluice_scan *s, sluice_error *e); /* base files only */
/* So many rows at most (SLUICE_E_INPUT below 0). */
SLUICE_API int sluice_scan_limit(sluice_scan *s, int64_t rows, sluice_error *e);
/* Opens the rows: merged, filtered, in no fixed order unless there is a limit. One stream at a time. get_next returns an
 * errno value on failure and get_last_error the message; a line "hint: ..." may follow. */
SLUICE_API int sluice_scan_stream(sluice_scan *s, struct ArrowArrayStream *rows, sluice_error *e);

typedef struct sluice_scan_stats {
    size_t size;
    uint64_t files, files_skipped; /* read; left out by partition, bucket, or because no row matters */
    uint64_t runs;                 /* inputs of merges */
    uint64_t row_groups, row_groups_skipped; /* looked at; left out by statistics */
    uint64_t bytes_read, file_bytes;         /* compressed bytes read; total size of the files opened */
    uint64_t rows_decoded, rows_merged, rows_out;
    uint64_t comparisons, gallop_rows; /* key comparisons of merges; rows copied as stretches */
    uint64_t logs_replaced, runs_repaired;
    uint64_t rows_skipped;         /* in files looked at: left out by bounds and Bloom filters */
    uint64_t rows_skipped_alone;   /* of these, by columns other than the key: no other file had the keys */
    uint64_t pages, pages_skipped; /* of the columns read: decoded; passed over */
    uint64_t rows_copied, pages_copied, bytes_copied; /* into new files, as they are compressed */
} sluice_scan_stats;
/* What writes, services and jobs of this handle have read so far: `size` is set before. */
SLUICE_API void sluice_table_read_stats(const sluice_table *t, sluice_scan_stats *stats);
/* Final once the stream has ended; `size` is set before. */
SLUICE_API void sluice_scan_get_stats(const sluice_scan *s, sluice_scan_stats *stats);
SLUICE_API void sluice_scan_free(sluice_scan *s); /* NULL is fine */

typedef struct sluice_lookup_options {
    size_t size;
    const char *const *columns; /* NULL: all, the meta columns first */
    size_t column_count;
    /* Paths, as SLUICE_DESCRIBE_FILES gives them, or field=value[/field=value]; SLUICE_E_NOT_FOUND when there is none of a name.
     * NULL: all partitions. */
    const char *const *partitions;
    size_t partition_count;
    const size_t *key_bytes;  /* lengths of the keys; NULL: they end with a zero byte */
    sluice_scan_stats *stats; /* filled in, with `size` set before; NULL: not wanted */
} sluice_lookup_options;
/* The rows of these record keys as of the newest commit, in no fixed order; keys that are not there give none. A key is the
 * text that Hudi stores: the value of a single key field, "field:value,field:value" of several. The handle keeps what a
 * later lookup needs again, so many lookups through one handle are cheap; threads may share it. The rows are read when the
 * call returns. options NULL: all defaults. */
SLUICE_API int sluice_lookup(sluice_table *t, const char *const *keys, size_t count,
                             const sluice_lookup_options *options, struct ArrowArrayStream *rows,
                             sluice_error *e);

/* ---- table services, and work that runs elsewhere ------------------------------------------------------ */

/* Every service is plan, tasks, commit. The tasks may run in any process that sees the storage; writers and readers of the
 * table go on meanwhile. SLUICE_DUE: the next of those that the table's policy wants now (docs/services.md); run it until
 * there is nothing to do. */
enum sluice_service { SLUICE_COMPACT, SLUICE_LOG_COMPACT, SLUICE_DUE };
typedef struct sluice_job sluice_job;

/* What a service would do now: JSON text, to be freed by sluice_free; nothing changes. */
SLUICE_API int sluice_service_preview(sluice_table *t, enum sluice_service service, char **json,
                                      sluice_error *e);
/* Puts a plan on the timeline. `instant` (32 bytes) gets its time, "" when there is nothing to do; *tasks (may be NULL) counts
 * its operations, one a file group. */
SLUICE_API int sluice_service_schedule(sluice_table *t, enum sluice_service service, char *instant,
                                       uint64_t *tasks, sluice_error *e);
/* Schedules (unless `instant` names a plan, or an older plan waits that nobody works on), runs all tasks here, commits. */
SLUICE_API int sluice_service_run(sluice_table *t, enum sluice_service service, const char *instant,
                                  sluice_commit_info *info, sluice_error *e);

/* The same in parts, so that a distributed engine runs the tasks on its executors. A job of a write keeps other writers out
 * until it is committed or freed, a job of a service only who would execute the same plan. `instant` as above; a job without
 * tasks is possible, its commit does nothing. */
SLUICE_API int sluice_job_plan(sluice_table *t, enum sluice_service service, const char *instant,
                               sluice_job **out, sluice_error *e);
/* A write of `tasks` tasks. The rows of each go to the task that sluice_route names; they cannot add columns. */
SLUICE_API int sluice_job_plan_write(sluice_table *t, enum sluice_operation operation, uint32_t tasks,
                                     sluice_job **out, sluice_error *e);
/* A scan, one task a file slice that may hold matching rows: run them by sluice_task_rows. Nothing is locked or
 * committed, and a limit does not apply. */
SLUICE_API int sluice_job_plan_scan(sluice_scan *s, sluice_job **out, sluice_error *e);
SLUICE_API size_t sluice_job_tasks(const sluice_job *j);
/* A task as a self-contained text, borrowed from the job; NULL: no such task. It has a version and a checksum, and fits its own
 * table only (docs/embedding.md). */
SLUICE_API const void *sluice_job_task(const sluice_job *j, size_t index, size_t *bytes);
/* The task of each row of `array` (consumed; laid out as `schema`, borrowed): numbers[i] < tasks. The same in every
 * process. Without a bucket index the rows of a partition go to one task. */
SLUICE_API int sluice_route(sluice_table *t, enum sluice_operation operation,
                            const struct ArrowSchema *schema, struct ArrowArray *array, uint32_t tasks,
                            uint32_t *numbers, sluice_error *e);
/* Runs a task of a service (rows NULL) or a write (rows: consumed and released) in this process. *result is to be
 * freed by sluice_free. May be called by several threads, each with tasks of its own. */
SLUICE_API int sluice_task_run(const char *uri, const void *task, size_t task_bytes,
                               struct ArrowArrayStream *rows, const char *const *options, void **result,
                               size_t *result_bytes, sluice_error *e);
/* The rows of a scan's task. */
SLUICE_API int sluice_task_rows(const char *uri, const void *task, size_t task_bytes,
                                const char *const *options, struct ArrowArrayStream *rows, sluice_error *e);
/* Commits the results: one a task at least, in any order; of a task that ran twice one counts. Frees the job in any
 * case. */
SLUICE_API int sluice_job_commit(sluice_job *j, const void *const *results, const size_t *result_bytes,
                                 size_t count, sluice_commit_info *info, sluice_error *e);
/* Gives up: its files are removed, the plan stays. NULL is fine. */
SLUICE_API void sluice_job_free(sluice_job *j);

/* ---- files at the door --------------------------------------------------------------------------------- */

/* 'id long, name string, price decimal(10,2), tags list<string>' -> schema. */
SLUICE_API int sluice_schema_parse(const char *text, struct ArrowSchema *out, sluice_error *e);
/* Columns of a Parquet, CSV, JSON-lines, Avro or Avro schema (.avsc) file, mapped to types that a table may
 * have. `format` NULL: by extension. */
SLUICE_API int sluice_schema_of_file(const char *path, const char *format, struct ArrowSchema *out,
                                     sluice_error *e);

/* A row of text that is wrong; all of it is borrowed for the call. */
typedef struct sluice_rejected_row {
    size_t size;
    uint64_t line;    /* its first, from 1 */
    const char *text; /* as it was read, without its line end; not always UTF-8 */
    size_t bytes;
    /* The same as one object of JSON lines, whose values are as the columns want them where they can be; NULL: which text is
     * of which column cannot be told. */
    const char *json;
    const char *reason;
} sluice_rejected_row;

typedef struct sluice_input_options {
    size_t size;
    const char *format; /* parquet, csv, tsv, jsonl, avro; NULL: by extension */
    /* The stream gets exactly these columns: values are converted, a missing column is null, a surplus one is an
     * error (but see ignore_surplus). NULL: the columns and types of the file. */
    const struct ArrowSchema *schema;
    /* NULL: a bad row is an error. Else it is handed here and skipped. */
    void (*reject)(void *context, const sluice_rejected_row *row);
    void *context;
    char delimiter;        /* CSV; 0: comma (tab for tsv) */
    const char *null_text; /* CSV: an unquoted field of this text is null; NULL: the empty field */
    int64_t batch_rows;    /* rows of an array at most; 0: 16384 */
    /* Above 0: text that somebody is still writing (standard input, a pipe). Rows are handed out as they come; when none came
     * for so many milliseconds, or a signal did, an array without rows. Of `schema` a CSV stream then has the columns
     * that its header names. Parquet and Avro are read to their end first. */
    int64_t idle_ms;
    /* Bytes that reading may take, as far as the file's pages allow; 0: a quarter of the machine. */
    uint64_t memory;
    /* With `reject`: rows that a writer of this table would refuse for their values (empty keys, null ordering values, values
     * that name no partition) are bad rows, too. NULL: they are the writer's business. In any case sluice_table_cancel ends a wait
     * for standard input or a pipe. */
    const sluice_table *table;
    enum sluice_operation operation;
    double *waited; /* grows by the seconds that standard input or a pipe was waited for; NULL: not counted */
    int32_t ignore_surplus; /* columns that `schema` lacks are passed over */
} sluice_input_options;
/* The rows of a file, or of standard input for "-". options NULL: all defaults. */
SLUICE_API int sluice_input_open(const char *path, const sluice_input_options *options,
                                 struct ArrowArrayStream *out, sluice_error *e);

enum sluice_text {
    SLUICE_TEXT_CANONICAL, /* JSON lines in one form a value, sorted, members of structs by name: to compare tables */
    SLUICE_TEXT_JSONL,
    SLUICE_TEXT_CSV,   /* names in the first line */
    SLUICE_TEXT_TABLE, /* for a terminal */
    SLUICE_TEXT_COUNT  /* only the number of rows */
};
typedef struct sluice_output_options {
    size_t size;
    enum sluice_text format;
    int32_t width;    /* SLUICE_TEXT_TABLE: columns of the terminal; 0: unlimited */
    int64_t max_rows; /* SLUICE_TEXT_TABLE: rows to show; the rest is counted; 0: 100 */
} sluice_output_options;
/* Renders a stream (consumed and released) as text, piece by piece; a `write` that does not return 0 ends it.
 * Canonical rows are sorted, spilling as needed. *row_count (may be NULL) counts them. */
SLUICE_API int sluice_output_text(struct ArrowArrayStream *rows, const sluice_output_options *options,
                                  int (*write)(void *context, const char *text, size_t len), void *context,
                                  uint64_t *row_count, sluice_error *e);
/* Writes a stream (consumed and released) as one new Parquet file; SLUICE_E_EXISTS when there is a file. *row_count may be
 * NULL. */
SLUICE_API int sluice_output_parquet(struct ArrowArrayStream *rows, const char *path, uint64_t *row_count,
                                     sluice_error *e);

/* Structure of a Parquet, Avro, timeline or properties file as JSON text, to be freed by sluice_free. */
SLUICE_API int sluice_inspect(const char *path, char **json, sluice_error *e);
/* The rows of one, as they lie there; SLUICE_E_UNSUPPORTED when such files have none. */
SLUICE_API int sluice_inspect_rows(const char *path, struct ArrowArrayStream *rows, sluice_error *e);

/* Every setting: JSON array of key, type, default, meaning; free by sluice_free. */
SLUICE_API int sluice_settings(char **json, sluice_error *e);
/* SLUICE_E_INPUT, with a hint, when the key is unknown or the value has the wrong form. */
SLUICE_API int sluice_setting_check(const char *key, const char *value, sluice_error *e);
/* The bytes that a size means, in the forms that settings take: "512MiB", "1.5g", "1048576". */
SLUICE_API int sluice_size_parse(const char *text, uint64_t *bytes, sluice_error *e);

#ifdef __cplusplus
}
#endif

#endif
