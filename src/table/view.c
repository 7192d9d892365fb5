/*
 * The file system view: from names in folders to file groups and slices at one instant (spec/lsm-layout.md 7,
 * spec/timeline.md 12). Reads listings and the timeline only, never a data file.
 *
 *   1. a completed replacecommit hides the groups it names
 *   2. every completed base file opens a slice at its instant; a pending compaction opens an empty one at the
 * plan's
 *   3. a completed log goes to the newest slice whose base instant is not after the log's completion; where
 * there is none it opens one at its own instant
 */
#include "table/table_int.h"
#include <stdio.h>
#include <string.h>

/* ---- sets of (partition, file id, instant) from the timeline ------------------------------------------- */

struct group_mark {
    char *partition, *file_id;
    const char *instant; /* borrowed from the timeline */
};
struct group_marks {
    struct group_mark *items;
    size_t count, cap;
};

static int mark_compare(const void *a, const void *b)
{
    const struct group_mark *x = a, *y = b;
    int c = strcmp(x->partition, y->partition);
    return c ? c : strcmp(x->file_id, y->file_id);
}

static sl_status mark_add(struct group_marks *marks, const char *partition, const char *file_id,
                          const char *instant)
{
    if (!partition || !file_id)
        return sl_corrupt("file group without partition or file id");
    SL_GROW(marks->items, marks->count, marks->cap, 16);
    struct group_mark m = {sl_strdup(partition), sl_strdup(file_id), instant};
    if (!m.partition || !m.file_id) {
        sl_free(m.partition);
        sl_free(m.file_id);
        return sl_nomem();
    }
    marks->items[marks->count++] = m;
    return SL_OK;
}

static const struct group_mark *mark_find(const struct group_marks *marks, const char *partition,
                                          const char *file_id)
{
    /* The key is only read; the casts drop const because bsearch's key shares the element type. */
    struct group_mark key = {(char *)(uintptr_t)partition, (char *)(uintptr_t)file_id, NULL};
    return marks->count ? bsearch(&key, marks->items, marks->count, sizeof *marks->items, mark_compare)
                        : NULL;
}

static void marks_free(struct group_marks *marks)
{
    for (size_t i = 0; i < marks->count; i++) {
        sl_free(marks->items[i].partition);
        sl_free(marks->items[i].file_id);
    }
    sl_free(marks->items);
}

static sl_status collect_replaced(const sl_table *table, const sl_timeline *timeline,
                                  struct group_marks *marks)
{
    for (size_t i = 0; i < timeline->count; i++) {
        const sl_instant *instant = &timeline->instants[i];
        if (instant->completed_as != SL_ACTION_REPLACECOMMIT || instant->state != SL_COMPLETED)
            continue;
        json_t *commit, *ids, *id;
        const char *partition;
        size_t n;
        SL_TRY(sl_instant_json_with(table, instant, SL_COMPLETED, "partitionToReplaceFileIds", &commit));
        sl_status status = SL_OK;
        json_object_foreach(json_object_get(commit, "partitionToReplaceFileIds"), partition, ids)
            json_array_foreach(ids, n, id) if (!status) status =
                mark_add(marks, partition, json_string_value(id), instant->requested);
        json_decref(commit);
        SL_TRY_CTX(status, "instant %s", instant->requested);
    }
    if (marks->items) /* qsort wants memory even for nothing */
        qsort(marks->items, marks->count, sizeof *marks->items, mark_compare);
    return SL_OK;
}

sl_status sl_group_is_replaced(const sl_table *table, const sl_timeline *timeline, const char *partition,
                               const char *file_id, bool *out)
{
    struct group_marks marks = {0};
    sl_status status = collect_replaced(table, timeline, &marks);
    *out = !status && mark_find(&marks, partition, file_id);
    marks_free(&marks);
    return status;
}

struct pending {
    struct group_marks *marks;
    const char *instant;
};

static sl_status mark_pending(void *context, const char *partition, const char *file_id)
{
    const struct pending *pending = context;
    return mark_add(pending->marks, partition, file_id, pending->instant);
}

