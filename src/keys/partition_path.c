/*
 * Partition paths (spec/write-path.md 1.5): each partition field becomes one segment
 *
 *     value or __HIVE_DEFAULT_PARTITION__  ->  escaped  ->  "field=" in front  ->  '-' replaced by '/'
 *                                              url_encode    hive_style            slash_dates, one field
 * only
 *
 * and the segments are joined by '/'. Partition columns have few distinct values, in runs more often than
 * not, so that the text of a value is made once and then copied.
 */
#include "keys/keys_int.h"

/* The characters that Hive escapes in a path. */
static bool must_escape(uint8_t c)
{
    return c < 0x20 || c == 0x7f || (c < 0x7f && strchr("\"#%'*/:=?\\{[]^", c) != NULL);
}

sl_status sl_partition_escape(const char *value, size_t len, sl_buf *out)
{
    static const char hex[] = "0123456789ABCDEF";
    size_t most;
    if (len == 0)
        return sl_buf_append(out, HIVE_DEFAULT_PARTITION, strlen(HIVE_DEFAULT_PARTITION));
    if (sl_mul_overflows(len, 3, &most))
        return sl_nomem();
    SL_TRY(sl_buf_reserve(out, most));
    uint8_t *at = out->data + out->len;
    for (size_t i = 0; i < len; i++) {
        uint8_t c = (uint8_t)value[i];
        if (must_escape(c)) {
            *at++ = '%';
            *at++ = (uint8_t)hex[c >> 4];
            *at++ = (uint8_t)hex[c & 15];
        } else {
            *at++ = c;
        }
    }
    out->len = (size_t)(at - out->data);
    return SL_OK;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* "%xx" is one UTF-16 unit in Hudi, so that %E9 is the character U+00E9, not a byte of UTF-8. */
sl_status sl_partition_unescape(const char *value, size_t len, sl_buf *out)
{
    SL_TRY(sl_buf_reserve(out, len));
    for (size_t i = 0; i < len; i++) {
        int high = -1, low = -1;
        if (value[i] == '%' && len - i > 2) {
            high = hex_digit(value[i + 1]);
            low = hex_digit(value[i + 2]);
        }
        if (high < 0 || low < 0) {
            SL_TRY(sl_buf_byte(out, (uint8_t)value[i]));
            continue;
        }
        uint8_t unit = (uint8_t)(high << 4 | low);
        if (unit >= 0x80)
            SL_TRY(sl_buf_byte(out, (uint8_t)(0xc0 | unit >> 6)));
        SL_TRY(sl_buf_byte(out, unit >= 0x80 ? (uint8_t)(0x80 | (unit & 0x3f)) : unit));
        i += 2;
    }
    return SL_OK;
}

/* ---- values to paths ----------------------------------------------------------------------------------- */

/* How the values of one field become segments. */
struct segment_form {
    const char *field;
    bool hive_style, url_encode, slash_dates;
};

static struct segment_form segment_form_of(const struct sl_keygen *keygen, size_t field)
{
    /* COMPLEX replaces '-' only when there is exactly one field; SIMPLE has exactly one. */
    return (struct segment_form){
        .field = keygen->partition_fields.items[field],
        .hive_style = keygen->hive_style,
        .url_encode = keygen->url_encode,
        .slash_dates = keygen->slash_dates && keygen->partition_fields.count == 1,
    };
}

static sl_status append_segment(const struct segment_form *form, const uint8_t *value, size_t len,
                                sl_buf *out)
{
    size_t start = out->len;
    bool is_default = len == 0;
    if (form->hive_style) {
        SL_TRY(sl_buf_append(out, form->field, strlen(form->field)));
        SL_TRY(sl_buf_byte(out, '='));
    }
    if (is_default)
        SL_TRY(sl_buf_append(out, HIVE_DEFAULT_PARTITION, strlen(HIVE_DEFAULT_PARTITION)));
    else if (form->url_encode)
        SL_TRY(sl_partition_escape((const char *)value, len, out));
    else
        SL_TRY(sl_buf_append(out, value, len));
    for (size_t i = start; form->slash_dates && i < out->len; i++)
        if (out->data[i] == '-')
            out->data[i] = '/'; /* the field's name too: Hudi replaces in the whole text */
    return SL_OK;
}

/* Segments already made in the sink's bytes, found by the value that made them. Slots are overwritten, never
 * probed: a miss costs making the segment again. */
enum { MEMO_SLOTS = 256 };
struct segment_memo {
    struct {
        int64_t row; /* whose value it is; -1: free */
        size_t start, len;
    } slots[MEMO_SLOTS];
};

static size_t memo_slot(const uint8_t *value, size_t len)
{
    return (size_t)(sl_xxh64(value, len) % MEMO_SLOTS);
}

/* A row's text without its null: an empty value and a null have the same segment. */
static const uint8_t *text_or_empty(const sl_array *texts, int64_t row, size_t *len)
{
    *len = 0;
    return sl_is_valid(texts, row) ? sl_bytes_at(texts, row, len) : (const uint8_t *)"";
}

static sl_status repeat_bytes(struct text_sink *sink, size_t start, size_t len)
{
    uint8_t *at = NULL;
    SL_TRY(text_sink_room(sink, len, &at));
    memcpy(at, sink->bytes.data + start, len);
    sink->bytes.len += len;
    return SL_OK;
}

static sl_status segments_of_texts(const struct segment_form *form, const sl_array *texts,
                                   struct text_sink *sink, struct segment_memo *memo)
{
    const uint8_t *last = NULL;
    size_t last_len = 0, slot = 0;
    for (int64_t i = 0; i < texts->length; i++) {
        size_t len;
        const uint8_t *value = text_or_empty(texts, i, &len);
        bool in_run = last && len == last_len && memcmp(value, last, len) == 0;
        if (!in_run) {
            slot = memo_slot(value, len);
            last = value;
            last_len = len;
        }
        size_t seen_len = 0;
        const uint8_t *seen = NULL;
        if (!in_run && memo->slots[slot].row >= 0)
            seen = text_or_empty(texts, memo->slots[slot].row, &seen_len);
        if (in_run || (seen && seen_len == len && memcmp(seen, value, len) == 0)) {
            SL_TRY(repeat_bytes(sink, memo->slots[slot].start, memo->slots[slot].len));
        } else {
            size_t start = sink->bytes.len;
            SL_TRY(append_segment(form, value, len, &sink->bytes));
            memo->slots[slot].row = i;
            memo->slots[slot].start = start;
            memo->slots[slot].len = sink->bytes.len - start;
        }
        text_sink_end_row(sink);
    }
    return SL_OK;
}

static bool has_null_or_empty(const sl_array *texts)
{
    if (texts->null_count != 0)
        return true;
    for (int64_t i = 0; i < texts->length; i++)
        if (texts->offsets[i] == texts->offsets[i + 1])
            return true;
    return false;
}

/* The texts of a partition field. One that the rows lack counts as null, as in Hudi (spec/write-path.md 1.3);
 * sl_keygen_check has refused a field that no row can have. */
static sl_status partition_texts(const sl_batch *batch, const char *field, sl_array **out)
{
    const sl_type *type;
    if (key_field_type(batch->schema, field))
        return key_text_of_field(batch, field, out, NULL);
    SL_TRY(sl_type_new(SL_STRING, &type));
    sl_status status = sl_array_nulls(type, batch->rows, out);
    sl_type_unref(type);
    return status;
}

static sl_status segments_of_field(const struct sl_keygen *keygen, size_t field, const sl_batch *batch,
                                   sl_array **out)
{
    struct segment_form form = segment_form_of(keygen, field);
    struct segment_memo *memo = NULL;
    struct text_sink sink = {0};
    sl_array *texts;
    SL_TRY(partition_texts(batch, form.field, &texts));
    if (!form.hive_style && !form.url_encode && !form.slash_dates && !has_null_or_empty(texts)) {
        *out = texts; /* the segment is the value */
        return SL_OK;
    }
    sl_status status;
    if (!(memo = sl_malloc(sizeof *memo))) {
        status = sl_nomem();
        goto done;
    }
    for (size_t i = 0; i < MEMO_SLOTS; i++)
        memo->slots[i].row = -1;
    SL_GO(text_sink_init(&sink, texts->length));
    SL_GO(segments_of_texts(&form, texts, &sink, memo));
    SL_GO(text_sink_finish(&sink, NULL, 0, out));
done:
    text_sink_free(&sink);
    sl_free(memo);
    sl_array_unref(texts);
    return status;
}

static sl_status join_segments(sl_array *const *segments, size_t count, int64_t rows, sl_array **out)
{
    struct text_sink sink;
    SL_TRY(text_sink_init(&sink, rows));
    sl_status status = SL_OK;
    for (int64_t i = 0; i < rows; i++) {
        for (size_t f = 0; f < count; f++) {
            size_t len;
            const uint8_t *segment = sl_bytes_at(segments[f], i, &len);
            uint8_t *at = NULL;
            SL_GO(text_sink_room(&sink, len + 1, &at));
            if (f > 0)
                *at++ = '/';
            memcpy(at, segment, len);
            sink.bytes.len += len + (f > 0);
        }
        text_sink_end_row(&sink);
    }
    return text_sink_finish(&sink, NULL, 0, out);
done:
    text_sink_free(&sink);
    return status;
}

sl_status partition_paths_of_batch(const struct sl_keygen *keygen, const sl_batch *batch, sl_array **out)
{
    size_t count = keygen->partition_fields.count;
    if (keygen->kind == SL_KEYGEN_NON_PARTITION || count == 0)
        return sl_array_constant_string("", 0, batch->rows, out);
    if (count == 1)
        return segments_of_field(keygen, 0, batch, out);
    sl_array **segments;
    SL_NEW_ARRAY(segments, count);
    sl_status status = SL_OK;
    for (size_t f = 0; f < count; f++)
        SL_GO(segments_of_field(keygen, f, batch, &segments[f]));
    SL_GO(join_segments(segments, count, batch->rows, out));
done:
    for (size_t f = 0; f < count; f++)
        sl_array_unref(segments[f]);
    sl_free(segments);
    return status;
}

/* ---- paths back to values ------------------------------------------------------------------------------ */

/* Length of "field=" at the start of `text` (with '-' as '/' where that was replaced), 0 when it is not
 * there. */
static size_t prefix_length(const struct segment_form *form, const char *text, size_t len)
{
    size_t name = strlen(form->field);
    if (len <= name || text[name] != '=')
        return 0;
    for (size_t i = 0; i < name; i++) {
        char expected = form->slash_dates && form->field[i] == '-' ? '/' : form->field[i];
        if (text[i] != expected)
            return 0;
    }
    return name + 1;
}

/* Where the segment that starts at `at` ends: at the next '/', or, under hive style, at the '/' before the
 * next field's prefix, as values may hold slashes when they are not escaped. The last field takes the rest.
 */
static size_t segment_end(const struct sl_keygen *keygen, size_t field, const char *path, size_t at,
                          size_t len)
{
    if (field + 1 == keygen->partition_fields.count)
        return len;
    struct segment_form next = segment_form_of(keygen, field + 1);
    for (size_t i = at; i < len; i++)
        if (path[i] == '/' && (!keygen->hive_style || prefix_length(&next, path + i + 1, len - i - 1)))
            return i;
    return len;
}

static sl_status add_value(const struct segment_form *form, const char *text, size_t len, sl_strings *values)
{
    sl_buf value = {0};
    char *string = NULL;
    sl_status status;
    if (form->url_encode)
        SL_GO(sl_partition_unescape(text, len, &value));
    else
        SL_GO(sl_buf_append(&value, text, len));
    for (size_t i = 0; form->slash_dates && i < value.len; i++)
        if (value.data[i] == '/')
            value.data[i] = '-';
    SL_GO(sl_buf_take_string(&value, &string));
    SL_GO(sl_strings_add(values, string));
done:
    sl_free(string);
    sl_buf_free(&value);
    return status;
}

sl_status sl_partition_values(const struct sl_keygen *keygen, const char *path, sl_strings *values)
{
    size_t len = strlen(path), at = 0, count = keygen->partition_fields.count;
    if (keygen->kind == SL_KEYGEN_NON_PARTITION || count == 0)
        return len == 0 ? SL_OK : sl_input("partition path `%s` in a table without partitions", path);
    for (size_t f = 0; f < count; f++) {
        struct segment_form form = segment_form_of(keygen, f);
        if (at > len)
            return sl_input("partition path `%s` has no value for field `%s`", path, form.field);
        size_t end = segment_end(keygen, f, path, at, len);
        if (form.hive_style) {
            size_t prefix = prefix_length(&form, path + at, end - at);
            if (prefix == 0)
                return sl_input("partition path `%s`: `%.*s` does not begin with `%s=`", path,
                                (int)(end - at), path + at, form.field);
            at += prefix;
        }
        bool last = f + 1 == count;
        /* Without escapes and prefixes a slash too many cannot be told from a separator. */
        if (last && count > 1 && !form.hive_style && memchr(path + at, '/', end - at))
            return sl_input("partition path `%s` has more parts than the %zu partition fields", path, count);
        SL_TRY(add_value(&form, path + at, end - at, values));
        at = end + 1;
    }
    return SL_OK;
}
