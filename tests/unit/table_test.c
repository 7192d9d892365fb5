/* A table's state on storage: properties, settings, instants, timeline, commit metadata, markers, partitions, lock,
 * transactions, rollback (spec/timeline.md). */
#include "table_support.h"
#include <sys/wait.h>
#include <time.h>

static const char *const lsm_properties[] = {"hoodie.table.storage.layout",
                                             "lsm_tree",
                                             "hoodie.table.recordkey.fields",
                                             "k",
                                             "hoodie.table.partition.fields",
                                             "p",
                                             "hoodie.table.ordering.fields",
                                             "ts",
                                             NULL};
#define SCHEMA "k string, p string, ts long, v double"

static struct test_table lsm_table(void) { return table_created(SCHEMA, lsm_properties); }

/* ---- properties ---------------------------------------------------------------------------------------- */

static sl_properties properties_of(const char *text)
{
    sl_properties p;
    OK(sl_properties_parse(text, strlen(text), &p));
    return p;
}

/* Lines of a text, without comments, sorted. */
static sl_strings lines_of(const char *text, size_t len)
{
    sl_strings lines = {0};
    for (const char *at = text, *end = text + len; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((newline ? newline : end) - at);
        char *line = sl_strndup(at, n);
        assert_non_null(line);
        if (n && *line != '#')
            OK(sl_strings_add(&lines, line));
        sl_free(line);
        at += n + 1;
    }
    sl_strings_sort(&lines);
    return lines;
}

/* Every line that Hudi wrote comes out as it was. */
static void properties_of_hudi_are_reproduced(void **state)
{
    (void)state;
    static const char *const files[] = {"timeline/v6/hoodie.properties", "timeline/v8/hoodie.properties",
                                        "timeline/v9/hoodie.properties", "table/create_schema.properties"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct file_bytes file = test_file(files[i]);
        sl_properties p;
        sl_buf text = {0};
        OK(sl_properties_parse(file.data, file.len, &p));
        OK(sl_properties_text(&p, "again", &text));
        sl_strings want = lines_of((const char *)file.data, file.len),
                   got = lines_of((const char *)text.data, text.len);
        assert_int_equal(got.count, want.count);
        assert_true(got.count > 15);
        for (size_t k = 0; k < want.count; k++)
            assert_string_equal(got.items[k], want.items[k]);
        char checksum[16];
        properties_checksum(&p, checksum);
        assert_string_equal(checksum, sl_properties_get(&p, "hoodie.table.checksum"));
        sl_strings_free(&want);
        sl_strings_free(&got);
        sl_properties_free(&p);
        sl_buf_free(&text);
        free(file.data);
    }
}

/* java.util.Properties, spec/timeline.md 3.1. */
static void properties_are_read_as_java_reads_them(void **state)
{
    (void)state;
    sl_properties p = properties_of("# comment = no\n"
                                    "  ! neither\\\n"
                                    "\n \t\f\n"
                                    "plain=value\n"
                                    "  indented  =  spaces around  \n"
                                    "colon:c\r\n"
                                    "blank b\r"
                                    "blanks   =   eq\n"
                                    "key\\ with\\=odd\\:chars=x=y:z\n"
                                    "long=one,\\\n     two,\\\r\n\tthree\n"
                                    "even=backslash\\\\\n"
                                    "escapes=\\t\\n\\r\\f\\q\\u00e9\\uD83D\\uDE00\\u20AC\n"
                                    "latin=\xe9\n"
                                    "empty=\n"
                                    "alone\n"
                                    "twice=1\ntwice=2\n"
                                    "last=end\\");
    static const char *const want[][2] = {
        {"plain", "value"},
        {"indented", "spaces around  "},
        {"colon", "c"},
        {"blank", "b"},
        {"blanks", "eq"},
        {"key with=odd:chars", "x=y:z"},
        {"long", "one,two,three"},
        {"even", "backslash\\"},
        {"escapes", "\t\n\r\fq\xc3\xa9\xf0\x9f\x98\x80\xe2\x82\xac"},
        {"latin", "\xc3\xa9"},
        {"empty", ""},
        {"alone", ""},
        {"twice", "2"},
        {"last", "end"},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const char *value = sl_properties_get(&p, want[i][0]);
        if (!value)
            fail_msg("%s is missing", want[i][0]);
        assert_string_equal(value, want[i][1]);
    }
    assert_int_equal(p.keys.count, sizeof want / sizeof *want);
    assert_null(sl_properties_get(&p, "comment"));
    sl_properties_free(&p);
}

static void damaged_properties_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"a=\\u12",          "a=\\u12G4", "a=\\uD83D", "a=\\uD83Dx",
                                        "a=\\uD83D\\u0041", "a=\\uDE00", "a=\\u0000", "\\u0000=a"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        sl_properties p;
        FAILS(sl_properties_parse(texts[i], strlen(texts[i]), &p), SL_E_CORRUPT, "properties");
    }
}

/* What is written is read back, whatever the characters. */
static void properties_round_trip(void **state)
{
    (void)state;
    const char *text = getenv("SEED");
    unsigned seed = text ? (unsigned)atoi(text) : (unsigned)time(NULL);
    print_message("SEED=%u\n", seed);
    static const char *const atoms[] = {" ",
                                        "\t",
                                        "\n",
                                        "\r",
                                        "\f",
                                        "\\",
                                        "=",
                                        ":",
                                        "#",
                                        "!",
                                        "a",
                                        "Z",
                                        "~",
                                        "\x7f",
                                        "\x01",
                                        "\xc3\xa9",
                                        "\xe2\x82\xac",
                                        "\xf0\x9f\x98\x80",
                                        "\xef\xbf\xbf",
                                        "u0041",
                                        ","};
    for (int round = 0; round < 300; round++) {
        sl_properties p = {0}, again;
        sl_buf out = {0};
        for (int n = 0; n < 4; n++) {
            char key[64], value[64] = "";
            snprintf(key, sizeof key, "%d", n);
            for (int i = 0; i < 8; i++) {
                seed = seed * 1103515245u + 12345u;
                strcat(i < 4 ? key : value, atoms[(seed >> 16) % (sizeof atoms / sizeof *atoms)]);
            }
            OK(sl_properties_set(&p, key, value));
        }
        OK(sl_properties_text(&p, "test", &out));
        for (size_t i = 0; i < out.len; i++)
            assert_true(out.data[i] == '\n' || (out.data[i] >= 0x20 && out.data[i] <= 0x7E));
        OK(sl_properties_parse(out.data, out.len, &again));
        assert_int_equal(again.keys.count, p.keys.count);
        for (size_t i = 0; i < p.keys.count; i++) {
            assert_string_equal(again.keys.items[i], p.keys.items[i]);
            assert_string_equal(again.values.items[i], p.values.items[i]);
        }
        sl_properties_free(&p);
        sl_properties_free(&again);
        sl_buf_free(&out);
    }
}

static void properties_are_set_and_removed(void **state)
{
    (void)state;
    sl_properties p = properties_of("a=1\nb=TRUE\nc=no\n");
    OK(sl_properties_set(&p, "a", "2"));
    OK(sl_properties_set(&p, "d", "4"));
    OK(sl_properties_set(&p, "missing", NULL));
    assert_true(sl_properties_true(&p, "b", false));
    assert_false(sl_properties_true(&p, "c", true));
    assert_true(sl_properties_true(&p, "x", true));
    OK(sl_properties_set(&p, "b", NULL));
    assert_int_equal(p.keys.count, 3);
    assert_string_equal(sl_properties_get(&p, "a"), "2");
    assert_null(sl_properties_get(&p, "b"));
    assert_string_equal(sl_properties_get_or(&p, "b", "fallback"), "fallback");
    sl_properties_free(&p);
}

/* spec/timeline.md 3.2 */
static void checksums_cover_the_names(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"hoodie.table.name=v9cow\n", "289440047"},
        {"hoodie.table.name=t1\nhoodie.table.type=x\n", "3609136688"},
        {"hoodie.database.name=default\nhoodie.table.name=ix5\n", "4109806260"},
    };
    for (size_t i = 0; i < 3; i++) {
        char checksum[16];
        sl_properties p = properties_of(cases[i][0]);
        properties_checksum(&p, checksum);
        assert_string_equal(checksum, cases[i][1]);
        sl_properties_free(&p);
    }
}

#define MINIMUM                                                                                              \
    "hoodie.table.name=t1\nhoodie.table.type=COPY_ON_WRITE\nhoodie.table.version=9\nhoodie.timeline.layout." \
    "version=2\n"                                                                                            \
    "hoodie.table.recordkey.fields=k\n"
#define MAIN   ".hoodie/hoodie.properties"
#define BACKUP ".hoodie/hoodie.properties.backup"

static void checksum_decides_whether_a_file_counts(void **state)
{
    (void)state;
    struct test_table t = table_of(MINIMUM "hoodie.table.checksum=3609136688\n");
    sl_properties p;
    put_text(&t, MAIN, MINIMUM "hoodie.table.checksum=1\n");
    FAILS(properties_load(t.table->storage, t.root, &p), SL_E_CORRUPT, "checksum is 1");
    put_text(&t, MAIN, "hoodie.table.version=9\n");
    FAILS(properties_load(t.table->storage, t.root, &p), SL_E_CORRUPT, "hoodie.table.name is missing");
    put_text(&t, MAIN, "");
    FAILS(properties_load(t.table->storage, t.root, &p), SL_E_CORRUPT, "hoodie.properties");
    put_text(&t, MAIN, MINIMUM); /* none is fine */
    OK(properties_load(t.table->storage, t.root, &p));
    sl_properties_free(&p);
    remove_file(&t, MAIN);
    FAILS(properties_load(t.table->storage, t.root, &p), SL_E_NOT_FOUND, "");
    table_gone(&t);
}

/* A replacement that died at any step is read and finished: spec/timeline.md 3.3. */
static void backup_stands_in(void **state)
{
    (void)state;
    static const char *const damaged[] = {NULL, "", "hoodie.table.na", MINIMUM "hoodie.table.checksum=1\n"};
    static const char *const keys[] = {"hoodie.test"}, *const values[] = {"changed"};
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        struct test_table t = table_of(MINIMUM);
        sl_properties p;
        put_text(&t, BACKUP, MINIMUM "from=backup\n");
        if (damaged[i])
            put_text(&t, MAIN, damaged[i]);
        else
            remove_file(&t, MAIN);
        OK(properties_load(t.table->storage, t.root, &p));
        assert_string_equal(sl_properties_get(&p, "from"), "backup");
        sl_properties_free(&p);
        OK(sl_table_set_properties(t.table, keys, values, 1));
        assert_false(there_is(&t, BACKUP));
        OK(properties_load(t.table->storage, t.root, &p));
        assert_string_equal(sl_properties_get(&p, "from"), "backup");
        assert_string_equal(sl_properties_get(&p, "hoodie.test"), "changed");
        sl_properties_free(&p);
        assert_string_equal(sl_properties_get(&t.table->properties, "hoodie.test"), "changed");
        table_gone(&t);
    }
    /* a good main file beats whatever the backup says */
    struct test_table t = table_of(MINIMUM "from=main\n");
    sl_properties p;
    put_text(&t, BACKUP, "garbage");
    OK(sl_table_set_properties(t.table, keys, values, 1));
    assert_false(there_is(&t, BACKUP));
    OK(properties_load(t.table->storage, t.root, &p));
    assert_string_equal(sl_properties_get(&p, "from"), "main");
    sl_properties_free(&p);
    /* both gone bad: an error, and nothing is touched */
    put_text(&t, MAIN, "x=1\n");
    put_text(&t, BACKUP, "y=1\n");
    FAILS(sl_table_set_properties(t.table, keys, values, 1), SL_E_CORRUPT, "backup");
    assert_true(there_is(&t, MAIN) && there_is(&t, BACKUP));
    table_gone(&t);
}

