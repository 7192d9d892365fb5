/* How the command's process keeps its memory. A library must not decide this, a command may. */
#undef _POSIX_C_SOURCE
#define _GNU_SOURCE /* madvise */
#include "cli.h"
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __GLIBC__

#define KEPT_BYTES (256 << 20) /* given back memory is kept up to this */
#define HEAP_BYTES (64 << 20)  /* in large pages; the system must look for them, so that more do not pay */

/* Batches come and go by the megabyte: memory that was just given back is wanted again at once, and asking the system
 * each time costs a fifth of an upsert. One arena, so that all threads share what was given back. */
static void reuse_memory(void)
{
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
}

/* The first allocation reserves address space for those to come (no memory before it is touched), and asks for large
 * pages there: an upsert meets 600 page faults instead of 12,000, a sixth of its time. */
static void use_large_pages(void)
{
    mallopt(M_TOP_PAD, HEAP_BYTES);
    void *first = malloc(1 << 20);
    mallopt(M_TOP_PAD, 8 << 20);
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = ((uintptr_t)first + page - 1) / page * page, to = (uintptr_t)sbrk(0) / page * page;
    if (first && from < to && to - from <= KEPT_BYTES)
        (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
    free(first);
}

void memory_prepare(void)
{
    reuse_memory();
    use_large_pages();
}

#else

void memory_prepare(void) {}

#endif
