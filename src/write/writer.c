/*
 * The writer: input checks, keys, buffering, and the transaction that ties the flushes together.
 *
 * Rows wait in the sorters of their file groups. What has no room there leaves in one of two ways:
 *
 *   spilled   as a sorted run to a temporary file, so that the commit writes one run a file group: the way of the batch
 *             verbs, and of everything that writes base files
 *   flushed   early, as a log of the group inside an open transaction (sluice.flush.spill=false, lsm_tree only): nothing is
 *             written twice, and the commit has little left to do
 */
#include "write/write_int.h"
#include <stdio.h>
#include <string.h>

/* When a group's rows leave the memory. */
struct flush_policy {
    bool is_early;         /* they are flushed, else spilled */
    uint64_t bucket_bytes; /* early: a group that holds so much is full */
    uint64_t pool_bytes;   /* all groups together */
    double wait_seconds;   /* early: rows wait no longer; 0: for ever */
};

struct sl_writer {
    sl_table *table;
    enum sl_operation operation;
    const sl_type *columns; /* what a row is conformed to before its key is made: table columns, or a delete's
                               key columns */
    const sl_type *buffered; /* record key, then `columns` but for the one that is the key (a delete: then the
                                ordering columns, null) */
    int key_column;          /* that one; -1: none */
    struct flush_policy policy;
    struct router router;
    sl_txn *txn;  /* open since the first flush; NULL: none */
    bool is_task; /* the transaction belongs to somebody else */
    struct flush flush;
    uint64_t rows_in, bytes_in; /* since the last commit */
    uint64_t rows_before;       /* of earlier commits */
    uint64_t spilled_runs, flushes;
    bool saw_deletes;
    bool has_committed;
    bool failed; /* rows may be lost: it may only be closed */
    double start;
};

/* ---- open ---------------------------------------------------------------------------------------------- */

/* Base files are written once: what goes to one is never flushed before the commit. */
static bool can_flush_early(const sl_table *table, enum sl_operation operation)
{
    return table->type == SL_MERGE_ON_READ && table->buckets.buckets > 0 && !operation_replaces(operation);
}

static sl_status policy_read(const sl_table *table, enum sl_operation operation, struct flush_policy *out)
{
    int64_t wait_ms;
    const sl_budget *budget = table->runtime.budget;
    *out = (struct flush_policy){.is_early = can_flush_early(table, operation) &&
                                             !sl_table_setting_true(table, "sluice.flush.spill", true)};
    SL_TRY(sl_table_setting_bytes(table, "sluice.flush.bucket.bytes", 64 << 20, &out->bucket_bytes));
    SL_TRY(sl_table_setting_bytes(table, "sluice.flush.task.bytes", 0, &out->pool_bytes));
    SL_TRY(sl_table_setting_int(table, "sluice.flush.interval.ms", 0, &wait_ms));
    if (wait_ms < 0)
        return sl_input("setting sluice.flush.interval.ms: %" PRId64 " is negative", wait_ms);
    out->wait_seconds = (double)wait_ms / 1000;
    /* The rest is for merges and encoders, for rows that come in while groups are flushed early, and for the keys of files
     * without a bucket index. */
    if (budget && budget->limit) {
        bool has_more = out->is_early || table->buckets.buckets == 0;
        size_t most = has_more ? budget->limit / 8 * 3 : budget->limit / 2;
        if (!out->pool_bytes || out->pool_bytes > most)
            out->pool_bytes = most;
    }
    return SL_OK;
}

static sl_status relieve(void *owner, size_t group);

static void router_start(sl_writer *w)
{
    router_init(&w->router, w->table, w->buffered, w->policy.pool_bytes);
    w->router.relieve = relieve;
    w->router.owner = w;
}

sl_status sl_writer_open(sl_table *table, enum sl_operation operation, const sl_type *input, sl_writer **out)
{
    sl_writer *w;
    const sl_type *current = NULL;
    SL_NEW(w);
    w->table = table;
    w->operation = operation;
    w->start = sl_monotonic();
    sl_status status = SL_OK;
    SL_GO(sl_table_check_writable(table));
    SL_GO(sort_mode_check(table, operation));
    SL_GO(writer_current_schema(table, &current));
    SL_GO(operation == SL_OP_DELETE ? writer_key_columns(table, current, input, &w->columns)
                                    : writer_row_columns(table, current, input, &w->columns));
    SL_GO(sl_keygen_check(&table->keygen, w->columns, &table->runtime));
    SL_GO(writer_buffer_schema(table, operation, w->columns, current, &w->buffered));
    w->key_column = writer_key_column(table, w->columns);
    SL_GO(policy_read(table, operation, &w->policy));
    router_start(w);
    *out = w;
done:
    sl_type_unref(current);
    if (status)
        sl_writer_close(w);
    return status;
}

