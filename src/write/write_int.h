/* Shared inside src/write only. */
#ifndef SL_WRITE_INT_H
#define SL_WRITE_INT_H

#include "write/write.h"

/* The file group of a bucket in a partition, as a view knows it. */
struct bucket_group {
    char file_id[80];           /* a new one where the bucket has no group yet */
    const sl_file_group *group; /* NULL: there is none yet */
    const sl_data_file *base;   /* the newest; NULL: none */
    bool exists;                /* it has a slice */
    uint32_t logs_written;      /* in this transaction: the last version taken */
    uint32_t planned_log;       /* it is taken for a log that is announced, but not yet open; 0: none */
    uint64_t rows_stamped;
    /* in tables that keep changes: the slice's logs, and those of this transaction, once it wrote one */
    sl_strings logs_before;
};

/* A file group that rows come for: those that wait, and where they go in the open transaction. */
struct write_group {
    uint32_t bucket;
    size_t partition;          /* index into router.partitions */
    sl_sorter *sorter;         /* rows of router.schema; NULL: none wait */
    double waiting_since;      /* sl_monotonic() of the oldest of them */
    bool is_placed;            /* `place` is known */
    struct bucket_group place; /* in the open transaction */
};

/* Sends rows to their file group's sorter. All sorters share one pool of memory; when it is used up the owner is asked to
 * take a group's rows away. */
struct router {
    const sl_table *table;
    const sl_type *schema; /* of the sorters: record key, then the columns that are written */
    sl_budget pool;        /* part of the table's budget */
    sl_runtime runtime;    /* the table's, with the pool for its budget */
    sl_spill *spill;       /* of all sorters; NULL: none spilled yet */
    sl_status (*relieve)(void *owner, size_t group); /* spills or flushes what waits in a group */
    void *owner;
    sl_strings partitions;
    size_t *partition_slots; /* open addressing: index + 1 into partitions */
    size_t partition_cap;
    size_t **groups_of;      /* per partition: bucket -> index + 1 into groups */
    size_t *partition_bytes; /* lengths of the paths */
    size_t groups_of_cap;    /* of both */
    struct write_group *groups;
    size_t group_count, group_cap;
    /* scratch of one batch, kept between batches */
    uint32_t *buckets, *group_of_row, *rows;
    size_t *touched, *group_rows; /* group_rows: per group, cleared after use */
    size_t scratch_rows, scratch_groups;
};
void router_init(struct router *r, const sl_table *table, const sl_type *schema, uint64_t pool_bytes);
/* keys, partitions: one value a row of `batch` (whose schema is r->schema). SL_E_INPUT: nothing was taken. After another
 * failure the router may only be freed. */
SL_MUST_USE sl_status router_add(struct router *r, const sl_batch *batch, const sl_array *keys,
                                 const sl_array *partitions);
/* The group that holds the most memory, `besides` left out; -1: no row waits in memory. */
/* Writes a group's rows to the temporary file. */
SL_MUST_USE sl_status router_spill(struct router *r, size_t group);
int64_t router_largest(const struct router *r, int64_t besides);
void router_free(struct router *r);
/* SL_E_INPUT at the first path that cannot become folders. */
SL_MUST_USE sl_status partition_paths_check(const sl_array *paths);

/* Without a bucket index all rows of a partition wait together, as if they were one bucket. */
uint32_t router_buckets(const sl_table *table);
SL_MUST_USE sl_status router_bucket_of_keys(const sl_table *table, const sl_array *keys, uint32_t *out);

/* Rows of a sorter as rows of a data file: commit time, sequence number, key, partition path, file name, then
 * the columns of `schema->data`, conformed. Takes over `rows`. */
struct stamp {
    const char *instant, *partition, *file_id;
    const char
        *key_field; /* the column that the record key stands for where the rows have none of that name */
    uint32_t task;
    uint64_t *rows_stamped; /* counts the group's rows in the transaction */
};
SL_MUST_USE sl_status stamp_rows(sl_stream *rows, const sl_write_schema *schema, const struct stamp *stamp,
                                 sl_stream **out);

/* What an operation is. */
bool operation_replaces(enum sl_operation operation);
bool operation_inserts(enum sl_operation operation); /* rows are new: no key is looked up */
/* Refuses, before there is an instant, an order of bulk-insert's rows that the table cannot have. */
SL_MUST_USE sl_status sort_mode_check(const sl_table *table, enum sl_operation operation);
/* Begins the transaction of an operation. */
SL_MUST_USE sl_status write_begin(sl_table *table, enum sl_operation operation, sl_txn **out);
/* Names the groups that an operation replaces; `touched` are the partitions of its rows. Adds to *replaced. */
SL_MUST_USE sl_status replace_groups(const sl_table *table, enum sl_operation operation,
                                     const sl_strings *touched, sl_txn *txn, uint64_t *replaced);
