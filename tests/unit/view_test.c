/* File groups and slices from hand-made folders: spec/lsm-layout.md 7 and 19 (G-13, G-17), spec/timeline.md 12. Instants are
 * two digits long here; only their order counts. */
#include "table_support.h"

#define PROPERTIES                                                                                           \
    "hoodie.table.name=t1\nhoodie.table.type=MERGE_ON_READ\nhoodie.table.version=10\n"                       \
    "hoodie.timeline.layout.version=2\nhoodie.table.storage.layout=lsm_tree\n"                               \
    "hoodie.table.recordkey.fields=k\nhoodie.table.partition.fields=p\n"

static struct test_table partitioned(const char *const *partitions)
{
    struct test_table t = table_of(PROPERTIES);
    for (size_t i = 0; partitions[i]; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s%s.hoodie_partition_metadata", partitions[i],
                 *partitions[i] ? "/" : "");
        put_text(&t, path, "commitTime=10\npartitionDepth=1\n");
    }
    return t;
}

static struct test_table with_partition(void) { return partitioned((const char *const[]){"a", NULL}); }

/* Files of the timeline that need no content, and files of partition a. */
static void lay(const struct test_table *t, const char *const *instants, const char *const *files)
{
    put_files(t, ".hoodie/timeline", instants);
    put_files(t, "a", files);
}

static void plan_compaction(const struct test_table *t, const char *instant, const char *file_id)
{
    char path[256];
    snprintf(path, sizeof path, ".hoodie/timeline/%s.compaction.requested", instant);
    put_avro(t, path, "HoodieCompactionPlan",
             json_pack("{s:[{s:s, s:s, s:s, s:s, s:[]}], s:i}", "operations", "fileId", file_id,
                       "partitionPath", "a", "baseInstantTime", "10", "dataFilePath", "x", "deltaFilePaths",
                       "version", 2));
}

/* "30+ b30 L20.1 | 10 b10 L25.1 D25.1": slices newest first, + marks a pending compaction; logs as kind, instant, version. */
static const char *slices_of(const sl_file_group *group)
{
    static char text[4096];
    size_t n = 0;
    *text = 0;
    for (size_t s = 0; s < group->slice_count; s++) {
        const sl_slice *slice = &group->slices[s];
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s%s", s ? " | " : "", slice->base_instant,
                              slice->pending_compaction ? "+" : "");
        if (slice->base)
            n += (size_t)snprintf(text + n, sizeof text - n, " b%s", slice->base->parts.instant);
        for (size_t i = 0; i < slice->log_count; i++) {
            const struct sl_file_name *p = &slice->logs[i]->parts;
            n += (size_t)snprintf(text + n, sizeof text - n, " %c%s.%u",
                                  p->kind == SL_FILE_LOG       ? 'L'
                                  : p->kind == SL_FILE_DELETES ? 'D'
                                                               : 'I',
                                  p->instant, (unsigned)p->version);
        }
    }
    return text;
}

static const char *read_slice_of(const sl_file_group *group, bool read_optimized)
{
    static char text[4096];
    sl_read_slice slice;
    bool found;
    OK(sl_group_read_slice(group, read_optimized, &slice, &found));
    if (!found)
        return "nothing";
    size_t n = (size_t)snprintf(text, sizeof text, "%s", slice.base ? slice.base->parts.instant : "-");
    for (size_t i = 0; i < slice.log_count; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, " %s", slice.logs[i]->parts.instant);
    sl_read_slice_free(&slice);
    return text;
}

static sl_view view_at(const struct test_table *t, const char *as_of)
{
    sl_view view;
    OK(sl_view_load(t->table, &(struct sl_view_options){.as_of = as_of}, &view));
    return view;
}

/* The one group of the one partition. */
static const sl_file_group *only_group(const sl_view *view)
{
    assert_int_equal(view->partition_count, 1);
    assert_int_equal(view->partitions[0].group_count, 1);
    return &view->partitions[0].groups[0];
}

static void check(const struct test_table *t, const char *as_of, const char *slices, const char *merged,
                  const char *optimized)
{
    sl_view view = view_at(t, as_of);
    const sl_file_group *group = only_group(&view);
    assert_string_equal(slices_of(group), slices);
    assert_string_equal(read_slice_of(group, false), merged);
    assert_string_equal(read_slice_of(group, true), optimized);
    sl_view_free(&view);
}

/* ---- archived instants --------------------------------------------------------------------------------- */

