// SPDX-License-Identifier: Apache-2.0

#include "COpenSSL.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdlib.h>

// OpenSSL frees what it has when the process exits, though threads of ours may still use it, and they crash then.
// The first initialisation decides; the system takes all memory back anyway.
__attribute__((constructor)) static void keepAtExit(void) {
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}

static EVP_MD *algorithms[3];
static pthread_key_t threadContext;
static int isReady;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void release(void *context) { EVP_MD_CTX_free((EVP_MD_CTX *)context); }

static void prepare(void) {
    algorithms[DIVAN_MD5] = EVP_MD_fetch(NULL, "MD5", NULL);
    algorithms[DIVAN_SHA1] = EVP_MD_fetch(NULL, "SHA1", NULL);
    algorithms[DIVAN_SHA256] = EVP_MD_fetch(NULL, "SHA256", NULL);
    isReady = pthread_key_create(&threadContext, release) == 0;
}

int divan_md5(const uint8_t *bytes, size_t count, uint8_t out[16]) {
    pthread_once(&once, prepare);
    if (!isReady || !algorithms[DIVAN_MD5]) return 0;
    EVP_MD_CTX *context = pthread_getspecific(threadContext);
    if (!context) {
        context = EVP_MD_CTX_new();
        if (!context || pthread_setspecific(threadContext, context) != 0) {
            EVP_MD_CTX_free(context);
            return 0;
        }
    }
    return EVP_DigestInit_ex2(context, algorithms[DIVAN_MD5], NULL)
        && EVP_DigestUpdate(context, bytes, count)
        && EVP_DigestFinal_ex(context, out, NULL);
}

struct divan_hasher {
    EVP_MD_CTX *context;
    const EVP_MD *algorithm;
};

divan_hasher *divan_hasher_create(int algorithm) {
    pthread_once(&once, prepare);
    if (algorithm < 0 || algorithm > 2 || !algorithms[algorithm]) return NULL;
    divan_hasher *hasher = malloc(sizeof *hasher);
    if (!hasher) return NULL;
    hasher->algorithm = algorithms[algorithm];
    hasher->context = EVP_MD_CTX_new();
    if (!hasher->context || !EVP_DigestInit_ex2(hasher->context, hasher->algorithm, NULL)) {
        divan_hasher_free(hasher);
        return NULL;
    }
    return hasher;
}

void divan_hasher_free(divan_hasher *hasher) {
    if (!hasher) return;
    EVP_MD_CTX_free(hasher->context);
    free(hasher);
}

int divan_hasher_update(divan_hasher *hasher, const uint8_t *bytes, size_t count) {
    return EVP_DigestUpdate(hasher->context, bytes, count);
}

size_t divan_hasher_finish(divan_hasher *hasher, uint8_t out[DIVAN_HASH_MAXIMUM]) {
    unsigned int length = 0;
    if (!EVP_DigestFinal_ex(hasher->context, out, &length)) return 0;
    if (!EVP_DigestInit_ex2(hasher->context, hasher->algorithm, NULL)) return 0;
    return length;
}
