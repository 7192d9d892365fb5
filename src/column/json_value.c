/* JSON text straight into builders: the type says what is expected, so no tree of values is needed in
 * between. A struct that is being filled knows which members it has: their builders are one value ahead of
 * it. */
#include "column/column_int.h"
#include "column/json_int.h"
#include "column/text_int.h"

static sl_status json_append(struct json_scan *s, sl_builder *b);

/* The value's own message, placed at its byte. */
static sl_status at_value(size_t start, sl_status status) { return sl_context(status, "byte %zu", start); }

/* ---- scalars ------------------------------------------------------------------------------------------- */

static bool number_is_next(struct json_scan *s)
{
    uint8_t c = json_peek(s);
    return c == '-' || (c >= '0' && c <= '9');
}

static sl_status json_append_bool(struct json_scan *s, sl_builder *b)
{
    uint8_t c = json_peek(s);
    if (c != 't' && c != 'f')
        return json_error(s, "expected true or false");
    SL_TRY(json_word(s, c == 't' ? "true" : "false"));
    return sl_builder_bool(b, c == 't');
}

static sl_status json_append_integer(struct json_scan *s, sl_builder *b, const sl_type *type)
{
    const char *text;
    size_t len;
    SL_TRY(json_number_token(s, &text, &len));
    return at_value(s->pos - len, integer_append_text(b, type, text, len));
}

static sl_status json_append_float(struct json_scan *s, sl_builder *b, const sl_type *type)
{
    const char *text;
    size_t len;
    struct number_text n;
    double word;
    if (json_peek(s) != '"') {
        SL_TRY(json_number_token(s, &text, &len));
        if (!number_text_scan(text, len, &n))
            return json_error(s, "expected a number");
        return at_value(s->pos - len, float_append_number(b, type, &n, text, len));
    }
    size_t start = s->pos;
    SL_TRY(json_string_token(s, &text, &len));
    if (!float_word(text, len, &word))
        return at_value(start, sl_input("expected a number, \"NaN\", \"Infinity\" or \"-Infinity\""));
    return sl_builder_double(b, word);
}

static sl_status json_append_decimal(struct json_scan *s, sl_builder *b, const sl_type *type)
{
    const char *text;
    size_t len;
    bool quoted = json_peek(s) == '"';
    size_t start = s->pos;
    SL_TRY(quoted ? json_string_token(s, &text, &len) : json_number_token(s, &text, &len));
    return at_value(start, decimal_append_text(b, type, text, len));
}

static sl_status json_append_temporal(struct json_scan *s, sl_builder *b, const sl_type *type)
{
    const char *text;
    size_t len;
    bool number = number_is_next(s);
    size_t start = s->pos;
    SL_TRY(number ? json_number_token(s, &text, &len) : json_string_token(s, &text, &len));
    return at_value(start, number ? temporal_append_integer(b, type, text, len)
                                  : temporal_append_text(b, type, text, len));
}

static sl_status json_append_string(struct json_scan *s, sl_builder *b, const sl_type *type)
{
    const char *text;
    size_t len;
    json_peek(s);
    size_t start = s->pos;
    SL_TRY(json_string_token(s, &text, &len));
    return at_value(start, string_append_text(b, type, text, len));
}

/* ---- binary -------------------------------------------------------------------------------------------- */

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Strict base64 (RFC 4648 4); the padding may be missing. */
static bool base64_decode(const char *text, size_t len, uint8_t *out, size_t *out_len)
{
    if (len > 0 && len % 4 == 0)
        for (int i = 0; i < 2 && text[len - 1] == '='; i++)
            len--;
    if (len % 4 == 1)
        return false;
    uint32_t bits = 0;
    size_t have = 0, n = 0;
    for (size_t i = 0; i < len; i++) {
        int digit = base64_digit(text[i]);
        if (digit < 0)
            return false;
        bits = (bits << 6 | (uint32_t)digit) & 0xffffff;
        have += 6;
        if (have >= 8) {
            have -= 8;
            out[n++] = (uint8_t)(bits >> have);
        }
    }
    *out_len = n;
    return (bits & ((1U << have) - 1)) == 0;
}

