/*
 * Rows of another file, copied as they are compressed, as a row group of their own (spec/parquet.md 12, traps 1 and 3).
 *
 * A page is worth nothing without its own dictionary, so a chunk is copied whole, or some of its pages with the
 * dictionary page. A column that must say something else in this file is written anew.
 */
#include "parquet/copy_int.h"

#define CONSTANT_ROWS 20000

/* ---- is it possible ------------------------------------------------------------------------------------ */

static bool same_element(const struct parquet_schema_element *a, const struct parquet_schema_element *b)
{
    if (a->has_type != b->has_type || a->repetition != b->repetition || strcmp(a->name, b->name) != 0)
        return false;
    if (!a->has_type)
        return a->children == b->children;
    return a->type == b->type && (a->type != PARQUET_FIXED || a->type_length == b->type_length);
}

static sl_status check_schema(const sl_parquet_writer *w, const sl_parquet *source)
{
    const struct parquet_file_metadata *meta = &source->meta;
    if (meta->schema_count != w->layout.element_count || source->schema.leaf_count != w->layout.leaf_count ||
        meta->schema[0].children != w->layout.elements[0].children)
        return sl_input("the row group's columns are not those of the Parquet file");
    for (size_t i = 1; i < meta->schema_count; i++)
        if (!same_element(&meta->schema[i], &w->layout.elements[i]))
            return sl_input("column element %s of the row group is not as the Parquet file writes it (%s)",
                            meta->schema[i].name, w->layout.elements[i].name);
    /* Annotations: the same bytes may be a number of days or a number. */
    if (!sl_type_equal(source->schema.type, w->schema))
        return sl_input("the row group's types are not those of the Parquet file");
    return SL_OK;
}

static sl_status check_constants(const sl_parquet_writer *w, const struct sl_parquet_constant *constants,
                                 size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int column = sl_type_field_index(w->schema, constants[i].column);
        if (column < 0)
            return sl_input("no column %s to write anew", constants[i].column);
        if (w->schema->fields[column].type->id != SL_STRING)
            return sl_input("column %s: only strings can be written anew while a row group is copied",
                            constants[i].column);
    }
    return SL_OK;
}

static const struct sl_parquet_constant *
find_constant(const struct write_leaf *leaf, const struct sl_parquet_constant *constants, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(leaf->path[0], constants[i].column) == 0)
            return &constants[i];
    return NULL;
}

/* ---- rows written anew ---------------------------------------------------------------------------------- */

static sl_status fill_constant(struct leaf_writer *leaf, struct write_scratch *s, const char *value,
                               int64_t rows)
{
    sl_array *array;
    int64_t piece = rows < CONSTANT_ROWS ? rows : CONSTANT_ROWS;
    SL_TRY(sl_array_repeated_string(value, strlen(value), piece, &array));
    sl_status status = SL_OK;
    for (int64_t done = 0; done < rows && !status; done += piece) {
        int64_t n = rows - done < piece ? rows - done : piece;
        status = leaf_writer_rows(leaf, s, array, 0, n, done);
    }
    if (!status)
        status = leaf_writer_close_chunk(leaf, s);
    sl_array_unref(array);
    return status;
}

static sl_status write_constant(struct group_copy *c, size_t leaf, const char *value)
{
    struct write_scratch *s;
    SL_TRY(writer_scratch_take(c->w, &s));
    sl_status status = fill_constant(&c->w->leaves[leaf], s, value, c->rows);
    writer_scratch_return(c->w, s);
    SL_TRY(status);
    return writer_put_chunk(c->w, &c->w->leaves[leaf], &c->to->columns[leaf]);
}

static sl_status copy_chunk(struct group_copy *c, size_t leaf)
{
    return c->rows == c->from->num_rows ? copy_whole_chunk(c, leaf) : copy_chunk_pages(c, leaf);
}

static sl_status copy_group(struct group_copy *c, const struct sl_parquet_constant *constants, size_t count)
{
    sl_parquet_writer *w = c->w;
    for (size_t i = 0; i < w->layout.leaf_count; i++) {
        const struct write_leaf *leaf = &w->layout.leaves[i];
        const struct sl_parquet_constant *constant = find_constant(leaf, constants, count);
        SL_TRY_CTX(constant ? write_constant(c, i, constant->value) : copy_chunk(c, i), "column %s",
                   leaf->name);
        if (sl_add_overflows_i64(c->to->total_byte_size, c->to->columns[i].meta.total_uncompressed_size,
                                 &c->to->total_byte_size))
            return sl_corrupt("column %s: sizes overflow", leaf->name);
        c->to->total_compressed_size += c->to->columns[i].meta.total_compressed_size;
    }
    /* A filter of all rows is right for some of them, but for a few it is too large. */
    bool keeps_blooms = c->rows >= c->from->num_rows / 2;
    for (size_t i = 0; i < w->layout.leaf_count; i++) {
        if (find_constant(&w->layout.leaves[i], constants, count)) {
            SL_TRY(writer_put_bloom(w, &w->leaves[i], &c->to->columns[i]));
            SL_TRY(leaf_writer_next_chunk(&w->leaves[i]));
        } else if (keeps_blooms) {
            SL_TRY_CTX(copy_bloom(c, i), "column %s", w->layout.leaves[i].name);
        }
    }
    return SL_OK;
}

