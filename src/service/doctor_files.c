/*
 * Every live data file by itself. Its footer: Parquet's own, Hudi's entries, the row count that the commit told. Deep:
 * every page (with its checksum), keys in order and in their bucket, meta columns, values inside the bounds that
 * statistics and page index give.
 */
#include "service/doctor_int.h"
#include <math.h>
#include <string.h>

/* One file under examination. */
struct patient {
    struct doctor *d;
    const sl_data_file *file;
    const char *partition;
    char *place;
    sl_source *source;
    sl_parquet *parquet;   /* its */
    const sl_type *schema; /* the file's */
    int key, partition_path, commit_time;
    bool is_compacted_log; /* holds rows of older instants */
};

/* ---- the footer ---------------------------------------------------------------------------------------- */

static sl_status check_headers(struct patient *p)
{
    const struct sl_log_headers *headers = &p->source->headers;
    p->is_compacted_log = headers->compacted.count > 0;
    if (!headers->schema)
        SL_TRY(doctor_find(p->d, p->file->parts.kind == SL_FILE_LOG ? DOCTOR_ERROR : DOCTOR_WARNING, "footer",
                           p->place, "no SCHEMA header"));
    return headers->forms_differ
               ? doctor_find(p->d, DOCTOR_WARNING, "footer", p->place, "its two sets of headers differ")
               : SL_OK;
}

static sl_status check_row_count(const struct patient *p)
{
    const struct named_file *named = doctor_named(p->d, p->place);
    if (!named)
        return SL_OK;
    int64_t said = p->file->parts.kind == SL_FILE_DELETES ? named->deletes : named->rows;
    if (said == sl_parquet_rows(p->parquet))
        return SL_OK;
    return doctor_find(p->d, DOCTOR_ERROR, "rows", p->place, "%" PRId64 " rows, but commit %s says %" PRId64,
                       sl_parquet_rows(p->parquet), named->instant, said);
}

/* Columns that the table has too must fit its types. */
static sl_status check_columns(const struct patient *p)
{
    for (size_t i = 0; i < p->schema->field_count; i++) {
        const sl_field *field = &p->schema->fields[i];
        int at = sl_type_field_index(p->d->schema, field->name);
        if (at < 0 || sl_type_equal(field->type, p->d->schema->fields[at].type) ||
            sl_cast_possible(field->type, p->d->schema->fields[at].type))
            continue;
        char *has = NULL, *wants = NULL;
        sl_status status = sl_type_text(field->type, &has);
        if (!status)
            status = sl_type_text(p->d->schema->fields[at].type, &wants);
        if (!status)
            status =
                doctor_find(p->d, DOCTOR_ERROR, "schema", p->place,
                            "column %s is %s, which cannot become the table's %s", field->name, has, wants);
        sl_free(has);
        sl_free(wants);
        SL_TRY(status);
    }
    return SL_OK;
}

/* The first column of `told`, however deep, that `has` lacks; NULL: none. Elements of lists and maps have their place. */
static const char *absent_column(const sl_type *told, const sl_type *has)
{
    const char *absent = NULL;
    for (size_t i = 0; told->id == has->id && i < told->field_count && !absent; i++) {
        int at = told->id == SL_STRUCT ? sl_type_field_index(has, told->fields[i].name) : 0;
        absent = at < 0 ? told->fields[i].name : absent_column(told->fields[i].type, has->fields[at].type);
    }
    return absent;
}

/* Readers take an absent column for nulls, so a damaged name hides values without an error. Most Hudi writers put the
 * schema into the footer once more, as Avro. */
static sl_status check_names_told(const struct patient *p)
{
    const char *text = sl_parquet_key_value(p->parquet, "parquet.avro.schema");
    const sl_type *told;
    if (!text || sl_status_ignore(sl_avro_schema_parse(text, strlen(text), &told)))
        return SL_OK;
    const char *absent = absent_column(told, p->schema);
    sl_status status =
        !absent ? SL_OK
                : doctor_find(p->d, DOCTOR_ERROR, "schema", p->place,
                              "no column %s, which its Avro schema has: readers see nulls", absent);
    sl_type_unref(told);
    return status;
}