/* A file of the archived timeline with instants "20 41 deltacommit", and a manifest that names it. */
static void archive(const struct test_table *t, const char *const *lines)
{
    static const char text[] =
        "instantTime string, completionTime string, action string, metadata binary, plan binary, version int";
    const sl_type *schema;
    sl_batch_builder b = {0};
    sl_batch *batch;
    char path[1024];
    sl_output *output;
    sl_parquet_writer *w;
    OK(sl_schema_parse(text, &schema));
    OK(sl_batch_builder_init(&b, schema));
    for (size_t i = 0; lines[i]; i++) {
        char requested[24], completed[24], action[24], json[256];
        assert_int_equal(sscanf(lines[i], "%23s %23s %23s", requested, completed, action), 3);
        snprintf(json, sizeof json,
                 "{\"instantTime\":\"%s\",\"completionTime\":\"%s\",\"action\":\"%s\",\"version\":1}",
                 requested, completed, action);
        OK(sl_batch_builder_json_line(&b, json, strlen(json)));
    }
    OK(sl_batch_builder_finish(&b, &batch));
    put_text(t, ".hoodie/timeline/history/manifest_1", "{\"files\":[]}");
    put_text(t, ".hoodie/timeline/history/manifest_2",
             "{\"files\":[{\"fileName\":\"10_39_0.parquet\",\"fileLen\":1}]}");
    snprintf(path, sizeof path, "%s/.hoodie/timeline/history/10_39_0.parquet", t->root);
    OK(sl_storage_create(t->table->storage, path, &output));
    OK(sl_parquet_writer_new(output, schema, NULL, &w));
    OK(sl_parquet_writer_write(w, batch));
    OK(sl_parquet_writer_finish(w, NULL));
    OK(sl_output_finish(output));
    sl_batch_unref(batch);
    sl_batch_builder_free(&b);
    sl_type_unref(schema);
}

/* Delta commit 20 completed at 41, after compaction 30: its log lies on the new base. Without the archived timeline its
 * requested time stands in, and the log would be taken for folded. */
static void archived_logs_go_by_their_completion(void **state)
{
    (void)state;
    for (int with_history = 0; with_history < 2; with_history++) {
        struct test_table t = with_partition();
        lay(&t, (const char *const[]){"50_51.deltacommit", NULL},
            (const char *const[]){"g_1-0-1_10.parquet", "g_1-0-1_20_1.log.parquet",
                                  "g_1-0-1_25_1.log.parquet", "g_1-0-1_30.parquet",
                                  "g_1-0-1_50_1.log.parquet", NULL});
        if (with_history)
            archive(&t, (const char *const[]){"10 11 deltacommit", "20 41 deltacommit", "22 23 clean",
                                              "25 26 deltacommit", "30 39 commit", NULL});
        check(&t, NULL,
              with_history ? "30 b30 L20.1 L50.1 | 10 b10 L25.1" : "30 b30 L50.1 | 10 b10 L20.1 L25.1",
              with_history ? "30 20 50" : "30 50", "30");
        table_gone(&t);
    }
}

/* The reference's own archive: six actions of spec/timeline.md's vectors, among them a compaction stored as commit. */
static void archives_of_the_reference_are_read(void **state)
{
    (void)state;
    struct test_table t = with_partition();
    static const char *const names[] = {"20261130025537907_20261130025552876_0.parquet", "manifest_1",
                                        "_version_"};
    for (size_t i = 0; i < 3; i++) {
        char path[128], target[128];
        snprintf(path, sizeof path, "timeline/v9mor/%s", names[i]);
        struct file_bytes file = test_file(path);
        snprintf(target, sizeof target, ".hoodie/timeline/history/%s", names[i]);
        put_bytes(&t, target, file.data, file.len);
        free(file.data);
    }
    sl_timeline timeline;
    OK(sl_timeline_load(t.table, &timeline));
    OK(timeline_load_history(t.table, &timeline));
    assert_int_equal(timeline.archived_count, 6);
    assert_string_equal(timeline_archived_completion(&timeline, "20261130025540383"), "20261130025542972");
    assert_string_equal(timeline_archived_completion(&timeline, "20261130025552876"), "20261130025554994");
    assert_null(timeline_archived_completion(&timeline, "20261130025552877"));
    sl_timeline_free(&timeline);
    table_gone(&t);
}

