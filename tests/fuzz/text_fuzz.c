/*
 * Fuzzing harness of what people type: the first byte chooses the parser, the rest is its text.
 *
 *   e  expression of --where      s  schema      p  hoodie.properties      f  name of a data file      i  instant
 */
#include "query/query.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expression(const char *text)
{
    static const char columns[] = "a long, b string, c double, d decimal(10,2), t timestamp, day date, ok "
                                  "boolean, s struct<x:int,y:string>, l list<int>";
    const sl_type *schema;
    sl_expr *expr;
    if (sl_status_ignore(sl_schema_parse(columns, &schema)))
        abort();
    if (!sl_status_ignore(sl_expr_parse(text, schema, &expr))) {
        sl_strings names = {0};
        if (!sl_status_ignore(sl_expr_columns(expr, &names)))
            sl_strings_free(&names);
        sl_expr_free(expr);
    }
    sl_type_unref(schema);
}

static void schema(const char *text)
{
    const sl_type *type;
    if (!sl_status_ignore(sl_schema_parse(text, &type)))
        sl_type_unref(type);
}

/* What was read and written again reads the same. */
static void properties(const char *text, size_t len)
{
    sl_properties first = {0}, second = {0};
    sl_buf written = {0};
    if (sl_status_ignore(sl_properties_parse(text, len, &first)))
        return;
    if (!sl_status_ignore(sl_properties_text(&first, "fuzz", &written))) {
        if (sl_status_ignore(sl_properties_parse(written.data, written.len, &second)))
            abort();
        for (size_t i = 0; i < second.keys.count; i++) {
            const char *value = sl_properties_get(&first, second.keys.items[i]);
            if (!value || strcmp(value, sl_properties_get(&second, second.keys.items[i])) != 0)
                abort();
        }
        sl_properties_free(&second);
    }
    sl_buf_free(&written);
    sl_properties_free(&first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    char *text = malloc(size), instant[SL_INSTANT_BYTES];
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    struct sl_file_name name;
    switch (data[0]) {
    case 'e':
        expression(text);
        break;
    case 's':
        schema(text);
        break;
    case 'p':
        properties(text, size - 1);
        break;
    case 'f':
        sl_file_name_parse(text, &name);
        break;
    case 'i':
        (void)sl_status_ignore(sl_instant_parse(text, instant));
        break;
    default:
        break;
    }
    free(text);
    return 0;
}
