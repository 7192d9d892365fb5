/*
 * hoodie.compaction.strategy: which of the file groups with logs a compaction takes, and in what order
 * (spec/write-path.md 9). Names are Hudi's, with or without package; several joined by commas are applied one after the
 * other, as its composite strategy does.
 */
#include "service/service_int.h"
#include <stdlib.h>
#include <string.h>

/* ---- order --------------------------------------------------------------------------------------------- */

static int by_place(const struct candidate *x, const struct candidate *y)
{
    int c = strcmp(x->group->partition, y->group->partition);
    return c ? c : strcmp(x->group->file_id, y->group->file_id);
}

static int by_log_bytes(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->log_bytes != y->log_bytes)
        return x->log_bytes < y->log_bytes ? 1 : -1;
    return by_place(x, y);
}

static int by_log_count(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->log_count != y->log_count)
        return x->log_count < y->log_count ? 1 : -1;
    return by_place(x, y);
}

/* ---- bounds -------------------------------------------------------------------------------------------- */

struct bound {
    int64_t least; /* log bytes, logs, day */
    bool below;    /* keep what is under it instead */
};

static bool has_log_bytes(const void *context, const struct candidate *item)
{
    int64_t least = ((const struct bound *)context)->least;
    return least <= 0 || item->log_bytes >= (uint64_t)least;
}

static bool has_logs(const void *context, const struct candidate *item)
{
    int64_t least = ((const struct bound *)context)->least;
    return least <= 0 || item->log_count >= (size_t)least;
}

/* The one that uses the budget up is still taken. */
static sl_status bound_io(const sl_table *table, struct candidates *c)
{
    int64_t target;
    SL_TRY(sl_table_setting_int(table, "hoodie.compaction.target.io", 512000, &target));
    double left = (double)target, read, write;
    size_t kept = 0;
    while (kept < c->count) {
        left -= operation_megabytes(&c->items[kept++], &read, &write);
        if (left <= 0)
            break;
    }
    while (c->count > kept)
        candidate_free(&c->items[--c->count]);
    return SL_OK;
}

static sl_status log_file_size(const sl_table *table, struct candidates *c)
{
    struct bound b = {0};
    SL_TRY(sl_table_setting_int(table, "hoodie.compaction.logfile.size.threshold", 0, &b.least));
    candidates_filter(c, has_log_bytes, &b);
    qsort(c->items, c->count, sizeof *c->items, by_log_bytes);
    return bound_io(table, c);
}

static sl_status log_file_num(const sl_table *table, struct candidates *c)
{
    struct bound b = {0};
    SL_TRY(sl_table_setting_int(table, "hoodie.compaction.logfile.num.threshold", 0, &b.least));
    candidates_filter(c, has_logs, &b);
    qsort(c->items, c->count, sizeof *c->items, by_log_count);
    return bound_io(table, c);
}

static sl_status unbounded(const sl_table *table, struct candidates *c)
{
    (void)table;
    (void)c;
    return SL_OK;
}

/* ---- days ---------------------------------------------------------------------------------------------- */

/* A number and, unless it is the last, the slash behind it; the field's name of a hive-style part is passed over. */
static bool take_part(const char **at, bool last, int64_t *out)
{
    const char *end = strchr(*at, '/'), *name = strchr(*at, '=');
    if (name && (!end || name < end))
        *at = name + 1;
    char *stop;
    *out = strtoll(*at, &stop, 10);
    if (stop == *at || *stop != (last ? 0 : '/'))
        return false;
    *at = stop + !last;
    return true;
}

/* "2024/01/31" and "year=2024/month=01/day=31" -> 20240131 */
static sl_status day_of(const char *partition, int64_t *out)
{
    const char *at = partition;
    int64_t year, month, day;
    if (!take_part(&at, false, &year) || !take_part(&at, false, &month) || !take_part(&at, true, &day))
        return sl_input("partition \"%s\" is no day (yyyy/MM/dd), which hoodie.compaction.strategy goes by",
                        partition);
    *out = (year * 100 + month) * 100 + day;
    return SL_OK;
}

static sl_status check_days(const struct candidates *c)
{
    int64_t day;
    for (size_t i = 0; i < c->count; i++)
        SL_TRY(day_of(c->items[i].group->partition, &day));
    return SL_OK;
}

