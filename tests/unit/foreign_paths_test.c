/* Paths in files that anybody may have written (markers, plans, commits, properties): nothing outside the table is read, written
 * or deleted by them, nor is any file of the table but the data files they are about. */
#include "service/service.h"
#include "table_support.h"

#define DEAD   "20240101000000000"
#define VICTIM "victim.txt"

static char around
    [512]; /* the scratch folder; the table lies deep enough in it for a failing test to take no other */

/* A table, a file beside it, and a file of another instant in it. */
static struct test_table table_beside_victim(void)
{
    struct test_table t = {"", NULL}, beside = {"", NULL};
    struct sl_create_options options = {.name = "t"};
    scratch_make(around, sizeof around);
    snprintf(beside.root, sizeof beside.root, "%.400s/deep/down", around);
    snprintf(t.root, sizeof t.root, "%.480s/t", beside.root);
    OK(sl_schema_parse("k string, p string, v double", &options.schema));
    OK(sl_properties_set(&options.properties, "hoodie.table.storage.layout", "lsm_tree"));
    OK(sl_properties_set(&options.properties, "hoodie.table.recordkey.fields", "k"));
    OK(sl_properties_set(&options.properties, "hoodie.table.partition.fields", "p"));
    OK(sl_table_create(t.root, &options));
    sl_type_unref(options.schema);
    sl_properties_free(&options.properties);
    open_with(&t, NULL);
    put_text(&beside, VICTIM, "not yours");
    put_text(&t, "a/.hoodie_partition_metadata", "commitTime=10\npartitionDepth=1\n");
    put_text(&t, "a/f-0_1-0-1_20230101000000000.parquet", "of another instant");
    return t;
}

static void nothing_is_lost(struct test_table *t)
{
    assert_true(there_is(t, "../" VICTIM));
    assert_true(there_is(t, "a/f-0_1-0-1_20230101000000000.parquet"));
    assert_true(there_is(t, ".hoodie/hoodie.properties"));
    assert_true(there_is(t, ".hoodie/timeline"));
    sl_table_close(t->table);
    scratch_remove(around);
}

static void refuse_next_write(struct test_table *t, const char *message)
{
    sl_txn *txn;
    FAILS(sl_txn_begin(t->table,
                       &(struct sl_txn_options){.action = SL_ACTION_DELTACOMMIT, .operation = "UPSERT"},
                       &txn),
          SL_E_CORRUPT, message);
}

static const char *const not_to_be_deleted[] = {
    "../" VICTIM,
    "a/../../" VICTIM,
    "../x-0_1-0-1_" DEAD ".parquet",
    ".hoodie/hoodie.properties",
    "a/.hoodie_partition_metadata",
    "a/f-0_1-0-1_20230101000000000.parquet",
    "..",
    "",
};

static void markers_name_data_files_of_their_instant(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof not_to_be_deleted / sizeof *not_to_be_deleted; i++) {
        struct test_table t = table_beside_victim();
        char lines[512];
        snprintf(lines, sizeof lines, "a/f-0_1-0-1_" DEAD ".parquet.marker.CREATE\n%s.marker.MERGE\n",
                 not_to_be_deleted[i]);
        put_text(&t, ".hoodie/timeline/" DEAD ".deltacommit.requested", "");
        put_text(&t, ".hoodie/timeline/" DEAD ".deltacommit.inflight", "");
        put_text(&t, ".hoodie/.temp/" DEAD "/MARKERS.type", "TIMELINE_SERVER_BASED");
        put_text(&t, ".hoodie/.temp/" DEAD "/MARKERS0", lines);
        put_text(&t, "a/f-0_1-0-1_" DEAD ".parquet", "half");
        refuse_next_write(&t, "no data file of instant " DEAD);
        assert_true(there_is(&t, "a/f-0_1-0-1_" DEAD ".parquet")); /* all are looked at before any goes */
        nothing_is_lost(&t);
    }
}

