/*
 * The one way to write a data file: marker, Parquet with Hudi's footer entries (spec/write-path.md 4.1,
 * spec/lsm-layout.md 5), write stat. Durable it becomes in the background (table/txn_files.c).
 */
#include "slice/slice_int.h"
#include <stdio.h>
#include <string.h>

/* ---- schemas ------------------------------------------------------------------------------------------- */

/* The name of a change data log's record, with its namespace where it has one. */
static sl_status cdc_record_name(const sl_write_schema *s, char **out)
{
    const sl_type *parsed;
    if (s->cdc_mode == SL_CDC_OP_KEY_ONLY)
        return (*out = sl_strdup("Record")) ? SL_OK : sl_nomem();
    SL_TRY(sl_avro_schema_parse(s->cdc_text, strlen(s->cdc_text), &parsed));
    sl_status status = (*out = sl_strdup(parsed->name ? parsed->name : "CDC")) ? SL_OK : sl_nomem();
    sl_type_unref(parsed);
    return status;
}

static sl_status init_cdc(const sl_table *table, sl_write_schema *s)
{
    bool keeps;
    SL_TRY(sl_table_keeps_changes(table, &keeps, &s->cdc_mode));
    if (!keeps)
        return SL_OK;
    SL_TRY(sl_cdc_columns(s->cdc_mode, s->data, &s->cdc));
    SL_TRY(sl_table_cdc_schema_text(table, s->cdc_mode, s->data, &s->cdc_text));
    return cdc_record_name(s, &s->cdc_name);
}

sl_status sl_write_schema_init(const sl_table *table, const sl_type *data, sl_write_schema *out)
{
    sl_write_schema s = {.data = sl_type_ref(data)};
    struct sl_merge_options rules;
    sl_status status = SL_OK;
    SL_GO(sl_schema_with_meta(data, &s.full));
    SL_GO(sl_table_rules(table, s.full, &rules));
    SL_GO(sl_delete_schema(&rules, &s.deletes));
    SL_GO(sl_table_schema_text(table, data, false, &s.data_text));
    SL_GO(sl_table_schema_text(table, data, true, &s.full_text));
    SL_GO(sl_avro_schema_text(s.deletes, "hudi_delete_log_record", NULL, &s.deletes_text));
    SL_GO(init_cdc(table, &s));
    *out = s;
done:
    if (status)
        sl_write_schema_free(&s);
    return status;
}

void sl_write_schema_free(sl_write_schema *schema)
{
    sl_type_unref(schema->data);
    sl_type_unref(schema->full);
    sl_type_unref(schema->deletes);
    sl_free(schema->data_text);
    sl_free(schema->full_text);
    sl_free(schema->deletes_text);
    sl_type_unref(schema->cdc);
    sl_free(schema->cdc_text);
    sl_free(schema->cdc_name);
    memset(schema, 0, sizeof *schema);
}

/* ---- the writer ---------------------------------------------------------------------------------------- */

struct sl_file_writer {
    const sl_table *table;
    sl_txn *txn;
    const sl_write_schema *schema;
    struct sl_file_name parts;
    char name[SL_FILE_NAME_BYTES];
    char *partition, *relative, *prev_commit, *prev_base_file, *base_before;
    sl_strings compacted, logs_before;
    sl_output *output;
    sl_parquet_writer *parquet;
    uint64_t row_group_bytes; /* that a row group shall have */
    struct file_keys keys;
    int key_index, file_name_index; /* columns; -1: not there */
    int64_t rows;
    double start;
};

static void name_of(const struct sl_file_spec *spec, const sl_txn *txn, struct sl_file_name *parts,
                    char *name)
{
    *parts = (struct sl_file_name){.kind = spec->kind, .version = spec->version};
    snprintf(parts->file_id, sizeof parts->file_id, "%s", spec->file_id);
    snprintf(parts->token, sizeof parts->token, "%" PRIu32 "-0-%" PRIu32, spec->task, spec->attempt);
    snprintf(parts->instant, sizeof parts->instant, "%s", sl_txn_instant(txn));
    snprintf(parts->format, sizeof parts->format, "parquet");
    sl_file_name_build(parts, name);
}

