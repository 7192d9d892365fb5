/*
 * Advisory locks. flock(2) belongs to the open file, not to the process, so it excludes two handles of one
 * process too, and the kernel drops it with the process: no stale lock to argue about.
 */
#include "storage/storage.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct sl_storage_lock_handle {
    int fd;
    char *path;
};

#define POLL_MS_MAX                                                                                          \
    20 /* most locks are held for a moment: asked for again soon at first, then less and less often */

static sl_status open_lock_file(sl_storage *storage, const char *path, int *fd)
{
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (*fd < 0 && errno == ENOENT) {
        char *folder = sl_strdup(path);
        if (!folder)
            return sl_nomem();
        char *slash = strrchr(folder, '/');
        if (slash)
            *slash = 0;
        sl_status status = slash ? sl_storage_make_dir(storage, folder) : SL_OK;
        sl_free(folder);
        SL_TRY(status);
        *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    }
    return *fd < 0 ? sl_io("lock file %s: %s", path, strerror(errno)) : SL_OK;
}

/* Who held the lock may have removed its file, or the folder that it was in: then it keeps nobody out. */
static bool is_removed(const sl_storage_lock_handle *lock)
{
    struct stat now;
    return fstat(lock->fd, &now) == 0 && now.st_nlink == 0;
}

static sl_status open_again(sl_storage_lock_handle *lock)
{
    close(lock->fd);
    lock->fd = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock->fd >= 0)
        return SL_OK;
    return errno == ENOENT ? sl_errorf(SL_E_CONFLICT, "lock file %s: its folder was removed", lock->path)
                           : sl_io("lock file %s: %s", lock->path, strerror(errno));
}

sl_status sl_storage_lock(sl_storage *storage, const char *path, int64_t wait_ms,
                          sl_storage_lock_handle **out)
{
    sl_storage_lock_handle *lock;
    SL_NEW(lock);
    sl_status status = (lock->path = sl_strdup(path)) ? open_lock_file(storage, path, &lock->fd) : sl_nomem();
    if (status) {
        sl_free(lock->path);
        sl_free(lock);
        return status;
    }
    double deadline = sl_monotonic() + (double)wait_ms / 1000.0;
    int64_t pause = 1;
    for (;;) {
        bool is_locked = flock(lock->fd, LOCK_EX | LOCK_NB) == 0;
        if (is_locked && !is_removed(lock))
            break;
        if (is_locked)
            status = open_again(lock);
        else if (errno != EWOULDBLOCK && errno != EINTR)
            status = sl_io("lock file %s: %s", path, strerror(errno));
        else if (sl_monotonic() >= deadline)
            status = sl_errorf(SL_E_BUSY, "another process holds the lock %s (waited %" PRId64 " ms)", path,
                               wait_ms);
        if (status) {
            sl_storage_unlock(lock);
            return status;
        }
        if (is_locked)
            continue;
        sl_sleep_ms(pause);
        pause = pause * 2 < POLL_MS_MAX ? pause * 2 : POLL_MS_MAX;
    }
    *out = lock;
    return SL_OK;
}

void sl_storage_unlock(sl_storage_lock_handle *lock)
{
    if (!lock)
        return;
    if (lock->fd >= 0)
        close(lock->fd);
    sl_free(lock->path);
    sl_free(lock);
}

void sl_storage_unlock_for_good(sl_storage_lock_handle *lock)
{
    if (lock)
        (void)unlink(lock->path); /* before the lock goes: nobody else's file can have the name yet */
    sl_storage_unlock(lock);
}
