/* Making an empty table: folders and hoodie.properties as Hudi 1.2.0 makes them (spec/timeline.md 2 and 3.4).
 */
#include "table/table_int.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char *last_component(const char *path, char *out, size_t out_bytes)
{
    size_t end = strlen(path);
    while (end && path[end - 1] == '/')
        end--;
    size_t start = end;
    while (start && path[start - 1] != '/')
        start--;
    snprintf(out, out_bytes, "%.*s", (int)(end - start), path + start);
    return out;
}

/* The name enters an Avro record name (<name>_record): Avro allows letters, digits and _ only. Hudi puts _
 * for the rest. */
static sl_status check_name(const char *name)
{
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return sl_input("the table needs a name (hoodie.table.name)");
    for (const char *c = name; *c; c++)
        if (iscntrl((unsigned char)*c) || *c == '/')
            return sl_input("table name \"%s\": control characters and / are not allowed", name);
    return SL_OK;
}

static sl_status check_fields(const sl_type *schema, const sl_strings *fields, const char *what)
{
    for (size_t i = 0; i < fields->count; i++) {
        const sl_type *in = schema;
        char *path = sl_strdup(fields->items[i]), *at = path;
        if (!path)
            return sl_nomem();
        int index = -1;
        for (char *part; at && in && in->id == SL_STRUCT; in = index < 0 ? NULL : in->fields[index].type) {
            part = at;
            at = strchr(at, '.');
            if (at)
                *at++ = 0;
            index = sl_type_field_index(in, part);
            if (index < 0)
                break;
        }
        bool left_over = at != NULL; /* a member of something that has none */
        sl_free(path);
        if (index < 0 || left_over)
            return sl_input("%s \"%s\" is no column of the schema", what, fields->items[i]);
    }
    return SL_OK;
}

/* Data columns must not shadow the meta columns, and names must be unique. */
static sl_status check_schema(const sl_type *schema)
{
    if (!schema || schema->field_count == 0)
        return sl_input("the table needs a schema with at least one column");
    for (size_t i = 0; i < schema->field_count; i++) {
        for (size_t m = 0; m < SL_META_COLUMNS; m++)
            if (strcmp(schema->fields[i].name, sl_meta_names[m]) == 0)
                return sl_input("column %s is one of Hudi's own", schema->fields[i].name);
        for (size_t j = 0; j < i; j++)
            if (strcmp(schema->fields[i].name, schema->fields[j].name) == 0)
                return sl_input("column %s is there twice", schema->fields[i].name);
    }
    return SL_OK;
}

static sl_status set_default(sl_properties *p, const char *key, const char *value)
{
    return sl_properties_get(p, key) ? SL_OK : sl_properties_set(p, key, value);
}

/* Readers take it in any case; it is stored in lower case (spec/lsm-layout.md 2). Opening refuses what is neither. */
static sl_status fill_layout(sl_properties *p)
{
    static const char *const known[] = {"default", "lsm_tree"};
    const char *given = sl_properties_get_or(p, "hoodie.table.storage.layout", "");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (equals_ignoring_case(given, known[i]))
            return sl_properties_set(p, "hoodie.table.storage.layout", known[i]);
    return SL_OK;
}

static sl_status fill_version(sl_properties *p)
{
    bool lsm = strcmp(sl_properties_get_or(p, "hoodie.table.storage.layout", ""), "lsm_tree") == 0;
    SL_TRY(set_default(p, "hoodie.table.version", lsm ? "10" : "9"));
    SL_TRY(set_default(p, "hoodie.table.type", lsm ? "MERGE_ON_READ" : "COPY_ON_WRITE"));
    const char *version = sl_properties_get(p, "hoodie.table.version");
    if (strcmp(version, "8") && strcmp(version, "9") && strcmp(version, "10"))
        return sl_unsupported("table version %s (8, 9 and 10 can be created)", version);
    if (lsm && strcmp(version, "10") != 0)
        return sl_input("layout lsm_tree needs table version 10, not %s", version);
    if (!lsm && strcmp(version, "10") == 0)
        return sl_input("table version 10 is for layout lsm_tree; a table of the default layout is version "
                        "9, which every Hudi of today reads");
    SL_TRY(sl_properties_set(p, "hoodie.table.initial.version", version));
    if (strcmp(version, "10") == 0)
        SL_TRY(set_default(p, "hoodie.meta.fields.mode", "ALL"));
    return SL_OK;
}

