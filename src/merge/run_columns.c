/* Which columns of a run decide what becomes of its rows: key, ordering values and marks. All others are copied only. */
#include "merge/merge_int.h"

#define OPERATION_COLUMN "_hoodie_operation"

/* ---- by name ------------------------------------------------------------------------------------------- */

bool sl_merge_looks_at(const struct sl_merge_options *o, const char *column, bool is_base)
{
    if (strcmp(column, o->key_column) == 0)
        return true;
    for (size_t i = 0; o->mode == SL_EVENT_TIME && i < o->ordering_count; i++)
        if (strcmp(column, o->ordering[i]) == 0)
            return true;
    return !is_base && ((o->delete_column && strcmp(column, o->delete_column) == 0) ||
                        (o->marker_column && o->marker_value && strcmp(column, o->marker_column) == 0) ||
                        strcmp(column, OPERATION_COLUMN) == 0);
}

bool sl_merge_may_be_late(const struct sl_merge_options *o)
{
    return o->partial == SL_PARTIAL_NONE && !o->keep_duplicates;
}

/* ---- in a run ------------------------------------------------------------------------------------------ */

/* Where the run has a column that decides what becomes of a row; -1: nowhere. */
static sl_status find_column(const struct cursor *c, const char *column, int *out)
{
    *out = sl_type_field_index(c->run.rows->schema, column);
    if (*out < 0 && c->run.late.load && sl_type_field_index(c->plan->schema, column) >= 0)
        return sl_internal("run %s: column %s comes too late for the merge", c->name, column);
    return SL_OK;
}

static sl_status find_key(struct cursor *c)
{
    const sl_type *schema = c->run.rows->schema;
    const char *key = c->plan->key_column;
    SL_TRY(find_column(c, key, &c->key));
    if (c->key < 0 && c->run.is_deletes) /* delete logs name it so whatever the key column is called */
        c->key = sl_type_field_index(schema, "_hoodie_record_key");
    if (c->key < 0)
        return sl_corrupt("run %s has no key column %s", c->name, key);
    enum sl_type_id id = schema->fields[c->key].type->id;
    if (id != SL_STRING && id != SL_BINARY)
        return sl_corrupt("run %s: the key column %s is not a string", c->name, key);
    return SL_OK;
}

/* Columns of a type that marks nothing are as good as none. */
static sl_status find_mark(const struct cursor *c, const char *column, enum sl_type_id type, int *out)
{
    SL_TRY(find_column(c, column, out));
    if (*out >= 0 && c->run.rows->schema->fields[*out].type->id != type)
        *out = -1;
    return SL_OK;
}

sl_status cursor_find_columns(struct cursor *c)
{
    const struct merge_plan *plan = c->plan;
    c->delete_flag = c->marker = c->operation = -1;
    SL_TRY(find_key(c));
    for (size_t i = 0; i < plan->ordering_count; i++)
        SL_TRY(find_column(c, plan->ordering[i], &c->ordering[i]));
    /* A base row is a row: its marker was judged when it was written. */
    if (c->run.is_deletes || c->run.is_base || plan->keep_duplicates)
        return SL_OK;
    if (plan->delete_column)
        SL_TRY(find_mark(c, plan->delete_column, SL_BOOL, &c->delete_flag));
    if (plan->marker_column && plan->marker_value)
        SL_TRY(find_column(c, plan->marker_column, &c->marker));
    return find_mark(c, OPERATION_COLUMN, SL_STRING, &c->operation);
}

sl_status cursor_check_schema(const struct cursor *c)
{
    const sl_type *have = c->run.late.load ? c->run.late.schema : c->run.rows->schema,
                  *want = c->plan->schema;
    bool same = have->field_count == want->field_count;
    for (size_t i = 0; same && i < want->field_count; i++)
        same = strcmp(have->fields[i].name, want->fields[i].name) == 0 &&
               sl_type_equal(have->fields[i].type, want->fields[i].type);
    return same ? SL_OK : sl_internal("run %s was not conformed to the schema of the merge", c->name);
}
