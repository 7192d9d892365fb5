/*
 * What completed commits say they wrote against the files that are there. Readers go by names alone: a newest file
 * that somebody deleted gives older rows without a word, and a foreign file under a completed instant's name counts.
 */
#include "service/doctor_int.h"
#include <string.h>

/* ---- what commits name --------------------------------------------------------------------------------- */

static json_int_t number(const json_t *stat, const char *name)
{
    return json_integer_value(json_object_get(stat, name));
}

/* Takes over the file's texts, also on failure. */
static sl_status name_file(struct doctor *d, const sl_instant *instant, struct named_file named)
{
    if (d->named_count == d->named_cap) {
        size_t cap = d->named_cap ? 2 * d->named_cap : 64;
        struct named_file *grown = sl_realloc_array(d->named, cap, sizeof *grown);
        if (!grown) {
            sl_free(named.path);
            sl_free(named.beside);
            return sl_nomem();
        }
        d->named = grown;
        d->named_cap = cap;
    }
    struct named_file *f = &d->named[d->named_count++];
    *f = named;
    if (!f->path)
        return sl_nomem();
    const char *slash = strrchr(f->path, '/');
    memcpy(f->instant, instant->requested, SL_INSTANT_BYTES);
    sl_file_name_parse(slash ? slash + 1 : f->path, &f->parts);
    return SL_OK;
}

static sl_status name_changes(struct doctor *d, const sl_instant *instant, const char *base,
                              const json_t *stat)
{
    const char *path;
    json_t *bytes;
    int64_t most = number(stat, "numInserts") + number(stat, "numUpdateWrites") + number(stat, "numDeletes");
    json_object_foreach(json_object_get(stat, "cdcStats"), path, bytes)
    {
        struct named_file named = {.path = sl_strdup(path),
                                   .bytes = json_integer_value(bytes),
                                   .rows = most,
                                   .beside = sl_strdup(base)};
        SL_TRY(name_file(d, instant, named));
        if (!named.beside)
            return sl_nomem();
    }
    return SL_OK;
}

static sl_status name_files(struct doctor *d, const sl_instant *instant, const json_t *stat)
{
    const char *path = json_string_value(json_object_get(stat, "path"));
    if (!path) /* a stat of a task that wrote no file */
        return SL_OK;
    SL_TRY(name_file(d, instant,
                     (struct named_file){.path = sl_strdup(path),
                                         .bytes = number(stat, "fileSizeInBytes"),
                                         .rows = number(stat, "numWrites"),
                                         .deletes = number(stat, "numDeletes")}));
    return name_changes(d, instant, path, stat);
}

static sl_status note_replaced(struct doctor *d, const json_t *commit)
{
    const char *partition;
    json_t *ids, *id;
    size_t i;
    json_object_foreach(json_object_get(commit, "partitionToReplaceFileIds"), partition, ids)
        json_array_foreach(ids, i, id)
    {
        char *group;
        SL_TRY(sl_path_join(partition, json_string_value(id) ? json_string_value(id) : "", &group));
        sl_status status = sl_strings_add(&d->replaced, group);
        sl_free(group);
        SL_TRY(status);
    }
    return SL_OK;
}

static sl_status take_commit(struct doctor *d, const sl_instant *instant)
{
    json_t *commit, *stats, *stat;
    const char *partition;
    size_t i;
    if (sl_status_ignore(sl_instant_json(d->table, instant, SL_COMPLETED, &commit)))
        return sl_strings_add(&d->unread, instant->requested); /* the timeline's check told */
    sl_status status = note_replaced(d, commit);
    json_object_foreach(json_object_get(commit, "partitionToWriteStats"), partition, stats)
        json_array_foreach(stats, i, stat) if (!status) status = name_files(d, instant, stat);
    json_decref(commit);
    return status;
}

static int named_compare(const void *a, const void *b)
{
    return strcmp(((const struct named_file *)a)->path, ((const struct named_file *)b)->path);
}

struct named_file *doctor_named(const struct doctor *d, const char *path)
{
    const struct named_file wanted = {.path = (char *)(uintptr_t)path};
    return d->named_count ? bsearch(&wanted, d->named, d->named_count, sizeof *d->named, named_compare)
                          : NULL;
}

/* ---- what is there ------------------------------------------------------------------------------------- */

