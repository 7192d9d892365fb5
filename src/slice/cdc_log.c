/*
 * Change data logs (spec/lsm-layout.md 4.3): beside a base file that is written anew, what that changed. The merge tells
 * changes (merge/changes.c); here they become rows: op, the instant or the key, and the table's row before and after, without
 * meta columns. Names and headers are those of native logs, but the logs belong to no slice: the stat of the base file names
 * them.
 */
#include "slice/slice_int.h"

struct sl_cdc_log {
    const sl_table *table;
    sl_txn *txn;
    const sl_write_schema *schema;
    struct sl_file_spec spec; /* of the open file */
    uint64_t roll_bytes;
    sl_file_writer *w; /* NULL: finished, or an attempt to open failed */
    struct sl_cdc_file *files;
    size_t count;
    struct sl_change_sink sink;
};

/* ---- files --------------------------------------------------------------------------------------------- */

/* Versions count on their own, past what lies there already (spec/lsm-layout.md 3). */
static sl_status open_next(sl_cdc_log *log)
{
    for (bool taken = true; taken;) {
        log->spec.version++;
        SL_TRY(sl_file_writer_exists(log->table, log->txn, &log->spec, &taken));
    }
    return sl_file_writer_open(log->table, log->txn, log->schema, &log->spec, &log->w);
}

