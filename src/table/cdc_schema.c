/*
 * Schemas of change data logs, byte for byte as Hudi 1.2.0 writes them (spec/lsm-layout.md 4.3, spec/log-format.md;
 * golden: tests/golden/lsm_format_test.c): keys alone, or rows before and after a change, nullable and without meta columns.
 */
#include "table/table_int.h"
#include <string.h>

sl_status sl_cdc_mode_named(const char *name, enum sl_cdc_mode *out)
{
    static const char *const names[] = {"op_key_only", "data_before", "data_before_after"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (equals_ignoring_case(name, names[i])) {
            *out = (enum sl_cdc_mode)i;
            return SL_OK;
        }
    return sl_input("%s is no mode of change data: op_key_only, data_before or data_before_after", name);
}

sl_status sl_table_keeps_changes(const sl_table *table, bool *keeps, enum sl_cdc_mode *mode)
{
    const char *name = sl_properties_get_or(&table->properties, "hoodie.table.cdc.supplemental.logging.mode",
                                            "data_before_after");
    *keeps = sl_properties_true(&table->properties, "hoodie.table.cdc.enabled", false);
    return *keeps ? sl_cdc_mode_named(name, mode) : SL_OK;
}

sl_status sl_cdc_columns(enum sl_cdc_mode mode, const sl_type *schema, const sl_type **out)
{
    const sl_type *text;
    SL_TRY(sl_type_new(SL_STRING, &text));
    const sl_field fields[] = {
        {.name = "op", .type = text, .nullable = true},
        {.name = mode == SL_CDC_DATA_BEFORE_AFTER ? "ts_ms" : "record_key", .type = text, .nullable = true},
        {.name = "before", .type = schema, .nullable = true},
        {.name = "after", .type = schema, .nullable = true},
    };
    sl_status status = sl_type_struct(fields, 2 + (size_t)mode, out);
    sl_type_unref(text);
    return status;
}

/* The table's record as it stands inside the record CDC: the namespace, which is the same, is left out. */
static sl_status inner_record(const char *text, const char *space, sl_buf *out)
{
    char *namespace;
    SL_TRY(sl_asprintf(&namespace, "\"namespace\":\"%s\",", space));
    const char *at = strstr(text, namespace);
    sl_status status = at ? sl_buf_append(out, text, (size_t)(at - text))
                          : sl_internal("a table's schema without namespace");
    if (!status)
        status = sl_buf_append(out, at + strlen(namespace), strlen(at + strlen(namespace)));
    sl_free(namespace);
    return status;
}

static sl_status rows_schema(enum sl_cdc_mode mode, const char *name, const char *text, sl_buf *out)
{
    char *space;
    SL_TRY(sl_asprintf(&space, "hoodie.%s", name));
    sl_status status = SL_OK;
    SL_GO(sl_buf_printf(out,
                        "{\"type\":\"record\",\"name\":\"CDC\",\"namespace\":\"%s\",\"doc\":\"\",\"fields\":["
                        "{\"name\":\"op\",\"type\":[\"null\",\"string\"],\"doc\":\"\",\"default\":null},"
                        "{\"name\":\"%s\",\"type\":[\"null\",\"string\"],\"doc\":\"\",\"default\":null},"
                        "{\"name\":\"before\",\"type\":[\"null\",",
                        space, mode == SL_CDC_DATA_BEFORE ? "record_key" : "ts_ms"));
    SL_GO(inner_record(text, space, out));
    SL_GO(sl_buf_printf(out, "],\"doc\":\"\",\"default\":null}"));
    if (mode == SL_CDC_DATA_BEFORE_AFTER)
        SL_GO(sl_buf_printf(
            out, ",{\"name\":\"after\",\"type\":[\"null\",\"%s_record\"],\"doc\":\"\",\"default\":null}",
            name));
    status = sl_buf_printf(out, "]}");
done:
    sl_free(space);
    return status;
}

sl_status sl_table_cdc_schema_text(const sl_table *table, enum sl_cdc_mode mode, const sl_type *schema,
                                   char **out)
{
    sl_buf buf = {0};
    char *text = NULL, name[256];
    sl_status status = SL_OK;
    if (mode == SL_CDC_OP_KEY_ONLY) {
        SL_GO(sl_buf_printf(&buf, "{\"type\":\"record\",\"name\":\"Record\",\"fields\":["
                                  "{\"name\":\"op\",\"type\":[\"string\",\"null\"]},"
                                  "{\"name\":\"record_key\",\"type\":[\"string\",\"null\"]}]}"));
    } else {
        SL_GO(sl_table_schema_text(table, schema, false, &text));
        avro_name(table->name, name, sizeof name);
        SL_GO(rows_schema(mode, name, text, &buf));
    }
    status = sl_buf_take_string(&buf, out);
done:
    sl_free(text);
    sl_buf_free(&buf);
    return status;
}
