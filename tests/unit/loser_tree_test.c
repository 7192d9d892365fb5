/*
 * The loser tree against spec/lsm-layout.md 10 (golden check G-18): the worked example of 10.5 cell by cell,
 * every k with empty runs, equal keys and in-run duplicates against a plain sort, the comparison bound, and
 * the invariants after every step. SEED=n repeats a random run.
 */
#include "check_support.h"
#include <stdio.h>

#include "tree_sources.h"

/* ---- the worked example -------------------------------------------------------------------------------- */

static struct sources sources_new(size_t count)
{
    return (struct sources){.list = calloc(count + 1, sizeof(struct source)),
                            .heads = calloc(count + 1, sizeof(struct sl_heads)),
                            .count = count};
}

static void sources_free(struct sources *all)
{
    for (size_t s = 0; s < all->count; s++) {
        free(all->list[s].items);
        source_free(&all->list[s]);
    }
    free(all->list);
    free(all->heads);
}

static sl_status tree_new(struct sources *all, sl_loser_tree **out)
{
    return sl_loser_tree_new(all->heads, all->count, sources_advance, sources_repeat, all, out);
}

static struct sources sources_of_texts(const char *const *texts, size_t count, size_t window)
{
    struct sources all = sources_new(count);
    for (size_t s = 0; s < count; s++) {
        size_t n = strlen(texts[s]);
        struct item *items = calloc(n + 1, sizeof *items);
        for (size_t i = 0; i < n; i++)
            items[i] = (struct item){{(uint8_t)texts[s][i]}, 1, s, i};
        source_init(&all.list[s], items, n, window);
    }
    return all;
}

static void show_cell(const sl_loser_tree *tree, const struct sources *all, size_t node, char *out,
                      size_t size)
{
    static const char *const names[] = {"W_NEW", "W_SAME", "W_POP", "L_NEW", "L_SAME", "L_POP"};
    enum sl_leaf_state state;
    int32_t first_same;
    int32_t source = loser_tree_node(tree, node, &state, &first_same);
    const struct item *head = source_head(all, (size_t)source);
    char key[8] = "end", jump[16] = "";
    if (head)
        snprintf(key, sizeof key, "%c", head->key[0]);
    if (first_same >= 0)
        snprintf(jump, sizeof jump, " ->%d", first_same);
    snprintf(out, size, "S%d:%s %s%s", source, key, names[state], jump);
}

static void expect_step(const sl_loser_tree *tree, const struct sources *all, const char *champion,
                        const char *node1, const char *node2, uint64_t comparisons)
{
    char text[64];
    show_cell(tree, all, 0, text, sizeof text);
    assert_string_equal(text, champion);
    show_cell(tree, all, 1, text, sizeof text);
    assert_string_equal(text, node1);
    show_cell(tree, all, 2, text, sizeof text);
    assert_string_equal(text, node2);
    assert_int_equal(sl_loser_tree_comparisons(tree), comparisons);
    assert_null(loser_tree_check(tree));
}

static void follow_worked_example(size_t window)
{
    static const char *const texts[] = {"ace", "abc", "cd"};
    struct sources all = sources_of_texts(texts, 3, window);
    sl_loser_tree *t;
    OK(tree_new(&all, &t));
    expect_step(t, &all, "S0:a W_NEW ->1", "S1:a L_SAME", "S2:c L_NEW", 2);
    OK(sl_loser_tree_pop(t));
    expect_step(t, &all, "S1:a W_SAME", "S0:a L_POP", "S2:c L_NEW", 2);
    OK(sl_loser_tree_pop(t));
    expect_step(t, &all, "S1:a W_POP", "S0:a L_POP", "S2:c L_NEW", 2);
    assert_int_equal(sl_loser_tree_peek(t), -1);
    OK(sl_loser_tree_next_key(t));
    expect_step(t, &all, "S1:b W_NEW", "S0:c L_NEW", "S2:c L_NEW", 4);
    OK(sl_loser_tree_pop(t));
    expect_step(t, &all, "S1:b W_POP", "S0:c L_NEW", "S2:c L_NEW", 4);
    OK(sl_loser_tree_next_key(t));
    expect_step(t, &all, "S0:c W_NEW ->1", "S1:c L_SAME ->2", "S2:c L_SAME", 6);
    OK(sl_loser_tree_pop(t));
    expect_step(t, &all, "S1:c W_SAME ->2", "S0:c L_POP", "S2:c L_SAME", 6);
    OK(sl_loser_tree_pop(t));
    expect_step(t, &all, "S2:c W_SAME", "S0:c L_POP", "S1:c L_POP", 6);
    OK(sl_loser_tree_pop(t));
    expect_step(t, &all, "S2:c W_POP", "S0:c L_POP", "S1:c L_POP", 6);
    OK(sl_loser_tree_next_key(t));
    expect_step(t, &all, "S2:d W_NEW", "S0:e L_NEW", "S1:end L_NEW", 7);
    OK(sl_loser_tree_pop(t));
    OK(sl_loser_tree_next_key(t));
    expect_step(t, &all, "S0:e W_NEW", "S1:end L_NEW", "S2:end L_NEW", 7);
    OK(sl_loser_tree_pop(t));
    expect_step(t, &all, "S0:e W_POP", "S1:end L_NEW", "S2:end L_NEW", 7);
    OK(sl_loser_tree_next_key(t));
    expect_step(t, &all, "S1:end W_NEW", "S0:end L_NEW", "S2:end L_NEW", 7);
    assert_int_equal(sl_loser_tree_peek(t), -1);
    sl_loser_tree_free(t);
    sources_free(&all);
}

