/*
 * A table's settings as Parquet options of its data files. What some Hudi reader of today cannot read (spec/parquet.md
 * 10) is refused unless sluice.parquet.force says that no such reader is meant.
 */
#include "slice/slice_int.h"
#include <limits.h>

/* Less than half of what parquet-java has: lookups decode less, compactions copy more, and files grew by 1 %. A merge that
 * copies reads from page to page: two batches each, neither cut short. */
#define PAGE_ROWS (2 * SL_MERGE_BATCH_ROWS)
/* A row group waits, compressed, until it is complete; several files are written at once. */
#define ROW_GROUP_BUDGET_SHARE 16

static sl_status refuse(sl_status status)
{
    return sl_hint(status, "-c sluice.parquet.force=true does it all the same");
}

sl_status sl_file_type_check(const sl_field *column, bool force)
{
    const char *feature;
    if (force || sl_parquet_schema_hudi_safe(column->type, &feature))
        return SL_OK;
    return refuse(sl_unsupported("column %s: %s, which not every Hudi reader reads", column->name, feature));
}

static sl_status sizes(const sl_table *table, struct sl_parquet_write_options *o)
{
    uint64_t page, group;
    SL_TRY(sl_table_setting_int(table, "sluice.parquet.page.rows", PAGE_ROWS, &o->page_rows));
    SL_TRY(sl_table_setting_bytes(table, "hoodie.parquet.page.size", 1 << 20, &page));
    SL_TRY(sl_table_setting_bytes(table, "hoodie.parquet.block.size", 120 << 20, &group));
    const sl_budget *budget = table->runtime.budget;
    if (budget && budget->limit && group > budget->limit / ROW_GROUP_BUDGET_SHARE)
        group = budget->limit / ROW_GROUP_BUDGET_SHARE;
    o->page_bytes = page < SIZE_MAX ? (size_t)page : SIZE_MAX;
    o->row_group_bytes = group < SIZE_MAX ? (size_t)group : SIZE_MAX;
    return SL_OK;
}

static sl_status codec(const sl_table *table, struct sl_parquet_write_options *o)
{
    int64_t level;
    SL_TRY(sl_parquet_codec_named(sl_table_setting(table, "hoodie.parquet.compression.codec", "zstd"),
                                  &o->codec));
    SL_TRY(sl_table_setting_int(table, "sluice.parquet.compression.level", 0, &level));
    if (level > INT_MAX)
        return sl_input("setting sluice.parquet.compression.level: %" PRId64, level);
    o->level = (int)level;
    return SL_OK;
}

static void add_column(struct file_options *o, const struct sl_parquet_column_options *column)
{
    o->columns[o->parquet.column_count++] = *column;
    o->parquet.columns = o->columns;
}

/* The record key differs from the other columns: lookups ask for it, and the files of the lsm_tree layout are sorted by it.
 * There DELTA_BYTE_ARRAY, which stores once what a key shares with the one before, made files 2 to 9 % smaller (UUIDs,
 * numbers, URLs; zstd) at the same processor time for writing, merging and reading. Every Hudi reader reads it
 * (spec/parquet.md 10); tables of the default layout keep what other writers write. */
static sl_status key_column(const sl_table *table, const sl_type *rows, struct file_options *o)
{
    if (sl_type_field_index(rows, sl_meta_names[SL_META_RECORD_KEY]) < 0) /* change data */
        return SL_OK;
    struct sl_parquet_column_options key = {
        .column = sl_meta_names[SL_META_RECORD_KEY],
        .bloom_filter = sl_table_setting_true(table, "sluice.parquet.bloom.keys", false),
    };
    const char *sorted = table->layout == SL_LAYOUT_LSM ? "delta_byte_array" : "default";
    const char *encoding = sl_table_setting(table, "sluice.parquet.key.encoding", "");
    SL_TRY(sl_parquet_encoding_named(*encoding ? encoding : sorted, &key.encoding));
    add_column(o, &key);
    return SL_OK;
}

/* What goes up with the record key shares the prefixes too: numbers of the rows of a commit, and a key's only field. */
static void columns_like_the_key(const sl_table *table, const sl_type *rows, struct file_options *o)
{
    const char *names[] = {sl_meta_names[SL_META_SEQNO], table->keygen.record_fields.count == 1
                                                             ? table->keygen.record_fields.items[0]
                                                             : ""};
    if (table->layout != SL_LAYOUT_LSM || o->columns[0].encoding != SL_ENCODING_DELTA_BYTE_ARRAY)
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int at = sl_type_field_index(rows, names[i]);
        if (at >= 0 && rows->fields[at].type->id == SL_STRING)
            add_column(o, &(struct sl_parquet_column_options){.column = names[i],
                                                              .encoding = SL_ENCODING_DELTA_BYTE_ARRAY});
    }
}

sl_status file_options_load(const sl_table *table, const sl_type *rows, struct file_options *out)
{
    const char *feature;
    *out = (struct file_options){0};
    struct sl_parquet_write_options *o = &out->parquet;
    SL_TRY(codec(table, o));
    SL_TRY(sizes(table, o));
    SL_TRY(sl_parquet_encoding_named(sl_table_setting(table, "sluice.parquet.encoding", "default"),
                                     &o->encoding));
    SL_TRY(key_column(table, rows, out));
    columns_like_the_key(table, rows, out);
    o->no_dictionary = !sl_table_setting_true(table, "hoodie.parquet.dictionary.enabled", true);
    o->footer_checksum = true;
    o->pool = table->runtime.pool;
    if (!sl_parquet_options_hudi_safe(o, &feature) &&
        !sl_table_setting_true(table, "sluice.parquet.force", false))
        return refuse(sl_unsupported("%s, which not every Hudi reader reads", feature));
    return SL_OK;
}
