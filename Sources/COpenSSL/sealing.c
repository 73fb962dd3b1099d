// SPDX-License-Identifier: Apache-2.0

#include "COpenSSL.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

int divan_scrypt(
    const uint8_t *password, size_t passwordCount, const uint8_t *salt, size_t saltCount,
    uint64_t cost, uint32_t blockSize, uint32_t parallelism, uint64_t memory, uint8_t out[32]) {
    return EVP_PBE_scrypt(
        (const char *)password, passwordCount, salt, saltCount, cost, blockSize, parallelism,
        memory, out, 32) == 1;
}

struct divan_gcm {
    EVP_CIPHER_CTX *sealing;
    EVP_CIPHER_CTX *opening;
};

divan_gcm *divan_gcm_create(const uint8_t key[32]) {
    divan_gcm *gcm = calloc(1, sizeof *gcm);
    if (!gcm) return NULL;
    gcm->sealing = EVP_CIPHER_CTX_new();
    gcm->opening = EVP_CIPHER_CTX_new();
    if (!gcm->sealing || !gcm->opening
        || !EVP_EncryptInit_ex2(gcm->sealing, EVP_aes_256_gcm(), key, NULL, NULL)
        || !EVP_DecryptInit_ex2(gcm->opening, EVP_aes_256_gcm(), key, NULL, NULL)) {
        divan_gcm_free(gcm);
        return NULL;
    }
    return gcm;
}

void divan_gcm_free(divan_gcm *gcm) {
    if (!gcm) return;
    // OpenSSL wipes a context's key as it frees it.
    EVP_CIPHER_CTX_free(gcm->sealing);
    EVP_CIPHER_CTX_free(gcm->opening);
    free(gcm);
}

int divan_gcm_seal(
    divan_gcm *gcm, const uint8_t nonce[12], const uint8_t *associated, size_t associatedCount,
    const uint8_t *bytes, size_t count, uint8_t *out) {
    EVP_CIPHER_CTX *context = gcm->sealing;
    uint8_t rest[16];
    int length = 0;
    return EVP_EncryptInit_ex2(context, NULL, NULL, nonce, NULL)
        && EVP_EncryptUpdate(context, NULL, &length, associated, (int)associatedCount)
        && (count == 0 || EVP_EncryptUpdate(context, out, &length, bytes, (int)count))
        && EVP_EncryptFinal_ex(context, rest, &length)
        && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, DIVAN_GCM_TAG, out + count);
}

int divan_gcm_open(
    divan_gcm *gcm, const uint8_t nonce[12], const uint8_t *associated, size_t associatedCount,
    const uint8_t *bytes, size_t count, uint8_t *out) {
    EVP_CIPHER_CTX *context = gcm->opening;
    uint8_t tag[DIVAN_GCM_TAG], rest[16];
    int length = 0;
    memcpy(tag, bytes + count, sizeof tag);
    int isGenuine = EVP_DecryptInit_ex2(context, NULL, NULL, nonce, NULL)
        && EVP_DecryptUpdate(context, NULL, &length, associated, (int)associatedCount)
        && (count == 0 || EVP_DecryptUpdate(context, out, &length, bytes, (int)count))
        && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, DIVAN_GCM_TAG, tag)
        && EVP_DecryptFinal_ex(context, rest, &length) > 0;
    if (!isGenuine && count > 0) memset(out, 0, count);
    return isGenuine;
}
