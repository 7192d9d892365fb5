/*
 * The files of a transaction, from their announcement to when they are durable. What waits for the disk here is done in
 * the background, while tasks sort and encode:
 *
 *   planned files   are announced together: their partitions are made at the same time, their markers' folders synced once each
 *   written files   are synced, many at the same time; the commit waits for them
 *
 * The order that a crash needs stays (spec/timeline.md 9.1): a file is opened when its marker is durable, and named by a
 * commit when it is durable itself.
 */
#include "table/table_int.h"
#include <pthread.h>
#include <string.h>

struct txn_files {
    const sl_table *table;
    char instant[SL_INSTANT_BYTES];
    sl_backlog *backlog;
    sl_pool *disk;          /* loops that wait for the disk */
    pthread_mutex_t mutex;  /* guards what follows */
    pthread_cond_t made;    /* plans became fewer */
    size_t plans;           /* given to the backlog and not yet done */
    sl_status plan_failure; /* of the first that failed */
    sl_strings planned;     /* paths below the table; sorted */
    sl_strings partitions;  /* that have their metadata file and a folder of markers, durable both; sorted */
};

/* So many partitions are there sooner than threads that make them at the same time. */
#define PARTITIONS_ALONE 16

sl_status txn_files_new(const sl_table *table, const char *instant, struct txn_files **out)
{
    struct txn_files *f;
    SL_NEW(f);
    sl_status status = sl_backlog_new(&f->backlog);
    if (!status)
        status = sl_pool_new(sl_disk_threads(), &f->disk);
    if (status) {
        sl_backlog_free(f->backlog);
        sl_free(f);
        return status;
    }
    f->table = table;
    memcpy(f->instant, instant, sizeof f->instant);
    pthread_mutex_init(&f->mutex, NULL);
    pthread_cond_init(&f->made, NULL);
    *out = f;
    return SL_OK;
}

void txn_files_free(struct txn_files *f)
{
    if (!f)
        return;
    sl_backlog_free(f->backlog);
    sl_pool_free(f->disk);
    pthread_cond_destroy(&f->made);
    pthread_mutex_destroy(&f->mutex);
    sl_status_free(f->plan_failure);
    sl_strings_free(&f->planned);
    sl_strings_free(&f->partitions);
    sl_free(f);
}

sl_status txn_files_wait(struct txn_files *f) { return sl_backlog_wait(f->backlog); }

/* ---- announcing ---------------------------------------------------------------------------------------- */

/* The partitions of `files` that are not known yet. */
static sl_status unknown_partitions(struct txn_files *f, const struct sl_planned_file *files, size_t count,
                                    sl_strings *out)
{
    sl_status status = SL_OK;
    pthread_mutex_lock(&f->mutex);
    for (size_t i = 0; i < count && !status; i++)
        if (!sl_strings_find(&f->partitions, files[i].partition))
            status = sl_strings_add(out, files[i].partition);
    pthread_mutex_unlock(&f->mutex);
    sl_strings_sort_unique(out);
    return status;
}

static sl_status know_partitions(struct txn_files *f, const sl_strings *partitions)
{
    sl_status status = SL_OK;
    if (partitions->count == 0)
        return SL_OK;
    pthread_mutex_lock(&f->mutex);
    for (size_t i = 0; i < partitions->count && !status; i++)
        status = sl_strings_add(&f->partitions, partitions->items[i]);
    sl_strings_sort_unique(&f->partitions);
    pthread_mutex_unlock(&f->mutex);
    return status;
}

struct partitions_to_make {
    const struct txn_files *files;
    const sl_strings *partitions;
};

static sl_status make_partition(void *context, size_t index)
{
    const struct partitions_to_make *make = context;
    return partition_make(make->files->table, make->partitions->items[index], make->files->instant);
}

/* Of a partition's folders the first announcement has to see to it that they are durable. Several may be the first: a folder
 * that another one made just now is there, and may still be lost. */
static sl_status announce(struct txn_files *f, const struct sl_planned_file *files, size_t count)
{
    sl_strings unknown = {0};
    sl_status status = SL_OK;
    SL_GO(unknown_partitions(f, files, count, &unknown));
    struct partitions_to_make make = {f, &unknown};
    SL_GO(
        sl_pool_for(unknown.count > PARTITIONS_ALONE ? f->disk : NULL, unknown.count, make_partition, &make));
    SL_GO(markers_create(f->table, f->instant, files, count, unknown.count == 0));
    status = know_partitions(f, &unknown);
done:
    sl_strings_free(&unknown);
    return status;
}

