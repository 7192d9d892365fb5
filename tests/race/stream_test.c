/*
 * A stream: one writer that is open for long, as somebody writes it who has sluice.h and nothing else, while one process
 * compacts and another reads. Rows come at changing rates; they are flushed by size, time, memory and on demand, and committed
 * on demand. The writer is killed now and then, and its successor goes on where the table ends.
 *
 * What the k-th change writes follows from k alone, and carries k as its ordering value. So the greatest value that is in the table tells
 * which changes must be there: those up to it, all of them, and no other.
 *
 * Each process looks at its memory as it goes, and at its descriptors whenever it has no file in work: they may not grow.
 *
 * SEED from the environment. SECONDS is how long a case runs: 4, 1 with SL_TEST_QUICK=1, 120 with SL_TEST_LONG=1.
 * SL_TEST_TRACE=1 prints memory and descriptors every ten seconds.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "sluice/sluice.h"
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KEYS    20000
#define COLUMNS 5
#define SCHEMA                                                                                               \
    "id long not null, p string not null, ts long not null, note string, _hoodie_is_deleted boolean"
#define STEP        8
#define BATCH_STEPS 400 /* of a batch, at most */
#define NOTE_BYTES  60
#define MEMORY_MIB  64

static double seconds;
static uint64_t seed;
static char folder[200], table_path[220], ends_path[220];

/* ---- time, chance, processes --------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void rest(double how_long)
{
    struct timespec t = {(time_t)how_long, (long)((how_long - (double)(time_t)how_long) * 1e9)};
    nanosleep(&t, NULL);
}

static uint64_t mix(uint64_t z)
{
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t draw(uint64_t *state, uint64_t n)
{
    *state += 1;
    return mix(*state) % n;
}

/* What ends a process that found something wrong: its parent sees the status. */
#define REQUIRE(truth, ...)                                                                                  \
    do {                                                                                                     \
        if (!(truth)) {                                                                                      \
            fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                                  \
            fprintf(stderr, __VA_ARGS__);                                                                    \
            fprintf(stderr, "\n");                                                                           \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)
#define CALL(call) REQUIRE((call) == 0, "%s: %d %s", #call, e.code, e.message)

/* ---- memory and descriptors ---------------------------------------------------------------------------------- */

/* So many looks at a half of the time have seen the most memory that it needs. */
#define LOOKS_THAT_TELL 100

struct usage {
    const char *who;
    double began, next;
    uint64_t early_mib, late_mib; /* the most of the first half, of the second */
    int early_looks, late_looks;
    int files_before, files_at_rest; /* before the table was open; when it first was at rest, 0: not yet */
};

static uint64_t memory_mib(void)
{
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    REQUIRE(f && fscanf(f, "%*u %llu", &pages) == 1, "no memory usage");
    fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE) >> 20;
}

static int open_files(void)
{
    int count = 0;
    DIR *d = opendir("/proc/self/fd");
    while (readdir(d))
        count++;
    closedir(d);
    return count;
}

/* Before its table is open. */
static struct usage usage_of(const char *who)
{
    return (struct usage){.who = who, .began = now(), .files_before = open_files()};
}

static void look(struct usage *u)
{
    bool is_late = now() > u->began + seconds / 2;
    uint64_t *mib = is_late ? &u->late_mib : &u->early_mib, used = memory_mib();
    *(is_late ? &u->late_looks : &u->early_looks) += 1;
    if (used > *mib)
        *mib = used;
    if (getenv("SL_TEST_TRACE") && now() >= u->next) {
        u->next = now() + 10;
        fprintf(stderr, "%s: %.0f s: %" PRIu64 " MiB, %d descriptors\n", u->who, now() - u->began, used,
                open_files());
    }
}

/* When nothing is read or written, only what stays open is open. */
static void look_at_rest(struct usage *u)
{
    int files = open_files();
    if (!u->files_at_rest)
        u->files_at_rest = files;
    REQUIRE(files == u->files_at_rest, "%s: %d descriptors at rest, then %d", u->who, u->files_at_rest,
            files);
}

