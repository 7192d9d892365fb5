/*
 * Object container files.
 *
 *     "Obj" 1 | metadata: map of bytes (avro.schema, avro.codec) | sync marker, 16 bytes
 *     then blocks: count of records (long) | bytes (long) | the records, packed | sync marker
 *
 * Hudi's metadata files have one record in one block and no codec (spec/timeline.md 5.1).
 */
#include "avro/avro_int.h"

#include <stdio.h>

#define SYNC_BYTES 16

static const uint8_t magic[4] = {'O', 'b', 'j', 1};

struct container {
    struct avro_reader file;
    sl_avro_schema *schema;
    char *codec;
    json_t *metadata; /* other keys -> text, each byte a character */
    const uint8_t *sync;
    sl_buf unpacked; /* the present block, when there is a codec */
};

/* One block: its place in the file and its unpacked records. */
struct block {
    size_t offset;
    uint64_t records;
    const uint8_t *stored;
    size_t stored_bytes;
    const uint8_t *data;
    size_t bytes;
};

/* ---- the header ---------------------------------------------------------------------------------------- */

static sl_status metadata_keep(struct container *c, const uint8_t *key, size_t key_len, const uint8_t *value,
                               size_t len)
{
    json_t *text;
    SL_TRY(avro_bytes_to_json(value, len, &text));
    return json_object_setn_new_nocheck(c->metadata, (const char *)key, key_len, text) == 0 ? SL_OK
                                                                                            : sl_nomem();
}

static bool key_is(const uint8_t *key, size_t len, const char *name)
{
    return len == strlen(name) && memcmp(key, name, len) == 0;
}

static sl_status metadata_entry(struct container *c)
{
    const uint8_t *key, *value;
    size_t key_len, len;
    SL_TRY_CTX(avro_read_string(&c->file, &key, &key_len), "metadata key");
    SL_TRY_CTX(avro_read_bytes(&c->file, &value, &len), "metadata %.*s", (int)(key_len < 64 ? key_len : 64),
               key);
    if (key_is(key, key_len, "avro.schema")) {
        if (c->schema)
            return sl_corrupt("metadata avro.schema twice");
        return sl_avro_schema_of_text((const char *)value, len, &c->schema);
    }
    if (key_is(key, key_len, "avro.codec")) {
        sl_free(c->codec);
        if (!(c->codec = sl_strndup((const char *)value, len)))
            return sl_nomem();
    }
    return metadata_keep(c, key, key_len, value, len);
}

static sl_status header_read(struct container *c)
{
    struct avro_blocks entries = {0};
    bool more = true;
    if (c->file.len < sizeof magic || memcmp(c->file.data, magic, sizeof magic) != 0)
        return sl_corrupt("no Avro object container file");
    c->file.pos = sizeof magic;
    if (!(c->metadata = json_object()))
        return sl_nomem();
    for (;;) {
        SL_TRY(avro_blocks_next(&c->file, 2, &entries, &more));
        if (!more)
            break;
        SL_TRY(metadata_entry(c));
    }
    SL_TRY_CTX(avro_read_fixed(&c->file, SYNC_BYTES, &c->sync), "sync marker");
    if (!c->schema)
        return sl_corrupt("no avro.schema in the file's metadata");
    if (!c->codec && !(c->codec = sl_strdup("null")))
        return sl_nomem();
    if (!avro_codec_known(c->codec))
        return sl_unsupported("Avro codec %s", c->codec);
    return SL_OK;
}

static void container_close(struct container *c)
{
    sl_avro_schema_free(c->schema);
    sl_free(c->codec);
    json_decref(c->metadata);
    sl_buf_free(&c->unpacked);
}

