/*
 * The merge against spec/lsm-layout.md 8 and spec/log-format.md 10: the tables of both pages row by row
 * (G-15, G-16, G-17, G-21, G-23), and thousands of random histories against a dictionary model. SEED=n
 * repeats a random run.
 */
#include "merge_runs.h"
#include <fcntl.h>

static const struct ordering LONG_TS = {SL_INT64, 1};

static struct sl_merge_options options_for(struct ordering ordering, const sl_type *schema)
{
    return (struct sl_merge_options){
        .mode = SL_EVENT_TIME,
        .key_column = "_hoodie_record_key",
        .ordering = ordering_names,
        .ordering_count = ordering.count,
        .delete_column = "_hoodie_is_deleted",
        .marker_column = "op",
        .marker_value = "D",
        .schema = schema,
    };
}

/* ---- collecting results -------------------------------------------------------------------------------- */

struct result {
    int64_t ids[OPS_MAX];
    size_t count;
    size_t batches;
    int64_t longest;
};

static void check_list(const sl_array *list, int64_t row, int64_t id)
{
    assert_int_equal(sl_is_valid(list, row), id % 4 != 3);
    if (id % 4 == 3)
        return;
    assert_int_equal(list->offsets[row + 1] - list->offsets[row], id % 4);
    for (int32_t i = list->offsets[row]; i < list->offsets[row + 1]; i++)
        assert_int_equal(sl_i64_at(list->children[0], i), id);
}

static void check_text(const sl_array *a, int64_t row, const char *want)
{
    size_t len;
    assert_int_equal(sl_is_valid(a, row), want != NULL);
    if (!want)
        return;
    const uint8_t *text = sl_bytes_at(a, row, &len);
    assert_int_equal(bytes_compare(text, len, want, strlen(want)), 0);
}

static void collect_batch(const struct history *h, const sl_batch *batch, struct result *r)
{
    for (int64_t i = 0; i < batch->rows; i++) {
        int64_t id = sl_i64_at(batch->columns[1], i);
        size_t len;
        const uint8_t *key = sl_bytes_at(batch->columns[0], i, &len);
        assert_true(id >= 0 && (size_t)id < h->count);
        assert_int_equal(bytes_compare(key, len, h->ops[id].key, strlen(h->ops[id].key)), 0);
        check_list(batch->columns[6], i, id);
        check_text(batch->columns[3], i, h->ops[id].has[1] ? h->ops[id].text : NULL);
        check_text(batch->columns[5], i, h->ops[id].custom ? "D" : "U");
        assert_true(r->count < OPS_MAX);
        r->ids[r->count++] = id;
    }
    r->batches++;
    r->longest = batch->rows > r->longest ? batch->rows : r->longest;
}

static sl_status drain(const struct history *h, sl_stream *merged, struct result *r)
{
    for (;;) {
        sl_batch *batch;
        SL_TRY(sl_stream_next(merged, &batch));
        if (!batch)
            return SL_OK;
        assert_true(batch->rows > 0);
        if (r)
            collect_batch(h, batch, r);
        sl_batch_unref(batch);
    }
}

static void merge_runs(const struct history *h, const struct sl_run *runs, size_t count,
                       const struct sl_merge_options *options, struct sl_merge_counts *counts,
                       struct result *r)
{
    sl_stream *merged;
    memset(r, 0, sizeof *r);
    OK(sl_merge_open(runs, count, options, counts, &merged));
    OK(drain(h, merged, r));
    sl_stream_close(merged);
}

static void run_merge(const struct history *h, struct ordering ordering,
                      const struct sl_merge_options *options, int64_t batch, struct result *r,
                      struct sl_merge_counts *counts)
{
    struct sl_run runs[RUNS_MAX];
    history_runs(h, ordering, options->schema, batch, runs);
    merge_runs(h, runs, h->runs, options, counts, r);
}

/* ---- histories as text --------------------------------------------------------------------------------- */

static void result_text(const struct history *h, const struct result *r, struct ordering ordering, char *out,
                        size_t size)
{
    size_t at = 0;
    out[0] = 0;
    for (size_t i = 0; i < r->count; i++) {
        const struct op *op = &h->ops[r->ids[i]];
        at += (size_t)snprintf(out + at, size - at, "%s%s=", i ? " " : "", op->key);
        at += op->has[0] ? (size_t)snprintf(out + at, size - at, "%" PRId64, op->value)
                         : (size_t)snprintf(out + at, size - at, "-");
        if (ordering.count > 1)
            at += (size_t)snprintf(out + at, size - at, "/%s", op->has[1] ? op->text : "-");
        at += (size_t)snprintf(out + at, size - at, "@%zu", op->source);
    }
}

struct setting {
    struct ordering ordering;
    enum sl_merge_mode mode;
    bool classic, keep_duplicates;
};

static void expect_with(struct setting setting, const char *const *runs, size_t count, const char *want)
{
    static struct history h;
    static struct result r;
    history_parse(&h, runs, count);
    const sl_type *schema = row_schema(setting.ordering);
    struct sl_merge_options options = options_for(setting.ordering, schema);
    options.mode = setting.mode;
    options.classic = setting.classic;
    options.keep_duplicates = setting.keep_duplicates;
    for (int64_t batch = 1; batch <= 3; batch++) {
        run_merge(&h, setting.ordering, &options, batch, &r, NULL);
        char text[512];
        result_text(&h, &r, setting.ordering, text, sizeof text);
        if (strcmp(text, want) != 0) {
            for (size_t i = 0; i < count; i++)
                print_message("    %s\n", runs[i]);
            fail_msg("batches of %d: got '%s', want '%s'", (int)batch, text, want);
        }
    }
    sl_type_unref(schema);
}

#define RUNS(...)                                                                                            \
    (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)
#define LSM(want, ...)                                                                                       \
    expect_with((struct setting){LONG_TS, SL_EVENT_TIME, false, false}, RUNS(__VA_ARGS__), want)
#define CLASSIC(want, ...)                                                                                   \
    expect_with((struct setting){LONG_TS, SL_EVENT_TIME, true, false}, RUNS(__VA_ARGS__), want)
#define COMMIT(want, ...)                                                                                    \
    do {                                                                                                     \
        expect_with((struct setting){LONG_TS, SL_COMMIT_TIME, false, false}, RUNS(__VA_ARGS__), want);       \
        expect_with((struct setting){LONG_TS, SL_COMMIT_TIME, true, false}, RUNS(__VA_ARGS__), want);        \
    } while (0)
#define BOTH(want, ...)                                                                                      \
    do {                                                                                                     \
        LSM(want, __VA_ARGS__);                                                                              \
        CLASSIC(want, __VA_ARGS__);                                                                          \
    } while (0)

/* ---- tables of the pages ------------------------------------------------------------------------------- */

