/* Errors, options, and the table handle with what its operations run in: threads, memory budget, cancel flag,
 * callbacks. */
#include "api/api_int.h"
#include <stdio.h>
#include <string.h>

const char *sluice_version(void) { return SL_VERSION; }
void sluice_free(void *memory) { sl_free(memory); }

static void tell(char *out, size_t out_bytes, const char *text)
{
    int len = snprintf(out, out_bytes, "%s", text);
    if (len >= 0 && (size_t)len >= out_bytes)
        out[sl_utf8_cut(text, out_bytes - 1)] = 0;
}

int api_result(sl_status status, sluice_error *e)
{
    int code = (int)sl_status_code(status);
    if (e) {
        const char *hint = sl_status_hint(status);
        e->code = code;
        tell(e->message, sizeof e->message, sl_status_message(status));
        tell(e->hint, sizeof e->hint, hint ? hint : "");
    }
    sl_status_free(status);
    return code;
}

sl_status api_options(const char *const *options, sl_properties *out)
{
    sl_properties p = {0};
    sl_status status = SL_OK;
    for (size_t i = 0; options && options[i] && !status; i += 2) {
        if (!options[i + 1])
            status = sl_input("setting %s has no value", options[i]);
        else
            status = sl_setting_check(options[i], options[i + 1]);
        if (!status)
            status = sl_properties_set(&p, options[i], options[i + 1]);
    }
    if (status)
        sl_properties_free(&p);
    else
        *out = p;
    return status;
}

/* ---- surroundings -------------------------------------------------------------------------------------- */

static void on_log(void *context, int level, const char *message)
{
    sluice_table *t = context;
    if (!t->callbacks.log)
        return;
    pthread_mutex_lock(&t->callback_mutex);
    t->callbacks.log(t->callbacks.context, level, message);
    pthread_mutex_unlock(&t->callback_mutex);
}

static void on_progress(void *context, const char *step, uint64_t done, uint64_t total)
{
    sluice_table *t = context;
    if (!t->callbacks.progress)
        return;
    pthread_mutex_lock(&t->callback_mutex);
    t->callbacks.progress(t->callbacks.context, step, done, total);
    pthread_mutex_unlock(&t->callback_mutex);
}

static sl_status set_up_runtime(sluice_table *t, const sl_properties *options)
{
    uint64_t memory = sl_memory_total() / 4;
    const char *text = sl_properties_get(options, "sluice.memory");
    const char *threads = sl_properties_get_or(options, "sluice.threads", "0");
    const char *temp = sl_properties_get(options, "hoodie.memory.spillable.map.path");
    long count = atol(threads);
    if (text && *text)
        SL_TRY_CTX(sl_parse_bytes(text, &memory), "setting sluice.memory");
    if (count < 0 || count > 1024)
        return sl_input("setting sluice.threads: %ld; 0 to 1024 are possible", count);
    SL_TRY(sl_pool_new(count ? (unsigned)count : sl_cpu_count(), &t->pool));
    if (temp && !(t->temp_dir = sl_strdup(temp)))
        return sl_nomem();
    t->budget.limit = (size_t)memory;
    t->runtime = (sl_runtime){.pool = t->pool,
                              .budget = &t->budget,
                              .cancel = &t->cancel,
                              .on_log = on_log,
                              .log_context = t,
                              .on_progress = on_progress,
                              .progress_context = t,
                              .temp_dir = t->temp_dir};
    return SL_OK;
}

int sluice_table_open(const char *uri, const char *const *options, sluice_table **out, sluice_error *e)
{
    API_REQUIRE(uri, out);
    sl_properties p = {0};
    sluice_table *t = sl_calloc(1, sizeof *t);
    if (!t)
        return api_result(sl_nomem(), e);
    atomic_init(&t->users, 1);
    pthread_mutex_init(&t->callback_mutex, NULL);
    pthread_mutex_init(&t->lookup_mutex, NULL);
    sl_status status = api_options(options, &p);
    if (!status)
        status = set_up_runtime(t, &p);
    if (!status)
        status = sl_table_open(uri, &p, &t->runtime, &t->table);
    if (!status)
        t->table->reads = &t->reads;
    sl_properties_free(&p);
    if (status)
        sluice_table_close(t);
    else
        *out = t;
    return api_result(status, e);
}

uint64_t sluice_table_memory(const sluice_table *t) { return t ? t->budget.limit : 0; }

sluice_table *api_table_ref(sluice_table *t)
{
    atomic_fetch_add_explicit(&t->users, 1, memory_order_relaxed);
    return t;
}

void sluice_table_close(sluice_table *t)
{
    if (!t || atomic_fetch_sub_explicit(&t->users, 1, memory_order_acq_rel) != 1)
        return;
    sl_lookup_free(t->lookup);
    sl_table_close(t->table);
    sl_pool_free(t->pool);
    pthread_mutex_destroy(&t->callback_mutex);
    pthread_mutex_destroy(&t->lookup_mutex);
    sl_free(t->temp_dir);
    sl_free(t);
}

void sluice_table_callbacks(sluice_table *t, const sluice_callbacks *callbacks)
{
    sluice_callbacks known = {0};
    if (!t)
        return;
    if (callbacks)
        memcpy(&known, callbacks, callbacks->size < sizeof known ? callbacks->size : sizeof known);
    t->callbacks = known;
}

