/* One file, decoded: told by its first bytes, not by its name. */
#include "api/api_int.h"
#include <string.h>

#define TEXT_BYTES_MAX ((size_t)64 << 20)
#define AVRO_BYTES_MAX ((size_t)1 << 30)

enum kind { KIND_PARQUET, KIND_AVRO, KIND_INLINE_LOG, KIND_PROPERTIES, KIND_UNKNOWN };

struct inspected {
    sl_storage *storage;
    char *path;
    sl_file *file;
    enum kind kind;
};

static void inspected_close(struct inspected *i)
{
    sl_file_close(i->file);
    sl_storage_free(i->storage);
    sl_free(i->path);
}

static bool ends_with(const char *text, const char *suffix)
{
    size_t n = strlen(text), s = strlen(suffix);
    return n >= s && strcmp(text + n - s, suffix) == 0;
}

static sl_status inspected_open(const char *path, struct inspected *out)
{
    struct inspected i = {.kind = KIND_UNKNOWN};
    uint8_t head[6] = {0};
    sl_status status = SL_OK;
    SL_GO(sl_storage_for_uri(path, &i.storage, &i.path));
    SL_GO(sl_storage_open(i.storage, i.path, &i.file));
    size_t n = sl_file_size(i.file) < sizeof head ? (size_t)sl_file_size(i.file) : sizeof head;
    SL_GO(sl_file_read_at(i.file, 0, head, n));
    if (n >= 4 && memcmp(head, "PAR1", 4) == 0)
        i.kind = KIND_PARQUET;
    else if (n >= 4 && memcmp(head, "Obj\1", 4) == 0)
        i.kind = KIND_AVRO;
    else if (n >= 6 && memcmp(head, "#HUDI#", 6) == 0)
        i.kind = KIND_INLINE_LOG;
    else if (ends_with(path, ".properties") || ends_with(path, ".backup") || ends_with(path, "_metadata"))
        i.kind = KIND_PROPERTIES;
    *out = i;
done:
    if (status)
        inspected_close(&i);
    return status;
}

/* ---- Parquet ------------------------------------------------------------------------------------------- */

static sl_status chunks_json(const sl_parquet *p, size_t group, json_t **out)
{
    json_t *chunks = json_array();
    sl_status status = SL_OK;
    for (size_t leaf = 0; leaf < sl_parquet_leaves(p) && !status; leaf++) {
        struct sl_parquet_chunk_info c;
        status = sl_parquet_chunk_info(p, group, leaf, &c);
        if (!status)
            status = sl_json_append(
                chunks, json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:b, s:b, s:b}", "column", c.path,
                                  "type", c.physical_type, "codec", c.codec, "encodings", c.encodings,
                                  "values", (json_int_t)c.values, "compressed_bytes",
                                  (json_int_t)c.compressed_bytes, "uncompressed_bytes",
                                  (json_int_t)c.uncompressed_bytes, "page_index", c.has_page_index,
                                  "bloom_filter", c.has_bloom_filter, "dictionary", c.has_dictionary));
    }
    if (status)
        json_decref(chunks);
    else
        *out = chunks;
    return status;
}

static sl_status parquet_json(const struct inspected *i, json_t **out)
{
    sl_parquet *p = NULL;
    char *schema = NULL;
    json_t *groups = json_array(), *values = json_object();
    sl_status status = SL_OK;
    SL_GO(sl_parquet_open(i->file, NULL, &p));
    SL_GO(sl_type_text(sl_parquet_schema(p), &schema));
    for (size_t k = 0; k < sl_parquet_key_values(p); k++) {
        const char *key, *value;
        sl_parquet_key_value_at(p, k, &key, &value);
        json_object_set_new(values, key, json_string(value ? value : ""));
    }
    for (size_t g = 0; g < sl_parquet_row_groups(p); g++) {
        json_t *chunks;
        SL_GO(chunks_json(p, g, &chunks));
        SL_GO(sl_json_append(
            groups,
            json_pack("{s:I, s:o}", "rows", (json_int_t)sl_parquet_row_group_rows(p, g), "columns", chunks)));
    }
    *out =
        json_pack("{s:s, s:I, s:I, s:s, s:s, s:O, s:O}", "kind", "parquet", "bytes",
                  (json_int_t)sl_file_size(i->file), "rows", (json_int_t)sl_parquet_rows(p), "schema", schema,
                  "created_by", sl_parquet_created_by(p), "key_values", values, "row_groups", groups);
    if (!*out)
        status = sl_corrupt("footer entries are no UTF-8");
done:
    json_decref(groups);
    json_decref(values);
    sl_free(schema);
    sl_parquet_close(p);
    return status;
}