static void set_properties_removes_with_null(void **state)
{
    (void)state;
    struct test_table t = table_of(MINIMUM "one=1\ntwo=2\n");
    OK(sl_table_set_properties(t.table, (const char *const[]){"one", "three"},
                               (const char *const[]){NULL, "3"}, 2));
    assert_null(sl_properties_get(&t.table->properties, "one"));
    table_reopen(&t, NULL);
    assert_null(sl_properties_get(&t.table->properties, "one"));
    assert_string_equal(sl_properties_get(&t.table->properties, "two"), "2");
    assert_string_equal(sl_properties_get(&t.table->properties, "three"), "3");
    assert_string_equal(names_in(&t, ".hoodie"), "hoodie.properties timeline/");
    table_gone(&t);
}

/* ---- settings ------------------------------------------------------------------------------------------ */

static void settings_are_sorted_and_sound(void **state)
{
    (void)state;
    size_t count;
    const struct sl_setting *s = sl_settings(&count);
    assert_true(count > 40);
    for (size_t i = 0; i < count; i++) {
        if (i && strcmp(s[i - 1].key, s[i].key) >= 0)
            fail_msg("%s stands before %s", s[i - 1].key, s[i].key);
        assert_true(*s[i].meaning);
        if (*s[i].fallback)
            OK(sl_setting_check(s[i].key, s[i].fallback));
    }
}

static void settings_are_checked(void **state)
{
    (void)state;
    OK(sl_setting_check("sluice.memory", "512MiB"));
    OK(sl_setting_check("hoodie.meta.fields.mode", "ALL"));
    FAILS(sl_setting_check("hoodie.populate.meta.fields", "yes"), SL_E_INPUT, "neither true nor false");
    FAILS(sl_setting_check("sluice.threads", "4x"), SL_E_INPUT, "no whole number");
    FAILS(sl_setting_check("sluice.threads", ""), SL_E_INPUT, "no whole number");
    FAILS(sl_setting_check("sluice.threads", "99999999999999999999"), SL_E_INPUT, "no whole number");
    FAILS(sl_setting_check("sluice.memory", "lots"), SL_E_INPUT, "no size");
    sl_status status = sl_setting_check("hoodie.table.recordkey.field", "k");
    assert_int_equal(sl_status_code(status), SL_E_INPUT);
    assert_non_null(strstr(sl_status_hint(status), "hoodie.table.recordkey.fields"));
    sl_status_free(status);
    status = sl_setting_check("spark.master", "local");
    assert_int_equal(sl_status_code(status), SL_E_INPUT);
    assert_non_null(sl_status_hint(status));
    sl_status_free(status);
}

static void sizes_have_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"0", 0},
                {"1048576", 1048576},
                {"7b", 7},
                {"2k", 2048},
                {"2kb", 2000},
                {"2KiB", 2048},
                {"512MiB", 512u << 20},
                {"3g", 3ull << 30},
                {"1GB", 1000000000},
                {"1tb", 1000000000000},
                {"16777215TiB", 16777215ull << 40},
                {"1.5g", 3ull << 29},
                {"0.25k", 256},
                {"2.000001mb", 2000001},
                {"18446744073709551615", UINT64_MAX}};
    static const char *const bad[] = {"",
                                      "k",
                                      "-1",
                                      "1.g",
                                      ".5g",
                                      "1.5",
                                      "1.5b",
                                      "1.0000001g",
                                      "1 g",
                                      "2x",
                                      "1gibi",
                                      "18446744073709551616",
                                      "16777216TiB",
                                      "16777215.5TiB",
                                      "+1"};
    uint64_t bytes;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        OK(sl_parse_bytes(good[i].text, &bytes));
        assert_true(bytes == good[i].bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        FAILS(sl_parse_bytes(bad[i], &bytes), SL_E_INPUT, "no size");
}

static void handle_options_go_before_properties(void **state)
{
    (void)state;
    struct test_table t = table_of(MINIMUM "hoodie.parquet.page.size=100\nhoodie.index.type=BUCKET\n"
                                           "hoodie.bucket.index.num.buckets=8\n");
    int64_t number;
    uint64_t bytes;
    OK(sl_table_setting_bytes(t.table, "hoodie.parquet.page.size", 7, &bytes));
    assert_int_equal(bytes, 100);
    assert_int_equal(t.table->buckets.buckets, 8);
    table_reopen(&t, (const char *const[]){"hoodie.parquet.page.size", "2k", "sluice.threads", "x",
                                           "hoodie.metadata.enable", "false",
                                           "hoodie.bucket.index.num.buckets", "16", NULL});
    OK(sl_table_setting_bytes(t.table, "hoodie.parquet.page.size", 7, &bytes));
    assert_int_equal(bytes, 2048);
    assert_int_equal(t.table->buckets.buckets, 16);
    assert_false(sl_table_setting_true(t.table, "hoodie.metadata.enable", true));
    FAILS(sl_table_setting_int(t.table, "sluice.threads", 1, &number), SL_E_INPUT, "sluice.threads");
    OK(sl_table_setting_int(t.table, "hoodie.other", 9, &number));
    assert_int_equal(number, 9);
    table_gone(&t);
}

/* ---- instants ------------------------------------------------------------------------------------------ */

static void instants_are_formatted_in_their_zone(void **state)
{
    (void)state;
    char text[SL_INSTANT_BYTES];
    sl_instant_format(1709173800123, true, text);
    assert_string_equal(text, "20240229023000123");
    sl_instant_format(0, true, text);
    assert_string_equal(text, "19700101000000000");
    sl_instant_format(-1, true, text);
    assert_string_equal(text, "19691231235959999");
    assert_int_equal(setenv("TZ", "XYZ-5:30", 1), 0);
    tzset();
    sl_instant_format(1709173800123, false, text);
    assert_string_equal(text, "20240229080000123");
    sl_instant_format(1709173800123, true, text);
    assert_string_equal(text, "20240229023000123");
    assert_int_equal(unsetenv("TZ"), 0);
    tzset();
}

static void instants_are_parsed(void **state)
{
    (void)state;
    static const char *const good[][2] = {
        {"20240131", "20240131000000000"},
        {"20240131101530", "20240131101530999"},
        {"20240131101530123", "20240131101530123"},
        {"2024-01-31", "20240131000000000"},
        {"2024-01-31 10:15:30", "20240131101530999"},
        {"2024-01-31T10:15:30.123", "20240131101530123"},
    };
    static const char *const bad[] = {"",
                                      "2024",
                                      "2024-1-31",
                                      "202401311015",
                                      "2024013110153012",
                                      "202401311015301234",
                                      "2024-01-31 10:15",
                                      "2024-01-31-10:15:30",
                                      "2024 01 31",
                                      "20240131x",
                                      "2024-01-31 1:15:30.12",
                                      "now",
                                      "2024-01-31T10:15:30.123Z"};
    char text[SL_INSTANT_BYTES];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        OK(sl_instant_parse(good[i][0], text));
        assert_string_equal(text, good[i][1]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        FAILS(sl_instant_parse(bad[i], text), SL_E_INPUT, "is no instant");
}

/* The next instant is later than all there is, also when that lies in the future. */
static void instants_never_go_back(void **state)
{
    (void)state;
    struct test_table t = lsm_table();
    char drawn[SL_INSTANT_BYTES], now[SL_INSTANT_BYTES];
    sl_instant_format(sl_now_ms(), true, now);
    OK(sl_txn_draw(t.table, drawn));
    assert_true(strcmp(drawn, now) >= 0);
    put_text(&t, ".hoodie/timeline/20991231235959998_20991231235959999.clean", "");
    OK(sl_txn_draw(t.table, drawn));
    assert_string_equal(drawn, "21000101000000000");
    put_text(&t, ".hoodie/timeline/21000228235959999.deltacommit.requested", "");
    OK(sl_txn_draw(t.table, drawn));
    assert_string_equal(drawn, "21000301000000000"); /* 2100 is no leap year */
    put_text(&t, ".hoodie/timeline/9999.deltacommit.requested", "");
    FAILS(sl_txn_draw(t.table, drawn), SL_E_CORRUPT, "9999");
    table_gone(&t);
}

/* ---- timeline ------------------------------------------------------------------------------------------ */

/* "10:commit:C:11 20:compaction:R" */
static const char *timeline_text(const sl_timeline *timeline)
{
    static char text[4096];
    size_t n = 0;
    *text = 0;
    for (size_t i = 0; i < timeline->count; i++) {
        const sl_instant *x = &timeline->instants[i];
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s:%s:%c%s%s%s%s", i ? " " : "", x->requested,
                              sl_action_name(x->action), "RIC"[x->state], *x -> completed ? ":" : "",
                              x->completed, x->has_requested ? "r" : "", x->has_inflight ? "i" : "");
    }
    return text;
}

static void timeline_files_fold_into_instants(void **state)
{
    (void)state;
    struct test_table t = table_of(MINIMUM);
    put_files(&t, ".hoodie/timeline",
              (const char *const[]){
                  "10.commit.requested", "10.inflight", "10_11.commit", "20.compaction.requested",
                  "20.compaction.inflight", "20_25.commit", "30.logcompaction.requested", "30_31.deltacommit",
                  "40.clustering.requested", "40.clustering.inflight", "40_41.replacecommit",
                  "50.deltacommit.requested", "50.deltacommit.inflight", "60.compaction.requested",
                  "70.clean", "75_76.savepoint", "75.savepoint.inflight", "80.inflight",
                  /* none of these is one */
                  "90_91.commit.0f0e", "90.commit.requested.0f0e", "90_91", "90_.commit", "x.commit",
                  "90.other", "90_91.inflight", ".90_91.commit.crc", "90_91_92.commit",
                  "90_91.commit.requested", "999999999999999999999999999.commit", "90.schemacommit",
                  "history/manifest_1", NULL});
    sl_timeline timeline;
    OK(sl_timeline_load(t.table, &timeline));
    assert_string_equal(timeline_text(&timeline),
                        "10:commit:C:11ri 20:compaction:C:25ri 30:logcompaction:C:31r 40:clustering:C:41ri "
                        "50:deltacommit:Iri 60:compaction:Rr 70:clean:C:70 75:savepoint:C:76i 80:commit:Ii");
    assert_string_equal(timeline.first_commit, "10");
    assert_string_equal(sl_timeline_last_write(&timeline)->requested, "40");
    assert_string_equal(sl_timeline_completion(&timeline, "20"), "25");
    assert_null(sl_timeline_completion(&timeline, "50"));
    assert_null(sl_timeline_completion(&timeline, "15"));
    assert_null(sl_timeline_completion(&timeline, "70")); /* a clean writes nothing */
    assert_null(sl_timeline_completion(&timeline, "95"));
    assert_string_equal(sl_timeline_completion(&timeline, "05"), "05"); /* archived */
    assert_non_null(sl_timeline_find(&timeline, "20", SL_ACTION_COMPACTION));
    assert_null(sl_timeline_find(&timeline, "20", SL_ACTION_COMMIT));
    sl_timeline_free(&timeline);
    table_gone(&t);
}

