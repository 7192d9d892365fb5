/* The rows that a sorter has in memory, in key order: sorting moves 16-byte references only, the rows are gathered once, when
 * they are read or spilled. */
#include "merge/merge_int.h"

enum { BATCH_ROWS = 16384 };
#define BATCH_BYTES_LEAST  ((size_t)256 << 10)
#define BATCH_BYTES_MOST   ((size_t)16 << 20)
#define BATCH_BUDGET_SHARE 64

static void fill_entries(const sl_sorter *s, struct sort_entry *entries)
{
    size_t n = 0;
    for (size_t c = 0; c < s->chunk_count; c++)
        for (int64_t row = 0; row < s->chunks[c]->rows; row++)
            entries[n++] = (struct sort_entry){0, (uint32_t)c, (uint32_t)row};
}

static sl_status sort_rows(sl_sorter *s)
{
    const sl_array **keys = NULL;
    struct sort_entry *spare = NULL;
    sl_status status = SL_OK;
    SL_GO(sorter_close_chunk(s));
    keys = sl_calloc(s->chunk_count, sizeof *keys);
    spare = sl_realloc_array(NULL, s->rows_in_memory, sizeof *spare);
    s->entries = sl_realloc_array(NULL, s->rows_in_memory, sizeof *s->entries);
    if (!keys || !spare || !s->entries)
        SL_GO(sl_nomem());
    for (size_t c = 0; c < s->chunk_count; c++)
        keys[c] = s->chunks[c]->columns[s->key];
    fill_entries(s, s->entries);
    sort_entries(s->entries, spare, s->rows_in_memory, keys);
    s->entry_count = s->rows_in_memory;
done:
    sl_free(spare);
    sl_free(keys);
    if (status != SL_OK) {
        sl_free(s->entries);
        s->entries = NULL;
    }
    return status;
}

struct sorted_stream {
    sl_stream base;
    const sl_sorter *sorter;
    size_t at;
    size_t batch_rows;
    sl_batch_builder builder;
    uint32_t *rows;
};

/* How many entries from `from` on lie in one chunk; their rows go to st->rows. */
static size_t chunk_stretch(struct sorted_stream *st, size_t from, size_t to, bool *contiguous)
{
    const struct sort_entry *e = st->sorter->entries + from;
    size_t count = 0;
    *contiguous = true;
    for (; from + count < to && e[count].chunk == e->chunk; count++) {
        st->rows[count] = e[count].row;
        *contiguous &= e[count].row == e->row + count;
    }
    return count;
}

static sl_status gather_stretch(struct sorted_stream *st, const sl_batch *chunk, size_t count,
                                bool contiguous)
{
    for (size_t c = 0; c < chunk->schema->field_count; c++) {
        sl_builder *b = st->builder.columns[c];
        sl_status status = contiguous
                               ? sl_builder_append_range(b, chunk->columns[c], st->rows[0], (int64_t)count)
                               : sl_builder_append_rows(b, chunk->columns[c], st->rows, count);
        SL_TRY_CTX(status, "column %s", chunk->schema->fields[c].name);
    }
    return SL_OK;
}

static sl_status sorted_next(sl_stream *self, sl_batch **out)
{
    struct sorted_stream *st = (struct sorted_stream *)self;
    *out = NULL;
    SL_TRY(sl_check_cancel(st->sorter->runtime));
    size_t left = st->sorter->entry_count - st->at;
    if (left == 0)
        return SL_OK;
    size_t end = st->at + (left < st->batch_rows ? left : st->batch_rows);
    while (st->at < end) {
        bool contiguous;
        uint32_t chunk = st->sorter->entries[st->at].chunk;
        size_t count = chunk_stretch(st, st->at, end, &contiguous);
        SL_TRY(gather_stretch(st, st->sorter->chunks[chunk], count, contiguous));
        st->at += count;
    }
    return sl_batch_builder_finish(&st->builder, out);
}

static void sorted_close(sl_stream *self)
{
    struct sorted_stream *st = (struct sorted_stream *)self;
    sl_batch_builder_free(&st->builder);
    sl_free(st->rows);
    sl_free(st);
}

static size_t batch_rows_for(const sl_sorter *s)
{
    size_t row_bytes = s->rows_in_memory ? s->chunk_bytes / s->rows_in_memory + 1 : 1;
    size_t rows = sl_budget_share(sorter_budget(s), BATCH_BUDGET_SHARE, BATCH_BYTES_LEAST, BATCH_BYTES_MOST) /
                  row_bytes;
    return rows < 1 ? 1 : rows > BATCH_ROWS ? BATCH_ROWS : rows;
}

static sl_status open_sorted(const sl_sorter *s, sl_stream **out)
{
    struct sorted_stream *st;
    SL_NEW(st);
    st->base = (sl_stream){s->schema, sorted_next, sorted_close};
    st->sorter = s;
    st->batch_rows = batch_rows_for(s);
    sl_status status = sl_batch_builder_init(&st->builder, s->schema);
    if (status == SL_OK && !(st->rows = sl_calloc(st->batch_rows, sizeof *st->rows)))
        status = sl_nomem();
    if (status != SL_OK) {
        sorted_close(&st->base);
        return status;
    }
    *out = &st->base;
    return SL_OK;
}

sl_status sl_sorter_sort(sl_sorter *s)
{
    if (s->failed || s->finished)
        return sl_internal("a sorter that has %s cannot sort", s->failed ? "failed" : "finished");
    return s->entries || s->rows_in_memory == 0 ? SL_OK : sort_rows(s);
}

sl_status sorted_rows_open(sl_sorter *s, sl_stream **out)
{
    if (!s->entries)
        SL_TRY(sort_rows(s));
    return open_sorted(s, out);
}
