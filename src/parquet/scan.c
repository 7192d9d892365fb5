/*
 * The stream of a file's rows. A row group's chosen rows are cut into batches; a batch is a list of steps
 * (skip so many rows, take so many) that every leaf runs on its own, in parallel when there is a pool.
 */
#include "parquet/read_int.h"

#define BATCH_ROWS_DEFAULT  16384
#define BATCH_BYTES_DEFAULT ((size_t)64 << 20)
#define STRING_BYTES_MAX    ((size_t)1 << 30) /* of one column in a batch: its offsets have 31 bits */
#define LEAF_EXCESS         4 /* times the batch's bytes that one column may take before we think again */
#define LEAF_BYTES_LEAST    ((size_t)1 << 20)
#define WINDOW_LEAST        ((size_t)16 << 10) /* read ahead of a leaf */
#define WINDOW_MOST         ((size_t)64 << 10)

struct scan {
    sl_stream stream;
    struct sl_parquet *parquet;
    const sl_type *schema;
    size_t *columns; /* of the file, in the wanted order */
    size_t column_count;
    struct parquet_leaf_reader **readers; /* those of the columns, one column after the other */
    size_t *first_reader;                 /* column -> its first reader */
    size_t reader_count;
    struct sl_row_range *ranges;
    size_t range_count;
    bool is_limited; /* not all rows are wanted */
    int64_t batch_rows;
    size_t batch_bytes;
    sl_parquet_memory *memory;
    sl_pool *pool;
    atomic_uint_fast64_t *bytes_read, *pages_read, *pages_skipped;
    /* where we are */
    size_t group, next_group;
    bool group_open;
    int64_t group_first, group_rows; /* rows of the file */
    int64_t at;                      /* next row of the group: rows before it were taken or skipped */
    int64_t readers_at; /* where the readers stand; behind `at` only when a batch is tried again */
    int64_t rows_max;   /* of a batch of this group: less after a batch that was too large */
    size_t range;       /* first range that may still have rows */
    int64_t stop;       /* of the file: the next batch ends before it */
    size_t row_bytes;   /* estimate */
    struct parquet_step *steps;
    size_t step_count, step_cap;
};

/* ---- opening ------------------------------------------------------------------------------------------- */

static sl_status project(struct scan *s, const struct sl_parquet_scan_options *options)
{
    const sl_type *all = s->parquet->schema.type;
    s->column_count = options->columns ? options->column_count : all->field_count;
    SL_NEW_ARRAY(s->columns, s->column_count + 1);
    if (!options->columns) {
        for (size_t i = 0; i < s->column_count; i++)
            s->columns[i] = i;
        s->schema = sl_type_ref(all);
        return SL_OK;
    }
    sl_field *fields = sl_calloc(s->column_count + 1, sizeof *fields);
    if (!fields)
        return sl_nomem();
    sl_status status = SL_OK;
    for (size_t i = 0; i < s->column_count; i++) {
        int column = sl_type_field_index(all, options->columns[i]);
        if (column < 0) {
            status = sl_not_found("no column %s in %s", options->columns[i], sl_file_path(s->parquet->file));
            goto done;
        }
        s->columns[i] = (size_t)column;
        fields[i] = all->fields[column];
    }
    status = sl_type_struct(fields, s->column_count, &s->schema);
done:
    sl_free(fields);
    return status;
}

/* What is read ahead takes no more than a batch does. */
static size_t window_bytes(const struct scan *s, size_t readers)
{
    size_t bytes = s->batch_bytes / (readers ? readers : 1);
    return bytes < WINDOW_LEAST ? WINDOW_LEAST : bytes > WINDOW_MOST ? WINDOW_MOST : bytes;
}

static sl_status make_readers(struct scan *s, bool keep_dictionary)
{
    const struct parquet_schema *schema = &s->parquet->schema;
    size_t count = 0;
    SL_NEW_ARRAY(s->first_reader, s->column_count + 1);
    for (size_t i = 0; i < s->column_count; i++) {
        s->first_reader[i] = count;
        count += schema->columns[s->columns[i]].leaf_count;
    }
    SL_NEW_ARRAY(s->readers, count + 1);
    size_t window = window_bytes(s, count);
    for (size_t i = 0; i < s->column_count; i++) {
        const struct parquet_node *node = &schema->columns[s->columns[i]];
        for (size_t leaf = 0; leaf < node->leaf_count; leaf++) {
            struct parquet_leaf_reader *r;
            SL_NEW(r);
            parquet_leaf_reader_init(r, s->parquet, &schema->leaves[node->leaf_first + leaf], keep_dictionary,
                                     s->memory);
            r->pages.window_bytes = window;
            s->readers[s->reader_count++] = r;
        }
    }
    return SL_OK;
}

