/* What the operations of a plan share: loading it for each would cost the more the more groups the plan has. */
#include "service/service_int.h"
#include <string.h>

/* Each once, sorted. */
static sl_status partitions_of(const json_t *const *tasks, size_t count, sl_strings *out)
{
    sl_strings all = {0};
    sl_status status = SL_OK;
    for (size_t i = 0; i < count && !status; i++) {
        const json_t *operation = json_object_get(tasks[i], "operation");
        const char *partition = json_string_value(json_object_get(operation, "partitionPath"));
        if (partition) /* else it is no task: parse() says so */
            status = sl_strings_add(&all, partition);
    }
    sl_strings_sort(&all);
    for (size_t i = 0; i < all.count && !status; i++)
        if (i == 0 || strcmp(all.items[i], all.items[i - 1]) != 0)
            status = sl_strings_add(out, all.items[i]);
    sl_strings_free(&all);
    return status;
}

static sl_status load_view(const sl_table *table, const json_t *const *tasks, size_t count, sl_view *out)
{
    sl_strings partitions = {0};
    sl_status status = partitions_of(tasks, count, &partitions);
    if (!status)
        status = sl_view_load(table, &(struct sl_view_options){.partitions = &partitions}, out);
    sl_strings_free(&partitions);
    return status;
}

sl_status groundwork_lay(const sl_table *table, const json_t *const *tasks, size_t count,
                         struct groundwork *out)
{
    struct groundwork ground = {0};
    const sl_type *data = NULL;
    sl_status status = SL_OK;
    SL_GO(load_view(table, tasks, count, &ground.view));
    SL_GO(sl_table_schema(table, &ground.view.timeline, NULL, &data));
    SL_GO(sl_write_schema_init(table, data, &ground.schema));
    SL_GO(sl_slice_memory_new(&table->runtime, true, &ground.memory));
    *out = ground;
done:
    sl_type_unref(data);
    if (status)
        groundwork_free(&ground);
    return status;
}

void groundwork_free(struct groundwork *ground)
{
    sl_view_free(&ground->view);
    sl_write_schema_free(&ground->schema);
    sl_parquet_memory_unref(ground->memory);
    memset(ground, 0, sizeof *ground);
}

/* ---- finding groups ------------------------------------------------------------------------------------ */

static int compare_path(const void *path, const void *partition)
{
    return strcmp(path, ((const sl_partition *)partition)->path);
}

static int compare_file_id(const void *file_id, const void *group)
{
    return strcmp(file_id, ((const sl_file_group *)group)->file_id);
}

const sl_file_group *groundwork_group(const struct groundwork *ground, const char *partition,
                                      const char *file_id)
{
    const sl_view *view = &ground->view;
    const sl_partition *p = view->partition_count
                                ? bsearch(partition, view->partitions, view->partition_count,
                                          sizeof *view->partitions, compare_path)
                                : NULL;
    return p && p->group_count
               ? bsearch(file_id, p->groups, p->group_count, sizeof *p->groups, compare_file_id)
               : NULL;
}
