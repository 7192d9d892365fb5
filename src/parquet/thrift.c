/* The compact protocol. Both directions keep their first error to themselves until asked, see thrift.h. */
#include "parquet/thrift.h"

/* ---- reading ------------------------------------------------------------------------------------------- */

void thrift_reader_init(struct thrift_reader *r, const void *data, size_t len)
{
    *r = (struct thrift_reader){.start = data, .p = data, .end = (const uint8_t *)data + len};
}

void thrift_fail(struct thrift_reader *r, const char *error)
{
    if (r->error)
        return;
    r->error = error;
    r->error_at = thrift_used(r);
    r->end = r->p; /* nothing more is read */
}

static void fail_truncated(struct thrift_reader *r)
{
    if (!r->error)
        r->truncated = true;
    thrift_fail(r, "ends too early");
}

sl_status thrift_reader_status(const struct thrift_reader *r, const char *what, uint64_t base)
{
    if (!r->error)
        return SL_OK;
    return sl_corrupt("%s at %" PRIu64 ": %s at byte %zu", what, base, r->error, r->error_at);
}

static uint8_t read_byte(struct thrift_reader *r)
{
    if (r->p >= r->end) {
        fail_truncated(r);
        return 0;
    }
    return *r->p++;
}

static uint64_t read_varint(struct thrift_reader *r)
{
    uint64_t value = 0;
    if (r->p < r->end && *r->p < 0x80) /* mostly */
        return *r->p++;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = read_byte(r);
        if (r->error)
            return 0;
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    thrift_fail(r, "varint over 64 bits");
    return 0;
}

static int64_t read_zigzag(struct thrift_reader *r)
{
    uint64_t v = read_varint(r);
    return (int64_t)((v >> 1) ^ (~(v & 1) + 1));
}

static int32_t read_zigzag32(struct thrift_reader *r)
{
    int64_t v = read_zigzag(r);
    if (v < INT32_MIN || v > INT32_MAX) {
        thrift_fail(r, "number over 32 bits");
        return 0;
    }
    return (int32_t)v;
}

static const uint8_t *read_binary(struct thrift_reader *r, size_t *len)
{
    uint64_t n = read_varint(r);
    *len = 0;
    if (r->error)
        return NULL;
    if (n > (uint64_t)(r->end - r->p)) {
        if (n > INT32_MAX)
            thrift_fail(r, "length over 2 GiB");
        else
            fail_truncated(r);
        return NULL;
    }
    const uint8_t *data = r->p;
    r->p += n;
    *len = (size_t)n;
    return data;
}

void thrift_begin(struct thrift_reader *r, struct thrift_field *f)
{
    f->id = 0;
    f->type = THRIFT_STOP;
    if (++r->depth > THRIFT_DEPTH_MAX)
        thrift_fail(r, "nested too deep");
}

bool thrift_next_any(struct thrift_reader *r, struct thrift_field *f)
{
    uint8_t header = read_byte(r);
    if (r->error)
        return false;
    if (header == THRIFT_STOP) {
        r->depth--;
        return false;
    }
    f->type = header & 15;
    if (header >> 4)
        f->id += header >> 4;
    else
        f->id = read_zigzag32(r);
    if (f->type == THRIFT_STOP || f->type > THRIFT_UUID)
        thrift_fail(r, "unknown field type");
    if (f->id < INT16_MIN || f->id > INT16_MAX)
        thrift_fail(r, "field id over 16 bits");
    return !r->error;
}

bool thrift_bool(struct thrift_reader *r, const struct thrift_field *f)
{
    if (f->type != THRIFT_TRUE && f->type != THRIFT_FALSE)
        thrift_fail(r, "field is not a boolean");
    return f->type == THRIFT_TRUE;
}

int64_t thrift_i64(struct thrift_reader *r, const struct thrift_field *f)
{
    switch (f->type) {
    case THRIFT_I8: {
        uint8_t byte = read_byte(r);
        return byte < 128 ? byte : (int64_t)byte - 256;
    }
    case THRIFT_I16:
    case THRIFT_I32:
    case THRIFT_I64:
        return read_zigzag(r);
    default:
        thrift_fail(r, "field is not an integer");
        return 0;
    }
}

int32_t thrift_i32(struct thrift_reader *r, const struct thrift_field *f)
{
    int64_t v = thrift_i64(r, f);
    if (v < INT32_MIN || v > INT32_MAX) {
        thrift_fail(r, "number over 32 bits");
        return 0;
    }
    return (int32_t)v;
}

