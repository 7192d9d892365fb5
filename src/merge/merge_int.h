/* Private to merge/. The picture: cursor.c and run_view.c turn streams into views, loser_tree.c orders them, plain.c and rule.c
 * judge them, hand_over.c lets rows pass undecoded, gather.c collects the survivors as row ranges, changes.c tells what became
 * of the base, merge.c and operands.c are the loops around them. */
#ifndef SL_MERGE_INT_H
#define SL_MERGE_INT_H

#include "merge/view_int.h"

/* ---- what a merge was asked to do ---------------------------------------------------------------------- */

/* What orders plain records (plain.c). */
enum plain_order { PLAIN_NEVER, PLAIN_BY_AGE, PLAIN_BY_INT32, PLAIN_BY_INT64 };

struct merge_plan {
    sl_arena *names; /* the strings below live here */
    const char *key_column;
    const char *const *ordering;
    const sl_type **ordering_types; /* borrowed from the schema */
    size_t ordering_count;          /* 0: the newer record always wins */
    enum plain_order plain_order;
    const char *delete_column, *marker_column, *marker_value;
    enum sl_partial_mode partial;
    const char *unavailable;
    size_t unavailable_len;
    struct mix_pool *mixes; /* NULL: full rows */
    bool classic;
    bool keep_duplicates, keep_dictionaries;
    enum sl_order_policy order;
    const sl_type *schema;
    int64_t batch_rows;
    const sl_runtime *runtime;
    sl_pool *pool;
};
/* Checks and copies the options; the schema gets a reference. merge_plan_free frees what a failed init left.
 */
SL_MUST_USE sl_status merge_plan_init(struct merge_plan *plan, const struct sl_merge_options *options);
void merge_plan_free(struct merge_plan *plan);

/* ---- rules --------------------------------------------------------------------------------------------- */

struct record {
    struct view *view; /* a reference; NULL: no record */
    int64_t row;
    bool is_delete;
    bool is_commit_delete; /* a delete without an ordering value: beats what is older, loses to what is newer
                            */
    struct mix *mix;       /* partial updates: where each column's value is; NULL: all in the row */
};
SL_INLINE void record_hold(struct record *record)
{
    if (record->view)
        view_ref(record->view);
}
/* The record under the cursor, with a reference. */
void record_take(struct record *out, const struct cursor *cursor);
void mix_drop(struct mix *mix); /* NULL is fine */
SL_INLINE void record_drop(struct record *record)
{
    mix_drop(record->mix);
    record->mix = NULL;
    view_unref(record->view);
    record->view = NULL;
}
/* `next` replaces `kept` when the rule says so (or nothing is kept yet); the other reference is dropped. */
void rule_fold(const struct merge_plan *plan, struct record *kept,
               struct record *next); /* spec/lsm-layout.md 8.2 */
void rule_fold_logs(const struct merge_plan *plan, struct record *kept,
                    struct record *next); /* spec/log-format.md 10.3, fold */
/* Whether `next`, which came later, wins over `existing`. */
bool rule_newer_wins(const struct merge_plan *plan, const struct record *existing, const struct record *next);
void rule_join_base(const struct merge_plan *plan, struct record *base,
                    struct record *log); /* ... final: base gets the result */

/* ---- partial updates ----------------------------------------------------------------------------------- */

struct mix_pool;
SL_MUST_USE sl_status mix_pool_new(const sl_type *schema, struct mix_pool **out);
void mix_pool_free(struct mix_pool *pool); /* NULL is fine; all mixes are back in it */
/* Makes sure that one mix can be taken: before every record that is folded. NULL: nothing to do. */
SL_MUST_USE sl_status mix_pool_reserve(struct mix_pool *pool);
/* Columns in which the winner says nothing become the loser's. */
void mix_fill(const struct merge_plan *plan, struct record *winner, const struct record *loser);
/* Appends the row. */
SL_MUST_USE sl_status mix_append(const struct mix *mix, sl_batch_builder *to);

/* ---- gathering ----------------------------------------------------------------------------------------- */

/* A text column that keeps its dictionary (joined.c). */
struct joined;
SL_MUST_USE sl_status joined_new(const sl_type *type, int64_t batch_rows, struct joined **out);
void joined_free(struct joined *joined); /* NULL is fine */
/* As sl_builder_append_picks. Rows that cannot stay encoded go to `texts`, then all rows of the batch. */
SL_MUST_USE sl_status joined_append(struct joined *joined, sl_builder *texts, const sl_array *const *sources,
                                    size_t source_count, const struct sl_picks *picks);