static void instant_file_names(void **state)
{
    (void)state;
    static const struct {
        enum sl_action action, completed_as;
        const char *requested, *inflight, *completed;
    } cases[] = {
        {SL_ACTION_COMMIT, SL_ACTION_COMMIT, "1.commit.requested", "1.inflight", "1_2.commit"},
        {SL_ACTION_DELTACOMMIT, SL_ACTION_DELTACOMMIT, "1.deltacommit.requested", "1.deltacommit.inflight",
         "1_2.deltacommit"},
        {SL_ACTION_COMPACTION, SL_ACTION_COMMIT, "1.compaction.requested", "1.compaction.inflight",
         "1_2.commit"},
        {SL_ACTION_LOGCOMPACTION, SL_ACTION_DELTACOMMIT, "1.logcompaction.requested",
         "1.logcompaction.inflight", "1_2.deltacommit"},
        {SL_ACTION_CLUSTERING, SL_ACTION_REPLACECOMMIT, "1.clustering.requested", "1.clustering.inflight",
         "1_2.replacecommit"},
        {SL_ACTION_ROLLBACK, SL_ACTION_ROLLBACK, "1.rollback.requested", "1.rollback.inflight",
         "1_2.rollback"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sl_instant instant = {.requested = "1",
                              .completed = "2",
                              .action = cases[i].action,
                              .completed_as = cases[i].completed_as};
        char name[96];
        sl_instant_file(&instant, SL_REQUESTED, name);
        assert_string_equal(name, cases[i].requested);
        sl_instant_file(&instant, SL_INFLIGHT, name);
        assert_string_equal(name, cases[i].inflight);
        sl_instant_file(&instant, SL_COMPLETED, name);
        assert_string_equal(name, cases[i].completed);
    }
    sl_instant legacy = {
        .requested = "1", .completed = "1", .action = SL_ACTION_COMMIT, .completed_as = SL_ACTION_COMMIT};
    char name[96];
    sl_instant_file(&legacy, SL_COMPLETED, name);
    assert_string_equal(name, "1.commit");
}

static void instants_are_read_in_every_form(void **state)
{
    (void)state;
    struct test_table t = table_of(MINIMUM);
    struct file_bytes real = test_file("timeline/v9/20261130025314839_20261130025323014.commit");
    put_bytes(&t, ".hoodie/timeline/10_11.commit", real.data, real.len);
    put_text(&t, ".hoodie/timeline/20.commit", " \n{\"operationType\":\"JSON\"}"); /* an upgraded table's */
    put_text(&t, ".hoodie/timeline/30_31.commit", "");
    put_text(&t, ".hoodie/timeline/40_41.commit", "{\"operationType\":");
    put_text(&t, ".hoodie/timeline/50_51.commit", "Obj");
    sl_timeline timeline;
    OK(sl_timeline_load(t.table, &timeline));
    json_t *json;
    OK(sl_instant_json(t.table, &timeline.instants[0], SL_COMPLETED, &json));
    assert_string_equal(json_string_value(json_object_get(json, "operationType")), "UPSERT");
    json_decref(json);
    OK(sl_instant_json(t.table, &timeline.instants[1], SL_COMPLETED, &json));
    assert_string_equal(json_string_value(json_object_get(json, "operationType")), "JSON");
    json_decref(json);
    OK(sl_instant_json(t.table, &timeline.instants[2], SL_COMPLETED, &json));
    assert_int_equal(json_object_size(json), 0);
    json_decref(json);
    FAILS(sl_instant_json(t.table, &timeline.instants[3], SL_COMPLETED, &json), SL_E_CORRUPT,
          "instant 40_41.commit");
    FAILS(sl_instant_json(t.table, &timeline.instants[4], SL_COMPLETED, &json), SL_E_CORRUPT,
          "instant 50_51.commit");
    sl_timeline_free(&timeline);
    free(real.data);
    table_gone(&t);
}

/* ---- schema -------------------------------------------------------------------------------------------- */

static void assert_schema(const struct test_table *t, const char *upto, const char *want)
{
    sl_timeline timeline;
    const sl_type *schema;
    char *text;
    OK(sl_timeline_load(t->table, &timeline));
    OK(sl_table_schema(t->table, &timeline, upto, &schema));
    OK(sl_type_text(schema, &text));
    assert_string_equal(text, want);
    sl_free(text);
    sl_type_unref(schema);
    sl_timeline_free(&timeline);
}

static void put_commit(const struct test_table *t, const char *name, const char *extra_key, const char *extra)
{
    char path[256];
    snprintf(path, sizeof path, ".hoodie/timeline/%s", name);
    put_avro(t, path, "HoodieCommitMetadata",
             json_pack("{s:{}, s:b, s:{s:s}, s:s}", "partitionToWriteStats", "compacted", 0, "extraMetadata",
                       extra_key, extra, "operationType", "UPSERT"));
}

#define RECORD(fields)    "{\"type\":\"record\",\"name\":\"r\",\"fields\":[" fields "]}"
#define FIELD(name, type) "{\"name\":\"" name "\",\"type\":[\"null\",\"" type "\"],\"default\":null}"

static void schema_comes_from_the_newest_commit_that_has_one(void **state)
{
    (void)state;
    struct test_table t = lsm_table();
    assert_schema(&t, NULL, "struct<k: string, p: string, ts: long, v: double>");
    put_commit(&t, "10_11.deltacommit", "schema",
               RECORD(FIELD("_hoodie_commit_time", "string") "," FIELD("k", "string")));
    assert_schema(&t, NULL, "struct<k: string>");
    put_commit(&t, "20_21.deltacommit", "schema", RECORD(FIELD("k", "string") "," FIELD("n", "long")));
    put_commit(&t, "30_31.deltacommit", "schema", "");
    put_commit(&t, "40_41.deltacommit", "other", "x");
    put_commit(&t, "50.deltacommit.inflight", "schema", RECORD(FIELD("z", "long")));
    assert_schema(&t, NULL, "struct<k: string, n: long>");
    assert_schema(&t, "19", "struct<k: string>");
    put_commit(&t, "60_61.deltacommit", "schema", "{\"type\":");
    sl_timeline timeline;
    const sl_type *schema;
    OK(sl_timeline_load(t.table, &timeline));
    assert_true(sl_status_ignore(sl_table_schema(t.table, &timeline, NULL, &schema)));
    sl_timeline_free(&timeline);
    table_gone(&t);
}

/* Columns are matched by name: a history in which names and ids part is refused. */
static void renamed_columns_are_refused(void **state)
{
    (void)state;
    static const char history[] =
        "{\"schemas\":[{\"version_id\":2,\"type\":\"record\",\"fields\":[{\"id\":1,\"name\":\"%s\",\"type\":"
        "\"string\"},"
        "{\"id\":%d,\"name\":\"s\",\"type\":{\"type\":\"record\",\"fields\":[{\"id\":%d,\"name\":\"x\","
        "\"type\":\"int\"}]}}]},"
        "{\"version_id\":0,\"type\":\"record\",\"fields\":[{\"id\":1,\"name\":\"k\",\"type\":\"string\"},"
        "{\"id\":2,\"name\":\"s\",\"type\":{\"type\":\"record\",\"fields\":[{\"id\":3,\"name\":\"x\","
        "\"type\":\"int\"}]}}]}]}";
    static const struct {
        const char *name;
        int id, inner;
        const char *message;
    } cases[] = {{"k", 2, 3, NULL},
                 {"key", 2, 3, "column key was once k"},
                 {"k", 4, 5, "s was dropped and made anew"},
                 {"k", 2, 5, "s.x was dropped"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct test_table t = lsm_table();
        char text[2048];
        json_t *commit = json_pack("{s:{s:s}}", "extraMetadata", "latest_schema", "{}");
        snprintf(text, sizeof text, history, cases[i].name, cases[i].id, cases[i].inner);
        put_text(&t, ".hoodie/.schema/10_11.schemacommit", "{");
        put_text(&t, ".hoodie/.schema/20_21.schemacommit", text);
        put_text(&t, ".hoodie/.schema/30.schemacommit.requested", "");
        sl_status status = schema_history_check(t.table, commit);
        if (cases[i].message)
            FAILS(status, SL_E_UNSUPPORTED, cases[i].message);
        else
            OK(status);
        json_decref(commit);
        put_commit(&t, "20_22.deltacommit", "latest_schema", "{}");
        sl_timeline timeline;
        OK(sl_timeline_load(t.table, &timeline));
        FAILS(schema_history_refuse_write(t.table, &timeline), SL_E_UNSUPPORTED, "schema-on-read");
        sl_timeline_free(&timeline);
        table_gone(&t);
    }
}

/* ---- commit metadata ----------------------------------------------------------------------------------- */

static sl_write_stat stat_of(const char *partition, const char *file_id, const char *path, bool is_log)
{
    return (sl_write_stat){.partition = (char *)(uintptr_t)partition,
                           .path = (char *)(uintptr_t)path,
                           .file_id = (char *)(uintptr_t)file_id,
                           .prev_commit = (char *)(uintptr_t) "20261130025258720",
                           .num_writes = 5,
                           .num_updates = 2,
                           .num_inserts = 3,
                           .num_deletes = 1,
                           .bytes = 435409,
                           .is_log = is_log,
                           .log_version = is_log ? 7 : 0,
                           .seconds = 1.5};
}

/* Written and read again, our record has every member that a commit of Hudi has, and the values we gave. */
static void commit_metadata_looks_like_hudis(void **state)
{
    (void)state;
    sl_write_stat stats[] = {stat_of("p0", "f-0", "p0/f-0_1-0-1_20.parquet", false),
                             stat_of("p0", "g-0", "p0/g-0_1-0-1_20_7.log.parquet", true)};
    stats[0].prev_base_file = (char *)(uintptr_t) "f-0_1-0-1_10.parquet";
    json_t *ours, *read, *theirs, *stat, *real;
    const char *member;
    sl_buf bytes = {0};
    OK(sl_commit_metadata_json(stats, 2, "UPSERT", "{\"type\":\"record\"}", false, &ours));
    OK(sl_avro_container_write(sl_avro_hudi_schema("HoodieCommitMetadata"), ours, &bytes));
    OK(sl_avro_container_read(bytes.data, bytes.len, &read, NULL));
    struct file_bytes file = test_file("timeline/v9/20261130025314839_20261130025323014.commit");
    OK(sl_avro_container_read(file.data, file.len, &theirs, NULL));
    json_object_foreach(json_array_get(theirs, 0), member,
                        real) if (!json_object_get(json_array_get(read, 0), member))
        fail_msg("commit: no %s", member);
    stat = json_array_get(
        json_object_get(json_object_get(json_array_get(read, 0), "partitionToWriteStats"), "p0"), 0);
    json_t *real_stat = json_array_get(
        json_object_get(json_object_get(json_array_get(theirs, 0), "partitionToWriteStats"), "p0"), 0);
    json_object_foreach(real_stat, member, real)
    {
        json_t *mine = json_object_get(stat, member);
        if (!mine)
            fail_msg("write stat: no %s", member);
        if (json_typeof(mine) != json_typeof(real) && !(json_is_null(mine) || json_is_null(real)))
            fail_msg("write stat: %s has another type", member);
        if (json_is_null(mine) && !json_is_null(real) && strcmp(member, "numUpdates") != 0)
            fail_msg("write stat: %s is null where Hudi has a value", member);
    }
    assert_int_equal(json_integer_value(json_object_get(stat, "fileSizeInBytes")), 435409);
    assert_int_equal(json_integer_value(json_object_get(stat, "totalWriteBytes")), 435409);
    assert_int_equal(json_integer_value(json_object_get(stat, "numUpdateWrites")), 2);
    assert_string_equal(json_string_value(json_object_get(stat, "prevBaseFile")), "f-0_1-0-1_10.parquet");
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(stat, "runtimeStats"), "totalUpsertTime")), 1500);
    assert_true(json_is_null(json_object_get(stat, "logVersion")));
    stat = json_array_get(
        json_object_get(json_object_get(json_array_get(read, 0), "partitionToWriteStats"), "p0"), 1);
    assert_int_equal(json_integer_value(json_object_get(stat, "logVersion")), 7);
    assert_int_equal(json_integer_value(json_object_get(stat, "logOffset")), 0);
    assert_string_equal(json_string_value(json_object_get(stat, "baseFile")), "");
    assert_string_equal(json_string_value(json_array_get(json_object_get(stat, "logFiles"), 0)),
                        "g-0_1-0-1_20_7.log.parquet");
    assert_string_equal(json_string_value(json_object_get(
                            json_object_get(json_array_get(read, 0), "extraMetadata"), "schema")),
                        "{\"type\":\"record\"}");
    assert_string_equal(json_string_value(json_object_get(json_array_get(read, 0), "operationType")),
                        "UPSERT");
    assert_true(json_is_false(json_object_get(json_array_get(read, 0), "compacted")));
    json_decref(ours);
    json_decref(read);
    json_decref(theirs);
    sl_buf_free(&bytes);
    free(file.data);
}

