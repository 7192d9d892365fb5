/*
 * Delete blocks (spec/log-format.md 4.4). A delete names a record key and an ordering value in a wrapper that tells its
 * Java type; here the value becomes one of the ordering columns' types. Int 0 and null mean "delete now": null in all
 * ordering columns.
 */
#include "log/log_int.h"

#define DECIMAL_SCALE 15 /* of DecimalWrapper, whatever the column's */

/* ---- into the columns' types -------------------------------------------------------------------------------- */

static sl_status does_not_fit(const sl_type *type)
{
    char *name;
    SL_TRY(sl_type_text(type, &name));
    sl_status status = sl_corrupt("the ordering value of a delete is no value of the column's type %s", name);
    sl_free(name);
    return status;
}

static bool is_whole(const struct log_ordering *v)
{
    return v->kind == LOG_ORDERING_INT || v->kind == LOG_ORDERING_LONG;
}

static int64_t units_per_second(enum sl_time_unit unit)
{
    return unit == SL_MILLIS ? 1000 : unit == SL_MICROS ? 1000000 : 1000000000;
}

/* Microseconds in the column's unit; the writer began with a value in that unit, so nothing may be left over. */
static bool from_micros(int64_t micros, enum sl_time_unit unit, int64_t *out)
{
    int64_t per_second = units_per_second(unit);
    if (per_second < 1000000) {
        *out = micros / (1000000 / per_second);
        return micros % (1000000 / per_second) == 0;
    }
    return !sl_mul_overflows_i64(micros, per_second / 1000000, out);
}

/* 10^n for n <= 38 */
static sl_i128 power_of_ten(int32_t n)
{
    sl_i128 value = 1;
    while (n-- > 0)
        value *= 10;
    return value;
}

static bool multiply(sl_i128 value, sl_i128 factor, sl_i128 *out)
{
    sl_i128 most = (sl_i128)(~(sl_u128)0 >> 1) / factor;
    *out = value > most || value < -most ? 0 : value * factor;
    return value <= most && value >= -most;
}

static bool decimal_value(const struct log_ordering *v, int32_t scale, sl_i128 *out)
{
    if (is_whole(v))
        return multiply(v->integer, power_of_ten(scale), out);
    if (v->kind != LOG_ORDERING_DECIMAL || v->len == 0 || v->len > sizeof *out)
        return false;
    sl_u128 bits = v->bytes[0] & 0x80 ? ~(sl_u128)0 : 0;
    for (size_t i = 0; i < v->len; i++)
        bits = bits << 8 | v->bytes[i];
    sl_i128 value = (sl_i128)bits;
    if (scale >= DECIMAL_SCALE)
        return multiply(value, power_of_ten(scale - DECIMAL_SCALE), out);
    sl_i128 divisor = power_of_ten(DECIMAL_SCALE - scale);
    *out = value / divisor;
    return value % divisor == 0;
}

/* The integer that stands for the value in a column of an integer, date, time or timestamp type. */
static bool integer_value(const sl_type *type, const struct log_ordering *v, int64_t *out)
{
    *out = v->integer;
    if (is_whole(v))
        return true;
    if (type->id == SL_DATE)
        return v->kind == LOG_ORDERING_DATE;
    if (type->id == SL_TIME)
        return v->kind == LOG_ORDERING_TIME && from_micros(v->integer, type->unit, out);
    if (type->id == SL_TIMESTAMP)
        return v->kind == LOG_ORDERING_TIMESTAMP && from_micros(v->integer, type->unit, out);
    return false;
}

static bool number_value(const struct log_ordering *v, double *out)
{
    *out = is_whole(v) ? (double)v->integer : v->number;
    return is_whole(v) || v->kind == LOG_ORDERING_FLOAT || v->kind == LOG_ORDERING_DOUBLE;
}