static sl_status collect_pending_compactions(const sl_table *table, const sl_timeline *timeline,
                                             struct group_marks *marks)
{
    for (size_t i = 0; i < timeline->count; i++) {
        const sl_instant *instant = &timeline->instants[i];
        if (instant->action == SL_ACTION_COMPACTION && instant->state != SL_COMPLETED &&
            instant->has_requested)
            SL_TRY(
                sl_plan_groups(table, instant, mark_pending, &(struct pending){marks, instant->requested}));
    }
    if (marks->items) /* qsort wants memory even for nothing */
        qsort(marks->items, marks->count, sizeof *marks->items, mark_compare);
    return SL_OK;
}

/* ---- slices of one group ------------------------------------------------------------------------------- */

static sl_slice *slice_open(sl_file_group *group, const char *instant)
{
    for (size_t i = 0; i < group->slice_count; i++)
        if (strcmp(group->slices[i].base_instant, instant) == 0)
            return &group->slices[i];
    /* The array was sized for one slice a file plus the pending ones. Newest first. */
    size_t at = 0;
    while (at < group->slice_count && strcmp(group->slices[at].base_instant, instant) > 0)
        at++;
    memmove(group->slices + at + 1, group->slices + at, (group->slice_count - at) * sizeof *group->slices);
    memset(&group->slices[at], 0, sizeof group->slices[at]);
    snprintf(group->slices[at].base_instant, SL_INSTANT_BYTES, "%s", instant);
    group->slice_count++;
    return &group->slices[at];
}

static sl_slice *slice_for_log(sl_file_group *group, const sl_data_file *log)
{
    for (size_t i = 0; i < group->slice_count; i++)
        if (strcmp(group->slices[i].base_instant, log->completed) <= 0)
            return &group->slices[i];
    return slice_open(group, log->parts.instant);
}

static sl_status slice_add_log(sl_slice *slice, const sl_data_file *log)
{
    /* Grows by doubling whenever the count is a power of two. */
    if ((slice->log_count & (slice->log_count - 1)) == 0) {
        const sl_data_file **grown =
            sl_realloc_array(slice->logs, slice->log_count ? slice->log_count * 2 : 1, sizeof *grown);
        if (!grown)
            return sl_nomem();
        slice->logs = grown;
    }
    slice->logs[slice->log_count++] = log;
    return SL_OK;
}

static bool is_log(enum sl_file_kind kind)
{
    return kind == SL_FILE_LOG || kind == SL_FILE_DELETES || kind == SL_FILE_INLINE_LOG;
}

static sl_status group_slices(sl_file_group *group, const char *pending_instant)
{
    SL_NEW_ARRAY(group->slices, group->file_count + 1);
    for (size_t i = 0; i < group->file_count; i++)
        if (group->files[i].parts.kind == SL_FILE_BASE)
            slice_open(group, group->files[i].parts.instant)->base = &group->files[i];
    if (pending_instant)
        slice_open(group, pending_instant)->pending_compaction = true;
    for (size_t i = 0; i < group->file_count; i++) /* files are in log order */
        if (is_log(group->files[i].parts.kind))
            SL_TRY(slice_add_log(slice_for_log(group, &group->files[i]), &group->files[i]));
    return SL_OK;
}

/* ---- files of one partition ---------------------------------------------------------------------------- */

/* By file id, then base files by instant, then logs in log order. */
static int file_compare(const void *a, const void *b)
{
    const sl_data_file *x = a, *y = b;
    int c = strcmp(x->parts.file_id, y->parts.file_id);
    if (c)
        return c;
    bool x_log = is_log(x->parts.kind), y_log = is_log(y->parts.kind);
    return x_log != y_log ? x_log - y_log : sl_log_order(&x->parts, &y->parts);
}

static void files_free(sl_data_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sl_free(files[i].name);
    sl_free(files);
}

/* The slice of a log goes by its completion; of archived instants that stands in the archived timeline, which is read only
 * for logs that outlived their instant's stay on the active one. */
static bool is_archived(const sl_timeline *timeline, const char *requested)
{
    return *timeline->first_commit && strcmp(requested, timeline->first_commit) < 0;
}

