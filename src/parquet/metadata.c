/* The format's structures (spec/parquet.md 1.1) as tables: what metadata.h holds of them, by field id. */
#include "parquet/metadata.h"

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

bool parquet_encoding_fits(int encoding, enum parquet_physical physical)
{
    switch (encoding) {
    case PARQUET_PLAIN:
        return true;
    case PARQUET_DELTA_BINARY_PACKED:
        return physical == PARQUET_INT32 || physical == PARQUET_INT64;
    case PARQUET_DELTA_LENGTH_BYTE_ARRAY:
        return physical == PARQUET_BYTE_ARRAY;
    case PARQUET_DELTA_BYTE_ARRAY:
        return physical == PARQUET_BYTE_ARRAY || physical == PARQUET_FIXED;
    case PARQUET_BYTE_STREAM_SPLIT:
        return physical != PARQUET_BOOLEAN && physical != PARQUET_BYTE_ARRAY && physical != PARQUET_INT96;
    case PARQUET_RLE:
        return physical == PARQUET_BOOLEAN;
    default:
        return false;
    }
}

const char *parquet_codec_name(int codec)
{
    static const char *const names[] = {"UNCOMPRESSED", "SNAPPY", "GZIP", "LZO",
                                        "BROTLI",       "LZ4",    "ZSTD", "LZ4_RAW"};
    return codec >= 0 && codec < 8 ? names[codec] : "unknown";
}

/* ---- schema -------------------------------------------------------------------------------------------- */

#define S struct parquet_logical
static const struct thrift_shape time_unit = {.size = sizeof(enum parquet_unit), .last_id = PARQUET_NANOS};
static const struct thrift_member decimal_members[] = {
    [1] = {THRIFT_INT32, THRIFT_AT(S, scale), THRIFT_ALWAYS},
    [2] = {THRIFT_INT32, THRIFT_AT(S, precision), THRIFT_ALWAYS},
};
static const struct thrift_member time_members[] = {
    [1] = {THRIFT_BOOLEAN, THRIFT_AT(S, utc), THRIFT_ALWAYS},
    [2] = {THRIFT_UNION, THRIFT_AT(S, unit), THRIFT_ALWAYS, .shape = &time_unit},
};
static const struct thrift_member integer_members[] = {
    [1] = {THRIFT_INT8, THRIFT_AT(S, bit_width), THRIFT_ALWAYS},
    [2] = {THRIFT_BOOLEAN, THRIFT_AT(S, is_signed), THRIFT_ALWAYS},
};
static const struct thrift_shape decimal_type = {THRIFT_SHAPE(S, decimal_members)};
static const struct thrift_shape time_type = {THRIFT_SHAPE(S, time_members)};
static const struct thrift_shape integer_type = {THRIFT_SHAPE(S, integer_members)};
static const struct thrift_member logical_types[] = {
    [PARQUET_LOGICAL_DECIMAL] = {THRIFT_RECORD, .shape = &decimal_type},
    [PARQUET_LOGICAL_TIME] = {THRIFT_RECORD, .shape = &time_type},
    [PARQUET_LOGICAL_TIMESTAMP] = {THRIFT_RECORD, .shape = &time_type},
    [PARQUET_LOGICAL_INTEGER] = {THRIFT_RECORD, .shape = &integer_type},
};
static const struct thrift_shape logical_type = {THRIFT_SHAPE(S, logical_types)};
#undef S

