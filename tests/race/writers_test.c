/*
 * Many at one table: writers, compacting loops (both kinds, planned here and executed there), readers, and writers and
 * compactors that are killed, as processes and as threads with handles of their own.
 *
 * Every write brings ROWS rows of new keys over all partitions and buckets, marked with the write's name, and one row of a
 * key that all writers share. So a reader can tell a half commit (a name with fewer rows) and a lost one (a name that was
 * there before); in the end every write that was reported as done must be there, and the shared keys hold their highest
 * ordering value. A write may fail with SLUICE_E_BUSY or SLUICE_E_CONFLICT only.
 *
 * SEED from the environment; SL_TEST_QUICK=1 runs a second for each case, SL_TEST_LONG=1 a minute, and five for processes
 * at an lsm_tree table.
 */
#include "engine_support.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#define ROWS       12
#define SHARED     3 /* keys that all writers write */
#define WRITERS    3
#define READERS    2
#define COMPACTORS 2
#define NAMES      40000 /* writes of all writers */
#define PER_WRITER (NAMES / (WRITERS + 1))

static double seconds = 3;
static uint64_t seed;

enum role { WRITER, COMPACTOR, READER };

struct worker {
    enum role role;
    int number; /* among its kind */
    const char *path;
    int first_round;
    bool impatient; /* gives up on the lock at once */
    double end;
    struct rng rng;
    char done_file[300]; /* names of finished writes, one a line */
    char error[1200];    /* "": fine */
    int successes, refusals;
};

static bool failed(struct worker *w, const char *what, const sluice_error *e)
{
    snprintf(w->error, sizeof w->error, "%s: %d %.1000s", what, e ? e->code : 0, e ? e->message : "");
    return false;
}

/* ---- rows --------------------------------------------------------------------------------------------------- */

/* Names are numbers: writer * PER_WRITER + round. A later round has a higher ordering value, whoever writes. */
static int64_t ordering_of(int name)
{
    return (int64_t)(name % PER_WRITER) * (WRITERS + 1) + name / PER_WRITER;
}

static sl_status add_row(sl_batch_builder *b, int64_t id, int name)
{
    const char *partition = id % 2 ? "odd" : "even";
    SL_TRY(sl_builder_integer(b->columns[0], id));
    SL_TRY(sl_builder_bytes(b->columns[1], partition, strlen(partition)));
    SL_TRY(sl_builder_integer(b->columns[2], ordering_of(name)));
    return sl_builder_integer(b->columns[3], name);
}

static sl_status make_rows(int name, sl_batch **out)
{
    const sl_type *schema;
    sl_batch_builder b = {0};
    SL_TRY(sl_schema_parse("id long not null, p string not null, ts long not null, name long", &schema));
    sl_status status = sl_batch_builder_init(&b, schema);
    for (int i = 0; i < ROWS && !status; i++)
        status = add_row(&b, 1000 + (int64_t)name * ROWS + i, name);
    if (!status)
        status = add_row(&b, name % SHARED, name);
    if (!status)
        status = sl_batch_builder_finish(&b, out);
    sl_batch_builder_free(&b);
    sl_type_unref(schema);
    return status;
}

static bool create(const char *path, bool lsm, bool simple_index, sluice_error *e)
{
    const char *const *options = lsm_options(
        "id", PAIRS("hoodie.table.partition.fields", "p", "hoodie.table.ordering.fields", "ts",
                    "hoodie.bucket.index.num.buckets", "2", "hoodie.table.storage.layout",
                    lsm ? "lsm_tree" : "default", "hoodie.index.type", simple_index ? "SIMPLE" : "BUCKET"));
    struct ArrowSchema schema;
    if (sluice_schema_parse("id long not null, p string not null, ts long not null, name long", &schema, e))
        return false;
    int code = sluice_table_create(path, &schema, options, e);
    schema.release(&schema);
    return code == 0;
}

/* What a reader saw: rows of new keys for each name, and the names that hold the shared keys. */
struct seen {
    uint8_t rows[NAMES];
    int shared[SHARED]; /* -1: none */
};

