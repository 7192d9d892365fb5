/*
 * Batches of any schema as batches of the wanted one: columns found by name once, converted batch by batch.
 *
 * Conversions work on whole columns and know no file: a failure tells the row of its batch, from which the row of the input
 * is made here.
 */
#include "parquet/parquet.h"
#include "write/input_int.h"

struct conform_stream {
    sl_stream stream; /* first */
    sl_stream *in;
    struct sl_input_options options;
    struct input_owner owner;
    char *name;
    int *source;         /* column of the wanted schema -> column of the input, -1: null */
    uint64_t rows;       /* before the current batch */
    sl_status held_back; /* what is wrong with the row behind those that were handed out */
    bool check_utf8;     /* of inputs that do not promise it */
};

void input_owner_free(struct input_owner *owner)
{
    sl_parquet_close(owner->parquet);
    input_file_close(&owner->file);
    sl_free(owner->bytes);
    memset(owner, 0, sizeof *owner);
}

static sl_status convert_column(const struct conform_stream *s, sl_array *column, const sl_field *field,
                                sl_array **out)
{
    sl_array *converted;
    if (s->check_utf8)
        SL_TRY(input_check_utf8(column));
    SL_TRY(input_convert(column, field->type, &s->options, &converted));
    if (!field->nullable && converted->null_count != 0) {
        int64_t row = 0;
        while (row < converted->length && sl_is_valid(converted, row))
            row++;
        sl_array_unref(converted);
        return sl_at_row(sl_input("no value, but it must have one"), row);
    }
    *out = converted;
    return SL_OK;
}

/* "<input>: row 7: column `c`: ...", rows counted from 1 through the whole input. */
static sl_status column_failed(const struct conform_stream *s, const sl_field *field, sl_status why)
{
    int64_t row = sl_status_row(why);
    why = sl_context(why, "column `%s`", field->name);
    return sl_context(sl_at_row(why, row < 0 ? row : (int64_t)s->rows + row + 1), "%s", s->name);
}

static sl_status conform_column(const struct conform_stream *s, const sl_batch *batch, size_t i,
                                sl_array **out)
{
    const sl_field *field = &s->stream.schema->fields[i];
    if (s->source[i] < 0)
        return sl_array_nulls(field->type, batch->rows, out);
    sl_status status = convert_column(s, batch->columns[s->source[i]], field, out);
    return status ? column_failed(s, field, status) : SL_OK;
}

/* Of two failures the one of the earlier row. Failures that are of no row go first. Both are taken over. */
static sl_status earlier_failure(sl_status a, sl_status b)
{
    bool is_a = !b || (a && sl_status_row(a) <= sl_status_row(b));
    sl_status_free(is_a ? b : a);
    return is_a ? a : b;
}

static sl_status conform_batch(const struct conform_stream *s, const sl_batch *batch, sl_batch **out)
{
    const sl_type *schema = s->stream.schema;
    sl_array **columns;
    SL_NEW_ARRAY(columns, schema->field_count);
    sl_status status = SL_OK;
    for (size_t i = 0; i < schema->field_count; i++)
        status = earlier_failure(status, conform_column(s, batch, i, &columns[i]));
    if (status)
        goto done;
    status = sl_batch_new(schema, batch->rows, columns, out);
    memset(columns, 0, schema->field_count * sizeof *columns); /* they were taken over */
done:
    for (size_t i = 0; i < schema->field_count; i++)
        sl_array_unref(columns[i]);
    sl_free(columns);
    return status;
}

/* Rows before the one that failed are handed out before that is said, as whoever takes them may find fault with one of them.
 * Takes over `why`. */
static sl_status conform_good_rows(struct conform_stream *s, const sl_batch *batch, sl_status why,
                                   sl_batch **out)
{
    sl_batch *good;
    int64_t count = sl_status_row(why) - 1 - (int64_t)s->rows;
    if (sl_status_code(why) != SL_E_INPUT || count <= 0 || count >= batch->rows)
        return why;
    sl_status status = sl_batch_copy(batch, 0, count, &good);
    if (!status) {
        status = conform_batch(s, good, out);
        sl_batch_unref(good);
    }
    if (status)
        sl_status_free(why);
    else
        s->held_back = why;
    return status;
}

