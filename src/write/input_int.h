/* Private to the input_*.c files. */
#ifndef SL_WRITE_INPUT_INT_H
#define SL_WRITE_INPUT_INT_H

#include "write/input.h"

/* ---- bytes --------------------------------------------------------------------------------------------- */

/* The decompressed bytes of a file or a descriptor, front to back. */
struct input_source;
/* `path` "-": the descriptor of the options. What begins like gzip or zstd is decompressed. */
SL_MUST_USE sl_status input_source_open(const char *path, const struct sl_input_options *options,
                                        struct input_source **out);
/* Some bytes, as many as are there: waits for the first; *got is 0 at the end only. */
SL_MUST_USE sl_status input_source_read(struct input_source *source, void *out, size_t len, size_t *got);
/* *ready false: nothing came for so long (or a signal did), and a read would wait. A file is always ready. */
SL_MUST_USE sl_status input_source_wait(const struct input_source *source, int64_t wait_ms, bool *ready);
const char *input_source_name(const struct input_source *source); /* for errors */
void input_source_free(struct input_source *source);

/* A file that is read at offsets: the one at `path`, or standard input after a copy to a temporary file. */
struct input_file {
    sl_storage *storage;
    sl_file *file;
    char *name; /* for errors */
};
SL_MUST_USE sl_status input_file_open(const char *path, const struct sl_input_options *options,
                                      struct input_file *out);
void input_file_close(struct input_file *file); /* zero-initialised is fine */

/* ---- text ---------------------------------------------------------------------------------------------- */

/* A window of text that slides over the source. Bytes from `start` on are kept, so that a caller may go back
 * there. */
struct text_reader {
    struct input_source *source;
    uint8_t *data;
    size_t cap, start, at, end;
    size_t record_max;
    bool ended, holding;
    uint64_t line, start_line; /* line number at `at` and at `start`; from 1 */
};
struct text_record {
    const char *text; /* until the reader is asked again; without the line's end */
    size_t len;
    uint64_t line; /* its first */
};
SL_MUST_USE sl_status text_reader_open(const char *path, const struct sl_input_options *options,
                                       struct text_reader *out);
void text_reader_close(struct text_reader *reader);
/* More bytes behind `end`; *grew false: there are none. Moves the window: positions count from `at`. */
SL_MUST_USE sl_status text_reader_more(struct text_reader *reader, bool *grew);
/* Hands out the `len` bytes at `at`, of which `content` are the record, and moves behind them. */
void text_reader_take(struct text_reader *reader, size_t content, size_t len, uint64_t lines,
                      struct text_record *out);
/* Whether a whole line is there, or the end; waits for it so long. */
SL_MUST_USE sl_status text_reader_wait(struct text_reader *reader, int64_t wait_ms, bool *ready);
/* The next line; *found false at the end. */
SL_MUST_USE sl_status text_reader_line(struct text_reader *reader, struct text_record *out, bool *found);
/* From now on what is read may be read again after a rewind, until the release. */
void text_reader_hold(struct text_reader *reader);
void text_reader_rewind(struct text_reader *reader);
void text_reader_release(struct text_reader *reader);
size_t text_reader_held(const struct text_reader *reader);

/* A stream of rows from records of text; CSV and JSON lines differ in these functions. */
struct text_input;
struct text_format {
    sl_status (*next_record)(struct text_input *in, struct text_record *out, bool *found);
    sl_status (*append_row)(struct text_input *in, const struct text_record *record, sl_batch_builder *rows);
    /* A record (of UTF-8) that append_row or somebody behind it refused, as one JSON object; nothing is added to *out where
     * it cannot be told which text is of which column. */
    sl_status (*row_json)(struct text_input *in, const struct text_record *record, sl_buf *out);
    void (*free_all)(struct text_input *in); /* frees `in` itself */
};
struct text_input {
    sl_stream stream; /* first: a stream is the input it is part of */
    const struct text_format *format;
    struct text_reader reader;
    struct sl_input_options options; /* with the defaults filled in */
    sl_batch_builder rows, chunk;
    size_t batch_bytes;  /* of text: a batch of long rows ends early */
    int64_t handed_out;  /* rows so far */
    sl_status held_back; /* what is wrong with the row behind those that were handed out */
    bool failed;
};
/* Opens reader and options of `in`, whose memory is zero and whose format is set. */
SL_MUST_USE sl_status text_input_open(struct text_input *in, const char *path,
                                      const struct sl_input_options *options);
