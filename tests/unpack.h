/* What tests over whole tables share: a scratch folder, and archives (.tar.zst, .zip) unpacked without a
 * shell. */
#ifndef TESTS_UNPACK_H
#define TESTS_UNPACK_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "storage/storage.h"
#include <dirent.h>
#include <libdeflate.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

/* ---- files --------------------------------------------------------------------------------------------- */

struct blob {
    uint8_t *data; /* a NUL follows that does not count */
    size_t len;
};

/* data NULL: the file is not there. */
SL_INLINE struct blob blob_of_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct blob b = {NULL, 0};
    if (!f)
        return b;
    fseek(f, 0, SEEK_END);
    b.len = (size_t)ftell(f);
    rewind(f);
    b.data = malloc(b.len + 1);
    assert_non_null(b.data);
    assert_int_equal(fread(b.data, 1, b.len, f), b.len);
    b.data[b.len] = 0;
    fclose(f);
    return b;
}

/* The decompressed content of a .zst file; data NULL: it is not there. */
SL_INLINE struct blob blob_of_zstd(const char *path)
{
    struct blob packed = blob_of_file(path), b = {NULL, 0};
    if (!packed.data)
        return b;
    size_t cap = packed.len * 8 + 65536;
    ZSTD_DStream *stream = ZSTD_createDStream();
    ZSTD_inBuffer in = {packed.data, packed.len, 0};
    ZSTD_outBuffer out = {malloc(cap + 1), cap, 0};
    assert_non_null(stream);
    assert_non_null(out.dst);
    for (;;) {
        size_t left = ZSTD_decompressStream(stream, &out, &in);
        if (ZSTD_isError(left))
            fail_msg("%s: %s", path, ZSTD_getErrorName(left));
        if (out.pos < out.size && in.pos == in.size)
            break;
        if (out.pos == out.size) {
            out.size *= 2;
            out.dst = realloc(out.dst, out.size + 1);
            assert_non_null(out.dst);
        }
    }
    ZSTD_freeDStream(stream);
    free(packed.data);
    b.data = out.dst;
    b.len = out.pos;
    b.data[b.len] = 0;
    return b;
}

/* An empty folder below $TMPDIR or /tmp. */
SL_INLINE void scratch_make(char *out, size_t size)
{
    const char *temp = getenv("TMPDIR");
    snprintf(out, size, "%s/sluice-test-XXXXXX", temp && *temp ? temp : "/tmp");
    if (!mkdtemp(out))
        fail_msg("cannot make %s", out);
}

SL_INLINE void scratch_remove(const char *path)
{
    sl_storage *storage;
    assert_null(sl_storage_local(&storage));
    sl_status status = sl_storage_delete_tree(storage, path);
    if (status)
        fail_msg("%s", sl_status_message(status));
    sl_storage_free(storage);
}

SL_INLINE void make_parents(char *path)
{
    for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = 0;
        mkdir(path, 0777);
        *at = '/';
    }
}

/* Writes a file of an archive below `folder`, making folders as needed; a name that ends with / is a folder.
 */
SL_INLINE void unpack_entry(const char *folder, const char *name, const void *data, size_t len)
{
    char path[8192];
    size_t n = strlen(name);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (strstr(name, "../") || name[0] == '/')
        fail_msg("archive names %s", name);
    make_parents(path);
    if (n && name[n - 1] == '/')
        return;
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, len, f) != len || fclose(f) != 0)
        fail_msg("cannot write %s", path);
}

/* ---- tar ----------------------------------------------------------------------------------------------- */

/* The value of `path` in a pax header ("27 path=...\n"), or "". */
SL_INLINE void pax_path(const uint8_t *data, size_t len, char *out, size_t size)
{
    *out = 0;
    for (size_t at = 0; at < len;) {
        size_t record = (size_t)strtoul((const char *)data + at, NULL, 10);
        const char *text = memchr(data + at, ' ', len - at);
        if (!record || record > len - at || !text)
            return;
        text++;
        if (strncmp(text, "path=", 5) == 0)
            snprintf(out, size, "%.*s", (int)((const char *)data + at + record - 1 - text - 5), text + 5);
        at += record;
    }
}

SL_INLINE void unpack_tar(const struct blob *tar, const char *folder)
{
    char long_name[4096] = "";
    for (size_t at = 0; at + 512 <= tar->len && tar->data[at];) {
        const char *header = (const char *)tar->data + at;
        char size_text[13] = "", name[4096];
        memcpy(size_text, header + 124, 12);
        size_t size = (size_t)strtoul(size_text, NULL, 8);
        const uint8_t *data = tar->data + at + 512;
        assert_true(size <= tar->len - at - 512);
        at += 512 + (size + 511) / 512 * 512;
        if (*long_name)
            snprintf(name, sizeof name, "%s", long_name);
        else if (header[345] && memcmp(header + 257, "ustar", 6) == 0)
            snprintf(name, sizeof name, "%.155s/%.100s", header + 345, header);
        else
            snprintf(name, sizeof name, "%.100s", header);
        char type = header[156];
        *long_name = 0;
        if (type == 'x')
            pax_path(data, size, long_name, sizeof long_name);
        else if (type == 'L')
            snprintf(long_name, sizeof long_name, "%.*s", (int)size, (const char *)data);
        else if (type == '0' || type == 0)
            unpack_entry(folder, name, data, size);
        else if (type == '5') {
            size_t n = strlen(name);
            snprintf(name + n, sizeof name - n, "%s", n && name[n - 1] == '/' ? "" : "/");
            unpack_entry(folder, name, "", 0);
        }
    }
}