void file_spec_name(const struct sl_file_spec *spec, const sl_txn *txn, char *name)
{
    struct sl_file_name parts;
    name_of(spec, txn, &parts, name);
}

sl_status sl_file_writer_exists(const sl_table *table, const sl_txn *txn, const struct sl_file_spec *spec,
                                bool *out)
{
    char name[SL_FILE_NAME_BYTES], *relative, *path;
    sl_entry entry;
    file_spec_name(spec, txn, name);
    SL_TRY(sl_path_join(spec->partition, name, &relative));
    sl_status status = sl_table_path(table, relative, &path);
    sl_free(relative);
    SL_TRY(status);
    status = sl_storage_stat(table->storage, path, &entry);
    sl_free(path);
    *out = !status;
    if (sl_status_code(status) != SL_E_NOT_FOUND)
        return status;
    sl_status_free(status);
    return SL_OK;
}

static sl_status take_spec(sl_file_writer *w, const struct sl_file_spec *spec)
{
    name_of(spec, w->txn, &w->parts, w->name);
    const char *prev = spec->prev_commit ? spec->prev_commit : sl_txn_instant(w->txn);
    if (!(w->partition = sl_strdup(spec->partition)) || !(w->prev_commit = sl_strdup(prev)) ||
        (spec->prev_base_file && !(w->prev_base_file = sl_strdup(spec->prev_base_file))) ||
        (spec->base_before && !(w->base_before = sl_strdup(spec->base_before))))
        return sl_nomem();
    for (size_t i = 0; spec->logs_before && i < spec->logs_before->count; i++)
        SL_TRY(sl_strings_add(&w->logs_before, spec->logs_before->items[i]));
    for (size_t i = 0; spec->compacted && i < spec->compacted->count; i++)
        SL_TRY(sl_strings_add(&w->compacted, spec->compacted->items[i]));
    return sl_path_join(spec->partition, w->name, &w->relative);
}

/* When the first row group is written: till then its announcement has time to become durable. */
static sl_status create_file(void *context, sl_output **out)
{
    const sl_file_writer *w = context;
    char *path;
    struct sl_planned_file file = {w->partition, w->name, file_marker(w->prev_base_file)};
    SL_TRY(sl_txn_announce(w->txn, &file));
    SL_TRY(sl_table_path(w->table, w->relative, &path));
    sl_status status = sl_storage_create(w->table->storage, path, out);
    sl_free(path);
    return status;
}

/* What a file's rows are called in Avro and in Parquet. */
struct row_kind {
    const sl_type *rows;
    const char *avro, *log_schema, *root_name;
};

static struct row_kind row_kind_of(const sl_write_schema *s, enum sl_file_kind kind)
{
    if (kind == SL_FILE_DELETES)
        return (struct row_kind){s->deletes, s->deletes_text, s->full_text, "hudi_delete_log_record"};
    if (kind == SL_FILE_CDC)
        return (struct row_kind){s->cdc, s->cdc_text, s->cdc_text, s->cdc_name};
    return (struct row_kind){s->full, s->full_text, s->full_text, NULL};
}

static sl_status write_key_values(sl_file_writer *w)
{
    struct row_kind kind = row_kind_of(w->schema, w->parts.kind);
    SL_TRY(sl_parquet_writer_key_value(w->parquet, "parquet.avro.schema", kind.avro));
    SL_TRY(sl_parquet_writer_key_value(w->parquet, "writer.model.name", "avro"));
    if (w->key_index >= 0)
        SL_TRY(sl_parquet_writer_key_value(w->parquet, SL_SORTED_BY, sl_meta_names[SL_META_RECORD_KEY]));
    SL_TRY(sl_parquet_writer_key_value(w->parquet, SLICE_FILE_NAME, w->name));
    if (w->parts.kind != SL_FILE_BASE)
        SL_TRY(sl_log_headers_write(w->parquet, sl_txn_instant(w->txn), kind.log_schema, &w->compacted));
    return SL_OK;
}

