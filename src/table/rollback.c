/*
 * Rollback (spec/timeline.md 9.3): the files of an instant are deleted, then its pending files, and a
 * rollback instant tells so. The plan is written first, so that a rollback which dies is resumed by whoever
 * comes next.
 */
#include "table/table_int.h"
#include <stdio.h>
#include <string.h>

/* ---- what an instant left ------------------------------------------------------------------------------ */

/* Every file whose name carries the instant: where there are no markers to tell. */
static sl_status files_by_listing(const sl_table *table, const char *instant, sl_strings *out)
{
    sl_strings partitions = {0};
    sl_status status = sl_partitions_list(table, &partitions);
    for (size_t p = 0; p < partitions.count && !status; p++) {
        char *path = NULL, *relative = NULL;
        sl_listing listing = {0};
        status = sl_table_path(table, partitions.items[p], &path);
        if (!status)
            status = sl_storage_list(table->storage, path, &listing);
        for (size_t i = 0; i < listing.count && !status; i++) {
            struct sl_file_name parts;
            sl_file_name_parse(listing.entries[i].name, &parts);
            if (listing.entries[i].is_dir || parts.kind == SL_FILE_OTHER ||
                strcmp(parts.instant, instant) != 0)
                continue;
            status = sl_path_join(partitions.items[p], listing.entries[i].name, &relative);
            if (!status)
                status = sl_strings_add(out, relative);
            sl_free(relative);
            relative = NULL;
        }
        sl_listing_free(&listing);
        sl_free(path);
    }
    sl_strings_free(&partitions);
    return status;
}

/* Markers and plans are text that anybody may have written: what is deleted by them must be a data file of the instant, and
 * no other file whatever. */
static sl_status refuse_other_files(const sl_strings *files, const char *instant)
{
    for (size_t i = 0; i < files->count; i++) {
        const char *slash = strrchr(files->items[i], '/');
        struct sl_file_name parts;
        sl_file_name_parse(slash ? slash + 1 : files->items[i], &parts);
        if (parts.kind == SL_FILE_OTHER || strcmp(parts.instant, instant) != 0 ||
            !sl_path_stays_below(files->items[i]))
            return sl_corrupt("%s is to be deleted, which is no data file of instant %s", files->items[i],
                              instant);
    }
    return SL_OK;
}

static sl_status files_of(const sl_table *table, const char *instant, sl_strings *out)
{
    bool found;
    SL_TRY(markers_read(table, instant, out, &found));
    if (!found)
        return files_by_listing(table, instant, out);
    return sl_context(refuse_other_files(out, instant), "markers");
}

/* ---- plan and metadata --------------------------------------------------------------------------------- */

static void split_relative(const char *relative, char *partition, size_t partition_bytes, const char **name)
{
    const char *slash = strrchr(relative, '/');
    snprintf(partition, partition_bytes, "%.*s", slash ? (int)(slash - relative) : 0, relative);
    *name = slash ? slash + 1 : relative;
}

static sl_status plan_json(const sl_table *table, const sl_instant *target, const sl_strings *files,
                           json_t **out)
{
    json_t *requests = json_array();
    sl_status status = requests ? SL_OK : sl_nomem();
    for (size_t i = 0; i < files->count && !status; i++) {
        char partition[4096], *path;
        const char *name;
        struct sl_file_name parts;
        split_relative(files->items[i], partition, sizeof partition, &name);
        sl_file_name_parse(name, &parts);
        status = sl_table_path(table, files->items[i], &path);
        if (status)
            break;
        if (json_array_append_new(requests,
                                  json_pack("{s:s, s:s, s:s, s:[s], s:{}}", "partitionPath", partition,
                                            "fileId", parts.file_id, "latestBaseInstant", target->requested,
                                            "filesToBeDeleted", path, "logBlocksToBeDeleted")))
            status = sl_internal("rollback plan: path %s is no UTF-8", path);
        sl_free(path);
    }
    if (status) {
        json_decref(requests);
        return status;
    }
    *out = json_pack("{s:{s:s, s:s}, s:o, s:i}", "instantToRollback", "commitTime", target->requested,
                     "action", sl_action_name(target->action), "RollbackRequests", requests, "version", 1);
    return *out ? SL_OK : sl_nomem();
}

