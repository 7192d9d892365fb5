/*
 * Schema texts of real tables (tests/data/avro/table_schemas.jsonl: `schema` of commits and
 * parquet.avro.schema of base files): parsed and written again they are the same bytes. Where Spark made the
 * names, a type that knows none gets them too.
 */
#include "avro_support.h"

/* The same type without the names it was parsed with. */
static const sl_type *nameless(const sl_type *type);

static const sl_type *nameless_struct(const sl_type *type)
{
    const sl_type *out;
    sl_field *fields = calloc(type->field_count, sizeof *fields);
    assert_non_null(fields);
    for (size_t i = 0; i < type->field_count; i++) {
        fields[i] = type->fields[i];
        fields[i].type = nameless(type->fields[i].type);
    }
    OK(sl_type_struct(fields, type->field_count, &out));
    for (size_t i = 0; i < type->field_count; i++)
        sl_type_unref(fields[i].type);
    free(fields);
    return out;
}

static const sl_type *nameless(const sl_type *type)
{
    const sl_type *out;
    if (type->id == SL_STRUCT)
        return nameless_struct(type);
    if (type->id == SL_DECIMAL) {
        OK(sl_type_decimal(type->precision, type->scale, &out));
    } else if (type->id == SL_LIST || type->id == SL_MAP) {
        const sl_type *entries = type->fields[0].type;
        sl_field item = type->id == SL_LIST ? type->fields[0] : entries->fields[1];
        item.type = nameless(item.type);
        if (type->id == SL_LIST)
            OK(sl_type_list(&item, &out));
        else
            OK(sl_type_map(entries->fields[0].type, &item, &out));
        sl_type_unref(item.type);
    } else {
        out = sl_type_ref(type);
    }
    return out;
}

/* The others: a table written with other naming, and delete logs, whose records are cut from a table's and
 * keep its names. */
static bool named_as_spark(const char *text)
{
    return !strstr(text, "\"namespace\":\"hoodie.types") &&
           !strstr(text, "\"name\":\"hudi_delete_log_record\"");
}

static void check_text(const sl_type *type, const json_t *json, const char *want)
{
    char *text;
    const char *space = json_string_value(json_object_get(json, "namespace"));
    OK(sl_avro_schema_text(type, json_string_value(json_object_get(json, "name")), space ? space : "",
                           &text));
    assert_string_equal(text, want);
    sl_free(text);
}

static void real_schemas_round_trip(void **state)
{
    (void)state;
    struct file_bytes file = test_file("avro/table_schemas.jsonl");
    size_t checked = 0, renamed = 0;
    for (char *line = strtok((char *)file.data, "\n"); line; line = strtok(NULL, "\n")) {
        const sl_type *type;
        json_t *json = json_loads(line, 0, NULL);
        assert_non_null(json);
        OK(sl_avro_schema_parse(line, strlen(line), &type));
        check_text(type, json, line);
        checked++;
        if (named_as_spark(line)) {
            const sl_type *bare = nameless(type);
            check_text(bare, json, line);
            sl_type_unref(bare);
            renamed++;
        }
        sl_type_unref(type);
        json_decref(json);
    }
    free(file.data);
    assert_int_equal(checked, 43);
    assert_int_equal(renamed, 34);
}

static void types_of_a_real_table(void **state)
{
    (void)state;
    struct file_bytes file = test_file("avro/table_schemas.jsonl");
    const char *start = strstr((char *)file.data, "{\"type\":\"record\",\"name\":\"cow_types_v6_record\"");
    const sl_type *type;
    char *text;
    assert_non_null(start);
    OK(sl_avro_schema_parse(start, strcspn(start, "\n"), &type));
    assert_int_equal(type->fields[sl_type_field_index(type, "d30")].type->width, 13);
    assert_int_equal(type->fields[sl_type_field_index(type, "tsu")].type->unit, SL_MICROS);
    assert_true(type->fields[sl_type_field_index(type, "tsu")].type->utc);
    assert_string_equal(type->fields[sl_type_field_index(type, "st")].type->name,
                        "hoodie.cow_types_v6.cow_types_v6_record.st");
    assert_string_equal(type->fields[sl_type_field_index(type, "d9")].type->name,
                        "hoodie.cow_types_v6.cow_types_v6_record.d9.fixed");
    OK(sl_type_text(type, &text));
    assert_non_null(strstr(text, "decimal(30,10)"));
    sl_free(text);
    sl_type_unref(type);
    free(file.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_schemas_round_trip),
        cmocka_unit_test(types_of_a_real_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