static sl_status append_value(sl_builder *b, const sl_type *type, const struct log_ordering *v)
{
    int64_t integer;
    double number;
    sl_i128 decimal;
    switch (type->id) {
    case SL_BOOL:
        return v->kind == LOG_ORDERING_BOOLEAN ? sl_builder_bool(b, v->integer != 0) : does_not_fit(type);
    case SL_FLOAT:
    case SL_DOUBLE:
        return number_value(v, &number) ? sl_builder_double(b, number) : does_not_fit(type);
    case SL_DECIMAL:
        return decimal_value(v, type->scale, &decimal) ? sl_builder_decimal(b, decimal) : does_not_fit(type);
    case SL_STRING:
        if (v->kind != LOG_ORDERING_STRING || sl_utf8_valid_prefix(v->bytes, v->len) != v->len)
            return does_not_fit(type);
        return sl_builder_bytes(b, v->bytes, v->len);
    case SL_BINARY:
    case SL_FIXED:
        if (v->kind != LOG_ORDERING_BYTES || (type->id == SL_FIXED && v->len != (size_t)type->width))
            return does_not_fit(type);
        return sl_builder_bytes(b, v->bytes, v->len);
    case SL_INT8:
    case SL_INT16:
    case SL_INT32:
    case SL_INT64:
    case SL_UINT8:
    case SL_UINT16:
    case SL_UINT32:
    case SL_UINT64:
    case SL_DATE:
    case SL_TIME:
    case SL_TIMESTAMP:
        return integer_value(type, v, &integer) ? sl_builder_integer(b, integer) : does_not_fit(type);
    default:
        return sl_unsupported("ordering column of a nested or null type");
    }
}

/* A value that the column cannot hold comes from the file, so the builder's complaint about input is about damage. */
static sl_status as_damage(sl_status status)
{
    if (sl_status_code(status) != SL_E_INPUT)
        return status;
    sl_status damage = sl_corrupt("ordering value of a delete: %s", sl_status_message(status));
    sl_status_free(status);
    return damage;
}

sl_status log_deletes_item(struct log_deletes *deletes, size_t index, const struct log_ordering *value)
{
    sl_builder *b = deletes->rows.columns[1 + index];
    if (value->kind == LOG_ORDERING_NULL)
        return sl_builder_null(b);
    return as_damage(append_value(b, deletes->rows.schema->fields[1 + index].type, value));
}

sl_status log_deletes_single(struct log_deletes *deletes, const struct log_ordering *value)
{
    bool now = value->kind == LOG_ORDERING_NULL || (value->kind == LOG_ORDERING_INT && value->integer == 0);
    for (size_t i = 0; now && i < deletes->ordering_columns; i++)
        SL_TRY(sl_builder_null(deletes->rows.columns[1 + i]));
    if (now || deletes->ordering_columns == 0)
        return SL_OK;
    if (deletes->ordering_columns != 1)
        return sl_corrupt("a delete has one ordering value, the table %zu ordering columns",
                          deletes->ordering_columns);
    return log_deletes_item(deletes, 0, value);
}

sl_status log_deletes_key(struct log_deletes *deletes, const uint8_t *key, size_t len)
{
    if (sl_utf8_valid_prefix(key, len) != len)
        return sl_corrupt("the record key of a delete is not valid UTF-8");
    return sl_builder_bytes(deletes->rows.columns[0], key, len);
}

/* ---- version 3: Avro ---------------------------------------------------------------------------------------- */

struct avro_bytes {
    const uint8_t *data;
    size_t len, pos;
};

static sl_status cut_short(const struct avro_bytes *r)
{
    return sl_corrupt("the deletes end in the middle of a value at byte %zu", r->pos);
}

static sl_status read_long(struct avro_bytes *r, int64_t *out)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (r->pos == r->len)
            return cut_short(r);
        uint8_t byte = r->data[r->pos++];
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *out = (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
            return SL_OK;
        }
    }
    return sl_corrupt("number of more than 64 bits before byte %zu", r->pos);
}

