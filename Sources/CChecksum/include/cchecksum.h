// SPDX-License-Identifier: Apache-2.0
//
// CRC-32C (Castagnoli polynomial, reflected, initial and final inversion), as in RFC 3720 appendix
// B.4. The functions below compute the same value; the first picks the fastest one the processor
// offers.

#ifndef DIVAN_CCHECKSUM_H
#define DIVAN_CCHECKSUM_H

#include <stddef.h>
#include <stdint.h>

// Continues `crc` (0 to begin) over `count` bytes. `bytes` may be null when `count` is 0.
uint32_t divan_crc32c(uint32_t crc, const void *bytes, size_t count);

// The portable variant, one table look-up a byte. For tests and old processors.
uint32_t divan_crc32c_portable(uint32_t crc, const void *bytes, size_t count);

// Not 0 when `divan_crc32c` runs on the processor's own instruction.
int divan_crc32c_is_hardware(void);

#endif
