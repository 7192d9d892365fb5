/* What a table is, as JSON: the shapes that docs/cli.md shows and `sluice --json` prints. */
#include "api/api_int.h"
#include <ctype.h>
#include <string.h>

sl_status api_json_text(json_t *json, char **out)
{
    sl_status status = sl_json_text(json, out);
    json_decref(json);
    return status;
}

/* The array as far as it was filled, NULL after a failure. */
static json_t *filled(json_t *array, bool failed)
{
    if (failed)
        json_decref(array);
    return failed ? NULL : array;
}

static json_t *strings_json(const sl_strings *list)
{
    json_t *array = json_array();
    bool failed = false;
    for (size_t i = 0; i < list->count && !failed; i++)
        failed = json_array_append_new(array, json_string(list->items[i]));
    return filled(array, failed);
}

static sl_status columns_json(const sl_type *schema, json_t **out)
{
    json_t *array = json_array();
    sl_status status = array ? SL_OK : sl_nomem();
    for (size_t i = 0; i < schema->field_count && !status; i++) {
        char *type = NULL;
        status = sl_type_text(schema->fields[i].type, &type);
        if (!status)
            status = sl_json_append(array, json_pack("{s:s, s:s, s:b}", "name", schema->fields[i].name,
                                                     "type", type, "nullable", schema->fields[i].nullable));
        sl_free(type);
    }
    if (status)
        json_decref(array);
    else
        *out = array;
    return status;
}

/* ---- info ---------------------------------------------------------------------------------------------- */

struct sizes {
    json_int_t groups, base_files, log_files, base_bytes, log_bytes;
};

/* Only live files: the newest slice of each group, and with a pending compaction the one before. */
static void count_group(const sl_file_group *group, struct sizes *s)
{
    s->groups++;
    for (size_t i = 0; i < group->slice_count; i++) {
        const sl_slice *slice = &group->slices[i];
        if (slice->base) {
            s->base_files++;
            s->base_bytes += (json_int_t)slice->base->size;
        }
        for (size_t k = 0; k < slice->log_count; k++) {
            s->log_files++;
            s->log_bytes += (json_int_t)slice->logs[k]->size;
        }
        if (!slice->pending_compaction)
            return;
    }
}

static const char *readers(const sl_table *t)
{
    if (t->version == 10)
        return "sluice, Hudi 1.3 and later";
    return "sluice, Hudi 1.1 and later (Spark, Flink), Trino, hudi-rs";
}

static bool is_avro_name(const char *name)
{
    bool fits = isalpha((unsigned char)*name) || *name == '_';
    for (; *name; name++)
        fits &= isalnum((unsigned char)*name) || *name == '_';
    return fits;
}

/* Hudi's readers go by Avro schemas, whose names are letters, digits and underscores. */
static bool names_fit_avro(const sl_type *type)
{
    bool fits = true;
    for (size_t i = 0; i < type->field_count && fits; i++)
        fits = (type->id != SL_STRUCT || is_avro_name(type->fields[i].name)) &&
               names_fit_avro(type->fields[i].type);
    return fits;
}

static json_t *pending_json(const sl_timeline *timeline)
{
    static const char *const states[] = {"REQUESTED", "INFLIGHT", "COMPLETED"};
    json_t *array = json_array();
    bool failed = false;
    for (size_t i = 0; i < timeline->count && !failed; i++)
        if (timeline->instants[i].state != SL_COMPLETED)
            failed = json_array_append_new(array, json_pack("{s:s, s:s, s:s}", "instant",
                                                            timeline->instants[i].requested, "action",
                                                            sl_action_name(timeline->instants[i].action),
                                                            "state", states[timeline->instants[i].state]));
    return filled(array, failed);
}

static json_t *index_json(const sl_table *t)
{
    const char *type = sl_table_setting(t, "hoodie.index.type", "");
    if (!t->buckets.buckets)
        return *type ? json_pack("{s:s}", "type", type) : json_null();
    return json_pack("{s:s, s:I, s:s}", "type", "BUCKET", "buckets", (json_int_t)t->buckets.buckets,
                     "hash_field", sl_table_setting(t, "hoodie.bucket.index.hash.field", ""));
}