static sl_status check_meta_columns(const struct patient *p)
{
    for (int i = 0; i < SL_META_COLUMNS && p->d->table->populate_meta; i++) {
        bool must_be = i == SL_META_RECORD_KEY || p->file->parts.kind != SL_FILE_DELETES;
        if (must_be && sl_type_field_index(p->schema, sl_meta_names[i]) < 0)
            SL_TRY(doctor_find(p->d, DOCTOR_ERROR, "schema", p->place, "no column %s", sl_meta_names[i]));
    }
    return SL_OK;
}

static sl_status check_footer(struct patient *p)
{
    SL_TRY(check_meta_columns(p));
    if (p->d->table->populate_meta && p->key < 0)
        return SL_OK;
    if (p->file->parts.kind == SL_FILE_LOG || p->file->parts.kind == SL_FILE_DELETES)
        SL_TRY(check_headers(p));
    SL_TRY(check_row_count(p));
    SL_TRY(check_names_told(p));
    return check_columns(p);
}

/* ---- keys and meta columns ----------------------------------------------------------------------------- */

/* Each complaint once a file: a file out of order has them by the thousand. */
struct keys_seen {
    sl_buf last;
    bool any, unordered, null, bucket, partition, instant;
    uint64_t repeated;
};

static bool column_is(const sl_array *column, int64_t row, const char *text)
{
    size_t len;
    if (!sl_is_valid(column, row))
        return false;
    const uint8_t *value = sl_bytes_at(column, row, &len);
    return len == strlen(text) && memcmp(value, text, len) == 0;
}

static sl_status check_order(const struct patient *p, struct keys_seen *seen, const uint8_t *key, size_t len,
                             int64_t row)
{
    int order = seen->any ? bytes_compare(seen->last.data, seen->last.len, key, len) : -1;
    seen->repeated += order == 0;
    if (order > 0 && !seen->unordered && p->d->table->layout == SL_LAYOUT_LSM) {
        seen->unordered = true;
        SL_TRY(doctor_find(p->d, DOCTOR_ERROR, "order", p->place,
                           "row %" PRId64 ": key %.*s comes after %.*s; readers have to sort the file again",
                           row, (int)len, (const char *)key, (int)seen->last.len,
                           (const char *)seen->last.data));
    }
    if (order != 0) {
        seen->last.len = 0;
        SL_TRY(sl_buf_append(&seen->last, key, len));
    }
    seen->any = true;
    return SL_OK;
}

static sl_status check_bucket(const struct patient *p, struct keys_seen *seen, const uint8_t *key, size_t len,
                              int64_t row)
{
    uint32_t bucket;
    int64_t wanted = sl_bucket_of_file_id(p->file->parts.file_id);
    if (!p->d->table->buckets.buckets || wanted < 0 || seen->bucket)
        return SL_OK;
    if (sl_status_ignore(sl_bucket_of_key(&p->d->table->buckets, (const char *)key, len, &bucket)) ||
        (int64_t)bucket == wanted)
        return SL_OK;
    seen->bucket = true;
    return doctor_find(p->d, DOCTOR_ERROR, "bucket", p->place,
                       "row %" PRId64 ": key %.*s belongs to bucket %" PRIu32, row, (int)len,
                       (const char *)key, bucket);
}

static sl_status check_meta(const struct patient *p, struct keys_seen *seen, const sl_batch *batch,
                            int64_t row, int64_t at)
{
    if (p->partition_path >= 0 && !seen->partition &&
        !column_is(batch->columns[p->partition_path], row, p->partition)) {
        seen->partition = true;
        SL_TRY(doctor_find(p->d, DOCTOR_ERROR, "meta", p->place, "row %" PRId64 ": %s is not its folder's",
                           at, sl_meta_names[SL_META_PARTITION_PATH]));
    }
    if (p->commit_time >= 0 && p->file->parts.kind == SL_FILE_LOG && !p->is_compacted_log && !seen->instant &&
        !column_is(batch->columns[p->commit_time], row, p->file->parts.instant)) {
        seen->instant = true;
        SL_TRY(doctor_find(p->d, DOCTOR_ERROR, "meta", p->place, "row %" PRId64 ": %s is not its file's", at,
                           sl_meta_names[SL_META_COMMIT_TIME]));
    }
    return SL_OK;
}

