/*
 * A storage that fails on purpose: it counts calls, passes them on, and strikes at the n-th. Crash tests run
 * an operation again and again with n = 1, 2, 3, ... and look at what is left behind.
 */
#include "storage/storage_int.h"
#include <assert.h>
#include <unistd.h>

struct faulty {
    sl_storage base;
    sl_storage *inner; /* owned */
    enum sl_fault_kind kind;
    uint64_t n;
    _Atomic uint64_t calls;
    atomic_bool disk_full;
};

static struct faulty *faulty_of(sl_storage *storage) { return (struct faulty *)storage; }

/* What a call does, as far as faults are concerned. */
enum call {
    CALL_READ,   /* changes nothing */
    CALL_REMOVE, /* changes, but needs no space */
    CALL_WRITE,
};

enum strike {
    STRIKE_NONE,
    STRIKE_TORN, /* write half, then exit */
};

/* Counts one call. Does not return when the process is to end here. */
static sl_status count_call(struct faulty *storage, enum call call, const char *path, enum strike *strike)
{
    *strike = STRIKE_NONE;
    bool counts = storage->kind == SL_FAULT_ERROR || call != CALL_READ;
    uint64_t number = counts ? atomic_fetch_add(&storage->calls, 1) + 1 : 0;
    bool strikes = counts && number == storage->n;
    switch (storage->kind) {
    case SL_FAULT_EXIT_BEFORE:
        if (strikes)
            _exit(SL_FAULT_EXIT_STATUS);
        return SL_OK;
    case SL_FAULT_EXIT_TORN:
        if (strikes)
            *strike = STRIKE_TORN;
        return SL_OK;
    case SL_FAULT_ERROR:
        return strikes ? sl_io("%s: injected failure of storage call %" PRIu64, path, number) : SL_OK;
    case SL_FAULT_FULL_DISK:
        if (strikes)
            atomic_store(&storage->disk_full, true);
        if (strikes || (call == CALL_WRITE && atomic_load(&storage->disk_full)))
            return sl_io("%s: no space left on device (injected)", path);
        return SL_OK;
    }
    return SL_OK;
}

