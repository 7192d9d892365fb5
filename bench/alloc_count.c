/*
 * Counts a process's allocations (glibc):
 *
 *     LD_PRELOAD=build/release/bench/alloc_count.so ALLOC_COUNT=FILE sluice upsert ...
 *
 * FILE gets the number when the process ends. bench/compare.py runs the same operation on more rows and looks at the
 * difference: an allocation a row would show.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* What malloc & co. call themselves inside glibc. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static atomic_ullong allocations;
static atomic_flag registered = ATOMIC_FLAG_INIT;

static void report(void)
{
    const char *path = getenv("ALLOC_COUNT");
    unsigned long long count = atomic_load(&allocations);
    FILE *f = path ? fopen(path, "w") : NULL;
    if (f) {
        fprintf(f, "%llu\n", count);
        fclose(f);
    }
}

static void count_one(void)
{
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    if (!atomic_flag_test_and_set(&registered))
        atexit(report); /* may allocate: the flag is set by then */
}

void *malloc(size_t size)
{
    count_one();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    count_one();
    return __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
    count_one();
    return __libc_realloc(p, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    count_one();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    count_one();
    void *p = __libc_memalign(alignment, size);
    if (!p)
        return ENOMEM;
    *out = p;
    return 0;
}
