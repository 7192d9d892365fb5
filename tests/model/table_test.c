/*
 * Random tables under random operations, against a model: the list of all operations. What a table holds at an instant is
 * those operations replayed (spec/lsm-layout.md 8): an lsm_tree table folds every version of a key, oldest first, and
 * forgets deletes where a compaction stands; a copy-on-write table reduces the rows of one write among themselves and
 * joins the result with the row that is there. An overwrite forgets what its partitions held, and writes base files.
 * Without a bucket index a group holds the keys that one write brought to it. A copy-on-write table of the lsm_tree layout
 * folds like an lsm_tree table and has no deletes to forget.
 *
 * Where the table keeps changes, these, played over the base files before, give the base files after.
 *
 * SEED and ROUNDS come from the environment; MODEL_TRACE=1 prints the operations.
 */
#include "random_rows.h"

#include "api/api_int.h"
#include "changes_support.h"
#include "keys/keys.h"

#define KEYS_MAX       160
#define EVENTS_MAX     128
#define PARTITIONS_MAX 4
#define GROUPS_MAX     (EVENTS_MAX * PARTITIONS_MAX)
#define EXTRA_MAX      6
#define TASKS_MAX      4

/* ---- what the table is --------------------------------------------------------------------------------- */

enum key_form { KEY_NUMBER, KEY_TEXT, KEY_BOTH };

struct key {
    int64_t id;
    const char *partition;
    char name[40], path[40], record[96];
    int group, partition_number;
};

struct op {
    int key;
    bool is_delete;
    bool logs;      /* lsm_tree: its writer saw deletes, so it makes logs even of new file groups */
    bool has_order; /* false: a delete by key */
    int64_t order[2];
    sl_batch *rows; /* NULL: a delete by key */
    int64_t row;
    uint32_t task;       /* of a write job; else 0 */
    bool held;           /* simple index: a group held the key when it was written, ... */
    int home;            /* ... this one */
    const char *instant; /* of its event */
};

struct event {
    bool is_compaction;
    bool is_log_compaction; /* changes no row */
    bool active;            /* completed, not rolled back */
    bool replaces
        [PARTITIONS_MAX]; /* overwritten or deleted partitions; of a compaction: those it leaves out */
    bool planned[PARTITIONS_MAX]; /* partitions of a compaction's groups */
    char instant[32];
    int number; /* names the groups it makes: events before it may be rolled back, and it moves up */
    struct op *ops;
    size_t count;
    size_t columns; /* data columns of the table from here on */
};

struct model {
    struct rng rng;
    bool trace;
    bool between;        /* inside change_meanwhile */
    bool writer_at_work; /* a write job is begun and not committed */
    char path[256];
    bool flushes_early; /* a writer begins its instant with its first rows */
    bool scarce;        /* so little memory that it may begin at any row */
    bool lsm;           /* merge-on-read, lsm_tree */
    bool sorted;        /* copy-on-write, lsm_tree */
    const char *cdc;    /* what it keeps of changes; NULL: nothing */
    bool simple_index, event_time, partitioned, hive_style, marks;
    enum key_form key_form;
    int buckets;
    int ordering_count;
    enum sl_type_id ordering_type[2];
    sl_field fields[8 + EXTRA_MAX];
    size_t field_count, fixed_count; /* fields that the model gives meaning; the rest is random */
    size_t created_columns, columns; /* at creation; with those that joined since */
    const sl_type *schema;           /* of `columns` columns */
    struct key keys[KEYS_MAX];
    int key_count;
    struct event *events;
    size_t event_count;
    int events_made; /* rolled back ones too */
    int group_count, partition_count;
    sluice_table *table;
    sl_batch **batches; /* all that ops point into */
    size_t batch_count, batch_cap;
};

#define TRACE(m, ...)                                                                                        \
    do {                                                                                                     \
        if ((m)->trace)                                                                                      \
            fprintf(stderr, __VA_ARGS__);                                                                    \
    } while (0)

/* ---- making a table ------------------------------------------------------------------------------------ */

static void add_field(struct model *m, const char *name, enum sl_type_id id, bool nullable)
{
    const sl_type *type;
    ok(sl_type_new(id, &type));
    m->fields[m->field_count++] = (sl_field){.name = name, .type = type, .nullable = nullable};
}

static void choose_schema(struct model *m)
{
    static const char *const extra[] = {"x0", "x1", "x2", "x3", "x4", "x5"};
    /* int more than once: its 0 means "no ordering value", a case of its own */
    static const enum sl_type_id ordering[] = {SL_INT32,  SL_INT32,     SL_INT32, SL_INT64, SL_DOUBLE,
                                               SL_STRING, SL_TIMESTAMP, SL_DATE,  SL_BOOL};
    add_field(m, "id", SL_INT64, false);
    add_field(m, "name", SL_STRING, false);
    add_field(m, "p", SL_STRING, false);
    for (int i = 0; i < m->ordering_count; i++) {
        m->ordering_type[i] = ordering[pick(&m->rng, m->ordering_count == 2 ? 9 : 8)];
        add_field(m, i ? "o1" : "o0", m->ordering_type[i], chance(&m->rng, 50));
    }
    if (m->marks)
        add_field(m, "_hoodie_is_deleted", SL_BOOL, true);
    add_field(m, "v", SL_INT64, true);
    add_field(m, "s", SL_STRING, true);
    m->fixed_count = m->field_count;
    for (int64_t i = 0, n = pick(&m->rng, EXTRA_MAX + 1); i < n; i++)
        random_field(&m->rng, 0, extra[i], &m->fields[m->field_count++]);
    /* The last columns may come later, by schema evolution. */
    m->columns = m->field_count - (m->field_count > m->fixed_count
                                       ? (size_t)pick(&m->rng, (int64_t)(m->field_count - m->fixed_count) + 1)
                                       : 0);
    m->created_columns = m->columns;
    ok(sl_type_struct(m->fields, m->columns, &m->schema));
}

static void choose_keys(struct model *m)
{
    static const char *const partitions[] = {"north", "south", "2024-01-31", "x y"};
    static const char *const endings[] = {"", "\xc3\xa4", "\xef\xbc\xa1", "\xf0\x9f\x98\x80", "~", "."};
    struct sl_bucket_hash hash = {.buckets = (uint32_t)m->buckets};
    int partition_count = m->partitioned ? 1 + (int)pick(&m->rng, PARTITIONS_MAX) : 1;
    m->group_count = m->simple_index ? GROUPS_MAX : partition_count * m->buckets;
    m->partition_count = partition_count;
    m->key_count = 1 + (int)pick(&m->rng, chance(&m->rng, 30) ? 8 : KEYS_MAX - 1);
    for (int i = 0; i < m->key_count; i++) {
        struct key *k = &m->keys[i];
        uint32_t bucket;
        int p = (int)pick(&m->rng, partition_count);
        k->id = i * 7 - 300;
        /* Names repeat over ids only where both make the key. */
        snprintf(k->name, sizeof k->name, "n%d%s", m->key_form == KEY_BOTH ? i % 5 : i, endings[i % 6]);
        k->partition = partitions[p];
        snprintf(k->path, sizeof k->path, "%s%s", m->hive_style && m->partitioned ? "p=" : "",
                 m->partitioned ? partitions[p] : "");
        if (m->key_form == KEY_NUMBER)
            snprintf(k->record, sizeof k->record, "%d", (int)k->id);
        else if (m->key_form == KEY_TEXT)
            snprintf(k->record, sizeof k->record, "%s", k->name);
        else
            snprintf(k->record, sizeof k->record, "id:%d,name:%s", (int)k->id, k->name);
        ok(sl_bucket_of_key(&hash, k->record, strlen(k->record), &bucket));
        k->partition_number = p;
        k->group = p * m->buckets + (int)bucket;
    }
}

