/*
 * base: what every layer stands on, and nothing that knows a format.
 *
 *   errors    sl_status: NULL is success; otherwise an owned error with a code and a message that each caller
 * on the way up may prefix with one piece of context. memory    sl_malloc & co. (tests can make the n-th
 * allocation fail), sl_arena, sl_buf, sl_budget threads   sl_pool: parallel loops runtime   sl_runtime: what
 * an operation needs from its surroundings, passed explicitly
 *
 *     sl_status page_read(struct file *f, uint64_t offset)
 *     {
 *         SL_TRY(header_read(f, offset));                               // pass an error on
 *         SL_TRY_CTX(body_read(f), "page at %" PRIu64, offset);         // ... with context: "page at 18:
 * <message>" if (bad) return sl_corrupt("page body of %u bytes runs past the file", n); return SL_OK;
 *     }
 */
#ifndef SL_BASE_H
#define SL_BASE_H

#include "base/bytes.h"
#include "base/compiler.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors -------------------------------------------------------------------------------------------- */

/* Same numbers as SLUICE_E_* in sluice.h. */
enum sl_code {
    SL_E_OK = 0,
    SL_E_INPUT = 1,   /* the caller's rows, names or options are wrong */
    SL_E_CORRUPT = 2, /* a file or table does not follow its format */
    SL_E_NOT_FOUND = 3,
    SL_E_EXISTS = 4,
    SL_E_UNSUPPORTED = 5, /* well formed, but a feature that we do not have: the message names it */
    SL_E_CONFLICT = 6,    /* another writer won */
    SL_E_BUSY = 7,        /* a lock was not obtained in time */
    SL_E_IO = 8,
    SL_E_MEMORY = 9,
    SL_E_CANCELLED = 10,
    SL_E_INTERNAL = 11,
};

typedef struct sl_error
    *sl_status; /* NULL: fine. Otherwise owned by whoever holds it; hand it on or sl_status_free it. */
#define SL_OK ((sl_status)0)

SL_MUST_USE sl_status sl_errorf(enum sl_code code, const char *format, ...) SL_PRINTF(2, 3);
SL_MUST_USE sl_status sl_input(const char *format, ...) SL_PRINTF(1, 2);
SL_MUST_USE sl_status sl_corrupt(const char *format, ...) SL_PRINTF(1, 2);
SL_MUST_USE sl_status sl_unsupported(const char *format, ...) SL_PRINTF(1, 2);
SL_MUST_USE sl_status sl_not_found(const char *format, ...) SL_PRINTF(1, 2);
SL_MUST_USE sl_status sl_io(const char *format, ...) SL_PRINTF(1, 2);
SL_MUST_USE sl_status sl_internal(const char *format, ...) SL_PRINTF(1, 2);
SL_MUST_USE sl_status sl_nomem(void); /* needs no memory itself */

/* Puts "<context>: " before the message of a failed status; success passes through. */
SL_MUST_USE sl_status sl_context(sl_status status, const char *format, ...) SL_PRINTF(2, 3);
/* Notes which row of the batch at hand failed, from 0, in place of the one that was noted before; -1: none in particular.
 * It is a number and becomes text when the message is read, so that who knows more of the row (its number in the file, its
 * list) says that instead. What was said before stands behind the row: "row 3: column fare: null". */
SL_MUST_USE sl_status sl_at_row(sl_status status, int64_t row);
int64_t sl_status_row(sl_status status); /* -1: not known, or success */
/* A second line for the user ("hint: ..."); kept once, success passes through. */
SL_MUST_USE sl_status sl_hint(sl_status status, const char *format, ...) SL_PRINTF(2, 3);

enum sl_code sl_status_code(sl_status status);   /* SL_E_OK for success */
const char *sl_status_message(sl_status status); /* "" for success; lives until the status changes */
const char *sl_status_hint(sl_status status);    /* NULL when there is none */
void sl_status_free(sl_status status);
/* Frees a failure and returns whether there was one: for steps whose failure is deliberately not reported. */
bool sl_status_ignore(sl_status status);

#define SL_TRY(expr)                                                                                         \
    do {                                                                                                     \
        sl_status try_status_ = (expr);                                                                      \
        if (SL_UNLIKELY(try_status_ != SL_OK))                                                               \
            return try_status_;                                                                              \
    } while (0)