static sl_status add_facts(const sl_table *t, const sl_view *view, json_t *info)
{
    static const char *const modes[] = {"COMMIT_TIME_ORDERING", "EVENT_TIME_ORDERING", "CUSTOM"};
    struct sizes s = {0};
    json_int_t commits = 0;
    for (size_t p = 0; p < view->partition_count; p++)
        for (size_t g = 0; g < view->partitions[p].group_count; g++)
            count_group(&view->partitions[p].groups[g], &s);
    for (size_t i = 0; i < view->timeline.count; i++)
        commits += sl_action_writes(view->timeline.instants[i].action) &&
                   view->timeline.instants[i].state == SL_COMPLETED;
    const sl_instant *last = sl_timeline_last_write(&view->timeline);
    json_t *facts = json_pack("{s:s, s:s, s:i, s:s, s:s, s:s, s:o, s:o, s:o, s:s, s:o, s:I, s:I, s:I, s:I, "
                              "s:I, s:I, s:I, s:I, s:s, s:s, s:o, s:b, s:s}", //
                              "uri", t->uri, "name", t->name, "version", t->version, "type",
                              t->type == SL_MERGE_ON_READ ? "MERGE_ON_READ" : "COPY_ON_WRITE", //
                              "layout", t->layout == SL_LAYOUT_LSM ? "lsm_tree" : "default", "merge_mode",
                              modes[t->merge], //
                              "record_key_fields", strings_json(&t->keygen.record_fields), "partition_fields",
                              strings_json(&t->keygen.partition_fields), //
                              "ordering_fields", strings_json(&t->ordering), "key_generator",
                              sl_properties_get_or(&t->properties, "hoodie.table.keygenerator.type",
                                                   sl_keygen_kind_name(t->keygen.kind)), //
                              "index", index_json(t), "partitions", (json_int_t)view->partition_count,
                              "file_groups", s.groups, "base_files", s.base_files, //
                              "log_files", s.log_files, "bytes", s.base_bytes + s.log_bytes, "base_bytes",
                              s.base_bytes, "log_bytes", s.log_bytes, //
                              "commits", commits, "last_instant", last ? last->requested : "",
                              "last_completed", last ? last->completed : "", //
                              "pending", pending_json(&view->timeline), "metadata_table",
                              t->has_metadata_table, "readable_by", readers(t));
    if (!facts)
        return sl_internal("table facts are no JSON");
    bool failed = json_object_update(info, facts);
    json_decref(facts);
    return failed ? sl_nomem() : SL_OK;
}

sl_status describe_info(const sl_table *table, json_t **out)
{
    sl_view view = {0};
    const sl_type *schema = NULL;
    json_t *info = json_object(), *columns = NULL;
    sl_status status = info ? SL_OK : sl_nomem();
    if (status)
        return status;
    SL_GO(sl_view_load(table, NULL, &view));
    SL_GO(add_facts(table, &view, info));
    SL_GO(sl_table_schema(table, &view.timeline, NULL, &schema));
    SL_GO(columns_json(schema, &columns));
    SL_GO(sl_json_set(info, "columns", columns));
    if (!names_fit_avro(schema))
        SL_GO(sl_json_set(info, "readable_by",
                          json_string("sluice; other readers refuse column names that are no Avro names")));
    /* The check only reads; its parameter is not const because it is also run while a table changes. */
    sl_status refusal = sl_table_check_writable((sl_table *)(uintptr_t)table);
    status = sl_json_set(info, "writable", json_boolean(refusal == SL_OK));
    if (!status)
        status = sl_json_set(info, "not_writable_because", json_string(sl_status_message(refusal)));
    sl_status_free(refusal);
    if (status)
        goto done;
    *out = json_incref(info);
done:
    json_decref(info);
    sl_type_unref(schema);
    sl_view_free(&view);
    return status;
}

/* ---- timeline ------------------------------------------------------------------------------------------ */

struct totals {
    json_int_t files, rows, inserted, updated, deleted, bytes;
};

/* A commit may claim any number: the sum stays in range, and what is below zero is none. */
static void add_member(const json_t *stat, const char *name, json_int_t *sum)
{
    json_int_t n = json_integer_value(json_object_get(stat, name));
    if (n > 0)
        *sum = *sum > INT64_MAX - n ? INT64_MAX : *sum + n;
}

static struct totals commit_totals(const json_t *commit)
{
    struct totals t = {0};
    const char *partition;
    json_t *stats, *stat;
    size_t i;
    json_object_foreach(json_object_get(commit, "partitionToWriteStats"), partition, stats)
    {
        json_array_foreach(stats, i, stat)
        {
            t.files++;
            add_member(stat, "numWrites", &t.rows);
            add_member(stat, "numInserts", &t.inserted);
            add_member(stat, "numUpdateWrites", &t.updated);
            add_member(stat, "numDeletes", &t.deleted);
            add_member(stat, "fileSizeInBytes", &t.bytes);
        }
    }
    return t;
}

