/*
 * Rows of a base file, or of a log, that go into the next base as they are compressed (spec/parquet.md 12).
 *
 * The merge asks at the start of each page of keys which of the next units (sl_parquet_units) lie below all other sources.
 * The upper bound of a page's keys comes from the key column's page index or statistics; it may be cut, but never below
 * the largest key. Where no page is below the bound, nobody looks for units: a look at the pages of all columns is not
 * cheap. Duplicates inside the base are handed through (spec/lsm-layout.md 8.3), so copying is right for them.
 * A log must not have any, nor rows that are marked as deletes: its keys and marks are decoded, which is still much less
 * than all columns.
 */
#include "slice/slice_int.h"

/* A stretch becomes row groups of its own. One that is shorter is decoded: it costs little, and would cost every reader of
 * the file a dictionary for each column and an entry in the footer. */
#define STRETCH_UNITS 3
#define STRETCH_ROWS  30000

struct piece {
    sl_parquet_units *units;
    size_t first, count;
};

struct run_copy {
    sl_source *source;
    sl_stream *scan;
    sl_file_writer *to;
    sl_read_stats *stats;
    bool is_log;
    bool refuses;  /* rows of the log were found that are not for copying: there may be more */
    char *flag;    /* column that marks deletes in a log; NULL: none */
    int64_t at;    /* row of the file that comes next */
    int64_t again; /* row from which an offer may be looked for: what lies before was not worth one */
    /* the row group that was looked at last */
    size_t group;        /* SIZE_MAX: none */
    int64_t group_first; /* row of the file */
    struct sl_parquet_page_bounds keys;
    sl_parquet_units *units; /* NULL: not looked for yet */
    /* what was offered */
    struct piece *pieces;
    size_t piece_count, piece_cap;
};

sl_status run_copy_new(sl_source *source, sl_stream *scan, const struct sl_run_options *o,
                       struct run_copy **out)
{
    struct run_copy *c;
    SL_NEW(c);
    *c = (struct run_copy){.source = source,
                           .scan = scan,
                           .to = o->copy_to,
                           .stats = o->stats,
                           .is_log = o->copy_is_log,
                           .group = SIZE_MAX};
    bool has_flag = o->copy_is_log && o->copy_flag &&
                    sl_type_field_index(sl_parquet_schema(source->parquet), o->copy_flag) >= 0;
    if (has_flag && !(c->flag = sl_strdup(o->copy_flag))) {
        sl_free(c);
        return sl_nomem();
    }
    *out = c;
    return SL_OK;
}

static void close_group(struct run_copy *c)
{
    sl_parquet_units_unref(c->units);
    sl_parquet_page_bounds_free(&c->keys);
    c->units = NULL;
    c->group = SIZE_MAX;
}

static void drop_pieces(struct run_copy *c)
{
    for (size_t i = 0; i < c->piece_count; i++)
        sl_parquet_units_unref(c->pieces[i].units);
    c->piece_count = 0;
}

void run_copy_free(struct run_copy *c)
{
    if (!c)
        return;
    close_group(c);
    drop_pieces(c);
    sl_free(c->flag);
    sl_free(c->pieces);
    sl_free(c);
}

/* ---- pages of keys ------------------------------------------------------------------------------------- */

static sl_status open_group(struct run_copy *c, size_t group, int64_t first)
{
    if (c->group == group)
        return SL_OK;
    close_group(c);
    SL_TRY(slice_key_pages(c->source->parquet, group, &c->keys));
    c->group = group;
    c->group_first = first;
    return SL_OK;
}

/* Opens the row group that holds row `row` of the file; *found false behind the last row. */
static sl_status open_group_of(struct run_copy *c, int64_t row, bool *found)
{
    int64_t first = 0;
    *found = false;
    for (size_t g = 0; g < sl_parquet_row_groups(c->source->parquet); g++) {
        int64_t rows = sl_parquet_row_group_rows(c->source->parquet, g);
        if (row < first + rows) {
            *found = true;
            return open_group(c, g, first);
        }
        first += rows;
    }
    return SL_OK;
}

static int64_t group_end(const struct run_copy *c)
{
    return c->group_first + sl_parquet_row_group_rows(c->source->parquet, c->group);
}

