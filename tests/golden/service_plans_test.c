/*
 * Golden check G-24: plan and commit of our compactions, member by member, beside those that Hudi 1.2.0 wrote for tables of
 * its own (tests/data/fixtures/tables). What describes the service must be equal; of the rest, names, types and what is null.
 */
#include "engine_support.h"

#include "service/service.h"
#include "unpack.h"
#include <jansson.h>

static char scratch[512];

static int set_up(void **state)
{
    (void)state;
    scratch_make(scratch, sizeof scratch);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(scratch);
    return 0;
}

/* ---- the two tables ------------------------------------------------------------------------------------- */

static sl_table *open_table(const char *name, const char *threshold)
{
    char path[600];
    sl_properties p = {0};
    sl_table *t;
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    if (threshold)
        ok(sl_properties_set(&p, "hoodie.log.compaction.blocks.threshold", threshold));
    ok(sl_table_open(path, &p, NULL, &t));
    sl_properties_free(&p);
    return t;
}

static sl_table *unpack_theirs(const char *name)
{
    char archive[600];
    const char *data = getenv("SL_TEST_DATA");
    snprintf(archive, sizeof archive, "%s/fixtures/tables/%s.tar.zst", data ? data : "tests/data", name);
    assert_true(unpack_tar_zst(archive, scratch));
    return open_table(name, NULL);
}

static void write_row(sl_table *t, const char *key, int ts)
{
    const sl_type *schema;
    sl_batch_builder b = {0};
    sl_batch *batch;
    struct sl_write_result result;
    sl_writer *w;
    ok(sl_schema_parse("k string not null, ts long not null", &schema));
    ok(sl_batch_builder_init(&b, schema));
    ok(sl_builder_bytes(b.columns[0], key, strlen(key)));
    ok(sl_builder_integer(b.columns[1], ts));
    ok(sl_batch_builder_finish(&b, &batch));
    sl_batch_builder_free(&b);
    ok(sl_writer_open(t, SL_OP_UPSERT, schema, &w));
    ok(sl_writer_append(w, batch));
    ok(sl_writer_commit(w, &result));
    sl_writer_close(w);
    sl_batch_unref(batch);
    sl_type_unref(schema);
}

static sl_table *make_ours(enum sl_service service)
{
    const char *const *properties = lsm_options("k", PAIRS("hoodie.table.ordering.fields", "ts"));
    struct sl_create_options o = {.name = "ours"};
    struct sl_write_result result;
    char path[600], instant[SL_INSTANT_BYTES];
    size_t operations;
    snprintf(path, sizeof path, "%s/ours", scratch);
    ok(sl_schema_parse("k string not null, ts long not null", &o.schema));
    for (; *properties; properties += 2)
        ok(sl_properties_set(&o.properties, properties[0], properties[1]));
    ok(sl_table_create(path, &o));
    sl_type_unref(o.schema);
    sl_properties_free(&o.properties);
    sl_table *t = open_table("ours", "2");
    for (int i = 0; i < 4; i++)
        write_row(t, i % 2 ? "a" : "b", i);
    ok(sl_service_schedule(t, service, SL_SELECT_ALL, instant, &operations));
    ok(sl_service_execute(t, service, instant, &result));
    return t;
}

/* ---- comparing ------------------------------------------------------------------------------------------ */

/* Members whose values say what the service is; everything else is about one table's rows. */
static const char *const equal[] = {
    "version",
    "strategy",
    "preserveHoodieMetadata",
    "missingSchedulePartitions",
    "compacted",
    "operationType",
    "bootstrapFilePath",
    "logOffset",
    "logVersion",
    "baseFile",
    "cdcStats",
    "totalWriteErrors",
    "totalLogFiles",
    "tempPath",
    "numUpdates",
    "totalCorruptLogBlock",
    "minEventTime",
    "maxEventTime",
    "totalRollbackBlocks",
};

static bool must_be_equal(const char *name)
{
    for (size_t i = 0; i < sizeof equal / sizeof *equal; i++)
        if (strcmp(name, equal[i]) == 0)
            return true;
    return false;
}

/* Maps by partition or file have other keys; each side's first value stands for all. */
static bool is_map(const char *name) { return strcmp(name, "partitionToWriteStats") == 0; }

static void compare(const json_t *theirs, const json_t *ours, const char *place);

static void compare_first(const json_t *theirs, const json_t *ours, const char *place)
{
    void *a = json_object_iter((json_t *)(uintptr_t)theirs), *b = json_object_iter((json_t *)(uintptr_t)ours);
    assert_true(a && b);
    compare(json_object_iter_value(a), json_object_iter_value(b), place);
}

static void compare_members(const json_t *theirs, const json_t *ours, const char *place)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)ours, name, value) if (!json_object_get(theirs, name))
        fail_msg("%s: Hudi writes no %s", place, name);
    json_object_foreach((json_t *)(uintptr_t)theirs, name, value)
    {
        char below[400];
        const json_t *mine = json_object_get(ours, name);
        snprintf(below, sizeof below, "%s.%s", place, name);
        if (!mine)
            fail_msg("%s is missing", below);
        else if (must_be_equal(name) && !json_equal(value, mine))
            fail_msg("%s: %s instead of %s", below, json_dumps(mine, JSON_ENCODE_ANY),
                     json_dumps(value, JSON_ENCODE_ANY));
        else if (is_map(name))
            compare_first(value, mine, below);
        else if (!must_be_equal(name))
            compare(value, mine, below);
    }
}

static void compare(const json_t *theirs, const json_t *ours, const char *place)
{
    if (json_typeof(theirs) != json_typeof(ours))
        fail_msg("%s: %s instead of %s", place, json_dumps(ours, JSON_ENCODE_ANY),
                 json_dumps(theirs, JSON_ENCODE_ANY));
    if (json_is_object(theirs))
        compare_members(theirs, ours, place);
    else if (json_is_array(theirs) && json_array_size(theirs) && json_array_size(ours))
        compare(json_array_get(theirs, 0), json_array_get(ours, 0), place);
    else if (json_is_array(theirs))
        assert_int_equal(json_array_size(theirs) == 0, json_array_size(ours) == 0);
}

/* The newest service of the kind. */
static json_t *content(sl_table *t, enum sl_service service, enum sl_instant_state state)
{
    sl_timeline timeline;
    const sl_instant *found = NULL;
    json_t *json;
    ok(sl_timeline_load(t, &timeline));
    for (size_t i = 0; i < timeline.count; i++)
        if (timeline.instants[i].action == sl_service_action(service) &&
            timeline.instants[i].state == SL_COMPLETED)
            found = &timeline.instants[i];
    assert_non_null(found);
    ok(sl_instant_json(t, found, state, &json));
    sl_timeline_free(&timeline);
    return json;
}

static void check(enum sl_service service, const char *fixture)
{
    sl_table *theirs = unpack_theirs(fixture), *ours = make_ours(service);
    for (int completed = 0; completed < 2; completed++) {
        enum sl_instant_state state = completed ? SL_COMPLETED : SL_REQUESTED;
        json_t *a = content(theirs, service, state), *b = content(ours, service, state);
        compare(a, b, completed ? "commit" : "plan");
        json_decref(a);
        json_decref(b);
    }
    sl_table_close(theirs);
    sl_table_close(ours);
}

static void test_compaction(void **state)
{
    (void)state;
    check(SL_COMPACT, "mor_compacted_v9");
}

static void test_log_compaction(void **state)
{
    (void)state;
    check(SL_LOG_COMPACT, "mor_logcompacted_v9");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_compaction, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_log_compaction, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
