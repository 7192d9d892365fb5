/*
 * Struct type -> Avro schema text, byte for byte what Spark's converter and Avro's Java printer give for the
 * same type (golden: tests/golden/avro_schema_test.c). Their rules:
 *   - a type is named after the field it belongs to, wherever in arrays and maps it lies; its namespace is
 * the full name of the record around that field; a decimal's fixed is called `fixed` in the namespace
 * <that>.<field>;
 *   - a namespace is left out when it is that of the record around the definition;
 *   - a nullable field is ["null",T] with default null, others have no default; elements and map values have
 * none;
 *   - a name that was defined before is only referred to.
 */
#include "avro/avro_int.h"

#include <stdio.h>

struct defined {
    char *full_name;
    const sl_type *type;
};
struct text {
    sl_buf out;
    struct defined *defined;
    size_t defined_count, defined_cap;
};
/* Where the present type lies. */
struct place {
    const char *field;        /* the name for a type here */
    const char *space;        /* its namespace */
    const char *record_space; /* what the record around it has as namespace, NULL at the top */
    unsigned depth;
};

static sl_status type_write(struct text *t, const sl_type *type, const struct place *place);

static sl_status literal(struct text *t, const char *s) { return sl_buf_append(&t->out, s, strlen(s)); }

/* A JSON string as Jackson writes it: UTF-8 stays, control characters as \n or \u001F. */
static sl_status string_write(struct text *t, const char *s)
{
    static const char escapes[] = "btn\vfr"; /* for U+0008..U+000D; U+000B has none */
    SL_TRY(sl_buf_byte(&t->out, '"'));
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            SL_TRY(sl_buf_printf(&t->out, "\\%c", c));
        else if (c >= 8 && c <= 13 && c != 11)
            SL_TRY(sl_buf_printf(&t->out, "\\%c", escapes[c - 8]));
        else if (c < 0x20)
            SL_TRY(sl_buf_printf(&t->out, "\\u%04X", c));
        else
            SL_TRY(sl_buf_byte(&t->out, c));
    }
    return sl_buf_byte(&t->out, '"');
}

/* ---- names --------------------------------------------------------------------------------------------- */

static sl_status join(const char *space, const char *name, char **out)
{
    return *space ? sl_asprintf(out, "%s.%s", space, name) : sl_asprintf(out, "%s", name);
}

static const struct defined *name_find(const struct text *t, const char *full_name)
{
    for (size_t i = 0; i < t->defined_count; i++)
        if (strcmp(t->defined[i].full_name, full_name) == 0)
            return &t->defined[i];
    return NULL;
}

/* Takes `full_name` over, also on failure. */
static sl_status name_add(struct text *t, char *full_name, const sl_type *type)
{
    if (t->defined_count == t->defined_cap) {
        size_t cap = t->defined_cap ? t->defined_cap * 2 : 16;
        struct defined *grown = sl_realloc_array(t->defined, cap, sizeof *grown);
        if (!grown) {
            sl_free(full_name);
            return sl_nomem();
        }
        t->defined = grown;
        t->defined_cap = cap;
    }
    t->defined[t->defined_count++] = (struct defined){full_name, type};
    return SL_OK;
}

/* The name after the place (rule 1 above). */
static sl_status name_of_place(const sl_type *type, const struct place *place, char **out)
{
    char *full;
    SL_TRY(join(place->space, place->field, &full));
    if (type->id == SL_STRUCT || (type->id == SL_STRING && type->annotation == SL_ENUM)) {
        *out = full;
        return SL_OK;
    }
    sl_status status = sl_asprintf(out, "%s.fixed", full);
    sl_free(full);
    return status;
}

/*
 * The name to define or to refer to: the one the type came with, unless another type already has it. Two
 * equal types under one name are one type to Avro.
 */
static sl_status name_choose(struct text *t, const sl_type *type, const struct place *place, char **full_name,
                             bool *refer)
{
    const struct defined *known = type->name ? name_find(t, type->name) : NULL;
    *refer = known && sl_type_equal(known->type, type);
    if (type->name && (!known || *refer)) {
        *full_name = sl_strdup(type->name);
        return *full_name ? SL_OK : sl_nomem();
    }
    SL_TRY(name_of_place(type, place, full_name));
    known = name_find(t, *full_name);
    *refer = known && sl_type_equal(known->type, type);
    if (known && !*refer) {
        sl_status status = sl_unsupported("two Avro types named %s", *full_name);
        sl_free(*full_name);
        return status;
    }
    return SL_OK;
}

