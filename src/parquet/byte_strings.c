/* Byte strings back to back: the growing form of a string array. */
#include "parquet/read_int.h"

static void *grow(sl_parquet_memory *memory, void *old, size_t used, size_t size)
{
    void *bigger = parquet_block_alloc(memory, size + READ_PAD);
    if (bigger && used > 0)
        memcpy(bigger, old, used);
    if (bigger)
        parquet_block_free(old);
    return bigger;
}

sl_status parquet_fixed_reserve(sl_parquet_memory *memory, uint8_t **data, size_t *cap, size_t used,
                                size_t bytes)
{
    if (*data && bytes <= *cap)
        return SL_OK;
    size_t want = *data && bytes < *cap * 2 ? *cap * 2 : bytes;
    uint8_t *bigger = grow(memory, *data, used, want);
    if (!bigger)
        return sl_nomem();
    *data = bigger;
    *cap = want;
    return SL_OK;
}

sl_status parquet_block_fit(sl_parquet_memory *memory, uint8_t **data, size_t *cap, size_t bytes)
{
    if (*data && bytes <= *cap)
        return SL_OK;
    parquet_block_free(*data);
    *cap = 0;
    *data = parquet_block_alloc(memory, bytes + READ_PAD);
    if (!*data)
        return sl_nomem();
    *cap = bytes;
    return SL_OK;
}

sl_status parquet_strings_reserve(struct parquet_strings *s, size_t count)
{
    size_t need = s->count + count + 1;
    if (need > s->offsets_cap) {
        size_t cap = s->offsets_cap * 2 > need ? s->offsets_cap * 2 : need;
        int32_t *offsets = grow(s->memory, s->offsets, s->count ? (s->count + 1) * sizeof *offsets : 0,
                                cap * sizeof *offsets);
        if (!offsets)
            return sl_nomem();
        s->offsets = offsets;
        s->offsets_cap = cap;
    }
    if (s->count == 0)
        s->offsets[0] = 0;
    return SL_OK;
}

sl_status parquet_strings_reserve_data(struct parquet_strings *s, size_t bytes)
{
    size_t used = parquet_strings_bytes(s);
    size_t most = s->bytes_max ? s->bytes_max : (size_t)INT32_MAX;
    if (used > most || bytes > most - used) {
        s->full = true;
        return sl_unsupported("strings of over %zu bytes in one batch", most);
    }
    return parquet_fixed_reserve(s->memory, &s->data, &s->data_cap, used, used + bytes);
}

void parquet_strings_clear(struct parquet_strings *s) { s->count = 0; }

void parquet_strings_free(struct parquet_strings *s)
{
    parquet_block_free(s->offsets);
    parquet_block_free(s->data);
    *s = (struct parquet_strings){.memory = s->memory, .bytes_max = s->bytes_max};
}

sl_status parquet_buffer_take(void *memory, size_t size, sl_buffer **out)
{
    sl_status status = sl_buffer_of(memory, size, parquet_block_free, memory, out);
    if (status)
        parquet_block_free(memory);
    return status;
}
