/* Decoders and encoders of metadata.h: one pair of functions for each struct of the format. */
#include "parquet/metadata.h"
#include "parquet/thrift.h"

/* ---- names --------------------------------------------------------------------------------------------- */

const char *parquet_physical_name(int type)
{
    static const char *const names[] = {"BOOLEAN", "INT32",  "INT64",      "INT96",
                                        "FLOAT",   "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"};
    return type >= 0 && type < 8 ? names[type] : "unknown";
}

const char *parquet_encoding_name(int encoding)
{
    static const char *const names[] = {"PLAIN",
                                        "GROUP_VAR_INT",
                                        "PLAIN_DICTIONARY",
                                        "RLE",
                                        "BIT_PACKED",
                                        "DELTA_BINARY_PACKED",
                                        "DELTA_LENGTH_BYTE_ARRAY",
                                        "DELTA_BYTE_ARRAY",
                                        "RLE_DICTIONARY",
                                        "BYTE_STREAM_SPLIT",
                                        "ALP"};
    return encoding >= 0 && encoding <= 10 ? names[encoding] : "unknown";
}

const char *parquet_codec_name(int codec)
{
    static const char *const names[] = {"UNCOMPRESSED", "SNAPPY", "GZIP", "LZO",
                                        "BROTLI",       "LZ4",    "ZSTD", "LZ4_RAW"};
    return codec >= 0 && codec < 8 ? names[codec] : "unknown";
}

/* ---- decoding ------------------------------------------------------------------------------------------ */

/* A thrift reader and where the results live. */
struct decoder {
    struct thrift_reader r;
    sl_arena *arena;
    bool out_of_memory;
};

static void *alloc_array(struct decoder *d, size_t count, size_t size)
{
    size_t bytes;
    if (count == 0 || d->r.error)
        return NULL;
    void *p = sl_mul_overflows(count, size, &bytes) ? NULL : sl_arena_alloc(d->arena, bytes);
    if (p) {
        memset(p, 0, bytes);
        return p;
    }
    d->out_of_memory = true;
    thrift_fail(&d->r, "out of memory");
    return NULL;
}

static sl_status decoder_status(const struct decoder *d, const char *what, uint64_t offset)
{
    return d->out_of_memory ? sl_nomem() : thrift_reader_status(&d->r, what, offset);
}

static const char *copy_text(struct decoder *d, const uint8_t *data, size_t len)
{
    if (d->r.error)
        return NULL;
    char *copy = sl_arena_strndup(d->arena, len ? (const char *)data : "", len);
    if (!copy) {
        d->out_of_memory = true;
        thrift_fail(&d->r, "out of memory");
    }
    return copy;
}

static const char *read_text(struct decoder *d, const struct thrift_field *f, size_t *len_out)
{
    size_t len;
    const uint8_t *data = thrift_binary(&d->r, f, &len);
    if (len_out)
        *len_out = len;
    return copy_text(d, data, len);
}

static struct parquet_bytes copy_bytes(struct decoder *d, const uint8_t *data, size_t len)
{
    return (struct parquet_bytes){(const uint8_t *)copy_text(d, data, len), len};
}

static struct parquet_bytes read_bytes(struct decoder *d, const struct thrift_field *f)
{
    size_t len;
    const uint8_t *data = thrift_binary(&d->r, f, &len);
    return copy_bytes(d, data, len);
}

static enum parquet_unit decode_unit(struct decoder *d, const struct thrift_field *field)
{
    enum parquet_unit unit = 0;
    struct thrift_field f;
    if (!thrift_is_struct(&d->r, field))
        return unit;
    for (thrift_begin(&d->r, &f); thrift_next(&d->r, &f);) {
        if (f.id >= PARQUET_MILLIS && f.id <= PARQUET_NANOS)
            unit = (enum parquet_unit)f.id;
        thrift_skip(&d->r, f.type);
    }
    return unit;
}

/* The members of the one struct that the LogicalType union holds. */
static void decode_logical_members(struct decoder *d, struct parquet_logical *out)
{
    struct thrift_field f;
    for (thrift_begin(&d->r, &f); thrift_next(&d->r, &f);) {
        if (out->kind == PARQUET_LOGICAL_DECIMAL && f.id == 1)
            out->scale = thrift_i32(&d->r, &f);
        else if (out->kind == PARQUET_LOGICAL_DECIMAL && f.id == 2)
            out->precision = thrift_i32(&d->r, &f);
        else if ((out->kind == PARQUET_LOGICAL_TIME || out->kind == PARQUET_LOGICAL_TIMESTAMP) && f.id == 1)
            out->utc = thrift_bool(&d->r, &f);
        else if ((out->kind == PARQUET_LOGICAL_TIME || out->kind == PARQUET_LOGICAL_TIMESTAMP) && f.id == 2)
            out->unit = decode_unit(d, &f);
        else if (out->kind == PARQUET_LOGICAL_INTEGER && f.id == 1)
            out->bit_width = thrift_i32(&d->r, &f);
        else if (out->kind == PARQUET_LOGICAL_INTEGER && f.id == 2)
            out->is_signed = thrift_bool(&d->r, &f);
        else
            thrift_skip(&d->r, f.type);
    }
}

static void decode_logical(struct decoder *d, const struct thrift_field *field, struct parquet_logical *out)
{
    struct thrift_field f;
    if (!thrift_is_struct(&d->r, field))
        return;
    for (thrift_begin(&d->r, &f); thrift_next(&d->r, &f);) {
        out->kind = (enum parquet_logical_kind)f.id;
        if (f.type == THRIFT_STRUCT)
            decode_logical_members(d, out);
        else
            thrift_skip(&d->r, f.type);
    }
}

