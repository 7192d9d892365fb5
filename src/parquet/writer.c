/*
 * The file: PAR1, row groups, column indexes, offset indexes, footer, footer length, PAR1 (spec/parquet.md 1,
 * 11).
 *
 * Rows arrive in batches and are encoded in slices: with a pool, small batches wait until a slice is worth
 * waking the threads for; each leaf is then one task over the whole slice. A row group is written once its
 * estimated size is reached; until then its pages wait in memory, compressed.
 */
#include "parquet/write_int.h"

#define MIB                     ((size_t)1 << 20)
#define PAGE_BYTES_DEFAULT      MIB
#define PAGE_ROWS_DEFAULT       20000
#define ROW_GROUP_BYTES_DEFAULT (120 * MIB)
/* Sizes and counts of a page are int32: larger options are taken for these. */
#define PAGE_BYTES_MAX (256 * MIB)
#define PAGE_ROWS_MAX  (INT64_C(1) << 28)
#define SLICE_ROWS     20000 /* rows between two looks at the row group's size */
#define SLICE_BYTES    (8 * MIB)

#ifndef SL_BUILD
#define SL_BUILD "release"
#endif
/* Readers parse this form to know which bugs of which writer to work around. */
#define CREATED_BY "sluice version " SL_VERSION " (build " SL_BUILD ")"

/* ---- scratch ------------------------------------------------------------------------------------------- */

sl_status writer_scratch_take(sl_parquet_writer *w, struct write_scratch **out)
{
    pthread_mutex_lock(&w->scratch_lock);
    struct write_scratch *s = w->scratch;
    if (s)
        w->scratch = s->next;
    else
        w->scratch_count++;
    pthread_mutex_unlock(&w->scratch_lock);
    if (!s) {
        SL_NEW(s);
        s->compressor.codec = w->codec;
        s->compressor.level = w->level;
    }
    *out = s;
    return SL_OK;
}

void writer_scratch_return(sl_parquet_writer *w, struct write_scratch *s)
{
    pthread_mutex_lock(&w->scratch_lock);
    s->next = w->scratch;
    w->scratch = s;
    pthread_mutex_unlock(&w->scratch_lock);
}

/* ---- life ---------------------------------------------------------------------------------------------- */

static sl_status take_options(sl_parquet_writer *w, const struct sl_parquet_write_options *o)
{
    SL_TRY(compressor_check_level(o->codec, o->level));
    w->codec = o->codec;
    w->level = o->level;
    w->settings = (struct write_settings){
        .page_bytes = !o->page_bytes                   ? PAGE_BYTES_DEFAULT
                      : o->page_bytes < PAGE_BYTES_MAX ? o->page_bytes
                                                       : PAGE_BYTES_MAX,
        .page_rows = o->page_rows <= 0              ? PAGE_ROWS_DEFAULT
                     : o->page_rows < PAGE_ROWS_MAX ? o->page_rows
                                                    : PAGE_ROWS_MAX,
        .dictionary = !o->no_dictionary,
        .page_index = !o->no_page_index,
        .page_v2 = o->data_page_v2,
        .checksums = !o->no_checksums,
        .size_statistics = o->size_statistics,
    };
    w->row_group_bytes = o->row_group_bytes ? o->row_group_bytes : ROW_GROUP_BYTES_DEFAULT;
    w->row_group_rows = o->row_group_rows > 0 ? o->row_group_rows : INT64_MAX;
    w->pool = o->pool;
    w->sorting_count = o->sorting_count;
    w->footer_checksum = o->footer_checksum;
    w->created_by = sl_strdup(o->created_by ? o->created_by : CREATED_BY);
    w->root_name = sl_strdup(o->root_name ? o->root_name : "schema");
    return w->created_by && w->root_name ? SL_OK : sl_nomem();
}

sl_status sl_parquet_writer_new(sl_output *output, const sl_type *schema,
                                const struct sl_parquet_write_options *options, sl_parquet_writer **out)
{
    static const struct sl_parquet_write_options defaults;
    sl_parquet_writer *w;
    SL_NEW(w);
    pthread_mutex_init(&w->scratch_lock, NULL);
    sl_status status;
    if (!options)
        options = &defaults;
    w->output = output;
    w->start = sl_output_offset(output);
    w->schema = sl_type_ref(schema);
    SL_GO(take_options(w, options));
    SL_GO(sl_arena_new(&w->arena));
    SL_GO(write_schema_build(schema, w->root_name, options->old_lists, &w->layout));
    SL_GO(write_choices(options, &w->layout, &w->choices));
    SL_GO(write_sorting(options, &w->layout, &w->sorting));
    w->leaves = sl_calloc(w->layout.leaf_count, sizeof *w->leaves);
    if (!w->leaves) {
        status = sl_nomem();
        goto done;
    }
    for (size_t i = 0; i < w->layout.leaf_count; i++)
        SL_GO(leaf_writer_init(&w->leaves[i], &w->layout.leaves[i], &w->settings, &w->choices[i]));
    *out = w;
done:
    if (status)
        sl_parquet_writer_free(w);
    return status;
}

