/* Which columns a write carries: the table's, checked against the input, and what the input adds (spec/write-path.md 8). */
#include "write/write_int.h"
#include <string.h>

sl_status writer_current_schema(const sl_table *table, const sl_type **out)
{
    sl_timeline timeline;
    SL_TRY(sl_timeline_load(table, &timeline));
    sl_status status = sl_table_schema(table, &timeline, NULL, out);
    sl_timeline_free(&timeline);
    return status;
}

static bool is_meta(const char *name)
{
    for (size_t m = 0; m < SL_META_COLUMNS; m++)
        if (strcmp(name, sl_meta_names[m]) == 0)
            return true;
    return false;
}

/* `null_for_missing`: a missing nullable column is filled with nulls instead of refused. `hint` is for one that is missing. */
static sl_status check_column(const sl_field *field, const sl_type *input, bool null_for_missing,
                              const char *hint)
{
    int at = sl_type_field_index(input, field->name);
    if (at < 0 && !(field->nullable && null_for_missing))
        return sl_hint(sl_input("column %s of the table is missing from the input", field->name), "%s", hint);
    if (at >= 0 && !sl_cast_possible(input->fields[at].type, field->type)) {
        char *from = NULL, *to = NULL;
        sl_status status = sl_type_text(input->fields[at].type, &from);
        if (!status)
            status = sl_type_text(field->type, &to);
        if (!status)
            status = sl_input("column %s: %s does not fit the table's %s", field->name, from, to);
        sl_free(from);
        sl_free(to);
        return status;
    }
    return SL_OK;
}

/* The table's columns, then new columns of the input: nullable ones only, for older rows have no value in
 * them. */
sl_status writer_row_columns(const sl_table *table, const sl_type *current, const sl_type *input,
                             const sl_type **out)
{
    sl_field *fields;
    size_t count = current->field_count;
    SL_NEW_ARRAY(fields, current->field_count + input->field_count + 1);
    sl_status status = SL_OK;
    bool null_for_missing = sl_table_setting_true(table, "hoodie.write.set.null.for.missing.columns", false);
    bool force = sl_table_setting_true(table, "sluice.parquet.force", false);
    memcpy(fields, current->fields, count * sizeof *fields);
    for (size_t i = 0; i < current->field_count; i++)
        SL_GO(check_column(
            &current->fields[i], input, null_for_missing,
            "-c hoodie.write.set.null.for.missing.columns=true writes null into missing columns"));
    for (size_t i = 0; i < input->field_count; i++) {
        const sl_field *f = &input->fields[i];
        if (is_meta(f->name) || sl_type_field_index(current, f->name) >= 0)
            continue;
        SL_GO(sl_file_type_check(f, force));
        fields[count] = *f;
        fields[count++].nullable = true;
    }
    status = sl_type_struct(fields, count, out);
done:
    sl_free(fields);
    return status;
}

static bool in_list(const sl_strings *list, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < list->count; i++)
        if (strncmp(list->items[i], name, n) == 0 && (list->items[i][n] == 0 || list->items[i][n] == '.'))
            return true;
    return false;
}

sl_status sl_write_key_columns(const sl_table *table, const sl_type *columns, const sl_type **out)
{
    sl_field *fields;
    size_t count = 0;
    SL_NEW_ARRAY(fields, columns->field_count + 1);
    for (size_t i = 0; i < columns->field_count; i++)
        if (in_list(&table->keygen.record_fields, columns->fields[i].name) ||
            in_list(&table->keygen.partition_fields, columns->fields[i].name))
            fields[count++] = columns->fields[i];
    sl_status status = sl_type_struct(fields, count, out);
    sl_free(fields);
    return status;
}

sl_status writer_key_columns(const sl_table *table, const sl_type *current, const sl_type *input,
                             const sl_type **out)
{
    const sl_type *keys;
    SL_TRY(sl_write_key_columns(table, current, &keys));
    for (size_t i = 0; i < keys->field_count; i++) {
        sl_status status =
            check_column(&keys->fields[i], input, false, "a delete needs the key and partition columns");
        if (status) {
            sl_type_unref(keys);
            return status;
        }
    }
    *out = keys;
    return SL_OK;
}

int writer_key_column(const sl_table *table, const sl_type *columns)
{
    const struct sl_keygen *keygen = &table->keygen;
    bool bare = keygen->record_fields.count == 1 &&
                (keygen->kind != SL_KEYGEN_COMPLEX || keygen->complex_bare_single);
    int at = bare ? sl_type_field_index(columns, keygen->record_fields.items[0]) : -1;
    return at >= 0 && columns->fields[at].type->id == SL_STRING ? at : -1;
}

/* Record key, then the columns but for the one that is the key; a delete's buffer has the delete log's columns instead. */
sl_status writer_buffer_schema(const sl_table *table, enum sl_operation operation, const sl_type *columns,
                               const sl_type *current, const sl_type **out)
{
    if (operation == SL_OP_DELETE) {
        const sl_type *full;
        struct sl_merge_options rules;
        SL_TRY(sl_schema_with_meta(current, &full));
        sl_status status = sl_table_rules(table, full, &rules);
        if (!status)
            status = sl_delete_schema(&rules, out);
        sl_type_unref(full);
        return status;
    }
    int key = writer_key_column(table, columns);
    const sl_type *string;
    sl_field *fields;
    SL_TRY(sl_type_new(SL_STRING, &string));
    fields = sl_calloc(columns->field_count + 1, sizeof *fields);
    sl_status status = fields ? SL_OK : sl_nomem();
    if (!status) {
        size_t count = 0;
        fields[count++] =
            (sl_field){.name = sl_meta_names[SL_META_RECORD_KEY], .type = string, .nullable = false};
        for (size_t i = 0; i < columns->field_count; i++)
            if ((int)i != key)
                fields[count++] = columns->fields[i];
        status = sl_type_struct(fields, count, out);
    }
    sl_free(fields);
    sl_type_unref(string);
    return status;
}

/* Another writer may have changed the schema since we opened: what it added stays. */
sl_status writer_commit_schema(const sl_table *table, enum sl_operation operation, const sl_type *columns,
                               const sl_timeline *timeline, const sl_type **out)
{
    const sl_type *current;
    SL_TRY(sl_table_schema(table, timeline, NULL, &current));
    sl_status status = SL_OK;
    if (operation == SL_OP_DELETE) {
        *out = sl_type_ref(current);
        goto done;
    }
    sl_field *fields = sl_calloc(current->field_count + columns->field_count + 1, sizeof *fields);
    size_t count = current->field_count;
    if (!fields) {
        status = sl_nomem();
        goto done;
    }
    memcpy(fields, current->fields, count * sizeof *fields);
    for (size_t i = 0; i < columns->field_count; i++)
        if (sl_type_field_index(current, columns->fields[i].name) < 0)
            fields[count++] = columns->fields[i];
    status = sl_type_struct(fields, count, out);
    sl_free(fields);
done:
    sl_type_unref(current);
    return status;
}
