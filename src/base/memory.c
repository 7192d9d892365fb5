/* Allocation: libc's, with a switch that lets a test make the n-th one fail. */
#include "base/base.h"
#include <stdio.h>

#define ALIGNED_BYTES 64

/* The test switch. `countdown` is how many allocations may still succeed, plus one; 0: switched off. */
static atomic_bool failing_armed;
static _Atomic uint64_t countdown;
static atomic_bool failing_sticky;

void sl_test_fail_allocation(uint64_t nth, bool sticky)
{
    atomic_store(&failing_armed, false);
    atomic_store(&countdown, nth);
    atomic_store(&failing_sticky, sticky);
    atomic_store(&failing_armed, nth != 0);
}

static bool counted_failure(void)
{
    uint64_t left = atomic_load(&countdown);
    while (left > 1) {
        if (atomic_compare_exchange_weak(&countdown, &left, left - 1))
            return false;
    }
    if (atomic_load(&failing_sticky))
        return true;
    /* Only one thread may see the failure that does not stick. */
    bool armed = true;
    return atomic_compare_exchange_strong(&failing_armed, &armed, false);
}

static inline bool must_fail(void)
{
    return SL_UNLIKELY(atomic_load_explicit(&failing_armed, memory_order_relaxed)) && counted_failure();
}

void *sl_malloc(size_t size) { return must_fail() ? NULL : malloc(size ? size : 1); }

void *sl_calloc(size_t count, size_t size)
{
    size_t bytes; /* checked here too: under sanitizers calloc ends the process instead of returning NULL */
    if (must_fail() || sl_mul_overflows(count, size, &bytes))
        return NULL;
    return bytes ? calloc(count, size) : calloc(1, 1);
}

void *sl_realloc(void *p, size_t size) { return must_fail() ? NULL : realloc(p, size ? size : 1); }

void *sl_realloc_array(void *p, size_t count, size_t size)
{
    size_t bytes;
    return sl_mul_overflows(count, size, &bytes) ? NULL : sl_realloc(p, bytes);
}

void *sl_aligned(size_t size)
{
    void *p = NULL;
    if (must_fail() || posix_memalign(&p, ALIGNED_BYTES, size ? size : 1) != 0)
        return NULL;
    return p;
}

void sl_free(void *p) { free(p); }

char *sl_strndup(const char *s, size_t len)
{
    const char *end = memchr(s, 0, len);
    size_t n = end ? (size_t)(end - s) : len;
    size_t bytes;
    char *copy = sl_add_overflows(n, 1, &bytes) ? NULL : sl_malloc(bytes);
    if (copy) {
        memcpy(copy, s, n);
        copy[n] = 0;
    }
    return copy;
}

char *sl_strdup(const char *s)
{
    size_t bytes = strlen(s) + 1;
    char *copy = sl_malloc(bytes);
    if (copy)
        memcpy(copy, s, bytes);
    return copy;
}

sl_status sl_asprintf(char **out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len < 0)
        return sl_internal("the format \"%s\" could not be printed", format);
    char *text = sl_malloc((size_t)len + 1);
    if (!text)
        return sl_nomem();
    va_start(args, format);
    vsnprintf(text, (size_t)len + 1, format, args);
    va_end(args);
    *out = text;
    return SL_OK;
}
