/*
 * Parallel loops. A loop is a descriptor on its caller's stack, linked into the pool's list while it runs;
 * idle threads take indexes from the newest loop that has some left. The caller takes indexes too, unlinks
 * the loop when they have run out, and waits for the helpers that are still inside.
 *
 * Why nesting cannot deadlock: a thread waits only for helpers of its own loop, each of which runs an index
 * of it, and that index waits, if at all, for loops begun inside it. And no loop needs a helper to finish.
 */
#include "base/base.h"
#include <pthread.h>

struct loop {
    sl_status (*work)(void *context, size_t index);
    void *context;
    size_t count;
    atomic_size_t next; /* first index not begun */
    atomic_bool failed; /* nothing more is to begin */
    /* guarded by the pool's mutex: */
    unsigned helpers;  /* threads of the pool inside the loop */
    sl_status failure; /* of the lowest index that failed, so that repeated runs tend to say the same */
    size_t failure_index;
    struct loop *older;
};

struct sl_pool {
    unsigned threads; /* the caller included */
    pthread_mutex_t mutex;
    pthread_cond_t wake; /* a loop was added, or stop */
    pthread_cond_t left; /* the last helper left some loop */
    struct loop *newest;
    bool stop, unstaffed;
    unsigned started, idle;
    pthread_t ids[]; /* threads - 1 */
};

#define THREADS_MAX 1024u

sl_status sl_pool_new(unsigned threads, sl_pool **out)
{
    if (threads < 1)
        threads = 1;
    if (threads > THREADS_MAX)
        threads = THREADS_MAX;
    sl_pool *pool = sl_calloc(1, sizeof *pool + threads * sizeof pool->ids[0]);
    if (!pool)
        return sl_nomem();
    pool->threads = threads;
    if (pthread_mutex_init(&pool->mutex, NULL) != 0)
        goto no_mutex;
    if (pthread_cond_init(&pool->wake, NULL) != 0)
        goto no_wake;
    if (pthread_cond_init(&pool->left, NULL) != 0)
        goto no_left;
    *out = pool;
    return SL_OK;
no_left:
    pthread_cond_destroy(&pool->wake);
no_wake:
    pthread_mutex_destroy(&pool->mutex);
no_mutex:
    sl_free(pool);
    return sl_nomem();
}

sl_status sl_pool_new_unstaffed(sl_pool **out)
{
    SL_TRY(sl_pool_new(2, out));
    (*out)->unstaffed = true;
    return SL_OK;
}

unsigned sl_pool_threads(const sl_pool *pool) { return pool ? pool->threads : 1; }

static void record_failure(sl_pool *pool, struct loop *loop, size_t index, sl_status failure)
{
    atomic_store(&loop->failed, true);
    pthread_mutex_lock(&pool->mutex);
    if (!loop->failure || index < loop->failure_index) {
        sl_status_free(loop->failure);
        loop->failure = failure;
        loop->failure_index = index;
    } else {
        sl_status_free(failure);
    }
    pthread_mutex_unlock(&pool->mutex);
}

static bool has_work(struct loop *loop)
{
    return atomic_load(&loop->next) < loop->count && !atomic_load(&loop->failed);
}

static void run_indexes(sl_pool *pool, struct loop *loop)
{
    while (has_work(loop)) {
        size_t index = atomic_fetch_add(&loop->next, 1);
        if (index >= loop->count)
            return;
        sl_status failure = loop->work(loop->context, index);
        if (failure)
            record_failure(pool, loop, index, failure);
    }
}

static struct loop *find_loop(sl_pool *pool)
{
    struct loop *loop = pool->newest;
    while (loop && !has_work(loop))
        loop = loop->older;
    return loop;
}

/* With the mutex held, which is given away while the loop runs. */
static void help_with(sl_pool *pool, struct loop *loop)
{
    loop->helpers++;
    pthread_mutex_unlock(&pool->mutex);
    run_indexes(pool, loop);
    pthread_mutex_lock(&pool->mutex);
    if (--loop->helpers == 0)
        pthread_cond_broadcast(&pool->left);
}