static void logs_follow_their_base(void **state)
{
    (void)state;
    struct test_table t = with_partition();
    lay(&t, (const char *const[]){"10_11.deltacommit", "20_21.deltacommit", "30_31.deltacommit", NULL},
        (const char *const[]){
            "f-0_1-0-1_10.parquet", "f-0_1-0-1_30_1.log.parquet", "f-0_1-0-1_20_1.deletes.parquet",
            "f-0_1-0-1_20_1.log.parquet", "f-0_1-0-1_20_1.cdc.parquet", "f-0_1-0-1_20_2.log.parquet",
            "f-0_1-0-1_40_1.log.parquet", "f-0_1-0-1_40.parquet", ".x.crc", "notes.txt", NULL});
    check(&t, NULL, "10 b10 L20.1 D20.1 L20.2 L30.1", "10 20 20 20 30", "10");
    check(&t, "29", "10 b10 L20.1 D20.1 L20.2", "10 20 20 20", "10");
    check(&t, "20", "10 b10 L20.1 D20.1 L20.2", "10 20 20 20", "10");
    check(&t, "19", "10 b10", "10", "10");
    sl_view view = view_at(&t, "09");
    assert_int_equal(view.partitions[0].group_count, 0);
    sl_view_free(&view);
    table_gone(&t);
}

/* G-13: a delta commit that starts before and completes after the compaction's instant belongs to its new slice. */
static void logs_go_by_completion_time(void **state)
{
    (void)state;
    struct test_table t = with_partition();
    lay(&t,
        (const char *const[]){"10_11.deltacommit", "20_45.deltacommit", "25_26.deltacommit", "30_40.commit",
                              "50_55.deltacommit", "60.deltacommit.requested", "60.deltacommit.inflight",
                              NULL},
        (const char *const[]){"f-0_1-0-1_10.parquet", "f-0_1-0-1_20_1.log.parquet",
                              "f-0_1-0-1_25_1.log.parquet", "f-0_1-0-1_30.parquet",
                              "f-0_1-0-1_50_1.log.parquet", "f-0_1-0-1_60_1.log.parquet", NULL});
    check(&t, NULL, "30 b30 L20.1 L50.1 | 10 b10 L25.1", "30 20 50", "30");
    /* time travel cuts the timeline first: at 29 there was no compaction */
    check(&t, "29", "10 b10 L20.1 L25.1", "10 20 25", "10");
    table_gone(&t);
}

/* A plan alone opens a slice; until it completes, reads merge it with the slice before, whose logs come first. */
static void pending_compaction_reads_the_slice_before(void **state)
{
    (void)state;
    struct test_table t = with_partition();
    lay(&t,
        (const char *const[]){"10_11.deltacommit", "20_45.deltacommit", "25_26.deltacommit",
                              "30.compaction.inflight", "35_36.deltacommit", NULL},
        (const char *const[]){"f-0_1-0-1_10.parquet", "f-0_1-0-1_20_1.log.parquet",
                              "f-0_1-0-1_25_1.log.parquet", "f-0_1-0-1_30.parquet",
                              "f-0_1-0-1_35_1.log.parquet", NULL});
    plan_compaction(&t, "30", "f-0");
    check(&t, NULL, "30+ L20.1 L35.1 | 10 b10 L25.1", "10 25 20 35", "10");
    check(&t, "29", "10 b10 L20.1 L25.1", "10 20 25", "10");
    /* once it is completed the same rows come from the new base */
    put_files(&t, ".hoodie/timeline", (const char *const[]){"30_40.commit", NULL});
    check(&t, NULL, "30 b30 L20.1 L35.1 | 10 b10 L25.1", "30 20 35", "30");
    table_gone(&t);
}

static void logs_alone_open_a_slice(void **state)
{
    (void)state;
    struct test_table t = with_partition();
    lay(&t, (const char *const[]){"10.deltacommit.inflight", "20_21.deltacommit", "30_31.deltacommit", NULL},
        (const char *const[]){"f-0_1-0-1_10_1.log.parquet", "f-0_1-0-1_20_1.log.parquet",
                              "f-0_1-0-1_30_1.log.parquet", NULL});
    check(&t, NULL, "20 L20.1 L30.1", "- 20 30", "nothing");
    plan_compaction(&t, "40", "f-0");
    put_files(&t, ".hoodie/timeline", (const char *const[]){"50_51.deltacommit", NULL});
    put_files(&t, "a", (const char *const[]){"f-0_1-0-1_50_1.log.parquet", NULL});
    check(&t, NULL, "40+ L50.1 | 20 L20.1 L30.1", "- 20 30 50", "nothing");
    table_gone(&t);
}

