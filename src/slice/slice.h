/*
 * slice: where the table's files meet the merge pipeline. The one way to read a file slice as merged rows,
 * and the one way to write a data file.
 *
 *   sl_source          a data file opened for reading, its footer decoded; a cache of such
 *   sl_run_open        a data file as a run: projected, conformed to the wanted schema, in key order
 *   sl_slice_logs      which logs of a slice count, and in what order
 *   sl_slice_open      a file slice as one stream of merged rows: reads, compactions
 *   sl_slice_lookup    the merged rows of a few keys
 *   sl_file_writer     a base file, data log or delete log, with footers, marker and write stat
 *   sl_cdc_log         what the rewriting of a base file changed, beside it
 */
#ifndef SL_SLICE_H
#define SL_SLICE_H

#include "merge/merge.h"
#include "table/table.h"

/* What was read and skipped, for --explain. Thread-safe counters. */
typedef struct sl_read_stats {
    atomic_uint_fast64_t files, runs, bytes_read, file_bytes;
    atomic_uint_fast64_t rows_decoded, rows_merged, rows_out;
    atomic_uint_fast64_t row_groups, row_groups_skipped;
    atomic_uint_fast64_t files_skipped;      /* by partition or bucket, or because nothing in them matters */
    atomic_uint_fast64_t rows_skipped;       /* in files looked at: by bounds and Bloom filters */
    atomic_uint_fast64_t rows_skipped_alone; /* of these, by columns other than the key */
    atomic_uint_fast64_t pages, pages_skipped; /* of the columns read: decoded; passed over */
    atomic_uint_fast64_t comparisons, gallop_rows;
    atomic_uint_fast64_t logs_replaced; /* by a log compaction */
    atomic_uint_fast64_t runs_repaired; /* sorted again */
    /* as they are compressed, to the file that is written */
    atomic_uint_fast64_t rows_copied, pages_copied, bytes_copied;
} sl_read_stats;

/* Rows that may be left out before a merge (spec/lsm-layout.md 13). `select` adds the rows of a row group that may matter
 * to `rows`, row group after row group. It is asked with SL_PRUNE_ALL where no other version of a row's key can be. */
enum sl_prune_reach {
    SL_PRUNE_KEYS, /* by what all versions of a key share: the record key and its fields */
    SL_PRUNE_ALL,  /* by every column */
};
struct sl_row_filter {
    sl_status (*select)(void *context, const sl_parquet *file, size_t row_group, enum sl_prune_reach reach,
                        sl_row_ranges *rows);
    void *context;
    bool keys_only; /* SL_PRUNE_ALL excludes no more than SL_PRUNE_KEYS */
};

/* ---- sets of keys -------------------------------------------------------------------------------------- */

struct sl_key {
    const uint8_t *data;
    size_t len;
};
/* Record keys in byte order, each once. */
typedef struct sl_key_set {
    struct sl_key *items;
    size_t count;
    sl_array *values; /* what the items point into */
} sl_key_set;
/* The valid values of a string array, which is referenced. */
SL_MUST_USE sl_status sl_key_set_init(sl_key_set *set, sl_array *keys);
void sl_key_set_free(sl_key_set *set); /* zero-initialised is fine */
bool sl_key_set_find(const sl_key_set *set, const void *key, size_t len, size_t *index);
/* Adds the rows of a row group that may hold one of the keys, by the bounds of its pages and its Bloom filter. */
SL_MUST_USE sl_status sl_key_set_select(const sl_key_set *set, const sl_parquet *file, size_t row_group,
                                        sl_row_ranges *rows);

/* ---- files --------------------------------------------------------------------------------------------- */

/* A data file with its footer decoded. Counted, and shared by threads: a table's files never change. */
typedef struct sl_source {
    atomic_int refs;
    sl_file *file;
    sl_parquet *parquet;
    char *relative;                /* path below the table */
    struct sl_log_headers headers; /* of a native log */
} sl_source;
/* Some open sources, the least recently used one making room: `most`, but no more than a quarter of the files that the process
 * may have open. Thread-safe. */
typedef struct sl_source_cache sl_source_cache;
SL_MUST_USE sl_status sl_source_cache_new(size_t most, sl_source_cache **out);
void sl_source_cache_free(sl_source_cache *cache); /* NULL is fine; sources in use live on */
/* `cache` NULL: opened anew. The reference is the caller's. */
SL_MUST_USE sl_status sl_source_open(const sl_table *table, const char *relative, sl_source_cache *cache,
                                     sl_source **out);
