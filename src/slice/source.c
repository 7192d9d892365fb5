/*
 * Open data files. A footer is decoded once and shared; the cache serves those who ask for the same files again and
 * again, as lookups do. Names of data files are never used twice, so an entry cannot go stale.
 */
#include "slice/slice_int.h"
#include <pthread.h>

struct sl_source_cache {
    pthread_mutex_t mutex;
    struct cached {
        sl_source *source;
        uint64_t used; /* tick of its last use */
    } * items;
    size_t count, most;
    uint64_t tick;
};

/* ---- sources ------------------------------------------------------------------------------------------- */

sl_source *sl_source_ref(sl_source *source)
{
    atomic_fetch_add_explicit(&source->refs, 1, memory_order_relaxed);
    return source;
}

void sl_source_unref(sl_source *source)
{
    if (!source || atomic_fetch_sub_explicit(&source->refs, 1, memory_order_acq_rel) > 1)
        return;
    sl_log_headers_free(&source->headers);
    sl_parquet_close(source->parquet);
    sl_file_close(source->file);
    sl_free(source->relative);
    sl_free(source);
}

/* A file that was put in another's place reads like that one, so what its footer says of itself must fit its name: the
 * instant of native logs, whoever wrote them (spec/lsm-layout.md 5), and the name of our own files. A program that writes one
 * anew may keep our entry, which then means nothing. */
static sl_status check_identity(const sl_source *source, const char *name, const struct sl_file_name *parts)
{
    const char *instant = source->headers.instant,
               *written_as = sl_parquet_key_value(source->parquet, SLICE_FILE_NAME);
    if (instant && strcmp(instant, parts->instant) != 0)
        return sl_corrupt("its header INSTANT_TIME says %s: another file lies under this name", instant);
    if (written_as && sl_parquet_is_ours(source->parquet) && strcmp(written_as, name) != 0)
        return sl_corrupt("it was written as %s: another file lies under this name", written_as);
    return SL_OK;
}

static sl_status read_identity(sl_source *source)
{
    const char *slash = strrchr(source->relative, '/'), *name = slash ? slash + 1 : source->relative;
    struct sl_file_name parts;
    sl_file_name_parse(name, &parts);
    if (parts.kind == SL_FILE_LOG || parts.kind == SL_FILE_DELETES || parts.kind == SL_FILE_CDC)
        SL_TRY(sl_log_headers_read(source->parquet, &source->headers));
    return check_identity(source, name, &parts);
}

static sl_status open_file(const sl_table *table, const char *relative, sl_source **out)
{
    sl_source *source;
    char *path = NULL;
    SL_NEW(source);
    atomic_init(&source->refs, 1);
    sl_status status = SL_OK;
    if (!(source->relative = sl_strdup(relative)))
        SL_GO(sl_nomem());
    SL_GO(sl_table_path(table, relative, &path));
    SL_GO(sl_storage_open(table->storage, path, &source->file));
    SL_GO(sl_parquet_open(source->file, &(struct sl_parquet_open_options){.runtime = &table->runtime},
                          &source->parquet));
    SL_GO(read_identity(source));
    *out = source;
done:
    sl_free(path);
    if (status)
        sl_source_unref(source);
    return status;
}

/* ---- the cache ----------------------------------------------------------------------------------------- */

sl_status sl_source_cache_new(size_t most, sl_source_cache **out)
{
    sl_source_cache *cache;
    size_t share = slice_files_for(2); /* those who look things up open files of their own */
    SL_NEW(cache);
    most = most < share ? most : share > 0 ? share : 1;
    if (!(cache->items = sl_calloc(most, sizeof *cache->items))) {
        sl_free(cache);
        return sl_nomem();
    }
    cache->most = most;
    pthread_mutex_init(&cache->mutex, NULL);
    *out = cache;
    return SL_OK;
}

void sl_source_cache_free(sl_source_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < cache->count; i++)
        sl_source_unref(cache->items[i].source);
    pthread_mutex_destroy(&cache->mutex);
    sl_free(cache->items);
    sl_free(cache);
}

static sl_source *find(sl_source_cache *cache, const char *relative)
{
    sl_source *found = NULL;
    pthread_mutex_lock(&cache->mutex);
    for (size_t i = 0; i < cache->count && !found; i++)
        if (strcmp(cache->items[i].source->relative, relative) == 0) {
            found = sl_source_ref(cache->items[i].source);
            cache->items[i].used = ++cache->tick;
        }
    pthread_mutex_unlock(&cache->mutex);
    return found;
}

/* Two threads may both open a file that is not there yet: then it is kept twice, which harms nobody. */
static void keep(sl_source_cache *cache, sl_source *source)
{
    sl_source *evicted = NULL;
    pthread_mutex_lock(&cache->mutex);
    size_t at = cache->count;
    if (cache->count < cache->most) {
        cache->count++;
    } else {
        at = 0;
        for (size_t i = 1; i < cache->count; i++)
            if (cache->items[i].used < cache->items[at].used)
                at = i;
        evicted = cache->items[at].source;
    }
    cache->items[at] = (struct cached){sl_source_ref(source), ++cache->tick};
    pthread_mutex_unlock(&cache->mutex);
    sl_source_unref(evicted);
}

/* A view names only files that are there: whoever looks for one later may come after a rollback. The rows that were handed
 * out until then are of a snapshot that is gone, so there is no going on with the next one. */
static sl_status explain_missing(sl_status status)
{
    return sl_status_code(status) != SL_E_NOT_FOUND
               ? status
               : sl_hint(status,
                         "its instant may have been rolled back, or the file cleaned away, since the read "
                         "began: read again; `sluice doctor` tells whether the table lacks files");
}

sl_status sl_source_open(const sl_table *table, const char *relative, sl_source_cache *cache, sl_source **out)
{
    sl_source *found = cache ? find(cache, relative) : NULL;
    if (!found) {
        SL_TRY_CTX(explain_missing(open_file(table, relative, &found)), "file %s", relative);
        if (cache)
            keep(cache, found);
    }
    *out = found;
    return SL_OK;
}