sl_status sl_file_writer_open(const sl_table *table, sl_txn *txn, const sl_write_schema *schema,
                              const struct sl_file_spec *spec, sl_file_writer **out)
{
    sl_file_writer *w;
    struct file_options options;
    SL_NEW(w);
    w->table = table;
    w->txn = txn;
    w->schema = schema;
    w->start = sl_monotonic();
    struct row_kind kind = row_kind_of(schema, spec->kind);
    w->key_index = sl_type_field_index(kind.rows, sl_meta_names[SL_META_RECORD_KEY]);
    w->file_name_index =
        spec->kind == SL_FILE_BASE ? sl_type_field_index(kind.rows, sl_meta_names[SL_META_FILE_NAME]) : -1;
    sl_status status = SL_OK;
    SL_GO(take_spec(w, spec));
    if (spec->kind == SL_FILE_BASE)
        SL_GO(file_keys_want_bloom(&w->keys, table));
    SL_GO(file_options_load(table, kind.rows, &options));
    w->row_group_bytes = options.parquet.row_group_bytes;
    options.parquet.root_name = kind.root_name;
    SL_GO(sl_output_late(w->relative, create_file, w, &w->output));
    SL_GO(sl_parquet_writer_new(w->output, kind.rows, &options.parquet, &w->parquet));
    SL_GO(write_key_values(w));
    *out = w;
done:
    if (status)
        sl_file_writer_abort(w);
    return status;
}

/* The batch with _hoodie_file_name set to this file. */
static sl_status with_file_name(const sl_file_writer *w, sl_batch *batch, sl_batch **out)
{
    sl_array **columns = sl_calloc(batch->schema->field_count, sizeof *columns);
    sl_array *name;
    if (!columns)
        return sl_nomem();
    sl_status status = sl_array_repeated_string(w->name, strlen(w->name), batch->rows, &name);
    if (!status) {
        for (size_t i = 0; i < batch->schema->field_count; i++)
            columns[i] = (int)i == w->file_name_index ? name : sl_array_ref(batch->columns[i]);
        status = sl_batch_new(batch->schema, batch->rows, columns, out);
    }
    sl_free(columns);
    return status;
}

sl_status sl_file_writer_write(sl_file_writer *w, sl_batch *batch)
{
    sl_batch *named = NULL;
    if (batch->rows == 0)
        return SL_OK;
    if (w->key_index >= 0)
        SL_TRY(file_keys_add(&w->keys, batch->columns[w->key_index]));
    w->rows += batch->rows;
    if (w->file_name_index < 0)
        return sl_context(sl_parquet_writer_write(w->parquet, batch), "file %s", w->relative);
    SL_TRY(with_file_name(w, batch, &named));
    sl_status status = sl_parquet_writer_write(w->parquet, named);
    sl_batch_unref(named);
    return sl_context(status, "file %s", w->relative);
}

static sl_status write_batch(void *writer, sl_batch *batch) { return sl_file_writer_write(writer, batch); }

sl_status sl_file_writer_drain(sl_file_writer *w, sl_stream *rows, const sl_runtime *runtime)
{
    return sl_stream_drain(rows, runtime, write_batch, w);
}

/* ---- copying ------------------------------------------------------------------------------------------- */

/* Row groups that a file may have whatever its size, and the share of their intended size that more of them have on
 * average: a reader pays for each with a piece of the footer, a dictionary for each column, and a seek. */
#define ROW_GROUPS_FREE  16
#define ROW_GROUPS_SHARE 16

bool file_writer_groups_fit(const sl_file_writer *w, size_t more_groups, uint64_t more_bytes)
{
    uint64_t bytes = sl_parquet_writer_bytes(w->parquet) + more_bytes;
    uint64_t most = ROW_GROUPS_FREE + bytes / (w->row_group_bytes / ROW_GROUPS_SHARE + 1);
    return sl_parquet_writer_row_groups(w->parquet) + more_groups <= most;
}

bool sl_file_writer_can_copy(const sl_file_writer *w, const sl_parquet *source)
{
    return sl_parquet_writer_can_copy(w->parquet, source);
}

static void count_copied(sl_read_stats *stats, const struct sl_parquet_copied *before,
                         const struct sl_parquet_copied *after)
{
    if (!stats)
        return;
    atomic_fetch_add(&stats->rows_copied, after->rows - before->rows);
    atomic_fetch_add(&stats->pages_copied, after->pages - before->pages);
    atomic_fetch_add(&stats->bytes_copied, after->bytes - before->bytes);
}

