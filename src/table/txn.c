/*
 * The commit protocol, the only way a table changes (docs/ARCHITECTURE.md, the life of an upsert):
 *
 *   lock     leftovers of dead writers rolled back -> instant drawn -> requested -> inflight
 *   unlock   (marker -> data file, durable)* -> unnamed files removed
 *   lock     completed file created exclusively: the commit -> markers removed
 *
 * The lock is the timeline's (lock.c): between the two others may plan, execute and publish services. Writing actions keep
 * each other out all the time. A crash before the completed file leaves the old table plus leftovers that the next writer
 * finds by their markers; a crash after it leaves the new table.
 */
#include "table/table_int.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct sl_txn {
    sl_table *table;
    sl_table_lock *lock;                  /* NULL: a task of somebody else's transaction */
    sl_storage_lock_handle *instant_lock; /* says that the instant is worked on */
    sl_timeline timeline;
    sl_instant instant;
    const char *operation;   /* owned copy */
    bool keep_requested;     /* a service: an abort leaves its plan */
    struct txn_files *files; /* NULL: there is no instant yet */
    pthread_mutex_t mutex;   /* guards what follows: tasks report in parallel */
    sl_write_stat *stats;
    size_t stat_count, stat_cap;
    json_t *replaced; /* of a replacecommit: partition -> file ids that are hidden from its completion on */
};

sl_table *txn_table(const sl_txn *txn) { return txn->table; }
const sl_instant *txn_instant(const sl_txn *txn) { return &txn->instant; }
const char *sl_txn_instant(const sl_txn *txn) { return txn->instant.requested; }
const sl_timeline *sl_txn_timeline(const sl_txn *txn) { return &txn->timeline; }

static void txn_free(sl_txn *txn)
{
    txn_files_free(txn->files);
    for (size_t i = 0; i < txn->stat_count; i++)
        sl_write_stat_free(&txn->stats[i]);
    sl_free(txn->stats);
    json_decref(txn->replaced);
    sl_timeline_free(&txn->timeline);
    sl_free((char *)(uintptr_t)txn->operation);
    pthread_mutex_destroy(&txn->mutex);
    sl_storage_unlock(txn->instant_lock);
    sl_table_lock_release(txn->lock);
    sl_free(txn);
}

/* The instant is completed or gone: its lock has done its work. Caller holds the timeline lock. */
static void txn_settled(sl_txn *txn)
{
    sl_storage_unlock_for_good(txn->instant_lock);
    txn->instant_lock = NULL;
}

/* ---- begin --------------------------------------------------------------------------------------------- */

sl_status table_reload(sl_table *table)
{
    sl_properties fresh;
    SL_TRY(properties_load(table->storage, table->path, &fresh));
    /* Streams of the handle go on in threads of the pool and look at what they know of the table. */
    if (table->interpreted && sl_properties_equal(&fresh, &table->properties)) {
        sl_properties_free(&fresh);
    } else {
        sl_properties_free(&table->properties);
        table->properties = fresh;
        SL_TRY(table_interpret(table));
    }
    return sl_table_check_writable(table);
}

static sl_status txn_request(sl_txn *txn, const struct sl_txn_options *options)
{
    txn->instant.action = options->action;
    txn->instant.completed_as = sl_action_completes_as(options->action);
    SL_TRY(instant_draw(txn->table, &txn->timeline, txn->instant.requested));
    sl_status status = instant_lock_take(txn->table, txn->instant.requested, &txn->instant_lock);
    if (status) {
        *txn->instant.requested = 0;
        return status;
    }
    status = instant_create(txn->table, &txn->instant, SL_REQUESTED, options->plan, options->plan_record);
    if (sl_status_code(status) == SL_E_CONFLICT)
        *txn->instant.requested = 0; /* somebody else's: not ours to roll back */
    return status;
}

/* A service's plan exists; an executor that died with it left files that go first. */
static sl_status txn_resume(sl_txn *txn, const struct sl_txn_options *options)
{
    const sl_instant *planned = sl_timeline_find(&txn->timeline, options->instant, options->action);
    if (!planned || !planned->has_requested)
        return sl_not_found("there is no %s plan %s", sl_action_name(options->action), options->instant);
    if (planned->state == SL_COMPLETED)
        return sl_errorf(SL_E_EXISTS, "%s %s is completed already", sl_action_name(options->action),
                         options->instant);
    sl_status status = instant_lock_take(txn->table, options->instant, &txn->instant_lock);
    if (status)
        return sl_context(status, "another process executes the %s %s", sl_action_name(options->action),
                          options->instant);
    txn->instant = *planned;
    if (planned->has_inflight) {
        size_t deleted;
        SL_TRY(rollback_pending(txn->table, planned, true, &deleted));
        txn->instant.has_inflight = false;
    }
    return SL_OK;
}