/* A log that completed before the oldest base opens a slice of its own below it. */
static void older_log_lies_below_the_base(void **state)
{
    (void)state;
    struct test_table t = with_partition();
    lay(&t, (const char *const[]){"10_11.deltacommit", "20_25.commit", "30_31.deltacommit", NULL},
        (const char *const[]){"f-0_1-0-1_10_1.log.parquet", "f-0_1-0-1_20.parquet",
                              "f-0_1-0-1_30_1.log.parquet", NULL});
    check(&t, NULL, "20 b20 L30.1 | 10 L10.1", "20 30", "20");
    table_gone(&t);
}

static void replaced_groups_vanish(void **state)
{
    (void)state;
    struct test_table t = with_partition();
    lay(&t,
        (const char *const[]){"10_11.deltacommit", "30.clustering.requested", "30.clustering.inflight", NULL},
        (const char *const[]){"f-0_1-0-1_10.parquet", "g-0_1-0-1_10.parquet", "h-0_1-0-1_20.parquet", NULL});
    put_avro(&t, ".hoodie/timeline/20_21.replacecommit", "HoodieReplaceCommitMetadata",
             json_pack("{s:{}, s:{s:[s], s:[s]}}", "partitionToWriteStats", "partitionToReplaceFileIds", "a",
                       "f-0", "b", "g-0"));
    sl_view view = view_at(&t, NULL);
    assert_int_equal(view.partitions[0].group_count, 2); /* g-0 is replaced in another partition only */
    assert_string_equal(view.partitions[0].groups[0].file_id, "g-0");
    assert_string_equal(view.partitions[0].groups[1].file_id, "h-0");
    sl_view_free(&view);
    view = view_at(&t, "15");
    assert_int_equal(view.partitions[0].group_count, 2);
    assert_string_equal(view.partitions[0].groups[0].file_id, "f-0");
    assert_string_equal(view.partitions[0].groups[1].file_id, "g-0");
    sl_view_free(&view);
    table_gone(&t);
}

/* What is older than the active timeline is archived, so completed; time travel back there shows nothing later. */
static void archived_instants_count_as_completed(void **state)
{
    (void)state;
    struct test_table t = with_partition();
    lay(&t,
        (const char *const[]){"05_06.restore", "12_13.savepoint", "20_21.deltacommit",
                              "22.deltacommit.inflight", NULL},
        (const char *const[]){"f-0_1-0-1_10.parquet", "f-0_1-0-1_12_1.log.parquet",
                              "f-0_1-0-1_20_1.log.parquet", "f-0_1-0-1_22_1.log.parquet",
                              "f-0_1-0-1_21_1.log.parquet", NULL});
    check(&t, NULL, "10 b10 L12.1 L20.1", "10 12 20", "10");
    check(&t, "15", "10 b10 L12.1", "10 12", "10");
    check(&t, "12", "10 b10 L12.1", "10 12", "10");
    check(&t, "11", "10 b10", "10", "10");
    table_gone(&t);
}

static void inline_and_native_logs_share_a_slice(void **state)
{
    (void)state;
    struct test_table t = with_partition();
    lay(&t, (const char *const[]){"10_11.commit", "20_21.deltacommit", "30_31.deltacommit", NULL},
        (const char *const[]){"f-0_1-0-1_10.parquet", "f-0_1-0-1_30_1.log.parquet", ".f-0_20.log.1_1-0-1",
                              ".f-0_20.log.2_1-0-1", ".f-0_20.log.2_1-0-1.cdc", NULL});
    check(&t, NULL, "10 b10 I20.1 I20.2 L30.1", "10 20 20 30", "10");
    table_gone(&t);
}