/* The place of a file below the table. A plan's paths are absolute on the machine that wrote them, and a table that was
 * copied or moved keeps the old ones; partition and name hold wherever the table is. */
static sl_status planned_file(const char *partition, const char *path, sl_strings *out)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    char *relative;
    if (!slash || !partition)
        return sl_corrupt("rollback plan names no file in a partition: %s", path ? path : "no path");
    SL_TRY(sl_path_join(partition, slash + 1, &relative));
    size_t len = strlen(path), tail = strlen(relative);
    bool inside = len > tail && path[len - tail - 1] == '/' && strcmp(path + len - tail, relative) == 0;
    sl_status status =
        inside ? sl_strings_add(out, relative)
               : sl_corrupt("rollback plan names %s, which is outside the table's partition \"%s\"", path,
                            partition);
    sl_free(relative);
    return status;
}

static sl_status plan_files(const json_t *plan, const char *instant, sl_strings *out)
{
    json_t *request, *path;
    size_t i, j;
    json_array_foreach(json_object_get(plan, "RollbackRequests"), i, request)
        json_array_foreach(json_object_get(request, "filesToBeDeleted"), j, path) SL_TRY(planned_file(
            json_string_value(json_object_get(request, "partitionPath")), json_string_value(path), out));
    return sl_context(refuse_other_files(out, instant), "rollback plan");
}

static sl_status metadata_json(const sl_table *table, const char *rollback, const sl_instant *target,
                               const sl_strings *files, double seconds, json_t **out)
{
    json_t *partitions = json_object();
    sl_status status = partitions ? SL_OK : sl_nomem();
    for (size_t i = 0; i < files->count && !status; i++) {
        char partition[4096], *path;
        const char *name;
        split_relative(files->items[i], partition, sizeof partition, &name);
        json_t *entry = json_object_get(partitions, partition);
        if (!entry) {
            entry =
                json_pack("{s:s, s:[], s:[], s:{}, s:{}}", "partitionPath", partition, "successDeleteFiles",
                          "failedDeleteFiles", "rollbackLogFiles", "logFilesFromFailedCommit");
            if (!entry || json_object_set_new(partitions, partition, entry))
                status = sl_nomem();
        }
        if (!status)
            status = sl_table_path(table, files->items[i], &path);
        if (status)
            break;
        if (json_array_append_new(json_object_get(entry, "successDeleteFiles"), json_string(path)))
            status = sl_internal("rollback: path %s is no UTF-8", path);
        sl_free(path);
    }
    if (status) {
        json_decref(partitions);
        return status;
    }
    *out = json_pack("{s:s, s:I, s:i, s:[s], s:o, s:i, s:[{s:s, s:s}]}", "startRollbackTime", rollback,
                     "timeTakenInMillis", (json_int_t)(seconds * 1000), "totalFilesDeleted",
                     (int)files->count, "commitsRollback", target->requested, "partitionMetadata", partitions,
                     "version", 1, "instantsRollback", "commitTime", target->requested, "action",
                     sl_action_name(target->action));
    return *out ? SL_OK : sl_nomem();
}

/* ---- execution ----------------------------------------------------------------------------------------- */

static sl_status delete_files(const sl_table *table, const sl_strings *files)
{
    for (size_t i = 0; i < files->count; i++) {
        char *path;
        SL_TRY(sl_table_path(table, files->items[i], &path));
        sl_status status = sl_storage_delete(table->storage, path);
        sl_free(path);
        SL_TRY(status);
    }
    return SL_OK;
}

static sl_status delete_state(const sl_table *table, const sl_instant *instant, enum sl_instant_state state)
{
    char name[96], *path;
    sl_instant_file(instant, state, name);
    SL_TRY(timeline_path(table, name, &path));
    sl_status status = sl_storage_delete(table->storage, path);
    sl_free(path);
    return status;
}

static sl_status delete_heartbeat(const sl_table *table, const char *instant)
{
    char relative[SL_INSTANT_BYTES + 16], *path;
    snprintf(relative, sizeof relative, ".heartbeat/%s", instant);
    SL_TRY(hoodie_path(table, relative, &path));
    sl_status status = sl_storage_delete(table->storage, path);
    sl_free(path);
    return status;
}

