/*
 * Statistics that may be trusted (spec/parquet.md 5). Bounds that an old or unknown order made, that hold a
 * NaN, or that do not decode are left out: no bounds is always right.
 */
#include "parquet/read_int.h"

enum order { ORDER_NONE, ORDER_SIGNED, ORDER_UNSIGNED, ORDER_FLOATING, ORDER_BYTES };

static enum order order_of(const struct parquet_leaf *leaf)
{
    switch (leaf->type->id) {
    case SL_BOOL:
    case SL_INT8:
    case SL_INT16:
    case SL_INT32:
    case SL_INT64:
    case SL_DATE:
    case SL_TIME:
    case SL_DECIMAL:
        return ORDER_SIGNED;
    case SL_TIMESTAMP:
        return leaf->element->type == PARQUET_INT96 ? ORDER_NONE : ORDER_SIGNED;
    case SL_UINT8:
    case SL_UINT16:
    case SL_UINT32:
    case SL_UINT64:
        return ORDER_UNSIGNED;
    case SL_HALF:
    case SL_FLOAT:
    case SL_DOUBLE:
        return ORDER_FLOATING;
    case SL_STRING:
    case SL_BINARY:
    case SL_FIXED:
        return ORDER_BYTES;
    default:
        return ORDER_NONE;
    }
}

/* An annotation that we do not know (or a decimal that we read as bytes) may mean an order that we do not
 * know. */
static bool annotation_is_known(const struct parquet_schema_element *e, const sl_type *type)
{
    enum parquet_logical_kind kind = e->logical.kind;
    if (kind > PARQUET_LOGICAL_FLOAT16 || kind == 9 || e->converted == PARQUET_CONVERTED_INTERVAL)
        return false;
    bool is_decimal = kind == PARQUET_LOGICAL_DECIMAL || e->converted == PARQUET_CONVERTED_DECIMAL;
    return !is_decimal || type->id == SL_DECIMAL;
}

bool parquet_written_before(const char *created_by, const char *name, long major, long minor)
{
    size_t n = strlen(name);
    if (!created_by || strncmp(created_by, name, n) != 0 || (created_by[n] != ' ' && created_by[n] != '\0'))
        return false;
    const char *version = strstr(created_by, "version ");
    if (!version)
        return true;
    char *end;
    version += strlen("version ");
    long a = strtol(version, &end, 10), b = 0;
    if (end == version)
        return true;
    if (*end == '.')
        b = strtol(end + 1, NULL, 10);
    return a < major || (a == major && b < minor);
}

/* parquet-mr before 1.8.0 and parquet-cpp before 1.3 compared bytes as signed numbers. */
static bool writer_is_trusted(const struct sl_parquet *p, const struct parquet_leaf *leaf)
{
    bool bytes = leaf->element->type == PARQUET_BYTE_ARRAY || leaf->element->type == PARQUET_FIXED;
    return !bytes || !(parquet_written_before(p->meta.created_by, "parquet-mr", 1, 8) ||
                       parquet_written_before(p->meta.created_by, "parquet-cpp", 1, 3));
}

/* The pair of encoded bounds whose order is the column's, false when there is none. */
static bool choose_bounds(const struct sl_parquet *p, size_t leaf, enum order order,
                          const struct parquet_statistics *s, struct parquet_bytes *min,
                          struct parquet_bytes *max)
{
    bool order_known =
        p->meta.has_column_orders && leaf < p->meta.column_order_count &&
        (p->meta.column_orders[leaf] == PARQUET_ORDER_TYPE ||
         (p->meta.column_orders[leaf] == PARQUET_ORDER_IEEE754_TOTAL && order == ORDER_FLOATING));
    bool order_unknown = p->meta.has_column_orders && !order_known;
    if (order_known && s->min_value.data && s->max_value.data) {
        *min = s->min_value;
        *max = s->max_value;
        return true;
    }
    enum parquet_physical physical = p->schema.leaves[leaf].element->type;
    bool signed_physical =
        physical != PARQUET_BYTE_ARRAY && physical != PARQUET_FIXED && physical != PARQUET_INT96;
    if (!order_unknown && signed_physical && (order == ORDER_SIGNED || order == ORDER_FLOATING) &&
        s->min.data && s->max.data) {
        *min = s->min;
        *max = s->max;
        return true;
    }
    return false;
}

static bool half_is_nan(uint16_t bits) { return (bits & 0x7c00) == 0x7c00 && (bits & 0x3ff); }

/* Makes a floating bound safe: NaN is no bound, and a zero may hide the zero of the other sign. Writes the
 * sign of a zero into the array's own memory, which nobody else has seen yet. False: no bound. */
