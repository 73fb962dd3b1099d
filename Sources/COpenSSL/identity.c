// SPDX-License-Identifier: Apache-2.0

#include "COpenSSL.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

/// The whole of a memory BIO as a text of its own; NULL when there is no memory.
static char *text_of(BIO *bio) {
    char *bytes = NULL;
    long count = BIO_get_mem_data(bio, &bytes);
    char *text = count >= 0 ? malloc((size_t)count + 1) : NULL;
    if (!text) return NULL;
    memcpy(text, bytes, (size_t)count);
    text[count] = 0;
    return text;
}

static int set_names(X509 *certificate, const char *name, const char *alternatives) {
    X509_NAME *subject = X509_get_subject_name(certificate);
    if (!X509_NAME_add_entry_by_txt(
            subject, "CN", MBSTRING_UTF8, (const unsigned char *)name, -1, -1, 0)) return 0;
    if (!X509_set_issuer_name(certificate, subject)) return 0;
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(
        NULL, &context, NID_subject_alt_name, alternatives);
    if (!extension) return 0;
    int done = X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
    return done;
}

static int set_serial(X509 *certificate) {
    unsigned char bytes[16];
    if (!RAND_bytes(bytes, sizeof bytes)) return 0;
    bytes[0] &= 0x7F;
    BIGNUM *number = BN_bin2bn(bytes, sizeof bytes, NULL);
    if (!number) return 0;
    int done = BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != NULL;
    BN_free(number);
    return done;
}

int divan_identity_create(
    const char *name, const char *alternatives, long days, char **keyPEM, char **certificatePEM) {
    int done = 0;
    *keyPEM = NULL;
    *certificatePEM = NULL;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    BIO *keyText = BIO_new(BIO_s_mem());
    BIO *certificateText = BIO_new(BIO_s_mem());
    if (key && certificate && keyText && certificateText && X509_set_version(certificate, 2)
        && set_serial(certificate)
        && X509_gmtime_adj(X509_getm_notBefore(certificate), -3600)
        && X509_gmtime_adj(X509_getm_notAfter(certificate), days * 86400)
        && X509_set_pubkey(certificate, key) && set_names(certificate, name, alternatives)
        && X509_sign(certificate, key, EVP_sha256())
        && PEM_write_bio_PrivateKey(keyText, key, NULL, NULL, 0, NULL, NULL)
        && PEM_write_bio_X509(certificateText, certificate)) {
        *keyPEM = text_of(keyText);
        *certificatePEM = text_of(certificateText);
        done = *keyPEM && *certificatePEM;
    }
    BIO_free(keyText);
    BIO_free(certificateText);
    X509_free(certificate);
    EVP_PKEY_free(key);
    if (!done) {
        free(*keyPEM);
        free(*certificatePEM);
        *keyPEM = NULL;
        *certificatePEM = NULL;
    }
    return done;
}

int divan_certificate_inspect(
    const char *pem, uint8_t fingerprint[32], long *secondsLeft) {
    BIO *text = BIO_new_mem_buf(pem, -1);
    X509 *certificate = text ? PEM_read_bio_X509(text, NULL, NULL, NULL) : NULL;
    BIO_free(text);
    if (!certificate) return 0;
    unsigned int length = 32;
    int days = 0, seconds = 0;
    int done = X509_digest(certificate, EVP_sha256(), fingerprint, &length)
        && ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(certificate));
    *secondsLeft = (long)days * 86400 + seconds;
    X509_free(certificate);
    return done;
}

void divan_text_free(char *text) { free(text); }
