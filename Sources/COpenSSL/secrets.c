// SPDX-License-Identifier: Apache-2.0

#include "COpenSSL.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

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
