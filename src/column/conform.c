/* A batch of whatever shape into exactly the fields of a table's schema, by name. */
#include "column/cast_int.h"

/* Refused before any value is looked at, with the types in the message. */
static sl_status columns_check(const sl_type *from, const sl_type *to)
{
    int index = -1;
    for (size_t i = 0; i < to->field_count; i++) {
        const sl_field *field = &to->fields[i];
        index = sl_type_field_near(from, field->name, (size_t)(index + 1));
        if (index < 0 && !field->nullable)
            return sl_input("column %s: missing, and it may not be null", field->name);
        if (index >= 0 && !sl_cast_possible(from->fields[index].type, field->type))
            return sl_context(cast_refused(from->fields[index].type, field->type), "column %s", field->name);
    }
    return SL_OK;
}

static sl_status column_conform(const sl_batch *batch, int index, const sl_field *field, sl_array **out)
{
    if (index < 0)
        return sl_array_nulls(field->type, batch->rows, out);
    return sl_context(array_field_cast(batch->columns[index], field, NULL, out), "column %s", field->name);
}

sl_status sl_batch_conform(sl_batch *batch, const sl_type *schema, sl_batch **out)
{
    sl_array **columns;
    size_t done = 0;
    int index = -1;
    if (batch->schema == schema) {
        *out = sl_batch_ref(batch);
        return SL_OK;
    }
    SL_TRY(columns_check(batch->schema, schema));
    SL_NEW_ARRAY(columns, schema->field_count ? schema->field_count : 1);
    sl_status status = SL_OK;
    while (status == SL_OK && done < schema->field_count) {
        index = sl_type_field_near(batch->schema, schema->fields[done].name, (size_t)(index + 1));
        status = column_conform(batch, index, &schema->fields[done], &columns[done]);
        done += status == SL_OK;
    }
    if (status == SL_OK)
        status = sl_batch_new(schema, batch->rows, columns, out); /* takes the columns over */
    else
        for (size_t i = 0; i < done; i++)
            sl_array_unref(columns[i]);
    sl_free(columns);
    return status;
}
