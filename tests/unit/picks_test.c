/*
 * Random picks of random arrays: every row of the result equals the row that was picked. The arrays end where their
 * memory ends, so that AddressSanitizer sees a block that is read too far.
 */
#include "check_support.h"
#include "column/column.h"

enum { ROWS_MOST = 400, PICKS_MOST = 600, TEXT_MOST = 200 };

/* ---- sources ------------------------------------------------------------------------------------------- */

/* How the sources of one column are made: all alike, or each of another kind. */
enum kind { PLAIN, ENTRIES, CONSTANT, KINDS };
struct column {
    const sl_type *type;
    enum kind kind; /* KINDS: mixed */
    size_t text_most;
    unsigned null_percent;
    uint64_t constants; /* how many different ones */
};

static void append_value(sl_builder *b, const sl_type *type, const struct column *c)
{
    uint8_t text[TEXT_MOST];
    size_t len = random_below(4) ? random_below(c->text_most + 1) : random_below(5);
    if (random_below(100) < c->null_percent) {
        OK(sl_builder_null(b));
        return;
    }
    for (size_t i = 0; i < TEXT_MOST; i++)
        text[i] = (uint8_t)random_next();
    switch (type->id) {
    case SL_BOOL:
        OK(sl_builder_bool(b, random_below(2)));
        break;
    case SL_STRING:
        OK(sl_builder_bytes(b, text, len));
        break;
    case SL_FIXED:
        OK(sl_builder_bytes(b, text, (size_t)type->width));
        break;
    case SL_DECIMAL:
        OK(sl_builder_decimal(b, (sl_i128)random_below(1000000)));
        break;
    case SL_LIST:
        for (uint64_t i = random_below(5); i > 0; i--)
            append_value(sl_builder_child(b, 0), type->fields[0].type, c);
        OK(sl_builder_close(b));
        break;
    case SL_STRUCT:
        for (size_t i = 0; i < type->field_count; i++)
            append_value(sl_builder_child(b, i), type->fields[i].type, c);
        OK(sl_builder_close(b));
        break;
    default:
        OK(sl_builder_integer(b, (int64_t)random_below(128)));
    }
}

static sl_array *random_values(const struct column *c, int64_t rows)
{
    sl_builder *b;
    sl_array *made;
    OK(sl_builder_new(c->type, &b));
    for (int64_t i = 0; i < rows; i++)
        append_value(b, c->type, c);
    OK(sl_builder_finish(b, &made));
    sl_builder_free(b);
    return made;
}

static sl_buffer *exact_copy(const void *data, size_t bytes)
{
    sl_buffer *copy;
    void *own = malloc(bytes ? bytes : 1);
    assert_non_null(own);
    if (bytes > 0)
        memcpy(own, data, bytes);
    OK(sl_buffer_of(own, bytes, free, own, &copy));
    return copy;
}

static size_t value_bytes(const sl_array *a)
{
    if (a->dictionary)
        return (size_t)a->length * sizeof(int32_t);
    if (a->type->id == SL_STRING)
        return (size_t)a->offsets[a->length];
    return a->type->id == SL_BOOL ? bitmap_bytes(a->length)
                                  : (size_t)a->length * sl_type_value_bytes(a->type);
}

/* The same array in buffers of exactly its size. */
static sl_array *exact(sl_array *a)
{
    sl_array *children[4], *made;
    for (size_t i = 0; i < a->child_count; i++)
        children[i] = exact(sl_array_ref(a->children[i]));
    OK(sl_array_new(a->type, a->length, a->null_count,
                    a->validity ? exact_copy(a->validity, bitmap_bytes(a->length)) : NULL,
                    a->values ? exact_copy(a->values, value_bytes(a)) : NULL,
                    a->offsets ? exact_copy(a->offsets, (size_t)(a->length + 1) * sizeof(int32_t)) : NULL,
                    children, a->child_count, a->dictionary ? exact(sl_array_ref(a->dictionary)) : NULL,
                    &made));
    sl_array_unref(a);
    return made;
}

static sl_array *random_entries(const struct column *c, int64_t rows)
{
    struct column valid = *c;
    sl_buffer *indexes, *validity = NULL;
    sl_array *made;
    int64_t entries = 1 + (int64_t)random_below(40), nulls = 0;
    valid.null_percent = 0;
    OK(sl_buffer_new((size_t)rows * sizeof(int32_t), &indexes));
    if (c->null_percent > 0)
        OK(sl_buffer_new(bitmap_bytes(rows), &validity));
    if (validity)
        memset(sl_buffer_data(validity), 0xff, bitmap_bytes(rows));
    for (int64_t i = 0; i < rows; i++) {
        bool is_null = random_below(100) < c->null_percent;
        store_le32(sl_buffer_data(indexes) + i * 4,
                   is_null ? UINT32_MAX : (uint32_t)random_below((uint64_t)entries));
        if (is_null)
            bit_clear(sl_buffer_data(validity), i);
        nulls += is_null;
    }
    OK(sl_array_new(c->type, rows, nulls, validity, indexes, NULL, NULL, 0, random_values(&valid, entries),
                    &made));
    return made;
}

