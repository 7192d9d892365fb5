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
    o->slice.group = groundwork_group(o->ground, o->partition, o->file_id);
    if (o->slice.group)
        return SL_OK;
    SL_TRY(
        sl_group_is_replaced(o->table, &o->ground->view.timeline, o->partition, o->file_id, &o->is_replaced));
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

static sl_status in_operation(const struct operation *o, sl_status status)
{
    return o->file_id ? sl_context(status, "%s of partition %s, file group %s", task_kinds[o->service],
                                   o->partition, o->file_id)
                      : status;
}

sl_status operation_open(sl_table *table, sl_txn *txn, const struct groundwork *ground, const json_t *task,
                         uint32_t attempt, struct operation *out)
{
    struct operation o = {.table = table, .txn = txn, .ground = ground, .attempt = attempt};
    sl_status status = SL_OK;
    SL_GO(parse(&o, task));
    SL_GO(find_files(&o));
    *out = o;
done:
    if (!status)
        return SL_OK;
    status = in_operation(&o, status);
    operation_free(&o);
    return status;
}

void operation_free(struct operation *o)
{
    sl_read_slice_free(&o->slice);
    sl_strings_free(&o->log_names);
}

sl_status operation_run(sl_table *table, sl_txn *txn, const struct groundwork *ground, const json_t *task,
                        uint32_t attempt)
{
    struct operation o;
    sl_status status = SL_OK;
    SL_TRY(operation_open(table, txn, ground, task, attempt, &o));
    if (!o.is_replaced)
        status = o.service == SL_LOG_COMPACT ? log_compaction_write(&o) : compaction_write(&o);
    status = in_operation(&o, status);
    operation_free(&o);
    return status;
}
