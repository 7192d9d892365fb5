/*
 * Delete blocks of old releases: an array of HoodieKey (version 1) or DeleteRecord (version 2) as Kryo 4 writes Java
 * objects. Only what these two classes need is read.
 *
 *   class      varint 0: null; 1: by name, then varint name id and, at the name's first use, the name; n: built-in n - 2
 *   reference  before every object that is no boxed number: varint 0 null, 1 new, n: the object with id n - 2
 *   array      varint length + 1, then class and object of each element
 *   object     its fields in the order of their names: HoodieKey {partitionPath, recordKey}, DeleteRecord {hoodieKey, orderingVal}
 */
#include "log/log_int.h"

#define PACKAGE   "org.apache.hudi.common.model."
#define NAMES_MAX 8

enum builtin {
    KRYO_INT = 0,
    KRYO_STRING = 1,
    KRYO_FLOAT = 2,
    KRYO_BOOLEAN = 3,
    KRYO_BYTE = 4,
    KRYO_SHORT = 6,
    KRYO_LONG = 7,
    KRYO_DOUBLE = 8
};
enum class_kind {
    CLASS_NULL,
    CLASS_BUILTIN,
    CLASS_KEYS,
    CLASS_RECORDS,
    CLASS_KEY,
    CLASS_RECORD,
    CLASS_OTHER
};

/* An object that a later one may refer to: a string, or a key by its record key. */
struct object {
    enum class_kind kind;
    const uint8_t *text;
    size_t len;
};

struct kryo {
    const uint8_t *data;
    size_t len, pos;
    sl_arena *arena;
    enum class_kind names[NAMES_MAX];
    size_t name_count;
    struct object *objects;
    size_t object_count, object_cap;
};

static sl_status malformed(const struct kryo *k, const char *what)
{
    return sl_corrupt("Kryo deletes: %s before byte %zu", what, k->pos);
}

/* ---- primitives --------------------------------------------------------------------------------------------- */

static sl_status take(struct kryo *k, size_t len, const uint8_t **out)
{
    if (len > k->len - k->pos)
        return malformed(k, "end in the middle of a value");
    *out = k->data + k->pos;
    k->pos += len;
    return SL_OK;
}

/* Seven bits a byte; the ninth byte of a long holds eight. */
static sl_status take_varint(struct kryo *k, unsigned bytes_max, uint64_t *out)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes_max; i++) {
        const uint8_t *p;
        SL_TRY(take(k, 1, &p));
        bool whole = i == 8;
        value |= (uint64_t)(whole ? *p : *p & 0x7f) << (7 * i);
        if (whole || !(*p & 0x80)) {
            *out = value;
            return SL_OK;
        }
    }
    return malformed(k, "overlong number");
}

