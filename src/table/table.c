/* Opening a table: its properties become the members that the rest of the engine asks for. */
#include "table/table_int.h"
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- settings of a handle ------------------------------------------------------------------------------ */

const char *sl_table_setting(const sl_table *table, const char *key, const char *fallback)
{
    const char *value = sl_properties_get(&table->options, key);
    return value ? value : sl_properties_get_or(&table->properties, key, fallback);
}

sl_status sl_table_setting_int(const sl_table *table, const char *key, int64_t fallback, int64_t *out)
{
    const char *text = sl_table_setting(table, key, NULL);
    *out = fallback;
    return text && !parse_int(text, out) ? sl_input("setting %s: \"%s\" is no whole number", key, text)
                                         : SL_OK;
}

sl_status sl_table_setting_bytes(const sl_table *table, const char *key, uint64_t fallback, uint64_t *out)
{
    const char *text = sl_table_setting(table, key, NULL);
    if (text)
        SL_TRY_CTX(sl_parse_bytes(text, out), "setting %s", key);
    else
        *out = fallback;
    return SL_OK;
}

bool sl_table_setting_true(const sl_table *table, const char *key, bool fallback)
{
    const char *value = sl_table_setting(table, key, NULL);
    return value ? strcmp(value, "true") == 0 : fallback;
}

/* Every file of a table that is read, written or deleted is named here; properties, plans, commits and markers that somebody
 * else wrote may say where, but never outside the table. */
sl_status sl_table_path(const sl_table *table, const char *relative, char **out)
{
    if (!sl_path_stays_below(relative))
        return sl_corrupt("the path %s leads out of the table", relative);
    return sl_path_join(table->path, relative, out);
}

sl_status hoodie_path(const sl_table *table, const char *relative, char **out)
{
    char *below;
    SL_TRY(sl_path_join(".hoodie", relative, &below));
    sl_status status = sl_table_path(table, below, out);
    sl_free(below);
    return status;
}

sl_status timeline_path(const sl_table *table, const char *file, char **out)
{
    char *below;
    SL_TRY(sl_path_join(sl_properties_get_or(&table->properties, "hoodie.timeline.path", "timeline"), file,
                        &below));
    sl_status status = hoodie_path(table, below, out);
    sl_free(below);
    return status;
}

/* ---- interpretation ------------------------------------------------------------------------------------ */

/* Where no merge mode is stored (spec/timeline.md 3.4): by payload class and strategy id, else by ordering
 * field. */
static enum sl_table_merge infer_merge(const sl_properties *p, bool has_ordering)
{
    const char *payload = sl_properties_get(p, "hoodie.compaction.payload.class");
    const char *strategy = sl_properties_get(p, "hoodie.record.merge.strategy.id");
    if (strategy && strcmp(strategy, "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5") == 0)
        return SL_MERGE_EVENT_TIME;
    if (strategy && strcmp(strategy, "ce9acb64-bde0-424c-9b91-f6ebba25356d") == 0)
        return SL_MERGE_COMMIT_TIME;
    if (payload &&
        (strstr(payload, ".DefaultHoodieRecordPayload") || strstr(payload, ".EventTimeAvroPayload")))
        return SL_MERGE_EVENT_TIME;
    if (payload && strstr(payload, ".OverwriteWithLatestAvroPayload"))
        return SL_MERGE_COMMIT_TIME;
    if (payload || strategy)
        return SL_MERGE_CUSTOM;
    return has_ordering ? SL_MERGE_EVENT_TIME : SL_MERGE_COMMIT_TIME;
}

static sl_status interpret_merge(sl_table *t)
{
    const sl_properties *p = &t->properties;
    const char *mode = sl_properties_get(p, "hoodie.record.merge.mode");
    const char *ordering = sl_properties_get(p, "hoodie.table.ordering.fields");
    if (!ordering)
        ordering = sl_properties_get_or(p, "hoodie.table.precombine.field", "");
    sl_strings_free(&t->ordering);
    SL_TRY(sl_strings_split(&t->ordering, ordering, ','));
    if (!mode || !*mode)
        t->merge = infer_merge(p, t->ordering.count > 0);
    else if (strcmp(mode, "EVENT_TIME_ORDERING") == 0)
        t->merge = SL_MERGE_EVENT_TIME;
    else if (strcmp(mode, "COMMIT_TIME_ORDERING") == 0)
        t->merge = SL_MERGE_COMMIT_TIME;
    else if (strcmp(mode, "CUSTOM") == 0)
        t->merge = SL_MERGE_CUSTOM;
    else
        return sl_corrupt("hoodie.record.merge.mode is \"%s\"", mode);
    if (t->merge == SL_MERGE_COMMIT_TIME ||
        t->ordering.count == 0) { /* commit time clears the ordering fields (spec/lsm-layout.md 4.2) */
        sl_strings_free(&t->ordering);
        if (t->merge == SL_MERGE_EVENT_TIME)
            t->merge = SL_MERGE_COMMIT_TIME;
    }
    return SL_OK;
}

