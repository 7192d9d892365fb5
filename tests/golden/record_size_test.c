/* The estimated size of a stored record against vectors of Apache Hudi 1.2.0 (tests/data/write-path/record_size.json). */
#include "table_support.h"
#include "write/write_int.h"

/* One stat of a commit; a log says so by its version. */
static json_t *stat_of(const json_t *s)
{
    json_t *stat = json_pack("{s:s, s:O, s:O}", "fileId", "f", "totalWriteBytes", json_object_get(s, "bytes"),
                             "numWrites", json_object_get(s, "records"));
    if (!json_is_true(json_object_get(s, "base")))
        json_object_set_new(stat, "logVersion", json_integer(1));
    return stat;
}

/* Commits oldest first. */
static void put_commits(const struct test_table *t, const json_t *commits)
{
    const json_t *commit, *s;
    size_t i, k;
    json_array_foreach(commits, i, commit)
    {
        char name[100];
        json_t *stats = json_array();
        json_array_foreach(json_object_get(commit, "stats"), k, s) json_array_append_new(stats, stat_of(s));
        snprintf(name, sizeof name, ".hoodie/timeline/2026010100000000%zu_2026010100000001%zu.%s", i, i,
                 json_string_value(json_object_get(commit, "action")));
        put_avro(t, name, "HoodieCommitMetadata",
                 json_pack("{s:{s:o}, s:b, s:{}, s:n, s:s}", "partitionToWriteStats", "p", stats, "compacted",
                           0, "extraMetadata", "version", "operationType", "UPSERT"));
    }
}

static void estimate_is(const json_t *c)
{
    const json_t *config = json_object_get(c, "config");
    char limit[32], threshold[32], metadata[32], fallback[32];
    struct test_table t =
        table_created("id long", (const char *const[]){"hoodie.table.recordkey.fields", "id", NULL});
    sl_timeline timeline;
    int64_t estimate;
#define TEXT(into, name)                                                                                     \
    snprintf(into, sizeof into, "%" PRId64, (int64_t)json_integer_value(json_object_get(config, name)))
    TEXT(limit, "small_limit");
    TEXT(metadata, "metadata_size");
    TEXT(fallback, "default");
#undef TEXT
    snprintf(threshold, sizeof threshold, "%g", json_number_value(json_object_get(config, "threshold")));
    put_commits(&t, json_object_get(c, "commits"));
    table_reopen(&t, (const char *const[]){"hoodie.parquet.small.file.limit", limit,
                                           "hoodie.record.size.estimation.threshold", threshold,
                                           "hoodie.record.size.estimator.average.metadata.size", metadata,
                                           "hoodie.copyonwrite.record.size.estimate", fallback, NULL});
    OK(sl_timeline_load(t.table, &timeline));
    OK(record_size_estimate(t.table, &timeline, &estimate));
    assert_int_equal(estimate, json_integer_value(json_object_get(c, "average")));
    sl_timeline_free(&timeline);
    table_gone(&t);
}

static void record_sizes(void **state)
{
    (void)state;
    const char *data = getenv("SL_TEST_DATA");
    char path[512];
    json_error_t error;
    snprintf(path, sizeof path, "%s/write-path/record_size.json", data ? data : "tests/data");
    json_t *vectors = json_load_file(path, 0, &error), *c;
    size_t i, checked = 0;
    if (!vectors)
        fail_msg("%s: %s", path, error.text);
    json_array_foreach(json_object_get(vectors, "cases"), i, c)
    {
        json_int_t commits = json_integer_value(json_object_get(json_object_get(c, "config"), "max_commits"));
        if (commits != 5) /* an internal setting of Hudi's, 5 by default and here */
            continue;
        estimate_is(c);
        checked++;
    }
    assert_int_equal(checked, 10);
    json_decref(vectors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(record_sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
