/* bytes.h reads little endian with plain loads: only right where the machine is little endian. */
#include "base/bytes.h"

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "sluice is written for little-endian machines"
#endif

_Static_assert(sizeof(size_t) == 8, "sluice is written for 64-bit machines");
_Static_assert(sizeof(double) == 8 && sizeof(float) == 4, "IEEE 754 numbers are assumed");