void sl_writer_close(sl_writer *w)
{
    if (!w)
        return;
    router_free(&w->router);
    flush_free(&w->flush);
    if (!w->is_task)
        sl_txn_abort(w->txn);
    sl_type_unref(w->columns);
    sl_type_unref(w->buffered);
    sl_free(w);
}

/* ---- rows as they are kept -------------------------------------------------------------------------------------------- */

/* A delete by key has no ordering value: it beats everything older (spec/lsm-layout.md 8.3). */
static sl_status delete_columns(const sl_writer *w, int64_t rows, sl_array **columns)
{
    for (size_t i = 1; i < w->buffered->field_count; i++)
        SL_TRY(sl_array_nulls(w->buffered->fields[i].type, rows, &columns[i]));
    return SL_OK;
}

static void row_columns(const sl_writer *w, const sl_batch *rows, sl_array **columns)
{
    size_t count = 1;
    for (size_t i = 0; i < rows->schema->field_count; i++)
        if ((int)i != w->key_column)
            columns[count++] = sl_array_ref(rows->columns[i]);
}

/* The rows as the sorters keep them. */
static sl_status buffered_batch(const sl_writer *w, const sl_batch *rows, sl_array *keys, sl_batch **out)
{
    size_t count = w->buffered->field_count;
    sl_array **columns = sl_calloc(count, sizeof *columns);
    if (!columns)
        return sl_nomem();
    sl_status status = SL_OK;
    columns[0] = sl_array_ref(keys);
    if (w->operation == SL_OP_DELETE)
        status = delete_columns(w, rows->rows, columns);
    else
        row_columns(w, rows, columns);
    if (status)
        for (size_t i = 0; i < count; i++)
            sl_array_unref(columns[i]);
    else
        status = sl_batch_new(w->buffered, rows->rows, columns, out);
    sl_free(columns);
    return status;
}

static bool any_true(const sl_batch *rows, const char *name)
{
    int at = sl_type_field_index(rows->schema, name);
    if (at < 0 || rows->schema->fields[at].type->id != SL_BOOL)
        return false;
    for (int64_t r = 0; r < rows->rows; r++)
        if (sl_is_valid(rows->columns[at], r) && sl_bool_at(rows->columns[at], r))
            return true;
    return false;
}

static bool may_have_deletes(const sl_writer *w, const sl_batch *rows)
{
    struct sl_merge_options rules;
    if (sl_status_ignore(sl_table_rules(w->table, rows->schema, &rules)))
        return true;
    return rules.marker_column || (rules.delete_column && any_true(rows, rules.delete_column));
}

/* ---- flush --------------------------------------------------------------------------------------------- */

static sl_status flush_begin(sl_writer *w, const sl_timeline *timeline)
{
    const sl_type *data;
    SL_TRY(writer_commit_schema(w->table, w->operation, w->columns, timeline, &data));
    sl_status status = flush_init(&w->flush, w->table, w->operation, w->txn, data);
    sl_type_unref(data);
    w->flush.is_early = w->policy.is_early;
    return status;
}

static sl_status txn_begin(sl_writer *w)
{
    if (w->txn)
        return SL_OK;
    SL_TRY(write_begin(w->table, w->operation, &w->txn));
    sl_status status = flush_begin(w, sl_txn_timeline(w->txn));
    if (status) { /* as if nothing had been tried: a commit may be tried again */
        flush_free(&w->flush);
        sl_txn_abort(w->txn);
        w->txn = NULL;
    }
    return status;
}

typedef bool (*group_test)(const sl_writer *w, const struct write_group *g);

/* Writes the groups with rows that the test names. */
static sl_status flush_where(sl_writer *w, group_test wanted, uint64_t *flushed)
{
    size_t count = 0, *which;
    SL_NEW_ARRAY(which, w->router.group_count + 1);
    for (size_t i = 0; i < w->router.group_count; i++)
        if (w->router.groups[i].sorter && wanted(w, &w->router.groups[i]))
            which[count++] = i;
    sl_status status = count ? txn_begin(w) : SL_OK;
    w->flush.saw_deletes = w->saw_deletes;
    if (count && !status)
        status = flush_groups(&w->flush, &w->router, which, count);
    if (!status)
        *flushed += count;
    w->failed = w->failed || (status && w->txn);
    sl_free(which);
    return status;
}

