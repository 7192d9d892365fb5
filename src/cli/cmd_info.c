/* info, timeline, files: the library's descriptions as text, or as they are with --json. */
#include "cli.h"
#include <stdlib.h>
#include <string.h>

typedef int (*printer)(const struct args *args, const json_t *description);

/* --json without changes is the library's own text. */
static int describe(const struct args *args, enum sluice_description what, bool is_changed_by_options,
                    printer print)
{
    sluice_table *table;
    json_t *json = NULL;
    char *text = NULL;
    int status = session_open(args, 0, NULL, &table);
    if (status)
        return status;
    status = session_describe(args, table, what, &json, &text);
    session_close(table);
    if (!status && given(args, OPT_JSON) && !is_changed_by_options)
        puts(text);
    else if (!status)
        status = print(args, json);
    sluice_free(text);
    json_decref(json);
    return status;
}

/* ---- info ---------------------------------------------------------------------------------------------- */

static void line(const char *label, const char *text)
{
    if (*text)
        printf("%-13s%s\n", label, text);
}

static char *joined(const json_t *list)
{
    char *text = cli_copy("");
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        char *longer = cli_text("%s%s%s", text, i ? ", " : "", json_string_value(item));
        free(text);
        text = longer;
    }
    return text;
}

static void list_line(const char *label, const json_t *info, const char *key, const char *none)
{
    char *text = joined(json_object_get(info, key));
    line(label, *text ? text : none);
    free(text);
}

/* "3 logs" */
static const char *counted(const json_t *info, const char *key, const char *word, char out[2 * NUMBER_TEXT])
{
    char count[NUMBER_TEXT];
    uint64_t n = json_number(info, key);
    snprintf(out, 2 * NUMBER_TEXT, "%s %s%s", count_text(n, count), word, n == 1 ? "" : "s");
    return out;
}

static void files_line(const json_t *info)
{
    char a[2 * NUMBER_TEXT], b[2 * NUMBER_TEXT], c[NUMBER_TEXT], d[NUMBER_TEXT];
    printf("%-13s%s in %s, %s\n", "size", counted(info, "file_groups", "file group", a),
           counted(info, "partitions", "partition", b), bytes_text(json_number(info, "bytes"), c));
    printf("%-13s%s, %s; %s, %s\n", "files", counted(info, "base_files", "base file", a),
           bytes_text(json_number(info, "base_bytes"), c), counted(info, "log_files", "log", b),
           bytes_text(json_number(info, "log_bytes"), d));
}

static void pending_lines(const json_t *pending)
{
    size_t i;
    json_t *instant;
    json_array_foreach(pending, i, instant)
    {
        char *text = cli_text("%s %s %s", json_text(instant, "instant"), json_text(instant, "action"),
                              json_text(instant, "state"));
        line(i ? "" : "pending", text);
        free(text);
    }
}

static void index_line(const json_t *index)
{
    if (!json_object_get(index, "buckets")) {
        line("index", json_is_object(index) ? json_text(index, "type") : "none stored; SIMPLE is assumed");
        return;
    }
    char *text = cli_text("%s, %d buckets on %s", json_text(index, "type"),
                          (int)json_number(index, "buckets"), json_text(index, "hash_field"));
    line("index", text);
    free(text);
}

static void column_lines(const json_t *columns)
{
    size_t i;
    json_t *column;
    static const struct view_column titles[] = {{"column", false}, {"type", false}, {"", false}};
    struct view *v = view_new(titles, sizeof titles / sizeof *titles);
    json_array_foreach(columns, i, column) view_add(
        v, (const char *const[]){json_text(column, "name"), json_text(column, "type"),
                                 json_is_false(json_object_get(column, "nullable")) ? "not null" : ""});
    putchar('\n');
    view_print(v, stdout, 0);
    view_free(v);
}

static void commits_line(const json_t *info)
{
    char count[NUMBER_TEXT];
    bool has_one = *json_text(info, "last_instant") != 0;
    char *text = cli_text("%s%s%s%s%s", count_text(json_number(info, "commits"), count),
                          has_one ? ", newest " : "", json_text(info, "last_instant"),
                          has_one ? ", completed " : "", json_text(info, "last_completed"));
    line("commits", text);
    free(text);
}

static int print_info(const struct args *args, const json_t *info)
{
    (void)args;
    char *kind = cli_text("version %d, %s, %s layout", (int)json_number(info, "version"),
                          json_text(info, "type"), json_text(info, "layout"));
    bool is_writable = json_is_true(json_object_get(info, "writable"));
    line("table", json_text(info, "name"));
    line("at", json_text(info, "uri"));
    line("kind", kind);
    line("merge mode", json_text(info, "merge_mode"));
    list_line("key", info, "record_key_fields", "none");
    list_line("partition", info, "partition_fields", "not partitioned");
    list_line("ordering", info, "ordering_fields", "");
    line("keys made by", json_text(info, "key_generator"));
    index_line(json_object_get(info, "index"));
    files_line(info);
    commits_line(info);
    pending_lines(json_object_get(info, "pending"));
    if (json_is_true(json_object_get(info, "metadata_table")))
        line("metadata", "has a metadata table in service");
    line("readable by", json_text(info, "readable_by"));
    line("writable", is_writable ? "yes" : "no");
    if (!is_writable)
        line("", json_text(info, "not_writable_because"));
    column_lines(json_object_get(info, "columns"));
    free(kind);
    return STATUS_DONE;
}

int cmd_info(const struct args *args) { return describe(args, SLUICE_DESCRIBE_INFO, false, print_info); }

