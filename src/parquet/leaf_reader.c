/*
 * One leaf of a row group, front to back.
 *
 * Flat columns: definition levels become the validity bitmap, values go to the front of the place that the
 * page's rows have in the array and are then spread over the set bits. Nested leaves: levels are kept, one
 * byte each, and values stay dense until assemble.c knows the slots.
 */
#include "parquet/read_int.h"

/* What a batch of a nested leaf may take without the chunk's size having to explain it. */
#define LEVELS_BELIEVED ((size_t)256 << 20)
#define LEVELS_PER_BYTE 4096

void parquet_leaf_reader_init(struct parquet_leaf_reader *r, struct sl_parquet *parquet,
                              const struct parquet_leaf *leaf, bool keep_dictionary,
                              struct parquet_recycler *recycler)
{
    memset(r, 0, sizeof *r);
    r->parquet = parquet;
    r->leaf = leaf;
    r->recycler = r->strings.recycler = r->pages.recycler = recycler;
    /* PARQUET-246: their DELTA_BYTE_ARRAY pages begin with a prefix of the last value of the page before. */
    r->values.carry_over = parquet_written_before(parquet->meta.created_by, "parquet-mr", 1, 8);
    r->keep_dictionary = keep_dictionary && leaf->output == PARQUET_OUT_BYTES && leaf->flat;
}

static void dictionary_clear(struct parquet_dictionary *d)
{
    sl_free(d->values);
    parquet_strings_free(&d->strings);
    sl_array_unref(d->array);
    *d = (struct parquet_dictionary){0};
}

void parquet_leaf_reader_free(struct parquet_leaf_reader *r)
{
    parquet_pages_close(&r->pages);
    dictionary_clear(&r->dictionary);
    sl_arena_free(r->index_arena);
    parquet_values_free(&r->values);
    parquet_block_free(r->validity);
    parquet_block_free(r->fixed);
    parquet_strings_free(&r->strings);
    sl_free(r->levels_def);
    sl_free(r->levels_rep);
    sl_free(r->scratch_indexes);
    sl_free(r->scratch);
    parquet_strings_free(&r->scratch_strings);
}

static sl_status scratch_indexes(struct parquet_leaf_reader *r)
{
    if (!r->scratch_indexes)
        SL_NEW_ARRAY(r->scratch_indexes, READ_BLOCK);
    return SL_OK;
}

static sl_status scratch_values(struct parquet_leaf_reader *r)
{
    if (!r->scratch)
        SL_NEW_ARRAY(r->scratch, READ_BLOCK * r->leaf->physical_width);
    return SL_OK;
}

/* ---- values without nulls, behind the ones read so far ------------------------------------------------- */

/* Values whose bytes need a conversion, in blocks. */
static sl_status convert_fixed(struct parquet_leaf_reader *r, struct parquet_values *v, uint8_t *out,
                               size_t count)
{
    SL_TRY(scratch_values(r));
    while (count > 0) {
        size_t n = count < READ_BLOCK ? count : READ_BLOCK;
        SL_TRY(parquet_values_fixed(v, r->scratch, n));
        SL_TRY(parquet_convert(r->leaf->conversion, r->scratch, r->leaf->physical_width, n, out));
        out += n * r->leaf->width;
        count -= n;
    }
    return SL_OK;
}

static sl_status convert_strings(struct parquet_leaf_reader *r, struct parquet_values *v, uint8_t *out,
                                 size_t count)
{
    while (count > 0) {
        size_t n = count < READ_BLOCK ? count : READ_BLOCK;
        parquet_strings_clear(&r->scratch_strings);
        SL_TRY(parquet_values_strings(v, &r->scratch_strings, n));
        SL_TRY(parquet_convert_strings(&r->scratch_strings, n, out));
        out += n * r->leaf->width;
        count -= n;
    }
    return SL_OK;
}

/* Fixed-width values in the layout of the array from a page that is not dictionary-encoded. */
static sl_status direct_fixed(struct parquet_leaf_reader *r, struct parquet_values *v, uint8_t *out,
                              size_t count)
{
    if (r->leaf->output == PARQUET_OUT_BOOL)
        return parquet_values_bools(v, out, count);
    if (r->leaf->conversion == PARQUET_BYTES_TO_DECIMAL)
        return convert_strings(r, v, out, count);
    if (r->leaf->conversion != PARQUET_AS_IS)
        return convert_fixed(r, v, out, count);
    return parquet_values_fixed(v, out, count);
}

