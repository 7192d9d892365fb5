/*
 * merge: what turns several sorted runs of records into one.
 *
 *   loser_tree   which source comes next: the six-state machine of spec/lsm-layout.md 10, a module of its own
 *   rule         what the records of one key become (commit time, event time; deletes; spec/lsm-layout.md 8)
 *   sl_merge     the pipeline: cursors -> loser tree -> rule -> batches of survivors, columns gathered run by run
 *   sl_sorter    unsorted batches -> sorted runs, in memory or spilled, under the budget
 *
 * A run is a stream of batches of one schema, sorted by the key column (unsigned UTF-8 bytes). Runs have an age: source 0
 * is the oldest. Snapshot reads, compactions, copy-on-write upserts and the merge of spilled sort runs differ only in
 * the runs they feed in and the sink they attach.
 */
#ifndef SL_MERGE_H
#define SL_MERGE_H

#include "column/column.h"

/* ---- loser tree ---------------------------------------------------------------------------------------- */

enum sl_leaf_state {
    SL_WINNER_WITH_NEW_KEY,
    SL_WINNER_WITH_SAME_KEY,
    SL_WINNER_POPPED,
    SL_LOSER_WITH_NEW_KEY,
    SL_LOSER_WITH_SAME_KEY,
    SL_LOSER_POPPED
};

/* Successive records of a source as the tree sees them: a column of keys. They stay valid until the source is advanced. */
struct sl_heads {
    const sl_array *keys;
    /* of each key 8 bytes that order as the keys do, where they differ: key_prefix(key, len), or of what follows bytes that
     * all keys of all sources begin with */
    const uint64_t *prefix;
    /* bit i: record i + 1 has the key of record i; NULL: no two neighbours have the same */
    const uint8_t *repeats;
    /* the head is record `row`, which the tree counts up; rows 0: the source is exhausted */
    int64_t row, rows;
    bool whole; /* no key says more than its prefix: equal prefixes of two such sources mean equal keys */
};
/* Loads the records that follow the last one of `source`, heads[source] of the tree: row 0 is its head. */
typedef sl_status (*sl_tree_advance)(void *context, size_t source);
/* Whether the record that follows the last one of `source` has the same key as the last one (in-run duplicates). */
typedef sl_status (*sl_tree_repeats)(void *context, size_t source, bool *repeats);

typedef struct sl_loser_tree sl_loser_tree;
/* builds: advances every source once. `heads` are one of each source, borrowed. */
SL_MUST_USE sl_status sl_loser_tree_new(struct sl_heads *heads, size_t sources, sl_tree_advance advance,
                                        sl_tree_repeats repeats, void *context, sl_loser_tree **out);
/* Source of the next record of the open group, or -1 when the group is complete (or all is done). */
int64_t sl_loser_tree_peek(const sl_loser_tree *tree);
SL_MUST_USE sl_status sl_loser_tree_pop(sl_loser_tree *tree); /* hands out what peek named */
/* opens the next group; peek is -1 after it only at the end */
SL_MUST_USE sl_status sl_loser_tree_next_key(sl_loser_tree *tree);
/* The smallest head among all other sources than the champion (the runner-up), for galloping; NULL when alone.
 * Valid when a group was just opened (champion W_NEW). */
const struct sl_heads *sl_loser_tree_runner_up(const sl_loser_tree *tree);
/* After the caller took the champion's head on its own, and perhaps counted its row up (a gallop): the next head is replayed. */
SL_MUST_USE sl_status sl_loser_tree_replay(sl_loser_tree *tree);
uint64_t sl_loser_tree_comparisons(const sl_loser_tree *tree);
void sl_loser_tree_free(sl_loser_tree *tree);

/* ---- runs and rules ------------------------------------------------------------------------------------ */

enum sl_merge_mode { SL_COMMIT_TIME, SL_EVENT_TIME };

