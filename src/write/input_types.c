/*
 * Input types to table types (spec/parquet.md 8 and 11): what a Hudi table may have that Spark, too, is to
 * write. Spark compares the table's schema with the one it would have made, in which every field is nullable,
 * and refuses types that it does not make itself.
 */
#include "write/input_int.h"

bool input_is_meta_column(const char *name, size_t len)
{
    static const char *const names[] = {"_hoodie_commit_time", "_hoodie_commit_seqno",
                                        "_hoodie_record_key",  "_hoodie_partition_path",
                                        "_hoodie_file_name",   "_hoodie_operation"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == len && memcmp(name, names[i], len) == 0)
            return true;
    return false;
}

sl_status input_unknown_column(const sl_type *wanted, const char *name, size_t len)
{
    char *text = sl_strndup(name, len);
    if (!text)
        return sl_nomem();
    sl_status status = sl_input("column `%s` is not one of the table", text);
    const char *nearest = sl_type_field_alike(wanted, text);
    if (nearest)
        status = sl_hint(status, "is `%s` meant?", nearest);
    sl_free(text);
    return status;
}

sl_status input_unasked_column(const sl_type *wanted, const char *name, size_t len)
{
    return sl_hint(
        input_unknown_column(wanted, name, len),
        "a new column of the table is named, with its type, in the schema of the input (--schema)");
}

static sl_status map_type(const sl_type *in, const struct sl_table_type_options *options, const char *path,
                          const sl_type **out);

/* A path for messages: "a.b". */
static sl_status child_path(const char *path, const char *name, char **out)
{
    return sl_asprintf(out, "%s%s%s", path, *path ? "." : "", name);
}

static sl_status map_field(const sl_field *in, const struct sl_table_type_options *options, const char *path,
                           sl_field *out)
{
    char *inner = NULL;
    SL_TRY(child_path(path, in->name, &inner));
    *out = (sl_field){.name = in->name, .nullable = in->nullable || !options->keep_required, .doc = in->doc};
    sl_status status = map_type(in->type, options, inner, &out->type);
    sl_free(inner);
    return status;
}

static sl_status map_struct(const sl_type *in, const struct sl_table_type_options *options, const char *path,
                            const sl_type **out)
{
    sl_field *fields;
    SL_NEW_ARRAY(fields, in->field_count);
    sl_status status = SL_OK;
    for (size_t i = 0; i < in->field_count; i++)
        SL_GO(map_field(&in->fields[i], options, path, &fields[i]));
    SL_GO(sl_type_struct(fields, in->field_count, out));
done:
    for (size_t i = 0; i < in->field_count; i++)
        sl_type_unref(fields[i].type);
    sl_free(fields);
    return status;
}

static sl_status map_list(const sl_type *in, const struct sl_table_type_options *options, const char *path,
                          const sl_type **out)
{
    sl_field element;
    SL_TRY(map_field(&in->fields[0], options, path, &element));
    sl_status status = sl_type_list(&element, out);
    sl_type_unref(element.type);
    return status;
}

/* Avro has string keys only. */
static sl_status map_map(const sl_type *in, const struct sl_table_type_options *options, const char *path,
                         const sl_type **out)
{
    const sl_type *entries = in->fields[0].type, *key;
    sl_field value;
    if (entries->fields[0].type->id != SL_STRING) {
        char *text = NULL;
        SL_TRY(sl_type_text(entries->fields[0].type, &text));
        sl_status status = sl_unsupported(
            "column `%s`: a map with keys of type %s (a Hudi table has string keys only)", path, text);
        sl_free(text);
        return status;
    }
    SL_TRY(map_field(&entries->fields[1], options, path, &value));
    sl_status status = sl_type_new(SL_STRING, &key);
    if (status == SL_OK) {
        status = sl_type_map(key, &value, out);
        sl_type_unref(key);
    }
    sl_type_unref(value.type);
    return status;
}

static sl_status map_type(const sl_type *in, const struct sl_table_type_options *options, const char *path,
                          const sl_type **out)
{
    switch (in->id) {
    case SL_NULL:
        sl_warn(options->runtime, "column `%s` has no values: it becomes a string column", path);
        return sl_type_new(SL_STRING, out);
    case SL_INT8:
    case SL_INT16:
    case SL_UINT8:
    case SL_UINT16:
        return sl_type_new(SL_INT32, out);
    case SL_UINT32:
        return sl_type_new(SL_INT64, out);
    case SL_UINT64:
        return sl_type_decimal(20, 0, out);
    case SL_HALF:
        return sl_type_new(SL_FLOAT, out);
    case SL_TIMESTAMP:
        return sl_type_timestamp(SL_MICROS, in->utc, out);
    case SL_TIME:
        if (!options->keep_time)
            return sl_type_new(SL_INT64, out);
        sl_warn(options->runtime,
                "column `%s` stays a time of day: Spark 3.5 cannot open tables with such a column", path);
        return sl_type_time(in->unit == SL_MILLIS ? SL_MILLIS : SL_MICROS, out);
    case SL_STRING: /* enum, JSON: a plain string */
        return sl_type_new(SL_STRING, out);
    case SL_FIXED:
        return sl_type_new(in->annotation == SL_UUID ? SL_STRING : SL_BINARY, out);
    case SL_BINARY: /* BSON: plain bytes */
        return sl_type_new(SL_BINARY, out);
    case SL_DECIMAL:
        return sl_type_decimal(in->precision, in->scale, out);
    case SL_BOOL:
    case SL_INT32:
    case SL_INT64:
    case SL_FLOAT:
    case SL_DOUBLE:
    case SL_DATE:
        return sl_type_new(in->id, out);
    case SL_LIST:
        return map_list(in, options, path, out);
    case SL_MAP:
        return map_map(in, options, path, out);
    case SL_STRUCT:
        if (in->field_count == 0)
            return sl_unsupported("column `%s`: a struct without fields", path);
        return map_struct(in, options, path, out);
    }
    return sl_internal("column `%s`: type %d", path, (int)in->id);
}

/* Hudi's own columns of an exported table are no data. */
static sl_status without_meta_columns(const sl_type *in, const sl_type **out)
{
    sl_field *fields;
    size_t count = 0;
    SL_NEW_ARRAY(fields, in->field_count);
    for (size_t i = 0; i < in->field_count; i++)
        if (!input_is_meta_column(in->fields[i].name, strlen(in->fields[i].name)))
            fields[count++] = in->fields[i];
    sl_status status = count == 0 ? sl_input("the input has no columns") : sl_type_struct(fields, count, out);
    sl_free(fields);
    return status;
}

sl_status sl_input_table_type(const sl_type *in, const struct sl_table_type_options *options,
                              const sl_type **out)
{
    static const struct sl_table_type_options defaults;
    const sl_type *data;
    SL_TRY(without_meta_columns(in, &data));
    sl_status status = map_struct(data, options ? options : &defaults, "", out);
    sl_type_unref(data);
    return status;
}
