/*
 * doctor: everything of a table that can be checked against something else, each finding with its place.
 *
 *   doctor_timeline.c   instants are readable, their times make sense, who left work undone
 *   doctor_commits.c    what commits say they wrote against the files that are there
 *   doctor_names.c      names in the partitions: leftovers, strangers, buckets
 *   doctor_files.c      footers; deep: checksums, key order, bounds, meta columns of every row
 *   doctor_keys.c       deep: each key once in what a reader sees
 *
 * A look that fails is a finding and the next look goes on; only memory, cancellation and our own bugs end it.
 */
#include "service/doctor_int.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- findings ------------------------------------------------------------------------------------------ */

static const char *const severity_names[] = {"error", "warning", "unchecked"};

sl_status doctor_find(struct doctor *d, enum severity severity, const char *check, const char *place,
                      const char *format, ...)
{
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    message[sl_utf8_valid_prefix(message, strlen(message))] = 0; /* the cut, and odd names, must stay JSON */
    size_t valid = sl_utf8_valid_prefix(place, strlen(place));
    json_t *finding = json_pack("{s:s, s:s, s:s%, s:s}", "severity", severity_names[severity], "check", check,
                                "place", place, valid, "message", message);
    pthread_mutex_lock(&d->mutex);
    bool added = finding && json_array_append_new(d->findings, finding) == 0;
    pthread_mutex_unlock(&d->mutex);
    return added ? SL_OK : sl_nomem();
}

sl_status doctor_fault(struct doctor *d, const char *check, const char *place, sl_status status)
{
    enum sl_code code = sl_status_code(status);
    if (code == SL_E_OK || code == SL_E_MEMORY || code == SL_E_CANCELLED || code == SL_E_INTERNAL)
        return status;
    enum severity severity = code == SL_E_UNSUPPORTED ? DOCTOR_WARNING
                             : code == SL_E_IO        ? DOCTOR_UNCHECKED
                                                      : DOCTOR_ERROR;
    sl_status found = doctor_find(d, severity, check, place, "%s", sl_status_message(status));
    sl_status_free(status);
    return found;
}

/* By place, then as they were found. */
static int finding_compare(const void *a, const void *b)
{
    const json_t *const *x = a, *const *y = b;
    return strcmp(json_string_value(json_object_get(*x, "place")),
                  json_string_value(json_object_get(*y, "place")));
}

static sl_status sorted_findings(struct doctor *d, json_t **out)
{
    size_t count = json_array_size(d->findings);
    json_t **list, *sorted = json_array();
    if (!sorted)
        return sl_nomem();
    list = sl_calloc(count + 1, sizeof *list);
    if (!list) {
        json_decref(sorted);
        return sl_nomem();
    }
    for (size_t i = 0; i < count; i++)
        list[i] = json_array_get(d->findings, i);
    qsort(list, count, sizeof *list, finding_compare);
    for (size_t i = 0; i < count; i++)
        json_array_append(sorted, list[i]);
    sl_free(list);
    *out = sorted;
    return SL_OK;
}

/* ---- the visit ----------------------------------------------------------------------------------------- */

static sl_status load_schema(struct doctor *d)
{
    SL_TRY(sl_table_schema(d->table, &d->view.timeline, NULL, &d->data));
    if (d->table->populate_meta)
        return sl_schema_with_meta(d->data, &d->schema);
    d->schema = sl_type_ref(d->data);
    return SL_OK;
}

/* Without view or schema there is nothing to hold files against; an empty table has no schema. */
static sl_status check_all(struct doctor *d)
{
    SL_TRY(doctor_check_timeline(d));
    sl_status status = sl_view_load(d->table, NULL, &d->view);
    if (status)
        return doctor_fault(d, "view", "", status);
    status = load_schema(d);
    bool empty = sl_status_code(status) == SL_E_NOT_FOUND;
    if (empty)
        sl_status_free(status);
    else
        SL_TRY(doctor_fault(d, "schema", "", status));
    SL_TRY(doctor_check_commits(d));
    SL_TRY(doctor_check_names(d));
    SL_TRY(doctor_check_missing_changes(d));
    if (!d->schema)
        return SL_OK;
    SL_TRY(doctor_check_files(d));
    return d->deep ? doctor_check_keys(d) : SL_OK;
}

static void doctor_free(struct doctor *d)
{
    for (size_t i = 0; i < d->named_count; i++) {
        sl_free(d->named[i].path);
        sl_free(d->named[i].beside);
    }
    sl_free(d->named);
    sl_strings_free(&d->replaced);
    sl_strings_free(&d->unread);
    sl_type_unref(d->data);
    sl_type_unref(d->schema);
    sl_view_free(&d->view);
    json_decref(d->findings);
    pthread_mutex_destroy(&d->mutex);
}

static json_int_t count_of(const json_t *findings, enum severity severity)
{
    size_t i;
    json_int_t count = 0;
    json_t *finding;
    json_array_foreach((json_t *)(uintptr_t)findings, i, finding) count +=
        strcmp(json_string_value(json_object_get(finding, "severity")), severity_names[severity]) == 0;
    return count;
}

sl_status sl_doctor(sl_table *table, bool deep, json_t **out)
{
    struct doctor d = {.table = table, .deep = deep, .findings = json_array()};
    json_t *findings = NULL;
    sl_status status = SL_OK;
    pthread_mutex_init(&d.mutex, NULL);
    if (!d.findings)
        SL_GO(sl_nomem());
    SL_GO(check_all(&d));
    SL_GO(sorted_findings(&d, &findings));
    *out = json_pack("{s:o, s:I, s:I, s:b, s:{s:I, s:I, s:I, s:I}}", "findings", findings, "errors",
                     count_of(findings, DOCTOR_ERROR), "unchecked", count_of(findings, DOCTOR_UNCHECKED),
                     "deep", deep, "checked", "instants", (json_int_t)atomic_load(&d.instants), "files",
                     (json_int_t)atomic_load(&d.files), "rows", (json_int_t)atomic_load(&d.rows), "bytes",
                     (json_int_t)atomic_load(&d.bytes));
    status = *out ? SL_OK : sl_nomem();
done:
    doctor_free(&d);
    return status;
}

sl_status sl_doctor_repair(sl_table *table, size_t *rolled_back)
{
    sl_table_lock *lock;
    *rolled_back = 0;
    SL_TRY(sl_table_lock_take(table, &lock));
    sl_status status = sl_table_check_writable(table);
    if (!status)
        status = sl_rollback_leftovers(table, rolled_back);
    sl_table_lock_release(lock);
    return status;
}