#define GATHER(NAME, TYPE)                                                                                   \
    static void NAME(uint8_t *out, const uint8_t *dictionary, const uint32_t *indexes, size_t count)         \
    {                                                                                                        \
        for (size_t i = 0; i < count; i++) {                                                                 \
            TYPE v;                                                                                          \
            memcpy(&v, dictionary + (size_t)indexes[i] * sizeof v, sizeof v);                                \
            memcpy(out + i * sizeof v, &v, sizeof v);                                                        \
        }                                                                                                    \
    }
GATHER(gather_1, uint8_t)
GATHER(gather_2, uint16_t)
GATHER(gather_4, uint32_t)
GATHER(gather_8, uint64_t)
GATHER(gather_16, sl_u128)

static void gather(uint8_t *out, const uint8_t *dictionary, size_t width, const uint32_t *indexes,
                   size_t count)
{
    switch (width) {
    case 1:
        gather_1(out, dictionary, indexes, count);
        break;
    case 2:
        gather_2(out, dictionary, indexes, count);
        break;
    case 4:
        gather_4(out, dictionary, indexes, count);
        break;
    case 8:
        gather_8(out, dictionary, indexes, count);
        break;
    case 16:
        gather_16(out, dictionary, indexes, count);
        break;
    default:
        for (size_t i = 0; i < count; i++)
            memcpy(out + i * width, dictionary + (size_t)indexes[i] * width, width);
    }
}

static sl_status append_fixed(struct parquet_leaf_reader *r, size_t count)
{
    size_t width = r->leaf->width, at = (size_t)r->slots * width;
    SL_TRY(parquet_fixed_reserve(r->recycler, &r->fixed, &r->fixed_cap, at, at + count * width));
    uint8_t *out = r->fixed + at;
    if (!parquet_values_are_indexes(&r->values))
        return direct_fixed(r, &r->values, out, count);
    SL_TRY(scratch_indexes(r));
    while (count > 0) {
        size_t n = count < READ_BLOCK ? count : READ_BLOCK;
        SL_TRY(parquet_values_indexes(&r->values, r->scratch_indexes, n, r->dictionary.count));
        gather(out, r->dictionary.values, width, r->scratch_indexes, n);
        out += n * width;
        count -= n;
    }
    return SL_OK;
}

static sl_status gather_strings(struct parquet_strings *out, const struct parquet_strings *dictionary,
                                const uint32_t *indexes, size_t count)
{
    SL_TRY(parquet_strings_reserve(out, count));
    int32_t *offsets = out->offsets + out->count;
    const int32_t *ends = dictionary->offsets;
    uint64_t at = (uint64_t)offsets[0];
    for (size_t i = 0; i < count; i++) {
        at += (uint64_t)(ends[indexes[i] + 1] - ends[indexes[i]]);
        offsets[i + 1] = (int32_t)at; /* an overflow is found below, before anything is used */
    }
    SL_TRY(parquet_strings_reserve_data(out, (size_t)(at - (uint64_t)offsets[0])));
    uint8_t *to = out->data;
    const uint8_t *from = dictionary->data;
    for (size_t i = 0; i < count; i++)
        parquet_copy_short(to + offsets[i], from + ends[indexes[i]], (size_t)(offsets[i + 1] - offsets[i]));
    out->count += count;
    return SL_OK;
}

static sl_status append_indexes(struct parquet_leaf_reader *r, size_t count)
{
    size_t at = (size_t)r->slots * sizeof(uint32_t);
    SL_TRY(parquet_fixed_reserve(r->recycler, &r->fixed, &r->fixed_cap, at, at + count * sizeof(uint32_t)));
    return parquet_values_indexes(&r->values, (uint32_t *)(void *)(r->fixed + at), count,
                                  r->dictionary.count);
}

/* The chunk falls back to plain pages in the middle of a batch: what was kept as indexes becomes strings. */
static sl_status resolve_indexes(struct parquet_leaf_reader *r)
{
    r->as_indexes = false;
    if (r->slots == 0)
        return SL_OK;
    return gather_strings(&r->strings, &r->dictionary.strings, (const uint32_t *)(const void *)r->fixed,
                          (size_t)r->slots);
}

