/* Drawing instants and creating their files. Both happen under the table's lock. */
#include "table/table_int.h"
#include <stdio.h>
#include <string.h>

static int number(const char *digits, int count)
{
    int value = 0;
    for (int i = 0; i < count; i++)
        value = value * 10 + (digits[i] - '0');
    return value;
}

/* One millisecond after a 17-digit instant, in the calendar of its own text. */
static void instant_after(const char *instant, char *out)
{
    int64_t days = sl_civil_to_days(number(instant, 4), number(instant + 4, 2), number(instant + 6, 2));
    int64_t seconds =
        days * 86400 + number(instant + 8, 2) * 3600 + number(instant + 10, 2) * 60 + number(instant + 12, 2);
    sl_instant_format(seconds * 1000 + number(instant + 14, 3) + 1, true, out);
}

sl_status instant_draw(const sl_table *table, const sl_timeline *timeline, char *out)
{
    char newest[SL_INSTANT_BYTES] = "";
    for (size_t i = 0; i < timeline->count; i++) {
        const sl_instant *instant = &timeline->instants[i];
        if (strcmp(instant->requested, newest) > 0)
            memcpy(newest, instant->requested, sizeof newest);
        if (strcmp(instant->completed, newest) > 0)
            memcpy(newest, instant->completed, sizeof newest);
    }
    sl_instant_format(sl_now_ms(), table->utc, out);
    if (strcmp(out, newest) > 0)
        return SL_OK;
    /* The timeline is ahead of our clock (or of our zone): go on from there, never back. */
    if (strlen(newest) != 17 || strspn(newest, "0123456789") != 17)
        return sl_corrupt("the timeline's newest instant is \"%s\"", newest);
    instant_after(newest, out);
    if (strcmp(out, newest) <=
        0) /* what we wrote under it would be older than what is there, so not be seen */
        return sl_corrupt("the timeline's newest instant is \"%s\", and there is none after it", newest);
    return SL_OK;
}

sl_status instant_create(const sl_table *table, const sl_instant *instant, enum sl_instant_state state,
                         const json_t *content, const char *record)
{
    char name[96], *path = NULL;
    sl_buf bytes = {0};
    sl_status status = SL_OK;
    sl_instant_file(instant, state, name);
    if (content) {
        const json_t *schema = sl_avro_hudi_schema(record);
        if (!schema) {
            status = sl_internal("no Avro schema %s", record);
            goto done;
        }
        SL_GO(sl_avro_container_write(schema, content, &bytes));
    }
    SL_GO(timeline_path(table, name, &path));
    SL_GO(sl_storage_create_if_absent(table->storage, path, bytes.len ? (const void *)bytes.data : "",
                                      bytes.len));
done:
    sl_buf_free(&bytes);
    sl_free(path);
    if (sl_status_code(status) == SL_E_EXISTS) { /* another writer owns it */
        sl_status_free(status);
        return sl_errorf(SL_E_CONFLICT, "instant %s was taken by another writer", name);
    }
    return status ? sl_context(status, "instant %s", name) : SL_OK;
}