/* What lets a merge hand rows of a run over undecoded (merge/hand_over.c). */
struct sl_run_copy {
    void *context; /* lives as long as the run's stream */
    /* Asked when all rows that the stream has yielded were taken: how many of the next ones, all with keys below `bound`
     * (NULL: whatever their keys), shall be copied; the stream leaves them behind. 0: none. */
    sl_status (*offer)(void *context, const uint8_t *bound, size_t len, int64_t *rows);
    /* Everything before the rows offered last was handed out: copies them. */
    sl_status (*copy)(void *context);
    /* Whether it is known, without reading it, that the key of the next row is above `key`. */
    sl_status (*above)(void *context, const uint8_t *key, size_t len, bool *above);
};
/* What lets a merge look at keys first (spec/lsm-layout.md 13): the stream's batches have only the columns that decide what
 * becomes of a row (sl_merge_looks_at), and the others are loaded where a row survives. */
struct sl_run_late {
    void *context;         /* lives as long as the run's stream */
    const sl_type *schema; /* that of the merge */
    /* Rows of the run from row `row` on with all columns: `*out` has some of the `early->rows - from` rows that follow row
     * `from` of a batch that the stream has yielded, one at least. Rows are asked for in ascending order. */
    sl_status (*load)(void *context, const sl_batch *early, int64_t from, int64_t row, sl_batch **out);
};
/* One sorted input. The merge owns the stream. */
struct sl_run {
    sl_stream *rows;
    struct sl_run_late late; /* `load` NULL: the stream has all columns */
    struct sl_run_copy copy; /* `offer` NULL: every row passes through. Only for sl_merge_open. */
    bool is_deletes;         /* every row is a delete: columns are the key and the ordering fields only */
    /* the base file: duplicates inside it are handed through unless another source has the key */
    bool is_base;
    const char *name; /* for errors: the file */
};

/* hoodie.table.partial.update.mode: what a winner takes from the loser, when neither is a delete (spec/log-format.md 12.2). */
enum sl_partial_mode {
    SL_PARTIAL_NONE,
    SL_PARTIAL_IGNORE_DEFAULTS,  /* its nulls */
    SL_PARTIAL_FILL_UNAVAILABLE, /* its texts and binaries that equal `unavailable` */
};

enum sl_order_policy {
    SL_ORDER_STRICT, /* a run that goes backwards is SL_E_CORRUPT with run name and row */
    /* the same error: rows may be out already, so the caller opens the run anew through sl_sort_stream */
    SL_ORDER_REPAIR,
};

/* What a merge makes of the base: its own rows against the result's. */
enum sl_change { SL_CHANGE_INSERT, SL_CHANGE_UPDATE, SL_CHANGE_DELETE };
/* Some changes in key order. Keys are one a change; `before` has the base's row of every update and delete, `after` the
 * result's row of every insert and update, both of all columns of the merge, in the same order. NULL: not asked for, or
 * none. All of it is borrowed by the call. */
struct sl_changes {
    const uint8_t *ops; /* enum sl_change */
    int64_t count;
    sl_array *keys;
    sl_batch *before, *after;
};
struct sl_change_sink {
    void *context;
    sl_status (*take)(void *context, const struct sl_changes *changes);
    bool keys, before, after; /* what is asked for */
};

enum sl_delete_policy {
    SL_DROP_DELETES, /* a key whose result is a delete yields nothing: reads, compactions */
    SL_KEEP_DELETES, /* it yields a delete record: flushes, log compaction (see sl_merged) */
};