static void decode_schema_element(struct decoder *d, struct parquet_schema_element *e)
{
    struct thrift_field f;
    e->converted = PARQUET_CONVERTED_NONE;
    for (thrift_begin(&d->r, &f); thrift_next(&d->r, &f);) {
        switch (f.id) {
        case 1:
            e->has_type = true;
            e->type = (enum parquet_physical)thrift_i32(&d->r, &f);
            break;
        case 2:
            e->type_length = thrift_i32(&d->r, &f);
            break;
        case 3:
            e->has_repetition = true;
            e->repetition = (enum parquet_repetition)thrift_i32(&d->r, &f);
            break;
        case 4:
            e->name = read_text(d, &f, NULL);
            break;
        case 5:
            e->children = thrift_i32(&d->r, &f);
            break;
        case 6:
            e->converted = thrift_i32(&d->r, &f);
            break;
        case 7:
            e->has_scale = true;
            e->scale = thrift_i32(&d->r, &f);
            break;
        case 8:
            e->has_precision = true;
            e->precision = thrift_i32(&d->r, &f);
            break;
        case 9:
            e->has_field_id = true;
            e->field_id = thrift_i32(&d->r, &f);
            break;
        case 10:
            decode_logical(d, &f, &e->logical);
            break;
        default:
            thrift_skip(&d->r, f.type);
        }
    }
    if (!e->name)
        thrift_fail(&d->r, "schema element without name");
}

static void decode_statistics(struct decoder *d, const struct thrift_field *field,
                              struct parquet_statistics *s)
{
    struct thrift_field f;
    s->max_exact = s->min_exact = -1;
    if (!thrift_is_struct(&d->r, field))
        return;
    for (thrift_begin(&d->r, &f); thrift_next(&d->r, &f);) {
        switch (f.id) {
        case 1:
            s->max = read_bytes(d, &f);
            break;
        case 2:
            s->min = read_bytes(d, &f);
            break;
        case 3:
            s->has_null_count = true;
            s->null_count = thrift_i64(&d->r, &f);
            break;
        case 4:
            s->has_distinct_count = true;
            s->distinct_count = thrift_i64(&d->r, &f);
            break;
        case 5:
            s->max_value = read_bytes(d, &f);
            break;
        case 6:
            s->min_value = read_bytes(d, &f);
            break;
        case 7:
            s->max_exact = thrift_bool(&d->r, &f);
            break;
        case 8:
            s->min_exact = thrift_bool(&d->r, &f);
            break;
        case 9:
            s->has_nan_count = true;
            s->nan_count = thrift_i64(&d->r, &f);
            break;
        default:
            thrift_skip(&d->r, f.type);
        }
    }
}

static void decode_key_value(struct decoder *d, struct parquet_key_value *kv)
{
    struct thrift_field f;
    for (thrift_begin(&d->r, &f); thrift_next(&d->r, &f);) {
        if (f.id == 1)
            kv->key = read_text(d, &f, NULL);
        else if (f.id == 2)
            kv->value = read_text(d, &f, &kv->value_len);
        else
            thrift_skip(&d->r, f.type);
    }
    if (!kv->key)
        thrift_fail(&d->r, "key-value pair without key");
}

static struct parquet_key_value *decode_key_values(struct decoder *d, const struct thrift_field *f,
                                                   size_t *count)
{
    *count = thrift_list(&d->r, f, THRIFT_STRUCT, 3);
    struct parquet_key_value *list = alloc_array(d, *count, sizeof *list);
    for (size_t i = 0; i < *count && !d->r.error; i++)
        decode_key_value(d, &list[i]);
    return list;
}

static const int32_t *decode_i32_list(struct decoder *d, const struct thrift_field *f, size_t *count)
{
    *count = thrift_list(&d->r, f, THRIFT_I32, 1);
    int32_t *list = alloc_array(d, *count, sizeof *list);
    for (size_t i = 0; i < *count && !d->r.error; i++)
        list[i] = (int32_t)thrift_element_i64(&d->r);
    return list;
}

static const char *const *decode_text_list(struct decoder *d, const struct thrift_field *f, size_t *count)
{
    *count = thrift_list(&d->r, f, THRIFT_BINARY, 1);
    const char **list = alloc_array(d, *count, sizeof *list);
    for (size_t i = 0; i < *count && !d->r.error; i++) {
        size_t len;
        const uint8_t *data = thrift_element_binary(&d->r, &len);
        list[i] = copy_text(d, data, len);
    }
    return list;
}

static const struct parquet_encoding_stats *
decode_encoding_stats(struct decoder *d, const struct thrift_field *field, size_t *count)
{
    *count = thrift_list(&d->r, field, THRIFT_STRUCT, 1);
    struct parquet_encoding_stats *list = alloc_array(d, *count, sizeof *list);
    for (size_t i = 0; i < *count && !d->r.error; i++) {
        struct thrift_field f;
        for (thrift_begin(&d->r, &f); thrift_next(&d->r, &f);) {
            if (f.id == 1)
                list[i].page_type = thrift_i32(&d->r, &f);
            else if (f.id == 2)
                list[i].encoding = thrift_i32(&d->r, &f);
            else if (f.id == 3)
                list[i].count = thrift_i32(&d->r, &f);
            else
                thrift_skip(&d->r, f.type);
        }
    }
    return list;
}

static int64_t *decode_i64_list(struct decoder *d, const struct thrift_field *f, size_t *count)
{
    *count = thrift_list(&d->r, f, THRIFT_I64, 1);
    int64_t *list = alloc_array(d, *count, sizeof *list);
    for (size_t i = 0; i < *count && !d->r.error; i++)
        list[i] = thrift_element_i64(&d->r);
    return list;
}

