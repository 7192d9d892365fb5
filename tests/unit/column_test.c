/*
 * Types, arrays, builders and gather.
 *
 * The random tests keep, beside every array, the text of each of its rows, written while the values were
 * made. Whatever is done to the array, its rows must print as that text: the model knows nothing of buffers,
 * offsets and bitmaps.
 */
#include "check_support.h"
#include "column/column_int.h"
#include <math.h>
#include <stdio.h>

/* ---- help ---------------------------------------------------------------------------------------------- */

static const sl_type *schema_of(const char *text)
{
    const sl_type *schema = NULL;
    OK(sl_schema_parse(text, &schema));
    return schema;
}

/* The type of the only column of a schema text. */
static const sl_type *type_of(const char *text)
{
    char column[256];
    snprintf(column, sizeof column, "c %s", text);
    const sl_type *schema = schema_of(column), *type = sl_type_ref(schema->fields[0].type);
    sl_type_unref(schema);
    return type;
}

/* ---- random types -------------------------------------------------------------------------------------- */

static const sl_type *random_leaf(void)
{
    static const char *words[] = {
        "boolean",      "tinyint",        "smallint",      "int",    "long",     "uint8",     "uint16",
        "uint32",       "uint64",         "float",         "double", "date",     "time",      "time_millis",
        "timestamp",    "string",         "timestamp_ntz", "binary", "fixed(3)", "fixed(16)", "fixed(40)",
        "decimal(9,2)", "decimal(38,10)", "null",          "string", "string"};
    return type_of(words[random_below((int64_t)(sizeof words / sizeof words[0]))]);
}

static const sl_type *random_type(int depth);

static const sl_type *random_struct(int depth)
{
    static const char *names[] = {"a", "B", "c c", "d`d", "é"};
    sl_field fields[5] = {{0}};
    size_t count = 1 + (size_t)random_below(5);
    const sl_type *type = NULL;
    for (size_t i = 0; i < count; i++)
        fields[i] =
            (sl_field){.name = names[i], .type = random_type(depth - 1), .nullable = random_below(4) > 0};
    OK(sl_type_struct(fields, count, &type));
    for (size_t i = 0; i < count; i++)
        sl_type_unref(fields[i].type);
    return type;
}

static const sl_type *random_type(int depth)
{
    int64_t kind = depth > 0 ? random_below(6) : 0;
    if (kind < 3)
        return random_leaf();
    if (kind == 3)
        return random_struct(depth);
    sl_field element = {.type = random_type(depth - 1), .nullable = random_below(2) > 0};
    const sl_type *type = NULL, *key = kind == 5 ? type_of("string") : NULL;
    if (key)
        OK(sl_type_map(key, &element, &type));
    else
        OK(sl_type_list(&element, &type));
    sl_type_unref(key);
    sl_type_unref(element.type);
    return type;
}

/* ---- random values and their text ---------------------------------------------------------------------- */

static void print_hex(sl_buf *text, const void *data, size_t len)
{
    for (size_t i = 0; i < len; i++)
        OK(sl_buf_printf(text, "%02x", ((const uint8_t *)data)[i]));
}

static int64_t random_integer(const sl_type *type)
{
    size_t bits = 8 * sl_type_value_bytes(type);
    bool is_unsigned = type->id >= SL_UINT8 && type->id <= SL_UINT64;
    int64_t value = (int64_t)random_next() >> random_below(64);
    if (is_unsigned)
        return (int64_t)((uint64_t)value & (bits == 64 ? (uint64_t)INT64_MAX : ((uint64_t)1 << bits) - 1));
    return bits == 64 ? value : value >> (64 - bits);
}

static void random_value(sl_builder *b, bool nullable, sl_buf *text);

static void random_bytes(sl_builder *b, sl_buf *text)
{
    uint8_t bytes[64];
    size_t len =
        b->type->id == SL_FIXED ? (size_t)b->type->width : (size_t)random_below(random_below(8) ? 14 : 64);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)('a' + random_below(26));
    OK(sl_builder_bytes(b, bytes, len));
    print_hex(text, bytes, len);
}

static void random_float(sl_builder *b, sl_buf *text)
{
    static const double special[] = {0.0, -0.0, 1.5, -2.25, INFINITY, -INFINITY, NAN};
    double value =
        random_below(2) ? special[random_below(7)] : (double)((int64_t)random_below(1 << 20) - 1000);
    OK(sl_builder_double(b, value));
    print_hex(text, &value, sizeof value);
}

static void random_nested(sl_builder *b, sl_buf *text)
{
    OK(sl_buf_byte(text, '['));
    if (b->type->id == SL_STRUCT) {
        for (size_t i = 0; i < b->type->field_count; i++)
            random_value(sl_builder_child(b, i), b->type->fields[i].nullable, text);
    } else {
        for (int64_t n = random_below(5); n > 0; n--)
            random_value(sl_builder_child(b, 0), b->type->fields[0].nullable, text);
    }
    OK(sl_builder_close(b));
    OK(sl_buf_byte(text, ']'));
}

static int null_percent;

static void random_value(sl_builder *b, bool nullable, sl_buf *text)
{
    if (b->type->id == SL_NULL || (nullable && (int)random_below(100) < null_percent)) {
        OK(sl_builder_null(b));
        OK(sl_buf_byte(text, '~'));
    } else if (sl_type_is_nested(b->type)) {
        random_nested(b, text);
    } else if (b->type->id == SL_BOOL) {
        bool value = random_below(2);
        OK(sl_builder_bool(b, value));
        OK(sl_buf_printf(text, "%d", value));
    } else if (b->type->id == SL_FLOAT || b->type->id == SL_DOUBLE) {
        random_float(b, text);
    } else if (b->type->id == SL_DECIMAL) {
        sl_i128 value = (sl_i128)((int64_t)random_next() >> random_below(64)) % 1000000000;
        OK(sl_builder_decimal(b, value));
        print_hex(text, &value, sizeof value);
    } else if (b->type->id == SL_STRING || b->type->id == SL_BINARY || b->type->id == SL_FIXED) {
        random_bytes(b, text);
    } else {
        int64_t value = random_integer(b->type);
        OK(sl_builder_integer(b, value));
        OK(sl_buf_printf(text, "%" PRId64, value));
    }
    OK(sl_buf_byte(text, ';'));
}

