/*
 * The active timeline of layout 2 (spec/timeline.md 5): up to three files an instant in .hoodie/timeline,
 *
 *     T.<action>.requested   T.<action>.inflight (a commit: T.inflight)   T_C.<action>
 *
 * folded into one entry. A compaction completes as `commit`, a log compaction as `deltacommit`, clustering as
 * `replacecommit`; the pending files tell which it was.
 */
#include "table/table_int.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct {
    const char *name;
    enum sl_action completes_as;
    bool writes;
} actions[] = {
    [SL_ACTION_COMMIT] = {"commit", SL_ACTION_COMMIT, true},
    [SL_ACTION_DELTACOMMIT] = {"deltacommit", SL_ACTION_DELTACOMMIT, true},
    [SL_ACTION_REPLACECOMMIT] = {"replacecommit", SL_ACTION_REPLACECOMMIT, true},
    [SL_ACTION_CLUSTERING] = {"clustering", SL_ACTION_REPLACECOMMIT, true},
    [SL_ACTION_COMPACTION] = {"compaction", SL_ACTION_COMMIT, true},
    [SL_ACTION_LOGCOMPACTION] = {"logcompaction", SL_ACTION_DELTACOMMIT, true},
    [SL_ACTION_CLEAN] = {"clean", SL_ACTION_CLEAN, false},
    [SL_ACTION_ROLLBACK] = {"rollback", SL_ACTION_ROLLBACK, false},
    [SL_ACTION_RESTORE] = {"restore", SL_ACTION_RESTORE, false},
    [SL_ACTION_SAVEPOINT] = {"savepoint", SL_ACTION_SAVEPOINT, false},
    [SL_ACTION_INDEXING] = {"indexing", SL_ACTION_INDEXING, false},
    [SL_ACTION_UNKNOWN] = {"unknown", SL_ACTION_UNKNOWN, false},
};

const char *sl_action_name(enum sl_action action) { return actions[action].name; }
enum sl_action sl_action_completes_as(enum sl_action action) { return actions[action].completes_as; }
bool sl_action_writes(enum sl_action action) { return actions[action].writes; }
bool sl_action_is_service(enum sl_action action)
{
    return actions[action].writes && action != actions[action].completes_as;
}

static enum sl_action action_named(const char *name, size_t len)
{
    for (int a = 0; a < SL_ACTION_UNKNOWN; a++)
        if (strlen(actions[a].name) == len && memcmp(actions[a].name, name, len) == 0)
            return (enum sl_action)a;
    return SL_ACTION_UNKNOWN;
}

bool timeline_action_writes(const char *name) { return sl_action_writes(action_named(name, strlen(name))); }

/* ---- file names ---------------------------------------------------------------------------------------- */

static bool take_time(const char **at, char *out)
{
    size_t n = strspn(*at, "0123456789");
    if (n == 0 || n >= SL_INSTANT_BYTES)
        return false;
    memcpy(out, *at, n);
    out[n] = 0;
    *at += n;
    return true;
}

/* False: not a timeline file (temporary names, side files, other suffixes). */
static bool parse_name(const char *name, sl_instant *out)
{
    memset(out, 0, sizeof *out);
    const char *at = name;
    if (!take_time(&at, out->requested))
        return false;
    if (*at == '_') {
        at++;
        if (!take_time(&at, out->completed))
            return false;
    }
    if (*at++ != '.')
        return false;
    const char *dot = strchr(at, '.');
    if (!dot && strcmp(at, "inflight") == 0) {
        out->action = SL_ACTION_COMMIT;
        out->state = SL_INFLIGHT;
    } else if (!dot) {
        out->action = action_named(at, strlen(at));
        out->state = SL_COMPLETED;
    } else {
        out->action = action_named(at, (size_t)(dot - at));
        if (strcmp(dot, ".requested") == 0)
            out->state = SL_REQUESTED;
        else if (strcmp(dot, ".inflight") == 0)
            out->state = SL_INFLIGHT;
        else
            return false;
    }
    out->completed_as = actions[out->action].completes_as;
    return out->action != SL_ACTION_UNKNOWN && (out->state == SL_COMPLETED || !*out->completed);
}

void sl_instant_file(const sl_instant *instant, enum sl_instant_state state, char *out)
{
    const char *action = actions[instant->action].name;
    if (state == SL_REQUESTED)
        snprintf(out, 96, "%s.%s.requested", instant->requested, action);
    else if (state == SL_INFLIGHT && instant->action == SL_ACTION_COMMIT)
        snprintf(out, 96, "%s.inflight", instant->requested);
    else if (state == SL_INFLIGHT)
        snprintf(out, 96, "%s.%s.inflight", instant->requested, action);
    else if (strcmp(instant->completed, instant->requested) == 0) /* from layout 1: see sl_timeline_load */
        snprintf(out, 96, "%s.%s", instant->requested, actions[instant->completed_as].name);
    else
        snprintf(out, 96, "%s_%s.%s", instant->requested, instant->completed,
                 actions[instant->completed_as].name);
}

