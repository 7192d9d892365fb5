/*
 * CSV (RFC 4180): a header line, then one record a line; fields in double quotes may hold delimiters, line
 * ends and doubled quotes. A quote inside an unquoted field is an ordinary character. Lines end with LF or
 * CRLF; blank lines are skipped. An unquoted field that is the null text is null; a quoted one never is, but
 * for `""` in a column that is no string, as writers that quote everything have no other way to say null.
 */
#include "write/input_int.h"

struct cell {
    const char *text;
    size_t len;
    bool quoted;
};

struct csv_input {
    struct text_input text; /* first: see text_input */
    char delimiter;
    sl_strings header;
    int *target;         /* field of the file -> column of the schema, -1: dropped */
    bool *present;       /* column of the schema: some field fills it */
    struct cell *cells;  /* one a header field */
    sl_buf scratch;      /* cells whose doubled quotes were undone */
    sl_text_infer *seen; /* while types are inferred */
    bool inferred;
};

/* ---- records ------------------------------------------------------------------------------------------- */

/* Where the scan for a record's end is; kept while more bytes are read, so that no byte is looked at twice.
 */
struct record_scan {
    size_t looked;
    uint64_t lines;
    enum { FIELD_START, IN_FIELD, IN_QUOTES, AFTER_QUOTE } state;
};

/* Moves to the line feed that ends the record; false: it is not in these bytes. */
static bool find_record_end(const uint8_t *p, size_t have, char delimiter, struct record_scan *scan)
{
    if (scan->looked == 0 && have > 0) { /* the common record is one line without quotes */
        const uint8_t *feed = memchr(p, '\n', have);
        if (feed && !memchr(p, '"', (size_t)(feed - p))) {
            scan->looked = (size_t)(feed - p);
            return true;
        }
    }
    while (scan->looked < have) {
        uint8_t c = p[scan->looked];
        if (scan->state == IN_QUOTES) {
            const uint8_t *quote = memchr(p + scan->looked, '"', have - scan->looked);
            size_t stop = quote ? (size_t)(quote - p) : have;
            for (; scan->looked < stop; scan->looked++)
                scan->lines += p[scan->looked] == '\n';
            if (!quote)
                return false;
            scan->state = AFTER_QUOTE;
        } else if (c == '\n') {
            return true;
        } else if (c == '"' && scan->state != IN_FIELD) {
            scan->state = IN_QUOTES; /* the field begins, or a doubled quote goes on with it */
        } else {
            scan->state = c == (uint8_t)delimiter ? FIELD_START : IN_FIELD;
        }
        scan->looked++;
    }
    return false;
}

/* The record without the CR of its line end. Where the file ends in the middle of quotes, that is the whole
 * end. */
static size_t content_length(const uint8_t *record, size_t len, bool ends)
{
    if (!ends && len > 0 && record[len - 1] == '\n')
        len--;
    return len > 0 && record[len - 1] == '\r' ? len - 1 : len;
}

static sl_status csv_next_record(struct text_input *in, struct text_record *out, bool *found)
{
    const struct csv_input *csv = (const struct csv_input *)in;
    struct text_reader *reader = &in->reader;
    struct record_scan scan = {.lines = 1, .state = FIELD_START};
    bool ends = false;
    for (;;) {
        bool grew;
        ends = find_record_end(reader->data + reader->at, reader->end - reader->at, csv->delimiter, &scan);
        if (ends)
            break;
        SL_TRY(text_reader_more(reader, &grew));
        if (!grew)
            break;
    }
    size_t len = scan.looked;
    *found = len > 0 || ends;
    if (*found)
        text_reader_take(reader, content_length(reader->data + reader->at, len, ends), ends ? len + 1 : len,
                         scan.lines, out);
    return SL_OK;
}

/* ---- cells --------------------------------------------------------------------------------------------- */

/* The quoted cell whose quote is at text[at]; *next is behind the closing one. `scratch` has room for the
 * record. */
static sl_status quoted_cell(const struct text_record *r, size_t at, sl_buf *scratch, struct cell *out,
                             size_t *next)
{
    size_t i = at + 1, from = i, kept = scratch->len;
    for (;;) {
        const char *quote = i < r->len ? memchr(r->text + i, '"', r->len - i) : NULL;
        if (!quote)
            return sl_input("the quote that opens at byte %zu is never closed", at + 1);
        i = (size_t)(quote - r->text);
        if (i + 1 == r->len || r->text[i + 1] != '"')
            break;
        i++; /* "" stands for one quote: keep it, and go on behind both */
        memcpy(scratch->data + scratch->len, r->text + from, i - from);
        scratch->len += i - from;
        from = ++i;
    }
    *next = i + 1;
    out->quoted = true;
    if (scratch->len == kept) {
        out->text = r->text + from;
        out->len = i - from;
        return SL_OK;
    }
    memcpy(scratch->data + scratch->len, r->text + from, i - from);
    scratch->len += i - from;
    out->text = (const char *)scratch->data + kept;
    out->len = scratch->len - kept;
    return SL_OK;
}

