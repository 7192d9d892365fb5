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

/* Columns `a` and `b` of the schema. */
static sl_status same_in_all(const struct slice_inputs *inputs, const sl_type *schema, size_t a, size_t b,
                             bool *same)
{
    *same = true;
    for (size_t i = 0; i < inputs->count && *same; i++) {
        const struct slice_input *input = &inputs->items[i];
        if (input->is_deletes)
            continue;
        const sl_parquet *p = input->source->parquet;
        int first = sl_type_field_near(sl_parquet_schema(p), schema->fields[a].name, a),
            second = sl_type_field_near(sl_parquet_schema(p), schema->fields[b].name, b);
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

/* Meta columns always stay: sorting and merging know them by name. */
static bool may_be_left_out(const sl_field *field, const struct sl_merge_options *rules)
{
    for (size_t i = 0; i < SL_META_COLUMNS; i++)
        if (strcmp(field->name, sl_meta_names[i]) == 0)
            return false;
    return is_text(field) && !(rules && (sl_merge_looks_at(rules, field->name, true) ||
                                         sl_merge_looks_at(rules, field->name, false)));
}

/* Which columns the meta column is read for. */
static sl_status find_twins_of(const struct slice_inputs *inputs, const struct sl_merge_options *rules,
                               struct slice_twins *twins, const char *meta)
{
    const sl_field *fields = twins->schema->fields;
    int of = sl_type_field_index(twins->schema, meta);
    if (of < 0)
        return SL_OK;
    for (size_t c = 0; c < twins->schema->field_count; c++) {
        bool same;
        if (twins->of[c] >= 0 || fields[c].type->id != fields[of].type->id ||
            !may_be_left_out(&fields[c], rules))
            continue;
        SL_TRY(same_in_all(inputs, twins->schema, (size_t)of, c, &same));
        if (!same)
            continue;
        twins->of[c] = of;
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
    SL_TRY(find_twins_of(inputs, rules, out, sl_meta_names[SL_META_RECORD_KEY]));
    return find_twins_of(inputs, rules, out, sl_meta_names[SL_META_PARTITION_PATH]);
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