struct sl_merge_options {
    enum sl_merge_mode mode;
    const char *key_column;      /* "_hoodie_record_key" */
    const char *const *ordering; /* ordering fields; none: as commit time */
    size_t ordering_count;
    /* boolean column whose true marks a delete in data rows ("_hoodie_is_deleted"); NULL: none */
    const char *delete_column;
    const char *marker_column, *marker_value; /* custom delete marker (text equality); NULL: none */
    enum sl_partial_mode partial;
    const char *unavailable;
    enum sl_delete_policy deletes;
    /* default layout: logs folded among themselves, base joined last (spec 8.1) */
    bool classic;
    bool keep_duplicates; /* plain insert: no folding at all, order by (key, source, row) */
    /* the result's batches may have dictionaries, as those of the runs have */
    bool keep_dictionaries;
    enum sl_order_policy order;
    const sl_type *schema; /* of the result; every data run has exactly it (conform before) */
    int64_t batch_rows;    /* rows a batch of the result; 0: 16384 */
    const sl_runtime *runtime;
    sl_pool *pool; /* copies columns in parallel; NULL: inline */
    /* Only for sl_merge_open and its list: who is told what the merge changes; lives as long as the result. NULL: nobody. No
     * run but the base may then be copied undecoded. */
    const struct sl_change_sink *changes;
};

/* Whether the merge looks at the column of a run to decide what becomes of a row, beside those that it copies. */
bool sl_merge_looks_at(const struct sl_merge_options *options, const char *column, bool is_base);
/* Whether rows may come late at all: rules that look at every column, or drop no row, have no use for it. */
bool sl_merge_may_be_late(const struct sl_merge_options *options);

struct sl_merge_counts {
    uint64_t rows_in;     /* records of all runs, deletes included */
    uint64_t rows_out;    /* data rows of the result */
    uint64_t deletes_in;  /* rows of delete runs and marked rows, of rows_in */
    uint64_t deletes_out; /* delete records of sl_merge_operands */
    uint64_t updated;  /* keys of base rows that yield another row: replaced, filled up, or one of several */
    uint64_t inserted; /* keys without a base row that yield a row */
    uint64_t deleted;  /* base keys that yield nothing (or a delete) */
    uint64_t comparisons;
    uint64_t gallop_rows; /* rows copied as stretches without a comparison each */
};

/* The merged rows as a stream of options->schema. Takes over the runs' streams (also on failure). `counts` (may be NULL,
 * borrowed until close) is final once the stream has ended. With SL_KEEP_DELETES use sl_merge_operands instead. */
SL_MUST_USE sl_status sl_merge_open(const struct sl_run *runs, size_t count,
                                    const struct sl_merge_options *options, struct sl_merge_counts *counts,
                                    sl_stream **out);

/* Runs that are opened when their turn comes, so that there may be thousands. */
struct sl_run_list {
    size_t count;
    bool has_base; /* run 0 is the base */
    void *context;
    sl_status (*open)(void *context, size_t index, struct sl_run *out); /* called once for each run */
};
#define SL_MERGE_OPEN_LEAST 8 /* sources: so many are open at once whatever the budget says */
/* sl_merge_open of the list with at most `max_open` runs open at once (0: no limit). Where there are more, neighbours are folded
 * first into temporary runs, which holds back no memory but these; the result and the counts are those of one merge. */
SL_MUST_USE sl_status sl_merge_open_list(const struct sl_run_list *list, size_t max_open,
                                         const struct sl_merge_options *options,
                                         struct sl_merge_counts *counts, sl_stream **out);

/* ---- operands: merging that must keep deletes ---------------------------------------------------------- */

/* A flush or a log compaction folds without the base record, so its result must behave like its inputs after any older
 * record (spec/lsm-layout.md 12.1): per key one operand, or two when a commit-time delete is followed by more
 * (`first` = the commit-time deletes, `second` = what follows them). All four are sorted by key. Batches are delivered
 * through the callbacks in key order within each kind; a batch is borrowed by the call. */
struct sl_operand_sink {
    void *context;
    sl_status (*rows)(void *context, sl_batch *batch, bool second); /* data rows of options->schema */
    /* delete_schema: key, then nullable ordering fields */
    sl_status (*deletes)(void *context, sl_batch *batch, bool second);
};
/* delete_schema gets one reference: _hoodie_record_key required string, then each ordering field nullable (event time). */
SL_MUST_USE sl_status sl_delete_schema(const struct sl_merge_options *options, const sl_type **out);
SL_MUST_USE sl_status sl_merge_operands(const struct sl_run *runs, size_t count,
                                        const struct sl_merge_options *options,
                                        const struct sl_operand_sink *sink, struct sl_merge_counts *counts);

