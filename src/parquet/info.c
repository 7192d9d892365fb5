/* Facts of column chunks for `inspect`. */
#include "parquet/read_int.h"

static sl_status describe_encodings(sl_arena *arena, const struct parquet_column_meta *meta, const char **out)
{
    size_t len = 1;
    for (size_t i = 0; i < meta->encoding_count; i++)
        len += strlen(parquet_encoding_name(meta->encodings[i])) + 1;
    char *text = sl_arena_alloc(arena, len), *at = text;
    if (!text)
        return sl_nomem();
    for (size_t i = 0; i < meta->encoding_count; i++) {
        const char *name = parquet_encoding_name(meta->encodings[i]);
        if (i > 0)
            *at++ = ',';
        memcpy(at, name, strlen(name));
        at += strlen(name);
    }
    *at = '\0';
    *out = text;
    return SL_OK;
}

/* Made at opening, since the file is shared by threads afterwards. */
sl_status parquet_describe_chunks(struct sl_parquet *p)
{
    size_t leaves = p->schema.leaf_count, count = p->meta.row_group_count * leaves;
    if (count == 0)
        return SL_OK;
    if (!(p->encodings = sl_arena_alloc(p->arena, count * sizeof *p->encodings)))
        return sl_nomem();
    for (size_t i = 0; i < count; i++)
        SL_TRY(describe_encodings(p->arena, &p->meta.row_groups[i / leaves].columns[i % leaves].meta,
                                  &p->encodings[i]));
    return SL_OK;
}

size_t sl_parquet_leaves(const sl_parquet *p) { return p->schema.leaf_count; }

static bool has_dictionary(const struct parquet_column_meta *meta)
{
    for (size_t i = 0; i < meta->encoding_count; i++)
        if (meta->encodings[i] == PARQUET_PLAIN_DICTIONARY || meta->encodings[i] == PARQUET_RLE_DICTIONARY)
            return true;
    return meta->dictionary_page_offset > 0;
}

sl_status sl_parquet_chunk_info(const sl_parquet *p, size_t group, size_t leaf,
                                struct sl_parquet_chunk_info *out)
{
    if (group >= p->meta.row_group_count || leaf >= p->schema.leaf_count)
        return sl_input("no column chunk %zu in row group %zu", leaf, group);
    const struct parquet_column_chunk *chunk = &p->meta.row_groups[group].columns[leaf];
    *out = (struct sl_parquet_chunk_info){
        .path = p->schema.leaves[leaf].path,
        .physical_type = parquet_physical_name((int)chunk->meta.type),
        .codec = parquet_codec_name(chunk->meta.codec),
        .encodings = p->encodings[group * p->schema.leaf_count + leaf],
        .values = chunk->meta.num_values,
        .compressed_bytes = chunk->meta.total_compressed_size,
        .uncompressed_bytes = chunk->meta.total_uncompressed_size,
        .has_page_index = chunk->offset_index_offset > 0 && chunk->column_index_offset > 0,
        .has_bloom_filter = chunk->meta.bloom_filter_offset > 0,
        .has_dictionary = has_dictionary(&chunk->meta),
        .unencoded_bytes = chunk->meta.has_size_statistics ? chunk->meta.size_statistics.unencoded_bytes : -1,
        .repetition_histogram = chunk->meta.size_statistics.repetition_histogram,
        .definition_histogram = chunk->meta.size_statistics.definition_histogram,
        .repetition_levels = chunk->meta.size_statistics.repetition_levels,
        .definition_levels = chunk->meta.size_statistics.definition_levels,
        .key_values = chunk->meta.key_value_count,
    };
    return SL_OK;
}

void sl_parquet_chunk_key_value_at(const sl_parquet *p, size_t group, size_t leaf, size_t index,
                                   const char **key, const char **value)
{
    const struct parquet_key_value *kv = &p->meta.row_groups[group].columns[leaf].meta.key_values[index];
    *key = kv->key;
    *value = kv->value ? kv->value : "";
}

uint64_t sl_parquet_ignored_indexes(const sl_parquet *p) { return atomic_load(p->ignored_indexes); }