static void test_event_time(void **state) /* lsm-layout.md 8.3 */
{
    (void)state;
    BOTH("k=10@0", "B k=10", "R k=5");
    BOTH("k=10@1", "B k=10", "R k=10");
    BOTH("k=15@1", "B k=10", "R k=15");
    BOTH("k=20@1", "B k=10", "R k=20", "R k=19");
    BOTH("k=10@0", "B k=10", "R k=5!");
    BOTH("", "B k=10", "R k=10!");
    BOTH("", "B k=10", "R k=15!");
    BOTH("", "B k=10", "D k=12", "R k=11");
    BOTH("k=12@2", "B k=10", "D k=12", "R k=12");
    BOTH("k=13@2", "B k=10", "D k=12", "R k=13");
    BOTH("k=20@1", "B k=10", "R k=20", "D k=15");
    BOTH("", "R x=1!", "D k=12", "R k=11");
    BOTH("", "B k=10", "D k=-");
    BOTH("k=3@2", "B k=1", "D k=-", "R k=3");
    BOTH("", "B k=10", "R k=15", "D k=-");
    BOTH("k=-@1", "B k=-", "R k=-");   /* null equals null: the newer */
    BOTH("k=-5@0", "B k=-5", "R k=-"); /* null is lower than every value of a LONG */
    LSM("a=1@0 k=20@1 z=5@2", "B a=1 k=10", "R k=20", "R z=5");
    BOTH("", "B k=10", "R k=15*");
    BOTH("k=10@0", "B k=10", "R k=5*");
}

static void test_commit_time(void **state)
{
    (void)state;
    COMMIT("k=5@1", "B k=10", "R k=5");
    COMMIT("", "B k=10", "D k=5");
    COMMIT("", "B k=10", "R k=5!");
    COMMIT("k=1@2", "B k=10", "D k=50", "R k=1");
    COMMIT("k=19@2", "B k=10", "R k=20", "R k=19");
    /* No ordering field: event time is commit time. */
    struct setting none = {{SL_INT64, 0}, SL_EVENT_TIME, false, false};
    expect_with(none, RUNS("B k=10", "R k=5"), "k=5@1");
    expect_with(none, RUNS("B k=10", "R k=5", "D k=50"), "");
}

static void test_log_format_table(void **state) /* log-format.md 10.6, event time */
{
    (void)state;
    CLASSIC("k=100@0", "B k=100", "R k=50");
    CLASSIC("k=100@1", "B k=100", "R k=100");
    CLASSIC("k=150@1", "B k=100", "R k=150");
    CLASSIC("k=100@2", "B k=100", "D k=50", "R k=100");
    CLASSIC("", "B k=100", "D k=150", "R k=120");
    CLASSIC("k=150@1", "B k=100", "R k=150", "D k=120");
    CLASSIC("", "B k=100", "R k=150", "D k=150");
    CLASSIC("", "B k=100", "R k=150", "D k=120", "D k=-");
    CLASSIC("k=100@0", "B k=100", "R k=150", "D k=120", "D k=-", "R k=10");
    CLASSIC("k=20@3", "B k=10", "D k=-", "D k=50", "R k=20");
    struct setting two = {{SL_INT64, 2}, SL_EVENT_TIME, true, false};
    expect_with(two, RUNS("B k=100/m", "R k=100/a"), "k=100/m@0");
    expect_with(two, RUNS("B k=100/m", "R k=100/z"), "k=100/z@1");
    expect_with(two, RUNS("B k=100/m", "D k=100/a"), "k=100/m@0");
    expect_with(two, RUNS("B k=100/m", "D k=100/z"), "");
    expect_with(two, RUNS("B k=100/m", "D k=-/z"),
                "k=100/m@0"); /* a null beside a value is no commit-time delete */
    expect_with(two, RUNS("B k=100/m", "D k=-/-"), "");
    for (int classic = 0; classic < 2; classic++) {
        struct setting integer = {{SL_INT32, 1}, SL_EVENT_TIME, classic, false};
        expect_with(integer, RUNS("B k=5", "R k=-"), "k=5@0");
        expect_with(integer, RUNS("B k=-5", "R k=-"), "k=-@1");
        expect_with(integer, RUNS("B k=-", "R k=-1"), "k=-@0");
        expect_with(integer, RUNS("B k=5", "D k=0"), ""); /* 0 of an INT column: a commit-time delete */
        expect_with((struct setting){LONG_TS, SL_EVENT_TIME, classic, false}, RUNS("B k=5", "D k=0"),
                    "k=5@0");
    }
}

/* G-16: the two places where fold and classic order part (8.1). */
static void test_fold_against_classic(void **state)
{
    (void)state;
    LSM("k=1@2", "B k=10", "D k=-", "R k=1");
    CLASSIC("k=10@0", "B k=10", "D k=-", "R k=1");
    LSM("", "B k=10", "D k=-", "D k=50", "R k=20");
    CLASSIC("k=20@3", "B k=10", "D k=-", "D k=50", "R k=20");
}

/* G-17: sources are folded in the order given, a data log before the delete log of its flush. */
static void test_log_order(void **state)
{
    (void)state;
    BOTH("k=7@1", "R k=7", "R k=7");
    COMMIT("k=1@2", "R k=3", "R k=2", "R k=1");
    BOTH("", "R k=7", "D k=7");
    COMMIT("", "R k=7", "D k=7");
    BOTH("k=7@1", "D k=7", "R k=7");
}

static void test_duplicates(void **state)
{
    (void)state;
    /* In a base they are handed through while nothing else holds the key ... */
    BOTH("a=1@0 k=3@0 k=2@0 k=9@0 z=1@0", "B a=1 k=3 k=2 k=9 z=1");
    BOTH("a=4@1 k=3@0 k=2@0 k=9@0 z=1@0", "B a=1 k=3 k=2 k=9 z=1", "R a=4");
    /* ... then they fold first. */
    BOTH("a=1@0 k=9@0 z=1@0", "B a=1 k=3 k=2 k=9 z=1", "R k=4");
    COMMIT("a=1@0 k=4@1 z=1@0", "B a=1 k=3 k=2 k=9 z=1", "R k=4");
    BOTH("a=1@0 z=1@0", "B a=1 k=3 k=2 k=9 z=1", "D k=-");
    /* In a log they always fold. */
    BOTH("k=9@0", "R k=3 k=9 k=2");
    COMMIT("k=2@0", "R k=3 k=9 k=2");
    BOTH("", "R k=3 k=9! k=2");
    /* A plain insert keeps everything, by key, source and row. */
    struct setting keep = {LONG_TS, SL_EVENT_TIME, false, true};
    expect_with(keep, RUNS("B a=1 k=3 k=2", "R a=9 k=7! k=1", "R k=0"),
                "a=1@0 a=9@1 k=3@0 k=2@0 k=7@1 k=1@1 k=0@2");
}

static void test_no_runs(void **state)
{
    (void)state;
    expect_with((struct setting){LONG_TS, SL_EVENT_TIME, false, false}, NULL, 0, "");
    LSM("", "R");
    LSM("", "B", "R", "D");
    LSM("a=1@1", "B", "R a=1", "D");
}

/* ---- types, schemas, errors ---------------------------------------------------------------------------- */

