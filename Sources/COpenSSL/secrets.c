// SPDX-License-Identifier: Apache-2.0

#ifdef __linux__
#define _DEFAULT_SOURCE
#endif

#include "COpenSSL.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <unistd.h>
#ifdef __APPLE__
#include <sys/random.h>
#endif

int divan_pbkdf2_sha256(
    const uint8_t *password, size_t passwordCount, const uint8_t *salt, size_t saltCount,
    int iterations, uint8_t out[32]) {
    return PKCS5_PBKDF2_HMAC(
        (const char *)password, (int)passwordCount, salt, (int)saltCount, iterations,
        EVP_sha256(), 32, out);
}

int divan_hmac_sha256(
    const uint8_t *key, size_t keyCount, const uint8_t *bytes, size_t count, uint8_t out[32]) {
    unsigned int length = 32;
    return HMAC(EVP_sha256(), key, (int)keyCount, bytes, count, out, &length) != NULL;
}

int divan_equal(const uint8_t *left, const uint8_t *right, size_t count) {
    return CRYPTO_memcmp(left, right, count) == 0;
}

// The system's, not OpenSSL's: a generator in the process gives both copies of a process that is cloned the
// same bytes. The system gives at most 256 at a time.
int divan_random(uint8_t *out, size_t count) {
    for (size_t done = 0; done < count;) {
        size_t part = count - done < 256 ? count - done : 256;
        if (getentropy(out + done, part) != 0) return 0;
        done += part;
    }
    return 1;
}
