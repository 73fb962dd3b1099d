// SPDX-License-Identifier: Apache-2.0
//
// Sealing and opening one unit with AES-256-GCM.
//
//      key         HKDF-SHA-256(key of the database, salt: identity of the file,
//                               info: "divan-page-1", role, epoch)
//      nonce       four zero bytes, 8 bytes of the trailer
//      also proven the identity, the number of the unit
//
// Where epochs and nonces come from is in epochs.c. Earlier versions counted in all of the 8 bytes, and
// what they sealed is opened as ever. Nothing about it need be kept on disk besides the trailers.

#include "codec.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { nonce_size = 12, associated_size = identity_size + 8 };

static pthread_once_t fetched = PTHREAD_ONCE_INIT;
static EVP_CIPHER *algorithm;

static void fetch(void) { algorithm = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL); }

int cipher_is_available(void) {
    pthread_once(&fetched, fetch);
    return algorithm != NULL;
}

static void put_big_endian(uint64_t number, uint8_t *out) {
    for (int i = 7; i >= 0; i--) {
        out[i] = (uint8_t)number;
        number >>= 8;
    }
}


// MARK: Keys

int cipher_extract(const uint8_t *key, const uint8_t *identity, uint8_t *out) {
    unsigned int length = key_size;
    return HMAC(EVP_sha256(), identity, identity_size, key, key_size, out, &length) != NULL;
}

// HKDF's second step, for one block of output.
static int derive(const cipher *cipher, const uint8_t *epoch, uint8_t *out) {
    static const char label[] = "divan-page-1";
    enum { label_size = sizeof label - 1 };
    uint8_t info[label_size + 1 + epoch_size + 1];
    memcpy(info, label, label_size);
    info[label_size] = (uint8_t)cipher->role;
    memcpy(info + label_size + 1, epoch, epoch_size);
    info[sizeof info - 1] = 1;
    unsigned int length = key_size;
    return cipher->secret
        && HMAC(EVP_sha256(), cipher->secret, key_size, info, sizeof info, out, &length) != NULL;
}

static int prepare(cipher *cipher, EVP_CIPHER_CTX **context, const uint8_t *epoch, int seals) {
    uint8_t key[key_size];
    if (!*context) {
        *context = EVP_CIPHER_CTX_new();
    }
    int is_ready = *context && derive(cipher, epoch, key)
        && EVP_CipherInit_ex2(*context, algorithm, key, NULL, seals, NULL);
    OPENSSL_cleanse(key, sizeof key);
    return is_ready;
}

static EVP_CIPHER_CTX *opening_context(cipher *cipher, const uint8_t *epoch) {
    // Epochs are random, so any of their bytes spreads them evenly.
    key_slot *slot = &cipher->slots[epoch[0] % slot_count];
    if (!slot->context || memcmp(slot->epoch, epoch, epoch_size) != 0) {
        if (!prepare(cipher, &slot->context, epoch, 0)) {
            EVP_CIPHER_CTX_free(slot->context);
            slot->context = NULL;
            return NULL;
        }
        memcpy(slot->epoch, epoch, epoch_size);
    }
    return slot->context;
}

// MARK: Units

static int start(
    const cipher *cipher, EVP_CIPHER_CTX *context, uint64_t number, const uint8_t *counter) {
    uint8_t nonce[nonce_size] = {0};
    uint8_t associated[associated_size];
    int length = 0;
    memcpy(nonce + 4, counter, counter_size);
    memcpy(associated, cipher->identity, identity_size);
    put_big_endian(number, associated + identity_size);
    return EVP_CipherInit_ex2(context, NULL, NULL, nonce, -1, NULL)
        && EVP_CipherUpdate(context, NULL, &length, associated, sizeof associated);
}

static int run(EVP_CIPHER_CTX *context, unit_pieces pieces) {
    for (int i = 0; i < 2; i++) {
        int length = 0;
        if (pieces.count[i] > 0
            && !EVP_CipherUpdate(
                context, pieces.target[i], &length, pieces.source[i], pieces.count[i])) {
            return 0;
        }
    }
    return 1;
}

// Sees to it that there is an epoch to seal in, and its key.
static int prepare_sealing(cipher *cipher, const sealing_moment *now) {
    if (cipher->sealing && !epoch_is_over(&cipher->epoch, now)) {
        return 1;
    }
    if (epoch_begin(&cipher->epoch, now)
        && prepare(cipher, &cipher->sealing, cipher->epoch.name, 1)) {
        return 1;
    }
    EVP_CIPHER_CTX_free(cipher->sealing);
    cipher->sealing = NULL;
    return 0;
}

int cipher_seal(cipher *cipher, uint64_t number, unit_pieces pieces, uint8_t *trailer) {
    sealing_moment now;
    if (!moment_now(&now) || !prepare_sealing(cipher, &now)
        || !epoch_next_nonce(&cipher->epoch, &now, trailer + epoch_size)) {
        return SQLITE_IOERR_WRITE;
    }
    memcpy(trailer, cipher->epoch.name, epoch_size);
    EVP_CIPHER_CTX *context = cipher->sealing;
    uint8_t rest[16];
    int length = 0;
    int is_sealed = start(cipher, context, number, trailer + epoch_size) && run(context, pieces)
        && EVP_CipherFinal_ex(context, rest, &length)
        && EVP_CIPHER_CTX_ctrl(
            context, EVP_CTRL_AEAD_GET_TAG, tag_size, trailer + epoch_size + counter_size);
    return is_sealed ? SQLITE_OK : SQLITE_IOERR_WRITE;
}

int cipher_open(cipher *cipher, uint64_t number, unit_pieces pieces, const uint8_t *trailer) {
    EVP_CIPHER_CTX *context = cipher->secret ? opening_context(cipher, trailer) : NULL;
    if (cipher->secret && !context) {
        return SQLITE_IOERR_NOMEM;
    }
    uint8_t tag[tag_size], rest[16];
    int length = 0;
    memcpy(tag, trailer + epoch_size + counter_size, tag_size);
    int is_genuine = context && start(cipher, context, number, trailer + epoch_size)
        && run(context, pieces)
        && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, tag_size, tag)
        && EVP_CipherFinal_ex(context, rest, &length) > 0;
    if (is_genuine) {
        return SQLITE_OK;
    }
    // SQLite must not see bytes that were not proven genuine.
    for (int i = 0; i < 2; i++) {
        if (pieces.count[i] > 0) {
            memset(pieces.target[i], 0, (size_t)pieces.count[i]);
        }
    }
    return SQLITE_IOERR_DATA;
}

void cipher_close(cipher *cipher) {
    EVP_CIPHER_CTX_free(cipher->sealing);
    cipher->sealing = NULL;
    for (int i = 0; i < slot_count; i++) {
        EVP_CIPHER_CTX_free(cipher->slots[i].context);
        cipher->slots[i].context = NULL;
    }
}

// MARK: Secrets

uint8_t *secret_create(size_t count) {
    void *memory = mmap(
        NULL, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    // Best effort: how much may be locked is limited.
    (void)mlock(memory, count);
#ifdef MADV_DONTDUMP
    (void)madvise(memory, count, MADV_DONTDUMP);
#endif
    return memory;
}

void secret_free(uint8_t *secret, size_t count) {
    if (secret) {
        OPENSSL_cleanse(secret, count);
        munmap(secret, count);
    }
}
