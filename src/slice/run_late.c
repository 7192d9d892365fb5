/*
 * Columns that come late (spec/lsm-layout.md 13): what decides whether a row survives, its key, ordering values and marks, is
 * read first; the other columns are read by a second scan of the open file, which leaves out batches without a survivor. Pages
 * that lie in such batches are neither read nor decompressed. Pays for wide tables whose runs overwrite each other.
 */
#include "slice/slice_int.h"
#include <string.h>

/* With fewer columns to come a second scan is not worth its while. */
#define LATE_COLUMNS_LEAST 4

struct run_late {
    sl_source *source;
    struct sl_run_options options; /* of the second scan */
    const sl_type *schema;         /* of the run's rows */
    const sl_type *early, *rest;   /* columns of the first scan, and of the second one */
    int *places;                   /* of each column of `schema`: its index in `early`, or ~index in `rest` */
    sl_row_ranges ranges;          /* rows of the run; when `options` has any */
    size_t range;                  /* the one that was read last */
    int64_t range_row;             /* row of the run that it begins with */
    int64_t at;                    /* row of the run behind those that were read */
    sl_stream *scan,
        *rows; /* the second one, and what it yields in the schema's types; NULL: not opened yet */
};

/* ---- which columns ------------------------------------------------------------------------------------- */

static sl_status split_schema(struct run_late *l, const struct sl_run_options *o)
{
    size_t count = o->schema->field_count, early = 0, rest = 0;
    sl_field *fields;
    SL_NEW_ARRAY(l->places, count);
    SL_NEW_ARRAY(fields, 2 * count);
    for (size_t i = 0; i < count; i++) {
        const sl_field *field = &o->schema->fields[i];
        bool is_early = sl_merge_looks_at(o->late_for, field->name, o->is_base);
        l->places[i] = is_early ? (int)early : ~(int)rest;
        fields[is_early ? early++ : count + rest++] = *field;
    }
    sl_status status = sl_type_struct(fields, early, &l->early);
    if (!status)
        status = sl_type_struct(fields + count, rest, &l->rest);
    sl_free(fields);
    return status;
}

static bool is_worth_it(const struct run_late *l)
{
    const sl_type *file = sl_parquet_schema(l->source->parquet);
    size_t count = 0;
    for (size_t i = 0; i < l->rest->field_count; i++)
        count += sl_type_field_index(file, l->rest->fields[i].name) >= 0;
    return count >= LATE_COLUMNS_LEAST && l->early->field_count > 0;
}

static sl_status copy_ranges(struct run_late *l, const sl_row_ranges *ranges)
{
    for (size_t i = 0; ranges && i < ranges->count; i++)
        SL_TRY(sl_row_ranges_add(&l->ranges, ranges->items[i].first, ranges->items[i].count));
    l->options.ranges = ranges ? &l->ranges : NULL;
    return SL_OK;
}

sl_status run_late_new(sl_source *source, const struct sl_run_options *o, struct run_late **out)
{
    struct run_late *l;
    *out = NULL;
    SL_NEW(l);
    *l = (struct run_late){.source = source, .options = *o, .schema = sl_type_ref(o->schema)};
    sl_status status = SL_OK;
    SL_GO(split_schema(l, o));
    SL_GO(copy_ranges(l, o->ranges));
    l->options.schema = l->rest;
    l->options.late_for = NULL; /* borrowed by this call only */
    l->options.source = NULL;
    if (is_worth_it(l)) {
        *out = l;
        return SL_OK;
    }
done:
    run_late_free(l);
    return status;
}

void run_late_free(struct run_late *l)
{
    if (!l)
        return;
    sl_stream_close(l->rows);
    sl_row_ranges_free(&l->ranges);
    sl_type_unref(l->schema);
    sl_type_unref(l->early);
    sl_type_unref(l->rest);
    sl_free(l->places);
    sl_free(l);
}

const sl_type *run_late_early(const struct run_late *l) { return l->early; }

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* The row of the file that is row `row` of the run, not before the range that begins with row *range_row of the run. */
static int64_t file_row(const struct run_late *l, int64_t row, size_t *range, int64_t *range_row)
{
    if (!l->options.ranges)
        return row;
    while (*range + 1 < l->ranges.count && row - *range_row >= l->ranges.items[*range].count)
        *range_row += l->ranges.items[(*range)++].count;
    return l->ranges.items[*range].first + (row - *range_row);
}

static void steer(struct run_late *l, int64_t row, int64_t count)
{
    int64_t first = file_row(l, row, &l->range, &l->range_row);
    size_t range = l->range;
    int64_t range_row = l->range_row;
    sl_parquet_scan_steer(l->scan, first, file_row(l, row + count - 1, &range, &range_row) + 1);
}

static sl_status open_scan(struct run_late *l)
{
    SL_TRY(run_scan_columns(l->source->parquet, &l->options, &l->scan));
    return sl_stream_conform(l->scan, l->rest, &l->rows);
}

static sl_status early_column(const sl_batch *early, size_t column, int64_t from, int64_t rows,
                              sl_array **out)
{
    if (rows < early->rows)
        return sl_array_copy(early->columns[column], from, rows, out);
    *out = sl_array_ref(early->columns[column]);
    return SL_OK;
}

static sl_status join_columns(const struct run_late *l, const sl_batch *early, int64_t from,
                              const sl_batch *rest, sl_batch **out)
{
    size_t count = l->schema->field_count, made = 0;
    sl_array **columns;
    SL_NEW_ARRAY(columns, count);
    sl_status status = SL_OK;
    for (; made < count; made++) {
        int place = l->places[made];
        if (place < 0)
            columns[made] = sl_array_ref(rest->columns[~place]);
        else
            SL_GO(early_column(early, (size_t)place, from, rest->rows, &columns[made]));
    }
    made = 0; /* the batch takes them over */
    status = sl_batch_new(l->schema, rest->rows, columns, out);
done:
    for (size_t i = 0; i < made; i++)
        sl_array_unref(columns[i]);
    sl_free(columns);
    return status;
}

static sl_status load_rows(struct run_late *l, const sl_batch *early, int64_t from, int64_t row,
                           sl_batch **out)
{
    sl_batch *rest;
    if (row < l->at)
        return sl_internal("row %" PRId64 " is asked for after row %" PRId64, row, l->at);
    if (!l->rows)
        SL_TRY(open_scan(l));
    steer(l, row, early->rows - from);
    SL_TRY(sl_stream_next(l->rows, &rest));
    if (!rest)
        return sl_internal("row %" PRId64 " is not among the rows of its columns", row);
    l->at = row + rest->rows;
    sl_status status = join_columns(l, early, from, rest, out);
    sl_batch_unref(rest);
    return status;
}

static sl_status load(void *context, const sl_batch *early, int64_t from, int64_t row, sl_batch **out)
{
    struct run_late *l = context;
    return sl_context(load_rows(l, early, from, row, out), "file %s", l->source->relative);
}

struct sl_run_late run_late_for_merge(struct run_late *l)
{
    return (struct sl_run_late){.context = l, .schema = l->schema, .load = load};
}
