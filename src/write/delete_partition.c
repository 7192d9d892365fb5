/*
 * delete-partition: a replacecommit without rows that hides every file group of some partitions. As Hudi does, it refuses
 * while a service is planned on one of them (spec/write-path.md 6).
 */
#include "write/write_int.h"
#include <string.h>

/* ---- which partitions ---------------------------------------------------------------------------------- */

/* `field=value/field=value`: some of the partition fields, in any order. */
struct wanted {
    const char **values; /* per partition field; NULL: any. Each ends at its length below. */
    size_t *lengths;
};

/* The field that `text` begins with, as `field=`; *prefix gets the length of that. -1: none. */
static int field_at(const struct sl_keygen *keygen, const char *text, size_t *prefix)
{
    for (size_t f = 0; f < keygen->partition_fields.count; f++) {
        size_t len = strlen(keygen->partition_fields.items[f]);
        if (strncmp(text, keygen->partition_fields.items[f], len) == 0 && text[len] == '=') {
            *prefix = len + 1;
            return (int)f;
        }
    }
    return -1;
}

/* A value runs to the slash that the next `field=` follows. */
static size_t value_length(const struct sl_keygen *keygen, const char *value)
{
    size_t prefix;
    const char *slash = value;
    while ((slash = strchr(slash, '/')) && field_at(keygen, slash + 1, &prefix) < 0)
        slash++;
    return slash ? (size_t)(slash - value) : strlen(value);
}

static bool wanted_parse(const struct sl_keygen *keygen, const char *text, struct wanted *out)
{
    for (const char *at = text;;) {
        size_t prefix;
        int field = field_at(keygen, at, &prefix);
        if (field < 0)
            return false;
        out->values[field] = at + prefix;
        out->lengths[field] = value_length(keygen, at + prefix);
        at = out->values[field] + out->lengths[field];
        if (!*at)
            return true;
        at++;
    }
}

static bool wanted_matches(const struct wanted *w, const sl_strings *values)
{
    for (size_t f = 0; f < values->count; f++)
        if (w->values[f] && (strlen(values->items[f]) != w->lengths[f] ||
                             memcmp(values->items[f], w->values[f], w->lengths[f]) != 0))
            return false;
    return true;
}

static sl_status add_matching(const struct sl_keygen *keygen, const sl_strings *all, const struct wanted *w,
                              sl_strings *out)
{
    sl_status status = SL_OK;
    for (size_t i = 0; i < all->count && !status; i++) {
        sl_strings values = {0};
        status = sl_partition_values(keygen, all->items[i], &values);
        if (!status && wanted_matches(w, &values))
            status = sl_strings_add_once(out, all->items[i]);
        sl_strings_free(&values);
    }
    return status;
}

/* A name is a partition's path, or values of its fields. */
static sl_status add_named(const sl_table *table, const sl_strings *all, const char *name, sl_strings *out)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->items[i], name) == 0)
            return sl_strings_add_once(out, name);
    size_t fields = table->keygen.partition_fields.count, before = out->count;
    struct wanted w = {.values = sl_calloc(fields + 1, sizeof *w.values),
                       .lengths = sl_calloc(fields + 1, sizeof *w.lengths)};
    sl_status status = w.values && w.lengths ? SL_OK : sl_nomem();
    if (!status && table->keygen_known && wanted_parse(&table->keygen, name, &w))
        status = add_matching(&table->keygen, all, &w, out);
    sl_free(w.values);
    sl_free(w.lengths);
    if (!status && out->count == before)
        status = sl_hint(sl_not_found("there is no partition \"%s\"", name),
                         "a partition is named by its path, as `sluice files` shows it, or by field=value");
    return status;
}

static sl_status resolve(const sl_table *table, const char *const *names, size_t count, sl_strings *out)
{
    sl_strings all = {0};
    sl_status status = SL_OK;
    if (table->keygen.partition_fields.count == 0)
        return sl_hint(sl_input("the table is not partitioned"),
                       "insert-overwrite-table without rows empties a table");
    SL_GO(sl_partitions_list(table, &all));
    for (size_t i = 0; i < count; i++)
        SL_GO(add_named(table, &all, names[i], out));
done:
    sl_strings_free(&all);
    return status;
}

