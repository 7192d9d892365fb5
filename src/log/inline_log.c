/*
 * Inline logs: a sequence of blocks without file header (spec/log-format.md 2).
 *
 *     "#HUDI#" | blockSize | version | type | header map | contentLength | content | footer map | totalSize
 *
 * All numbers are big-endian. Before a block is read it must pass the test of chapter 6, whose reactions to damage are
 * followed to the letter: readers have to agree on which blocks of a torn file count.
 */
#include "log/log_int.h"

#define MAGIC_BYTES 6
#define BLOCK_FRAME_MIN                                                                                      \
    (4 + 4 + 4 + 8 + 4 + 8) /* version, type, empty header, contentLength, empty footer, totalSize */
#define FORMAT_VERSION 1
static const uint8_t magic[MAGIC_BYTES] = {'#', 'H', 'U', 'D', 'I', '#'};

enum header_key { HEADER_INSTANT = 0, HEADER_SCHEMA = 2, HEADER_COMPACTED = 4, HEADER_IS_PARTIAL = 7 };

struct walk {
    const uint8_t *data;
    size_t len;
    const sl_runtime *runtime;
    const char *path;
};

/* ---- damage ------------------------------------------------------------------------------------------------- */

static bool magic_at(const struct walk *w, size_t at)
{
    return w->len - at >= MAGIC_BYTES && memcmp(w->data + at, magic, MAGIC_BYTES) == 0;
}

/* `at` is behind the magic. Gives the offset behind the block when the block is whole. */
static bool block_is_whole(const struct walk *w, size_t at, size_t *end)
{
    if (w->len - at < 8)
        return false;
    int32_t size = (int32_t)(uint32_t)load_be64(w->data + at); /* the Java reader narrows it so */
    if (size < 0 || (uint64_t)size > w->len - at - 8)
        return false;
    size_t behind = at + 8 + (size_t)size;
    if (load_be64(w->data + behind - 8) != (uint64_t)size + 6)
        return false;
    *end = behind;
    return w->len - behind < MAGIC_BYTES || magic_at(w, behind);
}

static size_t next_magic(const struct walk *w, size_t from)
{
    while (w->len - from >= MAGIC_BYTES) {
        const uint8_t *hit = memchr(w->data + from, magic[0], w->len - from);
        if (!hit)
            break;
        from = (size_t)(hit - w->data);
        if (magic_at(w, from))
            return from;
        from++;
    }
    return w->len;
}

/* ---- frame -------------------------------------------------------------------------------------------------- */

/* What is left of a block's frame. */
struct frame {
    const uint8_t *at;
    size_t left;
};

static bool take(struct frame *f, size_t count, const uint8_t **out)
{
    if (count > f->left)
        return false;
    *out = f->at;
    f->at += count;
    f->left -= count;
    return true;
}

static bool take_i32(struct frame *f, int32_t *out)
{
    const uint8_t *p;
    if (!take(f, 4, &p))
        return false;
    *out = (int32_t)load_be32(p);
    return true;
}

static bool text_is(struct log_text text, const char *word)
{
    return text.len == strlen(word) && memcmp(text.data, word, text.len) == 0;
}

/* Keys that we have no use for, also ones we do not know, are passed over. */
static void header_entry(int32_t key, struct log_text value, struct log_block *block)
{
    if (key == HEADER_INSTANT)
        block->instant = value;
    else if (key == HEADER_SCHEMA)
        block->schema = value;
    else if (key == HEADER_COMPACTED)
        block->compacted = value;
    else if (key == HEADER_IS_PARTIAL)
        block->is_partial = text_is(value, "true");
}

/* block NULL: the footer, of which nothing is used. */
static bool read_map(struct frame *f, struct log_block *block)
{
    int32_t count, key, len;
    const uint8_t *text;
    if (!take_i32(f, &count) || count < 0)
        return false;
    for (; count > 0; count--) {
        if (!take_i32(f, &key) || !take_i32(f, &len) || len < 0 || !take(f, (size_t)len, &text))
            return false;
        if (block)
            header_entry(key, (struct log_text){(const char *)text, (size_t)len}, block);
    }
    return true;
}

/* The block at `start` that ends before `end`. */
static sl_status read_frame(const struct walk *w, size_t start, size_t end, struct log_block *out)
{
    size_t body = start + MAGIC_BYTES + 8;
    struct frame f = {w->data + body, end - body};
    int32_t version, type;
    const uint8_t *p;
    *out = (struct log_block){.offset = start};
    if (f.left < BLOCK_FRAME_MIN || !take_i32(&f, &version) || !take_i32(&f, &type))
        return sl_corrupt("%zu bytes are too few for a block", f.left);
    if (version != FORMAT_VERSION)
        return sl_unsupported("log format version %d", version);
    if (type < LOG_BLOCK_COMMAND || type > LOG_BLOCK_CDC || type == LOG_BLOCK_CORRUPT)
        return sl_corrupt("block type %d", type);
    out->type = (enum log_block_type)type;
    if (!read_map(&f, out))
        return sl_corrupt("the block's header does not fit into the block");
    if (!take(&f, 8, &p))
        return sl_corrupt("the block ends before its content");
    uint64_t content_len = load_be64(p);
    if (content_len > f.left || !take(&f, (size_t)content_len, &out->content))
        return sl_corrupt("content of %" PRIu64 " bytes runs past the block, which has %zu left", content_len,
                          f.left);
    out->content_len = (size_t)content_len;
    if (!read_map(&f, NULL) || f.left != 8)
        return sl_corrupt("the block's footer does not end with the block");
    return SL_OK;
}

