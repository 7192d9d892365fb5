/*
 * write: rows into a table.
 *
 *     sl_writer *w;
 *     SL_TRY(sl_writer_open(table, SL_OP_UPSERT, input->schema, &w));
 *     while (batch) SL_TRY(sl_writer_append(w, batch));
 *     SL_TRY(sl_writer_commit(w, &result));               one instant, everything or nothing
 *     sl_writer_close(w);
 *
 * The life of a row: conformed to the table's schema -> record key, partition path, bucket -> buffered in its
 * file group's sorter (spilled as sorted runs over the budget) -> on commit, per file group and in parallel:
 * runs merged, reduced, written as one sorted log (lsm_tree) or merged with the base file into a new one
 * (copy-on-write) -> one commit.
 */
#ifndef SL_WRITE_H
#define SL_WRITE_H

#include "slice/slice.h"

enum sl_operation {
    SL_OP_INSERT,
    SL_OP_UPSERT,
    SL_OP_BULK_INSERT,
    SL_OP_DELETE,
    SL_OP_INSERT_OVERWRITE,       /* replaces the partitions that the rows touch */
    SL_OP_INSERT_OVERWRITE_TABLE, /* replaces every partition; without rows: empties the table */
};
const char *sl_operation_name(enum sl_operation operation); /* "UPSERT", as commits carry it */

struct sl_write_result {
    char instant[SL_INSTANT_BYTES], completed[SL_INSTANT_BYTES]; /* "" when nothing was written */
    const char *action;
    uint64_t rows_in;
    uint64_t rows_written;
    uint64_t inserted, updated, deleted;
    bool counts_known; /* false: lsm_tree logs are written without looking keys up */
    uint64_t files, bytes;
    uint64_t file_groups, partitions;
    uint64_t groups_replaced;
    uint64_t spilled_runs;
    uint64_t flushes; /* before the commit */
    double seconds;
};

void sl_write_result_add(struct sl_write_result *result, const sl_write_stat *stat);
/* deltacommit, commit or replacecommit */
enum sl_action sl_write_action(const sl_table *table, enum sl_operation operation);

typedef struct sl_writer sl_writer; /* one thread at a time */
/* Checks that the table may be written and that `input` fits it: every column of the table is there (or
 * nullable and hoodie.write.set.null.for.missing.columns is on), types convert without loss; new nullable
 * columns become the table's. A delete needs the key and partition columns only. */
SL_MUST_USE sl_status sl_writer_open(sl_table *table, enum sl_operation operation, const sl_type *input,
                                     sl_writer **out);
/* Those of the table's columns that make record key and partition path. New reference. */
SL_MUST_USE sl_status sl_write_key_columns(const sl_table *table, const sl_type *columns,
                                           const sl_type **out);
/* What sl_writer_append refuses for its values (SL_E_INPUT): null or empty keys, null ordering values, values that name no
 * partition. For whoever would rather leave such rows out. `rows` have the table's types. */
SL_MUST_USE sl_status sl_write_check(const sl_table *table, enum sl_operation operation,
                                     const sl_batch *rows);
/* Rows of the input schema. Errors name column and row (1-based count of appended rows). After SL_E_INPUT no row of the batch
 * was taken and the writer goes on; after another error it may only be closed. */
SL_MUST_USE sl_status sl_writer_append(sl_writer *w, sl_batch *batch);
/* Takes all rows out of the memory: into files of the instant that the next commit publishes, or (sluice.flush.spill) into
 * temporary ones. Happens by itself as the sluice.flush settings say. */
SL_MUST_USE sl_status sl_writer_flush(sl_writer *w);
/* What the next commit publishes: rows, and their bytes in memory. */
void sl_writer_waiting(const sl_writer *w, uint64_t *rows, uint64_t *bytes);
/* Writes and publishes what was appended; the writer is empty again afterwards. No rows: no instant. After an
 * error nothing of it is visible, and the writer may only be closed; save SL_E_BUSY, after which it can be tried again. */
SL_MUST_USE sl_status sl_writer_commit(sl_writer *w, struct sl_write_result *result);
void sl_writer_close(sl_writer *w); /* what was not committed is gone; NULL is fine */

/* Hides every row of the named partitions. A name is a partition's path or `field=value[/field=value]`; SL_E_NOT_FOUND when it
 * fits none, SL_E_CONFLICT while a service is planned on one of them. Empty partitions only: no instant. */
SL_MUST_USE sl_status sl_delete_partitions(sl_table *table, const char *const *names, size_t count,
                                           struct sl_write_result *result);

/* ---- writes in parts ----------------------------------------------------------------------------------- */

/* A distributed engine brings all rows of a file group to one task: sl_route tells the task of each row, by a hash of
 * partition path and bucket that every process computes alike. Each task writes its rows, one commit publishes all. */
SL_MUST_USE sl_status sl_route(const sl_table *table, enum sl_operation operation, sl_batch *batch,
                               uint32_t tasks, uint32_t *out);
typedef struct sl_write_job sl_write_job;
/* Begins the transaction (and holds the table's lock until commit or free). */
SL_MUST_USE sl_status sl_write_job_begin(sl_table *table, enum sl_operation operation, uint32_t tasks,
                                         sl_write_job **out);
/* Task `index` as a self-contained object. New reference. */
SL_MUST_USE sl_status sl_write_job_task(const sl_write_job *job, uint32_t index, json_t **out);
/* Writes the rows of one task, in any process that sees the table. Takes over `rows`. */
SL_MUST_USE sl_status sl_write_job_run(sl_table *table, const json_t *task, sl_stream *rows, json_t **result);
/* Frees the job in any case. */
SL_MUST_USE sl_status sl_write_job_commit(sl_write_job *job, json_t *const *results, size_t count,
                                          struct sl_write_result *result);
void sl_write_job_free(sl_write_job *job); /* gives up: everything is rolled back; NULL is fine */

#endif