static sl_status fill_merge(sl_properties *p)
{
    const char *ordering = sl_properties_get_or(p, "hoodie.table.ordering.fields", "");
    SL_TRY(set_default(p, "hoodie.record.merge.mode",
                       *ordering ? "EVENT_TIME_ORDERING" : "COMMIT_TIME_ORDERING"));
    const char *mode = sl_properties_get(p, "hoodie.record.merge.mode");
    bool event = strcmp(mode, "EVENT_TIME_ORDERING") == 0;
    if (!event && strcmp(mode, "COMMIT_TIME_ORDERING") != 0)
        return sl_unsupported("merge mode %s (EVENT_TIME_ORDERING and COMMIT_TIME_ORDERING can be created)",
                              mode);
    if (event && !*ordering)
        return sl_input("merge mode EVENT_TIME_ORDERING needs ordering fields");
    if (strcmp(sl_properties_get(p, "hoodie.table.version"), "8") ==
        0) { /* version 8 tells it three times (spec/timeline.md 3.4) */
        SL_TRY(sl_properties_set(p, "hoodie.compaction.payload.class",
                                 event ? "org.apache.hudi.common.model.DefaultHoodieRecordPayload"
                                       : "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"));
        SL_TRY(sl_properties_set(p, "hoodie.record.merge.strategy.id",
                                 event ? "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5"
                                       : "ce9acb64-bde0-424c-9b91-f6ebba25356d"));
    }
    return SL_OK;
}

static sl_status check_partial_update(const sl_properties *p)
{
    const char *mode = sl_properties_get_or(p, "hoodie.table.partial.update.mode", "");
    if (*mode && strcmp(sl_properties_get(p, "hoodie.table.version"), "8") == 0)
        return sl_input("hoodie.table.partial.update.mode needs table version 9");
    if (strcmp(mode, "FILL_UNAVAILABLE") == 0 && !sl_properties_get(p, SL_UNAVAILABLE_VALUE))
        return sl_input("hoodie.table.partial.update.mode=FILL_UNAVAILABLE needs " SL_UNAVAILABLE_VALUE);
    return SL_OK;
}

/* Below version 9 the marker is told by the options of every write, not by the table. */
static sl_status check_delete_marker(const sl_properties *p, const sl_type *schema)
{
    const char *field = sl_properties_get(p, SL_DELETE_FIELD);
    if (!field && !sl_properties_get(p, SL_DELETE_MARKER))
        return SL_OK;
    if (!field || !sl_properties_get(p, SL_DELETE_MARKER))
        return sl_input("hoodie.payload.delete.field and hoodie.payload.delete.marker go together");
    if (strcmp(sl_properties_get(p, "hoodie.table.version"), "8") == 0)
        return sl_input("hoodie.payload.delete.field needs table version 9");
    if (sl_type_field_index(schema, field) < 0)
        return sl_input("hoodie.payload.delete.field \"%s\" is no column of the schema", field);
    return SL_OK;
}

static sl_status fill_keys(sl_properties *p, const sl_type *schema)
{
    sl_strings record = {0}, partition = {0}, ordering = {0};
    sl_status status = SL_OK;
    enum sl_keygen_kind kind;
    SL_GO(sl_strings_split(&record, sl_properties_get_or(p, "hoodie.table.recordkey.fields", ""), ','));
    SL_GO(sl_strings_split(&partition, sl_properties_get_or(p, "hoodie.table.partition.fields", ""), ','));
    SL_GO(sl_strings_split(&ordering, sl_properties_get_or(p, "hoodie.table.ordering.fields", ""), ','));
    if (record.count == 0) {
        status = sl_input("the table needs at least one record key field (--key)");
        goto done;
    }
    SL_GO(check_fields(schema, &record, "record key field"));
    SL_GO(check_fields(schema, &partition, "partition field"));
    SL_GO(check_fields(schema, &ordering, "ordering field"));
    SL_GO(sl_keygen_infer(record.count, partition.count, partition.count ? partition.items[0] : "", &kind));
    SL_GO(set_default(p, "hoodie.table.keygenerator.type", sl_keygen_kind_name(kind)));
    SL_GO(sl_keygen_kind_named(sl_properties_get(p, "hoodie.table.keygenerator.type"), &kind));
    if (kind == SL_KEYGEN_COMPLEX && record.count == 1 &&
        strcmp(sl_properties_get(p, "hoodie.table.version"), "8") == 0)
        SL_GO(set_default(p, "hoodie.write.complex.keygen.new.encoding",
                          "false")); /* Hudi's default; its readers keep the key */
done:
    sl_strings_free(&record);
    sl_strings_free(&partition);
    sl_strings_free(&ordering);
    return status;
}

