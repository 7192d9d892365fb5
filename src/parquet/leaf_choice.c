/*
 * How the values of a leaf are written. Every chunk starts with a dictionary, unless an encoding was asked for. It is given
 * up when hardly any of the first values repeat, when the first page shows that it does not pay (what the page has is then
 * encoded anew, as PLAIN) or when it has grown to WRITE_DICTIONARY_BYTES (pages written so far keep using it). Values without
 * dictionary are gathered as PLAIN and encoded when their page is closed; under "automatic" the first such page tries what
 * there is.
 */
#include "parquet/write_int.h"

/* ---- the dictionary ------------------------------------------------------------------------------------ */

int leaf_index_width(const struct dictionary *d)
{
    int width = d->count ? parquet_bit_width(d->count - 1) : 0;
    return width ? width : 1; /* width 0 is legal, but the rarer path in readers */
}

/* Whether dictionary and indexes are smaller than the values themselves. */
static bool dictionary_pays(const struct leaf_writer *w)
{
    size_t indexes = ((size_t)w->page_values * (size_t)leaf_index_width(&w->dictionary) + 7) / 8;
    return w->dictionary.storage.len + indexes < w->page_raw_bytes;
}

/* The page's values as PLAIN; the dictionary stays for the caller to keep or to drop. */
static sl_status page_to_plain(struct leaf_writer *w)
{
    w->body.len = 0;
    return dictionary_append_plain(&w->dictionary, w->indexes, (size_t)w->page_values, &w->body);
}

static sl_status give_dictionary_up(struct leaf_writer *w)
{
    SL_TRY(page_to_plain(w));
    w->dictionary_active = false;
    dictionary_free(&w->dictionary);
    return SL_OK;
}

/* Columns of keys and measurements, whose values hardly repeat, need not fill a dictionary for a whole page to show
 * it. Of n values from D, about n*n / 2D repeat one before them; so r repeats in n values let the page of N values
 * expect N*N*r / n*n of them. Each spares its bytes, and every value pays for an index. */
#define DICTIONARY_SAMPLE (2 * WRITE_BLOCK)

static bool dictionary_is_hopeless(const struct leaf_writer *w)
{
    double seen = (double)w->page_values, page = (double)w->settings->page_rows;
    double repeats = (seen - w->dictionary.count) * (page / seen) * (page / seen);
    double spared = repeats * (double)w->page_raw_bytes / seen;
    double indexes = page * leaf_index_width(&w->dictionary) / 8;
    return spared < indexes / 2; /* a sample may mislead: when in doubt the whole page shows it */
}

sl_status leaf_look_at_sample(struct leaf_writer *w)
{
    if (!w->dictionary_active || w->dictionary_decided || w->page_values < DICTIONARY_SAMPLE ||
        w->settings->page_rows < 2 * DICTIONARY_SAMPLE || !dictionary_is_hopeless(w))
        return SL_OK;
    w->dictionary_decided = true;
    if (w->leaf->kind == WRITE_BYTES)
        SL_TRY(bounds_add_entries(&w->page_bounds, &w->dictionary, w->indexes, (size_t)w->page_values,
                                  w->page_number));
    return give_dictionary_up(w);
}

/* ---- the encoding -------------------------------------------------------------------------------------- */

static sl_status stored_size(struct write_scratch *s, const sl_buf *body, size_t *out)
{
    *out = body->len;
    if (s->compressor.codec == SL_CODEC_NONE)
        return SL_OK;
    s->stored.len = 0;
    SL_TRY(compressor_append(&s->compressor, body->data, body->len, &s->stored));
    *out = s->stored.len;
    return SL_OK;
}

/* Tries on the page's PLAIN values what every Hudi reader reads (see sl_parquet_options_hudi_safe); the smallest
 * after compression wins. */
sl_status leaf_try_encodings(struct leaf_writer *w, struct write_scratch *s, size_t *best)
{
    static const enum parquet_encoding candidates[] = {PARQUET_PLAIN, PARQUET_DELTA_BINARY_PACKED,
                                                       PARQUET_DELTA_BYTE_ARRAY, PARQUET_RLE};
    *best = SIZE_MAX;
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        if (!parquet_encoding_fits(candidates[i], w->leaf->physical))
            continue;
        size_t size;
        s->trial.len = 0;
        SL_TRY(
            values_encode(w->leaf, candidates[i], &w->body, (size_t)w->page_values, &s->lengths, &s->trial));
        SL_TRY(stored_size(s, &s->trial, &size));
        if (size < *best) {
            *best = size;
            w->encoding = candidates[i];
        }
    }
    w->encoding_decided = true;
    return SL_OK;
}

/* What dictionary and indexes of the first page take. */
static sl_status dictionary_size(struct leaf_writer *w, struct write_scratch *s, size_t *out)
{
    size_t indexes;
    s->trial.len = 0;
    SL_TRY(rle_encode(w->indexes, (size_t)w->page_values, leaf_index_width(&w->dictionary), &s->trial));
    SL_TRY(stored_size(s, &s->trial, &indexes));
    SL_TRY(stored_size(s, &w->dictionary.storage, out));
    *out += indexes;
    return SL_OK;
}

/* The first page decides about the dictionary: by plain sizes, or under "automatic" by what is stored. */
static sl_status decide_dictionary(struct leaf_writer *w, struct write_scratch *s, bool *dictionary)
{
    w->dictionary_decided = true;
    if (!w->choice->automatic) {
        *dictionary = dictionary_pays(w);
        return *dictionary ? SL_OK : give_dictionary_up(w);
    }
    size_t with, without;
    SL_TRY(dictionary_size(w, s, &with));
    SL_TRY(page_to_plain(w));
    SL_TRY(leaf_try_encodings(w, s, &without));
    *dictionary = with <= without;
    if (!*dictionary)
        return give_dictionary_up(w);
    w->body.len = 0;
    return SL_OK;
}

/* Bounds of strings in dictionary pages come from the entries in use; then the first page decides about the
 * dictionary. */
sl_status leaf_settle_dictionary(struct leaf_writer *w, struct write_scratch *s, bool *dictionary)
{
    *dictionary = w->dictionary_active && w->page_values > 0;
    if (!*dictionary)
        return SL_OK;
    if (w->leaf->kind == WRITE_BYTES)
        SL_TRY(bounds_add_entries(&w->page_bounds, &w->dictionary, w->indexes, (size_t)w->page_values,
                                  w->page_number));
    if (!w->dictionary_decided) {
        SL_TRY(decide_dictionary(w, s, dictionary));
        if (!*dictionary)
            return SL_OK;
    }
    if (w->dictionary.storage.len >= WRITE_DICTIONARY_BYTES)
        w->dictionary_active = false;
    return SL_OK;
}