/* A delete log of an older schema: its ordering column is promoted; where that cannot be, the newer wins. */
static void test_promotion(void **state)
{
    (void)state;
    static struct history h;
    static struct result r;
    static const struct {
        enum sl_type_id in_log;
        const char *log;
        const char *want;
    } cases[] = {
        {SL_INT32, "D k=5", "k=10@0"},
        {SL_INT32, "D k=15", ""},
        {SL_STRING, "D k=5", ""},
        {SL_INT32, "D k=-", ""},
    };
    const sl_type *schema = row_schema(LONG_TS);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *texts[] = {"B k=10", cases[i].log};
        history_parse(&h, texts, 2);
        struct sl_run runs[2] = {
            {.rows = history_stream(&h, 0, LONG_TS, schema, 9), .is_base = true, .name = "base"},
            {.rows = history_stream(&h, 1, (struct ordering){cases[i].in_log, 1}, schema, 9),
             .is_deletes = true,
             .name = "deletes"},
        };
        struct sl_merge_options options = options_for(LONG_TS, schema);
        char text[64];
        merge_runs(&h, runs, 2, &options, NULL, &r);
        result_text(&h, &r, LONG_TS, text, sizeof text);
        assert_string_equal(text, cases[i].want);
    }
    sl_type_unref(schema);
}

static sl_status merge_status(const char *const *texts, size_t count, const struct sl_runtime *runtime)
{
    static struct history h;
    struct sl_run runs[RUNS_MAX];
    const sl_type *schema = row_schema(LONG_TS);
    struct sl_merge_options options = options_for(LONG_TS, schema);
    options.runtime = runtime;
    history_parse(&h, texts, count);
    history_runs(&h, LONG_TS, schema, 2, runs);
    sl_stream *merged = NULL;
    sl_status status = sl_merge_open(runs, count, &options, NULL, &merged);
    if (status == SL_OK)
        status = drain(&h, merged, NULL);
    sl_stream_close(merged);
    sl_type_unref(schema);
    return status;
}

static void test_unsorted(void **state)
{
    (void)state;
    static const char *const within[] = {"B a=1", "R a=1 b=1 d=1 c=1"}, *const across[] = {
                                                                            "B a=1", "R a=1 d=1 c=1 e=1"};
    sl_status status = merge_status(within, 2, NULL);
    assert_int_equal(sl_status_code(status), SL_E_CORRUPT);
    assert_non_null(strstr(sl_status_message(status), "run1"));
    assert_non_null(strstr(sl_status_message(status), "row 3"));
    sl_status_free(status);
    status = merge_status(across, 2, NULL);
    assert_int_equal(sl_status_code(status), SL_E_CORRUPT);
    assert_non_null(strstr(sl_status_message(status), "row 2"));
    sl_status_free(status);
}

static void test_cancel(void **state)
{
    (void)state;
    static const char *const runs[] = {"B a=1", "R a=1 b=1"};
    atomic_bool cancel = true;
    struct sl_runtime runtime = {.cancel = &cancel};
    sl_status status = merge_status(runs, 2, &runtime);
    assert_int_equal(sl_status_code(status), SL_E_CANCELLED);
    sl_status_free(status);
    cancel = false;
    OK(merge_status(runs, 2, &runtime));
}

static sl_status refuse_changes(void *context, const struct sl_changes *changes)
{
    (void)context;
    return sl_input("%" PRId64 " changes", changes->count);
}

/* Whose changes are refused has no rows either. */
static void test_refused_changes(void **state)
{
    (void)state;
    static struct history h;
    static const char *const texts[] = {"B a=1", "R a=2 b=1"};
    const struct sl_change_sink sink = {.take = refuse_changes, .after = true};
    struct sl_run runs[RUNS_MAX];
    const sl_type *schema = row_schema(LONG_TS);
    struct sl_merge_options options = options_for(LONG_TS, schema);
    options.changes = &sink;
    history_parse(&h, texts, 2);
    history_runs(&h, LONG_TS, schema, 2, runs);
    sl_stream *merged;
    sl_batch *batch;
    OK(sl_merge_open(runs, 2, &options, NULL, &merged));
    sl_status status = sl_stream_next(merged, &batch);
    assert_string_equal(sl_status_message(status), "2 changes");
    assert_null(batch);
    sl_status_free(status);
    sl_stream_close(merged);
    sl_type_unref(schema);
}

/* One sorted source without duplicates: its batches come out as they are, not as copies. */
static void test_pass_through(void **state)
{
    (void)state;
    static struct history h;
    static const char *const texts[] = {"R a=1 b=2 c=3 d=4 e=5", "R x=1"};
    const sl_type *schema = row_schema(LONG_TS);
    struct sl_merge_options options = options_for(LONG_TS, schema);
    struct sl_run runs[RUNS_MAX];
    history_parse(&h, texts, 2);
    history_runs(&h, LONG_TS, schema, 2, runs);
    sl_batch *first = ((struct memory_stream *)runs[0].rows)->batches[0];
    sl_stream_close(runs[1].rows);
    struct sl_merge_counts counts;
    sl_stream *merged;
    OK(sl_merge_open(runs, 1, &options, &counts, &merged));
    sl_batch *batch;
    OK(sl_stream_next(merged, &batch));
    assert_ptr_equal(batch, first);
    sl_batch_unref(batch);
    OK(drain(&h, merged, NULL));
    sl_stream_close(merged);
    assert_int_equal(counts.rows_in, 5);
    assert_int_equal(counts.rows_out, 5);
    assert_int_equal(counts.comparisons, 0);
    assert_int_equal(counts.gallop_rows, 4);
    sl_type_unref(schema);
}

/* Where one of several sources is alone, its rows go by as stretches, without a comparison each; duplicates
 * and deletes inside a stretch are still seen. */
static void test_gallop(void **state)
{
    (void)state;
    static struct history h;
    static struct result r;
    const sl_type *schema = row_schema(LONG_TS);
    struct sl_merge_options options = options_for(LONG_TS, schema);
    static const char *const texts[] = {"B m=1", "R z=1"};
    history_parse(&h, texts, 2);
    size_t rows = 1000;
    struct op base = h.ops[0], last = h.ops[1];
    h.count = 0;
    for (size_t i = 0; i < rows; i++) {
        struct op *op = &h.ops[h.count];
        *op = base;
        snprintf(op->key, sizeof op->key, "k%04d", (int)i);
        op->id = (int64_t)h.count++;
    }
    for (size_t i = 0; i < rows; i++) {
        struct op *op = &h.ops[h.count];
        *op = last;
        snprintf(op->key, sizeof op->key, "n%04d", (int)(i == 500 ? 499 : i));
        op->marked = op->is_delete = i == 700;
        op->id = (int64_t)h.count++;
    }
    struct sl_merge_counts n;
    run_merge(&h, LONG_TS, &options, 128, &r, &n);
    assert_int_equal(r.count, 2 * rows - 2);
    assert_int_equal(r.ids[rows + 499], (int64_t)rows + 500);
    assert_true(n.gallop_rows > 2 * rows - 50);
    assert_true(n.comparisons < 100);
    sl_type_unref(schema);
}

