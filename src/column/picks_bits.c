/*
 * Bits of many arrays in turn (sl_builder_append_picks): validity and booleans. Bits of a few rows are shifted into a word,
 * without a look at each of them.
 */
#include "column/column_int.h"

enum {
    STEP_BITS = 8,  /* taken at once */
    LONG_PICK = 64, /* from here on copied word by word */
};

/* Writes bits from `at` on; at the end only those that were written have changed. */
struct bit_writer {
    uint8_t *bits;
    int64_t at;    /* of the word's lowest bit, a multiple of 8 */
    uint64_t word; /* ... of which `fill` bits are there */
    unsigned fill; /* below 32 */
};

static void writer_begin(struct bit_writer *w, int64_t at)
{
    w->at = at & ~(int64_t)7;
    w->fill = (unsigned)(at & 7);
    w->word = w->fill ? w->bits[w->at >> 3] & ((1u << w->fill) - 1) : 0;
}

SL_INLINE void writer_put(struct bit_writer *w, uint64_t bits, unsigned count)
{
    w->word |= bits << w->fill;
    w->fill += count;
    if (w->fill >= 32) {
        store_le32(w->bits + (w->at >> 3), (uint32_t)w->word);
        w->word >>= 32;
        w->fill -= 32;
        w->at += 32;
    }
}

/* Gives where the next bit belongs. */
static int64_t writer_end(struct bit_writer *w)
{
    uint8_t *to = w->bits + (w->at >> 3);
    unsigned left = w->fill;
    for (; left >= 8; left -= 8, w->word >>= 8)
        *to++ = (uint8_t)w->word;
    if (left) {
        unsigned mask = (1u << left) - 1;
        *to = (uint8_t)((*to & ~mask) | (w->word & mask));
    }
    return w->at + w->fill;
}

/* At most STEP_BITS bits: they lie in the bytes of the first and of the last of them. */
SL_INLINE uint64_t few_bits(const uint8_t *bits, int64_t from, unsigned count)
{
    unsigned both = bits[from >> 3] | (unsigned)bits[(from + count - 1) >> 3] << 8;
    return (both >> (from & 7)) & ((1u << count) - 1);
}

/* `bits` NULL: all ones. */
static void put_long(struct bit_writer *w, const uint8_t *bits, int64_t from, int64_t count)
{
    int64_t at = writer_end(w);
    if (bits)
        (void)column_bits_copy(w->bits, at, bits, from, count);
    else
        column_bits_fill(w->bits, at, count, true);
    writer_begin(w, at + count);
}

SL_INLINE void put_pick(struct bit_writer *w, const uint8_t *bits, const struct sl_pick *p)
{
    if (SL_UNLIKELY(p->count >= LONG_PICK)) {
        put_long(w, bits, p->first, p->count);
        return;
    }
    int64_t from = p->first;
    unsigned left = p->count, n;
    do {
        n = left < STEP_BITS ? left : STEP_BITS;
        writer_put(w, bits ? few_bits(bits, from, n) : (1u << n) - 1, n);
        from += n;
        left -= n;
    } while (SL_UNLIKELY(left > 0));
}

sl_status picks_validity(sl_builder *b, const struct pick_list *list)
{
    SL_TRY(builder_validity_cover(b, b->length + list->picks.rows));
    struct bit_writer w = {.bits = b->validity.data};
    writer_begin(&w, b->length);
    for (const struct sl_pick *p = list->picks.items, *end = p + list->picks.count; p < end; p++)
        put_pick(&w, list->sources[p->source]->validity, p);
    writer_end(&w);
    b->null_count += list->picks.rows - column_bits_count(b->validity.data, b->length, list->picks.rows);
    return SL_OK;
}

sl_status picks_bools(sl_builder *b, const struct pick_list *list)
{
    SL_TRY(builder_bits_room(b, b->length, list->picks.rows));
    struct bit_writer w = {.bits = b->values.data};
    writer_begin(&w, b->length);
    for (const struct sl_pick *p = list->picks.items, *end = p + list->picks.count; p < end; p++)
        put_pick(&w, list->sources[p->source]->values, p);
    writer_end(&w);
    return SL_OK;
}