sl_status sl_file_writer_copy(sl_file_writer *w, sl_parquet *source, const sl_parquet_units *units,
                              size_t first, size_t count, sl_read_stats *stats)
{
    struct sl_parquet_constant name = {sl_meta_names[SL_META_FILE_NAME], w->name};
    struct sl_parquet_copied before = sl_parquet_writer_copied(w->parquet);
    int64_t group_first = 0, rows = units->rows[first + count] - units->rows[first];
    for (size_t g = 0; g < units->group; g++)
        group_first += sl_parquet_row_group_rows(source, g);
    SL_TRY_CTX(file_keys_add_copied(&w->keys, w->table, source, group_first + units->rows[first], rows),
               "file %s", w->relative);
    SL_TRY_CTX(
        sl_parquet_writer_copy_units(w->parquet, units, first, count, &name, w->file_name_index < 0 ? 0 : 1),
        "file %s", w->relative);
    struct sl_parquet_copied after = sl_parquet_writer_copied(w->parquet);
    count_copied(stats, &before, &after);
    w->rows += rows;
    return SL_OK;
}

/* ---- the end ------------------------------------------------------------------------------------------- */

const char *sl_file_writer_name(const sl_file_writer *w) { return w->name; }
uint64_t sl_file_writer_bytes(const sl_file_writer *w) { return sl_parquet_writer_bytes(w->parquet); }
int64_t sl_file_writer_rows(const sl_file_writer *w) { return w->rows; }

/* The file is whole; durable it is in time for the commit. */
static sl_status make_whole(sl_file_writer *w, struct sl_parquet_written *written)
{
    if (w->key_index >= 0)
        SL_TRY(file_keys_put(&w->keys, w->parquet));
    sl_parquet_writer *parquet = w->parquet;
    w->parquet = NULL;
    SL_TRY(sl_parquet_writer_finish(parquet, written));
    sl_txn_finish_file(w->txn, w->output);
    w->output = NULL;
    return SL_OK;
}

sl_status file_writer_close_named(sl_file_writer *w, struct sl_cdc_file *out)
{
    struct sl_parquet_written written;
    sl_status status = make_whole(w, &written);
    if (status) {
        status = sl_context(status, "file %s", w->relative);
    } else {
        *out = (struct sl_cdc_file){w->relative, (int64_t)written.bytes};
        w->relative = NULL;
    }
    sl_file_writer_abort(w);
    return status;
}

sl_status sl_file_writer_close(sl_file_writer *w, const sl_write_stat *counts, uint64_t *bytes)
{
    struct sl_parquet_written written;
    sl_status status = SL_OK;
    SL_GO(make_whole(w, &written));
    sl_write_stat stat = *counts;
    stat.partition = w->partition;
    stat.path = w->relative;
    stat.file_id = w->parts.file_id;
    stat.prev_commit = w->prev_commit;
    stat.prev_base_file = w->prev_base_file;
    stat.base_file = w->base_before;
    stat.logs_before = w->logs_before;
    stat.bytes = (int64_t)written.bytes;
    stat.is_log = w->parts.kind != SL_FILE_BASE;
    stat.log_version = (int32_t)w->parts.version;
    if (w->parts.kind != SL_FILE_DELETES) /* the time of a flush is told once (spec/lsm-layout.md 7) */
        stat.seconds = sl_monotonic() - w->start;
    SL_GO(sl_txn_add_stat(w->txn, &stat));
    if (bytes)
        *bytes = written.bytes;
done:
    if (status)
        status = sl_context(status, "file %s", w->relative);
    sl_file_writer_abort(w); /* frees; the output is gone already unless something failed */
    return status;
}

void sl_file_writer_abort(sl_file_writer *w)
{
    if (!w)
        return;
    sl_parquet_writer_free(w->parquet);
    if (w->output)
        sl_output_abort(w->output);
    file_keys_free(&w->keys);
    sl_strings_free(&w->compacted);
    sl_strings_free(&w->logs_before);
    sl_free(w->base_before);
    sl_free(w->partition);
    sl_free(w->relative);
    sl_free(w->prev_commit);
    sl_free(w->prev_base_file);
    sl_free(w);
}