/* Batches without a survivor are not loaded, and no row of the others twice. */
static void test_late(void **state)
{
    (void)state;
    static struct history h;
    static struct result r;
    static const char *const texts[] = {"B a=1 b=1 c=1 d=1 e=1 f=1", "R c=2 d=2 e=2 f=2",
                                        "R a=3! b=3! e=3 f=3"};
    /* batches of two: of the base none survives, of the logs cd and ef */
    static const int64_t want[] = {0, 2, 2};
    const sl_type *schema = row_schema(LONG_TS);
    struct sl_merge_options options = options_for(LONG_TS, schema);
    history_parse(&h, texts, 3);
    for (int64_t most = 1; most <= 2; most++) {
        struct sl_run runs[RUNS_MAX];
        int64_t loaded[3] = {0};
        history_runs(&h, LONG_TS, schema, 2, runs);
        for (size_t i = 0; i < 3; i++)
            make_late(&runs[i], &options, most)->loaded = &loaded[i];
        char text[64];
        merge_runs(&h, runs, 3, &options, NULL, &r);
        result_text(&h, &r, LONG_TS, text, sizeof text);
        assert_string_equal(text, "c=2@1 d=2@1 e=3@2 f=3@2");
        assert_memory_equal(loaded, want, sizeof want);
    }
    sl_type_unref(schema);
}

/* A run whose schema lacks what the merge looks at would be merged wrongly: it is refused. */
static void test_too_late(void **state)
{
    (void)state;
    static struct history h;
    static const char *const texts[] = {"R a=1 b=1!"};
    const sl_type *schema = row_schema(LONG_TS);
    struct sl_merge_options options = options_for(LONG_TS, schema), fewer = options;
    struct sl_run runs[RUNS_MAX];
    sl_stream *merged;
    fewer.delete_column = NULL;
    history_parse(&h, texts, 1);
    history_runs(&h, LONG_TS, schema, 2, runs);
    make_late(&runs[0], &fewer, 1);
    sl_status status = sl_merge_open(runs, 1, &options, NULL, &merged);
    assert_int_equal(sl_status_code(status), SL_E_INTERNAL);
    assert_non_null(strstr(sl_status_message(status), "_hoodie_is_deleted comes too late"));
    sl_status_free(status);
    sl_type_unref(schema);
}

static void test_counts(void **state)
{
    (void)state;
    static struct history h;
    static struct result r;
    static const char *const texts[] = {"B a=1 b=1 c=1 d=1 e=9", "R b=2 e=5 x=1 y=1!", "D c=7 z=1"};
    const sl_type *schema = row_schema(LONG_TS);
    struct sl_merge_options options = options_for(LONG_TS, schema);
    struct sl_merge_counts n;
    history_parse(&h, texts, 3);
    run_merge(&h, LONG_TS, &options, 3, &r, &n);
    assert_int_equal(n.rows_in, 11);
    assert_int_equal(n.deletes_in, 3);
    assert_int_equal(n.rows_out, 5); /* a b d e x */
    assert_int_equal(n.updated, 1);
    assert_int_equal(n.inserted, 1);
    assert_int_equal(n.deleted, 1);
    assert_int_equal(n.deletes_out, 0);
    sl_type_unref(schema);
}

/* ---- the model: a dictionary of lists, folded as the pages say ----------------------------------------- */

static bool model_int(struct ordering o) { return o.count == 1 && o.first == SL_INT32; }

static bool model_commit_delete(const struct setting *s, const struct op *op)
{
    if (!op->is_delete || s->mode == SL_COMMIT_TIME || s->ordering.count == 0)
        return false;
    if (s->ordering.count == 2)
        return !op->has[0] && !op->has[1];
    return !op->has[0] || (model_int(s->ordering) && op->value == 0);
}

static int model_order(const struct setting *s, const struct op *a, const struct op *b)
{
    if (model_int(s->ordering)) {
        int64_t x = a->has[0] ? a->value : 0, y = b->has[0] ? b->value : 0;
        return (x > y) - (x < y);
    }
    if (a->has[0] != b->has[0])
        return a->has[0] ? 1 : -1;
    if (a->has[0] && a->value != b->value)
        return a->value < b->value ? -1 : 1;
    if (s->ordering.count < 2)
        return 0;
    if (a->has[1] != b->has[1])
        return a->has[1] ? 1 : -1;
    return a->has[1] ? strcmp(a->text, b->text) : 0;
}

static const struct op *model_merge(const struct setting *s, const struct op *old, const struct op *new)
{
    if (!old || s->mode == SL_COMMIT_TIME || s->ordering.count == 0 || model_commit_delete(s, old) ||
        model_commit_delete(s, new))
        return new;
    return model_order(s, new, old) >= 0 ? new : old;
}

static const struct op *model_merge_log(const struct setting *s, const struct op *old, const struct op *new)
{
    if (!old || !new->in_delete_run || s->mode == SL_COMMIT_TIME || s->ordering.count == 0)
        return model_merge(s, old, new);
    if (model_commit_delete(s, old))
        return old;
    if (!model_commit_delete(s, new) && model_order(s, old, new) > 0)
        return old;
    return new;
}

/* The survivor of the operands, oldest first; NULL when there are none. */
static const struct op *model_fold(const struct setting *s, const struct op *const *ops, size_t count)
{
    const struct op *base = NULL, *log = NULL;
    for (size_t i = 0; i < count; i++)
        if (!s->classic || ops[i]->in_base)
            base = model_merge(s, base, ops[i]);
        else
            log = model_merge_log(s, log, ops[i]);
    return log ? model_merge(s, base, log) : base;
}

static int by_key_then_id(const void *a, const void *b)
{
    const struct op *x = *(const struct op *const *)a, *y = *(const struct op *const *)b;
    int c = strcmp(x->key, y->key);
    return c ? c : (x->id > y->id) - (x->id < y->id);
}

/* All records by key, oldest first (ids grow with source and row). */
static size_t model_sorted(const struct history *h, const struct op **out)
{
    for (size_t i = 0; i < h->count; i++)
        out[i] = &h->ops[i];
    qsort(out, h->count, sizeof *out, by_key_then_id);
    return h->count;
}

static void model_result(const struct setting *s, const struct history *h, struct result *r)
{
    static const struct op *sorted[OPS_MAX];
    size_t n = model_sorted(h, sorted);
    r->count = 0;
    for (size_t from = 0, to; from < n; from = to) {
        bool only_base = true;
        for (to = from; to < n && strcmp(sorted[to]->key, sorted[from]->key) == 0; to++)
            only_base &= sorted[to]->in_base;
        if (only_base || s->keep_duplicates) {
            for (size_t i = from; i < to; i++)
                r->ids[r->count++] = sorted[i]->id;
            continue;
        }
        const struct op *winner = model_fold(s, sorted + from, to - from);
        if (!winner->is_delete)
            r->ids[r->count++] = winner->id;
    }
}

/* ---- random histories ---------------------------------------------------------------------------------- */

static struct setting random_setting(void)
{
    static const struct ordering orderings[] = {{SL_INT64, 1},  {SL_INT32, 1}, {SL_DOUBLE, 1},
                                                {SL_STRING, 1}, {SL_INT64, 2}, {SL_INT64, 0}};
    return (struct setting){orderings[random_below(6)], random_below(4) ? SL_EVENT_TIME : SL_COMMIT_TIME,
                            random_below(3) == 0, random_below(12) == 0};
}

