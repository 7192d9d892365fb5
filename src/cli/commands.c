/* Every verb and every option, once. A verb with a NULL `run` is promised by the contract and not built yet; it is kept out
 * of the help and refused by name. */
#include "cli.h"
#include <string.h>

static const struct choice types[] = {
    {"cow", "COPY_ON_WRITE"},
    {"mor", "MERGE_ON_READ"},
    {"copy_on_write", "COPY_ON_WRITE"},
    {"merge_on_read", "MERGE_ON_READ"},
    {NULL, NULL},
};
static const struct choice layouts[] = {{"default", "default"}, {"lsm_tree", "lsm_tree"}, {NULL, NULL}};
static const struct choice indexes[] = {
    {"bucket", "BUCKET"},
    {"bloom", "BLOOM"},
    {"simple", "SIMPLE"},
    {"global_bloom", "GLOBAL_BLOOM"},
    {"global_simple", "GLOBAL_SIMPLE"},
    {"record_index", "RECORD_INDEX"},
    {NULL, NULL},
};
static const struct choice merge_modes[] = {
    {"event_time", "EVENT_TIME_ORDERING"},
    {"commit_time", "COMMIT_TIME_ORDERING"},
    {"event_time_ordering", "EVENT_TIME_ORDERING"},
    {"commit_time_ordering", "COMMIT_TIME_ORDERING"},
    {NULL, NULL},
};
static const struct choice input_formats[] = {
    {"parquet", "parquet"}, {"csv", "csv"},   {"tsv", "tsv"},
    {"jsonl", "jsonl"},     {"avro", "avro"}, {NULL, NULL},
};
/* The order of enum output_format in cmd_query.c. */
static const struct choice output_formats[] = {
    {"table", "table"},     {"csv", "csv"},     {"jsonl", "jsonl"}, {"canonical", "canonical"},
    {"parquet", "parquet"}, {"count", "count"}, {"arrow", "arrow"}, {NULL, NULL},
};

