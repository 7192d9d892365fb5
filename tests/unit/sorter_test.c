/*
 * The sorter: random rows against a stable sort, tiny budgets that force spills, many runs merged in several
 * passes (G-20, G-21 for plain sorting), temporary files that are never seen, and every allocation failing
 * once. SEED=n repeats a random run.
 */
#include "dictionary_batch.h"
#include "merge_runs.h"
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct ordering LONG_TS = {SL_INT64, 1};
/* ---- keys in arrival order, and what a stable sort makes of them --------------------------------------- */

struct item {
    char key[40];
    size_t len;
    int64_t id;
};

static int item_compare(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int c = bytes_compare(x->key, x->len, y->key, y->len);
    return c ? c : (x->id > y->id) - (x->id < y->id);
}

enum key_style { COUNTER, SHORT_BYTES, ZERO_PADDED, ONE_KEY, LONG_SHARED, SORTED, STYLES };

static void random_key(struct item *item, enum key_style style)
{
    static const char letters[] = {0, 'a', 'b', 127};
    switch (style) {
    case COUNTER:
        item->len =
            (size_t)snprintf(item->key, sizeof item->key, "customer_%08u", (unsigned)random_below(100000));
        break;
    case SHORT_BYTES: /* 0x00 and lengths around 8: padding must not be taken for content */
    case ZERO_PADDED:
        item->len = style == SHORT_BYTES ? random_below(12) : 6 + random_below(14);
        for (size_t i = 0; i < item->len; i++)
            item->key[i] = style == SHORT_BYTES ? letters[random_below(4)] : random_below(40) ? 0 : 1;
        break;
    case ONE_KEY:
        item->len = (size_t)snprintf(item->key, sizeof item->key, "k");
        break;
    case LONG_SHARED:
        item->len = (size_t)snprintf(item->key, sizeof item->key, "%s-the-same-for-all-%c%u",
                                     random_below(2) ? "aaaaaaaa" : "aaaaaaab", (char)('a' + random_below(3)),
                                     (unsigned)random_below(50));
        break;
    default:
        item->len = (size_t)snprintf(item->key, sizeof item->key, "k%08d", (int)item->id / 3);
    }
}

static struct item *random_items(size_t count, enum key_style style)
{
    struct item *items = calloc(count + 1, sizeof *items);
    for (size_t i = 0; i < count; i++) {
        items[i].id = (int64_t)i;
        random_key(&items[i], style);
    }
    return items;
}

static sl_batch *items_batch(const sl_type *schema, const struct item *items, size_t count)
{
    sl_batch_builder b = {0};
    sl_batch *batch;
    OK(sl_batch_builder_init(&b, schema));
    for (size_t i = 0; i < count; i++) {
        struct op op = {
            .id = items[i].id, .has = {true, items[i].id % 3 == 0}, .value = items[i].id * 7, .text = "s"};
        put_row(&b, LONG_TS, &op);
    }
    OK(sl_batch_builder_finish(&b, &batch));
    sl_batch_builder_free(&b);
    /* The keys of `items` hold 0x00, which put_row cannot write. */
    sl_builder *key;
    sl_array *column;
    OK(sl_builder_new(schema->fields[0].type, &key));
    for (size_t i = 0; i < count; i++)
        OK(sl_builder_bytes(key, items[i].key, items[i].len));
    OK(sl_builder_finish(key, &column));
    sl_builder_free(key);
    sl_array **columns = calloc(schema->field_count, sizeof *columns);
    for (size_t i = 0; i < schema->field_count; i++)
        columns[i] = i == 0 ? column : sl_array_ref(batch->columns[i]);
    sl_batch *out;
    OK(sl_batch_new(schema, batch->rows, columns, &out));
    free(columns);
    sl_batch_unref(batch);
    return out;
}

