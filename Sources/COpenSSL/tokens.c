// SPDX-License-Identifier: Apache-2.0

#include "COpenSSL.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

static const EVP_MD *digest(int bits) {
    switch (bits) {
    case 160: return EVP_sha1();
    case 256: return EVP_sha256();
    case 384: return EVP_sha384();
    case 512: return EVP_sha512();
    default: return NULL;
    }
}

size_t divan_hmac(
    int bits, const uint8_t *key, size_t keyCount, const uint8_t *bytes, size_t count,
    uint8_t out[DIVAN_HMAC_MAXIMUM]) {
    const EVP_MD *kind = digest(bits);
    unsigned int length = 0;
    if (!kind || !HMAC(kind, key, (int)keyCount, bytes, count, out, &length)) return 0;
    return length;
}

/// The two numbers of a signature by elliptic curves, one after the other, as the DER that OpenSSL reads. Answers its
/// length, or 0.
static int der_of_numbers(const uint8_t *bytes, size_t count, unsigned char **der) {
    ECDSA_SIG *signature = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(bytes, (int)(count / 2), NULL);
    BIGNUM *s = BN_bin2bn(bytes + count / 2, (int)(count / 2), NULL);
    int length = 0;
    if (signature && r && s && ECDSA_SIG_set0(signature, r, s)) {
        length = i2d_ECDSA_SIG(signature, der);
    } else {
        BN_free(r);
        BN_free(s);
    }
    ECDSA_SIG_free(signature);
    return length > 0 ? length : 0;
}

int divan_signature_verify(
    const char *keyPEM, int isRSA, int bits, const uint8_t *bytes, size_t count,
    const uint8_t *signature, size_t signatureCount) {
    const EVP_MD *kind = digest(bits);
    BIO *text = BIO_new_mem_buf(keyPEM, -1);
    EVP_PKEY *key = text ? PEM_read_bio_PUBKEY(text, NULL, NULL, NULL) : NULL;
    BIO_free(text);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    unsigned char *der = NULL;
    int result = -1;
    int keyBits = key ? EVP_PKEY_get_bits(key) : 0;
    int isUsable = key && kind
        && (isRSA ? EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA && keyBits >= 2048
                  : EVP_PKEY_get_base_id(key) == EVP_PKEY_EC);
    if (isUsable && context) {
        result = 0;
        size_t length = signatureCount;
        if (!isRSA) {
            int isWhole = signatureCount == 2 * (size_t)((keyBits + 7) / 8);
            length = isWhole ? (size_t)der_of_numbers(signature, signatureCount, &der) : 0;
        }
        if (length && EVP_DigestVerifyInit(context, NULL, kind, NULL, key) == 1) {
            result = EVP_DigestVerify(context, der ? der : signature, length, bytes, count) == 1;
        }
    }
    OPENSSL_free(der);
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return result;
}
