/* Settings of a table as Parquet options of its files, and what of Parquet is refused inside Hudi tables. */
#include "slice/slice_int.h"
#include "sluice/sluice.h"
#include "table_support.h"

static const char *const lsm_table[] = {"hoodie.table.recordkey.fields", "id", "hoodie.table.storage.layout",
                                        "lsm_tree", NULL};
static const char *const default_table[] = {"hoodie.table.recordkey.fields", "id", NULL};

struct options_case {
    const char *settings[7]; /* key, value, ..., NULL */
    const char *refused;     /* part of the message; NULL: accepted */
    enum sl_parquet_encoding all, key;
    bool bloom;
    size_t page_bytes, group_bytes;
};
#define SIZES (size_t)1 << 20, (size_t)120 << 20

static void check_options(const char *const *properties, const struct options_case *c)
{
    struct test_table t = table_created("id string not null, t double", properties);
    struct file_options o;
    const sl_type *data, *rows;
    OK(sl_schema_parse("id string not null, t double", &data));
    OK(sl_schema_with_meta(data, &rows));
    table_reopen(&t, c->settings);
    sl_status status = file_options_load(t.table, rows, &o);
    if (c->refused) {
        assert_int_equal(sl_status_code(status), SL_E_UNSUPPORTED);
        assert_non_null(strstr(sl_status_message(status), c->refused));
        sl_status_free(status);
    } else {
        OK(status);
        assert_int_equal(o.parquet.encoding, c->all);
        /* the sequence number and the key's only field go up with the key */
        assert_int_equal(o.parquet.column_count, c->key == SL_ENCODING_DELTA_BYTE_ARRAY ? 3 : 1);
        assert_string_equal(o.parquet.columns[0].column, "_hoodie_record_key");
        assert_int_equal(o.parquet.columns[0].encoding, c->key);
        assert_int_equal(o.parquet.columns[0].bloom_filter, c->bloom);
        assert_int_equal(o.parquet.page_bytes, c->page_bytes);
        assert_int_equal(o.parquet.row_group_bytes, c->group_bytes);
    }
    sl_type_unref(data);
    sl_type_unref(rows);
    table_gone(&t);
}

static void settings_become_options(void **state)
{
    (void)state;
    static const struct options_case cases[] = {
        {{NULL}, NULL, SL_ENCODING_DEFAULT, SL_ENCODING_DELTA_BYTE_ARRAY, false, SIZES},
        {{"sluice.parquet.encoding", "auto", NULL},
         NULL,
         SL_ENCODING_AUTO,
         SL_ENCODING_DELTA_BYTE_ARRAY,
         false,
         SIZES},
        {{"sluice.parquet.key.encoding", "plain", "sluice.parquet.bloom.keys", "true", NULL},
         NULL,
         SL_ENCODING_DEFAULT,
         SL_ENCODING_PLAIN,
         true,
         SIZES},
        {{"sluice.parquet.encoding", "byte_stream_split", NULL}, "BYTE_STREAM_SPLIT", 0, 0, false, 0, 0},
        {{"sluice.parquet.key.encoding", "delta_length_byte_array", NULL},
         "DELTA_LENGTH_BYTE_ARRAY",
         0,
         0,
         false,
         0,
         0},
        {{"sluice.parquet.encoding", "byte_stream_split", "sluice.parquet.force", "true", NULL},
         NULL,
         SL_ENCODING_BYTE_STREAM_SPLIT,
         SL_ENCODING_DELTA_BYTE_ARRAY,
         false,
         SIZES},
        {{"hoodie.parquet.compression.codec", "brotli", NULL}, "brotli", 0, 0, false, 0, 0},
        {{"hoodie.parquet.page.size", "3GiB", "hoodie.parquet.block.size", "5GiB", NULL},
         NULL,
         SL_ENCODING_DEFAULT,
         SL_ENCODING_DELTA_BYTE_ARRAY,
         false,
         (size_t)3 << 30,
         (size_t)5 << 30},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_options(lsm_table, &cases[i]);
    /* files of the default layout need not be sorted by key */
    check_options(default_table, &(struct options_case){
                                     {NULL}, NULL, SL_ENCODING_DEFAULT, SL_ENCODING_DEFAULT, false, SIZES});
}

/* Creates a table with the column types as they are; its message, or NULL when it was made. */
static const char *create_refusal(const char *schema_text, bool force)
{
    static char message[8192];
    const char *options[] = {"hoodie.table.recordkey.fields",
                             "id",
                             "sluice.keep.types",
                             "true",
                             force ? "sluice.parquet.force" : NULL,
                             "true",
                             NULL};
    char root[512];
    const sl_type *schema;
    struct ArrowSchema arrow;
    sluice_error e = {0};
    scratch_make(root, sizeof root);
    OK(sl_schema_parse(schema_text, &schema));
    OK(sl_arrow_export_schema(schema, &arrow));
    int code = sluice_table_create(root, &arrow, options, &e);
    snprintf(message, sizeof message, "%s (%s)", e.message, e.hint);
    arrow.release(&arrow);
    sl_type_unref(schema);
    scratch_remove(root);
    return code ? message : NULL;
}

/* `sluice config list` tells the truth: what it calls a default makes no difference where it is given. */
static void listed_defaults_are_those(void **state)
{
    (void)state;
    struct test_table t = table_created("id string not null, t double", lsm_table);
    size_t count, given = 0;
    const struct sl_setting *settings = sl_settings(&count);
    const sl_type *data, *rows;
    struct file_options before, after;
    OK(sl_schema_parse("id string not null, t double", &data));
    OK(sl_schema_with_meta(data, &rows));
    OK(file_options_load(t.table, rows, &before));
    for (size_t i = 0; i < count; i++)
        if (strstr(settings[i].key, ".parquet.") && *settings[i].fallback) {
            OK(sl_properties_set(&t.table->options, settings[i].key, settings[i].fallback));
            given++;
        }
    assert_true(given > 8);
    OK(file_options_load(t.table, rows, &after));
    assert_int_equal(after.parquet.page_rows, before.parquet.page_rows);
    assert_int_equal(after.parquet.page_bytes, before.parquet.page_bytes);
    assert_int_equal(after.parquet.row_group_bytes, before.parquet.row_group_bytes);
    assert_int_equal(after.parquet.codec, before.parquet.codec);
    assert_int_equal(after.parquet.level, before.parquet.level);
    assert_int_equal(after.parquet.encoding, before.parquet.encoding);
    sl_type_unref(data);
    sl_type_unref(rows);
    table_gone(&t);
}

static void types_are_refused_unless_forced(void **state)
{
    (void)state;
    const char *refusal = create_refusal("id string not null, at time", false);
    assert_non_null(refusal);
    assert_non_null(strstr(refusal, "column at: type time"));
    assert_non_null(strstr(refusal, "sluice.parquet.force"));
    assert_null(create_refusal("id string not null, at time", true));
    assert_null(create_refusal("id string not null, at timestamp, d decimal(9,2), l list<int>", false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_become_options),
        cmocka_unit_test(listed_defaults_are_those),
        cmocka_unit_test(types_are_refused_unless_forced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
