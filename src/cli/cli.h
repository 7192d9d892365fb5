/*
 * cli: the `sluice` command. It stands on the public header, jansson (for the JSON that the library describes things in)
 * and libc; whatever it can do, any program can.
 *
 *   main.c      finds the verb, runs it, checks that standard output took everything
 *   commands.c  THE table: verbs and options; help, man page, completion and docs/cli.md are made from it
 *   args.c      argv -> struct args by that table        help.c    that table -> text
 *   props.c     --props FILE                             session.c an open table, signals, callbacks
 *   cmd_*.c     the verbs, one family a file             print.c   result lines, numbers, errors
 *   progress.c  the progress line, --explain's steps     view.c    fitted tables; JSON as text
 */
#ifndef SLUICE_CLI_H
#define SLUICE_CLI_H

#include "sluice/sluice.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

enum exit_status {
    STATUS_DONE = 0,
    STATUS_FAILED = 1,
    STATUS_USAGE = 2,
    STATUS_CONFLICT = 3,
    STATUS_INTERRUPTED = 130,
};

/* ---- the table of commands ----------------------------------------------------------------------------- */

enum option_id {
    OPT_NONE, /* ends a verb's list */
    OPT_JSON,
    OPT_QUIET,
    OPT_VERBOSE,
    OPT_NO_PROGRESS,
    OPT_MEMORY,
    OPT_THREADS,
    OPT_EXPLAIN,
    OPT_SETTING,
    OPT_PROPS,
    OPT_HELP,
    OPT_VERSION,
    OPT_SCHEMA,
    OPT_KEY,
    OPT_PARTITION,
    OPT_ORDERING,
    OPT_TYPE,
    OPT_LAYOUT,
    OPT_INDEX,
    OPT_BUCKETS,
    OPT_MERGE_MODE,
    OPT_TABLE_VERSION,
    OPT_NAME,
    OPT_INPUT_FORMAT,
    OPT_REJECT,
    OPT_DELIMITER,
    OPT_NULL_TEXT,
    OPT_COMMIT_ROWS,
    OPT_COMMIT_BYTES,
    OPT_COMMIT_INTERVAL,
    OPT_WHERE,
    OPT_COLUMNS,
    OPT_META,
    OPT_KEYS,
    OPT_IN,
    OPT_LIMIT,
    OPT_AS_OF,
    OPT_READ_OPTIMIZED,
    OPT_INCREMENTAL,
    OPT_CDC,
    OPT_FORMAT,
    OPT_OUTPUT,
    OPT_SCHEDULE_ONLY,
    OPT_EXECUTE,
    OPT_EVERY,
    OPT_DRY_RUN,
    OPT_BASE_ONLY,
    OPT_ROWS,
    OPT_DEEP,
    OPT_REPAIR,
    OPT_MAN,
    OPT_MARKDOWN,
    OPTION_COUNT,
};

struct choice {
    const char *word;  /* on the command line, in any case */
    const char *value; /* of the setting */
};

struct option {
    const char *name;             /* without the dashes */
    char letter;                  /* 0: no short form */
    const char *value;            /* what to call its value; NULL: a flag */
    const char *setting;          /* the setting that it is short for, or NULL */
    bool describes_table;         /* the setting is for making a table, not for opening it */
    const struct choice *choices; /* ends with a NULL word; NULL: any value */
    const char *help;
    bool is_planned;        /* part of the contract, not built yet */
    const char *implied[2]; /* a setting that comes with the option unless it is given; NULL: none */
};

struct args;

struct verb {
    const char *name;
    const char *form;    /* what stands behind the name */
    const char *summary; /* one line */
    const char *details; /* paragraphs; NULL: none */
    const char *example; /* lines; NULL: none */
    const enum option_id *options;
    int arguments_min, arguments_max;    /* -1: any number */
    int (*run)(const struct args *args); /* NULL: planned, not built yet */
};

extern const struct option cli_options[OPTION_COUNT];
extern const enum option_id cli_common_options[]; /* ends with OPT_NONE */
extern const struct verb cli_verbs[];
extern const size_t cli_verb_count;

const struct verb *verb_named(const char *name);
bool verb_takes(const struct verb *verb, enum option_id id); /* common ones too */

/* ---- arguments ----------------------------------------------------------------------------------------- */

/* key, value, ..., NULL: as the library takes it. */
struct settings {
    char **items;
    size_t count; /* pairs */
};
void settings_set(struct settings *s, const char *key, const char *value); /* replaces */
const char *settings_get(const struct settings *s, const char *key);       /* NULL: not set */
const char *const *settings_list(const struct settings *s);                /* NULL when there are none */
void settings_free(struct settings *s);