static void test_worked_example(void **state)
{
    (void)state;
    for (size_t window = 1; window <= 4; window++)
        follow_worked_example(window);
}

/* ---- against a plain sort ------------------------------------------------------------------------------ */

static unsigned ceil_log2(size_t k)
{
    unsigned bits = 0;
    while (((size_t)1 << bits) < k)
        bits++;
    return bits;
}

struct shape {
    size_t longest;     /* rows a run */
    unsigned alphabet;  /* few letters: many ties */
    unsigned key_bytes; /* at most; 0: one key for all, the empty one */
    bool distinct;      /* no duplicates inside a run */
};

static struct sources random_sources(size_t k, const struct shape *shape)
{
    struct sources all = sources_new(k);
    for (size_t s = 0; s < k; s++) {
        size_t n = random_below(5) == 0 ? 0 : random_below(shape->longest + 1);
        struct item *items = calloc(n + 1, sizeof *items);
        for (size_t i = 0; i < n; i++) {
            items[i].len = (uint32_t)random_below(shape->key_bytes + 1);
            for (uint32_t b = 0; b < items[i].len; b++)
                items[i].key[b] = (uint8_t)(random_below(shape->alphabet) * 255 / shape->alphabet);
            items[i].source = s;
        }
        qsort(items, n, sizeof *items, item_compare);
        size_t kept = 0;
        for (size_t i = 0; i < n; i++)
            if (!shape->distinct || kept == 0 || !same_key(&items[kept - 1], &items[i]))
                items[kept++] = items[i];
        for (size_t i = 0; i < kept; i++)
            items[i].position = i;
        source_init(&all.list[s], items, kept, 1 + random_below(20));
    }
    return all;
}

static void check_runner_up(const sl_loser_tree *t, const struct sources *all, int64_t champion)
{
    const struct sl_heads *found = sl_loser_tree_runner_up(t);
    const struct item *least = NULL;
    for (size_t s = 0; s < all->count; s++) {
        const struct item *head = source_head(all, s);
        if ((int64_t)s != champion && head &&
            (!least || bytes_compare(head->key, head->len, least->key, least->len) < 0))
            least = head;
    }
    assert_int_equal(found != NULL, least != NULL);
    if (least)
        assert_true(same_key(source_head(all, (size_t)(found - all->heads)), least));
}

/* Merges and compares with the sorted union; groups must be exactly the equal keys. With `replay` groups of
 * one record are left behind by a replay instead of a pop. */
static void merge_and_check(struct sources *all, bool replay)
{
    size_t total = 0;
    for (size_t s = 0; s < all->count; s++)
        total += all->list[s].count;
    struct item *want = calloc(total + 1, sizeof *want);
    size_t n = 0;
    for (size_t s = 0; s < all->count; s++) {
        memcpy(want + n, all->list[s].items, all->list[s].count * sizeof *want);
        n += all->list[s].count;
    }
    qsort(want, total, sizeof *want, item_compare);

    sl_loser_tree *t;
    OK(tree_new(all, &t));
    assert_null(loser_tree_check(t));
    size_t at = 0;
    while (sl_loser_tree_peek(t) >= 0) {
        size_t group = at;
        bool several = group + 1 < total && same_key(&want[group], &want[group + 1]);
        int64_t source = sl_loser_tree_peek(t);
        check_runner_up(t, all, source);
        if (replay && !several) {
            assert_false(loser_tree_tied(t));
            assert_int_equal(source, want[at].source);
            at++;
            OK(sl_loser_tree_replay(t));
            assert_null(loser_tree_check(t));
            continue;
        }
        while ((source = sl_loser_tree_peek(t)) >= 0) {
            assert_true(at < total);
            assert_true(same_key(&want[group], &want[at]));
            assert_int_equal(source, want[at].source);
            assert_int_equal(source_head(all, (size_t)source)->position, want[at].position);
            at++;
            OK(sl_loser_tree_pop(t));
            assert_null(loser_tree_check(t));
        }
        assert_true(at == total || !same_key(&want[group], &want[at]));
        OK(sl_loser_tree_next_key(t));
        assert_null(loser_tree_check(t));
    }
    assert_int_equal(at, total);
    if (all->count > 1)
        assert_true(sl_loser_tree_comparisons(t) <= (total + all->count) * ceil_log2(all->count));
    else
        assert_int_equal(sl_loser_tree_comparisons(t), 0);
    sl_loser_tree_free(t);
    free(want);
}

