/* Files that are about to be written: their names are made before there is a writer for each, and announced together. */
#include "slice/slice_int.h"

sl_status sl_file_plan_init(size_t most, struct sl_file_plan *out)
{
    struct sl_file_plan plan = {.files = sl_calloc(most + 1, sizeof *plan.files),
                                .names = sl_calloc(most + 1, sizeof *plan.names)};
    if (!plan.files || !plan.names) {
        sl_file_plan_free(&plan);
        return sl_nomem();
    }
    *out = plan;
    return SL_OK;
}

void sl_file_plan_add(struct sl_file_plan *plan, const sl_txn *txn, const struct sl_file_spec *spec)
{
    char *name = plan->names[plan->count];
    file_spec_name(spec, txn, name);
    plan->files[plan->count++] =
        (struct sl_planned_file){spec->partition, name, file_marker(spec->prev_base_file)};
}

sl_status sl_file_plan_announce(const struct sl_file_plan *plan, sl_txn *txn)
{
    return sl_txn_plan(txn, plan->files, plan->count);
}

void sl_file_plan_free(struct sl_file_plan *plan)
{
    sl_free(plan->files);
    sl_free(plan->names);
    *plan = (struct sl_file_plan){0};
}
