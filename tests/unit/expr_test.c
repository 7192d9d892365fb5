/*
 * Expressions: a table of texts with the rows they select, errors with their positions, and random expressions over
 * random batches against a naive evaluator of one row at a time, with the soundness of pruning. SEED=n repeats a run.
 */
#include "check_support.h"
#include "query/query.h"
#include <math.h>
#include <stdio.h>
#include <time.h>

/* ---- the table of examples ----------------------------------------------------------------------------- */

static const char example_schema[] = "id int, l long, f float, d double, p decimal(9,2), w decimal(38,10), s "
                                     "string, x binary, day date, at timestamp, "
                                     "flag boolean, st struct<a: int, t: struct<v: string>>, `odd name` int, "
                                     "`a.b` int, tags list<string>, date int";
static const char *const example_rows[] = {
    "{\"id\":0,\"l\":10,\"f\":0.1,\"d\":1.5,\"p\":\"1.10\",\"w\":\"0.0000000001\",\"s\":\"apple\",\"x\":"
    "\"AP8=\",\"day\":\"2024-01-31\","
    "\"at\":\"2024-01-31T12:00:00Z\",\"flag\":true,\"st\":{\"a\":1,\"t\":{\"v\":\"p\"}},\"odd "
    "name\":1,\"a.b\":7,\"tags\":[],\"date\":3}",
    "{\"id\":1,\"l\":11,\"f\":-0.0,\"d\":\"NaN\",\"p\":\"-1.10\",\"w\":\"1\",\"s\":\"apricot\",\"x\":\"AA=="
    "\",\"day\":\"2024-02-01\","
    "\"at\":\"2024-01-31T12:00:00.000001Z\",\"flag\":false,\"st\":{\"a\":2,\"t\":null},\"odd "
    "name\":2,\"a.b\":8,\"tags\":[\"q\"],\"date\":4}",
    "{\"id\":2,\"l\":9223372036854775807,\"f\":3,\"d\":-1,\"p\":\"100\",\"w\":\"9999999999999999999999999999."
    "9999999999\",\"s\":\"b_%'\\u00e9\",\"x\":\"\","
    "\"day\":\"1969-12-31\",\"at\":\"1969-12-31T23:59:59.999999Z\",\"flag\":null,\"st\":{\"a\":null,\"t\":{"
    "\"v\":null}},\"odd name\":null}",
    "{\"id\":3,\"l\":-5,\"f\":null,\"d\":null,\"p\":null,\"w\":null,\"s\":null,\"x\":null,\"day\":null,"
    "\"at\":null,\"flag\":true,\"st\":null}",
    "{\"id\":4,\"l\":0,\"f\":\"Infinity\",\"d\":0,\"p\":\"0\",\"w\":\"-1.5\",\"s\":\"\",\"x\":\"Zm9v\","
    "\"day\":\"9999-12-31\",\"at\":\"9999-12-31T00:00:00Z\",\"flag\":false,"
    "\"st\":{\"a\":-7,\"t\":{\"v\":\"apple\"}}}",
};

