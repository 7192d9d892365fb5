/*
 * JSON lines: one object a line. The values go straight into builders (column/json_value.c), which skip
 * members that they do not know. Where those are to be refused, a second, quick pass over the line, valid
 * JSON by then, looks at the members' names.
 */
#include "write/input_int.h"

struct jsonl_input {
    struct text_input text; /* first: see text_input */
    bool inferred;
};

/* ---- members that nobody wants ------------------------------------------------------------------------- */

/* A place in text that is known to be valid JSON: every token is there, and its end too. */
struct walk {
    const char *at, *end;
};

static void skip_blanks(struct walk *w)
{
    while (w->at < w->end && (*w->at == ' ' || *w->at == '\t' || *w->at == '\r' || *w->at == '\n'))
        w->at++;
}

static bool take(struct walk *w, char c)
{
    skip_blanks(w);
    if (w->at == w->end || *w->at != c)
        return false;
    w->at++;
    return true;
}

/* Moves behind the string that begins here. Returns whether it has escapes. */
static bool skip_string(struct walk *w)
{
    bool escapes = false;
    const char *at = w->at + 1;
    while (at < w->end && *at != '"') {
        escapes |= *at == '\\';
        at += *at == '\\' ? 2 : 1;
    }
    w->at = at + 1;
    return escapes;
}

static void skip_nested(struct walk *w)
{
    size_t depth = 0;
    do {
        char c = *w->at;
        if (c == '"') {
            (void)skip_string(w);
            continue;
        }
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        w->at++;
    } while (depth > 0 && w->at < w->end);
}

static void skip_value(struct walk *w)
{
    skip_blanks(w);
    if (w->at == w->end)
        return;
    if (*w->at == '"') {
        (void)skip_string(w);
    } else if (*w->at == '{' || *w->at == '[') {
        skip_nested(w);
    } else {
        while (w->at < w->end && *w->at != ',' && *w->at != '}' && *w->at != ']')
            w->at++;
    }
}

/* The field of that name, tried first at *next: lines mostly keep the schema's order. */
static const sl_field *find_field(const sl_type *type, const char *name, size_t len, size_t *next)
{
    for (size_t tried = 0; tried < type->field_count; tried++) {
        size_t i = *next + tried < type->field_count ? *next + tried : *next + tried - type->field_count;
        const char *field = type->fields[i].name;
        if (strncmp(field, name, len) == 0 && field[len] == '\0') {
            *next = i + 1;
            return &type->fields[i];
        }
    }
    return NULL;
}

static sl_status check_value(struct walk *w, const sl_type *type, bool is_row);

static sl_status check_member(struct walk *w, const sl_type *type, bool is_row, size_t *next)
{
    skip_blanks(w);
    const char *name = w->at + 1;
    bool escapes = skip_string(w);
    size_t len = (size_t)(w->at - name) - 1;
    (void)take(w, ':');
    if (escapes) { /* a name in escapes: too rare to be unescaped for this check */
        skip_value(w);
        return SL_OK;
    }
    const sl_field *field = find_field(type, name, len, next);
    if (field)
        return check_value(w, field->type, false);
    if (!is_row || !input_is_meta_column(name, len))
        return is_row ? input_unasked_column(type, name, len) : input_unknown_column(type, name, len);
    skip_value(w);
    return SL_OK;
}