void sluice_table_read_stats(const sluice_table *t, sluice_scan_stats *stats)
{
    if (t && stats)
        api_read_stats(&t->reads, stats);
}

static void set_cancel(sluice_table *t, bool cancel)
{
    if (t)
        atomic_store(&t->cancel, cancel);
}

void sluice_table_cancel(sluice_table *t) { set_cancel(t, true); }
void sluice_table_cancel_clear(sluice_table *t) { set_cancel(t, false); }

/* ---- create, schema, rollback -------------------------------------------------------------------------- */

/* Types that Spark could not share become types that it can, unless the caller insists (spec/parquet.md 8 and 11). */
static sl_status table_types(sl_properties *options, const sl_type *given, const sl_type **out)
{
    bool keep = sl_properties_true(options, "sluice.keep.types", false);
    bool force = sl_properties_true(options, "sluice.parquet.force", false);
    SL_TRY(sl_properties_set(options, "sluice.keep.types", NULL)); /* not properties of the table */
    SL_TRY(sl_properties_set(options, "sluice.parquet.force", NULL));
    if (keep) {
        for (size_t i = 0; i < given->field_count; i++)
            SL_TRY(sl_file_type_check(&given->fields[i], force));
        *out = sl_type_ref(given);
        return SL_OK;
    }
    return sl_input_table_type(given, &(struct sl_table_type_options){.keep_required = true}, out);
}

struct sluice_creation {
    char *uri, *made; /* the topmost folder that was made */
};

/* `made` NULL: nobody will undo it. */
static sl_status create(const char *uri, const struct ArrowSchema *schema, const char *const *options,
                        char **made)
{
    struct sl_create_options create = {0};
    const sl_type *given = NULL;
    sl_status status = api_options(options, &create.properties);
    if (!status)
        status = sl_arrow_import_schema(schema, &given);
    if (!status)
        status = table_types(&create.properties, given, &create.schema);
    if (!status)
        status = sl_table_create_for(uri, &create, made);
    sl_type_unref(create.schema);
    sl_type_unref(given);
    sl_properties_free(&create.properties);
    return status;
}

int sluice_table_create(const char *uri, const struct ArrowSchema *schema, const char *const *options,
                        sluice_error *e)
{
    API_REQUIRE(uri, schema);
    return api_result(create(uri, schema, options, NULL), e);
}

int sluice_table_create_for(const char *uri, const struct ArrowSchema *schema, const char *const *options,
                            sluice_creation **out, sluice_error *e)
{
    API_REQUIRE(uri, schema, out);
    sluice_creation *c = sl_calloc(1, sizeof *c);
    sl_status status = c && (c->uri = sl_strdup(uri)) ? SL_OK : sl_nomem();
    if (!status)
        status = create(uri, schema, options, &c->made);
    if (status)
        sluice_creation_free(c);
    else
        *out = c;
    return api_result(status, e);
}

int sluice_creation_undo(const sluice_creation *c, int *gone, sluice_error *e)
{
    API_REQUIRE(c);
    bool is_gone = false;
    sl_status status = sl_table_create_undo(c->uri, c->made, &is_gone);
    if (gone)
        *gone = is_gone;
    return api_result(status, e);
}

void sluice_creation_free(sluice_creation *c)
{
    if (!c)
        return;
    sl_free(c->uri);
    sl_free(c->made);
    sl_free(c);
}

typedef sl_status (*schema_maker)(const sl_table *table, const sl_timeline *timeline, const sl_type **out);

static int export_schema(sluice_table *t, schema_maker make, struct ArrowSchema *out, sluice_error *e)
{
    sl_timeline timeline = {0};
    const sl_type *schema = NULL;
    sl_status status = sl_timeline_load(t->table, &timeline);
    if (!status)
        status = make(t->table, &timeline, &schema);
    if (!status)
        status = sl_arrow_export_schema(schema, out);
    sl_type_unref(schema);
    sl_timeline_free(&timeline);
    return api_result(status, e);
}

static sl_status all_columns(const sl_table *table, const sl_timeline *timeline, const sl_type **out)
{
    return sl_table_schema(table, timeline, NULL, out);
}

static sl_status key_columns(const sl_table *table, const sl_timeline *timeline, const sl_type **out)
{
    const sl_type *all;
    SL_TRY(sl_table_schema(table, timeline, NULL, &all));
    sl_status status = sl_write_key_columns(table, all, out);
    sl_type_unref(all);
    return status;
}

int sluice_table_schema(sluice_table *t, struct ArrowSchema *out, sluice_error *e)
{
    API_REQUIRE(t, out);
    return export_schema(t, all_columns, out, e);
}

int sluice_table_key_schema(sluice_table *t, struct ArrowSchema *out, sluice_error *e)
{
    API_REQUIRE(t, out);
    return export_schema(t, key_columns, out, e);
}

int sluice_table_rollback(sluice_table *t, const char *instant, char *instant_out, uint64_t *files_deleted,
                          sluice_error *e)
{
    API_REQUIRE(t, instant);
    char result[SL_INSTANT_BYTES] = "";
    size_t deleted = 0;
    sl_status status = sl_rollback_instant(t->table, instant, result, &deleted);
    if (!status && instant_out)
        snprintf(instant_out, 32, "%s", result);
    if (!status && files_deleted)
        *files_deleted = deleted;
    return api_result(status, e);
}