static void drop_waiting(sl_parquet_writer *w)
{
    for (size_t i = 0; i < w->waiting_count; i++)
        sl_batch_unref(w->waiting[i].batch);
    w->waiting_count = 0;
    w->waiting_rows = 0;
    w->waiting_bytes = 0;
}

void sl_parquet_writer_free(sl_parquet_writer *w)
{
    if (!w)
        return;
    drop_waiting(w);
    sl_free(w->waiting);
    for (size_t i = 0; w->leaves && i < w->layout.leaf_count; i++)
        leaf_writer_free(&w->leaves[i]);
    sl_free(w->leaves);
    sl_free(w->choices);
    sl_free(w->sorting);
    while (w->scratch) {
        struct write_scratch *next = w->scratch->next;
        write_scratch_free(w->scratch);
        w->scratch = next;
    }
    pthread_mutex_destroy(&w->scratch_lock);
    for (size_t i = 0; i < w->key_value_count; i++) {
        sl_free(w->key_values[i].key);
        sl_free(w->key_values[i].value);
    }
    sl_free(w->key_values);
    sl_free(w->groups);
    sl_buf_free(&w->column_indexes);
    sl_buf_free(&w->offset_indexes);
    sl_arena_free(w->arena);
    write_schema_free(&w->layout);
    sl_free(w->created_by);
    sl_free(w->root_name);
    sl_type_unref(w->schema);
    sl_free(w);
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static sl_status encode_leaf(void *context, size_t index)
{
    sl_parquet_writer *w = context;
    struct leaf_writer *leaf = &w->leaves[index];
    struct write_scratch *s;
    if (leaf->twin)
        return SL_OK;
    SL_TRY(writer_scratch_take(w, &s));
    sl_status status = SL_OK;
    int64_t file_row = w->done_rows + w->group_rows;
    for (size_t i = 0; i < w->waiting_count && !status; i++) {
        const struct segment *segment = &w->waiting[i];
        const sl_array *column = segment->batch->columns[leaf->leaf->column];
        status = leaf_writer_rows(leaf, s, column, segment->from, segment->count, file_row);
        file_row += segment->count;
    }
    writer_scratch_return(w, s);
    return status;
}

static uint64_t group_estimate(const sl_parquet_writer *w)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < w->layout.leaf_count; i++)
        bytes += leaf_writer_estimate(w->leaves[i].twin ? w->leaves[i].twin : &w->leaves[i]);
    return bytes;
}

static sl_status encode_waiting(sl_parquet_writer *w)
{
    if (w->waiting_count == 0)
        return SL_OK;
    SL_TRY(writer_match_twins(w));
    SL_TRY(sl_pool_for(w->pool, w->layout.leaf_count, encode_leaf, w));
    w->group_rows += w->waiting_rows;
    drop_waiting(w);
    if (w->group_rows >= w->row_group_rows || group_estimate(w) >= w->row_group_bytes)
        return writer_put_group(w);
    return SL_OK;
}

sl_status writer_flush(sl_parquet_writer *w)
{
    SL_TRY(encode_waiting(w));
    return writer_put_group(w);
}

static sl_status add_waiting(sl_parquet_writer *w, sl_batch *batch, int64_t from, int64_t count, size_t bytes)
{
    if (w->waiting_count == w->waiting_capacity) {
        size_t capacity = w->waiting_capacity ? w->waiting_capacity * 2 : 8;
        struct segment *grown = sl_realloc_array(w->waiting, capacity, sizeof *grown);
        if (!grown)
            return sl_nomem();
        w->waiting = grown;
        w->waiting_capacity = capacity;
    }
    w->waiting[w->waiting_count++] = (struct segment){sl_batch_ref(batch), from, count};
    w->waiting_rows += count;
    w->waiting_bytes += bytes;
    return SL_OK;
}

/* A slice is encoded at once without threads to wake; otherwise when it is large enough, or its row group is
 * full. */
static bool slice_is_due(const sl_parquet_writer *w)
{
    return sl_pool_threads(w->pool) < 2 || w->waiting_rows >= SLICE_ROWS || w->waiting_bytes >= SLICE_BYTES ||
           w->group_rows + w->waiting_rows >= w->row_group_rows;
}

static sl_status take_rows(sl_parquet_writer *w, sl_batch *batch)
{
    double row_bytes = (double)sl_batch_plain_bytes(batch) / (double)batch->rows;
    int64_t slice = SLICE_ROWS;
    if (row_bytes * SLICE_ROWS > (double)SLICE_BYTES)
        slice = (int64_t)((double)SLICE_BYTES / row_bytes) + 1;
    for (int64_t from = 0; from < batch->rows;) {
        int64_t count = batch->rows - from < slice ? batch->rows - from : slice;
        int64_t left = w->row_group_rows - w->group_rows - w->waiting_rows;
        count = count < left ? count : left;
        SL_TRY(add_waiting(w, batch, from, count, (size_t)(row_bytes * (double)count)));
        w->rows += count;
        from += count;
        if (slice_is_due(w))
            SL_TRY(encode_waiting(w));
    }
    return SL_OK;
}

