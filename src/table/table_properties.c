/*
 * hoodie.properties on storage (spec/timeline.md 3.2, 3.3): a checksum of the names, a backup while it is
 * replaced. We replace atomically, but keep the backup step so that other writers can recover what we left,
 * and recover what they left.
 */
#include "table/table_int.h"
#include <stdio.h>
#include <string.h>

#define PROPERTIES           ".hoodie/hoodie.properties"
#define BACKUP               ".hoodie/hoodie.properties.backup"
#define PROPERTIES_BYTES_MAX ((size_t)64 << 20)
#define LOAD_TRIES           5
#define LOAD_WAIT_MS         200

void properties_checksum(const sl_properties *p, char *out)
{
    const char *database = sl_properties_get_or(p, "hoodie.database.name", "");
    uint32_t crc = sl_crc32(0, database, strlen(database));
    const char *name = sl_properties_get_or(p, "hoodie.table.name", "");
    crc = sl_crc32(crc, ".", 1);
    crc = sl_crc32(crc, name, strlen(name));
    snprintf(out, 16, "%" PRIu32, crc);
}

static sl_status validate(const sl_properties *p)
{
    const char *stored = sl_properties_get(p, "hoodie.table.checksum");
    if (!sl_properties_get(p, "hoodie.table.name"))
        return sl_corrupt("hoodie.table.name is missing");
    char expected[16];
    properties_checksum(p, expected);
    if (stored && strcmp(stored, expected) != 0)
        return sl_corrupt("hoodie.table.checksum is %s, the names give %s", stored, expected);
    return SL_OK;
}

static sl_status load_one(sl_storage *storage, const char *table_path, const char *relative,
                          sl_properties *out)
{
    char *path;
    sl_buf text = {0};
    sl_properties parsed = {0};
    SL_TRY(sl_path_join(table_path, relative, &path));
    sl_status status = sl_storage_read_all(storage, path, PROPERTIES_BYTES_MAX, &text);
    if (!status)
        status = sl_properties_parse(text.data, text.len, &parsed);
    if (!status)
        status = validate(&parsed);
    if (status && sl_status_code(status) != SL_E_NOT_FOUND)
        status = sl_context(status, "%s", path);
    sl_buf_free(&text);
    sl_free(path);
    if (status)
        sl_properties_free(&parsed);
    else
        *out = parsed;
    return status;
}

sl_status properties_load(sl_storage *storage, const char *table_path, sl_properties *out)
{
    sl_status status = SL_OK;
    for (int attempt = 0; attempt < LOAD_TRIES; attempt++) {
        sl_status_free(status);
        if (attempt)
            sl_sleep_ms(LOAD_WAIT_MS); /* somebody may be replacing the file right now */
        status = load_one(storage, table_path, PROPERTIES, out);
        if (!status)
            return SL_OK;
        sl_status from_backup = load_one(storage, table_path, BACKUP, out);
        if (!from_backup) {
            sl_status_free(status);
            return SL_OK;
        }
        bool both_missing =
            sl_status_code(status) == SL_E_NOT_FOUND && sl_status_code(from_backup) == SL_E_NOT_FOUND;
        sl_status_free(from_backup);
        if (both_missing || sl_status_code(status) == SL_E_MEMORY) /* waiting brings no memory */
            return status;
    }
    return status;
}

/* Finishes or undoes a replacement that died half way (spec/timeline.md 3.3, step 1). */
static sl_status recover(sl_table *table, const char *main_path, const char *backup_path)
{
    bool exists;
    SL_TRY(sl_storage_exists(table->storage, backup_path, &exists));
    if (!exists)
        return SL_OK;
    sl_properties p = {0};
    sl_status status = load_one(table->storage, table->path, PROPERTIES, &p);
    if (!status) {
        sl_properties_free(&p);
        return sl_storage_delete(table->storage, backup_path);
    }
    sl_status_free(status);
    SL_TRY_CTX(load_one(table->storage, table->path, BACKUP, &p), "both %s and its backup are unusable",
               main_path);
    sl_properties_free(&p);
    sl_buf bytes = {0};
    status = sl_storage_read_all(table->storage, backup_path, PROPERTIES_BYTES_MAX, &bytes);
    if (!status)
        status = sl_storage_replace(table->storage, main_path, bytes.data, bytes.len);
    if (!status)
        status = sl_storage_delete(table->storage, backup_path);
    sl_buf_free(&bytes);
    return status;
}

sl_status sl_table_set_properties(sl_table *table, const char *const *keys, const char *const *values,
                                  size_t count)
{
    char *main_path = NULL, *backup_path = NULL;
    sl_buf old = {0}, text = {0};
    sl_properties changed = {0};
    sl_status status = SL_OK;
    SL_GO(sl_table_path(table, PROPERTIES, &main_path));
    SL_GO(sl_table_path(table, BACKUP, &backup_path));
    SL_GO(recover(table, main_path, backup_path));
    SL_GO(sl_storage_read_all(table->storage, main_path, PROPERTIES_BYTES_MAX, &old));
    SL_GO(load_one(table->storage, table->path, PROPERTIES, &changed));
    for (size_t i = 0; i < count; i++)
        SL_GO(sl_properties_set(&changed, keys[i], values[i]));
    SL_GO(sl_properties_text(&changed, "Updated by sluice", &text));
    SL_GO(sl_storage_create_if_absent(table->storage, backup_path, old.data, old.len));
    SL_GO(sl_storage_replace(table->storage, main_path, text.data, text.len));
    SL_GO(sl_storage_delete(table->storage, backup_path));
    sl_properties_free(&table->properties);
    table->properties = changed;
    memset(&changed, 0, sizeof changed);
    status = table_interpret(table);
done:
    sl_properties_free(&changed);
    sl_buf_free(&old);
    sl_buf_free(&text);
    sl_free(main_path);
    sl_free(backup_path);
    return status ? sl_context(status, "update of hoodie.properties") : SL_OK;
}