#define S struct parquet_schema_element
static const struct thrift_member schema_element_members[] = {
    [1] = {THRIFT_INT32, THRIFT_AT(S, type), THRIFT_IF(FLAG, S, has_type)},
    [2] = {THRIFT_INT32, THRIFT_AT(S, type_length), THRIFT_IF(NONZERO, S, type_length)},
    [3] = {THRIFT_INT32, THRIFT_AT(S, repetition), THRIFT_IF(FLAG, S, has_repetition)},
    [4] = {THRIFT_TEXT, THRIFT_AT(S, name), THRIFT_ALWAYS},
    [5] = {THRIFT_INT32, THRIFT_AT(S, children), THRIFT_IF(NO_FLAG, S, has_type)},
    [6] = {THRIFT_INT32, THRIFT_AT(S, converted), THRIFT_IF(SET_32, S, converted)},
    [7] = {THRIFT_INT32, THRIFT_AT(S, scale), THRIFT_IF(FLAG, S, has_scale)},
    [8] = {THRIFT_INT32, THRIFT_AT(S, precision), THRIFT_IF(FLAG, S, has_precision)},
    [9] = {THRIFT_INT32, THRIFT_AT(S, field_id), THRIFT_IF(FLAG, S, has_field_id)},
    [10] = {THRIFT_UNION, THRIFT_AT(S, logical), THRIFT_IF(NONZERO, S, logical.kind), .shape = &logical_type},
};
static const struct thrift_shape schema_element = {
    THRIFT_SHAPE(S, schema_element_members),
    .fresh = &(const S){.converted = PARQUET_CONVERTED_NONE},
    .required = 1u << 4,
    .missing = "schema element without name",
    .least_bytes = 3,
};
#undef S

/* ---- column chunks ------------------------------------------------------------------------------------- */

#define S struct parquet_statistics
static const struct thrift_member statistics_members[] = {
    [1] = {THRIFT_BYTES, THRIFT_AT(S, max), THRIFT_IF(POINTER, S, max)},
    [2] = {THRIFT_BYTES, THRIFT_AT(S, min), THRIFT_IF(POINTER, S, min)},
    [3] = {THRIFT_INT64, THRIFT_AT(S, null_count), THRIFT_IF(FLAG, S, has_null_count)},
    [4] = {THRIFT_INT64, THRIFT_AT(S, distinct_count), THRIFT_IF(FLAG, S, has_distinct_count)},
    [5] = {THRIFT_BYTES, THRIFT_AT(S, max_value), THRIFT_IF(POINTER, S, max_value)},
    [6] = {THRIFT_BYTES, THRIFT_AT(S, min_value), THRIFT_IF(POINTER, S, min_value)},
    [7] = {THRIFT_BOOL_INT, THRIFT_AT(S, max_exact), THRIFT_IF(SET_32, S, max_exact)},
    [8] = {THRIFT_BOOL_INT, THRIFT_AT(S, min_exact), THRIFT_IF(SET_32, S, min_exact)},
    [9] = {THRIFT_INT64, THRIFT_AT(S, nan_count), THRIFT_IF(FLAG, S, has_nan_count)},
};
static const struct thrift_shape statistics = {
    THRIFT_SHAPE(S, statistics_members),
    .fresh = &(const S){.max_exact = -1, .min_exact = -1},
};
#undef S

#define S struct parquet_key_value
static const struct thrift_member key_value_members[] = {
    [1] = {THRIFT_TEXT, THRIFT_AT(S, key), THRIFT_ALWAYS},
    [2] = {THRIFT_TEXT, THRIFT_AT(S, value), .count = offsetof(S, value_len), THRIFT_IF(POINTER, S, value)},
};
static const struct thrift_shape key_value = {
    THRIFT_SHAPE(S, key_value_members),
    .required = 1u << 1,
    .missing = "key-value pair without key",
    .least_bytes = 3,
};
#undef S

#define S struct parquet_encoding_stats
static const struct thrift_member encoding_stats_members[] = {
    [1] = {THRIFT_INT32, THRIFT_AT(S, page_type), THRIFT_ALWAYS},
    [2] = {THRIFT_INT32, THRIFT_AT(S, encoding), THRIFT_ALWAYS},
    [3] = {THRIFT_INT32, THRIFT_AT(S, count), THRIFT_ALWAYS},
};
static const struct thrift_shape encoding_stats = {THRIFT_SHAPE(S, encoding_stats_members), .least_bytes = 1};
#undef S

#define S struct parquet_size_statistics
static const struct thrift_member size_statistics_members[] = {
    [1] = {THRIFT_INT64, THRIFT_AT(S, unencoded_bytes), THRIFT_IF(SET_64, S, unencoded_bytes)},
    [2] = {THRIFT_INT64, THRIFT_LIST_AT(S, repetition_histogram, repetition_levels),
           THRIFT_IF(COUNT, S, repetition_levels)},
    [3] = {THRIFT_INT64, THRIFT_LIST_AT(S, definition_histogram, definition_levels),
           THRIFT_IF(COUNT, S, definition_levels)},
};
static const struct thrift_shape size_statistics = {
    THRIFT_SHAPE(S, size_statistics_members),
    .fresh = &(const S){.unencoded_bytes = -1},
};
#undef S

