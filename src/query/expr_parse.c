/*
 * Text to expression: a lexer of one token ahead and one function a level of the grammar.
 *
 *     or        := and ( 'or' and )*
 *     and       := not ( 'and' not )*
 *     not       := 'not' not | predicate
 *     predicate := '(' or ')' | operand [ tail ]
 *     tail      := op operand | 'is' [ 'not' ] 'null'
 *                | [ 'not' ] ( 'in' '(' literal ( ',' literal )* ')' | 'between' operand 'and' operand
 *                            | 'like' string [ 'escape' string ] )
 *     operand   := column | literal          column := name ( '.' name )*
 *     literal   := [ + | - ] number | string | x'hex' | 'date' string | 'timestamp' string | true | false | null
 */
#include "query/query_int.h"

enum token_kind {
    TOKEN_END,
    TOKEN_NAME,
    TOKEN_QUOTED_NAME,
    TOKEN_NUMBER,
    TOKEN_STRING,
    TOKEN_BYTES,
    TOKEN_OP,
    TOKEN_SIGN
};

struct token {
    enum token_kind kind;
    size_t at, end;   /* in the text */
    const char *text; /* names, strings: quotes removed, in the arena */
    size_t len;
    char sign; /* TOKEN_SIGN: one of ( ) , . + - */
    enum expr_op op;
};

struct parser {
    struct sl_expr *e;
    const char *text;
    size_t len;
    struct token now;
    int depth;
};

/* ---- lexer --------------------------------------------------------------------------------------------- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_name_part(char c) { return is_name_start(c) || is_digit(c) || c == '$'; }

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c; }

static bool text_is_word(const char *text, size_t len, const char *word)
{
    if (strlen(word) != len)
        return false;
    for (size_t i = 0; i < len; i++)
        if (lower(text[i]) != word[i])
            return false;
    return true;
}

/* Where the quote that opens at `at` closes; p->len when it does not. A doubled quote stands for one. */
static size_t closing_quote(const struct parser *p, size_t at)
{
    size_t i = at + 1;
    for (; i < p->len; i++)
        if (p->text[i] == p->text[at]) {
            if (i + 1 == p->len || p->text[i + 1] != p->text[at])
                break;
            i++;
        }
    return i < p->len ? i : p->len;
}

static sl_status lex_quoted(struct parser *p, size_t at, const char *what, struct token *out)
{
    size_t close = closing_quote(p, at), n = 0;
    if (close == p->len)
        return expr_error(at, "the %s that begins here has no end", what);
    char *copy = sl_arena_alloc(p->e->arena, close - at);
    if (!copy)
        return sl_nomem();
    for (size_t i = at + 1; i < close; i++) {
        copy[n++] = p->text[i];
        i += p->text[i] == p->text[at]; /* the second of a doubled quote */
    }
    copy[n] = 0;
    out->text = copy;
    out->len = n;
    out->end = close + 1;
    return SL_OK;
}