/* Appends items in random pieces, each given as row numbers of a batch that holds more. */
static sl_status append_items(sl_sorter *sorter, const sl_type *schema, const struct item *items,
                              size_t count, size_t piece, size_t spill_every)
{
    uint32_t rows[512];
    size_t appends = 0;
    for (size_t from = 0; from < count;) {
        size_t n = 1 + random_below(piece);
        n = n < count - from ? n : count - from;
        size_t before = from > 3 ? 3 : from;
        sl_batch *batch = items_batch(schema, items + from - before, n + before);
        for (size_t i = 0; i < n; i++)
            rows[i] = (uint32_t)(before + i);
        sl_status status = sl_sorter_append(sorter, batch, rows, n);
        sl_batch_unref(batch);
        SL_TRY(status);
        if (spill_every && ++appends % spill_every == 0)
            SL_TRY(sl_sorter_spill(sorter));
        from += n;
    }
    return SL_OK;
}

/* ---- reading back -------------------------------------------------------------------------------------- */

static void check_row(const sl_batch *batch, int64_t row, const struct item *want)
{
    size_t len;
    const uint8_t *key = sl_bytes_at(batch->columns[0], row, &len);
    assert_int_equal(bytes_compare(key, len, want->key, want->len), 0);
    assert_int_equal(sl_i64_at(batch->columns[1], row), want->id);
    assert_int_equal(sl_i64_at(batch->columns[2], row), want->id * 7);
    assert_int_equal(sl_is_valid(batch->columns[3], row), want->id % 3 == 0);
    const sl_array *list = batch->columns[6];
    assert_int_equal(sl_is_valid(list, row), want->id % 4 != 3);
    for (int32_t i = list->offsets[row]; i < list->offsets[row + 1]; i++)
        assert_int_equal(sl_i64_at(list->children[0], i), want->id);
}

static void check_stream(sl_stream *stream, const struct item *want, size_t count)
{
    size_t at = 0;
    for (;;) {
        sl_batch *batch;
        OK(sl_stream_next(stream, &batch));
        if (!batch)
            break;
        for (int64_t i = 0; i < batch->rows; i++) {
            assert_true(at < count);
            check_row(batch, i, &want[at++]);
        }
        sl_batch_unref(batch);
    }
    assert_int_equal(at, count);
}

/* Merges the runs, keeping all records. */
static sl_status merge_runs(const struct sl_run *runs, size_t count, const sl_type *schema, sl_stream **out)
{
    struct sl_merge_options options = {
        .key_column = "_hoodie_record_key", .keep_duplicates = true, .schema = schema};
    return sl_merge_open(runs, count, &options, NULL, out);
}

static void finish_and_check(sl_sorter *sorter, const sl_type *schema, size_t fan_in,
                             const struct item *sorted, size_t count, size_t *run_count)
{
    struct sl_run *runs;
    size_t n;
    OK(sl_sorter_finish(sorter, fan_in, &runs, &n));
    assert_true(n <= (fan_in ? fan_in : 1));
    if (run_count)
        *run_count = n;
    sl_stream *merged;
    OK(merge_runs(runs, n, schema, &merged));
    sl_free(runs);
    check_stream(merged, sorted, count);
    sl_stream_close(merged);
}

/* ---- a temporary folder -------------------------------------------------------------------------------- */

static char temp_folder[64];

static void check_folder_empty(void)
{
    DIR *d = opendir(temp_folder);
    assert_non_null(d);
    size_t entries = 0;
    for (struct dirent *e; (e = readdir(d));)
        entries += e->d_name[0] != '.';
    closedir(d);
    assert_int_equal(entries, 0);
}

/* ---- tests --------------------------------------------------------------------------------------------- */

static void test_in_memory(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 2, 31, 33, 300, 2000};
    const sl_type *schema = row_schema(LONG_TS);
    for (int style = 0; style < STYLES; style++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            struct item *items = random_items(counts[c], (enum key_style)style);
            sl_sorter *sorter;
            OK(sl_sorter_new(schema, "_hoodie_record_key", NULL, &sorter));
            if (style % 2) /* several chunks */
                sorter_set_chunk_bytes(sorter, 1000);
            size_t first =
                style % 3 ? counts[c] : counts[c] / 2; /* what comes behind a sort is sorted as well */
            OK(append_items(sorter, schema, items, first, 500, 0));
            OK(sl_sorter_sort(sorter));
            OK(append_items(sorter, schema, items + first, counts[c] - first, 500, 0));
            assert_int_equal(sl_sorter_rows(sorter), counts[c]);
            assert_int_equal(sl_sorter_memory(sorter) > 0, counts[c] > 0);
            qsort(items, counts[c], sizeof *items, item_compare);
            finish_and_check(sorter, schema, 1, items, counts[c], NULL);
            sl_sorter_free(sorter);
            free(items);
        }
    sl_type_unref(schema);
}