static void put_rollback_plan(const struct test_table *t, const char *time, const char *partition,
                              const char *path)
{
    put_avro(t, ".hoodie/timeline/20240101000000001.rollback.requested", "HoodieRollbackPlan",
             json_pack("{s:{s:s, s:s}, s:[{s:s, s:s, s:s, s:[s], s:{}}], s:i}", "instantToRollback",
                       "commitTime", time, "action", "deltacommit", "RollbackRequests", "partitionPath",
                       partition, "fileId", "f-0", "latestBaseInstant", DEAD, "filesToBeDeleted", path,
                       "logBlocksToBeDeleted", "version", 1));
}

static void rollback_plans_name_data_files_of_their_instant(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof not_to_be_deleted / sizeof *not_to_be_deleted; i++) {
        struct test_table t = table_beside_victim();
        const char *slash = strrchr(not_to_be_deleted[i], '/');
        char partition[128], path[1024];
        snprintf(partition, sizeof partition, "%.*s", slash ? (int)(slash - not_to_be_deleted[i]) : 0,
                 not_to_be_deleted[i]);
        snprintf(path, sizeof path, "%s/%s", t.root, not_to_be_deleted[i]);
        put_rollback_plan(&t, DEAD, partition, path);
        refuse_next_write(&t, "no data file of instant " DEAD);
        nothing_is_lost(&t);
    }
}

/* The instant becomes the name of the folder of its markers, which goes as a tree. */
static void rolled_back_instants_are_digits(void **state)
{
    (void)state;
    static const char *const times[] = {"../../..", "..", ".", "", "1/../../.."};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        struct test_table t = table_beside_victim();
        char path[1024];
        snprintf(path, sizeof path, "%s/a/f-0_1-0-1_" DEAD ".parquet", t.root);
        put_rollback_plan(&t, times[i], "a", path);
        refuse_next_write(&t, "is no instant");
        nothing_is_lost(&t);
    }
}

/* A folder beside the table looks like a partition; the plan names it. */
static void services_stay_in_the_table(void **state)
{
    (void)state;
    struct test_table t = table_beside_victim();
    struct sl_write_result result;
    put_avro(&t, ".hoodie/timeline/" DEAD ".compaction.requested", "HoodieCompactionPlan",
             json_pack("{s:[{s:s, s:[], s:s, s:s, s:s, s:n, s:n}], s:n, s:i, s:n, s:b, s:[]}", "operations",
                       "baseInstantTime", "20230101000000000", "deltaFilePaths", "dataFilePath",
                       "f-0_1-0-1_20230101000000000.parquet", "fileId", "f-0", "partitionPath", "../other",
                       "metrics", "bootstrapFilePath", "extraMetadata", "version", 2, "strategy",
                       "preserveHoodieMetadata", 0, "missingSchedulePartitions"));
    FAILS(sl_service_execute(t.table, SL_COMPACT, DEAD, &result), SL_E_CORRUPT,
          "the path ../other leads out of the table");
    assert_false(there_is(&t, "../other"));
    nothing_is_lost(&t);
}

static void timelines_stay_in_the_table(void **state)
{
    (void)state;
    static const char *const settings[] = {"hoodie.timeline.path", "hoodie.timeline.history.path"};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        struct test_table t = table_beside_victim();
        OK(sl_properties_set(&t.table->properties, settings[i], "../../elsewhere"));
        sl_timeline timeline = {0};
        sl_status status =
            i == 0 ? sl_timeline_load(t.table, &timeline) : timeline_load_history(t.table, &timeline);
        FAILS(status, SL_E_CORRUPT, "leads out of the table");
        nothing_is_lost(&t);
    }
}

static void parts_of_paths_are_told(void **state)
{
    (void)state;
    static const char *const inside[] = {"", "a", "a/b", "a..b/..c/c../...", "/a//b/", ".", "./a", "..a"};
    static const char *const outside[] = {"..", "../a", "a/..", "a/../b", "/..", "//..", "a//../b", "../"};
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
        assert_true(sl_path_stays_below(inside[i]));
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        assert_false(sl_path_stays_below(outside[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markers_name_data_files_of_their_instant),
        cmocka_unit_test(rollback_plans_name_data_files_of_their_instant),
        cmocka_unit_test(rolled_back_instants_are_digits),
        cmocka_unit_test(services_stay_in_the_table),
        cmocka_unit_test(timelines_stay_in_the_table),
        cmocka_unit_test(parts_of_paths_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