static int hex_value(char c)
{
    c = lower(c);
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static sl_status lex_bytes(struct parser *p, struct token *out)
{
    SL_TRY(lex_quoted(p, out->at + 1, "binary literal", out));
    char *bytes = sl_arena_alloc(p->e->arena, out->len / 2 + 1);
    if (!bytes)
        return sl_nomem();
    for (size_t i = 0; i + 1 < out->len; i += 2) {
        int high = hex_value(out->text[i]), low = hex_value(out->text[i + 1]);
        if (high < 0 || low < 0)
            return expr_error(out->at, "a binary literal holds hexadecimal digits");
        bytes[i / 2] = (char)(high << 4 | low);
    }
    if (out->len % 2 != 0)
        return expr_error(out->at, "a binary literal needs an even number of digits");
    out->text = bytes;
    out->len /= 2;
    out->kind = TOKEN_BYTES;
    return SL_OK;
}

static sl_status lex_number(const struct parser *p, struct token *out)
{
    const char *t = p->text;
    size_t i = out->at;
    while (i < p->len && is_digit(t[i]))
        i++;
    if (i < p->len && t[i] == '.')
        for (i++; i < p->len && is_digit(t[i]);)
            i++;
    if (i < p->len && lower(t[i]) == 'e') {
        size_t digits = i + 1;
        if (digits < p->len && (t[digits] == '+' || t[digits] == '-'))
            digits++;
        for (i = digits; i < p->len && is_digit(t[i]);)
            i++;
        if (i == digits)
            return expr_error(out->at, "the number has no digits in its exponent");
    }
    if (i < p->len && is_name_part(t[i]))
        return expr_error(
            out->at, "a number is followed directly by a letter (back-quote names that begin with a digit)");
    out->kind = TOKEN_NUMBER;
    out->text = t + out->at;
    out->end = i;
    out->len = i - out->at;
    return SL_OK;
}

static bool lex_op(const struct parser *p, struct token *out)
{
    static const struct {
        const char *text;
        enum expr_op op;
    } ops[] = {{"==", EXPR_EQ}, {"!=", EXPR_NE}, {"<>", EXPR_NE}, {"<=", EXPR_LE},
               {">=", EXPR_GE}, {"=", EXPR_EQ},  {"<", EXPR_LT},  {">", EXPR_GT}};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        size_t n = strlen(ops[i].text);
        if (p->len - out->at >= n && memcmp(p->text + out->at, ops[i].text, n) == 0) {
            out->kind = TOKEN_OP;
            out->op = ops[i].op;
            out->end = out->at + n;
            return true;
        }
    }
    return false;
}

static sl_status lex_name(struct parser *p, struct token *out)
{
    out->end = out->at;
    while (out->end < p->len && is_name_part(p->text[out->end]))
        out->end++;
    out->len = out->end - out->at;
    out->kind = TOKEN_NAME;
    return (out->text = sl_arena_strndup(p->e->arena, p->text + out->at, out->len)) ? SL_OK : sl_nomem();
}

static sl_status lex_other(const struct parser *p, struct token *out)
{
    char c = p->text[out->at];
    if (lex_op(p, out))
        return SL_OK;
    if (c == '"')
        return expr_error(
            out->at, "double quotes have no meaning here (write 'text' for a string, `name` for a column)");
    if (!strchr("(),.+-", c))
        return expr_error(out->at, "'%c' is not expected", c < 32 || c == 127 ? '?' : c);
    out->kind = TOKEN_SIGN;
    out->sign = c;
    out->end = out->at + 1;
    return SL_OK;
}

static sl_status advance(struct parser *p)
{
    struct token t = {.at = p->now.end};
    while (t.at < p->len && is_space(p->text[t.at]))
        t.at++;
    t.end = t.at;
    if (t.at < p->len) {
        char c = p->text[t.at], after = t.at + 1 < p->len ? p->text[t.at + 1] : 0;
        if (c == '\'') {
            t.kind = TOKEN_STRING;
            SL_TRY(lex_quoted(p, t.at, "string", &t));
        } else if (c == '`') {
            t.kind = TOKEN_QUOTED_NAME;
            SL_TRY(lex_quoted(p, t.at, "name", &t));
        } else if (lower(c) == 'x' && after == '\'') {
            SL_TRY(lex_bytes(p, &t));
        } else if (is_digit(c) || (c == '.' && is_digit(after))) {
            SL_TRY(lex_number(p, &t));
        } else if (is_name_start(c)) {
            SL_TRY(lex_name(p, &t));
        } else {
            SL_TRY(lex_other(p, &t));
        }
    }
    p->now = t;
    return SL_OK;
}

/* ---- tokens -------------------------------------------------------------------------------------------- */

static bool at_word(const struct parser *p, const char *word)
{
    return p->now.kind == TOKEN_NAME && text_is_word(p->now.text, p->now.len, word);
}

static bool at_sign(const struct parser *p, char sign)
{
    return p->now.kind == TOKEN_SIGN && p->now.sign == sign;
}

