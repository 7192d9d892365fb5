/*
 * The merged rows of a few keys (spec/lsm-layout.md 13, point lookup). In each source, newest first: the bounds of row
 * groups, Bloom filters and bounds of pages say where the keys may be, the key column of those pages where they are, and
 * only then the other columns are read, just these rows. The merge folds what was found like any other rows.
 *
 * Where the later write wins, a key that was found is not looked for in older sources.
 */
#include "slice/slice_int.h"

struct lookup {
    const sl_table *table;
    const struct sl_lookup_options *options;
    const sl_type *schema; /* of the runs: wanted columns and those that merging needs */
    const sl_type *delete_schema;
    struct slice_inputs inputs;
    sl_key_set wanted; /* the keys still looked for: `items` is our own, the values are the caller's */
    bool *found;       /* of `wanted`, in the source at hand */
    bool newest_wins;
    struct sl_run *runs; /* newest first */
    size_t run_count;
    bool keeps_files; /* while all are looked at */
};

static void lookup_free(struct lookup *l)
{
    for (size_t i = 0; i < l->run_count; i++)
        sl_stream_close(l->runs[i].rows);
    sl_free(l->runs);
    slice_inputs_free(&l->inputs);
    sl_free(l->wanted.items);
    sl_free(l->found);
    sl_type_unref(l->schema);
    sl_type_unref(l->delete_schema);
}

static sl_status choose_schemas(struct lookup *l, bool base_only)
{
    const struct sl_lookup_options *o = l->options;
    struct sl_merge_options rules;
    if (!l->table->populate_meta)
        return sl_unsupported("looking up keys in a table without meta columns");
    if (base_only) {
        l->schema = sl_type_ref(o->schema);
        return SL_OK;
    }
    SL_TRY(slice_merging_schema(l->table, o->schema, o->table_schema, &l->schema));
    SL_TRY(sl_table_rules(l->table, l->schema, &rules));
    l->newest_wins =
        rules.partial == SL_PARTIAL_NONE && (rules.mode == SL_COMMIT_TIME || rules.ordering_count == 0);
    return sl_delete_schema(&rules, &l->delete_schema);
}

/* ---- where the keys are -------------------------------------------------------------------------------- */

/* Rows of a source that hold a key. */
struct hits {
    sl_row_ranges rows;
    bool unsorted;
    struct sl_key last;
};

static sl_status add_hit(struct lookup *l, struct hits *h, size_t wanted, int64_t row)
{
    const struct sl_key *key = &l->wanted.items[wanted];
    l->found[wanted] = true;
    h->unsorted =
        h->unsorted || (h->rows.count && bytes_compare(h->last.data, h->last.len, key->data, key->len) > 0);
    h->last = *key;
    return sl_row_ranges_add(&h->rows, row, 1);
}

/* Where the rows of a scan stand in the file. */
struct position {
    const sl_row_ranges *ranges;
    size_t range;
    int64_t at; /* rows of it that are behind us */
};

/* The row of the file that is `ahead` rows further on; does not move. */
static int64_t row_at(const struct position *p, int64_t ahead)
{
    size_t range = p->range;
    int64_t at = p->at + ahead;
    while (at >= p->ranges->items[range].count)
        at -= p->ranges->items[range++].count;
    return p->ranges->items[range].first + at;
}

static void advance(struct position *p, int64_t rows)
{
    p->at += rows;
    while (p->range < p->ranges->count && p->at >= p->ranges->items[p->range].count)
        p->at -= p->ranges->items[p->range++].count;
}

static struct sl_key key_at(const sl_array *keys, int64_t row)
{
    struct sl_key key = {0};
    key.data = sl_bytes_at(keys, row, &key.len);
    return key;
}