static void test_every_k(void **state)
{
    (void)state;
    static const size_t ks[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 33, 64, 100, 1000};
    static const struct shape shapes[] = {
        {20, 3, 2, false}, {20, 256, 8, false}, {5, 1, 0, false},   {1, 2, 1, false},
        {60, 26, 1, true}, {0, 1, 1, false},    {12, 256, 2, true},
    };
    for (size_t i = 0; i < sizeof ks / sizeof *ks; i++)
        for (size_t j = 0; j < sizeof shapes / sizeof *shapes; j++)
            for (int turn = 0; turn < (ks[i] < 40 ? 40 : ks[i] < 500 ? 3 : 1); turn++) {
                struct shape shape = shapes[j];
                if (ks[i] > 500)
                    shape.longest = shape.longest > 3 ? 3 : shape.longest; /* the check itself is quadratic */
                struct sources all = random_sources(ks[i], &shape);
                merge_and_check(&all, turn % 2);
                sources_free(&all);
            }
}

/* Shared keys cost nothing: with every key in all k runs there is far less than one comparison a record
 * (10.4). */
static void test_ties_are_free(void **state)
{
    (void)state;
    enum { K = 8, N = 200 };
    struct sources all = sources_new(K);
    for (size_t s = 0; s < K; s++) {
        struct item *items = calloc(N, sizeof *items);
        for (size_t i = 0; i < N; i++) {
            items[i] = (struct item){.len = 8, .source = s, .position = i};
            store_be64(items[i].key, i);
        }
        source_init(&all.list[s], items, N, 7);
    }
    sl_loser_tree *t;
    OK(tree_new(&all, &t));
    while (sl_loser_tree_peek(t) >= 0) {
        uint64_t before = sl_loser_tree_comparisons(t);
        for (size_t s = 0; s < K; s++) {
            assert_int_equal(sl_loser_tree_peek(t), s);
            OK(sl_loser_tree_pop(t));
        }
        assert_int_equal(sl_loser_tree_comparisons(t), before);
        OK(sl_loser_tree_next_key(t));
    }
    assert_true(sl_loser_tree_comparisons(t) < K * N);
    sl_loser_tree_free(t);
    sources_free(&all);
}

/* A source that fails at any of its advances: the error comes out and nothing leaks. */
static void test_failing_sources(void **state)
{
    (void)state;
    static const char *const texts[] = {"aabc", "abbd", "", "bc"};
    for (size_t n = 1; n < 40; n++) {
        struct sources all = sources_of_texts(texts, 4, 1 + n % 3);
        all.fail_after = n;
        sl_loser_tree *t = NULL;
        sl_status status = tree_new(&all, &t);
        while (status == SL_OK && sl_loser_tree_peek(t) >= 0) {
            status = sl_loser_tree_pop(t);
            if (status == SL_OK && sl_loser_tree_peek(t) < 0)
                status = sl_loser_tree_next_key(t);
        }
        assert_int_equal(status != SL_OK, all.advances >= n);
        sl_status_free(status);
        sl_loser_tree_free(t);
        sources_free(&all);
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    static const char *const texts[] = {"abc", "abd"};
    for (uint64_t n = 1; n <= 2; n++) { /* the tree and its cells */
        struct sources all = sources_of_texts(texts, 2, 1);
        sl_loser_tree *t = NULL;
        sl_test_fail_allocation(n, false);
        sl_status status = tree_new(&all, &t);
        sl_test_fail_allocation(0, false);
        assert_int_equal(sl_status_code(status), SL_E_MEMORY);
        assert_null(t);
        sl_status_free(status);
        sources_free(&all);
    }
}

int main(void)
{
    random_start();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worked_example), cmocka_unit_test(test_every_k),
        cmocka_unit_test(test_ties_are_free),  cmocka_unit_test(test_failing_sources),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
