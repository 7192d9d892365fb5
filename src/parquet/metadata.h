/*
 * metadata: the thrift structures of a Parquet file (spec/parquet.md 1.1) as C structs, with decoders and
 * encoders.
 *
 * Decoded structs live with the arena that was given; strings end in a NUL byte. Fields that a file may leave
 * out have a `has_` flag, or are NULL or -1 as said. The encoders write fields in the order of their ids and
 * leave out what is absent, so decode(encode(x)) is x.
 */
#ifndef SL_PARQUET_METADATA_H
#define SL_PARQUET_METADATA_H

#include "parquet/thrift_struct.h" /* struct parquet_bytes */

enum parquet_physical {
    PARQUET_BOOLEAN = 0,
    PARQUET_INT32 = 1,
    PARQUET_INT64 = 2,
    PARQUET_INT96 = 3,
    PARQUET_FLOAT = 4,
    PARQUET_DOUBLE = 5,
    PARQUET_BYTE_ARRAY = 6,
    PARQUET_FIXED = 7, /* FIXED_LEN_BYTE_ARRAY */
};
enum parquet_repetition { PARQUET_REQUIRED = 0, PARQUET_OPTIONAL = 1, PARQUET_REPEATED = 2 };
enum parquet_converted {
    PARQUET_CONVERTED_NONE = -1,
    PARQUET_CONVERTED_UTF8 = 0,
    PARQUET_CONVERTED_MAP = 1,
    PARQUET_CONVERTED_MAP_KEY_VALUE = 2,
    PARQUET_CONVERTED_LIST = 3,
    PARQUET_CONVERTED_ENUM = 4,
    PARQUET_CONVERTED_DECIMAL = 5,
    PARQUET_CONVERTED_DATE = 6,
    PARQUET_CONVERTED_TIME_MILLIS = 7,
    PARQUET_CONVERTED_TIME_MICROS = 8,
    PARQUET_CONVERTED_TIMESTAMP_MILLIS = 9,
    PARQUET_CONVERTED_TIMESTAMP_MICROS = 10,
    PARQUET_CONVERTED_UINT_8 = 11,
    PARQUET_CONVERTED_UINT_16 = 12,
    PARQUET_CONVERTED_UINT_32 = 13,
    PARQUET_CONVERTED_UINT_64 = 14,
    PARQUET_CONVERTED_INT_8 = 15,
    PARQUET_CONVERTED_INT_16 = 16,
    PARQUET_CONVERTED_INT_32 = 17,
    PARQUET_CONVERTED_INT_64 = 18,
    PARQUET_CONVERTED_JSON = 19,
    PARQUET_CONVERTED_BSON = 20,
    PARQUET_CONVERTED_INTERVAL = 21,
};
/* Members of the LogicalType union by field id. */
enum parquet_logical_kind {
    PARQUET_LOGICAL_NONE = 0,
    PARQUET_LOGICAL_STRING = 1,
    PARQUET_LOGICAL_MAP = 2,
    PARQUET_LOGICAL_LIST = 3,
    PARQUET_LOGICAL_ENUM = 4,
    PARQUET_LOGICAL_DECIMAL = 5,
    PARQUET_LOGICAL_DATE = 6,
    PARQUET_LOGICAL_TIME = 7,
    PARQUET_LOGICAL_TIMESTAMP = 8,
    PARQUET_LOGICAL_INTEGER = 10,
    PARQUET_LOGICAL_UNKNOWN = 11,
    PARQUET_LOGICAL_JSON = 12,
    PARQUET_LOGICAL_BSON = 13,
    PARQUET_LOGICAL_UUID = 14,
    PARQUET_LOGICAL_FLOAT16 = 15,
    PARQUET_LOGICAL_VARIANT = 16,
};
enum parquet_unit {
    PARQUET_MILLIS = 1,
    PARQUET_MICROS = 2,
    PARQUET_NANOS = 3
}; /* ids of the TimeUnit union */
enum parquet_encoding {
    PARQUET_PLAIN = 0,
    PARQUET_PLAIN_DICTIONARY = 2,
    PARQUET_RLE = 3,
    PARQUET_BIT_PACKED = 4,
    PARQUET_DELTA_BINARY_PACKED = 5,
    PARQUET_DELTA_LENGTH_BYTE_ARRAY = 6,
    PARQUET_DELTA_BYTE_ARRAY = 7,
    PARQUET_RLE_DICTIONARY = 8,
    PARQUET_BYTE_STREAM_SPLIT = 9,
    PARQUET_ALP = 10,
};
/* Codes of the file; enum sl_parquet_codec is the writer's choice among them. */
enum parquet_codec {
    PARQUET_CODEC_NONE = 0,
    PARQUET_CODEC_SNAPPY = 1,
    PARQUET_CODEC_GZIP = 2,
    PARQUET_CODEC_LZO = 3,
    PARQUET_CODEC_BROTLI = 4,
    PARQUET_CODEC_LZ4_HADOOP = 5,
    PARQUET_CODEC_ZSTD = 6,
    PARQUET_CODEC_LZ4_RAW = 7,
};
enum parquet_page_type {
    PARQUET_PAGE_DATA = 0,
    PARQUET_PAGE_INDEX = 1,
    PARQUET_PAGE_DICTIONARY = 2,
    PARQUET_PAGE_DATA_V2 = 3,
};
enum parquet_column_order {
    PARQUET_ORDER_UNKNOWN = 0,
    PARQUET_ORDER_TYPE = 1,
    PARQUET_ORDER_IEEE754_TOTAL = 2,
    PARQUET_ORDER_INT96_TIMESTAMP = 3,
};
enum parquet_boundary_order { PARQUET_UNORDERED = 0, PARQUET_ASCENDING = 1, PARQUET_DESCENDING = 2 };