static sl_status read_span(struct avro_bytes *r, size_t len, const uint8_t **out)
{
    if (len > r->len - r->pos)
        return cut_short(r);
    *out = r->data + r->pos;
    r->pos += len;
    return SL_OK;
}

static sl_status read_bytes(struct avro_bytes *r, const uint8_t **out, size_t *len)
{
    int64_t wanted;
    SL_TRY(read_long(r, &wanted));
    if (wanted < 0 || (uint64_t)wanted > r->len - r->pos)
        return sl_corrupt("text of %" PRId64 " bytes at byte %zu of the deletes", wanted, r->pos);
    *len = (size_t)wanted;
    return read_span(r, *len, out);
}

/* ["null", "string"]; *out NULL: null */
static sl_status read_optional_text(struct avro_bytes *r, const uint8_t **out, size_t *len)
{
    int64_t branch;
    SL_TRY(read_long(r, &branch));
    *out = NULL;
    *len = 0;
    if (branch == 0)
        return SL_OK;
    if (branch != 1)
        return sl_corrupt("union branch %" PRId64 " before byte %zu of the deletes", branch, r->pos);
    return read_bytes(r, out, len);
}

static sl_status read_floating(struct avro_bytes *r, struct log_ordering *out)
{
    const uint8_t *p;
    if (out->kind == LOG_ORDERING_FLOAT) {
        float narrow;
        SL_TRY(read_span(r, sizeof narrow, &p));
        memcpy(&narrow, p, sizeof narrow);
        out->number = (double)narrow;
        return SL_OK;
    }
    SL_TRY(read_span(r, sizeof out->number, &p));
    memcpy(&out->number, p, sizeof out->number);
    return SL_OK;
}

/* The branches 0 to 11, which the outer union and the array's items have in common. */
static sl_status read_scalar(struct avro_bytes *r, int64_t branch, struct log_ordering *out)
{
    const uint8_t *p;
    if (branch < 0 || branch > LOG_ORDERING_TIMESTAMP)
        return sl_corrupt("ordering value of kind %" PRId64 " before byte %zu of the deletes", branch,
                          r->pos);
    *out = (struct log_ordering){.kind = (enum log_ordering_kind)branch};
    switch (out->kind) {
    case LOG_ORDERING_NULL:
        return SL_OK;
    case LOG_ORDERING_BOOLEAN:
        SL_TRY(read_span(r, 1, &p));
        out->integer = *p != 0;
        return SL_OK;
    case LOG_ORDERING_FLOAT:
    case LOG_ORDERING_DOUBLE:
        return read_floating(r, out);
    case LOG_ORDERING_BYTES:
    case LOG_ORDERING_STRING:
    case LOG_ORDERING_DECIMAL:
        return read_bytes(r, &out->bytes, &out->len);
    default:
        SL_TRY(read_long(r, &out->integer));
        if ((out->kind == LOG_ORDERING_INT || out->kind == LOG_ORDERING_DATE) &&
            (out->integer < INT32_MIN || out->integer > INT32_MAX))
            return sl_corrupt("int of more than 32 bits before byte %zu of the deletes", r->pos);
        return SL_OK;
    }
}

#define OUTER_ARRAY     12
#define ITEM_LOCAL_DATE 12

static sl_status read_item(struct avro_bytes *r, struct log_ordering *out)
{
    int64_t branch;
    SL_TRY(read_long(r, &branch));
    return read_scalar(r, branch == ITEM_LOCAL_DATE ? LOG_ORDERING_DATE : branch, out);
}

/* Length of the next block of an Avro array, 0 at its end. A negative one is followed by the block's size. */
static sl_status read_block_count(struct avro_bytes *r, int64_t *out)
{
    int64_t ignored;
    SL_TRY(read_long(r, out));
    if (*out >= 0)
        return SL_OK;
    if (*out == INT64_MIN)
        return sl_corrupt("array block of impossible length before byte %zu of the deletes", r->pos);
    *out = -*out;
    return read_long(r, &ignored);
}