/* For calls without bytes: torn means the same as before. */
static sl_status count_whole(struct faulty *storage, enum call call, const char *path)
{
    enum strike strike;
    SL_TRY(count_call(storage, call, path, &strike));
    if (strike == STRIKE_TORN)
        _exit(SL_FAULT_EXIT_STATUS);
    return SL_OK;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

struct faulty_file {
    sl_file base;
    sl_file *inner;
    struct faulty *storage; /* borrowed: outlives its files */
};

static sl_status faulty_read_at(sl_file *base, uint64_t offset, void *out, size_t len)
{
    struct faulty_file *file = (struct faulty_file *)base;
    SL_TRY(count_whole(file->storage, CALL_READ, base->path));
    return sl_file_read_at(file->inner, offset, out, len);
}

/* Mapped memory cannot fail; where reads are to fail they must be calls. */
static const uint8_t *faulty_map(sl_file *base)
{
    struct faulty_file *file = (struct faulty_file *)base;
    return file->storage->kind == SL_FAULT_ERROR ? NULL : sl_file_memory(file->inner);
}

static void faulty_close(sl_file *base)
{
    sl_file_close(((struct faulty_file *)base)->inner);
    sl_free(base);
}

static const struct file_vtable faulty_file_vtable = {faulty_read_at, faulty_map, faulty_close};

static sl_status faulty_open(sl_storage *storage, const char *path, sl_file **out)
{
    struct faulty_file *file;
    SL_TRY(count_whole(faulty_of(storage), CALL_READ, path));
    SL_NEW(file);
    file->base.vtable = &faulty_file_vtable;
    file->storage = faulty_of(storage);
    file->base.path = sl_strdup(path);
    sl_status status = file->base.path ? SL_OK : sl_nomem();
    if (!status)
        status = sl_storage_open(faulty_of(storage)->inner, path, &file->inner);
    if (status) {
        sl_free(file->base.path);
        sl_free(file);
        return status;
    }
    file->base.size = sl_file_size(file->inner);
    *out = &file->base;
    return SL_OK;
}

static sl_status faulty_list(sl_storage *storage, const char *path, sl_listing *out)
{
    SL_TRY(count_whole(faulty_of(storage), CALL_READ, path));
    return sl_storage_list(faulty_of(storage)->inner, path, out);
}

static sl_status faulty_stat(sl_storage *storage, const char *path, sl_entry *out)
{
    SL_TRY(count_whole(faulty_of(storage), CALL_READ, path));
    return sl_storage_stat(faulty_of(storage)->inner, path, out);
}

/* ---- outputs ------------------------------------------------------------------------------------------- */

struct faulty_output {
    sl_output base;
    sl_output *inner;
    struct faulty *storage;
};

static sl_status faulty_write(sl_output *base, const void *data, size_t len)
{
    struct faulty_output *output = (struct faulty_output *)base;
    enum strike strike;
    SL_TRY(count_call(output->storage, CALL_WRITE, base->path, &strike));
    if (strike == STRIKE_TORN) {
        /* finish: all that was written before reaches the file too. It may fail for its own reasons; we exit
         * anyway. */
        sl_status_ignore(sl_output_write(output->inner, data, len / 2));
        sl_status_ignore(sl_output_finish(output->inner));
        _exit(SL_FAULT_EXIT_STATUS);
    }
    return sl_output_write(output->inner, data, len);
}

static sl_status faulty_finish(sl_output *base)
{
    struct faulty_output *output = (struct faulty_output *)base;
    sl_status status = count_whole(output->storage, CALL_WRITE, base->path);
    if (status)
        sl_output_abort(output->inner);
    else
        status = sl_output_finish(output->inner);
    sl_free(output);
    return status;
}

static void faulty_abort(sl_output *base)
{
    sl_output_abort(((struct faulty_output *)base)->inner);
    sl_free(base);
}

static const struct output_vtable faulty_output_vtable = {faulty_write, faulty_finish, faulty_abort};

static sl_status faulty_create(sl_storage *storage, const char *path, sl_output **out)
{
    struct faulty_output *output;
    SL_TRY(count_whole(faulty_of(storage), CALL_WRITE, path));
    SL_NEW(output);
    output->base.vtable = &faulty_output_vtable;
    output->storage = faulty_of(storage);
    output->base.path = sl_strdup(path);
    sl_status status = output->base.path ? SL_OK : sl_nomem();
    if (!status)
        status = sl_storage_create(faulty_of(storage)->inner, path, &output->inner);
    if (status) {
        sl_free(output->base.path);
        sl_free(output);
        return status;
    }
    *out = &output->base;
    return SL_OK;
}

/* ---- whole files --------------------------------------------------------------------------------------- */

/* What a process leaves that dies while it writes the temporary file of `path`: half of it. */
static sl_status leave_torn_file(sl_storage *inner, const char *path, const void *data, size_t len)
{
    char *temporary;
    sl_output *output;
    SL_TRY(path_temporary(path, &temporary));
    sl_status status = sl_storage_create(inner, temporary, &output);
    sl_free(temporary);
    SL_TRY(status);
    status = sl_output_write(output, data, len / 2);
    if (status) {
        sl_output_abort(output);
        return status;
    }
    return sl_output_finish(output);
}

static sl_status count_whole_file(sl_storage *storage, const char *path, const void *data, size_t len)
{
    enum strike strike;
    SL_TRY(count_call(faulty_of(storage), CALL_WRITE, path, &strike));
    if (strike == STRIKE_TORN) {
        sl_status_ignore(leave_torn_file(faulty_of(storage)->inner, path, data, len));
        _exit(SL_FAULT_EXIT_STATUS);
    }
    return SL_OK;
}

static sl_status faulty_create_if_absent(sl_storage *storage, const char *path, const void *data, size_t len)
{
    SL_TRY(count_whole_file(storage, path, data, len));
    return sl_storage_create_if_absent(faulty_of(storage)->inner, path, data, len);
}

/* A call a file, so that a strike leaves those before it. */
static sl_status faulty_create_empty(sl_storage *storage, char *const *paths, size_t count, const char *top)
{
    for (size_t i = 0; i < count; i++) {
        SL_TRY(count_whole(faulty_of(storage), CALL_WRITE, paths[i]));
        SL_TRY(sl_storage_create_empty(faulty_of(storage)->inner, &paths[i], 1, top));
    }
    return SL_OK;
}

static sl_status faulty_replace(sl_storage *storage, const char *path, const void *data, size_t len)
{
    SL_TRY(count_whole_file(storage, path, data, len));
    return sl_storage_replace(faulty_of(storage)->inner, path, data, len);
}

static sl_status faulty_make_dir(sl_storage *storage, const char *path)
{
    SL_TRY(count_whole(faulty_of(storage), CALL_WRITE, path));
    return sl_storage_make_dir(faulty_of(storage)->inner, path);
}

static sl_status faulty_delete(sl_storage *storage, const char *path)
{
    SL_TRY(count_whole(faulty_of(storage), CALL_REMOVE, path));
    return sl_storage_delete(faulty_of(storage)->inner, path);
}

static sl_status faulty_delete_tree(sl_storage *storage, const char *path)
{
    SL_TRY(count_whole(faulty_of(storage), CALL_REMOVE, path));
    return sl_storage_delete_tree(faulty_of(storage)->inner, path);
}

static sl_status faulty_delete_folder(sl_storage *storage, const char *path, bool *gone)
{
    SL_TRY(count_whole(faulty_of(storage), CALL_REMOVE, path));
    return sl_storage_delete_folder(faulty_of(storage)->inner, path, gone);
}

static void faulty_free(sl_storage *storage)
{
    sl_storage_free(faulty_of(storage)->inner);
    sl_free(storage);
}

static const sl_storage_vtable faulty_vtable = {
    .free = faulty_free,
    .open = faulty_open,
    .create = faulty_create,
    .create_if_absent = faulty_create_if_absent,
    .create_empty = faulty_create_empty,
    .replace = faulty_replace,
    .make_dir = faulty_make_dir,
    .delete_file = faulty_delete,
    .delete_tree = faulty_delete_tree,
    .delete_folder = faulty_delete_folder,
    .list = faulty_list,
    .stat = faulty_stat,
};

sl_status sl_storage_faulty(sl_storage *inner, enum sl_fault_kind kind, uint64_t n, sl_storage **out)
{
    struct faulty *storage = sl_calloc(1, sizeof *storage);
    if (!storage) {
        sl_storage_free(inner);
        return sl_nomem();
    }
    storage->base.vtable = &faulty_vtable;
    storage->inner = inner;
    storage->kind = kind;
    storage->n = n;
    *out = &storage->base;
    return SL_OK;
}

uint64_t sl_storage_fault_calls(const sl_storage *faulty)
{
    assert(faulty->vtable == &faulty_vtable);
    return atomic_load(&((const struct faulty *)faulty)->calls);
}
