/*
 * Values as text, a column at a time: the record (Avro) family of spec/write-path.md 1.2, which Hudi's
 * upsert, insert and delete use. Everything else in keys/ works on the string arrays made here, so that only
 * this file looks at types.
 */
#include "keys/keys_int.h"

/* ---- building a column of text ------------------------------------------------------------------------- */

sl_status text_sink_init(struct text_sink *sink, int64_t rows)
{
    size_t bytes;
    memset(sink, 0, sizeof *sink);
    if (rows < 0 || sl_mul_overflows((size_t)rows + 1, 4, &bytes))
        return sl_internal("a batch of %" PRId64 " rows", rows);
    SL_TRY(sl_buffer_new(bytes, &sink->offsets));
    store_le32(sl_buffer_data(sink->offsets), 0);
    sink->rows = rows;
    sink->bytes.max = INT32_MAX; /* offsets are int32 */
    return SL_OK;
}

sl_status text_sink_room(struct text_sink *sink, size_t most, uint8_t **out)
{
    if (SL_UNLIKELY(most > INT32_MAX - sink->bytes.len))
        return sl_input("the texts of one batch's keys take more than 2 GiB");
    if (sink->bytes.cap - sink->bytes.len < most)
        SL_TRY(sl_buf_reserve(&sink->bytes, most));
    *out = sink->bytes.data + sink->bytes.len;
    return SL_OK;
}

sl_status text_sink_finish(struct text_sink *sink, sl_buffer *validity, int64_t null_count, sl_array **out)
{
    const sl_type *type = NULL;
    sl_buffer *values = NULL, *offsets = sink->offsets;
    sl_status status;
    assert(sink->filled == sink->rows);
    SL_GO(sl_buffer_new(sink->bytes.len, &values));
    if (sink->bytes.len > 0)
        memcpy(sl_buffer_data(values), sink->bytes.data, sink->bytes.len);
    SL_GO(sl_type_new(SL_STRING, &type));
    sink->offsets = NULL;
    status = sl_array_new(type, sink->rows, null_count, validity, values, offsets, NULL, 0, NULL, out);
    values = validity = NULL;
done:
    sl_type_unref(type);
    if (values)
        sl_buffer_unref(values);
    if (validity)
        sl_buffer_unref(validity);
    text_sink_free(sink);
    return status;
}

void text_sink_free(struct text_sink *sink)
{
    sl_buf_free(&sink->bytes);
    if (sink->offsets)
        sl_buffer_unref(sink->offsets);
    sink->offsets = NULL;
}

/* ---- single values ------------------------------------------------------------------------------------- */

enum { INTEGER_TEXT_MAX = 20, DATE_TEXT_MAX = 24, DECIMAL_TEXT_MAX = 48, FLOATING_TEXT_MAX = 40 };

static size_t put_unsigned(uint8_t *out, uint64_t value)
{
    uint8_t reversed[INTEGER_TEXT_MAX];
    size_t n = 0;
    do {
        reversed[n++] = (uint8_t)('0' + value % 10);
        value /= 10;
    } while (value);
    for (size_t i = 0; i < n; i++)
        out[i] = reversed[n - 1 - i];
    return n;
}

static size_t put_integer(uint8_t *out, int64_t value)
{
    if (value >= 0)
        return put_unsigned(out, (uint64_t)value);
    out[0] = '-';
    return 1 + put_unsigned(out + 1, 0 - (uint64_t)value);
}

static size_t put_two_digits(uint8_t *out, int value)
{
    out[0] = (uint8_t)('0' + value / 10);
    out[1] = (uint8_t)('0' + value % 10);
    return 2;
}

