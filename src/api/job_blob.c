/*
 * Tasks and results as bytes that travel: a line of printable text,
 *
 *     sluice-task 1 0123456789abcdef {"kind":...,"table":...}
 *
 * with the version of the format and XXH64 of what follows. The object means something to the same version only, so that
 * processes of different releases refuse one another instead of guessing.
 */
#include "api/api_int.h"
#include <stdio.h>
#include <string.h>

#define BLOB_VERSION 1
#define HEAD_MAX     64

static const char *const kinds[] = {[API_TASK] = "task", [API_RESULT] = "result"};

sl_status api_blob_seal(enum api_blob kind, const sl_table *table, json_t *json, char **out)
{
    char head[HEAD_MAX], *body;
    if (json_object_set_new(json, "table", json_string(table->name))) {
        json_decref(json);
        return sl_nomem();
    }
    SL_TRY(api_json_text(json, &body));
    size_t len = strlen(body), head_len = (size_t)snprintf(head, sizeof head, "sluice-%s %d %016" PRIx64 " ",
                                                           kinds[kind], BLOB_VERSION, sl_xxh64(body, len));
    char *blob = sl_malloc(head_len + len + 1);
    if (blob) {
        memcpy(blob, head, head_len);
        memcpy(blob + head_len, body, len + 1);
        *out = blob;
    }
    sl_free(body);
    return blob ? SL_OK : sl_nomem();
}

/* *body is where the object begins. */
static sl_status check_head(const char *name, const char *blob, size_t bytes, size_t *body)
{
    char head[HEAD_MAX + 1], found[16];
    int version, used = 0;
    uint64_t sum;
    size_t head_len = bytes < HEAD_MAX ? bytes : HEAD_MAX;
    memcpy(head, blob, head_len);
    head[head_len] = '\0';
    if (sscanf(head, "sluice-%15[a-z] %9d %16" SCNx64 "%n", found, &version, &sum, &used) != 3 || used == 0 ||
        head[used] != ' ' || strcmp(found, name) != 0)
        return sl_input("this is no %s of a job", name);
    if (version != BLOB_VERSION)
        return sl_unsupported("a %s in format %d of another release; here it is %d", name, version,
                              BLOB_VERSION);
    *body = (size_t)used + 1;
    if (sl_xxh64(blob + *body, bytes - *body) != sum)
        return sl_errorf(SL_E_CORRUPT, "the %s was damaged or cut on its way", name);
    return SL_OK;
}

sl_status api_blob_open(enum api_blob kind, const sl_table *table, const void *blob, size_t bytes,
                        json_t **out)
{
    json_error_t error;
    size_t body;
    if (!blob)
        return sl_input("a missing %s", kinds[kind]);
    SL_TRY(check_head(kinds[kind], blob, bytes, &body));
    json_t *json = json_loadb((const char *)blob + body, bytes - body, 0, &error);
    const char *name = json_string_value(json_object_get(json, "table"));
    sl_status status =
        !name ? sl_input("this is no %s of a job: %s", kinds[kind], json ? "it names no table" : error.text)
        : strcmp(name, table->name) != 0
            ? sl_input("the %s belongs to a table of the name %s, not to %s", kinds[kind], name, table->name)
            : SL_OK;
    if (status)
        json_decref(json);
    else
        *out = json;
    return status;
}