static void partitions_are_folders_with_metadata(void **state)
{
    (void)state;
    struct test_table t = partitioned((const char *const[]){"b/x", "a", "", NULL});
    put_text(&t, "lost/f-0_1-0-1_10.parquet", "");
    put_text(&t, "c/.hoodie_partition_metadata.parquet", "");
    put_text(&t, ".hoodie/metadata/files/.hoodie_partition_metadata", "");
    sl_strings partitions;
    OK(sl_partitions_list(t.table, &partitions));
    assert_int_equal(partitions.count, 4);
    assert_string_equal(partitions.items[0], "");
    assert_string_equal(partitions.items[1], "a");
    assert_string_equal(partitions.items[2], "b/x");
    assert_string_equal(partitions.items[3], "c");
    sl_strings_free(&partitions);
    /* only the wanted ones; one that is not there yet is empty */
    sl_strings wanted = {0};
    sl_view view;
    OK(sl_strings_add(&wanted, "new/one"));
    OK(sl_strings_add(&wanted, "a"));
    OK(sl_view_load(t.table, &(struct sl_view_options){.partitions = &wanted}, &view));
    assert_int_equal(view.partition_count, 2);
    assert_string_equal(view.partitions[0].path, "new/one");
    assert_int_equal(view.partitions[0].group_count, 0);
    sl_view_free(&view);
    sl_strings_free(&wanted);
    table_gone(&t);
}

/* Completion order must not matter for the order of logs: it is by requested instant. */
static void logs_are_ordered_by_requested_time(void **state)
{
    (void)state;
    struct test_table t = with_partition();
    lay(&t,
        (const char *const[]){"10_11.deltacommit", "20_39.deltacommit", "21_22.deltacommit",
                              "23_24.deltacommit", NULL},
        (const char *const[]){"f-0_1-0-1_10.parquet", "f-0_1-0-1_23_1.log.parquet",
                              "f-0_1-0-1_21_1.log.parquet", "f-0_2-0-1_20_1.log.parquet",
                              "f-0_1-0-1_20_2.log.parquet", "f-0_1-0-1_20_1.deletes.parquet",
                              "f-0_1-0-1_20_1.log.parquet", NULL});
    check(&t, NULL, "10 b10 L20.1 D20.1 L20.1 L20.2 L21.1 L23.1", "10 20 20 20 20 21 23", "10");
    table_gone(&t);
}

static void damaged_plans_are_named(void **state)
{
    (void)state;
    struct test_table t = with_partition();
    sl_view view;
    put_text(&t, ".hoodie/timeline/30.compaction.requested", "Obj\1 nothing");
    FAILS(sl_view_load(t.table, NULL, &view), SL_E_CORRUPT, "30.compaction.requested");
    table_gone(&t);
    t = with_partition();
    put_text(&t, ".hoodie/timeline/30_31.replacecommit", "{\"partitionToReplaceFileIds\":{\"a\":[7]}}");
    FAILS(sl_view_load(t.table, NULL, &view), SL_E_CORRUPT, "instant 30");
    table_gone(&t);
}

static void survives_failing_allocations(void **state)
{
    (void)state;
    struct test_table t = with_partition();
    lay(&t, (const char *const[]){"10_11.deltacommit", "20_21.deltacommit", NULL},
        (const char *const[]){"f-0_1-0-1_10.parquet", "f-0_1-0-1_20_1.log.parquet",
                              "g-0_1-0-1_20_1.log.parquet", NULL});
    plan_compaction(&t, "30", "f-0");
    bool failed = true;
    for (uint64_t n = 1; failed; n++) {
        sl_view view;
        sl_test_fail_allocation(n, false);
        sl_status status = sl_view_load(t.table, NULL, &view);
        sl_test_fail_allocation(0, false);
        failed = status != SL_OK;
        if (!failed) {
            assert_int_equal(view.partitions[0].group_count, 2);
            sl_view_free(&view);
        } else {
            assert_int_equal(sl_status_code(status), SL_E_MEMORY);
        }
        sl_status_free(status);
        assert_true(n < 100000);
    }
    table_gone(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(archived_logs_go_by_their_completion),
        cmocka_unit_test(archives_of_the_reference_are_read),
        cmocka_unit_test(logs_follow_their_base),
        cmocka_unit_test(logs_go_by_completion_time),
        cmocka_unit_test(pending_compaction_reads_the_slice_before),
        cmocka_unit_test(logs_alone_open_a_slice),
        cmocka_unit_test(older_log_lies_below_the_base),
        cmocka_unit_test(replaced_groups_vanish),
        cmocka_unit_test(archived_instants_count_as_completed),
        cmocka_unit_test(inline_and_native_logs_share_a_slice),
        cmocka_unit_test(partitions_are_folders_with_metadata),
        cmocka_unit_test(logs_are_ordered_by_requested_time),
        cmocka_unit_test(damaged_plans_are_named),
        cmocka_unit_test(survives_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