static void write_stats_round_trip(void **state)
{
    (void)state;
    for (int is_log = 0; is_log < 2; is_log++) {
        sl_write_stat stat = stat_of("a/b", "f-0", "a/b/f-0_1-0-1_20.parquet", is_log), again;
        stat.log_records = 10;
        stat.log_files_compacted = 11;
        stat.log_bytes_compacted = 12;
        stat.updated_compacted = 13;
        json_t *json;
        OK(sl_write_stat_json(&stat, &json));
        OK(sl_write_stat_parse(json, &again));
        assert_string_equal(again.partition, "a/b");
        assert_string_equal(again.path, stat.path);
        assert_string_equal(again.file_id, "f-0");
        assert_string_equal(again.prev_commit, stat.prev_commit);
        assert_null(again.prev_base_file);
        assert_int_equal(again.num_writes, 5);
        assert_int_equal(again.num_inserts, 3);
        assert_int_equal(again.num_updates, 2);
        assert_int_equal(again.num_deletes, 1);
        assert_int_equal(again.bytes, 435409);
        assert_int_equal(again.is_log, is_log);
        assert_int_equal(again.log_version, is_log ? 7 : 0);
        assert_int_equal(again.log_records, 10);
        assert_int_equal(again.log_files_compacted, 11);
        assert_int_equal(again.log_bytes_compacted, 12);
        assert_int_equal(again.updated_compacted, 13);
        assert_true(again.seconds == 1.5);
        sl_write_stat_free(&again);
        json_object_del(json, "path");
        FAILS(sl_write_stat_parse(json, &again), SL_E_INPUT, "without path");
        json_decref(json);
    }
}

/* ---- markers and partitions ---------------------------------------------------------------------------- */

static void markers_of_both_kinds_are_read(void **state)
{
    (void)state;
    struct test_table t = lsm_table();
    sl_strings files = {0};
    bool found;
    OK(markers_read(t.table, "10", &files, &found));
    assert_false(found);
    const struct sl_planned_file planned[] = {{"a/b", "f-0_1-0-1_10.parquet", "CREATE"},
                                              {"", "g.marker.x_1-0-1_10.parquet", "MERGE"}};
    OK(markers_create(t.table, "10", planned, 2, false));
    assert_true(there_is(&t, ".hoodie/.temp/10/a/b/f-0_1-0-1_10.parquet.marker.CREATE"));
    put_text(&t, ".hoodie/.temp/10/a/b/.f-0_1-0-1_10.parquet.marker.CREATE.crc", "");
    put_text(&t, ".hoodie/.temp/10/a/note", "");
    OK(markers_read(t.table, "10", &files, &found));
    assert_true(found);
    assert_int_equal(files.count, 2);
    sl_strings_sort(&files);
    assert_string_equal(files.items[0], "a/b/f-0_1-0-1_10.parquet");
    assert_string_equal(files.items[1], "g.marker.x_1-0-1_10.parquet");
    sl_strings_free(&files);
    put_text(&t, ".hoodie/.temp/20/MARKERS.type", "TIMELINE_SERVER_BASED");
    put_text(&t, ".hoodie/.temp/20/MARKERS0",
             "p/x_1-0-1_20.parquet.marker.MERGE\np/y_1-0-1_20.parquet.marker.CREATE\n");
    put_text(&t, ".hoodie/.temp/20/MARKERS17", "z_1-0-1_20.parquet.marker.CREATE");
    OK(markers_read(t.table, "20", &files, &found));
    assert_true(found);
    assert_int_equal(files.count, 3);
    assert_true(sl_strings_contain(&files, "p/y_1-0-1_20.parquet"));
    assert_true(sl_strings_contain(&files, "z_1-0-1_20.parquet"));
    sl_strings_free(&files);
    OK(markers_delete(t.table, "10"));
    assert_false(there_is(&t, ".hoodie/.temp/10"));
    OK(markers_delete(t.table, "10"));
    table_gone(&t);
}

static void partition_metadata_is_made_once(void **state)
{
    (void)state;
    struct test_table t = lsm_table();
    OK(partition_make(t.table, "a/b/c", "10"));
    OK(partition_make(t.table, "a/b/c", "20"));
    OK(partition_make(t.table, "", "30"));
    char path[1024];
    snprintf(path, sizeof path, "%s/a/b/c/.hoodie_partition_metadata", t.root);
    struct blob text = blob_of_file(path);
    assert_int_equal(strncmp((const char *)text.data, "#partition metadata\n#", 21), 0);
    sl_properties p = properties_of((const char *)text.data);
    assert_int_equal(p.keys.count, 2);
    assert_string_equal(sl_properties_get(&p, "commitTime"), "10");
    assert_string_equal(sl_properties_get(&p, "partitionDepth"), "3");
    sl_properties_free(&p);
    free(text.data);
    snprintf(path, sizeof path, "%s/.hoodie_partition_metadata", t.root);
    text = blob_of_file(path);
    p = properties_of((const char *)text.data);
    assert_string_equal(sl_properties_get(&p, "partitionDepth"), "0");
    sl_properties_free(&p);
    free(text.data);
    table_gone(&t);
}

/* A writer that is killed while it makes the file leaves one with a uuid behind the name. */
static void partition_with_a_leftover_is_listed_once(void **state)
{
    (void)state;
    struct test_table t = lsm_table();
    sl_strings partitions = {0};
    OK(partition_make(t.table, "a/b", "10"));
    put_text(&t, "a/b/.hoodie_partition_metadata.a658d985-ef3d-4979-8e27-9c8dc0be76cf", "");
    OK(sl_partitions_list(t.table, &partitions));
    assert_int_equal(partitions.count, 1);
    assert_string_equal(partitions.items[0], "a/b");
    sl_strings_free(&partitions);
    table_gone(&t);
}

/* ---- lock ---------------------------------------------------------------------------------------------- */

static void lock_excludes_handles_and_processes(void **state)
{
    (void)state;
    struct test_table a = lsm_table(), b = a;
    sl_table_lock *lock, *other;
    open_with(&b, (const char *const[]){"hoodie.write.lock.wait_time_ms", "50", NULL});
    OK(sl_table_lock_take(a.table, &lock));
    FAILS(sl_table_lock_take(b.table, &other), SL_E_BUSY, "");
    sl_table_lock_release(lock);
    OK(sl_table_lock_take(b.table, &other));
    sl_table_lock_release(other);
    /* a process that dies with the lock takes it along */
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bool failed = sl_status_ignore(sl_table_lock_take(a.table, &lock));
        (void)!write(ready[1], failed ? "n" : "y", 1);
        pause();
        _exit(1);
    }
    char answer;
    assert_int_equal(read(ready[0], &answer, 1), 1);
    assert_int_equal(answer, 'y');
    FAILS(sl_table_lock_take(b.table, &other), SL_E_BUSY, "");
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    OK(sl_table_lock_take(b.table, &other));
    sl_table_lock_release(other);
    sl_table_lock_release(NULL);
    close(ready[0]);
    close(ready[1]);
    sl_table_close(b.table);
    table_gone(&a);
}

/* ---- transactions -------------------------------------------------------------------------------------- */

static const struct sl_txn_options delta = {.action = SL_ACTION_DELTACOMMIT, .operation = "UPSERT"};
#define SCHEMA_TEXT RECORD(FIELD("k", "string"))

/* Announces a data file of the transaction and makes it; `relative` gets its path. */
static void make_file(const struct test_table *t, sl_txn *txn, const char *partition, const char *file_id,
                      uint32_t task, char *relative, size_t size)
{
    char name[256];
    struct sl_file_name parts = {.kind = SL_FILE_BASE, .format = "parquet"};
    snprintf(parts.file_id, sizeof parts.file_id, "%s", file_id);
    snprintf(parts.token, sizeof parts.token, "%u-0-1", (unsigned)task);
    snprintf(parts.instant, sizeof parts.instant, "%s", sl_txn_instant(txn));
    sl_file_name_build(&parts, name);
    OK(sl_txn_announce(txn, &(struct sl_planned_file){partition, name, "CREATE"}));
    snprintf(relative, size, "%s%s%s", partition, *partition ? "/" : "", name);
    put_text(t, relative, "data");
}

static void add_stat(sl_txn *txn, const char *partition, const char *file_id, const char *relative)
{
    sl_write_stat stat = stat_of(partition, file_id, relative, false);
    OK(sl_txn_add_stat(txn, &stat));
}

/* Planned files are announced once they are wanted; those that never come leave nothing. */
static void planned_files_are_announced(void **state)
{
    (void)state;
    struct test_table t = lsm_table();
    sl_txn *txn;
    sl_output *output;
    char path[1024], marker[128];
    const struct sl_planned_file planned[] = {
        {"a", "f-0_1-0-1_1.parquet", "CREATE"}, {"b/c", "g-0_2-0-1_1.parquet", "MERGE"}, {"", "h", "CREATE"}};
    OK(sl_txn_begin(t.table, &delta, &txn));
    OK(sl_txn_plan(txn, planned, 3));
    OK(sl_txn_announce(txn, &planned[1]));
    assert_true(there_is(&t, "b/c/.hoodie_partition_metadata"));
    snprintf(marker, sizeof marker, ".hoodie/.temp/%s/b/c/g-0_2-0-1_1.parquet.marker.MERGE",
             sl_txn_instant(txn));
    assert_true(there_is(&t, marker));
    snprintf(path, sizeof path, "%s/b/c/g-0_2-0-1_1.parquet", t.root);
    OK(sl_storage_create(t.table->storage, path, &output));
    OK(sl_output_write(output, "data", 4));
    sl_txn_finish_file(txn, output);
    add_stat(txn, "b/c", "g-0", "b/c/g-0_2-0-1_1.parquet");
    OK(sl_txn_commit(txn, SCHEMA_TEXT, NULL));
    assert_true(there_is(&t, "b/c/g-0_2-0-1_1.parquet"));
    assert_string_equal(names_in(&t, ".hoodie/.temp"), "");

    char long_name[300] = {0}; /* its marker cannot be made, which is told to who wants the file */
    memset(long_name, 'x', sizeof long_name - 1);
    const struct sl_planned_file impossible = {"a", long_name, "CREATE"};
    OK(sl_txn_begin(t.table, &delta, &txn));
    OK(sl_txn_plan(txn, &impossible, 1));
    FAILS(sl_txn_announce(txn, &impossible), SL_E_IO, "xxx");
    sl_txn_abort(txn);
    OK(sl_txn_begin(t.table, &delta, &txn));
    OK(sl_txn_plan(txn, &impossible, 1));
    FAILS(sl_txn_commit(txn, SCHEMA_TEXT, NULL), SL_E_IO, "xxx");
    assert_string_equal(names_in(&t, ".hoodie/.temp"), "");
    table_gone(&t);
}

/* One committed file in partition a; its requested time in `instant`. */
static void commit_file(const struct test_table *t, const char *file_id, char *instant, char *relative,
                        size_t size)
{
    sl_txn *txn;
    OK(sl_txn_begin(t->table, &delta, &txn));
    memcpy(instant, sl_txn_instant(txn), SL_INSTANT_BYTES);
    make_file(t, txn, "a", file_id, 1, relative, size);
    add_stat(txn, "a", file_id, relative);
    OK(sl_txn_commit(txn, SCHEMA_TEXT, NULL));
}