/* Length of the namespace in a full name; the simple name follows its dot. */
static size_t space_length(const char *full_name)
{
    const char *dot = strrchr(full_name, '.');
    return dot ? (size_t)(dot - full_name) : 0;
}

static bool same_space(const char *full_name, const char *record_space)
{
    size_t len = space_length(full_name);
    const char *around = record_space ? record_space : "";
    return strlen(around) == len && memcmp(around, full_name, len) == 0;
}

/* "name":"x" and, where it differs from the record's around, "namespace":"y". */
static sl_status name_write(struct text *t, const char *full_name, const char *record_space)
{
    size_t len = space_length(full_name);
    SL_TRY(literal(t, "\"name\":"));
    SL_TRY(string_write(t, len ? full_name + len + 1 : full_name));
    if (same_space(full_name, record_space))
        return SL_OK;
    char *space = sl_strndup(full_name, len);
    if (!space)
        return sl_nomem();
    sl_status status = literal(t, ",\"namespace\":");
    if (status == SL_OK)
        status = string_write(t, space);
    sl_free(space);
    return status;
}

static sl_status reference_write(struct text *t, const char *full_name, const char *record_space)
{
    size_t len = space_length(full_name);
    return string_write(t, len && same_space(full_name, record_space) ? full_name + len + 1 : full_name);
}

/* ---- types --------------------------------------------------------------------------------------------- */

static sl_status union_write(struct text *t, const sl_field *field, const struct place *place)
{
    bool wrap = field->nullable && field->type->id != SL_NULL;
    if (wrap)
        SL_TRY(literal(t, "[\"null\","));
    SL_TRY(type_write(t, field->type, place));
    return wrap ? literal(t, "]") : SL_OK;
}

static sl_status field_write(struct text *t, const sl_field *field, const char *space,
                             const char *record_space, unsigned depth)
{
    const struct place place = {field->name, space, record_space, depth};
    SL_TRY(literal(t, "{\"name\":"));
    SL_TRY(string_write(t, field->name));
    SL_TRY(literal(t, ",\"type\":"));
    SL_TRY_CTX(union_write(t, field, &place), "field %s", field->name);
    if (field->doc) {
        SL_TRY(literal(t, ",\"doc\":"));
        SL_TRY(string_write(t, field->doc));
    }
    if (field->nullable)
        SL_TRY(literal(t, ",\"default\":null"));
    return literal(t, "}");
}

static sl_status record_write(struct text *t, const sl_type *type, const char *full_name,
                              const struct place *place)
{
    char *space = sl_strndup(full_name, space_length(full_name));
    if (!space)
        return sl_nomem();
    sl_status status;
    SL_GO(literal(t, "{\"type\":\"record\","));
    SL_GO(name_write(t, full_name, place->record_space));
    SL_GO(literal(t, ",\"fields\":["));
    for (size_t i = 0; i < type->field_count; i++) {
        if (i > 0)
            SL_GO(literal(t, ","));
        SL_GO(field_write(t, &type->fields[i], full_name, space, place->depth + 1));
    }
    SL_GO(literal(t, "]}"));
done:
    sl_free(space);
    return status;
}

static sl_status enum_write(struct text *t, const sl_type *type, const char *full_name,
                            const struct place *place)
{
    const sl_strings *symbols = type->symbols;
    SL_TRY(literal(t, "{\"type\":\"enum\","));
    SL_TRY(name_write(t, full_name, place->record_space));
    SL_TRY(literal(t, ",\"symbols\":["));
    for (size_t i = 0; i < symbols->count; i++) {
        if (i > 0)
            SL_TRY(literal(t, ","));
        SL_TRY(string_write(t, symbols->items[i]));
    }
    return literal(t, "]}");
}

/* SL_FIXED, SL_DECIMAL, and SL_UINT64 as decimal(20,0). */
static sl_status fixed_write(struct text *t, const sl_type *type, const char *full_name,
                             const struct place *place)
{
    int32_t precision = type->id == SL_UINT64 ? 20 : type->precision;
    int32_t size = type->id == SL_UINT64 || type->width <= 0 ? sl_decimal_bytes(precision) : type->width;
    if (type->id == SL_FIXED)
        size = type->width;
    SL_TRY(literal(t, "{\"type\":\"fixed\","));
    SL_TRY(name_write(t, full_name, place->record_space));
    SL_TRY(sl_buf_printf(&t->out, ",\"size\":%d", size));
    if (type->id != SL_FIXED)
        SL_TRY(sl_buf_printf(&t->out, ",\"logicalType\":\"decimal\",\"precision\":%d,\"scale\":%d", precision,
                             type->id == SL_UINT64 ? 0 : type->scale));
    else if (type->annotation == SL_UUID && size == 16)
        SL_TRY(literal(t, ",\"logicalType\":\"uuid\""));
    return literal(t, "}");
}

