/* What the tests of tables share: a table in a scratch folder, its files made by hand, and what lies in a folder. */
#ifndef TESTS_TABLE_SUPPORT_H
#define TESTS_TABLE_SUPPORT_H

#include "avro_support.h"
#include "table_options.h"
#include "table/table_int.h"
#include "unpack.h"

struct test_table {
    char root[512];
    sl_table *table;
};

SL_INLINE void put_bytes(const struct test_table *t, const char *relative, const void *data, size_t len)
{
    unpack_entry(t->root, relative, data, len);
}

SL_INLINE void put_text(const struct test_table *t, const char *relative, const char *text)
{
    put_bytes(t, relative, text, strlen(text));
}

/* Empty files. */
SL_INLINE void put_files(const struct test_table *t, const char *folder, const char *const *names)
{
    for (size_t i = 0; names[i]; i++) {
        char relative[1024];
        snprintf(relative, sizeof relative, "%s%s%s", folder, *folder ? "/" : "", names[i]);
        put_text(t, relative, "");
    }
}

/* A record as an Avro container, as timeline files hold it. Takes over `record`. */
SL_INLINE void put_avro(const struct test_table *t, const char *relative, const char *record_name,
                        json_t *record)
{
    sl_buf bytes = {0};
    assert_non_null(record);
    OK(sl_avro_container_write(sl_avro_hudi_schema(record_name), record, &bytes));
    put_bytes(t, relative, bytes.data, bytes.len);
    sl_buf_free(&bytes);
    json_decref(record);
}

SL_INLINE bool there_is(const struct test_table *t, const char *relative)
{
    char path[2048];
    snprintf(path, sizeof path, "%s/%s", t->root, relative);
    return access(path, F_OK) == 0;
}

SL_INLINE void remove_file(const struct test_table *t, const char *relative)
{
    char path[2048];
    snprintf(path, sizeof path, "%s/%s", t->root, relative);
    assert_int_equal(unlink(path), 0);
}

/* Names in a folder, sorted, one blank between; "-" when there is no such folder. Folders end with /. */
SL_INLINE const char *names_in(const struct test_table *t, const char *relative)
{
    static char text[8192];
    char path[2048];
    sl_listing listing;
    snprintf(path, sizeof path, "%s/%s", t->root, relative);
    sl_status status = sl_storage_list(t->table->storage, path, &listing);
    if (sl_status_code(status) == SL_E_NOT_FOUND) {
        sl_status_free(status);
        return "-";
    }
    OK(status);
    size_t n = 0;
    *text = 0;
    for (size_t i = 0; i < listing.count; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s%s", i ? " " : "", listing.entries[i].name,
                              listing.entries[i].is_dir ? "/" : "");
    sl_listing_free(&listing);
    return text;
}

SL_INLINE void open_with(struct test_table *t, const char *const *options)
{
    sl_properties p = {0};
    for (size_t i = 0; options && options[i]; i += 2)
        OK(sl_properties_set(&p, options[i], options[i + 1]));
    OK(sl_table_open(t->root, &p, NULL, &t->table));
    sl_properties_free(&p);
}

/* A table of hand-made properties. */
SL_INLINE struct test_table table_of(const char *properties)
{
    struct test_table t = {"", NULL};
    scratch_make(t.root, sizeof t.root);
    put_text(&t, ".hoodie/hoodie.properties", properties);
    put_text(&t, ".hoodie/timeline/", "");
    open_with(&t, NULL);
    return t;
}

/* A table made by sl_table_create: schema text and key, value, ..., NULL. */
SL_INLINE struct test_table table_created(const char *schema_text, const char *const *properties)
{
    struct test_table t = {"", NULL};
    struct sl_create_options options = {.name = "t1"};
    scratch_make(t.root, sizeof t.root);
    OK(sl_schema_parse(schema_text, &options.schema));
    for (size_t i = 0; properties && properties[i]; i += 2)
        OK(sl_properties_set(&options.properties, properties[i], properties[i + 1]));
    OK(sl_table_create(t.root, &options));
    sl_type_unref(options.schema);
    sl_properties_free(&options.properties);
    open_with(&t, NULL);
    return t;
}

SL_INLINE void table_reopen(struct test_table *t, const char *const *options)
{
    sl_table_close(t->table);
    t->table = NULL;
    open_with(t, options);
}

SL_INLINE void table_gone(struct test_table *t)
{
    sl_table_close(t->table);
    scratch_remove(t->root);
}

#endif
