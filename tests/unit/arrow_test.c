/* The Arrow C data interface: what is exported comes back equal, slices and foreign layouts are read,
 * malformed arrays are refused, and release is called once whatever happens. */
#include "check_support.h"
#include "column/column.h"
#include "sluice/sluice_arrow.h"
#include <stdio.h>

static void append_random(sl_builder *b, const sl_type *type, bool nullable)
{
    if (nullable && random_below(4) == 0) {
        OK(sl_builder_null(b));
        return;
    }
    char text[32];
    switch (type->id) {
    case SL_BOOL:
        OK(sl_builder_bool(b, random_below(2)));
        return;
    case SL_DOUBLE:
    case SL_FLOAT:
        OK(sl_builder_double(b, (double)random_below(1000) / 8));
        return;
    case SL_DECIMAL:
        OK(sl_builder_decimal(b, (sl_i128)random_below(100000) - 50000));
        return;
    case SL_STRING:
    case SL_BINARY:
        OK(sl_builder_bytes(
            b, text, (size_t)snprintf(text, sizeof text, "%.*s\xc3\xa9", (int)random_below(9), "abcdefgh")));
        return;
    case SL_LIST:
    case SL_MAP:
        for (int64_t i = random_below(4); i > 0; i--)
            append_random(sl_builder_child(b, 0), type->fields[0].type, type->fields[0].nullable);
        OK(sl_builder_close(b));
        return;
    case SL_STRUCT:
        for (size_t i = 0; i < type->field_count; i++)
            append_random(sl_builder_child(b, i), type->fields[i].type, type->fields[i].nullable);
        OK(sl_builder_close(b));
        return;
    default:
        OK(sl_builder_integer(b, random_below(100)));
        return;
    }
}

static const char wide_schema[] =
    "b boolean, i int, l long, f float, d double, p decimal(10,2), s string not null, x binary, day date, at "
    "timestamp, "
    "tags list<string>, m map<string, int>, r struct<a: int not null, b: list<struct<c: string>>>";

static sl_batch *random_batch(const char *text, int64_t rows)
{
    const sl_type *schema;
    sl_batch_builder b;
    sl_batch *batch;
    OK(sl_schema_parse(text, &schema));
    OK(sl_batch_builder_init(&b, schema));
    for (int64_t row = 0; row < rows; row++)
        for (size_t i = 0; i < schema->field_count; i++)
            append_random(b.columns[i], schema->fields[i].type, schema->fields[i].nullable);
    OK(sl_batch_builder_finish(&b, &batch));
    sl_batch_builder_free(&b);
    sl_type_unref(schema);
    return batch;
}

static void assert_rows_equal(const sl_batch *batch, const sl_batch *other, int64_t from)
{
    for (size_t c = 0; c < batch->schema->field_count; c++)
        for (int64_t i = 0; i < batch->rows; i++)
            if (!sl_equal_at(batch->columns[c], i, other->columns[c], from + i))
                fail_msg("column %s differs in row %" PRId64, batch->schema->fields[c].name, i);
}

/* Counts the releases of an exported array before they happen. */
static int releases;
static void (*real_release)(struct ArrowArray *);
static void counting_release(struct ArrowArray *array)
{
    releases++;
    array->release = real_release;
    array->release(array);
}

static void count_releases(struct ArrowArray *array)
{
    releases = 0;
    real_release = array->release;
    array->release = counting_release;
}

/* A slice as other libraries make them: only the top offset changes. */
static void round_trip(int64_t rows, int64_t offset, int64_t length)
{
    struct ArrowSchema arrow_schema;
    struct ArrowArray array;
    const sl_type *schema;
    sl_batch *batch = random_batch(wide_schema, rows), *back;
    OK(sl_arrow_export_schema(batch->schema, &arrow_schema));
    OK(sl_arrow_export_batch(batch, &array));
    count_releases(&array);
    OK(sl_arrow_import_schema(&arrow_schema, &schema));
    assert_true(sl_type_equal(schema, batch->schema));
    array.offset = offset;
    array.length = length;
    OK(sl_arrow_import_batch(&array, &arrow_schema, schema, &back));
    assert_null(array.release);
    assert_int_equal(back->rows, length);
    assert_rows_equal(back, batch, offset);
    arrow_schema.release(&arrow_schema);
    assert_null(arrow_schema.release);
    sl_array *kept = sl_array_ref(back->columns[6]);
    bool is_own =
        length == rows; /* a whole column of ours comes back as what it was, and needs the export no more */
    assert_int_equal(kept == batch->columns[6], is_own);
    sl_batch_unref(back);
    assert_int_equal(releases, length > 0 ? is_own : releases); /* another one holds its memory */
    sl_array_unref(kept);
    assert_int_equal(releases, 1);
    sl_batch_unref(batch);
    sl_type_unref(schema);
}

