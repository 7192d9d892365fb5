/*
 * Partial updates (spec/log-format.md 12.2): random histories of a few keys, merged by the pipeline and by a fold written
 * down plainly here; both modes, event and commit time, the order of folding of either layout. And: what a flush reduces
 * must stand for its rows. SEED=n repeats a run.
 */
#include "engine_support.h"

#include "merge/merge.h"

enum { KEYS = 5, RUNS = 6 };
#define MARKER "__gone"

struct value {
    bool present; /* false: no row */
    bool is_delete, no_ordering;
    int64_t ts;
    int a;         /* -1: null */
    const char *b; /* NULL: null */
};
struct run {
    bool is_base, is_deletes;
    struct value ops[KEYS][2]; /* in-run duplicates */
};
struct setting {
    enum sl_merge_mode mode;
    enum sl_partial_mode partial;
    bool classic;
};

static struct rng r;

/* ---- the plain fold ------------------------------------------------------------------------------------ */

static bool commit_delete(const struct setting *s, const struct value *v)
{
    return s->mode == SL_EVENT_TIME && v->is_delete && v->no_ordering;
}

static bool newer_wins(const struct setting *s, const struct value *existing, const struct value *next)
{
    if (s->mode == SL_COMMIT_TIME || commit_delete(s, existing) || commit_delete(s, next))
        return true;
    return next->ts >= existing->ts;
}

static struct value combine(const struct setting *s, const struct value *winner, const struct value *loser)
{
    struct value v = *winner;
    if (winner->is_delete || loser->is_delete || !loser->present)
        return v;
    if (s->partial == SL_PARTIAL_IGNORE_DEFAULTS) {
        v.a = v.a < 0 ? loser->a : v.a;
        v.b = v.b ? v.b : loser->b;
    } else if (v.b && strcmp(v.b, MARKER) == 0) {
        v.b = loser->b;
    }
    return v;
}

static struct value fold(const struct setting *s, const struct value *kept, const struct value *next,
                         bool next_wins)
{
    if (!kept->present)
        return *next;
    return next_wins ? combine(s, next, kept) : combine(s, kept, next);
}

/* A record of a delete run does not replace a commit-time delete (default layout, logs). */
static bool log_wins(const struct setting *s, const struct run *run, const struct value *kept,
                     const struct value *next)
{
    if (!run->is_deletes || s->mode == SL_COMMIT_TIME)
        return newer_wins(s, kept, next);
    if (commit_delete(s, kept))
        return false;
    return commit_delete(s, next) || next->ts >= kept->ts;
}

static struct value fold_runs(const struct setting *s, const struct run *runs, int key, struct value kept,
                              bool classic)
{
    struct value log = {0};
    for (int i = 0; i < RUNS; i++)
        for (int k = 0; k < 2; k++) {
            const struct value *op = &runs[i].ops[key][k];
            if (!op->present)
                continue;
            if (classic && !runs[i].is_base)
                log = fold(s, &log, op, !log.present || log_wins(s, &runs[i], &log, op));
            else
                kept = fold(s, &kept, op, newer_wins(s, &kept, op));
        }
    return classic && log.present ? fold(s, &kept, &log, newer_wins(s, &kept, &log)) : kept;
}

/* ---- random runs --------------------------------------------------------------------------------------- */

static void random_value(const struct run *run, struct value *v)
{
    static const char *const texts[] = {NULL, "x", "y", MARKER};
    *v = (struct value){.present = true,
                        .is_delete = run->is_deletes,
                        .ts = 1 + pick(&r, 6),
                        .a = (int)pick(&r, 4) - 1,
                        .b = texts[pick(&r, 4)]};
    v->no_ordering = run->is_deletes && chance(&r, 40);
}

static void random_runs(struct run *runs, bool with_base)
{
    memset(runs, 0, RUNS * sizeof *runs);
    for (int i = 0; i < RUNS; i++) {
        runs[i].is_base = with_base && i == 0;
        runs[i].is_deletes = !runs[i].is_base && chance(&r, 30);
        for (int key = 0; key < KEYS; key++)
            for (int k = 0; k < 2; k++)
                if (k == 0 ? chance(&r, 60)
                           : runs[i].ops[key][0].present && !runs[i].is_base && chance(&r, 20))
                    random_value(&runs[i], &runs[i].ops[key][k]);
    }
}

static const sl_type *row_schema(void)
{
    const sl_type *schema;
    ok(sl_schema_parse("_hoodie_record_key string not null, ts long, a int, b string", &schema));
    return schema;
}