/* Prints a row as random_value did when it made it. */
static void print_value(const sl_array *a, int64_t row, sl_buf *text)
{
    const sl_type *type = a->type;
    if (!sl_is_valid(a, row)) {
        OK(sl_buf_append(text, "~;", 2));
        return;
    }
    if (a->dictionary) {
        print_value(a->dictionary, sl_i32_at(a, row), text);
        return;
    }
    if (sl_type_is_nested(type)) {
        OK(sl_buf_byte(text, '['));
        if (type->id == SL_STRUCT)
            for (size_t i = 0; i < a->child_count; i++)
                print_value(a->children[i], row, text);
        else
            for (int32_t i = a->offsets[row]; i < a->offsets[row + 1]; i++)
                print_value(a->children[0], i, text);
        OK(sl_buf_byte(text, ']'));
    } else if (type->id == SL_BOOL) {
        OK(sl_buf_printf(text, "%d", sl_bool_at(a, row)));
    } else if (type->id == SL_FLOAT || type->id == SL_DOUBLE) {
        double value = type->id == SL_FLOAT ? (double)sl_float_at(a, row) : sl_double_at(a, row);
        print_hex(text, &value, sizeof value);
    } else if (type->id == SL_DECIMAL) {
        sl_i128 value = sl_decimal_at(a, row);
        print_hex(text, &value, sizeof value);
    } else if (type->id == SL_STRING || type->id == SL_BINARY || type->id == SL_FIXED) {
        size_t len;
        const uint8_t *bytes = sl_bytes_at(a, row, &len);
        print_hex(text, bytes, len);
    } else {
        OK(sl_buf_printf(text, "%" PRId64, sl_integer_at(a, row)));
    }
    OK(sl_buf_byte(text, ';'));
}

static char *value_of(const sl_array *a, int64_t row)
{
    sl_buf text = {0};
    char *out = NULL;
    print_value(a, row, &text);
    OK(sl_buf_take_string(&text, &out));
    return out;
}

struct model {
    sl_array *array;
    sl_strings rows;
};

static void model_make(struct model *m, const sl_type *type, int64_t rows)
{
    sl_builder *b = NULL;
    *m = (struct model){0};
    OK(sl_builder_new(type, &b));
    for (int64_t i = 0; i < rows; i++) {
        sl_buf text = {0};
        char *row = NULL;
        random_value(b, true, &text);
        OK(sl_buf_take_string(&text, &row));
        OK(sl_strings_add(&m->rows, row));
        sl_free(row);
    }
    assert_int_equal(sl_builder_length(b), rows);
    OK(sl_builder_finish(b, &m->array));
    assert_int_equal(sl_builder_length(b), 0);
    sl_builder_free(b);
}

static void model_free(struct model *m)
{
    sl_array_unref(m->array);
    sl_strings_free(&m->rows);
}

/* Invariants of the layout that no printed row shows. */
static void check_layout(const sl_array *a)
{
    int64_t nulls = 0;
    for (int64_t i = 0; i < a->length; i++)
        nulls += !sl_is_valid(a, i);
    assert_int_equal(nulls, a->null_count);
    if (a->type->id != SL_NULL)
        assert_int_equal(a->validity != NULL, nulls > 0);
    if (a->type->id == SL_STRUCT)
        for (size_t i = 0; i < a->child_count; i++)
            assert_int_equal(a->children[i]->length, a->length);
    if (sl_type_has_offsets(a->type)) {
        assert_int_equal(a->offsets[0], 0);
        assert_int_equal(sl_buffer_size(a->offsets_buffer), (a->length + 1) * 4);
        for (int64_t i = 0; i < a->length; i++)
            assert_true(a->offsets[i] <= a->offsets[i + 1]);
        int64_t end = a->child_count ? a->children[0]->length : (int64_t)sl_buffer_size(a->values_buffer);
        assert_int_equal(a->offsets[a->length], end);
    }
    if (sl_type_value_bytes(a->type) > 0)
        assert_int_equal(sl_buffer_size(a->values_buffer), (size_t)a->length * sl_type_value_bytes(a->type));
    if (a->values_buffer)
        assert_int_equal((uintptr_t)a->values % 64, 0);
    for (size_t i = 0; i < a->child_count; i++)
        check_layout(a->children[i]);
}

static void check_rows(const sl_array *a, const struct model *m, const int64_t *expected, int64_t count)
{
    assert_int_equal(a->length, count);
    check_layout(a);
    for (int64_t i = 0; i < count; i++) {
        char *row = value_of(a, i);
        assert_string_equal(row, m->rows.items[expected[i]]);
        assert_true(sl_equal_at(a, i, m->array, expected[i]));
        sl_free(row);
    }
}

/* ---- dictionaries -------------------------------------------------------------------------------------- */

static int32_t dictionary_index(const sl_array *a, int64_t row, uint32_t *firsts, int32_t *count)
{
    for (int32_t k = 0; k < *count; k++)
        if (sl_equal_at(a, firsts[k], a, row))
            return k;
    firsts[*count] = (uint32_t)row;
    return (*count)++;
}

/* The same values with a dictionary in each leaf; an index under a null means nothing. */
static sl_array *dictionary_encode(const sl_array *a)
{
    sl_array *out = NULL, **children = calloc(a->child_count + 1, sizeof(sl_array *));
    if (sl_type_is_nested(a->type) || a->type->id == SL_NULL) {
        for (size_t i = 0; i < a->child_count; i++)
            children[i] = dictionary_encode(a->children[i]);
        OK(sl_array_new(a->type, a->length, a->null_count, sl_buffer_ref(a->validity_buffer),
                        sl_buffer_ref(a->values_buffer), sl_buffer_ref(a->offsets_buffer), children,
                        a->child_count, NULL, &out));
        free(children);
        return out;
    }
    free(children);
    uint32_t *firsts = calloc((size_t)a->length + 1, sizeof *firsts);
    int32_t count = 0;
    sl_buffer *indexes = NULL;
    OK(sl_buffer_new((size_t)a->length * 4, &indexes));
    for (int64_t i = 0; i < a->length; i++) {
        int32_t index = sl_is_valid(a, i) ? dictionary_index(a, i, firsts, &count) : -7;
        store_le32(sl_buffer_data(indexes) + i * 4, (uint32_t)index);
    }
    sl_builder *b = NULL;
    sl_array *dictionary = NULL;
    OK(sl_builder_new(a->type, &b));
    OK(sl_builder_append_rows(b, a, firsts, (size_t)count));
    OK(sl_builder_finish(b, &dictionary));
    sl_builder_free(b);
    free(firsts);
    OK(sl_array_new(a->type, a->length, a->null_count, sl_buffer_ref(a->validity_buffer), indexes, NULL, NULL,
                    0, dictionary, &out));
    return out;
}

/* ---- the property test --------------------------------------------------------------------------------- */

enum { ROWS_MAX = 300, PICKED_MAX = 4096 };

