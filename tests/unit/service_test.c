/*
 * Compactions of both kinds: which logs and file groups a plan takes, when one is due, what it leaves for readers, and that
 * writers go on beside it. Golden checks G-22, G-23 and G-24 of spec/lsm-layout.md 19.
 */
#include "table_folder.h"

#include "service/service_int.h"

#define COLUMNS "k string not null, ts long not null, v string"

/* ---- tables -------------------------------------------------------------------------------------------- */

static sl_table *open_with(const char *const *options)
{
    sl_properties p = {0};
    sl_table *t;
    for (size_t i = 0; options && options[i]; i += 2)
        ok(sl_properties_set(&p, options[i], options[i + 1]));
    ok(sl_table_open(path, &p, NULL, &t));
    sl_properties_free(&p);
    return t;
}

static sl_table *create(const char *merge_mode, const char *const *options)
{
    struct sl_create_options o = {.name = "t1"};
    const char *const *properties = lsm_options("k", PAIRS("hoodie.table.ordering.fields", "ts"));
    ok(sl_schema_parse(COLUMNS, &o.schema));
    for (; *properties; properties += 2)
        ok(sl_properties_set(&o.properties, properties[0], properties[1]));
    ok(sl_properties_set(&o.properties, "hoodie.record.merge.mode", merge_mode));
    ok(sl_table_create(path, &o));
    sl_type_unref(o.schema);
    sl_properties_free(&o.properties);
    return open_with(options);
}

#define EVENT_TIME  "EVENT_TIME_ORDERING"
#define COMMIT_TIME "COMMIT_TIME_ORDERING"

/* Rows as "key ts v", one blank between the parts, joined by "; ". A delete's are keys alone. */
static sl_batch *rows_of(const sl_type *schema, const char *text, bool keys)
{
    sl_batch_builder b = {0};
    sl_batch *batch;
    ok(sl_batch_builder_init(&b, schema));
    for (const char *at = text; at && *at;) {
        char key[20], v[20] = "";
        long long ts = 0;
        assert_int_equal(sscanf(at, keys ? "%19[^; ]" : "%19s %lld %19[^; ]", key, &ts, v), keys ? 1 : 3);
        ok(sl_builder_bytes(b.columns[0], key, strlen(key)));
        if (!keys) {
            ok(sl_builder_integer(b.columns[1], ts));
            ok(sl_builder_bytes(b.columns[2], v, strlen(v)));
        }
        at = strstr(at, "; ");
        at = at ? at + 2 : NULL;
    }
    ok(sl_batch_builder_finish(&b, &batch));
    sl_batch_builder_free(&b);
    return batch;
}

static void write_batch_of(sl_table *t, enum sl_operation operation, sl_batch *batch)
{
    struct sl_write_result result;
    sl_writer *w;
    ok(sl_writer_open(t, operation, batch->schema, &w));
    ok(sl_writer_append(w, batch));
    ok(sl_writer_commit(w, &result));
    sl_writer_close(w);
    sl_batch_unref(batch);
}

static void upsert(sl_table *t, const char *text)
{
    const sl_type *schema;
    ok(sl_schema_parse(COLUMNS, &schema));
    write_batch_of(t, SL_OP_UPSERT, rows_of(schema, text, false));
    sl_type_unref(schema);
}

/* A delete without an ordering value: it beats whatever is older, and whatever is newer beats it. */
static void delete_keys(sl_table *t, const char *text)
{
    const sl_type *schema;
    ok(sl_schema_parse("k string not null", &schema));
    write_batch_of(t, SL_OP_DELETE, rows_of(schema, text, true));
    sl_type_unref(schema);
}

/* `count` rows with keys from `first` on. */
static void upsert_many(sl_table *t, int first, int count, int ts)
{
    const sl_type *schema;
    sl_batch_builder b = {0};
    sl_batch *batch;
    struct rng rng = {(uint64_t)ts};
    ok(sl_schema_parse(COLUMNS, &schema));
    ok(sl_batch_builder_init(&b, schema));
    for (int i = first; i < first + count; i++) {
        char key[20], v[40];
        snprintf(key, sizeof key, "%08d", i);
        snprintf(v, sizeof v, "%016" PRIx64, rng_next(&rng));
        ok(sl_builder_bytes(b.columns[0], key, strlen(key)));
        ok(sl_builder_integer(b.columns[1], ts));
        ok(sl_builder_bytes(b.columns[2], v, strlen(v)));
    }
    ok(sl_batch_builder_finish(&b, &batch));
    sl_batch_builder_free(&b);
    sl_type_unref(schema);
    write_batch_of(t, SL_OP_UPSERT, batch);
}

/* "a 5 x; b 1 y", by key; *stats (may be NULL) says what was read. */
static const char *rows(sl_table *t, sl_read_stats *stats)
{
    static char text[4000];
    static const char *const columns[] = {"k", "ts", "v"};
    struct sl_scan_options o = {.limit = -1, .columns = columns, .column_count = 3};
    sl_stream *stream;
    size_t n = 0;
    *text = 0;
    ok(sl_scan_open(t, &o, stats, &stream));
    for (;;) {
        sl_batch *batch;
        ok(sl_stream_next(stream, &batch));
        if (!batch)
            break;
        for (int64_t r = 0; r < batch->rows && n + 60 < sizeof text; r++) {
            size_t k_len, v_len;
            const char *k = (const char *)sl_bytes_at(batch->columns[0], r, &k_len);
            const char *v = (const char *)sl_bytes_at(batch->columns[2], r, &v_len);
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%.*s %d %.*s", n ? "; " : "", (int)k_len, k,
                                  (int)sl_i64_at(batch->columns[1], r), (int)v_len, v);
        }
        sl_batch_unref(batch);
    }
    sl_stream_close(stream);
    return text;
}

/* Plans and executes; its instant, "" when there was nothing to do. */
static const char *run(sl_table *t, enum sl_service service)
{
    static char instant[SL_INSTANT_BYTES];
    struct sl_write_result result;
    size_t operations;
    ok(sl_service_schedule(t, service, SL_SELECT_ALL, instant, &operations));
    if (*instant)
        ok(sl_service_execute(t, service, instant, &result));
    return instant;
}

static const sl_instant *instant_of(sl_table *t, sl_timeline *timeline, const char *requested,
                                    enum sl_action action)
{
    ok(sl_timeline_load(t, timeline));
    const sl_instant *found = sl_timeline_find(timeline, requested, action);
    assert_non_null(found);
    return found;
}

static json_t *content(sl_table *t, const char *requested, enum sl_action action, enum sl_instant_state state)
{
    sl_timeline timeline;
    json_t *json;
    ok(sl_instant_json(t, instant_of(t, &timeline, requested, action), state, &json));
    sl_timeline_free(&timeline);
    return json;
}

