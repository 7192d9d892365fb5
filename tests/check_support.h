/* What most test programs share: statuses that say what went wrong, and random numbers that SEED repeats. */
#ifndef TESTS_CHECK_SUPPORT_H
#define TESTS_CHECK_SUPPORT_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/base.h"
#include <stdlib.h>
#include <string.h>

/* ---- statuses ------------------------------------------------------------------------------------------ */

SL_INLINE void ok_at(sl_status status, int line)
{
    if (status != SL_OK)
        fail_msg("line %d: %s", line, sl_status_message(status));
}
#define OK(expr) ok_at((expr), __LINE__)

SL_INLINE void fails_at(sl_status status, enum sl_code code, const char *part, int line)
{
    if (sl_status_code(status) != code || !strstr(sl_status_message(status), part))
        fail_msg("line %d: expected code %d with '%s', got %d: %s", line, (int)code, part,
                 (int)sl_status_code(status), sl_status_message(status));
    sl_status_free(status);
}
/* The expression fails with this code and a message that holds this text. */
#define FAILS(expr, code, part) fails_at((expr), (code), (part), __LINE__)

/* ---- random numbers ------------------------------------------------------------------------------------ */

static uint64_t random_state; /* never 0 */

SL_INLINE uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

SL_INLINE uint64_t random_below(uint64_t n) { return random_next() % n; }

/* By SEED, else by the clock. Prints what to repeat it with. */
SL_INLINE void random_start(void)
{
    const char *text = getenv("SEED");
    uint64_t seed = text ? strtoull(text, NULL, 10) : (uint64_t)sl_now_ms();
    print_message("SEED=%" PRIu64 "\n", seed);
    random_state = seed * 2654435761u + 1;
}

/* The same as a set-up of a test. */
SL_INLINE int random_set_up(void **state)
{
    (void)state;
    random_start();
    return 0;
}

#endif
