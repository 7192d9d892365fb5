/*
 * The record keys that an expression leaves possible. Equalities on every field of the key make up encoded keys, as the
 * key generator would: files are sorted by these, while a number's own order is another one (10 < 9 as text), and delete
 * logs hold nothing else.
 */
#include "query/scan_int.h"

#define KEYS_MAX 10000 /* combinations of the fields' values; more prune little */

/* Whether every writer makes the same text of the type's values (spec/write-path.md 1.2). */
static bool has_one_text(const sl_type *type)
{
    switch (type->id) {
    case SL_BOOL:
    case SL_INT8:
    case SL_INT16:
    case SL_INT32:
    case SL_INT64:
    case SL_DATE:
    case SL_DECIMAL:
    case SL_STRING:
        return true;
    default: /* timestamps: Spark's two ways of writing differ; floating numbers: Java's releases do */
        return false;
    }
}

/* Below version 9 one field of a COMPLEX key may be stored with its name or bare (spec/write-path.md 1.4). */
static bool encoding_is_known(const sl_table *table)
{
    return table->keygen_known && table->populate_meta &&
           !(table->version < 9 && table->keygen.kind == SL_KEYGEN_COMPLEX &&
             table->keygen.record_fields.count == 1);
}

bool scan_key_is_field(const sl_table *table, const sl_type *schema)
{
    const struct sl_keygen *k = &table->keygen;
    bool is_bare = k->kind != SL_KEYGEN_COMPLEX || k->complex_bare_single;
    if (!encoding_is_known(table) || k->record_fields.count != 1 || !is_bare)
        return false;
    int at = sl_type_field_index(schema, k->record_fields.items[0]);
    return at >= 0 && schema->fields[at].type->id == SL_STRING;
}

/* ---- combinations -------------------------------------------------------------------------------------- */

struct key_fields {
    sl_field *fields;
    sl_array **points; /* values of each field */
    size_t count;
    int64_t combinations;
};

static void key_fields_free(struct key_fields *f)
{
    for (size_t i = 0; i < f->count; i++)
        sl_array_unref(f->points[i]);
    sl_free(f->points);
    sl_free(f->fields);
}

/* *known false: some field may have any value, or there are too many. */
static sl_status load_points(const sl_table *table, const sl_type *schema, const sl_expr *where,
                             struct key_fields *f, bool *known)
{
    const sl_strings *names = &table->keygen.record_fields;
    SL_NEW_ARRAY(f->fields, names->count + 1);
    SL_NEW_ARRAY(f->points, names->count + 1);
    f->combinations = 1;
    *known = names->count > 0;
    for (size_t i = 0; i < names->count && *known; i++) {
        int at = sl_type_field_index(schema, names->items[i]);
        *known = at >= 0 && has_one_text(schema->fields[at].type);
        if (!*known)
            break;
        f->fields[i] = schema->fields[at];
        SL_TRY(sl_expr_points(where, names->items[i], &f->points[i]));
        f->count++;
        *known = f->points[i] && f->points[i]->length <= KEYS_MAX / (f->combinations ? f->combinations : 1);
        if (*known)
            f->combinations *= f->points[i]->length;
    }
    return SL_OK;
}

/* The values of field `index` in every combination; `repeat` neighbours have the same one. */
static sl_status column_of(const struct key_fields *f, size_t index, int64_t repeat, sl_array **out)
{
    sl_builder *b;
    uint32_t row;
    SL_TRY(sl_builder_new(f->fields[index].type, &b));
    sl_status status = SL_OK;
    for (int64_t i = 0; i < f->combinations && !status; i++) {
        row = (uint32_t)(i / repeat % f->points[index]->length);
        status = sl_builder_append_rows(b, f->points[index], &row, 1);
    }
    if (!status)
        status = sl_builder_finish(b, out);
    sl_builder_free(b);
    return status;
}

static sl_status combine(const struct key_fields *f, sl_batch **out)
{
    const sl_type *schema = NULL;
    int64_t repeat = 1;
    sl_array **columns;
    SL_NEW_ARRAY(columns, f->count);
    sl_status status = sl_type_struct(f->fields, f->count, &schema);
    for (size_t i = 0; i < f->count && !status; i++) {
        status = column_of(f, i, repeat, &columns[i]);
        repeat *= f->points[i]->length ? f->points[i]->length : 1;
    }
    if (!status)
        status = sl_batch_new(schema, f->combinations, columns, out);
    else
        for (size_t i = 0; i < f->count; i++)
            sl_array_unref(columns[i]);
    sl_free(columns);
    sl_type_unref(schema);
    return status;
}

static sl_status encode(const sl_table *table, const struct key_fields *f, sl_key_set *keys, bool *known)
{
    sl_batch *batch;
    sl_array *encoded = NULL;
    SL_TRY(combine(f, &batch));
    sl_status status = sl_keygen_apply(&table->keygen, batch, &encoded, NULL);
    sl_batch_unref(batch);
    if (sl_status_code(status) ==
        SL_E_INPUT) { /* an empty key: no row has one, but that is for the rows to say */
        sl_status_free(status);
        *known = false;
        return SL_OK;
    }
    SL_TRY(status);
    status = sl_key_set_init(keys, encoded);
    sl_array_unref(encoded);
    return status;
}

/* Equality on the key column itself is the plainest case. */
static sl_status keys_by_name(const sl_table *table, const sl_expr *where, sl_key_set *keys, bool *known)
{
    sl_array *points = NULL;
    if (table->populate_meta)
        SL_TRY(sl_expr_points(where, sl_meta_names[SL_META_RECORD_KEY], &points));
    *known = points != NULL;
    sl_status status = points ? sl_key_set_init(keys, points) : SL_OK;
    sl_array_unref(points);
    return status;
}

sl_status scan_key_values(const sl_table *table, const sl_type *schema, const sl_expr *where,
                          sl_key_set *keys, bool *known)
{
    struct key_fields f = {0};
    SL_TRY(keys_by_name(table, where, keys, known));
    if (*known || !encoding_is_known(table))
        return SL_OK;
    sl_status status = load_points(table, schema, where, &f, known);
    if (!status && *known)
        status = encode(table, &f, keys, known);
    key_fields_free(&f);
    return status;
}
