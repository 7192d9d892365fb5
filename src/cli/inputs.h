/*
 * Inputs of the writing verbs: which columns a file has, the types they shall have, and its rows.
 *
 * A column takes the type of the table's column of its name, so that `007` stays a text when the table says so. Columns that
 * the table lacks keep their own type (the writer makes them the table's). Columns that the files lack are left out, so
 * that the writer can refuse them instead of writing nulls over values; only JSON lines, where leaving out is the way to
 * say null, get all of the table's columns.
 */
#ifndef SLUICE_CLI_INPUTS_H
#define SLUICE_CLI_INPUTS_H

#include "cli.h"

struct input {
    const char *name;         /* for messages */
    const char *path;         /* what is opened: `-`, a file, or the copy of standard input */
    const char *format;       /* NULL: by extension */
    char *copy;               /* the copy's path, when there is one */
    struct ArrowSchema found; /* .release NULL: not looked at yet */
};

enum input_use {
    INPUT_FOR_ROWS,
    INPUT_FOR_KEYS, /* a delete: the table's key columns, others do not matter */
};

/* A struct schema that borrows its fields; its release does nothing. */
struct borrowed_schema {
    struct ArrowSchema schema;
    struct ArrowSchema *fields;
};

/* Checks --input-format, --delimiter and whether the files can be opened. `first` is the position of the first file among
 * the arguments. */
int inputs_open(const struct args *args, size_t first, struct input **out, size_t *count);
void inputs_close(struct input *inputs, size_t count);

/* The columns of the file, with types that a table may have. Standard input is copied to a temporary file for it. */
int input_look(const struct args *args, struct input *input);
/* Whether it is one of Hudi's own, which every row has. */
bool is_meta_column(const char *name);
/* The columns for a table made of a file that has `found`: all but Hudi's own. */
void table_columns(const struct ArrowSchema *found, struct borrowed_schema *out);
/* The columns in which the rows of all inputs shall come: those of the first file, then what others have besides. A file that
 * lacks one is refused, JSON lines excepted. `table`: its columns; for a delete those that make its keys. `asked`: columns
 * that the table may get, and their types (without fields: none). */
/* With `streaming` standard input is read as it comes, and never copied if it can be helped: a CSV then has columns of the
 * table only. */
int inputs_wanted(const struct args *args, struct input *inputs, size_t count,
                  const struct ArrowSchema *table, const struct ArrowSchema *asked, enum input_use use,
                  bool streaming, struct borrowed_schema *out);
void borrowed_free(struct borrowed_schema *schema);

/* --reject: the file of bad rows (JSON lines, docs/input.md), made when there is the first one. */
struct rejects {
    const struct args *args;
    const char *name; /* of the input that is read */
    FILE *file;
    uint64_t count;
    int failed; /* errno of the file */
};
int rejects_check(const struct args *args, const struct input *inputs, size_t count);
int rejects_begin(const struct args *args); /* empties an older file, which would speak of other rows */
int rejects_close(struct rejects *r);

struct input_pace {
    int64_t batch_rows;        /* 0: as it likes */
    uint64_t memory;           /* that reading may take */
    int64_t idle_ms;           /* above 0: a batch without rows when standard input gave none for so long */
    const sluice_table *table; /* that takes the rows: what it would refuse is rejected, too */
    enum sluice_operation operation;
    double *waited; /* grows by the seconds that a pipe was waited for */
};
int input_rows(const struct args *args, struct input *input, const struct ArrowSchema *wanted,
               const struct input_pace *pace, struct rejects *rejects, struct ArrowArrayStream *out);
/* fail_error with the copy's path said as standard input. */
int input_error(const struct args *args, const struct input *input, sluice_error *e);

#endif
