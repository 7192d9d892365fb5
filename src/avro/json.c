/* Building JSON where memory may run out: jansson tells, and what a plan or a task leaves out by that is lost data. */
#include "avro/avro.h"

sl_status sl_json_append(json_t *array, json_t *value)
{
    return json_array_append_new(array, value) ? sl_nomem() : SL_OK;
}

sl_status sl_json_set(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) ? sl_nomem() : SL_OK;
}