/* G-20: whatever fan-in and spills, the result is the same; the folder of the files is empty all the time. */
static void test_spills(void **state)
{
    (void)state;
    const sl_type *schema = row_schema(LONG_TS);
    struct sl_runtime runtime = {.temp_dir = temp_folder};
    static const size_t fan_ins[] = {0, 1, 2, 3, 7, 100};
    for (int style = 0; style < STYLES; style++)
        for (size_t f = 0; f < sizeof fan_ins / sizeof *fan_ins; f++) {
            size_t count = 200 + random_below(900), runs;
            struct item *items = random_items(count, (enum key_style)style);
            sl_sorter *sorter;
            OK(sl_sorter_new(schema, "_hoodie_record_key", &runtime, &sorter));
            OK(append_items(sorter, schema, items, count, 60, 1 + random_below(3)));
            check_folder_empty();
            qsort(items, count, sizeof *items, item_compare);
            finish_and_check(sorter, schema, fan_ins[f], items, count, &runs);
            check_folder_empty();
            sl_sorter_free(sorter);
            free(items);
        }
    sl_type_unref(schema);
}

/* A budget far below the rows: an append that finds no room takes nothing, and gets through once the sorter has spilled. */
static void test_budget(void **state)
{
    (void)state;
    const sl_type *schema = row_schema(LONG_TS);
    size_t count = 5000, refused = 0;
    struct item *items = random_items(count, COUNTER);
    sl_budget total = {.limit = 120000}, budget = {.limit = 100000, .parent = &total};
    struct sl_runtime runtime = {.temp_dir = temp_folder, .budget = &budget};
    sl_sorter *sorter;
    OK(sl_sorter_new(schema, "_hoodie_record_key", &runtime, &sorter));
    for (size_t from = 0; from < count; from += 100) {
        sl_status status = append_items(sorter, schema, items + from, 100, 1, 0);
        while (sl_status_code(status) == SL_E_MEMORY) {
            sl_status_free(status);
            size_t taken = (size_t)sl_sorter_rows(sorter) - from;
            assert_true(sl_sorter_usable(sorter));
            OK(sl_sorter_spill(sorter));
            refused++;
            status = append_items(sorter, schema, items + from + taken, 100 - taken, 1, 0);
        }
        OK(status);
        assert_true(sl_sorter_memory(sorter) <= budget.limit + budget.limit / 4);
    }
    assert_true(refused > 3);
    qsort(items, count, sizeof *items, item_compare);
    size_t runs;
    finish_and_check(sorter, schema, 100, items, count, &runs);
    assert_true(runs >= refused);
    sl_sorter_free(sorter);
    assert_int_equal(atomic_load(&budget.used), 0);
    assert_int_equal(atomic_load(&total.used), 0);
    assert_int_equal(atomic_load(&budget.peak), atomic_load(&total.peak));
    assert_true(atomic_load(&budget.peak) < budget.limit + budget.limit / 4);
    free(items);
    sl_type_unref(schema);
}