static const struct {
    const char *text, *rows;
} examples[] = {
    /* integers, with literals that are none */
    {"id = 2", "2"},
    {"id == 2", "2"},
    {"2 = id", "2"},
    {"id != 2", "0134"},
    {"id <> 2", "0134"},
    {"id < 2", "01"},
    {"2 > id", "01"},
    {"id <= 2", "012"},
    {"id >= 2", "234"},
    {"id > 2", "34"},
    {"l = 10.5", ""},
    {"l != 10.5", "01234"},
    {"l < 10.5", "034"},
    {"l <= 10.5", "034"},
    {"l > 10.5", "12"},
    {"l >= 10.5", "12"},
    {"l > -5.5", "01234"},
    {"l >= -4.5", "0124"},
    {"l < -4.5", "3"},
    {"l = 1e1", "0"},
    {"l = 100e-1", "0"},
    {"l = +10", "0"},
    {"l = 10.000", "0"},
    {"l < 1e30", "01234"},
    {"l > 1e30", ""},
    {"l > -1e300", "01234"},
    {"l = 9223372036854775807", "2"},
    {"l >= 9223372036854775808", ""},
    {"l < 9223372036854775808", "01234"},
    {"l <= 9223372036854775806.9", "0134"},
    {"id < .5", "0"},
    {"id = '3'", "3"},
    /* floating */
    {"f = 0.1", "0"},
    {"f = 0", "1"},
    {"f = -0.0", "1"},
    {"f > 1e30", "4"},
    {"f = 'Infinity'", "4"},
    {"d = 'NaN'", "1"},
    {"d > 1", "01"},
    {"d < 1", "24"},
    {"d is null", "3"},
    /* decimals */
    {"p = 1.1", "0"},
    {"p = 1.100", "0"},
    {"p = 1.101", ""},
    {"p < 1.101", "014"},
    {"p > 1.099", "02"},
    {"p > -1.101 and p < 0", "1"},
    {"p >= -1.1", "0124"},
    {"p = '1.10'", "0"},
    {"w = 0.0000000001", "0"},
    {"w < 0.00000000009", "4"},
    {"w > 0.00000000009", "012"},
    {"w = 9999999999999999999999999999.9999999999", "2"},
    {"w < 1e39", "0124"},
    {"w <= -1.5", "4"},
    /* strings */
    {"s = 'apple'", "0"},
    {"s = 'b_%''\xc3\xa9'", "2"},
    {"s < 'b'", "014"},
    {"s >= 'apricot'", "12"},
    {"s = ''", "4"},
    {"s like 'ap%'", "01"},
    {"s not like 'ap%'", "24"},
    {"s like '%p%e'", "0"},
    {"s like 'a_ple'", "0"},
    {"s like '____'", ""},
    {"s like '_____'", "02"},
    {"s like '%'", "0124"},
    {"s like ''", "4"},
    {"s like 'apple'", "0"},
    {"s like '%!%%' escape '!'", "2"},
    {"s like 'b!_!%%' escape '!'", "2"},
    {"s like null", ""},
    {"s in ('apple', '', 'none')", "04"},
    {"x = x'00ff'", "0"},
    {"x = X'666F6F'", "4"},
    {"x = 'foo'", "4"},
    {"x < x'01'", "012"},
    /* dates and times */
    {"day = date '2024-01-31'", "0"},
    {"day = '2024-01-31'", "0"},
    {"day > date '2024-01-31'", "14"},
    {"day < timestamp '2024-01-31 12:00:00'", "02"},
    {"day >= timestamp '2024-01-31 12:00:00'", "14"},
    {"day = timestamp '2024-01-31 00:00:00'", "0"},
    {"day < '1970-01-01'", "2"},
    {"day < timestamp '1969-12-31 00:00:00.000001'", "2"},
    {"day < timestamp '1969-12-31 00:00:00'", ""},
    {"at = timestamp '2024-01-31 12:00:00'", "0"},
    {"at = '2024-01-31T13:00:00+01:00'", "0"},
    {"at > timestamp '2024-01-31 12:00:00.0000005'", "14"},
    {"at < timestamp '2024-01-31 12:00:00.0000005'", "02"},
    {"at = timestamp '2024-01-31 12:00:00.0000005'", ""},
    {"at >= date '2024-01-31'", "014"},
    {"at < date '1970-01-01'", "2"},
    {"DATE = 3", ""}, /* replaced below: names keep their case */
    {"date = 3", "0"},
    {"date in (3, 4)", "01"},
    /* booleans and constants */
    {"flag", "03"},
    {"not flag", "14"},
    {"flag = false", "14"},
    {"flag is null", "2"},
    {"true", "01234"},
    {"false or null", ""},
    {"not null", ""},
    {"1 = 1", "01234"},
    {"1 = 1.0 and 2 < 10 and -1 > -1.5 and 0 = -0", "01234"},
    {"1e400 > 1e399 and 12 > 1.3", "01234"},
    {"'a' < 'b' and 'a' != 'A'", "01234"},
    {"null = null", ""},
    {"id = null", ""},
    {"not (id = null)", ""},
    /* three-valued logic */
    {"p > 0 or s is null", "023"},
    {"not (p > 0)", "14"},
    {"not (p > 0 and id < 10)", "14"},
    {"not (p > 0 or id = 3)", "14"},
    {"p > 0 or p <= 0", "0124"},
    {"p > 0 and null", ""},
    {"id = 0 or null", "0"},
    {"id in (1, 3, 10.5)", "13"},
    {"id not in (1, 3)", "024"},
    {"id in (1, null)", "1"},
    {"id not in (1, null)", ""},
    {"p in (1.1, -1.100, 7.123)", "01"},
    {"d in (1.5, 'NaN')", "01"},
    {"flag in (true)", "03"},
    {"id between 1 and 3", "123"},
    {"id not between 1 and 3", "04"},
    {"id between 3 and 1", ""},
    {"p between -1.1 and 1.1 and id < 4", "01"},
    {"3 between id and l", "012"},
    {"p not between null and 0", "02"},
    /* columns with columns */
    {"id < l", "012"},
    {"id = date", ""},
    {"p > id", "02"},
    {"p < d", "01"},
    {"w >= p", "12"},
    {"f < l", "012"},
    {"s = st.t.v", ""},
    {"s < st.t.v", "04"},
    {"day <= at", "024"},
    {"day < at", "02"},
    {"id != `odd name`", "01"},
    /* nested and odd names */
    {"st.a = 1", "0"},
    {"st.a is null", "23"},
    {"st is null", "3"},
    {"st.t is null", "13"},
    {"st.t.v is not null", "04"},
    {"st.t.v = 'apple'", "4"},
    {"`st`.`t`.`v` = 'p'", "0"},
    {"`odd name` = 2", "1"},
    {"`a.b` >= 7", "01"},
    {"tags is null", "234"},
    {"tags is not null", "01"},
    /* grammar */
    {"id=0 OR id=1 AND l=0", "0"},
    {"(id=0 or id=1) and l=11", "1"},
    {"NOT id = 0 AND NOT id = 1", "234"},
    {"not not id = 0", "0"},
    {"((((id = 4))))", "4"},
    {"\tid\n=\r4 ", "4"},
};

static sl_batch *batch_of_json(const sl_type *schema, const char *const *lines, size_t count)
{
    sl_batch_builder b;
    sl_batch *batch;
    OK(sl_batch_builder_init(&b, schema));
    for (size_t i = 0; i < count; i++)
        OK(sl_batch_builder_json_line(&b, lines[i], strlen(lines[i])));
    OK(sl_batch_builder_finish(&b, &batch));
    sl_batch_builder_free(&b);
    return batch;
}

static void rows_text(const uint8_t *selection, int64_t rows, char *out)
{
    for (int64_t i = 0; i < rows; i++)
        if (bit_get(selection, i))
            *out++ = (char)('0' + i);
    *out = 0;
}

static void test_examples(void **state)
{
    (void)state;
    const sl_type *schema;
    OK(sl_schema_parse(example_schema, &schema));
    size_t count = sizeof example_rows / sizeof *example_rows;
    sl_batch *batch = batch_of_json(schema, example_rows, count);
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        sl_expr *e;
        uint8_t selection[1] = {0xff};
        int64_t selected;
        char rows[16];
        sl_status status = sl_expr_parse(examples[i].text, schema, &e);
        if (strncmp(examples[i].text, "DATE", 4) == 0) { /* names are exact */
            assert_int_equal(sl_status_code(status), SL_E_INPUT);
            sl_status_free(status);
            continue;
        }
        if (status)
            fail_msg("%s: %s", examples[i].text, sl_status_message(status));
        OK(sl_expr_select(e, batch, selection, &selected));
        rows_text(selection, batch->rows, rows);
        if (strcmp(rows, examples[i].rows) != 0 || (size_t)selected != strlen(rows) || selection[0] >> count)
            fail_msg("%s: rows '%s', want '%s'", examples[i].text, rows, examples[i].rows);
        sl_expr_free(e);
    }
    sl_batch_unref(batch);
    sl_type_unref(schema);
}