static void random_op(struct op *op, char kind, unsigned keys)
{
    static const char *const texts[] = {"a", "m", "z"};
    /* The shared front makes prefixes equal; the first key is empty. */
    uint64_t key = random_below(keys);
    if (key == 0)
        op->key[0] = 0;
    else
        snprintf(op->key, sizeof op->key, "%s%03u", key % 2 ? "key-long-" : "k", (unsigned)key);
    op->has[0] = random_below(5) != 0;
    op->value = (int64_t)random_below(5);
    op->has[1] = random_below(4) != 0;
    strcpy(op->text, texts[random_below(3)]);
    op->in_base = kind == 'B';
    op->in_delete_run = kind == 'D';
    op->marked = kind == 'R' && random_below(6) == 0;
    op->custom = kind == 'R' && random_below(10) == 0;
    op->is_delete = op->in_delete_run || op->marked || op->custom;
}

/* A row with all ordering values and without a mark, as plain.c folds them. */
static void make_plain(struct op *op)
{
    op->has[0] = op->has[1] = true;
    op->marked = op->custom = false;
    op->is_delete = op->in_delete_run;
}

static int by_source_key_id(const void *a, const void *b)
{
    const struct op *x = a, *y = b;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    int c = strcmp(x->key, y->key);
    return c ? c : (x->id > y->id) - (x->id < y->id);
}

static void random_runs(struct history *h, size_t runs, bool base, bool deletes)
{
    memset(h, 0, sizeof *h);
    h->runs = runs;
    unsigned keys = random_below(3) ? 1 + (unsigned)random_below(6) : 100 + (unsigned)random_below(400);
    size_t longest = keys < 10 ? 8 : runs < 6 ? 300 : 60;
    bool is_plain = random_below(2);
    for (size_t s = 0; s < h->runs; s++) {
        h->kind[s] = s == 0 && base && random_below(4) ? 'B' : deletes && random_below(3) == 0 ? 'D' : 'R';
        size_t n = random_below(longest);
        for (size_t i = 0; i < n; i++) {
            struct op *op = &h->ops[h->count];
            random_op(op, h->kind[s], keys);
            if (is_plain)
                make_plain(op);
            op->source = s;
            op->id = (int64_t)h->count++;
        }
    }
    qsort(h->ops, h->count, sizeof *h->ops, by_source_key_id);
    for (size_t i = 0; i < h->count; i++)
        h->ops[i].id = (int64_t)i;
}

static void random_history(struct history *h, bool base, bool deletes)
{
    random_runs(h, random_below(6), base, deletes);
}

/* The same texts with a dictionary of those that are there; an index under a null means nothing. */
static sl_array *encoded_texts(const sl_array *a)
{
    uint32_t rows[OPS_MAX];
    size_t count = 0;
    sl_builder *b;
    sl_buffer *indexes;
    sl_array *dictionary, *out;
    OK(sl_buffer_new((size_t)a->length * 4, &indexes));
    for (int64_t i = 0; i < a->length; i++) {
        store_le32(sl_buffer_data(indexes) + i * 4, sl_is_valid(a, i) ? (uint32_t)count : UINT32_MAX);
        if (sl_is_valid(a, i))
            rows[count++] = (uint32_t)i;
    }
    OK(sl_builder_new(a->type, &b));
    OK(sl_builder_append_rows(b, a, rows, count));
    OK(sl_builder_finish(b, &dictionary));
    sl_builder_free(b);
    OK(sl_array_new(a->type, a->length, a->null_count, sl_buffer_ref(a->validity_buffer), indexes, NULL, NULL,
                    0, dictionary, &out));
    return out;
}

/* Gives text columns of some batches dictionaries, as the reader of Parquet does. */
static void encode_some(sl_stream *stream)
{
    struct memory_stream *s = (struct memory_stream *)stream;
    uint64_t how_many = random_below(3); /* none, some, all */
    for (size_t i = 0; i < s->count; i++) {
        sl_batch *batch = s->batches[i];
        sl_array *columns[8];
        for (size_t c = 0; c < batch->schema->field_count; c++)
            columns[c] =
                batch->columns[c]->type->id == SL_STRING && (how_many == 2 || (how_many && random_below(2)))
                    ? encoded_texts(batch->columns[c])
                    : sl_array_ref(batch->columns[c]);
        OK(sl_batch_new(batch->schema, batch->rows, columns, &s->batches[i]));
        sl_batch_unref(batch);
    }
}

static void make_some_late(const struct history *h, const struct sl_merge_options *options,
                           struct sl_run *runs)
{
    uint64_t how_many = random_below(3); /* none, some, all */
    for (size_t i = 0; i < h->runs; i++)
        if (sl_merge_may_be_late(options) && h->kind[i] != 'D' &&
            (how_many == 2 || (how_many && random_below(2))))
            make_late(&runs[i], options, random_below(2) ? INT64_MAX : 1 + (int64_t)random_below(5));
}

static void print_history(const struct history *h, const struct setting *s)
{
    print_message("mode %d classic %d keep %d ordering %d x %zu\n", s->mode, s->classic, s->keep_duplicates,
                  s->ordering.first, s->ordering.count);
    for (size_t i = 0; i < h->count && i < 60; i++) {
        const struct op *op = &h->ops[i];
        print_message("  #%d %c%zu '%s' %s%d/%s%s\n", (int)op->id, h->kind[op->source], op->source, op->key,
                      op->has[0] ? "" : "null:", (int)op->value, op->has[1] ? op->text : "-",
                      op->is_delete ? " delete" : "");
    }
}

static void test_random_histories(void **state)
{
    (void)state;
    static struct history h;
    static struct result got, want;
    for (int turn = 0; turn < 4000; turn++) {
        struct setting s = random_setting();
        random_history(&h, true, !s.keep_duplicates);
        const sl_type *schema = row_schema(s.ordering);
        struct sl_merge_options options = options_for(s.ordering, schema);
        options.mode = s.mode;
        options.classic = s.classic;
        options.keep_duplicates = s.keep_duplicates;
        options.batch_rows = (int64_t)random_below(3) * (int64_t)(1 + random_below(40));
        options.keep_dictionaries = random_below(2);
        struct sl_merge_counts counts;
        struct sl_run runs[RUNS_MAX];
        sl_stream *merged;
        history_runs(&h, s.ordering, schema, 1 + (int64_t)random_below(random_below(2) ? 4 : 100), runs);
        for (size_t i = 0; i < h.runs; i++)
            encode_some(runs[i].rows);
        make_some_late(&h, &options, runs);
        memset(&got, 0, sizeof got);
        OK(sl_merge_open(runs, h.runs, &options, &counts, &merged));
        OK(drain(&h, merged, &got));
        sl_stream_close(merged);
        model_result(&s, &h, &want);
        if (got.count != want.count || memcmp(got.ids, want.ids, got.count * sizeof *got.ids) != 0) {
            print_history(&h, &s);
            fail_msg("turn %d: %zu rows, the model has %zu", turn, got.count, want.count);
        }
        assert_int_equal(counts.rows_out, want.count);
        assert_int_equal(counts.rows_in, h.count);
        if (options.batch_rows)
            assert_true(got.longest <= options.batch_rows);
        sl_type_unref(schema);
    }
}

/* ---- operands
 * ----------------------------------------------------------------------------------------------------------------
 */

/* What the sink received, as histories again: runs 0 rows, 1 deletes, 2 second rows, 3 second deletes. */
struct received {
    struct history h;
    const struct history *inputs;
    struct ordering ordering; /* of the delete batches */
};

