/*
 * Columns that say the same in every file of a slice (spec/lsm-layout.md 13): the record key and the field that it is made of, the
 * partition and its field. They are stored alike, byte for byte, which is quickly found out; then one of them is read and merged,
 * and the result has it twice.
 */
#include "slice/slice_int.h"

/* Of one column in one file: more is not compared, as maybe only a few rows are wanted. */
#define TWIN_BYTES_MOST ((uint64_t)4 << 20)

static bool is_text(const sl_field *field)
{
    return field->type->id == SL_STRING || field->type->id == SL_BINARY;
}

static sl_status same_in_all(const struct slice_inputs *inputs, const char *a, const char *b, bool *same)
{
    *same = true;
    for (size_t i = 0; i < inputs->count && *same; i++) {
        const struct slice_input *input = &inputs->items[i];
        if (input->is_deletes)
            continue;
        const sl_parquet *p = input->source->parquet;
        int first = sl_type_field_index(sl_parquet_schema(p), a),
            second = sl_type_field_index(sl_parquet_schema(p), b);
        *same = first >= 0 && second >= 0;
        if (*same)
            SL_TRY_CTX(sl_parquet_same_columns(p, first, second, TWIN_BYTES_MOST, same), "file %s",
                       input->relative);
    }
    return SL_OK;
}

/* Files that are open and of which every row is wanted. */
static bool may_have_twins(const struct slice_inputs *inputs)
{
    bool rows = false;
    for (size_t i = 0; i < inputs->count; i++) {
        if (!inputs->items[i].relative || !inputs->items[i].source || inputs->items[i].is_limited)
            return false;
        rows |= !inputs->items[i].is_deletes;
    }
    return rows;
}

static bool is_looked_at(const struct sl_merge_options *rules, const char *column)
{
    return rules && (sl_merge_looks_at(rules, column, true) || sl_merge_looks_at(rules, column, false));
}

/* The twin of column `c` that is read: one that the merge looks at, or one before it. */
static sl_status find_twin(const struct slice_inputs *inputs, const struct sl_merge_options *rules,
                           struct slice_twins *twins, size_t c)
{
    const sl_field *fields = twins->schema->fields;
    if (!is_text(&fields[c]) || is_looked_at(rules, fields[c].name))
        return SL_OK;
    for (size_t i = 0; i < twins->schema->field_count && twins->of[c] < 0; i++) {
        bool same, is_read = i < c ? twins->of[i] < 0 : is_looked_at(rules, fields[i].name);
        if (i == c || !is_read || fields[i].type->id != fields[c].type->id)
            continue;
        SL_TRY(same_in_all(inputs, fields[i].name, fields[c].name, &same));
        if (!same)
            continue;
        twins->of[c] = (int)i;
        twins->count++;
    }
    return SL_OK;
}

sl_status slice_twins_find(const sl_type *schema, const struct slice_inputs *inputs,
                           const struct sl_merge_options *rules, struct slice_twins *out)
{
    *out = (struct slice_twins){.schema = sl_type_ref(schema)};
    SL_NEW_ARRAY(out->of, schema->field_count + 1);
    for (size_t c = 0; c < schema->field_count; c++)
        out->of[c] = -1;
    if (!may_have_twins(inputs) || (rules && rules->partial != SL_PARTIAL_NONE))
        return SL_OK;
    for (size_t c = 0; c < schema->field_count; c++)
        SL_TRY(find_twin(inputs, rules, out, c));
    return SL_OK;
}

sl_status slice_twins_read(const struct slice_twins *twins, const sl_type **out)
{
    sl_field *fields;
    size_t count = 0;
    SL_NEW_ARRAY(fields, twins->schema->field_count + 1);
    for (size_t c = 0; c < twins->schema->field_count; c++)
        if (twins->of[c] < 0)
            fields[count++] = twins->schema->fields[c];
    sl_status status = sl_type_struct(fields, count, out);
    sl_free(fields);
    return status;
}

void slice_twins_free(struct slice_twins *twins)
{
    sl_type_unref(twins->schema);
    sl_free(twins->of);
    *twins = (struct slice_twins){0};
}

/* ---- both of them again -------------------------------------------------------------------------------- */

struct twins_stream {
    sl_stream base;
    sl_stream *in;
    int *places; /* of each column in the batches of `in` */
};

static sl_status twins_next(sl_stream *self, sl_batch **out)
{
    struct twins_stream *s = (struct twins_stream *)self;
    const sl_type *schema = s->base.schema;
    sl_batch *batch;
    sl_array **columns;
    *out = NULL;
    SL_TRY(sl_stream_next(s->in, &batch));
    if (!batch)
        return SL_OK;
    if (!(columns = sl_calloc(schema->field_count + 1, sizeof *columns))) {
        sl_batch_unref(batch);
        return sl_nomem();
    }
    for (size_t c = 0; c < schema->field_count; c++)
        columns[c] = sl_array_ref(batch->columns[s->places[c]]);
    sl_status status = sl_batch_new(schema, batch->rows, columns, out); /* takes the columns over */
    sl_free(columns);
    sl_batch_unref(batch);
    return status;
}

static void twins_close(sl_stream *self)
{
    struct twins_stream *s = (struct twins_stream *)self;
    sl_stream_close(s->in);
    sl_type_unref(s->base.schema);
    sl_free(s->places);
    sl_free(s);
}

static int place_of(const struct slice_twins *twins, const sl_type *in, const char *column)
{
    int c = sl_type_field_index(twins->schema, column);
    if (c >= 0 && twins->of[c] >= 0)
        c = twins->of[c];
    return c < 0 ? -1 : sl_type_field_index(in, twins->schema->fields[c].name);
}

sl_status slice_twins_project(const struct slice_twins *twins, sl_stream *in, const sl_type *schema,
                              sl_stream **out)
{
    struct twins_stream *s = sl_calloc(1, sizeof *s);
    int *places = sl_calloc(schema->field_count + 1, sizeof *places);
    sl_status status = s && places ? SL_OK : sl_nomem();
    for (size_t c = 0; c < schema->field_count && !status; c++)
        if ((places[c] = place_of(twins, in->schema, schema->fields[c].name)) < 0)
            status = sl_internal("projection: column %s is missing", schema->fields[c].name);
    if (status) {
        sl_free(s);
        sl_free(places);
        sl_stream_close(in);
        return status;
    }
    *s = (struct twins_stream){{sl_type_ref(schema), twins_next, twins_close}, in, places};
    *out = &s->base;
    return SL_OK;
}