SL_MUST_USE sl_status joined_finish(struct joined *joined, sl_builder *texts, sl_array **out);

struct gather {
    sl_batch_builder builder;
    struct joined **joined; /* for each column; NULL: its values are copied */
    int number;             /* below GATHERS */
    bool keep_dictionaries;
    sl_pool *pool;
    struct sl_pick *picks; /* pending; a source is a place in `views` */
    size_t pick_count;
    struct view **views; /* each with a reference */
    size_t view_count, view_cap;
    sl_batch_builder mixed_builder; /* rows of mixes that are pending */
    sl_batch *mixed;                /* the same while picks are settled */
    int64_t mixed_rows;
    int64_t rows; /* settled and pending */
    int64_t pending_rows;
    size_t bytes; /* estimate of the same */
    int64_t batch_rows;
    size_t batch_bytes;
    sl_batch *whole; /* the result is this batch, as it is */
};
SL_MUST_USE sl_status gather_init(struct gather *g, int number, const struct merge_plan *plan);
void gather_free(struct gather *g);
bool gather_full(const struct gather *g);
/* At most gather_room() rows, whose columns are loaded (merger_complete). */
SL_MUST_USE sl_status gather_add(struct gather *g, struct view *view, int64_t first, int64_t count);
/* The record as one row; there must be room for it. */
SL_MUST_USE sl_status gather_record(struct gather *g, const struct record *record);
/* How many rows of the view still fit, at least 1 unless the batch is full. */
int64_t gather_room(const struct gather *g, const struct view *view);
/* The view's batch is the result, without its dictionaries; g must be empty. */
SL_MUST_USE sl_status gather_whole(struct gather *g, struct view *view);
SL_MUST_USE sl_status
gather_settle(struct gather *g); /* copies what is pending: no view is needed any more */
SL_MUST_USE sl_status gather_finish(struct gather *g, sl_batch **out); /* NULL: nothing was gathered */

/* ---- the merger: cursors and tree under one roof ------------------------------------------------------- */

/* What the fold of plain records looks at, of a cursor's view. */
struct plain_rows {
    bool any; /* all rows of the view are plain */
    bool is_base;
    const uint8_t *order; /* their ordering values; NULL where there are none */
};
struct plain_rows plain_rows_of(const struct merge_plan *plan, const struct view *view); /* NULL: no rows */

struct merger {
    struct merge_plan plan;
    struct cursor *cursors;
    struct sl_heads *heads; /* where each of them stands */
    struct plain_rows *plain;
    size_t count;
    struct key_space space;
    sl_loser_tree *tree;
    struct gather *gathers; /* settled before a view is left, so that each source holds one batch */
    size_t gather_count;
    struct sl_merge_counts *counts; /* never NULL */
    struct sl_merge_counts own_counts;
    size_t last_source;
    unsigned streak; /* groups in a row that last_source won alone */
    /* rows that come next and are to be copied by their run; 0: none */
    int64_t to_copy_rows;
    size_t to_copy;
};
/* Takes over the streams in every case; merger_close frees what a failed open left. */
SL_MUST_USE sl_status merger_open(struct merger *m, const struct sl_run *runs, size_t count,
                                  const struct sl_merge_options *options, struct gather *gathers,
                                  size_t gather_count, struct sl_merge_counts *counts);
void merger_close(struct merger *m);
/* Rows from the champion's current one on that form groups of their own and are all deletes or all none; 0:
 * the group that was opened has several records. They lie in the cursor's view. */
SL_MUST_USE sl_status merger_alone(struct merger *m, size_t source, int64_t *rows);
/* Sees to it that all columns of the row are loaded; *rows (NULL: one row) becomes no more than those from it on that are. */
SL_MUST_USE sl_status merger_complete(struct merger *m, struct view *view, int64_t row, int64_t *rows);
/* Leaves those rows behind and opens the next group. */
SL_MUST_USE sl_status merger_skip(struct merger *m, size_t source, int64_t rows);
/* Hands out all records of the open group one by one: fills `record` (a reference), view NULL at the group's
 * end, when the next group is open. */
SL_MUST_USE sl_status merger_pop(struct merger *m, struct record *record);
/* plain.c: hands out records of the open group as long as they are plain, folded into `kept`; with `log` only those of the
 * base, and the others into `log`. True: that was the whole group, and `kept` is its result, without a reference, until the
 * next group is opened. False: both are with a reference where they are at all. */
