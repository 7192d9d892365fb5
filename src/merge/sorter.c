/*
 * Rows are copied into chunks in arrival order; sorting moves 16-byte references only, and the sorted rows
 * are gathered once, when they are read or spilled. Spilled runs stay in order of age, which is what makes
 * the whole sort stable.
 */
#include "merge/merge_int.h"

enum { BATCH_ROWS = 16384 };
#define BATCH_BYTES_LEAST  ((size_t)256 << 10)
#define BATCH_BYTES_MOST   ((size_t)16 << 20)
#define BATCH_BUDGET_SHARE 64
/* A chunk is closed when it has grown so far. Large: the rows of one chunk are gathered with one call a
 * column. */
#define CHUNK_BYTES ((size_t)512 << 20)
/* ... and before an append could take its offsets to 2^31. */
#define CHUNK_BYTES_MAX ((size_t)1 << 30)
#define ROW_OVERHEAD    (2 * sizeof(struct sort_entry))

struct sl_sorter {
    const sl_type *schema;
    int key;
    const sl_runtime *runtime;
    sl_batch_builder builder;
    size_t builder_rows;
    sl_batch **chunks;
    size_t chunk_count, chunk_cap;
    size_t chunk_bytes;  /* of the closed ones */
    size_t chunk_target; /* CHUNK_BYTES, less in tests */
    size_t rows_in_memory;
    uint64_t rows;
    size_t reserved;            /* of the budget */
    struct sort_entry *entries; /* sorted, once sorted */
    size_t entry_count;
    sl_spill *file;            /* NULL: nothing was spilled */
    sl_spill *own;             /* the same, or that of merged runs; NULL: none */
    struct spill_run *spilled; /* oldest first */
    size_t spilled_count, spilled_cap;
    bool failed, finished;
    bool is_forced;     /* this append goes over the budget if it must */
    uint32_t *all_rows; /* 0, 1, 2, ... */
    size_t all_rows_cap;
};

sl_status sl_sorter_new(const sl_type *schema, const char *key_column, const sl_runtime *runtime,
                        sl_sorter **out)
{
    int key = sl_type_field_index(schema, key_column);
    if (key < 0)
        return sl_input("no key column %s to sort by", key_column);
    if (schema->fields[key].type->id != SL_STRING && schema->fields[key].type->id != SL_BINARY)
        return sl_input("the key column %s is not a string", key_column);
    sl_sorter *s;
    SL_NEW(s);
    s->schema = sl_type_ref(schema);
    s->key = key;
    s->runtime = runtime;
    s->chunk_target = CHUNK_BYTES;
    sl_status status = sl_batch_builder_init(&s->builder, schema);
    if (status != SL_OK) {
        sl_sorter_free(s);
        return status;
    }
    *out = s;
    return SL_OK;
}

static sl_budget *sorter_budget(const sl_sorter *s) { return s->runtime ? s->runtime->budget : NULL; }

/* Forgets the rows in memory. */
static void sorter_drop_memory(sl_sorter *s)
{
    for (size_t i = 0; i < s->chunk_count; i++)
        sl_batch_unref(s->chunks[i]);
    s->chunk_count = 0;
    s->chunk_bytes = 0;
    sl_free(s->entries);
    s->entries = NULL;
    s->entry_count = 0;
    s->rows_in_memory = 0;
    if (sorter_budget(s))
        sl_budget_release(sorter_budget(s), s->reserved);
    s->reserved = 0;
}

void sl_sorter_free(sl_sorter *s)
{
    if (!s)
        return;
    sorter_drop_memory(s);
    sl_free(s->chunks);
    sl_batch_builder_free(&s->builder);
    sl_spill_free(s->own);
    sl_free(s->spilled);
    sl_free(s->all_rows);
    sl_type_unref(s->schema);
    sl_free(s);
}

size_t sl_sorter_memory(const sl_sorter *s)
{
    return s->chunk_bytes + (s->builder_rows ? sl_batch_builder_allocated(&s->builder) : 0) +
           s->rows_in_memory * ROW_OVERHEAD;
}

bool sl_sorter_usable(const sl_sorter *s) { return !s->failed && !s->finished; }

void sorter_set_chunk_bytes(sl_sorter *s, size_t bytes) { s->chunk_target = bytes; }

uint64_t sl_sorter_rows(const sl_sorter *s) { return s->rows; }

/* ---- collecting ---------------------------------------------------------------------------------------- */

