/* Services, whole and in parts. A task and its result are texts (job_blob.c): self-contained, printable, the same on every
 * machine. */
#include "api/api_int.h"
#include <stdio.h>
#include <string.h>

struct sluice_job {
    sluice_table *owner;
    sl_service_job *service; /* NULL: there was nothing to do, or it is another kind of job */
    sl_write_job *write;
    char **tasks;
    size_t count;
};

/* ---- which plan ---------------------------------------------------------------------------------------- */

static sl_status inner_service(enum sluice_service service, enum sl_service *out)
{
    if (service != SLUICE_COMPACT && service != SLUICE_LOG_COMPACT)
        return sl_input("service %d is unknown", (int)service);
    *out = service == SLUICE_COMPACT ? SL_COMPACT : SL_LOG_COMPACT;
    return SL_OK;
}

struct planned {
    enum sl_service service;
    char instant[SL_INSTANT_BYTES]; /* "": there is nothing to do */
};

int sluice_service_preview(sluice_table *t, enum sluice_service service, char **json, sluice_error *e)
{
    API_REQUIRE(t, json);
    json_t *plan;
    enum sl_service inner;
    size_t operations;
    sl_status status =
        service == SLUICE_DUE ? sl_service_plan_due(t->table, &plan) : inner_service(service, &inner);
    if (!status && service != SLUICE_DUE)
        status = sl_service_plan(t->table, inner, SL_SELECT_ALL, &plan, &operations);
    if (!status)
        status = api_json_text(plan, json);
    return api_result(sl_context(status, "table %s", t->table->uri), e);
}

static sl_status schedule(sluice_table *t, enum sluice_service service, char *instant, size_t *operations)
{
    enum sl_service inner;
    if (service == SLUICE_DUE)
        return sl_service_schedule_due(t->table, instant, operations);
    SL_TRY(inner_service(service, &inner));
    return sl_service_schedule(t->table, inner, SL_SELECT_ALL, instant, operations);
}

int sluice_service_schedule(sluice_table *t, enum sluice_service service, char *instant, uint64_t *tasks,
                            sluice_error *e)
{
    API_REQUIRE(t, instant);
    char planned[SL_INSTANT_BYTES];
    size_t operations = 0;
    sl_status status = schedule(t, service, planned, &operations);
    if (!status) {
        snprintf(instant, 32, "%s", planned);
        if (tasks)
            *tasks = operations;
    }
    return api_result(sl_context(status, "table %s", t->table->uri), e);
}

/* The named plan, else the oldest that waits, else a new one. */
static sl_status choose_plan(sluice_table *t, enum sluice_service service, const char *instant,
                             struct planned *out)
{
    size_t operations;
    *out->instant = 0;
    if (service == SLUICE_DUE && instant && *instant)
        return sl_input("a plan is executed as what it is, a compaction or a log compaction");
    if (service == SLUICE_DUE)
        return sl_service_next_due(t->table, &out->service, out->instant);
    SL_TRY(inner_service(service, &out->service));
    if (instant && *instant) {
        if (strlen(instant) >= SL_INSTANT_BYTES)
            return sl_input("\"%s\" is no instant", instant);
        snprintf(out->instant, SL_INSTANT_BYTES, "%s", instant);
        return SL_OK;
    }
    SL_TRY(sl_service_check(t->table, out->service));
    SL_TRY(sl_service_pending(t->table, out->service, out->instant));
    return *out->instant
               ? SL_OK
               : sl_service_schedule(t->table, out->service, SL_SELECT_ALL, out->instant, &operations);
}

#define CHOICES_MAX 8

/* Whether somebody else took the plan that we chose, between our look and our lock: then there is a new choice. */
static bool is_taken(sl_status status)
{
    enum sl_code code = sl_status_code(status);
    return code == SL_E_EXISTS || code == SL_E_NOT_FOUND || code == SL_E_BUSY;
}

static sl_status begin(sluice_table *t, enum sluice_service service, const char *instant,
                       sl_service_job **out)
{
    struct planned plan;
    bool given = instant && *instant;
    *out = NULL;
    for (int choice = 1;; choice++) {
        SL_TRY(choose_plan(t, service, instant, &plan));
        if (!*plan.instant)
            return SL_OK;
        sl_status status = sl_service_begin(t->table, plan.service, plan.instant, out);
        if (!status || given || choice == CHOICES_MAX || !is_taken(status))
            return status;
        sl_status_free(status);
    }
}

static const char *action_of(enum sluice_service service)
{
    return service == SLUICE_COMPACT ? "compaction" : service == SLUICE_LOG_COMPACT ? "logcompaction" : "";
}

int sluice_service_run(sluice_table *t, enum sluice_service service, const char *instant,
                       sluice_commit_info *info, sluice_error *e)
{
    API_REQUIRE(t);
    struct sl_write_result result = {.action = action_of(service), .counts_known = true};
    sl_service_job *job;
    sl_status status = begin(t, service, instant, &job);
    if (!status && job)
        status = sl_service_finish(job, &result);
    if (!status)
        api_commit_info(&result, info);
    return api_result(sl_context(status, "table %s", t->table->uri), e);
}

