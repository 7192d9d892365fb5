/*
 * Which file groups of a bucket-indexed table may hold some keys: the record key alone decides (spec/write-path.md 5.1). Used
 * only where the table itself stores index and count, so that every writer has gone by them.
 */
#include "query/scan_int.h"

/* Counts that differ by partition are not read: such groups are all looked at. */
static bool buckets_are_known(const sl_table *table)
{
    const sl_properties *stored = &table->properties;
    const char *type = sl_properties_get_or(stored, "hoodie.index.type", "");
    const char *count = sl_properties_get_or(stored, "hoodie.bucket.index.num.buckets", "0");
    return table->buckets.buckets > 0 && strcmp(type, "BUCKET") == 0 &&
           strtoul(count, NULL, 10) == table->buckets.buckets &&
           !*sl_table_setting(table, "hoodie.bucket.index.partition.expressions", "");
}

sl_status key_buckets_init(struct key_buckets *b, const sl_table *table, const sl_key_set *keys)
{
    *b = (struct key_buckets){0};
    if (!buckets_are_known(table))
        return SL_OK;
    SL_NEW_ARRAY(b->of_key, keys->count + 1);
    for (size_t i = 0; i < keys->count; i++) {
        sl_status status =
            sl_bucket_of_key(&table->buckets, keys->items[i].data, keys->items[i].len, &b->of_key[i]);
        if (sl_status_code(status) ==
            SL_E_INPUT) { /* a key that no writer makes: nobody can say where it would be */
            sl_status_free(status);
            key_buckets_free(b);
            return SL_OK;
        }
        SL_TRY(status);
    }
    b->count = table->buckets.buckets;
    return SL_OK;
}

void key_buckets_free(struct key_buckets *b)
{
    sl_free(b->of_key);
    *b = (struct key_buckets){0};
}

bool key_buckets_hold(const struct key_buckets *b, const sl_file_group *group, size_t key)
{
    int64_t bucket = b->of_key ? sl_bucket_of_file_id(group->file_id) : -1;
    return bucket < 0 || bucket >= (int64_t)b->count || (uint32_t)bucket == b->of_key[key];
}

bool key_buckets_hold_any(const struct key_buckets *b, const sl_file_group *group, size_t key_count)
{
    for (size_t i = 0; i < key_count; i++)
        if (key_buckets_hold(b, group, i))
            return true;
    return false;
}
