/* Listings: sorted by name, so that what depends on them does not depend on the file system's order. */
#include "storage/storage_int.h"

sl_status listing_add(sl_listing *listing, size_t *cap, const char *name, const sl_entry *entry)
{
    SL_GROW(listing->entries, listing->count, *cap, 32);
    char *copy = sl_strdup(name);
    if (!copy)
        return sl_nomem();
    listing->entries[listing->count] = *entry;
    listing->entries[listing->count++].name = copy;
    return SL_OK;
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const sl_entry *)a)->name, ((const sl_entry *)b)->name);
}

sl_status sl_storage_list(sl_storage *storage, const char *path, sl_listing *out)
{
    sl_listing listing = {0};
    sl_status status = storage->vtable->list(storage, path, &listing);
    if (status) {
        sl_listing_free(&listing);
        return status;
    }
    if (listing.count > 1)
        qsort(listing.entries, listing.count, sizeof *listing.entries, compare_entries);
    *out = listing;
    return SL_OK;
}

void sl_listing_free(sl_listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        sl_free(listing->entries[i].name);
    sl_free(listing->entries);
    *listing = (sl_listing){0};
}
