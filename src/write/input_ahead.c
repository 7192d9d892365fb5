/*
 * Reads a stream ahead: a thread makes the next batch while its consumer works on the one before. One batch waits at
 * most. A consumer that has to wait helps with the loops in which the batch is made: of a small file the first batch is
 * most of the work, since pages are decompressed whole. Only for streams that never wait for anybody (files): closing
 * waits for the batch in the making.
 */
#include "write/input_int.h"

#include <pthread.h>

struct ahead_stream {
    sl_stream stream; /* first */
    sl_stream *rows;
    sl_pool *helped; /* its loops are those of `rows` */
    pthread_t thread;
    bool started, alone;   /* alone: the system gives no thread, so the consumer reads */
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    bool stop;
    atomic_bool full; /* also looked at without it */
    sl_batch *batch;  /* NULL: the end, or `failure` */
    sl_status failure;
};

/* Gives the consumer what was read; false: it wants no more. */
static bool hand_over(struct ahead_stream *s, sl_batch *batch, sl_status failure)
{
    pthread_mutex_lock(&s->mutex);
    while (s->full && !s->stop)
        pthread_cond_wait(&s->changed, &s->mutex);
    bool taken = !s->stop;
    if (taken) {
        s->full = true;
        s->batch = batch;
        s->failure = failure;
    }
    pthread_mutex_unlock(&s->mutex);
    if (taken)
        sl_pool_wake(s->helped);
    return taken;
}

static void *read_ahead(void *argument)
{
    struct ahead_stream *s = argument;
    for (bool more = true; more;) {
        sl_batch *batch = NULL;
        sl_status failure = sl_stream_next(s->rows, &batch);
        more = batch != NULL;
        if (!hand_over(s, batch, failure)) {
            sl_batch_unref(batch);
            sl_status_free(failure);
            more = false;
        }
    }
    return NULL;
}

static void start(struct ahead_stream *s)
{
    s->started = pthread_create(&s->thread, NULL, read_ahead, s) == 0;
    s->alone = !s->started;
}

static bool nothing_is_there(void *context)
{
    struct ahead_stream *s = context;
    return !atomic_load(&s->full);
}

static sl_status ahead_next(sl_stream *self, sl_batch **out)
{
    struct ahead_stream *s = (struct ahead_stream *)self;
    if (!s->started && !s->alone)
        start(s);
    if (s->alone)
        return sl_stream_next(s->rows, out);
    sl_pool_help(s->helped, nothing_is_there, s);
    pthread_mutex_lock(&s->mutex);
    sl_status failure = s->failure;
    *out = s->batch;
    s->failure = SL_OK;
    s->batch = NULL;
    s->full = *out == NULL; /* nothing follows the end: it may be asked for again */
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->mutex);
    return failure;
}

static void ahead_close(sl_stream *self)
{
    struct ahead_stream *s = (struct ahead_stream *)self;
    if (s->started) {
        pthread_mutex_lock(&s->mutex);
        s->stop = true;
        pthread_cond_signal(&s->changed);
        pthread_mutex_unlock(&s->mutex);
        pthread_join(s->thread, NULL);
    }
    sl_batch_unref(s->batch);
    sl_status_free(s->failure);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->mutex);
    sl_stream_close(s->rows);
    sl_pool_free(s->helped);
    sl_free(s);
}

sl_status input_read_ahead(sl_stream *rows, sl_pool *helped, sl_stream **out)
{
    struct ahead_stream *s = sl_calloc(1, sizeof *s);
    if (!s) {
        sl_stream_close(rows);
        sl_pool_free(helped);
        return sl_nomem();
    }
    s->stream = (sl_stream){.schema = rows->schema, .next = ahead_next, .close = ahead_close};
    s->rows = rows;
    s->helped = helped;
    s->alone = sl_cpu_count() == 1;
    if (pthread_mutex_init(&s->mutex, NULL) != 0)
        goto no_mutex;
    if (pthread_cond_init(&s->changed, NULL) != 0)
        goto no_changed;
    *out = &s->stream;
    return SL_OK;
no_changed:
    pthread_mutex_destroy(&s->mutex);
no_mutex:
    sl_stream_close(rows);
    sl_pool_free(helped);
    sl_free(s);
    return sl_nomem();
}
