/* Options that name columns, resolved to leaves; and what of them not every Hudi reader reads. */
#include "parquet/write_int.h"

static enum parquet_encoding encoding_of(enum sl_parquet_encoding choice)
{
    static const enum parquet_encoding encodings[] = {
        [SL_ENCODING_DEFAULT] = PARQUET_PLAIN,
        [SL_ENCODING_AUTO] = PARQUET_PLAIN,
        [SL_ENCODING_PLAIN] = PARQUET_PLAIN,
        [SL_ENCODING_DELTA_BINARY_PACKED] = PARQUET_DELTA_BINARY_PACKED,
        [SL_ENCODING_DELTA_LENGTH_BYTE_ARRAY] = PARQUET_DELTA_LENGTH_BYTE_ARRAY,
        [SL_ENCODING_DELTA_BYTE_ARRAY] = PARQUET_DELTA_BYTE_ARRAY,
        [SL_ENCODING_BYTE_STREAM_SPLIT] = PARQUET_BYTE_STREAM_SPLIT,
        [SL_ENCODING_RLE] = PARQUET_RLE,
    };
    return encodings[choice];
}

sl_status sl_parquet_encoding_named(const char *name, enum sl_parquet_encoding *out)
{
    static const char *const names[] = {
        [SL_ENCODING_DEFAULT] = "default",
        [SL_ENCODING_AUTO] = "auto",
        [SL_ENCODING_PLAIN] = "plain",
        [SL_ENCODING_DELTA_BINARY_PACKED] = "delta_binary_packed",
        [SL_ENCODING_DELTA_LENGTH_BYTE_ARRAY] = "delta_length_byte_array",
        [SL_ENCODING_DELTA_BYTE_ARRAY] = "delta_byte_array",
        [SL_ENCODING_BYTE_STREAM_SPLIT] = "byte_stream_split",
        [SL_ENCODING_RLE] = "rle",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (enum sl_parquet_encoding)i;
            return SL_OK;
        }
    return sl_input(
        "no Parquet encoding \"%s\": use default, auto, plain, delta_binary_packed, delta_byte_array, "
        "delta_length_byte_array, byte_stream_split or rle",
        name);
}

static sl_status check_encoding(enum sl_parquet_encoding encoding)
{
    if ((unsigned)encoding > SL_ENCODING_RLE)
        return sl_input("unknown Parquet encoding %d", (int)encoding);
    return SL_OK;
}

/* False: the encoding does not fit the leaf. */
static bool choose_encoding(struct leaf_choice *c, const struct write_leaf *leaf,
                            enum sl_parquet_encoding encoding)
{
    if (!parquet_encoding_fits(encoding_of(encoding), leaf->physical))
        return false;
    c->encoding = encoding_of(encoding);
    c->automatic = encoding == SL_ENCODING_AUTO;
    c->dictionary = encoding == SL_ENCODING_DEFAULT || encoding == SL_ENCODING_AUTO;
    return true;
}

static bool choose_bloom(struct leaf_choice *c, const struct write_leaf *leaf,
                         const struct sl_parquet_column_options *o)
{
    if (leaf->physical == PARQUET_BOOLEAN)
        return false;
    c->bloom_filter = true;
    c->bloom_distinct = o->bloom_distinct;
    c->bloom_fpp = o->bloom_fpp;
    return true;
}

static bool leaf_is_named(const struct write_leaf *leaf, const char *column)
{
    return strcmp(leaf->path[0], column) == 0 || strcmp(leaf->name, column) == 0;
}

static sl_status apply_column(const struct sl_parquet_column_options *o, const struct write_schema *schema,
                              struct leaf_choice *choices)
{
    SL_TRY(check_encoding(o->encoding));
    if (!(o->bloom_fpp >= 0 && o->bloom_fpp < 1) || o->bloom_distinct < 0)
        return sl_input("column %s: a Bloom filter needs a rate of false positives between 0 and 1 and no "
                        "negative number of values",
                        o->column);
    bool found = false, encoded = o->encoding == SL_ENCODING_DEFAULT, filtered = !o->bloom_filter;
    for (size_t i = 0; i < schema->leaf_count; i++) {
        const struct write_leaf *leaf = &schema->leaves[i];
        if (!leaf_is_named(leaf, o->column))
            continue;
        found = true;
        if (o->encoding != SL_ENCODING_DEFAULT)
            encoded = choose_encoding(&choices[i], leaf, o->encoding) || encoded;
        if (o->bloom_filter)
            filtered = choose_bloom(&choices[i], leaf, o) || filtered;
    }
    if (!found)
        return sl_input("no column %s to set Parquet options for", o->column);
    if (!encoded)
        return sl_input("column %s: %s does not fit its type", o->column,
                        parquet_encoding_name((int)encoding_of(o->encoding)));
    if (!filtered)
        return sl_input("column %s: booleans have no Bloom filter", o->column);
    return SL_OK;
}

