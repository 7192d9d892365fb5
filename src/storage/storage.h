/*
 * storage: files by path, on a local disk now, on object stores later.
 *
 * The table's safety rests on two promises made here:
 *   - sl_storage_create_if_absent makes a file appear whole and durable, or not at all, and only one caller
 * wins: it is the only primitive that commits;
 *   - a file of sl_output is durable (file and folder fsynced) once sl_output_finish has returned, and not
 * before.
 *
 * A path is what the user gave, `file://` removed. `/` separates. Errors name the path. Thread-safe.
 */
#ifndef SL_STORAGE_H
#define SL_STORAGE_H

#include "base/base.h"

typedef struct sl_storage sl_storage;
typedef struct sl_file sl_file;     /* an open file for reading at offsets; thread-safe */
typedef struct sl_output sl_output; /* a file being written from front to back by one thread */

/* The storage that serves `uri` (a path or file://...; other schemes: unsupported, by name) and the path
 * inside it. Both are the caller's: sl_storage_free, sl_free. */
SL_MUST_USE sl_status sl_storage_for_uri(const char *uri, sl_storage **out, char **path);
SL_MUST_USE sl_status sl_storage_local(sl_storage **out);
void sl_storage_free(sl_storage *storage);

/* reading */
SL_MUST_USE sl_status sl_storage_open(sl_storage *storage, const char *path,
                                      sl_file **out); /* SL_E_NOT_FOUND */
uint64_t sl_file_size(const sl_file *file);
const char *sl_file_path(const sl_file *file);
/* Exactly len bytes, or an error: a shorter file is corrupt. */
SL_MUST_USE sl_status sl_file_read_at(sl_file *file, uint64_t offset, void *out, size_t len);
/* The bytes of a file that lies in memory anyway (sl_file_of_memory); NULL for all others. */
const uint8_t *sl_file_memory(sl_file *file);
void sl_file_close(sl_file *file);
/* A file that is memory: borrowed `data` must outlive it. For tests and for files inside files. */
SL_MUST_USE sl_status sl_file_of_memory(const void *data, size_t len, const char *name, sl_file **out);
/* The whole file, at most max bytes (else SL_E_CORRUPT), with a NUL behind it that does not count. */
SL_MUST_USE sl_status sl_storage_read_all(sl_storage *storage, const char *path, size_t max, sl_buf *out);

/* writing */
/* Creates exclusively (SL_E_EXISTS), makes missing folders. */
SL_MUST_USE sl_status sl_storage_create(sl_storage *storage, const char *path, sl_output **out);
SL_MUST_USE sl_status sl_output_write(sl_output *output, const void *data, size_t len);
uint64_t sl_output_offset(const sl_output *output);
const char *sl_output_path(const sl_output *output);
/* Flushes, makes durable, closes and frees. On failure the output is freed too and the file removed where
 * possible. */
SL_MUST_USE sl_status sl_output_finish(sl_output *output);
void sl_output_abort(sl_output *output); /* removes the file; NULL is fine */
/* An output that appends to `buf` (borrowed). */
SL_MUST_USE sl_status sl_output_to_buf(sl_buf *buf, sl_output **out);
/* An output whose file `create` makes when the first byte is written, for which `context` must still be there. Without one
 * there is no file. `path` is what the file will be called. */
SL_MUST_USE sl_status sl_output_late(const char *path, sl_status (*create)(void *context, sl_output **out),
                                     void *context, sl_output **out);
/* Appear whole and durable or not at all; SL_E_EXISTS when somebody was first. */
SL_MUST_USE sl_status sl_storage_create_if_absent(sl_storage *storage, const char *path, const void *data,
                                                  size_t len);
/* Creates empty files, with missing folders, and makes their names durable together: a folder of many costs as much as of
 * one. The names of folders on the way become durable with them: of those made here, and of all below `top`, where others may
 * be at making them; NULL: there are no others. SL_E_EXISTS when there is one of the files. After a failure some may be there. */
SL_MUST_USE sl_status sl_storage_create_empty(sl_storage *storage, char *const *paths, size_t count,
                                              const char *top);