/* As Java's LocalDate prints it: at least four digits of the year, and a sign when there are more. */
static size_t put_date(uint8_t *out, int64_t days)
{
    int64_t year;
    int month, day;
    sl_days_to_civil(days, &year, &month, &day);
    size_t n = 0;
    if (year < 0 || year > 9999)
        out[n++] = year < 0 ? '-' : '+';
    uint64_t magnitude = year < 0 ? 0 - (uint64_t)year : (uint64_t)year;
    for (uint64_t limit = 1000; limit > 1 && magnitude < limit; limit /= 10)
        out[n++] = '0';
    n += put_unsigned(out + n, magnitude);
    out[n++] = '-';
    n += put_two_digits(out + n, month);
    out[n++] = '-';
    return n + put_two_digits(out + n, day);
}

/* All digits of the scale, never an exponent. */
static size_t put_decimal(uint8_t *out, sl_i128 unscaled, int32_t scale)
{
    uint8_t reversed[DECIMAL_TEXT_MAX];
    size_t n = 0, written = 0;
    sl_u128 rest = unscaled < 0 ? 0 - (sl_u128)unscaled : (sl_u128)unscaled;
    for (; rest; rest /= 10)
        reversed[n++] = (uint8_t)('0' + (int)(rest % 10));
    while (n <= (size_t)scale)
        reversed[n++] = '0';
    if (unscaled < 0)
        out[written++] = '-';
    while (n > 0) {
        out[written++] = reversed[--n];
        if (n > 0 && n == (size_t)scale)
            out[written++] = '.';
    }
    return written;
}

/* ---- columns, a loop for each kind of value ------------------------------------------------------------ */

static sl_status text_of_integers(const sl_array *a, struct text_sink *sink)
{
    bool is_unsigned = a->type->id == SL_UINT64;
    for (int64_t i = 0; i < a->length; i++) {
        if (sl_is_valid(a, i)) {
            uint8_t *at = NULL;
            SL_TRY(text_sink_room(sink, INTEGER_TEXT_MAX, &at));
            int64_t value = sl_integer_at(a, i);
            sink->bytes.len += is_unsigned ? put_unsigned(at, (uint64_t)value) : put_integer(at, value);
        }
        text_sink_end_row(sink);
    }
    return SL_OK;
}

static sl_status text_of_dates(const sl_array *a, struct text_sink *sink)
{
    for (int64_t i = 0; i < a->length; i++) {
        if (sl_is_valid(a, i)) {
            uint8_t *at = NULL;
            SL_TRY(text_sink_room(sink, DATE_TEXT_MAX, &at));
            sink->bytes.len += put_date(at, sl_i32_at(a, i));
        }
        text_sink_end_row(sink);
    }
    return SL_OK;
}

static sl_status text_of_decimals(const sl_array *a, struct text_sink *sink)
{
    for (int64_t i = 0; i < a->length; i++) {
        if (sl_is_valid(a, i)) {
            uint8_t *at = NULL;
            SL_TRY(text_sink_room(sink, DECIMAL_TEXT_MAX, &at));
            sink->bytes.len += put_decimal(at, sl_decimal_at(a, i), a->type->scale);
        }
        text_sink_end_row(sink);
    }
    return SL_OK;
}

static sl_status text_of_booleans(const sl_array *a, struct text_sink *sink)
{
    for (int64_t i = 0; i < a->length; i++) {
        if (sl_is_valid(a, i)) {
            bool value = sl_bool_at(a, i);
            SL_TRY(sl_buf_append(&sink->bytes, value ? "true" : "false", value ? 4 : 5));
        }
        text_sink_end_row(sink);
    }
    return SL_OK;
}

static sl_status text_of_floating(const sl_array *a, struct text_sink *sink)
{
    bool is_float = a->type->id == SL_FLOAT;
    for (int64_t i = 0; i < a->length; i++) {
        if (sl_is_valid(a, i)) {
            uint8_t *room = NULL;
            SL_TRY(text_sink_room(sink, FLOATING_TEXT_MAX, &room));
            SL_TRY(is_float ? sl_java_float(sl_float_at(a, i), &sink->bytes)
                            : sl_java_double(sl_double_at(a, i), &sink->bytes));
        }
        text_sink_end_row(sink);
    }
    return SL_OK;
}