static void decode_size_statistics(struct decoder *d, const struct thrift_field *field,
                                   struct parquet_size_statistics *out)
{
    struct thrift_field f;
    out->unencoded_bytes = -1;
    if (!thrift_is_struct(&d->r, field))
        return;
    for (thrift_begin(&d->r, &f); thrift_next(&d->r, &f);) {
        if (f.id == 1)
            out->unencoded_bytes = thrift_i64(&d->r, &f);
        else if (f.id == 2)
            out->repetition_histogram = decode_i64_list(d, &f, &out->repetition_levels);
        else if (f.id == 3)
            out->definition_histogram = decode_i64_list(d, &f, &out->definition_levels);
        else
            thrift_skip(&d->r, f.type);
    }
}

static void decode_column_meta(struct decoder *d, struct parquet_column_meta *m)
{
    enum { REQUIRED = 1u << 1 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 7 | 1u << 9 };
    unsigned seen = 0;
    struct thrift_field f;
    m->index_page_offset = m->dictionary_page_offset = m->bloom_filter_offset = -1;
    m->bloom_filter_length = -1;
    for (thrift_begin(&d->r, &f); thrift_next(&d->r, &f);) {
        if (f.id >= 0 && f.id < 32)
            seen |= 1u << f.id;
        switch (f.id) {
        case 1:
            m->type = (enum parquet_physical)thrift_i32(&d->r, &f);
            break;
        case 2:
            m->encodings = decode_i32_list(d, &f, &m->encoding_count);
            break;
        case 3:
            m->path = decode_text_list(d, &f, &m->path_count);
            break;
        case 4:
            m->codec = thrift_i32(&d->r, &f);
            break;
        case 5:
            m->num_values = thrift_i64(&d->r, &f);
            break;
        case 6:
            m->total_uncompressed_size = thrift_i64(&d->r, &f);
            break;
        case 7:
            m->total_compressed_size = thrift_i64(&d->r, &f);
            break;
        case 8:
            m->key_values = decode_key_values(d, &f, &m->key_value_count);
            break;
        case 9:
            m->data_page_offset = thrift_i64(&d->r, &f);
            break;
        case 10:
            m->index_page_offset = thrift_i64(&d->r, &f);
            break;
        case 11:
            m->dictionary_page_offset = thrift_i64(&d->r, &f);
            break;
        case 12:
            m->has_statistics = true;
            decode_statistics(d, &f, &m->statistics);
            break;
        case 13:
            m->encoding_stats = decode_encoding_stats(d, &f, &m->encoding_stats_count);
            break;
        case 14:
            m->bloom_filter_offset = thrift_i64(&d->r, &f);
            break;
        case 15:
            if (f.type == THRIFT_I32) /* before the id was given out, a fork had a list here */
                m->bloom_filter_length = thrift_i32(&d->r, &f);
            else
                thrift_skip(&d->r, f.type);
            break;
        case 16:
            m->has_size_statistics = true;
            decode_size_statistics(d, &f, &m->size_statistics);
            break;
        default:
            thrift_skip(&d->r, f.type);
        }
    }
    if ((seen & REQUIRED) != REQUIRED)
        thrift_fail(&d->r, "column metadata lacks a required field");
    else if (m->num_values < 0 || m->total_compressed_size < 0 || m->total_uncompressed_size < 0)
        thrift_fail(&d->r, "column metadata with a negative size");
}

static void decode_column_chunk(struct decoder *d, struct parquet_column_chunk *c)
{
    struct thrift_field f;
    c->offset_index_offset = c->column_index_offset = -1;
    for (thrift_begin(&d->r, &f); thrift_next(&d->r, &f);) {
        switch (f.id) {
        case 1:
            c->file_path = read_text(d, &f, NULL);
            break;
        case 2:
            c->file_offset = thrift_i64(&d->r, &f);
            break;
        case 3:
            c->has_meta = true;
            if (thrift_is_struct(&d->r, &f))
                decode_column_meta(d, &c->meta);
            break;
        case 4:
            c->offset_index_offset = thrift_i64(&d->r, &f);
            break;
        case 5:
            c->offset_index_length = thrift_i32(&d->r, &f);
            break;
        case 6:
            c->column_index_offset = thrift_i64(&d->r, &f);
            break;
        case 7:
            c->column_index_length = thrift_i32(&d->r, &f);
            break;
        case 8:
        case 9:
            c->encrypted = true;
            thrift_skip(&d->r, f.type);
            break;
        default:
            thrift_skip(&d->r, f.type);
        }
    }
}

static const struct parquet_sorting_column *decode_sorting(struct decoder *d,
                                                           const struct thrift_field *field, size_t *count)
{
    *count = thrift_list(&d->r, field, THRIFT_STRUCT, 1);
    struct parquet_sorting_column *list = alloc_array(d, *count, sizeof *list);
    for (size_t i = 0; i < *count && !d->r.error; i++) {
        struct thrift_field f;
        for (thrift_begin(&d->r, &f); thrift_next(&d->r, &f);) {
            if (f.id == 1)
                list[i].column = thrift_i32(&d->r, &f);
            else if (f.id == 2)
                list[i].descending = thrift_bool(&d->r, &f);
            else if (f.id == 3)
                list[i].nulls_first = thrift_bool(&d->r, &f);
            else
                thrift_skip(&d->r, f.type);
        }
    }
    return list;
}

static void decode_row_group(struct decoder *d, struct parquet_row_group *g)
{
    struct thrift_field f;
    bool has_rows = false;
    g->file_offset = g->total_compressed_size = -1;
    g->ordinal = -1;
    for (thrift_begin(&d->r, &f); thrift_next(&d->r, &f);) {
        switch (f.id) {
        case 1:
            g->column_count = thrift_list(&d->r, &f, THRIFT_STRUCT, 3);
            g->columns = alloc_array(d, g->column_count, sizeof *g->columns);
            for (size_t i = 0; i < g->column_count && !d->r.error; i++)
                decode_column_chunk(d, &g->columns[i]);
            break;
        case 2:
            g->total_byte_size = thrift_i64(&d->r, &f);
            break;
        case 3:
            has_rows = true;
            g->num_rows = thrift_i64(&d->r, &f);
            break;
        case 4:
            g->sorting = decode_sorting(d, &f, &g->sorting_count);
            break;
        case 5:
            g->file_offset = thrift_i64(&d->r, &f);
            break;
        case 6:
            g->total_compressed_size = thrift_i64(&d->r, &f);
            break;
        case 7:
            g->ordinal = thrift_i32(&d->r, &f);
            break;
        default:
            thrift_skip(&d->r, f.type);
        }
    }
    if (!has_rows)
        thrift_fail(&d->r, "row group without row count");
    else if (g->num_rows < 0)
        thrift_fail(&d->r, "negative row count");
}