/* Random ranges, row lists and single nulls from one source into one builder. */
static void check_appends(const struct model *m, sl_array *plain, sl_array *encoded)
{
    static int64_t expected[PICKED_MAX];
    int64_t total = 0, length = plain->length;
    sl_builder *b = NULL;
    sl_array *out = NULL;
    OK(sl_builder_new(plain->type, &b));
    for (int64_t step = random_below(12); step >= 0; step--) {
        sl_array *src = random_below(3) ? plain : encoded;
        int64_t count = random_below(random_below(2) ? 5 : length + 1);
        if (count > length)
            count = length;
        if (random_below(2)) {
            int64_t from = random_below(length - count + 1);
            OK(sl_builder_append_range(b, src, from, count));
            for (int64_t i = 0; i < count; i++)
                expected[total++] = from + i;
        } else {
            uint32_t rows[ROWS_MAX];
            for (int64_t i = 0; i < count; i++)
                expected[total++] = rows[i] = (uint32_t)random_below(length);
            OK(sl_builder_append_rows(b, src, rows, (size_t)count));
        }
    }
    assert_int_equal(sl_builder_length(b), total);
    OK(sl_builder_finish(b, &out));
    check_rows(out, m, expected, total);
    sl_array_unref(out);
    /* The builder starts anew. */
    if (length > 0) {
        OK(sl_builder_append_range(b, encoded, length - 1, 1));
        OK(sl_builder_finish(b, &out));
        check_rows(out, m, (int64_t[]){length - 1}, 1);
        sl_array_unref(out);
    }
    sl_builder_free(b);
}

/* Random picks from several arrays in turn, in two calls as a merge makes them. */
static void check_picks(const struct model *m, const sl_array *plain, const sl_array *encoded)
{
    static int64_t expected[PICKED_MAX];
    const sl_array *sources[] = {plain, random_below(2) ? encoded : plain, plain};
    int64_t total = 0;
    sl_builder *b = NULL;
    sl_array *out = NULL;
    OK(sl_builder_new(plain->type, &b));
    for (int call = 0; call < 2; call++) {
        struct sl_pick picks[24];
        size_t count = plain->length > 0 ? (size_t)random_below(24) : 0;
        int64_t rows_picked = 0;
        for (size_t i = 0; i < count; i++) {
            int64_t first = random_below(plain->length), most = random_below(3) ? 2 : 100, rows;
            most = plain->length - first < most ? plain->length - first : most;
            rows = 1 + random_below(most);
            picks[i] = (struct sl_pick){(uint32_t)random_below(3), (uint32_t)first, (uint32_t)rows};
            for (int64_t k = 0; k < rows; k++)
                expected[total++] = first + k;
            rows_picked += rows;
        }
        OK(sl_builder_append_picks(b, sources, 3, &(struct sl_picks){picks, count, rows_picked}));
    }
    assert_int_equal(sl_builder_length(b), total);
    OK(sl_builder_finish(b, &out));
    check_rows(out, m, expected, total);
    sl_array_unref(out);
    sl_builder_free(b);
}

static void check_copy(const struct model *m, const sl_array *src)
{
    int64_t expected[ROWS_MAX], from = random_below(src->length + 1),
                                count = random_below(src->length - from + 1);
    for (int64_t i = 0; i < count; i++)
        expected[i] = from + i;
    sl_array *out = NULL;
    OK(sl_array_copy(src, from, count, &out));
    check_rows(out, m, expected, count);
    sl_array_unref(out);
}

static void check_decode(const struct model *m, sl_array *encoded)
{
    int64_t expected[ROWS_MAX];
    for (int64_t i = 0; i < encoded->length; i++)
        expected[i] = i;
    sl_array *out = NULL;
    OK(sl_array_decode_dictionary(encoded, &out));
    assert_null(out->dictionary);
    check_rows(out, m, expected, encoded->length);
    sl_array_unref(out);
}

static void check_filter(const struct model *m, sl_array *src)
{
    int64_t expected[ROWS_MAX], count = 0;
    uint8_t selection[ROWS_MAX / 8 + 1] = {0};
    for (int64_t i = 0; i < src->length; i++)
        if (random_below(3)) {
            bit_set(selection, i);
            expected[count++] = i;
        }
    const sl_type *schema = NULL;
    sl_batch *batch = NULL, *out = NULL;
    OK(sl_type_struct(&(sl_field){.name = "c", .type = src->type, .nullable = true}, 1, &schema));
    OK(sl_batch_new(schema, src->length, (sl_array *[]){sl_array_ref(src)}, &batch));
    OK(sl_batch_filter(batch, selection, &out));
    assert_int_equal(out->rows, count);
    if (count < src->length)
        check_rows(out->columns[0], m, expected, count);
    else
        assert_ptr_equal(out, batch);
    sl_batch_unref(out);
    sl_batch_unref(batch);
    sl_type_unref(schema);
}

/* Two rows are equal exactly when they print the same. */
static void check_equality(const struct model *m, const sl_array *plain, const sl_array *encoded)
{
    for (int k = 0; k < 200 && plain->length > 0; k++) {
        int64_t i = random_below(plain->length), j = random_below(plain->length);
        bool same = strcmp(m->rows.items[i], m->rows.items[j]) == 0;
        assert_int_equal(sl_equal_at(plain, i, encoded, j), same);
        if (!sl_type_is_nested(plain->type)) {
            int order = sl_compare(encoded, i, plain, j);
            if (plain->type->id == SL_INT32 && sl_is_valid(plain, i))
                assert_int_equal(sl_integer_at(encoded, i), sl_integer_at(plain, i));
            assert_int_equal(order == 0, same);
            assert_int_equal(order<0, sl_compare(plain, j, encoded, i)> 0);
        }
    }
}

static void test_random_arrays(void **state)
{
    (void)state;
    random_start();
    for (int round = 0; round < 250; round++) {
        null_percent = (int)random_below(4) * 30;
        const sl_type *type = random_type(4);
        struct model m;
        model_make(&m, type, random_below(4) ? random_below(ROWS_MAX) : random_below(10));
        int64_t all[ROWS_MAX];
        for (int64_t i = 0; i < m.array->length; i++)
            all[i] = i;
        check_rows(m.array, &m, all, m.array->length);
        sl_array *encoded = dictionary_encode(m.array);
        check_appends(&m, m.array, encoded);
        check_picks(&m, m.array, encoded);
        check_copy(&m, m.array);
        check_copy(&m, encoded);
        check_decode(&m, encoded);
        check_filter(&m, m.array);
        check_filter(&m, encoded);
        check_equality(&m, m.array, encoded);
        assert_true(sl_array_bytes(encoded) >= 1 || m.array->length == 0);
        sl_array_unref(encoded);
        model_free(&m);
        sl_type_unref(type);
    }
}

/* ---- bitmaps ------------------------------------------------------------------------------------------- */