static sl_status text_of_bytes(const sl_array *a, struct text_sink *sink)
{
    static const char hex[] = "0123456789abcdef";
    for (int64_t i = 0; i < a->length; i++) {
        if (sl_is_valid(a, i)) {
            size_t len;
            const uint8_t *value = sl_bytes_at(a, i, &len);
            uint8_t *at = NULL;
            SL_TRY(text_sink_room(sink, len * 2, &at));
            for (size_t k = 0; k < len; k++) {
                at[2 * k] = (uint8_t)hex[value[k] >> 4];
                at[2 * k + 1] = (uint8_t)hex[value[k] & 15];
            }
            sink->bytes.len += len * 2;
        }
        text_sink_end_row(sink);
    }
    return SL_OK;
}

static sl_status text_of_values(const sl_array *a, struct text_sink *sink)
{
    switch (a->type->id) {
    case SL_BOOL:
        return text_of_booleans(a, sink);
    case SL_INT8:
    case SL_INT16:
    case SL_INT32:
    case SL_INT64:
    case SL_UINT8:
    case SL_UINT16:
    case SL_UINT32:
    case SL_UINT64:
    case SL_TIME:      /* the stored number, as for timestamps */
    case SL_TIMESTAMP: /* the long, unless ...consistent.logical.timestamp.enabled, which we do not offer */
        return text_of_integers(a, sink);
    case SL_DATE:
        return text_of_dates(a, sink);
    case SL_DECIMAL:
        return text_of_decimals(a, sink);
    case SL_FLOAT:
    case SL_DOUBLE:
        return text_of_floating(a, sink);
    case SL_BINARY:
    case SL_FIXED:
        return text_of_bytes(a, sink);
    case SL_NULL:
    case SL_HALF:
    case SL_STRING:
    case SL_LIST:
    case SL_MAP:
    case SL_STRUCT:
        break;
    }
    char *type = NULL;
    SL_TRY(sl_type_text(a->type, &type));
    sl_status status = sl_unsupported("a value of type %s has no text as a key", type);
    sl_free(type);
    return status;
}

static sl_buffer *ref_or_null(sl_buffer *buffer) { return buffer ? sl_buffer_ref(buffer) : NULL; }

/* The same strings under other nulls (and without an annotation of the type). Takes over `validity`. */
static sl_status share_strings(const sl_array *strings, sl_buffer *validity, int64_t null_count,
                               sl_array **out)
{
    const sl_type *type;
    sl_status status = sl_type_new(SL_STRING, &type);
    if (status != SL_OK) {
        if (validity)
            sl_buffer_unref(validity);
        return status;
    }
    status = sl_array_new(type, strings->length, null_count, validity, ref_or_null(strings->values_buffer),
                          ref_or_null(strings->offsets_buffer), NULL, 0, NULL, out);
    sl_type_unref(type);
    return status;
}

static sl_status text_of_strings(sl_array *column, sl_array **out)
{
    if (column->dictionary) {
        sl_array *plain;
        SL_TRY(sl_array_decode_dictionary(column, &plain));
        sl_status status = text_of_strings(plain, out);
        sl_array_unref(plain);
        return status;
    }
    if (column->type->annotation == SL_PLAIN) {
        *out = sl_array_ref(column);
        return SL_OK;
    }
    return share_strings(column, ref_or_null(column->validity_buffer), column->null_count, out);
}

sl_status key_text_of_column(sl_array *column, sl_array **out)
{
    if (column->type->id == SL_STRING)
        return text_of_strings(column, out);
    if (column->type->id == SL_NULL) {
        const sl_type *type;
        SL_TRY(sl_type_new(SL_STRING, &type));
        sl_status status = sl_array_nulls(type, column->length, out);
        sl_type_unref(type);
        return status;
    }
    struct text_sink sink;
    SL_TRY(text_sink_init(&sink, column->length));
    sl_status status = text_of_values(column, &sink);
    if (status == SL_OK)
        return text_sink_finish(&sink, ref_or_null(column->validity_buffer), column->null_count, out);
    text_sink_free(&sink);
    return status;
}