static sl_status close_open(sl_cdc_log *log)
{
    struct sl_cdc_file *grown = sl_realloc_array(log->files, log->count + 1, sizeof *grown);
    if (!grown)
        return sl_nomem();
    log->files = grown;
    sl_file_writer *closing = log->w;
    log->w = NULL;
    SL_TRY(file_writer_close_named(closing, &log->files[log->count]));
    log->count++;
    return SL_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* Letters as indexes into a dictionary of the three. */
static sl_status op_column(const sl_type *type, const struct sl_changes *c, sl_array **out)
{
    static const char letters[] = {
        [SL_CHANGE_INSERT] = 'i', [SL_CHANGE_UPDATE] = 'u', [SL_CHANGE_DELETE] = 'd'};
    sl_builder *names = NULL;
    sl_array *dictionary = NULL;
    sl_buffer *indexes = NULL;
    sl_status status = SL_OK;
    SL_GO(sl_builder_new(type, &names));
    for (size_t i = 0; i < sizeof letters; i++)
        SL_GO(sl_builder_bytes(names, &letters[i], 1));
    SL_GO(sl_builder_finish(names, &dictionary));
    SL_GO(sl_buffer_new((size_t)c->count * sizeof(int32_t), &indexes));
    for (int64_t i = 0; i < c->count; i++)
        store_le32(sl_buffer_data(indexes) + i * 4, c->ops[i]);
    status = sl_array_new(type, c->count, 0, NULL, indexes, NULL, NULL, 0, dictionary, out);
    dictionary = NULL;
done:
    sl_array_unref(dictionary);
    sl_builder_free(names);
    return status;
}

/* The rows of an image, stretched over the changes: nulls where an operation has none. */
struct image {
    const sl_type *type; /* of the struct */
    const sl_batch *rows;
    struct sl_pick *picks;
    size_t pick_count;
    int64_t count, nulls;
    sl_buffer *validity;
};
enum { ROWS, NULLS };

/* `without` is the operation that has no such image. */
static sl_status image_spread(struct image *i, const uint8_t *ops, enum sl_change without)
{
    uint32_t row = 0;
    SL_TRY(sl_buffer_new(bitmap_bytes(i->count), &i->validity));
    memset(sl_buffer_data(i->validity), 0, bitmap_bytes(i->count));
    SL_NEW_ARRAY(i->picks, (size_t)i->count);
    for (int64_t k = 0; k < i->count; k++) {
        uint32_t source = ops[k] == without ? NULLS : ROWS;
        struct sl_pick *last = i->pick_count ? &i->picks[i->pick_count - 1] : NULL;
        if (!last || last->source != source) {
            last = &i->picks[i->pick_count++];
            *last = (struct sl_pick){.source = source, .first = source == ROWS ? row : 0};
        }
        last->count++;
        row += source == ROWS;
        i->nulls += source == NULLS;
        if (source == ROWS)
            bit_set(sl_buffer_data(i->validity), k);
    }
    return SL_OK;
}

static sl_status image_member(const struct image *i, size_t member, sl_array **out)
{
    const sl_field *field = &i->type->fields[member];
    int at = sl_type_field_index(i->rows->schema, field->name);
    if (at < 0)
        return sl_internal("the merged rows have no column %s", field->name);
    sl_array *rows = i->rows->columns[at], *nulls = NULL;
    if (i->nulls == 0) {
        *out = sl_array_ref(rows);
        return SL_OK;
    }
    sl_builder *b = NULL;
    sl_status status = SL_OK;
    SL_GO(sl_array_nulls(field->type, i->count, &nulls));
    SL_GO(sl_builder_new(field->type, &b));
    SL_GO(sl_builder_append_picks(b, (const sl_array *const[]){[ROWS] = rows, [NULLS] = nulls}, 2,
                                  &(struct sl_picks){i->picks, i->pick_count, i->count}));
    status = sl_builder_finish(b, out);
done:
    sl_builder_free(b);
    sl_array_unref(nulls);
    return status;
}

static sl_status image_struct(struct image *i, sl_array **out)
{
    sl_array **members;
    size_t made = 0;
    sl_status status = SL_OK;
    SL_NEW_ARRAY(members, i->type->field_count + 1);
    for (; made < i->type->field_count; made++)
        SL_GO(image_member(i, made, &members[made]));
    sl_buffer *validity = i->nulls ? sl_buffer_ref(i->validity) : NULL;
    status = sl_array_new(i->type, i->count, i->nulls, validity, NULL, NULL, members, made, NULL, out);
    made = 0; /* taken over */
done:
    for (size_t k = 0; k < made; k++)
        sl_array_unref(members[k]);
    sl_free(members);
    return status;
}

/* `rows` NULL: no change has the image. */
static sl_status image_column(const sl_type *type, const struct sl_changes *c, const sl_batch *rows,
                              enum sl_change without, sl_array **out)
{
    struct image i = {.type = type, .rows = rows, .count = c->count};
    if (!rows)
        return sl_array_nulls(type, c->count, out);
    sl_status status = image_spread(&i, c->ops, without);
    if (!status)
        status = image_struct(&i, out);
    sl_free(i.picks);
    sl_buffer_unref(i.validity);
    return status;
}

static sl_status make_columns(const sl_cdc_log *log, const struct sl_changes *c, sl_array **columns)
{
    const sl_field *fields = log->schema->cdc->fields;
    const char *instant = sl_txn_instant(log->txn);
    size_t count = log->schema->cdc->field_count;
    SL_TRY(op_column(fields[0].type, c, &columns[0]));
    if (c->keys)
        columns[1] = sl_array_ref(c->keys);
    else
        SL_TRY(sl_array_repeated_string(instant, strlen(instant), c->count, &columns[1]));
    if (count > 2)
        SL_TRY(image_column(fields[2].type, c, c->before, SL_CHANGE_INSERT, &columns[2]));
    if (count > 3)
        SL_TRY(image_column(fields[3].type, c, c->after, SL_CHANGE_DELETE, &columns[3]));
    return SL_OK;
}

static sl_status make_batch(const sl_cdc_log *log, const struct sl_changes *c, sl_batch **out)
{
    sl_array *columns[4] = {NULL};
    sl_status status = make_columns(log, c, columns);
    if (!status)
        return sl_batch_new(log->schema->cdc, c->count, columns, out); /* takes the columns over */
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        sl_array_unref(columns[i]);
    return status;
}

static sl_status take_changes(void *context, const struct sl_changes *changes)
{
    sl_cdc_log *log = context;
    sl_batch *batch;
    if (sl_file_writer_bytes(log->w) >= log->roll_bytes) {
        SL_TRY(close_open(log));
        SL_TRY(open_next(log));
    }
    SL_TRY(make_batch(log, changes, &batch));
    sl_status status = sl_file_writer_write(log->w, batch);
    sl_batch_unref(batch);
    return status;
}

/* ---- the log ------------------------------------------------------------------------------------------- */

sl_status sl_cdc_log_open(const sl_table *table, sl_txn *txn, const sl_write_schema *schema,
                          const struct sl_file_spec *base, sl_cdc_log **out)
{
    sl_cdc_log *log;
    *out = NULL;
    if (!schema->cdc)
        return SL_OK;
    SL_NEW(log);
    log->table = table;
    log->txn = txn;
    log->schema = schema;
    log->spec = *base;
    log->spec.kind = SL_FILE_CDC;
    log->spec.prev_base_file = NULL;
    log->sink = (struct sl_change_sink){.context = log,
                                        .take = take_changes,
                                        .keys = schema->cdc_mode != SL_CDC_DATA_BEFORE_AFTER,
                                        .before = schema->cdc_mode != SL_CDC_OP_KEY_ONLY,
                                        .after = schema->cdc_mode == SL_CDC_DATA_BEFORE_AFTER};
    sl_status status = sl_table_setting_bytes(table, "hoodie.logfile.max.size", 1 << 30, &log->roll_bytes);
    if (!status)
        status = open_next(log);
    if (status)
        sl_cdc_log_free(log);
    else
        *out = log;
    return status;
}

const struct sl_change_sink *sl_cdc_log_sink(const sl_cdc_log *log) { return log ? &log->sink : NULL; }

sl_status sl_cdc_log_finish(sl_cdc_log *log, sl_write_stat *base)
{
    if (!log)
        return SL_OK;
    SL_TRY(close_open(log));
    base->cdc = log->files;
    base->cdc_count = log->count;
    return SL_OK;
}

void sl_cdc_log_free(sl_cdc_log *log)
{
    if (!log)
        return;
    sl_file_writer_abort(log->w);
    for (size_t i = 0; i < log->count; i++)
        sl_free(log->files[i].path);
    sl_free(log->files);
    sl_free(log);
}
