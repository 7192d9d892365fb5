/*
 * Runs a fuzzing harness without libFuzzer, so that every build tries it: the files of a corpus as they are, then damaged
 * copies of them. The seed is printed and taken back from SEED; ROUNDS is the number of damaged copies.
 *
 *     parquet_fuzz tests/data/parquet [more files and folders]
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define FILE_BYTES_MAX ((size_t)256 * 1024)
#define FILES_MAX      1024
#define ROUNDS_DEFAULT 2000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    uint8_t *data;
    size_t size;
};

static struct input inputs[FILES_MAX];
static size_t input_count;
static uint64_t random_state;

static uint64_t random_next(void)
{
    random_state += 0x9E3779B97F4A7C15u;
    uint64_t z = random_state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static size_t random_below(size_t n) { return (size_t)(random_next() % n); }

static void add_file(const char *path, size_t size)
{
    if (size > FILE_BYTES_MAX || input_count == FILES_MAX)
        return;
    FILE *file = fopen(path, "rb");
    /* A buffer of exactly this size: a read past its end is seen by the sanitizer. */
    uint8_t *data = malloc(size ? size : 1);
    if (!file || !data || fread(data, 1, size, file) != size) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    fclose(file);
    inputs[input_count++] = (struct input){data, size};
}

static void add_path(const char *path)
{
    struct stat about;
    if (stat(path, &about)) {
        fprintf(stderr, "no such file: %s\n", path);
        exit(1);
    }
    if (S_ISREG(about.st_mode)) {
        add_file(path, (size_t)about.st_size);
        return;
    }
    DIR *dir = opendir(path);
    if (!dir)
        return;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        char inner[4096];
        if (entry->d_name[0] == '.' ||
            (size_t)snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) >= sizeof inner)
            continue;
        if (!stat(inner, &about) && S_ISREG(about.st_mode))
            add_file(inner, (size_t)about.st_size);
    }
    closedir(dir);
}

static int by_content(const void *a, const void *b)
{
    const struct input *x = a, *y = b;
    size_t common = x->size < y->size ? x->size : y->size;
    int order = memcmp(x->data, y->data, common);
    return order ? order : (x->size > y->size) - (x->size < y->size);
}

/* Changes a few bytes, cuts the end off, or repeats a part. `data` has room for `size`; gives the new size. */
static size_t damage(uint8_t *data, size_t size)
{
    for (size_t n = 1 + random_below(6); n > 0; n--)
        data[random_below(size)] =
            random_below(3) ? (uint8_t)random_next() : (uint8_t)(0xFFu * random_below(2));
    if (size > 8 && random_below(4) == 0) {
        size_t len = 1 + random_below(size / 2), from = random_below(size - len + 1),
               to = random_below(size - len + 1);
        memmove(data + to, data + from, len);
    }
    return random_below(8) == 0 ? random_below(size) : size;
}

static void run_exactly(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        exit(1);
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

int main(int argc, char **argv)
{
    const char *seed = getenv("SEED"), *rounds_text = getenv("ROUNDS");
    uint64_t first = seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
    long rounds = rounds_text ? atol(rounds_text) : ROUNDS_DEFAULT;
    for (int i = 1; i < argc; i++)
        add_path(argv[i]);
    if (!input_count) {
        fprintf(stderr, "no corpus: name files or folders\n");
        return 1;
    }
    qsort(inputs, input_count, sizeof *inputs,
          by_content); /* the same seed, the same damage, whatever order the folder has */
    for (size_t i = 0; i < input_count; i++)
        run_exactly(inputs[i].data, inputs[i].size);
    printf("%zu files, %ld damaged copies, SEED=%llu\n", input_count, rounds, (unsigned long long)first);
    fflush(stdout);
    uint8_t *scratch = malloc(FILE_BYTES_MAX);
    if (!scratch)
        return 1;
    for (long i = 0; i < rounds; i++) {
        random_state = first + (uint64_t)i * 0x632BE59BD9B4E019u;
        const struct input *input = &inputs[random_below(input_count)];
        if (!input->size)
            continue;
        memcpy(scratch, input->data, input->size);
        run_exactly(scratch, damage(scratch, input->size));
    }
    free(scratch);
    for (size_t i = 0; i < input_count; i++)
        free(inputs[i].data);
    return 0;
}
