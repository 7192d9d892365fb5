/* Which instructions beyond the baseline loops may use: asked once, remembered. Threads that ask at the same time find the same. */
#include "base/base.h"

enum { NOT_ASKED, NONE, AVX2 };
static atomic_int known = NOT_ASKED;

static int ask(void)
{
    const char *setting = getenv("SLUICE_SIMD");
    bool off = setting && strcmp(setting, "off") == 0;
    return !off && sl_compiler_cpu_avx2() ? AVX2 : NONE;
}

bool sl_cpu_avx2(void)
{
    int now = atomic_load_explicit(&known, memory_order_relaxed);
    if (SL_UNLIKELY(now == NOT_ASKED)) {
        now = ask();
        atomic_store_explicit(&known, now, memory_order_relaxed);
    }
    return now == AVX2;
}

void sl_test_simd(bool allowed)
{
    int now = allowed && sl_compiler_cpu_avx2() ? AVX2 : NONE;
    atomic_store_explicit(&known, now, memory_order_relaxed);
}