static void commit_publishes_all_and_keeps_nothing_else(void **state)
{
    (void)state;
    struct test_table t = lsm_table();
    sl_txn *txn;
    char kept[512], dropped[512], instant[SL_INSTANT_BYTES], completed[SL_INSTANT_BYTES], want[512];
    OK(sl_txn_begin(t.table, &delta, &txn));
    memcpy(instant, sl_txn_instant(txn), sizeof instant);
    snprintf(want, sizeof want, "%s.deltacommit.inflight %s.deltacommit.requested history/", instant,
             instant);
    assert_string_equal(names_in(&t, ".hoodie/timeline"), want);
    make_file(&t, txn, "a", "f-0", 1, kept, sizeof kept);
    make_file(&t, txn, "a", "f-0", 2, dropped, sizeof dropped); /* a retry nobody names */
    make_file(&t, txn, "", "g-0", 1, want, sizeof want);
    assert_true(there_is(&t, "a/.hoodie_partition_metadata"));
    add_stat(txn, "a", "f-0", kept);
    size_t count;
    assert_string_equal(sl_txn_stats(txn, &count)[0].path, kept);
    assert_int_equal(count, 1);
    OK(sl_txn_commit(txn, SCHEMA_TEXT, completed));
    assert_true(strcmp(completed, instant) > 0);
    assert_true(there_is(&t, kept));
    assert_false(there_is(&t, dropped));
    assert_false(there_is(&t, want));
    assert_string_equal(names_in(&t, ".hoodie/.temp"), "");
    snprintf(want, sizeof want, "%s.deltacommit.inflight %s.deltacommit.requested %s_%s.deltacommit history/",
             instant, instant, instant, completed);
    assert_string_equal(names_in(&t, ".hoodie/timeline"), want);
    sl_timeline timeline;
    json_t *json;
    OK(sl_timeline_load(t.table, &timeline));
    OK(sl_instant_json(t.table, &timeline.instants[0], SL_COMPLETED, &json));
    assert_string_equal(json_string_value(json_object_get(json, "operationType")), "UPSERT");
    assert_int_equal(json_array_size(json_object_get(json_object_get(json, "partitionToWriteStats"), "a")),
                     1);
    json_decref(json);
    sl_timeline_free(&timeline);
    assert_schema(&t, NULL, "struct<k: string>");
    table_gone(&t);
}

static void abort_leaves_a_rollback_and_no_file(void **state)
{
    (void)state;
    struct test_table t = lsm_table();
    sl_txn *txn;
    char file[512], instant[SL_INSTANT_BYTES];
    OK(sl_txn_begin(t.table, &delta, &txn));
    memcpy(instant, sl_txn_instant(txn), sizeof instant);
    make_file(&t, txn, "a", "f-0", 1, file, sizeof file);
    sl_txn_abort(txn);
    sl_txn_abort(NULL);
    assert_false(there_is(&t, file));
    assert_string_equal(names_in(&t, ".hoodie/.temp"), "");
    sl_timeline timeline;
    json_t *json;
    OK(sl_timeline_load(t.table, &timeline));
    assert_int_equal(timeline.count, 1);
    assert_int_equal(timeline.instants[0].action, SL_ACTION_ROLLBACK);
    assert_int_equal(timeline.instants[0].state, SL_COMPLETED);
    OK(sl_instant_json(t.table, &timeline.instants[0], SL_COMPLETED, &json));
    assert_string_equal(json_string_value(json_array_get(json_object_get(json, "commitsRollback"), 0)),
                        instant);
    assert_int_equal(json_integer_value(json_object_get(json, "totalFilesDeleted")), 1);
    json_t *deleted = json_object_get(json_object_get(json_object_get(json, "partitionMetadata"), "a"),
                                      "successDeleteFiles");
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", t.root, file);
    assert_string_equal(json_string_value(json_array_get(deleted, 0)), path);
    json_decref(json);
    OK(sl_instant_json(t.table, &timeline.instants[0], SL_REQUESTED, &json));
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(json, "instantToRollback"), "commitTime")),
        instant);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(json, "instantToRollback"), "action")),
        "deltacommit");
    json_decref(json);
    sl_timeline_free(&timeline);
    table_gone(&t);
}

/* Writers queue: the second one begins when the first has published, and after it. */
static void a_lock_is_held_from_begin_to_end(void **state)
{
    (void)state;
    struct test_table a = lsm_table(), b = a;
    sl_txn *txn, *second;
    open_with(&b, (const char *const[]){"hoodie.write.lock.wait_time_ms", "50", NULL});
    OK(sl_txn_begin(a.table, &delta, &txn));
    FAILS(sl_txn_begin(b.table, &delta, &second), SL_E_BUSY, "");
    char completed[SL_INSTANT_BYTES];
    OK(sl_txn_commit(txn, SCHEMA_TEXT, completed));
    OK(sl_txn_begin(b.table, &delta, &second));
    assert_true(strcmp(sl_txn_instant(second), completed) > 0);
    assert_int_equal(sl_txn_timeline(second)->count, 1);
    sl_txn_abort(second);
    sl_table_close(b.table);
    table_gone(&a);
}

/* Between begin and end the timeline is free for services, and the writer's instant is told from a dead one's. */
static void instants_at_work_have_a_lock(void **state)
{
    (void)state;
    struct test_table a = lsm_table(), b = a;
    char path[128], instant[SL_INSTANT_BYTES], result[SL_INSTANT_BYTES];
    sl_txn *txn;
    sl_table_lock *lock;
    size_t count;
    bool busy;
    open_with(&b, (const char *const[]){"hoodie.write.lock.wait_time_ms", "50", NULL});
    OK(sl_txn_begin(a.table, &delta, &txn));
    memcpy(instant, sl_txn_instant(txn), sizeof instant);
    snprintf(path, sizeof path, ".hoodie/.locks/%s.lock", instant);
    assert_true(there_is(&a, path));
    FAILS(sl_table_lock_take(b.table, &lock), SL_E_BUSY, "");
    FAILS(sl_rollback_instant(b.table, instant, result, &count), SL_E_BUSY, "");
    OK(sl_timeline_lock_take(b.table, &lock));
    OK(sl_instant_is_worked_on(b.table, instant, &busy));
    assert_true(busy);
    OK(sl_rollback_leftovers(b.table, &count));
    assert_int_equal(count, 0);
    sl_table_lock_release(lock);
    put_text(&b, ".hoodie/.locks/20200101000000000.lock", ""); /* its owner died after publishing */
    OK(sl_txn_commit(txn, SCHEMA_TEXT, NULL));
    assert_false(there_is(&a, path));
    OK(sl_txn_begin(b.table, &delta, &txn));
    assert_false(there_is(&a, ".hoodie/.locks/20200101000000000.lock"));
    sl_txn_abort(txn);
    assert_string_equal(names_in(&a, ".hoodie/.locks"), "sluice.lock sluice.writer.lock");
    sl_table_close(b.table);
    table_gone(&a);
}

/* A writer of another program took ours for dead: nothing may be published under a rolled back instant. */
static void rolled_back_instants_are_not_published(void **state)
{
    (void)state;
    struct test_table t = lsm_table();
    char path[256];
    sl_txn *txn;
    OK(sl_txn_begin(t.table, &delta, &txn));
    snprintf(path, sizeof path, ".hoodie/timeline/%s.deltacommit.inflight", sl_txn_instant(txn));
    remove_file(&t, path);
    snprintf(path, sizeof path, ".hoodie/timeline/%s.deltacommit.requested", sl_txn_instant(txn));
    remove_file(&t, path);
    FAILS(sl_txn_commit(txn, SCHEMA_TEXT, NULL), SL_E_CONFLICT, "rolled back by another writer");
    table_gone(&t);
}

/* ---- rollback ------------------------------------------------------------------------------------------ */

/* What a dead writer left: pending files, markers, data. */
static void leave_dead_writer(const struct test_table *t, const char *instant, bool markers)
{
    char path[512];
    snprintf(path, sizeof path, ".hoodie/timeline/%s.deltacommit.requested", instant);
    put_text(t, path, "");
    snprintf(path, sizeof path, ".hoodie/timeline/%s.deltacommit.inflight", instant);
    put_text(t, path, "");
    put_text(t, "a/.hoodie_partition_metadata", "commitTime=10\npartitionDepth=1\n");
    snprintf(path, sizeof path, "a/dead-0_1-0-1_%s_1.log.parquet", instant);
    put_text(t, path, "half");
    if (markers)
        OK(markers_create(t->table, instant, &(struct sl_planned_file){"a", path + 2, "CREATE"}, 1, false));
}

static void leftovers_go_before_the_next_write(void **state)
{
    (void)state;
    for (int markers = 0; markers < 2; markers++) {
        struct test_table t = lsm_table();
        char instant[SL_INSTANT_BYTES], committed[512];
        commit_file(&t, "f-0", instant, committed, sizeof committed);
        leave_dead_writer(&t, "20990101000000000", markers);
        put_text(&t, ".hoodie/.temp/20200101000000000/x.parquet.marker.CREATE",
                 ""); /* of a published instant */
        sl_txn *txn;
        OK(sl_txn_begin(t.table, &delta, &txn));
        assert_true(strcmp(sl_txn_instant(txn), "20990101000000000") > 0);
        assert_false(there_is(&t, "a/dead-0_1-0-1_20990101000000000_1.log.parquet"));
        assert_false(there_is(&t, ".hoodie/timeline/20990101000000000.deltacommit.inflight"));
        assert_false(there_is(&t, ".hoodie/timeline/20990101000000000.deltacommit.requested"));
        assert_false(there_is(&t, ".hoodie/.temp/20990101000000000"));
        assert_false(there_is(&t, ".hoodie/.temp/20200101000000000"));
        assert_true(there_is(&t, committed));
        OK(sl_txn_commit(txn, SCHEMA_TEXT, NULL));
        table_gone(&t);
    }
}

static void a_living_writer_is_left_alone(void **state)
{
    (void)state;
    struct test_table t = lsm_table();
    sl_txn *txn;
    size_t deleted;
    leave_dead_writer(&t, "20240101000000000", true);
    put_text(&t, ".hoodie/.heartbeat/20240101000000000", "");
    FAILS(sl_txn_begin(t.table, &delta, &txn), SL_E_CONFLICT, "another writer is at work");
    FAILS(sl_rollback_instant(t.table, "20240101000000000", NULL, &deleted), SL_E_CONFLICT, "heartbeat");
    assert_true(there_is(&t, "a/dead-0_1-0-1_20240101000000000_1.log.parquet"));
    remove_file(&t, ".hoodie/.heartbeat/20240101000000000"); /* missing is expired */
    OK(sl_txn_begin(t.table, &delta, &txn));
    assert_false(there_is(&t, "a/dead-0_1-0-1_20240101000000000_1.log.parquet"));
    sl_txn_abort(txn);
    table_gone(&t);
}

/* A rollback that died at any of its steps is finished with its own plan. */
static void dead_rollbacks_are_resumed(void **state)
{
    (void)state;
    for (int step = 0; step < 4; step++) {
        struct test_table t = lsm_table();
        char path[1024];
        sl_txn *txn;
        leave_dead_writer(&t, "20240101000000000", true);
        snprintf(path, sizeof path, "/elsewhere%s/a/dead-0_1-0-1_20240101000000000_1.log.parquet",
                 strrchr(t.root, '/')); /* the table was moved since */
        put_avro(&t, ".hoodie/timeline/20240101000000001.rollback.requested", "HoodieRollbackPlan",
                 json_pack("{s:{s:s, s:s}, s:[{s:s, s:s, s:s, s:[s], s:{}}], s:i}", "instantToRollback",
                           "commitTime", "20240101000000000", "action", "deltacommit", "RollbackRequests",
                           "partitionPath", "a", "fileId", "dead-0", "latestBaseInstant", "20240101000000000",
                           "filesToBeDeleted", path, "logBlocksToBeDeleted", "version", 1));
        if (step > 0)
            put_text(&t, ".hoodie/timeline/20240101000000001.rollback.inflight", "");
        if (step > 1)
            remove_file(&t, "a/dead-0_1-0-1_20240101000000000_1.log.parquet");
        if (step > 2)
            remove_file(&t, ".hoodie/timeline/20240101000000000.deltacommit.inflight");
        OK(sl_txn_begin(t.table, &delta, &txn));
        assert_false(there_is(&t, "a/dead-0_1-0-1_20240101000000000_1.log.parquet"));
        const sl_timeline *timeline = sl_txn_timeline(txn);
        assert_int_equal(timeline->count, 1); /* the resumed one, and no second */
        assert_string_equal(timeline->instants[0].requested, "20240101000000001");
        assert_int_equal(timeline->instants[0].state, SL_COMPLETED);
        assert_string_equal(names_in(&t, ".hoodie/.temp"), "");
        sl_txn_abort(txn);
        table_gone(&t);
    }
}

