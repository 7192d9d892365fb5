/*
 * Small files (spec/lsm-layout.md 15, spec/write-path.md 7): inserts go into base files below
 * hoodie.parquet.small.file.limit before they make new ones. On merge-on-read only slices without logs qualify, since their
 * base is written anew; so the result is sorted and no log has to be read for it.
 *
 * Which of several small files gets a key is ours to say: the one whose key range is nearest, so that ranges stay narrow.
 */
#include "write/write_int.h"
#include <string.h>

struct limits {
    uint64_t small, max;
    int64_t record_bytes;
    size_t files_max;
};

static sl_status read_limits(const struct flush *flush, struct limits *out)
{
    int64_t files;
    SL_TRY(sl_table_setting_bytes(flush->table, "hoodie.parquet.small.file.limit", 100 << 20, &out->small));
    SL_TRY(sl_table_setting_bytes(flush->table, "hoodie.parquet.max.file.size", 120 << 20, &out->max));
    SL_TRY(sl_table_setting_int(flush->table, "hoodie.merge.small.file.group.candidates.limit", 1, &files));
    out->record_bytes = flush->record_bytes;
    out->files_max = flush->table->type == SL_MERGE_ON_READ ? (size_t)files : SIZE_MAX;
    return SL_OK;
}

/* The base file that inserts may join; NULL: none. */
static const sl_data_file *small_base(const sl_file_group *group, const struct limits *l)
{
    const sl_slice *newest = group->slice_count ? &group->slices[0] : NULL;
    if (!newest || !newest->base || newest->log_count || newest->pending_compaction ||
        newest->base->size >= l->small || newest->base->size >= l->max)
        return NULL;
    return newest->base;
}

static int64_t room_of(const sl_data_file *base, const struct limits *l)
{
    return (int64_t)((l->max - base->size) / (uint64_t)l->record_bytes);
}

static sl_status read_min_key(const sl_table *table, const char *partition, const sl_data_file *base,
                              char **out)
{
    char *relative;
    sl_source *source;
    SL_TRY(sl_path_join(partition, base->name, &relative));
    sl_status status = sl_source_open(table, relative, NULL, &source);
    sl_free(relative);
    SL_TRY(status);
    const char *key = sl_parquet_key_value(source->parquet, "hoodie_min_record_key");
    *out = sl_strdup(key ? key : "");
    sl_source_unref(source);
    return *out ? SL_OK : sl_nomem();
}

struct small_file {
    size_t group;
    const sl_data_file *base;
};

static int by_size(const void *a, const void *b)
{
    const struct small_file *x = a, *y = b;
    if (x->base->size != y->base->size)
        return x->base->size < y->base->size ? -1 : 1;
    return x->group < y->group ? -1 : x->group > y->group;
}

static int by_min_key(const void *a, const void *b)
{
    const struct pack_candidate *x = a, *y = b;
    int c = strcmp(x->min_key, y->min_key);
    return c ? c : x->group < y->group ? -1 : x->group > y->group;
}

/* The smallest files first, where not all of them may take part. */
static size_t small_files(const sl_partition *partition, const struct limits *l, struct small_file *out)
{
    size_t count = 0;
    for (size_t g = 0; g < partition->group_count; g++) {
        const sl_data_file *base = small_base(&partition->groups[g], l);
        if (base && room_of(base, l) > 0)
            out[count++] = (struct small_file){g, base};
    }
    qsort(out, count, sizeof *out, by_size);
    return count < l->files_max ? count : l->files_max;
}

sl_status pack_candidates_find(const struct flush *flush, const sl_partition *partition,
                               struct pack_candidates *out)
{
    struct limits l;
    struct small_file *files = NULL;
    struct pack_candidates c = {0};
    sl_status status = SL_OK;
    *out = c;
    if (flush->operation != SL_OP_INSERT && flush->operation != SL_OP_UPSERT)
        return SL_OK;
    SL_TRY(read_limits(flush, &l));
    SL_NEW_ARRAY(files, partition->group_count + 1);
    size_t count = small_files(partition, &l, files);
    if (!(c.items = sl_calloc(count + 1, sizeof *c.items)))
        SL_GO(sl_nomem());
    for (; c.count < count; c.count++) {
        const struct small_file *f = &files[c.count];
        c.items[c.count] = (struct pack_candidate){.group = f->group, .room = room_of(f->base, &l)};
        SL_GO(read_min_key(flush->table, partition->path, f->base, &c.items[c.count].min_key));
    }
    qsort(c.items, c.count, sizeof *c.items, by_min_key);
    *out = c;
done:
    if (status)
        pack_candidates_free(&c);
    sl_free(files);
    return status;
}

void pack_candidates_free(struct pack_candidates *c)
{
    for (size_t i = 0; i < c->count; i++)
        sl_free(c->items[i].min_key);
    sl_free(c->items);
    memset(c, 0, sizeof *c);
}

/* The last candidate whose range begins at or before the key, else the first; from there outwards the first with room. */
int64_t pack_choose(struct pack_candidates *c, const uint8_t *key, size_t len)
{
    size_t home = 0;
    for (const char *next; home + 1 < c->count; home++) {
        next = c->items[home + 1].min_key;
        if (bytes_compare(key, len, next, strlen(next)) < 0)
            break;
    }
    for (size_t distance = 0; distance < c->count; distance++)
        for (int side = 0; side < 2; side++) {
            bool is_there = side ? home + distance < c->count : distance <= home;
            struct pack_candidate *at = is_there ? &c->items[side ? home + distance : home - distance] : NULL;
            if (at && at->room > 0) {
                at->room--;
                return (int64_t)at->group;
            }
        }
    return -1;
}