/* ---- Avro and properties ------------------------------------------------------------------------------- */

static sl_status avro_json(const struct inspected *i, json_t **out)
{
    sl_buf bytes = {0};
    json_t *records, *schema;
    SL_TRY(sl_storage_read_all(i->storage, i->path, AVRO_BYTES_MAX, &bytes));
    sl_status status = sl_avro_container_read(bytes.data, bytes.len, &records, &schema);
    sl_buf_free(&bytes);
    SL_TRY(status);
    *out = json_pack("{s:s, s:I, s:o, s:o}", "kind", "avro", "bytes", (json_int_t)sl_file_size(i->file),
                     "schema", schema, "records", records);
    return *out ? SL_OK : sl_nomem();
}

static sl_status properties_json(const struct inspected *i, json_t **out)
{
    sl_buf bytes = {0};
    sl_properties p = {0};
    json_t *values = json_object();
    sl_status status = SL_OK;
    SL_GO(sl_storage_read_all(i->storage, i->path, TEXT_BYTES_MAX, &bytes));
    SL_GO(sl_properties_parse(bytes.data, bytes.len, &p));
    for (size_t k = 0; k < p.keys.count; k++)
        json_object_set_new(values, p.keys.items[k], json_string(p.values.items[k]));
    *out = json_pack("{s:s, s:I, s:O}", "kind", "properties", "bytes", (json_int_t)sl_file_size(i->file),
                     "properties", values);
done:
    json_decref(values);
    sl_properties_free(&p);
    sl_buf_free(&bytes);
    return status;
}

int sluice_inspect(const char *path, char **json, sluice_error *e)
{
    API_REQUIRE(path, json);
    struct inspected i;
    json_t *found = NULL;
    sl_status status = inspected_open(path, &i);
    if (status)
        return api_result(status, e);
    switch (i.kind) {
    case KIND_PARQUET:
        status = parquet_json(&i, &found);
        break;
    case KIND_AVRO:
        status = avro_json(&i, &found);
        break;
    case KIND_PROPERTIES:
        status = properties_json(&i, &found);
        break;
    case KIND_INLINE_LOG:
        status = sl_unsupported("inspecting an inline log");
        break;
    case KIND_UNKNOWN:
        status = sl_unsupported("this kind of file (Parquet, Avro and properties files can be inspected)");
        break;
    }
    if (!status)
        status = api_json_text(found, json);
    inspected_close(&i);
    return api_result(sl_context(status, "file %s", path), e);
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

int sluice_inspect_rows(const char *path, struct ArrowArrayStream *rows, sluice_error *e)
{
    API_REQUIRE(path, rows);
    struct inspected i;
    sl_stream *found = NULL;
    sl_status status = inspected_open(path, &i);
    if (status)
        return api_result(status, e);
    if (i.kind == KIND_PARQUET || i.kind == KIND_AVRO) {
        static const struct sl_input_options keep_all = {0};
        status = sl_input_open(path, i.kind == KIND_PARQUET ? "parquet" : "avro", NULL, &keep_all, &found);
    } else {
        status = sl_unsupported("rows of this kind of file (Parquet and Avro files have rows)");
    }
    if (!status)
        status = api_export_stream(found, 0, rows);
    inspected_close(&i);
    return api_result(sl_context(status, "file %s", path), e);
}
