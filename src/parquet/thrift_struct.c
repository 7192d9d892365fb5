/* Structs by table, see thrift_struct.h. Members are reached by their offsets, always through memcpy. */
#include "parquet/thrift_struct.h"

_Static_assert(sizeof(enum thrift_kind) == sizeof(int32_t),
               "enums of the format are read and written as int32_t");

/* ---- reading ------------------------------------------------------------------------------------------- */

/* A thrift reader and where the results live. */
struct decoder {
    struct thrift_reader r;
    sl_arena *arena;
    bool out_of_memory;
};

static void put_pointer(uint8_t *at, const void *pointer) { memcpy(at, &pointer, sizeof pointer); }
static void put_int32(uint8_t *at, int32_t value) { memcpy(at, &value, sizeof value); }
static void put_bool(uint8_t *at, bool value) { memcpy(at, &value, sizeof value); }

static void fail_memory(struct decoder *d)
{
    if (d->r.error)
        return;
    d->out_of_memory = true;
    thrift_fail(&d->r, "out of memory");
}

static void *alloc_zeros(struct decoder *d, size_t count, size_t size)
{
    size_t bytes;
    if (count == 0 || d->r.error)
        return NULL;
    void *p = sl_mul_overflows(count, size, &bytes) ? NULL : sl_arena_alloc(d->arena, bytes);
    if (p)
        memset(p, 0, bytes);
    else
        fail_memory(d);
    return p;
}

static const char *copy_text(struct decoder *d, const uint8_t *data, size_t len)
{
    if (d->r.error)
        return NULL;
    char *copy = sl_arena_strndup(d->arena, len ? (const char *)data : "", len);
    if (!copy)
        fail_memory(d);
    return copy;
}

static struct parquet_bytes copy_bytes(struct decoder *d, const uint8_t *data, size_t len)
{
    return (struct parquet_bytes){(const uint8_t *)copy_text(d, data, len), len};
}

static void read_struct(struct decoder *d, const struct thrift_shape *shape, uint8_t *out);

/* The last member counts, as everywhere in thrift where a field comes twice. */
static void read_union(struct decoder *d, const struct thrift_shape *shape, uint8_t *out)
{
    struct thrift_field f;
    for (thrift_begin(&d->r, &f); thrift_next(&d->r, &f);) {
        const struct thrift_member *m =
            f.id > 0 && (size_t)f.id < shape->member_count ? &shape->members[f.id] : NULL;
        if (shape->last_id == 0 || (f.id > 0 && f.id <= shape->last_id))
            put_int32(out, f.id);
        if (m && m->shape && f.type == THRIFT_STRUCT)
            read_struct(d, m->shape, out);
        else
            thrift_skip(&d->r, f.type);
    }
}

/* ---- lists ---- */

static int wire_type(int kind)
{
    switch (kind) {
    case THRIFT_BOOLEAN:
        return THRIFT_TRUE;
    case THRIFT_INT32:
        return THRIFT_I32;
    case THRIFT_INT64:
        return THRIFT_I64;
    case THRIFT_TEXT:
    case THRIFT_BYTES:
        return THRIFT_BINARY;
    default:
        return THRIFT_STRUCT;
    }
}

static size_t element_size(const struct thrift_member *m)
{
    switch (m->kind) {
    case THRIFT_BOOLEAN:
        return sizeof(bool);
    case THRIFT_INT32:
        return sizeof(int32_t);
    case THRIFT_INT64:
        return sizeof(int64_t);
    case THRIFT_TEXT:
        return sizeof(char *);
    case THRIFT_BYTES:
        return sizeof(struct parquet_bytes);
    default:
        return m->shape->size;
    }
}

static void read_element(struct decoder *d, const struct thrift_member *m, uint8_t *to)
{
    const uint8_t *data;
    size_t len;
    switch (m->kind) {
    case THRIFT_BOOLEAN:
        put_bool(to, thrift_element_bool(&d->r));
        break;
    case THRIFT_INT32:
        put_int32(to, (int32_t)thrift_element_i64(&d->r));
        break;
    case THRIFT_INT64: {
        int64_t value = thrift_element_i64(&d->r);
        memcpy(to, &value, sizeof value);
        break;
    }
    case THRIFT_TEXT:
        data = thrift_element_binary(&d->r, &len);
        put_pointer(to, copy_text(d, data, len));
        break;
    case THRIFT_BYTES: {
        data = thrift_element_binary(&d->r, &len);
        struct parquet_bytes bytes = copy_bytes(d, data, len);
        memcpy(to, &bytes, sizeof bytes);
        break;
    }
    case THRIFT_UNION:
        read_union(d, m->shape, to);
        break;
    default:
        read_struct(d, m->shape, to);
    }
}