/* ---- services in the way ------------------------------------------------------------------------------- */

struct in_the_way {
    const sl_strings *partitions;
    const sl_instant *plan;
};

static sl_status refuse_group(void *context, const char *partition, const char *file_id)
{
    const struct in_the_way *w = context;
    (void)file_id;
    if (!sl_strings_contain(w->partitions, partition))
        return SL_OK;
    return sl_hint(sl_errorf(SL_E_CONFLICT, "partition \"%s\": the %s %s is planned on it", partition,
                             sl_action_name(w->plan->action), w->plan->requested),
                   "execute the plan, or roll it back");
}

static sl_status refuse_planned(const sl_table *table, const sl_timeline *timeline,
                                const sl_strings *partitions)
{
    for (size_t i = 0; i < timeline->count; i++) {
        const sl_instant *instant = &timeline->instants[i];
        if (sl_action_is_service(instant->action) && instant->state != SL_COMPLETED && instant->has_requested)
            SL_TRY(sl_plan_groups(table, instant, refuse_group, &(struct in_the_way){partitions, instant}));
    }
    return SL_OK;
}

/* ---- the operation ------------------------------------------------------------------------------------- */

/* Looks before it begins, so that a refusal leaves nothing on the timeline. */
static sl_status look(const sl_table *table, const sl_strings *partitions, uint64_t *groups)
{
    sl_view view;
    SL_TRY(sl_view_load(table, &(struct sl_view_options){.partitions = partitions}, &view));
    sl_status status = refuse_planned(table, &view.timeline, partitions);
    for (size_t p = 0; p < view.partition_count; p++)
        *groups += view.partitions[p].group_count;
    sl_view_free(&view);
    return status;
}

static sl_status replace_partitions(sl_table *table, const sl_strings *partitions, sl_txn *txn,
                                    uint64_t *replaced)
{
    sl_view view;
    SL_TRY(sl_view_load(table, &(struct sl_view_options){.partitions = partitions}, &view));
    sl_status status = replace_all_groups(&view, txn, replaced);
    sl_view_free(&view);
    return status;
}

static sl_status commit_replacement(sl_table *table, const sl_strings *partitions, struct sl_write_result *r)
{
    static const char operation[] = "DELETE_PARTITION";
    json_t *request = NULL;
    sl_txn *txn = NULL;
    sl_status status = SL_OK;
    SL_GO(sl_replace_request(operation, &request));
    struct sl_txn_options options = {.action = SL_ACTION_REPLACECOMMIT,
                                     .operation = operation,
                                     .plan = request,
                                     .plan_record = "HoodieRequestedReplaceMetadata"};
    SL_GO(sl_txn_begin(table, &options, &txn));
    memcpy(r->instant, sl_txn_instant(txn), SL_INSTANT_BYTES);
    SL_GO(replace_partitions(table, partitions, txn, &r->groups_replaced));
    sl_txn *committing = txn;
    txn = NULL;
    status = sl_txn_commit(committing, NULL, r->completed);
done:
    sl_txn_abort(txn);
    json_decref(request);
    return status;
}

sl_status sl_delete_partitions(sl_table *table, const char *const *names, size_t count,
                               struct sl_write_result *result)
{
    struct sl_write_result r = {.action = sl_action_name(SL_ACTION_REPLACECOMMIT), .counts_known = true};
    sl_strings partitions = {0};
    double start = sl_monotonic();
    uint64_t groups = 0;
    sl_status status = SL_OK;
    SL_GO(sl_table_check_writable(table));
    SL_GO(resolve(table, names, count, &partitions));
    SL_GO(look(table, &partitions, &groups));
    if (groups > 0)
        SL_GO(commit_replacement(table, &partitions, &r));
    r.partitions = partitions.count;
    r.seconds = sl_monotonic() - start;
    *result = r;
done:
    sl_strings_free(&partitions);
    return status;
}