static sl_status check_rows(const struct patient *p, struct keys_seen *seen, const sl_batch *batch,
                            int64_t first)
{
    const sl_array *keys = batch->columns[p->key];
    for (int64_t i = 0; i < batch->rows; i++) {
        size_t len;
        if (!sl_is_valid(keys, i)) {
            if (!seen->null)
                SL_TRY(doctor_find(p->d, DOCTOR_ERROR, "key", p->place, "row %" PRId64 ": no record key",
                                   first + i));
            seen->null = true;
            continue;
        }
        const uint8_t *key = sl_bytes_at(keys, i, &len);
        SL_TRY(check_order(p, seen, key, len, first + i));
        SL_TRY(check_bucket(p, seen, key, len, first + i));
        SL_TRY(check_meta(p, seen, batch, i, first + i));
    }
    return SL_OK;
}

/* ---- bounds -------------------------------------------------------------------------------------------- */

/* A column's pages, walked along with its rows. */
struct walk {
    struct sl_parquet_page_bounds bounds;
    size_t group, page;
    int64_t nulls; /* of the page so far */
    bool loaded, told;
};

static bool is_nan(const sl_array *a, int64_t i)
{
    return (a->type->id == SL_DOUBLE && isnan(sl_double_at(a, i))) ||
           (a->type->id == SL_FLOAT && isnan(sl_float_at(a, i)));
}

static sl_status tell(const struct patient *p, struct walk *w, const char *column, int64_t row,
                      const char *what)
{
    w->told = true;
    return doctor_find(p->d, DOCTOR_ERROR, "statistics", p->place, "column %s: row %" PRId64 " %s", column,
                       row, what);
}

static sl_status load_group(const struct patient *p, struct walk *w, size_t group, int column)
{
    sl_parquet_page_bounds_free(&w->bounds);
    memset(&w->bounds, 0, sizeof w->bounds);
    w->group = group;
    w->page = 0;
    w->nulls = 0;
    w->loaded = true;
    return sl_parquet_page_bounds(p->parquet, group, column, &w->bounds);
}

static sl_status check_value(const struct patient *p, struct walk *w, const char *name,
                             const sl_array *values, int64_t i, int64_t row)
{
    const struct sl_parquet_page_info *page = &w->bounds.pages[w->page];
    if (!sl_is_valid(values, i)) {
        w->nulls++;
        return SL_OK;
    }
    if (!page->has_bounds || is_nan(values, i))
        return SL_OK;
    if (sl_compare(values, i, w->bounds.min, (int64_t)w->page) < 0 ||
        sl_compare(values, i, w->bounds.max, (int64_t)w->page) > 0)
        return tell(p, w, name, row, "lies outside the bounds of its page");
    return SL_OK;
}

/* Goes to the page of `row`; the page that is left must have had its nulls. */
static sl_status turn_page(const struct patient *p, struct walk *w, int column, const char *name, int64_t row)
{
    while (!w->loaded || w->page >= w->bounds.page_count ||
           row >= w->bounds.pages[w->page].first_row + w->bounds.pages[w->page].rows) {
        if (w->loaded && w->page < w->bounds.page_count) {
            const struct sl_parquet_page_info *left = &w->bounds.pages[w->page];
            if (left->has_null_count && left->null_count != w->nulls)
                SL_TRY(tell(p, w, name, left->first_row,
                            "begins a page with another number of nulls than its index says"));
            w->page++;
            w->nulls = 0;
            continue;
        }
        SL_TRY(load_group(p, w, w->loaded ? w->group + 1 : 0, column));
    }
    return SL_OK;
}

static sl_status check_bounds(const struct patient *p, struct walk *walks, const sl_batch *batch,
                              int64_t first)
{
    for (size_t c = 0; c < batch->schema->field_count; c++) {
        struct walk *w = &walks[c];
        const char *name = batch->schema->fields[c].name;
        if (sl_type_is_nested(batch->schema->fields[c].type))
            continue;
        for (int64_t i = 0; i < batch->rows && !w->told; i++) {
            SL_TRY(turn_page(p, w, (int)c, name, first + i));
            SL_TRY(check_value(p, w, name, batch->columns[c], i, first + i));
        }
    }
    return SL_OK;
}

/* ---- one file ------------------------------------------------------------------------------------------ */

