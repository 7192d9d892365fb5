/* Files of the local disk: the vtable, and the system calls its parts share. */
#include "storage/storage_int.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

sl_status local_error(const char *path, const char *action, int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR: /* a file where a folder would have to be: what lies below it does not exist */
        return sl_not_found("%s: cannot %s: %s", path, action, strerror(error));
    case EEXIST:
        return sl_errorf(SL_E_EXISTS, "%s: exists already", path);
    case ENOMEM:
        return sl_nomem();
    default:
        return sl_io("%s: cannot %s: %s", path, action, strerror(error));
    }
}

sl_status local_write_fully(int fd, const char *path, const void *data, size_t len)
{
    const uint8_t *p = data;
    while (len > 0) {
        ssize_t n = write(fd, p, len < SSIZE_MAX ? len : SSIZE_MAX);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return local_error(path, "write", n < 0 ? errno : EIO);
        p += n;
        len -= (size_t)n;
    }
    return SL_OK;
}

sl_status local_open_exclusive(const char *path, int *fd)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    *fd = open(path, flags, 0666);
    if (*fd < 0 && errno == ENOENT) {
        SL_TRY(local_make_parent(path, NULL));
        *fd = open(path, flags, 0666);
    }
    return *fd >= 0 ? SL_OK : local_error(path, "create", errno);
}

/* Content, size and place on the disk are what reading needs; times of a file may be lost. */
sl_status local_sync(int fd, const char *path)
{
    return fdatasync(fd) == 0 ? SL_OK : local_error(path, "make durable", errno);
}

sl_status local_close_written(int fd, const char *path, sl_status status)
{
    /* An interrupted close has closed; other failures mean that a network file system lost data. */
    if (close(fd) != 0 && errno != EINTR && !status)
        return local_error(path, "close", errno);
    return status;
}

sl_status local_sync_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return local_error(folder, "open the folder", errno);
    /* Some file systems have nothing to sync in a folder and say so with EINVAL. */
    int error = fsync(fd) != 0 && errno != EINVAL ? errno : 0;
    close(fd);
    return error ? local_error(folder, "make the folder durable", error) : SL_OK;
}

sl_status local_sync_parent(const char *path)
{
    /* The file is visible already, perhaps a commit: nothing may fail here for want of memory. */
    char parent[PATH_MAX];
    size_t len;
    const char *part = path_parent_part(path, &len);
    if (len >= sizeof parent)
        return local_error(path, "open the folder", ENAMETOOLONG);
    memcpy(parent, part, len);
    parent[len] = 0;
    return local_sync_folder(parent);
}

static void local_free(sl_storage *storage) { sl_free(storage); }

static sl_status make_dir(sl_storage *storage, const char *path)
{
    (void)storage;
    return local_make_dir(path, NULL);
}

static const sl_storage_vtable local_vtable = {
    .free = local_free,
    .open = local_open,
    .create = local_create,
    .create_if_absent = local_create_if_absent,
    .create_empty = local_create_empty,
    .replace = local_replace,
    .make_dir = make_dir,
    .delete_file = local_delete,
    .delete_tree = local_delete_tree,
    .delete_folder = local_delete_folder,
    .list = local_list,
    .stat = local_stat,
};

sl_status sl_storage_local(sl_storage **out)
{
    sl_storage *storage;
    SL_NEW(storage);
    storage->vtable = &local_vtable;
    *out = storage;
    return SL_OK;
}
