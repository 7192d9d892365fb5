/*
 * What change data logs must say, whoever wrote them: played over the base file before, they give the base file after. Every
 * stat of a completed write that names change data logs is looked at.
 *
 * Needs engine_support.h before it.
 */
#ifndef CHANGES_SUPPORT_H
#define CHANGES_SUPPORT_H

#include "slice/slice.h"

/* Rows of a file as text, each with its key; sorted by key, ties in the file's order. */
struct keyed_row {
    char *key, *text; /* of a row of a base file */
    char op;          /* of a change: texts of its images, NULL: it has none */
    char *before, *after;
};
struct keyed_rows {
    struct keyed_row *items;
    size_t count, cap;
};

static inline struct keyed_row *keyed_add(struct keyed_rows *rows, const void *key, size_t len)
{
    if (rows->count == rows->cap)
        rows->items = realloc(rows->items, (rows->cap = rows->cap * 2 + 16) * sizeof *rows->items);
    struct keyed_row *row = &rows->items[rows->count++];
    *row = (struct keyed_row){.key = strndup(key, len)};
    return row;
}

static inline void keyed_free(struct keyed_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        free(rows->items[i].key);
        free(rows->items[i].text);
        free(rows->items[i].before);
        free(rows->items[i].after);
    }
    free(rows->items);
    *rows = (struct keyed_rows){0};
}

static inline char *row_text(const sl_batch *batch, int64_t row)
{
    sl_buf text = {0};
    ok(sl_row_text(batch, row, SL_TEXT_CANONICAL, &text));
    char *copy = strndup((const char *)text.data, text.len);
    sl_buf_free(&text);
    return copy;
}

/* ---- files --------------------------------------------------------------------------------------------- */

/* The rows of a base file with the columns of `data`. */
static inline void read_base(const sl_table *table, const char *relative, const sl_type *data,
                             struct keyed_rows *out)
{
    const sl_type *full;
    sl_stream *rows;
    ok(sl_schema_with_meta(data, &full));
    ok(sl_run_open(table, relative, &(struct sl_run_options){.schema = full, .sorted = true}, &rows));
    for (sl_batch *batch; ok(sl_stream_next(rows, &batch)), batch; sl_batch_unref(batch)) {
        sl_batch *columns;
        ok(sl_batch_conform(batch, data, &columns));
        for (int64_t i = 0; i < batch->rows; i++) {
            size_t len;
            const uint8_t *key = sl_bytes_at(batch->columns[SL_META_RECORD_KEY], i, &len);
            keyed_add(out, key, len)->text = row_text(columns, i);
        }
        sl_batch_unref(columns);
    }
    sl_stream_close(rows);
    sl_type_unref(full);
}

/* One row of a struct column as a row of its own, NULL where it is null. */
static inline sl_batch *image_at(const sl_array *image, int64_t row)
{
    sl_batch *all, *one;
    sl_array **columns = malloc((image->child_count + 1) * sizeof *columns);
    if (!sl_is_valid(image, row)) {
        free(columns);
        return NULL;
    }
    for (size_t i = 0; i < image->child_count; i++)
        columns[i] = sl_array_ref(image->children[i]);
    ok(sl_batch_new(image->type, image->length, columns, &all));
    ok(sl_batch_copy(all, row, 1, &one));
    sl_batch_unref(all);
    free(columns);
    return one;
}

static inline char *image_text(sl_batch *image, const sl_type *data)
{
    sl_batch *columns;
    if (!image)
        return NULL;
    ok(sl_batch_conform(image, data, &columns));
    char *text = row_text(columns, 0);
    sl_batch_unref(columns);
    return text;
}

