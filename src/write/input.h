/*
 * input: the door through which rows come in. Files, standard input and Arrow C streams become a stream of batches;
 * nothing behind it knows where they came from. docs/input.md is the user's view of the same rules.
 *
 *     sl_stream *rows;
 *     SL_TRY(sl_input_open("trips.csv.gz", NULL, table_schema, &options, &rows));      rows of the table's schema
 *
 *     SL_TRY(sl_input_open("-", "jsonl", NULL, &options, &raw));                       rows of a table yet to be made:
 *     SL_TRY(sl_input_table_type(raw->schema, &type_options, &schema));                what it has -> what a table may have
 *     SL_TRY(sl_input_conform(raw, schema, "standard input", &options, &rows));
 *
 * Formats: parquet, csv, tsv, jsonl (also ndjson, json), avro. Without a name the file's extension decides, a `.gz` or
 * `.zst` behind it left aside; text is decompressed by its first bytes, whatever it is called. Text is read
 * front to back in bounded memory; Parquet and Avro from standard input go through a temporary file, as they need to be
 * read at offsets.
 *
 * Errors are SL_E_INPUT for rows that are wrong and name file, line (text) or row, column and value.
 */
#ifndef SL_WRITE_INPUT_H
#define SL_WRITE_INPUT_H

#include "column/column.h"
#include "storage/storage.h"

struct ArrowArrayStream;

/* What happens to input columns that the wanted schema lacks. Hudi's own `_hoodie_...` columns are always dropped. */
enum sl_input_extra {
    SL_EXTRA_REFUSE, /* SL_E_INPUT: a misspelt name must not lose its values */
    SL_EXTRA_DROP,
};

/* A row of text that is wrong. */
struct sl_rejected_row {
    uint64_t line;    /* its first, from 1 */
    const char *text; /* as it was read, without its line end */
    size_t len;
    const char *
        json; /* the same as an object that JSON lines take, as far as its values allow; NULL: it has no columns */
    const char *reason;
};

/* Zero-initialised: the defaults. Borrowed until the stream is closed. */
struct sl_input_options {
    char delimiter;        /* CSV; 0: comma, or tab for tsv */
    const char *null_text; /* CSV: an unquoted field with this text is null; NULL: the empty text */
    int64_t batch_rows;    /* 0: 16384 */
    int64_t infer_rows;    /* rows that types are inferred from when none are wanted; 0: 10000 */
    int64_t
        idle_ms; /* above 0: text that is still being written. Rows are handed out as they come; when none came for
                              so long, a batch without rows */
    bool present_only;    /* CSV: of the wanted columns those that the header names */
    size_t row_bytes_max; /* longest row of text; 0: 64 MiB */
    enum sl_input_extra extra;
    bool cut_nanos; /* nanoseconds that are no whole microseconds are cut (toward the past), not refused */
    /* When set, rows of text that are wrong go here and are skipped. A failure returned ends the input. */
    sl_status (*reject)(void *context, const struct sl_rejected_row *row);
    void *reject_context;
    /* What whoever takes the rows demands of them, beyond their types: SL_E_INPUT for rows that are wrong. With `reject` these are
     * found one by one and rejected, too; without it they are not looked at here. NULL: nothing. */
    sl_status (*check)(void *context, const sl_batch *rows);
    void *check_context;
    uint64_t *rejected; /* counts them; NULL: not counted */
    double *waited; /* grows by the seconds that standard input or a pipe was waited for; NULL: not counted */
    const sl_runtime *runtime; /* warnings, budget, temporary folder; NULL: none */
    int stdin_fd;              /* what `-` reads; 0 is standard input */
};

/* Rows of the file at `path`, or of standard input when it is "-" (then `format` is needed). `format` NULL: by extension.
 * With `wanted` the stream's schema is exactly that: columns are matched by name, missing ones are null when nullable and
 * SL_E_INPUT otherwise. Without it the file's own or inferred types are given. */
SL_MUST_USE sl_status sl_input_open(const char *path, const char *format, const sl_type *wanted,
                                    const struct sl_input_options *options, sl_stream **out);
/* Rows of an Arrow C stream, which is consumed: released with the stream, also on failure. */
SL_MUST_USE sl_status sl_input_arrow_stream(struct ArrowArrayStream *stream, const sl_type *wanted,
                                            const struct sl_input_options *options, sl_stream **out);
/* `in` (taken over, also on failure) with the fields of `wanted`: by name, converted where no value changes its meaning
 * (what sl_cast does, time to long microseconds, UUID to string, nanoseconds cut when asked). `name` is for errors. */
SL_MUST_USE sl_status sl_input_conform(sl_stream *in, const sl_type *wanted, const char *name,
                                       const struct sl_input_options *options, sl_stream **out);

struct sl_table_type_options {
    bool keep_time; /* time of day stays time (Spark 3.5 cannot open such a table); else long microseconds */
    bool keep_required; /* a field that may not be null stays so; else all become nullable, as Spark's are */
    const sl_runtime *runtime; /* warnings */
};
/* The types that a Hudi table shared with Spark may have (spec/parquet.md 8 and 11), every field nullable:
 * int8/16, uint8/16 -> int; uint32 -> long; uint64 -> decimal(20,0); half -> float; timestamps -> micros; time -> long;
 * fixed -> binary; UUID, enum, JSON -> string; a column that is always null -> string, with a warning. */
SL_MUST_USE sl_status sl_input_table_type(const sl_type *in, const struct sl_table_type_options *options,
                                          const sl_type **out);
/* The schema of a file, for `create --schema FILE`: that of sl_input_open without `wanted`. */
SL_MUST_USE sl_status sl_input_schema(const char *path, const char *format,
                                      const struct sl_input_options *options, const sl_type **out);

#endif
