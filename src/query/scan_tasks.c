/*
 * A scan in parts: one task a file slice. A task names its files and the schema it was planned with, so that any process
 * reads the same snapshot without looking at the timeline again.
 */
#include "query/scan_int.h"
#include <string.h>

static sl_status slice_json(const struct scan *s, const struct sl_scan_options *o, const sl_read_slice *slice,
                            const char *schema, json_t **out)
{
    json_t *logs = json_array(), *columns = o->columns ? json_array() : json_null();
    sl_status status = SL_OK;
    for (size_t i = 0; i < slice->log_count && !status; i++)
        status = sl_json_append(logs, json_string(slice->logs[i]->name));
    for (size_t i = 0; o->columns && i < o->column_count && !status; i++)
        status = sl_json_append(columns, json_string(o->columns[i]));
    if (status) {
        json_decref(logs);
        json_decref(columns);
        return status;
    }
    *out = json_pack("{s:s, s:s, s:s, s:s?, s:o, s:o, s:s?, s:s}", "kind", "scan", "partition",
                     slice->group->partition, "file_id", slice->group->file_id, "base",
                     slice->base ? slice->base->name : NULL, "logs", logs, "columns", columns, "where",
                     s->where ? o->where : NULL, "schema", schema);
    return *out ? SL_OK : sl_nomem();
}

sl_status sl_scan_plan(const sl_table *table, const struct sl_scan_options *options, json_t **tasks)
{
    struct scan *s;
    char *schema = NULL;
    json_t *list = json_array();
    SL_NEW(s);
    s->table = table;
    sl_status status = list ? SL_OK : sl_nomem();
    if (!status)
        status = scan_load(s, options);
    if (!status)
        status = sl_avro_schema_text(s->table_schema, "scan_record", NULL, &schema);
    for (size_t i = 0; !status && i < s->slice_count; i++) {
        json_t *task;
        status = slice_json(s, options, &s->slices[i], schema, &task);
        if (!status && json_array_append_new(list, task))
            status = sl_nomem();
    }
    scan_free(s);
    sl_free(schema);
    if (status)
        json_decref(list);
    else
        *tasks = list;
    return status;
}

/* A view that holds just the task's files. */
static sl_status view_of_task(struct scan *s, const char *partition, const char *file_id, const char *base,
                              const json_t *logs)
{
    size_t count = json_array_size(logs) + (base ? 1 : 0);
    sl_view *view = &s->view;
    SL_NEW_ARRAY(view->partitions, 1);
    view->partition_count = 1;
    if (!(view->partitions[0].path = sl_strdup(partition)))
        return sl_nomem();
    SL_NEW_ARRAY(view->partitions[0].groups, 1);
    view->partitions[0].group_count = 1;
    sl_file_group *group = &view->partitions[0].groups[0];
    group->partition = view->partitions[0].path;
    if (!(group->file_id = sl_strdup(file_id)))
        return sl_nomem();
    SL_NEW_ARRAY(group->files, count + 1);
    SL_NEW_ARRAY(s->slices, 1);
    SL_NEW_ARRAY(s->slices[0].logs, count + 1);
    s->slice_count = 1;
    s->slices[0].group = group;
    for (size_t i = 0; i < count; i++) {
        const char *name =
            base && i == 0 ? base : json_string_value(json_array_get(logs, i - (base ? 1 : 0)));
        sl_data_file *file = &group->files[group->file_count];
        if (!name || strchr(name, '/'))
            return sl_input("this is no task of a scan: a file name is missing or holds a /");
        if (!(file->name = sl_strdup(name)))
            return sl_nomem();
        group->file_count++;
        sl_file_name_parse(name, &file->parts);
        if (base && i == 0)
            s->slices[0].base = file;
        else
            s->slices[0].logs[s->slices[0].log_count++] = file;
    }
    return SL_OK;
}

static sl_status load_task(struct scan *s, const json_t *task)
{
    const char *partition, *file_id, *schema;
    json_t *base, *logs, *columns, *where, *name;
    sl_strings names = {0};
    size_t i;
    if (json_unpack((json_t *)(uintptr_t)task, "{s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "partition", &partition,
                    "file_id", &file_id, "schema", &schema, "base", &base, "logs", &logs, "columns", &columns,
                    "where", &where))
        return sl_input("this is no task of a scan");
    SL_TRY(view_of_task(s, partition, file_id, json_string_value(base), logs));
    SL_TRY(sl_avro_schema_parse(schema, strlen(schema), &s->table_schema));
    if (json_is_string(where))
        SL_TRY(sl_expr_parse(json_string_value(where), s->table_schema, &s->where));
    sl_status status = SL_OK;
    json_array_foreach(columns, i, name) if (!status) status =
        json_is_string(name) ? sl_strings_add(&names, json_string_value(name))
                             : sl_input("this is no task of a scan");
    struct sl_scan_options o = {.columns = json_is_array(columns) ? (const char *const *)names.items : NULL,
                                .column_count = names.count};
    static const char *const none[1] = {NULL};
    if (json_is_array(columns) && names.count == 0)
        o.columns = none;
    if (!status)
        status = scan_choose_columns(s, &o);
    sl_strings_free(&names);
    return status ? status : scan_set_filter(s);
}

sl_status sl_scan_run(const sl_table *table, const json_t *task, sl_read_stats *stats, sl_stream **out)
{
    struct scan *s;
    SL_NEW(s);
    s->table = table;
    s->stats = stats;
    s->pool = table->runtime.pool;
    sl_status status = load_task(s, task);
    if (status) {
        scan_free(s);
        return status;
    }
    struct sl_parallel_source source = {s->schema, 1, scan_open_slice, s, scan_free};
    return sl_parallel_stream(&source, 1, &table->runtime, out);
}
