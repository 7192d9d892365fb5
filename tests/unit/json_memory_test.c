/* What the engine says in JSON (plans, tasks, the timeline) when jansson finds no memory at its n-th request: all of it or an
 * error, never less. A plan without one of its logs would lose rows. */
#include "table_folder.h"
#include <jansson.h>
#include <stdatomic.h>

static atomic_long requests_left = -1; /* below 0: all are granted */

static void *allocate(size_t bytes)
{
    bool refuse = atomic_load(&requests_left) >= 0 && atomic_fetch_sub(&requests_left, 1) == 0;
    return refuse ? NULL : malloc(bytes);
}

static int make(void **state)
{
    const sl_type *schema;
    sluice_table *t;
    sluice_error e;
    table_folder_make(state);
    json_set_alloc_funcs(allocate, free);
    ok(sl_schema_parse("k string, v long", &schema));
    create_lsm_table(path, schema);
    OK(sluice_table_open(path, NULL, &t, &e));
    for (int commit = 0; commit < 4; commit++) {
        sl_batch_builder b;
        sl_batch *batch;
        sluice_commit_info info;
        ok(sl_batch_builder_init(&b, schema));
        ok(sl_batch_builder_json_line(&b, "{\"k\":\"one\",\"v\":1}", 17));
        ok(sl_batch_builder_finish(&b, &batch));
        sl_batch_builder_free(&b);
        OK(write_batch(t, SLUICE_UPSERT, batch, &info, &e));
        sl_batch_unref(batch);
    }
    sluice_table_close(t);
    sl_type_unref(schema);
    return 0;
}

typedef int (*saying)(sluice_table *t, char **json, sluice_error *e);

static int say_plan(sluice_table *t, char **json, sluice_error *e)
{
    return sluice_service_preview(t, SLUICE_COMPACT, json, e);
}
static int say_timeline(sluice_table *t, char **json, sluice_error *e)
{
    return sluice_table_describe(t, SLUICE_DESCRIBE_TIMELINE, json, e);
}
static int say_task(sluice_table *t, char **json, sluice_error *e)
{
    sluice_scan *scan;
    sluice_job *job = NULL;
    int code = sluice_scan_new(t, &scan, e);
    if (code)
        return code;
    code = sluice_job_plan_scan(scan, &job, e);
    if (!code) {
        size_t bytes;
        const char *task = sluice_job_task(job, 0, &bytes);
        assert_non_null(*json = sl_strndup(task, bytes));
    }
    sluice_job_free(job);
    sluice_scan_free(scan);
    return code;
}

static void all_or_an_error(void **state)
{
    (void)state;
    static const saying sayings[] = {say_plan, say_timeline, say_task};
    for (size_t i = 0; i < sizeof sayings / sizeof *sayings; i++) {
        char *whole, *json;
        sluice_table *t;
        sluice_error e;
        long refused = 0;
        OK(sluice_table_open(path, NULL, &t, &e));
        OK(sayings[i](t, &whole, &e));
        assert_non_null(strstr(whole, sayings[i] == say_timeline ? "deltacommit" : ".parquet"));
        for (long n = 0;; n++) {
            atomic_store(&requests_left, n);
            int code = sayings[i](t, &json, &e);
            bool granted_all = atomic_exchange(&requests_left, -1) >= 0;
            refused += code != 0;
            if (!code) {
                size_t same = 0;
                while (json[same] && json[same] == whole[same])
                    same++;
                if (json[same] || whole[same])
                    fail_msg("request %ld: \"%.40s\" where \"%.40s\" was to be", n, json + same,
                             whole + same);
                sluice_free(json);
            }
            if (granted_all)
                break;
        }
        assert_true(refused > 10);
        sluice_free(whole);
        sluice_table_close(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_or_an_error),
    };
    return cmocka_run_group_tests(tests, make, table_folder_remove);
}