sl_source *sl_source_ref(sl_source *source);
void sl_source_unref(sl_source *source); /* NULL is fine */

/* ---- reading ------------------------------------------------------------------------------------------- */

struct sl_slice_options {
    const sl_type *schema;       /* columns of the result, meta columns included where wanted */
    const sl_type *table_schema; /* all columns of the table, meta columns included */
    bool keys_needed;            /* the result must be in key order even if there is nothing to merge */
    bool few_rows;               /* maybe only the first ones are read: no file is looked at beforehand to save later */
    const struct sl_row_filter *filter; /* rows that may be left out; NULL: none */
    sl_read_stats *stats;               /* NULL: not counted */
    struct sl_merge_counts *counts;     /* of the merge; NULL */
    const struct sl_change_sink *changes; /* is told what the logs change of the base; NULL: nobody */
    sl_pool *pool;                      /* decodes columns in parallel; NULL: inline */
    size_t batch_bytes;                 /* bound on a batch's memory; 0: sl_batch_bytes_for the slice's runs */
    sl_parquet_memory *memory;          /* shared with other slices; NULL: the slice has its own */
    /* Where the caller writes all rows of a result of all columns, batch by batch before it asks for the next: what the
     * merge leaves alone may be copied to it as it is compressed, and does not come out as rows. NULL: nothing is. */
    struct sl_file_writer *copy_to;
};
/* Memory for the reading of one thread, or of all; what lies idle in it is a small part of the budget. */
SL_MUST_USE sl_status sl_slice_memory_new(const sl_runtime *runtime, bool of_all_threads, sl_parquet_memory **out);
/* The slice's rows: base and logs merged after the table's rules, deletes gone. The columns that merging
 * needs are read beside the wanted ones and dropped again. */
SL_MUST_USE sl_status sl_slice_open(const sl_table *table, const sl_read_slice *slice,
                                    const struct sl_slice_options *options, sl_stream **out);

struct sl_lookup_options {
    const sl_type *schema, *table_schema; /* as in sl_slice_options */
    const sl_key_set *keys;
    sl_source_cache *cache; /* NULL: files are opened anew */
    sl_read_stats *stats;   /* NULL: not counted */
    sl_pool *pool;
};
/* The rows of these keys, merged as above: the search is done when the call returns, the rows are read by the stream. The
 * options are borrowed by the call. */
SL_MUST_USE sl_status sl_slice_lookup(const sl_table *table, const sl_read_slice *slice,
                                      const struct sl_lookup_options *options, sl_stream **out);

/* A log of a slice with what its headers say. */
struct sl_slice_log {
    const sl_data_file *file; /* borrowed from the view */
    sl_strings compacted;     /* instants of the logs that it replaces: the output of a log compaction */
    const char *place; /* instant whose place in the order it takes: its own, or of the newest replaced log */
    bool dropped;      /* replaced: readers leave it out */
    struct sl_inline_log blocks; /* an inline log's */
    sl_source *source;           /* a native log's; NULL when it was closed again: there are many */
    size_t run_bytes;            /* memory that it takes as a run; 0: not asked for, or a log of blocks */
};
/* The logs of a slice in the order of the merge, oldest first, replaced ones still among them (spec/lsm-layout.md 9). */
struct sl_slice_logs {
    struct sl_slice_log *items;
    size_t count;
};
struct sl_slice_log_schemas {
    const sl_type *rows, *deletes; /* what the blocks of inline logs are conformed to */
};
/* Reads the logs' headers. `schemas` NULL: the blocks of inline logs are not read. `slice` must outlive the result. */
SL_MUST_USE sl_status sl_slice_logs_load(const sl_table *table, const sl_read_slice *slice,
                                         const struct sl_slice_log_schemas *schemas,
                                         struct sl_slice_logs *out);
void sl_slice_logs_free(struct sl_slice_logs *logs); /* zero-initialised is fine */