static sl_status append_strings(struct parquet_leaf_reader *r, size_t count)
{
    bool indexes = parquet_values_are_indexes(&r->values) && r->dictionary.count > 0;
    if (indexes && r->keep_dictionary && (r->as_indexes || r->slots == 0)) {
        r->as_indexes = true;
        return append_indexes(r, count);
    }
    if (r->as_indexes)
        SL_TRY(resolve_indexes(r));
    if (!parquet_values_are_indexes(&r->values))
        return parquet_values_strings(&r->values, &r->strings, count);
    SL_TRY(scratch_indexes(r));
    while (count > 0) {
        size_t n = count < READ_BLOCK ? count : READ_BLOCK;
        SL_TRY(parquet_values_indexes(&r->values, r->scratch_indexes, n, r->dictionary.count));
        SL_TRY(gather_strings(&r->strings, &r->dictionary.strings, r->scratch_indexes, n));
        count -= n;
    }
    return SL_OK;
}

static sl_status append_values(struct parquet_leaf_reader *r, size_t count)
{
    switch (r->leaf->output) {
    case PARQUET_OUT_NULL:
        return count == 0 ? SL_OK : sl_corrupt("value in a column of type null");
    case PARQUET_OUT_BYTES:
        return append_strings(r, count);
    default:
        return append_fixed(r, count);
    }
}

/* ---- pages --------------------------------------------------------------------------------------------- */

static sl_status load_dictionary(struct parquet_leaf_reader *r, const struct parquet_page_header *header,
                                 const struct parquet_page *page)
{
    struct parquet_dictionary *d = &r->dictionary;
    const struct parquet_leaf *leaf = r->leaf;
    size_t count = (size_t)header->num_values, least = leaf->physical_width ? leaf->physical_width : 4;
    struct parquet_values v = {0};
    if (d->present)
        return sl_corrupt("second dictionary page at %" PRIu64, page->offset);
    if (header->encoding != PARQUET_PLAIN && header->encoding != PARQUET_PLAIN_DICTIONARY)
        return sl_unsupported("dictionary page in encoding %s", parquet_encoding_name(header->encoding));
    if (leaf->output == PARQUET_OUT_BOOL)
        return sl_corrupt("dictionary of booleans");
    if (count > page->bytes / least)
        return sl_corrupt("dictionary page at %" PRIu64 ": %zu values in %zu bytes", page->offset, count,
                          page->bytes);
    SL_TRY(parquet_values_init(&v, leaf->element->type, leaf->physical_width, PARQUET_PLAIN, page->data,
                               page->bytes));
    if (leaf->output == PARQUET_OUT_BYTES) {
        SL_TRY(parquet_strings_reserve(&d->strings, 0));
        SL_TRY(parquet_strings_reserve_data(&d->strings, 0));
        SL_TRY(parquet_values_strings(&v, &d->strings, count));
        for (size_t i = 0; i < count; i++) {
            size_t len = (size_t)(d->strings.offsets[i + 1] - d->strings.offsets[i]);
            d->longest = len > d->longest ? len : d->longest;
        }
    } else if (leaf->output == PARQUET_OUT_FIXED) {
        if (!(d->values = sl_aligned(count * leaf->width + READ_PAD)))
            return sl_nomem();
        SL_TRY(direct_fixed(r, &v, d->values, count));
    }
    d->present = true;
    d->count = (uint32_t)count;
    return SL_OK;
}

/* The dictionary page that was passed over. */
static sl_status load_pending_dictionary(struct parquet_leaf_reader *r)
{
    struct parquet_pages *pages = &r->pages;
    struct parquet_page_header header;
    struct parquet_page page;
    uint64_t offset = pages->offset, header_offset = pages->header_offset, wanted_end = pages->wanted_end;
    bool found;
    pages->offset = r->dictionary_at;
    pages->wanted_end = r->dictionary_end; /* nothing is read ahead */
    r->dictionary_at = 0;
    SL_TRY(parquet_pages_header(pages, &header, &found));
    SL_TRY(parquet_pages_body(pages, &header, &page));
    SL_TRY_CTX(load_dictionary(r, &header, &page), "dictionary page at %" PRIu64, page.offset);
    pages->offset = offset;
    pages->header_offset = header_offset;
    pages->wanted_end = wanted_end;
    return SL_OK;
}