/* The same for a list without a base, as sl_merge_open_list. */
SL_MUST_USE sl_status sl_merge_operands_list(const struct sl_run_list *list, size_t max_open,
                                             const struct sl_merge_options *options,
                                             const struct sl_operand_sink *sink,
                                             struct sl_merge_counts *counts);

/* ---- sorting and spilling ------------------------------------------------------------------------------ */

/* Collects rows in arrival order; gives them back as sorted runs, oldest first, ties inside a run in arrival order.
 * Several sorters (one a file group) share one budget: when it is exhausted the owner chooses which of them spills. */
typedef struct sl_sorter sl_sorter;
SL_MUST_USE sl_status sl_sorter_new(const sl_type *schema, const char *key_column, const sl_runtime *runtime,
                                    sl_sorter **out);
/* A temporary file of spilled runs, without a name from the start (a crash leaves nothing). */
typedef struct sl_spill sl_spill;
SL_MUST_USE sl_status sl_spill_new(const sl_runtime *runtime, sl_spill **out);
void sl_spill_free(sl_spill *spill); /* NULL is fine */
/* How many spilled runs one of `merges` that go on at once may open within the budget. */
size_t sl_spill_fan_in(const sl_runtime *runtime, size_t merges);
/* Lets the sorter spill into a file that other sorters share, one thread at a time; it must outlive the sorter's runs. A
 * sorter that was given none makes its own. */
void sl_sorter_share(sl_sorter *sorter, sl_spill *spill);
/* Rows `rows[0..count)` of the batch. Copies. SL_E_MEMORY from a sorter that is still usable: the budget has no room and
 * nothing was taken; the owner may spill this sorter or another one and try again, or append fewer rows. */
SL_MUST_USE sl_status sl_sorter_append(sl_sorter *sorter, const sl_batch *batch, const uint32_t *rows,
                                       size_t count);
/* The same when nobody can make room: spills the sorter's own rows, and goes over the budget if that is not enough. */
SL_MUST_USE sl_status sl_sorter_force(sl_sorter *sorter, const sl_batch *batch, const uint32_t *rows,
                                      size_t count);
/* All rows of the batch, by force. */
SL_MUST_USE sl_status sl_sorter_append_all(sl_sorter *sorter, const sl_batch *batch);
/* ... and of what is left of a stream, which stays open; `runtime` may cancel (NULL: nobody). */
SL_MUST_USE sl_status sl_sorter_append_stream(sl_sorter *sorter, sl_stream *rows, const sl_runtime *runtime);
/* false: an append failed half way, the sorter may only be freed */
bool sl_sorter_usable(const sl_sorter *sorter);
size_t sl_sorter_memory(const sl_sorter *sorter);
uint64_t sl_sorter_rows(const sl_sorter *sorter);
/* Sorts what is in memory, so that the runs are at hand sooner. More rows may follow. */
SL_MUST_USE sl_status sl_sorter_sort(sl_sorter *sorter);
/* Sorts what is in memory and writes it as one run to the temporary file. */
SL_MUST_USE sl_status sl_sorter_spill(sl_sorter *sorter);
/* The runs, oldest first; *runs (array) is the caller's, each stream must be closed (or given to a merge). The sorter must
 * outlive them. When there are more than `fan_in` runs, neighbours are merged first, a prefix or in passes over all,
 * keeping every record: no folding. fan_in 0 or 1: one run comes out. */
SL_MUST_USE sl_status sl_sorter_finish(sl_sorter *sorter, size_t fan_in, struct sl_run **runs, size_t *count);
void sl_sorter_free(sl_sorter *sorter); /* NULL is fine */

/* A stream that sorts another one externally under the budget: repairs runs in a foreign order. Takes over `rows`. */
SL_MUST_USE sl_status sl_sort_stream(sl_stream *rows, const char *key_column, const sl_runtime *runtime,
                                     sl_stream **out);

#endif