const uint8_t *thrift_binary(struct thrift_reader *r, const struct thrift_field *f, size_t *len)
{
    *len = 0;
    if (f->type != THRIFT_BINARY) {
        thrift_fail(r, "field is not a string");
        return NULL;
    }
    return read_binary(r, len);
}

bool thrift_is_struct(struct thrift_reader *r, const struct thrift_field *f)
{
    if (f->type != THRIFT_STRUCT)
        thrift_fail(r, "field is not a struct");
    return !r->error;
}

static size_t read_list_header(struct thrift_reader *r, int *element_type)
{
    uint8_t header = read_byte(r);
    *element_type = header & 15;
    uint64_t count = header >> 4;
    if (count == 15)
        count = read_varint(r);
    if (r->error)
        return 0;
    if (count > (uint64_t)(r->end - r->p)) { /* every element takes a byte at least */
        if (count > INT32_MAX)
            thrift_fail(r, "list over 2^31 elements");
        else
            fail_truncated(r);
        return 0;
    }
    return (size_t)count;
}

size_t thrift_list(struct thrift_reader *r, const struct thrift_field *f, int element_type, size_t min_bytes)
{
    if (f->type != THRIFT_LIST && f->type != THRIFT_SET) {
        thrift_fail(r, "field is not a list");
        return 0;
    }
    int type;
    size_t count = read_list_header(r, &type);
    if (r->error)
        return 0;
    if (type == THRIFT_FALSE) /* some writers name the element type of booleans 2 */
        type = THRIFT_TRUE;
    if (count > 0 && type != element_type) {
        thrift_fail(r, "list of another element type");
        return 0;
    }
    if (count > (size_t)(r->end - r->p) / min_bytes) {
        fail_truncated(r);
        return 0;
    }
    return count;
}

bool thrift_element_bool(struct thrift_reader *r) { return read_byte(r) == 1; }
int64_t thrift_element_i64(struct thrift_reader *r) { return read_zigzag(r); }
const uint8_t *thrift_element_binary(struct thrift_reader *r, size_t *len) { return read_binary(r, len); }

static void skip_bytes(struct thrift_reader *r, size_t n)
{
    if (n > (size_t)(r->end - r->p))
        fail_truncated(r);
    else
        r->p += n;
}

static void skip_element(struct thrift_reader *r, int type)
{
    if (type == THRIFT_TRUE || type == THRIFT_FALSE) /* in a collection a boolean is a byte */
        read_byte(r);
    else
        thrift_skip(r, type);
}

static void skip_collection(struct thrift_reader *r, int type)
{
    int key_type = 0, value_type = 0;
    size_t count;
    if (type == THRIFT_MAP) {
        uint64_t n = read_varint(r);
        if (n > (uint64_t)(r->end - r->p)) {
            fail_truncated(r);
            return;
        }
        count = (size_t)n;
        if (count > 0) {
            uint8_t types = read_byte(r);
            key_type = types >> 4;
            value_type = types & 15;
        }
    } else {
        count = read_list_header(r, &value_type);
    }
    for (size_t i = 0; i < count && !r->error; i++) {
        if (type == THRIFT_MAP)
            skip_element(r, key_type);
        skip_element(r, value_type);
    }
}

void thrift_skip(struct thrift_reader *r, int type)
{
    if (r->depth >= THRIFT_DEPTH_MAX) {
        thrift_fail(r, "nested too deep");
        return;
    }
    size_t len;
    switch (type) {
    case THRIFT_TRUE:
    case THRIFT_FALSE:
        break;
    case THRIFT_I8:
        read_byte(r);
        break;
    case THRIFT_I16:
    case THRIFT_I32:
    case THRIFT_I64:
        read_varint(r);
        break;
    case THRIFT_DOUBLE:
        skip_bytes(r, 8);
        break;
    case THRIFT_UUID:
        skip_bytes(r, 16);
        break;
    case THRIFT_BINARY:
        read_binary(r, &len);
        break;
    case THRIFT_LIST:
    case THRIFT_SET:
    case THRIFT_MAP:
        r->depth++;
        skip_collection(r, type);
        r->depth--;
        break;
    case THRIFT_STRUCT: {
        struct thrift_field f;
        for (thrift_begin(r, &f); thrift_next(r, &f);)
            thrift_skip(r, f.type);
        break;
    }
    default:
        thrift_fail(r, "unknown type");
    }
}