/* Completed data files of a folder, sorted; names that are none are left alone. */
static sl_status partition_files(const sl_table *table, sl_timeline *timeline, const char *partition,
                                 sl_data_file **out, size_t *out_count)
{
    char *path;
    sl_listing listing = {0};
    sl_data_file *files = NULL;
    size_t count = 0;
    SL_TRY(sl_table_path(table, partition, &path));
    sl_status status = sl_storage_list(table->storage, path, &listing);
    sl_free(path);
    SL_TRY(status);
    if (!(files = sl_calloc(listing.count + 1, sizeof *files))) {
        status = sl_nomem();
        goto done;
    }
    for (size_t i = 0; i < listing.count; i++) {
        sl_data_file *f = &files[count];
        if (listing.entries[i].is_dir)
            continue;
        sl_file_name_parse(listing.entries[i].name, &f->parts);
        if (!is_log(f->parts.kind) && f->parts.kind != SL_FILE_BASE)
            continue;
        if (is_log(f->parts.kind) && is_archived(timeline, f->parts.instant) && !timeline->history_is_loaded)
            SL_GO(timeline_load_history(table, timeline));
        const char *completed = sl_timeline_completion(timeline, f->parts.instant);
        if (!completed)
            continue;
        memmove(f->completed, completed, strlen(completed) + 1);
        f->size = listing.entries[i].size;
        if (!(f->name = sl_strdup(listing.entries[i].name))) {
            status = sl_nomem();
            goto done;
        }
        count++;
    }
    qsort(files, count, sizeof *files, file_compare);
done:
    sl_listing_free(&listing);
    if (status) {
        files_free(files, count);
        return status;
    }
    *out = files;
    *out_count = count;
    return SL_OK;
}

/* ---- the view ------------------------------------------------------------------------------------------ */

struct marks {
    struct group_marks replaced, pending;
};

/* One group from the files [first, first + count) of a partition; takes them over. */
static sl_status group_make(sl_partition *partition, const struct marks *marks, sl_data_file *files,
                            size_t count)
{
    sl_file_group *group = &partition->groups[partition->group_count];
    memset(group, 0, sizeof *group);
    if (mark_find(&marks->replaced, partition->path, files[0].parts.file_id)) {
        for (size_t i = 0; i < count; i++) {
            sl_free(files[i].name);
            files[i].name = NULL;
        }
        return SL_OK;
    }
    const struct group_mark *pending = mark_find(&marks->pending, partition->path, files[0].parts.file_id);
    SL_NEW_ARRAY(group->files, count);
    memcpy(group->files, files, count * sizeof *files);
    for (size_t i = 0; i < count; i++)
        files[i].name = NULL; /* moved */
    group->file_count = count;
    group->partition = partition->path;
    partition->group_count++;
    if (!(group->file_id = sl_strdup(group->files[0].parts.file_id)))
        return sl_nomem();
    return group_slices(group, pending ? pending->instant : NULL);
}

static sl_status partition_load(const sl_table *table, sl_timeline *timeline, const struct marks *marks,
                                sl_partition *partition)
{
    sl_data_file *files = NULL;
    size_t count = 0;
    SL_TRY(partition_files(table, timeline, partition->path, &files, &count));
    sl_status status = SL_OK;
    partition->groups = sl_calloc(count + 1, sizeof *partition->groups);
    if (!partition->groups)
        status = sl_nomem();
    for (size_t i = 0, n; i < count && !status; i += n) {
        for (n = 1; i + n < count && strcmp(files[i].parts.file_id, files[i + n].parts.file_id) == 0;)
            n++;
        status = group_make(partition, marks, files + i, n);
    }
    files_free(files, count); /* names that were moved are NULL */
    return status;
}

static void partition_free(sl_partition *partition)
{
    for (size_t g = 0; g < partition->group_count; g++) {
        sl_file_group *group = &partition->groups[g];
        for (size_t s = 0; s < group->slice_count; s++)
            sl_free(group->slices[s].logs);
        sl_free(group->slices);
        files_free(group->files, group->file_count);
        sl_free(group->file_id);
    }
    sl_free(partition->groups);
    sl_free(partition->path);
}

/* A partition that lost its metadata file would read as no rows. What never was committed, or is replaced, is not
 * missed. */
static sl_status check_unmarked(const sl_table *table, sl_timeline *timeline, const struct marks *marks,
                                const sl_strings *folders)
{
    for (size_t i = 0; i < folders->count; i++) {
        sl_partition lost = {.path = sl_strdup(folders->items[i])};
        sl_status status = lost.path ? partition_load(table, timeline, marks, &lost) : sl_nomem();
        if (!status && lost.group_count)
            status = sl_hint(
                sl_corrupt("folder \"%s\": .hoodie_partition_metadata is missing, but %s is committed",
                           lost.path, lost.groups[0].files[0].name),
                "without that file Hudi leaves the folder's rows out: an empty one will do, or move the "
                "folder out of the table if it is a copy");
        partition_free(&lost);
        SL_TRY(status);
    }
    return SL_OK;
}

