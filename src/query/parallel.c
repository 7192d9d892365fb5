/*
 * Many streams read by a few threads into one bounded queue. The threads live as long as the stream; closing
 * it early wakes and joins them. With one thread there is neither thread nor queue.
 */
#include "query/query.h"
#include <pthread.h>

/* A batch or two of each thread ahead of the consumer: enough to keep the threads busy. The memory of more would not be in
 * the caches when it is used again. */
#define BATCHES_A_THREAD  2
#define QUEUE_BATCHES     64
#define QUEUE_SHARE       8 /* of the memory budget */
#define QUEUE_BYTES_LEAST ((size_t)1 << 20)

struct parallel {
    sl_stream base;
    struct sl_parallel_source source;
    const sl_runtime *runtime;
    unsigned threads, running;
    pthread_t *ids;
    unsigned started, numbered;
    pthread_mutex_t mutex;
    pthread_cond_t filled, drained;
    sl_batch *queue[QUEUE_BATCHES];
    size_t head, count, most;
    size_t bytes, bytes_max; /* of the batches in it; one larger than that stands alone */
    size_t next_source;
    bool stop;
    sl_status failure;
    sl_stream *current; /* single-threaded */
};

/* ---- one thread ---------------------------------------------------------------------------------------- */

static sl_status single_next(sl_stream *self, sl_batch **out)
{
    struct parallel *p = (struct parallel *)self;
    *out = NULL;
    for (;;) {
        SL_TRY(sl_check_cancel(p->runtime));
        if (!p->current) {
            if (p->next_source == p->source.count)
                return SL_OK;
            SL_TRY(p->source.open(p->source.context, p->next_source++, 0, &p->current));
        }
        SL_TRY(sl_stream_next(p->current, out));
        if (*out)
            return SL_OK;
        sl_stream_close(p->current);
        p->current = NULL;
    }
}

/* ---- several ------------------------------------------------------------------------------------------- */

static bool has_room(const struct parallel *p, size_t bytes)
{
    return p->count == 0 || (p->count < p->most && p->bytes + bytes <= p->bytes_max);
}

/* False when the consumer is gone or another thread failed; the batch is then dropped. */
static bool push(struct parallel *p, sl_batch *batch)
{
    size_t bytes = sl_batch_bytes(batch);
    pthread_mutex_lock(&p->mutex);
    while (!has_room(p, bytes) && !p->stop)
        pthread_cond_wait(&p->drained, &p->mutex);
    bool go_on = !p->stop;
    if (go_on) {
        p->queue[(p->head + p->count++) % QUEUE_BATCHES] = batch;
        p->bytes += bytes;
        pthread_cond_signal(&p->filled);
    }
    pthread_mutex_unlock(&p->mutex);
    if (!go_on)
        sl_batch_unref(batch);
    return go_on;
}

static sl_status read_source(struct parallel *p, size_t index, unsigned thread, bool *go_on)
{
    sl_stream *rows;
    SL_TRY(p->source.open(p->source.context, index, thread, &rows));
    sl_status status = SL_OK;
    while (*go_on) {
        sl_batch *batch;
        status = sl_check_cancel(p->runtime);
        if (!status)
            status = sl_stream_next(rows, &batch);
        if (status || !batch)
            break;
        *go_on = push(p, batch);
    }
    sl_stream_close(rows);
    return status;
}