/* Names below the one partition that are of the instant, without what all share: "1.log 1.deletes". */
static const char *files_of(sl_table *t, const char *instant)
{
    static char text[400];
    sl_listing listing;
    size_t n = 0;
    *text = 0;
    ok(sl_storage_list(t->storage, path, &listing));
    for (int kind = SL_FILE_LOG; kind <= SL_FILE_DELETES; kind++)
        for (size_t i = 0; i < listing.count; i++) {
            struct sl_file_name parts;
            sl_file_name_parse(listing.entries[i].name, &parts);
            if ((int)parts.kind == kind && strcmp(parts.instant, instant) == 0)
                n += (size_t)snprintf(text + n, sizeof text - n, "%s%d.%s", n ? " " : "", (int)parts.version,
                                      kind == SL_FILE_LOG ? "log" : "deletes");
        }
    sl_listing_free(&listing);
    return text;
}

static const char *const threshold_2[] = {"hoodie.log.compaction.blocks.threshold", "2", NULL};

/* ---- stretches ----------------------------------------------------------------------------------------- */

/* Logs as "instant", with d: deletes, i: inline, x: replaced, =P: takes place P, *N: N bytes instead of 100. */
static size_t logs_of(const char *text, struct sl_slice_log *logs, sl_data_file *files, char (*places)[8])
{
    size_t n = 0;
    for (const char *at = text; *at; n++) {
        char instant[8];
        size_t len = strspn(at, "0123456789");
        snprintf(instant, sizeof instant, "%.*s", (int)len, at);
        files[n] = (sl_data_file){.size = 100, .parts = {.kind = SL_FILE_LOG}};
        snprintf(files[n].parts.instant, SL_INSTANT_BYTES, "%s", instant);
        logs[n] = (struct sl_slice_log){.file = &files[n]};
        snprintf(places[n], sizeof places[n], "%s", instant);
        for (at += len; *at && *at != ' '; at++) {
            if (*at == 'd')
                files[n].parts.kind = SL_FILE_DELETES;
            else if (*at == 'i')
                files[n].parts.kind = SL_FILE_INLINE_LOG;
            else if (*at == 'x')
                logs[n].dropped = true;
            else if (*at == '=')
                snprintf(places[n], sizeof places[n], "%.*s", (int)strspn(at + 1, "0123456789"), at + 1);
            else if (*at == '*')
                files[n].size = strtoull(at + 1, NULL, 10);
        }
        logs[n].place = places[n];
        at += *at == ' ';
    }
    return n;
}

static const struct {
    const char *logs, *before;
    bool tiered;
    size_t least;
    const char *expected; /* instants taken, replaced ones left out */
} stretches[] = {
    {"10 11 12", NULL, false, 2, "10 11 12"},
    {"10 11 12", NULL, false, 4, ""},
    {"10 11 12", "12", false, 2, "10 11"},
    {"10 11 12", "10", false, 2, ""},
    {"10 10d 11 12", "12", false, 3, "10 10 11"},
    {"10 10d", NULL, false, 2, ""}, /* one instant by itself */
    {"10i 11 12 13", NULL, false, 2, "11 12 13"},
    {"10 11 12i 13 14 15", NULL, false, 2, "13 14 15"},
    {"10x 11x 20=11 12", NULL, false, 2, "20 12"},
    {"10x 11x 20=11 12", "20", false, 2, "20 12"}, /* by its place, not by its time */
    {"10x 11x 20=11 12", "12", false, 2, ""},
    {"10*1000 11 12 13", NULL, true, 3, "11 12 13"},
    {"10*400 11 12 13", NULL, true, 3, "10 11 12 13"},
    {"10*401 11 12 13", NULL, true, 3, "11 12 13"},
    {"10*1000 11 12*1000 13", NULL, true, 2, ""},
    {"10*50 10d*60 11*400", NULL, true, 2, "10 10 11"}, /* an instant weighs as a whole */
};

static void test_stretches(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof stretches / sizeof *stretches; i++) {
        struct sl_slice_log items[16];
        sl_data_file files[16];
        char places[16][8], text[200] = "";
        struct sl_slice_logs logs = {items, logs_of(stretches[i].logs, items, files, places)};
        size_t first, count, n = 0;
        ok(stretch_choose(&logs, stretches[i].before, stretches[i].tiered, stretches[i].least, &first,
                          &count));
        for (size_t k = first; k < first + count; k++)
            if (!items[k].dropped)
                n +=
                    (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? " " : "", files[k].parts.instant);
        if (strcmp(text, stretches[i].expected) != 0)
            fail_msg("%s before %s: %s", stretches[i].logs, stretches[i].before, text);
    }
}

/* Somebody else's write, begun right after that of a log and still under way: what came later may not be taken. */
static void begin_write_after(const char *instant)
{
    char file[400];
    static const char *const states[] = {"requested", "inflight"};
    for (int i = 0; i < 2; i++) {
        snprintf(file, sizeof file, "%s/.hoodie/timeline/%lld.deltacommit.%s", path, atoll(instant) + 1,
                 states[i]);
        FILE *f = fopen(file, "wb");
        assert_non_null(f);
        fclose(f);
    }
}

static void test_stretches_end_at_pending_writes(void **state)
{
    (void)state;
    sl_table *t = create(EVENT_TIME, threshold_2);
    struct candidates c;
    upsert(t, "a 5 base");
    for (int i = 0; i < 4; i++)
        upsert(t, "a 6 more");
    ok(candidates_load(t, NULL, &c));
    assert_int_equal(c.items[0].log_count, 4);
    begin_write_after(c.items[0].logs[1]->parts.instant);
    candidates_free(&c);
    ok(candidates_load(t, NULL, &c));
    ok(stretches_choose(t, SL_SELECT_ALL, &c));
    assert_int_equal(c.count, 1);
    assert_int_equal(c.items[0].log_count, 2);
    candidates_free(&c);
    sl_table_close(t);
}

