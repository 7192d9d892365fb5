/* Checksums and hashes that formats ask for; the libraries pick the fastest code for the machine. */
#include "base/base.h"
#include <libdeflate.h>
#include <xxhash.h>

uint32_t sl_crc32(uint32_t seed, const void *data, size_t len)
{
    return len ? libdeflate_crc32(seed, data, len) : seed;
}

uint64_t sl_xxh64(const void *data, size_t len) { return XXH64(data, len, 0); }
