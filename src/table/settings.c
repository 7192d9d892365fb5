/* Every setting that sluice knows: one table for `config list`, for checks of -c options, and for the docs.
 */
#include "table/table_int.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Sorted by key (held by a test). `stored`: a table property that `create` may set. */
static const struct sl_setting settings[] = {
    {"hoodie.allow.operation.metadata.field", SL_SETTING_BOOL, "false", "keep _hoodie_operation in rows",
     false, "false"},
    {"hoodie.base.path", SL_SETTING_TEXT, "", "accepted without effect: the command names the table", false,
     NULL},
    {"hoodie.bloom.index.filter.dynamic.max.entries", SL_SETTING_INT, "100000",
     "keys up to which a file's Bloom filter grows", false, NULL},
    {"hoodie.bucket.index.hash.field", SL_SETTING_TEXT, "",
     "key fields whose values choose the bucket; empty: all", true, NULL},
    {"hoodie.bucket.index.num.buckets", SL_SETTING_INT, "4", "buckets of the simple bucket index", true,
     NULL},
    {"hoodie.bulkinsert.sort.mode", SL_SETTING_TEXT, "GLOBAL_SORT",
     "order of a bulk-insert's rows; files are sorted by record key in every mode", false, NULL},
    {"hoodie.bulkinsert.user.defined.partitioner.class", SL_SETTING_TEXT, "",
     "refused: bulk-insert sorts by partition and record key", false, NULL},
    {"hoodie.bulkinsert.user.defined.partitioner.sort.columns", SL_SETTING_TEXT, "",
     "refused: bulk-insert sorts by partition and record key", false, NULL},
    {"hoodie.clean.automatic", SL_SETTING_BOOL, "true", "accepted without effect: writes do not clean", false,
     NULL},
    {"hoodie.combine.before.insert", SL_SETTING_BOOL, "false", "reduce duplicate keys of an insert", false,
     NULL},
    {"hoodie.combine.before.upsert", SL_SETTING_BOOL, "true",
     "reduce duplicate keys of an upsert before it is written; false: readers do, where there are logs",
     false, NULL},
    {"hoodie.compact.inline", SL_SETTING_BOOL, "false",
     "execute the compactions (size_tiered: and log compactions) that are due after a write", false, NULL},
    {"hoodie.compact.inline.max.delta.commits", SL_SETTING_INT, "5",
     "delta commits after which a compaction is due", false, NULL},
    {"hoodie.compact.inline.max.delta.seconds", SL_SETTING_INT, "3600",
     "seconds after which a compaction is due", false, NULL},
    {"hoodie.compact.inline.trigger.strategy", SL_SETTING_TEXT, "NUM_COMMITS",
     "when a compaction is due: NUM_COMMITS, NUM_COMMITS_AFTER_LAST_REQUEST, TIME_ELAPSED, NUM_AND_TIME, "
     "NUM_OR_TIME",
     false, NULL},
    {"hoodie.compact.schedule.inline", SL_SETTING_BOOL, "false",
     "plan after a write what is due; `sluice service` executes it", false, NULL},
    {"hoodie.compaction.daybased.target.partitions", SL_SETTING_INT, "10",
     "days that the strategies by day take", false, NULL},
    {"hoodie.compaction.logfile.num.threshold", SL_SETTING_INT, "0",
     "fewest logs of a file group that LogFileNumBasedCompactionStrategy takes", false, NULL},
    {"hoodie.compaction.logfile.size.threshold", SL_SETTING_INT, "0",
     "fewest log bytes of a file group that LogFileSizeBasedCompactionStrategy takes", false, NULL},
    {"hoodie.compaction.strategy", SL_SETTING_TEXT, "LogFileSizeBasedCompactionStrategy",
     "which file groups a compaction takes: LogFileSizeBased, LogFileNumBased, BoundedIO, DayBased, "
     "BoundedPartitionAware, UnBoundedPartitionAware, UnBounded, each with CompactionStrategy behind it; "
     "several joined by commas",
     false, NULL},
    {"hoodie.compaction.target.io", SL_SETTING_INT, "512000",
     "MB that one compaction plan may read and write", false, NULL},
    {"hoodie.copyonwrite.insert.auto.split", SL_SETTING_BOOL, "true",
     "tables without a bucket index: new files by size; false: by hoodie.copyonwrite.insert.split.size",
     false, NULL},
    {"hoodie.copyonwrite.insert.split.size", SL_SETTING_INT, "500000",
     "rows of a new file without auto split", false, NULL},
    {"hoodie.copyonwrite.record.size.estimate", SL_SETTING_INT, "1024",
     "bytes of a stored row, until a large enough commit tells", false, NULL},
    {"hoodie.database.name", SL_SETTING_TEXT, "", "database of the table; enters the properties' checksum",
     true, NULL},
    {"hoodie.datasource.write.drop.partition.columns", SL_SETTING_BOOL, "false",
     "partition columns are not stored in the files", true, NULL},
    {"hoodie.datasource.write.hive_style_partitioning", SL_SETTING_BOOL, "false",
     "partition folders are named field=value", true, NULL},
    {"hoodie.datasource.write.keygenerator.type", SL_SETTING_TEXT, "", "key generator of a new table", false,
     NULL},
    {"hoodie.datasource.write.partitionpath.field", SL_SETTING_TEXT, "", "partition fields of a new table",
     false, NULL},
    {"hoodie.datasource.write.partitionpath.urlencode", SL_SETTING_BOOL, "false",
     "escape special characters of partition values", true, NULL},
    {"hoodie.datasource.write.precombine.field", SL_SETTING_TEXT, "",
     "old name of hoodie.table.ordering.fields", false, NULL},
    {"hoodie.datasource.write.recordkey.field", SL_SETTING_TEXT, "", "record key fields of a new table",
     false, NULL},
    {"hoodie.datasource.write.slash.separated.date.partitioning", SL_SETTING_BOOL, "false",
     "2024-01-31 becomes the folder 2024/01/31", true, NULL},
    {"hoodie.index.bloom.fpp", SL_SETTING_TEXT, "0.000000001",
     "chance of a wrong answer of a file's Bloom filter", false, NULL},
    {"hoodie.index.bloom.num_entries", SL_SETTING_INT, "60000", "keys of one row of a file's Bloom filter",
     false, NULL},
    {"hoodie.index.bucket.engine", SL_SETTING_TEXT, "SIMPLE", "kind of the bucket index; only SIMPLE", true,
     NULL},
    {"hoodie.index.type", SL_SETTING_TEXT, "BUCKET",
     "index that finds the file group of a key: BUCKET, SIMPLE or BLOOM", true, NULL},
    {"hoodie.log.compaction.blocks.threshold", SL_SETTING_INT, "5",
     "fewest logs that a log compaction merges", false, NULL},
    {"hoodie.log.compaction.enable", SL_SETTING_BOOL, "false",
     "plan after a write the log compactions that are due", false, NULL},
    {"hoodie.log.compaction.inline", SL_SETTING_BOOL, "false",
     "execute the log compactions that are due after a write", false, NULL},
    {"hoodie.logfile.max.size", SL_SETTING_BYTES, "1073741824",
     "a flush rolls over to a new log file at this size", false, NULL},
    {"hoodie.memory.spillable.map.path", SL_SETTING_TEXT, "/tmp", "folder for spilled runs", false, NULL},
    {"hoodie.merge.small.file.group.candidates.limit", SL_SETTING_INT, "1",
     "merge-on-read: small files that one write fills in a partition", false, NULL},
    {"hoodie.meta.fields.mode", SL_SETTING_TEXT, "ALL", "which meta columns are filled (version 10)", true,
     NULL},
    {"hoodie.metadata.enable", SL_SETTING_BOOL, "true",
     "false: take an existing metadata table out of service on write", false, NULL},
    {"hoodie.parquet.block.size", SL_SETTING_BYTES, "125829120", "bytes of a row group", false, NULL},
    {"hoodie.parquet.bloom.filter.enabled", SL_SETTING_BOOL, "",
     "accepted without effect: base files have Hudi's Bloom filter unless the table is stored as one of a "
     "bucket index",
     false, NULL},
    {"hoodie.parquet.compression.codec", SL_SETTING_TEXT, "zstd",
     "codec of new files: uncompressed, snappy, gzip, zstd, lz4_raw", false, NULL},
    {"hoodie.parquet.dictionary.enabled", SL_SETTING_BOOL, "true", "dictionary encoding", false, NULL},
    {"hoodie.parquet.max.file.size", SL_SETTING_BYTES, "125829120",
     "tables without a bucket index: base files up to this size; a bucket is one file group, however large",
     false, NULL},
    {"hoodie.parquet.page.size", SL_SETTING_BYTES, "1048576", "bytes of a page", false, NULL},
    {"hoodie.parquet.small.file.limit", SL_SETTING_BYTES, "104857600",
     "tables without a bucket index: inserts go into base files below this size first; 0: never", false,
     NULL},
    {"hoodie.partition.metafile.use.base.format", SL_SETTING_BOOL, "false",
     "partition metadata as a Parquet file", true, NULL},
    {"hoodie.payload.delete.field", SL_SETTING_TEXT, "",
     "column of a new table that marks rows as deletes; a boolean column _hoodie_is_deleted always does",
     false, NULL},
    {"hoodie.payload.delete.marker", SL_SETTING_TEXT, "", "the text in that column that marks a delete",
     false, NULL},
    {"hoodie.populate.meta.fields", SL_SETTING_BOOL, "true", "fill the five meta columns", true, NULL},
    {"hoodie.record.merge.mode", SL_SETTING_TEXT, "", "EVENT_TIME_ORDERING or COMMIT_TIME_ORDERING", true,
     NULL},
    {SL_DELETE_FIELD, SL_SETTING_TEXT, "", "as hoodie.payload.delete.field", true, NULL},
    {SL_DELETE_MARKER, SL_SETTING_TEXT, "", "as hoodie.payload.delete.marker", true, NULL},
    {"hoodie.record.merge.property.hoodie.write.partial.update.unavailable.value", SL_SETTING_TEXT, "",
     "FILL_UNAVAILABLE: the text that stands for a value that did not come along", true, NULL},
    {"hoodie.record.size.estimation.threshold", SL_SETTING_TEXT, "1.0",
     "a commit tells the size of rows when it wrote this many times hoodie.parquet.small.file.limit", false,
     NULL},
    {"hoodie.record.size.estimator.average.metadata.size", SL_SETTING_INT, "0",
     "bytes of a file that are not its rows, for the estimate of their size", false, NULL},
    {"hoodie.table.base.file.format", SL_SETTING_TEXT, "PARQUET", "format of base files", true, NULL},
    {"hoodie.table.cdc.enabled", SL_SETTING_BOOL, "false",
     "keep change data: what each rewrite of a base file changed", true, NULL},
    {"hoodie.table.cdc.supplemental.logging.mode", SL_SETTING_TEXT, "data_before_after",
     "what change data holds: op_key_only, data_before or data_before_after", true, NULL},
    {"hoodie.table.keygenerator.type", SL_SETTING_TEXT, "",
     "SIMPLE, COMPLEX or NON_PARTITION; inferred from the fields", true, NULL},
    {"hoodie.table.name", SL_SETTING_TEXT, "", "name of the table; default: last part of its path", true,
     NULL},
    {"hoodie.table.ordering.fields", SL_SETTING_TEXT, "", "fields that decide between versions of a key",
     true, NULL},
    {"hoodie.table.partial.update.mode", SL_SETTING_TEXT, "",
     "what a newer row leaves as it was: IGNORE_DEFAULTS (its nulls) or FILL_UNAVAILABLE; empty: nothing",
     true, NULL},
    {"hoodie.table.partition.fields", SL_SETTING_TEXT, "", "partition fields", true, NULL},
    {"hoodie.table.recordkey.fields", SL_SETTING_TEXT, "", "record key fields", true, NULL},
    {"hoodie.table.storage.layout", SL_SETTING_TEXT, "default", "default or lsm_tree", true, NULL},
    {"hoodie.table.timeline.timezone", SL_SETTING_TEXT, "UTC", "zone of instants: UTC or LOCAL", true, NULL},
    {"hoodie.table.type", SL_SETTING_TEXT, "COPY_ON_WRITE", "COPY_ON_WRITE or MERGE_ON_READ", true, NULL},
    {"hoodie.table.version", SL_SETTING_INT, "9", "table version: 8, 9 or 10", true, NULL},
    {"hoodie.write.complex.keygen.new.encoding", SL_SETTING_BOOL, "false",
     "below version 9: keys of a COMPLEX generator with one field are bare", true, NULL},
    {"hoodie.write.concurrency.mode", SL_SETTING_TEXT, "SINGLE_WRITER",
     "only SINGLE_WRITER so far; sluice writers queue for the table's lock", false, NULL},
    {"hoodie.write.lock.wait_time_ms", SL_SETTING_INT, "60000", "how long to wait for another writer", false,
     NULL},
    {"hoodie.write.set.null.for.missing.columns", SL_SETTING_BOOL, "false",
     "a column missing from the input becomes null", false, NULL},
    {"hoodie.write.table.version", SL_SETTING_INT, "9",
     "version of a new table; tables of another version are not written", false, NULL},
    {"sluice.compaction.copy", SL_SETTING_BOOL, "true",
     "copy what a compaction or an upsert leaves alone as compressed bytes", false, NULL},
    {"sluice.compaction.policy", SL_SETTING_TEXT, "",
     "what decides when compactions are due: size_tiered (default of lsm_tree) or hudi (default when one of "
     "Hudi's triggers or a strategy is set)",
     false, NULL},
    {"sluice.flush.bucket.bytes", SL_SETTING_BYTES, "67108864",
     "sluice.flush.spill=false: a file group whose rows hold so much memory is flushed", false, NULL},
    {"sluice.flush.interval.ms", SL_SETTING_INT, "0",
     "sluice.flush.spill=false: rows that have waited so long are flushed at the next append; 0: never",
     false, NULL},
    {"sluice.flush.spill", SL_SETTING_BOOL, "true",
     "rows that have no room are spilled, so that a commit writes one run a file group; false: lsm_tree "
     "tables flush them early, as logs of their own",
     false, NULL},
    {"sluice.flush.task.bytes", SL_SETTING_BYTES, "0",
     "memory for rows that wait to be written; 0, and at most: half of sluice.memory", false, NULL},
    {"sluice.keep.types", SL_SETTING_BOOL, "false",
     "create: keep column types that Spark cannot share (time, nanoseconds, milliseconds, fixed, ...) "
     "instead of mapping them",
     false, NULL},
    {"sluice.lsm.order", SL_SETTING_TEXT, "repair",
     "a run in the wrong key order: repair (sort it again) or strict (fail)", false, NULL},
    {"sluice.memory", SL_SETTING_BYTES, "",
     "memory budget of one operation; default: a quarter of the machine", false, NULL},
    {"sluice.merge.late", SL_SETTING_BOOL, "true",
     "merges read keys first, and the other columns where rows survive; false: all columns at once", false,
     NULL},
    {"sluice.parquet.bloom.keys", SL_SETTING_BOOL, "false",
     "split-block Bloom filters over the record keys of data files, for lookups of absent keys", false, NULL},
    {"sluice.parquet.compression.level", SL_SETTING_INT, "0", "level of the codec; 0: its default", false,
     NULL},
    {"sluice.parquet.encoding", SL_SETTING_TEXT, "default",
     "encoding of the columns that it fits: default (dictionary or plain), auto (tried on the first page), "
     "plain, "
     "delta_binary_packed, delta_byte_array, rle",
     false, NULL},
    {"sluice.parquet.force", SL_SETTING_BOOL, "false",
     "allow types and encodings that not every Hudi reader reads (time, nanoseconds, float16, "
     "byte_stream_split, ...)",
     false, NULL},
    {"sluice.parquet.key.encoding", SL_SETTING_TEXT, "",
     "encoding of the record key; empty: delta_byte_array in tables of layout lsm_tree, whose files are "
     "sorted by it, "
     "default in others",
     false, NULL},
    {"sluice.parquet.page.rows", SL_SETTING_INT, "8192",
     "most rows of a page: the pages of all columns begin together at its multiples", false, NULL},
    {"sluice.scan.pruning", SL_SETTING_BOOL, "true",
     "leave out rows by statistics before they are read; false is for comparing", false, NULL},
    {"sluice.threads", SL_SETTING_INT, "0", "threads; 0: one a core", false, NULL},
};

