// SPDX-License-Identifier: Apache-2.0

#include "COpenSSL.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
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
    const char *name, const char *alternatives, long days, const char *formerKeyPEM,
    char **keyPEM, char **certificatePEM) {
    int done = 0;
    *keyPEM = NULL;
    *certificatePEM = NULL;
    BIO *former = formerKeyPEM ? BIO_new_mem_buf(formerKeyPEM, -1) : NULL;
    EVP_PKEY *key = former ? PEM_read_bio_PrivateKey(former, NULL, NULL, NULL) : EVP_EC_gen("P-256");
    BIO_free(former);
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

/// Gives no password: nothing is asked at a terminal.
static int no_password(char *buffer, int size, int writes, void *context) {
    (void)buffer;
    (void)size;
    (void)writes;
    (void)context;
    return -1;
}

int divan_identity_fits(const char *keyPEM, const char *certificatePEM) {
    BIO *keyText = BIO_new_mem_buf(keyPEM, -1);
    BIO *certificateText = BIO_new_mem_buf(certificatePEM, -1);
    EVP_PKEY *key = keyText ? PEM_read_bio_PrivateKey(keyText, NULL, no_password, NULL) : NULL;
    X509 *certificate = certificateText ? PEM_read_bio_X509(certificateText, NULL, no_password, NULL) : NULL;
    int fits = key && certificate && X509_check_private_key(certificate, key) == 1;
    EVP_PKEY_free(key);
    X509_free(certificate);
    BIO_free(keyText);
    BIO_free(certificateText);
    return fits;
}

/// The SHA-256 of the `SubjectPublicKeyInfo`.
static int digest_key(X509 *certificate, uint8_t digest[32]) {
    unsigned char *bytes = NULL;
    int count = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &bytes);
    unsigned int length = 32;
    int done = count > 0 && EVP_Digest(bytes, (size_t)count, digest, &length, EVP_sha256(), NULL);
    OPENSSL_free(bytes);
    return done;
}

int divan_certificate_inspect(
    const char *pem, uint8_t fingerprint[32], uint8_t key[32], long *secondsLeft) {
    BIO *text = BIO_new_mem_buf(pem, -1);
    X509 *certificate = text ? PEM_read_bio_X509(text, NULL, NULL, NULL) : NULL;
    BIO_free(text);
    if (!certificate) return 0;
    unsigned int length = 32;
    int days = 0, seconds = 0;
    int done = X509_digest(certificate, EVP_sha256(), fingerprint, &length)
        && digest_key(certificate, key)
        && ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(certificate));
    *secondsLeft = (long)days * 86400 + seconds;
    X509_free(certificate);
    return done;
}

/// The certificates of a PEM text; NULL when there is none, or one that cannot be read.
static STACK_OF(X509) *certificates_of(const char *pem) {
    BIO *text = BIO_new_mem_buf(pem, -1);
    STACK_OF(X509) *all = sk_X509_new_null();
    X509 *one = NULL;
    ERR_clear_error();
    while (text && all && (one = PEM_read_bio_X509(text, NULL, NULL, NULL))) {
        if (sk_X509_push(all, one)) continue;
        X509_free(one);
        break;
    }
    // Reading ends with an error, too: that nothing more begins.
    int isWhole = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    ERR_clear_error();
    BIO_free(text);
    if (all && isWhole && sk_X509_num(all) > 0) return all;
    sk_X509_pop_free(all, X509_free);
    return NULL;
}

int divan_certificates_count(const char *pem) {
    STACK_OF(X509) *all = certificates_of(pem);
    int count = all ? sk_X509_num(all) : 0;
    sk_X509_pop_free(all, X509_free);
    return count;
}

static STACK_OF(X509) *chain_of(
    const uint8_t *const *certificates, const size_t *counts, size_t count) {
    STACK_OF(X509) *chain = sk_X509_new_null();
    for (size_t index = 0; chain && index < count; index++) {
        const unsigned char *bytes = certificates[index];
        X509 *one = d2i_X509(NULL, &bytes, (long)counts[index]);
        if (!one || !sk_X509_push(chain, one)) {
            X509_free(one);
            sk_X509_pop_free(chain, X509_free);
            return NULL;
        }
    }
    return chain;
}

static int is_trusted(X509 *own, STACK_OF(X509) *chain, STACK_OF(X509) *anchors) {
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    int done = store && context;
    for (int index = 0; done && index < sk_X509_num(anchors); index++)
        done = X509_STORE_add_cert(store, sk_X509_value(anchors, index));
    // What is given is trusted, also when it is no authority of the last instance, or the client's own.
    done = done && X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN)
        && X509_STORE_CTX_init(context, store, own, chain)
        && X509_STORE_CTX_set_purpose(context, X509_PURPOSE_SSL_CLIENT)
        && X509_verify_cert(context) == 1;
    X509_STORE_CTX_free(context);
    X509_STORE_free(store);
    return done;
}

/// The subject as RFC 2253 writes it.
static char *subject_of(X509 *certificate) {
    BIO *bio = BIO_new(BIO_s_mem());
    char *text = NULL;
    unsigned long flags = XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB;
    if (bio && X509_NAME_print_ex(bio, X509_get_subject_name(certificate), 0, flags) >= 0)
        text = text_of(bio);
    BIO_free(bio);
    return text;
}

/// The common name; NULL when there is none, more than one, or one that holds NUL.
static char *common_name_of(X509 *certificate) {
    X509_NAME *subject = X509_get_subject_name(certificate);
    int place = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (place < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, place) >= 0) return NULL;
    unsigned char *bytes = NULL;
    int count = ASN1_STRING_to_UTF8(
        &bytes, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, place)));
    char *name = count > 0 && !memchr(bytes, 0, (size_t)count) ? malloc((size_t)count + 1) : NULL;
    if (name) {
        memcpy(name, bytes, (size_t)count);
        name[count] = 0;
    }
    OPENSSL_free(bytes);
    return name;
}

int divan_client_certificate_verify(
    const uint8_t *const *certificates, const size_t *counts, size_t count, const char *anchorsPEM,
    char **subject, char **commonName, uint8_t fingerprint[32]) {
    *subject = NULL;
    *commonName = NULL;
    STACK_OF(X509) *chain = count > 0 ? chain_of(certificates, counts, count) : NULL;
    STACK_OF(X509) *anchors = certificates_of(anchorsPEM);
    unsigned int length = 32;
    int done = 0;
    if (chain && anchors) {
        X509 *own = sk_X509_value(chain, 0);
        done = is_trusted(own, chain, anchors)
            && X509_digest(own, EVP_sha256(), fingerprint, &length);
        if (done) {
            *subject = subject_of(own);
            *commonName = common_name_of(own);
            done = *subject != NULL;
        }
    }
    sk_X509_pop_free(chain, X509_free);
    sk_X509_pop_free(anchors, X509_free);
    ERR_clear_error();
    return done;
}

void divan_text_free(char *text) { free(text); }