/* Two sorters, one budget: the one that finds it used up has taken nothing. What would not fit alone is refused, too. */
static void test_shared_budget(void **state)
{
    (void)state;
    const sl_type *schema = row_schema(LONG_TS);
    struct item *items = random_items(300, COUNTER);
    sl_budget budget = {.limit = 20000};
    struct sl_runtime runtime = {.temp_dir = temp_folder, .budget = &budget};
    sl_sorter *large, *small;
    OK(sl_sorter_new(schema, "_hoodie_record_key", &runtime, &large));
    OK(sl_sorter_new(schema, "_hoodie_record_key", &runtime, &small));
    size_t in_large = 0;
    sl_status status = SL_OK;
    for (; !status; in_large++)
        status = append_items(large, schema, items, 1, 1, 0);
    in_large--;
    assert_int_equal(sl_status_code(status), SL_E_MEMORY);
    sl_status_free(status);
    status = append_items(small, schema, items, 100, 1, 0);
    assert_int_equal(sl_status_code(status), SL_E_MEMORY);
    sl_status_free(status);
    assert_true(sl_sorter_rows(small) < 5);
    OK(sl_sorter_spill(large));
    assert_int_equal(sl_sorter_memory(large), 0);
    OK(append_items(small, schema, items, 2, 1, 0));
    assert_int_equal(sl_sorter_rows(large), in_large);

    uint32_t rows[300];
    for (uint32_t i = 0; i < 300; i++)
        rows[i] = i;
    sl_batch *batch = items_batch(schema, items, 300);
    assert_true(sl_batch_bytes(batch) > budget.limit);
    OK(sl_sorter_spill(small));
    status = sl_sorter_append(small, batch, rows, 300);
    assert_int_equal(sl_status_code(status), SL_E_MEMORY);
    sl_status_free(status);
    OK(sl_sorter_append_all(small, batch)); /* goes over the budget: nobody else could help */
    sl_batch_unref(batch);
    sl_sorter_free(large);
    sl_sorter_free(small);
    assert_int_equal(atomic_load(&budget.used), 0);
    free(items);
    sl_type_unref(schema);
}

/* What rows of dictionaries take is told by their texts, since they are copied out of them: few rows beside a large
 * dictionary have room in a small budget, many rows of one long text have not. */
static void test_budget_beside_dictionaries(void **state)
{
    (void)state;
    static const struct {
        int64_t rows, entries;
        bool has_room;
    } cases[] = {{8, 4000, true}, {1000, 4000, false}, {1000, 2, false}};
    uint32_t rows[1000];
    for (uint32_t i = 0; i < 1000; i++)
        rows[i] = i;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sl_budget budget = {.limit = 100000};
        struct sl_runtime runtime = {.temp_dir = temp_folder, .budget = &budget};
        sl_batch *batch = dictionary_batch(cases[i].rows, cases[i].entries, 250);
        sl_sorter *sorter;
        OK(sl_sorter_new(batch->schema, "key", &runtime, &sorter));
        sl_status status = sl_sorter_append(sorter, batch, rows, (size_t)cases[i].rows);
        assert_int_equal(sl_status_code(status), cases[i].has_room ? SL_E_OK : SL_E_MEMORY);
        sl_status_free(status);
        sl_batch_unref(batch);
        sl_sorter_free(sorter);
    }
}

static void test_sort_stream(void **state)
{
    (void)state;
    const sl_type *schema = row_schema(LONG_TS);
    for (int turn = 0; turn < 2; turn++) {
        size_t count = 3000;
        struct item *items = random_items(count, LONG_SHARED);
        sl_budget budget = {.limit = turn ? 20000 : 0};
        struct sl_runtime runtime = {.temp_dir = temp_folder, .budget = &budget};
        struct memory_stream *input = memory_stream_new(schema);
        for (size_t from = 0; from < count; from += 100)
            memory_stream_add(input, items_batch(schema, items + from, 100));
        qsort(items, count, sizeof *items, item_compare);
        sl_stream *sorted;
        OK(sl_sort_stream(&input->base, "_hoodie_record_key", &runtime, &sorted));
        check_folder_empty();
        check_stream(sorted, items, count);
        sl_stream_close(sorted);
        assert_int_equal(atomic_load(&budget.used), 0);
        free(items);
    }
    sl_type_unref(schema);
}