static bool needs_dictionary(const struct parquet_page_header *header)
{
    return header->encoding == PARQUET_PLAIN_DICTIONARY || header->encoding == PARQUET_RLE_DICTIONARY;
}

/* One level stream of a v1 page; *data moves behind it. */
static sl_status init_levels_v1(struct parquet_hybrid *h, int max, int encoding, int64_t count,
                                const uint8_t **data, size_t *len)
{
    int width = parquet_bit_width((uint32_t)max);
    size_t bytes;
    if (max == 0) /* no stream, whatever the header says of its encoding */
        return SL_OK;
    if (encoding == PARQUET_RLE) {
        if (*len < 4 || load_le32(*data) > *len - 4)
            return sl_corrupt("levels run past their page");
        bytes = load_le32(*data);
        *data += 4;
        *len -= 4;
        parquet_hybrid_init(h, *data, bytes, width);
    } else if (encoding == PARQUET_BIT_PACKED) {
        uint64_t bits = (uint64_t)count * (unsigned)width;
        if ((bits + 7) / 8 > *len)
            return sl_corrupt("levels run past their page");
        bytes = (size_t)((bits + 7) / 8);
        parquet_hybrid_init_msb(h, *data, bytes, width, (size_t)count);
    } else {
        return sl_unsupported("levels in encoding %s (%d)", parquet_encoding_name(encoding), encoding);
    }
    *data += bytes;
    *len -= bytes;
    return SL_OK;
}

static sl_status begin_data_page(struct parquet_leaf_reader *r, const struct parquet_page_header *header,
                                 const struct parquet_page *page)
{
    const struct parquet_leaf *leaf = r->leaf;
    const uint8_t *data = page->data;
    size_t len = page->bytes;
    if (header->type == PARQUET_PAGE_DATA_V2) {
        parquet_hybrid_init(&r->rep, page->repetition, (size_t)header->repetition_bytes,
                            parquet_bit_width((uint32_t)leaf->max_rep));
        parquet_hybrid_init(&r->def, page->definition, (size_t)header->definition_bytes,
                            parquet_bit_width((uint32_t)leaf->max_def));
    } else {
        SL_TRY(init_levels_v1(&r->rep, leaf->max_rep, header->repetition_encoding, header->num_values, &data,
                              &len));
        SL_TRY(init_levels_v1(&r->def, leaf->max_def, header->definition_encoding, header->num_values, &data,
                              &len));
    }
    SL_TRY(parquet_values_init(&r->values, leaf->element->type, leaf->physical_width, header->encoding, data,
                               len));
    if (parquet_values_are_indexes(&r->values) && !r->dictionary.present && len > 0)
        return sl_corrupt("dictionary-encoded page without a dictionary page before it");
    r->page_left = header->num_values;
    return SL_OK;
}

/* Rows that a page certainly has, -1 when only its levels can tell. */
static int64_t page_rows(const struct parquet_leaf_reader *r, const struct parquet_page_header *header)
{
    if (r->every_page)
        return -1;
    if (r->leaf->max_rep == 0)
        return header->num_values;
    return header->type == PARQUET_PAGE_DATA_V2 ? header->num_rows : -1;
}

/* Opens the next data page that is not wholly among the next *skip rows, which are left out. *found false:
 * the chunk is at its end. */
