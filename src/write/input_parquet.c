/* Parquet and Avro files as input: the formats' own readers, then the wanted schema. Both are read at
 * offsets. */
#include "avro/avro.h"
#include "parquet/parquet.h"
#include "write/input_int.h"

#define BATCH_BYTES_MOST ((size_t)64 << 20)

/* The file's columns that are wanted, in the file's order; all of them when columns that are not wanted are
 * to be refused, so that the refusal sees them. Names are borrowed. */
static sl_status wanted_columns(const sl_type *have, const sl_type *wanted,
                                const struct sl_input_options *options, const char ***names, size_t *count)
{
    SL_NEW_ARRAY(*names, have->field_count);
    *count = 0;
    for (size_t i = 0; i < have->field_count; i++) {
        const char *name = have->fields[i].name;
        bool is_wanted = !wanted || sl_type_field_index(wanted, name) >= 0;
        if (is_wanted || (options->extra == SL_EXTRA_REFUSE && !input_is_meta_column(name, strlen(name))))
            (*names)[(*count)++] = name;
    }
    return SL_OK;
}

static sl_status scan_parquet(sl_parquet *parquet, const sl_type *wanted,
                              const struct sl_input_options *options, sl_pool *pool, sl_stream **out)
{
    const char **names = NULL;
    size_t count = 0;
    SL_TRY(wanted_columns(sl_parquet_schema(parquet), wanted, options, &names, &count));
    struct sl_parquet_scan_options scan = {
        .columns = names,
        .column_count = count,
        .batch_rows = options->batch_rows > 0 ? options->batch_rows : 0,
        .batch_bytes = input_batch_bytes(options, BATCH_BYTES_MOST),
        .pool = pool,
    };
    sl_status status =
        count == 0 ? sl_input("none of the table's columns is there") : sl_parquet_scan(parquet, &scan, out);
    sl_free(names);
    return status;
}

sl_status input_parquet_open(const char *path, const sl_type *wanted, const struct sl_input_options *options,
                             sl_pool *pool, sl_stream **out)
{
    struct input_owner owner = {0};
    sl_stream *rows;
    sl_status status;
    SL_TRY(input_file_open(path, options, &owner.file));
    SL_GO(sl_parquet_open(owner.file.file, NULL, &owner.parquet));
    SL_GO(scan_parquet(owner.parquet, wanted, options, pool, &rows));
    return input_conform_owned(rows, wanted, owner.file.name, options, &owner, out);
done:
    status = sl_context(status, "%s", owner.file.name);
    input_owner_free(&owner);
    return status;
}

/* ---- Avro ---------------------------------------------------------------------------------------------- */

/* The whole file as memory: mapped, or read where it cannot be. */
static sl_status file_bytes(struct input_owner *owner, const uint8_t **data, size_t *len)
{
    sl_file *file = owner->file.file;
    uint64_t size = sl_file_size(file);
    if (size > SIZE_MAX)
        return sl_input("a file of %" PRIu64 " bytes is too large to be read as Avro", size);
    *len = (size_t)size;
    if ((*data = sl_file_memory(file)) != NULL)
        return SL_OK;
    if (!(owner->bytes = sl_malloc(*len)))
        return sl_nomem();
    *data = owner->bytes;
    return sl_file_read_at(file, 0, owner->bytes, *len);
}

sl_status input_avro_open(const char *path, const sl_type *wanted, const struct sl_input_options *options,
                          sl_stream **out)
{
    struct input_owner owner = {0};
    const uint8_t *data;
    size_t len;
    sl_stream *rows;
    sl_status status;
    SL_TRY(input_file_open(path, options, &owner.file));
    SL_GO(file_bytes(&owner, &data, &len));
    SL_GO(sl_avro_container_scan(data, len, &rows));
    return input_conform_owned(rows, wanted, owner.file.name, options, &owner, out);
done:
    status = sl_context(status, "%s", owner.file.name);
    input_owner_free(&owner);
    return status;
}