struct parquet_logical {
    enum parquet_logical_kind kind; /* a kind unknown to us is kept as its number */
    int32_t scale, precision;       /* DECIMAL */
    enum parquet_unit unit;         /* TIME, TIMESTAMP */
    bool utc;                       /* TIME, TIMESTAMP */
    int32_t bit_width;              /* INTEGER */
    bool is_signed;                 /* INTEGER */
};
struct parquet_schema_element {
    bool has_type; /* false: a group */
    enum parquet_physical type;
    int32_t type_length;
    bool has_repetition; /* false only for the root */
    enum parquet_repetition repetition;
    const char *name;
    int32_t children;  /* 0 for leaves; written only for groups */
    int32_t converted; /* enum parquet_converted or unknown to us; -1: none */
    bool has_scale, has_precision;
    int32_t scale, precision;
    bool has_field_id;
    int32_t field_id;
    struct parquet_logical logical;
};
struct parquet_statistics {
    struct parquet_bytes max, min;             /* 1, 2: old, signed order */
    struct parquet_bytes max_value, min_value; /* 5, 6 */
    bool has_null_count, has_distinct_count, has_nan_count;
    int64_t null_count, distinct_count, nan_count;
    int max_exact, min_exact; /* -1: not said */
};
struct parquet_encoding_stats {
    int32_t page_type, encoding, count;
};
struct parquet_key_value {
    const char *key;
    const char *value; /* NULL: absent */
    size_t value_len;
};
struct parquet_size_statistics {
    int64_t unencoded_bytes; /* of byte arrays; -1: absent */
    const int64_t *repetition_histogram, *definition_histogram;
    size_t repetition_levels, definition_levels; /* 0: absent */
};
struct parquet_column_meta {
    enum parquet_physical type;
    const int32_t *encodings;
    size_t encoding_count;
    const char *const *path;
    size_t path_count;
    int32_t codec; /* enum parquet_codec or unknown to us */
    int64_t num_values, total_uncompressed_size, total_compressed_size;
    const struct parquet_key_value *key_values;
    size_t key_value_count;
    int64_t data_page_offset;
    int64_t index_page_offset;      /* -1: absent */
    int64_t dictionary_page_offset; /* -1: absent */
    bool has_statistics;
    struct parquet_statistics statistics;
    const struct parquet_encoding_stats *encoding_stats;
    size_t encoding_stats_count;
    int64_t bloom_filter_offset; /* -1: absent */
    int32_t bloom_filter_length; /* -1: absent */
    bool has_size_statistics;
    struct parquet_size_statistics size_statistics;
};
struct parquet_column_chunk {
    const char *file_path; /* NULL: this file */
    int64_t file_offset;
    bool has_meta;
    bool encrypted;
    struct parquet_column_meta meta;
    int64_t offset_index_offset, column_index_offset; /* -1: absent */
    int32_t offset_index_length, column_index_length;
};
struct parquet_sorting_column {
    int32_t column;
    bool descending, nulls_first;
};
struct parquet_row_group {
    struct parquet_column_chunk *columns;
    size_t column_count;
    int64_t total_byte_size, num_rows;
    const struct parquet_sorting_column *sorting;
    size_t sorting_count;
    int64_t file_offset;           /* -1: absent */
    int64_t total_compressed_size; /* -1: absent */
    int32_t ordinal;               /* -1: absent */
};
struct parquet_file_metadata {
    int32_t version;
    struct parquet_schema_element *schema;
    size_t schema_count;
    int64_t num_rows;
    struct parquet_row_group *row_groups;
    size_t row_group_count;
    struct parquet_key_value *key_values;
    size_t key_value_count;
    const char *created_by; /* NULL: absent */
    bool has_column_orders;
    const enum parquet_column_order *column_orders; /* one for each leaf */
    size_t column_order_count;
    bool encrypted;
};
struct parquet_page_header {
    int32_t type; /* enum parquet_page_type */
    int32_t uncompressed_size, compressed_size;
    bool has_crc;
    uint32_t crc;
    /* data, data v2, dictionary */
    int32_t num_values;
    int32_t encoding;
    /* data v1 */
    int32_t definition_encoding, repetition_encoding;
    /* data v2 */
    int32_t num_nulls, num_rows, definition_bytes, repetition_bytes;
    bool is_compressed;
    /* dictionary */
    bool is_sorted;
    /* Of data pages, when encoding; the decoder skips it. */
    const struct parquet_statistics *statistics;
};
struct parquet_page_location {
    int64_t offset;
    int32_t compressed_size; /* header included */
    int64_t first_row;
};
struct parquet_offset_index {
    struct parquet_page_location *pages;
    size_t page_count;
    int64_t *unencoded_bytes; /* of byte arrays; NULL: absent */
};
struct parquet_column_index {
    size_t page_count;
    bool *null_pages;
    struct parquet_bytes *min_values, *max_values; /* empty for null pages */
    int32_t boundary_order;
    int64_t *null_counts; /* NULL: absent */
    /* Size statistics, page after page: as many numbers as a file claims. Count 0: absent. */
    const int64_t *repetition_histograms, *definition_histograms;
    size_t repetition_count, definition_count;
    int64_t *nan_counts; /* NULL: absent */
};