/* ---- in parts ------------------------------------------------------------------------------------------ */

static sl_status make_task_texts(sluice_job *j, const sl_table *table)
{
    size_t count = sl_service_tasks(j->service);
    SL_NEW_ARRAY(j->tasks, count + 1);
    for (; j->count < count; j->count++) {
        json_t *task = json_deep_copy(sl_service_task(j->service, j->count));
        SL_TRY(task ? api_blob_seal(API_TASK, table, task, &j->tasks[j->count]) : sl_nomem());
    }
    return SL_OK;
}

int sluice_job_plan(sluice_table *t, enum sluice_service service, const char *instant, sluice_job **out,
                    sluice_error *e)
{
    API_REQUIRE(t, out);
    sluice_job *j = sl_calloc(1, sizeof *j);
    sl_status status = j ? begin(t, service, instant, &j->service) : sl_nomem();
    if (!status && j->service)
        status = make_task_texts(j, t->table);
    if (status) {
        sluice_job_free(j);
        return api_result(sl_context(status, "table %s", t->table->uri), e);
    }
    j->owner = api_table_ref(t);
    *out = j;
    return api_result(SL_OK, e);
}

void sluice_job_free(sluice_job *j)
{
    if (!j)
        return;
    sl_service_free(j->service);
    sl_write_job_free(j->write);
    for (size_t i = 0; i < j->count; i++)
        sl_free(j->tasks[i]);
    sl_free(j->tasks);
    sluice_table_close(j->owner);
    sl_free(j);
}

int sluice_job_plan_write(sluice_table *t, enum sluice_operation operation, uint32_t tasks, sluice_job **out,
                          sluice_error *e)
{
    API_REQUIRE(t, out);
    enum sl_operation inner;
    sluice_job *j = sl_calloc(1, sizeof *j);
    sl_status status = j ? api_operation(operation, &inner) : sl_nomem();
    if (!status)
        status = sl_write_job_begin(t->table, inner, tasks, &j->write);
    if (!status && !(j->tasks = sl_calloc((size_t)tasks + 1, sizeof *j->tasks)))
        status = sl_nomem();
    for (uint32_t i = 0; i < tasks && !status; i++) {
        json_t *task;
        status = sl_write_job_task(j->write, i, &task);
        if (!status)
            status = api_blob_seal(API_TASK, t->table, task, &j->tasks[i]);
        j->count += !status;
    }
    if (status) {
        sluice_job_free(j);
        return api_result(sl_context(status, "table %s", t->table->uri), e);
    }
    j->owner = api_table_ref(t);
    *out = j;
    return api_result(SL_OK, e);
}

int sluice_job_plan_scan(sluice_scan *s, sluice_job **out, sluice_error *e)
{
    API_REQUIRE(s, out);
    struct sl_scan_options options;
    json_t *tasks = NULL, *task;
    size_t i;
    sluice_table *t = api_scan_options(s, &options);
    sluice_job *j = sl_calloc(1, sizeof *j);
    sl_status status = j ? sl_scan_plan(t->table, &options, &tasks) : sl_nomem();
    if (!status && !(j->tasks = sl_calloc(json_array_size(tasks) + 1, sizeof *j->tasks)))
        status = sl_nomem();
    json_array_foreach(tasks, i, task)
    {
        if (!status)
            status = api_blob_seal(API_TASK, t->table, json_incref(task), &j->tasks[i]);
        if (!status)
            j->count++;
    }
    json_decref(tasks);
    if (status) {
        sluice_job_free(j);
        return api_result(sl_context(status, "table %s", t->table->uri), e);
    }
    j->owner = api_table_ref(t);
    *out = j;
    return api_result(SL_OK, e);
}

size_t sluice_job_tasks(const sluice_job *j) { return j ? j->count : 0; }

const void *sluice_job_task(const sluice_job *j, size_t index, size_t *bytes)
{
    if (!j || index >= j->count)
        return NULL;
    if (bytes)
        *bytes = strlen(j->tasks[index]);
    return j->tasks[index];
}

int sluice_route(sluice_table *t, enum sluice_operation operation, const struct ArrowSchema *schema,
                 struct ArrowArray *array, uint32_t tasks, uint32_t *numbers, sluice_error *e)
{
    enum sl_operation inner;
    const sl_type *type = NULL;
    sl_batch *batch = NULL;
    sl_status status = API_ARGUMENTS(t, schema, array, numbers);
    if (status)
        return api_drop_array(array, status, e);
    status = api_operation(operation, &inner);
    if (!status)
        status = sl_arrow_import_schema(schema, &type);
    if (!status)
        status = sl_arrow_import_batch(array, schema, type, &batch);
    else if (array->release)
        array->release(array);
    if (!status)
        status = sl_route(t->table, inner, batch, tasks, numbers);
    sl_batch_unref(batch);
    sl_type_unref(type);
    return api_result(sl_context(status, "table %s", t->table->uri), e);
}

