// SPDX-License-Identifier: Apache-2.0

// An opaque fence around OpenSSL's message digests. Algorithms are fetched once a process:
// fetching one costs more than hashing a document.

#ifndef DIVAN_COPENSSL_H
#define DIVAN_COPENSSL_H

#include <stddef.h>
#include <stdint.h>

typedef struct divan_hasher divan_hasher;

enum divan_hash_algorithm { DIVAN_MD5 = 0, DIVAN_SHA1 = 1, DIVAN_SHA256 = 2 };

/// The longest digest of these algorithms, in bytes.
enum { DIVAN_HASH_MAXIMUM = 32 };

/// Hashes one piece with MD5 in a context that each thread keeps. Answers 1, or 0 on failure.
int divan_md5(const uint8_t *bytes, size_t count, uint8_t out[16]);

/// Makes a hasher, ready for its first byte. NULL if OpenSSL lacks the algorithm.
divan_hasher *divan_hasher_create(int algorithm);

/// Releases a hasher.
void divan_hasher_free(divan_hasher *hasher);

/// Takes in more bytes. Answers 1, or 0 on failure.
int divan_hasher_update(divan_hasher *hasher, const uint8_t *bytes, size_t count);

/// Writes the digest and starts anew. Answers the digest's length, or 0 on failure.
size_t divan_hasher_finish(divan_hasher *hasher, uint8_t out[DIVAN_HASH_MAXIMUM]);

#endif
