/*
 * What a kind of storage implements. The functions of storage.h check arguments and dispatch (storage.c,
 * file.c); the kinds are local.c and fault.c, and memory_file.c has files and outputs that are memory.
 */
#ifndef SL_STORAGE_INT_H
#define SL_STORAGE_INT_H

#include "storage/storage.h"

struct sl_storage_vtable {
    void (*free)(sl_storage *storage);
    sl_status (*open)(sl_storage *storage, const char *path, sl_file **out);
    sl_status (*create)(sl_storage *storage, const char *path, sl_output **out);
    sl_status (*create_if_absent)(sl_storage *storage, const char *path, const void *data, size_t len);
    sl_status (*create_empty)(sl_storage *storage, char *const *paths, size_t count, const char *top);
    sl_status (*replace)(sl_storage *storage, const char *path, const void *data, size_t len);
    sl_status (*make_dir)(sl_storage *storage, const char *path);
    sl_status (*delete_file)(sl_storage *storage, const char *path);
    sl_status (*delete_tree)(sl_storage *storage, const char *path);
    sl_status (*delete_folder)(sl_storage *storage, const char *path, bool *gone);
    sl_status (*list)(sl_storage *storage, const char *path, sl_listing *out); /* in any order */
    sl_status (*stat)(sl_storage *storage, const char *path, sl_entry *out);
};

/* Each of these three is the first member of its kind's own struct. */
struct sl_storage {
    const sl_storage_vtable *vtable;
};

struct file_vtable {
    sl_status (*read_at)(sl_file *file, uint64_t offset, void *out,
                         size_t len);     /* the range lies inside the file */
    const uint8_t *(*map)(sl_file *file); /* NULL: cannot */
    void (*close)(sl_file *file);         /* frees all but `path` */
};
struct sl_file {
    const struct file_vtable *vtable;
    char *path; /* owned */
    uint64_t size;
};

struct output_vtable {
    sl_status (*write)(sl_output *output, const void *data, size_t len);
    sl_status (*finish)(sl_output *output); /* frees all but `path`, on failure too */
    void (*abort)(sl_output *output);       /* likewise */
};
struct sl_output {
    const struct output_vtable *vtable;
    char *path; /* owned */
    uint64_t offset;
};

/* The folder that holds `path` ("." when it names none); the caller's. */
SL_MUST_USE sl_status path_parent(const char *path, char **out);
/* The same as a part of `path` (or "."), which needs no memory. */
const char *path_parent_part(const char *path, size_t *len);
/* `<path>.<uuid>`: the name of a file that is not whole yet, as Hudi's own writers name it (spec/timeline.md
 * 4). */
SL_MUST_USE sl_status path_temporary(const char *path, char **out);
/* The Hadoop checksum file of `path`: `.NAME.crc` in the same folder. */
SL_MUST_USE sl_status path_checksum_file(const char *path, char **out);

/* Adds an entry; takes a copy of the name. */
SL_MUST_USE sl_status listing_add(sl_listing *listing, size_t *cap, const char *name, const sl_entry *entry);

/* A failed system call on `path` as a status: NOT_FOUND, EXISTS, MEMORY or IO, by errno. */
SL_MUST_USE sl_status local_error(const char *path, const char *action, int error);
/* Moves `from` to `to` unless `to` exists (errno EEXIST); errno ENOSYS or EINVAL where the system cannot. */
int local_rename_exclusive(const char *from, const char *to);
/* Creates `path` for writing, with missing folders. */
SL_MUST_USE sl_status local_open_exclusive(const char *path, int *fd);
SL_MUST_USE sl_status local_sync(int fd, const char *path);
/* Closes, whatever `status` says; a failure to close counts when there was none before. */
SL_MUST_USE sl_status local_close_written(int fd, const char *path, sl_status status);
/* Makes the names inside a folder durable. */
SL_MUST_USE sl_status local_sync_folder(const char *folder);
SL_MUST_USE sl_status local_sync_parent(const char *path);
/* Makes a folder and its parents, durably. With `unsynced`, the folders whose names are still to be made durable are
 * added there instead. */
SL_MUST_USE sl_status local_make_dir(const char *path, sl_strings *unsynced);
SL_MUST_USE sl_status local_make_parent(const char *path, sl_strings *unsynced);
/* Removes a stale `.NAME.crc` beside path. */
SL_MUST_USE sl_status local_remove_checksum_file(const char *path);
/* Writes all, whatever write(2) splits. */
SL_MUST_USE sl_status local_write_fully(int fd, const char *path, const void *data, size_t len);

/* local_file.c, local_output.c, local_commit.c, local_empty.c, local_folder.c: the rows of the local vtable. */
SL_MUST_USE sl_status local_open(sl_storage *storage, const char *path, sl_file **out);
SL_MUST_USE sl_status local_create(sl_storage *storage, const char *path, sl_output **out);
SL_MUST_USE sl_status local_create_if_absent(sl_storage *storage, const char *path, const void *data,
                                             size_t len);
SL_MUST_USE sl_status local_create_empty(sl_storage *storage, char *const *paths, size_t count,
                                         const char *top);
SL_MUST_USE sl_status local_replace(sl_storage *storage, const char *path, const void *data, size_t len);
SL_MUST_USE sl_status local_delete(sl_storage *storage, const char *path);
SL_MUST_USE sl_status local_delete_tree(sl_storage *storage, const char *path);
SL_MUST_USE sl_status local_delete_folder(sl_storage *storage, const char *path, bool *gone);
SL_MUST_USE sl_status local_list(sl_storage *storage, const char *path, sl_listing *out);
SL_MUST_USE sl_status local_stat(sl_storage *storage, const char *path, sl_entry *out);

#endif