static uint8_t decode_column_order(struct decoder *d)
{
    uint8_t order = PARQUET_ORDER_UNKNOWN;
    struct thrift_field f;
    for (thrift_begin(&d->r, &f); thrift_next(&d->r, &f);) {
        if (f.id >= PARQUET_ORDER_TYPE && f.id <= PARQUET_ORDER_INT96_TIMESTAMP)
            order = (uint8_t)f.id;
        thrift_skip(&d->r, f.type);
    }
    return order;
}

static void decode_column_orders(struct decoder *d, const struct thrift_field *f,
                                 struct parquet_file_metadata *m)
{
    m->has_column_orders = true;
    m->column_order_count = thrift_list(&d->r, f, THRIFT_STRUCT, 1);
    uint8_t *orders = alloc_array(d, m->column_order_count, 1);
    for (size_t i = 0; i < m->column_order_count && !d->r.error; i++)
        orders[i] = decode_column_order(d);
    m->column_orders = orders;
}

static void decode_file_metadata(struct decoder *d, struct parquet_file_metadata *m)
{
    struct thrift_field f;
    bool has_rows = false;
    for (thrift_begin(&d->r, &f); thrift_next(&d->r, &f);) {
        switch (f.id) {
        case 1:
            m->version = thrift_i32(&d->r, &f);
            break;
        case 2:
            m->schema_count = thrift_list(&d->r, &f, THRIFT_STRUCT, 3);
            m->schema = alloc_array(d, m->schema_count, sizeof *m->schema);
            for (size_t i = 0; i < m->schema_count && !d->r.error; i++)
                decode_schema_element(d, &m->schema[i]);
            break;
        case 3:
            has_rows = true;
            m->num_rows = thrift_i64(&d->r, &f);
            break;
        case 4:
            m->row_group_count = thrift_list(&d->r, &f, THRIFT_STRUCT, 3);
            m->row_groups = alloc_array(d, m->row_group_count, sizeof *m->row_groups);
            for (size_t i = 0; i < m->row_group_count && !d->r.error; i++)
                decode_row_group(d, &m->row_groups[i]);
            break;
        case 5:
            m->key_values = decode_key_values(d, &f, &m->key_value_count);
            break;
        case 6:
            m->created_by = read_text(d, &f, NULL);
            break;
        case 7:
            decode_column_orders(d, &f, m);
            break;
        case 8:
        case 9:
            m->encrypted = true;
            thrift_skip(&d->r, f.type);
            break;
        default:
            thrift_skip(&d->r, f.type);
        }
    }
    if (!has_rows || m->schema_count == 0)
        thrift_fail(&d->r, "schema or row count missing");
}

sl_status parquet_file_metadata_decode(const uint8_t *data, size_t len, uint64_t file_offset, sl_arena *arena,
                                       struct parquet_file_metadata *out)
{
    struct decoder d = {.arena = arena};
    thrift_reader_init(&d.r, data, len);
    *out = (struct parquet_file_metadata){0};
    decode_file_metadata(&d, out);
    return decoder_status(&d, "file footer", file_offset);
}

static void decode_data_page_header(struct thrift_reader *r, struct parquet_page_header *h)
{
    struct thrift_field f;
    for (thrift_begin(r, &f); thrift_next(r, &f);) {
        switch (f.id) {
        case 1:
            h->num_values = thrift_i32(r, &f);
            break;
        case 2:
            h->encoding = thrift_i32(r, &f);
            break;
        case 3:
            h->definition_encoding = thrift_i32(r, &f);
            break;
        case 4:
            h->repetition_encoding = thrift_i32(r, &f);
            break;
        default:
            thrift_skip(r, f.type);
        }
    }
}

static void decode_data_page_header_v2(struct thrift_reader *r, struct parquet_page_header *h)
{
    struct thrift_field f;
    for (thrift_begin(r, &f); thrift_next(r, &f);) {
        switch (f.id) {
        case 1:
            h->num_values = thrift_i32(r, &f);
            break;
        case 2:
            h->num_nulls = thrift_i32(r, &f);
            break;
        case 3:
            h->num_rows = thrift_i32(r, &f);
            break;
        case 4:
            h->encoding = thrift_i32(r, &f);
            break;
        case 5:
            h->definition_bytes = thrift_i32(r, &f);
            break;
        case 6:
            h->repetition_bytes = thrift_i32(r, &f);
            break;
        case 7:
            h->is_compressed = thrift_bool(r, &f);
            break;
        default:
            thrift_skip(r, f.type);
        }
    }
    h->definition_encoding = h->repetition_encoding = PARQUET_RLE;
}

static void decode_dictionary_page_header(struct thrift_reader *r, struct parquet_page_header *h)
{
    struct thrift_field f;
    for (thrift_begin(r, &f); thrift_next(r, &f);) {
        if (f.id == 1)
            h->num_values = thrift_i32(r, &f);
        else if (f.id == 2)
            h->encoding = thrift_i32(r, &f);
        else if (f.id == 3)
            h->is_sorted = thrift_bool(r, &f);
        else
            thrift_skip(r, f.type);
    }
}