/* ---- loading ------------------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    const sl_instant *x = a, *y = b;
    int c = strcmp(x->requested, y->requested);
    if (!c)
        c = (int)x->completed_as - (int)y->completed_as;
    return c ? c : (int)x->state - (int)y->state;
}

/* Folds the files of one instant: neighbours after sorting. The requested state comes first and knows the
 * real action. */
static size_t fold(sl_instant *files, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        sl_instant *last = kept ? &files[kept - 1] : NULL;
        bool same = last && strcmp(last->requested, files[i].requested) == 0 &&
                    last->completed_as == files[i].completed_as;
        if (!same) {
            files[kept] = files[i];
            last = &files[kept++];
        }
        last->state = files[i].state;
        last->has_requested |= files[i].state == SL_REQUESTED;
        last->has_inflight |= files[i].state == SL_INFLIGHT;
        if (files[i].state == SL_COMPLETED)
            memcpy(last->completed, files[i].completed, sizeof last->completed);
    }
    return kept;
}

sl_status sl_timeline_load(const sl_table *table, sl_timeline *out)
{
    char *path = NULL;
    sl_listing listing = {0};
    sl_instant *instants = NULL;
    sl_status status = SL_OK;
    size_t count = 0;
    SL_GO(timeline_path(table, "", &path));
    SL_GO(sl_storage_list(table->storage, path, &listing));
    if (!(instants = sl_calloc(listing.count + 1, sizeof *instants))) {
        status = sl_nomem();
        goto done;
    }
    for (size_t i = 0; i < listing.count; i++) {
        if (listing.entries[i].is_dir || !parse_name(listing.entries[i].name, &instants[count]))
            continue;
        /* A completed file without completion time came from layout 1; its requested time stands in. */
        if (instants[count].state == SL_COMPLETED && !*instants[count].completed)
            memcpy(instants[count].completed, instants[count].requested, sizeof instants[count].completed);
        count++;
    }
    qsort(instants, count, sizeof *instants, by_time);
    sl_timeline timeline = {.instants = instants, .count = fold(instants, count)};
    for (size_t i = 0; i < timeline.count; i++)
        if (sl_action_writes(
                instants[i]
                    .action)) { /* services that write no rows may stay behind: restore is never archived */
            memcpy(timeline.first_commit, instants[i].requested, sizeof timeline.first_commit);
            break;
        }
    *out = timeline;
    instants = NULL;
done:
    sl_free(instants);
    sl_listing_free(&listing);
    sl_free(path);
    return status ? sl_context(status, "timeline") : SL_OK;
}

void sl_timeline_free(sl_timeline *timeline)
{
    sl_free(timeline->instants);
    timeline_free_history(timeline);
    memset(timeline, 0, sizeof *timeline);
}

/* ---- asking -------------------------------------------------------------------------------------------- */

const sl_instant *sl_timeline_find(const sl_timeline *timeline, const char *requested, enum sl_action action)
{
    for (size_t i = 0; i < timeline->count; i++)
        if (strcmp(timeline->instants[i].requested, requested) == 0 && timeline->instants[i].action == action)
            return &timeline->instants[i];
    return NULL;
}

const sl_instant *sl_timeline_last_write(const sl_timeline *timeline)
{
    for (size_t i = timeline->count; i-- > 0;)
        if (actions[timeline->instants[i].action].writes && timeline->instants[i].state == SL_COMPLETED)
            return &timeline->instants[i];
    return NULL;
}

bool sl_timeline_is_pending(const sl_timeline *timeline, const char *requested)
{
    for (size_t i = 0; i < timeline->count; i++)
        if (strcmp(timeline->instants[i].requested, requested) == 0 &&
            timeline->instants[i].state != SL_COMPLETED)
            return true;
    return false;
}