/* The first page of the open group that begins at or behind row `row` of the file; keys.page_count: none. */
static size_t page_from(const struct run_copy *c, int64_t row)
{
    size_t low = 0, high = c->keys.page_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c->keys.pages[middle].first_row < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int64_t page_start(const struct run_copy *c, size_t page)
{
    return page < c->keys.page_count ? c->keys.pages[page].first_row : group_end(c);
}

static bool page_is_below(const struct run_copy *c, size_t page, const uint8_t *bound, size_t len)
{
    size_t max_len;
    if (!bound)
        return true;
    if (!c->keys.pages[page].has_bounds)
        return false;
    const uint8_t *max = sl_bytes_at(c->keys.max, (int64_t)page, &max_len);
    return bytes_compare(max, max_len, bound, len) < 0;
}

/* The row up to which all pages from the one that begins at row `row` on are below the bound; `row` when none begins there. */
static int64_t rows_below_end(const struct run_copy *c, int64_t row, const uint8_t *bound, size_t len)
{
    size_t page = page_from(c, row);
    if (page_start(c, page) != row)
        return row;
    while (page < c->keys.page_count && page_is_below(c, page, bound, len))
        page++;
    return page_start(c, page);
}

/* ---- reading around them ------------------------------------------------------------------------------- */

sl_status run_copy_before(struct run_copy *c)
{
    bool found;
    SL_TRY(open_group_of(c, c->at, &found));
    sl_parquet_scan_steer(c->scan, c->at, found ? page_start(c, page_from(c, c->at + 1)) : c->at);
    return SL_OK;
}

void run_copy_after(struct run_copy *c, int64_t rows) { c->at += rows; }

/* ---- stretches ----------------------------------------------------------------------------------------- */

/* Takes over the units. */
static sl_status add_piece(struct run_copy *c, sl_parquet_units *units, size_t first, size_t count)
{
    if (c->piece_count == c->piece_cap) {
        size_t cap = c->piece_cap ? c->piece_cap * 2 : 4;
        struct piece *grown = sl_realloc_array(c->pieces, cap, sizeof *grown);
        if (!grown) {
            sl_parquet_units_unref(units);
            return sl_nomem();
        }
        c->pieces = grown;
        c->piece_cap = cap;
    }
    c->pieces[c->piece_count++] = (struct piece){units, first, count};
    return SL_OK;
}

struct stretch {
    size_t units;
    int64_t rows;
    bool whole_group; /* one at least */
};

static sl_status add_whole_group(struct run_copy *c, struct stretch *s)
{
    sl_parquet_units *units;
    SL_TRY(sl_parquet_units_whole(c->source->parquet, c->group, &units));
    s->units++;
    s->rows += units->rows[units->count];
    s->whole_group = true;
    return add_piece(c, units, 0, units->count);
}

/* The first unit that begins at or behind a row of the group. */
static size_t unit_from(const sl_parquet_units *units, int64_t row)
{
    size_t unit = 0;
    while (unit < units->count && units->rows[unit] < row)
        unit++;
    return unit;
}

/* The units in the rows [first, end) of the open group, if one begins at the first. */
static sl_status add_units(struct run_copy *c, int64_t first, int64_t end, struct stretch *s)
{
    if (!c->units)
        SL_TRY(sl_parquet_units_load(c->source->parquet, c->group, &c->units));
    const int64_t *rows = c->units->rows;
    size_t unit = unit_from(c->units, first), last = unit;
    if (unit == c->units->count || rows[unit] != first)
        return SL_OK;
    while (last < c->units->count && rows[last + 1] <= end)
        last++;
    if (last == unit)
        return SL_OK;
    s->units += last - unit;
    s->rows += rows[last] - first;
    return add_piece(c, sl_parquet_units_ref(c->units), unit, last - unit);
}

/* What of the open group from row `at` of the file on is below the bound; *end: all up to its end is. */
static sl_status extend_in_group(struct run_copy *c, int64_t at, const uint8_t *bound, size_t len,
                                 struct stretch *s, bool *end)
{
    int64_t below = rows_below_end(c, at, bound, len), before = s->rows;
    *end = false;
    if (below == at)
        return SL_OK;
    if (at == c->group_first && below == group_end(c))
        SL_TRY(add_whole_group(c, s));
    else
        SL_TRY(add_units(c, at - c->group_first, below - c->group_first, s));
    *end = at + s->rows - before == group_end(c);
    return SL_OK;
}

static bool is_worth_it(const struct run_copy *c, const struct stretch *s)
{
    if (s->units < STRETCH_UNITS && s->rows < STRETCH_ROWS && !s->whole_group)
        return false;
    double share = (double)s->rows / (double)sl_parquet_rows(c->source->parquet);
    uint64_t bytes = (uint64_t)(share * (double)sl_file_size(c->source->file));
    return file_writer_groups_fit(c->to, c->piece_count, bytes);
}

/* ---- logs ---------------------------------------------------------------------------------------------- */

struct log_check {
    sl_buf last; /* key */
    bool any, plain;
};

/* Each key above the one before, and no row a delete. */
static sl_status check_batch(const sl_batch *batch, struct log_check *check)
{
    const sl_array *keys = batch->columns[0];
    const sl_array *flags = batch->schema->field_count > 1 ? batch->columns[1] : NULL;
    const uint8_t *last = check->last.data, *key = NULL;
    size_t last_len = check->last.len, len = 0;
    for (int64_t i = 0; i < batch->rows && check->plain; i++) {
        key = sl_bytes_at(keys, i, &len);
        check->plain = sl_is_valid(keys, i) && (!check->any || bytes_compare(last, last_len, key, len) < 0) &&
                       !(flags && sl_is_valid(flags, i) && sl_bool_at(flags, i));
        check->any = true;
        last = key;
        last_len = len;
    }
    check->last.len = 0;
    return sl_buf_append(&check->last, key, len);
}

/* The row behind them is looked at too: it may repeat the last key, which then must not leave by itself. */
static sl_status check_rows(const struct run_copy *c, int64_t first, int64_t rows, bool *plain)
{
    const char *columns[] = {sl_meta_names[SL_META_RECORD_KEY], c->flag};
    bool is_end = first + rows == sl_parquet_rows(c->source->parquet);
    struct sl_row_range range = {first, is_end ? rows : rows + 1};
    struct log_check check = {.plain = true};
    sl_stream *stream;
    SL_TRY(sl_parquet_scan(
        c->source->parquet,
        &(struct sl_parquet_scan_options){
            .columns = columns, .column_count = c->flag ? 2 : 1, .ranges = &range, .range_count = 1},
        &stream));
    sl_status status = SL_OK;
    while (!status && check.plain) {
        sl_batch *batch;
        status = sl_stream_next(stream, &batch);
        if (status || !batch)
            break;
        status = check_batch(batch, &check);
        sl_batch_unref(batch);
    }
    sl_stream_close(stream);
    sl_buf_free(&check.last);
    *plain = check.plain;
    return status;
}

/* Whether the key of the next row is above another: by the lower bound of the page that it begins. */
static sl_status above(void *context, const uint8_t *key, size_t len, bool *is_above)
{
    struct run_copy *c = context;
    bool found;
    *is_above = false;
    SL_TRY(open_group_of(c, c->at, &found));
    for (size_t i = 0; found && i < c->keys.page_count; i++) {
        size_t min_len;
        if (c->keys.pages[i].first_row != c->at || !c->keys.pages[i].has_bounds)
            continue;
        const uint8_t *min = sl_bytes_at(c->keys.min, (int64_t)i, &min_len);
        *is_above = bytes_compare(min, min_len, key, len) > 0;
    }
    return SL_OK;
}

/* ---- the offer ----------------------------------------------------------------------------------------- */

/* The units from the next row on that are below the bound, over row groups. */
static sl_status find_stretch(struct run_copy *c, const uint8_t *bound, size_t len, struct stretch *s)
{
    bool more = true;
    *s = (struct stretch){0};
    drop_pieces(c);
    while (more) {
        SL_TRY(open_group_of(c, c->at + s->rows, &more));
        if (more)
            SL_TRY(extend_in_group(c, c->at + s->rows, bound, len, s, &more));
    }
    return SL_OK;
}

static sl_status offer(void *context, const uint8_t *bound, size_t len, int64_t *rows)
{
    struct run_copy *c = context;
    struct stretch s;
    bool plain = true;
    *rows = 0;
    if (c->refuses || c->at < c->again)
        return SL_OK;
    SL_TRY(find_stretch(c, bound, len, &s));
    c->again = c->at + s.rows;
    if (s.rows == 0 || !is_worth_it(c, &s))
        return SL_OK;
    if (c->is_log)
        SL_TRY(check_rows(c, c->at, s.rows, &plain));
    c->refuses = !plain;
    if (!plain)
        return SL_OK;
    *rows = s.rows;
    c->at += s.rows;
    return SL_OK;
}

static sl_status copy(void *context)
{
    struct run_copy *c = context;
    for (size_t i = 0; i < c->piece_count; i++) {
        const struct piece *p = &c->pieces[i];
        SL_TRY(sl_file_writer_copy(c->to, c->source->parquet, p->units, p->first, p->count, c->stats));
    }
    drop_pieces(c);
    return SL_OK;
}

struct sl_run_copy run_copy_for_merge(struct run_copy *c)
{
    return (struct sl_run_copy){.context = c, .offer = offer, .copy = copy, .above = above};
}
