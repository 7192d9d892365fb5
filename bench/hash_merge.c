/*
 * What sluice's merge is measured against: the same files read whole, the newest row of each key found in a hash table.
 *
 *     hash_merge KEY ORDERING FOLDER...        prints rows, seconds, peak memory as JSON
 *
 * Each folder holds one file group: a base file and its data logs, whose rows have a string column KEY and an integer
 * column ORDERING. Nothing is sorted, nothing goes to a disk, the result is thrown away batch by batch. Folders are
 * done in parallel, one a core, as scan_bench does file groups.
 */
#include "parquet/parquet.h"

#include <stdio.h>
#include <sys/resource.h>

#define BATCH_ROWS 16384

/* One row of the merged table: the newest version of its key so far. */
struct entry {
    uint64_t hash;
    uint32_t batch, row; /* batch 0: no entry */
};

struct group {
    const char *folder;
    sl_batch **batches; /* from 1 */
    size_t batch_count, batch_capacity;
    struct entry *entries; /* open addressing */
    size_t capacity, count;
    int64_t rows_in;
};

struct work {
    sl_storage *storage;
    const char *key, *ordering;
    struct group *groups;
};

/* ---- the table ----------------------------------------------------------------------------------------- */

static sl_status table_grow(struct group *g)
{
    size_t capacity = g->capacity ? g->capacity * 2 : 1 << 16;
    struct entry *entries;
    SL_NEW_ARRAY(entries, capacity);
    for (size_t i = 0; i < g->capacity; i++) {
        if (!g->entries[i].batch)
            continue;
        size_t slot = (size_t)g->entries[i].hash & (capacity - 1);
        while (entries[slot].batch)
            slot = (slot + 1) & (capacity - 1);
        entries[slot] = g->entries[i];
    }
    sl_free(g->entries);
    g->entries = entries;
    g->capacity = capacity;
    return SL_OK;
}

static bool same_key(const struct group *g, const struct entry *e, int key, const uint8_t *text, size_t len)
{
    size_t known_len;
    const uint8_t *known = sl_bytes_at(g->batches[e->batch]->columns[key], e->row, &known_len);
    return known_len == len && memcmp(known, text, len) == 0;
}

/* Files come in order of age: of equal ordering values the later row wins. */
static void put_row(struct group *g, uint32_t batch, uint32_t row, int key, int ordering)
{
    const sl_batch *rows = g->batches[batch];
    size_t len;
    const uint8_t *text = sl_bytes_at(rows->columns[key], row, &len);
    uint64_t hash = sl_xxh64(text, len);
    size_t slot = (size_t)hash & (g->capacity - 1);
    for (; g->entries[slot].batch; slot = (slot + 1) & (g->capacity - 1)) {
        struct entry *e = &g->entries[slot];
        if (e->hash != hash || !same_key(g, e, key, text, len))
            continue;
        int64_t known = sl_integer_at(g->batches[e->batch]->columns[ordering], e->row);
        if (sl_integer_at(rows->columns[ordering], row) >= known)
            *e = (struct entry){hash, batch, row};
        return;
    }
    g->entries[slot] = (struct entry){hash, batch, row};
    g->count++;
}

static sl_status put_batch(const struct work *w, struct group *g, sl_batch *batch)
{
    int key = sl_type_field_index(batch->schema, w->key),
        ordering = sl_type_field_index(batch->schema, w->ordering);
    if (key < 0 || ordering < 0)
        return sl_input("column %s or %s is missing", w->key, w->ordering);
    if (g->batch_count + 1 >= g->batch_capacity) {
        size_t capacity = g->batch_capacity ? g->batch_capacity * 2 : 64;
        sl_batch **grown = sl_realloc_array(g->batches, capacity, sizeof *grown);
        if (!grown)
            return sl_nomem();
        g->batches = grown;
        g->batch_capacity = capacity;
    }
    g->batches[++g->batch_count] = sl_batch_ref(batch);
    g->rows_in += batch->rows;
    for (int64_t row = 0; row < batch->rows; row++) {
        if ((g->count + 1) * 2 > g->capacity)
            SL_TRY(table_grow(g));
        put_row(g, (uint32_t)g->batch_count, (uint32_t)row, key, ordering);
    }
    return SL_OK;
}

/* ---- files --------------------------------------------------------------------------------------------- */

static sl_status read_file(const struct work *w, struct group *g, const char *path)
{
    sl_file *file = NULL;
    sl_parquet *parquet = NULL;
    sl_stream *rows = NULL;
    struct sl_parquet_scan_options options = {0};
    sl_status status = SL_OK;
    SL_GO(sl_storage_open(w->storage, path, &file));
    SL_GO(sl_parquet_open(file, NULL, &parquet));
    SL_GO(sl_parquet_scan(parquet, &options, &rows));
    for (;;) {
        sl_batch *batch;
        SL_GO(sl_stream_next(rows, &batch));
        if (!batch)
            break;
        status = put_batch(w, g, batch);
        sl_batch_unref(batch);
        if (status)
            break;
    }
done:
    sl_stream_close(rows);
    sl_parquet_close(parquet);
    sl_file_close(file);
    return sl_context(status, "%s", path);
}