static sl_status instant_json(const sl_table *table, const sl_instant *instant, json_t **out)
{
    static const char *const states[] = {"REQUESTED", "INFLIGHT", "COMPLETED"};
    json_t *entry =
        json_pack("{s:s, s:s, s:s, s:s}", "instant", instant->requested, "completed", instant->completed,
                  "action", sl_action_name(instant->action), "state", states[instant->state]);
    if (!entry)
        return sl_nomem();
    if (sl_action_writes(instant->action) && instant->state == SL_COMPLETED) {
        json_t *commit;
        sl_status status = sl_instant_json(table, instant, SL_COMPLETED, &commit);
        if (status) {
            json_decref(entry);
            return status;
        }
        struct totals t = commit_totals(commit);
        const char *operation = json_string_value(json_object_get(commit, "operationType"));
        json_t *facts =
            json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "operation", operation ? operation : "", "files",
                      t.files, "rows_written", t.rows, "inserted", t.inserted, "updated", t.updated,
                      "deleted", t.deleted, "bytes", t.bytes);
        bool failed = json_object_update(entry, facts);
        json_decref(facts);
        json_decref(commit);
        if (failed) {
            json_decref(entry);
            return sl_nomem();
        }
    }
    *out = entry;
    return SL_OK;
}

sl_status describe_timeline(const sl_table *table, json_t **out)
{
    sl_timeline timeline;
    SL_TRY(sl_timeline_load(table, &timeline));
    json_t *array = json_array();
    sl_status status = array ? SL_OK : sl_nomem();
    for (size_t i = 0; i < timeline.count && !status; i++) {
        json_t *entry;
        status = instant_json(table, &timeline.instants[i], &entry);
        if (!status) {
            status = sl_json_append(array, entry);
        } else if (sl_status_code(status) == SL_E_NOT_FOUND) {
            sl_status_free(status); /* rolled back or archived since the list was made */
            status = SL_OK;
        }
    }
    sl_timeline_free(&timeline);
    if (status)
        json_decref(array);
    else
        *out = array;
    return status;
}

/* ---- files --------------------------------------------------------------------------------------------- */

/* What JSON can hold. */
static bool is_text(const char *text) { return sl_utf8_valid_prefix(text, strlen(text)) == strlen(text); }

/* Rows and key range from the footer; a file that cannot be read says so instead. */
static sl_status footer_facts(const sl_table *table, const char *relative, json_t *entry)
{
    sl_source *source;
    sl_status status = sl_source_open(table, relative, NULL, &source);
    if (sl_status_code(status) == SL_E_MEMORY) /* says nothing about the file */
        return status;
    if (status) {
        sl_status told = sl_json_set(entry, "error", json_string(sl_status_message(status)));
        sl_status_free(status);
        return told;
    }
    const char *min = sl_parquet_key_value(source->parquet, "hoodie_min_record_key"),
               *max = sl_parquet_key_value(source->parquet, "hoodie_max_record_key");
    status = sl_json_set(entry, "rows", json_integer(sl_parquet_rows(source->parquet)));
    if (!status && min && max && is_text(min) && is_text(max)) {
        status = sl_json_set(entry, "min_key", json_string(min));
        if (!status)
            status = sl_json_set(entry, "max_key", json_string(max));
    }
    sl_source_unref(source);
    return status;
}

static sl_status file_json(const sl_table *table, const char *partition, const sl_data_file *f, json_t **out)
{
    static const char *const kinds[] = {"other", "base", "log", "deletes", "cdc", "inline_log", "inline_cdc"};
    json_t *entry = json_pack("{s:i, s:s, s:s, s:s, s:I}", "level", f->parts.kind == SL_FILE_BASE ? 1 : 0,
                              "kind", kinds[f->parts.kind], "name", f->name, "instant", f->parts.instant,
                              "size", (json_int_t)f->size);
    char *relative = NULL;
    if (!entry)
        return sl_nomem();
    sl_status status = sl_path_join(partition, f->name, &relative);
    if (!status && f->parts.kind != SL_FILE_INLINE_LOG)
        status = footer_facts(table, relative, entry);
    sl_free(relative);
    if (status)
        json_decref(entry);
    else
        *out = entry;
    return status;
}

/* Change data logs are in no slice and on no level; they lie beside the base file that they tell about. */
static sl_status add_changes(const sl_table *table, const sl_file_group *group, const sl_slice *slice,
                             const sl_listing *folder, json_t *files)
{
    for (size_t i = 0; i < folder->count && slice->base; i++) {
        json_t *entry;
        sl_data_file f = {.name = folder->entries[i].name, .size = folder->entries[i].size};
        sl_file_name_parse(f.name, &f.parts);
        if (f.parts.kind != SL_FILE_CDC || strcmp(f.parts.file_id, group->file_id) != 0 ||
            strcmp(f.parts.instant, slice->base_instant) != 0)
            continue;
        SL_TRY(file_json(table, group->partition, &f, &entry));
        json_object_del(entry, "level");
        SL_TRY(sl_json_append(files, entry));
    }
    return SL_OK;
}