static sl_array *random_source(const struct column *c)
{
    static const char letters[TEXT_MOST] = "a constant text that is long enough for a name";
    int64_t rows = 1 + (int64_t)random_below(random_below(3) ? ROWS_MOST : 6);
    enum kind kind = c->kind < KINDS ? c->kind : (enum kind)random_below(KINDS);
    sl_array *made;
    if (kind == PLAIN || sl_type_is_nested(c->type))
        return exact(random_values(c, rows));
    if (kind == ENTRIES || c->type->id != SL_STRING)
        return exact(random_entries(c, rows));
    uint64_t which = random_below(c->constants);
    OK(sl_array_repeated_string(letters + which, (size_t[]){6, 17, 0, 80, 81}[which], rows, &made));
    return exact(made);
}

/* ---- picks --------------------------------------------------------------------------------------------- */

struct picked {
    struct sl_pick items[PICKS_MOST];
    struct sl_picks list;
};

static void random_picks(struct picked *p, sl_array *const *sources, size_t source_count)
{
    uint64_t longest = random_below(3) ? 5 : ROWS_MOST;
    p->list = (struct sl_picks){.items = p->items, .count = random_below(PICKS_MOST)};
    for (size_t i = 0; i < p->list.count; i++) {
        uint32_t source = (uint32_t)random_below(source_count), rows = (uint32_t)sources[source]->length;
        uint32_t first = (uint32_t)random_below(rows),
                 most = rows - first < longest ? rows - first : (uint32_t)longest;
        p->items[i] = (struct sl_pick){source, first, 1 + (uint32_t)random_below(most)};
        p->list.rows += p->items[i].count;
    }
}

static int64_t check_rows(const sl_array *out, int64_t at, sl_array *const *sources,
                          const struct sl_picks *picks)
{
    for (size_t i = 0; i < picks->count; i++)
        for (uint32_t k = 0; k < picks->items[i].count; k++, at++)
            if (!sl_equal_at(out, at, sources[picks->items[i].source], (int64_t)picks->items[i].first + k))
                fail_msg("row %" PRId64 " is not row %" PRIu32 " of source %" PRIu32, at,
                         picks->items[i].first + k, picks->items[i].source);
    return at;
}

/* Two calls, as a merge makes them for one batch, and once more into the builder that was emptied. */
static void check_column(const struct column *c)
{
    static struct picked picked[2];
    sl_array *sources[100], *out;
    size_t source_count = 1 + random_below(random_below(5) ? 12 : 100);
    sl_builder *b;
    for (size_t i = 0; i < source_count; i++)
        sources[i] = random_source(c);
    OK(sl_builder_new(c->type, &b));
    for (int round = 0; round < 2; round++) {
        int64_t rows = 0, nulls = 0;
        for (int call = 0; call < 2; call++) {
            random_picks(&picked[call], sources, source_count);
            OK(sl_builder_append_picks(b, (const sl_array *const *)sources, source_count,
                                       &picked[call].list));
        }
        if (random_below(2))
            OK(sl_builder_null(b)), nulls++;
        OK(sl_builder_finish(b, &out));
        for (int call = 0; call < 2; call++)
            rows = check_rows(out, rows, sources, &picked[call].list);
        assert_int_equal(out->length, rows + nulls);
        for (int64_t i = 0; i < rows; i++)
            nulls += !sl_is_valid(out, i);
        assert_int_equal(out->null_count, nulls);
        sl_array_unref(out);
    }
    for (size_t i = 0; i < source_count; i++)
        sl_array_unref(sources[i]);
    sl_builder_free(b);
}

static void test_random_picks(void **state)
{
    (void)state;
    const sl_type *schema;
    OK(sl_schema_parse("a string, b boolean, c int, d long, e decimal(20,2), f fixed(3), g list<string>, "
                       "h struct<x: int, y: string>, i string, j string",
                       &schema));
    random_start();
    for (int round = 0; round < 60; round++)
        for (size_t i = 0; i < schema->field_count; i++)
            check_column(&(struct column){.type = schema->fields[i].type,
                                          .kind = (enum kind)random_below(KINDS + 1),
                                          .text_most = (size_t[]){3, 12, 25, TEXT_MOST}[random_below(4)],
                                          .null_percent = random_below(2) ? 20 : 0,
                                          .constants = 1 + random_below(5)});
    sl_type_unref(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_picks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
