/*
 * Merges of more runs than may be open at once (spec/lsm-layout.md 11). Neighbouring runs, the base never among them,
 * are folded into operands that behave like them after any older record (operands.c); these take their place as
 * temporary runs, until few enough are left for one merge. In the default layout only the oldest runs may be
 * folded, since its fold begins at the oldest log (8.1).
 */
#include "merge/merge_int.h"
#include <assert.h>

enum {
    KINDS = 4,       /* runs that a fold leaves at most: rows and deletes, first and second operands */
    GROUP_LEAST = 5, /* folding fewer runs might not make them less */
};
_Static_assert(SL_MERGE_OPEN_LEAST > GROUP_LEAST, "with a base open a group still fits");

/* A run of the list, or a temporary one. */
struct pending {
    size_t index;
    bool spilled;
    int kind; /* of a temporary run: its file */
    struct spill_run at;
};
struct passes {
    const struct sl_run_list *list;
    struct sl_merge_options options; /* of the folds */
    const sl_type *delete_type;
    struct pending *runs;
    size_t count, first;    /* runs from `first` on may be folded */
    sl_spill *files[KINDS]; /* runs of one kind, one behind the other */
    sl_buf scratch;
    struct sl_merge_counts before; /* what the folds add to the counts of the last merge */
};

static bool kind_is_deletes(int kind) { return kind & 1; }

/* ---- one fold ------------------------------------------------------------------------------------------ */

static sl_status spill(struct passes *p, int kind, sl_batch *batch)
{
    if (!p->files[kind])
        SL_TRY(sl_spill_new(p->options.runtime, &p->files[kind]));
    return spill_append(p->files[kind], &p->scratch, batch);
}

static sl_status spill_rows(void *context, sl_batch *batch, bool second)
{
    return spill(context, second ? 2 : 0, batch);
}

static sl_status spill_deletes(void *context, sl_batch *batch, bool second)
{
    return spill(context, second ? 3 : 1, batch);
}

static sl_status open_one(struct passes *p, const struct pending *run, struct sl_run *out)
{
    *out = (struct sl_run){0};
    if (!run->spilled)
        return p->list->open(p->list->context, run->index, out);
    out->is_deletes = kind_is_deletes(run->kind);
    out->name = "(temporary)";
    return spill_read(&run->at, out->is_deletes ? p->delete_type : p->options.schema, &out->rows);
}

/* Either all of them or none. */
static sl_status open_runs(struct passes *p, size_t from, size_t count, struct sl_run **out)
{
    struct sl_run *runs;
    SL_NEW_ARRAY(runs, count + 1);
    sl_status status = SL_OK;
    size_t opened = 0;
    while (opened < count && status == SL_OK) {
        status = open_one(p, &p->runs[from + opened], &runs[opened]);
        opened += status == SL_OK;
    }
    if (status == SL_OK) {
        *out = runs;
        return SL_OK;
    }
    for (size_t i = 0; i < opened; i++)
        sl_stream_close(runs[i].rows);
    sl_free(runs);
    return status;
}

/* Records that went in less those that came out: the last merge meets the latter once more. */
static void count_fold(struct passes *p, const struct sl_merge_counts *n)
{
    p->before.rows_in += n->rows_in - n->rows_out - n->deletes_out;
    p->before.deletes_in += n->deletes_in - n->deletes_out;
    p->before.comparisons += n->comparisons;
    p->before.gallop_rows += n->gallop_rows;
}

static uint64_t file_end(const struct passes *p, int kind)
{
    return p->files[kind] ? spill_end(p->files[kind]) : 0;
}

/* Puts the runs that the fold left in the place of those that went in; gives their number. */
static size_t replace(struct passes *p, size_t from, size_t count, const uint64_t *begin)
{
    struct pending left[KINDS];
    size_t made = 0;
    for (int kind = 0; kind < KINDS; kind++) /* first operands before second ones */
        if (file_end(p, kind) > begin[kind])
            left[made++] = (struct pending){
                .spilled = true, .kind = kind, .at = {p->files[kind], begin[kind], file_end(p, kind)}};
    assert(made < count);
    memcpy(&p->runs[from], left, made * sizeof *left);
    memmove(&p->runs[from + made], &p->runs[from + count], (p->count - from - count) * sizeof *p->runs);
    p->count -= count - made;
    return made;
}

static sl_status fold(struct passes *p, size_t from, size_t count, size_t *made)
{
    const struct sl_operand_sink sink = {p, spill_rows, spill_deletes};
    struct sl_merge_counts counts;
    struct sl_run *runs;
    uint64_t begin[KINDS];
    for (int kind = 0; kind < KINDS; kind++)
        begin[kind] = file_end(p, kind);
    SL_TRY(open_runs(p, from, count, &runs));
    for (size_t i = 0; i < count; i++)
        runs[i].copy = (struct sl_run_copy){0}; /* what a fold makes is no result yet */
    sl_status status = sl_merge_operands(runs, count, &p->options, &sink, &counts);
    sl_free(runs);
    SL_TRY(status);
    count_fold(p, &counts);
    *made = replace(p, from, count, begin);
    return SL_OK;
}