/* ---- errors -------------------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    int position;
    const char *says;
} mistakes[] = {
    {"", 1, "the text ends"},
    {"id =", 5, "the text ends"},
    {"id = 1 or", 10, "the text ends"},
    {"(id = 1", 8, "')' is expected"},
    {"id = 1)", 7, "and, or, or the end"},
    {"id = 1 l = 2", 8, "and, or, or the end"},
    {"idd = 1", 1, "no column idd"},
    {"id = 1 and st.b = 1", 12, "no column b"},
    {"id.a = 1", 1, "id is no struct"},
    {"tags.element = 'a'", 1, "tags is no struct"},
    {"st = 1", 1, "has no order"},
    {"tags in ('a')", 1, "has no order"},
    {"id = st", 6, "has no order"},
    {"id", 1, "a comparison is expected"},
    {"1", 1, "a comparison is expected"},
    {"id = 'x'", 6, "is not a number"},
    {"id = '1.'' '", 6, "is not a number"},
    {"id = true", 6, "cannot be compared"},
    {"s = 1", 5, "'text' in quotes"},
    {"s = date '2024-01-01'", 5, "'text' in quotes"},
    {"s = x'00'", 5, "'text' in quotes"},
    {"flag = 1", 8, "true or false"},
    {"flag = 'maybe'", 8, "is not a boolean"},
    {"day = 5", 7, "date '2024-01-31'"},
    {"day = '20240131'", 7, "is not a date or time"},
    {"day = date '2024-02-30'", 7, "is not a date"},
    {"at = 'yesterday-ish'", 6, "is not a timestamp"},
    {"at = 1700000000", 6, "timestamp '2024"},
    {"f = 1e60", 5, "out of the range"},
    {"d = 'abc'", 5, "is not a number"},
    {"id like '1%'", 1, "like needs a string column"},
    {"s like 1", 8, "pattern in quotes"},
    {"s like 'a!' escape '!'", 8, "must be followed by"},
    {"s like 'a!b' escape '!'", 8, "must be followed by"},
    {"s like 'a' escape '!!'", 19, "one character"},
    {"s like 'a' escape ''", 19, "one character"},
    {"id in ()", 8, "a literal is expected"},
    {"id in (1,)", 10, "a literal is expected"},
    {"id in (l)", 8, "a literal is expected"},
    {"1 in (1)", 1, "needs a column"},
    {"id not 1", 8, "in, between or like"},
    {"id between 1 or 2", 14, "and is expected"},
    {"id is 1", 7, "null is expected"},
    {"s = 'abc", 5, "has no end"},
    {"`id = 1", 1, "has no end"},
    {"id = 1e", 6, "no digits in its exponent"},
    {"id = 12abc", 6, "followed directly by a letter"},
    {"id = --1", 7, "one sign"},
    {"id = - l", 8, "a number is expected"},
    {"id = \"1\"", 6, "double quotes"},
    {"id = 1 ; x", 8, "';' is not expected"},
    {"id ! 1", 4, "'!' is not expected"},
    {"x = x'0'", 5, "even number"},
    {"x = x'0g'", 5, "hexadecimal"},
    {"and = 1", 1, "a column or a literal"},
    {"id = null or or", 14, "a column or a literal"},
    {"id < s", 4, "cannot be compared"},
    {"flag = id", 6, "cannot be compared"},
    {"1 = 'a'", 3, "must be a column"},
    {"id = 1 and s = '\xff'", 17, "not valid UTF-8"},
};

static void test_mistakes(void **state)
{
    (void)state;
    const sl_type *schema;
    OK(sl_schema_parse(example_schema, &schema));
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        sl_expr *e;
        char position[32];
        sl_status status = sl_expr_parse(mistakes[i].text, schema, &e);
        const char *message = sl_status_message(status);
        snprintf(position, sizeof position, "position %d: ", mistakes[i].position);
        if (sl_status_code(status) != SL_E_INPUT || !strstr(message, position) ||
            !strstr(message, mistakes[i].says))
            fail_msg("%s: got '%s', want %s%s", mistakes[i].text, message, position, mistakes[i].says);
        sl_status_free(status);
    }
    sl_type_unref(schema);
}

static void test_size(void **state)
{
    (void)state;
    const sl_type *schema;
    sl_expr *e;
    sl_buf text = {0};
    int64_t selected;
    uint8_t selection[1];
    OK(sl_schema_parse(example_schema, &schema));
    sl_batch *batch = batch_of_json(schema, example_rows, sizeof example_rows / sizeof *example_rows);
    for (int i = 0; i < 100000; i++)
        OK(sl_buf_printf(&text, "%sid = %d", i ? " or " : "", i * 2));
    OK(sl_buf_byte(&text, 0));
    OK(sl_expr_parse((const char *)text.data, schema, &e));
    OK(sl_expr_select(e, batch, selection, &selected));
    assert_int_equal(selected, 3);
    sl_strings columns = {0};
    OK(sl_expr_columns(e, &columns));
    assert_int_equal(columns.count, 1);
    sl_strings_free(&columns);
    sl_expr_free(e);
    text.len = 0;
    for (int i = 0; i < 100000; i++)
        OK(sl_buf_byte(&text, '('));
    OK(sl_buf_byte(&text, 0));
    sl_status status = sl_expr_parse((const char *)text.data, schema, &e);
    assert_non_null(strstr(sl_status_message(status), "levels of parentheses"));
    sl_status_free(status);
    sl_buf_free(&text);
    sl_batch_unref(batch);
    sl_type_unref(schema);
}

static void test_columns(void **state)
{
    (void)state;
    const sl_type *schema;
    sl_expr *e;
    sl_strings columns = {0};
    OK(sl_schema_parse(example_schema, &schema));
    OK(sl_expr_parse("st.a = 1 and `odd name` > l or st.t.v is null or l in (1) or d = 1", schema, &e));
    OK(sl_expr_columns(e, &columns));
    static const char *const want[] = {"st", "odd name", "l", "d"};
    assert_int_equal(columns.count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(columns.items[i], want[i]);
    sl_strings_free(&columns);
    sl_expr_free(e);
    sl_type_unref(schema);
}

/* The batch may hold other columns in another order; a missing or changed one is an error. */
static void test_other_batches(void **state)
{
    (void)state;
    const sl_type *schema, *moved, *changed, *missing;
    const char *const line = "{\"id\":1,\"s\":\"a\"}";
    uint8_t selection[1];
    int64_t selected;
    sl_expr *e;
    OK(sl_schema_parse("s string, id int", &schema));
    OK(sl_schema_parse("id int, z long, s string", &moved));
    OK(sl_schema_parse("id long, s string", &changed));
    OK(sl_schema_parse("id int", &missing));
    OK(sl_expr_parse("id = 1 and s = 'a'", schema, &e));
    sl_batch *batch = batch_of_json(moved, &line, 1);
    OK(sl_expr_select(e, batch, selection, &selected));
    assert_int_equal(selected, 1);
    sl_batch_unref(batch);
    batch = batch_of_json(changed, &line, 1);
    sl_status status = sl_expr_select(e, batch, selection, &selected);
    assert_int_equal(sl_status_code(status), SL_E_INPUT);
    sl_status_free(status);
    sl_batch_unref(batch);
    batch = batch_of_json(missing, (const char *const[]){"{\"id\":1}"}, 1);
    status = sl_expr_select(e, batch, selection, &selected);
    assert_non_null(strstr(sl_status_message(status), "column s"));
    sl_status_free(status);
    sl_batch_unref(batch);
    sl_expr_free(e);
    sl_type_unref(schema);
    sl_type_unref(moved);
    sl_type_unref(changed);
    sl_type_unref(missing);
}

