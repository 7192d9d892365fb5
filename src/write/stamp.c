/* The meta columns of new rows (spec/write-path.md 2). */
#include "write/write_int.h"
#include <stdio.h>
#include <string.h>

struct stamp_stream {
    sl_stream base;
    sl_stream *rows;
    const sl_type
        *named; /* the schema of `rows` with the record key under its field's name; NULL: it has that field */
    const sl_write_schema *schema;
    struct stamp stamp;
    char prefix[64]; /* "<instant>_<task>_" */
};

/* `number` in digits at `out`, which has room for 20; how many they are. */
static size_t put_number(uint64_t number, uint8_t *out)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%" PRIu64, number);
    memcpy(out, text, (size_t)n);
    return (size_t)n;
}

/* One more; false where that takes a digit more. */
static bool count_up(uint8_t *digits, size_t n)
{
    while (n && digits[n - 1] == '9')
        digits[--n] = '0';
    if (n)
        digits[n - 1]++;
    return n > 0;
}

/* "<instant>_<task>_<n>", n counting the task's rows: the text before with one more. */
static sl_status sequence_numbers(struct stamp_stream *s, int64_t rows, sl_array **out)
{
    sl_buffer *offsets = NULL, *values = NULL;
    const sl_type *string = NULL;
    uint8_t text[sizeof s->prefix + 20] = {0};
    size_t prefix = strlen(s->prefix);
    sl_status status = SL_OK;
    SL_GO(sl_type_new(SL_STRING, &string));
    SL_GO(sl_buffer_new(((size_t)rows + 1) * 4, &offsets));
    SL_GO(sl_buffer_new((size_t)rows * sizeof text, &values));
    uint8_t *at = sl_buffer_data(values);
    memcpy(text, s->prefix, prefix);
    size_t digits = put_number(*s->stamp.rows_stamped, text + prefix);
    for (int64_t i = 0; i < rows; i++) {
        store_le32(sl_buffer_data(offsets) + i * 4, (uint32_t)(at - sl_buffer_data(values)));
        memcpy(at, text, sizeof text); /* a constant length; the rest is written over */
        at += prefix + digits;
        ++*s->stamp.rows_stamped;
        if (!count_up(text + prefix, digits))
            digits = put_number(*s->stamp.rows_stamped, text + prefix);
    }
    store_le32(sl_buffer_data(offsets) + rows * 4, (uint32_t)(at - sl_buffer_data(values)));
    status = sl_array_new(string, rows, 0, NULL, values, offsets, NULL, 0, NULL, out);
    values = offsets = NULL; /* taken over, also on failure */
done:
    sl_buffer_unref(offsets);
    sl_buffer_unref(values);
    sl_type_unref(string);
    return status;
}

static sl_status stamp_columns(struct stamp_stream *s, const sl_batch *batch, const sl_batch *data,
                               sl_array **columns)
{
    const struct stamp *stamp = &s->stamp;
    SL_TRY(sl_array_repeated_string(stamp->instant, strlen(stamp->instant), batch->rows,
                                    &columns[SL_META_COMMIT_TIME]));
    SL_TRY(sequence_numbers(s, batch->rows, &columns[SL_META_SEQNO]));
    columns[SL_META_RECORD_KEY] = sl_array_ref(batch->columns[0]);
    SL_TRY(sl_array_repeated_string(stamp->partition, strlen(stamp->partition), batch->rows,
                                    &columns[SL_META_PARTITION_PATH]));
    SL_TRY(sl_array_repeated_string(stamp->file_id, strlen(stamp->file_id), batch->rows,
                                    &columns[SL_META_FILE_NAME]));
    for (size_t i = 0; i < data->schema->field_count; i++)
        columns[SL_META_COLUMNS + i] = sl_array_ref(data->columns[i]);
    return SL_OK;
}

/* The columns of the table's schema. */
static sl_status data_columns(const struct stamp_stream *s, sl_batch *batch, sl_batch **out)
{
    if (!s->named)
        return sl_batch_conform(batch, s->schema->data, out);
    sl_array **columns;
    sl_batch *named;
    SL_NEW_ARRAY(columns, s->named->field_count);
    for (size_t i = 0; i < s->named->field_count; i++)
        columns[i] = sl_array_ref(batch->columns[i]);
    sl_status status = sl_batch_new(s->named, batch->rows, columns, &named);
    sl_free(columns);
    SL_TRY(status);
    status = sl_batch_conform(named, s->schema->data, out);
    sl_batch_unref(named);
    return status;
}

static sl_status stamp_next(sl_stream *self, sl_batch **out)
{
    struct stamp_stream *s = (struct stamp_stream *)self;
    sl_batch *batch, *data = NULL;
    *out = NULL;
    SL_TRY(sl_stream_next(s->rows, &batch));
    if (!batch)
        return SL_OK;
    size_t count = s->schema->full->field_count;
    sl_array **columns = sl_calloc(count, sizeof *columns);
    sl_status status = columns ? data_columns(s, batch, &data) : sl_nomem();
    if (!status)
        status = stamp_columns(s, batch, data, columns);
    if (!status) {
        status = sl_batch_new(s->schema->full, batch->rows, columns, out);
    } else if (columns) {
        for (size_t i = 0; i < count; i++)
            sl_array_unref(columns[i]);
    }
    sl_free(columns);
    sl_batch_unref(data);
    sl_batch_unref(batch);
    return status;
}

static void stamp_close(sl_stream *self)
{
    struct stamp_stream *s = (struct stamp_stream *)self;
    sl_stream_close(s->rows);
    sl_type_unref(s->named);
    sl_free(s);
}

/* Renames the record key where it stands for its field as well (writer_key_column). */
static sl_status name_key(struct stamp_stream *s)
{
    const sl_type *have = s->rows->schema;
    if (!s->stamp.key_field || sl_type_field_index(have, s->stamp.key_field) >= 0)
        return SL_OK;
    sl_field *fields = sl_calloc(have->field_count, sizeof *fields);
    if (!fields)
        return sl_nomem();
    memcpy(fields, have->fields, have->field_count * sizeof *fields);
    fields[0].name = s->stamp.key_field;
    sl_status status = sl_type_struct(fields, have->field_count, &s->named);
    sl_free(fields);
    return status;
}

sl_status stamp_rows(sl_stream *rows, const sl_write_schema *schema, const struct stamp *stamp,
                     sl_stream **out)
{
    struct stamp_stream *s = sl_calloc(1, sizeof *s);
    if (!s) {
        sl_stream_close(rows);
        return sl_nomem();
    }
    *s = (struct stamp_stream){
        .base = {schema->full, stamp_next, stamp_close}, .rows = rows, .schema = schema, .stamp = *stamp};
    sl_status status = name_key(s);
    if (status) {
        stamp_close(&s->base);
        return status;
    }
    snprintf(s->prefix, sizeof s->prefix, "%s_%" PRIu32 "_", stamp->instant, stamp->task);
    *out = &s->base;
    return SL_OK;
}