/* False: the archive is not there. */
SL_INLINE bool unpack_tar_zst(const char *archive, const char *folder)
{
    struct blob tar = blob_of_zstd(archive);
    if (!tar.data)
        return false;
    unpack_tar(&tar, folder);
    free(tar.data);
    return true;
}

/* ---- zip ----------------------------------------------------------------------------------------------- */

SL_INLINE void unpack_zip_entry(const struct blob *zip, const uint8_t *central, const char *name,
                                const char *folder)
{
    size_t packed = load_le32(central + 20), size = load_le32(central + 24), local = load_le32(central + 42);
    assert_true(local + 30 <= zip->len);
    const uint8_t *header = zip->data + local;
    size_t start = local + 30 + load_le16(header + 26) + load_le16(header + 28);
    assert_true(start <= zip->len && packed <= zip->len - start);
    unsigned method = load_le16(central + 10);
    if (method == 0) {
        unpack_entry(folder, name, zip->data + start, size);
        return;
    }
    assert_int_equal(method, 8);
    struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
    uint8_t *data = malloc(size + 1);
    assert_non_null(inflater);
    assert_non_null(data);
    assert_int_equal(libdeflate_deflate_decompress(inflater, zip->data + start, packed, data, size, NULL),
                     LIBDEFLATE_SUCCESS);
    unpack_entry(folder, name, data, size);
    free(data);
    libdeflate_free_decompressor(inflater);
}

/* False: the archive is not there. `root` gets the folder inside it that holds `.hoodie`. */
SL_INLINE bool unpack_zip(const char *archive, const char *folder, char *root, size_t root_size)
{
    struct blob zip = blob_of_file(archive);
    if (!zip.data)
        return false;
    size_t end = zip.len;
    while (end >= 22 && load_le32(zip.data + end - 22) != 0x06054b50)
        end--;
    assert_true(end >= 22);
    const uint8_t *tail = zip.data + end - 22;
    size_t count = load_le16(tail + 10), at = load_le32(tail + 16);
    *root = 0;
    for (size_t i = 0; i < count; i++) {
        char name[2048];
        assert_true(at + 46 <= zip.len);
        const uint8_t *central = zip.data + at;
        assert_int_equal(load_le32(central), 0x02014b50);
        size_t name_len = load_le16(central + 28);
        snprintf(name, sizeof name, "%.*s", (int)name_len, (const char *)central + 46);
        at += 46 + name_len + load_le16(central + 30) + load_le16(central + 32);
        if (strncmp(name, "__MACOSX", 8) == 0)
            continue;
        char *hoodie = strstr(name, "/.hoodie/");
        if (!*root && hoodie)
            snprintf(root, root_size, "%.*s", (int)(hoodie - name), name);
        unpack_zip_entry(&zip, central, name, folder);
    }
    free(zip.data);
    return true;
}

/* ---- SHA-256 (FIPS 180-4) ---------------------------------------------------------------------------------
 */

SL_INLINE uint32_t rotate_right(uint32_t x, unsigned n) { return x >> n | x << (32 - n); }

SL_INLINE void sha256_block(uint32_t *h, const uint8_t *block)
{
    static const uint32_t k[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + w[i - 7] +
               (rotate_right(w[i - 15], 7) ^ rotate_right(w[i - 15], 18) ^ w[i - 15] >> 3) +
               (rotate_right(w[i - 2], 17) ^ rotate_right(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(v, h, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t s1 = rotate_right(v[4], 6) ^ rotate_right(v[4], 11) ^ rotate_right(v[4], 25);
        uint32_t t1 = v[7] + s1 + ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i];
        uint32_t s0 = rotate_right(v[0], 2) ^ rotate_right(v[0], 13) ^ rotate_right(v[0], 22);
        uint32_t t2 = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        h[i] += v[i];
}

/* Lower-case hexadecimal; `out` needs 65 bytes. */
SL_INLINE void sha256_text(const void *data, size_t len, char *out)
{
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint8_t tail[128] = {0};
    size_t whole = len / 64 * 64, rest = len - whole, tail_len = rest < 56 ? 64 : 128;
    for (size_t i = 0; i < whole; i += 64)
        sha256_block(h, (const uint8_t *)data + i);
    if (rest)
        memcpy(tail, (const uint8_t *)data + whole, rest);
    tail[rest] = 0x80;
    for (int i = 0; i < 8; i++)
        tail[tail_len - 1 - (size_t)i] = (uint8_t)((uint64_t)len * 8 >> (8 * i));
    for (size_t i = 0; i < tail_len; i += 64)
        sha256_block(h, tail + i);
    for (int i = 0; i < 8; i++)
        snprintf(out + 8 * i, 9, "%08x", (unsigned)h[i]);
}

#endif