#define SL_TRY_CTX(expr, ...)                                                                                \
    do {                                                                                                     \
        sl_status try_status_ = (expr);                                                                      \
        if (SL_UNLIKELY(try_status_ != SL_OK))                                                               \
            return sl_context(try_status_, __VA_ARGS__);                                                     \
    } while (0)
/* The same for a loop over the rows of a batch. */
#define SL_TRY_AT(expr, row)                                                                                 \
    do {                                                                                                     \
        sl_status try_status_ = (expr);                                                                      \
        if (SL_UNLIKELY(try_status_ != SL_OK))                                                               \
            return sl_at_row(try_status_, (row));                                                            \
    } while (0)
/* For functions with one exit: needs a local `sl_status status` and a label `done`. */
#define SL_GO(expr)                                                                                          \
    do {                                                                                                     \
        status = (expr);                                                                                     \
        if (SL_UNLIKELY(status != SL_OK))                                                                    \
            goto done;                                                                                       \
    } while (0)
#define SL_GO_CTX(expr, ...)                                                                                 \
    do {                                                                                                     \
        status = (expr);                                                                                     \
        if (SL_UNLIKELY(status != SL_OK)) {                                                                  \
            status = sl_context(status, __VA_ARGS__);                                                        \
            goto done;                                                                                       \
        }                                                                                                    \
    } while (0)

/* ---- memory -------------------------------------------------------------------------------------------- */

/* As their libc namesakes; NULL when memory (or the test's patience) is out. Size 0 gives a pointer that may
 * be freed. */
void *sl_malloc(size_t size);
void *sl_calloc(size_t count, size_t size);
void *sl_realloc(void *p, size_t size);
void *sl_realloc_array(void *p, size_t count, size_t size); /* NULL on overflow too */
void *sl_aligned(size_t size);                              /* 64-byte aligned, freed by sl_free */
void sl_free(void *p);
char *sl_strdup(const char *s);
char *sl_strndup(const char *s, size_t len);
SL_MUST_USE sl_status sl_asprintf(char **out, const char *format, ...)
    SL_PRINTF(2, 3); /* *out is the caller's */
/* Tests: the n-th allocation from now on fails (and every later one when `sticky`); 0 switches it off. */
void sl_test_fail_allocation(uint64_t nth, bool sticky);

/* Allocates or returns sl_nomem() from the calling function. */
#define SL_NEW(pointer)                                                                                      \
    do {                                                                                                     \
        if (!((pointer) = sl_calloc(1, sizeof *(pointer))))                                                  \
            return sl_nomem();                                                                               \
    } while (0)
#define SL_NEW_ARRAY(pointer, count)                                                                         \
    do {                                                                                                     \
        if (!((pointer) = sl_calloc((count), sizeof *(pointer))))                                            \
            return sl_nomem();                                                                               \
    } while (0)
/* Room for one element more in an array that grows: twice as long when it is full, `first` elements at the beginning. The
 * array keeps what it has when there is no memory. */
#define SL_GROW(array, count, cap, first)                                                                    \
    do {                                                                                                     \
        if ((count) == (cap)) {                                                                              \
            size_t grow_cap_ = (cap) ? 2 * (cap) : (first);                                                  \
            void *grow_to_ = sl_realloc_array((array), grow_cap_, sizeof *(array));                          \
            if (!grow_to_)                                                                                   \
                return sl_nomem();                                                                           \
            (array) = grow_to_;                                                                              \
            (cap) = grow_cap_;                                                                               \
        }                                                                                                    \
    } while (0)

/* Memory of one operation, freed at once. Not thread-safe. */
typedef struct sl_arena sl_arena;
SL_MUST_USE sl_status sl_arena_new(sl_arena **out);
void *sl_arena_alloc(sl_arena *arena, size_t size); /* 16-byte aligned; NULL when out of memory */
char *sl_arena_strndup(sl_arena *arena, const char *s, size_t len);
void sl_arena_reset(sl_arena *arena); /* frees the contents, keeps the first block */
size_t sl_arena_bytes(const sl_arena *arena);
void sl_arena_free(sl_arena *arena);

