/* How the command's process keeps its memory. A library must not decide this, a command may. */
#undef _POSIX_C_SOURCE
#define _GNU_SOURCE /* madvise */
#include "cli.h"
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __GLIBC__

#define KEPT_BYTES  (256 << 20) /* given back memory is kept up to this */
#define HEAP_BYTES  (64 << 20)  /* in large pages; the system must look for them, so that more do not pay */
#define PIECE_BYTES (32 << 20)  /* larger pieces are the system's */
#define TOP_BYTES   (8 << 20)
#define PIECE_LEAST (128 << 10)

/* A part of the budget, where there is one. */
static int part(uint64_t budget, unsigned divisor, int least, int most)
{
    uint64_t bytes = budget / divisor;
    return budget == 0 || bytes > (uint64_t)most ? most : bytes < (uint64_t)least ? least : (int)bytes;
}

/* Batches come and go by the megabyte: memory that was just given back is wanted again at once, and asking the system
 * each time costs a fifth of an upsert. One arena, so that all threads share what was given back. Where the budget is
 * small, holes between what is in use count: larger pieces go back to the system. */
static void reuse_memory(uint64_t budget)
{
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, part(budget, 256, PIECE_LEAST, PIECE_BYTES));
    mallopt(M_TRIM_THRESHOLD, part(budget, 16, PIECE_LEAST, KEPT_BYTES));
}

/* The first allocation reserves address space for those to come (no memory before it is touched), and asks for large
 * pages there: an upsert meets 600 page faults instead of 12,000, a sixth of its time. */
static void use_large_pages(uint64_t budget)
{
    mallopt(M_TOP_PAD, part(budget, 4, PIECE_LEAST, HEAP_BYTES));
    void *first = malloc(64 << 10);
    mallopt(M_TOP_PAD, part(budget, 64, PIECE_LEAST, TOP_BYTES));
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = ((uintptr_t)first + page - 1) / page * page, to = (uintptr_t)sbrk(0) / page * page;
    if (first && from < to && to - from <= KEPT_BYTES)
        (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
    free(first);
}

void memory_prepare(uint64_t budget)
{
    reuse_memory(budget);
    use_large_pages(budget);
}

#else

void memory_prepare(uint64_t budget) { (void)budget; }

#endif