/* Below version 9 a COMPLEX key of one field has two forms, and only the writer's options told which. */
#define BARE_KEYS "hoodie.write.complex.keygen.new.encoding"

/* The older property names a class, "...SimpleKeyGenerator" or "...SimpleAvroKeyGenerator". */
static sl_status keygen_kind_of_class(const char *class_name, enum sl_keygen_kind *out)
{
    static const struct {
        const char *name, *avro_name;
        enum sl_keygen_kind kind;
    } known[] = {{"SimpleKeyGenerator", "SimpleAvroKeyGenerator", SL_KEYGEN_SIMPLE},
                 {"ComplexKeyGenerator", "ComplexAvroKeyGenerator", SL_KEYGEN_COMPLEX},
                 {"NonpartitionedKeyGenerator", "NonpartitionedAvroKeyGenerator", SL_KEYGEN_NON_PARTITION}};
    const char *dot = strrchr(class_name, '.');
    const char *name = dot ? dot + 1 : class_name;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0 || strcmp(name, known[i].avro_name) == 0) {
            *out = known[i].kind;
            return SL_OK;
        }
    return sl_unsupported("key generator %s", class_name);
}

static sl_status keygen_kind(const sl_properties *p, const struct sl_keygen *k, enum sl_keygen_kind *out)
{
    const char *type = sl_properties_get(p, "hoodie.table.keygenerator.type");
    const char *class_name = sl_properties_get(p, "hoodie.table.keygenerator.class");
    if (type)
        return sl_keygen_kind_named(type, out);
    if (class_name)
        return keygen_kind_of_class(class_name, out);
    return sl_keygen_infer(k->record_fields.count, k->partition_fields.count,
                           k->partition_fields.count ? k->partition_fields.items[0] : "", out);
}

static sl_status interpret_keys(sl_table *t)
{
    const sl_properties *p = &t->properties;
    struct sl_keygen *k = &t->keygen;
    sl_keygen_free(k);
    memset(k, 0, sizeof *k);
    SL_TRY(sl_strings_split(&k->record_fields, sl_properties_get_or(p, "hoodie.table.recordkey.fields", ""),
                            ','));
    SL_TRY(sl_strings_split(&k->partition_fields,
                            sl_properties_get_or(p, "hoodie.table.partition.fields", ""), ','));
    for (size_t i = 0; i < k->partition_fields.count; i++) { /* a custom generator's `field:TYPE` */
        char *colon = strchr(k->partition_fields.items[i], ':');
        if (colon)
            *colon = 0;
    }
    k->hive_style = sl_properties_true(p, "hoodie.datasource.write.hive_style_partitioning", false);
    k->url_encode = sl_properties_true(p, "hoodie.datasource.write.partitionpath.urlencode", false);
    k->slash_dates =
        sl_properties_true(p, "hoodie.datasource.write.slash.separated.date.partitioning", false);
    k->complex_bare_single = t->version < 9 && sl_table_setting_true(t, BARE_KEYS, false);
    sl_status status = keygen_kind(p, k, &k->kind);
    /* A generator that we cannot run matters to writers, who ask again, and to pruning by partition. */
    t->keygen_known = sl_status_code(status) != SL_E_UNSUPPORTED;
    if (!t->keygen_known) {
        sl_status_free(status);
        status = SL_OK;
    }
    return status;
}