/* First instant that is not before `requested`. */
static size_t lower_bound(const sl_timeline *timeline, const char *requested)
{
    size_t low = 0, high = timeline->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strcmp(timeline->instants[middle].requested, requested) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const char *sl_timeline_completion(const sl_timeline *timeline, const char *requested)
{
    for (size_t i = lower_bound(timeline, requested);
         i < timeline->count && strcmp(timeline->instants[i].requested, requested) == 0; i++)
        if (actions[timeline->instants[i].action].writes)
            return timeline->instants[i].state == SL_COMPLETED ? timeline->instants[i].completed : NULL;
    /* Older than everything active: archived, so completed (spec/timeline.md 9.3, 12). */
    if (!*timeline->first_commit || strcmp(requested, timeline->first_commit) >= 0)
        return NULL;
    const char *completed = timeline_archived_completion(timeline, requested);
    return completed ? completed : requested;
}

/* ---- contents ------------------------------------------------------------------------------------------ */

#define INSTANT_BYTES_MAX ((size_t)1 << 30) /* a commit of a million files is some hundred MB */

static sl_status instant_read(const sl_table *table, const sl_instant *instant, enum sl_instant_state state,
                              sl_buf *out)
{
    char name[96], *path;
    sl_instant_file(instant, state, name);
    SL_TRY(timeline_path(table, name, &path));
    sl_status status = sl_storage_read_all(table->storage, path, INSTANT_BYTES_MAX, out);
    sl_free(path);
    return status;
}

/* Version 6 content lives on in instants that an upgrade moved: JSON, told by its first character. */
static sl_status decode(const sl_buf *bytes, json_t **out)
{
    size_t start = 0;
    while (start < bytes->len && isspace(bytes->data[start]))
        start++;
    if (start == bytes->len) {
        *out = json_object();
        return *out ? SL_OK : sl_nomem();
    }
    if (bytes->data[start] == '{') {
        json_error_t error;
        *out = json_loadb((const char *)bytes->data, bytes->len, JSON_REJECT_DUPLICATES, &error);
        return *out ? SL_OK : sl_corrupt("JSON: %s", error.text);
    }
    json_t *records;
    SL_TRY(sl_avro_container_read(bytes->data, bytes->len, &records, NULL));
    json_t *first = json_array_get(records, 0);
    json_t *record = json_is_object(first) ? json_incref(first) : NULL;
    json_decref(records);
    if (!record)
        return sl_corrupt("Avro file without a record");
    *out = record;
    return SL_OK;
}

sl_status sl_instant_json(const sl_table *table, const sl_instant *instant, enum sl_instant_state state,
                          json_t **out)
{
    sl_buf bytes = {0};
    char name[96];
    sl_instant_file(instant, state, name);
    sl_status status = instant_read(table, instant, state, &bytes);
    if (!status)
        status = decode(&bytes, out);
    sl_buf_free(&bytes);
    return status ? sl_context(status, "instant %s", name) : SL_OK;
}

sl_status sl_instant_json_with(const sl_table *table, const sl_instant *instant, enum sl_instant_state state,
                               const char *member, json_t **out)
{
    json_t *content;
    char name[96];
    SL_TRY(sl_instant_json(table, instant, state, &content));
    if (json_object_get(content, member)) {
        *out = content;
        return SL_OK;
    }
    json_decref(content);
    sl_instant_file(instant, state, name);
    return sl_corrupt("instant %s: no %s in it", name, member);
}

/* ---- times --------------------------------------------------------------------------------------------- */

void sl_instant_format(int64_t epoch_ms, bool utc, char *out)
{
    int64_t floored = epoch_ms / 1000 - (epoch_ms % 1000 < 0);
    time_t seconds = (time_t)floored;
    struct tm t;
    if (utc)
        gmtime_r(&seconds, &t);
    else
        localtime_r(&seconds, &t);
    snprintf(out, SL_INSTANT_BYTES, "%04u%02u%02u%02u%02u%02u%03u", (unsigned)(t.tm_year + 1900) % 10000u,
             (unsigned)(t.tm_mon + 1) % 100u, (unsigned)t.tm_mday % 100u, (unsigned)t.tm_hour % 100u,
             (unsigned)t.tm_min % 100u, (unsigned)t.tm_sec % 100u, (unsigned)(epoch_ms - floored * 1000));
}

/* Whether the text is the beginning of the pattern, in which 0 stands for any digit; "T" may stand for its blank. */
static bool looks_like(const char *text, const char *pattern)
{
    for (; *text; text++, pattern++)
        if (*pattern == '0' ? !isdigit((unsigned char)*text)
                            : *text != *pattern && !(*pattern == ' ' && *text == 'T'))
            return false;
    return true;
}

sl_status sl_instant_parse(const char *text, char *out)
{
    static const char written[] = "0000-00-00 00:00:00.000", plain[] = "00000000000000000";
    char digits[SL_INSTANT_BYTES];
    size_t len = strlen(text), n = 0;
    bool form = (len == 8 || len == 14 || len == 17) && looks_like(text, plain);
    form = form || ((len == 10 || len == 19 || len == 23) && looks_like(text, written));
    if (!form)
        return sl_input("\"%s\" is no instant (examples: 20240131, 20240131101530123, 2024-01-31, "
                        "'2024-01-31 10:15:30.123')",
                        text);
    for (const char *at = text; *at; at++)
        if (isdigit((unsigned char)*at))
            digits[n++] = *at;
    /* A date alone is its midnight; a time without milliseconds covers its whole second (spec/timeline.md 4). */
    if (n == 8)
        memcpy(digits + n, "000000000", 9);
    else if (n == 14)
        memcpy(digits + n, "999", 3);
    memcpy(out, digits, 17);
    out[17] = 0;
    return SL_OK;
}