/* Steps 4 to 6 of the spec: everything after the plan is on the timeline. */
static sl_status finish(sl_table *table, sl_instant *rollback, const sl_instant *target,
                        const sl_strings *files)
{
    sl_timeline now = {0};
    json_t *metadata = NULL;
    double start = sl_monotonic();
    sl_status status = SL_OK;
    SL_GO(delete_files(table, files));
    SL_GO(delete_state(table, target, SL_INFLIGHT));
    SL_GO(delete_state(table, target, SL_REQUESTED));
    SL_GO(sl_timeline_load(table, &now));
    SL_GO(instant_draw(table, &now, rollback->completed));
    SL_GO(metadata_json(table, rollback->requested, target, files, sl_monotonic() - start, &metadata));
    SL_GO(instant_create(table, rollback, SL_COMPLETED, metadata, "HoodieRollbackMetadata"));
    SL_GO(markers_delete(table, target->requested));
    SL_GO(delete_heartbeat(table, target->requested));
done:
    json_decref(metadata);
    sl_timeline_free(&now);
    return status;
}

static sl_status start(sl_table *table, const sl_instant *target, const sl_strings *files,
                       sl_instant *rollback)
{
    sl_timeline now = {0};
    json_t *plan = NULL;
    *rollback = (sl_instant){.action = SL_ACTION_ROLLBACK, .completed_as = SL_ACTION_ROLLBACK};
    sl_status status = SL_OK;
    SL_GO(sl_timeline_load(table, &now));
    SL_GO(instant_draw(table, &now, rollback->requested));
    SL_GO(plan_json(table, target, files, &plan));
    SL_GO(instant_create(table, rollback, SL_REQUESTED, plan, "HoodieRollbackPlan"));
    SL_GO(instant_create(table, rollback, SL_INFLIGHT, NULL, NULL));
done:
    json_decref(plan);
    sl_timeline_free(&now);
    return status;
}

sl_status rollback_instant(sl_table *table, const sl_instant *target, char *result, size_t *files_deleted)
{
    sl_strings files = {0};
    sl_instant rollback;
    sl_status status = SL_OK;
    SL_GO(files_of(table, target->requested, &files));
    SL_GO(start(table, target, &files, &rollback));
    SL_GO(finish(table, &rollback, target, &files));
    *files_deleted = files.count;
    if (result)
        memcpy(result, rollback.requested, SL_INSTANT_BYTES);
done:
    sl_strings_free(&files);
    return status ? sl_context(status, "rollback of instant %s", target->requested) : SL_OK;
}

sl_status rollback_pending(sl_table *table, const sl_instant *instant, bool keep_requested,
                           size_t *files_deleted)
{
    if (!keep_requested)
        return rollback_instant(table, instant, NULL, files_deleted);
    /* A service: only its output goes, the plan stays to be executed again (spec/timeline.md 9.3). */
    sl_strings files = {0};
    sl_status status = SL_OK;
    SL_GO(files_of(table, instant->requested, &files));
    SL_GO(delete_files(table, &files));
    /* Inflight goes last: it says that there may be markers, whose files the next try would meet. */
    SL_GO(markers_delete(table, instant->requested));
    SL_GO(delete_state(table, instant, SL_INFLIGHT));
    *files_deleted = files.count;
done:
    sl_strings_free(&files);
    return status
               ? sl_context(status, "clean-up of %s %s", sl_action_name(instant->action), instant->requested)
               : SL_OK;
}