/* A plan that was made by somebody else, or before somebody else's log came to stand in it. */
static void test_planned_stretches(void **state)
{
    (void)state;
    static const struct {
        const char *logs, *planned; /* by place in the list */
        const char *expected;       /* "!": refused */
    } cases[] = {
        {"10 11 12", "210", "10 11 12"},
        {"10 11 12", "02", "!"},
        {"10 10d 11", "02", "!"},
        {"10 10d 11", "12", "!"},
        {"10x 11x 20=11 12", "0123", "20 12"},
        {"10x 11x 20=11 12", "01", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sl_slice_log items[16];
        sl_data_file files[16];
        char places[16][8], text[200] = "";
        struct sl_slice_logs logs = {items, logs_of(cases[i].logs, items, files, places)};
        sl_read_slice planned = {.logs = sl_calloc(16, sizeof *planned.logs)};
        size_t n = 0;
        for (const char *at = cases[i].planned; *at; at++)
            planned.logs[planned.log_count++] = &files[*at - '0'];
        sl_status status = stretch_check(&logs, &planned);
        for (size_t k = 0; k < planned.log_count && !status; k++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? " " : "",
                                  planned.logs[k]->parts.instant);
        if (strcmp(status ? "!" : text, cases[i].expected) != 0)
            fail_msg("%s of %s: %s", cases[i].planned, cases[i].logs, status ? "refused" : text);
        assert_true(!status || sl_status_code(status) == SL_E_CONFLICT);
        sl_status_free(status);
        sl_read_slice_free(&planned);
    }
}

/* ---- strategies and triggers --------------------------------------------------------------------------- */

/* Partitions by their age in days, log bytes in MB and logs. Their names in the order that the strategy leaves. */
static const struct {
    int days_ago;
    const char *form;
    uint64_t mb;
    size_t logs;
} groups[] = {{0, "%.4s/%.2s/%.2s", 5, 2},
              {2, "%.4s/%.2s/%.2s", 50, 1},
              {2500, "%.4s/%.2s/%.2s", 20, 9},
              {1, "y=%.4s/m=%.2s/d=%.2s", 1, 4}};
#define GROUPS (sizeof groups / sizeof *groups)
#define S      "CompactionStrategy"

static const struct {
    const char *settings[7];
    const char *expected; /* group numbers; "!": an error */
} strategies[] = {
    {{NULL}, "1 2 0 3"},
    {{"hoodie.compaction.logfile.size.threshold", "5242880"}, "1 2 0"},
    {{"hoodie.compaction.target.io", "60"}, "1"},
    {{"hoodie.compaction.strategy", "LogFileNumBased" S}, "2 3 0 1"},
    {{"hoodie.compaction.strategy", "LogFileNumBased" S, "hoodie.compaction.logfile.num.threshold", "4"},
     "2 3"},
    {{"hoodie.compaction.strategy", "org.apache.hudi.table.action.compact.strategy.UnBounded" S}, "0 1 2 3"},
    {{"hoodie.compaction.strategy", "BoundedIO" S, "hoodie.compaction.target.io", "126"}, "0 1"},
    {{"hoodie.compaction.strategy", "DayBased" S, "hoodie.compaction.daybased.target.partitions", "2"},
     "0 3"},
    {{"hoodie.compaction.strategy", "BoundedPartitionAware" S, "hoodie.compaction.daybased.target.partitions",
      "2"},
     "0 3 1"},
    {{"hoodie.compaction.strategy", "UnBoundedPartitionAware" S,
      "hoodie.compaction.daybased.target.partitions", "2"},
     "2"},
    {{"hoodie.compaction.strategy", "LogFileNumBased" S ",DayBased" S,
      "hoodie.compaction.logfile.num.threshold", "3"},
     "3 2"},
    {{"hoodie.compaction.strategy", "Unheard" S}, "!"},
    {{"hoodie.compaction.target.io", "170"}, "1"}, /* used up to the last MB */
    {{"hoodie.compaction.target.io", "171"}, "1 2"},
    {{"hoodie.compaction.strategy", "DayBased" S, "hoodie.compaction.target.io", "1"}, "0"},
};

static const char *partition_of(const sl_table *t, size_t g)
{
    static char texts[GROUPS][40];
    char day[SL_INSTANT_BYTES];
    sl_instant_format(sl_now_ms() - groups[g].days_ago * INT64_C(86400000), t->utc, day);
    snprintf(texts[g], sizeof texts[g], groups[g].form, day, day + 4, day + 6);
    return texts[g];
}

static void test_strategies(void **state)
{
    (void)state;
    sl_table_close(create(EVENT_TIME, NULL));
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        struct candidates c = {.items = sl_calloc(GROUPS, sizeof *c.items), .count = GROUPS};
        sl_file_group group[GROUPS];
        sl_slice slice = {.log_count = 1};
        char ids[GROUPS][8], text[100] = "";
        size_t n = 0;
        sl_table *t = open_with(strategies[i].settings);
        for (size_t g = 0; g < GROUPS; g++) {
            snprintf(ids[g], sizeof ids[g], "%zu", g);
            group[g] = (sl_file_group){.partition = partition_of(t, g), .file_id = ids[g]};
            c.items[g] = (struct candidate){.group = &group[g],
                                            .slice = &slice,
                                            .log_count = groups[g].logs,
                                            .log_bytes = groups[g].mb << 20};
        }
        bool failed = sl_status_ignore(strategy_apply(t, &c));
        for (size_t g = 0; g < c.count; g++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? " " : "", c.items[g].group->file_id);
        if (strcmp(failed ? "!" : text, strategies[i].expected) != 0)
            fail_msg("strategy %zu: %s instead of %s", i, failed ? "an error" : text, strategies[i].expected);
        candidates_free(&c);
        sl_table_close(t);
    }
}

/* What is no day cannot be ordered by it. */
static void test_partitions_that_are_no_days(void **state)
{
    (void)state;
    static const char *const names[] = {"DayBased" S, "BoundedPartitionAware" S, "UnBoundedPartitionAware" S};
    static const char *const partitions[] = {"", "x", "2026/11", "2026/11/30/x", "2026-11-30"};
    sl_table_close(create(EVENT_TIME, NULL));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t k = 0; k < sizeof partitions / sizeof *partitions; k++) {
            sl_table *t = open_with((const char *const[]){"hoodie.compaction.strategy", names[i], NULL});
            char id[] = "0";
            sl_file_group group = {.partition = partitions[k], .file_id = id};
            struct candidate item = {.group = &group};
            sl_status status = strategy_apply(t, &(struct candidates){.items = &item, .count = 1});
            assert_int_equal(sl_status_code(status), SL_E_INPUT);
            sl_status_free(status);
            sl_table_close(t);
        }
}

/* Megabytes read, written, and both, as the plan tells them. */
static void test_megabytes_of_operations(void **state)
{
    (void)state;
    sl_data_file base = {.size = 3 << 20};
    sl_slice with = {.base = &base}, without = {.base = NULL};
    double read, write;
    assert_true(
        operation_megabytes(&(struct candidate){.slice = &with, .log_bytes = 5 << 20}, &read, &write) == 11);
    assert_true(read == 8 && write == 3);
    assert_true(operation_megabytes(&(struct candidate){.slice = &without, .log_bytes = 5 << 20}, &read,
                                    &write) == 125);
    assert_true(read == 5 && write == 120); /* a whole file */
}

/* What the strategy leaves out is not planned, whoever asks; nor what the trigger does not want, if only that is asked for. */
static void test_plans_follow_the_strategy(void **state)
{
    (void)state;
    static const struct {
        const char *settings[5];
        size_t all, due; /* operations */
    } cases[] = {
        {{"hoodie.compact.inline.max.delta.commits", "2"}, 1, 1},
        {{"hoodie.compact.inline.max.delta.commits", "3"}, 1, 0},
        {{"hoodie.compact.inline.max.delta.commits", "2", "hoodie.compaction.logfile.size.threshold",
          "1000000"},
         0,
         0},
    };
    sl_table *t = create(EVENT_TIME, NULL);
    upsert(t, "a 5 base");
    upsert(t, "a 6 one");
    sl_table_close(t);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *plan;
        size_t all, due;
        t = open_with(cases[i].settings);
        ok(sl_service_plan(t, SL_COMPACT, SL_SELECT_ALL, &plan, &all));
        json_decref(plan);
        ok(sl_service_plan(t, SL_COMPACT, SL_SELECT_DUE, &plan, &due));
        json_decref(plan);
        assert_int_equal(all, cases[i].all);
        assert_int_equal(due, cases[i].due);
        sl_table_close(t);
    }
}

#define D(when)                                                                                              \
    {                                                                                                        \
        .requested = when, .completed = when "9", .action = SL_ACTION_DELTACOMMIT, .state = SL_COMPLETED     \
    }