static struct op *received_op(struct received *r, size_t source)
{
    assert_true(r->h.count < OPS_MAX);
    struct op *op = &r->h.ops[r->h.count++];
    *op = (struct op){.source = source};
    return op;
}

static sl_status receive_rows(void *context, sl_batch *batch, bool second)
{
    struct received *r = context;
    static struct result ids;
    memset(&ids, 0, sizeof ids);
    collect_batch(r->inputs, batch, &ids);
    for (size_t i = 0; i < ids.count; i++) {
        struct op *op = received_op(r, second ? 2 : 0);
        *op = r->inputs->ops[ids.ids[i]];
        assert_false(op->is_delete);
        op->source = second ? 2 : 0;
        op->id = ids.ids[i];
    }
    return SL_OK;
}

static void read_first(const sl_array *a, int64_t row, struct op *op)
{
    op->has[0] = sl_is_valid(a, row);
    if (!op->has[0])
        return;
    if (a->type->id == SL_DOUBLE) {
        op->value = (int64_t)sl_double_at(a, row);
    } else if (a->type->id == SL_STRING) {
        size_t len;
        char text[32] = {0};
        const uint8_t *value = sl_bytes_at(a, row, &len);
        memcpy(text, value, len);
        op->value = strtoll(text, NULL, 10);
    } else {
        op->value = sl_integer_at(a, row);
    }
}

static sl_status receive_deletes(void *context, sl_batch *batch, bool second)
{
    struct received *r = context;
    assert_int_equal(batch->schema->field_count, 1 + r->ordering.count);
    for (int64_t i = 0; i < batch->rows; i++) {
        struct op *op = received_op(r, second ? 3 : 1);
        size_t len;
        const uint8_t *key = sl_bytes_at(batch->columns[0], i, &len);
        memcpy(op->key, key, len);
        op->is_delete = op->in_delete_run = true;
        op->id = -1;
        if (r->ordering.count > 0)
            read_first(batch->columns[1], i, op);
        if (r->ordering.count > 1 && (op->has[1] = sl_is_valid(batch->columns[2], i))) {
            const uint8_t *text = sl_bytes_at(batch->columns[2], i, &len);
            memcpy(op->text, text, len);
        }
    }
    return SL_OK;
}

static struct sl_merge_options operand_options(const struct setting *s, const sl_type *schema,
                                               int64_t batch_rows)
{
    struct sl_merge_options options = options_for(s->ordering, schema);
    options.mode = s->mode;
    options.classic = s->classic;
    options.deletes = SL_KEEP_DELETES;
    options.batch_rows = batch_rows;
    return options;
}

static struct sl_operand_sink received_begin(struct received *r, const struct setting *s,
                                             const struct history *h)
{
    memset(&r->h, 0, sizeof r->h);
    r->h.runs = 4;
    memcpy(r->h.kind, "RDRD", 4);
    r->inputs = h;
    r->ordering = s->ordering;
    if (s->mode == SL_COMMIT_TIME)
        r->ordering.count = 0;
    return (struct sl_operand_sink){r, receive_rows, receive_deletes};
}

static sl_status run_operands(const struct setting *s, const struct history *h, int64_t batch_rows,
                              int64_t batch, struct received *r, struct sl_merge_counts *counts)
{
    const sl_type *schema = row_schema(s->ordering);
    struct sl_merge_options options = operand_options(s, schema, batch_rows);
    struct sl_run runs[RUNS_MAX];
    history_runs(h, s->ordering, schema, batch, runs);
    make_some_late(h, &options, runs);
    struct sl_operand_sink sink = received_begin(r, s, h);
    sl_status status = sl_merge_operands(runs, h->runs, &options, &sink, counts);
    sl_type_unref(schema);
    return status;
}

/* The records of a key in run order. */
static size_t records_of(const struct history *h, const char *key, const struct op **out)
{
    size_t n = 0;
    for (size_t source = 0; source < h->runs; source++)
        for (size_t i = 0; i < h->count; i++)
            if (h->ops[i].source == source && strcmp(h->ops[i].key, key) == 0)
                out[n++] = &h->ops[i];
    return n;
}

static bool same_outcome(const struct setting *s, const struct op *a, const struct op *b)
{
    if (!a || !b)
        return a == b;
    if (a->is_delete != b->is_delete)
        return false;
    if (!a->is_delete)
        return a->id == b->id;
    if (s->mode == SL_COMMIT_TIME || s->ordering.count == 0)
        return true;
    return model_commit_delete(s, a) == model_commit_delete(s, b) && model_order(s, a, b) == 0;
}

static void check_key(const struct setting *s, const struct history *inputs, const struct history *outputs,
                      const char *key)
{
    enum { AROUND = 3 };
    static const struct op *all[OPS_MAX], *few[OPS_MAX];
    for (int turn = 0; turn < 6; turn++) {
        struct op around[2 * AROUND];
        size_t older = random_below(AROUND + 1), newer = random_below(AROUND + 1), n = 0, m = 0;
        if (s->classic && older > 1)
            older = 1; /* the stretch starts at the oldest log: only a base is older */
        for (size_t i = 0; i < older + newer; i++) {
            around[i] = (struct op){0};
            random_op(&around[i], i < older ? (s->classic ? 'B' : 'R') : random_below(2) ? 'R' : 'D', 2);
            around[i].id = -2 - (int64_t)i;
        }
        for (size_t i = 0; i < older; i++)
            all[n++] = few[m++] = &around[i];
        n += records_of(inputs, key, all + n);
        m += records_of(outputs, key, few + m);
        for (size_t i = older; i < older + newer; i++)
            all[n++] = few[m++] = &around[i];
        if (!same_outcome(s, model_fold(s, all, n), model_fold(s, few, m))) {
            print_history(inputs, s);
            print_message(" operands:\n");
            print_history(outputs, s);
            fail_msg("key '%s' behaves differently with %zu older and %zu newer records", key, older, newer);
        }
    }
}

/* The shape of 12.1: one operand a key, or a commit-time delete followed by one more. */
static void check_shape(const struct setting *s, const struct history *inputs, const struct history *outputs,
                        const char *key)
{
    static const struct op *records[OPS_MAX];
    size_t n = records_of(inputs, key, records), last = SIZE_MAX;
    for (size_t i = 0; i < n; i++)
        if (model_commit_delete(s, records[i]))
            last = i;
    bool two = !s->classic && last != SIZE_MAX && last + 1 < n;
    n = records_of(outputs, key, records);
    assert_int_equal(n, two ? 2 : 1);
    assert_true(records[0]->source < 2);
    if (two) {
        assert_true(model_commit_delete(s, records[0]));
        assert_true(records[1]->source >= 2);
    }
}

static void check_sorted(const struct history *h)
{
    const char *last[4] = {"", "", "", ""};
    for (size_t i = 0; i < h->count; i++) {
        assert_true(strcmp(last[h->ops[i].source], h->ops[i].key) <= 0);
        last[h->ops[i].source] = h->ops[i].key;
    }
}