static sl_status interpret_buckets(sl_table *t)
{
    t->buckets.buckets = 0;
    sl_strings_free(&t->buckets.hash_fields);
    if (strcmp(sl_table_setting(t, "hoodie.index.type", ""), "BUCKET") != 0)
        return SL_OK;
    const char *engine = sl_table_setting(t, "hoodie.index.bucket.engine", "SIMPLE");
    if (strcmp(engine, "SIMPLE") != 0)
        return SL_OK;
    int64_t count;
    SL_TRY(sl_table_setting_int(t, "hoodie.bucket.index.num.buckets", 0, &count));
    if (count < 0 || count > 99999999)
        return sl_input("hoodie.bucket.index.num.buckets is %" PRId64 "; 1 to 99999999 are possible", count);
    t->buckets.buckets = (uint32_t)count;
    return sl_strings_split(&t->buckets.hash_fields,
                            sl_table_setting(t, "hoodie.bucket.index.hash.field", ""), ',');
}

static sl_status interpret_layout(sl_table *t)
{
    const char *layout = sl_properties_get_or(&t->properties, "hoodie.table.storage.layout", "default");
    if (equals_ignoring_case(layout, "lsm_tree"))
        t->layout = SL_LAYOUT_LSM;
    else if (equals_ignoring_case(layout, "default"))
        t->layout = SL_LAYOUT_DEFAULT;
    else
        return sl_corrupt("hoodie.table.storage.layout is \"%s\", neither default nor lsm_tree", layout);
    return SL_OK;
}

static sl_status refuse_unreadable(const sl_table *t)
{
    const sl_properties *p = &t->properties;
    const char *timeline_layout = sl_properties_get(p, "hoodie.timeline.layout.version");
    if (t->version < 8 || t->version > 10)
        return sl_unsupported("table version %d (versions 8, 9 and 10 are supported)", t->version);
    if (!timeline_layout || strcmp(timeline_layout, "2") != 0)
        return sl_unsupported("timeline layout version %s (only 2 is supported)",
                              timeline_layout ? timeline_layout : "(absent)");
    if (strcmp(sl_properties_get_or(p, "hoodie.table.base.file.format", "PARQUET"), "PARQUET") != 0)
        return sl_unsupported("base file format %s (only PARQUET is supported)",
                              sl_properties_get(p, "hoodie.table.base.file.format"));
    if (strcmp(sl_properties_get_or(p, "hoodie.table.format", "native"), "native") != 0)
        return sl_unsupported("table format %s", sl_properties_get(p, "hoodie.table.format"));
    if (sl_properties_true(p, "hoodie.datasource.write.drop.partition.columns", false))
        return sl_unsupported(
            "tables whose files lack the partition columns (hoodie.datasource.write.drop.partition.columns)");
    if (sl_properties_get(p, "hoodie.bootstrap.base.path"))
        return sl_unsupported("bootstrapped tables");
    return SL_OK;
}

sl_status table_interpret(sl_table *t)
{
    const sl_properties *p = &t->properties;
    const char *version = sl_properties_get_or(p, "hoodie.table.version", "9");
    int64_t number;
    t->interpreted = false;
    if (!parse_int(version, &number) || number < 0 || number > INT_MAX)
        return sl_corrupt("hoodie.table.version is \"%s\"", version);
    t->version = (int)number;
    t->name = sl_properties_get_or(p, "hoodie.table.name", "");
    SL_TRY(refuse_unreadable(t));
    const char *type = sl_properties_get_or(p, "hoodie.table.type", "COPY_ON_WRITE");
    if (strcmp(type, "COPY_ON_WRITE") != 0 && strcmp(type, "MERGE_ON_READ") != 0)
        return sl_corrupt("hoodie.table.type is \"%s\"", type);
    t->type = *type == 'C' ? SL_COPY_ON_WRITE : SL_MERGE_ON_READ;
    t->utc = strcmp(sl_properties_get_or(p, "hoodie.table.timeline.timezone", "LOCAL"), "UTC") == 0;
    t->populate_meta = sl_properties_true(p, "hoodie.populate.meta.fields", true);
    t->has_metadata_table = *sl_properties_get_or(p, "hoodie.table.metadata.partitions", "") != 0;
    SL_TRY(interpret_layout(t));
    SL_TRY(interpret_merge(t));
    SL_TRY(interpret_keys(t));
    SL_TRY(interpret_buckets(t));
    t->interpreted = true;
    return SL_OK;
}