/* Which page types' own headers were there, as bits. */
static unsigned decode_page_header(struct thrift_reader *r, struct parquet_page_header *h)
{
    unsigned seen = 0;
    struct thrift_field f;
    for (thrift_begin(r, &f); thrift_next(r, &f);) {
        switch (f.id) {
        case 1:
            h->type = thrift_i32(r, &f);
            break;
        case 2:
            h->uncompressed_size = thrift_i32(r, &f);
            break;
        case 3:
            h->compressed_size = thrift_i32(r, &f);
            break;
        case 4:
            h->has_crc = true;
            h->crc = (uint32_t)thrift_i32(r, &f);
            break;
        case 5:
            if (thrift_is_struct(r, &f))
                decode_data_page_header(r, h);
            seen |= 1u << PARQUET_PAGE_DATA;
            break;
        case 7:
            if (thrift_is_struct(r, &f))
                decode_dictionary_page_header(r, h);
            seen |= 1u << PARQUET_PAGE_DICTIONARY;
            break;
        case 8:
            if (thrift_is_struct(r, &f))
                decode_data_page_header_v2(r, h);
            seen |= 1u << PARQUET_PAGE_DATA_V2;
            break;
        default:
            thrift_skip(r, f.type);
        }
    }
    return seen;
}

static void check_page_header(struct thrift_reader *r, const struct parquet_page_header *h, unsigned seen)
{
    if (r->error)
        return;
    bool known =
        h->type == PARQUET_PAGE_DATA || h->type == PARQUET_PAGE_DICTIONARY || h->type == PARQUET_PAGE_DATA_V2;
    if (known && !(seen & 1u << h->type))
        thrift_fail(r, "page header lacks the part for its page type");
    else if (h->uncompressed_size < 0 || h->compressed_size < 0 || h->num_values < 0 || h->num_nulls < 0 ||
             h->num_rows < 0 || h->definition_bytes < 0 || h->repetition_bytes < 0)
        thrift_fail(r, "page header with a negative size");
}

sl_status parquet_page_header_decode(const uint8_t *data, size_t len, uint64_t file_offset,
                                     struct parquet_page_header *out, size_t *header_bytes, bool *truncated)
{
    struct thrift_reader r;
    struct parquet_page_header header = {.type = -1, .is_compressed = true};
    thrift_reader_init(&r, data, len);
    unsigned seen = decode_page_header(&r, &header);
    check_page_header(&r, &header, seen);
    if (truncated) {
        *truncated = r.truncated;
        if (r.truncated)
            return SL_OK;
    }
    SL_TRY(thrift_reader_status(&r, "page header", file_offset));
    *out = header;
    *header_bytes = thrift_used(&r);
    return SL_OK;
}

static void decode_page_location(struct thrift_reader *r, struct parquet_page_location *l)
{
    struct thrift_field f;
    for (thrift_begin(r, &f); thrift_next(r, &f);) {
        if (f.id == 1)
            l->offset = thrift_i64(r, &f);
        else if (f.id == 2)
            l->compressed_size = thrift_i32(r, &f);
        else if (f.id == 3)
            l->first_row = thrift_i64(r, &f);
        else
            thrift_skip(r, f.type);
    }
}

sl_status parquet_offset_index_decode(const uint8_t *data, size_t len, uint64_t file_offset, sl_arena *arena,
                                      struct parquet_offset_index *out)
{
    struct decoder d = {.arena = arena};
    struct thrift_field f;
    thrift_reader_init(&d.r, data, len);
    *out = (struct parquet_offset_index){0};
    size_t unencoded = 0;
    for (thrift_begin(&d.r, &f); thrift_next(&d.r, &f);) {
        if (f.id == 2) {
            out->unencoded_bytes = decode_i64_list(&d, &f, &unencoded);
            continue;
        }
        if (f.id != 1) {
            thrift_skip(&d.r, f.type);
            continue;
        }
        out->page_count = thrift_list(&d.r, &f, THRIFT_STRUCT, 7);
        out->pages = alloc_array(&d, out->page_count, sizeof *out->pages);
        for (size_t i = 0; i < out->page_count && !d.r.error; i++)
            decode_page_location(&d.r, &out->pages[i]);
    }
    if (unencoded != out->page_count)
        out->unencoded_bytes = NULL;
    return decoder_status(&d, "offset index", file_offset);
}

static struct parquet_bytes *decode_bytes_list(struct decoder *d, const struct thrift_field *f, size_t *count)
{
    *count = thrift_list(&d->r, f, THRIFT_BINARY, 1);
    struct parquet_bytes *list = alloc_array(d, *count, sizeof *list);
    for (size_t i = 0; i < *count && !d->r.error; i++) {
        size_t len;
        const uint8_t *data = thrift_element_binary(&d->r, &len);
        list[i] = copy_bytes(d, data, len);
    }
    return list;
}

static bool *decode_bool_list(struct decoder *d, const struct thrift_field *f, size_t *count)
{
    *count = thrift_list(&d->r, f, THRIFT_TRUE, 1);
    bool *list = alloc_array(d, *count, sizeof *list);
    for (size_t i = 0; i < *count && !d->r.error; i++)
        list[i] = thrift_element_bool(&d->r);
    return list;
}

sl_status parquet_column_index_decode(const uint8_t *data, size_t len, uint64_t file_offset, sl_arena *arena,
                                      struct parquet_column_index *out)
{
    struct decoder d = {.arena = arena};
    struct thrift_field f;
    size_t mins = 0, maxs = 0, nulls = 0, nans = 0;
    thrift_reader_init(&d.r, data, len);
    *out = (struct parquet_column_index){0};
    for (thrift_begin(&d.r, &f); thrift_next(&d.r, &f);) {
        switch (f.id) {
        case 1:
            out->null_pages = decode_bool_list(&d, &f, &out->page_count);
            break;
        case 2:
            out->min_values = decode_bytes_list(&d, &f, &mins);
            break;
        case 3:
            out->max_values = decode_bytes_list(&d, &f, &maxs);
            break;
        case 4:
            out->boundary_order = thrift_i32(&d.r, &f);
            break;
        case 5:
            out->null_counts = decode_i64_list(&d, &f, &nulls);
            break;
        case 8:
            out->nan_counts = decode_i64_list(&d, &f, &nans);
            break;
        default:
            thrift_skip(&d.r, f.type);
        }
    }
    if (mins != out->page_count || maxs != out->page_count || (out->null_counts && nulls != out->page_count) ||
        (out->nan_counts && nans != out->page_count))
        thrift_fail(&d.r, "lists of different lengths");
    return decoder_status(&d, "column index", file_offset);
}