static size_t unquoted_cell(const struct text_record *r, size_t at, char delimiter, struct cell *out)
{
    size_t i = at;
    while (i < r->len && r->text[i] != delimiter)
        i++;
    *out = (struct cell){.text = r->text + at, .len = i - at};
    return i;
}

/* Takes the record apart. *count may exceed `most`; the cells behind it are counted only. */
static sl_status split_record(struct csv_input *csv, const struct text_record *r, struct cell *cells,
                              size_t most, size_t *count)
{
    size_t at = 0, n = 0;
    csv->scratch.len = 0;
    if (memchr(r->text, '"', r->len))
        SL_TRY(sl_buf_reserve(&csv->scratch, r->len)); /* cells point into it: it must not move */
    for (;;) {
        struct cell surplus, *cell = n < most ? &cells[n] : &surplus;
        n++;
        if (at < r->len && r->text[at] == '"') {
            SL_TRY(quoted_cell(r, at, &csv->scratch, cell, &at));
            if (at < r->len && r->text[at] != csv->delimiter)
                return sl_input("field %zu: text behind the closing quote", n);
        } else {
            at = unquoted_cell(r, at, csv->delimiter, cell);
        }
        if (at == r->len)
            break;
        at++; /* the delimiter */
    }
    *count = n;
    return SL_OK;
}

static sl_status split_row(struct csv_input *csv, const struct text_record *record)
{
    size_t count, header = csv->header.count;
    SL_TRY(split_record(csv, record, csv->cells, header, &count));
    if (count != header)
        return sl_input("%zu field%s, header has %zu", count, count == 1 ? "" : "s", header);
    return SL_OK;
}

