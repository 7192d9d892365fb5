/* Lookup of the compiled-in schemas; each is parsed when it is first asked for and then kept for good. */
#include "avro/avro_int.h"

static _Atomic(json_t *) parsed[AVRO_EMBEDDED_SCHEMAS_MAX];

static json_t *pieces_parse(const char *const *pieces)
{
    sl_buf text = {0};
    json_t *json = NULL;
    bool failed = false;
    for (size_t i = 0; pieces[i] && !failed; i++)
        failed = sl_status_ignore(sl_buf_append(&text, pieces[i], strlen(pieces[i])));
    if (!failed)
        json = json_loadb((const char *)text.data, text.len, 0, NULL);
    sl_buf_free(&text);
    return json;
}

/* Two threads may parse the same schema at once; the first to be done wins. */
static const json_t *schema_at(size_t i)
{
    json_t *known = atomic_load(&parsed[i]);
    if (known)
        return known;
    json_t *json = pieces_parse(avro_embedded_schemas[i].pieces);
    if (json && !atomic_compare_exchange_strong(&parsed[i], &known, json)) {
        json_decref(json);
        return known;
    }
    return json;
}

const json_t *sl_avro_hudi_schema(const char *record_name)
{
    for (size_t i = 0; i < avro_embedded_schema_count; i++)
        if (strcmp(avro_embedded_schemas[i].record_name, record_name) == 0)
            return schema_at(i);
    return NULL;
}