static sl_status run_task(sl_table *table, const json_t *task, struct ArrowArrayStream *rows, json_t **result)
{
    const char *kind = json_string_value(json_object_get(task, "kind"));
    if (sl_is_service_task(task))
        return sl_service_run(table, task, result);
    if (!kind || strcmp(kind, "write") != 0)
        return sl_input("a task of kind %s has no result", kind ? kind : "none");
    if (!rows || !rows->release)
        return sl_input("the task of a write needs rows");
    sl_stream *stream;
    SL_TRY(sl_input_arrow_stream(rows, NULL, NULL, &stream));
    return sl_write_job_run(table, task, stream, result);
}

int sluice_task_run(const char *uri, const void *task, size_t task_bytes, struct ArrowArrayStream *rows,
                    const char *const *options, void **result, size_t *result_bytes, sluice_error *e)
{
    sluice_table *t;
    json_t *json = NULL, *answer = NULL;
    char *text = NULL;
    sl_status status = API_ARGUMENTS(uri, task, result, result_bytes);
    if (status)
        return api_drop_stream(rows, status, e);
    int code = sluice_table_open(uri, options, &t, e);
    status = code ? SL_OK : api_blob_open(API_TASK, t->table, task, task_bytes, &json);
    if (!code && !status)
        status = run_task(t->table, json, rows, &answer);
    if (!code && !status)
        status = api_blob_seal(API_RESULT, t->table, answer, &text);
    json_decref(json);
    if (rows && rows->release)
        rows->release(rows);
    if (code)
        return code;
    if (!status) {
        *result = text;
        *result_bytes = strlen(text);
    }
    sluice_table_close(t);
    return api_result(sl_context(status, "table %s", uri), e);
}

/* The stream of a scan's task owns its table handle. */
struct task_rows {
    sl_stream base;
    sl_stream *rows;
    sluice_table *table;
};

static sl_status task_next(sl_stream *self, sl_batch **out)
{
    return sl_stream_next(((struct task_rows *)self)->rows, out);
}

static void task_close(sl_stream *self)
{
    struct task_rows *r = (struct task_rows *)self;
    sl_stream_close(r->rows);
    sluice_table_close(r->table);
    sl_free(r);
}

int sluice_task_rows(const char *uri, const void *task, size_t task_bytes, const char *const *options,
                     struct ArrowArrayStream *rows, sluice_error *e)
{
    API_REQUIRE(uri, task, rows);
    struct task_rows *r = sl_calloc(1, sizeof *r);
    json_t *json = NULL;
    if (!r)
        return api_result(sl_nomem(), e);
    int code = sluice_table_open(uri, options, &r->table, e);
    if (code) {
        sl_free(r);
        return code;
    }
    sl_status status = api_blob_open(API_TASK, r->table->table, task, task_bytes, &json);
    if (!status)
        status = sl_scan_run(r->table->table, json, NULL, &r->rows);
    json_decref(json);
    if (status) {
        task_close(&r->base);
        return api_result(sl_context(status, "table %s", uri), e);
    }
    r->base = (sl_stream){r->rows->schema, task_next, task_close};
    return api_result(api_export_stream(&r->base, r->table->budget.limit, rows), e);
}

/* Takes over the job's inner half. */
static sl_status commit_results(sluice_job *j, json_t *const *results, size_t count,
                                struct sl_write_result *result)
{
    sl_service_job *service = j->service;
    sl_write_job *write = j->write;
    j->service = NULL;
    j->write = NULL;
    if (service)
        return sl_service_commit(service, results, count, result);
    return write ? sl_write_job_commit(write, results, count, result) : SL_OK;
}

int sluice_job_commit(sluice_job *j, const void *const *results, const size_t *result_bytes, size_t count,
                      sluice_commit_info *info, sluice_error *e)
{
    struct sl_write_result result = {.action = "compaction", .counts_known = true};
    API_REQUIRE(j);
    bool is_write = j->write != NULL;
    json_t **parsed = sl_calloc(count + 1, sizeof *parsed);
    sl_status status = parsed ? SL_OK : sl_nomem();
    if (!status && count)
        status = API_ARGUMENTS(results, result_bytes);
    for (size_t i = 0; i < count && !status; i++)
        status =
            sl_context(api_blob_open(API_RESULT, j->owner->table, results[i], result_bytes[i], &parsed[i]),
                       "result %zu", i);
    if (!status)
        status = commit_results(j, parsed, count, &result);
    for (size_t i = 0; parsed && i < count; i++)
        json_decref(parsed[i]);
    sl_free(parsed);
    if (!status && is_write)
        api_committed(j->owner, &result, info);
    else if (!status)
        api_commit_info(&result, info);
    status = sl_context(status, "table %s", j->owner->table->uri);
    sluice_job_free(j);
    return api_result(status, e);
}