/* Sets the schema (one reference is taken over) and makes the stream ready. */
SL_MUST_USE sl_status text_input_start(struct text_input *in, const sl_type *schema);
void text_input_close(struct text_input *in); /* what text_input_open and _start made */
/* The next record that is not blank. */
SL_MUST_USE sl_status text_input_next(struct text_input *in, struct text_record *out, bool *found);
/* SL_E_INPUT at the first byte of the record that is not UTF-8. */
SL_MUST_USE sl_status text_record_check_utf8(const struct text_record *record);
/* "FILE: line N: " before a failure. */
SL_MUST_USE sl_status text_input_context(const struct text_input *in, uint64_t line, sl_status status);
/* Calls `look` for up to infer_rows records, then goes back to the first. */
SL_MUST_USE sl_status text_input_look_ahead(struct text_input *in,
                                            sl_status (*look)(struct text_input *in,
                                                              const struct text_record *record));

/* ---- formats ------------------------------------------------------------------------------------------- */

SL_MUST_USE sl_status input_csv_open(const char *path, char delimiter, const sl_type *wanted,
                                     const struct sl_input_options *options, sl_stream **out);
SL_MUST_USE sl_status input_jsonl_open(const char *path, const sl_type *wanted,
                                       const struct sl_input_options *options, sl_stream **out);
/* Columns are read in loops of `pool`, borrowed until the stream is closed. */
SL_MUST_USE sl_status input_parquet_open(const char *path, const sl_type *wanted,
                                         const struct sl_input_options *options, sl_pool *pool,
                                         sl_stream **out);
SL_MUST_USE sl_status input_avro_open(const char *path, const sl_type *wanted,
                                      const struct sl_input_options *options, sl_stream **out);

/* Memory of a batch, and of the text that is looked at to infer types; `most` at most. */
size_t input_batch_bytes(const struct sl_input_options *options, size_t most);
size_t input_look_ahead_bytes(const struct sl_input_options *options, size_t most);

/* `rows`, each batch made while the one before is worked on, in loops of `helped`, an unstaffed pool. Both are taken over,
 * also on failure. */
SL_MUST_USE sl_status input_read_ahead(sl_stream *rows, sl_pool *helped, sl_stream **out);

/* What a stream of columns stands on; freed behind it. */
struct input_owner {
    struct input_file file;
    struct sl_parquet *parquet;
    uint8_t *bytes; /* of a file that could not be mapped */
};
void input_owner_free(struct input_owner *owner);
/* sl_input_conform for a file: takes over `in` and what `owner` holds, also on failure. `wanted` NULL: the
 * stream's own schema. Strings are checked to be UTF-8. */
SL_MUST_USE sl_status input_conform_owned(sl_stream *in, const sl_type *wanted, const char *name,
                                          const struct sl_input_options *options, struct input_owner *owner,
                                          sl_stream **out);

/* ---- columns ------------------------------------------------------------------------------------------- */

/* Whether a column of type `from` can become `to`; SL_E_INPUT says why not. */
SL_MUST_USE sl_status input_convertible(const sl_type *from, const sl_type *to,
                                        const struct sl_input_options *options);
/* Errors name the row of the array. */
SL_MUST_USE sl_status input_convert(sl_array *array, const sl_type *to,
                                    const struct sl_input_options *options, sl_array **out);
/* Every string of the array, nested ones too, is UTF-8; the error names the row of the (leaf) array. */
SL_MUST_USE sl_status input_check_utf8(const sl_array *array);
/* A column that Hudi itself adds to rows. */
bool input_is_meta_column(const char *name, size_t len);
/* The refusal of an input column that is not wanted, with the nearest wanted name as a hint. */
SL_MUST_USE sl_status input_unknown_column(const sl_type *wanted, const char *name, size_t len);
/* The same for a column of text that is not looked at before, which only a schema adds; the hint says so if no name is near. */
SL_MUST_USE sl_status input_unasked_column(const sl_type *wanted, const char *name, size_t len);

#endif
