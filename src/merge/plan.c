/* The options of a merge, checked, with strings of their own: a merge outlives the call that opened it. */
#include "merge/merge_int.h"

enum { BATCH_ROWS_DEFAULT = 16384 };

static sl_status copy_text(sl_arena *arena, const char *text, const char **out)
{
    *out = NULL;
    if (!text)
        return SL_OK;
    *out = sl_arena_strndup(arena, text, strlen(text));
    return *out ? SL_OK : sl_nomem();
}

static sl_status copy_ordering(struct merge_plan *plan, const struct sl_merge_options *options)
{
    size_t count = options->ordering_count;
    const char **names = sl_arena_alloc(plan->names, count * sizeof *names);
    plan->ordering_types = sl_arena_alloc(plan->names, count * sizeof(const sl_type *));
    if (!names || !plan->ordering_types)
        return sl_nomem();
    for (size_t i = 0; i < count; i++) {
        int at = sl_type_field_index(options->schema, options->ordering[i]);
        if (at < 0)
            return sl_input("ordering field %s is not a column of the merged rows", options->ordering[i]);
        plan->ordering_types[i] = options->schema->fields[at].type;
        if (sl_type_is_nested(plan->ordering_types[i]))
            return sl_unsupported("ordering field %s of a nested type", options->ordering[i]);
        SL_TRY(copy_text(plan->names, options->ordering[i], &names[i]));
    }
    plan->ordering = names;
    plan->ordering_count = count;
    return SL_OK;
}

sl_status merge_plan_init(struct merge_plan *plan, const struct sl_merge_options *options)
{
    *plan = (struct merge_plan){
        .classic = options->classic,
        .keep_duplicates = options->keep_duplicates,
        .keep_dictionaries = options->keep_dictionaries,
        .order = options->order,
        .batch_rows = options->batch_rows > 0 ? options->batch_rows : BATCH_ROWS_DEFAULT,
        .runtime = options->runtime,
        .pool = options->pool,
    };
    plan->schema = sl_type_ref(options->schema);
    SL_TRY(sl_arena_new(&plan->names));
    SL_TRY(copy_text(plan->names, options->key_column, &plan->key_column));
    SL_TRY(copy_text(plan->names, options->delete_column, &plan->delete_column));
    SL_TRY(copy_text(plan->names, options->marker_column, &plan->marker_column));
    SL_TRY(copy_text(plan->names, options->marker_value, &plan->marker_value));
    if (options->partial != SL_PARTIAL_NONE && !options->keep_duplicates) {
        plan->partial = options->partial;
        SL_TRY(copy_text(plan->names, options->unavailable ? options->unavailable : "", &plan->unavailable));
        plan->unavailable_len = strlen(plan->unavailable);
        SL_TRY(mix_pool_new(plan->schema, &plan->mixes));
    }
    /* Commit time never looks at ordering values; event time without ordering fields is commit time (8.2). */
    if (options->mode == SL_EVENT_TIME && options->ordering_count > 0 && !options->keep_duplicates)
        SL_TRY(copy_ordering(plan, options));
    plan->plain_order = plain_order_of(plan);
    return SL_OK;
}

void merge_plan_free(struct merge_plan *plan)
{
    mix_pool_free(plan->mixes);
    sl_arena_free(plan->names);
    sl_type_unref(plan->schema);
    *plan = (struct merge_plan){0};
}
