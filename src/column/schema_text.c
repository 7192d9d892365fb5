/*
 * Types as text, both ways.
 *
 *     id long, price decimal(10,2), tags list<string not null>, s struct<a: int, `odd name`: date>
 *
 * Words are read in any case; names keep theirs. The colon between name and type may be left out everywhere.
 * sl_type_text prints what sl_schema_parse reads; a whole schema as "struct<...>".
 */
#include "column/column_int.h"

enum { NESTING_MAX = 64 };

/* The first entry of a type is the word that is printed. */
static const struct type_word {
    const char *word;
    enum sl_type_id id;
    enum sl_time_unit unit;
    bool utc;
} type_words[] = {
    {"null", SL_NULL, SL_MILLIS, false},
    {"void", SL_NULL, SL_MILLIS, false},
    {"boolean", SL_BOOL, SL_MILLIS, false},
    {"bool", SL_BOOL, SL_MILLIS, false},
    {"tinyint", SL_INT8, SL_MILLIS, false},
    {"byte", SL_INT8, SL_MILLIS, false},
    {"smallint", SL_INT16, SL_MILLIS, false},
    {"short", SL_INT16, SL_MILLIS, false},
    {"int", SL_INT32, SL_MILLIS, false},
    {"integer", SL_INT32, SL_MILLIS, false},
    {"long", SL_INT64, SL_MILLIS, false},
    {"bigint", SL_INT64, SL_MILLIS, false},
    {"uint8", SL_UINT8, SL_MILLIS, false},
    {"uint16", SL_UINT16, SL_MILLIS, false},
    {"uint32", SL_UINT32, SL_MILLIS, false},
    {"uint64", SL_UINT64, SL_MILLIS, false},
    {"half", SL_HALF, SL_MILLIS, false},
    {"float", SL_FLOAT, SL_MILLIS, false},
    {"double", SL_DOUBLE, SL_MILLIS, false},
    {"date", SL_DATE, SL_MILLIS, false},
    {"time", SL_TIME, SL_MICROS, true},
    {"time_millis", SL_TIME, SL_MILLIS, true},
    {"time_nanos", SL_TIME, SL_NANOS, true},
    {"timestamp", SL_TIMESTAMP, SL_MICROS, true},
    {"timestamp_millis", SL_TIMESTAMP, SL_MILLIS, true},
    {"timestamp_nanos", SL_TIMESTAMP, SL_NANOS, true},
    {"timestamp_ntz", SL_TIMESTAMP, SL_MICROS, false},
    {"local_timestamp", SL_TIMESTAMP, SL_MICROS, false},
    {"timestamp_ntz_millis", SL_TIMESTAMP, SL_MILLIS, false},
    {"timestamp_ntz_nanos", SL_TIMESTAMP, SL_NANOS, false},
    {"string", SL_STRING, SL_MILLIS, false},
    {"varchar", SL_STRING, SL_MILLIS, false},
    {"binary", SL_BINARY, SL_MILLIS, false},
    {"bytes", SL_BINARY, SL_MILLIS, false},
    {"decimal", SL_DECIMAL, SL_MILLIS, false},
    {"fixed", SL_FIXED, SL_MILLIS, false},
    {"list", SL_LIST, SL_MILLIS, false},
    {"array", SL_LIST, SL_MILLIS, false},
    {"map", SL_MAP, SL_MILLIS, false},
    {"struct", SL_STRUCT, SL_MILLIS, false},
};
#define TYPE_WORDS (sizeof type_words / sizeof type_words[0])

static bool is_name_byte(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c >= 0x80;
}

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/* ---- printing ------------------------------------------------------------------------------------------ */

static const char *word_of(const sl_type *type)
{
    for (size_t i = 0; i < TYPE_WORDS; i++) {
        const struct type_word *w = &type_words[i];
        bool unit_fits = (type->id != SL_TIME && type->id != SL_TIMESTAMP) || w->unit == type->unit;
        if (w->id == type->id && unit_fits && (type->id != SL_TIMESTAMP || w->utc == type->utc))
            return w->word;
    }
    return "unknown";
}

