/* How large a stored record is, by what the newest commits wrote (spec/write-path.md 7): room in small files is counted in
 * rows before there are any bytes. */
#include "write/write_int.h"
#include <math.h>

#define COMMITS_MAX      5 /* _hoodie.record.size.estimator.max.commits */
#define RECORD_BYTES_MAX 2147483647.0

/* Doubles, since a commit may claim any number. */
struct sums {
    double bytes, rows, files;
};

/* When a commit is a good sample, and what of its files is not rows. */
struct sampling {
    double least_bytes;
    int64_t metadata_bytes, fallback;
};

static sl_status sampling_read(const sl_table *table, struct sampling *out)
{
    const char *threshold = sl_table_setting(table, "hoodie.record.size.estimation.threshold", "1.0");
    uint64_t small_limit;
    char *end;
    SL_TRY(sl_table_setting_bytes(table, "hoodie.parquet.small.file.limit", 100 << 20, &small_limit));
    SL_TRY(sl_table_setting_int(table, "hoodie.copyonwrite.record.size.estimate", 1024, &out->fallback));
    SL_TRY(sl_table_setting_int(table, "hoodie.record.size.estimator.average.metadata.size", 0,
                                &out->metadata_bytes));
    out->least_bytes = strtod(threshold, &end) * (double)small_limit;
    if (*end || !*threshold)
        return sl_input("setting hoodie.record.size.estimation.threshold: \"%s\" is no number", threshold);
    return out->fallback > 0 ? SL_OK : sl_input("hoodie.copyonwrite.record.size.estimate must be above 0");
}

/* Of a delta commit only base files count: a log's records are not what is packed. */
static void add_stats(const json_t *commit, bool bases_only, struct sums *s)
{
    const char *partition;
    json_t *stats, *stat;
    size_t i;
    json_object_foreach(json_object_get(commit, "partitionToWriteStats"), partition, stats)
        json_array_foreach(stats, i, stat)
    {
        if (bases_only && json_is_integer(json_object_get(stat, "logVersion")))
            continue;
        s->bytes += json_number_value(json_object_get(stat, "totalWriteBytes"));
        s->rows += json_number_value(json_object_get(stat, "numWrites"));
        s->files++;
    }
}

static bool counts(const sl_instant *instant)
{
    return instant->state == SL_COMPLETED &&
           (instant->completed_as == SL_ACTION_COMMIT || instant->completed_as == SL_ACTION_DELTACOMMIT);
}

sl_status record_size_estimate(const sl_table *table, const sl_timeline *timeline, int64_t *out)
{
    struct sampling sampling;
    SL_TRY(sampling_read(table, &sampling));
    *out = sampling.fallback;
    int seen = 0;
    for (size_t i = timeline->count; i-- > 0 && seen < COMMITS_MAX;) {
        const sl_instant *instant = &timeline->instants[i];
        struct sums s = {0};
        json_t *commit;
        if (!counts(instant))
            continue;
        seen++;
        SL_TRY(sl_instant_json(table, instant, SL_COMPLETED, &commit));
        add_stats(commit, instant->completed_as == SL_ACTION_DELTACOMMIT, &s);
        json_decref(commit);
        s.bytes -= s.files * (double)sampling.metadata_bytes;
        if (s.rows <= 0 || s.bytes <= 0 || s.bytes <= sampling.least_bytes) /* too small a sample */
            continue;
        *out = (int64_t)ceil(fmin(s.bytes / s.rows, RECORD_BYTES_MAX));
        return SL_OK;
    }
    return SL_OK;
}
