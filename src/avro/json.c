/* JSON where memory may run out: what a plan, a task or a schema leaves out by that is lost data. Jansson tells when a value
 * finds no place, but as text it may leave out a member's name and call it done; so the text is put together here. */
#include "avro/avro.h"

sl_status sl_json_append(json_t *array, json_t *value)
{
    return json_array_append_new(array, value) ? sl_nomem() : SL_OK;
}

sl_status sl_json_set(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) ? sl_nomem() : SL_OK;
}

struct json_text {
    sl_buf text;
    sl_status failure;
};

static int add_piece(const char *piece, size_t len, void *context)
{
    struct json_text *t = context;
    if (!t->failure)
        t->failure = sl_buf_append(&t->text, piece, len);
    return t->failure ? -1 : 0;
}

sl_status sl_json_text(const json_t *json, char **out)
{
    struct json_text t = {0};
    int failed =
        json_dump_callback(json, add_piece, &t, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    sl_status status = t.failure;
    if (!status && failed)
        status = sl_nomem();
    if (!status)
        status = sl_buf_take_string(&t.text, out);
    sl_buf_free(&t.text);
    return status;
}