static void create(struct model *m)
{
    static const char *const key_fields[] = {"id", "name", "id,name"};
    const char *options[40];
    char buckets[16];
    size_t n = 0;
    sluice_error e;
    struct ArrowSchema schema;
    snprintf(buckets, sizeof buckets, "%d", m->buckets);
#define SET(key, value) (options[n++] = (key), options[n++] = (value))
    SET("hoodie.table.recordkey.fields", key_fields[m->key_form]);
    if (m->partitioned)
        SET("hoodie.table.partition.fields", "p");
    if (m->ordering_count)
        SET("hoodie.table.ordering.fields", m->ordering_count == 2 ? "o0,o1" : "o0");
    if (m->ordering_count && !m->event_time)
        SET("hoodie.record.merge.mode", "COMMIT_TIME_ORDERING");
    if (m->lsm || m->sorted)
        SET("hoodie.table.storage.layout", "lsm_tree");
    if (m->sorted)
        SET("hoodie.table.type", "COPY_ON_WRITE");
    if (m->cdc) {
        SET("hoodie.table.cdc.enabled", "true");
        SET("hoodie.table.cdc.supplemental.logging.mode", m->cdc);
    }
    if (m->hive_style)
        SET("hoodie.datasource.write.hive_style_partitioning", "true");
    if (m->simple_index)
        SET("hoodie.index.type", chance(&m->rng, 50) ? "SIMPLE" : "BLOOM");
    else
        SET("hoodie.bucket.index.num.buckets", buckets);
#undef SET
    options[n] = NULL;
    export_schema(m->schema, &schema);
    OK(sluice_table_create(m->path, &schema, options, &e));
    schema.release(&schema);
}

/* Small files, pages and budgets, so that little data takes the ways of much. */
static void reopen(struct model *m)
{
    static const char *const threads[] = {"1", "2", "4"};
    const char *options[32];
    size_t n = 0;
    sluice_error e;
    sluice_table_close(m->table);
    m->table = NULL;
#define SET(key, value) (options[n++] = (key), options[n++] = (value))
    SET("sluice.threads", threads[pick(&m->rng, 3)]);
    if ((m->scarce = chance(&m->rng, 50)))
        SET("sluice.memory", chance(&m->rng, 50) ? "16384" : "100KiB");
    if (chance(&m->rng, 50))
        SET("hoodie.parquet.page.size", "64");
    if (chance(&m->rng, 50))
        SET("hoodie.parquet.block.size", chance(&m->rng, 50) ? "1" : "2000");
    if (chance(&m->rng, 60)) /* what a compaction or an upsert leaves alone is copied from page to page */
        SET("sluice.parquet.page.rows", chance(&m->rng, 50) ? "1" : "3");
    if (chance(&m->rng, 30))
        SET("hoodie.logfile.max.size", "1000");
    m->flushes_early = m->lsm && !m->simple_index && chance(&m->rng, 30);
    if (m->flushes_early) { /* every batch by itself */
        SET("sluice.flush.spill", "false");
        SET("sluice.flush.bucket.bytes", "1");
    }
    if (chance(&m->rng, 70))
        SET("hoodie.log.compaction.blocks.threshold", chance(&m->rng, 50) ? "2" : "3");
    if (chance(&m->rng, 30))
        SET("hoodie.parquet.compression.codec", chance(&m->rng, 50) ? "snappy" : "uncompressed");
    /* Of lsm_tree tables the model does not follow which deletes go with a small file that is written anew. */
    if (m->simple_index && (m->lsm || chance(&m->rng, 30)))
        SET("hoodie.parquet.small.file.limit", "0");
    else if (m->simple_index)
        SET("hoodie.copyonwrite.record.size.estimate", chance(&m->rng, 50) ? "4000000" : "1024");
    if (m->simple_index && !m->lsm && chance(&m->rng, 30))
        SET("hoodie.parquet.max.file.size", chance(&m->rng, 50) ? "1" : "3000");
#undef SET
    options[n] = NULL;
    OK(sluice_table_open(m->path, options, &m->table, &e));
}

static void model_init(struct model *m, uint64_t seed, const char *folder)
{
    memset(m, 0, sizeof *m);
    m->rng.state = seed;
    m->trace = getenv("MODEL_TRACE") != NULL;
    m->events = calloc(EVENTS_MAX, sizeof *m->events);
    snprintf(m->path, sizeof m->path, "%s/t%" PRIu64, folder, seed);
    m->lsm = chance(&m->rng, 65);
    m->sorted = !m->lsm && chance(&m->rng, 50);
    if ((m->lsm || m->sorted) && chance(&m->rng, m->lsm ? 30 : 60))
        m->cdc = (const char *const[]){"op_key_only", "data_before", "data_before_after"}[pick(&m->rng, 3)];
    m->event_time = chance(&m->rng, 65);
    m->ordering_count = m->event_time || chance(&m->rng, 30) ? 1 + chance(&m->rng, 25) : 0;
    m->partitioned = chance(&m->rng, 60);
    m->hive_style = chance(&m->rng, 40);
    m->marks = chance(&m->rng, 50);
    m->key_form = (enum key_form)pick(&m->rng, 3);
    m->buckets = 1 + (int)pick(&m->rng, 8);
    m->simple_index = chance(&m->rng, 30);
    choose_schema(m);
    choose_keys(m);
    TRACE(m, "table %s %s %s ordering %d key form %d buckets %d keys %d marks %d columns %zu of %zu\n",
          m->lsm      ? "lsm"
          : m->sorted ? "sorted cow"
                      : "cow",
          m->simple_index ? "simple" : "bucket", m->event_time ? "event" : "commit", m->ordering_count,
          (int)m->key_form, m->buckets, m->key_count, m->marks, m->columns, m->field_count);
    create(m);
    reopen(m);
}

static void model_free(struct model *m)
{
    sluice_table_close(m->table);
    for (size_t i = 0; i < m->event_count; i++)
        free(m->events[i].ops);
    for (size_t i = 0; i < m->batch_count; i++)
        sl_batch_unref(m->batches[i]);
    for (size_t i = 0; i < m->field_count; i++)
        sl_type_unref(m->fields[i].type);
    sl_type_unref(m->schema);
    free(m->batches);
    free(m->events);
    remove_folder(m->path);
}

/* ---- replay -------------------------------------------------------------------------------------------- */

struct state {
    const struct op *now[KEYS_MAX];  /* newest version: row or, in lsm_tree tables, delete */
    const struct op *base[KEYS_MAX]; /* row of the newest base file */
    bool exists[GROUPS_MAX], has_logs[GROUPS_MAX];
    bool held[KEYS_MAX]; /* simple index: some file of a group has the key ... */
    int group[KEYS_MAX]; /* ... and which group it is */
    size_t columns;
};

/* A delete without an ordering value; the integer 0 of a single int field cannot be told from none. */
static bool commit_delete(const struct model *m, const struct op *op)
{
    return op->is_delete && (!op->has_order || (m->ordering_count == 1 && m->ordering_type[0] == SL_INT32 &&
                                                op->order[0] == 0));
}