/* Where no column has the record key the rows make it. */
static inline struct keyed_row *add_change(const sl_table *table, const sl_batch *changes, int64_t row,
                                           sl_batch *image, struct keyed_rows *out)
{
    size_t len;
    int at = sl_type_field_index(changes->schema, "record_key");
    sl_array *keys = at >= 0 ? sl_array_ref(changes->columns[at]) : NULL;
    if (!keys)
        ok(sl_keygen_apply(&table->keygen, image, &keys, NULL));
    const uint8_t *key = sl_bytes_at(keys, at >= 0 ? row : 0, &len);
    struct keyed_row *added = keyed_add(out, key, len);
    sl_array_unref(keys);
    return added;
}

static inline void read_changes(const sl_table *table, const char *relative, const char *instant,
                                const sl_type *data, struct keyed_rows *out)
{
    sl_source *source;
    sl_stream *rows;
    ok(sl_source_open(table, relative, NULL, &source));
    assert_string_equal(source->headers.instant, instant);
    ok(sl_parquet_scan(source->parquet, &(struct sl_parquet_scan_options){0}, &rows));
    for (sl_batch *batch; ok(sl_stream_next(rows, &batch)), batch; sl_batch_unref(batch))
        for (int64_t i = 0; i < batch->rows; i++) {
            int before = sl_type_field_index(batch->schema, "before"),
                after = sl_type_field_index(batch->schema, "after"),
                time = sl_type_field_index(batch->schema, "ts_ms");
            size_t len;
            sl_batch *old = before >= 0 ? image_at(batch->columns[before], i) : NULL,
                     *new = after >= 0 ? image_at(batch->columns[after], i) : NULL;
            struct keyed_row *change = add_change(table, batch, i, new ? new : old, out);
            change->op = (char)*sl_bytes_at(batch->columns[0], i, &len);
            assert_int_equal(len, 1);
            change->before = image_text(old, data);
            change->after = image_text(new, data);
            if (time >= 0) {
                const uint8_t *text = sl_bytes_at(batch->columns[time], i, &len);
                assert_int_equal(len, strlen(instant));
                assert_memory_equal(text, instant, len);
            }
            sl_batch_unref(old);
            sl_batch_unref(new);
        }
    sl_stream_close(rows);
    sl_source_unref(source);
}

/* ---- replay -------------------------------------------------------------------------------------------- */

/* The rows of one key in three lists. */
struct key_rows {
    const struct keyed_row *old, *change, *new;
    size_t old_count, change_count, new_count;
};

static inline size_t rows_of_key(const struct keyed_rows *rows, size_t *at, const char *key,
                                 const struct keyed_row **first)
{
    size_t begin = *at;
    *first = &rows->items[begin];
    while (*at < rows->count && strcmp(rows->items[*at].key, key) == 0)
        (*at)++;
    return *at - begin;
}

static inline bool has_text(const struct keyed_row *rows, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].text, text) == 0)
            return true;
    return false;
}

/* An insert operation keeps duplicates: its rows come to those that are there. */
static inline bool only_added(const struct key_rows *k)
{
    for (size_t i = 0; i < k->change_count; i++)
        if (k->change[i].op != 'i' ||
            (k->change[i].after && !has_text(k->new, k->new_count, k->change[i].after)))
            return false;
    for (size_t i = 0; i < k->old_count; i++)
        if (!has_text(k->new, k->new_count, k->old[i].text))
            return false;
    return k->new_count == k->old_count + k->change_count;
}

static inline bool key_is_explained(const struct key_rows *k, enum sl_cdc_mode mode)
{
    const struct keyed_row *c = k->change;
    if (k->change_count == 0 || only_added(k))
        return only_added(k);
    bool before = c->op != 'i', after = c->op != 'd';
    return k->change_count == 1 && (k->old_count > 0) == before && k->new_count == after &&
           (c->before != NULL) == (before && mode != SL_CDC_OP_KEY_ONLY) &&
           (c->after != NULL) == (after && mode == SL_CDC_DATA_BEFORE_AFTER) &&
           (!c->before || has_text(k->old, k->old_count, c->before)) &&
           (!c->after || has_text(k->new, k->new_count, c->after));
}