/* After its table is closed. A sanitizer's memory is not ours. */
static void check_usage(const struct usage *u)
{
    int files = open_files();
    REQUIRE(files == u->files_before, "%s: %d descriptors before, %d after", u->who, u->files_before, files);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    if (u->early_looks >= LOOKS_THAT_TELL && u->late_looks >= LOOKS_THAT_TELL)
        REQUIRE(u->late_mib <= u->early_mib + u->early_mib / 4 + 12, "%s: %" PRIu64 " MiB, then %" PRIu64,
                u->who, u->early_mib, u->late_mib);
    uint64_t most = u->late_mib > u->early_mib ? u->late_mib : u->early_mib;
    REQUIRE(most <= MEMORY_MIB + MEMORY_MIB / 4 + 8, "%s: %" PRIu64 " MiB of %d", u->who, most, MEMORY_MIB);
#endif
}

/* ---- changes ------------------------------------------------------------------------------------------------- */

/* Most changes are of recent keys. */
static int64_t key_of(int64_t k)
{
    uint64_t h = mix((uint64_t)k);
    return h % 4 == 0 ? (int64_t)(h / 4 % KEYS) : (int64_t)(((uint64_t)k / 8 + h / 4 % 500) % KEYS);
}

/* Batches end where STEP divides, and the last change of a step is no delete: a table's greatest ts tells its end. */
static bool is_delete(int64_t k) { return k % STEP != STEP - 1 && mix(~(uint64_t)k) % 20 == 0; }

static void release_array(struct ArrowArray *a)
{
    for (int64_t i = 0; i < a->n_buffers; i++)
        free((void *)(uintptr_t)a->buffers[i]);
    for (int64_t i = 0; i < a->n_children; i++) {
        a->children[i]->release(a->children[i]);
        free(a->children[i]);
    }
    free((void *)a->buffers);
    free(a->children);
    a->release = NULL;
}

/* An array without nulls; the buffers are its own from now on. */
static void make_array(struct ArrowArray *a, int64_t length, void *values, void *text)
{
    *a = (struct ArrowArray){.length = length, .release = release_array};
    a->n_buffers = text ? 3 : values ? 2 : 1;
    a->buffers = calloc(3, sizeof *a->buffers);
    a->buffers[1] = values;
    a->buffers[2] = text;
}

/* Changes [from, from + count). */
static struct ArrowArray changes(int64_t from, int64_t count)
{
    struct ArrowArray rows;
    size_t n = (size_t)count;
    int64_t *id = malloc(n * sizeof *id), *ts = malloc(n * sizeof *ts);
    int32_t *p_ends = calloc(n + 1, sizeof *p_ends), *note_ends = calloc(n + 1, sizeof *note_ends);
    char *p = malloc(n), *note = malloc(n * NOTE_BYTES);
    uint8_t *deleted = calloc(n / 8 + 1, 1);
    for (int64_t i = 0; i < count; i++) {
        int64_t k = from + i, note_bytes = (int64_t)(mix((uint64_t)k + 5) % NOTE_BYTES);
        id[i] = key_of(k);
        ts[i] = k;
        p[i] = (char)('a' + id[i] % 3);
        p_ends[i + 1] = p_ends[i] + 1;
        for (int64_t b = 0; b < note_bytes; b++)
            note[note_ends[i] + b] = (char)('a' + mix((uint64_t)(k + b)) % 26);
        note_ends[i + 1] = note_ends[i] + (int32_t)note_bytes;
        if (is_delete(k))
            deleted[i / 8] |= (uint8_t)(1 << i % 8);
    }
    make_array(&rows, count, NULL, NULL);
    rows.n_children = COLUMNS;
    rows.children = calloc(COLUMNS, sizeof *rows.children);
    for (int c = 0; c < COLUMNS; c++)
        rows.children[c] = malloc(sizeof **rows.children);
    make_array(rows.children[0], count, id, NULL);
    make_array(rows.children[1], count, p_ends, p);
    make_array(rows.children[2], count, ts, NULL);
    make_array(rows.children[3], count, note_ends, note);
    make_array(rows.children[4], count, deleted, NULL);
    return rows;
}

/* ---- what the table must hold -------------------------------------------------------------------------------- */

struct state {
    int64_t end;          /* after all changes below it */
    int64_t newest[KEYS]; /* the change that a key's row is of; -1: there is none */
};

static void state_begin(struct state *s)
{
    s->end = 0;
    for (int i = 0; i < KEYS; i++)
        s->newest[i] = -1;
}