#define S struct parquet_column_meta
static const struct thrift_member column_meta_members[] = {
    [1] = {THRIFT_INT32, THRIFT_AT(S, type), THRIFT_ALWAYS},
    [2] = {THRIFT_INT32, THRIFT_LIST_AT(S, encodings, encoding_count), THRIFT_ALWAYS},
    [3] = {THRIFT_TEXT, THRIFT_LIST_AT(S, path, path_count), THRIFT_ALWAYS},
    [4] = {THRIFT_INT32, THRIFT_AT(S, codec), THRIFT_ALWAYS},
    [5] = {THRIFT_INT64, THRIFT_AT(S, num_values), THRIFT_ALWAYS, .not_negative = true},
    [6] = {THRIFT_INT64, THRIFT_AT(S, total_uncompressed_size), THRIFT_ALWAYS, .not_negative = true},
    [7] = {THRIFT_INT64, THRIFT_AT(S, total_compressed_size), THRIFT_ALWAYS, .not_negative = true},
    [8] = {THRIFT_RECORD, THRIFT_LIST_AT(S, key_values, key_value_count),
           THRIFT_IF(COUNT, S, key_value_count), .shape = &key_value},
    [9] = {THRIFT_INT64, THRIFT_AT(S, data_page_offset), THRIFT_ALWAYS},
    [10] = {THRIFT_INT64, THRIFT_AT(S, index_page_offset), THRIFT_IF(SET_64, S, index_page_offset)},
    [11] = {THRIFT_INT64, THRIFT_AT(S, dictionary_page_offset), THRIFT_IF(SET_64, S, dictionary_page_offset)},
    [12] = {THRIFT_RECORD, THRIFT_AT(S, statistics), THRIFT_IF(FLAG, S, has_statistics),
            .shape = &statistics},
    [13] = {THRIFT_RECORD, THRIFT_LIST_AT(S, encoding_stats, encoding_stats_count),
            THRIFT_IF(COUNT, S, encoding_stats_count), .shape = &encoding_stats},
    [14] = {THRIFT_INT64, THRIFT_AT(S, bloom_filter_offset), THRIFT_IF(SET_64, S, bloom_filter_offset)},
    /* before the id was given out, a fork had a list here */
    [15] = {THRIFT_INT32, THRIFT_AT(S, bloom_filter_length), THRIFT_IF(SET_32, S, bloom_filter_length),
            .lenient = true},
    [16] = {THRIFT_RECORD, THRIFT_AT(S, size_statistics), THRIFT_IF(FLAG, S, has_size_statistics),
            .shape = &size_statistics},
};
static const struct thrift_shape column_meta = {
    THRIFT_SHAPE(S, column_meta_members),
    .fresh = &(const S){.index_page_offset = -1,
                        .dictionary_page_offset = -1,
                        .bloom_filter_offset = -1,
                        .bloom_filter_length = -1},
    .required = 1u << 1 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 7 | 1u << 9,
    .missing = "column metadata lacks a required field",
};
#undef S

#define S struct parquet_column_chunk
static const struct thrift_member column_chunk_members[] = {
    [1] = {THRIFT_TEXT, THRIFT_AT(S, file_path), THRIFT_IF(POINTER, S, file_path)},
    [2] = {THRIFT_INT64, THRIFT_AT(S, file_offset), THRIFT_ALWAYS},
    [3] = {THRIFT_RECORD, THRIFT_AT(S, meta), THRIFT_IF(FLAG, S, has_meta), .shape = &column_meta},
    [4] = {THRIFT_INT64, THRIFT_AT(S, offset_index_offset), THRIFT_IF(SET_64, S, offset_index_offset)},
    [5] = {THRIFT_INT32, THRIFT_AT(S, offset_index_length), THRIFT_IF(SET_64, S, offset_index_offset)},
    [6] = {THRIFT_INT64, THRIFT_AT(S, column_index_offset), THRIFT_IF(SET_64, S, column_index_offset)},
    [7] = {THRIFT_INT32, THRIFT_AT(S, column_index_length), THRIFT_IF(SET_64, S, column_index_offset)},
    [8] = {THRIFT_MARK, THRIFT_AT(S, encrypted)},
    [9] = {THRIFT_MARK, THRIFT_AT(S, encrypted)},
};
static const struct thrift_shape column_chunk = {
    THRIFT_SHAPE(S, column_chunk_members),
    .fresh = &(const S){.offset_index_offset = -1, .column_index_offset = -1},
    .least_bytes = 3,
};
#undef S