static sl_status name_print(const char *name, sl_buf *out)
{
    bool bare = *name != '\0';
    for (const char *p = name; *p; p++)
        bare = bare && is_name_byte((uint8_t)*p);
    if (bare)
        return sl_buf_append(out, name, strlen(name));
    SL_TRY(sl_buf_byte(out, '`'));
    for (const char *p = name; *p; p++) {
        if (*p == '`')
            SL_TRY(sl_buf_byte(out, '`'));
        SL_TRY(sl_buf_byte(out, (uint8_t)*p));
    }
    return sl_buf_byte(out, '`');
}

static sl_status type_print(const sl_type *type, sl_buf *out);

static sl_status field_type_print(const sl_field *field, sl_buf *out)
{
    SL_TRY(type_print(field->type, out));
    return field->nullable ? SL_OK : sl_buf_append(out, " not null", 9);
}

static sl_status members_print(const sl_type *type, sl_buf *out)
{
    for (size_t i = 0; i < type->field_count; i++) {
        if (i > 0)
            SL_TRY(sl_buf_append(out, ", ", 2));
        SL_TRY(name_print(type->fields[i].name, out));
        SL_TRY(sl_buf_append(out, ": ", 2));
        SL_TRY(field_type_print(&type->fields[i], out));
    }
    return SL_OK;
}

static sl_status arguments_print(const sl_type *type, sl_buf *out)
{
    if (type->id == SL_STRUCT)
        return members_print(type, out);
    if (type->id == SL_LIST)
        return field_type_print(&type->fields[0], out);
    const sl_type *entry = type->fields[0].type;
    SL_TRY(type_print(entry->fields[0].type, out));
    SL_TRY(sl_buf_append(out, ", ", 2));
    return field_type_print(&entry->fields[1], out);
}

static sl_status type_print(const sl_type *type, sl_buf *out)
{
    const char *word = word_of(type);
    SL_TRY(sl_buf_append(out, word, strlen(word)));
    if (type->id == SL_DECIMAL)
        return sl_buf_printf(out, "(%d,%d)", type->precision, type->scale);
    if (type->id == SL_FIXED)
        return sl_buf_printf(out, "(%d)", type->width);
    if (!sl_type_is_nested(type))
        return SL_OK;
    SL_TRY(sl_buf_byte(out, '<'));
    SL_TRY(arguments_print(type, out));
    return sl_buf_byte(out, '>');
}

sl_status sl_type_text(const sl_type *type, char **out)
{
    sl_buf text = {0};
    sl_status status = SL_OK;
    SL_GO(type_print(type, &text));
    SL_GO(sl_buf_take_string(&text, out));
done:
    sl_buf_free(&text);
    return status;
}

/* ---- parsing ------------------------------------------------------------------------------------------- */

struct parser {
    const char *text;
    size_t pos;
    int depth;
};

static void skip_spaces(struct parser *p)
{
    while (is_space(p->text[p->pos]))
        p->pos++;
}

static sl_status expected(struct parser *p, const char *what)
{
    skip_spaces(p);
    const char *rest = p->text + p->pos;
    if (*rest == '\0')
        return sl_input("schema: expected %s at position %zu, where the text ends", what, p->pos + 1);
    return sl_input("schema: expected %s at position %zu, before '%.20s'", what, p->pos + 1, rest);
}

static bool take(struct parser *p, char c)
{
    skip_spaces(p);
    if (p->text[p->pos] != c)
        return false;
    p->pos++;
    return true;
}