static bool settle_floating(sl_array *array, bool is_max)
{
    uint8_t *value = sl_buffer_data(array->values_buffer);
    if (array->type->id == SL_HALF) {
        uint16_t bits = load_le16(value);
        if ((bits & 0x7fff) == 0)
            store_le16(value, is_max ? 0 : 0x8000);
        return !half_is_nan(bits);
    }
    if (array->type->id == SL_FLOAT) {
        float v = sl_float_at(array, 0);
        if (v == 0)
            store_le32(value, is_max ? 0 : UINT32_C(0x80000000));
        return v == v;
    }
    double v = sl_double_at(array, 0);
    if (v == 0)
        store_le64(value, is_max ? 0 : UINT64_C(0x8000000000000000));
    return v == v;
}

/* A floating column may hold NaNs besides its bounds unless nan_count says no: the format's bounds are those of the
 * numbers, and no writer's bounds are numbers that a NaN made wrong (a NaN either stays out or becomes a bound). */
static bool may_hold_nan(enum order order, const struct parquet_statistics *s)
{
    return order == ORDER_FLOATING && !(s->has_nan_count && s->nan_count == 0);
}

static sl_status decode_bound(const struct parquet_leaf *leaf, enum order order, struct parquet_bytes bytes,
                              bool is_max, sl_array **out)
{
    sl_array *array = NULL;
    sl_status status = parquet_single_value(leaf, bytes.data, bytes.len, &array);
    if (sl_status_code(status) == SL_E_CORRUPT) { /* not a value of the column: no bound */
        (void)sl_status_ignore(status);
        return SL_OK;
    }
    SL_TRY(status);
    if (order == ORDER_FLOATING && !settle_floating(array, is_max)) {
        sl_array_unref(array);
        return SL_OK;
    }
    *out = array;
    return SL_OK;
}

/* sl_compare sorts NaN above all numbers: the upper bound of a column that may hold some. */
static sl_status put_nan_above(const struct parquet_leaf *leaf, struct sl_parquet_bounds *out)
{
    static const uint8_t half[2] = {0, 0x7e}, single[4] = {0, 0, 0xc0, 0x7f}, wide[8] = {[6] = 0xf8, 0x7f};
    const uint8_t *nan = leaf->width == 2 ? half : leaf->width == 4 ? single : wide;
    sl_array *above = NULL;
    SL_TRY(parquet_single_value(leaf, nan, leaf->width, &above));
    out->max_number = out->max;
    out->max = above;
    return SL_OK;
}

sl_status parquet_find_bounds(const struct sl_parquet *p, size_t leaf, const struct parquet_statistics *s,
                              struct sl_parquet_bounds *out)
{
    const struct parquet_leaf *l = &p->schema.leaves[leaf];
    enum order order = order_of(l);
    struct parquet_bytes min, max;
    if (order == ORDER_NONE || !annotation_is_known(l->element, l->type) || !writer_is_trusted(p, l) ||
        !choose_bounds(p, leaf, order, s, &min, &max))
        return SL_OK;
    SL_TRY(decode_bound(l, order, min, false, &out->min));
    SL_TRY(decode_bound(l, order, max, true, &out->max));
    if (!out->min || !out->max || sl_compare(out->min, 0, out->max, 0) > 0) {
        sl_array_unref(out->min);
        sl_array_unref(out->max);
        out->min = out->max = NULL;
        return SL_OK;
    }
    out->has_bounds = true;
    return may_hold_nan(order, s) ? put_nan_above(l, out) : SL_OK;
}

sl_status parquet_flat_leaf(const struct sl_parquet *p, size_t group, int column, int64_t *leaf)
{
    if (group >= p->meta.row_group_count || column < 0 || (size_t)column >= p->schema.type->field_count)
        return sl_input("no column %d in row group %zu", column, group);
    const struct parquet_node *node = &p->schema.columns[column];
    *leaf = node->child_count > 0 || node->leaf_count != 1 ? -1 : (int64_t)node->leaf_first;
    return SL_OK;
}

sl_status sl_parquet_column_bounds(const sl_parquet *p, size_t group, int column,
                                   struct sl_parquet_bounds *out)
{
    int64_t leaf;
    *out = (struct sl_parquet_bounds){0};
    SL_TRY(parquet_flat_leaf(p, group, column, &leaf));
    if (leaf < 0)
        return SL_OK;
    const struct parquet_column_meta *meta = &p->meta.row_groups[group].columns[leaf].meta;
    if (!meta->has_statistics)
        return SL_OK;
    const struct parquet_statistics *s = &meta->statistics;
    out->has_null_count = s->has_null_count && s->null_count >= 0 && s->null_count <= meta->num_values;
    out->null_count = out->has_null_count ? s->null_count : 0;
    sl_status status = parquet_find_bounds(p, (size_t)leaf, s, out);
    if (status)
        sl_parquet_bounds_free(out);
    return status;
}

void sl_parquet_bounds_free(struct sl_parquet_bounds *bounds)
{
    sl_array_unref(bounds->min);
    sl_array_unref(bounds->max);
    sl_array_unref(bounds->max_number);
    *bounds = (struct sl_parquet_bounds){0};
}
