/* A scan between its parts (scan.c) and its tasks (scan_tasks.c). */
#ifndef SL_QUERY_SCAN_INT_H
#define SL_QUERY_SCAN_INT_H

#include "query/query.h"

/* ---- the file groups of keys (key_buckets.c) ----------------------------------------------------------- */

struct key_buckets {
    uint32_t *of_key; /* by index in the set; NULL: any group may hold any key */
    uint32_t count;
};
SL_MUST_USE sl_status key_buckets_init(struct key_buckets *b, const sl_table *table, const sl_key_set *keys);
void key_buckets_free(struct key_buckets *b); /* zero-initialised is fine */
bool key_buckets_hold(const struct key_buckets *b, const sl_file_group *group, size_t key);
bool key_buckets_hold_any(const struct key_buckets *b, const sl_file_group *group, size_t key_count);

struct scan {
    const sl_table *table;
    sl_read_stats *stats;
    sl_view view;
    sl_read_slice *slices;
    size_t slice_count;
    const sl_type *table_schema; /* all columns with the meta columns */
    const sl_type *read_schema;  /* wanted columns, then those only the filter needs */
    const sl_type *schema;       /* wanted columns */
    sl_expr *where;
    sl_strings where_columns;
    bool prunes; /* sluice.scan.pruning */
    bool few_rows;
    struct sl_row_filter filter;
    bool key_is_field; /* the record key is the text of its one field */
    sl_key_set keys;   /* the keys that `where` leaves possible */
    bool has_keys;     /* else it does not name them */
    struct key_buckets buckets;
    sl_parquet_memory **memories; /* of each thread: what another one has used is in its caches */
    unsigned thread_count;        /* that read slices */
    sl_pool *pool;                /* for columns inside one slice, when slices are not read in parallel */
};

/* ---- the scan ------------------------------------------------------------------------------------------ */

void scan_free(void *context); /* a struct scan */
/* View, schema, expression, columns and the slices that may hold matching rows. */
SL_MUST_USE sl_status scan_load(struct scan *s, const struct sl_scan_options *options);
/* schema and read_schema from table_schema, the wanted names and the filter's. */
SL_MUST_USE sl_status scan_choose_columns(struct scan *s, const struct sl_scan_options *options);
/* The table's columns with the meta columns, where it has them. */
SL_MUST_USE sl_status scan_table_schema(const sl_table *table, const sl_timeline *timeline,
                                        const sl_type **out);
/* The named columns; names NULL: all. */
SL_MUST_USE sl_status scan_pick_columns(const sl_type *table_schema, const char *const *names, size_t count,
                                        const sl_type **out);
/* Counts what comes out, reports progress, ends after `limit` rows (-1: never). Takes over `rows`. */
SL_MUST_USE sl_status scan_result_stream(const sl_runtime *runtime, sl_read_stats *stats, sl_stream *rows,
                                         int64_t limit, sl_stream **out);
/* What pruning needs to know of `where`. */
SL_MUST_USE sl_status scan_set_filter(struct scan *s);
bool scan_key_is_field(const sl_table *table, const sl_type *schema);
SL_MUST_USE sl_status scan_key_values(const sl_table *table, const sl_type *schema, const sl_expr *where,
                                      sl_key_set *keys, bool *known);
/* Merged, filtered and projected rows of slice `index`; context: a struct scan. */
SL_MUST_USE sl_status scan_open_slice(void *context, size_t index, unsigned thread, sl_stream **out);

#endif