sl_status rollback_resume(sl_table *table, const sl_instant *pending)
{
    sl_instant rollback = *pending, target = {0};
    sl_strings files = {0};
    json_t *plan = NULL;
    sl_status status = SL_OK;
    SL_GO(sl_instant_json(table, pending, SL_REQUESTED, &plan));
    const char *time, *action;
    if (json_unpack(plan, "{s:{s:s, s:s}}", "instantToRollback", "commitTime", &time, "action", &action) ||
        strlen(time) >= SL_INSTANT_BYTES) {
        /* It never got so far as to have a plan: nothing was deleted for it. */
        SL_GO(delete_state(table, pending, SL_INFLIGHT));
        SL_GO(delete_state(table, pending, SL_REQUESTED));
        goto done;
    }
    if (!*time || time[strspn(time, "0123456789")]) { /* it becomes the name of files and folders to delete */
        status = sl_corrupt("rollback plan: \"%s\" is no instant", time);
        goto done;
    }
    memcpy(target.requested, time, strlen(time) + 1);
    target.action = SL_ACTION_UNKNOWN;
    for (int a = 0; a < SL_ACTION_UNKNOWN; a++)
        if (strcmp(sl_action_name((enum sl_action)a), action) == 0)
            target.action = target.completed_as = (enum sl_action)a;
    if (target.action == SL_ACTION_UNKNOWN) {
        status = sl_unsupported("rollback of the unknown action \"%s\"", action);
        goto done;
    }
    SL_GO(plan_files(plan, target.requested, &files));
    if (!pending->has_inflight)
        SL_GO(instant_create(table, &rollback, SL_INFLIGHT, NULL, NULL));
    SL_GO(finish(table, &rollback, &target, &files));
done:
    json_decref(plan);
    sl_strings_free(&files);
    return status ? sl_context(status, "pending rollback %s", pending->requested) : SL_OK;
}

/* ---- by request ---------------------------------------------------------------------------------------- */

/* Unpublishing takes the completed file away; requested and inflight must be there for the rollback to find.
 */
static sl_status unpublish(sl_table *table, const sl_instant *instant)
{
    if (!instant->has_requested)
        SL_TRY(instant_create(table, instant, SL_REQUESTED, NULL, NULL));
    if (!instant->has_inflight)
        SL_TRY(instant_create(table, instant, SL_INFLIGHT, NULL, NULL));
    return delete_state(table, instant, SL_COMPLETED);
}

static const sl_instant *find_write(const sl_timeline *timeline, const char *requested)
{
    for (size_t i = 0; i < timeline->count; i++)
        if (sl_action_writes(timeline->instants[i].action) &&
            strcmp(timeline->instants[i].requested, requested) == 0)
            return &timeline->instants[i];
    return NULL;
}

/* Whatever was built on the instant must go before it. Nothing is built on a plan that is not executed: without it later
 * logs belong to the slice before, which reads merge them with anyway. */
static sl_status check_target(const sl_timeline *timeline, const char *requested, const sl_instant **out)
{
    const sl_instant *target = find_write(timeline, requested);
    if (!target)
        return sl_not_found("there is no instant %s on the active timeline", requested);
    *out = target;
    if (target->state != SL_COMPLETED && sl_action_is_service(target->action))
        return SL_OK;
    for (size_t i = 0; i < timeline->count; i++) {
        const sl_instant *instant = &timeline->instants[i];
        if (instant->action == SL_ACTION_SAVEPOINT && strcmp(instant->requested, requested) >= 0)
            return sl_input("instant %s is protected by the savepoint %s", requested, instant->requested);
        if (!sl_action_writes(instant->action) || strcmp(instant->requested, requested) <= 0)
            continue;
        if (instant->state == SL_COMPLETED)
            return sl_input("instant %s is not the newest: %s came after it; roll that back first", requested,
                            instant->requested);
        if (sl_action_is_service(instant->action))
            return sl_input("the %s planned at %s builds on instant %s; execute it or roll it back first",
                            sl_action_name(instant->action), instant->requested, requested);
    }
    return SL_OK;
}

sl_status sl_rollback_instant(sl_table *table, const char *requested, char *result, size_t *files_deleted)
{
    sl_timeline timeline = {0};
    const sl_instant *target = NULL;
    sl_table_lock *lock;
    SL_TRY(sl_table_lock_take(table, &lock));
    sl_status status = SL_OK;
    SL_GO(table_reload(table));
    if (table->has_metadata_table) /* it would go on listing the files */
        SL_GO(sl_metadata_table_disable(table));
    SL_GO(sl_timeline_load(table, &timeline));
    SL_GO(check_target(&timeline, requested, &target));
    if (target->state == SL_COMPLETED)
        SL_GO(unpublish(table, target));
    else
        SL_GO(instant_refuse_living(table, target->requested));
    SL_GO(rollback_instant(table, target, result, files_deleted));
done:
    sl_timeline_free(&timeline);
    sl_table_lock_release(lock);
    return status;
}
