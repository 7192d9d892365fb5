/*
 * What a sorter hands out: runs, oldest first, those that were spilled and the rows still in memory. Spilled runs stay in order
 * of age, which is what makes the whole sort stable.
 */
#include "merge/merge_int.h"

/* ---- spilling ------------------------------------------------------------------------------------------ */

static sl_status spilled_reserve(sl_sorter *s)
{
    SL_GROW(s->spilled, s->spilled_count, s->spilled_cap, 16);
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
    sl_stream *sorted;
    SL_TRY(sorted_rows_open(s, &sorted));
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
    size_t n = s->spilled_count + in_memory;
    struct sl_run *runs;
    SL_NEW_ARRAY(runs, n ? n : 1);
    sl_status status = open_spilled(s, 0, s->spilled_count, runs);
    if (status != SL_OK) {
        sl_free(runs);
        return status;
    }
    if (in_memory) {
        status = sorted_rows_open(s, &runs[s->spilled_count].rows);
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

#define SORT_SHARE 4 /* of the memory budget: others run beside the sort, and some of them sort too */

struct sort_stream {
    sl_stream base;
    sl_budget pool; /* part of the budget */
    sl_runtime runtime;
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

static sl_status append_batch(void *context, sl_batch *batch) { return sl_sorter_append_all(context, batch); }

sl_status sl_sorter_append_stream(sl_sorter *sorter, sl_stream *rows, const sl_runtime *runtime)
{
    return sl_stream_drain(rows, runtime, append_batch, sorter);
}

sl_status sl_sort_stream(sl_stream *input, const char *key_column, const sl_runtime *runtime, sl_stream **out)
{
    struct sort_stream *s = sl_calloc(1, sizeof *s);
    struct sl_run *runs = NULL;
    size_t count = 0;
    sl_status status = s ? SL_OK : sl_nomem();
    if (status != SL_OK)
        goto done;
    s->pool = (sl_budget){.limit = sl_budget_share(runtime->budget, SORT_SHARE, 1, SIZE_MAX),
                          .parent = runtime->budget};
    s->runtime = *runtime;
    s->runtime.budget = &s->pool;
    SL_GO(sl_sorter_new(input->schema, key_column, &s->runtime, &s->sorter));
    s->base = (sl_stream){s->sorter->schema, sort_next, sort_close};
    SL_GO(sl_sorter_append_stream(s->sorter, input, &s->runtime));
    SL_GO(sl_sorter_finish(s->sorter, sl_spill_fan_in(runtime, 1), &runs, &count));
    SL_GO(open_keeping_all(s->sorter->schema, s->sorter->key, &s->runtime, runs, count, &s->merged));
    *out = &s->base;
    s = NULL;
done:
    sl_free(runs);
    if (s)
        sort_close(&s->base);
    sl_stream_close(input);
    return status;
}