static sl_status copy_ranges(struct scan *s, const struct sl_parquet_scan_options *options)
{
    int64_t end = 0, rows = s->parquet->meta.num_rows;
    if (!options->ranges) {
        SL_NEW_ARRAY(s->ranges, 1);
        s->ranges[0] = (struct sl_row_range){0, rows};
        s->range_count = 1;
        return SL_OK;
    }
    s->is_limited = true;
    SL_NEW_ARRAY(s->ranges, options->range_count + 1);
    for (size_t i = 0; i < options->range_count; i++) {
        struct sl_row_range range = options->ranges[i];
        if (range.first < end || range.count < 0 || range.first > rows || range.count > rows - range.first)
            return sl_input("row range %" PRId64 " + %" PRId64 " is not in order or not in the %" PRId64
                            " rows of %s",
                            range.first, range.count, rows, sl_file_path(s->parquet->file));
        s->ranges[i] = range;
        end = range.first + range.count;
    }
    s->range_count = options->range_count;
    return SL_OK;
}

/* Pages of the open group, once nothing more is read of it. Those behind the last wanted row were not met on the way: their
 * index tells how many there are. */
static void count_pages(struct scan *s)
{
    uint64_t read = 0, skipped = 0;
    bool ends_early = s->pages_skipped && s->is_limited && s->at < s->group_rows;
    for (size_t i = 0; i < s->reader_count; i++) {
        struct parquet_leaf_reader *r = s->readers[i];
        if (ends_early)
            parquet_leaf_know_pages(r);
        read += r->pages.pages_read;
        skipped += r->index.page_count > r->pages.pages_read ? r->index.page_count - r->pages.pages_read : 0;
        r->pages.pages_read = 0;
        r->index.page_count = 0;
    }
    if (s->pages_read)
        atomic_fetch_add(s->pages_read, read);
    if (s->pages_skipped)
        atomic_fetch_add(s->pages_skipped, skipped);
}

static void scan_close(sl_stream *stream)
{
    struct scan *s = (struct scan *)(void *)stream;
    if (s->group_open)
        count_pages(s);
    for (size_t i = 0; i < s->reader_count; i++) {
        parquet_leaf_reader_free(s->readers[i]);
        sl_free(s->readers[i]);
    }
    sl_parquet_memory_unref(s->memory);
    sl_free(s->readers);
    sl_free(s->first_reader);
    sl_free(s->columns);
    sl_free(s->ranges);
    sl_free(s->steps);
    sl_type_unref(s->schema);
    sl_free(s);
}

/* ---- row groups ---------------------------------------------------------------------------------------- */

static sl_status open_leaf(void *context, size_t index)
{
    struct scan *s = context;
    struct parquet_leaf_reader *r = s->readers[index];
    bool selective = s->ranges[s->range].first > s->group_first;
    return sl_context(parquet_leaf_open_group(r, s->group, selective), "column %s", r->leaf->path);
}

/* What a row of the group takes in memory, as far as the footer and the dictionaries can tell. */
static size_t estimate_row_bytes(const struct scan *s)
{
    double bytes = 1;
    for (size_t i = 0; i < s->reader_count; i++) {
        const struct parquet_leaf_reader *r = s->readers[i];
        double rows = (double)s->group_rows, per_row;
        per_row = (double)r->chunk->meta.total_uncompressed_size / rows;
        if (r->dictionary.count > 0 && r->leaf->output == PARQUET_OUT_BYTES) {
            double average = (double)parquet_strings_bytes(&r->dictionary.strings) / r->dictionary.count;
            double values = (double)r->chunk->meta.num_values / rows;
            per_row = average * values > per_row ? average * values : per_row;
        }
        if (r->leaf->flat && per_row < (double)r->leaf->width)
            per_row = (double)r->leaf->width;
        bytes += per_row;
    }
    return bytes < 1e15 ? (size_t)bytes : (size_t)1e15;
}

/* Moves to the next row group that has wanted rows; *found false at the end. */
static sl_status next_group(struct scan *s, bool *found)
{
    const struct parquet_file_metadata *meta = &s->parquet->meta;
    *found = false;
    for (; s->next_group < meta->row_group_count; s->next_group++) {
        s->group_first += s->group_rows;
        s->group_rows = meta->row_groups[s->next_group].num_rows;
        while (s->range < s->range_count &&
               s->ranges[s->range].first + s->ranges[s->range].count <= s->group_first)
            s->range++;
        if (s->range == s->range_count)
            return SL_OK;
        if (s->ranges[s->range].first < s->group_first + s->group_rows && s->group_rows > 0)
            break;
    }
    if (s->next_group == meta->row_group_count)
        return SL_OK;
    s->group = s->next_group++;
    s->at = s->readers_at = 0;
    s->rows_max = s->batch_rows;
    SL_TRY_CTX(sl_pool_for(s->pool, s->reader_count, open_leaf, s), "row group %zu", s->group);
    s->row_bytes = estimate_row_bytes(s);
    s->group_open = true;
    *found = true;
    return SL_OK;
}

