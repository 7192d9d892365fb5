/* Private to merge/: streams as views that a cursor walks along, analysed once (run_view.c, view_keys.c, view_marks.c, cursor.c). */
#ifndef SL_MERGE_VIEW_INT_H
#define SL_MERGE_VIEW_INT_H

#include "merge/loser_tree_int.h"

struct merge_plan;

/* ---- keys ---------------------------------------------------------------------------------------------- */

/* Keys of a table mostly begin alike (trip-0000...), and then their first 8 bytes tell nothing apart. So prefixes are taken
 * behind bytes that all keys seen so far have in common; not behind more of them than leave 8 for the longest key. Keys with
 * fewer of them make prefixes be taken anew. */
struct key_space {
    sl_buf common; /* the first `len` bytes of it; empty before the first key */
    size_t len;
    size_t longest;
    bool any, shrunk; /* shrunk: prefixes of views and heads are of a longer common part */
};

/* ---- views: one batch of a run, analysed --------------------------------------------------------------- */

/* Of a merge at most: first and second operands; or the result, and rows before and after a change. */
enum { GATHERS = 3 };

struct cursor;
/* Counted so that a survivor may outlive its cursor's stay in the batch. One thread only. */
struct view {
    int refs;
    struct cursor *owner;
    sl_batch *keys; /* what the stream yielded */
    sl_batch *
        batch; /* all columns of some of its rows; NULL: none were loaded yet. The same where nothing comes late. */
    int64_t batch_first, batch_rows;
    int64_t run_row; /* of the run: the first row */
    const sl_array *key;
    sl_array **ordering; /* of the plan's types; NULL member: the run lacks the column, all null */
    uint64_t *prefix;    /* of each row, behind the common bytes */
    bool whole;          /* as of sl_heads */
    uint8_t *repeats;    /* bit i: row i + 1 of this batch has the key of row i */
    uint8_t *deletes;    /* bit i: row i carries a delete marker */
    bool has_repeats, has_deletes;
    bool incomparable; /* an ordering column that cannot become the reader's type: the newer record wins */
    bool is_base, is_delete_run;
    int64_t rows;
    int64_t rows_cap;
    size_t row_bytes;      /* of `batch`: average; of texts with a dictionary the longest */
    int32_t slot[GATHERS]; /* its place among the views of a gather, -1: not there */
};
SL_INLINE struct view *view_ref(struct view *view)
{
    view->refs++;
    return view;
}
void view_unref(struct view *view); /* NULL is fine */
/* The next batch of the run that has rows, or NULL. The cursor's view must still be the one before. */
SL_MUST_USE sl_status run_view_load(struct cursor *cursor, struct view **out);
void run_view_free(struct view *view); /* a spare one; NULL is fine */

/* Always a valid pointer, also for an empty key. */
SL_INLINE const uint8_t *view_key(const struct view *view, int64_t row, size_t *len)
{
    static const uint8_t empty;
    const uint8_t *key = sl_bytes_at(view->key, row, len);
    return *len ? key : &empty;
}
SL_INLINE bool view_is_delete(const struct view *view, int64_t row)
{
    return view->is_delete_run || (view->has_deletes && bit_get(view->deletes, row));
}
/* First row in [from, to) whose bit is `value`, or `to`. */
int64_t bitmap_next(const uint8_t *bits, int64_t from, int64_t to, bool value);
/* First row in [from, rows) whose key is not below the head (NULL: no bound). Row `from` is known to be below. */
int64_t view_rows_below(const struct view *view, int64_t from, const struct sl_heads *bound);
/* view_keys.c: prefixes, order and repeated keys; `c` still stands in the view before. */
SL_MUST_USE sl_status view_analyse_keys(const struct cursor *c, struct view *view);
/* Prefixes anew from the row on, after the key space has shrunk. */
void view_reload_prefixes(const struct key_space *space, struct view *view, int64_t from);
/* view_marks.c: which rows are deletes; their ordering values, of the plan's types. */
SL_MUST_USE sl_status view_analyse_marks(struct cursor *c, struct view *view);

/* ---- cursors: where a run stands ----------------------------------------------------------------------- */

/* The dictionary that a column had last, which batches share: its longest text is looked for once. */
struct known_dictionary {
    sl_array *array;
    size_t longest;
};
struct cursor {
    struct sl_run run;
    const struct merge_plan *plan;
    struct key_space *space; /* shared by all cursors of a merge */
    struct view *view;       /* NULL before the first row and at the end */
    struct sl_heads *at;     /* the row of the view where the cursor stands; the tree moves it */
    /* the next view, loaded early when the last row of a view had to know whether it repeats */
    struct view *ahead;
    struct view *spare; /* kept for its memory */
    bool ended;
    int key, delete_flag, marker, operation; /* column indexes, -1: none */
    int *ordering;
    char *name; /* for errors */
    int64_t rows_loaded;
    uint64_t deletes_loaded;
    struct known_dictionary *dictionaries; /* of each column */
    size_t dictionary_count;
    sl_buf scratch;
};
/* run_columns.c: where the run has what the merge looks at; that it has all columns of the result, now or late. */
SL_MUST_USE sl_status cursor_find_columns(struct cursor *cursor);
SL_MUST_USE sl_status cursor_check_schema(const struct cursor *cursor);
/* Takes over the stream in every case; cursor_close frees what a failed open left. */
SL_MUST_USE sl_status cursor_open(struct cursor *cursor, const struct sl_run *run,
                                  const struct merge_plan *plan, struct key_space *space,
                                  struct sl_heads *at);
/* Loads the first rows, before the cursor stands on one. */
SL_MUST_USE sl_status cursor_prime(struct cursor *cursor);
/* Prefixes anew, after the key space has shrunk. */
void cursor_reload_prefixes(struct cursor *cursor);
void cursor_close(struct cursor *cursor);
/* From the end of a view to the first row of the next one. */
SL_MUST_USE sl_status cursor_next_view(struct cursor *cursor);
/* Loads columns that come late, from the row on. What was loaded before of the view is dropped. */
SL_MUST_USE sl_status view_complete(struct view *view, int64_t row);
/* Whether the row behind the view has the key of its last one. */
SL_MUST_USE sl_status cursor_last_repeats(struct cursor *cursor, bool *repeats);

#endif
