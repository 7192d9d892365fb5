/*
 * Inserts into new file groups, where no bucket says which: one sorted stream is cut into files by size, so that their key
 * ranges ascend and do not meet (spec/lsm-layout.md 14, "Bulk insert").
 */
#include "write/write_int.h"

struct new_groups {
    struct flush *flush;
    const char *partition;
    uint32_t task;
    uint64_t bytes_max;
    int64_t rows_max;     /* 0: by size only */
    sl_file_writer *open; /* NULL: none */
};

/* "<uuid>-0" */
static sl_status new_file_id(char *out)
{
    SL_TRY(sl_uuid4(out));
    out[36] = '-';
    out[37] = '0';
    out[38] = 0;
    return SL_OK;
}

static sl_status groups_open(struct new_groups *g)
{
    char file_id[40];
    SL_TRY(new_file_id(file_id));
    struct sl_file_spec spec = {.kind = SL_FILE_BASE,
                                .partition = g->partition,
                                .file_id = file_id,
                                .task = g->task,
                                .attempt = g->flush->numbers.attempt,
                                .prev_commit = "null"};
    return sl_file_writer_open(g->flush->table, g->flush->txn, &g->flush->schema, &spec, &g->open);
}

static sl_status groups_close(struct new_groups *g)
{
    sl_file_writer *closing = g->open;
    uint64_t bytes;
    if (!closing)
        return SL_OK;
    g->open = NULL;
    sl_write_stat stat = {.num_writes = sl_file_writer_rows(closing),
                          .num_inserts = sl_file_writer_rows(closing)};
    SL_TRY(sl_file_writer_close(closing, &stat, &bytes));
    flush_count(g->flush, &stat, bytes);
    return SL_OK;
}

static bool is_full(const struct new_groups *g)
{
    return g->open && (sl_file_writer_bytes(g->open) >= g->bytes_max ||
                       (g->rows_max && sl_file_writer_rows(g->open) >= g->rows_max));
}

/* Rows of the batch that still fit by count. */
static int64_t rows_that_fit(const struct new_groups *g, int64_t rows)
{
    int64_t left = g->rows_max ? g->rows_max - sl_file_writer_rows(g->open) : rows;
    return left < rows ? left : rows;
}

static sl_status groups_take(struct new_groups *g, sl_batch *batch)
{
    for (int64_t at = 0, n; at < batch->rows; at += n) {
        sl_batch *part;
        if (is_full(g))
            SL_TRY(groups_close(g));
        if (!g->open)
            SL_TRY(groups_open(g));
        n = rows_that_fit(g, batch->rows - at);
        if (n == batch->rows)
            return sl_file_writer_write(g->open, batch);
        SL_TRY(sl_batch_copy(batch, at, n, &part));
        sl_status status = sl_file_writer_write(g->open, part);
        sl_batch_unref(part);
        SL_TRY(status);
    }
    return SL_OK;
}

static sl_status read_limits(struct new_groups *g)
{
    const sl_table *table = g->flush->table;
    SL_TRY(sl_table_setting_bytes(table, "hoodie.parquet.max.file.size", 120 << 20, &g->bytes_max));
    if (sl_table_setting_true(table, "hoodie.copyonwrite.insert.auto.split", true))
        return SL_OK;
    SL_TRY(sl_table_setting_int(table, "hoodie.copyonwrite.insert.split.size", 500000, &g->rows_max));
    return g->rows_max > 0 ? SL_OK : sl_input("hoodie.copyonwrite.insert.split.size must be above 0");
}

static sl_status groups_take_batch(void *groups, sl_batch *batch) { return groups_take(groups, batch); }

sl_status new_groups_write(struct flush *flush, const char *partition, uint32_t task, sl_stream *rows)
{
    struct new_groups g = {.flush = flush, .partition = partition, .task = task};
    sl_status status = SL_OK;
    SL_GO(read_limits(&g));
    SL_GO(sl_stream_drain(rows, NULL, groups_take_batch, &g));
    status = groups_close(&g);
done:
    sl_file_writer_abort(g.open);
    return status;
}