static void timeline_cut(sl_timeline *timeline, const char *as_of)
{
    while (timeline->count && strcmp(timeline->instants[timeline->count - 1].requested, as_of) > 0)
        timeline->count--;
    /* Archived instants count as completed, but not those after the wanted time: as a text, `as_of`0 follows `as_of`
     * and comes before every later instant. */
    if (strcmp(as_of, timeline->first_commit) < 0)
        snprintf(timeline->first_commit, sizeof timeline->first_commit, "%.22s0", as_of);
}

sl_status sl_view_load(const sl_table *table, const struct sl_view_options *options, sl_view *out)
{
    sl_view view = {0};
    struct marks marks = {0};
    sl_strings paths = {0}, unmarked = {0};
    sl_status status = SL_OK;
    SL_GO(sl_timeline_load(table, &view.timeline));
    if (options && options->as_of)
        timeline_cut(&view.timeline, options->as_of);
    SL_GO(collect_replaced(table, &view.timeline, &marks.replaced));
    SL_GO(collect_pending_compactions(table, &view.timeline, &marks.pending));
    if (options && options->partitions)
        for (size_t i = 0; i < options->partitions->count; i++)
            SL_GO(sl_strings_add(&paths, options->partitions->items[i]));
    else
        SL_GO(partitions_list(table, &paths, &unmarked));
    SL_GO(check_unmarked(table, &view.timeline, &marks, &unmarked));
    if (!(view.partitions = sl_calloc(paths.count + 1, sizeof *view.partitions))) {
        status = sl_nomem();
        goto done;
    }
    for (size_t i = 0; i < paths.count; i++) {
        sl_partition *p = &view.partitions[view.partition_count];
        if (!(p->path = sl_strdup(paths.items[i]))) {
            status = sl_nomem();
            goto done;
        }
        view.partition_count++;
        status = partition_load(table, &view.timeline, &marks, p);
        if (options && options->partitions &&
            sl_status_code(status) == SL_E_NOT_FOUND) { /* a partition that is not there yet */
            sl_status_free(status);
            status = SL_OK;
        }
        SL_GO_CTX(status, "partition %s", paths.items[i]);
    }
done:
    marks_free(&marks.replaced);
    marks_free(&marks.pending);
    sl_strings_free(&paths);
    sl_strings_free(&unmarked);
    if (status)
        sl_view_free(&view);
    else
        *out = view;
    return status;
}

void sl_view_free(sl_view *view)
{
    for (size_t p = 0; p < view->partition_count; p++)
        partition_free(&view->partitions[p]);
    sl_free(view->partitions);
    sl_timeline_free(&view->timeline);
    memset(view, 0, sizeof *view);
}

/* ---- what a reader merges ------------------------------------------------------------------------------ */

sl_status sl_group_read_slice(const sl_file_group *group, bool read_optimized, sl_read_slice *out,
                              bool *found)
{
    sl_read_slice slice = {.group = group};
    size_t last = 0; /* oldest slice that takes part */
    *found = false;
    if (read_optimized) {
        for (size_t i = 0; i < group->slice_count && !slice.base; i++)
            slice.base = group->slices[i].base;
        *found = slice.base != NULL;
        *out = slice;
        return SL_OK;
    }
    if (group->slice_count == 0)
        return SL_OK;
    while (last + 1 < group->slice_count && group->slices[last].pending_compaction)
        last++;
    size_t logs = 0;
    for (size_t i = 0; i <= last; i++)
        logs += group->slices[i].log_count;
    SL_NEW_ARRAY(slice.logs, logs + 1);
    slice.base = group->slices[last].base;
    for (size_t i = last + 1; i-- > 0;) { /* older slice first: spec/lsm-layout.md 7, rule 4 */
        if (group->slices[i].log_count)
            memcpy(slice.logs + slice.log_count, group->slices[i].logs,
                   group->slices[i].log_count * sizeof *slice.logs);
        slice.log_count += group->slices[i].log_count;
    }
    *found = slice.base || slice.log_count;
    if (!*found)
        sl_free(slice.logs);
    else
        *out = slice;
    return SL_OK;
}

void sl_read_slice_free(sl_read_slice *slice)
{
    sl_free(slice->logs);
    memset(slice, 0, sizeof *slice);
}