/* Of a partition that was checked. */
static int64_t known_day(const struct candidate *item)
{
    int64_t day = 0;
    (void)sl_status_ignore(day_of(item->group->partition, &day));
    return day;
}

static int by_day(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    int64_t x_day = known_day(x), y_day = known_day(y);
    if (x_day != y_day)
        return x_day < y_day ? 1 : -1;
    return by_place(x, y);
}

static sl_status days_wanted(const sl_table *table, int64_t *out)
{
    return sl_table_setting_int(table, "hoodie.compaction.daybased.target.partitions", 10, out);
}

static sl_status day_based(const sl_table *table, struct candidates *c)
{
    int64_t wanted, days = 0;
    SL_TRY(days_wanted(table, &wanted));
    SL_TRY(check_days(c));
    qsort(c->items, c->count, sizeof *c->items, by_day);
    size_t kept = 0;
    for (; kept < c->count; kept++) {
        days += kept == 0 || known_day(&c->items[kept]) != known_day(&c->items[kept - 1]);
        if (days > wanted)
            break;
    }
    while (c->count > kept)
        candidate_free(&c->items[--c->count]);
    return bound_io(table, c);
}

static bool is_recent(const void *context, const struct candidate *item)
{
    const struct bound *b = context;
    return (known_day(item) >= b->least) != b->below;
}

static sl_status by_recency(const sl_table *table, struct candidates *c, bool old)
{
    char earliest[SL_INSTANT_BYTES];
    struct bound b = {.below = old};
    int64_t wanted;
    SL_TRY(days_wanted(table, &wanted));
    SL_TRY(check_days(c));
    if (wanted > 36500)
        wanted = 36500;
    sl_instant_format(sl_now_ms() - wanted * 86400000, table->utc, earliest);
    earliest[8] = 0;
    b.least = strtoll(earliest, NULL, 10);
    qsort(c->items, c->count, sizeof *c->items, by_day);
    candidates_filter(c, is_recent, &b);
    return SL_OK;
}

static sl_status partitions_from(const sl_table *table, struct candidates *c)
{
    return by_recency(table, c, false);
}

static sl_status partitions_before(const sl_table *table, struct candidates *c)
{
    return by_recency(table, c, true);
}

/* ---- the table of them --------------------------------------------------------------------------------- */

#define PACKAGE "org.apache.hudi.table.action.compact.strategy."
#define SETTING "hoodie.compaction.strategy"

static const struct {
    const char *name;
    sl_status (*apply)(const sl_table *table, struct candidates *c);
} strategies[] = {
    {"LogFileSizeBasedCompactionStrategy", log_file_size},
    {"LogFileNumBasedCompactionStrategy", log_file_num},
    {"BoundedIOCompactionStrategy", bound_io},
    {"DayBasedCompactionStrategy", day_based},
    {"BoundedPartitionAwareCompactionStrategy", partitions_from},
    {"UnBoundedPartitionAwareCompactionStrategy", partitions_before},
    {"UnBoundedCompactionStrategy", unbounded},
};
#define STRATEGIES (sizeof strategies / sizeof *strategies)

static sl_status apply_one(const sl_table *table, const char *name, struct candidates *c)
{
    const char *plain = strncmp(name, PACKAGE, sizeof PACKAGE - 1) == 0 ? name + sizeof PACKAGE - 1 : name;
    for (size_t i = 0; i < STRATEGIES; i++)
        if (strcmp(plain, strategies[i].name) == 0)
            return strategies[i].apply(table, c);
    return sl_hint(sl_unsupported(SETTING "=%s", name),
                   "LogFileSizeBasedCompactionStrategy and the like, several joined by commas");
}

sl_status strategy_apply(const sl_table *table, struct candidates *c)
{
    sl_strings names = {0};
    SL_TRY(sl_strings_split(&names, sl_table_setting(table, SETTING, strategies[0].name), ','));
    sl_status status = SL_OK;
    for (size_t i = 0; i < names.count && !status; i++)
        status = apply_one(table, names.items[i], c);
    sl_strings_free(&names);
    return status;
}