static int64_t number_after(const char *line, const char *member)
{
    const char *at = strstr(line, member);
    return at ? strtoll(at + strlen(member), NULL, 10) : -1;
}

static bool read_table(struct worker *w, sluice_table *t, struct seen *s)
{
    static const char *const columns[] = {"id", "name"};
    sluice_error e;
    char *text;
    memset(s, 0, sizeof *s);
    for (int k = 0; k < SHARED; k++)
        s->shared[k] = -1;
    if (read_rows(t, &(struct query){.columns = columns, .column_count = 2}, &text, &e))
        return failed(w, "reading", &e);
    for (char *line = text; *line; line = strchr(line, '\n') + 1) {
        int64_t id = number_after(line, "\"id\":"), name = number_after(line, "\"name\":");
        if (id < 0 || name < 0 || name >= NAMES) {
            free(text);
            return failed(w, "a row that nobody wrote", NULL);
        }
        if (id < SHARED)
            s->shared[id] = (int)name;
        else
            s->rows[name]++;
    }
    free(text);
    for (int n = 0; n < NAMES; n++)
        if (s->rows[n] != 0 && s->rows[n] != ROWS) {
            snprintf(w->error, sizeof w->error, "half a commit: write %d has %d of %d rows", n, s->rows[n],
                     ROWS);
            return false;
        }
    return true;
}

/* ---- the workers --------------------------------------------------------------------------------------------- */

/* Some writers have services run after their writes. */
static bool open_table(struct worker *w, sluice_table **t)
{
    const char *patient[] = {"sluice.threads",
                             "2",
                             "hoodie.log.compaction.blocks.threshold",
                             "2",
                             "hoodie.compact.inline",
                             w->role == WRITER && chance(&w->rng, 30) ? "true" : "false",
                             NULL};
    const char *impatient[] = {"sluice.threads", "1", "hoodie.write.lock.wait_time_ms", "1", NULL};
    sluice_error e;
    return sluice_table_open(w->path, w->impatient ? impatient : patient, t, &e) ? failed(w, "opening", &e)
                                                                                 : true;
}

static bool write_once(struct worker *w, sluice_table *t, FILE *done, int name)
{
    sl_batch *batch;
    sluice_error e;
    sluice_commit_info info;
    sl_status status = make_rows(name, &batch);
    if (status) {
        snprintf(w->error, sizeof w->error, "rows: %s", sl_status_message(status));
        sl_status_free(status);
        return false;
    }
    int code = write_batch(t, SLUICE_UPSERT, batch, &info, &e);
    sl_batch_unref(batch);
    if (code && code != SLUICE_E_BUSY && code != SLUICE_E_CONFLICT)
        return failed(w, "writing", &e);
    if (code) {
        w->refusals++;
    } else {
        w->successes++;
        fprintf(done, "%d\n", name);
        fflush(done);
    }
    return true;
}

static bool run_writer(struct worker *w)
{
    sluice_table *t = NULL;
    FILE *done = fopen(w->done_file, "w");
    bool fine = done != NULL;
    for (int round = w->first_round; fine && round < PER_WRITER && sl_monotonic() < w->end; round++) {
        if (!t || chance(&w->rng, 20)) {
            sluice_table_close(t);
            t = NULL;
            fine = open_table(w, &t);
        }
        fine = fine && write_once(w, t, done, w->number * PER_WRITER + round);
        if (w->impatient)
            sl_sleep_ms(pick(&w->rng, 5));
    }
    sluice_table_close(t);
    if (done)
        fclose(done);
    return fine;
}

/* Plans, executes, or both; a busy neighbour is no failure. */
static int serve_once(struct worker *w, sluice_table *t, sluice_error *e)
{
    static const enum sluice_service services[] = {SLUICE_COMPACT, SLUICE_LOG_COMPACT, SLUICE_LOG_COMPACT,
                                                   SLUICE_DUE};
    enum sluice_service service = services[pick(&w->rng, 4)];
    char instant[32];
    sluice_commit_info info = {.size = sizeof info};
    return chance(&w->rng, 40) ? sluice_service_schedule(t, service, instant, NULL, e)
                               : sluice_service_run(t, service, NULL, &info, e);
}

