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

/// The longest HMAC, in bytes.
enum { DIVAN_HMAC_MAXIMUM = 64 };

/// The HMAC of some bytes by SHA-1 (160 bits), SHA-256, SHA-384 or SHA-512. Answers its length, or 0 on failure.
size_t divan_hmac(
    int bits, const uint8_t *key, size_t keyCount, const uint8_t *bytes, size_t count,
    uint8_t out[DIVAN_HMAC_MAXIMUM]);

/// Checks a signature by a public key, given as PEM: one of RSA (PKCS #1, 2048 bits at least), or one of an elliptic curve,
/// whose two numbers follow each other. Answers 1 when it is right, 0 when it is not, -1 when there is no such key.
int divan_signature_verify(
    const char *keyPEM, int isRSA, int bits, const uint8_t *bytes, size_t count,
    const uint8_t *signature, size_t signatureCount);

/// Whether two secrets are equal, in a time that does not depend on where they differ.
int divan_equal(const uint8_t *left, const uint8_t *right, size_t count);

/// Derives a key of 32 bytes from a password, by scrypt. Answers 1, or 0 on failure, also when it would
/// take more memory than `memory` bytes.
int divan_scrypt(
    const uint8_t *password, size_t passwordCount, const uint8_t *salt, size_t saltCount,
    uint64_t cost, uint32_t blockSize, uint32_t parallelism, uint64_t memory, uint8_t out[32]);

/// The bytes that AES-256-GCM adds to what it seals, as its tag, and those of its nonce.
enum { DIVAN_GCM_TAG = 16, DIVAN_GCM_NONCE = 12 };

/// A key of AES-256-GCM made ready; used by one thread at a time.
typedef struct divan_gcm divan_gcm;

/// Makes a key ready. NULL when there is no memory, or no such cipher.
divan_gcm *divan_gcm_create(const uint8_t key[32]);

/// Wipes and frees it.
void divan_gcm_free(divan_gcm *gcm);

/// Seals bytes: `out` gets as many, and the tag after them. Answers 1, or 0 on failure.
int divan_gcm_seal(
    divan_gcm *gcm, const uint8_t nonce[12], const uint8_t *associated, size_t associatedCount,
    const uint8_t *bytes, size_t count, uint8_t *out);

/// Opens `count` bytes that are followed by their tag. Answers 1, or 0 when they are not what was
/// sealed; `out` then has zeros.
int divan_gcm_open(
    divan_gcm *gcm, const uint8_t nonce[12], const uint8_t *associated, size_t associatedCount,
    const uint8_t *bytes, size_t count, uint8_t *out);

/// Makes a private key and a certificate that it signs itself, both as PEM, to be freed with
/// `divan_text_free`. `alternatives` are its names, such as "DNS:localhost,IP:127.0.0.1". The key is that of a former
/// identity, PEM, or a new one for NULL. Answers 1, or 0 on failure.
int divan_identity_create(
    const char *name, const char *alternatives, long days, const char *formerKeyPEM,
    char **keyPEM, char **certificatePEM);

/// Whether a private key is the one of the first certificate, both PEM. Answers 1 if it is, and 0 also when either cannot
/// be read without a password.
int divan_identity_fits(const char *keyPEM, const char *certificatePEM);

/// The SHA-256 of the first certificate of a PEM text and of its public key, and how long it is still valid.
/// Answers 1, or 0 when there is none.
int divan_certificate_inspect(
    const char *pem, uint8_t fingerprint[32], uint8_t key[32], long *secondsLeft);

/// Checks the certificates that a TLS client has sent, in DER form, its own first, against authorities given as PEM.
/// Answers 1 when it may be trusted as a client's, and then its subject, its common name (or NULL), both to be freed with
/// `divan_text_free`, and the SHA-256 of it. Answers 0 otherwise.
int divan_client_certificate_verify(
    const uint8_t *const *certificates, const size_t *counts, size_t count, const char *anchorsPEM,
    char **subject, char **commonName, uint8_t fingerprint[32]);

/// How many certificates a PEM text has; 0 when it has none, or one that cannot be read.
int divan_certificates_count(const char *pem);

/// Frees a text.
void divan_text_free(char *text);

#endif
