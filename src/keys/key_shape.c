/*
 * The shape of record keys (spec/write-path.md 1.3), for whoever asks for a key that no row can have: the bare value where a
 * composite key is meant, 1.0 for a long.
 */
#include "keys/keys_int.h"

/* ---- texts of values ----------------------------------------------------------------------------------- */

static bool is_digits(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    return len > 0;
}

/* As the generator writes them: no plus sign, no zeros in front. */
static bool is_integer_text(const char *text, size_t len)
{
    size_t sign = len > 0 && *text == '-';
    return is_digits(text + sign, len - sign) && (len - sign == 1 || text[sign] != '0');
}

static bool is_date_text(const char *text, size_t len)
{
    return len >= 10 && text[len - 3] == '-' && text[len - 6] == '-' && is_digits(text + len - 2, 2) &&
           is_digits(text + len - 5, 2);
}

static bool is_text(const char *text, size_t len, const char *wanted)
{
    return len == strlen(wanted) && memcmp(text, wanted, len) == 0;
}

static bool may_be_text_of(const sl_type *type, const char *text, size_t len)
{
    if (len == 0)
        return false;
    if ((type->id >= SL_INT8 && type->id <= SL_UINT64) || type->id == SL_TIME || type->id == SL_TIMESTAMP)
        return is_integer_text(text, len);
    if (type->id == SL_DATE)
        return is_date_text(text, len);
    return type->id != SL_BOOL || is_text(text, len, "true") || is_text(text, len, "false");
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

static bool begins_with_field(const char *key, size_t len, const char *field)
{
    size_t name = strlen(field);
    return len > name && memcmp(key, field, name) == 0 && key[name] == ':';
}

/* Where the part of a composite key ends that begins at `key`: before a comma and the next field's name, where it has one. */
static size_t part_length(const char *key, size_t len, const char *next)
{
    for (size_t i = 0; next && i < len; i++)
        if (key[i] == ',' && begins_with_field(key + i + 1, len - i - 1, next))
            return i;
    return len;
}

static bool may_be_part(const sl_type *schema, const char *field, const char *text, size_t len)
{
    const sl_type *type = key_field_type(schema, field);
    return !type || is_text(text, len, "__null__") || is_text(text, len, "__empty__") ||
           may_be_text_of(type, text, len);
}

static bool may_be_composite(const struct sl_keygen *keygen, const sl_type *schema, const char *key,
                             size_t len)
{
    const sl_strings *fields = &keygen->record_fields;
    for (size_t f = 0; f < fields->count; f++) {
        const char *field = fields->items[f], *next = f + 1 < fields->count ? fields->items[f + 1] : NULL;
        if (!begins_with_field(key, len, field))
            return false;
        key += strlen(field) + 1;
        len -= strlen(field) + 1;
        size_t part = part_length(key, len, next);
        if (!may_be_part(schema, field, key, part) || (next && part == len))
            return false;
        key += part + (next != NULL);
        len -= part + (next != NULL);
    }
    return true;
}

bool sl_keygen_may_make(const struct sl_keygen *keygen, const sl_type *schema, const void *key, size_t len)
{
    if (keygen_is_composite(keygen))
        return may_be_composite(keygen, schema, key, len);
    const sl_type *type =
        keygen->record_fields.count ? key_field_type(schema, keygen->record_fields.items[0]) : NULL;
    return !type || may_be_text_of(type, key, len);
}

sl_status sl_keygen_shape(const struct sl_keygen *keygen, const sl_type *schema, char **out)
{
    sl_buf shape = {0};
    sl_status status = SL_OK;
    for (size_t f = 0; f < keygen->record_fields.count && !status; f++) {
        const char *field = keygen->record_fields.items[f];
        const sl_type *type = key_field_type(schema, field);
        char *text = NULL;
        if (type)
            status = sl_type_text(type, &text);
        if (!status && keygen_is_composite(keygen))
            status = sl_buf_printf(&shape, "%s%s:", f ? "," : "", field);
        if (!status)
            status = sl_buf_printf(&shape, "<%s>", text ? text : "value");
        if (!status && !keygen_is_composite(keygen))
            status = sl_buf_printf(&shape, ", the value of %s", field);
        sl_free(text);
    }
    if (!status)
        status = sl_buf_take_string(&shape, out);
    sl_buf_free(&shape);
    return status;
}