#define D_LATE(when, done)                                                                                   \
    {                                                                                                        \
        .requested = when, .completed = done, .action = SL_ACTION_DELTACOMMIT, .state = SL_COMPLETED         \
    }
#define OTHER(when, what, how)                                                                               \
    {                                                                                                        \
        .requested = when, .completed = when "9", .action = what, .state = how                               \
    }
#define C(when, how)                                                                                         \
    {                                                                                                        \
        .requested = when, .completed = when "5", .action = SL_ACTION_COMPACTION, .state = how               \
    }

static const struct {
    const char *trigger, *commits, *seconds;
    sl_instant instants[5];
    bool due;
} triggers[] = {
    {"NUM_COMMITS", "2", "9", {D("20990101000000")}, false},
    {"NUM_COMMITS", "2", "9", {D("20990101000000"), D("20990101000001")}, true},
    {"NUM_COMMITS",
     "2",
     "9",
     {D("20990101000000"), C("20990101000001", SL_COMPLETED), D("20990101000002")},
     false},
    {"NUM_COMMITS",
     "2",
     "9",
     {D("20990101000000"), C("20990101000001", SL_REQUESTED), D("20990101000002")},
     true},
    {"NUM_COMMITS_AFTER_LAST_REQUEST",
     "2",
     "9",
     {D("20990101000000"), C("20990101000001", SL_REQUESTED), D("20990101000002")},
     false},
    {"NUM_COMMITS", /* begun before the compaction, completed after it: the compaction has not seen it */
     "2",
     "9",
     {D_LATE("20990101000000", "20990101000003"), C("20990101000001", SL_COMPLETED), D("20990101000002")},
     true},
    {"NUM_COMMITS",
     "2",
     "9",
     {D("20990101000000"), OTHER("20990101000001", SL_ACTION_DELTACOMMIT, SL_INFLIGHT)},
     false},
    {"NUM_COMMITS",
     "2",
     "9",
     {D("20990101000000"), OTHER("20990101000001", SL_ACTION_LOGCOMPACTION, SL_COMPLETED)},
     false},
    {"TIME_ELAPSED", "2", "9", {D("20200101000000")}, true},
    {"TIME_ELAPSED", "2", "9", {D("20990101000000")}, false},
    {"TIME_ELAPSED", "0", "0", {{.requested = ""}}, false}, /* no delta commit at all */
    {"NUM_AND_TIME", "2", "9", {D("20200101000000")}, false},
    {"NUM_AND_TIME", "1", "9", {D("20200101000000")}, true},
    {"NUM_OR_TIME", "2", "9", {D("20200101000000")}, true},
};

static void test_triggers(void **state)
{
    (void)state;
    bool due;
    sl_table_close(create(EVENT_TIME, NULL));
    for (size_t i = 0; i < sizeof triggers / sizeof *triggers; i++) {
        const char *options[] = {"hoodie.compact.inline.trigger.strategy",
                                 triggers[i].trigger,
                                 "hoodie.compact.inline.max.delta.commits",
                                 triggers[i].commits,
                                 "hoodie.compact.inline.max.delta.seconds",
                                 triggers[i].seconds,
                                 NULL};
        sl_instant instants[5];
        sl_timeline timeline = {.instants = instants};
        memcpy(instants, triggers[i].instants, sizeof instants);
        while (timeline.count < 5 && *instants[timeline.count].requested)
            timeline.count++;
        sl_table *t = open_with(options);
        ok(trigger_is_due(t, &timeline, &due));
        if (due != triggers[i].due)
            fail_msg("trigger %zu: %s", i, due ? "due" : "not due");
        sl_table_close(t);
    }
    sl_table *t =
        open_with((const char *const[]){"hoodie.compact.inline.trigger.strategy", "SOMETIMES", NULL});
    assert_true(sl_status_ignore(trigger_is_due(t, &(sl_timeline){0}, &due)));
    sl_table_close(t);
}

#define HOUR 3600
#define YEAR (365 * 24 * HOUR)

/* As many delta commits, the oldest so many seconds ago. */
static bool is_due_after(sl_table *t, size_t commits, int64_t seconds)
{
    sl_instant instants[5] = {0};
    sl_timeline timeline = {.instants = instants, .count = commits};
    bool due;
    for (size_t i = 0; i < commits; i++) {
        instants[i] = (sl_instant){.action = SL_ACTION_DELTACOMMIT, .state = SL_COMPLETED};
        sl_instant_format(sl_now_ms() - (i ? 0 : seconds * 1000), t->utc, instants[i].requested);
        memcpy(instants[i].completed, instants[i].requested, sizeof instants[i].completed);
    }
    ok(trigger_is_due(t, &timeline, &due));
    return due;
}

/* Hudi's defaults: five delta commits, an hour. Over a year, whose days are counted (some clocks change by an hour then). */
static void test_trigger_times(void **state)
{
    (void)state;
    char year[24];
    snprintf(year, sizeof year, "%d", YEAR);
    sl_table_close(create(EVENT_TIME, NULL));
    sl_table *t =
        open_with((const char *const[]){"hoodie.compact.inline.trigger.strategy", "NUM_AND_TIME", NULL});
    assert_true(is_due_after(t, 5, HOUR));
    assert_false(is_due_after(t, 4, HOUR));
    assert_false(is_due_after(t, 5, HOUR - 60));
    sl_table_close(t);
    t = open_with((const char *const[]){"hoodie.compact.inline.trigger.strategy", "TIME_ELAPSED",
                                        "hoodie.compact.inline.max.delta.seconds", year, NULL});
    assert_true(is_due_after(t, 1, YEAR + 2 * HOUR));
    assert_false(is_due_after(t, 1, YEAR - 2 * HOUR));
    sl_table_close(t);
}

/* ---- log compaction ------------------------------------------------------------------------------------ */

static void test_log_compaction_changes_no_read(void **state)
{
    (void)state;
    sl_table *t = create(EVENT_TIME, threshold_2);
    sl_read_stats stats = {0};
    char before[4000], first[SL_INSTANT_BYTES], second[SL_INSTANT_BYTES];
    upsert(t, "a 5 base; b 5 base; c 5 base; d 5 base");
    upsert(t, "a 6 one; b 4 late");
    delete_keys(t, "c");
    upsert(t, "e 1 new");
    snprintf(before, sizeof before, "%s", rows(t, NULL));
    assert_string_equal(before, "a 6 one; b 5 base; d 5 base; e 1 new");
    snprintf(first, sizeof first, "%s", run(t, SL_LOG_COMPACT));
    assert_string_equal(files_of(t, first), "1.log 1.deletes");
    assert_string_equal(rows(t, &stats), before);
    assert_int_equal(stats.logs_replaced, 3);
    assert_string_equal(run(t, SL_LOG_COMPACT), ""); /* its own output alone is nothing to compact */
    /* nested: the first one's output is input of the next */
    upsert(t, "d 9 two");
    snprintf(before, sizeof before, "%s", rows(t, NULL));
    snprintf(second, sizeof second, "%s", run(t, SL_LOG_COMPACT));
    memset(&stats, 0, sizeof stats);
    assert_string_equal(rows(t, &stats), before);
    assert_int_equal(stats.logs_replaced, 6);
    json_t *plan = content(t, second, SL_ACTION_LOGCOMPACTION, SL_REQUESTED);
    json_t *logs = json_object_get(json_array_get(json_object_get(plan, "operations"), 0), "deltaFilePaths");
    assert_int_equal(json_array_size(logs), 3); /* live ones only */
    assert_non_null(strstr(json_string_value(json_array_get(logs, 0)), first));
    json_decref(plan);
    assert_true(*run(t, SL_COMPACT) != 0);
    assert_string_equal(rows(t, NULL), before);
    sl_table_close(t);
}