static void test_refusals(void **state)
{
    (void)state;
    const sl_type *schema = row_schema(LONG_TS);
    sl_sorter *sorter = NULL;
    sl_status status = sl_sorter_new(schema, "nope", NULL, &sorter);
    assert_int_equal(sl_status_code(status), SL_E_INPUT);
    sl_status_free(status);
    status = sl_sorter_new(schema, "id", NULL, &sorter);
    assert_int_equal(sl_status_code(status), SL_E_INPUT);
    sl_status_free(status);

    /* A null key is refused by name. */
    OK(sl_sorter_new(schema, "s", NULL, &sorter));
    struct item *items = random_items(2, COUNTER);
    sl_batch *batch = items_batch(schema, items, 2);
    uint32_t rows[] = {0, 1}; /* s of row 1 is null */
    status = sl_sorter_append(sorter, batch, rows, 2);
    assert_int_equal(sl_status_code(status), SL_E_INPUT);
    assert_non_null(strstr(sl_status_message(status), "row 1"));
    sl_status_free(status);
    OK(sl_sorter_append(sorter, batch, rows, 1));
    sl_batch_unref(batch);
    sl_sorter_free(sorter);

    /* A folder that is not there. */
    struct sl_runtime runtime = {.temp_dir = "/nonexistent/folder"};
    OK(sl_sorter_new(schema, "_hoodie_record_key", &runtime, &sorter));
    OK(append_items(sorter, schema, items, 2, 2, 0));
    status = sl_sorter_spill(sorter);
    assert_int_equal(sl_status_code(status), SL_E_IO);
    sl_status_free(status);
    sl_sorter_free(sorter);
    free(items);
    sl_type_unref(schema);
}

/* ---- a run on disk: every type of column, and damage --------------------------------------------------- */

static void test_spilled_types(void **state)
{
    (void)state;
    const sl_type *schema;
    OK(sl_schema_parse(
        "a boolean, b int, c long, d double, e string, f decimal(10,2), g list<string>, h map<string, int>, "
        "i struct<x: int, y: list<long>>, j float, k binary, l date",
        &schema));
    sl_batch_builder b = {0};
    OK(sl_batch_builder_init(&b, schema));
    for (int64_t i = 0; i < 1000; i++) {
        char text[16];
        size_t len = (size_t)snprintf(text, sizeof text, "t%d", (int)(i % 7));
        sl_builder **c = b.columns;
        if (i % 5 == 0) {
            for (size_t f = 0; f < schema->field_count; f++)
                OK(sl_builder_null(c[f]));
            continue;
        }
        OK(sl_builder_bool(c[0], i % 3 == 0));
        OK(sl_builder_integer(c[1], i));
        OK(sl_builder_integer(c[2], i * i));
        OK(sl_builder_double(c[3], (double)i / 3));
        OK(sl_builder_bytes(c[4], text, i % 2 ? len : 0));
        OK(sl_builder_decimal(c[5], i * 100));
        for (int64_t n = 0; n < i % 3; n++)
            OK(sl_builder_bytes(sl_builder_child(c[6], 0), text, len));
        OK(sl_builder_close(c[6]));
        sl_builder *entries = sl_builder_child(c[7], 0);
        for (int64_t n = 0; n < i % 2; n++) {
            OK(sl_builder_bytes(sl_builder_child(entries, 0), text, len));
            OK(sl_builder_integer(sl_builder_child(entries, 1), i));
            OK(sl_builder_close(entries));
        }
        OK(sl_builder_close(c[7]));
        OK(sl_builder_integer(sl_builder_child(c[8], 0), i));
        OK(sl_builder_integer(sl_builder_child(sl_builder_child(c[8], 1), 0), i));
        OK(sl_builder_close(sl_builder_child(c[8], 1)));
        OK(sl_builder_close(c[8]));
        OK(sl_builder_double(c[9], (double)i));
        OK(sl_builder_bytes(c[10], text, len));
        OK(sl_builder_integer(c[11], i));
    }
    sl_batch *batch;
    OK(sl_batch_builder_finish(&b, &batch));
    sl_batch_builder_free(&b);

    sl_spill *file;
    struct sl_runtime runtime = {.temp_dir = temp_folder};
    struct spill_run run;
    OK(sl_spill_new(&runtime, &file));
    struct memory_stream *input = memory_stream_new(schema);
    memory_stream_add(input, sl_batch_ref(batch));
    OK(spill_write(file, &input->base, &run));
    sl_stream_close(&input->base);
    sl_stream *back;
    OK(spill_read(&run, schema, &back));
    int64_t at = 0;
    for (;;) {
        sl_batch *got;
        OK(sl_stream_next(back, &got));
        if (!got)
            break;
        for (int64_t i = 0; i < got->rows; i++, at++)
            for (size_t f = 0; f < schema->field_count; f++)
                assert_true(sl_equal_at(got->columns[f], i, batch->columns[f], at));
        sl_batch_unref(got);
    }
    assert_int_equal(at, 1000);
    sl_stream_close(back);

    /* A run that was cut, and one that begins in the wrong place, are errors. */
    struct spill_run broken[] = {{file, run.offset, run.end - 1},
                                 {file, run.offset + 1, run.end},
                                 {file, run.offset, run.offset + 10}};
    for (size_t i = 0; i < 3; i++) {
        sl_batch *got = NULL;
        OK(spill_read(&broken[i], schema, &back));
        sl_status status = sl_stream_next(back, &got);
        assert_int_equal(sl_status_code(status), SL_E_CORRUPT);
        sl_status_free(status);
        sl_stream_close(back);
    }
    sl_spill_free(file);
    sl_batch_unref(batch);
    sl_type_unref(schema);
}