SL_MUST_USE sl_status parquet_file_metadata_decode(const uint8_t *data, size_t len, uint64_t file_offset,
                                                   sl_arena *arena, struct parquet_file_metadata *out);
SL_MUST_USE sl_status parquet_file_metadata_encode(const struct parquet_file_metadata *meta, sl_buf *out);
/* Sizes are checked not to be negative. *header_bytes gets the header's own length. When the input ended too
 * early and `truncated` is given, it is set (with SL_OK): ask again with more bytes. */
SL_MUST_USE sl_status parquet_page_header_decode(const uint8_t *data, size_t len, uint64_t file_offset,
                                                 struct parquet_page_header *out, size_t *header_bytes,
                                                 bool *truncated);
SL_MUST_USE sl_status parquet_page_header_encode(const struct parquet_page_header *header, sl_buf *out);
SL_MUST_USE sl_status parquet_offset_index_decode(const uint8_t *data, size_t len, uint64_t file_offset,
                                                  sl_arena *arena, struct parquet_offset_index *out);
SL_MUST_USE sl_status parquet_offset_index_encode(const struct parquet_offset_index *index, sl_buf *out);
SL_MUST_USE sl_status parquet_column_index_decode(const uint8_t *data, size_t len, uint64_t file_offset,
                                                  sl_arena *arena, struct parquet_column_index *out);
SL_MUST_USE sl_status parquet_column_index_encode(const struct parquet_column_index *index, sl_buf *out);

/* Checks that the filter is a split-block one of XXH64, uncompressed; *filter_bytes is what its header says.
 * Another kind of filter is SL_E_UNSUPPORTED. */
SL_MUST_USE sl_status parquet_bloom_header_decode(const uint8_t *data, size_t len, uint64_t file_offset,
                                                  int32_t *filter_bytes, size_t *header_bytes);

const char *parquet_physical_name(int type); /* "INT64"; "unknown" */
const char *parquet_encoding_name(int encoding);
/* Whether values of that physical type may be in it; dictionary indexes aside. */
bool parquet_encoding_fits(int encoding, enum parquet_physical physical);
const char *parquet_codec_name(int codec);

#endif