static void *worker(void *argument)
{
    struct parallel *p = argument;
    bool go_on = true;
    pthread_mutex_lock(&p->mutex);
    unsigned thread = p->numbered++;
    pthread_mutex_unlock(&p->mutex);
    while (go_on) {
        pthread_mutex_lock(&p->mutex);
        bool work = p->next_source < p->source.count && !p->stop;
        size_t index = work ? p->next_source++ : 0;
        pthread_mutex_unlock(&p->mutex);
        if (!work)
            break;
        sl_status status = read_source(p, index, thread, &go_on);
        if (!status)
            continue;
        go_on = false;
        pthread_mutex_lock(&p->mutex);
        if (p->failure)
            sl_status_free(status); /* the first failure is the one that is told */
        else
            p->failure = status;
        p->stop = true;
        pthread_cond_broadcast(&p->drained);
        pthread_mutex_unlock(&p->mutex);
    }
    pthread_mutex_lock(&p->mutex);
    p->running--;
    pthread_cond_broadcast(&p->filled);
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

static sl_status start_threads(struct parallel *p)
{
    SL_NEW_ARRAY(p->ids, p->threads);
    p->running = p->threads;
    for (unsigned i = 0; i < p->threads; i++) {
        if (pthread_create(&p->ids[i], NULL, worker, p) == 0) {
            p->started++;
            continue;
        }
        pthread_mutex_lock(&p->mutex);
        p->running -= p->threads - i;
        pthread_mutex_unlock(&p->mutex);
        return i ? SL_OK : sl_errorf(SL_E_MEMORY, "no thread could be started");
    }
    return SL_OK;
}

static sl_status queue_next(sl_stream *self, sl_batch **out)
{
    struct parallel *p = (struct parallel *)self;
    *out = NULL;
    if (!p->ids)
        SL_TRY(start_threads(p));
    pthread_mutex_lock(&p->mutex);
    while (p->count == 0 && p->running && !p->failure)
        pthread_cond_wait(&p->filled, &p->mutex);
    sl_status status = p->failure;
    p->failure = SL_OK;
    if (!status && p->count) {
        *out = p->queue[p->head];
        p->head = (p->head + 1) % QUEUE_BATCHES;
        p->count--;
        p->bytes -= sl_batch_bytes(*out);
        pthread_cond_broadcast(&p->drained); /* room for one batch is not room for another */
    }
    pthread_mutex_unlock(&p->mutex);
    return status;
}

static void parallel_close(sl_stream *self)
{
    struct parallel *p = (struct parallel *)self;
    pthread_mutex_lock(&p->mutex);
    p->stop = true;
    pthread_cond_broadcast(&p->drained);
    pthread_mutex_unlock(&p->mutex);
    for (unsigned i = 0; i < p->started; i++)
        pthread_join(p->ids[i], NULL);
    while (p->count) {
        sl_batch_unref(p->queue[p->head]);
        p->head = (p->head + 1) % QUEUE_BATCHES;
        p->count--;
    }
    sl_status_free(p->failure);
    sl_stream_close(p->current);
    if (p->source.free_context)
        p->source.free_context(p->source.context);
    sl_type_unref(p->base.schema);
    pthread_mutex_destroy(&p->mutex);
    pthread_cond_destroy(&p->filled);
    pthread_cond_destroy(&p->drained);
    sl_free(p->ids);
    sl_free(p);
}

sl_status sl_parallel_stream(const struct sl_parallel_source *source, unsigned threads,
                             const sl_runtime *runtime, sl_stream **out)
{
    struct parallel *p = sl_calloc(1, sizeof *p);
    if (!p) {
        if (source->free_context)
            source->free_context(source->context);
        return sl_nomem();
    }
    p->source = *source;
    p->runtime = runtime;
    p->bytes_max = sl_budget_share(runtime->budget, QUEUE_SHARE, QUEUE_BYTES_LEAST, SIZE_MAX);
    p->threads = threads < source->count ? threads : (unsigned)source->count;
    p->most = p->threads < QUEUE_BATCHES / BATCHES_A_THREAD ? BATCHES_A_THREAD * p->threads : QUEUE_BATCHES;
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->filled, NULL);
    pthread_cond_init(&p->drained, NULL);
    p->base =
        (sl_stream){sl_type_ref(source->schema), p->threads > 1 ? queue_next : single_next, parallel_close};
    *out = &p->base;
    return SL_OK;
}