static sl_status take_zigzag(struct kryo *k, unsigned bytes_max, int64_t *out)
{
    uint64_t value;
    SL_TRY(take_varint(k, bytes_max, &value));
    *out = (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
    return SL_OK;
}

static size_t put_utf8(uint8_t *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (uint8_t)(0xc0 | c >> 6);
        out[1] = (uint8_t)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (uint8_t)(0xe0 | c >> 12);
        out[1] = (uint8_t)(0x80 | (c >> 6 & 63));
        out[2] = (uint8_t)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (uint8_t)(0xf0 | c >> 18);
    out[1] = (uint8_t)(0x80 | (c >> 12 & 63));
    out[2] = (uint8_t)(0x80 | (c >> 6 & 63));
    out[3] = (uint8_t)(0x80 | (c & 63));
    return 4;
}

/* One UTF-16 unit in one to three bytes. */
static sl_status take_unit(struct kryo *k, uint32_t *out)
{
    const uint8_t *p, *more;
    SL_TRY(take(k, 1, &p));
    size_t extra = *p < 0x80 ? 0 : *p >> 5 == 6 ? 1 : *p >> 4 == 14 ? 2 : 3;
    if (extra == 3)
        return malformed(k, "invalid character");
    SL_TRY(take(k, extra, &more));
    *out = extra == 0   ? *p
           : extra == 1 ? (uint32_t)(*p & 31) << 6 | (more[0] & 63)
                        : (uint32_t)(*p & 15) << 12 | (uint32_t)(more[0] & 63) << 6 | (more[1] & 63);
    return SL_OK;
}

static sl_status take_characters(struct kryo *k, size_t units, struct object *out)
{
    if (units > k->len - k->pos)
        return malformed(k, "text runs past the block");
    uint8_t *text = sl_arena_alloc(k->arena, units * 3 + 1);
    if (!text)
        return sl_nomem();
    uint32_t high = 0;
    size_t len = 0;
    for (size_t i = 0; i < units; i++) {
        uint32_t c;
        SL_TRY(take_unit(k, &c));
        if ((c >> 10 == 0x37) != (high != 0))
            return malformed(k, "half of a surrogate pair");
        if (c >> 10 == 0x36) {
            high = c;
            continue;
        }
        if (high)
            c = 0x10000 + ((high & 0x3ff) << 10) + (c & 0x3ff);
        high = 0;
        len += put_utf8(text + len, c);
    }
    if (high)
        return malformed(k, "half of a surrogate pair");
    out->text = text;
    out->len = len;
    return SL_OK;
}

/* ASCII of 2 to 63 characters ends with a byte whose top bit is set. */
static sl_status take_ascii(struct kryo *k, struct object *out)
{
    size_t start = k->pos;
    const uint8_t *p;
    do
        SL_TRY(take(k, 1, &p));
    while (!(*p & 0x80));
    out->len = k->pos - start;
    char *text = sl_arena_strndup(k->arena, (const char *)k->data + start, out->len);
    if (!text)
        return sl_nomem();
    text[out->len - 1] = (char)(text[out->len - 1] & 0x7f);
    out->text = (const uint8_t *)text;
    return SL_OK;
}

/* Text; `text` stays NULL for null. Else a length + 1 whose first byte has the top bit set and six bits of it. */
static sl_status take_text(struct kryo *k, struct object *out)
{
    *out = (struct object){.kind = CLASS_BUILTIN};
    if (k->pos == k->len)
        return malformed(k, "end where a text is expected");
    uint8_t first = k->data[k->pos];
    if (!(first & 0x80))
        return take_ascii(k, out);
    k->pos++;
    uint64_t units = first & 0x3f;
    if (first & 0x40) {
        uint64_t rest;
        SL_TRY(take_varint(k, 4, &rest));
        units |= rest << 6;
    }
    return units == 0 ? SL_OK : take_characters(k, (size_t)(units - 1), out);
}

/* ---- classes and references --------------------------------------------------------------------------------- */

static bool name_is(const struct object *name, const char *wanted)
{
    return name->text && name->len == strlen(wanted) && memcmp(name->text, wanted, name->len) == 0;
}

static sl_status take_named_class(struct kryo *k, enum class_kind *out)
{
    uint64_t id;
    struct object name;
    SL_TRY(take_varint(k, 5, &id));
    if (id < k->name_count) {
        *out = k->names[id];
        return SL_OK;
    }
    if (id > k->name_count || id == NAMES_MAX)
        return malformed(k, "unknown class number");
    SL_TRY(take_text(k, &name));
    *out = name_is(&name, PACKAGE "HoodieKey")            ? CLASS_KEY
           : name_is(&name, PACKAGE "DeleteRecord")       ? CLASS_RECORD
           : name_is(&name, "[L" PACKAGE "HoodieKey;")    ? CLASS_KEYS
           : name_is(&name, "[L" PACKAGE "DeleteRecord;") ? CLASS_RECORDS
                                                          : CLASS_OTHER;
    k->names[k->name_count++] = *out;
    return SL_OK;
}

static sl_status take_class(struct kryo *k, enum class_kind *out, int *builtin)
{
    uint64_t id;
    SL_TRY(take_varint(k, 5, &id));
    *builtin = -1;
    *out = CLASS_NULL;
    if (id == 1)
        return take_named_class(k, out);
    if (id >= 2) {
        *out = CLASS_BUILTIN;
        *builtin = id > 100 ? 100 : (int)id - 2;
    }
    return SL_OK;
}

/* *id: the object's number; *is_new: its content follows. Null: *id is SIZE_MAX. */
static sl_status take_reference(struct kryo *k, enum class_kind kind, size_t *id, bool *is_new)
{
    uint64_t mark;
    SL_TRY(take_varint(k, 5, &mark));
    *is_new = mark == 1;
    *id = mark == 0 ? SIZE_MAX : mark == 1 ? k->object_count : (size_t)(mark - 2);
    if (mark > 1 && (*id >= k->object_count || k->objects[*id].kind != kind))
        return malformed(k, "reference to an object of another class");
    if (!*is_new)
        return SL_OK;
    SL_GROW(k->objects, k->object_count, k->object_cap, 64);
    k->objects[k->object_count++] = (struct object){.kind = kind};
    return SL_OK;
}

static sl_status take_string(struct kryo *k, struct object *out)
{
    size_t id;
    bool is_new;
    SL_TRY(take_reference(k, CLASS_BUILTIN, &id, &is_new));
    *out = (struct object){.kind = CLASS_BUILTIN};
    if (id == SIZE_MAX)
        return SL_OK;
    if (is_new)
        SL_TRY(take_text(k, &k->objects[id]));
    *out = k->objects[id];
    return SL_OK;
}

/* ---- keys and records --------------------------------------------------------------------------------------- */

static sl_status expect_class(struct kryo *k, enum class_kind wanted)
{
    enum class_kind kind;
    int builtin;
    SL_TRY(take_class(k, &kind, &builtin));
    return kind == wanted ? SL_OK : malformed(k, "unexpected class");
}

static sl_status take_key(struct kryo *k, struct log_deletes *out)
{
    size_t id;
    bool is_new;
    struct object partition, key;
    SL_TRY(take_reference(k, CLASS_KEY, &id, &is_new));
    if (id == SIZE_MAX)
        return malformed(k, "delete without key");
    if (is_new) {
        SL_TRY(take_string(k, &partition));
        SL_TRY(take_string(k, &key));
        k->objects[id].text = key.text;
        k->objects[id].len = key.len;
    }
    if (!k->objects[id].text)
        return malformed(k, "delete without record key");
    return log_deletes_key(out, k->objects[id].text, k->objects[id].len);
}

static sl_status take_fixed(struct kryo *k, int builtin, struct log_ordering *out)
{
    const uint8_t *p;
    if (builtin == KRYO_FLOAT) {
        float narrow;
        SL_TRY(take(k, 4, &p));
        uint32_t bits = load_be32(p);
        memcpy(&narrow, &bits, sizeof narrow);
        *out = (struct log_ordering){.kind = LOG_ORDERING_FLOAT, .number = (double)narrow};
    } else if (builtin == KRYO_DOUBLE) {
        SL_TRY(take(k, 8, &p));
        uint64_t bits = load_be64(p);
        out->kind = LOG_ORDERING_DOUBLE;
        memcpy(&out->number, &bits, sizeof bits);
    } else if (builtin == KRYO_SHORT) {
        SL_TRY(take(k, 2, &p));
        *out =
            (struct log_ordering){.kind = LOG_ORDERING_INT, .integer = (int16_t)(uint16_t)(p[0] << 8 | p[1])};
    } else {
        SL_TRY(take(k, 1, &p));
        bool is_boolean = builtin == KRYO_BOOLEAN;
        *out = (struct log_ordering){.kind = is_boolean ? LOG_ORDERING_BOOLEAN : LOG_ORDERING_INT,
                                     .integer = is_boolean ? *p != 0 : (int8_t)*p};
    }
    return SL_OK;
}

static sl_status take_ordering(struct kryo *k, struct log_ordering *out)
{
    enum class_kind kind;
    int builtin;
    struct object text;
    *out = (struct log_ordering){.kind = LOG_ORDERING_NULL};
    SL_TRY(take_class(k, &kind, &builtin));
    if (kind == CLASS_NULL)
        return SL_OK;
    switch (builtin) {
    case KRYO_INT:
        out->kind = LOG_ORDERING_INT;
        return take_zigzag(k, 5, &out->integer);
    case KRYO_LONG:
        out->kind = LOG_ORDERING_LONG;
        return take_zigzag(k, 9, &out->integer);
    case KRYO_STRING:
        SL_TRY(take_string(k, &text));
        if (text.text)
            *out = (struct log_ordering){.kind = LOG_ORDERING_STRING, .bytes = text.text, .len = text.len};
        return SL_OK;
    case KRYO_FLOAT:
    case KRYO_DOUBLE:
    case KRYO_BOOLEAN:
    case KRYO_BYTE:
    case KRYO_SHORT:
        return take_fixed(k, builtin, out);
    default:
        return sl_unsupported(
            "ordering value of a class that delete blocks before version 3 hold in Java's own form");
    }
}

static sl_status take_record(struct kryo *k, struct log_deletes *out)
{
    size_t id;
    bool is_new;
    struct log_ordering value;
    SL_TRY(take_reference(k, CLASS_RECORD, &id, &is_new));
    if (!is_new)
        return malformed(k, "delete given twice");
    SL_TRY(expect_class(k, CLASS_KEY));
    SL_TRY(take_key(k, out));
    SL_TRY(take_ordering(k, &value));
    return log_deletes_single(out, &value);
}

static sl_status take_array(struct kryo *k, bool with_ordering, struct log_deletes *out)
{
    uint64_t length;
    size_t id;
    bool is_new;
    enum class_kind array = with_ordering ? CLASS_RECORDS : CLASS_KEYS;
    SL_TRY(expect_class(k, array));
    SL_TRY(take_reference(k, array, &id, &is_new));
    SL_TRY(take_varint(k, 5, &length));
    if (!is_new || length == 0)
        return malformed(k, "no array");
    for (length--; length > 0; length--) { /* each element takes bytes, so the payload bounds the loop */
        SL_TRY(expect_class(k, with_ordering ? CLASS_RECORD : CLASS_KEY));
        if (with_ordering) {
            SL_TRY(take_record(k, out));
        } else {
            SL_TRY(take_key(k, out));
            SL_TRY(log_deletes_single(out, &(struct log_ordering){.kind = LOG_ORDERING_NULL}));
        }
    }
    return k->pos == k->len ? SL_OK : malformed(k, "something follows the last delete");
}

sl_status log_kryo_deletes(const uint8_t *data, size_t len, bool with_ordering, struct log_deletes *out)
{
    struct kryo k = {.data = data, .len = len};
    SL_TRY(sl_arena_new(&k.arena));
    sl_status status = take_array(&k, with_ordering, out);
    sl_free(k.objects);
    sl_arena_free(k.arena);
    return status;
}
