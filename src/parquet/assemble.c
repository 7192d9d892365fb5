/*
 * From levels and dense values to arrays, the second half of Dremel. Every node looks at the levels of its
 * first leaf:
 *
 *   slot       an entry with def >= slot_def and rep <= slot_rep is a place in the node's array
 *   not null   ... when def >= node->def
 *   element    of a list: an entry with def >= list_def and rep <= list_rep
 *
 * The leaves below a node must agree on its slots; a file in which they do not is corrupt.
 */
#include "parquet/read_int.h"

/* A bitmap of zeros. */
static sl_status new_bitmap(sl_parquet_memory *memory, int64_t bits, uint8_t **out)
{
    size_t bytes = bitmap_bytes(bits) + READ_PAD;
    uint8_t *bitmap = parquet_block_alloc(memory, bytes);
    if (!bitmap)
        return sl_nomem();
    memset(bitmap, 0, bytes);
    *out = bitmap;
    return SL_OK;
}

static sl_status take_bitmap(uint8_t *bitmap, int64_t bits, int64_t nulls, sl_buffer **out)
{
    if (nulls > 0)
        return parquet_buffer_take(bitmap, bitmap_bytes(bits), out);
    parquet_block_free(bitmap);
    *out = NULL;
    return SL_OK;
}

/* ---- leaves -------------------------------------------------------------------------------------------- */

static sl_status fixed_buffer(struct parquet_leaf_reader *r, size_t bytes, sl_buffer **out)
{
    SL_TRY(parquet_fixed_reserve(r->memory, &r->fixed, &r->fixed_cap, bytes,
                                 bytes)); /* there is a buffer even for no values */
    uint8_t *memory = r->fixed;
    r->fixed = NULL;
    r->fixed_cap = 0;
    return parquet_buffer_take(memory, bytes, out);
}

static sl_status string_buffers(struct parquet_strings *s, sl_buffer **offsets, sl_buffer **data)
{
    SL_TRY(parquet_strings_reserve(s, 0));
    SL_TRY(parquet_strings_reserve_data(s, 0));
    size_t offset_bytes = (s->count + 1) * sizeof *s->offsets, data_bytes = parquet_strings_bytes(s);
    int32_t *offset_memory = s->offsets;
    uint8_t *data_memory = s->data;
    *s = (struct parquet_strings){.memory = s->memory, .bytes_max = s->bytes_max};
    sl_status status = parquet_buffer_take(offset_memory, offset_bytes, offsets);
    if (status) {
        parquet_block_free(data_memory);
        return status;
    }
    status = parquet_buffer_take(data_memory, data_bytes, data);
    if (status) {
        sl_buffer_unref(*offsets);
        *offsets = NULL;
    }
    return status;
}

/* The chunk's dictionary as an array that batches share: it takes the texts over, which pages of plain texts go on to need. */
static sl_status dictionary_array(struct parquet_leaf_reader *r, sl_array **out)
{
    struct parquet_dictionary *d = &r->dictionary;
    if (!d->array) {
        struct parquet_strings texts = d->strings, given = texts;
        sl_buffer *offsets, *data;
        d->strings = (struct parquet_strings){0};
        sl_status status = string_buffers(&given, &offsets, &data);
        parquet_strings_free(&given);
        SL_TRY(status);
        SL_TRY(sl_array_new(r->leaf->type, d->count, 0, NULL, data, offsets, NULL, 0, NULL, &d->array));
        d->strings = texts;
        d->strings.offsets = (int32_t *)(void *)sl_buffer_data(offsets);
        d->strings.data = sl_buffer_data(data);
    }
    *out = sl_array_ref(d->array);
    return SL_OK;
}

static sl_status bool_buffer(struct parquet_leaf_reader *r, int64_t slots, sl_buffer **out)
{
    SL_TRY(sl_buffer_new(bitmap_bytes(slots), out));
    parquet_bytes_to_bits(r->fixed, (size_t)slots, sl_buffer_data(*out));
    return SL_OK;
}

