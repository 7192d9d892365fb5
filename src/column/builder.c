/*
 * Builders: one array, grown value by value. Runs of rows of other arrays are appended in gather.c.
 *
 * A null has a place in every buffer of its array (zero bytes, an empty text, null members), so that position
 * i means row i everywhere.
 */
#include "column/column_int.h"

/* The range of an integer, date, time or timestamp type. */
static void integer_range(const sl_type *type, int64_t *least, int64_t *greatest)
{
    size_t bits = 8 * sl_type_value_bytes(type);
    switch (type->id) {
    case SL_UINT8:
    case SL_UINT16:
    case SL_UINT32:
    case SL_UINT64:
        *least = 0;
        *greatest = bits == 64 ? INT64_MAX : ((int64_t)1 << bits) - 1;
        break;
    case SL_INT8:
    case SL_INT16:
    case SL_INT32:
    case SL_INT64:
    case SL_DATE:
    case SL_TIME:
    case SL_TIMESTAMP:
        *greatest = bits == 64 ? INT64_MAX : ((int64_t)1 << (bits - 1)) - 1;
        *least = -*greatest - 1;
        break;
    default:
        *least = 1;
        *greatest = 0;
    }
}

static sl_status builder_init(sl_builder *b, const sl_type *type)
{
    b->type = sl_type_ref(type);
    b->value_bytes = sl_type_value_bytes(type);
    integer_range(type, &b->least, &b->greatest);
    if (type->id == SL_DECIMAL)
        b->decimal_limit = column_pow10(type->precision);
    if (type->field_count == 0)
        return SL_OK;
    SL_NEW_ARRAY(b->children, type->field_count);
    for (; b->child_count < type->field_count; b->child_count++)
        SL_TRY(sl_builder_new(type->fields[b->child_count].type, &b->children[b->child_count]));
    return SL_OK;
}

sl_status sl_builder_new(const sl_type *type, sl_builder **out)
{
    sl_builder *b;
    SL_NEW(b);
    sl_status status = builder_init(b, type);
    if (status != SL_OK) {
        sl_builder_free(b);
        return status;
    }
    *out = b;
    return SL_OK;
}

void sl_builder_free(sl_builder *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->child_count; i++)
        sl_builder_free(b->children[i]);
    sl_free(b->children);
    growing_free(&b->validity);
    growing_free(&b->values);
    growing_free(&b->offsets);
    sl_type_unref(b->type);
    sl_free(b);
}

/* ---- room ---------------------------------------------------------------------------------------------- */

sl_status builder_validity_cover(sl_builder *b, int64_t rows)
{
    size_t bytes = bitmap_bytes(rows);
    if (bytes <= b->validity.size)
        return SL_OK;
    SL_TRY(growing_room(&b->validity, bytes - b->validity.size));
    memset(b->validity.data + b->validity.size, 0xff, bytes - b->validity.size);
    b->validity.size = bytes;
    return SL_OK;
}

sl_status builder_offsets_room(sl_builder *b, int64_t count)
{
    size_t entries = (size_t)count + (b->offsets.size == 0), bytes;
    if (sl_mul_overflows(entries, sizeof(int32_t), &bytes))
        return sl_nomem();
    SL_TRY(growing_room(&b->offsets, bytes));
    if (b->offsets.size == 0) {
        store_le32(b->offsets.data, 0);
        b->offsets.size = sizeof(int32_t);
    }
    return SL_OK;
}

sl_status builder_text_fits(const sl_builder *b, size_t bytes)
{
    if (SL_UNLIKELY(bytes > (size_t)INT32_MAX - b->values.size))
        return sl_input("more than 2 GiB of text in one batch");
    return SL_OK;
}

sl_status builder_bits_room(sl_builder *b, int64_t at, int64_t count)
{
    size_t bytes = bitmap_bytes(at + count);
    if (bytes <= b->values.size)
        return SL_OK;
    SL_TRY(growing_room(&b->values, bytes - b->values.size));
    memset(b->values.data + b->values.size, 0, bytes - b->values.size);
    b->values.size = bytes;
    return SL_OK;
}

/* ---- nulls --------------------------------------------------------------------------------------------- */

static sl_status fixed_append_zeros(sl_builder *b, int64_t count)
{
    size_t bytes;
    if (sl_mul_overflows((size_t)count, b->value_bytes, &bytes))
        return sl_nomem();
    SL_TRY(growing_room(&b->values, bytes));
    memset(b->values.data + b->values.size, 0, bytes);
    b->values.size += bytes;
    return SL_OK;
}

