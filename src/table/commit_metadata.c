/* HoodieCommitMetadata from write stats, and what a replacecommit has besides (spec/timeline.md 5.1, 6). */
#include "table/table_int.h"
#include <string.h>

void sl_write_stat_free(sl_write_stat *stat)
{
    sl_free(stat->partition);
    sl_free(stat->path);
    sl_free(stat->file_id);
    sl_free(stat->prev_commit);
    sl_free(stat->prev_base_file);
    sl_free(stat->base_file);
    sl_strings_free(&stat->logs_before);
    for (size_t i = 0; i < stat->cdc_count; i++)
        sl_free(stat->cdc[i].path);
    sl_free(stat->cdc);
    memset(stat, 0, sizeof *stat);
}

static sl_status copy_text(const char *from, char **to)
{
    *to = from ? sl_strdup(from) : NULL;
    return *to || !from ? SL_OK : sl_nomem();
}

static sl_status copy_cdc(const sl_write_stat *from, sl_write_stat *to)
{
    if (from->cdc_count == 0)
        return SL_OK;
    SL_NEW_ARRAY(to->cdc, from->cdc_count);
    for (; to->cdc_count < from->cdc_count; to->cdc_count++) {
        const struct sl_cdc_file *file = &from->cdc[to->cdc_count];
        to->cdc[to->cdc_count].bytes = file->bytes;
        SL_TRY(copy_text(file->path, &to->cdc[to->cdc_count].path));
    }
    return SL_OK;
}

static sl_status copy_members(const sl_write_stat *from, sl_write_stat *to)
{
    SL_TRY(copy_text(from->partition, &to->partition));
    SL_TRY(copy_text(from->path, &to->path));
    SL_TRY(copy_text(from->file_id, &to->file_id));
    SL_TRY(copy_text(from->prev_commit, &to->prev_commit));
    SL_TRY(copy_text(from->prev_base_file, &to->prev_base_file));
    SL_TRY(copy_text(from->base_file, &to->base_file));
    for (size_t i = 0; i < from->logs_before.count; i++)
        SL_TRY(sl_strings_add(&to->logs_before, from->logs_before.items[i]));
    return copy_cdc(from, to);
}

sl_status write_stat_copy(const sl_write_stat *from, sl_write_stat *to)
{
    *to = *from;
    to->partition = to->path = to->file_id = to->prev_commit = to->prev_base_file = to->base_file = NULL;
    to->logs_before = (sl_strings){0};
    to->cdc = NULL;
    to->cdc_count = 0;
    sl_status status = copy_members(from, to);
    if (status)
        sl_write_stat_free(to);
    return status;
}

/* ---- as JSON ------------------------------------------------------------------------------------------- */

static int set_log_members(json_t *json, const sl_write_stat *s)
{
    const char *name = strrchr(s->path, '/');
    json_t *logs = json_array();
    int failed = 0;
    for (size_t i = 0; i < s->logs_before.count; i++)
        failed |= json_array_append_new(logs, json_string(s->logs_before.items[i]));
    failed |= json_array_append_new(logs, json_string(name ? name + 1 : s->path));
    failed |= json_object_set_new(json, "logVersion", json_integer(s->log_version));
    failed |= json_object_set_new(json, "logOffset", json_integer(0));
    failed |= json_object_set_new(json, "baseFile", json_string(s->base_file ? s->base_file : ""));
    return failed | json_object_set_new(json, "logFiles", logs);
}

static int set_cdc_members(json_t *json, const sl_write_stat *s)
{
    json_t *sizes = json_object();
    int failed = 0;
    for (size_t i = 0; i < s->cdc_count; i++)
        failed |= json_object_set_new(sizes, s->cdc[i].path, json_integer(s->cdc[i].bytes));
    return failed | json_object_set_new(json, "cdcStats", sizes);
}

