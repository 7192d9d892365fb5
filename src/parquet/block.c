/*
 * Memory of array buffers and pages, used again. A scan makes and drops the same buffers batch after batch, and the scans of a
 * table's files one after the other; asking the system for them each time costs a page fault for every 4 KiB, which is more
 * than the decoding. A block that is freed therefore goes back to the memory it came from, and the next one who needs its like
 * finds it there, still in the caches. Batches may outlive the scans: the memory lives until its last block is freed.
 */
#include "parquet/read_int.h"
#include <sched.h>

#define BLOCK_HEADER 64             /* keeps the data aligned */
#define BLOCK_MIN    ((size_t)4096) /* below, the allocator is good enough */
#define CLASSES      256            /* four for each power of two */
#define IDLE_MAX     32             /* decompressors: threads at work at once, more or less */

struct block {
    sl_parquet_memory *home; /* NULL: nobody wants it back */
    size_t size;
    struct block *next;
    unsigned class;
};
_Static_assert(sizeof(struct block) <= BLOCK_HEADER, "the header fits in front of the data");

struct sl_parquet_memory {
    atomic_flag lock;      /* held for a few instructions only */
    size_t users;          /* scans and who else holds a reference */
    size_t live;           /* blocks in use, and one while there are users */
    size_t kept, kept_max; /* bytes of free blocks */
    struct block *free[CLASSES];
    struct parquet_decompressor idle[IDLE_MAX];
    size_t idle_count;
};

sl_status sl_parquet_memory_new(size_t kept_bytes, sl_parquet_memory **out)
{
    sl_parquet_memory *r;
    SL_NEW(r);
    atomic_flag_clear(&r->lock);
    r->users = r->live = 1;
    r->kept_max = kept_bytes;
    *out = r;
    return SL_OK;
}

static void lock(sl_parquet_memory *r)
{
    while (atomic_flag_test_and_set_explicit(&r->lock, memory_order_acquire))
        sched_yield(); /* whoever holds it may have been put to sleep */
}

static void unlock(sl_parquet_memory *r) { atomic_flag_clear_explicit(&r->lock, memory_order_release); }

static void free_kept(sl_parquet_memory *r)
{
    for (size_t i = 0; i < CLASSES; i++)
        while (r->free[i]) {
            struct block *block = r->free[i];
            r->free[i] = block->next;
            sl_free(block);
        }
}

sl_parquet_memory *sl_parquet_memory_ref(sl_parquet_memory *r)
{
    lock(r);
    r->users++;
    unlock(r);
    return r;
}

void sl_parquet_memory_unref(sl_parquet_memory *r)
{
    if (!r)
        return;
    lock(r);
    bool used = --r->users > 0; /* without users nothing is kept */
    unlock(r);
    if (used)
        return;
    free_kept(r);
    for (size_t i = 0; i < r->idle_count; i++) /* none is borrowed any more */
        parquet_decompressor_free(&r->idle[i]);
    r->idle_count = 0;
    lock(r);
    bool last = --r->live == 0;
    unlock(r);
    if (last)
        sl_free(r);
}

/* Rounds up to a quarter of the power of two below. */
static size_t class_of(size_t size, unsigned *class)
{
    unsigned bits = 63 - (unsigned)sl_clz64(size);
    size_t quarter = (size_t)1 << (bits - 2), rounded = (size + quarter - 1) & ~(quarter - 1);
    *class = (bits * 4 + (unsigned)(rounded >> (bits - 2))) & (CLASSES - 1);
    return rounded;
}

static struct block *reuse(sl_parquet_memory *r, unsigned class, size_t size)
{
    lock(r);
    struct block *block = r->free[class];
    if (block && block->size == size) {
        r->free[class] = block->next;
        r->kept -= size;
        r->live++;
    } else {
        block = NULL;
    }
    unlock(r);
    return block;
}

void *parquet_block_alloc(sl_parquet_memory *r, size_t size)
{
    struct block *block = NULL;
    unsigned class = 0;
    if (size > SIZE_MAX / 4)
        return NULL;
    if (size < BLOCK_MIN)
        r = NULL;
    if (r) {
        size = class_of(size, &class);
        block = reuse(r, class, size);
    }
    if (!block) {
        if (!(block = sl_aligned(BLOCK_HEADER + size)))
            return NULL;
        *block = (struct block){.home = r, .size = size, .class = class};
        if (r) {
            lock(r);
            r->live++;
            unlock(r);
        }
    }
    return (uint8_t *)block + BLOCK_HEADER;
}

void parquet_block_free(void *data)
{
    if (!data)
        return;
    struct block *block = (struct block *)(void *)((uint8_t *)data - BLOCK_HEADER);
    sl_parquet_memory *r = block->home;
    if (!r) {
        sl_free(block);
        return;
    }
    lock(r);
    bool keep = r->users > 0 && r->kept + block->size <= r->kept_max, last = --r->live == 0;
    if (keep) {
        block->next = r->free[block->class];
        r->free[block->class] = block;
        r->kept += block->size;
    }
    unlock(r);
    if (!keep)
        sl_free(block);
    if (last)
        sl_free(r);
}

/* ---- decompressors ------------------------------------------------------------------------------------- */

void parquet_decompressor_borrow(sl_parquet_memory *r, struct parquet_decompressor *d)
{
    if (!r)
        return;
    lock(r);
    if (r->idle_count > 0)
        *d = r->idle[--r->idle_count];
    unlock(r);
}

void parquet_decompressor_return(sl_parquet_memory *r, struct parquet_decompressor *d)
{
    if (!r)
        return;
    lock(r);
    bool keep = r->idle_count < IDLE_MAX;
    if (keep)
        r->idle[r->idle_count++] = *d;
    unlock(r);
    if (!keep)
        parquet_decompressor_free(d);
    *d = (struct parquet_decompressor){0};
}
