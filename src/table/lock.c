/*
 * Three locks, all of the operating system on files in .hoodie/.locks, so that they go with their process:
 *
 *   writer     held by a writing action from before it draws its instant until it has published: writers queue
 *   timeline   held while the timeline is looked at and changed: an instant drawn, a plan made, a commit
 *              published, leftovers removed. Short; services take only this one, so they run beside a writer
 *   instant    held by whoever works on a pending instant: who finds the instant and not the lock knows that
 *              its worker is dead
 *
 * Taken in this order; the last one is never waited for.
 */
#include "table/table_int.h"
#include <stdio.h>
#include <string.h>

#define LOCKS_FOLDER  ".locks"
#define WRITER_LOCK   LOCKS_FOLDER "/sluice.writer.lock"
#define TIMELINE_LOCK LOCKS_FOLDER "/sluice.lock"
#define WAIT_MS       60000

struct sl_table_lock {
    sl_storage_lock_handle *writer, *timeline;
};

static sl_status lock_file(const sl_table *table, const char *relative, int64_t wait_ms,
                           sl_storage_lock_handle **out)
{
    char *path;
    SL_TRY(hoodie_path(table, relative, &path));
    sl_status status = sl_storage_lock(table->storage, path, wait_ms, out);
    sl_free(path);
    return status;
}

static sl_status wait_setting(const sl_table *table, int64_t *out)
{
    return sl_table_setting_int(table, "hoodie.write.lock.wait_time_ms", WAIT_MS, out);
}

/* ---- writer and timeline ------------------------------------------------------------------------------- */

static sl_status lock_take(const sl_table *table, bool writer, sl_table_lock **out)
{
    sl_table_lock *lock;
    int64_t wait_ms;
    SL_TRY(wait_setting(table, &wait_ms));
    SL_NEW(lock);
    sl_status status = writer ? lock_file(table, WRITER_LOCK, wait_ms, &lock->writer) : SL_OK;
    if (!status)
        status = lock_file(table, TIMELINE_LOCK, wait_ms, &lock->timeline);
    if (status)
        sl_table_lock_release(lock);
    else
        *out = lock;
    return status;
}

sl_status sl_table_lock_take(const sl_table *table, sl_table_lock **out)
{
    return lock_take(table, true, out);
}

sl_status sl_timeline_lock_take(const sl_table *table, sl_table_lock **out)
{
    return lock_take(table, false, out);
}

void sl_table_lock_release(sl_table_lock *lock)
{
    if (!lock)
        return;
    sl_storage_unlock(lock->timeline);
    sl_storage_unlock(lock->writer);
    sl_free(lock);
}

void timeline_lock_leave(sl_table_lock *lock)
{
    sl_storage_unlock(lock->timeline);
    lock->timeline = NULL;
}

sl_status timeline_lock_again(const sl_table *table, sl_table_lock *lock)
{
    int64_t wait_ms;
    if (lock->timeline)
        return SL_OK;
    SL_TRY(wait_setting(table, &wait_ms));
    /* Work is done and wants to be published or undone: worth more patience than a start. */
    return lock_file(table, TIMELINE_LOCK, wait_ms < WAIT_MS ? WAIT_MS : wait_ms, &lock->timeline);
}

/* ---- instants ------------------------------------------------------------------------------------------ */

#define INSTANT_LOCK_BYTES (SL_INSTANT_BYTES + sizeof LOCKS_FOLDER + 8)

static void instant_lock_name(const char *instant, char *out)
{
    snprintf(out, INSTANT_LOCK_BYTES, LOCKS_FOLDER "/%s.lock", instant);
}

sl_status instant_lock_take(const sl_table *table, const char *instant, sl_storage_lock_handle **out)
{
    char name[INSTANT_LOCK_BYTES];
    instant_lock_name(instant, name);
    return lock_file(table, name, 0, out);
}

sl_status sl_instant_is_worked_on(const sl_table *table, const char *instant, bool *out)
{
    char name[INSTANT_LOCK_BYTES], *path;
    sl_storage_lock_handle *lock = NULL;
    instant_lock_name(instant, name);
    *out = false;
    SL_TRY(hoodie_path(table, name, &path));
    bool exists = false;
    sl_status status = sl_storage_exists(table->storage, path, &exists);
    if (!status && exists)
        status = sl_storage_lock(table->storage, path, 0, &lock);
    sl_free(path);
    sl_storage_unlock(lock);
    if (sl_status_code(status) != SL_E_BUSY)
        return status;
    sl_status_free(status);
    *out = true;
    return SL_OK;
}

/* "20240101000000000.lock" -> the instant; false: another lock. */
static bool instant_of_lock(const char *name, char *instant)
{
    size_t n = strspn(name, "0123456789");
    if (n == 0 || n >= SL_INSTANT_BYTES || strcmp(name + n, ".lock") != 0)
        return false;
    memcpy(instant, name, n);
    instant[n] = 0;
    return true;
}

sl_status instant_locks_sweep(const sl_table *table, const sl_timeline *timeline)
{
    char *folder = NULL;
    sl_listing listing = {0};
    sl_status status = SL_OK;
    SL_GO(hoodie_path(table, LOCKS_FOLDER, &folder));
    SL_GO(sl_storage_list(table->storage, folder, &listing));
    for (size_t i = 0; i < listing.count; i++) {
        char instant[SL_INSTANT_BYTES];
        sl_storage_lock_handle *lock = NULL;
        if (!instant_of_lock(listing.entries[i].name, instant) || sl_timeline_is_pending(timeline, instant))
            continue;
        if (!sl_status_ignore(instant_lock_take(table, instant, &lock)))
            sl_storage_unlock_for_good(lock);
    }
done:
    sl_listing_free(&listing);
    sl_free(folder);
    return status;
}