/* Members that are only in the schema's defaults (tempPath, event times ...) are left to them. */
static json_t *stat_json(const sl_write_stat *s)
{
    json_t *json =
        json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
                  "s:I, s:I, s:i}",                                                                 //
                  "fileId", s->file_id, "path", s->path, "prevCommit", s->prev_commit,              //
                  "numWrites", (json_int_t)s->num_writes, "numDeletes", (json_int_t)s->num_deletes, //
                  "numUpdateWrites", (json_int_t)s->num_updates, "numInserts", (json_int_t)s->num_inserts,
                  "totalWriteBytes", (json_int_t)s->bytes, "totalWriteErrors", (json_int_t)0, //
                  "partitionPath", s->partition, "fileSizeInBytes", (json_int_t)s->bytes,     //
                  "totalLogRecords", (json_int_t)s->log_records, "totalLogBlocks",
                  (json_int_t)s->log_files_compacted, /* a native log is one block */
                  "totalCorruptLogBlock", (json_int_t)0, "totalRollbackBlocks", (json_int_t)0, //
                  "totalLogReadTimeMs", (json_int_t)0,                                         //
                  "totalLogFilesCompacted", (json_int_t)s->log_files_compacted,                //
                  "totalLogSizeCompacted", (json_int_t)s->log_bytes_compacted,                 //
                  "totalUpdatedRecordsCompacted", (json_int_t)s->updated_compacted, "numUpdates", 0);
    if (!json)
        return NULL;
    int failed =
        json_object_set_new(json, "runtimeStats",
                            json_pack("{s:I, s:I, s:I}", "totalScanTime", (json_int_t)0, "totalCreateTime",
                                      (json_int_t)0, "totalUpsertTime", (json_int_t)(s->seconds * 1000)));
    if (s->is_log)
        failed |= set_log_members(json, s);
    if (s->cdc_count)
        failed |= set_cdc_members(json, s);
    if (s->prev_base_file)
        failed |= json_object_set_new(json, "prevBaseFile", json_string(s->prev_base_file));
    if (failed) {
        json_decref(json);
        return NULL;
    }
    return json;
}

sl_status sl_write_stat_json(const sl_write_stat *stat, json_t **out)
{
    *out = stat_json(stat);
    return *out ? SL_OK : sl_internal("write stat of %s cannot be stored", stat->path);
}

static int64_t number_of(const json_t *json, const char *member)
{
    return json_integer_value(json_object_get(json, member));
}

static sl_status parse_cdc(const json_t *sizes, struct sl_cdc_file **out, size_t *count)
{
    const char *path;
    json_t *bytes;
    if (json_object_size(sizes) == 0)
        return SL_OK;
    SL_NEW_ARRAY(*out, json_object_size(sizes));
    json_object_foreach((json_t *)(uintptr_t)sizes, path, bytes) /* it only reads */
    {
        (*out)[*count] = (struct sl_cdc_file){(char *)(uintptr_t)path, json_integer_value(bytes)};
        (*count)++;
    }
    return SL_OK;
}

/* The stat's own log is the last of the list. */
static sl_status parse_logs_before(const json_t *logs, sl_strings *out)
{
    for (size_t i = 0; i + 1 < json_array_size(logs); i++) {
        const char *name = json_string_value(json_array_get(logs, i));
        SL_TRY(name ? sl_strings_add(out, name) : sl_input("write stat: a log name is no text"));
    }
    return SL_OK;
}

