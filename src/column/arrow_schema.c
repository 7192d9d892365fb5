/* Types to and from Arrow's format strings (https://arrow.apache.org/docs/format/CDataInterface.html). */
#include "column/arrow_int.h"
#include <stdio.h>

#define ARROW_DEPTH_MAX 64

/* ---- format strings ------------------------------------------------------------------------------------ */

struct plain_format {
    const char *text;
    struct arrow_format format;
};

static const struct plain_format plain_formats[] = {
    {"n", {.layout = ARROW_NULL, .id = SL_NULL}},
    {"b", {.layout = ARROW_BOOL, .id = SL_BOOL}},
    {"c", {.layout = ARROW_VALUES, .id = SL_INT8, .bytes = 1}},
    {"C", {.layout = ARROW_VALUES, .id = SL_UINT8, .bytes = 1}},
    {"s", {.layout = ARROW_VALUES, .id = SL_INT16, .bytes = 2}},
    {"S", {.layout = ARROW_VALUES, .id = SL_UINT16, .bytes = 2}},
    {"i", {.layout = ARROW_VALUES, .id = SL_INT32, .bytes = 4}},
    {"I", {.layout = ARROW_VALUES, .id = SL_UINT32, .bytes = 4}},
    {"l", {.layout = ARROW_VALUES, .id = SL_INT64, .bytes = 8}},
    {"L", {.layout = ARROW_VALUES, .id = SL_UINT64, .bytes = 8}},
    {"e", {.layout = ARROW_VALUES, .id = SL_HALF, .bytes = 2}},
    {"f", {.layout = ARROW_VALUES, .id = SL_FLOAT, .bytes = 4}},
    {"g", {.layout = ARROW_VALUES, .id = SL_DOUBLE, .bytes = 8}},
    {"u", {.layout = ARROW_TEXT, .id = SL_STRING}},
    {"U", {.layout = ARROW_LARGE_TEXT, .id = SL_STRING}},
    {"z", {.layout = ARROW_TEXT, .id = SL_BINARY}},
    {"Z", {.layout = ARROW_LARGE_TEXT, .id = SL_BINARY}},
    {"vu", {.layout = ARROW_VIEWS, .id = SL_STRING}},
    {"vz", {.layout = ARROW_VIEWS, .id = SL_BINARY}},
    {"tdD", {.layout = ARROW_VALUES, .id = SL_DATE, .bytes = 4}},
    {"tdm", {.layout = ARROW_DATE64, .id = SL_DATE, .bytes = 8}},
    {"tts", {.layout = ARROW_TIME_S, .id = SL_TIME, .unit = SL_MILLIS, .bytes = 4}},
    {"ttm", {.layout = ARROW_VALUES, .id = SL_TIME, .unit = SL_MILLIS, .bytes = 4}},
    {"ttu", {.layout = ARROW_VALUES, .id = SL_TIME, .unit = SL_MICROS, .bytes = 8}},
    {"ttn", {.layout = ARROW_VALUES, .id = SL_TIME, .unit = SL_NANOS, .bytes = 8}},
    {"+l", {.layout = ARROW_LIST, .id = SL_LIST}},
    {"+L", {.layout = ARROW_LARGE_LIST, .id = SL_LIST}},
    {"+s", {.layout = ARROW_STRUCT, .id = SL_STRUCT}},
    {"+m", {.layout = ARROW_MAP, .id = SL_MAP}},
};