static sl_status next_data_page(struct parquet_leaf_reader *r, int64_t *skip, bool *found)
{
    struct parquet_page_header header;
    struct parquet_page page;
    for (;;) {
        *found = r->values_left > 0;
        if (!*found)
            return SL_OK;
        SL_TRY(parquet_pages_header(&r->pages, &header, found));
        if (!*found)
            return SL_OK;
        bool is_data = header.type == PARQUET_PAGE_DATA || header.type == PARQUET_PAGE_DATA_V2;
        if (header.type == PARQUET_PAGE_DICTIONARY) {
            if (r->dictionary_at > 0) /* then this one is the second */
                SL_TRY(load_pending_dictionary(r));
            SL_TRY(parquet_pages_body(&r->pages, &header, &page));
            SL_TRY_CTX(load_dictionary(r, &header, &page), "dictionary page at %" PRIu64, page.offset);
            continue;
        }
        if (!is_data) { /* index pages, and what a later version may bring */
            parquet_pages_skip(&r->pages, &header);
            continue;
        }
        int64_t rows = page_rows(r, &header);
        bool at_row = !r->inside_row || header.type == PARQUET_PAGE_DATA_V2; /* the page begins a row */
        r->values_left -= header.num_values;
        if (header.num_values == 0 || (skip && rows >= 0 && rows <= *skip && at_row)) {
            if (skip && header.num_values > 0) {
                *skip -= rows;
                r->inside_row = false;
            }
            parquet_pages_skip(&r->pages, &header);
            if (skip && *skip == 0)
                return SL_OK;
            continue;
        }
        if (r->dictionary_at > 0 && needs_dictionary(&header))
            SL_TRY(load_pending_dictionary(r));
        SL_TRY(parquet_pages_body(&r->pages, &header, &page));
        return sl_context(begin_data_page(r, &header, &page), "page at %" PRIu64, page.offset);
    }
}

/* ---- page index ---------------------------------------------------------------------------------------- */

static sl_status load_index(struct parquet_leaf_reader *r)
{
    r->index_tried = true;
    if (r->index_arena)
        sl_arena_reset(r->index_arena);
    else
        SL_TRY(sl_arena_new(&r->index_arena));
    return parquet_offset_index_load(r->parquet, r->group, (size_t)(r->leaf - r->parquet->schema.leaves),
                                     r->index_arena, &r->index);
}

/* ---- flat leaves --------------------------------------------------------------------------------------- */

static sl_status chunk_too_short(void)
{
    return sl_corrupt("column chunk has fewer rows than its row group");
}

static sl_status take_flat_page(struct parquet_leaf_reader *r, size_t take)
{
    size_t from = (size_t)r->slots, used = take;
    if (r->leaf->max_def > 0) {
        SL_TRY(parquet_fixed_reserve(r->recycler, &r->validity, &r->validity_cap, bitmap_bytes((int64_t)from),
                                     bitmap_bytes((int64_t)(from + take))));
        if (parquet_hybrid_bits(&r->def, r->validity, from, take) != take)
            return sl_corrupt("definition levels end too early");
        used = parquet_bits_count(r->validity, from, take);
    }
    SL_TRY(append_values(r, used));
    if (used < take) {
        if (r->leaf->output == PARQUET_OUT_BYTES && !r->as_indexes) {
            SL_TRY(parquet_strings_reserve(&r->strings, take - used));
            parquet_spread_offsets(r->strings.offsets + from, r->validity, from, take, used);
            r->strings.count = from + take;
        } else if (r->leaf->output != PARQUET_OUT_NULL) {
            size_t width = r->as_indexes ? sizeof(uint32_t) : r->leaf->width;
            SL_TRY(parquet_fixed_reserve(r->recycler, &r->fixed, &r->fixed_cap, (from + used) * width,
                                         (from + take) * width));
            parquet_spread(r->fixed + from * width, width, r->validity, from, take, used);
        }
    }
    r->slots += (int64_t)take;
    r->used += (int64_t)used;
    r->page_left -= (int64_t)take;
    return SL_OK;
}

static sl_status take_flat(struct parquet_leaf_reader *r, int64_t rows)
{
    while (rows > 0) {
        if (r->page_left == 0) {
            bool found;
            SL_TRY(next_data_page(r, NULL, &found));
            if (!found)
                return chunk_too_short();
        }
        int64_t take = rows < r->page_left ? rows : r->page_left;
        SL_TRY(take_flat_page(r, (size_t)take));
        rows -= take;
    }
    return SL_OK;
}

/* Levels of `take` rows of the current page, and their values, read and forgotten. */
static sl_status drop_flat(struct parquet_leaf_reader *r, int64_t rows)
{
    r->page_left -= rows;
    while (rows > 0) {
        size_t n = rows < READ_BLOCK ? (size_t)rows : READ_BLOCK, used = n;
        if (r->leaf->max_def > 0) {
            uint8_t bits[READ_BLOCK / 8];
            if (parquet_hybrid_bits(&r->def, bits, 0, n) != n)
                return sl_corrupt("definition levels end too early");
            used = parquet_bits_count(bits, 0, n);
        }
        SL_TRY(parquet_values_skip(&r->values, used));
        rows -= (int64_t)n;
    }
    return SL_OK;
}