static void test_round_trip(void **state)
{
    (void)state;
    random_start();
    for (int i = 0; i < 60; i++) {
        int64_t rows = random_below(200), offset = random_below(rows + 1);
        round_trip(rows, 0, rows);
        round_trip(rows, offset, random_below(rows - offset + 1));
    }
    round_trip(0, 0, 0);
}

/* ---- foreign layouts ----------------------------------------------------------------------------------- */

static void release_schema(struct ArrowSchema *schema) { schema->release = NULL; }
static void release_array(struct ArrowArray *array)
{
    releases++;
    array->release = NULL;
}

/* One column of one format, by hand. */
struct hand_made {
    struct ArrowSchema top, column;
    struct ArrowSchema *columns[1];
    struct ArrowArray array, values;
    struct ArrowArray *children[1];
    const void *top_buffers[1];
    const void *buffers[3];
};

static void hand_made(struct hand_made *h, const char *format, int64_t rows, int64_t n_buffers,
                      const void *one, const void *two)
{
    memset(h, 0, sizeof *h);
    releases = 0;
    h->column = (struct ArrowSchema){
        .format = format, .name = "c", .flags = ARROW_FLAG_NULLABLE, .release = release_schema};
    h->columns[0] = &h->column;
    h->top = (struct ArrowSchema){
        .format = "+s", .name = "", .n_children = 1, .children = h->columns, .release = release_schema};
    h->buffers[1] = one;
    h->buffers[2] = two;
    h->values = (struct ArrowArray){
        .length = rows, .n_buffers = n_buffers, .buffers = h->buffers, .release = release_array};
    h->children[0] = &h->values;
    h->array = (struct ArrowArray){.length = rows,
                                   .n_buffers = 1,
                                   .buffers = h->top_buffers,
                                   .n_children = 1,
                                   .children = h->children,
                                   .release = release_array};
}

static sl_status hand_made_import(struct hand_made *h, sl_batch **out)
{
    const sl_type *schema;
    SL_TRY(sl_arrow_import_schema(&h->top, &schema));
    sl_status status = sl_arrow_import_batch(&h->array, &h->top, schema, out);
    sl_type_unref(schema);
    return status;
}

static void column_reads(struct hand_made *h, const char *expected)
{
    sl_batch *batch = NULL;
    sl_buf text = {0};
    OK(hand_made_import(h, &batch));
    for (int64_t i = 0; i < batch->rows; i++) {
        OK(sl_value_text(batch->columns[0], i, SL_TEXT_CANONICAL, &text));
        OK(sl_buf_byte(&text, ' '));
    }
    OK(sl_buf_byte(&text, 0));
    assert_string_equal((char *)text.data, expected);
    sl_buf_free(&text);
    sl_batch_unref(batch);
    assert_int_equal(releases, 1);
}

static void test_foreign_layouts(void **state)
{
    (void)state;
    struct hand_made h;
    static const int64_t large[] = {1, 3, 3, 4};
    hand_made(&h, "U", 3, 3, large, "xabc");
    column_reads(&h, "\"ab\" \"\" \"c\" ");
    static const int64_t days[] = {86400000, -1};
    hand_made(&h, "tdm", 2, 2, days, NULL);
    column_reads(&h, "\"1970-01-02\" \"1969-12-31\" ");
    static const int64_t seconds[] = {1, -1};
    hand_made(&h, "tss:Europe/Berlin", 2, 2, seconds, NULL);
    column_reads(&h, "\"1970-01-01T00:00:01.000000Z\" \"1969-12-31T23:59:59.000000Z\" ");
    static const int32_t times[] = {3600, 1};
    hand_made(&h, "tts", 2, 2, times, NULL);
    column_reads(&h, "\"01:00:00.000000\" \"00:00:01.000000\" ");
    static const int32_t narrow[] = {-150, 7};
    hand_made(&h, "d:9,2,32", 2, 2, narrow, NULL);
    column_reads(&h, "\"-1.50\" \"0.07\" ");
    static const int64_t widest[] = {-150, -1, -1, -1, 7, 0, 0, 0};
    hand_made(&h, "d:30,2,256", 2, 2, widest, NULL);
    column_reads(&h, "\"-1.50\" \"0.07\" ");
}

