/*
 * The archived timeline of versions 8 and later (spec/timeline.md 7.1): Parquet files of instants in .hoodie/timeline/history,
 * the newest manifest says which of them count. Only the times are read here. They decide where a log belongs: one that was
 * requested before a compaction and completed after it lies on top of the new base, not below it.
 */
#include "table/table_int.h"
#include "parquet/parquet.h"
#include <jansson.h>
#include <string.h>

#define MANIFEST_BYTES_MAX ((size_t)64 << 20)
#define TRIES              3 /* the archive may be merged while it is read: then the files of the manifest are gone */

static sl_status history_path(const sl_table *table, const char *file, char **out)
{
    const char *folder = sl_properties_get_or(&table->properties, "hoodie.timeline.history.path", "history");
    char *relative;
    SL_TRY(sl_path_join(folder, file, &relative));
    sl_status status = timeline_path(table, relative, out);
    sl_free(relative);
    return status;
}

/* ---- manifest ------------------------------------------------------------------------------------------ */

static bool manifest_version(const char *name, uint64_t *version)
{
    static const char prefix[] = "manifest_";
    char *end;
    if (strncmp(name, prefix, sizeof prefix - 1) != 0 || !isdigit((unsigned char)name[sizeof prefix - 1]))
        return false;
    *version = strtoull(name + sizeof prefix - 1, &end, 10);
    return !*end;
}

/* The name of the newest manifest in the folder, "" when there is none. `_version_` names it too, but is deleted and
 * made again at every change. */
static sl_status newest_manifest(const sl_table *table, char *out, size_t bytes)
{
    char *path;
    sl_listing listing = {0};
    uint64_t newest = 0;
    *out = 0;
    SL_TRY(history_path(table, "", &path));
    sl_status status = sl_storage_list(table->storage, path, &listing);
    sl_free(path);
    if (sl_status_code(status) == SL_E_NOT_FOUND) {
        sl_status_free(status);
        return SL_OK;
    }
    SL_TRY(status);
    for (size_t i = 0; i < listing.count; i++) {
        uint64_t version;
        if (!manifest_version(listing.entries[i].name, &version) || version < newest)
            continue;
        newest = version;
        snprintf(out, bytes, "%s", listing.entries[i].name);
    }
    sl_listing_free(&listing);
    return SL_OK;
}

static sl_status manifest_files(const sl_table *table, const char *manifest, sl_strings *out)
{
    sl_buf text = {0};
    char *path;
    json_error_t error;
    json_t *json = NULL, *file;
    size_t i;
    SL_TRY(history_path(table, manifest, &path));
    sl_status status = sl_storage_read_all(table->storage, path, MANIFEST_BYTES_MAX, &text);
    sl_free(path);
    if (!status && !(json = json_loadb((const char *)text.data, text.len, 0, &error)))
        status = sl_corrupt("JSON: %s", error.text);
    json_array_foreach(json_object_get(json, "files"), i, file)
    {
        const char *name = json_string_value(json_object_get(file, "fileName"));
        if (!status)
            status =
                name && !strchr(name, '/') ? sl_strings_add(out, name) : sl_corrupt("a file without name");
    }
    json_decref(json);
    sl_buf_free(&text);
    return sl_context(status, "archived timeline, %s", manifest);
}

/* ---- instants ------------------------------------------------------------------------------------------ */

static sl_status add_instant(sl_timeline *timeline, size_t *cap, const struct sl_archived_instant *instant)
{
    SL_GROW(timeline->archived, timeline->archived_count, *cap, 64);
    timeline->archived[timeline->archived_count++] = *instant;
    return SL_OK;
}

/* False: null, or no instant. */
static bool take_text(const sl_array *column, int64_t row, char *out, size_t bytes)
{
    size_t len;
    if (!sl_is_valid(column, row))
        return false;
    const uint8_t *text = sl_bytes_at(column, row, &len);
    if (len == 0 || len >= bytes)
        return false;
    memcpy(out, text, len);
    out[len] = 0;
    return true;
}

