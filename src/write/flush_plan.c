/* The files that a flush is about to write, announced together (sl_txn_plan). What comes behind the first file of a group,
 * rolled over or with deletes, announces itself. */
#include "write/write_int.h"

static sl_status add_group(struct sl_file_plan *plan, struct flush *f, const struct router *r, size_t number,
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
    if (known)
        sl_file_plan_add(plan, f->txn, &spec);
    return SL_OK;
}

sl_status flush_plan(struct flush *f, const struct router *r, const size_t *which, size_t count,
                     enum flush_way way)
{
    struct sl_file_plan plan;
    if (count < 2)
        return SL_OK;
    SL_TRY(sl_file_plan_init(count, &plan));
    sl_status status = SL_OK;
    for (size_t i = 0; i < count; i++)
        SL_GO(add_group(&plan, f, r, which[i], way));
    status = sl_file_plan_announce(&plan, f->txn);
done:
    sl_file_plan_free(&plan);
    return status;
}