/* ---- writing ------------------------------------------------------------------------------------------- */

void thrift_writer_init(struct thrift_writer *w, sl_buf *buf)
{
    memset(w, 0, sizeof *w);
    w->buf = buf;
}

sl_status thrift_writer_status(struct thrift_writer *w)
{
    sl_status status = w->status;
    w->status = SL_OK;
    return status;
}

static void put_bytes(struct thrift_writer *w, const void *data, size_t len)
{
    if (!w->status && len > 0)
        w->status = sl_buf_append(w->buf, data, len);
}

static void put_byte(struct thrift_writer *w, uint8_t byte)
{
    if (!w->status)
        w->status = sl_buf_byte(w->buf, byte);
}

static void put_varint(struct thrift_writer *w, uint64_t v)
{
    uint8_t bytes[10];
    size_t n = 0;
    while (v >= 0x80) {
        bytes[n++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    bytes[n++] = (uint8_t)v;
    put_bytes(w, bytes, n);
}

static void put_zigzag(struct thrift_writer *w, int64_t v)
{
    put_varint(w, ((uint64_t)v << 1) ^ (v < 0 ? UINT64_MAX : 0));
}

static void put_field(struct thrift_writer *w, int id, int type)
{
    int delta = id - w->last_id[w->depth];
    if (delta > 0 && delta < 16) {
        put_byte(w, (uint8_t)(delta << 4 | type));
    } else {
        put_byte(w, (uint8_t)type);
        put_zigzag(w, id);
    }
    w->last_id[w->depth] = id;
}

void thrift_begin_struct(struct thrift_writer *w)
{
    if (w->depth + 1 >= THRIFT_DEPTH_MAX) {
        if (!w->status)
            w->status = sl_internal("thrift nested too deep");
        return;
    }
    w->last_id[++w->depth] = 0;
}

void thrift_begin_struct_field(struct thrift_writer *w, int id)
{
    put_field(w, id, THRIFT_STRUCT);
    thrift_begin_struct(w);
}

void thrift_end_struct(struct thrift_writer *w)
{
    put_byte(w, THRIFT_STOP);
    w->depth--;
}

void thrift_put_bool(struct thrift_writer *w, int id, bool value)
{
    put_field(w, id, value ? THRIFT_TRUE : THRIFT_FALSE);
}

void thrift_put_i8(struct thrift_writer *w, int id, int8_t value)
{
    put_field(w, id, THRIFT_I8);
    put_byte(w, (uint8_t)value);
}

void thrift_put_i16(struct thrift_writer *w, int id, int16_t value)
{
    put_field(w, id, THRIFT_I16);
    put_zigzag(w, value);
}

void thrift_put_i32(struct thrift_writer *w, int id, int32_t value)
{
    put_field(w, id, THRIFT_I32);
    put_zigzag(w, value);
}

void thrift_put_i64(struct thrift_writer *w, int id, int64_t value)
{
    put_field(w, id, THRIFT_I64);
    put_zigzag(w, value);
}

void thrift_put_binary(struct thrift_writer *w, int id, const void *data, size_t len)
{
    put_field(w, id, THRIFT_BINARY);
    thrift_put_element_binary(w, data, len);
}

void thrift_put_string(struct thrift_writer *w, int id, const char *text)
{
    thrift_put_binary(w, id, text, strlen(text));
}

void thrift_put_list(struct thrift_writer *w, int id, int element_type, size_t count)
{
    put_field(w, id, THRIFT_LIST);
    if (count < 15) {
        put_byte(w, (uint8_t)(count << 4 | (unsigned)element_type));
    } else {
        put_byte(w, (uint8_t)(0xf0 | element_type));
        put_varint(w, count);
    }
}

void thrift_put_element_bool(struct thrift_writer *w, bool value) { put_byte(w, value ? 1 : 2); }
void thrift_put_element_i32(struct thrift_writer *w, int32_t value) { put_zigzag(w, value); }
void thrift_put_element_i64(struct thrift_writer *w, int64_t value) { put_zigzag(w, value); }

void thrift_put_element_binary(struct thrift_writer *w, const void *data, size_t len)
{
    put_varint(w, len);
    put_bytes(w, data, len);
}