static int compare_order(const struct model *m, const struct op *a, const struct op *b)
{
    for (int i = 0; i < m->ordering_count; i++)
        if (a->order[i] != b->order[i])
            return a->order[i] < b->order[i] ? -1 : 1;
    return 0;
}

static const struct op *merge(const struct model *m, const struct op *existing, const struct op *next)
{
    if (!existing || !m->event_time || commit_delete(m, existing) || commit_delete(m, next) ||
        compare_order(m, next, existing) >= 0)
        return next;
    return existing;
}

static void replay_lsm_write(const struct model *m, const struct event *e, struct state *s)
{
    bool fresh[GROUPS_MAX] = {0};
    for (size_t i = 0; i < e->count; i++) {
        int key = e->ops[i].key, group = m->keys[key].group;
        s->now[key] = merge(m, s->now[key], &e->ops[i]);
        if (!s->exists[group] && !e->ops[i].logs)
            fresh[group] = true;
        else if (!fresh[group])
            s->has_logs[group] = true;
        s->exists[group] = true;
    }
    for (int k = 0; k < m->key_count; k++)
        if (fresh[m->keys[k].group])
            s->base[k] = s->now[k];
}

static void replay_cow_write(const struct model *m, const struct event *e, struct state *s)
{
    const struct op *incoming[KEYS_MAX] = {0};
    for (size_t i = 0; i < e->count; i++)
        incoming[e->ops[i].key] = merge(m, incoming[e->ops[i].key], &e->ops[i]);
    for (int k = 0; k < m->key_count; k++) {
        if (!incoming[k])
            continue;
        const struct op *result = merge(m, s->now[k], incoming[k]);
        s->now[k] = s->base[k] = result->is_delete ? NULL : result;
    }
}

/* The base row is the first operand. */
static void replay_sorted_write(const struct model *m, const struct event *e, struct state *s)
{
    for (size_t i = 0; i < e->count; i++)
        s->now[e->ops[i].key] = merge(m, s->now[e->ops[i].key], &e->ops[i]);
    for (int k = 0; k < m->key_count; k++) {
        if (s->now[k] && s->now[k]->is_delete)
            s->now[k] = NULL;
        s->base[k] = s->now[k];
    }
}

/* The rows that come to new groups of a simple index: reduced among themselves, deletes go. */
static void replay_simple_inserts(const struct model *m, size_t event, const struct op *const *incoming,
                                  struct state *s)
{
    for (int k = 0; k < m->key_count; k++) {
        if (!incoming[k] || incoming[k]->is_delete)
            continue;
        s->now[k] = s->base[k] = incoming[k];
        s->held[k] = true;
        s->group[k] = m->events[event].number * PARTITIONS_MAX + m->keys[k].partition_number;
    }
}

static void replay_simple_write(const struct model *m, size_t event, struct state *s)
{
    const struct event *e = &m->events[event];
    const struct op *incoming[KEYS_MAX] = {0};
    for (size_t i = 0; i < e->count; i++)
        incoming[e->ops[i].key] = merge(m, incoming[e->ops[i].key], &e->ops[i]);
    for (size_t i = 0; i < e->count; i++) {
        const struct op *op = &e->ops[i];
        if (!op->held)
            continue;
        s->now[op->key] = merge(m, s->now[op->key], op);
        s->has_logs[op->home] = true;
        if (incoming[op->key] && !incoming[op->key]->is_delete) { /* its row is in a log, if nowhere else */
            s->held[op->key] = true;
            s->group[op->key] = op->home;
        }
    }
    for (size_t i = 0; i < e->count; i++)
        if (e->ops[i].held)
            incoming[e->ops[i].key] = NULL;
    replay_simple_inserts(m, event, incoming, s);
}

static int group_of_key(const struct model *m, const struct state *s, int key)
{
    return m->simple_index ? s->group[key] : m->keys[key].group;
}

static void replay_compaction(const struct model *m, const struct event *e, struct state *s)
{
    for (int k = 0; k < m->key_count; k++)
        if (s->has_logs[group_of_key(m, s, k)] && !e->replaces[m->keys[k].partition_number]) {
            if (s->now[k] && s->now[k]->is_delete)
                s->now[k] = NULL;
            s->base[k] = s->now[k];
            s->held[k] = s->held[k] && s->now[k];
        }
    for (int g = 0; g < m->group_count; g++)
        if (!e->replaces[m->simple_index ? g % PARTITIONS_MAX : g / m->buckets])
            s->has_logs[g] = false;
}

/* What the partitions held is gone; the rows, if there are any, are in base files. */
static void replay_replacement(const struct model *m, size_t event, struct state *s)
{
    const struct event *e = &m->events[event];
    const struct op *incoming[KEYS_MAX] = {0};
    for (int k = 0; k < m->key_count; k++)
        if (e->replaces[m->keys[k].partition_number]) {
            s->now[k] = s->base[k] = NULL;
            s->held[k] = false;
        }
    for (int g = 0; g < m->group_count; g++)
        if (e->replaces[m->simple_index ? g % PARTITIONS_MAX : g / m->buckets])
            s->exists[g] = s->has_logs[g] = false;
    for (size_t i = 0; i < e->count; i++)
        incoming[e->ops[i].key] = merge(m, incoming[e->ops[i].key], &e->ops[i]);
    replay_simple_inserts(m, event, incoming, s);
    for (int k = 0; k < m->key_count; k++)
        if (incoming[k] && !incoming[k]->is_delete)
            s->exists[m->simple_index ? s->group[k] : m->keys[k].group] = true;
}

static bool is_replacement(const struct event *e)
{
    bool any = false;
    for (int p = 0; p < PARTITIONS_MAX; p++)
        any = any || e->replaces[p];
    return any && !e->is_compaction;
}