/* Several ordering columns: the items in their order. */
static sl_status read_tuple(struct avro_bytes *r, struct log_deletes *out)
{
    int64_t branch, count = 0;
    size_t items = 0;
    SL_TRY(read_long(r, &branch)); /* ["null", array] */
    if (branch == 0)
        return log_deletes_single(out, &(struct log_ordering){.kind = LOG_ORDERING_NULL});
    if (branch != 1)
        return sl_corrupt("union branch %" PRId64 " before byte %zu of the deletes", branch, r->pos);
    SL_TRY(read_block_count(r, &count));
    while (count > 0) {
        for (; count > 0; count--, items++) {
            struct log_ordering item;
            SL_TRY(read_item(r, &item));
            if (items < out->ordering_columns)
                SL_TRY(log_deletes_item(out, items, &item));
        }
        SL_TRY(read_block_count(r, &count));
    }
    if (items != out->ordering_columns && out->ordering_columns > 0)
        return sl_corrupt("a delete has %zu ordering values, the table %zu ordering columns", items,
                          out->ordering_columns);
    return SL_OK;
}

static sl_status read_delete(struct avro_bytes *r, struct log_deletes *out)
{
    const uint8_t *key, *partition;
    size_t key_len, partition_len;
    int64_t branch;
    struct log_ordering value;
    SL_TRY(read_optional_text(r, &key, &key_len));
    if (!key)
        return sl_corrupt("delete without record key before byte %zu", r->pos);
    SL_TRY(read_optional_text(r, &partition, &partition_len));
    SL_TRY(log_deletes_key(out, key, key_len));
    SL_TRY(read_long(r, &branch));
    if (branch == OUTER_ARRAY)
        return read_tuple(r, out);
    SL_TRY(read_scalar(r, branch, &value));
    return log_deletes_single(out, &value);
}

static sl_status read_avro_deletes(const uint8_t *data, size_t len, struct log_deletes *out)
{
    struct avro_bytes r = {data, len, 0};
    int64_t count;
    SL_TRY(read_block_count(&r, &count));
    while (count > 0) {
        for (; count > 0; count--) /* each takes at least three bytes, so the payload bounds the loop */
            SL_TRY(read_delete(&r, out));
        SL_TRY(read_block_count(&r, &count));
    }
    if (r.pos != r.len)
        return sl_corrupt("%zu bytes follow the last delete", r.len - r.pos);
    return SL_OK;
}

/* ---- the block ---------------------------------------------------------------------------------------------- */

static sl_status read_payload(const struct log_block *block, struct log_deletes *out)
{
    if (block->content_len < 8)
        return sl_corrupt("content of %zu bytes is too short for a delete block", block->content_len);
    uint32_t version = load_be32(block->content), len = load_be32(block->content + 4);
    const uint8_t *payload = block->content + 8;
    if (len != block->content_len - 8)
        return sl_corrupt("payload of %" PRIu32 " bytes in a delete block of %zu", len, block->content_len);
    if (version == 3)
        return read_avro_deletes(payload, len, out);
    if (version == 1 || version == 2)
        return log_kryo_deletes(payload, len, version == 2, out);
    return sl_unsupported("delete block version %" PRIu32, version);
}

sl_status log_block_deletes(const struct log_block *block, const sl_type *schema, sl_batch **out)
{
    struct log_deletes deletes = {.ordering_columns = schema->field_count - 1};
    sl_status status = sl_batch_builder_init(&deletes.rows, schema);
    if (!status)
        status = read_payload(block, &deletes);
    if (!status)
        status = sl_batch_builder_finish(&deletes.rows, out);
    sl_batch_builder_free(&deletes.rows);
    return status;
}