/* Every allocation fails once, through appends, spills, passes and the reading of the result. */
static void test_no_memory(void **state)
{
    (void)state;
    const sl_type *schema = row_schema(LONG_TS);
    struct item *items = random_items(60, SHORT_BYTES);
    sl_batch *batch = items_batch(schema, items, 60);
    uint32_t rows[60];
    for (uint32_t i = 0; i < 60; i++)
        rows[i] = i;
    sl_budget budget = {.limit = 1 << 20};
    struct sl_runtime runtime = {.temp_dir = temp_folder, .budget = &budget};
    bool failed = true;
    for (uint64_t n = 1; failed; n++) {
        sl_sorter *sorter = NULL;
        struct sl_run *runs = NULL;
        sl_stream *merged = NULL;
        size_t count = 0;
        sl_status status;
        sl_test_fail_allocation(n, false);
        SL_GO(sl_sorter_new(schema, "_hoodie_record_key", &runtime, &sorter));
        for (int i = 0; i < 5; i++) {
            SL_GO(sl_sorter_append(sorter, batch, rows + 10 * i, 10));
            if (i < 4)
                SL_GO(sl_sorter_spill(sorter));
        }
        SL_GO(sl_sorter_finish(sorter, 2, &runs, &count));
        SL_GO(merge_runs(runs, count, schema, &merged));
        for (sl_batch *got = NULL;;) {
            SL_GO(sl_stream_next(merged, &got));
            if (!got)
                break;
            sl_batch_unref(got);
        }
    done:
        sl_test_fail_allocation(0, false);
        failed = status != SL_OK;
        if (failed)
            assert_int_equal(sl_status_code(status), SL_E_MEMORY);
        sl_status_free(status);
        sl_stream_close(merged);
        sl_free(runs);
        sl_sorter_free(sorter);
        assert_int_equal(atomic_load(&budget.used), 0);
        assert_true(n < 5000);
    }
    check_folder_empty();
    sl_batch_unref(batch);
    free(items);
    sl_type_unref(schema);
}

int main(void)
{
    random_start();
    snprintf(temp_folder, sizeof temp_folder, "/tmp/sluice-sorter-test-%ld", (long)getpid());
    if (mkdir(temp_folder, 0700) != 0)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_memory),
        cmocka_unit_test(test_spills),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_shared_budget),
        cmocka_unit_test(test_budget_beside_dictionaries),
        cmocka_unit_test(test_sort_stream),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_spilled_types),
        cmocka_unit_test(test_no_memory),
    };
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(temp_folder);
    return failures;
}