/* ---- the file ------------------------------------------------------------------------------------------ */

#define S struct parquet_sorting_column
static const struct thrift_member sorting_column_members[] = {
    [1] = {THRIFT_INT32, THRIFT_AT(S, column), THRIFT_ALWAYS},
    [2] = {THRIFT_BOOLEAN, THRIFT_AT(S, descending), THRIFT_ALWAYS},
    [3] = {THRIFT_BOOLEAN, THRIFT_AT(S, nulls_first), THRIFT_ALWAYS},
};
static const struct thrift_shape sorting_column = {THRIFT_SHAPE(S, sorting_column_members), .least_bytes = 1};
#undef S

#define S struct parquet_row_group
static const struct thrift_member row_group_members[] = {
    [1] = {THRIFT_RECORD, THRIFT_LIST_AT(S, columns, column_count), THRIFT_ALWAYS, .shape = &column_chunk},
    [2] = {THRIFT_INT64, THRIFT_AT(S, total_byte_size), THRIFT_ALWAYS},
    [3] = {THRIFT_INT64, THRIFT_AT(S, num_rows), THRIFT_ALWAYS, .not_negative = true},
    [4] = {THRIFT_RECORD, THRIFT_LIST_AT(S, sorting, sorting_count), THRIFT_IF(COUNT, S, sorting_count),
           .shape = &sorting_column},
    [5] = {THRIFT_INT64, THRIFT_AT(S, file_offset), THRIFT_IF(SET_64, S, file_offset)},
    [6] = {THRIFT_INT64, THRIFT_AT(S, total_compressed_size), THRIFT_IF(SET_64, S, total_compressed_size)},
    [7] = {THRIFT_INT16, THRIFT_AT(S, ordinal), THRIFT_IF(SET_32, S, ordinal)},
};
static const struct thrift_shape row_group = {
    THRIFT_SHAPE(S, row_group_members),
    .fresh = &(const S){.file_offset = -1, .total_compressed_size = -1, .ordinal = -1},
    .required = 1u << 3,
    .missing = "row group without row count",
    .least_bytes = 3,
};
#undef S

static const struct thrift_shape column_order = {
    .size = sizeof(enum parquet_column_order),
    .last_id = PARQUET_ORDER_INT96_TIMESTAMP,
    .least_bytes = 1,
};

#define S struct parquet_file_metadata
static const struct thrift_member file_metadata_members[] = {
    [1] = {THRIFT_INT32, THRIFT_AT(S, version), THRIFT_ALWAYS},
    [2] = {THRIFT_RECORD, THRIFT_LIST_AT(S, schema, schema_count), THRIFT_ALWAYS, .shape = &schema_element},
    [3] = {THRIFT_INT64, THRIFT_AT(S, num_rows), THRIFT_ALWAYS},
    [4] = {THRIFT_RECORD, THRIFT_LIST_AT(S, row_groups, row_group_count), THRIFT_ALWAYS, .shape = &row_group},
    [5] = {THRIFT_RECORD, THRIFT_LIST_AT(S, key_values, key_value_count),
           THRIFT_IF(COUNT, S, key_value_count), .shape = &key_value},
    [6] = {THRIFT_TEXT, THRIFT_AT(S, created_by), THRIFT_IF(POINTER, S, created_by)},
    [7] = {THRIFT_UNION, THRIFT_LIST_AT(S, column_orders, column_order_count),
           THRIFT_IF(FLAG, S, has_column_orders), .shape = &column_order},
    [8] = {THRIFT_MARK, THRIFT_AT(S, encrypted)},
    [9] = {THRIFT_MARK, THRIFT_AT(S, encrypted)},
};
static const struct thrift_shape file_metadata = {
    THRIFT_SHAPE(S, file_metadata_members),
    .required = 1u << 2 | 1u << 3,
    .missing = "schema or row count missing",
};
#undef S