SL_MUST_USE sl_status replace_all_groups(const sl_view *view, sl_txn *txn, uint64_t *replaced);
/* Whether an operation without rows changes anything. */
SL_MUST_USE sl_status replace_has_work(const sl_table *table, enum sl_operation operation, bool *out);

/* Columns of a write: what a row is conformed to before its key is made. Each result is a new reference. */
SL_MUST_USE sl_status writer_current_schema(const sl_table *table, const sl_type **out);
/* The table's columns, then new columns of the input: nullable ones only, for older rows have no value in them. */
SL_MUST_USE sl_status writer_row_columns(const sl_table *table, const sl_type *current, const sl_type *input,
                                         const sl_type **out);
/* Those that a delete needs, which the input must have. */
SL_MUST_USE sl_status writer_key_columns(const sl_table *table, const sl_type *current, const sl_type *input,
                                         const sl_type **out);
/* Record keys and partition paths of rows that have the columns of the writer. Refuses what must not be written (SL_E_INPUT). */
SL_MUST_USE sl_status writer_make_keys(const sl_table *table, enum sl_operation operation,
                                       const sl_batch *rows, sl_array **keys, sl_array **partitions);
/* Of what a row of `batch` was refused for, `why` (taken over), and what is wrong with rows before it: the first. */
SL_MUST_USE sl_status writer_first_refusal(const sl_table *table, enum sl_operation operation,
                                           const sl_type *columns, const sl_batch *batch, sl_status why);
/* The column whose values are the record keys as they are, -1: there is none. It waits as the key only. */
int writer_key_column(const sl_table *table, const sl_type *columns);
SL_MUST_USE sl_status writer_buffer_schema(const sl_table *table, enum sl_operation operation,
                                           const sl_type *columns, const sl_type *current,
                                           const sl_type **out);
SL_MUST_USE sl_status writer_commit_schema(const sl_table *table, enum sl_operation operation,
                                           const sl_type *columns, const sl_timeline *timeline,
                                           const sl_type **out);

/* What keeps the files of tasks apart that run in different processes, or twice. */
struct flush_numbers {
    uint32_t first_task; /* number of the first group's task: enters write tokens and sequence numbers */
    uint32_t attempt;
};
const sl_strings *writer_partitions(const sl_writer *w); /* that its rows touch; borrowed */
/* Makes the writer write into the transaction of another process; its stats are collected by `txn`, which stays the
 * caller's. */
SL_MUST_USE sl_status writer_join(sl_writer *w, sl_txn *txn, const struct flush_numbers *numbers);
SL_MUST_USE sl_status writer_finish_task(sl_writer *w); /* instead of a commit */

const sl_partition *view_partition(const sl_view *view, const char *path); /* NULL: not in the view */
const sl_data_file *group_newest_base(const sl_file_group *group);         /* NULL: none */
/* Where the table's properties do not store the bucket count: keys of each partition in the view must lie where the count
 * puts them. */
SL_MUST_USE sl_status bucket_count_check(const sl_table *table, const sl_view *view);
/* Refuses what a bucket writer must not touch: groups without bucket number, numbers beyond the count, two groups of one
 * number. */
SL_MUST_USE sl_status bucket_group_find(const sl_table *table, const sl_view *view, const char *partition,
                                        uint32_t bucket, struct bucket_group *out);

/* An open transaction: what its flushes share. */
struct flush {
    sl_table *table;
    sl_txn *txn;
    sl_write_schema schema;
    enum sl_operation operation;
    bool saw_deletes; /* some row may be a delete */
    bool is_early;    /* groups may be flushed again: new ones get logs as well */
    struct flush_numbers numbers;
    /* groups that are written at once, spilled runs that each of them merges at once */
    size_t workers, fan_in;
    const sl_view *view; /* the newest of `views` */
    sl_view **views;     /* places of groups borrow from them */
    size_t view_count, view_cap;
    int64_t record_bytes; /* of a stored row, for packing: estimated once, from whole commits */
    uint64_t groups;      /* file groups that got rows */
    atomic_uint_fast64_t inserted, updated, deleted, rows_written, files, bytes;
};
/* `data`: the table's columns after this write. The transaction stays the caller's. flush_free frees what a failed init
 * left. */
SL_MUST_USE sl_status flush_init(struct flush *flush, sl_table *table, enum sl_operation operation,
                                 sl_txn *txn, const sl_type *data);
void flush_free(struct flush *flush); /* zero-initialised is fine */
/* Writes what waits in these groups of the router (indexes), in parallel; afterwards nothing waits there. */
SL_MUST_USE sl_status flush_groups(struct flush *flush, struct router *router, const size_t *which,
                                   size_t count);

/* As sl_pool_for, with as many workers as the budget has memory for. */
SL_MUST_USE sl_status flush_parallel(const struct flush *flush, size_t count,
                                     sl_status (*work)(void *context, size_t index), void *context);