/* ---- random: the model --------------------------------------------------------------------------------- */

static uint64_t random_state;

static uint32_t pick(uint32_t below)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 33) % below;
}

enum value_kind { VALUE_NULL, VALUE_EXACT, VALUE_DOUBLE, VALUE_TEXT };
struct value {
    enum value_kind kind;
    int64_t exact; /* numbers: millionths; dates and timestamps: microseconds; booleans: 0 or 1 */
    double number;
    char text[24];
};

enum column_kind {
    C_INT,
    C_LONG,
    C_SHORT,
    C_UINT64,
    C_FLOAT,
    C_DOUBLE,
    C_DECIMAL,
    C_TEXT,
    C_DATE,
    C_TIMESTAMP,
    C_BOOL,
    C_NESTED,
    C_INT2,
    C_TEXT2,
    C_COUNT
};
static const char *const column_names[C_COUNT] = {"i", "l",   "h",  "u",    "f",    "d",  "p",
                                                  "s", "day", "at", "flag", "st.a", "i2", "s2"};
#define TOP_LEVEL  14
#define ROWS_MAX   150
#define DAY_MICROS (INT64_C(86400) * 1000000)

static struct value table[ROWS_MAX][C_COUNT];
static int64_t table_rows;

static const char *const words[] = {"",  "a",  "ab", "abc", "abd", "b", "ba", "\xc3\xa9", "a\xc3\xa9\142",
                                    "%", "a_", "zz"};
#define WORDS (sizeof words / sizeof *words)

static bool is_text_column(int c) { return c == C_TEXT || c == C_TEXT2; }

static struct value random_value(int column, int64_t base)
{
    struct value v = {.kind = VALUE_EXACT};
    int64_t n = base + (int64_t)pick(5) - 2;
    if (pick(6) == 0)
        return (struct value){.kind = VALUE_NULL};
    switch (column) {
    case C_UINT64:
        n = n < 0 ? -n : n;
        v.exact = n * 1000000;
        return v;
    case C_FLOAT:
    case C_DOUBLE:
        v.kind = VALUE_DOUBLE;
        v.number = pick(12) == 0 ? (double)NAN : pick(12) == 0 ? -0.0 : (double)n / 4;
        return v;
    case C_DECIMAL:
        v.exact = n * 250000;
        return v;
    case C_TEXT:
    case C_TEXT2:
        v.kind = VALUE_TEXT;
        snprintf(v.text, sizeof v.text, "%s", words[(size_t)(base + 40 + (int64_t)pick(3)) % WORDS]);
        return v;
    case C_DATE:
        v.exact = n * DAY_MICROS;
        return v;
    case C_TIMESTAMP:
        v.exact = n * DAY_MICROS / 2 + (int64_t)pick(2) * 1000;
        return v;
    case C_BOOL:
        v.exact = pick(2);
        return v;
    default:
        v.exact = n * 1000000;
        return v;
    }
}

static void append_value(sl_builder *b, int column, const struct value *v)
{
    if (v->kind == VALUE_NULL) {
        OK(sl_builder_null(b));
        return;
    }
    switch (column) {
    case C_FLOAT:
    case C_DOUBLE:
        OK(sl_builder_double(b, v->number));
        break;
    case C_DECIMAL:
        OK(sl_builder_decimal(b, v->exact / 10000));
        break;
    case C_TEXT:
    case C_TEXT2:
        OK(sl_builder_bytes(b, v->text, strlen(v->text)));
        break;
    case C_DATE:
        OK(sl_builder_integer(b, v->exact / DAY_MICROS));
        break;
    case C_TIMESTAMP:
        OK(sl_builder_integer(b, v->exact / 1000));
        break;
    case C_BOOL:
        OK(sl_builder_bool(b, v->exact != 0));
        break;
    default:
        OK(sl_builder_integer(b, v->exact / 1000000));
    }
}

