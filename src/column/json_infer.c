/* Schemas from examples: JSON lines give a tree of what was seen at each place, CSV cells a set of types not
 * yet ruled out. */
#include "column/json_int.h"
#include "column/text_int.h"

enum seen { SEEN_NOTHING, SEEN_BOOL, SEEN_LONG, SEEN_DOUBLE, SEEN_STRING, SEEN_LIST, SEEN_STRUCT };

/* One place in the lines: the root, a member, or the elements of a list. */
struct node {
    char *name; /* of a member */
    enum seen seen;
    uint64_t object; /* the last object that had this member, to find it twice */
    struct node **children;
    size_t count, cap;
};

struct sl_json_infer {
    struct node *root;
    uint64_t lines, objects;
};

static void node_free(struct node *node)
{
    if (!node)
        return;
    for (size_t i = 0; i < node->count; i++)
        node_free(node->children[i]);
    sl_free(node->children);
    sl_free(node->name);
    sl_free(node);
}

static sl_status node_child_add(struct node *parent, const char *name, size_t len, struct node **out)
{
    SL_GROW(parent->children, parent->count, parent->cap, 8);
    struct node *node;
    SL_NEW(node);
    node->name = sl_strndup(name, len);
    if (!node->name) {
        sl_free(node);
        return sl_nomem();
    }
    parent->children[parent->count++] = node;
    *out = node;
    return SL_OK;
}

static bool node_is(const struct node *node, const char *name, size_t len)
{
    return strncmp(node->name, name, len) == 0 && node->name[len] == '\0';
}

/* The named member, tried first at *next since lines mostly agree in their order. */
static sl_status node_member(struct node *parent, const char *name, size_t len, size_t *next,
                             struct node **out)
{
    for (size_t tried = 0; tried < parent->count; tried++) {
        size_t i = *next + tried < parent->count ? *next + tried : *next + tried - parent->count;
        if (node_is(parent->children[i], name, len)) {
            *next = i + 1;
            *out = parent->children[i];
            return SL_OK;
        }
    }
    *next = parent->count + 1;
    return node_child_add(parent, name, len, out);
}

static const char *seen_name(enum seen seen)
{
    static const char *const names[] = {"nothing",  "a boolean", "an integer", "a number",
                                        "a string", "an array",  "an object"};
    return names[seen];
}

static sl_status node_see(struct node *node, enum seen now, size_t pos)
{
    if (node->seen == SEEN_NOTHING || (node->seen == SEEN_LONG && now == SEEN_DOUBLE))
        node->seen = now;
    else if (node->seen != now && !(node->seen == SEEN_DOUBLE && now == SEEN_LONG))
        return sl_hint(
            sl_input("byte %zu: %s where other lines have %s", pos, seen_name(now), seen_name(node->seen)),
            "types are inferred from the lines; a schema of the table settles them");
    return SL_OK;
}

static sl_status infer_value(struct sl_json_infer *infer, struct json_scan *s, struct node *node);

static sl_status infer_number(struct json_scan *s, struct node *node)
{
    const char *text;
    size_t len;
    struct number_text n;
    sl_i128 value;
    SL_TRY(json_number_token(s, &text, &len));
    bool whole = number_text_scan(text, len, &n) && n.plain_integer &&
                 number_text_decimal(&n, 0, &value) == NUMBER_FITS && value >= INT64_MIN &&
                 value <= INT64_MAX;
    return node_see(node, whole ? SEEN_LONG : SEEN_DOUBLE, s->pos - len);
}

static sl_status infer_list(struct sl_json_infer *infer, struct json_scan *s, struct node *node)
{
    bool first = true, more;
    struct node *element;
    SL_TRY(node_see(node, SEEN_LIST, s->pos));
    if (node->count == 0)
        SL_TRY(node_child_add(node, "element", 7, &element));
    element = node->children[0];
    SL_TRY(json_open(s, '['));
    for (;;) {
        SL_TRY(json_more(s, ']', &first, &more));
        if (!more)
            return SL_OK;
        SL_TRY(infer_value(infer, s, element));
    }
}

static sl_status infer_struct(struct sl_json_infer *infer, struct json_scan *s, struct node *node)
{
    bool first = true, more;
    const char *name;
    size_t len, next = 0;
    uint64_t object = ++infer->objects;
    SL_TRY(node_see(node, SEEN_STRUCT, s->pos));
    SL_TRY(json_open(s, '{'));
    for (;;) {
        struct node *member;
        SL_TRY(json_more(s, '}', &first, &more));
        if (!more)
            return SL_OK;
        SL_TRY(json_member(s, &name, &len));
        if (len == 0 || memchr(name, 0, len))
            return json_error(s, "a member's name is empty or has a NUL and cannot be a column");
        SL_TRY(node_member(node, name, len, &next, &member));
        if (member->object == object)
            return sl_context(json_error(s, "the member is there twice"), "%s", member->name);
        member->object = object;
        SL_TRY_CTX(infer_value(infer, s, member), "%s", member->name);
    }
}

static sl_status infer_value(struct sl_json_infer *infer, struct json_scan *s, struct node *node)
{
    uint8_t c = json_peek(s);
    switch (c) {
    case '{':
        return infer_struct(infer, s, node);
    case '[':
        return infer_list(infer, s, node);
    case '"':
        SL_TRY(node_see(node, SEEN_STRING, s->pos));
        return json_skip(s);
    case 't':
    case 'f':
        SL_TRY(node_see(node, SEEN_BOOL, s->pos));
        return json_skip(s);
    case 'n':
        return json_word(s, "null");
    default:
        if (c == '-' || (c >= '0' && c <= '9'))
            return infer_number(s, node);
        return json_error(s, "expected a JSON value");
    }
}