/* Under the timeline lock. */
static sl_status txn_start(sl_txn *txn, const struct sl_txn_options *options)
{
    sl_table *table = txn->table;
    size_t rolled_back;
    SL_TRY(table_reload(table));
    if (table->has_metadata_table)
        SL_TRY(sl_metadata_table_disable(table));
    SL_TRY(leftovers_clear(table, &txn->timeline, &rolled_back));
    SL_TRY(schema_history_refuse_write(table, &txn->timeline));
    SL_TRY(options->instant ? txn_resume(txn, options) : txn_request(txn, options));
    return instant_create(table, &txn->instant, SL_INFLIGHT, NULL, NULL);
}

sl_status sl_txn_begin(sl_table *table, const struct sl_txn_options *options, sl_txn **out)
{
    sl_txn *txn;
    SL_NEW(txn);
    pthread_mutex_init(&txn->mutex, NULL);
    txn->table = table;
    txn->keep_requested = sl_action_is_service(options->action);
    sl_status status = SL_OK;
    if (!(txn->operation = sl_strdup(options->operation))) {
        status = sl_nomem();
        goto done;
    }
    SL_GO(txn->keep_requested ? sl_timeline_lock_take(table, &txn->lock)
                              : sl_table_lock_take(table, &txn->lock));
    SL_GO(txn_start(txn, options));
    SL_GO(txn_files_new(table, txn->instant.requested, &txn->files));
    timeline_lock_leave(txn->lock);
    *out = txn;
    return SL_OK;
done:
    if (txn->lock && *txn->instant.requested && !options->instant) {
        size_t deleted;
        if (!sl_status_ignore(rollback_pending(table, &txn->instant, false, &deleted)))
            txn_settled(txn);
    }
    txn_free(txn);
    return status;
}

/* ---- files --------------------------------------------------------------------------------------------- */

sl_status sl_txn_announce(sl_txn *txn, const struct sl_planned_file *file)
{
    return txn_files_announce(txn->files, file);
}

sl_status sl_txn_plan(sl_txn *txn, const struct sl_planned_file *files, size_t count)
{
    return txn_files_plan(txn->files, files, count);
}

void sl_txn_finish_file(sl_txn *txn, sl_output *output) { txn_files_finish(txn->files, output); }

sl_status sl_txn_add_stat(sl_txn *txn, const sl_write_stat *stat)
{
    sl_write_stat copy;
    SL_TRY(write_stat_copy(stat, &copy));
    pthread_mutex_lock(&txn->mutex);
    sl_status status = SL_OK;
    if (txn->stat_count == txn->stat_cap) {
        size_t cap = txn->stat_cap ? txn->stat_cap * 2 : 16;
        sl_write_stat *grown = sl_realloc_array(txn->stats, cap, sizeof *grown);
        if (grown) {
            txn->stats = grown;
            txn->stat_cap = cap;
        } else {
            status = sl_nomem();
        }
    }
    if (!status)
        txn->stats[txn->stat_count++] = copy;
    else
        sl_write_stat_free(&copy);
    pthread_mutex_unlock(&txn->mutex);
    return status;
}

sl_status sl_txn_replace(sl_txn *txn, const char *partition, const char *file_id)
{
    json_t *ids;
    if (!txn->replaced && !(txn->replaced = json_object()))
        return sl_nomem();
    if (!(ids = json_object_get(txn->replaced, partition))) {
        ids = json_array();
        if (json_object_set_new(txn->replaced, partition, ids))
            return sl_internal("the path of partition %s cannot be stored", partition);
    }
    return file_id && json_array_append_new(ids, json_string(file_id)) ? sl_nomem() : SL_OK;
}

/* ---- commit -------------------------------------------------------------------------------------------- */

