/* The files that a flush is about to write, announced together (sl_txn_plan). What comes behind the first file of a group,
 * rolled over or with deletes, announces itself. */
#include "write/write_int.h"

struct plan {
    struct sl_planned_file *files;
    char (*names)[SL_FILE_NAME_BYTES];
    size_t count;
};

static sl_status add_group(struct plan *plan, struct flush *f, const struct router *r, size_t number,
                           enum flush_way way)
{
    struct write_group *g = &r->groups[number];
    struct flush_task t = {.flush = f,
                           .partition = r->partitions.items[g->partition],
                           .number = f->numbers.first_task + (uint32_t)number,
                           .group = &g->place};
    struct sl_file_spec spec;
    bool known;
    SL_TRY(flush_first_file(&t, way, &spec, &known));
    if (!known)
        return SL_OK;
    char *name = plan->names[plan->count];
    sl_file_spec_name(&spec, f->txn, name);
    plan->files[plan->count++] =
        (struct sl_planned_file){t.partition, name, sl_file_marker(spec.prev_base_file)};
    return SL_OK;
}

static sl_status plan_files(struct plan *plan, struct flush *f, const struct router *r, const size_t *which,
                            size_t count, enum flush_way way)
{
    for (size_t i = 0; i < count; i++)
        SL_TRY(add_group(plan, f, r, which[i], way));
    return sl_txn_plan(f->txn, plan->files, plan->count);
}

sl_status flush_plan(struct flush *f, const struct router *r, const size_t *which, size_t count,
                     enum flush_way way)
{
    if (count < 2)
        return SL_OK;
    struct plan plan = {.files = sl_calloc(count, sizeof *plan.files),
                        .names = sl_calloc(count, sizeof *plan.names)};
    sl_status status = plan.files && plan.names ? plan_files(&plan, f, r, which, count, way) : sl_nomem();
    sl_free(plan.files);
    sl_free(plan.names);
    return status;
}