static void test_random_operands(void **state)
{
    (void)state;
    static struct history h;
    static struct received r;
    static const struct op *sorted[OPS_MAX];
    for (int turn = 0; turn < 1500; turn++) {
        struct setting s = random_setting();
        s.keep_duplicates = false;
        random_history(&h, false, true);
        struct sl_merge_counts counts;
        OK(run_operands(&s, &h, (int64_t)random_below(2) * (int64_t)(1 + random_below(30)),
                        1 + (int64_t)random_below(random_below(2) ? 4 : 100), &r, &counts));
        check_sorted(&r.h);
        assert_int_equal(counts.rows_out + counts.deletes_out, r.h.count);
        size_t n = model_sorted(&h, sorted);
        for (size_t i = 0; i < n; i++) {
            if (i > 0 && strcmp(sorted[i]->key, sorted[i - 1]->key) == 0)
                continue;
            check_shape(&s, &h, &r.h, sorted[i]->key);
            check_key(&s, &h, &r.h, sorted[i]->key);
        }
    }
}

/* G-23: a commit-time delete followed by a row of a lower ordering value. */
static void test_reduction_keeps_commit_delete(void **state)
{
    (void)state;
    static struct history h;
    static struct received r;
    static const char *const texts[] = {"D k=-", "R k=1"};
    struct setting s = {LONG_TS, SL_EVENT_TIME, false, false};
    history_parse(&h, texts, 2);
    OK(run_operands(&s, &h, 0, 10, &r, NULL));
    assert_int_equal(r.h.count, 2);
    assert_true(r.h.ops[0].source == 2 || r.h.ops[1].source == 2);
    s.classic = true;
    OK(run_operands(&s, &h, 0, 10, &r, NULL));
    assert_int_equal(r.h.count, 1);
    assert_int_equal(r.h.ops[0].source, 0);
}

/* G-21: folding a prefix of the sources first, as operands, and then the rest gives what one pass gives. */
static void test_prefix_passes(void **state)
{
    (void)state;
    static struct history h, prefix, rest;
    static struct received r;
    static struct result want, got;
    for (int turn = 0; turn < 800; turn++) {
        struct setting s = random_setting();
        s.classic = s.keep_duplicates = false;
        do
            random_history(&h, false, true);
        while (h.runs < 2);
        size_t cut = 1 + random_below(h.runs - 1);
        prefix = h;
        prefix.runs = cut;
        prefix.count = 0;
        while (prefix.count < h.count && h.ops[prefix.count].source < cut)
            prefix.count++;
        OK(run_operands(&s, &prefix, 0, 50, &r, NULL));
        rest = r.h;
        /* By run, as a stream takes them; the stable order inside each is kept. */
        for (size_t i = prefix.count; i < h.count; i++) {
            rest.ops[rest.count] = h.ops[i];
            rest.ops[rest.count++].source += 4 - cut;
        }
        rest.runs = 4 + h.runs - cut;
        for (size_t i = cut; i < h.runs; i++)
            rest.kind[4 + i - cut] = h.kind[i];
        const sl_type *schema = row_schema(s.ordering);
        struct sl_merge_options options = options_for(s.ordering, schema);
        options.mode = s.mode;
        run_merge(&h, s.ordering, &options, 50, &want, NULL);
        /* ids name records of h: check keys against it. */
        struct sl_run runs[RUNS_MAX];
        history_runs(&rest, s.ordering, schema, 50, runs);
        sl_stream *merged;
        memset(&got, 0, sizeof got);
        OK(sl_merge_open(runs, rest.runs, &options, NULL, &merged));
        OK(drain(&h, merged, &got));
        sl_stream_close(merged);
        assert_int_equal(got.count, want.count);
        assert_memory_equal(got.ids, want.ids, got.count * sizeof *got.ids);
        sl_type_unref(schema);
    }
}

/* ---- more runs than may be open ------------------------------------------------------------------------ */

/* Hands out runs one by one and counts how many are open. */
struct counted_run {
    sl_stream base;
    sl_stream *rows;
    size_t *open;
};
struct shelf {
    struct sl_run runs[RUNS_MAX];
    bool taken[RUNS_MAX];
    size_t open, most;
};

static sl_status counted_next(sl_stream *self, sl_batch **out)
{
    return sl_stream_next(((struct counted_run *)self)->rows, out);
}

static void counted_close(sl_stream *self)
{
    struct counted_run *run = (struct counted_run *)self;
    sl_stream_close(run->rows);
    --*run->open;
    free(run);
}

static sl_status shelf_open(void *context, size_t index, struct sl_run *out)
{
    struct shelf *shelf = context;
    assert_false(shelf->taken[index]);
    shelf->taken[index] = true;
    struct counted_run *run = calloc(1, sizeof *run);
    *run = (struct counted_run){{shelf->runs[index].rows->schema, counted_next, counted_close},
                                shelf->runs[index].rows,
                                &shelf->open};
    *out = shelf->runs[index];
    out->rows = &run->base;
    shelf->open++;
    shelf->most = shelf->open > shelf->most ? shelf->open : shelf->most;
    return SL_OK;
}

static void shelf_close(struct shelf *shelf, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!shelf->taken[i])
            sl_stream_close(shelf->runs[i].rows);
    assert_int_equal(shelf->open, 0);
}

static struct sl_run_list shelf_list(struct shelf *shelf, const struct history *h)
{
    return (struct sl_run_list){h->runs, h->runs > 0 && h->kind[0] == 'B', shelf, shelf_open};
}

static size_t open_files(void)
{
    size_t count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) != -1;
    return count;
}

static size_t random_limit(const struct history *h)
{
    const size_t limits[] = {1, 2, SL_MERGE_OPEN_LEAST, h->runs > 1 ? h->runs - 1 : 1,
                             1 + random_below(RUNS_MAX)};
    return limits[random_below(sizeof limits / sizeof *limits)];
}

static void check_open(const struct shelf *shelf, size_t limit)
{
    assert_true(shelf->most <= (limit < SL_MERGE_OPEN_LEAST ? SL_MERGE_OPEN_LEAST : limit));
}

/* G-20, G-21: rows and counts are those of one pass, whatever the limit, and no temporary file stays open. */
static void test_passes(void **state)
{
    (void)state;
    static struct history h;
    static struct result want, got;
    for (int turn = 0; turn < 300; turn++) {
        struct setting s = random_setting();
        s.keep_duplicates = false;
        random_runs(&h, random_below(RUNS_MAX), true, true);
        const sl_type *schema = row_schema(s.ordering);
        struct sl_merge_options options = options_for(s.ordering, schema);
        options.mode = s.mode;
        options.classic = s.classic;
        struct sl_merge_counts all, parts;
        run_merge(&h, s.ordering, &options, 7, &want, &all);
        static struct shelf shelf;
        memset(&shelf, 0, sizeof shelf);
        memset(&got, 0, sizeof got);
        history_runs(&h, s.ordering, schema, 7, shelf.runs);
        struct sl_run_list list = shelf_list(&shelf, &h);
        size_t limit = random_limit(&h), files = open_files();
        sl_stream *merged;
        OK(sl_merge_open_list(&list, limit, &options, &parts, &merged));
        OK(drain(&h, merged, &got));
        sl_stream_close(merged);
        shelf_close(&shelf, h.runs);
        check_open(&shelf, limit);
        assert_int_equal(open_files(), files);
        if (got.count != want.count || memcmp(got.ids, want.ids, got.count * sizeof *got.ids) != 0) {
            print_history(&h, &s);
            fail_msg("turn %d: %zu runs, at most %zu open: not what one pass gives", turn, h.runs, limit);
        }
        assert_int_equal(parts.rows_in, all.rows_in);
        assert_int_equal(parts.rows_out, all.rows_out);
        assert_int_equal(parts.deletes_in, all.deletes_in);
        assert_int_equal(parts.inserted, all.inserted);
        assert_int_equal(parts.updated, all.updated);
        assert_int_equal(parts.deleted, all.deleted);
        sl_type_unref(schema);
    }
}