static sl_status flush_one_early(sl_writer *w, size_t group)
{
    SL_TRY(txn_begin(w));
    w->flush.saw_deletes = w->saw_deletes;
    w->flushes++;
    return flush_groups(&w->flush, &w->router, &group, 1);
}

/* Another writer holds the table: rows can wait, in memory or in a temporary file, until the next flush or the commit. */
static bool is_only_busy(const sl_writer *w, sl_status status)
{
    return sl_status_code(status) == SL_E_BUSY && !w->txn;
}

static sl_status flush_unless_busy(sl_writer *w, group_test wanted)
{
    sl_status status = flush_where(w, wanted, &w->flushes);
    if (!is_only_busy(w, status))
        return status;
    sl_status_free(status);
    return SL_OK;
}

static sl_status spill_one(sl_writer *w, size_t group)
{
    w->spilled_runs++;
    return router_spill(&w->router, group);
}

static sl_status relieve(void *owner, size_t group)
{
    sl_writer *w = owner;
    sl_status status = w->policy.is_early ? flush_one_early(w, group) : SL_OK;
    bool spills = !w->policy.is_early || is_only_busy(w, status);
    if (spills) {
        sl_status_free(status);
        status = spill_one(w, group);
    }
    w->failed = w->failed || status;
    return status;
}

static bool is_waiting(const sl_writer *w, const struct write_group *g)
{
    (void)w;
    return sl_sorter_rows(g->sorter) > 0;
}

static bool is_overdue(const sl_writer *w, const struct write_group *g)
{
    return is_waiting(w, g) && sl_monotonic() - g->waiting_since >= w->policy.wait_seconds;
}

static bool is_full(const sl_writer *w, const struct write_group *g)
{
    return sl_sorter_memory(g->sorter) >= w->policy.bucket_bytes;
}

/* ---- append -------------------------------------------------------------------------------------------- */

static sl_status take_rows(sl_writer *w, const sl_batch *rows, const sl_array *keys,
                           const sl_array *partitions)
{
    if (w->policy.is_early && w->policy.wait_seconds > 0)
        SL_TRY(flush_unless_busy(w, is_overdue));
    SL_TRY(router_add(&w->router, rows, keys, partitions));
    return w->policy.is_early ? flush_unless_busy(w, is_full) : SL_OK;
}

/* Tells which row of the input failed, of all that the writer was given, from 1; or among which it is. */
static sl_status append_failed(const sl_writer *w, const sl_batch *batch, sl_status status)
{
    uint64_t before = w->rows_before + w->rows_in;
    int64_t row = sl_status_row(status);
    if (row >= 0)
        return sl_context(sl_at_row(status, -1), "input row %" PRIu64, before + (uint64_t)row + 1);
    return sl_context(status, "input rows %" PRIu64 " to %" PRIu64, before + 1,
                      before + (uint64_t)batch->rows);
}

/* A refusal (SL_E_INPUT) comes before the first row is taken. */
sl_status sl_writer_append(sl_writer *w, sl_batch *batch)
{
    sl_batch *rows = NULL, *buffered = NULL;
    sl_array *keys = NULL, *partitions = NULL;
    sl_status status = SL_OK;
    if (w->failed)
        return sl_internal("an append to a writer that has failed");
    SL_TRY(sl_check_cancel(&w->table->runtime));
    SL_GO(sl_batch_conform(batch, w->columns, &rows));
    SL_GO(writer_make_keys(w->table, w->operation, rows, &keys, &partitions));
    SL_GO(buffered_batch(w, rows, keys, &buffered));
    w->saw_deletes = w->saw_deletes || may_have_deletes(w, rows);
    status = take_rows(w, buffered, keys, partitions);
    w->failed = w->failed || (status && sl_status_code(status) != SL_E_INPUT);
    if (status)
        goto done;
    w->rows_in += (uint64_t)batch->rows;
    w->bytes_in += sl_batch_plain_bytes(buffered);
    sl_progress(&w->table->runtime, "reading", w->rows_before + w->rows_in, 0);
done:
    sl_batch_unref(rows);
    sl_batch_unref(buffered);
    sl_array_unref(keys);
    sl_array_unref(partitions);
    if (!status)
        return SL_OK;
    return append_failed(w, batch, writer_first_refusal(w->table, w->operation, w->columns, batch, status));
}