/* Unions of one empty struct each: algorithm, hash and compression of a Bloom filter. *member gets the id. */
static void decode_empty_union(struct thrift_reader *r, const struct thrift_field *field, int *member)
{
    struct thrift_field f;
    if (!thrift_is_struct(r, field))
        return;
    for (thrift_begin(r, &f); thrift_next(r, &f);) {
        *member = f.id;
        thrift_skip(r, f.type);
    }
}

sl_status parquet_bloom_header_decode(const uint8_t *data, size_t len, uint64_t file_offset,
                                      int32_t *filter_bytes, size_t *header_bytes)
{
    struct thrift_reader r;
    struct thrift_field f;
    int algorithm = 0, hash = 0, compression = 0;
    int32_t bytes = -1;
    thrift_reader_init(&r, data, len);
    for (thrift_begin(&r, &f); thrift_next(&r, &f);) {
        if (f.id == 1)
            bytes = thrift_i32(&r, &f);
        else if (f.id == 2)
            decode_empty_union(&r, &f, &algorithm);
        else if (f.id == 3)
            decode_empty_union(&r, &f, &hash);
        else if (f.id == 4)
            decode_empty_union(&r, &f, &compression);
        else
            thrift_skip(&r, f.type);
    }
    SL_TRY(thrift_reader_status(&r, "Bloom filter header", file_offset));
    if (algorithm != 1 || hash != 1 || compression != 1)
        return sl_unsupported("Bloom filter of algorithm %d, hash %d, compression %d", algorithm, hash,
                              compression);
    if (bytes <= 0 || bytes % 32 != 0)
        return sl_corrupt("Bloom filter of %" PRId32 " bytes at %" PRIu64, bytes, file_offset);
    *filter_bytes = bytes;
    *header_bytes = thrift_used(&r);
    return SL_OK;
}

/* ---- encoding ------------------------------------------------------------------------------------------ */

static void put_empty_struct(struct thrift_writer *w, int id)
{
    thrift_begin_struct_field(w, id);
    thrift_end_struct(w);
}

static void put_bytes_present(struct thrift_writer *w, int id, struct parquet_bytes bytes)
{
    if (bytes.data)
        thrift_put_binary(w, id, bytes.data, bytes.len);
}

static void encode_logical(struct thrift_writer *w, int id, const struct parquet_logical *l)
{
    if (l->kind == PARQUET_LOGICAL_NONE)
        return;
    thrift_begin_struct_field(w, id);
    thrift_begin_struct_field(w, (int)l->kind);
    switch (l->kind) {
    case PARQUET_LOGICAL_DECIMAL:
        thrift_put_i32(w, 1, l->scale);
        thrift_put_i32(w, 2, l->precision);
        break;
    case PARQUET_LOGICAL_TIME:
    case PARQUET_LOGICAL_TIMESTAMP:
        thrift_put_bool(w, 1, l->utc);
        thrift_begin_struct_field(w, 2);
        put_empty_struct(w, (int)l->unit);
        thrift_end_struct(w);
        break;
    case PARQUET_LOGICAL_INTEGER:
        thrift_put_i8(w, 1, (int8_t)l->bit_width);
        thrift_put_bool(w, 2, l->is_signed);
        break;
    default:
        break;
    }
    thrift_end_struct(w);
    thrift_end_struct(w);
}

static void encode_schema_element(struct thrift_writer *w, const struct parquet_schema_element *e)
{
    thrift_begin_struct(w);
    if (e->has_type)
        thrift_put_i32(w, 1, (int32_t)e->type);
    if (e->has_type && e->type == PARQUET_FIXED)
        thrift_put_i32(w, 2, e->type_length);
    if (e->has_repetition)
        thrift_put_i32(w, 3, (int32_t)e->repetition);
    thrift_put_string(w, 4, e->name);
    if (!e->has_type)
        thrift_put_i32(w, 5, e->children);
    if (e->converted != PARQUET_CONVERTED_NONE)
        thrift_put_i32(w, 6, e->converted);
    if (e->has_scale)
        thrift_put_i32(w, 7, e->scale);
    if (e->has_precision)
        thrift_put_i32(w, 8, e->precision);
    if (e->has_field_id)
        thrift_put_i32(w, 9, e->field_id);
    encode_logical(w, 10, &e->logical);
    thrift_end_struct(w);
}

static void encode_statistics(struct thrift_writer *w, int id, const struct parquet_statistics *s)
{
    thrift_begin_struct_field(w, id);
    put_bytes_present(w, 1, s->max);
    put_bytes_present(w, 2, s->min);
    if (s->has_null_count)
        thrift_put_i64(w, 3, s->null_count);
    if (s->has_distinct_count)
        thrift_put_i64(w, 4, s->distinct_count);
    put_bytes_present(w, 5, s->max_value);
    put_bytes_present(w, 6, s->min_value);
    if (s->max_exact >= 0)
        thrift_put_bool(w, 7, s->max_exact > 0);
    if (s->min_exact >= 0)
        thrift_put_bool(w, 8, s->min_exact > 0);
    if (s->has_nan_count)
        thrift_put_i64(w, 9, s->nan_count);
    thrift_end_struct(w);
}

