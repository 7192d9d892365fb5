/* Lookups of the public API. The engine behind them is made at a handle's first lookup and lives as long as the handle. */
#include "api/api_int.h"
#include <string.h>

/* ---- the request --------------------------------------------------------------------------------------- */

static sl_status import_keys(const char *const *keys, size_t count, const size_t *bytes, sl_array **out)
{
    const sl_type *type;
    sl_builder *b = NULL;
    SL_TRY(sl_type_new(SL_STRING, &type));
    sl_status status = sl_builder_new(type, &b);
    for (size_t i = 0; i < count && !status; i++)
        status = sl_builder_bytes(b, keys[i], bytes ? bytes[i] : strlen(keys[i]));
    if (!status)
        status = sl_builder_finish(b, out);
    sl_builder_free(b);
    sl_type_unref(type);
    return status;
}

static sl_status import_names(const char *const *names, size_t count, sl_strings *out)
{
    for (size_t i = 0; names && i < count; i++)
        SL_TRY(sl_strings_add(out, names[i]));
    return SL_OK;
}

/* ---- the call ------------------------------------------------------------------------------------------ */

static sl_status engine_of(sluice_table *t, sl_lookup **out)
{
    sl_status status = SL_OK;
    pthread_mutex_lock(&t->lookup_mutex);
    if (!t->lookup)
        status = sl_lookup_new(t->table, &t->lookup);
    *out = t->lookup;
    pthread_mutex_unlock(&t->lookup_mutex);
    return status;
}

int sluice_lookup(sluice_table *t, const char *const *keys, size_t count,
                  const sluice_lookup_options *options, struct ArrowArrayStream *rows, sluice_error *e)
{
    API_REQUIRE(t, rows);
    sluice_lookup_options o = {0};
    struct sl_lookup_request request = {0};
    sl_strings partitions = {0};
    sl_read_stats stats;
    sl_lookup *engine;
    sl_stream *found;
    sl_status status = SL_OK;
    memset(&stats, 0, sizeof stats);
    if (options)
        memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    SL_GO(api_items("keys", keys, count));
    SL_GO(api_items("columns", o.columns, o.columns ? o.column_count : 0));
    SL_GO(api_items("partitions", o.partitions, o.partitions ? o.partition_count : 0));
    SL_GO(engine_of(t, &engine));
    SL_GO(import_keys(keys, count, o.key_bytes, &request.keys));
    SL_GO(import_names(o.partitions, o.partition_count, &partitions));
    request.columns = o.columns;
    request.column_count = o.column_count;
    request.partitions = o.partitions ? &partitions : NULL;
    SL_GO(sl_lookup_rows(engine, &request, &stats, &found));
    SL_GO(api_export_stream(found, t->budget.limit, rows));
    if (o.stats)
        api_read_stats(&stats, o.stats);
done:
    sl_array_unref(request.keys);
    sl_strings_free(&partitions);
    return api_result(sl_context(status, "table %s", t->table->uri), e);
}