/* Folds until at most `most` runs are left behind the base: as few runs as will do, oldest first, and all of them once
 * before any a second time. */
static sl_status reduce(struct passes *p, size_t most)
{
    size_t at = p->first;
    while (p->count - p->first > most) {
        size_t needed = p->count - p->first - most + KINDS, made;
        if (p->count - at < GROUP_LEAST || p->options.classic)
            at = p->first;
        size_t group = needed < most ? needed : most;
        if (group > p->count - at)
            group = p->count - at;
        SL_TRY(fold(p, at, group, &made));
        at += made;
    }
    return SL_OK;
}

/* ---- set-up -------------------------------------------------------------------------------------------- */

static void passes_free(struct passes *p)
{
    for (int kind = 0; kind < KINDS; kind++)
        sl_spill_free(p->files[kind]);
    sl_free(p->runs);
    sl_type_unref(p->delete_type);
    sl_type_unref(p->options.schema);
    sl_buf_free(&p->scratch);
    *p = (struct passes){0};
}

static sl_status passes_init(struct passes *p, const struct sl_run_list *list,
                             const struct sl_merge_options *options)
{
    *p = (struct passes){.list = list, .options = *options, .count = list->count, .first = list->has_base};
    p->options.schema = sl_type_ref(options->schema);
    p->options.deletes = SL_KEEP_DELETES;
    p->options.keep_dictionaries = false;
    SL_NEW_ARRAY(p->runs, list->count + 1);
    for (size_t i = 0; i < list->count; i++)
        p->runs[i].index = i;
    return SL_OK;
}

/* Brings the list down to what may be open at once. */
static sl_status fold_surplus(struct passes *p, size_t max_open)
{
    if (max_open > 0 && max_open < SL_MERGE_OPEN_LEAST)
        max_open = SL_MERGE_OPEN_LEAST;
    /* Partial updates fill one record from another: a fold of some of them, without the base, is not what one fold of all
     * would have made of them. All runs are opened. */
    if (max_open == 0 || p->count <= max_open || p->options.partial != SL_PARTIAL_NONE)
        return SL_OK;
    if (p->options.keep_duplicates)
        return sl_internal("a merge that keeps duplicates cannot fold runs");
    SL_TRY(sl_delete_schema(&p->options, &p->delete_type));
    return reduce(p, max_open - p->first);
}

static void add_before(struct sl_merge_counts *n, const struct sl_merge_counts *before)
{
    n->rows_in += before->rows_in;
    n->deletes_in += before->deletes_in;
    n->comparisons += before->comparisons;
    n->gallop_rows += before->gallop_rows;
}

/* ---- as a stream --------------------------------------------------------------------------------------- */

/* The last merge, which reads the temporary runs while it lasts. */
struct list_stream {
    sl_stream base; /* schema is borrowed from `rows` */
    sl_stream *rows;
    struct passes passes;
    struct sl_merge_counts last, *counts;
};

static sl_status list_next(sl_stream *self, sl_batch **out)
{
    struct list_stream *s = (struct list_stream *)self;
    SL_TRY(sl_stream_next(s->rows, out));
    if (s->counts) {
        *s->counts = s->last;
        add_before(s->counts, &s->passes.before);
    }
    return SL_OK;
}

static void list_close(sl_stream *self)
{
    struct list_stream *s = (struct list_stream *)self;
    sl_stream_close(s->rows);
    passes_free(&s->passes);
    sl_free(s);
}

sl_status sl_merge_open_list(const struct sl_run_list *list, size_t max_open,
                             const struct sl_merge_options *options, struct sl_merge_counts *counts,
                             sl_stream **out)
{
    struct list_stream *s;
    struct sl_run *runs = NULL;
    SL_NEW(s);
    s->counts = counts;
    sl_status status = SL_OK;
    SL_GO(passes_init(&s->passes, list, options));
    SL_GO(fold_surplus(&s->passes, max_open));
    SL_GO(open_runs(&s->passes, 0, s->passes.count, &runs));
    SL_GO(sl_merge_open(runs, s->passes.count, options, &s->last, &s->rows));
    s->base = (sl_stream){s->rows->schema, list_next, list_close};
    *out = &s->base;
    s = NULL;
done:
    sl_free(runs);
    if (s)
        list_close(&s->base);
    return status;
}

/* ---- as operands --------------------------------------------------------------------------------------- */

sl_status sl_merge_operands_list(const struct sl_run_list *list, size_t max_open,
                                 const struct sl_merge_options *options, const struct sl_operand_sink *sink,
                                 struct sl_merge_counts *counts)
{
    struct passes p;
    struct sl_run *runs = NULL;
    struct sl_merge_counts last;
    sl_status status = SL_OK;
    SL_GO(passes_init(&p, list, options));
    SL_GO(fold_surplus(&p, max_open));
    SL_GO(open_runs(&p, 0, p.count, &runs));
    SL_GO(sl_merge_operands(runs, p.count, options, sink, &last));
    if (counts) {
        *counts = last;
        add_before(counts, &p.before);
    }
done:
    sl_free(runs);
    passes_free(&p);
    return status;
}
