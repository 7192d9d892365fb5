/*
 * The simple bucket index (spec/write-path.md 5.1): bucket = (hash of a list of strings, sign bit cleared)
 * mod buckets. The list is read back from the text of the record key, not from the row, because that is what
 * Hudi does, ambiguities included: values in "f1:v1,f2:v2" are not escaped.
 */
#include "keys/keys.h"

#define NONE SIZE_MAX

static size_t find_from(const char *key, size_t len, size_t from, char wanted)
{
    if (from >= len)
        return NONE;
    const char *hit = memchr(key + from, wanted, len - from);
    return hit ? (size_t)(hit - key) : NONE;
}

/* The last comma in (after, before), or NONE. */
static size_t last_comma(const char *key, size_t after, size_t before)
{
    for (size_t i = before; i > after + 1; i--)
        if (key[i - 1] == ',')
            return i - 1;
    return NONE;
}

/* Where the value behind the colon at `colon` ends: at the last comma before the first later colon that has
 * one, so that commas and colons inside a value are taken for part of it. Hudi loops forever when the pair is
 * last, is not hashed and holds a colon in its value; the value ends with the key there. */
static size_t value_end(const char *key, size_t len, size_t colon)
{
    size_t next = colon;
    while ((next = find_from(key, len, next + 1, ':')) != NONE) {
        size_t comma = last_comma(key, colon, next);
        if (comma != NONE)
            return comma;
    }
    return len;
}

static bool is_hashed(const struct sl_bucket_hash *hash, const char *name, size_t len)
{
    if (hash->hash_fields.count == 0)
        return true;
    for (size_t i = 0; i < hash->hash_fields.count; i++)
        if (strlen(hash->hash_fields.items[i]) == len && memcmp(hash->hash_fields.items[i], name, len) == 0)
            return true;
    return false;
}

static bool value_is(const char *value, size_t len, const char *text)
{
    return strlen(text) == len && memcmp(value, text, len) == 0;
}

/* One step of Java's List.hashCode. */
static uint32_t hash_item(uint32_t h, const char *value, size_t len)
{
    if (value_is(value, len, "__null__"))
        return h * 31u;
    if (value_is(value, len, "__empty__"))
        len = 0;
    return h * 31u + (uint32_t)sl_java_string_hash(value, len);
}

static uint32_t hash_whole(const char *key, size_t len)
{
    return 31u + (uint32_t)sl_java_string_hash(key, len);
}

static sl_status hash_composite(const struct sl_bucket_hash *hash, const char *key, size_t len, uint32_t *out)
{
    uint32_t h = 1;
    bool any = false;
    for (size_t at = 0; at < len;) {
        size_t colon = find_from(key, len, at, ':');
        if (colon == NONE)
            return sl_input("record key `%.*s` has `%.*s` where a field:value pair should be",
                            (int)(len < 200 ? len : 200), key, (int)(len - at < 100 ? len - at : 100),
                            key + at);
        size_t end = value_end(key, len, colon);
        if (is_hashed(hash, key + at, colon - at)) {
            h = hash_item(h, key + colon + 1, end - colon - 1);
            any = true;
        }
        at = end + 1;
    }
    *out = any ? h : hash_whole(key, len);
    return SL_OK;
}

static uint32_t bucket_of_hash(const struct sl_bucket_hash *hash, uint32_t h)
{
    return (h & INT32_MAX) % hash->buckets;
}

/* Of a key that is one value. */
static uint32_t bucket_of_value(const struct sl_bucket_hash *hash, const void *key, size_t len)
{
    return hash->buckets > 1 ? bucket_of_hash(hash, hash_whole(key, len)) : 0;
}

static sl_status check_buckets(const struct sl_bucket_hash *hash)
{
    return hash->buckets ? SL_OK : sl_input("a bucket index needs at least one bucket");
}

sl_status sl_bucket_of_key(const struct sl_bucket_hash *hash, const void *key, size_t len, uint32_t *out)
{
    uint32_t h;
    SL_TRY(check_buckets(hash));
    if (find_from(key, len, 0, ',') == NONE || find_from(key, len, 0, ':') == NONE) {
        *out = bucket_of_value(hash, key, len);
        return SL_OK;
    }
    SL_TRY(hash_composite(hash, key, len, &h)); /* also for a single bucket, as it refuses malformed keys */
    *out = bucket_of_hash(hash, h);
    return SL_OK;
}

/* One look at the bytes of all keys spares two at each: mostly none has a comma. */
static bool all_are_values(const sl_array *keys)
{
    if (keys->dictionary || keys->null_count || keys->length == 0)
        return false;
    int32_t from = keys->offsets[0], end = keys->offsets[keys->length];
    return from == end || !memchr(keys->values + from, ',', (size_t)(end - from));
}

sl_status sl_bucket_of_keys(const struct sl_bucket_hash *hash, const sl_array *keys, uint32_t *out)
{
    SL_TRY(check_buckets(hash));
    if (all_are_values(keys)) {
        for (int64_t i = 0; i < keys->length; i++) {
            size_t len;
            const uint8_t *key = sl_bytes_at(keys, i, &len);
            out[i] = bucket_of_value(hash, key, len);
        }
        return SL_OK;
    }
    for (int64_t i = 0; i < keys->length; i++) {
        if (!sl_is_valid(keys, i))
            return sl_at_row(sl_input("the record key is null"), i);
        size_t len;
        const uint8_t *key = sl_bytes_at(keys, i, &len);
        SL_TRY_AT(sl_bucket_of_key(hash, key, len, &out[i]), i);
    }
    return SL_OK;
}

sl_status sl_bucket_file_id(uint32_t bucket, bool fixed, char *out)
{
    char uuid[37] = "00000000-0000-0000-0000-000000000000";
    if (bucket > 99999999)
        return sl_input("bucket %" PRIu32 " does not fit the eight digits that a file id has for it", bucket);
    if (!fixed)
        SL_TRY(sl_uuid4(uuid));
    for (int i = 7; i >= 0; i--, bucket /= 10)
        uuid[i] = (char)('0' + bucket % 10);
    memcpy(out, uuid, 36);
    memcpy(out + 36, "-0", 3);
    return SL_OK;
}

int64_t sl_bucket_of_file_id(const char *file_id)
{
    int64_t bucket = 0;
    for (int i = 0; i < 8; i++) {
        if (file_id[i] < '0' || file_id[i] > '9')
            return -1;
        bucket = bucket * 10 + (file_id[i] - '0');
    }
    return bucket;
}