static void plans_outside_the_table_are_refused(void **state)
{
    (void)state;
    static const char *const paths[] = {"/etc/passwd", "../x", ""};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct test_table t = lsm_table();
        sl_txn *txn;
        put_avro(&t, ".hoodie/timeline/20240101000000001.rollback.requested", "HoodieRollbackPlan",
                 json_pack("{s:{s:s, s:s}, s:[{s:s, s:s, s:s, s:[s], s:{}}]}", "instantToRollback",
                           "commitTime", "20240101000000000", "action", "deltacommit", "RollbackRequests",
                           "partitionPath", "a", "fileId", "f-0", "latestBaseInstant", "1",
                           "filesToBeDeleted", paths[i], "logBlocksToBeDeleted"));
        FAILS(sl_txn_begin(t.table, &delta, &txn), SL_E_CORRUPT, "rollback plan names");
        table_gone(&t);
    }
}

static void completed_instants_roll_back_newest_first(void **state)
{
    (void)state;
    struct test_table t = lsm_table();
    char first[SL_INSTANT_BYTES], second[SL_INSTANT_BYTES], result[SL_INSTANT_BYTES], one[512], two[512];
    size_t deleted;
    commit_file(&t, "f-0", first, one, sizeof one);
    commit_file(&t, "g-0", second, two, sizeof two);
    FAILS(sl_rollback_instant(t.table, first, result, &deleted), SL_E_INPUT, "is not the newest");
    FAILS(sl_rollback_instant(t.table, "20200101000000000", result, &deleted), SL_E_NOT_FOUND, "no instant");
    OK(sl_rollback_instant(t.table, second, result, &deleted));
    assert_int_equal(deleted, 1);
    assert_true(there_is(&t, one));
    assert_false(there_is(&t, two));
    sl_timeline timeline;
    OK(sl_timeline_load(t.table, &timeline));
    assert_int_equal(timeline.count, 2);
    assert_string_equal(timeline.instants[1].requested, result);
    assert_int_equal(timeline.instants[1].action, SL_ACTION_ROLLBACK);
    sl_timeline_free(&timeline);
    put_text(&t, ".hoodie/timeline/20990101000000000.compaction.requested", "");
    FAILS(sl_rollback_instant(t.table, first, result, &deleted), SL_E_INPUT, "compaction planned at");
    OK(sl_rollback_instant(t.table, "20990101000000000", result, &deleted)); /* a plan alone */
    char path[256];
    snprintf(path, sizeof path, ".hoodie/timeline/%s.savepoint.inflight", first);
    put_text(&t, path, "");
    FAILS(sl_rollback_instant(t.table, first, result, &deleted), SL_E_INPUT, "savepoint");
    remove_file(&t, path);
    OK(sl_rollback_instant(t.table, first, result, &deleted));
    assert_false(there_is(&t, one));
    table_gone(&t);
}

static void services_keep_their_plan(void **state)
{
    (void)state;
    struct test_table t = lsm_table();
    char instant[SL_INSTANT_BYTES], file[512], plan_path[256];
    struct sl_txn_options compaction = {.action = SL_ACTION_COMPACTION, .operation = "COMPACT"};
    json_t *plan = json_pack("{s:[], s:i}", "operations", "version", 2);
    sl_txn *txn;
    OK(sl_txn_draw(t.table, instant));
    OK(sl_txn_schedule(t.table, SL_ACTION_COMPACTION, instant, plan, "HoodieCompactionPlan"));
    FAILS(sl_txn_schedule(t.table, SL_ACTION_COMPACTION, instant, plan, "HoodieCompactionPlan"),
          SL_E_CONFLICT, "another writer");
    json_decref(plan);
    snprintf(plan_path, sizeof plan_path, ".hoodie/timeline/%s.compaction.requested", instant);
    compaction.instant = "20200101000000000";
    FAILS(sl_txn_begin(t.table, &compaction, &txn), SL_E_NOT_FOUND, "no compaction plan");
    compaction.instant = instant;
    OK(sl_txn_begin(t.table, &compaction, &txn));
    make_file(&t, txn, "a", "f-0", 1, file, sizeof file);
    sl_txn_abort(txn);
    assert_true(there_is(&t, plan_path));
    assert_false(there_is(&t, file));
    /* an executor that died is cleaned up after, and its plan executed */
    OK(sl_txn_begin(t.table, &compaction, &txn));
    sl_txn *task;
    OK(sl_txn_join(t.table, SL_ACTION_COMPACTION, instant,
                   &task)); /* a process of its own would do the same */
    make_file(&t, task, "a", "f-0", 7, file, sizeof file);
    sl_txn_leave(task);
    add_stat(txn, "a", "f-0", file);
    OK(sl_txn_commit(txn, SCHEMA_TEXT, NULL));
    assert_true(there_is(&t, file));
    sl_timeline timeline;
    json_t *json;
    OK(sl_timeline_load(t.table, &timeline));
    const sl_instant *done = sl_timeline_find(&timeline, instant, SL_ACTION_COMPACTION);
    assert_int_equal(done->state, SL_COMPLETED);
    assert_int_equal(done->completed_as, SL_ACTION_COMMIT);
    OK(sl_instant_json(t.table, done, SL_COMPLETED, &json));
    assert_true(json_is_true(json_object_get(json, "compacted")));
    json_decref(json);
    sl_timeline_free(&timeline);
    FAILS(sl_txn_begin(t.table, &compaction, &txn), SL_E_EXISTS, "completed already");
    FAILS(sl_txn_join(t.table, SL_ACTION_COMPACTION, instant, &task), SL_E_CONFLICT, "not under way");
    table_gone(&t);
}

/* ---- metadata table ------------------------------------------------------------------------------------ */

/* Properties first: a reader must never trust a folder that is going. Held by letting the delete of the folder fail. */
static void metadata_table_leaves_the_properties_first(void **state)
{
    (void)state;
    struct test_table t = lsm_table();
    sl_txn *txn;
    OK(sl_table_set_properties(t.table, (const char *const[]){"hoodie.table.metadata.partitions"},
                               (const char *const[]){"files"}, 1));
    put_text(&t, ".hoodie/metadata/.hoodie/hoodie.properties", "x=1\n");
    table_reopen(&t, NULL);
    assert_true(t.table->has_metadata_table);
    FAILS(sl_txn_begin(t.table, &delta, &txn), SL_E_UNSUPPORTED, "metadata table is in service");
    table_reopen(&t, (const char *const[]){"hoodie.metadata.enable", "false", NULL});
    sl_storage *local, *faulty;
    bool gone = false;
    for (uint64_t n = 1; !gone; n++) { /* the n-th change of storage and all after it fail */
        sl_table *table;
        sl_properties options = {0};
        OK(sl_properties_set(&options, "hoodie.metadata.enable", "false"));
        OK(sl_storage_local(&local));
        OK(sl_storage_faulty(local, SL_FAULT_FULL_DISK, n, &faulty));
        OK(sl_table_open_on(faulty, t.root, &options, NULL, &table));
        sl_properties_free(&options);
        sl_status status = sl_metadata_table_disable(table);
        gone = status == SL_OK;
        sl_status_free(status);
        sl_table_close(table);
        sl_properties p;
        OK(properties_load(t.table->storage, t.root, &p));
        bool listed = *sl_properties_get_or(&p, "hoodie.table.metadata.partitions", "") != 0;
        sl_properties_free(&p);
        if (listed)
            assert_true(there_is(&t, ".hoodie/metadata/.hoodie/hoodie.properties"));
        assert_true(n < 100);
    }
    assert_false(there_is(&t, ".hoodie/metadata"));
    OK(sl_txn_begin(t.table, &delta, &txn));
    assert_false(t.table->has_metadata_table);
    sl_txn_abort(txn);
    table_gone(&t);
}

static void rollback_takes_the_metadata_table_out_of_service(void **state)
{
    (void)state;
    struct test_table t = lsm_table();
    char instant[SL_INSTANT_BYTES], file[512];
    size_t deleted;
    commit_file(&t, "f-0", instant, file, sizeof file);
    OK(sl_table_set_properties(t.table, (const char *const[]){"hoodie.table.metadata.partitions"},
                               (const char *const[]){"files"}, 1));
    put_text(&t, ".hoodie/metadata/.hoodie/hoodie.properties", "x=1\n");
    FAILS(sl_rollback_instant(t.table, instant, NULL, &deleted), SL_E_UNSUPPORTED, "metadata table");
    assert_true(there_is(&t, file));
    table_reopen(&t, (const char *const[]){"hoodie.metadata.enable", "false", NULL});
    OK(sl_rollback_instant(t.table, instant, NULL, &deleted));
    assert_false(there_is(&t, ".hoodie/metadata"));
    table_gone(&t);
}

/* ---- create and open ----------------------------------------------------------------------------------- */

static void create_makes_what_hudi_makes(void **state)
{
    (void)state;
    struct test_table t = lsm_table();
    const sl_properties *p = &t.table->properties;
    assert_string_equal(sl_properties_get(p, "hoodie.table.version"), "10");
    assert_string_equal(sl_properties_get(p, "hoodie.table.initial.version"), "10");
    assert_string_equal(sl_properties_get(p, "hoodie.table.type"), "MERGE_ON_READ");
    assert_string_equal(sl_properties_get(p, "hoodie.meta.fields.mode"), "ALL");
    assert_string_equal(sl_properties_get(p, "hoodie.record.merge.mode"), "EVENT_TIME_ORDERING");
    assert_string_equal(sl_properties_get(p, "hoodie.table.keygenerator.type"), "SIMPLE");
    assert_string_equal(sl_properties_get(p, "hoodie.table.checksum"), "3609136688");
    assert_string_equal(sl_properties_get(p, "hoodie.table.timeline.timezone"), "UTC");
    assert_string_equal(sl_properties_get(p, "hoodie.index.type"), "BUCKET");
    assert_string_equal(sl_properties_get(p, "hoodie.bucket.index.hash.field"), "k");
    assert_null(sl_properties_get(p, "hoodie.table.log.file.format"));
    assert_string_equal(names_in(&t, ".hoodie"), ".aux/ .schema/ .temp/ hoodie.properties timeline/");
    assert_string_equal(names_in(&t, ".hoodie/timeline"), "history/");
    assert_string_equal(names_in(&t, ".hoodie/.aux/.bootstrap"), ".fileids/ .partitions/");
    assert_int_equal(t.table->layout, SL_LAYOUT_LSM);
    assert_int_equal(t.table->merge, SL_MERGE_EVENT_TIME);
    assert_true(t.table->utc);
    assert_schema(&t, NULL, "struct<k: string, p: string, ts: long, v: double>");
    OK(sl_table_check_writable(t.table));
    struct sl_create_options again = {.name = "t2"};
    OK(sl_schema_parse(SCHEMA, &again.schema));
    FAILS(sl_table_create(t.root, &again), SL_E_EXISTS, "there is a table already");
    sl_type_unref(again.schema);
    table_gone(&t);
    /* every key that Hudi 1.2.0 gives a partitioned copy-on-write table is there, but for the one of Hive's sync */
    struct file_bytes file = test_file("timeline/v9/hoodie.properties");
    sl_properties theirs;
    OK(sl_properties_parse(file.data, file.len, &theirs));
    t = table_created(SCHEMA, (const char *const[]){"hoodie.table.recordkey.fields", "k",
                                                    "hoodie.table.partition.fields", "p", NULL});
    for (size_t i = 0; i < theirs.keys.count; i++)
        if (!sl_properties_get(&t.table->properties, theirs.keys.items[i]) &&
            strcmp(theirs.keys.items[i], "hoodie.table.partition_extractor_class") != 0 &&
            strcmp(theirs.keys.items[i], "hoodie.table.ordering.fields") != 0)
            fail_msg("%s is missing", theirs.keys.items[i]);
    assert_string_equal(sl_properties_get(&t.table->properties, "hoodie.table.version"), "9");
    assert_string_equal(sl_properties_get(&t.table->properties, "hoodie.record.merge.mode"),
                        "COMMIT_TIME_ORDERING");
    sl_properties_free(&theirs);
    free(file.data);
    table_gone(&t);
}