static int hex_value(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

bool hex_decode(const char *text, size_t len, uint8_t *out, size_t *out_len)
{
    if (len % 2 != 0)
        return false;
    for (size_t i = 0; i < len; i += 2) {
        int high = hex_value(text[i]), low = hex_value(text[i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i / 2] = (uint8_t)(high << 4 | low);
    }
    *out_len = len / 2;
    return true;
}

static sl_status json_append_binary(struct json_scan *s, sl_builder *b, const sl_type *type)
{
    const char *text;
    size_t len, decoded_len;
    json_peek(s);
    size_t start = s->pos;
    SL_TRY(json_string_token(s, &text, &len));
    uint8_t *decoded = sl_malloc(len + 1);
    if (!decoded)
        return sl_nomem();
    bool hex = len >= 4 && memcmp(text, "hex:", 4) == 0;
    sl_status status;
    if (!(hex ? hex_decode(text + 4, len - 4, decoded, &decoded_len)
              : base64_decode(text, len, decoded, &decoded_len)))
        status = sl_input("expected base64, or hexadecimal digits behind \"hex:\"");
    else if (type->id == SL_FIXED && decoded_len != (size_t)type->width)
        status = sl_input("%zu bytes where the type has %d", decoded_len, type->width);
    else
        status = sl_builder_bytes(b, decoded, decoded_len);
    sl_free(decoded);
    return at_value(start, status);
}

/* ---- arrays and maps ----------------------------------------------------------------------------------- */

/* Appends one value to a field's builder, refusing null where the field does. */
static sl_status json_append_field(struct json_scan *s, sl_builder *b, const sl_field *field)
{
    if (!field->nullable && json_peek(s) == 'n')
        return json_error(s, "null in a place that may not be null");
    return json_append(s, b);
}

static sl_status json_append_list(struct json_scan *s, sl_builder *b, const sl_type *type)
{
    sl_builder *element = sl_builder_child(b, 0);
    bool first = true, more;
    SL_TRY(json_open(s, '['));
    for (;;) {
        SL_TRY(json_more(s, ']', &first, &more));
        if (!more)
            return sl_builder_close(b);
        SL_TRY(json_append_field(s, element, &type->fields[0]));
    }
}

static int key_compare(const void *a, const void *b)
{
    const uint8_t *x = *(const uint8_t *const *)a, *y = *(const uint8_t *const *)b;
    return bytes_compare(x + 4, load_le32(x), y + 4, load_le32(y));
}

/* Keys are remembered as a 4-byte length and the bytes, on the stack of the open maps. */
static sl_status key_remember(struct json_scan *s, const char *key, size_t len)
{
    uint8_t prefix[4];
    if (len > UINT32_MAX)
        return json_error(s, "a map key of 4 GiB or more");
    store_le32(prefix, (uint32_t)len);
    SL_TRY(sl_buf_append(&s->keys, prefix, 4));
    return sl_buf_append(&s->keys, key, len);
}

/* Pops the keys above `base` and looks for equal ones. */
static sl_status keys_check(struct json_scan *s, size_t base, size_t count)
{
    const uint8_t **keys;
    bool twice = false;
    if (count > 1) {
        SL_NEW_ARRAY(keys, count);
        const uint8_t *at = s->keys.data + base;
        for (size_t i = 0; i < count; i++, at += 4 + load_le32(at))
            keys[i] = at;
        qsort(keys, count, sizeof *keys, key_compare);
        for (size_t i = 1; i < count && !twice; i++)
            twice = key_compare(&keys[i - 1], &keys[i]) == 0;
        sl_free(keys);
    }
    s->keys.len = base;
    return twice ? json_error(s, "a map with the same key twice") : SL_OK;
}

static sl_status map_key_append(struct json_scan *s, sl_builder *key, const char *text, size_t len)
{
    const sl_type *type = builder_type(key);
    if (type->id == SL_STRING)
        return string_append_text(key, type, text, len);
    if (sl_type_is_nested(type))
        return json_error(s, "a map with nested keys is an array of [key, value] pairs");
    return sl_builder_text(key, text, len);
}

static sl_status json_append_map_object(struct json_scan *s, sl_builder *b, const sl_type *type)
{
    sl_builder *entries = sl_builder_child(b, 0);
    sl_builder *key = sl_builder_child(entries, 0), *value = sl_builder_child(entries, 1);
    const sl_field *value_field = &type->fields[0].type->fields[1];
    size_t base = s->keys.len, count = 0, len;
    bool first = true, more;
    const char *text;
    SL_TRY(json_open(s, '{'));
    for (;; count++) {
        SL_TRY(json_more(s, '}', &first, &more));
        if (!more)
            break;
        json_peek(s);
        size_t start = s->pos;
        SL_TRY(json_member(s, &text, &len));
        SL_TRY(key_remember(s, text, len));
        SL_TRY(at_value(start, map_key_append(s, key, text, len)));
        SL_TRY(json_append_field(s, value, value_field));
        SL_TRY(sl_builder_close(entries));
    }
    SL_TRY(keys_check(s, base, count));
    return sl_builder_close(b);
}

/* The text of a pair's key, to compare it with the others: scalars of one type that are equal are nearly
 * always spelled the same, and strings are compared as read. */
static sl_status pair_key_append(struct json_scan *s, sl_builder *key, const sl_field *field)
{
    const char *text;
    size_t len;
    json_peek(s);
    struct json_scan ahead = {.text = s->text, .len = s->len, .pos = s->pos, .depth = s->depth};
    sl_status status;
    SL_GO(json_append_field(s, key, field));
    if (s->text[ahead.pos] == '"') {
        SL_GO(json_string_token(&ahead, &text, &len));
    } else {
        text = (const char *)s->text + ahead.pos;
        len = s->pos - ahead.pos;
    }
    status = key_remember(s, text, len);
done:
    json_scan_free(&ahead);
    return status;
}

/* [[key, value], ...]: how canonical text writes maps, and the only way for keys that are not scalars. */
static sl_status json_append_map_pairs(struct json_scan *s, sl_builder *b, const sl_type *type)
{
    sl_builder *entries = sl_builder_child(b, 0);
    const sl_type *entry = type->fields[0].type;
    size_t base = s->keys.len, count = 0;
    bool first = true, more;
    SL_TRY(json_open(s, '['));
    for (;; count++) {
        SL_TRY(json_more(s, ']', &first, &more));
        if (!more)
            break;
        SL_TRY(json_open(s, '['));
        SL_TRY(pair_key_append(s, sl_builder_child(entries, 0), &entry->fields[0]));
        if (!json_take(s, ','))
            return json_error(s, "expected ',' between key and value");
        SL_TRY(json_append_field(s, sl_builder_child(entries, 1), &entry->fields[1]));
        if (!json_take(s, ']'))
            return json_error(s, "expected ']' behind key and value");
        s->depth--;
        SL_TRY(sl_builder_close(entries));
    }
    SL_TRY(keys_check(s, base, count));
    return sl_builder_close(b);
}

/* ---- objects ------------------------------------------------------------------------------------------- */

/* Where the members of one object go: a struct builder's children or a batch builder's columns. */
struct members {
    const sl_type *type;
    sl_builder *parent;         /* a struct's builder, or NULL ... */
    sl_builder *const *columns; /* ... for the columns of a batch */
    int64_t rows;               /* values that each member had before this object */
};

static sl_builder *member_builder(const struct members *m, size_t i)
{
    return m->parent ? sl_builder_child(m->parent, i) : m->columns[i];
}

static bool field_is(const sl_field *field, const char *name, size_t len)
{
    return strncmp(field->name, name, len) == 0 && field->name[len] == '\0';
}

/* The named field, tried first at *next: lines mostly keep the schema's order. */
static bool member_find(const sl_type *type, const char *name, size_t len, size_t *next, size_t *out)
{
    if (memchr(name, 0, len))
        return false;
    for (size_t tried = 0; tried < type->field_count; tried++) {
        size_t i = *next + tried < type->field_count ? *next + tried : *next + tried - type->field_count;
        if (field_is(&type->fields[i], name, len)) {
            *out = i;
            *next = i + 1 < type->field_count ? i + 1 : 0;
            return true;
        }
    }
    return false;
}

static sl_status member_append(struct json_scan *s, const struct members *m, size_t i)
{
    sl_builder *b = member_builder(m, i);
    const sl_field *field = &m->type->fields[i];
    if (sl_builder_length(b) != m->rows)
        return sl_context(json_error(s, "the member is there twice"), "%s", field->name);
    return sl_context(json_append_field(s, b, field), "%s", field->name);
}

static sl_status members_complete(const struct members *m)
{
    for (size_t i = 0; i < m->type->field_count; i++) {
        sl_builder *b = member_builder(m, i);
        if (sl_builder_length(b) != m->rows)
            continue;
        if (!m->type->fields[i].nullable)
            return sl_input("%s: the member is missing and may not be null", m->type->fields[i].name);
        SL_TRY_CTX(sl_builder_null(b), "%s", m->type->fields[i].name);
    }
    return SL_OK;
}

static sl_status json_append_members(struct json_scan *s, const struct members *m)
{
    const char *name;
    size_t len, next = 0, i;
    bool first = true, more;
    SL_TRY(json_open(s, '{'));
    for (;;) {
        SL_TRY(json_more(s, '}', &first, &more));
        if (!more)
            return members_complete(m);
        SL_TRY(json_member(s, &name, &len));
        if (member_find(m->type, name, len, &next, &i))
            SL_TRY(member_append(s, m, i));
        else
            SL_TRY(json_skip(s));
    }
}

static sl_status json_append_struct(struct json_scan *s, sl_builder *b, const sl_type *type)
{
    struct members m = {.type = type, .parent = b, .rows = sl_builder_length(b)};
    SL_TRY(json_append_members(s, &m));
    return sl_builder_close(b);
}

/* ---- any value ----------------------------------------------------------------------------------------- */

static sl_status json_append(struct json_scan *s, sl_builder *b)
{
    const sl_type *type = builder_type(b);
    if (json_peek(s) == 'n') {
        SL_TRY(json_word(s, "null"));
        return sl_builder_null(b);
    }
    switch (type->id) {
    case SL_NULL:
        return json_error(s, "expected null");
    case SL_BOOL:
        return json_append_bool(s, b);
    case SL_HALF:
        return sl_unsupported("half floats cannot be read from JSON");
    case SL_FLOAT:
    case SL_DOUBLE:
        return json_append_float(s, b, type);
    case SL_DECIMAL:
        return json_append_decimal(s, b, type);
    case SL_DATE:
    case SL_TIME:
    case SL_TIMESTAMP:
        return json_append_temporal(s, b, type);
    case SL_STRING:
        return json_append_string(s, b, type);
    case SL_BINARY:
    case SL_FIXED:
        return json_append_binary(s, b, type);
    case SL_LIST:
        return json_append_list(s, b, type);
    case SL_MAP:
        return json_peek(s) == '[' ? json_append_map_pairs(s, b, type) : json_append_map_object(s, b, type);
    case SL_STRUCT:
        return json_append_struct(s, b, type);
    default:
        return json_append_integer(s, b, type);
    }
}

sl_status sl_builder_json(sl_builder *b, const char *json, size_t len, size_t *pos)
{
    struct json_scan s = {.text = (const uint8_t *)json, .len = len, .pos = *pos};
    sl_status status = json_append(&s, b);
    if (status == SL_OK)
        *pos = s.pos;
    json_scan_free(&s);
    return status;
}

sl_status sl_batch_builder_json_line(sl_batch_builder *b, const char *line, size_t len)
{
    struct json_scan s = {.text = (const uint8_t *)line, .len = len};
    struct members m = {.type = b->schema, .columns = b->columns, .rows = sl_batch_builder_rows(b)};
    sl_status status = json_append_members(&s, &m);
    if (status == SL_OK)
        status = json_end(&s);
    json_scan_free(&s);
    return status;
}