/* The mode stands beside the switch, in the form that Hudi gives it. */
static sl_status fill_changes(sl_properties *p)
{
    static const char key[] = "hoodie.table.cdc.supplemental.logging.mode";
    static const char *const stored[] = {"OP_KEY_ONLY", "DATA_BEFORE", "DATA_BEFORE_AFTER"};
    enum sl_cdc_mode mode;
    if (!sl_properties_true(p, "hoodie.table.cdc.enabled", false) && !sl_properties_get(p, key))
        return SL_OK;
    SL_TRY(sl_cdc_mode_named(sl_properties_get_or(p, key, "data_before_after"), &mode));
    return sl_properties_set(p, key, stored[mode]);
}

static sl_status fill_index(sl_properties *p)
{
    SL_TRY(set_default(p, "hoodie.index.type", "BUCKET"));
    if (strcmp(sl_properties_get(p, "hoodie.index.type"), "BUCKET") != 0)
        return SL_OK; /* check_as_table says whether we can write it */
    SL_TRY(set_default(p, "hoodie.bucket.index.num.buckets", "4"));
    long buckets = atol(sl_properties_get(p, "hoodie.bucket.index.num.buckets"));
    if (buckets < 1 || buckets > 99999999)
        return sl_input("hoodie.bucket.index.num.buckets is %ld; 1 to 99999999 are possible", buckets);
    return set_default(p, "hoodie.bucket.index.hash.field",
                       sl_properties_get(p, "hoodie.table.recordkey.fields"));
}

/* Names that Spark's writers use become the properties that are stored. */
static sl_status take_write_names(sl_properties *p)
{
    static const char *const names[][2] = {
        {"hoodie.datasource.write.recordkey.field", "hoodie.table.recordkey.fields"},
        {"hoodie.datasource.write.partitionpath.field", "hoodie.table.partition.fields"},
        {"hoodie.datasource.write.precombine.field", "hoodie.table.ordering.fields"},
        {"hoodie.datasource.write.keygenerator.type", "hoodie.table.keygenerator.type"},
        {"hoodie.write.table.version", "hoodie.table.version"},
        {"hoodie.payload.delete.field", SL_DELETE_FIELD},
        {"hoodie.payload.delete.marker", SL_DELETE_MARKER},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = sl_properties_get(p, names[i][0]), *stored = sl_properties_get(p, names[i][1]);
        if (!value)
            continue;
        if (stored && strcmp(stored, value) != 0)
            return sl_input("%s is %s, but %s is %s", names[i][0], value, names[i][1], stored);
        SL_TRY(sl_properties_set(p, names[i][1], value));
        SL_TRY(sl_properties_set(p, names[i][0], NULL));
    }
    return SL_OK;
}

/* Everything a fresh table of Hudi 1.2.0 carries (vectors/timeline/v9/hoodie.properties), plus the index
 * (spec 3.4). */
static sl_status properties_for_create(const struct sl_create_options *options, const char *path,
                                       sl_properties *p)
{
    static const char *const fixed[][2] = {
        {"hoodie.timeline.layout.version", "2"},
        {"hoodie.timeline.path", "timeline"},
        {"hoodie.timeline.history.path", "history"},
        {"hoodie.archivelog.folder", "history"},
        {"hoodie.table.format", "native"},
        {"hoodie.table.base.file.format", "PARQUET"},
        {"hoodie.populate.meta.fields", "true"},
        {"hoodie.table.cdc.enabled", "false"},
        {"hoodie.table.timeline.timezone", "UTC"},
        {"hoodie.table.multiple.base.file.formats.enable", "false"},
        {"hoodie.datasource.write.hive_style_partitioning", "false"},
        {"hoodie.datasource.write.partitionpath.urlencode", "false"},
        {"hoodie.datasource.write.drop.partition.columns", "false"},
        {"hoodie.partition.metafile.use.base.format", "false"},
    };
    char name[256], checksum[16];
    for (size_t i = 0; i < options->properties.keys.count; i++)
        SL_TRY(sl_properties_set(p, options->properties.keys.items[i], options->properties.values.items[i]));
    SL_TRY(take_write_names(p));
    if (options->name)
        SL_TRY(sl_properties_set(p, "hoodie.table.name", options->name));
    SL_TRY(set_default(p, "hoodie.table.name", last_component(path, name, sizeof name)));
    SL_TRY(check_name(sl_properties_get(p, "hoodie.table.name")));
    SL_TRY(check_schema(options->schema));
    SL_TRY(fill_layout(p));
    SL_TRY(fill_version(p));
    SL_TRY(fill_merge(p));
    SL_TRY(check_partial_update(p));
    SL_TRY(check_delete_marker(p, options->schema));
    SL_TRY(fill_keys(p, options->schema));
    SL_TRY(fill_index(p));
    SL_TRY(fill_changes(p));
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        SL_TRY(set_default(p, fixed[i][0], fixed[i][1]));
    properties_checksum(p, checksum);
    return sl_properties_set(p, "hoodie.table.checksum", checksum);
}