/* First row that is not below the key, of rows in order. */
static int64_t first_row_of(const sl_array *keys, const struct sl_key *key)
{
    int64_t low = 0, high = keys->length;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        struct sl_key other = key_at(keys, middle);
        if (bytes_compare(other.data, other.len, key->data, key->len) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Our own files are in key order: a few keys are searched for, not all rows looked at. */
static sl_status search_keys(struct lookup *l, const sl_array *keys, const struct position *p, struct hits *h)
{
    for (size_t k = 0; k < l->wanted.count; k++) {
        const struct sl_key *key = &l->wanted.items[k];
        for (int64_t i = first_row_of(keys, key); i < keys->length; i++) {
            struct sl_key other = key_at(keys, i);
            if (bytes_compare(other.data, other.len, key->data, key->len) != 0)
                break;
            SL_TRY(add_hit(l, h, k, row_at(p, i)));
        }
    }
    return SL_OK;
}

static sl_status match_keys(struct lookup *l, const sl_array *keys, const struct position *p, struct hits *h)
{
    for (int64_t i = 0; i < keys->length; i++) {
        size_t wanted;
        struct sl_key key = key_at(keys, i);
        if (sl_key_set_find(&l->wanted, key.data, key.len, &wanted))
            SL_TRY(add_hit(l, h, wanted, row_at(p, i)));
    }
    return SL_OK;
}

#define SEARCH_SHARE 16   /* a key costs some 16 comparisons when it is searched for */
#define SEARCH_ROWS  2048 /* of a batch: decoding stops behind the last key */

static bool are_few(const struct lookup *l) { return l->wanted.count * SEARCH_SHARE < SEARCH_ROWS; }

/* *behind: the rows are in order, and the last of them lies behind every key. */
static sl_status find_in_batch(struct lookup *l, const sl_array *keys, bool sorted, struct position *p,
                               struct hits *h, bool *behind)
{
    if (keys->null_count)
        return sl_corrupt("a row without record key");
    SL_TRY(sorted && are_few(l) ? search_keys(l, keys, p, h) : match_keys(l, keys, p, h));
    advance(p, keys->length);
    struct sl_key last = key_at(keys, keys->length - 1);
    const struct sl_key *greatest = &l->wanted.items[l->wanted.count - 1];
    *behind = sorted && bytes_compare(last.data, last.len, greatest->data, greatest->len) > 0;
    return SL_OK;
}

static sl_status find_in_rows(struct lookup *l, sl_stream *rows, bool sorted, struct position *p,
                              struct hits *h)
{
    bool behind = false;
    while (!behind) {
        sl_batch *batch;
        SL_TRY(sl_check_cancel(&l->table->runtime));
        SL_TRY(sl_stream_next(rows, &batch));
        if (!batch)
            break;
        sl_status status = batch->rows ? find_in_batch(l, batch->columns[0], sorted, p, h, &behind) : SL_OK;
        sl_batch_unref(batch);
        SL_TRY(status);
    }
    return SL_OK;
}

static sl_status find_rows(struct lookup *l, const sl_parquet *parquet, const sl_row_ranges *ranges,
                           struct hits *h)
{
    const sl_type *schema = sl_parquet_schema(parquet);
    const char *name = schema->fields[slice_key_column(parquet)].name;
    bool sorted = slice_is_marked_sorted(parquet);
    sl_read_stats *stats = l->options->stats;
    struct sl_parquet_scan_options scan = {.columns = &name,
                                           .column_count = 1,
                                           .ranges = ranges->items,
                                           .range_count = ranges->count,
                                           .batch_rows = sorted && are_few(l) ? SEARCH_ROWS : 0,
                                           .bytes_read = stats ? &stats->bytes_read : NULL,
                                           .pages_read = stats ? &stats->pages : NULL,
                                           .pages_skipped = stats ? &stats->pages_skipped : NULL};
    struct position position = {.ranges = ranges};
    sl_stream *rows;
    SL_TRY(sl_parquet_scan((sl_parquet *)(uintptr_t)parquet, &scan, &rows));
    sl_status status = find_in_rows(l, rows, sorted, &position, h);
    sl_stream_close(rows);
    return status;
}

/* ---- the runs ------------------------------------------------------------------------------------------ */

/* Takes over `rows`. */
static sl_status add_run(struct lookup *l, const struct slice_input *input, sl_stream *rows, bool unsorted)
{
    struct sl_run *run = &l->runs[l->run_count];
    *run = (struct sl_run){
        .is_base = input->is_base, .is_deletes = input->is_deletes, .name = input->file->name};
    if (unsorted)
        SL_TRY(sl_sort_stream(rows, sl_meta_names[SL_META_RECORD_KEY], &l->table->runtime, &run->rows));
    else
        run->rows = rows;
    l->run_count++;
    return SL_OK;
}

/* The rows of a stream without what they are read from. Takes over `rows`. */
static sl_status detach(sl_stream *rows, sl_stream **out)
{
    sl_batch **batches = NULL;
    size_t count = 0, cap = 0;
    sl_status status = SL_OK;
    for (;;) {
        if (count == cap) {
            cap = cap ? cap * 2 : 4;
            sl_batch **grown = sl_realloc_array(batches, cap, sizeof *grown);
            if (!grown)
                SL_GO(sl_nomem());
            batches = grown;
        }
        SL_GO(sl_stream_next(rows, &batches[count]));
        if (!batches[count])
            break;
        count++;
    }
    status = sl_stream_of_batches(rows->schema, batches, count, out);
    count = 0; /* taken over */
done:
    for (size_t i = 0; i < count; i++)
        sl_batch_unref(batches[i]);
    sl_free(batches);
    sl_stream_close(rows);
    return status;
}

/* A file of which only keys were read: the others are counted with their rows. */
static void count_file(sl_read_stats *stats, const sl_source *source)
{
    if (!stats)
        return;
    atomic_fetch_add(&stats->files, 1);
    atomic_fetch_add(&stats->file_bytes, sl_file_size(source->file));
}

/* What the bounds and Bloom filters of the footer have left. */
static void count_pruned(sl_read_stats *stats, const sl_parquet *parquet, const sl_row_ranges *ranges,
                         size_t groups_skipped)
{
    if (!stats)
        return;
    atomic_fetch_add(&stats->row_groups, sl_parquet_row_groups(parquet));
    atomic_fetch_add(&stats->row_groups_skipped, groups_skipped);
    atomic_fetch_add(&stats->rows_skipped, (uint64_t)(sl_parquet_rows(parquet) - sl_row_ranges_rows(ranges)));
    atomic_fetch_add(&stats->files_skipped, ranges->count == 0);
}

static sl_status read_file(struct lookup *l, struct slice_input *input, const sl_row_ranges *ranges)
{
    const struct sl_lookup_options *o = l->options;
    struct hits h = {0};
    sl_stream *rows;
    struct sl_run_options run = {.schema = input->is_deletes ? l->delete_schema : l->schema,
                                 .source = input->source,
                                 .ranges = &h.rows,
                                 .stats = o->stats,
                                 .pool = o->pool};
    sl_status status = SL_OK;
    SL_GO(find_rows(l, input->source->parquet, ranges, &h));
    if (h.rows.count == 0) {
        count_file(o->stats, input->source);
        goto done;
    }
    SL_GO(sl_run_open(l->table, input->relative, &run, &rows));
    if (!l->keeps_files)
        SL_GO(detach(rows, &rows));
    status = add_run(l, input, rows, h.unsorted && l->delete_schema);
done:
    sl_row_ranges_free(&h.rows);
    return status;
}

static sl_status look_in_file(struct lookup *l, struct slice_input *input)
{
    sl_row_ranges ranges = {0};
    size_t skipped = 0;
    sl_status status = SL_OK;
    if (!input->source)
        SL_GO(sl_source_open(l->table, input->relative, l->options->cache, &input->source));
    const sl_parquet *parquet = input->source->parquet;
    if (slice_key_column(parquet) < 0)
        SL_GO(sl_corrupt("no column %s", sl_meta_names[SL_META_RECORD_KEY]));
    for (size_t g = 0; g < sl_parquet_row_groups(parquet); g++) {
        int64_t rows = sl_row_ranges_rows(&ranges);
        SL_GO(sl_key_set_select(&l->wanted, parquet, g, &ranges));
        skipped += sl_row_ranges_rows(&ranges) == rows;
    }
    count_pruned(l->options->stats, parquet, &ranges, skipped);
    if (ranges.count)
        SL_GO(read_file(l, input, &ranges));
done:
    sl_row_ranges_free(&ranges);
    if (!l->keeps_files) {
        sl_source_unref(input->source);
        input->source = NULL;
    }
    return sl_context(status, "file %s", input->relative);
}

static sl_status look_in_block(struct lookup *l, struct slice_input *input)
{
    const sl_batch *block = input->block;
    int column = sl_type_field_index(block->schema, sl_meta_names[SL_META_RECORD_KEY]);
    uint8_t *selection = sl_calloc(1, bitmap_bytes(block->rows) + 1);
    sl_batch *matching;
    sl_stream *rows;
    int64_t count = 0;
    if (!selection)
        return sl_nomem();
    for (int64_t i = 0; column >= 0 && i < block->rows; i++) {
        size_t len, wanted;
        const uint8_t *key = sl_bytes_at(block->columns[column], i, &len);
        if (!sl_key_set_find(&l->wanted, key, len, &wanted))
            continue;
        l->found[wanted] = true;
        bit_set(selection, i);
        count++;
    }
    sl_status status = count ? sl_batch_filter(input->block, selection, &matching) : SL_OK;
    sl_free(selection);
    if (status || !count)
        return status;
    SL_TRY(sl_stream_of_batches(input->is_deletes ? l->delete_schema : l->schema, &matching, 1, &rows));
    return add_run(l, input, rows, true);
}

/* Leaves the keys that were found out of the search. */
static void drop_found(struct lookup *l)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->wanted.count; i++)
        if (!l->found[i])
            l->wanted.items[kept++] = l->wanted.items[i];
    l->wanted.count = kept;
    memset(l->found, 0, kept * sizeof *l->found);
}