static sl_status offsets_append_empty(sl_builder *b, int64_t count)
{
    SL_TRY(builder_offsets_room(b, count));
    uint32_t last = load_le32(b->offsets.data + b->offsets.size - sizeof(int32_t));
    for (int64_t i = 0; i < count; i++, b->offsets.size += sizeof(int32_t))
        store_le32(b->offsets.data + b->offsets.size, last);
    return SL_OK;
}

static sl_status values_append_empty(sl_builder *b, int64_t count)
{
    if (b->value_bytes > 0)
        return fixed_append_zeros(b, count);
    if (sl_type_has_offsets(b->type))
        return offsets_append_empty(b, count);
    if (b->type->id == SL_BOOL) {
        SL_TRY(builder_bits_room(b, b->length, count));
        column_bits_fill(b->values.data, b->length, count, false);
    }
    if (b->type->id == SL_STRUCT)
        for (size_t i = 0; i < b->child_count; i++)
            SL_TRY(builder_append_nulls(b->children[i], count));
    return SL_OK;
}

sl_status builder_append_nulls(sl_builder *b, int64_t count)
{
    if (count == 0)
        return SL_OK;
    if (b->type->id != SL_NULL) { /* there sl_array_new makes the bitmap */
        SL_TRY(builder_validity_cover(b, b->length + count));
        column_bits_fill(b->validity.data, b->length, count, false);
    }
    SL_TRY(values_append_empty(b, count));
    b->length += count;
    b->null_count += count;
    return SL_OK;
}

sl_status sl_builder_null(sl_builder *b) { return builder_append_nulls(b, 1); }

/* ---- values -------------------------------------------------------------------------------------------- */

static sl_status wrong_value(const sl_builder *b, const char *kind)
{
    char *text = NULL;
    SL_TRY(sl_type_text(b->type, &text));
    sl_status status = sl_internal("%s appended to a builder of %s", kind, text);
    sl_free(text);
    return status;
}

static sl_status fixed_append(sl_builder *b, const void *value, size_t width)
{
    SL_TRY(growing_room(&b->values, width));
    memcpy(b->values.data + b->values.size, value, width);
    b->values.size += width;
    b->length++;
    return SL_OK;
}

sl_status sl_builder_bool(sl_builder *b, bool value)
{
    if (b->type->id != SL_BOOL)
        return wrong_value(b, "a boolean");
    SL_TRY(builder_bits_room(b, b->length, 1));
    if (value)
        bit_set(b->values.data, b->length);
    else
        bit_clear(b->values.data, b->length);
    b->length++;
    return SL_OK;
}

static sl_status integer_refused(const sl_builder *b, int64_t value)
{
    if (b->least > b->greatest)
        return wrong_value(b, "an integer");
    char *text = NULL;
    SL_TRY(sl_type_text(b->type, &text));
    sl_status status = sl_input("%" PRId64 " is out of range for %s", value, text);
    sl_free(text);
    return status;
}

/* Always stores eight bytes: little endian, the low ones are the narrow value, the next value overwrites the
 * rest. */
sl_status sl_builder_integer(sl_builder *b, int64_t value)
{
    if (SL_UNLIKELY(value < b->least || value > b->greatest))
        return integer_refused(b, value);
    SL_TRY(growing_room(&b->values, sizeof value));
    store_le64(b->values.data + b->values.size, (uint64_t)value);
    b->values.size += b->value_bytes;
    b->length++;
    return SL_OK;
}

sl_status sl_builder_double(sl_builder *b, double value)
{
    if (b->type->id == SL_DOUBLE)
        return fixed_append(b, &value, sizeof value);
    if (b->type->id != SL_FLOAT)
        return wrong_value(b, "a floating-point number");
    float narrow = (float)value;
    return fixed_append(b, &narrow, sizeof narrow);
}

sl_status sl_builder_decimal(sl_builder *b, sl_i128 unscaled)
{
    if (b->type->id != SL_DECIMAL)
        return wrong_value(b, "a decimal");
    if (unscaled >= b->decimal_limit || unscaled <= -b->decimal_limit)
        return sl_input("a value of more than %d digits does not fit decimal(%d,%d)", b->type->precision,
                        b->type->precision, b->type->scale);
    return fixed_append(b, &unscaled, sizeof unscaled);
}

sl_status sl_builder_bytes(sl_builder *b, const void *data, size_t len)
{
    if (b->type->id == SL_FIXED) {
        if (len != (size_t)b->type->width)
            return sl_input("%zu bytes for a value of fixed(%d)", len, b->type->width);
        return fixed_append(b, data, len);
    }
    if (b->type->id != SL_STRING && b->type->id != SL_BINARY)
        return wrong_value(b, "bytes");
    SL_TRY(builder_text_fits(b, len));
    SL_TRY(growing_room(&b->values, len));
    SL_TRY(builder_offsets_room(b, 1));
    if (len > 0)
        memcpy(b->values.data + b->values.size, data, len);
    b->values.size += len;
    store_le32(b->offsets.data + b->offsets.size, (uint32_t)b->values.size);
    b->offsets.size += sizeof(int32_t);
    b->length++;
    return SL_OK;
}