sl_status sl_write_stat_parse(const json_t *json, sl_write_stat *out)
{
    const char *partition, *path, *file_id, *prev_commit, *prev_base_file = NULL, *base_file = NULL;
    /* Jansson's unpack takes a non-const value, but only reads it. */
    if (json_unpack((json_t *)(uintptr_t)json, "{s:s, s:s, s:s, s:s, s?s, s?s}", "partitionPath", &partition,
                    "path", &path, "fileId", &file_id, "prevCommit", &prev_commit, "prevBaseFile",
                    &prev_base_file, "baseFile", &base_file))
        return sl_input("write stat without path, file id or previous commit");
    /* borrows from the JSON until it is copied */
    sl_write_stat s = {
        .partition = (char *)(uintptr_t)partition,
        .path = (char *)(uintptr_t)path,
        .file_id = (char *)(uintptr_t)file_id,
        .prev_commit = (char *)(uintptr_t)prev_commit,
        .prev_base_file = (char *)(uintptr_t)prev_base_file,
        .base_file = base_file && *base_file ? (char *)(uintptr_t)base_file : NULL,
        .num_writes = number_of(json, "numWrites"),
        .num_inserts = number_of(json, "numInserts"),
        .num_updates = number_of(json, "numUpdateWrites"),
        .num_deletes = number_of(json, "numDeletes"),
        .bytes = number_of(json, "fileSizeInBytes"),
        .is_log = json_object_get(json, "logVersion") != NULL,
        .log_version = (int32_t)number_of(json, "logVersion"),
        .seconds = (double)number_of(json_object_get(json, "runtimeStats"), "totalUpsertTime") / 1000.0,
        .log_records = number_of(json, "totalLogRecords"),
        .log_files_compacted = number_of(json, "totalLogFilesCompacted"),
        .log_bytes_compacted = number_of(json, "totalLogSizeCompacted"),
        .updated_compacted = number_of(json, "totalUpdatedRecordsCompacted")};
    sl_status status = parse_cdc(json_object_get(json, "cdcStats"), &s.cdc, &s.cdc_count);
    if (!status)
        status = parse_logs_before(json_object_get(json, "logFiles"), &s.logs_before);
    if (!status)
        status = write_stat_copy(&s, out);
    sl_strings_free(&s.logs_before);
    sl_free(s.cdc);
    return status;
}

static sl_status add_stats(json_t *partitions, const sl_write_stat *stats, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_t *list = json_object_get(partitions, stats[i].partition);
        if (!list) {
            list = json_array();
            if (!list || json_object_set_new(partitions, stats[i].partition, list))
                return sl_nomem();
        }
        if (json_array_append_new(list, stat_json(&stats[i])))
            return sl_internal("write stat of %s cannot be stored", stats[i].path);
    }
    return SL_OK;
}

sl_status sl_commit_metadata_json(const sl_write_stat *stats, size_t count, const char *operation,
                                  const char *schema, bool compacted, json_t **out)
{
    json_t *partitions = json_object();
    json_t *extra = json_object();
    sl_status status = partitions && extra ? add_stats(partitions, stats, count) : sl_nomem();
    if (!status && schema && json_object_set_new(extra, "schema", json_string(schema)))
        status = sl_internal("the schema's text is no UTF-8");
    if (status) {
        json_decref(partitions);
        json_decref(extra);
        return status;
    }
    /* json_pack takes both over, also on failure */
    *out = json_pack("{s:o, s:b, s:o, s:n, s:s}", "partitionToWriteStats", partitions, "compacted", compacted,
                     "extraMetadata", extra, "version", "operationType", operation);
    return *out ? SL_OK : sl_nomem();
}

sl_status commit_metadata_replaces(json_t *metadata, const json_t *replaced)
{
    json_t *ids = replaced ? json_deep_copy(replaced) : json_object();
    return json_object_set_new(metadata, "partitionToReplaceFileIds", ids) ? sl_nomem() : SL_OK;
}

sl_status sl_replace_request(const char *operation, json_t **out)
{
    /* As Hudi 1.2.0 has them: an overwrite says nothing, a delete of partitions says what it is. */
    *out = operation ? json_pack("{s:s, s:n, s:{}, s:i}", "operationType", operation, "clusteringPlan",
                                 "extraMetadata", "version", 1)
                     : json_pack("{s:n, s:n, s:n, s:n}", "operationType", "clusteringPlan", "extraMetadata",
                                 "version");
    return *out ? SL_OK : sl_nomem();
}