static sl_status skip_flat(struct parquet_leaf_reader *r, int64_t rows)
{
    while (rows > 0) {
        if (r->page_left == 0) {
            bool found;
            SL_TRY(next_data_page(r, &rows, &found));
            if (rows == 0)
                break;
            if (!found)
                return chunk_too_short();
        }
        int64_t n = rows < r->page_left ? rows : r->page_left;
        SL_TRY(drop_flat(r, n));
        rows -= n;
    }
    return SL_OK;
}

/* ---- nested leaves ------------------------------------------------------------------------------------- */

static sl_status check_levels(const uint8_t *levels, size_t count, int max)
{
    if (max + 1 >= 1 << parquet_bit_width((uint32_t)max)) /* the width of the levels lets no greater one in */
        return SL_OK;
    for (size_t at = 0; at < count; at += 64)
        if (parquet_levels_mask(levels + at, count - at, max + 1) != 0)
            return sl_corrupt("level where the greatest is %d", max);
    return SL_OK;
}

/* Decodes more levels of the current page. */
static sl_status stage_levels(struct parquet_leaf_reader *r)
{
    size_t n = r->page_left < READ_BLOCK ? (size_t)r->page_left : READ_BLOCK;
    if (r->leaf->max_rep == 0)
        memset(r->stage_rep, 0, n);
    else if (parquet_hybrid_bytes(&r->rep, r->stage_rep, n) != n)
        return sl_corrupt("repetition levels end too early");
    if (r->leaf->max_def == 0)
        memset(r->stage_def, 0, n);
    else if (parquet_hybrid_bytes(&r->def, r->stage_def, n) != n)
        return sl_corrupt("definition levels end too early");
    SL_TRY(check_levels(r->stage_rep, n, r->leaf->max_rep));
    SL_TRY(check_levels(r->stage_def, n, r->leaf->max_def));
    r->stage_at = 0;
    r->stage_count = n;
    r->page_left -= (int64_t)n;
    return SL_OK;
}

/* A few bytes may claim any number of nulls. A batch of several rows is tried again with fewer rows; one row that takes
 * very much more memory than its whole chunk has bytes is not believed. */
static sl_status check_level_count(struct parquet_leaf_reader *r, size_t count)
{
    size_t width = r->leaf->width ? r->leaf->width : 1, bytes;
    if (r->level_max > 0 && count > r->level_max) {
        r->levels_full = true;
        return sl_unsupported("over %zu list elements in one batch", r->level_max);
    }
    if (sl_mul_overflows(count, width, &bytes) ||
        (bytes > LEVELS_BELIEVED && bytes / LEVELS_PER_BYTE > (uint64_t)r->chunk->meta.total_compressed_size))
        return sl_corrupt("row of %zu values in a column chunk of %" PRId64 " bytes", count,
                          r->chunk->meta.total_compressed_size);
    return SL_OK;
}

static sl_status keep_levels(struct parquet_leaf_reader *r, size_t n)
{
    SL_TRY(check_level_count(r, r->level_count + n));
    if (r->level_count + n > r->level_cap) {
        size_t cap = r->level_cap * 2 > r->level_count + n ? r->level_cap * 2 : r->level_count + n;
        uint8_t *def = sl_realloc(r->levels_def, cap);
        if (!def)
            return sl_nomem();
        r->levels_def = def;
        uint8_t *rep = sl_realloc(r->levels_rep, cap);
        if (!rep)
            return sl_nomem();
        r->levels_rep = rep;
        r->level_cap = cap;
    }
    memcpy(r->levels_def + r->level_count, r->stage_def + r->stage_at, n);
    memcpy(r->levels_rep + r->level_count, r->stage_rep + r->stage_at, n);
    r->level_count += n;
    return SL_OK;
}