static sl_status check_value(struct walk *w, const sl_type *type, bool is_row)
{
    skip_blanks(w);
    if (type->id == SL_STRUCT && take(w, '{')) {
        size_t next = 0;
        while (!take(w, '}')) {
            SL_TRY(check_member(w, type, is_row, &next));
            (void)take(w, ',');
        }
        return SL_OK;
    }
    if (type->id == SL_LIST && take(w, '[')) {
        while (!take(w, ']')) {
            SL_TRY(check_value(w, type->fields[0].type, false));
            (void)take(w, ',');
        }
        return SL_OK;
    }
    skip_value(w);
    return SL_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static sl_status jsonl_next_record(struct text_input *in, struct text_record *out, bool *found)
{
    return text_reader_line(&in->reader, out, found);
}

static sl_status jsonl_append_row(struct text_input *in, const struct text_record *record,
                                  sl_batch_builder *rows)
{
    const struct jsonl_input *jsonl = (const struct jsonl_input *)in;
    sl_status status = sl_batch_builder_json_line(rows, record->text, record->len);
    if (status == SL_OK && in->options.extra == SL_EXTRA_REFUSE) {
        struct walk w = {record->text, record->text + record->len};
        status = check_value(&w, rows->schema, true);
    }
    if (SL_UNLIKELY(status != SL_OK) && jsonl->inferred)
        status = sl_hint(status,
                         "the columns were inferred from the first %" PRId64
                         " lines; give the table a schema, or read "
                         "more lines for it",
                         in->options.infer_rows);
    return status;
}

static sl_status jsonl_row_json(struct text_input *in, const struct text_record *record, sl_buf *out)
{
    (void)in;
    return sl_json_is_object(record->text, record->len) ? sl_buf_append(out, record->text, record->len)
                                                        : SL_OK;
}

/* ---- schema -------------------------------------------------------------------------------------------- */

/* Whether the line makes sense on its own: one that does not must leave no trace in the schema. */
static sl_status check_line(const struct text_record *record)
{
    sl_json_infer *alone;
    SL_TRY(text_record_check_utf8(record));
    SL_TRY(sl_json_infer_new(&alone));
    sl_status status = sl_json_infer_line(alone, record->text, record->len);
    sl_json_infer_free(alone);
    return status;
}

static sl_status look_at_line(struct text_input *in, sl_json_infer *infer, const struct text_record *record)
{
    sl_status status = SL_OK;
    if (in->options.reject)
        status = check_line(record);
    else
        SL_TRY(text_record_check_utf8(record));
    if (status == SL_OK)
        status = sl_json_infer_line(infer, record->text, record->len);
    if (status != SL_OK && in->options.reject && sl_status_code(status) == SL_E_INPUT) {
        sl_status_free(status); /* it will be rejected when its turn comes */
        return SL_OK;
    }
    return status;
}

/* Every line is given, blank ones too, so that the messages' line numbers are the file's. */
static sl_status look_ahead(struct text_input *in, sl_json_infer *infer)
{
    static const size_t look_bytes = (size_t)64 << 20;
    for (int64_t i = 0; i < in->options.infer_rows && text_reader_held(&in->reader) < look_bytes; i++) {
        struct text_record record;
        bool found;
        SL_TRY(text_reader_line(&in->reader, &record, &found));
        if (!found)
            return SL_OK;
        sl_status status = look_at_line(in, infer, &record);
        if (status == SL_OK)
            continue;
        if (record.len > 0 && record.text[0] == '[')
            status =
                sl_hint(status, "JSON lines want one object a line; `jq -c '.[]'` makes them of an array");
        return sl_context(status, "%s", input_source_name(in->reader.source));
    }
    return SL_OK;
}

static sl_status infer_schema(struct text_input *in, const sl_type **out)
{
    sl_json_infer *infer;
    SL_TRY(sl_json_infer_new(&infer));
    text_reader_hold(&in->reader);
    sl_status status = look_ahead(in, infer);
    if (status == SL_OK)
        status = sl_context(sl_json_infer_finish(infer, out), "%s", input_source_name(in->reader.source));
    text_reader_rewind(&in->reader);
    text_reader_release(&in->reader);
    sl_json_infer_free(infer);
    return status;
}

static void jsonl_free(struct text_input *in)
{
    text_input_close(in);
    sl_free(in);
}

static const struct text_format jsonl_format = {jsonl_next_record, jsonl_append_row, jsonl_row_json,
                                                jsonl_free};

static sl_status jsonl_start(struct jsonl_input *jsonl, const char *path, const sl_type *wanted,
                             const struct sl_input_options *options)
{
    const sl_type *schema;
    SL_TRY(text_input_open(&jsonl->text, path, options));
    if (wanted)
        schema = sl_type_ref(wanted);
    else
        SL_TRY(infer_schema(&jsonl->text, &schema));
    jsonl->inferred = !wanted;
    return text_input_start(&jsonl->text, schema);
}

sl_status input_jsonl_open(const char *path, const sl_type *wanted, const struct sl_input_options *options,
                           sl_stream **out)
{
    struct jsonl_input *jsonl;
    SL_NEW(jsonl);
    jsonl->text.format = &jsonl_format;
    sl_status status = jsonl_start(jsonl, path, wanted, options);
    if (status != SL_OK) {
        jsonl_free(&jsonl->text);
        return status;
    }
    *out = &jsonl->text.stream;
    return SL_OK;
}