/* A row that is written between plan and execution is newer than all that the plan replaces, in either mode. */
static void test_what_is_written_meanwhile_wins(void **state)
{
    (void)state;
    static const char *const modes[] = {EVENT_TIME, COMMIT_TIME};
    for (int mode = 0; mode < 2; mode++)
        for (int service = SL_COMPACT; service <= SL_LOG_COMPACT; service++) {
            sl_table *t = create(modes[mode], threshold_2);
            char instant[SL_INSTANT_BYTES];
            struct sl_write_result result;
            size_t operations;
            upsert(t, "a 5 base; b 5 base");
            upsert(t, "a 6 one; b 6 one");
            upsert(t, "a 7 two; c 7 two");
            ok(sl_service_schedule(t, (enum sl_service)service, SL_SELECT_ALL, instant, &operations));
            assert_int_equal(operations, 1);
            upsert(t, "a 7 meanwhile; c 3 meanwhile");
            delete_keys(t, "b");
            const char *expected = mode == 0 ? "a 7 meanwhile; c 7 two" : "a 7 meanwhile; c 3 meanwhile";
            assert_string_equal(rows(t, NULL), expected);
            ok(sl_service_execute(t, (enum sl_service)service, instant, &result));
            assert_string_equal(rows(t, NULL), expected);
            assert_true(*run(t, SL_COMPACT) != 0);
            assert_string_equal(rows(t, NULL), expected);
            sl_table_close(t);
            remove_folder(path);
        }
}

/* G-23: what follows a commit-time delete is an operand of its own, or an older row with a higher value came back. */
static void test_deletes_keep_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *mode, *files, *rows;
    } cases[] = {{EVENT_TIME, "1.log 2.log 1.deletes", "a 1 after; b 20 other"},
                 {COMMIT_TIME, "1.log", "a 1 after; b 20 other"}};
    for (size_t i = 0; i < 2; i++) {
        sl_table *t = create(cases[i].mode, threshold_2);
        char instant[SL_INSTANT_BYTES];
        upsert(t, "a 10 base; b 10 base");
        upsert(t, "b 20 other");
        delete_keys(t, "a");
        upsert(t, "a 1 after");
        assert_string_equal(rows(t, NULL), cases[i].rows);
        snprintf(instant, sizeof instant, "%s", run(t, SL_LOG_COMPACT));
        assert_string_equal(files_of(t, instant), cases[i].files);
        assert_string_equal(rows(t, NULL), cases[i].rows);
        assert_true(*run(t, SL_COMPACT) != 0);
        assert_string_equal(rows(t, NULL), cases[i].rows);
        sl_table_close(t);
        remove_folder(path);
    }
}

/* A group that one plan holds is none of another's: the output would come to stand in the wrong slice. */
static void test_a_group_has_one_plan(void **state)
{
    (void)state;
    for (int first = SL_COMPACT; first <= SL_LOG_COMPACT; first++) {
        sl_table *t = create(EVENT_TIME, threshold_2);
        char instant[SL_INSTANT_BYTES], other[SL_INSTANT_BYTES];
        struct sl_write_result result;
        size_t operations, files;
        upsert(t, "a 5 base");
        upsert(t, "a 6 one");
        upsert(t, "a 7 two");
        ok(sl_service_schedule(t, (enum sl_service)first, SL_SELECT_ALL, instant, &operations));
        assert_int_equal(operations, 1);
        upsert(t, "a 8 three");
        upsert(t, "a 9 four");
        for (int second = SL_COMPACT; second <= SL_LOG_COMPACT; second++) {
            ok(sl_service_schedule(t, (enum sl_service)second, SL_SELECT_ALL, other, &operations));
            assert_string_equal(other, "");
        }
        ok(sl_service_execute(t, (enum sl_service)first, instant, &result));
        ok(sl_service_schedule(t, SL_COMPACT, SL_SELECT_ALL, instant,
                               &operations)); /* the group is free again */
        assert_int_equal(operations, 1);
        upsert(t, "b 1 later");
        ok(sl_rollback_instant(t, instant, other, &files)); /* a plan may go at any time */
        assert_true(*run(t, SL_COMPACT) != 0);
        assert_string_equal(rows(t, NULL), "a 9 four; b 1 later");
        sl_table_close(t);
        remove_folder(path);
    }
}

/* A plan as somebody else could have made it. */
static void put_plan(sl_table *t, enum sl_action action, json_t *plan, const char *record, char *instant)
{
    sl_table_lock *lock;
    ok(sl_timeline_lock_take(t, &lock));
    ok(sl_txn_draw(t, instant));
    ok(sl_txn_schedule(t, action, instant, plan, record));
    sl_table_lock_release(lock);
    json_decref(plan);
}

static void test_clustered_groups_are_left_alone(void **state)
{
    (void)state;
    sl_table *t = create(EVENT_TIME, threshold_2);
    struct candidates c;
    char instant[SL_INSTANT_BYTES], other[SL_INSTANT_BYTES];
    size_t operations, files;
    upsert(t, "a 5 base");
    upsert(t, "a 6 one");
    upsert(t, "a 7 two");
    ok(candidates_load(t, NULL, &c));
    json_t *slice =
        json_pack("{s:n, s:[], s:s, s:s, s:n, s:i}", "dataFilePath", "deltaFilePaths", "fileId",
                  c.items[0].group->file_id, "partitionPath", "", "bootstrapFilePath", "version", 1);
    candidates_free(&c);
    json_t *group = json_pack("{s:[o], s:{}, s:i, s:n, s:i}", "slices", slice, "metrics",
                              "numOutputFileGroups", 1, "extraMetadata", "version", 1);
    json_t *clustering =
        json_pack("{s:[o], s:n, s:n, s:i, s:b, s:[]}", "inputGroups", group, "strategy", "extraMetadata",
                  "version", 1, "preserveHoodieMetadata", 1, "missingSchedulePartitions");
    put_plan(t, SL_ACTION_CLUSTERING,
             json_pack("{s:s, s:o, s:n, s:i}", "operationType", "CLUSTER", "clusteringPlan", clustering,
                       "extraMetadata", "version", 1),
             "HoodieRequestedReplaceMetadata", instant);
    for (int service = SL_COMPACT; service <= SL_LOG_COMPACT; service++) {
        ok(sl_service_schedule(t, (enum sl_service)service, SL_SELECT_ALL, other, &operations));
        assert_string_equal(other, "");
    }
    ok(sl_rollback_instant(t, instant, other, &files));
    assert_true(*run(t, SL_COMPACT) != 0);
    sl_table_close(t);
}