/* ---- fields by path ------------------------------------------------------------------------------------ */

/* The field that the first component of *path names, and *path moved behind it. A name that holds the dots
 * itself comes first, as a column may be called "a.b". -1: none. */
static int next_field(const sl_type *structure, const char **path)
{
    int whole = sl_type_field_index(structure, *path);
    const char *dot = strchr(*path, '.');
    if (whole >= 0 || !dot) {
        *path += strlen(*path);
        return whole;
    }
    size_t len = (size_t)(dot - *path);
    for (size_t i = 0; i < structure->field_count; i++) {
        const char *name = structure->fields[i].name;
        if (strlen(name) == len && memcmp(name, *path, len) == 0) {
            *path = dot + 1;
            return (int)i;
        }
    }
    return -1;
}

const sl_type *key_field_type(const sl_type *schema, const char *path)
{
    const sl_type *type = schema;
    do {
        if (type->id != SL_STRUCT)
            return NULL;
        int index = next_field(type, &path);
        if (index < 0)
            return NULL;
        type = type->fields[index].type;
    } while (*path);
    return type;
}

/* Clears in `validity` the rows that are null in `parent`. */
static void clear_null_rows(uint8_t *validity, const sl_array *parent, int64_t *first_null)
{
    for (int64_t i = 0; i < parent->length; i++) {
        if (sl_is_valid(parent, i))
            continue;
        bit_clear(validity, i);
        if (*first_null < 0 || i < *first_null)
            *first_null = i;
    }
}

/* `text` without the rows that are cleared in `alive`; consumes `text`. */
static sl_status mask_text(sl_array *text, const uint8_t *alive, sl_array **out)
{
    sl_buffer *validity;
    sl_status status = sl_buffer_new(bitmap_bytes(text->length), &validity);
    if (status != SL_OK)
        goto done;
    uint8_t *bits = sl_buffer_data(validity);
    memset(bits, 0, bitmap_bytes(text->length));
    int64_t nulls = 0;
    for (int64_t i = 0; i < text->length; i++) {
        if (bit_get(alive, i) && sl_is_valid(text, i))
            bit_set(bits, i);
        else
            nulls++;
    }
    status = share_strings(text, validity, nulls, out);
done:
    sl_array_unref(text);
    return status;
}

sl_status key_text_of_field(const sl_batch *batch, const char *path, sl_array **out, int64_t *parent_null_row)
{
    const sl_type *structure = batch->schema;
    sl_array *const *columns = batch->columns;
    sl_array *column = NULL, *text;
    uint8_t *alive = NULL;
    int64_t first_null = -1;
    const char *rest = path;
    sl_status status;
    for (;;) {
        int index = structure->id == SL_STRUCT ? next_field(structure, &rest) : -1;
        if (index < 0) {
            status = sl_input("the rows have no field `%s`", path);
            goto done;
        }
        column = columns[index];
        if (!*rest)
            break;
        if (column->type->id == SL_STRUCT && column->null_count != 0) {
            if (!alive) {
                alive = sl_malloc(bitmap_bytes(batch->rows));
                if (!alive)
                    return sl_nomem();
                memset(alive, 0xff, bitmap_bytes(batch->rows));
            }
            clear_null_rows(alive, column, &first_null);
        }
        structure = column->type;
        columns = column->children;
    }
    SL_GO_CTX(key_text_of_column(column, &text), "field `%s`", path);
    if (first_null >= 0) {
        SL_GO(mask_text(text, alive, &text));
    }
    *out = text;
    if (parent_null_row)
        *parent_null_row = first_null;
done:
    sl_free(alive);
    return status;
}
