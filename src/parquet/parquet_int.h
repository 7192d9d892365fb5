/* parquet, private: what the files of this folder share. */
#ifndef SL_PARQUET_INT_H
#define SL_PARQUET_INT_H

#include "parquet/metadata.h"
#include "parquet/parquet.h"
#include "parquet/thrift.h"

#define PARQUET_MAGIC       "PAR1"
#define PARQUET_NESTING_MAX 64 /* groups inside groups; keeps levels in a byte */

/* Bits that hold a level (or a dictionary index) of at most `max`. */
SL_INLINE int parquet_bit_width(uint32_t max) { return max ? 64 - sl_clz64(max) : 0; }

/* Set bits among [from, from + count): how many, and their places, for which `places` has room as for `count` of them. */
size_t parquet_bits_count(const uint8_t *bits, size_t from, size_t count);
size_t parquet_bits_places(const uint8_t *bits, size_t from, size_t count, int32_t *places);

#endif
