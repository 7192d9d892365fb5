/* Fuzzing harness of the Avro readers: containers (they begin with "Obj") and schema texts. */
#include "avro/avro.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void container_readers(const uint8_t *data, size_t len)
{
    json_t *json;
    sl_stream *stream;
    sl_batch *batch = NULL;
    if (!sl_status_ignore(sl_avro_container_read(data, len, &json, NULL)))
        json_decref(json);
    if (!sl_status_ignore(sl_avro_container_describe(data, len, &json)))
        json_decref(json);
    if (sl_status_ignore(sl_avro_container_scan(data, len, &stream)))
        return;
    while (!sl_status_ignore(sl_stream_next(stream, &batch)) && batch)
        sl_batch_unref(batch);
    sl_stream_close(stream);
}

/* What parses can be written, and the text parses to the same type. */
static void schema_readers(const uint8_t *data, size_t len)
{
    const sl_type *type, *again;
    char *text;
    if (sl_status_ignore(sl_avro_schema_parse((const char *)data, len, &type)))
        return;
    if (!sl_status_ignore(sl_avro_schema_text(type, "r", "n", &text))) {
        sl_status status = sl_avro_schema_parse(text, strlen(text), &again);
        if (status != SL_OK || !sl_type_equal(type, again)) {
            fprintf(stderr, "schema text does not come back: %s\n%s\n", sl_status_message(status), text);
            abort();
        }
        sl_type_unref(again);
        sl_free(text);
    }
    sl_type_unref(type);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len >= 4 && memcmp(data, "Obj", 3) == 0)
        container_readers(data, len);
    else
        schema_readers(data, len);
    return 0;
}
