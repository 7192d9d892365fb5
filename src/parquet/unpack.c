/*
 * Bit unpacking without AVX2 (unpack_avx2.c), and of what is wider: 32 values at a time, one function for each width so that every shift and mask is a constant.
 * Values are packed least significant bit first, so value i starts at bit i * width and one unaligned 64-bit
 * load at its first byte holds all of it (width <= 32, start bit <= 7).
 */
#include "parquet/read_int.h"

#define VALUE(W, I)                                                                                          \
    out[I] = (uint32_t)((load_le64(p + (I) * (W) / 8) >> ((I) * (W) % 8)) & ((UINT64_C(1) << (W)) - 1))
#define VALUES4(W, I)                                                                                        \
    VALUE(W, I);                                                                                             \
    VALUE(W, (I) + 1);                                                                                       \
    VALUE(W, (I) + 2);                                                                                       \
    VALUE(W, (I) + 3)
#define UNPACK(W)                                                                                            \
    static void unpack_##W(const uint8_t *p, uint32_t *out)                                                  \
    {                                                                                                        \
        VALUES4(W, 0);                                                                                       \
        VALUES4(W, 4);                                                                                       \
        VALUES4(W, 8);                                                                                       \
        VALUES4(W, 12);                                                                                      \
        VALUES4(W, 16);                                                                                      \
        VALUES4(W, 20);                                                                                      \
        VALUES4(W, 24);                                                                                      \
        VALUES4(W, 28);                                                                                      \
    }

UNPACK(1)
UNPACK(2)
UNPACK(3)
UNPACK(4)
UNPACK(5)
UNPACK(6)
UNPACK(7)
UNPACK(9)
UNPACK(10)
UNPACK(11)
UNPACK(12)
UNPACK(13)
UNPACK(14)
UNPACK(15)
UNPACK(17)
UNPACK(18)
UNPACK(19)
UNPACK(20)
UNPACK(21)
UNPACK(22)
UNPACK(23)
UNPACK(24)
UNPACK(25)
UNPACK(26)
UNPACK(27)
UNPACK(28)
UNPACK(29)
UNPACK(30)
UNPACK(31)

static void unpack_0(const uint8_t *p, uint32_t *out)
{
    (void)p;
    memset(out, 0, 32 * sizeof *out);
}

static void unpack_8(const uint8_t *p, uint32_t *out)
{
    for (int i = 0; i < 32; i++)
        out[i] = p[i];
}

static void unpack_16(const uint8_t *p, uint32_t *out)
{
    for (int i = 0; i < 32; i++)
        out[i] = load_le16(p + 2 * i);
}

static void unpack_32(const uint8_t *p, uint32_t *out) { memcpy(out, p, 32 * sizeof *out); }

void parquet_unpack32(const uint8_t *p, int width, uint32_t *out)
{
    static void (*const unpack[33])(const uint8_t *, uint32_t *) = {
        unpack_0,  unpack_1,  unpack_2,  unpack_3,  unpack_4,  unpack_5,  unpack_6,  unpack_7,  unpack_8,
        unpack_9,  unpack_10, unpack_11, unpack_12, unpack_13, unpack_14, unpack_15, unpack_16, unpack_17,
        unpack_18, unpack_19, unpack_20, unpack_21, unpack_22, unpack_23, unpack_24, unpack_25, unpack_26,
        unpack_27, unpack_28, unpack_29, unpack_30, unpack_31, unpack_32};
    unpack[width](p, out);
}

void parquet_unpack64(const uint8_t *p, int width, uint64_t *out)
{
    if (width <= 32) {
        uint32_t narrow[32];
        parquet_unpack32(p, width, narrow);
        for (int i = 0; i < 32; i++)
            out[i] = narrow[i];
        return;
    }
    uint64_t mask = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
    for (int i = 0; i < 32; i++) {
        int bit = i * width;
        const uint8_t *at = p + bit / 8;
        uint64_t v = load_le64(at) >> (bit & 7);
        if ((bit & 7) + width > 64) /* the rest is in the ninth byte */
            v |= (uint64_t)at[8] << (64 - (bit & 7));
        out[i] = v & mask;
    }
}