static void test_bits(void **state)
{
    (void)state;
    random_start();
    enum { BYTES = 64, BITS = BYTES * 8 };
    for (int round = 0; round < 3000; round++) {
        uint8_t from[BYTES], to[BYTES], before[BYTES];
        for (int i = 0; i < BYTES; i++) {
            from[i] = (uint8_t)random_next();
            before[i] = to[i] = (uint8_t)random_next();
        }
        int64_t count = random_below(BITS + 1), at = random_below(BITS - count + 1),
                src = random_below(BITS - count + 1);
        int64_t ones = column_bits_copy(to, at, from, src, count), expected = 0;
        for (int64_t i = 0; i < BITS; i++) {
            bool inside = i >= at && i < at + count;
            assert_int_equal(bit_get(to, i), inside ? bit_get(from, src + i - at) : bit_get(before, i));
            expected += inside && bit_get(to, i);
        }
        assert_int_equal(ones, expected);
        assert_int_equal(column_bits_count(to, at, count), expected);
        column_bits_fill(to, at, count, round & 1);
        for (int64_t i = 0; i < BITS; i++)
            assert_int_equal(bit_get(to, i), i >= at && i < at + count ? round & 1 : bit_get(before, i));
    }
}

/* ---- types and their text ------------------------------------------------------------------------------ */

static void test_schema_round_trip(void **state)
{
    (void)state;
    random_start();
    for (int round = 0; round < 500; round++) {
        const sl_type *type = random_struct(4), *back = NULL;
        char *text = NULL;
        OK(sl_type_text(type, &text));
        back = schema_of(text);
        if (!sl_type_equal(type, back))
            fail_msg("%s", text);
        sl_free(text);
        sl_type_unref(back);
        sl_type_unref(type);
    }
}

static void check_text(const char *schema, const char *printed)
{
    const sl_type *type = schema_of(schema);
    char *text = NULL;
    OK(sl_type_text(type, &text));
    assert_string_equal(text, printed);
    sl_free(text);
    sl_type_unref(type);
}

/* Whatever text comes in, it is a schema that prints and reads back, or an input error. */
static void test_schema_damaged(void **state)
{
    (void)state;
    random_start();
    static const char bytes[] = "<>(),:` anult09\x80";
    for (int round = 0; round < 2000; round++) {
        const sl_type *type = random_struct(3), *read = NULL;
        char *text = NULL;
        OK(sl_type_text(type, &text));
        for (int64_t k = random_below(4); k >= 0; k--)
            text[random_below((int64_t)strlen(text))] = bytes[random_below((int64_t)sizeof bytes - 1)];
        sl_status status = sl_schema_parse(text, &read);
        if (status == SL_OK) {
            char *printed = NULL;
            OK(sl_type_text(read, &printed));
            const sl_type *again = schema_of(printed);
            assert_true(sl_type_equal(read, again));
            sl_type_unref(again);
            sl_free(printed);
        } else {
            assert_int_equal(sl_status_code(status), SL_E_INPUT);
            sl_status_free(status);
        }
        sl_type_unref(read);
        sl_free(text);
        sl_type_unref(type);
    }
}

static void test_schema_words(void **state)
{
    (void)state;
    check_text("a BOOLEAN, b byte, c Short, d integer, e bigint, f varchar, g bytes, h local_timestamp",
               "struct<a: boolean, b: tinyint, c: smallint, d: int, e: long, f: string, g: binary, h: "
               "timestamp_ntz>");
    check_text("a decimal, b decimal(5), c decimal( 38 , 38 ), d fixed(4) not null, e time, f time_millis",
               "struct<a: decimal(10,0), b: decimal(5,0), c: decimal(38,38), d: fixed(4) not null, e: time, "
               "f: time_millis>");
    check_text("a timestamp, b timestamp_millis, c timestamp_nanos, d date, e float, f double",
               "struct<a: timestamp, b: timestamp_millis, c: timestamp_nanos, d: date, e: float, f: double>");
    check_text(
        "`a``b` array<int not null>, m map<string, int>, s struct<>, not int NOT NULL, struct struct<x: int>",
        "struct<`a``b`: list<int not null>, m: map<string, int>, s: struct<>, not: int not null, "
        "struct: struct<x: int>>");
    check_text("struct<a: int>", "struct<a: int>");
}

static void test_schema_errors(void **state)
{
    (void)state;
    const sl_type *out = NULL;
    FAILS(sl_schema_parse("", &out), SL_E_INPUT, "expected a name at position 1, where the text ends");
    FAILS(sl_schema_parse("id lang", &out), SL_E_INPUT, "expected a type at position 4, before 'lang'");
    FAILS(sl_schema_parse("id long,", &out), SL_E_INPUT, "expected a name at position 9");
    FAILS(sl_schema_parse("id long name string", &out), SL_E_INPUT, "expected ',' or the end at position 9");
    FAILS(sl_schema_parse("id long, id int", &out), SL_E_INPUT, "id is named a second time at position 10");
    FAILS(sl_schema_parse("a list<int", &out), SL_E_INPUT, "expected '>'");
    FAILS(sl_schema_parse("a map<int>", &out), SL_E_INPUT, "expected ','");
    FAILS(sl_schema_parse("a struct<b int", &out), SL_E_INPUT, "expected ',' or '>'");
    FAILS(sl_schema_parse("`a int", &out), SL_E_INPUT, "the quoted name at position 1 has no end");
    FAILS(sl_schema_parse("a int not", &out), SL_E_INPUT, "expected 'null' after 'not'");
    FAILS(sl_schema_parse("a decimal(39,0)", &out), SL_E_INPUT, "precision 39");
    FAILS(sl_schema_parse("a decimal(5,6)", &out), SL_E_INPUT, "scale 6");
    FAILS(sl_schema_parse("a decimal(99999999999999)", &out), SL_E_INPUT, "too large");
    FAILS(sl_schema_parse("a fixed(0)", &out), SL_E_INPUT, "width 0");
    FAILS(sl_schema_parse("a fixed(x)", &out), SL_E_INPUT, "expected a number");
    FAILS(sl_schema_parse("struct<a: int> x", &out), SL_E_INPUT, "expected the end");
    assert_null(out);
    char deep[1024] = "a ";
    for (int i = 0; i < 64; i++)
        strcat(deep, "list<");
    strcat(deep, "int");
    for (int i = 0; i < 64; i++)
        strcat(deep, ">");
    sl_type_unref(schema_of(deep));
    memmove(deep + 7, deep + 2, strlen(deep) - 1);
    memcpy(deep + 2, "list<", 5);
    FAILS(sl_schema_parse(deep, &out), SL_E_INPUT, "more than 64 deep");
}

static void test_type_equality(void **state)
{
    (void)state;
    static const char *different[] = {"int",
                                      "int not null",
                                      "long",
                                      "decimal(5,2)",
                                      "decimal(6,2)",
                                      "decimal(5,1)",
                                      "timestamp",
                                      "timestamp_ntz",
                                      "timestamp_millis",
                                      "time",
                                      "time_millis",
                                      "fixed(3)",
                                      "fixed(4)",
                                      "list<int>",
                                      "list<int not null>",
                                      "struct<a: int>",
                                      "struct<b: int>",
                                      "struct<a: int, b: int>",
                                      "map<string, int>",
                                      "map<int, int>",
                                      "map<string, int not null>"};
    size_t count = sizeof different / sizeof different[0];
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++) {
            char a_text[64], b_text[64];
            snprintf(a_text, sizeof a_text, "c %s", different[i]);
            snprintf(b_text, sizeof b_text, "c %s", different[j]);
            const sl_type *a = schema_of(a_text), *b = schema_of(b_text);
            assert_int_equal(sl_type_equal(a, b), i == j);
            sl_type_unref(a);
            sl_type_unref(b);
        }
    /* The name of a list's element is the writer's taste. */
    const sl_type *i32 = type_of("int"), *x = NULL, *y = NULL;
    OK(sl_type_list(&(sl_field){.name = "array", .type = i32, .nullable = true}, &x));
    OK(sl_type_list(&(sl_field){.name = "element", .type = i32, .nullable = true}, &y));
    assert_true(sl_type_equal(x, y));
    sl_type_unref(i32);
    sl_type_unref(x);
    sl_type_unref(y);
}