static sl_status conform_next(sl_stream *self, sl_batch **out)
{
    struct conform_stream *s = (struct conform_stream *)self;
    sl_batch *batch = NULL;
    if (s->held_back) {
        sl_status status = s->held_back;
        s->held_back = SL_OK;
        return status;
    }
    SL_TRY(sl_check_cancel(s->options.runtime));
    SL_TRY_CTX(sl_stream_next(s->in, &batch), "%s", s->name);
    if (!batch) {
        *out = NULL;
        return SL_OK;
    }
    sl_status status = conform_batch(s, batch, out);
    if (status)
        status = conform_good_rows(s, batch, status, out);
    s->rows += (uint64_t)batch->rows;
    sl_batch_unref(batch);
    return status;
}

static void conform_close(sl_stream *self)
{
    struct conform_stream *s = (struct conform_stream *)self;
    sl_type_unref(s->stream.schema);
    sl_stream_close(s->in);
    input_owner_free(&s->owner);
    sl_status_free(s->held_back);
    sl_free(s->source);
    sl_free(s->name);
    sl_free(s);
}

/* Finds the columns and checks that each can become what is wanted, before a row is read. */
static sl_status match_columns(struct conform_stream *s, const sl_type *have)
{
    const sl_type *wanted = s->stream.schema;
    bool any = false;
    SL_NEW_ARRAY(s->source, wanted->field_count);
    for (size_t i = 0; i < wanted->field_count; i++) {
        const sl_field *field = &wanted->fields[i];
        s->source[i] = sl_type_field_index(have, field->name);
        if (s->source[i] < 0 && !field->nullable)
            return sl_input("no column `%s`, which must have a value", field->name);
        if (s->source[i] < 0)
            continue;
        any = true;
        SL_TRY_CTX(input_convertible(have->fields[s->source[i]].type, field->type, &s->options),
                   "column `%s`", field->name);
    }
    if (!any)
        return sl_input("none of the table's columns is there");
    for (size_t i = 0; s->options.extra == SL_EXTRA_REFUSE && i < have->field_count; i++) {
        const char *name = have->fields[i].name;
        if (sl_type_field_index(wanted, name) < 0 && !input_is_meta_column(name, strlen(name)))
            return input_unknown_column(wanted, name, strlen(name));
    }
    return SL_OK;
}

static sl_status conform_open(sl_stream *in, const sl_type *wanted, const char *name, bool check_utf8,
                              const struct sl_input_options *options, struct input_owner *owner,
                              sl_stream **out)
{
    static const struct sl_input_options defaults;
    struct conform_stream *s = sl_calloc(1, sizeof *s);
    if (!s) {
        sl_stream_close(in);
        input_owner_free(owner);
        return sl_nomem();
    }
    sl_status status;
    s->stream = (sl_stream){
        .schema = sl_type_ref(wanted ? wanted : in->schema), .next = conform_next, .close = conform_close};
    s->in = in;
    s->owner = *owner;
    s->options = options ? *options : defaults;
    s->check_utf8 = check_utf8;
    if (!(s->name = sl_strdup(name))) {
        status = sl_nomem();
        goto done;
    }
    SL_GO_CTX(match_columns(s, in->schema), "%s", name);
    *out = &s->stream;
    return SL_OK;
done:
    conform_close(&s->stream);
    return status;
}

sl_status sl_input_conform(sl_stream *in, const sl_type *wanted, const char *name,
                           const struct sl_input_options *options, sl_stream **out)
{
    struct input_owner nothing = {0};
    return conform_open(in, wanted, name, false, options, &nothing, out);
}

sl_status input_conform_owned(sl_stream *in, const sl_type *wanted, const char *name,
                              const struct sl_input_options *options, struct input_owner *owner,
                              sl_stream **out)
{
    return conform_open(in, wanted, name, true, options, owner, out);
}