static void *thread_main(void *argument)
{
    sl_pool *pool = argument;
    pthread_mutex_lock(&pool->mutex);
    while (!pool->stop) {
        struct loop *loop = find_loop(pool);
        if (loop) {
            help_with(pool, loop);
            continue;
        }
        pool->idle++;
        pthread_cond_wait(&pool->wake, &pool->mutex);
        pool->idle--;
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

void sl_pool_help(sl_pool *pool, bool (*wanted)(void *context), void *context)
{
    pthread_mutex_lock(&pool->mutex);
    while (wanted(context)) {
        struct loop *loop = find_loop(pool);
        if (loop)
            help_with(pool, loop);
        else
            pthread_cond_wait(&pool->wake, &pool->mutex);
    }
    pthread_mutex_unlock(&pool->mutex);
}

void sl_pool_wake(sl_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
}

/*
 * Starts the threads that this loop can use and that idle ones do not make up for. With the mutex held. A
 * thread that the system refuses is no failure: the caller does the work alone.
 */
static void start_threads(sl_pool *pool, size_t count)
{
    if (pool->unstaffed)
        return;
    size_t useful = count - 1 > pool->idle ? count - 1 - pool->idle : 0;
    unsigned startable = pool->threads - 1 - pool->started;
    unsigned wanted = pool->started + (useful < startable ? (unsigned)useful : startable);
    while (pool->started < wanted) {
        if (pthread_create(&pool->ids[pool->started], NULL, thread_main, pool) != 0)
            return;
        pool->started++;
    }
}

static void unlink_loop(sl_pool *pool, struct loop *loop)
{
    struct loop **link = &pool->newest;
    while (*link != loop)
        link = &(*link)->older;
    *link = loop->older;
}

sl_status sl_pool_for(sl_pool *pool, size_t count, sl_status (*work)(void *context, size_t index),
                      void *context)
{
    if (sl_pool_threads(pool) == 1 || count <= 1) {
        for (size_t i = 0; i < count; i++)
            SL_TRY(work(context, i));
        return SL_OK;
    }
    struct loop loop = {.work = work, .context = context, .count = count};
    pthread_mutex_lock(&pool->mutex);
    loop.older = pool->newest;
    pool->newest = &loop;
    start_threads(pool, count);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);

    run_indexes(pool, &loop);

    pthread_mutex_lock(&pool->mutex);
    unlink_loop(pool, &loop);
    while (loop.helpers > 0)
        pthread_cond_wait(&pool->left, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
    return loop.failure;
}

/* ---- fewer workers than threads ------------------------------------------------------------------------- */

struct shared_loop {
    sl_status (*work)(void *context, size_t index);
    void *context;
    size_t count;
    atomic_size_t next;
};

static sl_status take_indexes(void *context, size_t worker)
{
    struct shared_loop *loop = context;
    (void)worker;
    sl_status status = SL_OK;
    for (size_t index; !status && (index = atomic_fetch_add(&loop->next, 1)) < loop->count;)
        status = loop->work(loop->context, index);
    if (status)
        atomic_store(&loop->next, loop->count); /* for the other workers, too */
    return status;
}

sl_status sl_pool_for_some(sl_pool *pool, size_t workers, size_t count,
                           sl_status (*work)(void *context, size_t index), void *context)
{
    struct shared_loop loop = {.work = work, .context = context, .count = count};
    return sl_pool_for(pool, workers < count ? workers : count, take_indexes, &loop);
}

void sl_pool_free(sl_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->mutex);
    pool->stop = true;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
    for (unsigned i = 0; i < pool->started; i++)
        pthread_join(pool->ids[i], NULL);
    pthread_cond_destroy(&pool->left);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->mutex);
    sl_free(pool);
}