const struct sl_setting *sl_settings(size_t *count)
{
    *count = sizeof settings / sizeof *settings;
    return settings;
}

static const struct sl_setting *find(const char *key)
{
    size_t low = 0, high = sizeof settings / sizeof *settings;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int c = strcmp(key, settings[middle].key);
        if (c == 0)
            return &settings[middle];
        if (c < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

static sl_status unknown(const char *key)
{
    const char *nearest = NULL;
    size_t best = strlen(key) / 2 + 1;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        size_t distance = sl_edit_distance(key, settings[i].key);
        if (distance < best) {
            best = distance;
            nearest = settings[i].key;
        }
    }
    sl_status status = sl_input("setting %s: unknown", key);
    return nearest ? sl_hint(status, "did you mean %s?", nearest)
                   : sl_hint(status, "`sluice config list` shows all settings");
}

sl_status sl_setting_check(const char *key, const char *value)
{
    const struct sl_setting *s = find(key);
    if (!s)
        return unknown(key);
    enum sl_parquet_codec codec;
    enum sl_parquet_encoding encoding;
    uint64_t bytes;
    int64_t number;
    if (s->only && strcmp(value, s->only) != 0)
        return sl_unsupported("setting %s=%s (only %s so far)", key, value, s->only);
    switch (s->type) {
    case SL_SETTING_BOOL:
        if (strcmp(value, "true") && strcmp(value, "false"))
            return sl_input("setting %s: \"%s\" is neither true nor false", key, value);
        return SL_OK;
    case SL_SETTING_INT:
        if (!parse_int(value, &number))
            return sl_input("setting %s: \"%s\" is no whole number", key, value);
        if (number < 0)
            return sl_input("setting %s: %s is negative", key, value);
        return SL_OK;
    case SL_SETTING_BYTES:
        SL_TRY_CTX(sl_parse_bytes(value, &bytes), "setting %s", key);
        return SL_OK;
    case SL_SETTING_TEXT:
        if (strcmp(key, "hoodie.parquet.compression.codec") == 0)
            SL_TRY_CTX(sl_parquet_codec_named(value, &codec), "setting %s", key);
        if (strcmp(key, "sluice.parquet.encoding") == 0 ||
            (strcmp(key, "sluice.parquet.key.encoding") == 0 && *value))
            SL_TRY_CTX(sl_parquet_encoding_named(value, &encoding), "setting %s", key);
        return SL_OK;
    }
    return SL_OK;
}

bool parse_int(const char *text, int64_t *out)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno)
        return false;
    *out = value;
    return true;
}

