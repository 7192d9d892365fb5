/* Folders: making, listing, deleting. */
#include "storage/storage_int.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- making -------------------------------------------------------------------------------------------- */

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static sl_status add_parent(const char *path, sl_strings *unsynced)
{
    char *parent;
    SL_TRY(path_parent(path, &parent));
    sl_status status = sl_strings_add(unsynced, parent);
    sl_free(parent);
    return status;
}

/* Makes one folder whose parent exists; somebody else may make it at the same time. */
static sl_status make_one(const char *path, sl_strings *unsynced)
{
    if (mkdir(path, 0777) == 0)
        return unsynced ? add_parent(path, unsynced) : local_sync_parent(path);
    int error = errno;
    if (error == EEXIST && is_folder(path))
        return SL_OK;
    if (error == EEXIST)
        return sl_io("%s: cannot make the folder: a file has that name", path);
    return local_error(path, "make the folder", error);
}

/* Makes each folder on the way; `path` is cut at each slash for a moment. */
static sl_status make_each(char *path, sl_strings *unsynced)
{
    for (char *p = path; *p; p++) {
        if (*p != '/' || p == path || p[-1] == '/')
            continue;
        *p = 0;
        sl_status status = is_folder(path) ? SL_OK : make_one(path, unsynced);
        *p = '/';
        SL_TRY(status);
    }
    return make_one(path, unsynced);
}

sl_status local_make_dir(const char *path, sl_strings *unsynced)
{
    if (*path == 0 || is_folder(path))
        return SL_OK;
    char *copy = sl_strdup(path);
    if (!copy)
        return sl_nomem();
    sl_status status = make_each(copy, unsynced);
    sl_free(copy);
    return status;
}

sl_status local_make_parent(const char *path, sl_strings *unsynced)
{
    char *parent;
    SL_TRY(path_parent(path, &parent));
    sl_status status = local_make_dir(parent, unsynced);
    sl_free(parent);
    return status;
}

/* ---- listing ------------------------------------------------------------------------------------------- */

static void entry_of_stat(const struct stat *info, sl_entry *out)
{
    *out = (sl_entry){
        .is_dir = S_ISDIR(info->st_mode),
        .size = S_ISDIR(info->st_mode) ? 0 : (uint64_t)info->st_size,
        .modified_ms = (int64_t)info->st_mtim.tv_sec * 1000 + info->st_mtim.tv_nsec / 1000000,
    };
}

static bool is_self_or_parent(const char *name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

static sl_status list_stream(DIR *folder, const char *path, sl_listing *out)
{
    size_t cap = 0;
    for (;;) {
        errno = 0;
        struct dirent *item = readdir(folder);
        if (!item)
            return errno ? local_error(path, "list", errno) : SL_OK;
        if (is_self_or_parent(item->d_name))
            continue;
        struct stat info;
        sl_entry entry;
        if (fstatat(dirfd(folder), item->d_name, &info, 0) != 0) {
            if (errno == ENOENT) /* deleted meanwhile, or a link to nothing */
                continue;
            return local_error(path, item->d_name, errno);
        }
        entry_of_stat(&info, &entry);
        SL_TRY(listing_add(out, &cap, item->d_name, &entry));
    }
}

sl_status local_list(sl_storage *storage, const char *path, sl_listing *out)
{
    (void)storage;
    DIR *folder = opendir(*path ? path : ".");
    if (!folder)
        return local_error(path, "list", errno);
    sl_status status = list_stream(folder, path, out);
    closedir(folder);
    return status;
}

sl_status local_stat(sl_storage *storage, const char *path, sl_entry *out)
{
    (void)storage;
    struct stat info;
    if (stat(path, &info) != 0)
        return local_error(path, "stat", errno);
    entry_of_stat(&info, out);
    return SL_OK;
}

/* ---- deleting ------------------------------------------------------------------------------------------ */

static bool is_missing(int error) { return error == ENOENT || error == ENOTDIR; }

static sl_status remove_file(const char *path)
{
    if (unlink(path) == 0 || is_missing(errno))
        return SL_OK;
    return local_error(path, "delete", errno);
}

sl_status local_remove_checksum_file(const char *path)
{
    char *checksum_file;
    SL_TRY(path_checksum_file(path, &checksum_file));
    /* A name too long for a side file has none. */
    sl_status status = unlink(checksum_file) == 0 || is_missing(errno) || errno == ENAMETOOLONG
                           ? SL_OK
                           : local_error(checksum_file, "delete", errno);
    sl_free(checksum_file);
    return status;
}

sl_status local_delete(sl_storage *storage, const char *path)
{
    (void)storage;
    SL_TRY(remove_file(path));
    return local_remove_checksum_file(path);
}

/* While others still write into the tree, a folder may fill up again behind us; not for ever, we hope. */
#define EMPTYING_ROUNDS 16
/* Each level holds an open folder. */
#define TREE_DEPTH_MAX 200

static sl_status delete_at(int parent, const char *name, const char *root, int depth);

static sl_status empty_folder(DIR *folder, const char *root, int depth)
{
    for (;;) {
        errno = 0;
        struct dirent *item = readdir(folder);
        if (!item)
            return errno ? local_error(root, "list for deletion", errno) : SL_OK;
        if (!is_self_or_parent(item->d_name))
            SL_TRY(delete_at(dirfd(folder), item->d_name, root, depth + 1));
    }
}

static sl_status empty_folder_at(int parent, const char *name, const char *root, int depth)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return is_missing(errno) ? SL_OK : local_error(root, "open for deletion", errno);
    DIR *folder = fdopendir(fd);
    if (!folder) {
        int error = errno;
        close(fd);
        return local_error(root, "open for deletion", error);
    }
    sl_status status = empty_folder(folder, root, depth);
    closedir(folder);
    return status;
}

/* Deletes `name` in the open folder `parent`. Links are deleted, never followed. */
static sl_status delete_at(int parent, const char *name, const char *root, int depth)
{
    if (unlinkat(parent, name, 0) == 0 || is_missing(errno))
        return SL_OK;
    if (errno != EISDIR && errno != EPERM)
        return local_error(root, "delete the tree", errno);
    if (depth > TREE_DEPTH_MAX)
        return sl_io("%s: cannot delete the tree: more than %d levels", root, TREE_DEPTH_MAX);
    for (int round = 0;; round++) {
        SL_TRY(empty_folder_at(parent, name, root, depth));
        if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
            return SL_OK;
        bool has_new_files = errno == ENOTEMPTY || errno == EEXIST;
        if (!has_new_files || round == EMPTYING_ROUNDS)
            return sl_io("%s: cannot delete the tree: %s", root, strerror(errno));
    }
}

sl_status local_delete_tree(sl_storage *storage, const char *path)
{
    (void)storage;
    return delete_at(AT_FDCWD, path, path, 0);
}

sl_status local_delete_folder(sl_storage *storage, const char *path, bool *gone)
{
    (void)storage;
    *gone = rmdir(path) == 0 || is_missing(errno);
    return *gone || errno == ENOTEMPTY || errno == EEXIST ? SL_OK : local_error(path, "delete", errno);
}