static sl_status named_write(struct text *t, const sl_type *type, const struct place *place)
{
    char *full_name;
    bool refer;
    SL_TRY(name_choose(t, type, place, &full_name, &refer));
    if (refer) {
        sl_status status = reference_write(t, full_name, place->record_space);
        sl_free(full_name);
        return status;
    }
    SL_TRY(name_add(t, full_name, type));
    if (type->id == SL_STRUCT)
        return record_write(t, type, full_name, place);
    if (type->id == SL_STRING)
        return enum_write(t, type, full_name, place);
    return fixed_write(t, type, full_name, place);
}

static sl_status container_write(struct text *t, const sl_field *item, const char *opening,
                                 const struct place *place)
{
    const struct place inner = {place->field, place->space, place->record_space, place->depth + 1};
    SL_TRY(literal(t, opening));
    SL_TRY(union_write(t, item, &inner));
    return literal(t, "}");
}

static sl_status logical_write(struct text *t, const char *base, const char *logical)
{
    return sl_buf_printf(&t->out, "{\"type\":\"%s\",\"logicalType\":\"%s\"}", base, logical);
}

static sl_status temporal_write(struct text *t, const sl_type *type)
{
    static const char *const units[] = {[SL_MILLIS] = "millis", [SL_MICROS] = "micros", [SL_NANOS] = "nanos"};
    char logical[32];
    if (type->id == SL_DATE)
        return logical_write(t, "int", "date");
    if (type->id == SL_TIME && type->unit == SL_NANOS) /* Avro has no such logical type */
        return literal(t, "\"long\"");
    if (type->id == SL_TIME)
        return logical_write(t, type->unit == SL_MILLIS ? "int" : "long",
                             type->unit == SL_MILLIS ? "time-millis" : "time-micros");
    snprintf(logical, sizeof logical, "%stimestamp-%s", type->utc ? "" : "local-", units[type->unit]);
    return logical_write(t, "long", logical);
}

static sl_status type_write(struct text *t, const sl_type *type, const struct place *place)
{
    if (place->depth > AVRO_SCHEMA_DEPTH_MAX)
        return sl_unsupported("type nested deeper than %d", AVRO_SCHEMA_DEPTH_MAX);
    switch (type->id) {
    case SL_NULL:
        return literal(t, "\"null\"");
    case SL_BOOL:
        return literal(t, "\"boolean\"");
    case SL_INT8:
    case SL_INT16:
    case SL_INT32:
    case SL_UINT8:
    case SL_UINT16:
        return literal(t, "\"int\"");
    case SL_INT64:
    case SL_UINT32:
        return literal(t, "\"long\"");
    case SL_HALF:
    case SL_FLOAT:
        return literal(t, "\"float\"");
    case SL_DOUBLE:
        return literal(t, "\"double\"");
    case SL_DATE:
    case SL_TIME:
    case SL_TIMESTAMP:
        return temporal_write(t, type);
    case SL_BINARY:
        return literal(t, "\"bytes\"");
    case SL_STRING:
        if (type->annotation == SL_ENUM && type->symbols)
            return named_write(t, type, place);
        return type->annotation == SL_UUID ? logical_write(t, "string", "uuid") : literal(t, "\"string\"");
    case SL_UINT64:
    case SL_DECIMAL:
    case SL_FIXED:
    case SL_STRUCT:
        return named_write(t, type, place);
    case SL_LIST:
        return container_write(t, &type->fields[0], "{\"type\":\"array\",\"items\":", place);
    case SL_MAP:
        return container_write(t, &type->fields[0].type->fields[1], "{\"type\":\"map\",\"values\":", place);
    }
    return sl_internal("type %d has no Avro form", (int)type->id);
}

sl_status sl_avro_schema_text(const sl_type *schema, const char *name, const char *space, char **out)
{
    struct text t = {0};
    char *full_name;
    sl_status status;
    const struct place top = {name, space ? space : "", NULL, 0};
    SL_GO(join(top.space, name, &full_name));
    SL_GO(name_add(&t, full_name, schema));
    SL_GO(record_write(&t, schema, full_name, &top));
    SL_GO(sl_buf_take_string(&t.out, out));
done:
    for (size_t i = 0; i < t.defined_count; i++)
        sl_free(t.defined[i].full_name);
    sl_free(t.defined);
    sl_buf_free(&t.out);
    return status;
}
