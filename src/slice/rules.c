/* How a table merges: its properties as options of the merge pipeline (spec/lsm-layout.md 8). */
#include "slice/slice.h"
#include <string.h>

static const char *merge_property(const sl_table *table, const char *version_9_key, const char *plain_key)
{
    const char *value = sl_properties_get(&table->properties, version_9_key);
    return value ? value : sl_properties_get(&table->properties, plain_key);
}

static sl_status partial_mode(const sl_table *table, struct sl_merge_options *o)
{
    const char *mode = sl_properties_get_or(&table->properties, "hoodie.table.partial.update.mode", "");
    if (!*mode)
        return SL_OK;
    if (strcmp(mode, "IGNORE_DEFAULTS") == 0) {
        o->partial = SL_PARTIAL_IGNORE_DEFAULTS;
        return SL_OK;
    }
    if (strcmp(mode, "FILL_UNAVAILABLE") != 0)
        return sl_unsupported("merging rows of a table whose partial update mode is %s", mode);
    o->partial = SL_PARTIAL_FILL_UNAVAILABLE;
    o->unavailable = sl_properties_get(&table->properties, SL_UNAVAILABLE_VALUE);
    return o->unavailable
               ? SL_OK
               : sl_corrupt(
                     "the partial update mode FILL_UNAVAILABLE needs the property " SL_UNAVAILABLE_VALUE);
}

sl_status sl_table_rules(const sl_table *table, const sl_type *schema, struct sl_merge_options *out)
{
    struct sl_merge_options o = {0};
    if (table->merge == SL_MERGE_CUSTOM)
        return sl_unsupported("merging rows of a table whose merge mode is CUSTOM");
    SL_TRY(partial_mode(table, &o));
    o.mode = table->merge == SL_MERGE_EVENT_TIME ? SL_EVENT_TIME : SL_COMMIT_TIME;
    o.key_column = sl_meta_names[SL_META_RECORD_KEY];
    o.ordering = (const char *const *)table->ordering.items;
    o.ordering_count = table->ordering.count;
    int deleted = sl_type_field_index(schema, "_hoodie_is_deleted");
    if (deleted >= 0 && schema->fields[deleted].type->id == SL_BOOL)
        o.delete_column = "_hoodie_is_deleted";
    o.marker_column = merge_property(table, SL_DELETE_FIELD, "hoodie.payload.delete.field");
    o.marker_value = merge_property(table, SL_DELETE_MARKER, "hoodie.payload.delete.marker");
    if (!o.marker_column || !o.marker_value || sl_type_field_index(schema, o.marker_column) < 0)
        o.marker_column = o.marker_value = NULL;
    o.classic = table->layout == SL_LAYOUT_DEFAULT;
    o.schema = schema;
    o.runtime = &table->runtime;
    *out = o;
    return SL_OK;
}