/* Also where the table keeps no changes any more: those that it kept are there. */
static sl_status list_changes(const sl_table *table, const char *partition, sl_listing *out)
{
    char *path;
    *out = (sl_listing){0};
    SL_TRY(sl_table_path(table, partition, &path));
    sl_status status = sl_storage_list(table->storage, path, out);
    sl_free(path);
    return status;
}

static sl_status group_json(const sl_table *table, const sl_file_group *group, const sl_listing *folder,
                            json_t **out)
{
    json_t *slices = json_array(), *entry;
    sl_status status = slices ? SL_OK : sl_nomem();
    for (size_t i = 0; i < group->slice_count && !status; i++) {
        const sl_slice *slice = &group->slices[i];
        json_t *files = json_array();
        if (slice->base)
            status = file_json(table, group->partition, slice->base, &entry);
        if (!status && slice->base)
            status = sl_json_append(files, entry);
        if (!status)
            status = add_changes(table, group, slice, folder, files);
        for (size_t k = 0; k < slice->log_count && !status; k++) {
            status = file_json(table, group->partition, slice->logs[k], &entry);
            if (!status)
                status = sl_json_append(files, entry);
        }
        if (status)
            json_decref(files);
        else
            status = sl_json_append(slices, json_pack("{s:s, s:b, s:o}", "base_instant", slice->base_instant,
                                                      "pending_compaction", slice->pending_compaction,
                                                      "files", files));
    }
    if (status) {
        json_decref(slices);
        return status;
    }
    *out = json_pack("{s:s, s:s, s:o}", "partition", group->partition, "file_id", group->file_id, "slices",
                     slices);
    return *out ? SL_OK : sl_nomem();
}

static sl_status partition_groups_json(const sl_table *table, const sl_partition *partition, json_t *array)
{
    sl_listing folder;
    SL_TRY(list_changes(table, partition->path, &folder));
    sl_status status = SL_OK;
    for (size_t g = 0; g < partition->group_count && !status; g++) {
        json_t *group;
        status = group_json(table, &partition->groups[g], &folder, &group);
        if (!status)
            status = sl_json_append(array, group);
    }
    sl_listing_free(&folder);
    return status;
}

sl_status describe_files(const sl_table *table, json_t **out)
{
    sl_view view;
    SL_TRY(sl_view_load(table, NULL, &view));
    json_t *array = json_array();
    sl_status status = array ? SL_OK : sl_nomem();
    for (size_t p = 0; p < view.partition_count && !status; p++)
        status = partition_groups_json(table, &view.partitions[p], array);
    sl_view_free(&view);
    if (status)
        json_decref(array);
    else
        *out = array;
    return status;
}

int sluice_table_describe(sluice_table *t, enum sluice_description what, char **out, sluice_error *e)
{
    API_REQUIRE(t, out);
    json_t *json;
    sl_status status = what == SLUICE_DESCRIBE_INFO       ? describe_info(t->table, &json)
                       : what == SLUICE_DESCRIBE_TIMELINE ? describe_timeline(t->table, &json)
                       : what == SLUICE_DESCRIBE_FILES    ? describe_files(t->table, &json)
                                                          : sl_input("description %d is unknown", (int)what);
    if (!status)
        status = api_json_text(json, out);
    return api_result(sl_context(status, "table %s", t->table->uri), e);
}

int sluice_settings(char **json, sluice_error *e)
{
    API_REQUIRE(json);
    static const char *const types[] = {"text", "boolean", "integer", "bytes"};
    size_t count;
    const struct sl_setting *list = sl_settings(&count);
    json_t *array = json_array();
    bool failed = false;
    for (size_t i = 0; i < count && !failed; i++)
        failed =
            json_array_append_new(array, json_pack("{s:s, s:s, s:s, s:s, s:b}", "key", list[i].key, "type",
                                                   types[list[i].type], "default", list[i].fallback,
                                                   "meaning", list[i].meaning, "stored", list[i].stored));
    array = filled(array, failed);
    return api_result(array ? api_json_text(array, json) : sl_nomem(), e);
}

int sluice_setting_check(const char *key, const char *value, sluice_error *e)
{
    API_REQUIRE(key, value);
    return api_result(sl_setting_check(key, value), e);
}

int sluice_size_parse(const char *text, uint64_t *bytes, sluice_error *e)
{
    API_REQUIRE(text, bytes);
    return api_result(sl_parse_bytes(text, bytes), e);
}