static void version_8_tells_its_merge_mode_three_times(void **state)
{
    (void)state;
    struct test_table t = table_created(
        SCHEMA, (const char *const[]){"hoodie.table.recordkey.fields", "k,p", "hoodie.table.version", "8",
                                      "hoodie.table.ordering.fields", "ts", NULL});
    const sl_properties *p = &t.table->properties;
    assert_int_equal(t.table->version, 8);
    assert_string_equal(sl_properties_get(p, "hoodie.compaction.payload.class"),
                        "org.apache.hudi.common.model.DefaultHoodieRecordPayload");
    assert_string_equal(sl_properties_get(p, "hoodie.record.merge.strategy.id"),
                        "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5");
    assert_string_equal(sl_properties_get(p, "hoodie.table.keygenerator.type"), "NON_PARTITION");
    assert_string_equal(sl_properties_get(p, "hoodie.bucket.index.hash.field"), "k,p");
    table_gone(&t);
}

/* G-1, G-2 and the rest that create refuses; nothing may be left behind. */
static void create_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *schema, *name, *key, *value;
        enum sl_code code;
        const char *part;
    } cases[] = {
        {SCHEMA, "t", "hoodie.table.version", "9", SL_E_INPUT, "needs table version 10"},
        {SCHEMA, "t", "hoodie.table.version", "6", SL_E_UNSUPPORTED, "table version 6"},
        {SCHEMA, "t", "hoodie.table.version", "11", SL_E_UNSUPPORTED, "table version 11"},
        {SCHEMA, "t", "hoodie.table.storage.layout", "lsm", SL_E_CORRUPT, "neither default nor lsm_tree"},
        {SCHEMA, "t", "hoodie.record.merge.mode", "CUSTOM", SL_E_UNSUPPORTED, "merge mode CUSTOM"},
        {SCHEMA, "t", "hoodie.record.merge.mode", "SOMEHOW", SL_E_UNSUPPORTED, "merge mode SOMEHOW"},
        {SCHEMA, "t", "hoodie.table.recordkey.fields", "", SL_E_INPUT, "record key field"},
        {SCHEMA, "t", "hoodie.table.recordkey.fields", "k,nope", SL_E_INPUT, "\"nope\" is no column"},
        {SCHEMA, "t", "hoodie.table.recordkey.fields", "k.x", SL_E_INPUT, "\"k.x\" is no column"},
        {SCHEMA, "t", "hoodie.table.partition.fields", "q", SL_E_INPUT, "partition field \"q\""},
        {SCHEMA, "t", "hoodie.table.ordering.fields", "q", SL_E_INPUT, "ordering field \"q\""},
        {SCHEMA, "t", "hoodie.table.ordering.fields", "", SL_E_INPUT, "needs ordering fields"},
        {SCHEMA, "t", "hoodie.table.type", "SOMETHING", SL_E_CORRUPT, "hoodie.table.type"},
        {SCHEMA, "t", "hoodie.table.base.file.format", "ORC", SL_E_UNSUPPORTED, "base file format ORC"},
        {SCHEMA, "t", "hoodie.table.keygenerator.type", "TIMESTAMP", SL_E_UNSUPPORTED, "TIMESTAMP"},
        {SCHEMA, "t", "hoodie.populate.meta.fields", "false", SL_E_UNSUPPORTED, "meta columns"},
        {SCHEMA, "t", "hoodie.meta.fields.mode", "NONE", SL_E_UNSUPPORTED, "meta columns"},
        {SCHEMA, "t", "hoodie.table.cdc.supplemental.logging.mode", "all", SL_E_INPUT,
         "no mode of change data"},
        {SCHEMA, "t", "hoodie.index.type", "GLOBAL_BLOOM", SL_E_UNSUPPORTED, "index type GLOBAL_BLOOM"},
        {SCHEMA, "t", "hoodie.index.bucket.engine", "CONSISTENT_HASHING", SL_E_UNSUPPORTED, "bucket index"},
        {SCHEMA, "t", "hoodie.bucket.index.num.buckets", "0", SL_E_INPUT, "num.buckets is 0"},
        {SCHEMA, "t", "hoodie.bucket.index.num.buckets", "100000000", SL_E_INPUT, "100000000"},
        {SCHEMA, "t", "hoodie.datasource.write.drop.partition.columns", "true", SL_E_UNSUPPORTED,
         "partition columns"},
        {SCHEMA, "", NULL, NULL, SL_E_INPUT, "needs a name"},
        {SCHEMA, "..", NULL, NULL, SL_E_INPUT, "needs a name"},
        {SCHEMA, "a/b", NULL, NULL, SL_E_INPUT, "table name"},
        {SCHEMA, "a\nb", NULL, NULL, SL_E_INPUT, "table name"},
        {"k string, p string, ts long, _hoodie_record_key string", "t", NULL, NULL, SL_E_INPUT, "Hudi's own"},
        {"k list<string>, p string, ts long", "t", NULL, NULL, SL_E_INPUT, "k"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sl_create_options options = {.name = cases[i].name};
        char root[512], path[1024];
        scratch_make(root, sizeof root);
        snprintf(path, sizeof path, "%s/new", root);
        OK(sl_schema_parse(cases[i].schema, &options.schema));
        for (size_t k = 0; lsm_properties[k]; k += 2)
            OK(sl_properties_set(&options.properties, lsm_properties[k], lsm_properties[k + 1]));
        OK(sl_properties_set(&options.properties, "hoodie.record.merge.mode", "EVENT_TIME_ORDERING"));
        if (cases[i].key)
            OK(sl_properties_set(&options.properties, cases[i].key, cases[i].value));
        sl_status status = sl_table_create(path, &options);
        if (sl_status_code(status) != cases[i].code || !strstr(sl_status_message(status), cases[i].part))
            fail_msg("%s=%s, name \"%s\": code %d: %s", cases[i].key ? cases[i].key : "-",
                     cases[i].value ? cases[i].value : "-", cases[i].name, (int)sl_status_code(status),
                     sl_status_message(status));
        sl_status_free(status);
        if (access(path, F_OK) == 0)
            fail_msg("case %zu left %s behind", i, path);
        sl_type_unref(options.schema);
        sl_properties_free(&options.properties);
        scratch_remove(root);
    }
    struct sl_create_options none = {.name = "t"};
    FAILS(sl_table_create("/nonexistent/x", &none), SL_E_INPUT, "schema");
    FAILS(sl_table_create("s3://bucket/x", &none), SL_E_UNSUPPORTED, "s3");
}

/* G-1: the layout's spelling. */
static void layout_is_read_in_any_case(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        enum sl_layout layout;
    } cases[] = {{"", SL_LAYOUT_DEFAULT},
                 {"hoodie.table.storage.layout=default\n", SL_LAYOUT_DEFAULT},
                 {"hoodie.table.storage.layout=lsm_tree\n", SL_LAYOUT_LSM},
                 {"hoodie.table.storage.layout=LSM_TREE\n", SL_LAYOUT_LSM}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        snprintf(text, sizeof text, "%s%s", MINIMUM, cases[i].line);
        struct test_table t = table_of(text);
        assert_int_equal(t.table->layout, cases[i].layout);
        table_gone(&t);
    }
    static const char *const stored[][2] = {{"LSM_Tree", "lsm_tree"}, {"DEFAULT", "default"}};
    for (size_t i = 0; i < 2; i++) {
        struct test_table t =
            table_created(SCHEMA, (const char *const[]){"hoodie.table.recordkey.fields", "k",
                                                        "hoodie.table.storage.layout", stored[i][0], NULL});
        assert_string_equal(sl_properties_get(&t.table->properties, "hoodie.table.storage.layout"),
                            stored[i][1]);
        assert_int_equal(t.table->version, i == 0 ? 10 : 9);
        table_gone(&t);
    }
}

static void open_refuses_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum sl_code code;
        const char *part;
    } cases[] = {
        {"hoodie.table.name=x\nhoodie.table.version=6\nhoodie.timeline.layout.version=1\n", SL_E_UNSUPPORTED,
         "table version 6"},
        {"hoodie.table.name=x\nhoodie.table.version=11\nhoodie.timeline.layout.version=2\n", SL_E_UNSUPPORTED,
         "table version 11"},
        {"hoodie.table.name=x\nhoodie.table.version=9x\nhoodie.timeline.layout.version=2\n", SL_E_CORRUPT,
         "\"9x\""},
        {"hoodie.table.name=x\nhoodie.table.version=9\n", SL_E_UNSUPPORTED,
         "timeline layout version (absent)"},
        {MINIMUM "hoodie.table.storage.layout=heap\n", SL_E_CORRUPT, "\"heap\""},
        {MINIMUM "hoodie.table.base.file.format=LANCE\n", SL_E_UNSUPPORTED, "LANCE"},
        {MINIMUM "hoodie.table.format=iceberg\n", SL_E_UNSUPPORTED, "iceberg"},
        {MINIMUM "hoodie.bootstrap.base.path=/x\n", SL_E_UNSUPPORTED, "bootstrap"},
        {MINIMUM "hoodie.datasource.write.drop.partition.columns=true\n", SL_E_UNSUPPORTED,
         "partition columns"},
        {MINIMUM "hoodie.record.merge.mode=BEST\n", SL_E_CORRUPT, "BEST"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char root[512];
        sl_table *table;
        scratch_make(root, sizeof root);
        FAILS(sl_table_open(root, NULL, NULL, &table), SL_E_NOT_FOUND, "no Hudi table here");
        struct test_table t = {"", NULL};
        snprintf(t.root, sizeof t.root, "%s", root);
        put_text(&t, MAIN, cases[i].text);
        FAILS(sl_table_open(root, NULL, NULL, &table), cases[i].code, cases[i].part);
        scratch_remove(root);
    }
}

