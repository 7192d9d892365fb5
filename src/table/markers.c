/*
 * Markers announce data files before they are written, so that whoever finds a dead writer's instant knows
 * what to remove (spec/timeline.md 9.1). We write the DIRECT form and read both.
 */
#include "table/table_int.h"
#include <stdio.h>
#include <string.h>

#define MARKER_FILE_BYTES_MAX ((size_t)256 << 20)

static sl_status marker_folder(const sl_table *table, const char *instant, char **out)
{
    char relative[SL_INSTANT_BYTES + 16];
    snprintf(relative, sizeof relative, ".temp/%s", instant);
    return hoodie_path(table, relative, out);
}

static sl_status marker_path(const char *folder, const struct sl_planned_file *file, char **out)
{
    char *below = NULL, *marked = NULL;
    sl_status status = SL_OK;
    SL_GO(sl_asprintf(&marked, "%s.marker.%s", file->name, file->kind));
    SL_GO(sl_path_join(file->partition, marked, &below));
    status = sl_path_join(folder, below, out);
done:
    sl_free(marked);
    sl_free(below);
    return status;
}

sl_status markers_create(const sl_table *table, const char *instant, const struct sl_planned_file *files,
                         size_t count, bool folders_durable)
{
    char *top = NULL, *folder = NULL, **paths;
    sl_status status = SL_OK;
    SL_NEW_ARRAY(paths, count + 1);
    SL_GO(hoodie_path(table, ".temp", &top));
    SL_GO(marker_folder(table, instant, &folder));
    for (size_t i = 0; i < count; i++)
        SL_GO(marker_path(folder, &files[i], &paths[i]));
    status = sl_storage_create_empty(table->storage, paths, count, folders_durable ? NULL : top);
done:
    for (size_t i = 0; i < count; i++)
        sl_free(paths[i]);
    sl_free(paths);
    sl_free(folder);
    sl_free(top);
    return status;
}

sl_status markers_delete(const sl_table *table, const char *instant)
{
    char *folder;
    SL_TRY(marker_folder(table, instant, &folder));
    sl_status status = sl_storage_delete_tree(table->storage, folder);
    sl_free(folder);
    return status;
}

/* The last ".marker." of a marker's path, which a known type follows; NULL: it is none (Hadoop's `.crc` files). */
static char *marker_suffix(char *path)
{
    static const char *const types[] = {"CREATE", "MERGE", "APPEND"};
    char *suffix = NULL;
    for (char *at = path; (at = strstr(at, ".marker.")); at++)
        suffix = at;
    for (size_t i = 0; suffix && i < sizeof types / sizeof *types; i++)
        if (strcmp(suffix + 8, types[i]) == 0)
            return suffix;
    return NULL;
}

/* "p=1/x.parquet.marker.CREATE" -> "p=1/x.parquet" */
static sl_status add_marked(const char *marker, size_t len, sl_strings *out)
{
    char *text = sl_strndup(marker, len);
    if (!text)
        return sl_nomem();
    char *suffix = marker_suffix(text);
    sl_status status = SL_OK;
    if (suffix) {
        *suffix = 0;
        status = sl_strings_add(out, text);
    }
    sl_free(text);
    return status;
}

static sl_status walk_direct(const sl_table *table, const char *folder, const char *relative, sl_strings *out)
{
    char *path = NULL;
    sl_listing listing = {0};
    sl_status status = SL_OK;
    SL_GO(sl_path_join(folder, relative, &path));
    SL_GO(sl_storage_list(table->storage, path, &listing));
    for (size_t i = 0; i < listing.count; i++) {
        char *child;
        SL_GO(sl_path_join(relative, listing.entries[i].name, &child));
        status = listing.entries[i].is_dir ? walk_direct(table, folder, child, out)
                                           : add_marked(child, strlen(child), out);
        sl_free(child);
        if (status)
            goto done;
    }
done:
    sl_listing_free(&listing);
    sl_free(path);
    return status;
}

/* MARKERS0, MARKERS1, ...: one marker a line. */
static sl_status read_lists(const sl_table *table, const char *folder, const sl_listing *listing,
                            sl_strings *out)
{
    for (size_t i = 0; i < listing->count; i++) {
        const char *name = listing->entries[i].name;
        if (strncmp(name, "MARKERS", 7) != 0 || strcmp(name, "MARKERS.type") == 0)
            continue;
        char *path;
        sl_buf text = {0};
        SL_TRY(sl_path_join(folder, name, &path));
        sl_status status = sl_storage_read_all(table->storage, path, MARKER_FILE_BYTES_MAX, &text);
        const char *at = (const char *)text.data, *end = at + text.len;
        while (!status && at < end) {
            const char *newline = memchr(at, '\n', (size_t)(end - at));
            size_t len = (size_t)((newline ? newline : end) - at);
            status = add_marked(at, len, out);
            at += len + 1;
        }
        sl_buf_free(&text);
        sl_free(path);
        SL_TRY(status);
    }
    return SL_OK;
}

sl_status markers_read(const sl_table *table, const char *instant, sl_strings *data_files, bool *found)
{
    char *folder = NULL, *type = NULL;
    sl_listing listing = {0};
    bool lists;
    sl_status status = SL_OK;
    *found = false;
    SL_GO(marker_folder(table, instant, &folder));
    status = sl_storage_list(table->storage, folder, &listing);
    if (sl_status_code(status) == SL_E_NOT_FOUND) {
        sl_status_free(status);
        status = SL_OK;
        goto done;
    }
    if (status)
        goto done;
    *found = true;
    SL_GO(sl_path_join(folder, "MARKERS.type", &type));
    SL_GO(sl_storage_exists(table->storage, type, &lists));
    status =
        lists ? read_lists(table, folder, &listing, data_files) : walk_direct(table, folder, "", data_files);
done:
    sl_listing_free(&listing);
    sl_free(folder);
    sl_free(type);
    return status ? sl_context(status, "markers of instant %s", instant) : SL_OK;
}