struct sl_run_options {
    const sl_type *schema; /* columns wanted, conformed */
    bool sorted; /* the run must be in key order: checked for files of other writers, sorted when it is not */
    sl_source *source;           /* the open file, borrowed until the call returns; NULL: opened by name */
    const sl_row_ranges *ranges; /* rows wanted; NULL: all */
    sl_read_stats *stats;
    sl_pool *pool;
    sl_parquet_memory *memory; /* shared with other runs; NULL: the run has its own */
    int64_t batch_rows;        /* 0: the reader's default */
    size_t batch_bytes; /* of a batch and of what is read ahead; 0: sl_batch_bytes_for one run */
    /* strings may come with a dictionary: for a merge, which copies each survivor once */
    bool keep_dictionary;
    /* The merge that the run is for: columns that it does not look at may come late (see sl_run_late; setting
     * sluice.merge.late). NULL: the run has all columns at once. */
    const struct sl_merge_options *late_for;
    bool is_base;
    struct sl_file_writer *copy_to; /* as in sl_slice_options; see sl_run_copying */
    /* Then rows of a key are folded, and rows that `copy_flag` (a boolean column; NULL: there is none) marks are deletes:
     * neither are copied. */
    bool copy_is_log;
    const char *copy_flag;
};
/* sluice.lsm.order=strict: a run out of order fails (SL_E_CORRUPT) instead of being sorted again. */
bool sl_table_orders_strictly(const sl_table *table);
/* A base file or native log of the table; `relative` is its path below the table. */
SL_MUST_USE sl_status sl_run_open(const sl_table *table, const char *relative,
                                  const struct sl_run_options *options, sl_stream **out);
/* How columns of a run that was opened with `late_for` are loaded, for the merge it is given to; `load` NULL: none come late. */
struct sl_run_late sl_run_late(sl_stream *run);
/* How rows of a run that was opened with copy_to are copied, for the merge it is given to; `offer` NULL: they cannot be, the
 * file has other columns than the one that is written, or another order. */
struct sl_run_copy sl_run_copying(sl_stream *run);

/* How many of the slice's native logs may be open at once as runs of the schema's columns, for sl_merge_operands_list: the
 * largest of them tells. */
SL_MUST_USE sl_status sl_slice_logs_limit(const sl_table *table, const sl_read_slice *slice,
                                          const sl_type *schema, size_t *out);
/* Slices that may be worked on at once: as many as there are threads, where each can have the files open that a merge needs. */
size_t sl_slices_at_once(const sl_runtime *runtime);
/* Files that one of them may have open as runs of a merge, beside what all others have open. */
size_t sl_slice_runs_share(const sl_runtime *runtime);
/* Rows of a batch of a run that is merged, and of the result: small enough that the batches of several runs stay in the
 * caches and their buffers below what the allocator gives back to the system each time. */
#define SL_MERGE_BATCH_ROWS 4096
/* ... and the memory of such a batch, of so many runs together. */
size_t sl_batch_bytes_for(const sl_runtime *runtime, size_t runs);

/* The merge rules of a table for a result schema; borrows from both. */
SL_MUST_USE sl_status sl_table_rules(const sl_table *table, const sl_type *schema,
                                     struct sl_merge_options *out);
/* A stream of the batches in a list. Takes over the references (also on failure); schema is referenced. */
SL_MUST_USE sl_status sl_stream_of_batches(const sl_type *schema, sl_batch **batches, size_t count,
                                           sl_stream **out);
/* Conforms every batch of `in` (owned from now on, also on failure). */
SL_MUST_USE sl_status sl_stream_conform(sl_stream *in, const sl_type *schema, sl_stream **out);
/* The named columns, in schema's order, of a stream whose schema holds them all (types equal): a projection.
 */
SL_MUST_USE sl_status sl_stream_project(sl_stream *in, const sl_type *schema, sl_stream **out);

/* ---- writing ------------------------------------------------------------------------------------------- */

#define SL_SORTED_BY                                                                                         \
    "sluice.sorted_by" /* footer entry of files whose rows we sorted: value is the column's name */

#define SL_FILE_NAME_BYTES 256
struct sl_file_spec {
    enum sl_file_kind kind; /* BASE, LOG, DELETES, CDC */
    const char *partition, *file_id;
    uint32_t version;        /* logs: from 1 */
    uint32_t task, attempt;  /* enter the write token <task>-0-<attempt>; tasks that may run twice differ in
                                the attempt */
    const char *prev_commit; /* "null", the replaced base's instant, or NULL for a log: its own instant */
    const char *prev_base_file;  /* NULL: none */
    const sl_strings *compacted; /* instants that a log compaction replaces; NULL */
    /* of a log in a table that keeps changes: the slice before it; NULL: not told */
    const char *base_before;
    const sl_strings *logs_before;
};
/* Schemas that all files of one commit share, texts made once. */
typedef struct sl_write_schema {
    const sl_type *data;    /* table columns */
    const sl_type *full;    /* meta columns and table columns: base files and data logs */
    const sl_type *deletes; /* delete logs */
    char *data_text, *full_text, *deletes_text;
    /* change data logs, in tables that keep changes; else NULL */
    const sl_type *cdc;
    char *cdc_text, *cdc_name;
    enum sl_cdc_mode cdc_mode;
} sl_write_schema;
SL_MUST_USE sl_status sl_write_schema_init(const sl_table *table, const sl_type *data, sl_write_schema *out);
void sl_write_schema_free(sl_write_schema *schema); /* zero-initialised is fine */

