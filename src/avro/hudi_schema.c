/* Lookup of the compiled-in schemas; each is parsed when it is first asked for and then kept for good. */
#include "avro/avro_int.h"
#include <pthread.h>

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

/* jansson counts no references of a value whose count is this: several threads may then share it. */
static void share(json_t *json)
{
    const char *key;
    json_t *member;
    size_t i;
    json_object_foreach(json, key, member) share(member);
    json_array_foreach(json, i, member) share(member);
    json->refcount = (size_t)-1;
}

static const json_t *schema_at(size_t i)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    json_t *known = atomic_load(&parsed[i]);
    if (known)
        return known;
    pthread_mutex_lock(&mutex);
    known = atomic_load(&parsed[i]);
    if (!known && (known = pieces_parse(avro_embedded_schemas[i].pieces))) {
        share(known);
        atomic_store(&parsed[i], known);
    }
    pthread_mutex_unlock(&mutex);
    return known;
}

const json_t *sl_avro_hudi_schema(const char *record_name)
{
    for (size_t i = 0; i < avro_embedded_schema_count; i++)
        if (strcmp(avro_embedded_schemas[i].record_name, record_name) == 0)
            return schema_at(i);
    return NULL;
}