static const sl_type *random_schema(void)
{
    const sl_type *base, *u64, *millis, *out;
    OK(sl_schema_parse("i int, l long, h int, u long, f float, d double, p decimal(9,2), s string, day date, "
                       "at timestamp, flag boolean, st struct<a: int>, i2 int, s2 string",
                       &base));
    OK(sl_type_new(SL_UINT64, &u64));
    OK(sl_type_timestamp(SL_MILLIS, true, &millis));
    const sl_type *i16;
    OK(sl_type_new(SL_INT16, &i16));
    sl_field fields[TOP_LEVEL];
    memcpy(fields, base->fields, sizeof fields);
    fields[C_SHORT].type = i16;
    fields[C_UINT64].type = u64;
    fields[C_TIMESTAMP].type = millis;
    OK(sl_type_struct(fields, TOP_LEVEL, &out));
    sl_type_unref(base);
    sl_type_unref(u64);
    sl_type_unref(millis);
    sl_type_unref(i16);
    return out;
}

/* The same strings as indexes into a dictionary of all words; null rows hold a wild index. */
static sl_array *with_dictionary(sl_array *plain)
{
    sl_builder *b;
    sl_array *dictionary, *out;
    sl_buffer *indexes, *validity;
    OK(sl_builder_new(plain->type, &b));
    for (size_t i = 0; i < WORDS; i++)
        OK(sl_builder_bytes(b, words[i], strlen(words[i])));
    OK(sl_builder_finish(b, &dictionary));
    sl_builder_free(b);
    OK(sl_buffer_new((size_t)plain->length * 4 + 4, &indexes));
    OK(sl_buffer_new(bitmap_bytes(plain->length) + 8, &validity));
    memset(sl_buffer_data(validity), 0, sl_buffer_size(validity));
    for (int64_t i = 0; i < plain->length; i++) {
        uint32_t index = 1000000;
        if (sl_is_valid(plain, i)) {
            size_t len;
            const uint8_t *text = sl_bytes_at(plain, i, &len);
            for (index = 0; strlen(words[index]) != len || memcmp(words[index], text, len) != 0;)
                index++;
            bit_set(sl_buffer_data(validity), i);
        }
        store_le32(sl_buffer_data(indexes) + i * 4, index);
    }
    OK(sl_array_new(plain->type, plain->length, plain->null_count, validity, indexes, NULL, NULL, 0,
                    dictionary, &out));
    sl_array_unref(plain);
    return out;
}

static sl_batch *random_batch(const sl_type *schema)
{
    sl_array *columns[TOP_LEVEL];
    sl_batch *batch;
    table_rows = (int64_t)pick(pick(4) == 0 ? ROWS_MAX : 6) + (pick(10) != 0);
    for (int c = 0; c < C_COUNT; c++) {
        int64_t base = (int64_t)pick(9) - 4;
        sl_builder *b;
        OK(sl_builder_new(schema->fields[c].type, &b));
        for (int64_t r = 0; r < table_rows; r++) {
            struct value *v = &table[r][c];
            *v = random_value(c, base);
            if (c != C_NESTED) {
                append_value(b, c, v);
            } else if (v->kind == VALUE_NULL && pick(2)) {
                OK(sl_builder_null(b)); /* the whole struct */
            } else {
                append_value(sl_builder_child(b, 0), c, v);
                OK(sl_builder_close(b));
            }
        }
        OK(sl_builder_finish(b, &columns[c]));
        sl_builder_free(b);
        if (is_text_column(c) && pick(2))
            columns[c] = with_dictionary(columns[c]);
    }
    OK(sl_batch_new(schema, table_rows, columns, &batch));
    return batch;
}

/* ---- random: expressions and the naive evaluator ------------------------------------------------------- */

enum { T_FALSE, T_TRUE, T_UNKNOWN };
enum node_kind { N_AND, N_OR, N_NOT, N_COMPARE, N_COLUMNS, N_IN, N_BETWEEN, N_LIKE, N_IS_NULL, N_FLAG };
struct node {
    enum node_kind kind;
    int column, other, op;
    bool negated;
    struct value literals[4];
    size_t literal_count;
    char pattern[24];
    struct node *left, *right;
};
static struct node nodes[256];
static size_t node_count;
static const char *const ops[] = {"=", "!=", "<", "<=", ">", ">="};

/* A literal near the column's values, often between two of them, and its text. */
static struct value random_literal(int column, sl_buf *text)
{
    struct value v = {.kind = VALUE_EXACT};
    int64_t n = (int64_t)pick(13) - 6;
    if (pick(20) == 0) {
        OK(sl_buf_printf(text, "null"));
        return (struct value){.kind = VALUE_NULL};
    }
    if (is_text_column(column)) {
        v.kind = VALUE_TEXT;
        snprintf(v.text, sizeof v.text, "%s", words[pick(WORDS)]);
        OK(sl_buf_printf(text, "'%s'", v.text));
    } else if (column == C_BOOL) {
        v.exact = pick(2);
        OK(sl_buf_printf(text, v.exact ? "true" : "false"));
    } else if (column == C_FLOAT || column == C_DOUBLE) {
        v.kind = VALUE_DOUBLE;
        v.number = pick(10) == 0 ? (double)NAN : (double)n / 8;
        OK(v.number != v.number ? sl_buf_printf(text, "'NaN'") : sl_buf_printf(text, "%.3f", v.number));
    } else if (column == C_DATE || column == C_TIMESTAMP) {
        v.exact = n * DAY_MICROS;
        int64_t year;
        int month, day;
        sl_days_to_civil(n, &year, &month, &day);
        uint32_t form = pick(3), extra = form == 2 ? pick(3) : 0;
        v.exact += form == 2 ? (int64_t)extra * 500 : 0;
        if (form == 2)
            OK(sl_buf_printf(text, "timestamp '%04d-%02d-%02d 00:00:00.%06u'", (int)year, month, day,
                             extra * 500));
        else
            OK(sl_buf_printf(text, "%s'%04d-%02d-%02d'", form ? "date " : "", (int)year, month, day));
    } else {
        static const int64_t parts[] = {0, 0, 250000, 500000, 1, 999999};
        int64_t part = parts[pick(6)];
        v.exact = n * 1000000 + (n < 0 ? -part : part);
        OK(sl_buf_printf(text, "%s%d.%06d", n < 0 ? "-" : "", (int)(n < 0 ? -n : n), (int)part));
    }
    return v;
}