sl_status write_choices(const struct sl_parquet_write_options *options, const struct write_schema *schema,
                        struct leaf_choice **out)
{
    SL_TRY(check_encoding(options->encoding));
    struct leaf_choice *choices;
    SL_NEW_ARRAY(choices, schema->leaf_count);
    for (size_t i = 0; i < schema->leaf_count; i++)
        if (!choose_encoding(&choices[i], &schema->leaves[i], options->encoding))
            (void)choose_encoding(&choices[i], &schema->leaves[i], SL_ENCODING_DEFAULT);
    for (size_t i = 0; i < options->column_count; i++) {
        sl_status status = apply_column(&options->columns[i], schema, choices);
        if (status) {
            sl_free(choices);
            return status;
        }
    }
    *out = choices;
    return SL_OK;
}

/* The one leaf of that name, SIZE_MAX: none or several. */
static size_t find_leaf(const struct write_schema *schema, const char *column)
{
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < schema->leaf_count; i++)
        if (leaf_is_named(&schema->leaves[i], column)) {
            if (found != SIZE_MAX)
                return SIZE_MAX;
            found = i;
        }
    return found;
}

sl_status write_sorting(const struct sl_parquet_write_options *options, const struct write_schema *schema,
                        struct parquet_sorting_column **out)
{
    struct parquet_sorting_column *sorting;
    if (options->sorting_count == 0)
        return SL_OK;
    SL_NEW_ARRAY(sorting, options->sorting_count);
    for (size_t i = 0; i < options->sorting_count; i++) {
        const struct sl_parquet_sorting *o = &options->sorting[i];
        size_t leaf = find_leaf(schema, o->column);
        if (leaf > INT32_MAX) {
            sl_free(sorting);
            return sl_input("sorting column %s is not one column of the file", o->column);
        }
        sorting[i] = (struct parquet_sorting_column){(int32_t)leaf, o->descending, o->nulls_first};
    }
    *out = sorting;
    return SL_OK;
}

/* ---- Hudi ---------------------------------------------------------------------------------------------- */

static bool unsafe(const char **feature, const char *name)
{
    if (feature)
        *feature = name;
    return false;
}

/* Spark 3.5 cannot read BYTE_STREAM_SPLIT. Of DELTA_LENGTH_BYTE_ARRAY its vectorised reader takes the lengths at the row's
 * place in the batch instead of in the page: wherever pages and its batches of 4096 rows do not end together it fails, or
 * returns wrong strings without an error (tried with Spark 3.5.6 on files of pyarrow as well as on ours). */
static bool encoding_is_safe(enum sl_parquet_encoding encoding, const char **feature)
{
    if (encoding == SL_ENCODING_BYTE_STREAM_SPLIT)
        return unsafe(feature, "encoding BYTE_STREAM_SPLIT");
    if (encoding == SL_ENCODING_DELTA_LENGTH_BYTE_ARRAY)
        return unsafe(feature, "encoding DELTA_LENGTH_BYTE_ARRAY");
    return true;
}

bool sl_parquet_options_hudi_safe(const struct sl_parquet_write_options *options, const char **feature)
{
    bool safe = encoding_is_safe(options->encoding, feature);
    for (size_t i = 0; i < options->column_count && safe; i++)
        safe = encoding_is_safe(options->columns[i].encoding, feature);
    return safe;
}

bool sl_parquet_schema_hudi_safe(const sl_type *schema, const char **feature)
{
    if (schema->id == SL_TIME)
        return unsafe(feature, "type time");
    if (schema->id == SL_TIMESTAMP && schema->unit == SL_NANOS)
        return unsafe(feature, "timestamps in nanoseconds");
    if (schema->id == SL_HALF)
        return unsafe(feature, "type float16");
    for (size_t i = 0; i < schema->field_count; i++)
        if (!sl_parquet_schema_hudi_safe(schema->fields[i].type, feature))
            return false;
    return true;
}
