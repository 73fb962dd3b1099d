// SPDX-License-Identifier: Apache-2.0

// An opaque fence around what Divan needs of OpenSSL: message digests, secrets and certificates.
// Digest algorithms are fetched once a process: fetching one costs more than hashing a document.

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

/// Derives a key of 32 bytes from a password, by PBKDF2 with HMAC-SHA-256. Answers 1, or 0 on failure.
int divan_pbkdf2_sha256(
    const uint8_t *password, size_t passwordCount, const uint8_t *salt, size_t saltCount,
    int iterations, uint8_t out[32]);

/// The HMAC-SHA-256 of some bytes. Answers 1, or 0 on failure.
int divan_hmac_sha256(
    const uint8_t *key, size_t keyCount, const uint8_t *bytes, size_t count, uint8_t out[32]);

/// Whether two secrets are equal, in a time that does not depend on where they differ.
int divan_equal(const uint8_t *left, const uint8_t *right, size_t count);

/// Fills a buffer with random bytes. Answers 1, or 0 on failure.
int divan_random(uint8_t *out, size_t count);

/// Makes a private key and a certificate that it signs itself, both as PEM, to be freed with
/// `divan_text_free`. `alternatives` are its names, such as "DNS:localhost,IP:127.0.0.1".
/// Answers 1, or 0 on failure.
int divan_identity_create(
    const char *name, const char *alternatives, long days, char **keyPEM, char **certificatePEM);

/// The SHA-256 of the first certificate of a PEM text, and how long it is still valid.
/// Answers 1, or 0 when there is none.
int divan_certificate_inspect(
    const char *pem, uint8_t fingerprint[32], long *secondsLeft);

/// Frees a text.
void divan_text_free(char *text);

#endif