static void test_type_constructors(void **state)
{
    (void)state;
    const sl_type *type = NULL, *other = NULL;
    OK(sl_type_new(SL_TIMESTAMP, &type));
    other = type_of("timestamp");
    assert_true(sl_type_equal(type, other));
    sl_type_unref(type);
    sl_type_unref(other);
    OK(sl_type_annotated(SL_FIXED, SL_UUID, &type));
    other = type_of("fixed(16)");
    assert_int_equal(type->annotation, SL_UUID);
    assert_true(sl_type_equal(type, other));
    sl_type_unref(type);
    sl_type_unref(other);
    OK(sl_type_annotated(SL_STRING, SL_JSON, &type));
    assert_int_equal(type->annotation, SL_JSON);
    sl_type_unref(type);
    type = NULL;
    FAILS(sl_type_annotated(SL_INT32, SL_ENUM, &type), SL_E_INTERNAL, "takes no annotation");
    FAILS(sl_type_annotated(SL_FIXED, SL_ENUM, &type), SL_E_INTERNAL, "needs a width");
    FAILS(sl_type_new(SL_LIST, &type), SL_E_INTERNAL, "needs parameters");
    FAILS(sl_type_fixed(-1, &type), SL_E_INPUT, "width -1");
    FAILS(sl_type_decimal(0, 0, &type), SL_E_INPUT, "precision 0");
    assert_null(type);
    sl_field documented = {.name = "a", .type = type_of("int"), .nullable = true, .doc = "what it is"};
    OK(sl_type_struct(&documented, 1, &type));
    assert_string_equal(type->fields[0].doc, "what it is");
    assert_int_equal(sl_type_field_index(type, "a"), 0);
    assert_int_equal(sl_type_field_index(type, "A"), -1);
    sl_type_unref(documented.type);
    sl_type_unref(type);
}

static void test_decimal_bytes(void **state)
{
    (void)state;
    for (int32_t precision = 1; precision <= 38; precision++) {
        int32_t bytes = sl_decimal_bytes(precision);
        sl_i128 greatest = column_pow10(precision) - 1;
        assert_true(bytes == 16 || greatest < (sl_i128)1 << (8 * bytes - 1));
        assert_true(bytes == 1 || greatest >= (sl_i128)1 << (8 * (bytes - 1) - 1));
    }
}

/* ---- builders ------------------------------------------------------------------------------------------ */

static sl_builder *builder_of(const char *type_text)
{
    const sl_type *type = type_of(type_text);
    sl_builder *b = NULL;
    OK(sl_builder_new(type, &b));
    sl_type_unref(type);
    return b;
}

static void check_integer(const char *type, int64_t value, bool fits)
{
    sl_builder *b = builder_of(type);
    sl_array *array = NULL;
    if (fits) {
        OK(sl_builder_integer(b, value));
        OK(sl_builder_finish(b, &array));
        assert_int_equal(sl_integer_at(array, 0), value);
        sl_array_unref(array);
    } else {
        FAILS(sl_builder_integer(b, value), SL_E_INPUT, type);
    }
    sl_builder_free(b);
}

static void test_builder_ranges(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        int64_t least, greatest;
    } ranges[] = {{"tinyint", INT8_MIN, INT8_MAX},
                  {"smallint", INT16_MIN, INT16_MAX},
                  {"int", INT32_MIN, INT32_MAX},
                  {"date", INT32_MIN, INT32_MAX},
                  {"time_millis", INT32_MIN, INT32_MAX},
                  {"uint8", 0, UINT8_MAX},
                  {"uint16", 0, UINT16_MAX},
                  {"uint32", 0, UINT32_MAX}};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        check_integer(ranges[i].type, ranges[i].least, true);
        check_integer(ranges[i].type, ranges[i].greatest, true);
        check_integer(ranges[i].type, ranges[i].least - 1, false);
        check_integer(ranges[i].type, ranges[i].greatest + 1, false);
    }
    check_integer("long", INT64_MIN, true);
    check_integer("long", INT64_MAX, true);
    check_integer("uint64", INT64_MAX, true);
    check_integer("uint64", -1, false);
    sl_builder *b = builder_of("decimal(3,1)");
    OK(sl_builder_decimal(b, 999));
    OK(sl_builder_decimal(b, -999));
    FAILS(sl_builder_decimal(b, 1000), SL_E_INPUT, "decimal(3,1)");
    FAILS(sl_builder_decimal(b, -1000), SL_E_INPUT, "decimal(3,1)");
    FAILS(sl_builder_integer(b, 1), SL_E_INTERNAL, "an integer appended to a builder of decimal(3,1)");
    FAILS(sl_builder_close(b), SL_E_INTERNAL, "nested");
    sl_builder_free(b);
    b = builder_of("fixed(3)");
    FAILS(sl_builder_bytes(b, "ab", 2), SL_E_INPUT, "2 bytes for a value of fixed(3)");
    sl_builder_free(b);
    b = builder_of("struct<a: int, b: int>");
    OK(sl_builder_integer(sl_builder_child(b, 0), 1));
    FAILS(sl_builder_close(b), SL_E_INTERNAL, "struct member b");
    sl_builder_free(b);
}

static void test_mismatched_source(void **state)
{
    (void)state;
    const sl_type *from = type_of("timestamp_millis");
    sl_array *array = NULL;
    OK(sl_array_nulls(from, 3, &array));
    sl_builder *b = builder_of("timestamp");
    FAILS(sl_builder_append_range(b, array, 0, 1), SL_E_INTERNAL,
          "rows of timestamp_millis appended to a builder of timestamp");
    sl_builder_free(b);
    b = builder_of("timestamp_millis");
    FAILS(sl_builder_append_range(b, array, 2, 2), SL_E_INTERNAL, "rows 2 + 2 of an array of 3");
    sl_builder_free(b);
    sl_array_unref(array);
    sl_type_unref(from);
}

/* Offsets are int32: the check comes before the bytes are touched, so the source need not really be that
 * large. */