static sl_status read_rows(struct patient *p, struct keys_seen *seen, struct walk *walks)
{
    sl_stream *rows;
    int64_t first = 0;
    struct sl_parquet_scan_options scan = {.bytes_read = &p->d->bytes,
                                           .batch_bytes = sl_batch_bytes_for(&p->d->table->runtime, 1)};
    SL_TRY(sl_parquet_scan(p->parquet, &scan, &rows));
    sl_status status = SL_OK;
    for (;;) {
        sl_batch *batch = NULL;
        SL_GO(sl_check_cancel(&p->d->table->runtime));
        SL_GO(sl_stream_next(rows, &batch));
        if (!batch)
            break;
        if (p->key >= 0)
            status = check_rows(p, seen, batch, first);
        if (!status)
            status = check_bounds(p, walks, batch, first);
        first += batch->rows;
        sl_batch_unref(batch);
        if (status)
            goto done;
    }
    atomic_fetch_add(&p->d->rows, (uint64_t)first);
done:
    sl_stream_close(rows);
    return status;
}

static sl_status check_content(struct patient *p)
{
    struct keys_seen seen = {0};
    struct walk *walks;
    SL_NEW_ARRAY(walks, p->schema->field_count + 1);
    sl_status status = doctor_fault(p->d, "content", p->place, read_rows(p, &seen, walks));
    if (!status && seen.repeated && p->file->parts.kind == SL_FILE_BASE)
        status = doctor_find(p->d, DOCTOR_WARNING, "duplicates", p->place,
                             "%" PRIu64 " rows repeat the key before them, as a plain insert leaves them",
                             seen.repeated);
    for (size_t c = 0; c < p->schema->field_count; c++)
        sl_parquet_page_bounds_free(&walks[c].bounds);
    sl_free(walks);
    sl_buf_free(&seen.last);
    return status;
}

static sl_status examine(struct patient *p)
{
    sl_status status = sl_source_open(p->d->table, p->place, NULL, &p->source);
    if (status)
        return doctor_fault(p->d, "footer", p->place, status);
    p->parquet = p->source->parquet;
    p->schema = sl_parquet_schema(p->parquet);
    p->key = sl_type_field_index(p->schema, sl_meta_names[SL_META_RECORD_KEY]);
    if (p->key < 0 && p->file->parts.kind == SL_FILE_DELETES)
        p->key = sl_type_field_index(p->schema, "record_key"); /* early delete logs, spec/lsm-layout.md 4.2 */
    p->partition_path = sl_type_field_index(p->schema, sl_meta_names[SL_META_PARTITION_PATH]);
    p->commit_time = sl_type_field_index(p->schema, sl_meta_names[SL_META_COMMIT_TIME]);
    if (!p->d->table->populate_meta)
        p->key = p->partition_path = p->commit_time = -1;
    status = check_footer(p);
    if (!status && p->d->deep)
        status = check_content(p);
    atomic_fetch_add(&p->d->files, 1);
    sl_source_unref(p->source);
    return status;
}

/* ---- all files ----------------------------------------------------------------------------------------- */

struct ward {
    struct doctor *d;
    const sl_data_file **files;
    const char **partitions;
    size_t count;
};

static sl_status examine_one(void *context, size_t index)
{
    struct ward *w = context;
    struct patient p = {.d = w->d, .file = w->files[index], .partition = w->partitions[index]};
    if (p.file->parts.kind == SL_FILE_INLINE_LOG || strcmp(p.file->parts.format, "parquet") != 0)
        return SL_OK; /* what a reader sees of it is checked with its slice */
    SL_TRY(sl_path_join(p.partition, p.file->name, &p.place));
    sl_status status = examine(&p);
    sl_free(p.place);
    return status;
}

sl_status doctor_check_files(struct doctor *d)
{
    struct ward w = {.d = d};
    size_t total = 0;
    for (size_t i = 0; i < d->view.partition_count; i++)
        for (size_t g = 0; g < d->view.partitions[i].group_count; g++)
            total += d->view.partitions[i].groups[g].file_count;
    w.files = sl_calloc(total + 1, sizeof *w.files);
    w.partitions = sl_calloc(total + 1, sizeof *w.partitions);
    sl_status status = w.files && w.partitions ? SL_OK : sl_nomem();
    for (size_t i = 0; i < d->view.partition_count && !status; i++)
        for (size_t g = 0; g < d->view.partitions[i].group_count; g++)
            for (size_t f = 0; f < d->view.partitions[i].groups[g].file_count; f++, w.count++) {
                w.files[w.count] = &d->view.partitions[i].groups[g].files[f];
                w.partitions[w.count] = d->view.partitions[i].path;
            }
    if (!status)
        status = sl_pool_for_some(d->table->runtime.pool, sl_slices_at_once(&d->table->runtime), w.count,
                                  examine_one, &w);
    sl_free(w.files);
    sl_free(w.partitions);
    return status;
}