/* ---- batches ------------------------------------------------------------------------------------------- */

static int64_t rows_of_batch(const struct scan *s)
{
    size_t rows = s->batch_bytes / (s->row_bytes ? s->row_bytes : 1);
    for (size_t i = 0; i < s->reader_count; i++) {
        size_t longest = s->readers[i]->dictionary.longest;
        if (longest > 0 && STRING_BYTES_MAX / longest < rows)
            rows = STRING_BYTES_MAX / longest;
    }
    if (rows > (size_t)s->rows_max)
        return s->rows_max;
    return rows > 0 ? (int64_t)rows : 1;
}

static sl_status add_step(struct scan *s, int64_t skip, int64_t take)
{
    SL_GROW(s->steps, s->step_count, s->step_cap, 8);
    s->steps[s->step_count++] = (struct parquet_step){skip, take};
    return SL_OK;
}

/* The steps of the next batch of the open group, at most `limit` rows; *rows 0 when the group has no more. */
static sl_status plan_batch(struct scan *s, int64_t limit, int64_t *rows)
{
    int64_t planned = 0, stop = s->stop - s->group_first;
    s->step_count = 0;
    while (planned < limit && s->range < s->range_count) {
        int64_t first = s->ranges[s->range].first - s->group_first, end = first + s->ranges[s->range].count;
        int64_t last = end < s->group_rows ? end : s->group_rows;
        if (first >= s->group_rows)
            break;
        if (first < s->at)
            first = s->at;
        if (first >= stop && planned > 0)
            break;
        if (first < stop && stop < last)
            last = stop;
        int64_t take = last - first < limit - planned ? last - first : limit - planned;
        if (take > 0) {
            SL_TRY(add_step(s, first - s->readers_at, take));
            s->at = s->readers_at = first + take;
            planned += take;
        }
        if (first < last && s->at < last) /* the batch is full */
            break;
        if (planned > 0 && s->at == stop)
            break;
        if (end > s->group_rows) /* the range goes on in the next group */
            break;
        s->range++;
    }
    *rows = planned;
    return SL_OK;
}

struct batch_work {
    struct scan *scan;
    int64_t rows;
};

/* How much a leaf may bring in is known only when it is read: a few bytes of prefixes or levels can stand for very many.
 * A batch of one row may have what there is. */
static void limit_leaf(const struct scan *s, struct parquet_leaf_reader *r, int64_t rows)
{
    size_t most =
        s->batch_bytes < STRING_BYTES_MAX / LEAF_EXCESS ? s->batch_bytes * LEAF_EXCESS : STRING_BYTES_MAX;
    if (most < LEAF_BYTES_LEAST)
        most = LEAF_BYTES_LEAST;
    r->strings.bytes_max = rows > 1 ? most : 0;
    r->level_max = rows > 1 ? most / (r->leaf->width ? r->leaf->width : 1) : 0;
}

static sl_status read_leaf(void *context, size_t index)
{
    struct batch_work *work = context;
    struct scan *s = work->scan;
    limit_leaf(s, s->readers[index], work->rows);
    return parquet_leaf_read(s->readers[index], s->steps, s->step_count, work->rows);
}

struct assembly {
    struct scan *scan;
    int64_t rows;
    sl_array **arrays;
};

static sl_status assemble_column(void *context, size_t i)
{
    struct assembly *a = context;
    struct scan *s = a->scan;
    return parquet_assemble(&s->parquet->schema.columns[s->columns[i]], s->readers + s->first_reader[i],
                            a->rows, &a->arrays[i]);
}

static sl_status assemble_batch(struct scan *s, int64_t rows, sl_batch **out)
{
    sl_array **arrays = sl_calloc(s->column_count + 1, sizeof *arrays);
    if (!arrays)
        return sl_nomem();
    sl_status status = SL_OK;
    struct assembly a = {s, rows, arrays};
    /* more leaves than columns: something nested, whose levels are work enough for several threads */
    SL_GO(sl_pool_for(s->reader_count > s->column_count ? s->pool : NULL, s->column_count, assemble_column,
                      &a));
    status = sl_batch_new(s->schema, rows, arrays, out);
    sl_free(arrays);
    return status;
done:
    for (size_t i = 0; i < s->column_count; i++)
        sl_array_unref(arrays[i]);
    sl_free(arrays);
    return status;
}