/* Rows on their way into a file group. */
struct flush_task {
    struct flush *flush;
    sl_sorter *sorter;
    const char *partition;
    uint32_t number;
    struct bucket_group *group;
    struct sl_run *runs; /* owned array; streams are handed to the merge */
    size_t run_count;
};
enum flush_way {
    FLUSH_BY_LAYOUT,  /* a log where the group has a slice and the layout has logs, else a base file */
    FLUSH_BASE,       /* a base file: the group's own is written anew */
    FLUSH_NEW_GROUPS, /* base files of new groups, split by size; the given group does not count */
};
/* The file that flush_into will write into the group first, where that can be told. */
SL_MUST_USE sl_status flush_first_file(struct flush_task *t, enum flush_way way, struct sl_file_spec *out,
                                       bool *known);
struct sl_file_spec flush_log_spec(const struct flush_task *t, enum sl_file_kind kind, uint32_t version);
/* The next version of the group's logs that no file has. */
SL_MUST_USE sl_status flush_take_version(const struct flush_task *t, uint32_t *out);
/* Announces the first file of each group together: a marker alone is three waits for the disk. */
SL_MUST_USE sl_status flush_plan(struct flush *f, const struct router *r, const size_t *which, size_t count,
                                 enum flush_way way);
/* Writes the rows of a sorter into a file group. */
SL_MUST_USE sl_status flush_into(struct flush *flush, sl_sorter *sorter, const char *partition,
                                 struct bucket_group *group, enum flush_way way, uint32_t number);
/* ... as sorted logs: reduced to operands, or merged by key only. */
SL_MUST_USE sl_status flush_to_logs(struct flush_task *t);
SL_MUST_USE sl_status flush_merge_rules(const struct flush_task *t, bool keeps_duplicates,
                                        struct sl_merge_options *out);
/* The merge owns the task's streams whatever it returns. `counts` may be NULL. */
SL_MUST_USE sl_status flush_merge_open(struct flush_task *t, const struct sl_merge_options *rules,
                                       struct sl_merge_counts *counts, sl_stream **out);
void flush_count(struct flush *flush, const sl_write_stat *stat, uint64_t bytes);
/* Sorted rows as base files of new groups, each up to hoodie.parquet.max.file.size: ascending key ranges. */
SL_MUST_USE sl_status new_groups_write(struct flush *flush, const char *partition, uint32_t task,
                                       sl_stream *rows);

/* ---- tables without a bucket index --------------------------------------------------------------------- */

/* Where rows of a partition go. */
struct write_target {
    const char *partition;
    const sl_file_group *group; /* NULL: new groups */
    /* inserts go into its base file, which is written anew, also on merge-on-read */
    bool is_packed;
    sl_sorter *sorter;
    bool owns_sorter;
};
struct write_targets {
    struct write_target *items;
    size_t count, cap;
    sl_spill *spill; /* of the owned sorters; NULL: none was spilled */
};
SL_MUST_USE sl_status write_targets_add(struct write_targets *list, const struct write_target *target);
/* Writes what the router collected; one sorter a partition. */
SL_MUST_USE sl_status unbucketed_flush(struct flush *flush, struct router *router);
/* Sends the rows of a partition to the groups that hold their keys, or, as inserts, to small files and new groups. */
SL_MUST_USE sl_status targets_of_partition(const struct flush *flush, const sl_partition *partition,
                                           sl_sorter *rows, const struct router *router,
                                           struct write_targets *out);

/* The keys that the groups of a partition hold. */
struct partition_keys;
/* `wanted`: only these are asked for; borrowed by the call. NULL: any. */
SL_MUST_USE sl_status partition_keys_open(const struct flush *flush, const sl_partition *partition,
                                          const sl_key_set *wanted, struct partition_keys **out);
/* The group that holds the key, -1: none. Keys are asked for in ascending order. */
SL_MUST_USE sl_status partition_keys_find(struct partition_keys *k, const uint8_t *key, size_t len,
                                          int64_t *group);
void partition_keys_close(struct partition_keys *k); /* NULL is fine */

/* A group with room for inserts. */
struct pack_candidate {
    size_t group;  /* index in the partition */
    char *min_key; /* of its base file */
    int64_t room;  /* rows */
};
struct pack_candidates {
    struct pack_candidate *items; /* by min_key */
    size_t count;
};
/* Small files that may take inserts (spec/lsm-layout.md 15); none where the operation does not pack. */
SL_MUST_USE sl_status pack_candidates_find(const struct flush *flush, const sl_partition *partition,
                                           struct pack_candidates *out);
/* The group for an insert, nearest by key range; -1: a new one. Takes a row of its room. */
int64_t pack_choose(struct pack_candidates *c, const uint8_t *key, size_t len);
void pack_candidates_free(struct pack_candidates *c);
/* Bytes of a stored record, estimated from the newest commits (spec/write-path.md 7). */
SL_MUST_USE sl_status record_size_estimate(const sl_table *table, const sl_timeline *timeline, int64_t *out);

#endif