/* A plan with a gap would put the row of the log between after a newer one: refused where it is executed, too. */
static void test_plans_with_gaps_are_refused(void **state)
{
    (void)state;
    sl_table *t = create(COMMIT_TIME, threshold_2);
    struct candidates c;
    struct sl_write_result result;
    json_t *plan;
    char instant[SL_INSTANT_BYTES];
    upsert(t, "a 1 base");
    upsert(t, "a 2 one");
    upsert(t, "a 3 two");
    upsert(t, "b 4 three");
    ok(candidates_load(t, NULL, &c));
    c.items[0].logs[1] = c.items[0].logs[2];
    c.items[0].log_count = 2;
    ok(plan_json(SL_LOG_COMPACT, &c, &plan));
    candidates_free(&c);
    put_plan(t, SL_ACTION_LOGCOMPACTION, plan, "HoodieCompactionPlan", instant);
    sl_status status = sl_service_execute(t, SL_LOG_COMPACT, instant, &result);
    assert_int_equal(sl_status_code(status), SL_E_CONFLICT);
    sl_status_free(status);
    assert_string_equal(rows(t, NULL), "a 3 two; b 4 three");
    sl_table_close(t);
}

/* Plans of version 1 hold whole paths. */
static void test_plans_with_paths(void **state)
{
    (void)state;
    for (int i = SL_COMPACT; i <= SL_LOG_COMPACT; i++) {
        enum sl_service service = (enum sl_service)i;
        sl_table *t = create(EVENT_TIME, threshold_2);
        struct candidates c;
        struct sl_write_result result;
        json_t *plan;
        char instant[SL_INSTANT_BYTES];
        upsert(t, "a 5 base");
        upsert(t, "a 6 one");
        upsert(t, "a 7 two");
        ok(candidates_load(t, NULL, &c));
        ok(plan_json(service, &c, &plan));
        json_t *operation = json_array_get(json_object_get(plan, "operations"), 0);
        json_t *logs = json_object_get(operation, "deltaFilePaths");
        for (size_t k = 0; k < 2; k++)
            json_array_set_new(logs, k, json_sprintf("file:/elsewhere/%s", c.items[0].logs[k]->name));
        json_object_set_new(operation, "dataFilePath",
                            json_sprintf("file:/elsewhere/%s", c.items[0].slice->base->name));
        candidates_free(&c);
        put_plan(t, sl_service_action(service), plan, "HoodieCompactionPlan", instant);
        ok(sl_service_execute(t, service, instant, &result));
        assert_int_equal(result.rows_written, 1);
        assert_string_equal(rows(t, NULL), "a 7 two");
        sl_table_close(t);
        remove_folder(path);
    }
}

/* The candidates of now, as far as they were chosen before: how many logs of the group are left, 0 when it is left out. */
static size_t logs_confirmed(sl_table *t, const struct candidates *chosen, enum sl_service service)
{
    struct candidates now;
    ok(candidates_load(t, NULL, &now));
    ok(candidates_confirm(&now, chosen, service));
    size_t logs = now.count ? now.items[0].log_count : 0;
    candidates_free(&now);
    return logs;
}

/* A plan is chosen without the timeline's lock: what happens until it is taken is seen. */
static void test_what_was_chosen_is_confirmed(void **state)
{
    (void)state;
    for (int i = SL_COMPACT; i <= SL_LOG_COMPACT; i++) {
        enum sl_service service = (enum sl_service)i;
        sl_table *t = create(EVENT_TIME, threshold_2);
        char instant[SL_INSTANT_BYTES];
        struct candidates chosen;
        struct sl_write_result result;
        size_t operations;
        upsert(t, "a 5 base");
        upsert(t, "a 6 one");
        upsert(t, "a 7 two");
        assert_true(*run(t, SL_COMPACT) != 0);
        upsert(t, "a 8 three");
        upsert(t, "a 9 four");
        ok(candidates_load(t, NULL, &chosen));
        if (service == SL_LOG_COMPACT)
            ok(stretches_choose(t, SL_SELECT_ALL, &chosen));
        assert_int_equal(logs_confirmed(t, &chosen, service), 2);
        upsert(t, "a 10 five");
        assert_int_equal(logs_confirmed(t, &chosen, service), service == SL_COMPACT ? 3 : 2);
        ok(sl_service_schedule(t, SL_LOG_COMPACT, SL_SELECT_ALL, instant, &operations));
        assert_int_equal(operations, 1);
        assert_int_equal(logs_confirmed(t, &chosen, service), 0); /* another plan holds the group */
        ok(sl_service_execute(t, SL_LOG_COMPACT, instant, &result));
        assert_int_equal(logs_confirmed(t, &chosen, service), service == SL_COMPACT ? 4 : 2);
        assert_true(*run(t, SL_COMPACT) != 0);
        upsert(t, "a 11 six");
        assert_int_equal(logs_confirmed(t, &chosen, service), 0); /* another base */
        candidates_free(&chosen);
        sl_table_close(t);
        remove_folder(path);
    }
}

/* What was published after the plan's instant is none of it: it will come to stand behind the plan's output. */
static void test_plans_take_what_came_before(void **state)
{
    (void)state;
    sl_table *t = create(EVENT_TIME, NULL);
    struct candidates c;
    char between[SL_INSTANT_BYTES];
    upsert(t, "a 5 base");
    upsert(t, "a 6 one");
    upsert(t, "a 7 two");
    ok(candidates_load(t, NULL, &c));
    assert_int_equal(c.items[0].log_count, 2);
    snprintf(between, sizeof between, "%s", c.items[0].logs[1]->completed);
    candidates_free(&c);
    ok(candidates_load(t, between, &c));
    assert_int_equal(c.items[0].log_count, 1);
    candidates_free(&c);
    sl_table_close(t);
}

static void test_log_compactions_roll_back(void **state)
{
    (void)state;
    sl_table *t = create(EVENT_TIME, threshold_2);
    char instant[SL_INSTANT_BYTES], result[SL_INSTANT_BYTES];
    size_t files;
    upsert(t, "a 5 base");
    upsert(t, "a 6 one");
    upsert(t, "a 7 two");
    snprintf(instant, sizeof instant, "%s", run(t, SL_LOG_COMPACT));
    ok(sl_rollback_instant(t, instant, result, &files));
    assert_int_equal(files, 1);
    assert_string_equal(files_of(t, instant), "");
    assert_string_equal(rows(t, NULL), "a 7 two");
    assert_true(*run(t, SL_LOG_COMPACT) != 0);
    assert_string_equal(rows(t, NULL), "a 7 two");
    sl_table_close(t);
}

/* A read that has chosen its files when the write behind one of them is taken back: an error that says what to do. */
static void test_a_read_that_is_overtaken(void **state)
{
    (void)state;
    sl_table *t = create(EVENT_TIME, NULL);
    sl_timeline timeline;
    sl_stream *stream = NULL;
    sl_batch *batch = NULL;
    json_t *tasks;
    char result[SL_INSTANT_BYTES];
    size_t files;
    upsert(t, "a 5 base");
    upsert(t, "a 6 one");
    ok(sl_scan_plan(t, &(struct sl_scan_options){.limit = -1}, &tasks));
    ok(sl_timeline_load(t, &timeline));
    ok(sl_rollback_instant(t, sl_timeline_last_write(&timeline)->requested, result, &files));
    sl_timeline_free(&timeline);
    sl_status status = sl_scan_run(t, json_array_get(tasks, 0), NULL, &stream);
    if (!status)
        status = sl_stream_next(stream, &batch);
    assert_int_equal(sl_status_code(status), SL_E_NOT_FOUND);
    assert_non_null(strstr(sl_status_hint(status), "read again"));
    sl_status_free(status);
    sl_stream_close(stream);
    json_decref(tasks);
    assert_string_equal(rows(t, NULL), "a 5 base");
    sl_table_close(t);
}