/* Values and offsets of `slots` places; values are in place already. */
static sl_status value_buffers(struct parquet_leaf_reader *r, int64_t slots, sl_buffer **values,
                               sl_buffer **offsets, sl_array **dictionary)
{
    switch (r->leaf->output) {
    case PARQUET_OUT_NULL:
        return SL_OK;
    case PARQUET_OUT_BOOL:
        return bool_buffer(r, slots, values);
    case PARQUET_OUT_FIXED:
        return fixed_buffer(r, (size_t)slots * r->leaf->width, values);
    case PARQUET_OUT_BYTES:
        if (!r->as_indexes)
            return string_buffers(&r->strings, offsets, values);
        SL_TRY(dictionary_array(r, dictionary));
        return fixed_buffer(r, (size_t)slots * sizeof(uint32_t), values);
    }
    return sl_internal("output %d", (int)r->leaf->output);
}

static sl_status leaf_array(struct parquet_leaf_reader *r, int64_t slots, uint8_t *bitmap, int64_t nulls,
                            sl_array **out)
{
    sl_buffer *validity = NULL, *values = NULL, *offsets = NULL;
    sl_array *dictionary = NULL;
    sl_status status = SL_OK;
    SL_GO(value_buffers(r, slots, &values, &offsets, &dictionary));
    status = take_bitmap(bitmap, slots, nulls, &validity);
    bitmap = NULL;
    if (status)
        goto done;
    return sl_array_new(r->leaf->type, slots, nulls, validity, values, offsets, NULL, 0, dictionary, out);
done:
    parquet_block_free(bitmap);
    sl_buffer_unref(values);
    sl_buffer_unref(offsets);
    sl_array_unref(dictionary);
    return status;
}

static sl_status flat_array(struct parquet_leaf_reader *r, sl_array **out)
{
    uint8_t *bitmap = NULL;
    int64_t nulls = r->slots - r->used;
    if (nulls > 0) {
        bitmap = r->validity;
        r->validity = NULL;
        r->validity_cap = 0;
        if (r->slots & 7) /* bits behind the end are zero */
            bitmap[r->slots >> 3] = (uint8_t)(bitmap[r->slots >> 3] & ((1u << (r->slots & 7)) - 1));
    }
    return leaf_array(r, r->slots, bitmap, nulls, out);
}

/* Collects bits in a register. */
struct bit_sink {
    uint8_t *out;
    uint64_t word;
    unsigned count;
};

/* Adds `count` bits; those above in `bits` are zero. */
SL_INLINE void sink_bits(struct bit_sink *sink, uint64_t bits, unsigned count)
{
    sink->word |= bits << sink->count;
    if (sink->count + count < 64) {
        sink->count += count;
        return;
    }
    store_le64(sink->out, sink->word);
    sink->out += 8;
    sink->word = sink->count > 0 ? bits >> (64 - sink->count) : 0;
    sink->count = sink->count + count - 64;
}

SL_INLINE void sink_flush(struct bit_sink *sink) { store_le64(sink->out, sink->word); }

/* The bits of `x` at the places of the bits of `mask`, moved together (Hacker's Delight, "compress"): six steps of moves
 * by powers of two, whatever the mask, where a loop over levels would branch on what nobody can predict. */
static uint64_t compress_bits(uint64_t x, uint64_t mask)
{
    if (mask == UINT64_MAX)
        return x;
    x &= mask;
    uint64_t below = ~mask << 1;
    for (unsigned shift = 1; shift < 64; shift <<= 1) {
        uint64_t parity = below ^ below << 1;
        parity ^= parity << 2;
        parity ^= parity << 4;
        parity ^= parity << 8;
        parity ^= parity << 16;
        parity ^= parity << 32;
        uint64_t moving = parity & mask, part = x & moving;
        mask = (mask ^ moving) | moving >> shift;
        x = (x ^ part) | part >> shift;
        below &= ~parity;
    }
    return x;
}