/* Takes (or drops) the next n staged levels with their values. */
static sl_status consume_levels(struct parquet_leaf_reader *r, size_t n, bool keep)
{
    const uint8_t *def = r->stage_def + r->stage_at;
    size_t used = 0;
    for (size_t at = 0; at < n; at += 64)
        used += (size_t)sl_popcount64(parquet_levels_mask(def + at, n - at, r->leaf->max_def));
    if (keep) {
        SL_TRY(keep_levels(r, n));
        SL_TRY(append_values(r, used));
        r->slots += (int64_t)used;
        r->used += (int64_t)used;
    } else if (r->leaf->output != PARQUET_OUT_NULL) {
        SL_TRY(parquet_values_skip(&r->values, used));
    }
    r->stage_at += n;
    return SL_OK;
}

/* Number of staged levels up to where row number *rows + 1 begins; *rows counts down. Mostly all of them:
 * then they only need counting, which takes no branches. */
static size_t levels_of_rows(struct parquet_leaf_reader *r, int64_t *rows)
{
    size_t at = r->stage_at, begun = r->stage_count - at;
    int64_t left = *rows;
    for (size_t i = at; i < r->stage_count && r->leaf->max_rep > 0; i += 64)
        begun -= (size_t)sl_popcount64(parquet_levels_mask(r->stage_rep + i, r->stage_count - i, 1));
    if ((int64_t)begun <= left) {
        *rows = left - (int64_t)begun;
        return r->stage_count - at;
    }
    for (; r->stage_rep[at] != 0 || left > 0; at++)
        left -= r->stage_rep[at] == 0;
    *rows = 0;
    return at - r->stage_at;
}

/* A row ends where the next begins, so the end of the last one is known only once the next level was seen: it
 * may be on the next page. */
static sl_status read_nested(struct parquet_leaf_reader *r, int64_t rows, bool keep)
{
    if (rows == 0)
        return SL_OK;
    for (;;) {
        if (r->stage_at == r->stage_count) {
            if (r->page_left == 0) {
                bool found;
                int64_t whole = !keep && rows > 0 ? rows : 0;
                if (r->leaf->max_rep == 0 && rows == 0)
                    return SL_OK;
                r->inside_row = r->inside_row && r->leaf->max_rep > 0;
                SL_TRY(next_data_page(r, whole > 0 ? &whole : NULL, &found));
                if (!keep && rows > 0)
                    rows = whole;
                if (!found)
                    return rows == 0 ? SL_OK : chunk_too_short();
                if (r->page_left == 0) /* all rows were on pages passed over */
                    return SL_OK;
            }
            SL_TRY(stage_levels(r));
        }
        if (!r->inside_row && r->stage_rep[r->stage_at] != 0)
            return sl_corrupt("first level of a row is a repetition");
        size_t n = levels_of_rows(r, &rows);
        SL_TRY(consume_levels(r, n, keep));
        r->inside_row = true;
        if (r->stage_at < r->stage_count) { /* the next level begins a row */
            r->inside_row = false;
            return SL_OK;
        }
    }
}

/* ---- entry points -------------------------------------------------------------------------------------- */

static bool has_encoding(const struct parquet_column_meta *meta, int32_t encoding)
{
    for (size_t i = 0; i < meta->encoding_count; i++)
        if (meta->encodings[i] == encoding)
            return true;
    return false;
}

/* Whether there is a dictionary tells the first page only: dictionary_page_offset may be missing. */
static sl_status open_dictionary(struct parquet_leaf_reader *r, bool selective)
{
    struct parquet_page_header header;
    struct parquet_page page;
    bool found;
    uint64_t start = r->pages.offset, data = (uint64_t)r->chunk->meta.data_page_offset;
    if (start < data && data < r->pages.end) /* maybe the first pages are not wanted: no reading ahead yet */
        r->pages.wanted_end = data;
    SL_TRY(parquet_pages_header(&r->pages, &header, &found));
    if (!found || header.type != PARQUET_PAGE_DICTIONARY) {
        r->pages.offset = start;
        return SL_OK;
    }
    if (selective) {
        parquet_pages_skip(&r->pages, &header);
        r->dictionary_at = start;
        r->dictionary_end = r->pages.offset;
        return SL_OK;
    }
    SL_TRY(parquet_pages_body(&r->pages, &header, &page));
    return sl_context(load_dictionary(r, &header, &page), "dictionary page at %" PRIu64, page.offset);
}