/* ID_TOKEN_INSTANT.parquet and ID_TOKEN_INSTANT_1.log.parquet: the instants are the order of age. */
static int by_instant(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    return strcmp(strchr(strchr(x, '_') + 1, '_'), strchr(strchr(y, '_') + 1, '_'));
}

static sl_status data_files(const struct work *w, const struct group *g, sl_strings *out)
{
    sl_listing listing;
    SL_TRY(sl_storage_list(w->storage, g->folder, &listing));
    sl_status status = SL_OK;
    for (size_t i = 0; i < listing.count && !status; i++) {
        const char *name = listing.entries[i].name, *end = strrchr(name, '.');
        if (*name != '.' && end && strcmp(end, ".parquet") == 0)
            status = sl_strings_add(out, name);
    }
    sl_listing_free(&listing);
    if (!status && out->count)
        qsort(out->items, out->count, sizeof *out->items, by_instant);
    return status;
}

/* ---- output -------------------------------------------------------------------------------------------- */

/* The survivors, in the order of the table, column by column. */
static sl_status put_out(struct group *g)
{
    sl_batch_builder builder = {0};
    const sl_array **sources = NULL;
    struct sl_pick *picks = NULL;
    size_t pick_count = 0, at = 0;
    sl_status status = SL_OK;
    if (!g->batch_count)
        return SL_OK;
    SL_GO(sl_batch_builder_init(&builder, g->batches[1]->schema));
    sources = sl_calloc(g->batch_count + 1, sizeof *sources);
    picks = sl_calloc(BATCH_ROWS, sizeof *picks);
    if (!sources || !picks)
        SL_GO(sl_nomem());
    while (at < g->capacity) {
        for (pick_count = 0; at < g->capacity && pick_count < BATCH_ROWS; at++)
            if (g->entries[at].batch)
                picks[pick_count++] =
                    (struct sl_pick){.source = g->entries[at].batch, .first = g->entries[at].row, .count = 1};
        for (size_t c = 0; c < builder.schema->field_count; c++) {
            for (size_t b = 0; b <= g->batch_count; b++)
                sources[b] = g->batches[b ? b : 1]->columns[c];
            SL_GO(sl_builder_append_picks(
                builder.columns[c], sources, g->batch_count + 1,
                &(struct sl_picks){.items = picks, .count = pick_count, .rows = (int64_t)pick_count}));
        }
        sl_batch *batch;
        SL_GO(sl_batch_builder_finish(&builder, &batch));
        sl_batch_unref(batch);
    }
done:
    sl_batch_builder_free(&builder);
    sl_free(sources);
    sl_free(picks);
    return status;
}

static sl_status merge_group(void *context, size_t index)
{
    struct work *w = context;
    struct group *g = &w->groups[index];
    sl_strings names = {0};
    sl_status status = data_files(w, g, &names);
    for (size_t i = 0; i < names.count && !status; i++) {
        char *path;
        status = sl_path_join(g->folder, names.items[i], &path);
        if (status)
            break;
        status = read_file(w, g, path);
        sl_free(path);
    }
    if (!status)
        status = put_out(g);
    for (size_t i = 1; i <= g->batch_count; i++)
        sl_batch_unref(g->batches[i]);
    sl_free(g->batches);
    sl_free(g->entries);
    sl_strings_free(&names);
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: hash_merge KEY ORDERING FOLDER...\n");
        return 2;
    }
    size_t count = (size_t)argc - 3;
    struct work w = {.key = argv[1], .ordering = argv[2]};
    sl_pool *pool = NULL;
    double start = sl_monotonic();
    w.groups = sl_calloc(count, sizeof *w.groups);
    sl_status status = w.groups ? sl_storage_local(&w.storage) : sl_nomem();
    for (size_t i = 0; i < count && !status; i++)
        w.groups[i].folder = argv[3 + i];
    if (!status)
        status = sl_pool_new(sl_cpu_count(), &pool);
    if (!status)
        status = sl_pool_for(pool, count, merge_group, &w);
    if (status) {
        fprintf(stderr, "hash_merge: %s\n", sl_status_message(status));
        return 1;
    }
    int64_t rows_in = 0, rows = 0;
    for (size_t i = 0; i < count; i++) {
        rows_in += w.groups[i].rows_in;
        rows += (int64_t)w.groups[i].count;
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"rows_in\": %lld, \"rows\": %lld, \"seconds\": %.4f, \"peak_bytes\": %lld}\n",
           (long long)rows_in, (long long)rows, sl_monotonic() - start, (long long)usage.ru_maxrss * 1024);
    sl_pool_free(pool);
    sl_storage_free(w.storage);
    sl_free(w.groups);
    return 0;
}