/* The same for operands: after any older and before any newer records they behave as those of one pass. */
static void test_passes_of_operands(void **state)
{
    (void)state;
    static struct history h;
    static struct received r;
    static struct shelf shelf;
    static const struct op *sorted[OPS_MAX];
    for (int turn = 0; turn < 150; turn++) {
        struct setting s = random_setting();
        s.keep_duplicates = false;
        random_runs(&h, random_below(RUNS_MAX), false, true);
        const sl_type *schema = row_schema(s.ordering);
        struct sl_merge_options options = operand_options(&s, schema, 0);
        memset(&shelf, 0, sizeof shelf);
        history_runs(&h, s.ordering, schema, 7, shelf.runs);
        struct sl_run_list list = shelf_list(&shelf, &h);
        struct sl_operand_sink sink = received_begin(&r, &s, &h);
        struct sl_merge_counts counts;
        size_t limit = random_limit(&h);
        OK(sl_merge_operands_list(&list, limit, &options, &sink, &counts));
        shelf_close(&shelf, h.runs);
        check_open(&shelf, limit);
        assert_int_equal(counts.rows_in, h.count);
        size_t n = model_sorted(&h, sorted);
        for (size_t i = 0; i < n; i++) {
            if (i > 0 && strcmp(sorted[i]->key, sorted[i - 1]->key) == 0)
                continue;
            check_shape(&s, &h, &r.h, sorted[i]->key);
            check_key(&s, &h, &r.h, sorted[i]->key);
        }
        sl_type_unref(schema);
    }
}

/* G-20: an allocation that fails, wherever, and a cancel leave neither runs nor temporary files open. */
static void test_passes_fail(void **state)
{
    (void)state;
    static struct history h;
    static struct shelf shelf;
    random_state = 4711;
    random_runs(&h, 12, true, true);
    const sl_type *schema = row_schema(LONG_TS);
    size_t files = open_files();
    atomic_bool cancel = true;
    sl_runtime runtime = {.cancel = &cancel};
    struct sl_merge_options options = options_for(LONG_TS, schema);
    bool failed = true;
    for (uint64_t n = 0; failed; n += 1 + n / 50) {
        memset(&shelf, 0, sizeof shelf);
        history_runs(&h, LONG_TS, schema, 5, shelf.runs);
        struct sl_run_list list = shelf_list(&shelf, &h);
        options.runtime = n ? NULL : &runtime;
        sl_test_fail_allocation(n, false);
        sl_stream *merged = NULL;
        sl_status status = sl_merge_open_list(&list, 1, &options, NULL, &merged);
        if (status == SL_OK)
            status = drain(&h, merged, NULL);
        sl_stream_close(merged);
        sl_test_fail_allocation(0, false);
        shelf_close(&shelf, h.runs);
        assert_int_equal(open_files(), files);
        failed = status != SL_OK;
        assert_true(!failed || sl_status_code(status) == (n ? SL_E_MEMORY : SL_E_CANCELLED));
        sl_status_free(status);
    }
    sl_type_unref(schema);
}

/* ---- memory
 * ----------------------------------------------------------------------------------------------------------------------
 */

/* Every allocation fails once: the error comes out as such, and nothing leaks (asan). */
static void test_no_memory(void **state)
{
    (void)state;
    static struct history h;
    static const char *const texts[] = {"B a=1 b=1 c=1 k=1 k=2", "R b=2 d=3 k=4 k=5", "D a=7 k=-",
                                        "R k=1 x=1"};
    const sl_type *schema = row_schema(LONG_TS);
    struct sl_merge_options options = options_for(LONG_TS, schema);
    history_parse(&h, texts, 4);
    bool failed = true;
    for (uint64_t n = 1; failed; n++) {
        struct sl_run runs[RUNS_MAX];
        history_runs(&h, LONG_TS, schema, 2, runs);
        make_late(&runs[0], &options, INT64_MAX);
        make_late(&runs[1], &options, 1);
        sl_test_fail_allocation(n, false);
        sl_stream *merged = NULL;
        sl_status status = sl_merge_open(runs, 4, &options, NULL, &merged);
        if (status == SL_OK)
            status = drain(&h, merged, NULL);
        sl_stream_close(merged);
        sl_test_fail_allocation(0, false);
        failed = status != SL_OK;
        if (failed)
            assert_int_equal(sl_status_code(status), SL_E_MEMORY);
        sl_status_free(status);
        assert_true(n < 2000);
    }
    sl_type_unref(schema);
}

static sl_status ignore_batch(void *context, sl_batch *batch, bool second)
{
    (void)context;
    (void)batch;
    (void)second;
    return SL_OK;
}

static void test_no_memory_operands(void **state)
{
    (void)state;
    static struct history h;
    static const char *const texts[] = {"R b=2 d=3 k=4 k=5", "D a=7 k=-", "R k=1 x=1!"};
    const sl_type *schema = row_schema(LONG_TS);
    struct sl_merge_options options = options_for(LONG_TS, schema);
    struct sl_operand_sink sink = {NULL, ignore_batch, ignore_batch};
    history_parse(&h, texts, 3);
    bool failed = true;
    for (uint64_t n = 1; failed; n++) {
        struct sl_run runs[RUNS_MAX];
        history_runs(&h, LONG_TS, schema, 2, runs);
        make_late(&runs[0], &options, 1);
        sl_test_fail_allocation(n, false);
        sl_status status = sl_merge_operands(runs, 3, &options, &sink, NULL);
        sl_test_fail_allocation(0, false);
        failed = status != SL_OK;
        if (failed)
            assert_int_equal(sl_status_code(status), SL_E_MEMORY);
        sl_status_free(status);
        assert_true(n < 2000);
    }
    sl_type_unref(schema);
}

int main(void)
{
    random_start();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_event_time),
        cmocka_unit_test(test_commit_time),
        cmocka_unit_test(test_log_format_table),
        cmocka_unit_test(test_fold_against_classic),
        cmocka_unit_test(test_log_order),
        cmocka_unit_test(test_duplicates),
        cmocka_unit_test(test_no_runs),
        cmocka_unit_test(test_promotion),
        cmocka_unit_test(test_unsorted),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_pass_through),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_too_late),
        cmocka_unit_test(test_refused_changes),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_gallop),
        cmocka_unit_test(test_random_histories),
        cmocka_unit_test(test_random_operands),
        cmocka_unit_test(test_reduction_keeps_commit_delete),
        cmocka_unit_test(test_prefix_passes),
        cmocka_unit_test(test_passes),
        cmocka_unit_test(test_passes_of_operands),
        cmocka_unit_test(test_passes_fail),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_no_memory_operands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
