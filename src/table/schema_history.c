/*
 * Schema-on-read (spec/timeline.md 13): a table whose columns were renamed or made anew without rewriting its files maps
 * them by id. We match columns by name, which is the same as long as no id ever had two names and no name two ids; where
 * that does not hold the table is refused rather than read wrongly.
 */
#include "table/table_int.h"
#include <string.h>

#define HISTORY_BYTES_MAX ((size_t)256 << 20)
#define DEPTH_MAX         64

struct column {
    json_int_t id;
    const char *path; /* borrowed from the paths */
};
struct columns {
    struct column *items;
    size_t count, cap;
    sl_arena *paths;
};

static sl_status column_add(struct columns *c, json_int_t id, const char *path)
{
    SL_GROW(c->items, c->count, c->cap, 64);
    c->items[c->count++] = (struct column){id, path};
    return SL_OK;
}

static sl_status collect_type(struct columns *c, const json_t *type, const char *path, int depth);

static sl_status collect_part(struct columns *c, const json_t *type, const char *id, const char *part,
                              const char *path, int depth)
{
    json_t *number = json_object_get(type, id);
    char *below;
    if (!number)
        return SL_OK;
    SL_TRY(sl_asprintf(&below, "%s.%s", path, part));
    char *kept = sl_arena_strndup(c->paths, below, strlen(below));
    sl_free(below);
    if (!kept)
        return sl_nomem();
    SL_TRY(column_add(c, json_integer_value(number), kept));
    return collect_type(c, json_object_get(type, part), kept, depth + 1);
}

/* Columns of a record, an array's element, a map's key and value; plain types are strings and have none. */
static sl_status collect_type(struct columns *c, const json_t *type, const char *path, int depth)
{
    json_t *field;
    size_t i;
    if (depth > DEPTH_MAX)
        return sl_corrupt("schema history nests deeper than %d", DEPTH_MAX);
    if (!json_is_object(type))
        return SL_OK;
    json_array_foreach(json_object_get(type, "fields"), i, field)
    {
        const char *name = json_string_value(json_object_get(field, "name"));
        char *below;
        if (!name || !json_is_integer(json_object_get(field, "id")))
            return sl_corrupt("schema history: a field without name or id");
        SL_TRY(sl_asprintf(&below, "%s%s%s", path, *path ? "." : "", name));
        char *kept = sl_arena_strndup(c->paths, below, strlen(below));
        sl_free(below);
        if (!kept)
            return sl_nomem();
        SL_TRY(column_add(c, json_integer_value(json_object_get(field, "id")), kept));
        SL_TRY(collect_type(c, json_object_get(field, "type"), kept, depth + 1));
    }
    SL_TRY(collect_part(c, type, "element_id", "element", path, depth));
    SL_TRY(collect_part(c, type, "key_id", "key", path, depth));
    return collect_part(c, type, "value_id", "value", path, depth);
}

static int by_id(const void *a, const void *b)
{
    const struct column *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return strcmp(x->path, y->path);
}

static int by_path(const void *a, const void *b)
{
    const struct column *x = a, *y = b;
    int c = strcmp(x->path, y->path);
    return c ? c : by_id(a, b);
}

static sl_status check_columns(struct columns *c)
{
    qsort(c->items, c->count, sizeof *c->items, by_id);
    for (size_t i = 1; i < c->count; i++)
        if (c->items[i].id == c->items[i - 1].id && strcmp(c->items[i].path, c->items[i - 1].path) != 0)
            return sl_unsupported(
                "schema-on-read: column %s was once %s, and older files hold it under that name",
                c->items[i].path, c->items[i - 1].path);
    qsort(c->items, c->count, sizeof *c->items, by_path);
    for (size_t i = 1; i < c->count; i++)
        if (strcmp(c->items[i].path, c->items[i - 1].path) == 0 && c->items[i].id != c->items[i - 1].id)
            return sl_unsupported(
                "schema-on-read: column %s was dropped and made anew, and older files hold the old one",
                c->items[i].path);
    return SL_OK;
}

/* The newest completed schema commit holds the whole history. */
static sl_status newest_history(const sl_table *table, json_t **out)
{
    char *folder = NULL, *path = NULL;
    const char *newest = NULL;
    sl_listing listing = {0};
    sl_buf text = {0};
    sl_status status = SL_OK;
    SL_GO(hoodie_path(table, ".schema", &folder));
    SL_GO(sl_storage_list(table->storage, folder, &listing));
    for (size_t i = 0; i < listing.count; i++) { /* sorted, so the last one is the newest */
        const char *name = listing.entries[i].name, *suffix = strchr(name, '.');
        if (suffix && suffix > name && strcmp(suffix, ".schemacommit") == 0)
            newest = name;
    }
    if (!newest) {
        status = sl_not_found("no completed schema commit in %s", folder);
        goto done;
    }
    SL_GO(sl_path_join(folder, newest, &path));
    SL_GO(sl_storage_read_all(table->storage, path, HISTORY_BYTES_MAX, &text));
    json_error_t error;
    *out = json_loadb((const char *)text.data, text.len, JSON_ALLOW_NUL, &error);
    if (!*out)
        status = sl_corrupt("%s: %s", path, error.text);
done:
    sl_buf_free(&text);
    sl_listing_free(&listing);
    sl_free(folder);
    sl_free(path);
    return status;
}

static const char *latest_schema(const json_t *commit)
{
    const char *text =
        json_string_value(json_object_get(json_object_get(commit, "extraMetadata"), "latest_schema"));
    return text && *text ? text : NULL;
}

sl_status schema_history_check(const sl_table *table, const json_t *commit)
{
    json_t *history = NULL, *schema;
    struct columns columns = {0};
    size_t i;
    sl_status status = SL_OK;
    if (!latest_schema(commit))
        return SL_OK;
    SL_GO(newest_history(table, &history));
    SL_GO(sl_arena_new(&columns.paths));
    json_array_foreach(json_object_get(history, "schemas"), i, schema)
        SL_GO(collect_type(&columns, schema, "", 0));
    status = check_columns(&columns);
done:
    sl_free(columns.items);
    sl_arena_free(columns.paths);
    json_decref(history);
    return status;
}

sl_status schema_history_refuse_write(const sl_table *table, const sl_timeline *timeline)
{
    const sl_instant *last = sl_timeline_last_write(timeline);
    json_t *commit;
    if (!last)
        return SL_OK;
    SL_TRY(sl_instant_json(table, last, SL_COMPLETED, &commit));
    sl_status status = latest_schema(commit)
                           ? sl_unsupported("writing a table with schema-on-read history (.hoodie/.schema)")
                           : SL_OK;
    json_decref(commit);
    return status;
}
