/*
 * Footer headers of native logs (spec/lsm-layout.md 5). Upstream used two forms: one JSON map under
 * `hudi.log.format.metadata` first, one entry per header under `hudi.log.format.<NAME>` later. Each reader
 * ignores the other form, so we write both and read both; when they contradict each other the later form
 * counts.
 */
#include "log/log.h"
#include <jansson.h>

#define HEADER_PREFIX "hudi.log.format."
#define HEADER_MAP    HEADER_PREFIX "metadata"

static const char *header_value(const sl_parquet *file, const json_t *map, const char *name, bool *differ)
{
    char key[64] = HEADER_PREFIX;
    strncat(key, name, sizeof key - sizeof HEADER_PREFIX);
    const char *split = sl_parquet_key_value(file, key);
    const char *mapped = map ? json_string_value(json_object_get(map, name)) : NULL;
    if (split && mapped && strcmp(split, mapped) != 0)
        *differ = true;
    return split ? split : mapped;
}

static sl_status headers_take(const sl_parquet *file, const json_t *map, struct sl_log_headers *out)
{
    const char *value;
    if ((value = header_value(file, map, "VERSION", &out->forms_differ))) {
        char *end;
        long version = strtol(value, &end, 10); /* leading white space is trimmed by strtol, trailing below */
        end += strspn(end, " \t\r\n");
        if (end == value || *end || version < 0)
            return sl_corrupt("log header VERSION is \"%s\", not a number", value);
        if (version > SL_NATIVE_LOG_VERSION)
            return sl_unsupported("log format version %ld (this program knows up to %d)", version,
                                  SL_NATIVE_LOG_VERSION);
        out->version = (int)version;
    }
    if ((value = header_value(file, map, "INSTANT_TIME", &out->forms_differ)) &&
        !(out->instant = sl_strdup(value)))
        return sl_nomem();
    if ((value = header_value(file, map, "SCHEMA", &out->forms_differ)) && !(out->schema = sl_strdup(value)))
        return sl_nomem();
    if ((value = header_value(file, map, "COMPACTED_BLOCK_TIMES", &out->forms_differ)))
        SL_TRY(sl_strings_split(&out->compacted, value, ','));
    if ((value = header_value(file, map, "IS_PARTIAL", &out->forms_differ)))
        out->is_partial = strcmp(value, "true") == 0;
    return SL_OK;
}

sl_status sl_log_headers_read(const sl_parquet *file, struct sl_log_headers *out)
{
    struct sl_log_headers headers = {0};
    json_t *map = NULL;
    const char *text = sl_parquet_key_value(file, HEADER_MAP);
    if (text) {
        json_error_t error;
        map = json_loads(text, 0, &error);
        if (!map || !json_is_object(map)) {
            json_decref(map);
            return sl_corrupt("log header map " HEADER_MAP " is no JSON object: %s",
                              map ? "another value" : error.text);
        }
    }
    sl_status status = headers_take(file, map, &headers);
    json_decref(map);
    if (status)
        sl_log_headers_free(&headers);
    else
        *out = headers;
    return status;
}

void sl_log_headers_free(struct sl_log_headers *headers)
{
    sl_free(headers->instant);
    sl_free(headers->schema);
    sl_strings_free(&headers->compacted);
    memset(headers, 0, sizeof *headers);
}

static sl_status joined(const sl_strings *list, char **out)
{
    sl_buf text = {0};
    sl_status status = SL_OK;
    for (size_t i = 0; i < list->count && !status; i++)
        status = sl_buf_printf(&text, "%s%s", i ? "," : "", list->items[i]);
    if (!status)
        status = sl_buf_take_string(&text, out);
    sl_buf_free(&text);
    return status;
}

sl_status sl_log_headers_write(sl_parquet_writer *writer, const char *instant, const char *schema,
                               const sl_strings *compacted)
{
    sl_status status = SL_OK;
    sl_buf map = {0};
    char *times = NULL, *map_text = NULL;
    if (compacted && compacted->count)
        SL_GO(joined(compacted, &times));
    const struct {
        const char *name, *value;
    } headers[] = {
        {"VERSION", "2"}, {"INSTANT_TIME", instant}, {"SCHEMA", schema}, {"COMPACTED_BLOCK_TIMES", times}};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        if (!headers[i].value)
            continue;
        char key[64] = HEADER_PREFIX;
        strncat(key, headers[i].name, sizeof key - sizeof HEADER_PREFIX);
        SL_GO(sl_parquet_writer_key_value(writer, key, headers[i].value));
        SL_GO(sl_buf_printf(&map, "%s\"%s\":", i ? "," : "{", headers[i].name));
        SL_GO(sl_json_string(headers[i].value, strlen(headers[i].value), &map));
    }
    SL_GO(sl_buf_byte(&map, '}'));
    SL_GO(sl_buf_take_string(&map, &map_text));
    SL_GO(sl_parquet_writer_key_value(writer, HEADER_MAP, map_text));
done:
    sl_buf_free(&map);
    sl_free(times);
    sl_free(map_text);
    return status;
}