/* Tasks finish in any order; the commit lists their files in one. */
static int stat_compare(const void *a, const void *b)
{
    const sl_write_stat *x = a, *y = b;
    int c = strcmp(x->partition, y->partition);
    if (!c)
        c = strcmp(x->file_id, y->file_id);
    if (!c)
        c = (int)x->log_version - (int)y->log_version;
    return c ? c : -strcmp(x->path, y->path); /* `.log` before `.deletes` */
}

/* Files that were announced but that no stat names (a task that ran twice, an output nobody needed) must not
 * stay. The markers tell, so that tasks of other processes count too. */
static sl_status txn_reconcile(sl_txn *txn)
{
    sl_strings named = {0}, announced = {0};
    bool found;
    sl_status status = SL_OK;
    for (size_t i = 0; i < txn->stat_count; i++) {
        SL_GO(sl_strings_add(&named, txn->stats[i].path));
        for (size_t c = 0; c < txn->stats[i].cdc_count; c++)
            SL_GO(sl_strings_add(&named, txn->stats[i].cdc[c].path));
    }
    sl_strings_sort(&named);
    SL_GO(markers_read(txn->table, txn->instant.requested, &announced, &found));
    sl_strings_sort(&announced);
    for (size_t i = 0, n = 0; i < announced.count; i++) {
        while (n < named.count && strcmp(named.items[n], announced.items[i]) < 0)
            n++;
        if (n < named.count && strcmp(named.items[n], announced.items[i]) == 0)
            continue;
        char *path;
        SL_GO(sl_table_path(txn->table, announced.items[i], &path));
        status = sl_storage_delete(txn->table->storage, path);
        sl_free(path);
        if (status)
            goto done;
    }
done:
    sl_strings_free(&named);
    sl_strings_free(&announced);
    return status;
}

/* After a failed create: an error of the last fsync may come when the file is already there, and then it counts. Where that
 * cannot be told nothing may be undone here; the next writer sees what it is. */
static bool completed_file_may_exist(const sl_txn *txn)
{
    char name[96], *path;
    sl_entry entry;
    if (!*txn->instant.completed)
        return false;
    sl_instant_file(&txn->instant, SL_COMPLETED, name);
    if (sl_status_ignore(timeline_path(txn->table, name, &path)))
        return true;
    sl_status status = sl_storage_stat(txn->table->storage, path, &entry);
    bool absent = sl_status_code(status) == SL_E_NOT_FOUND;
    sl_status_free(status);
    sl_free(path);
    return !absent;
}

/* A writer of another program may have taken us for dead. */
static sl_status check_still_pending(const sl_txn *txn, const sl_timeline *now)
{
    const sl_instant *instant = sl_timeline_find(now, txn->instant.requested, txn->instant.action);
    if (instant && instant->state != SL_COMPLETED)
        return SL_OK;
    return sl_errorf(SL_E_CONFLICT, "instant %s was rolled back by another writer while it was written",
                     txn->instant.requested);
}

static bool writer_is_pending(const sl_timeline *timeline)
{
    for (size_t i = 0; i < timeline->count; i++)
        if (timeline->instants[i].state != SL_COMPLETED && sl_action_writes(timeline->instants[i].action) &&
            !sl_action_is_service(timeline->instants[i].action))
            return true;
    return false;
}

/* *out stays NULL where a service must not speak: the writer that is at work may bring columns, and if it began
 * earlier its commit stands before the service's, which readers would ask first. A commit without a schema is passed
 * over by all of them (spec/timeline.md 6.3). */
static sl_status unchanged_schema(const sl_txn *txn, const sl_timeline *now, char **out)
{
    const sl_type *data;
    if (txn->keep_requested && writer_is_pending(now))
        return SL_OK;
    SL_TRY(sl_table_schema(txn->table, now, NULL, &data));
    sl_status status = sl_table_schema_text(txn->table, data, false, out);
    sl_type_unref(data);
    return status;
}