/* ---- nested values ------------------------------------------------------------------------------------- */

sl_builder *sl_builder_child(sl_builder *b, size_t index) { return b->children[index]; }

static sl_status struct_close(sl_builder *b)
{
    for (size_t i = 0; i < b->child_count; i++)
        if (b->children[i]->length != b->length + 1)
            return sl_internal("struct member %s has %" PRId64 " values in row %" PRId64,
                               b->type->fields[i].name, b->children[i]->length - b->length, b->length);
    b->length++;
    return SL_OK;
}

sl_status sl_builder_close(sl_builder *b)
{
    if (b->type->id == SL_STRUCT)
        return struct_close(b);
    if (b->type->id != SL_LIST && b->type->id != SL_MAP)
        return wrong_value(b, "a nested value");
    int64_t end = b->children[0]->length;
    if (end > INT32_MAX)
        return sl_input("more than %d elements of lists or maps in one batch", INT32_MAX);
    SL_TRY(builder_offsets_room(b, 1));
    store_le32(b->offsets.data + b->offsets.size, (uint32_t)end);
    b->offsets.size += sizeof(int32_t);
    b->length++;
    return SL_OK;
}

/* ---- taking back --------------------------------------------------------------------------------------- */

/* Rows behind the end of the bitmap are valid: so must be the bits behind the last row. */
static void validity_truncate(sl_builder *b, int64_t length)
{
    size_t bytes = bitmap_bytes(length);
    if (b->validity.size > bytes)
        b->validity.size = bytes;
    int64_t covered = (int64_t)b->validity.size * 8;
    if (covered > length) {
        column_bits_fill(b->validity.data, length, covered - length, true);
        covered = length;
    }
    b->null_count = covered ? covered - column_bits_count(b->validity.data, 0, covered) : 0;
}

/* Where the values of the first rows end: bytes of text, or elements. */
static int64_t offsets_truncate(sl_builder *b, int64_t length)
{
    if (b->offsets.size == 0)
        return 0;
    b->offsets.size = ((size_t)length + 1) * sizeof(int32_t);
    return load_le32(b->offsets.data + (size_t)length * sizeof(int32_t));
}

/* Children of a value that was never closed are ahead of it. */
static void builder_truncate(sl_builder *b, int64_t length)
{
    const enum sl_type_id id = b->type->id;
    int64_t end = length;
    if (id == SL_NULL)
        b->null_count = length;
    else
        validity_truncate(b, length);
    if (sl_type_has_offsets(b->type))
        end = offsets_truncate(b, length);
    if (id == SL_STRING || id == SL_BINARY)
        b->values.size = (size_t)end;
    else if (id == SL_BOOL)
        b->values.size = bitmap_bytes(length);
    else
        b->values.size = (size_t)length * b->value_bytes;
    for (size_t i = 0; i < b->child_count; i++)
        builder_truncate(b->children[i], end);
    b->length = length;
}

void sl_batch_builder_truncate(sl_batch_builder *b, int64_t rows)
{
    for (size_t i = 0; i < b->schema->field_count; i++)
        builder_truncate(b->columns[i], rows);
}

/* ---- the result ---------------------------------------------------------------------------------------- */

int64_t sl_builder_length(const sl_builder *b) { return b->length; }

size_t sl_builder_bytes_used(const sl_builder *b)
{
    size_t bytes = b->validity.size + b->values.size + b->offsets.size;
    for (size_t i = 0; i < b->child_count; i++)
        bytes += sl_builder_bytes_used(b->children[i]);
    return bytes;
}

/* The bitmap for exactly the rows there are, no stray bits behind them; none when it would say nothing. */
static sl_status validity_take(sl_builder *b, sl_buffer **out)
{
    if (b->null_count == 0 || b->type->id == SL_NULL) {
        b->validity.size = 0;
        return SL_OK;
    }
    SL_TRY(builder_validity_cover(b, b->length));
    if (b->length & 7)
        b->validity.data[b->length >> 3] &= (uint8_t)((1u << (b->length & 7)) - 1);
    return growing_take(&b->validity, out);
}

static sl_status children_take(sl_builder *b, sl_array **children)
{
    for (size_t i = 0; i < b->child_count; i++)
        SL_TRY(sl_builder_finish(b->children[i], &children[i]));
    return SL_OK;
}

