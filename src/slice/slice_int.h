/* Private to slice/. */
#ifndef SL_SLICE_INT_H
#define SL_SLICE_INT_H

#include "slice/slice.h"

/* Footer entry of our data files: the name that the file was written under (source.c). */
#define SLICE_FILE_NAME "sluice.file_name"

/* How the table's data files are written (file_options.c). `parquet` points into the rest: keep it in place. */
struct file_options {
    struct sl_parquet_write_options parquet;
    struct sl_parquet_column_options columns[3];
};
SL_MUST_USE sl_status file_options_load(const sl_table *table, const sl_type *rows, struct file_options *out);

/* The name that the file will have. */
void file_spec_name(const struct sl_file_spec *spec, const sl_txn *txn, char *name);
/* What its marker says (spec/timeline.md 9.1). */
SL_INLINE const char *file_marker(const char *prev_base_file) { return prev_base_file ? "MERGE" : "CREATE"; }
/* As sl_file_writer_close, for a file that has no stat of its own: another one's names it. The path is the caller's. */
SL_MUST_USE sl_status file_writer_close_named(sl_file_writer *w, struct sl_cdc_file *out);

/* ---- keys of a file that is written (file_keys.c) ------------------------------------------------------ */

/* Zero-initialised: no keys yet, and no Bloom filter. */
struct file_keys {
    sl_buf min, max; /* in UTF-16 order */
    bool any;
    sl_hudi_bloom *bloom; /* NULL: none */
};
/* Hudi's Bloom filter too, where readers of the table may want it. Before the first key. */
SL_MUST_USE sl_status file_keys_want_bloom(struct file_keys *keys, const sl_table *table);
SL_MUST_USE sl_status file_keys_add(struct file_keys *keys, const sl_array *more); /* in byte order */
/* Those of the rows [first, first + rows) of `source`, which are copied. */
SL_MUST_USE sl_status file_keys_add_copied(struct file_keys *keys, const sl_table *table, sl_parquet *source,
                                           int64_t first, int64_t rows);
/* The footer's entries. The bounds are used up. */
SL_MUST_USE sl_status file_keys_put(struct file_keys *keys, sl_parquet_writer *parquet);
void file_keys_free(struct file_keys *keys);
/* Whether the text has characters that UTF-16 orders otherwise than UTF-8 does. */
bool slice_orders_may_differ(const void *text, size_t len);

/* ---- inputs of a slice --------------------------------------------------------------------------------- */

/* Whether so many files of a slice stay open while it is looked at; of more each is opened when its turn comes, for there may be
 * more than a process may have open. */
bool slice_keeps_files(const sl_runtime *runtime, size_t count);

/* sl_slice_logs_load through a cache of open files. */
SL_MUST_USE sl_status slice_logs_load(const sl_table *table, const sl_read_slice *slice,
                                      const struct sl_slice_log_schemas *schemas, sl_source_cache *cache,
                                      struct sl_slice_logs *out);
/* The wanted columns followed by key, ordering and delete columns that are not among them. */
SL_MUST_USE sl_status slice_merging_schema(const sl_table *table, const sl_type *wanted, const sl_type *full,
                                           const sl_type **out);

/* ---- inputs of a merge --------------------------------------------------------------------------------- */

/* A base file, a native log, or a block of an inline log. */
struct slice_input {
    const sl_data_file *file; /* borrowed from the view; a block's: its log */
    bool is_base, is_deletes;
    char *relative;    /* a file's path below the table; NULL: a block */
    sl_source *source; /* the open file; NULL: opened as a run, there are many */
    sl_batch *block;   /* a block's rows: taken by whoever makes a run of it */
    size_t run_bytes;  /* memory that a file takes as a run */
    /* what pruning says; without it every row is needed */
    bool is_limited; /* to `rows` */
    sl_row_ranges rows;
};
/* The inputs of a slice, oldest first; logs that a log compaction replaced are left out. */
struct slice_inputs {
    struct slice_input *items;
    size_t count;
    struct sl_slice_logs logs;
};
/* The schemas are what blocks are conformed to; `cache` and `stats` may be NULL. */
SL_MUST_USE sl_status slice_inputs_load(const sl_table *table, const sl_read_slice *slice,
                                        const struct sl_slice_log_schemas *schemas, sl_source_cache *cache,
                                        sl_read_stats *stats, struct slice_inputs *out);
void slice_inputs_free(struct slice_inputs *inputs); /* zero-initialised is fine */

/* ---- memory -------------------------------------------------------------------------------------------- */

/* Memory that a file takes while the columns of the schema are merged, as its footer tells it. */
SL_MUST_USE sl_status slice_run_bytes(const sl_parquet *file, const sl_type *schema, size_t batch_bytes,
                                      size_t *out);
