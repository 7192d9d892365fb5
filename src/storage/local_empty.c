/*
 * Empty files, many at once: names that shall be there after a power failure. What makes a name durable is a sync of its
 * folder; the file has no content to sync, and file systems write a name together with what it stands for. So each
 * folder is synced once, the innermost first: a folder's own name counts only when its parent is synced.
 *
 * Markers are made so, under their own name: Hudi's rollback takes every name in a marker folder for a marker, and fails on
 * one that ends with a uuid as those of half-made files do (local_commit.c).
 */
#include "storage/storage_int.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static sl_status create_one(const char *path, sl_strings *unsynced)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    int fd = open(path, flags, 0666);
    if (fd < 0 && errno == ENOENT) {
        SL_TRY(local_make_parent(path, unsynced));
        fd = open(path, flags, 0666);
    }
    return fd >= 0 ? local_close_written(fd, path, SL_OK) : local_error(path, "create", errno);
}

static bool is_below(const char *path, const char *top)
{
    size_t len = strlen(top);
    return strncmp(path, top, len) == 0 && path[len] == '/';
}

/* The folder that `path` lies in, and those around it as far as `top`. One that is there already counts, too: whoever made it
 * may not have come so far as to sync its parent. */
static sl_status add_folders(const char *path, const char *top, sl_strings *unsynced)
{
    char *folder;
    SL_TRY(path_parent(path, &folder));
    sl_status status = sl_strings_add_once(unsynced, folder);
    while (!status && top && is_below(folder, top)) {
        char *inner = folder;
        SL_GO(path_parent(inner, &folder));
        sl_free(inner);
        status = sl_strings_add_once(unsynced, folder);
    }
done:
    sl_free(folder);
    return status;
}

static sl_status create_all(char *const *paths, size_t count, const char *top, sl_strings *unsynced)
{
    for (size_t i = 0; i < count; i++) {
        SL_TRY(local_remove_checksum_file(paths[i]));
        SL_TRY(create_one(paths[i], unsynced));
        SL_TRY(add_folders(paths[i], top, unsynced));
    }
    return SL_OK;
}

sl_status local_create_empty(sl_storage *storage, char *const *paths, size_t count, const char *top)
{
    (void)storage;
    sl_strings unsynced = {0};
    sl_status status = create_all(paths, count, top, &unsynced);
    sl_strings_sort(&unsynced); /* a folder stands before what is in it */
    for (size_t i = unsynced.count; i-- > 0 && !status;)
        status = local_sync_folder(unsynced.items[i]);
    sl_strings_free(&unsynced);
    return status;
}