const struct option cli_options[OPTION_COUNT] = {
    [OPT_JSON] = {.name = "json", .help = "the result as JSON on standard output"},
    [OPT_QUIET] = {.name = "quiet",
                   .letter = 'q',
                   .help = "no result line, no warnings; errors, rows and --json are still printed"},
    [OPT_VERBOSE] = {.name = "verbose", .letter = 'v', .help = "say what is done; given twice: in detail"},
    [OPT_NO_PROGRESS] = {.name = "no-progress",
                         .help = "no progress line (there is none without a terminal)"},
    [OPT_MEMORY] = {.name = "memory",
                    .value = "SIZE",
                    .setting = "sluice.memory",
                    .help = "memory to use, at least 32MiB; default: a quarter of the machine"},
    [OPT_THREADS] = {.name = "threads",
                     .value = "N",
                     .setting = "sluice.threads",
                     .help = "threads to use; default: one a core"},
    [OPT_EXPLAIN] = {.name = "explain",
                     .help = "what was read, skipped, merged and written, on standard error"},
    [OPT_SETTING] = {.name = "config",
                     .letter = 'c',
                     .value = "KEY=VALUE",
                     .help = "a setting (`sluice config list`); repeatable"},
    [OPT_PROPS] = {.name = "props", .value = "FILE", .help = "settings from a file of Java properties"},
    [OPT_HELP] = {.name = "help", .letter = 'h', .help = "help for the verb"},
    [OPT_VERSION] = {.name = "version", .help = "the program's version"},
    [OPT_SCHEMA] = {.name = "schema",
                    .value = "FILE|TEXT",
                    .help = "the columns: those of a Parquet, Avro, .avsc, CSV or JSON-lines file, or 'id "
                            "long, name string, ...'"},
    [OPT_KEY] = {.name = "key",
                 .value = "COL[,COL]",
                 .setting = "hoodie.table.recordkey.fields",
                 .describes_table = true,
                 .help = "record key columns"},
    [OPT_PARTITION] = {.name = "partition",
                       .value = "COL[,COL]",
                       .setting = "hoodie.table.partition.fields",
                       .describes_table = true,
                       .help = "partition columns; default: not partitioned"},
    [OPT_ORDERING] = {.name = "ordering",
                      .value = "COL[,COL]",
                      .setting = "hoodie.table.ordering.fields",
                      .describes_table = true,
                      .help = "columns that decide which version of a key is the newer one"},
    [OPT_TYPE] = {.name = "type",
                  .value = "cow|mor",
                  .setting = "hoodie.table.type",
                  .describes_table = true,
                  .choices = types,
                  .help = "copy-on-write or merge-on-read; default cow, mor with --layout lsm_tree"},
    [OPT_LAYOUT] = {.name = "layout",
                    .value = "default|lsm_tree",
                    .setting = "hoodie.table.storage.layout",
                    .describes_table = true,
                    .choices = layouts,
                    .help = "storage layout; default: the one that every peer reads"},
    [OPT_INDEX] = {.name = "index",
                   .value = "KIND",
                   .setting = "hoodie.index.type",
                   .describes_table = true,
                   .choices = indexes,
                   .help = "bucket (default), simple or bloom; others are refused"},
    [OPT_BUCKETS] = {.name = "buckets",
                     .value = "N",
                     .setting = "hoodie.bucket.index.num.buckets",
                     .describes_table = true,
                     .help = "buckets a partition; default 4"},
    [OPT_MERGE_MODE] =
        {.name = "merge-mode",
         .value = "event_time|commit_time",
         .setting = "hoodie.record.merge.mode",
         .describes_table = true,
         .choices = merge_modes,
         .help = "the larger ordering value wins, or the later write; default event_time with --ordering"},
    [OPT_TABLE_VERSION] = {.name = "table-version",
                           .value = "N",
                           .setting = "hoodie.table.version",
                           .describes_table = true,
                           .help = "8, 9 or 10; default 9, and 10 with --layout lsm_tree"},
    [OPT_NAME] = {.name = "name",
                  .value = "NAME",
                  .setting = "hoodie.table.name",
                  .describes_table = true,
                  .help = "the table's name; default: the last part of its path"},
    [OPT_INPUT_FORMAT] = {.name = "input-format",
                          .value = "FORMAT",
                          .choices = input_formats,
                          .help = "parquet, csv, tsv, jsonl or avro; default: by the file's name"},
    [OPT_REJECT] = {.name = "reject",
                    .value = "FILE",
                    .help = "put bad rows of text there, as JSON lines with their reason, and go on"},
    [OPT_DELIMITER] = {.name = "delimiter",
                       .value = "CHAR",
                       .help = "CSV: between fields; default a comma (`\\t` is a tab)"},
    [OPT_NULL_TEXT] = {.name = "null-text",
                       .value = "TEXT",
                       .help = "CSV: the unquoted field that means null; default: the empty one"},
    [OPT_COMMIT_ROWS] = {.name = "commit-rows",
                         .value = "N",
                         .implied = {"sluice.flush.spill", "false"},
                         .help = "commit whenever N rows are waiting, and go on"},
    [OPT_COMMIT_BYTES] = {.name = "commit-bytes",
                          .value = "SIZE",
                          .implied = {"sluice.flush.spill", "false"},
                          .help = "commit whenever so much is waiting (in memory: 64MiB), and go on"},
    [OPT_COMMIT_INTERVAL] = {.name = "commit-interval",
                             .value = "TIME",
                             .implied = {"sluice.flush.spill", "false"},
                             .help = "commit whenever rows have waited so long (500ms, 10s, 5m), and go on"},
    [OPT_WHERE] = {.name = "where",
                   .value = "EXPR",
                   .help = "rows for which this is true: \"fare > 10 and region in ('quito', 'lagos')\""},
    [OPT_COLUMNS] = {.name = "columns", .value = "COL[,COL]", .help = "these columns, in this order"},
    [OPT_META] = {.name = "meta", .help = "Hudi's five meta columns too"},
    [OPT_KEYS] = {.name = "keys", .value = "FILE", .help = "keys to look up, one a line"},
    [OPT_IN] = {.name = "in",
                .value = "PARTITION",
                .help =
                    "only in this partition: its path below the table, or FIELD=VALUE; there must be one"},
    [OPT_LIMIT] = {.name = "limit", .value = "N", .help = "at most N"},
    [OPT_AS_OF] = {.name = "as-of", .value = "INSTANT", .help = "the table as it was after this instant"},
    [OPT_READ_OPTIMIZED] = {.name = "read-optimized",
                            .help = "base files only: faster, without what is in logs"},
    [OPT_INCREMENTAL] = {.name = "incremental",
                         .value = "FROM[..TO]",
                         .help = "rows written between instants",
                         .is_planned = true},
    [OPT_CDC] = {.name = "cdc",
                 .value = "FROM[..TO]",
                 .help = "changes between instants",
                 .is_planned = true},
    [OPT_FORMAT] = {.name = "format",
                    .value = "FORMAT",
                    .choices = output_formats,
                    .help = "table, csv, jsonl, canonical, parquet or count; default: by -o's name, table on "
                            "a terminal, else jsonl"},
    [OPT_OUTPUT] = {.name = "output",
                    .letter = 'o',
                    .value = "FILE",
                    .help = "write there instead of standard output"},
    [OPT_SCHEDULE_ONLY] = {.name = "schedule-only",
                           .help = "put a plan on the timeline; run it later or elsewhere"},
    [OPT_EXECUTE] = {.name = "execute", .value = "INSTANT", .help = "run this plan"},
    [OPT_EVERY] = {.name = "every",
                   .value = "TIME",
                   .help = "go on, looking again after that time (5s, 2m); a signal ends it"},
    [OPT_DRY_RUN] = {.name = "dry-run", .help = "print the plan, change nothing"},
    [OPT_BASE_ONLY] = {.name = "base-only", .help = "leave logs out"},
    [OPT_ROWS] = {.name = "rows", .help = "the file's rows, in file order"},
    [OPT_DEEP] = {.name = "deep", .help = "read every row too"},
    [OPT_REPAIR] = {.name = "repair", .help = "first roll back what dead writers left"},
    [OPT_MAN] = {.name = "man", .help = "the man page, as troff"},
    [OPT_MARKDOWN] = {.name = "markdown", .help = "docs/cli.md"},
};

