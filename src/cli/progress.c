/*
 * What goes on, on one line of standard error that is drawn over itself: only on a terminal, only after a second, ten
 * times a second at most. With --explain the steps are remembered with their times. The library calls from any of its
 * threads while the main one may print.
 */
#include "cli.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STEPS_MAX = 32, STEP_NAME_MAX = 64, BAR_WIDTH = 20 };

struct step {
    char name[STEP_NAME_MAX];
    double begun, ended;
    uint64_t done, total;
};

#define DELAY_SECONDS 1

static struct {
    double delay;        /* seconds before the first line is drawn */
    bool is_shown_later; /* a terminal, and nobody said no */
    bool is_on_screen;
    bool has_color;
    bool is_explained, is_json;
    double begun, drawn;
    const char *what;
    struct step steps[STEPS_MAX];
    size_t step_count;
} progress;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

double monotonic_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static bool is_capable_terminal(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

void progress_begin(const struct args *args)
{
    const char *no_color = getenv("NO_COLOR");
    const char *delay = getenv("SLUICE_PROGRESS_DELAY"); /* seconds; so that a test need not be slow */
    pthread_mutex_lock(&lock);
    memset(&progress, 0, sizeof progress);
    progress.is_shown_later =
        !given(args, OPT_QUIET) && !given(args, OPT_NO_PROGRESS) && is_capable_terminal();
    progress.has_color = !(no_color && *no_color);
    progress.is_explained = given(args, OPT_EXPLAIN);
    progress.is_json = given(args, OPT_JSON);
    progress.what = args->what;
    progress.begun = monotonic_seconds();
    progress.delay = delay ? atof(delay) : DELAY_SECONDS;
    pthread_mutex_unlock(&lock);
}

static struct step *step_named(const char *name, double now)
{
    for (size_t i = progress.step_count; i-- > 0;)
        if (strncmp(progress.steps[i].name, name, STEP_NAME_MAX - 1) == 0)
            return &progress.steps[i];
    if (progress.step_count == STEPS_MAX)
        return &progress.steps[STEPS_MAX - 1];
    struct step *s = &progress.steps[progress.step_count++];
    snprintf(s->name, sizeof s->name, "%s", name);
    s->begun = now;
    return s;
}

static void short_number(double n, char out[NUMBER_TEXT])
{
    static const char units[] = " kMGT";
    size_t unit = 0;
    for (; n >= 999.5 && unit + 2 < sizeof units; unit++)
        n /= 1000;
    if (unit == 0)
        snprintf(out, NUMBER_TEXT, "%.0f", n);
    else
        snprintf(out, NUMBER_TEXT, "%.1f%c", n, units[unit]);
}

static void draw(const struct step *s, double now)
{
    char line[256], done[NUMBER_TEXT], rate[NUMBER_TEXT], bar[BAR_WIDTH + 1];
    double seconds = now - s->begun, per_second = seconds > 0.05 ? (double)s->done / seconds : 0;
    short_number((double)s->done, done);
    short_number(per_second, rate);
    if (s->total) {
        double part = s->done < s->total ? (double)s->done / (double)s->total : 1;
        int filled = (int)(part * BAR_WIDTH);
        memset(bar, '.', BAR_WIDTH);
        memset(bar, '#', (size_t)filled);
        bar[BAR_WIDTH] = 0;
        int left =
            per_second > 0 && s->done < s->total ? (int)((double)(s->total - s->done) / per_second) : 0;
        snprintf(line, sizeof line, "%s: %s [%s] %3d%%  %s/s  %d:%02d left", progress.what, s->name, bar,
                 (int)(part * 100), rate, left / 60, left % 60);
    } else
        snprintf(line, sizeof line, "%s: %s %s  %s/s  %d s", progress.what, s->name, done, rate,
                 (int)(now - progress.begun));
    size_t width = terminal_width(stderr);
    if (width && strlen(line) >= width)
        line[width - 1] = 0;
    fprintf(stderr, progress.has_color ? "\r\033[K\033[36m%s\033[0m" : "\r\033[K%s", line);
    fflush(stderr);
}

void progress_update(const char *step, uint64_t done, uint64_t total)
{
    double now = monotonic_seconds();
    pthread_mutex_lock(&lock);
    struct step *s = step_named(step, now);
    s->done = done > s->done ? done : s->done; /* threads report out of order */
    s->total = total;
    s->ended = now;
    if (progress.is_shown_later && now - progress.begun >= progress.delay && now - progress.drawn >= 0.1) {
        progress.drawn = now;
        progress.is_on_screen = true;
        draw(s, now);
    }
    pthread_mutex_unlock(&lock);
}

void progress_erase(void)
{
    pthread_mutex_lock(&lock);
    if (progress.is_on_screen) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
        progress.is_on_screen = false;
    }
    pthread_mutex_unlock(&lock);
}

void progress_end(void)
{
    progress_erase();
    pthread_mutex_lock(&lock);
    progress.is_shown_later = false;
    pthread_mutex_unlock(&lock);
}

static void print_steps_json(void)
{
    json_t *steps = json_array();
    for (size_t i = 0; i < progress.step_count; i++) {
        const struct step *s = &progress.steps[i];
        json_array_append_new(steps, json_pack("{s:s, s:f, s:f, s:I}", "step", s->name, "from",
                                               s->begun - progress.begun, "took", s->ended - s->begun,
                                               "count", (json_int_t)s->done));
    }
    json_t *object = json_pack("{s:o}", "steps", steps);
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9));
    fprintf(stderr, "%s\n", text ? text : "{}");
    free(text);
    json_decref(object);
}

void progress_explain(void)
{
    if (!progress.is_explained || !progress.step_count)
        return;
    if (progress.is_json) {
        print_steps_json();
        return;
    }
    static const struct view_column columns[] = {
        {"step", false}, {"from", true}, {"took", true}, {"count", true}};
    struct view *v = view_new(columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < progress.step_count; i++) {
        const struct step *s = &progress.steps[i];
        char from[NUMBER_TEXT], took[NUMBER_TEXT], done[NUMBER_TEXT];
        view_add(v,
                 (const char *const[]){s->name, seconds_text(s->begun - progress.begun, from),
                                       seconds_text(s->ended - s->begun, took), count_text(s->done, done)});
    }
    view_print(v, stderr, 0);
    view_free(v);
}
