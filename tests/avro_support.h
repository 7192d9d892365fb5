/* What the Avro tests share: files as bytes, and readable failures. */
#ifndef TESTS_AVRO_SUPPORT_H
#define TESTS_AVRO_SUPPORT_H

#include "check_support.h"
#include "avro/avro.h"
#include <stdio.h>

struct file_bytes {
    uint8_t *data;
    size_t len;
};

/* Test data by path below the data folder; the caller frees data. */
SL_INLINE struct file_bytes test_file(const char *path)
{
    const char *root = getenv("SL_TEST_DATA");
    char full[2048];
    snprintf(full, sizeof full, "%s/%s", root ? root : "tests/data", path);
    FILE *f = fopen(full, "rb");
    if (!f)
        fail_msg("cannot open %s", full);
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    struct file_bytes file = {malloc((size_t)size + 1), (size_t)size};
    assert_non_null(file.data);
    assert_int_equal(fread(file.data, 1, file.len, f), file.len);
    fclose(f);
    file.data[file.len] = 0;
    return file;
}

SL_INLINE void json_same_at(const json_t *got, const json_t *want, const char *what, int line)
{
    if (json_equal(got, want))
        return;
    char *got_text = json_dumps(got, JSON_ENCODE_ANY | JSON_SORT_KEYS);
    char *want_text = json_dumps(want, JSON_ENCODE_ANY | JSON_SORT_KEYS);
    fail_msg("line %d: %s:\n got %.4000s\nwant %.4000s", line, what, got_text, want_text);
}
#define JSON_SAME(got, want, what) json_same_at((got), (want), (what), __LINE__)

#endif
