/* Shared inside src/api only: handles and the passage between the public and the inner world. */
#ifndef SL_API_INT_H
#define SL_API_INT_H

#include "service/service.h"
#include "sluice/sluice.h"
#include "write/input.h"
#include <pthread.h>

struct sluice_table {
    atomic_int users; /* its owner, and every scan, stream, writer and job that is open */
    sl_table *table;
    sl_pool *pool;
    sl_budget budget;
    atomic_bool cancel;
    sluice_callbacks callbacks;
    pthread_mutex_t callback_mutex; /* callbacks come one at a time */
    sl_runtime runtime;
    char *temp_dir;
    sl_lookup *lookup;   /* made by the first lookup */
    sl_read_stats reads; /* of writes and services */
    pthread_mutex_t lookup_mutex;
};

/* What a handle needs stays open as long as it, in whatever order they are closed. */
sluice_table *api_table_ref(sluice_table *t);
/* Moves a status into the caller's error and gives its code; frees it. */
int api_result(sl_status status, sluice_error *e);
/* Pointers of the caller that may not be NULL, as a status that names the first that is: arguments.c. */
#define API_ARGUMENTS(...)                                                                                   \
    api_arguments(#__VA_ARGS__, (const void *const[]){__VA_ARGS__},                                          \
                  sizeof((const void *const[]){__VA_ARGS__}) / sizeof(const void *))
SL_MUST_USE sl_status api_arguments(const char *names, const void *const *arguments, size_t count);
/* The same for the items of a list; a list of none may be NULL. */
SL_MUST_USE sl_status api_items(const char *name, const char *const *items, size_t count);
/* Returns SLUICE_E_INPUT from the calling function, which has an `e`. */
#define API_REQUIRE(...)                                                                                     \
    do {                                                                                                     \
        sl_status missing_ = API_ARGUMENTS(__VA_ARGS__);                                                     \
        if (missing_)                                                                                        \
            return api_result(missing_, e);                                                                  \
    } while (0)
/* For calls that consume an argument also on failure. */
int api_drop_array(struct ArrowArray *array, sl_status status, sluice_error *e);
int api_drop_stream(struct ArrowArrayStream *rows, sl_status status, sluice_error *e);
/* key, value, ..., NULL with every name and value checked. NULL: none. */
SL_MUST_USE sl_status api_options(const char *const *options, sl_properties *out);
SL_MUST_USE sl_status api_operation(enum sluice_operation operation, enum sl_operation *out);
/* What a scan was asked for; borrowed from it. Gives its table. */
sluice_table *api_scan_options(const sluice_scan *s, struct sl_scan_options *out);
void api_read_stats(const sl_read_stats *stats, sluice_scan_stats *out);
void api_commit_info(const struct sl_write_result *result, sluice_commit_info *info);
/* The same after a write, which may set services off. */
void api_committed(sluice_table *t, const struct sl_write_result *result, sluice_commit_info *info);

/* A stream as Arrow stream. Takes over `rows`, also on failure. `memory`: the budget of the table whose rows they are,
 * which who writes them out keeps to; 0: there is none. */
SL_MUST_USE sl_status api_export_stream(sl_stream *rows, uint64_t memory, struct ArrowArrayStream *out);
/* The rows inside a stream that api_export_stream made; it is consumed. False: it is somebody else's. A failure of the rows
 * keeps its code this way, for which the interface has no room. */
bool api_take_stream(struct ArrowArrayStream *stream, sl_stream **rows, uint64_t *memory);
/* A deep copy of what an import needs of an Arrow schema: formats, names, flags, children, dictionaries. */
SL_MUST_USE sl_status api_copy_schema(const struct ArrowSchema *from, struct ArrowSchema *to);

/* JSON text of a description. */
SL_MUST_USE sl_status describe_info(const sl_table *table, json_t **out);
SL_MUST_USE sl_status describe_timeline(const sl_table *table, json_t **out);
SL_MUST_USE sl_status describe_files(const sl_table *table, json_t **out);
SL_MUST_USE sl_status api_json_text(json_t *json, char **out); /* takes over json */

/* Tasks and results between processes: versioned, with a checksum and the name of their table. */
enum api_blob { API_TASK, API_RESULT };
SL_MUST_USE sl_status api_blob_seal(enum api_blob kind, const sl_table *table, json_t *json,
                                    char **out); /* takes over json, an object */
SL_MUST_USE sl_status api_blob_open(enum api_blob kind, const sl_table *table, const void *blob, size_t bytes,
                                    json_t **out);

#endif