static void add_row(sl_batch_builder *b, int key, const struct value *v, bool is_deletes)
{
    char name[8];
    ok(sl_builder_bytes(b->columns[0], name, (size_t)snprintf(name, sizeof name, "k%d", key)));
    if (b->schema->field_count > 1)
        ok(v->no_ordering ? sl_builder_null(b->columns[1]) : sl_builder_integer(b->columns[1], v->ts));
    if (is_deletes)
        return;
    ok(v->a < 0 ? sl_builder_null(b->columns[2]) : sl_builder_integer(b->columns[2], v->a));
    ok(v->b ? sl_builder_bytes(b->columns[3], v->b, strlen(v->b)) : sl_builder_null(b->columns[3]));
}

struct one {
    sl_stream base;
    sl_batch *batch;
};

static sl_status one_next(sl_stream *self, sl_batch **out)
{
    struct one *o = (struct one *)self;
    *out = o->batch;
    o->batch = NULL;
    return SL_OK;
}

static void one_close(sl_stream *self)
{
    struct one *o = (struct one *)self;
    sl_type_unref(o->base.schema);
    sl_batch_unref(o->batch);
    free(o);
}

static sl_stream *stream_of(sl_batch *batch)
{
    struct one *o = calloc(1, sizeof *o);
    *o = (struct one){{sl_type_ref(batch->schema), one_next, one_close}, batch};
    return &o->base;
}

static sl_stream *run_stream(const struct run *run, const sl_type *schema)
{
    sl_batch_builder b;
    sl_batch *batch;
    ok(sl_batch_builder_init(&b, schema));
    for (int key = 0; key < KEYS; key++)
        for (int k = 0; k < 2; k++)
            if (run->ops[key][k].present)
                add_row(&b, key, &run->ops[key][k], run->is_deletes);
    ok(sl_batch_builder_finish(&b, &batch));
    sl_batch_builder_free(&b);
    return stream_of(batch);
}

/* ---- merging ------------------------------------------------------------------------------------------- */

static struct sl_merge_options options_of(const struct setting *s, const sl_type *schema)
{
    static const char *const ordering[] = {"ts"};
    return (struct sl_merge_options){.mode = s->mode,
                                     .key_column = "_hoodie_record_key",
                                     .ordering = ordering,
                                     .ordering_count = 1,
                                     .partial = s->partial,
                                     .unavailable = MARKER,
                                     .classic = s->classic,
                                     .schema = schema,
                                     .batch_rows = 1 + pick(&r, 7)};
}

static size_t open_runs(const struct run *runs, const struct sl_merge_options *o, struct sl_run *out)
{
    const sl_type *deletes;
    ok(sl_delete_schema(o, &deletes));
    for (int i = 0; i < RUNS; i++)
        out[i] = (struct sl_run){.rows = run_stream(&runs[i], runs[i].is_deletes ? deletes : o->schema),
                                 .is_deletes = runs[i].is_deletes,
                                 .is_base = runs[i].is_base,
                                 .name = "run"};
    sl_type_unref(deletes);
    return RUNS;
}

static struct value value_at(const sl_batch *batch, int64_t row)
{
    static char texts[64][16];
    static size_t at;
    struct value v = {.present = true, .ts = sl_integer_at(batch->columns[1], row), .a = -1};
    if (sl_is_valid(batch->columns[2], row))
        v.a = (int)sl_integer_at(batch->columns[2], row);
    if (sl_is_valid(batch->columns[3], row)) {
        size_t len;
        const uint8_t *text = sl_bytes_at(batch->columns[3], row, &len);
        char *kept = texts[at++ % 64];
        snprintf(kept, sizeof texts[0], "%.*s", (int)len, (const char *)text);
        v.b = kept;
    }
    return v;
}

static int key_at(const sl_batch *batch, int64_t row)
{
    size_t len;
    return sl_bytes_at(batch->columns[0], row, &len)[1] - '0';
}

static void merge_runs(struct sl_run *runs, size_t count, const struct sl_merge_options *o, struct value *out)
{
    sl_stream *rows;
    memset(out, 0, KEYS * sizeof *out);
    ok(sl_merge_open(runs, count, o, NULL, &rows));
    for (sl_batch *batch;;) {
        ok(sl_stream_next(rows, &batch));
        if (!batch)
            break;
        for (int64_t i = 0; i < batch->rows; i++) {
            assert_false(out[key_at(batch, i)].present);
            out[key_at(batch, i)] = value_at(batch, i);
        }
        sl_batch_unref(batch);
    }
    sl_stream_close(rows);
}

