/*
 * One operation of a plan as a task: the instant, what the service is, and the operation itself, so that any process that
 * sees the table can run it.
 */
#include "service/service_int.h"
#include <string.h>

/* ---- the task ------------------------------------------------------------------------------------------ */

static const char *const task_kinds[] = {[SL_COMPACT] = "compaction", [SL_LOG_COMPACT] = "log compaction"};
#define TASK_KINDS (sizeof task_kinds / sizeof *task_kinds)

sl_status operation_task(enum sl_service service, const char *instant, size_t number, json_t *operation,
                         json_t **out)
{
    *out = json_pack("{s:s, s:s, s:I, s:O}", "kind", task_kinds[service], "instant", instant, "number",
                     (json_int_t)number, "operation", operation);
    return *out ? SL_OK : sl_nomem();
}

static bool task_service(const json_t *task, enum sl_service *out)
{
    const char *kind = json_string_value(json_object_get(task, "kind"));
    for (size_t i = 0; i < TASK_KINDS && kind; i++)
        if (strcmp(kind, task_kinds[i]) == 0) {
            *out = (enum sl_service)i;
            return true;
        }
    return false;
}

bool sl_is_service_task(const json_t *task)
{
    enum sl_service service;
    return task_service(task, &service);
}

sl_status operation_parse_task(const json_t *task, enum sl_service *service, const char **instant)
{
    *instant = json_string_value(json_object_get(task, "instant"));
    return task_service(task, service) && *instant ? SL_OK : sl_input("this is no task of a service");
}

static sl_status parse(struct operation *o, const json_t *task)
{
    json_int_t number;
    json_t *operation, *base, *logs, *name;
    size_t i;
    SL_TRY(operation_parse_task(task, &o->service, &o->instant));
    /* Jansson's unpack takes a non-const value, but only reads it. */
    if (json_unpack((json_t *)(uintptr_t)task, "{s:I, s:o}", "number", &number, "operation", &operation) ||
        json_unpack(operation, "{s:s, s:s, s:s, s:o, s:o}", "fileId", &o->file_id, "partitionPath",
                    &o->partition, "baseInstantTime", &o->base_instant, "dataFilePath", &base,
                    "deltaFilePaths", &logs))
        return sl_input("this is no task of a service");
    o->number = (uint32_t)number;
    o->base_name = json_string_value(base); /* null: the slice has logs only */
    json_array_foreach(logs, i, name)
    {
        if (!json_is_string(name))
            return sl_corrupt("plan %s: a log name is no text", o->instant);
        SL_TRY(sl_strings_add(&o->log_names, json_string_value(name)));
    }
    return SL_OK;
}

/* ---- what operations share ----------------------------------------------------------------------------- */

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

static const sl_partition *find_partition(const sl_view *view, const char *path)
{
    size_t low = 0, high = view->partition_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int c = strcmp(view->partitions[middle].path, path);
        if (c == 0)
            return &view->partitions[middle];
        if (c < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
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

/* ---- its files ----------------------------------------------------------------------------------------- */

static const sl_data_file *find_file(const sl_file_group *group, const char *name)
{
    const char *slash = strrchr(name, '/'); /* version-1 plans hold whole paths */
    name = slash ? slash + 1 : name;
    for (size_t i = 0; i < group->file_count; i++)
        if (strcmp(group->files[i].name, name) == 0)
            return &group->files[i];
    return NULL;
}

static sl_status find_group(struct operation *o)
{
    const sl_view *view = &o->ground->view;
    const sl_partition *partition = find_partition(view, o->partition);
    for (size_t g = 0; partition && g < partition->group_count; g++)
        if (strcmp(partition->groups[g].file_id, o->file_id) == 0)
            o->slice.group = &partition->groups[g];
    if (o->slice.group)
        return SL_OK;
    SL_TRY(sl_group_is_replaced(o->table, &view->timeline, o->partition, o->file_id, &o->is_replaced));
    return o->is_replaced ? SL_OK : sl_corrupt("file group %s of the plan is not there", o->file_id);
}

/* The files that the plan names, as the view knows them. */
static sl_status find_files(struct operation *o)
{
    SL_TRY(find_group(o));
    if (o->is_replaced)
        return SL_OK;
    if (o->base_name && !(o->slice.base = find_file(o->slice.group, o->base_name)))
        return sl_corrupt("base file %s of the plan is not there", o->base_name);
    SL_NEW_ARRAY(o->slice.logs, o->log_names.count + 1);
    for (size_t i = 0; i < o->log_names.count; i++) {
        const sl_data_file *log = find_file(o->slice.group, o->log_names.items[i]);
        if (!log)
            return sl_corrupt("log file %s of the plan is not there", o->log_names.items[i]);
        o->slice.logs[o->slice.log_count++] = log;
        o->log_bytes += log->size;
    }
    return SL_OK;
}

/* ---- running ------------------------------------------------------------------------------------------- */

static void operation_free(struct operation *o)
{
    sl_read_slice_free(&o->slice);
    sl_strings_free(&o->log_names);
}

sl_status operation_run(sl_table *table, sl_txn *txn, const struct groundwork *ground, const json_t *task,
                        uint32_t attempt)
{
    struct operation o = {.table = table, .txn = txn, .ground = ground, .attempt = attempt};
    sl_status status = SL_OK;
    SL_GO(parse(&o, task));
    SL_GO(find_files(&o));
    if (o.is_replaced)
        goto done;
    status = o.service == SL_LOG_COMPACT ? log_compaction_write(&o) : compaction_write(&o);
done:
    if (status && o.file_id)
        status = sl_context(status, "%s of partition %s, file group %s", task_kinds[o.service], o.partition,
                            o.file_id);
    operation_free(&o);
    return status;
}