/* Files that one of so many users may have open. */
size_t slice_files_for(size_t users);
/* The files of a merge of so many runs, which are taken until they are given back. */
size_t slice_runs_take(size_t runs);
void slice_files_give_back(size_t files);
/* What a merge of the inputs may open at once, and the memory that this takes. */
struct open_limit {
    size_t runs, bytes;
};
void slice_open_limit(const sl_runtime *runtime, const struct slice_inputs *inputs, struct open_limit *out);
/* sl_merge_open_list within the limit, whose memory is taken from the budget until the stream is closed; `counts` and
 * `stats` as below. */
SL_MUST_USE sl_status slice_merge_open_list(const struct sl_run_list *list, const struct open_limit *limit,
                                            const struct sl_merge_options *rules,
                                            struct sl_merge_counts *counts, sl_read_stats *stats,
                                            sl_stream **out);

/* sl_merge_open that adds its counts to `stats` (may be NULL) when the stream is closed. `counts` may be NULL. */
SL_MUST_USE sl_status slice_merge_open(const struct sl_run *runs, size_t count,
                                       const struct sl_merge_options *rules, struct sl_merge_counts *counts,
                                       sl_read_stats *stats, sl_stream **out);

/* ---- columns that come late ---------------------------------------------------------------------------- */

/* A scan of the file's columns that are in the schema. */
SL_MUST_USE sl_status run_scan_columns(sl_parquet *p, const struct sl_run_options *options, sl_stream **out);
struct run_late;
/* NULL: the run has too few columns that could. `source` and the options' memory must outlive the result. */
SL_MUST_USE sl_status run_late_new(sl_source *source, const struct sl_run_options *options,
                                   struct run_late **out);
void run_late_free(struct run_late *late);                  /* NULL is fine */
const sl_type *run_late_early(const struct run_late *late); /* the columns that are read first; borrowed */
struct sl_run_late run_late_for_merge(struct run_late *late);

/* ---- columns that are there twice (twins.c) ------------------------------------------------------------ */

struct slice_twins {
    const sl_type *schema; /* referenced */
    int *of;               /* of each of its columns: the one that is read in its stead, -1: it is read */
    size_t count;          /* columns that are not */
};
/* Columns of the schema that all inputs store alike. `rules` NULL: there is no merge. slice_twins_free frees what a failure left. */
SL_MUST_USE sl_status slice_twins_find(const sl_type *schema, const struct slice_inputs *inputs,
                                       const struct sl_merge_options *rules, struct slice_twins *out);
void slice_twins_free(struct slice_twins *twins); /* zero-initialised is fine */
/* The columns that are read. */
SL_MUST_USE sl_status slice_twins_read(const struct slice_twins *twins, const sl_type **out);
/* sl_stream_project of rows of those columns, to columns of twins->schema. */
SL_MUST_USE sl_status slice_twins_project(const struct slice_twins *twins, sl_stream *in,
                                          const sl_type *schema, sl_stream **out);

/* ---- copying ------------------------------------------------------------------------------------------- */

/* The copying side of a run: where its rows may leave undecoded. */
struct run_copy;
/* `scan` reads all rows of the source; both must outlive the result. */
SL_MUST_USE sl_status run_copy_new(sl_source *source, sl_stream *scan, const struct sl_run_options *options,
                                   struct run_copy **out);
void run_copy_free(struct run_copy *copy); /* NULL is fine */
/* Around each batch of the scan: it ends where rows that can be copied begin. */
SL_MUST_USE sl_status run_copy_before(struct run_copy *copy);
void run_copy_after(struct run_copy *copy, int64_t rows);
struct sl_run_copy run_copy_for_merge(struct run_copy *copy);
/* Whether a file that has `more` bytes and row groups behind what was written has row groups of a sensible size. */
bool file_writer_groups_fit(const sl_file_writer *w, size_t more_groups, uint64_t more_bytes);

/* ---- pruning ------------------------------------------------------------------------------------------- */

/* Limits the inputs to the rows that matter. They are all inputs of one merge, since what may be left out of one depends
 * on the keys of the others. */
SL_MUST_USE sl_status slice_prune(const sl_table *table, const struct sl_row_filter *filter,
                                  struct slice_inputs *inputs, sl_read_stats *stats);
/* Bounds of the record key for each page of a row group, in byte order. A file without the column: one page without bounds
 * a row group. */
SL_MUST_USE sl_status slice_key_pages(const sl_parquet *file, size_t row_group,
                                      struct sl_parquet_page_bounds *out);
/* Whether the file says that its rows are in key order, as ours do. */
bool slice_is_marked_sorted(const sl_parquet *file);
/* The column of the record key; -1: there is none. */
int slice_key_column(const sl_parquet *file);

#endif