static void key_generators_are_known_by_either_property(void **state)
{
    (void)state;
    static const struct {
        const char *lines;
        bool known;
        enum sl_keygen_kind kind;
    } cases[] = {
        {"", true, SL_KEYGEN_NON_PARTITION},
        {"hoodie.table.keygenerator.type=COMPLEX\n", true, SL_KEYGEN_COMPLEX},
        {"hoodie.table.keygenerator.type=TIMESTAMP\n", false, SL_KEYGEN_SIMPLE},
        {"hoodie.table.keygenerator.class=org.apache.hudi.keygen.SimpleKeyGenerator\n", true,
         SL_KEYGEN_SIMPLE},
        {"hoodie.table.keygenerator.class=org.apache.hudi.keygen.ComplexAvroKeyGenerator\n", true,
         SL_KEYGEN_COMPLEX},
        {"hoodie.table.keygenerator.class=com.example.Mine\n", false, SL_KEYGEN_SIMPLE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        snprintf(text, sizeof text, "%s%s", MINIMUM, cases[i].lines);
        struct test_table t = table_of(text);
        assert_int_equal(t.table->keygen_known, cases[i].known);
        if (cases[i].known)
            assert_int_equal(t.table->keygen.kind, cases[i].kind);
        table_gone(&t);
    }
}

/* Below version 9 only the writer's options tell how a COMPLEX key of one field looks: never guessed. */
static void old_complex_keys_must_be_told(void **state)
{
    (void)state;
    static const char version_8[] = "hoodie.table.name=t1\nhoodie.table.type=COPY_ON_WRITE\nhoodie.table."
                                    "version=8\nhoodie.timeline.layout.version=2\n"
                                    "hoodie.table.recordkey.fields=k\nhoodie.table.partition.fields=p,"
                                    "q\nhoodie.table.keygenerator.type=COMPLEX\n"
                                    "hoodie.index.type=BUCKET\nhoodie.bucket.index.num.buckets=4\n";
    struct test_table t = table_of(version_8);
    FAILS(sl_table_check_writable(t.table), SL_E_UNSUPPORTED, "\"k:value\" or \"value\"");
    table_reopen(&t, (const char *const[]){"hoodie.write.complex.keygen.new.encoding", "true", NULL});
    OK(sl_table_check_writable(t.table));
    assert_true(t.table->keygen.complex_bare_single);
    table_reopen(&t, (const char *const[]){"hoodie.write.complex.keygen.new.encoding", "false", NULL});
    OK(sl_table_check_writable(t.table));
    assert_false(t.table->keygen.complex_bare_single);
    table_gone(&t);
    t = table_created("k string, p string, q string",
                      (const char *const[]){"hoodie.table.recordkey.fields", "k",
                                            "hoodie.table.partition.fields", "p,q", "hoodie.table.version",
                                            "8", NULL});
    OK(sl_table_check_writable(t.table));
    assert_false(t.table->keygen.complex_bare_single);
    table_gone(&t);
}

/* What may be read but not written. */
static void writing_is_refused_by_name(void **state)
{
    (void)state;
#define BUCKETS "hoodie.index.type=BUCKET\nhoodie.bucket.index.num.buckets=4\n"
    static const char *const cases[][2] = {
        {MINIMUM "hoodie.index.type=GLOBAL_SIMPLE\n", "index type GLOBAL_SIMPLE"},
        {MINIMUM BUCKETS "hoodie.index.bucket.engine=CONSISTENT_HASHING\n", "another bucket index"},
        {MINIMUM BUCKETS "hoodie.record.merge.mode=CUSTOM\n", "merge mode is CUSTOM"},
        {MINIMUM BUCKETS "hoodie.compaction.payload.class=com.example.Mine\n", "merge mode is CUSTOM"},
        {MINIMUM BUCKETS "hoodie.table.partial.update.mode=KEEP_VALUES\n",
         "partial update mode is KEEP_VALUES"},
        {MINIMUM BUCKETS "hoodie.populate.meta.fields=false\n", "meta columns"},
        {MINIMUM BUCKETS "hoodie.table.cdc.enabled=true\n", "default layout that keeps change data"},
        {MINIMUM BUCKETS "hoodie.partition.metafile.use.base.format=true\n", "partition metadata"},
        {MINIMUM BUCKETS "hoodie.table.storage.layout=lsm_tree\n", "needs version 10"},
        {MINIMUM BUCKETS "hoodie.table.type=MERGE_ON_READ\n", "merge-on-read table of the default layout"},
        {MINIMUM BUCKETS "hoodie.table.keygenerator.type=CUSTOM\n", "CUSTOM"},
        {MINIMUM BUCKETS
         "hoodie.table.keygenerator.class=org.apache.hudi.keygen.TimestampBasedKeyGenerator\n",
         "TimestampBasedKeyGenerator"},
        {MINIMUM BUCKETS "hoodie.table.recordkey.fields=\n", "without record key fields"},
        {MINIMUM BUCKETS "hoodie.table.metadata.partitions=files\n", "metadata table is in service (files)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct test_table t = table_of(cases[i][0]);
        FAILS(sl_table_check_writable(t.table), SL_E_UNSUPPORTED, cases[i][1]);
        table_gone(&t);
    }
    struct test_table t = table_of(MINIMUM BUCKETS);
    OK(sl_table_check_writable(t.table));
    table_reopen(
        &t, (const char *const[]){"hoodie.write.concurrency.mode", "OPTIMISTIC_CONCURRENCY_CONTROL", NULL});
    FAILS(sl_table_check_writable(t.table), SL_E_UNSUPPORTED, "OPTIMISTIC_CONCURRENCY_CONTROL");
    table_reopen(&t, (const char *const[]){"hoodie.write.table.version", "9", NULL});
    OK(sl_table_check_writable(t.table));
    table_reopen(&t, (const char *const[]){"hoodie.write.table.version", "10", NULL});
    FAILS(sl_table_check_writable(t.table), SL_E_UNSUPPORTED, "hoodie.write.table.version=10");
    table_gone(&t);
}

/* spec/timeline.md 3.4: where no merge mode is stored. */
static void merge_mode_is_inferred(void **state)
{
    (void)state;
    static const struct {
        const char *lines;
        enum sl_table_merge merge;
        size_t ordering;
    } cases[] = {
        {"", SL_MERGE_COMMIT_TIME, 0},
        {"hoodie.table.ordering.fields=a,b\n", SL_MERGE_EVENT_TIME, 2},
        {"hoodie.table.precombine.field=a\n", SL_MERGE_EVENT_TIME, 1},
        {"hoodie.table.ordering.fields=a\nhoodie.record.merge.mode=COMMIT_TIME_ORDERING\n",
         SL_MERGE_COMMIT_TIME, 0},
        {"hoodie.record.merge.mode=EVENT_TIME_ORDERING\n", SL_MERGE_COMMIT_TIME, 0},
        {"hoodie.table.ordering.fields=a\nhoodie.compaction.payload.class=org.apache.hudi.common.model."
         "OverwriteWithLatestAvroPayload\n",
         SL_MERGE_COMMIT_TIME, 0},
        {"hoodie.table.ordering.fields=a\nhoodie.compaction.payload.class=org.apache.hudi.common.model."
         "DefaultHoodieRecordPayload\n",
         SL_MERGE_EVENT_TIME, 1},
        {"hoodie.table.ordering.fields=a\nhoodie.compaction.payload.class=org.apache.hudi.common.model."
         "OverwriteWithLatestAvroPayload\n"
         "hoodie.record.merge.strategy.id=eeb8d96f-b1e4-49fd-bbf8-28ac514178e5\n",
         SL_MERGE_EVENT_TIME, 1},
        {"hoodie.record.merge.strategy.id=00000000-0000-0000-0000-000000000000\n", SL_MERGE_CUSTOM, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        snprintf(text, sizeof text, "%s%s", MINIMUM, cases[i].lines);
        struct test_table t = table_of(text);
        if (t.table->merge != cases[i].merge || t.table->ordering.count != cases[i].ordering)
            fail_msg("case %zu: merge mode %d, %zu ordering fields", i, (int)t.table->merge,
                     t.table->ordering.count);
        table_gone(&t);
    }
}

/* Two processes commit in turns; each commit is there, and no two share an instant. */
static void processes_take_turns(void **state)
{
    (void)state;
    enum { WRITERS = 3, ROUNDS = 4 };
    struct test_table t = lsm_table();
    pid_t children[WRITERS];
    for (int w = 0; w < WRITERS; w++) {
        children[w] = fork();
        assert_true(children[w] >= 0);
        if (children[w])
            continue;
        bool failed = false;
        for (int round = 0; round < ROUNDS && !failed; round++) {
            sl_txn *txn;
            failed = sl_status_ignore(sl_txn_begin(t.table, &delta, &txn));
            failed = failed || sl_status_ignore(sl_txn_commit(txn, SCHEMA_TEXT, NULL));
        }
        _exit(failed);
    }
    for (int w = 0; w < WRITERS; w++) {
        int code;
        assert_int_equal(waitpid(children[w], &code, 0), children[w]);
        assert_int_equal(code, 0);
    }
    sl_timeline timeline;
    OK(sl_timeline_load(t.table, &timeline));
    assert_int_equal(timeline.count, WRITERS * ROUNDS);
    for (size_t i = 0; i < timeline.count; i++) {
        assert_int_equal(timeline.instants[i].state, SL_COMPLETED);
        assert_true(strcmp(timeline.instants[i].completed, timeline.instants[i].requested) > 0);
        if (i)
            assert_true(strcmp(timeline.instants[i].requested, timeline.instants[i - 1].completed) > 0);
    }
    sl_timeline_free(&timeline);
    table_gone(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(properties_of_hudi_are_reproduced),
        cmocka_unit_test(properties_are_read_as_java_reads_them),
        cmocka_unit_test(damaged_properties_are_refused),
        cmocka_unit_test(properties_round_trip),
        cmocka_unit_test(properties_are_set_and_removed),
        cmocka_unit_test(checksums_cover_the_names),
        cmocka_unit_test(checksum_decides_whether_a_file_counts),
        cmocka_unit_test(backup_stands_in),
        cmocka_unit_test(set_properties_removes_with_null),
        cmocka_unit_test(settings_are_sorted_and_sound),
        cmocka_unit_test(settings_are_checked),
        cmocka_unit_test(sizes_have_units),
        cmocka_unit_test(handle_options_go_before_properties),
        cmocka_unit_test(instants_are_formatted_in_their_zone),
        cmocka_unit_test(instants_are_parsed),
        cmocka_unit_test(instants_never_go_back),
        cmocka_unit_test(timeline_files_fold_into_instants),
        cmocka_unit_test(instant_file_names),
        cmocka_unit_test(instants_are_read_in_every_form),
        cmocka_unit_test(schema_comes_from_the_newest_commit_that_has_one),
        cmocka_unit_test(renamed_columns_are_refused),
        cmocka_unit_test(commit_metadata_looks_like_hudis),
        cmocka_unit_test(write_stats_round_trip),
        cmocka_unit_test(markers_of_both_kinds_are_read),
        cmocka_unit_test(partition_metadata_is_made_once),
        cmocka_unit_test(partition_with_a_leftover_is_listed_once),
        cmocka_unit_test(lock_excludes_handles_and_processes),
        cmocka_unit_test(commit_publishes_all_and_keeps_nothing_else),
        cmocka_unit_test(planned_files_are_announced),
        cmocka_unit_test(abort_leaves_a_rollback_and_no_file),
        cmocka_unit_test(instants_at_work_have_a_lock),
        cmocka_unit_test(rolled_back_instants_are_not_published),
        cmocka_unit_test(a_lock_is_held_from_begin_to_end),
        cmocka_unit_test(leftovers_go_before_the_next_write),
        cmocka_unit_test(a_living_writer_is_left_alone),
        cmocka_unit_test(dead_rollbacks_are_resumed),
        cmocka_unit_test(plans_outside_the_table_are_refused),
        cmocka_unit_test(completed_instants_roll_back_newest_first),
        cmocka_unit_test(services_keep_their_plan),
        cmocka_unit_test(metadata_table_leaves_the_properties_first),
        cmocka_unit_test(rollback_takes_the_metadata_table_out_of_service),
        cmocka_unit_test(create_makes_what_hudi_makes),
        cmocka_unit_test(version_8_tells_its_merge_mode_three_times),
        cmocka_unit_test(create_refuses),
        cmocka_unit_test(layout_is_read_in_any_case),
        cmocka_unit_test(open_refuses_by_name),
        cmocka_unit_test(writing_is_refused_by_name),
        cmocka_unit_test(old_complex_keys_must_be_told),
        cmocka_unit_test(key_generators_are_known_by_either_property),
        cmocka_unit_test(merge_mode_is_inferred),
        cmocka_unit_test(processes_take_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