static size_t count_at_least(const uint8_t *levels, size_t count, int least)
{
    size_t total = 0;
    for (size_t at = 0; at < count; at += 64)
        total += (size_t)sl_popcount64(parquet_levels_mask(levels + at, count - at, least));
    return total;
}

/* Slots of a leaf below lists and structs, and which of them have values; *out NULL when all do. */
static sl_status nested_bitmap(const struct parquet_leaf_reader *r, uint8_t **out, int64_t *slots)
{
    int slot_def = r->leaf->slot_def, max_def = r->leaf->max_def;
    *slots = (int64_t)count_at_least(r->levels_def, r->level_count, slot_def);
    if (*slots == r->used)
        return SL_OK;
    SL_TRY(new_bitmap(r->memory, (int64_t)r->level_count, out));
    struct bit_sink sink = {.out = *out};
    for (size_t at = 0; at < r->level_count; at += 64) {
        uint64_t slot = parquet_levels_mask(r->levels_def + at, r->level_count - at, slot_def);
        uint64_t value = parquet_levels_mask(r->levels_def + at, r->level_count - at, max_def);
        sink_bits(&sink, compress_bits(value, slot), (unsigned)sl_popcount64(slot));
    }
    sink_flush(&sink);
    return SL_OK;
}

static sl_status spread_leaf(struct parquet_leaf_reader *r, const uint8_t *bits, size_t slots)
{
    size_t used = (size_t)r->used, width = r->leaf->width;
    if (used == slots || r->leaf->output == PARQUET_OUT_NULL)
        return SL_OK;
    if (r->leaf->output == PARQUET_OUT_BYTES) {
        SL_TRY(parquet_strings_reserve(&r->strings, slots - used));
        parquet_spread_offsets(r->strings.offsets, bits, 0, slots, used);
        r->strings.count = slots;
        return SL_OK;
    }
    SL_TRY(parquet_fixed_reserve(r->memory, &r->fixed, &r->fixed_cap, used * width, slots * width));
    parquet_spread(r->fixed, width, bits, 0, slots, used);
    return SL_OK;
}

/* A required leaf under a null struct has a slot without a value: it gets a zero and no null, as its type
 * says. */
static sl_status nested_leaf(const struct parquet_node *node, struct parquet_leaf_reader *r, sl_array **out)
{
    uint8_t *bits = NULL;
    int64_t slots;
    SL_TRY(nested_bitmap(r, &bits, &slots));
    int64_t nulls = slots - r->used;
    sl_status status = spread_leaf(r, bits, (size_t)slots);
    if (!status && node->nullable)
        return leaf_array(r, slots, bits, nulls, out); /* takes bits */
    parquet_block_free(bits);
    return status ? status : leaf_array(r, slots, NULL, 0, out);
}

/* ---- groups -------------------------------------------------------------------------------------------- */

/* Slots of a struct, or lists with their offsets. *elements counts what a list's child must have. */
struct shape {
    int64_t slots, nulls, elements;
    uint8_t *validity;
    int32_t *offsets; /* lists only */
};

static void shape_free(struct shape *s)
{
    parquet_block_free(s->validity);
    parquet_block_free(s->offsets);
    *s = (struct shape){0};
}

/* Bit i: entry `at` + i is a place of the node, and one that is not null. */
struct entry_masks {
    uint64_t slot, there;
};

SL_INLINE struct entry_masks masks_at(const struct parquet_node *node, const struct parquet_leaf_reader *r,
                                      size_t at)
{
    size_t count = r->level_count - at;
    uint64_t slot = parquet_levels_mask(r->levels_def + at, count, node->slot_def);
    if (r->leaf->max_rep > node->slot_rep) /* else every repetition level is small enough */
        slot &= ~parquet_levels_mask(r->levels_rep + at, count, node->slot_rep + 1);
    return (struct entry_masks){slot, slot & parquet_levels_mask(r->levels_def + at, count, node->def)};
}