static void test_too_much_text(void **state)
{
    (void)state;
    sl_buffer *offsets = NULL, *values = NULL;
    sl_array *big = NULL, *out = NULL;
    const sl_type *type = type_of("string");
    OK(sl_buffer_new(8, &offsets));
    store_le32(sl_buffer_data(offsets), 0);
    store_le32(sl_buffer_data(offsets) + 4, 1u << 30);
    OK(sl_buffer_new(64, &values));
    OK(sl_array_new(type, 1, 0, NULL, values, offsets, NULL, 0, NULL, &big));
    sl_builder *b = builder_of("string");
    FAILS(sl_builder_append_rows(b, big, (uint32_t[]){0, 0}, 2), SL_E_INPUT,
          "more than 2 GiB of text in one batch");
    sl_builder_free(b);
    FAILS(sl_array_constant_string("0123456789abcdef", 16, 1 << 28, &out), SL_E_INPUT, "more than 2 GiB");
    FAILS(sl_array_constant_string("0123456789abcdef", 16, INT64_MAX / 2, &out), SL_E_INPUT,
          "more than 2 GiB");
    sl_array_unref(big);
    sl_type_unref(type);
}

static void test_too_many_elements(void **state)
{
    (void)state;
    sl_buffer *offsets = NULL;
    sl_array *elements = NULL, *big = NULL;
    const sl_type *type = type_of("list<null>");
    OK(sl_buffer_new(8, &offsets));
    store_le32(sl_buffer_data(offsets), 0);
    store_le32(sl_buffer_data(offsets) + 4, 1u << 30);
    OK(sl_array_nulls(type->fields[0].type, 1, &elements));
    OK(sl_array_new(type, 1, 0, NULL, NULL, offsets, &elements, 1, NULL, &big));
    sl_builder *b = builder_of("list<null>");
    FAILS(sl_builder_append_rows(b, big, (uint32_t[]){0, 0}, 2), SL_E_INPUT,
          "elements of lists or maps in one batch");
    sl_builder_free(b);
    sl_array_unref(big);
    sl_type_unref(type);
}

static void test_nested_dictionary_is_refused(void **state)
{
    (void)state;
    const sl_type *type = type_of("list<int>");
    sl_array *dictionary = NULL, *out = NULL;
    OK(sl_array_nulls(type, 1, &dictionary));
    FAILS(sl_array_new(type, 0, 0, NULL, NULL, NULL, NULL, 0, dictionary, &out), SL_E_INTERNAL,
          "nested array with a dictionary");
    assert_null(out);
    sl_type_unref(type);
}

static void test_nulls_and_constants(void **state)
{
    (void)state;
    static const char *types[] = {"null",
                                  "boolean",
                                  "int",
                                  "string",
                                  "fixed(5)",
                                  "list<int>",
                                  "map<string, int>",
                                  "struct<a: int, b: list<string>>"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        for (int64_t length = 0; length < 20; length++) {
            const sl_type *type = type_of(types[i]);
            sl_array *array = NULL;
            OK(sl_array_nulls(type, length, &array));
            assert_int_equal(array->null_count, length);
            assert_int_equal(array->length, length);
            check_layout(array);
            sl_array_unref(array);
            sl_type_unref(type);
        }
    sl_array *array = NULL;
    sl_status (*const constants[])(const char *, size_t, int64_t, sl_array **) = {sl_array_constant_string,
                                                                                  sl_array_repeated_string};
    for (size_t k = 0; k < 2; k++) {
        OK(constants[k]("p=1", 3, 100, &array));
        check_layout(array->dictionary ? array->dictionary : array);
        assert_int_equal(array->dictionary ? array->dictionary->length : 0, k);
        for (int64_t i = 0; i < 100; i++) {
            size_t len;
            const uint8_t *bytes = sl_bytes_at(array, i, &len);
            assert_int_equal(len, 3);
            assert_memory_equal(bytes, "p=1", 3);
        }
        sl_array_unref(array);
    }
}

/* ---- batches ------------------------------------------------------------------------------------------- */

static sl_batch *small_batch(void)
{
    const sl_type *schema = schema_of("id long, name string");
    sl_batch_builder b = {0};
    sl_batch *batch = NULL;
    OK(sl_batch_builder_init(&b, schema));
    for (int i = 0; i < 5; i++) {
        OK(sl_builder_integer(b.columns[0], i));
        OK(sl_builder_bytes(b.columns[1], "abcde", (size_t)i));
    }
    assert_int_equal(sl_batch_builder_rows(&b), 5);
    assert_int_equal(sl_batch_builder_bytes(&b), 5 * 8 + 6 * 4 + 10);
    OK(sl_batch_builder_finish(&b, &batch));
    assert_int_equal(sl_batch_builder_rows(&b), 0);
    OK(sl_batch_builder_append_range(&b, batch, 1, 2));
    assert_int_equal(sl_batch_builder_rows(&b), 2);
    sl_batch_builder_free(&b);
    sl_batch_builder_free(&b);
    sl_type_unref(schema);
    return batch;
}

static void test_batches(void **state)
{
    (void)state;
    sl_batch *batch = small_batch(), *out = NULL;
    OK(sl_batch_project(batch, (const char *[]){"name"}, 1, &out));
    assert_int_equal(out->schema->field_count, 1);
    assert_ptr_equal(out->columns[0], batch->columns[1]);
    sl_batch_unref(out);
    out = NULL;
    FAILS(sl_batch_project(batch, (const char *[]){"name", "Id"}, 2, &out), SL_E_INPUT, "no column Id");
    assert_null(out);
    OK(sl_batch_copy(batch, 3, 2, &out));
    assert_int_equal(out->rows, 2);
    assert_int_equal(sl_i64_at(out->columns[0], 1), 4);
    sl_batch_unref(out);
    FAILS(sl_batch_new(batch->schema, 4,
                       (sl_array *[]){sl_array_ref(batch->columns[0]), sl_array_ref(batch->columns[1])},
                       &out),
          SL_E_INTERNAL, "column id has 5 rows, its batch 4");
    assert_true(sl_batch_bytes(batch) >= 5 * 8 + 6 * 4 + 10);
    assert_true(sl_batch_data_bytes(batch) <= sl_batch_bytes(batch));
    assert_true(sl_batch_data_bytes(batch) >= 5 * 8 + 5 * 4);
    sl_batch_unref(batch);
}

/* Batches that are held keep their values, whatever becomes of the others' memory. */
static void test_batches_from_used_memory(void **state)
{
    (void)state;
    enum { BATCHES = 40, ROWS = 100 };
    sl_batch *batches[BATCHES];
    const sl_type *schema = schema_of("id long, name string");
    const uint8_t *dropped = NULL;
    sl_batch_builder b;
    int used_again = 0;
    OK(sl_batch_builder_init(&b, schema));
    sl_batch_builder_reuse(&b);
    for (int i = 0; i < BATCHES; i++) {
        for (int row = 0; row < ROWS + i % 7; row++) {
            OK(sl_builder_integer(b.columns[0], i));
            OK(sl_builder_bytes(b.columns[1], &i, 1));
        }
        OK(sl_batch_builder_finish(&b, &batches[i]));
        used_again += batches[i]->columns[0]->values == dropped;
        dropped = NULL;
        if (i % 3) {
            dropped = batches[i]->columns[0]->values;
            sl_batch_unref(batches[i]);
            batches[i] = NULL;
        }
    }
    sl_batch_builder_free(&b);
    assert_true(used_again > BATCHES / 2);
    for (int i = 0; i < BATCHES; i++) {
        size_t len;
        for (int64_t row = 0; batches[i] && row < batches[i]->rows; row++) {
            assert_int_equal(sl_i64_at(batches[i]->columns[0], row), i);
            assert_int_equal(*sl_bytes_at(batches[i]->columns[1], row, &len), i);
        }
        sl_batch_unref(batches[i]);
    }
    sl_type_unref(schema);
}

/* ---- order --------------------------------------------------------------------------------------------- */

static void check_ascending(const sl_array *a)
{
    for (int64_t i = 0; i < a->length; i++)
        for (int64_t j = 0; j < a->length; j++) {
            int order = sl_compare(a, i, a, j);
            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
        }
}

static sl_array *finished(sl_builder *b)
{
    sl_array *array = NULL;
    OK(sl_builder_finish(b, &array));
    sl_builder_free(b);
    return array;
}

static void test_order(void **state)
{
    (void)state;
    static const double doubles[] = {-INFINITY, -1e300, -1.5, -0.0, 0.0, 5e-324, 2.5, INFINITY, NAN};
    static const char *strings[] = {"",  "a",        "a\x01",        "ab",
                                    "b", "\xc3\xa9", "\xef\xbf\xbd", "\xf0\x9f\x98\x80"};
    sl_builder *b = builder_of("double"), *f = builder_of("float");
    OK(sl_builder_null(b));
    for (size_t i = 0; i < sizeof doubles / sizeof doubles[0]; i++)
        OK(sl_builder_double(b, doubles[i]));
    for (size_t i = 2; i < sizeof doubles / sizeof doubles[0]; i++)
        if (i != 5) /* too small for a float */
            OK(sl_builder_double(f, doubles[i]));
    sl_array *array = finished(b), *floats = finished(f);
    check_ascending(array);
    check_ascending(floats);
    sl_array_unref(floats);
    sl_array_unref(array);
    b = builder_of("string");
    OK(sl_builder_null(b));
    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++)
        OK(sl_builder_bytes(b, strings[i], strlen(strings[i])));
    check_ascending(array = finished(b));
    sl_array_unref(array);
    b = builder_of("boolean");
    OK(sl_builder_null(b));
    OK(sl_builder_bool(b, false));
    OK(sl_builder_bool(b, true));
    check_ascending(array = finished(b));
    sl_array_unref(array);
    b = builder_of("decimal(38,0)");
    for (int i = -38; i <= 37; i++)
        OK(sl_builder_decimal(b, i < 0 ? -column_pow10(-i - 1) : column_pow10(i)));
    sl_array_unref(array = finished(b));
    b = builder_of("decimal(38,0)");
    OK(sl_builder_decimal(b, -column_pow10(38) + 1));
    OK(sl_builder_decimal(b, -1));
    OK(sl_builder_decimal(b, 0));
    OK(sl_builder_decimal(b, column_pow10(37)));
    check_ascending(array = finished(b));
    sl_array_unref(array);
}

