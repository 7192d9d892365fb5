/*
 * Keys of every shape through a merge: with much, little or nothing in common, shorter than what others have in common,
 * with zeros at their ends, which look like the padding of a prefix; in batches of every length. They come out as a plain
 * sort has them, equal ones as one, and a run that goes backwards anywhere is refused (spec/lsm-layout.md 6).
 */
#include "check_support.h"

#include "merge_runs.h"

enum { KEYS_MOST = 400, KEY_BYTES = 48 };

struct row {
    uint8_t key[KEY_BYTES];
    size_t len;
    int64_t id; /* grows with run and row */
};

/* ---- keys ---------------------------------------------------------------------------------------------- */

/* What the keys of a merge are like. */
struct shape {
    uint8_t front[32];
    size_t front_bytes, tail_bytes, letters;
    bool same_length, strangers; /* strangers: some keys begin differently */
};

static struct shape random_shape(void)
{
    struct shape s = {.front_bytes = random_below(3) ? random_below(sizeof s.front) : 0,
                      .tail_bytes = 1 + random_below(12),
                      .letters = 1 + random_below(4),
                      .same_length = random_below(2),
                      .strangers = random_below(4) == 0};
    for (size_t i = 0; i < s.front_bytes; i++)
        s.front[i] = (uint8_t)random_below(256);
    return s;
}

static void random_key(const struct shape *s, struct row *row)
{
    static const uint8_t letters[] = {0, 1, 'a', 0xff};
    size_t front = s->strangers && random_below(8) == 0 ? random_below(s->front_bytes + 1) : s->front_bytes;
    size_t tail = s->same_length ? s->tail_bytes : random_below(s->tail_bytes + 1);
    memcpy(row->key, s->front, front);
    for (size_t i = 0; i < tail; i++)
        row->key[front + i] = letters[random_below(s->letters)];
    row->len = front + tail;
}

static int by_key(const struct row *a, const struct row *b)
{
    return bytes_compare(a->key, a->len, b->key, b->len);
}

static int by_key_then_id(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int c = by_key(x, y);
    return c ? c : (x->id > y->id) - (x->id < y->id);
}

/* ---- runs ---------------------------------------------------------------------------------------------- */

static const sl_type *schema_of_keys(void)
{
    const sl_type *key = type_of(SL_BINARY), *id = type_of(SL_INT64), *schema;
    sl_field fields[] = {{"key", key, false, NULL}, {"id", id, false, NULL}};
    OK(sl_type_struct(fields, 2, &schema));
    sl_type_unref(key);
    sl_type_unref(id);
    return schema;
}

static sl_stream *stream_of(const sl_type *schema, const struct row *rows, size_t count)
{
    struct memory_stream *s = memory_stream_new(schema);
    sl_batch_builder builder;
    OK(sl_batch_builder_init(&builder, schema));
    for (size_t i = 0, left = 0; i < count; i++) {
        left = left ? left : 1 + random_below(random_below(2) ? 3 : KEYS_MOST);
        OK(sl_builder_bytes(builder.columns[0], rows[i].key, rows[i].len));
        OK(sl_builder_integer(builder.columns[1], rows[i].id));
        if (--left == 0 || i + 1 == count) {
            sl_batch *batch;
            OK(sl_batch_builder_finish(&builder, &batch));
            memory_stream_add(s, batch);
        }
    }
    sl_batch_builder_free(&builder);
    return &s->base;
}

/* Sorted runs that take the rows one behind the other; `ends` has where each stops. */
static void random_runs(struct row *rows, size_t count, size_t *ends, size_t runs)
{
    const struct shape shape = random_shape();
    for (size_t i = 0; i < count; i++) {
        random_key(&shape, &rows[i]);
        rows[i].id = (int64_t)i;
    }
    for (size_t r = 0, from = 0; r < runs; from = ends[r++]) {
        ends[r] = r + 1 == runs ? count : from + random_below(count - from + 1);
        qsort(rows + from, ends[r] - from, sizeof *rows, by_key_then_id);
        for (size_t i = from; i < ends[r]; i++)
            rows[i].id = (int64_t)i;
    }
}