/* ---- plans --------------------------------------------------------------------------------------------- */

struct plan {
    struct txn_files *files;
    struct sl_planned_file *items; /* partitions and names are owned */
    size_t count;
};

static void plan_free(struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        sl_free((char *)(uintptr_t)plan->items[i].partition);
        sl_free((char *)(uintptr_t)plan->items[i].name);
    }
    sl_free(plan->items);
    sl_free(plan);
}

static sl_status plan_copy(struct txn_files *f, const struct sl_planned_file *files, size_t count,
                           struct plan **out)
{
    struct plan *plan;
    SL_NEW(plan);
    plan->files = f;
    plan->items = sl_calloc(count + 1, sizeof *plan->items);
    bool copied = plan->items != NULL;
    for (size_t i = 0; i < count && copied; i++) {
        struct sl_planned_file *to = &plan->items[plan->count++];
        to->kind = files[i].kind;
        to->partition = sl_strdup(files[i].partition);
        to->name = sl_strdup(files[i].name);
        copied = to->partition && to->name;
    }
    if (!copied) {
        plan_free(plan);
        return sl_nomem();
    }
    *out = plan;
    return SL_OK;
}

static sl_status failure_copy(sl_status failure)
{
    return sl_errorf(sl_status_code(failure), "%s", sl_status_message(failure));
}

/* A failure is told to those who want to open the files, who cannot do without, and to the commit: folders that the plan made
 * may have got other files. */
static sl_status carry_out(void *context)
{
    struct plan *plan = context;
    struct txn_files *f = plan->files;
    sl_status failure = announce(f, plan->items, plan->count);
    plan_free(plan);
    sl_status told = failure ? failure_copy(failure) : SL_OK;
    pthread_mutex_lock(&f->mutex);
    f->plans--;
    if (f->plan_failure)
        sl_status_free(told);
    else
        f->plan_failure = told;
    pthread_cond_broadcast(&f->made);
    pthread_mutex_unlock(&f->mutex);
    return failure;
}

static sl_status add_planned(struct txn_files *f, const struct sl_planned_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *path;
        SL_TRY(sl_path_join(files[i].partition, files[i].name, &path));
        sl_status status = sl_strings_add(&f->planned, path);
        sl_free(path);
        SL_TRY(status);
    }
    sl_strings_sort(&f->planned);
    return SL_OK;
}

sl_status txn_files_plan(struct txn_files *f, const struct sl_planned_file *files, size_t count)
{
    struct plan *plan;
    SL_TRY(plan_copy(f, files, count, &plan));
    pthread_mutex_lock(&f->mutex);
    sl_status status = add_planned(f, files, count);
    f->plans += !status;
    pthread_mutex_unlock(&f->mutex);
    if (status)
        plan_free(plan);
    else
        sl_backlog_add(f->backlog, carry_out, plan);
    return status;
}

/* *planned false: nobody announced the file. */
static sl_status wait_for_plan(struct txn_files *f, const char *path, bool *planned)
{
    sl_status status = SL_OK;
    pthread_mutex_lock(&f->mutex);
    *planned = sl_strings_find(&f->planned, path);
    while (*planned && f->plans > 0)
        pthread_cond_wait(&f->made, &f->mutex);
    if (*planned && f->plan_failure)
        status = failure_copy(f->plan_failure);
    pthread_mutex_unlock(&f->mutex);
    return status;
}

sl_status txn_files_announce(struct txn_files *f, const struct sl_planned_file *file)
{
    char *path;
    bool planned;
    SL_TRY(sl_path_join(file->partition, file->name, &path));
    sl_status status = wait_for_plan(f, path, &planned);
    sl_free(path);
    return status || planned ? status : announce(f, file, 1);
}

/* ---- finishing ----------------------------------------------------------------------------------------- */

static sl_status finish_output(void *context) { return sl_output_finish(context); }

void txn_files_finish(struct txn_files *f, sl_output *output)
{
    sl_backlog_add(f->backlog, finish_output, output);
}