/* How the source's rows are sorted. A rewritten column is constant, so the order holds with it as well. */
static sl_status copy_sorting(struct group_copy *c)
{
    const void *copy;
    if (c->from->sorting_count == 0 || c->to->sorting_count > 0)
        return SL_OK;
    SL_TRY(
        copy_keep(c->w->arena, c->from->sorting, c->from->sorting_count * sizeof *c->from->sorting, &copy));
    c->to->sorting = copy;
    c->to->sorting_count = c->from->sorting_count;
    return SL_OK;
}

static sl_status add_group(struct group_copy *c, const struct sl_parquet_constant *constants, size_t count)
{
    sl_parquet_writer *w = c->w;
    SL_TRY(writer_flush(w));
    SL_TRY(writer_next_group(w));
    SL_TRY(sl_arena_new(&c->arena));
    c->to = &w->groups[w->group_count];
    c->to->num_rows = c->rows;
    SL_TRY(copy_sorting(c));
    SL_TRY(copy_group(c, constants, count));
    w->group_count++;
    w->copied.rows += (uint64_t)c->rows;
    w->rows += c->rows;
    w->done_rows += c->rows;
    return SL_OK;
}

/* ---- the calls ----------------------------------------------------------------------------------------- */

static sl_status check_source(const sl_parquet_writer *w, const sl_parquet *source)
{
    SL_TRY(check_schema(w, source));
    if (parquet_written_before(source->meta.created_by, "parquet-mr", 1, 8))
        return sl_unsupported("pages of \"%s\" cannot be copied: readers need to know who wrote them",
                              source->meta.created_by);
    return SL_OK;
}

bool sl_parquet_writer_can_copy(const sl_parquet_writer *w, const sl_parquet *source)
{
    return !sl_status_ignore(check_source(w, source));
}

/* Units are all rows of their group from the first one's on, or some that are known by their pages. */
static sl_status check_units(const sl_parquet_units *units, size_t first, size_t count)
{
    if (first > units->count || count > units->count - first)
        return sl_input("no %zu units from unit %zu on in a row group of %zu", count, first, units->count);
    if (units->rows[first + count] - units->rows[first] >
        INT32_MAX) /* also a claim that costs its writer nothing */
        return sl_unsupported("copying more than 2^31 rows of a row group");
    return SL_OK;
}

sl_status sl_parquet_writer_copy_units(sl_parquet_writer *w, const sl_parquet_units *units, size_t first,
                                       size_t count, const struct sl_parquet_constant *constants,
                                       size_t constant_count)
{
    const sl_parquet *source = units->source;
    if (w->failed)
        return sl_internal("a Parquet writer was used after it failed");
    SL_TRY(check_units(units, first, count));
    SL_TRY(check_source(w, source));
    SL_TRY(check_constants(w, constants, constant_count));
    if (count == 0)
        return SL_OK;
    struct group_copy c = {.w = w,
                           .source = source,
                           .pages = units->pages,
                           .from = &source->meta.row_groups[units->group],
                           .first = units->rows[first],
                           .rows = units->rows[first + count] - units->rows[first]};
    sl_status status = add_group(&c, constants, constant_count);
    sl_arena_free(c.arena);
    sl_buf_free(&c.buffer);
    w->failed = status != SL_OK;
    return sl_context(status, "row group %zu of %s", units->group, sl_file_path(source->file));
}

struct sl_parquet_copied sl_parquet_writer_copied(const sl_parquet_writer *w) { return w->copied; }

sl_status sl_parquet_writer_copy_row_group(sl_parquet_writer *w, const sl_parquet *source, size_t group,
                                           const struct sl_parquet_constant *constants, size_t count)
{
    sl_parquet_units *units;
    SL_TRY(sl_parquet_units_whole(source, group, &units));
    sl_status status = sl_parquet_writer_copy_units(w, units, 0, units->count, constants, count);
    sl_parquet_units_unref(units);
    return status;
}
