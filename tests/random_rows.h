/* Random column types and random values of them, for tests of whole tables. */
#ifndef RANDOM_ROWS_H
#define RANDOM_ROWS_H

#include "engine_support.h"

static inline void random_field(struct rng *r, int depth, const char *name, sl_field *out);

static inline const sl_type *random_scalar(struct rng *r)
{
    static const enum sl_type_id plain[] = {SL_BOOL, SL_INT32,  SL_INT64,  SL_FLOAT, SL_DOUBLE,
                                            SL_DATE, SL_STRING, SL_STRING, SL_BINARY};
    const sl_type *type;
    switch (pick(r, 8)) {
    case 0: {
        int32_t precision = 1 + (int32_t)pick(r, 38);
        ok(sl_type_decimal(precision, (int32_t)pick(r, precision + 1), &type));
        break;
    }
    case 1:
        ok(sl_type_timestamp(pick(r, 2) ? SL_MILLIS : SL_MICROS, pick(r, 2), &type));
        break;
    case 2:
        ok(sl_type_fixed(1 + (int32_t)pick(r, 9), &type));
        break;
    default:
        ok(sl_type_new(plain[pick(r, (int64_t)(sizeof plain / sizeof *plain))], &type));
        break;
    }
    return type;
}

static inline const sl_type *random_type(struct rng *r, int depth)
{
    const sl_type *type;
    sl_field fields[3];
    int64_t kind = depth >= 3 ? 9 : pick(r, 10);
    if (kind == 0) {
        random_field(r, depth + 1, "element", &fields[0]);
        ok(sl_type_list(&fields[0], &type));
        sl_type_unref(fields[0].type);
    } else if (kind == 1) {
        const sl_type *key;
        ok(sl_type_new(SL_STRING, &key));
        random_field(r, depth + 1, "value", &fields[0]);
        ok(sl_type_map(key, &fields[0], &type));
        sl_type_unref(key);
        sl_type_unref(fields[0].type);
    } else if (kind == 2) {
        static const char *const names[] = {"a", "b", "c"};
        size_t count = 1 + (size_t)pick(r, 3);
        for (size_t i = 0; i < count; i++)
            random_field(r, depth + 1, names[i], &fields[i]);
        ok(sl_type_struct(fields, count, &type));
        for (size_t i = 0; i < count; i++)
            sl_type_unref(fields[i].type);
    } else {
        type = random_scalar(r);
    }
    return type;
}

/* The type's reference is the caller's. */
static inline void random_field(struct rng *r, int depth, const char *name, sl_field *out)
{
    *out = (sl_field){.name = name, .type = random_type(r, depth), .nullable = depth == 0 || chance(r, 70)};
}

static inline size_t random_text(struct rng *r, char *out)
{
    static const char *const pieces[] = {"a",
                                         "b",
                                         "Z",
                                         "0",
                                         " ",
                                         "\"",
                                         "\\",
                                         "\n",
                                         "\xc3\xa4",
                                         "\xe2\x82\xac",
                                         "\xef\xbc\xa1",
                                         "\xf0\x9f\x98\x80",
                                         "'",
                                         ","};
    size_t len = 0;
    for (int64_t n = pick(r, 9); n > 0; n--) {
        const char *piece = pieces[pick(r, (int64_t)(sizeof pieces / sizeof *pieces))];
        memcpy(out + len, piece, strlen(piece));
        len += strlen(piece);
    }
    return len;
}

static inline sl_i128 random_decimal(struct rng *r, int32_t precision)
{
    sl_i128 value = 0;
    for (int64_t digits = pick(r, precision + 1); digits > 0; digits--)
        value = value * 10 + pick(r, 10);
    return pick(r, 2) ? value : -value;
}

static inline void random_value(struct rng *r, sl_builder *b, const sl_type *type, bool nullable)
{
    char text[64];
    if (nullable && chance(r, 20)) {
        ok(sl_builder_null(b));
        return;
    }
    switch (type->id) {
    case SL_BOOL:
        ok(sl_builder_bool(b, pick(r, 2)));
        break;
    case SL_INT32:
        ok(sl_builder_integer(b, (int32_t)(rng_next(r) >> pick(r, 32))));
        break;
    case SL_INT64:
        ok(sl_builder_integer(b, (int64_t)(rng_next(r) >> pick(r, 64))));
        break;
    case SL_DATE:
        ok(sl_builder_integer(b, pick(r, 40000) - 10000));
        break;
    case SL_TIMESTAMP:
        ok(sl_builder_integer(b, pick(r, (int64_t)1 << 50) - ((int64_t)1 << 40)));
        break;
    case SL_FLOAT:
        ok(sl_builder_double(b, (double)(float)((double)(pick(r, 2000) - 1000) / 8)));
        break;
    case SL_DOUBLE:
        ok(sl_builder_double(b, chance(r, 5) ? -0.0 : (double)(pick(r, 2000000) - 1000000) / 7));
        break;
    case SL_DECIMAL:
        ok(sl_builder_decimal(b, random_decimal(r, type->precision)));
        break;
    case SL_STRING:
        ok(sl_builder_bytes(b, text, random_text(r, text)));
        break;
    case SL_BINARY: {
        size_t len = (size_t)pick(r, 12);
        for (size_t i = 0; i < len; i++)
            text[i] = (char)pick(r, 256);
        ok(sl_builder_bytes(b, text, len));
        break;
    }
    case SL_FIXED:
        for (int32_t i = 0; i < type->width; i++)
            text[i] = (char)pick(r, 256);
        ok(sl_builder_bytes(b, text, (size_t)type->width));
        break;
    case SL_LIST:
        for (int64_t n = pick(r, 4); n > 0; n--)
            random_value(r, sl_builder_child(b, 0), type->fields[0].type, type->fields[0].nullable);
        ok(sl_builder_close(b));
        break;
    case SL_MAP: {
        sl_builder *entries = sl_builder_child(b, 0);
        const sl_field *value = &type->fields[0].type->fields[1];
        for (int64_t n = 0, count = pick(r, 4); n < count; n++) {
            size_t len = (size_t)snprintf(text, sizeof text, "k%d", (int)n);
            ok(sl_builder_bytes(sl_builder_child(entries, 0), text, len));
            random_value(r, sl_builder_child(entries, 1), value->type, value->nullable);
            ok(sl_builder_close(entries));
        }
        ok(sl_builder_close(b));
        break;
    }
    case SL_STRUCT:
        for (size_t i = 0; i < type->field_count; i++)
            random_value(r, sl_builder_child(b, i), type->fields[i].type, type->fields[i].nullable);
        ok(sl_builder_close(b));
        break;
    default:
        fail_msg("no values for type %d", (int)type->id);
    }
}

#endif