/* The state at an instant, inclusive; "" means now. */
static void replay(const struct model *m, const char *as_of, struct state *s)
{
    memset(s, 0, sizeof *s);
    for (size_t i = 0; i < m->event_count; i++) {
        const struct event *e = &m->events[i];
        if (!e->active || (*as_of && strcmp(e->instant, as_of) > 0))
            continue;
        s->columns = e->columns;
        if (e->is_log_compaction)
            continue;
        if (e->is_compaction)
            replay_compaction(m, e, s);
        else if (is_replacement(e))
            replay_replacement(m, i, s);
        else if (m->lsm && m->simple_index)
            replay_simple_write(m, i, s);
        else if (m->lsm)
            replay_lsm_write(m, e, s);
        else if (m->sorted)
            replay_sorted_write(m, e, s);
        else
            replay_cow_write(m, e, s);
    }
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static void build_order(struct model *m, sl_builder *b, int field, int64_t value)
{
    char text[24];
    switch (m->ordering_type[field]) {
    case SL_DOUBLE:
        ok(sl_builder_double(b, (double)value / 2));
        break;
    case SL_STRING:
        ok(sl_builder_bytes(b, text, (size_t)snprintf(text, sizeof text, "%05d", (int)value)));
        break;
    case SL_BOOL:
        ok(sl_builder_bool(b, value));
        break;
    default:
        ok(sl_builder_integer(b, value));
        break;
    }
}

/* Values meet often; 0 and the negative only where the type has them. */
static int64_t choose_order(struct model *m, int field)
{
    if (m->ordering_type[field] == SL_BOOL)
        return pick(&m->rng, 2);
    if (chance(&m->rng, 15))
        return 0;
    return m->ordering_type[field] == SL_STRING ? pick(&m->rng, 12) : pick(&m->rng, 14) - 3;
}

static void build_row(struct model *m, sl_batch_builder *b, struct op *op)
{
    const struct key *k = &m->keys[op->key];
    size_t c = 0;
    ok(sl_builder_integer(b->columns[c++], k->id));
    ok(sl_builder_bytes(b->columns[c++], k->name, strlen(k->name)));
    ok(sl_builder_bytes(b->columns[c++], k->partition, strlen(k->partition)));
    for (int i = 0; i < m->ordering_count; i++) {
        op->order[i] = choose_order(m, i);
        build_order(m, b->columns[c++], i, op->order[i]);
    }
    op->has_order = true;
    if (m->marks) {
        if (!op->is_delete && chance(&m->rng, 30))
            ok(sl_builder_null(b->columns[c++]));
        else
            ok(sl_builder_bool(b->columns[c++], op->is_delete));
    }
    if (chance(&m->rng, 15))
        ok(sl_builder_null(b->columns[c++]));
    else
        ok(sl_builder_integer(b->columns[c++], pick(&m->rng, 100) - 20));
    random_value(&m->rng, b->columns[c], m->fields[c].type, true);
    c++;
    for (; c < m->columns; c++)
        random_value(&m->rng, b->columns[c], m->fields[c].type, m->fields[c].nullable);
}

static void keep_batch(struct model *m, sl_batch *batch)
{
    if (m->batch_count == m->batch_cap)
        m->batches =
            realloc(m->batches, (m->batch_cap = m->batch_cap ? m->batch_cap * 2 : 16) * sizeof *m->batches);
    m->batches[m->batch_count++] = batch;
}

/* The batch of some ops; a delete by key has key and partition columns only. */
static sl_batch *build_batch(struct model *m, struct op *ops, size_t count, bool by_key)
{
    sl_batch_builder b = {0};
    sl_batch *batch;
    const sl_type *narrow = NULL;
    if (by_key)
        ok(sl_type_struct(m->fields, 3, &narrow));
    ok(sl_batch_builder_init(&b, by_key ? narrow : m->schema));
    for (size_t i = 0; i < count; i++) {
        const struct key *k = &m->keys[ops[i].key];
        if (!by_key) {
            build_row(m, &b, &ops[i]);
            continue;
        }
        ok(sl_builder_integer(b.columns[0], k->id));
        ok(sl_builder_bytes(b.columns[1], k->name, strlen(k->name)));
        ok(sl_builder_bytes(b.columns[2], k->partition, strlen(k->partition)));
    }
    ok(sl_batch_builder_finish(&b, &batch));
    sl_batch_builder_free(&b);
    sl_type_unref(narrow);
    for (size_t i = 0; i < count && !by_key; i++) {
        ops[i].rows = batch;
        ops[i].row = (int64_t)i;
    }
    keep_batch(m, batch);
    return batch;
}

/* Keys without a row, each once. */
static size_t choose_new_keys(struct model *m, struct op *ops, size_t most)
{
    struct state s;
    size_t count = 0;
    replay(m, "", &s);
    for (int k = 0; k < m->key_count && count < most; k++)
        if ((!s.now[k] || s.now[k]->is_delete) && !s.held[k] && chance(&m->rng, 40))
            ops[count++] = (struct op){.key = k};
    return count;
}

/* Any keys, each once, of some partitions. */
static size_t choose_replacing_keys(struct model *m, struct op *ops, size_t most)
{
    size_t count = 0;
    int64_t partitions = pick(&m->rng, 1 << PARTITIONS_MAX);
    for (int k = 0; k < m->key_count && count < most; k++)
        if ((partitions >> m->keys[k].partition_number & 1) && chance(&m->rng, 40))
            ops[count++] = (struct op){.key = k};
    return count;
}

static void evolve_sometimes(struct model *m)
{
    if (m->columns == m->field_count || !chance(&m->rng, 15))
        return;
    sl_type_unref(m->schema);
    m->columns++;
    ok(sl_type_struct(m->fields, m->columns, &m->schema));
    TRACE(m, "column %s joins\n", m->fields[m->columns - 1].name);
}

/* Columns that the newest completed write left; a column whose write was rolled back is gone with it. */
static size_t table_columns(const struct model *m)
{
    struct state s;
    replay(m, "", &s);
    return s.columns ? s.columns : m->created_columns;
}

static struct event *new_event(struct model *m, size_t columns)
{
    struct event *e = &m->events[m->event_count++];
    memset(e, 0, sizeof *e);
    e->active = true;
    e->columns = columns;
    e->number = m->events_made++;
    return e;
}

static void write_some(struct model *m, enum sluice_operation operation);
static void schedule(struct model *m);
static void schedule_logs(struct model *m);
static void execute(struct model *m);
static void execute_logs(struct model *m);

/* Somebody else's commit while a writer of ours has rows; where it has begun its instant with them, a service's. */
static void change_meanwhile(struct model *m)
{
    sluice_table *ours = m->table;
    bool early = m->flushes_early, scarce = m->scarce;
    int64_t choice = pick(&m->rng, 100);
    TRACE(m, "meanwhile:\n");
    m->table = NULL;
    m->between = true;
    m->writer_at_work = early;
    reopen(m);
    if (m->lsm && choice < (early ? 50 : 30))
        schedule(m);
    else if (m->lsm && choice < (early ? 100 : 50))
        execute(m);
    else
        write_some(m, choice < 90 ? SLUICE_UPSERT : SLUICE_DELETE);
    sluice_table_close(m->table);
    m->table = ours;
    m->flushes_early = early;
    m->scarce = scarce;
    m->between = m->writer_at_work = false;
}

static void write_whole(struct model *m, enum sluice_operation operation, struct op *ops, size_t count,
                        sluice_commit_info *info)
{
    bool by_key = operation == SLUICE_DELETE;
    sluice_error e;
    sluice_writer *w;
    struct ArrowSchema schema;
    const sl_type *narrow;
    ok(sl_type_struct(m->fields, 3, &narrow));
    export_schema(by_key ? narrow : m->schema, &schema);
    sl_type_unref(narrow);
    OK(sluice_writer_open(m->table, operation, &schema, &w, &e));
    schema.release(&schema);
    for (size_t at = 0, n; at < count; at += n) {
        n = chance(&m->rng, 50) ? count - at : 1 + (size_t)pick(&m->rng, (int64_t)(count - at));
        OK(writer_append(w, build_batch(m, ops + at, n, by_key), &e));
    }
    bool known = m->flushes_early || !m->scarce; /* whether it has begun */
    if ((operation == SLUICE_UPSERT || by_key) && !m->between && known && chance(&m->rng, 15))
        change_meanwhile(m);
    OK(sluice_writer_commit(w, info, &e));
    sluice_writer_close(w);
}

/* The rows of one task as a stream. */
static void task_rows(sl_batch *batch, const struct op *ops, uint32_t task, struct ArrowArrayStream *out)
{
    uint8_t selection[64] = {0};
    sl_batch *rows;
    sl_stream *stream;
    assert_true(batch->rows <= 8 * (int64_t)sizeof selection);
    for (int64_t i = 0; i < batch->rows; i++)
        if (ops[i].task == task)
            bit_set(selection, i);
    ok(sl_batch_filter(batch, selection, &rows));
    ok(sl_stream_of_batches(batch->schema, &rows, 1, &stream));
    ok(api_export_stream(stream, 0, out));
}

/* Services while a write is begun, as of another process. */
static void serve_meanwhile(struct model *m)
{
    sluice_table *ours = m->table;
    bool early = m->flushes_early, scarce = m->scarce;
    TRACE(m, "beside a writer:\n");
    m->table = NULL;
    m->writer_at_work = true;
    reopen(m);
    for (int64_t steps = 1 + pick(&m->rng, 3); steps > 0; steps--) {
        void (*const services[])(struct model *) = {schedule, execute, schedule_logs, execute_logs};
        services[pick(&m->rng, 4)](m);
    }
    sluice_table_close(m->table);
    m->table = ours;
    m->flushes_early = early;
    m->scarce = scarce;
    m->writer_at_work = false;
}

/* As a distributed engine writes: planned, routed, run task by task (some twice), committed. */
static void write_as_job(struct model *m, enum sluice_operation operation, struct op *ops, size_t count,
                         sluice_commit_info *info)
{
    uint32_t tasks = 1 + (uint32_t)pick(&m->rng, TASKS_MAX), *numbers = calloc(count, sizeof *numbers);
    void *results[2 * TASKS_MAX];
    size_t sizes[2 * TASKS_MAX], done = 0, bytes;
    sl_batch *batch = build_batch(m, ops, count, operation == SLUICE_DELETE);
    static const char *const unpacked[] = {"hoodie.parquet.small.file.limit", "0", NULL}; /* see reopen */
    const char *const *options = m->simple_index && m->lsm ? unpacked : NULL;
    struct ArrowSchema schema;
    struct ArrowArray array;
    sluice_error e;
    sluice_job *job;
    export_schema(batch->schema, &schema);
    ok(sl_arrow_export_batch(batch, &array));
    OK(sluice_route(m->table, operation, &schema, &array, tasks, numbers, &e));
    schema.release(&schema);
    for (size_t i = 0; i < count; i++) {
        assert_true(numbers[i] < tasks);
        ops[i].task = numbers[i];
    }
    OK(sluice_job_plan_write(m->table, operation, tasks, &job, &e));
    assert_int_equal(sluice_job_tasks(job), tasks);
    if (m->lsm && chance(&m->rng, 40))
        serve_meanwhile(m);
    for (uint32_t t = tasks; t-- > 0;)
        for (int runs = chance(&m->rng, 20) ? 2 : 1; runs > 0; runs--, done++) {
            struct ArrowArrayStream rows;
            task_rows(batch, ops, t, &rows);
            const void *task = sluice_job_task(job, t, &bytes);
            OK(sluice_task_run(m->path, task, bytes, &rows, options, &results[done], &sizes[done], &e));
        }
    OK(sluice_job_commit(job, (const void *const *)results, sizes, done, info, &e));
    for (size_t i = 0; i < done; i++)
        sluice_free(results[i]);
    free(numbers);
}

/* Where a simple index found the keys: the state that the commit saw. */
static void find_homes(const struct model *m, struct op *ops, size_t count)
{
    struct state s;
    replay(m, "", &s);
    for (size_t i = 0; i < count; i++) {
        ops[i].held = s.held[ops[i].key];
        ops[i].home = s.group[ops[i].key];
    }
}

static void write_some(struct model *m, enum sluice_operation operation)
{
    size_t count = chance(&m->rng, 20) ? 1 : 1 + (size_t)pick(&m->rng, 150);
    struct op *ops = calloc(count, sizeof *ops);
    bool by_key = operation == SLUICE_DELETE, overwrites_all = operation == SLUICE_INSERT_OVERWRITE_TABLE,
         overwrites = overwrites_all || operation == SLUICE_INSERT_OVERWRITE;
    sluice_commit_info info = {.size = sizeof info};
    if (overwrites)
        count = choose_replacing_keys(m, ops, count);
    else if (operation == SLUICE_UPSERT || operation == SLUICE_DELETE)
        for (size_t i = 0; i < count; i++)
            ops[i].key = (int)pick(&m->rng, m->key_count);
    else
        count = choose_new_keys(m, ops, count);
    if ((operation == SLUICE_UPSERT || overwrites) && m->marks && chance(&m->rng, 60))
        for (size_t i = 0; i < count; i++)
            ops[i].is_delete = chance(&m->rng, 25);
    if (count == 0) {
        free(ops);
        return;
    }
    if (!by_key && !m->between)
        evolve_sometimes(m);
    size_t columns_before = table_columns(m);
    bool as_job = chance(&m->rng, 20) && (by_key || m->columns == columns_before);
    if (as_job)
        write_as_job(m, operation, ops, count, &info);
    else
        write_whole(m, operation, ops, count, &info);
    find_homes(m, ops, count);
    struct event *event = new_event(m, by_key ? table_columns(m) : m->columns);
    bool deletes[TASKS_MAX] = {0};
    for (size_t i = 0; i < count; i++) {
        ops[i].is_delete |= by_key;
        deletes[ops[i].task] |= ops[i].is_delete;
    }
    for (size_t i = 0; i < count; i++) {
        ops[i].logs = deletes[ops[i].task] || (m->flushes_early && !as_job);
        ops[i].instant = event->instant;
    }
    snprintf(event->instant, sizeof event->instant, "%s", info.instant);
    event->ops = ops;
    event->count = count;
    for (size_t i = 0; i < count && overwrites; i++)
        event->replaces[m->keys[ops[i].key].partition_number] = true;
    for (int p = 0; p < PARTITIONS_MAX && overwrites_all; p++)
        event->replaces[p] = true;
    assert_int_equal(info.rows_in, count);
    TRACE(m, "%s operation %d rows %zu\n", info.instant, (int)operation, count);
}

static struct event *pending_compaction(struct model *m);
static struct event *pending_log_compaction(struct model *m);

/* Partitions with rows, named by path or by value. */
static void delete_partitions(struct model *m)
{
    struct state s;
    const char *names[KEYS_MAX];
    char values[PARTITIONS_MAX][48];
    bool chosen[PARTITIONS_MAX] = {0}, is_planned = false;
    size_t count = 0;
    const struct event *plan = pending_compaction(m);
    replay(m, "", &s);
    for (int k = 0; k < m->key_count; k++) {
        int p = m->keys[k].partition_number;
        if (chosen[p] || !s.now[k] || s.now[k]->is_delete || !chance(&m->rng, 10))
            continue;
        chosen[p] = true;
        is_planned = is_planned || (plan && plan->planned[p]);
        snprintf(values[p], sizeof values[p], "p=%s", m->keys[k].partition);
        names[count++] = chance(&m->rng, 50) ? m->keys[k].path : values[p];
    }
    if (count == 0 || !m->partitioned)
        return;
    sluice_commit_info info = {.size = sizeof info};
    sluice_error e;
    int code = sluice_table_delete_partitions(m->table, names, count, &info, &e);
    if (code == SLUICE_E_CONFLICT && (is_planned || pending_log_compaction(m)))
        return;
    assert_int_equal(code, is_planned ? SLUICE_E_CONFLICT : SLUICE_OK);
    assert_int_equal(info.partitions, count);
    struct event *event = new_event(m, table_columns(m));
    memcpy(event->replaces, chosen, sizeof chosen);
    snprintf(event->instant, sizeof event->instant, "%s", info.instant);
    TRACE(m, "%s %zu partitions deleted\n", info.instant, count);
}

/* ---- compaction and rollback --------------------------------------------------------------------------- */

static struct event *pending_compaction(struct model *m)
{
    for (size_t i = 0; i < m->event_count; i++)
        if (m->events[i].is_compaction && !m->events[i].active)
            return &m->events[i];
    return NULL;
}

static struct event *pending_log_compaction(struct model *m)
{
    for (size_t i = 0; i < m->event_count; i++)
        if (m->events[i].is_log_compaction && !m->events[i].active)
            return &m->events[i];
    return NULL;
}

static void schedule(struct model *m)
{
    char instant[32];
    sluice_error e;
    uint64_t tasks = 0;
    if (pending_compaction(m) || pending_log_compaction(m))
        return;
    struct state s;
    replay(m, "", &s);
    uint64_t expected = 0;
    for (int g = 0; g < m->group_count; g++)
        expected += s.has_logs[g];
    OK(sluice_service_schedule(m->table, SLUICE_COMPACT, instant, &tasks, &e));
    assert_int_equal(tasks, expected);
    assert_int_equal(*instant != 0, expected != 0);
    TRACE(m, "%s plan, %d tasks\n", instant, (int)tasks);
    if (!*instant)
        return;
    struct event *event = new_event(m, 0);
    event->is_compaction = true;
    event->active = false;
    for (int g = 0; g < m->group_count; g++)
        if (s.has_logs[g])
            event->planned[m->simple_index ? g % PARTITIONS_MAX : g / m->buckets] = true;
    snprintf(event->instant, sizeof event->instant, "%s", instant);
}

/* Which groups have logs enough is not the model's business: no row may change. */
static void schedule_logs(struct model *m)
{
    char instant[32];
    sluice_error e;
    if (pending_log_compaction(m))
        return;
    OK(sluice_service_schedule(m->table, SLUICE_LOG_COMPACT, instant, NULL, &e));
    TRACE(m, "%s plan of logs\n", instant);
    if (!*instant)
        return;
    struct event *event = new_event(m, 0);
    event->is_log_compaction = true;
    event->active = false;
    snprintf(event->instant, sizeof event->instant, "%s", instant);
}

static void execute_in_parts(struct model *m, enum sluice_service service, const char *instant)
{
    sluice_error e;
    sluice_job *job;
    sluice_commit_info info = {.size = sizeof info};
    OK(sluice_job_plan(m->table, service, instant, &job, &e));
    size_t tasks = sluice_job_tasks(job), count = 0;
    void **results = calloc(tasks * 2 + 1, sizeof *results);
    size_t *sizes = calloc(tasks * 2 + 1, sizeof *sizes);
    assert_true(tasks > 0);
    for (size_t i = tasks; i-- > 0;)
        for (int runs = chance(&m->rng, 20) ? 2 : 1; runs > 0; runs--, count++) {
            size_t bytes;
            const void *task = sluice_job_task(job, i, &bytes);
            OK(sluice_task_run(m->path, task, bytes, NULL, NULL, &results[count], &sizes[count], &e));
        }
    OK(sluice_job_commit(job, (const void *const *)results, sizes, count, &info, &e));
    assert_string_equal(info.instant, instant);
    for (size_t i = 0; i < count; i++)
        sluice_free(results[i]);
    free(results);
    free(sizes);
}

/* Columns of the table after a service. While a writer is at work it says nothing of them, and what was said before it
 * counts. */
static size_t columns_after(const struct model *m, const struct event *event)
{
    size_t columns = m->created_columns;
    if (!m->writer_at_work)
        return table_columns(m);
    for (const struct event *e = m->events; e < event; e++)
        if (e->active)
            columns = e->columns;
    return columns;
}

static void execute_service(struct model *m, enum sluice_service service, struct event *event)
{
    sluice_error e;
    sluice_commit_info info = {.size = sizeof info};
    TRACE(m, "%s executed\n", event->instant);
    if (chance(&m->rng, 30)) {
        execute_in_parts(m, service, event->instant);
    } else {
        OK(sluice_service_run(m->table, service, chance(&m->rng, 50) ? event->instant : NULL, &info, &e));
        assert_string_equal(info.instant, event->instant);
    }
    event->columns = columns_after(m, event);
    event->active = true;
}

static void execute_logs(struct model *m)
{
    struct event *event = pending_log_compaction(m);
    if (event)
        execute_service(m, SLUICE_LOG_COMPACT, event);
}

static void execute(struct model *m)
{
    struct event *event = pending_compaction(m);
    if (!event)
        return;
    for (const struct event *after = event + 1; after < m->events + m->event_count; after++)
        for (int p = 0; p < PARTITIONS_MAX; p++)
            event->replaces[p] = event->replaces[p] || after->replaces[p];
    execute_service(m, SLUICE_COMPACT, event);
}

/* A service that began while it was written stands after it. */
static bool is_overtaken(const struct model *m, const struct event *event)
{
    for (size_t i = 0; i < m->event_count; i++)
        if (strcmp(m->events[i].instant, event->instant) > 0)
            return true;
    return false;
}

/* Takes back the newest write or compaction, or the plan that waits. */
static void roll_back(struct model *m)
{
    sluice_error e;
    char instant[32];
    uint64_t files;
    struct event *pending = pending_compaction(m),
                 *newest = m->event_count ? &m->events[m->event_count - 1] : NULL;
    if (!newest || (pending && pending != newest && !chance(&m->rng, 30)))
        return;
    struct event *target = pending ? pending : newest;
    TRACE(m, "%s is rolled back\n", target->instant);
    if (target->active && is_overtaken(m, target)) { /* a plan may go at any time */
        assert_int_equal(sluice_table_rollback(m->table, target->instant, instant, &files, &e),
                         SLUICE_E_INPUT);
        return;
    }
    OK(sluice_table_rollback(m->table, target->instant, instant, &files, &e));
    free(target->ops);
    memmove(target, target + 1, (size_t)(newest - target) * sizeof *target);
    m->event_count--;
    for (; target < newest; target++)
        for (size_t i = 0; i < target->count; i++)
            target->ops[i].instant = target->instant;
}

/* ---- queries ------------------------------------------------------------------------------------------- */

/* A predicate and what it says of a row: 1 true, 0 false, -1 unknown. */
enum predicate_kind {
    ID_LESS,
    ID_EQUAL,
    ID_IN,
    NAME_EQUAL,
    NAME_LESS,
    V_GREATER,
    V_NULL,
    V_BETWEEN,
    S_NOT_NULL,
    PARTITION_EQUAL,
    RECORD_KEY_EQUAL,
    KINDS
};
struct predicate {
    enum predicate_kind kind;
    int64_t a, b;
    const struct key *key;
    bool negate;
    int join; /* with the predicate before: 0 and, 1 or */
};

static int evaluate_one(const struct predicate *p, const struct model *m, const struct op *op)
{
    const struct key *k = &m->keys[op->key];
    int v_at = sl_type_field_index(op->rows->schema, "v"), s_at = sl_type_field_index(op->rows->schema, "s");
    const sl_array *v = op->rows->columns[v_at], *s = op->rows->columns[s_at];
    bool has_v = sl_is_valid(v, op->row);
    int64_t value = has_v ? sl_i64_at(v, op->row) : 0;
    int result = 0;
    switch (p->kind) {
    case ID_LESS:
        result = k->id < p->a;
        break;
    case ID_EQUAL:
        result = k->id == p->a;
        break;
    case ID_IN:
        result = k->id == p->a || k->id == p->b;
        break;
    case NAME_EQUAL:
        result = strcmp(k->name, p->key->name) == 0;
        break;
    case NAME_LESS:
        result = strcmp(k->name, p->key->name) < 0;
        break;
    case V_GREATER:
        result = has_v ? value > p->a : -1;
        break;
    case V_NULL:
        result = !has_v;
        break;
    case V_BETWEEN:
        result = has_v ? value >= p->a && value <= p->b : -1;
        break;
    case S_NOT_NULL:
        result = sl_is_valid(s, op->row);
        break;
    case PARTITION_EQUAL:
        result = strcmp(k->partition, p->key->partition) == 0;
        break;
    case RECORD_KEY_EQUAL:
        result = strcmp(k->record, p->key->record) == 0;
        break;
    case KINDS:
        break;
    }
    return p->negate && result >= 0 ? !result : result;
}

static int and3(int a, int b) { return a == 0 || b == 0 ? 0 : a < 0 || b < 0 ? -1 : 1; }
static int or3(int a, int b) { return a == 1 || b == 1 ? 1 : a < 0 || b < 0 ? -1 : 0; }

static bool evaluate(const struct predicate *p, int count, const struct model *m, const struct op *op)
{
    int result = 1;
    for (int i = 0; i < count; i++) {
        int one = evaluate_one(&p[i], m, op);
        result = i == 0 ? one : p[i].join ? or3(result, one) : and3(result, one);
    }
    return result == 1;
}

static void predicate_text(const struct predicate *p, char *out, size_t bytes)
{
    char one[200];
    switch (p->kind) {
    case ID_LESS:
        snprintf(one, sizeof one, "id < %d", (int)p->a);
        break;
    case ID_EQUAL:
        snprintf(one, sizeof one, "id = %d", (int)p->a);
        break;
    case ID_IN:
        snprintf(one, sizeof one, "id in (%d, %d)", (int)p->a, (int)p->b);
        break;
    case NAME_EQUAL:
        snprintf(one, sizeof one, "name = '%s'", p->key->name);
        break;
    case NAME_LESS:
        snprintf(one, sizeof one, "name < '%s'", p->key->name);
        break;
    case V_GREATER:
        snprintf(one, sizeof one, "v > %d", (int)p->a);
        break;
    case V_NULL:
        snprintf(one, sizeof one, "v is null");
        break;
    case V_BETWEEN:
        snprintf(one, sizeof one, "v between %d and %d", (int)p->a, (int)p->b);
        break;
    case S_NOT_NULL:
        snprintf(one, sizeof one, "s is not null");
        break;
    case PARTITION_EQUAL:
        snprintf(one, sizeof one, "p = '%s'", p->key->partition);
        break;
    case RECORD_KEY_EQUAL:
        snprintf(one, sizeof one, "_hoodie_record_key = '%s'", p->key->record);
        break;
    case KINDS:
        break;
    }
    snprintf(out, bytes, "%s(%s)", p->negate ? "not " : "", one);
}

/* Left-deep: ((p0 and p1) or p2), as evaluate does it. */
static int choose_predicates(struct model *m, struct predicate *p, char *text, size_t bytes)
{
    int count = 1 + (int)pick(&m->rng, 3);
    char all[900] = "", one[240];
    for (int i = 0; i < count; i++) {
        const struct key *k = &m->keys[pick(&m->rng, m->key_count)];
        p[i] = (struct predicate){.kind = (enum predicate_kind)pick(&m->rng, KINDS),
                                  .key = k,
                                  .negate = chance(&m->rng, 25),
                                  .join = chance(&m->rng, 50)};
        bool on_v = p[i].kind == V_GREATER || p[i].kind == V_BETWEEN;
        p[i].a = on_v ? pick(&m->rng, 110) - 25 : k->id;
        p[i].b = on_v ? p[i].a + pick(&m->rng, 30) : m->keys[pick(&m->rng, m->key_count)].id;
        predicate_text(&p[i], one, sizeof one);
        snprintf(text, bytes, i ? "(%s) %s %s" : "%s%s%s", all, i ? (p[i].join ? "or" : "and") : "", one);
        snprintf(all, sizeof all, "%.890s", text);
    }
    return count;
}

struct projection {
    const char *names[3 + 8 + EXTRA_MAX];
    size_t count;
};

/* Record key and commit time always; the other columns all, or some. */
static void choose_projection(struct model *m, size_t columns, struct projection *p)
{
    bool all = chance(&m->rng, 60);
    p->count = 0;
    p->names[p->count++] = "_hoodie_commit_time";
    p->names[p->count++] = "_hoodie_record_key";
    p->names[p->count++] = "_hoodie_partition_path";
    for (size_t i = 0; i < columns; i++)
        if (all || chance(&m->rng, 40))
            p->names[p->count++] = m->fields[i].name;
}

static void append_expected(const struct model *m, const struct op *op, const sl_type *schema,
                            const struct projection *p, struct text *out)
{
    const struct key *k = &m->keys[op->key];
    sl_batch *row, *conformed, *full, *projected;
    const sl_type *full_schema, *string;
    sl_field fields[3 + 8 + EXTRA_MAX];
    sl_array *columns[3 + 8 + EXTRA_MAX];
    sl_buf line = {0};
    ok(sl_batch_copy(op->rows, op->row, 1, &row));
    ok(sl_batch_conform(row, schema, &conformed));
    ok(sl_type_new(SL_STRING, &string));
    for (size_t i = 0; i < 3; i++)
        fields[i] = (sl_field){.name = p->names[i], .type = string, .nullable = true};
    memcpy(fields + 3, schema->fields, schema->field_count * sizeof *fields);
    ok(sl_type_struct(fields, 3 + schema->field_count, &full_schema));
    ok(sl_array_constant_string(op->instant, strlen(op->instant), 1, &columns[0]));
    ok(sl_array_constant_string(k->record, strlen(k->record), 1, &columns[1]));
    ok(sl_array_constant_string(k->path, strlen(k->path), 1, &columns[2]));
    for (size_t i = 0; i < schema->field_count; i++)
        columns[3 + i] = sl_array_ref(conformed->columns[i]);
    ok(sl_batch_new(full_schema, 1, columns, &full));
    ok(sl_batch_project(full, p->names, p->count, &projected));
    ok(sl_row_text(projected, 0, SL_TEXT_CANONICAL, &line));
    text_append(out, (const char *)line.data, line.len);
    text_append(out, "\n", 1);
    sl_buf_free(&line);
    sl_batch_unref(row);
    sl_batch_unref(conformed);
    sl_batch_unref(full);
    sl_batch_unref(projected);
    sl_type_unref(full_schema);
    sl_type_unref(string);
}

static void show_difference(const char *expected, const char *actual)
{
    size_t at = 0;
    while (expected[at] && expected[at] == actual[at])
        at++;
    while (at && expected[at - 1] != '\n')
        at--;
    fprintf(stderr, "first difference\n  expected %.600s\n  actual   %.600s\n", expected + at, actual + at);
}

/* Whether `actual` holds lines of `expected` (both sorted), as many as there are up to the limit. */
static bool is_some_of(const char *actual, const char *expected, int64_t limit)
{
    int64_t there = 0, taken = 0;
    for (const char *line = expected; *line; there++) {
        size_t len = (size_t)(strchr(line, '\n') - line) + 1;
        if (strncmp(actual, line, len) == 0) {
            actual += len;
            taken++;
        }
        line += len;
    }
    return !*actual && taken == (there < limit ? there : limit);
}

static void check_query(struct model *m)
{
    struct state s;
    struct predicate predicates[3];
    struct projection projection;
    char where[1600] = "", as_of[32] = "", *actual;
    struct text lines = {0};
    sluice_error e;
    int predicate_count = chance(&m->rng, 50) ? choose_predicates(m, predicates, where, sizeof where) : 0;
    bool read_optimized = chance(&m->rng, 20);
    if (m->event_count && chance(&m->rng, 35))
        snprintf(as_of, sizeof as_of, "%s", m->events[pick(&m->rng, (int64_t)m->event_count)].instant);
    /* A write that began before a compaction and completed after it may have seen that a key is gone and put it into a
     * group of its own. At the write's instant, which is the older one, the first group's base file holds the key again. */
    if (*as_of && m->simple_index)
        read_optimized = false;
    replay(m, as_of, &s);
    if (s.columns == 0) /* nothing completed yet: the schema the table was made with */
        s.columns = m->created_columns;
    choose_projection(m, s.columns, &projection);
    struct query q = {.columns = projection.names,
                      .column_count = projection.count,
                      .where = *where ? where : NULL,
                      .as_of = *as_of ? as_of : NULL,
                      .read_optimized = read_optimized,
                      .limited = chance(&m->rng, 10),
                      .limit = pick(&m->rng, m->key_count + 2),
                      .by_tasks = NULL};
    if (!q.limited && chance(&m->rng, 15))
        q.by_tasks = m->path;
    OK(read_rows(m->table, &q, &actual, &e));
    const sl_type *schema;
    ok(sl_type_struct(m->fields, s.columns, &schema));
    text_append(&lines, "", 0);
    for (int k = 0; k < m->key_count; k++) {
        const struct op *op = read_optimized ? s.base[k] : s.now[k];
        if (op && !op->is_delete && evaluate(predicates, predicate_count, m, op))
            append_expected(m, op, schema, &projection, &lines);
    }
    sl_type_unref(schema);
    char *expected = sorted_lines(&lines);
    bool right = q.limited ? is_some_of(actual, expected, q.limit) : strcmp(expected, actual) == 0;
    if (!right) {
        fprintf(stderr, "query: where \"%s\" as of \"%s\"%s\n", where, as_of,
                read_optimized ? " read-optimised" : "");
        show_difference(expected, actual);
        fail_msg("table and model differ");
    }
    free(expected);
    free(actual);
}

/* Some keys, there or not: the rows that the model has of them. */
static void check_lookup(struct model *m)
{
    enum { MOST = 8 };
    struct state s;
    struct projection projection;
    struct text lines = {0}, found = {0};
    struct ArrowArrayStream rows;
    const char *keys[MOST];
    const sl_type *schema;
    sluice_error e;
    size_t count = 0;
    replay(m, "", &s);
    if (s.columns == 0)
        s.columns = m->created_columns;
    choose_projection(m, s.columns, &projection);
    sluice_lookup_options options = {
        .size = sizeof options, .columns = projection.names, .column_count = projection.count};
    ok(sl_type_struct(m->fields, s.columns, &schema));
    text_append(&lines, "", 0);
    text_append(&found, "", 0);
    for (int k = (int)pick(&m->rng, m->key_count); k < m->key_count && count < MOST;
         k += 1 + (int)pick(&m->rng, 5)) {
        keys[count++] = m->keys[k].record;
        if (s.now[k] && !s.now[k]->is_delete)
            append_expected(m, s.now[k], schema, &projection, &lines);
    }
    sl_type_unref(schema);
    OK(sluice_lookup(m->table, keys, count, &options, &rows, &e));
    OK(append_stream(&rows, &found, &e));
    char *expected = sorted_lines(&lines), *actual = sorted_lines(&found);
    if (strcmp(expected, actual) != 0) {
        fprintf(stderr, "lookup of %zu keys from \"%s\"\n", count, keys[0]);
        show_difference(expected, actual);
        fail_msg("table and model differ");
    }
    free(expected);
    free(actual);
}

/* ---- the test ------------------------------------------------------------------------------------------ */

static void step(struct model *m)
{
    int64_t choice = pick(&m->rng, 100);
    if (choice < 36)
        write_some(m, SLUICE_UPSERT);
    else if (choice < 40)
        write_some(m, chance(&m->rng, 70) ? SLUICE_INSERT_OVERWRITE : SLUICE_INSERT_OVERWRITE_TABLE);
    else if (choice < 42)
        delete_partitions(m);
    else if (choice < 50)
        write_some(m, chance(&m->rng, 50) ? SLUICE_INSERT : SLUICE_BULK_INSERT);
    else if (choice < 62)
        write_some(m, SLUICE_DELETE);
    else if (choice < 69 && m->lsm)
        schedule(m);
    else if (choice < 75 && m->lsm)
        execute(m);
    else if (choice < 83 && m->lsm)
        schedule_logs(m);
    else if (choice < 88 && m->lsm)
        execute_logs(m);
    else if (choice < 93)
        roll_back(m);
    else
        reopen(m);
}

/* Whatever was done to it, the table is sound: all files sorted (golden check G-27), footers, statistics, buckets, keys. */
static void check_soundness(struct model *m)
{
    sluice_error e;
    char *report;
    OK(sluice_table_doctor(m->table, 1, &report, &e));
    if (!strstr(report, "\"errors\":0,"))
        fail_msg("%s", report);
    sluice_free(report);
    if (m->cdc)
        check_changes(m->table->table, "");
}

static uint64_t seed_of_run;
static uint64_t rounds;

static void test_random_tables(void **state)
{
    (void)state;
    char folder[200];
    temporary_folder(folder, sizeof folder);
    double start = sl_monotonic();
    uint64_t done = 0;
    double seconds = getenv("SL_TEST_QUICK") ? 5 : rounds ? 1800 : 10;
    for (uint64_t round = 0; (!rounds || round < rounds) && sl_monotonic() - start < seconds;
         round++, done++) {
        struct model m;
        uint64_t seed = seed_of_run + round;
        fprintf(stderr, "SEED=%" PRIu64 "%s", seed, getenv("MODEL_TRACE") ? "\n" : "\r");
        model_init(&m, seed, folder);
        check_query(&m);
        for (int64_t i = 0, steps = 2 + pick(&m.rng, 25); i < steps && m.events_made + 4 < EVENTS_MAX; i++) {
            step(&m);
            for (int q = 0; q < 3; q++)
                check_query(&m);
            check_lookup(&m);
        }
        check_soundness(&m);
        model_free(&m);
    }
    printf("%" PRIu64 " tables from SEED=%" PRIu64 "\n", done, seed_of_run);
    remove_folder(folder);
}

int main(void)
{
    seed_of_run = number_from_environment("SEED", (uint64_t)time(NULL) % 1000000 * 1000);
    rounds = number_from_environment("ROUNDS", 0);
    printf("SEED=%" PRIu64 "\n", seed_of_run);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_tables)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