sl_status sl_builder_finish(sl_builder *b, sl_array **out)
{
    sl_buffer *validity = NULL, *values = NULL, *offsets = NULL;
    sl_array **children = NULL;
    sl_status status = SL_OK;
    if (b->child_count > 0)
        SL_NEW_ARRAY(children, b->child_count);
    SL_GO(children_take(b, children));
    SL_GO(validity_take(b, &validity));
    if (!sl_type_is_nested(b->type) && b->type->id != SL_NULL)
        SL_GO(growing_take(&b->values, &values));
    if (sl_type_has_offsets(b->type)) {
        SL_GO(builder_offsets_room(b, 0));
        SL_GO(growing_take(&b->offsets, &offsets));
    }
    status = sl_array_new(b->type, b->length, b->null_count, validity, values, offsets, children,
                          b->child_count, NULL, out);
    sl_free(children);
    b->length = b->null_count = 0;
    return status;
done:
    sl_buffer_unref(validity);
    sl_buffer_unref(values);
    sl_buffer_unref(offsets);
    for (size_t i = 0; i < b->child_count; i++)
        sl_array_unref(children[i]);
    sl_free(children);
    return status;
}

/* ---- a builder for each column ------------------------------------------------------------------------- */

static void set_reuse(sl_builder *b)
{
    b->validity.reuses = b->values.reuses = b->offsets.reuses = true;
    for (size_t i = 0; i < b->child_count; i++)
        set_reuse(b->children[i]);
}

void sl_batch_builder_reuse(sl_batch_builder *b)
{
    for (size_t i = 0; i < b->schema->field_count; i++)
        set_reuse(b->columns[i]);
}

sl_status sl_batch_builder_init(sl_batch_builder *b, const sl_type *schema)
{
    sl_batch_builder made = {.schema = sl_type_ref(schema)};
    sl_status status = SL_OK;
    made.columns = sl_calloc(schema->field_count + 1, sizeof *made.columns);
    if (!made.columns) {
        status = sl_nomem();
        goto done;
    }
    for (size_t i = 0; i < schema->field_count; i++)
        SL_GO(sl_builder_new(schema->fields[i].type, &made.columns[i]));
    *b = made;
    return SL_OK;
done:
    sl_batch_builder_free(&made);
    *b = (sl_batch_builder){0};
    return status;
}

int64_t sl_batch_builder_rows(const sl_batch_builder *b)
{
    return b->schema->field_count > 0 ? b->columns[0]->length : 0;
}

size_t sl_batch_builder_bytes(const sl_batch_builder *b)
{
    size_t bytes = 0;
    for (size_t i = 0; i < b->schema->field_count; i++)
        bytes += sl_builder_bytes_used(b->columns[i]);
    return bytes;
}

static size_t builder_allocated(const sl_builder *b)
{
    size_t bytes = b->validity.capacity + b->values.capacity + b->offsets.capacity;
    for (size_t i = 0; i < b->child_count; i++)
        bytes += builder_allocated(b->children[i]);
    return bytes;
}

size_t sl_batch_builder_allocated(const sl_batch_builder *b)
{
    size_t bytes = 0;
    for (size_t i = 0; i < b->schema->field_count; i++)
        bytes += builder_allocated(b->columns[i]);
    return bytes;
}

sl_status sl_batch_builder_append_range(sl_batch_builder *b, const sl_batch *src, int64_t from, int64_t count)
{
    for (size_t i = 0; i < b->schema->field_count; i++)
        SL_TRY_CTX(sl_builder_append_range(b->columns[i], src->columns[i], from, count), "column %s",
                   b->schema->fields[i].name);
    return SL_OK;
}

sl_status sl_batch_builder_finish(sl_batch_builder *b, sl_batch **out)
{
    size_t count = b->schema->field_count, made = 0;
    int64_t rows = sl_batch_builder_rows(b);
    sl_array **columns;
    SL_NEW_ARRAY(columns, count + 1);
    sl_status status = SL_OK;
    for (; made < count && status == SL_OK; made++)
        status = sl_builder_finish(b->columns[made], &columns[made]);
    if (status == SL_OK) {
        status = sl_batch_new(b->schema, rows, columns, out);
    } else {
        for (size_t i = 0; i < made; i++)
            sl_array_unref(columns[i]);
    }
    sl_free(columns);
    return status;
}

void sl_batch_builder_free(sl_batch_builder *b)
{
    if (!b->schema)
        return;
    for (size_t i = 0; b->columns && i < b->schema->field_count; i++)
        sl_builder_free(b->columns[i]);
    sl_free(b->columns);
    sl_type_unref(b->schema);
    *b = (sl_batch_builder){0};
}
