/*
 * Collecting rows to sort: they are copied into chunks in arrival order, under the budget. sorted_rows.c gives them back in
 * key order, sorter_runs.c spills them and hands out the runs.
 */
#include "merge/merge_int.h"

/* A chunk is closed when it has grown so far. Large: the rows of one chunk are gathered with one call a
 * column. */
#define CHUNK_BYTES ((size_t)512 << 20)
/* ... and before an append could take its offsets to 2^31. */
#define CHUNK_BYTES_MAX ((size_t)1 << 30)
#define ROW_OVERHEAD    (2 * sizeof(struct sort_entry))

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

/* It is that of the rows before others came, or went. */
static void forget_order(sl_sorter *s)
{
    sl_free(s->entries);
    s->entries = NULL;
    s->entry_count = 0;
}

void sorter_drop_memory(sl_sorter *s)
{
    for (size_t i = 0; i < s->chunk_count; i++)
        sl_batch_unref(s->chunks[i]);
    s->chunk_count = 0;
    s->chunk_bytes = 0;
    forget_order(s);
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

sl_status sorter_close_chunk(sl_sorter *s)
{
    if (s->builder_rows == 0)
        return SL_OK;
    SL_GROW(s->chunks, s->chunk_count, s->chunk_cap, 8);
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
            return sl_at_row(sl_input("the key column %s is null", s->schema->fields[s->key].name), rows[i]);
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
    forget_order(s);
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
    size_t estimate = (sl_batch_plain_bytes(batch) / (size_t)batch->rows + 1 + ROW_OVERHEAD) * count;
    if (!reserve(s, estimate))
        return sl_nomem();
    sl_status status = SL_OK;
    if (s->builder_rows && (sl_batch_builder_bytes(&s->builder) + estimate > CHUNK_BYTES_MAX ||
                            s->builder_rows + count > INT32_MAX))
        status = sorter_close_chunk(s);
    if (status == SL_OK)
        status = copy_rows(s, batch, rows, count);
    if (status == SL_OK && sl_batch_builder_bytes(&s->builder) >= s->chunk_target)
        status = sorter_close_chunk(s);
    s->failed = status != SL_OK; /* the builder may only be freed now */
    settle_reservation(s);
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