static sl_status open_merge(const sl_type *schema, const struct row *rows, const size_t *ends, size_t count,
                            sl_stream **out)
{
    struct sl_merge_options options = {.mode = SL_COMMIT_TIME,
                                       .key_column = "key",
                                       .schema = schema,
                                       .batch_rows = 1 + (int64_t)random_below(50)};
    struct sl_run runs[RUNS_MAX];
    for (size_t r = 0, from = 0; r < count; from = ends[r++])
        runs[r] = (struct sl_run){.rows = stream_of(schema, rows + from, ends[r] - from), .name = "run"};
    return sl_merge_open(runs, count, &options, NULL, out);
}

/* ---- results ------------------------------------------------------------------------------------------- */

/* Of each key the newest row. */
static size_t expected(struct row *rows, size_t count)
{
    size_t kept = 0;
    qsort(rows, count, sizeof *rows, by_key_then_id);
    for (size_t i = 0; i < count; i++)
        if (i + 1 == count || by_key(&rows[i], &rows[i + 1]) != 0)
            rows[kept++] = rows[i];
    return kept;
}

static void compare(sl_stream *merged, const struct row *want, size_t count)
{
    size_t at = 0;
    for (;;) {
        sl_batch *batch;
        OK(sl_stream_next(merged, &batch));
        if (!batch)
            break;
        for (int64_t i = 0; i < batch->rows; i++, at++) {
            size_t len;
            const uint8_t *key = sl_bytes_at(batch->columns[0], i, &len);
            assert_true(at < count);
            assert_int_equal(bytes_compare(key, len, want[at].key, want[at].len), 0);
            assert_int_equal(sl_i64_at(batch->columns[1], i), want[at].id);
        }
        sl_batch_unref(batch);
    }
    assert_int_equal(at, count);
}

static void keys_of_every_shape(void **state)
{
    (void)state;
    static struct row rows[KEYS_MOST];
    const sl_type *schema = schema_of_keys();
    for (int turn = 0; turn < 1500; turn++) {
        size_t count = random_below(KEYS_MOST), runs = 1 + random_below(7), ends[7];
        sl_stream *merged;
        random_runs(rows, count, ends, runs);
        OK(open_merge(schema, rows, ends, runs, &merged));
        size_t kept = expected(rows, count);
        compare(merged, rows, kept);
        sl_stream_close(merged);
    }
    sl_type_unref(schema);
}

/* Two neighbours with different keys change places. */
static void disorder_is_found(void **state)
{
    (void)state;
    static struct row rows[KEYS_MOST];
    const sl_type *schema = schema_of_keys();
    for (int turn = 0; turn < 1500; turn++) {
        size_t count = 2 + random_below(KEYS_MOST - 2), end;
        char place[32];
        random_runs(rows, count, &end, 1);
        size_t at = 1 + random_below(count - 1);
        if (by_key(&rows[at - 1], &rows[at]) == 0)
            continue;
        struct row moved = rows[at];
        rows[at] = rows[at - 1];
        rows[at - 1] = moved;
        snprintf(place, sizeof place, "row %zu ", at);
        sl_stream *merged = NULL;
        sl_status status = open_merge(schema, rows, &end, 1, &merged);
        for (sl_batch *batch = NULL; status == SL_OK;) {
            status = sl_stream_next(merged, &batch);
            assert_true(status != SL_OK || batch);
            sl_batch_unref(status == SL_OK ? batch : NULL);
        }
        if (merged)
            sl_stream_close(merged);
        FAILS(status, SL_E_CORRUPT, place);
    }
    sl_type_unref(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_every_shape),
        cmocka_unit_test(disorder_is_found),
    };
    random_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