static void encode_key_values(struct thrift_writer *w, int id, const struct parquet_key_value *list,
                              size_t count)
{
    if (count == 0)
        return;
    thrift_put_list(w, id, THRIFT_STRUCT, count);
    for (size_t i = 0; i < count; i++) {
        thrift_begin_struct(w);
        thrift_put_string(w, 1, list[i].key);
        if (list[i].value)
            thrift_put_binary(w, 2, list[i].value, list[i].value_len);
        thrift_end_struct(w);
    }
}

static void encode_encoding_stats(struct thrift_writer *w, int id, const struct parquet_column_meta *m)
{
    if (m->encoding_stats_count == 0)
        return;
    thrift_put_list(w, id, THRIFT_STRUCT, m->encoding_stats_count);
    for (size_t i = 0; i < m->encoding_stats_count; i++) {
        thrift_begin_struct(w);
        thrift_put_i32(w, 1, m->encoding_stats[i].page_type);
        thrift_put_i32(w, 2, m->encoding_stats[i].encoding);
        thrift_put_i32(w, 3, m->encoding_stats[i].count);
        thrift_end_struct(w);
    }
}

static void encode_i64_list(struct thrift_writer *w, int id, const int64_t *counts, size_t levels)
{
    if (levels == 0)
        return;
    thrift_put_list(w, id, THRIFT_I64, levels);
    for (size_t i = 0; i < levels; i++)
        thrift_put_element_i64(w, counts[i]);
}

static void encode_size_statistics(struct thrift_writer *w, int id, const struct parquet_size_statistics *s)
{
    thrift_begin_struct_field(w, id);
    if (s->unencoded_bytes >= 0)
        thrift_put_i64(w, 1, s->unencoded_bytes);
    encode_i64_list(w, 2, s->repetition_histogram, s->repetition_levels);
    encode_i64_list(w, 3, s->definition_histogram, s->definition_levels);
    thrift_end_struct(w);
}

static void encode_column_meta(struct thrift_writer *w, int id, const struct parquet_column_meta *m)
{
    thrift_begin_struct_field(w, id);
    thrift_put_i32(w, 1, (int32_t)m->type);
    thrift_put_list(w, 2, THRIFT_I32, m->encoding_count);
    for (size_t i = 0; i < m->encoding_count; i++)
        thrift_put_element_i32(w, m->encodings[i]);
    thrift_put_list(w, 3, THRIFT_BINARY, m->path_count);
    for (size_t i = 0; i < m->path_count; i++)
        thrift_put_element_binary(w, m->path[i], strlen(m->path[i]));
    thrift_put_i32(w, 4, m->codec);
    thrift_put_i64(w, 5, m->num_values);
    thrift_put_i64(w, 6, m->total_uncompressed_size);
    thrift_put_i64(w, 7, m->total_compressed_size);
    encode_key_values(w, 8, m->key_values, m->key_value_count);
    thrift_put_i64(w, 9, m->data_page_offset);
    if (m->index_page_offset >= 0)
        thrift_put_i64(w, 10, m->index_page_offset);
    if (m->dictionary_page_offset >= 0)
        thrift_put_i64(w, 11, m->dictionary_page_offset);
    if (m->has_statistics)
        encode_statistics(w, 12, &m->statistics);
    encode_encoding_stats(w, 13, m);
    if (m->bloom_filter_offset >= 0)
        thrift_put_i64(w, 14, m->bloom_filter_offset);
    if (m->bloom_filter_length >= 0)
        thrift_put_i32(w, 15, m->bloom_filter_length);
    if (m->has_size_statistics)
        encode_size_statistics(w, 16, &m->size_statistics);
    thrift_end_struct(w);
}

static void encode_column_chunk(struct thrift_writer *w, const struct parquet_column_chunk *c)
{
    thrift_begin_struct(w);
    if (c->file_path)
        thrift_put_string(w, 1, c->file_path);
    thrift_put_i64(w, 2, c->file_offset);
    if (c->has_meta)
        encode_column_meta(w, 3, &c->meta);
    if (c->offset_index_offset >= 0) {
        thrift_put_i64(w, 4, c->offset_index_offset);
        thrift_put_i32(w, 5, c->offset_index_length);
    }
    if (c->column_index_offset >= 0) {
        thrift_put_i64(w, 6, c->column_index_offset);
        thrift_put_i32(w, 7, c->column_index_length);
    }
    thrift_end_struct(w);
}

static void encode_row_group(struct thrift_writer *w, const struct parquet_row_group *g)
{
    thrift_begin_struct(w);
    thrift_put_list(w, 1, THRIFT_STRUCT, g->column_count);
    for (size_t i = 0; i < g->column_count; i++)
        encode_column_chunk(w, &g->columns[i]);
    thrift_put_i64(w, 2, g->total_byte_size);
    thrift_put_i64(w, 3, g->num_rows);
    if (g->sorting_count > 0) {
        thrift_put_list(w, 4, THRIFT_STRUCT, g->sorting_count);
        for (size_t i = 0; i < g->sorting_count; i++) {
            thrift_begin_struct(w);
            thrift_put_i32(w, 1, g->sorting[i].column);
            thrift_put_bool(w, 2, g->sorting[i].descending);
            thrift_put_bool(w, 3, g->sorting[i].nulls_first);
            thrift_end_struct(w);
        }
    }
    if (g->file_offset >= 0)
        thrift_put_i64(w, 5, g->file_offset);
    if (g->total_compressed_size >= 0)
        thrift_put_i64(w, 6, g->total_compressed_size);
    if (g->ordinal >= 0)
        thrift_put_i16(w, 7, (int16_t)(g->ordinal & 0x7fff));
    thrift_end_struct(w);
}

