/* Arguments that may not be NULL, refused before anything is done with the others. */
#include "api/api_int.h"
#include <string.h>

/* `names` is the text of the macro's arguments: "t, out". */
static sl_status is_null(const char *names, size_t index)
{
    for (; index; index--)
        names += strcspn(names, ",") + 1;
    names += strspn(names, " ");
    return sl_input("argument `%.*s` is NULL", (int)strcspn(names, ","), names);
}

sl_status api_arguments(const char *names, const void *const *arguments, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!arguments[i])
            return is_null(names, i);
    return SL_OK;
}

sl_status api_items(const char *name, const char *const *items, size_t count)
{
    if (count && !items)
        return is_null(name, 0);
    for (size_t i = 0; i < count; i++)
        if (!items[i])
            return sl_input("item %zu of argument `%s` is NULL", i, name);
    return SL_OK;
}

int api_drop_array(struct ArrowArray *array, sl_status status, sluice_error *e)
{
    if (array && array->release)
        array->release(array);
    return api_result(status, e);
}

int api_drop_stream(struct ArrowArrayStream *rows, sl_status status, sluice_error *e)
{
    if (rows && rows->release)
        rows->release(rows);
    return api_result(status, e);
}