sl_status parquet_file_metadata_decode(const uint8_t *data, size_t len, uint64_t file_offset, sl_arena *arena,
                                       struct parquet_file_metadata *out)
{
    SL_TRY(thrift_decode(data, len, &file_metadata, arena, "file footer", file_offset, out, NULL, NULL));
    if (out->schema_count == 0)
        return sl_corrupt("file footer at %" PRIu64 ": empty schema", file_offset);
    return SL_OK;
}

sl_status parquet_file_metadata_encode(const struct parquet_file_metadata *meta, sl_buf *out)
{
    return thrift_encode(meta, &file_metadata, out);
}

/* ---- page headers -------------------------------------------------------------------------------------- */

/* One struct holds the fields of all page types, and which of their headers are there. */
struct header_parts {
    struct parquet_page_header header;
    bool has_data, has_dictionary, has_data_v2;
};

#define S struct parquet_page_header
static const struct thrift_member data_header_members[] = {
    [1] = {THRIFT_INT32, THRIFT_AT(S, num_values), THRIFT_ALWAYS, .not_negative = true},
    [2] = {THRIFT_INT32, THRIFT_AT(S, encoding), THRIFT_ALWAYS},
    [3] = {THRIFT_INT32, THRIFT_AT(S, definition_encoding), THRIFT_ALWAYS},
    [4] = {THRIFT_INT32, THRIFT_AT(S, repetition_encoding), THRIFT_ALWAYS},
    [5] = {THRIFT_RECORD_AWAY, THRIFT_AT(S, statistics), THRIFT_IF(POINTER, S, statistics),
           .shape = &statistics},
};
static const struct thrift_member dictionary_header_members[] = {
    [1] = {THRIFT_INT32, THRIFT_AT(S, num_values), THRIFT_ALWAYS, .not_negative = true},
    [2] = {THRIFT_INT32, THRIFT_AT(S, encoding), THRIFT_ALWAYS},
    [3] = {THRIFT_BOOLEAN, THRIFT_AT(S, is_sorted), THRIFT_IF(FLAG, S, is_sorted)},
};
static const struct thrift_member data_v2_header_members[] = {
    [1] = {THRIFT_INT32, THRIFT_AT(S, num_values), THRIFT_ALWAYS, .not_negative = true},
    [2] = {THRIFT_INT32, THRIFT_AT(S, num_nulls), THRIFT_ALWAYS, .not_negative = true},
    [3] = {THRIFT_INT32, THRIFT_AT(S, num_rows), THRIFT_ALWAYS, .not_negative = true},
    [4] = {THRIFT_INT32, THRIFT_AT(S, encoding), THRIFT_ALWAYS},
    [5] = {THRIFT_INT32, THRIFT_AT(S, definition_bytes), THRIFT_ALWAYS, .not_negative = true},
    [6] = {THRIFT_INT32, THRIFT_AT(S, repetition_bytes), THRIFT_ALWAYS, .not_negative = true},
    [7] = {THRIFT_BOOLEAN, THRIFT_AT(S, is_compressed), THRIFT_IF(NO_FLAG, S, is_compressed)},
    [8] = {THRIFT_RECORD_AWAY, THRIFT_AT(S, statistics), THRIFT_IF(POINTER, S, statistics),
           .shape = &statistics},
};
static const struct thrift_shape data_header = {THRIFT_SHAPE(S, data_header_members)};
static const struct thrift_shape dictionary_header = {THRIFT_SHAPE(S, dictionary_header_members)};
static const struct thrift_shape data_v2_header = {THRIFT_SHAPE(S, data_v2_header_members)};
#undef S