static void state_advance(struct state *s, int64_t end)
{
    for (; s->end < end; s->end++)
        s->newest[key_of(s->end)] = is_delete(s->end) ? -1 : s->end;
}

static int64_t integer_at(const struct ArrowArray *column, int64_t i)
{
    return ((const int64_t *)column->buffers[1])[column->offset + i];
}

/* Reads id and ts of all rows; `end` is one more than the greatest ts. */
static void read_state(sluice_table *t, struct state *s)
{
    static const char *const columns[] = {"id", "ts"};
    struct ArrowArrayStream rows;
    struct ArrowArray batch;
    sluice_scan *scan;
    sluice_error e;
    state_begin(s);
    CALL(sluice_scan_new(t, &scan, &e));
    CALL(sluice_scan_columns(scan, columns, 2, &e));
    CALL(sluice_scan_stream(scan, &rows, &e));
    for (;;) {
        REQUIRE(rows.get_next(&rows, &batch) == 0, "reading: %s", rows.get_last_error(&rows));
        if (!batch.release)
            break;
        for (int64_t i = 0; i < batch.length; i++) {
            int64_t id = integer_at(batch.children[0], batch.offset + i),
                    ts = integer_at(batch.children[1], batch.offset + i);
            REQUIRE(id >= 0 && id < KEYS && s->newest[id] < 0, "key %" PRId64 " twice, or nobody's", id);
            s->newest[id] = ts;
            if (ts >= s->end)
                s->end = ts + 1;
        }
        batch.release(&batch);
    }
    rows.release(&rows);
    sluice_scan_free(scan);
}

/* A file says which ends commits were tried for, and which were reported as done. */
static void note_end(const char *what, int64_t end)
{
    FILE *f = fopen(ends_path, "a");
    REQUIRE(f && fprintf(f, "%s %" PRId64 "\n", what, end) > 0 && fclose(f) == 0, "the file of ends");
}

struct ends {
    int64_t done;  /* the greatest */
    bool is_tried; /* whether a commit was tried for the end that was asked for */
};

static struct ends read_ends(int64_t wanted)
{
    struct ends ends = {.is_tried = wanted == 0};
    char what[8];
    int64_t end;
    FILE *f = fopen(ends_path, "r");
    while (f && fscanf(f, "%7s %" SCNd64, what, &end) == 2) {
        if (strcmp(what, "done") == 0 && end > ends.done)
            ends.done = end;
        ends.is_tried = ends.is_tried || end == wanted;
    }
    if (f)
        fclose(f);
    return ends;
}

/* Every change up to the table's end is in it, none of them twice, and no end is older than what was seen or reported
 * before. `expected` advances to the end. */
static void check_table(sluice_table *t, struct state *expected)
{
    static struct state seen;
    int64_t done = read_ends(0).done;
    read_state(t, &seen);
    REQUIRE(seen.end >= done && seen.end >= expected->end,
            "the table ends at %" PRId64 ", after %" PRId64 " was done and %" PRId64 " was seen", seen.end,
            done, expected->end);
    REQUIRE(read_ends(seen.end).is_tried, "the table ends at %" PRId64 ", where no commit was tried",
            seen.end);
    state_advance(expected, seen.end);
    for (int i = 0; i < KEYS; i++)
        REQUIRE(seen.newest[i] == expected->newest[i],
                "key %d is of change %" PRId64 " instead of %" PRId64 " when the table ends at %" PRId64, i,
                seen.newest[i], expected->newest[i], seen.end);
}

/* ---- the three ----------------------------------------------------------------------------------------------- */

static sluice_table *open_table(const char *const *options)
{
    sluice_table *t;
    sluice_error e;
    CALL(sluice_table_open(table_path, options, &t, &e));
    return t;
}

static const char *const quiet[] = {"sluice.threads", "2", "sluice.memory", "64m", NULL};

static sluice_table *open_to_write(uint64_t *luck)
{
    static const char *const spill[] = {"false", "true"}, *const group[] = {"64k", "1m", "64m"},
                             *const pool[] = {"2m", "8m", "0"}, *const wait[] = {"200", "1000", "0"};
    const char *options[] = {"sluice.threads",
                             "2",
                             "sluice.memory",
                             "64m",
                             "sluice.flush.spill",
                             spill[draw(luck, 3) == 0],
                             "sluice.flush.bucket.bytes",
                             group[draw(luck, 3)],
                             "sluice.flush.task.bytes",
                             pool[draw(luck, 3)],
                             "sluice.flush.interval.ms",
                             wait[draw(luck, 3)],
                             NULL};
    return open_table(options);
}