static void read_list(struct decoder *d, const struct thrift_member *m, const struct thrift_field *f,
                      uint8_t *base)
{
    size_t size = element_size(m), before;
    size_t count = thrift_list(&d->r, f, wire_type(m->kind), m->shape ? m->shape->least_bytes : 1);
    memcpy(&before, base + m->count, sizeof before);
    if (m->same_count && before != 0 && count != before)
        thrift_fail(&d->r, "lists of different lengths");
    uint8_t *list = alloc_zeros(d, count, size);
    for (size_t i = 0; i < count && !d->r.error; i++)
        read_element(d, m, list + i * size);
    put_pointer(base + m->at, list);
    memcpy(base + m->count, &count, sizeof count);
}

/* ---- members ---- */

static void read_int(struct decoder *d, const struct thrift_member *m, const struct thrift_field *f,
                     uint8_t *to)
{
    int64_t value = m->kind == THRIFT_INT64 ? thrift_i64(&d->r, f) : thrift_i32(&d->r, f);
    if (m->not_negative && value < 0)
        thrift_fail(&d->r, "negative size");
    if (m->kind == THRIFT_INT64)
        memcpy(to, &value, sizeof value);
    else
        put_int32(to, (int32_t)value);
}

static void read_text(struct decoder *d, const struct thrift_member *m, const struct thrift_field *f,
                      uint8_t *base)
{
    size_t len;
    const uint8_t *data = thrift_binary(&d->r, f, &len);
    put_pointer(base + m->at, copy_text(d, data, len));
    if (m->count)
        memcpy(base + m->count, &len, sizeof len);
}

static void read_bytes(struct decoder *d, const struct thrift_field *f, uint8_t *to)
{
    size_t len;
    const uint8_t *data = thrift_binary(&d->r, f, &len);
    struct parquet_bytes bytes = copy_bytes(d, data, len);
    memcpy(to, &bytes, sizeof bytes);
}

static void read_member(struct decoder *d, const struct thrift_member *m, const struct thrift_field *f,
                        uint8_t *base)
{
    uint8_t *to = base + m->at;
    if (m->when == THRIFT_WHEN_FLAG)
        put_bool(base + m->has, true);
    if (m->list) {
        read_list(d, m, f, base);
        return;
    }
    switch (m->kind) {
    case THRIFT_BOOLEAN:
        put_bool(to, thrift_bool(&d->r, f));
        break;
    case THRIFT_BOOL_INT:
        put_int32(to, thrift_bool(&d->r, f));
        break;
    case THRIFT_INT8:
    case THRIFT_INT16:
    case THRIFT_INT32:
    case THRIFT_INT64:
        read_int(d, m, f, to);
        break;
    case THRIFT_TEXT:
        read_text(d, m, f, base);
        break;
    case THRIFT_BYTES:
        read_bytes(d, f, to);
        break;
    case THRIFT_RECORD:
        if (thrift_is_struct(&d->r, f))
            read_struct(d, m->shape, to);
        break;
    case THRIFT_UNION:
        if (thrift_is_struct(&d->r, f))
            read_union(d, m->shape, to);
        break;
    case THRIFT_MARK:
        put_bool(to, true);
        thrift_skip(&d->r, f->type);
        break;
    default:
        thrift_skip(&d->r, f->type);
    }
}

static bool is_wanted(const struct thrift_shape *shape, const struct thrift_field *f)
{
    if (f->id <= 0 || (size_t)f->id >= shape->member_count)
        return false;
    const struct thrift_member *m = &shape->members[f->id];
    return m->kind != THRIFT_NOT_OURS && !(m->lenient && f->type != wire_type(m->kind));
}

static void read_struct(struct decoder *d, const struct thrift_shape *shape, uint8_t *out)
{
    struct thrift_field f;
    uint32_t seen = 0;
    if (shape->fresh)
        memcpy(out, shape->fresh, shape->size);
    for (thrift_begin(&d->r, &f); thrift_next(&d->r, &f);) {
        if (!is_wanted(shape, &f)) {
            thrift_skip(&d->r, f.type);
            continue;
        }
        seen |= UINT32_C(1) << f.id;
        read_member(d, &shape->members[f.id], &f, out);
    }
    if ((seen & shape->required) != shape->required)
        thrift_fail(&d->r, shape->missing);
}