static sl_status format_unsupported(const char *format)
{
    static const char *const names[][2] = {
        {"+vl", "list views"},     {"+vL", "list views"},      {"+ud:", "dense unions"},
        {"+us:", "sparse unions"}, {"+r", "run-end encoding"}, {"tD", "durations"},
        {"ti", "intervals"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(format, names[i][0], strlen(names[i][0])) == 0)
            return sl_unsupported("Arrow's %s (format '%.20s')", names[i][1], format);
    return sl_unsupported("Arrow's format '%.20s'", format);
}

/* "d:precision,scale[,bits]" */
static sl_status decimal_format_parse(const char *format, struct arrow_format *out)
{
    int precision, scale, bits = 128, used = 0;
    if (sscanf(format, "d:%9d,%9d%n,%9d%n", &precision, &scale, &used, &bits, &used) < 2 ||
        format[used] != '\0')
        return sl_input("Arrow's format '%.20s' is no decimal", format);
    if (precision < 1 || precision > 38 || scale < 0 || scale > precision)
        return sl_unsupported("Arrow's decimal of precision %d and scale %d", precision, scale);
    if (bits != 32 && bits != 64 && bits != 128 && bits != 256)
        return sl_unsupported("Arrow's decimal of %d bits", bits);
    *out = (struct arrow_format){.layout = bits == 128 ? ARROW_VALUES : ARROW_DECIMAL_N,
                                 .id = SL_DECIMAL,
                                 .precision = precision,
                                 .scale = scale,
                                 .bytes = (uint32_t)bits / 8};
    return SL_OK;
}

/* "ts<unit>:<zone>"; any zone makes the values instants, the zone itself is only for display. */
static sl_status timestamp_format_parse(const char *format, struct arrow_format *out)
{
    static const char units[] = "smun";
    const char *unit = format[2] ? strchr(units, format[2]) : NULL;
    if (!unit || format[3] != ':')
        return format_unsupported(format);
    *out = (struct arrow_format){.layout = *unit == 's' ? ARROW_STAMP_S : ARROW_VALUES,
                                 .id = SL_TIMESTAMP,
                                 .unit = *unit == 'n'   ? SL_NANOS
                                         : *unit == 'u' ? SL_MICROS
                                                        : SL_MILLIS,
                                 .utc = format[4] != '\0',
                                 .bytes = 8};
    return SL_OK;
}

static sl_status width_format_parse(const char *format, const char *digits, struct arrow_format *out)
{
    int width, used = 0;
    if (sscanf(digits, "%9d%n", &width, &used) != 1 || digits[used] != '\0' || width < 0)
        return sl_input("Arrow's format '%.20s' has no width", format);
    if (format[0] == 'w' && width == 0)
        return sl_unsupported("Arrow's fixed-size binary of width 0");
    if (format[0] == 'w')
        *out = (struct arrow_format){
            .layout = ARROW_VALUES, .id = SL_FIXED, .width = width, .bytes = (uint32_t)width};
    else
        *out = (struct arrow_format){.layout = ARROW_FIXED_LIST, .id = SL_LIST, .width = width};
    return SL_OK;
}

sl_status arrow_format_parse(const char *format, struct arrow_format *out)
{
    if (!format)
        return sl_input("an Arrow schema without a format");
    for (size_t i = 0; i < sizeof plain_formats / sizeof *plain_formats; i++)
        if (strcmp(format, plain_formats[i].text) == 0) {
            *out = plain_formats[i].format;
            return SL_OK;
        }
    if (strncmp(format, "d:", 2) == 0)
        return decimal_format_parse(format, out);
    if (strncmp(format, "ts", 2) == 0)
        return timestamp_format_parse(format, out);
    if (strncmp(format, "w:", 2) == 0)
        return width_format_parse(format, format + 2, out);
    if (strncmp(format, "+w:", 3) == 0)
        return width_format_parse(format, format + 3, out);
    return format_unsupported(format);
}

bool arrow_format_is_index(const struct arrow_format *format)
{
    return format->layout == ARROW_VALUES && format->id >= SL_INT8 && format->id <= SL_UINT64;
}

/* ---- import -------------------------------------------------------------------------------------------- */

static sl_status type_import(const struct ArrowSchema *schema, unsigned depth, const sl_type **out);

static sl_status field_import(const struct ArrowSchema *schema, unsigned depth, sl_field *out)
{
    const char *name = schema && schema->name ? schema->name : "";
    if (!schema || !schema->release)
        return sl_input("a released or missing Arrow schema");
    if (sl_utf8_valid_prefix(name, strlen(name)) != strlen(name))
        return sl_input("a name in the Arrow schema is not valid UTF-8");
    *out = (sl_field){.name = name, .nullable = (schema->flags & ARROW_FLAG_NULLABLE) != 0};
    SL_TRY_CTX(type_import(schema, depth, &out->type), "field %s", name);
    return SL_OK;
}

static sl_status struct_import(const struct ArrowSchema *schema, unsigned depth, const sl_type **out)
{
    size_t count = (size_t)schema->n_children, done = 0;
    sl_field *fields;
    sl_status status = SL_OK;
    SL_NEW_ARRAY(fields, count ? count : 1);
    for (; status == SL_OK && done < count; done += status == SL_OK)
        status = field_import(schema->children[done], depth, &fields[done]);
    if (status == SL_OK)
        status = sl_type_struct(fields, count, out);
    for (size_t i = 0; i < done; i++)
        sl_type_unref(fields[i].type);
    sl_free(fields);
    return status;
}

static sl_status list_import(const struct ArrowSchema *schema, unsigned depth, const sl_type **out)
{
    sl_field element;
    SL_TRY(field_import(schema->children[0], depth, &element));
    if (element.name[0] == '\0')
        element.name = "element";
    sl_status status = sl_type_list(&element, out);
    sl_type_unref(element.type);
    return status;
}

static sl_status map_import(const struct ArrowSchema *schema, unsigned depth, const sl_type **out)
{
    const struct ArrowSchema *entries = schema->children[0];
    sl_field key = {0}, value = {0};
    if (!entries || !entries->release || !entries->format || strcmp(entries->format, "+s") != 0 ||
        entries->n_children != 2 || !entries->children)
        return sl_input("an Arrow map whose child is no struct of key and value");
    SL_TRY(field_import(entries->children[0], depth, &key));
    sl_status status = field_import(entries->children[1], depth, &value);
    if (status == SL_OK)
        status = sl_type_map(key.type, &value, out);
    sl_type_unref(key.type);
    sl_type_unref(value.type);
    return status;
}

static sl_status scalar_import(const struct arrow_format *format, const sl_type **out)
{
    switch (format->id) {
    case SL_DECIMAL:
        return sl_type_decimal(format->precision, format->scale, out);
    case SL_TIME:
        return sl_type_time(format->unit, out);
    case SL_TIMESTAMP:
        return sl_type_timestamp(format->unit, format->utc, out);
    case SL_FIXED:
        return sl_type_fixed(format->width, out);
    default:
        return sl_type_new(format->id, out);
    }
}

static sl_status children_check(const struct ArrowSchema *schema, const struct arrow_format *format)
{
    int64_t wanted = format->id == SL_LIST || format->id == SL_MAP ? 1 : 0;
    bool fits = format->id == SL_STRUCT ? schema->n_children >= 0 && schema->n_children <= INT32_MAX
                                        : schema->n_children == wanted;
    if (!fits || (schema->n_children > 0 && !schema->children))
        return sl_input("an Arrow schema of format '%s' with %" PRId64 " children", schema->format,
                        schema->n_children);
    return SL_OK;
}

static sl_status type_import(const struct ArrowSchema *schema, unsigned depth, const sl_type **out)
{
    struct arrow_format format;
    if (depth > ARROW_DEPTH_MAX)
        return sl_unsupported("an Arrow schema of more than %d levels", ARROW_DEPTH_MAX);
    SL_TRY(arrow_format_parse(schema->format, &format));
    if (schema->dictionary) {
        if (!arrow_format_is_index(&format) || !schema->dictionary->release)
            return sl_input("an Arrow dictionary with an index of format '%.20s'", schema->format);
        return type_import(schema->dictionary, depth + 1, out);
    }
    SL_TRY(children_check(schema, &format));
    switch (format.id) {
    case SL_STRUCT:
        return struct_import(schema, depth + 1, out);
    case SL_LIST:
        return list_import(schema, depth + 1, out);
    case SL_MAP:
        return map_import(schema, depth + 1, out);
    default:
        return scalar_import(&format, out);
    }
}

sl_status sl_arrow_import_schema(const struct ArrowSchema *schema, const sl_type **out)
{
    if (!schema || !schema->release)
        return sl_input("a released or missing Arrow schema");
    if (!schema->format || strcmp(schema->format, "+s") != 0)
        return sl_input("an Arrow schema that is no struct of columns");
    return type_import(schema, 0, out);
}

/* ---- export -------------------------------------------------------------------------------------------- */

/* What one ArrowSchema owns. Children are freed with their parent, or were moved away and have no release. */
struct schema_private {
    char format[32];
    char *name;
    struct ArrowSchema *children;
    struct ArrowSchema **pointers;
};

static void schema_release(struct ArrowSchema *schema)
{
    struct schema_private *own = schema->private_data;
    for (int64_t i = 0; i < schema->n_children; i++)
        if (schema->children[i]->release)
            schema->children[i]->release(schema->children[i]);
    sl_free(own->children);
    sl_free(own->pointers);
    sl_free(own->name);
    sl_free(own);
    schema->release = NULL;
}

static void type_format(const sl_type *type, char *out, size_t size)
{
    static const char units[] = {'m', 'u', 'n'};
    switch (type->id) {
    case SL_DECIMAL:
        snprintf(out, size, "d:%d,%d", type->precision, type->scale);
        return;
    case SL_TIME:
        snprintf(out, size, "tt%c", units[type->unit]);
        return;
    case SL_TIMESTAMP:
        snprintf(out, size, "ts%c:%s", units[type->unit], type->utc ? "UTC" : "");
        return;
    case SL_FIXED:
        snprintf(out, size, "w:%d", type->width);
        return;
    default:
        break;
    }
    for (size_t i = 0; i < sizeof plain_formats / sizeof *plain_formats; i++)
        if (plain_formats[i].format.id == type->id) { /* the first of a type is the one with our layout */
            snprintf(out, size, "%s", plain_formats[i].text);
            return;
        }
}

static sl_status schema_export(const sl_type *type, const char *name, bool nullable, struct ArrowSchema *out)
{
    struct schema_private *own;
    SL_NEW(own);
    sl_status status = SL_OK;
    struct ArrowSchema schema = {
        .flags = nullable ? ARROW_FLAG_NULLABLE : 0, .release = schema_release, .private_data = own};
    type_format(type, own->format, sizeof own->format);
    own->name = sl_strdup(name);
    own->children = sl_calloc(type->field_count + 1, sizeof *own->children);
    own->pointers = sl_calloc(type->field_count + 1, sizeof(struct ArrowSchema *));
    schema.format = own->format;
    schema.name = own->name;
    schema.children = own->pointers;
    if (!own->name || !own->children || !own->pointers)
        status = sl_nomem();
    for (size_t i = 0; status == SL_OK && i < type->field_count; i++) {
        const sl_field *field = &type->fields[i];
        status = schema_export(field->type, field->name, field->nullable, &own->children[i]);
        if (status == SL_OK) {
            own->pointers[i] = &own->children[i];
            schema.n_children++;
        }
    }
    if (status == SL_OK)
        *out = schema;
    else
        schema_release(&schema);
    return status;
}

sl_status sl_arrow_export_schema(const sl_type *schema, struct ArrowSchema *out)
{
    return schema_export(schema, "", false, out);
}
