/* parquet, private: what the files of this folder share. */
#ifndef SL_PARQUET_INT_H
#define SL_PARQUET_INT_H

#include "parquet/metadata.h"
#include "parquet/parquet.h"
#include "parquet/thrift.h"

#define PARQUET_MAGIC "PAR1"
/* Seals the footers of our files (footer_checksum.c); the value that stands there until then. */
#define PARQUET_FOOTER_CHECKSUM "sluice.footer.crc32"
#define PARQUET_FOOTER_UNSEALED "00000000"
#define PARQUET_NESTING_MAX     64 /* groups inside groups; keeps levels in a byte */

/* Bits that hold a level (or a dictionary index) of at most `max`. */
SL_INLINE int parquet_bit_width(uint32_t max) { return max ? 64 - sl_clz64(max) : 0; }

/* Set bits among [from, from + count): how many, and their places, for which `places` has room as for `count` of them. */
size_t parquet_bits_count(const uint8_t *bits, size_t from, size_t count);
size_t parquet_bits_places(const uint8_t *bits, size_t from, size_t count, int32_t *places);

/* Puts the checksum into an encoded footer, which has the entry above, its value not sealed yet. */
void parquet_footer_seal(uint8_t *footer, size_t len);
/* SL_E_CORRUPT when the footer has a checksum of ours and does not fit it. */
SL_MUST_USE sl_status parquet_footer_check(const uint8_t *footer, size_t len, uint64_t file_offset);

#endif