static int random_other(int column)
{
    static const int numbers[] = {C_INT,    C_LONG,    C_SHORT,  C_UINT64, C_FLOAT,
                                  C_DOUBLE, C_DECIMAL, C_NESTED, C_INT2};
    if (is_text_column(column))
        return column == C_TEXT ? C_TEXT2 : C_TEXT;
    if (column == C_DATE || column == C_TIMESTAMP)
        return pick(2) ? C_DATE : C_TIMESTAMP;
    return column == C_BOOL ? C_BOOL : numbers[pick(9)];
}

static struct node *random_leaf(sl_buf *text)
{
    struct node *n = &nodes[node_count++];
    *n = (struct node){.column = (int)pick(C_COUNT), .op = (int)pick(6), .negated = pick(2) != 0};
    const char *name = column_names[n->column], *negation = n->negated ? "not " : "";
    switch (pick(8)) {
    case 0:
        n->kind = N_IS_NULL;
        OK(sl_buf_printf(text, "%s is %snull", name, negation));
        break;
    case 1:
        n->kind = N_IN;
        OK(sl_buf_printf(text, "%s %sin (", name, negation));
        n->literal_count = 1 + pick(3);
        for (size_t i = 0; i < n->literal_count; i++) {
            OK(sl_buf_printf(text, "%s", i ? ", " : ""));
            n->literals[i] = random_literal(n->column, text);
        }
        OK(sl_buf_printf(text, ")"));
        break;
    case 2:
        n->kind = N_BETWEEN;
        OK(sl_buf_printf(text, "%s %sbetween ", name, negation));
        n->literals[0] = random_literal(n->column, text);
        OK(sl_buf_printf(text, " and "));
        n->literals[1] = random_literal(n->column, text);
        break;
    case 3: {
        static const char *const patterns[] = {"a%", "%b", "%",    "_",    "a_%", "%a%", "ab",
                                               "",   "__", "%_b%", "ab%c", "a!%", "!_%", "%%"};
        n->kind = N_LIKE;
        n->column = pick(2) ? C_TEXT : C_TEXT2;
        snprintf(n->pattern, sizeof n->pattern, "%s", patterns[pick(14)]);
        OK(sl_buf_printf(text, "%s %slike '%s' escape '!'", column_names[n->column], negation, n->pattern));
        break;
    }
    case 4:
        n->kind = N_COLUMNS;
        n->other = random_other(n->column);
        OK(sl_buf_printf(text, "%s %s %s", name, ops[n->op], column_names[n->other]));
        break;
    case 5:
        if (n->column == C_BOOL) {
            n->kind = N_FLAG;
            OK(sl_buf_printf(text, "flag"));
            break;
        } /* fall through */
    default:
        n->kind = N_COMPARE;
        OK(sl_buf_printf(text, "%s %s ", name, ops[n->op]));
        n->literals[0] = random_literal(n->column, text);
    }
    return n;
}

static struct node *random_node(int depth, sl_buf *text)
{
    uint32_t kind = pick(6);
    if (depth == 0 || kind > 3)
        return random_leaf(text);
    struct node *n = &nodes[node_count++];
    *n = (struct node){.kind = kind == 0 ? N_NOT : kind == 1 ? N_OR : N_AND};
    OK(sl_buf_printf(text, n->kind == N_NOT ? "not (" : "("));
    n->left = random_node(depth - 1, text);
    if (n->kind != N_NOT) {
        OK(sl_buf_printf(text, n->kind == N_AND ? ") and (" : ") or ("));
        n->right = random_node(depth - 1, text);
    }
    OK(sl_buf_printf(text, ")"));
    return n;
}

static int order_doubles(double a, double b)
{
    if (a != a || b != b)
        return (a != a) - (b != b);
    return (a > b) - (a < b);
}

static int naive_order(const struct value *a, const struct value *b)
{
    if (a->kind == VALUE_TEXT)
        return strcmp(a->text, b->text);
    if (a->kind == VALUE_DOUBLE || b->kind == VALUE_DOUBLE)
        return order_doubles(a->kind == VALUE_DOUBLE ? a->number : (double)a->exact / 1e6,
                             b->kind == VALUE_DOUBLE ? b->number : (double)b->exact / 1e6);
    return (a->exact > b->exact) - (a->exact < b->exact);
}

static int naive_compare(const struct value *a, int op, const struct value *b)
{
    if (a->kind == VALUE_NULL || b->kind == VALUE_NULL)
        return T_UNKNOWN;
    int c = naive_order(a, b);
    const bool results[] = {c == 0, c != 0, c<0, c <= 0, c> 0, c >= 0};
    return results[op];
}

static bool naive_like(const char *p, const char *s)
{
    if (*p == 0)
        return *s == 0;
    if (*p == '%')
        return naive_like(p + 1, s) || (*s && naive_like(p, s + 1));
    if (*p == '_') {
        if (!*s)
            return false;
        for (s++; ((unsigned char)*s & 0xc0) == 0x80;)
            s++;
        return naive_like(p + 1, s);
    }
    p += *p == '!';
    return *p == *s && naive_like(p + 1, s + 1);
}

static int naive_not(int t) { return t == T_UNKNOWN ? t : !t; }
static int naive_and(int a, int b)
{
    return a == T_FALSE || b == T_FALSE ? T_FALSE : a == T_TRUE && b == T_TRUE ? T_TRUE : T_UNKNOWN;
}
static int naive_or(int a, int b) { return naive_not(naive_and(naive_not(a), naive_not(b))); }

