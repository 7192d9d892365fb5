/*
 * Empty files, many at once: names that shall be there after a power failure. What makes a name durable is a sync of its
 * folder; the file has no content to sync, and file systems write a name together with what it stands for. So each
 * folder is synced once, many at the same time: nobody relies on any of the names before all are durable.
 *
 * Markers are made so, under their own name: Hudi's rollback takes every name in a marker folder for a marker, and fails on
 * one that ends with a uuid as those of half-made files do (local_commit.c).
 */
#include "storage/storage_int.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
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

/* Adds the folder that `path` lies in, and those around it as far as `top`. One that is there already counts, too: whoever made it
 * may not have come so far as to sync its parent. */
static sl_status add_folders(const char *path, const char *top, sl_strings *unsynced)
{
    char *folder;
    SL_TRY(path_parent(path, &folder));
    sl_status status = sl_strings_add(unsynced, folder);
    while (!status && top && is_below(folder, top)) {
        char *inner = folder;
        SL_GO(path_parent(inner, &folder));
        sl_free(inner);
        status = sl_strings_add(unsynced, folder);
    }
done:
    sl_free(folder);
    return status;
}

/* Of the files to be made; each waits for the file system. */
struct empty_files {
    char *const *paths;
    const char *top;
    pthread_mutex_t mutex;
    sl_strings unsynced; /* guarded by it: folders */
};

static sl_status add_unsynced(struct empty_files *files, const sl_strings *folders)
{
    sl_status status = SL_OK;
    pthread_mutex_lock(&files->mutex);
    for (size_t i = 0; i < folders->count && !status; i++)
        status = sl_strings_add(&files->unsynced, folders->items[i]);
    pthread_mutex_unlock(&files->mutex);
    return status;
}

static sl_status create_nth(void *context, size_t index)
{
    struct empty_files *files = context;
    const char *path = files->paths[index];
    sl_strings folders = {0};
    sl_status status = SL_OK;
    SL_GO(local_remove_checksum_file(path));
    SL_GO(create_one(path, &folders));
    SL_GO(add_folders(path, files->top, &folders));
    status = add_unsynced(files, &folders);
done:
    sl_strings_free(&folders);
    return status;
}

static sl_status sync_nth(void *context, size_t index)
{
    const struct empty_files *files = context;
    return local_sync_folder(files->unsynced.items[index]);
}

/* So many are there sooner than threads that make them at the same time. */
#define FILES_ALONE 16

static sl_status create_and_sync(struct empty_files *files, size_t count, sl_pool *pool)
{
    SL_TRY(sl_pool_for(pool, count, create_nth, files));
    sl_strings_sort_unique(&files->unsynced);
    return sl_pool_for(pool, files->unsynced.count, sync_nth, files);
}

sl_status local_create_empty(sl_storage *storage, char *const *paths, size_t count, const char *top)
{
    (void)storage;
    struct empty_files files = {.paths = paths, .top = top};
    sl_pool *pool = NULL;
    if (count > FILES_ALONE)
        SL_TRY(sl_pool_new(sl_disk_threads(), &pool));
    pthread_mutex_init(&files.mutex, NULL);
    sl_status status = create_and_sync(&files, count, pool);
    pthread_mutex_destroy(&files.mutex);
    sl_pool_free(pool);
    sl_strings_free(&files.unsynced);
    return status;
}