struct args {
    const struct verb *verb;          /* NULL: none was given */
    const char *what;                 /* for messages: the verb's name */
    const char *values[OPTION_COUNT]; /* NULL: not given; "" for flags */
    unsigned times[OPTION_COUNT];
    const char **arguments; /* [0] is the table, for verbs that have one */
    size_t argument_count;
    struct settings settings;       /* for sluice_table_open: --props, then shorthands, then -c */
    struct settings table_settings; /* for sluice_table_create, besides those */
};

/* Prints what is wrong; a status other than STATUS_DONE ends the program. */
int args_parse(int argc, char **argv, struct args *out);
void args_free(struct args *args);
bool given(const struct args *args, enum option_id id);
/* A whole number >= 0; absent: `otherwise`. */
int args_number(const struct args *args, enum option_id id, int64_t otherwise, int64_t *out);

/* ---- commits while rows come --------------------------------------------------------------------------- */

struct commit_triggers {
    bool is_any;
    int64_t rows; /* 0: not given, as with the others */
    uint64_t bytes;
    double seconds;
};
int commit_triggers_read(const struct args *args, struct commit_triggers *out);
/* `waited`: seconds since the first of the rows came. */
bool commit_is_due(const struct commit_triggers *t, uint64_t rows, uint64_t bytes, double waited);
int64_t commit_batch_rows(const struct commit_triggers *t); /* rows of a batch of the input; 0: as it likes */

/* A size ("64MiB") or a time ("10s", "5m") above 0. */
int args_bytes(const struct args *args, enum option_id id, uint64_t *out);
/* Bytes of sluice.memory, which --memory sets; 0: not given. */
uint64_t args_memory(const struct args *args);
int args_seconds(const struct args *args, enum option_id id, double *out);
/* The position of the option's value among its choices. */
size_t args_choice(const struct args *args, enum option_id id);
/* 'a,b' cut up; blanks around names and empty names are dropped. NULL-terminated, *count may be NULL. */
char **split_names(const char *text, size_t *count);
void free_names(char **names);

/* Reads a file of Java properties into settings. */
int props_read(const struct args *args, const char *path, struct settings *into);

/* ---- help ---------------------------------------------------------------------------------------------- */

void help_overview(FILE *to);
void help_verb(FILE *to, const struct verb *verb);
void help_man(FILE *to);
void help_markdown(FILE *to);
void help_bash(FILE *to);

/* ---- messages and results ------------------------------------------------------------------------------ */

#if defined(__GNUC__)
#define CLI_FORMAT(f, a) __attribute__((format(printf, f, a)))
#else
#define CLI_FORMAT(f, a)
#endif

/* `sluice: <what>: <message>` on standard error, control characters escaped, and STATUS_FAILED. */
int fail(const struct args *args, const char *format, ...) CLI_FORMAT(2, 3);
/* The same, `hint: see sluice help <verb>` below, and STATUS_USAGE. */
int fail_usage(const struct args *args, const char *format, ...) CLI_FORMAT(2, 3);
/* The library's message and hint; the status that its code stands for. */
int fail_error(const struct args *args, const sluice_error *e);
/* What a stream of the library says of its failure, as the calls say it. */
void stream_error(struct ArrowArrayStream *rows, sluice_error *e);
void hint(const char *format, ...) CLI_FORMAT(1, 2);
/* A message that is no error; nothing with --quiet. */
void note(const struct args *args, const char *format, ...) CLI_FORMAT(2, 3);
/* An unreadable answer of the library. */
int fail_json(const struct args *args, const json_error_t *e);

/* Text that fits a line: numbers with thousands separators, bytes with a unit. */
enum { NUMBER_TEXT = 48 };
const char *count_text(uint64_t n, char out[NUMBER_TEXT]);
const char *bytes_text(uint64_t n, char out[NUMBER_TEXT]);
const char *seconds_text(double seconds, char out[NUMBER_TEXT]);

/* One line of JSON on standard output; takes the reference. */
void print_json(json_t *object);
/* The result of a write or service: line or object. `rejected` rows were left out (-1: not asked for). `waited`
 * seconds went by before somebody sent rows: the rate is that of the others. */
void print_commit(const struct args *args, const sluice_commit_info *info, int64_t rejected, double waited);
/* What --explain says about a read; nothing without the option. */
void explain_read(const struct args *args, const sluice_scan_stats *stats, double open_seconds,
                  double read_seconds);
/* What --explain says about it, on standard error. */
void explain_commit(const struct args *args, const sluice_table *table, const sluice_commit_info *info);

/* malloc and friends that end the program (status 1) when there is no memory: the command holds little of it. */
void *cli_alloc(size_t bytes);
void *cli_grow(void *memory, size_t bytes);
char *cli_copy(const char *text);
char *cli_text(const char *format, ...) CLI_FORMAT(1, 2);
size_t edit_distance(const char *a, const char *b);

