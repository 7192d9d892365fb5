/* Rows as text and as Parquet: what the formats share. */
#ifndef SL_API_OUTPUT_INT_H
#define SL_API_OUTPUT_INT_H

#include "api/api_int.h"

/* Text on its way to the caller's function, which gets it in pieces. */
struct output_sink {
    int (*write)(void *context, const char *text, size_t len);
    void *context;
    sl_buf buf;
};
SL_MUST_USE sl_status output_flush(struct output_sink *s);
SL_MUST_USE sl_status output_flush_when_full(struct output_sink *s);

/* What is written out keeps to the memory of the rows' table; somebody else's rows have none that we knew. */
struct output_budget {
    sl_budget budget;
    sl_runtime runtime;
};
/* Consumes the stream. `own` must stay where it is until the rows are closed. */
SL_MUST_USE sl_status output_rows_open(struct ArrowArrayStream *stream, struct output_budget *own,
                                       sl_stream **rows);

/* All rows, and how many they were. The rows stay open, ... */
SL_MUST_USE sl_status output_table(struct output_sink *s, sl_stream *rows, const sluice_output_options *o,
                                   uint64_t *count);
/* ... and are taken over here. */
SL_MUST_USE sl_status output_canonical(struct output_sink *s, sl_stream *rows, const sl_runtime *runtime,
                                       uint64_t *count);

#endif
