/*
 * Arena: a list of blocks, the newest first; an allocation moves a mark inside the newest one. Blocks double
 * in size up to a bound, so that a small operation stays small and a large one makes few calls.
 */
#include "base/base.h"

#define FIRST_BLOCK_BYTES ((size_t)4096)
#define BLOCK_BYTES_MAX   ((size_t)1 << 20)
#define ALIGNMENT         ((size_t)16)

struct block {
    struct block *older;
    size_t cap, used; /* of the bytes behind this header */
    size_t padding;
};
_Static_assert(sizeof(struct block) % 16 == 0, "the bytes behind the header must stay aligned");

struct sl_arena {
    struct block *newest;
    size_t bytes; /* of all blocks, headers not counted */
};

sl_status sl_arena_new(sl_arena **out)
{
    sl_arena *arena;
    SL_NEW(arena);
    *out = arena;
    return SL_OK;
}

static bool add_block(sl_arena *arena, size_t need)
{
    size_t cap = arena->newest ? arena->newest->cap * 2 : FIRST_BLOCK_BYTES;
    if (cap > BLOCK_BYTES_MAX || cap < FIRST_BLOCK_BYTES)
        cap = BLOCK_BYTES_MAX;
    if (cap < need)
        cap = need;
    size_t total;
    struct block *block = sl_add_overflows(cap, sizeof *block, &total) ? NULL : sl_malloc(total);
    if (!block)
        return false;
    block->older = arena->newest;
    block->cap = cap;
    block->used = 0;
    arena->newest = block;
    arena->bytes += cap;
    return true;
}

void *sl_arena_alloc(sl_arena *arena, size_t size)
{
    size_t rounded;
    if (sl_add_overflows(size, ALIGNMENT - 1, &rounded))
        return NULL;
    rounded &= ~(ALIGNMENT - 1);
    struct block *block = arena->newest;
    if (!block || rounded > block->cap - block->used) {
        if (!add_block(arena, rounded))
            return NULL;
        block = arena->newest;
    }
    uint8_t *p = (uint8_t *)(block + 1) + block->used;
    block->used += rounded;
    return p;
}

char *sl_arena_strndup(sl_arena *arena, const char *s, size_t len)
{
    size_t bytes;
    char *copy = sl_add_overflows(len, 1, &bytes) ? NULL : sl_arena_alloc(arena, bytes);
    if (copy) {
        if (len > 0)
            memcpy(copy, s, len);
        copy[len] = 0;
    }
    return copy;
}

void sl_arena_reset(sl_arena *arena)
{
    struct block *block = arena->newest;
    if (!block)
        return;
    while (block->older) {
        struct block *older = block->older;
        arena->bytes -= block->cap;
        sl_free(block);
        block = older;
    }
    block->used = 0;
    arena->newest = block;
}

size_t sl_arena_bytes(const sl_arena *arena) { return arena->bytes; }

void sl_arena_free(sl_arena *arena)
{
    if (!arena)
        return;
    sl_arena_reset(arena);
    sl_free(arena->newest);
    sl_free(arena);
}