#define S struct header_parts
static const struct thrift_member page_header_members[] = {
    [1] = {THRIFT_INT32, THRIFT_AT(S, header.type), THRIFT_ALWAYS},
    [2] = {THRIFT_INT32, THRIFT_AT(S, header.uncompressed_size), THRIFT_ALWAYS, .not_negative = true},
    [3] = {THRIFT_INT32, THRIFT_AT(S, header.compressed_size), THRIFT_ALWAYS, .not_negative = true},
    [4] = {THRIFT_INT32, THRIFT_AT(S, header.crc), THRIFT_IF(FLAG, S, header.has_crc)},
    [5] = {THRIFT_RECORD, THRIFT_AT(S, header), THRIFT_IF(FLAG, S, has_data), .shape = &data_header},
    [7] = {THRIFT_RECORD, THRIFT_AT(S, header), THRIFT_IF(FLAG, S, has_dictionary),
           .shape = &dictionary_header},
    [8] = {THRIFT_RECORD, THRIFT_AT(S, header), THRIFT_IF(FLAG, S, has_data_v2), .shape = &data_v2_header},
};
static const struct thrift_shape page_header = {
    THRIFT_SHAPE(S, page_header_members),
    .fresh = &(const S){.header = {.type = -1, .is_compressed = true}},
};
#undef S

static bool has_its_part(const struct header_parts *p)
{
    switch (p->header.type) {
    case PARQUET_PAGE_DATA:
        return p->has_data;
    case PARQUET_PAGE_DICTIONARY:
        return p->has_dictionary;
    case PARQUET_PAGE_DATA_V2:
        return p->has_data_v2;
    default:
        return true;
    }
}

sl_status parquet_page_header_decode(const uint8_t *data, size_t len, uint64_t file_offset,
                                     struct parquet_page_header *out, size_t *header_bytes, bool *truncated)
{
    struct header_parts parts;
    size_t used;
    SL_TRY(
        thrift_decode(data, len, &page_header, NULL, "page header", file_offset, &parts, &used, truncated));
    if (truncated && *truncated)
        return SL_OK;
    if (!has_its_part(&parts))
        return sl_corrupt("page header at %" PRIu64 " lacks the part for its page type", file_offset);
    if (parts.has_data_v2)
        parts.header.definition_encoding = parts.header.repetition_encoding = PARQUET_RLE;
    *out = parts.header;
    *header_bytes = used;
    return SL_OK;
}

sl_status parquet_page_header_encode(const struct parquet_page_header *header, sl_buf *out)
{
    struct header_parts parts = {
        .header = *header,
        .has_data = header->type == PARQUET_PAGE_DATA,
        .has_dictionary = header->type == PARQUET_PAGE_DICTIONARY,
        .has_data_v2 = header->type == PARQUET_PAGE_DATA_V2,
    };
    return thrift_encode(&parts, &page_header, out);
}

/* ---- page index ---------------------------------------------------------------------------------------- */

#define S struct parquet_page_location
static const struct thrift_member page_location_members[] = {
    [1] = {THRIFT_INT64, THRIFT_AT(S, offset), THRIFT_ALWAYS},
    [2] = {THRIFT_INT32, THRIFT_AT(S, compressed_size), THRIFT_ALWAYS},
    [3] = {THRIFT_INT64, THRIFT_AT(S, first_row), THRIFT_ALWAYS},
};
static const struct thrift_shape page_location = {THRIFT_SHAPE(S, page_location_members), .least_bytes = 7};
#undef S

#define S struct parquet_offset_index
static const struct thrift_member offset_index_members[] = {
    [1] = {THRIFT_RECORD, THRIFT_LIST_AT(S, pages, page_count), THRIFT_ALWAYS, .same_count = true,
           .shape = &page_location},
    [2] = {THRIFT_INT64, THRIFT_LIST_AT(S, unencoded_bytes, page_count),
           THRIFT_IF(POINTER, S, unencoded_bytes), .same_count = true},
};
static const struct thrift_shape offset_index = {
    THRIFT_SHAPE(S, offset_index_members),
    .required = 1u << 1,
    .missing = "no list of pages",
};
#undef S