/* Nulls in required top-level columns; those below are found when levels are made. */
static sl_status check_required(const sl_parquet_writer *w, const sl_batch *batch)
{
    for (size_t i = 0; i < w->schema->field_count; i++) {
        const sl_array *column = batch->columns[i];
        if (w->schema->fields[i].nullable || column->null_count == 0)
            continue;
        int64_t row = 0;
        while (row < column->length && sl_is_valid(column, row))
            row++;
        return sl_input("column %s, row %" PRId64 ": null in a required field", w->schema->fields[i].name,
                        w->rows + row);
    }
    return SL_OK;
}

sl_status sl_parquet_writer_write(sl_parquet_writer *w, sl_batch *batch)
{
    if (w->failed)
        return sl_internal("a Parquet writer was used after it failed");
    if (batch->schema != w->schema && !sl_type_equal(batch->schema, w->schema))
        return sl_input("the batch's columns are not those of the Parquet file");
    if (batch->rows == 0)
        return SL_OK;
    SL_TRY(check_required(w, batch));
    sl_status status = take_rows(w, batch);
    w->failed = status != SL_OK;
    return status;
}

sl_status sl_parquet_writer_key_value(sl_parquet_writer *w, const char *key, const char *value)
{
    if (strcmp(key, PARQUET_FOOTER_CHECKSUM) == 0) /* taken over from another file, and of that one */
        return SL_OK;
    char *value_copy = sl_strdup(value);
    if (!value_copy)
        return sl_nomem();
    for (size_t i = 0; i < w->key_value_count; i++)
        if (strcmp(w->key_values[i].key, key) == 0) {
            sl_free(w->key_values[i].value);
            w->key_values[i].value = value_copy;
            return SL_OK;
        }
    char *key_copy = sl_strdup(key);
    if (key_copy && w->key_value_count == w->key_value_capacity) {
        size_t capacity = w->key_value_capacity ? w->key_value_capacity * 2 : 8;
        struct owned_key_value *grown = sl_realloc_array(w->key_values, capacity, sizeof *grown);
        if (grown) {
            w->key_values = grown;
            w->key_value_capacity = capacity;
        }
    }
    if (!key_copy || w->key_value_count == w->key_value_capacity) {
        sl_free(key_copy);
        sl_free(value_copy);
        return sl_nomem();
    }
    w->key_values[w->key_value_count++] = (struct owned_key_value){key_copy, value_copy};
    return SL_OK;
}

/* ---- sizes --------------------------------------------------------------------------------------------- */

size_t sl_parquet_writer_row_groups(const sl_parquet_writer *w)
{
    return w->group_count + (w->rows > w->done_rows);
}

uint64_t sl_parquet_writer_bytes(const sl_parquet_writer *w)
{
    uint64_t written = sl_output_offset(w->output) - w->start, open = group_estimate(w);
    uint64_t bytes = written + open + w->column_indexes.len + w->offset_indexes.len;
    /* What waits unencoded compresses like what came before it. */
    if (w->waiting_rows > 0) {
        int64_t known_rows = w->done_rows + w->group_rows;
        bytes += known_rows
                     ? (uint64_t)((double)(written + open) / (double)known_rows * (double)w->waiting_rows)
                     : w->waiting_bytes;
    }
    for (size_t i = 0; i < w->key_value_count; i++)
        bytes += strlen(w->key_values[i].key) + strlen(w->key_values[i].value);
    return bytes;
}

size_t sl_parquet_writer_memory(const sl_parquet_writer *w)
{
    size_t bytes = w->waiting_bytes + w->column_indexes.cap + w->offset_indexes.cap +
                   sl_arena_bytes(w->arena) +
                   w->scratch_count * (sizeof(struct write_scratch) + w->settings.page_bytes * 2);
    for (size_t i = 0; i < w->layout.leaf_count; i++)
        bytes += leaf_writer_memory(&w->leaves[i]);
    return bytes;
}

/* ---- the end ------------------------------------------------------------------------------------------- */

static sl_status finish_file(sl_parquet_writer *w)
{
    if (w->failed)
        return sl_internal("a Parquet writer was used after it failed");
    SL_TRY(writer_flush(w));
    SL_TRY(writer_begin_file(w));
    SL_TRY(writer_put_page_indexes(w));
    sl_buf footer = {0};
    sl_status status = writer_encode_footer(w, &footer);
    if (!status)
        status = sl_output_write(w->output, footer.data, footer.len);
    sl_buf_free(&footer);
    return status;
}

sl_status sl_parquet_writer_finish(sl_parquet_writer *w, struct sl_parquet_written *out)
{
    sl_status status = finish_file(w);
    if (!status && out)
        *out = (struct sl_parquet_written){.rows = w->done_rows,
                                           .bytes = sl_output_offset(w->output) - w->start};
    sl_parquet_writer_free(w);
    return status;
}