sl_status thrift_decode(const uint8_t *data, size_t len, const struct thrift_shape *shape, sl_arena *arena,
                        const char *what, uint64_t file_offset, void *out, size_t *used, bool *truncated)
{
    struct decoder d = {.arena = arena};
    thrift_reader_init(&d.r, data, len);
    memset(out, 0, shape->size);
    read_struct(&d, shape, out);
    if (used)
        *used = thrift_used(&d.r);
    if (truncated)
        *truncated = d.r.truncated;
    if (truncated && d.r.truncated)
        return SL_OK;
    return d.out_of_memory ? sl_nomem() : thrift_reader_status(&d.r, what, file_offset);
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static const void *pointer_at(const uint8_t *at)
{
    const void *pointer;
    memcpy(&pointer, at, sizeof pointer);
    return pointer;
}

static int32_t int32_at(const uint8_t *at)
{
    int32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static int64_t int64_at(const uint8_t *at)
{
    int64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static size_t size_at(const uint8_t *at)
{
    size_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static bool bool_at(const uint8_t *at)
{
    bool value;
    memcpy(&value, at, sizeof value);
    return value;
}

static struct parquet_bytes bytes_at(const uint8_t *at)
{
    struct parquet_bytes value;
    memcpy(&value, at, sizeof value);
    return value;
}

static bool is_present(const struct thrift_member *m, const uint8_t *base)
{
    const uint8_t *has = base + m->has;
    switch (m->when) {
    case THRIFT_WHEN_FLAG:
        return bool_at(has);
    case THRIFT_WHEN_NO_FLAG:
        return !bool_at(has);
    case THRIFT_WHEN_SET_32:
        return int32_at(has) >= 0;
    case THRIFT_WHEN_SET_64:
        return int64_at(has) >= 0;
    case THRIFT_WHEN_NONZERO:
        return int32_at(has) != 0;
    case THRIFT_WHEN_COUNT:
        return size_at(has) != 0;
    case THRIFT_WHEN_POINTER:
        return pointer_at(has);
    default:
        return true;
    }
}

static void write_members(struct thrift_writer *w, const struct thrift_shape *shape, const uint8_t *in);

/* The body of a struct or of a union, without its beginning. */
static void write_body(struct thrift_writer *w, const struct thrift_member *m, const uint8_t *in)
{
    if (m->kind != THRIFT_UNION) {
        write_members(w, m->shape, in);
    } else if (int32_at(in) != 0) {
        size_t id = (size_t)int32_at(in);
        thrift_begin_struct_field(w, (int)id);
        if (id < m->shape->member_count && m->shape->members[id].shape)
            write_members(w, m->shape->members[id].shape, in);
        thrift_end_struct(w);
    }
    thrift_end_struct(w);
}

static void write_element(struct thrift_writer *w, const struct thrift_member *m, const uint8_t *from)
{
    switch (m->kind) {
    case THRIFT_BOOLEAN:
        thrift_put_element_bool(w, bool_at(from));
        break;
    case THRIFT_INT32:
        thrift_put_element_i32(w, int32_at(from));
        break;
    case THRIFT_INT64:
        thrift_put_element_i64(w, int64_at(from));
        break;
    case THRIFT_TEXT:
        thrift_put_element_binary(w, pointer_at(from), strlen(pointer_at(from)));
        break;
    case THRIFT_BYTES:
        thrift_put_element_binary(w, bytes_at(from).data, bytes_at(from).len);
        break;
    default:
        thrift_begin_struct(w);
        write_body(w, m, from);
    }
}

static void write_list(struct thrift_writer *w, int id, const struct thrift_member *m, const uint8_t *base)
{
    const uint8_t *list = pointer_at(base + m->at);
    size_t count = size_at(base + m->count), size = element_size(m);
    thrift_put_list(w, id, wire_type(m->kind), count);
    for (size_t i = 0; i < count; i++)
        write_element(w, m, list + i * size);
}

static void write_member(struct thrift_writer *w, int id, const struct thrift_member *m, const uint8_t *base)
{
    const uint8_t *from = base + m->at;
    switch (m->kind) {
    case THRIFT_BOOLEAN:
        thrift_put_bool(w, id, bool_at(from));
        break;
    case THRIFT_BOOL_INT:
        thrift_put_bool(w, id, int32_at(from) > 0);
        break;
    case THRIFT_INT8:
        thrift_put_i8(w, id, (int8_t)int32_at(from));
        break;
    case THRIFT_INT16:
        thrift_put_i16(w, id, (int16_t)int32_at(from));
        break;
    case THRIFT_INT32:
        thrift_put_i32(w, id, int32_at(from));
        break;
    case THRIFT_INT64:
        thrift_put_i64(w, id, int64_at(from));
        break;
    case THRIFT_TEXT:
        thrift_put_binary(w, id, pointer_at(from),
                          m->count ? size_at(base + m->count) : strlen(pointer_at(from)));
        break;
    case THRIFT_BYTES:
        thrift_put_binary(w, id, bytes_at(from).data, bytes_at(from).len);
        break;
    default:
        thrift_begin_struct_field(w, id);
        write_body(w, m, m->kind == THRIFT_RECORD_AWAY ? pointer_at(from) : from);
    }
}

static void write_members(struct thrift_writer *w, const struct thrift_shape *shape, const uint8_t *in)
{
    for (size_t id = 1; id < shape->member_count; id++) {
        const struct thrift_member *m = &shape->members[id];
        if (m->kind == THRIFT_NOT_OURS || m->kind == THRIFT_MARK || !is_present(m, in))
            continue;
        if (m->list)
            write_list(w, (int)id, m, in);
        else
            write_member(w, (int)id, m, in);
    }
}

sl_status thrift_encode(const void *in, const struct thrift_shape *shape, sl_buf *out)
{
    struct thrift_writer w;
    thrift_writer_init(&w, out);
    thrift_begin_struct(&w);
    write_members(&w, shape, in);
    thrift_end_struct(&w);
    return thrift_writer_status(&w);
}