static void count_bytes(struct scan *s)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < s->reader_count; i++) {
        bytes += s->readers[i]->pages.bytes_read;
        s->readers[i]->pages.bytes_read = 0;
    }
    if (s->bytes_read)
        atomic_fetch_add(s->bytes_read, bytes);
}

static bool batch_was_too_large(const struct scan *s)
{
    for (size_t i = 0; i < s->reader_count; i++)
        if (s->readers[i]->strings.full || s->readers[i]->levels_full)
            return true;
    return false;
}

/* Reads the planned batch. One that is too large for its memory is planned again from `at`, with half the rows, by
 * readers that start over: rare enough not to be worth a way back inside a page. */
static sl_status read_leaves(struct scan *s, int64_t at, size_t range, int64_t *rows)
{
    for (;;) {
        struct batch_work work = {s, *rows};
        sl_status status = sl_pool_for(s->pool, s->reader_count, read_leaf, &work);
        count_bytes(s);
        if (!status || *rows <= 1 || !batch_was_too_large(s))
            return status;
        (void)sl_status_ignore(status);
        s->rows_max = *rows / 2;
        s->at = at;
        s->range = range;
        s->readers_at = 0;
        SL_TRY(sl_pool_for(s->pool, s->reader_count, open_leaf, s));
        SL_TRY(plan_batch(s, s->rows_max, rows));
    }
}

static sl_status read_batch(struct scan *s, int64_t at, size_t range, int64_t rows, sl_batch **out)
{
    SL_TRY(read_leaves(s, at, range, &rows));
    SL_TRY(assemble_batch(s, rows, out));
    size_t seen = sl_batch_data_bytes(*out) / (size_t)rows;
    if (seen > s->row_bytes) /* values are longer than they seemed: the next batch has fewer */
        s->row_bytes = seen;
    return SL_OK;
}

static sl_status scan_next(sl_stream *stream, sl_batch **out)
{
    struct scan *s = (struct scan *)(void *)stream;
    for (;;) {
        int64_t rows = 0;
        if (!s->group_open) {
            bool found;
            SL_TRY_CTX(next_group(s, &found), "%s", sl_file_path(s->parquet->file));
            if (!found) {
                *out = NULL;
                return SL_OK;
            }
        }
        int64_t at = s->at;
        size_t range = s->range;
        SL_TRY(plan_batch(s, rows_of_batch(s), &rows));
        if (rows > 0)
            return sl_context(sl_context(read_batch(s, at, range, rows, out), "row group %zu", s->group),
                              "%s", sl_file_path(s->parquet->file));
        s->group_open = false;
        count_pages(s);
    }
}

void sl_parquet_scan_steer(sl_stream *scan, int64_t first, int64_t stop)
{
    struct scan *s = (struct scan *)(void *)scan;
    s->stop = stop;
    for (; s->range < s->range_count; s->range++) {
        struct sl_row_range *range = &s->ranges[s->range];
        int64_t end = range->first + range->count;
        if (end > first) {
            range->first = range->first > first ? range->first : first;
            range->count = end - range->first;
            return;
        }
    }
}

sl_status sl_parquet_scan(sl_parquet *p, const struct sl_parquet_scan_options *options, sl_stream **out)
{
    static const struct sl_parquet_scan_options defaults = {0};
    struct scan *s;
    if (!options)
        options = &defaults;
    SL_NEW(s);
    s->stream.next = scan_next;
    s->stream.close = scan_close;
    s->parquet = p;
    s->stop = INT64_MAX;
    s->batch_rows = options->batch_rows > 0 ? options->batch_rows : BATCH_ROWS_DEFAULT;
    s->batch_bytes = options->batch_bytes > 0 ? options->batch_bytes : BATCH_BYTES_DEFAULT;
    s->pool = options->pool;
    s->bytes_read = options->bytes_read;
    s->pages_read = options->pages_read;
    s->pages_skipped = options->pages_skipped;
    sl_status status = SL_OK;
    if (options->memory)
        s->memory = sl_parquet_memory_ref(options->memory);
    else
        status = sl_parquet_memory_new(s->batch_bytes, &s->memory);
    if (!status)
        status = project(s, options);
    if (!status)
        status = make_readers(s, options->keep_dictionary);
    if (!status)
        status = copy_ranges(s, options);
    if (status) {
        scan_close(&s->stream);
        return status;
    }
    s->stream.schema = s->schema;
    *out = &s->stream;
    return SL_OK;
}