static void same(const struct value *want, const struct value *got, int key, int turn)
{
    bool row = want->present && !want->is_delete;
    bool equal = row == got->present;
    if (row && equal)
        equal = want->ts == got->ts && want->a == got->a && !want->b == !got->b &&
                (!want->b || strcmp(want->b, got->b) == 0);
    if (!equal)
        fail_msg("turn %d, key %d: want %s ts=%d a=%d b=%s, got %s ts=%d a=%d b=%s", turn, key,
                 row ? "row" : "nothing", (int)want->ts, want->a, want->b ? want->b : "-",
                 got->present ? "row" : "nothing", (int)got->ts, got->a, got->b ? got->b : "-");
}

static struct setting random_setting(void)
{
    return (struct setting){chance(&r, 50) ? SL_EVENT_TIME : SL_COMMIT_TIME,
                            chance(&r, 50) ? SL_PARTIAL_IGNORE_DEFAULTS : SL_PARTIAL_FILL_UNAVAILABLE,
                            chance(&r, 40)};
}

static void merges_fill_columns(void **state)
{
    (void)state;
    const sl_type *schema = row_schema();
    for (int turn = 0; turn < 4000; turn++) {
        struct run runs[RUNS];
        struct sl_run open[RUNS];
        struct value got[KEYS];
        struct setting s = random_setting();
        random_runs(runs, chance(&r, 70));
        struct sl_merge_options o = options_of(&s, schema);
        merge_runs(open, open_runs(runs, &o, open), &o, got);
        for (int key = 0; key < KEYS; key++) {
            struct value want = fold_runs(&s, runs, key, (struct value){0}, s.classic);
            same(&want, &got[key], key, turn);
        }
    }
    sl_type_unref(schema);
}

/* ---- flushes ------------------------------------------------------------------------------------------- */

/* What the sink gets, as operands: [deletes, rows] of the first kind, then of the second. */
struct operands {
    struct run runs[RUNS]; /* 0: first deletes, 1: first rows, 2: second deletes, 3: second rows */
};

static sl_status take(struct operands *o, sl_batch *batch, bool is_deletes, bool second)
{
    struct run *run = &o->runs[2 * second + !is_deletes];
    run->is_deletes = is_deletes;
    for (int64_t i = 0; i < batch->rows; i++) {
        struct value *v = run->ops[key_at(batch, i)];
        assert_false(v->present);
        if (!is_deletes) {
            *v = value_at(batch, i);
            continue;
        }
        bool ordered = batch->schema->field_count > 1 && sl_is_valid(batch->columns[1], i);
        *v = (struct value){.present = true,
                            .is_delete = true,
                            .no_ordering = !ordered,
                            .ts = ordered ? sl_integer_at(batch->columns[1], i) : 0};
    }
    return SL_OK;
}

static sl_status take_rows(void *context, sl_batch *batch, bool second)
{
    return take(context, batch, false, second);
}
static sl_status take_deletes(void *context, sl_batch *batch, bool second)
{
    return take(context, batch, true, second);
}

/* In commit time a flush's operands stand for its rows after any older row; texts are compared at once, so they may be
 * static. */
static void flushes_stand_for_their_rows(void **state)
{
    (void)state;
    const sl_type *schema = row_schema();
    struct sl_operand_sink sink = {NULL, take_rows, take_deletes};
    for (int turn = 0; turn < 4000; turn++) {
        struct run runs[RUNS];
        struct sl_run open[RUNS];
        struct operands operands = {0};
        struct setting s = random_setting();
        s.classic = false;
        s.mode = SL_COMMIT_TIME;
        random_runs(runs, false);
        struct sl_merge_options o = options_of(&s, schema);
        o.deletes = SL_KEEP_DELETES;
        sink.context = &operands;
        ok(sl_merge_operands(open, open_runs(runs, &o, open), &o, &sink, NULL));
        struct value older = {.present = true, .ts = 1 + pick(&r, 6), .a = 9, .b = "old"};
        for (int key = 0; key < KEYS; key++) {
            struct value want = fold_runs(&s, runs, key, older, false),
                         got = fold_runs(&s, operands.runs, key, older, false);
            if (got.is_delete)
                got.present = false;
            same(&want, &got, key, turn);
        }
    }
    sl_type_unref(schema);
}

int main(void)
{
    r.state = number_from_environment("SEED", (uint64_t)time(NULL));
    printf("SEED=%" PRIu64 "\n", r.state);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_fill_columns),
        cmocka_unit_test(flushes_stand_for_their_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