/* uint64 and float16 have values that no per-value append makes. */
static sl_array *array_of_bytes(const char *type_text, const void *data, size_t size)
{
    const sl_type *type = type_of(type_text);
    sl_buffer *values = NULL;
    sl_array *array = NULL;
    OK(sl_buffer_new(size, &values));
    memcpy(sl_buffer_data(values), data, size);
    OK(sl_array_new(type, (int64_t)(size / sl_type_value_bytes(type)), 0, NULL, values, NULL, NULL, 0, NULL,
                    &array));
    sl_type_unref(type);
    return array;
}

static void test_order_of_bits(void **state)
{
    (void)state;
    static const uint64_t numbers[] = {0, 1, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};
    static const uint16_t halves[] = {0xfc00, 0xfbff, 0xbc00, 0x8001, 0x8000, 0x0000,
                                      0x0001, 0x3c00, 0x7bff, 0x7c00, 0x7e00};
    sl_array *array = array_of_bytes("uint64", numbers, sizeof numbers);
    check_ascending(array);
    sl_array_unref(array);
    check_ascending(array = array_of_bytes("half", halves, sizeof halves));
    sl_array_unref(array);
    static const uint16_t nans[] = {0x7e00, 0xfe01};
    array = array_of_bytes("half", nans, sizeof nans);
    assert_int_equal(sl_compare(array, 0, array, 1), 0);
    sl_array_unref(array);
}

/* ---- when memory runs out ------------------------------------------------------------------------------ */

static sl_status build_some(const sl_type *schema, sl_batch **out)
{
    sl_batch_builder b = {0};
    sl_status status = SL_OK;
    SL_GO(sl_batch_builder_init(&b, schema));
    for (int i = 0; i < 40; i++) {
        SL_GO(i % 7 ? sl_builder_integer(b.columns[0], i) : sl_builder_null(b.columns[0]));
        SL_GO(sl_builder_bytes(b.columns[1], "some text that is long enough", (size_t)i % 29));
        sl_builder *entries = sl_builder_child(b.columns[2], 0), *s = sl_builder_child(entries, 1);
        SL_GO(sl_builder_bytes(sl_builder_child(entries, 0), "key", 3));
        SL_GO(sl_builder_bool(sl_builder_child(s, 0), true));
        SL_GO(sl_builder_close(s));
        SL_GO(sl_builder_close(entries));
        SL_GO(sl_builder_close(b.columns[2]));
    }
    SL_GO(sl_batch_builder_finish(&b, out));
    SL_GO(sl_batch_builder_append_range(&b, *out, 3, 20));
    sl_batch_unref(*out);
    *out = NULL;
    SL_GO(sl_batch_builder_finish(&b, out));
done:
    sl_batch_builder_free(&b);
    return status;
}

