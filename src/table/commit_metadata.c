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
    memset(stat, 0, sizeof *stat);
}

/* Members that are only in the schema's defaults (tempPath, event times ...) are left to them. */
static json_t *stat_json(const sl_write_stat *s)
{
    const char *name = strrchr(s->path, '/');
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
    if (s->is_log) {
        failed |= json_object_set_new(json, "logVersion", json_integer(s->log_version));
        failed |= json_object_set_new(json, "logOffset", json_integer(0));
        failed |= json_object_set_new(json, "baseFile", json_string(""));
        failed |= json_object_set_new(json, "logFiles", json_pack("[s]", name ? name + 1 : s->path));
    }
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

sl_status sl_write_stat_parse(const json_t *json, sl_write_stat *out)
{
    const char *partition, *path, *file_id, *prev_commit, *prev_base_file = NULL;
    /* Jansson's unpack takes a non-const value, but only reads it. */
    if (json_unpack((json_t *)(uintptr_t)json, "{s:s, s:s, s:s, s:s, s?s}", "partitionPath", &partition,
                    "path", &path, "fileId", &file_id, "prevCommit", &prev_commit, "prevBaseFile",
                    &prev_base_file))
        return sl_input("write stat without path, file id or previous commit");
    sl_write_stat s = {
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
    s.partition = sl_strdup(partition);
    s.path = sl_strdup(path);
    s.file_id = sl_strdup(file_id);
    s.prev_commit = sl_strdup(prev_commit);
    s.prev_base_file = prev_base_file ? sl_strdup(prev_base_file) : NULL;
    if (!s.partition || !s.path || !s.file_id || !s.prev_commit || (prev_base_file && !s.prev_base_file)) {
        sl_write_stat_free(&s);
        return sl_nomem();
    }
    *out = s;
    return SL_OK;
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