static sl_status close_chunk(sl_sorter *s)
{
    if (s->builder_rows == 0)
        return SL_OK;
    if (s->chunk_count == s->chunk_cap) {
        size_t cap = s->chunk_cap ? 2 * s->chunk_cap : 8;
        sl_batch **grown = sl_realloc_array(s->chunks, cap, sizeof *grown);
        if (!grown)
            return sl_nomem();
        s->chunks = grown;
        s->chunk_cap = cap;
    }
    sl_batch *chunk;
    size_t bytes = sl_batch_builder_allocated(&s->builder);
    SL_TRY(sl_batch_builder_finish(&s->builder, &chunk));
    s->chunks[s->chunk_count++] = chunk;
    s->chunk_bytes += bytes;
    s->builder_rows = 0;
    return SL_OK;
}

static sl_status check_keys(const sl_sorter *s, const sl_batch *batch, const uint32_t *rows, size_t count)
{
    const sl_array *key = batch->columns[s->key];
    if (key->null_count == 0)
        return SL_OK;
    for (size_t i = 0; i < count; i++)
        if (!sl_is_valid(key, rows[i]))
            return sl_input("row %" PRIu32 ": the key column %s is null", rows[i],
                            s->schema->fields[s->key].name);
    return SL_OK;
}

/* Reserves before anything is copied, so that a refused append leaves nothing half done. What has the budget for itself
 * may go over it as far as one reservation that would fit alone: sizes of variable rows are estimates. */
static bool reserve(sl_sorter *s, size_t bytes)
{
    sl_budget *budget = sorter_budget(s);
    if (!sl_budget_reserve(budget, bytes)) { /* never without a budget */
        if (!s->is_forced && (atomic_load(&budget->used) > 0 || (budget->limit && bytes > budget->limit)))
            return false;
        sl_budget_force(budget, bytes);
    }
    s->reserved += bytes;
    return true;
}

static sl_status copy_rows(sl_sorter *s, const sl_batch *batch, const uint32_t *rows, size_t count)
{
    for (size_t c = 0; c < s->schema->field_count; c++)
        SL_TRY_CTX(sl_builder_append_rows(s->builder.columns[c], batch->columns[c], rows, count), "column %s",
                   s->schema->fields[c].name);
    s->builder_rows += count;
    s->rows_in_memory += count;
    s->rows += count;
    return SL_OK;
}

static void settle_reservation(sl_sorter *s)
{
    size_t real = sl_sorter_memory(s);
    if (sorter_budget(s) && real > s->reserved) {
        sl_budget_force(sorter_budget(s), real - s->reserved);
        s->reserved = real;
    }
}

sl_status sl_sorter_append(sl_sorter *s, const sl_batch *batch, const uint32_t *rows, size_t count)
{
    if (s->failed || s->finished)
        return sl_internal("an append to a sorter that has %s", s->failed ? "failed" : "finished");
    if (count == 0)
        return SL_OK;
    if (batch->schema->field_count != s->schema->field_count)
        return sl_internal("a batch of another schema than the sorter's");
    SL_TRY(check_keys(s, batch, rows, count));
    size_t estimate = (sl_batch_bytes(batch) / (size_t)batch->rows + 1 + ROW_OVERHEAD) * count;
    if (!reserve(s, estimate))
        return sl_nomem();
    sl_status status = SL_OK;
    if (s->builder_rows && (sl_batch_builder_bytes(&s->builder) + estimate > CHUNK_BYTES_MAX ||
                            s->builder_rows + count > INT32_MAX))
        status = close_chunk(s);
    if (status == SL_OK)
        status = copy_rows(s, batch, rows, count);
    if (status == SL_OK && sl_batch_builder_bytes(&s->builder) >= s->chunk_target)
        status = close_chunk(s);
    s->failed = status != SL_OK; /* the builder may only be freed now */
    settle_reservation(s);
    return status;
}

/* ---- sorting ------------------------------------------------------------------------------------------- */

static void fill_entries(const sl_sorter *s, struct sort_entry *entries)
{
    size_t n = 0;
    for (size_t c = 0; c < s->chunk_count; c++)
        for (int64_t row = 0; row < s->chunks[c]->rows; row++)
            entries[n++] = (struct sort_entry){0, (uint32_t)c, (uint32_t)row};
}

