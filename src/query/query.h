/*
 * query: rows out of a table.
 *
 *   sl_expr     `--where`: parsed, bound to a schema, evaluated on batches and on statistics
 *   sl_lookup   keys -> buckets -> a few pages of each source -> merged rows
 *   sl_scan     view -> slices that may match -> merged rows in parallel -> filter -> projection -> limit
 */
#ifndef SL_QUERY_H
#define SL_QUERY_H

#include "slice/slice.h"

/* ---- expressions --------------------------------------------------------------------------------------- */

/* SQL's boolean expressions over columns (nested with dots, back-quoted when odd), literals, = != <> < <= >
 * >=, in, between, like, is [not] null, and, or, not, parentheses; date '...' and timestamp '...'.
 * Three-valued logic. */
typedef struct sl_expr sl_expr;
/* Errors name the position in the text. Literals are converted to the column's type here; one that cannot be
 * is an error. */
SL_MUST_USE sl_status sl_expr_parse(const char *text, const sl_type *schema, sl_expr **out);
void sl_expr_free(sl_expr *expr);
/* Sets the bits of rows for which the expression is true (not false, not unknown); `selection` has
 * batch->rows bits, cleared here. The batch holds the expression's columns, found by name. *selected counts
 * them. */
SL_MUST_USE sl_status sl_expr_select(const sl_expr *expr, const sl_batch *batch, uint8_t *selection,
                                     int64_t *selected);
SL_MUST_USE sl_status sl_expr_columns(const sl_expr *expr, sl_strings *top_level_names); /* each once */

/* Bounds of a top-level column over some set of rows; false: nothing is known. `out` is released by
 * sl_parquet_bounds_free. */
typedef bool (*sl_expr_bounds)(void *context, const char *column, struct sl_parquet_bounds *out);
/* Whether the rows may hold a value of the column, one row of the column's type: false is certain. */
typedef bool (*sl_expr_contains)(void *context, const char *column, const sl_array *value);
struct sl_expr_facts {
    sl_expr_bounds bounds;
    sl_expr_contains contains; /* NULL: not known */
    void *context;
};
/* False only when no row of which the facts hold can make the expression true. */
bool sl_expr_may_match_facts(const sl_expr *expr, const struct sl_expr_facts *facts);
/* The values of a top-level column one of which a row must have for the expression to be true, as an array of the column's
 * type, in no order. *out NULL: the expression does not name them all. Never for floating numbers, whose zeros and NaNs have
 * several forms. */
SL_MUST_USE sl_status sl_expr_points(const sl_expr *expr, const char *column, sl_array **out);
/* False only when no row within the bounds can make the expression true. */
bool sl_expr_may_match(const sl_expr *expr, sl_expr_bounds bounds, void *context);

/* ---- scans --------------------------------------------------------------------------------------------- */

struct sl_scan_options {
    const char *const *columns; /* NULL: all, meta columns first */
    size_t column_count;
    const char *where; /* NULL: all rows */
    const char *as_of; /* instant, any form of sl_instant_parse; NULL: now */
    bool read_optimized;
    int64_t limit; /* -1: none. Rows then come in a fixed order, from one slice after the other. */
};
/* Rows of the table. `stats` may be NULL; it is final when the stream has ended. Cancel and progress as the
 * table's runtime says. The table must outlive the stream. */
SL_MUST_USE sl_status sl_scan_open(const sl_table *table, const struct sl_scan_options *options,
                                   sl_read_stats *stats, sl_stream **out);

/* A scan in parts: each file slice that may hold matching rows is a task, a self-contained JSON object, that any process
 * which sees the table can run. The tasks name their files, so all of them read the same snapshot, as long as the files
 * are not cleaned away. *tasks is a new array. The limit does not apply. */
SL_MUST_USE sl_status sl_scan_plan(const sl_table *table, const struct sl_scan_options *options,
                                   json_t **tasks);
SL_MUST_USE sl_status sl_scan_run(const sl_table *table, const json_t *task, sl_read_stats *stats,
                                  sl_stream **out);

/* ---- lookups ------------------------------------------------------------------------------------------- */

/* Lookups by record key on a table that stays open: keeps its view and footers. Thread-safe. */
typedef struct sl_lookup sl_lookup;
SL_MUST_USE sl_status sl_lookup_new(const sl_table *table, sl_lookup **out);
void sl_lookup_free(sl_lookup *lookup); /* NULL is fine; streams must be closed before */
struct sl_lookup_request {
    sl_array *keys;             /* strings: record keys as Hudi stores them, in any order */
    const char *const *columns; /* NULL: all, meta columns first */
    size_t column_count;
    const sl_strings *partitions; /* by path or field=value, each of which must be there; NULL: all */
};
/* The rows of the keys as of the newest commit, in no fixed order, all read when the call returns. `stats` may be NULL. */
SL_MUST_USE sl_status sl_lookup_rows(sl_lookup *lookup, const struct sl_lookup_request *request,
                                     sl_read_stats *stats, sl_stream **out);

/* ---- streams in parallel ------------------------------------------------------------------------------- */

/* Several streams of one schema as one, read by `threads` threads in no fixed order. Each is opened by the
 * thread that reads it, number `thread` of [0, threads), and closed by it before it opens another. */
struct sl_parallel_source {
    const sl_type *schema;
    size_t count;
    sl_status (*open)(void *context, size_t index, unsigned thread, sl_stream **out);
    void *context;
    void (*free_context)(void *context);
};
/* Takes over the context, also on failure. */
SL_MUST_USE sl_status sl_parallel_stream(const struct sl_parallel_source *source, unsigned threads,
                                         const sl_runtime *runtime, sl_stream **out);

#endif