/* ---- pieces ------------------------------------------------------------------------------------------------- */

static sl_status piece_headers(const struct log_block *block, struct sl_inline_piece *piece)
{
    if (!block->instant.data || block->instant.len == 0 || block->instant.len >= sizeof piece->instant ||
        memchr(block->instant.data, 0, block->instant.len))
        return sl_corrupt("the block's instant has %zu bytes", block->instant.len);
    memcpy(piece->instant, block->instant.data, block->instant.len);
    piece->instant[block->instant.len] = 0;
    if (!block->compacted.data)
        return SL_OK;
    char *text = sl_strndup(block->compacted.data, block->compacted.len);
    if (!text)
        return sl_nomem();
    sl_status status = sl_strings_split(&piece->compacted, text, ',');
    sl_free(text);
    return status;
}

static void piece_free(struct sl_inline_piece *piece)
{
    sl_batch_unref(piece->batch);
    sl_strings_free(&piece->compacted);
}

static sl_status read_piece(const struct log_block *block, const sl_type *schema,
                            const sl_type *delete_schema, struct sl_inline_piece *piece)
{
    SL_TRY(piece_headers(block, piece));
    if (block->type == LOG_BLOCK_HFILE)
        return sl_unsupported("HFile data block");
    /* Its rows lack columns that other versions of them have; as full rows they would erase values. */
    if (block->is_partial)
        return sl_unsupported("partial-update block (IS_PARTIAL)");
    piece->is_deletes = block->type == LOG_BLOCK_DELETE;
    return piece->is_deletes ? log_block_deletes(block, delete_schema, &piece->batch)
                             : log_block_rows(block, schema, &piece->batch);
}

static sl_status add_piece(struct sl_inline_log *log, size_t *cap, const struct sl_inline_piece *piece)
{
    SL_GROW(log->pieces, log->count, *cap, 4);
    log->pieces[log->count++] = *piece;
    return SL_OK;
}

static sl_status add_block(const struct log_block *block, const sl_type *schema, const sl_type *delete_schema,
                           struct sl_inline_log *log, size_t *cap)
{
    /* Rollbacks of version 8 and later remove files, so a command block has nothing to say (spec 14). Change data
     * repeats what data blocks hold (spec 8). */
    if (block->type == LOG_BLOCK_COMMAND || block->type == LOG_BLOCK_CDC)
        return SL_OK;
    struct sl_inline_piece piece = {0};
    sl_status status = read_piece(block, schema, delete_schema, &piece);
    bool is_kept = !status && piece.batch->rows > 0; /* a metadata table begins with empty blocks */
    if (is_kept)
        status = add_piece(log, cap, &piece);
    if (!is_kept || status)
        piece_free(&piece);
    return status;
}

/* ---- the walk ----------------------------------------------------------------------------------------------- */

static sl_status walk_blocks(const struct walk *w, const sl_type *schema, const sl_type *delete_schema,
                             struct sl_inline_log *log)
{
    size_t at = 0, cap = 0;
    while (w->len - at >= MAGIC_BYTES) { /* up to 5 bytes at the end are a magic that was never finished */
        SL_TRY(sl_check_cancel(w->runtime));
        size_t end;
        if (!magic_at(w, at))
            return sl_corrupt("the log does not begin with #HUDI#");
        if (!block_is_whole(w, at + MAGIC_BYTES, &end)) {
            end = next_magic(w, at + MAGIC_BYTES);
            sl_warn(w->runtime, "log %s: block at %zu is damaged, %zu bytes are skipped", w->path, at,
                    end - at);
        } else {
            struct log_block block;
            SL_TRY_CTX(read_frame(w, at, end, &block), "block at %zu", at);
            SL_TRY_CTX(add_block(&block, schema, delete_schema, log, &cap), "block at %zu", at);
        }
        at = end;
    }
    return SL_OK;
}

static sl_status file_bytes(sl_file *file, uint8_t **out, size_t *len)
{
    uint64_t size = sl_file_size(file);
    if (size > SIZE_MAX - 1)
        return sl_unsupported("a log of %" PRIu64 " bytes", size);
    uint8_t *bytes = sl_malloc((size_t)size + 1);
    if (!bytes)
        return sl_nomem();
    sl_status status = size > 0 ? sl_file_read_at(file, 0, bytes, (size_t)size) : SL_OK;
    if (status) {
        sl_free(bytes);
        return status;
    }
    *out = bytes;
    *len = (size_t)size;
    return SL_OK;
}

sl_status sl_inline_log_read(sl_file *file, const sl_type *schema, const sl_type *delete_schema,
                             const sl_runtime *runtime, struct sl_inline_log *out)
{
    uint8_t *bytes;
    struct walk w = {.runtime = runtime, .path = sl_file_path(file)};
    struct sl_inline_log log = {0};
    SL_TRY(file_bytes(file, &bytes, &w.len));
    w.data = bytes;
    sl_status status = walk_blocks(&w, schema, delete_schema, &log);
    sl_free(bytes);
    if (status) {
        sl_inline_log_free(&log);
        return sl_context(status, "log %s", w.path);
    }
    *out = log;
    return SL_OK;
}

void sl_inline_log_free(struct sl_inline_log *log)
{
    for (size_t i = 0; i < log->count; i++)
        piece_free(&log->pieces[i]);
    sl_free(log->pieces);
    *log = (struct sl_inline_log){0};
}
