/*
 * Change data logs: no reader of rows counts them, so what is wrong with them shows only to who reads changes. Commits name
 * them in the stat of the base file that they tell about, with their sizes (spec/lsm-layout.md 4.3).
 */
#include "service/doctor_int.h"
#include <string.h>

/* ---- the footer ---------------------------------------------------------------------------------------- */

/* The mode that the log was written in. The table's may have changed since; each mode has columns of its own. */
static enum sl_cdc_mode mode_of(const sl_source *source)
{
    const sl_type *columns = sl_parquet_schema(source->parquet);
    return sl_type_field_index(columns, "after") >= 0    ? SL_CDC_DATA_BEFORE_AFTER
           : sl_type_field_index(columns, "before") >= 0 ? SL_CDC_DATA_BEFORE
                                                         : SL_CDC_OP_KEY_ONLY;
}

static sl_status has_schema_of(struct doctor *d, const sl_source *source, const sl_type *columns, bool *has)
{
    char *wanted;
    SL_TRY(sl_table_cdc_schema_text(d->table, mode_of(source), columns, &wanted));
    *has = source->headers.schema && strcmp(source->headers.schema, wanted) == 0;
    sl_free(wanted);
    return SL_OK;
}

/* The schema of the log's mode, at the table's columns of today or at those of its commit. */
static sl_status check_schema(struct doctor *d, const char *place, const char *instant,
                              const sl_source *source)
{
    bool has;
    const sl_type *then;
    SL_TRY(has_schema_of(d, source, d->data, &has));
    if (!has && !sl_status_ignore(sl_table_schema(d->table, &d->view.timeline, instant, &then))) {
        sl_status status = has_schema_of(d, source, then, &has);
        sl_type_unref(then);
        SL_TRY(status);
    }
    return has ? SL_OK
               : doctor_find(d, DOCTOR_WARNING, "schema", place,
                             "not the change data schema of the table's columns");
}

/* A commit says how many rows it inserted, updated and deleted; deletes of keys that were not there are no change. */
static sl_status check_rows(struct doctor *d, const char *place, const struct named_file *named,
                            const sl_source *source)
{
    int64_t rows = sl_parquet_rows(source->parquet);
    if (!named || rows <= named->rows)
        return SL_OK;
    return doctor_find(d, DOCTOR_ERROR, "rows", place, "%" PRId64 " changes, but commit %s says %" PRId64,
                       rows, named->instant, named->rows);
}

static sl_status read_all(struct doctor *d, const sl_source *source)
{
    sl_stream *rows;
    sl_batch *batch;
    sl_status status = SL_OK;
    struct sl_parquet_scan_options scan = {.bytes_read = &d->bytes,
                                           .batch_bytes = sl_batch_bytes_for(&d->table->runtime, 1)};
    SL_TRY(sl_parquet_scan(source->parquet, &scan, &rows));
    do {
        SL_GO(sl_check_cancel(&d->table->runtime));
        SL_GO(sl_stream_next(rows, &batch));
        atomic_fetch_add(&d->rows, batch ? (uint64_t)batch->rows : 0);
        sl_batch_unref(batch);
    } while (batch);
done:
    sl_stream_close(rows);
    return status;
}

static sl_status check_content(struct doctor *d, const char *place, const char *instant,
                               const struct named_file *named)
{
    sl_source *source;
    sl_status status = sl_source_open(d->table, place, NULL, &source);
    if (status)
        return doctor_fault(d, "footer", place, status);
    atomic_fetch_add(&d->files, 1);
    if (d->data)
        status = doctor_fault(d, "schema", place, check_schema(d, place, instant, source));
    if (!status)
        status = check_rows(d, place, named, source);
    if (!status && d->deep)
        status = doctor_fault(d, "content", place, read_all(d, source));
    sl_source_unref(source);
    return status;
}

/* ---- against the commits ------------------------------------------------------------------------------- */

sl_status doctor_check_change_log(struct doctor *d, const char *place, const char *instant, uint64_t bytes)
{
    struct named_file *named = doctor_named(d, place);
    if (!named && doctor_commit_is_active(d, instant))
        SL_TRY(doctor_find(d, DOCTOR_WARNING, "stranger", place,
                           "commit %s does not name this change data log", instant));
    if (named) {
        named->listed = true;
        if (named->bytes > 0 && (uint64_t)named->bytes != bytes)
            SL_TRY(doctor_find(d, DOCTOR_ERROR, "size", place,
                               "%" PRIu64 " bytes, but commit %s says %" PRId64, bytes, named->instant,
                               named->bytes));
    }
    return check_content(d, place, instant, named);
}

/* A cleaner takes base file and changes together. */
sl_status doctor_check_missing_changes(struct doctor *d)
{
    for (size_t i = 0; i < d->named_count; i++) {
        const struct named_file *f = &d->named[i];
        const struct named_file *base = f->beside ? doctor_named(d, f->beside) : NULL;
        if (!f->listed && base && base->listed)
            SL_TRY(doctor_find(d, DOCTOR_ERROR, "missing", f->path,
                               "commit %s wrote this file, and it is gone: its changes are lost",
                               f->instant));
    }
    return SL_OK;
}