/* ---- beside a writer ----------------------------------------------------------------------------------- */

/* A write is begun, a service planned and executed, the write ended. */
static void test_services_run_beside_a_writer(void **state)
{
    (void)state;
    for (int service = SL_COMPACT; service <= SL_LOG_COMPACT; service++) {
        sl_table *t = create(COMMIT_TIME, threshold_2), *other = open_with(threshold_2);
        const sl_type *schema;
        sl_write_job *job;
        struct sl_write_result result;
        json_t *task, *answer;
        sl_stream *stream;
        char instant[SL_INSTANT_BYTES];
        upsert(t, "a 5 base; b 5 base");
        upsert(t, "a 6 one");
        upsert(t, "b 6 one");
        ok(sl_write_job_begin(t, SL_OP_UPSERT, 1, &job));
        ok(sl_write_job_task(job, 0, &task));
        snprintf(instant, sizeof instant, "%s", run(other, (enum sl_service)service));
        assert_true(*instant != 0);
        /* It cannot know what columns the writer brings, so it says nothing of them. */
        json_t *commit = content(other, instant, sl_service_action((enum sl_service)service), SL_COMPLETED);
        assert_null(json_object_get(json_object_get(commit, "extraMetadata"), "schema"));
        json_decref(commit);
        ok(sl_schema_parse(COLUMNS, &schema));
        sl_batch *batch = rows_of(schema, "a 1 written; c 1 written", false);
        ok(sl_stream_of_batches(schema, &batch, 1, &stream));
        ok(sl_write_job_run(t, task, stream, &answer));
        ok(sl_write_job_commit(job, &answer, 1, &result));
        json_decref(answer);
        json_decref(task);
        sl_type_unref(schema);
        assert_string_equal(rows(t, NULL), "a 1 written; b 6 one; c 1 written");
        assert_true(*run(t, SL_COMPACT) != 0);
        assert_string_equal(rows(t, NULL), "a 1 written; b 6 one; c 1 written");
        sl_table_close(other);
        sl_table_close(t);
        remove_folder(path);
    }
}

static void test_a_plan_has_one_executor(void **state)
{
    (void)state;
    sl_table *t = create(EVENT_TIME, NULL), *other = open_with(NULL);
    char instant[SL_INSTANT_BYTES], waiting[SL_INSTANT_BYTES];
    struct sl_write_result result;
    sl_service_job *job, *second;
    size_t operations, files;
    upsert(t, "a 5 base");
    upsert(t, "a 6 one");
    ok(sl_service_schedule(t, SL_COMPACT, SL_SELECT_ALL, instant, &operations));
    ok(sl_service_begin(t, SL_COMPACT, instant, &job));
    ok(sl_service_pending(other, SL_COMPACT, waiting));
    assert_string_equal(waiting, ""); /* somebody works on it */
    sl_status status = sl_service_begin(other, SL_COMPACT, instant, &second);
    assert_int_equal(sl_status_code(status), SL_E_BUSY);
    sl_status_free(status);
    status = sl_rollback_instant(other, instant, waiting, &files);
    assert_int_equal(sl_status_code(status), SL_E_BUSY);
    sl_status_free(status);
    upsert(other, "a 7 two"); /* nor does a writer take it for dead */
    sl_service_free(job);
    ok(sl_service_pending(other, SL_COMPACT, waiting));
    assert_string_equal(waiting, instant); /* given up: the plan waits */
    ok(sl_service_execute(other, SL_COMPACT, instant, &result));
    assert_int_equal(sl_status_code(status = sl_service_execute(t, SL_COMPACT, instant, &result)),
                     SL_E_EXISTS);
    sl_status_free(status);
    assert_string_equal(rows(t, NULL), "a 7 two");
    sl_table_close(other);
    sl_table_close(t);
}

/* ---- what is due --------------------------------------------------------------------------------------- */

static const char *due(sl_table *t)
{
    json_t *plan;
    size_t compactions, log_compactions;
    ok(sl_service_plan(t, SL_COMPACT, SL_SELECT_DUE, &plan, &compactions));
    json_decref(plan);
    ok(sl_service_plan(t, SL_LOG_COMPACT, SL_SELECT_DUE, &plan, &log_compactions));
    json_decref(plan);
    return compactions && log_compactions ? "both"
           : compactions                  ? "compaction"
           : log_compactions              ? "log compaction"
                                          : "nothing";
}

/* Who gives one of Hudi's settings wants it to count, unless the policy is named. */
static void test_who_decides(void **state)
{
    (void)state;
    static const struct {
        const char *settings[5];
        int tiered; /* -1: an error */
    } cases[] = {
        {{NULL}, 1},
        {{"hoodie.compact.inline.trigger.strategy", "NUM_OR_TIME"}, 0},
        {{"hoodie.compact.inline.max.delta.commits", "5"}, 0},
        {{"hoodie.compact.inline.max.delta.seconds", "5"}, 0},
        {{"hoodie.compaction.strategy", "UnBounded" S}, 0},
        {{"hoodie.log.compaction.blocks.threshold", "3"}, 1},
        {{"sluice.compaction.policy", "hudi"}, 0},
        {{"sluice.compaction.policy", "size_tiered", "hoodie.compact.inline.max.delta.commits", "5"}, 1},
        {{"sluice.compaction.policy", "none"}, -1},
    };
    sl_table_close(create(EVENT_TIME, NULL));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sl_table *t = open_with(cases[i].settings);
        bool tiered = false;
        int found = sl_status_ignore(policy_is_size_tiered(t, &tiered)) ? -1 : tiered;
        if (found != cases[i].tiered)
            fail_msg("case %zu: %d", i, found);
        sl_table_close(t);
    }
}

/* What the logs of a slice weigh against its base (logs_of). */
static const struct {
    uint64_t base;
    const char *logs; /* "64": so many of one byte */
    bool compaction;
} weights[] = {
    {801, "10 11", false},
    {800, "10 11", true},            /* a quarter */
    {800, "10 11x 20=11*99", false}, /* replaced ones weigh nothing */
    {0, "10*1", true},               /* no base at all */
    {1000, "64", false},
    {1000, "65", true}, /* as many as a reader opens at once */
};

