/* Opening a file: magic, footer, schema. Nothing of the data is read. */
#include "parquet/read_int.h"

#define TAIL_BYTES ((size_t)64 << 10) /* read at once: mostly the whole footer */

static sl_status check_magic(const uint8_t *magic, const char *where)
{
    if (memcmp(magic, "PARE", 4) == 0)
        return sl_unsupported("Parquet file with encrypted footer");
    if (memcmp(magic, PARQUET_MAGIC, 4) != 0)
        return sl_corrupt("not a Parquet file: no magic at its %s", where);
    return SL_OK;
}

/* The footer, and *data_end: where it begins. */
static sl_status read_footer(sl_file *file, sl_buf *footer, uint64_t *data_end)
{
    uint64_t size = sl_file_size(file);
    uint8_t head[4];
    if (size < 12)
        return sl_corrupt("not a Parquet file: %" PRIu64 " bytes", size);
    SL_TRY(sl_file_read_at(file, 0, head, 4));
    SL_TRY(check_magic(head, "start"));
    size_t tail = size < TAIL_BYTES ? (size_t)size : TAIL_BYTES;
    SL_TRY(sl_buf_reserve(footer, tail));
    SL_TRY(sl_file_read_at(file, size - tail, footer->data, tail));
    SL_TRY(check_magic(footer->data + tail - 4, "end"));
    uint64_t len = load_le32(footer->data + tail - 8);
    if (len > size - 12)
        return sl_corrupt("footer of %" PRIu64 " bytes in a file of %" PRIu64, len, size);
    *data_end = size - 8 - len;
    footer->len = (size_t)len;
    if (len <= tail - 8) {
        memmove(footer->data, footer->data + tail - 8 - len, (size_t)len);
        return SL_OK;
    }
    footer->len = 0;
    SL_TRY(sl_buf_reserve(footer, (size_t)len));
    SL_TRY(sl_file_read_at(file, *data_end, footer->data, (size_t)len));
    footer->len = (size_t)len;
    return SL_OK;
}

static sl_status check_chunk(const struct sl_parquet *p, const struct parquet_row_group *group, size_t leaf)
{
    const struct parquet_column_chunk *chunk = &group->columns[leaf];
    const struct parquet_leaf *l = &p->schema.leaves[leaf];
    if (chunk->encrypted)
        return sl_unsupported("encrypted column %s", l->path);
    if (!chunk->has_meta)
        return sl_corrupt("column %s has no metadata", l->path);
    if (chunk->file_path)
        return sl_unsupported("column %s is in another file (%s)", l->path, chunk->file_path);
    if (chunk->meta.type != l->element->type)
        return sl_corrupt("column %s is %s in the schema and %s in a row group", l->path,
                          parquet_physical_name((int)l->element->type),
                          parquet_physical_name((int)chunk->meta.type));
    if (l->max_rep == 0 && chunk->meta.num_values != group->num_rows)
        return sl_corrupt("column %s has %" PRId64 " values in a row group of %" PRId64 " rows", l->path,
                          chunk->meta.num_values, group->num_rows);
    return SL_OK;
}

static sl_status check_row_groups(const struct sl_parquet *p)
{
    int64_t rows = 0;
    for (size_t i = 0; i < p->meta.row_group_count; i++) {
        const struct parquet_row_group *group = &p->meta.row_groups[i];
        if (group->column_count != p->schema.leaf_count)
            return sl_corrupt("row group %zu has %zu columns, the schema has %zu", i, group->column_count,
                              p->schema.leaf_count);
        if (sl_add_overflows_i64(rows, group->num_rows, &rows))
            return sl_corrupt("row counts of the row groups overflow");
        for (size_t c = 0; c < group->column_count; c++)
            SL_TRY_CTX(check_chunk(p, group, c), "row group %zu", i);
    }
    if (rows != p->meta.num_rows)
        return sl_corrupt("footer says %" PRId64 " rows, its row groups %" PRId64, p->meta.num_rows, rows);
    return SL_OK;
}

static sl_status load(struct sl_parquet *p, sl_buf *footer)
{
    if (!(p->ignored_indexes = sl_arena_alloc(p->arena, sizeof *p->ignored_indexes)))
        return sl_nomem();
    atomic_init(p->ignored_indexes, 0);
    SL_TRY(read_footer(p->file, footer, &p->data_end));
    if (!p->ignore_checksums)
        SL_TRY(parquet_footer_check(footer->data, footer->len, p->data_end));
    SL_TRY(parquet_file_metadata_decode(footer->data, footer->len, p->data_end, p->arena, &p->meta));
    if (p->meta.encrypted)
        return sl_unsupported("encrypted Parquet file");
    SL_TRY(parquet_schema_build(&p->meta, p->arena, &p->schema));
    SL_TRY(check_row_groups(p));
    return parquet_describe_chunks(p);
}

sl_status sl_parquet_open(sl_file *file, const struct sl_parquet_open_options *options, sl_parquet **out)
{
    struct sl_parquet *p;
    sl_buf footer = {0};
    SL_NEW(p);
    p->file = file;
    p->ignore_checksums = options && options->ignore_checksums;
    p->runtime = options ? options->runtime : NULL;
    sl_status status = sl_arena_new(&p->arena);
    if (!status)
        status = load(p, &footer);
    sl_buf_free(&footer);
    if (status) {
        sl_parquet_close(p);
        return sl_context(status, "%s", sl_file_path(file));
    }
    *out = p;
    return SL_OK;
}

void sl_parquet_close(sl_parquet *p)
{
    if (!p)
        return;
    sl_type_unref(p->schema.type);
    sl_arena_free(p->arena);
    sl_free(p);
}

const sl_type *sl_parquet_schema(const sl_parquet *p) { return p->schema.type; }
int64_t sl_parquet_rows(const sl_parquet *p) { return p->meta.num_rows; }
size_t sl_parquet_row_groups(const sl_parquet *p) { return p->meta.row_group_count; }
int64_t sl_parquet_row_group_rows(const sl_parquet *p, size_t group)
{
    return p->meta.row_groups[group].num_rows;
}
const char *sl_parquet_created_by(const sl_parquet *p)
{
    return p->meta.created_by ? p->meta.created_by : "";
}
bool sl_parquet_is_ours(const sl_parquet *p) { return strncmp(sl_parquet_created_by(p), "sluice ", 7) == 0; }
size_t sl_parquet_key_values(const sl_parquet *p) { return p->meta.key_value_count; }

void sl_parquet_key_value_at(const sl_parquet *p, size_t index, const char **key, const char **value)
{
    *key = p->meta.key_values[index].key;
    *value = p->meta.key_values[index].value ? p->meta.key_values[index].value : "";
}

/* Where a key occurs twice the last one counts, as in the maps that other readers make of the list. */
const char *sl_parquet_key_value(const sl_parquet *p, const char *key)
{
    for (size_t i = p->meta.key_value_count; i-- > 0;)
        if (strcmp(p->meta.key_values[i].key, key) == 0)
            return p->meta.key_values[i].value ? p->meta.key_values[i].value : "";
    return NULL;
}
