/*
 * What dead writers left: pending writes are rolled back and pending rollbacks finished before anything new begins;
 * markers, locks and half-made files of the timeline that belong to nothing any more are swept away.
 */
#include "table/table_int.h"
#include <stdio.h>
#include <string.h>

#define HEARTBEAT_FRESH_MS                                                                                   \
    (2 * 60000) /* hoodie.client.heartbeat.interval_in_ms times tolerable misses, the defaults */

/* ---- the living ---------------------------------------------------------------------------------------- */

/* Hudi's writers keep a file fresh (spec/timeline.md 9.4). */
static sl_status refuse_heartbeat(const sl_table *table, const char *instant)
{
    char relative[SL_INSTANT_BYTES + 16], *path;
    sl_entry entry;
    snprintf(relative, sizeof relative, ".heartbeat/%s", instant);
    SL_TRY(hoodie_path(table, relative, &path));
    bool missing = sl_status_ignore(sl_storage_stat(table->storage, path, &entry));
    sl_free(path);
    int64_t age_ms = missing ? INT64_MAX : sl_now_ms() - entry.modified_ms;
    if (age_ms <= HEARTBEAT_FRESH_MS)
        return sl_errorf(SL_E_CONFLICT,
                         "another writer is at work: instant %s has a heartbeat %" PRId64 " s old", instant,
                         age_ms / 1000);
    return SL_OK;
}

sl_status instant_refuse_living(const sl_table *table, const char *instant)
{
    bool alive;
    SL_TRY(sl_instant_is_worked_on(table, instant, &alive));
    if (alive)
        return sl_errorf(SL_E_BUSY, "another process is at work on instant %s", instant);
    return refuse_heartbeat(table, instant);
}

/* ---- sweeping ------------------------------------------------------------------------------------------ */

/* Marker folders whose instant is no longer pending: their writer died between publishing and tidying. */
static sl_status sweep_markers(const sl_table *table, const sl_timeline *timeline)
{
    char *path;
    sl_listing listing = {0};
    SL_TRY(hoodie_path(table, ".temp", &path));
    sl_status status = sl_storage_list(table->storage, path, &listing);
    sl_free(path);
    if (sl_status_code(status) == SL_E_NOT_FOUND) {
        sl_status_free(status);
        return SL_OK;
    }
    for (size_t i = 0; i < listing.count && !status; i++) {
        const char *name = listing.entries[i].name;
        bool is_instant = listing.entries[i].is_dir && !name[strspn(name, "0123456789")];
        if (is_instant && !sl_timeline_is_pending(timeline, name))
            status = markers_delete(table, name);
    }
    sl_listing_free(&listing);
    return status;
}

/* "20240101000000000.commit.requested.a658d985-ef3d-4979-8e27-9c8dc0be76cf": see storage/local_commit.c. Hudi
 * names them so too. */
static bool is_temporary(const char *name)
{
    enum { UUID_LENGTH = 36 };
    size_t n = strlen(name);
    if (n < UUID_LENGTH + 2 || name[n - UUID_LENGTH - 1] != '.' || !strspn(name, "0123456789"))
        return false;
    const char *uuid = name + n - UUID_LENGTH;
    for (size_t i = 0; i < UUID_LENGTH; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? uuid[i] != '-' : !strchr("0123456789abcdef", uuid[i]))
            return false;
    }
    return true;
}

/* Timeline files that never got their name. They live for milliseconds: an old one has lost its writer. */
static sl_status sweep_temporaries(const sl_table *table)
{
    char *folder = NULL;
    sl_listing listing = {0};
    sl_status status = SL_OK;
    SL_GO(timeline_path(table, "", &folder));
    SL_GO(sl_storage_list(table->storage, folder, &listing));
    for (size_t i = 0; i < listing.count && !status; i++) {
        const sl_entry *e = &listing.entries[i];
        char *path;
        if (e->is_dir || !is_temporary(e->name) || sl_now_ms() - e->modified_ms <= HEARTBEAT_FRESH_MS)
            continue;
        SL_GO(timeline_path(table, e->name, &path));
        status = sl_storage_delete(table->storage, path);
        sl_free(path);
    }
done:
    sl_listing_free(&listing);
    sl_free(folder);
    return status;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static bool is_unfinished_rollback(const sl_instant *instant)
{
    return instant->action == SL_ACTION_ROLLBACK && instant->state != SL_COMPLETED && instant->has_requested;
}

static sl_status reload(const sl_table *table, sl_timeline *timeline)
{
    sl_timeline_free(timeline);
    return sl_timeline_load(table, timeline);
}

static sl_status resume_rollbacks(sl_table *table, sl_timeline *timeline)
{
    bool resumed = false;
    for (size_t i = 0; i < timeline->count; i++) {
        if (!is_unfinished_rollback(&timeline->instants[i]))
            continue;
        SL_TRY(rollback_resume(table, &timeline->instants[i]));
        resumed = true;
    }
    return resumed ? reload(table, timeline) : SL_OK;
}

/* A plan of a service waits for whoever executes it; a write nobody can finish. */
static sl_status roll_back_dead(sl_table *table, const sl_instant *instant, size_t *rolled_back)
{
    size_t deleted;
    bool alive;
    if (instant->state == SL_COMPLETED || !sl_action_writes(instant->action) ||
        sl_action_is_service(instant->action))
        return SL_OK;
    SL_TRY(sl_instant_is_worked_on(table, instant->requested, &alive));
    if (alive)
        return SL_OK;
    SL_TRY(refuse_heartbeat(table, instant->requested));
    sl_warn(&table->runtime, "instant %s was never completed: rolling it back", instant->requested);
    SL_TRY(rollback_instant(table, instant, NULL, &deleted));
    ++*rolled_back;
    return SL_OK;
}

/* The timeline is listed once where nothing was left. */
sl_status leftovers_clear(sl_table *table, sl_timeline *out, size_t *rolled_back)
{
    sl_timeline timeline;
    *rolled_back = 0;
    SL_TRY(sl_timeline_load(table, &timeline));
    sl_status status = SL_OK;
    SL_GO(resume_rollbacks(table, &timeline));
    for (size_t i = 0; i < timeline.count; i++)
        SL_GO(roll_back_dead(table, &timeline.instants[i], rolled_back));
    if (*rolled_back)
        SL_GO(reload(table, &timeline));
    SL_GO(sweep_markers(table, &timeline));
    SL_GO(instant_locks_sweep(table, &timeline));
    SL_GO(sweep_temporaries(table));
    *out = timeline;
done:
    if (status)
        sl_timeline_free(&timeline);
    return status;
}

sl_status sl_rollback_leftovers(sl_table *table, size_t *rolled_back)
{
    sl_timeline timeline;
    SL_TRY(leftovers_clear(table, &timeline, rolled_back));
    sl_timeline_free(&timeline);
    return SL_OK;
}