static sl_status add_rows(sl_timeline *timeline, size_t *cap, const sl_batch *batch)
{
    for (size_t c = 0; c < batch->schema->field_count; c++)
        if (batch->schema->fields[c].type->id != SL_STRING)
            return sl_corrupt("column %s is not a string", batch->schema->fields[c].name);
    for (int64_t row = 0; row < batch->rows; row++) {
        struct sl_archived_instant instant;
        char action[32];
        if (take_text(batch->columns[0], row, instant.requested, sizeof instant.requested) &&
            take_text(batch->columns[1], row, instant.completed, sizeof instant.completed) &&
            take_text(batch->columns[2], row, action, sizeof action) && timeline_action_writes(action))
            SL_TRY(add_instant(timeline, cap, &instant));
    }
    return SL_OK;
}

struct archive {
    sl_timeline *timeline;
    size_t *cap;
};

static sl_status add_batch(void *context, sl_batch *batch)
{
    const struct archive *a = context;
    return add_rows(a->timeline, a->cap, batch);
}

static sl_status read_rows(sl_parquet *parquet, sl_timeline *timeline, size_t *cap)
{
    static const char *const columns[] = {"instantTime", "completionTime", "action"};
    sl_stream *rows;
    SL_TRY(sl_parquet_scan(parquet, &(struct sl_parquet_scan_options){.columns = columns, .column_count = 3},
                           &rows));
    sl_status status = sl_stream_drain(rows, NULL, add_batch, &(struct archive){timeline, cap});
    sl_stream_close(rows);
    return status;
}

static sl_status read_file(const sl_table *table, const char *name, sl_timeline *timeline, size_t *cap)
{
    char *path = NULL;
    sl_file *file = NULL;
    sl_parquet *parquet = NULL;
    sl_status status = SL_OK;
    SL_GO(history_path(table, name, &path));
    SL_GO(sl_storage_open(table->storage, path, &file));
    SL_GO(sl_parquet_open(file, NULL, &parquet));
    status = read_rows(parquet, timeline, cap);
done:
    sl_parquet_close(parquet);
    sl_file_close(file);
    sl_free(path);
    return sl_context(status, "archived timeline, %s", name);
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static int by_requested(const void *a, const void *b)
{
    const struct sl_archived_instant *x = a, *y = b;
    return strcmp(x->requested, y->requested);
}

static sl_status read_history(const sl_table *table, sl_timeline *timeline)
{
    char manifest[64];
    sl_strings files = {0};
    size_t cap = 0;
    SL_TRY(newest_manifest(table, manifest, sizeof manifest));
    sl_status status = *manifest ? manifest_files(table, manifest, &files) : SL_OK;
    for (size_t i = 0; i < files.count && !status; i++)
        status = read_file(table, files.items[i], timeline, &cap);
    sl_strings_free(&files);
    if (!status && timeline->archived_count)
        qsort(timeline->archived, timeline->archived_count, sizeof *timeline->archived, by_requested);
    return status;
}

sl_status timeline_load_history(const sl_table *table, sl_timeline *timeline)
{
    sl_status status = SL_OK;
    for (int i = 0; i < TRIES; i++) {
        sl_status_free(status);
        timeline_free_history(timeline);
        status = read_history(table, timeline);
        if (sl_status_code(status) != SL_E_NOT_FOUND)
            break;
    }
    if (status)
        timeline_free_history(timeline);
    timeline->history_is_loaded = !status;
    return status;
}

void timeline_free_history(sl_timeline *timeline)
{
    sl_free(timeline->archived);
    timeline->archived = NULL;
    timeline->archived_count = 0;
}

const char *timeline_archived_completion(const sl_timeline *timeline, const char *requested)
{
    size_t low = 0, high = timeline->archived_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(timeline->archived[middle].requested, requested);
        if (order == 0)
            return timeline->archived[middle].completed;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
