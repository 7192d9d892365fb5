/*
 * Rows of data blocks (spec/log-format.md 4.1, 4.2). Avro rows are decoded with the schema in the header of their own
 * block; whatever the block's schema, the rows are then conformed to the wanted one by name.
 */
#include "avro/avro.h"
#include "log/log_int.h"

/* ---- Avro --------------------------------------------------------------------------------------------------- */

#define CONTENT_VERSION_MAX 3

static sl_status decode_records(const struct log_block *block, const sl_avro_schema *writer,
                                const sl_type *type, sl_batch_builder *rows)
{
    const uint8_t *data = block->content;
    size_t len = block->content_len, at = 8;
    if (len < at)
        return sl_corrupt("content of %zu bytes is too short for a data block", len);
    uint32_t version = load_be32(data), count = load_be32(data + 4);
    if (version == 0)
        return sl_unsupported("data block content version 0");
    if (version > CONTENT_VERSION_MAX)
        return sl_unsupported("data block content version %" PRIu32, version);
    for (uint32_t i = 0; i < count; i++) {
        if (len - at < 4 || load_be32(data + at) > len - at - 4)
            return sl_corrupt("record %" PRIu32 " of %" PRIu32 " runs past the block's content", i, count);
        size_t bytes = load_be32(data + at), pos = 0;
        SL_TRY_CTX(sl_avro_row_decode(writer, type, data + at + 4, bytes, &pos, rows), "record %" PRIu32, i);
        if (pos != bytes)
            return sl_corrupt("record %" PRIu32 " has %zu bytes, its values end after %zu", i, bytes, pos);
        at += 4 + bytes;
    }
    if (at != len)
        return sl_corrupt("%zu bytes follow the last record", len - at);
    return SL_OK;
}

static sl_status avro_rows(const struct log_block *block, sl_batch **out)
{
    sl_avro_schema *writer = NULL;
    const sl_type *type = NULL;
    sl_batch_builder rows = {0};
    sl_status status = SL_OK;
    if (!block->schema.data)
        return sl_corrupt("data block without a schema in its header");
    SL_GO_CTX(sl_avro_schema_of_text(block->schema.data, block->schema.len, &writer), "schema in the header");
    SL_GO_CTX(sl_avro_schema_type(writer, &type), "schema in the header");
    SL_GO(sl_batch_builder_init(&rows, type));
    SL_GO(decode_records(block, writer, type, &rows));
    status = sl_batch_builder_finish(&rows, out);
done:
    sl_batch_builder_free(&rows);
    sl_type_unref(type);
    sl_avro_schema_free(writer);
    return status;
}

/* ---- Parquet ------------------------------------------------------------------------------------------------ */

static sl_status add_rows(void *context, sl_batch *batch)
{
    return sl_batch_builder_append_range(context, batch, 0, batch->rows);
}

/* Only columns that are wanted are read; those that are missing here are the conforming step's matter. */
static sl_status wanted_columns(const sl_type *file, const sl_type *schema, const char ***out, size_t *count)
{
    SL_NEW_ARRAY(*out, schema->field_count + 1);
    *count = 0;
    for (size_t i = 0; i < schema->field_count; i++)
        if (sl_type_field_index(file, schema->fields[i].name) >= 0)
            (*out)[(*count)++] = schema->fields[i].name;
    return SL_OK;
}

static sl_status scan_rows(sl_parquet *parquet, const sl_type *schema, sl_batch **out)
{
    const char **names;
    size_t count;
    sl_stream *stream = NULL;
    sl_batch_builder rows = {0};
    sl_status status = SL_OK;
    SL_TRY(wanted_columns(sl_parquet_schema(parquet), schema, &names, &count));
    SL_GO(sl_parquet_scan(parquet, &(struct sl_parquet_scan_options){.columns = names, .column_count = count},
                          &stream));
    SL_GO(sl_batch_builder_init(&rows, stream->schema));
    SL_GO(sl_stream_drain(stream, NULL, add_rows, &rows));
    status = sl_batch_builder_finish(&rows, out);
done:
    sl_batch_builder_free(&rows);
    sl_stream_close(stream);
    sl_free(names);
    return status;
}

static sl_status parquet_rows(const struct log_block *block, const sl_type *schema, sl_batch **out)
{
    sl_file *file = NULL;
    sl_parquet *parquet = NULL;
    sl_status status = SL_OK;
    SL_GO(sl_file_of_memory(block->content, block->content_len, "(content of the block)", &file));
    SL_GO(sl_parquet_open(file, NULL, &parquet));
    status = scan_rows(parquet, schema, out);
done:
    sl_parquet_close(parquet);
    sl_file_close(file);
    return status;
}

/* ---- both --------------------------------------------------------------------------------------------------- */

sl_status log_block_rows(const struct log_block *block, const sl_type *schema, sl_batch **out)
{
    sl_batch *written;
    SL_TRY(block->type == LOG_BLOCK_AVRO ? avro_rows(block, &written)
                                         : parquet_rows(block, schema, &written));
    sl_status status = sl_batch_conform(written, schema, out);
    sl_batch_unref(written);
    return status;
}