static sl_status shape_of_struct(const struct parquet_node *node, const struct parquet_leaf_reader *r,
                                 struct shape *s)
{
    SL_TRY(new_bitmap(r->memory, (int64_t)r->level_count, &s->validity));
    struct bit_sink sink = {.out = s->validity};
    int64_t n = 0, valid = 0;
    for (size_t at = 0; at < r->level_count; at += 64) {
        struct entry_masks m = masks_at(node, r, at);
        int slots = sl_popcount64(m.slot);
        sink_bits(&sink, compress_bits(m.there, m.slot), (unsigned)slots);
        n += slots;
        valid += sl_popcount64(m.there);
    }
    sink_flush(&sink);
    s->slots = n;
    s->nulls = n - valid;
    return SL_OK;
}

static sl_status shape_of_list(const struct parquet_node *node, const struct parquet_leaf_reader *r,
                               struct shape *s)
{
    if (r->level_count >= INT32_MAX)
        return sl_unsupported("over 2^31 list elements in one batch; ask for fewer rows a batch");
    SL_TRY(new_bitmap(r->memory, (int64_t)r->level_count, &s->validity));
    if (!(s->offsets = parquet_block_alloc(r->memory, (r->level_count + 1) * sizeof *s->offsets + READ_PAD)))
        return sl_nomem();
    struct bit_sink sink = {.out = s->validity};
    int32_t *offsets = s->offsets, elements = 0;
    int64_t n = 0, valid = 0;
    for (size_t at = 0; at < r->level_count; at += 64) {
        size_t count = r->level_count - at;
        struct entry_masks m = masks_at(node, r, at);
        uint64_t element = parquet_levels_mask(r->levels_def + at, count, node->list_def);
        if (r->leaf->max_rep > node->list_rep)
            element &= ~parquet_levels_mask(r->levels_rep + at, count, node->list_rep + 1);
        sink_bits(&sink, compress_bits(m.there, m.slot), (unsigned)sl_popcount64(m.slot));
        valid += sl_popcount64(m.there);
        uint64_t left = element;
        for (uint64_t slots = m.slot; slots;
             slots &= slots - 1) { /* a list begins behind the elements before it */
            uint64_t before = (slots & (0 - slots)) - 1;
            elements += sl_popcount64(left & before);
            left &= ~before;
            offsets[n++] = elements;
        }
        elements += sl_popcount64(left);
    }
    sink_flush(&sink);
    offsets[n] = elements;
    s->slots = n;
    s->nulls = n - valid;
    s->elements = elements;
    return SL_OK;
}

static sl_status assemble_node(const struct parquet_node *node, struct parquet_leaf_reader *const *readers,
                               int64_t slots, sl_array **out);

/* The children, each with `slots` places. */
static sl_status assemble_children(const struct parquet_node *node,
                                   struct parquet_leaf_reader *const *readers, int64_t slots,
                                   sl_array **children)
{
    for (size_t i = 0; i < node->child_count; i++) {
        const struct parquet_node *child = &node->children[i];
        SL_TRY(assemble_node(child, readers + (child->leaf_first - node->leaf_first), slots, &children[i]));
        if (children[i]->length != slots)
            return sl_corrupt("column %s has %" PRId64 " values where its neighbours have %" PRId64,
                              child->leaf_count ? readers[child->leaf_first - node->leaf_first]->leaf->path
                                                : "",
                              children[i]->length, slots);
        if (child->is_key && children[i]->null_count > 0)
            return sl_corrupt("map with a null key");
    }
    return SL_OK;
}

