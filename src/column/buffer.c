/* Reference-counted memory, and the growing kind that builders fill. */
#include "column/column_int.h"

enum { BUFFER_ALIGNMENT = 64 };
_Static_assert(sizeof(struct sl_buffer) <= BUFFER_ALIGNMENT,
               "the data starts one alignment behind the header");

/* Header and data are one allocation. Capacity is rounded up so that whole words may be written at the end.
 */
sl_status sl_buffer_new(size_t size, sl_buffer **out)
{
    size_t capacity, total;
    if (sl_add_overflows(size, BUFFER_ALIGNMENT - 1, &capacity))
        return sl_nomem();
    capacity &= ~(size_t)(BUFFER_ALIGNMENT - 1);
    if (sl_add_overflows(capacity, BUFFER_ALIGNMENT, &total))
        return sl_nomem();
    uint8_t *memory = sl_aligned(total);
    if (!memory)
        return sl_nomem();
    sl_buffer *buffer = (sl_buffer *)(void *)memory;
    atomic_init(&buffer->refs, 1);
    buffer->data = memory + BUFFER_ALIGNMENT;
    buffer->size = size;
    buffer->capacity = capacity;
    buffer->release = NULL;
    buffer->context = NULL;
    *out = buffer;
    return SL_OK;
}

sl_status sl_buffer_of(void *data, size_t size, void (*release)(void *context), void *context,
                       sl_buffer **out)
{
    sl_buffer *buffer;
    SL_NEW(buffer);
    atomic_init(&buffer->refs, 1);
    buffer->data = data;
    buffer->size = size;
    buffer->capacity = size;
    buffer->release = release;
    buffer->context = context;
    *out = buffer;
    return SL_OK;
}

uint8_t *sl_buffer_data(const sl_buffer *buffer) { return buffer->data; }

size_t sl_buffer_size(const sl_buffer *buffer) { return buffer->size; }

sl_buffer *sl_buffer_ref(sl_buffer *buffer)
{
    if (buffer)
        atomic_fetch_add_explicit(&buffer->refs, 1, memory_order_relaxed);
    return buffer;
}

void sl_buffer_unref(sl_buffer *buffer)
{
    if (!buffer || atomic_fetch_sub_explicit(&buffer->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (buffer->release)
        buffer->release(buffer->context);
    sl_free(buffer);
}

/* Whether the buffer that was handed over last is nobody else's any more, and of the right size. */
static bool take_back(struct growing *g, size_t need)
{
    sl_buffer *given = g->given;
    g->given = NULL;
    if (!given)
        return false;
    if (atomic_load_explicit(&given->refs, memory_order_acquire) != 1 || given->capacity < need ||
        given->capacity / 2 > g->expected) {
        sl_buffer_unref(given);
        return false;
    }
    g->buffer = given;
    g->data = given->data;
    g->capacity = given->capacity;
    return true;
}

sl_status growing_expand(struct growing *g, size_t more)
{
    size_t need;
    if (sl_add_overflows(g->size, more, &need) || need > SIZE_MAX / 4)
        return sl_nomem();
    if (!g->buffer && take_back(g, need))
        return SL_OK;
    size_t capacity = g->buffer ? g->capacity * 2 : g->expected;
    if (capacity < need)
        capacity = need;
    sl_buffer *bigger;
    SL_TRY(sl_buffer_new(capacity, &bigger));
    if (g->size > 0)
        memcpy(bigger->data, g->data, g->size);
    sl_buffer_unref(g->buffer);
    g->buffer = bigger;
    g->data = bigger->data;
    g->capacity = bigger->capacity;
    return SL_OK;
}

/* The next array is about as large; a little more, since growing by a few bytes means to copy it all. */
enum { TAKE_MORE = 128 };

sl_status growing_take(struct growing *g, sl_buffer **out)
{
    if (!g->buffer)
        SL_TRY(growing_expand(g, 0));
    g->buffer->size = g->size;
    *out = g->buffer;
    *g = (struct growing){.expected = g->size + g->size / 8 + TAKE_MORE,
                          .reuses = g->reuses,
                          .given = g->reuses ? sl_buffer_ref(g->buffer) : NULL};
    return SL_OK;
}

void growing_free(struct growing *g)
{
    sl_buffer_unref(g->buffer);
    sl_buffer_unref(g->given);
    *g = (struct growing){0};
}