/* Replaces (or creates) whole and durable: a reader sees the old or the new content. */
SL_MUST_USE sl_status sl_storage_replace(sl_storage *storage, const char *path, const void *data, size_t len);
SL_MUST_USE sl_status sl_storage_make_dir(sl_storage *storage,
                                          const char *path); /* with parents; existing is fine */
/* Missing is fine. On a local disk also removes the stale Hadoop side file `.NAME.crc` (spec/timeline.md 2).
 */
SL_MUST_USE sl_status sl_storage_delete(sl_storage *storage, const char *path);
SL_MUST_USE sl_status sl_storage_delete_tree(sl_storage *storage, const char *path); /* missing is fine */
/* Removes a folder when there is nothing in it; *gone tells whether it is not there any more. */
SL_MUST_USE sl_status sl_storage_delete_folder(sl_storage *storage, const char *path, bool *gone);

/* listing */
typedef struct sl_entry {
    char *name; /* last component */
    bool is_dir;
    uint64_t size;
    int64_t modified_ms;
} sl_entry;
typedef struct sl_listing {
    sl_entry *entries; /* sorted by name, bytewise */
    size_t count;
} sl_listing;
/* A missing folder is SL_E_NOT_FOUND. */
SL_MUST_USE sl_status sl_storage_list(sl_storage *storage, const char *path, sl_listing *out);
void sl_listing_free(sl_listing *listing);
SL_MUST_USE sl_status sl_storage_stat(sl_storage *storage, const char *path,
                                      sl_entry *out); /* name stays NULL */
/* False only where there is nothing at `path`: a place that cannot be looked at is an error. */
SL_MUST_USE sl_status sl_storage_exists(sl_storage *storage, const char *path, bool *exists);

/* The path from the root of the file system; the caller frees. */
SL_MUST_USE sl_status sl_path_absolute(const char *path, char **out);
/* "a" + "b" -> "a/b"; an empty part adds no slash. The result is the caller's. */
SL_MUST_USE sl_status sl_path_join(const char *a, const char *b, char **out);
/* Whether a relative path stays below the folder that it starts in: none of its parts is "..". */
bool sl_path_stays_below(const char *relative);

/* An exclusive advisory lock on the file at `path` (made when missing). Waits up to wait_ms, then SL_E_BUSY. The system releases it when the process dies, so a crash leaves no stale lock. Excludes
 * threads as well as processes. */
typedef struct sl_storage_lock_handle sl_storage_lock_handle;
SL_MUST_USE sl_status sl_storage_lock(sl_storage *storage, const char *path, int64_t wait_ms,
                                      sl_storage_lock_handle **out);
void sl_storage_unlock(sl_storage_lock_handle *lock); /* NULL is fine */
/* Removes the lock's file as well: for locks on things that are over, since whoever waits for it would hold a file
 * without a name, and the next one another. */
void sl_storage_unlock_for_good(sl_storage_lock_handle *lock);

/* ---- faults, for tests --------------------------------------------------------------------------------- */

enum sl_fault_kind {
    SL_FAULT_EXIT_BEFORE, /* the process ends (_exit) just before the n-th mutating call takes effect */
    SL_FAULT_EXIT_TORN, /* ... after half of its bytes were written (same as before, for calls without bytes)
                         */
    SL_FAULT_ERROR,     /* the n-th call of any kind returns SL_E_IO, later ones work again */
    SL_FAULT_FULL_DISK, /* the n-th mutating call and every later write fails with "no space left" */
};
#define SL_FAULT_EXIT_STATUS 86
/* Wraps `inner` (owned from now on). n = 0: never strikes, only counts. */
SL_MUST_USE sl_status sl_storage_faulty(sl_storage *inner, enum sl_fault_kind kind, uint64_t n,
                                        sl_storage **out);
uint64_t sl_storage_fault_calls(const sl_storage *faulty); /* calls of the kind that counts, so far */

/* The interface that a kind of storage implements; only storage/ and its tests use it. */
typedef struct sl_storage_vtable sl_storage_vtable;

#endif