static sl_status assemble_group(const struct parquet_node *node, struct parquet_leaf_reader *const *readers,
                                sl_array **out)
{
    bool is_struct = node->type->id == SL_STRUCT;
    struct shape s = {0};
    sl_buffer *validity = NULL, *offsets = NULL;
    sl_status status = SL_OK;
    sl_array **children = sl_calloc(node->child_count, sizeof *children);
    if (!children)
        return sl_nomem();
    SL_GO(is_struct ? shape_of_struct(node, readers[0], &s) : shape_of_list(node, readers[0], &s));
    SL_GO(assemble_children(node, readers, is_struct ? s.slots : s.elements, children));
    if (!node->nullable) /* nulls of a group around show as nulls there */
        s.nulls = 0;
    uint8_t *bitmap = s.validity;
    s.validity = NULL;
    SL_GO(take_bitmap(bitmap, s.slots, s.nulls, &validity));
    if (!is_struct) {
        int32_t *memory = s.offsets;
        s.offsets = NULL;
        SL_GO(parquet_buffer_take(memory, (size_t)(s.slots + 1) * sizeof *memory, &offsets));
    }
    status = sl_array_new(node->type, s.slots, s.nulls, validity, NULL, offsets, children, node->child_count,
                          NULL, out);
    sl_free(children);
    shape_free(&s);
    return status;
done:
    for (size_t i = 0; i < node->child_count; i++)
        sl_array_unref(children[i]);
    sl_free(children);
    sl_buffer_unref(validity);
    sl_buffer_unref(offsets);
    shape_free(&s);
    return status;
}

/* `slots` is needed only where no leaf tells it. */
static sl_status assemble_node(const struct parquet_node *node, struct parquet_leaf_reader *const *readers,
                               int64_t slots, sl_array **out)
{
    if (node->leaf_count == 0)
        return sl_array_nulls(node->type, slots, out);
    if (node->child_count > 0)
        return assemble_group(node, readers, out);
    return readers[0]->leaf->flat ? flat_array(readers[0], out) : nested_leaf(node, readers[0], out);
}

sl_status parquet_assemble(const struct parquet_node *node, struct parquet_leaf_reader *const *readers,
                           int64_t rows, sl_array **out)
{
    sl_array *array = NULL;
    SL_TRY(assemble_node(node, readers, rows, &array));
    if (array->length != rows) {
        int64_t length = array->length;
        sl_array_unref(array);
        return sl_corrupt("column %s has %" PRId64 " rows where %" PRId64 " were read",
                          readers[0]->leaf->path, length, rows);
    }
    *out = array;
    return SL_OK;
}

/* ---- one value ----------------------------------------------------------------------------------------- */

static sl_status single_values(struct parquet_leaf_reader *r, const uint8_t *data, size_t len)
{
    const struct parquet_leaf *leaf = r->leaf;
    if (leaf->output == PARQUET_OUT_BYTES || leaf->conversion == PARQUET_BYTES_TO_DECIMAL) {
        struct parquet_strings *s = leaf->output == PARQUET_OUT_BYTES ? &r->strings : &r->scratch_strings;
        SL_TRY(parquet_strings_reserve(s, 1));
        SL_TRY(parquet_strings_reserve_data(s, len));
        if (len > 0)
            memcpy(s->data, data, len);
        s->offsets[1] = (int32_t)len;
        s->count = 1;
        if (leaf->output == PARQUET_OUT_BYTES)
            return SL_OK;
        SL_TRY(parquet_fixed_reserve(r->memory, &r->fixed, &r->fixed_cap, 0, leaf->width));
        return parquet_convert_strings(s, 1, r->fixed);
    }
    SL_TRY(parquet_fixed_reserve(r->memory, &r->fixed, &r->fixed_cap, 0, leaf->width));
    if (leaf->output == PARQUET_OUT_BOOL) {
        if (len != 1)
            return sl_corrupt("boolean of %zu bytes", len);
        r->fixed[0] = data[0] & 1;
        return SL_OK;
    }
    if (len != leaf->physical_width)
        return sl_corrupt("value of %zu bytes in a column of %zu", len, leaf->physical_width);
    return parquet_convert(leaf->conversion, data, leaf->physical_width, 1, r->fixed);
}

sl_status parquet_single_value(const struct parquet_leaf *leaf, const uint8_t *data, size_t len,
                               sl_array **out)
{
    struct parquet_leaf_reader *r;
    SL_NEW(r);
    r->leaf = leaf;
    sl_status status = single_values(r, data, len);
    if (!status)
        status = leaf_array(r, 1, NULL, 0, out);
    parquet_leaf_reader_free(r);
    sl_free(r);
    return status;
}