sl_status parquet_leaf_open_group(struct parquet_leaf_reader *r, size_t group, bool selective)
{
    const struct parquet_row_group *g = &r->parquet->meta.row_groups[group];
    size_t leaf = (size_t)(r->leaf - r->parquet->schema.leaves);
    r->group = group;
    r->chunk = &g->columns[leaf];
    r->index_tried = false;
    r->index.page_count = 0;
    r->row = 0;
    r->page_left = 0;
    r->stage_at = r->stage_count = 0;
    r->inside_row = false;
    r->values_left = r->chunk->meta.num_values;
    r->values.previous.len = 0;
    r->every_page = r->values.carry_over && has_encoding(&r->chunk->meta, PARQUET_DELTA_BYTE_ARRAY);
    r->dictionary_at = 0;
    dictionary_clear(&r->dictionary);
    SL_TRY(parquet_pages_open(&r->pages, r->parquet, &r->chunk->meta));
    return r->values_left > 0 ? open_dictionary(r, selective) : SL_OK;
}

/* The last page that begins at or before the row; the index has pages. */
static size_t page_of_row(const struct parquet_offset_index *index, int64_t row)
{
    size_t low = 0, high = index->page_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (index->pages[middle].first_row <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Jumps over whole pages by the page index; *rows is what is left to skip behind the jump, `take` rows are wanted then. */
static sl_status jump(struct parquet_leaf_reader *r, int64_t *rows, int64_t take)
{
    int64_t target = r->row + *rows;
    if (r->every_page)
        return SL_OK;
    if (!r->index_tried)
        SL_TRY(load_index(r));
    const struct parquet_offset_index *index = &r->index;
    size_t low = page_of_row(index, target);
    if (index->page_count == 0 || index->pages[low].first_row <= r->row ||
        (uint64_t)index->pages[low].offset <= r->pages.header_offset)
        return SL_OK;
    const struct parquet_page_location *last = &index->pages[index->page_count - 1];
    r->pages.offset = (uint64_t)index->pages[low].offset;
    r->pages.end = (uint64_t)last->offset + (uint64_t)last->compressed_size;
    last = &index->pages[page_of_row(index, target + (take > 0 ? take - 1 : 0))];
    r->pages.wanted_end = (uint64_t)last->offset + (uint64_t)last->compressed_size;
    r->page_left = 0;
    r->stage_at = r->stage_count = 0;
    r->inside_row = false;
    *rows = target - index->pages[low].first_row;
    return SL_OK;
}

static sl_status run_step(struct parquet_leaf_reader *r, struct parquet_step step)
{
    int64_t target = r->row + step.skip;
    if (step.skip > 0 && step.skip > r->page_left)
        SL_TRY(jump(r, &step.skip, step.take));
    SL_TRY(r->leaf->flat ? skip_flat(r, step.skip) : read_nested(r, step.skip, false));
    SL_TRY(r->leaf->flat ? take_flat(r, step.take) : read_nested(r, step.take, true));
    r->row = target + step.take;
    return SL_OK;
}

/* Buffers of exactly the right size for flat leaves, whose number of values is known. */
static sl_status reserve_flat(struct parquet_leaf_reader *r, int64_t rows)
{
    if (r->keep_dictionary && r->dictionary.count > 0)
        SL_TRY(
            parquet_fixed_reserve(r->recycler, &r->fixed, &r->fixed_cap, 0, (size_t)rows * sizeof(uint32_t)));
    else if (r->leaf->output == PARQUET_OUT_BYTES)
        return parquet_strings_reserve(&r->strings, (size_t)rows);
    if (r->leaf->output == PARQUET_OUT_BYTES)
        return SL_OK;
    if (r->leaf->output == PARQUET_OUT_NULL)
        return SL_OK;
    return parquet_fixed_reserve(r->recycler, &r->fixed, &r->fixed_cap, 0, (size_t)rows * r->leaf->width);
}

sl_status parquet_leaf_read(struct parquet_leaf_reader *r, const struct parquet_step *steps, size_t count,
                            int64_t rows)
{
    sl_status status = SL_OK;
    r->slots = r->used = 0;
    r->level_count = 0;
    r->as_indexes = r->strings.full = r->levels_full = false;
    parquet_strings_clear(&r->strings);
    if (r->leaf->flat)
        SL_GO(reserve_flat(r, rows));
    for (size_t i = 0; i < count; i++)
        SL_GO(run_step(r, steps[i]));
done:
    return sl_context(status, "column %s", r->leaf->path);
}