/* A stretch of the stream at one rate: nothing at all, a trickle, a flow, a flood. */
struct pace {
    double end, pause;
    int64_t batch_rows;
};

static struct pace next_pace(uint64_t *luck)
{
    static const double pauses[] = {0.05, 0.02, 0.1, 0.005};
    static const uint64_t steps[] = {0, 5, BATCH_STEPS, BATCH_STEPS};
    uint64_t rate = draw(luck, 4);
    return (struct pace){.end = now() + seconds / 200 * (double)(1 + draw(luck, 10)),
                         .pause = pauses[rate],
                         .batch_rows = steps[rate] ? STEP * (1 + (int64_t)draw(luck, steps[rate])) : 0};
}

static void commit(sluice_writer *w, int64_t end)
{
    sluice_error e;
    sluice_commit_info info = {.size = sizeof info};
    uint64_t rows, bytes;
    sluice_writer_waiting(w, &rows, &bytes);
    note_end("tried", end);
    CALL(sluice_writer_commit(w, &info, &e));
    note_end("done", end);
    REQUIRE(info.rows_in == rows, "%" PRIu64 " rows waited, %" PRIu64 " were committed", rows, info.rows_in);
    sluice_writer_waiting(w, &rows, &bytes);
    REQUIRE(rows == 0 && bytes == 0, "rows wait after a commit");
}

static int64_t append(sluice_writer *w, int64_t from, int64_t count)
{
    sluice_error e;
    struct ArrowArray rows = changes(from, count);
    CALL(sluice_writer_append(w, &rows, &e));
    REQUIRE(!rows.release, "the rows were not consumed");
    return from + count;
}

/* One writer, from the table's end on, until `end` and a first commit. */
static void stream(uint64_t luck, double end)
{
    static struct state expected;
    struct usage usage = usage_of("writer");
    struct ArrowSchema schema;
    struct pace pace = next_pace(&luck);
    sluice_writer *w;
    sluice_error e;
    sluice_table *t = open_to_write(&luck);
    state_begin(&expected);
    check_table(t, &expected);
    int64_t k = expected.end, committed = k;
    CALL(sluice_schema_parse(SCHEMA, &schema, &e));
    CALL(sluice_writer_open(t, SLUICE_UPSERT, &schema, &w, &e));
    schema.release(&schema);
    for (double next_commit = now(); now() < end || committed == expected.end;) {
        if (now() > pace.end)
            pace = next_pace(&luck);
        if (pace.batch_rows)
            k = append(w, k, pace.batch_rows);
        if (draw(&luck, 200) == 0)
            CALL(sluice_writer_flush(w, &e));
        if (k > committed && now() >= next_commit) {
            commit(w, committed = k);
            look_at_rest(&usage);
            next_commit = now() + (double)draw(&luck, 1000) / 500;
        }
        rest(pace.pause);
        look(&usage);
    }
    if (k > committed)
        commit(w, k);
    sluice_writer_close(w);
    sluice_table_close(t);
    check_usage(&usage);
}

static void read_on(uint64_t luck, double end)
{
    static struct state expected;
    struct usage usage = usage_of("reader");
    sluice_table *t = open_table(quiet);
    state_begin(&expected);
    while (now() < end) {
        check_table(t, &expected);
        look_at_rest(&usage);
        look(&usage);
        rest((double)draw(&luck, 300) / 1000);
    }
    sluice_table_close(t);
    check_usage(&usage);
}

static void compact_once(sluice_table *t, uint64_t *luck)
{
    static const enum sluice_service services[] = {SLUICE_DUE, SLUICE_LOG_COMPACT, SLUICE_COMPACT};
    sluice_commit_info info = {.size = sizeof info};
    sluice_error e;
    int code = sluice_service_run(t, services[draw(luck, 3)], NULL, &info, &e);
    REQUIRE(!code || code == SLUICE_E_BUSY || code == SLUICE_E_CONFLICT, "compacting: %d %s", code,
            e.message);
}

