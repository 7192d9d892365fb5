/*
 * Fuzz harness of the Avro readers: containers and schema texts.
 *
 *     make MODE=fuzz CC=clang CFLAGS=-DSL_FUZZER LDFLAGS=-fsanitize=fuzzer build/fuzz/tests/fuzz/avro_test
 *     build/fuzz/tests/fuzz/avro_test CORPUS tests/data/avro
 *
 * Without SL_FUZZER it is a plain test over the golden files.
 */
#include "avro_support.h"

#include <dirent.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void container_readers(const uint8_t *data, size_t len)
{
    json_t *json;
    sl_stream *stream;
    sl_batch *batch = NULL;
    if (!sl_status_ignore(sl_avro_container_read(data, len, &json, NULL)))
        json_decref(json);
    if (!sl_status_ignore(sl_avro_container_describe(data, len, &json)))
        json_decref(json);
    if (sl_status_ignore(sl_avro_container_scan(data, len, &stream)))
        return;
    while (!sl_status_ignore(sl_stream_next(stream, &batch)) && batch)
        sl_batch_unref(batch);
    sl_stream_close(stream);
}

/* What parses can be written, and the text parses to the same type. */
static void schema_readers(const uint8_t *data, size_t len)
{
    const sl_type *type, *again;
    char *text;
    if (sl_status_ignore(sl_avro_schema_parse((const char *)data, len, &type)))
        return;
    if (!sl_status_ignore(sl_avro_schema_text(type, "r", "n", &text))) {
        sl_status status = sl_avro_schema_parse(text, strlen(text), &again);
        if (status != SL_OK || !sl_type_equal(type, again)) {
            fprintf(stderr, "schema text does not come back: %s\n%s\n", sl_status_message(status), text);
            abort();
        }
        sl_type_unref(again);
        sl_free(text);
    }
    sl_type_unref(type);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len >= 4 && memcmp(data, "Obj", 3) == 0)
        container_readers(data, len);
    else
        schema_readers(data, len);
    return 0;
}

#ifndef SL_FUZZER
static void golden_corpus(void **state)
{
    (void)state;
    const char *root = getenv("SL_TEST_DATA");
    char path[1024];
    int inputs = 0;
    snprintf(path, sizeof path, "%s/avro", root ? root : "tests/data");
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "avro/%s", entry->d_name);
        struct file_bytes file = test_file(path);
        assert_int_equal(LLVMFuzzerTestOneInput(file.data, file.len), 0);
        for (char *line = strtok((char *)file.data, "\n"); line; line = strtok(NULL, "\n"))
            assert_int_equal(LLVMFuzzerTestOneInput((const uint8_t *)line, strlen(line)), 0);
        free(file.data);
        inputs++;
    }
    closedir(dir);
    assert_true(inputs > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(golden_corpus)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
