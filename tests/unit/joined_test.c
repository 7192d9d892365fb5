/* Dictionaries that are joined: more than are worth it make text of the rows of a batch that came before, too, and are let go. */
#include "check_support.h"
#include "merge/merge_int.h"
#include <stdio.h>

enum { SOURCES = 300, STEP = 100, ENTRIES = 3, ROWS = 4 };

static size_t text_of(char *text, size_t source, size_t entry)
{
    return (size_t)snprintf(text, 32, "entry %zu of %zu", entry, source);
}

/* Row i has entry i % ENTRIES of a dictionary of the source's own. */
static sl_array *encoded_source(const sl_type *string, size_t number)
{
    sl_builder *b;
    sl_array *dictionary, *out;
    sl_buffer *indexes;
    char text[32];
    OK(sl_builder_new(string, &b));
    for (size_t i = 0; i < ENTRIES; i++)
        OK(sl_builder_bytes(b, text, text_of(text, number, i)));
    OK(sl_builder_finish(b, &dictionary));
    sl_builder_free(b);
    OK(sl_buffer_new(ROWS * sizeof(int32_t), &indexes));
    for (size_t i = 0; i < ROWS; i++)
        store_le32(sl_buffer_data(indexes) + i * sizeof(int32_t), (uint32_t)(i % ENTRIES));
    OK(sl_array_new(string, ROWS, 0, NULL, indexes, NULL, NULL, 0, dictionary, &out));
    return out;
}

/* A batch of all rows of some sources, STEP of them at a time. */
static sl_array *join(struct joined *j, sl_builder *texts, sl_array *const *sources, size_t count)
{
    sl_array *out;
    for (size_t at = 0; at < count; at += STEP) {
        struct sl_pick items[STEP];
        for (size_t i = 0; i < STEP; i++)
            items[i] = (struct sl_pick){(uint32_t)i, 0, ROWS};
        OK(joined_append(j, texts, (const sl_array *const *)sources + at, STEP,
                         &(struct sl_picks){items, STEP, STEP * ROWS}));
    }
    OK(joined_finish(j, texts, &out));
    return out;
}

static void check_rows(const sl_array *joined, size_t count)
{
    assert_int_equal(joined->length, count * ROWS);
    for (size_t i = 0; i < count * ROWS; i++) {
        char want[32];
        size_t len, want_len = text_of(want, i / ROWS, i % ROWS % ENTRIES);
        const uint8_t *text = sl_bytes_at(joined, (int64_t)i, &len);
        assert_int_equal(len, want_len);
        assert_memory_equal(text, want, len);
    }
}

static void too_many_dictionaries_become_text(void **state)
{
    (void)state;
    const sl_type *string;
    sl_array *sources[SOURCES];
    sl_builder *texts;
    struct joined *j;
    OK(sl_type_new(SL_STRING, &string));
    OK(sl_builder_new(string, &texts));
    OK(joined_new(string, SOURCES * ROWS, &j));
    for (size_t i = 0; i < SOURCES; i++)
        sources[i] = encoded_source(string, i);
    static const size_t batches[] = {STEP, SOURCES, STEP};
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        sl_array *rows = join(j, texts, sources, batches[i]);
        check_rows(rows, batches[i]);
        assert_true((rows->dictionary != NULL) == (i == 0));
        sl_array_unref(rows);
    }
    for (size_t i = 0; i < SOURCES; i++) {
        assert_int_equal(atomic_load(&sources[i]->dictionary->refs), 1);
        sl_array_unref(sources[i]);
    }
    joined_free(j);
    sl_builder_free(texts);
    sl_type_unref(string);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(too_many_dictionaries_become_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