/* Runs the checks of opening and writing on a table that exists only in memory. */
static sl_status check_as_table(sl_properties *p, const sl_type *schema)
{
    sl_table probe = {.properties = *p};
    sl_status status = table_interpret(&probe);
    if (!status)
        status = sl_table_check_writable(&probe);
    if (!status)
        status = sl_keygen_check(&probe.keygen, schema, NULL);
    sl_keygen_free(&probe.keygen);
    sl_strings_free(&probe.ordering);
    sl_strings_free(&probe.buckets.hash_fields);
    return status;
}

static sl_status make_folders(const sl_table *table)
{
    static const char *const folders[] = {"timeline/history", ".aux/.bootstrap/.partitions",
                                          ".aux/.bootstrap/.fileids", ".temp", ".schema"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char *path;
        SL_TRY(hoodie_path(table, folders[i], &path));
        sl_status status = sl_storage_make_dir(table->storage, path);
        sl_free(path);
        SL_TRY(status);
    }
    return SL_OK;
}

/* The topmost folder on the way to the table's, itself included, that is not there; "" when all are. */
static sl_status first_missing_folder(const sl_table *table, char **out)
{
    size_t missing = 0; /* bytes of its path */
    bool exists;
    char *at = sl_strdup(table->path);
    sl_status status = at ? SL_OK : sl_nomem();
    while (!status && *at) {
        status = sl_storage_exists(table->storage, at, &exists);
        if (status || exists)
            break;
        missing = strlen(at);
        *strrchr(at, '/') = 0; /* the path is absolute */
    }
    sl_free(at);
    if (!status && !(*out = sl_strndup(table->path, missing)))
        status = sl_nomem();
    return status;
}

/* After a failure: what was made goes, unless it was there before or somebody else's table came to life meanwhile. */
static void remove_traces(const sl_table *table, bool had_hoodie, const char *made)
{
    char *path;
    if (had_hoodie || sl_status_ignore(hoodie_path(table, "", &path)))
        return;
    (void)sl_status_ignore(sl_storage_delete_tree(table->storage, path));
    sl_free(path);
    (void)sl_status_ignore(table_folders_remove(table, made));
}

sl_status sl_table_create(const char *uri, const struct sl_create_options *options)
{
    return sl_table_create_for(uri, options, NULL);
}

sl_status sl_table_create_for(const char *uri, const struct sl_create_options *options, char **made)
{
    sl_table table = {0};
    sl_buf text = {0};
    char *schema = NULL, *path = NULL, *hoodie = NULL, *given = NULL, *missing = NULL;
    bool had_hoodie = true, exists;
    sl_status status = SL_OK;
    SL_GO(sl_storage_for_uri(uri, &table.storage, &given));
    SL_GO(sl_path_absolute(given, &table.path)); /* "." has a name, too */
    SL_GO(hoodie_path(&table, "", &hoodie));
    SL_GO(hoodie_path(&table, "hoodie.properties", &path));
    SL_GO(sl_storage_exists(table.storage, path, &exists));
    if (exists) {
        status = sl_errorf(SL_E_EXISTS, "there is a table already");
        goto done;
    }
    SL_GO(properties_for_create(options, table.path, &table.properties));
    table.name = sl_properties_get(&table.properties, "hoodie.table.name");
    SL_GO(sl_table_schema_text(&table, options->schema, false, &schema));
    SL_GO(sl_properties_set(&table.properties, "hoodie.table.create.schema", schema));
    SL_GO(check_as_table(&table.properties, options->schema));
    SL_GO(sl_storage_exists(table.storage, hoodie, &had_hoodie));
    SL_GO(first_missing_folder(&table, &missing));
    SL_GO(make_folders(&table));
    SL_GO(sl_properties_text(&table.properties, "Properties saved by sluice", &text));
    SL_GO(sl_storage_create_if_absent(table.storage, path, text.data,
                                      text.len)); /* last: from here on it is a table */
    if (made) {
        *made = missing;
        missing = NULL;
    }
done:
    if (status && sl_status_code(status) != SL_E_EXISTS)
        remove_traces(&table, had_hoodie, missing ? missing : "");
    sl_free(missing);
    sl_buf_free(&text);
    sl_free(schema);
    sl_free(given);
    sl_free(path);
    sl_free(hoodie);
    sl_properties_free(&table.properties);
    sl_storage_free(table.storage);
    sl_free(table.path);
    return status ? sl_context(status, "table %s", uri) : SL_OK;
}