/* ---- timeline ------------------------------------------------------------------------------------------ */

struct cell_source {
    const char *key;
    enum cell_kind kind;
};

static void add_object(struct view *v, const json_t *object, const struct cell_source *sources, size_t count)
{
    char **cells = cli_alloc(count * sizeof *cells);
    for (size_t c = 0; c < count; c++)
        cells[c] = json_cell(object, sources[c].key, sources[c].kind);
    view_add(v, (const char *const *)cells);
    for (size_t c = 0; c < count; c++)
        free(cells[c]);
    free(cells);
}

static void print_instants(const json_t *instants, size_t first)
{
    static const struct view_column columns[] = {
        {"instant", false},   {"completed", false}, {"action", false}, {"state", false},
        {"operation", false}, {"files", true},      {"rows", true},    {"inserted", true},
        {"updated", true},    {"deleted", true},    {"bytes", true},
    };
    static const struct cell_source sources[] = {
        {"instant", CELL_TEXT},       {"completed", CELL_TEXT}, {"action", CELL_TEXT},
        {"state", CELL_TEXT},         {"operation", CELL_TEXT}, {"files", CELL_COUNT},
        {"rows_written", CELL_COUNT}, {"inserted", CELL_COUNT}, {"updated", CELL_COUNT},
        {"deleted", CELL_COUNT},      {"bytes", CELL_BYTES},
    };
    enum { COUNT = sizeof columns / sizeof *columns };
    struct view *v = view_new(columns, COUNT);
    for (size_t i = first; i < json_array_size(instants); i++)
        add_object(v, json_array_get(instants, i), sources, COUNT);
    view_print(v, stdout, 0);
    view_free(v);
}

static int print_timeline(const struct args *args, const json_t *instants)
{
    int64_t limit;
    size_t count = json_array_size(instants);
    int status = args_number(args, OPT_LIMIT, (int64_t)count, &limit);
    if (status)
        return status;
    size_t first = (uint64_t)limit < count ? count - (size_t)limit : 0;
    if (given(args, OPT_JSON)) {
        json_t *newest = json_array();
        for (size_t i = first; i < count; i++)
            json_array_append(newest, json_array_get(instants, i));
        print_json(newest);
    } else if (count == 0 && !given(args, OPT_QUIET))
        puts("timeline: no instants yet");
    else
        print_instants(instants, first);
    return STATUS_DONE;
}

int cmd_timeline(const struct args *args)
{
    int64_t limit;
    int status = args_number(args, OPT_LIMIT, 0, &limit); /* said before the table is read */
    return status ? status : describe(args, SLUICE_DESCRIBE_TIMELINE, given(args, OPT_LIMIT), print_timeline);
}

/* ---- files --------------------------------------------------------------------------------------------- */

static bool is_base(const json_t *file) { return strcmp(json_text(file, "kind"), "base") == 0; }

static void add_file(struct view *v, const json_t *group, const json_t *slice, const json_t *file)
{
    char *level = json_cell(file, "level", CELL_TEXT), *rows = json_cell(file, "rows", CELL_COUNT),
         *size = json_cell(file, "size", CELL_BYTES);
    const char *min = json_text(file, "min_key"), *max = json_text(file, "max_key");
    char *range = *min || *max ? cli_text("%s .. %s", min, max) : cli_copy("");
    view_add(v,
             (const char *const[]){
                 json_text(group, "partition"), json_text(group, "file_id"), json_text(slice, "base_instant"),
                 json_is_true(json_object_get(slice, "pending_compaction")) ? "compaction pending" : "",
                 level, json_text(file, "kind"), json_text(file, "instant"), rows, size, range});
    free(level);
    free(rows);
    free(size);
    free(range);
}

static void add_group(struct view *v, const json_t *group, bool only_base)
{
    size_t s, f;
    json_t *slice, *file;
    json_array_foreach(json_object_get(group, "slices"), s, slice)
        json_array_foreach(json_object_get(slice, "files"), f, file) if (!only_base || is_base(file))
            add_file(v, group, slice, file);
}

/* Removes the logs of every slice. */
static json_t *without_logs(const json_t *groups)
{
    size_t g, s;
    json_t *copy = json_deep_copy(groups), *group, *slice;
    json_array_foreach(copy, g, group) json_array_foreach(json_object_get(group, "slices"), s, slice)
    {
        json_t *files = json_object_get(slice, "files");
        for (size_t f = json_array_size(files); f-- > 0;)
            if (!is_base(json_array_get(files, f)))
                json_array_remove(files, f);
    }
    return copy;
}

static int print_files(const struct args *args, const json_t *groups)
{
    static const struct view_column columns[] = {
        {"partition", false}, {"file group", false}, {"slice", false}, {"note", false}, {"level", true},
        {"kind", false},      {"instant", false},    {"rows", true},   {"size", true},  {"keys", false},
    };
    size_t i;
    json_t *group;
    if (given(args, OPT_JSON)) {
        print_json(without_logs(groups));
        return STATUS_DONE;
    }
    if (json_array_size(groups) == 0) {
        if (!given(args, OPT_QUIET))
            puts("files: none yet");
        return STATUS_DONE;
    }
    struct view *v = view_new(columns, sizeof columns / sizeof *columns);
    json_array_foreach(groups, i, group) add_group(v, group, given(args, OPT_BASE_ONLY));
    view_print(v, stdout, 0);
    view_free(v);
    return STATUS_DONE;
}

int cmd_files(const struct args *args)
{
    return describe(args, SLUICE_DESCRIBE_FILES, given(args, OPT_BASE_ONLY), print_files);
}