static inline const char *least_key(const char *a, const struct keyed_rows *rows, size_t at)
{
    if (at == rows->count)
        return a;
    return !a || strcmp(rows->items[at].key, a) < 0 ? rows->items[at].key : a;
}

/* Keys ascend in all three. */
static inline void check_replay(const char *what, enum sl_cdc_mode mode, const struct keyed_rows *old,
                                const struct keyed_rows *changes, const struct keyed_rows *new)
{
    size_t o = 0, c = 0, n = 0;
    for (const char *key; (key = least_key(least_key(least_key(NULL, old, o), changes, c), new, n));) {
        struct key_rows k;
        k.old_count = rows_of_key(old, &o, key, &k.old);
        k.change_count = rows_of_key(changes, &c, key, &k.change);
        k.new_count = rows_of_key(new, &n, key, &k.new);
        if (!key_is_explained(&k, mode))
            fail_msg("%s: key %s: %zu rows before (%s), %zu changes (%c), %zu rows after (%s)", what, key,
                     k.old_count, k.old_count ? k.old->text : "", k.change_count,
                     k.change_count ? k.change->op : '-', k.new_count, k.new_count ? k.new->text : "");
    }
}

static inline const char *text_of(const json_t *stat, const char *member)
{
    return json_string_value(json_object_get(stat, member));
}

/* The stat's changes; gives their number. */
static inline size_t check_stat_changes(const sl_table *table, const char *instant, const json_t *stat,
                                        const sl_type *data)
{
    struct keyed_rows old = {0}, changes = {0}, new = {0};
    const char *log, *base = text_of(stat, "prevBaseFile");
    char *before;
    bool keeps;
    enum sl_cdc_mode mode;
    json_t *bytes;
    ok(sl_table_keeps_changes(table, &keeps, &mode));
    assert_true(keeps);
    if (base) {
        ok(sl_path_join(text_of(stat, "partitionPath"), base, &before));
        read_base(table, before, data, &old);
        sl_free(before);
    }
    read_base(table, text_of(stat, "path"), data, &new);
    json_object_foreach(json_object_get(stat, "cdcStats"), log, bytes)
    {
        sl_entry entry;
        char *full;
        read_changes(table, log, instant, data, &changes);
        ok(sl_table_path(table, log, &full));
        ok(sl_storage_stat(table->storage, full, &entry));
        assert_int_equal(json_integer_value(bytes), entry.size);
        sl_free(full);
    }
    check_replay(text_of(stat, "path"), mode, &old, &changes, &new);
    size_t count = changes.count;
    keyed_free(&old);
    keyed_free(&changes);
    keyed_free(&new);
    return count;
}

/* All changes that completed writes of the active timeline tell, from the instant on ("": all); gives their number. Without a
 * log no base file is written anew: readers would not know what it changed. */
static inline size_t check_changes(const sl_table *table, const char *from)
{
    sl_timeline timeline;
    size_t count = 0, i;
    ok(sl_timeline_load(table, &timeline));
    for (size_t t = 0; t < timeline.count; t++) {
        const sl_instant *instant = &timeline.instants[t];
        json_t *commit, *stats, *stat;
        const char *partition;
        const sl_type *data;
        if (instant->state != SL_COMPLETED || !sl_action_writes(instant->action) ||
            strcmp(instant->requested, from) < 0)
            continue;
        ok(sl_instant_json(table, instant, SL_COMPLETED, &commit));
        ok(sl_table_schema(table, &timeline, instant->requested, &data));
        json_object_foreach(json_object_get(commit, "partitionToWriteStats"), partition, stats)
            json_array_foreach(stats, i, stat)
        {
            bool tells = json_object_size(json_object_get(stat, "cdcStats")) > 0;
            if (!tells && text_of(stat, "prevBaseFile"))
                fail_msg("%s: nothing tells what it changed", text_of(stat, "path"));
            if (tells)
                count += check_stat_changes(table, instant->requested, stat, data);
        }
        sl_type_unref(data);
        json_decref(commit);
    }
    sl_timeline_free(&timeline);
    return count;
}

#endif