/* A file that appears under its name only when it is complete; what is no regular file is written in place. */
struct output_file {
    char *path;
    char *temporary; /* NULL: in place */
};
void output_file_begin(struct output_file *f, const char *path);
const char *output_file_path(const struct output_file *f); /* to be written */
int output_file_end(struct output_file *f, const struct args *args,
                    int status); /* keeps it when status is STATUS_DONE; a new status */

/* ---- fitted tables ------------------------------------------------------------------------------------- */

struct view_column {
    const char *title;
    bool is_number; /* right-aligned, never shortened */
};
struct view;
struct view *view_new(const struct view_column *columns, size_t count);
void view_add(struct view *v, const char *const *cells); /* copied; NULL is an empty cell */
/* Columns that are empty in every row are left out. Too wide for the terminal: the widest text columns are shortened. */
void view_print(const struct view *v, FILE *to, size_t indent);
void view_free(struct view *v);
size_t terminal_width(FILE *file); /* 0: no terminal, or unknown */
/* JSON as an outline: objects as lines, arrays of flat objects as tables. */
void view_json(const json_t *value, FILE *to, size_t indent);
/* A scalar as a cell; "" for null and absent. Freed by the caller. */
enum cell_kind { CELL_TEXT, CELL_COUNT, CELL_BYTES };
char *json_cell(const json_t *object, const char *key, enum cell_kind kind);
const char *json_text(const json_t *object, const char *key); /* "" when absent */
uint64_t json_number(const json_t *object, const char *key);  /* 0 when absent */

/* ---- progress ------------------------------------------------------------------------------------------ */

void progress_begin(const struct args *args);
void progress_update(const char *step, uint64_t done, uint64_t total);
void progress_erase(void); /* before anything else goes to standard error */
void progress_end(void);
void progress_explain(void); /* the steps with their times, for --explain */
double monotonic_seconds(void);

/* ---- an open table ------------------------------------------------------------------------------------- */

/* Before much is allocated; `budget` in bytes, 0: not known. */
void memory_prepare(uint64_t budget);
void signals_install(
    void); /* SIGINT, SIGTERM, SIGHUP: cancel the open table, or end with 130; SIGPIPE: ignored */
bool interrupted(void);
/* Opens the table in args->arguments[0]; *code is the library's, for callers who know what to do about it (no message
 * then when it is `tolerated`). Ends with session_close. */
int session_open(const struct args *args, int tolerated, int *code, sluice_table **out);
void session_close(sluice_table *table);
/* A description as JSON, or as text when `text` is not NULL. */
int session_describe(const struct args *args, sluice_table *table, enum sluice_description what,
                     json_t **json, char **text);

/* ---- verbs --------------------------------------------------------------------------------------------- */

/* Makes the table of args->arguments[0] with the schema of --schema, or else `schema`. With `creation` it can be undone, and
 * SLUICE_E_EXISTS is fine: *creation stays NULL. */
int create_table(const struct args *args, const struct ArrowSchema *schema, sluice_creation **creation);
/* The columns of --schema. */
int schema_option(const struct args *args, struct ArrowSchema *out);
/* Compares --key and its like with the table that is there. */
int create_check(const struct args *args);
/* Whether --format, --json and -o go together. */
int check_format(const struct args *args);
/* The columns that --columns, --meta and the format ask for; *names NULL: all. Freed by free_names. */
int output_columns(const struct args *args, sluice_table *table, char ***names, size_t *count);
/* Renders a stream (taken over) as the options --format, -o, --limit say. */
int print_rows(const struct args *args, struct ArrowArrayStream *rows, uint64_t *row_count);

int cmd_create(const struct args *args);
int cmd_upsert(const struct args *args);
int cmd_insert(const struct args *args);
int cmd_bulk_insert(const struct args *args);
int cmd_delete(const struct args *args);
int cmd_insert_overwrite(const struct args *args);
int cmd_insert_overwrite_table(const struct args *args);
int cmd_delete_partition(const struct args *args);
int cmd_query(const struct args *args);
int cmd_lookup(const struct args *args);
int cmd_compact(const struct args *args);
int cmd_log_compact(const struct args *args);
int cmd_service(const struct args *args);
int cmd_rollback(const struct args *args);
int cmd_doctor(const struct args *args);
int cmd_info(const struct args *args);
int cmd_timeline(const struct args *args);
int cmd_files(const struct args *args);
int cmd_inspect(const struct args *args);
int cmd_config(const struct args *args);
int cmd_help(const struct args *args);
int cmd_completion(const struct args *args);
int cmd_version(const struct args *args);

#endif