sl_status sl_json_infer_new(sl_json_infer **out)
{
    struct sl_json_infer *infer;
    SL_NEW(infer);
    infer->root = sl_calloc(1, sizeof *infer->root);
    if (!infer->root) {
        sl_free(infer);
        return sl_nomem();
    }
    infer->root->seen = SEEN_STRUCT;
    *out = infer;
    return SL_OK;
}

void sl_json_infer_free(sl_json_infer *infer)
{
    if (!infer)
        return;
    node_free(infer->root);
    sl_free(infer);
}

sl_status sl_json_infer_line(sl_json_infer *infer, const char *line, size_t len)
{
    struct json_scan s = {.text = (const uint8_t *)line, .len = len};
    infer->lines++;
    json_peek(&s);
    if (s.pos == len)
        return SL_OK;
    sl_status status = infer_struct(infer, &s, infer->root);
    if (status == SL_OK)
        status = json_end(&s);
    json_scan_free(&s);
    return sl_context(status, "line %" PRIu64, infer->lines);
}

/* ---- the schema ---------------------------------------------------------------------------------------- */

static sl_status node_type(const struct node *node, const sl_type **out);

static void fields_free(sl_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sl_type_unref(fields[i].type);
    sl_free(fields);
}

static sl_status node_struct_type(const struct node *node, const sl_type **out)
{
    sl_field *fields;
    sl_status status = SL_OK;
    if (node->count == 0)
        return sl_input("only empty objects were seen, so there are no columns to infer");
    SL_NEW_ARRAY(fields, node->count);
    for (size_t i = 0; i < node->count; i++) {
        fields[i].name = node->children[i]->name;
        fields[i].nullable = true;
        SL_GO_CTX(node_type(node->children[i], &fields[i].type), "%s", fields[i].name);
    }
    status = sl_type_struct(fields, node->count, out);
done:
    fields_free(fields, node->count);
    return status;
}

static sl_status node_list_type(const struct node *node, const sl_type **out)
{
    sl_field element = {.name = "element", .nullable = true};
    SL_TRY(node_type(node->children[0], &element.type));
    sl_status status = sl_type_list(&element, out);
    sl_type_unref(element.type);
    return status;
}

static sl_status node_type(const struct node *node, const sl_type **out)
{
    switch (node->seen) {
    case SEEN_BOOL:
        return sl_type_new(SL_BOOL, out);
    case SEEN_LONG:
        return sl_type_new(SL_INT64, out);
    case SEEN_DOUBLE:
        return sl_type_new(SL_DOUBLE, out);
    case SEEN_LIST:
        return node_list_type(node, out);
    case SEEN_STRUCT:
        return node_struct_type(node, out);
    default:
        return sl_type_new(SL_STRING, out);
    }
}

sl_status sl_json_infer_finish(sl_json_infer *infer, const sl_type **out)
{
    return node_type(infer->root, out);
}

/* ---- CSV cells ----------------------------------------------------------------------------------------- */

enum { NOT_BOOL = 1, NOT_LONG = 2, NOT_DOUBLE = 4, NOT_DATE = 8, NOT_TIMESTAMP = 16, NOT_ANYTHING = 31 };

static bool equals_folded(const char *text, size_t len, const char *lower)
{
    if (strlen(lower) != len)
        return false;
    for (size_t i = 0; i < len; i++)
        if ((text[i] | 0x20) != lower[i])
            return false;
    return true;
}

static unsigned number_excludes(const char *text, size_t len)
{
    struct number_text n;
    sl_i128 value;
    double word;
    if (!number_text_scan(text, len, &n))
        return NOT_LONG | (float_word(text, len, &word) ? 0 : NOT_DOUBLE);
    if (text[0] == '+' || (n.integer_len > 1 && n.integer[0] == '0'))
        return NOT_LONG | NOT_DOUBLE; /* telephone numbers, postcodes */
    if (!n.plain_integer)
        return NOT_LONG | (number_text_double(&n, &word) ? 0 : NOT_DOUBLE);
    bool fits = number_text_decimal(&n, 0, &value) == NUMBER_FITS && value >= INT64_MIN && value <= INT64_MAX;
    return fits ? 0 : NOT_LONG | NOT_DOUBLE;
}

void sl_text_infer_cell(sl_text_infer *infer, const char *text, size_t len)
{
    if (len == 0)
        return;
    infer->any = true;
    if (infer->excluded == NOT_ANYTHING)
        return;
    if (!equals_folded(text, len, "true") && !equals_folded(text, len, "false"))
        infer->excluded |= NOT_BOOL;
    if ((infer->excluded & (NOT_LONG | NOT_DOUBLE)) != (NOT_LONG | NOT_DOUBLE))
        infer->excluded |= number_excludes(text, len);
    if (!(infer->excluded & NOT_DATE) && !text_is_date(text, len))
        infer->excluded |= NOT_DATE;
    if (!(infer->excluded & NOT_TIMESTAMP) && !text_is_timestamp(text, len))
        infer->excluded |= NOT_TIMESTAMP;
}

sl_status sl_text_infer_type(const sl_text_infer *infer, const sl_type **out)
{
    unsigned excluded = infer->any ? infer->excluded : NOT_ANYTHING;
    if (!(excluded & NOT_BOOL))
        return sl_type_new(SL_BOOL, out);
    if (!(excluded & NOT_LONG))
        return sl_type_new(SL_INT64, out);
    if (!(excluded & NOT_DOUBLE))
        return sl_type_new(SL_DOUBLE, out);
    if (!(excluded & NOT_DATE))
        return sl_type_new(SL_DATE, out);
    if (!(excluded & NOT_TIMESTAMP))
        return sl_type_timestamp(SL_MICROS, true, out);
    return sl_type_new(SL_STRING, out);
}