#define S               struct parquet_column_index
#define PER_PAGE(FIELD) THRIFT_LIST_AT(S, FIELD, page_count), .same_count = true
static const struct thrift_member column_index_members[] = {
    [1] = {THRIFT_BOOLEAN, PER_PAGE(null_pages), THRIFT_ALWAYS},
    [2] = {THRIFT_BYTES, PER_PAGE(min_values), THRIFT_ALWAYS},
    [3] = {THRIFT_BYTES, PER_PAGE(max_values), THRIFT_ALWAYS},
    [4] = {THRIFT_INT32, THRIFT_AT(S, boundary_order), THRIFT_ALWAYS},
    [5] = {THRIFT_INT64, PER_PAGE(null_counts), THRIFT_IF(POINTER, S, null_counts)},
    [6] = {THRIFT_INT64, THRIFT_LIST_AT(S, repetition_histograms, repetition_count),
           THRIFT_IF(COUNT, S, repetition_count)},
    [7] = {THRIFT_INT64, THRIFT_LIST_AT(S, definition_histograms, definition_count),
           THRIFT_IF(COUNT, S, definition_count)},
    [8] = {THRIFT_INT64, PER_PAGE(nan_counts), THRIFT_IF(POINTER, S, nan_counts)},
};
#undef PER_PAGE
static const struct thrift_shape column_index = {
    THRIFT_SHAPE(S, column_index_members),
    .required = 1u << 1 | 1u << 2 | 1u << 3,
    .missing = "a list of bounds is missing",
};
#undef S

sl_status parquet_offset_index_decode(const uint8_t *data, size_t len, uint64_t file_offset, sl_arena *arena,
                                      struct parquet_offset_index *out)
{
    SL_TRY(thrift_decode(data, len, &offset_index, arena, "offset index", file_offset, out, NULL, NULL));
    if (out->page_count > 0 && !out->pages) /* the other list counted */
        return sl_corrupt("offset index at %" PRIu64 ": no pages", file_offset);
    return SL_OK;
}

sl_status parquet_offset_index_encode(const struct parquet_offset_index *index, sl_buf *out)
{
    return thrift_encode(index, &offset_index, out);
}

sl_status parquet_column_index_decode(const uint8_t *data, size_t len, uint64_t file_offset, sl_arena *arena,
                                      struct parquet_column_index *out)
{
    SL_TRY(thrift_decode(data, len, &column_index, arena, "column index", file_offset, out, NULL, NULL));
    if (out->page_count > 0 && (!out->null_pages || !out->min_values || !out->max_values))
        return sl_corrupt("column index at %" PRIu64 ": lists of different lengths", file_offset);
    return SL_OK;
}

sl_status parquet_column_index_encode(const struct parquet_column_index *index, sl_buf *out)
{
    return thrift_encode(index, &column_index, out);
}

/* ---- Bloom filters ------------------------------------------------------------------------------------- */

struct bloom_header {
    int32_t bytes, algorithm, hash, compression; /* of the unions their members' ids */
};
#define S struct bloom_header
static const struct thrift_shape bloom_choice = {.size = sizeof(int32_t)};
static const struct thrift_member bloom_header_members[] = {
    [1] = {THRIFT_INT32, THRIFT_AT(S, bytes), THRIFT_ALWAYS},
    [2] = {THRIFT_UNION, THRIFT_AT(S, algorithm), THRIFT_ALWAYS, .shape = &bloom_choice},
    [3] = {THRIFT_UNION, THRIFT_AT(S, hash), THRIFT_ALWAYS, .shape = &bloom_choice},
    [4] = {THRIFT_UNION, THRIFT_AT(S, compression), THRIFT_ALWAYS, .shape = &bloom_choice},
};
static const struct thrift_shape bloom_header = {THRIFT_SHAPE(S, bloom_header_members)};
#undef S

sl_status parquet_bloom_header_decode(const uint8_t *data, size_t len, uint64_t file_offset,
                                      int32_t *filter_bytes, size_t *header_bytes)
{
    struct bloom_header h;
    size_t used;
    SL_TRY(
        thrift_decode(data, len, &bloom_header, NULL, "Bloom filter header", file_offset, &h, &used, NULL));
    if (h.algorithm != 1 || h.hash != 1 || h.compression != 1)
        return sl_unsupported("Bloom filter of algorithm %" PRId32 ", hash %" PRId32 ", compression %" PRId32,
                              h.algorithm, h.hash, h.compression);
    if (h.bytes <= 0 || h.bytes % 32 != 0)
        return sl_corrupt("Bloom filter of %" PRId32 " bytes at %" PRIu64, h.bytes, file_offset);
    *filter_bytes = h.bytes;
    *header_bytes = used;
    return SL_OK;
}
