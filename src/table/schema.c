/* A table's schema: where it is found, and its text as commits and files carry it (spec/timeline.md 6.3). */
#include "table/table_int.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define SCHEMA_LEVELS_MAX 60

const char *const sl_meta_names[SL_META_COLUMNS] = {"_hoodie_commit_time", "_hoodie_commit_seqno",
                                                    "_hoodie_record_key", "_hoodie_partition_path",
                                                    "_hoodie_file_name"};

static bool is_meta(const char *name)
{
    for (size_t m = 0; m < SL_META_COLUMNS; m++)
        if (strcmp(name, sl_meta_names[m]) == 0)
            return true;
    return strcmp(name, "_hoodie_operation") == 0;
}

static sl_status without_meta(const sl_type *schema, const sl_type **out)
{
    sl_field *fields;
    size_t count = 0;
    SL_NEW_ARRAY(fields, schema->field_count + 1);
    for (size_t i = 0; i < schema->field_count; i++)
        if (!is_meta(schema->fields[i].name))
            fields[count++] = schema->fields[i];
    sl_status status = sl_type_struct(fields, count, out);
    sl_free(fields);
    return status;
}

sl_status sl_schema_with_meta(const sl_type *schema, const sl_type **out)
{
    const sl_type *string;
    sl_field *fields;
    SL_TRY(sl_type_new(SL_STRING, &string));
    fields = sl_calloc(schema->field_count + SL_META_COLUMNS, sizeof *fields);
    sl_status status = fields ? SL_OK : sl_nomem();
    if (!status) {
        for (size_t m = 0; m < SL_META_COLUMNS; m++)
            fields[m] = (sl_field){.name = sl_meta_names[m], .type = string, .nullable = true, .doc = ""};
        for (size_t i = 0; i < schema->field_count; i++)
            fields[SL_META_COLUMNS + i] = schema->fields[i];
        status = sl_type_struct(fields, schema->field_count + SL_META_COLUMNS, out);
    }
    sl_free(fields);
    sl_type_unref(string);
    return status;
}

/* Hudi's own rule for record names: what Avro does not allow becomes _. */
void avro_name(const char *text, char *out, size_t out_bytes)
{
    size_t n = 0;
    for (; text[n] && n + 1 < out_bytes; n++)
        out[n] = isalnum((unsigned char)text[n]) || text[n] == '_' ? text[n] : '_';
    out[n] = 0;
    if (isdigit((unsigned char)*out))
        *out = '_';
}

/* Groups around the deepest value in a Parquet file, itself included: a list or map has one of its own. */
static unsigned levels_of(const sl_type *type)
{
    unsigned deepest = 0;
    for (size_t i = 0; i < type->field_count; i++) {
        unsigned below = levels_of(type->fields[i].type);
        deepest = below > deepest ? below : deepest;
    }
    return 1 + (type->id == SL_LIST) + deepest;
}

/* Here, where every schema passes on its way into a table: a file beyond this could be written but not read. */
static sl_status check_levels(const sl_type *schema)
{
    for (size_t i = 0; i < schema->field_count; i++) {
        unsigned levels = levels_of(schema->fields[i].type);
        if (levels > SCHEMA_LEVELS_MAX)
            return sl_input(
                "column %s: types inside each other make %u levels, %d are possible (a struct counts as 1, "
                "a list or map as 2)",
                schema->fields[i].name, levels, SCHEMA_LEVELS_MAX);
    }
    return SL_OK;
}

sl_status sl_table_schema_text(const sl_table *table, const sl_type *schema, bool with_meta, char **out)
{
    char name[256], record[300], space[300];
    SL_TRY(check_levels(schema));
    avro_name(table->name, name, sizeof name);
    snprintf(record, sizeof record, "%s_record", name);
    snprintf(space, sizeof space, "hoodie.%s", name);
    if (!with_meta)
        return sl_avro_schema_text(schema, record, space, out);
    const sl_type *full;
    SL_TRY(sl_schema_with_meta(schema, &full));
    sl_status status = sl_avro_schema_text(full, record, space, out);
    sl_type_unref(full);
    return status;
}

static sl_status parse_without_meta(const char *text, const sl_type **out)
{
    const sl_type *full;
    SL_TRY(sl_avro_schema_parse(text, strlen(text), &full));
    sl_status status = without_meta(full, out);
    sl_type_unref(full);
    return status;
}

/* Schema of a base file that a commit wrote: its Avro entry, else its columns. */
static sl_status schema_of_file(const sl_table *table, const char *relative, const sl_type **out)
{
    char *path = NULL;
    sl_file *file = NULL;
    sl_parquet *parquet = NULL;
    sl_status status = SL_OK;
    SL_GO(sl_table_path(table, relative, &path));
    SL_GO(sl_storage_open(table->storage, path, &file));
    SL_GO_CTX(sl_parquet_open(file, NULL, &parquet), "file %s", path);
    const char *avro = sl_parquet_key_value(parquet, "parquet.avro.schema");
    status = avro ? parse_without_meta(avro, out) : without_meta(sl_parquet_schema(parquet), out);
done:
    sl_parquet_close(parquet);
    sl_file_close(file);
    sl_free(path);
    return status;
}

static const char *first_base_file(const json_t *commit)
{
    const char *partition;
    json_t *stats, *stat;
    size_t i;
    json_object_foreach(json_object_get(commit, "partitionToWriteStats"), partition, stats)
    {
        json_array_foreach(stats, i, stat)
        {
            const char *path = json_string_value(json_object_get(stat, "path"));
            const char *name = path && strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
            struct sl_file_name parts;
            if (!name)
                continue;
            sl_file_name_parse(name, &parts);
            if (parts.kind == SL_FILE_BASE)
                return path;
        }
    }
    return NULL;
}

sl_status sl_table_schema(const sl_table *table, const sl_timeline *timeline, const char *upto,
                          const sl_type **out)
{
    char *fallback_file = NULL;
    sl_status status = SL_OK;
    for (size_t i = timeline->count; i-- > 0;) {
        const sl_instant *instant = &timeline->instants[i];
        if (!sl_action_writes(instant->action) || instant->state != SL_COMPLETED ||
            (upto && strcmp(instant->requested, upto) > 0))
            continue;
        json_t *commit;
        SL_GO(sl_instant_json(table, instant, SL_COMPLETED, &commit));
        const char *text =
            json_string_value(json_object_get(json_object_get(commit, "extraMetadata"), "schema"));
        const char *file = fallback_file ? NULL : first_base_file(commit);
        if (text && *text)
            status = schema_history_check(table, commit);
        if (text && *text && !status)
            status = sl_context(parse_without_meta(text, out), "schema of instant %s", instant->requested);
        if (file && !(text && *text) && !(fallback_file = sl_strdup(file)))
            status = sl_nomem();
        bool found = text && *text;
        json_decref(commit);
        if (found || status)
            goto done;
    }
    const char *created = sl_properties_get(&table->properties, "hoodie.table.create.schema");
    if (created && *created)
        status = sl_context(parse_without_meta(created, out), "hoodie.table.create.schema");
    else if (fallback_file)
        status = schema_of_file(table, fallback_file, out);
    else
        status = sl_not_found("the table has no schema yet: no commit and no hoodie.table.create.schema");
done:
    sl_free(fallback_file);
    return status;
}