void sl_writer_waiting(const sl_writer *w, uint64_t *rows, uint64_t *bytes)
{
    *rows = w->rows_in;
    *bytes = w->bytes_in;
}

/* ---- commit -------------------------------------------------------------------------------------------- */

static void result_fill(const sl_writer *w, struct sl_write_result *r)
{
    const struct flush *f = &w->flush;
    r->rows_in = w->rows_in;
    r->rows_written = atomic_load(&f->rows_written);
    r->inserted = atomic_load(&f->inserted);
    r->updated = atomic_load(&f->updated);
    r->deleted = atomic_load(&f->deleted);
    r->files = atomic_load(&f->files);
    r->bytes = atomic_load(&f->bytes);
    r->counts_known = w->table->type == SL_COPY_ON_WRITE || operation_replaces(w->operation);
    r->file_groups = f->groups;
    r->partitions = w->router.partitions.count;
    r->spilled_runs = w->spilled_runs;
    r->flushes = w->flushes;
    r->seconds = sl_monotonic() - w->start;
}

/* Cannot fail: what was written is published. */
static void writer_reset(sl_writer *w)
{
    router_free(&w->router);
    flush_free(&w->flush);
    memset(&w->flush, 0, sizeof w->flush);
    w->rows_before += w->rows_in;
    w->rows_in = w->bytes_in = w->spilled_runs = w->flushes = 0;
    w->saw_deletes = false;
    w->start = sl_monotonic();
    router_start(w);
}

static sl_status spill_all(sl_writer *w)
{
    for (size_t i = 0; i < w->router.group_count; i++)
        if (w->router.groups[i].sorter)
            SL_TRY(relieve(w, i));
    return SL_OK;
}

sl_status sl_writer_flush(sl_writer *w)
{
    if (w->failed)
        return sl_internal("a flush of a writer that has failed");
    sl_status status = w->policy.is_early ? flush_where(w, is_waiting, &w->flushes) : spill_all(w);
    return status;
}

static sl_status publish(sl_writer *w, struct sl_write_result *r)
{
    uint64_t flushed = 0;
    memcpy(r->instant, sl_txn_instant(w->txn), SL_INSTANT_BYTES);
    SL_TRY(flush_where(w, is_waiting, &flushed));
    SL_TRY(replace_groups(w->table, w->operation, &w->router.partitions, w->txn, &r->groups_replaced));
    sl_txn *committing = w->txn;
    w->txn = NULL;
    return sl_txn_commit(committing, w->flush.schema.data_text, r->completed);
}

static sl_status begin_or_sort(void *context, size_t index)
{
    sl_writer *w = context;
    if (index == 0)
        return txn_begin(w);
    sl_sorter *sorter = w->router.groups[index - 1].sorter;
    return sorter ? sl_sorter_sort(sorter) : SL_OK;
}

/* To begin a transaction is to wait for the disk: meanwhile the rows that wait are sorted. */
static sl_status begin_commit(sl_writer *w)
{
    return sl_pool_for(w->table->runtime.pool, 1 + w->router.group_count, begin_or_sort, w);
}

sl_status sl_writer_commit(sl_writer *w, struct sl_write_result *result)
{
    struct sl_write_result r = {.action = sl_action_name(sl_write_action(w->table, w->operation))};
    bool has_work = w->rows_in > 0;
    if (w->failed)
        return sl_internal("a commit of a writer that has failed");
    if (!has_work &&
        !w->has_committed) /* a second commit without rows must not take away what the first wrote */
        SL_TRY(replace_has_work(w->table, w->operation, &has_work));
    if (has_work) {
        SL_TRY(begin_commit(w));
        sl_status status = publish(w, &r);
        w->failed = status != SL_OK;
        SL_TRY(status);
    }
    result_fill(w, &r);
    *result = r;
    w->has_committed = true;
    if (has_work)
        writer_reset(w);
    return SL_OK;
}

const sl_strings *writer_partitions(const sl_writer *w) { return &w->router.partitions; }

sl_status writer_join(sl_writer *w, sl_txn *txn, const struct flush_numbers *numbers)
{
    sl_timeline timeline;
    w->txn = txn;
    w->is_task = true;
    SL_TRY(sl_timeline_load(w->table, &timeline));
    sl_status status = flush_begin(w, &timeline);
    sl_timeline_free(&timeline);
    w->flush.numbers = *numbers;
    return status;
}

sl_status writer_finish_task(sl_writer *w)
{
    uint64_t flushed = 0;
    return flush_where(w, is_waiting, &flushed);
}