static void test_dictionary(void **state)
{
    (void)state;
    static const uint8_t indexes[] = {1, 0, 9, 1}, validity[] = {0x0b};
    static const int32_t offsets[] = {0, 3, 4};
    static const void *const buffers[] = {NULL, offsets, "onex"};
    struct hand_made h;
    const void *dictionary_buffers[3];
    memcpy(dictionary_buffers, buffers, sizeof buffers);
    struct ArrowSchema text = {.format = "u", .name = "", .release = release_schema};
    struct ArrowArray dictionary = {
        .length = 2, .n_buffers = 3, .buffers = dictionary_buffers, .release = release_array};
    hand_made(&h, "C", 4, 2, indexes, NULL);
    h.buffers[0] = validity;
    h.column.dictionary = &text;
    h.values.dictionary = &dictionary;
    column_reads(&h, "\"x\" \"one\" null \"x\" ");
    hand_made(&h, "C", 4, 2, indexes, NULL); /* now row 2 counts */
    h.column.dictionary = &text;
    h.values.dictionary = &dictionary;
    sl_batch *batch;
    FAILS(hand_made_import(&h, &batch), SL_E_INPUT, "row 2: index 9");
    assert_int_equal(releases, 1);
}

/* A view by hand: up to 12 bytes in it, else a place in a buffer. */
static void put_view(uint8_t *view, const char *text, int32_t buffer, int32_t offset)
{
    size_t len = strlen(text);
    memset(view, 0, 16);
    store_le32(view, (uint32_t)len);
    memcpy(view + 4, text, len < 12 ? len : len == 12 ? 12 : 4);
    if (len > 12) {
        store_le32(view + 8, (uint32_t)buffer);
        store_le32(view + 12, (uint32_t)offset);
    }
}

#define LONG_TEXT "thirteen bytes"

static void views_by_hand(struct hand_made *h, const char *format, const uint8_t *views, int64_t rows)
{
    static const int64_t lengths[] = {3, sizeof LONG_TEXT + 1};
    static const void *buffers[5] = {NULL, NULL, "abc", "__" LONG_TEXT, lengths};
    hand_made(h, format, rows, 5, NULL, NULL);
    buffers[1] = views;
    h->values.buffers = buffers;
}