const enum option_id cli_common_options[] = {
    OPT_SETTING, OPT_PROPS,   OPT_JSON,    OPT_QUIET, OPT_VERBOSE, OPT_NO_PROGRESS,
    OPT_MEMORY,  OPT_THREADS, OPT_EXPLAIN, OPT_HELP,  OPT_NONE,
};

#define OPTIONS(...) ((const enum option_id[]){__VA_ARGS__, OPT_NONE})
#define TABLE_OPTIONS                                                                                        \
    OPT_SCHEMA, OPT_KEY, OPT_PARTITION, OPT_ORDERING, OPT_TYPE, OPT_LAYOUT, OPT_INDEX, OPT_BUCKETS,          \
        OPT_MERGE_MODE, OPT_TABLE_VERSION, OPT_NAME
#define COMMIT_OPTIONS OPT_COMMIT_ROWS, OPT_COMMIT_BYTES, OPT_COMMIT_INTERVAL
#define INPUT_OPTIONS  OPT_INPUT_FORMAT, OPT_REJECT, OPT_DELIMITER, OPT_NULL_TEXT

static const enum option_id no_options[] = {OPT_NONE};

const struct verb cli_verbs[] = {
    {.name = "create",
     .form = "TABLE --schema FILE|TEXT --key COL[,COL] [options]",
     .summary = "make an empty table",
     .details = "Without further options the table is one that every Hudi of today reads: version 9, "
                "copy-on-write, default layout, "
                "bucket index with 4 buckets. Index kind, buckets and hash field are stored in the table, so "
                "no later call and no "
                "Spark writer needs them again. The last line says who can read the table.",
     .example = "sluice create lake/trips --schema 'id long, region string, fare double, ts timestamp' --key "
                "id --partition region --ordering ts\n"
                "sluice create lake/events --schema events.parquet --key id --ordering ts --layout lsm_tree "
                "--buckets 16",
     .options = OPTIONS(TABLE_OPTIONS),
     .arguments_min = 1,
     .arguments_max = 1,
     .run = cmd_create},
    {.name = "upsert",
     .form = "TABLE FILE... [options]",
     .summary = "write rows: new keys are inserted, known ones updated",
     .details = "FILE is Parquet, CSV, TSV, JSON lines or Avro, text also compressed by gzip or zstd; `-` is "
                "standard input and needs "
                "--input-format. All files of a call become one commit: all of it or nothing. With "
                "--commit-rows, --commit-bytes or "
                "--commit-interval there are many, each with its result line, and rows are written as they "
                "come; what ends early "
                "keeps those that are done. With --key the "
                "table is made when there is "
                "none, its columns are those of the first file (or of --schema); if then nothing could be "
                "written it is "
                "removed again. To a table that is there --schema adds the columns that it lacks: JSON lines "
                "cannot do so without. Rows whose boolean column _hoodie_is_deleted is true are deleted.",
     .example = "sluice upsert lake/trips day1.parquet day2.parquet\n"
                "zcat feed.jsonl.gz | sluice upsert lake/trips - --input-format jsonl --reject bad.jsonl\n"
                "feed | sluice upsert lake/trips - --input-format jsonl --commit-interval 10s --commit-rows "
                "1000000\n"
                "sluice upsert lake/trips trips.csv --key id --partition region --ordering ts",
     .options = OPTIONS(INPUT_OPTIONS, COMMIT_OPTIONS, TABLE_OPTIONS),
     .arguments_min = 2,
     .arguments_max = -1,
     .run = cmd_upsert},
    {.name = "insert",
     .form = "TABLE FILE... [options]",
     .summary = "write rows as new ones",
     .details = "Inputs as with upsert. Keys of the input are not combined with each other unless "
                "hoodie.combine.before.insert is true, nor looked up in the table."
                " Without a bucket index small files are filled first (hoodie.parquet.small.file.limit).",
     .example = "sluice insert lake/trips new.parquet",
     .options = OPTIONS(INPUT_OPTIONS, COMMIT_OPTIONS, TABLE_OPTIONS),
     .arguments_min = 2,
     .arguments_max = -1,
     .run = cmd_insert},
    {.name = "bulk-insert",
     .form = "TABLE FILE... [options]",
     .summary = "write many rows at once, for the first load of a table",
     .details = "Inputs as with upsert. Files are sorted by key; without a bucket index a partition becomes "
                "files of up to "
                "hoodie.parquet.max.file.size with ascending key ranges.",
     .example = "sluice bulk-insert lake/trips history/*.parquet --key id --partition region",
     .options = OPTIONS(INPUT_OPTIONS, TABLE_OPTIONS),
     .arguments_min = 2,
     .arguments_max = -1,
     .run = cmd_bulk_insert},
    {.name = "delete",
     .form = "TABLE FILE... | TABLE --where EXPR",
     .summary = "delete rows by key or by condition",
     .details =
         "The files need only the key and partition columns, which are read as the types that the "
         "table has; others are ignored. With --where the keys are those of the rows for which EXPR is true.",
     .example =
         "sluice delete lake/trips gone.csv\n"
         "sluice delete lake/trips --where \"region = 'quito' and ts < timestamp '2024-01-01 00:00:00'\"",
     .options = OPTIONS(OPT_WHERE, INPUT_OPTIONS),
     .arguments_min = 1,
     .arguments_max = -1,
     .run = cmd_delete},
    {.name = "insert-overwrite",
     .form = "TABLE FILE... [options]",
     .summary = "replace the rows of the partitions that the input touches",
     .details =
         "Partitions without a row in the input stay as they are. Older instants can still be queried by "
         "--as-of until their files are cleaned. Inputs as with upsert, keys as with insert.",
     .example = "sluice insert-overwrite lake/trips quito-again.parquet",
     .options = OPTIONS(INPUT_OPTIONS, TABLE_OPTIONS),
     .arguments_min = 2,
     .arguments_max = -1,
     .run = cmd_insert_overwrite},
    {.name = "insert-overwrite-table",
     .form = "TABLE FILE... [options]",
     .summary = "replace all rows of the table",
     .details = "An input without rows empties the table. Inputs as with upsert, keys as with insert.",
     .example = "sluice insert-overwrite-table lake/trips today.parquet",
     .options = OPTIONS(INPUT_OPTIONS, TABLE_OPTIONS),
     .arguments_min = 2,
     .arguments_max = -1,
     .run = cmd_insert_overwrite_table},
    {.name = "delete-partition",
     .form = "TABLE PARTITION...",
     .summary = "delete whole partitions, without reading or writing rows",
     .details =
         "PARTITION is a partition's path, or field=value, with several fields field=value/field=value; "
         "fields that are left out may have any value. Refused while a compaction is planned on one of "
         "them.",
     .example = "sluice delete-partition lake/trips region=quito region=lagos",
     .options = no_options,
     .arguments_min = 2,
     .arguments_max = -1,
     .run = cmd_delete_partition},
    {.name = "query",
     .form = "TABLE [options]",
     .summary = "print rows",
     .details = "Rows are merged as the table says and come in no fixed order; `canonical` is sorted. Hudi's "
                "meta columns are left out "
                "unless --meta is given, --columns names them, or the format is canonical. A table on the "
                "terminal shows 100 rows, or "
                "as many as --limit says, and counts the rest.\n"
                "Expressions: column names (nested with dots, back-quoted when odd), numbers, 'strings', "
                "true, false, null, "
                "date '2024-01-31', timestamp '2024-01-31 10:00:00', = != <> < <= > >=, in (...), between, "
                "like, is [not] null, and, or, "
                "not, parentheses.",
     .example = "sluice query lake/trips --where \"fare > 10\" --columns id,fare --limit 20\n"
                "sluice query lake/trips --as-of 20240101000000000 -o january.parquet\n"
                "sluice query lake/trips --format count",
     .options = OPTIONS(OPT_COLUMNS, OPT_WHERE, OPT_LIMIT, OPT_AS_OF, OPT_READ_OPTIMIZED, OPT_META,
                        OPT_FORMAT, OPT_OUTPUT, OPT_INCREMENTAL, OPT_CDC),
     .arguments_min = 1,
     .arguments_max = 1,
     .run = cmd_query},
    {.name = "lookup",
     .form = "TABLE KEY... | TABLE --keys FILE",
     .summary = "print the rows of record keys",
     .details = "A KEY is the record key as Hudi stores it: the value of a single key column, `a:1,b:2` for "
                "several (and for one column of a COMPLEX key). `-` reads keys from standard input, a key a "
                "line; keys that begin with a dash stand behind `--`. Only the pages that may hold the keys "
                "are read: found by bucket, key ranges, Bloom filters and page indexes. Keys that are not "
                "there give no rows and no failure; how many rows were found is said on standard error.",
     .example = "sluice lookup lake/trips 1042 77\n"
                "sluice lookup lake/orders 'customer:7,order:99' --columns total\n"
                "sluice lookup lake/trips --keys suspects.txt --format csv",
     .options = OPTIONS(OPT_KEYS, OPT_IN, OPT_COLUMNS, OPT_META, OPT_FORMAT, OPT_OUTPUT),
     .arguments_min = 1,
     .arguments_max = -1,
     .run = cmd_lookup},
    {.name = "compact",
     .form = "TABLE [--schedule-only | --execute INSTANT | --dry-run]",
     .summary = "fold logs into new base files",
     .details = "Runs the oldest plan that waits on the timeline, or makes one and runs it. Writers go on "
                "meanwhile.",
     .example = "sluice compact lake/events\nsluice compact lake/events --dry-run",
     .options = OPTIONS(OPT_SCHEDULE_ONLY, OPT_EXECUTE, OPT_DRY_RUN),
     .arguments_min = 1,
     .arguments_max = 1,
     .run = cmd_compact},
    {.name = "log-compact",
     .form = "TABLE [--schedule-only | --execute INSTANT | --dry-run]",
     .summary = "merge logs into fewer logs, without the base files",
     .details =
         "Takes file groups with at least hoodie.log.compaction.blocks.threshold (5) logs. Runs the oldest "
         "plan that waits on the timeline, or makes one and runs it. Writers go on meanwhile.",
     .example = "sluice log-compact lake/events\n"
                "sluice log-compact lake/events -c hoodie.log.compaction.blocks.threshold=3",
     .options = OPTIONS(OPT_SCHEDULE_ONLY, OPT_EXECUTE, OPT_DRY_RUN),
     .arguments_min = 1,
     .arguments_max = 1,
     .run = cmd_log_compact},
    {.name = "service",
     .form = "TABLE [--every SECONDS | --schedule-only | --dry-run]",
     .summary = "run the compactions and log compactions that are due, beside a running writer",
     .details = "Runs plans that wait, then what the table's policy wants now: docs/services.md.",
     .example = "sluice service lake/events --every 30",
     .options = OPTIONS(OPT_EVERY, OPT_SCHEDULE_ONLY, OPT_DRY_RUN),
     .arguments_min = 1,
     .arguments_max = 1,
     .run = cmd_service},
    {.name = "rollback",
     .form = "TABLE INSTANT",
     .summary = "undo an instant: a pending one, or the newest completed write",
     .example = "sluice rollback lake/trips 20240101120000123",
     .options = no_options,
     .arguments_min = 2,
     .arguments_max = 2,
     .run = cmd_rollback},
    {.name = "info",
     .form = "TABLE",
     .summary = "what the table is, how large, who can read and write it",
     .example = "sluice info lake/trips",
     .options = no_options,
     .arguments_min = 1,
     .arguments_max = 1,
     .run = cmd_info},
    {.name = "doctor",
     .form = "TABLE [--deep] [--repair]",
     .summary = "check the table against itself: timeline, files, footers, and with --deep every row",
     .details = "Lists what it finds, with its place: instants that cannot be read, files that commits name "
                "and that are gone or "
                "of another size, files that readers count although no commit names them, leftovers, file "
                "groups that do not "
                "fit the bucket index, footers. --deep also reads every row: checksums, key order, keys in "
                "their bucket, meta "
                "columns, values outside their statistics, duplicate keys.\n"
                "--repair first rolls back what dead writers left; nothing else is changed. Exit status 1 "
                "when there is an "
                "error among the findings, or a place that could not be looked at (severity unchecked: too "
                "many open "
                "files, no permission): that is no damage, and nothing is known of it.",
     .example = "sluice doctor lake/trips --deep",
     .options = OPTIONS(OPT_DEEP, OPT_REPAIR),
     .arguments_min = 1,
     .arguments_max = 1,
     .run = cmd_doctor},
    {.name = "timeline",
     .form = "TABLE [--limit N]",
     .summary = "the instants on the active timeline, oldest first, with what they wrote",
     .details = "With --limit the newest N.",
     .example = "sluice timeline lake/trips --limit 10",
     .options = OPTIONS(OPT_LIMIT),
     .arguments_min = 1,
     .arguments_max = 1,
     .run = cmd_timeline},
    {.name = "files",
     .form = "TABLE [--base-only]",
     .summary = "file groups, their slices and files: level, rows, size, key range",
     .example = "sluice files lake/trips --json",
     .options = OPTIONS(OPT_BASE_ONLY),
     .arguments_min = 1,
     .arguments_max = 1,
     .run = cmd_files},
    {.name = "inspect",
     .form = "FILE [--rows [--limit N] [--format FORMAT] [-o FILE]]",
     .summary = "one Parquet, Avro, timeline, log or properties file, decoded",
     .example = "sluice inspect lake/trips/.hoodie/hoodie.properties\nsluice inspect part-0.parquet --rows "
                "--limit 10",
     .options = OPTIONS(OPT_ROWS, OPT_LIMIT, OPT_FORMAT, OPT_OUTPUT),
     .arguments_min = 1,
     .arguments_max = 1,
     .run = cmd_inspect},
    {.name = "config",
     .form = "list | explain KEY",
     .summary = "the settings: type, default, meaning",
     .example = "sluice config list\nsluice config explain hoodie.index.type",
     .options = no_options,
     .arguments_min = 1,
     .arguments_max = 2,
     .run = cmd_config},
    {.name = "help",
     .form = "[VERB] [--man | --markdown]",
     .summary = "this help, or that of a verb",
     .options = OPTIONS(OPT_MAN, OPT_MARKDOWN),
     .arguments_min = 0,
     .arguments_max = 1,
     .run = cmd_help},
    {.name = "completion",
     .form = "bash",
     .summary = "a script that completes verbs, options and their values",
     .example = "source <(sluice completion bash)",
     .options = no_options,
     .arguments_min = 1,
     .arguments_max = 1,
     .run = cmd_completion},
    {.name = "version",
     .form = "",
     .summary = "the program's version",
     .options = no_options,
     .run = cmd_version},
    {.name = "cluster"},
    {.name = "clean"},
    {.name = "archive"},
    {.name = "savepoint"},
    {.name = "restore"},
    {.name = "index"},
    {.name = "upgrade"},
    {.name = "downgrade"},
    {.name = "publish"},
    {.name = "stats"},
    {.name = "health"},
    {.name = "report"},
    {.name = "doctor"},
};
const size_t cli_verb_count = sizeof cli_verbs / sizeof *cli_verbs;

const struct verb *verb_named(const char *name)
{
    for (size_t i = 0; i < cli_verb_count; i++)
        if (strcmp(name, cli_verbs[i].name) == 0)
            return &cli_verbs[i];
    return NULL;
}

static bool contains(const enum option_id *list, enum option_id id)
{
    for (; *list != OPT_NONE; list++)
        if (*list == id)
            return true;
    return false;
}

bool verb_takes(const struct verb *verb, enum option_id id)
{
    return contains(verb->options, id) || contains(cli_common_options, id);
}
