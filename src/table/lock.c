/*
 * The table's write lock. Writers of sluice queue for it, from before they draw their instant until they have
 * published, so they never meet half way. It is a lock of the operating system on a file that stays: it goes
 * with its process.
 */
#include "table/table_int.h"

#define LOCK_FILE ".locks/sluice.lock"
#define WAIT_MS   60000

struct sl_table_lock {
    sl_storage_lock_handle *handle;
};

sl_status sl_table_lock_take(const sl_table *table, sl_table_lock **out)
{
    char *path = NULL;
    sl_table_lock *lock;
    int64_t wait_ms;
    SL_NEW(lock);
    sl_status status = SL_OK;
    SL_GO(sl_table_setting_int(table, "hoodie.write.lock.wait_time_ms", WAIT_MS, &wait_ms));
    SL_GO(hoodie_path(table, LOCK_FILE, &path));
    SL_GO(sl_storage_lock(table->storage, path, wait_ms, &lock->handle));
done:
    sl_free(path);
    if (status)
        sl_free(lock);
    else
        *out = lock;
    return status;
}

void sl_table_lock_release(sl_table_lock *lock)
{
    if (!lock)
        return;
    sl_storage_unlock(lock->handle);
    sl_free(lock);
}