static bool run_compactor(struct worker *w)
{
    sluice_table *t = NULL;
    bool fine = open_table(w, &t);
    while (fine && sl_monotonic() < w->end) {
        sluice_error e;
        int code = serve_once(w, t, &e);
        if (code && code != SLUICE_E_BUSY && code != SLUICE_E_CONFLICT)
            fine = failed(w, "compacting", &e);
        w->successes += !code;
        sl_sleep_ms(pick(&w->rng, 60));
    }
    sluice_table_close(t);
    return fine;
}

static bool run_reader(struct worker *w)
{
    sluice_table *t = NULL;
    struct seen *now = malloc(sizeof *now), *before = calloc(1, sizeof *before);
    bool fine = now && before;
    while (fine && sl_monotonic() < w->end) {
        if (!t || chance(&w->rng, 30)) {
            sluice_table_close(t);
            t = NULL;
            fine = open_table(w, &t);
        }
        fine = fine && read_table(w, t, now);
        for (int n = 0; fine && n < NAMES; n++)
            if (before->rows[n] && !now->rows[n]) {
                snprintf(w->error, sizeof w->error, "write %d was there and is gone", n);
                fine = false;
            }
        struct seen *swap = now;
        now = before;
        before = swap;
        w->successes += fine;
    }
    sluice_table_close(t);
    free(now);
    free(before);
    return fine;
}

static bool run(struct worker *w)
{
    return w->role == WRITER ? run_writer(w) : w->role == COMPACTOR ? run_compactor(w) : run_reader(w);
}

/* ---- the end ------------------------------------------------------------------------------------------------- */

/* Every finished write is there, and the shared keys belong to the latest of all writes that are. */
static void check_end(const char *path, const struct worker *workers, size_t count)
{
    static struct seen s;
    struct worker reader = {.path = path};
    sluice_table *t;
    sluice_error e;
    int total = 0, latest[SHARED];
    OK(sluice_table_open(path, NULL, &t, &e));
    if (!read_table(&reader, t, &s))
        fail_msg("%s", reader.error);
    for (size_t i = 0; i < count; i++) {
        int name;
        if (workers[i].role != WRITER)
            continue;
        FILE *done = fopen(workers[i].done_file, "r");
        assert_non_null(done);
        while (fscanf(done, "%d", &name) == 1) {
            if (!s.rows[name])
                fail_msg("write %d was reported as done and is lost", name);
            total++;
        }
        fclose(done);
    }
    assert_true(total > 0);
    for (int k = 0; k < SHARED; k++)
        latest[k] = -1;
    for (int n = 0; n < NAMES; n++)
        if (s.rows[n] && (latest[n % SHARED] < 0 || ordering_of(n) > ordering_of(latest[n % SHARED])))
            latest[n % SHARED] = n;
    for (int k = 0; k < SHARED; k++)
        assert_int_equal(s.shared[k], latest[k]);
    sluice_table_close(t);
    print_message("%d writes\n", total);
}

static size_t make_workers(struct worker *workers, const char *folder, const char *path, bool lsm)
{
    size_t count = 0;
    double end = sl_monotonic() + seconds;
    for (int i = 0; i < WRITERS; i++)
        workers[count++] = (struct worker){.role = WRITER, .number = i, .impatient = i == WRITERS - 1};
    for (int i = 0; i < READERS; i++)
        workers[count++] = (struct worker){.role = READER, .number = i};
    for (int i = 0; i < COMPACTORS && lsm; i++)
        workers[count++] = (struct worker){.role = COMPACTOR, .number = i};
    for (size_t i = 0; i < count; i++) {
        workers[i].path = path;
        workers[i].end = end;
        workers[i].rng.state = seed + i;
        snprintf(workers[i].done_file, sizeof workers[i].done_file, "%s/done.%zu", folder, i);
    }
    return count;
}

static void set_up(char *folder, size_t folder_bytes, char *path, size_t path_bytes, bool lsm,
                   bool simple_index)
{
    sluice_error e;
    temporary_folder(folder, folder_bytes);
    snprintf(path, path_bytes, "%s/table", folder);
    if (!create(path, lsm, simple_index, &e))
        fail_msg("creating: %s", e.message);
}