bool merger_fold_plain(const struct merger *m, struct record *kept, struct record *log, size_t *base_records);
enum plain_order plain_order_of(const struct merge_plan *plan);
/* The source is about to advance: perhaps it has rows to copy first (m->to_copy_rows). */
SL_MUST_USE sl_status merger_offer(struct merger *m, size_t source);
/* Has them copied. Nothing that comes before them may be pending. */
SL_MUST_USE sl_status merger_hand_over(struct merger *m);
void merger_count(struct merger *m); /* brings the counts that cursors and tree keep up to date */

/* ---- spilling ------------------------------------------------------------------------------------------ */

/* A temporary file that is unlinked from the start; runs lie in it one behind the other. */
struct spill_run {
    sl_spill *file; /* borrowed */
    uint64_t offset, end;
};
/* One more batch of the run that is being written; `scratch` is kept between calls. */
SL_MUST_USE sl_status spill_append(sl_spill *file, sl_buf *scratch, sl_batch *batch);
uint64_t spill_end(const sl_spill *file); /* where the next run begins */
/* Writes what the stream yields as a run behind the last one. One thread at a time. */
SL_MUST_USE sl_status spill_write(sl_spill *file, sl_stream *rows, struct spill_run *out);
/* Reads a run; the file must outlive the stream. */
SL_MUST_USE sl_status spill_read(const struct spill_run *run, const sl_type *schema, sl_stream **out);

/* ---- the sorter, over three files ---------------------------------------------------------------------- */

struct sl_sorter {
    const sl_type *schema;
    int key;
    const sl_runtime *runtime;
    sl_batch_builder builder;
    size_t builder_rows;
    sl_batch **chunks;
    size_t chunk_count, chunk_cap;
    size_t chunk_bytes;  /* of the closed ones */
    size_t chunk_target; /* CHUNK_BYTES, less in tests */
    size_t rows_in_memory;
    uint64_t rows;
    size_t reserved;            /* of the budget */
    struct sort_entry *entries; /* sorted, once sorted */
    size_t entry_count;
    sl_spill *file;            /* NULL: nothing was spilled */
    sl_spill *own;             /* the same, or that of merged runs; NULL: none */
    struct spill_run *spilled; /* oldest first */
    size_t spilled_count, spilled_cap;
    bool failed, finished;
    bool is_forced;     /* this append goes over the budget if it must */
    uint32_t *all_rows; /* 0, 1, 2, ... */
    size_t all_rows_cap;
};
SL_INLINE sl_budget *sorter_budget(const sl_sorter *s) { return s->runtime ? s->runtime->budget : NULL; }
SL_MUST_USE sl_status sorter_close_chunk(sl_sorter *s);
void sorter_drop_memory(sl_sorter *s); /* forgets the rows in memory */
/* The rows in memory in sorted order; borrows the sorter. */
SL_MUST_USE sl_status sorted_rows_open(sl_sorter *s, sl_stream **out);
/* For tests: chunks so small that a sort has several. */
void sorter_set_chunk_bytes(sl_sorter *sorter, size_t bytes);

/* Rows of a set of batches in sorted order. */
struct sort_entry {
    uint64_t prefix;
    uint32_t chunk, row;
};
/* Sorts by (key, position in `entries`); keys[c] is the key column of chunk c. `spare` has room for as many.
 */
void sort_entries(struct sort_entry *entries, struct sort_entry *spare, size_t count,
                  const sl_array *const *keys);

/* ---- changes ------------------------------------------------------------------------------------------- */

struct changes {
    struct sl_change_sink sink;    /* `take` NULL: nobody asks */
    struct gather *before, *after; /* among the merger's; NULL: not asked for */
    sl_builder *keys;              /* NULL: not asked for */
    uint8_t *ops;
    int64_t count, most;
};
/* Which of the gathers the changes use, from the first one on; gives their number. */
size_t changes_plan(struct changes *c, const struct sl_merge_options *options, struct gather *gathers);
SL_MUST_USE sl_status changes_start(struct changes *c, const struct merge_plan *plan);
void changes_free(struct changes *c);
/* Rows whose columns are loaded, each with a key that the base does not have. */
SL_MUST_USE sl_status changes_insert(struct changes *c, struct view *view, int64_t row, int64_t rows);
/* What a key had in the base before its records were folded. */
struct group_base {
    size_t count;
    bool is_kept;       /* somebody asks for the record */
    struct record last; /* of duplicates */
};
/* What became of a key; `view` of the result NULL: nothing is left. */
SL_MUST_USE sl_status changes_of_group(struct merger *m, struct changes *c, const struct group_base *base,
                                       const struct record *result);
SL_MUST_USE sl_status changes_flush(struct changes *c);

#endif
