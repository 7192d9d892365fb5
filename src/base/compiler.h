/* The only place where compiler extensions are named; everything else is plain C11. */
#ifndef SL_BASE_COMPILER_H
#define SL_BASE_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SL_PRINTF(format_index, first_arg) __attribute__((format(printf, format_index, first_arg)))
#define SL_MUST_USE                        __attribute__((warn_unused_result))
#define SL_UNUSED                          __attribute__((unused))
#define SL_LIKELY(x)                       __builtin_expect(!!(x), 1)
#define SL_UNLIKELY(x)                     __builtin_expect(!!(x), 0)
#define SL_INLINE                          static inline __attribute__((always_inline, unused))

/* 128-bit integers hold the values of decimals of up to 38 digits. */
__extension__ typedef __int128 sl_i128;
__extension__ typedef unsigned __int128 sl_u128;

/* Each returns true on overflow, as the builtins do; *out then holds the wrapped result. */
SL_INLINE bool sl_add_overflows(size_t a, size_t b, size_t *out) { return __builtin_add_overflow(a, b, out); }
SL_INLINE bool sl_mul_overflows(size_t a, size_t b, size_t *out) { return __builtin_mul_overflow(a, b, out); }
SL_INLINE bool sl_add_overflows_i64(int64_t a, int64_t b, int64_t *out)
{
    return __builtin_add_overflow(a, b, out);
}
SL_INLINE bool sl_mul_overflows_i64(int64_t a, int64_t b, int64_t *out)
{
    return __builtin_mul_overflow(a, b, out);
}

/* Before a loop of known, few rounds over an array of vectors: only unrolled ones keep it in registers. clang does so by itself. */
#if defined(__clang__)
#define SL_UNROLL
#else
#define SL_UNROLL _Pragma("GCC unroll 8")
#endif

/* Memory that will be read soon, `ahead` bytes from `from` on; there need be none. */
SL_INLINE void sl_prefetch(const void *from, size_t ahead)
{
    __builtin_prefetch((const void *)((uintptr_t)from + ahead));
}

/* Code for processors newer than the baseline: files of its own (NAME_avx2.c), each function marked SL_AVX2 and called only where
 * sl_cpu_avx2() is true (base.h). On other architectures, and with -DSL_SCALAR_ONLY, there is none of it. */
#if defined(__x86_64__) && !defined(SL_SCALAR_ONLY)
#define SL_HAVE_AVX2 1
#define SL_AVX2      __attribute__((target("avx2,popcnt")))
SL_INLINE bool sl_compiler_cpu_avx2(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
}
#else
#define SL_HAVE_AVX2 0
SL_INLINE bool sl_compiler_cpu_avx2(void) { return false; }
#endif

/* Bit counting; the argument of ctz and clz must not be 0. */
SL_INLINE int sl_ctz64(uint64_t x) { return __builtin_ctzll(x); }
SL_INLINE int sl_clz64(uint64_t x) { return __builtin_clzll(x); }
/* The builtin is a call to a function where the baseline has no such instruction. */
SL_INLINE int sl_popcount64(uint64_t x)
{
#if defined(__x86_64__) && !defined(__POPCNT__)
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    return (int)(((x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f)) * UINT64_C(0x0101010101010101) >> 56);
#else
    return __builtin_popcountll(x);
#endif
}

#endif