static bool is_null_cell(const struct csv_input *csv, const struct cell *cell)
{
    const char *null_text = csv->text.options.null_text;
    if (cell->quoted)
        return false;
    if (!null_text)
        return cell->len == 0;
    return strlen(null_text) == cell->len && memcmp(null_text, cell->text, cell->len) == 0;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static sl_status append_cell(const struct csv_input *csv, const struct cell *cell, const sl_field *field,
                             sl_builder *b)
{
    bool is_string = field->type->id == SL_STRING;
    bool is_text = is_string || field->type->id == SL_BINARY;
    if (is_null_cell(csv, cell) || (!is_text && cell->quoted && cell->len == 0)) {
        if (!field->nullable)
            return sl_input("no value, but it must have one");
        return sl_builder_null(b);
    }
    if (is_string && field->type->annotation != SL_ENUM) /* the record is UTF-8 already */
        return sl_builder_bytes(b, cell->text, cell->len);
    return sl_builder_text(b, cell->text, cell->len);
}

/* "column `fare` (double): <what>". */
static sl_status cell_context(const struct csv_input *csv, const sl_field *field, sl_status why)
{
    char *type = NULL;
    if (sl_status_ignore(sl_type_text(field->type, &type)))
        return sl_context(why, "column `%s`", field->name);
    sl_status status = sl_context(why, "column `%s` (%s)", field->name, type);
    sl_free(type);
    if (csv->inferred)
        status = sl_hint(status,
                         "the column's type was inferred from the first %" PRId64
                         " rows; give the table a schema, "
                         "or read more rows for it",
                         csv->text.options.infer_rows);
    return status;
}

static sl_status csv_append_row(struct text_input *in, const struct text_record *record,
                                sl_batch_builder *rows)
{
    struct csv_input *csv = (struct csv_input *)in;
    const sl_type *schema = rows->schema;
    SL_TRY(split_row(csv, record));
    for (size_t i = 0; i < csv->header.count; i++) {
        int column = csv->target[i];
        if (column < 0)
            continue;
        sl_status status = append_cell(csv, &csv->cells[i], &schema->fields[column], rows->columns[column]);
        if (SL_UNLIKELY(status != SL_OK))
            return cell_context(csv, &schema->fields[column], status);
    }
    for (size_t c = 0; c < schema->field_count; c++)
        if (!csv->present[c])
            SL_TRY(sl_builder_null(rows->columns[c]));
    return SL_OK;
}

/* ---- rejected rows ------------------------------------------------------------------------------------- */

/* A value as JSON lines take it; text that is no value of the column's type, for which the row may have been refused, as text. */
static sl_status cell_json(const struct csv_input *csv, const struct cell *cell, const sl_field *field,
                           sl_buf *out)
{
    sl_builder *b;
    sl_array *value = NULL;
    SL_TRY(sl_builder_new(field->type, &b));
    sl_status status = append_cell(csv, cell, field, b);
    if (!status)
        status = sl_builder_finish(b, &value);
    if (!status)
        status = sl_value_text(value, 0, SL_TEXT_JSON, out);
    else if (sl_status_code(status) == SL_E_INPUT) {
        sl_status_free(status);
        status = sl_json_string(cell->text, cell->len, out);
    }
    sl_array_unref(value);
    sl_builder_free(b);
    return status;
}

static sl_status csv_row_json(struct text_input *in, const struct text_record *record, sl_buf *out)
{
    struct csv_input *csv = (struct csv_input *)in;
    if (sl_status_ignore(split_row(csv, record)))
        return SL_OK;
    for (size_t i = 0; i < csv->header.count; i++) {
        const char *name = csv->header.items[i];
        const struct cell *cell = &csv->cells[i];
        SL_TRY(sl_buf_byte(out, i ? ',' : '{'));
        SL_TRY(sl_json_string(name, strlen(name), out));
        SL_TRY(sl_buf_byte(out, ':'));
        if (is_null_cell(csv, cell))
            SL_TRY(sl_buf_append(out, "null", 4));
        else if (csv->target[i] < 0)
            SL_TRY(sl_json_string(cell->text, cell->len, out));
        else
            SL_TRY(cell_json(csv, cell, &in->stream.schema->fields[csv->target[i]], out));
    }
    return sl_buf_byte(out, '}');
}

/* ---- header -------------------------------------------------------------------------------------------- */

static sl_status header_name(struct csv_input *csv, const struct cell *cell)
{
    if (cell->len == 0)
        return sl_input("column %zu of the header has no name", csv->header.count + 1);
    if (memchr(cell->text, 0, cell->len))
        return sl_input("column %zu of the header has a NUL byte in its name", csv->header.count + 1);
    char *name = sl_strndup(cell->text, cell->len);
    if (!name)
        return sl_nomem();
    sl_status status = sl_strings_contain(&csv->header, name)
                           ? sl_input("the header has column `%s` twice", name)
                           : sl_strings_add(&csv->header, name);
    sl_free(name);
    return status;
}

static sl_status parse_header(struct csv_input *csv, const struct text_record *record)
{
    struct cell *cells = NULL;
    size_t count;
    sl_status status;
    SL_GO(text_record_check_utf8(record));
    SL_GO(split_record(csv, record, NULL, 0, &count));
    if (!(cells = sl_calloc(count, sizeof *cells))) {
        status = sl_nomem();
        goto done;
    }
    SL_GO(split_record(csv, record, cells, count, &count));
    for (size_t i = 0; i < count; i++)
        SL_GO(header_name(csv, &cells[i]));
done:
    sl_free(cells);
    return status;
}

static sl_status read_header(struct csv_input *csv)
{
    struct text_record record;
    bool found;
    SL_TRY(text_input_next(&csv->text, &record, &found));
    if (!found)
        return sl_input("%s: empty: a CSV file begins with a header line",
                        input_source_name(csv->text.reader.source));
    sl_status status = parse_header(csv, &record);
    if (status != SL_OK)
        return text_input_context(&csv->text, record.line, status);
    SL_NEW_ARRAY(csv->cells, csv->header.count);
    SL_NEW_ARRAY(csv->target, csv->header.count);
    return SL_OK;
}

/* ---- types --------------------------------------------------------------------------------------------- */

static sl_status look_at_row(struct text_input *in, const struct text_record *record)
{
    struct csv_input *csv = (struct csv_input *)in;
    sl_status status = text_record_check_utf8(record);
    if (status == SL_OK)
        status = split_row(csv, record);
    if (status != SL_OK) {
        if (!in->options.reject || sl_status_code(status) != SL_E_INPUT)
            return status;
        sl_status_free(status); /* it will be rejected when its turn comes */
        return SL_OK;
    }
    for (size_t i = 0; i < csv->header.count; i++) {
        const struct cell *cell = &csv->cells[i];
        if (!is_null_cell(csv, cell))
            sl_text_infer_cell(&csv->seen[i], cell->text, cell->len);
    }
    return SL_OK;
}

static sl_status inferred_schema(struct csv_input *csv, const sl_type **out)
{
    size_t count = csv->header.count;
    sl_field *fields;
    SL_NEW_ARRAY(fields, count);
    sl_status status = SL_OK;
    for (size_t i = 0; i < count; i++) {
        fields[i] = (sl_field){.name = csv->header.items[i], .nullable = true};
        SL_GO(sl_text_infer_type(&csv->seen[i], &fields[i].type));
    }
    SL_GO(sl_type_struct(fields, count, out));
done:
    for (size_t i = 0; i < count; i++)
        sl_type_unref(fields[i].type);
    sl_free(fields);
    return status;
}

static sl_status infer_types(struct csv_input *csv, const sl_type **out)
{
    SL_NEW_ARRAY(csv->seen, csv->header.count);
    SL_TRY(text_input_look_ahead(&csv->text, look_at_row));
    csv->inferred = true;
    return inferred_schema(csv, out);
}

static sl_status present_schema(const struct csv_input *csv, const sl_type *wanted, const sl_type **out)
{
    size_t count = 0;
    sl_field *fields;
    SL_NEW_ARRAY(fields, wanted->field_count + 1);
    for (size_t i = 0; i < wanted->field_count; i++)
        if (sl_strings_contain(&csv->header, wanted->fields[i].name))
            fields[count++] = wanted->fields[i];
    sl_status status =
        count ? sl_type_struct(fields, count, out) : sl_input("none of the table's columns is there");
    sl_free(fields);
    return status;
}

/* Which field of the file fills which column. */
static sl_status map_columns(struct csv_input *csv, const sl_type *schema)
{
    bool any = false;
    SL_NEW_ARRAY(csv->present, schema->field_count);
    for (size_t i = 0; i < csv->header.count; i++) {
        const char *name = csv->header.items[i];
        csv->target[i] = sl_type_field_index(schema, name);
        if (csv->target[i] >= 0)
            any = csv->present[csv->target[i]] = true;
        else if (csv->text.options.extra == SL_EXTRA_REFUSE && !input_is_meta_column(name, strlen(name)))
            return input_unasked_column(schema, name, strlen(name));
    }
    for (size_t c = 0; c < schema->field_count; c++)
        if (!csv->present[c] && !schema->fields[c].nullable)
            return sl_input("no column `%s`, which must have a value", schema->fields[c].name);
    if (!any)
        return sl_input("none of the table's columns is there");
    return SL_OK;
}

static void csv_free(struct text_input *in)
{
    struct csv_input *csv = (struct csv_input *)in;
    text_input_close(in);
    sl_strings_free(&csv->header);
    sl_buf_free(&csv->scratch);
    sl_free(csv->target);
    sl_free(csv->present);
    sl_free(csv->cells);
    sl_free(csv->seen);
    sl_free(csv);
}

static const struct text_format csv_format = {csv_next_record, csv_append_row, csv_row_json, csv_free};

static sl_status csv_start(struct csv_input *csv, const char *path, const sl_type *wanted,
                           const struct sl_input_options *options)
{
    const sl_type *schema = NULL;
    SL_TRY(text_input_open(&csv->text, path, options));
    SL_TRY(read_header(csv));
    if (!wanted)
        SL_TRY(infer_types(csv, &schema));
    else if (options->present_only)
        SL_TRY(present_schema(csv, wanted, &schema));
    else
        schema = sl_type_ref(wanted);
    SL_TRY(text_input_start(&csv->text, schema));
    SL_TRY_CTX(map_columns(csv, schema), "%s", input_source_name(csv->text.reader.source));
    return SL_OK;
}

sl_status input_csv_open(const char *path, char delimiter, const sl_type *wanted,
                         const struct sl_input_options *options, sl_stream **out)
{
    struct csv_input *csv;
    if (delimiter == '"' || delimiter == '\n' || delimiter == '\r' || (unsigned char)delimiter >= 0x80)
        return sl_input("the CSV delimiter must be one ASCII character, not a quote or a line end");
    SL_NEW(csv);
    csv->text.format = &csv_format;
    csv->delimiter = delimiter;
    sl_status status = csv_start(csv, path, wanted, options);
    if (status != SL_OK) {
        csv_free(&csv->text);
        return status;
    }
    *out = &csv->text.stream;
    return SL_OK;
}
