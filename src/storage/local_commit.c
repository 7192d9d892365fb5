/*
 * The two ways in which a whole file appears at once.
 *
 *   create_if_absent   write `<name>.<uuid>`, fsync, link(2) to the name, unlink, fsync the folder
 *   replace            write `<name>.<uuid>`, fsync, rename(2) over the name, fsync the folder
 *
 * link fails when the name exists, atomically, on every file system with hard links and on NFS; rename would replace the
 * winner's file, and an exclusive open would show a file that is not whole. A crash leaves at most the temporary file, whose
 * name readers ignore (spec/timeline.md 4). Empty files are whole as soon as they exist, so an exclusive open does for them.
 */
#include "storage/storage_int.h"
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* A durable file at `temporary`, or none. Its name need not be durable: the one that counts comes after it.
 */
static sl_status write_durably(const char *temporary, const void *data, size_t len)
{
    int fd;
    SL_TRY(local_open_exclusive(temporary, &fd));
    sl_status status = local_write_fully(fd, temporary, data, len);
    if (!status)
        status = local_sync(fd, temporary);
    status = local_close_written(fd, temporary, status);
    if (status)
        unlink(temporary);
    return status;
}

/* *out: the name of a durable file beside `path`; the caller's. */
static sl_status write_temporary(const char *path, const void *data, size_t len, char **out)
{
    char *temporary;
    SL_TRY(path_temporary(path, &temporary));
    sl_status status = write_durably(temporary, data, len);
    if (status) {
        sl_free(temporary);
        return status;
    }
    *out = temporary;
    return SL_OK;
}

static bool lacks_hard_links(int error)
{
    return error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EMLINK;
}

static bool has_two_links(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && info.st_nlink == 2;
}

/* Gives the file at `temporary` the name `path`, unless something has it. */
static sl_status claim_name(const char *temporary, const char *path)
{
    if (link(temporary, path) == 0)
        return SL_OK;
    int error = errno;
    /* NFS may answer EEXIST to the repetition of a request that succeeded; the link count tells the truth
     * (open(2)). */
    if (error == EEXIST && has_two_links(temporary))
        return SL_OK;
    if (!lacks_hard_links(error))
        return local_error(path, "create", error);
    if (local_rename_exclusive(temporary, path) == 0)
        return SL_OK;
    if (errno == EINVAL || errno == ENOSYS)
        return sl_unsupported(
            "%s: this file system can neither link nor rename without replacing, so two writers could "
            "not be told apart",
            path);
    return local_error(path, "create", errno);
}

static sl_status create_through_temporary(const char *path, const void *data, size_t len)
{
    char *temporary;
    SL_TRY(write_temporary(path, data, len, &temporary));
    sl_status status = claim_name(temporary, path);
    unlink(temporary); /* gone already where it was renamed */
    sl_free(temporary);
    return status;
}

sl_status local_create_if_absent(sl_storage *storage, const char *path, const void *data, size_t len)
{
    (void)storage;
    struct stat info;
    if (lstat(path, &info) == 0) /* lost already: spare the disk */
        return local_error(path, "create", EEXIST);
    SL_TRY(local_remove_checksum_file(path));
    SL_TRY_CTX(len ? create_through_temporary(path, data, len) : write_durably(path, data, 0), "creating %s",
               path);
    SL_TRY_CTX(local_sync_parent(path), "%s was created but may not survive a power failure", path);
    return SL_OK;
}

sl_status local_replace(sl_storage *storage, const char *path, const void *data, size_t len)
{
    (void)storage;
    char *temporary;
    SL_TRY_CTX(write_temporary(path, data, len, &temporary), "replacing %s", path);
    sl_status status = local_remove_checksum_file(path);
    if (!status && rename(temporary, path) != 0)
        status = local_error(path, "replace", errno);
    if (status)
        unlink(temporary);
    sl_free(temporary);
    SL_TRY(status);
    SL_TRY_CTX(local_sync_parent(path), "%s was replaced but may not survive a power failure", path);
    return SL_OK;
}