/* A growing byte buffer with a bound given at its creation. Zero-initialised is empty with no bound. */
typedef struct sl_buf {
    uint8_t *data;
    size_t len, cap;
    size_t max; /* 0: no bound */
} sl_buf;
SL_MUST_USE sl_status sl_buf_reserve(sl_buf *buf, size_t more); /* room for `more` bytes behind len */
SL_MUST_USE sl_status sl_buf_append(sl_buf *buf, const void *data, size_t len);
SL_MUST_USE sl_status sl_buf_append_base64(sl_buf *buf, const uint8_t *data, size_t len); /* with padding */
SL_MUST_USE sl_status sl_buf_byte(sl_buf *buf, uint8_t byte);
SL_MUST_USE sl_status sl_buf_printf(sl_buf *buf, const char *format, ...) SL_PRINTF(2, 3);
void sl_buf_free(sl_buf *buf);
/* The contents as a NUL-terminated string that the caller frees; the buffer is empty afterwards. */
SL_MUST_USE sl_status sl_buf_take_string(sl_buf *buf, char **out);

/* A list of owned strings. Zero-initialised is empty. */
typedef struct sl_strings {
    char **items;
    size_t count, cap;
} sl_strings;
SL_MUST_USE sl_status sl_strings_add(sl_strings *list, const char *s);
SL_MUST_USE sl_status sl_strings_split(sl_strings *list, const char *text,
                                       char separator);                     /* trims, drops empties */
SL_MUST_USE sl_status sl_strings_add_once(sl_strings *list, const char *s); /* unless it is there */
bool sl_strings_contain(const sl_strings *list, const char *s);
void sl_strings_sort(sl_strings *list);                        /* by bytes */
void sl_strings_sort_unique(sl_strings *list);                 /* and each once */
bool sl_strings_find(const sl_strings *sorted, const char *s); /* as sl_strings_contain, of a sorted list */
void sl_strings_free(sl_strings *list);

/* The memory budget that buffers, hash tables and caches of one operation share. Thread-safe. */
typedef struct sl_budget {
    atomic_size_t used;
    atomic_size_t peak;
    size_t limit;             /* 0: no limit */
    struct sl_budget *parent; /* of which this is a part: what is reserved here is reserved there too; NULL */
} sl_budget;
bool sl_budget_reserve(sl_budget *budget, size_t bytes); /* false: it would not fit; nothing reserved */
void sl_budget_force(sl_budget *budget,
                     size_t bytes); /* reserves even over the limit (the minimum to make progress) */
void sl_budget_release(sl_budget *budget, size_t bytes);
/* The part of the whole budget (of which this one may be a part) that one of `users` alike may take, from `least` to `most`
 * bytes; no budget, or one without limit: `most`. */
size_t sl_budget_share(const sl_budget *budget, size_t users, size_t least, size_t most);

/* ---- hashes and text ----------------------------------------------------------------------------------- */

uint32_t sl_crc32(uint32_t seed, const void *data, size_t len); /* zlib polynomial; start with 0 */
uint64_t sl_xxh64(const void *data, size_t len);                /* XXH64, seed 0 */
/* Length of the valid UTF-8 prefix; == len when all of it is valid (no surrogates, no overlong forms, <=
 * U+10FFFF). */
size_t sl_utf8_valid_prefix(const void *data, size_t len);
/* Where a text that goes on behind `at` may be cut, there or before: not inside of a character, which would be no text to who
 * hands it on. */
size_t sl_utf8_cut(const char *text, size_t at);
/* Next code point at *pos (which must start a valid sequence); moves *pos past it. */
uint32_t sl_utf8_next(const uint8_t *data, size_t len, size_t *pos);
/* Order of Java's String.compareTo: by UTF-16 code unit (spec/write-path.md 4.1). */
int sl_utf16_compare(const void *a, size_t a_len, const void *b, size_t b_len);
/* Shortest decimal that reads back to the same value, as digits and exponent: value = 0.d1d2d3... *
 * 10^exponent. `digits` needs 32 bytes and gets a NUL; the sign is not included; not for NaN and infinities.
 */
void sl_double_digits(double value, char *digits, int *count, int *exponent);
void sl_float_digits(float value, char *digits, int *count, int *exponent);
/* Random bytes from the system. */
SL_MUST_USE sl_status sl_random_bytes(void *out, size_t len);
/* Random version-4 UUID in its 36-character text form; `out` needs 37 bytes. */
SL_MUST_USE sl_status sl_uuid4(char *out);
/* Damerau-free edit distance, for "did you mean". */
size_t sl_edit_distance(const char *a, const char *b);

