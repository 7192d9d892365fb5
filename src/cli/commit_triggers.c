/* --commit-rows, --commit-bytes, --commit-interval: when a write that goes on publishes what it has. */
#include "cli.h"

int commit_triggers_read(const struct args *args, struct commit_triggers *out)
{
    *out = (struct commit_triggers){.is_any = given(args, OPT_COMMIT_ROWS) || given(args, OPT_COMMIT_BYTES) ||
                                              given(args, OPT_COMMIT_INTERVAL)};
    int status = args_number(args, OPT_COMMIT_ROWS, 0, &out->rows);
    if (!status && given(args, OPT_COMMIT_ROWS) && out->rows == 0)
        status = fail_usage(args, "--commit-rows: 0 is too few");
    if (!status && given(args, OPT_COMMIT_BYTES))
        status = args_bytes(args, OPT_COMMIT_BYTES, &out->bytes);
    if (!status && given(args, OPT_COMMIT_INTERVAL))
        status = args_seconds(args, OPT_COMMIT_INTERVAL, &out->seconds);
    return status;
}

bool commit_is_due(const struct commit_triggers *t, uint64_t rows, uint64_t bytes, double waited)
{
    return rows > 0 && ((t->rows && rows >= (uint64_t)t->rows) || (t->bytes && bytes >= t->bytes) ||
                        (t->seconds > 0 && waited >= t->seconds));
}

/* Batches that make up --commit-rows without a rest, as far as its factors allow. */
int64_t commit_batch_rows(const struct commit_triggers *t)
{
    enum { BATCH_ROWS = 16384 };
    if (!t->rows)
        return 0;
    int64_t batches = (t->rows + BATCH_ROWS - 1) / BATCH_ROWS;
    return (t->rows + batches - 1) / batches;
}