/* ---- processes ----------------------------------------------------------------------------------------------- */

static pid_t start_process(struct worker *w)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        bool fine = run(w);
        if (!fine)
            fprintf(stderr, "%s %d: %s\n",
                    w->role == WRITER   ? "writer"
                    : w->role == READER ? "reader"
                                        : "compactor",
                    w->number, w->error);
        _exit(fine ? 0 : 1);
    }
    assert_true(pid > 0);
    return pid;
}

/* A worker that is killed again and again: a writer, each time with a successor that writes other names, or a compactor. */
static void kill_workers(struct worker *victim, bool lsm)
{
    struct rng rng = {seed};
    victim->number = WRITERS;
    for (int life = 0; sl_monotonic() < victim->end; life++) {
        int status;
        victim->role = lsm && chance(&rng, 50) ? COMPACTOR : WRITER;
        victim->rng.state = seed + (uint64_t)life;
        victim->first_round = life * 20 % PER_WRITER;
        pid_t pid = start_process(victim);
        sl_sleep_ms(20 + pick(&rng, 250));
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
            fail_msg("the worker that was to be killed failed before");
    }
}

static void race_of_processes(bool lsm)
{
    char folder[200], path[260];
    struct worker workers[WRITERS + READERS + COMPACTORS], victim;
    pid_t pids[WRITERS + READERS + COMPACTORS];
    int bad = 0;
    set_up(folder, sizeof folder, path, sizeof path, lsm, false);
    size_t count = make_workers(workers, folder, path, lsm);
    for (size_t i = 0; i < count; i++)
        pids[i] = start_process(&workers[i]);
    victim = workers[0];
    snprintf(victim.done_file, sizeof victim.done_file, "%s/done.victim", folder);
    kill_workers(&victim, lsm);
    for (size_t i = 0; i < count; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        bad += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    if (bad)
        fail_msg("%d workers failed", bad);
    check_end(path, workers, count);
    remove_folder(folder);
}

static void test_processes_lsm(void **state)
{
    (void)state;
    if (getenv("SL_TEST_LONG")) /* some thousand commits */
        seconds *= 5;
    race_of_processes(true);
    if (getenv("SL_TEST_LONG"))
        seconds /= 5;
}

static void test_processes_cow(void **state)
{
    (void)state;
    race_of_processes(false);
}

/* ---- threads ------------------------------------------------------------------------------------------------- */

static void *thread_main(void *argument)
{
    struct worker *w = argument;
    (void)run(w);
    return NULL;
}

static void race_of_threads(bool lsm, bool simple_index)
{
    char folder[200], path[260];
    struct worker workers[WRITERS + READERS + COMPACTORS];
    pthread_t threads[WRITERS + READERS + COMPACTORS];
    set_up(folder, sizeof folder, path, sizeof path, lsm, simple_index);
    size_t count = make_workers(workers, folder, path, lsm);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, thread_main, &workers[i]), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (size_t i = 0; i < count; i++)
        if (*workers[i].error)
            fail_msg("worker %zu: %s", i, workers[i].error);
    check_end(path, workers, count);
    remove_folder(folder);
}

static void test_threads_lsm(void **state)
{
    (void)state;
    race_of_threads(true, false);
}

static void test_threads_cow(void **state)
{
    (void)state;
    race_of_threads(false, false);
}

/* Small files are written anew while services run. */
static void test_threads_lsm_simple_index(void **state)
{
    (void)state;
    race_of_threads(true, true);
}

int main(int argc, char **argv)
{
    seed = number_from_environment("SEED", (uint64_t)time(NULL));
    seconds = getenv("SL_TEST_QUICK") ? 1.5 : getenv("SL_TEST_LONG") ? 60 : 4;
    printf("SEED=%" PRIu64 "\n", seed);
    /* Processes first: a process that has had threads is a poor parent. */
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_processes_lsm),
                                       cmocka_unit_test(test_processes_cow),
                                       cmocka_unit_test(test_threads_lsm), cmocka_unit_test(test_threads_cow),
                                       cmocka_unit_test(test_threads_lsm_simple_index)};
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
