/* Which reader serves a file: by the format named, else by the file's extension. */
#include "write/input_int.h"
#include <strings.h>

/* Of the memory: one batch is made while one waits and one is worked on, beside the pages that they come from. */
#define BATCH_SHARE       32
#define BATCH_BYTES_LEAST ((size_t)128 << 10)
/* What is looked at for types is held in a buffer that doubles. */
#define LOOK_AHEAD_SHARE 8
#define LOOK_AHEAD_LEAST ((size_t)1 << 20)

static const sl_budget *budget_of(const struct sl_input_options *options)
{
    return options->runtime ? options->runtime->budget : NULL;
}

size_t input_batch_bytes(const struct sl_input_options *options, size_t most)
{
    return sl_budget_share(budget_of(options), BATCH_SHARE, BATCH_BYTES_LEAST, most);
}

size_t input_look_ahead_bytes(const struct sl_input_options *options, size_t most)
{
    return sl_budget_share(budget_of(options), LOOK_AHEAD_SHARE, LOOK_AHEAD_LEAST, most);
}

enum input_format { FORMAT_PARQUET, FORMAT_CSV, FORMAT_TSV, FORMAT_JSONL, FORMAT_AVRO, FORMAT_ARROW };

static const struct {
    const char *name; /* of the format, and the extension */
    enum input_format format;
} formats[] = {
    {"parquet", FORMAT_PARQUET}, {"csv", FORMAT_CSV},       {"tsv", FORMAT_TSV},   {"jsonl", FORMAT_JSONL},
    {"ndjson", FORMAT_JSONL},    {"json", FORMAT_JSONL},    {"avro", FORMAT_AVRO}, {"arrow", FORMAT_ARROW},
    {"arrows", FORMAT_ARROW},    {"feather", FORMAT_ARROW},
};

static bool format_named(const char *name, size_t len, enum input_format *out)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strlen(formats[i].name) == len && strncasecmp(formats[i].name, name, len) == 0) {
            *out = formats[i].format;
            return true;
        }
    }
    return false;
}

/* The last extension of name[0..*len), which is cut off. NULL: none. */
static const char *take_extension(const char *name, size_t *len, size_t *extension_len)
{
    for (size_t i = *len; i > 0 && name[i - 1] != '/'; i--) {
        if (name[i - 1] == '.') {
            *extension_len = *len - i;
            *len = i - 1;
            return name + i;
        }
    }
    return NULL;
}

static bool extension_is(const char *extension, size_t len, const char *text)
{
    return strlen(text) == len && strncasecmp(extension, text, len) == 0;
}

static bool format_of_path(const char *path, enum input_format *out)
{
    size_t len = strlen(path), extension_len = 0;
    const char *extension = take_extension(path, &len, &extension_len);
    if (extension &&
        (extension_is(extension, extension_len, "gz") || extension_is(extension, extension_len, "zst")))
        extension = take_extension(path, &len, &extension_len);
    return extension && format_named(extension, extension_len, out);
}

static sl_status choose_format(const char *path, const char *name, enum input_format *out)
{
    static const char known[] = "parquet, csv, tsv, jsonl, avro";
    if (name) {
        if (!format_named(name, strlen(name), out))
            return sl_input("input format `%s` is not known (%s are)", name, known);
        return SL_OK;
    }
    if (strcmp(path, "-") == 0)
        return sl_hint(sl_input("standard input: its format must be named (%s)", known),
                       "give --input-format");
    if (!format_of_path(path, out))
        return sl_hint(sl_input("%s: the name does not tell the format (%s are known)", path, known),
                       "give --input-format");
    return SL_OK;
}

/* Formats of columns, which are read at offsets of a file: ahead. */
static sl_status open_ahead(const char *path, enum input_format format, const sl_type *wanted,
                            const struct sl_input_options *options, sl_stream **out)
{
    sl_pool *pool;
    sl_stream *rows;
    SL_TRY(sl_pool_new_unstaffed(&pool));
    sl_status status = format == FORMAT_PARQUET ? input_parquet_open(path, wanted, options, pool, &rows)
                                                : input_avro_open(path, wanted, options, &rows);
    if (!status)
        return input_read_ahead(rows, pool, out);
    sl_pool_free(pool);
    return status;
}

sl_status sl_input_open(const char *path, const char *format, const sl_type *wanted,
                        const struct sl_input_options *options, sl_stream **out)
{
    static const struct sl_input_options defaults;
    enum input_format chosen;
    if (!options)
        options = &defaults;
    SL_TRY(choose_format(path, format, &chosen));
    switch (chosen) { /* text may come from somebody who is still writing it: it is not read ahead */
    case FORMAT_PARQUET:
    case FORMAT_AVRO:
        return open_ahead(path, chosen, wanted, options, out);
    case FORMAT_JSONL:
        return input_jsonl_open(path, wanted, options, out);
    case FORMAT_CSV:
        return input_csv_open(path, options->delimiter ? options->delimiter : ',', wanted, options, out);
    case FORMAT_TSV:
        return input_csv_open(path, options->delimiter ? options->delimiter : '\t', wanted, options, out);
    case FORMAT_ARROW:
        break;
    }
    return sl_hint(sl_unsupported("%s: Arrow IPC files are not read", path),
                   "convert the file to Parquet, or hand its rows to the library as an Arrow C stream");
}

sl_status sl_input_schema(const char *path, const char *format, const struct sl_input_options *options,
                          const sl_type **out)
{
    sl_stream *stream;
    SL_TRY(sl_input_open(path, format, NULL, options, &stream));
    *out = sl_type_ref(stream->schema);
    sl_stream_close(stream);
    return SL_OK;
}
