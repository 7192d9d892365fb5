/* Reading local files, by pread only: a mapped file that another process cuts short ends ours with SIGBUS, and its
 * pages would count as our memory. */
#include "storage/storage_int.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

struct local_file {
    sl_file base;
    int fd;
};

static sl_status local_read_at(sl_file *base, uint64_t offset, void *out, size_t len)
{
    struct local_file *file = (struct local_file *)base;
    uint8_t *p = out;
    while (len > 0) {
        ssize_t n = pread(file->fd, p, len < SSIZE_MAX ? len : SSIZE_MAX, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return local_error(base->path, "read", errno);
        if (n == 0)
            return sl_corrupt("%s: the file was cut to %" PRIu64 " bytes while it was read", base->path,
                              offset);
        p += n;
        offset += (uint64_t)n;
        len -= (size_t)n;
    }
    return SL_OK;
}

static const uint8_t *local_memory(sl_file *base)
{
    (void)base;
    return NULL;
}

static void local_close(sl_file *base)
{
    struct local_file *file = (struct local_file *)base;
    close(file->fd);
    sl_free(file);
}

static const struct file_vtable local_file_vtable = {local_read_at, local_memory, local_close};

static sl_status file_of_fd(int fd, const char *path, sl_file **out)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return local_error(path, "stat", errno);
    if (!S_ISREG(info.st_mode))
        return sl_io("%s: is %s, not a file", path, S_ISDIR(info.st_mode) ? "a folder" : "a device or pipe");
    struct local_file *file;
    SL_NEW(file);
    file->base.vtable = &local_file_vtable;
    file->base.size = (uint64_t)info.st_size;
    file->fd = fd;
    file->base.path = sl_strdup(path);
    if (!file->base.path) {
        sl_free(file);
        return sl_nomem();
    }
    *out = &file->base;
    return SL_OK;
}

sl_status local_open(sl_storage *storage, const char *path, sl_file **out)
{
    (void)storage;
    /* O_NONBLOCK: opening a pipe by mistake must not hang; it means nothing to a file. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return local_error(path, "open", errno);
    sl_status status = file_of_fd(fd, path, out);
    if (status)
        close(fd);
    return status;
}
