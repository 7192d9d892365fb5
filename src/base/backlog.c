/*
 * Work that nobody waits for until the end, and that itself waits, for the disk: many threads take it (sl_disk_threads),
 * which start as they are needed. Where there is no thread, or enough waits already, the caller does the work itself and at once, so that what waits (open files)
 * has a bound; and who waits for the rest does his share of it. So no work may rely on what was added before it.
 */
#include "base/base.h"
#include <pthread.h>

#define WAITING_MAX 8

struct job {
    sl_status (*work)(void *context);
    void *context;
};

struct sl_backlog {
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t added;  /* or stop */
    pthread_cond_t idle;   /* nothing waits or is being done */
    pthread_t threads[SL_DISK_THREADS_MAX];
    size_t most, started, resting; /* threads; those that rest wait for `added` */
    bool stop;
    unsigned busy;                   /* with what no longer waits */
    struct job waiting[WAITING_MAX]; /* a ring */
    size_t first, count;
    sl_status failure; /* the first */
};

sl_status sl_backlog_new(sl_backlog **out)
{
    sl_backlog *b;
    SL_NEW(b);
    b->most = sl_disk_threads();
    pthread_mutex_init(&b->mutex, NULL);
    pthread_cond_init(&b->added, NULL);
    pthread_cond_init(&b->idle, NULL);
    *out = b;
    return SL_OK;
}

/* With the mutex held. */
static void keep_failure(sl_backlog *b, sl_status failure)
{
    if (!b->failure)
        b->failure = failure;
    else
        sl_status_free(failure);
}

/* With the mutex held, which is given away meanwhile. Something waits. */
static void do_next(sl_backlog *b)
{
    struct job job = b->waiting[b->first];
    b->first = (b->first + 1) % WAITING_MAX;
    b->count--;
    b->busy++;
    pthread_mutex_unlock(&b->mutex);
    sl_status failure = job.work(job.context);
    pthread_mutex_lock(&b->mutex);
    keep_failure(b, failure);
    if (--b->busy == 0 && b->count == 0)
        pthread_cond_broadcast(&b->idle);
}

static void *work_off(void *argument)
{
    sl_backlog *b = argument;
    pthread_mutex_lock(&b->mutex);
    while (b->count > 0 || !b->stop) {
        if (b->count > 0) {
            do_next(b);
            continue;
        }
        b->resting++;
        pthread_cond_wait(&b->added, &b->mutex);
        b->resting--;
    }
    pthread_mutex_unlock(&b->mutex);
    return NULL;
}

/* With the mutex held: one more thread, unless there are enough for one more that waits. */
static void start_thread(sl_backlog *b)
{
    if (b->resting <= b->count && b->started < b->most &&
        pthread_create(&b->threads[b->started], NULL, work_off, b) == 0)
        b->started++;
}

void sl_backlog_add(sl_backlog *b, sl_status (*work)(void *context), void *context)
{
    pthread_mutex_lock(&b->mutex);
    start_thread(b);
    bool waits = b->started && b->count < WAITING_MAX;
    if (waits) {
        b->waiting[(b->first + b->count++) % WAITING_MAX] = (struct job){work, context};
        pthread_cond_signal(&b->added);
    }
    pthread_mutex_unlock(&b->mutex);
    if (waits)
        return;
    sl_status failure = work(context);
    pthread_mutex_lock(&b->mutex);
    keep_failure(b, failure);
    pthread_mutex_unlock(&b->mutex);
}

sl_status sl_backlog_wait(sl_backlog *b)
{
    pthread_mutex_lock(&b->mutex);
    while (b->count > 0 || b->busy > 0) {
        if (b->count > 0)
            do_next(b);
        else
            pthread_cond_wait(&b->idle, &b->mutex);
    }
    sl_status failure = b->failure;
    b->failure = SL_OK;
    pthread_mutex_unlock(&b->mutex);
    return failure;
}

void sl_backlog_free(sl_backlog *b)
{
    if (!b)
        return;
    pthread_mutex_lock(&b->mutex);
    b->stop = true;
    pthread_cond_broadcast(&b->added);
    pthread_mutex_unlock(&b->mutex);
    for (size_t i = 0; i < b->started; i++)
        pthread_join(b->threads[i], NULL);
    sl_status_free(b->failure);
    pthread_cond_destroy(&b->idle);
    pthread_cond_destroy(&b->added);
    pthread_mutex_destroy(&b->mutex);
    sl_free(b);
}