static int naive_eval(const struct node *n, const struct value *row)
{
    const struct value *v = &row[n->column];
    int result = T_FALSE;
    switch (n->kind) {
    case N_NOT:
        return naive_not(naive_eval(n->left, row));
    case N_AND:
        return naive_and(naive_eval(n->left, row), naive_eval(n->right, row));
    case N_OR:
        return naive_or(naive_eval(n->left, row), naive_eval(n->right, row));
    case N_COMPARE:
        return naive_compare(v, n->op, &n->literals[0]);
    case N_COLUMNS:
        return naive_compare(v, n->op, &row[n->other]);
    case N_FLAG:
        return v->kind == VALUE_NULL ? T_UNKNOWN : v->exact != 0;
    case N_IN:
        for (size_t i = 0; i < n->literal_count; i++)
            result = naive_or(result, naive_compare(v, 0, &n->literals[i]));
        break;
    case N_BETWEEN:
        result = naive_and(naive_compare(v, 5, &n->literals[0]), naive_compare(v, 3, &n->literals[1]));
        break;
    case N_LIKE:
        result = v->kind == VALUE_NULL ? T_UNKNOWN : naive_like(n->pattern, v->text);
        break;
    case N_IS_NULL:
        result = v->kind == VALUE_NULL;
    }
    return n->negated ? naive_not(result) : result;
}

/* ---- random: bounds ------------------------------------------------------------------------------------ */

struct true_bounds {
    const sl_batch *batch;
    uint32_t unknown; /* columns that tell nothing */
    uint32_t no_null_count;
    uint32_t truncated; /* text bounds cut to one character */
    bool nans_doubted;  /* floating columns may hold NaN although they do not */
};

static void truncate_bounds(struct sl_parquet_bounds *b)
{
    size_t len;
    const uint8_t *text = sl_bytes_at(b->min, 0, &len);
    sl_array *min, *max;
    OK(sl_array_constant_string((const char *)text, len && text[0] < 0x80 ? 1 : 0, 1, &min));
    text = sl_bytes_at(b->max, 0, &len);
    char up[2] = {len && text[0] < 0x7e ? (char)(text[0] + 1) : (char)0x7f, 0};
    if (len && text[0] < 0x7e)
        OK(sl_array_constant_string(up, 1, 1, &max));
    else
        max = sl_array_ref(b->max);
    sl_array_unref(b->min);
    sl_array_unref(b->max);
    b->min = min;
    b->max = max;
}

static sl_array *nan_array(const sl_type *type)
{
    sl_builder *b;
    sl_array *out;
    OK(sl_builder_new(type, &b));
    OK(sl_builder_double(b, NAN));
    OK(sl_builder_finish(b, &out));
    sl_builder_free(b);
    return out;
}

static bool give_bounds(void *context, const char *name, struct sl_parquet_bounds *out)
{
    const struct true_bounds *t = context;
    int c = sl_type_field_index(t->batch->schema, name);
    assert_true(c >= 0);
    if (t->unknown >> c & 1)
        return false;
    int64_t min = -1, max = -1;
    sl_array *array = t->batch->columns[c];
    *out = (struct sl_parquet_bounds){.has_null_count = !(t->no_null_count >> c & 1)};
    bool nans = t->nans_doubted && (c == C_FLOAT || c == C_DOUBLE);
    for (int64_t r = 0; r < table_rows; r++) {
        const struct value *v = &table[r][c];
        if (v->kind == VALUE_NULL) {
            out->null_count += out->has_null_count;
            continue;
        }
        if (v->kind == VALUE_DOUBLE && v->number != v->number) { /* left out, as by statistics */
            nans = true;
            continue;
        }
        if (min < 0 || naive_order(v, &table[min][c]) < 0)
            min = r;
        if (max < 0 || naive_order(v, &table[max][c]) > 0)
            max = r;
    }
    if (min < 0 || c == C_NESTED)
        return true;
    sl_array *plain;
    OK(sl_array_decode_dictionary(array, &plain));
    OK(sl_array_copy(plain, min, 1, &out->min));
    OK(sl_array_copy(plain, max, 1, &out->max));
    if (nans) {
        out->max_number = out->max;
        out->max = nan_array(plain->type);
    }
    sl_array_unref(plain);
    out->has_bounds = true;
    if (is_text_column(c) && t->truncated)
        truncate_bounds(out);
    return true;
}

static bool bounds_fail(void *context, const char *name, struct sl_parquet_bounds *out)
{
    (void)context;
    (void)name;
    (void)out;
    return false;
}