static sl_status table_load(sl_table *t, const char *path, const sl_properties *options)
{
    SL_TRY(sl_path_absolute(path, &t->path));
    for (size_t i = 0; options && i < options->keys.count; i++)
        SL_TRY(sl_properties_set(&t->options, options->keys.items[i], options->values.items[i]));
    sl_status status = properties_load(t->storage, t->path, &t->properties);
    if (sl_status_code(status) == SL_E_NOT_FOUND) {
        sl_status_free(status);
        status = sl_hint(sl_not_found("no Hudi table here: .hoodie/hoodie.properties is missing"),
                         "`sluice create` makes one");
    }
    return status ? status : table_interpret(t);
}

/* Takes over the storage. */
static sl_status table_open(sl_storage *storage, const char *uri, const char *path,
                            const sl_properties *options, const sl_runtime *runtime, sl_table **out)
{
    sl_table *t = sl_calloc(1, sizeof *t);
    if (!t) {
        sl_storage_free(storage);
        return sl_nomem();
    }
    t->storage = storage;
    if (runtime)
        t->runtime = *runtime;
    sl_status status = (t->uri = sl_strdup(uri)) ? table_load(t, path, options) : sl_nomem();
    if (status) {
        sl_table_close(t);
        return sl_context(status, "table %s", uri);
    }
    *out = t;
    return SL_OK;
}

sl_status sl_table_open(const char *uri, const sl_properties *options, const sl_runtime *runtime,
                        sl_table **out)
{
    sl_storage *storage;
    char *path;
    SL_TRY_CTX(sl_storage_for_uri(uri, &storage, &path), "table %s", uri);
    sl_status status = table_open(storage, uri, path, options, runtime, out);
    sl_free(path);
    return status;
}

sl_status sl_table_open_on(sl_storage *storage, const char *path, const sl_properties *options,
                           const sl_runtime *runtime, sl_table **out)
{
    return table_open(storage, path, path, options, runtime, out);
}

void sl_table_close(sl_table *t)
{
    if (!t)
        return;
    sl_properties_free(&t->properties);
    sl_properties_free(&t->options);
    sl_keygen_free(&t->keygen);
    sl_strings_free(&t->ordering);
    sl_strings_free(&t->buckets.hash_fields);
    sl_storage_free(t->storage);
    sl_free(t->path);
    sl_free(t->uri);
    sl_free(t);
}

/* ---- what we write ------------------------------------------------------------------------------------- */

static sl_status refuse_keygen(const sl_table *t)
{
    enum sl_keygen_kind kind;
    if (t->keygen.record_fields.count == 0)
        return sl_unsupported("writing a table without record key fields (hoodie.table.recordkey.fields)");
    SL_TRY(keygen_kind(&t->properties, &t->keygen, &kind));
    if (t->version < 9 && t->keygen.kind == SL_KEYGEN_COMPLEX && t->keygen.record_fields.count == 1 &&
        !sl_table_setting(t, BARE_KEYS, NULL))
        return sl_hint(
            sl_unsupported("writing a table of version %d whose key generator is COMPLEX with one field: "
                           "its keys may be \"%s:value\" or \"value\"",
                           t->version, t->keygen.record_fields.items[0]),
            "look at _hoodie_record_key, then give -c " BARE_KEYS
            "=false for the first form, =true for the second");
    return SL_OK;
}

/* A row's file group is told by its bucket, or by a look at the keys of its partition: what a simple and a bloom index
 * both answer. */
static sl_status refuse_index(const sl_table *t)
{
    const char *type = sl_table_setting(t, "hoodie.index.type", "");
    bool looked_up = !*type || strcmp(type, "SIMPLE") == 0 || strcmp(type, "BLOOM") == 0;
    if (t->buckets.buckets || looked_up)
        return SL_OK;
    if (strcmp(type, "BUCKET") == 0)
        return sl_hint(
            sl_unsupported("writing a table without the number of its buckets, or with another bucket "
                           "index than the simple one"),
            "-c hoodie.bucket.index.num.buckets=N with the N that the table's other writers use");
    return sl_unsupported("writing a table by the index type %s (BUCKET, SIMPLE and BLOOM are supported)",
                          type);
}

/* Native change data logs came with version 10; before, changes lie in inline logs, which we do not write. */
static sl_status refuse_change_data(const sl_table *t)
{
    bool keeps;
    enum sl_cdc_mode mode;
    SL_TRY(sl_table_keeps_changes(t, &keeps, &mode));
    return keeps && t->layout != SL_LAYOUT_LSM
               ? sl_unsupported("writing a table of the default layout that keeps change data "
                                "(hoodie.table.cdc.enabled)")
               : SL_OK;
}