sl_status parquet_file_metadata_encode(const struct parquet_file_metadata *m, sl_buf *out)
{
    struct thrift_writer w;
    thrift_writer_init(&w, out);
    thrift_begin_struct(&w);
    thrift_put_i32(&w, 1, m->version);
    thrift_put_list(&w, 2, THRIFT_STRUCT, m->schema_count);
    for (size_t i = 0; i < m->schema_count; i++)
        encode_schema_element(&w, &m->schema[i]);
    thrift_put_i64(&w, 3, m->num_rows);
    thrift_put_list(&w, 4, THRIFT_STRUCT, m->row_group_count);
    for (size_t i = 0; i < m->row_group_count; i++)
        encode_row_group(&w, &m->row_groups[i]);
    encode_key_values(&w, 5, m->key_values, m->key_value_count);
    if (m->created_by)
        thrift_put_string(&w, 6, m->created_by);
    if (m->has_column_orders) {
        thrift_put_list(&w, 7, THRIFT_STRUCT, m->column_order_count);
        for (size_t i = 0; i < m->column_order_count; i++) {
            thrift_begin_struct(&w);
            if (m->column_orders[i] != PARQUET_ORDER_UNKNOWN)
                put_empty_struct(&w, m->column_orders[i]);
            thrift_end_struct(&w);
        }
    }
    thrift_end_struct(&w);
    return thrift_writer_status(&w);
}

static void encode_data_page_header(struct thrift_writer *w, const struct parquet_page_header *h)
{
    thrift_begin_struct_field(w, 5);
    thrift_put_i32(w, 1, h->num_values);
    thrift_put_i32(w, 2, h->encoding);
    thrift_put_i32(w, 3, h->definition_encoding);
    thrift_put_i32(w, 4, h->repetition_encoding);
    if (h->statistics)
        encode_statistics(w, 5, h->statistics);
    thrift_end_struct(w);
}

static void encode_data_page_header_v2(struct thrift_writer *w, const struct parquet_page_header *h)
{
    thrift_begin_struct_field(w, 8);
    thrift_put_i32(w, 1, h->num_values);
    thrift_put_i32(w, 2, h->num_nulls);
    thrift_put_i32(w, 3, h->num_rows);
    thrift_put_i32(w, 4, h->encoding);
    thrift_put_i32(w, 5, h->definition_bytes);
    thrift_put_i32(w, 6, h->repetition_bytes);
    if (!h->is_compressed)
        thrift_put_bool(w, 7, false);
    if (h->statistics)
        encode_statistics(w, 8, h->statistics);
    thrift_end_struct(w);
}

static void encode_dictionary_page_header(struct thrift_writer *w, const struct parquet_page_header *h)
{
    thrift_begin_struct_field(w, 7);
    thrift_put_i32(w, 1, h->num_values);
    thrift_put_i32(w, 2, h->encoding);
    if (h->is_sorted)
        thrift_put_bool(w, 3, true);
    thrift_end_struct(w);
}

sl_status parquet_page_header_encode(const struct parquet_page_header *h, sl_buf *out)
{
    struct thrift_writer w;
    thrift_writer_init(&w, out);
    thrift_begin_struct(&w);
    thrift_put_i32(&w, 1, h->type);
    thrift_put_i32(&w, 2, h->uncompressed_size);
    thrift_put_i32(&w, 3, h->compressed_size);
    if (h->has_crc)
        thrift_put_i32(&w, 4, (int32_t)h->crc);
    if (h->type == PARQUET_PAGE_DATA)
        encode_data_page_header(&w, h);
    else if (h->type == PARQUET_PAGE_DICTIONARY)
        encode_dictionary_page_header(&w, h);
    else if (h->type == PARQUET_PAGE_DATA_V2)
        encode_data_page_header_v2(&w, h);
    thrift_end_struct(&w);
    return thrift_writer_status(&w);
}

sl_status parquet_offset_index_encode(const struct parquet_offset_index *index, sl_buf *out)
{
    struct thrift_writer w;
    thrift_writer_init(&w, out);
    thrift_begin_struct(&w);
    thrift_put_list(&w, 1, THRIFT_STRUCT, index->page_count);
    for (size_t i = 0; i < index->page_count; i++) {
        thrift_begin_struct(&w);
        thrift_put_i64(&w, 1, index->pages[i].offset);
        thrift_put_i32(&w, 2, index->pages[i].compressed_size);
        thrift_put_i64(&w, 3, index->pages[i].first_row);
        thrift_end_struct(&w);
    }
    if (index->unencoded_bytes)
        encode_i64_list(&w, 2, index->unencoded_bytes, index->page_count);
    thrift_end_struct(&w);
    return thrift_writer_status(&w);
}

sl_status parquet_column_index_encode(const struct parquet_column_index *index, sl_buf *out)
{
    struct thrift_writer w;
    thrift_writer_init(&w, out);
    thrift_begin_struct(&w);
    thrift_put_list(&w, 1, THRIFT_TRUE, index->page_count);
    for (size_t i = 0; i < index->page_count; i++)
        thrift_put_element_bool(&w, index->null_pages[i]);
    thrift_put_list(&w, 2, THRIFT_BINARY, index->page_count);
    for (size_t i = 0; i < index->page_count; i++)
        thrift_put_element_binary(&w, index->min_values[i].data, index->min_values[i].len);
    thrift_put_list(&w, 3, THRIFT_BINARY, index->page_count);
    for (size_t i = 0; i < index->page_count; i++)
        thrift_put_element_binary(&w, index->max_values[i].data, index->max_values[i].len);
    thrift_put_i32(&w, 4, index->boundary_order);
    if (index->null_counts) {
        thrift_put_list(&w, 5, THRIFT_I64, index->page_count);
        for (size_t i = 0; i < index->page_count; i++)
            thrift_put_element_i64(&w, index->null_counts[i]);
    }
    encode_i64_list(&w, 6, index->repetition_histograms, index->repetition_count);
    encode_i64_list(&w, 7, index->definition_histograms, index->definition_count);
    thrift_end_struct(&w);
    return thrift_writer_status(&w);
}