static sl_status expected(const struct parser *p, const char *what)
{
    if (p->now.kind == TOKEN_END)
        return expr_error(p->now.at, "the text ends where %s is expected", what);
    size_t n = p->now.end - p->now.at;
    return expr_error(p->now.at, "%s is expected, not %.*s", what, (int)(n < 40 ? n : 40),
                      p->text + p->now.at);
}

static sl_status expect_sign(struct parser *p, char sign)
{
    char what[] = {'\'', sign, '\'', 0};
    if (!at_sign(p, sign))
        return expected(p, what);
    return advance(p);
}

static sl_status expect_word(struct parser *p, const char *word)
{
    if (!at_word(p, word))
        return expected(p, word);
    return advance(p);
}

static bool is_reserved(const struct parser *p)
{
    static const char *const words[] = {"and",  "or", "not",  "in",   "between",
                                        "like", "is", "null", "true", "false"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (at_word(p, words[i]))
            return true;
    return false;
}

/* The text goes on with a quote behind the current word: `date '...'` is a literal, `date = ...` a column. */
static bool string_follows(const struct parser *p)
{
    size_t i = p->now.end;
    while (i < p->len && is_space(p->text[i]))
        i++;
    return i < p->len && p->text[i] == '\'';
}

/* ---- operands ------------------------------------------------------------------------------------------ */

static sl_status parse_column(struct parser *p, struct expr_operand *out)
{
    const char *names[EXPR_DEPTH_MAX];
    size_t depth = 0;
    for (;;) {
        if (p->now.kind != TOKEN_QUOTED_NAME && (p->now.kind != TOKEN_NAME || (depth == 0 && is_reserved(p))))
            return expected(p, depth ? "a member's name" : "a column or a literal");
        if (depth == EXPR_DEPTH_MAX)
            return expr_error(p->now.at, "more than %d names in a path", EXPR_DEPTH_MAX);
        if (strlen(p->now.text) != p->now.len)
            return expr_error(p->now.at, "a name holds a NUL byte");
        names[depth++] = p->now.text;
        SL_TRY(advance(p));
        if (!at_sign(p, '.'))
            break;
        SL_TRY(advance(p));
    }
    return expr_bind_column(p->e, names, depth, out->at, &out->column);
}

static sl_status parse_number(struct parser *p, struct expr_operand *out)
{
    char sign = 0;
    while (at_sign(p, '-') || at_sign(p, '+')) {
        if (sign)
            return expr_error(p->now.at, "a number has one sign");
        sign = p->now.sign;
        SL_TRY(advance(p));
    }
    if (p->now.kind != TOKEN_NUMBER)
        return expected(p, "a number");
    char *text = sl_arena_alloc(p->e->arena, p->now.len + 2);
    if (!text)
        return sl_nomem();
    text[0] = sign;
    memcpy(text + (sign != 0), p->now.text, p->now.len);
    out->kind = LITERAL_NUMBER;
    out->text = text;
    out->len = p->now.len + (sign != 0);
    return advance(p);
}

static sl_status take_text(struct parser *p, enum expr_literal_kind kind, struct expr_operand *out)
{
    out->kind = kind;
    out->text = p->now.text;
    out->len = p->now.len;
    return advance(p);
}

static sl_status parse_operand(struct parser *p, bool literal_only, struct expr_operand *out)
{
    *out = (struct expr_operand){.at = p->now.at};
    if (p->now.kind == TOKEN_NUMBER || at_sign(p, '-') || at_sign(p, '+'))
        return parse_number(p, out);
    if (p->now.kind == TOKEN_STRING)
        return take_text(p, LITERAL_STRING, out);
    if (p->now.kind == TOKEN_BYTES)
        return take_text(p, LITERAL_BYTES, out);
    if ((at_word(p, "date") || at_word(p, "timestamp")) && string_follows(p)) {
        enum expr_literal_kind kind = at_word(p, "date") ? LITERAL_DATE : LITERAL_TIMESTAMP;
        SL_TRY(advance(p));
        return take_text(p, kind, out);
    }
    if (at_word(p, "true") || at_word(p, "false")) {
        out->kind = LITERAL_BOOL;
        out->truth = at_word(p, "true");
        return advance(p);
    }
    if (at_word(p, "null")) {
        out->kind = LITERAL_NULL;
        return advance(p);
    }
    return literal_only ? expected(p, "a literal") : parse_column(p, out);
}

/* ---- predicates ---------------------------------------------------------------------------------------- */

static void count_scratch(struct expr_node *node)
{
    node->scratch = node->first->scratch;
    for (const struct expr_node *child = node->first->next; child; child = child->next)
        if (child->scratch + 1 > node->scratch)
            node->scratch = child->scratch + 1;
}

static sl_status both(struct parser *p, struct expr_node *left, struct expr_node *right,
                      struct expr_node **out)
{
    SL_TRY(expr_node_new(p->e, EXPR_AND, out));
    (*out)->first = left;
    left->next = right;
    count_scratch(*out);
    return SL_OK;
}

static sl_status parse_between(struct parser *p, const struct expr_operand *left, struct expr_node **out)
{
    struct expr_operand low, high;
    struct expr_node *above, *below;
    size_t at = p->now.at;
    SL_TRY(advance(p));
    SL_TRY(parse_operand(p, false, &low));
    SL_TRY(expect_word(p, "and"));
    SL_TRY(parse_operand(p, false, &high));
    SL_TRY(expr_bind_compare(p->e, EXPR_GE, at, left, &low, &above));
    SL_TRY(expr_bind_compare(p->e, EXPR_LE, at, left, &high, &below));
    return both(p, above, below, out);
}

static sl_status parse_in(struct parser *p, const struct expr_operand *left, struct expr_node **out)
{
    struct expr_operand *items = NULL, **tail = &items;
    size_t count = 0;
    SL_TRY(advance(p));
    SL_TRY(expect_sign(p, '('));
    for (;;) {
        struct expr_operand *item = sl_arena_alloc(p->e->arena, sizeof *item);
        if (!item)
            return sl_nomem();
        SL_TRY(parse_operand(p, true, item));
        *tail = item;
        tail = &item->next;
        count++;
        if (!at_sign(p, ','))
            break;
        SL_TRY(advance(p));
    }
    SL_TRY(expect_sign(p, ')'));
    return expr_bind_in(p->e, left, items, count, out);
}

static sl_status parse_like(struct parser *p, const struct expr_operand *left, struct expr_node **out)
{
    struct expr_operand pattern, escape;
    bool escaped = false;
    SL_TRY(advance(p));
    SL_TRY(parse_operand(p, true, &pattern));
    if (pattern.kind != LITERAL_STRING && pattern.kind != LITERAL_NULL)
        return expr_error(pattern.at, "like needs a pattern in quotes");
    if (at_word(p, "escape")) {
        escaped = true;
        SL_TRY(advance(p));
        SL_TRY(parse_operand(p, true, &escape));
        if (escape.kind != LITERAL_STRING)
            return expr_error(escape.at, "escape needs one character in quotes");
    }
    return expr_bind_like(p->e, left, &pattern, escaped ? &escape : NULL, out);
}

static sl_status parse_is(struct parser *p, const struct expr_operand *left, bool *negated,
                          struct expr_node **out)
{
    SL_TRY(advance(p));
    *negated = at_word(p, "not");
    if (*negated)
        SL_TRY(advance(p));
    SL_TRY(expect_word(p, "null"));
    return expr_bind_is_null(p->e, left, out);
}

static sl_status parse_tail(struct parser *p, const struct expr_operand *left, struct expr_node **out)
{
    if (p->now.kind == TOKEN_OP) {
        enum expr_op op = p->now.op;
        size_t at = p->now.at;
        struct expr_operand right;
        SL_TRY(advance(p));
        SL_TRY(parse_operand(p, false, &right));
        return expr_bind_compare(p->e, op, at, left, &right, out);
    }
    struct expr_node *node;
    bool negated = at_word(p, "not");
    if (negated)
        SL_TRY(advance(p));
    if (at_word(p, "in"))
        SL_TRY(parse_in(p, left, &node));
    else if (at_word(p, "between"))
        SL_TRY(parse_between(p, left, &node));
    else if (at_word(p, "like"))
        SL_TRY(parse_like(p, left, &node));
    else if (negated)
        return expected(p, "in, between or like");
    else if (at_word(p, "is"))
        SL_TRY(parse_is(p, left, &negated, &node));
    else
        return expr_bind_truth(p->e, left, out);
    if (negated)
        return expr_node_not(p->e, node, out);
    *out = node;
    return SL_OK;
}

/* ---- and, or, not -------------------------------------------------------------------------------------- */

static sl_status parse_or(struct parser *p, struct expr_node **out);

static sl_status parse_predicate(struct parser *p, struct expr_node **out)
{
    if (at_sign(p, '(')) {
        SL_TRY(advance(p));
        SL_TRY(parse_or(p, out));
        return expect_sign(p, ')');
    }
    struct expr_operand left;
    SL_TRY(parse_operand(p, false, &left));
    return parse_tail(p, &left, out);
}

static sl_status parse_not(struct parser *p, struct expr_node **out)
{
    if (++p->depth > EXPR_DEPTH_MAX)
        return expr_error(p->now.at, "more than %d levels of parentheses and not", EXPR_DEPTH_MAX);
    if (at_word(p, "not")) {
        struct expr_node *child;
        SL_TRY(advance(p));
        SL_TRY(parse_not(p, &child));
        SL_TRY(expr_node_not(p->e, child, out));
    } else {
        SL_TRY(parse_predicate(p, out));
    }
    p->depth--;
    return SL_OK;
}

/* One node for the whole chain, so that a filter of ten thousand terms nests no deeper than one of two. */
static sl_status parse_chain(struct parser *p, const char *word, enum expr_kind kind,
                             sl_status (*part)(struct parser *, struct expr_node **), struct expr_node **out)
{
    struct expr_node *first, *node;
    SL_TRY(part(p, &first));
    *out = first;
    if (!at_word(p, word))
        return SL_OK;
    SL_TRY(expr_node_new(p->e, kind, &node));
    node->first = first;
    for (struct expr_node *last = first; at_word(p, word); last = last->next) {
        SL_TRY(advance(p));
        SL_TRY(part(p, &last->next));
    }
    count_scratch(node);
    *out = node;
    return SL_OK;
}

static sl_status parse_and(struct parser *p, struct expr_node **out)
{
    return parse_chain(p, "and", EXPR_AND, parse_not, out);
}

static sl_status parse_or(struct parser *p, struct expr_node **out)
{
    return parse_chain(p, "or", EXPR_OR, parse_and, out);
}

static sl_status parse_all(struct sl_expr *e, const char *text)
{
    struct parser p = {.e = e, .text = text, .len = strlen(text)};
    size_t valid = sl_utf8_valid_prefix(text, p.len);
    if (valid != p.len)
        return expr_error(valid, "the text is not valid UTF-8");
    SL_TRY(advance(&p));
    SL_TRY(parse_or(&p, &e->root));
    if (p.now.kind != TOKEN_END)
        return expected(&p, "and, or, or the end");
    return SL_OK;
}

sl_status sl_expr_parse(const char *text, const sl_type *schema, sl_expr **out)
{
    struct sl_expr *e;
    SL_NEW(e);
    e->schema = sl_type_ref(schema);
    e->columns_end = &e->columns;
    sl_status status = sl_arena_new(&e->arena);
    if (!status)
        status = parse_all(e, text);
    if (status) {
        sl_expr_free(e);
        return status;
    }
    *out = e;
    return SL_OK;
}

void sl_expr_free(sl_expr *expr)
{
    if (!expr)
        return;
    if (expr->arena)
        sl_arena_free(expr->arena);
    sl_type_unref(expr->schema);
    sl_free(expr);
}

sl_status sl_expr_columns(const sl_expr *expr, sl_strings *top_level_names)
{
    for (const struct expr_column *c = expr->columns; c; c = c->next)
        if (!sl_strings_contain(top_level_names, c->names[0]))
            SL_TRY(sl_strings_add(top_level_names, c->names[0]));
    return SL_OK;
}
