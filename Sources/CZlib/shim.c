// SPDX-License-Identifier: Apache-2.0

#include "CZlib.h"

#include <stdlib.h>
#include <zlib.h>

struct divan_inflater {
    z_stream stream;
};

divan_inflater *divan_inflater_create(void) {
    divan_inflater *inflater = calloc(1, sizeof *inflater);
    if (!inflater) return NULL;
    // 15 bits of window, and 16 for gzip alone: raw deflate and zlib streams are refused.
    if (inflateInit2(&inflater->stream, 15 + 16) != Z_OK) {
        free(inflater);
        return NULL;
    }
    return inflater;
}

void divan_inflater_free(divan_inflater *inflater) {
    if (!inflater) return;
    inflateEnd(&inflater->stream);
    free(inflater);
}

enum divan_inflate_result divan_inflate(
    divan_inflater *inflater, const uint8_t *in, size_t in_count, size_t *taken, uint8_t *out,
    size_t out_count, size_t *made) {
    z_stream *stream = &inflater->stream;
    uInt in_step = in_count > 0x40000000 ? 0x40000000 : (uInt)in_count;
    uInt out_step = out_count > 0x40000000 ? 0x40000000 : (uInt)out_count;
    stream->next_in = (Bytef *)in;
    stream->avail_in = in_step;
    stream->next_out = out;
    stream->avail_out = out_step;
    int code = inflate(stream, Z_NO_FLUSH);
    *taken = in_step - stream->avail_in;
    *made = out_step - stream->avail_out;
    if (code == Z_STREAM_END) {
        return inflateReset(stream) == Z_OK ? DIVAN_INFLATE_END : DIVAN_INFLATE_DAMAGED;
    }
    // Z_BUF_ERROR says that there was nothing to do, which is no damage.
    return code == Z_OK || code == Z_BUF_ERROR ? DIVAN_INFLATE_MORE : DIVAN_INFLATE_DAMAGED;
}

// A gzip stream has 18 bytes more than what is coded in it.
size_t divan_gzip_bound(size_t count) { return compressBound(count) + 18; }

size_t divan_gzip(const uint8_t *in, size_t in_count, uint8_t *out, size_t out_count) {
    z_stream stream = {0};
    if (in_count > 0x40000000 || out_count > 0x60000000) return 0;
    if (deflateInit2(&stream, 3, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) return 0;
    stream.next_in = (Bytef *)in;
    stream.avail_in = (uInt)in_count;
    stream.next_out = out;
    stream.avail_out = (uInt)out_count;
    size_t made = deflate(&stream, Z_FINISH) == Z_STREAM_END ? stream.total_out : 0;
    deflateEnd(&stream);
    return made;
}

size_t divan_zlib_bound(size_t count) { return compressBound(count); }

size_t divan_zlib(const uint8_t *in, size_t in_count, uint8_t *out, size_t out_count) {
    uLongf made = out_count;
    return compress2(out, &made, in, in_count, Z_BEST_COMPRESSION) == Z_OK ? made : 0;
}

uint32_t divan_crc32(const uint8_t *bytes, size_t count) {
    return (uint32_t)crc32_z(0, bytes, count);
}