static void test_random(void **state)
{
    (void)state;
    const char *given = getenv("SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    print_message("SEED=%" PRIu64 "\n", seed);
    random_state = seed;
    const sl_type *schema = random_schema();
    sl_buf text = {0};
    size_t cases = 0, pruned = 0, matching = 0, empty = 0;
    for (int round = 0; round < 1500; round++) {
        sl_batch *batch = random_batch(schema);
        for (int k = 0; k < 12; k++, cases++) {
            uint8_t selection[ROWS_MAX / 8 + 1];
            int64_t selected, want = 0;
            sl_expr *e;
            text.len = 0;
            node_count = 0;
            const struct node *n = random_node((int)pick(4), &text);
            OK(sl_buf_byte(&text, 0));
            sl_status status = sl_expr_parse((const char *)text.data, schema, &e);
            if (status)
                fail_msg("%s: %s", (const char *)text.data, sl_status_message(status));
            OK(sl_expr_select(e, batch, selection, &selected));
            for (int64_t r = 0; r < table_rows; r++) {
                bool expected = naive_eval(n, table[r]) == T_TRUE;
                want += expected;
                if (bit_get(selection, r) != expected)
                    fail_msg("row %d of %d: got %d: %s", (int)r, (int)table_rows, !expected,
                             (const char *)text.data);
            }
            assert_int_equal(selected, want);
            struct true_bounds t = {batch, pick(3) ? 0 : pick(1u << TOP_LEVEL),
                                    pick(3) ? 0 : pick(1u << TOP_LEVEL), pick(2), pick(3) == 0};
            bool may = sl_expr_may_match(e, give_bounds, &t);
            if (want > 0 && !may)
                fail_msg("pruned although a row matches: %s", (const char *)text.data);
            if (want > 0 && !sl_expr_may_match(e, bounds_fail, NULL))
                fail_msg("pruned without bounds: %s", (const char *)text.data);
            matching += want > 0;
            empty += want == 0;
            pruned += !may;
            sl_expr_free(e);
        }
        sl_batch_unref(batch);
    }
    print_message("%zu cases, %zu match, %zu of %zu empty ones pruned\n", cases, matching, pruned, empty);
    assert_true(matching > cases / 5);
    assert_true(pruned > empty / 4);
    sl_buf_free(&text);
    sl_type_unref(schema);
}

/* ---- pruning by hand ----------------------------------------------------------------------------------- */

struct fixed_bounds {
    const sl_type *schema;
    const char *min, *max; /* JSON rows */
    int64_t null_count;    /* -1: unknown */
};

static bool give_fixed(void *context, const char *name, struct sl_parquet_bounds *out)
{
    const struct fixed_bounds *f = context;
    const char *const rows[] = {f->min, f->max};
    sl_batch *batch = batch_of_json(f->schema, rows, 2);
    int c = sl_type_field_index(f->schema, name);
    *out = (struct sl_parquet_bounds){.has_null_count = f->null_count >= 0, .null_count = f->null_count};
    if (sl_is_valid(batch->columns[c], 0)) {
        out->has_bounds = true;
        OK(sl_array_copy(batch->columns[c], 0, 1, &out->min));
        OK(sl_array_copy(batch->columns[c], 1, 1, &out->max));
    }
    if (strcmp(name, "n") == 0) {
        out->max_number = out->max;
        out->max = nan_array(out->min->type);
    }
    sl_batch_unref(batch);
    return true;
}

static const struct {
    const char *text;
    bool may, may_with_nulls;
} prunings[] = {
    {"id = 10", true, true},
    {"id = 9", false, false},
    {"id = 20.5", false, false},
    {"id != 5", true, true},
    {"id < 10", false, false},
    {"id <= 10", true, true},
    {"id > 20", false, false},
    {"id > 19.5", true, true},
    {"not (id >= 10)", false, false},
    {"not (id > 10)", true, true},
    {"id in (1, 9, 21)", false, false},
    {"id in (1, 15)", true, true},
    {"id not in (1, 15)", true, true},
    {"id not in (null)", false, false},
    {"id between 21 and 30", false, false},
    {"id not between 5 and 25", false, false},
    {"id is null", false, true},
    {"id is not null", true, true},
    {"k != 7", false, false},
    {"k not in (7, 8)", false, false},
    {"k = 7", true, true},
    {"s like 'ab%'", true, true},
    {"s like 'b%'", true, true},
    {"s like 'aaz%'", false, false},
    {"s like 'c%'", false, false},
    {"s like 'c'", false, false},
    {"s like '%z'", true, true},
    {"s not like '%'", false, false},
    {"t not like 'pre%'", false, false},
    {"t not like 'prefix%'", true, true},
    {"d > 2.5", false, false},
    {"d <= 2.5", true, true},
    {"d < 1", false, false},
    {"n > 1", true, true}, /* numbers from 0 to 3, and maybe NaN, which is greater */
    {"n > 4", true, true},
    {"n != 2", true, true},
    {"n >= 'NaN'", true, true},
    {"n < 0", false, false},
    {"n = 4", false, false},
    {"n between 3.5 and 9", false, false},
    {"n in (4, 5)", false, false},
    {"n in (4, 'NaN')", true, true},
    {"not (n >= 0)", false, false},
    {"n > d", true, true},
    {"n < d", true, true},
    {"id < k", false, false},
    {"k < id", true, true},
    {"id = id", true, true},
    {"s < t", true, true},
    {"s > t", false, false},
    {"id = 15 and s = 'zz'", false, false},
    {"id = 5 or s = 'abc'", true, true},
    {"id = 5 or s = 'zz'", false, false},
    {"null", false, false},
    {"false or id = null", false, false},
    {"st.a = 100", true, true}, /* nested columns have no bounds */
};

static void test_prunings(void **state)
{
    (void)state;
    const sl_type *schema;
    OK(sl_schema_parse("id int, k long, s string, t string, d double, n double, st struct<a: int>", &schema));
    struct fixed_bounds f = {schema, "{\"id\":10,\"k\":7,\"s\":\"ab\",\"t\":\"prea\",\"d\":1,\"n\":0}",
                             "{\"id\":20,\"k\":7,\"s\":\"bcd\",\"t\":\"prez\",\"d\":2.5,\"n\":3}", 0};
    for (size_t i = 0; i < sizeof prunings / sizeof *prunings; i++) {
        sl_expr *e;
        OK(sl_expr_parse(prunings[i].text, schema, &e));
        for (f.null_count = -1; f.null_count < 2; f.null_count++) {
            bool want = f.null_count == 0 ? prunings[i].may : prunings[i].may_with_nulls;
            if (sl_expr_may_match(e, give_fixed, &f) != want)
                fail_msg("%s with %d nulls: want %d", prunings[i].text, (int)f.null_count, want);
        }
        sl_expr_free(e);
    }
    sl_type_unref(schema);
}

/* ---- memory that runs out ------------------------------------------------------------------------------ */

static void test_memory(void **state)
{
    (void)state;
    const sl_type *schema;
    OK(sl_schema_parse(example_schema, &schema));
    sl_batch *batch = batch_of_json(schema, example_rows, sizeof example_rows / sizeof *example_rows);
    static const char text[] = "at > timestamp '2024-01-31 12:00:00.0000005' and s like 'a%' or p in (1.1, "
                               "2) and d > 'NaN' or x = x'00' or day < at";
    int failures = 0;
    for (uint64_t nth = 1;; nth++) {
        sl_expr *e = NULL;
        uint8_t selection[1];
        int64_t selected;
        sl_test_fail_allocation(nth, false);
        sl_status status = sl_expr_parse(text, schema, &e);
        if (!status)
            status = sl_expr_select(e, batch, selection, &selected);
        sl_test_fail_allocation(0, false);
        sl_expr_free(e);
        if (!status)
            break;
        assert_int_equal(sl_status_code(status), SL_E_MEMORY);
        sl_status_free(status);
        failures++;
    }
    assert_true(failures > 5);
    sl_batch_unref(batch);
    sl_type_unref(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),      cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_size),          cmocka_unit_test(test_columns),
        cmocka_unit_test(test_other_batches), cmocka_unit_test(test_prunings),
        cmocka_unit_test(test_random),        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