static sl_status need(struct parser *p, char c)
{
    char what[] = {'\'', c, '\'', '\0'};
    return take(p, c) ? SL_OK : expected(p, what);
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static size_t word_length(struct parser *p)
{
    skip_spaces(p);
    size_t len = 0;
    while (is_name_byte((uint8_t)p->text[p->pos + len]))
        len++;
    return len;
}

static bool word_is(const char *text, size_t len, const char *word)
{
    for (size_t i = 0; i < len; i++)
        if (word[i] == '\0' || lower(text[i]) != word[i])
            return false;
    return word[len] == '\0';
}

static bool take_word(struct parser *p, const char *word)
{
    size_t len = word_length(p);
    if (!word_is(p->text + p->pos, len, word))
        return false;
    p->pos += len;
    return true;
}

static sl_status parse_number(struct parser *p, int32_t *out)
{
    skip_spaces(p);
    int32_t value = 0;
    size_t start = p->pos;
    for (char c; (c = p->text[p->pos]) >= '0' && c <= '9'; p->pos++) {
        if (value > (INT32_MAX - 9) / 10)
            return sl_input("schema: the number at position %zu is too large", start + 1);
        value = value * 10 + (c - '0');
    }
    if (p->pos == start)
        return expected(p, "a number");
    *out = value;
    return SL_OK;
}

static sl_status parse_quoted_name(struct parser *p, char **out)
{
    sl_buf name = {0};
    sl_status status = SL_OK;
    size_t start = p->pos++;
    for (;; p->pos++) {
        char c = p->text[p->pos];
        if (c == '\0') {
            status = sl_input("schema: the quoted name at position %zu has no end", start + 1);
            goto done;
        }
        if (c == '`' && p->text[++p->pos] != '`')
            break;
        SL_GO(sl_buf_byte(&name, (uint8_t)c));
    }
    SL_GO(sl_buf_take_string(&name, out));
done:
    sl_buf_free(&name);
    return status;
}

static sl_status parse_name(struct parser *p, char **out)
{
    size_t len = word_length(p);
    if (p->text[p->pos] == '`')
        return parse_quoted_name(p, out);
    if (len == 0)
        return expected(p, "a name");
    char *name = sl_strndup(p->text + p->pos, len);
    if (!name)
        return sl_nomem();
    p->pos += len;
    *out = name;
    return SL_OK;
}

static sl_status parse_type(struct parser *p, const sl_type **out);

/* "<type> [not null]" */
static sl_status parse_field_type(struct parser *p, sl_field *field)
{
    field->nullable = true;
    SL_TRY(parse_type(p, &field->type));
    if (!take_word(p, "not"))
        return SL_OK;
    field->nullable = false;
    return take_word(p, "null") ? SL_OK : expected(p, "'null' after 'not'");
}

struct members {
    sl_field *fields;
    size_t count, cap;
};

static void members_free(struct members *m)
{
    for (size_t i = 0; i < m->count; i++) {
        sl_free((void *)(uintptr_t)m->fields[i].name);
        sl_type_unref(m->fields[i].type);
    }
    sl_free(m->fields);
}

static sl_status members_add(struct members *m, sl_field **out)
{
    SL_GROW(m->fields, m->count, m->cap, 8);
    *out = &m->fields[m->count++];
    **out = (sl_field){0};
    return SL_OK;
}

static sl_status parse_member(struct parser *p, struct members *m)
{
    sl_field *field = NULL;
    SL_TRY(members_add(m, &field));
    char *name = NULL;
    skip_spaces(p);
    size_t at = p->pos;
    SL_TRY(parse_name(p, &name));
    field->name = name;
    for (size_t i = 0; i + 1 < m->count; i++)
        if (strcmp(m->fields[i].name, name) == 0)
            return sl_input("schema: %s is named a second time at position %zu", name, at + 1);
    (void)take(p, ':');
    return parse_field_type(p, field);
}

/* Members up to `end`, which is consumed unless it is the end of the text. */
static sl_status parse_members(struct parser *p, char end, const sl_type **out)
{
    struct members members = {0};
    sl_status status = SL_OK;
    skip_spaces(p);
    if (!(end == '>' && p->text[p->pos] == end)) {
        do
            SL_GO(parse_member(p, &members));
        while (take(p, ','));
    }
    skip_spaces(p);
    if (p->text[p->pos] != end) {
        status = expected(p, end ? "',' or '>'" : "',' or the end");
        goto done;
    }
    p->pos += end != '\0';
    SL_GO(sl_type_struct(members.fields, members.count, out));
done:
    members_free(&members);
    return status;
}

static sl_status parse_list(struct parser *p, const sl_type **out)
{
    sl_field element = {.name = "element"};
    sl_status status = SL_OK;
    SL_GO(parse_field_type(p, &element));
    SL_GO(need(p, '>'));
    SL_GO(sl_type_list(&element, out));
done:
    sl_type_unref(element.type);
    return status;
}

static sl_status parse_map(struct parser *p, const sl_type **out)
{
    sl_field key = {.name = "key"}, value = {.name = "value"};
    sl_status status = SL_OK;
    SL_GO(parse_field_type(p, &key));
    SL_GO(need(p, ','));
    SL_GO(parse_field_type(p, &value));
    SL_GO(need(p, '>'));
    SL_GO(sl_type_map(key.type, &value, out));
done:
    sl_type_unref(key.type);
    sl_type_unref(value.type);
    return status;
}

static sl_status parse_nested(struct parser *p, enum sl_type_id id, const sl_type **out)
{
    if (p->depth == NESTING_MAX)
        return sl_input("schema: types are nested more than %d deep at position %zu", NESTING_MAX,
                        p->pos + 1);
    SL_TRY(need(p, '<'));
    p->depth++;
    sl_status status = id == SL_STRUCT ? parse_members(p, '>', out)
                       : id == SL_LIST ? parse_list(p, out)
                                       : parse_map(p, out);
    p->depth--;
    return status;
}

/* Without parameters a decimal is decimal(10,0), and the scale alone is 0, as in Spark SQL. */
static sl_status parse_decimal(struct parser *p, const sl_type **out)
{
    int32_t precision = 10, scale = 0;
    size_t at = p->pos;
    if (take(p, '(')) {
        SL_TRY(parse_number(p, &precision));
        if (take(p, ','))
            SL_TRY(parse_number(p, &scale));
        SL_TRY(need(p, ')'));
    }
    SL_TRY_CTX(sl_type_decimal(precision, scale, out), "schema: at position %zu", at + 1);
    return SL_OK;
}

static sl_status parse_fixed(struct parser *p, const sl_type **out)
{
    int32_t width = 0;
    size_t at = p->pos;
    SL_TRY(need(p, '('));
    SL_TRY(parse_number(p, &width));
    SL_TRY(need(p, ')'));
    SL_TRY_CTX(sl_type_fixed(width, out), "schema: at position %zu", at + 1);
    return SL_OK;
}

static sl_status parse_type(struct parser *p, const sl_type **out)
{
    size_t len = word_length(p);
    const struct type_word *w = NULL;
    for (size_t i = 0; i < TYPE_WORDS && !w; i++)
        if (word_is(p->text + p->pos, len, type_words[i].word))
            w = &type_words[i];
    if (!w)
        return expected(p, "a type");
    p->pos += len;
    switch (w->id) {
    case SL_DECIMAL:
        return parse_decimal(p, out);
    case SL_FIXED:
        return parse_fixed(p, out);
    case SL_LIST:
    case SL_MAP:
    case SL_STRUCT:
        return parse_nested(p, w->id, out);
    case SL_TIME:
        return sl_type_time(w->unit, out);
    case SL_TIMESTAMP:
        return sl_type_timestamp(w->unit, w->utc, out);
    default:
        return sl_type_new(w->id, out);
    }
}

/* "struct<" cannot begin a column, so a text that starts so is the whole schema in the printed form. */
static bool is_printed_form(const char *text)
{
    struct parser p = {.text = text};
    return take_word(&p, "struct") && take(&p, '<');
}

sl_status sl_schema_parse(const char *text, const sl_type **out)
{
    struct parser p = {.text = text};
    if (!is_printed_form(text))
        return parse_members(&p, '\0', out);
    const sl_type *schema = NULL;
    SL_TRY(parse_type(&p, &schema));
    skip_spaces(&p);
    if (p.text[p.pos] != '\0') {
        sl_type_unref(schema);
        return expected(&p, "the end");
    }
    *out = schema;
    return SL_OK;
}
