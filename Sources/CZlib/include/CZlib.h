// SPDX-License-Identifier: Apache-2.0

// An opaque fence around zlib, for content and messages in gzip, and for pictures in PNG.

#ifndef DIVAN_CZLIB_H
#define DIVAN_CZLIB_H

#include <stddef.h>
#include <stdint.h>

typedef struct divan_inflater divan_inflater;

enum divan_inflate_result {
    /// More input is needed, or there is more output to fetch.
    DIVAN_INFLATE_MORE = 0,
    /// A whole gzip stream has ended.
    DIVAN_INFLATE_END = 1,
    /// The input is not gzip, or damaged.
    DIVAN_INFLATE_DAMAGED = 2,
};

/// Makes a decoder of gzip. NULL without memory.
divan_inflater *divan_inflater_create(void);

/// Releases a decoder.
void divan_inflater_free(divan_inflater *inflater);

/// Decodes from `in` to `out`; tells how much it took and how much it made. After the end of a stream
/// it is ready for the next one, as gzip allows several in a row.
enum divan_inflate_result divan_inflate(
    divan_inflater *inflater, const uint8_t *in, size_t in_count, size_t *taken, uint8_t *out,
    size_t out_count, size_t *made);

/// The most bytes that so many become as gzip.
size_t divan_gzip_bound(size_t count);

/// Codes bytes as gzip, fast rather than small. Answers how many bytes it made, or 0 on failure.
size_t divan_gzip(const uint8_t *in, size_t in_count, uint8_t *out, size_t out_count);

/// The most bytes that so many become as a zlib stream.
size_t divan_zlib_bound(size_t count);

/// Codes bytes as a zlib stream, small rather than fast. Answers how many bytes it made, or 0 on failure.
size_t divan_zlib(const uint8_t *in, size_t in_count, uint8_t *out, size_t out_count);

/// The CRC-32 of bytes, by the polynomial of gzip and PNG.
uint32_t divan_crc32(const uint8_t *bytes, size_t count);

#endif