/* Draws the completion time and creates the completed file. Under the timeline lock. */
static sl_status txn_publish(sl_txn *txn, const char *schema)
{
    bool replaces = txn->instant.completed_as == SL_ACTION_REPLACECOMMIT;
    sl_timeline now = {0};
    json_t *metadata = NULL;
    char *unchanged = NULL;
    sl_status status = SL_OK;
    SL_GO(sl_timeline_load(txn->table, &now));
    SL_GO(check_still_pending(txn, &now));
    if (!schema)
        SL_GO(unchanged_schema(txn, &now, &unchanged));
    SL_GO(sl_commit_metadata_json(txn->stats, txn->stat_count, txn->operation, schema ? schema : unchanged,
                                  txn->keep_requested, &metadata));
    if (replaces)
        SL_GO(commit_metadata_replaces(metadata, txn->replaced));
    SL_GO(instant_draw(txn->table, &now, txn->instant.completed));
    status = instant_create(txn->table, &txn->instant, SL_COMPLETED, metadata,
                            replaces ? "HoodieReplaceCommitMetadata" : "HoodieCommitMetadata");
done:
    sl_free(unchanged);
    json_decref(metadata);
    sl_timeline_free(&now);
    return status;
}

sl_status sl_txn_commit(sl_txn *txn, const char *schema, char *completed)
{
    sl_status status = SL_OK;
    SL_GO(txn_files_wait(txn->files)); /* every file is durable before the commit names it */
    SL_GO(txn_reconcile(txn));
    if (txn->stats) /* qsort wants memory even for nothing */
        qsort(txn->stats, txn->stat_count, sizeof *txn->stats, stat_compare);
    SL_GO(timeline_lock_again(txn->table, txn->lock));
    status = txn_publish(txn, schema);
    if (status && completed_file_may_exist(txn)) {
        status = sl_context(status, "instant %s is published, but perhaps not yet durable",
                            txn->instant.requested);
        txn_free(txn);
        return status;
    }
done:
    if (status) {
        sl_txn_abort(txn);
        return status;
    }
    if (completed)
        memcpy(completed, txn->instant.completed, SL_INSTANT_BYTES);
    /* Published: a leftover marker folder is removed by the next writer. */
    (void)sl_status_ignore(markers_delete(txn->table, txn->instant.requested));
    txn_settled(txn);
    txn_free(txn);
    return SL_OK;
}

void sl_txn_abort(sl_txn *txn)
{
    if (!txn)
        return;
    size_t deleted;
    (void)sl_status_ignore(txn_files_wait(txn->files)); /* what is still being made cannot be taken away */
    bool undone =
        !sl_status_ignore(timeline_lock_again(txn->table, txn->lock)) &&
        !sl_status_ignore(rollback_pending(txn->table, &txn->instant, txn->keep_requested, &deleted));
    if (undone && !txn->keep_requested)
        txn_settled(txn);
    txn_free(txn);
}

sl_status sl_txn_schedule(sl_table *table, enum sl_action action, const char *instant, const json_t *plan,
                          const char *plan_record)
{
    sl_instant requested = {.action = action};
    snprintf(requested.requested, sizeof requested.requested, "%s", instant);
    return instant_create(table, &requested, SL_REQUESTED, plan, plan_record);
}

sl_status sl_txn_draw(const sl_table *table, char *instant)
{
    sl_timeline timeline;
    SL_TRY(sl_timeline_load(table, &timeline));
    sl_status status = instant_draw(table, &timeline, instant);
    sl_timeline_free(&timeline);
    return status;
}

/* ---- tasks of other processes -------------------------------------------------------------------------- */

sl_status sl_txn_join(sl_table *table, enum sl_action action, const char *instant, sl_txn **out)
{
    sl_timeline timeline;
    SL_TRY(sl_timeline_load(table, &timeline));
    const sl_instant *pending = sl_timeline_find(&timeline, instant, action);
    bool alive = pending && pending->state == SL_INFLIGHT;
    sl_txn *txn = alive ? sl_calloc(1, sizeof *txn) : NULL;
    sl_status status = !alive ? sl_errorf(SL_E_CONFLICT, "the %s %s is not under way (any more)",
                                          sl_action_name(action), instant)
                       : !txn ? sl_nomem()
                              : SL_OK;
    if (!status) {
        pthread_mutex_init(&txn->mutex, NULL);
        txn->table = table;
        txn->instant = *pending;
        status = txn_files_new(table, txn->instant.requested, &txn->files);
        if (status)
            txn_free(txn);
        else
            *out = txn;
    }
    sl_timeline_free(&timeline);
    return status;
}

sl_status txn_wait_for_files(sl_txn *txn) { return txn_files_wait(txn->files); }

const sl_write_stat *sl_txn_stats(const sl_txn *txn, size_t *count)
{
    *count = txn->stat_count;
    return txn->stats;
}

void sl_txn_leave(sl_txn *txn)
{
    if (txn)
        txn_free(txn);
}