/* SL_E_UNSUPPORTED when not every Hudi reader of today reads the column's type (spec/parquet.md 10). `force`: the setting
 * sluice.parquet.force; then all pass. For columns that enter a table; those that it has stay. */
SL_MUST_USE sl_status sl_file_type_check(const sl_field *column, bool force);
/* Files that are about to be written, at most so many, announced together and in the background (sl_txn_plan): adding one
 * borrows its partition's path. */
struct sl_file_plan {
    struct sl_planned_file *files;
    char (*names)[SL_FILE_NAME_BYTES];
    size_t count;
};
SL_MUST_USE sl_status sl_file_plan_init(size_t most, struct sl_file_plan *out);
void sl_file_plan_add(struct sl_file_plan *plan, const sl_txn *txn, const struct sl_file_spec *spec);
SL_MUST_USE sl_status sl_file_plan_announce(const struct sl_file_plan *plan, sl_txn *txn);
void sl_file_plan_free(struct sl_file_plan *plan);
typedef struct sl_file_writer sl_file_writer;
/* Announces the file by its marker, then opens it. */
SL_MUST_USE sl_status sl_file_writer_open(const sl_table *table, sl_txn *txn, const sl_write_schema *schema,
                                          const struct sl_file_spec *spec, sl_file_writer **out);
/* Whether there is a file of that name, announced or not. */
SL_MUST_USE sl_status sl_file_writer_exists(const sl_table *table, const sl_txn *txn,
                                            const struct sl_file_spec *spec, bool *out);
/* Rows of schema->full (base, log) or schema->deletes, in key order. A base file's _hoodie_file_name is set
 * here. */
SL_MUST_USE sl_status sl_file_writer_write(sl_file_writer *w, sl_batch *batch);
/* What is left of a stream, which stays open; `runtime` may cancel (NULL: nobody). */
SL_MUST_USE sl_status sl_file_writer_drain(sl_file_writer *w, sl_stream *rows, const sl_runtime *runtime);
/* Whether sl_file_writer_copy takes rows of the file. */
bool sl_file_writer_can_copy(const sl_file_writer *w, const sl_parquet *source);
/* Copies units of a row group of `source`, whose keys follow those written so far. */
SL_MUST_USE sl_status sl_file_writer_copy(sl_file_writer *w, sl_parquet *source,
                                          const sl_parquet_units *units, size_t first, size_t count,
                                          sl_read_stats *stats);
const char *sl_file_writer_name(const sl_file_writer *w);
uint64_t sl_file_writer_bytes(const sl_file_writer *w);
int64_t sl_file_writer_rows(const sl_file_writer *w);
/* Hands the file to the transaction, which makes it durable before it commits, and adds its stat; members of `counts` about
 * names, places and sizes are filled in here, the counts are the caller's. Frees w, also on failure. `bytes` may be NULL. */
SL_MUST_USE sl_status sl_file_writer_close(sl_file_writer *w, const sl_write_stat *counts, uint64_t *bytes);
void sl_file_writer_abort(sl_file_writer *w); /* NULL is fine */

/* The change data logs of a base file that is written anew (spec/lsm-layout.md 4.3). */
typedef struct sl_cdc_log sl_cdc_log;
/* `base` is the base file's spec. *out stays NULL where the table keeps no changes; all calls below take that. Readers look
 * for a log in every commit that rewrites a base file, so there is one even if nothing is told. */
SL_MUST_USE sl_status sl_cdc_log_open(const sl_table *table, sl_txn *txn, const sl_write_schema *schema,
                                      const struct sl_file_spec *base, sl_cdc_log **out);
const struct sl_change_sink *sl_cdc_log_sink(const sl_cdc_log *log); /* for the merge; NULL: none */
/* Hands the logs to the transaction, as above. The base file's stat, which closes it next, names them; it borrows from the log. */
SL_MUST_USE sl_status sl_cdc_log_finish(sl_cdc_log *log, sl_write_stat *base);
void sl_cdc_log_free(sl_cdc_log *log); /* what was not finished is left to the transaction */

#endif