static void compact_on(uint64_t luck, double end)
{
    struct usage usage = usage_of("compactor");
    sluice_table *t = open_table(quiet);
    while (now() < end) {
        compact_once(t, &luck);
        look_at_rest(&usage);
        look(&usage);
        rest((double)draw(&luck, 1000) / 1000);
    }
    sluice_table_close(t);
    check_usage(&usage);
}

/* ---- cases --------------------------------------------------------------------------------------------------- */

static int set_up(void **state)
{
    const char *options[] = {"hoodie.table.recordkey.fields",
                             "id",
                             "hoodie.table.partition.fields",
                             "p",
                             "hoodie.table.ordering.fields",
                             "ts",
                             "hoodie.bucket.index.num.buckets",
                             "2",
                             "hoodie.table.storage.layout",
                             "lsm_tree",
                             NULL};
    struct ArrowSchema schema;
    sluice_error e;
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/sluice_stream_XXXXXX", tmp && *tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(folder));
    snprintf(table_path, sizeof table_path, "%s/t", folder);
    snprintf(ends_path, sizeof ends_path, "%s/ends", folder);
    assert_int_equal(sluice_schema_parse(SCHEMA, &schema, &e), 0);
    assert_int_equal(sluice_table_create(table_path, &schema, options, &e), 0);
    schema.release(&schema);
    return 0;
}

static int tear_down(void **state)
{
    char command[300];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

typedef void (*role)(uint64_t luck, double end);

static pid_t start(role what, uint64_t luck, double end)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        what(luck, end);
        exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

static void join(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("a process ended with status %d", status);
}

/* The table ends where the last commit was tried, is sound, and nothing half-done lies about. */
static void check_end(void)
{
    static struct state expected;
    sluice_table *t = open_table(quiet);
    sluice_error e;
    char *report;
    state_begin(&expected);
    check_table(t, &expected);
    assert_true(expected.end > 0);
    assert_int_equal(sluice_table_doctor(t, 1, &report, &e), 0);
    if (!strstr(report, "\"findings\":[]"))
        fail_msg("doctor: %s", report);
    sluice_free(report);
    sluice_table_close(t);
    print_message("%" PRId64 " changes\n", expected.end);
}

static void test_open_for_long(void **state)
{
    double end = now() + seconds;
    (void)state;
    pid_t others[] = {start(compact_on, seed + 1, end + 0.5), start(read_on, seed + 2, end + 0.5)};
    join(start(stream, seed, end));
    join(others[0]);
    join(others[1]);
    check_end();
}

static void test_killed(void **state)
{
    double end = now() + seconds;
    uint64_t luck = seed;
    (void)state;
    pid_t others[] = {start(compact_on, seed + 1, end + 0.5), start(read_on, seed + 2, end + 0.5)};
    while (now() < end) {
        int status;
        pid_t writer = start(stream, luck + 100, end + 60);
        rest((double)(1 + draw(&luck, 100)) / 100 * (seconds < 20 ? 1 : draw(&luck, 5) ? 2 : 10));
        kill(writer, SIGKILL);
        assert_int_equal(waitpid(writer, &status, 0), writer);
        if (!WIFSIGNALED(status))
            fail_msg("the writer that was to be killed ended before");
    }
    join(start(stream, luck, now() + 0.5));
    join(others[0]);
    join(others[1]);
    check_end();
}

/* All in one process, for tools that look into it. */
static void test_alone(void **state)
{
    uint64_t luck = seed;
    sluice_table *t = open_table(quiet);
    (void)state;
    for (int round = 0; round < 4; round++) {
        stream(luck + (uint64_t)round, now() + seconds / 8);
        compact_once(t, &luck);
        compact_once(t, &luck);
    }
    sluice_table_close(t);
    check_end();
}

static uint64_t number_of(const char *name, uint64_t fallback)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : fallback;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_open_for_long, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_killed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_alone, set_up, tear_down),
    };
    seed = number_of("SEED", (uint64_t)time(NULL));
    seconds = (double)number_of("SECONDS", getenv("SL_TEST_QUICK") ? 1 : getenv("SL_TEST_LONG") ? 120 : 4);
    printf("SEED=%" PRIu64 "\n", seed);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
