/*
 * Which of a slice's logs a log compaction takes (spec/lsm-layout.md 12.1): a stretch without gaps of the live logs in the
 * order of the merge, so that its output can stand in one place; all logs of an instant or none, since readers drop the
 * replaced ones by instant; and nothing from the place of a running write on, whose logs would come to stand before the
 * output although they belong between its inputs.
 */
#include "service/service_int.h"
#include <string.h>

#define TIER_FACTOR   4 /* spec/lsm-layout.md 12.2 */
#define LEAST_DEFAULT 5

/* ---- instants of a slice ------------------------------------------------------------------------------- */

/* The live logs of one instant: neighbours in the order of the merge. */
struct batch {
    size_t first, count; /* in the slice's list */
    size_t logs;         /* live ones of them */
    uint64_t bytes;
    bool taken; /* may be taken at all */
};

static bool can_take(const struct sl_slice_log *log, const char *before)
{
    return log->file->parts.kind != SL_FILE_INLINE_LOG && (!before || strcmp(log->place, before) < 0);
}

static bool same_instant(const struct sl_slice_log *a, const struct sl_slice_log *b)
{
    return strcmp(a->file->parts.instant, b->file->parts.instant) == 0;
}

static size_t batches_make(const struct sl_slice_logs *logs, const char *before, struct batch *out)
{
    const struct sl_slice_log *last = NULL; /* replaced logs between two live ones do not part them */
    size_t count = 0;
    for (size_t i = 0; i < logs->count; i++) {
        const struct sl_slice_log *log = &logs->items[i];
        if (log->dropped)
            continue;
        if (!last || !same_instant(last, log))
            out[count++] = (struct batch){.first = i, .taken = true};
        struct batch *b = &out[count - 1];
        b->count = i - b->first + 1;
        b->logs++;
        b->bytes += log->file->size;
        b->taken &= can_take(log, before);
        last = log;
    }
    return count;
}

/* ---- the stretch --------------------------------------------------------------------------------------- */

/* How many batches from `first` on go together, and their logs. */
static size_t reach(const struct batch *batches, size_t count, size_t first, bool tiered, size_t *logs)
{
    uint64_t least = UINT64_MAX, most = 0;
    size_t n = 0;
    *logs = 0;
    for (; first + n < count; n++) {
        const struct batch *b = &batches[first + n];
        least = b->bytes < least ? b->bytes : least;
        most = b->bytes > most ? b->bytes : most;
        if (!b->taken || (tiered && most > TIER_FACTOR * least))
            break;
        *logs += b->logs;
    }
    return n;
}

sl_status stretch_choose(const struct sl_slice_logs *logs, const char *before, bool tiered, size_t least,
                         size_t *first, size_t *count)
{
    struct batch *batches;
    size_t best = 0;
    *first = *count = 0;
    SL_NEW_ARRAY(batches, logs->count + 1);
    size_t batch_count = batches_make(logs, before, batches);
    for (size_t i = 0; i < batch_count; i++) {
        size_t taken, n = reach(batches, batch_count, i, tiered, &taken);
        if (n < 2 || taken < least || taken <= best) /* one instant by itself would only be written again */
            continue;
        const struct batch *last = &batches[i + n - 1];
        best = taken;
        *first = batches[i].first;
        *count = last->first + last->count - *first;
    }
    sl_free(batches);
    return SL_OK;
}

static bool is_planned(const sl_read_slice *planned, const sl_data_file *log)
{
    for (size_t i = 0; i < planned->log_count; i++)
        if (planned->logs[i] == log)
            return true;
    return false;
}

sl_status stretch_check(const struct sl_slice_logs *logs, sl_read_slice *planned)
{
    const sl_data_file **ordered;
    const struct sl_slice_log *last = NULL;
    size_t count = 0;
    bool last_taken = false, ended = false, broken = false;
    SL_NEW_ARRAY(ordered, planned->log_count + 1);
    for (size_t i = 0; i < logs->count; i++) {
        const struct sl_slice_log *log = &logs->items[i];
        if (log->dropped)
            continue;
        bool taken = is_planned(planned, log->file);
        broken |= taken && ended;
        broken |= last && taken != last_taken && same_instant(last, log);
        ended |= last_taken && !taken;
        if (taken)
            ordered[count++] = log->file;
        last = log;
        last_taken = taken;
    }
    if (broken) {
        sl_free(ordered);
        return sl_hint(sl_errorf(SL_E_CONFLICT,
                                 "the plan's logs are no stretch of the slice any more: one that "
                                 "belongs between them is not among them"),
                       "`sluice rollback` removes the plan");
    }
    sl_free(planned->logs);
    planned->logs = ordered;
    planned->log_count = count;
    return SL_OK;
}

const char *oldest_pending_write(const sl_timeline *timeline)
{
    for (size_t i = 0; i < timeline->count; i++)
        if (timeline->instants[i].state != SL_COMPLETED && sl_action_writes(timeline->instants[i].action) &&
            !sl_action_is_service(timeline->instants[i].action))
            return timeline->instants[i].requested;
    return NULL;
}

/* ---- candidates ---------------------------------------------------------------------------------------- */

struct choice {
    const sl_table *table;
    const char *before;
    bool tiered;
    size_t least;
};

/* The item's logs become those of its stretch; none: there is nothing to compact. */
static sl_status take_stretch(const struct choice *choice, struct candidate *item)
{
    struct sl_slice_logs logs = {0};
    bool compaction = false;
    size_t first, count, n = 0;
    sl_status status = SL_OK;
    if (item->log_count < choice->least) {
        item->log_count = 0;
        return SL_OK;
    }
    SL_GO(candidate_logs(choice->table, item, &logs));
    if (choice->tiered)
        SL_GO(policy_wants_compaction(choice->table, item, &logs, &compaction));
    SL_GO(stretch_choose(&logs, choice->before, choice->tiered, choice->least, &first, &count));
    item->log_bytes = 0;
    for (size_t i = first; i < first + count && !compaction; i++) {
        if (logs.items[i].dropped)
            continue;
        item->logs[n++] = logs.items[i].file;
        item->log_bytes += logs.items[i].file->size;
    }
    item->log_count = n;
done:
    sl_slice_logs_free(&logs);
    return status;
}

static bool has_any(const void *context, const struct candidate *item)
{
    (void)context;
    return item->log_count > 0;
}

sl_status stretches_choose(const sl_table *table, enum sl_selection selection, struct candidates *c)
{
    struct choice choice = {.table = table, .before = oldest_pending_write(&c->view.timeline)};
    int64_t least;
    SL_TRY(sl_table_setting_int(table, "hoodie.log.compaction.blocks.threshold", LEAST_DEFAULT, &least));
    choice.least = least > 2 ? (size_t)least : 2;
    if (selection == SL_SELECT_DUE)
        SL_TRY(policy_is_size_tiered(table, &choice.tiered));
    for (size_t i = 0; i < c->count; i++)
        SL_TRY(take_stretch(&choice, &c->items[i]));
    candidates_filter(c, has_any, NULL);
    return SL_OK;
}