static void test_weights_of_logs(void **state)
{
    (void)state;
    enum { MOST = 80 };
    sl_table *t = create(EVENT_TIME, NULL);
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        struct sl_slice_log items[MOST];
        sl_data_file files[MOST], base = {.size = weights[i].base};
        char places[MOST][8], many[MOST * 8] = "";
        sl_slice slice = {.base = weights[i].base ? &base : NULL};
        struct candidate item = {.slice = &slice};
        bool wanted;
        bool is_count = !strchr(weights[i].logs, ' ') && !strchr(weights[i].logs, '*');
        for (int k = 0, n = 0; is_count && k < atoi(weights[i].logs); k++)
            n += snprintf(many + n, sizeof many - (size_t)n, "%s%d*1", k ? " " : "", 10 + k);
        struct sl_slice_logs logs = {items, logs_of(is_count ? many : weights[i].logs, items, files, places)};
        ok(policy_wants_compaction(t, &item, &logs, &wanted));
        if (wanted != weights[i].compaction)
            fail_msg("%s beside %d bytes: %s", weights[i].logs, (int)weights[i].base,
                     wanted ? "due" : "not due");
    }
    sl_table_close(t);
}

static void delete_many(sl_table *t, int first, int count)
{
    char *keys = malloc((size_t)count * 10 + 1), *end = keys;
    for (int i = 0; i < count; i++)
        end += sprintf(end, "%s%08d", i ? "; " : "", first + i);
    delete_keys(t, keys);
    free(keys);
}

static void test_size_tiered_policy(void **state)
{
    (void)state;
    sl_table *t = create(EVENT_TIME, NULL);
    upsert_many(t, 0, 20000, 1);
    assert_string_equal(due(t), "nothing");
    for (int i = 2; i < 6; i++)
        upsert_many(t, i * 100, 20, i);
    assert_string_equal(due(t), "nothing");
    upsert_many(t, 600, 20, 6);
    assert_string_equal(due(t), "log compaction");
    upsert_many(t, 1000, 10000, 7);
    assert_string_equal(due(t), "compaction"); /* a quarter of the base and more */
    assert_true(*run(t, SL_COMPACT) != 0);
    assert_string_equal(due(t), "nothing");
    delete_many(t, 7000, 2000);
    assert_string_equal(due(t), "nothing"); /* a tenth of its rows */
    delete_many(t, 9000, 100);
    assert_string_equal(due(t), "compaction"); /* more than that */
    sl_table_close(t);
    /* Hudi's own trigger counts as soon as it is given */
    t = open_with((const char *const[]){"hoodie.compact.inline.max.delta.commits", "3", NULL});
    assert_string_equal(due(t), "nothing");
    upsert_many(t, 0, 1, 8);
    assert_string_equal(due(t), "compaction");
    sl_table_close(t);
}

/* A fold of partial updates is not associative: their logs only go with the base. */
static void test_partial_updates_have_no_log_compaction(void **state)
{
    (void)state;
    sl_table *t = create(EVENT_TIME, threshold_2);
    json_t *plan;
    char instant[SL_INSTANT_BYTES];
    enum sl_service service;
    size_t operations;
    ok(sl_table_set_properties(t, (const char *const[]){"hoodie.table.partial.update.mode"},
                               (const char *const[]){"IGNORE_DEFAULTS"}, 1));
    sl_table_close(t);
    t = open_with(threshold_2);
    upsert_many(t, 0, 20000, 1);
    upsert_many(t, 0, 10, 2);
    upsert_many(t, 0, 10, 3);
    sl_status status = sl_service_schedule(t, SL_LOG_COMPACT, SL_SELECT_ALL, instant, &operations);
    assert_int_equal(sl_status_code(status), SL_E_UNSUPPORTED);
    sl_status_free(status);
    ok(sl_service_plan_due(t, &plan));
    assert_int_equal(json_array_size(json_object_get(plan, "operations")), 0);
    json_decref(plan);
    ok(sl_service_next_due(t, &service, instant));
    assert_string_equal(instant, "");
    sl_table_close(t);
}

static size_t count_instants(sl_table *t, enum sl_action action, enum sl_instant_state state)
{
    sl_timeline timeline;
    size_t count = 0;
    ok(sl_timeline_load(t, &timeline));
    for (size_t i = 0; i < timeline.count; i++)
        count += timeline.instants[i].action == action && timeline.instants[i].state == state;
    sl_timeline_free(&timeline);
    return count;
}

static void test_inline_services(void **state)
{
    (void)state;
    static const struct {
        const char *settings[5];
        size_t compactions, log_compactions, plans; /* after six writes on top of a base */
    } cases[] = {
        {{NULL}, 0, 0, 0},
        {{"hoodie.compact.inline", "true", "hoodie.compact.inline.max.delta.commits", "3"}, 2, 0, 0},
        {{"hoodie.compact.schedule.inline", "true", "hoodie.compact.inline.max.delta.commits", "3"}, 0, 0, 1},
        {{"hoodie.log.compaction.inline", "true", "hoodie.log.compaction.blocks.threshold", "3"}, 0, 2, 0},
        {{"hoodie.log.compaction.enable", "true", "hoodie.log.compaction.blocks.threshold", "3"}, 0, 0, 1},
        {{"hoodie.compact.inline", "true", "hoodie.log.compaction.blocks.threshold", "3"}, 0, 2, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sl_table *t = create(EVENT_TIME, cases[i].settings);
        upsert_many(t, 0, 20000, 1);
        sl_inline_services(t);
        for (int k = 2; k < 8; k++) {
            upsert_many(t, 100 * k, 10, k);
            sl_inline_services(t);
        }
        size_t plans = count_instants(t, SL_ACTION_COMPACTION, SL_REQUESTED) +
                       count_instants(t, SL_ACTION_LOGCOMPACTION, SL_REQUESTED);
        if (count_instants(t, SL_ACTION_COMPACTION, SL_COMPLETED) != cases[i].compactions ||
            count_instants(t, SL_ACTION_LOGCOMPACTION, SL_COMPLETED) != cases[i].log_compactions ||
            plans != cases[i].plans)
            fail_msg("case %zu: %zu compactions, %zu log compactions, %zu plans", i,
                     count_instants(t, SL_ACTION_COMPACTION, SL_COMPLETED),
                     count_instants(t, SL_ACTION_LOGCOMPACTION, SL_COMPLETED), plans);
        sl_table_close(t);
        remove_folder(path);
    }
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, table_folder_make, table_folder_remove)
    const struct CMUnitTest tests[] = {
        TEST(test_stretches),
        TEST(test_stretches_end_at_pending_writes),
        TEST(test_planned_stretches),
        TEST(test_strategies),
        TEST(test_partitions_that_are_no_days),
        TEST(test_megabytes_of_operations),
        TEST(test_plans_follow_the_strategy),
        TEST(test_triggers),
        TEST(test_trigger_times),
        TEST(test_log_compaction_changes_no_read),
        TEST(test_what_is_written_meanwhile_wins),
        TEST(test_deletes_keep_their_place),
        TEST(test_a_group_has_one_plan),
        TEST(test_clustered_groups_are_left_alone),
        TEST(test_plans_with_gaps_are_refused),
        TEST(test_plans_with_paths),
        TEST(test_what_was_chosen_is_confirmed),
        TEST(test_plans_take_what_came_before),
        TEST(test_log_compactions_roll_back),
        TEST(test_a_read_that_is_overtaken),
        TEST(test_services_run_beside_a_writer),
        TEST(test_a_plan_has_one_executor),
        TEST(test_who_decides),
        TEST(test_weights_of_logs),
        TEST(test_size_tiered_policy),
        TEST(test_partial_updates_have_no_log_compaction),
        TEST(test_inline_services),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
