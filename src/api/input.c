/* Files at the door: schemas and rows of files as Arrow. */
#include "api/api_int.h"
#include <errno.h>
#include <string.h>

int sluice_schema_parse(const char *text, struct ArrowSchema *out, sluice_error *e)
{
    API_REQUIRE(text, out);
    const sl_type *schema;
    sl_status status = sl_schema_parse(text, &schema);
    if (!status) {
        status = sl_arrow_export_schema(schema, out);
        sl_type_unref(schema);
    }
    return api_result(status, e);
}

/* An Avro schema file is text; everything else has rows to look at. */
static sl_status schema_of_avsc(const char *path, const sl_type **out)
{
    sl_storage *storage = NULL;
    char *inside = NULL;
    sl_buf text = {0};
    sl_status status = SL_OK;
    SL_GO(sl_storage_for_uri(path, &storage, &inside));
    SL_GO(sl_storage_read_all(storage, inside, (size_t)64 << 20, &text));
    SL_GO_CTX(sl_avro_schema_parse((const char *)text.data, text.len, out), "file %s", path);
done:
    sl_buf_free(&text);
    sl_free(inside);
    sl_storage_free(storage);
    return status;
}

static bool has_suffix(const char *path, const char *suffix)
{
    size_t n = strlen(path), s = strlen(suffix);
    return n >= s && strcmp(path + n - s, suffix) == 0;
}

int sluice_schema_of_file(const char *path, const char *format, struct ArrowSchema *out, sluice_error *e)
{
    API_REQUIRE(path, out);
    const sl_type *found = NULL, *mapped = NULL;
    struct sl_input_options options = {0};
    struct sl_table_type_options types = {0};
    bool avsc = format ? strcmp(format, "avsc") == 0 : has_suffix(path, ".avsc");
    sl_status status = avsc ? schema_of_avsc(path, &found) : sl_input_schema(path, format, &options, &found);
    if (!status)
        status = sl_input_table_type(found, &types, &mapped);
    if (!status)
        status = sl_arrow_export_schema(mapped, out);
    sl_type_unref(found);
    sl_type_unref(mapped);
    return api_result(status, e);
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* The input's options are borrowed until its stream is closed, so they travel with it. */
struct opened {
    sl_stream base;
    sl_stream *rows;
    struct sl_input_options options;
    void (*reject)(void *context, const sluice_rejected_row *row);
    void *context;
    char *null_text;
    const sl_type *wanted;
    sluice_table *owner;   /* kept open; NULL: unknown */
    const sl_table *table; /* of it, when its writer's refusals are to be rejected here */
    enum sl_operation operation;
    sl_budget budget;
    sl_runtime runtime;
};

static sl_status hand_over(void *context, const struct sl_rejected_row *row)
{
    const struct opened *o = context;
    sluice_rejected_row told = {.size = sizeof told,
                                .line = row->line,
                                .text = row->text,
                                .bytes = row->len,
                                .json = row->json,
                                .reason = row->reason};
    o->reject(o->context, &told);
    return SL_OK;
}

static sl_status check(void *context, const sl_batch *rows)
{
    const struct opened *o = context;
    return sl_write_check(o->table, o->operation, rows);
}

/* A column that is missing is no fault of any row. */
static sl_status check_columns(const struct opened *o)
{
    const sl_type *columns = o->rows->schema;
    SL_TRY(sl_keygen_check(&o->table->keygen, columns, NULL));
    for (size_t i = 0; i < o->table->ordering.count && o->operation != SL_OP_DELETE; i++)
        if (sl_type_field_index(columns, o->table->ordering.items[i]) < 0)
            return sl_input("ordering column %s is missing", o->table->ordering.items[i]);
    return SL_OK;
}

static sl_status opened_next(sl_stream *self, sl_batch **out)
{
    struct opened *o = (struct opened *)self;
    return sl_stream_next(o->rows, out);
}

static void opened_close(sl_stream *self)
{
    struct opened *o = (struct opened *)self;
    sl_stream_close(o->rows);
    sl_free(o->null_text);
    sl_type_unref(o->wanted);
    sluice_table_close(o->owner);
    sl_free(o);
}

static sl_status open_rows(const char *path, const sluice_input_options *in, sl_stream **out)
{
    struct opened *o;
    SL_NEW(o);
    o->base.next = opened_next;
    o->base.close = opened_close;
    sl_status status = SL_OK;
    o->options.delimiter = in->delimiter;
    o->options.batch_rows = in->batch_rows;
    o->options.idle_ms = in->idle_ms;
    o->budget.limit = in->memory ? (size_t)in->memory : (size_t)(sl_memory_total() / 4);
    o->runtime.budget = &o->budget;
    if (in->table) {
        o->owner =
            api_table_ref((sluice_table *)(uintptr_t)in->table); /* but for its users it is only read */
        o->runtime.cancel = o->owner->runtime.cancel;
    }
    o->options.runtime = &o->runtime;
    o->options.waited = in->waited;
    o->options.present_only = in->idle_ms > 0;
    o->options.extra = in->ignore_surplus ? SL_EXTRA_DROP : SL_EXTRA_REFUSE;
    if (in->null_text && !(o->null_text = sl_strdup(in->null_text))) {
        status = sl_nomem();
        goto done;
    }
    o->options.null_text = o->null_text;
    if (in->reject) {
        o->reject = in->reject;
        o->context = in->context;
        o->options.reject = hand_over;
        o->options.reject_context = o;
    }
    if (in->reject && in->table) {
        SL_GO(api_operation(in->operation, &o->operation));
        o->table = o->owner->table;
        o->options.check = check;
        o->options.check_context = o;
    }
    if (in->schema)
        SL_GO(sl_arrow_import_schema(in->schema, &o->wanted));
    SL_GO(sl_input_open(path, in->format, o->wanted, &o->options, &o->rows));
    if (o->table)
        SL_GO(check_columns(o));
    o->base.schema = o->rows->schema;
    *out = &o->base;
done:
    if (status)
        opened_close(&o->base);
    return status;
}

int sluice_input_open(const char *path, const sluice_input_options *options, struct ArrowArrayStream *out,
                      sluice_error *e)
{
    API_REQUIRE(path, out);
    sluice_input_options known = {0};
    if (options)
        memcpy(&known, options, options->size < sizeof known ? options->size : sizeof known);
    sl_stream *rows;
    sl_status status = open_rows(path, &known, &rows);
    if (!status)
        status = api_export_stream(rows, 0, out);
    return api_result(status, e);
}