bool doctor_commit_is_active(const struct doctor *d, const char *instant)
{
    if (sl_strings_contain(&d->unread, instant))
        return false;
    for (size_t i = 0; i < d->view.timeline.count; i++)
        if (strcmp(d->view.timeline.instants[i].requested, instant) == 0 &&
            sl_action_writes(d->view.timeline.instants[i].action))
            return d->view.timeline.instants[i].state == SL_COMPLETED;
    return false;
}

static sl_status check_listed(struct doctor *d, const char *partition, const sl_data_file *file)
{
    char *path;
    SL_TRY(sl_path_join(partition, file->name, &path));
    struct named_file *named = doctor_named(d, path);
    sl_status status = SL_OK;
    if (named) {
        named->listed = true;
        /* An inline log grows by later appends, and before version 8 by later commits. */
        if (file->parts.kind != SL_FILE_INLINE_LOG && named->bytes > 0 &&
            (uint64_t)named->bytes != file->size)
            status =
                doctor_find(d, DOCTOR_ERROR, "size", path, "%" PRIu64 " bytes, but commit %s says %" PRId64,
                            file->size, named->instant, named->bytes);
    } else if (doctor_commit_is_active(d, file->parts.instant)) {
        status = doctor_find(d, DOCTOR_ERROR, "stranger", path,
                             "readers count this file, but commit %s does not name it", file->parts.instant);
    }
    sl_free(path);
    return status;
}

/* ---- what is missing ----------------------------------------------------------------------------------- */

/* First of the files whose paths are not below `path`. */
static size_t lower_bound(const struct doctor *d, const char *path)
{
    size_t low = 0, high = d->named_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(d->named[middle].path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Base files of a group are neighbours: their names begin with its id. */
static const char *newest_base(const struct doctor *d, const char *group)
{
    const char *newest = "";
    size_t len = strlen(group);
    for (size_t i = lower_bound(d, group); i < d->named_count && strncmp(d->named[i].path, group, len) == 0;
         i++)
        if (d->named[i].parts.kind == SL_FILE_BASE && d->named[i].path[len] == '_' &&
            strcmp(d->named[i].instant, newest) > 0)
            newest = d->named[i].instant;
    return newest;
}

/* The cleaner takes older slices, never the newest: its base, and the logs completed after that, must be there. */
static bool is_live(const struct doctor *d, const struct named_file *f, const char *group)
{
    if (sl_strings_contain(&d->replaced, group))
        return false;
    const char *base = newest_base(d, group),
               *completed = sl_timeline_completion(&d->view.timeline, f->instant);
    return f->parts.kind == SL_FILE_BASE ? strcmp(f->instant, base) == 0
                                         : completed && strcmp(completed, base) >= 0;
}

static sl_status check_missing(struct doctor *d, const struct named_file *f)
{
    const char *slash = strrchr(f->path, '/');
    char *group;
    if (f->listed || f->parts.kind == SL_FILE_OTHER || f->parts.kind == SL_FILE_CDC ||
        f->parts.kind == SL_FILE_INLINE_CDC)
        return SL_OK;
    SL_TRY(sl_asprintf(&group, "%.*s%s", slash ? (int)(slash + 1 - f->path) : 0, f->path, f->parts.file_id));
    bool live = is_live(d, f, group);
    sl_free(group);
    if (!live)
        return SL_OK;
    return doctor_find(d, DOCTOR_ERROR, "missing", f->path,
                       "commit %s wrote this file, and it is gone: its rows are lost", f->instant);
}

sl_status doctor_check_commits(struct doctor *d)
{
    for (size_t i = 0; i < d->view.timeline.count; i++)
        if (sl_action_writes(d->view.timeline.instants[i].action) &&
            d->view.timeline.instants[i].state == SL_COMPLETED)
            SL_TRY(take_commit(d, &d->view.timeline.instants[i]));
    if (d->named)
        qsort(d->named, d->named_count, sizeof *d->named, named_compare);
    for (size_t p = 0; p < d->view.partition_count; p++) {
        const sl_partition *partition = &d->view.partitions[p];
        for (size_t g = 0; g < partition->group_count; g++)
            for (size_t f = 0; f < partition->groups[g].file_count; f++)
                SL_TRY(check_listed(d, partition->path, &partition->groups[g].files[f]));
    }
    for (size_t i = 0; i < d->named_count; i++)
        SL_TRY(check_missing(d, &d->named[i]));
    return SL_OK;
}