/* ---- clock --------------------------------------------------------------------------------------------- */

int64_t sl_now_ms(void);   /* wall clock, milliseconds since 1970-01-01T00:00Z */
double sl_monotonic(void); /* seconds, for durations */
void sl_sleep_ms(int64_t ms);

/* ---- threads ------------------------------------------------------------------------------------------- */

typedef struct sl_pool sl_pool;
/* Threads start at the first loop that needs them. `threads` counts the caller: 1 means everything runs
 * inline. */
SL_MUST_USE sl_status sl_pool_new(unsigned threads, sl_pool **out);
/* A pool without threads of its own, for work that those shall do who wait for it anyway: see sl_pool_help. */
SL_MUST_USE sl_status sl_pool_new_unstaffed(sl_pool **out);
unsigned sl_pool_threads(const sl_pool *pool);
/* Calls work(context, 0 .. count-1), each once, in any order and on any thread, and waits for all. The caller
 * works too, so loops may nest. The first failure is returned; indexes not yet begun are then skipped. pool
 * NULL: inline. */
SL_MUST_USE sl_status sl_pool_for(sl_pool *pool, size_t count, sl_status (*work)(void *context, size_t index),
                                  void *context);
/* As sl_pool_for with so many indexes at a time at most: each takes memory. What they begin themselves has all threads. */
SL_MUST_USE sl_status sl_pool_for_some(sl_pool *pool, size_t workers, size_t count,
                                       sl_status (*work)(void *context, size_t index), void *context);
/* Helps with the pool's loops, and sleeps when there is none, as long as `wanted` says so. It is asked under the pool's
 * lock, at the beginning, after each loop and after each sl_pool_wake; it must not call the pool. */
void sl_pool_help(sl_pool *pool, bool (*wanted)(void *context), void *context);
void sl_pool_wake(sl_pool *pool);
void sl_pool_free(sl_pool *pool);

/* Work that is done behind the back of those who order it, in no certain order (backlog.c). Thread-safe. */
typedef struct sl_backlog sl_backlog;
SL_MUST_USE sl_status sl_backlog_new(sl_backlog **out);
/* work(context) is called once, soon, by another thread or by this one; what it returns tells the next wait. */
void sl_backlog_add(sl_backlog *backlog, sl_status (*work)(void *context), void *context);
/* Returns when all is done that was added: the first failure since the last wait. */
SL_MUST_USE sl_status sl_backlog_wait(sl_backlog *backlog);
void sl_backlog_free(sl_backlog *backlog); /* waits too; NULL is fine */

unsigned sl_cpu_count(void);
/* Threads that shall wait for the disk at the same time, SL_DISK_THREADS_MAX at most: not a question of cores, since a file
 * system makes durable together what is asked for together, but of the files that the process may have open. */
#define SL_DISK_THREADS_MAX 16
unsigned sl_disk_threads(void);
uint64_t sl_memory_total(void); /* bytes of the machine (or of its cgroup, when less) */
/* Whether loops may use AVX2: the processor has it and SLUICE_SIMD is not "off" in the environment. Asked once per batch. */
bool sl_cpu_avx2(void);
/* Tests: false leaves everything to the scalar loops, true gives back what the processor has. */
void sl_test_simd(bool allowed);

/* ---- runtime ------------------------------------------------------------------------------------------- */

/* What an operation gets from its surroundings. Borrowed by everything that takes it; all members may be
 * NULL. */
typedef struct sl_runtime {
    sl_pool *pool;
    sl_budget *budget;
    const atomic_bool *cancel; /* checked between batches */
    void (*on_log)(void *context, int level,
                   const char *message); /* level: 0 error, 1 warning, 2 info, 3 debug */
    void *log_context;
    void (*on_progress)(void *context, const char *step, uint64_t done,
                        uint64_t total); /* rows or bytes; total 0: unknown */
    void *progress_context;
    const char *temp_dir; /* for spilled runs; NULL: $TMPDIR or /tmp */
} sl_runtime;
SL_MUST_USE sl_status sl_check_cancel(const sl_runtime *runtime);
void sl_warn(const sl_runtime *runtime, const char *format, ...) SL_PRINTF(2, 3);
void sl_progress(const sl_runtime *runtime, const char *step, uint64_t done, uint64_t total);

#endif