static sl_status sorter_sort(sl_sorter *s)
{
    const sl_array **keys = NULL;
    struct sort_entry *spare = NULL;
    sl_status status = SL_OK;
    SL_GO(close_chunk(s));
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

/* The rows in memory in sorted order; borrows the sorter. */
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

static sl_status gather_stretch(struct sorted_stream *st, const sl_batch *chunk, size_t count, bool contiguous)
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

static sl_status sorted_open(const sl_sorter *s, sl_stream **out)
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

/* ---- spilling ------------------------------------------------------------------------------------------ */

static sl_status spilled_reserve(sl_sorter *s)
{
    if (s->spilled_count < s->spilled_cap)
        return SL_OK;
    size_t cap = s->spilled_cap ? 2 * s->spilled_cap : 16;
    struct spill_run *grown = sl_realloc_array(s->spilled, cap, sizeof *grown);
    if (!grown)
        return sl_nomem();
    s->spilled = grown;
    s->spilled_cap = cap;
    return SL_OK;
}

void sl_sorter_share(sl_sorter *s, sl_spill *spill) { s->file = spill; }

static sl_status own_file(sl_sorter *s) { return s->own ? SL_OK : sl_spill_new(s->runtime, &s->own); }

/* A builder expects the next rows to need as much as the last ones; after a spill the memory is for those who want it. */
static sl_status forget_expectations(sl_sorter *s)
{
    sl_batch_builder_free(&s->builder);
    s->builder = (sl_batch_builder){0};
    return sl_batch_builder_init(&s->builder, s->schema);
}

static sl_status spill_memory(sl_sorter *s)
{
    SL_TRY(spilled_reserve(s));
    if (!s->file) {
        SL_TRY(own_file(s));
        s->file = s->own;
    }
    if (!s->entries)
        SL_TRY(sorter_sort(s));
    sl_stream *sorted;
    SL_TRY(sorted_open(s, &sorted));
    sl_status status = spill_write(s->file, sorted, &s->spilled[s->spilled_count]);
    sl_stream_close(sorted);
    SL_TRY(status);
    s->spilled_count++;
    sorter_drop_memory(s);
    return forget_expectations(s);
}

sl_status sl_sorter_spill(sl_sorter *s)
{
    if (s->failed)
        return sl_internal("a spill of a sorter that has failed");
    if (s->rows_in_memory == 0)
        return SL_OK;
    sl_status status = spill_memory(s);
    s->failed = status != SL_OK;
    return status;
}

/* ---- collecting by force ------------------------------------------------------------------------------- */

static bool found_no_room(const sl_sorter *s, sl_status status)
{
    return sl_status_code(status) == SL_E_MEMORY && sl_sorter_usable(s);
}

sl_status sl_sorter_force(sl_sorter *s, const sl_batch *batch, const uint32_t *rows, size_t count)
{
    sl_status status = sl_sorter_append(s, batch, rows, count);
    if (!found_no_room(s, status))
        return status;
    sl_status_free(status);
    SL_TRY(sl_sorter_spill(s));
    s->is_forced = true;
    status = sl_sorter_append(s, batch, rows, count);
    s->is_forced = false;
    return status;
}

static sl_status all_rows_reserve(sl_sorter *s, size_t count)
{
    if (count <= s->all_rows_cap)
        return SL_OK;
    uint32_t *grown = sl_realloc_array(s->all_rows, count, sizeof *grown);
    if (!grown)
        return sl_nomem();
    for (size_t i = s->all_rows_cap; i < count; i++)
        grown[i] = (uint32_t)i;
    s->all_rows = grown;
    s->all_rows_cap = count;
    return SL_OK;
}

sl_status sl_sorter_append_all(sl_sorter *s, const sl_batch *batch)
{
    SL_TRY(all_rows_reserve(s, (size_t)batch->rows));
    return sl_sorter_force(s, batch, s->all_rows, (size_t)batch->rows);
}

/* ---- finishing ----------------------------------------------------------------------------------------- */

static void close_runs(struct sl_run *runs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sl_stream_close(runs[i].rows);
    sl_free(runs);
}

static sl_status open_spilled(const sl_sorter *s, size_t from, size_t count, struct sl_run *runs)
{
    for (size_t i = 0; i < count; i++) {
        sl_status status = spill_read(&s->spilled[from + i], s->schema, &runs[i].rows);
        if (status != SL_OK) {
            for (size_t j = 0; j < i; j++)
                sl_stream_close(runs[j].rows);
            return status;
        }
        runs[i].name = "spilled run";
    }
    return SL_OK;
}

/* All records of the runs, by (key, run, row). Takes over the streams. */
static sl_status open_keeping_all(const sl_type *schema, int key, const sl_runtime *runtime,
                                  const struct sl_run *runs, size_t count, sl_stream **out)
{
    struct sl_merge_options options = {.key_column = schema->fields[key].name,
                                       .keep_duplicates = true,
                                       .schema = schema,
                                       .runtime = runtime};
    return sl_merge_open(runs, count, &options, NULL, out);
}

/* Spilled runs [from, from + count) become the one at `to`. */
static sl_status merge_stretch(sl_sorter *s, size_t from, size_t count, size_t to)
{
    struct sl_run *runs;
    SL_NEW_ARRAY(runs, count);
    sl_stream *merged = NULL;
    sl_status status = open_spilled(s, from, count, runs);
    if (status == SL_OK)
        status = open_keeping_all(s->schema, s->key, s->runtime, runs, count, &merged);
    if (status == SL_OK)
        status = own_file(s);
    if (status == SL_OK)
        status = spill_write(s->own, merged, &s->spilled[to]);
    sl_stream_close(merged);
    sl_free(runs);
    return status;
}

/* Merges neighbours until at most `target` spilled runs are left, `ways` at a time. When one merge of a
 * prefix is enough it is just that one; else a whole pass over all of them, so that no row is rewritten more
 * than log times. */
static sl_status reduce_runs(sl_sorter *s, size_t target, size_t ways)
{
    while (s->spilled_count > target) {
        size_t excess = s->spilled_count - target + 1;
        bool one_is_enough = excess <= ways;
        size_t kept = 0, at = 0;
        while (at < s->spilled_count) {
            size_t left = s->spilled_count - at;
            size_t take = one_is_enough ? (at == 0 ? excess : 1) : (left < ways ? left : ways);
            if (take > 1)
                SL_TRY(merge_stretch(s, at, take, kept));
            else
                s->spilled[kept] = s->spilled[at];
            kept++;
            at += take;
        }
        s->spilled_count = kept;
    }
    return SL_OK;
}

static sl_status sorter_finish(sl_sorter *s, size_t fan_in, struct sl_run **out, size_t *count)
{
    size_t limit = fan_in > 0 ? fan_in : 1;
    if (limit == 1 && s->spilled_count > 0)
        SL_TRY(sl_sorter_spill(s));
    bool in_memory = s->rows_in_memory > 0;
    SL_TRY(reduce_runs(s, in_memory && limit > 1 ? limit - 1 : limit, limit > 2 ? limit : 2));
    if (in_memory && !s->entries)
        SL_TRY(sorter_sort(s));
    size_t n = s->spilled_count + in_memory;
    struct sl_run *runs;
    SL_NEW_ARRAY(runs, n ? n : 1);
    sl_status status = open_spilled(s, 0, s->spilled_count, runs);
    if (status != SL_OK) {
        sl_free(runs);
        return status;
    }
    if (in_memory) {
        status = sorted_open(s, &runs[s->spilled_count].rows);
        if (status != SL_OK) {
            close_runs(runs, s->spilled_count);
            return status;
        }
        runs[s->spilled_count].name = "sorted rows";
    }
    *out = runs;
    *count = n;
    return SL_OK;
}

sl_status sl_sorter_finish(sl_sorter *s, size_t fan_in, struct sl_run **runs, size_t *count)
{
    if (s->failed || s->finished)
        return sl_internal("a sorter that has %s cannot finish", s->failed ? "failed" : "finished");
    sl_status status = sorter_finish(s, fan_in, runs, count);
    s->failed = status != SL_OK;
    s->finished = status == SL_OK;
    return status;
}

/* ---- a stream, sorted ---------------------------------------------------------------------------------- */

struct sort_stream {
    sl_stream base;
    sl_sorter *sorter;
    sl_stream *merged;
};

static sl_status sort_next(sl_stream *self, sl_batch **out)
{
    return sl_stream_next(((struct sort_stream *)self)->merged, out);
}

static void sort_close(sl_stream *self)
{
    struct sort_stream *s = (struct sort_stream *)self;
    sl_stream_close(s->merged);
    sl_sorter_free(s->sorter);
    sl_free(s);
}

static sl_status append_all(sl_sorter *sorter, sl_stream *input)
{
    for (;;) {
        sl_batch *batch;
        SL_TRY(sl_check_cancel(sorter->runtime));
        SL_TRY(sl_stream_next(input, &batch));
        if (!batch)
            return SL_OK;
        sl_status status = sl_sorter_append_all(sorter, batch);
        sl_batch_unref(batch);
        SL_TRY(status);
    }
}

sl_status sl_sort_stream(sl_stream *input, const char *key_column, const sl_runtime *runtime, sl_stream **out)
{
    struct sort_stream *s = sl_calloc(1, sizeof *s);
    struct sl_run *runs = NULL;
    size_t count = 0;
    sl_status status = s ? SL_OK : sl_nomem();
    if (status != SL_OK)
        goto done;
    SL_GO(sl_sorter_new(input->schema, key_column, runtime, &s->sorter));
    s->base = (sl_stream){s->sorter->schema, sort_next, sort_close};
    SL_GO(append_all(s->sorter, input));
    SL_GO(sl_sorter_finish(s->sorter, sl_spill_fan_in(runtime, 1), &runs, &count));
    SL_GO(open_keeping_all(s->sorter->schema, s->sorter->key, runtime, runs, count, &s->merged));
    *out = &s->base;
    s = NULL;
done:
    sl_free(runs);
    if (s)
        sort_close(&s->base);
    sl_stream_close(input);
    return status;
}