static void test_views(void **state)
{
    (void)state;
    struct hand_made h;
    sl_batch *batch;
    uint8_t views[5 * 16];
    put_view(views, "not in the slice", 0, 0);
    put_view(views + 16, "", 0, 0);
    put_view(views + 32, "twelve bytes", 0, 0);
    put_view(views + 48, LONG_TEXT, 1, 2);
    views_by_hand(&h, "vu", views, 3);
    h.values.offset = 1;
    column_reads(&h, "\"\" \"twelve bytes\" \"" LONG_TEXT "\" ");
    static const struct {
        int32_t buffer, offset;
        const char *says;
    } bad[] = {{2, 0, "buffer 2 of 2"}, {-1, 0, "buffer -1"},         {1, -1, "into buffer 1"},
               {1, 3, "14 bytes at 3"}, {0, 0, "0 of a buffer of 3"}, {1, INT32_MAX, "of a buffer of 16"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put_view(views, LONG_TEXT, bad[i].buffer, bad[i].offset);
        views_by_hand(&h, "vz", views, 1);
        FAILS(hand_made_import(&h, &batch), SL_E_INPUT, bad[i].says);
        assert_int_equal(releases, 1);
    }
    store_le32(views, (uint32_t)-1);
    views_by_hand(&h, "vu", views, 1);
    FAILS(hand_made_import(&h, &batch), SL_E_INPUT, "a view of -1 bytes");
    put_view(views, "\xff", 0, 0);
    views_by_hand(&h, "vu", views, 1);
    FAILS(hand_made_import(&h, &batch), SL_E_INPUT, "not valid UTF-8");
    views_by_hand(&h, "vu", views, 1);
    h.values.n_buffers = 2;
    FAILS(hand_made_import(&h, &batch), SL_E_INPUT, "with 2 buffers");
}

static void test_malformed(void **state)
{
    (void)state;
    static const int32_t backwards[] = {0, 3, 1}, fine[] = {0, 1, 2}, negative[] = {-1, 0, 1};
    struct hand_made h;
    sl_batch *batch;
    hand_made(&h, "u", 2, 3, backwards, "abc");
    FAILS(hand_made_import(&h, &batch), SL_E_INPUT, "run backwards");
    assert_int_equal(releases, 1);
    hand_made(&h, "u", 2, 3, negative, "abc");
    FAILS(hand_made_import(&h, &batch), SL_E_INPUT, "negative offset");
    hand_made(&h, "u", 2, 3, fine, "a\xff");
    FAILS(hand_made_import(&h, &batch), SL_E_INPUT, "row 1: the string is not valid UTF-8");
    hand_made(&h, "u", 2, 3, fine, "\xc3\xa9"); /* valid together, cut within the character */
    FAILS(hand_made_import(&h, &batch), SL_E_INPUT, "row 0: the string is not valid UTF-8");
    hand_made(&h, "u", 2, 3, fine, NULL);
    FAILS(hand_made_import(&h, &batch), SL_E_INPUT, "buffer 2");
    hand_made(&h, "i", 2, 3, fine, NULL);
    FAILS(hand_made_import(&h, &batch), SL_E_INPUT, "3 buffers");
    hand_made(&h, "i", 2, 2, NULL, NULL);
    FAILS(hand_made_import(&h, &batch), SL_E_INPUT, "buffer 1");
    hand_made(&h, "i", -1, 2, fine, NULL);
    FAILS(hand_made_import(&h, &batch), SL_E_INPUT, "length -1");
    hand_made(&h, "i", 2, 2, fine, NULL);
    h.values.length = 1;
    FAILS(hand_made_import(&h, &batch), SL_E_INPUT, "1 of 2 rows");
    assert_int_equal(releases, 1);
    hand_made(&h, "i", 2, 2, fine, NULL);
    h.array.n_children = 0;
    FAILS(hand_made_import(&h, &batch), SL_E_INPUT, "0 children");
    static const uint8_t one_null[] = {0x01};
    hand_made(&h, "i", 2, 2, fine, NULL);
    h.column.flags = 0;
    h.buffers[0] = one_null;
    FAILS(hand_made_import(&h, &batch), SL_E_INPUT, "row 1: null");
    hand_made(&h, "i", 2, 2, fine, NULL);
    h.top_buffers[0] = one_null;
    FAILS(hand_made_import(&h, &batch), SL_E_INPUT, "null as a whole");
    h.array.release = NULL;
    FAILS(hand_made_import(&h, &batch), SL_E_INPUT, "released");
}

static void test_unsupported_formats(void **state)
{
    (void)state;
    static const struct {
        const char *format;
        enum sl_code code;
        const char *says;
    } cases[] = {
        {"+r", SL_E_UNSUPPORTED, "run-end"},     {"+ud:0,1", SL_E_UNSUPPORTED, "dense unions"},
        {"tDs", SL_E_UNSUPPORTED, "durations"},  {"tiM", SL_E_UNSUPPORTED, "intervals"},
        {"?", SL_E_UNSUPPORTED, "format '?'"},   {"d:80,2", SL_E_UNSUPPORTED, "precision 80"},
        {"d:x", SL_E_INPUT, "no decimal"},       {"w:", SL_E_INPUT, "no width"},
        {"+l", SL_E_INPUT, "0 children"},        {"+m", SL_E_INPUT, "0 children"},
        {"ts", SL_E_UNSUPPORTED, "format 'ts'"}, {"tsu", SL_E_UNSUPPORTED, "format 'tsu'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hand_made h;
        const sl_type *schema;
        hand_made(&h, cases[i].format, 0, 2, NULL, NULL);
        FAILS(sl_arrow_import_schema(&h.top, &schema), cases[i].code, cases[i].says);
    }
}

static void test_moved_child(void **state)
{
    (void)state;
    random_start();
    sl_batch *batch = random_batch("a int, b string", 10);
    struct ArrowArray array;
    OK(sl_arrow_export_batch(batch, &array));
    struct ArrowArray child = *array.children[1];
    array.children[1]->release = NULL;
    array.release(&array);
    sl_batch_unref(batch);
    assert_int_equal(child.length, 10); /* alive on its own */
    assert_non_null(child.buffers[1]);
    child.release(&child);
    assert_null(child.release);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    random_start();
    sl_batch *batch = random_batch(wide_schema, 20);
    for (uint64_t nth = 1;; nth++) {
        struct ArrowSchema arrow_schema = {0};
        struct ArrowArray array = {0};
        sl_batch *back = NULL;
        assert_true(nth < 5000);
        sl_test_fail_allocation(nth, false);
        sl_status status = sl_arrow_export_schema(batch->schema, &arrow_schema);
        if (status == SL_OK)
            status = sl_arrow_export_batch(batch, &array);
        if (status == SL_OK) {
            array.offset = 3;
            array.length = 12;
            status = sl_arrow_import_batch(&array, &arrow_schema, batch->schema, &back);
        }
        sl_test_fail_allocation(0, false);
        if (arrow_schema.release)
            arrow_schema.release(&arrow_schema);
        assert_null(array.release);
        if (status == SL_OK) {
            sl_batch_unref(back);
            break;
        }
        assert_int_equal(sl_status_code(status), SL_E_MEMORY);
        sl_status_free(status);
    }
    sl_batch_unref(batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),  cmocka_unit_test(test_foreign_layouts),
        cmocka_unit_test(test_views),       cmocka_unit_test(test_dictionary),
        cmocka_unit_test(test_malformed),   cmocka_unit_test(test_unsupported_formats),
        cmocka_unit_test(test_moved_child), cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