/* "1.5" in front of a unit; *end is behind the number. Digits that no unit could tell apart are not read. */
static bool parse_size_number(const char *text, uint64_t *whole, uint64_t *millionths, char **end)
{
    *millionths = 0;
    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    *whole = strtoull(text, end, 10);
    if (errno)
        return false;
    if (**end != '.')
        return true;
    char *digit = *end + 1;
    for (uint64_t place = 100000; place && isdigit((unsigned char)*digit); place /= 10)
        *millionths += place * (uint64_t)(*digit++ - '0');
    bool any = digit > *end + 1;
    *end = digit;
    return any;
}

sl_status sl_parse_bytes(const char *text, uint64_t *out)
{
    static const struct {
        const char *suffix;
        uint64_t factor;
    } units[] = {{"", 1},
                 {"b", 1},
                 {"k", 1ull << 10},
                 {"kb", 1000},
                 {"kib", 1ull << 10},
                 {"m", 1ull << 20},
                 {"mb", 1000000},
                 {"mib", 1ull << 20},
                 {"g", 1ull << 30},
                 {"gb", 1000000000},
                 {"gib", 1ull << 30},
                 {"t", 1ull << 40},
                 {"tb", 1000000000000},
                 {"tib", 1ull << 40}};
    char *end, suffix[4] = "";
    uint64_t whole, millionths;
    bool is_number = parse_size_number(text, &whole, &millionths, &end);
    size_t n = is_number ? strlen(end) : sizeof suffix;
    for (size_t i = 0; i < n && n < sizeof suffix; i++)
        suffix[i] = (char)tolower((unsigned char)end[i]);
    for (size_t i = 0; n < sizeof suffix && i < sizeof units / sizeof *units; i++)
        if (strcmp(suffix, units[i].suffix) == 0) {
            uint64_t factor = units[i].factor;
            if (whole > UINT64_MAX / factor || (millionths && (factor == 1 || whole == UINT64_MAX / factor)))
                break;
            *out = whole * factor + millionths * factor / 1000000;
            return SL_OK;
        }
    return sl_input("\"%s\" is no size (examples: 1048576, 512MiB, 1.5g)", text);
}