static sl_status look_in_sources(struct lookup *l)
{
    const sl_key_set *keys = l->options->keys;
    SL_NEW_ARRAY(l->runs, l->inputs.count + 1);
    SL_NEW_ARRAY(l->found, keys->count + 1);
    SL_NEW_ARRAY(l->wanted.items, keys->count + 1);
    memcpy(l->wanted.items, keys->items, keys->count * sizeof *keys->items);
    l->wanted.count = keys->count;
    for (size_t i = l->inputs.count; i-- > 0 && l->wanted.count;) {
        struct slice_input *input = &l->inputs.items[i];
        SL_TRY(input->relative ? look_in_file(l, input) : look_in_block(l, input));
        if (l->newest_wins)
            drop_found(l);
    }
    return SL_OK;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

/* The runs, oldest first, folded. */
static sl_status merge_runs(struct lookup *l, sl_stream **out)
{
    const struct sl_lookup_options *o = l->options;
    struct sl_merge_options rules;
    sl_stream *merged;
    SL_TRY(sl_table_rules(l->table, l->schema, &rules));
    rules.deletes = SL_DROP_DELETES;
    for (size_t i = 0; i < l->run_count / 2; i++) {
        struct sl_run swapped = l->runs[i];
        l->runs[i] = l->runs[l->run_count - 1 - i];
        l->runs[l->run_count - 1 - i] = swapped;
    }
    if (o->stats)
        atomic_fetch_add(&o->stats->runs, l->run_count);
    size_t count = l->run_count;
    l->run_count = 0; /* the merge owns the streams, whatever it returns */
    SL_TRY(slice_merge_open(l->runs, count, &rules, NULL, o->stats, &merged));
    return sl_stream_project(merged, o->schema, out);
}

static sl_status finish(struct lookup *l, bool base_only, sl_stream **out)
{
    if (l->run_count == 0)
        return sl_stream_of_batches(l->options->schema, NULL, 0, out);
    if (!base_only)
        return merge_runs(l, out);
    *out = l->runs[0].rows;
    l->run_count = 0;
    return SL_OK;
}

sl_status sl_slice_lookup(const sl_table *table, const sl_read_slice *slice,
                          const struct sl_lookup_options *options, sl_stream **out)
{
    struct lookup l = {.table = table, .options = options};
    bool base_only = slice->log_count == 0 && slice->base;
    sl_status status = SL_OK;
    SL_GO(choose_schemas(&l, base_only));
    SL_GO(slice_inputs_load(table, slice, &(struct sl_slice_log_schemas){l.schema, l.delete_schema},
                            options->cache, options->stats, &l.inputs));
    l.keeps_files = slice_keeps_files(&table->runtime, l.inputs.count);
    SL_GO(look_in_sources(&l));
    status = finish(&l, base_only, out);
done:
    lookup_free(&l);
    return status ? sl_context(status, "file group %s", slice->group->file_id) : SL_OK;
}