static sl_status container_open(const void *data, size_t len, struct container *c)
{
    *c = (struct container){.file = {.data = data, .len = len}};
    sl_status status = header_read(c);
    if (status != SL_OK)
        container_close(c);
    return sl_context(status, "Avro container");
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

/* The next block still packed; *more is false at the end of the file. */
static sl_status block_locate(struct container *c, struct block *block, bool *more)
{
    int64_t records, bytes;
    const uint8_t *sync;
    *more = c->file.pos < c->file.len;
    if (!*more)
        return SL_OK;
    *block = (struct block){.offset = c->file.pos};
    SL_TRY_CTX(avro_read_long(&c->file, &records), "block at byte %zu", block->offset);
    SL_TRY_CTX(avro_read_long(&c->file, &bytes), "block at byte %zu", block->offset);
    if (records < 0 || bytes < 0 || (uint64_t)bytes > c->file.len - c->file.pos)
        return sl_corrupt("block at byte %zu: %" PRId64 " records in %" PRId64 " bytes with %zu left",
                          block->offset, records, bytes, c->file.len - c->file.pos);
    block->records = (uint64_t)records;
    block->stored_bytes = (size_t)bytes;
    SL_TRY(avro_read_fixed(&c->file, block->stored_bytes, &block->stored));
    SL_TRY_CTX(avro_read_fixed(&c->file, SYNC_BYTES, &sync), "block at byte %zu: sync marker", block->offset);
    if (memcmp(sync, c->sync, SYNC_BYTES) != 0)
        return sl_corrupt("block at byte %zu does not end in the file's sync marker", block->offset);
    return SL_OK;
}

static sl_status block_unpack(struct container *c, struct block *block)
{
    block->data = block->stored;
    block->bytes = block->stored_bytes;
    if (strcmp(c->codec, "null") != 0) {
        c->unpacked.len = 0;
        SL_TRY(avro_block_decompress(c->codec, block->stored, block->stored_bytes, &c->unpacked));
        block->data = c->unpacked.data;
        block->bytes = c->unpacked.len;
    }
    uint32_t record_min = avro_schema_root(c->schema)->bytes_min;
    uint64_t believable = record_min > 0 ? block->bytes / record_min : AVRO_EMPTY_ITEMS_MAX;
    if (block->records > believable)
        return sl_corrupt("%" PRIu64 " records claimed in %zu bytes", block->records, block->bytes);
    return SL_OK;
}

static sl_status block_next(struct container *c, struct block *block, bool *more)
{
    SL_TRY(block_locate(c, block, more));
    return *more ? sl_context(block_unpack(c, block), "block at byte %zu", block->offset) : SL_OK;
}

static sl_status block_ends(const struct block *block, size_t pos)
{
    if (pos != block->bytes)
        return sl_corrupt("block at byte %zu: %zu bytes behind its last record", block->offset,
                          block->bytes - pos);
    return SL_OK;
}

/* ---- metadata records ---------------------------------------------------------------------------------- */

static sl_status block_records(struct container *c, const struct block *block, json_t *records)
{
    struct avro_reader r = {
        .data = block->data, .len = block->bytes, .memory_left = avro_memory_for(block->bytes)};
    for (uint64_t i = 0; i < block->records; i++) {
        json_t *record;
        SL_TRY_CTX(avro_value_read(&r, avro_schema_root(c->schema), &record),
                   "block at byte %zu: record %" PRIu64, block->offset, i);
        if (json_array_append_new(records, record) != 0)
            return sl_nomem();
    }
    return block_ends(block, r.pos);
}

sl_status sl_avro_container_read(const void *data, size_t len, json_t **records, json_t **schema)
{
    struct container c;
    SL_TRY(container_open(data, len, &c));
    sl_status status = SL_OK;
    json_t *all = json_array();
    bool more = true;
    if (!all)
        status = sl_nomem();
    while (status == SL_OK && more) {
        struct block block;
        status = block_next(&c, &block, &more);
        if (status == SL_OK && more)
            status = block_records(&c, &block, all);
    }
    if (status == SL_OK) {
        *records = all;
        if (schema)
            *schema = json_incref((json_t *)sl_avro_schema_json(c.schema));
    } else {
        json_decref(all);
    }
    container_close(&c);
    return sl_context(status, "Avro container");
}

static sl_status header_write(const json_t *schema, const uint8_t *sync, sl_buf *out)
{
    static const char key[] = "avro.schema";
    char *text;
    SL_TRY(sl_json_text(schema, &text));
    sl_status status;
    SL_GO(sl_buf_append(out, magic, sizeof magic));
    SL_GO(avro_write_long(out, 1));
    SL_GO(avro_write_long(out, (int64_t)strlen(key)));
    SL_GO(sl_buf_append(out, key, strlen(key)));
    SL_GO(avro_write_long(out, (int64_t)strlen(text)));
    SL_GO(sl_buf_append(out, text, strlen(text)));
    SL_GO(avro_write_long(out, 0));
    SL_GO(sl_buf_append(out, sync, SYNC_BYTES));
done:
    sl_free(text);
    return status;
}

sl_status sl_avro_container_write(const json_t *schema, const json_t *record, sl_buf *out)
{
    uint8_t sync[SYNC_BYTES];
    sl_buf payload = {0};
    sl_status status;
    SL_GO(sl_avro_value_encode(schema, record, &payload));
    SL_GO(sl_random_bytes(sync, sizeof sync));
    SL_GO(header_write(schema, sync, out));
    SL_GO(avro_write_long(out, 1));
    SL_GO(avro_write_long(out, (int64_t)payload.len));
    SL_GO(sl_buf_append(out, payload.data, payload.len));
    SL_GO(sl_buf_append(out, sync, sizeof sync));
done:
    sl_buf_free(&payload);
    return status;
}

/* ---- description --------------------------------------------------------------------------------------- */

static sl_status blocks_describe(struct container *c, json_t *blocks, json_int_t *records)
{
    for (;;) {
        struct block block;
        bool more;
        SL_TRY(block_locate(c, &block, &more));
        if (!more)
            return SL_OK;
        json_int_t count = block.records > INT64_MAX ? INT64_MAX : (json_int_t)block.records;
        *records = *records > INT64_MAX - count ? INT64_MAX : *records + count;
        json_t *one = json_pack("{s:I, s:I, s:I}", "offset", (json_int_t)block.offset, "records", count,
                                "bytes", (json_int_t)block.stored_bytes);
        if (json_array_append_new(blocks, one) != 0)
            return sl_nomem();
    }
}

sl_status sl_avro_container_describe(const void *data, size_t len, json_t **out)
{
    struct container c;
    SL_TRY(container_open(data, len, &c));
    json_int_t records = 0;
    json_t *blocks = json_array();
    sl_status status = blocks ? blocks_describe(&c, blocks, &records) : sl_nomem();
    if (status == SL_OK) {
        json_t *all = json_pack("{s:s, s:I, s:O, s:O, s:O}", "codec", c.codec, "records", records, "metadata",
                                c.metadata, "schema", sl_avro_schema_json(c.schema), "blocks", blocks);
        if (all)
            *out = all;
        else
            status = sl_nomem();
    }
    json_decref(blocks);
    container_close(&c);
    return sl_context(status, "Avro container");
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

#define ROWS_A_BATCH  8192
#define BYTES_A_BATCH ((size_t)32 << 20)

struct row_stream {
    sl_stream stream;
    struct container c;
    const sl_type *type;
    sl_batch_builder builder;
    struct block block;
    struct avro_reader reader; /* in `block` */
    uint64_t block_rows_left;
    uint64_t rows_done;
};

static sl_status row_block_next(struct row_stream *s, bool *more)
{
    SL_TRY(block_ends(&s->block, s->reader.pos));
    SL_TRY(block_next(&s->c, &s->block, more));
    if (*more) {
        s->reader = (struct avro_reader){.data = s->block.data, .len = s->block.bytes};
        s->reader.memory_left = avro_memory_for(s->block.bytes);
        s->block_rows_left = s->block.records;
    }
    return SL_OK;
}

static sl_status rows_fill(struct row_stream *s)
{
    s->reader.memory_left =
        avro_memory_for(s->block.bytes); /* what went into earlier batches is no longer ours */
    while (sl_batch_builder_rows(&s->builder) < ROWS_A_BATCH &&
           sl_batch_builder_bytes(&s->builder) < BYTES_A_BATCH) {
        if (s->block_rows_left == 0) {
            bool more;
            SL_TRY(row_block_next(s, &more));
            if (!more)
                return SL_OK;
            continue;
        }
        SL_TRY_CTX(avro_row_read(&s->reader, avro_schema_root(s->c.schema), s->type, &s->builder),
                   "row %" PRIu64, s->rows_done);
        s->block_rows_left--;
        s->rows_done++;
    }
    return SL_OK;
}

static sl_status row_stream_next(sl_stream *stream, sl_batch **out)
{
    struct row_stream *s = (struct row_stream *)stream;
    SL_TRY_CTX(rows_fill(s), "Avro container");
    if (sl_batch_builder_rows(&s->builder) == 0) {
        *out = NULL;
        return SL_OK;
    }
    return sl_batch_builder_finish(&s->builder, out);
}

static void row_stream_close(sl_stream *stream)
{
    struct row_stream *s = (struct row_stream *)stream;
    sl_batch_builder_free(&s->builder);
    sl_type_unref(s->type);
    container_close(&s->c);
    sl_free(s);
}

sl_status sl_avro_container_scan(const void *data, size_t len, sl_stream **out)
{
    struct row_stream *s;
    SL_NEW(s);
    sl_status status = container_open(data, len, &s->c);
    if (status != SL_OK) {
        sl_free(s);
        return status;
    }
    s->stream = (sl_stream){.next = row_stream_next, .close = row_stream_close};
    SL_GO(sl_avro_schema_type(s->c.schema, &s->type));
    SL_GO(sl_batch_builder_init(&s->builder, s->type));
    s->stream.schema = s->type;
    *out = &s->stream;
    return SL_OK;
done:
    row_stream_close(&s->stream);
    return status;
}