static sl_status everything(void)
{
    const sl_type *schema = NULL, *pair = NULL;
    sl_batch *batch = NULL, *filtered = NULL, *projected = NULL;
    sl_array *nulls = NULL, *constant = NULL, *decoded = NULL, *encoded = NULL, *nested = NULL;
    sl_buffer *indexes = NULL;
    char *text = NULL;
    sl_status status = SL_OK;
    SL_GO(sl_schema_parse("id int, `na``me` string, m map<string, struct<b: boolean>>", &schema));
    SL_GO(sl_type_text(schema, &text));
    SL_GO(build_some(schema, &batch));
    SL_GO(sl_batch_filter(batch, (const uint8_t[]){0x5a, 0x0f, 0xf0}, &filtered));
    SL_GO(sl_batch_project(filtered, (const char *[]){"m", "id"}, 2, &projected));
    SL_GO(sl_array_nulls(schema, 10, &nulls));
    SL_GO(sl_array_constant_string("x", 1, 2, &constant));
    SL_GO(sl_buffer_new(8, &indexes));
    memset(sl_buffer_data(indexes), 0, 8);
    SL_GO(sl_array_new(constant->type, 2, 0, NULL, sl_buffer_ref(indexes), NULL, NULL, 0,
                       sl_array_ref(constant), &encoded));
    SL_GO(sl_type_struct(
        (const sl_field[]){{.name = "a", .type = constant->type}, {.name = "b", .type = constant->type}}, 2,
        &pair));
    SL_GO(sl_array_new(pair, 2, 0, NULL, NULL, NULL,
                       (sl_array *[]){sl_array_ref(encoded), sl_array_ref(encoded)}, 2, NULL, &nested));
    SL_GO(sl_array_decode_dictionary(nested, &decoded));
done:
    sl_buffer_unref(indexes);
    sl_array_unref(nulls);
    sl_array_unref(constant);
    sl_array_unref(encoded);
    sl_array_unref(nested);
    sl_type_unref(pair);
    sl_array_unref(decoded);
    sl_batch_unref(projected);
    sl_batch_unref(filtered);
    sl_batch_unref(batch);
    sl_type_unref(schema);
    sl_free(text);
    return status;
}

static void test_no_memory(void **state)
{
    (void)state;
    uint64_t failures = 0;
    for (uint64_t n = 1;; n++) {
        sl_test_fail_allocation(n, n & 1);
        sl_status status = everything();
        sl_test_fail_allocation(0, false);
        if (status == SL_OK)
            break;
        assert_int_equal(sl_status_code(status), SL_E_MEMORY);
        sl_status_free(status);
        failures++;
    }
    assert_true(failures > 100);
}

/* Foreign memory is given back once, when the last array is gone. */
static void count_release(void *context) { ++*(int *)context; }

static void test_foreign_buffer(void **state)
{
    (void)state;
    int32_t values[] = {1, 2, 3};
    int released = 0;
    sl_buffer *buffer = NULL;
    sl_array *array = NULL;
    const sl_type *type = type_of("int");
    OK(sl_buffer_of(values, sizeof values, count_release, &released, &buffer));
    OK(sl_array_new(type, 3, 0, NULL, buffer, NULL, NULL, 0, NULL, &array));
    sl_array *second = sl_array_ref(array);
    assert_int_equal(sl_i32_at(second, 2), 3);
    sl_array_unref(array);
    assert_int_equal(released, 0);
    sl_array_unref(second);
    assert_int_equal(released, 1);
    sl_type_unref(type);
}

/* ---- taking rows back ---------------------------------------------------------------------------------- */

static char *text_of_rows(sl_batch_builder *b)
{
    sl_batch *batch;
    sl_buf text = {0};
    char *out;
    OK(sl_batch_builder_finish(b, &batch));
    for (int64_t i = 0; i < batch->rows; i++) {
        OK(sl_row_text(batch, i, SL_TEXT_JSON, &text));
        OK(sl_buf_byte(&text, '\n'));
    }
    sl_batch_unref(batch);
    OK(sl_buf_take_string(&text, &out));
    return out;
}

/* Rows that fail in the middle, and rows that are not wanted any more, leave nothing behind. */
static void test_truncated_builders(void **state)
{
    (void)state;
    static const char *const good[] = {"{}",
                                       ("{\"a\":1,\"s\":\"x\",\"z\":true,\"l\":[{\"x\":\"é\",\"y\":[1,null]},"
                                        "null],\"m\":{\"k\":1},\"n\":{\"p\":false}}"),
                                       "{\"s\":\"\",\"l\":[],\"m\":{},\"n\":{\"q\":\"long enough\"}}",
                                       "{\"z\":false,\"n\":null,\"d\":\"1.5\"}"};
    static const char *const bad[] = {"{\"a\":1,\"s\":\"x\",\"z\":true,\"d\":\"x\"}",
                                      "{\"s\":null,\"l\":[{\"x\":\"é\",\"y\":[1,null,\"x\"]}]}",
                                      "{\"m\":{\"k\":1,\"o\":2,\"p\":{}}}", "{\"n\":{\"p\":true,\"q\":1}}",
                                      "{\"z\":true"};
    const sl_type *schema = schema_of("a int, s string, z boolean, l list<struct<x: string, y: list<int>>>, "
                                      "m map<string,long>, n struct<p: boolean, q: string>, d decimal(4,2)");
    random_start();
    for (int round = 0; round < 300; round++) {
        sl_batch_builder have, want;
        const char *rows[40];
        int64_t count = 0;
        OK(sl_batch_builder_init(&have, schema));
        OK(sl_batch_builder_init(&want, schema));
        while (count < 40 && random_next() % 50) {
            if (random_next() % 3) {
                rows[count] = good[random_next() % 4];
                OK(sl_batch_builder_json_line(&have, rows[count], strlen(rows[count])));
                count++;
                continue;
            }
            const char *line = bad[random_next() % 5];
            sl_status status = sl_batch_builder_json_line(&have, line, strlen(line));
            assert_int_equal(sl_status_code(status), SL_E_INPUT);
            sl_status_free(status);
            if (random_next() % 2)
                count -= (int64_t)(random_next() % (uint64_t)(count + 1));
            sl_batch_builder_truncate(&have, count);
            assert_int_equal(sl_batch_builder_rows(&have), count);
        }
        for (int64_t i = 0; i < count; i++)
            OK(sl_batch_builder_json_line(&want, rows[i], strlen(rows[i])));
        char *a = text_of_rows(&have), *b = text_of_rows(&want);
        assert_string_equal(a, b);
        sl_free(a);
        sl_free(b);
        sl_batch_builder_free(&have);
        sl_batch_builder_free(&want);
    }
    sl_type_unref(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits),
        cmocka_unit_test(test_truncated_builders),
        cmocka_unit_test(test_schema_words),
        cmocka_unit_test(test_schema_errors),
        cmocka_unit_test(test_schema_round_trip),
        cmocka_unit_test(test_schema_damaged),
        cmocka_unit_test(test_type_constructors),
        cmocka_unit_test(test_too_many_elements),
        cmocka_unit_test(test_nested_dictionary_is_refused),
        cmocka_unit_test(test_type_equality),
        cmocka_unit_test(test_decimal_bytes),
        cmocka_unit_test(test_builder_ranges),
        cmocka_unit_test(test_mismatched_source),
        cmocka_unit_test(test_too_much_text),
        cmocka_unit_test(test_nulls_and_constants),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_batches_from_used_memory),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_order_of_bits),
        cmocka_unit_test(test_random_arrays),
        cmocka_unit_test(test_foreign_buffer),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