/* A writer that means another version would write other logs and metadata than the table's readers expect. */
static sl_status refuse_other_version(const sl_table *t)
{
    int64_t wanted;
    SL_TRY(sl_table_setting_int(t, "hoodie.write.table.version", t->version, &wanted));
    return wanted == t->version
               ? SL_OK
               : sl_unsupported("writing a table of version %d with hoodie.write.table.version=%" PRId64,
                                t->version, wanted);
}

/* Which row of a key wins is the table's to say, to its readers too: a writer's other rule would only be ignored. */
static sl_status refuse_other_rule(const sl_table *t, const char *setting, const char *stored)
{
    const char *wanted = sl_properties_get(&t->options, setting);
    return !wanted || strcmp(wanted, stored) == 0
               ? SL_OK
               : sl_hint(sl_unsupported("writing with %s=%s: the table has %s", setting, wanted,
                                        *stored ? stored : "none"),
                         "this is settled when a table is made");
}

static sl_status refuse_other_merge(const sl_table *t)
{
    static const char *const names[][2] = {
        {"hoodie.table.partial.update.mode", "hoodie.table.partial.update.mode"},
        {SL_UNAVAILABLE_VALUE, SL_UNAVAILABLE_VALUE},
        {SL_DELETE_FIELD, SL_DELETE_FIELD},
        {SL_DELETE_MARKER, SL_DELETE_MARKER},
        {"hoodie.payload.delete.field", SL_DELETE_FIELD},
        {"hoodie.payload.delete.marker", SL_DELETE_MARKER},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *plain = sl_properties_get_or(&t->properties, names[i][0], "");
        SL_TRY(refuse_other_rule(t, names[i][0], sl_properties_get_or(&t->properties, names[i][1], plain)));
    }
    return refuse_other_rule(t, "hoodie.record.merge.mode",
                             t->merge == SL_MERGE_EVENT_TIME ? "EVENT_TIME_ORDERING"
                                                             : "COMMIT_TIME_ORDERING");
}

sl_status sl_table_check_writable(sl_table *t)
{
    const sl_properties *p = &t->properties;
    SL_TRY(refuse_other_version(t));
    if (strcmp(sl_table_setting(t, "hoodie.write.concurrency.mode", "SINGLE_WRITER"), "SINGLE_WRITER") != 0)
        return sl_unsupported("hoodie.write.concurrency.mode=%s",
                              sl_table_setting(t, "hoodie.write.concurrency.mode", ""));
    if (t->merge == SL_MERGE_CUSTOM)
        return sl_unsupported("writing a table whose merge mode is CUSTOM");
    SL_TRY(refuse_other_merge(t));
    const char *partial = sl_properties_get_or(p, "hoodie.table.partial.update.mode", "");
    if (*partial && strcmp(partial, "IGNORE_DEFAULTS") != 0 && strcmp(partial, "FILL_UNAVAILABLE") != 0)
        return sl_unsupported("writing a table whose partial update mode is %s", partial);
    if (!t->populate_meta || strcmp(sl_properties_get_or(p, "hoodie.meta.fields.mode", "ALL"), "ALL") != 0)
        return sl_unsupported("writing a table without all meta columns (hoodie.populate.meta.fields, "
                              "hoodie.meta.fields.mode)");
    SL_TRY(refuse_change_data(t));
    if (sl_properties_true(p, "hoodie.partition.metafile.use.base.format", false))
        return sl_unsupported("writing a table whose partition metadata is in Parquet "
                              "(hoodie.partition.metafile.use.base.format)");
    if (t->layout == SL_LAYOUT_LSM && t->version < 10)
        return sl_unsupported("writing an lsm_tree table of version %d (the layout needs version 10)",
                              t->version);
    if (t->layout == SL_LAYOUT_DEFAULT && t->type == SL_MERGE_ON_READ)
        return sl_unsupported("writing a merge-on-read table of the default layout");
    SL_TRY(refuse_keygen(t));
    SL_TRY(refuse_index(t));
    if (t->has_metadata_table && strcmp(sl_table_setting(t, "hoodie.metadata.enable", "true"), "false") != 0)
        return sl_hint(
            sl_unsupported("writing a table whose metadata table is in service (%s)",
                           sl_properties_get(p, "hoodie.table.metadata.partitions")),
            "-c hoodie.metadata.enable=false takes it out of service; the next Spark writer builds it anew");
    return SL_OK;
}
