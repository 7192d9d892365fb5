/*
 * Hudi's triggers of an inline compaction (spec/lsm-layout.md 12.2): by the number of delta commits since the last
 * compaction, by the time since then, or both. What a log compaction writes is nothing new and does not count.
 */
#include "service/service_int.h"
#include <stdlib.h>
#include <string.h>

#define TRIGGER "hoodie.compact.inline.trigger.strategy"

struct since {
    const char
        *instant; /* of the last compaction, else the first delta commit; NULL: no delta commit at all */
    int64_t commits;
};

/* `asked`: compactions that are planned count as well. */
static struct since delta_commits(const sl_timeline *timeline, bool asked)
{
    struct since s = {0};
    for (size_t i = 0; i < timeline->count; i++) {
        const sl_instant *instant = &timeline->instants[i];
        if (instant->action == SL_ACTION_COMPACTION && (asked || instant->state == SL_COMPLETED))
            s = (struct since){instant->requested, 0};
    }
    const char *last = s.instant;
    for (size_t i = 0; i < timeline->count; i++) {
        const sl_instant *instant = &timeline->instants[i];
        if (instant->action != SL_ACTION_DELTACOMMIT || instant->state != SL_COMPLETED ||
            (last && strcmp(instant->completed, last) <= 0))
            continue;
        s.commits++;
        if (!s.instant)
            s.instant = instant->requested;
    }
    return s;
}

static int64_t digits(const char *text, size_t count)
{
    int64_t value = 0;
    for (size_t i = 0; i < count && text[i] >= '0' && text[i] <= '9'; i++)
        value = value * 10 + (text[i] - '0');
    return value;
}

/* Seconds between two instants of one clock, by the calendar. */
static int64_t calendar_seconds(const char *instant)
{
    int64_t year = digits(instant, 4), month = digits(instant + 4, 2), day = digits(instant + 6, 2);
    year -= month <= 2; /* years begin in March, so that the leap day is their last */
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t days = year * 365 + year / 4 - year / 100 + year / 400 + day_of_year;
    return ((days * 24 + digits(instant + 8, 2)) * 60 + digits(instant + 10, 2)) * 60 +
           digits(instant + 12, 2);
}

static int64_t seconds_since(const sl_table *table, const char *instant)
{
    char now[SL_INSTANT_BYTES];
    if (strlen(instant) < 14)
        return 0;
    sl_instant_format(sl_now_ms(), table->utc, now);
    return calendar_seconds(now) - calendar_seconds(instant);
}

sl_status trigger_is_due(const sl_table *table, const sl_timeline *timeline, bool *due)
{
    const char *name = sl_table_setting(table, TRIGGER, "NUM_COMMITS");
    struct since s = delta_commits(timeline, strcmp(name, "NUM_COMMITS_AFTER_LAST_REQUEST") == 0);
    int64_t commits, seconds;
    SL_TRY(sl_table_setting_int(table, "hoodie.compact.inline.max.delta.commits", 5, &commits));
    SL_TRY(sl_table_setting_int(table, "hoodie.compact.inline.max.delta.seconds", 3600, &seconds));
    bool enough = s.commits >= commits, late = s.instant && seconds_since(table, s.instant) >= seconds;
    if (strcmp(name, "NUM_COMMITS") == 0 || strcmp(name, "NUM_COMMITS_AFTER_LAST_REQUEST") == 0)
        *due = enough;
    else if (strcmp(name, "TIME_ELAPSED") == 0)
        *due = late;
    else if (strcmp(name, "NUM_AND_TIME") == 0)
        *due = enough && late;
    else if (strcmp(name, "NUM_OR_TIME") == 0)
        *due = enough || late;
    else
        return sl_input("setting " TRIGGER ": \"%s\" is none of NUM_COMMITS, NUM_COMMITS_AFTER_LAST_REQUEST, "
                        "TIME_ELAPSED, NUM_AND_TIME, NUM_OR_TIME",
                        name);
    *due = *due && s.instant;
    return SL_OK;
}
